"""remember, feedback, candidates: what a person asks for, and how it does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from instinct_git import InstinctError
from tests.builders import KEY, Project
from tests.conftest import Clock


def test_what_is_remembered_is_a_candidate_at_once_and_survives_a_batch(project: Project) -> None:
    memory = project.memory()
    one = memory.remember("记住这个流程: 发布博客", steps=("写", "检查", "发布"), context="blog")
    assert (one.trigger, one.status) == ("explicit", "collecting")
    assert 0.35 <= float(one.score) <= 0.50
    memory.consolidate()
    assert memory.candidates() == [one]
    shown = memory.show(one.pattern)
    assert shown.candidate is not None
    assert (shown.candidate["kind"], shown.confidence) == (one.kind, 1)
    assert project.errors() == []


def test_the_reference_walk(project: Project) -> None:
    """DESIGN section 5: 0.40, 0.48, 0.61, 0.76, 0.84 (success; success in another project; success and praise; success)."""
    memory = project.memory()
    memory.remember("publish the blog", key="note:publish", score="0.40", why="as the reference has it", context="a")
    scores = [f"{memory.candidates()[0].score:.2f}"]
    for answers in (
        (("succeeded", "a"),),
        (("succeeded", "b"),),
        (("succeeded", "b"), ("confirmed", "b")),
        (("succeeded", "b"),),
    ):
        for answer, context in answers:
            memory.feedback("note:publish", answer, context=context)
        memory.consolidate()
        scores.append(f"{memory.candidates()[0].score:.2f}")
    assert scores == ["0.40", "0.48", "0.61", "0.76", "0.84"]
    assert memory.candidates(ready=True)[0].status == "nominated"
    assert any("+0.05" in line for line in memory.explain("note:publish").notices)


def test_a_no_takes_confidence_and_score_away(project: Project) -> None:
    memory = project.memory()
    project.observe(times=5)
    memory.remember("test again", key=KEY, score="0.50", why="used for years")
    done = memory.feedback(KEY, "denied")
    assert done.live == 5 + 1 - 2
    assert done.candidate is not None
    assert f"{done.candidate.score:.2f}" == "0.38"


def test_decay_books_idle_stretches_and_expiry_once(project: Project, clock: Clock) -> None:
    memory = project.memory(clock)
    memory.remember("rare thing", key="note:rare", score="0.50", why="w")
    memory.consolidate()
    clock.forward(31)
    memory.decay()
    memory.decay()
    assert f"{memory.candidates()[0].score:.2f}" == "0.40"
    clock.forward(30)
    memory.decay()
    assert memory.candidates() == []
    assert [one.status for one in memory.candidates(archived=True)] == ["expired"]
    assert project.errors() == []


@pytest.mark.parametrize(
    "options",
    [{"kind": "poem"}, {"score": "0.40"}, {"score": "0.9", "why": "w"}, {"dimensions": "x=1", "why": "w"}],
    ids=str,
)
def test_bad_wishes_are_refused_and_nothing_is_written(project: Project, options: dict[str, Any]) -> None:
    with pytest.raises(InstinctError) as refused:
        project.memory().remember("something", **options)
    assert refused.value.hint
    assert project.inbox_files() == []


def test_feedback_about_the_unknown_names_the_nearest(project: Project) -> None:
    project.observe()
    with pytest.raises(InstinctError) as refused:
        project.memory().feedback("seq:test->fix->tset", "succeeded")
    assert KEY in refused.value.hint


def test_the_commands(project: Project, instinct: Callable[..., Any]) -> None:
    done = instinct(
        "remember", "make it a skill: how we release", "--steps", "tag; push", "--verify", "the tag is there", "--json"
    )
    assert (done.code, done.json["kind"], done.json["trigger"]) == (0, "skill", "explicit")
    key = done.json["pattern"]
    assert "score=" in instinct("feedback", key, "--worked").out
    assert instinct("feedback", key).code == 2
    assert instinct("feedback", key, "--worked", "--failed").code == 2
    listed = instinct("candidates", "--json").json["candidates"]
    assert [one["pattern"] for one in listed] == [key]
    assert instinct("candidates", "--kind", "rule").out.strip() == "# 0 candidates"
    assert instinct("show", key, "--json").json["candidate"]["successes"] == 1

"""The `candidate:` line of a pattern file: kept by batches, recomputed by `check`, exact after every merge."""

from __future__ import annotations

import json
import random

import pytest

from instinct_git.core.keys import pattern_path
from instinct_git.core.model import Evidence
from instinct_git.operations.observing import put
from tests.builders import Project
from tests.conftest import Clock

NOTE = "note:publish"


def line(project: Project, key: str = NOTE) -> dict[str, object]:
    """What the file says of the candidate; empty without a line."""
    rows = project.read(pattern_path(key)).split("\n")
    found = [row for row in rows if row.startswith("candidate: ")]
    return json.loads(found[0].removeprefix("candidate: ")) if found else {}


def remember(project: Project, key: str = NOTE) -> None:
    project.memory().remember("publish the blog", key=key, score="0.40", why="done often", context="blog")


def answer(project: Project, *answers: str) -> None:
    for one in answers:
        project.memory().feedback(NOTE, one, context="blog")


def findings(project: Project) -> list[tuple[str, str]]:
    return [(one.severity, one.message) for one in project.memory().check() if one.rule == "candidate"]


def test_a_batch_writes_the_counts_behind_the_score_above_the_separator(project: Project) -> None:
    remember(project)
    answer(project, "succeeded", "succeeded", "confirmed", "failed")
    project.memory().consolidate()
    assert line(project) == {
        "kind": "memory", "trigger": "explicit", "status": "collecting", "score": 0.51, "first_score": 0.4, "succeeded": 2,
        "failed": 1, "confirmed": 1, "denied": 0, "contexts": 1, "idle": 0,
    }  # fmt: skip
    text = project.read(pattern_path(NOTE))
    assert text.index("sources: ") < text.index("candidate: ") < text.index("# --- above") < text.index("title: ")
    assert project.memory().consolidate().commit == ""


def test_a_pattern_that_is_no_candidate_has_no_line(project: Project) -> None:
    project.observe(NOTE, times=3)
    project.memory().consolidate()
    assert "candidate" not in project.read(pattern_path(NOTE))


def test_a_retracted_entry_takes_the_line_away_and_leaves_all_else(project: Project) -> None:
    remember(project)
    project.memory().consolidate()
    before = project.read(pattern_path(NOTE))
    entry = next(one for one in project.tree_evidence() if one.k == "candidate")
    put(project.memory()._space, [Evidence("", NOTE, "retract", extra={"to": entry.id})])
    project.memory().consolidate()
    after = project.read(pattern_path(NOTE))
    assert [row for row in before.split("\n") if not row.startswith("candidate: ")] == after.split("\n")
    assert project.errors() == []


def test_a_score_written_by_hand_is_an_error_until_the_next_batch(project: Project) -> None:
    remember(project)
    project.memory().consolidate()
    path = pattern_path(NOTE)
    project.write(path, project.read(path).replace('"score": 0.4,', '"score": 0.95,'))
    project.commit("a score of my own", path)
    assert findings(project) == [
        ("error", "candidate: score is 0.95, the evidence gives 0.4 (`instinct consolidate` brings it up to date)")
    ]
    project.memory().consolidate()
    assert findings(project) == []
    assert line(project)["score"] == 0.4


@pytest.mark.parametrize("wrong", ['candidate: {"kind": "skill"}', "candidate: nonsense", "candidate:\n  kind: skill"])
def test_a_line_that_nobody_earned_is_an_error_and_goes(project: Project, wrong: str) -> None:
    project.observe(NOTE)
    project.memory().consolidate()
    path = pattern_path(NOTE)
    project.write(path, project.read(path).replace("# --- above", f"{wrong}\n# --- above", 1))
    project.commit("a candidate of my own", path)
    if "nonsense" not in wrong:
        assert [severity for severity, _ in findings(project)] == ["error"]
    project.memory().consolidate()
    assert "candidate" not in project.read(path)
    assert project.errors() == []


def test_evidence_that_is_recorded_and_not_folded_is_no_error(project: Project) -> None:
    remember(project)
    project.memory().consolidate()
    answer(project, "succeeded")
    assert findings(project) == []
    project.memory().record()
    assert findings(project) == []


@pytest.mark.parametrize("strategy", ["ours", "theirs"])
def test_two_branches_that_bring_different_successes_are_exact_after_the_next_batch(
    project: Project, strategy: str
) -> None:
    remember(project)
    project.memory().consolidate()
    project.git("switch", "-q", "-c", "other")
    answer(project, "succeeded", "succeeded")
    project.memory().consolidate()
    project.git("switch", "-q", "main")
    answer(project, "succeeded", "failed")
    project.memory().consolidate()
    project.git("merge", "-q", "-X", strategy, "--no-edit", "other")
    assert [severity for severity, _ in findings(project)] == ["notice"]
    project.memory().consolidate()
    assert line(project)["succeeded"] == 3
    assert line(project)["score"] == 0.52
    assert findings(project) == []


def test_a_conflict_in_the_line_is_settled_by_resolve(project: Project) -> None:
    remember(project)
    project.memory().consolidate()
    project.git("switch", "-q", "-c", "other")
    answer(project, "succeeded")
    project.memory().consolidate()
    project.git("switch", "-q", "main")
    answer(project, "denied")
    project.memory().consolidate()
    project.git("merge", "-q", "--no-edit", "other", check=False)
    project.memory().resolve()
    assert project.git("ls-files", "-u") == ""
    project.git("commit", "-q", "--no-edit")
    project.memory().consolidate()
    assert (line(project)["succeeded"], line(project)["denied"]) == (1, 1)
    assert project.errors() == []


def test_decay_writes_idle_and_expiry_into_the_line(project: Project, clock: Clock) -> None:
    remember_at = project.memory(clock)
    remember_at.remember("publish the blog", key=NOTE, score="0.50", why="w")
    remember_at.consolidate()
    clock.forward(days=31)
    project.memory(clock).decay()
    assert (line(project)["idle"], line(project)["status"]) == (1, "collecting")
    clock.forward(days=30)
    project.memory(clock).decay()
    assert line(project)["status"] == "expired"
    assert project.errors() == []


def test_the_line_is_a_function_of_the_set_of_evidence(project: Project) -> None:
    """Whatever is folded when, the line ends the same."""
    dice, lines = random.Random(4), []
    answers = ["succeeded", "failed", "succeeded", "confirmed", "denied", "succeeded"]
    for turn in range(4):
        key = f"note:turn{turn}"
        remember(project, key)
        dice.shuffle(answers)
        for one in answers:
            project.memory().feedback(key, one, context="blog")
            if dice.random() < 0.5:
                project.memory().consolidate()
        project.memory().consolidate()
        lines.append(line(project, key))
    assert all(one == lines[0] for one in lines)


def test_a_bypass_that_a_person_writes_into_the_text_holds_the_nomination(project: Project) -> None:
    remember(project)
    answer(project, *["succeeded"] * 6)
    project.memory().consolidate()
    assert line(project)["status"] == "nominated"
    path = pattern_path(NOTE)
    project.write(path, project.read(path) + "Commit with `git commit --no-verify`.\n")
    project.commit("words", path)
    assert [severity for severity, _ in findings(project)] == ["notice"]
    project.memory().consolidate()
    assert line(project)["status"] == "ready"
    assert findings(project) == []


def approve(project: Project, by: str, day: str) -> None:
    one = Evidence(
        f"{day}-{by[-12:].rjust(12, 'a').replace(':', 'x')}.1", NOTE, "approved", by=by, extra={"kind": "memory"}
    )
    put(project.memory()._space, [one])


def test_an_approval_is_written_down_as_verified_once(project: Project) -> None:
    remember(project)
    approve(project, "human:mona", "20260510")
    project.memory().consolidate()
    text = project.read(pattern_path(NOTE))
    assert 'verified: [{"by": "human:mona", "at": "2026-05-10"}]' in text
    approve(project, "human:unknown", "20260510")
    project.memory().consolidate()
    assert project.read(pattern_path(NOTE)).count("human:") == 1, "the known person stands for the day"
    approve(project, "human:lena", "20260512")
    project.memory().consolidate()
    assert project.read(pattern_path(NOTE)).count("human:") == 2
    assert line(project)["status"] == "approved"
    assert project.errors() == []


def test_approvals_by_nobody_known_are_written_as_such_and_a_persons_own_entries_stay(project: Project) -> None:
    remember(project)
    project.memory().consolidate()
    path = pattern_path(NOTE)
    project.write(
        path,
        project.read(path).replace(
            "status: active", "verified:\n  - by: human:ines  # in the meeting\n    at: 2026-05-01\nstatus: active"
        ),
    )
    project.commit("verified in the meeting", path)
    approve(project, "human:unknown", "20260510")
    project.memory().consolidate()
    text = project.read(path)
    assert '{"by": "human:ines", "at": "2026-05-01"}, {"by": "human:unknown", "at": "2026-05-10"}' in text
    assert project.errors() == []

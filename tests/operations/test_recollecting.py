"""`learn --from-evidence`: what recurs is found in the order of observations, for agents that leave no transcripts."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from instinct_git import InstinctError
from instinct_git.core.model import Evidence
from instinct_git.core.noted_steps import Order, sessions_of, step_of
from tests.builders import Project, Ran
from tests.conftest import Clock

AGENT = "windsurf"
LOOP = "edit lint test commit"


def tell(project: Project, clock: Clock, session: str, steps: str, agent: str = AGENT) -> None:
    """Let an agent observe what it does, one write a step, each a moment after the other."""
    for step in steps.split():
        known = set(project.inbox_files())
        project.observe(step, source=agent, session=session, now=clock)
        (file,) = set(project.inbox_files()) - known
        os.utime(file, ns=(0, 10**18 + len(known)))


def mined(project: Project, clock: Clock, **options: str) -> dict[str, tuple[int, int]]:
    """Learn; returns {key: (support, new)}."""
    done = project.memory(clock).learn_observed(**options)  # type: ignore[arg-type]
    return {one.key: (one.support, one.new) for one in done.patterns}


def test_what_recurs_over_sessions_is_found_and_counts_once(project: Project, clock: Clock) -> None:
    for session in ("a", "b"):
        tell(project, clock, session, LOOP)
    assert mined(project, clock)["seq:edit->lint->test->commit"] == (2, 2)
    assert {new for _, new in mined(project, clock).values()} == {0}
    observed = project.memory(clock).explain("seq:edit->lint->test->commit").lines
    assert [(one.source, one.kind, one.delta) for one in observed if one.kind == "observed"] == [
        (AGENT, "observed", 1)
    ] * 2
    assert len({one.session for one in observed if one.kind == "observed"}) == 2


def test_learned_again_after_a_batch_and_in_another_clone_it_counts_once(project: Project, clock: Clock) -> None:
    for session in ("a", "b"):
        tell(project, clock, session, LOOP)
    before = mined(project, clock)
    project.memory(clock).consolidate()
    assert {new for _, new in mined(project, clock).values()} == {0}
    other = project.clone("other")
    mined(other, clock)
    other.memory(clock).consolidate()
    assert {one.pattern: one.confidence for one in other.memory(clock).list()} == {
        one.pattern: one.confidence for one in project.memory(clock).list()
    }
    assert set(before) <= {one.pattern for one in project.memory(clock).list()}


def test_writes_of_one_moment_have_no_order_and_part_what_surrounds_them(project: Project, clock: Clock) -> None:
    for session in ("a", "b"):
        tell(project, clock, session, LOOP)
    files = sorted(project.inbox_files(), key=lambda path: path.stat().st_mtime_ns)
    assert len(project.memory(clock).learn_observed(dry_run=True).patterns) == 1
    for second in (files[1], files[5]):
        os.utime(second, ns=(0, second.stat().st_mtime_ns + 1))
    assert mined(project, clock) == {}


def test_lines_of_one_write_keep_their_order_wherever_they_stand(project: Project, clock: Clock) -> None:
    from instinct_git.operations.observing import Draft

    for session in ("a", "b"):
        steps = f"{'read ' * 8}{LOOP}".split()  # more than nine lines: their numbers are no texts
        project.memory(clock).observe_many([Draft(step, source=AGENT, session=session) for step in steps])
    project.memory(clock).consolidate()
    other = project.clone("other")
    assert mined(other, clock)["seq:edit->lint->test->commit"][0] == 2


def test_what_has_no_known_order_makes_no_sequence(project: Project, clock: Clock) -> None:
    for session in ("a", "b"):
        tell(project, clock, session, LOOP)
    project.memory(clock).consolidate()
    assert mined(project.clone("other"), clock) == {}


def test_patterns_are_no_steps_and_what_was_mined_is_not_mined_again(project: Project, clock: Clock) -> None:
    for session in ("a", "b"):
        tell(project, clock, session, "seq:push->build fix:port-in-use seq:push->build fix:port-in-use")
        tell(project, clock, session, LOOP)
    found = mined(project, clock)
    assert set(found) == {"seq:edit->lint->test->commit"}
    assert all(new == 0 for _, new in mined(project, clock).values())


def test_an_agent_whose_transcripts_are_read_is_left_out(project: Project, clock: Clock) -> None:
    for session in ("a", "b"):
        tell(project, clock, session, LOOP, agent="claude-code")
    done = project.memory(clock).learn_observed()
    assert (done.sessions, done.patterns) == (0, ())
    assert done.skipped == {"observation of an agent that is not meant": 8}
    with pytest.raises(InstinctError, match="can be read"):
        project.memory(clock).learn_observed(agent="claude-code")


def test_one_source_and_a_day_can_be_meant(project: Project, clock: Clock) -> None:
    for session in ("a", "b"):
        tell(project, clock, session, LOOP)
        tell(project, clock, session, "build push build push", agent="amp")
    assert set(mined(project, clock, agent="amp")) == {"seq:build->push->build", "seq:build->push"}
    clock.forward(3)
    assert mined(project, clock, since="2026-03-05") == {}
    with pytest.raises(InstinctError, match="no day"):
        project.memory(clock).learn_observed(since="soon")


def test_a_dry_run_writes_nothing(project: Project, clock: Clock) -> None:
    for session in ("a", "b"):
        tell(project, clock, session, LOOP)
    before = project.inbox_files()
    assert project.memory(clock).learn_observed(dry_run=True).new == 2
    assert project.inbox_files() == before


def test_steps_that_everybody_has_enter_no_pool(project: Project, clock: Clock) -> None:
    for session in ("a", "b"):
        tell(project, clock, session, f"{LOOP} {LOOP}")
    project.memory(clock).learn_observed()
    assert {one.pattern.partition(":")[0] for one in project.memory(clock).candidates()} <= {"seq", "combo"}


def test_the_command_line_speaks_of_observations(instinct: Callable[..., Ran], project: Project, clock: Clock) -> None:
    for session in ("a", "b"):
        tell(project, clock, session, f"{LOOP} 好")
    done = instinct("learn", "--from-evidence")
    assert done.code == 0
    assert "# 8 observations in 2 sessions" in done.out
    assert "observation whose key is no step 2" in done.out
    assert (
        "observations 1 edit, 2 lint, 3 test, 4 commit of session"
        in instinct("explain", "seq:edit->lint->test->commit").out
    )


@pytest.mark.parametrize(
    ("key", "step"),
    [("test", "test"), ("pytest", "test"), ("git commit", "commit"), ("fix", "fix"), ("Deploy It", "deploy-it"),
     ("seq:a->b", ""), ("pref:style=black", ""), ("a->b", ""), ("a+b", ""), ("修复", ""), ("x" * 37, ""), ("-x", "")],
)  # fmt: skip
def test_a_key_is_a_step_a_tools_action_or_neither(key: str, step: str) -> None:
    assert step_of(key) == step


def test_retracted_observations_and_aliases_are_respected() -> None:
    def seen(number: int, key: str, kind: str = "observed", to: str = "") -> Evidence:
        return Evidence(f"20260301-aaaaaaaaaaa1.{number}", key, kind, by=AGENT, s="5", extra={"to": to} if to else {})

    evidence = [seen(1, "edit"), seen(2, "lint"), seen(3, "tests"), seen(4, "x", "retract", "20260301-aaaaaaaaaaa1.2")]
    (one,), skipped = sessions_of(evidence, {}, lambda _: True, {"tests": "test", "edit": "note:edit"})
    assert [call.action for call in one.calls] == ["test"]
    assert skipped == {}


def test_what_has_times_and_what_has_none_are_threads_of_their_own() -> None:
    def seen(stem: str, number: int, key: str) -> Evidence:
        return Evidence(f"20260301-{stem}.{number}", key, "observed", by=AGENT, s="5")

    timed = [seen("ccc", 1, "edit"), seen("bbb", 1, "test"), seen("aaa", 1, "lint")]
    orders = {timed[0].id: Order("T1", 5), timed[1].id: Order("T1", 9), timed[2].id: Order("T0", 7)}
    untimed = [seen("ddd", 10, "push"), seen("ddd", 9, "commit"), seen("eee", 1, "build")]
    (one,), _ = sessions_of([*timed, *untimed], orders, lambda _: True, {})
    assert [(call.thread, call.action) for call in one.calls] == [
        ("20260301-ddd", "commit"), ("20260301-ddd", "push"), ("20260301-eee", "build"),
        ("1", "lint"), ("1", "edit"), ("1", "test"),
    ]  # fmt: skip
    assert [call.number for call in one.calls] == [1, 2, 3, 4, 5, 6]

"""What `learn` and `scan` bring into the pool, what is held, and what enters later. The numbers are DESIGN section 5's."""

from __future__ import annotations

import pytest

from instinct_git.core.dimensions import NUMBERS
from instinct_git.core.model import Evidence
from instinct_git.operations.learning import LearnResult
from instinct_git.operations.workspace import Workspace
from instinct_git.storage import breaker_log, files
from tests.builders import Project
from tests.conftest import Clock
from tests.sessions import Session

LOOP, LOOP_KEY = "edit lint test commit", "seq:edit->lint->test->commit"
SIX = [f"note:{word}" for word in ("apple", "bridge", "candle", "desert", "engine", "forest")]


def learn(project: Project, clock: Clock, *sessions: Session, dry_run: bool = False) -> LearnResult:
    paths = [one.file(project.root.parent) for one in sessions]
    return project.memory(clock).learn(paths, dry_run=dry_run)


def space_of(project: Project, clock: Clock) -> Workspace:
    return Workspace(files.locate(project.root, files.instinct_home()), clock)


def evidence(project: Project, clock: Clock, kind: str = "candidate") -> list[Evidence]:
    return [one for one in space_of(project, clock).read()[0].everything if one.k == kind]


def loop(name: str = "s1", day: str = "2026-02-01") -> Session:
    return Session(name, day).say("Mend the cart").do(LOOP).say("go on").do(LOOP)


def test_what_was_seen_twice_enters_with_its_score_and_reasons_frozen(project: Project, clock: Clock) -> None:
    done = learn(project, clock, loop())
    (entered,) = done.entered
    assert (entered.trigger, entered.kind) == ("implicit", "procedure")
    (one,) = [one for one in evidence(project, clock) if one.p == entered.key]
    assert (one.extra["x"], one.extra["score"]) == ("implicit", entered.score)
    assert set(one.extra["dims"]) == {"repeatability", "verifiability", "transferability", "controllable_risk"}
    assert "seen 2 times in 1 session" in one.extra["why"]
    assert one.extra["title"] == entered.title
    assert one.id.startswith("20260302-")  # the day it entered, for the daily breaker
    assert project.memory(clock).candidates()[0].pattern == entered.key


@pytest.mark.parametrize(("steps", "enters"), [("push pr deploy fetch", True), ("push pr deploy test", False)])
def test_more_than_three_external_steps_enter_when_seen_once(
    project: Project, clock: Clock, steps: str, enters: bool
) -> None:
    done = learn(project, clock, Session().say("Release it").do(f"edit {steps}"))
    assert ([one.key for one in done.entered] != []) == enters


def test_learning_the_same_session_twice_adds_nothing_to_the_pool_either(project: Project, clock: Clock) -> None:
    session = loop().say("Perfect! Remember this workflow.")
    first = learn(project, clock, session)
    assert first.entered
    known = {one.id for one in space_of(project, clock).read()[0].everything}
    for days in (0, 1, 40):
        clock.forward(days)
        again = learn(project, clock, session)
        assert (again.new, again.entered, again.held, again.reuse) == (0, (), (), ())
    assert {one.id for one in space_of(project, clock).read()[0].everything} == known


def test_two_clones_that_learn_one_session_on_different_days_agree(project: Project, clock: Clock) -> None:
    project.commit("memory")
    other = project.clone("other")
    path = loop().say("Remember this workflow").file(project.root.parent)
    project.memory(clock).learn([path])
    project.memory(clock).consolidate()
    before = {one.pattern: one.confidence for one in project.memory(clock).list()}
    clock.forward(1)
    other.observe("seq:edit->lint->test->commit", now=clock, session="another")
    other.memory(clock).learn([path])
    other.memory(clock).record()
    other.git("pull", "-q", "--no-rebase", "--no-edit", check=False)
    other.memory(clock).consolidate()
    after = {one.pattern: one.confidence for one in other.memory(clock).list()}
    assert after == {**before, "seq:edit->lint->test->commit": before["seq:edit->lint->test->commit"] + 1}
    assert other.errors() == []
    assert [one.severity for one in other.memory(clock).check()] == []


WORK = ("edit lint", "lint test", "commit push", "build deploy", "install fetch", "pr test", "deploy lint")


def busy() -> Session:
    """A session that makes nine candidates."""
    session = Session()
    for number, steps in enumerate(WORK):
        for _ in range(3):
            session.do(steps, agentId=f"a{number}").say("next", agentId=f"a{number}")
            session.do("todo", agentId=f"a{number}")
            session.use(f"Tool{number}{len(session.records)}", {}, "ok", agentId=f"a{number}")
    return session


def test_a_dry_run_says_what_would_enter_and_be_held_and_writes_nothing(project: Project, clock: Clock) -> None:
    done = learn(project, clock, busy(), dry_run=True)
    assert (len(done.entered), len(done.held)) == (5, 4)
    assert project.inbox_files() == []
    assert breaker_log.read(space_of(project, clock).place) == []


def test_five_enter_a_day_the_rest_is_held_logged_and_enters_later(project: Project, clock: Clock) -> None:
    assert NUMBERS.daily == 5
    first = learn(project, clock, busy())
    assert (len(first.entered), [one.breaker for one in first.held]) == (5, ["daily"] * 4)
    assert first.held[0].until == "2026-03-03"
    held = sorted(one.key for one in first.held)
    assert sorted(one.key for one in breaker_log.read(space_of(project, clock).place)) == held
    (trip,) = project.memory(clock).breakers()[0]
    assert (trip.name, trip.measured) == ("daily", 9)
    again = learn(project, clock, busy())
    assert (again.entered, again.held, again.waiting) == ((), (), 4)
    clock.forward(1)
    later = learn(project, clock, Session("other").say("hello").do("read"))
    assert (sorted(one.key for one in later.entered), later.held, later.waiting) == (held, (), 0)


def test_what_qualified_before_takes_the_room_that_is_left_and_trips_nothing(project: Project, clock: Clock) -> None:
    for key in SIX:
        project.observe(key, 2, now=clock)
    done = learn(project, clock, loop())
    assert (done.entered[0].key, len(done.entered), done.held, done.waiting) == (LOOP_KEY, 5, (), 2)
    assert project.memory(clock).breakers() == ([], [])
    clock.forward(1)
    assert len(learn(project, clock, loop()).entered) == 2


def test_a_reset_makes_room_again(project: Project, clock: Clock) -> None:
    learn(project, clock, busy())
    project.memory(clock).reset_breaker("daily", "the first session of the project")
    assert len(learn(project, clock, busy()).entered) == 4


def test_breakers_never_hold_what_a_person_asks_for(project: Project, clock: Clock) -> None:
    learn(project, clock, busy())
    done = learn(project, clock, Session("b").say("Release").do(LOOP).say("make this a skill"))
    assert [(one.key, one.trigger, one.kind) for one in done.entered] == [
        ("seq:edit->lint->test->commit", "explicit", "skill")
    ]


def test_three_rejections_in_a_row_pause_their_category_and_kind_for_automatic_ones(
    project: Project, clock: Clock
) -> None:
    memory = project.memory(clock)
    for key in SIX[:3]:
        memory.remember("something", key=key, kind="memory")
        memory.reject(key, "not worth it")
    scan = project.root.parent / "report.md"
    scan.write_text(
        "## Lessons\n\n- The cart has a cache of its own\n\n- Always lint before a commit\n", encoding="utf-8"
    )
    done = memory.scan([scan])
    assert [(one.title, one.breaker, one.until) for one in done.held] == [
        ("The cart has a cache of its own", "rejections", "2026-03-09")
    ]
    assert [one.title for one in done.entered] == ["Always lint before a commit"]  # of another kind
    clock.forward(7)
    assert [one.title for one in memory.scan([scan]).entered] == ["The cart has a cache of its own"]


@pytest.mark.parametrize("end", ["retire", "delete", "fade"])
def test_what_a_person_said_no_to_and_what_has_faded_does_not_enter(project: Project, clock: Clock, end: str) -> None:
    key = "note:apple"
    project.observe(key, 2, now=clock)
    memory = project.memory(clock)
    memory.consolidate()
    if end == "retire":
        memory.retire(key)
    elif end == "delete":
        (project.root / str(memory.show(key).path)).unlink()
        project.commit("no")
    else:
        memory.adjust(key, -2)
    done = learn(project, clock, Session().say("hello").do("read"))
    assert (done.entered, done.held) == ((), ())


def test_what_repeats_the_steps_of_better_ones_enters_last(project: Project, clock: Clock) -> None:
    for key in ("seq:lint->test->commit", "seq:test->commit", "seq:lint->test"):
        project.observe(key, 2, now=clock)
    for key in SIX[:4]:
        project.observe(key, 2, now=clock)
    done = learn(project, clock, Session().say("hello").do("read"))
    assert {one.key for one in done.entered} == {*SIX[:3], "seq:lint->test", "seq:test->commit"}
    assert (done.held, done.waiting) == ((), 2)
    clock.forward(1)
    later = learn(project, clock, Session().say("hello").do("read"))
    assert [one.key for one in later.entered] == [SIX[3], "seq:lint->test->commit"]


def test_what_a_call_brings_comes_before_what_waits(project: Project, clock: Clock) -> None:
    for action in ("lint", "build", "commit", "format", "typecheck", "compile"):
        project.observe(f"seq:{action}->push->test", 2, now=clock)
    scan = project.root.parent / "report.md"
    scan.write_text("## Lessons\n\n- The cart has a cache of its own\n", encoding="utf-8")
    done = project.memory(clock).scan([scan])
    assert done.entered[0].title == "The cart has a cache of its own"
    assert (len(done.entered), done.held, done.waiting) == (5, (), 2)

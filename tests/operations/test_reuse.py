"""What `learn` sees of reuse: sequences that were suggested and done again, praise and blame."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from instinct_git.core import entry
from instinct_git.storage import inbox
from tests.builders import Project
from tests.conftest import Clock
from tests.operations.test_entering import evidence, learn
from tests.sessions import Session

KEY = "seq:edit->lint->test"
DONE = "seq:edit->lint->test->commit"
LATER = "2026-03-05"


@pytest.fixture
def mature(project: Project, clock: Clock) -> str:
    """A sequence that is suggested from the next day on; the clock has gone on since."""
    project.observe(KEY, 5, now=clock)
    clock.forward(5)
    return KEY


@pytest.mark.parametrize(
    ("work", "counts"),
    [
        ("edit lint test", True),
        ("edit lint test read commit", True),
        ("edit lint test!", False),
        ("edit lint test! test", True),  # run again at once: the last run counts
        ("edit lint test?", False),
        ("edit lint", False),
    ],
)
def test_a_suggested_sequence_that_ends_in_a_passing_check_has_succeeded(
    project: Project, clock: Clock, mature: str, work: str, counts: bool
) -> None:
    done = learn(project, clock, Session("later", LATER).say("Mend it").do(work))
    assert [(one.key, one.kind) for one in done.reuse] == ([(mature, "succeeded")] if counts else [])


@pytest.mark.parametrize(("work", "counts"), [("lint commit test", True), ("lint commit read lint", True),
                                              ("lint commit test!", False), ("lint commit push test", False)])  # fmt: skip
def test_the_check_may_be_what_is_done_right_after(project: Project, clock: Clock, work: str, counts: bool) -> None:
    project.observe("seq:lint->commit", 5, now=clock)
    done = learn(project, clock, Session("later", LATER).say("Mend it").do(work))
    assert [one.kind for one in done.reuse if one.key == "seq:lint->commit"] == (["succeeded"] if counts else [])


@pytest.mark.parametrize("day", ["2026-03-01", "2026-03-02"])
def test_what_could_not_have_been_suggested_yet_is_only_seen(
    project: Project, clock: Clock, mature: str, day: str
) -> None:
    done = learn(project, clock, Session("early", day).say("Mend it").do("edit lint test"))
    assert (done.reuse, done.new) == ((), 1)


def test_what_a_person_remembered_was_suggested_too(project: Project, clock: Clock) -> None:
    project.memory(clock).remember("how we mend", key=KEY)
    done = learn(project, clock, Session("later", LATER).say("Mend it").do("edit lint test"))
    assert [one.kind for one in done.reuse] == ["succeeded"]
    (found,) = project.memory(clock).candidates()
    assert found.score == found.first_score + Decimal("0.08")


def test_a_session_is_one_reuse_however_often_it_loops(project: Project, clock: Clock, mature: str) -> None:
    session = Session("later", LATER).say("Mend it").do("edit lint test " * 5)
    assert [one.kind for one in learn(project, clock, session).reuse] == ["succeeded"]
    assert learn(project, clock, session).reuse == ()
    session.on("2026-03-06").do("edit lint test")
    assert learn(project, clock, session).reuse == ()
    assert len(evidence(project, clock, "succeeded")) == 1


def test_a_check_that_fails_says_nothing_about_the_advice(project: Project, clock: Clock, mature: str) -> None:
    learn(project, clock, Session("later", LATER).say("Mend it").do("edit lint test! edit lint test!"))
    assert evidence(project, clock, "failed") == []


def test_retired_and_raw_patterns_do_not_succeed(project: Project, clock: Clock, mature: str) -> None:
    project.observe("seq:lint->commit", 4, now=clock)
    memory = project.memory(clock)
    memory.consolidate()
    memory.retire(KEY)
    done = learn(project, clock, Session("later", "2026-03-20").say("Mend it").do("edit lint test lint commit lint"))
    assert done.reuse == ()


def test_a_known_sequence_that_is_done_once_more_is_seen(project: Project, clock: Clock, mature: str) -> None:
    done = learn(project, clock, Session("later", LATER).say("Mend it").do("edit lint test!"))
    assert {one.key: one.new for one in done.patterns}[KEY] == 1


@pytest.mark.parametrize(
    ("words", "kind"),
    [("Perfect!", "confirmed"), ("太棒了", "confirmed"), ("That's wrong.", "denied"), ("不对", "denied"),
     ("Is that correct?", ""), ("the test is wrong", "")],
)  # fmt: skip
def test_praise_and_blame_right_after_count_for_what_was_done_last(
    project: Project, clock: Clock, mature: str, words: str, kind: str
) -> None:
    project.observe("seq:lint->commit", 5, now=clock)
    session = Session("later", LATER).say("Mend it").do("lint commit push edit lint test!").say(words)
    done = learn(project, clock, session)
    assert [(one.key, one.kind) for one in done.reuse if one.kind != "succeeded"] == ([(KEY, kind)] if kind else [])
    assert learn(project, clock, session).reuse == ()


def test_praise_that_follows_no_work_or_unknown_work_counts_for_nothing(
    project: Project, clock: Clock, mature: str
) -> None:
    session = Session("later", LATER).say("Mend it").do("edit lint test!").say("thanks, go on").say("Perfect!")
    assert learn(project, clock, session).reuse == ()
    session = Session("other", LATER).say("Mend it").do("commit push commit push").say("Perfect!")
    assert learn(project, clock, session).reuse == ()


def test_blame_comes_last_in_its_day(project: Project, clock: Clock, mature: str) -> None:
    assert entry.LAST == inbox.LAST
    learn(project, clock, Session("later", LATER).say("Mend it").do("edit lint test!").say("That's wrong."))
    (one,) = evidence(project, clock, "denied")
    assert one.id.startswith("20260305-zz")


def test_a_pattern_that_reuse_lifts_to_nominated_is_told(project: Project, clock: Clock) -> None:
    memory = project.memory(clock)
    memory.remember("how we mend", key=KEY)
    for _ in range(3):
        memory.feedback(KEY, "succeeded")
    assert memory.candidates()[0].status == "ready"
    memory.nominations("cli")
    learn(project, clock, *[
        Session(f"later{n}", LATER).say("Mend it").do("edit lint test").say("Perfect!") for n in range(2)
    ])  # fmt: skip
    assert [one.pattern for one in project.memory(clock).nominations("cli")] == [KEY]


# --- ids --------------------------------------------------------------------------------------------------------------


def test_parts_of_a_session_and_the_whole_give_the_same_ids(project: Project, clock: Clock, tmp_path: Path) -> None:
    session = Session("long", "2026-02-01").say("Mend it").do("edit lint test commit edit lint test commit")
    middle = len(session.records)
    session.on("2026-02-02").say("go on").do("edit lint test commit push edit lint test commit")
    memory = project.memory(clock)
    first = memory.learn([session.file(tmp_path, last=middle, name="first")])
    second = memory.learn([session.file(tmp_path, first=middle, name="second")])
    assert first.new
    assert second.new
    whole = memory.learn([session.file(tmp_path)])
    assert {one.key: (one.support, one.new) for one in whole.patterns}[DONE] == (4, 0)
    days = {one.id[:8] for one in evidence(project, clock, "observed")}
    assert days == {"20260201", "20260202"}


def test_a_session_that_grows_adds_only_what_is_new(project: Project, clock: Clock) -> None:
    session = Session("long", "2026-02-01").say("Mend it").do("edit lint test commit edit lint test commit")
    first = {one.key: one.new for one in learn(project, clock, session).patterns}
    session.on("2026-02-02").do("edit lint test commit")
    again = {one.key: one.new for one in learn(project, clock, session).patterns}
    assert (first[DONE], again[DONE]) == (2, 1)


def test_an_observation_that_was_retracted_stays_retracted(project: Project, clock: Clock) -> None:
    session = Session().say("Mend it").do("edit lint test commit edit lint test commit")
    learn(project, clock, session)
    for one in evidence(project, clock, "observed"):
        project.memory(clock).retract(one.id)
    assert learn(project, clock, session).new == 0


def test_a_reuse_that_worked_is_not_seen_as_well(project: Project, clock: Clock, mature: str) -> None:
    before = project.memory(clock).show(KEY).live
    session = Session("later", LATER).say("Mend it").do("edit lint test")
    for _ in range(2):
        learn(project, clock, session)
        assert project.memory(clock).show(KEY).live == before + 1


@pytest.mark.parametrize("first", [["c", "b", "a"], ["c"], ["b", "c"], ["a", "c"], ["a", "b"]])
def test_the_order_of_learning_changes_no_number(project: Project, clock: Clock, first: list[str]) -> None:
    days = {"a": "2026-02-01", "b": "2026-02-02", "c": "2026-02-10"}
    sessions = {name: Session(name, day).say("Mend it").do("edit lint test " * 3) for name, day in days.items()}
    for name in first:
        learn(project, clock, sessions[name])
    for _ in range(2):  # what one call brings can have been suggested to no session of the same call
        learn(project, clock, *sessions.values())
        assert project.memory(clock).show(KEY).live == 9
    assert len(evidence(project, clock, "succeeded")) == 1


def test_a_deed_that_was_seen_before_its_check_was_run_counts_once(project: Project, clock: Clock, mature: str) -> None:
    before = project.memory(clock).show(KEY).live
    session = Session("later", LATER).say("Mend it").do("edit lint test?")
    assert learn(project, clock, session).new == 1
    session.do("test")
    assert [one.kind for one in learn(project, clock, session).reuse] == ["succeeded"]
    assert project.memory(clock).show(KEY).live == before + 1


@pytest.mark.parametrize("knows", [True, False])
def test_seen_in_one_clone_and_a_success_in_the_other_is_one_deed(project: Project, clock: Clock, knows: bool) -> None:
    project.commit("memory")
    other = project.clone("other")
    seeing, knowing = (other, project) if knows else (project, other)
    knowing.observe(KEY, 5, now=clock)
    clock.forward(5)
    path = Session("later", LATER).say("Mend it").do("edit lint test").file(project.root.parent)
    seeing.observe(KEY, 1, now=clock)  # known, but not suggested
    assert [seeing.memory(clock).learn([path]).reuse, len(knowing.memory(clock).learn([path]).reuse)] == [(), 1]
    project.memory(clock).record()
    other.memory(clock).record()
    other.git("pull", "-q", "--no-rebase", "--no-edit")
    other.memory(clock).consolidate()
    assert other.memory(clock).show(KEY).confidence == 5 + 1 + 1
    assert other.errors() == []

"""What a person says should be used: it reaches the memory as a preference, in the words of the table alone."""

from __future__ import annotations

import pytest

from tests.builders import Project
from tests.conftest import Clock
from tests.operations.test_entering import evidence, learn
from tests.sessions import Session

PNPM, NPM, NO_NPM = "pref:package-manager=pnpm", "pref:package-manager=npm", "pref:avoid=npm"


def suggested(project: Project, clock: Clock) -> list[str | None]:
    return [one.pattern for one in project.memory(clock).suggest()]


@pytest.mark.parametrize(("words", "key"), [("use pnpm, not npm", PNPM), ("不要用 npm", NO_NPM), ("以后用 pnpm", PNPM)])
def test_one_sentence_is_enough_to_be_told_from_then_on(project: Project, clock: Clock, words: str, key: str) -> None:
    done = learn(project, clock, Session().say("Add left-pad").do("install").say(words))
    assert [(one.key, one.new) for one in done.asked] == [(key, True)]
    assert [(one.key, one.trigger) for one in done.entered] == [(key, "explicit")]
    assert [(one.key, one.support, one.at, one.new) for one in done.patterns] == [(key, 1, ((1,),), 1)]
    assert [one.p for one in evidence(project, clock, "remembered")] == [key]
    assert suggested(project, clock) == [key]


def test_learning_it_again_adds_nothing(project: Project, clock: Clock) -> None:
    session = Session().say("use pnpm, not npm")
    learn(project, clock, session)
    again = learn(project, clock, session.do("edit"))
    assert [(one.key, one.new) for one in again.asked] == [(PNPM, False)]
    assert len(evidence(project, clock, "remembered")) == 1


def test_nothing_of_the_sentence_reaches_a_commit(project: Project, clock: Clock) -> None:
    learn(project, clock, Session().say("Mend the Initech checkout. Use pnpm, not npm, because Lumbergh says hello"))
    learn(
        project, clock, Session("s2").say("Initech: mend it\nUse pnpm, not npm, because Lumbergh wants it").do("edit")
    )
    memory = project.memory(clock)
    memory.consolidate()
    assert memory.show(PNPM).description == "Install packages with pnpm. A person said so."
    log = project.git("log", "-p")
    assert PNPM in log
    assert "Initech" not in log
    assert "Lumbergh" not in log


def test_a_habit_that_the_person_spoke_against_is_no_preference(project: Project, clock: Clock) -> None:
    habit = Session().say("Mend it").do("install edit " * 6)
    assert NPM in {one.key for one in learn(project, clock, habit, dry_run=True).patterns}
    done = learn(project, clock, habit.say("use pnpm, not npm"))
    assert {one.key for one in done.patterns if one.key.startswith("pref")} == {PNPM}


def test_a_known_preference_that_the_person_speaks_against_is_denied(project: Project, clock: Clock) -> None:
    memory = project.memory(clock)
    for number in range(6):
        memory.observe(NPM, session=str(number))
    memory.remember("Do not use pnpm", key="pref:avoid=pnpm")
    memory.consolidate()
    assert set(suggested(project, clock)) == {NPM, "pref:avoid=pnpm"}
    clock.forward(3)
    done = learn(project, clock, Session("later", "2026-03-05").say("use pnpm, not npm"))
    assert {(one.key, one.kind) for one in done.reuse} == {(NPM, "denied"), ("pref:avoid=pnpm", "denied")}
    project.memory(clock).consolidate()
    assert suggested(project, clock) == [PNPM]


def test_of_two_statements_in_one_session_the_last_counts(project: Project, clock: Clock) -> None:
    session = Session().say("use npm, not pnpm").do("edit").say("no, wrong: use pnpm, not npm")
    assert [one.key for one in learn(project, clock, session).asked] == [PNPM]


@pytest.mark.parametrize("who", [{"isMeta": True}, {"isSidechain": True}, {"agentId": "a1"}])
def test_only_the_persons_own_words_count(project: Project, clock: Clock, who: dict[str, object]) -> None:
    assert learn(project, clock, Session().say("use pnpm, not npm", **who).do("edit")).asked == ()


def test_words_that_ask_to_remember_a_choice_are_one_request(project: Project, clock: Clock) -> None:
    done = learn(project, clock, Session().say("From now on, use uv for all packages").say("请记住：以后都用 pnpm"))
    assert [one.key for one in done.asked] == ["pref:package-manager=uv", PNPM]


def test_what_two_sessions_say_enters_once(project: Project, clock: Clock) -> None:
    one, two = Session().say("use pnpm, not npm").do("edit"), Session("s2").say("don't use npm, use pnpm").do("edit")
    done = learn(project, clock, one, two)
    assert [(one.key, one.new) for one in done.asked] == [(PNPM, True), (PNPM, True)]
    assert [one.key for one in done.entered] == [PNPM]

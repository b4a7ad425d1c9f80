"""Requests to remember in a person's own prompts: what they mean, and whose words count."""

from __future__ import annotations

from typing import Any

import pytest

from instinct_git.core.asking import triggers_given
from tests.builders import Project
from tests.conftest import Clock
from tests.operations.test_entering import evidence, learn
from tests.sessions import Session

WORK = "edit lint test commit"
DONE = "seq:edit->lint->test->commit"


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("Great. Remember this for next time.", "skill"),
        ("make this a skill", "skill"),
        ("记住这个流程", "skill"),
        ("以后还会用", "skill"),
        ("封装成 Skill", "skill"),
        ("Save this as a procedure", "procedure"),
    ],
)
def test_this_means_what_was_just_done(project: Project, clock: Clock, words: str, kind: str) -> None:
    done = learn(project, clock, Session().say("Mend it").do(WORK).say(words))
    assert [(one.key, one.kind, one.trigger) for one in done.entered] == [(DONE, kind, "explicit")]
    assert [(one.key, one.new) for one in done.asked] == [(DONE, True)]
    assert [one.p for one in evidence(project, clock, "remembered")] == [DONE]
    assert DONE in [one.pattern for one in project.memory(clock).suggest()]


def test_the_pattern_that_ended_last_in_that_work_is_meant(project: Project, clock: Clock) -> None:
    session = Session().say("a").do("install build push install build push").say("b").do("edit lint test " * 2)
    done = learn(project, clock, session.say("remember this"))
    assert [one.key for one in done.entered if one.trigger == "explicit"] == ["seq:edit->lint->test"]


def test_prompts_without_work_between_them_speak_of_the_same_work(project: Project, clock: Clock) -> None:
    done = learn(project, clock, Session().say("Mend it").do(WORK).say("thanks").say("now remember this"))
    assert [one.key for one in done.entered] == [DONE]


@pytest.mark.parametrize(
    ("words", "key", "kind"),
    [
        ("remember: we release on Fridays", "note:we release on Fridays", "memory"),
        ("Please remember this: never push on Fridays.", "note:never push on Fridays", "memory"),
        ("Remember to always run the linter first.", "note:always run the linter first", "rule"),
        ("From now on, use short names for branches", "note:use short names for branches", "rule"),
        ("记住：发布前先跑测试", "note:发布前先跑测试", "memory"),
        ("以后都要先跑测试再提交", "note:以后都要先跑测试再提交", ""),
    ],
)
def test_words_that_say_something_are_a_note(project: Project, clock: Clock, words: str, key: str, kind: str) -> None:
    done = learn(project, clock, Session().say("Mend it").do(WORK).say(words))
    assert [one.key for one in done.entered] == [key]
    assert kind in ("", done.entered[0].kind)


def test_a_name_that_is_given_with_the_request_names_what_was_done(project: Project, clock: Clock) -> None:
    learn(project, clock, Session().say("发布").do(WORK).say("记住这个流程: 发布博客"))
    (one,) = evidence(project, clock)
    assert (one.p, one.extra["title"], one.extra["meta"]) == (DONE, "发布博客", {"triggers": ["发布博客"]})


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ('Remember this; when I say "ship it", do it again', ("ship it",)),
        ("记住这个流程。触发词：发布博客、更新博客", ("发布博客", "更新博客")),
        ("当我说“发布”时就这么做，记住这个流程", ("发布",)),
        ('when I say "call ops@corp.example.com"', ()),
        ("I said nothing", ()),
    ],
)
def test_only_words_that_are_given_as_triggers_are_kept(words: str, found: tuple[str, ...]) -> None:
    assert triggers_given(words) == found


def test_given_trigger_words_reach_the_proposed_skill(project: Project, clock: Clock) -> None:
    learn(project, clock, Session().say("x").do(WORK).say('Make this a skill. When I say "ship it", do it again.'))
    memory = project.memory(clock)
    memory.consolidate()
    proposed = memory.propose(DONE)
    text = project.git("show", f"{proposed.branch}:{next(f for f in proposed.files if f.endswith('SKILL.md'))}")
    assert "ship it" in text


MARKS: list[dict[str, Any]] = [
    {"isMeta": True}, {"isSidechain": True}, {"isCompactSummary": True}, {"agentId": "a1"}, {"toolUseResult": "x"},
    {"sourceToolUseID": "t1"}, {"origin": {"kind": "task-notification"}}, {"turnOrigin": "task-notification"},
    {"entrypoint": "sdk-py"},
]  # fmt: skip


@pytest.mark.parametrize("mark", MARKS, ids=lambda mark: next(iter(mark)))
def test_what_a_program_says_in_the_persons_name_asks_for_nothing(
    project: Project, clock: Clock, mark: dict[str, Any]
) -> None:
    done = learn(project, clock, Session().say("Mend it").do(WORK).say("remember this workflow", **mark))
    assert (done.asked, done.entered) == ((), ())


@pytest.mark.parametrize(
    "text",
    [
        "<system-reminder>remember this workflow</system-reminder>",
        "<user-prompt-submit-hook>make this a skill</user-prompt-submit-hook> go on",
        "<task-notification>x</task-notification>\nremember this workflow",
        "This session is being continued from a previous conversation. Remember this workflow.",
        "Caveat: The messages below were generated. Remember this workflow.",
        "> remember this workflow\n\nwhat does that mean?",
        "look:\n```\nremember this workflow\n```",
        "read it:\n" + "a line of a log\n" * 30 + "remember this workflow\n",
        "Do not remember this workflow.",
    ],
)
def test_what_is_quoted_pasted_or_denied_asks_for_nothing(project: Project, clock: Clock, text: str) -> None:
    done = learn(project, clock, Session().say("Mend it").do(WORK).say(text))
    assert (done.asked, done.entered) == ((), ())


def test_a_tool_result_asks_for_nothing(project: Project, clock: Clock) -> None:
    session = Session().say("Mend it").do(WORK).use("Read", {"file_path": "/a"}, "remember this workflow")
    assert learn(project, clock, session).asked == ()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("remember this", "names nothing"),
        ("remember: the password is Tr0ub4dor&3xyz!", "secret"),
        ("remember: look at /home/dev/clients/acme first", "absolute path"),
        ("remember: ask ops@corp.example.com before", "a host"),
    ],
)
def test_what_cannot_be_remembered_is_said_and_the_rest_is_learned(
    project: Project, clock: Clock, words: str, why: str
) -> None:
    session = Session().say("Mend it").do(f"{WORK} {WORK} read").say("a").do("read").say("b").say(words)
    done = learn(project, clock, session) if why != "names nothing" else learn(
        project, clock, Session().say("hello").say(words)
    )  # fmt: skip
    (asked,) = done.asked
    assert (asked.key, asked.new) == ("", False)
    assert why in asked.why
    assert "Tr0ub4dor" not in str(done)
    if why != "names nothing":
        assert DONE in {one.key for one in done.patterns}


def test_prompts_do_not_reach_a_commit(project: Project, clock: Clock) -> None:
    session = Session().say("Please mend the Initech checkout").do(WORK).say("good, remember this workflow for Initech")
    learn(project, clock, session)
    project.memory(clock).consolidate()
    assert "Initech" not in project.git("log", "-p")


def test_a_resumed_session_that_repeats_its_prompts_asks_once(project: Project, clock: Clock) -> None:
    session = Session().say("Mend it").do(WORK).say("remember: we release on Fridays")
    resumed = Session("s2", "2026-02-02", [{**one, "sessionId": "s2"} for one in session.records])
    done = learn(project, clock, session, resumed)
    assert len(done.asked) == 1


@pytest.mark.parametrize("name", ["a", "b", "c", "d", "e"])
def test_the_name_that_a_person_gives_is_the_patterns_title(project: Project, clock: Clock, name: str) -> None:
    """Whatever the other ids of the day are: each session has others."""
    learn(project, clock, Session(name).say("x").do(WORK).say("Remember this workflow: mending the cart"))
    memory = project.memory(clock)
    memory.consolidate()
    assert memory.show(DONE).title == "mending the cart"


@pytest.mark.parametrize("share", [True, False])
def test_the_prompt_before_a_reuse_is_a_trigger_word_only_where_notes_are_shared(
    project: Project, clock: Clock, share: bool
) -> None:
    memory = project.memory(clock)
    memory.configure("share_notes", str(share).lower())
    memory.remember("how we mend", key="seq:edit->lint->test", title="mend it", kind="skill")
    session = Session("later", "2026-03-05").say("Ship it!").do("edit lint test").say("long " * 30).do("edit lint test")
    clock.forward(5)
    for _ in range(2):
        learn(project, clock, session)
    assert [one.extra["meta"] for one in evidence(project, clock, "scored")] == [{"triggers": ["Ship it"]}] * share
    memory.consolidate()
    proposed = memory.propose("seq:edit->lint->test")
    text = project.git("show", f"{proposed.branch}:{next(f for f in proposed.files if f.endswith('SKILL.md'))}")
    assert ("Ship it" in text) == share
    assert project.errors() == []

"""A session starts: told once by whichever host, with a line on what waits, and without a trace in CI."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from instinct_git.core.ranking import tokens
from tests.builders import KEY, Project
from tests.faces.conftest import Instinct, mature

Start = Callable[..., str]


@pytest.fixture
def start(project: Project, instinct: Instinct, feed: Callable[[str], None]) -> Start:
    """Run a session-start hook and return what the agent reads; "" for nothing."""

    def run(agent: str = "claude-code", **event: Any) -> str:
        feed(json.dumps({"cwd": str(project.root), **event}))
        done = instinct("session-start", agent)
        assert (done.code, done.err) == (0, "")
        found = json.loads(done.out) if done.out else {}
        inner = found.get("hookSpecificOutput", found)
        return str(inner.get("additionalContext", inner.get("additional_context", "")))

    return run


def test_of_two_hosts_that_start_one_session_one_is_told(project: Project, start: Start) -> None:
    mature(project)
    cursor = {"conversation_id": "c1", "cursor_version": "2"}
    assert KEY in start("cursor", **cursor)
    assert start("claude-code", **cursor, session_id="c1", source="startup") == ""
    assert KEY in start("claude-code", session_id="c2", source="startup")
    assert KEY in start("claude-code", session_id="c2", source="compact"), "it has forgotten what it was told"
    assert KEY in start() and KEY in start(), "sessions without an id cannot be told apart"


def test_what_it_was_told_stands_in_the_sessions_sum(project: Project, start: Start) -> None:
    mature(project)
    said = start("codex", session_id="c1")
    found = project.memory().session_summary("c1")
    assert (found.agent, found.told, found.tokens) == ("codex", (KEY,), tokens(said))


def test_what_waits_is_a_line_for_the_person_within_the_budget(project: Project, start: Start) -> None:
    project.observe("note:fresh", 3)
    said = start(session_id="s1")
    assert "For the person:\n- 3 pieces of evidence wait in this clone since" in said
    mature(project)
    project.observe("note:fresh", 1)
    project.memory().configure("suggest.budget", "120")
    said = start(session_id="s2")
    assert "1 piece of evidence waits" in said and tokens(said) <= 120
    project.memory().configure("suggest.budget", "0")
    assert start(session_id="s3") == ""


def test_nothing_that_is_injected_tells_an_agent_to_commit(project: Project, start: Start) -> None:
    mature(project)
    project.observe("note:fresh", 3)
    said = start(session_id="s1").casefold()
    assert "git commit" not in said and "push" not in said


def test_in_ci_suggestions_are_given_and_nothing_is_kept(
    project: Project, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    mature(project)
    assert KEY in start()  # the index is a cache
    before = sorted(Path(project.root).rglob("*"))
    monkeypatch.setenv("CI", "true")
    assert KEY in start(session_id="s1") and KEY in start(session_id="s1")
    assert sorted(Path(project.root).rglob("*")) == before
    project.memory().configure("record_in_ci", "true")
    assert KEY in start(session_id="s1")
    assert project.memory().told("s1") == {KEY}


def test_where_there_is_no_memory_at_all_no_session_is_noted(
    anywhere: Instinct, feed: Callable[[str], None], sealed: Path
) -> None:
    feed('{"session_id": "s1"}')
    assert anywhere("session-start", "claude-code") == (0, "", "")
    assert list((sealed / ".instinct").rglob("sessions")) == []

"""install, uninstall, session-start and the exports that agents read, from the command line."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from instinct_git import Memory
from tests.builders import KEY, Project, Ran, process
from tests.faces.conftest import Instinct, mature, two_lines


def test_install_writes_what_it_says_and_uninstall_leaves_no_difference(project: Project, instinct: Instinct) -> None:
    project.write(".claude/settings.json", '{\n\t"model": "x"\n}\n')
    project.write(".gemini/settings.json", '{\n\t// mine\n\t"mcpServers": {}\n}\r\n')
    project.commit("settings")
    done = instinct("install", "claude-code", "gemini")
    assert done.code == 0
    assert "edit    .claude/settings.json" in done.out and "create  .mcp.json" in done.out
    assert "trusted folders" in done.out
    assert project.git("status", "--porcelain") != ""
    again = instinct("install", "claude-code", "gemini")
    assert "# nothing to do" in again.out
    assert instinct("uninstall", "claude-code", "gemini").code == 0
    assert project.git("status", "--porcelain") == ""


def test_what_is_left_to_do_names_each_agent_once(instinct: Instinct) -> None:
    from instinct_git.bridges.agents.table import AGENTS

    said = instinct("install", *(one.name for one in AGENTS), "--yes").out
    steps = [line for line in said.split("\n") if any(line.startswith(f"# {one.title} ") for one in AGENTS)]
    assert len(steps) == sum(bool(one.then) for one in AGENTS)
    assert all(one.then.startswith(one.title) for one in AGENTS if one.then)


def test_a_dry_run_shows_the_difference_and_writes_nothing(project: Project, instinct: Instinct) -> None:
    project.commit("memory")
    done = instinct("install", "cursor", "windsurf", "--dry-run")
    assert done.code == 0
    assert '+    "instinct": {' in done.out and "~/.codeium/windsurf/mcp_config.json" in done.out
    assert project.git("status", "--porcelain") == ""
    instinct("install", "cursor")
    assert '-    "instinct": {' in instinct("uninstall", "cursor", "--dry-run").out
    assert (project.root / ".cursor" / "mcp.json").exists()


def test_without_a_name_it_shows_what_it_would_do_for_the_agents_that_are_here(
    project: Project, instinct: Instinct, sealed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    (sealed / ".codex").mkdir()
    (sealed / ".gemini").mkdir()
    done = instinct("install")
    assert done.code == 0
    assert "create  .codex/hooks.json" in done.out and ".gemini/settings.json" in done.out
    assert "nothing was written: `instinct install codex gemini` does it" in done.out
    assert not (project.root / ".codex").exists()


def test_outside_the_repository_nothing_is_written_without_a_yes(
    instinct: Instinct, sealed: Path, monkeypatch: pytest.MonkeyPatch, feed: Callable[[str], None]
) -> None:
    target = sealed / ".codeium" / "windsurf" / "mcp_config.json"
    feed("yes\n")
    done = instinct("install", "windsurf")
    assert done.code == 2 and "outside this repository" in done.err and "--yes" in done.err
    assert not target.exists()
    assert instinct("install", "windsurf", "--yes").code == 0
    assert json.loads(target.read_text())["mcpServers"]["instinct"]["args"] == ["serve"]
    assert instinct("uninstall", "windsurf").code == 2
    assert target.exists()
    assert instinct("uninstall", "windsurf", "--yes").code == 0
    assert not target.exists()


@pytest.mark.parametrize(("typed", "written"), [("yes\n", True), ("y\n", False), ("\n", False), ("", False)])
def test_on_a_terminal_the_person_types_yes(
    instinct: Instinct,
    sealed: Path,
    monkeypatch: pytest.MonkeyPatch,
    feed: Callable[[str], None],
    typed: str,
    written: bool,
) -> None:
    feed(typed)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    done = instinct("install", "claude-code", "--user")
    assert "Type yes to write 2 files" in done.err
    assert done.code == (0 if written else 2)
    assert (sealed / ".claude.json").exists() is written


def test_settings_that_are_no_json_end_in_two_lines(project: Project, instinct: Instinct) -> None:
    project.write(".claude/settings.json", "{'a': 1}")
    done = instinct("install", "claude-code", "cursor")
    two_lines(done, "settings.json is not touched: it is not valid JSON (line 1)", "nothing was written anywhere")
    assert not (project.root / ".mcp.json").exists() and not (project.root / ".cursor").exists()


def test_wrong_use_is_said(instinct: Instinct) -> None:
    two_lines(instinct("install", "claud-code"), "no agent 'claud-code'", "claude-code")
    two_lines(instinct("uninstall"), "which agent", "--status")
    two_lines(instinct("install", "codex", "--user", "--project"), "exclude", "one of them")


def test_status_and_json(instinct: Instinct) -> None:
    data = json.loads(instinct("install", "cursor", "--json").out)
    assert [one["action"] for one in data["changes"]] == ["create"] * 3 and data["dry_run"] is False
    rows = json.loads(instinct("install", "--status", "--json").out)["agents"]
    assert {one["state"] for one in rows if one["agent"] == "cursor" and one["level"] == "project"} == {"wired"}
    assert "wired   .cursor/mcp.json" in instinct("install", "--status").out


# --- a session starts -----------------------------------------------------------------------------------------------

SHAPES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "claude-code": lambda found: found["hookSpecificOutput"]["additionalContext"],
    "codex": lambda found: found["hookSpecificOutput"]["additionalContext"],
    "gemini": lambda found: found["hookSpecificOutput"]["additionalContext"],
    "copilot": lambda found: found["additionalContext"],
    "cursor": lambda found: found["additional_context"],
}


@pytest.mark.parametrize("agent", SHAPES)
def test_a_session_start_hands_the_agent_its_advice(
    project: Project, instinct: Instinct, feed: Callable[[str], None], agent: str
) -> None:
    mature(project, times=12)
    feed(json.dumps({"session_id": "1", "cwd": str(project.root)}))
    done = instinct("session-start", agent)
    assert (done.code, done.err) == (0, "")
    said = SHAPES[agent](json.loads(done.out))
    assert KEY in said and "12 x" in said and "Proven; apply by default" in said


def test_copilots_hook_under_vs_code_answers_in_its_form(
    project: Project, instinct: Instinct, feed: Callable[[str], None]
) -> None:
    mature(project)
    feed('{"hookEventName": "SessionStart"}')
    assert "hookSpecificOutput" in json.loads(instinct("session-start", "copilot").out)


def test_the_events_folder_counts_before_the_hooks_own(
    project: Project, feed: Callable[[str], None], tmp_path: Path
) -> None:
    mature(project)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    event = json.dumps({"workspace_roots": [str(project.root)]})
    done = process(elsewhere, "session-start", "cursor", stdin=event)
    assert KEY in json.loads(done.out)["additional_context"]
    assert process(elsewhere, "session-start", "cursor", stdin="{}") == Ran(0, "", "")


@pytest.mark.parametrize("stdin", ["", "{", "[]", "\0", '{"cwd": "/nowhere"}', '{"cwd": 1, "workspace_roots": 2}'])
def test_a_session_start_is_silent_whatever_it_is_given(
    instinct: Instinct, feed: Callable[[str], None], stdin: str
) -> None:
    feed(stdin)
    assert instinct("session-start", "codex") == Ran(0, "", "")
    assert instinct("session-start") == Ran(0, "", "")


def test_a_session_start_never_fails_for_a_broken_memory_and_can_be_turned_off(
    project: Project, instinct: Instinct, feed: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    mature(project)
    monkeypatch.setenv("INSTINCT_SKIP", "1")
    feed("{}")
    assert instinct("session-start", "codex") == Ran(0, "", "")
    monkeypatch.delenv("INSTINCT_SKIP")
    project.write(".instinct/config.yaml", "suggest: [\n")
    feed("{}")
    assert instinct("session-start", "codex") == Ran(0, "", "")


# --- exports --------------------------------------------------------------------------------------------------------

FORMS = {
    "agents-md": "", "claude-md": "", "gemini": "", "copilot": "", "cursor": "alwaysApply: true", "windsurf": "trigger: always_on",
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_an_export_keeps_its_block_up_to_date_and_nothing_else(project: Project, instinct: Instinct, form: str) -> None:
    mature(project)
    printed = instinct("export", form)
    assert printed.code == 0 and KEY in printed.out and printed.out.startswith("<!-- instinct:memory:start -->")
    new = project.root / "docs" / "new.md"
    assert instinct("export", form, "--output", str(new)).code == 0
    assert FORMS[form] in new.read_text() and new.read_text().endswith(printed.out)
    file = project.write("RULES.md", "# Mine\r\n")
    instinct("export", form, "-o", "RULES.md")
    first = file.read_bytes()
    assert first.startswith(b"# Mine\r\n\r\n<!-- instinct") and first.count(b"\n") == first.count(b"\r\n")
    instinct("export", form, "-o", "RULES.md")
    assert file.read_bytes() == first
    file.write_bytes(first + b"\r\nmore\r\n")
    mature(project, "seq:read->edit")
    instinct("export", form, "-o", "RULES.md")
    assert b"seq:read->edit" in file.read_bytes() and file.read_bytes().endswith(b"end -->\r\n\r\nmore\r\n")


def test_an_export_holds_nothing_of_the_persons_own_memory(project: Project, instinct: Instinct) -> None:
    mature(project)
    for _ in range(6):
        instinct("observe", "pref:mine-alone", "--global")
    assert "pref:mine-alone" not in instinct("export", "agents-md").out


def test_an_export_says_the_same_whatever_the_person_knows_from_elsewhere(project: Project, instinct: Instinct) -> None:
    project.observe("note:ours", 6)
    project.observe("pref:style=black", 6)
    project.memory().consolidate()
    before = instinct("export", "agents-md").out
    assert "note:ours" in before and "black" in before
    for _ in range(12):
        Memory(scope="global").observe("note:ours")
        Memory(scope="global").observe("pref:style=ruff")
    Memory(scope="global").consolidate()
    assert instinct("export", "agents-md").out == before


def test_a_file_that_cannot_take_the_block_is_not_touched(project: Project, instinct: Instinct) -> None:
    project.write("A.md", "<!-- instinct:memory:end -->\n")
    two_lines(instinct("export", "agents-md", "-o", "A.md"), "A.md is not touched", "mend")
    two_lines(instinct("export", "agents-md", "-o", "."), "cannot be written", "another")

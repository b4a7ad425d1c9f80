"""`install --by-agent`: the agent's own `mcp add` is tried on a copy, and taken where it can be undone to the byte."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from instinct_git.bridges.agents.own_command import inserted
from instinct_git.bridges.agents.table import Surroundings
from instinct_git.operations import foreign, installing
from tests.builders import git

SERVER = '{"mcpServers": {"instinct": {"command": "instinct", "args": ["serve"]}}}'
BEFORE = '# mine\nmodel = "x"\n'


@pytest.fixture
def where(tmp_path: Path, sealed: Path) -> Surroundings:
    """A repository, a home, and a folder for commands of agents."""
    (tmp_path / "bin").mkdir()
    git(tmp_path, "init", "-q", "repository")
    return Surroundings(tmp_path / "repository", sealed, {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin"}, "linux")


def command(tmp_path: Path, name: str, script: str) -> None:
    """Make an agent's command; the copy that it is to change is $1's file."""
    program = tmp_path / "bin" / name
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


def there_and_back(where: Surroundings, home: Path, name: str, level: str) -> foreign.Plan:
    """Install, see that a second time changes nothing, and uninstall."""
    plan = installing.plan_install(where, home, [name], level, by_agent=True)
    foreign.apply(plan, home)
    assert installing.plan_install(where, home, [name], level, by_agent=True).changes == ()
    assert {one.state for one in installing.status(where) if one.level == level} == {installing.WIRED}
    foreign.apply(installing.plan_uninstall(where, home, [name], level), home)
    return plan


def test_what_adds_one_piece_is_taken_and_comes_out_to_the_byte(where: Surroundings, tmp_path: Path) -> None:
    words = '\n[mcp_servers.instinct]\ncommand = "instinct"\nargs = [ "serve" ]\nenabled = true\n'
    command(tmp_path, "codex", f"printf '%s' '{words}' >> \"$CODEX_HOME/config.toml\"")
    file = where.home / ".codex" / "config.toml"
    file.parent.mkdir()
    file.write_text(BEFORE)
    plan = there_and_back(where, tmp_path / "own", "codex", installing.USER)
    [change] = [one for one in plan.changes if one.real == file]
    assert change.after == (BEFORE + words).encode() and change.what[0] == "MCP server (by `codex mcp add`)"
    assert file.read_text() == BEFORE


def test_a_file_that_was_not_there_is_made_by_the_agent_and_goes_again(where: Surroundings, tmp_path: Path) -> None:
    command(tmp_path, "claude", f"printf '%s' '{SERVER}' > .mcp.json")
    plan = there_and_back(where, tmp_path / "own", "claude-code", installing.PROJECT)
    assert plan.changes[0].after == SERVER.encode() and plan.notices == ()
    assert where.top is not None and not (where.top / ".mcp.json").exists()


@pytest.mark.parametrize(
    ("script", "why"),
    [
        (f"printf '%s' '{SERVER}' > .mcp.json", "would change more of it than it adds"),
        ("exit 3", "failed \\(exit 3\\)"),
        (":", "writes more than the registration"),
        ("rm .mcp.json", "wrote nothing"),
        ("printf '\\377' > .mcp.json", "no UTF-8"),
        ("cat >/dev/null; exit 1", "failed"),
    ],
)
def test_what_cannot_be_undone_is_edited_by_us_and_said(
    where: Surroundings, tmp_path: Path, script: str, why: str
) -> None:
    """Gemini CLI's own command, for one, loses servers that stand on one line."""
    command(tmp_path, "claude", script)
    assert where.top is not None
    file, text = where.top / ".mcp.json", '{\n\t"mcpServers": {"a": {"command": "a"}}\n}\n'
    file.write_text(text)
    plan = installing.plan_install(where, tmp_path / "own", ["claude-code"], installing.PROJECT, by_agent=True)
    [notice] = plan.notices

    assert re.search(f"is edited here: .*{why}", notice), notice
    assert b'"a": {"command": "a"}' in (plan.changes[0].after or b"")
    assert file.read_text() == text, "a copy was tried, never the file"
    there_and_back(where, tmp_path / "own", "claude-code", installing.PROJECT)
    assert file.read_text() == text


def test_what_the_agent_writes_beside_the_registration_does_not_get_into_a_new_file(
    where: Surroundings, tmp_path: Path
) -> None:
    command(tmp_path, "claude", f'printf \'%s\' \'{SERVER[:-1]}, "userID": "1"}}\' > "$HOME/.claude.json"')
    plan = installing.plan_install(where, tmp_path / "own", ["claude-code"], installing.USER, by_agent=True)
    assert "writes more than the registration" in plan.notices[0]
    assert b"userID" not in (plan.changes[0].after or b"")


def test_without_the_agents_command_it_is_edited_by_us(where: Surroundings, tmp_path: Path) -> None:
    plan = installing.plan_install(where, tmp_path / "own", ["claude-code"], installing.PROJECT, by_agent=True)
    assert plan.notices == (f"{where.top}/.mcp.json is edited here: claude is not on your PATH",)


def test_an_agents_command_sees_nothing_of_the_persons_home(where: Surroundings, tmp_path: Path) -> None:
    command(tmp_path, "claude", f'echo "$HOME $SECRET" > "{tmp_path}/seen"; exit 1')
    told = where._replace(environ={**where.environ, "SECRET": "tulip"})
    installing.plan_install(told, tmp_path / "own", ["claude-code"], installing.USER, by_agent=True)
    seen = (tmp_path / "seen").read_text()
    assert "tulip" not in seen and str(where.home) not in seen


@given(some.text("ab\n", max_size=8), some.text("ab\n", max_size=8), some.text("ab\n", max_size=8))
def test_what_was_inserted_is_found_whatever_surrounds_it(first: str, middle: str, last: str) -> None:
    span = inserted(first + last, first + middle + last)
    assert span is not None
    whole = first + middle + last
    assert whole[: span[0]] + whole[span[1] :] == first + last


@pytest.mark.parametrize(("before", "after"), [("abc", "ab"), ("abc", "xbcd"), ("abcd", "axcyd"), ("a", "")])
def test_what_changes_or_takes_away_is_no_insertion(before: str, after: str) -> None:
    assert inserted(before, after) is None

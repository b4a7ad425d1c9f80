"""`doctor`'s proof: what is wired is run, what it says is what a session gets, and nothing is left behind."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from instinct_git import __version__
from instinct_git.operations import proving
from instinct_git.operations.observing import Draft
from tests.builders import KEY, Project, Ran

ROOT = Path(__file__).resolve().parents[2]
REAL = f'PYTHONPATH="{ROOT}" exec "{sys.executable}" -m instinct_git "$@"'
HOOK = f'PYTHONPATH="{ROOT}" exec "{sys.executable}" -m instinct_git.faces.hook "$@"'
TOOLS = """\
read l; echo '{"jsonrpc":"2.0","id":1,"result":{}}'; read l; read l; echo '{"jsonrpc":"2.0","id":2,"result":{"tools":[1,2]}}'"""
SAYS = f"""cat > /dev/null; echo '{{"hookSpecificOutput":{{"additionalContext":"- it (`{KEY}`; x)"}}}}'"""
BLOCKS = "exec tail -f /dev/null"


class Bin:
    """A folder of programs on the PATH."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch | None = None) -> None:
        self.folder, self._monkeypatch = folder, monkeypatch
        folder.mkdir()

    def put(self, name: str, script: str) -> Path:
        path = self.folder / name
        path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        path.chmod(0o755)
        return path

    def fake(
        self, *, version: str = __version__, start: str = SAYS, serve: str = TOOLS, hook: str = "true", own: bool = True
    ) -> None:
        """An `instinct` that answers at once; with `own` this very program does too."""
        if own and self._monkeypatch is not None:
            script = self.put("own", SAYS)
            self._monkeypatch.setattr(proving, "OWN", (str(script),))
        self.put(
            "instinct",
            f'case "$1" in --version) echo "instinct-git {version}";; session-start) {start};; serve) {serve};; esac',
        )
        self.put("instinct-hook", hook)


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bin:
    made = Bin(tmp_path / "bin", monkeypatch)
    monkeypatch.setenv("PATH", os.pathsep.join((str(made.folder), "/usr/bin", "/bin")))
    return made


@pytest.fixture
def wired(project: Project, instinct: Callable[..., Ran], sealed: Path) -> Project:
    """Claude Code is wired and trusts the project, which has one pattern to tell."""
    project.memory().observe_many([Draft(KEY, title="Re-run the tests")] * 6)
    project.memory().consolidate()
    instinct("install", "claude-code")
    trusted = {"projects": {str(project.root): {"hasTrustDialogAccepted": True}}}
    (sealed / ".claude.json").write_text(json.dumps(trusted), encoding="utf-8")
    return project


def proof(project: Project, agent: str = "claude-code") -> proving.Proof:
    return next(one for one in project.memory().proofs().agents if one.agent == agent)


def traces(project: Project) -> dict[str, bytes]:
    """Everything in the project and in the user's folder but the index, which is a cache."""
    home = Path(os.environ["INSTINCT_HOME"])
    files = [one for base in (project.root, home) for one in base.rglob("*") if one.is_file()]
    return {str(one): one.read_bytes() for one in files if not one.name.startswith("index")}


# --- it proves --------------------------------------------------------------------------------------------------------


def test_a_wired_agent_is_told_the_very_text_and_nothing_is_left_behind(wired: Project, programs: Bin) -> None:
    programs.put("instinct", f'if [ "$1" = serve ]; then {TOOLS}; else {REAL}; fi')
    programs.put("instinct-hook", HOOK)
    before = traces(wired)
    found = wired.memory().proofs()
    assert traces(wired) == before
    [one] = found.agents
    assert (one.agent, one.wired, one.trusted, one.state, one.hint) == ("claude-code", "wired", "yes", "ok", "")
    assert (one.patterns, one.tools, one.program) == (
        1,
        2,
        proving.Program(str(programs.folder / "instinct"), __version__),
    )
    assert one.characters == len(found.session.text) and f"(`{KEY}`; project, mature, 6 x)" in found.session.text
    assert one.hook_ms is not None and one.server_ms is not None


@pytest.mark.slow
def test_the_real_server_is_started_and_asked_for_its_tools(wired: Project, programs: Bin) -> None:
    programs.put("instinct", REAL)
    programs.put("instinct-hook", HOOK)
    one = proof(wired)
    assert (one.tools, one.state) == (8, "ok"), one.words


FAILURES: list[tuple[dict[str, str], str, str]] = [
    ({"version": "0.0.1"}, f"is version 0.0.1, this is {__version__}", "update"),
    ({"start": "cat >/dev/null"}, "its hook says nothing, though there is something to tell", "INSTINCT_HOME"),
    ({"start": "exit 3"}, "`instinct session-start claude-code`: exit code 3", "by hand"),
    ({"start": "cat >/dev/null; echo {"}, "prints what is no JSON", "by hand"),
    ({"start": BLOCKS}, "no answer within 0.5 seconds", "by hand"),
    ({"serve": "exit 1"}, "its MCP server does not answer: ", "serve"),
    ({"serve": BLOCKS}, "no answer within 0.5 seconds", "serve"),
    ({"serve": "read l; echo no"}, "its MCP server does not answer: ", "serve"),
    ({"hook": "exit 9"}, "exit code 9", "by hand"),
]


def test_what_does_not_work_is_a_problem_with_the_one_thing_to_do(
    wired: Project, programs: Bin, monkeypatch: pytest.MonkeyPatch
) -> None:
    for options, words, hint in FAILURES:
        programs.fake(**options)
        with monkeypatch.context() as impatient:
            if BLOCKS in options.values():
                impatient.setattr(proving, "HOOK_SECONDS", 0.5)
                impatient.setattr(proving, "SERVER_SECONDS", 0.5)
                impatient.setattr(proving._Prober, "captured", lambda *_: "")
            one = proof(wired)
        assert one.state == "problem" and words in one.words and hint in one.hint, (options, one)


def test_a_program_that_is_not_on_the_path_is_missed(wired: Project, programs: Bin) -> None:
    one = proof(wired)
    assert (one.state, one.words) == ("problem", "instinct is not found; wired; trusted")
    assert "PATH" in one.hint or "install" in one.hint


def test_a_program_of_the_repository_is_not_run_and_no_shell_reads_a_command(
    wired: Project, programs: Bin, tmp_path: Path
) -> None:
    programs.fake()
    mark = tmp_path / "mark"
    evil = Bin(wired.root / "tools").put("instinct", f'touch "{mark}"')
    settings = wired.read(".claude/settings.json")
    start = "instinct session-start claude-code"
    wired.write(".claude/settings.json", settings.replace(start, f"{start}; touch {mark}"))
    assert proof(wired).patterns == 1  # the rest of the line is nothing but arguments
    wired.write(".claude/settings.json", settings.replace(start, f"{evil} session-start claude-code"))
    one = proof(wired)
    assert one.state == "problem" and "lies in this repository and is not on your PATH: not run" in one.words
    assert not mark.exists()


def test_a_program_that_only_a_relative_folder_of_the_path_finds_is_not_run(
    wired: Project, programs: Bin, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    mark = tmp_path / "mark"
    Bin(wired.root / "tools").put("instinct", f'touch "{mark}"')
    monkeypatch.chdir(wired.root)
    monkeypatch.setenv("PATH", os.pathsep.join(("tools", "/usr/bin", "/bin")))
    one = proof(wired)
    assert one.state == "problem" and "a relative folder of your PATH: not run" in one.words
    assert program(wired)[0] == "notice" and not mark.exists()


# --- how an agent stands ----------------------------------------------------------------------------------------------


def test_every_way_an_agent_can_stand_is_told(
    wired: Project, programs: Bin, instinct: Callable[..., Ran], sealed: Path
) -> None:
    programs.fake()
    assert proof(wired).state == "ok"
    (sealed / ".claude.json").unlink()
    one = proof(wired)
    assert (one.trusted, one.state) == ("no", "problem") and "trust the folder" in one.hint
    wired.write(".claude/settings.json", "{}")
    assert (proof(wired).wired, proof(wired).hint) == ("partly", "`instinct install claude-code`")
    wired.write(".claude/settings.json", "{ torn")
    assert proof(wired).wired == "unreadable" and "settings.json: it is not valid JSON" in proof(wired).words
    wired.write(".claude/settings.json", "{}")
    wired.write(".mcp.json", '{"mcpServers": {"instinct": {"command": "npx"}}}')
    assert (proof(wired).wired, proof(wired).state) == ("yours", "notice")
    (wired.root / ".mcp.json").unlink()
    one = proof(wired)
    assert (one.wired, one.state, one.hint) == ("absent", "notice", "`instinct install claude-code`")


def test_a_plugin_wires_too_and_both_at_once_are_told(
    wired: Project, programs: Bin, instinct: Callable[..., Ran], sealed: Path
) -> None:
    programs.fake()
    (sealed / ".claude").mkdir()
    (sealed / ".claude" / "settings.json").write_text(
        '{"enabledPlugins": {"instinct@instinct-git": true}}', encoding="utf-8"
    )
    one = proof(wired)
    assert one.state == "notice" and "its plugin is in use too" in one.words and "uninstall claude-code" in one.hint
    instinct("uninstall", "claude-code")
    one = proof(wired)
    assert (one.wired, one.state, one.patterns, one.tools) == ("plugin", "ok", 1, 2)
    (sealed / ".gemini" / "extensions" / "instinct").mkdir(parents=True)
    one = proof(wired, "gemini")
    assert (one.wired, one.state, one.patterns, one.tools) == ("plugin", "ok", 1, 2)


def test_every_agent_that_can_be_wired_can_be_proven(
    wired: Project, programs: Bin, instinct: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    programs.fake()
    names = ["codex", "gemini", "copilot", "cursor", "vscode", "opencode", "goose", "windsurf"]
    assert instinct("install", *names, "--yes").code == 0
    found = {one.agent: one for one in wired.memory().proofs().agents}
    assert found.keys() == {"claude-code", *names}
    assert {name for name, one in found.items() if one.patterns == 1} == {
        "claude-code", "codex", "gemini", "copilot", "cursor",
    }  # fmt: skip
    assert all(one.tools == 2 for one in found.values())


# --- the programs -----------------------------------------------------------------------------------------------------


def program(project: Project) -> tuple[str, str]:
    found = next(one for one in proving.rows(project.memory().proofs()) if one.topic == "program")
    return found.state, found.words


def test_several_programs_of_our_name_are_told_from_each_other(
    project: Project, programs: Bin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert program(project) == ("notice", "`instinct` is not on your PATH")
    programs.fake()
    assert program(project) == ("ok", f"instinct-git {__version__} at {programs.folder / 'instinct'}")
    other = Bin(tmp_path / "other")
    other.fake(version="0.0.1")
    monkeypatch.setenv("PATH", os.environ["PATH"] + os.pathsep + str(other.folder))
    state, words = program(project)
    assert state == "problem" and f"0.0.1 at {other.folder / 'instinct'}" in words
    programs.put("instinct", "echo instinct 3.1")
    state, words = program(project)
    assert (state, words) == ("problem", f"{programs.folder / 'instinct'} is another program of that name")


# --- the command ------------------------------------------------------------------------------------------------------


def test_the_command_shows_the_text_and_exits_1_when_something_needs_doing(
    wired: Project, programs: Bin, instinct: Callable[..., Ran], sealed: Path
) -> None:
    programs.fake(own=False)
    done = instinct("doctor")
    assert done.code == 0 and "# the next session is told:\n  <instinct-memory>" in done.out
    assert "the hook tells 1 pattern in" in done.out
    assert instinct("doctor", "--text").out.splitlines()[-1] == "</instinct-memory>"
    told = instinct("doctor", "--json").json
    assert told["agents"][0]["program"]["version"] == __version__ and told["session"]["patterns"] == 1
    assert told["programs"][0]["path"] == str(programs.folder / "instinct")
    (sealed / ".claude.json").unlink()
    assert instinct("doctor").code == 1


def test_where_there_is_nothing_to_tell_it_says_so(
    project: Project, programs: Bin, instinct: Callable[..., Ran]
) -> None:
    programs.fake(own=False)
    done = instinct("doctor")
    assert done.code == 0 and "nothing to tell yet" in done.out
    assert instinct("doctor", "--text").out == "# nothing to tell yet\n"


def test_a_memory_that_cannot_be_read_is_not_said_to_have_nothing_to_tell(
    wired: Project, programs: Bin, instinct: Callable[..., Ran]
) -> None:
    programs.fake(own=False)
    wired.write(".instinct/config.yaml", "version: 99\n")
    done = instinct("doctor")
    assert done.code == 1 and "nothing to tell yet" not in done.out
    (line,) = [one for one in done.out.splitlines() if "next session:" in one]
    assert line.startswith("problem") and "newer than this program" in line

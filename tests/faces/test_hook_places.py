"""Whatever is wrong around an agent, its hooks exit 0, say nothing but what it can read, and end nothing of its work."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from instinct_git.bridges.agents.pieces import JsonHook
from instinct_git.bridges.agents.table import AGENTS
from instinct_git.faces import entry, hook
from instinct_git.faces.hook import main as hook_main
from tests.builders import KEY, Project

EVERY = [
    (one.name, piece)
    for one in AGENTS
    for target in one.project
    for piece in target.pieces
    if isinstance(piece, JsonHook)
]
Place = Callable[[Project, pytest.MonkeyPatch, Path], None]


def commands(piece: JsonHook) -> list[str]:
    """The command line of a hook's definition, as words."""
    inner = piece.value.get("hooks", [piece.value])
    [command] = {one.get("command", one.get("bash")) for one in inner}
    return str(command).split()


def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], piece: JsonHook, event: bytes) -> str:
    """Run a hook as its definition has it, in this process; return what it printed."""
    words = commands(piece)
    monkeypatch.setattr(sys, "argv", words)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(event)))
    assert (hook_main if words[0] == "instinct-hook" else entry.main)() == 0
    out, err = capsys.readouterr()
    assert err == ""
    if out:
        assert isinstance(json.loads(out), dict)
    return out


def _no_memory(project: Project, _: pytest.MonkeyPatch, __: Path) -> None:
    import shutil

    shutil.rmtree(project.root / ".instinct")
    shutil.rmtree(project.root / ".git" / "instinct")


def _newer(project: Project, _: pytest.MonkeyPatch, __: Path) -> None:
    project.write(".instinct/config.yaml", "version: 2\nfuture: [1]\n")


def _broken(project: Project, _: pytest.MonkeyPatch, __: Path) -> None:
    project.write(".instinct/config.yaml", "levels: [\n")


def _missing_disk(_: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("INSTINCT_HOME", "/nowhere/on/a/missing/disk")


def _file_for_home(_: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("INSTINCT_HOME", str(tmp_path / "file" / "home"))


def _unreadable_user_config(_: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "own" / "config.yaml").mkdir(parents=True)
    monkeypatch.setenv("INSTINCT_HOME", str(tmp_path / "own"))


def _binary_user_config(_: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "config.yaml").write_bytes(b"prompt\xff: \0\nrecord_in_ci\n")
    monkeypatch.setenv("INSTINCT_HOME", str(tmp_path / "own"))


def _private_folder_in_the_way(project: Project, _: pytest.MonkeyPatch, __: Path) -> None:
    import shutil

    shutil.rmtree(project.root / ".git" / "instinct")
    project.write(".git/instinct", "in the way")


def _deleted_folder(project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()


def _refused(_: Project, monkeypatch: pytest.MonkeyPatch, __: Path) -> None:
    """As on a disk that is mounted read-only: root may write where modes say no, so the calls refuse."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    from instinct_git.storage import files

    for name in ("makedirs", "link", "replace", "mkdir"):
        monkeypatch.setattr(f"os.{name}", refuse)
    monkeypatch.setattr(files, "replace", refuse)
    monkeypatch.setattr(files, "create", refuse)


PLACES: dict[str, Place] = {
    "a repository without a memory": _no_memory,
    "a memory of a newer format": _newer,
    "a config that is no YAML": _broken,
    "a home on a missing disk": _missing_disk,
    "a file where the home should be": _file_for_home,
    "a folder where the user's config should be": _unreadable_user_config,
    "a user's config that is no text": _binary_user_config,
    "a file where the private folder should be": _private_folder_in_the_way,
    "a folder that somebody has deleted": _deleted_folder,
    "a disk that is read-only": _refused,
}


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_no_agent_notices_what_is_wrong(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, place: Place
) -> None:
    project.observe(KEY, 6)
    project.memory().consolidate()
    monkeypatch.chdir(project.root)
    monkeypatch.setattr(hook, "_start", lambda *_: None)
    place(project, monkeypatch, tmp_path)
    for number, (_, piece) in enumerate(EVERY):
        event = {
            "session_id": f"s{number}",
            "prompt": "remember: we release on Fridays",
            "hook_event_name": piece.event,
        }
        run(monkeypatch, capsys, piece, json.dumps(event).encode())


@pytest.mark.parametrize(
    "place", ["a home on a missing disk", "a file where the home should be", "a disk that is read-only"]
)
def test_where_only_writing_fails_the_suggestions_arrive_all_the_same(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, place: str
) -> None:
    project.observe(KEY, 6)
    project.memory().consolidate()
    monkeypatch.chdir(project.root)
    PLACES[place](project, monkeypatch, tmp_path)
    start = next(piece for name, piece in EVERY if (name, piece.event) == ("claude-code", "SessionStart"))
    assert KEY in run(monkeypatch, capsys, start, b'{"session_id": "s1"}')


def test_at_a_sessions_end_a_home_on_a_missing_disk_costs_nothing_but_itself(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INSTINCT_HOME", "/nowhere/on/a/missing/disk")
    done = project.memory().end_session("s1")
    assert done.learned is not None and done.notices == ()


def test_session_end_is_silent_whatever_happens(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for words in (
        [],
        ["claude-code"],
        ["claude-code", "s1"],
        ["claude-code", "../x"],
        ["claude-code", "s1", "--swarm"],
        ["--swarm"],
    ):
        for folder in (project.root, tmp_path):
            monkeypatch.chdir(folder)
            monkeypatch.setattr(sys, "argv", ["instinct", "session-end", *words])
            assert entry.main() == 0
    project.write(".instinct/config.yaml", "version: 2\n")
    monkeypatch.chdir(project.root)
    assert entry.main() == 0
    assert capsys.readouterr() == ("", "")


def test_what_another_version_has_put_into_the_spool_is_read_and_tidied_away(project: Project) -> None:
    """Two versions may be installed: the agent's hook finds one, the person's shell the other."""
    project.write(".git/instinct/spool/claude-code.Stop.0123456789abcdef.json", '{"session_id": "s1", "new": [1]}')
    project.write(".git/instinct/spool/later.s1.x.json", '{"v": 9}')
    project.memory().learn()
    assert list((project.root / ".git" / "instinct" / "spool").iterdir()) == []


# --- definitions that agents trust ------------------------------------------------------------------------------------


def test_the_definitions_of_hooks_never_change() -> None:
    """Codex trusts a hook by the hash of its definition, and skips a changed one without a word. New lines may be added."""
    found = {f"{name} {piece.event}": json.dumps(piece.value) for name, piece in EVERY}
    group = '{{"hooks": [{{{}"type": "command", "command": "{}", "timeout": {}}}]}}'
    copilot = '{{"type": "command", "bash": "{0}", "powershell": "{0}", "timeoutSec": 10}}'
    pinned = {
        f"{agent} {event}": group.format(name, f"{program} {agent}" + (f" {event}" if program == "instinct-hook" else ""), seconds)
        for agent, name, events in (
            ("claude-code", "", {"SessionStart": 10, "UserPromptSubmit": 10, "SubagentStop": 10, "Stop": 10, "SessionEnd": 10}),
            ("codex", "", {"SessionStart": 10, "UserPromptSubmit": 3, "Stop": 3, "SessionEnd": 3}),
            ("gemini", '"name": "instinct", ', {"SessionStart": 10000, "BeforeAgent": 10000, "AfterAgent": 10000, "SessionEnd": 10000}),
        )
        for event, seconds in events.items()
        for program in ["instinct session-start" if event == "SessionStart" else "instinct-hook"]
    }  # fmt: skip
    pinned |= {f"copilot {event}": copilot.format(f"instinct-hook copilot {event}")
               for event in ("userPromptSubmitted", "agentStop", "sessionEnd")}  # fmt: skip
    pinned["copilot sessionStart"] = copilot.format("instinct session-start copilot")
    pinned["cursor sessionStart"] = '{"command": "instinct session-start cursor"}'
    pinned |= {
        f"cursor {event}": f'{{"command": "instinct-hook cursor {event}"}}'
        for event in ("beforeSubmitPrompt", "sessionEnd")
    }
    assert found == pinned

"""The hook that agents run: it may fail in any way but one that the agent notices."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from instinct_git.faces import hook
from tests.builders import Project

EVENT = b'{"session_id": "s1", "hook_event_name": "PostToolUse", "tool_name": "Bash"}'
ARGUMENTS = ("claude-code", "PostToolUse")
ROOT = Path(__file__).resolve().parents[2]


def run_hook(folder: Path, *arguments: str, stdin: bytes = EVENT, env: Mapping[str, str] | None = None) -> None:
    """Run the hook in a process of its own, which must exit 0 and say nothing."""
    done = subprocess.run(
        [sys.executable, "-m", "instinct_git.faces.hook", *arguments], cwd=folder, input=stdin,
        capture_output=True, timeout=60, env={**os.environ, "PYTHONPATH": str(ROOT), **(env or {})},
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def spooled(project: Project) -> list[Path]:
    """Every file of the clone's spool, half-written ones too."""
    common = Path(project.git("rev-parse", "--path-format=absolute", "--git-common-dir"))
    return sorted((common / "instinct" / "spool").iterdir()) if (common / "instinct" / "spool").is_dir() else []


ASKING = b'{"session_id": "s1", "prompt": "remember: we release on Fridays"}'


@pytest.mark.parametrize(("event", "stdin"), [("PostToolUse", EVENT), ("UserPromptSubmit", ASKING)])
def test_it_loads_the_standard_library_alone(project: Project, event: str, stdin: bytes) -> None:
    code = (
        f"import sys, json; sys.argv[1:] = ['claude-code', {event!r}]; from instinct_git.faces import hook; hook.main();"
        "print(json.dumps([sorted(n for n in sys.modules if n.startswith('instinct_git')),"
        "sorted(n for n, m in sys.modules.items() if 'site-packages' in (getattr(m, '__file__', '') or ''))]))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], cwd=project.root, input=stdin, capture_output=True, timeout=60,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    ours, foreign = json.loads(done.stdout)
    assert foreign == [] and len(spooled(project)) == 1
    if stdin == EVENT:
        assert ours == ["instinct_git", "instinct_git.faces", "instinct_git.faces.hook"]


ODD_EVENTS = {
    "nothing to keep": b"{}",
    "blanks around it": b' \t{"session_id": "s"} \r\n',
    "every sort of character": '{"session_id": "\u00e9\u4e2d\U0001f600 \\" \\\\ \\u0001 \\ud800", "cwd": "/x"}'.encode(),
    "half a surrogate pair in bytes": b'{"session_id": "\xed\xa0\x80"}',
    "no texts": b'{"session_id": true, "cwd": null, "timestamp": 12, "sessionId": 1.5, "transcript_path": [{"cwd": 1}]}',
    "numbers that JSON does not have": b'{"session_id": NaN, "timestamp": -Infinity, "cwd": "/x"}',
    "a name twice": b'{"session_id": "a", "session_id": "b"}',
    "more after it": b'{"session_id": "s"} {}',
    "torn": b'{"session_id": "s"',
    "a control character": b'{"session_id": "a\nb"}',
    "no UTF-8": b'{"session_id": "\xff"}',
    "too deep": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "a number without end": b'{"timestamp": ' + b"1" * 5000 + b"}",
}


@pytest.mark.parametrize("event", ODD_EVENTS.values(), ids=ODD_EVENTS)
def test_what_is_kept_of_an_event_is_what_the_json_module_reads(event: bytes) -> None:
    """The hook goes past that module for speed; nobody may notice."""

    def kept(read: Callable[[bytes], object]) -> object:
        try:
            return read(event)
        except (ValueError, RecursionError):
            return "refused"

    def by_the_module(data: bytes) -> object:
        found = json.loads(data)
        return {"agent": "x"} | {name: found[name] for name in hook.KEPT if type(found.get(name)) in (str, int)}

    assert kept(lambda data: json.loads(hook._pointers(*hook.read(data), "x"))) == kept(by_the_module)


def test_the_same_is_kept_where_python_has_no_fast_part_for_json(monkeypatch: pytest.MonkeyPatch) -> None:
    fast = hook._pointers(*hook.read(EVENT), "x")
    monkeypatch.setitem(sys.modules, "_json", None)
    assert hook._pointers(*hook.read(EVENT), "x") == fast


def test_an_event_costs_no_import_beyond_what_python_loads_itself(project: Project) -> None:
    code = (
        "import sys; before = set(sys.modules); from instinct_git.faces import hook; hook.main();"
        "print(*sorted(name for name in set(sys.modules) - before if not name.startswith('instinct_git')))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r}); sys.argv[1:] = {ARGUMENTS!r}; {code}"],
        cwd=project.root, input=EVENT, capture_output=True, timeout=60, env=os.environ,
    )  # fmt: skip
    assert set(done.stdout.decode().split()) <= {"__future__", "_json"}
    assert len(spooled(project)) == 1


def test_it_is_installed_as_a_command_of_its_own() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
    assert scripts["instinct-hook"] == "instinct_git.faces.hook:main"


def test_each_event_of_a_session_becomes_one_private_file_that_points_to_the_transcript(project: Project) -> None:
    run_hook(project.root, *ARGUMENTS)
    run_hook(project.root, *ARGUMENTS)
    run_hook(project.root, *ARGUMENTS, stdin=EVENT.replace(b"s1", b"s2"))
    first, second = spooled(project)
    assert (first.name, second.name) == ("posttooluse.s1.json", "posttooluse.s2.json")
    kept = {name: json.loads(EVENT)[name] for name in hook.KEPT if name in json.loads(EVENT)}
    assert json.loads(first.read_bytes()) == {"agent": "claude-code", **kept}
    assert first.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("session", ["", "../x", "a b", "é", "x" * 101, 7, None])
def test_a_session_id_that_can_be_no_files_name_is_kept_under_another(project: Project, session: object) -> None:
    event = json.dumps({"session_id": session, "transcript_path": "/t.jsonl"}).encode()
    run_hook(project.root, *ARGUMENTS, stdin=event)
    run_hook(project.root, *ARGUMENTS, stdin=event)
    assert len(spooled(project)) == 2 and all(file.parent.name == "spool" for file in spooled(project))


def test_an_event_that_two_hosts_see_counts_once(project: Project) -> None:
    """Cursor and VS Code also run Claude Code's hooks."""
    ours = json.dumps({"conversation_id": "c1", "cursor_version": "2", "workspace_roots": [str(project.root)]}).encode()
    theirs = json.dumps({"session_id": "c1", "cursor_version": "2", "cwd": str(project.root)}).encode()
    run_hook(project.root.parent, "cursor", "stop", stdin=ours)
    run_hook(project.root, "claude-code", "Stop", stdin=theirs)
    run_hook(project.root, "copilot", "agentStop", stdin=theirs)
    (file,) = spooled(project)
    assert file.name == "stop.c1.json" and json.loads(file.read_bytes())["agent"] == "cursor"


def test_a_folder_deep_in_the_project_finds_the_clone(project: Project) -> None:
    deep = project.root / "src" / "a"
    deep.mkdir(parents=True)
    run_hook(deep, *ARGUMENTS)
    assert len(spooled(project)) == 1


def test_a_linked_worktree_shares_the_spool_of_its_clone(project: Project) -> None:
    project.commit("a memory", ".instinct")
    other = project.worktree("other", "topic")
    run_hook(other.root, *ARGUMENTS)
    assert len(spooled(project)) == 1
    assert not list((project.root / ".git" / "worktrees").rglob("spool"))


def test_a_fresh_clone_of_a_project_with_a_memory_is_served_at_once(project: Project) -> None:
    project.commit("a memory", ".instinct")
    clone = project.clone("clone")
    assert not (clone.root / ".git" / "instinct").exists()
    run_hook(clone.root, *ARGUMENTS)
    assert len(spooled(clone)) == 1


def test_a_clone_without_any_memory_is_left_alone(tmp_path: Path) -> None:
    bare = Project.new(tmp_path / "other")
    before = sorted(bare.root.rglob("*"))
    run_hook(bare.root, *ARGUMENTS)
    assert sorted(bare.root.rglob("*")) == before


def test_no_git_process_is_started(project: Project, tmp_path: Path) -> None:
    marker, folder = tmp_path / "git-was-run", tmp_path / "bin"
    folder.mkdir()
    fake = folder / "git"
    fake.write_text(f"#!/bin/sh\ntouch '{marker}'\nexit 1\n", encoding="utf-8")
    fake.chmod(0o755)
    run_hook(project.root, *ARGUMENTS, env={"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"})
    assert not marker.exists()
    assert len(spooled(project)) == 1


@pytest.mark.parametrize(
    "arguments",
    [(), ("claude-code",), ("", ""), ("../../x", "Stop"), ("claude-code", "a/b"), ("a\nb", "Stop"), ("-", "_")],
)
def test_arguments_that_name_no_agent_and_event_spool_nothing(project: Project, arguments: tuple[str, ...]) -> None:
    run_hook(project.root, *arguments)
    assert spooled(project) == []


@pytest.mark.parametrize(
    "stdin",
    [b"", b" \n", b"\x00\xff\xfe\x80" * 5000, b"plain words", b"{" + b"x" * (hook.MAX_EVENT * 3)],
    ids=["empty", "blank", "binary", "no object", "huge"],
)
def test_what_is_no_event_spools_nothing(project: Project, stdin: bytes) -> None:
    run_hook(project.root, *ARGUMENTS, stdin=stdin)
    assert spooled(project) == []


def test_an_event_of_exactly_the_limit_is_spooled(project: Project) -> None:
    event = b'{"x":"' + b"y" * (hook.MAX_EVENT - 8) + b'"}'
    run_hook(project.root, *ARGUMENTS, stdin=event)
    assert [file.read_bytes() for file in spooled(project)] == [b'{"agent": "claude-code"}']


def test_prompts_and_outputs_are_never_written(project: Project) -> None:
    event = {"session_id": "s1", "transcript_path": "/t.jsonl", "prompt": "my word is tulip", "tool_response": "tulip"}
    run_hook(project.root, *ARGUMENTS, stdin=json.dumps(event).encode())
    (file,) = spooled(project)
    assert json.loads(file.read_bytes()) == {
        "agent": "claude-code",
        "session_id": "s1",
        "transcript_path": "/t.jsonl",
    }


def test_the_spool_is_bounded(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = project.root / ".git" / "instinct" / "spool"
    folder.mkdir(parents=True)
    for number in range(hook.MAX_SPOOLED):
        (folder / f"{number}.json").write_bytes(b"{}")
    run_hook(project.root, *ARGUMENTS)
    assert len(spooled(project)) == hook.MAX_SPOOLED


def test_a_closed_standard_input_is_no_failure(project: Project) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", 'exec "$0" -m instinct_git.faces.hook claude-code Stop <&- 2>&1', sys.executable],
        cwd=project.root, capture_output=True, timeout=60, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, b"")
    assert spooled(project) == []


def test_outside_of_any_repository_nothing_happens(tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    run_hook(folder, *ARGUMENTS)
    assert list(folder.iterdir()) == []


def test_instinct_skip_turns_it_off(project: Project) -> None:
    run_hook(project.root, *ARGUMENTS, env={"INSTINCT_SKIP": "1"})
    assert spooled(project) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_no_failure(project: Project) -> None:
    private = project.root / ".git" / "instinct"
    private.mkdir(exist_ok=True)
    private.chmod(0o500)
    try:
        run_hook(project.root, *ARGUMENTS)
        assert spooled(project) == []
    finally:
        private.chmod(0o700)


@pytest.mark.parametrize("call", ["makedirs", "open", "replace"])
def test_a_write_that_is_refused_is_silent_and_leaves_no_half_file(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], call: str
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError("read-only")

    monkeypatch.chdir(project.root)
    monkeypatch.setattr(sys, "argv", ["instinct-hook", *ARGUMENTS])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(EVENT)))
    with monkeypatch.context() as broken:
        broken.setattr(os, call, refuse)
        if call == "replace":  # taken where there are no links
            broken.setattr(os, "link", refuse)
        assert hook.main() == 0
    assert capsys.readouterr() == ("", "")
    assert spooled(project) == []


def test_a_file_where_the_spool_should_be_is_no_failure(project: Project) -> None:
    project.write(".git/instinct/spool", "in the way")
    run_hook(project.root, *ARGUMENTS)


class _Stdin:
    """A standard input whose reading ends in an exception."""

    def __init__(self, problem: BaseException) -> None:
        self.problem = problem

    @property
    def buffer(self) -> io.BytesIO:
        raise self.problem


@pytest.mark.parametrize(
    "problem", [KeyboardInterrupt(), SystemExit(3), MemoryError(), OSError("gone")], ids=lambda p: type(p).__name__
)
def test_whatever_is_raised_the_answer_is_0_and_silence(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], problem: BaseException
) -> None:
    monkeypatch.chdir(project.root)
    monkeypatch.setattr(sys, "argv", ["instinct-hook", *ARGUMENTS])
    monkeypatch.setattr(sys, "stdin", _Stdin(problem))
    assert hook.main() == 0
    assert capsys.readouterr() == ("", "")

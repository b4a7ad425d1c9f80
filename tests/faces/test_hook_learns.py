"""At a session's end the hook lets `learn` read what is new, and the agent never waits for it."""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import sys
from pathlib import Path

import pytest

from instinct_git.faces import hook
from tests.builders import Project
from tests.sessions import Session

ROOT = Path(__file__).resolve().parents[2]
STEPS = "edit lint test commit edit lint test commit"


def end(folder: Path, event: str = "SessionEnd", text: bytes = b'{"session_id": "s1"}', skip: str = "") -> None:
    """Run the hook and wait for whatever it starts."""
    done, alive = os.pipe()
    env = {**os.environ, "PYTHONPATH": str(ROOT), "INSTINCT_SKIP": skip}
    ran = subprocess.run(
        [sys.executable, "-m", "instinct_git.faces.hook", "claude-code", event], cwd=folder, input=text,
        capture_output=True, timeout=60, env=env, pass_fds=(alive,),
    )  # fmt: skip
    os.close(alive)
    ended, _, _ = select.select([done], [], [], 120)  # its end of the pipe closes when the last process has gone
    os.close(done)
    assert ended, "what the hook has started does not end"
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")


def transcript(project: Project, home: Path) -> Path:
    records = [{**one, "cwd": str(project.root)} for one in Session("s1").say("mend the cart").do(STEPS).records]
    path = home / ".claude" / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(project.root)) / "s1.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    return path


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the hook starts nothing without fork")
def test_a_sessions_end_learns_what_is_new_into_the_inbox_and_touches_nothing_else(
    project: Project, sealed: Path
) -> None:
    transcript(project, Path(os.environ["HOME"]))
    project.memory().consolidate()
    before = project.head(), project.status()
    end(project.root)
    lines = [json.loads(line) for path in project.inbox_files() for line in path.read_text().splitlines()]
    assert [one["by"] for one in lines if one["k"] == "observed"] == ["claude-code"] * 2
    assert (project.head(), project.status()) == before
    held = [path.read_bytes() for path in project.inbox_files()]
    end(project.root)
    assert [path.read_bytes() for path in project.inbox_files()] == held, "a second end adds nothing"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the hook starts nothing without fork")
def test_a_module_of_our_name_in_the_project_is_not_run(project: Project) -> None:
    project.write("instinct_git/__init__.py", "")
    project.write("instinct_git/__main__.py", "open('was-run', 'w')")
    code = "import sys; sys.path.insert(0, sys.argv.pop(1)); from instinct_git.faces.hook import main; main()"
    done, alive = os.pipe()
    subprocess.run(
        [sys.executable, "-P", "-c", code, str(ROOT), "claude-code", "SessionEnd"], cwd=project.root, input=b"{}",
        timeout=60, pass_fds=(alive,), check=True,
    )  # fmt: skip
    os.close(alive)
    assert select.select([done], [], [], 120)[0]
    os.close(done)
    assert not (project.root / "was-run").exists()


@pytest.mark.parametrize(
    ("event", "text", "skip", "learns"),
    [
        ("SessionEnd", b"{}", "", True),
        ("sessionEnd", b"{}", "", True),
        ("Stop", b"{}", "", False),
        ("PostToolUse", b"{}", "", False),
        ("SessionEnd", b"no JSON", "", False),
        ("SessionEnd", b"{}", "1", False),
    ],
)
def test_only_the_end_of_a_session_learns(
    project: Project, monkeypatch: pytest.MonkeyPatch, event: str, text: bytes, skip: str, learns: bool
) -> None:
    started: list[bool] = []
    monkeypatch.setattr(hook, "_start", lambda *_: started.append(True))
    monkeypatch.setattr(hook, "standard_input", lambda: text)
    monkeypatch.setattr(sys, "argv", ["instinct-hook", "claude-code", event])
    monkeypatch.setenv("INSTINCT_SKIP", skip)
    monkeypatch.chdir(project.root)
    assert hook.main() == 0
    assert bool(started) == learns


def test_without_a_memory_nothing_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[bool] = []
    monkeypatch.setattr(hook, "_start", lambda *_: started.append(True))
    monkeypatch.setattr(hook, "standard_input", lambda: b"{}")
    monkeypatch.setattr(sys, "argv", ["instinct-hook", "claude-code", "SessionEnd"])
    monkeypatch.chdir(Project.new(tmp_path / "plain").root)
    assert hook.main() == 0
    assert started == []

"""Killed between any two steps of a batch (case 76), the next run of the same batch is exact and leaves nothing over."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from instinct_git.storage import files, store
from tests.builders import KEY, Project

NOW = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)
OLD, NEW, GONE, OTHER = "fix:old", "pref:new=yes", "note:gone", "combo:a+b"

# Reads `<verb> <step> <folder>` lines; for each, a fork of itself runs that batch and dies as by kill -9 right before
# its step-th step (a write: half-way through it). Answers with the fork's exit status: 9, or 0 when it came to its end.
DRIVER = """
import os, sys
from datetime import datetime
from pathlib import Path
from instinct_git.memory import Memory
from instinct_git.storage import commits, files, git, store

NOW = datetime.fromisoformat(sys.argv[1])
GIT_TOO = sys.argv[2] == "git"
left = 0

def step():
    global left
    left -= 1
    if left == 0:
        os._exit(9)

def stepping(owner, name):
    real = getattr(owner, name)
    def wrapped(*args, **options):
        step()
        return real(*args, **options)
    setattr(owner, name, wrapped)

def half(path, content, *, sync, real=files._write):
    global left
    left -= 1
    if left == 0:
        real(path, content[: len(content) // 2], sync=sync)
        os._exit(9)
    real(path, content, sync=sync)

def committed(self, paths, message, real=git.Repository.commit):
    step()
    sha = real(self, paths, message)
    step()
    return sha

files._write = half
git.Repository.commit = committed
for owner, name in [
    (files, "create"), (files, "replace"), (store, "drain"), (store, "_move"), (store, "_forget"), (Path, "unlink"),
    (os, "link"), (os, "replace"), *([(git, "run")] if GIT_TOO else []),
]:
    stepping(owner, name)
import git as gitpython, filelock, ruamel.yaml, frontmatter  # once, not in each fork

for line in sys.stdin:
    verb, number, folder = line.rstrip("\\n").split(" ", 2)
    child = os.fork()
    if not child:
        left = int(number)
        try:
            getattr(Memory(folder, now=lambda: NOW), verb)()
        except BaseException:
            import traceback
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Driver:
    """The driver, running."""

    def __init__(self, script: Path, *, git_too: bool) -> None:
        script.write_text(DRIVER, encoding="utf-8")
        args = [sys.executable, str(script), NOW.isoformat(), "git" if git_too else "-"]
        self.process = subprocess.Popen(args, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, verb: str, step: int, folder: Path) -> int:
        """Run a batch that dies before a step; returns its exit code."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(f"{verb} {step} {folder}\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def end(self) -> None:
        self.process.communicate(timeout=60)


@pytest.fixture
def driver(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Driver]:
    running = Driver(tmp_path / "driver.py", git_too=getattr(request, "param", False))
    yield running
    running.end()


def at(days: int) -> Any:
    return lambda: NOW + timedelta(days=days)


@pytest.fixture
def template(project: Project) -> Project:
    """A memory in which every batch has much to do, and a user in the middle of their own work."""
    project.observe(OLD, times=2, now=at(-200))
    project.observe(GONE, now=at(-200))
    project.memory(at(-200)).consolidate()
    project.memory(at(-30)).decay()  # GONE is faded since
    project.observe(KEY, times=3, session="one", now=at(-10))
    project.memory(at(-10)).record()
    project.memory(at(-10)).record()
    project.observe(KEY, times=2, session="one", now=at(-1))
    project.observe(NEW, now=at(-1), note="mine")
    project.memory(at(-1)).adjust(OLD, 2)
    project.observe(OTHER, times=2, now=at(-1))
    project.memory(at(-1)).adjust(OTHER, -2)
    project.write("staged.txt", "the user's\n")
    project.git("add", "staged.txt")
    project.write("README.md", "edited, not staged\n")
    return project


def answers(project: Project) -> dict[str, Any]:
    """Every number and id of a memory."""
    memory = project.memory(at(0))
    found: dict[str, Any] = {"ids": project.tree_ids(), "patterns": {}}
    for one in memory.list():
        found["patterns"][one.pattern] = (one.confidence, one.live, one.level, one.first_seen, one.last_seen, one.path)
    return found


def lives(project: Project) -> dict[str, int]:
    """The live values, which no crash may change (decay's own steps apart)."""
    return {one.pattern: one.live for one in project.memory(at(0)).list()}


def copy_of(template: Project, name: str) -> Project:
    target = template.root.parent / name
    shutil.copytree(template.root, target, symlinks=True)
    return Project(target)


def settled(project: Project) -> None:
    """Nothing of the batch is left over and the user's work is as it was."""
    place = files.locate(project.root, files.instinct_home())
    assert sorted(project.status().splitlines()) == [" M README.md", "A  staged.txt"]
    assert project.git("show", ":staged.txt") == "the user's"
    assert project.read("README.md") == "edited, not staged\n"
    assert project.errors() == []
    assert project.inbox_files() == []
    assert not store.interrupted(place)
    assert [path for path in (project.root / ".instinct").rglob("*") if path.name.endswith(".tmp")] == []


def killed_at_every_step(template: Project, driver: Driver, verb: str) -> int:
    """Kill a batch before each of its steps, run it again, and compare with one that nobody disturbed."""
    undisturbed = copy_of(template, "undisturbed")
    before = lives(template)
    assert driver.run(verb, -1, undisturbed.root) == 0
    expected = answers(undisturbed)
    settled(undisturbed)
    step = 0
    while True:
        step += 1
        project = copy_of(template, f"killed-{step}")
        code = driver.run(verb, step, project.root)
        assert code in (0, 9), step
        if verb != "decay":
            assert lives(project) == before, step
        getattr(project.memory(at(0)), verb)()
        assert answers(project) == expected, step
        settled(project)
        if code == 0:
            return step
        shutil.rmtree(project.root)


@pytest.mark.skipif(not hasattr(sys.modules["os"], "fork"), reason="needs fork")
@pytest.mark.slow
@pytest.mark.parametrize("verb", ["record", "consolidate", "decay"])
def test_crash_between_batch_and_unlink(template: Project, driver: Driver, verb: str) -> None:
    assert killed_at_every_step(template, driver, verb) > 20


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(sys.modules["os"], "fork"), reason="needs fork")
@pytest.mark.parametrize("driver", [True], indirect=True)
@pytest.mark.parametrize("verb", ["record", "consolidate", "decay"])
def test_crash_between_any_two_git_commands(template: Project, driver: Driver, verb: str) -> None:
    assert killed_at_every_step(template, driver, verb) > 40

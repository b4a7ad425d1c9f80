"""Small builders that compose: real git repositories, clones, worktrees, and readings of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from instinct_git.core.evidence import parse_container
from instinct_git.core.model import Evidence
from instinct_git.memory import Memory

KEY = "seq:test->fix->test"


def first(keep: int, values: Iterable[Any]) -> list[Any]:
    """Return the values of a parametrized test, of which all but the first `keep` run with the long tests."""
    return [one if at < keep else pytest.param(one, marks=pytest.mark.slow) for at, one in enumerate(values)]


def git(folder: Path, *args: str, check: bool = True, stdin: str = "", env: Mapping[str, str] | None = None) -> str:
    """Run git and return what it printed; with check, a failure is an AssertionError with git's words."""
    done = subprocess.run(
        ["git", *args], cwd=folder, input=stdin, capture_output=True, text=True, env={**os.environ, **(env or {})}, timeout=60,
        encoding="utf-8", errors="surrogateescape",
    )  # fmt: skip
    if check:
        assert done.returncode == 0, f"git {' '.join(args)}: {done.stdout}{done.stderr}"
    return done.stdout.rstrip("\n")


@dataclass
class Project:
    """A working tree with shortcuts for tests."""

    root: Path

    @classmethod
    def new(cls, root: Path) -> Project:
        """Make a repository with one commit on main."""
        root.mkdir(parents=True)
        git(root, "init", "-q")
        project = cls(root)
        project.write("README.md", "# a project\n")
        project.commit("new", "README.md")
        return project

    def git(self, *args: str, check: bool = True, stdin: str = "", env: Mapping[str, str] | None = None) -> str:
        """Run git here."""
        return git(self.root, *args, check=check, stdin=stdin, env=env)

    def write(self, path: str, text: str) -> Path:
        """Write a file."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode("utf-8"))
        return file

    def read(self, path: str) -> str:
        """Read a file."""
        return (self.root / path).read_bytes().decode("utf-8")

    def commit(self, message: str, *paths: str) -> str:
        """Commit paths (all changes without any) as a person would and return the commit's id."""
        self.git("add", "-A", "--", *(paths or (".",)))
        self.git("commit", "-q", "-m", message)
        return self.git("rev-parse", "HEAD")

    def clone(self, name: str) -> Project:
        """Clone this repository beside itself."""
        target = self.root.parent / name
        git(self.root.parent, "clone", "-q", str(self.root), str(target))
        return Project(target)

    def worktree(self, name: str, branch: str) -> Project:
        """Add a linked worktree with a new branch."""
        target = self.root.parent / name
        self.git("worktree", "add", "-q", "-b", branch, str(target))
        return Project(target)

    def memory(self, now: Callable[[], datetime] | None = None) -> Memory:
        """Open the memory of this working tree."""
        return Memory(self.root, now=now)

    def observe(self, key: str = KEY, times: int = 1, **options: Any) -> None:
        """Observe a key some times."""
        memory = self.memory(options.pop("now", None))
        for _ in range(times):
            memory.observe(key, **options)

    # -- readings --

    def status(self) -> str:
        """What `git status` says, untracked files one by one."""
        return self.git("status", "--porcelain", "-uall")

    def head(self) -> str:
        """The current commit."""
        return self.git("rev-parse", "HEAD")

    def commits(self) -> int:
        """How many commits HEAD has."""
        return int(self.git("rev-list", "--count", "HEAD"))

    def changed(self, revision: str = "HEAD") -> set[str]:
        """The paths that a commit changed."""
        return set(self.git("show", "--format=", "--name-only", "--no-renames", revision).split("\n")) - {""}

    def confidence(self, key: str = KEY) -> int:
        """The committed confidence of a key."""
        return self.memory().show(key).confidence

    def tree_ids(self) -> set[str]:
        """Every evidence id in the working tree's containers."""
        return {one.id for one in self.tree_evidence()}

    def tree_evidence(self) -> list[Evidence]:
        """Everything in the working tree's containers, as often as it stands there."""
        base = self.root / ".instinct"
        files = [*sorted((base / "observations").glob("*.jsonl")), *sorted((base / "ledger").glob("*.jsonl"))]
        return [one for file in files for one in parse_container(file.read_bytes())[0]]

    def inbox_files(self) -> list[Path]:
        """The inbox files of this clone."""
        common = self.git("rev-parse", "--path-format=absolute", "--git-common-dir")
        return sorted((Path(common) / "instinct" / "inbox").glob("*.jsonl"))

    def errors(self) -> list[str]:
        """The errors that `check` finds."""
        return [f"{one.path}: {one.message}" for one in self.memory().check() if one.severity == "error"]


class Ran(NamedTuple):
    """A finished run of the command line."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output, which must be JSON."""
        return json.loads(self.out)


def run_cli(monkeypatch: Any, capsys: Any, *args: str) -> Ran:
    """Run the command line in this process."""
    from instinct_git.faces.entry import main

    monkeypatch.setattr(sys, "argv", ["instinct", *args])
    capsys.readouterr()
    try:
        code = main()
    except SystemExit as stop:
        code = int(stop.code or 0)
    captured = capsys.readouterr()
    return Ran(code, captured.out, captured.err)


def process(folder: Path, *args: str, stdin: str = "", env: Mapping[str, str] | None = None) -> Ran:
    """Run the command line in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "instinct_git", *args], cwd=folder, input=stdin, capture_output=True, text=True, timeout=120,
        env={**os.environ, **(env or {})}, encoding="utf-8", errors="surrogateescape",
    )  # fmt: skip
    return Ran(done.returncode, done.stdout, done.stderr)

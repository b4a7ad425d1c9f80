"""Several people with homes of their own, and one host: a bare repository."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pytest

from instinct_git.memory import Memory
from instinct_git.operations.syncing import Synced
from tests.builders import KEY, Project, git

TEAM = "team"


@dataclass
class Person:
    """One person: a home, and a project of theirs."""

    home: Path
    project: Project
    now: Callable[[], datetime] | None = None

    @classmethod
    def new(cls, folder: Path, name: str, now: Callable[[], datetime] | None = None) -> Person:
        """Make a person with a project that has no memory of its own."""
        project = Project(folder / f"{name}-project")
        project.root.mkdir(parents=True)
        git(project.root, "init", "-q")
        return cls(folder / f"{name}-home", project, now)

    @property
    def memory(self) -> Memory:
        """What this person's commands open."""
        return Memory(self.project.root, home=self.home, now=self.now)

    @property
    def copy(self) -> Project:
        """Their clone of the team's memory."""
        return Project(self.home / "shared" / TEAM)

    def joins(self, host: Path, **options: object) -> Person:
        """Share the team's memory."""
        self.memory.share_add(TEAM, str(host), **options)
        return self

    def sees(self, key: str = KEY, times: int = 1, **options: str) -> None:
        """Observe for the team."""
        for _ in range(times):
            self.memory.observe(key, to=TEAM, **options)

    def syncs(self, *, accept: bool = False) -> Synced:
        """Sync the team's memory."""
        return self.memory.sync(TEAM, accept=accept)[0]

    def confidence(self, key: str = KEY) -> int:
        """The committed confidence in the team's memory, as this person has it."""
        return Memory(self.copy.root, home=self.home).show(key).confidence

    def suggested(self) -> list[str]:
        """The keys that this person's agents are told."""
        return [one.pattern for one in self.memory.suggest()]


_begun: dict[int, Path] = {}
"""{times: a folder with a host and a home}, made once in a session and copied since."""


def begun(folder: Path, factory: pytest.TempPathFactory, times: int) -> Person:
    """Ada, who has started the team's memory on the host in `folder` by seeing KEY some times."""
    if times not in _begun:
        made = factory.mktemp("team")
        person = Person.new(made, "ada").joins(bare(made))
        person.sees(times=times, source="claude-code")
        person.syncs()
        _begun[times] = made
    source = _begun[times]
    for name in ("host.git", "ada-home", "ada-project"):
        shutil.copytree(source / name, folder / name, dirs_exist_ok=True, symlinks=True)
    for file in ("config", "instinct/share.json"):
        path = folder / "ada-home/shared/team/.git" / file
        path.write_text(path.read_text(encoding="utf-8").replace(str(source), str(folder)), encoding="utf-8")
    copy = folder / "ada-home/shared/team"
    git(copy, "update-index", "-q", "--refresh", check=False)
    return Person(folder / "ada-home", Project(folder / "ada-project"))


def bare(folder: Path, name: str = "host.git") -> Path:
    """An empty host."""
    git(folder, "init", "-q", "--bare", "-b", "main", name)
    return folder / name


def on_host(host: Path, path: str) -> str:
    """A file of the host's default branch."""
    return git(host, "show", f"main:{path}")


def host_files(host: Path) -> list[str]:
    """The paths of the host's default branch."""
    return git(host, "ls-tree", "-r", "--name-only", "main").splitlines()

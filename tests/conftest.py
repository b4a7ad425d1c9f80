"""The seal: every test runs in a world of its own, without the real home, system git config or user's variables."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from instinct_git.bridges import ci
from tests.builders import Project

REAL_HOME = Path.home()
IN_MEMORY, ROOM = "/dev/shm", 4 << 30


def pytest_configure() -> None:
    """Put temporary folders into memory where there is room: git and we flush every file, which a disk feels."""
    if "PYTEST_DEBUG_TEMPROOT" not in os.environ and os.access(IN_MEMORY, os.W_OK):
        room = os.statvfs(IN_MEMORY)
        if room.f_bavail * room.f_frsize > ROOM:
            os.environ["PYTEST_DEBUG_TEMPROOT"] = IN_MEMORY


@pytest.fixture(autouse=True)
def sealed(tmp_path: Path) -> Iterator[Path]:
    """Give the test a home of its own and take away whatever of the outside could reach it."""
    with pytest.MonkeyPatch.context() as own:  # a test that undoes its own patches stays sealed
        for name in list(os.environ):
            if (
                name.startswith(("GIT_", "INSTINCT_", "XDG_", "CLAUDE", "CODEX", "COPILOT", "GEMINI", "OPENCODE"))
                and name != "INSTINCT_REALDATA"
            ):
                own.delenv(name)
        for name in ci.VARIABLES:
            own.delenv(name, raising=False)
        home = tmp_path / "home"
        home.mkdir()
        (home / ".gitconfig").write_text(
            "[user]\n\tname = Ada Example\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n"
            '[commit]\n\tgpgsign = false\n[gc]\n\tauto = 0\n[advice]\n\tdetachedHead = false\n[protocol "file"]\n\tallow = always\n',
            encoding="utf-8",
        )
        own.setenv("HOME", str(home))
        own.setenv("USERPROFILE", str(home))
        own.setenv("INSTINCT_HOME", str(home / ".instinct"))
        own.setenv("GIT_CONFIG_NOSYSTEM", "1")
        own.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
        own.setenv("EDITOR", "false")
        own.setenv("NO_COLOR", "1")
        own.setenv("TERM", "dumb")
        own.setenv("COLUMNS", "200")
        assert Path.home() == home != REAL_HOME
        yield home


@pytest.fixture
def project(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A git repository with one commit and a memory that has been set up (nothing of it committed yet).

    A copy: making it takes eight times as long, and most tests begin with it.
    """
    pattern = tmp_path_factory.getbasetemp() / "pattern-of-a-project"
    if not pattern.exists():
        Project.new(pattern).memory().init()
    made = Project(Path(shutil.copytree(pattern, tmp_path / "project", symlinks=True)))
    made.git("update-index", "-q", "--refresh")
    return made


class Clock:
    """A clock that stands still until it is told to go."""

    def __init__(self, start: datetime) -> None:
        self.moment = start

    def __call__(self) -> datetime:
        return self.moment

    def forward(self, days: int) -> None:
        self.moment += timedelta(days=days)


@pytest.fixture
def clock() -> Clock:
    """2026-03-02, a Monday."""
    return Clock(datetime(2026, 3, 2, 12, 0, tzinfo=UTC))


@pytest.fixture
def instinct(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., object]:
    """Run the command line in the project, in this process; returns (exit code, out, err)."""
    from tests.builders import run_cli

    monkeypatch.chdir(project.root)
    return lambda *args: run_cli(monkeypatch, capsys, *args)

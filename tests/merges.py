"""Builders for merges: branches with evidence, every way to bring them together, conflicts settled as a host does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from instinct_git.core.evidence import dump_ledger, parse_container
from tests import reference
from tests.builders import KEY, Project

OTHER = "fix:missing-import"


def started(project: Project, policy: str = "anywhere") -> Project:
    """Commit the scaffolding and one observation, folded."""
    project.memory().configure("consolidate", policy)
    project.observe()
    project.memory().consolidate()
    return project


@contextmanager
def on(project: Project, branch: str, start: str = "") -> Iterator[None]:
    """Work on a branch (made from `start`, by default main, when it is new), then go back to main."""
    known = project.git("branch", "--list", branch)
    project.git("switch", "-q", *(() if known else ("-c",)), branch, *(() if known else (start or "main",)))
    yield
    project.git("switch", "-q", "main")


def record(project: Project, branch: str, times: int = 1, key: str = KEY) -> None:
    """Record evidence on a branch, without folding it."""
    with on(project, branch):
        project.observe(key, times)
        project.memory().record()


def merge(project: Project, *branches: str, side: str = "") -> list[str]:
    """Merge; conflicts are allowed in pattern files alone and settled by whole files of one side. Returns them."""
    project.git("merge", "-q", "--no-edit", *branches, check=False)
    return settle(project, side)


def settle(project: Project, side: str, message: str = "settled") -> list[str]:
    """Settle what git left open by whole files of one side and commit."""
    open_paths = project.git("diff", "--name-only", "--diff-filter=U").split()
    assert all(path.startswith(".instinct/patterns/") for path in open_paths), open_paths
    assert side or not open_paths, open_paths
    for path in open_paths:
        project.git("checkout", f"--{side}", "--", path)
        project.git("add", "--", path)
    if open_paths or (Path(project.git("rev-parse", "--absolute-git-dir")) / "MERGE_HEAD").exists():
        project.git("commit", "-q", "--no-edit", "-m", message)
    return open_paths


def squash(project: Project, branch: str) -> None:
    """Squash-merge as a host's button does."""
    project.git("merge", "-q", "--squash", branch)
    project.git("commit", "-q", "--allow-empty", "-m", f"squashed {branch}")


def expected(project: Project, key: str = KEY) -> int:
    """S of a key by the second reading of the design, from the working tree's containers."""
    folder = project.root / ".instinct"
    files = [*folder.glob("observations/*.jsonl"), *folder.glob("ledger/*.jsonl")]
    return reference.sums(r for file in files for r in reference.records(file.read_text("utf-8")))[key].total


def exact(project: Project, confidence: int, *, key: str = KEY, offset: int = 0) -> None:
    """After a consolidate the confidence is the offset plus the sum, and `check` finds no error."""
    project.memory().consolidate()
    assert project.confidence(key) == confidence == expected(project, key) + offset
    assert project.errors() == []
    assert project.status() == ""


def pattern_file(project: Project, key: str = KEY) -> str:
    """Path of a pattern's file below the root."""
    path = project.memory().show(key).path
    assert path is not None
    return path


def edit(project: Project, old: str, new: str, key: str = KEY, message: str = "by hand") -> None:
    """Edit a pattern file as a person would, and commit."""
    path = pattern_file(project, key)
    text = project.read(path)
    assert old in text, text
    project.write(path, text.replace(old, new, 1))
    project.commit(message, path)


def compact(project: Project, stem: str) -> None:
    """Put all ledger files into one, by the container law, and commit."""
    files = sorted((project.root / ".instinct" / "ledger").glob("*.jsonl"))
    everything = [one for file in files for one in parse_container(file.read_bytes())[0]]
    for file in files:
        file.unlink()
    project.write(f".instinct/ledger/{stem}.jsonl", dump_ledger(everything).decode("utf-8"))
    project.commit("compact", ".instinct")


def day(text: str) -> datetime:
    """Noon of a day."""
    return datetime.fromisoformat(text).replace(hour=12, tzinfo=UTC)

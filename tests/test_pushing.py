"""Clones of one bare repository that push evidence at the same time (cases 75, 79 and 84 of the named ones)."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.builders import KEY, Project, git


def push(clone: Project) -> int:
    """Push as a person would: fetch, rebase, try again; returns the attempts."""
    for attempt in range(1, 200):
        if git(clone.root, "push", "-q", "origin", "main", check=False) == "" and not clone.git(
            "log", "--format=%h", "origin/main..main"
        ):
            return attempt
        clone.git("fetch", "-q")
        clone.git("rebase", "-q", "origin/main")
    raise AssertionError("never arrived")


def contention(project: Project, tmp_path: Path, clones: int, pushes: int) -> None:
    project.memory().record()
    host = tmp_path / "host.git"
    git(tmp_path, "clone", "-q", "--bare", str(project.root), str(host))
    workers = []
    for number in range(clones):
        git(tmp_path, "clone", "-q", str(host), f"clone{number}")
        workers.append(Project(tmp_path / f"clone{number}"))

    def work(clone: Project) -> None:
        rng = random.Random(clone.root.name)
        for _ in range(pushes):
            clone.observe(rng.choice([KEY, "pref:style=black"]))
            clone.memory().record()
            push(clone)

    with ThreadPoolExecutor(clones) as pool:
        list(pool.map(work, workers))
    project.git("pull", "-q", str(host), "main")
    memory = project.memory()
    memory.consolidate()
    assert sum(one.confidence for one in memory.list()) == clones * pushes
    assert project.errors() == []


def test_push_contention_3_clones(project: Project, tmp_path: Path) -> None:
    """All arrive, without a conflict."""
    contention(project, tmp_path, 3, 2)


@pytest.mark.slow
def test_push_contention_8_clones(project: Project, tmp_path: Path) -> None:
    """All arrive, without a conflict."""
    contention(project, tmp_path, 8, 5)


def test_autocrlf_true_checkout(project: Project, tmp_path: Path) -> None:
    """A checkout with autocrlf has LF below .instinct by attribute; files with CRLF and a BOM are read all the same."""
    project.observe(times=5)
    project.memory().consolidate()
    git(tmp_path, "-c", "core.autocrlf=true", "clone", "-q", str(project.root), "windows")
    clone = Project(tmp_path / "windows")
    clone.git("config", "core.autocrlf", "true")
    path = str(clone.memory().show(KEY).path)
    assert "\r" not in clone.read(path)
    clone.write(path, "\ufeff" + clone.read(path).replace("\n", "\r\n"))
    clone.observe()
    clone.memory().consolidate()
    assert clone.memory().show(KEY).confidence == 6
    assert clone.errors() == []


@pytest.mark.slow
def test_10k_paths(project: Project) -> None:
    """A batch of ten thousand pattern files is one commit of them all."""
    from instinct_git.operations.observing import Draft

    memory = project.memory()
    memory.observe_many([Draft(f"note:n{number:05}") for number in range(10_000)])
    done = memory.consolidate()
    assert (done.total, len([p for p in project.changed() if "/patterns/" in p]), project.status()) == (
        10_000,
        10_000,
        "",
    )

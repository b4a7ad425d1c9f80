"""A person's own changes: retire and restore beside a running batch, and edits that ride in a batch's commit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from instinct_git.errors import UnknownPattern
from instinct_git.storage import store
from instinct_git.storage.files import Place
from tests.builders import KEY, Project


def path_of(project: Project) -> str:
    [found] = (project.root / ".instinct" / "patterns").rglob("*.md")
    return found.relative_to(project.root).as_posix()


def before_the_lock(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Let `act` happen while a verb waits for the lock."""
    original, waiting = store.batch_lock, [act]

    @contextmanager
    def lock(place: Place, seconds: float = 1.0) -> Iterator[None]:
        if waiting:
            waiting.pop()()
        with original(place, seconds):
            yield

    monkeypatch.setattr(store, "batch_lock", lock)


@pytest.mark.parametrize("verb", ["retire", "restore"])
def test_a_batch_that_ends_while_a_verb_waits_is_not_undone(
    project: Project, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    """The verb writes what it read after the batch: numbers and a person's words of that moment."""
    project.observe(times=2)
    project.memory().consolidate()
    if verb == "restore":
        project.memory().retire(KEY)
    project.observe(times=3)

    def batch() -> None:
        project.memory().consolidate()
        file = project.root / path_of(project)
        file.write_bytes(file.read_bytes() + b"words of that moment\n")

    before_the_lock(monkeypatch, batch)
    getattr(project.memory(), verb)(KEY)
    shown = project.memory().show(KEY)
    assert (shown.confidence, shown.status) == (5, "retired" if verb == "retire" else "active")
    assert "words of that moment" in project.read(path_of(project))
    assert project.status() == ""
    assert project.errors() == []


def test_a_pattern_that_a_batch_removed_meanwhile_is_unknown(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.observe()
    project.memory().consolidate()
    path = path_of(project)
    before_the_lock(monkeypatch, lambda: (project.root / path).unlink())
    with pytest.raises(UnknownPattern):
        project.memory().retire(KEY)
    assert not (project.root / path).exists()


@pytest.mark.parametrize("staged", [False, True], ids=["in the working tree", "staged"])
def test_an_edit_that_rides_in_a_batch_is_named(project: Project, instinct: Callable[..., Any], staged: bool) -> None:
    """The batch changes the file too, so the edit is in its commit: the result says so."""
    project.observe(times=2)
    project.observe("note:other")
    project.memory().consolidate()
    edited = next(one for one in project.changed() if "/seq/" in one)
    project.write(edited, project.read(edited) + "my own words\n")
    if staged:
        project.git("add", edited)
    project.observe()
    project.observe("note:other")
    plan = project.memory().consolidate(dry_run=True)
    assert plan.edited == (edited,)
    assert f"your edit of {edited} would go into this commit" in plan.notices
    ran = instinct("consolidate")
    assert f"your edit of {edited} went into this commit" in ran.out + ran.err
    assert "my own words" in project.git("show", f"HEAD:{edited}")
    project.observe()
    assert project.memory().consolidate().edited == ()


def test_an_edited_policy_and_a_pattern_file_written_by_hand_are_named(project: Project) -> None:
    """The config rides with the numbers that were folded under it; a new file of a person's with its first numbers."""
    project.observe("note:one")
    project.memory().consolidate()
    project.memory().configure("levels.mature", "4")
    path = path_of(project)
    text = re.sub("note:one", "note:two", project.read(path))
    project.write(path.replace("one", "two"), text)
    project.observe("note:one")
    project.observe("note:two", times=2)
    assert project.memory().consolidate().edited == (path.replace("one", "two"), ".instinct/config.yaml")


def test_no_edit_is_claimed_where_there_is_none(project: Project) -> None:
    """Neither line ends, touched times nor what an interrupted batch left are a person's edits."""
    project.git("config", "core.autocrlf", "true")
    project.observe()
    first = project.memory().consolidate()
    path = path_of(project)
    (project.root / path).touch()
    project.write(path, project.read(path).replace("\n", "\r\n"))
    project.observe()
    assert (first.edited, project.memory().consolidate().edited) == ((), ())
    store.owe(project.memory()._space.place, [path])
    project.write(path, project.read(path) + "left by a batch that was stopped\n")
    project.observe()
    assert project.memory().consolidate().edited == ()

"""Nominations that a person is still to be told of: a small file each, private to the clone, and a mark a channel.

A file is made by exclusive creation, so that a nomination that two processes see is kept once; a mark likewise, so that
each channel tells it once. Looking where there is none costs one call to the system.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from instinct_git.storage import files
from instinct_git.storage.files import Place

FOLDER = "notices"
FAILURE = ".command-failed"


class Notice(NamedTuple):
    """One nomination. Texts are one line each."""

    pattern: str
    title: str
    kind: str
    """skill, procedure, rule or memory."""
    score: str
    """In hundredths."""
    worked: int
    """How often it was reused and worked."""
    at: str
    """ISO day (UTC) of the nomination."""


def add(place: Place, notice: Notice) -> bool:
    """Keep a notice; False when one for this key is kept already. One that no folder takes is new all the same."""
    content = "\n".join((*map(str, notice), "")).encode("utf-8", "replace")
    for folder in _folders(place, writing=True):
        path = folder / files.path_hash(notice.pattern)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if path.exists():
                return False
            _remove_marks(path)
            files.create(path, content)
            return True
        except OSError:
            if path.exists():
                return False  # another process was quicker
    return True


def drop(place: Place, key: str) -> None:
    """Take a key's notice out, and the marks of who has told it. A folder that cannot be written keeps both."""
    for folder in _folders(place):
        path = folder / files.path_hash(key)
        try:
            path.unlink(missing_ok=True)
            _remove_marks(path)
        except OSError:
            continue


def _remove_marks(path: Path) -> None:
    for mark in path.parent.glob(f"{path.name}.*"):
        mark.unlink(missing_ok=True)


def waiting(place: Place, channel: str = "") -> list[Notice]:
    """Return all notices, by key, or those that a channel has not told; one that says nothing usable is passed over."""
    found: dict[str, Notice] = {}
    for folder in _folders(place):
        try:
            names = {entry.name for entry in os.scandir(folder)}
        except OSError:
            continue
        for name in names:
            if "." in name or (channel and f"{name}.{channel}" in names):
                continue
            notice = _read(folder / name)
            if notice is not None:
                found.setdefault(notice.pattern, notice)
    return [found[key] for key in sorted(found)]


def _read(path: Path) -> Notice | None:
    try:
        pattern, title, kind, score, worked, at, _ = path.read_bytes().decode("utf-8").split("\n")
        return Notice(pattern, title, kind, score, int(worked), at)
    except (OSError, ValueError):
        return None


def claim(place: Place, key: str, channel: str) -> bool:
    """Mark a notice as told by a channel. True for the first that asks; False where no mark can be made."""
    for folder in _folders(place):
        path = folder / files.path_hash(key)
        if not path.exists():
            continue
        try:
            os.close(os.open(f"{path}.{channel}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            return True
        except OSError:
            return False
    return False


def note_failure(place: Place, words: str) -> None:
    """Keep in one line how the person's command failed last; empty words: it did not."""
    for folder in _folders(place, writing=True):
        try:
            if words:
                files.replace(folder / FAILURE, words.encode("utf-8", "replace"))
            else:
                (folder / FAILURE).unlink(missing_ok=True)
            return
        except OSError:
            continue


def last_failure(place: Place) -> str:
    """Return how the person's command failed last; empty: it did not."""
    for folder in _folders(place):
        try:
            return (folder / FAILURE).read_bytes().decode("utf-8", "replace")
        except OSError:
            continue
    return ""


def _folders(place: Place, *, writing: bool = False) -> Iterator[Path]:
    """The clone's own folder, then the one for sandboxes that make `.git` read-only; its name costs a hash, so where
    nobody has needed such a folder it is not named."""
    yield place.state_dir / FOLDER
    home = place.home / FOLDER
    if writing or home.is_dir():
        yield home / files.path_id(place.root)

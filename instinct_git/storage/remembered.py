"""What was asked to be remembered in this clone and awaits a review: a small file a key, private to the clone.

Suggested here alone (DESIGN section 5: what a person asks for enters at once; what others are told, a review decides).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from instinct_git.storage import files
from instinct_git.storage.files import Place

DAYS = 60
"""As long as an unused candidate lives (DESIGN section 5)."""


class Remembered(NamedTuple):
    """One thing that awaits a review."""

    pattern: str
    title: str
    at: str
    """ISO day (UTC)."""


def add(place: Place, one: Remembered) -> None:
    """Keep it, in place of what was kept under its key. A folder that cannot be written costs the suggestion alone."""
    content = "\n".join((one.pattern, one.title, one.at, "")).encode("utf-8")
    for folder in _folders(place):
        try:
            files.replace(folder / _name(one.pattern), content)
        except OSError:
            continue
        return


def forget(place: Place, key: str) -> None:
    """Take a key out: it was answered."""
    for folder in _folders(place):
        try:
            (folder / _name(key)).unlink(missing_ok=True)
        except OSError:
            continue  # a sandbox made the folder read-only: the answer in the pattern file silences it


def read(place: Place) -> list[Remembered]:
    """Return all of it, the newest first; a file that says nothing usable is passed over."""
    found: dict[str, Remembered] = {}
    for folder in _folders(place):
        try:
            names = sorted(entry.path for entry in os.scandir(folder))
        except OSError:
            continue
        for name in names:
            try:
                pattern, title, at, _ = Path(name).read_bytes().decode("utf-8").split("\n")
            except (OSError, ValueError):
                continue
            found.setdefault(pattern, Remembered(pattern, title, at))
    return sorted(found.values(), key=lambda one: (one.at, one.pattern), reverse=True)


def _folders(place: Place) -> tuple[Path, Path]:
    """The clone's own folder, then the one for sandboxes that make `.git` read-only."""
    return place.state_dir / "remembered", place.home / "remembered" / files.path_id(place.root)


def _name(key: str) -> str:
    return files.path_hash(key)

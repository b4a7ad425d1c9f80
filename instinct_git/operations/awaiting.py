"""What was remembered in this clone is suggested here from then on, marked, until a review has answered it."""

from __future__ import annotations

from collections.abc import Collection
from datetime import date, timedelta

from instinct_git.core.keys import pattern_path
from instinct_git.core.model import ACTIVE
from instinct_git.core.pattern import PatternFile
from instinct_git.errors import InvalidDocument
from instinct_git.operations.workspace import Workspace
from instinct_git.storage import remembered

MARK = "awaiting review"
MOST = 5
"""Newest first; more would take the place of what has proved itself."""
ANSWERED = ("approved", "rejected", "expired")


def awaiting(space: Workspace, told: Collection[str | None]) -> list[PatternFile]:
    """Return what awaits a review here, the newest first; `told` are the keys that are suggested anyway."""
    oldest = (space.now().date() - timedelta(days=remembered.DAYS)).isoformat()
    found: list[PatternFile] = []
    for one in remembered.read(space.place):
        if one.pattern in told or one.at < oldest or len(found) == MOST:
            continue
        file = pattern_file(space, one.pattern)
        if file is None:  # it waits in the inbox, or its file is on another branch
            file = PatternFile("", "", one.pattern, "", 0, 0, "", title=one.title)
        if file.status == ACTIVE and file.candidate.get("status") not in ANSWERED:
            found.append(file)
    return found


def keep(space: Workspace, key: str, title: str) -> None:
    """Suggest a key in this clone from now on."""
    day: date = space.now().date()
    remembered.add(space.place, remembered.Remembered(key, title, day.isoformat()))


def let_go(space: Workspace, key: str) -> None:
    """Suggest a key here no longer on the word of the person, who took it back."""
    remembered.forget(space.place, key)


def pattern_file(space: Workspace, key: str) -> PatternFile | None:
    """Return a key's own pattern file; None where there is none that can be read."""
    from instinct_git.core.document import parse

    path = pattern_path(key)
    try:
        file = parse((space.place.root / path).read_bytes().decode("utf-8", "surrogateescape"), path)
    except (OSError, InvalidDocument):
        return None
    return file if file.key == key else None

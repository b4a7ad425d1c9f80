"""What waits in this clone for a batch, in one line for the person at a session's start."""

from __future__ import annotations

import os
from pathlib import Path

from instinct_git.operations.workspace import Workspace


def waits(space: Workspace) -> str:
    """Say in one line what waits in this clone's inbox, and what would count it; "" where nothing waits, or a session's
    end counts it anyway. Lines are counted, not read."""
    place = space.place
    if place.scope != "project" or not any(_filled(one) for one in (place.state_dir / "inbox", place.home / "inbox")):
        return ""
    from instinct_git.core.evidence import iso_day
    from instinct_git.core.session import next_step
    from instinct_git.storage import inbox

    if not place.exists():
        return ""
    paths = inbox.inbox_files(place)
    settings = space.config() if paths else None
    if settings is None or "consolidate" in settings.words("auto"):
        return ""
    count = sum(_lines(path) for path in paths)
    if not count:
        return ""
    since = iso_day(min(path.name[:8] for path in paths))
    what = "piece of evidence waits" if count == 1 else "pieces of evidence wait"
    return f"{count} {what} in this clone since {since}; {next_step(settings['consolidate'])}"


def _filled(folder: Path) -> bool:
    try:
        return bool(os.listdir(folder))
    except OSError:
        return False


def _lines(path: Path) -> int:
    try:
        return path.read_bytes().count(b"\n")
    except OSError:
        return 0

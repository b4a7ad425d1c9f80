"""What agents were told, counted in this clone alone: private, never committed (law 12).

One file a month that only grows, a JSON object a line. Every write is one append and takes no lock: `suggest` must not
wait. The files are bounded in size and in number; losing them costs a count, never evidence.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from instinct_git.storage import breaker_log, files
from instinct_git.storage.files import Place

if TYPE_CHECKING:  # a session's start only writes
    from instinct_git.core.effect import Shown

MAX_BYTES = 1 << 20
"""A month's file grows no further: about 2,000 sessions of 20 suggestions."""
MONTHS = 4
"""Files that are kept, this month's included."""
_FOLDER = "shown"


def note(place: Place, keys: Iterable[str], session: str, day: str) -> None:
    """Count that a session was told some keys. Never raises for a file that cannot be written.

    `session` is the code that this session's evidence has (`core.entry.session_code` of an agent's own session, or
    `storage.inbox.session_code`), empty where none is known; `day` is the ISO day, UTC.
    """
    told = list(dict.fromkeys(keys))
    if not told:
        return
    line = json.dumps({"d": day, "s": session, "k": told}, ensure_ascii=False, separators=(",", ":")) + "\n"
    for folder in breaker_log.folders(place):
        path = folder / _FOLDER / f"{day[:7]}.jsonl"
        try:
            size = path.stat().st_size
        except OSError:
            size = -1
        if size >= MAX_BYTES:
            return
        try:
            if size < 0:
                path.parent.mkdir(parents=True, exist_ok=True)
                _forget(path.parent)
            files.append(path, line.encode("utf-8", "replace"))
            return
        except OSError:
            continue


def _forget(folder: Path) -> None:
    """Make room for one month more."""
    for name in sorted(os.listdir(folder), reverse=True)[MONTHS - 1 :]:
        try:
            (folder / name).unlink()
        except OSError:
            continue


def read(place: Place) -> list[Shown]:
    """Return all tellings that are kept. A line that is torn, or that a newer version wrote, is passed over."""
    found: list[Shown] = []
    for folder in breaker_log.folders(place):
        try:
            names = sorted(os.listdir(folder / _FOLDER))
        except OSError:
            continue
        for name in names:
            try:
                text = (folder / _FOLDER / name).read_bytes().decode("utf-8", "replace")
            except OSError:
                continue
            found += [one for one in map(_shown, text.split("\n")) if one is not None]
    return found


def _shown(line: str) -> Shown | None:
    from instinct_git.core.effect import Shown

    try:
        record = json.loads(line)
        day, session, keys = record["d"], record["s"], record["k"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    fits = isinstance(day, str) and isinstance(session, str) and isinstance(keys, list)
    return Shown(day, session, tuple(keys)) if fits and all(isinstance(key, str) for key in keys) else None

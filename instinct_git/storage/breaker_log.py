"""The breakers' log of this clone: which candidates were held, and which trips a person has answered. Private.

One file that only grows, a JSON object a line; every write is one append, so that processes cannot meet.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from instinct_git.errors import InstinctError
from instinct_git.storage import files
from instinct_git.storage.files import Place

FILE = "breakers.jsonl"
HELD, RESET = "held", "reset"


class Entry(NamedTuple):
    """One line of the log."""

    day: str
    """ISO day, UTC."""
    what: str
    """held (a candidate did not enter) or reset (a person answered a trip)."""
    name: str
    """The breaker: daily, duplicates or rejections."""
    key: str = ""
    """held: the candidate's key. reset: the keys of the trip, a line each."""
    measured: int = 0
    """reset: what the trip had measured."""
    why: str = ""
    by: str = ""


def read(place: Place) -> list[Entry]:
    """Return all entries. A torn line, or one that a newer version wrote, is passed over."""
    found: list[Entry] = []
    for folder in folders(place):
        try:
            text = (folder / FILE).read_bytes().decode("utf-8", "replace")
        except OSError:
            continue
        found += [entry for entry in map(_entry, text.split("\n")) if entry is not None]
    return found


def add(place: Place, entries: Iterable[Entry]) -> None:
    """Append entries in one write. Raises InstinctError when no folder can be written."""
    lines = [json.dumps(one._asdict(), ensure_ascii=False, separators=(",", ":")) + "\n" for one in entries]
    if not lines:
        return
    problem: OSError | None = None
    for folder in folders(place):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            files.append(folder / FILE, "".join(lines).encode("utf-8", "replace"))
            return
        except OSError as refused:
            problem = problem or refused
    raise InstinctError(
        f"the breakers' log cannot be written: {problem}", "free disk space, or let this user write to $INSTINCT_HOME"
    )


def folders(place: Place) -> list[Path]:
    """The clone's private state, then the same in $INSTINCT_HOME, for sandboxes that make `.git` read-only."""
    return list(dict.fromkeys([place.state_dir, *(place.home / "state" / folder.name for folder in place.fallbacks())]))


def _entry(line: str) -> Entry | None:
    try:
        record = json.loads(line)
        given = {name: record[name] for name in Entry._fields if name in record}
        entry = Entry(**given)
    except (ValueError, TypeError, RecursionError):
        return None
    texts = (entry.day, entry.what, entry.name, entry.key, entry.why, entry.by)
    fits = all(isinstance(text, str) for text in texts) and type(entry.measured) is int
    return entry if fits and entry.what in (HELD, RESET) else None

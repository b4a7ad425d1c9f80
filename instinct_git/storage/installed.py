"""`$INSTINCT_HOME/installed.json`: what `install` put into which file, so that `uninstall` gives back the same bytes.

It holds positions and hashes, never a file's words. It may be lost: pieces are then found by what they are.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from instinct_git.storage import files

_NAME = "installed.json"


class Note(NamedTuple):
    """One file, right after `install` wrote it."""

    sha: str
    """SHA-256 of its bytes; another one: somebody has edited it, and the positions mean nothing any more."""
    spans: tuple[tuple[int, int], ...]
    """What was inserted, in characters."""
    created: bool
    """True when there was no file."""
    folders: tuple[str, ...] = ()
    """Folders that were made for it, the innermost first."""


def read(home: Path) -> dict[str, Note]:
    """Return the notes by the files' real paths; what cannot be read counts as lost."""
    try:
        found = json.loads((home / _NAME).read_text(encoding="utf-8"))
        return {
            path: Note(
                str(one["sha"]), tuple((int(a), int(b)) for a, b in one["spans"]), bool(one["created"]),
                tuple(str(folder) for folder in one["folders"]),
            )
            for path, one in found.items()
        }  # fmt: skip
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}


def write(home: Path, changed: Mapping[str, Note | None]) -> None:
    """Note, or with None forget, some files. Raises OSError."""
    notes = {**read(home), **changed}
    rows = {path: one._asdict() for path, one in sorted(notes.items()) if one is not None}
    if rows:
        files.replace(home / _NAME, (json.dumps(rows, indent=1) + "\n").encode())
    else:
        (home / _NAME).unlink(missing_ok=True)

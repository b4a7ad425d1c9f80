"""A cache of the parsed pattern files of one working tree. Deleting it changes no answer (law 10).

A file is parsed again when its size, times or inode differ; one that changed in the moment it was read is not trusted.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from instinct_git.core.keys import pattern_path
from instinct_git.core.pattern import Finding, PatternFile
from instinct_git.errors import InvalidDocument
from instinct_git.storage import files
from instinct_git.storage.files import Place

VERSION = 2
RACY_NS = 50_000_000  # coarser than any clock that stamps files on the systems we run on, but network shares
_FIELDS = (  # in the order of PatternFile, whose path and text come first
    "key", "category", "confidence", "counted", "level", "first_seen", "last_seen", "sources", "title", "description",
    "tags", "status", "graduated_to", "metadata",
)  # fmt: skip


def patterns(place: Place) -> tuple[list[PatternFile], list[Finding]]:
    """Return every readable pattern file (its text and body left out), one a key, and what could not be read."""
    cached = _load(place)
    fresh: dict[str, list[Any]] = {}
    found: dict[str, PatternFile] = {}
    broken: list[Finding] = []
    now = time.time_ns()
    for path, stamp in _listing(place.root):
        row = cached.get(path)
        if row is None or row[0] != stamp:
            try:
                row = [stamp, _parsed(place.root, path)]
            except FileNotFoundError:
                continue  # a checkout or a batch took it away meanwhile
            except (InvalidDocument, OSError) as problem:
                broken.append(Finding("pattern-unreadable", path, str(problem)))
                continue
        if stamp[0] < now - RACY_NS and stamp[1] < now - RACY_NS:
            fresh[path] = row
        pattern = _restored(path, row[1])
        if pattern.key not in found or path == pattern_path(pattern.key):
            found[pattern.key] = pattern
    if fresh != cached:
        _save(place, fresh)
    return sorted(found.values(), key=lambda one: one.key), broken


def _listing(root: Path) -> Iterator[tuple[str, list[int]]]:
    base = root / ".instinct" / "patterns"
    pending = [(str(base), ".instinct/patterns")]
    while pending:
        folder, inside = pending.pop()
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except (FileNotFoundError, NotADirectoryError):
            continue
        for entry in entries:
            name = entry.name
            if entry.is_dir(follow_symlinks=False):
                pending.append((entry.path, f"{inside}/{name}"))
            elif name.endswith(".md") and name[0] != "." and name != "README.md":
                try:
                    status = entry.stat()
                except FileNotFoundError:
                    continue  # a checkout or a batch took it away meanwhile
                yield f"{inside}/{name}", [status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino]


def _parsed(root: Path, path: str) -> list[Any]:
    from instinct_git.core.document import parse

    pattern = parse((root / path).read_bytes().decode("utf-8", "surrogateescape"), path)
    return json.loads(json.dumps([getattr(pattern, name) for name in _FIELDS], default=str))  # type: ignore[no-any-return]


def _restored(path: str, row: list[Any]) -> PatternFile:
    sources, tags = _FIELDS.index("sources"), _FIELDS.index("tags")
    row[sources], row[tags] = tuple(row[sources]), tuple(row[tags])
    return PatternFile(path, "", *row)


def _file(place: Place) -> Path:
    return place.worktree_state_dir / "index-patterns.json"


def _load(place: Place) -> dict[str, list[Any]]:
    try:
        checksum, _, content = _file(place).read_bytes().partition(b"\n")
        if checksum == _checksum(content):
            saved = json.loads(content)
            if saved["version"] == VERSION and saved["root"] == str(place.root):
                rows: dict[str, list[Any]] = saved["files"]
                return rows
    except (OSError, ValueError, KeyError, TypeError):
        pass  # missing or of another version: it is made anew, as it is when the checksum tells of damage
    return {}


def _save(place: Place, rows: dict[str, list[Any]]) -> None:
    content = json.dumps({"version": VERSION, "root": str(place.root), "files": rows}).encode("ascii")
    try:
        files.replace(_file(place), _checksum(content) + b"\n" + content)
    except OSError:
        pass  # a cache that cannot be written only costs time


def _checksum(content: bytes) -> bytes:
    from binascii import crc32

    return b"%08x" % crc32(content)

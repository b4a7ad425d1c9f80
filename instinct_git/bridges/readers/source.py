"""Takes the values out of a file that nobody vouches for: line by line or whole, never more than a bound.

A line is what ends in LF, whatever else is in it (U+2028 and its kind are text). A line that cannot be read is counted
by reason and left out; nothing here raises for what a file holds.
"""

from __future__ import annotations

import json
import stat
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

LONGEST_LINE = 32 * 2**20  # bytes; a longer line is left out
LONGEST_DOCUMENT = 64 * 2**20  # bytes of a file that is one JSON value
MOST = 2**30  # bytes read from one file
HEAD = 2**16  # bytes that tell whether a file may be one JSON value worth parsing
FIRST_RECORDS = 40  # lines looked at to recognise a format
FIRST_BYTES = 4 * 2**20
BOM = b"\xef\xbb\xbf"
# One of these is near the top of every file that is one JSON value of a format that is known here.
MARKS = tuple(f'"{key}"'.encode() for key in ("messages", "trajectory", "history", "action", "role", "kind"))


def is_regular(path: Path) -> bool:
    """True for a file that can be read without waiting for anybody; False for folders, pipes, devices, nothing."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except (OSError, ValueError):
        return False


def starts_with(path: Path, magic: bytes) -> bool:
    """True if the file's first bytes are these."""
    with path.open("rb") as file:
        return file.read(len(magic)) == magic


def records(path: Path, skipped: Counter[str]) -> Iterator[dict[str, object]]:
    """The JSON objects of a file that holds one a line; other lines are counted in ``skipped``. Raises ``OSError``."""
    with path.open("rb") as file:
        for line in _lines(file, skipped, MOST):
            value = parsed(line)
            if isinstance(value, dict):
                yield value
            elif value is not None or line.strip() == b"null":
                skipped["not an object"] += 1
            elif line.lstrip().startswith(b"//"):
                skipped["comment"] += 1
            else:
                skipped["broken JSON" if line.endswith(b"\n") else "torn last line"] += 1


def _lines(file: BinaryIO, skipped: Counter[str], most: int) -> Iterator[bytes]:
    """The lines that are not blank, each with its LF if it has one."""
    first, size = True, 0
    while size < most:
        line = file.readline(LONGEST_LINE + 1)
        size += len(line)
        if not line:
            return
        if len(line) > LONGEST_LINE and not line.endswith(b"\n"):
            skipped["line too long"] += 1
            while size < most and line and not line.endswith(b"\n"):
                line = file.readline(LONGEST_LINE)
                size += len(line)
            continue
        line = line.removeprefix(BOM) if first else line
        first = False
        if line.strip():
            yield line
    if file.read(1):
        skipped["file too long"] += 1


def parsed(text: bytes | str) -> object:
    """The JSON value; None if there is none (or it is null), if it is nested too deep or not JSON."""
    try:
        value: object = json.loads(text.decode("utf-8", "replace") if isinstance(text, bytes) else text)
    except (ValueError, RecursionError):
        return None
    return value


def first_records(path: Path) -> list[dict[str, object]]:
    """The first objects of a file with one a line, enough to recognise its format; none where it starts a list."""
    found: list[dict[str, object]] = []
    with path.open("rb") as file:
        for number, line in enumerate(_lines(file, Counter(), FIRST_BYTES)):
            if number >= FIRST_RECORDS or (not number and line.lstrip()[:1] == b"["):
                break
            value = parsed(line)
            if isinstance(value, dict):
                found.append(value)
    return found


def document(path: Path) -> object:
    """The one JSON value that the whole file is; None if it is none, too long, or nothing that an agent writes."""
    with path.open("rb") as file:
        head = file.read(HEAD).removeprefix(BOM)
        if head.lstrip()[:1] not in (b"{", b"[") or not any(mark in head for mark in MARKS):
            return None
        rest = file.read(LONGEST_DOCUMENT + 1 - len(head))
    return parsed(head + rest) if len(head) + len(rest) <= LONGEST_DOCUMENT else None

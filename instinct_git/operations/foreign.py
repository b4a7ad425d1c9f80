"""Files that are not ours to lose: read exactly, written all together or not at all, links and modes kept."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from instinct_git.errors import InstinctError
from instinct_git.storage import files, installed
from instinct_git.storage.installed import Note


class Change(NamedTuple):
    """One file that is written, or would be."""

    agents: tuple[str, ...]
    path: Path
    """As the agent names it."""
    real: Path
    """Where the bytes are: behind a symbolic link, its target."""
    action: str
    """create, edit or remove."""
    what: tuple[str, ...]
    """Our pieces in it, in words."""
    outside: bool
    """True when it does not lie in the repository."""
    before: bytes | None
    after: bytes | None
    note: Note | None = None
    """What to remember for the way back; None: nothing (any more)."""
    folders: tuple[str, ...] = ()
    """Folders that were made for a file that is removed."""


class Plan(NamedTuple):
    """What would be written; `apply` writes it."""

    changes: tuple[Change, ...]
    agents: tuple[str, ...]
    notices: tuple[str, ...] = ()
    """What is left as it is, and why."""

    @property
    def outside(self) -> tuple[Change, ...]:
        """Changes outside the repository: these need the person's yes."""
        return tuple(one for one in self.changes if one.outside)


def apply(plan: Plan, home: Path) -> None:
    """Write a plan, all of it or nothing. Raises InstinctError when a file has changed since, or cannot be written."""
    for one in plan.changes:
        if read(one.real) != one.before:
            raise InstinctError(f"{one.path} has changed meanwhile", "nothing was written; run this again")
        refuse_read_only(one)
    done: list[Change] = []
    try:
        for one in plan.changes:
            done.append(one)
            _write(one)
        if plan.changes:
            installed.write(home, {str(one.real): one.note for one in plan.changes})
    except OSError as problem:
        for one in reversed(done):
            _restore(one)
        raise InstinctError(
            f"{problem.filename or plan.changes[0].path} cannot be written: {problem.strerror}",
            "nothing was changed; make it writable, then run this again",
        ) from None


def real_path(path: Path) -> Path:
    """Return where the bytes are: behind symbolic links."""
    try:
        return path.resolve()
    except (OSError, RuntimeError):
        raise InstinctError(
            f"{path} is a symbolic link that leads nowhere", "mend the link, then run this again"
        ) from None


def read(path: Path) -> bytes | None:
    """Return a file's bytes; None where there is none."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as problem:
        raise InstinctError(
            f"{path} cannot be read: {problem.strerror}",
            "nothing was written; a file that you may read must stand there",
        ) from None


def as_text(data: bytes | None, path: Path) -> str:
    """Return bytes as text with its line ends. Raises InstinctError for what is no UTF-8."""
    try:
        text = (data or b"").decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise InstinctError(f"{path} is not touched: it is no UTF-8 text", "nothing was written; save it as UTF-8")
    return text


def refuse_read_only(one: Change) -> None:
    """Raise where the file, or the nearest folder that is there, may not be written. The mode counts for root too."""
    spots = [one.real] if one.before is not None else []
    spots.append(next(folder for folder in one.real.parents if folder.exists()))
    for spot in spots:
        if not spot.stat().st_mode & 0o222 or not os.access(spot, os.W_OK):
            raise InstinctError(
                f"{one.path}: {spot} is read-only", "nothing was written; make it writable, then run this again"
            )


def _write(one: Change) -> None:
    if one.after is not None:
        files.replace(one.real, one.after)
        return
    one.real.unlink(missing_ok=True)
    _remove_folders(one.folders)


def _remove_folders(folders: Iterable[str]) -> None:
    for folder in folders:
        try:
            Path(folder).rmdir()
        except OSError:
            return  # somebody else keeps something in it


def _restore(one: Change) -> None:
    try:
        if one.before is None:
            one.real.unlink(missing_ok=True)
            _remove_folders(one.note.folders if one.note else ())
        elif read(one.real) != one.before:
            files.replace(one.real, one.before)
    except (OSError, InstinctError):
        return  # what cannot be written now could not be written before

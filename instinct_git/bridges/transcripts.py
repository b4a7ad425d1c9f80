"""Reads what coding agents write about their sessions: files and folders in, one ``Transcript`` a session out.

Nothing in such a file is trusted: it is read line by line up to a bound, a line that cannot be read is counted and left
out, and what an agent writes twice counts once (`bridges.readers`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from instinct_git.bridges import readers
from instinct_git.bridges.readers import claude_code
from instinct_git.bridges.readers.claude_code import Sessions
from instinct_git.bridges.readers.draft import Draft, joined
from instinct_git.core.transcript import Transcript

_READ = "Claude Code, Codex, Gemini CLI, Copilot CLI, OpenCode, SWE-agent and OpenHands"
_OTHERS_ONLY = (".json", ".traj", ".db")  # Claude Code has one record a line
_LATE = datetime.max.replace(tzinfo=UTC)

Call = tuple[str, str, str]
"""(agent, session, the agent's own id of the call)."""


class Reading(NamedTuple):
    """What was read."""

    transcripts: list[Transcript]
    """By day and session."""
    paths: Mapping[Call, str]
    """The file that each call was read from."""
    skipped: Mapping[str, int]
    """Files that were passed over, by reason."""


def read_transcripts(paths: Iterable[Path], progress: Callable[[int, int], None] | None = None) -> list[Transcript]:
    """The sessions in these files and folders, as `read_all` reads them."""
    return read_all(paths, progress).transcripts


def read_all(
    paths: Iterable[Path], progress: Callable[[int, int], None] | None = None, *, found: bool = False
) -> Reading:
    """The sessions in these files and folders, one ``Transcript`` per session id, sorted by day and session.

    Which agent wrote a file its content tells. A folder means every file below it with a name that an agent gives
    (`readers.SUFFIXES`), ordered by first timestamp; files named one by one keep the given order, and calls are
    numbered in that order. A tool call that occurs in several files counts for the first.
    Raises ``InstinctError`` for a path that cannot be read, for a named file that is no transcript, and for a
    folder without any; other files below a folder that are no transcripts are passed over, and with ``found`` (nobody
    named them, and they may be gone by now) all such files are. ``progress`` is told (files read, files in all).
    """
    gathered = _Gathered()
    skipped: Counter[str] = Counter()
    named = [(Path(path), _names(Path(path))) for path in paths]
    total, read = sum(len(names) for _, names in named), 0

    def parsed(name: Path) -> _File | None:
        nonlocal read
        read += 1
        try:
            return _parse(name)
        except (OSError, ValueError) as problem:
            if not found:
                reason = getattr(problem, "strerror", None) or problem
                raise _error(f"Cannot read {name.name}: {reason}.", "Check the path.") from problem
            skipped["file that cannot be read"] += 1
            return None
        finally:
            if progress is not None:
                progress(read, total)

    for path, names in named:
        known = _ordered([file for file in map(parsed, names) if file is not None])
        if not known and not found:
            _refuse(path)
        for file in known:
            gathered.add(file)
    return Reading(gathered.transcripts(), gathered.paths(), skipped)


class _Gathered:
    """What was read, each file once."""

    def __init__(self) -> None:
        self.own, self.others = Sessions(), list[Draft]()
        self._seen: set[str] = set()

    def add(self, file: _File) -> None:
        """Take a file in, unless it was named before."""
        names = {file.path} if isinstance(file, claude_code.File) else {draft.path for draft in file}
        if self._seen & names:
            return
        self._seen |= names
        if isinstance(file, claude_code.File):
            self.own.add(file)
        else:
            self.others += file

    def transcripts(self) -> list[Transcript]:
        """Return all sessions, by day and session."""
        return sorted([*self.own.transcripts(), *joined(self.others)], key=lambda one: (one.day, one.session))

    def paths(self) -> dict[Call, str]:
        """Return the file of each call."""
        where = dict(self.own.paths())
        for draft in self.others:
            for identity in draft.uses:
                where.setdefault((draft.agent, draft.session, identity), draft.path)
        return where


_File = claude_code.File | list[Draft]
"""One file as read: Claude Code's, or another agent's."""


def _names(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    return [name for name in sorted(path.rglob("*")) if name.suffix in readers.SUFFIXES and name.is_file()]


def _ordered(files: Iterable[_File]) -> list[_File]:
    """Return the transcripts among the files, by their first time; those of other agents are ordered when joined."""
    known = [file for file in files if not isinstance(file, claude_code.File) or file.recognised]
    return sorted(known, key=lambda file: (isinstance(file, claude_code.File) and file.first) or _LATE)


def _refuse(path: Path) -> None:
    if path.is_dir():
        raise _error(f"No transcript below {path.name or path}.", f"instinct reads those of {_READ}.")
    raise _error(f"{path.name} is not a transcript.", f"instinct reads those of {_READ}.")


def _error(message: str, hint: str) -> Exception:
    from instinct_git.errors import InstinctError

    return InstinctError(message, hint)


def _parse(path: Path) -> _File | None:
    """Read one file; None for one that can be no transcript. Raises ``OSError`` and ``ValueError`` (an odd name)."""
    other = readers.sniff(path)
    if other is not None:
        return readers.drafts(other, path)
    if path.suffix in _OTHERS_ONLY or (path.exists() and not path.is_file()):
        return None
    return claude_code.read(path)

"""Where coding agents keep their transcripts, and which folder a session was held in, as its file tells.

A file's own word counts, never its path alone: Claude Code writes `/a/b-c` and `/a/b/c` into one folder. A file that does
not tell belongs to no project.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from instinct_git.bridges import readers
from instinct_git.bridges.agents.table import CLAUDE, CODEX, COPILOT, Surroundings
from instinct_git.bridges.readers import codex, copilot, gemini, opencode, openhands, swe_agent
from instinct_git.bridges.readers.draft import mapping, text
from instinct_git.bridges.readers.source import document, is_regular, records

CLAUDE_CODE, ANY = "claude-code", "auto"
KEEPERS = (CLAUDE_CODE, codex.AGENT, gemini.AGENT, copilot.AGENT, opencode.AGENT)
"""The agents that keep their transcripts in a place of their own."""
AGENTS = (*KEEPERS, swe_agent.AGENT, openhands.AGENT)
_LOOKED_AT = 500  # records of a file, at most, until one names the folder
_ENCODED = re.compile(r"[^A-Za-z0-9]")
_ENCODED_WHOLE = 200  # characters; of a longer name Claude Code writes the beginning and a hash


class Place(NamedTuple):
    """One agent's transcripts: those below a folder, or one file."""

    agent: str
    path: Path
    names: tuple[str, ...] = ()
    """If given: only folders below it of these names, and of those that go on with `-` (folders in the project)."""

    def files(self) -> Iterator[Path]:
        """The files that may be transcripts, sorted; nothing where there is no such place."""
        if self.path.is_file():
            yield self.path
        elif self.path.is_dir() and os.access(self.path, os.R_OK | os.X_OK):
            folders = (
                [one for one in sorted(self.path.iterdir()) if self._meant(one.name)] if self.names else [self.path]
            )
            for folder in folders:
                yield from (
                    one for one in sorted(folder.rglob("*")) if one.suffix in readers.SUFFIXES and one.is_file()
                )

    def _meant(self, folder: str) -> bool:
        return any(
            folder.startswith(name) and (len(name) == _ENCODED_WHOLE or folder[len(name) :][:1] in ("", "-"))
            for name in self.names
        )


class Told(NamedTuple):
    """What a file says about its sessions."""

    agent: str
    folders: tuple[str, ...]
    """Where they were held; one, but for a database."""


def places(where: Surroundings, roots: Sequence[str]) -> list[Place]:
    """Where each agent keeps the transcripts of sessions in these folders and below (others' too, in most)."""
    data = Path(where.environ.get("XDG_DATA_HOME") or where.home / ".local" / "share")
    encoded = tuple(dict.fromkeys(_ENCODED.sub("-", root)[:_ENCODED_WHOLE] for root in roots))
    bases = {name: where.folder(name) or where.home for name in (CLAUDE, CODEX, COPILOT)}
    return [
        Place(CLAUDE_CODE, bases[CLAUDE] / "projects", encoded),
        Place(codex.AGENT, bases[CODEX] / "sessions"),
        Place(gemini.AGENT, where.home / ".gemini" / "tmp"),
        Place(copilot.AGENT, bases[COPILOT] / "session-state"),
        Place(opencode.AGENT, data / "opencode" / "opencode.db"),
    ]


def told(path: Path, roots: Sequence[str]) -> Told | None:
    """What the file says; None for a file that is no transcript or names no folder. Gemini's older chats name a hash of
    it: `roots` are the folders to compare it with. Raises ``OSError``."""
    if not is_regular(path):
        return None
    reader = readers.sniff(path)
    agent = reader.agent if reader is not None else CLAUDE_CODE
    if agent == opencode.AGENT:
        found: str | tuple[str, ...] = opencode.folders(path)
    elif agent == gemini.AGENT:
        found = _gemini(path, roots)
    else:
        named = (_named(agent, record) for record in islice(records(path, Counter()), _LOOKED_AT))
        found = next((folder for folder in named if folder), "")
    folders = (found,) if isinstance(found, str) else found
    return Told(agent, folders) if any(folders) else None


def stamp(path: Path) -> tuple[int, int]:
    """Size in bytes and time of change in ns, of a database with its log; they tell whether a file has changed. Raises
    ``OSError``."""
    found = path.stat()
    try:
        log = path.with_name(f"{path.name}-wal").stat()
    except OSError:
        return found.st_size, found.st_mtime_ns
    return found.st_size + log.st_size, max(found.st_mtime_ns, log.st_mtime_ns)


def _named(agent: str, record: dict[str, object]) -> str:
    """The folder that a record of this agent names; "" if it names none."""
    if agent == CLAUDE_CODE:
        spoken = record.get("type") in ("user", "assistant") and isinstance(record.get("message"), dict)
        return text(record, "cwd") if spoken and "sessionId" in record else ""
    if agent == codex.AGENT:
        return text(mapping(record.get("payload")), "cwd") if record.get("type") == "session_meta" else ""
    if agent == copilot.AGENT:
        started = record.get("type") in ("session.start", "session.resume")
        return text(mapping(mapping(record.get("data")).get("context")), "cwd") if started else ""
    return ""


def _gemini(path: Path, roots: Sequence[str]) -> str:
    """The folder that stands beside the chats, else the one whose hash the chat names."""
    for folder in islice(path.parents, 4):
        if folder.name == "chats" and (folder.parent / ".project_root").is_file():
            return (folder.parent / ".project_root").read_text(encoding="utf-8", errors="replace").strip()
    whole = document(path)
    first = whole if isinstance(whole, dict) else next(records(path, Counter()), {})
    hashed = text(first, "projectHash")
    return next((root for root in roots if hashlib.sha256(os.fsencode(root)).hexdigest() == hashed), "")

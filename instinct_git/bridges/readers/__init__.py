"""Reads the sessions of coding agents, one small module a format, all with the same two functions.

``recognises(value)``  whether a parsed record (or a whole JSON value) is of this format; never by a file's name.
``read(path)``         what one file tells, as drafts; raises ``OSError`` only, whatever the file holds.

`sniff` tells the format of a file from a bounded look at it, `read` turns files into `Transcript` values.
Claude Code's own transcripts are read by `readers.claude_code`, whose files come in several for a session.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from instinct_git.bridges.readers import codex, copilot, gemini, opencode, openhands, swe_agent
from instinct_git.bridges.readers.draft import Draft, joined, named_day
from instinct_git.bridges.readers.source import document, first_records, is_regular
from instinct_git.core.transcript import Transcript

SUFFIXES = (".jsonl", ".json", ".traj", ".db")
"""The names that are looked at when a folder is walked; a file that is named itself may be called anything."""


@dataclass(frozen=True, slots=True)
class Reader:
    """One format: the agent that writes it, how a value of it is recognised, how a file of it is read."""

    agent: str
    recognises: Callable[[object], bool]
    read: Callable[[Path], list[Draft]]


# Where a value could be of two formats the first is meant.
TEXTS = tuple(
    Reader(module.AGENT, module.recognises, module.read) for module in (codex, copilot, gemini, openhands, swe_agent)
)
DATABASE = Reader(opencode.AGENT, lambda _: False, opencode.read)


def sniff(path: Path) -> Reader | None:
    """The reader for this file, from a bounded look at what it holds; None for a file of no format read here.

    Raises ``OSError`` for a file that cannot be opened; a folder, a pipe or a device is no transcript.
    """
    if not is_regular(path):
        return None
    if opencode.recognises(path):
        return DATABASE
    for record in first_records(path):
        for reader in TEXTS:
            if reader.recognises(record):
                return reader
    whole = document(path)
    return next((reader for reader in TEXTS if whole is not None and reader.recognises(whole)), None)


def drafts(reader: Reader, path: Path) -> list[Draft]:
    """What one file tells, with where it stands and the day that its name tells. Raises ``OSError``."""
    told, named, real = reader.read(path), named_day(path), os.path.realpath(path)
    for draft in told:
        draft.named, draft.path = named, real
    return told


def read(paths: Iterable[Path]) -> list[Transcript]:
    """The sessions in these files, sorted by day and session; files of no format read here are passed over.

    The same session in several files is one transcript, and a call that was copied counts once. Raises ``OSError``.
    """
    told: list[Draft] = []
    for path in paths:
        reader = sniff(path)
        if reader is not None:
            told += drafts(reader, path)
    return joined(told)

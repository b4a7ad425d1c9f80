"""A settings file's text while it is edited: what was there stays, and what was put in is known and can be taken out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

Span = tuple[int, int]
_COMMANDS = re.compile(r"""["']?(?:\S*[/\\])?(?:instinct-hook|instinct session-start)(?:\.exe)?["']?(?:\s|$)""")


class NotEditable(Exception):
    """A file that is not touched; the text says why, without the file's name."""


class Edited(NamedTuple):
    """A text, and the spans of it that were inserted (from, to; in characters, sorted)."""

    text: str
    spans: tuple[Span, ...] = ()

    def insert(self, at: int, words: str) -> Edited:
        """Put words in before the character `at`."""
        size, inside = len(words), False
        spans: list[Span] = []
        for start, end in self.spans:
            if start < at < end:
                spans, inside = [*spans, (start, end + size)], True
            else:
                spans.append((start, end) if end <= at else (start + size, end + size))
        if not inside:
            spans.append((at, at + size))
        return Edited(self.text[:at] + words + self.text[at:], tuple(sorted(spans)))

    def undone(self) -> str:
        """Return the text without what was inserted."""
        return without(self.text, self.spans)


def without(text: str, spans: Iterable[Span]) -> str:
    """Return a text without some spans of it."""
    for start, end in sorted(spans, reverse=True):
        text = text[:start] + text[end:]
    return text


def line_end(text: str) -> str:
    """Return what ends the text's lines."""
    return "\r\n" if "\r\n" in text else "\n"


def appended(edited: Edited, words: str) -> Edited:
    """Put lines at the end, after one blank line; `words` has LF and ends with one."""
    text, end = edited.text, line_end(edited.text)
    body = text.removeprefix("\ufeff")
    if not body.strip():
        return edited.insert(len(text) - len(body), words.replace("\n", end))
    gap = "" if body.endswith(("\n\n", "\r\n\r\n")) else end if body.endswith("\n") else end + end
    return edited.insert(len(text), gap + words.replace("\n", end))


def without_lines(text: str, first: int, last: int) -> str:
    """Return the text without the lines first..last-1 and, at the text's end, without the blank line before them."""
    lines = text.splitlines(keepends=True)
    if first and last >= len(lines) and not lines[first - 1].strip():
        first -= 1
    return "".join(lines[:first] + lines[last:])


def runs_our_hook(command: object) -> bool:
    """True for the command line of one of our hooks."""
    return isinstance(command, str) and _COMMANDS.match(command) is not None


def is_our_server(entry: Any) -> bool:
    """True for an MCP registration (whatever agent's) whose command is `instinct serve`."""
    if not isinstance(entry, dict):
        return False
    command, args = entry.get("command", entry.get("cmd")), entry.get("args", [])
    words = command if isinstance(command, list) else [command, *(args if isinstance(args, list) else [])]
    if len(words) < 2 or not all(isinstance(word, str) for word in words[:2]):
        return False
    program = re.split(r"[/\\]", words[0])[-1].removesuffix(".exe")
    return program == "instinct" and words[1] == "serve"


def as_json(value: Any, unit: str) -> str:
    """Return a value as indented JSON."""
    return json.dumps(value, indent=unit, ensure_ascii=False)

"""A pattern file as read, and what `check` says about files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from instinct_git.core.model import ACTIVE, NOTHING


class PatternFile(NamedTuple):
    """A pattern file as read: the machine lines, the person's lines, and what is wrong with it."""

    path: str
    text: str
    key: str
    category: str
    confidence: int
    counted: int
    level: str
    first_seen: str = ""
    last_seen: str = ""
    sources: tuple[str, ...] = ()
    sessions: int = 0
    """Sessions that saw it, as the last batch counted them; 0: none that named itself."""
    title: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    status: str = ACTIVE
    graduated_to: str = ""
    verified: tuple[Mapping[str, Any], ...] = ()
    """Who approved it: {by: "human:<id>", at: ISO day}."""
    candidate: Mapping[str, Any] = NOTHING
    """What the last batch wrote of the pool's opinion: kind, trigger, score, status and the counts behind the score."""
    metadata: Mapping[str, Any] = NOTHING
    applies_to: Any = None
    """Languages and paths it is limited to, as written; `applicability.applies_to` reads it. None: everywhere."""
    body: str = ""
    has_separator: bool = True

    @property
    def offset(self) -> int:
        """What a person added or took by hand: `confidence - counted` (law 4)."""
        return self.confidence - self.counted


class Finding(NamedTuple):
    """One problem that `check` reports."""

    rule: str
    path: str
    message: str
    severity: str = "error"
    """error (exit 1), warning or notice (both exit 0)."""
    line: int = 0
    """1-based; 0: the whole file."""

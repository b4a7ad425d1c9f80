"""A batch: a set of file changes that becomes exactly one commit, and what it means in numbers."""

from __future__ import annotations

from dataclasses import dataclass

from instinct_git.core.model import MATURE, RAW, RULE
from instinct_git.core.pattern import Finding

FADED_WORDS = "faded for a week or more"
"""Why a decay batch removes a file."""


@dataclass(frozen=True, slots=True)
class Change:
    """One file's new content; None removes the file. Paths are relative to the memory's root."""

    path: str
    content: bytes | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Moved:
    """A pattern whose numbers a batch changes."""

    key: str
    before: int | None
    """Confidence before; None: the pattern is new."""
    after: int
    level_before: str
    level: str


@dataclass(frozen=True, slots=True)
class Batch:
    """A set of file changes that becomes exactly one commit, and what it means in numbers."""

    verb: str
    subject: str = ""
    changes: tuple[Change, ...] = ()
    moved: tuple[Moved, ...] = ()
    folded: int = 0
    """Evidence ids that enter the ledger."""
    recorded: int = 0
    """Evidence ids that leave the inbox."""
    booked: int = 0
    """Time-driven evidence added (decayed, faded)."""
    faded: tuple[str, ...] = ()
    removed_by_person: tuple[str, ...] = ()
    """Keys whose file a person deleted: their evidence is kept, the file stays away."""
    skipped: tuple[Finding, ...] = ()
    """Pattern files that could not be read and were left alone."""
    container: str = ""
    """Stem of the container that takes the inbox; empty: the inbox was empty."""
    total: int = 0
    """Patterns with a file after the batch."""
    notices: tuple[str, ...] = ()
    gone: tuple[tuple[str, str], ...] = ()
    """(key, reason) of the files that `gc` removes; they stand in `faded`, too."""

    @property
    def promoted_to_mature(self) -> int:
        """Patterns that reach level mature in this batch."""
        return sum(m.level == MATURE and m.level_before in (RAW, "") for m in self.moved)

    @property
    def promoted_to_rule(self) -> int:
        """Patterns that reach level rule in this batch."""
        return sum(m.level == RULE and m.level_before != RULE for m in self.moved)

"""The nouns. Values only: no I/O, no clock.

Named tuples and slotted dataclasses throughout; `Evidence` is a named tuple because a memory may hold a million of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

RAW, MATURE, RULE, FADED = "raw", "mature", "rule", "faded"
LEVELS = (RAW, MATURE, RULE)

KINDS = (
    "observed", "succeeded", "failed", "confirmed", "denied", "decayed", "idle", "adjusted", "remembered",
    "candidate", "scored", "proposed", "approved", "rejected", "expired", "alias", "retract", "faded",
)  # fmt: skip
ACTIVE, RETIRED, GRADUATED = "active", "retired", "graduated"
STATUSES = (ACTIVE, RETIRED, GRADUATED)

NOTHING: Mapping[str, Any] = MappingProxyType({})


class Evidence(NamedTuple):
    """One immutable record about a pattern. Its id is its identity; the rest is its payload."""

    id: str
    """`<day>-<nonce>.<n>`, or `decay:<key>:<week>` and the like for time-driven evidence."""
    p: str
    """The pattern's key."""
    k: str
    """One of KINDS."""
    at: str = ""
    """UTC time (inbox) or UTC day (committed), ISO 8601; empty in the ledger, where the id has the day."""
    by: str = ""
    """Source: which agent."""
    s: str = ""
    """12 hex digits that stand for the agent's session; empty: none given."""
    ctx: str = ""
    """Context: project or task, as given."""
    note: str = ""
    """Free words; they stay in this clone unless `share_notes` is true."""
    extra: Mapping[str, Any] = NOTHING
    """Optional keys of its kind: cat title desc meta n x to kind dims score why."""


@dataclass(frozen=True, slots=True)
class Policy:
    """The numbers of DESIGN section 5. What the fold, the levels and decay depend on, and nothing else."""

    mature: int = 5
    rule: int = 10
    observed: int = 1
    succeeded: int = 1
    confirmed: int = 1
    denied: int = -2
    decayed: int = -1
    remembered: int = 1
    session_cap: int = 3
    decay_days: int = 90

    def level(self, confidence: int) -> str:
        """Return raw, mature or rule for a confidence."""
        return RULE if confidence >= self.rule else MATURE if confidence >= self.mature else RAW


@dataclass(frozen=True, slots=True)
class Step:
    """One piece of evidence in fold order: what it did to the sum, and the sum after it."""

    evidence: Evidence
    delta: int
    total: int
    capped: bool = False


@dataclass(frozen=True, slots=True)
class Tally:
    """What the fold says of one pattern."""

    total: int = 0
    """S of law 4: the policy fold over distinct ids, floored at 0 after each step."""
    first_seen: str = ""
    last_seen: str = ""
    """ISO days of the first and the last use (observed, succeeded, confirmed); empty: never."""
    sources: tuple[str, ...] = ()
    evidence: int = 0
    """Distinct ids, whatever their kind."""
    category: str = ""
    """A category given with evidence, for keys without a prefix; empty: none."""
    title: str = ""
    description: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    last_faded: tuple[str, int, str] | None = None
    """Fold position of the latest `faded` evidence, else None."""
    steps: tuple[Step, ...] = ()
    """Filled only when asked for (explain)."""


@dataclass(frozen=True, slots=True)
class PatternFile:
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
    title: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    status: str = ACTIVE
    graduated_to: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    body: str = ""
    has_separator: bool = True

    @property
    def offset(self) -> int:
        """What a person added or took by hand: `confidence - counted` (law 4)."""
        return self.confidence - self.counted


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem that `check` reports."""

    rule: str
    path: str
    message: str
    severity: str = "error"
    """error (exit 1), warning or notice (both exit 0)."""
    line: int = 0
    """1-based; 0: the whole file."""


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

    @property
    def promoted_to_mature(self) -> int:
        """Patterns that reach level mature in this batch."""
        return sum(m.level == MATURE and m.level_before in (RAW, "") for m in self.moved)

    @property
    def promoted_to_rule(self) -> int:
        """Patterns that reach level rule in this batch."""
        return sum(m.level == RULE and m.level_before != RULE for m in self.moved)

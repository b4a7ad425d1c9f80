"""The nouns that observing and folding need. Values only: no I/O, no clock.

Named tuples, because a memory may hold a million pieces of evidence, and because every `observe` pays for this import
(a dataclass takes five times as long to define).
"""

from __future__ import annotations

from collections.abc import Mapping
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


def speaks(status: str, *, read: bool) -> bool:
    """True for a pattern that agents are told of. `read`: they read what it became, so that it falls silent; no agent
    reads the documents of a memory that is not the project's own, so there a graduated pattern goes on speaking."""
    return status == ACTIVE or (status == GRADUATED and not read)


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


class Policy(NamedTuple):
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


class Caps(NamedTuple):
    """What keeps a memory small; `gc` brings it there."""

    patterns: int = 1000
    """Pattern files in all; 0: no cap."""
    new_per_day: int = 50
    """Patterns that were first seen on one day; 0: no cap."""


class Step(NamedTuple):
    """One piece of evidence in fold order: what it did to the sum, and the sum after it."""

    evidence: Evidence
    delta: int
    total: int
    capped: bool = False


class Tally(NamedTuple):
    """What the fold says of one pattern."""

    total: int = 0
    """S of law 4: the policy fold over distinct ids, floored at 0 after each step."""
    first_seen: str = ""
    last_seen: str = ""
    """ISO days of the first and the last use (observed, succeeded, confirmed); empty: never."""
    sources: tuple[str, ...] = ()
    sessions: int = 0
    """Distinct (source, session) pairs that observed it or reused it with success."""
    evidence: int = 0
    """Distinct ids, whatever their kind."""
    category: str = ""
    """A category given with evidence, for keys without a prefix; empty: none."""
    title: str = ""
    description: str = ""
    metadata: Mapping[str, Any] = NOTHING
    last_faded: tuple[str, int, str] | None = None
    """Fold position of the latest `faded` evidence, else None."""
    steps: tuple[Step, ...] = ()
    """Filled only when asked for (explain)."""

"""The fold of law 5: a set of evidence in, one tally a pattern out. The same set gives the same numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from instinct_git.core.evidence import day_of, iso_day, position
from instinct_git.core.keys import CATEGORIES
from instinct_git.core.model import Evidence, Policy, Step, Tally

USES = frozenset(("observed", "succeeded", "confirmed"))
"""The kinds that move first_seen and last_seen."""

NO_SOURCES = frozenset(("decayed", "idle", "faded", "expired", "proposed", "approved", "rejected"))
"""Kinds whose `by` names no agent that saw the pattern: time's, and the answers of people."""


def retracted(evidence: Iterable[Evidence]) -> set[str]:
    """Return the ids that `retract` evidence takes out."""
    return {str(one.extra.get("to", "")) for one in evidence if one.k == "retract"}


def representatives(evidence: Iterable[Evidence]) -> dict[str, str]:
    """Return {key: the key that stands for it} from `alias` evidence (p is the old key, `to` the new one).

    Of several aliases of one key the smallest target counts; the smallest key represents a cycle.
    """
    target: dict[str, str] = {}
    for one in evidence:
        to = one.extra.get("to")
        if one.k == "alias" and isinstance(to, str) and to and to != one.p:
            target[one.p] = min(to, target.get(one.p, to))
    return {key: _end(key, target) for key in target}


def _end(key: str, target: Mapping[str, str]) -> str:
    path = [key]
    while path[-1] in target:
        step = target[path[-1]]
        if step in path:
            return min(path[path.index(step) :])
        path.append(step)
    return path[-1]


def group(evidence: Iterable[Evidence]) -> dict[str, list[Evidence]]:
    """Return {representative key: its evidence in fold order}, retracted ids and bookkeeping kinds left out."""
    everything = evidence if isinstance(evidence, (list, tuple)) else list(evidence)
    gone = retracted(everything)
    stands_for = representatives(one for one in everything if one.id not in gone)
    groups: dict[str, list[Evidence]] = {}
    for one in everything:
        if one.k in ("retract", "alias") or one.id in gone:
            continue
        groups.setdefault(stands_for.get(one.p, one.p), []).append(one)
    for members in groups.values():
        members.sort(key=lambda one: position(one.id))
    return groups


def _delta(one: Evidence, policy: Policy) -> int:
    if one.k == "adjusted":
        return int(one.extra.get("n", 0))
    if one.k in ("observed", "succeeded", "confirmed", "denied", "decayed", "remembered"):
        return int(getattr(policy, one.k))
    return 0


def _word(one: Evidence, name: str) -> str:
    value = one.extra.get(name)
    return value if isinstance(value, str) and (name != "cat" or value in CATEGORIES) else ""


def fold_one(members: Iterable[Evidence], policy: Policy, *, steps: bool = False) -> Tally:
    """Fold the evidence of one pattern, given in fold order.

    Every step is floored at 0; `observed` counts at most `policy.session_cap` times a (source, session), without a
    session always (DESIGN section 5).
    """
    total = count = 0
    first = last = category = title = description = ""
    sources: set[str] = set()
    metadata: dict[str, Any] = {}
    seen: dict[tuple[str, str], int] = {}
    faded = None
    trace: list[Step] = []
    for one in members:
        count += 1
        delta, capped = _delta(one, policy), False
        if one.k == "observed" and one.s:
            times = seen[one.by, one.s] = seen.get((one.by, one.s), 0) + 1
            capped = times > policy.session_cap
            delta = 0 if capped else delta
        total = max(0, total + delta)
        if one.k in USES:
            last = day_of(one.id)
            first = first or last
        if one.by and one.k not in NO_SOURCES:
            sources.add(one.by)
        if one.k == "faded":
            faded = position(one.id)
        if one.extra:
            category = category or _word(one, "cat")
            title = title or _word(one, "title")
            description = description or _word(one, "desc")
            meta = one.extra.get("meta")
            if isinstance(meta, dict):
                metadata = {**meta, **metadata}
        if steps:
            trace.append(Step(one, delta, total, capped))
    return Tally(
        total, iso_day(first) if first else "", iso_day(last) if last else "", tuple(sorted(sources)), count,
        category, title, description, metadata, faded, tuple(trace),
    )  # fmt: skip


def fold(evidence: Iterable[Evidence], policy: Policy) -> dict[str, Tally]:
    """Fold a whole set: {representative key: tally}."""
    return {key: fold_one(members, policy) for key, members in group(evidence).items()}

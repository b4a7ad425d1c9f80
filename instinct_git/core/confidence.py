"""The fold of law 5: a set of evidence in, one tally a pattern out. The same set gives the same numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import itemgetter
from typing import Any

from instinct_git.core.evidence import TIME_DRIVEN, day_of, iso_day, position
from instinct_git.core.keys import CATEGORIES
from instinct_git.core.model import RAW, Evidence, Policy, Step, Tally

USES = frozenset(("observed", "succeeded", "confirmed"))
"""The kinds that move first_seen and last_seen."""

NO_SOURCES = frozenset(("decayed", "idle", "faded", "expired", "proposed", "approved", "rejected"))
"""Kinds whose `by` names no agent that saw the pattern: time's, and the answers of people."""

SPOKEN = frozenset(("remembered", "confirmed", "adjusted"))
"""The kinds by which a person says that a pattern holds."""

_ID = itemgetter(0)


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
    moving = [one for one in everything if one.k in ("retract", "alias")]
    gone = retracted(moving)
    stands_for = representatives(one for one in moving if one.id not in gone)
    groups: dict[str, list[Evidence]] = {}
    for one in everything:
        key = one.p
        if moving:
            if one.k in ("retract", "alias") or one.id in gone:
                continue
            key = stands_for.get(key, key)
        if key in groups:
            groups[key].append(one)
        else:
            groups[key] = [one]
    for members in groups.values():
        members.sort(key=_ID)
        if members[-1].id.startswith(TIME_DRIVEN):  # letters come after digits; without them the two orders are one
            members.sort(key=lambda one: position(one.id))
    return groups


def _steps(policy: Policy) -> dict[str, int]:
    """Return {kind: what one piece of it adds}; the others add nothing, and `adjusted` what it says itself."""
    return {
        "observed": policy.observed, "succeeded": policy.succeeded, "confirmed": policy.confirmed,
        "denied": policy.denied, "decayed": policy.decayed, "remembered": policy.remembered,
    }  # fmt: skip


def _word(one: Evidence, name: str) -> str:
    value = one.extra.get(name)
    return value if isinstance(value, str) and (name != "cat" or value in CATEGORIES) else ""


def fold_one(members: Iterable[Evidence], policy: Policy, *, steps: bool = False) -> Tally:
    """Fold the evidence of one pattern, given in fold order.

    Every step is floored at 0; `observed` counts at most `policy.session_cap` times a (source, session), without a
    session always (DESIGN section 5).
    """
    adds, cap = _steps(policy), policy.session_cap
    total = count = 0
    first = last = category = title = description = ""
    sources: set[str] = set()
    metadata: dict[str, Any] = {}
    seen: dict[tuple[str, str], int] = {}
    reused: set[tuple[str, str]] = set()
    faded = None
    trace: list[Step] = []
    for one in members:
        evidence_id, _, kind, _, by, session, _, _, extra = one
        count += 1
        delta, capped = adds.get(kind, 0), False
        if kind == "adjusted":
            delta = int(extra.get("n", 0))
        elif kind == "observed" and session:
            times = seen[by, session] = seen.get((by, session), 0) + 1
            if times > cap:
                delta, capped = 0, True
        elif kind == "succeeded" and session:
            reused.add((by, session))
        total += delta
        if total < 0:
            total = 0
        if kind in USES:
            last = evidence_id
            first = first or last
        if by and kind not in NO_SOURCES:
            sources.add(by)
        if kind == "faded":
            faded = position(evidence_id)
        if extra:
            category = category or _word(one, "cat")
            title = title or _word(one, "title")
            description = description or _word(one, "desc")
            meta = extra.get("meta")
            if isinstance(meta, dict):
                metadata = {**meta, **metadata}
        if steps:
            trace.append(Step(one, delta, total, capped))
    return Tally(
        total, iso_day(day_of(first)) if first else "", iso_day(day_of(last)) if last else "", tuple(sorted(sources)),
        len(seen.keys() | reused), count, category, title, description, metadata, faded, tuple(trace),
    )  # fmt: skip


class Witnesses:
    """Who stands behind a pattern: takes its evidence in, piece by piece, and says whether one session alone does.

    What one session does again and again may be that day's work and no habit. So it takes a second session, a person's
    word (`SPOKEN`, or a number set by hand), or evidence that names no session (a person's, a script's own), before a
    pattern can be more than raw.
    """

    __slots__ = ("_free", "_sessions")

    def __init__(self, members: Iterable[Evidence] = ()) -> None:
        self._sessions: set[tuple[str, str]] = set()
        self._free = False
        for one in members:
            self.add(one)
            if not self.alone and self._sessions:
                break  # nothing that follows can change it

    def add(self, one: Evidence) -> None:
        """Take a piece of evidence in."""
        if one.k in SPOKEN:
            self._free = True
        elif one.k in ("observed", "succeeded"):
            self._free = self._free or not one.s
            self._sessions.add((one.by, one.s))

    @property
    def alone(self) -> bool:
        """True while one session is all there is."""
        return len(self._sessions) == 1 and not self._free

    def level(self, confidence: int, offset: int, policy: Policy) -> str:
        """Return the level of a confidence of which `offset` was set by hand."""
        return RAW if self.alone and not offset else policy.level(confidence)


def level_of(confidence: int, offset: int, members: Iterable[Evidence], policy: Policy) -> str:
    """Return the level of a pattern: its confidence's, but raw while one session alone stands behind it (`Witnesses`)."""
    level = policy.level(confidence)
    return level if level == RAW else Witnesses(members).level(confidence, offset, policy)


def fold(evidence: Iterable[Evidence], policy: Policy) -> dict[str, Tally]:
    """Fold a whole set: {representative key: tally}."""
    return {key: fold_one(members, policy) for key, members in group(evidence).items()}

"""What suggesting does: how often a pattern was shown, whether it was followed, with what outcome; what rises and fades.

Pure. What was shown is this clone's own count and stays private; what came of it is evidence, like everything else.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import NamedTuple

from instinct_git.core.confidence import USES
from instinct_git.core.evidence import day_of, iso_day
from instinct_git.core.model import Evidence

SINKS_AFTER = 10
"""Sessions that were shown a pattern since its last use, none of which followed it: then it sinks."""
TREND_DAYS = 28
"""Length of the two stretches that `trending` compares."""
TREND_MOST = 10
"""Rows that `trending` gives for what rises, and for what fades."""


class Shown(NamedTuple):
    """What one session was told."""

    day: str
    """ISO day, UTC."""
    session: str
    """The session's code as evidence has it; empty: none is known, and the telling counts as a session of its own."""
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Tellings:
    """How often one pattern was shown in this clone."""

    days: Mapping[str, int] = field(default_factory=dict)
    """{ISO day: sessions that were shown it, each counted on its first day}."""
    sessions: frozenset[str] = frozenset()

    @property
    def total(self) -> int:
        """Sessions in all."""
        return sum(self.days.values())

    def since(self, day: str) -> int:
        """Sessions after a day; all of them where the day is empty."""
        return sum(number for at, number in self.days.items() if at > day)


class Effect(NamedTuple):
    """What suggesting one pattern did."""

    pattern: str
    shown: int
    """Sessions in this clone that were shown it."""
    followed: int
    """Those of them in which it was seen in use: observed, or reused and worked."""
    since: str
    """ISO day on which it was first shown."""
    last_use: str
    """ISO day of its last use, by anybody; empty: never."""
    succeeded: int
    failed: int
    confirmed: int
    denied: int
    """Evidence since it was first shown, from whatever session."""
    sinks: bool
    """True when it is suggested after the others: shown SINKS_AFTER times since its last use."""


class Trend(NamedTuple):
    """How use of a pattern moves: sessions that used it in this stretch and in the one before."""

    pattern: str
    now: int
    before: int

    @property
    def by(self) -> int:
        """What it rose by; negative: it fades."""
        return self.now - self.before


class Trends(NamedTuple):
    """What rises and what fades, the strongest moves first."""

    days: int
    rises: tuple[Trend, ...]
    fades: tuple[Trend, ...]


def tellings(shown: Iterable[Shown], stands_for: Mapping[str, str] | None = None) -> dict[str, Tellings]:
    """Return {key: how often it was shown}; a session that was told twice counts once, on its first day."""
    days: dict[str, Counter[str]] = defaultdict(Counter)
    sessions: dict[str, set[str]] = defaultdict(set)
    joined = stands_for or {}
    for one in sorted(shown):
        for key in {joined.get(key, key) for key in one.keys}:
            if one.session and one.session in sessions[key]:
                continue
            sessions[key].add(one.session)
            days[key][one.day] += 1
    return {key: Tellings(dict(found), frozenset(sessions[key] - {""})) for key, found in days.items()}


def never_followed(shown: Mapping[str, Tellings], last_use: Mapping[str, str]) -> set[str]:
    """Return the keys that sink: SINKS_AFTER or more sessions were shown them after the day of their last use.

    `last_use` is {key: ISO day of its last use, by anybody}. One use lifts a key again, until as many sessions more.
    """
    return {key for key, told in shown.items() if told.since(last_use.get(key, "")) >= SINKS_AFTER}


def effects(
    shown: Mapping[str, Tellings], groups: Mapping[str, Sequence[Evidence]], last_use: Mapping[str, str]
) -> list[Effect]:
    """Return what suggesting did, the most shown first. `groups` is {key: its evidence}."""
    sinking = never_followed(shown, last_use)
    found = []
    for key, told in shown.items():
        since, members = min(told.days), groups.get(key, ())
        followed = {one.s for one in members if one.s in told.sessions and one.k in USES and one.k != "confirmed"}
        kinds = Counter(one.k for one in members if iso_day(day_of(one.id)) >= since)
        found.append(
            Effect(
                key, told.total, len(followed), since, last_use.get(key, ""), kinds["succeeded"], kinds["failed"],
                kinds["confirmed"], kinds["denied"], key in sinking,
            )
        )  # fmt: skip
    return sorted(found, key=lambda one: (-one.shown, one.pattern))


def trending(groups: Mapping[str, Iterable[Evidence]], today: date, days: int = TREND_DAYS) -> Trends:
    """Return what is used more and what less than in the stretch of days before.

    A session counts once; without a session a day does. Confirmations and all other kinds are no use.
    """
    start = (today - timedelta(days=days)).isoformat()
    before = (today - timedelta(days=2 * days)).isoformat()
    moves = []
    for key, members in groups.items():
        used: dict[bool, set[tuple[str, str]]] = {True: set(), False: set()}
        for one in members:
            if one.k not in ("observed", "succeeded"):
                continue
            day = iso_day(day_of(one.id))
            if before < day <= today.isoformat():
                used[day > start].add((one.by, one.s or day))
        moves.append(Trend(key, len(used[True]), len(used[False])))
    rises = sorted((one for one in moves if one.by > 0), key=lambda one: (-one.by, -one.now, one.pattern))
    fades = sorted((one for one in moves if one.by < 0), key=lambda one: (one.by, -one.before, one.pattern))
    return Trends(days, tuple(rises[:TREND_MOST]), tuple(fades[:TREND_MOST]))

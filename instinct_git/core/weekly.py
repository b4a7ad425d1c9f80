"""The weekly report: what came in, what proved itself, what waits for a person. Pure: evidence, a week and a day in.

Every number is a fold over the evidence that was in force by a day, so the report of a past week can be made at any
time. Weeks are ISO weeks of UTC days.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from instinct_git.core.breakers import Trip, candidate_groups
from instinct_git.core.candidates import (
    APPROVED,
    COLLECTING,
    EXPIRED,
    KINDS,
    NOMINATED,
    NUMBERS,
    PROPOSED,
    READY,
    REJECTED,
    Candidate,
    Numbers,
    fold_candidate,
)
from instinct_git.core.confidence import retracted
from instinct_git.core.dimensions import ZERO
from instinct_git.core.evidence import day_of, iso_day
from instinct_git.core.keys import describe
from instinct_git.core.model import Evidence
from instinct_git.core.pattern import PatternFile
from instinct_git.errors import InstinctError

ENDED = (APPROVED, REJECTED, EXPIRED)
OPEN = (COLLECTING, READY, NOMINATED, PROPOSED)


class Week(NamedTuple):
    """An ISO week."""

    year: int
    number: int

    @property
    def first(self) -> date:
        """Its Monday."""
        return date.fromisocalendar(self.year, self.number, 1)

    @property
    def last(self) -> date:
        """Its Sunday."""
        return date.fromisocalendar(self.year, self.number, 7)

    def __str__(self) -> str:
        return f"{self.year:04d}-W{self.number:02d}"


def week_of(day: date) -> Week:
    """Return the ISO week of a day."""
    return Week(*day.isocalendar()[:2])


def parse_week(text: str, today: date) -> Week:
    """Return the week that "2026-W13" names; empty: today's. Raises InstinctError for anything else and the future."""
    current = week_of(today)
    if not text:
        return current
    found = re.fullmatch(r"([0-9]{4})-?[Ww]([0-9]{1,2})", text.strip())
    try:
        week = Week(int(found[1]), int(found[2])) if found else None
        if week is None or week.last > date.max - timedelta(days=NUMBERS.soon_days):
            raise ValueError
    except ValueError:
        raise InstinctError(f"{text!r} is no ISO week", f"year and week, such as {current} (this week)") from None
    if week.first > today:
        raise InstinctError(f"{week} has not begun", f"this week is {current}")
    return week


class Row(NamedTuple):
    """One pattern in a section of the report; what a section does not speak of is empty."""

    pattern: str
    title: str
    kind: str = ""
    status: str = ""
    score: Decimal = ZERO
    """At the end of the week, or today."""
    before: Decimal = ZERO
    """At the end of the week before; the first score of what entered in this week."""
    successes: int = 0
    failures: int = 0
    on: str = ""
    """ISO day."""
    by: str = ""
    why: str = ""


SHOWN: Mapping[str, tuple[str, ...]] = {
    "reused": ("successes", "failures"),
    "awaiting": ("kind", "status", "score", "successes", "failures", "why"),
    "expiring": ("kind", "score", "on"),
    "expired": ("kind", "on"),
    "faded": (),
    "promoted": ("kind", "by", "on"),
    "rejected": ("kind", "by", "on", "why"),
    "rising": ("kind", "before", "score"),
    "entered": ("kind", "status", "score"),
    "held": ("on", "why"),
    "contradicting": ("why",),
    "stale": ("why",),
}
"""The sections, and the fields of a row that each speaks of besides pattern and title."""


class Waiting(NamedTuple):
    """What is not folded yet, now."""

    inbox: int = 0
    inbox_since: str = ""
    """ISO day of the oldest; empty: nothing waits."""
    recorded: int = 0
    recorded_since: str = ""
    command: str = ""
    """What would move it; empty: nothing waits."""


class Weekly(NamedTuple):
    """The report of one week."""

    week: Week
    day: date
    """What is told is true at the end of this day: the week's Sunday, or today."""
    current: bool
    """True while the week has not ended before today."""
    by_status: Mapping[str, int]
    """The pool: candidates that wait for reuse or a person, by status."""
    by_kind: Mapping[str, int]
    sections: Mapping[str, tuple[Row, ...]]
    """By the names of SHOWN."""
    trips: tuple[Trip, ...] = ()
    waiting: Waiting = Waiting()
    """Of now; nothing for a past week."""

    @property
    def size(self) -> int:
        """How many candidates are in the pool."""
        return sum(self.by_status.values())

    @property
    def worked(self) -> int:
        """Reuses of the week that worked."""
        return sum(row.successes for row in self.sections["reused"])

    @property
    def failed(self) -> int:
        """Reuses of the week that did not."""
        return sum(row.failures for row in self.sections["reused"])

    def as_json(self) -> dict[str, Any]:
        """Return the report as plain data; scores are numbers with two digits."""
        return {
            "week": str(self.week), "from": self.week.first.isoformat(), "to": self.week.last.isoformat(),
            "day": self.day.isoformat(), "pool": {"size": self.size, "by_status": dict(self.by_status), "by_kind": dict(self.by_kind)},
            "reuses": {"successes": self.worked, "failures": self.failed},
            **{name: [_plain(row, SHOWN[name]) for row in rows] for name, rows in self.sections.items()},
            "breakers": [one._asdict() for one in self.trips], "waiting": self.waiting._asdict(),
        }  # fmt: skip


def _plain(row: Row, fields: Sequence[str]) -> dict[str, Any]:
    values = {name: getattr(row, name) for name in ("pattern", "title", *fields)}
    return {name: float(value) if isinstance(value, Decimal) else value for name, value in values.items()}


def in_force(evidence: Iterable[Evidence], day: date, numbers: Numbers = NUMBERS) -> list[Evidence]:
    """Return the evidence that counted at the end of a day.

    `idle` and `expired` carry the day of the last use in their id; they are booked 30 and 60 days later.
    """
    return [one for one in evidence if _booked(one, numbers) <= day]


def _booked(one: Evidence, numbers: Numbers) -> date:
    later = numbers.idle_days if one.k == "idle" else numbers.expire_days if one.k == EXPIRED else 0
    return _day(one) + timedelta(days=later)


def _day(one: Evidence) -> date:
    return date.fromisoformat(iso_day(day_of(one.id)))


def report(
    evidence: Iterable[Evidence],
    week: Week,
    today: date,
    *,
    files: Mapping[str, PatternFile] | None = None,
    trips: Sequence[Trip] = (),
    held: Iterable[tuple[str, str, str]] = (),
    contradicting: Iterable[tuple[str, str]] = (),
    stale: Iterable[tuple[str, str]] = (),
    waiting: Waiting | None = None,
    numbers: Numbers = NUMBERS,
) -> Weekly:
    """Make a week's report out of all evidence.

    `files` give titles and the texts that are searched for bypasses; `held` is (ISO day, key, breaker) of what a
    breaker kept out, of any week; `contradicting` is (key, what it contradicts) and `stale` (key, what it cites that has
    vanished), both as they are now.
    """
    day = min(week.last, today)
    known = in_force(evidence, day, numbers)
    before = candidate_groups(in_force(known, week.first - timedelta(days=1), numbers))
    groups, files = candidate_groups(known), files or {}
    rows: dict[str, list[Row]] = {name: [] for name in SHOWN}
    pool: list[Candidate] = []
    for key, members in groups.items():
        body = files[key].body if key in files else ""
        now = fold_candidate(members, numbers, key=key, text=body)
        if now is None:
            continue
        then = fold_candidate(before.get(key, ()), numbers, key=key, text=body)
        pool += [now] if now.status in OPEN else []
        for name, row in _rows(now, then, members, week, day, numbers):
            rows[name].append(row._replace(title=_title(key, members, files)))
    rows["faded"] = _faded(known, week, files)
    inside = {(at, key, why) for at, key, why in held if week.first.isoformat() <= at <= day.isoformat()}
    rows["held"] = [Row(key, _title(key, (), files), on=at, why=why) for at, key, why in sorted(inside)]
    for name, told in (("contradicting", contradicting), ("stale", stale)):
        rows[name] = [Row(key, _title(key, (), files), why=why) for key, why in sorted(told)]
    rows["rising"] = sorted(rows["rising"], key=lambda row: (row.before - row.score, row.pattern))[: numbers.rising]
    for name, order in _ORDER.items():
        rows[name].sort(key=order)
    statuses, kinds = Counter(one.status for one in pool), Counter(one.kind for one in pool)
    return Weekly(
        week, day, today <= week.last, {name: statuses[name] for name in OPEN}, {name: kinds[name] for name in KINDS},
        {name: tuple(found) for name, found in rows.items()}, tuple(trips), waiting or Waiting(),
    )  # fmt: skip


_ORDER: Mapping[str, Any] = {
    "reused": lambda row: (-row.successes - row.failures, row.pattern),
    "awaiting": lambda row: (-row.score, row.pattern),
    "expiring": lambda row: (row.on, row.pattern),
    "entered": lambda row: (-row.score, row.pattern),
}


def _rows(
    now: Candidate, then: Candidate | None, members: Sequence[Evidence], week: Week, day: date, numbers: Numbers
) -> Iterable[tuple[str, Row]]:
    """Yield (section, row) of everything that the report says of one candidate."""
    base = Row(now.pattern, "", now.kind, now.status, now.score)
    inside = [one for one in members if _booked(one, numbers) >= week.first]
    kinds = Counter(one.k for one in inside)
    if kinds["succeeded"] or kinds["failed"]:
        yield "reused", base._replace(successes=kinds["succeeded"], failures=kinds["failed"])
    if now.status in (NOMINATED, PROPOSED) or (now.held and now.status == READY and now.score >= numbers.nominated):
        yield "awaiting", base._replace(successes=now.successes, failures=now.failures, why=now.held)
    end = date.fromisoformat(now.last_use) + timedelta(days=numbers.expire_days)
    if now.status in (COLLECTING, READY, NOMINATED) and end <= day + timedelta(days=numbers.soon_days):
        yield "expiring", base._replace(on=end.isoformat())
    if now.status == EXPIRED and week.first <= end:
        yield "expired", base._replace(on=end.isoformat())
    for section, kind in (("promoted", APPROVED), ("rejected", REJECTED)):
        answers = [one for one in inside if one.k == kind]
        if answers:
            last = answers[-1]
            given = str(last.extra.get("kind") or now.kind)
            yield (
                section,
                base._replace(kind=given, on=_day(last).isoformat(), by=last.by, why=str(last.extra.get("why", ""))),
            )
    started = then.score if then is not None else now.first_score
    if now.score > started and now.status not in (REJECTED, EXPIRED):
        yield "rising", base._replace(before=started)
    if then is None:
        yield "entered", base


def _faded(known: Sequence[Evidence], week: Week, files: Mapping[str, PatternFile]) -> list[Row]:
    gone = retracted(known)
    keys = {one.p for one in known if one.k == "faded" and one.id not in gone and one.id.endswith(f":{week}")}
    members: dict[str, list[Evidence]] = {key: [] for key in keys}
    for one in known:
        if one.p in keys and one.extra:
            members[one.p].append(one)
    return [Row(key, _title(key, members[key], files)) for key in sorted(keys)]


def _title(key: str, members: Iterable[Evidence], files: Mapping[str, PatternFile]) -> str:
    if key in files and files[key].title:
        return files[key].title
    return next((str(one.extra["title"]) for one in members if one.extra.get("title")), "") or describe(key)

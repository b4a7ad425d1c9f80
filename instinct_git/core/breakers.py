"""Breakers: what is paused or to be merged, with its limit and its measured value. Pure: evidence and a day in.

Three of them (DESIGN section 5): more than 5 new automatic candidates in a day, 3 near-duplicates, 3 rejections in a
row. A trip holds automatic candidates only: what a person asks for enters at once, and observing, consolidating and
suggesting go on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import NamedTuple

from instinct_git.core.candidates import (
    APPROVED,
    EXPIRED,
    EXPLICIT,
    IMPLICIT,
    NUMBERS,
    REJECTED,
    Numbers,
    fold_candidate,
)
from instinct_git.core.confidence import group
from instinct_git.core.duplicates import near_groups
from instinct_git.core.evidence import day_of, iso_day
from instinct_git.core.keys import CATEGORIES, category_of, split_key
from instinct_git.core.model import Evidence

DAILY, DUPLICATES, REJECTIONS = "daily", "duplicates", "rejections"


class Trip(NamedTuple):
    """One tripped breaker."""

    name: str
    """daily, duplicates or rejections."""
    limit: int
    measured: int
    until: str
    """ISO day on which it works again; empty: until the group is merged."""
    words: str
    category: str = ""
    kind: str = ""
    """What `rejections` pauses; empty: everything automatic."""
    keys: tuple[str, ...] = ()
    """The candidates concerned, sorted; for `duplicates` the group to merge."""


class Reset(NamedTuple):
    """A person's answer to a trip: what had been measured on that day counts no more."""

    name: str
    day: str
    """ISO day."""
    measured: int
    keys: tuple[str, ...] = ()
    """The candidates of the trip; empty: all of that breaker. For `duplicates` the group that says different things."""


class Admission(NamedTuple):
    """Which new automatic candidates enter today, in the order given, and which are held."""

    admitted: tuple[str, ...]
    held: tuple[str, ...]


def candidate_groups(evidence: Iterable[Evidence]) -> dict[str, list[Evidence]]:
    """Return {key: evidence in fold order} of the candidates alone, aliases joined and retractions taken out."""
    everything = list(evidence)
    wanted = {one.p for one in everything if one.k in ("candidate", "alias")}
    wanted |= {str(one.extra.get("to", "")) for one in everything if one.k == "alias"}
    groups = group([one for one in everything if one.p in wanted or one.k == "retract"])
    return {key: members for key, members in sorted(groups.items()) if any(one.k == "candidate" for one in members)}


def trip(
    evidence: Iterable[Evidence],
    today: date,
    numbers: Numbers = NUMBERS,
    *,
    held: int = 0,
    resets: Iterable[Reset] = (),
    titles: Mapping[str, str] | None = None,
) -> list[Trip]:
    """Return what is tripped on a day, by name. A function of the set of evidence.

    `held` is how many candidates were held today (a log of this clone knows), `titles` the pattern files' titles by
    key, which win over those in evidence.
    """
    groups, resets = candidate_groups(evidence), list(resets)
    tripped = _daily(groups, today, numbers, held, resets)
    tripped += _duplicates(groups, today, numbers, titles or {}, resets)
    return tripped + _rejections(groups, today, numbers, resets)


def admit(
    keys: Iterable[str],
    evidence: Iterable[Evidence],
    today: date,
    numbers: Numbers = NUMBERS,
    *,
    resets: Iterable[Reset] = (),
) -> Admission:
    """Split new automatic candidates into those the daily breaker lets enter today and those it holds."""
    groups = candidate_groups(evidence)
    new = [key for key in dict.fromkeys(keys) if key not in groups]
    room = max(0, numbers.daily - len(_entered(groups, today)) + _forgiven(resets, DAILY, today))
    return Admission(tuple(new[:room]), tuple(new[room:]))


def holds(trips: Iterable[Trip], category: str, kind: str, trigger: str) -> Trip | None:
    """Return the trip that holds a new candidate, None when it may enter. Explicit ones always may."""
    if trigger == EXPLICIT:
        return None
    return next(
        (
            one
            for one in trips
            if one.name == DAILY or (one.name == REJECTIONS and (one.category, one.kind) == (category, kind))
        ),
        None,
    )


# --- more than 5 a day ------------------------------------------------------------------------------------------------


def _entered(groups: Mapping[str, Sequence[Evidence]], today: date) -> list[str]:
    """The keys that became candidates today, by a trigger that is no person's; being explicit too takes one out."""
    found = []
    for key, members in groups.items():
        entries = [one for one in members if one.k == "candidate"]
        explicit = any(one.extra.get("x", IMPLICIT) == EXPLICIT for one in entries)
        if not explicit and iso_day(day_of(entries[0].id)) == today.isoformat():
            found.append(key)
    return found


def _forgiven(resets: Iterable[Reset], name: str, today: date) -> int:
    return max((one.measured for one in resets if one.name == name and one.day == today.isoformat()), default=0)


def _daily(
    groups: Mapping[str, Sequence[Evidence]], today: date, numbers: Numbers, held: int, resets: Sequence[Reset]
) -> list[Trip]:
    keys = _entered(groups, today)
    measured = len(keys) + held
    if measured - _forgiven(resets, DAILY, today) <= numbers.daily:
        return []
    until = (today + timedelta(days=1)).isoformat()
    words = f"{measured} new automatic candidates today, {numbers.daily} are allowed: extraction is paused until {until}; evidence is kept"
    return [Trip(DAILY, numbers.daily, measured, until, words, keys=tuple(keys))]


# --- 3 rejections in a row --------------------------------------------------------------------------------------------


def _rejections(
    groups: Mapping[str, Sequence[Evidence]], today: date, numbers: Numbers, resets: Sequence[Reset]
) -> list[Trip]:
    """Walk the answers of each category and kind by day (an approval of a day stands before its rejections).

    `numbers.rejections` in a row pause the pair from the day of the last, for `numbers.pause_days` days; a further one
    begins the pause anew. An approval ends the row, not the pause; a reset takes what it had seen out of the row.
    """
    tripped = []
    answered = [one for one in resets if one.name == REJECTIONS and one.day <= today.isoformat()]
    for (category, kind), answers in sorted(_answers(groups, numbers).items()):
        row, until, measured, told = list[tuple[str, str]](), date.min, 0, tuple[str, ...]()
        for day, rejected, _, key in sorted(answers):
            if day > today.isoformat():
                break
            row = [*row, (day, key)] if rejected else []
            forgiven = (
                min(one.measured, sum(at <= one.day and key in (one.keys or (key,)) for at, key in row))
                for one in answered
            )
            if rejected and len(row) - max(forgiven, default=0) >= numbers.rejections:
                until = date.fromisoformat(day) + timedelta(days=numbers.pause_days)
                measured, told = len(row), tuple(sorted({key for _, key in row}))
        if until > today:
            words = (
                f"{measured} rejections in a row of category {category}, kind {kind} ({numbers.rejections} pause it): "
                f"no new ones of that kind until {until.isoformat()}"
            )
            tripped.append(
                Trip(REJECTIONS, numbers.rejections, measured, until.isoformat(), words, category, kind, told)
            )
    return tripped


def _answers(
    groups: Mapping[str, Sequence[Evidence]], numbers: Numbers
) -> dict[tuple[str, str], list[tuple[str, bool, str, str]]]:
    """{(category, kind): [(ISO day, rejected, id, key)]} of all approvals and rejections."""
    found: dict[tuple[str, str], list[tuple[str, bool, str, str]]] = defaultdict(list)
    for key, members in groups.items():
        answers = [one for one in members if one.k in (APPROVED, REJECTED)]
        candidate = fold_candidate(members, numbers, key=key) if answers else None
        if candidate is None:
            continue
        given = (one.extra.get("cat") for one in members if one.extra.get("cat") in CATEGORIES)
        category = category_of(key, next(given, None) if split_key(key)[0] == "other" else None)
        for one in answers:
            pair = category, str(one.extra.get("kind") or candidate.kind)
            found[pair].append((iso_day(day_of(one.id)), one.k == REJECTED, one.id, key))
    return found


# --- 3 near-duplicates ------------------------------------------------------------------------------------------------


def _duplicates(
    groups: Mapping[str, list[Evidence]],
    today: date,
    numbers: Numbers,
    titles: Mapping[str, str],
    resets: Sequence[Reset],
) -> list[Trip]:
    alive, scores = dict[str, str](), dict[str, Decimal]()
    for key, members in groups.items():
        candidate = fold_candidate(members, numbers, key=key)
        if candidate is not None and candidate.status not in (APPROVED, REJECTED, EXPIRED):
            told = (str(one.extra["title"]) for one in members if one.extra.get("title"))
            alive[key], scores[key] = titles.get(key) or next(told, ""), candidate.score
    told_apart = [set(one.keys) for one in resets if one.name == DUPLICATES and one.day <= today.isoformat()]
    return [
        Trip(DUPLICATES, numbers.duplicates, len(keys), "", _merging(keys, scores), keys=keys)
        for keys in near_groups(alive, numbers.duplicates)
        if not any(set(keys) <= group for group in told_apart)
    ]


def _merging(keys: Sequence[str], scores: Mapping[str, Decimal]) -> str:
    """Say how to merge a group: into the one with the highest score."""
    kept = max(sorted(keys), key=lambda key: scores[key])
    commands = (f'`instinct alias "{key}" "{kept}"`' for key in keys if key != kept)
    return f"{len(keys)} candidates say the same: merge them into {kept}: {', '.join(commands)}"

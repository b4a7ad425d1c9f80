"""What qualifies enters the pool by itself, unless a breaker holds it: the end of every `learn` and `scan`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import NamedTuple

from instinct_git.core import breakers, entry
from instinct_git.core import candidates as pool
from instinct_git.core.breakers import Trip
from instinct_git.core.confidence import fold_one, group
from instinct_git.core.consolidate import Book, removed_by_person
from instinct_git.core.model import Evidence
from instinct_git.operations import breaking, noticing
from instinct_git.operations.observing import put
from instinct_git.operations.pooling import candidate_of
from instinct_git.operations.workspace import Workspace
from instinct_git.storage import breaker_log


class Entered(NamedTuple):
    """A pattern that is a candidate from now on."""

    key: str
    trigger: str
    kind: str
    score: str
    """Hundredths, as text."""
    title: str


class Held(NamedTuple):
    """A pattern that would be a candidate, and the breaker that holds it."""

    key: str
    title: str
    breaker: str
    why: str
    until: str
    """ISO day from which it can enter; a later `learn` or `scan` lets it."""


class Outcome(NamedTuple):
    """What a call wrote, and what it did to the pool."""

    evidence: tuple[Evidence, ...]
    entered: tuple[Entered, ...]
    held: tuple[Held, ...]
    """What this call brought and a breaker holds; logged."""
    waiting: int
    """How many that earlier calls brought wait for a day with room."""


def enter(space: Workspace, book: Book, fresh: Sequence[Evidence], *, dry_run: bool = False) -> Outcome:
    """Write new evidence together with the candidates that come of it; log what is held, tell the person what is
    nominated. What qualified before takes the room that is left: it trips nothing, and waits where there is none."""
    groups = group([*book.everything, *fresh]) if fresh else book.groups
    explicit = [one for one in fresh if one.k == "candidate"]
    pooled = book.pooled | {book.stands_for.get(one.p, one.p) for one in explicit}
    found = entry.wanted(groups, book.files, pooled, _silent(space, book, groups))
    brought = {book.stands_for.get(one.p, one.p) for one in fresh}
    admitted, held = _split(space, book, sorted(found, key=lambda one: one.key not in brought))
    waiting = [one for one in held if one.key not in brought]
    held = [one for one in held if one.key in brought]
    day, at = space.day(), space.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    made = [entry.candidate(o.key, o.trigger, o.kind, o.members, day, at, title=o.title) for o in admitted]
    if not dry_run:
        if fresh or made:
            put(space, [*fresh, *made])
        _log(space, held)
        _judge(space, book, [*fresh, *made])
    once = {one.p: one for one in (*made, *reversed(explicit))}  # asked for twice, it entered once
    entered = tuple(_entered(one) for one in (*explicit, *made) if once[one.p] is one)
    return Outcome((*fresh, *made), entered, tuple(held), len(waiting))


def _entered(one: Evidence) -> Entered:
    told = {name: str(one.extra.get(name, "")) for name in ("x", "kind", "score", "title")}
    return Entered(one.p, told["x"], told["kind"], told["score"], told["title"])


def _silent(space: Workspace, book: Book, groups: dict[str, list[Evidence]]) -> set[str]:
    """Keys that have faded, and those whose file a person removed."""
    policy, silent = space.config().policy, set[str]()
    for key, members in groups.items():
        tally, file = fold_one(members, policy), book.files.get(key)
        if tally.total + (file.offset if file else 0) <= 0 or removed_by_person(book, key, tally):
            silent.add(key)
    return silent


def _split(space: Workspace, book: Book, found: Sequence[entry.Wanted]) -> tuple[list[entry.Wanted], list[Held]]:
    """Part what may enter today from what a breaker holds."""
    if not found:
        return [], []
    today = space.now().date()
    tomorrow = (today + timedelta(days=1)).isoformat()
    trips = breaking.state(space, book)
    free: list[entry.Wanted] = []
    held: list[Held] = []
    same = _same(space, book, found)
    for one in found:
        if one.key in same:
            held.append(Held(one.key, one.title, breakers.DUPLICATES, says_the_same(one.key, same[one.key]), ""))
            continue
        trip = breakers.holds(trips, one.category, one.kind, one.trigger)
        if trip is None:
            free.append(one)
        else:
            held.append(_held(one, trip.name, trip))
    resets = breaking.resets_of(breaker_log.read(space.place))
    let = set(breakers.admit((one.key for one in free), book.everything, today, resets=resets).admitted)
    limit = f"{pool.NUMBERS.daily} new automatic candidates a day are enough"
    held += [Held(one.key, one.title, breakers.DAILY, limit, tomorrow) for one in free if one.key not in let]
    return [one for one in free if one.key in let], held


def _same(space: Workspace, book: Book, found: Sequence[entry.Wanted]) -> dict[str, str]:
    """Return {key: the candidate that says the same already} of what would enter; of two new ones the first enters."""
    from instinct_git.core.duplicates import alike
    from instinct_git.operations.comparing import titles

    known = {key: title for key, title in titles(space, book).items() if key in book.pooled}
    order = {one.key: number for number, one in enumerate(found)}
    near = alike(order, {**known, **{one.key: one.title for one in found}})
    same: dict[str, str] = {}
    for key in order:
        others = [other for other in near.get(key, ()) if order.get(other, -1) < order[key] and other not in same]
        if others:
            same[key] = others[0]
    return same


def says_the_same(key: str, other: str) -> str:
    """Say why a near-duplicate is no candidate of its own, and what a person can do."""
    from instinct_git.operations.comparing import joining

    return f"{other} says the same: `{joining(key, other)}` joins them, `instinct remember` takes it as another one"


def _held(one: entry.Wanted, name: str, trip: Trip) -> Held:
    return Held(one.key, one.title, name, trip.words, trip.until)


def _log(space: Workspace, held: Iterable[Held]) -> None:
    today = space.now().date().isoformat()
    known = {(one.day, one.name, one.key) for one in breaker_log.read(space.place) if one.what == breaker_log.HELD}
    new = [one for one in held if (today, one.breaker, one.key) not in known]
    breaker_log.add(space.place, [breaker_log.Entry(today, breaker_log.HELD, o.breaker, o.key) for o in new])


def _judge(space: Workspace, before: Book, written: Iterable[Evidence]) -> None:
    """Let every candidate that new evidence is about be told to the person, where it crossed a threshold."""
    keys = {before.stands_for.get(one.p, one.p) for one in written}
    if not keys:
        return
    after, _ = space.read()
    for key in sorted(keys & after.pooled):
        noticing.crossed(space, candidate_of(before, key), candidate_of(after, key))

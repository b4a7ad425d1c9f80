"""The breakers of one memory: what is tripped now, and a person's answer to it."""

from __future__ import annotations

import getpass
from collections.abc import Iterable
from datetime import date
from typing import TYPE_CHECKING

from instinct_git.core.breakers import DAILY, DUPLICATES, REJECTIONS, Reset, Trip, trip
from instinct_git.core.dimensions import NUMBERS
from instinct_git.core.weekly import in_force
from instinct_git.errors import InstinctError
from instinct_git.operations.observing import one_line
from instinct_git.operations.workspace import Workspace, refuse_secrets
from instinct_git.storage import breaker_log
from instinct_git.storage.breaker_log import HELD, RESET, Entry

if TYPE_CHECKING:
    from instinct_git.core.consolidate import Book
    from instinct_git.core.model import Evidence

NAMES = (DAILY, DUPLICATES, REJECTIONS)


def state(space: Workspace, book: Book, day: date | None = None) -> list[Trip]:
    """Return what is tripped today, resets and what was held included; with `day`, what was at the end of that day."""
    log, today = breaker_log.read(space.place), day or space.now().date()
    evidence = in_force(book.everything, today) if day else book.everything
    titles = {key: file.title for key, file in book.files.items() if file.title}
    held = len(_held(log, book, evidence, today))
    return trip(evidence, today, NUMBERS, held=held, resets=resets_of(log), titles=titles)


def held_today(space: Workspace, book: Book) -> list[str]:
    """Return the keys that the daily breaker held today and that have not entered since, sorted."""
    return _held(breaker_log.read(space.place), book, book.everything, space.now().date())


def held(space: Workspace) -> list[tuple[str, str, str]]:
    """Return (ISO day, key, breaker) of everything that was ever held in this clone."""
    return [(one.day, one.key, one.name) for one in breaker_log.read(space.place) if one.what == HELD]


def resets_of(log: Iterable[Entry]) -> list[Reset]:
    """Return the log's resets in the words of the core."""
    return [
        Reset(one.name, one.day, one.measured, tuple(one.key.split("\n")) if one.key else ())
        for one in log
        if one.what == RESET
    ]


def _held(log: Iterable[Entry], book: Book, evidence: Iterable[Evidence], today: date) -> list[str]:
    found = {one.key for one in log if (one.what, one.name, one.day) == (HELD, DAILY, today.isoformat())}
    entered = {book.stands_for.get(one.p, one.p) for one in evidence if one.k == "candidate"} if found else set()
    return sorted(key for key in found if book.stands_for.get(key, key) not in entered)


def reset(space: Workspace, name: str, why: str) -> list[Trip]:
    """Answer every trip of a breaker: what it measured counts no more. Returns those trips; the log keeps who and why.

    Raises InstinctError without a reason, and when no breaker of that name is tripped.
    """
    why = one_line(why, "reason")
    if not why:
        raise InstinctError("a reset needs a reason", f'instinct breakers reset {name} --why "they differ, because"')
    refuse_secrets([("the reason", why)])
    book, _ = space.read()
    trips = state(space, book)
    answered = [one for one in trips if one.name == name]
    if not answered:
        tripped = ", ".join(dict.fromkeys(one.name for one in trips)) or "none"
        what = "is not tripped" if name in NAMES else "is no breaker"
        raise InstinctError(f"{name!r} {what}", f"tripped now: {tripped}; breakers: {', '.join(NAMES)}")
    by, today = _person(space), space.now().date().isoformat()
    breaker_log.add(
        space.place, [Entry(today, RESET, name, "\n".join(one.keys), one.measured, why, by) for one in answered]
    )
    return answered


def _person(space: Workspace) -> str:
    """The person's name as git knows it, else the account's; it stays in this clone."""
    repository = space.repository()
    name = repository.ask("config", "user.name").text.strip() if repository is not None else ""
    if name:
        return name
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""


def rows(space: Workspace) -> list[tuple[str, str, str, str]]:
    """Return what `doctor` says: (topic, state, words, hint), one row a trip, or one that says that there is none."""
    book, _ = space.read()
    found = state(space, book)
    if not found:
        return [("breakers", "ok", "none is tripped", "")]
    return [(f"breaker {one.name}", "problem", one.words, answer_to(one)) for one in found]


def answer_to(one: Trip) -> str:
    """Say how a person answers a trip that is none to them."""
    return f'`instinct breakers reset {one.name} --why "..."` where that is as it should be'

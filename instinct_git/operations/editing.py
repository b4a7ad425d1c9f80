"""A person's verbs on one pattern file: retire and restore. One file, one commit."""

from __future__ import annotations

from instinct_git.core.audit import committed
from instinct_git.core.caps import restored, taken_back
from instinct_git.core.confidence import fold_one, level_of
from instinct_git.core.consolidate import Book, removed_by_person
from instinct_git.core.document import MachineLines, new_text, with_field
from instinct_git.core.keys import category_of, normalise_key, split_key
from instinct_git.core.model import ACTIVE, RETIRED, Tally
from instinct_git.errors import InstinctError, UnknownPattern
from instinct_git.operations.batches import change_file
from instinct_git.operations.observing import Draft, evidence_of, put
from instinct_git.operations.workspace import Workspace, near


def retire(space: Workspace, key: str, *, commit: bool = True) -> str:
    """Set a pattern's status to retired and commit the file. Its evidence goes on being counted, silently."""
    key = normalise_key(key)
    return change_file(space, lambda book: _retired(book, key), f"instinct: retire {key}", commit=commit)


def restore(space: Workspace, key: str, *, commit: bool = True) -> str:
    """Make a retired pattern active again, or write the file that a person deleted or `gc` removed anew, and commit it.

    What `gc` took back is retracted: the whole confidence counts again, and `gc` leaves the pattern alone from now on.
    """
    key = normalise_key(key)
    book, _ = space.read()
    if key not in book.files and (ids := taken_back(book, key)):
        if book.free_path(key) is None:
            raise InstinctError(f"where {key!r} belongs stands a file that cannot be read", "`instinct check` names it")
        put(space, [evidence_of(space, Draft(key, kind="retract", extra={"to": one})) for one in ids])
    return change_file(space, lambda book: _restored(space, book, key), f"instinct: restore {key}", commit=commit)


def _retired(book: Book, key: str) -> tuple[str, str]:
    pattern = book.files.get(key)
    if pattern is None:
        _refuse_unknown(book, key)
        raise UnknownPattern(f"{key!r} has no file yet", "run `instinct consolidate` first, then retire it")
    if pattern.status == RETIRED:
        raise InstinctError(f"{key!r} is retired already", "`instinct restore` takes it back")
    return pattern.path, with_field(pattern.text, "status", RETIRED, pattern.path)


def _restored(space: Workspace, book: Book, key: str) -> tuple[str, str]:
    pattern = book.files.get(key)
    if pattern is not None:
        if pattern.status == ACTIVE:
            raise InstinctError(f"{key!r} is active", "there is nothing to restore")
        return pattern.path, with_field(pattern.text, "status", ACTIVE, pattern.path)
    _refuse_unknown(book, key)
    policy = space.config().policy
    tally = book.tallies(policy).get(key, Tally())
    path = book.free_path(key)
    back = key in restored(book) or removed_by_person(book, key, tally)
    if not back or tally.total == 0 or path is None:
        raise InstinctError(f"{key!r} was not deleted by a person", "`instinct consolidate` brings it up to date")
    category = category_of(key, (tally.category or None) if split_key(key)[0] == "other" else None)
    # What waits in the inbox is no part of a committed number (law 4): the next batch adds it.
    total = fold_one(committed(book).get(key, []), policy).total
    machine = MachineLines(
        key,
        category,
        total,
        total,
        level_of(total, 0, book.groups.get(key, ()), policy),
        tally.first_seen,
        tally.last_seen,
        tally.sources,
        None,
        tally.sessions,
    )
    return path, new_text(machine, title=tally.title, description=tally.description, metadata=tally.metadata)


def _refuse_unknown(book: Book, key: str) -> None:
    stands_for = book.stands_for.get(key, key)
    if stands_for != key:
        raise InstinctError(
            f"{key!r} counts as {stands_for!r} (alias)", "name that one; `instinct explain` shows the alias"
        )
    if key not in book.groups:
        raise UnknownPattern(f"there is no pattern {key!r}", near(key, book.files.keys() | book.groups.keys()))

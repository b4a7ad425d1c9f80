"""Patterns held against each other: near-duplicates, families of sequences, contradictions; and what they stand in the
way of."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from instinct_git.core import duplicates, families, memory_file
from instinct_git.core.audit import WARNING
from instinct_git.core.candidates import REJECTED
from instinct_git.core.consolidate import Book, removed_by_person
from instinct_git.core.contradictions import Contradiction, Statement, contradictions, of_key
from instinct_git.core.document import front_matter
from instinct_git.core.keys import normalise_key
from instinct_git.core.model import RETIRED, Tally
from instinct_git.core.pattern import Finding
from instinct_git.errors import InstinctError, InvalidDocument
from instinct_git.operations.pooling import candidate_of
from instinct_git.operations.workspace import Workspace
from instinct_git.storage.search_sources import document_paths

MOST_NEW = 20
"""New files that a batch compares with all others; `duplicates` compares any number."""


class Group(NamedTuple):
    """Patterns that say the same."""

    keys: tuple[str, ...]
    """The one to keep first (the most evidence), then sorted."""
    reason: str
    commands: tuple[str, ...]
    """What joins the others to the first."""


class Compared(NamedTuple):
    """What `duplicates` found."""

    groups: tuple[Group, ...]
    families: tuple[families.Family, ...]
    """Sequences that contain each other: nothing has to be joined, the longest proven one speaks."""
    contradictions: tuple[Contradiction, ...]


def compare(space: Workspace) -> Compared:
    """Hold all patterns of a memory against each other, what waits in the inbox included."""
    book, _ = space.read()
    live = _live(space, book)
    known = titles(space, book)
    groups = [_group(one, live) for one in duplicates.near_duplicates({key: known[key] for key in live})]
    found = families.groups({key: number for key, number in live.items() if key.startswith("seq:")},
                            space.config().policy.mature)  # fmt: skip
    return Compared(tuple(groups), tuple(found), tuple(contradicting(space, book)))


def _group(one: duplicates.Group, live: dict[str, int]) -> Group:
    kept = max(sorted(one.keys), key=lambda key: live[key])
    others = tuple(key for key in one.keys if key != kept)
    return Group((kept, *others), one.reason, tuple(joining(key, kept) for key in others))


def joining(old: str, new: str) -> str:
    """Return the command that joins two keys, as a shell takes it."""
    return f"instinct alias {shlex.quote(old)} {shlex.quote(new)}"


def alike(space: Workspace, keys: Iterable[str], book: Book | None = None) -> dict[str, list[str]]:
    """Return {key: the other patterns that say the same} of some keys, retired ones included: their answer stands."""
    book = book or space.read()[0]
    known = {key: title for key, title in titles(space, book).items() if book.stands_for.get(key, key) == key}
    wanted = [book.stands_for.get(key, key) for key in keys]
    return duplicates.alike(wanted, {**known, **{key: known.get(key, "") for key in wanted}})


def titles(space: Workspace, book: Book) -> dict[str, str]:
    """Return {key: title} of every pattern: its file's, else the first that came with evidence; empty: neither has one."""
    found = {key: tally.title for key, tally in book.tallies(space.config().policy).items()}
    return {**found, **{key: file.title or found.get(key, "") for key, file in book.files.items()}}


def new_and_alike(space: Workspace, book: Book, new: Sequence[str]) -> tuple[str, ...]:
    """Return the notices of a batch on new pattern files that say what another pattern says."""
    if not new:
        return ()
    if len(new) > MOST_NEW:
        return (f"{len(new)} new patterns: `instinct duplicates` tells which of them say the same as another one",)
    found = alike(space, new, book)
    return tuple(
        f"{key} is new and says the same as {others[0]}: `{joining(key, others[0])}` joins them"
        for key, others in sorted(found.items())
        if not (others[0] in found and key < others[0])  # of two new ones the later is joined to the earlier
    )


def _live(space: Workspace, book: Book) -> dict[str, int]:
    """Return {key: live confidence} of what can be followed: not retired, rejected, faded, joined or removed."""
    tallies = book.tallies(space.config().policy)
    found = {}
    for key in sorted(book.files.keys() | book.groups.keys()):
        file, tally = book.files.get(key), tallies.get(key, Tally())
        number = tally.total + (file.offset if file else 0)
        if number <= 0 or (file is not None and file.status == RETIRED) or book.stands_for.get(key, key) != key:
            continue
        if file is None and removed_by_person(book, key, tally):
            continue
        candidate = candidate_of(book, key) if key in book.pooled else None
        if candidate is None or candidate.status != REJECTED:
            found[key] = number
    return found


# --- contradictions -----------------------------------------------------------------------------------------------------


def contradicting(space: Workspace, book: Book | None = None) -> list[Contradiction]:
    """Return what contradicts what among the live patterns, the approved skills and procedures, and MEMORY.md."""
    book = book or space.read()[0]
    known, tallies = titles(space, book), book.tallies(space.config().policy)
    said = [
        Statement(
            key,
            known[key],
            (book.files[key].description if key in book.files else "")
            or (tallies[key].description if key in tallies else ""),
        )
        for key in _live(space, book)
    ]
    return contradictions([*said, *_approved(space, book)])


def _approved(space: Workspace, book: Book) -> Iterator[Statement]:
    """What a person has approved; a pattern that became it speaks for itself."""
    root = space.place.root
    known = {file.graduated_to for file in book.files.values()}
    for name in document_paths(root):
        path = root / name
        if name not in known:
            called = path.parent.name if path.name == "SKILL.md" else path.stem
            yield Statement(name, called, _told(_text(path)))
    titles = {file.title for file in book.files.values() if file.graduated_to}
    for line in _lines(_text(root / memory_file.PATH)):
        if not any(title and title in line for title in titles):
            yield Statement(memory_file.PATH, line)


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""


def _told(text: str) -> str:
    try:
        return str(front_matter(text).get("description", ""))
    except InvalidDocument:
        return ""  # `check` names what is wrong with it


def _lines(text: str) -> list[str]:
    try:
        return memory_file.sayings(text)
    except InvalidDocument:
        return []


def findings(space: Workspace, book: Book) -> list[Finding]:
    """Return what `check` says of contradictions: a warning each, for a person to choose."""
    found = []
    for one in contradicting(space, book):
        file = next((book.files[key] for key in one.keys if key in book.files), None)
        path = file.path if file else next((key for key in one.keys if key.endswith(".md")), ".instinct")
        found.append(Finding("contradiction", path, f"{', '.join(one.keys)}: {one.reason}; {choose(one)}", WARNING))
    return found


def choose(one: Contradiction) -> str:
    """Say how a person answers a contradiction."""
    patterns = [key for key in one.keys if not key.endswith(".md")]
    ways = [f"`instinct retire {shlex.quote(key)}`" for key in patterns]
    others = [key for key in one.keys if key.endswith(".md")]
    return " or ".join([*ways, *(f"change {key}" for key in others)]) + " settles it"


def refuse_contradicted(space: Workspace, keys: Sequence[str], over: Sequence[str]) -> tuple[str, ...]:
    """Raise InstinctError where something contradicts what is proposed and the person did not name it in `over`.

    Returns the words on what they chose. Raises InstinctError, too, for a name that contradicts nothing.
    """
    book, _ = space.read()
    asked = {book.stands_for.get(key, key) for key in map(normalise_key, keys)}
    chosen = {book.stands_for.get(key, key) for key in over}
    found = contradicting(space, book)
    against = {(key, other): one for key in sorted(asked) for other, one in of_key(found, key)}
    for (key, other), one in against.items():
        if other not in chosen:
            raise InstinctError(
                f"{key!r} contradicts {other!r}: {one.reason}",
                f"a person chooses: {choose(one)}, or `instinct propose {shlex.quote(key)} --over {shlex.quote(other)}`"
                if other not in asked
                else f"a person chooses: {choose(one)}, or propose one of them",
            )
    idle = sorted(chosen - {other for _, other in against})
    if idle:
        raise InstinctError(f"{idle[0]!r} contradicts nothing that is proposed", "leave --over out")
    return tuple(f"proposed over {other}, which says the opposite: {one.reason}" for (_, other), one in against.items())

"""Staleness: patterns, skills and procedures held against the project's working tree, and the judgement kept for suggest."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from instinct_git.core.audit import NOTICE, WARNING
from instinct_git.core.consolidate import Book
from instinct_git.core.evidence import day_of, iso_day
from instinct_git.core.keys import split_key
from instinct_git.core.model import RETIRED
from instinct_git.core.pattern import Finding
from instinct_git.core.staleness import CHANGED, MISSING, VANISHED, Stale, Subject, citations, stale
from instinct_git.operations.workspace import Workspace
from instinct_git.storage import changes, files
from instinct_git.storage.files import Place
from instinct_git.storage.search_sources import document_paths


class Aged(NamedTuple):
    """What no longer stands on the ground that it was learned on."""

    stale: tuple[Stale, ...]
    moved: Mapping[str, str]
    """{vanished path: where a file of its name is now}."""
    base: str = ""
    """The folder that cited paths are below."""

    @property
    def vanished(self) -> dict[str, tuple[str, ...]]:
        """{key: what it cites that has vanished}: what is suggested after the others."""
        found: dict[str, tuple[str, ...]] = {}
        for one in self.stale:
            if one.what == VANISHED:
                found[one.key] = (*found.get(one.key, ()), one.cited)
        return found


def aged(space: Workspace, folder: Path, book: Book | None = None) -> Aged | None:
    """Return what is stale of a memory; None for one that belongs to no project's files.

    `folder` is where the user stands: a private memory is kept elsewhere and is held against that project.
    """
    ground_place = _project(space.place, folder)
    if ground_place is None:
        return None
    book = book or space.read()[0]
    uses = _last_uses(space, book)
    subjects = [*_patterns(book, uses), *_approved(space, book, uses)]
    paths = {path for one in subjects for path in one.cited.paths}
    if not any(one.cited.paths or one.cited.names for one in subjects):
        return Aged((), {}, str(ground_place.root))
    since = min((one.since for one in subjects if one.since), default="")
    found = stale(subjects, changes.ground(ground_place, paths, since))
    gone = [one.cited for one in found if one.what == VANISHED and one.cited in paths]
    return Aged(tuple(found), changes.moved_to(ground_place, gone), str(ground_place.root))


def _project(place: Place, folder: Path) -> Place | None:
    """Return the folder whose files a memory speaks of."""
    if place.scope == files.PROJECT:
        return place
    if place.scope != files.PRIVATE:
        return None
    top, git_dir, common_dir = files.find_repository(folder)
    return None if top is None else Place(top, files.PROJECT, place.home, top, git_dir, common_dir)


def _last_uses(space: Workspace, book: Book) -> dict[str, tuple[str, bool]]:
    """Return {key with a file: (ISO day of its last use, what waits included; whether a person confirmed it that day)}."""
    tallies = book.tallies(space.config().policy)
    found = {}
    for key, file in book.files.items():
        last = max(file.last_seen, tallies[key].last_seen if key in tallies else "")
        members = book.groups.get(key, ())
        found[key] = last, any(one.k == "confirmed" and iso_day(day_of(one.id)) == last for one in members)
    return found


def _patterns(book: Book, uses: Mapping[str, tuple[str, bool]]) -> Iterator[Subject]:
    for key, file in sorted(book.files.items()):
        if file.status != RETIRED and file.confidence > 0:
            _, body = split_key(key)
            text = "\n".join((file.title, file.description, body, file.body))
            code = "\n".join([*_texts(file.metadata), body.rpartition("=")[2], *body.split("->")])
            yield Subject(key, file.path, uses[key][0], citations(text, code), uses[key][1])


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _texts(one)


def _approved(space: Workspace, book: Book, uses: Mapping[str, tuple[str, bool]]) -> list[Subject]:
    """Skills and procedures, since the last evidence of the pattern that became them, else since their last commit."""
    root = space.place.root
    names = document_paths(root)
    if not names:
        return []
    by_path = {file.graduated_to: file for file in book.files.values() if file.graduated_to}
    orphans = [name for name in names if name not in by_path or not uses[by_path[name].key][0]]
    repository = space.repository()
    days = changes.last_days(repository, orphans) if repository is not None and orphans else {}
    subjects = []
    for name in names:
        file = by_path.get(name)
        since, confirmed = uses[file.key] if file else ("", False)
        cited = citations(_read(root / name))
        subjects.append(Subject(file.key if file else name, name, since or days.get(name, ""), cited, confirmed))
    return subjects


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""


def findings(found: Aged) -> Iterable[Finding]:
    """Return what `check --stale` says: a warning for what has vanished, a notice for what has changed."""
    for one in found.stale:
        where = found.moved.get(one.cited, "")
        yield Finding("stale" if one.what == VANISHED else one.what, one.path, words(one, where), _SEVERITY[one.what])


_SEVERITY = {VANISHED: WARNING, CHANGED: NOTICE, MISSING: NOTICE}


def words(one: Stale, where: str = "") -> str:
    """Say what has become of what a pattern cites, and what a person can do."""
    since = f" (last evidence {one.since})" if one.since else ""
    now = f", {where} is there now" if where else ""
    if one.what == MISSING:
        return f"{one.key} cites {one.cited}, which is not here{now}; no history here tells whether it was"
    if one.what == CHANGED:
        return f"{one.key} cites {one.cited}, which has changed on {one.at}{since}"
    on = f" on {one.at}" if one.at else ""
    key = shlex.quote(one.key)
    still = f"still right: `instinct feedback {key} --confirm`; no more: `instinct retire {key}`"
    if one.key == one.path:
        still = "bring the file up to date, or take it out"
    return f"{one.key} cites {one.cited}, which has vanished{on}{now}{since}; {still}"

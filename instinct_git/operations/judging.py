"""What lowers a suggestion, judged when there is time and kept for `suggest`, which has none: stale, never followed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from instinct_git.core.consolidate import Book
from instinct_git.core.effect import Effect, Tellings, effects, never_followed, tellings
from instinct_git.errors import InstinctError
from instinct_git.operations.workspace import Workspace
from instinct_git.storage import index, judged, shown
from instinct_git.storage.files import PROJECT
from instinct_git.storage.judged import Judged

if TYPE_CHECKING:
    from instinct_git.operations.staling import Aged


def told(space: Workspace, book: Book) -> tuple[dict[str, Tellings], dict[str, str]]:
    """Return ({key: how often this clone showed it}, {key: ISO day of its last use, by anybody})."""
    tallies = book.tallies(space.config().policy)
    uses = {key: tally.last_seen for key, tally in tallies.items() if tally.last_seen}
    return tellings(shown.read(space.place), book.stands_for), uses


def effect(space: Workspace) -> list[Effect]:
    """Return what suggesting did, the most shown first; what sinks is kept for `suggest`."""
    book, _ = space.read()
    counts, uses = told(space, book)
    _keep(space, judged.read(space.place)._replace(sinks=frozenset(never_followed(counts, uses))))
    return effects(counts, book.groups, uses)


def keep(space: Workspace, aged: Aged) -> None:
    """Keep what is stale for `suggest`."""
    _keep(space, judged.read(space.place)._replace(stale=aged.vanished, base=aged.base))


def refresh(space: Workspace, *, stale: bool) -> None:
    """Judge anew after a batch: what sinks by the pattern files alone, and with `stale` what has vanished, which asks git.
    Never fails: without it only the order of suggestions is older."""
    try:
        found = judged.read(space.place)
        counts = tellings(shown.read(space.place))
        if counts:
            files, _ = index.patterns(space.place)
            uses = {file.key: file.last_seen for file in files}
            found = found._replace(sinks=frozenset(never_followed(counts, uses)))
        if stale:
            from instinct_git.operations.staling import aged

            aging = aged(space, space.place.root) if space.place.scope == PROJECT else None
            found = found._replace(stale=aging.vanished, base=aging.base) if aging is not None else found
        _keep(space, found)
    except (InstinctError, OSError):
        return


def _keep(space: Workspace, found: Judged) -> None:
    if found != judged.read(space.place) or found.stale:
        judged.write(space.place, found)

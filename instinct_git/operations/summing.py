"""`stats --session`: one session of this clone in sum, from its evidence and from what hooks have noted of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable

from instinct_git.bridges.places import AGENTS
from instinct_git.core.consolidate import Book
from instinct_git.core.entry import session_code
from instinct_git.core.evidence import EvidenceSet
from instinct_git.core.model import Evidence
from instinct_git.core.report import waiting_words
from instinct_git.core.session import Known, Summary, changes, of_session
from instinct_git.errors import InstinctError
from instinct_git.operations.workspace import Workspace
from instinct_git.storage import inbox, sessions, store
from instinct_git.storage.files import Place

LAST = "last"
SHOWN = 5
"""Ids that an error names."""


def sum_up(space: Workspace, session: str) -> Summary:
    """Sum up the last session, or the one with this id (its beginning is enough). Raises InstinctError for an unknown one."""
    book, _ = space.read()
    known = _known(space.place, session)
    everything = _with_times(space.place, book)
    codes = frozenset(_codes(space.place, known or Known(session)))
    if known is None:
        known, codes = _by_evidence(everything, session, codes)
    others = {code for one in sessions.latest(space.place) if one != known.session
              for code in _codes(space.place, Known(one))}  # fmt: skip
    mine = of_session(everything, known, codes, others)
    policy, settings = space.config().policy, space.config()
    moved = changes(book.groups, book.files, {one.id for one in mine}, policy)
    unfolded = [book.everything.by_id[one] for one in book.tree_ids - book.ledger_ids]
    words, step = waiting_words(book.waiting, unfolded, settings["consolidate"])
    agent = known.agent or next((one.by for one in mine if one.by), "")
    return Summary(
        known.session, agent, known.began, known.ended, dict(sorted(Counter(one.k for one in mine).items())), moved,
        tuple(one for one in moved if one.rose), known.told, known.tokens, words, step, _undecided(space, book), known.end,
    )  # fmt: skip


def _known(place: Place, session: str) -> Known | None:
    """What hooks have noted of a session; None where they have not."""
    ids = sessions.latest(place)
    if session == LAST:
        found = ids[:1]
    else:
        found = [one for one in ids if one == session] or [one for one in ids if session and one.startswith(session)]
        if len(found) > 1:
            raise InstinctError(f"several sessions begin with {session!r}", f"such as {', '.join(found[:SHOWN])}")
    return sessions.read(place, found[0]) if found else None


def _codes(place: Place, known: Known) -> Iterable[str]:
    """What evidence may carry for a session: learned from its transcript, or sent with its id."""
    yield inbox.session_code(place, known.session)
    for agent in dict.fromkeys((known.agent, *AGENTS, "cursor")):
        yield session_code(agent, known.session)


def _by_evidence(everything: Iterable[Evidence], session: str, codes: Container[str]) -> tuple[Known, frozenset[str]]:
    """A session that no hook has seen: the one whose evidence came last, or whose evidence carries one of these codes."""
    carrying = [one for one in everything if one.s]
    if session == LAST:
        found = max(carrying, key=lambda one: (one.at, one.id), default=None)
    else:
        found = next((one for one in carrying if one.s == session or one.s in codes), None)
    if found is None:
        what = "no session is known here" if session == LAST else f"no session {session!r} is known here"
        raise InstinctError(what, "hooks note sessions (`instinct install`); `--session last` takes the last one")
    return Known(found.s, found.by), frozenset({found.s})


def _with_times(place: Place, book: Book) -> list[Evidence]:
    """All evidence, with the times of day that this clone still has."""
    noted = EvidenceSet(book.everything)
    noted.update(one for one in store.noted(place) if one.id in book.everything)
    return list(noted)


def _undecided(space: Workspace, book: Book) -> tuple[str, ...]:
    from instinct_git.operations.pooling import candidates

    return tuple(one.pattern for one in candidates(space, ready=True)) if book.groups else ()

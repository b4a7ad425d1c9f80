"""Two keys for one thing, and evidence that should never have been: `alias` and `retract`, both evidence themselves."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from instinct_git.core.confidence import representatives, retracted
from instinct_git.core.evidence import iso_day
from instinct_git.core.keys import normalise_key
from instinct_git.core.model import Evidence
from instinct_git.core.report import live_confidence
from instinct_git.errors import InstinctError, UnknownPattern
from instinct_git.operations.noticing import crossed
from instinct_git.operations.observing import Draft, evidence_of, put
from instinct_git.operations.pooling import candidate_of
from instinct_git.operations.workspace import Workspace, near

if TYPE_CHECKING:
    from instinct_git.core.consolidate import Book


class Joined(NamedTuple):
    """What an alias did."""

    pattern: str
    """The key that was joined to another one."""
    to: str
    """The key that stands for both from now on."""
    id: str
    """The alias's own id: `instinct retract ID` parts them again."""
    live: int
    """Confidence of `to` with everything that waits."""


class Retracted(NamedTuple):
    """What a retraction took out."""

    retracted: str
    """The id that counts no more."""
    pattern: str
    kind: str
    id: str
    """The retraction's own id."""
    live: int
    """Confidence of the pattern with everything that waits."""


def alias(space: Workspace, old: str, new: str, *, why: str | None = None, source: str = "") -> Joined:
    """Let evidence about `old` count for `new`, wherever it came or will come from. Nothing is rewritten.

    Raises UnknownPattern, whose hint names near keys, for a key that nothing is known about, and InstinctError where
    the two are joined already or an earlier alias of `old` would win.
    """
    old, new = normalise_key(old), normalise_key(new)
    book, _ = space.read()
    for key in (old, new):
        _refuse_unknown(book, key)
    before = book.stands_for
    if before.get(old, old) == before.get(new, new):
        raise InstinctError(
            f"{old!r} and {new!r} are one already: both count as {before.get(old, old)!r}", f'`instinct show "{new}"`'
        )
    drawn = evidence_of(space, Draft(old, source=source, note=why, kind="alias", extra={"to": new}))
    after = representatives([*_aliases(book), drawn])
    if after.get(old, old) != after.get(new, new):
        ids = ", ".join(one.id for one in _aliases(book) if one.p == old)
        raise InstinctError(
            f"{old!r} is an alias of {before[old]!r}, which would win over {new!r}", f"`instinct retract {ids}` first"
        )
    (written,) = put(space, [drawn])
    to = after.get(old, old)
    _tell(space, book, [old, new, to])
    return Joined(old, to, written.id, _live(space, to))


def retract(space: Workspace, evidence_id: str, *, why: str | None = None, source: str = "") -> Retracted:
    """Take one piece of evidence out, before any cap, wherever it is or turns up again.

    Raises InstinctError for an id that nothing is known about (the hint names near ones) or that is retracted already.
    """
    book, _ = space.read()
    evidence_id = evidence_id.strip()
    target = book.everything.by_id.get(evidence_id)
    if target is None:
        raise InstinctError(f"there is no evidence {evidence_id!r}", _near_ids(book, evidence_id))
    if evidence_id in retracted(book.everything):
        raise InstinctError(f"{evidence_id} is retracted already", f'`instinct explain "{target.p}"`')
    if target.k == "retract":
        raise InstinctError("a retraction cannot be retracted", "give the evidence again: `instinct observe KEY`")
    (written,) = put(
        space, [evidence_of(space, Draft(target.p, source=source, note=why, kind="retract", extra={"to": evidence_id}))]
    )
    _tell(space, book, [target.p, str(target.extra.get("to", target.p)) if target.k == "alias" else target.p])
    return Retracted(evidence_id, target.p, target.k, written.id, _live(space, target.p))


def _tell(space: Workspace, before: Book, keys: Iterable[str]) -> None:
    """Let the person be told where joined or parted evidence moved a candidate over a threshold, or back."""
    after, _ = space.read()
    for key in sorted({stands.get(key, key) for key in keys for stands in (before.stands_for, after.stands_for)}):
        crossed(space, candidate_of(before, key), candidate_of(after, key))


def _live(space: Workspace, key: str) -> int:
    book, _ = space.read()
    key = book.stands_for.get(key, key)
    file = book.files.get(key)
    return live_confidence(file.offset if file else 0, book.tallies(space.config().policy).get(key))


def _aliases(book: Book) -> list[Evidence]:
    gone = retracted(book.everything)
    return [one for one in book.everything if one.k == "alias" and one.id not in gone]


def _refuse_unknown(book: Book, key: str) -> None:
    known = book.files.keys() | book.groups.keys() | book.stands_for.keys()
    if key not in known:
        raise UnknownPattern(f"there is no pattern {key!r}", near(key, known))


def _near_ids(book: Book, text: str) -> str:
    """Name the ids nearest to a mistyped one; for a key, say where its ids stand."""
    import difflib

    key = text if text in book.groups or text in book.files else ""
    close = [] if key else difflib.get_close_matches(text, book.everything.by_id, n=3, cutoff=0.75)
    told = [
        f"{one.id} ({one.k}, {one.p}, {iso_day(one.id[:8])})" if one.id[:8].isdigit() else one.id
        for one in map(book.everything.by_id.__getitem__, close)
    ]
    return f"did you mean {', '.join(told)}?" if told else f'`instinct explain "{key or "KEY"}"` shows the ids'

"""The pool: what a person asks to remember, how reuse went, and the candidates that come of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from instinct_git.core import candidates as pool
from instinct_git.core.keys import normalise_key
from instinct_git.core.model import Evidence
from instinct_git.core.triggers import asks_to_remember
from instinct_git.errors import InstinctError, UnknownPattern
from instinct_git.operations.awaiting import keep
from instinct_git.operations.observing import Draft, evidence_of, one_line, put
from instinct_git.operations.workspace import Workspace, near, refuse_secrets

if TYPE_CHECKING:
    from instinct_git.core.consolidate import Book

ANSWERS = ("succeeded", "failed", "confirmed", "denied")
MAX_TITLE = 80


@dataclass(frozen=True, slots=True)
class Remembering:
    """What a person or agent asks to remember."""

    text: str
    key: str = ""
    kind: str = ""
    title: str = ""
    steps: tuple[str, ...] = ()
    verify: str = ""
    source: str = ""
    context: str | None = None
    score: str = ""
    dimensions: str = ""
    why: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)


def remember(space: Workspace, asked: Remembering) -> pool.Candidate:
    """Put what was asked for into the pool at once (the explicit trigger) and return the candidate."""
    title = asked.title or _first_line(asked.text)
    key = normalise_key(asked.key or f"note:{title}")
    trigger = asks_to_remember(asked.text)
    kind = (
        asked.kind
        or (trigger.kind if trigger and trigger.kind else "")
        or pool.default_kind(key, has_trigger_phrase=trigger is not None)
    )
    if kind not in pool.KINDS:
        raise InstinctError(f"there is no kind {kind!r}", "kinds: " + ", ".join(pool.KINDS))
    meta = dict(asked.metadata)
    meta.update({name: value for name, value in (("steps", list(asked.steps)), ("verify", asked.verify)) if value})
    draft = Draft(key, source=asked.source, context=asked.context, title=title, description=" ".join(asked.text.split()) if asked.text != title else None,
                  metadata=meta or None, kind="candidate")  # fmt: skip
    book, _ = space.read()
    entry = evidence_of(space, draft)
    members = [*book.groups.get(key, []), entry]
    entry = entry._replace(extra={**entry.extra, "x": pool.EXPLICIT, "kind": kind, **_first_score(key, members, asked)})
    remembered = evidence_of(space, Draft(key, source=asked.source, context=asked.context, kind="remembered"))
    written = put(space, [entry, remembered])
    keep(space, key, title)
    return _folded([*book.groups.get(key, []), *written], key)


def _first_line(text: str) -> str:
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    if not line:
        raise InstinctError("there is nothing to remember", 'give a text, such as: instinct remember "how we release"')
    return line if len(line) <= MAX_TITLE else line[: MAX_TITLE - 1].rstrip() + "…"


def _first_score(key: str, members: Sequence[Evidence], asked: Remembering) -> dict[str, Any]:
    """Return score, dimensions and why of the entry: computed, or as whoever asks says with a reason."""
    if (asked.score or asked.dimensions) and not asked.why:
        raise InstinctError("a score of one's own needs a reason", '--why "done five times without a mistake"')
    computed = pool.dimensions_of(key, members)
    values = {name: value for name, (value, _) in computed.items()}
    if asked.dimensions:
        values.update(pool.parse_dimensions(asked.dimensions))
    why = one_line(asked.why, "reason")
    refuse_secrets([("the reason", why)])
    score = pool.parse_score(asked.score) if asked.score else pool.first_score(values)
    return {
        "dims": {name: f"{value:.2f}" for name, value in values.items()},
        "score": f"{score:.2f}",
        "why": why or pool.why_of(computed),
    }


def _folded(members: Iterable[Evidence], key: str) -> pool.Candidate:
    found = pool.fold_candidate(members, key=key)
    if found is None:
        raise InstinctError(f"{key!r} is no candidate", "`instinct remember` makes one")
    return found


@dataclass(frozen=True, slots=True)
class Answered:
    """What one piece of feedback did."""

    pattern: str
    kind: str
    live: int
    """Confidence with everything that waits."""
    candidate: pool.Candidate | None


def feedback(space: Workspace, key: str, answer: str, *, source: str = "", session: str | None = None,
             context: str | None = None, note: str | None = None) -> Answered:  # fmt: skip
    """Count how a reuse went (succeeded, failed) or what a person said (confirmed, denied) as evidence."""
    if answer not in ANSWERS:
        raise InstinctError(f"there is no feedback {answer!r}", "one of: " + ", ".join(ANSWERS))
    key = normalise_key(key)
    book, _ = space.read()
    if key not in book.files and key not in book.groups:
        raise UnknownPattern(f"there is no pattern {key!r}", near(key, book.files.keys() | book.groups.keys()))
    draft = Draft(key, source=source, session=session, context=context, note=note, kind=answer)
    put(space, [evidence_of(space, draft)])
    book, _ = space.read()
    file, tally = book.files.get(key), book.tallies(space.config().policy).get(key)
    live = (file.offset if file else 0) + (tally.total if tally else 0)
    return Answered(key, answer, live, candidate_of(book, key))


def candidate_of(book: Book, key: str) -> pool.Candidate | None:
    """Return a pattern's candidate, or None."""
    file = book.files.get(key)
    return pool.fold_candidate(book.groups.get(key, ()), key=key, text=file.body if file else "")


def candidates(
    space: Workspace, *, ready: bool = False, archived: bool = False, kind: str | None = None
) -> list[pool.Candidate]:
    """Return the pool, highest score first: those still open, or with `archived` those answered and expired."""
    if kind is not None and kind not in pool.KINDS:
        raise InstinctError(f"there is no kind {kind!r}", "kinds: " + ", ".join(pool.KINDS))
    book, _ = space.read()
    found = [one for one in (candidate_of(book, key) for key in book.groups) if one is not None]
    ended = (pool.APPROVED, pool.REJECTED, pool.EXPIRED)
    return sorted(
        (
            one
            for one in found
            if (one.status in ended) == archived
            and (not ready or one.status in (pool.READY, pool.NOMINATED))
            and kind in (None, one.kind)
        ),
        key=lambda one: (-one.score, one.pattern),
    )


def as_json(one: pool.Candidate | None) -> dict[str, Any] | None:
    """Return a candidate as plain data; scores are numbers with two digits."""
    if one is None:
        return None
    return {
        "score": float(one.score), "status": one.status, "kind": one.kind, "trigger": one.trigger,
        "dimensions": {name: float(value) for name, value in one.dims.items()}, "first_score": float(one.first_score),
        "successes": one.successes, "failures": one.failures, "confirmed": one.confirmed, "denied": one.denied,
        "contexts": one.contexts, "idle": one.idle, "since": one.since, "last_use": one.last_use, "reasons": list(one.reasons),
    }  # fmt: skip

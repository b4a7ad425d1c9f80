"""The pool: what a person asks to remember, how reuse went, and the candidates that come of it."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from instinct_git.core import candidates as pool
from instinct_git.core.keys import MAX_KEY_BYTES, category_of, normalise_key
from instinct_git.core.model import Evidence
from instinct_git.core.triggers import asks_to_remember
from instinct_git.errors import InstinctError, UnknownPattern
from instinct_git.operations.awaiting import keep
from instinct_git.operations.noticing import crossed
from instinct_git.operations.observing import Draft, evidence_of, one_line, put
from instinct_git.operations.workspace import Workspace, near, refuse_secrets

if TYPE_CHECKING:
    from instinct_git.core.consolidate import Book

_JOINERS = "\u200c\u200d"
_FULL = f"{pool.NUMBERS.daily} new automatic candidates have entered today: more wait for another day; evidence is kept"
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
    """Put what was asked for into the pool at once (the explicit trigger) and return the candidate.

    Raises InstinctError for an empty text, a bad key, kind, step, score or reason, and for a secret; then nothing is
    written.
    """
    if asked.kind and asked.kind not in pool.KINDS:
        raise InstinctError(f"there is no kind {asked.kind!r}", "kinds: " + ", ".join(pool.KINDS))
    title = asked.title.strip() or _title(asked.text)
    trigger = asks_to_remember(asked.text)
    draft = Draft(
        asked.key or _key(title), source=asked.source, context=asked.context, title=title,
        description=_description(asked.text, title), metadata=_metadata(asked) or None, kind="candidate",
    )  # fmt: skip
    entry = evidence_of(space, draft)
    book, _ = space.read()
    key = book.stands_for.get(entry.p, entry.p)
    members = [*book.groups.get(key, []), entry]
    kind = asked.kind or (trigger.kind if trigger else "") or pool.default_kind(key, has_trigger_phrase=bool(trigger))
    entry = entry._replace(extra={**entry.extra, "x": pool.EXPLICIT, "kind": kind, **_first_score(key, members, asked)})
    remembered = evidence_of(space, draft._replace(title=None, description=None, metadata=None, kind="remembered"))
    put(space, [entry, remembered])
    keep(space, key, title)
    return _judged(space, book, key)


def _judged(space: Workspace, before: Book, key: str) -> pool.Candidate:
    """Return the candidate as it is now, after its thresholds were judged."""
    book, _ = space.read()
    found = candidate_of(book, key)
    if found is None:
        raise InstinctError(f"{key!r} is no candidate", "`instinct remember` makes one")
    crossed(space, candidate_of(before, key), found)
    return found


def _title(text: str) -> str:
    """The first line that says something, without the words that ask."""
    lines = (_visible(line) for line in text.splitlines())
    line = _without_request(next((line for line in lines if line), ""))
    if not line:
        raise InstinctError("there is nothing to remember", 'give a text, such as: instinct remember "how we release"')
    return line if len(line) <= MAX_TITLE else line[: MAX_TITLE - 1].rstrip() + "…"


def _without_request(text: str) -> str:
    """A text without the words that ask at its beginning ("记住这个流程: 发布博客": 发布博客)."""
    head, _, rest = text.replace("：", ":").partition(":")
    return text[len(head) + 1 :].strip() if rest.strip() and asks_to_remember(head) is not None else text


def _visible(text: str) -> str:
    """A text in one line: what nobody can see becomes a space (joiners belong to words and signs)."""
    return " ".join("".join(char if char.isprintable() or char in _JOINERS else " " for char in text).split())


def _key(title: str) -> str:
    """The key of a title: as much of it as a key holds (a Chinese character takes three bytes)."""
    body = unicodedata.normalize("NFC", _visible(title)).encode("utf-8", "replace")[: MAX_KEY_BYTES - len("note:")]
    return f"note:{body.decode('utf-8', 'ignore').strip()}"


def _description(text: str, title: str) -> str | None:
    words = _without_request(" ".join(text.split()))
    return words if words != title else None


def _metadata(asked: Remembering) -> dict[str, Any]:
    steps = [line for step in asked.steps if (line := one_line(step, "step"))]
    verify = one_line(asked.verify, "verification")
    given = {"steps": steps, "verify": verify}
    return {**asked.metadata, **{name: value for name, value in given.items() if value}}


def _first_score(key: str, members: Sequence[Evidence], asked: Remembering) -> dict[str, Any]:
    """Return score, dimensions and why of the entry: computed, or as whoever asks says with a reason."""
    own = asked.score or asked.dimensions
    if own and not asked.why.strip():
        raise InstinctError("a score of one's own needs a reason", '--why "done five times without a mistake"')
    if asked.why and not own:
        raise InstinctError("the reason explains no score", "give it with --score or --dimensions")
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


class Entered(NamedTuple):
    """What became of a pattern that was to enter the pool by itself."""

    candidate: pool.Candidate | None
    held: str = ""
    """Why a breaker held it; empty: none did."""


def enter(space: Workspace, key: str, *, source: str = "", context: str | None = None) -> Entered:
    """Let a known pattern enter the pool by itself (the implicit trigger), unless a breaker holds it, which is logged."""
    from instinct_git.core import breakers
    from instinct_git.operations import breaking
    from instinct_git.operations.comparing import alike
    from instinct_git.operations.entering import says_the_same
    from instinct_git.storage import breaker_log

    book, _ = space.read()
    key = normalise_key(key)
    key = book.stands_for.get(key, key)
    known = candidate_of(book, key)
    if known is not None:
        return Entered(known)
    today, members = space.now().date(), book.groups.get(key, [])
    given = next((str(one.extra["cat"]) for one in members if one.extra.get("cat")), None)
    category = book.files[key].category if key in book.files else category_of(key, given)
    kind = pool.default_kind(key, has_trigger_phrase=False)
    resets = breaking.resets_of(breaker_log.read(space.place))
    trip = breakers.holds(breaking.state(space, book), category, kind, pool.IMPLICIT)
    same = next((one for one in alike(space, [key], book).get(key, ()) if one in book.pooled), "")
    if trip is None and same:
        trip = breakers.Trip(breakers.DUPLICATES, 0, 1, "", says_the_same(key, same))
    if trip is None and not breakers.admit([key], book.everything, today, resets=resets).admitted:
        trip = breakers.Trip(breakers.DAILY, pool.NUMBERS.daily, pool.NUMBERS.daily, "", _FULL)
    if trip is not None:
        breaker_log.add(space.place, [breaker_log.Entry(today.isoformat(), breaker_log.HELD, trip.name, key)])
        return Entered(None, trip.words)
    entry = evidence_of(space, Draft(key, source=source, context=context, kind="candidate"))
    put(
        space, [entry._replace(extra={"x": pool.IMPLICIT, "kind": kind, **_first_score(key, members, Remembering(""))})]
    )
    return Entered(_judged(space, book, key))


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
    """Count how a reuse went (succeeded, failed) or what a person said (confirmed, denied) as evidence.

    A named session says one thing about one pattern at most as often as it is counted for observing it: an agent in a
    loop praises nothing up. Raises InstinctError then, and UnknownPattern for a key that nothing is known about.
    """
    if answer not in ANSWERS:
        raise InstinctError(f"there is no feedback {answer!r}", "one of: " + ", ".join(ANSWERS))
    entry = evidence_of(space, Draft(key, source=source, session=session, context=context, note=note, kind=answer))
    before, _ = space.read()
    key = before.stands_for.get(entry.p, entry.p)
    if key not in before.files and key not in before.groups:
        raise UnknownPattern(f"there is no pattern {key!r}", near(key, before.files.keys() | before.groups.keys()))
    policy = space.config().policy
    said = sum((one.k, one.by, one.s) == (answer, entry.by, entry.s) for one in before.groups.get(key, ()))
    if entry.s and said >= policy.session_cap:
        raise InstinctError(
            f"this session has said {answer} of {key!r} {said} times already, and counts no further",
            "a person can say more: `instinct feedback`",
        )
    put(space, [entry])
    book, _ = space.read()
    file, tally = book.files.get(key), book.tallies(policy).get(key)
    after = candidate_of(book, key)
    crossed(space, candidate_of(before, key), after)
    return Answered(key, answer, (file.offset if file else 0) + (tally.total if tally else 0), after)


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

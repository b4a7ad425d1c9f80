"""Candidates: patterns that may become durable knowledge, their score, and why it is what it is. Pure.

Every number is one of DESIGN section 5 and stands in `dimensions.Numbers`. Scores are exact decimals in hundredths.
A candidate is a function of the *set* of evidence about its key: sums and distinct counts need no order, and where one
counts (which first score, which answer is the latest) it is the fold's, with ties of one day settled by what the
evidence carries, since ids of one day stand in no order of time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any, NamedTuple

from instinct_git.core.confidence import USES
from instinct_git.core.dimensions import (
    DIMENSIONS,
    EXPLICIT,
    IMPLICIT,
    NUMBERS,
    ONE,
    SWARM,
    TRIGGERS,
    ZERO,
    Numbers,
    bypasses,
    decimal,
    dimensions_of,
    external,
    first_score,
    parse_dimensions,
    parse_score,
    steps_of,
    text_of,
    trigger_of,
    why_of,
)
from instinct_git.core.evidence import day_of, iso_day, nonce, position
from instinct_git.core.keys import split_key
from instinct_git.core.model import Evidence

__all__ = [  # the first score is in core.dimensions, re-exported: callers need one module
    "APPROVED", "COLLECTING", "DIMENSIONS", "EXPIRED", "EXPLICIT", "IMPLICIT", "KINDS", "MEMORY", "NOMINATED",
    "NUMBERS", "PROCEDURE", "PROPOSED", "READY", "REJECTED", "RULE", "SKILL", "STATUSES", "SWARM", "TRIGGERS",
    "Candidate", "Numbers", "answers", "approves", "bypasses", "code", "default_kind", "dimensions_of", "due", "external", "first_score",
    "fold_candidate", "implicit", "new_successes", "parse_dimensions", "parse_score", "steps_of", "summary", "why_of",
]  # fmt: skip

SKILL, PROCEDURE, RULE, MEMORY = KINDS = ("skill", "procedure", "rule", "memory")
COLLECTING, READY, NOMINATED = "collecting", "ready", "nominated"
PROPOSED, REJECTED, APPROVED, EXPIRED = "proposed", "rejected", "approved", "expired"
STATUSES = (COLLECTING, READY, NOMINATED, PROPOSED, APPROVED, REJECTED, EXPIRED)
LIVELY = USES | {"remembered", "candidate"}
"""What ends a stretch without use: uses, being remembered, and entering the pool."""


class Candidate(NamedTuple):
    """One candidate. Days are ISO days (UTC), scores decimals in hundredths."""

    pattern: str
    trigger: str
    """explicit, swarm or implicit: the strongest that brought it."""
    kind: str
    """Where it would land: skill, procedure, rule or memory."""
    score: Decimal
    """0..1; clamped once, at the end."""
    status: str
    """One of STATUSES."""
    dims: Mapping[str, Decimal]
    """The dimensions behind the first score, as frozen; empty when only a score was given."""
    first_score: Decimal
    successes: int
    failures: int
    confirmed: int
    denied: int
    contexts: int
    """Distinct contexts over the successes and the origin; no context is one context."""
    idle: int
    """Stretches without use that count."""
    since: str
    """The day it entered the pool."""
    last_use: str
    """The last day it was used, remembered or entered."""
    reasons: tuple[str, ...]
    """Explains the score, one line a summand."""
    held: str = ""
    """The security bypass it names: then a person decides, and it is never nominated by itself."""


def summary(one: Candidate | None) -> dict[str, Any]:
    """Return what the `candidate:` line of a pattern file says (DESIGN 3.3); empty: it is no candidate.

    A function of the set of evidence, as `counted` is: any side of a merge is right after the next batch.
    """
    if one is None:
        return {}
    return {
        "kind": one.kind, "trigger": one.trigger, "status": one.status, "score": float(one.score),
        "first_score": float(one.first_score), "succeeded": one.successes, "failed": one.failures,
        "confirmed": one.confirmed, "denied": one.denied, "contexts": one.contexts, "idle": one.idle,
    }  # fmt: skip


# --- the fold ---------------------------------------------------------------------------------------------------------


def fold_candidate(
    members: Iterable[Evidence], numbers: Numbers = NUMBERS, *, key: str = "", text: str = ""
) -> Candidate | None:
    """Fold the evidence of one pattern, in any order; None when none of it is `candidate` evidence.

    score = first score + sum of DESIGN section 5's table, clamped to 0..1 at the end. All successes, failures, praise
    and blame of the key count, whatever their order. `key` stands for keys that an alias joined (else the first entry's counts);
    `text` (the pattern file's body) is searched for bypasses too.
    """
    ordered = sorted(members, key=_place)
    entries = [one for one in ordered if one.k == "candidate"]
    if not entries:
        return None
    first, key = entries[0], key or entries[0].p
    lively = sorted({_day(one) for one in ordered if one.k in LIVELY})
    dims, start, why = _first(entries, ordered, numbers)
    sums = [(start, f"{start:.2f} first score: {why}"), *_summands(ordered, first.ctx, lively, numbers)]
    total = sum((value for value, _ in sums), ZERO)
    score = min(max(total, ZERO), ONE)
    count = {kind: sum(one.k == kind for one in ordered) for kind in ("succeeded", "failed", "confirmed", "denied")}
    held = bypasses(f"{text_of(key, ordered)}\n{text}")
    status, words = _status(ordered, score, held, lively, numbers)
    clamped = f" ({total:.2f} before it is kept within 0 and 1)" if total != score else ""
    return Candidate(
        key, min((trigger_of(one) for one in entries), key=TRIGGERS.index), _kind(key, entries, ordered), score,
        status, dims, start, count["succeeded"], count["failed"], count["confirmed"], count["denied"],
        len({first.ctx} | {one.ctx for one in ordered if one.k == "succeeded"}), len(_idle_days(ordered, lively, numbers)),
        iso_day(day_of(first.id)), lively[-1].isoformat(),
        (*(line for _, line in sums), f"{score:.2f} in all{clamped}: {words}"), held,
    )  # fmt: skip


def _place(one: Evidence) -> tuple[str, int, str]:
    """The fold's order; `expired:<key>:<day>` stands, like `idle:`, on the day it names."""
    if one.id.startswith("expired:"):
        return one.id.rpartition(":")[2].replace("-", "")[:8], 1, one.id
    return position(one.id)


def _day(one: Evidence) -> date:
    return date.fromisoformat(iso_day(_place(one)[0]))


def _kind(key: str, entries: Sequence[Evidence], ordered: Sequence[Evidence]) -> str:
    """The kind of the latest `scored` that names one, else of the first explicit entry, else of the first, else the default."""
    explicit = [one for one in entries if trigger_of(one) == EXPLICIT]
    chosen = [one for one in reversed(ordered) if one.k == "scored"] + explicit + list(entries)
    given = next((str(one.extra["kind"]) for one in chosen if one.extra.get("kind") in KINDS), "")
    return given or default_kind(key, has_trigger_phrase=bool(explicit))


def _first(
    entries: Sequence[Evidence], ordered: Sequence[Evidence], numbers: Numbers
) -> tuple[dict[str, Decimal], Decimal, str]:
    """(dimensions, first score, why): frozen in the first entry, replaced by the latest `scored` that gives a why."""
    chosen = [one for one in reversed(ordered) if one.k == "scored" and one.extra.get("why")] + list(entries[:1])
    for one in chosen:
        dims, score = _frozen_dims(one), decimal(one.extra.get("score"))
        if score is None and dims:
            score = first_score(dims, numbers)
        if score is None:
            continue
        kept = min(max(score, numbers.base), numbers.base + numbers.span)
        why = str(one.extra.get("why") or "no reason was given")
        if kept != score:
            why += f" ({score:.2f} was given, outside {numbers.base} to {numbers.base + numbers.span})"
        return dims, kept, why
    return {}, numbers.base, "no dimension is known"


def _frozen_dims(one: Evidence) -> dict[str, Decimal]:
    given = one.extra.get("dims")
    found = {name: decimal(given.get(name)) for name in DIMENSIONS} if isinstance(given, Mapping) else {}
    return {name: value for name, value in found.items() if value is not None and 0 <= value <= 1}


def _summands(
    ordered: Sequence[Evidence], origin: str, lively: Sequence[date], numbers: Numbers
) -> list[tuple[Decimal, str]]:
    """(value, line) of everything after the first score, in fold order."""
    plain = {
        "succeeded": "worked",
        "failed": "did not work",
        "confirmed": "a person praised it",
        "denied": "a person said no",
    }
    seen, sums = {origin}, list[tuple[Decimal, str]]()
    counted = _idle_days(ordered, lively, numbers)
    for one in ordered:
        day, value, where = _day(one).isoformat(), ZERO, f" in {one.ctx}" if one.ctx else ""
        if one.k in plain:
            value, what = getattr(numbers, one.k), plain[one.k] + where
            sums.append((value, f"{value:+.2f} {day} {what}"))
        if one.k == "succeeded" and one.ctx not in seen:
            seen.add(one.ctx)
            sums.append((numbers.new_context, f"{numbers.new_context:+.2f} {day} a further context"))
        if one.k == "idle" and day in counted:
            counted.remove(day)
            sums.append((numbers.idle, f"{numbers.idle:+.2f} {numbers.idle_days} days without use after {day}"))
        if one.k == "adjusted" and "x" in one.extra:
            value = decimal(one.extra["x"]) or ZERO
            sums.append(
                (value, f"{value:+.2f} {day} adjusted by hand: {one.extra.get('why') or 'no reason was given'}")
            )
    return sums


def _idle_days(ordered: Sequence[Evidence], lively: Sequence[date], numbers: Numbers) -> set[str]:
    """The days that end a use and begin a stretch without: void if a use follows within `idle_days`; each counts once."""
    days = {_day(one) for one in ordered if one.k == "idle"}
    return {
        day.isoformat()
        for day in days
        if not any(0 < (use - day).days <= numbers.idle_days for use in lively)
    }  # fmt: skip


def _status(
    ordered: Sequence[Evidence], score: Decimal, held: str, lively: Sequence[date], numbers: Numbers
) -> tuple[str, str]:
    """(status, in words). The latest answer counts; without one in force the score's thresholds do.

    `expired` is in force while no use follows, and stands before the answers of its day; `rejected` is until
    `reproposal` new successes.
    """
    expired = [one for one in ordered if one.k == EXPIRED and lively[-1] <= _day(one)]
    given = sorted([*expired, *answers(ordered)], key=_day)
    last = given[-1] if given else None
    if last is not None and last.k != REJECTED:
        return (
            last.k,
            f"{last.k} on {_day(last).isoformat()}"
            if last.k != EXPIRED
            else f"expired: {numbers.expire_days} days without use",
        )
    if last is not None:
        new = new_successes(ordered, last)
        if new < numbers.reproposal:
            return (
                REJECTED,
                f"rejected on {_day(last).isoformat()}; {numbers.reproposal - new} more successes before it can be proposed again",
            )
    if score >= numbers.nominated and held:
        return READY, f"enough to be nominated, held for a person because it names {held}"
    if score >= numbers.nominated:
        return NOMINATED, f"nominated from {numbers.nominated}"
    if score >= numbers.ready:
        return READY, f"ready from {numbers.ready}, nominated from {numbers.nominated}"
    return COLLECTING, f"collecting: {numbers.ready - score} to ready ({numbers.ready})"


def answers(members: Iterable[Evidence]) -> list[Evidence]:
    """Return the proposals and a person's answers to them, the latest last. A rejection's `to` is the commit of a
    landing that it takes back: approvals of that landing are left out.

    Of one day, the one given at more successes is the later; then proposed, rejected, approved, taken back.
    """
    found = [one for one in members if one.k in (PROPOSED, REJECTED, APPROVED)]
    gone = [str(one.extra["to"]) for one in found if _takes_back(one)]
    found = [one for one in found if one.k != APPROVED or not any(approves(one, sha) for sha in gone)]
    rank = {PROPOSED: 0, REJECTED: 1, APPROVED: 2}

    def place(one: Evidence) -> tuple[date, int, int, bool, str]:
        step = 3 if _takes_back(one) else rank[one.k]
        return _day(one), _knew(one, found) or 0, step, "n" in one.extra, one.id  # a person's words before a host's

    return sorted(found, key=place)


def _takes_back(one: Evidence) -> bool:
    return one.k == REJECTED and bool(one.extra.get("to"))


def _knew(one: Evidence, members: Iterable[Evidence]) -> int | None:
    """Return at how many successes it was given (`n`); None: nothing tells.

    What commits and hosts told has no `n`, for clones that read them know different evidence. It knew what the proposals
    until then knew; those of its own day that came after it know of more rejections (their `x`) than stand before it.
    """
    known = one.extra.get("n")
    if isinstance(known, int):
        return known
    members = list(members)
    before = sum(other.k == REJECTED and (one.k != REJECTED or _place(other) < _place(one)) for other in members)
    tells = (PROPOSED, APPROVED) if _takes_back(one) else (PROPOSED,)
    told = (e for e in members if e.k in tells and _day(e) <= _day(one) and _whole(e.extra.get("x")) <= before)
    return max((_whole(e.extra.get("n")) for e in told), default=None)


def _whole(value: Any) -> int:
    return value if isinstance(value, int) else 0


def approves(one: Evidence, landing: str) -> bool:
    """True for an approval of what landed by a commit."""
    return one.k == APPROVED and one.id.partition("-")[2] == f"{code(APPROVED, one.p, landing, one.by)}.1"


def code(*parts: str) -> str:
    """Return a nonce that follows from the parts: whoever books one deed of the history gives it one id."""
    return nonce(hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).digest())


def new_successes(members: Iterable[Evidence], rejected: Evidence) -> int:
    """Count the successes since a rejection: those beyond what it knew, else those after it in the fold."""
    members = list(members)
    done = [one for one in members if one.k == "succeeded"]
    known = _knew(rejected, members)
    return len(done) - known if known is not None else sum(_place(one) > _place(rejected) for one in done)


def due(key: str, members: Iterable[Evidence], today: date, numbers: Numbers = NUMBERS) -> list[Evidence]:
    """Return the idle and expired evidence that a decay batch books today, with deterministic ids; none twice.

    `idle:<key>:<last-use day>` from 30 days without use, `expired:<key>:<last-use day>` from 60. What was proposed,
    approved or rejected does not expire.
    """
    members = list(members)
    candidate = fold_candidate(members, numbers, key=key)
    if candidate is None or candidate.status not in (COLLECTING, READY, NOMINATED):
        return []
    rest = (today - date.fromisoformat(candidate.last_use)).days
    known = {one.id for one in members}
    wanted = [("idle", "idle", numbers.idle_days), ("expired", EXPIRED, numbers.expire_days)]
    made = [Evidence(f"{name}:{key}:{candidate.last_use}", key, kind) for name, kind, days in wanted if rest >= days]
    return [one for one in made if one.id not in known]


# --- entering -----------------------------------------------------------------------------------------------------------


def implicit(key: str, members: Iterable[Evidence]) -> bool:
    """True when a pattern enters by itself (DESIGN section 5): seen twice or more, or more than 3 external steps."""
    seen = sum(one.k in ("observed", "succeeded") for one in members)
    return seen >= 2 or (seen == 1 and sum(map(external, steps_of(key))) > 3)


def default_kind(key: str, *, has_trigger_phrase: bool) -> str:
    """seq with a trigger phrase: skill, without: procedure; fix: rule; others: memory (issue 4)."""
    prefix = split_key(key)[0]
    if prefix == "seq":
        return SKILL if has_trigger_phrase else PROCEDURE
    return RULE if prefix == "fix" else MEMORY

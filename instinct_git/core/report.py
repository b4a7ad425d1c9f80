"""Numbers put into words: commit messages, statistics, and the explanation of one pattern."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from instinct_git.core.batch import FADED_WORDS, Batch
from instinct_git.core.confidence import Witnesses
from instinct_git.core.evidence import day_of, iso_day
from instinct_git.core.model import FADED, MATURE, NOTHING, RULE, Evidence, Policy, Step, Tally
from instinct_git.core.session import next_step

MESSAGE_LINES = 200


def commit_message(batch: Batch, also: Sequence[str]) -> str:
    """Return the commit message: what happened in numbers, a line a pattern, and trailers (informational only)."""
    lines = [batch.subject or "instinct: set up the memory", ""]
    rows = [
        (m.key, f"{0 if m.before is None else m.before} -> {m.after}", m.level if m.after > 0 else FADED)
        for m in batch.moved
    ]
    lines += [f"{key}  {numbers}  {level}" for key, numbers, level in rows[:MESSAGE_LINES]]
    if len(rows) > MESSAGE_LINES:
        lines.append(f"... and {len(rows) - MESSAGE_LINES} more")
    why = dict(batch.gone)
    lines += [f"{key}  gone ({why.get(key, FADED_WORDS)})" for key in batch.faded]
    if also:
        lines += ["", "Also: " + ", ".join(sorted(also)[:20]) + (" ..." if len(also) > 20 else "")]
    trailers = [f"Instinct-Batch: {batch.verb}", "Instinct-Format: 1"]
    trailers += [f"Instinct-Folded: {batch.folded}"] if batch.folded else []
    trailers += [f"Instinct-Recorded: {batch.recorded}"] if batch.recorded else []
    while lines[-1] == "":
        lines.pop()
    return "\n".join([*lines, "", *trailers]) + "\n"


@dataclass(frozen=True, slots=True)
class Calls:
    """The tool calls behind a piece of evidence that `learn` brought; known in the clone that learned it alone."""

    agent: str
    session: str
    """The agent's own id of the session."""
    numbers: tuple[int, ...]
    """Of the calls, from 1, in the order of the session's files."""
    actions: tuple[str, ...]
    """What each did, by name; never what was run."""
    path: str
    """The transcript; empty: the session's observations."""


@dataclass(frozen=True, slots=True)
class Line:
    """One piece of evidence in an explanation."""

    id: str
    day: str
    kind: str
    source: str
    session: str
    context: str
    delta: int
    confidence: int
    """Running sum after it, floored at 0."""
    capped: bool
    note: str
    where: str
    """ledger, observations or inbox."""
    passed: str = ""
    """The level this piece reached, empty otherwise."""
    calls: Calls | None = None
    """None where this clone does not know them."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a pattern has the number it has."""

    pattern: str
    confidence: int
    """As the file says; 0 without a file."""
    offset: int
    """Added or taken by hand in the file."""
    live: int
    level: str
    lines: tuple[Line, ...]
    missing: str
    """What is missing to the next level, in words."""
    retracted: tuple[str, ...] = ()
    notices: tuple[str, ...] = field(default=())


def explain_lines(
    steps: Iterable[Step], offset: int, policy: Policy, where: Mapping[str, str], calls: Mapping[str, Calls] = NOTHING
) -> tuple[Line, ...]:
    """Return the fold, step by step, where each piece of evidence stands, and the calls behind it."""
    lines = []
    level, seen = policy.level(offset), Witnesses()
    for step in steps:
        one = step.evidence
        seen.add(one)
        reached = seen.level(offset + step.total, offset, policy)
        rose = reached != level and (reached == RULE or (reached == MATURE and level != RULE))
        lines.append(
            Line(
                one.id, iso_day(day_of(one.id)), one.k, one.by, one.s, one.ctx, step.delta, step.total, step.capped,
                one.note, where.get(one.id, "inbox"), reached if rose else "", calls.get(one.id),
            )
        )  # fmt: skip
        level = reached
    return tuple(lines)


def missing_words(live: int, policy: Policy, *, alone: bool = False) -> str:
    """Say what is missing to the next level; `alone` says that one session stands behind it (`Witnesses`)."""
    if alone:
        number = f"{policy.mature - live} more, and " if live < policy.mature else ""
        return (
            f"{number}a second session, or a person's word, to {MATURE} ({policy.mature}): one session says all of it"
        )
    if live >= policy.rule:
        return "it is a rule: there is no higher level"
    name, limit = (MATURE, policy.mature) if live < policy.mature else (RULE, policy.rule)
    return f"{limit - live} more to {name} ({limit})"


@dataclass(frozen=True, slots=True)
class Stats:
    """The state of a memory in numbers."""

    root: str
    scope: str
    patterns: int
    by_level: Mapping[str, int]
    by_category: Mapping[str, int]
    by_source: Mapping[str, int]
    """Distinct ids a source has given."""
    by_kind: Mapping[str, int]
    evidence: int
    """Distinct ids in the ledger, observations and the inbox."""
    in_inbox: int
    inbox_since: str
    """The oldest day that waits in the inbox; empty: nothing waits."""
    in_observations: int
    """Committed and not folded yet."""
    removed_by_person: int
    unreadable: int
    next_step: str
    """What would move the waiting evidence on; empty: nothing waits."""


def waiting_words(inbox: Iterable[Evidence], recorded: Iterable[Evidence], policy: str) -> tuple[str, str]:
    """Say what waits in the inbox and in observations, since when, and what would move it; empty: nothing waits.

    `policy` is the memory's `consolidate` setting.
    """
    parts = []
    for what, waiting in (("in the inbox", list(inbox)), ("recorded and not folded", list(recorded))):
        if waiting:
            parts.append(f"{len(waiting)} {what} since {iso_day(min(day_of(one.id) for one in waiting))}")
    if not parts:
        return "", ""
    return ", ".join(parts), next_step(policy)


def by_level(confidences: Iterable[tuple[int, str]]) -> dict[str, int]:
    """Count levels; a pattern at 0 or less is faded whatever its line says."""
    counted = Counter(FADED if number <= 0 else level for number, level in confidences)
    return {level: counted[level] for level in ("raw", MATURE, RULE, FADED)}


def live_confidence(offset: int, tally: Tally | None) -> int:
    """Return the file's offset plus S over everything known here (law 4)."""
    return offset + (tally.total if tally else 0)

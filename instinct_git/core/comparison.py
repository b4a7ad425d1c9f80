"""Two readings of one memory held against each other: what a pull request would bring. Pure.

The numbers of a tip prove nothing about who moved them. Between two readings every move must come with evidence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from instinct_git.core.audit import ERROR, NOTICE, WARNING
from instinct_git.core.confidence import fold_one, level_of
from instinct_git.core.consolidate import Book, removed_by_person
from instinct_git.core.evidence import other_session_alone
from instinct_git.core.lineage import many
from instinct_git.core.model import LEVELS, Evidence, Policy, Tally
from instinct_git.core.pattern import Finding, PatternFile
from instinct_git.core.running import same

CONFIG = ".instinct/config.yaml"
SESSIONS_SHOWN = 5


def compare(before: Book, after: Book, policy: Policy) -> list[Finding]:
    """Return what changed between two readings of a memory without evidence for it, and what evidence is new.

    Neither book may hold an inbox: what is not committed proves nothing. `policy` is the one that `after` stands under.
    """
    found = [*_evidence(before, after), *_patterns(before, after, policy), *_new(before, after)]
    order = {ERROR: 0, WARNING: 1, NOTICE: 2}
    return sorted(found, key=lambda one: order[one.severity])


def policy_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Finding]:
    """Return a warning for every setting that changed: what counts, and how much, is for a person to decide."""
    return [
        Finding("policy-changed", CONFIG, f"{name}: {_shown(before.get(name))} -> {_shown(after.get(name))}", WARNING)
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    ]


def _shown(value: Any) -> str:
    return "not set" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _evidence(before: Book, after: Book) -> Iterator[Finding]:
    gone = sorted(before.tree_ids - after.tree_ids)
    if gone:
        path = _container_of(before, gone[0])
        yield Finding("evidence-lost", path, f"{many(gone)} stood in the base and vanished")
    old, new = before.everything.by_id, after.everything.by_id
    other = sorted(one for one in before.tree_ids & after.tree_ids if not same(old[one], new[one]))
    copied = [one for one in other if other_session_alone(old[one], new[one])]
    for ids, severity in ((sorted({*other} - {*copied}), ERROR), (copied, WARNING)):
        if ids:
            message = f"{many(ids)} says something else than in the base"
            message += " (another session: a copy of it was learned)" if severity == WARNING else ""
            yield Finding("evidence-rewritten", _container_of(after, ids[0]), message, severity)


def _container_of(book: Book, evidence_id: str) -> str:
    containers = {**book.ledger, **book.observed}
    return next(path for path in sorted(containers) if any(one.id == evidence_id for one in containers[path]))


def _patterns(before: Book, after: Book, policy: Policy) -> Iterator[Finding]:
    tallies = after.tallies(policy)
    for key in sorted(before.files.keys() | after.files.keys()):
        old, new = before.files.get(key), after.files.get(key)
        if new is None:
            if removed_by_person(after, key, tallies.get(key, Tally())):
                message = (
                    f"{key}: its file is deleted (confidence was {old.confidence if old else 0}); its evidence stays"
                )
                yield Finding("pattern-removed", old.path if old else "", message, WARNING)
        elif old is None and before.unreadable(key):
            message = (
                f"{key}: its file cannot be read in the base, so its confidence {new.confidence} cannot be compared"
            )
            yield Finding("not-comparable", new.path, message, WARNING)
        else:
            yield from _pattern(old, new, after, tallies.get(key, Tally()), policy)


def _pattern(old: PatternFile | None, new: PatternFile, after: Book, tally: Tally, policy: Policy) -> Iterator[Finding]:
    offset, counted = (old.offset, old.counted) if old else (0, 0)
    by = new.offset - offset
    if by:
        verb = "rose" if by > 0 else "fell"
        message = (
            f"{new.key}: confidence {verb} by {abs(by)} without evidence ({old.confidence if old else 0} -> {new.confidence}, "
            f"the evidence counted moves it by {new.counted - counted:+d}); `instinct adjust` says it as evidence"
        )
        yield Finding("confidence-without-evidence", new.path, message, line=_line(new, "confidence"))
    if new.counted > counted and new.counted > tally.total:
        most = max(tally.total, _folded(after, new.key, policy))
        if new.counted > most:
            message = f"{new.key}: counted rose from {counted} to {new.counted}, the evidence gives {most}"
            message += f": {new.counted - most} without evidence"
            yield Finding("counted-without-evidence", new.path, message, line=_line(new, "counted"))
    due = level_of(new.confidence, new.offset, after.groups.get(new.key, ()), policy)
    if new.level in LEVELS and new.level != (old.level if old else "") and LEVELS.index(new.level) > LEVELS.index(due):
        message = f"{new.key}: level is set to {new.level}, confidence {new.confidence} is {due}"
        yield Finding("level-without-evidence", new.path, message, line=_line(new, "level"))


def _folded(book: Book, key: str, policy: Policy) -> int:
    return fold_one((one for one in book.groups.get(key, ()) if one.id in book.ledger_ids), policy).total


def _new(before: Book, after: Book) -> Iterator[Finding]:
    """Sum up the new evidence by who says to have seen it: whoever may write here may write any of it by hand."""
    by_source: dict[str, list[Evidence]] = {}
    for evidence_id in sorted(after.tree_ids - before.tree_ids):
        one = after.everything.by_id[evidence_id]
        by_source.setdefault(one.by, []).append(one)
    for source, found in sorted(by_source.items()):
        path = _container_of(after, found[0].id)
        yield Finding("new-evidence", path, _summed(source, found), NOTICE)


def _summed(source: str, found: list[Evidence]) -> str:
    kinds = Counter(one.k for one in found)
    words = f"{len(found)} new evidence id{'' if len(found) == 1 else 's'} by {source or 'nobody (no source given)'}"
    words += f" about {_count(len({one.p for one in found}), 'pattern')}: {_listed(kinds)}"
    adjusted = sum(int(one.extra.get("n", 0)) for one in found if one.k == "adjusted")
    if kinds["adjusted"]:
        words += f" (together {adjusted:+d})"
    sessions = Counter(one.s for one in found if one.s)
    without = sum(not one.s for one in found)
    parts = [f"{_count(len(sessions), 'session')} ({_listed(sessions, SESSIONS_SHOWN)})"] if sessions else []
    parts += [f"{without} without a session"] if without else []
    return f"{words}; {', '.join(parts)}"


def _listed(counts: Counter[str], most: int = 0) -> str:
    rows: Iterable[tuple[str, int]] = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    shown = [f"{name} {number}" for name, number in rows]
    left = len(shown) - most if most else 0
    return ", ".join(shown[:most] if left > 0 else shown) + (f", {left} more" if left > 0 else "")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _line(pattern: PatternFile, name: str) -> int:
    lines = pattern.text.split("\n")
    return next((number for number, line in enumerate(lines, 1) if line.startswith(f"{name}:")), 0)

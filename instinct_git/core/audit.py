"""The rules of `check` on the tip: every finding says rule, file, line and what is wrong. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from instinct_git.core.confidence import fold_one, group
from instinct_git.core.consolidate import Book, removed_by_person
from instinct_git.core.keys import pattern_path
from instinct_git.core.model import Evidence, Policy
from instinct_git.core.pattern import Finding, PatternFile

ERROR, WARNING, NOTICE = "error", "warning", "notice"
READMES = (".instinct/observations/README.md", ".instinct/ledger/README.md")


def audit(book: Book, policy: Policy, present: Iterable[str]) -> list[Finding]:
    """Check a memory. `present` lists every path below `.instinct`, relative to the memory's root."""
    paths = set(present)
    tallies = book.tallies(policy)
    findings = [*book.broken, *_structure(book, paths), *_evidence(book), *_copies(book)]
    groups, behind = _committed(book), _unfolded_keys(book)
    for key in sorted(book.files):
        findings += _numbers(book.files[key], policy, groups.get(key, []), book.ledger_ids, key in behind)
    for key in sorted(tallies):
        if removed_by_person(book, key, tallies[key]):
            message = f"{key}: its file was deleted by a person; it stays away (`instinct restore` brings it back)"
            findings.append(Finding("removed-by-person", pattern_path(key), message, NOTICE))
    order = {ERROR: 0, WARNING: 1, NOTICE: 2}
    return sorted(findings, key=lambda one: (order[one.severity], one.path, one.line, one.rule))


def _structure(book: Book, paths: set[str]) -> Iterator[Finding]:
    for readme in READMES:
        if readme not in paths:
            message = "this file is missing; git may then take its folder for a renamed one (`instinct init` mends it)"
            yield Finding("readme-missing", readme, message)
    if ".instinct/config.yaml" not in paths:
        yield Finding("config-missing", ".instinct/config.yaml", "no config: the defaults apply", NOTICE)
    known = set(book.snapshot.patterns) | set(book.snapshot.observations) | set(book.snapshot.ledger)
    for path in sorted(paths - known):
        if path.endswith("README.md") or path in (".instinct/config.yaml", ".instinct/.gitattributes"):
            continue
        if path.startswith((".instinct/observations/", ".instinct/ledger/", ".instinct/patterns/")):
            message = "instinct does not read this file; evidence in it does not count"
            yield Finding("unknown-file", path, message, WARNING)


def _evidence(book: Book) -> Iterator[Finding]:
    for path, lines in book.bad_lines.items():
        for line in lines:
            severity = WARNING if line.torn else ERROR
            message = f"the line cannot be read ({line.reason}); the others count"
            yield Finding("evidence-unreadable", path, message, severity, line.line)
    for evidence_id in sorted(book.everything.clashes):
        message = f"{evidence_id} stands in two containers with different contents; the smallest counts"
        yield Finding("evidence-clash", ".instinct", message)
    behind = len(book.tree_ids - book.ledger_ids)
    if behind:
        message = f"behind by {behind}: recorded evidence that is not folded yet (`instinct consolidate`)"
        yield Finding("not-folded", ".instinct/observations", message, NOTICE)
    if len(book.waiting):
        message = f"{len(book.waiting)} pieces of evidence of this clone wait in its inbox (`instinct consolidate`)"
        yield Finding("inbox", ".instinct", message, NOTICE)


def _copies(book: Book) -> Iterator[Finding]:
    for path, other in book.copies:
        yield Finding("pattern-twice", path, f"the same pattern stands in {other}; keep one of the two files")


def _committed(book: Book) -> dict[str, list[Evidence]]:
    """Return the groups of what stands in the tree alone: an alias or retraction that waits in the inbox moves none."""
    if not len(book.waiting):
        return book.groups
    return group([one for one in book.everything if one.id in book.tree_ids])


def _numbers(
    pattern: PatternFile, policy: Policy, committed: list[Evidence], ledger_ids: set[str], behind: bool
) -> Iterator[Finding]:
    folded = [one for one in committed if one.id in ledger_ids]
    if pattern.counted not in (_total(committed, policy), _total(folded, policy)):
        message = f"counted is {pattern.counted}, the evidence gives {_total(committed, policy)}"
        hint = " (`instinct consolidate` brings it up to date)"
        yield Finding("counted", pattern.path, message + hint, NOTICE if behind else ERROR, _line(pattern, "counted"))
    if pattern.level and pattern.level != policy.level(pattern.confidence):
        message = f"level is {pattern.level}, confidence {pattern.confidence} is {policy.level(pattern.confidence)}"
        yield Finding("level", pattern.path, message, NOTICE, _line(pattern, "level"))
    if pattern.offset:
        message = f"adjusted by hand: {pattern.offset:+d} beyond the evidence"
        yield Finding("hand-adjusted", pattern.path, message, NOTICE, _line(pattern, "confidence"))
    if not pattern.has_separator:
        message = "the line between instinct's fields and yours is missing; the next consolidate puts it back"
        yield Finding("separator-missing", pattern.path, message, WARNING)


def _total(evidence: list[Evidence], policy: Policy) -> int:
    return fold_one(evidence, policy).total


def _unfolded_keys(book: Book) -> set[str]:
    """Return the keys that evidence in the tree, not folded yet, will move: its own, and those it joins or retracts."""
    found = set()
    for evidence_id in book.tree_ids - book.ledger_ids:
        one = book.everything.by_id[evidence_id]
        to = str(one.extra.get("to", ""))
        target = book.everything.by_id.get(to)
        found |= {one.p, to} | ({target.p} if target is not None else set())
    return found | {book.stands_for.get(key, key) for key in found}


def _line(pattern: PatternFile, name: str) -> int:
    for number, line in enumerate(pattern.text.split("\n"), 1):
        if line.startswith(f"{name}:"):
            return number
    return 0

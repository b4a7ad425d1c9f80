"""The rules of `check` on the tip: every finding says rule, file, line and what is wrong. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from instinct_git.core.applicability import applies_to
from instinct_git.core.confidence import fold_one, group, level_of
from instinct_git.core.consolidate import Book, removed_by_person
from instinct_git.core.evidence import position
from instinct_git.core.keys import pattern_path
from instinct_git.core.model import Evidence, Policy
from instinct_git.core.pattern import Finding, PatternFile

ERROR, WARNING, NOTICE = "error", "warning", "notice"
READMES = (".instinct/observations/README.md", ".instinct/ledger/README.md")
ALL_SUBSETS = 10
"""Up to so many containers that hold a key every subset is tried; beyond, leaving one out, and prefixes."""
STEPS = 2_000_000
"""And only where that takes at most so many steps of the fold."""


def audit(book: Book, policy: Policy, present: Iterable[str]) -> list[Finding]:
    """Check a memory. `present` lists every path below `.instinct`, relative to the memory's root."""
    paths = set(present)
    tallies = book.tallies(policy)
    findings = [*book.broken, *_structure(book, paths), *_evidence(book), *_copies(book)]
    all_folded = not len(book.waiting) and len(book.tree_ids) == len(book.ledger_ids)
    groups = book.groups if all_folded else committed(book)
    totals = _totals(book, policy, groups, all_folded)
    wrong = [book.files[key] for key, known in totals.items() if book.files[key].counted not in known]
    behind = _behind(book, policy, wrong)
    for key in sorted(book.files):
        findings += _limits(book.files[key])
        folded = (one for one in groups.get(key, ()) if one.id in book.ledger_ids)
        findings += _numbers(book.files[key], policy, totals[key], folded, key in behind)
    for key in sorted(tallies):
        if removed_by_person(book, key, tallies[key]):
            message = f"{key}: its file was deleted by a person; it stays away (`instinct restore` brings it back)"
            findings.append(Finding("removed-by-person", pattern_path(key), message, NOTICE))
    order = {ERROR: 0, WARNING: 1, NOTICE: 2}
    return sorted(findings, key=lambda one: (order[one.severity], one.path, one.line, one.rule))


def _limits(file: PatternFile) -> Iterator[Finding]:
    try:
        applies_to(file.applies_to)
    except ValueError as problem:
        yield Finding("applies-to", file.path, f"{problem}; it is told nowhere")


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
        waiting = f"{len(book.waiting)} pieces of evidence of this clone wait"
        if len(book.waiting) == 1:
            waiting = "1 piece of evidence of this clone waits"
        message = f"{waiting} in its inbox (`instinct consolidate`)"
        yield Finding("inbox", ".instinct", message, NOTICE)


def _copies(book: Book) -> Iterator[Finding]:
    for path, other in book.copies:
        yield Finding("pattern-twice", path, f"the same pattern stands in {other}; keep one of the two files")


def committed(book: Book) -> dict[str, list[Evidence]]:
    """Return the groups of what stands in the tree alone: an alias or retraction that waits in the inbox moves none."""
    if not len(book.waiting):
        return book.groups
    return group([one for one in book.everything if one.id in book.tree_ids])


def _totals(
    book: Book, policy: Policy, groups: Mapping[str, list[Evidence]], all_folded: bool
) -> dict[str, tuple[int, int]]:
    """Return {key with a file: (the sum over all that is committed, over what is folded of it)}."""
    if all_folded:  # one fold says both
        tallies = book.tallies(policy)
        sums = {key: tallies[key].total if key in tallies else 0 for key in book.files}
        return {key: (total, total) for key, total in sums.items()}
    totals = {}
    for key in book.files:
        members = groups.get(key, [])
        folded = [one for one in members if one.id in book.ledger_ids]
        totals[key] = _total(members, policy), _total(folded, policy)
    return totals


def _numbers(
    pattern: PatternFile, policy: Policy, totals: tuple[int, int], folded: Iterable[Evidence], behind: bool
) -> Iterator[Finding]:
    if pattern.counted not in totals:
        message, hint = (
            f"counted is {pattern.counted}, the evidence gives {totals[0]}",
            "`instinct consolidate` brings it up to date",
        )
        if behind:
            message += f"; behind by {abs(totals[0] - pattern.counted)}: another branch's batch was merged; {hint}"
        else:
            message += f" ({hint})"
        yield Finding("counted", pattern.path, message, NOTICE if behind else ERROR, line_of(pattern, "counted"))
    due = level_of(pattern.confidence, pattern.offset, folded, policy)
    if pattern.level and pattern.level != due:
        why = "" if due == policy.level(pattern.confidence) else " while one session alone stands behind it"
        message = f"level is {pattern.level}, confidence {pattern.confidence} is {due}{why}"
        yield Finding("level", pattern.path, message, NOTICE, line_of(pattern, "level"))
    if pattern.offset:
        message = f"adjusted by hand: {pattern.offset:+d} beyond the evidence"
        yield Finding("hand-adjusted", pattern.path, message, NOTICE, line_of(pattern, "confidence"))
    if not pattern.has_separator:
        message = "the line between instinct's fields and yours is missing; the next consolidate puts it back"
        yield Finding("separator-missing", pattern.path, message, WARNING)


def _total(evidence: list[Evidence], policy: Policy) -> int:
    return fold_one(evidence, policy).total


def _behind(book: Book, policy: Policy, wrong: list[PatternFile]) -> set[str]:
    """Return the keys whose `counted` was right for a part of the containers that are here now: a merge brought the
    others, or a side of a conflict was taken. No number that the evidence never gave is among them."""
    held_by = held(book, {pattern.key for pattern in wrong}) if wrong else {}
    behind = set()
    for pattern in wrong:
        containers = sorted(held_by[pattern.key])
        masks: dict[str, int] = {}
        for bit, path in enumerate(containers):
            for evidence_id in held_by[pattern.key][path]:
                masks[evidence_id] = masks.get(evidence_id, 0) | 1 << bit
        members = sorted((book.everything.by_id[one] for one in masks), key=lambda one: position(one.id))
        regroup = any(one.k in ("alias", "retract") or one.p != pattern.key for one in members)
        for subset in subsets(len(containers), len(members)):
            chosen = [one for one in members if masks[one.id] & subset]
            if regroup:
                chosen = group(chosen).get(pattern.key, [])
            if _total(chosen, policy) == pattern.counted:
                behind.add(pattern.key)
                break
    return behind


def held(book: Book, keys: set[str]) -> dict[str, dict[str, list[str]]]:
    """Return {key: {container: ids of its evidence there, and of what joins or retracts it}}."""
    by_id = book.everything.by_id
    joins: dict[str, set[str]] = {}
    for one in book.everything:
        if one.k == "alias":
            joins.setdefault(str(one.extra.get("to", "")), set()).add(one.p)
    owners: dict[str, list[str]] = {}
    for key in keys:
        found, todo = {key}, [key]
        while todo:
            more = joins.get(todo.pop(), set()) - found
            found |= more
            todo += more
        for name in found:
            owners.setdefault(name, []).append(key)
    found_in: dict[str, dict[str, list[str]]] = {key: {} for key in keys}
    for path, evidence in (*book.ledger.items(), *book.observed.items()):
        for one in evidence:
            target = by_id.get(str(one.extra.get("to", ""))) if one.k == "retract" else one
            for key in owners.get(target.p, ()) if target is not None else ():
                found_in[key].setdefault(path, []).append(one.id)
    return found_in


def subsets(containers: int, members: int) -> Iterator[int]:
    """Yield subsets of the containers as bits, the likely ones first."""
    full = (1 << containers) - 1
    yield from (full ^ 1 << bit for bit in range(containers))
    yield from ((1 << length) - 1 for length in range(containers + 1))
    if containers <= ALL_SUBSETS and members << containers <= STEPS:
        yield from range(full)


def line_of(pattern: PatternFile, name: str) -> int:
    """Return the 1-based line of a field of a pattern file; 0 where it has none."""
    for number, line in enumerate(pattern.text.split("\n"), 1):
        if line.startswith(f"{name}:"):
            return number
    return 0

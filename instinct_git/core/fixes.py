"""Fixes: failures of a recognisable class with the remedy that ended them. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from instinct_git.core.actions import CHECKS, FILES, LOOKS, SEES, tool_used
from instinct_git.core.dimensions import bypasses
from instinct_git.core.shell import shell_line
from instinct_git.core.telling import fix_text
from instinct_git.core.threads import Learned, Spot, Step, Thread, learned_of

WITHIN = 40
"""Calls of the same thread between a failure and its remedy, at most."""
LEAST = 2
"""Times that a failure was mended before its fix is told: a message may be exact, but once is an accident."""


@dataclass(frozen=True, slots=True)
class Fix:
    """A class of failure.

    ``title`` says what to do; ``text`` recognises the failing call's result ("" takes any); ``actions`` are those it
    can strike (empty: any); ``between`` is what has to lie between the failure and the success: "read" (a read, search
    or look), "change" (anything that is no look), "" (nothing, but the same call again is luck and no remedy). A class
    without a text is left out where most of its occurrences are told as a sequence already.
    """

    title: str
    text: str
    actions: frozenset[str] = frozenset()
    between: str = "change"


_CODE = CHECKS | {"run", "serve"}
FIXES: Mapping[str, Fix] = {
    "edit-string-not-found": Fix(
        "Read the file again when an edit does not find its text",
        r"String to replace not found|(?:old_string|oldString|old_str) (?:was )?not found|No match found|did not appear "
        r"verbatim|could not find the string|0 occurrences found|Failed to find (?:expected lines|context)|"
        r"Could not find oldString|not found in displayed lines", FILES, "read"),
    "edit-string-not-unique": Fix(
        "Give an edit more context when its text is not unique", r"Found \d+ matches of the string|Multiple (?:occurrences of old_str|matches found)|multiple matches for oldString|"
        r"[Ee]xpected 1 occurrence", FILES, ""),
    "edit-breaks-syntax": Fix(
        "Repair the syntax when an edit is refused for it, then edit again",
        r"edit has introduced new syntax error", FILES, ""),
    "read-before-edit": Fix("Read a file before changing it", r"File has not been read yet|must read (?:the )?file .{0,300}before", FILES, "read"),
    "file-changed-since-read": Fix(
        "Read a file again when it changed since it was read",
        r"File (?:\S{1,300} )?has been (unexpectedly )?modified since", FILES, "read"),
    "pre-commit-hook-failure": Fix(
        "Repair what the commit hook refuses, then commit again",
        r"[Pp]re-?commit|husky|hook (id|failed|declined)|commit-msg|lint-staged", frozenset({"commit"})),
    "git-ignored-path": Fix(
        "Add an ignored file on purpose, or leave it out",
        r"paths are ignored by one of your \.gitignore", frozenset({"commit", "stage"}), ""),
    "git-push-rejected": Fix(
        "Bring the branch up to date when a push is rejected",
        r"non-fast-forward|fetch first|\[rejected\]|has no upstream branch", frozenset({"push"}), ""),
    "missing-import": Fix(
        "Add the import or the dependency that is missing",
        r"ModuleNotFoundError|No module named|cannot import name|Cannot find module|unresolved import|"
        r"Undefined name|\bF821\b|NameError: name", _CODE),
    "command-not-found": Fix("Call a tool that is not on the path in another way",
        r"command not found|sh\S{0,20}: .{0,80}: not found|is not recognized as", between=""),
    "port-in-use": Fix("Free the port before starting the server", r"EADDRINUSE|[Aa]ddress already in use"),
    "syntax-error": Fix("Repair the syntax error", r"SyntaxError|IndentationError|syntax error", _CODE),
    "permission-denied": Fix("Mend the permission that is missing", r"[Pp]ermission denied|EACCES|EPERM"),
    "lint-failure": Fix("Repair what the linter finds and run it again", "", frozenset({"lint"})),
    "typecheck-failure": Fix("Repair the types and check them again", "", frozenset({"typecheck"})),
    "compile-failure": Fix("Repair what does not compile", "", frozenset({"compile", "build"})),
    "test-failure": Fix("Repair what the tests find and run them again", "", frozenset({"test"})),
}  # fmt: skip
"""Classes of failure; the first that fits is taken. A remedy is the same action on the same target that succeeds."""


def fixes(threads: Sequence[Thread], sequences: Sequence[Learned]) -> list[Learned]:
    found: dict[str, list[Spot]] = defaultdict(list)
    for number, thread in enumerate(threads):
        for name, start, calls in _mended(thread.steps):
            found[name].append(Spot(number, start, calls))
    told = [(one.session, set(one.calls)) for learned in sequences for one in learned.occurrences]
    learned = []
    for name, fix in FIXES.items():
        spots = found.get(name, [])
        if not fix.text:  # a loop that is told as a sequence is not told twice
            spots_told = [spot for spot in spots if _is_told(threads[spot.thread].transcript.session, spot.calls, told)]
            spots = [] if 2 * len(spots_told) > len(spots) else spots
        if len(spots) >= LEAST:
            learned.append(learned_of(f"fix:{name}", fix.title, threads, spots, fix_text(fix.title, fix.between)))
    return sorted(learned, key=lambda one: (-one.support, one.key))


def _is_told(session: str, calls: tuple[int, ...], told: Iterable[tuple[str, set[int]]]) -> bool:
    return any(session == where and len(known.intersection(calls)) >= 2 for where, known in told)


def _mended(steps: Sequence[Step]) -> Iterator[tuple[str, int, tuple[int, ...]]]:
    """(class, index, calls) for each failure that ends: from its last failing call to the call that succeeds."""
    open_failures: dict[tuple[str, str], tuple[str, int]] = {}
    for index, step in enumerate(steps):
        if step.action in LOOKS and step.action != "stage":
            continue
        where = ("edit" if step.action in FILES else step.action, _target(step))
        if step.failed:
            name = _class_of(step)
            if name is None:
                open_failures.pop(where, None)
            else:
                open_failures[where] = (name, index)
        elif step.failed is False and where in open_failures:
            name, start = open_failures.pop(where)
            repair = _repair(FIXES[name], steps[start:index], step)
            bypass = bypasses(shell_line(step.call.input) or "")
            if repair is not None and index - start <= WITHIN and not bypass:
                yield name, start, (steps[start].call.number, *repair, step.call.number)


def _class_of(step: Step) -> str | None:
    for name, fix in FIXES.items():
        if (not fix.actions or step.action in fix.actions) and re.search(fix.text, step.call.result):
            return name
    return None


def _target(step: Step) -> str:
    """What the call was about: the file for file tools, the program and its first argument for nameless runs."""
    given = step.call.input
    path = next((given[name] for name in ("file_path", "path", "filePath", "notebook_path") if name in given), None)
    if isinstance(path, str):
        return path
    line = shell_line(step.call.input) or ""
    return tool_used(line) if step.action == "run" or step.action in FILES else ""


def _repair(fix: Fix, passed: Sequence[Step], remedy: Step) -> tuple[int, ...] | None:
    """The last call between that helped, as a tuple of its number; () if none is needed; None if it is missing."""
    wanted = [
        step.call.number
        for step in passed[1:]
        if step.failed is False and (step.action in SEES if fix.between == "read" else step.action not in LOOKS)
    ]
    if wanted:
        return (wanted[-1],)
    return () if fix.between == "" and passed[0].call.input != remedy.call.input else None

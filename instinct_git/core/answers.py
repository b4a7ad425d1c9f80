"""A team's answers to proposals: what landed, was taken back or was closed becomes evidence, each once. Pure.

Ids follow from the commit (or the pull request's address), so that any number of clones that look count one answer.
For the same reason such evidence carries no number of successes: two clones would know two.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from instinct_git.core import candidates, memory_file
from instinct_git.core.audit import ERROR, line_of
from instinct_git.core.candidates import APPROVED, MEMORY, NUMBERS, PROCEDURE, PROPOSED, REJECTED, RULE, SKILL, code
from instinct_git.core.consolidate import UNKNOWN, Book
from instinct_git.core.evidence import day_of, iso_day
from instinct_git.core.model import Evidence
from instinct_git.core.pattern import Finding

OPEN, MERGED, CLOSED, REVERTED, GONE = "open", "merged", "closed", "reverted", "gone"
STATES = (OPEN, MERGED, CLOSED, REJECTED, REVERTED, GONE)
FOLDERS = (SKILL, PROCEDURE, RULE, MEMORY, "batch")
"""What a proposal's branch is named below `instinct/`."""
_LAST = "zz"
"""Begins the nonce of what counts last in its day: successes of that day came before it."""
_ALWAYS_BOTS = re.compile(r"(?i).*\[bot\]|app/.+|(project|group)_\d+_bot.*")


class Turn(NamedTuple):
    """A commit of the default branch's first-parent line by which a pattern graduated, or ceased to be graduated."""

    commit: str
    seconds: int
    """When it was committed, in seconds since 1970."""
    day: str
    """The same as a UTC day, YYYYMMDD."""
    graduated: bool
    to: str
    """The `graduated_to` of the file that is or was graduated."""


# --- evidence ---------------------------------------------------------------------------------------------------------


def approval(key: str, landing: str, day: str, by: str, to: str, kind: str) -> Evidence:
    """Return the evidence that a proposal landed. `day` is YYYYMMDD, `by` who merged it: `human:<login>` or UNKNOWN."""
    extra = {"kind": kind, "to": to} if kind else {"to": to}
    return Evidence(f"{day}-{code(APPROVED, key, landing, by)}.1", key, APPROVED, iso_day(day), by, extra=extra)


def taken_back(key: str, landing: str, turn: Turn, kind: str) -> Evidence:
    """Return the evidence that the default branch took back what had landed: a rejection."""
    extra = {"kind": kind} if kind else {}
    extra |= {"to": landing, "why": f"reverted in {turn.commit[:12]}"}
    return _rejection(key, "reverted " + turn.commit, turn.day, UNKNOWN, extra)


def closing(key: str, branch: str, url: str, day: str, by: str, kind: str) -> Evidence:
    """Return the evidence that a pull request was closed without being merged: a rejection."""
    extra = {"kind": kind, "why": "pull request closed"} if kind else {"why": "pull request closed"}
    return _rejection(key, "closed " + (url or branch), day, by, extra)


def _rejection(key: str, deed: str, day: str, by: str, extra: Mapping[str, str]) -> Evidence:
    stem = _LAST + code(REJECTED, key, deed)[len(_LAST) :]
    return Evidence(f"{day}-{stem}.1", key, REJECTED, iso_day(day), by, extra=extra)


def same_deed(one: Evidence, other: Evidence) -> bool:
    """True for evidence of one deed, whatever the day that it was booked for."""
    return one.k == other.k and one.id.partition("-")[2] == other.id.partition("-")[2]


def approval_news(members: Iterable[Evidence], key: str, landing: Turn, login: str, kind: str) -> Evidence | None:
    """Return the approval of a landing to book; None: it is known. Known persons come once each, the unknown one only
    where nobody is known."""
    there = {one.by for one in members if candidates.approves(one, landing.commit)}
    by = f"human:{login}" if login else UNKNOWN
    if by in there or (by == UNKNOWN and there):
        return None
    return approval(key, landing.commit, landing.day, by, landing.to, kind)


def kind_of(key: str, to: str, memory_text: str = "") -> str:
    """Return the kind of what landed at a path; empty where `memory/MEMORY.md` does not say which it is."""
    if to == memory_file.PATH:
        section = memory_file.section_of(memory_text, f"`{key}`") or memory_file.section_of(memory_text, f"`` {key} ``")
        return "" if not section else RULE if section == memory_file.KEY_LESSONS else MEMORY
    return SKILL if to.startswith("skills/") else PROCEDURE if to.startswith("memory/procedures/") else ""


def kind_in(branch: str) -> str:
    """Return the kind that a proposal's branch is named for; empty for a batch."""
    folder = branch.split("/")[1] if branch.startswith("instinct/") else ""
    return folder if folder in FOLDERS[:-1] else ""


def branch_of(to: str) -> str:
    """Return the branch that a document was proposed on when it was given its own name; empty: it does not tell."""
    if to.startswith("skills/") and to.endswith("/SKILL.md"):
        return f"instinct/{SKILL}/{to.split('/')[1]}"
    if to.startswith("memory/procedures/") and to.endswith(".md"):
        return f"instinct/{PROCEDURE}/{to.removesuffix('.md').rpartition('/')[2]}"
    return ""


# --- who waits, who may ask again -------------------------------------------------------------------------------------


def waiting(members: Iterable[Evidence]) -> Evidence | None:
    """Return the proposal that nobody has answered; None when there is none."""
    given = candidates.answers(members)
    return given[-1] if given and given[-1].k == PROPOSED else None


def in_force(members: Sequence[Evidence]) -> tuple[Evidence, int] | None:
    """Return the rejection that stands and how many more successes it asks for; None: it may be proposed. A proposal
    that was made all the same, by a clone that did not know of it, takes nothing back."""
    given = [one for one in candidates.answers(members) if one.k != PROPOSED]
    if not given or given[-1].k != REJECTED:
        return None
    left = NUMBERS.reproposal - candidates.new_successes(members, given[-1])
    return (given[-1], left) if left > 0 else None


def rejected_for(members: Iterable[Evidence], reason: str) -> bool:
    """True when the rejections since the last proposal or approval already give that reason."""
    for one in reversed(candidates.answers(members)):
        if one.k != REJECTED:
            return False
        if one.extra.get("why") == reason:
            return True
    return False


def said(rejection: Evidence) -> str:
    """Return a rejection in words: its day and its reason."""
    why = str(rejection.extra.get("why") or "no reason was given")
    return f"{iso_day(day_of(rejection.id))} ({why})"


# --- check ------------------------------------------------------------------------------------------------------------


def is_bot(by: str, bots: str) -> bool:
    """True for who is no person: a name of the comma-separated list, what a host marks as a bot, and any source that
    does not say `human:`. Nothing, and UNKNOWN, may be a person."""
    if not by or by == UNKNOWN:
        return False
    name = by.removeprefix("human:").strip().casefold()
    listed = {one.strip().casefold() for one in bots.split(",")} - {""}
    return not by.startswith("human:") or name in listed or _ALWAYS_BOTS.fullmatch(name) is not None


def audit_approvals(book: Book, bots: str) -> list[Finding]:
    """Return an error for every approval, in evidence or in a pattern file, that no person can have given (law 8)."""
    found = []
    approved = [one for one in book.everything if one.k == APPROVED and one.id in book.tree_ids]
    for key in sorted({book.stands_for.get(one.p, one.p) for one in approved}):
        for one in candidates.answers(book.groups.get(key, ())):
            if one.k == APPROVED and one.id in book.tree_ids and is_bot(one.by, bots):
                path = book.files[key].path if key in book.files else ".instinct"
                words = f"{key!r} was approved by {one.by!r} on {iso_day(day_of(one.id))}; only a person approves"
                hint = f"revert the merge and let a person merge it; `instinct retract {one.id}` if that name is wrong"
                found.append(Finding("approved-by-bot", path, f"{words} ({hint})", ERROR))
    for file in sorted(book.files.values(), key=lambda one: one.path):
        for entry in file.verified:
            by = str(entry.get("by", ""))
            if is_bot(by, bots):
                words = f"verified by {by!r}; only a person approves (take the entry out, or set `bots`)"
                found.append(Finding("approved-by-bot", file.path, words, ERROR, line_of(file, "verified")))
    return found

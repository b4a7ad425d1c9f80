"""What a proposal tells its reviewers: the title and body of a pull request, and the commit message. Pure.

Every word that comes from evidence or a pattern file is data that anybody may have written. It stands in code spans, cut
short, without hidden characters; and what a host would act on (mentions, references to issues, addresses) is written so
that people read it and no host acts on it.
"""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from instinct_git.core.evidence import day_of, iso_day
from instinct_git.core.kinds import MEMORY, PROCEDURE, RULE, SKILL
from instinct_git.core.model import Evidence

TRAILER, KEYS, TREE = "Instinct-Batch: propose", "Instinct-Pattern", "Instinct-Tree"
BOOKKEEPING = frozenset(("proposed", "approved", "rejected", "expired", "faded", "idle", "scored"))
"""Kinds that say nothing about how a pattern did: a proposal made twice must find the same evidence."""
MAX_TITLE, MAX_CELL, MAX_REASON, MAX_LINE = 120, 160, 400, 600
"""Characters that are shown of a title, a cell, a reason of a score, and a line of MEMORY.md."""
MAX_ROWS, MAX_REASONS, MAX_DIFF, MAX_FILES = 20, 20, 12_000, 60
"""Rows of a table, reasons of a score, characters of the differences, and files that are shown."""
_ACTED_ON = str.maketrans({"@": "＠", "#": "＃", "!": "！"})


class Told(NamedTuple):
    """What is told of one proposed pattern."""

    key: str
    kind: str
    """skill, procedure, rule or memory."""
    name: str
    title: str
    path: str
    """Where it lands, from the top of the repository."""
    confidence: int
    level: str
    evidence: tuple[Evidence, ...]
    line: str = ""
    """Of a rule or a memory: the line that MEMORY.md gains."""
    score: str = ""
    """Of a candidate: its score, with two digits; empty: it is none."""
    status: str = ""
    reasons: tuple[str, ...] = ()
    held: str = ""
    """The security bypass that it names; empty: none."""
    read: bool = True
    """True where agents read the document, so that the pattern falls silent."""


class Kept(NamedTuple):
    """A file that a person has changed, so that the proposal leaves it as it is."""

    path: str
    """From the top of the repository."""
    diff: str
    """From the person's version to the one that would have been proposed (unified)."""


# --- words that no host acts on -------------------------------------------------------------------------------------


def inert(text: str) -> str:
    """Return foreign text as one line that people read and no host acts on: full-width @, # and !, no live address."""
    words = " ".join("".join(char if _visible(char) else " " for char in text).split())
    words = re.sub(r"(?i)\b(GH)-(?=\d)", r"\1－", words.translate(_ACTED_ON))
    return words.replace("://", ":／／")


def _visible(char: str) -> bool:
    return char == " " or unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def code(text: str, most: int = MAX_CELL) -> str:
    """Return foreign text as a code span: no markup in it is markup."""
    words = inert(text)
    words = words if len(words) <= most else words[: most - 1].rstrip() + "…"
    if not words:
        return ""
    marks = "`" * (max((len(run) for run in re.findall(r"`+", words)), default=0) + 1)
    gap = " " if words[0] == "`" or words[-1] == "`" else ""
    return f"{marks}{gap}{words}{gap}{marks}"


def key_trailer(key: str) -> str:
    """Return the trailer that names a pattern. A host reads commit messages too: what it acts on is percent-encoded."""
    return f"{KEYS}: {re.sub(r'[%@#!]|(?<=:)//|(?i:(?<=GH))-(?=[0-9])', _encoded, key)}"


def _encoded(found: re.Match[str]) -> str:
    return "".join(f"%{ord(char):02X}" for char in found.group())


def trailer_keys(message: str) -> tuple[str, ...]:
    """Return the keys that a commit's trailers name, in their order."""
    found = re.findall(rf"(?m)^{KEYS}: (.+)$", message)
    return tuple(
        dict.fromkeys(re.sub(r"%([0-9A-F]{2})", lambda one: chr(int(one[1], 16)), key.strip()) for key in found)
    )


# --- title, message, body ---------------------------------------------------------------------------------------------


def title(told: Sequence[Told], name: str) -> str:
    """Return a request's title in one line."""
    if len(told) > 1:
        return f"instinct: propose {len(told)} patterns ({name})"
    words = inert(told[0].title)
    said = f"instinct: propose {told[0].kind} {name}" + (f": {words}" if words else "")
    return said if len(said) <= MAX_TITLE else said[: MAX_TITLE - 1].rstrip() + "…"


def message(told: Sequence[Told], name: str, *, approved: bool = False) -> str:
    """Return the commit message, with its trailers. `approved`: a person has said yes to it already."""
    first = f"instinct: propose {told[0].kind} {name}" if len(told) == 1 else title(told, name)
    lines = [first, ""]
    for one in told:
        lines += [f"{inert(one.key)}  confidence {one.confidence}  {inert(one.level)}", f"  {changes(one)}"]
        if one.score:
            lines.append(f"  score {one.score}, {one.status}")
        lines += [f"  {row[0]}: {row[1]}, {row[4]} to {row[5]}" for row in _rows(one.evidence)[:MAX_ROWS]]
        lines += [f"  {inert(reason)[:MAX_REASON]}" for reason in one.reasons[:MAX_REASONS]]
        lines.append("")
    open_words = "A person decides: merging this branch approves it, closing its request declines it."
    lines += ["Approved by a person on their terminal." if approved else open_words, ""]
    trailers = [TRAILER, "Instinct-Format: 1", *(key_trailer(one.key) for one in told)]
    return "\n".join([*lines, *trailers]) + "\n"


def changes(one: Told) -> str:
    """Say what changes for agents when it is merged."""
    where = {
        SKILL: f"Agents get the skill {one.name} ({one.path})",
        PROCEDURE: f"Agents get the procedure {one.name} ({one.path})",
        RULE: f"{one.path} gains one rule",
        MEMORY: f"{one.path} gains one memory",
    }[one.kind]
    return f"{where}; the pattern itself is " + ("no longer suggested." if one.read else "suggested from this memory.")


def body(told: Sequence[Told], branch: str, base: str, files: Sequence[str], kept: Sequence[Kept] = ()) -> str:
    """Return the text of the pull request: what changes, the evidence, the score, how to try it, how to say no."""
    lines: list[str] = []
    for one in told:
        lines += _about(one)
    again = ", and the pattern is suggested again" if all(one.read for one in told) else ""
    keys = [one.key for one in told]
    lines += [
        "## Try it", "", *_fenced([f"git fetch && git switch {branch}", f"git diff {base}...{branch}"]),
        f"Merging into `{base}` approves it; `git revert` of the merge takes it back{again}.", "",
        "## Say no", "", "Close this request, or delete the branch, and keep the reason, so that it is not proposed again too soon:", "",
        *_fenced([f'instinct reject {shlex.quote(key)} --reason "..."' for key in keys[:MAX_ROWS]]),
    ]  # fmt: skip
    if kept:
        lines += ["## Yours is kept", "", *kept_lines(kept)]
    lines += ["## Files", "", *(f"- {code(path)}" for path in files[:MAX_FILES])]
    lines += [f"- and {len(files) - MAX_FILES} more"] if len(files) > MAX_FILES else []
    return "\n".join(lines) + "\n"


def _about(one: Told) -> list[str]:
    lines = [f"## {code(one.title or one.key)}", "", "### What changes for agents", "", changes(one), ""]
    if one.line:
        lines += [code(one.line, MAX_LINE), ""]
    lines += [f"Pattern {code(one.key)}: confidence {one.confidence}, {code(one.level)}.", ""]
    if one.held:
        lines += [f"**It names a security bypass ({code(one.held)}): look twice.**", ""]
    rows = _rows(one.evidence)
    if rows:
        lines += ["### Evidence", "", "| what | times | by | where | first | last |", "|---|---:|---|---|---|---|"]
        lines += [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows[:MAX_ROWS]]
        lines += [""]
    if one.score:
        lines += [f"### Score {one.score} ({one.status})", ""]
        lines += [f"- {code(reason, MAX_REASON)}" for reason in one.reasons[:MAX_REASONS]]
        left = len(one.reasons) - MAX_REASONS
        lines += [f"- and {left} more; `instinct explain` shows all"] if left > 0 else []
        lines += [""]
    return lines


def _rows(evidence: Iterable[Evidence]) -> list[tuple[str, str, str, str, str, str]]:
    """Return (kind, times, sources, contexts, first day, last day) a kind, the most frequent first."""
    kinds: Mapping[str, list[Evidence]] = defaultdict(list)
    for one in evidence:
        if one.k not in BOOKKEEPING:
            kinds[one.k].append(one)
    rows = []
    for kind, members in sorted(kinds.items(), key=lambda item: (-len(item[1]), item[0])):
        days = sorted(day_of(one.id) for one in members)
        by, where = _names(one.by for one in members), _names(one.ctx for one in members)
        rows.append((kind, str(len(members)), by, where, iso_day(days[0]), iso_day(days[-1])))
    return rows


def _names(names: Iterable[str]) -> str:
    known = sorted({name for name in names if name})
    shown = ", ".join(code(name, 40) for name in known[:6])
    return shown + (f" and {len(known) - 6} more" if len(known) > 6 else "")


def _fenced(lines: Sequence[str], language: str = "sh") -> list[str]:
    """Return lines as a block of code that nothing in them can end."""
    longest = max((len(run) for line in lines for run in re.findall(r"`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [fence + language, *lines, fence, ""]


def kept_lines(kept: Sequence[Kept]) -> list[str]:
    """Say which files a person has changed: theirs stay, and here is what would change in them."""
    lines: list[str] = []
    room = MAX_DIFF
    for one in kept:
        shown = one.diff[:room]
        room -= len(shown)
        visible = "".join(char if char == "\n" or _visible(char) or char == "\t" else " " for char in shown)
        lines += [f"A person has changed {code(one.path)}: it stays as it is. What would change:", ""]
        lines += _fenced([*visible.splitlines(), *(["(cut)"] if len(shown) < len(one.diff) else [])], "diff")
    return lines

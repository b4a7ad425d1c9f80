"""Results into text. Colours only on a terminal, and never with NO_COLOR."""

from __future__ import annotations

import json
import os
import re
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from instinct_git.core.candidates import Candidate
    from instinct_git.core.pattern import Finding
    from instinct_git.core.report import Calls, Explanation, Stats
    from instinct_git.operations.batches import BatchResult
    from instinct_git.operations.diagnosing import Diagnosis
    from instinct_git.operations.hits import Hit
    from instinct_git.operations.reading import Pattern
    from instinct_git.operations.setup import SetUp
    from instinct_git.operations.suggesting import Suggestions

_COLOURS = {
    "rule": "32", "mature": "36", "raw": "2", "faded": "2", "error": "31", "warning": "33", "notice": "2",
    "nominated": "1;32", "ready": "36", "collecting": "2", "proposed": "33", "approved": "32", "rejected": "31", "expired": "2",
}  # fmt: skip


def paint(text: str, kind: str) -> str:
    """Return text in the colour of its kind, where colours are wanted."""
    wanted = sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    return f"\x1b[{_COLOURS[kind]}m{text}\x1b[0m" if wanted and kind in _COLOURS else text


def json_text(value: Any) -> str:
    """Return a result as JSON, in one form for all verbs."""
    return json.dumps(plain(value), ensure_ascii=False, indent=2, default=str)


def plain(value: Any) -> Any:
    """Return a result as plain data: named tuples and dataclasses become objects, whatever holds them."""
    if hasattr(value, "_asdict"):
        value = value._asdict()
    elif hasattr(value, "__dataclass_fields__"):
        value = {name: getattr(value, name) for name in value.__dataclass_fields__}
    if isinstance(value, Mapping):
        return {str(name): plain(one) for name, one in value.items()}
    return [plain(one) for one in value] if isinstance(value, (list, tuple)) else value


def width(text: str) -> int:
    """Return how many columns a text takes on a terminal (a CJK character takes two, our colours none)."""
    if "\x1b" in text:
        text = re.sub("\x1b\\[[0-9;]*m", "", text)
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return len(text) + wide - sum(unicodedata.combining(char) != 0 for char in text)


def pad(text: str, columns: int) -> str:
    """Return text filled up to a number of columns."""
    return text + " " * max(0, columns - width(text))


def clean(text: str) -> str:
    """Return one line without control characters: what comes from files must not drive the terminal."""
    return "".join(char if char.isprintable() else " " for char in text)


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows as aligned lines; the last column is left as it is."""
    if not rows:
        return []
    widths = [max(width(row[i]) for row in rows) for i in range(len(rows[0]) - 1)]
    padded = [[*(pad(cell, size) for cell, size in zip(row, widths, strict=False)), row[-1]] for row in rows]
    return ["  ".join(row).rstrip() for row in padded]


def suggestion_lines(found: Suggestions) -> list[str]:
    """Return the suggestions, one a line, and their number."""
    keys = max((width(one.pattern) for one in found.patterns), default=0)
    lines = []
    for one in found.patterns:
        level = paint(pad(f"[{one.level}]", 8), one.level)
        number = pad(f"conf={one.confidence}", 8)
        lines.append(f"{pad(one.pattern, keys)}    {number} {level}  {one.category}  — {clean(one.words)}{marked(one)}")
    count = len(found.patterns)
    lines.append(f"# {count} suggestion{'' if count == 1 else 's'}")
    if found.left_out:
        why = "the limit" if found.beyond == len(found.left_out) else f"budget {found.budget} tokens"
        lines.append(f"# {len(found.left_out)} more left out ({why})")
    return lines


def budget_lines(found: Suggestions) -> list[str]:
    """Return every mature pattern with what it takes of the token budget and what became of it."""
    from instinct_git.operations.suggesting import explained

    rows = [(key, f"{cost:>4} tokens", clean(what)) for key, what, cost in explained(found)]
    told = sum(found.costs.get(one.pattern, 0) for one in found.patterns)
    around = f", {found.spent - told} of them around the advice" if found.spent > told else ""
    return [*table(rows), f"# {found.spent} of {found.budget} tokens are taken{around}"]


def budget_json(found: Suggestions) -> dict[str, Any]:
    """Return the same as plain data."""
    from instinct_git.operations.suggesting import explained

    rows = [{"pattern": key, "tokens": cost, "what": what} for key, what, cost in explained(found)]
    return {"budget": found.budget, "spent": found.spent, "explained": rows}


def marked(one: Pattern) -> str:
    """Return the mark of a suggestion that no review has answered yet."""
    return " (awaiting review)" if one.because == "awaiting review" else ""


def pattern_lines(patterns: Iterable[Pattern | Hit], *, because: bool = False) -> list[str]:
    """Return patterns, or what a search found, as a table."""
    rows, patterns = [], list(patterns)
    several = len({(one.scope, one.memory) for one in patterns}) > 1
    for one in patterns:
        number = str(one.confidence) if one.live == one.confidence else f"{one.confidence} (live {one.live})"
        kind = str(getattr(one, "kind", ""))
        marks = [
            one.level or kind,
            "candidate" if kind == "candidate" else "",
            "" if one.status == "active" else one.status,
        ]
        state = f"[{' '.join(filter(None, marks))}]"
        origin = f"  ({one.because})" if because and one.because else ""
        origin += f"  ({one.memory or one.scope})" if several and one.scope in ("shared", "global") else ""
        rows.append((clean(one.pattern), number if one.level else "", state, one.category, clean(one.words) + origin))
    return table(rows)


def show_lines(one: Pattern, body: str) -> list[str]:
    """Return one pattern, a field a line."""
    fields = [
        ("pattern", one.pattern), ("title", clean(one.title)), ("description", clean(one.description)),
        ("category", one.category), ("confidence", str(one.confidence)), ("live", str(one.live)), ("level", one.level),
        ("status", one.status), ("first seen", one.first_seen), ("last seen", one.last_seen),
        ("sources", ", ".join(one.sources)), ("tags", ", ".join(one.tags)), ("scope", " ".join(filter(None, (one.scope, one.memory)))),
        ("path", one.path or "(no batch has made a file yet)"),
    ]  # fmt: skip
    lines = [f"{pad(name + ':', 13)}{value}" for name, value in fields if value]
    lines += [f"{pad('note:', 13)}{clean(one.because)}"] if one.because else []
    if one.metadata:
        lines.append(f"{pad('metadata:', 13)}{json.dumps(one.metadata, ensure_ascii=False)}")
    return lines + (["", *body.strip().split("\n")] if body.strip() else [])


def batch_lines(done: BatchResult) -> list[str]:
    """Return what a batch did, in the words every batch uses."""
    if done.verb == "record" and done.dry_run:
        return [*done.published.splitlines(), f"# would publish {done.recorded} pieces of evidence", *_notices(done)]
    lines = []
    if done.dry_run:
        lines += [f"would write {path}" for path in done.files]
    for one in done.moved:
        before = "new" if one.before is None else str(one.before)
        level = "faded" if one.after <= 0 else one.level
        lines.append(f"{one.key}  {before} -> {one.after}  {level}")
    from instinct_git.core.batch import FADED_WORDS

    why, goes = dict(done.gone), "would go" if done.dry_run and done.gone else "gone"
    lines += [f"{key}  {goes} ({why.get(key, FADED_WORDS)})" for key in done.faded]
    if done.verb == "record":
        lines.append(f"Recorded: {done.recorded}")
    else:
        if done.verb == "decay":
            lines.append(f"Decayed: {done.decayed}")
        lines += [
            f"Promoted to mature: {done.promoted_to_mature}",
            f"Promoted to rule: {done.promoted_to_rule}",
            f"Total instincts: {done.total}",
        ]
    if done.commit:
        lines.append(f"Commit: {done.commit[:12]}")
    elif not done.dry_run and not done.files:
        lines.append("Nothing to commit: everything is up to date")
    return lines + _notices(done)


def _notices(done: BatchResult) -> list[str]:
    return [f"# {notice}" for notice in done.notices]


def setup_lines(done: SetUp) -> list[str]:
    """Return what `init` wrote and what each file is for."""
    verb = "would write" if done.dry_run else "wrote"
    lines = [f"{verb} {path}  ({meaning})" for path, meaning in done.written]
    if done.kept:
        lines.append(f"kept {len(done.kept)} files that were there")
    lines.append(f"{'A private' if done.scope == 'private' else 'A'} memory in {done.root}; nothing else was touched.")
    lines.append(f"consolidate: {done.consolidate}  ({' '.join(done.why.replace(chr(10) + '# ', ' ').split())})")
    if not done.in_git:
        lines.append("This is no git repository: batches write files and commit nothing.")
    lines.append('Next: instinct observe "seq:lint->fix->test"; the first batch commits these files too.')
    return lines


def explain_lines(one: Explanation) -> list[str]:
    """Return the evidence of a pattern in fold order, with the running number."""
    lines = [f"{one.pattern}  confidence {one.confidence}, live {one.live}  [{one.level}]"]
    rows = []
    for line in one.lines:
        delta = "capped" if line.capped else f"{line.delta:+d}"
        told = "; ".join(part for part in (line.note, f"reaches {line.passed}" if line.passed else "") if part)
        session = f"session {line.session}" if line.session else ""
        number = f"= {line.confidence}"
        rows.append((line.day, line.id, line.kind, line.source or "-", session, delta, number, line.where, clean(told)))
    for line, row in zip(one.lines, table(rows), strict=True):
        lines.append("  " + row)
        if line.calls is not None:
            lines.append(f"      {_calls(line.calls)}")
    if one.offset:
        lines.append(f"  {one.offset:+d} by hand in the file")
    lines += [f"  retracted: {evidence_id}" for evidence_id in one.retracted]
    lines.append(f"# {one.missing}")
    return lines + [f"# {notice}" for notice in one.notices]


def _calls(one: Calls) -> str:
    """Say which calls stand behind a piece of evidence."""
    what = "call" if one.path else "observation"
    steps = ", ".join(f"{number} {action}" for number, action in zip(one.numbers, one.actions, strict=False))
    where = f"session {one.session}" + (f" ({one.path})" if one.path else "")
    return clean(f"{what}{'' if len(one.numbers) == 1 else 's'} {steps} of {where}")


def stats_lines(one: Stats) -> list[str]:
    """Return the memory in numbers."""

    def counts(values: Any) -> str:
        return ", ".join(f"{name} {number}" for name, number in values.items() if number) or "none"

    lines = [
        f"memory:      {one.root} ({one.scope})",
        f"patterns:    {one.patterns} ({counts(one.by_level)})",
        f"categories:  {counts(one.by_category)}",
        f"evidence:    {one.evidence} ({counts(one.by_kind)})",
        f"sources:     {counts(one.by_source)}",
        f"waiting:     {one.in_inbox} in the inbox" + (f" since {one.inbox_since}" if one.inbox_since else "")
        + f", {one.in_observations} recorded and not folded",
    ]  # fmt: skip
    if one.next_step:
        lines.append(f"next:        {one.next_step}")
    if one.removed_by_person:
        lines.append(f"deleted:     {one.removed_by_person} by a person, kept away")
    if one.unreadable:
        lines.append(f"unreadable:  {one.unreadable} pattern files (`instinct check`)")
    return lines


def diagnosis_lines(found: Sequence[Diagnosis]) -> list[str]:
    """Return what `doctor` saw, a topic a line, each with what to do."""
    colours = {"ok": "rule", "notice": "warning", "problem": "error"}
    rows = [(paint(pad(one.state, 7), colours[one.state]), f"{one.topic}:", clean(one.words)) for one in found]
    lines = []
    for row, one in zip(table(rows), found, strict=True):
        lines += [row, *([f"         hint: {clean(one.hint)}"] if one.hint else [])]
    return lines


def candidate(one: Candidate | None) -> dict[str, Any] | None:
    """Return a candidate as plain data, its key first."""
    from instinct_git.operations.pooling import as_json

    return {"pattern": one.pattern, **(as_json(one) or {})} if one else None


def candidate_lines(found: Sequence[Candidate]) -> list[str]:
    """Return candidates as a table: key, score, status, kind, and how often it worked. The nominated come first, each
    with the command that answers it."""
    from instinct_git.operations.noticing import answers

    ordered = sorted(found, key=lambda one: one.status != "nominated")
    states = max((width(one.status) for one in ordered), default=0) + 2
    rows = table(
        [
            (
                one.pattern,
                f"score={one.score:.2f}",
                paint(pad(f"[{one.status}]", states), one.status),
                one.kind,
                f"worked {one.successes} x, failed {one.failures} x",
            )
            for one in ordered
        ]
    )
    lines = []
    for row, one in zip(rows, ordered, strict=True):
        lines += [row, f"  {answers(one.pattern)}"] if one.status == "nominated" else [row]
    return lines


def finding_lines(findings: Sequence[Finding]) -> list[str]:
    """Return findings as path:line: severity: message, and their number."""
    lines = []
    for one in findings:
        place = f"{one.path}:{one.line}" if one.line else one.path
        lines.append(f"{place}: {paint(one.severity, one.severity)}: {clean(one.message)} [{one.rule}]")
    errors = sum(one.severity == "error" for one in findings)
    others = len(findings) - errors
    lines.append(f"# {errors} error{'' if errors == 1 else 's'}, {others} other finding{'' if others == 1 else 's'}")
    return lines


def rules_markdown(patterns: Sequence[Pattern]) -> list[str]:
    """Return the rules as a Markdown list that any agent can read."""
    lines = ["# Rules", ""]
    for one in patterns:
        lines.append(f"- {clean(one.words)} (`{one.pattern}`, {one.confidence} x)")
    return lines if patterns else ["# Rules", "", "No pattern is a rule yet."]

"""The four kinds of durable knowledge, each rendered from what a pattern file says; what is unknown is left out."""

from __future__ import annotations

from instinct_git.core import body, proposal
from instinct_git.core.candidates import KINDS as KINDS  # one table of kinds, under this module's name too
from instinct_git.core.candidates import MEMORY as MEMORY
from instinct_git.core.candidates import PROCEDURE as PROCEDURE
from instinct_git.core.candidates import RULE as RULE
from instinct_git.core.candidates import SKILL as SKILL
from instinct_git.core.document import quote
from instinct_git.core.keys import describe, split_key
from instinct_git.core.memory_file import DECISIONS, FACTS, KEY_LESSONS, PATH, PREFERENCES
from instinct_git.core.model import Tally
from instinct_git.core.pattern import PatternFile

MAX_WHY = 240
"""Characters of a rule's reason: a memory file is loaded whole, in every session."""

_SECTIONS = {
    DECISIONS: ("decision", "decisions", "decided", "决定", "决策"),
    PREFERENCES: ("preference", "preferences", "prefer", "prefers", "preferred", "偏好"),
    FACTS: ("fact", "facts", "事实"),
}
_OPENINGS = {
    DECISIONS: ("we decided", "decided", "decision:", "it was decided", "决定", "我们决定"),
    PREFERENCES: ("prefer", "i prefer", "we prefer", "偏好", "我喜欢", "更喜欢"),
}


def procedure_path(name: str) -> str:
    """Return a procedure's path below the memory's root."""
    return f"memory/procedures/{name}.md"


def path_of(kind: str, name: str) -> str:
    """Return where a kind's document stands, below the memory's root."""
    if kind == SKILL:
        return f"skills/{name}/SKILL.md"
    return procedure_path(name) if kind == PROCEDURE else PATH


def procedure(pattern: PatternFile, tally: Tally, name: str) -> str:
    """Return the text of `memory/procedures/<name>.md`: what it needs, its steps, how to tell that it worked."""
    title = proposal.heading(pattern)
    known = body.read(pattern)
    head = ["---", "type: Procedure", f"name: {name}", f"title: {quote(proposal.plain(title))}"]
    if pattern.description.strip():
        head.append(f"description: {quote(proposal.plain(pattern.description))}")
    head += [*proposal.provenance(pattern, tally), "---"]
    parts = [f"# {title}", ""]
    if pattern.description.strip():
        parts += [proposal.sentence(pattern.description), ""]
    for label, lines in (
        ("When to use", proposal.when(pattern, known)),
        ("Prerequisites", [known.prerequisites]),
        ("Steps", proposal.steps(pattern, known)),
        ("Verification", proposal.verification(pattern, known)),
        ("Common errors", [known.errors]),
        ("Boundaries", proposal.boundaries(pattern, known)[1:]),
        ("Notes", proposal.notes(known)),
    ):
        parts += proposal.section(label, lines)
    return proposal.stamped("\n".join([*head, *parts]))


def rule_line(pattern: PatternFile) -> str:
    """Return a rule as one line: what to do, why, and the key in backticks."""
    return _line(_what(pattern), _why(pattern) or _seen(pattern), pattern.key)


def memory_line(pattern: PatternFile) -> tuple[str, str]:
    """Return (section of MEMORY.md, line) of a memory. The section: as metadata or tags say, else by the words."""
    return _section(pattern), _line(_what(pattern), _why(pattern), pattern.key)


def rule_section() -> str:
    """Return the section of MEMORY.md that rules go to."""
    return KEY_LESSONS


def _line(what: str, why: str, key: str) -> str:
    said = f"{what.rstrip('.。:：')}: {why}" if why else what
    return proposal.visible(f"{said.rstrip('.。')} {mark(key)}")


def mark(key: str) -> str:
    """Return how a line of MEMORY.md ends that comes from this pattern: its key in backticks, in brackets."""
    return f"(`` {key} ``)" if "`" in key else f"(`{key}`)"


def _what(pattern: PatternFile) -> str:
    return _short(proposal.heading(pattern)) if pattern.title.strip() else _upper(describe(pattern.key))


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _why(pattern: PatternFile) -> str:
    """Return the reason: the body's or the metadata's own, else the description where it says more than the title."""
    reasons = body.sentences(body.read(pattern).why)
    why = _short(reasons[0] if reasons else pattern.description)
    return "" if why.casefold().rstrip(".。") == proposal.heading(pattern).casefold().rstrip(".。") else why


def _seen(pattern: PatternFile) -> str:
    """Say what evidence a rule has that nobody gave a reason for."""
    days = [day for day in (pattern.first_seen, pattern.last_seen) if day]
    if not days:
        return ""
    when = f"from {days[0]} to {days[-1]}" if days[0] != days[-1] else f"on {days[0]}"
    by = f" by {', '.join(pattern.sources)}" if pattern.sources else ""
    return f"learned from use {when}{by}"


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= MAX_WHY else text[: MAX_WHY - 1].rstrip() + "…"


def _section(pattern: PatternFile) -> str:
    asked = [*body.texts(pattern.metadata.get("section")), *pattern.tags]
    for word in (one.casefold() for one in asked):
        for section, names in _SECTIONS.items():
            if word in names:
                return section
    title = " ".join((pattern.title or split_key(pattern.key)[1]).casefold().split())
    for section, openings in _OPENINGS.items():
        if title.startswith(openings):
            return section
    return PREFERENCES if pattern.category == "preference" else FACTS

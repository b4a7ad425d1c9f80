"""A pattern's free text by section (steps, verification, errors ...), in English or Chinese, safe to put elsewhere.

The text is data from a file that anybody may have written: moved into a skill it begins no front matter, closes what it
opens, and its headings stay below the skill's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from instinct_git.core.markdown import (
    Heading,
    Outline,
    as_words,
    at_margin,
    bare,
    heading_words,
    is_rule,
    item,
    outline,
)
from instinct_git.core.pattern import PatternFile

WHEN, PREREQUISITES, STEPS, VERIFY, ERRORS, BOUNDARIES, WHY, NOTES = (
    "when", "prerequisites", "steps", "verify", "errors", "boundaries", "why", "notes",
)  # fmt: skip
_NAMES: Mapping[str, str] = {
    name: part
    for part, names in {
        WHEN: "when to use, when to use it, when to use this, when, when it applies, use when, trigger, triggers,"
        " 何时使用, 什么时候用, 适用场景, 使用场景, 触发条件",
        PREREQUISITES: "prerequisites, prerequisite, requirements, before you start, preconditions,"
        " 前提, 前提条件, 前置条件, 先决条件, 准备工作",
        STEPS: "steps, the steps, procedure, instructions, workflow, how to, how to do it, action,"
        " 步骤, 操作步骤, 执行步骤, 流程, 操作流程",
        VERIFY: "verify, verification, how to verify, verifying, check, checks, validation, 验证, 如何验证, 验证方法, 检查, 验收",
        ERRORS: "errors, known errors, common errors, common mistakes, known problems, known issues, what goes wrong,"
        " what can go wrong, pitfalls, gotchas, troubleshooting, 常见错误, 已知错误, 常见问题, 踩坑, 故障排除, 注意事项",
        BOUNDARIES: "boundaries, limits, 边界, 限制",
        WHY: "why, reason, rationale, 原因, 理由, 为什么",
        NOTES: "notes, note, 备注, 说明",
    }.items()
    for name in (one.strip() for one in names.split(","))
}
_TOP = 3  # the level of the highest heading in a text that is moved below a heading of level 2


class Body(NamedTuple):
    """A pattern's advice by section: Markdown that can stand below a heading of level 2; empty: nothing known."""

    when: str = ""
    prerequisites: str = ""
    steps: str = ""
    verify: str = ""
    errors: str = ""
    boundaries: str = ""
    why: str = ""
    notes: str = ""
    """What stands under no heading that we know."""


def read(pattern: PatternFile) -> Body:
    """Return a pattern's advice: its body by section, and what its metadata says of the same sections."""
    found = _sections(pattern.body)
    for part in (PREREQUISITES, STEPS, VERIFY, ERRORS, WHY):
        given = texts(pattern.metadata.get(part))
        new = [one for one in given if one not in found.get(part, "")]
        if new:
            numbered = part == STEPS
            lines = [f"{n}. {as_words(one)}" if numbered else f"- {as_words(one)}" for n, one in enumerate(new, 1)]
            rest = found.get(part, "")
            found[part] = "\n".join(lines) + (f"\n\n{rest}" if rest and numbered else f"\n{rest}" if rest else "")
    return Body(**found)


def texts(value: Any) -> list[str]:
    """Return metadata as lines: a text by its lines or at its semicolons, a list by its entries, a map as `name: value`."""
    if isinstance(value, Mapping):
        return [f"{one_line(name)}: {one_line(one)}" for name, one in value.items() if one_line(one)]
    if isinstance(value, str):
        parts: Iterable[Any] = value.splitlines() if "\n" in value else value.replace("；", ";").split(";")
    else:
        parts = value if isinstance(value, (list, tuple)) else () if value is None else (value,)
    return [line for line in map(one_line, parts) if line]


def one_line(value: Any) -> str:
    """Return a value as one line without a bullet."""
    if isinstance(value, (Mapping, list, tuple)):
        return "; ".join(texts(value))
    words = " ".join(str(value).split()) if value is not None else ""
    found = item(words)
    return found[2] if found and found[2] else "" if found else words


def sentences(text: str) -> list[str]:
    """Return the items and lines of a section as plain lines; code is left out."""
    page = outline(text)
    taken = {at for one in page.headings for at in range(one.row, one.row + one.lines)}
    lines = (line for at, line in enumerate(page.lines) if at not in taken and not page.literal[at])
    return [words for words in (one_line(line) for line in lines if not is_rule(line)) if words]


def _sections(body: str) -> dict[str, str]:
    """Return {section: its Markdown} of a body; what comes twice is joined."""
    page = outline(body.replace("\r\n", "\n").replace("\ufeff", ""))
    cuts = _cuts(page)
    parts: dict[str, list[str]] = {}
    for number, (start, part, heading) in enumerate(cuts):
        end = cuts[number + 1][0] if number + 1 < len(cuts) else len(page.lines)
        skip = heading.lines if heading and part != NOTES else 0
        if heading and part == NOTES and heading_words(heading.title) in _NAMES:
            skip = heading.lines
        text = _safe("".join(page.lines[start + skip : end]))
        if text:
            parts.setdefault(part, []).append(text)
    _steps_of_notes(parts)
    return {part: "\n\n".join(chunks) for part, chunks in parts.items()}


def _cuts(page: Outline) -> list[tuple[int, str, Heading | None]]:
    """Return (first line, section, heading) of each stretch: it lasts until a heading that is not deeper."""
    cuts: list[tuple[int, str, Heading | None]] = [(0, NOTES, None)]
    part, level = NOTES, 7
    for heading in page.headings:
        known = _NAMES.get(heading_words(heading.title))
        if known is None and part != NOTES and heading.level > level:
            continue
        if known is not None and part not in (NOTES, known) and heading.level > level:
            continue  # a subsection of a section that we know stays in it
        part, level = known or NOTES, heading.level
        cuts.append((heading.row, part, heading))
    return cuts


def _steps_of_notes(parts: dict[str, list[str]]) -> None:
    """Take a numbered list that stands under no heading for the steps, where no section names them."""
    if STEPS in parts or not parts.get(NOTES):
        return
    page = outline(parts[NOTES][0])
    until = page.headings[0].row if page.headings else len(page.lines)
    first = next((at for at in range(until) if _numbered(page, at)), None)
    if first is None:
        return
    last = end = first
    for at in range(first + 1, until):
        line = page.lines[at]
        code = page.literal[at] and last == at - 1  # a fence that an item opened belongs to it to its end
        if _numbered(page, at) or code or (line.strip() and line[0] in " \t"):
            last = at
        elif line.strip():
            break
    end = last + 1
    if sum(_numbered(page, at) for at in range(first, end)) < 2:
        return
    parts[STEPS] = ["".join(page.lines[first:end]).rstrip()]
    rest = "".join([*page.lines[:first], *page.lines[end:]]).strip("\n")
    parts[NOTES] = [rest, *parts[NOTES][1:]] if rest.strip() else parts[NOTES][1:]
    if not parts[NOTES]:
        del parts[NOTES]


def _numbered(page: Outline, index: int) -> bool:
    found = None if page.literal[index] else item(page.lines[index])
    return found is not None and found[0] == 0 and found[1][0].isdigit()


def _safe(text: str) -> str:
    """Return Markdown that can stand in another document: rules and headings that cannot break it, everything closed.

    Code keeps its bytes. A fence or a comment that never ends is ended.
    """
    page = outline("\n" + at_margin(text))  # the blank line: a rule that begins a section begins no front matter
    lines = [bare(line) for line in page.lines]
    deeper = max(0, _TOP - min((one.level for one in page.headings), default=_TOP))
    for one in page.headings:
        lines[one.row] = "#" * min(6, one.level + deeper) + " " + one.title
        lines[one.row + 1 : one.row + one.lines] = [""] * (one.lines - 1)
    for at, line in enumerate(lines):
        if not page.literal[at] and line.strip() and (is_rule(line) or not line.strip().strip("-=")):
            lines[at] = "* * *" if is_rule(line) else line.replace("-", "\\-", 1).replace("=", "\\=", 1)
    if page.open_at < len(lines):
        lines.append(_closing(lines[page.open_at]))
    kept = _trimmed(lines)
    return "\n".join(kept)


def _closing(opener: str) -> str:
    mark = opener.strip()[0]
    if mark not in "`~":
        return "-->"
    return mark * (len(opener.strip()) - len(opener.strip().lstrip(mark)))


def _trimmed(lines: Sequence[str]) -> list[str]:
    """Return the lines without the blank ones and the rules at both ends."""
    kept = list(lines)
    while kept and (not kept[0].strip() or kept[0] == "* * *"):
        kept.pop(0)
    while kept and (not kept[-1].strip() or kept[-1] == "* * *"):
        kept.pop()
    return kept

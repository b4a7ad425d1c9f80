"""What a line of Markdown is: heading, list item, code, front matter. Lines only, so that editors can keep every byte.

It knows what real memory files hold: a `---` rule that begins a file, headings inside code fences and comments, fences
that never close, headings underlined with `---`, emoji in headings, and line ends of either system.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from instinct_git.core.scalars import field

_FENCE = re.compile(r"((?:[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+)*[ \t]*)(`{3,}|~{3,})(.*)$")
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_ITEM = re.compile(r"([ \t]*)([-*+]|\d{1,9}[.)])(?:[ \t]+(.*))?$")
_RULE = re.compile(r" {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*$")
# What would begin a heading, a fence, a comment, a quote, a list, a table or a rule at the beginning of a line.
_BLOCK = re.compile(
    r"(?:#{1,6}(?:\s|$)|`{3}|~{3}|<[!?/A-Za-z]|>|\||[-*+](?:\s|$)|([-*_])\s*(?:\1\s*){2,}$|\[[^\]]*\]:)"
)
_NUMBER = re.compile(r"(\d{1,9})([.)])(\s|$)")
_COMMENT = re.compile(r" {0,3}<!--")


class Heading(NamedTuple):
    """A heading: the index of its line, its level, its words, and how many lines it takes."""

    row: int
    level: int
    title: str
    lines: int = 1


class Outline(NamedTuple):
    """A Markdown text in lines."""

    lines: list[str]
    """Every line with its own line end."""
    start: int
    """Index of the first line after the front matter."""
    literal: tuple[bool, ...]
    """For each line: it is front matter, code or a comment, so nothing in it is a heading or an item."""
    headings: tuple[Heading, ...]
    open_at: int
    """Index of the line where a fence or a comment begins that never ends; else the number of lines."""


def split_lines(text: str) -> list[str]:
    """Split at LF alone and keep the ends (str.splitlines would also split at U+2028 and form feeds)."""
    parts = text.split("\n")
    lines = [part + "\n" for part in parts[:-1]]
    return [*lines, parts[-1]] if parts[-1] else lines


def conflict_at(text: str) -> int | None:
    """Return the index of the line where a merge conflict begins: git's three markers at line starts, in their order. Not
    one that begins in a block of code or a comment that ends: it is quoted."""
    page = outline(text)
    lines, end = page.lines, len(page.lines)
    for row in range(page.start, end):
        if lines[row].startswith("<<<<<<< ") and (row >= page.open_at or not page.literal[row]):
            middle = next((i for i in range(row + 1, end) if lines[i].rstrip("\r\n") == "======="), end)
            if any(lines[i].startswith(">>>>>>> ") for i in range(middle + 1, end)):
                return row
    return None


def line_end(lines: Sequence[str]) -> str:
    """Return the line end that most of the lines have."""
    windows = sum(line.endswith("\r\n") for line in lines)
    return "\r\n" if windows * 2 > sum(line.endswith("\n") for line in lines) else "\n"


def bare(line: str) -> str:
    """Return a line without its line end."""
    return line.rstrip("\r\n")


def is_rule(line: str) -> bool:
    """True for a line that draws a rule (`---`, `***`, `___`)."""
    return _RULE.match(bare(line)) is not None


def item(line: str) -> tuple[int, str, str] | None:
    """Return (indent, bullet, words) of a list item's first line, else None."""
    found = _ITEM.match(bare(line))
    if found is None or is_rule(line):
        return None
    return len(found[1].expandtabs(4)), found[2], (found[3] or "").strip()


def as_words(text: str) -> str:
    """Return a text as one line of words: nothing in it begins a block or a comment. Twice is the same as once."""
    words = re.sub(r"(?<!\\)<!--", r"\\<!--", " ".join(text.split()))
    words = _NUMBER.sub(r"\1\\\2\3", words, count=1) if _NUMBER.match(words) else words
    return "\\" + words if _BLOCK.match(words) else words


def heading_words(title: str) -> str:
    """Return a heading's words in small letters, without emoji, marks and numbers."""
    kept = "".join(char if char.isalpha() else " " for char in title.casefold())
    return " ".join(kept.split())


def indent(line: str) -> int:
    """Return how far a line is indented, in columns."""
    text = bare(line).expandtabs(4)
    return len(text) - len(text.lstrip(" "))


def front_matter_end(lines: Sequence[str]) -> int:
    """Return the index after the front matter; 0 when there is none: a rule that begins a text encloses no fields."""
    if not lines or bare(lines[0]).removeprefix("\ufeff").rstrip() != "---":
        return 0
    close = next((i for i in range(1, len(lines)) if bare(lines[i]).rstrip() == "---"), None)
    if close is None:
        return 0
    fields = 0
    for line in lines[1:close]:
        if not line.strip() or line[0] in "#- \t":
            continue
        if field(line) is None:
            return 0
        fields += 1
    return close + 1 if fields or close == 1 else 0


def outline(text: str) -> Outline:
    """Read a Markdown text in lines."""
    lines = split_lines(text)
    start = front_matter_end(lines)
    literal, open_at = _literal(lines, start)
    return Outline(lines, start, literal, tuple(_headings(lines, start, literal)), open_at)


def _literal(lines: Sequence[str], start: int) -> tuple[tuple[bool, ...], int]:
    """Mark front matter, code and comments, and say where one begins that never ends."""
    marks = [True] * start
    index = start
    while index < len(lines):
        end = _fence_end(lines, index) or _comment_end(lines, index)
        if end is None:
            marks.append(False)
            index += 1
        elif end < 0:
            return tuple(marks + [True] * (len(lines) - index)), index
        else:
            marks += [True] * (end - index)
            index = end
    return tuple(marks), len(lines)


def _fence_end(lines: Sequence[str], index: int) -> int | None:
    """Return the index after a fence that begins here; None: none begins, -1: it never ends."""
    found = _FENCE.match(bare(lines[index]))
    if found is None or (found[2][0] == "`" and "`" in found[3]):
        return None
    nested = _container(lines, index, found[1])
    close = re.compile(rf"[ \t]*{re.escape(found[2][0])}{{{len(found[2])},}}[ \t]*$")
    until = len(lines)
    if nested:  # `# x` at the margin may be code; `## x` ends the list, whatever stands open in it
        until = next((at for at in range(index + 1, until) if re.match(r"#{2,6}\s", lines[at])), until)
    end = next((at + 1 for at in range(index + 1, until) if close.match(bare(lines[at]))), None)
    if end is not None:
        return end  # even where code is indented less than its list item: that is what its author meant
    ends = (at for at in range(index + 1, len(lines)) if lines[at].strip() and indent(lines[at]) < nested)
    return next(ends, len(lines)) if nested else -1


def at_margin(text: str) -> str:
    """Return a text whose fences that stand in no list begin at the margin, so that no list before them takes them in.

    Their lines lose the blanks that CommonMark takes from them anyway: those of the opening line.
    """
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        end = _fence_end(lines, at) or _comment_end(lines, at)
        if end is None:
            at += 1
            continue
        until = len(lines) if end < 0 else end
        found = _FENCE.match(lines[at])
        if found is not None and found[1] and not found[1].strip() and not _container(lines, at, found[1]):
            width = len(found[1])
            for row in range(at, until):
                blanks = len(lines[row]) - len(lines[row].lstrip(" "))
                lines[row] = lines[row][min(width, blanks) :]
        at = until
    return "\n".join(lines)


def _container(lines: Sequence[str], index: int, before: str) -> int:
    """Return the least indent of the list item that a fence stands in; 0: it stands in none."""
    if before.strip():
        return len(before.expandtabs(4)) - len(before.expandtabs(4).lstrip(" ")) + 1
    width = len(before.expandtabs(4))
    if width < 2:
        return 0
    for at in range(index - 1, -1, -1):
        if lines[at].strip() and indent(lines[at]) < width:
            found = item(lines[at])
            return found[0] + 1 if found else 0
    return 0


def _comment_end(lines: Sequence[str], index: int) -> int | None:
    if _COMMENT.match(lines[index]) is None:
        return None
    after = lines[index].partition("<!--")[2]
    if "-->" in after:
        return index + 1
    return next((at + 1 for at in range(index + 1, len(lines)) if "-->" in lines[at]), -1)


def _headings(lines: Sequence[str], start: int, literal: Sequence[bool]) -> list[Heading]:
    found: list[Heading] = []
    for index in range(start, len(lines)):
        if literal[index]:
            continue
        line = bare(lines[index]).removeprefix("\ufeff") if index == 0 else bare(lines[index])
        match = _HEADING.match(line)
        if match is not None:
            found.append(Heading(index, len(match[1]), (match[2] or "").strip()))
        elif index + 1 < len(lines) and not literal[index + 1] and _is_paragraph(line):
            under = _UNDERLINE.match(bare(lines[index + 1]))
            if under is not None:
                found.append(Heading(index, 1 if under[1][0] == "=" else 2, line.strip(), 2))
    return found


def _is_paragraph(line: str) -> bool:
    """True for a line that an underline would make a heading."""
    text = line.strip()
    return bool(text) and indent(line) < 4 and item(line) is None and not is_rule(line) and text[0] not in ">|"

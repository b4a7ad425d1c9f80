"""`memory/MEMORY.md`, edited in place: one line more or less, and every other byte as it was.

The file belongs to the people of a project: they name, order and decorate its sections as they like. A line is added to
the section that its kind belongs to, wherever that section stands; a missing section is added where one would look.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from instinct_git.core.markdown import (
    Heading,
    Outline,
    as_words,
    bare,
    conflict_at,
    heading_words,
    indent,
    is_rule,
    item,
    line_end,
    outline,
)
from instinct_git.errors import InstinctError, InvalidDocument

PATH = "memory/MEMORY.md"
KEY_LESSONS, MEMORIES = "Key Lessons", "Memories"
PREFERENCES, FACTS, DECISIONS = "Preferences", "Facts", "Decisions"
SECTIONS = (KEY_LESSONS, PREFERENCES, FACTS, DECISIONS)
MAX_LINES, MAX_BYTES = 200, 25_000
"""What agents load of such a file; the rest is cut off without a word."""

_NAMES: Mapping[str, tuple[str, ...]] = {
    KEY_LESSONS: ("key lessons", "key lesson", "lessons learned", "关键教训", "经验教训"),
    MEMORIES: ("memories", "记忆"),
    PREFERENCES: ("preferences", "preference", "偏好"),
    FACTS: ("facts", "fact", "事实"),
    DECISIONS: ("decisions", "decision", "决定", "决策"),
}
_LEVEL = 2  # of a section that is added, where no neighbour says otherwise
_NOTHING_YET = re.compile(r"(?:[-*+]\s+)?[*_(]*\s*(?:none yet|nothing yet|暂无)[.。]?\s*[*_)]*", re.IGNORECASE)
_ADVISED, _EXCERPT = 4, 48


class Budget(NamedTuple):
    """How much of what agents load a memory file takes."""

    lines: int
    bytes: int
    over: bool
    """More than MAX_LINES lines or MAX_BYTES bytes: agents do not see the end of the file."""
    advice: tuple[str, ...]
    """What could go, best first: repeated lines, then the longest."""


class _Item(NamedTuple):
    start: int
    end: int
    words: str


def new_text() -> str:
    """Return the text of a memory file that does not exist yet; sections come with their first line."""
    return (
        "---\ntype: Memory\n---\n# Memory of this project\n\n"
        "What a person has approved: rules and memories. Agents read it where AGENTS.md or CLAUDE.md names this file.\n"
    )


def add_line(text: str, section: str, line: str) -> str:
    """Return `text` with `line` as an item of `section`; unchanged when the file says it already.

    Raises InstinctError for a section that is none of SECTIONS, a line that is none, and a file that would grow over
    what agents load (the hint names what could go); InvalidDocument for a file with conflict markers.
    """
    if section not in SECTIONS:
        raise InstinctError(f"{PATH} has no section {section!r} of ours", "sections: " + ", ".join(SECTIONS))
    words = _one_line(line)
    before = text
    text = text or new_text()
    page = _read(text)
    wanted = _same(words)
    if any(_same(one.words) == wanted for one in _sayings(page)):
        return before
    after = _with_item(page, section, words)
    now = budget(after)
    if now.over:
        raise InstinctError(
            f"{PATH} would have {now.lines} lines and {now.bytes} bytes; agents load {MAX_LINES} lines and {MAX_BYTES} bytes",
            "take something out first: " + "; ".join(budget(text).advice or ("everything in it is short",)),
        )
    return after


def line_with(text: str, mark: str) -> str:
    """Return the words of the first line that ends with a mark, without its bullet; empty: none does."""
    return next((one.words for one in _sayings(_read(text)) if one.words.rstrip(" .。").endswith(mark)), "")


def sayings(text: str) -> list[str]:
    """Return the words of every item and of every plain line outside them. Raises InvalidDocument for conflict markers."""
    return [one.words for one in _sayings(_read(text))]


def remove_line(text: str, line: str) -> str:
    """Return `text` without the items that say what `line` says (white space and case aside); unchanged: none does."""
    page = _read(text)
    wanted = _same(_one_line(line))
    lines = list(page.lines)
    for one in reversed([one for one in _items(page) if _same(one.words) == wanted]):
        if one.end == len(lines) and one.start and not lines[-1].endswith("\n"):
            lines[one.start - 1] = bare(lines[one.start - 1])  # the file still ends without a line end
        del lines[one.start : one.end]
    return "".join(lines)


def section_of(text: str, words: str) -> str:
    """Return the one of SECTIONS that holds the first line with these words; empty: none does."""
    page = outline(text)
    row = next((row for row, line in enumerate(page.lines) if words in line and not page.literal[row]), -1)
    above = [heading_words(one.title) for one in page.headings if one.row <= row]
    return next((name for title in reversed(above) for name in SECTIONS if title in _NAMES[name]), "")


def section_named(title: str) -> str:
    """Return the one of SECTIONS that a heading names, or Memories; empty: none."""
    words = heading_words(title)
    return next((name for name, called in _NAMES.items() if words in called), "")


def budget(text: str) -> Budget:
    """Measure a memory file against what agents load, and say what could go."""
    page = outline(text)
    size = len(text.encode("utf-8", "surrogatepass"))
    over = len(page.lines) > MAX_LINES or size > MAX_BYTES
    return Budget(len(page.lines), size, over, tuple(_advice(page)))


def _advice(page: Outline) -> Iterator[str]:
    seen: dict[str, int] = {}
    repeated = 0
    sayings = list(_sayings(page))
    for one in sayings:
        first = seen.setdefault(_same(one.words), one.start)
        if first != one.start and repeated < _ADVISED:
            repeated += 1
            yield f"line {one.start + 1} repeats line {first + 1} ({_excerpt(one.words)})"
    sizes = [(len(bare(line).encode("utf-8", "surrogatepass")), n) for n, line in enumerate(page.lines)]
    long = sorted((size, -n) for size, n in sizes if size > 100 and n >= page.start)
    for size, n in reversed(long[-_ADVISED:]):
        yield f"line {1 - n} is {size:,} bytes long ({_excerpt(page.lines[-n])})"
    if not repeated and not long and sayings:
        yield f"the {len(sayings)} entries are all short: move what belongs together to memory/procedures/"


def _excerpt(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _EXCERPT else text[: _EXCERPT - 1].rstrip() + "…"


# --- the line -------------------------------------------------------------------------------------------------------


def _one_line(line: str) -> str:
    """Return the words of an item: one line, without a bullet, and nothing in it that Markdown takes for a block."""
    words = " ".join(line.split())
    if words[:2] in ("- ", "* ", "+ ") or words in ("-", "*", "+"):
        words = words[2:].strip()
    bad = next((char for char in words if unicodedata.category(char) in ("Cc", "Cs")), None)
    if not words or bad is not None:
        why = "is empty" if bad is None else f"holds a control character (U+{ord(bad):04X})"
        raise InstinctError(f"the line {why}", "give one line of plain text")
    return as_words(words)


def _same(words: str) -> str:
    """Return what two lines have in common that say the same: white space and case count for nothing."""
    return unicodedata.normalize("NFC", " ".join(words.split()).casefold())


def _read(text: str) -> Outline:
    row = conflict_at(text)
    if row is not None:
        raise InvalidDocument(f"{PATH}:{row + 1}: conflict markers", "resolve the merge, then run it again")
    return outline(text)


def _items(page: Outline) -> Iterator[_Item]:
    """Yield the list items, each with its continuation lines (nested items are their own items)."""
    stops = {heading.row for heading in page.headings}
    index = page.start
    while index < len(page.lines):
        found = None if page.literal[index] else item(page.lines[index])
        if found is None:
            index += 1
            continue
        end = index + 1
        while end < len(page.lines) and end not in stops and _continues(page, end):
            end += 1
        rest = (page.lines[at].strip() for at in range(index + 1, end))
        yield _Item(index, end, " ".join([found[2], *rest]))
        index = end


def _continues(page: Outline, index: int) -> bool:
    """True for a line that goes on with the paragraph before it."""
    line = page.lines[index]
    return bool(line.strip()) and not page.literal[index] and item(line) is None and not is_rule(line)


def _sayings(page: Outline) -> Iterator[_Item]:
    """Yield the items and the plain lines outside them."""
    inside: set[int] = set()
    for one in _items(page):
        inside.update(range(one.start, one.end))
        yield one
    taken = inside | {at for heading in page.headings for at in range(heading.row, heading.row + heading.lines)}
    for index in range(page.start, len(page.lines)):
        line = page.lines[index]
        if index not in taken and not page.literal[index] and line.strip() and not is_rule(line):
            yield _Item(index, index + 1, line.strip())


# --- the place ------------------------------------------------------------------------------------------------------


def _with_item(page: Outline, section: str, words: str) -> str:
    heading = _find(page, section)
    if heading is None:
        return _with_section(page, section, words)
    first, end = heading.row + heading.lines, min(_next(page, heading), page.open_at)
    first = min(first, end)
    content = [at for at in range(first, end) if page.lines[at].strip() and not is_rule(page.lines[at])]
    if len(content) == 1 and _NOTHING_YET.fullmatch(page.lines[content[0]].strip()):
        at = content[0]
        ended = page.lines[at][len(bare(page.lines[at])) :]
        return "".join([*page.lines[:at], f"- {words}{ended}", *page.lines[at + 1 :]])
    last = _last_item(page, first, end)
    if last is not None:
        at, (width, bullet, _) = last
        mark = bullet if bullet in ("-", "*", "+") else _next_number(bullet)
        return _insert(page, at, [" " * width + f"{mark} {words}"], gap=False)
    return _insert(page, content[-1] + 1 if content else first, [f"- {words}"], gap=True)


def _last_item(page: Outline, first: int, end: int) -> tuple[int, tuple[int, str, str]] | None:
    """Return (index after it and all that belongs to it, its marks) of the section's last item at the outer level."""
    tops = [at for at in range(first, end) if not page.literal[at] and item(page.lines[at])]
    if not tops:
        return None
    outer = min(indent(page.lines[at]) for at in tops)
    start = next(at for at in reversed(tops) if indent(page.lines[at]) == outer)
    after = start + 1
    for at in range(start + 1, end):
        line = page.lines[at]
        if not line.strip():
            continue
        if not (
            indent(line) > outer
            or (at == after and _continues(page, at))
            or (page.literal[at] and page.literal[at - 1])
        ):
            break
        after = at + 1
    found = item(page.lines[start])
    return (after, found) if found else None


def _next_number(bullet: str) -> str:
    return f"{int(bullet[:-1]) + 1}{bullet[-1]}"


def _find(page: Outline, section: str) -> Heading | None:
    """Return a section's heading: the one below Memories first, else the first of that name."""
    found = [one for one in page.headings if heading_words(one.title) in _NAMES[section] and one.row < page.open_at]
    if section in (KEY_LESSONS, MEMORIES) or len(found) < 2:
        return found[0] if found else None
    home = _find(page, MEMORIES)
    inside = [one for one in found if home and home.row < one.row < _end(page, home)]
    return (inside or found)[0]


def _next(page: Outline, heading: Heading) -> int:
    """Return where a section's own text ends: at the next heading of any level."""
    return next((one.row for one in page.headings if one.row > heading.row), len(page.lines))


def _end(page: Outline, heading: Heading) -> int:
    """Return where a section ends with all its subsections."""
    later = (one.row for one in page.headings if one.row > heading.row and one.level <= heading.level)
    return next(later, len(page.lines))


def _with_section(page: Outline, section: str, words: str) -> str:
    """Add a section with its first item: next to its neighbours, in the order of SECTIONS."""
    home = _find(page, MEMORIES)
    if section == KEY_LESSONS:
        level = home.level if home else _LEVEL
        at = home.row if home else page.open_at
        return _insert_section(page, at, [f"{'#' * level} {section}", "", f"- {words}"])
    group = SECTIONS[1:]
    order = group.index(section)
    for name in group[order + 1 :]:
        later = _find(page, name)
        if later is not None:
            return _insert_section(page, later.row, [f"{'#' * later.level} {section}", "", f"- {words}"])
    for name in reversed(group[:order]):
        earlier = _find(page, name)
        if earlier is not None:
            return _insert_section(page, _end(page, earlier), [f"{'#' * earlier.level} {section}", "", f"- {words}"])
    block = [f"{'#' * min(6, (home.level if home else _LEVEL) + 1)} {section}", "", f"- {words}"]
    if home is None:
        return _insert_section(page, page.open_at, [f"{'#' * _LEVEL} {MEMORIES}", "", *block])
    return _insert_section(page, _end(page, home), block)


def _insert_section(page: Outline, end: int, block: Sequence[str]) -> str:
    """Insert a section before line `end`, after the last line above it that is neither blank nor a rule."""
    end = min(end, page.open_at)
    at = end
    while at > page.start and (not page.lines[at - 1].strip() or is_rule(page.lines[at - 1])):
        underline = any(one.lines == 2 and one.row + 1 == at - 1 for one in page.headings)
        if underline or page.literal[at - 1]:
            break
        at -= 1
    return _insert(page, at, block, gap=True)


def _insert(page: Outline, at: int, block: Sequence[str], *, gap: bool) -> str:
    """Insert lines before line `at`; `gap`: with a blank line before. Trailing line ends stay as they are."""
    end = line_end(page.lines)
    before, after = "".join(page.lines[:at]), "".join(page.lines[at:])
    lead = end if gap and before.strip("\ufeff \t\r\n") and page.lines[at - 1].strip() else ""
    tail = end if gap and after and page.lines[at].strip() else ""
    text = end.join(block)
    if before and not before.endswith("\n") and before != "\ufeff":
        return before + end + lead + text + after
    return before + lead + text + end + tail + after

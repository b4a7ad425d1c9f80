"""What can be found: a pattern, a skill, a procedure, or a section of MEMORY.md, and the form in which it is indexed. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from instinct_git.core.bm25 import joined
from instinct_git.core.digest import sha256_hex
from instinct_git.core.document import front_matter
from instinct_git.core.markdown import outline
from instinct_git.core.memory_file import KEY_LESSONS, PATH, section_named
from instinct_git.core.pattern import PatternFile
from instinct_git.core.terms import fold_text, terms
from instinct_git.errors import InvalidDocument

PATTERN, CANDIDATE, SKILL, PROCEDURE, RULE, MEMORY = "pattern", "candidate", "skill", "procedure", "rule", "memory"
KINDS = (PATTERN, CANDIDATE, SKILL, PROCEDURE, RULE, MEMORY)
_LONGEST = 60_000
"""Characters of a text that are indexed: agents load less of a skill."""
_MEANING = 600
"""Characters that stand for a passage where meanings are compared: what it is about comes first, and reading costs."""


class Passage(NamedTuple):
    """One thing that can be found."""

    kind: str
    """pattern (a candidate is one too), skill, procedure, rule or memory."""
    name: str
    """The key; of a document what it calls itself, or its heading."""
    title: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    text: str = ""
    line: int = 1
    """1-based: where it begins in its file."""


class Entry(NamedTuple):
    """A passage as it is indexed."""

    path: str
    part: int
    """0-based: which passage of its file."""
    kind: str
    name: str
    """Folded, for comparison with a query."""
    fields: tuple[str, ...]
    """The terms of each of bm25.FIELDS, `joined`."""
    length: int
    """Number of terms."""
    digest: str
    """Of the content: 32 hex digits."""


def entry(path: str, part: int, one: Passage) -> Entry:
    """Return a passage in the form in which it is indexed."""
    texts = (one.name, one.title, " ".join(one.tags), one.description, one.text[:_LONGEST])
    found = [terms(text) for text in texts]
    content = "\0".join((one.kind, *texts)).encode("utf-8", "surrogatepass")
    name = fold_text(one.name).encode("utf-8", "replace").decode("utf-8")
    fields = tuple(joined(words) for words in found)
    return Entry(path, part, one.kind, name, fields, sum(map(len, found)), sha256_hex(content)[:32])


def meaning(one: Passage) -> str:
    """Return the words that stand for a passage where meanings are compared."""
    name = one.name.partition(":")[2] if one.kind == PATTERN else one.name
    parts = (name.replace("->", ", ").replace("-", " "), one.title, one.description, one.text)
    return ". ".join(" ".join(part.split()) for part in parts if part.strip())[:_MEANING]


def of_pattern(file: PatternFile, body: str = "") -> Passage:
    """Return the passage of a pattern; `body` is the free text of its file."""
    said = [text for value in file.metadata.values() for text in _texts(value)]
    return Passage(PATTERN, file.key, file.title, file.description, file.tags, "\n".join([body, *said]).strip())


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, Sequence):
        for one in value:
            yield from _texts(one)


def of_document(path: str, text: str) -> list[Passage]:
    """Return the passages of a skill, a procedure or MEMORY.md, told by its path."""
    if path == PATH:
        return list(_sections(text))
    fields, start = _head(text)
    folder = path.split("/")[-2] if path.endswith("/SKILL.md") else path.rpartition("/")[2].removesuffix(".md")
    page = outline(text)
    name, title = str(fields.get("name") or folder), str(fields.get("title") or "")
    title = title or next((one.title for one in page.headings if one.row >= start), "")
    tags = fields.get("tags") or ()
    tags = tuple(str(tag) for tag in tags) if isinstance(tags, (list, tuple)) else (str(tags),)
    kind = SKILL if path.endswith("/SKILL.md") else PROCEDURE
    body = "".join(page.lines[start:])
    return [Passage(kind, name, title, str(fields.get("description") or ""), tags, body, 1)]


def _head(text: str) -> tuple[Mapping[str, Any], int]:
    """Return the front matter, which may be broken, and the index of the first line after it."""
    start = outline(text).start
    try:
        return (front_matter(text) if start else {}), start
    except InvalidDocument:
        return {}, 0  # then all of it is text


def _sections(text: str) -> Iterator[Passage]:
    """Yield the sections of a memory file that say something, each named by its headings."""
    page = outline(text)
    rows = [one.row for one in page.headings]
    above: list[tuple[int, str]] = []
    head = "".join(page.lines[page.start : rows[0] if rows else len(page.lines)])
    if head.strip():
        yield Passage(MEMORY, "MEMORY.md", text=head, line=page.start + 1)
    for heading, end in zip(page.headings, [*rows[1:], len(page.lines)], strict=True):
        above = [one for one in above if one[0] < heading.level] + [(heading.level, heading.title)]
        body = "".join(page.lines[heading.row + heading.lines : end])
        if body.strip():
            titles = [title for _, title in above]
            kind = RULE if any(section_named(title) == KEY_LESSONS for title in titles) else MEMORY
            yield Passage(kind, titles[-1], " > ".join(titles), text=body, line=heading.row + 1)


def excerpt(text: str, asked: Sequence[str], columns: int = 120) -> str:
    """Return the line of a text that holds most of the terms, shortened; empty when none does."""
    best, most = "", 0
    for line in text.split("\n"):
        have = set(terms(line))
        number = sum(term in have for term in asked)
        if number > most:
            best, most = " ".join(line.strip(" \t\r#>*-|").split()), number
    return best if len(best) <= columns else best[: columns - 1].rstrip() + "…"

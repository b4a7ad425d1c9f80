"""JSON with comments and trailing commas, edited as text: comments, order, indentation and line endings stay.

What is not JSON (a torn file, a Python dict, single quotes) raises NotEditable with the line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from instinct_git.bridges.agents.edited import Edited, NotEditable, as_json, line_end

_SPACE = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_SAME_LINE_COMMENT = re.compile(r"[ \t]*(?://[^\r\n]*|/\*[^\r\n]*?\*/)")
_STRING = re.compile(r'"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*"')
_SCALAR = re.compile(r"(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.])")
_CLOSERS = {"{": "}", "[": "]"}


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


_DECODER = json.JSONDecoder(parse_constant=_no_number)
APPEND = None
"""A step of a path: a new item of a list."""
Step = str | None


class Node:
    """A value and where it stands in the text; `plain` is what it says."""

    __slots__ = ("_members", "_text", "end", "plain", "start")

    def __init__(self, text: str, start: int, end: int, value: Any, members: list[Member] | None = None) -> None:
        self._text, self.start, self.end, self.plain, self._members = text, start, end, value, members

    @property
    def strict(self) -> bool:
        """True for a value without a comment or a trailing comma, as far as it has not been looked into."""
        return self._members is None

    @property
    def members(self) -> list[Member]:
        """The members of an object, the items of a list. A file may hold megabytes of which one object is ours: members
        are told apart when somebody asks."""
        if self._members is None:
            opener = self._text[self.start]
            self._members = _Reader(self._text).members(self.start, _CLOSERS[opener])[0] if opener in _CLOSERS else []
        return self._members

    def member(self, key: Step) -> Member | None:
        """Return an object's member; of two with one name the last, which is the one that counts."""
        return next((one for one in reversed(self.members) if one.key == key), None) if key is not None else None


@dataclass(slots=True)
class Member:
    """A member of an object, or an item of a list (key None)."""

    key: str | None
    start: int
    node: Node
    comma: int | None = None
    """Where the comma after it stands."""


def parse(text: str) -> Node:
    """Read a text whose root is an object. Raises NotEditable."""
    reader = _Reader(text)
    try:
        at = reader.space(1 if text.startswith("\ufeff") else 0)
        root = reader.value(at)
    except RecursionError:
        raise NotEditable("it is nested too deeply") from None
    if reader.space(root.end) != len(text):
        raise reader.wrong(reader.space(root.end))
    if not isinstance(root.plain, dict):
        raise NotEditable("it is valid JSON, but no object")
    return root


def plain(text: str) -> dict[str, Any]:
    """Return the text's value; {} for a text without anything in it."""
    if not text.removeprefix("\ufeff").strip():
        return {}
    found: dict[str, Any] = parse(text).plain
    return found


def has_comment(text: str) -> bool:
    """True when plain JSON would end at a comment or a trailing comma."""
    try:
        json.loads(text.removeprefix("\ufeff"))
    except ValueError:
        return True
    return False


def has_trailing_comma(text: str) -> bool:
    """True when an object or a list ends with a comma."""

    def below(node: Node) -> bool:
        if node.strict:
            return False
        last = node.members[-1:]
        return any(one.comma is not None for one in last) or any(below(one.node) for one in node.members)

    return below(parse(text))


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text

    def wrong(self, at: int) -> NotEditable:
        line = self.text.count("\n", 0, at) + 1
        return NotEditable(f"it is not valid JSON (line {line})")

    def space(self, at: int) -> int:
        found = _SPACE.match(self.text, at)
        return found.end() if found else at

    def value(self, at: int) -> Node:
        opener = self.text[at : at + 1]
        if opener in _CLOSERS:
            try:
                found, end = _DECODER.raw_decode(self.text, at)
            except ValueError:  # a comment, a trailing comma, or no JSON: a closer look tells which
                return self._container(at, _CLOSERS[opener])
            return Node(self.text, at, end, found)
        match = (_STRING if opener == '"' else _SCALAR).match(self.text, at)
        if match is None:
            raise self.wrong(at)
        try:
            return Node(self.text, at, match.end(), json.loads(match[0]))
        except ValueError:  # a number of thousands of digits
            raise self.wrong(at) from None

    def _container(self, start: int, closer: str) -> Node:
        values, end = self.members(start, closer)
        plain = {one.key: one.node.plain for one in values} if closer == "}" else [one.node.plain for one in values]
        return Node(self.text, start, end, plain, values)

    def members(self, start: int, closer: str) -> tuple[list[Member], int]:
        """Return the members of the object or list that begins at `start`, and where it ends."""
        found: list[Member] = []
        at = self.space(start + 1)
        while self.text[at : at + 1] != closer:
            if found and found[-1].comma is None:
                raise self.wrong(at)
            member = self._member(at, named=closer == "}")
            found.append(member)
            at = self.space(member.node.end)
            if self.text[at : at + 1] == ",":
                member.comma = at
                at = self.space(at + 1)
        return found, at + 1

    def _member(self, at: int, *, named: bool) -> Member:
        if not named:
            return Member(None, at, self.value(at))
        key = _STRING.match(self.text, at)
        colon = self.space(key.end()) if key else at
        if key is None or self.text[colon : colon + 1] != ":":
            raise self.wrong(at)
        return Member(json.loads(key[0]), at, self.value(self.space(colon + 1)))


# --- putting in -----------------------------------------------------------------------------------------------------


def add(edited: Edited, path: Sequence[Step], value: Any) -> Edited:
    """Put a value in at a path that leads to nothing yet. Raises NotEditable where something else stands in its way."""
    text = edited.text
    if not text.removeprefix("\ufeff").strip():
        words = as_json(_nested(path, value), "  ") + "\n"
        return edited.insert(len(text) - len(text.removeprefix("\ufeff")), words.replace("\n", line_end(text)))
    node = parse(text)
    for depth, step in enumerate(path):
        if not isinstance(node.plain, list if step is APPEND else dict):
            kind = "list" if step is APPEND else "object"
            raise NotEditable(f"{'.'.join(str(one) for one in path[:depth])} is there, but it is no {kind}")
        child = node.member(step)
        if child is None:
            return _put(edited, node, step, _nested(path[depth + 1 :], value))
        node = child.node
    raise NotEditable(f"{'.'.join(str(one) for one in path)} is there already")


def _nested(path: Sequence[Step], value: Any) -> Any:
    for step in reversed(path):
        value = [value] if step is APPEND else {step: value}
    return value


def _put(edited: Edited, node: Node, key: Step, value: Any) -> Edited:
    text = edited.text
    last = node.members[-1] if node.members else None
    if last is None:
        return _put_first(edited, node, key, value)
    if "\n" not in text[node.start : node.members[0].start]:
        words = _words(key, json.dumps(value, ensure_ascii=False))
        return edited.insert(*((last.node.end, ", " + words) if last.comma is None else (last.comma + 1, " " + words)))
    indent = _indent(text, node.members[0].start)
    lead = line_end(text) + indent
    words = lead + _words(key, as_json(value, _unit(text)).replace("\n", lead))
    if last.comma is not None:
        return edited.insert(_after_comment(text, last.comma + 1), words + ",")
    at = _after_comment(text, last.node.end)
    if at == last.node.end:
        return edited.insert(at, "," + words)
    return edited.insert(at, words).insert(last.node.end, ",")


def _put_first(edited: Edited, node: Node, key: Step, value: Any) -> Edited:
    text, end = edited.text, line_end(edited.text)
    at = node.start + 1 + len(text[node.start + 1 : node.end - 1].rstrip())
    one_line = "\n" not in text.strip() and text.removeprefix("\ufeff").strip() != text[node.start : node.end]
    if one_line:
        return edited.insert(at, _words(key, json.dumps(value, ensure_ascii=False)))
    closing = _indent(text, node.start)
    lead = end + closing + _unit(text)
    words = lead + _words(key, as_json(value, _unit(text)).replace("\n", lead))
    return edited.insert(at, words if "\n" in text[at : node.end] else words + end + closing)


def _words(key: Step, value: str) -> str:
    return value if key is APPEND else f"{json.dumps(key, ensure_ascii=False)}: {value}"


def _after_comment(text: str, at: int) -> int:
    while found := _SAME_LINE_COMMENT.match(text, at):
        at = found.end()
    return at


def _indent(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 :].removeprefix("\ufeff")
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    """Return one step of the file's indentation."""
    found = re.search(r'^([ \t]+)"', text, re.MULTILINE)
    return "  " if found is None else "\t" if found[1].startswith("\t") else found[1]


# --- taking out -----------------------------------------------------------------------------------------------------


def remove(text: str, path: Sequence[str], is_ours: Callable[[Any], bool]) -> str:
    """Return the text without what is ours at a path, and without the objects and lists that this leaves empty.

    At the path stands a value that is ours, or a list (of hooks) some of whose items are.
    """
    while (spot := _spot(parse(text), path, is_ours)) is not None:
        text = _cut(text, *spot[-1])
        for depth in range(len(spot) - 2, -1, -1):
            container = parse(text)
            for _, index in spot[:depth]:
                container = container.members[index].node
            emptied = container.members[spot[depth][1]].node
            if emptied.members or text[emptied.start + 1 : emptied.end - 1].strip():
                break  # something is left in it, if only a comment
            text = _cut(text, container, spot[depth][1])
    return text


_Trail = list[tuple[Node, int]]


def _spot(root: Node, path: Sequence[str], is_ours: Callable[[Any], bool]) -> _Trail | None:
    """Return the way to the first thing that is ours, as (container, index) from the root on."""
    trail: _Trail = []
    node = root
    for step in path:
        member = node.member(step)
        if member is None:
            return None
        trail.append((node, node.members.index(member)))
        node = member.node
    if is_ours(node.plain):
        return trail
    for below in _items(node, is_ours):
        return trail + below
    return None


def _items(node: Node, is_ours: Callable[[Any], bool]) -> Iterator[_Trail]:
    if not isinstance(node.plain, list):
        return
    for index, one in enumerate(node.members):
        if is_ours(one.node.plain):
            yield [(node, index)]
        inner = one.node.member("hooks") if isinstance(one.node.plain, dict) else None
        if inner is not None:
            for below in _items(inner.node, is_ours):
                yield [(node, index), (one.node, one.node.members.index(inner)), *below]


def _cut(text: str, node: Node, index: int) -> str:
    one, before = node.members[index], node.members[index - 1] if index else None
    end = one.node.end if one.comma is None else one.comma + 1
    start = len(text[: one.start].rstrip())
    if start == node.start + 1 and "\n" not in text[start : one.start] and one.comma is not None:
        end += len(text[end:]) - len(text[end:].lstrip(" \t"))
    for first in (start, one.start):  # a comment that ends with its line must not swallow what follows
        found = text[:first] + text[end:]
        if one.comma is None and before is not None and before.comma is not None:
            found = found[: before.comma] + found[before.comma + 1 :]
        try:
            parse(found)
        except NotEditable:
            continue
        return found
    raise NotEditable("what is ours cannot be taken out; do it by hand")

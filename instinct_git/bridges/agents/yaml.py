"""One entry of a block mapping at the top of a YAML file, added and taken out as text.

No YAML library is asked: what is not plainly a block mapping (tabs, several documents, flow style) raises NotEditable.
"""

from __future__ import annotations

import json
import re
from typing import Any

from instinct_git.bridges.agents.edited import Edited, NotEditable, appended, line_end, without_lines

_KEY = re.compile(
    r"""(?P<indent> *)(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<plain>[^\s#'"{\[&*!|>%@`-][^:]*?))\s*:(?P<rest>\s.*|)$"""
)


def entry(text: str, parent: str, name: str) -> dict[str, Any] | None:
    """Return the scalars of `parent: name:`, or None; `args` as a list. Raises NotEditable."""
    lines, span = _lines(text), None
    block = _block(lines, parent)
    if block is not None:
        span = _child(lines, block, name)
    if span is None:
        return None
    found: dict[str, Any] = {}
    items: list[str] = []
    for line in lines[span[0] + 1 : span[1]]:
        key = _KEY.match(line)
        if key:
            found[_name(key)] = _scalar(key["rest"])
            items = []
            if not key["rest"].strip():
                found[_name(key)] = items
        elif line.lstrip().startswith("- "):
            items.append(str(_scalar(line.lstrip()[2:])))
    return found


def add(edited: Edited, parent: str, name: str, value: dict[str, Any]) -> Edited:
    """Put an entry in as the first of the parent's. Raises NotEditable."""
    lines, end = _lines(edited.text), line_end(edited.text)
    block = _block(lines, parent)
    if block is None:
        return appended(edited, "\n".join([f"{parent}:", *_words(name, value, "  ", "  ")]) + "\n")
    first, last = block
    child = next((one for one in lines[first + 1 : last] if _says_something(one)), "  x")
    indent = child[: len(child) - len(child.lstrip())]
    ended = edited.text.splitlines(keepends=True)[first].endswith(("\n", "\r"))
    at = sum(len(line) for line in edited.text.splitlines(keepends=True)[: first + 1])
    words = end.join(_words(name, value, indent, "  "))
    return edited.insert(at, words + end if ended else end + words)


def _words(name: str, value: dict[str, Any], indent: str, unit: str) -> list[str]:
    return [f"{indent}{name}:", *(f"{indent}{unit}{key}: {json.dumps(one)}" for key, one in value.items())]


def remove(text: str, parent: str, name: str) -> str:
    """Return the text without the entry, and without the parent when it has no other."""
    lines = _lines(text)
    block = _block(lines, parent)
    span = _child(lines, block, name) if block else None
    if block is None or span is None:
        return text
    others = any(_says_something(one) for one in lines[block[0] + 1 : span[0]] + lines[span[1] : block[1]])
    comments = any(one.strip() for one in lines[block[0] + 1 : span[0]] + lines[span[1] : block[1]])
    return without_lines(text, span[0] if others or comments else block[0], span[1])


def _lines(text: str) -> list[str]:
    lines = [line.rstrip("\r\n") for line in text.removeprefix("\ufeff").splitlines(keepends=True)]
    for number, line in enumerate(lines, 1):
        if re.match(r"\t| +\t", line):
            raise NotEditable(f"it is not valid YAML (a tab in line {number})")
        if re.match(r"(---|\.\.\.)(\s|$)", line) and any(_says_something(one) for one in lines[: number - 1]):
            raise NotEditable("it holds several documents")
        if _says_something(line) and line[0] not in " -" and not _KEY.match(line) and not line.startswith(("%", "---")):
            raise NotEditable(f"line {number} is no `name: value`")
    return lines


def _says_something(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _block(lines: list[str], parent: str) -> tuple[int, int] | None:
    """Return the lines from the parent's to the one after its last entry; None without that key."""
    found = [
        n for n, line in enumerate(lines) if (key := _KEY.match(line)) and not key["indent"] and _name(key) == parent
    ]
    if not found:
        return None
    if len(found) > 1:
        raise NotEditable(f"`{parent}` stands there twice")
    match = _KEY.match(lines[found[0]])
    if match is None or re.sub(r"(^|\s)#.*", "", match["rest"]).strip():
        raise NotEditable(f"`{parent}` is written on one line, and only entries below it can be added to")
    return found[0], _end(lines, found[0], 0)


def _child(lines: list[str], block: tuple[int, int], name: str) -> tuple[int, int] | None:
    for number in range(block[0] + 1, block[1]):
        key = _KEY.match(lines[number])
        first = next((one for one in lines[block[0] + 1 : block[1]] if _says_something(one)), "")
        depth = len(first) - len(first.lstrip())
        if key and len(key["indent"]) == depth and _name(key) == name:
            return number, _end(lines, number, depth)
    return None


def _end(lines: list[str], start: int, depth: int) -> int:
    """Return the number of the line after a block: blank lines and comments after its last word are not its own."""
    last = start
    for number in range(start + 1, len(lines)):
        line = lines[number]
        if not _says_something(line):
            continue
        if len(line) - len(line.lstrip()) <= depth:
            break
        last = number
    return last + 1


def _name(key: re.Match[str]) -> str:
    return key["double"] or key["single"] or key["plain"] or ""


def _scalar(text: str) -> Any:
    text = text.strip()
    if text.startswith("["):
        return [str(_scalar(one)) for one in text.strip("[]").split(",") if one.strip()]
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text

"""A block between two markers in a Markdown file: everything outside it is the person's."""

from __future__ import annotations

from instinct_git.bridges.agents.edited import Edited, NotEditable, appended, line_end, without_lines


def markers(name: str) -> tuple[str, str]:
    """Return the lines around a block; an agent reads them as nothing."""
    return f"<!-- instinct:{name}:start -->", f"<!-- instinct:{name}:end -->"


def find(text: str, name: str) -> tuple[int, int] | None:
    """Return the block's lines (first, after the last). Raises NotEditable when a marker is missing or stands twice."""
    lines = [line.strip() for line in text.removeprefix("\ufeff").splitlines()]
    start, end = markers(name)
    if start not in lines and end not in lines:
        return None
    if lines.count(start) != 1 or lines.count(end) != 1 or lines.index(start) > lines.index(end):
        raise NotEditable(f"it does not have the markers {start} and {end} once each, in this order")
    return lines.index(start), lines.index(end) + 1


def content(text: str, name: str) -> str | None:
    """Return what stands between the markers, with LF; None without a block."""
    found = find(text, name)
    if found is None:
        return None
    return "".join(f"{line}\n" for line in text.splitlines()[found[0] + 1 : found[1] - 1])


def put(edited: Edited, name: str, words: str) -> Edited:
    """Write a block (`words` with LF): in its place where there is one, else at the end after a blank line."""
    start, end = markers(name)
    block = f"{start}\n{words.strip(chr(10))}\n{end}\n"
    found = find(edited.text, name)
    if found is None:
        return appended(edited, block)
    lines = edited.text.splitlines(keepends=True)
    at = sum(len(line) for line in lines[: found[0]])
    bom = "\ufeff" if edited.text.startswith("\ufeff") and not found[0] else ""
    old = "".join(lines[found[0] : found[1]])
    new = bom + block.replace("\n", line_end(edited.text))
    if not old.endswith(("\n", "\r")):
        new = new.rstrip("\r\n")
    return Edited(edited.text[:at] + new + edited.text[at + len(old) :])


def remove(text: str, name: str) -> str:
    """Return the text without the block and the blank line before it."""
    found = find(text, name)
    if found is None:
        return text
    return without_lines(text, *found)

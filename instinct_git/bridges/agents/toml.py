"""One table of a TOML file, added and taken out as text; what `tomllib` reads before and after proves that no more changed."""

from __future__ import annotations

import re
import tomllib
from typing import Any

from instinct_git.bridges.agents.edited import Edited, NotEditable, appended, without_lines


def read(text: str) -> dict[str, Any]:
    """Return the file's value. Raises NotEditable."""
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except (tomllib.TOMLDecodeError, RecursionError) as problem:
        raise NotEditable(f"it is not valid TOML ({problem})") from None


def entry(text: str, table: str, name: str) -> Any:
    """Return the value of `[table.name]`, or None."""
    found = read(text).get(table)
    return found.get(name) if isinstance(found, dict) else None


def add(edited: Edited, table: str, name: str, value: dict[str, Any]) -> Edited:
    """Append `[table.name]` with the values, texts and lists of texts. Raises NotEditable."""
    before = read(edited.text)
    lines = [f"[{table}.{name}]", *(f"{key} = {_literal(one)}" for key, one in value.items())]
    done = appended(edited, "\n".join(lines) + "\n")
    try:
        after = read(done.text)
    except NotEditable:
        raise NotEditable(f"{table} is written in a form that no table can be added to") from None
    if after != {**before, table: {**before.get(table, {}), name: value}}:
        raise NotEditable(f"{table} cannot be added to")
    return done


def _literal(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(_literal(one) for one in value) + "]"
    return '"' + str(value).replace("\\", "\\\\").replace('"', '\\"') + '"'


def remove(text: str, table: str, name: str) -> str:
    """Return the text without `[table.name]` and the tables below it. Raises NotEditable where it has another form."""
    wanted = read(text)
    del wanted[table][name]
    if not wanted[table]:
        del wanted[table]
    mine = re.compile(rf"""\s*\[\s*["']?{re.escape(table)}["']?\s*\.\s*["']?{re.escape(name)}["']?\s*[\].]""")
    lines = text.splitlines(keepends=True)
    first = next((number for number, line in enumerate(lines) if mine.match(line)), len(lines))
    last = min(first + 1, len(lines))
    while last < len(lines) and (mine.match(lines[last]) or not re.match(r"\s*\[\[?\s*[\w\"']", lines[last])):
        last += 1
    while last > first and (not lines[last - 1].strip() or lines[last - 1].lstrip().startswith("#")):
        last -= 1  # what stands above the next table belongs to it
    found = without_lines(text, first, last)
    try:
        same = read(found) == wanted
    except NotEditable:
        same = False
    if not same:
        raise NotEditable(f"[{table}.{name}] cannot be taken out; do it by hand")
    return found

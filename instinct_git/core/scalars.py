"""One-line YAML by hand: fields, scalars and flow values, read and written so that every YAML reader agrees.

Readers of YAML 1.1 (PyYAML) and 1.2 (ruamel.yaml) retype different bare words; what is written here neither retypes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

_RETYPED = frozenset(("null", "true", "false", "yes", "no", "on", "off", "y", "n"))
_MARKS = "|>&*!%@`{[?]},"


def quote(text: str) -> str:
    """Return a YAML double-quoted scalar (JSON's quoting is a part of it), with what YAML cannot hold escaped."""
    quoted = json.dumps(text, ensure_ascii=False)
    if quoted.isascii() and "\x7f" not in quoted:
        return quoted
    return "".join(char if _holds(ord(char)) else f"\\u{ord(char):04x}" for char in quoted)


def _holds(code: int) -> bool:
    """True for what a YAML stream may hold as it stands and no reader takes for a line break or a byte order mark."""
    if code < 0x7F or 0xA0 <= code <= 0x2027:
        return True
    return 0x202A <= code <= 0xD7FF or (0xE000 <= code <= 0xFFFD and code != 0xFEFF) or code >= 0x10000


def plain(text: str) -> str:
    """Return a scalar that every YAML reader takes for this string: bare when that is certain, else quoted."""
    safe = text[:1].isalpha() and all(char.isascii() and (char.isalnum() or char in "-_./") for char in text)
    return text if safe and text.lower() not in _RETYPED else quote(text)


def flow(value: Any) -> str:
    """Return plain data on one line: JSON that is also YAML of both versions."""
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{quote(str(name))}: {flow(one)}" for name, one in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(flow(one) for one in value) + "]"
    if isinstance(value, float):
        return _number(value)
    return json.dumps(value)


def _number(value: float) -> str:
    text = repr(value)
    if text in ("inf", "-inf", "nan"):
        return quote(text)
    head, mark, power = text.partition("e")
    return head + (mark and ("" if "." in head else ".0") + mark + power)


def field(line: str) -> tuple[str, str] | None:
    """Return (name, raw value) of a `name: value` line at column 0, else None."""
    name, colon, value = line.rstrip("\r\n").partition(":")
    if not colon or not name or name[0] in " \t#-\"'[{?&*!|>%@`" or " " in name:
        return None
    return (name, value) if not value or value[0] in " \t" else None


def flat(lines: Sequence[str]) -> dict[str, str] | None:
    """Return {name: raw value} when every line is a flat field, a comment or blank; None otherwise."""
    fields: dict[str, str] = {}
    for line in lines:
        if not line.strip() or line.startswith("#"):
            continue
        pair = field(line)
        if pair is None or pair[0] in fields:
            return None
        fields[pair[0]] = pair[1]
    return fields


def without_comment(value: str) -> tuple[str, str]:
    """Split a raw value into (value, trailing comment with the blanks before it)."""
    text = value.strip()
    if text[:1] in ("'", '"'):
        end = _closing_quote(text)
        return text[: end + 1], text[end + 1 :]
    if text[:1] == "#":
        return "", " " + text
    at = min((i for i in (text.find(" #"), text.find("\t#")) if i >= 0), default=-1)
    return (text[:at].rstrip(), text[len(text[:at].rstrip()) :]) if at >= 0 else (text, "")


def _closing_quote(text: str) -> int:
    mark, i = text[0], 1
    while i < len(text):
        if mark == '"' and text[i] == "\\":
            i += 2
            continue
        if text[i] == mark:
            if mark == "'" and text[i : i + 2] == "''":
                i += 2
                continue
            return i
        i += 1
    return len(text) - 1


def scalar(value: str) -> str | None:
    """Return a one-line scalar as text; None where only YAML can tell."""
    text, rest = without_comment(value)
    if rest.strip() and rest.strip()[0] != "#":
        return None
    if not text:
        return ""
    if text[0] == '"':
        try:
            loaded = json.loads(text)
        except ValueError:
            return None
        return loaded if isinstance(loaded, str) else None
    if text[0] == "'":
        return text[1:-1].replace("''", "'") if len(text) > 1 and text[-1] == "'" else None
    if text[0] in _MARKS or ": " in text or ":\t" in text or text.endswith(":") or text == "-" or text.startswith("- "):
        return None
    return text


def flow_list(value: str) -> tuple[str, ...] | None:
    """Return a one-line list of scalars; None where only YAML can tell."""
    text, _ = without_comment(value)
    if text == "[]" or not text:
        return ()
    if text[0] != "[" or text[-1] != "]" or any(mark in text[1:-1] for mark in "[]{}#"):
        return None
    items = [scalar(item) for item in text[1:-1].split(",")] if "," not in "".join(_quoted(text)) else [None]
    return None if any(item is None for item in items) else tuple(str(item) for item in items if item)


def _quoted(text: str) -> list[str]:
    return text.split('"')[1::2] + text.split("'")[1::2]


def json_map(value: str) -> dict[str, Any] | None:
    """Return a one-line map as `flow` writes it; None where only YAML can tell."""
    if not value.strip().startswith("{"):
        return None
    try:
        loaded = json.loads(value)
    except ValueError:
        return None
    return loaded if isinstance(loaded, dict) else None


def json_list(value: str) -> tuple[Any, ...] | None:
    """Return a one-line list as `flow` writes it; None where only YAML can tell."""
    try:
        loaded = json.loads(without_comment(value)[0])
    except ValueError:
        return None
    return tuple(loaded) if isinstance(loaded, list) else None

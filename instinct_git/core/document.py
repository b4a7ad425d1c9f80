"""Pattern files: text to PatternFile, and new numbers into the text with every other byte kept (DESIGN 3.3).

Flat front matter is read by hand, which is a hundred times faster than YAML; whatever is not flat goes to ruamel.yaml.
Writing replaces the machine lines alone and never re-writes a person's lines.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from instinct_git.core.keys import category_of, normalise_key
from instinct_git.core.model import ACTIVE, STATUSES, PatternFile
from instinct_git.errors import InstinctError, InvalidDocument

SEPARATOR = (
    "# --- above: kept by instinct (a confidence edited by hand is respected) | below: yours ---"
)
MACHINE = ("type", "pattern", "category", "confidence", "counted", "level", "first_seen", "last_seen", "sources")
_MARKERS = ("<<<<<<< ", ">>>>>>> ")
_SEPARATOR_START = "# --- above"


@dataclass(frozen=True, slots=True)
class MachineLines:
    """The values that instinct owns in a pattern file."""

    key: str
    category: str
    confidence: int
    counted: int
    level: str
    first_seen: str
    last_seen: str
    sources: tuple[str, ...]

    def rendered(self) -> dict[str, str]:
        """Return {field: its YAML text}."""
        return {
            "type": "Pattern",
            "pattern": quote(self.key),
            "category": self.category,
            "confidence": str(self.confidence),
            "counted": str(self.counted),
            "level": self.level,
            "first_seen": quote(self.first_seen),
            "last_seen": quote(self.last_seen),
            "sources": "[" + ", ".join(_plain(name) for name in self.sources) + "]",
        }


def quote(text: str) -> str:
    """Return a YAML double-quoted scalar (JSON's quoting is a part of it)."""
    return json.dumps(text, ensure_ascii=False).replace("\u2028", "\\u2028").replace("\x85", "\\u0085")


def _plain(text: str) -> str:
    """Return a scalar that every YAML reader takes for this string: bare when that is certain, else quoted."""
    safe = text[:1].isalpha() and all(char.isascii() and (char.isalnum() or char in "-_./") for char in text)
    retyped = text.lower() in ("null", "true", "false", "yes", "no", "on", "off", "y", "n")
    return text if safe and not retyped else quote(text)


def new_text(machine: MachineLines, *, title: str = "", description: str = "", metadata: Mapping[str, Any]) -> str:
    """Return the text of a pattern file that does not exist yet."""
    head = [f"{name}: {value}" for name, value in machine.rendered().items()]
    lines = ["---", *head, SEPARATOR, f"title: {quote(title)}", f"description: {quote(description)}"]
    lines += ["tags: []", f"status: {ACTIVE}"]
    if metadata:
        lines.append(_dump_yaml({"metadata": dict(metadata)}).rstrip("\n"))
    return "\n".join([*lines, "---", ""])


# --- reading --------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Split:
    lines: list[str]
    """Every line with its own line end."""
    close: int
    """Index of the closing fence."""
    separator: int | None
    bom: bool


def _split(text: str, path: str) -> _Split:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidDocument(f"{path}:1: the file is not valid UTF-8", "save it as UTF-8") from None
    bom = text.startswith("\ufeff")
    lines = _lines(text[1:] if bom else text)
    if not lines or lines[0].rstrip() != "---":
        raise InvalidDocument(f"{path}:1: the file has no front matter", "it begins with a line --- and the fields")
    for number, line in enumerate(lines, 1):
        if line.startswith(_MARKERS):
            raise InvalidDocument(f"{path}:{number}: conflict markers", "resolve the merge, then run it again")
    close = next((i for i in range(1, len(lines)) if lines[i].rstrip() == "---"), None)
    if close is None:
        raise InvalidDocument(f"{path}:1: the front matter has no end", "close it with a line ---")
    separator = next((i for i in range(1, close) if lines[i].startswith(_SEPARATOR_START)), None)
    return _Split(lines, close, separator, bom)


def _lines(text: str) -> list[str]:
    """Split at LF alone and keep the ends: str.splitlines would also split at U+2028 and form feeds."""
    parts = text.split("\n")
    lines = [part + "\n" for part in parts[:-1]]
    return [*lines, parts[-1]] if parts[-1] else lines


def _field(line: str) -> tuple[str, str] | None:
    """Return (name, raw value) of a `name: value` line at column 0, else None."""
    name, colon, value = line.rstrip("\r\n").partition(":")
    if not colon or not name or name[0] in " \t#-\"'[{" or " " in name:
        return None
    return (name, value) if not value or value[0] in " \t" else None


def _without_comment(value: str) -> tuple[str, str]:
    """Split a raw value into (value, trailing comment with the blanks before it)."""
    text = value.strip()
    if text[:1] in ("'", '"'):
        end = _closing_quote(text)
        return text[: end + 1], text[end + 1 :]
    at = text.find(" #")
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


def _scalar(value: str) -> str | None:
    """Return a one-line scalar as text; None where only YAML can tell."""
    text, _ = _without_comment(value)
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
    if text[0] in "|>&*!%@`{[?" or ": " in text or text.endswith(":"):
        return None
    return text


def _flow_list(value: str) -> tuple[str, ...] | None:
    text, _ = _without_comment(value)
    if text == "[]" or not text:
        return ()
    if text[0] != "[" or text[-1] != "]" or any(mark in text[1:-1] for mark in "[]{}#"):
        return None
    items = [_scalar(item) for item in text[1:-1].split(",")] if "," not in "".join(_quoted(text)) else [None]
    return None if any(item is None for item in items) else tuple(str(item) for item in items if item)


def _quoted(text: str) -> list[str]:
    return text.split('"')[1::2] + text.split("'")[1::2]


def _flat(lines: Sequence[str]) -> dict[str, str] | None:
    """Return {name: raw value} when every line is a flat field, a comment or blank; None otherwise."""
    fields: dict[str, str] = {}
    for line in lines:
        if not line.strip() or line.startswith("#"):
            continue
        pair = _field(line)
        if pair is None or pair[0] in fields:
            return None
        fields[pair[0]] = pair[1]
    return fields


def _load_yaml(text: str, path: str, first_line: int) -> dict[str, Any]:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        loaded = YAML(typ="safe", pure=True).load(text)
    except (YAMLError, ValueError) as problem:
        mark = getattr(problem, "problem_mark", None)
        line = first_line + (mark.line if mark is not None else 0)
        why = getattr(problem, "problem", None) or "broken YAML"
        raise InvalidDocument(f"{path}:{line}: {why}", "mend the front matter; instinct leaves the file alone") from None
    if loaded is None:
        return {}
    if not isinstance(loaded, dict):
        raise InvalidDocument(f"{path}:{first_line}: the front matter is not a list of fields", "write name: value")
    return {str(name): value for name, value in loaded.items()}


def _human(split: _Split, path: str) -> dict[str, Any]:
    """Return the fields that are not machine lines, typed."""
    start = 1 if split.separator is None else split.separator + 1
    lines = split.lines[start : split.close]
    flat = _flat(lines)
    typed: dict[str, Any] = {}
    if flat is not None:
        for name, raw in flat.items():
            if split.separator is None and name in MACHINE:
                continue
            value = _flow_list(raw) if name in ("tags", "verified") else _scalar(raw)
            if value is None:
                flat = None
                break
            typed[name] = value
    if flat is None:
        return _load_yaml("".join(lines).replace("\r\n", "\n"), path, start + 1)
    return typed


def _machine(split: _Split, path: str) -> dict[str, tuple[int, str]]:
    """Return {field: (line index, raw value)} of the machine lines. Raises for a field that stands twice."""
    found: dict[str, tuple[int, str]] = {}
    for index in range(1, split.close if split.separator is None else split.separator):
        pair = _field(split.lines[index])
        if pair is None or pair[0] not in MACHINE:
            continue
        if pair[0] in found:
            raise InvalidDocument(f"{path}:{index + 1}: {pair[0]} stands twice", "keep one of the two lines")
        found[pair[0]] = (index, pair[1])
    return found


def _integer(found: Mapping[str, tuple[int, str]], name: str, path: str, default: int | None) -> int:
    if name not in found:
        if default is None:
            raise InvalidDocument(f"{path}:1: {name} is missing", f"add a line {name}: 1")
        return default
    index, raw = found[name]
    text, _ = _without_comment(raw)
    try:
        return int(text)
    except ValueError:
        raise InvalidDocument(f"{path}:{index + 1}: {name} is not an integer: {text!r}", "write a whole number") from None


def _sources(split: _Split, found: Mapping[str, tuple[int, str]], path: str) -> tuple[str, ...]:
    if "sources" not in found:
        return ()
    index, raw = found["sources"]
    end = _block_end(split, index)
    if end == index + 1:
        listed = _flow_list(raw)
        if listed is not None:
            return listed
    loaded = _load_yaml("".join(split.lines[index:end]).replace("\r\n", "\n"), path, index + 1).get("sources")
    return tuple(str(item) for item in loaded) if isinstance(loaded, list) else ()


def _block_end(split: _Split, index: int) -> int:
    """Return the index after the lines that belong to the field at `index` (indented or list lines that follow)."""
    end = index + 1
    while end < split.close and split.lines[end][:1] in (" ", "\t", "-") and split.lines[end].strip() != "---":
        end += 1
    return end


def parse(text: str, path: str) -> PatternFile:
    """Read a pattern file. `path` is for messages only. Raises InvalidDocument with file, line and reason."""
    split = _split(text, path)
    found = _machine(split, path)
    human = _human(split, path)
    if "pattern" not in found:
        raise InvalidDocument(f"{path}:1: pattern (the key) is missing", 'add a line pattern: "prefix:body"')
    index, raw = found["pattern"]
    try:
        key = normalise_key(_scalar(raw) if _scalar(raw) is not None else raw)  # type: ignore[arg-type]
        category = category_of(key, _scalar(found["category"][1]) or None if "category" in found else None)
    except InstinctError as problem:
        raise InvalidDocument(f"{path}:{index + 1}: {problem.message}", problem.hint) from None
    status = str(human.get("status") or ACTIVE)
    if status not in STATUSES:
        line = next((i for i, row in enumerate(split.lines, 1) if row.startswith("status:")), 1)
        raise InvalidDocument(f"{path}:{line}: there is no status {status!r}", "statuses: " + ", ".join(STATUSES))
    tags, metadata = human.get("tags") or (), human.get("metadata")
    return PatternFile(
        path=path,
        text=text,
        key=key,
        category=category,
        confidence=_integer(found, "confidence", path, None),
        counted=_integer(found, "counted", path, 0),
        level=_scalar(found["level"][1]) or "" if "level" in found else "",
        first_seen=_scalar(found["first_seen"][1]) or "" if "first_seen" in found else "",
        last_seen=_scalar(found["last_seen"][1]) or "" if "last_seen" in found else "",
        sources=_sources(split, found, path),
        title=str(human.get("title") or ""),
        description=str(human.get("description") or ""),
        tags=tuple(str(tag) for tag in tags) if isinstance(tags, (list, tuple)) else (str(tags),),
        status=status,
        graduated_to=str(human.get("graduated_to") or ""),
        metadata=metadata if isinstance(metadata, dict) else {},
        body="".join(split.lines[split.close + 1 :]),
        has_separator=split.separator is not None,
    )


# --- writing --------------------------------------------------------------------------------------------------------


def _line_end(split: _Split) -> str:
    return "\r\n" if split.lines[0].endswith("\r\n") else "\n"


def _joined(split: _Split) -> str:
    return ("\ufeff" if split.bom else "") + "".join(split.lines)


def _replace_value(line: str, name: str, value: str) -> str:
    body = line.rstrip("\r\n")
    _, comment = _without_comment(body.partition(":")[2])
    return f"{name}: {value}{comment}{line[len(body) :]}"


def with_machine_lines(text: str, machine: MachineLines, path: str = "") -> str:
    """Return `text` with new machine lines; a line whose value is unchanged, and all others, stay byte for byte."""
    split = _split(text, path)
    end = _line_end(split)
    previous = 0
    for name, value in machine.rendered().items():
        found = _machine(split, path)
        if name in found:
            index, raw = found[name]
            if not _same(split, found, name, value, path):
                block = _block_end(split, index)
                split.lines[index:block] = [_replace_value(split.lines[index], name, value)]
                split.close -= block - index - 1
            previous = index
        else:
            previous += 1
            split.lines.insert(previous, f"{name}: {value}{end}")
            split.close += 1
        split.separator = next((i for i in range(1, split.close) if split.lines[i].startswith(_SEPARATOR_START)), None)
    if split.separator is None:
        split.lines.insert(max(index for index, _ in _machine(split, path).values()) + 1, SEPARATOR + end)
    return _joined(split)


def _same(split: _Split, found: Mapping[str, tuple[int, str]], name: str, value: str, path: str) -> bool:
    """True when the line already says `value`, in whatever quotes or layout a person prefers."""
    if name == "sources":
        return list(_sources(split, found, path)) == list(_flow_list(value) or ())
    return _scalar(found[name][1]) == _scalar(value)


def with_field(text: str, name: str, value: str, path: str = "") -> str:
    """Return `text` with one of the person's scalar fields set (a new one goes below the separator)."""
    split = _split(text, path)
    start = (split.separator or 0) + 1
    for index in range(start, split.close):
        pair = _field(split.lines[index])
        if pair is not None and pair[0] == name:
            block = _block_end(split, index)
            split.lines[index:block] = [_replace_value(split.lines[index], name, value)]
            return _joined(split)
    split.lines.insert(split.close, f"{name}: {value}{_line_end(split)}")
    return _joined(split)


def fill_empty(text: str, *, title: str, description: str, metadata: Mapping[str, Any], path: str = "") -> str:
    """Return `text` with title, description and metadata taken from evidence where a person left them empty."""
    known = parse(text, path)
    if title and not known.title:
        text = with_field(text, "title", quote(title), path)
    if description and not known.description:
        text = with_field(text, "description", quote(description), path)
    missing = {name: value for name, value in metadata.items() if name not in known.metadata}
    return _with_metadata(text, missing, path) if missing else text


def _with_metadata(text: str, missing: Mapping[str, Any], path: str) -> str:
    split = _split(text, path)
    start, end = split.close, split.close
    for index in range((split.separator or 0) + 1, split.close):
        pair = _field(split.lines[index])
        if pair is not None and pair[0] == "metadata":
            start, end = index, _block_end(split, index)
    block = "".join(split.lines[start:end]).replace("\r\n", "\n")
    split.lines[start:end] = [_extended(block, missing).replace("\n", _line_end(split))]
    return _joined(split)


def _extended(block: str, missing: Mapping[str, Any]) -> str:
    yaml = _round_trip()
    loaded = yaml.load(block) if block else None
    if not loaded or not loaded.get("metadata"):
        return _dump_yaml({"metadata": dict(missing)})
    loaded["metadata"].update(missing)
    return _dump_yaml(loaded)


def _round_trip() -> Any:
    from ruamel.yaml import YAML

    yaml = YAML(typ="rt", pure=True)
    yaml.width = 10_000  # the default would wrap a person's long lines
    yaml.preserve_quotes = True
    yaml.allow_unicode = True
    return yaml


def _dump_yaml(value: Any) -> str:
    import io

    stream = io.StringIO()
    _round_trip().dump(value, stream)
    return stream.getvalue()


def front_matter(text: str) -> dict[str, Any]:
    """Return the front matter of a skill or memory file for checking; raises InvalidDocument when it is broken.

    python-frontmatter is enough here: the text is only read, never written back.
    """
    import frontmatter
    from yaml import YAMLError

    try:
        return dict(frontmatter.loads(text.lstrip("\ufeff").replace("\r\n", "\n")).metadata)
    except (YAMLError, TypeError, ValueError) as problem:
        raise InvalidDocument(f"broken front matter: {str(problem).splitlines()[0]}", "mend the YAML") from None

"""Pattern files: text to PatternFile, and new numbers into the text with every other byte kept (DESIGN 3.3).

Flat front matter is read by hand, which is a hundred times faster than YAML; whatever is not flat goes to ruamel.yaml.
Writing replaces the machine lines alone and never re-writes a person's lines.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from instinct_git.core.keys import category_of, normalise_key
from instinct_git.core.model import ACTIVE, STATUSES
from instinct_git.core.pattern import PatternFile
from instinct_git.core.scalars import field, flat, flow, flow_list, json_list, json_map, plain, scalar, without_comment
from instinct_git.core.scalars import quote as quote  # a public name of this module
from instinct_git.errors import InstinctError, InvalidDocument

SEPARATOR = "# --- above: kept by instinct (a confidence edited by hand is respected) | below: yours ---"
MACHINE = (
    "type", "pattern", "category", "confidence", "counted", "level", "first_seen", "last_seen", "sources", "sessions",
    "candidate",
)  # fmt: skip
_LISTS = ("tags", "verified", "sources")
_MAPS = ("metadata", "candidate", "applies_to")
_TEXTS = ("title", "description", "tags", "status", "graduated_to")
_MARKERS = ("<<<<<<< ", ">>>>>>> ")
_SEPARATOR_START = "# --- above"


class MachineLines(NamedTuple):
    """The values that instinct owns in a pattern file."""

    key: str
    category: str
    confidence: int
    counted: int
    level: str
    first_seen: str
    last_seen: str
    sources: tuple[str, ...]
    candidate: Mapping[str, Any] | None = None
    """What the pool says of it; empty: it is no candidate (the line goes), None: the line stays as it is."""
    sessions: int | None = None
    """Sessions that saw it; 0: none named itself (the line goes), None: the line stays as it is."""

    def rendered(self) -> dict[str, str]:
        """Return {field: its YAML text}; an empty text takes the line out."""
        seen = {} if self.sessions is None else {"sessions": str(self.sessions) if self.sessions else ""}
        pool = {} if self.candidate is None else {"candidate": flow(self.candidate) if self.candidate else ""}
        return {
            "type": "Pattern",
            "pattern": quote(self.key),
            "category": self.category,
            "confidence": str(self.confidence),
            "counted": str(self.counted),
            "level": self.level,
            "first_seen": quote(self.first_seen),
            "last_seen": quote(self.last_seen),
            "sources": "[" + ", ".join(plain(name) for name in self.sources) + "]",
            **seen,
            **pool,
        }


def new_text(machine: MachineLines, *, title: str = "", description: str = "", metadata: Mapping[str, Any]) -> str:
    """Return the text of a pattern file that does not exist yet."""
    head = [f"{name}: {value}" for name, value in machine.rendered().items() if value]
    lines = ["---", *head, SEPARATOR, f"title: {quote(title)}", f"description: {quote(description)}"]
    lines += ["tags: []", f"status: {ACTIVE}"]
    if metadata:
        lines.append(f"metadata: {flow(metadata)}")
    return "\n".join([*lines, "---", ""])


# --- reading --------------------------------------------------------------------------------------------------------


class _Split:
    """A text in lines. No dataclass: every `observe` of a known pattern comes through here."""

    __slots__ = ("bom", "close", "lines", "separator")

    def __init__(self, lines: list[str], close: int, separator: int | None, bom: bool) -> None:
        self.lines, self.close, self.separator, self.bom = lines, close, separator, bom
        # Every line has its own line end; close and separator are indexes of the closing fence and of the separator.


def _split(text: str, path: str) -> _Split:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidDocument(f"{path}:1: the file is not valid UTF-8", "save it as UTF-8") from None
    bom = text.startswith("\ufeff")
    lines = _lines(text[1:] if bom else text)
    if not lines or lines[0].rstrip() != "---":
        raise InvalidDocument(f"{path}:1: the file has no front matter", "it begins with a line --- and the fields")
    marked = any(line.startswith(_MARKERS) for line in lines)
    close = next((i for i in range(1, len(lines)) if lines[i].rstrip() == "---"), None)
    if marked and (row := _conflict(lines, close)) is not None:
        raise InvalidDocument(f"{path}:{row + 1}: conflict markers", "resolve the merge, then run it again")
    if close is None:
        raise InvalidDocument(f"{path}:1: the front matter has no end", "close it with a line ---")
    separator = next((i for i in range(1, close) if lines[i].startswith(_SEPARATOR_START)), None)
    return _Split(lines, close, separator, bom)


def _conflict(lines: list[str], close: int | None) -> int | None:
    """Return the index of the line where a conflict begins. In the front matter every marker is one; a text may quote
    them in a block of code."""
    from instinct_git.core.markdown import conflict_at  # its expressions cost; markers are rare

    head = lines if close is None else lines[:close]
    row = next((row for row, line in enumerate(head) if line.startswith(_MARKERS)), None)
    return conflict_at("".join(lines)) if row is None else row


def _lines(text: str) -> list[str]:
    """Split at LF alone and keep the ends: str.splitlines would also split at U+2028 and form feeds."""
    parts = text.split("\n")
    lines = [part + "\n" for part in parts[:-1]]
    return [*lines, parts[-1]] if parts[-1] else lines


def _load_yaml(text: str, path: str, first_line: int) -> dict[str, Any]:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        loaded = YAML(typ="safe", pure=True).load(text)
    except (YAMLError, ValueError) as problem:
        mark = getattr(problem, "problem_mark", None)
        line = first_line + (mark.line if mark is not None else 0)
        why = getattr(problem, "problem", None) or "broken YAML"
        raise InvalidDocument(f"{path}:{line}: {why}", "mend the front matter; the file is left alone") from None
    if loaded is None:
        return {}
    if not isinstance(loaded, dict):
        raise InvalidDocument(f"{path}:{first_line}: the front matter is not a list of fields", "write name: value")
    return {str(name): _plain_data(value) for name, value in loaded.items()}


def _plain_data(value: Any) -> Any:
    """Return YAML's values as JSON's: a date becomes its text, a set a list."""
    if isinstance(value, dict):
        return {str(name): _plain_data(one) for name, one in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain_data(one) for one in value]
    return value if value is None or isinstance(value, (str, bool, int, float)) else str(value)


def _fields(split: _Split, found: Mapping[str, tuple[int, str]], path: str) -> dict[str, Any]:
    """Return the person's fields, typed. Front matter that is not flat goes through YAML, which proves it."""
    lines = split.lines[1 : split.close]
    pairs = flat(lines)
    typed: dict[str, Any] = {}
    for name, raw in (pairs or {}).items():
        value = _typed(name, raw)
        if value is None:
            pairs = None
            break
        if name not in MACHINE:
            typed[name] = value
    if pairs is not None:
        return typed
    loaded = _load_yaml("".join(lines).replace("\r\n", "\n"), path, 2)
    for name in MACHINE:
        if name in loaded and name not in found:
            raise InvalidDocument(f"{path}:1: {name} cannot be read", f"write {name}: value on a line of its own")
        loaded.pop(name, None)
    return {**loaded, **_one_liners(split)}


def _typed(name: str, raw: str) -> Any:
    """Return a one-line value; None where only YAML can tell."""
    if name in _LISTS:
        return flow_list(raw) if name != "verified" or "{" not in raw else json_list(raw)
    listed = json_map(raw) if name in _MAPS else None
    return scalar(raw) if listed is None else listed


def _one_liners(split: _Split) -> dict[str, Any]:
    """Return the texts of the fields that stand on one line: as written, where YAML would make `0123` a number."""
    texts: dict[str, Any] = {}
    for index in range(1, split.close):
        pair = field(split.lines[index])
        if pair is not None and pair[0] in _TEXTS and _block_end(split, index) == index + 1:
            value = _typed(*pair)
            if value is not None:
                texts[pair[0]] = value
    return texts


def _machine(split: _Split, path: str) -> dict[str, tuple[int, str]]:
    """Return {field: (line index, raw value)} of the machine lines. Raises for a field that stands twice."""
    found: dict[str, tuple[int, str]] = {}
    for index in range(1, split.close):
        pair = field(split.lines[index])
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
    text, _ = without_comment(raw)
    try:
        return int(text)
    except ValueError:
        message = f"{path}:{index + 1}: {name} is not an integer: {text!r}"
        raise InvalidDocument(message, "write a whole number") from None


def _text(split: _Split, found: Mapping[str, tuple[int, str]], name: str, path: str) -> str:
    """Return a machine line's text; empty when the line is missing."""
    if name not in found:
        return ""
    index, raw = found[name]
    text = scalar(raw)
    if text is None:
        block = "".join(split.lines[index : _block_end(split, index)]).replace("\r\n", "\n")
        value = _load_yaml(block, path, index + 1).get(name)
        text = "" if value is None else str(value)
    return text


def _sources(split: _Split, found: Mapping[str, tuple[int, str]], path: str) -> tuple[str, ...]:
    if "sources" not in found:
        return ()
    index, raw = found["sources"]
    end = _block_end(split, index)
    if end == index + 1:
        listed = flow_list(raw)
        if listed is not None:
            return listed
    loaded = _load_yaml("".join(split.lines[index:end]).replace("\r\n", "\n"), path, index + 1).get("sources")
    return tuple(str(item) for item in loaded) if isinstance(loaded, list) else ()


def _candidate(split: _Split, found: Mapping[str, tuple[int, str]], path: str) -> dict[str, Any]:
    if "candidate" not in found:
        return {}
    index, raw = found["candidate"]
    listed = json_map(without_comment(raw)[0])
    if listed is not None:
        return listed
    block = "".join(split.lines[index : _block_end(split, index)]).replace("\r\n", "\n")
    loaded = _load_yaml(block, path, index + 1).get("candidate")
    return loaded if isinstance(loaded, dict) else {}


def _block_end(split: _Split, index: int) -> int:
    """Return the index after the lines that belong to the field at `index`: the indented lines and list lines that
    follow, with the blank lines and comments between them."""
    end, at = index + 1, index + 1
    while at < split.close:
        line = split.lines[at]
        if line[:1] in (" ", "\t", "-") and line.strip():
            end = at + 1
        elif line.strip() and not line.startswith("#"):
            break
        at += 1
    return end


def parse(text: str, path: str) -> PatternFile:
    """Read a pattern file. `path` is for messages only. Raises InvalidDocument with file, line and reason."""
    split = _split(text, path)
    found = _machine(split, path)
    human = _fields(split, found, path)
    if "pattern" not in found:
        raise InvalidDocument(f"{path}:1: pattern (the key) is missing", 'add a line pattern: "prefix:body"')
    index, _ = found["pattern"]
    try:
        key = normalise_key(_text(split, found, "pattern", path))
        category = category_of(key, _text(split, found, "category", path) or None)
    except InstinctError as problem:
        raise InvalidDocument(f"{path}:{index + 1}: {problem.message}", problem.hint) from None
    status = str(human.get("status") or ACTIVE)
    if status not in STATUSES:
        line = next((i for i, row in enumerate(split.lines, 1) if row.startswith("status:")), 1)
        raise InvalidDocument(f"{path}:{line}: there is no status {status!r}", "statuses: " + ", ".join(STATUSES))
    tags, metadata, verified = human.get("tags") or (), human.get("metadata"), human.get("verified")
    return PatternFile(
        path=path,
        text=text,
        key=key,
        category=category,
        confidence=_integer(found, "confidence", path, None),
        counted=_integer(found, "counted", path, 0),
        level=_text(split, found, "level", path),
        first_seen=_text(split, found, "first_seen", path),
        last_seen=_text(split, found, "last_seen", path),
        sources=_sources(split, found, path),
        sessions=_integer(found, "sessions", path, 0),
        title=str(human.get("title") or ""),
        description=str(human.get("description") or ""),
        tags=tuple(str(tag) for tag in tags) if isinstance(tags, (list, tuple)) else (str(tags),),
        status=status,
        graduated_to=str(human.get("graduated_to") or ""),
        verified=tuple(one for one in verified if isinstance(one, dict)) if isinstance(verified, (list, tuple)) else (),
        candidate=_candidate(split, found, path),
        metadata=metadata if isinstance(metadata, dict) else {},
        applies_to=human.get("applies_to"),
        body="".join(split.lines[split.close + 1 :]),
        has_separator=split.separator is not None,
    )


def body_of(text: str) -> str:
    """Return the free text after the front matter; nothing else is read. Raises InvalidDocument where there is none."""
    split = _split(text, "")
    return "".join(split.lines[split.close + 1 :])


def keys_named(text: str) -> set[str]:
    """Return every key that a file which cannot be parsed names in a `pattern:` line of its own."""
    named = set()
    for line in text.split("\n"):
        pair = field(line)
        if pair is not None and pair[0] == "pattern":
            try:
                named.add(normalise_key(scalar(pair[1]) or ""))
            except InstinctError:
                continue
    return named


# --- writing --------------------------------------------------------------------------------------------------------


def _line_end(split: _Split) -> str:
    return "\r\n" if split.lines[0].endswith("\r\n") else "\n"


def _joined(split: _Split) -> str:
    return ("\ufeff" if split.bom else "") + "".join(split.lines)


def _replace_value(line: str, name: str, value: str) -> str:
    body = line.rstrip("\r\n")
    _, comment = without_comment(body.partition(":")[2])
    return f"{name}: {value}{comment}{line[len(body) :]}"


def with_machine_lines(text: str, machine: MachineLines, path: str = "") -> str:
    """Return `text` with new machine lines; a line whose value is unchanged, and all others, stay byte for byte."""
    split = _split(text, path)
    end = _line_end(split)
    previous = 0
    for name, value in machine.rendered().items():
        found = _machine(split, path)
        if not value:
            _drop(split, found.get(name))
        elif name in found:
            index = found[name][0]
            if not _same(split, found, name, value, path):
                block = _block_end(split, index)
                split.lines[index:block] = [_replace_value(split.lines[index], name, value)]
                split.close -= block - index - 1
            previous = _block_end(split, index) - 1
        else:
            previous += 1
            split.lines.insert(previous, f"{name}: {value}{end}")
            split.close += 1
        split.separator = next((i for i in range(1, split.close) if split.lines[i].startswith(_SEPARATOR_START)), None)
    if split.separator is None:
        last = max(index for index, _ in _machine(split, path).values())
        split.lines.insert(_block_end(split, last), SEPARATOR + end)
    return _joined(split)


def _drop(split: _Split, at: tuple[int, str] | None) -> None:
    if at is not None:
        end = _block_end(split, at[0])
        del split.lines[at[0] : end]
        split.close -= end - at[0]


def _same(split: _Split, found: Mapping[str, tuple[int, str]], name: str, value: str, path: str) -> bool:
    """True when the line already says `value`, in whatever quotes or layout a person prefers."""
    if name == "sources":
        listed = flow_list(value)
        wanted = listed if listed is not None else tuple(_load_yaml(f"{name}: {value}", path, 1)[name])
        return _sources(split, found, path) == wanted
    if name == "candidate":
        return _candidate(split, found, path) == json_map(value)
    return scalar(found[name][1]) == scalar(value)


def with_field(text: str, name: str, value: str, path: str = "", *, first: bool = False) -> str:
    """Return `text` with one of the person's scalar fields set. A new one goes to the end of them, or `first`: right
    below the separator, where it touches no other line that a merge or a revert may change."""
    split = _split(text, path)
    for index in range(1, split.close):
        pair = field(split.lines[index])
        if pair is not None and pair[0] == name:
            block = _block_end(split, index)
            split.lines[index:block] = [_replace_value(split.lines[index], name, value)]
            return _joined(split)
    at = split.separator + 1 if first and split.separator is not None else split.close
    split.lines.insert(at, f"{name}: {value}{_line_end(split)}")
    return _joined(split)


def fill_empty(text: str, *, title: str, description: str, metadata: Mapping[str, Any], path: str = "") -> str:
    """Return `text` with title, description and metadata taken from evidence where a person left them empty."""
    known = parse(text, path)
    if title and not known.title:
        text = with_field(text, "title", quote(title), path)
    if description and not known.description:
        text = with_field(text, "description", quote(description), path)
    missing = {name: value for name, value in metadata.items() if name not in known.metadata}
    return _with_metadata(text, known.metadata, missing, path) if missing else text


def _with_metadata(text: str, known: Mapping[str, Any], missing: Mapping[str, Any], path: str) -> str:
    """Add entries: below a block of entries as lines of their own, else as one line. Anything else is left alone."""
    split = _split(text, path)
    index = next((i for i in range(1, split.close) if (field(split.lines[i]) or ("",))[0] == "metadata"), None)
    if index is None:
        split.lines.insert(split.close, f"metadata: {flow(missing)}{_line_end(split)}")
        return _joined(split)
    end = _block_end(split, index)
    raw, comment = without_comment((field(split.lines[index]) or ("", ""))[1])
    if not raw and known:
        first = next(line for line in split.lines[index + 1 : end] if line.strip() and line[0] != "#")
        indent = first[: len(first) - len(first.lstrip())]
        line_end = _line_end(split)
        split.lines[end:end] = [f"{indent}{quote(name)}: {flow(one)}{line_end}" for name, one in missing.items()]
    elif end == index + 1 and (not raw or raw == "{}" or json_map(raw) is not None):
        split.lines[index] = f"metadata: {flow({**missing, **known})}{comment}{_line_end(split)}"
    return _joined(split)


def front_matter(text: str) -> dict[str, Any]:
    """Return the front matter of a skill or memory file for checking; raises InvalidDocument when it is broken.

    python-frontmatter is enough here: the text is only read, never written back.
    """
    import frontmatter
    from yaml import YAMLError  # type: ignore[import-untyped]

    try:
        return dict(frontmatter.loads(text.lstrip("\ufeff").replace("\r\n", "\n")).metadata)
    except (YAMLError, TypeError, ValueError) as problem:
        raise InvalidDocument(f"broken front matter: {str(problem).splitlines()[0]}", "mend the YAML") from None

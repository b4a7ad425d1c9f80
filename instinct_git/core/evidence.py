"""Evidence lines, ledger lines and containers: text to values and back (DESIGN 3.1 and 3.2), and the set they make."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

from instinct_git.core.keys import normalise_key
from instinct_git.core.model import KINDS, NOTHING, Evidence
from instinct_git.errors import InstinctError, InvalidKey

VERSION = 1
OBSERVATIONS = ".instinct/observations/"
LEDGER = ".instinct/ledger/"
MAX_LINE = 4096
OPTIONAL = ("cat", "title", "desc", "meta", "n", "x", "to", "kind", "dims", "score", "why")
_TIME_KINDS = {"decay": "decayed", "idle": "idle", "faded": "faded", "expired": "expired"}
_OPTIONAL = frozenset(OPTIONAL)
_BLANKS = " \t\r"
_decode = json.JSONDecoder().raw_decode  # json.loads looks up its arguments for every line
TIME_DRIVEN = ("decay:", "idle:", "faded:", "expired:")
NONCE_CHARS = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford base32, lower case
_KNOWN_KINDS = frozenset(KINDS)


class BadLine(NamedTuple):
    """A line of a container that cannot be read."""

    line: int
    reason: str
    torn: bool = False
    """True for a last line without its end: a write that a power cut stopped, not damage."""


def nonce(random: bytes) -> str:
    """Return 12 characters (60 bits) from at least 8 random bytes."""
    number = int.from_bytes(random[:8], "big")
    return "".join(NONCE_CHARS[(number >> (5 * i)) & 31] for i in range(12))


def day_of(evidence_id: str) -> str:
    """Return the day (YYYYMMDD) in an id. A time-driven id has the day it names, the Monday of its week (decay), or
    the Sunday of its week (faded: what was folded earlier in that week had gone when it was booked)."""
    if not evidence_id.startswith(TIME_DRIVEN):
        return evidence_id[:8]
    stamp = evidence_id.rpartition(":")[2]
    if "-W" in stamp:
        from datetime import date

        year, _, week = stamp.partition("-W")
        weekday = 7 if evidence_id.startswith("faded:") else 1
        return date.fromisocalendar(int(year), int(week), weekday).strftime("%Y%m%d")
    return stamp.replace("-", "")[:8]


def position(evidence_id: str) -> tuple[str, int, str]:
    """Return the place of an id in the fold: by day, time-driven ids last in their day, then by id (law 5)."""
    return day_of(evidence_id), int(evidence_id.startswith(TIME_DRIVEN)), evidence_id


def iso_day(day: str) -> str:
    """Return YYYY-MM-DD for YYYYMMDD."""
    return f"{day[:4]}-{day[4:6]}-{day[6:8]}"


def _valid_id(text: object, key: str = "", kind: str = "") -> bool:
    """True for an id; with a key and a kind, a time-driven one must be theirs: it stands for one deed of one pattern."""
    if not isinstance(text, str):
        return False
    if text.startswith(TIME_DRIVEN):
        prefix, _, rest = text.partition(":")
        if key and (_TIME_KINDS[prefix] != kind or rest.rpartition(":")[0] != key):
            return False
        try:
            return _is_day(day_of(text))
        except ValueError:
            return False
    nonce_and_number = text[9:]
    code, _, number = nonce_and_number.partition(".")
    return (
        text[8:9] == "-"
        and code.isalnum()
        and code.isascii()
        and number.isdigit()
        and number.isascii()
        and _is_day(text[:8])
    )


@lru_cache(maxsize=4096)
def _is_day(text: str) -> bool:
    from datetime import date

    try:
        return text.isascii() and text.isdigit() and bool(date(int(text[:4]), int(text[4:6]), int(text[6:])))
    except ValueError:
        return False


@lru_cache(maxsize=4096)
def _check_key(text: str) -> None:
    """Raise ValueError unless `text` is a key as it must stand in evidence."""
    try:
        normal = normalise_key(text)
    except InvalidKey as problem:
        raise ValueError(problem.message) from None
    if normal != text:
        raise ValueError("the key is not NFC and trimmed")


def canonical(evidence: Evidence) -> str:
    """Return the payload as canonical JSON: what two containers must agree on (time of day and note left out)."""
    payload = {"p": evidence.p, "k": evidence.k, "by": evidence.by, "s": evidence.s, "ctx": evidence.ctx}
    return json.dumps({**payload, **evidence.extra}, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def dump_line(evidence: Evidence) -> str:
    """Return the evidence line, without its line end. Raises InstinctError when it is longer than 4 kB."""
    record: dict[str, Any] = {"v": VERSION, "id": evidence.id, "p": evidence.p, "k": evidence.k}
    for name, value in (("at", evidence.at), ("by", evidence.by), ("s", evidence.s), ("ctx", evidence.ctx)):
        record[name] = value
    record.update((name, evidence.extra[name]) for name in OPTIONAL if name in evidence.extra)
    if evidence.note:
        record["note"] = evidence.note
    line = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
    # Some readers of JSON lines also split at U+2028, U+2029 and U+0085: never give them the chance.
    line = line.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029").replace("\u0085", "\\u0085")
    if len(line.encode("utf-8", "replace")) > MAX_LINE:
        raise InstinctError(f"the evidence is longer than {MAX_LINE} bytes", "shorten the note or the description")
    return line


def published(evidence: Evidence, *, share_notes: bool = False) -> Evidence:
    """Return the evidence as a commit may carry it (law 12): the day instead of the time, and no note."""
    return evidence._replace(at=iso_day(day_of(evidence.id)), note=evidence.note if share_notes else "")


def parse_line(line: str) -> list[Evidence]:
    """Return the evidence of one line: one piece for an evidence line, one an id for a ledger line.

    Raises ValueError with the reason for a line that is neither.
    """
    record, end = _decode(line.strip(_BLANKS))
    if end < len(line.strip(_BLANKS)):
        raise ValueError("there is more on the line than one JSON object")
    if not isinstance(record, dict):
        raise ValueError("not a JSON object")
    if record.get("v") != VERSION:
        raise ValueError(f"version {record.get('v')!r} is not known here, a newer instinct-git wrote it")
    key, kind = record.get("p"), record.get("k")
    if not isinstance(key, str) or not key or not isinstance(kind, str):
        raise ValueError("p (pattern) or k (kind) is missing")
    if kind not in _KNOWN_KINDS:
        raise ValueError(f"the kind {kind!r} is not known here")
    _check_key(key)
    if "\\u" in line:
        json.dumps(record, ensure_ascii=False).encode("utf-8")  # half a surrogate pair could never be written back
    ids = record.get("ids", [record.get("id")])
    if not isinstance(ids, list) or not ids or not all(_valid_id(one, key, kind) for one in ids):
        raise ValueError("id or ids is missing or malformed")
    get = record.get
    texts: tuple[Any, ...] = (get("at", ""), get("by", ""), get("s", ""), get("ctx", ""), get("note", ""))
    if any(type(text) is not str for text in texts):
        texts = tuple(text if isinstance(text, str) else str(text) for text in texts)
    at, by, session, context, note = texts
    extra = NOTHING if _OPTIONAL.isdisjoint(record) else {name: record[name] for name in OPTIONAL if name in record}
    if not isinstance(extra.get("n", 0), int):
        raise ValueError("n is not an integer")
    if kind == "alias":
        _check_key(str(extra.get("to", "")))
    if kind == "retract" and not _valid_id(extra.get("to")):
        raise ValueError("to is no id")
    return [Evidence(one, key, kind, at, by, session, context, note, extra) for one in ids]


def parse_container(data: bytes) -> tuple[list[Evidence], list[BadLine]]:
    """Return all evidence of a container and every line that could not be read. Never raises."""
    found: list[Evidence] = []
    bad: list[BadLine] = []
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")  # only LF ends a line: U+2028 inside a string does not
    for number, raw in enumerate(lines, 1):
        if not raw.strip():
            continue
        try:
            found.extend(parse_line(raw.decode("utf-8")))
        except (ValueError, RecursionError) as problem:
            reason = "not valid JSON" if isinstance(problem, json.JSONDecodeError) else str(problem)
            if isinstance(problem, UnicodeError):
                reason = "not valid UTF-8"
            bad.append(BadLine(number, reason, torn=number == len(lines)))
    return found, bad


def dump_container(evidence: Iterable[Evidence]) -> bytes:
    """Return a container of evidence lines."""
    return "".join(dump_line(one) + "\n" for one in evidence).encode("utf-8")


def dump_ledger(evidence: Iterable[Evidence]) -> bytes:
    """Return a ledger container: one line a pattern, kind, source, session, context and optional keys; sorted."""
    groups: dict[str, tuple[dict[str, Any], list[str]]] = {}
    for one in evidence:
        head: dict[str, Any] = {"v": VERSION, "p": one.p, "k": one.k, "by": one.by, "s": one.s, "ctx": one.ctx}
        head.update((name, one.extra[name]) for name in OPTIONAL if name in one.extra)
        name = json.dumps(head, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        groups.setdefault(name, (head, []))[1].append(one.id)
    lines = []
    for name in sorted(groups, key=lambda n: (groups[n][0]["p"], n)):
        head, ids = groups[name]
        line = json.dumps({**head, "ids": sorted(set(ids))}, ensure_ascii=False, separators=(",", ":"))
        lines.append(line.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029").replace("\u0085", "\\u0085"))
    return "".join(line + "\n" for line in lines).encode("utf-8")


class EvidenceSet:
    """The grow-only set of law 1: one piece of evidence an id, whatever container it came from, in any order."""

    def __init__(self, evidence: Iterable[Evidence] = ()) -> None:
        self.by_id: dict[str, Evidence] = {}
        self.clashes: set[str] = set()
        """Ids that came with two payloads; the smallest canonical JSON represents them."""
        self.update(evidence)

    def update(self, evidence: Iterable[Evidence]) -> None:
        """Add evidence."""
        known = self.by_id
        for one in evidence:
            other = known.setdefault(one.id, one)
            if other is not one:
                known[one.id] = self._winner(other, one)

    def _winner(self, a: Evidence, b: Evidence) -> Evidence:
        mine, other = canonical(a), canonical(b)
        if mine == other:
            return a if len(a.note) + len(a.at) >= len(b.note) + len(b.at) else b  # the one that knows more
        self.clashes.add(a.id)
        return a if mine < other else b

    def __contains__(self, evidence_id: object) -> bool:
        return evidence_id in self.by_id

    def __len__(self) -> int:
        return len(self.by_id)

    def __iter__(self) -> Any:
        return iter(self.by_id.values())

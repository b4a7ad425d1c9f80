"""Evidence lines, ledger lines and containers: text to values and back (DESIGN 3.1 and 3.2), and the set they make."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from operator import itemgetter
from sys import intern
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
_NO_IDS: list[object] = []
_ID = itemgetter(0)
_new = tuple.__new__  # half the time of Evidence(...), a million times over
# What json.loads calls in the end, after looking up its arguments.
_scan: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder().scan_once  # type: ignore[attr-defined]
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


@cache
def _ordinary() -> Callable[[str], object]:
    """Return what matches an id that is not time-driven, its day as yet unchecked."""
    import re  # compiled when the first line is read: an `observe` into an empty memory reads none

    return re.compile(r"[0-9]{8}-[0-9A-Za-z]+\.[0-9]+").fullmatch


def _valid_id(text: object, key: str = "", kind: str = "") -> bool:
    """True for an id; with a key and a kind, a time-driven one must be theirs: it stands for one deed of one pattern."""
    if not isinstance(text, str):
        return False
    if _ordinary()(text):
        return _is_day(text[:8])
    if not text.startswith(TIME_DRIVEN):
        return False
    prefix, _, rest = text.partition(":")
    if key and (_TIME_KINDS[prefix] != kind or rest.rpartition(":")[0] != key):
        return False
    try:
        return _is_day(day_of(text))
    except ValueError:
        return False


@lru_cache(maxsize=4096)
def _is_day(text: str) -> bool:
    from datetime import date

    try:
        return text.isascii() and text.isdigit() and bool(date(int(text[:4]), int(text[4:6]), int(text[6:])))
    except ValueError:
        return False


@lru_cache(maxsize=4096)
def _check_key(text: str) -> str:
    """Return a key, the same object for all its lines. Raises ValueError unless it is as it must stand in evidence."""
    try:
        normal = normalise_key(text)
    except InvalidKey as problem:
        raise ValueError(problem.message) from None
    if normal != text:
        raise ValueError("the key is not NFC and trimmed")
    return text


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
    line = line.strip(_BLANKS)
    try:
        record, end = _scan(line, 0)
    except StopIteration:
        raise json.JSONDecodeError("no value", line, 0) from None
    if end < len(line):
        raise ValueError("there is more on the line than one JSON object")
    if not isinstance(record, dict):
        raise ValueError("not a JSON object")
    get = record.get
    if get("v") != VERSION:
        raise ValueError(f"version {get('v')!r} is not known here, a newer instinct-git wrote it")
    key, kind = get("p"), get("k")
    if not isinstance(key, str) or not key or not isinstance(kind, str):
        raise ValueError("p (pattern) or k (kind) is missing")
    if kind not in _KNOWN_KINDS:
        raise ValueError(f"the kind {kind!r} is not known here")
    key, kind = _check_key(key), intern(kind)
    if "\\u" in line:
        json.dumps(record, ensure_ascii=False).encode("utf-8")  # half a surrogate pair could never be written back
    ids = get("ids", _NO_IDS)
    if ids is _NO_IDS:
        ids = [get("id")]
    if not isinstance(ids, list) or not ids:
        raise ValueError("id or ids is missing or malformed")
    for one in ids:
        if not _valid_id(one, key, kind):
            raise ValueError("id or ids is missing or malformed")
    at, by, session, context, note = texts = get("at", ""), get("by", ""), get("s", ""), get("ctx", ""), get("note", "")
    try:
        "".join(texts)
    except TypeError:
        at, by, session, context, note = (text if isinstance(text, str) else str(text) for text in texts)
    extra = NOTHING
    if not _OPTIONAL.isdisjoint(record):
        extra = {name: record[name] for name in OPTIONAL if name in record}
        if not isinstance(extra.get("n", 0), int):
            raise ValueError("n is not an integer")
    if kind == "alias":
        _check_key(str(extra.get("to", "")))
    if kind == "retract" and not _valid_id(extra.get("to")):
        raise ValueError("to is no id")
    by = intern(by)
    found = []
    for one in ids:
        found.append(_new(Evidence, (one, key, kind, at, by, session, context, note, extra)))
    return found


def parse_container(data: bytes) -> tuple[list[Evidence], list[BadLine]]:
    """Return all evidence of a container and every line that could not be read. Never raises."""
    found: list[Evidence] = []
    bad: list[BadLine] = []
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")  # only LF ends a line: U+2028 inside a string does not
    for number, raw in enumerate(lines, 1):
        if not raw or raw.isspace():
            continue
        try:
            found += parse_line(raw.decode())
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
    """Return a ledger container: one line a pattern, kind, source, session, context and optional keys.

    Sorted by first day, source, session, pattern: what repeats stands close together, where git's compression (a window
    of 32 kB) still sees it. Sorted by pattern, a ledger of a million ids takes more than twice the room.
    """
    groups: dict[str, tuple[dict[str, Any], list[str]]] = {}
    for one in evidence:
        head: dict[str, Any] = {"v": VERSION, "p": one.p, "k": one.k, "by": one.by, "s": one.s, "ctx": one.ctx}
        head.update((name, one.extra[name]) for name in OPTIONAL if name in one.extra)
        name = json.dumps(head, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        groups.setdefault(name, (head, []))[1].append(one.id)
    lines = []
    rows = [(head, sorted(set(ids)), name) for name, (head, ids) in groups.items()]
    for head, ids, _ in sorted(rows, key=lambda r: (day_of(r[1][0]), r[0]["by"], r[0]["s"], r[0]["p"], r[2])):
        line = json.dumps({**head, "ids": ids}, ensure_ascii=False, separators=(",", ":"))
        lines.append(line.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029").replace("\u0085", "\\u0085"))
    return "".join(line + "\n" for line in lines).encode("utf-8")


def other_session_alone(one: Evidence, other: Evidence) -> bool:
    """True when two payloads of one id differ in the session and in nothing else: one clone has learned a call from the
    session itself, another from a copy that was resumed under a new name. Neither is wrong."""
    return one.s != other.s and bool(one.s and other.s) and canonical(one._replace(s=other.s)) == canonical(other)


class EvidenceSet:
    """The grow-only set of law 1: one piece of evidence an id, whatever container it came from, in any order."""

    def __init__(self, evidence: Iterable[Evidence] = ()) -> None:
        self.by_id: dict[str, Evidence] = {}
        self.clashes: set[str] = set()
        """Ids that came with two payloads; the smallest canonical JSON represents them."""
        self.update(evidence)

    def update(self, evidence: Iterable[Evidence]) -> None:
        """Add evidence."""
        evidence, known = tuple(evidence), self.by_id
        fresh = dict(zip(map(_ID, evidence), evidence, strict=True))
        if len(fresh) == len(evidence) and known.keys().isdisjoint(fresh):
            known.update(fresh)
            return
        for one in evidence:
            other = known.setdefault(one.id, one)
            if other is not one:
                known[one.id] = self._winner(other, one)

    def _winner(self, a: Evidence, b: Evidence) -> Evidence:
        mine, other = canonical(a), canonical(b)
        if mine == other:
            return a if len(a.note) + len(a.at) >= len(b.note) + len(b.at) else b  # the one that knows more
        if not other_session_alone(a, b):
            self.clashes.add(a.id)
        return a if mine < other else b

    def __contains__(self, evidence_id: object) -> bool:
        return evidence_id in self.by_id

    def __len__(self) -> int:
        return len(self.by_id)

    def __iter__(self) -> Any:
        return iter(self.by_id.values())

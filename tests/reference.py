"""A second reading of the laws, written from the design alone: slow, plain, and sharing no code with the package."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

DELTA = {"observed": 1, "succeeded": 1, "confirmed": 1, "denied": -2, "decayed": -1, "remembered": 1}
CAP = 3


class Sum(NamedTuple):
    """What the design says of one key."""

    total: int
    first: str
    last: str
    sources: tuple[str, ...]


NOTHING = Sum(0, "", "", ())


class Numbers(NamedTuple):
    """What a pattern file says."""

    path: Path
    confidence: int
    counted: int
    level: str
    first: str
    last: str
    sources: tuple[str, ...]
    retired: bool


def numbers(root: Path) -> dict[str, Numbers]:
    """Read the pattern files below a memory's root, one line a field."""
    found = {}
    for path in sorted(root.glob(".instinct/patterns/*/*.md")):
        head = path.read_text("utf-8").split("\n---\n")[0].split("\n")
        field = dict(line.split(": ", 1) for line in head if ": " in line and not line.startswith("#"))
        found[unquoted(field["pattern"])] = Numbers(
            path, int(field["confidence"]), int(field["counted"]), field["level"],
            unquoted(field.get("first_seen", "")), unquoted(field.get("last_seen", "")),
            tuple(map(unquoted, filter(None, field.get("sources", "").strip("[]").split(", ")))), field.get("status") == "retired",
        )  # fmt: skip
    return found


def unquoted(value: str) -> str:
    """Return a field's value without its quotes."""
    return str(json.loads(value)) if value.startswith('"') else value


def level(confidence: int) -> str:
    """Return the level of a confidence."""
    return "rule" if confidence >= 10 else "mature" if confidence >= 5 else "raw"


def everything(root: Path) -> list[dict[str, Any]]:
    """Return every record of a memory's containers, as often as it stands there."""
    paths = [*root.glob(".instinct/observations/*.jsonl"), *root.glob(".instinct/ledger/*.jsonl")]
    return [record for path in paths for record in records(path.read_text("utf-8"))]


def payload(record: dict[str, Any]) -> str:
    """The canonical JSON by which one id with two payloads is settled."""
    kept = {name: record.get(name, "") for name in ("p", "k", "by", "s", "ctx")}
    kept.update((n, v) for n, v in record.items() if n not in ("v", "id", "ids", "at", "note", *kept))
    return json.dumps(kept, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def records(text: str) -> Iterable[dict[str, Any]]:
    """Every (id, record) of a container, ledger lines taken apart."""
    for line in text.split("\n"):
        if line.strip():
            record = json.loads(line)
            for name in record.get("ids") or [record["id"]]:
                yield {**{k: v for k, v in record.items() if k != "ids"}, "id": name}


def place(name: str) -> tuple[str, bool, str]:
    """Day in the id, time-driven ids last, id. A week's decay stands on its Monday, its `faded` on its Sunday."""
    kind = name.split(":")[0]
    if kind not in ("decay", "idle", "faded", "expired"):
        return name[:8], False, name
    stamp = name.split(":")[-1]
    if "W" in stamp:
        year, week = stamp.split("-W")
        stamp = date.fromisocalendar(int(year), int(week), 7 if kind == "faded" else 1).isoformat()
    return stamp.replace("-", ""), True, name


def representative(key: str, aliases: dict[str, str]) -> str:
    """Follow the aliases; the smallest key of a cycle represents it."""
    walked: list[str] = []
    while key in aliases and key not in walked:
        walked.append(key)
        key = aliases[key]
    return min(walked[walked.index(key) :]) if key in walked else key


def _alive(everything: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every id once, and what is retracted not at all."""
    known: dict[str, dict[str, Any]] = {}
    for record in everything:
        name = record["id"]
        if name not in known or payload(record) < payload(known[name]):
            known[name] = record
    gone = {record["to"] for record in known.values() if record["k"] == "retract"}
    return [record for record in known.values() if record["id"] not in gone]


def stands_for(everything: Iterable[dict[str, Any]]) -> Callable[[str], str]:
    """Return the function from a key to the one that stands for it."""
    aliases: dict[str, str] = {}
    for record in _alive(everything):
        if record["k"] == "alias" and record["to"] != record["p"]:
            aliases[record["p"]] = min(record["to"], aliases.get(record["p"], record["to"]))
    return lambda key: representative(key, aliases)


def sums(everything: Iterable[dict[str, Any]], delta: dict[str, int] | None = None, cap: int = CAP) -> dict[str, Sum]:
    """Fold a heap of records, in whatever order and however often each stands in it."""
    delta, heap = DELTA if delta is None else delta, list(everything)
    stands, by_key = stands_for(heap), dict[str, list[dict[str, Any]]]()
    for record in sorted(_alive(heap), key=lambda r: place(r["id"])):
        if record["k"] not in ("alias", "retract"):
            by_key.setdefault(stands(record["p"]), []).append(record)
    return {key: _walk(members, delta, cap) for key, members in by_key.items()}


def alone(everything: Iterable[dict[str, Any]]) -> set[str]:
    """The keys behind which one session stands and nothing else: no second one, no person, nothing without a session."""
    heap = list(everything)
    stands, heard, free = stands_for(heap), dict[str, set[tuple[str, str]]](), set[str]()
    for record in _alive(heap):
        key, session = stands(record["p"]), record.get("s", "")
        if record["k"] in ("remembered", "confirmed", "adjusted"):
            free.add(key)
        elif record["k"] in ("observed", "succeeded"):
            heard.setdefault(key, set()).add((record.get("by", ""), session))
            free |= set() if session else {key}
    return {key for key, sessions in heard.items() if len(sessions) == 1 and key not in free}


def _walk(members: list[dict[str, Any]], delta: dict[str, int], cap: int) -> Sum:
    total, days, sources, heard = 0, [], set(), list[tuple[str, str]]()
    for record in members:
        kind, by, session = record["k"], record.get("by", ""), record.get("s", "")
        step = record["n"] if kind == "adjusted" else delta.get(kind, 0)
        if kind == "observed" and session:
            heard.append((by, session))
            if heard.count((by, session)) > cap:
                step = 0
        total = max(total + step, 0)
        if kind in ("observed", "succeeded", "confirmed"):
            days.append(record["id"][:8])
        if by:
            sources.add(by)
    iso = [f"{day[:4]}-{day[4:6]}-{day[6:]}" for day in days]
    return Sum(total, iso[0] if iso else "", iso[-1] if iso else "", tuple(sorted(sources)))

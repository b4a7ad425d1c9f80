"""A second reading of the laws, written from the design alone: slow, plain, and sharing no code with the package."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import date
from typing import Any, NamedTuple

DELTA = {"observed": 1, "succeeded": 1, "confirmed": 1, "denied": -2, "decayed": -1, "remembered": 1}
CAP = 3


class Sum(NamedTuple):
    """What the design says of one key."""

    total: int
    first: str
    last: str
    sources: tuple[str, ...]


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
    if kind not in ("decay", "idle", "faded"):
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


def sums(everything: Iterable[dict[str, Any]], delta: dict[str, int] | None = None, cap: int = CAP) -> dict[str, Sum]:
    """Fold a heap of records, in whatever order and however often each stands in it."""
    delta = DELTA if delta is None else delta
    known: dict[str, dict[str, Any]] = {}
    for record in everything:
        name = record["id"]
        if name not in known or payload(record) < payload(known[name]):
            known[name] = record
    gone = {record["to"] for record in known.values() if record["k"] == "retract"}
    alive = [record for record in known.values() if record["id"] not in gone]
    aliases: dict[str, str] = {}
    for record in alive:
        if record["k"] == "alias" and record["to"] != record["p"]:
            aliases[record["p"]] = min(record["to"], aliases.get(record["p"], record["to"]))
    by_key: dict[str, list[dict[str, Any]]] = {}
    for record in sorted(alive, key=lambda r: place(r["id"])):
        if record["k"] not in ("alias", "retract"):
            by_key.setdefault(representative(record["p"], aliases), []).append(record)
    return {key: _walk(members, delta, cap) for key, members in by_key.items()}


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

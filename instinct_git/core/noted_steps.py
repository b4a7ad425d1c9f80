"""What a session's observations tell of the order of its work, for agents whose transcripts cannot be read. Pure.

Such an agent says what it does by observing it: `test`, `edit`, `pytest`, `fix`. A key without a prefix is a step; one
with a prefix (`seq:test->fix`) is a pattern, and never a step, so that nothing is mined out of what was mined. The same
session and the same rules as for tool calls (`core.mining`) then tell which sequences recur.

**Order** is known between observations that this clone still has with their times, and between the lines of one write
wherever they stand. What has no known order to the rest is a thread of its own, and no sequence crosses threads.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from typing import NamedTuple

from instinct_git.core.actions import ACTIONS
from instinct_git.core.confidence import retracted
from instinct_git.core.evidence import day_of
from instinct_git.core.keys import OTHER, split_key
from instinct_git.core.model import Evidence
from instinct_git.core.transcript import ToolCall, Transcript

_STEP = re.compile(r"[a-z0-9](?:[a-z0-9_.-]{0,34}[a-z0-9])?")
_TOOLS: Mapping[str, str] = {action: tool for tool, action in reversed(list(ACTIONS.items()))}
"""A tool for every action: the first that the table names."""


class Order(NamedTuple):
    """Where an observation stands among those of its session."""

    at: str
    """UTC time; empty where this clone does not have it."""
    moment: int
    """When it was written, in ns since 1970, between observations of one second."""


_UNKNOWN = Order("", 0)


def step_of(key: str) -> str:
    """Return the action that a key names; "" for a pattern, and for what could be no step of a sequence.

    A tool or command that the table knows is what it does (`pytest` is `test`); any other word is its own action.
    """
    if split_key(key)[0] != OTHER:
        return ""
    if key in _TOOLS:
        return key
    name = ACTIONS.get(key) or re.sub(r"\s+", "-", key.lower())
    return name if _STEP.fullmatch(name) else ""


def is_known_step(key: str) -> bool:
    """True for a key that is nothing but an action, tool or command that everybody has: `test`, `pytest`, `git commit`."""
    return split_key(key)[0] == OTHER and (key in _TOOLS or key in ACTIONS)


def sessions_of(
    evidence: Iterable[Evidence], orders: Mapping[str, Order], wanted: Callable[[str], bool],
    stands_for: Mapping[str, str], since: str = "",
) -> tuple[list[Transcript], dict[str, int]]:  # fmt: skip
    """Return what was observed as sessions of tool calls, and how many observations say nothing of it, by reason.

    `orders` holds what is known of an id's place, `wanted` tells which sources count, `stands_for` which key an alias
    means, `since` (YYYYMMDD) from which day on. A session is what its evidence calls so, the call's id the evidence's.
    """
    everything = list(evidence)
    gone = retracted(everything)
    skipped: Counter[str] = Counter()
    found: dict[tuple[str, str], list[tuple[Evidence, str]]] = defaultdict(list)
    for one in everything:
        key = stands_for.get(one.p, one.p)
        if one.k != "observed" or one.id in gone or split_key(key)[0] != OTHER or day_of(one.id) < since:
            continue
        reason = _useless(one, key, wanted)
        if reason:
            skipped[reason] += 1
        else:
            found[one.by, one.s].append((one, step_of(key)))
    made = [_session(by, session, members, orders) for (by, session), members in sorted(found.items())]
    return made, dict(skipped)


def _useless(one: Evidence, key: str, wanted: Callable[[str], bool]) -> str:
    if not wanted(one.by):
        return "observation of an agent that is not meant"
    if not one.s:
        return "observation without a session"
    return "" if step_of(key) else "observation whose key is no step"


def _session(by: str, session: str, members: Iterable[tuple[Evidence, str]], orders: Mapping[str, Order]) -> Transcript:
    steps = {one.id: step for one, step in members}
    calls = [
        ToolCall(number, one, _TOOLS.get(steps[one], steps[one]), {}, "", None, thread, day_of(one), steps[one])
        for number, (thread, one) in enumerate(_threads(steps, orders), 1)
    ]
    return Transcript(by, session, min(call.day for call in calls), "", tuple(calls), {})


def _threads(ids: Iterable[str], orders: Mapping[str, Order]) -> Iterator[tuple[str, str]]:
    """Yield (thread, id of an observation) in order. What two writes of one moment tell has an order within each alone:
    it parts what came before from what comes after."""
    part = 0
    placed = sorted(ids, key=lambda one: (orders.get(one, _UNKNOWN), _place(one)))
    for order, found in groupby(placed, lambda one: orders.get(one, _UNKNOWN)):
        together = list(found)
        apart = order == _UNKNOWN or len({_place(one)[0] for one in together}) > 1
        part += apart
        yield from ((_place(one)[0] if apart else f"{part}", one) for one in together)


def _place(evidence_id: str) -> tuple[str, int]:
    """Return (container, line)."""
    stem, _, line = evidence_id.rpartition(".")
    return stem, int(line)

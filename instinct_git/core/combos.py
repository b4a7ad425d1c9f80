"""Tools that are used together, such as a server that is started, looked after and stopped. Pure.

A sequence (see `core.mining`) passes over calls that only look or wait; a combo is about those: a few different tools,
close together, at least one that a sequence would pass over and at least one that it would not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from instinct_git.core.actions import CHANGES, LOOKS, NAMELESS

LEAST = 3  # occurrences, at least
WITHIN = 10  # calls from the first tool to the last, at most
SIZES = (4, 3, 2)
# What every task is full of: it goes together with everything, and says nothing.
_EVERYWHERE = CHANGES | {"read", "search", "look", "todo", "stage", "plan", "ask", "finish"}


@dataclass(frozen=True, slots=True)
class Combo:
    """Tools used together; each occurrence is (index of the thread, numbers of the calls)."""

    actions: tuple[str, ...]
    occurrences: tuple[tuple[int, tuple[int, ...]], ...]


def find(threads: Iterable[Sequence[tuple[str, int]]]) -> list[Combo]:
    """The combos in these threads of (action, call number), the largest first; parts of one are not told again.

    One that begins or ends by waiting is none: it says only that something took long.
    """
    spots: dict[tuple[str, ...], list[tuple[int, tuple[int, ...]]]] = defaultdict(list)
    for number, steps in enumerate(threads):
        runs = _runs(steps)
        for size in SIZES:
            for start in range(len(runs) - size + 1):
                window = runs[start : start + size]
                names, calls = tuple(name for name, _ in window), tuple(call for _, call in window)
                before = spots[names][-1] if names in spots else (-1, (0,))
                apart = before[0] != number or before[1][-1] < calls[0]
                if apart and calls[-1] - calls[0] <= WITHIN and _telling(names):
                    spots[names].append((number, calls))
    told: list[Combo] = []
    for names, found in sorted(spots.items(), key=lambda pair: (-len(pair[0]), -len(pair[1]), pair[0])):
        part = any(set(names) < set(known.actions) for known in told)
        if len(found) >= LEAST and not part:
            told.append(Combo(names, tuple(found)))
    return told


def _runs(steps: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    """The telling steps, the first of each run of one action."""
    runs: list[tuple[str, int]] = []
    for name, call in steps:
        if name not in _EVERYWHERE and (not runs or runs[-1][0] != name):
            runs.append((name, call))
    return runs


def _telling(names: Sequence[str]) -> bool:
    kinds = {name in LOOKS for name in names}
    named = len(set(names)) == len(names) and NAMELESS.isdisjoint(names)
    return named and kinds == {True, False} and "wait" not in (names[0], names[-1])

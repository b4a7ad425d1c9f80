"""Families of sequences: a longer one holds a shorter one's steps, in a row and in order. Pure.

`seq:edit->test` is a part of `seq:edit->test->commit`. Both have evidence of their own; told together they say one thing
twice, so the longest one that has proven itself speaks for the others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from instinct_git.core.dimensions import steps_of

Steps = tuple[str, ...]


class Family(NamedTuple):
    """Sequences that contain each other."""

    keys: tuple[str, ...]
    """Longest first, then by key."""
    speaks: str
    """The longest proven key; empty: none of them has proven itself yet."""


def families(keys: Iterable[str]) -> dict[str, str]:
    """Return {shorter key: the longest key that holds its steps} of keys that have all proven themselves.

    Keys are given strongest first: of two holders of one length the first speaks. A key that no other holds is left out,
    and so is what is no `seq:` key. Linear in the keys, quadratic only in the steps of one.
    """
    steps = {key: own for key in keys if key.startswith("seq:") and (own := steps_of(key))}
    known: dict[Steps, list[str]] = defaultdict(list)
    for key, own in steps.items():
        known[own].append(key)
    lengths = {len(own) for own in known}
    found: dict[str, str] = {}
    for key, own in steps.items():
        for run in _runs(own, lengths):
            for part in known.get(run, ()):
                best = found.get(part)
                if best is None or len(own) > len(steps[best]):
                    found[part] = key
    return found


def _runs(steps: Steps, lengths: set[int]) -> Iterator[Steps]:
    """Yield every run of steps that is shorter than the whole, of the lengths that there are."""
    size = len(steps)
    for length in lengths:
        if length < size:
            for start in range(size - length + 1):
                yield steps[start : start + length]


def groups(confidence: Mapping[str, int], proven: int) -> list[Family]:
    """Return the families among {key: confidence}; `proven` is the confidence from which a key may speak for others."""
    strongest = sorted(confidence, key=lambda key: (-confidence[key], key))
    holders = families(strongest)
    parent = {key: key for key in {*holders, *holders.values()}}

    def root(key: str) -> str:
        while parent[key] != key:
            parent[key] = key = parent[parent[key]]
        return key

    for part, holder in holders.items():
        parent[root(part)] = root(holder)
    members: dict[str, list[str]] = defaultdict(list)
    for key in parent:
        members[root(key)].append(key)
    return sorted(_family(found, confidence, proven) for found in members.values())


def _family(keys: Iterable[str], confidence: Mapping[str, int], proven: int) -> Family:
    ordered = sorted(keys, key=lambda key: (-len(steps_of(key)), -confidence[key], key))
    speaks = next((key for key in ordered if confidence[key] >= proven), "")
    return Family(tuple(sorted(ordered, key=lambda key: (-len(steps_of(key)), key))), speaks)

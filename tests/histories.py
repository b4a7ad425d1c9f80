"""Histories: lists of operations, drawn from a seed before they run, so that a failure names both and any part of the list
can be run again."""

from __future__ import annotations

import random
from pathlib import Path
from typing import NamedTuple

import pytest

from instinct_git.core.evidence import nonce
from instinct_git.storage import inbox
from tests.world import PLACES, World

VERBS = (
    *["observe"] * 4, *["consolidate"] * 3, *["merge"] * 3, *["back", "record", "squash", "rebase", "pick", "revert"] * 2,
    *["confidence", "decay", "wait"] * 2, "compact", "adjust", "feedback", "alias", "retract", "delete", "title", "retire",
    "restore",
)  # fmt: skip


class Operation(NamedTuple):
    """One step: a verb, where it happens, and a number for its choices."""

    verb: str
    place: str
    number: int


def drawn(seed: int, length: int) -> list[Operation]:
    """Draw a history; every third step happens on main, where most branches meet."""
    dice = random.Random(seed)
    places = (*PLACES, *["main"] * 3)
    return [Operation(dice.choice(VERBS), dice.choice(places), dice.randrange(10**6)) for _ in range(length)]


def run(folder: Path, monkeypatch: pytest.MonkeyPatch, seed: int, operations: list[Operation]) -> World:
    """Run one history; an AssertionError names the seed and all operations up to the failing one."""
    dice = random.Random(seed)
    monkeypatch.setattr(inbox, "nonce", lambda _: nonce(dice.randbytes(8)))
    world = World(folder, seed)
    done: list[Operation] = []
    try:
        for operation in operations:
            done.append(operation)
            world.step(*operation)
        world.end()
    except Exception as problem:
        listing = "\n".join(f"    {one!r}," for one in done)
        what = f"{type(problem).__name__}: {problem}"
        raise AssertionError(f"{what}\nseed {seed}, operations = [\n{listing}\n]") from problem
    return world

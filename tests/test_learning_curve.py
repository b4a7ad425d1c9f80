"""Ten sessions of one project, learned one by one: how fast a memory is of use, and that it stays small and quiet."""

from __future__ import annotations

import random
from pathlib import Path

from instinct_git import Memory
from tests.builders import Project
from tests.conftest import Clock
from tests.sessions import Session

ASKS = (
    "Mend the cart: the total is wrong for Initech.", "Add a coupon field", "购物车的总价不对，修一下", "Rename the Lumbergh report",
    "The checkout is slow, look why", "把登录页改成新的样式", "Write the invoice export", "Support a second currency",
    "Clean up the price rounding", "Show stock in the list",
)  # fmt: skip
NOISE = ("read", "todo", "read read", "fetch", "build", "edit", "")


def session(number: int) -> Session:
    """A working day: two tasks done the same way, with something else in between, told in other words each day."""
    chance = random.Random(number)
    one = Session(f"day-{number}", f"2026-03-{number + 2:02}")
    for ask in (ASKS[number], ASKS[-number]):
        one.say(ask).do(f"read {chance.choice(NOISE)} edit")
        one.do("test! edit test" if chance.random() < 0.7 else "test")
        one.do(f"lint commit {chance.choice(NOISE)} push pr")
    return one


def learn(memory: Memory, clock: Clock, folder: Path, number: int) -> None:
    """What the end of a session does: it learns the new one along with those before, and the evidence is folded."""
    memory.learn([session(day).file(folder) for day in range(number + 1)])
    memory.consolidate()
    clock.forward(1)


def test_nothing_after_the_first_session_something_after_the_third_rules_after_the_tenth(
    tmp_path: Path, clock: Clock
) -> None:
    """In a plain folder, where a batch writes without a commit: what is folded is the same."""
    told: list[list[str]] = []
    memory = Memory(tmp_path, now=clock)
    memory.init()
    memory = Memory(tmp_path, now=clock)
    for number in range(10):
        learn(memory, clock, tmp_path, number)
        told.append([str(one.pattern) for one in memory.suggest()])
    assert told[0] == []
    assert told[2] != []
    rules = {one.pattern for one in memory.list(level="rule")}
    assert len(rules) >= 3
    assert "pref:commits=conventional" in rules
    assert any("test->lint->commit" in key for key in rules)
    assert len(told[9]) <= 10, "what recurs is told in few words"
    written = "".join(one.read_text("utf-8") for one in (tmp_path / ".instinct").rglob("*") if one.is_file())
    for word in ("Initech", "Lumbergh", "coupon", "checkout", "购物车", "/home/dev", "a.py", "the cart"):
        assert word not in written


def test_one_long_session_alone_suggests_nothing_however_often_it_is_learned(project: Project, clock: Clock) -> None:
    memory = project.memory(clock)
    file = session(0).do("edit test lint commit " * 9).file(project.root.parent)
    memory.learn([file])
    memory.consolidate()
    memory.learn([file])
    memory.consolidate()
    assert memory.suggest() == []
    assert max(one.confidence for one in memory.list()) == 3

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


def after(project: Project, clock: Clock, sessions: int) -> Memory:
    memory = project.memory(clock)
    for number in range(sessions):
        memory.learn([session(number).file(project.root.parent)])
        memory.consolidate()
        clock.forward(1)
    return memory


def test_nothing_after_the_first_session_something_after_the_third_rules_after_the_tenth(
    project: Project, clock: Clock
) -> None:
    told: list[list[str]] = []
    memory = project.memory(clock)
    for number in range(10):
        memory.learn([session(number).file(project.root.parent)])
        memory.consolidate()
        told.append([str(one.pattern) for one in memory.suggest()])
        clock.forward(1)
    assert told[0] == []
    assert told[2] != []
    rules = [one.pattern for one in memory.list(level="rule")]
    assert len(rules) >= 3
    assert "pref:commits=conventional" in rules
    assert any(key.startswith("seq:") and "lint->commit" in key for key in told[9])
    assert len(told[9]) <= 12
    assert project.errors() == []


def test_one_session_learned_ten_times_suggests_nothing(project: Project, clock: Clock) -> None:
    memory = project.memory(clock)
    for _ in range(10):
        memory.learn([session(0).do("edit test lint commit " * 9).file(project.root.parent)])
        memory.consolidate()
        clock.forward(1)
    assert memory.suggest() == []
    assert max(one.confidence for one in memory.list()) <= 3


def test_nothing_that_was_learned_quotes_anybody(project: Project, clock: Clock, tmp_path: Path) -> None:
    after(project, clock, 4)
    log = project.git("log", "-p")
    for word in ("Initech", "Lumbergh", "coupon", "checkout", "购物车", "/home/dev", "a.py", "the cart"):
        assert word not in log

"""Random histories of branches, worktrees and clones (tests/histories.py). INSTINCT_HISTORIES=500 gives the long run."""

from __future__ import annotations

import os
import random
import shutil
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from instinct_git.core.evidence import nonce
from instinct_git.storage import inbox
from tests.histories import VERBS, drawn, run
from tests.world import PLACES, World

LONG = int(os.environ.get("INSTINCT_HISTORIES", "0"))
PARTS = 10


@pytest.mark.parametrize("seed", [0, 1, 2, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(3, 8))])
def test_a_random_history_loses_nothing_counts_once_and_is_exact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    run(tmp_path, monkeypatch, seed, drawn(seed, 25))


def test_histories_that_hypothesis_makes_up_lose_nothing_and_are_exact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = 0

    class History(RuleBasedStateMachine):
        world: World | None = None

        @initialize(seed=st.integers(0, 1))
        def begin(self, seed: int) -> None:
            nonlocal made
            made += 1
            dice = random.Random(0)
            monkeypatch.setattr(inbox, "nonce", lambda _: nonce(dice.randbytes(8)))
            self.world = World(tmp_path / str(made), seed)

        @rule(verb=st.sampled_from(sorted({*VERBS})), place=st.sampled_from(PLACES), number=st.integers(0, 999_999))
        def step(self, verb: str, place: str, number: int) -> None:
            world, self.world = self.world, None  # a failed step leaves nothing to end
            assert world is not None
            world.step(verb, place, number)
            self.world = world

        def teardown(self) -> None:
            if self.world is not None:
                self.world.end()

    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        History,
        settings=settings(
            max_examples=4, stateful_step_count=15, derandomize=True, deadline=None, database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.skipif(not LONG, reason="INSTINCT_HISTORIES says how many")
@pytest.mark.parametrize("part", range(PARTS))
def test_many_long_random_histories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: int) -> None:
    """Ten parts, so that several processes can share the run (`-n auto`)."""
    failed, handed, limits, seeds = [], 0, Counter[str](), range(1000 + part, 1000 + LONG, PARTS)
    for seed in seeds:
        try:
            world = run(tmp_path / str(seed), monkeypatch, seed, drawn(seed, 60))
            handed += world.handed > 0
            limits.update(world.limits)
            shutil.rmtree(tmp_path / str(seed))
        except AssertionError as problem:
            failed.append(f"{problem}")
    exact = len(seeds) - handed - len(failed)
    print(f"histories {len(seeds)} exact {exact} handed {handed} failed {len(failed)}; limits met {dict(limits)}")
    assert not failed, "\n\n".join(failed[:5])

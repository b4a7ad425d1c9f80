"""In-process costs, with pytest-benchmark: `make bench`. Figures, never assertions."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from instinct_git import Memory
from instinct_git.operations.observing import Draft


@pytest.fixture(scope="module", params=[1_000, 10_000])
def memory(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Memory:
    """A memory whose patterns are all mature, in a repository."""
    base = tmp_path_factory.mktemp("bench")
    (base / "gitconfig").write_text("[user]\n\tname = Bench\n\temail = bench@example.org\n", encoding="utf-8")
    os.environ.update(
        INSTINCT_HOME=str(base / "home"), GIT_CONFIG_GLOBAL=str(base / "gitconfig"), GIT_CONFIG_NOSYSTEM="1"
    )
    project = base / "project"
    project.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    made = Memory(project)
    made.init()
    made.observe_many([Draft(f"note:advice-{number:05}") for number in range(request.param)] * 5)
    made.consolidate()
    made.suggest()
    return made


def test_suggest_in_a_warm_process(benchmark: Any, memory: Memory) -> None:
    benchmark(memory.suggest)


def test_read_all_pattern_files_cold(benchmark: Any, memory: Memory) -> None:
    index = Path(memory.root) / ".git" / "instinct" / "index-patterns.json"

    def cold() -> None:
        index.unlink(missing_ok=True)
        memory.suggest()

    benchmark.pedantic(cold, rounds=3)


def test_fold_ten_observations(benchmark: Any, memory: Memory) -> None:
    def once() -> None:
        memory.observe_many([Draft(f"note:advice-{number:05}") for number in range(10)])
        memory.consolidate()

    benchmark.pedantic(once, rounds=3)


def test_check(benchmark: Any, memory: Memory) -> None:
    benchmark.pedantic(memory.check, rounds=3)

"""The verbs, end to end, on real git."""

from __future__ import annotations

from tests.builders import KEY, Project


def test_observe_is_an_upsert_and_returns_the_live_value(project: Project) -> None:
    memory = project.memory()
    assert [memory.observe(KEY).live for _ in range(3)] == [1, 2, 3]
    memory.consolidate()
    assert memory.observe(KEY).live == 4


def test_consolidate_is_one_commit_of_our_paths_alone(project: Project) -> None:
    project.observe(times=8)
    before = project.commits()
    done = project.memory().consolidate()
    assert (done.promoted_to_mature, done.promoted_to_rule, done.total) == (1, 0, 1)
    assert project.commits() == before + 1
    assert all(path.startswith(".instinct/") for path in project.changed())
    assert project.status() == ""
    assert project.confidence() == 8
    assert project.errors() == []

"""gc: one batch, one commit, each file with its reason; and the ways back."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from instinct_git.errors import InstinctError
from tests.builders import KEY, Project, Ran
from tests.conftest import Clock

Instinct = Callable[..., Ran]


@pytest.fixture
def full(project: Project, clock: Clock) -> Project:
    """Three patterns, two of them weak, and a cap of one, some days later."""
    project.observe(KEY, 6, now=clock)
    project.observe("note:a", 2, now=clock, title="Keep the words")
    project.observe("note:b", now=clock)
    project.memory(clock).consolidate()
    project.memory().configure("caps.patterns", "1")
    clock.forward(3)
    return project


def test_a_dry_run_shows_each_file_with_its_reason_and_writes_nothing(full: Project, clock: Clock) -> None:
    before = (full.head(), full.status())
    planned = full.memory(clock).gc(dry_run=True)
    assert planned.gone == (
        ("note:a", "over caps.patterns = 1; seen 2 x, last on 2026-03-02"),
        ("note:b", "over caps.patterns = 1; seen 1 x, last on 2026-03-02"),
    )
    assert (full.head(), full.status()) == before


def test_one_commit_takes_the_files_explains_itself_and_loses_nothing(full: Project, clock: Clock) -> None:
    ids, commits = full.tree_ids(), full.commits()
    done = full.memory(clock).gc()
    assert (full.commits(), done.total) == (commits + 1, 1)
    message = full.git("log", "-1", "--format=%B")
    assert "instinct: gc 2 patterns" in message and "Instinct-Batch: gc" in message
    assert "note:b  gone (over caps.patterns = 1; seen 1 x, last on 2026-03-02)" in message
    assert ids < full.tree_ids() and full.errors() == []
    memory = full.memory(clock)
    assert [one.message for one in memory.check(history=True) if one.severity == "error"] == []
    assert not memory.consolidate().removed_by_person
    assert [one.pattern for one in memory.list()] == [KEY]
    assert "adjusted" in [line.kind for line in memory.explain("note:a").lines]


@pytest.mark.slow
def test_a_pull_request_of_a_gc_shows_nothing_without_evidence(full: Project, clock: Clock) -> None:
    full.git("switch", "-q", "-c", "tidy")
    with pytest.raises(InstinctError, match="patterns are removed on the default branch, main"):
        full.memory(clock).gc()
    full.memory(clock).gc(here=True)
    found = full.memory(clock).check(base="main")
    assert {one.rule for one in found if one.severity != "notice"} <= {"policy-changed"}


def test_restore_brings_all_of_it_back_and_gc_leaves_it_alone_from_then_on(full: Project, clock: Clock) -> None:
    full.memory(clock).gc()
    memory = full.memory(clock)
    assert memory.restore("note:a")
    assert full.errors() == []
    back = memory.show("note:a")
    assert (back.confidence, back.live, back.title) == (0, 2, "Keep the words")
    memory.consolidate()
    assert full.confidence("note:a") == 2
    clock.forward(7)
    assert full.memory(clock).gc().gone == ()
    with pytest.raises(InstinctError, match="is active"):
        memory.restore("note:a")


@pytest.mark.slow
def test_what_is_seen_again_begins_anew(full: Project, clock: Clock) -> None:
    full.memory(clock).gc()
    clock.forward(1)
    full.observe("note:b", now=clock)
    full.memory(clock).consolidate()
    assert full.confidence("note:b") == 1
    assert full.errors() == []


@pytest.mark.slow
def test_the_file_of_a_joined_key_goes(project: Project) -> None:
    memory = project.memory()
    project.observe("note:a", 2)
    project.observe("note:b", 3)
    memory.consolidate()
    memory.alias("note:a", "note:b")
    done = memory.gc()
    assert done.gone == (("note:a", "joined to note:b by an alias"),)
    assert (project.confidence("note:b"), [one.pattern for one in memory.list()]) == (5, ["note:b"])
    assert project.errors() == []


@pytest.mark.slow
def test_the_command_line_shows_the_plan_and_the_batch(full: Project, instinct: Instinct) -> None:
    planned = instinct("gc", "--dry-run")
    assert planned.code == 0
    assert "note:b  would go (over caps.patterns = 1; seen 1 x, last on 2026-03-02)" in planned.out
    done = instinct("gc", "--json").json
    assert [key for key, _ in done["gone"]] == ["note:a", "note:b"]
    assert "Nothing to commit" in instinct("gc").out
    assert "caps.patterns is 1" not in instinct("check").out


def test_caps_are_whole_numbers_from_0(instinct: Instinct) -> None:
    assert "from 0" in instinct("config", "caps.new_per_day", "--", "-1").err
    assert instinct("config", "caps.new_per_day", "0").code == 0


@pytest.mark.parametrize(("newer", "stays"), [(True, True), (False, False)])
def test_a_file_that_gc_removed_and_a_branch_changed_is_settled_by_the_evidence(
    full: Project, clock: Clock, newer: bool, stays: bool
) -> None:
    full.commit("cap")
    full.git("switch", "-q", "-c", "feature")
    clock.forward(-2)
    if newer:
        full.observe("note:b", now=clock)
        full.memory(clock).consolidate()
    else:
        path = full.root / ".instinct/patterns/note/b.md"
        path.write_text(path.read_text().replace("sources: []", "sources: [cursor]"))
        full.commit("a machine line")
    full.git("switch", "-q", "main")
    clock.forward(2)
    full.memory(clock).gc()
    full.git("merge", "-q", "feature", check=False)
    done = full.memory(clock).resolve()
    assert [one.path for one in done.settled] == [".instinct/patterns/note/b.md"] and done.left == ()
    full.git("commit", "-q", "--no-edit")
    full.memory(clock).consolidate()
    assert ("note:b" in {one.pattern for one in full.memory(clock).list()}) is stays
    assert not stays or full.confidence("note:b") == 1
    assert full.errors() == []

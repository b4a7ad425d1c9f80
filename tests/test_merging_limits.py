"""Where the guarantees of docs/merging.md end: what git does by itself, and that `check` says so."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from tests.builders import KEY, Project
from tests.conftest import Clock
from tests.merges import OTHER, edit, exact, merge, on, started


def rules(project: Project) -> dict[str, str]:
    """What `check` says: {rule: severity}."""
    return {one.rule: one.severity for one in project.memory().check()}


def aged(project: Project, now: Callable[[], datetime], key: str) -> None:
    project.observe(key, now=now)
    project.memory(now).consolidate()


def test_a_picked_compact_brings_evidence_without_files_which_restore_writes(project: Project, clock: Clock) -> None:
    started(project)
    project.git("branch", "bare")
    aged(project, clock, OTHER)
    aged(project, clock, OTHER)
    clock.forward(31)
    assert project.memory(clock).compact().commit
    with on(project, "bare"):
        project.git("cherry-pick", "main", check=False)
        project.git("add", ".instinct/ledger")  # the old files are not here to be removed
        project.git("-c", "core.editor=true", "cherry-pick", "--continue", check=False)
        assert project.status() == ""
        assert rules(project) == {"removed-by-person": "notice"}
        project.memory().restore(OTHER)
        exact(project, 2, key=OTHER)
        exact(project, 1)


def test_a_picked_hand_edit_may_say_what_its_new_branch_cannot_prove_until_the_next_fold(project: Project) -> None:
    started(project)
    project.git("branch", "bare")
    project.observe(times=4)
    project.memory().consolidate()
    edit(project, "confidence: 5", "confidence: 8")
    with on(project, "bare"):
        project.git("cherry-pick", "main", check=False)
        project.git("checkout", "--theirs", "--", ".instinct/patterns")
        project.git("add", ".instinct")
        project.git("-c", "core.editor=true", "cherry-pick", "--continue")
        assert rules(project)["counted"] == "error"
        exact(project, 4, offset=3)
        assert project.errors() == []


def test_an_edit_of_a_faded_pattern_lands_in_the_file_that_git_takes_for_its_new_name(
    project: Project, clock: Clock
) -> None:
    started(project)
    aged(project, clock, "plain")
    project.git("branch", "edits")
    clock.forward(100)
    project.memory(clock).decay()
    clock.forward(8)
    project.observe("other thing", now=clock)
    assert "plain" in project.memory(clock).decay().faded
    with on(project, "edits"):
        edit(project, "confidence: 1", "confidence: 7", key="plain")
    assert merge(project, "edits") == [], "git asks nobody"
    project.memory(clock).consolidate()
    assert not (project.root / ".instinct/patterns/other/plain.md").exists()
    assert project.memory(clock).show("other thing").confidence == 7
    assert rules(project)["hand-adjusted"] == "notice"
    assert project.errors() == []


def test_a_retired_pattern_keeps_its_file_and_with_it_what_others_edit(project: Project, clock: Clock) -> None:
    started(project)
    aged(project, clock, "plain")
    project.git("branch", "edits")
    project.memory(clock).retire("plain")
    clock.forward(108)
    project.observe("other thing", now=clock)
    project.memory(clock).decay()
    with on(project, "edits"):
        edit(project, "confidence: 1", "confidence: 7", key="plain")
    merge(project, "edits")
    project.memory(clock).consolidate()
    assert project.memory(clock).show("plain").confidence == 7
    assert project.memory(clock).show("other thing").confidence == 1


def test_resolve_merges_what_the_sides_committed_where_git_mixes_in_a_file_it_takes_for_renamed(
    project: Project, clock: Clock
) -> None:
    started(project)
    aged(project, clock, "plain")
    project.git("branch", "edits")
    clock.forward(100)
    project.memory(clock).decay()
    clock.forward(8)
    project.observe("other thing", now=clock)
    assert "plain" in project.memory(clock).decay().faded
    with on(project, "edits"):
        edit(project, "confidence: 1", "confidence: 7", key="plain")
        aged(project, clock, "other thing")
        aged(project, clock, "other thing")
    project.git("merge", "-q", "edits", check=False)
    done = project.memory(clock).resolve()
    assert [(one.path, one.how) for one in done.settled if one.path.endswith(".md")] == [
        (".instinct/patterns/other/other-thing-b874a081.md", "confidence 2, your lines of both sides")
    ]
    assert done.left == ()
    project.git("commit", "-q", "--no-edit")
    exact(project, 3, key="other thing")


def test_an_alias_and_evidence_of_the_old_key_that_were_folded_apart_leave_the_new_file_to_restore(
    project: Project,
) -> None:
    started(project)
    project.git("branch", "old-key")
    memory = project.memory()
    first = next(iter(project.tree_ids()))
    second = memory.observe("plain").id
    memory.alias(KEY, "plain")
    memory.retract(first)
    memory.retract(second)
    memory.consolidate()
    with on(project, "old-key"):
        project.observe(KEY, times=2)
        project.memory().consolidate()
    merge(project, "old-key", side="ours")
    assert project.memory().consolidate().removed_by_person == ("plain",)
    assert project.errors() == []
    project.memory().restore("plain")
    exact(project, 2, key="plain")

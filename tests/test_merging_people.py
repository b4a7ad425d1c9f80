"""What people and batches do to pattern files on several branches, on real git: every number stays exact."""

from __future__ import annotations

import pytest

from instinct_git.core.document import SEPARATOR
from tests.builders import KEY, Project
from tests.merges import OTHER, compact, day, edit, exact, expected, merge, on, pattern_file, record, started

SIDES = pytest.mark.parametrize("side", ["ours", "theirs"])


def test_compact_on_main_vs_new_batch_on_branch(project: Project) -> None:
    with on(started(project), "b"):
        project.observe(times=2)
        exact(project, 3)
    project.observe(OTHER)
    project.memory().consolidate()
    compact(project, "20260601-compact00000")
    assert merge(project, "b") == []
    exact(project, 3)


def test_compact_both_sides(project: Project) -> None:
    started(project).observe(times=2)
    exact(project, 3)
    with on(project, "b"):
        compact(project, "20260601-compact0000b")
    compact(project, "20260601-compact0000a")
    project.git("merge", "-q", "--no-edit", "b", check=False)
    project.git("add", "-A", ".instinct")  # keep every file
    project.git("commit", "-q", "--allow-empty", "-m", "merged")
    assert len(project.tree_ids()) == 3
    exact(project, 3)


def test_decay_both_branches_same_period(project: Project) -> None:
    early, late = day("2026-03-02"), day("2026-08-05")
    project.memory().configure("consolidate", "anywhere")
    project.observe(times=3, now=lambda: early)
    project.memory(lambda: early).consolidate()
    with on(project, "b"):
        assert project.memory(lambda: late).decay().decayed == 1
    assert project.memory(lambda: late).decay().decayed == 1
    merge(project, "b", side="ours")
    assert [one.id for one in project.tree_evidence()].count(f"decay:{KEY}:2026-W32") == 2
    exact(project, 2)


def test_decay_then_fold_order_independent(project: Project) -> None:
    early, late = day("2026-03-02"), day("2026-08-05")
    project.memory().configure("consolidate", "anywhere")
    project.observe(times=3, now=lambda: early)
    project.memory(lambda: early).consolidate()
    with on(project, "decay-first"):
        project.memory(lambda: late).decay()
    with on(project, "evidence"):
        project.observe(times=2, now=lambda: late)
        project.memory(lambda: late).consolidate()
    with on(project, "fold-first", "evidence"):
        merge(project, "decay-first", side="ours")
        exact(project, 4)
    with on(project, "decay-first"):
        merge(project, "evidence", side="theirs")
        exact(project, 4)


def test_hand_edit_confidence_then_fold(project: Project) -> None:
    edit(started(project), "confidence: 1", "confidence: 11")
    project.observe()
    exact(project, 12, offset=10)


@pytest.mark.parametrize(("side", "offset"), [("theirs", 4), ("ours", 0)])
def test_hand_edit_vs_fold_conflict_pick_human(project: Project, side: str, offset: int) -> None:
    with on(started(project), "b"):
        edit(project, "confidence: 1", "confidence: 5")
    project.observe()
    exact(project, 2)
    assert len(merge(project, "b", side=side)) == 1
    exact(project, 2 + offset, offset=offset)


def test_hand_edit_title_vs_fold(project: Project) -> None:
    with on(started(project), "b"):
        edit(project, 'title: ""', "title: Run the tests again")
    project.observe(times=4)
    exact(project, 5)
    assert merge(project, "b") == []
    assert project.memory().show(KEY).title == "Run the tests again"
    exact(project, 5)


def test_separator_removed_by_human(project: Project) -> None:
    edit(started(project), SEPARATOR + "\n", "")
    project.observe()
    exact(project, 2)
    assert project.read(pattern_file(project)).count(SEPARATOR) == 1


def test_hand_edit_body_comments_quotes_crlf(project: Project) -> None:
    path = pattern_file(started(project))
    text = project.read(path).replace('title: ""', "title:   'mine' # why")
    text = text.replace("tags: []", "tags:\n- a\n\n# c\n- b")
    project.write(path, (text + "Body  \n---\nmore").replace("\n", "\r\n"))
    project.git("-c", "core.autocrlf=false", "add", path)
    project.git("commit", "-q", "-m", "by hand")
    before = (project.root / path).read_bytes().split(b"\n")
    project.observe()
    project.memory().consolidate()
    after = (project.root / path).read_bytes().split(b"\n")
    changed = [new for old, new in zip(before, after, strict=True) if old != new]
    assert [line.partition(b":")[0] for line in changed][:2] == [b"confidence", b"counted"]
    assert set(changed[2:]) <= {line for line in after if line.startswith(b"last_seen:")}


def test_git_rm_pattern_then_new_evidence(project: Project) -> None:
    path = pattern_file(started(project))
    project.git("rm", "-q", path)
    project.git("commit", "-q", "-m", "away with it")
    project.observe()
    done = project.memory().consolidate()
    assert done.removed_by_person == (KEY,)
    assert not (project.root / path).exists()
    assert len(project.tree_ids()) == expected(project) == 2
    assert project.errors() == []


def test_restore_deleted_pattern(project: Project) -> None:
    path = pattern_file(started(project))
    project.git("rm", "-q", path)
    project.git("commit", "-q", "-m", "away with it")
    project.observe()
    project.memory().consolidate()
    project.memory().restore(KEY)
    exact(project, 2)


def test_retire_vs_fold(project: Project) -> None:
    with on(started(project), "b"):
        project.memory().retire(KEY)
    project.observe(times=5)
    exact(project, 6)
    assert merge(project, "b") == []
    exact(project, 6)
    assert project.memory().show(KEY).status == "retired"
    assert project.memory().suggest() == []


def test_rename_pattern_file_in_pr_vs_fold(project: Project) -> None:
    old = pattern_file(started(project))
    with on(project, "b"):
        project.git("mv", old, ".instinct/patterns/seq/renamed.md")
        project.git("commit", "-q", "-m", "a better name")
    project.observe()
    exact(project, 2)
    assert merge(project, "b") == []
    exact(project, 2)
    assert pattern_file(project) == ".instinct/patterns/seq/renamed.md"
    assert not (project.root / old).exists()


def test_copy_pattern_file_same_id(project: Project) -> None:
    path = pattern_file(started(project))
    project.write(".instinct/patterns/seq/copy.md", project.read(path))
    project.commit("copied", ".instinct")
    [error] = project.errors()
    assert path in error
    assert "copy.md" in error


def test_hand_written_pattern_without_counted(project: Project) -> None:
    started(project)
    project.write(".instinct/patterns/note/mine.md", "---\npattern: note:mine\nconfidence: 7\ntitle: Mine\n---\nBody\n")
    project.commit("written by hand", ".instinct")
    project.observe("note:mine", 2)
    project.memory().consolidate()
    assert project.confidence("note:mine") == 9
    assert project.errors() == []


@pytest.mark.parametrize(
    ("damage", "line"),
    [("confidence: many", 5), ("", 1), ("confidence: 1\nconfidence: 2", 6)],
    ids=["words", "none", "twice"],
)
def test_confidence_not_an_integer_or_missing_or_twice(project: Project, damage: str, line: int) -> None:
    path = pattern_file(started(project))
    edit(project, "confidence: 1", damage)
    [found] = [one for one in project.memory().check() if one.severity == "error"]
    assert (found.path, found.line) == (path, line)
    project.observe()
    project.observe(OTHER)
    broken = project.read(path)
    done = project.memory().consolidate()
    assert project.read(path) == broken
    assert any(path in notice for notice in done.notices)
    assert project.confidence(OTHER) == 1
    edit_back = broken.replace(damage, "confidence: 1", 1) if damage else broken.replace("\n\n", "\nconfidence: 1\n", 1)
    project.write(path, edit_back)
    project.commit("mended", path)
    exact(project, 2)


def test_conflict_markers_committed(project: Project) -> None:
    path = pattern_file(started(project))
    edit(project, "confidence: 1", "<<<<<<< ours\nconfidence: 1\n=======\nconfidence: 2\n>>>>>>> theirs")
    [found] = [one for one in project.memory().check() if one.severity == "error"]
    assert (found.path, found.line, found.message) == (path, 5, "conflict markers")
    project.observe()
    before = project.read(path)
    project.memory().consolidate()
    assert project.read(path) == before


def test_readme_keeps_an_emptied_folder_from_following_a_rename(project: Project) -> None:
    record(started(project), "old", 1)
    merge(project, "old")
    record(project, "b", 1, OTHER)
    exact(project, 2)
    assert merge(project, "b") == []
    assert project.git("ls-files", ".instinct/observations").count(".jsonl") == 1
    exact(project, 2)


@SIDES
def test_faded_on_one_side_and_seen_on_the_other_starts_again(project: Project, side: str) -> None:
    early, late, later = day("2026-03-02"), day("2026-08-05"), day("2026-08-19")
    project.memory().configure("consolidate", "anywhere")
    project.observe(now=lambda: early)
    project.memory(lambda: early).consolidate()
    path = pattern_file(project)
    with on(project, "b"):
        project.observe(now=lambda: later)
        project.memory(lambda: later).record()
    project.memory(lambda: late).decay()
    assert project.memory(lambda: later).decay().faded == (KEY,)
    assert not (project.root / path).exists()
    assert merge(project, "b", side=side) == []
    assert project.memory(lambda: later).consolidate().removed_by_person == ()
    exact(project, 1)

"""`compact` and `resolve` on real git: exact after every merge, and a person is left only what a person can decide."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from instinct_git.core.evidence import LEDGER, dump_ledger, parse_container
from instinct_git.errors import InstinctError
from instinct_git.operations.resolving import Resolved
from tests.builders import KEY, Project, first
from tests.merges import OTHER, day, edit, exact, merge, on, pattern_file, started

TODAY = "2026-06-15"
DAYS = ("2025-02-03", "2025-03-03", "2026-02-02", "2026-03-02")


def years(project: Project, *more: str) -> Project:
    """A memory whose ledger has a file a day, in two years and in this month."""
    project.memory().configure("consolidate", "anywhere")
    for text in (*DAYS, *more, "2026-06-01"):
        fold(project, text)
    return project


def fold(project: Project, text: str, times: int = 1, key: str = KEY) -> None:
    project.observe(key, times, now=lambda: day(text))
    project.memory(lambda: day(text)).consolidate()


def ledger(project: Project) -> list[str]:
    return sorted(path.name for path in (project.root / LEDGER).glob("*.jsonl"))


def compact(project: Project, **options: Any) -> Any:
    return project.memory(lambda: day(TODAY)).compact(**options)


def conflicted(project: Project, *command: str) -> Resolved:
    """Run a git command that must stop, and resolve."""
    project.git(*command, check=False)
    assert project.git("ls-files", "-u")
    return project.memory().resolve()


def finish(project: Project, command: str = "merge") -> None:
    assert project.git("ls-files", "-u") == ""
    project.git("-c", "core.editor=true", command, "--continue")


# --- compact --------------------------------------------------------------------------------------------------------


def test_compact_is_one_commit_of_the_ledger_alone_and_changes_no_number(project: Project) -> None:
    years(project)
    project.write("README.md", "edited\n")
    project.observe()  # waits in the inbox, and goes on waiting
    before, ids, count, waiting = project.confidence(), project.tree_ids(), project.commits(), project.inbox_files()
    done = compact(project)
    assert (project.commits(), project.head()) == (count + 1, done.commit)
    assert [name[:6] for name in ledger(project)] == ["202503", "202603", "202606"]
    assert len(project.changed()) == 6
    assert all(path.startswith(LEDGER) for path in project.changed())
    assert (project.confidence(), project.tree_ids(), project.inbox_files()) == (before, ids, waiting)
    assert project.status() == " M README.md"
    assert project.errors() == []
    assert project.git("log", "-1", "--format=%s") == "instinct: compact 4 ledger files into 2 files"


def test_compact_again_has_nothing_to_join(project: Project) -> None:
    compact(years(project))
    count = project.commits()
    assert (compact(project).commit, project.commits()) == ("", count)


def test_a_dry_run_of_compact_writes_nothing(project: Project) -> None:
    before = ledger(years(project))
    done = compact(project, dry_run=True)
    assert (done.dry_run, len(done.files), ledger(project), project.status()) == (True, 6, before, "")


def test_compact_belongs_on_the_default_branch_unless_told(project: Project) -> None:
    with on(years(project), "b"):
        for dry_run in (True, False):
            with pytest.raises(InstinctError, match="default branch, main; this is b") as problem:
                compact(project, dry_run=dry_run)
            assert "--here" in problem.value.hint
        assert compact(project, here=True).commit


def test_compact_leaves_a_file_with_a_broken_line(project: Project) -> None:
    years(project)
    name = ledger(project)[0]
    project.write(LEDGER + name, project.read(LEDGER + name) + "{broken\n")
    project.commit("damaged", LEDGER + name)
    done = compact(project)
    assert name in ledger(project)
    assert any(name in notice for notice in done.notices)


def test_compact_works_in_a_plain_folder(tmp_path: Path) -> None:
    plain = Project(tmp_path / "plain")
    plain.root.mkdir()
    plain.memory().init()
    for text in DAYS:
        fold(plain, text)
    assert compact(plain).commit == ""
    assert len(ledger(plain)) == 2
    assert plain.confidence() == 4


def test_compact_on_main_vs_new_ledger_file_on_a_branch_merges_clean(project: Project) -> None:
    with on(years(project), "b"):
        fold(project, "2026-06-02", 2)
    compact(project)
    assert merge(project, "b") == []
    exact(project, 7)


def test_compact_on_main_vs_old_ledger_file_on_a_branch_merges_exact(project: Project) -> None:
    with on(years(project), "b"):
        fold(project, "2025-05-05", 2, OTHER)
        fold(project, "2026-05-05", 2)
    compact(project)
    assert merge(project, "b") == []
    exact(project, 7)
    compact(project)
    exact(project, 2, key=OTHER)


@pytest.mark.parametrize("more_there", [False, True], ids=["the same files", "one file more there"])
@pytest.mark.parametrize("how", first(1, ["resolve", "keep every file"]))
def test_compact_both_sides_is_exact(project: Project, how: str, more_there: bool) -> None:
    project.memory().configure("consolidate", "anywhere")
    for n in range(20):  # so much alike that git takes the joined files for renamed ones
        project.observe(f"seq:many-{n}", now=lambda: day("2025-01-01"))
    with on(years(project), "b"):
        if more_there:
            fold(project, "2025-04-04", 2)
        compact(project, here=True)
    compact(project)
    ids = project.tree_ids() | ({one.id for one in branch_evidence(project, "b")} if more_there else set())
    project.git("merge", "-q", "--no-edit", "b", check=False)
    assert project.git("ls-files", "-u")
    if how == "resolve":
        done = project.memory().resolve()
        assert (done.left, done.outside) == ((), ())
        finish(project)
        assert not any(one.rule == "evidence-unreadable" for one in project.memory().check())
        assert all(b"<<<<<<<" not in (project.root / LEDGER / name).read_bytes() for name in ledger(project))
    else:
        project.git("add", "-A", ".instinct")
        project.git("commit", "-q", "-m", "merged")
    assert project.tree_ids() == ids
    if how == "resolve" or not more_there:
        exact(project, 7 if more_there else 5)


def branch_evidence(project: Project, branch: str) -> list[Any]:
    names = project.git("ls-tree", "-r", "--name-only", branch, LEDGER).split("\n")
    return [
        one
        for name in names
        if name.endswith(".jsonl")
        for one in parse_container(project.git("show", f"{branch}:{name}").encode())[0]
    ]


# --- resolve: nothing to do -----------------------------------------------------------------------------------------


def test_without_a_conflict_it_says_so(instinct: Callable[..., Any], project: Project) -> None:
    ran = instinct("resolve")
    assert (ran.code, ran.out) == (0, "No conflict: there is nothing to resolve\n")
    assert instinct("resolve", "--json").json["left"] == []
    started(project)
    assert instinct("resolve", "--dry-run").code == 0


def test_a_merge_that_only_waits_for_its_commit_is_no_conflict(project: Project) -> None:
    with on(started(project), "b"):
        fold(project, TODAY)
    project.write("x", "x")
    project.commit("x", "x")
    project.git("merge", "-q", "--no-commit", "b")
    assert project.memory().resolve() == Resolved("merge")


# --- resolve: pattern files -----------------------------------------------------------------------------------------


def both_folded(project: Project) -> Project:
    with on(started(project), "b"):
        fold(project, TODAY, 3)
    fold(project, TODAY, 2)
    return project


@pytest.mark.parametrize("command", first(1, ["merge", "rebase", "cherry-pick"]))
def test_numbers_that_both_sides_moved_are_settled_and_exact_after_consolidate(project: Project, command: str) -> None:
    path = pattern_file(both_folded(project))
    if command == "rebase":
        project.git("switch", "-q", "b")
    done = conflicted(project, command, "b" if command != "rebase" else "main")
    assert (done.operation, [one.path for one in done.settled], done.left) == (command, [path], ())
    assert done.next_step == f"`git {command} --continue`, then `instinct consolidate`"
    finish(project, command)
    assert [one.severity for one in project.memory().check() if one.rule == "counted"] == ["notice"]
    exact(project, 6)


def test_a_conflicted_revert_of_a_batch_is_settled_and_exact(project: Project) -> None:
    started(project)
    fold(project, TODAY, 2)
    folded = project.head()
    fold(project, TODAY, 3)
    done = conflicted(project, "revert", "--no-edit", folded)
    assert (done.operation, done.left) == ("revert", ())
    finish(project, "revert")
    project.memory().consolidate()
    assert project.errors() == []
    assert project.confidence() == len(project.tree_ids())


def test_both_created_the_pattern_one_with_a_title(project: Project) -> None:
    with on(started(project), "b"):
        project.observe(OTHER, 2, title="Import it first")
        project.memory().consolidate()
    project.observe(OTHER, 3)
    project.memory().consolidate()
    assert conflicted(project, "merge", "b").left == ()
    finish(project)
    exact(project, 5, key=OTHER)
    assert project.memory().show(OTHER).title == "Import it first"


def test_hand_edit_on_one_side_and_a_title_on_the_other_are_both_kept(project: Project) -> None:
    with on(started(project), "b"):
        edit(project, "confidence: 1", "confidence: 5")
    fold(project, TODAY, 2)
    edit(project, 'title: ""', "title: Test again")
    assert conflicted(project, "merge", "b").left == ()
    finish(project)
    exact(project, 7, offset=4)
    assert project.memory().show(KEY).title == "Test again"


def test_a_hand_edit_that_arrives_twice_counts_once(project: Project) -> None:
    with on(started(project), "b"):
        edit(project, "confidence: 1", "confidence: 5")
    project.git("merge", "-q", "--squash", "b")
    project.git("commit", "-q", "-m", "squashed")
    fold(project, TODAY, 2)
    with on(project, "b"):
        fold(project, TODAY, 1)
    assert conflicted(project, "merge", "b").left == ()
    finish(project)
    exact(project, 8, offset=4)


def test_two_different_hand_edits_are_left_with_markers_at_that_line_alone(project: Project) -> None:
    with on(started(project), "b"):
        edit(project, "confidence: 1", "confidence: 5")
        fold(project, TODAY, 1)
    edit(project, "confidence: 1", "confidence: 9")
    path = pattern_file(project)
    [left] = conflicted(project, "merge", "b").left
    assert left.path == path
    assert "changed by hand on both sides (+8 here, +4 there)" in left.why
    text = project.read(path)
    marked = text[text.index("<<<<<<<") : text.index(">>>>>>>")]
    assert [line for line in marked.split("\n") if line.startswith("confidence")] == ["confidence: 10", "confidence: 6"]
    assert "title" not in marked
    assert project.memory().resolve().left[0].path == path  # asking again destroys nothing
    assert project.read(path) == text
    lines = [
        line for line in text.split("\n") if not line.startswith(("<<<<<<<", "=======", ">>>>>>>", "confidence: 6"))
    ]
    project.write(path, "\n".join(lines))
    assert "edited here" in project.memory().resolve().left[0].why
    project.git("add", path)
    finish(project)
    exact(project, 10, offset=8)


def test_a_line_that_both_sides_wrote_differently_is_the_persons_and_the_numbers_are_settled(project: Project) -> None:
    for branch, title in (("b", "There"), ("main", "Here")):
        if branch == "b":
            with on(started(project), "b"):
                edit(project, 'title: ""', f"title: {title}")
                fold(project, TODAY, 3)
        else:
            edit(project, 'title: ""', f"title: {title}")
            fold(project, TODAY, 2)
    path = pattern_file(project)
    [left] = conflicted(project, "merge", "b").left
    assert left.why == "both sides changed the same lines of yours; the numbers are settled"
    assert left.choices == (f"choose between the conflict markers in the file, then `git add -- {path}`",)
    text = project.read(path)
    assert text.index("confidence: 4") < text.index("<<<<<<< this side") < text.index("title: Here")
    assert text.count("confidence:") == 1
    before, after = text.index("<<<<<<<"), text.index(">>>>>>>")
    project.write(path, text[:before] + "title: Both\n" + text[text.index("\n", after) + 1 :])
    project.git("add", path)
    finish(project)
    exact(project, 6)


def test_retired_on_one_side_wins_over_the_numbers_of_the_other(project: Project) -> None:
    with on(started(project), "b"):
        fold(project, TODAY, 3)
        project.memory().retire(KEY)
    fold(project, TODAY, 5)
    assert conflicted(project, "merge", "b").left == ()
    finish(project)
    exact(project, 9)
    assert project.memory().show(KEY).status == "retired"


@pytest.mark.parametrize("choice", ["keep", "delete"])
@pytest.mark.parametrize("deleted", ["here", "there"])
def test_a_deleted_pattern_file_is_listed_with_both_choices_and_never_decided(
    project: Project, deleted: str, choice: str
) -> None:
    path = pattern_file(started(project))
    with on(project, "b"):
        if deleted == "there":
            project.git("rm", "-q", path)
            project.git("commit", "-q", "-m", "away")
        else:
            fold(project, TODAY, 2)
    if deleted == "there":
        fold(project, TODAY, 2)
    else:
        project.git("rm", "-q", path)
        project.git("commit", "-q", "-m", "away")
    done = conflicted(project, "merge", "b")
    assert done.settled == ()
    [left] = done.left
    assert left.path == path
    assert "instinct retire" in left.choices[0]
    assert f"git rm -- {path}" in left.choices[1]
    project.git(*(("add", "--", path) if choice == "keep" else ("rm", "-q", "--", path)))
    finish(project)
    assert len(project.tree_ids()) == 3
    if choice == "keep":
        exact(project, 3)
    else:
        assert project.memory().consolidate().removed_by_person == (KEY,)
        assert project.errors() == []


def test_a_renamed_pattern_file_takes_the_numbers_of_both(project: Project) -> None:
    old, new = pattern_file(started(project)), ".instinct/patterns/seq/renamed.md"
    with on(project, "b"):
        project.git("mv", old, new)
        project.git("commit", "-q", "-m", "a better name")
        fold(project, TODAY, 3)
    fold(project, TODAY, 2)
    assert [one.path for one in conflicted(project, "merge", "b").settled] == [new]
    finish(project)
    exact(project, 6)
    assert not (project.root / old).exists()


def test_a_file_renamed_on_both_sides_is_the_persons(project: Project) -> None:
    old = pattern_file(started(project))
    with on(project, "b"):
        project.git("mv", old, ".instinct/patterns/seq/there.md")
        project.git("commit", "-q", "-m", "there")
    project.git("mv", old, ".instinct/patterns/seq/here.md")
    project.git("commit", "-q", "-m", "here")
    done = conflicted(project, "merge", "b")
    assert done.settled == ()
    assert {one.path.rpartition("/")[2] for one in done.left} == {Path(old).name, "here.md", "there.md"}


def test_a_new_pattern_in_a_folder_that_was_renamed_is_kept_where_git_puts_it(project: Project) -> None:
    started(project)
    fold(project, TODAY, 1, "seq:second")
    project.git("mv", ".instinct/patterns/seq", ".instinct/patterns/sequences")
    project.git("commit", "-q", "-m", "a better folder")
    project.git("branch", "renamed")
    project.git("reset", "-q", "--hard", "HEAD~1")
    fold(project, TODAY, 2, "seq:third")
    project.git("merge", "-q", "--no-edit", "renamed", check=False)
    if project.git("ls-files", "-u"):
        assert project.memory().resolve().left == ()
        finish(project)
    exact(project, 2, key="seq:third")


def test_an_unreadable_side_is_the_persons(project: Project) -> None:
    with on(started(project), "b"):
        edit(project, "confidence: 1", "confidence: many")
    fold(project, TODAY, 2)
    path = pattern_file(project)
    text = None
    project.git("merge", "-q", "b", check=False)
    text = project.read(path)
    [left] = project.memory().resolve().left
    assert "the other side cannot be read" in left.why
    assert project.read(path) == text


# --- resolve: containers, and the rest ------------------------------------------------------------------------------


def test_a_container_that_was_deleted_here_and_changed_there_stays(project: Project) -> None:
    started(project)
    fold(project, TODAY, 2)
    path = LEDGER + ledger(project)[-1]
    with on(project, "b"):
        project.git("rm", "-q", path)
        project.git("commit", "-q", "-m", "against the law")
    project.write(path, project.read(path) + dump_ledger(parse_container(project.read(path).encode())[0]).decode())
    project.commit("against the law too", path)
    done = conflicted(project, "merge", "b")
    assert [(one.path, one.how) for one in done.settled] == [(path, "its evidence stays")]
    finish(project)
    exact(project, 3)


def test_two_containers_of_one_name_are_both_kept(project: Project) -> None:
    started(project)
    path = f"{LEDGER}20260101-samename0000.jsonl"
    for branch, number in (("b", "1"), ("main", "2")):
        line = (
            f'{{"v":1,"p":"{KEY}","k":"observed","by":"","s":"","ctx":"","ids":["20260101-samename0000.{number}"]}}\n'
        )
        if branch == "b":
            with on(project, "b"):
                project.write(path, line)
                project.commit("there", path)
        else:
            project.write(path, line)
            project.commit("here", path)
    [settled] = conflicted(project, "merge", "b").settled
    assert settled.path == path
    assert "samename0000.2" in project.read(path)
    finish(project)
    assert len(project.tree_ids()) == 3
    assert project.status() == ""
    exact(project, 3)


def test_conflicts_outside_are_named_and_untouched_and_the_exit_code_is_1(
    instinct: Callable[..., Any], project: Project
) -> None:
    with on(started(project), "b"):
        project.write("README.md", "there\n")
        project.commit("there", "README.md")
        fold(project, TODAY, 3)
    project.write("README.md", "here\n")
    project.commit("here", "README.md")
    fold(project, TODAY, 2)
    path = pattern_file(project)
    project.git("merge", "-q", "b", check=False)
    before = project.read("README.md")
    unmerged = project.git("ls-files", "-u")
    ran = instinct("resolve", "--dry-run")
    assert (ran.code, project.git("ls-files", "-u")) == (1, unmerged)
    assert f"would settle {path}" in ran.out
    ran = instinct("resolve")
    assert ran.code == 1
    assert f"settled {path}: confidence 4" in ran.out
    assert "yours: README.md: outside .instinct" in ran.out
    assert "# 1 settled and staged, 1 left to you" in ran.out
    assert "`git merge --continue`, then `instinct consolidate`" in ran.out
    assert project.read("README.md") == before
    assert project.git("diff", "--name-only", "--diff-filter=U") == "README.md"


def test_a_config_in_conflict_is_the_persons_and_stops_nothing_else(project: Project) -> None:
    with on(both_folded(project), "b"):
        project.memory().configure("suggest.budget", "700")
        project.commit("there", ".instinct")
    project.memory().configure("suggest.budget", "600")
    project.commit("here", ".instinct")
    done = conflicted(project, "merge", "b")
    assert [one.path for one in done.left] == [".instinct/config.yaml"]
    assert [one.path for one in done.settled] == [pattern_file_name(project)]


def pattern_file_name(project: Project) -> str:
    return next(iter((project.root / ".instinct/patterns").rglob("*.md"))).relative_to(project.root).as_posix()


def test_a_file_that_a_person_has_begun_to_settle_is_left_alone(project: Project) -> None:
    path = pattern_file(both_folded(project))
    project.git("merge", "-q", "b", check=False)
    mine = project.git("show", f"HEAD:{path}").replace('title: ""', "title: Mine") + "\n"
    project.write(path, mine)
    [left] = project.memory().resolve().left
    assert "edited here" in left.why
    assert project.read(path) == mine


def test_a_memory_below_the_top_and_a_linked_worktree_are_resolved(tmp_path: Path) -> None:
    top = Project.new(tmp_path / "top")
    inner = Project(top.root / "inner")
    (inner.root / ".instinct" / "patterns").mkdir(parents=True)
    inner.memory().configure("consolidate", "anywhere")
    for name in ("observations", "ledger"):
        inner.write(f".instinct/{name}/README.md", "---\ntype: Folder\n---\n")
    inner.observe()
    inner.memory().consolidate()
    other = top.worktree("linked", "b")
    fold(Project(other.root / "inner"), TODAY, 3)
    fold(inner, TODAY, 2)
    done = conflicted(inner, "merge", "b")
    assert (len(done.settled), done.left, done.outside) == (1, (), ())
    finish(inner)
    inner.memory().consolidate()
    assert inner.confidence() == 6

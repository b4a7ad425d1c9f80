"""Evidence through every kind of merge, on real git: nothing lost, nothing twice, no conflict in evidence."""

from __future__ import annotations

import random

import pytest

from tests.builders import Project, first, git
from tests.merges import OTHER, exact, expected, merge, on, record, settle, squash, started

MANY = [pytest.param(6, id="6"), pytest.param(20, id="20", marks=pytest.mark.slow)]
POLICIES = pytest.mark.parametrize("policy", first(1, ["anywhere", "default-branch"]))


def branches(project: Project, count: int) -> list[str]:
    names = [f"b{n}" for n in range(count)]
    for name in names:
        record(project, name, 2)
    random.Random(count).shuffle(names)
    return names


@POLICIES
@pytest.mark.parametrize("count", MANY)
def test_merge_20_branches_random_order(project: Project, count: int, policy: str) -> None:
    for name in branches(started(project, policy), count):
        assert merge(project, name) == []
    assert len(project.tree_ids()) == 1 + 2 * count
    exact(project, 1 + 2 * count)


@pytest.mark.parametrize("count", MANY)
def test_octopus_20_heads(project: Project, count: int) -> None:
    assert merge(project, *branches(started(project), count)) == []
    assert len(project.git("rev-list", "--parents", "-1", "HEAD").split()) >= 1 + count
    exact(project, 1 + 2 * count)


@POLICIES
@pytest.mark.parametrize("count", MANY)
def test_squash_20_branches(project: Project, count: int, policy: str) -> None:
    for name in branches(started(project, policy), count):
        squash(project, name)
    exact(project, 1 + 2 * count)


@pytest.mark.parametrize("count", MANY)
def test_rebase_20_branches(project: Project, count: int) -> None:
    for name in branches(started(project), count):
        project.git("rebase", "-q", "main", name)
        project.git("switch", "-q", "main")
        project.git("merge", "-q", "--ff-only", name)
    exact(project, 1 + 2 * count)


@pytest.mark.parametrize("count", MANY)
def test_cherry_pick_each_commit(project: Project, count: int) -> None:
    for name in branches(started(project), count):
        project.git("cherry-pick", f"main..{name}")
    exact(project, 1 + 2 * count)


def test_same_branch_merged_twice(project: Project) -> None:
    record(started(project), "b", 2)
    merge(project, "b")
    exact(project, 3)
    record(project, "b", 1)
    merge(project, "b")
    exact(project, 4)


def test_squash_then_merge_again_after_fold(project: Project) -> None:
    record(started(project), "b", 2)
    squash(project, "b")
    exact(project, 3)
    record(project, "b", 1)
    assert merge(project, "b") == []
    exact(project, 4)
    assert not list((project.root / ".instinct/observations").glob("*.jsonl"))


def test_squash_then_squash_again_after_fold(project: Project) -> None:
    record(started(project), "b", 2)
    squash(project, "b")
    exact(project, 3)
    record(project, "b", 1)
    squash(project, "b")
    exact(project, 4)


def test_rebase_merge_then_backmerge(project: Project) -> None:
    record(started(project), "b", 2)
    record(project, "other", 1)
    merge(project, "other")
    project.git("cherry-pick", "main..b")  # a host's rebase button leaves the branch itself as it was
    exact(project, 4)
    with on(project, "b"):
        assert merge(project, "main") == []
        project.observe()
        project.memory().record()
    merge(project, "b")
    exact(project, 5)


def test_cherry_pick_to_release_fold_backmerge(project: Project) -> None:
    record(started(project), "b", 2)
    merge(project, "b")
    with on(project, "release", "b~1"):
        project.git("cherry-pick", "b")
        exact(project, 3)
    merge(project, "release")
    exact(project, 3)


@pytest.mark.parametrize("folds", [4, pytest.param(200, marks=pytest.mark.slow)])
def test_fork_pr_with_old_base_many_folds_later(project: Project, folds: int) -> None:
    fork = started(project).clone("fork")
    fork.git("switch", "-q", "-c", "pr")
    fork.observe(times=2)
    fork.memory().record()
    project.git("pull", "-q", "--no-rebase", "../fork", "pr")
    for n in range(folds):
        project.observe()
        project.memory().consolidate()
        assert n or project.confidence() == 4
    fork.observe()
    fork.memory().record()
    project.git("pull", "-q", "--no-rebase", "--no-edit", "../fork", "pr")
    exact(project, 4 + folds)


def test_bare_merge_tree_like_github(project: Project) -> None:
    for name in branches(started(project), 4):
        bare = project.root.parent / f"bare-{name}"
        git(project.root.parent, "clone", "-q", "--bare", str(project.root), str(bare))
        tree = git(bare, "merge-tree", "--write-tree", "main", name).split("\n")
        assert len(tree) == 1
        listed = git(bare, "ls-tree", "-r", "--name-only", tree[0]).split("\n")
        assert sum(path.startswith(".instinct/observations/2") for path in listed) == 1
        with on(project, name):
            project.observe(OTHER)
            project.memory().consolidate()


def test_both_fold_same_fragment(project: Project) -> None:
    record(started(project), "b", 2)
    merge(project, "b")
    with on(project, "left"):
        exact(project, 3)
    exact(project, 3)
    assert merge(project, "left") == []
    assert len(list((project.root / ".instinct/ledger").glob("*.jsonl"))) == 3
    exact(project, 3)


@pytest.mark.parametrize("side", ["ours", "theirs"])
def test_both_fold_superset(project: Project, side: str) -> None:
    record(started(project), "b", 2)
    merge(project, "b")
    with on(project, "left"):
        project.observe(times=3)
        exact(project, 6)
    exact(project, 3)
    project.observe(times=1)
    exact(project, 4)
    assert len(merge(project, "left", side=side)) == 1
    exact(project, 7)


def test_both_plus_one_different_evidence(project: Project) -> None:
    with on(started(project), "left"):
        project.observe()
        exact(project, 2)
    project.observe()
    exact(project, 2)
    assert merge(project, "left") == []
    assert project.confidence() == 2
    findings = [one for one in project.memory().check() if one.rule == "counted"]
    assert [one.message.startswith("counted is 2, the evidence gives 3") for one in findings] == [True]
    exact(project, 3)


@pytest.mark.parametrize("side", ["ours", "theirs"])
def test_both_create_same_pattern(project: Project, side: str) -> None:
    with on(started(project), "left"):
        project.observe(OTHER, 2)
        project.memory().consolidate()
    project.observe(OTHER, 3)
    project.memory().consolidate()
    assert len(merge(project, "left", side=side)) == 1
    exact(project, 5, key=OTHER)
    assert len([one for one in project.memory().list() if one.pattern == OTHER]) == 1


def test_fold_vs_new_fragment_all_folded(project: Project) -> None:
    record(started(project), "old", 1)
    merge(project, "old")
    record(project, "b", 1)
    exact(project, 2)
    assert merge(project, "b") == []
    assert len(list((project.root / ".instinct/observations").glob("*.jsonl"))) == 1
    exact(project, 3)


def test_readme_missing(project: Project) -> None:
    started(project)
    (project.root / ".instinct/observations/README.md").unlink()
    assert any("observations/README.md" in error for error in project.errors())
    project.memory().init()
    assert project.errors() == []


def test_verbatim_ledger_forbidden(project: Project) -> None:
    record(started(project), "b", 4)
    merge(project, "b")
    lines = {line for file in (project.root / ".instinct/observations").glob("*.jsonl") for line in file.open()}
    exact(project, 5)
    assert not lines & {line for file in (project.root / ".instinct/ledger").glob("*.jsonl") for line in file.open()}
    assert "R" not in project.git("show", "--format=", "--name-status", "-M", "HEAD")


def test_revert_consolidate(project: Project) -> None:
    record(started(project), "b", 2)
    merge(project, "b")
    exact(project, 3)
    project.git("revert", "--no-edit", "HEAD")
    assert project.confidence() == 1
    assert expected(project) == 3
    exact(project, 3)


def test_revert_consolidate_after_resurrection(project: Project) -> None:
    record(started(project), "b", 2)
    squash(project, "b")
    exact(project, 3)
    folded = project.head()
    record(project, "b", 1)
    merge(project, "b")  # the folded container is back
    exact(project, 4)
    project.git("revert", "--no-edit", folded, check=False)
    settle(project, "ours")
    assert expected(project) == 4
    exact(project, 4)


def test_cherry_pick_consolidate_commit(project: Project) -> None:
    with on(started(project), "left"):
        project.observe(times=3)
        exact(project, 4)
    project.git("cherry-pick", "left")
    exact(project, 4)
    merge(project, "left")
    exact(project, 4)


def test_refold_of_resurrected_fragment_adds_batch(project: Project) -> None:
    record(started(project), "b", 2)
    squash(project, "b")
    exact(project, 3)
    record(project, "b", 1)
    merge(project, "b")
    before = set((project.root / ".instinct/ledger").glob("*.jsonl"))
    exact(project, 4)
    added = [path for path in project.changed() if path.startswith(".instinct/ledger/")]
    assert len(added) == 1
    assert project.root / added[0] not in before
    assert len([one for one in project.tree_evidence() if one.id in project.read(added[0])]) == 5


def test_a_branch_behind_the_policy_only_records_and_main_folds_after_the_merge(project: Project) -> None:
    with on(started(project, "default-branch"), "b"):
        project.observe(times=4)
        done = project.memory().consolidate()
        assert (done.verb, done.recorded, project.confidence()) == ("record", 4, 1)
    merge(project, "b")
    exact(project, 5)

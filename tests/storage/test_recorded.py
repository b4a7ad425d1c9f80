"""What has left the inbox is kept until the default branch holds it, and comes back when no branch does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders import Project


def kept(project: Project) -> list[Path]:
    """The drained inbox files that this clone still keeps."""
    return sorted((project.root / ".git" / "instinct" / "recorded").glob("*/*.jsonl"))


@pytest.fixture
def settled(project: Project) -> Project:
    """A project whose scaffolding is committed."""
    project.memory().consolidate()
    return project


def test_kept_until_the_default_branch_holds_the_ids(settled: Project) -> None:
    """On a branch the files stay in `recorded/`; once main has the ids, however they came, they are dropped."""
    settled.git("switch", "-q", "-c", "topic")
    settled.observe(times=2)
    settled.memory().record()
    settled.memory().consolidate()
    assert (len(kept(settled)), settled.inbox_files()) == (2, [])
    settled.git("switch", "-q", "main")
    settled.memory().consolidate()
    assert (len(kept(settled)), settled.inbox_files()) == (2, []), "the branch still holds them"
    settled.git("merge", "-q", "--squash", "topic")
    settled.git("commit", "-q", "-m", "squashed")
    settled.git("branch", "-q", "-D", "topic")
    settled.memory().consolidate()
    assert (kept(settled), settled.inbox_files()) == ([], [])
    assert settled.confidence() == 2


def test_kept_until_the_remotes_default_branch_holds_the_ids(settled: Project) -> None:
    """With a remote its default branch decides: what is not pushed yet is kept."""
    settled.git("switch", "-q", "-c", "parking")
    clone = settled.clone("clone")
    clone.git("switch", "-q", "main")
    clone.observe(times=2)
    clone.memory().consolidate()
    clone.memory().consolidate()
    assert len(kept(clone)) == 2
    clone.git("push", "-q", "origin", "main")
    clone.git("remote", "set-head", "origin", "main")
    clone.memory().consolidate()
    assert kept(clone) == []
    assert clone.confidence() == 2


@pytest.mark.parametrize("verb", ["record", "consolidate"])
def test_reset_hard_gives_the_evidence_back(settled: Project, verb: str) -> None:
    """After `git reset --hard HEAD~1` the next batch has the evidence again, and counts it once."""
    settled.observe(times=3)
    getattr(settled.memory(), verb)()
    settled.git("reset", "-q", "--hard", "HEAD~1")
    assert settled.tree_ids() == set()
    settled.memory().consolidate()
    assert settled.confidence() == 3
    assert len(settled.tree_ids()) == 3
    assert settled.errors() == []
    settled.memory().consolidate()
    assert (settled.confidence(), kept(settled), settled.status()) == (3, [], "")


def test_deleting_an_unmerged_branch_gives_the_evidence_back(settled: Project) -> None:
    """Evidence of a branch that was thrown away is not thrown away with it."""
    settled.git("switch", "-q", "-c", "topic")
    settled.observe(times=2)
    settled.memory().consolidate()
    settled.git("switch", "-q", "main")
    settled.git("branch", "-q", "-D", "topic")
    done = settled.memory().consolidate()
    assert done.recorded == 2
    assert settled.confidence() == 2


def test_given_back_and_merged_after_all_counts_once(settled: Project) -> None:
    """A branch that was deleted, then found again and merged, brings ids that are known already."""
    settled.git("switch", "-q", "-c", "topic")
    settled.observe(times=2)
    tip = settled.memory().consolidate().commit
    settled.git("switch", "-q", "main")
    settled.git("branch", "-q", "-D", "topic")
    settled.memory().consolidate()
    settled.observe()
    settled.memory().consolidate()
    settled.git("merge", "-q", "--no-edit", "-X", "ours", tip)
    settled.memory().consolidate()
    assert settled.confidence() == 3
    assert len(settled.tree_ids()) == 3
    assert settled.errors() == []


def test_amended_and_rebased_commits_count_once(settled: Project) -> None:
    """Rewriting our commit (amend, rebase) changes its id but not the evidence in it."""
    settled.git("switch", "-q", "-c", "topic")
    settled.observe(times=2)
    settled.memory().record()
    settled.git("commit", "-q", "--amend", "-m", "other words")
    settled.git("switch", "-q", "main")
    settled.write("work", "1\n")
    settled.commit("work", "work")
    settled.memory().consolidate()
    settled.git("switch", "-q", "topic")
    settled.git("rebase", "-q", "main")
    settled.git("switch", "-q", "main")
    settled.git("merge", "-q", "--no-edit", "topic")
    settled.memory().consolidate()
    assert settled.confidence() == 2
    assert len(settled.tree_ids()) == 2
    assert settled.errors() == []


def test_no_commit_that_is_thrown_away_gives_the_evidence_back(settled: Project) -> None:
    """`record --no-commit` writes the file for the user's own commit; if the user cleans it away nothing is lost."""
    settled.observe(times=2)
    settled.memory().record(no_commit=True)
    assert settled.inbox_files() == []
    settled.git("clean", "-fdq", ".instinct")
    settled.memory().consolidate()
    assert settled.confidence() == 2


def test_no_commit_rides_in_the_users_commit(settled: Project) -> None:
    """`record --no-commit` and the user's commit of it: counted once, nothing left to do."""
    settled.observe(times=2)
    settled.memory().record(no_commit=True)
    settled.commit("my work and its evidence")
    settled.memory().consolidate()
    assert settled.confidence() == 2
    assert (kept(settled), settled.status()) == ([], "")


def test_worktree_removed_with_its_branch_gives_the_evidence_back(settled: Project) -> None:
    """A linked worktree that an agent used and that was removed with its branch leaves its evidence in the clone."""
    linked = settled.worktree("linked", "agent")
    linked.observe(times=2)
    linked.memory().record()
    settled.git("worktree", "remove", "--force", str(linked.root))
    settled.git("branch", "-q", "-D", "agent")
    settled.memory().consolidate()
    assert settled.confidence() == 2

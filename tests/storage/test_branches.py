"""What git's branches say: which one stands in the way, and which one is the default."""

from __future__ import annotations

import pytest

from instinct_git.errors import InstinctError
from instinct_git.storage.git import Repository
from tests.builders import Project


def repository(project: Project) -> Repository:
    return Repository(project.memory()._space.place)


@pytest.mark.parametrize(("existing", "wanted"), [
    ("instinct", "instinct/skill/x"), ("instinct/skill", "instinct/skill/x"), ("instinct/skill/x", "instinct"),
    ("instinct/skill/x", "instinct/skill"), ("a/b/c/d", "a/b"),
], ids="-".join)  # fmt: skip
@pytest.mark.parametrize("packed", [False, True], ids=["loose", "packed"])
def test_the_branch_that_stands_in_the_way_is_named(project: Project, existing: str, wanted: str, packed: bool) -> None:
    """Git refuses the wanted one, in either direction."""
    project.git("branch", existing)
    if packed:
        project.git("pack-refs", "--all")
    assert repository(project).branch_blocker(wanted) == existing
    project.git("branch", wanted, check=False)
    assert project.git("rev-parse", "-q", "--verify", f"refs/heads/{wanted}", check=False) == ""


@pytest.mark.parametrize(("existing", "wanted"), [
    ("instinct-x", "instinct/skill/x"), ("instinct/skill/y", "instinct/skill/x"), ("instinct/skill/x", "instinct/skill/x"),
    ("inst", "instinct/x"), ("instinct/skill/xy", "instinct/skill/x"),
], ids="-".join)  # fmt: skip
def test_branches_beside_it_do_not_matter(project: Project, existing: str, wanted: str) -> None:
    project.git("branch", existing)
    assert repository(project).branch_blocker(wanted) is None


def clone_of_a_renamed_default(project: Project, commits: int) -> Project:
    """A clone whose origin/HEAD names `old`, while the origin went on with main by some commits."""
    project.memory().consolidate()
    project.git("switch", "-q", "-c", "old")
    clone = project.clone("clone")
    project.git("switch", "-q", "main")
    tree, tip = project.git("rev-parse", "HEAD^{tree}"), project.head()
    for number in range(commits):
        tip = project.git("commit-tree", "-p", tip, "-m", f"{number}", tree)
    project.git("update-ref", "refs/heads/main", tip)
    clone.git("fetch", "-q")
    clone.git("switch", "-q", "main")
    return clone


SAYS = "origin/HEAD names old, but origin/main is 25 commits ahead of it"


def default(project: Project) -> tuple[str, str, str]:
    (one,) = [one for one in project.memory().doctor() if one.topic == "default branch"]
    return one.state, one.words, one.hint


def test_a_leftover_default_branch_is_named_wherever_it_decides(project: Project) -> None:
    """`doctor`, the batch that only records because of it and the one that refuses because of it all say what to do."""
    clone = clone_of_a_renamed_default(project, 25)
    clone.memory().configure("consolidate", "default-branch")
    clone.observe()
    state, words, hint = default(clone)
    assert (state, SAYS in words, "git remote set-head origin -a" in hint) == ("notice", True, True)
    notices = clone.memory().consolidate().notices
    assert any(SAYS in one and "git remote set-head origin -a" in one for one in notices)
    with pytest.raises(InstinctError) as caught:
        clone.memory().compact()
    assert SAYS in caught.value.hint
    clone.git("remote", "set-head", "origin", "-a", check=False)
    clone.memory().configure("default_branch", "main")
    assert default(clone)[::2] == ("ok", "")
    assert clone.memory().consolidate().folded == 1


def test_a_default_branch_that_is_gone_is_named(project: Project) -> None:
    clone = clone_of_a_renamed_default(project, 1)
    clone.git("update-ref", "-d", "refs/remotes/origin/old")
    state, words, hint = default(clone)
    assert (state, "old, a branch that is not there any more" in words, "set-head origin -a" in hint) == (
        "notice",
        True,
        True,
    )


@pytest.mark.parametrize("ahead", [0, 3])
def test_a_default_branch_that_is_a_little_behind_is_right(project: Project, ahead: int) -> None:
    """Teams that work on another branch than main have both."""
    assert default(clone_of_a_renamed_default(project, ahead))[::2] == ("ok", "")


def test_a_main_for_releases_is_no_sign(project: Project) -> None:
    """Where main gets merges alone and the default branch the work, main is not the real one."""
    clone = clone_of_a_renamed_default(project, 25)
    tree, tip = clone.git("rev-parse", "HEAD^{tree}"), clone.git("rev-parse", "origin/old")
    for number in range(30):
        tip = clone.git("commit-tree", "-p", tip, "-m", f"work {number}", tree)
    clone.git("update-ref", "refs/remotes/origin/old", tip)
    assert default(clone)[::2] == ("ok", "")

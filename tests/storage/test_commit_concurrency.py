"""Many processes, worktrees and people at once: nothing is lost, nobody's work is undone, and status is clean."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from instinct_git.storage import commits
from tests.builders import KEY, Project, git

WRITER = """
import sys
from pathlib import Path
from instinct_git.errors import InstinctError
from instinct_git.memory import Memory
name, rounds = sys.argv[1], int(sys.argv[2])
for n in range(rounds):
    Memory().observe("note:shared", source=name)
    Memory().observe(f"note:{name}")
    Memory().consolidate()
"""


def writers(folders: list[Path], rounds: int) -> list[subprocess.Popen[str]]:
    """Start one process a folder that observes and consolidates some times."""
    return [
        subprocess.Popen([sys.executable, "-c", WRITER, f"w{n}", str(rounds)], cwd=folder, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True)
        for n, folder in enumerate(folders)
    ]  # fmt: skip


def user_commits(project: Project, busy: list[subprocess.Popen[str]]) -> int:
    """Commit as a user does, again and again while others work; a commit that met a lock is tried again."""
    made = 0
    while any(one.poll() is None for one in busy) or made == 0:
        name = f"user/{made}"
        project.write(name, f"{made}\n")
        while subprocess.run(["git", "add", name], cwd=project.root, capture_output=True).returncode:
            pass
        while subprocess.run(
            ["git", "commit", "-q", "-m", f"user {made}"], cwd=project.root, capture_output=True
        ).returncode:
            # our commit may have come first with the file already in it: never, since it holds our paths alone
            assert name not in project.git("ls-tree", "-r", "--name-only", "HEAD").split("\n")
        made += 1
        for look in ("status", "diff", "log"):
            subprocess.run(["git", look], cwd=project.root, capture_output=True, check=True)
    return made


def crowd(project: Project, processes: int, rounds: int) -> None:
    project.memory().consolidate()
    started = writers([project.root] * processes, rounds)
    made = user_commits(project, started)
    assert {one.communicate()[0].strip().split("\n")[-1] for one in started} == {""}
    project.memory().consolidate()
    assert project.status() == ""
    assert project.confidence("note:shared") == processes * rounds
    assert [project.confidence(f"note:w{n}") for n in range(processes)] == [rounds] * processes
    assert len(project.tree_ids()) == processes * rounds * 2
    tracked = set(project.git("ls-tree", "-r", "--name-only", "HEAD").split("\n"))
    assert {f"user/{n}" for n in range(made)} <= tracked
    assert project.errors() == []
    # A user who commits hundreds of times a second hits the milliseconds between our last look at HEAD and git's own, and
    # those until the real index knows our files. Then a commit in the history may hold more or less than it should; the
    # tip is right, and that is what everyone has who works on.


@pytest.mark.slow
def test_4_processes_one_worktree_plus_user(project: Project) -> None:
    """Four processes consolidate three times each while a user commits: all evidence and all commits are there."""
    crowd(project, 4, 3)


@pytest.mark.slow
def test_8_procs_one_worktree_plus_user(project: Project) -> None:
    """Eight processes consolidate ten times each while a user commits: all evidence and all commits are there."""
    crowd(project, 8, 10)


def worktrees(project: Project, number: int, rounds: int) -> None:
    project.memory().consolidate()
    trees = [project.worktree(f"tree{n}", f"branch{n}") for n in range(number)]
    started = writers([tree.root for tree in trees], rounds)
    assert {one.communicate()[0].strip().split("\n")[-1] for one in started} == {""}
    for tree in trees:
        assert tree.status() == ""
    for tree in trees:
        merged = git(
            project.root, "merge", "-q", "--no-edit", "-X", "ours", tree.git("branch", "--show-current"), check=False
        )
        assert "CONFLICT" not in merged
    project.memory().consolidate()
    assert project.confidence("note:shared") == number * rounds
    assert [project.confidence(f"note:w{n}") for n in range(number)] == [rounds] * number
    assert project.errors() == []


def test_3_worktrees(project: Project) -> None:
    """Three worktrees of one clone share an inbox and batch at once; merged, every id counts once."""
    worktrees(project, 3, 2)


@pytest.mark.slow
def test_8_worktrees(project: Project) -> None:
    """Eight worktrees of one clone share an inbox and batch at once; merged, every id counts once."""
    worktrees(project, 8, 10)


def landing(project: Project, monkeypatch: pytest.MonkeyPatch, act: object, *, when: str = "before") -> None:
    """Let `act` run once: before git writes our commit (after our tree was prepared), or right after it."""
    original = commits.git.run
    done = threading.Event()

    def run(folder: Path, args: list[str], **options: object) -> object:
        ours = args[0] == "commit" and not done.is_set()
        if ours and when == "before":
            done.set()
            act()  # type: ignore[operator]
        result = original(folder, args, **options)  # type: ignore[arg-type]
        if ours and when == "after":
            done.set()
            act()  # type: ignore[operator]
        return result

    monkeypatch.setattr(commits.git, "run", run)


def test_a_commit_that_lands_before_ours_is_not_undone(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody commits after our tree was prepared: our commit is made again on theirs."""
    project.write("work", "before\n")
    project.commit("before", "work")
    project.observe(times=2)

    def user() -> None:
        project.write("work", "after\n")
        project.write("fresh", "new\n")
        project.commit("user's work", "work", "fresh")

    landing(project, monkeypatch, user)
    done = project.memory().consolidate()
    assert project.git("log", "--format=%s", "-2").split("\n")[1] == "user's work"
    assert done.commit == project.head()
    assert all(path.startswith(".instinct/") for path in project.changed())
    assert project.git("show", "HEAD:work") == "after"
    assert project.git("log", "-1", "--format=%an %s").startswith("Ada Example instinct: fold 2")
    assert project.status() == ""
    assert project.errors() == []


def test_a_commit_that_lands_after_ours_is_not_taken_for_ours(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody commits right on top of ours, from an index without our files: both are in the end, in order."""
    project.observe(times=2)
    landing(
        project,
        monkeypatch,
        lambda: (project.write("work", "mine\n"), project.commit("user's work", "work")),
        when="after",
    )
    project.memory().consolidate()
    subjects = project.git("log", "--format=%s").split("\n")
    assert subjects[0].startswith("instinct: ")
    assert subjects[1] == "user's work"
    assert project.git("show", "HEAD:work") == "mine"
    assert project.status() == ""
    assert project.confidence() == 2
    assert project.errors() == []


def test_commits_before_and_after_ours(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody commits on both sides of ours in that moment: the tip holds all three."""
    project.observe(times=2)
    original = commits.git.run
    rounds = iter(("first", "second"))

    def run(folder: Path, args: list[str], **options: object) -> object:
        ours = args[0] == "commit"
        for name in [next(rounds, "")] if ours else []:
            if name:
                project.write(name, f"{name}\n")
                project.commit(name, name)
        result = original(folder, args, **options)  # type: ignore[arg-type]
        for name in [next(rounds, "")] if ours else []:
            if name:
                project.write(name, f"{name}\n")
                project.commit(name, name)
        return result

    monkeypatch.setattr(commits.git, "run", run)
    project.memory().consolidate()
    monkeypatch.undo()
    assert (project.git("show", "HEAD:first"), project.git("show", "HEAD:second")) == ("first", "second")
    assert project.git("status", "--porcelain") == ""


def test_our_files_taken_by_somebodys_add_all(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A `git add -A` and commit of a user takes our files along in that moment: there is nothing left to commit."""
    project.observe(times=2)
    landing(project, monkeypatch, lambda: (project.write("work", "mine\n"), project.commit("user's work")))
    project.memory().consolidate()
    assert project.git("log", "-1", "--format=%s") == "user's work"
    assert project.status() == ""
    assert project.confidence() == 2
    assert project.inbox_files() == []
    assert project.errors() == []


def test_a_branch_that_is_switched_under_us(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user switches branches after our tree was prepared: what is on the new branch stays there."""
    project.memory().consolidate()
    project.git("branch", "topic")
    project.write("main.txt", "main\n")
    project.commit("on main", "main.txt")
    project.git("switch", "-q", "topic")
    project.write("topic.txt", "topic\n")
    project.commit("on topic", "topic.txt")
    project.git("switch", "-q", "main")
    project.observe(times=2)
    landing(project, monkeypatch, lambda: project.git("switch", "-q", "topic"))
    project.memory().consolidate()
    assert project.git("ls-tree", "--name-only", "HEAD").split("\n") == [".instinct", "README.md", "topic.txt"]
    assert project.status() == ""
    assert project.confidence(KEY) == 2
    assert os.path.exists(project.root / "topic.txt")


def test_a_message_that_another_commit_emptied_is_given_again(project: Project) -> None:
    """All commits of a worktree share one message file; when somebody's commit empties ours, ours is tried again."""
    from tests.storage.test_commit_recipe import hook

    project.observe(times=2)
    hook(project, "commit-msg", 'if [ ! -e "$HOME/once" ]; then : > "$HOME/once"; : > "$1"; fi')
    project.memory().consolidate()
    assert project.git("log", "-1", "--format=%s").startswith("instinct: fold 2 observations")
    assert project.status() == ""

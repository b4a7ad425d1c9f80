"""Every order in which a person's commit and a batch can meet in one worktree, each forced step by step."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from instinct_git.storage import commits
from instinct_git.storage.git import Repository
from tests.builders import KEY, Project, first
from tests.storage.test_commit_recipe import hook

Act = Callable[[], object]


@pytest.fixture
def settled(project: Project) -> Project:
    """A memory with a folded pattern, a recorded container that the next batch removes, and evidence that waits."""
    project.write("work", "before\n")
    project.write("other", "before\n")
    project.observe(times=2)
    project.memory().consolidate()
    project.commit("files", "work", "other")
    project.observe()
    project.memory().record()
    project.observe()
    return project


def forced(monkeypatch: pytest.MonkeyPatch, **acts: Act) -> None:
    """Let each act run once: `prepared` after our tree was made, `landed` right after our commit, `staged` when the real
    index has just learned of it."""
    original, waiting = commits.git.run, dict(acts)

    def run(folder: Path, args: list[str], **options: object) -> object:
        env = options.get("env") or {}
        staging = args[0] == "update-index" and "GIT_INDEX_FILE" not in env  # type: ignore[operator]
        if args[0] == "commit":
            waiting.pop("prepared", lambda: None)()
        result = original(folder, args, **options)  # type: ignore[arg-type]
        if args[0] == "commit":
            waiting.pop("landed", lambda: None)()
        if staging:
            waiting.pop("staged", lambda: None)()
        return result

    monkeypatch.setattr(commits.git, "run", run)


def user(project: Project, name: str, *arguments: str) -> Act:
    """A person's commit of one file."""

    def act() -> None:
        project.write(name, "after\n")
        project.git("add", name)
        project.git("commit", "-q", "-m", f"user's {name}", *arguments)

    return act


def stale(project: Project, act: Act) -> Act:
    """An act of somebody whose git read the index before now and writes it back afterwards."""
    index = project.root / ".git" / "index"
    known = index.read_bytes()

    def late() -> None:
        index.write_bytes(known)
        act()

    return late


def right(project: Project, *, users: tuple[str, ...] = ("work",), confidence: int = 4) -> None:
    """Tip and index hold everything of both."""
    assert [project.git("show", f"HEAD:{name}") for name in users] == ["after"] * len(users)
    assert project.status() == ""
    listed = project.git("ls-tree", "-r", "--name-only", "HEAD", ".instinct").split("\n")
    assert listed == project.git("ls-files", ".instinct").split("\n")
    assert not [path for path in listed if path.startswith(".instinct/observations/2")]
    assert project.confidence() == confidence
    assert project.errors() == []
    project.git("fsck", "--strict")


PARTIAL = ("--", "work")
KINDS = pytest.mark.parametrize("arguments", first(1, [PARTIAL, (), ("-a",)]), ids=["partial", "as_is", "all"])


@KINDS
@pytest.mark.parametrize("when", first(2, ["prepared", "landed", "staged"]))
def test_a_commit_at_any_step(
    settled: Project, monkeypatch: pytest.MonkeyPatch, when: str, arguments: tuple[str, ...]
) -> None:
    """A person's commit of every kind at every step of a batch: nothing of either is lost at the tip."""
    forced(monkeypatch, **{when: user(settled, "work", *arguments)})
    settled.memory().consolidate()
    right(settled)


@KINDS
@pytest.mark.parametrize("when", ["landed", "staged"])
def test_a_commit_from_an_index_that_was_read_before_ours(
    settled: Project, monkeypatch: pytest.MonkeyPatch, when: str, arguments: tuple[str, ...]
) -> None:
    """Their git read the index before our commit: what their commit, or their index, took back is there at the end."""
    forced(monkeypatch, **{when: stale(settled, user(settled, "work", *arguments))})
    settled.memory().consolidate()
    right(settled)


@KINDS
def test_a_commit_that_holds_the_lock_at_our_last_look(
    settled: Project, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    """Their commit has read the old index and holds its lock while its editor is open: it is waited for."""
    lock = settled.root / ".git" / "index.lock"
    late = stale(settled, user(settled, "work", *arguments))
    forced(monkeypatch, staged=lock.touch)

    def ends(seconds: float) -> None:
        if lock.exists():
            lock.unlink()
            late()

    monkeypatch.setattr(commits.time, "sleep", ends)
    settled.memory().consolidate()
    right(settled)


@KINDS
@pytest.mark.parametrize("evidence", [0, 1], ids=["nothing new", "new evidence"])
def test_a_commit_from_an_old_index_after_the_batch_has_ended(
    settled: Project, arguments: tuple[str, ...], evidence: int
) -> None:
    """Nobody can see it coming; nothing is lost, `doctor` tells, and the next batch puts it back, whatever it is about."""
    late = stale(settled, user(settled, "work", *arguments))
    settled.memory().consolidate()
    late()
    assert ".instinct" in settled.status()
    assert [one.state for one in settled.memory().doctor() if one.topic == "last batch"] == ["notice"]
    settled.observe(times=evidence) if evidence else None
    settled.memory().consolidate()
    right(settled, confidence=4 + evidence)
    assert [one for one in settled.memory().doctor() if one.topic == "last batch"] == []


def test_a_commit_whose_editor_was_open_during_the_batch(settled: Project) -> None:
    """A real `git commit` that started right after our commit and before the index knew it ends after the batch."""
    gate, opened, ended = (settled.root.parent / name for name in ("gate", "opened", "ended"))
    for pipe in (gate, opened, ended):
        os.mkfifo(pipe)
    editor = settled.root.parent / "editor"
    editor.write_text(f'#!/bin/sh\necho > "{opened}"\ncat "{gate}" > /dev/null\necho "user\'s work" > "$1"\n')
    editor.chmod(0o755)
    settled.write("work", "after\n")
    settled.git("add", "work")
    hook(settled, "post-commit", f"""[ -e "$HOME/once" ] && exit 0; : > "$HOME/once"
(unset GIT_INDEX_FILE; GIT_EDITOR="{editor}" git commit -q; echo > "{ended}") > "$HOME/log" 2>&1 &
cat "{opened}" > /dev/null""")  # fmt: skip
    settled.memory().consolidate()
    gate.write_text("go on\n")
    ended.read_text()
    assert settled.git("log", "-1", "--format=%s") == "user's work"
    assert ".instinct" in settled.status()
    settled.memory().consolidate()
    right(settled)


@pytest.mark.parametrize("kind", ["as_is", "partial"])
def test_commits_on_both_sides_of_ours(settled: Project, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """One lands after our tree was prepared, so that ours takes it back, and another on top of ours before we look."""
    second = user(settled, "other", *(("--", "other") if kind == "partial" else ()))
    forced(monkeypatch, prepared=user(settled, "work"), landed=second)
    settled.memory().consolidate()
    right(settled, users=("work", "other"))


def test_a_change_that_was_made_again_on_top_is_left_alone(settled: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a person changed once more on top of our commit stays as they made it."""

    def once_more() -> None:
        settled.write("work", "third\n")
        settled.git("commit", "-q", "-m", "third", "--", "work")

    forced(monkeypatch, prepared=user(settled, "work"), landed=once_more)
    settled.memory().consolidate()
    assert settled.git("show", "HEAD:work") == "third"
    assert settled.status() == ""


def test_removed_and_new_files_of_a_commit_before_ours(settled: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A person's removal, rename and new file that landed while we prepared are all there, and no file comes back."""

    def act() -> None:
        settled.git("rm", "-q", "other")
        settled.git("mv", "work", "moved")
        settled.write("fresh", "new\n")
        settled.git("add", "fresh")
        settled.git("commit", "-q", "-m", "much")

    forced(monkeypatch, prepared=act)
    done = settled.memory().consolidate()
    assert settled.git("ls-tree", "--name-only", "HEAD").split("\n") == [".instinct", "README.md", "fresh", "moved"]
    assert done.commit == settled.head()
    assert settled.status() == ""


def test_a_file_that_a_hook_adds_survives_a_commit_that_is_made_again(
    settled: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Our commit is made again with everything that the person's hooks put into it."""
    landing = user(settled, "work")
    hook(settled, "pre-commit", "case $GIT_INDEX_FILE in *instinct*) echo made > made.txt; git add made.txt;; esac")
    forced(monkeypatch, prepared=landing)
    settled.memory().consolidate()
    assert settled.git("show", "HEAD:made.txt") == "made"
    assert settled.git("show", "HEAD:work") == "after"


def test_ours_is_named_although_a_hook_changed_its_tree_and_somebody_came_first(
    settled: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit that a batch returns is its own, not the person's that landed before it."""
    hook(settled, "post-commit", "case $GIT_INDEX_FILE in *instinct*) git rm -q --cached README.md;; esac")
    forced(monkeypatch, prepared=user(settled, "work"))
    done = settled.memory().consolidate()
    assert settled.git("log", "-1", "--format=%s", done.commit).startswith("instinct: ")
    assert settled.git("show", "HEAD:work") == "after"
    assert settled.git("show", "HEAD:README.md") == "# a project"


@pytest.mark.parametrize("take_back", [
    ("revert", "--no-edit", "HEAD"), ("reset", "-q", "--hard", "HEAD~1"), ("reset", "-q", "--soft", "HEAD~1"),
    ("checkout", "-q", "HEAD~1", "--", "."), ("switch", "-q", "-c", "side", "HEAD~1"),
], ids=" ".join)  # fmt: skip
def test_a_batch_that_a_person_took_back_is_not_put_back(settled: Project, take_back: tuple[str, ...]) -> None:
    """A revert, a reset, an old version checked out and another branch are a person's will and no accident."""
    settled.memory().consolidate()
    settled.git(*take_back)
    repository = Repository(settled.memory()._space.place)
    before = (settled.head(), settled.status())
    assert repository.catch_up() == []
    assert (settled.head(), settled.status()) == before


def test_a_persons_edit_staged_in_part_is_not_taken_for_an_old_index(settled: Project) -> None:
    """What a person stages of our files after a batch stays staged as it is."""
    settled.memory().consolidate()
    [path] = (settled.root / ".instinct" / "patterns").rglob("*.md")
    whole = path.read_bytes()
    path.write_bytes(whole + b"half of it\n")
    settled.git("add", str(path))
    path.write_bytes(whole + b"half of it\nand more\n")
    staged = settled.git("diff", "--cached")
    assert Repository(settled.memory()._space.place).catch_up() == []
    assert settled.git("diff", "--cached") == staged != ""


def test_a_retirement_puts_back_what_a_commit_undid_too(settled: Project) -> None:
    """Every verb that commits takes up what was undone, not the batches alone."""
    late = stale(settled, user(settled, "work"))
    settled.memory().consolidate()
    late()
    settled.memory().retire(KEY)
    right(settled)

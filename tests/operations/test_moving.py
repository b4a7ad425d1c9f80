"""A private memory: found by all of a project's worktrees and clones, also when its id changes, and moved on request."""

from __future__ import annotations

from pathlib import Path

import pytest

from instinct_git.errors import InstinctError
from instinct_git.memory import Memory
from tests.builders import KEY, Project, Ran, git, run_cli


@pytest.fixture
def private(tmp_path: Path) -> Project:
    """A project without a remote, and with a private memory that holds one rule."""
    project = Project.new(tmp_path / "project")
    project.memory().init(private=True)
    project.observe(times=10)
    project.memory().consolidate()
    return project


def found(project: Project) -> tuple[str, list[str]]:
    memory = project.memory()
    return memory.scope, [one.pattern for one in memory.suggest()]


def test_worktrees_and_clones_of_the_project_find_one_memory(private: Project) -> None:
    clone, tree = private.clone("clone"), private.worktree("tree", "topic")
    deeper = clone.clone("clone-of-clone")
    assert found(clone) == found(tree) == found(deeper) == ("private", [KEY])
    clone.observe()
    assert private.memory().show(KEY).live == 11


def test_nothing_of_it_can_reach_a_commit_of_the_project(private: Project, tmp_path: Path) -> None:
    assert private.status() == "" and not (private.root / ".instinct").exists()
    other = Project.new(tmp_path / "other")
    with pytest.raises(InstinctError, match="lies inside the project"):
        Memory(other.root, home=other.root / "home").init(private=True)


def test_a_remote_that_is_added_and_renamed_loses_nothing(private: Project, tmp_path: Path) -> None:
    clone = private.clone("clone")
    clone.observe()
    for url in ("https://example.org/team/app.git", "git@example.org:team/renamed.git"):
        private.git("remote", *(("set-url",) if private.git("remote") else ("add",)), "origin", url)
        assert found(private) == ("private", [KEY])
        fresh = Project.new(tmp_path / f"fresh-{url[:3]}")
        fresh.git("remote", "add", "origin", url)
        assert found(fresh)[0] == "global"  # nobody else knows of the former id
        (row,) = [one for one in private.memory().doctor() if one.topic == "private memory"]
        assert "other clones do not find" in row.words
        assert private.memory().move("private", go=False).moved is False
        assert found(fresh)[0] == "global"
        assert private.memory().move("private").moved
        assert found(private) == found(fresh) == found(clone) == ("private", [KEY])
        with pytest.raises(InstinctError, match="private already"):
            private.memory().move("private")
    assert private.memory().show(KEY).live == 11


@pytest.mark.slow
def test_a_clone_that_found_it_by_its_remote_finds_it_after_a_rename(private: Project, tmp_path: Path) -> None:
    private.git("remote", "add", "origin", "https://example.org/team/app.git")
    private.memory().move("private")
    clone = Project.new(tmp_path / "clone")
    clone.git("remote", "add", "origin", "https://example.org/team/app.git")
    clone.observe()
    clone.git("remote", "set-url", "origin", "https://example.org/team/new-name.git")
    assert found(clone) == ("private", [KEY])


@pytest.mark.slow
def test_into_the_repository_and_back(private: Project) -> None:
    """Every piece of evidence comes along, what waits too; the project's own files and index are untouched."""
    private.observe(note="mine")
    private.write("staged.txt", "x")
    private.git("add", "staged.txt")
    done = private.memory().move("repo")
    assert (done.moved, done.waiting, found(private)) == (True, 1, ("project", [KEY]))
    assert Path(done.source).with_name(Path(done.source).name + ".was-private").is_dir()
    private.memory().consolidate()
    assert private.confidence() == 11 and private.errors() == []
    private.observe()
    back = private.memory().move("private")
    assert back.commit and not (private.root / ".instinct").exists()
    assert private.status() == "A  staged.txt"
    assert all(path.startswith(".instinct/") for path in private.changed(back.commit))
    assert found(private) == ("private", [KEY])
    private.memory().consolidate()
    assert private.confidence() == 12
    assert [one.message for one in private.memory().check() if one.severity == "error"] == []


def test_a_memory_that_was_never_committed_moves_without_a_commit(project: Project) -> None:
    project.observe(times=3)
    before = project.commits()
    done = project.memory().move("private")
    assert (done.commit, done.waiting, project.commits(), project.status()) == ("", 3, before, "")
    assert project.memory().show(KEY).live == 3


def test_moving_wants_a_persons_yes(
    private: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def move(*args: str) -> Ran:
        return run_cli(monkeypatch, capsys, "move", *args)

    monkeypatch.chdir(private.root)
    assert move("--to", "elsewhere", "--yes").code == 2
    asked = move("--to", "repo")
    assert asked.code == 2 and "--yes" in asked.err and found(private)[0] == "private"
    assert move("--to", "repo", "--dry-run").code == 0 and found(private)[0] == "private"
    assert move("--to", "repo", "--yes", "--json").json["moved"] is True
    assert found(private)[0] == "project"


def test_there_must_be_something_to_move(tmp_path: Path) -> None:
    project = Project.new(tmp_path / "empty")
    for to, words in (("repo", "no private memory"), ("private", "no memory")):
        with pytest.raises(InstinctError, match=words):
            project.memory().move(to)
    git(tmp_path, "status", check=False)
    with pytest.raises(InstinctError, match="not in a git repository"):
        Memory(tmp_path).move("repo")

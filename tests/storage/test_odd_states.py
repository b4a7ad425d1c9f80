"""States of a repository that few people ever see: a batch is exact in them, or refused with the way out."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from instinct_git.errors import GitFailed, InstinctError, RepositoryBusy
from instinct_git.memory import Memory
from instinct_git.storage import git as storage_git
from tests.builders import KEY, Project, git
from tests.storage.test_commit_recipe import consolidated, hook
from tests.storage.test_commit_refused import accepted, refused


@pytest.mark.parametrize("options", [("--assume-unchanged",), ("--skip-worktree",)], ids=str)
def test_files_that_git_was_told_not_to_look_at(project: Project, options: tuple[str, ...]) -> None:
    """Git would commit the ledger with an old pattern file: refused, and accepted when it looks again."""
    project.observe(times=2)
    project.memory().consolidate()
    [path] = (project.root / ".instinct" / "patterns").rglob("*.md")
    project.git("update-index", *options, str(path))
    project.observe()
    with pytest.raises(RepositoryBusy) as caught:
        project.memory().consolidate()
    assert caught.value.hint
    project.git("update-index", options[0].replace("--", "--no-"), str(path))
    accepted(project, expected=3)


@pytest.mark.parametrize("name", ["SQUASH_MSG", "MERGE_MSG"])
def test_a_message_that_waits_for_the_persons_commit_is_kept(project: Project, name: str) -> None:
    """After `merge --squash` and `cherry-pick -n` git keeps a message for the next commit, which is not ours."""
    project.git("switch", "-q", "-c", "topic")
    project.write("work", "topic\n")
    project.commit("a good message", "work")
    project.git("switch", "-q", "main")
    project.git(*(("merge", "-q", "--squash", "topic") if name == "SQUASH_MSG" else ("cherry-pick", "-n", "topic")))
    waiting = (project.root / ".git" / name).read_bytes()
    project.observe(times=2)
    consolidated(project, expected=2)
    assert (project.root / ".git" / name).read_bytes() == waiting
    project.git("commit", "-q", "--no-edit")
    assert "a good message" in project.git("log", "-1", "--format=%B")
    assert not (project.root / ".git" / name).exists()


def test_a_squash_merge_with_conflicts_is_left_alone(project: Project) -> None:
    """Its unmerged entries are the person's; ours are committed beside them."""
    project.write("file", "base\n")
    project.commit("base", "file")
    project.git("switch", "-q", "-c", "topic")
    project.write("file", "topic\n")
    project.commit("topic", "file")
    project.git("switch", "-q", "main")
    project.write("file", "main\n")
    project.commit("main", "file")
    project.git("merge", "--squash", "topic", check=False)
    project.observe(times=2)
    consolidated(project, expected=2)
    assert "UU file" in project.status()


@pytest.mark.parametrize("lock", ["HEAD.lock", "refs/heads/main.lock"])
def test_a_lock_on_the_branch_that_stays_is_named(project: Project, lock: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be a leftover; only a person can tell, and the hint does not blame a hook."""
    monkeypatch.setattr(storage_git, "LOCK_SECONDS", 0.2)
    project.observe()
    file = project.root / ".git" / lock
    file.touch()
    with pytest.raises(GitFailed) as caught:
        project.memory().consolidate()
    assert str(file) in caught.value.message
    assert "remove that file yourself" in caught.value.hint
    assert file.exists()
    file.unlink()
    accepted(project, expected=1)


def test_a_lock_on_the_branch_that_goes_is_waited_for(project: Project) -> None:
    """Somebody's git holds the branch for a moment: we try again."""
    project.observe()
    lock = project.root / ".git" / "HEAD.lock"
    file = hook(
        project, "pre-commit", f'[ -e "$HOME/once" ] && rm -f "{lock}" && exit 0; : > "$HOME/once"; touch "{lock}"'
    )
    accepted(project, expected=1)
    file.unlink()


def test_a_damaged_index_is_named_by_its_own_name(project: Project) -> None:
    project.observe()
    index = project.root / ".git" / "index"
    good = index.read_bytes()
    index.write_bytes(b"garbage")
    with pytest.raises(GitFailed, match=r"\.git/index: index file smaller than expected"):
        project.memory().consolidate()
    index.write_bytes(good)
    accepted(project, expected=1)


def test_git_am_that_stopped(project: Project) -> None:
    """A patch that does not apply leaves what a rebase leaves; both are named."""
    project.write("file", "base\n")
    project.commit("base", "file")
    project.git("switch", "-q", "-c", "topic")
    project.write("file", "topic\n")
    project.commit("topic", "file")
    patch = project.git("format-patch", "-1", "--stdout")
    project.git("switch", "-q", "main")
    project.write("file", "main\n")
    project.commit("main", "file")
    project.observe(times=2)
    project.git("am", "-q", stdin=patch + "\n", check=False)
    refused(project, "git am")
    project.git("am", "--abort")
    accepted(project, expected=2)


def test_a_working_tree_elsewhere(project: Project) -> None:
    """With core.worktree the folder beside .git is none; it is not called bare."""
    project.observe()
    (project.root.parent / "tree").mkdir()
    project.git("config", "core.worktree", str(project.root.parent / "tree"))
    with pytest.raises(RepositoryBusy, match=r"core\.worktree") as caught:
        project.memory().consolidate()
    assert "core.worktree" in caught.value.hint
    subprocess.run(["git", "config", "-f", ".git/config", "--unset", "core.worktree"], cwd=project.root, check=True)
    accepted(project, expected=1)


@pytest.mark.parametrize(
    "verb", [("init",), ("observe", KEY), ("consolidate",), ("suggest",)], ids=lambda verb: verb[0]
)
def test_a_git_file_that_leads_nowhere(
    tmp_path: Path, verb: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A worktree whose main repository was moved, a submodule that is not checked out: nothing is written to there."""
    from tests.builders import run_cli

    folder, away = tmp_path / "tree", tmp_path / "away" / "worktrees" / "tree"
    folder.mkdir()
    (folder / ".git").write_text(f"gitdir: {away}\n", encoding="utf-8")
    monkeypatch.chdir(folder)
    done = run_cli(monkeypatch, capsys, *verb)
    assert (done.code, str(away) in done.err, "git worktree repair" in done.err) == (2, True, True), done
    assert not (tmp_path / "away").exists()
    assert [file.name for file in folder.iterdir()] == [".git"]


def test_a_memory_that_is_a_submodule(project: Project, tmp_path: Path) -> None:
    """What is inside belongs to another repository, into which no batch of this one can commit."""
    other = Project.new(tmp_path / "other")
    (project.root / ".instinct" / "gone").mkdir()
    subprocess.run(["rm", "-rf", str(project.root / ".instinct")], check=True)
    project.git("submodule", "add", "-q", str(other.root), ".instinct")
    project.git("commit", "-q", "-m", "a submodule")
    with pytest.raises(InstinctError, match="a git repository of its own"):
        project.memory()


def test_a_folder_that_was_deleted_under_us(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tests.builders import run_cli

    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    done = run_cli(monkeypatch, capsys, "list")
    monkeypatch.chdir(tmp_path)
    assert (done.code, "has been deleted" in done.err) == (2, True), done


@pytest.mark.parametrize("kind", ["sha256", "separate git dir", "symlinked .git", "symlinked folder", "shallow", "partial",
                                  "bisect", "orphan", "replace", "worktree config", "no hooks folder"])  # fmt: skip
def test_unusual_repositories(project: Project, tmp_path: Path, kind: str) -> None:
    """The same commit comes about, twice."""
    folder = tmp_path / "odd"
    if kind == "sha256":
        folder.mkdir()
        git(folder, "init", "-q", "--object-format=sha256")
    elif kind == "separate git dir":
        git(tmp_path, "init", "-q", "--separate-git-dir", str(tmp_path / "elsewhere.git"), str(folder))
    elif kind in ("shallow", "partial"):
        for number in range(3):
            project.write("n", f"{number}\n")
            project.commit(f"{number}", "n")
        project.git("config", "uploadpack.allowFilter", "true")
        option = ("--depth", "1") if kind == "shallow" else ("--filter=blob:none",)
        git(tmp_path, "clone", "-q", *option, f"file://{project.root}", str(folder))
    else:
        folder = project.root
    odd = Project(folder)
    if kind == "symlinked .git":
        os.rename(folder / ".git", tmp_path / "elsewhere.git")
        (folder / ".git").symlink_to(tmp_path / "elsewhere.git")
    elif kind == "symlinked folder":
        (tmp_path / "link").symlink_to(folder)
        odd = Project(tmp_path / "link")
    elif kind == "bisect":
        odd.git("commit", "-q", "--allow-empty", "-m", "two")
        odd.git("bisect", "start")
        odd.git("bisect", "bad")
    elif kind == "orphan":
        odd.git("checkout", "-q", "--orphan", "fresh")
    elif kind == "replace":
        odd.git("commit", "-q", "--allow-empty", "-m", "two")
        odd.git("replace", "--graft", "HEAD")
    elif kind == "worktree config":
        odd.git("config", "extensions.worktreeConfig", "true")
    elif kind == "no hooks folder":
        odd.git("config", "core.hooksPath", "/nonexistent")
    odd.memory().init()
    odd.observe(times=2)
    consolidated(odd, expected=2)
    odd.observe()
    consolidated(odd, expected=3)


@pytest.mark.parametrize("name", ["GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS", "GIT_GLOB_PATHSPECS", "GIT_TRACE"])
def test_variables_that_change_how_git_reads_paths(
    project: Project, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Set by a script around us they change nothing."""
    monkeypatch.setenv(name, "1")
    project.observe(times=2)
    project.memory().consolidate()
    project.observe()
    project.memory().consolidate()
    monkeypatch.delenv(name)
    assert project.confidence() == 3
    assert project.status() == ""


def test_a_filter_on_our_files_is_named(project: Project, instinct: Callable[..., Any]) -> None:
    """`*.jsonl filter=lfs` in a project's own attributes: evidence would not be in git, but elsewhere."""
    project.write(".gitattributes", "*.jsonl filter=lfs\n")
    done = instinct("doctor", "--json")
    [said] = [one for one in done.json["diagnosis"] if one["topic"] == "filter"]
    assert "lfs" in said["words"]
    project.write(".instinct/.gitattributes", "* text eol=lf -filter\n")
    assert not [one for one in instinct("doctor", "--json").json["diagnosis"] if one["topic"] == "filter"]


def test_the_memory_is_not_touched_by_opening_it(tmp_path: Path) -> None:
    """A look at a folder that is no project writes nothing anywhere."""
    (tmp_path / "plain").mkdir()
    assert Memory(tmp_path / "plain").fell_back
    assert [*(tmp_path / "plain").iterdir()] == []

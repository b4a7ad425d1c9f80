"""Where a memory cannot be: every verb says so in two lines, and nothing is written anywhere else."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from instinct_git.errors import InstinctError
from instinct_git.memory import Memory
from instinct_git.storage import files
from tests.builders import KEY, Project, git, run_cli

VERBS = (
    ("init",), ("config",), ("doctor",), ("observe", KEY), ("adjust", KEY, "1"), ("retire", KEY), ("restore", KEY),
    ("remember", "a thing"), ("feedback", KEY, "--confirm"), ("alias", KEY, "note:x"), ("record",), ("consolidate",),
    ("decay",), ("compact",), ("candidates",), ("propose", KEY), ("breakers",), ("report",), ("suggest",), ("list",),
    ("show", KEY), ("search", "test"), ("explain", KEY), ("history", KEY), ("stats",), ("check",), ("resolve",),
)  # fmt: skip


def remove(path: Path) -> None:
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.exists():
        shutil.rmtree(path)


def file_at(*names: str) -> Callable[[Path], Path]:
    """A file in the place of a folder."""

    def act(root: Path) -> Path:
        path = root.joinpath(".instinct", *names)
        remove(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("not a folder\n", encoding="utf-8")
        return path

    return act


def link_at(*names: str, to: str = "elsewhere") -> Callable[[Path], Path]:
    """A symbolic link in the place of a folder."""

    def act(root: Path) -> Path:
        path, target = root.joinpath(".instinct", *names), root.parent / to
        if to == "elsewhere":
            target.mkdir()
            (target / "patterns").mkdir()
        remove(path)
        path.symlink_to(target)
        return path

    return act


OBSTACLES = {
    "a file": file_at(),
    "patterns a file": file_at("patterns"),
    "observations a file": file_at("observations"),
    "ledger a file": file_at("ledger"),
    "patterns/seq a file": file_at("patterns", "seq"),
    "a link to outside": link_at(),
    "a link to nothing": link_at(to="nowhere"),
    "patterns a link": link_at("patterns"),
    "observations a link": link_at("observations"),
    "patterns/seq a link": link_at("patterns", "seq"),
}


def everything_below(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


EVERY_DAY = ("a link to outside", "ledger a file")
"""Of the obstacles; the others are met in the long tests."""


@pytest.mark.parametrize(
    "obstacle", [one if one in EVERY_DAY else pytest.param(one, marks=pytest.mark.slow) for one in OBSTACLES]
)
@pytest.mark.parametrize("in_git", [True, False], ids=["in git", "plain folder"])
def test_every_verb_names_what_stands_in_the_way(
    tmp_path: Path, obstacle: str, in_git: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "p"
    project = Project.new(root) if in_git else Project(root)
    root.mkdir(exist_ok=True)
    project.memory().init()
    project.observe(times=6)
    project.memory().consolidate()
    path = OBSTACLES[obstacle](root)
    monkeypatch.chdir(root)
    before = everything_below(tmp_path)
    for verb in VERBS:
        done = run_cli(monkeypatch, capsys, *verb)
        assert (done.code, done.err.count("\n")) == (2, 2), (verb, done)
        assert str(path) in done.err.split("\n")[0], (verb, done)
        assert done.err.split("\n")[1].startswith("hint: ")
    assert everything_below(tmp_path) == before


def test_a_home_that_is_a_link_is_no_obstacle(sealed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """People keep ~/.instinct in their dotfiles and link it."""
    monkeypatch.delenv("INSTINCT_HOME")
    (tmp_path / "dotfiles").mkdir()
    (sealed / ".instinct").symlink_to(tmp_path / "dotfiles")
    Memory(sealed).observe(KEY)
    assert (tmp_path / "dotfiles" / "global").is_dir()


@pytest.mark.parametrize("target", ["outside", "nothing"])
def test_links_among_the_files_are_not_read(project: Project, target: str) -> None:
    """What a linked pattern file or container leads to is not the memory's; `check` names it, nothing breaks."""
    outside = project.root.parent / "outside"
    project.observe("note:here")
    project.memory().consolidate()
    if target == "outside":
        outside.write_bytes(
            next((project.root / ".instinct/patterns").rglob("*.md")).read_bytes().replace(b"here", b"there")
        )
    for name in ("patterns/note/linked.md", "observations/20260101-aaaaaaaaaaaa.jsonl"):
        (project.root / ".instinct" / name).symlink_to(outside)
    project.observe("note:here", times=4)
    project.memory().consolidate()
    assert [one.pattern for one in project.memory().list()] == ["note:here"]
    assert [one.pattern for one in project.memory().suggest()] == ["note:here"]
    assert [one.pattern for one in project.memory().search("there")] == []
    assert project.confidence("note:here") == 5
    assert {one.rule for one in project.memory().check()} <= {"unknown-file"}


def test_a_folder_named_like_a_file_is_left_alone(project: Project) -> None:
    """Folders whose names end like those of files hold no evidence and stop nothing."""
    for name in (
        "patterns/note/x.md",
        "observations/20260101-aaaaaaaaaaaa.jsonl",
        "ledger/20260101-aaaaaaaaaaaa.jsonl",
    ):
        (project.root / ".instinct" / name).mkdir(parents=True)
    project.observe()
    project.memory().consolidate()
    assert project.confidence() == 1
    assert project.memory().stats()
    assert project.errors() == []


def test_a_config_that_is_a_folder_is_named(project: Project, instinct: Callable[..., Any]) -> None:
    (project.root / ".instinct" / "config.yaml").unlink()
    (project.root / ".instinct" / "config.yaml").mkdir()
    for verb in (("consolidate",), ("config",), ("suggest",), ("config", "levels.mature", "3")):
        done = instinct(*verb)
        assert done.code == 2, done
        assert "config.yaml" in done.err.split("\n")[0]
    assert instinct("observe", KEY).code == 0


# --- bare repositories ---------------------------------------------------------------------------------------------


def bare(tmp_path: Path, kind: str) -> Path:
    """A bare repository, a folder inside it, and the layout in which a .git file leads to one."""
    project = Project.new(tmp_path / "origin")
    if kind == "made bare":
        project.git("config", "core.bare", "true")
        return project.root
    git(tmp_path, "clone", "-q", "--bare", str(project.root), "bare.git")
    if kind == "behind a .git file":
        (tmp_path / "layout").mkdir()
        os.rename(tmp_path / "bare.git", tmp_path / "layout" / ".bare")
        (tmp_path / "layout" / ".git").write_text("gitdir: ./.bare\n", encoding="utf-8")
        return tmp_path / "layout"
    return tmp_path / "bare.git" / ("objects" if kind == "inside" else "")


@pytest.mark.parametrize("kind", ["plain", "inside", "behind a .git file", "made bare"])
def test_a_bare_repository_is_refused_with_the_way_out(
    tmp_path: Path, sealed: Path, kind: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It has no working tree: `init` writes nothing into it and no batch falls back to the global memory."""
    Memory(scope="global").observe("note:mine")
    folder = bare(tmp_path, kind)
    monkeypatch.chdir(folder)
    before = everything_below(tmp_path)
    done = run_cli(monkeypatch, capsys, "init")
    assert (done.code, "bare repository" in done.err, "worktree" in done.err) == (2, True, True), done
    if kind in ("plain", "inside"):
        for verb in VERBS:
            done = run_cli(monkeypatch, capsys, *verb)
            assert (done.code, "bare repository" in done.err, "worktree" in done.err) == (2, True, True), (verb, done)
    assert everything_below(tmp_path) == before


def test_a_worktree_of_a_bare_repository_has_a_memory(tmp_path: Path) -> None:
    """The layout of many: one bare repository, and a worktree for each branch."""
    folder = bare(tmp_path, "plain")
    git(folder, "worktree", "add", "-q", str(folder / "trees" / "main"), "main")
    tree = Project(folder / "trees" / "main")
    tree.memory().init()
    tree.observe(times=2)
    assert tree.memory().consolidate().commit == tree.head()
    assert tree.confidence() == 2


def test_inside_the_git_folder_of_a_project_its_memory_is_used(project: Project) -> None:
    """Some hooks run there."""
    assert Memory(project.root / ".git" / "objects").root == project.root


# --- memories of others outside git ----------------------------------------------------------------------------------


def plain_memory(folder: Path) -> Path:
    (folder / ".instinct" / "patterns").mkdir(parents=True)
    return folder


def owned(monkeypatch: pytest.MonkeyPatch, *others: Path) -> None:
    """Let some paths belong to another user."""
    original = files._is_ours
    monkeypatch.setattr(files, "_is_ours", lambda path: path not in others and original(path))


def test_a_plain_folder_above_is_used(tmp_path: Path) -> None:
    root = plain_memory(tmp_path / "notes")
    (root / "deep" / "er").mkdir(parents=True)
    assert Memory(root / "deep" / "er").root == root


@pytest.mark.parametrize("whose", ["the folder", "the memory", "a folder between"])
def test_a_memory_that_another_user_can_write_is_ignored_and_named(
    tmp_path: Path, whose: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever can write a memory speaks to the agent."""
    root = plain_memory(tmp_path / "notes")
    below = root / "deep" / "er"
    below.mkdir(parents=True)
    owned(monkeypatch, {"the folder": root, "the memory": root / ".instinct", "a folder between": root / "deep"}[whose])
    memory = Memory(below)
    assert memory.fell_back
    said = [one for one in memory.doctor() if str(root / ".instinct") in one.words]
    assert ["another user" in one.words for one in said] == [True]
    assert said[0].hint


def test_a_memory_of_another_user_is_not_used_in_its_own_folder_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = plain_memory(tmp_path / "notes")
    owned(monkeypatch, root / ".instinct")
    assert Memory(root).fell_back


def test_the_owner_is_the_files_owner(tmp_path: Path) -> None:
    if not hasattr(os, "getuid") or os.getuid() != 0:
        pytest.skip("only root can give files away")
    root = plain_memory(tmp_path / "notes")
    (root / "below").mkdir()
    os.chown(root / ".instinct", 12345, 12345)
    assert Memory(root / "below").fell_back
    os.environ["SUDO_UID"] = "12345"
    try:
        assert Memory(root / "below").root == root
    finally:
        del os.environ["SUDO_UID"]


def test_nothing_above_the_home_folder_is_used(sealed: Path, tmp_path: Path) -> None:
    plain_memory(tmp_path)
    (sealed / "documents").mkdir()
    memory = Memory(sealed / "documents")
    assert memory.fell_back
    assert any("outside your home" in one.words for one in memory.doctor())


def test_the_root_of_a_file_system_and_another_device_are_no_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert files._distrusted(Path("/"), Path("/tmp")) != ""
    root = plain_memory(tmp_path / "notes")
    (root / "mounted").mkdir()
    original = Path.stat

    def stat(self: Path, **options: Any) -> Any:
        found = original(self, **options)
        return os.stat_result((*found[:2], 4711, *found[3:10])) if self == root / "mounted" else found

    monkeypatch.setattr(Path, "stat", stat)
    assert files._distrusted(root, root / "mounted") == "it lies on another file system"


def test_inside_a_repository_git_says_what_belongs_together(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """There git's own safe.directory rules; a nested folder of another owner changes nothing."""
    (project.root / "deep").mkdir()
    owned(monkeypatch, project.root, project.root / ".instinct", project.root / "deep")
    assert Memory(project.root / "deep").root == project.root


def test_the_error_is_a_known_one(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / ".instinct").write_text("", encoding="utf-8")
    with pytest.raises(InstinctError) as caught:
        Memory(tmp_path / "x")
    assert caught.value.hint


def test_a_file_that_cannot_be_read_is_named_once(project: Project, instinct: Callable[..., Any]) -> None:
    """Path and line, then what is wrong with it, wherever it is told."""
    path = ".instinct/patterns/note/x.md"
    project.write(path, "no front matter\n")
    project.observe()
    for verb in (("suggest",), ("consolidate",), ("check",)):
        done = instinct(*verb)
        assert (done.out + done.err).count(path) == 1, (verb, done)
        assert f"{path}:1: " in done.out + done.err

"""Observing (law 7): in any git state, into whatever folder can be written, from any number of writers, nothing lost."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from instinct_git.core.evidence import parse_container
from instinct_git.errors import InstinctError
from instinct_git.memory import Memory
from instinct_git.storage import files, inbox
from tests.builders import KEY, Project, first, git, process

HEAVY = ("git", "mcp", "yaml", "ruamel", "frontmatter", "typer", "filelock")
# Runs the command line and says on its last line which of HEAVY the process has imported.
SPY = (
    "import sys\nfrom instinct_git.faces.entry import main\nsys.argv = ['instinct', *sys.argv[1:]]\ncode = main()\n"
    f"print('imported:', *[name for name in {HEAVY!r} if name in sys.modules])\nsys.exit(code)\n"
)


def waiting(root: Path) -> set[str]:
    """The ids in the inbox of a clone, read without git."""
    found = sorted((root / ".git" / "instinct" / "inbox").glob("*.jsonl"))
    return {one.id for file in found for one in parse_container(file.read_bytes())[0]}


def in_the_way(folder: Path) -> Path:
    """Make a folder impossible by a file of its name, for anybody, root too."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.write_bytes(b"")
    return folder


def fallback_files(project: Project) -> list[Path]:
    """The files in $INSTINCT_HOME/inbox."""
    return sorted((Path(os.environ["INSTINCT_HOME"]) / "inbox").glob("*/*.jsonl"))


def exact(project: Project, confidence: int, *, boxed_once: bool = True) -> None:
    """Everything is counted, once, and the tree is clean."""
    assert project.confidence() == confidence
    assert project.errors() == []
    assert not [line for line in project.status().splitlines() if ".instinct" in line]
    evidence = project.tree_evidence()
    assert not boxed_once or len(evidence) == len({one.id for one in evidence})


# --- every git state (case 51) --------------------------------------------------------------------------------------


def conflict(project: Project) -> None:
    project.write("README.md", "main\n")
    project.commit("main side", "README.md")
    project.git("switch", "-q", "-c", "topic", "HEAD~1")
    project.write("README.md", "topic\n")
    project.commit("topic side", "README.md")
    project.git("switch", "-q", "main")


def merging(project: Project) -> list[str]:
    conflict(project)
    project.git("merge", "topic", check=False)
    assert (project.root / ".git/MERGE_HEAD").exists()
    return ["merge", "--abort"]


def rebasing(project: Project) -> list[str]:
    conflict(project)
    project.git("rebase", "topic", check=False)
    assert (project.root / ".git/rebase-merge").exists()
    return ["rebase", "--abort"]


def picking(project: Project) -> list[str]:
    conflict(project)
    project.git("cherry-pick", "topic", check=False)
    assert (project.root / ".git/CHERRY_PICK_HEAD").exists()
    return ["cherry-pick", "--abort"]


def reverting(project: Project) -> list[str]:
    conflict(project)
    project.git("revert", "--no-edit", "topic", check=False)
    assert (project.root / ".git/REVERT_HEAD").exists()
    return ["revert", "--abort"]


def bisecting(project: Project) -> list[str]:
    conflict(project)
    project.git("bisect", "start", "-q", "HEAD", "HEAD~1")
    return ["bisect", "reset"]


def detached(project: Project) -> list[str]:
    project.git("checkout", "-q", "--detach")
    return ["switch", "-q", "main"]


def unborn(project: Project) -> list[str]:
    project.git("switch", "-q", "--orphan", "fresh")
    return ["switch", "-q", "main"]


@pytest.mark.parametrize("enter", [merging, rebasing, picking, reverting, bisecting, detached, unborn])
def test_observe_in_every_git_state(project: Project, enter: Callable[[Project], list[str]]) -> None:
    leave = enter(project)
    before = project.status(), project.git("rev-parse", "-q", "--verify", "HEAD", check=False)
    ran = process(project.root, "observe", KEY, "--session", "s1")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == f"observed {KEY}  conf=1\n"
    assert len(waiting(project.root)) == 1
    assert (project.status(), project.git("rev-parse", "-q", "--verify", "HEAD", check=False)) == before
    project.git(*leave)
    project.memory().consolidate()
    exact(project, 1)


@pytest.mark.parametrize("lock", ["index.lock", "HEAD.lock", "config.lock", "refs/heads/main.lock"])
def test_observe_works_while_git_holds_a_lock(project: Project, lock: str) -> None:
    held = project.root / ".git" / lock
    held.write_bytes(b"")
    project.observe()
    assert len(waiting(project.root)) == 1
    assert held.read_bytes() == b""


def test_observe_works_where_there_is_no_git_binary(project: Project, tmp_path: Path) -> None:
    (tmp_path / "nothing").mkdir()
    ran = process(project.root, "observe", KEY, env={"PATH": str(tmp_path / "nothing")})
    assert (ran.code, ran.out, ran.err) == (0, f"observed {KEY}  conf=1\n", "")
    project.memory().consolidate()
    exact(project, 1)


@pytest.mark.parametrize("content", [b"", b"\x00\xff not a head", b"ref: refs/heads/../../x\n"])
def test_observe_works_with_a_corrupt_head(project: Project, content: bytes) -> None:
    head = project.root / ".git" / "HEAD"
    kept = head.read_bytes()
    head.write_bytes(content)
    project.observe()
    assert len(waiting(project.root)) == 1
    head.write_bytes(kept)
    project.memory().consolidate()
    exact(project, 1)


def test_observe_in_a_linked_worktree_uses_the_inbox_of_the_clone(project: Project) -> None:
    project.memory().record()
    side = project.worktree("side", "side")
    side.observe()
    assert len(waiting(project.root)) == 1
    project.git("worktree", "remove", "--force", str(side.root))
    project.memory().consolidate()
    exact(project, 1)


def test_observe_outside_repo(tmp_path: Path) -> None:
    """Without a project the user's global memory takes it (case 52)."""
    outside = tmp_path / "outside"
    outside.mkdir()
    ran = process(outside, "observe", KEY)
    assert ran.code == 0
    assert "global" in ran.err
    assert Memory(outside, scope="global").show(KEY).live == 1
    assert list(outside.iterdir()) == []


# --- folders that cannot be written ---------------------------------------------------------------------------------


def refuse(monkeypatch: pytest.MonkeyPatch, *folders: Path) -> None:
    """Let files.create refuse these folders as a read-only mount does."""
    real = files.create

    def create(path: Path, content: bytes) -> None:
        if any(folder in path.parents for folder in folders):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        real(path, content)

    monkeypatch.setattr(files, "create", create)


@pytest.mark.parametrize("how", ["a file", "no permission"])
def test_observe_falls_back_to_the_users_home_when_git_is_read_only(
    project: Project, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    with monkeypatch.context() as patch:
        blocker = project.root / ".git" / "instinct" / "inbox"
        refuse(patch, project.root / ".git") if how == "no permission" else in_the_way(blocker)
        project.observe(session="s1", note="kept in my clone")
        assert waiting(project.root) == set()
        assert len(fallback_files(project)) == 1
        assert project.memory().show(KEY).live == 1
    if blocker.is_file():
        blocker.unlink()
    project.observe()
    assert project.memory().show(KEY).live == 2
    result = project.memory().consolidate()
    assert (result.recorded, fallback_files(project)) == (2, [])
    exact(project, 2)


def test_without_a_home_either_the_tree_takes_it_without_time_and_note(project: Project) -> None:
    project.memory().record()
    blockers = [
        in_the_way(project.root / ".git/instinct/inbox"),
        in_the_way(Path(os.environ["INSTINCT_HOME"]) / "inbox"),
    ]
    project.observe(session="s1", context="web", note="not for the others")
    (one,) = project.tree_evidence()
    assert (one.note, one.ctx, one.at) == ("", "web", f"{one.id[:4]}-{one.id[4:6]}-{one.id[6:8]}")
    assert one.s
    assert project.memory().show(KEY).live == 1
    for blocker in blockers:
        blocker.unlink()
    result = project.memory().record()
    assert result.commit == project.head()
    assert project.tree_ids() == {one.id}
    project.memory().consolidate()
    exact(project, 1)


def test_when_no_folder_can_be_written_the_error_names_each_and_nothing_is_left(
    project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = sorted(tmp_path.rglob("*"))
    with monkeypatch.context() as patch:
        refuse(patch, tmp_path)
        with pytest.raises(InstinctError) as caught:
            project.observe()
    for folder in (project.root / ".git/instinct/inbox", Path(os.environ["INSTINCT_HOME"]), project.root / ".instinct"):
        assert str(folder) in caught.value.message
    assert caught.value.hint
    assert [path for path in sorted(tmp_path.rglob("*")) if path not in before and not path.is_dir()] == []
    project.observe()
    assert len(waiting(project.root)) == 1


def test_what_went_to_the_home_is_found_after_a_remote_was_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The project id changes from the path's to the remote's; nobody may have noted the first one."""
    project = Project.new(tmp_path / "bare-bones")
    project.memory().init()
    (project.root / ".git/instinct/project-id").unlink()
    with monkeypatch.context() as patch:
        refuse(patch, project.root / ".git")
        project.observe()
        first = files.project_id(files.locate(project.root, files.instinct_home()))
        project.git("remote", "add", "origin", "git@example.org:team/project.git")
        assert files.project_id(files.locate(project.root, files.instinct_home())) != first
        project.observe()
    assert len({path.parent for path in fallback_files(project)}) == 2
    assert project.memory().show(KEY).live == 2
    project.memory().consolidate()
    exact(project, 2)


@pytest.mark.parametrize("top", [".", ".."])
def test_what_a_plain_folder_observed_is_found_after_git_init(tmp_path: Path, top: str) -> None:
    folder = tmp_path / "work" / "plain"
    folder.mkdir(parents=True)
    memory = Memory(folder)
    memory.init()
    memory.observe(KEY, session="s1", note="before git")
    repository = (folder / top).resolve()
    git(repository, "init", "-q")
    git(repository, "commit", "-q", "--allow-empty", "-m", "new")
    project = Project(folder)
    project.observe()
    assert project.memory().show(KEY).live == 2
    project.memory().consolidate()
    exact(project, 2)


@pytest.mark.parametrize("after", [0, 10])
def test_a_full_disk_is_an_error_that_leaves_no_partial_file(
    project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, after: int
) -> None:
    before = {path for path in tmp_path.rglob("*") if not path.is_dir()}
    real = os.write

    def write(handle: int, data: Any) -> int:
        if after and len(data) > after:
            return real(handle, data[:after])
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", write)
        with pytest.raises(InstinctError, match="No space left on device"):
            project.observe(session="s1")
    assert {path for path in tmp_path.rglob("*") if not path.is_dir()} == before
    project.observe(session="s1")
    project.memory().consolidate()
    exact(project, 1)


# --- many writers ---------------------------------------------------------------------------------------------------


def test_20_processes_at_once_are_all_kept(project: Project) -> None:
    args = [sys.executable, "-m", "instinct_git", "observe", KEY, "--session", "one"]
    running = [subprocess.Popen(args, cwd=project.root, stdout=subprocess.PIPE) for _ in range(20)]
    assert [child.wait(60) for child in running if child.communicate(timeout=60)] == [0] * 20
    found = inbox.read(files.locate(project.root, files.instinct_home())).evidence
    assert len({one.id for one in found}) == 20
    assert len({one.s for one in found}) == 1
    project.memory().consolidate()
    exact(project, 3)  # one session counts three times
    assert len(project.tree_ids()) == 20


@pytest.mark.parametrize("attempt", first(4, range(10)))
def test_20_threads_at_once_agree_on_the_clones_secret(project: Project, attempt: int) -> None:
    """The first to come makes the secret; two secrets would give one session two names, and so two caps."""
    with ThreadPoolExecutor(20) as pool:
        done = list(pool.map(lambda _: project.memory().observe(KEY, session="one"), range(20)))
    assert len({one.id for one in done}) == 20
    found = inbox.read(files.locate(project.root, files.instinct_home())).evidence
    assert {one.id for one in found} == {one.id for one in done}
    assert len({one.s for one in found}) == 1
    state = project.root / ".git" / "instinct"
    assert [path.name for path in state.rglob("*.tmp")] == []
    assert (state / "secret").stat().st_mode & 0o077 == 0 or os.name == "nt"


def test_a_process_observes_while_another_consolidates_and_nothing_is_lost_or_twice(project: Project) -> None:
    code = (
        "import sys\nfrom instinct_git.memory import Memory\nmemory = Memory(sys.argv[1])\n"
        "for n in range(60):\n    memory.observe('seq:test->fix->test', session=str(n))\n"
    )
    writers = [subprocess.Popen([sys.executable, "-c", code, str(project.root)]) for _ in range(2)]
    batches = 0
    while any(child.poll() is None for child in writers):
        batches += bool(project.memory().consolidate().commit)
    assert [child.wait(60) for child in writers] == [0, 0]
    project.memory().consolidate()
    assert batches >= 1
    assert len(project.tree_ids()) == 120
    assert waiting(project.root) == set()
    exact(project, 120)


# --- what observing may cost (case 53) ------------------------------------------------------------------------------


@pytest.fixture
def marked_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A `git` first on PATH that only leaves a mark; returns where the mark would be."""
    folder, marker = tmp_path / "fake", tmp_path / "git-was-started"
    folder.mkdir()
    fake = folder / "git"
    fake.write_text(f"#!/bin/sh\n: > '{marker}'\nexit 1\n", encoding="utf-8")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    assert subprocess.run(["git", "status"], check=False).returncode == 1
    marker.unlink()
    return marker


@pytest.mark.parametrize("verb", [["observe", KEY, "--session", "s", "--note", "n"], ["suggest"]])
@pytest.mark.parametrize("state", ["fresh", "consolidated"])
def test_observe_and_suggest_start_no_git_and_import_nothing_heavy(
    project: Project, request: pytest.FixtureRequest, verb: list[str], state: str
) -> None:
    if state == "consolidated":
        project.observe(times=6)
        project.memory().consolidate()
        project.memory().suggest()
    marker = request.getfixturevalue("marked_git")
    done = subprocess.run(
        [sys.executable, "-c", SPY, *verb], cwd=project.root, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].strip() == "imported:"
    assert not marker.exists()

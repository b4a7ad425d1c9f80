"""`observe` works in every git state, without git, without a writable .git, and costs nothing it does not need."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from instinct_git.core.evidence import parse_container
from instinct_git.errors import InstinctError
from instinct_git.storage import files
from tests.builders import KEY, Project, git, process


def conflict(project: Project) -> None:
    project.write("file", "base\n")
    project.commit("base", "file")
    project.git("switch", "-q", "-c", "topic")
    project.write("file", "topic\n")
    project.commit("topic", "file")
    project.git("switch", "-q", "main")
    project.write("file", "main\n")
    project.commit("main", "file")


def merging(project: Project) -> None:
    conflict(project)
    project.git("merge", "topic", check=False)


def rebasing(project: Project) -> None:
    conflict(project)
    project.git("rebase", "topic", check=False)


def cherry_picking(project: Project) -> None:
    conflict(project)
    project.git("cherry-pick", "topic", check=False)


def detached(project: Project) -> None:
    project.git("switch", "-q", "--detach")


def unborn(project: Project) -> None:
    project.git("switch", "-q", "--orphan", "empty")


def locked_index(project: Project) -> None:
    (project.root / ".git" / "index.lock").touch()


def locked_refs(project: Project) -> None:
    (project.root / ".git" / "HEAD.lock").touch()


def broken_index(project: Project) -> None:
    (project.root / ".git" / "index").write_bytes(b"not an index")


def broken_config(project: Project) -> None:
    (project.root / ".git" / "config").write_bytes(b"[core\nnonsense")


def batch_running(project: Project) -> None:
    from filelock import FileLock

    state = project.root / ".git" / "instinct"
    state.mkdir(exist_ok=True)
    project.held = FileLock(state / "batch.lock")  # type: ignore[attr-defined]
    project.held.acquire()  # type: ignore[attr-defined]


@pytest.mark.parametrize("state", [
    merging, rebasing, cherry_picking, detached, unborn, locked_index, locked_refs, broken_index, broken_config, batch_running,
])  # fmt: skip
def test_observe_in_every_git_state(project: Project, state: Callable[[Project], None]) -> None:
    """Whatever git is in the middle of, an observation is written and counted at once."""
    state(project)
    ran = process(project.root, "observe", KEY)
    assert (ran.code, ran.out, ran.err) == (0, f"observed {KEY}  conf=1\n", "")
    [written] = (project.root / ".git" / "instinct" / "inbox").glob("*.jsonl")
    assert [one.p for one in parse_container(written.read_bytes())[0]] == [KEY]


@pytest.mark.parametrize("kind", ["linked", "submodule", "subdirectory"])
def test_observe_in_every_kind_of_working_tree(project: Project, tmp_path: Path, kind: str) -> None:
    """Linked worktrees share the clone's inbox; a submodule has its own; a subdirectory belongs to its tree."""
    if kind == "submodule":
        library = Project.new(tmp_path / "library")
        library.memory().init()
        library.commit("memory")
        project.git("submodule", "add", "-q", str(library.root), "lib")
        place, inbox = project.root / "lib", project.root / ".git" / "modules" / "lib" / "instinct" / "inbox"
    else:
        project.commit("memory", ".instinct")
        inbox = project.root / ".git" / "instinct" / "inbox"
        place = project.worktree("linked", "topic").root if kind == "linked" else project.root / "src" / "deep"
        place.mkdir(parents=True, exist_ok=True)
    assert process(place, "observe", KEY).code == 0
    assert len(list(inbox.glob("*.jsonl"))) == 1


def test_observe_without_a_git_binary(project: Project, tmp_path: Path) -> None:
    """Observing and suggesting need no git program at all."""
    empty = tmp_path / "bin"
    empty.mkdir()
    ran = process(project.root, "observe", KEY, env={"PATH": str(empty)})
    assert (ran.code, ran.err) == (0, "")
    assert process(project.root, "suggest", env={"PATH": str(empty)}).code == 0
    ran = process(project.root, "consolidate", env={"PATH": str(empty)})
    assert ran.code == 2
    assert ran.err.startswith("error: git ")
    assert project.memory().consolidate().recorded == 1


def test_read_only_git_falls_back_to_the_users_home(project: Project, sealed: Path) -> None:
    """A sandbox that keeps .git from being written sends the evidence to $INSTINCT_HOME, and a batch finds it."""
    state = project.root / ".git" / "instinct"
    noted = state / "project-id"
    identity = noted.read_text(encoding="ascii") if noted.exists() else ""
    (state / "inbox").write_bytes(b"")  # a file where the folder should be: root, too, cannot write into it
    project.observe(times=2)
    [folder] = (sealed / ".instinct" / "inbox").iterdir()
    assert len(list(folder.glob("*.jsonl"))) == 2
    assert not identity or folder.name == identity
    (state / "inbox").unlink()
    assert project.memory().consolidate().recorded == 2
    assert project.confidence() == 2
    assert list(folder.glob("*.jsonl")) == []
    assert project.status() == ""


def refuse(monkeypatch: pytest.MonkeyPatch, *folders: Path) -> None:
    """Let files.create be forbidden below some folders, as permissions would (root is not bound by those)."""
    original = files.create

    def create(path: Path, content: bytes) -> None:
        if any(folder in path.parents for folder in folders):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        original(path, content)

    monkeypatch.setattr(files, "create", create)


def test_read_only_git_and_home_fall_back_to_the_tree(
    project: Project, sealed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When neither .git nor $INSTINCT_HOME can be written, a new file in .instinct/observations takes the evidence."""
    refuse(monkeypatch, project.root / ".git", sealed)
    project.observe(note="not to be published")
    monkeypatch.undo()
    [written] = (project.root / ".instinct" / "observations").glob("*.jsonl")
    [one] = parse_container(written.read_bytes())[0]
    assert (one.p, one.note, len(one.at)) == (KEY, "", 10)


def test_nothing_writable_is_an_error_in_two_lines(
    project: Project, sealed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When no folder can be written the error names each and says what to do; no file is left behind."""
    refuse(monkeypatch, project.root, sealed)
    with pytest.raises(InstinctError) as caught:
        project.observe()
    assert caught.value.message.count("Permission denied") >= 3
    assert caught.value.hint


def test_full_disk(project: Project, sealed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a full disk the error is known, and no half-written file stays."""
    before = {path for base in (project.root, sealed) for path in base.rglob("*") if path.is_file()}

    def write(handle: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "write", write)
        with pytest.raises(InstinctError) as caught:
            project.observe()
    assert "No space left on device" in caught.value.message
    assert "\n" not in caught.value.message + caught.value.hint
    after = {path for base in (project.root, sealed) for path in base.rglob("*") if path.is_file()}
    assert after == before


def test_full_disk_during_a_batch_puts_everything_back(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch that cannot write its files leaves the tree as it was and the evidence in the inbox."""
    project.observe(times=2)
    project.memory().consolidate()
    project.observe(times=2)
    real, left = os.write, 0

    def write(handle: int, data: bytes) -> int:
        nonlocal left
        left -= 1
        if left < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(handle, data)

    for allowed in range(8):
        left = allowed
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "write", write)
            try:
                project.memory().consolidate()
            except InstinctError as problem:
                assert "No space left" in problem.message
                assert project.status() == ""
                assert len(project.inbox_files()) == 2
                continue
            break
    project.memory().consolidate()
    assert project.confidence() == 4
    assert project.status() == ""
    assert not list((project.root / ".instinct").rglob("*.tmp"))


def test_20_processes_at_once(project: Project) -> None:
    """Twenty processes observe at the same moment: every observation is kept, each under its own id."""
    running = [
        subprocess.Popen([sys.executable, "-m", "instinct_git", "observe", KEY, "--session", f"s{n}"], cwd=project.root,
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        for n in range(20)
    ]  # fmt: skip
    assert [one.communicate()[1] for one in running] == [b""] * 20
    project.memory().consolidate()
    assert len(project.tree_ids()) == 20
    assert len({one.s for one in project.tree_evidence()}) == 20
    assert project.confidence() == 20


def test_threads_that_need_the_secret_at_once_get_the_same(project: Project) -> None:
    """Many first observations of one process at once make one secret, so a session has one code."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda _: project.memory().observe(KEY, session="one"), range(32)))
    codes = {one.s for file in project.inbox_files() for one in parse_container(file.read_bytes())[0]}
    assert len(codes) == 1


HEAVY = ("git", "mcp", "yaml", "ruamel", "typer", "frontmatter", "filelock", "subprocess")


@pytest.mark.parametrize("arguments", [("observe", KEY, "--session", "s"), ("observe", KEY, "--json"), ("suggest",)])
def test_observe_and_suggest_start_no_process_and_import_nothing_heavy(
    project: Project, arguments: tuple[str, ...]
) -> None:
    """The two verbs that agents call hundreds of times a day load neither git nor a framework and start no process."""
    project.observe(times=6)
    project.memory().consolidate()
    project.memory().suggest()
    script = f"""
import sys
started = []
sys.addaudithook(lambda name, details: started.append(name) if name in ("subprocess.Popen", "os.exec", "os.posix_spawn",
                 "os.fork", "os.forkpty", "os.system", "os.spawn", "socket.connect") else None)
sys.argv = ["instinct", *{list(arguments)!r}]
from instinct_git.faces.entry import main
code = main()
print([name for name in {HEAVY!r} if name in sys.modules], started, code, file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=project.root, capture_output=True, text=True)
    assert done.stderr == "[] [] 0\n"
    assert KEY in done.stdout


def test_observe_outside_a_repository_goes_to_the_global_memory_and_says_so(tmp_path: Path, sealed: Path) -> None:
    """Where there is no memory at all the user's own takes the evidence."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    ran = process(folder, "observe", KEY)
    assert ran.code == 0
    assert "global" in ran.err
    assert process(folder, "consolidate").code == 0
    assert git(sealed / ".instinct" / "global", "status", "--porcelain") == ""


def test_inbox_survives_clean_stash_and_worktree_removal(project: Project) -> None:
    """What is not committed yet does not lie in the working tree, so cleaning it loses nothing."""
    project.memory().consolidate()
    linked = project.worktree("linked", "topic")
    linked.observe()
    project.git("worktree", "remove", "--force", str(linked.root))
    project.observe()
    project.git("stash", "-u", "-q", check=False)
    project.git("clean", "-fdxq")
    project.git("checkout", "-q", "-f", "main")
    project.memory().consolidate()
    assert project.confidence() == 2


@pytest.mark.parametrize("text", ["nope: 1\n", "version: 2\n", "{broken\n", "levels: 3\n", "\x00"])
def test_a_broken_config_does_not_stop_observing(project: Project, text: str) -> None:
    """The evidence is kept without a live value; every other verb names what is wrong."""
    before = project.read(".instinct/config.yaml")
    project.write(".instinct/config.yaml", text)
    assert project.memory().observe(KEY).live is None
    with pytest.raises(InstinctError):
        project.memory().suggest()
    project.write(".instinct/config.yaml", before)
    assert project.memory().consolidate().folded == 1

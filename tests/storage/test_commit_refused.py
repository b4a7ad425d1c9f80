"""States in which no batch may be committed: refused with what to do, nothing changed, no evidence lost."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from instinct_git.errors import GitFailed, InstinctError, RepositoryBusy
from instinct_git.storage import commits
from instinct_git.storage import git as storage_git
from tests.builders import Project, first, process
from tests.storage.test_commit_recipe import hook


def everything(project: Project) -> dict[str, bytes]:
    """Every file of the working tree, the inbox, the index, HEAD and the refs, by path."""
    wanted: dict[str, bytes] = {}
    for file in sorted(project.root.rglob("*")):
        inside = file.relative_to(project.root).as_posix()
        private = inside.startswith(".git/") and not inside.startswith((".git/instinct/inbox", ".git/refs"))
        if file.is_file() and not private and inside != ".git":
            wanted[inside] = file.read_bytes()
    wanted["index"] = project.git("ls-files", "-s", "-t", check=False).encode("utf-8", "surrogateescape")
    wanted["status"] = project.status().encode("utf-8", "surrogateescape")
    wanted["head"] = project.git("rev-parse", "HEAD", check=False).encode("ascii", "replace")
    return wanted


def refused(project: Project, says: str, kind: type[InstinctError] = RepositoryBusy) -> InstinctError:
    """Try to consolidate: refused with these words and a hint, and not a file is different."""
    before = everything(project)
    with pytest.raises(kind) as caught:
        project.memory().consolidate()
    assert says in caught.value.message
    assert caught.value.hint
    assert everything(project) == before
    assert (
        not list((project.root / ".git").glob("**/*.lock"))
        or (project.root / ".git" / "instinct" / "batch.lock").exists()
    )
    return caught.value


def accepted(project: Project, *, expected: int) -> None:
    """The same batch goes through afterwards and is exact."""
    assert project.memory().consolidate().commit == project.head()
    assert project.confidence() == expected
    assert ".instinct" not in project.status()
    assert project.errors() == []


def divided(project: Project) -> Project:
    """Two branches that change one line of `file` differently; `main` is checked out."""
    project.write("file", "base\n")
    project.commit("base", "file")
    project.git("switch", "-q", "-c", "topic")
    project.write("file", "topic\n")
    project.commit("topic", "file")
    project.git("switch", "-q", "main")
    project.write("file", "main\n")
    project.commit("main", "file")
    project.observe(times=3)
    return project


def test_detached_refused(project: Project) -> None:
    """With a detached HEAD the commit would be easy to lose: refused, and accepted on the branch."""
    project.observe(times=2)
    project.git("switch", "-q", "--detach")
    assert "branch" in refused(project, "HEAD is detached").hint
    project.git("switch", "-q", "main")
    accepted(project, expected=2)


@pytest.mark.parametrize("state", ["merge_conflict", "merge_no_commit", "cherry_pick", "revert", "rebase_conflict"])
def test_operation_in_progress_refused(project: Project, state: str) -> None:
    """A merge, cherry-pick, revert or rebase in progress belongs to the user; the evidence is kept for afterwards."""
    divided(project)
    if state == "merge_conflict":
        project.git("merge", "topic", check=False)
    elif state == "merge_no_commit":
        project.git("merge", "--no-commit", "-s", "ours", "topic")
    elif state == "cherry_pick":
        project.git("cherry-pick", "topic", check=False)
    elif state == "revert":
        project.git("revert", "HEAD~1", check=False)
    else:
        project.git("rebase", "topic", check=False)
    name = state.split("_")[0]
    refused(project, {"merge": "a merge", "cherry": "a cherry-pick", "revert": "a revert", "rebase": "a rebase"}[name])
    assert len(project.inbox_files()) == 3
    project.git("rebase" if name == "rebase" else {"cherry": "cherry-pick"}.get(name, name), "--abort")
    accepted(project, expected=3)


def test_rebase_edit_refused(project: Project) -> None:
    """A rebase that stopped to edit a commit takes no commit of ours; the evidence is kept."""
    divided(project)
    project.git("rebase", "-i", "HEAD~1", env={"GIT_SEQUENCE_EDITOR": "sed -i s/^pick/edit/"})
    refused(project, "a rebase is in progress")
    project.git("rebase", "--continue", env={"GIT_EDITOR": "true"})
    accepted(project, expected=3)


def test_merge_conflict_in_our_files_refused(project: Project) -> None:
    """Unmerged entries of .instinct without a merge (a stash that did not apply) are for a person."""
    project.observe()
    project.memory().consolidate()
    [path] = (project.root / ".instinct" / "patterns").rglob("*.md")
    path.write_bytes(path.read_bytes().replace(b"title:", b"title: mine #"))
    project.git("stash", "-q")
    path.write_bytes(path.read_bytes().replace(b"title:", b"title: other #"))
    project.commit("other", ".instinct")
    project.git("stash", "pop", check=False)
    project.observe()
    refused(project, "merge conflicts")


def test_bare_repo_refused(project: Project) -> None:
    """A repository that was made bare has no working tree to commit from."""
    project.observe()
    project.git("config", "core.bare", "true")
    with pytest.raises(RepositoryBusy, match="bare repository"):
        project.memory().consolidate()
    project.git("config", "core.bare", "false")
    accepted(project, expected=1)


def test_sparse_checkout_hides_instinct_refused(project: Project) -> None:
    """Where a sparse checkout leaves .instinct out no deletion is ever recorded."""
    project.observe(times=2)
    project.memory().consolidate()
    project.write("a/one", "1\n")
    project.commit("a", "a")
    project.git("sparse-checkout", "set", "--no-cone", "/a/", "/.instinct/observations/")
    assert not (project.root / ".instinct" / "ledger").exists()
    project.observe()
    assert "sparse-checkout add" in refused(project, "sparse checkout").hint
    project.git("sparse-checkout", "add", ".instinct")
    accepted(project, expected=3)


@pytest.mark.parametrize("rule", [".instinct/", ".instinct", "*", ".instinct/patterns/"])
def test_instinct_ignored_refused(project: Project, rule: str) -> None:
    """Where git ignores .instinct nothing is committed behind the rule's back."""
    project.observe()
    (project.root / ".git" / "info").mkdir(exist_ok=True)
    exclude = project.root / ".git" / "info" / "exclude"
    exclude.write_text(f"{rule}\n", encoding="utf-8")
    assert "--private" in refused(project, "ignored by git").hint
    exclude.write_text("", encoding="utf-8")
    accepted(project, expected=1)


def test_no_identity(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an identity git's own hint is shown; none is ever invented. INSTINCT_AUTHOR gives one."""
    project.git("config", "--global", "--unset", "user.name")
    project.git("config", "--global", "--unset", "user.email")
    project.git("config", "--global", "user.useConfigOnly", "true")
    project.observe()
    assert "user.email" in refused(project, "does not know who you are", GitFailed).hint
    assert project.git("config", "--get", "user.name", check=False) == ""
    monkeypatch.setenv("INSTINCT_AUTHOR", "Bot Example <bot@example.org>")
    accepted(project, expected=1)
    assert project.git("log", "-1", "--format=%an %ae %cn") == "Bot Example bot@example.org Bot Example"


@pytest.mark.parametrize("name", ["pre-commit", "prepare-commit-msg", "commit-msg"])
def test_hook_fails(project: Project, name: str) -> None:
    """When a hook says no, index, working tree and inbox are as before, and a later run succeeds."""
    project.observe(times=2)
    project.memory().record()
    project.observe()
    project.write("staged", "mine\n")
    project.git("add", "staged")
    file = hook(project, name, "echo the hook says no >&2; exit 1")
    assert "the hook says no" in refused(project, "git commit was refused", GitFailed).message
    file.unlink()
    accepted(project, expected=3)
    assert project.status() == "A  staged"


def test_hook_that_speaks_of_a_lock_file_is_run_once(project: Project) -> None:
    """`poetry.lock is out of date` is a refusal and no lock to wait for."""
    project.observe()
    hook(project, "pre-commit", 'echo run >> "$HOME/runs"; echo "poetry.lock is out of date" >&2; exit 1')
    refused(project, "poetry.lock", GitFailed)
    assert (Path.home() / "runs").read_text(encoding="utf-8") == "run\n"


def test_a_persons_edit_after_a_refused_batch_is_not_swept_into_the_next(project: Project) -> None:
    """A batch that was put back leaves no claim on the files it had wanted to write."""
    project.observe("note:one")
    project.memory().consolidate()
    project.observe("note:one")
    file = hook(project, "pre-commit", "exit 1")
    refused(project, "git commit was refused", GitFailed)
    file.unlink()
    for inbox in project.inbox_files():
        inbox.unlink()
    [path] = (project.root / ".instinct" / "patterns").rglob("*.md")
    path.write_bytes(path.read_bytes() + b"my own words, not ready yet\n")
    project.observe("note:two")
    done = project.memory().consolidate()
    assert path.relative_to(project.root).as_posix() not in project.changed(done.commit)


def test_gpg_broken(project: Project) -> None:
    """When signing fails there is an error and no unsigned commit."""
    project.git("config", "commit.gpgsign", "true")
    project.git("config", "gpg.program", "/bin/false")
    project.observe()
    refused(project, "could not sign", GitFailed)
    project.git("config", "--unset", "commit.gpgsign")
    accepted(project, expected=1)


@pytest.mark.parametrize("script", first(1, ["(sleep 1000); true", "exec sleep 1000", "sleep 1000"]))
def test_signing_hangs(project: Project, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """A hook (or a passphrase prompt) that never ends is stopped at the time limit with all it started."""
    monkeypatch.setattr(storage_git, "COMMIT_SECONDS", 1.0)
    project.observe()
    file = hook(project, "pre-commit", f'echo $$ > "$HOME/pid"\n{script}')
    refused(project, "did not end within 1 seconds", GitFailed)
    assert not list((project.root / ".git").glob("*.lock"))
    assert not list((project.root / ".git" / "instinct").glob("index.*"))
    pid = int((Path.home() / "pid").read_text(encoding="utf-8"))
    status = Path(f"/proc/{pid}/stat")
    assert not status.exists() or status.read_text(encoding="utf-8").split(") ")[1][0] == "Z"
    file.unlink()
    monkeypatch.setattr(storage_git, "COMMIT_SECONDS", 60.0)
    accepted(project, expected=1)


def test_post_commit_hook_that_hangs_does_not_undo_the_commit(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the commit is made a hanging hook is stopped, and the batch is what it is: committed."""
    monkeypatch.setattr(storage_git, "COMMIT_SECONDS", 1.5)
    project.observe(times=2)
    hook(project, "post-commit", "sleep 1000")
    accepted(project, expected=2)


def test_index_lock_held_for_a_moment(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """While another git command holds the index we wait; the moment it lets go we commit."""
    project.observe(times=2)
    lock = project.root / ".git" / "index.lock"
    lock.touch()
    waiting = threading.Event()
    original = commits.time.sleep

    def noticed(seconds: float) -> None:
        waiting.set()
        original(seconds)

    monkeypatch.setattr(commits.time, "sleep", noticed)

    def let_go() -> None:
        waiting.wait(30)
        lock.unlink()

    other = threading.Thread(target=let_go)
    other.start()
    accepted(project, expected=2)
    other.join()
    assert waiting.is_set()


def test_index_lock_stale(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock that stays is named with its age and never removed by us."""
    monkeypatch.setattr(storage_git, "LOCK_SECONDS", 0.2)
    project.observe()
    lock = project.root / ".git" / "index.lock"
    lock.touch()
    problem = refused(project, str(lock))
    assert "seconds" in problem.message
    assert lock.exists()
    lock.unlink()
    accepted(project, expected=1)


def test_index_locked_after_the_commit(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the real index cannot be refreshed the commit stands, and the next batch catches the index up."""
    monkeypatch.setattr(storage_git, "LOCK_SECONDS", 0.1)
    project.observe(times=2)
    lock = project.root / ".git" / "index.lock"
    hook(project, "post-commit", f'touch "{lock}"')
    done = project.memory().consolidate()
    assert done.commit == project.head()
    assert ".instinct" in project.status()
    lock.unlink()
    (project.root / ".git" / "hooks" / "post-commit").unlink()
    project.memory().consolidate()
    assert project.status() == ""
    assert project.confidence() == 2


@pytest.mark.parametrize("arguments", [("-m", "work"), ("-a", "-m", "work"), ("-m", "work", "--", "work")],
                         ids=["as_is", "all", "partial"])  # fmt: skip
def test_from_pre_commit_refused(project: Project, arguments: tuple[str, ...]) -> None:
    """Inside a pre-commit hook the outer commit owns the index and HEAD: refused, and the user's commit stands."""
    import sys

    project.write("work", "before\n")
    project.commit("before", "work")
    project.observe(times=2)
    hook(project, "pre-commit", f'"{sys.executable}" -m instinct_git consolidate 2>"$HOME/said"; echo $? >"$HOME/code"')
    project.write("work", "done\n")
    project.git("add", "work")
    project.git("commit", "-q", *arguments)
    (project.root / ".git" / "hooks" / "pre-commit").unlink()
    assert "one of its hooks" in (Path.home() / "said").read_text(encoding="utf-8")
    assert (Path.home() / "code").read_text(encoding="utf-8") == "2\n"
    assert project.git("log", "-1", "--format=%s") == "work"
    assert project.changed() == {"work"}
    accepted(project, expected=2)


def test_dubious_ownership(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where git distrusts the folder's owner its own hint is shown, and the global config is not touched."""
    project.observe()
    settings = (Path.home() / ".gitconfig").read_bytes()
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    with pytest.raises(GitFailed) as caught:
        project.memory().consolidate()
    monkeypatch.delenv("GIT_TEST_ASSUME_DIFFERENT_OWNER")
    assert "belongs to another user" in caught.value.message
    assert "safe.directory" in caught.value.hint
    assert (Path.home() / ".gitconfig").read_bytes() == settings
    accepted(project, expected=1)


def test_a_refusal_is_two_lines_and_exit_2(project: Project) -> None:
    """On the command line a refusal says what is wrong, then what to do."""
    project.observe()
    project.git("switch", "-q", "--detach")
    ran = process(project.root, "consolidate")
    assert ran.code == 2
    assert [line.split(":")[0] for line in ran.err.splitlines()] == ["error", "hint"]

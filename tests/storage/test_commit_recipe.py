"""A batch is one commit of exactly our paths, whatever the repository looks like and whoever works in it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from instinct_git.core.model import Evidence
from instinct_git.memory import Memory
from instinct_git.storage import git as storage_git
from tests.builders import KEY, Project, git, process


def theirs(project: Project) -> str:
    """What `git status` says about everything but our files."""
    return "\n".join(line for line in project.status().split("\n") if ".instinct" not in line)


def index_of(project: Project) -> str:
    """The user's index, entry by entry, without ours."""
    entries = project.git("ls-files", "-s", "-t").split("\n")
    return "\n".join(entry for entry in entries if "\t.instinct/" not in entry)


def consolidated(project: Project, *, expected: int) -> str:
    """Consolidate and check what every batch promises; return the commit."""
    before_status, before_index = theirs(project), index_of(project)
    done = project.memory().consolidate()
    assert done.commit == project.head()
    assert all(path.startswith(".instinct/") for path in project.changed())
    assert (theirs(project), index_of(project)) == (before_status, before_index)
    assert ".instinct" not in project.status()
    assert project.confidence() == expected
    assert project.errors() == []
    return done.commit


def hook(project: Project, name: str, script: str) -> Path:
    """Install a hook."""
    file = project.root / ".git" / "hooks" / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    file.chmod(0o755)
    return file


def test_user_staged_partial_new_removed(project: Project) -> None:
    """Work of every kind that the user has in hand is byte for byte the same after a batch."""
    for name in ("staged", "partial", "removed", "deleted", "edited", "renamed"):
        project.write(name, "one\ntwo\nthree\n" * 3)
    project.commit("files", *("staged", "partial", "removed", "deleted", "edited", "renamed"))
    project.write("staged", "changed\n")
    project.write("partial", "half\n")
    project.write("fresh", "new and staged\n")
    project.git("add", "staged", "partial", "fresh")
    project.git("mv", "renamed", "moved")
    project.git("rm", "-q", "removed")
    project.write("partial", "half and half\n")
    project.write("edited", "not staged\n")
    project.write("untracked", "new\n")
    (project.root / "deleted").unlink()
    project.observe(times=3)
    diff = project.git("diff", "--binary", "HEAD") + project.git("diff", "--binary", "--cached")
    consolidated(project, expected=3)
    assert project.git("diff", "--binary", "HEAD") + project.git("diff", "--binary", "--cached") == diff


@pytest.mark.parametrize("staged", [False, True], ids=["unborn_branch", "unborn_with_staged"])
def test_unborn(tmp_path: Path, staged: bool) -> None:
    """On an unborn branch the root commit holds our files alone, and what was staged stays staged."""
    root = tmp_path / "new"
    root.mkdir()
    git(root, "init", "-q")
    project = Project(root)
    if staged:
        project.write("work.txt", "not committed yet\n")
        project.git("add", "work.txt")
    project.memory().init()
    project.observe(times=2)
    consolidated(project, expected=2)
    assert project.commits() == 1
    assert theirs(project) == ("A  work.txt" if staged else "")


def test_our_file_already_staged_with_other_content_is_committed_as_it_is_in_the_working_tree(project: Project) -> None:
    """A pattern file that somebody staged half-way is committed as the working tree has it, and is clean."""
    project.observe(times=2)
    project.memory().consolidate()
    [path] = (project.root / ".instinct" / "patterns").rglob("*.md")
    whole = path.read_bytes()
    path.write_bytes(whole + b"staged words\n")
    project.git("add", str(path))
    path.write_bytes(whole + b"other words\n")
    project.observe()
    consolidated(project, expected=3)
    assert project.git("show", f"HEAD:{path.relative_to(project.root)}").endswith("other words")


def test_linked_worktree(project: Project) -> None:
    """A linked worktree commits to its own branch through its own index, with the inbox that all worktrees share."""
    project.observe(times=2)
    project.memory().consolidate()
    main = project.head()
    linked = project.worktree("linked", "topic")
    linked.write("staged", "here\n")
    linked.git("add", "staged")
    project.observe()
    consolidated(linked, expected=3)
    assert project.head() == main
    assert project.status() == ""


def test_subdirectory(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """From a folder below the top, with relative paths configured in git, the same commit comes about."""
    project.write("src/deep/code.py", "pass\n")
    project.commit("code", "src")
    project.git("config", "status.relativePaths", "true")
    monkeypatch.chdir(project.root / "src" / "deep")
    Memory().observe(KEY)
    assert Memory().consolidate().commit == project.head()
    assert project.status() == ""


def test_memory_below_the_top_of_a_repository(tmp_path: Path) -> None:
    """A memory of one folder of a monorepo commits that folder's files alone."""
    top = Project.new(tmp_path / "mono")
    top.write("apps/web/.instinct/observations/README.md", "---\ntype: README\n---\n")
    top.write("staged", "mine\n")
    top.git("add", "staged")
    web = Project(top.root / "apps" / "web")
    web.memory().init()
    web.observe(times=2)
    assert web.memory().consolidate().commit == top.head()
    assert all(path.startswith("apps/web/.instinct/") for path in top.changed())
    assert top.status() == "A  staged"
    assert web.confidence() == 2


def test_submodule_and_superproject_both_have_instinct(project: Project, tmp_path: Path) -> None:
    """In a submodule a batch commits to the submodule alone; the superproject's memory is another one."""
    library = Project.new(tmp_path / "library")
    project.git("submodule", "add", "-q", str(library.root), "lib")
    project.git("commit", "-q", "-m", "a submodule")
    inner = Project(project.root / "lib")
    inner.git("switch", "-q", "-C", "main")
    inner.memory().init()
    inner.observe(times=2)
    project.observe(times=5)
    outer_head = project.head()
    consolidated(inner, expected=2)
    assert project.head() == outer_head
    project.git("add", "lib")
    consolidated(project, expected=5)
    assert inner.confidence() == 2


@pytest.mark.parametrize("kind", ["index_v4", "split_index", "sparse_index", "untracked_cache"])
def test_index_formats(project: Project, kind: str) -> None:
    """Every format that git writes its index in is read and kept."""
    project.write("a/one", "1\n")
    project.write("b/c/two", "2\n")
    project.observe()
    project.memory().consolidate()
    project.commit("files", "a", "b")
    if kind == "index_v4":
        project.git("update-index", "--index-version", "4")
    elif kind == "split_index":
        project.git("config", "core.splitIndex", "true")
        project.git("update-index", "--split-index")
    elif kind == "sparse_index":
        project.git("sparse-checkout", "set", "--cone", "--sparse-index", "a", ".instinct")
    else:
        project.git("update-index", "--untracked-cache")
    project.write("a/one", "staged\n")
    project.git("add", "a/one")
    project.observe()
    sparse = project.git("ls-files", "--sparse") if kind == "sparse_index" else ""
    consolidated(project, expected=2)
    if kind == "index_v4":
        assert (project.root / ".git" / "index").read_bytes()[4:8] == b"\0\0\0\4"
    if kind == "sparse_index":
        assert "b/" in sparse.split("\n")
        assert "b/" in project.git("ls-files", "--sparse").split("\n")
        assert project.git("ls-tree", "-r", "--name-only", "HEAD", "b") == "b/c/two"
    project.git("fsck", "--strict")


def test_hook_adds_file(project: Project) -> None:
    """A file that a pre-commit hook adds is in our commit: git does the same with every commit."""
    project.observe()
    hook(project, "pre-commit", "echo made > made.txt; git add made.txt")
    done = project.memory().consolidate()
    assert "made.txt" in project.changed(done.commit)
    assert ".instinct" not in project.status()


def test_ssh_signing(project: Project) -> None:
    """With ssh signing set up the commit is signed by git itself."""
    if shutil.which("ssh-keygen") is None:
        pytest.skip("ssh-keygen is not installed")
    key = project.root.parent / "key"
    import subprocess

    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True, stdin=subprocess.DEVNULL
    )
    for name, value in (("gpg.format", "ssh"), ("user.signingkey", str(key)), ("commit.gpgsign", "true")):
        project.git("config", name, value)
    project.observe()
    consolidated(project, expected=1)
    assert "SSH SIGNATURE" in project.git("cat-file", "commit", "HEAD")


def test_called_from_post_commit_hook(project: Project) -> None:
    """A post-commit hook may consolidate: the user's commit and ours stand, and ours does not start the next round."""
    import sys

    project.observe(times=2)
    hook(project, "post-commit", f'"{sys.executable}" -m instinct_git consolidate >>"$HOME/hook.log" 2>&1')
    project.write("work", "done\n")
    project.git("add", "work")
    project.git("commit", "-q", "-m", "work")
    assert project.git("log", "--format=%s", "-2").split("\n")[1] == "work"
    assert project.confidence() == 2
    assert project.status() == ""
    log = (Path.home() / "hook.log").read_text(encoding="utf-8")
    assert log.count("a batch is being committed") == 1


@pytest.mark.parametrize("setting", [
    ("commit.template", "template.txt"), ("commit.verbose", "true"), ("core.commentChar", "i"),
    ("commit.cleanup", "scissors"), ("commit.cleanup", "verbatim"), ("core.autocrlf", "true"), ("commit.status", "true"),
    ("core.quotePath", "true"), ("log.showSignature", "true"), ("core.abbrev", "4"), ("diff.noprefix", "true"),
    ("status.showUntrackedFiles", "no"), ("core.safecrlf", "true"), ("color.ui", "always"), ("core.fsmonitor", "false"),
    ("advice.addIgnoredFile", "false"), ("core.preloadIndex", "false"), ("i18n.commitEncoding", "ISO-8859-1"),
    ("core.ignoreCase", "true"), ("log.follow", "true"), ("log.date", "relative"), ("core.sparseCheckout", "true"),
], ids="=".join)  # fmt: skip
def test_settings_that_change_how_git_behaves(project: Project, setting: tuple[str, str]) -> None:
    """Settings of the user's git change neither what is committed nor the message."""
    (project.root.parent / "template.txt").write_text("a template\n", encoding="utf-8")
    name, value = setting
    project.git("config", name, str(project.root.parent / value) if value == "template.txt" else value)
    project.observe(times=2)
    consolidated(project, expected=2)
    message = project.git("-c", "log.showSignature=false", "log", "-1", "--format=%B").split("\n")
    assert message[0].startswith("instinct: fold 2 observations into 1 pattern")
    assert not any(line.startswith("a template") for line in message)
    assert "\r" not in project.git("cat-file", "blob", "HEAD:.instinct/config.yaml")


def test_intent_to_add(project: Project) -> None:
    """Entries that are only announced (`git add -N`) stay announced."""
    project.write("announced", "soon\n")
    project.git("add", "-N", "announced")
    project.observe()
    consolidated(project, expected=1)
    assert project.status() == " A announced"


def test_git_variables_of_the_environment_are_scrubbed(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """GIT_DIR and its like, as a hook or a script exports them, lead no commit astray."""
    other = Project.new(project.root.parent / "other")
    head, index = other.head(), (other.root / ".git" / "index").read_bytes()
    monkeypatch.setenv("GIT_DIR", str(other.root / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other.root))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other.root / ".git" / "index"))
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(other.root / ".git" / "objects"))
    monkeypatch.setenv("GIT_PREFIX", "somewhere/")
    monkeypatch.setenv("GIT_LITERAL_PATHSPECS", "1")
    project.observe(times=2)
    done = project.memory().consolidate()
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX"):
        monkeypatch.delenv(name)
    monkeypatch.delenv("GIT_LITERAL_PATHSPECS")
    assert done.commit == project.head()
    assert project.status() == ""
    assert (other.head(), (other.root / ".git" / "index").read_bytes()) == (head, index)


def test_nothing_to_commit(project: Project) -> None:
    """Without new evidence a batch ends well and makes no commit."""
    project.observe()
    project.memory().consolidate()
    head = project.head()
    ran = process(project.root, "consolidate")
    assert (ran.code, ran.err) == (0, "")
    assert project.memory().record().commit == ""
    assert project.memory().decay().commit == ""
    assert project.head() == head
    assert project.status() == ""


def test_two_branches_of_one_repository_merge_without_a_conflict(project: Project) -> None:
    """Batches on two branches, evidence of each, meet in a clean merge and count once."""
    project.observe("note:base")
    project.memory().consolidate()
    project.git("switch", "-q", "-c", "topic")
    project.observe("note:topic", times=3)
    project.memory().consolidate()
    project.git("switch", "-q", "main")
    project.observe("note:main", times=2)
    project.memory().consolidate()
    project.git("merge", "-q", "--no-edit", "topic")
    consolidated_again = project.memory().consolidate()
    assert consolidated_again.folded == 0
    assert [project.confidence(key) for key in ("note:base", "note:topic", "note:main")] == [1, 3, 2]
    assert project.errors() == []


def test_ten_thousand_paths_need_no_pathspec_list(project: Project) -> None:
    """A batch of many files passes its paths on standard input: no command line grows with them."""
    longest = 0
    original = storage_git.run

    def measured(folder: Path, args: list[str], **options: object) -> storage_git.Result:
        nonlocal longest
        longest = max(longest, sum(len(arg) for arg in args))
        return original(folder, args, **options)  # type: ignore[arg-type]

    from instinct_git.operations.observing import Draft

    project.memory().observe_many([Draft(f"note:pattern-{n}") for n in range(400)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(storage_git, "run", measured)
        done = project.memory().consolidate()
    assert len(project.changed(done.commit)) >= 400
    assert longest < 400
    assert project.status() == ""


def test_evidence_with_every_optional_key_survives_the_batch(project: Project) -> None:
    """What was observed is what the ledger holds, but for the time of day and the note."""
    project.observe(session="s", context="web", source="claude-code", note="private")
    waiting = project.memory()._space.read()[1].evidence
    project.memory().consolidate()
    kept: list[Evidence] = project.tree_evidence()
    assert [(one.id, one.s, one.ctx, one.by) for one in kept] == [(one.id, one.s, one.ctx, one.by) for one in waiting]
    assert all(not one.note for one in kept)

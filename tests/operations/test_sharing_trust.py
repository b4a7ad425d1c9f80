"""A shared repository that is not what it should be: refused by name, the rest keeps working, nothing is written over."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from instinct_git.errors import InstinctError
from instinct_git.storage.files import Place
from instinct_git.storage.git import Repository
from instinct_git.storage.incoming import problems
from tests.builders import KEY, Project, git
from tests.people import TEAM, Person, bare, begun, host_files

POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 12345\n"
CONFIG = ".instinct/config.yaml"
README = ".instinct/ledger/README.md"


@pytest.fixture
def host(tmp_path: Path) -> Path:
    return bare(tmp_path)


@pytest.fixture
def ada(tmp_path: Path, host: Path, tmp_path_factory: pytest.TempPathFactory) -> Person:
    """A person who has started the team's memory; KEY is mature in it."""
    return begun(tmp_path, tmp_path_factory, 5)


def commit_on_host(host: Path, *entries: tuple[str, str, str], onto: str = "main", parent: bool = True) -> str:
    """Commit (mode, path, content or object id) entries on the host's main branch, as plumbing can and no checkout would."""
    env = {"GIT_INDEX_FILE": str(host / "odd-index")}
    git(host, "read-tree", *([onto] if parent else ["--empty"]), env=env)
    for mode, path, content in entries:
        blob = content if mode == "160000" else git(host, "hash-object", "-w", "--stdin", stdin=content)
        git(
            host,
            "-c",
            "core.protectNTFS=false",
            "update-index",
            "--add",
            "--cacheinfo",
            f"{mode},{blob},{path}",
            env=env,
        )
    tree = git(host, "write-tree", env=env)
    sha = git(host, "commit-tree", "-m", "odd", *(["-p", onto] if parent else []), tree)
    git(host, "update-ref", "refs/heads/main", sha)
    return sha


ODD = [
    ("120000", ".instinct/patterns/note/x.md", "/etc/passwd", "symbolic link"),
    ("120000", ".instinct/patterns/link", "../../..", "symbolic link"),
    ("160000", ".instinct/patterns/sub", "1" * 40, "submodule"),
    ("100644", ".instinct/patterns/note/x.md", POINTER, "Git LFS"),
    ("100644", ".instinct/patterns/seq/A.md", "x", "one on some systems"),
    ("100644", ".instinct/patterns/note/aux.md", "x", "not safe"),
    ("100644", ".instinct/patterns/note/a:b.md", "x", "not safe"),
    ("100644", ".instinct/patterns/note/x\\y.md", "x", "not safe"),
    ("100644", ".instinct/patterns/note/\u0007.md", "x", "not safe"),
    ("100644", ".instinct/Patterns/seq/b.md", "x", "one on some systems"),
    ("100644", ".Instinct/config.yaml", "x", "on some systems"),
    ("100644", CONFIG, "version: 2\n", "newer than this program"),
    ("100644", CONFIG, "from_the_future: 1\n", "no setting"),
    ("100644", CONFIG, "notify.command: touch x\n", "config.yaml"),
]


def test_odd_files_are_named(tmp_path: Path, host: Path) -> None:
    commit_on_host(host, ("100644", README, "x"), ("100644", ".instinct/patterns/seq/a.md", "x"), parent=False)
    repository = Repository(Place(host, "shared", tmp_path, host, host, host))
    good = git(host, "rev-parse", "main")
    assert problems(repository, good) == []
    for mode, path, content, words in ODD:
        git(host, "update-ref", "refs/heads/main", good)
        found = problems(repository, commit_on_host(host, (mode, path, content)))
        assert words in found[0] and path[:9] in found[0], (path, found)


@pytest.mark.slow
def test_one_memory_that_is_refused_stops_no_other(tmp_path: Path, host: Path, ada: Person) -> None:
    """The copy stays as it was and goes on working, and what was observed is kept."""
    other = bare(tmp_path, "other.git")
    ada.memory.share_add("other", str(other))
    good, head = git(host, "rev-parse", "main"), ada.copy.head()
    commit_on_host(host, ("120000", ".instinct/patterns/note/x.md", "/etc/passwd"))
    ada.memory.observe("note:other", to="other")
    done = {one.name: one for one in ada.memory.sync()}
    assert ".instinct/patterns/note/x.md is a symbolic link" in done[TEAM].problem
    assert (done["other"].problem, done["other"].recorded) == ("", 1)
    assert (ada.copy.head(), ada.copy.status(), ada.copy.git("rev-parse", "origin/main")) == (head, "", head)
    assert KEY in ada.suggested()
    ada.sees()
    with pytest.raises(InstinctError, match="symbolic link"):
        ada.syncs()
    git(host, "update-ref", "refs/heads/main", good)
    assert ada.syncs().problem == "" and ada.confidence() == 6


def test_a_repository_that_is_refused_leaves_nothing_behind(tmp_path: Path, host: Path) -> None:
    bob = Person.new(tmp_path, "bob")
    commit_on_host(host, ("100644", "README.md", "no memory"), parent=False)
    with pytest.raises(InstinctError, match="holds no memory"):
        bob.joins(host)
    commit_on_host(host, ("120000", ".instinct/observations", "/etc"), parent=False)
    with pytest.raises(InstinctError):
        bob.joins(host)
    with pytest.raises(InstinctError, match="elsewhere"):
        bob.joins(host, branch="elsewhere")
    with pytest.raises(InstinctError, match="the clone of"):
        bob.joins(tmp_path / "not-there.git")
    assert [*(bob.home / "shared").iterdir()] == []


@pytest.mark.slow
def test_a_memory_inside_a_larger_repository_brings_its_own_files_alone(
    tmp_path: Path, host: Path, ada: Person
) -> None:
    """Links, submodules and filters elsewhere in the repository are none of our business, and are not checked out."""
    commit_on_host(
        host, ("120000", "docs/link", "/etc"), ("100644", "src/big.bin", POINTER), ("160000", "vendor/x", "2" * 40),
        ("100644", ".gitattributes", "* filter=lfs text=auto eol=crlf\n"), ("100755", "run.sh", "touch ran"),
    )  # fmt: skip
    ada.sees()
    ada.syncs()
    assert sorted(one.name for one in ada.copy.root.iterdir()) == [".git", ".instinct"]
    assert b"\r" not in (ada.copy.root / README).read_bytes()
    assert {"docs/link", "src/big.bin", "vendor/x"} <= set(host_files(host)) | {"vendor/x"}
    assert Person.new(tmp_path, "bob").joins(host).suggested() == [KEY]


def test_a_rewritten_history_stops_the_sync_until_a_person_accepts_it(host: Path, ada: Person) -> None:
    old = git(host, "rev-parse", "main")
    tree = git(host, "rev-parse", "main^{tree}")
    new = git(host, "commit-tree", "-m", "another past", tree)
    git(host, "update-ref", "refs/heads/main", new)
    ada.sees()
    with pytest.raises(InstinctError, match="history was rewritten") as problem:
        ada.syncs()
    assert "--accept" in problem.value.hint and "share remove" in problem.value.hint
    assert (git(host, "rev-parse", "main"), ada.copy.git("rev-parse", "origin/main")) == (new, old)
    done = ada.syncs(accept=True)
    assert (done.sent, ada.confidence()) == (1, 6)
    assert git(host, "merge-base", new, "main") == new
    assert ada.copy.git("rev-parse", f"instinct/before/{old[:12]}") == old
    assert ada.syncs().problem == ""


@pytest.mark.slow
def test_a_branch_that_is_gone_stops_the_sync(host: Path, ada: Person) -> None:
    git(host, "update-ref", "-d", "refs/heads/main")
    with pytest.raises(InstinctError, match="its branch is gone"):
        ada.syncs()
    assert ada.syncs(accept=True).sent == 2 and "main" in git(host, "branch")


@pytest.mark.slow
def test_a_remote_that_somebody_changed_stops_the_sync(tmp_path: Path, host: Path, ada: Person) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(host), "moved.git")
    before = git(host, "rev-parse", "main")
    ada.copy.git("remote", "set-url", "origin", str(tmp_path / "moved.git"))
    ada.sees()
    with pytest.raises(InstinctError, match="it was added as"):
        ada.syncs()
    assert ada.syncs(accept=True).sent == 1
    assert git(host, "rev-parse", "main") == before
    assert ada.memory.shares()[0].url == str(tmp_path / "moved.git")
    ada.copy.git("config", "remote.origin.pushurl", str(host))
    with pytest.raises(InstinctError, match="another address"):
        ada.syncs()
    ada.copy.git("config", "--unset", "remote.origin.pushurl")
    ada.copy.git("remote", "set-url", "origin", "ext::touch ran")
    with pytest.raises(InstinctError, match="program"):
        ada.syncs(accept=True)


def test_what_stands_on_another_branch_is_not_suggested(ada: Person) -> None:
    ada.copy.git("switch", "-q", "-c", "instinct/skill/mine")
    assert ada.suggested() == [] and ada.memory.list() == []
    assert "only that one is suggested from" in ada.memory.shares()[0].problem
    with pytest.raises(InstinctError, match="is what is shared"):
        ada.syncs()
    ada.copy.git("switch", "-q", "main")
    assert ada.suggested() == [KEY]


@pytest.mark.slow
def test_only_what_a_person_approved_is_suggested_where_that_is_required(
    tmp_path: Path, host: Path, ada: Person
) -> None:
    bob = Person.new(tmp_path, "bob").joins(host, require="approved")
    assert bob.suggested() == [] and [one.pattern for one in bob.memory.list()] == [KEY]
    path = str(ada.memory.show(KEY).path)
    ada.copy.write(path, ada.copy.read(path) + "\n")
    text = ada.copy.read(path).replace(
        "status: active", 'status: active\nverified: [{"by": "human:ada", "at": "2026-03-29"}]'
    )
    ada.copy.write(path, text)
    ada.copy.commit("approve", path)
    ada.syncs()
    bob.syncs()
    assert bob.suggested() == [KEY]
    bob.joins(host)
    assert bob.suggested() == [KEY]


@pytest.fixture
def signing(tmp_path: Path, sealed: Path) -> Callable[[str], None]:
    """Make keys; returns what chooses one: only `good` is known to the allowed signers."""
    for name in ("good", "bad"):
        args = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(tmp_path / name)]
        subprocess.run(args, check=True, timeout=30)
    public = (tmp_path / "good.pub").read_text()
    (tmp_path / "signers").write_text(f"ada@example.org {public}")
    git(tmp_path, "config", "--global", "gpg.format", "ssh")
    git(tmp_path, "config", "--global", "gpg.ssh.allowedSignersFile", str(tmp_path / "signers"))

    def choose(name: str) -> None:
        git(tmp_path, "config", "--global", "user.signingKey", str(tmp_path / name))

    choose("good")
    return choose


@pytest.mark.slow
def test_signed_commits_are_taken_and_others_are_not(
    tmp_path: Path, host: Path, signing: Callable[[str], None]
) -> None:
    ada, bob, cy = (Person.new(tmp_path, name) for name in ("ada", "bob", "cy"))
    ada.joins(host, require="signed")
    ada.sees(times=5)
    assert ada.syncs().problem == ""
    bob.joins(host)  # requires nothing, and signs nothing
    bob.sees()
    bob.syncs()
    with pytest.raises(InstinctError, match="without a signature"):
        ada.syncs()
    assert (ada.confidence(), ada.suggested()) == (5, [KEY])
    with pytest.raises(InstinctError, match="without a signature"):
        cy.joins(host, require="signed")
    signing("bad")  # a signature, by a key that nobody allowed
    bob.copy.git("config", "commit.gpgsign", "true")
    bob.sees()
    bob.syncs()
    with pytest.raises(InstinctError, match="without a signature"):
        cy.joins(host, require="signed")


def hook(host: Path, name: str, text: str) -> Path:
    """Give the host a hook."""
    file = host / "hooks" / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return file


@pytest.mark.slow
def test_a_server_that_dies_in_mid_push(host: Path, ada: Person, tmp_path: Path) -> None:
    """Before it has taken anything, and after it has taken everything and said nothing."""
    dies = "kill -9 $PPID; kill -9 $(ps -o ppid= -p $PPID) 2>/dev/null; exit 1"
    once = hook(host, "pre-receive", f'test -e "{tmp_path}/died" || {{ touch "{tmp_path}/died"; {dies}; }}')
    ada.sees()
    done = ada.syncs()
    assert (done.offline, done.sent, ada.confidence()) == ("", 1, 6)
    once.unlink()
    hook(host, "post-update", "kill -9 $PPID")
    ada.sees()
    ada.syncs()
    ada.syncs()
    hook(host, "post-update", "true")
    ada.syncs()
    assert ada.confidence() == 7
    hook(host, "pre-receive", "kill -9 $PPID; exit 1")
    ada.sees()
    done = ada.syncs()
    assert (done.ahead, done.sent) == (1, 0) and "push" in done.offline
    hook(host, "pre-receive", "true")
    assert ada.syncs().sent == 1 and ada.confidence() == 8


@pytest.mark.slow
def test_a_full_disk_in_mid_fetch(tmp_path: Path, host: Path, ada: Person) -> None:
    """What arrived is not used, what waited still waits, and the next sync brings both."""
    if sys.platform == "win32":
        pytest.skip("no limit on the size of files there")
    import resource

    bob = Person.new(tmp_path, "bob").joins(host)
    path = str(ada.memory.show(KEY).path)
    ada.copy.write(path, ada.copy.read(path) + os.urandom(200_000).hex())
    ada.copy.commit("words", path)
    ada.syncs()
    bob.sees()
    bob_env = {**os.environ, "INSTINCT_HOME": str(bob.home)}
    full = subprocess.run(
        [sys.executable, "-m", "instinct_git", "sync", TEAM], cwd=bob.project.root, env=bob_env, capture_output=True,
        text=True, timeout=60, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)),
    )  # fmt: skip
    assert full.returncode in (1, 2) and "Traceback" not in full.stderr + full.stdout
    assert bob.suggested() == [KEY] and bob.confidence() == 5
    bob.syncs()
    assert bob.confidence() == 6 and ada.syncs().problem == ""


def test_a_protected_branch_says_what_to_do(host: Path, ada: Person) -> None:
    hook(host, "pre-receive", 'echo "GH006: Protected branch update failed" >&2; exit 1')
    ada.sees()
    with pytest.raises(InstinctError, match="the push of") as problem:
        ada.syncs()
    assert "share.push: pull-request" in problem.value.hint
    assert len(Project(ada.copy.root).tree_ids()) == 6

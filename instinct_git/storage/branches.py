"""Proposals in git: their branches, the commits on them, and pushing. The user's tree, index and HEAD never move.

A commit of ours names its own tree in a trailer. Whoever rewrites such a commit with another content is found out by that,
and what a person has written on a branch is never written over.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from instinct_git.core.request import TRAILER, TREE, trailer_keys
from instinct_git.errors import GitFailed, InstinctError
from instinct_git.storage import git
from instinct_git.storage.commits import sign
from instinct_git.storage.git import Repository, Result, author_variables

FILE, LINK, FOLDER = "100644", "120000", "040000"
PUSH_SECONDS = 120.0
_REF = re.compile(r"refs/(heads|remotes)/(?:(?P<remote>.+)/)?(?P<branch>instinct/(?P<kind>[a-z]+)/(?P<name>[^/]+))")
_DEPTH = 50  # first-parent commits of a branch that are searched for one of ours
_QUIET = {"GCM_INTERACTIVE": "never", "GIT_TERMINAL_PROMPT": "0", "SSH_ASKPASS_REQUIRE": "never"}


class Blob(NamedTuple):
    """A file as a commit holds it; of a symbolic link the content says where it leads."""

    content: bytes
    mode: str = FILE


class Ref(NamedTuple):
    """One branch of a proposal."""

    branch: str
    """instinct/<kind>/<name>"""
    kind: str
    name: str
    tip: str
    remote: str
    """Empty: a local branch."""
    keys: tuple[str, ...]
    """What its newest commit of ours proposes; empty: it has none."""


class Since(NamedTuple):
    """What a branch holds beyond its base."""

    base: str
    """Where it left the base; empty: nowhere, they share no history."""
    keys: tuple[str, ...]
    """What our commits on it propose."""
    ours: bool
    """Nobody but us has committed on it."""
    theirs: frozenset[str]
    """Paths from the top that people's commits changed."""


# --- reading --------------------------------------------------------------------------------------------------------


def refs(repository: Repository, kinds: Sequence[str]) -> list[Ref]:
    """Return the branches of proposals, local ones and those that were fetched."""
    remotes = set(repository.ask("remote").text.splitlines())
    listed = repository.ask("for-each-ref", "--format=%(objectname) %(refname)", "refs/heads/instinct", "refs/remotes")
    found = []
    for line in listed.text.splitlines():
        tip, _, name = line.partition(" ")
        one = _REF.fullmatch(name)
        if one is None or one["kind"] not in kinds or (one["remote"] or "") not in {"", *remotes}:
            continue
        if (one[1] == "heads") == bool(one["remote"]):
            continue
        found.append(Ref(one["branch"], one["kind"], one["name"], tip, one["remote"] or "", _proposed(repository, tip)))
    return found


def _proposed(repository: Repository, tip: str) -> tuple[str, ...]:
    """Return the keys of the newest commit of ours on a branch; people may have committed on top of it."""
    out = repository.ask("log", "--first-parent", f"-{_DEPTH}", "--no-show-signature", "--format=%B%x00", tip).text
    mine = next((words for words in out.split("\0") if f"\n{TRAILER}\n" in words), "")
    return trailer_keys(mine)


def since(repository: Repository, base: str, tip: str) -> Since:
    """Say what a branch holds beyond its base, and which of it people have written."""
    fork = repository.ask("merge-base", base, tip).text.partition("\n")[0]
    out = repository.must(
        "log", "-c", "--name-only", "--no-renames", "-z", "--no-show-signature", "--format=%x01%T%n%B%x02", f"{base}..{tip}"
    ).out.decode("utf-8", "surrogateescape")  # fmt: skip
    keys: dict[str, None] = {}
    theirs: set[str] = set()
    alone = True
    for entry in out.split("\x01")[1:]:
        facts, _, names = entry.partition("\x02")
        tree, _, words = facts.partition("\n")
        keys.update(dict.fromkeys(trailer_keys(words)))
        if TRAILER not in words or f"{TREE}: {tree}" not in words:
            alone = False
            theirs |= {name.strip("\n") for name in names.split("\0") if name.strip("\n")}
    return Since(fork, tuple(keys), alone, frozenset(theirs))


def entries(repository: Repository, revision: str, paths: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return {path from the top: (mode, id)} of those paths that a revision has; folders count too (mode FOLDER)."""
    wanted = sorted(set(paths))
    if not wanted or not revision:
        return {}
    asked = "".join(f"{revision}:{path}\n" for path in wanted).encode("utf-8", "surrogateescape")
    rows = repository.must("cat-file", "--batch-check=%(objecttype) %(objectname)", stdin=asked).text.splitlines()
    found = {path: row.split(" ") for path, row in zip(wanted, rows, strict=True) if row[:5] in ("blob ", "tree ")}
    folders = {path: (FOLDER, blob) for path, (kind, blob) in found.items() if kind == "tree"}
    rest = [path for path in found if path not in folders]
    if not rest:  # ls-tree takes the folder and what is in it for one question, so it is asked of files alone
        return folders
    out = repository.must("ls-tree", "-z", "--full-tree", revision, "--", *rest).out.decode("utf-8", "surrogateescape")
    named = (entry.partition("\t") for entry in out.split("\0") if entry)
    return folders | {path: (meta.split()[0], meta.split()[2]) for meta, _, path in named}


def changed(repository: Repository, old: str, new: str) -> dict[str, tuple[str, str]]:
    """Return {path from the top: (mode, id) at `new`, ("", "") where it is gone} of what two revisions differ in."""
    out = repository.must("diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", old, new).out
    fields = iter(out.decode("utf-8", "surrogateescape").split("\0"))
    found = {}
    for meta in fields:
        if meta:
            _, mode, _, blob, status = meta.split(" ")
            found[next(fields)] = ("", "") if status == "D" else (mode, blob)
    return found


def ids(repository: Repository, files: Mapping[str, Blob]) -> dict[str, tuple[str, str]]:
    """Return {path: (mode, id)} that these files would have; nothing is written."""
    return {
        path: (one.mode, repository.must("hash-object", "--stdin", stdin=one.content).text)
        for path, one in files.items()
    }


def is_ancestor(repository: Repository, old: str, new: str) -> bool:
    """True when `new` holds all of `old`."""
    return repository.ask("merge-base", "--is-ancestor", old, new).code == 0


def checked_out(repository: Repository, branch: str) -> str:
    """Return the working tree that has a branch checked out; empty: none has."""
    folder = ""
    for line in repository.ask("worktree", "list", "--porcelain").text.splitlines():
        folder = line.removeprefix("worktree ") if line.startswith("worktree ") else folder
        if line == f"branch refs/heads/{branch}":
            return folder
    return ""


# --- writing --------------------------------------------------------------------------------------------------------


def commit_on(
    repository: Repository, branch: str, parents: Sequence[str], files: Mapping[str, Blob], message: str, *,
    start: str, expected: str = "",
) -> str:  # fmt: skip
    """Make a commit of the tree `start` with these files (paths from the top) and let a branch point to it.

    `expected` is where the branch stands now, empty: nowhere; raises GitFailed when that is no longer so.
    """
    tree = _tree_with(repository, start, files)
    if len(parents) == 2 and (joined := _joined(repository, *parents)) not in ("", tree):
        parents = (commit_tree(repository, parents, joined, f"{JOINED}\n\n{TRAILER}"),)
    sha = commit_tree(repository, parents, tree, message)
    _point(repository, branch, sha, expected)
    return sha


JOINED = "instinct: join the branch that this proposal is for"


def _joined(repository: Repository, tip: str, base: str) -> str:
    """Return the tree that git alone makes of a branch and its base; empty where they conflict, or git is older than 2.38.

    Hosts that rebase drop merge commits with all that was changed in them: what is ours belongs into a commit of its own.
    """
    done = repository.ask("merge-tree", "--write-tree", "--no-messages", tip, base)
    return "" if done.code else done.text.partition("\n")[0]


def commit_tree(repository: Repository, parents: Sequence[str], tree: str, message: str) -> str:
    """Make a commit of a tree, named in a trailer, and return its id; no branch moves."""
    words, author = f"{message.rstrip()}\n{TREE}: {tree}\n".encode(), author_variables()
    named = [word for parent in parents for word in ("-p", parent)]
    return repository.must("commit-tree", *sign(repository), *named, tree, stdin=words, env=author).text


def _point(repository: Repository, branch: str, sha: str, expected: str) -> None:
    old = expected or "0" * len(sha)
    repository.must("update-ref", "--create-reflog", "-m", "instinct: propose", f"refs/heads/{branch}", sha, old)


def put_back(repository: Repository, branch: str, sha: str, before: str) -> None:
    """Let a branch stand where it stood before a commit of ours, or take it away again; not where somebody moved it."""
    if before:
        repository.ask("update-ref", "-m", "instinct: not proposed", f"refs/heads/{branch}", before, sha)
    else:
        repository.ask("update-ref", "-d", f"refs/heads/{branch}", sha)


def _tree_with(repository: Repository, start: str, files: Mapping[str, Blob]) -> str:
    state = repository.place.worktree_state_dir
    state.mkdir(parents=True, exist_ok=True)
    private = state / f"propose.{os.getpid()}.{threading.get_ident()}"
    env = {"GIT_INDEX_FILE": str(private)}
    try:
        repository.must("read-tree", start, env=env)
        lines = b""
        for path, one in files.items():
            blob = repository.must("hash-object", "-w", "--stdin", stdin=one.content).text
            lines += f"{one.mode} {blob}\t".encode() + os.fsencode(path) + b"\0"
        repository.must("update-index", "--add", "-z", "--index-info", stdin=lines, env=env)
        return repository.must("write-tree", env=env).text
    finally:
        for leftover in (private, private.with_name(private.name + ".lock")):
            leftover.unlink(missing_ok=True)


# --- pushing --------------------------------------------------------------------------------------------------------


def remotes(repository: Repository) -> dict[str, tuple[str, str]]:
    """Return {remote: (its address, the address that a push goes to)}."""
    found = {}
    for name in repository.ask("remote").text.splitlines():
        address = repository.ask("remote", "get-url", name).text.partition("\n")[0]
        found[name] = address, repository.ask("remote", "get-url", "--push", name).text.partition("\n")[0]
    return found


def push(repository: Repository, remote: str, branch: str, sha: str, protocols: str = "") -> Result:
    """Push a branch, never by force and without a question to anybody; a refusal is a Result. `protocols`: the only
    transports that may be used (as GIT_ALLOW_PROTOCOL says them); empty: any that git's config allows."""
    env = quiet(repository.top) | ({"GIT_ALLOW_PROTOCOL": protocols} if protocols else {})
    args = ["-c", "credential.interactive=false", "push", "--porcelain", "--", remote, f"{sha}:refs/heads/{branch}"]
    return git.run(repository.top, args, env=env, seconds=PUSH_SECONDS)


def quiet(folder: Path) -> dict[str, str]:
    """Return the variables of a command that talks to a remote: nobody is asked. A program that a person put in the place
    of ssh takes no options of ours."""
    if os.environ.get("GIT_SSH") and not os.environ.get("GIT_SSH_COMMAND"):
        return dict(_QUIET)
    configured = git.run(folder, ["config", "core.sshCommand"], read_only=True).text
    chosen = os.environ.get("GIT_SSH_COMMAND") or configured or "ssh"
    return {**_QUIET, "GIT_SSH_COMMAND": f"{chosen} -o BatchMode=yes"}


def refuse_moved(problem: GitFailed, branch: str) -> InstinctError:
    """Return the error for a branch that somebody moved while we were at work."""
    if "cannot lock ref" in problem.message or "reference already exists" in problem.message:
        return InstinctError(f"somebody else has just moved the branch {branch}", "nothing was changed; run it again")
    return problem

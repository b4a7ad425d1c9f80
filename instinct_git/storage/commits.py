"""How a batch becomes one commit of exactly its own paths, and a proposal a commit on a branch of its own.

The user's index, staged work and other files stay as they are: the commit is prepared in a private index, but porcelain
`git commit` writes it, so hooks, signing and identity are the user's. Others may commit at any moment in between.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from instinct_git.errors import GitFailed, RepositoryBusy
from instinct_git.storage import git
from instinct_git.storage.git import Repository, Result, author_variables, last_line

COMMITTING = "INSTINCT_COMMITTING"
"""Set while our own `git commit` runs: a batch that one of its hooks starts must not wait for ours to end."""
ATTEMPTS = 5
# Git's own words for a lock that somebody holds (a hook that speaks of poetry.lock is not meant), and for a message that
# another `git commit` has just emptied: all commits of one worktree go through the same COMMIT_EDITMSG.
_LOCKED = re.compile(
    r"Unable to create '.*\.lock': File exists|cannot lock ref|is at [0-9a-f]+ but expected|due to empty commit message"
)
T = TypeVar("T")


class _Made(NamedTuple):
    """A commit that `git commit` made for us."""

    sha: str
    parent: str
    expected: str
    """What HEAD was when our tree was prepared; another parent means that somebody committed in between."""


def commit(repository: Repository, paths: Sequence[str], message: str) -> str:
    """Commit exactly these memory paths as they are in the working tree and return the commit's id.

    Returns an empty string when there is nothing to commit.
    """
    listing = b"".join(os.fsencode(repository.inside(path)) + b"\0" for path in dict.fromkeys(paths))
    _wait_for_index(repository)
    recipe = _Recipe(repository, listing, message)
    recipe.private.parent.mkdir(parents=True, exist_ok=True)
    sha = ""
    try:
        for _ in range(ATTEMPTS):
            made = _retried(recipe.commit)
            if made is not None:
                sha = _retried(lambda made=made: recipe.mended(made))  # type: ignore[misc]
            try:
                _retried(lambda: recipe.stage(None))  # the real index, our paths only: `git status` is clean for us
            except GitFailed:
                _owe(repository, listing)
            if made is None or repository.head() == sha:
                break
            # Somebody committed on top of ours, perhaps from an index that did not know our files yet: look again.
    finally:
        recipe.clean()
    return sha


def catch_up(repository: Repository) -> None:
    """Let the real index know what an earlier batch committed while somebody else held that index."""
    owed = _owed(repository)
    if not owed.exists():
        return
    _wait_for_index(repository)
    args = ["reset", "-q", "--pathspec-from-file=-", "--pathspec-file-nul"]
    _retried(lambda: repository.must(*args, stdin=owed.read_bytes(), env={"GIT_LITERAL_PATHSPECS": "1"}))
    owed.unlink(missing_ok=True)


def _owe(repository: Repository, listing: bytes) -> None:
    try:
        _owed(repository).write_bytes(listing)  # the commit stands; the next batch catches the index up
    except OSError:
        pass  # the commit stands all the same; `git reset -- .instinct` does it by hand


def _owed(repository: Repository) -> Path:
    return repository.place.worktree_state_dir / "restage"


def _wait_for_index(repository: Repository) -> None:
    """Wait for a git command that holds the real index; refuse, and say how old the lock is, when it stays."""
    lock = repository.git_dir / "index.lock"
    deadline = time.monotonic() + git.LOCK_SECONDS
    while lock.exists():
        if time.monotonic() > deadline:
            try:
                age = max(0, int(time.time() - lock.stat().st_mtime))
            except FileNotFoundError:
                return
            raise RepositoryBusy(
                f"{lock} has been held for {age} seconds",
                "another git command runs; if none does, remove that file yourself and run this again",
            )
        time.sleep(0.05)


class _Recipe:
    """One commit of some paths through a private index."""

    def __init__(self, repository: Repository, listing: bytes, message: str) -> None:
        self.repository, self.listing, self.message = repository, listing, message
        self.private = repository.place.worktree_state_dir / f"index.{os.getpid()}.{threading.get_ident()}"
        self.env = {"GIT_INDEX_FILE": str(self.private)}

    def clean(self) -> None:
        for leftover in (self.private, self.private.with_name(self.private.name + ".lock")):
            leftover.unlink(missing_ok=True)

    def commit(self) -> _Made | None:
        """Let git commit our paths on top of HEAD; None when HEAD has them as they are."""
        for _ in range(ATTEMPTS):
            head = self.repository.head()
            if not self._prepare(head):
                return None
            if self.repository.head() == head:
                break  # else somebody was faster; git itself notices whoever comes while its hooks run
        args = ["commit", "-q", "--no-status", "--cleanup=whitespace", "-F", "-"]
        env = {**self.env, **author_variables(), COMMITTING: str(self.repository.common_dir)}
        words = self.message.encode("utf-8")
        result = git.run(self.repository.top, args, stdin=words, env=env, seconds=git.COMMIT_SECONDS)
        made = self._found(head, sure=result.code != 0)
        if made is None and self.repository.head() != head and not self._prepare(self.repository.head()):
            return None  # somebody's `git add -A` took our files into their own commit
        if made is None:
            raise _commit_failed(result)
        return made  # also when git was stopped in a post-commit hook: the commit stands

    def _prepare(self, head: str) -> bool:
        """Fill the private index with `head` and our paths; False when that adds nothing."""
        self._fresh_index(head)
        self.stage(self.private)
        if not head:
            return bool(self.repository.ask("ls-files", "-z", env=self.env).out)
        return self.repository.ask("diff-index", "--cached", "--quiet", head, "--", env=self.env).code != 0

    def _fresh_index(self, head: str) -> None:
        """Start the private index from a copy of the real one (its cache of file times), reset to HEAD."""
        self.private.unlink(missing_ok=True)
        try:
            shutil.copyfile(self.repository.real_index(), self.private)
        except FileNotFoundError:
            pass  # nothing was ever staged here
        self.repository.must("read-tree", *(["--reset", head] if head else ["--empty"]), env=self.env)

    def stage(self, index: Path | None) -> None:
        """Take our paths into an index as they are in the working tree; None: the user's own."""
        env = {"GIT_INDEX_FILE": str(index)} if index else None
        self.repository.must("update-index", "--add", "--remove", "-z", "--stdin", stdin=self.listing, env=env)

    def _tree(self) -> str:
        return self.repository.must("write-tree", env=self.env).text

    def _found(self, expected: str, *, sure: bool) -> _Made | None:
        """Return our commit among those since `expected`. It is known by its tree: HEAD may be somebody else's by now.

        Unless it must be `sure`, the oldest one stands for it (a post-commit hook may have changed the index).
        """
        span = f"{expected}..HEAD" if expected else "HEAD"
        out = self.repository.ask(
            "log", "--first-parent", "--reverse", "--no-show-signature", "--format=%H %T %P", span
        ).text
        rows = [line.split() for line in out.splitlines()]
        if not rows:
            return None
        tree = self._tree()
        chosen = next((row for row in rows if row[1] == tree), None if sure else rows[0])
        return _Made(chosen[0], chosen[2] if len(chosen) > 2 else "", expected) if chosen else None

    def mended(self, made: _Made) -> str:
        """Return our commit. Somebody may have committed between our reading of HEAD and git's: our tree would then
        undo their change, so the commit is made again on top of theirs, with a compare-and-swap of the branch."""
        repository, ours, parent = self.repository, made.sha, made.parent
        if parent == made.expected or repository.head() != ours:
            return ours  # one on top of ours comes from an index that had their change
        if self._prepare(parent):
            tree = self._tree()
            words = repository.must("log", "-1", "--no-show-signature", "--format=%B", ours).out
            author = dict(zip(("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_AUTHOR_DATE"),
                              repository.must("log", "-1", "--no-show-signature", "--format=%an%n%ae%n%aI", ours)
                              .text.split("\n"), strict=True))  # fmt: skip
            env = {**author_variables(), **author}
            mended = repository.must("commit-tree", *_sign(repository), "-p", parent, tree, stdin=words, env=env).text
        else:
            mended = parent  # they have committed our files already
        repository.must("update-ref", "-m", "commit: instinct, made again on the newer commit", "HEAD", mended, ours)
        return mended


def commit_on(repository: Repository, branch: str, base: str, files: Mapping[str, bytes], message: str) -> str:
    """Make a commit with these files on top of `base` and let the new `branch` point to it."""
    state = repository.place.worktree_state_dir
    state.mkdir(parents=True, exist_ok=True)
    private = state / f"propose.{os.getpid()}.{threading.get_ident()}"
    env = {"GIT_INDEX_FILE": str(private)}
    try:
        repository.must("read-tree", base, env=env)
        for path, content in files.items():
            blob = repository.must("hash-object", "-w", "--stdin", stdin=content).text
            repository.must("update-index", "--add", "--cacheinfo", f"100644,{blob},{repository.inside(path)}", env=env)
        tree = repository.must("write-tree", env=env).text
    finally:
        for leftover in (private, private.with_name(private.name + ".lock")):
            leftover.unlink(missing_ok=True)
    words, author = message.encode("utf-8"), author_variables()
    sha = repository.must("commit-tree", *_sign(repository), "-p", base, tree, stdin=words, env=author).text
    repository.must("update-ref", "-m", "instinct: propose", f"refs/heads/{branch}", sha, "0" * len(sha))
    return sha


def _sign(repository: Repository) -> list[str]:
    return ["-S"] if repository.ask("config", "--type=bool", "commit.gpgsign").text == "true" else []


def _commit_failed(result: Result) -> GitFailed:
    words = (result.err or result.text).strip() or f"exit {result.code}"
    if words == git.TIMED_OUT:
        return GitFailed(
            f"git commit did not end within {git.COMMIT_SECONDS:g} seconds",
            "signing or a hook may wait for input; nothing was changed",
        )
    if "gpg failed to sign" in words or "failed to write commit object" in words:
        return GitFailed(f"git could not sign the commit: {words}", "mend the signing set-up; nothing was changed")
    if "tell me who you are" in words.lower() or "unable to auto-detect" in words:
        return GitFailed(
            f"git does not know who you are: {last_line(words)}", "set user.name and user.email; nothing was changed"
        )
    return GitFailed(
        f"git commit was refused: {words}",
        "a hook may have said no; nothing was changed, the evidence waits for the next run",
    )


def _retried(action: Callable[[], T]) -> T:
    """Run `action` again while somebody else holds one of git's locks; a lock of others is never removed."""
    deadline = time.monotonic() + git.LOCK_SECONDS
    pause = 0.01
    while True:
        try:
            return action()
        except GitFailed as problem:
            if not _LOCKED.search(problem.message) or time.monotonic() > deadline:
                raise
            time.sleep(pause * (0.5 + random.random()))
            pause = min(pause * 2, 0.1)  # often enough to win against somebody who commits in a loop

"""How a batch becomes one commit of exactly its own paths.

The user's index, staged work and other files stay as they are: the commit is prepared in a private index, but porcelain
`git commit` writes it, so hooks, signing and identity are the user's.

Others may commit at any moment. Git takes a branch only from the commit that it read first, so nothing can slip in between
its reading of HEAD and its writing. What can happen, and what follows:

* Somebody commits between our reading of HEAD and git's: our tree lacks their change. Seen by our commit's parent; put
  right at once (`_Recipe.mended`), also when a further commit stands on ours by then.
* Somebody's git reads the index before it knows our files and commits, or writes that index, after ours. Whoever holds the
  index's lock at our last look is waited for; then tip and index are looked at and put right in the same batch.
* The same with a commit that holds no lock (its editor is open) or comes later still: the working tree has our files all
  the while, and the next batch sees by `_undone` that tip or index went back to what was before ours.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
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
            try:
                made = _retried(recipe.commit)
            except GitFailed:
                if not sha:
                    raise
                break  # ours stands; what was taken back of it is the next batch's
            if made is not None:
                sha = _retried(lambda made=made: recipe.mended(made))  # type: ignore[misc]
                _remember(repository, sha, _OWED)
            try:
                _retried(lambda: recipe.stage(None))  # the real index, our paths only: `git status` is clean for us
                _wait_for_index(repository)
            except (GitFailed, RepositoryBusy):
                break  # the commit stands; the next batch catches the index up
            if not sha:
                break
            if not any(_undone(repository, sha)):
                _remember(repository, sha, "")
                break
    finally:
        recipe.clean()
    return sha


def catch_up(repository: Repository) -> list[str]:
    """Let the real index know what the last batch committed, where somebody else held or overwrote that index.

    Returns the memory paths that a commit on top of the last batch's took back unknowingly: they are to be committed again.
    """
    tip, index = undone(repository)
    if index:
        _wait_for_index(repository)
        lines = "".join(f"{entry}\t{path}\0" for path, entry in index.items()).encode("utf-8", "surrogateescape")
        _retried(lambda: repository.must("update-index", "-z", "--index-info", stdin=lines))
        git.run(repository.top, ["update-index", "-q", "--refresh"])
    return tip


def undone(repository: Repository) -> tuple[list[str], dict[str, str]]:
    """Return (memory paths that the tip lacks of the last batch, {path from the top: entry} that the index lacks)."""
    try:
        sha, _, owed = _memo(repository).read_text(encoding="ascii").partition(" ")
    except (OSError, ValueError):
        return [], {}
    if not sha:
        return [], {}  # a power cut
    tip, index = _undone(repository, sha, owed=bool(owed))
    return [path.removeprefix(repository.prefix) for path in tip], index


_OWED = "index"


def _remember(repository: Repository, sha: str, owed: str) -> None:
    """Note the last batch's commit, and whether the real index has yet to learn of it."""
    try:
        _memo(repository).write_text(f"{sha} {owed}".strip(), encoding="ascii")
    except OSError:
        pass  # the commit stands all the same; `git reset -- .instinct` does it by hand


def _memo(repository: Repository) -> Path:
    return repository.place.worktree_state_dir / "last-batch"


def _undone(repository: Repository, sha: str, *, owed: bool = False) -> tuple[list[str], dict[str, str]]:
    """Return which of a batch's paths the tip, and which the index, has again as they were before it; by path from the top.

    A path counts where the working tree still holds what was committed: a person who takes a batch back (`git revert`)
    has the old file there. `owed`: the index never knew the commit, so that whatever it holds is older.
    """
    head = repository.head()
    if head != sha and repository.ask("merge-base", "--is-ancestor", sha, head).code:
        return [], {}  # the person has left or rewritten this history
    inside = f":(literal){repository.inside('.instinct')}"
    at_tip = {} if head == sha else _raw(repository, "diff-tree", "-r", sha, head, "--", inside)
    in_index = _raw(repository, "diff-index", "--cached", sha, "--", inside)
    if not at_tip and not in_index:
        return [], {}
    made = _raw(repository, "diff-tree", "-r", "--root", "--no-commit-id", sha, "--", inside)
    tip = [path for path, entry in made.items() if path in at_tip and at_tip[path].new == entry.old]
    index = [
        path for path, entry in made.items()
        if path in in_index and (owed or in_index[path].new == entry.old) and (path not in at_tip or path in tip)
    ]  # fmt: skip
    held = _held(repository, {path: made[path].new for path in {*tip, *index}})
    return (
        [path for path in tip if path in held],
        {path: made[path].new for path in index if path in held or (owed and path not in at_tip)},
    )


def _held(repository: Repository, entries: Mapping[str, str]) -> set[str]:
    """Return the paths that the working tree holds with the content of these entries (a removed one: does not hold)."""
    there = [path for path in entries if (repository.top / path).is_file()]
    names = "".join(f"{path}\n" for path in there).encode("utf-8", "surrogateescape")
    found = repository.must("hash-object", "--stdin-paths", stdin=names).text.split() if there else []
    blobs = dict(zip(there, found, strict=True))
    return {path for path, entry in entries.items() if blobs.get(path, "0" * len(entry.split()[1])) == entry.split()[1]}


class _Change(NamedTuple):
    """One path of a raw diff; each side is `mode id`, all zeros where there is none."""

    old: str
    new: str


def _raw(repository: Repository, *args: str) -> dict[str, _Change]:
    """Return {path from the top: change} of a diff command."""
    command, *rest = args
    out = repository.must(command, "-z", "--raw", "--no-abbrev", "--no-renames", *rest).out
    fields = iter(out.decode("utf-8", "surrogateescape").split("\0"))
    found = {}
    for meta in fields:
        if meta:
            old_mode, new_mode, old, new, _ = meta.lstrip(":").split(" ")
            found[next(fields)] = _Change(f"{old_mode} {old}", f"{new_mode} {new}")
    return found


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


@contextmanager
def _kept_messages(repository: Repository) -> Iterator[None]:
    """Put back the messages that git keeps for the person's next commit (`merge --squash`, `revert -n`): each commit
    removes them, and ours is not the one they were meant for."""
    kept = {}
    for name in ("SQUASH_MSG", "MERGE_MSG"):
        with suppress(OSError):
            kept[repository.git_dir / name] = (repository.git_dir / name).read_bytes()
    yield
    for path, content in kept.items():
        with suppress(OSError), path.open("xb") as stream:
            stream.write(content)


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
        with _kept_messages(self.repository):
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

        Unless it must be `sure`, its subject tells (a hook may have changed the index), else the oldest one stands for it.
        """
        span = f"{expected}..HEAD" if expected else "HEAD"
        out = self.repository.ask(
            "log", "--first-parent", "--reverse", "--no-show-signature", "--format=%H %T %P%x00%s", span
        ).text
        rows = [line.partition("\0")[::2] for line in out.splitlines()]
        if not rows:
            return None
        tree, subject = self._tree(), self.message.partition("\n")[0]
        alike = [facts for facts, _ in rows if facts.split()[1] == tree]
        if not alike and not sure:
            alike = [facts for facts, words in rows if words == subject] or [rows[0][0]]
        if not alike:
            return None
        sha, _, *parents = alike[0].split()
        return _Made(sha, parents[0] if parents else "", expected)

    def mended(self, made: _Made) -> str:
        """Return our commit. Somebody may have committed between our reading of HEAD and git's: our tree then undoes
        their change. Ours is made again with it, or, where a further commit stands on ours, the change is put back on
        top; either with a compare-and-swap of the branch."""
        repository, ours = self.repository, made.sha
        tip = repository.head()
        theirs = self._overridden(made, tip)
        if not theirs:
            return ours
        repository.must("read-tree", "--reset", tip, env=self.env)
        lines = "".join(f"{entry}\t{path}\0" for path, entry in theirs.items()).encode("utf-8", "surrogateescape")
        repository.must("update-index", "-z", "--index-info", stdin=lines, env=self.env)
        if tip != ours:
            words = (
                f"instinct: put back what {made.parent[:12]} changed\n\nOur commit {ours[:12]} was prepared before it."
            )
            mended, note = self._made_again(tip, words.encode(), {}), "put back"
        elif made.parent and self._tree() == repository.must("rev-parse", made.parent + "^{tree}").text:
            mended, note = made.parent, "nothing to add"  # they have committed our files already
        else:
            words = repository.must("log", "-1", "--no-show-signature", "--format=%B", ours).text
            author = dict(zip(("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_AUTHOR_DATE"),
                              repository.must("log", "-1", "--no-show-signature", "--format=%an%n%ae%n%aI", ours)
                              .text.split("\n"), strict=True))  # fmt: skip
            mended, note = self._made_again(made.parent, words.encode("utf-8", "surrogateescape"), author), "made again"
        repository.must("update-ref", "-m", f"commit: instinct, {note} on the newer commit", "HEAD", mended, tip)
        return mended if tip == ours else ours

    def _overridden(self, made: _Made, tip: str) -> dict[str, str]:
        """Return {path from the top: entry} of what our commit's parent changed and our tree, prepared before it, took
        back; not ours, and not changed again up to `tip`."""
        if made.parent == made.expected:
            return {}
        repository = self.repository
        empty = repository.must("hash-object", "-t", "tree", "--stdin").text
        theirs = _raw(repository, "diff-tree", "-r", made.expected or empty, made.parent or empty)
        undone = _raw(repository, "diff-tree", "-r", made.parent or empty, made.sha)
        later = _raw(repository, "diff-tree", "-r", made.sha, tip) if tip != made.sha else {}
        ours = set(self.listing.decode("utf-8", "surrogateescape").split("\0"))
        return {
            path: change.new
            for path, change in theirs.items()
            if path in undone and undone[path].new == change.old and path not in ours and path not in later
        }

    def _made_again(self, parent: str, words: bytes, author: Mapping[str, str]) -> str:
        env = {**author_variables(), **author}
        command = ("commit-tree", *sign(self.repository), *(["-p", parent] if parent else []), self._tree())
        return self.repository.must(*command, stdin=words, env=env).text


def sign(repository: Repository) -> list[str]:
    """Return the option that signs a commit, where the user signs."""
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
    if held := re.search(r"Unable to create '(.*\.lock)': File exists", words):
        return GitFailed(
            f"git could not commit: Unable to create '{held[1]}': File exists",
            "another git command runs; if none does, remove that file yourself and run this again",
        )
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

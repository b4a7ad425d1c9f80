"""The one door to git. GitPython is used as a runner of commands only: its own index code cannot read v4, split and
sparse indexes and writes unsigned commits.

Every child runs with git's own variables removed (a hook exports them), without a terminal, and with a time limit.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, TypeVar

from instinct_git.errors import GitFailed, NotInGit, RepositoryBusy
from instinct_git.storage.files import Place

SCRUBBED = (
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR",
    "GIT_NAMESPACE", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_LITERAL_PATHSPECS", "GIT_GLOB_PATHSPECS",
)  # fmt: skip
QUIET = {"GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": "true", "SSH_ASKPASS_REQUIRE": "never", "LC_ALL": "C"}
COMMIT_SECONDS = 120.0
READ_SECONDS = 60.0
LOCK_SECONDS = 10.0
_LOCKED = re.compile(r"\.lock|cannot lock ref|is at .* but expected|unable to lock")
_OPERATIONS = {
    "MERGE_HEAD": "a merge", "CHERRY_PICK_HEAD": "a cherry-pick", "REVERT_HEAD": "a revert",
    "rebase-merge": "a rebase", "rebase-apply": "a rebase", "sequencer": "a cherry-pick or revert",
}  # fmt: skip
_environment = threading.RLock()
T = TypeVar("T")


class Result(NamedTuple):
    """A finished git command."""

    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        """Standard output as text, without the last line end."""
        return self.out.decode("utf-8", "surrogateescape").rstrip("\n")


class Commit(NamedTuple):
    """One entry of a history."""

    sha: str
    day: str
    author: str
    subject: str


@contextmanager
def _without_git_variables() -> Iterator[None]:
    """Remove git's variables from this process while a child starts (GitPython copies the whole environment)."""
    with _environment:
        kept = {name: os.environ.pop(name) for name in SCRUBBED if name in os.environ}
        try:
            yield
        finally:
            os.environ.update(kept)


def run(folder: Path, args: Sequence[str], *, stdin: bytes = b"", env: Mapping[str, str] | None = None,
        seconds: float = READ_SECONDS, read_only: bool = False) -> Result:  # fmt: skip
    """Run git in `folder`. Raises GitFailed only when git itself is missing; a failing command is a Result."""
    try:
        import git as gitpython
    except ImportError as problem:  # GitPython refuses to be imported where there is no git
        raise GitFailed(f"git cannot be used: {str(problem).splitlines()[0]}", "install git and try again") from None
    variables = {**QUIET, **({"GIT_OPTIONAL_LOCKS": "0"} if read_only else {}), **(env or {})}
    with tempfile.TemporaryFile() as stream:
        stream.write(stdin)
        stream.seek(0)
        try:
            with _without_git_variables():
                code, out, err = gitpython.Git(str(folder)).execute(
                    ["git", *args],
                    istream=stream,
                    with_extended_output=True,
                    with_exceptions=False,
                    stdout_as_string=False,
                    strip_newline_in_stdout=False,
                    kill_after_timeout=None if os.name == "nt" else seconds,
                    env=variables,
                )
        except gitpython.exc.GitCommandNotFound:
            raise GitFailed("git is not installed or not on PATH", "install git and try again") from None
    return Result(int(code), bytes(out or b""), str(err or ""))


class Repository:
    """The git repository of one memory."""

    def __init__(self, place: Place) -> None:
        if place.top is None or place.git_dir is None or place.common_dir is None:
            raise NotInGit(f"{place.root} is not in a git repository", "run `git init` there first")
        self.place, self.top, self.git_dir, self.common_dir = place, place.top, place.git_dir, place.common_dir
        relative = place.root.resolve().relative_to(self.top.resolve()).as_posix()
        self.prefix = "" if relative == "." else relative + "/"
        """Path of the memory's root below the working tree's top, with a slash at its end."""

    def ask(self, *args: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> Result:
        """Run a reading command."""
        return run(self.top, args, stdin=stdin, env=env, read_only=True)

    def must(self, *args: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> Result:
        """Run a command that is expected to work; raises GitFailed with git's own words."""
        result = run(self.top, args, stdin=stdin, env=env)
        if result.code:
            raise _failed(args[0], result)
        return result

    def inside(self, path: str) -> str:
        """Return a memory path as a path from the working tree's top."""
        return self.prefix + path

    # -- facts -------------------------------------------------------------------------------------------------------

    def head(self) -> str:
        """Return the current commit's id; empty on an unborn branch."""
        return self.ask("rev-parse", "-q", "--verify", "HEAD^{commit}").text

    def commit_of(self, name: str) -> str:
        """Return the id of the commit that `name` stands for; empty when there is none."""
        return self.ask("rev-parse", "-q", "--verify", "--end-of-options", name + "^{commit}").text

    def branch(self) -> str:
        """Return the current branch's short name; empty when HEAD is detached."""
        return self.ask("symbolic-ref", "-q", "--short", "HEAD").text

    def default_branch(self, configured: str = "") -> tuple[str, str]:
        """Return (branch name, revision to read): config, else `<remote>/HEAD`, else main or master, else the
        current one; the remote-tracking tip where there is one (DESIGN section 3)."""
        refs = self.ask("for-each-ref", "--format=%(refname)%00%(symref)", "refs/heads", "refs/remotes").text
        known = dict(line.partition("\0")[::2] for line in refs.splitlines())
        heads = sorted(ref for ref in known if ref.endswith("/HEAD") and known[ref])
        heads.sort(key=lambda ref: ref != "refs/remotes/origin/HEAD")
        name = configured
        if not name and heads:
            name = known[heads[0]].removeprefix(heads[0].removesuffix("HEAD"))
        if not name:
            name = next((n for n in ("main", "master") if f"refs/heads/{n}" in known), "") or self.branch()
        remotes = [ref for ref in sorted(known) if ref.startswith("refs/remotes/") and ref.endswith(f"/{name}")]
        remotes.sort(key=lambda ref: ref != f"refs/remotes/origin/{name}")
        return name, remotes[0] if remotes else f"refs/heads/{name}"

    def recent_authors(self, commits: int = 200) -> int:
        """Return how many different people wrote the newest commits."""
        names = self.ask("log", f"-{commits}", "--format=%ae", "--no-show-signature").text
        return len({name.lower() for name in names.splitlines() if name and "[bot]" not in name})

    def root_commit(self) -> str:
        """Return the id of the (first) root commit; empty without commits."""
        return self.ask("rev-list", "--max-parents=0", "HEAD").text.partition("\n")[0]

    def files_at(self, revision: str, below: str = "") -> dict[str, str]:
        """Return {memory path: blob id} of the files at a revision."""
        out = self.ask("ls-tree", "-r", "-z", "--full-tree", revision, "--", self.inside(below) or ".").out
        found = {}
        for entry in out.decode("utf-8", "surrogateescape").split("\0"):
            meta, _, path = entry.partition("\t")
            if path.startswith(self.prefix) and meta.split()[1:2] == ["blob"]:
                found[path.removeprefix(self.prefix)] = meta.split()[2]
        return found

    def blobs(self, ids: Iterable[str]) -> dict[str, bytes]:
        """Return {blob id: content}."""
        wanted = list(dict.fromkeys(ids))
        if not wanted:
            return {}
        out = self.must("cat-file", "--batch", stdin="".join(f"{one}\n" for one in wanted).encode("ascii")).out
        found, at = {}, 0
        for one in wanted:
            end = out.index(b"\n", at)
            header = out[at:end].split()
            if len(header) != 3:
                raise GitFailed(f"git has no object {one}", "run `git fsck`; the clone may be damaged or partial")
            size = int(header[2])
            found[one] = out[end + 1 : end + 1 + size]
            at = end + 2 + size
        return found

    def tracked(self, below: str = ".instinct") -> dict[str, str]:
        """Return {memory path: tag letter of `git ls-files -t`} of the index entries."""
        out = self.ask("ls-files", "-t", "-z", "--full-name", "--", self.inside(below)).out
        entries = out.decode("utf-8", "surrogateescape").split("\0")
        return {entry[2:].removeprefix(self.prefix): entry[0] for entry in entries if len(entry) > 2}

    def history(self, paths: Sequence[str], limit: int = 0) -> list[Commit]:
        """Return the commits that changed any of the memory paths, newest first."""
        count = [f"-{limit}"] if limit else []
        args = ["log", *count, "--format=%H%x00%as%x00%an%x00%s", "--no-show-signature", "--"]
        out = self.ask(*args, *(self.inside(path) for path in paths)).text
        return [Commit(*line.split("\0", 3)) for line in out.splitlines() if line.count("\0") == 3]

    def holds(self, commit: str) -> bool:
        """True when some branch, tag or remote-tracking branch still contains the commit."""
        result = self.ask("for-each-ref", "--count=1", f"--contains={commit}", "--format=%(refname)")
        return result.code == 0 and bool(result.text)

    # -- may we commit? ----------------------------------------------------------------------------------------------

    def refuse_if_busy(self) -> None:
        """Raise RepositoryBusy, with what to do, in every state in which a batch must not be committed (law 6)."""
        later = "nothing is lost: the evidence stays in the inbox and the next batch takes it"
        for name, words in _OPERATIONS.items():
            if (self.git_dir / name).exists():
                raise RepositoryBusy(f"{words} is in progress", f"finish or abort it, then run this again; {later}")
        if "GIT_INDEX_FILE" in os.environ and (self.git_dir / "index.lock").exists():
            raise RepositoryBusy("a git commit is running (this is one of its hooks)", f"run it afterwards; {later}")
        probe = self.ask("rev-parse", "--is-inside-work-tree")
        if probe.code:
            raise _failed("rev-parse", probe)
        if not self.branch():
            raise RepositoryBusy("HEAD is detached", f"switch to a branch, then run this again; {later}")
        if self.ask("check-ignore", "-q", "--no-index", self.inside(".instinct/patterns/x.md")).code == 0:
            raise RepositoryBusy(
                ".instinct is ignored by git", "remove the ignore rule, or use `instinct init --private` instead"
            )
        tags = self.tracked()
        if "S" in tags.values():
            raise RepositoryBusy(
                "this sparse checkout leaves out files of .instinct",
                "add it with `git sparse-checkout add .instinct`, then run this again",
            )
        if "M" in tags.values():
            raise RepositoryBusy("files of .instinct have merge conflicts", "resolve them, then run this again")

    def refuse_without_identity(self) -> None:
        """Raise GitFailed when git does not know who commits. An identity is never invented."""
        result = run(self.top, ["var", "GIT_COMMITTER_IDENT"], env=_author())
        if result.code:
            raise GitFailed(
                "git does not know who you are: " + _last_line(result.err),
                'set user.name and user.email (`git config --global user.email you@example.org`), or INSTINCT_AUTHOR="Name '
                '<address>"; nothing is lost, run this again afterwards',
            )

    # -- committing --------------------------------------------------------------------------------------------------

    def real_index(self) -> Path:
        """Return the index file of this worktree."""
        return self.git_dir / "index"

    def commit(self, paths: Sequence[str], message: str) -> str:
        """Commit exactly these memory paths as they are in the working tree and return the commit's id.

        Returns an empty string when there is nothing to commit. The user's index, staged work and other files stay as
        they are; hooks, signing and identity are the user's, since porcelain `git commit` writes the commit.
        """
        owed = self.place.worktree_state_dir / "restage"
        listing = b"".join(os.fsencode(self.inside(path)) + b"\0" for path in dict.fromkeys(paths))
        if owed.exists():
            listing += owed.read_bytes()  # an earlier run committed these but could not refresh the real index
        self._wait_for_index()
        private = self.place.worktree_state_dir / f"index.{os.getpid()}.{threading.get_ident()}"
        private.parent.mkdir(parents=True, exist_ok=True)
        try:
            head, made = _retried(lambda: self._commit_once(private, listing, message))
            sha = _retried(lambda: self._repaired(head, private, listing)) if made else ""
        finally:
            for leftover in (private, private.with_name(private.name + ".lock")):
                leftover.unlink(missing_ok=True)
        try:
            _retried(lambda: self._stage(None, listing))  # the real index, our paths only: `git status` is clean for us
            owed.unlink(missing_ok=True)
        except GitFailed:
            owed.write_bytes(listing)  # the commit stands; the next batch catches the index up
        return sha

    def _wait_for_index(self) -> None:
        """Wait for a git command that holds the real index; refuse, and say how old the lock is, when it stays."""
        lock = self.git_dir / "index.lock"
        deadline = time.monotonic() + LOCK_SECONDS
        while lock.exists():
            if time.monotonic() > deadline:
                age = max(0, int(time.time() - lock.stat().st_mtime))
                raise RepositoryBusy(
                    f"{lock} has been held for {age} seconds",
                    "another git command runs; if none does, remove that file yourself and run this again",
                )
            time.sleep(0.05)

    def _commit_once(self, private: Path, listing: bytes, message: str) -> tuple[str, bool]:
        head = self.head()
        self._fresh_index(private, head)
        self._stage(private, listing)
        if self._nothing_staged(private, head):
            return head, False
        args = ["commit", "-q", "--no-status", "--cleanup=whitespace", "-F", "-"]
        env = {"GIT_INDEX_FILE": str(private), **_author()}
        result = run(self.top, args, stdin=message.encode("utf-8"), env=env, seconds=COMMIT_SECONDS)
        if result.code:
            raise _commit_failed(result)
        return head, True

    def _fresh_index(self, private: Path, head: str) -> None:
        """Start the private index from a copy of the real one (its cache of file times), reset to HEAD."""
        private.unlink(missing_ok=True)
        if self.real_index().exists():
            shutil.copyfile(self.real_index(), private)
        env = {"GIT_INDEX_FILE": str(private)}
        self.must("read-tree", *(["--reset", head] if head else ["--empty"]), env=env)

    def _stage(self, index: Path | None, listing: bytes) -> None:
        env = {"GIT_INDEX_FILE": str(index)} if index else None
        self.must("update-index", "--add", "--remove", "-z", "--stdin", stdin=listing, env=env)

    def _nothing_staged(self, private: Path, head: str) -> bool:
        env = {"GIT_INDEX_FILE": str(private)}
        if not head:
            return not self.ask("ls-files", "-z", env=env).out
        return self.ask("diff-index", "--cached", "--quiet", head, "--", env=env).code == 0

    def _repaired(self, expected: str, private: Path, listing: bytes) -> str:
        """Return our commit. Somebody may have committed between our reading of HEAD and git's: our tree would then
        undo their change, so the commit is made again on top of theirs, with a compare-and-swap of the branch."""
        ours = self.head()
        parent = self.commit_of(ours + "^")
        if parent == expected:
            return ours
        self._fresh_index(private, parent)
        self._stage(private, listing)
        tree = self.must("write-tree", env={"GIT_INDEX_FILE": str(private)}).text
        words = self.must("log", "-1", "--format=%B", ours).out
        author = dict(zip(("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_AUTHOR_DATE"),
                          self.must("log", "-1", "--format=%an%n%ae%n%aI", ours).text.split("\n"), strict=True))  # fmt: skip
        mended = self.must("commit-tree", *self._sign(), "-p", parent, tree, stdin=words, env={**_author(), **author}).text
        self.must("update-ref", "-m", "commit: instinct, made again on the newer commit", "HEAD", mended, ours)
        return mended

    def _sign(self) -> list[str]:
        return ["-S"] if self.ask("config", "--type=bool", "commit.gpgsign").text == "true" else []

    def commit_on(self, branch: str, base: str, files: Mapping[str, bytes], message: str) -> str:
        """Make a commit with these files on top of `base` and let the new `branch` point to it.

        Touches neither the working tree, the index nor HEAD. Raises GitFailed when the branch exists meanwhile.
        """
        state = self.place.worktree_state_dir
        state.mkdir(parents=True, exist_ok=True)
        private = state / f"propose.{os.getpid()}.{threading.get_ident()}"
        env = {"GIT_INDEX_FILE": str(private)}
        try:
            self.must("read-tree", base, env=env)
            for path, content in files.items():
                blob = self.must("hash-object", "-w", "--stdin", stdin=content).text
                self.must("update-index", "--add", "--cacheinfo", f"100644,{blob},{self.inside(path)}", env=env)
            tree = self.must("write-tree", env=env).text
        finally:
            for leftover in (private, private.with_name(private.name + ".lock")):
                leftover.unlink(missing_ok=True)
        sha = self.must("commit-tree", *self._sign(), "-p", base, tree, stdin=message.encode("utf-8"), env=_author()).text
        self.must("update-ref", "-m", "instinct: propose", f"refs/heads/{branch}", sha, "0" * len(sha))
        return sha


def init_repository(folder: Path) -> None:
    """Make `folder` a git repository (the user's own memories in $INSTINCT_HOME are ones)."""
    result = run(folder, ["init", "-q"])
    if result.code:
        raise _failed("init", result)


def _author() -> dict[str, str]:
    match = re.fullmatch(r"\s*(.+?)\s*<([^<>]+)>\s*", os.environ.get("INSTINCT_AUTHOR", ""))
    if match is None:
        return {}
    name, email = match.groups()
    return {"GIT_AUTHOR_NAME": name, "GIT_AUTHOR_EMAIL": email, "GIT_COMMITTER_NAME": name, "GIT_COMMITTER_EMAIL": email}


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no message"


def _failed(command: str, result: Result) -> GitFailed:
    if "dubious ownership" in result.err:
        return GitFailed("git refuses this folder: it belongs to another user", _last_line(result.err))
    hint = "nothing was changed; mend what git names and run this again"
    return GitFailed(f"git {command} failed: {result.err.strip() or result.code}", hint)


def _commit_failed(result: Result) -> GitFailed:
    words = (result.err or result.text).strip() or f"exit {result.code}"
    if "did not complete in" in words:
        return GitFailed(
            f"git commit did not end within {COMMIT_SECONDS:g} seconds", "signing or a hook may wait for input; nothing was changed"
        )
    if "gpg failed to sign" in words or "failed to write commit object" in words:
        return GitFailed(f"git could not sign the commit: {words}", "mend the signing set-up; nothing was changed")
    if "tell me who you are" in words.lower() or "unable to auto-detect" in words:
        return GitFailed(f"git does not know who you are: {_last_line(words)}", "set user.name and user.email; nothing was changed")
    return GitFailed(
        f"git commit was refused: {words}", "a hook may have said no; nothing was changed, the evidence waits for the next run"
    )


def _retried(action: Callable[[], T]) -> T:
    """Run `action` again while somebody else holds one of git's locks; a lock of others is never removed."""
    deadline = time.monotonic() + LOCK_SECONDS
    pause = 0.01
    while True:
        try:
            return action()
        except GitFailed as problem:
            if not _LOCKED.search(problem.message) or time.monotonic() > deadline:
                raise
            time.sleep(pause * (0.5 + random.random()))
            pause = min(pause * 2, 0.5)

"""The one door to git. GitPython is used as a runner of commands only: its own index code cannot read v4, split and
sparse indexes and writes unsigned commits.

Every child runs with git's own variables removed (a hook exports them), without a terminal, and with a time limit.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from instinct_git.errors import GitFailed, NotInGit, RepositoryBusy
from instinct_git.storage import hooks
from instinct_git.storage.files import Place

SCRUBBED = (
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR",
    "GIT_NAMESPACE", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_LITERAL_PATHSPECS", "GIT_GLOB_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS",
)  # fmt: skip
QUIET = {"GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": "true", "SSH_ASKPASS_REQUIRE": "never", "LC_ALL": "C"}
TIMED_OUT = "git did not end within its time limit"
COMMIT_SECONDS = 120.0
READ_SECONDS = 60.0
FAR_AHEAD = 20
"""Commits beyond `<remote>/HEAD` from which the remote's main or master is taken for the real default branch."""
ARGUMENTS = 500  # commit ids on one command line: 20 kB
LOCK_SECONDS = 10.0
_LOOK_SECONDS = 0.5
_OPERATIONS = {
    "MERGE_HEAD": "a merge", "CHERRY_PICK_HEAD": "a cherry-pick", "REVERT_HEAD": "a revert",
    "rebase-merge": "a rebase", "rebase-apply": "a rebase or `git am`", "sequencer": "a cherry-pick or revert",
}  # fmt: skip
_environment = threading.RLock()


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
                handle: Any = gitpython.Git(str(folder)).execute(
                    ["git", *args],
                    istream=stream,
                    as_process=True,
                    env=variables,
                    # A session of its own: all of it can be killed, and nothing in it can ask the person's terminal.
                    start_new_session=os.name != "nt",
                )
        except gitpython.exc.GitCommandNotFound:
            raise GitFailed("git is not installed or not on PATH", "install git and try again") from None
        return _finished(handle.proc, seconds)


def _finished(child: subprocess.Popen[bytes], seconds: float) -> Result:
    """Wait for a git process; at the time limit, and when we are interrupted, it goes with all that it started.

    When git has ended, whatever a hook left running in the background may hold the streams open: that is not waited for.
    """
    deadline = time.monotonic() + seconds
    ended = False
    while True:
        left = _LOOK_SECONDS if ended else deadline - time.monotonic()
        try:
            out, err = child.communicate(timeout=max(0.0, min(_LOOK_SECONDS, left)))
            return Result(child.returncode, out, err.decode("utf-8", "replace"))
        except subprocess.TimeoutExpired as late:
            if not ended and child.poll() is not None:
                ended = True  # it may have ended since we looked: what it said last still stands in the pipes
                continue
            if ended:
                _close(child)
                return Result(child.returncode, late.output or b"", (late.stderr or b"").decode("utf-8", "replace"))
            if time.monotonic() < deadline:
                continue
            _kill(child)
            return Result(child.returncode or 1, b"", TIMED_OUT)
        except BaseException:
            _kill(child)
            raise


def _kill(child: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(child.pid, signal.SIGKILL) if hasattr(os, "killpg") else child.kill()
    except OSError:
        pass  # it has ended meanwhile
    _close(child)
    child.wait()


def _close(child: subprocess.Popen[bytes]) -> None:
    for stream in (child.stdout, child.stderr):
        if stream is not None:
            stream.close()


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
            raise failed(args[0], result)
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
        return self.ask("symbolic-ref", "-q", "HEAD").text.removeprefix("refs/heads/")

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
        names = sorted(self.ask("remote").text.splitlines(), key=lambda one: (one != "origin", one))
        remotes = [ref for one in names if (ref := f"refs/remotes/{one}/{name}") in known]
        return name, remotes[0] if remotes else f"refs/heads/{name}"

    def default_branch_doubt(self, configured: str = "") -> tuple[str, str]:
        """Return (why `<remote>/HEAD` may name a leftover branch, what to do); two empty texts when nothing speaks for it.

        A clone notes the remote's default branch once; git never updates it by itself when the remote's is renamed.
        """
        if configured:
            return "", ""
        for remote in sorted(self.ask("remote").text.splitlines(), key=lambda one: (one != "origin", one)):
            base = f"refs/remotes/{remote}/"
            head = self.ask("symbolic-ref", "-q", base + "HEAD").text
            name = head.removeprefix(base)
            if not head:
                continue
            hint = f"`git remote set-head {remote} -a`, or `instinct config default_branch NAME`"
            if not self.commit_of(head):
                return f"{remote}/HEAD names {name}, a branch that is not there any more", hint
            for other in ("main", "master"):
                if other != name and self.commit_of(base + other):
                    counted = self.ask(
                        "rev-list", "--left-right", "--count", "--no-merges", f"{head}...{base}{other}"
                    ).text
                    behind, ahead = (int(one) for one in counted.split() or ("0", "0"))
                    if ahead >= FAR_AHEAD and ahead > behind:
                        return f"{remote}/HEAD names {name}, but {remote}/{other} is {ahead} commits ahead of it", hint
            return "", ""
        return "", ""

    def branch_blocker(self, name: str) -> str | None:
        """Return the existing branch that makes a branch of this name impossible, since git keeps branches as files and
        folders: `instinct` stands in the way of `instinct/skill/x`, and the other way round. None: nothing does."""
        refs = self.ask("for-each-ref", "--format=%(refname)", "refs/heads/" + name.partition("/")[0]).text.splitlines()
        branches = (ref.removeprefix("refs/heads/") for ref in refs)
        return next((one for one in branches if name.startswith(one + "/") or one.startswith(name + "/")), None)

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

    def differing(self, revision: str, below: str) -> tuple[set[str], set[str]]:
        """Return the memory paths whose working-tree files are not as at a revision, and those that git does not know."""
        names = (
            "diff",
            "--name-only",
            "-z",
            "--diff-filter=d",
            "--no-ext-diff",
            "--no-renames",
            "--no-relative",
            revision,
        )
        inside = f":(literal){self.inside(below)}"
        found = (self.ask(*names, "--", inside), self.ask("ls-files", "-o", "-z", "--full-name", "--", inside))
        changed, fresh = (one.out.decode("utf-8", "surrogateescape").split("\0") for one in found)
        return {one.removeprefix(self.prefix) for one in changed if one}, {
            one.removeprefix(self.prefix) for one in fresh if one
        }

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
        """Return {memory path: tag letter of `git ls-files -v`} of the index entries; a small one: assumed unchanged."""
        result = self.ask("ls-files", "-v", "-z", "--full-name", "--", self.inside(below))
        if result.code:
            raise failed("ls-files", result)  # a damaged index
        entries = result.out.decode("utf-8", "surrogateescape").split("\0")
        return {entry[2:].removeprefix(self.prefix): entry[0] for entry in entries if len(entry) > 2}

    def history(self, paths: Sequence[str], limit: int = 0) -> list[Commit]:
        """Return the commits that changed any of the memory paths, newest first."""
        count = [f"-{limit}"] if limit else []
        args = ["log", *count, "--format=%H%x00%as%x00%an%x00%s", "--no-show-signature", "--"]
        out = self.ask(*args, *(self.inside(path) for path in paths)).text
        return [Commit(*line.split("\0", 3)) for line in out.splitlines() if line.count("\0") == 3]

    def held(self, commits: Iterable[str]) -> set[str]:
        """Return those commits that some branch, tag or remote-tracking branch still contains, in one question."""
        wanted = sorted({commit for commit in commits if commit})
        there = self.ask("cat-file", "--batch-check", stdin="".join(f"{one}\n" for one in wanted).encode("ascii")).text
        known = [line.split()[0] for line in there.splitlines() if " commit " in line]
        found: set[str] = set()
        for at in range(0, len(known), ARGUMENTS):
            some = known[at : at + ARGUMENTS]
            result = self.ask("rev-list", *some, "--not", "--branches", "--tags", "--remotes")
            if result.code == 0:
                found |= set(some) - set(result.text.split())
        return found

    # -- may we commit? ----------------------------------------------------------------------------------------------

    def refuse_if_busy(self) -> None:
        """Raise RepositoryBusy, with what to do, in every state in which a batch must not be committed (law 6)."""
        later = "nothing is lost: the evidence stays in the inbox and the next batch takes it"
        for name, words in _OPERATIONS.items():
            if (self.git_dir / name).exists():
                raise RepositoryBusy(f"{words} is in progress", f"finish or abort it, then run this again; {later}")
        self.refuse_without_working_tree()
        if self._is_hook_of_an_open_commit():
            raise RepositoryBusy("a git commit is running (this is one of its hooks)", f"run it afterwards; {later}")
        if not self.branch():
            raise RepositoryBusy("HEAD is detached", f"switch to a branch, then run this again; {later}")
        if self.ask("check-ignore", "-q", "--no-index", self.inside(".instinct/patterns/x.md")).code == 0:
            raise RepositoryBusy(
                ".instinct is ignored by git", "remove the ignore rule, or use `instinct init --private` instead"
            )
        tags = self.tracked()
        if any(tag in "hs" for tag in tags.values()):
            raise RepositoryBusy(
                "files of .instinct are marked as assumed unchanged: git would commit old versions of them",
                "`git ls-files .instinct | git update-index --no-assume-unchanged --stdin`, then run this again",
            )
        if "S" in tags.values():
            raise RepositoryBusy(
                "this sparse checkout leaves out files of .instinct",
                "add it with `git sparse-checkout add .instinct`, then run this again",
            )
        if "M" in tags.values():
            raise RepositoryBusy("files of .instinct have merge conflicts", "resolve them, then run this again")

    def refuse_without_working_tree(self) -> None:
        """Raise RepositoryBusy where git has no working tree around the memory, GitFailed where it refuses the folder."""
        probe = self.ask("rev-parse", "--is-inside-work-tree")
        if probe.code:
            raise failed("rev-parse", probe)
        if probe.text == "true":
            return
        elsewhere = self.ask("config", "core.worktree").text
        if elsewhere:
            raise RepositoryBusy(
                f"git has the working tree of {self.top} elsewhere: core.worktree is {elsewhere}",
                "write a file .git with the line `gitdir: PATH` there, or `git config --unset core.worktree`",
            )
        raise RepositoryBusy(
            f"{self.top} is a bare repository: it has no working tree",
            "run this in a clone or a linked worktree of it (`git worktree add`)",
        )

    def _is_hook_of_an_open_commit(self) -> bool:
        """True in a hook of this worktree's `git commit` before the commit is made."""
        given = os.environ.get("GIT_INDEX_FILE")
        if not given:
            return False
        hook = hooks.find(given)
        index = ((hook.top or self.top) / given).resolve()
        if self.git_dir.resolve() not in index.parents:
            return False  # the commit of another repository
        if hook.before is not None or not index.exists():
            return bool(hook.before)
        # The system does not tell. Before a commit that changes something the index holds what HEAD has not.
        return not self.head() or bool(
            self.ask("diff-index", "--cached", "--quiet", "HEAD", env={"GIT_INDEX_FILE": str(index)}).code
        )

    def filter_of(self, path: str) -> str:
        """Return the name of the filter (such as lfs) through which a memory path goes into git; empty: as it is."""
        named = self.ask("check-attr", "filter", "--", self.inside(path)).text.rpartition(": ")[2]
        return "" if named in ("unspecified", "unset", "set") else named

    def refuse_without_identity(self) -> None:
        """Raise GitFailed when git does not know who commits. An identity is never invented."""
        result = run(self.top, ["var", "GIT_COMMITTER_IDENT"], env=author_variables())
        if result.code:
            raise GitFailed(
                "git does not know who you are: " + last_line(result.err),
                'set user.name and user.email (`git config --global user.email you@example.org`), or INSTINCT_AUTHOR="Name '
                '<address>"; nothing is lost, run this again afterwards',
            )

    # -- committing (storage/commits.py has the recipes) -----------------------------------------------------------------

    def real_index(self) -> Path:
        """Return the index file of this worktree."""
        return self.git_dir / "index"

    def commit(self, paths: Sequence[str], message: str) -> str:
        """Commit exactly these memory paths as they are in the working tree and return the commit's id; an empty
        string when there is nothing to commit."""
        from instinct_git.storage import commits

        return commits.commit(self, paths, message)

    def catch_up(self) -> list[str]:
        """Let the real index know what the last batch committed while somebody else held that index. Returns the memory
        paths that a later commit took back unknowingly and that are to be committed again."""
        from instinct_git.storage import commits

        return commits.catch_up(self)

    def undone(self) -> bool:
        """True when tip or index lack something of the last batch; the next one puts it back."""
        from instinct_git.storage import commits

        return any(commits.undone(self))


def init_repository(folder: Path) -> None:
    """Make `folder` a git repository (the user's own memories in $INSTINCT_HOME are ones)."""
    result = run(folder, ["init", "-q"])
    if result.code:
        raise failed("init", result)


def author_variables() -> dict[str, str]:
    """Return the variables that make INSTINCT_AUTHOR ("Name <address>") author and committer."""
    match = re.fullmatch(r"\s*(.+?)\s*<([^<>]+)>\s*", os.environ.get("INSTINCT_AUTHOR", ""))
    if match is None:
        return {}
    name, email = match.groups()
    return {
        "GIT_AUTHOR_NAME": name,
        "GIT_AUTHOR_EMAIL": email,
        "GIT_COMMITTER_NAME": name,
        "GIT_COMMITTER_EMAIL": email,
    }


def last_line(text: str) -> str:
    """Return git's last words."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no message"


def failed(command: str, result: Result) -> GitFailed:
    """Return the error for a command that failed, with git's own words."""
    if "dubious ownership" in result.err:
        return GitFailed("git refuses this folder: it belongs to another user", last_line(result.err))
    hint = "nothing was changed; mend what git names and run this again"
    return GitFailed(f"git {command} failed: {result.err.strip() or result.code}", hint)

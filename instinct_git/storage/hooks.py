"""Is this process one of git's hooks, and which? Told by what git exports and by the processes above this one."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import NamedTuple

BEFORE = frozenset({
    "pre-commit", "prepare-commit-msg", "commit-msg", "pre-merge-commit", "applypatch-msg", "pre-applypatch",
    "COMMIT_EDITMSG", "MERGE_MSG",  # an editor, from which somebody has started a terminal
})  # fmt: skip
"""Hooks of a commit that is not made yet."""
AFTER = frozenset({"post-commit", "post-merge", "post-checkout", "post-rewrite", "post-applypatch", "pre-push"})
"""Hooks that run when the commit stands."""
_ANCESTORS = 32
_PS_SECONDS = 5.0


class Hook(NamedTuple):
    """What is known of the hook that this process belongs to."""

    before: bool | None
    """True: its commit is not made yet; None: nothing tells."""
    top: Path | None = None
    """The folder in which git runs it: the working tree's top. What git exports may be relative to it."""


def find(index: str) -> Hook:
    """Return the hook (or editor) in which this runs; `index` is what git exports as GIT_INDEX_FILE."""
    found = Hook(None)
    ancestors = _ancestors()
    for _, arguments in ancestors:
        known = [name for name in _hook_names(arguments) if name in BEFORE | AFTER]
        if known:
            git = next(ancestors, (0, []))[0]
            found = Hook(known[0] in BEFORE, _folder(git))
            break
    name = PurePath(index).name
    if name == "index.lock" or name.startswith("next-index-"):
        # What `commit -a` and `commit <path>` prepare; after the commit git exports the index itself.
        return found._replace(before=True)
    return found


def _folder(pid: int) -> Path | None:
    try:
        return Path(f"/proc/{pid}/cwd").readlink()
    except OSError:
        return None


def _hook_names(arguments: list[str]) -> list[str]:
    """Return what may be a hook's name in a command line: what a hook runner says outright, else file names and words."""
    said = [one.removeprefix("--hook-type=") for one in arguments if one.startswith("--hook-type=")]
    return said or [PurePath(one).name for one in arguments]


def _ancestors() -> Iterator[tuple[int, list[str]]]:
    """Yield id and command line of the processes above this one, the nearest first; none where the system does not tell."""
    pid = os.getppid()
    for _ in range(_ANCESTORS):
        if pid <= 1:
            return
        found = _from_proc(pid) if os.path.isdir("/proc/self") else _from_ps(pid)
        if found is None:
            return
        parent, arguments = found
        yield pid, arguments
        pid = parent


def _from_proc(pid: int) -> tuple[int, list[str]] | None:
    try:
        status = Path(f"/proc/{pid}/stat").read_bytes()
        line = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return None
    # The program's name in brackets may hold anything; the state and the parent's id follow the last bracket.
    parent = int(status[status.rindex(b")") + 1 :].split()[1])
    return parent, line.decode("utf-8", "surrogateescape").split("\0")


def _from_ps(pid: int) -> tuple[int, list[str]] | None:
    try:
        done = subprocess.run(
            ["ps", "-o", "ppid=,args=", "-p", str(pid)], capture_output=True, text=True, timeout=_PS_SECONDS, check=False,
            errors="surrogateescape",
        )  # fmt: skip
        parent, *arguments = done.stdout.split()
        return int(parent), arguments
    except (OSError, ValueError, subprocess.SubprocessError):
        return None

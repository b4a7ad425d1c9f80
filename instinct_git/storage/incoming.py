"""What a shared repository brings, looked at before any of it reaches a working tree."""

from __future__ import annotations

import re

from instinct_git.core.evidence import LEDGER, OBSERVATIONS
from instinct_git.errors import InstinctError
from instinct_git.storage import config, git
from instinct_git.storage.git import Repository

FOLDER = ".instinct"
CONFIG = ".instinct/config.yaml"
MOST = 10
"""Problems that are named."""
POINTER_BYTES = 1024
"""A pointer to Git LFS is shorter, by its specification."""
FETCH_SECONDS = 1800.0
_PLACES = (OBSERVATIONS, LEDGER, ".instinct/patterns/")
_HOSTILE = re.compile(r'[\x00-\x1f\x7f\\:*?"<>|\udc80-\udcff]|[. ]$')
_DEVICE = re.compile(r"(?i)(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?$")
_ODD = {"120000": "a symbolic link", "160000": "a submodule"}


def is_memory(repository: Repository, tip: str) -> bool:
    """True when a commit holds a memory."""
    return any(path.startswith(_PLACES) for path in repository.files_at(tip, FOLDER))


def problems(repository: Repository, tip: str, old: str = "") -> list[str]:
    """Return why the memory at a commit is not taken, each with the path that is meant; empty: it is. `old` is a commit
    whose contents were looked at before."""
    out = repository.must("ls-tree", "-r", "-z", "--full-tree", tip, "--", FOLDER).out.decode(
        "utf-8", "surrogateescape"
    )
    modes = {path: meta.split(" ")[0] for meta, _, path in (one.partition("\t") for one in out.split("\0") if one)}
    found = [f"{_shown(path)} is {_ODD[mode]}" for path, mode in modes.items() if mode in _ODD]
    found += [f"{_shown(path)} has a name that is not safe on every system" for path in modes if _hostile(path)]
    found += _collisions(repository, tip, list(modes))
    found += [f"{path} is a pointer to Git LFS, without its content" for path in _pointers(repository, old, tip)]
    if CONFIG in modes and not found:
        found += _config(repository, tip)
    return found[:MOST] + ([f"and {len(found) - MOST} more"] if len(found) > MOST else [])


def _shown(path: str) -> str:
    return path.encode("unicode_escape", "surrogateescape").decode("ascii") if not path.isprintable() else path


def _hostile(path: str) -> bool:
    parts = path.split("/")
    return any(_HOSTILE.search(one) or _DEVICE.match(one) or one.lower() in (".git", "git~1", "..") for one in parts)


def _collisions(repository: Repository, tip: str, paths: list[str]) -> list[str]:
    top = repository.must("ls-tree", "--name-only", "-z", tip).out.decode("utf-8", "surrogateescape").split("\0")
    found = [f"{_shown(one)} is {FOLDER} on some systems" for one in top if one != FOLDER and one.casefold() == FOLDER]
    folders = {path.rpartition("/")[0] for path in paths}
    folders |= {"/".join(one.split("/")[:depth]) for one in folders for depth in range(1, one.count("/") + 1)}
    seen: dict[str, str] = {}
    for path in sorted({*paths, *folders}):
        other = seen.setdefault(path.casefold(), path)
        if other != path:
            found.append(f"{_shown(path)} and {_shown(other)} are one on some systems")
    return found


def _pointers(repository: Repository, old: str, tip: str) -> list[str]:
    """Return the changed files that are pointers to Git LFS. A partial clone fetches what is needed for it in one go."""
    empty = repository.must("hash-object", "-t", "tree", "--stdin").text
    changed = ("diff-tree", "-r", "-z", "--no-renames", "--diff-filter=d", old or empty, tip, "--", FOLDER)
    if repository.ask("config", "--type=bool", "remote.origin.promisor").text == "true":
        git.run(repository.top, [changed[0], "--numstat", *changed[1:]], seconds=FETCH_SECONDS)
    fields = repository.must(changed[0], "--raw", "--no-abbrev", *changed[1:]).out.decode("utf-8", "surrogateescape")
    rows = iter(fields.split("\0"))
    changes = [(meta.split(" "), next(rows)) for meta in rows if meta]
    blobs = {path: meta[3] for meta, path in changes if meta[1].startswith("100")}
    asked = "".join(f"{blob}\n" for blob in blobs.values()).encode("ascii")
    sizes = repository.must("cat-file", "--batch-check=%(objectname) %(objectsize)", stdin=asked).text.splitlines()
    small = {one.split(" ")[0] for one in sizes if one.split(" ")[1:2] and int(one.split(" ")[1]) < POINTER_BYTES}
    contents = repository.blobs(small)
    odd = {blob for blob, content in contents.items() if content.startswith(b"version https://git-lfs")}
    return sorted(path for path, blob in blobs.items() if blob in odd)


def _config(repository: Repository, tip: str) -> list[str]:
    blob = repository.files_at(tip, CONFIG)[CONFIG]
    try:
        config.validate(repository.blobs([blob])[blob].decode("utf-8-sig", "replace"), CONFIG)
    except InstinctError as problem:
        return [f"{problem.message}: {problem.hint}"]
    return []


def unsigned(repository: Repository, old: str, new: str) -> list[str]:
    """Return the commits from `old` (empty: the tip alone) to `new`, as the branch saw them, that git cannot verify.

    `git verify-commit` decides, with the keys, allowed signers and least trust of the person's own git config.
    """
    wanted = [f"{old}..{new}"] if old else ["-1", new]
    commits = repository.must("rev-list", "--first-parent", *wanted).text.splitlines()
    return [one for one in commits if repository.ask("verify-commit", one).code]

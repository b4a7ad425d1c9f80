"""What an unfinished merge has left in the index, and how settled files get back into it. Commits nothing."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from instinct_git.core.merge import Texts, Versions
from instinct_git.errors import GitFailed
from instinct_git.storage import files, git
from instinct_git.storage.git import Repository

_OPERATIONS = (
    ("rebase-merge", "rebase", "REBASE_HEAD"), ("rebase-apply", "rebase", "REBASE_HEAD"), ("MERGE_HEAD", "merge", "MERGE_HEAD"),
    ("CHERRY_PICK_HEAD", "cherry-pick", "CHERRY_PICK_HEAD"), ("REVERT_HEAD", "revert", "REVERT_HEAD^"),
)  # fmt: skip
"""(what git keeps in its directory meanwhile, the operation, the commit whose version of a file is theirs)."""


class Operation(NamedTuple):
    """What git is in the middle of."""

    name: str
    """merge, rebase, cherry-pick or revert; empty: nothing that git knows of (a stash, a patch)."""
    go_on: str
    """The command that ends it."""
    other: str
    """The commit whose change is brought in; empty when there is none."""


class Unmerged(NamedTuple):
    """One path that the index holds in several stages, each (mode, blob id) or None."""

    base: tuple[str, str] | None
    ours: tuple[str, str] | None
    theirs: tuple[str, str] | None

    @property
    def plain(self) -> bool:
        """True when every version is an ordinary file: no link, no submodule."""
        return all(one is None or one[0].startswith("100") for one in self)


def operation(repository: Repository) -> Operation:
    """Return what git is in the middle of."""
    for sign, name, revision in _OPERATIONS:
        if (repository.git_dir / sign).exists():
            return Operation(name, f"git {name} --continue", repository.commit_of(revision))
    return Operation("", "git commit", "")


def unmerged(repository: Repository) -> tuple[dict[str, Unmerged], list[str]]:
    """Return ({memory path below .instinct: its stages}, the other paths in conflict, from the working tree's top)."""
    stages: dict[str, list[tuple[str, str] | None]] = {}
    for entry in (
        repository.ask("ls-files", "-u", "-z", "--full-name").out.decode("utf-8", "surrogateescape").split("\0")
    ):
        meta, found, path = entry.partition("\t")
        if found:
            mode, blob, stage = meta.split(" ")
            stages.setdefault(path, [None, None, None])[int(stage) - 1] = mode, blob
    inside = repository.inside(".instinct/")
    ours = {
        path.removeprefix(repository.prefix): Unmerged(*three)
        for path, three in sorted(stages.items())
        if path.startswith(inside)
    }
    return ours, sorted(path for path in stages if not path.startswith(inside))


def versions(repository: Repository, conflicts: Mapping[str, Unmerged]) -> dict[str, Versions]:
    """Return the contents of the stages."""
    blobs = repository.blobs(one[1] for stages in conflicts.values() for one in stages if one is not None)
    return {
        path: Versions(*(None if one is None else blobs[one[1]] for one in stages))
        for path, stages in conflicts.items()
    }


def as_committed(repository: Repository, conflicts: Mapping[str, Unmerged], other: str) -> dict[str, Versions]:
    """Return the versions as the two sides have committed them.

    Where git takes a file for a renamed one it merges the lines of the two and puts the result, markers included, into
    the index: what a side has under that path is the truth, and the stage counts only where it has nothing there.
    """
    found = versions(repository, conflicts)
    for side, commit in (("ours", repository.head()), ("theirs", other)):
        known = repository.files_at(commit, ".instinct") if commit else {}
        wanted = {
            path: known[path]
            for path, stages in conflicts.items()
            if getattr(stages, side) is not None and path in known
        }
        blobs = repository.blobs(wanted.values())
        for path, blob in wanted.items():
            found[path] = found[path]._replace(**{side: blobs[blob]})
    return found


def merge_lines(repository: Repository, texts: Texts) -> tuple[str, int]:
    """Merge three texts line by line as `git merge` does; return the text and the number of conflicts left in it."""
    with tempfile.TemporaryDirectory() as folder:
        names = []
        for name, text in (("ours", texts.ours), ("base", texts.base), ("theirs", texts.theirs)):
            path = Path(folder) / name
            path.write_bytes(text.encode("utf-8"))
            names.append(str(path))
        labels = ["-L", "this side", "-L", "the common version", "-L", "the other side"]
        done = repository.ask("merge-file", "-p", "-q", *labels, *names)
    if done.code > 127:
        raise git.failed("merge-file", done)
    return done.out.decode("utf-8", "surrogateescape"), done.code


def read(repository: Repository, path: str) -> bytes | None:
    """Return a memory file as it is in the working tree; None when there is none."""
    file = repository.place.root / path
    return file.read_bytes() if file.is_file() else None


def settle(
    repository: Repository, contents: Mapping[str, bytes | None], new: Mapping[str, bytes], marked: Mapping[str, bytes]
) -> None:
    """Write settled files and stage exactly them; write files that still have conflict markers and stage them not.

    `new` holds containers that nobody has yet; when git cannot stage them they are taken back.
    """
    root = repository.place.root
    for path, content in {**contents, **marked}.items():
        if content is None:
            (root / path).unlink(missing_ok=True)
        elif read(repository, path) != content:
            files.replace(root / path, content)
    for path, content in new.items():
        files.create(root / path, content)
    paths = [*contents, *new]
    try:
        if paths:
            listing = b"".join(os.fsencode(repository.inside(path)) + b"\0" for path in paths)
            repository.must("update-index", "--add", "--remove", "-z", "--stdin", stdin=listing)
    except GitFailed:
        for path in new:
            with suppress(OSError):
                (root / path).unlink()
        raise

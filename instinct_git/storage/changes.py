"""What happened to some files of a project since a day, and which of them are there: for staleness. Reads only."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from instinct_git.core.staleness import MANIFESTS, Change, Ground
from instinct_git.errors import GitFailed
from instinct_git.storage import git
from instinct_git.storage.files import Place
from instinct_git.storage.git import Repository

LOG_SECONDS = 60.0
MAX_MANIFEST = 1_000_000
_LOG = (
    "log", "-z", "--first-parent", "--diff-merges=first-parent", "--raw", "--root", "--no-abbrev", "--no-renames",
    "--no-follow", "--no-color", "--no-show-signature", "--format=%x01%ct", "--stdin",
)  # fmt: skip


def ground(place: Place, paths: Iterable[str], since: str) -> Ground:
    """Return what became of cited paths since an ISO day (empty: since ever). Paths are below the project's folder.

    Without a repository, or where git cannot answer, `known` is False. Two or three git processes in all.
    """
    wanted = sorted({*paths})
    there = frozenset(path for path in wanted if os.path.lexists(place.root / path))
    manifests = {name: text for name in MANIFESTS if (text := _text(place.root / name)) is not None}
    if place.top is None:
        return Ground(there, manifests=manifests)
    repository = Repository(place)
    if not repository.head():
        return Ground(there, manifests=manifests)
    changes = _changes(repository, [*wanted, *MANIFESTS], since)
    if changes is None:
        return Ground(there, manifests=manifests)
    missing = [path for path in wanted if path not in there]
    listed = _known(repository, missing)
    # A bare name may stand in any folder, and a path may be cited from where somebody worked: both are still there.
    gone = {one.path for one in changes if not one.after and "/" in one.path}
    there |= {path for path in missing if path not in gone and any(one.endswith(f"/{path}") for one in listed)}
    shallow = repository.ask("rev-parse", "--is-shallow-repository").text == "true"
    old = {one.before for one in changes if one.path in MANIFESTS and one.before}
    return Ground(there, tuple(changes), not shallow, manifests, _blobs(repository, old), _at_head(repository, missing))


def _at_head(repository: Repository, paths: Sequence[str]) -> frozenset[str]:
    """Return those paths, files and folders, that HEAD holds: a deletion may be staged already."""
    found: set[str] = set()
    for at in range(0, len(paths), git.ARGUMENTS):
        asked = [repository.inside(path) for path in paths[at : at + git.ARGUMENTS]]
        out = repository.ask("ls-tree", "-z", "--full-tree", "--name-only", "HEAD", "--", *asked).out
        found |= {name.removeprefix(repository.prefix) for name in out.decode("utf-8", "surrogateescape").split("\0")}
    return frozenset(found & {*paths})


def _blobs(repository: Repository, ids: Iterable[str]) -> dict[str, str]:
    try:
        return {blob: data.decode("utf-8", "replace") for blob, data in repository.blobs(ids).items()}
    except GitFailed:  # a clone that fetches objects only when they are asked for, and no network
        return {}


def moved_to(place: Place, paths: Iterable[str]) -> dict[str, str]:
    """Return {vanished path: a file of the same name elsewhere} as far as git knows exactly one."""
    wanted = sorted({*paths})
    if place.top is None or not wanted:
        return {}
    repository = Repository(place)
    names = {path: path.rpartition("/")[2] for path in wanted}
    patterns = [f":(glob)**/{_escaped(name)}" for name in sorted(set(names.values()))]
    listed = _listed(repository, patterns)
    found = {path: [one for one in listed if one.rpartition("/")[2] == name] for path, name in names.items()}
    return {path: some[0] for path, some in found.items() if len(some) == 1 and some[0] != path}


def _known(repository: Repository, paths: Iterable[str]) -> list[str]:
    """Return tracked files that are, or end in, one of the paths."""
    patterns = [f":(glob)**/{_escaped(path)}" for path in paths]
    return _listed(repository, patterns)


def _listed(repository: Repository, patterns: list[str]) -> list[str]:
    found: list[str] = []
    for at in range(0, len(patterns), git.ARGUMENTS):
        result = repository.ask("ls-files", "-z", "--full-name", "--", *patterns[at : at + git.ARGUMENTS])
        names = result.out.decode("utf-8", "surrogateescape").split("\0")
        found += [name.removeprefix(repository.prefix) for name in names if name]
    return found


def _escaped(path: str) -> str:
    return "".join(f"\\{char}" if char in "*?[]\\" else char for char in path)


def _changes(repository: Repository, paths: Iterable[str], since: str) -> list[Change] | None:
    asked = [f":(literal){repository.inside(path)}" for path in paths]
    stdin = "\n".join(["HEAD", "--", *asked, ""]).encode("utf-8", "surrogateescape")
    limit = [f"--since={since}T00:00:00Z"] if since else []
    result = git.run(repository.top, [*_LOG, *limit], stdin=stdin, seconds=LOG_SECONDS, read_only=True)
    return None if result.code else [*_parsed(result.out, repository.prefix)]


def _parsed(out: bytes, prefix: str) -> Iterator[Change]:
    day, tokens = "", iter(out.split(b"\0"))
    for token in tokens:
        meta = token.lstrip(b"\n")
        if meta.startswith(b"\x01"):
            day = datetime.fromtimestamp(int(meta[1:]), UTC).date().isoformat()
        elif meta.startswith(b":"):
            path = next(tokens).decode("utf-8", "surrogateescape").removeprefix(prefix)
            _, _, before, after, _ = meta.decode("ascii").split()
            yield Change(day, path, before.strip("0") and before, after.strip("0") and after)


def last_days(repository: Repository, paths: Iterable[str]) -> dict[str, str]:
    """Return {path: ISO day of its last commit}; a path that was never committed is left out."""
    changes = _changes(repository, paths, "") or []
    found: dict[str, str] = {}
    for one in changes:
        found.setdefault(one.path, one.day)
    return found


def _text(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8", "replace") if path.stat().st_size <= MAX_MANIFEST else None
    except OSError:
        return None

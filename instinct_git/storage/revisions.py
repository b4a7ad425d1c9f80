"""A repository's past as `check` needs it: which commits changed the memory, and what a revision held."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from instinct_git.core.consolidate import Snapshot
from instinct_git.core.evidence import LEDGER, OBSERVATIONS
from instinct_git.core.lineage import Revision, is_container, is_pattern
from instinct_git.errors import InvalidDocument
from instinct_git.storage import config, git, store
from instinct_git.storage.files import Place
from instinct_git.storage.git import Repository

CONFIG = ".instinct/config.yaml"
LOG_SECONDS = 600.0
_NO_REPLACING = {"GIT_NO_REPLACE_OBJECTS": "1"}
_FORMAT = "%n".join(("%H", "%an", "%as", "%P", "%(trailers:key=Instinct-Batch,valueonly)"))
_LOG = (
    "log", "-z", "--first-parent", "--diff-merges=first-parent", "--reverse", "--raw", "--root", "--no-abbrev", "--no-renames",
    "--no-follow", "--no-color", "--no-show-signature", "--encoding=UTF-8", f"--format={_FORMAT}",
)  # fmt: skip


class Changed(NamedTuple):
    """One commit of the first-parent line and what it changed in the memory."""

    revision: Revision
    blobs: Mapping[str, str]
    """{memory path: blob id}; an empty id: the commit removes the file."""


def is_shallow(repository: Repository) -> bool:
    """True for a clone that has only the newest commits."""
    return repository.ask("rev-parse", "--is-shallow-repository").text == "true"


def merge_base(repository: Repository, one: str, other: str) -> str:
    """Return the best common ancestor of two commits; empty when there is none (or the clone does not reach it)."""
    return repository.ask("merge-base", one, other).text.partition("\n")[0]


def first_parents(repository: Repository, tip: str) -> list[Changed]:
    """Return the commits on the first-parent line of `tip` that changed the memory, oldest first.

    One git process, whatever the length of the history. A path that is no regular file counts as missing.
    """
    args = [*_LOG, tip, "--", f":(literal){repository.inside('.instinct')}"]
    result = git.run(repository.top, args, env=_NO_REPLACING, seconds=LOG_SECONDS, read_only=True)
    if result.code:
        raise git.failed("log", result)
    found: list[Changed] = []
    blobs: dict[str, str] = {}
    tokens = iter(result.out.split(b"\0"))
    for token in tokens:
        meta = token.lstrip(b"\n")
        if meta.startswith(b":"):
            path = next(tokens).decode("utf-8", "surrogateescape").removeprefix(repository.prefix)
            _, mode, _, blob, _ = meta.decode("ascii").split()
            blobs[path] = blob if mode.startswith("100") else ""
        elif meta:
            blobs = {}
            found.append(Changed(_revision(meta.decode("utf-8", "replace")), blobs))
    return found


def _revision(header: str) -> Revision:
    sha, author, day, parents, trailers = header.split("\n", 4)
    named = [one.strip() for one in trailers.split("\n") if one.strip()]
    return Revision(sha, author, day, named[0] if len(named) == 1 else "", " " in parents)


def contents(repository: Repository, commits: Iterable[Changed]) -> dict[str, bytes]:
    """Return {blob id: content} of everything that these commits wrote and `check` reads."""
    return repository.blobs(blob for one in commits for path, blob in one.blobs.items() if blob and _is_read(path))


def _is_read(path: str) -> bool:
    return is_container(path) or is_pattern(path) or path == CONFIG


def at(repository: Repository, commit: str) -> tuple[Snapshot, bytes | None]:
    """Return the memory's files as a commit holds them, and its config's text (None: it has no config)."""
    listed = {path: blob for path, blob in repository.files_at(commit, ".instinct").items() if _is_read(path)}
    found = repository.blobs(listed.values())
    held = {path: found[blob] for path, blob in listed.items()}
    patterns = {path: data.decode("utf-8", "surrogateescape") for path, data in held.items() if is_pattern(path)}
    observations = {path: data for path, data in held.items() if path.startswith(OBSERVATIONS)}
    ledger = {path: data for path, data in held.items() if path.startswith(LEDGER)}
    return Snapshot(patterns, observations, ledger), held.get(CONFIG)


def working_tree(place: Place) -> tuple[Snapshot, bytes | None]:
    """Return the memory's files as they are, without the inbox, and its config's text."""
    snapshot, _ = store.read(place)
    try:
        text = (place.root / CONFIG).read_bytes()
    except OSError:
        text = None
    return replace(snapshot, inbox=()), text


def settings_of(text: bytes | None) -> config.Config:
    """Return the settings that a committed config stands for, whoever reads it: a user's own settings are left out.

    What cannot be read, is unknown or has the wrong type leaves the default; `check` reports it at the tip.
    """
    values: dict[str, Any] = {one.name: one.default for one in config.SETTINGS}
    try:
        given = config.parse(text.decode("utf-8-sig"), CONFIG) if text is not None else {}
    except (InvalidDocument, UnicodeDecodeError):
        given = {}
    set_in = {name: CONFIG for name, value in given.items() if name in values and type(value) is type(values[name])}
    return config.Config({**values, **{name: given[name] for name in set_in}}, set_in)

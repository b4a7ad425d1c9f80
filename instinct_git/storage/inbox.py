"""This clone's uncommitted evidence: one new file a write, durable when `put` returns, from any number of processes.

No lock and no append: a file appears complete under a name nobody else has, so writers cannot meet (law 7).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from instinct_git.core.digest import hmac_hex
from instinct_git.core.evidence import BadLine, dump_container, nonce, parse_container, published
from instinct_git.core.model import Evidence
from instinct_git.errors import InstinctError
from instinct_git.storage import files
from instinct_git.storage.files import Place

TREE = ".instinct/observations"
LAST = "zz"
"""First characters of a nonce whose ids are to come last in their day; 50 bits of randomness follow."""


class Waiting(NamedTuple):
    """The inbox as read."""

    evidence: tuple[Evidence, ...]
    paths: tuple[Path, ...]
    bad: tuple[tuple[Path, BadLine], ...]


def new_stem(day: str, *, last: bool = False) -> str:
    """Return `<day>-<nonce>`, a container name that nobody else has.

    With `last` its ids come last in their day. The fold is floored at 0 and knows no time of day: what takes away must
    come after what the same day has added, or a part of it would be lost at the floor.
    """
    code = nonce(os.urandom(8))
    while code.startswith(LAST):
        code = nonce(os.urandom(8))
    return f"{day}-{LAST + code[len(LAST) :] if last else code}"


def _takes_away(evidence: Evidence) -> bool:
    return evidence.k == "denied" or (evidence.k == "adjusted" and int(evidence.extra.get("n", 0)) < 0)


def put(place: Place, evidence: Iterable[Evidence], day: str, *, tree: bool = False) -> tuple[list[Evidence], Path]:
    """Write evidence as one new inbox file and return it with its ids, and the file.

    Evidence without an id gets `<stem>.<line>`; evidence that has one (learned from a transcript) keeps it. The
    folders of DESIGN section 3 are tried in order, since an agent's sandbox may make `.git` read-only; `tree` takes
    the last, `.instinct/observations/`, at once. Raises InstinctError when none can be written; nothing is lost then
    but what was to be written.
    """
    evidence = list(evidence)
    stem = new_stem(day, last=any(_takes_away(one) for one in evidence))
    named = [one if one.id else one._replace(id=f"{stem}.{n}") for n, one in enumerate(evidence, 1)]
    problems: list[str] = []
    for folder in _targets(place, tree):
        try:
            published_form = folder == place.root / TREE
            content = dump_container(published(one) if published_form else one for one in named)
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / f"{stem}.jsonl"
            files.create(path, content)
            return named, path
        except OSError as problem:
            problems.append(f"{folder}: {problem.strerror or problem}")
    raise InstinctError(
        "the evidence cannot be written: " + "; ".join(problems),
        "free disk space, or let this user write to one of these folders ($INSTINCT_HOME moves the second)",
    )


def _targets(place: Place, tree: bool) -> Iterator[Path]:
    """Yield where evidence may go; the fallbacks need a hash, so they are named only when the first one failed."""
    if not tree:
        if place.common_dir is not None:
            yield place.state_dir / "inbox"
        yield from place.fallbacks()
    if place.exists():
        yield place.root / TREE


def writable(place: Place) -> Path | None:
    """Return the folder that evidence would go to now, tried with a file that is removed at once; None: nowhere."""
    for folder in _targets(place, tree=False):
        probe = folder / f".probe-{os.urandom(6).hex()}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            files.create(probe, b"")
            probe.unlink()
            return folder
        except OSError:
            continue
    return None


def read(place: Place) -> Waiting:
    """Read every inbox folder. A line that cannot be read is reported, never dropped."""
    evidence: list[Evidence] = []
    paths: list[Path] = []
    bad: list[tuple[Path, BadLine]] = []
    for path in inbox_files(place):
        try:
            found, broken = parse_container(path.read_bytes())
        except FileNotFoundError:
            continue  # another process drained it between the listing and the reading
        evidence += found
        paths.append(path)
        bad += [(path, line) for line in broken]
    return Waiting(tuple(evidence), tuple(paths), tuple(bad))


def inbox_files(place: Place) -> list[Path]:
    """Return the inbox files, oldest name first."""
    found: list[Path] = []
    # Without a folder for them there are no fallbacks, and their names cost a hash.
    several = place.common_dir is None or (place.home / "inbox").is_dir()
    for folder in place.inboxes if several else [place.state_dir / "inbox"]:
        try:
            found += [folder / entry for entry in sorted(os.listdir(folder)) if entry.endswith(".jsonl")]
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            continue
    return [path for path in found if not path.name.startswith(".")]


def session_code(place: Place, session: str) -> str:
    """Return the 12 hex digits that stand for an agent's session id in this clone (an HMAC under its secret)."""
    return hmac_hex(_secret(place), session.encode("utf-8", "surrogatepass"))[:12]


def _secret(place: Place) -> bytes:
    """Return the clone's secret; it is made on first use, by whichever process comes first."""
    for folder in (place.state_dir, place.home / "state" / files.project_id(place)):
        path = folder / "secret"
        try:
            return path.read_bytes()
        except FileNotFoundError:
            pass
        except OSError:
            continue
        try:
            folder.mkdir(parents=True, exist_ok=True)
            files.create(path, os.urandom(32).hex().encode("ascii"))
            os.chmod(path, 0o600)
        except FileExistsError:
            pass
        except OSError:
            continue
        return path.read_bytes()
    return os.urandom(32)  # no folder can be written: the evidence still counts, its session is a new one

"""What the last tidying judged of the patterns, for `suggest`: one small file of this working tree, a cache.

`check --stale`, `stats --effect` and every folding batch write it. Without it nothing is lowered.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from instinct_git.storage import files
from instinct_git.storage.files import Place

FILE = "judged.json"
VERSION = 1


class Judged(NamedTuple):
    """What lowers a suggestion."""

    stale: Mapping[str, tuple[str, ...]] = {}
    """{key: what it cites that has vanished: paths, and names with their kind ("make target lint")}."""
    sinks: frozenset[str] = frozenset()
    """Keys that were shown often and never followed (`core.effect.never_followed`)."""
    base: str = ""
    """The folder that the cited paths are below."""


def read(place: Place) -> Judged:
    """Return the last judgement; what is back in the working tree since is stale no more."""
    try:
        found = json.loads(_path(place).read_bytes())
        if found["version"] != VERSION or found["root"] != str(place.root):
            return Judged()
        base, sinks = str(found["base"]), frozenset(found["sinks"])
        stale = {key: tuple(one for one in cited if _gone(base, one)) for key, cited in found["stale"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return Judged()
    return Judged({key: cited for key, cited in stale.items() if cited}, sinks, base)


def _gone(base: str, cited: str) -> bool:
    """False for a path that is back; a name is judged with the whole only."""
    return " " in cited or not os.path.lexists(os.path.join(base, cited))


def write(place: Place, judged: Judged) -> None:
    """Keep a judgement; one that cannot be kept lowers nothing."""
    record = {
        "version": VERSION, "root": str(place.root), "stale": {key: list(one) for key, one in judged.stale.items()},
        "sinks": sorted(judged.sinks), "base": judged.base,
    }  # fmt: skip
    path = _path(place)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        files.replace(path, json.dumps(record, ensure_ascii=True).encode("ascii"))
    except OSError:
        return


def _path(place: Place) -> Path:
    return place.worktree_state_dir / FILE

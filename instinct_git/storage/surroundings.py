"""What the folder around a memory shows of the work done there: its languages, and which files are in play.

Only names are read, in the project's top folder and the folders right below it: a session's start must not walk a tree.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from instinct_git.core.applicability import languages_of
from instinct_git.storage.files import Place

MAX_NAMES = 5_000
"""Names looked at; a project shows its languages long before."""
_OTHERS_CODE = frozenset(
    ("node_modules", "vendor", "third_party", "venv", "env", "dist", "build", "target", "site-packages")
)


class Surroundings:
    """The working tree that suggestions are for."""

    def __init__(self, place: Place, folder: Path) -> None:
        self._root = place.top or (folder if place.fell_back else place.root)
        self._folder = folder

    def languages(self) -> frozenset[str]:
        """Return the languages that the names of files show."""
        return languages_of(_names(str(self._root)))

    def has(self, path: str) -> bool:
        """True when the project has a file or folder at a relative path."""
        return not path or os.path.exists(os.path.join(self._root, path))

    def inside(self, paths: Iterable[str]) -> Iterator[str]:
        """Return paths, absolute or relative to the folder, as they are from the project's root, with forward slashes;
        what lies outside is left out."""
        root = os.path.realpath(self._root)
        for path in paths:
            full = os.path.realpath(os.path.join(self._folder, path))
            if full.startswith(root + os.sep):
                yield os.path.relpath(full, root).replace(os.sep, "/")


def _names(root: str) -> Iterator[str]:
    folders = [root]
    seen = 0
    for depth in range(3):
        deeper: list[str] = []
        for folder in folders:
            try:
                with os.scandir(folder) as entries:
                    found = sorted((one.name, one.is_dir(follow_symlinks=False)) for one in entries)
            except OSError:
                continue
            for name, is_folder in found:
                seen += 1
                if seen > MAX_NAMES:
                    return
                if not is_folder:
                    yield name
                elif depth < 2 and name[0] != "." and name not in _OTHERS_CODE:
                    deeper.append(os.path.join(folder, name))
        folders = deeper

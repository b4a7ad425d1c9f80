"""The files that search looks at: patterns as the pattern index knows them, skills, procedures and MEMORY.md."""

from __future__ import annotations

import os
import stat
import time
from functools import cached_property
from pathlib import Path

from instinct_git.core.digest import sha256_hex
from instinct_git.core.document import body_of
from instinct_git.core.memory_file import PATH
from instinct_git.core.passage import Entry, Passage, entry, of_document, of_pattern
from instinct_git.errors import InvalidDocument
from instinct_git.storage import files
from instinct_git.storage.files import Place
from instinct_git.storage.index import RACY_NS, Known


class Files:
    """What can be found in one memory, as it is now."""

    def __init__(self, place: Place, known: Known) -> None:
        self.place, self.known = place, known
        self._documents = _documents(place)

    @cached_property
    def state(self) -> str:
        """Stands for all stamps; empty: some are not trusted."""
        if not self.known.state or not all(self._documents.values()):
            return ""
        return sha256_hex(repr((self.known.state, self._documents)).encode("utf-8", "surrogateescape"))

    @cached_property
    def stamps(self) -> dict[str, str]:
        """{path: stamp} of every file; an empty stamp is not trusted."""
        patterns = {path: self.known.stamp(number) for path, number in self.known.numbers.items()}
        return {**patterns, **self._documents}

    def read(self, path: str) -> list[Entry]:
        """Return a file's passages as they are indexed."""
        return [entry(path, part, one) for part, one in enumerate(self.passages(path))]

    def passages(self, path: str) -> list[Passage]:
        """Return a file's passages; none where it cannot be read."""
        try:
            text = (self.place.root / path).read_bytes().decode("utf-8", "surrogateescape")
        except OSError:
            return []
        number = self.known.numbers.get(path)
        if number is None:
            return of_document(path, text)
        try:
            body = body_of(text)
        except InvalidDocument:  # somebody is editing it
            body = ""
        return [of_pattern(self.known.file(number), body)]


def document_paths(root: Path) -> list[str]:
    """Return the paths of the approved skills and procedures, without what links lead to: that is not the memory's."""
    skills = [f"skills/{name}/SKILL.md" for name in _folders(str(root / "skills"))]
    procedures = [f"memory/procedures/{name}" for name in sorted(files.regular_files(root / "memory" / "procedures"))]
    found = [one for one in procedures if one.endswith(".md") and not one.endswith("/README.md")]
    return [one for one in (*skills, *found) if _status(root / one) is not None]


def _documents(place: Place) -> dict[str, str]:
    """Return {path: stamp} of skills, procedures and MEMORY.md."""
    now = time.time_ns()
    found = {}
    for path in (*document_paths(place.root), PATH):
        status = _status(place.root / path)
        if status is None:
            continue
        young = max(status.st_mtime_ns, status.st_ctime_ns) >= now - RACY_NS
        numbers = (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)
        found[path] = "" if young else ".".join(map(str, numbers))
    return found


def _status(path: Path) -> os.stat_result | None:
    """Return what is known of an ordinary file; None for anything else."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status if stat.S_ISREG(status.st_mode) else None


def _folders(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    except (FileNotFoundError, NotADirectoryError):
        return []

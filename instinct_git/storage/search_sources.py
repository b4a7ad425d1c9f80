"""The files that search looks at: patterns as the pattern index knows them, skills, procedures and MEMORY.md."""

from __future__ import annotations

import os
import stat
import time
from functools import cached_property

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


def _documents(place: Place) -> dict[str, str]:
    """Return {path: stamp} of skills, procedures and MEMORY.md, without what links lead to."""
    root, now = place.root, time.time_ns()
    paths = [f"skills/{name}/SKILL.md" for name in _folders(str(root / "skills"))]
    paths += [f"memory/procedures/{name}" for name in sorted(files.regular_files(root / "memory" / "procedures"))]
    found = {}
    for path in (*(one for one in paths if one.endswith(".md") and not one.endswith("/README.md")), PATH):
        try:
            status = os.lstat(root / path)
        except OSError:
            continue
        if not stat.S_ISREG(status.st_mode):
            continue  # what a link leads to is not the memory's
        young = max(status.st_mtime_ns, status.st_ctime_ns) >= now - RACY_NS
        numbers = (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)
        found[path] = "" if young else ".".join(map(str, numbers))
    return found


def _folders(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    except (FileNotFoundError, NotADirectoryError):
        return []

"""One memory as search sees it: its files as the indexes know them, what only waits in its inbox, and its live numbers."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

from instinct_git.core import candidates as pool
from instinct_git.core.confidence import fold_one
from instinct_git.core.evidence import LEDGER, OBSERVATIONS, parse_container, position
from instinct_git.core.keys import category_of, split_key
from instinct_git.core.model import LEVELS, Evidence, Policy, Tally
from instinct_git.core.passage import Passage, meaning, of_pattern
from instinct_git.core.pattern import PatternFile
from instinct_git.operations.observing import evidence_about, lines_about
from instinct_git.operations.workspace import Workspace
from instinct_git.storage import files, inbox, index
from instinct_git.storage.files import Place
from instinct_git.storage.search_sources import Files

_FEW = 40
"""So many keys are looked up in the evidence one by one; for more all of it is read."""


class Layer:
    """One memory, for one answer."""

    OPEN = (pool.COLLECTING, pool.READY, pool.NOMINATED, pool.PROPOSED)

    def __init__(self, space: Workspace) -> None:
        self.space = space
        self.known = index.read(space.place)
        self.files = Files(space.place, self.known)

    @cached_property
    def _policy(self) -> Policy:
        return self.space.config().policy

    @cached_property
    def _fresh(self) -> list[Evidence]:
        """What no batch has folded yet: the inbox, and what is only recorded."""
        place = self.space.place
        found = list(inbox.read(place).evidence)
        for path in files.container_paths(place.root, OBSERVATIONS):
            try:
                found += parse_container((place.root / path).read_bytes())[0]
            except OSError:
                continue  # a batch took it away meanwhile
        return found

    @cached_property
    def _touched(self) -> set[str]:
        """The keys whose live number may differ from the file's."""
        return {one.p for one in self._fresh} | {str(one.extra.get("to")) for one in self._fresh if one.k == "alias"}

    @cached_property
    def waiting(self) -> dict[str, PatternFile]:
        """{key: what would be in its file} of patterns that no batch has made a file for yet."""
        fresh = sorted({one.p for one in self._fresh} - self._filed)
        if not fresh:
            return {}
        joined = any(one.k in ("alias", "retract") for one in self._fresh)
        found = None if joined or self.known.broken or len(fresh) > _FEW else evidence_about(self.space.place, fresh)
        if found is None:
            return self._all_waiting()
        told = {}
        for key, members in found.items():
            tally = fold_one(members, self._policy)
            if tally.total > 0 and not self._deleted(key, tally):
                told[key] = _file(key, tally, members)
        return told

    @cached_property
    def _filed(self) -> set[str]:
        return {key for key in self.known.keys if key is not None}

    def _deleted(self, key: str, tally: Tally) -> bool:
        """True when a person deleted the key's file: evidence that was folded after it last faded is there without it."""
        root = self.space.place.root
        folded = lines_about([root / path for path in files.container_paths(root, LEDGER)], [key])
        after = tally.last_faded
        return any(one.p == key and one.k != "faded" and (after is None or position(one.id) > after) for one in folded)

    def _all_waiting(self) -> dict[str, PatternFile]:
        """The same, from all evidence: aliases, retractions and unreadable files change what a key stands for."""
        from instinct_git.core.consolidate import removed_by_person

        book, _ = self.space.read()
        return {
            key: _file(key, tally, book.groups.get(key, ()))
            for key, tally in book.tallies(self._policy).items()
            if key not in book.files and tally.total > 0 and not removed_by_person(book, key, tally)
        }

    def keys(self) -> list[str]:
        """Return every key that can be found."""
        return sorted(self._filed | self.waiting.keys())

    def live(self, keys: Iterable[str]) -> dict[str, int]:
        """Return {key: confidence with everything that waits} where it may differ from the file's."""
        wanted = [key for key in keys if key in self._touched]
        if not wanted:
            return {}
        offsets = {file.key: file.offset for file in map(self._of_key, wanted) if file is not None}
        found = evidence_about(self.space.place, wanted)
        if found is None:
            book, _ = self.space.read()
            tallies = book.tallies(self._policy)
            return {key: offsets.get(key, 0) + tallies.get(key, Tally()).total for key in wanted}
        return {key: offsets.get(key, 0) + fold_one(found[key], self._policy).total for key in wanted}

    @cached_property
    def _by_key(self) -> dict[str, int]:
        return {key: number for number, key in enumerate(self.known.keys) if key is not None}

    def _of_key(self, key: str) -> PatternFile | None:
        number = self._by_key.get(key)
        return self.known.file(number) if number is not None else None

    def passage(self, name: str) -> tuple[str, int, Passage] | None:
        """Return (path or key, part, passage) of a key or of a document named `path:line`; None: there is none."""
        if name in self.waiting:
            return name, -1, of_pattern(self.waiting[name])
        path, _, line = name.rpartition(":")
        file = self._of_key(name)
        path = file.path if file is not None else path if line.isdigit() else name
        if path not in self.files.stamps:
            return None
        parts = self.files.passages(path)
        begun = [
            part for part, one in enumerate(parts) if file is not None or not line.isdigit() or one.line <= int(line)
        ]
        return (path, begun[-1], parts[begun[-1]]) if begun else None

    def found(self, path: str, part: int) -> tuple[PatternFile | None, Passage, str, Place] | None:
        """Return (pattern, passage, path, place) of an entry as its file is now; None: it is gone. Of a document the
        pattern is None; of what waits the path is empty."""
        place = self.space.place
        file = self.pattern(path, part)
        if part < 0:
            return (file, of_pattern(file), "", place) if file is not None else None
        parts = self.files.passages(path)
        return (file, parts[part], path, place) if part < len(parts) else None

    def pattern(self, path: str, part: int) -> PatternFile | None:
        """Return the pattern of an entry; None for a document."""
        if part < 0:
            return self.waiting.get(path)
        number = self.known.numbers.get(path)
        return None if number is None else self._with_candidate(self.known.file(number))

    def _with_candidate(self, file: PatternFile) -> PatternFile:
        """Return a file with its candidate as the evidence that waits has it."""
        if not any(one.p == file.key and one.k != "observed" for one in self._fresh):
            return file
        members = (evidence_about(self.space.place, [file.key]) or {}).get(file.key, [])
        one = pool.fold_candidate(members, key=file.key) if members else None
        return file._replace(candidate=pool.summary(one)) if one else file

    def meaning(self, path: str, part: int) -> str:
        """Return the words of an entry that stand for its meaning."""
        if part < 0:
            return meaning(of_pattern(self.waiting[path]))
        parts = self.files.passages(path)
        return meaning(parts[part]) if part < len(parts) else ""


def _file(key: str, tally: Tally, members: Iterable[Evidence]) -> PatternFile:
    """Return what a key's file would say; its confidence is what a file would add to: 0."""
    category = category_of(key) if split_key(key)[0] != "other" else category_of(key, tally.category or None)
    one: Any = pool.fold_candidate(members, key=key)
    return PatternFile(
        "", "", key, category, 0, 0, LEVELS[0], tally.first_seen, tally.last_seen, tally.sources, tally.sessions,
        tally.title, tally.description, candidate=pool.summary(one), metadata=tally.metadata,
    )  # fmt: skip

"""A cache of the parsed pattern files of one working tree. Deleting it changes no answer (law 10).

Every answer looks at every file's size, times and inode, since a file may be edited in place; what differs is parsed
again, and what changed in the moment it was read is not trusted. A folder that did not change is not listed again. What
is known is kept in this process and in a file, whose rows are parsed only when somebody asks for them.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from instinct_git import __version__
from instinct_git.core import applicability, injection, ranking
from instinct_git.core.digest import sha256_hex
from instinct_git.core.keys import pattern_path
from instinct_git.core.pattern import Finding, PatternFile
from instinct_git.errors import InvalidDocument
from instinct_git.storage import files
from instinct_git.storage.files import Place

RACY_NS = 50_000_000  # coarser than any clock that stamps files on the systems we run on, but network shares
_FIELDS = tuple(name for name in PatternFile._fields if name not in ("path", "text", "body", "has_separator"))
VERSION = ["5", __version__, *_FIELDS]  # another version may read or rank the same files differently
_UNTRUSTED = (0, 0, 0, 0)
UNREADABLE = "pattern-unreadable"
_UNCLEAR = applicability.AppliesTo(("?",))


class _Folder(NamedTuple):
    """One folder below `patterns/` as listed."""

    stamp: list[int]
    """Of the folder itself; empty: not trusted, so it is listed again."""
    inner: list[str]
    """Names of its folders."""
    names: list[str]
    """Names of its pattern files."""
    stamps: list[int]
    """Four numbers a file: modified, changed (both in ns), size, inode; zeros: not trusted, so it is parsed again."""


class Known:
    """What the pattern files say. `keys` and `rows` are in the order of the paths: fewer slashes first, then by name."""

    def __init__(self, folders: dict[str, _Folder], rows: list[str], said: Mapping[str, Any]) -> None:
        self.folders, self.rows = folders, rows
        self.keys: list[str | None] = said["keys"]
        """The key of each file; None for a file that cannot be read or whose key stands in another one."""
        self.ranked: list[int] = said["ranked"]
        """Numbers of the files that are suggested, in the order of `ranking.in_order`."""
        self.costs: list[int] = said["costs"]
        """What each of `ranked` takes of a token budget."""
        self.strengths: list[tuple[int, int, str]] = [(row[0], row[1], row[2]) for row in said["strengths"]]
        """The strength of each of `ranked`: rank of its level (a rule's is 0), confidence, last seen."""
        self.limited: dict[int, applicability.AppliesTo] = {
            int(number): applicability.AppliesTo(*map(tuple, limits)) for number, limits in said["limited"].items()
        }
        """{number of a file of `ranked`: where it applies}; the others apply everywhere."""
        self.rivals: list[tuple[str, str, str]] = [(row[0], row[1], row[2]) for row in said["rivals"]]
        """(key, key, why) of what is suggested and contradicts each other."""
        self.part_of: Mapping[str, str] = said["part_of"]
        """{sequence of `ranked`: the longest one of them that holds its steps}."""
        self.silent: frozenset[str] = frozenset(said["silent"])
        """Keys that a person silenced here, or that came to 0: no farther memory speaks of them either."""
        self.broken = [Finding(*row) for row in said["broken"]]
        self.require: str = said.get("require", "")
        """What a file needs to be suggested (`Place.require`)."""
        self.paths = [f"{folder}/{name}" for folder, one in folders.items() for name in one.names]
        self.made: dict[int, Any] = {}
        """What suggesting has made of it, by the number of its memory: kept for as long as the files say the same."""
        self._files: dict[int, PatternFile] = {}

    @cached_property
    def told_keys(self) -> frozenset[str | None]:
        """The keys of what is suggested."""
        return frozenset(self.keys[number] for number in self.ranked)

    @cached_property
    def numbers(self) -> dict[str, int]:
        """{path: number of a file that speaks for its key}."""
        return {path: n for n, (path, key) in enumerate(zip(self.paths, self.keys, strict=True)) if key is not None}

    @cached_property
    def state(self) -> str:
        """Stands for the names and stamps of all files; empty: some are not trusted."""
        if any(0 in folder.stamps[::4] for folder in self.folders.values()):
            return ""
        told = ((path, folder.names, folder.stamps) for path, folder in self.folders.items())
        return sha256_hex(repr(list(told)).encode("utf-8", "surrogateescape"))

    def stamp(self, number: int) -> str:
        """Return one file's stamp as text; empty: not trusted."""
        numbers = self._stamps[4 * number : 4 * number + 4]
        return ".".join(map(str, numbers)) if any(numbers) else ""

    @cached_property
    def _stamps(self) -> list[int]:
        return [number for folder in self.folders.values() for number in folder.stamps]

    def file(self, number: int) -> PatternFile:
        """Return a file, its text and body left out."""
        found = self._files.get(number)
        if found is None:
            found = self._files[number] = _restored(self.paths[number], self.rows[number])
        return found

    def take_over(self, old: Known) -> None:
        """Take over what another reading has parsed of rows that are the same."""
        parsed = {(file.path, old.rows[number]): file for number, file in old._files.items()}
        found = ((number, parsed.get(one)) for number, one in enumerate(zip(self.paths, self.rows, strict=True)))
        self._files.update({number: file for number, file in found if file is not None})

    def patterns(self) -> list[PatternFile]:
        """Return every readable pattern file, one a key, by key."""
        return sorted((self.file(n) for n, key in enumerate(self.keys) if key is not None), key=lambda one: one.key)


_warm: dict[str, Known] = {}
"""{root: what this process knows of it}."""


def patterns(place: Place) -> tuple[list[PatternFile], list[Finding]]:
    """Return every readable pattern file (its text and body left out), one a key, and what could not be read."""
    known = read(place)
    return known.patterns(), known.broken


def read(place: Place) -> Known:
    """Return what the pattern files say now."""
    root = str(place.root)
    known = _warm.get(root)
    if known is None or known.require != place.require:
        known = _load(place)
    now = time.time_ns()
    listed = _listing(root, known.folders if known is not None else {})
    if known is None or known.folders != listed:
        known = _read_again(place, listed, known, now)
    _warm[root] = known
    return known


# --- looking at the files -------------------------------------------------------------------------------------------


def _listing(root: str, known: Mapping[str, _Folder]) -> dict[str, _Folder]:
    """Return {folder below the root: its files as they are now}, in the order of the paths."""
    found: dict[str, _Folder] = {}
    level = [".instinct/patterns"]
    while level:
        deeper: list[str] = []
        for folder in sorted(level, key=lambda one: one + "/"):
            try:
                status = os.stat(f"{root}/{folder}")
                stamp = [status.st_mtime_ns, status.st_ctime_ns, status.st_ino]
                old = known.get(folder)
                inner, names = (old.inner, old.names) if old and old.stamp == stamp else _listed(f"{root}/{folder}")
            except (FileNotFoundError, NotADirectoryError):
                continue
            try:
                stamps = _stamps(f"{root}/{folder}", names)
            except FileNotFoundError:  # a checkout or a batch took one away meanwhile
                names = [name for name in names if os.path.exists(f"{root}/{folder}/{name}")]
                stamp, stamps = [], list(_UNTRUSTED) * len(names)
            found[folder] = _Folder(stamp, inner, names, stamps)
            deeper += [f"{folder}/{name}" for name in inner]
        level = deeper
    return found


def _listed(folder: str) -> tuple[list[str], list[str]]:
    """Return the names of a folder's folders and of its pattern files."""
    inner, names = [], []
    with os.scandir(folder) as entries:
        for entry in entries:
            name = entry.name
            if entry.is_dir(follow_symlinks=False):
                inner.append(name)
            elif (
                name.endswith(".md") and name[0] != "." and name != "README.md" and entry.is_file(follow_symlinks=False)
            ):
                names.append(name)
    return sorted(inner), sorted(names)


def _stamps(folder: str, names: Sequence[str]) -> list[int]:
    if not names or os.stat not in os.supports_dir_fd:
        return _four(map(os.stat, [f"{folder}/{name}" for name in names]))
    at = os.open(folder, os.O_RDONLY)  # a name below an open folder is found sooner than a whole path
    try:
        return _four(os.stat(name, dir_fd=at) for name in names)
    finally:
        os.close(at)


def _four(found: Iterable[os.stat_result]) -> list[int]:
    stamps: list[int] = []
    for one in found:
        stamps += (one.st_mtime_ns, one.st_ctime_ns, one.st_size, one.st_ino)
    return stamps


# --- reading what changed -------------------------------------------------------------------------------------------


def _read_again(place: Place, listed: Mapping[str, _Folder], old: Known | None, now: int) -> Known:
    """Parse what differs from what was known, and keep what can be trusted."""
    before = _rows_by_path(old) if old is not None else {}
    folders: dict[str, _Folder] = {}
    rows: list[str] = []
    broken: list[tuple[str, str, str]] = []
    for folder, found in listed.items():
        names: list[str] = []
        stamps: list[int] = []
        for at, name in enumerate(found.names):
            path, stamp = f"{folder}/{name}", tuple(found.stamps[4 * at : 4 * at + 4])
            row = before.get((path, stamp))
            if row is None:
                try:
                    row = _parsed(place.root, path)
                except FileNotFoundError:
                    continue  # a checkout or a batch took it away meanwhile
                except InvalidDocument as problem:
                    row = json.dumps(str(problem))
                except OSError as problem:
                    row, stamp = json.dumps(str(problem)), _UNTRUSTED
            if row.startswith('"'):
                broken.append((UNREADABLE, path, json.loads(row)))
            names.append(name)
            stamps += stamp if max(stamp[:2]) < now - RACY_NS else _UNTRUSTED
            rows.append(row)
        young = not found.stamp or max(found.stamp[:2]) >= now - RACY_NS or names != found.names
        folders[folder] = _Folder([] if young else found.stamp, found.inner, names, stamps)
    known = _digested(folders, rows, broken, place, old)
    if old is None or (old.folders, old.rows) != (folders, rows):
        _save(place, known)
    return known


def _rows_by_path(known: Known) -> dict[tuple[str, tuple[int, ...]], str]:
    stamps = [one for folder in known.folders.values() for one in zip(*[iter(folder.stamps)] * 4, strict=True)]
    return {(path, stamp): row for path, stamp, row in zip(known.paths, stamps, known.rows, strict=True) if any(stamp)}


def _parsed(root: Path, path: str) -> str:
    from instinct_git.core.document import parse

    pattern = parse((root / path).read_bytes().decode("utf-8", "surrogateescape"), path)
    return json.dumps([getattr(pattern, name) for name in _FIELDS], default=_plain)


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else str(value)


def _restored(path: str, row: str) -> PatternFile:
    values = (tuple(value) if isinstance(value, list) else value for value in json.loads(row))
    named: dict[str, Any] = dict(zip(_FIELDS, values, strict=True))
    return PatternFile(path, "", **named)


def _digested(
    folders: dict[str, _Folder], rows: list[str], broken: list[tuple[str, str, str]], place: Place, old: Known | None
) -> Known:
    """Decide which file speaks for its key, and what is suggested in which order. What `old` had parsed of rows that are
    the same is taken over."""
    from itertools import combinations

    from instinct_git.core.contradictions import contradictions
    from instinct_git.core.families import families

    nothing = {"keys": [None] * len(rows), "ranked": [], "costs": [], "strengths": [], "limited": {}}
    nothing |= {"silent": [], "rivals": [], "part_of": {}}
    known = Known(folders, rows, {**nothing, "broken": broken, "require": place.require})
    if old is not None:
        known.take_over(old)
    numbers: dict[str, int] = {}
    for number, row in enumerate(rows):
        if row.startswith('"'):
            continue
        file = known.file(number)
        if file.key not in numbers or file.path == pattern_path(file.key):
            numbers[file.key] = number
    for key, number in numbers.items():
        known.keys[number] = key
    spoken = [known.file(number) for number in numbers.values()]
    read = place.documents_read
    told = [file for file in spoken if ranking.suggestible(file, read=read) and _may_speak(file, place.require)]
    limits = dict(_limits(known, told, numbers))
    told = ranking.in_order(file for file in told if limits.get(numbers[file.key]) != _UNCLEAR)
    known.ranked = [numbers[file.key] for file in told]
    known.costs = [injection.cost(file, injection.origin(file, place.called)) for file in told]
    known.strengths = [ranking.strength(file) for file in told]
    known.limited = {number: one for number, one in limits.items() if one != _UNCLEAR}
    known.silent = frozenset(file.key for file in spoken if ranking.silent(file, read=read))
    known.part_of = families(file.key for file in told)
    known.rivals = [
        (one, other, found.reason) for found in contradictions(told) for one, other in combinations(found.keys, 2)
    ]
    return known


def _limits(
    known: Known, told: Iterable[PatternFile], numbers: Mapping[str, int]
) -> Iterator[tuple[int, applicability.AppliesTo]]:
    """Read where patterns apply. What cannot be read is told nowhere, and said."""
    for file in told:
        if not file.applies_to:
            continue
        try:
            yield numbers[file.key], applicability.applies_to(file.applies_to)
        except ValueError as problem:
            known.broken.append(Finding("applies-to", file.path, f"{file.path}: {problem}"))
            yield numbers[file.key], _UNCLEAR


def _may_speak(file: PatternFile, require: str) -> bool:
    """True where nothing is required, or a person's approval stands in the file."""
    return require != files.APPROVED or any(str(one.get("by", "")).startswith("human:") for one in file.verified)


# --- the file -------------------------------------------------------------------------------------------------------


def _file(place: Place) -> Path:
    return place.worktree_state_dir / "index-patterns.json"


def _load(place: Place) -> Known | None:
    try:
        checksum, _, content = _file(place).read_bytes().partition(b"\n")
        if checksum == _checksum(content):
            head, _, rows = content.decode("ascii").partition("\n")
            saved = json.loads(head)
            same = (saved["version"], saved["root"], saved["require"]) == (VERSION, str(place.root), place.require)
            if same:
                folders = {path: _Folder(*folder) for path, folder in saved["folders"].items()}
                return Known(folders, rows.split("\n") if rows else [], saved)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        pass  # missing or of another version: it is made anew, as it is when the checksum tells of damage
    return None


def _save(place: Place, known: Known) -> None:
    if not place.exists():  # nothing to remember, and it would make $INSTINCT_HOME even where its disk is missing
        return
    head = json.dumps({
        "version": VERSION, "root": str(place.root), "folders": known.folders, "keys": known.keys,
        "ranked": known.ranked, "costs": known.costs, "strengths": known.strengths, "limited": known.limited,
        "silent": sorted(known.silent), "rivals": known.rivals, "part_of": known.part_of,
        "broken": [(one.rule, one.path, one.message) for one in known.broken], "require": known.require,
    })  # fmt: skip
    content = "\n".join([head, *known.rows]).encode("ascii")
    try:
        files.replace(_file(place), _checksum(content) + b"\n" + content)
    except OSError:
        pass  # a cache that cannot be written only costs time


def _checksum(content: bytes) -> bytes:
    from binascii import crc32

    return b"%08x" % crc32(content)

"""The index behind search: terms, triples and vectors of what can be found, in one SQLite file that may go at any time.

The files are the truth. What differs from them by its stamp is read again, in one transaction; a file that is damaged, of
another version or not ours is made anew. Each answer opens the database for itself, so threads and processes share it
through SQLite's own locks. Where it cannot be written or has no full-text search, the same answers come from memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from instinct_git import __version__
from instinct_git.core.bm25 import Statistics
from instinct_git.core.passage import Entry
from instinct_git.core.terms import may_begin, triples
from instinct_git.storage.files import Place, path_id

NAME = "index-search.db"
VERSION = f"1 {__version__}"
"""Another version may cut texts into other terms."""
PATIENCE = 120.0
"""Seconds to wait for a process that is building the index; after that the answer comes from memory."""
_APPLICATION = 0x1257C7
_SCHEMA = """
create table meta(name text primary key, value text not null);
create table entries(
    id integer primary key, path text not null, part integer not null, kind text not null, name text not null,
    length integer not null, digest text not null, stamp text not null, unique(path, part));
create index entries_digest on entries(digest);
create virtual table words using fts5(key, title, tags, description, text, tokenize = 'ascii');
create virtual table vocabulary using fts5vocab('words', 'row');
create virtual table near using fts5(triples, tokenize = 'ascii');
create table vectors(model text not null, digest text not null, vector blob not null, primary key(model, digest)) without rowid;
"""


_OF_KIND = "and rowid in (select id from entries where kind = ?)"


def _given(kind: str) -> tuple[str, ...]:
    return (kind,) if kind else ()


class Sources(Protocol):
    """The files behind an index as they are now."""

    @property
    def state(self) -> str:
        """Stands for all stamps; empty: some are not trusted, so that they must be looked at."""

    @property
    def stamps(self) -> Mapping[str, str]:
        """{path: stamp}; an empty stamp is not trusted: the file is read again."""

    def read(self, path: str) -> list[Entry]:
        """Read one file's entries; none where it cannot be read."""


class Index(Protocol):
    """What search asks of an index."""

    def statistics(self, asked: Iterable[str]) -> Statistics:
        """Return how often terms occur."""

    def matching(
        self, asked: Sequence[str], phrases: Sequence[Sequence[str]], limit: int, kind: str = ""
    ) -> list[Entry]:
        """Return entries (of one kind; empty: of any) that hold one of the terms and all phrases, the likeliest first."""

    def named(self, part: str, limit: int, kind: str = "") -> list[Entry]:
        """Return entries whose name holds a text, the shortest first."""

    def nearly_named(self, wanted: set[str], limit: int, kind: str = "") -> list[Entry]:
        """Return entries whose name has triples in common with these, most first."""

    def digests(self) -> list[tuple[int, str]]:
        """Return (number, digest) of all entries."""

    def numbered(self, numbers: Sequence[int]) -> list[Entry]:
        """Return entries by their numbers, in that order."""

    def vectors(self, model: str) -> dict[str, bytes]:
        """Return {digest: vector} as far as a model has read the entries."""

    def keep(self, model: str, vectors: Mapping[str, bytes]) -> None:
        """Keep what a model has read."""


class Damaged(Exception):
    """The index turned out to be damaged while it was asked."""

    def __init__(self, path: Path, problem: Exception) -> None:
        super().__init__(f"{path}: {problem}")
        self._path, self._locked = path, "locked" in str(problem)

    def forget(self) -> None:
        """Remove the file, so that it is made anew; not one that others are only using."""
        if not self._locked:
            _remove(self._path)


@contextmanager
def opened(place: Place, sources: Sources, *, kept: bool = True) -> Iterator[Index]:
    """Give an up-to-date index of a memory for one answer; without `kept` one in memory alone.

    Asking it may raise Damaged: then forget the file and ask again, at last without it.
    """
    index: Index | None = None
    try:
        index = _database(place, sources) if kept else None
    except ImportError:
        pass  # a Python without sqlite3
    if index is None:
        index = _in_memory(place, sources)
    try:
        yield index
    finally:
        if isinstance(index, Database):
            index.close()


def homes(place: Place) -> tuple[Path, ...]:
    """Return where the index may lie, the preferred place first: agents' sandboxes make `.git` read-only."""
    return place.worktree_state_dir / NAME, place.home / "state" / path_id(place.root) / NAME


def _database(place: Place, sources: Sources) -> Database | None:
    """Return the up-to-date database; None where none can be had."""
    import sqlite3

    for path in dict.fromkeys(homes(place)):
        for _ in range(2):
            database = None
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                database = Database(path)
                database.refresh(sources)
                return database
            except sqlite3.OperationalError as problem:  # read-only, locked for too long, a full disk, no FTS5
                _close(database)
                if "no such" not in str(problem) or "fts5" in str(problem):
                    break
                _remove(path)  # tables are missing: it is not ours
            except (sqlite3.Error, _Foreign, UnicodeError, ValueError, TypeError):
                _close(database)
                _remove(path)  # damaged, or not ours: made anew, once
            except OSError:
                _close(database)
                break
    return None


class _Foreign(Exception):
    """The file was made by another program or version."""


def _close(database: Database | None) -> None:
    if database is not None:
        database.close()


def _remove(path: Path) -> None:
    for name in (path, path.with_name(path.name + "-journal"), path.with_name(path.name + "-wal")):
        try:
            name.unlink()
        except OSError:
            pass  # it is not there, or a folder: then the next place is tried


class Database:
    """An index in SQLite."""

    def __init__(self, path: Path) -> None:
        import sqlite3

        self._path = path
        self._db = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, cached_statements=32)
        self._db.execute("pragma synchronous = normal")
        self._db.execute("pragma cache_size = -65536")

    def close(self) -> None:
        self._db.close()

    # -- making and refreshing ---------------------------------------------------------------------------------------

    def refresh(self, sources: Sources) -> None:
        """Bring the index up to date with the files; nothing is written when nothing changed."""
        if not self._is_made():
            self._make()
        if sources.state and self._said("state") == sources.state:
            return
        self._db.execute("begin immediate")
        try:
            if not (sources.state and self._said("state") == sources.state):  # nobody else did it meanwhile
                if self._update(sources):
                    self._count()
                self._say("state", sources.state)
            self._db.execute("commit")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("rollback")
            raise

    def _is_made(self) -> bool:
        """True when the tables are there; raises _Foreign when something else is."""
        if not self._one("select count(*) from sqlite_master"):
            return False
        if self._one("pragma application_id") != _APPLICATION or self._said("version") != VERSION:
            raise _Foreign
        return True

    def _make(self) -> None:
        self._db.execute("begin exclusive")
        try:
            if not self._one("select count(*) from sqlite_master"):
                for statement in _SCHEMA.split(";\n"):
                    if statement.strip():
                        self._db.execute(statement)
                self._db.execute(f"pragma application_id = {_APPLICATION}")
                self._say("version", VERSION)
                self._say("state", "")
                self._count()
            self._db.execute("commit")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("rollback")
            raise

    def _update(self, sources: Sources) -> bool:
        """Read what differs; False when no entry changed."""
        before: dict[str, tuple[str, list[tuple[int, str]]]] = {}
        for number, path, digest, stamp in self._db.execute(
            "select id, path, digest, stamp from entries order by path, part"
        ):
            before.setdefault(path, (stamp, []))[1].append((number, digest))
        changed = False
        for path in before.keys() - sources.stamps.keys():
            self._drop(number for number, _ in before[path][1])
            changed = True
        for path, stamp in sources.stamps.items():
            known, rows = before.get(path, ("", []))
            if stamp and known == stamp:
                continue
            entries = sources.read(path)
            if rows and [digest for _, digest in rows] == [one.digest for one in entries]:
                if known != stamp:
                    self._db.execute("update entries set stamp = ? where path = ?", (stamp, path))
                continue
            self._drop(number for number, _ in rows)
            for one in entries:
                self._add(one, stamp)
            changed = changed or bool(rows or entries)
        return changed

    def _drop(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            for table, column in (("words", "rowid"), ("near", "rowid"), ("entries", "id")):
                self._db.execute(f"delete from {table} where {column} = ?", (number,))

    def _add(self, one: Entry, stamp: str) -> None:
        made = self._db.execute(
            "insert into entries(path, part, kind, name, length, digest, stamp) values(?, ?, ?, ?, ?, ?, ?)",
            (one.path, one.part, one.kind, one.name, one.length, one.digest, stamp),
        )
        self._db.execute(
            "insert into words(rowid, key, title, tags, description, text) values(?, ?, ?, ?, ?, ?)",
            (made.lastrowid, *one.fields),
        )
        found = " ".join(sorted(triples(one.name)))
        self._db.execute("insert into near(rowid, triples) values(?, ?)", (made.lastrowid, found))

    def _count(self) -> None:
        number, length = self._db.execute("select count(*), coalesce(sum(length), 0) from entries").fetchone()
        self._say("entries", str(number))
        self._say("terms", str(length))
        self._db.execute("delete from vectors where digest not in (select digest from entries)")

    def _say(self, name: str, value: str) -> None:
        self._db.execute("insert or replace into meta values(?, ?)", (name, value))

    def _said(self, name: str) -> str | None:
        row = self._db.execute("select value from meta where name = ?", (name,)).fetchone()
        return str(row[0]) if row else None

    def _one(self, statement: str) -> Any:
        return self._db.execute(statement).fetchone()[0]

    # -- asking ------------------------------------------------------------------------------------------------------

    def _rows(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        """Return all rows of a query; raises Damaged."""
        import sqlite3

        try:
            return self._db.execute(statement, values).fetchall()
        except (sqlite3.Error, UnicodeError) as problem:
            raise Damaged(self._path, problem) from None

    def statistics(self, asked: Iterable[str]) -> Statistics:
        said = dict(self._rows("select name, value from meta"))
        try:
            entries, length = int(said["entries"]), int(said["terms"])
        except (KeyError, TypeError, ValueError) as problem:
            raise Damaged(self._path, problem) from None
        return Statistics(entries, length / entries if entries else 0.0, {term: self._having(term) for term in asked})

    def _having(self, term: str) -> int:
        """Return how many entries hold a term, or, where none does, words that begin with it."""
        rows = self._rows("select doc from vocabulary where term = ?", (term,))
        if rows or not may_begin(term):
            return int(rows[0][0]) if rows else 0
        until = term[:-1] + chr(ord(term[-1]) + 1)
        begun = "select sum(doc) from (select doc from vocabulary where term > ? and term < ? limit 500)"
        return int(self._rows(begun, (term, until))[0][0] or 0)

    def matching(
        self, asked: Sequence[str], phrases: Sequence[Sequence[str]], limit: int, kind: str = ""
    ) -> list[Entry]:
        if not asked:
            return []
        wanted = " OR ".join(f'"{term}" *' if may_begin(term) else f'"{term}"' for term in asked)
        both = " AND ".join([f"({wanted})", *('"' + " ".join(phrase) + '"' for phrase in phrases)])
        order = "order by bm25(words, 4.0, 4.0, 3.0, 2.0, 1.0) limit ?"
        rows = f"select rowid from words where words match ? {_OF_KIND if kind else ''} {order}"
        return self.numbered([number for (number,) in self._rows(rows, (both, *_given(kind), limit))])

    def named(self, part: str, limit: int, kind: str = "") -> list[Entry]:
        part = part.encode("utf-8", "replace").decode("utf-8")
        if "\0" in part:
            return []  # SQLite would see the text end there
        of_kind = "and kind = ?" if kind else ""
        rows = f"select id from entries where instr(name, ?) {of_kind} order by length(name), name limit ?"
        return self.numbered([number for (number,) in self._rows(rows, (part, *_given(kind), limit))])

    def nearly_named(self, wanted: set[str], limit: int, kind: str = "") -> list[Entry]:
        if not wanted:
            return []
        asked = " OR ".join(f'"{one}"' for one in sorted(wanted))
        rows = f"select rowid from near where near match ? {_OF_KIND if kind else ''} order by rank limit ?"
        return self.numbered([number for (number,) in self._rows(rows, (asked, *_given(kind), limit))])

    def digests(self) -> list[tuple[int, str]]:
        return self._rows("select id, digest from entries")

    def numbered(self, numbers: Sequence[int]) -> list[Entry]:
        found = []
        statement = """select path, part, kind, name, key, title, tags, description, text, length, digest
            from entries join words on words.rowid = entries.id where entries.id = ?"""
        for number in numbers:
            for path, part, kind, name, *fields, length, digest in self._rows(statement, (number,)):
                if not all(isinstance(one, str) for one in (path, name, *fields)):
                    raise Damaged(self._path, ValueError("a text is missing"))
                found.append(Entry(path, part, kind, name, tuple(fields), length, digest))
        return found

    def vectors(self, model: str) -> dict[str, bytes]:
        return dict(self._rows("select digest, vector from vectors where model = ?", (model,)))

    def keep(self, model: str, vectors: Mapping[str, bytes]) -> None:
        rows = [(model, digest, vector) for digest, vector in vectors.items()]
        self._rows("begin immediate")
        try:
            self._db.executemany("insert or replace into vectors values(?, ?, ?)", rows)
        finally:
            self._rows("commit")


# --- without a database ---------------------------------------------------------------------------------------------

_known: dict[str, tuple[str, dict[str, tuple[str, list[Entry]]], dict[str, dict[str, bytes]]]] = {}
"""{root: (state, {path: (stamp, entries)}, {model: vectors})}: what this process has read."""


def _in_memory(place: Place, sources: Sources) -> Listing:
    root = str(place.root)
    state, before, vectors = _known.get(root, ("", {}, {}))
    if not sources.state or state != sources.state:
        fresh = {}
        for path, stamp in sources.stamps.items():
            old = before.get(path)
            fresh[path] = old if old and stamp and old[0] == stamp else (stamp, sources.read(path))
        before = fresh
        _known[root] = sources.state, before, vectors
    return Listing([one for _, entries in before.values() for one in entries], vectors)


class Listing:
    """An index that is no more than the entries in memory: slower, with the same answers."""

    def __init__(self, entries: Sequence[Entry], vectors: dict[str, dict[str, bytes]] | None = None) -> None:
        self._entries, self._vectors = entries, {} if vectors is None else vectors

    def statistics(self, asked: Iterable[str]) -> Statistics:
        having = {term: self._having(term) for term in asked}
        number = len(self._entries)
        return Statistics(number, sum(one.length for one in self._entries) / number if number else 0.0, having)

    def _having(self, term: str) -> int:
        for wanted in (f" {term} ", f" {term}") if may_begin(term) else (f" {term} ",):
            found = sum(any(wanted in field for field in one.fields) for one in self._entries)
            if found:
                return found
        return 0

    def matching(
        self, asked: Sequence[str], phrases: Sequence[Sequence[str]], limit: int, kind: str = ""
    ) -> list[Entry]:
        from instinct_git.core.bm25 import holds, match

        if not asked:
            return []
        known = self.statistics(asked)
        rated = [
            (match(one.fields, one.length, asked, known).score, one)
            for one in self._of_kind(kind)
            if all(holds(one.fields, phrase) for phrase in phrases)
        ]
        rated = sorted((row for row in rated if row[0] > 0), key=lambda row: -row[0])
        return [one for _, one in rated[:limit]]

    def named(self, part: str, limit: int, kind: str = "") -> list[Entry]:
        found = [one for one in self._of_kind(kind) if part in one.name]
        return sorted(found, key=lambda one: (len(one.name), one.name))[:limit]

    def nearly_named(self, wanted: set[str], limit: int, kind: str = "") -> list[Entry]:
        rated = [(len(wanted & triples(one.name)), one) for one in self._of_kind(kind)]
        return [one for number, one in sorted(rated, key=lambda row: -row[0])[:limit] if number]

    def _of_kind(self, kind: str) -> list[Entry]:
        return [one for one in self._entries if not kind or one.kind == kind]

    def digests(self) -> list[tuple[int, str]]:
        return [(number, one.digest) for number, one in enumerate(self._entries)]

    def numbered(self, numbers: Sequence[int]) -> list[Entry]:
        return [self._entries[number] for number in numbers]

    def vectors(self, model: str) -> dict[str, bytes]:
        return dict(self._vectors.get(model, {}))

    def keep(self, model: str, vectors: Mapping[str, bytes]) -> None:
        self._vectors.setdefault(model, {}).update(vectors)

"""OpenCode: one SQLite database for all sessions, with tables ``session``, ``message`` and ``part``.

It is the agent's own and may be in use: it is opened read-only. Without a write-ahead log it is opened as immutable,
so that no file appears beside it; with one, SQLite reads that too.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from instinct_git.bridges.readers.draft import Draft, mapping, text, words
from instinct_git.bridges.readers.source import LONGEST_LINE, parsed, starts_with

AGENT = "opencode"
MAGIC = b"SQLite format 3\0"
# SQLite's own errors, and what Python makes of an error message or a text that is no UTF-8.
_DAMAGED = (sqlite3.Error, UnicodeError, OverflowError)
_TABLES = frozenset(("session", "message", "part"))
_STEPS = 500_000_000  # steps of SQLite's machine before a query is given up
_COUNTED = words("reasoning step-start step-finish snapshot patch file agent retry compaction subtask")
# The order first, without the texts: sorting those would spill them into temporary files.
_ORDER = """
    SELECT part.rowid, part.session_id, message.rowid, {time}
    FROM part LEFT JOIN message ON message.id = part.message_id ORDER BY {order} part.id"""
_TEXT = "SELECT length(data), substr(data, 1, ?) FROM {table} WHERE rowid = ?"


def recognises(path: Path) -> bool:
    """True for a database with OpenCode's tables. Raises ``OSError``."""
    if not starts_with(path, MAGIC):
        return False
    try:
        with _opened(path) as database:
            return _is_opencode(database)
    except _DAMAGED:
        return False


def folders(path: Path) -> tuple[str, ...]:
    """Where the sessions of one database were held; nothing where it is damaged."""
    try:
        with _opened(path) as database:
            named = _is_opencode(database) and "directory" in _columns(database, "session")
            rows = database.execute("SELECT DISTINCT directory FROM session").fetchall() if named else []
            return tuple(row[0] for row in rows if isinstance(row[0], str))
    except _DAMAGED:
        return ()


def read(path: Path) -> list[Draft]:
    """The sessions of one database, subagents' within the session that started them. What is damaged is left out."""
    drafts: dict[str, Draft] = {}
    lost = Draft(AGENT, path.stem)
    try:
        with _opened(path) as database:
            if _is_opencode(database):
                _sessions(database, drafts, lost)
    except _DAMAGED:
        lost.skipped["damaged database"] += 1
    return [*drafts.values(), *([lost] if lost.skipped else [])]


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    log = path.with_name(path.name + "-wal")
    ways = ["mode=ro", "mode=ro&immutable=1"] if log.exists() and log.stat().st_size else ["mode=ro&immutable=1"]
    for number, way in enumerate(ways, 1):
        database = sqlite3.connect(f"{path.resolve().as_uri()}?{way}", uri=True, timeout=1)
        try:
            database.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except _DAMAGED:
            database.close()
            if number == len(ways):
                raise
            continue
        break
    with closing(database):
        database.text_factory = lambda data: data.decode("utf-8", "replace")
        left = [_STEPS // 1_000_000]

        def give_up() -> bool:
            left[0] -= 1
            return left[0] < 0

        database.set_progress_handler(give_up, 1_000_000)
        yield database


def _is_opencode(database: sqlite3.Connection) -> bool:
    """Plain tables only: a view or a virtual table of these names could do anything."""
    named = database.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall()
    plain = {str(name) for name, sql in named if not str(sql).upper().startswith("CREATE VIRTUAL")}
    wanted = {"message": {"id", "data"}, "part": {"id", "message_id", "session_id", "data"}, "session": {"id"}}
    return plain >= _TABLES and all(_columns(database, table) >= names for table, names in wanted.items())


def _columns(database: sqlite3.Connection, table: str) -> set[str]:
    return {str(row[1]) for row in database.execute(f"PRAGMA table_info({table})")}


def _sessions(database: sqlite3.Connection, drafts: dict[str, Draft], lost: Draft) -> None:
    has = _columns(database, "session")
    names = ", ".join(name if name in has else "NULL" for name in ("id", "parent_id", "directory", "time_created"))
    about = {str(row[0]): row for row in database.execute(f"SELECT {names} FROM session")}
    timed = "time_created" in _columns(database, "message")
    query = _ORDER.format(
        time="message.time_created" if timed else "NULL", order="message.time_created, message.id," if timed else ""
    )
    author: tuple[object, Mapping[str, object]] = (None, {})  # of the message that the part belongs to
    for number, session, message, time in database.execute(query).fetchall():
        if message != author[0]:
            author = (message, mapping(_value(database, "message", message, Draft(AGENT, ""))))
        root = _root(str(session), about)
        if root not in drafts:
            row = about.get(root, (root, None, None, None))
            drafts[root] = Draft(AGENT, root, cwd=row[2] if isinstance(row[2], str) else "")
            drafts[root].seen(row[3])
        draft = drafts[root]
        draft.seen(time)
        value = _value(database, "part", number, draft)
        if isinstance(value, dict):
            _part(draft, value, author[1], "" if str(session) == root else str(session))


def _value(database: sqlite3.Connection, table: str, number: object, draft: Draft) -> object:
    """The JSON object in a row; anything else is counted in the draft, and None."""
    row = database.execute(_TEXT.format(table=table), (LONGEST_LINE, number)).fetchone()
    size, data = row or (None, None)
    reason = "not an object"
    if isinstance(size, int) and size > LONGEST_LINE:
        reason = "line too long"
    elif isinstance(data, str | bytes):
        value = parsed(data)
        if isinstance(value, dict):
            return value
        reason = "broken JSON" if value is None else reason
    draft.skipped[reason] += 1
    return None


def _root(session: str, about: Mapping[str, tuple[object, ...]]) -> str:
    """The session that a subagent's session belongs to."""
    seen = {session}
    while session in about and isinstance(about[session][1], str) and about[session][1] not in seen:
        session = str(about[session][1])
        seen.add(session)
    return session


def _part(draft: Draft, value: Mapping[str, object], message: Mapping[str, object], thread: str) -> None:
    kind = text(value, "type")
    if kind == "tool":
        _tool(draft, value, thread)
    elif kind == "text":
        if message.get("role") == "user" and not thread and value.get("synthetic") is not True:
            draft.prompt(text(value, "text"), text(value, "id"))
    else:
        draft.skipped[f"{kind} part" if kind in _COUNTED else "other record"] += 1


def _tool(draft: Draft, value: Mapping[str, object], thread: str) -> None:
    state = mapping(value.get("state"))
    status, identity = state.get("status"), text(value, "callID") or f"#{len(draft.uses) + 1}"
    draft.use(identity, text(value, "tool"), state.get("input"), thread)
    code = mapping(state.get("metadata")).get("exit")
    if status == "completed":
        failed = isinstance(code, int) and not isinstance(code, bool) and code != 0
        draft.result(identity, text(state, "output"), failed)
    elif status == "error":
        draft.result(identity, text(state, "error", "output"), True)

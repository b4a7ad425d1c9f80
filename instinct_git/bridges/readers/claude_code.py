"""Claude Code: JSONL, one record a line, old and new; a session in one file, or with a file for each subagent.

`read` streams one file and keeps of each record what learning needs, cut to a bound and without secrets. `Sessions`
puts files together: an agent's repeats (rewritten histories, resumed sessions, `progress` copies of a subagent's
messages) count once, and a result or a parent may stand before or after what it belongs to, in any file.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from instinct_git.bridges.readers.draft import (
    CALL,
    LONGEST_RESULT,
    NO_DAY,
    ROOM,
    SCANT,
    clean,
    clipped,
    day_of,
    named_day,
    redacted,
    size_of,
    text,
    when,
)
from instinct_git.bridges.readers.source import records
from instinct_git.bridges.secrets import redact
from instinct_git.core.entry import lasting
from instinct_git.core.transcript import Prompt, Report, ToolCall, Transcript

AGENT = "claude-code"
MOST_RECORDS = 400_000  # of one file; real sessions have some ten thousand
_MESSAGES = ("user", "assistant")
# Records that only this format has; with one of them a file is recognised even if it holds no message.
_OTHER_RECORDS = {
    "summary": "leafUuid",
    "file-history-snapshot": "snapshot",
    "queue-operation": "sessionId",
    "progress": "uuid",
    "system": "sessionId",
    "attachment": "sessionId",
}
_COUNTED_TYPES = frozenset({*_OTHER_RECORDS, "last-prompt", "tools-used", "cost-state", "custom-title", "result"})
_HANDED_OVER = ("Task", "Agent")
_STARTED = re.compile(r"\s*Async agent launched")
_NO_PERSON = (  # marks of a user's record that no person typed: results, hooks, summaries, subagents' orders
    "isMeta", "isSidechain", "isCompactSummary", "isVisibleInTranscriptOnly", "isSynthetic", "toolUseResult",
    "sourceToolUseID", "sourceToolAssistantUUID", "agentId", "parent_tool_use_id",
)  # fmt: skip
_NO_TURN = re.compile(r"(?i)notification|hook|system|agent|cron|schedul|loop|channel|coordinator|teammate|auto")
_NO_WORDS = re.compile(
    r"\s*(\[Request interrupted|Caveat: The messages below|This session is being continued from a previous|"
    r"Base directory for this skill|<(task-notification|local-command|bash-|teammate-message|system-reminder)|\w+ hook (feedback|blocking|additional)|\[Image: )"
)


def recognises(record: Mapping[str, object]) -> bool:
    """True for a record that only this format has."""
    kind = record.get("type")
    if not isinstance(kind, str):
        return False
    if kind in _MESSAGES:
        marks = ("sessionId", "session_id", "uuid", "parentUuid", "isSidechain")
        return isinstance(record.get("message"), dict) and any(mark in record for mark in marks)
    return kind in _OTHER_RECORDS and _OTHER_RECORDS[kind] in record


# --- one file -------------------------------------------------------------------------------------------------------


class _Message(NamedTuple):
    """What is kept of a user's or assistant's message."""

    kind: str
    uuid: str
    parent: str
    sidechain: bool
    agent: str
    cwd: str
    said: str
    """What the person typed; of an assistant what a subagent says."""
    uses: tuple[tuple[str, str, dict[str, object]], ...]
    """(id, tool, arguments) of each call."""
    results: tuple[tuple[str, str, bool | None], ...]
    """(id of the call, text, whether it is an error) of each result."""


class _Record(NamedTuple):
    """What is kept of a record."""

    session: str
    stamp: str
    """Its time as it is written, which a copy repeats."""
    time: datetime | None
    skipped: str
    """Why it counts for nothing; "" for a message."""
    dated: bool
    """Whether its time can be the session's first."""
    message: _Message | None


@dataclass(slots=True)
class File:
    """One file as far as it is kept, in its own order."""

    stem: str
    path: str
    """Resolved, so that a file that is named twice is read once."""
    day: str
    """The day that its name tells, else `NO_DAY`."""
    records: list[_Record] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    recognised: bool = False
    first: datetime | None = None
    """The earliest time in it."""


def read(path: Path) -> File:
    """Read one file, line by line. Raises ``OSError``."""
    file = File(path.stem, os.path.realpath(path), named_day(path))
    room = ROOM
    for found in records(path, file.skipped):
        if len(file.records) >= MOST_RECORDS or room <= 0:
            file.skipped["file too long"] += 1
            break
        file.recognised = file.recognised or recognises(found)
        record = _record(found, file.skipped, LONGEST_RESULT if room > ROOM // 2 else SCANT)
        if record.message is not None:
            room -= _size(record.message)
        if record.time is not None and (file.first is None or record.time < file.first):
            file.first = record.time
        file.records.append(record)
    return file


def _size(message: _Message) -> int:
    given = sum(CALL + size_of(arguments) for _, _, arguments in message.uses)
    return len(message.said) + given + sum(CALL + len(told) for _, told, _ in message.results)


def _record(record: Mapping[str, object], skipped: Counter[str], longest: int) -> _Record:
    kind, message = record.get("type"), record.get("message")
    stamp = text(record, "timestamp")
    session, time = text(record, "sessionId", "session_id"), when(stamp) if stamp else None
    if kind not in _MESSAGES:
        known = isinstance(kind, str) and kind in _COUNTED_TYPES
        return _Record(session, stamp, time, f"{kind} record" if known else "other record", known, None)
    if not isinstance(message, dict):
        return _Record(session, stamp, time, "no message", False, None)
    if text(record, "agentId").startswith("acompact"):  # it rewrites the conversation; it does no work
        return _Record(session, stamp, time, "compaction helper", True, None)
    return _Record(session, stamp, time, "", True, _message(record, message, skipped, longest))


def _message(
    record: Mapping[str, object], message: Mapping[str, object], skipped: Counter[str], longest: int
) -> _Message:
    agent = text(record, "agentId")
    said = _typed(record, message) if record.get("type") == "user" else _words(message) if agent else ""
    uses, results = [], []
    for block in _blocks(message):
        if block.get("type") == "tool_use":
            identity, tool, arguments = text(block, "id"), text(block, "name"), block.get("input")
            if identity and tool:
                uses.append((identity, tool, redacted(arguments) if isinstance(arguments, dict) else {}))
            else:
                skipped["tool use without a name or id"] += 1
        elif block.get("type") == "tool_result":
            error, told = block.get("is_error"), clean(clipped(_result_text(block.get("content")), longest))
            results.append((text(block, "tool_use_id"), redact(told), error if isinstance(error, bool) else None))
    return _Message(
        str(record["type"]), text(record, "uuid"), text(record, "parentUuid"), record.get("isSidechain") is True,
        agent or text(record, "parent_tool_use_id"), text(record, "cwd"), redact(clipped(said)), tuple(uses), tuple(results),
    )  # fmt: skip


def _typed(record: Mapping[str, object], message: Mapping[str, object]) -> str:
    """What a person typed; "" for a record that a program wrote in their name, and where that is in doubt."""
    origin = record.get("origin")
    kind = origin.get("kind") if isinstance(origin, dict) else origin
    entry = text(record, "entrypoint")
    if (
        any(record.get(mark) not in (None, False, "") for mark in _NO_PERSON)
        or (kind is not None and kind != "human")
        or (entry.startswith("sdk-") and entry != "sdk-cli")  # a program's prompts; sdk-cli is `claude -p`
        or any(_NO_TURN.search(text(record, name)) for name in ("turnOrigin", "promptSource"))
        or any(block.get("type") == "tool_result" for block in _blocks(message))
    ):
        return ""
    return _words(message)


def _words(message: Mapping[str, object]) -> str:
    """The text of a message, without what the agent itself writes in a person's name."""
    content = message.get("content")
    blocks = [content] if isinstance(content, str) else [
        text(block, "text") for block in _blocks(message) if block.get("type") == "text"
    ]  # fmt: skip
    return clean("\n".join(part for part in blocks if not _NO_WORDS.match(part))).strip()


def _blocks(message: Mapping[str, object]) -> Iterator[dict[str, object]]:
    content = message.get("content")
    if isinstance(content, list):
        yield from (block for block in content if isinstance(block, dict))


def _result_text(content: object) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = [part.get("text") if isinstance(part, dict) else part for part in content]
    return "\n".join(part for part in parts if isinstance(part, str))


# --- many files -----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Use:
    """A call, before its result and its thread are known."""

    session: str
    id: str
    tool: str
    input: Mapping[str, object]
    agent: str
    uuid: str
    sidechain: bool
    day: str
    path: str


class Sessions:
    """Gathers files in order."""

    def __init__(self) -> None:
        self.uses: dict[str, _Use] = {}
        self.copied: set[tuple[str, ...]] = set()  # marks of calls whose ids other sessions may have for other calls
        self.results: dict[str, tuple[str, bool | None]] = {}
        self.parents: dict[str, str] = {}  # uuid of a side-chain record -> its parentUuid
        self.days: dict[str, str] = {}
        self.named: dict[str, str] = {}  # days that the files' names tell
        self.folders: dict[str, str] = {}
        self.skipped: dict[str, Counter[str]] = {}
        self.prompts: dict[str, list[Prompt]] = {}
        self.known_prompts: set[tuple[str, str]] = set()
        self.counts: Counter[str] = Counter()  # session -> its calls so far
        self.last_words: dict[tuple[str, str], Report] = {}

    def add(self, file: File) -> None:
        """Take a file in; of what stands in several files the first counts."""
        first = next((record.session for record in file.records if record.session), file.stem)
        self.skipped.setdefault(first, Counter()).update(file.skipped)
        day = file.day if file.day != NO_DAY else ""
        for record in file.records:
            session = record.session or first
            day = day_of(record.time) if record.time is not None else day
            skipped = self.skipped.setdefault(session, Counter())
            if record.skipped:
                skipped[record.skipped] += 1
            if record.message is not None:
                self._message(record, record.message, session, day, file.path)
            if record.dated:
                self.named[session] = min(self.named.get(session, file.day), file.day)
                if record.time is not None:
                    self.days[session] = min(self.days.get(session, day), day)

    def _message(self, record: _Record, message: _Message, session: str, day: str, path: str) -> None:
        if message.cwd:
            self.folders.setdefault(session, message.cwd)
        if message.sidechain and message.uuid:
            self.parents[message.uuid] = message.parent
        if message.said and message.kind == "user":
            self._prompt(record, message, session, day)
        elif message.said:
            self.last_words[session, message.agent] = Report(message.agent, message.said, day)
        for identity, tool, arguments in message.uses:
            known = session, identity, tool, arguments
            self._use(_Use(*known, message.agent, message.uuid, message.sidechain, day, path), record.stamp)
        for identity, told, error in message.results:
            self.results.setdefault(_name(identity, session), (told, error))

    def _prompt(self, record: _Record, message: _Message, session: str, day: str) -> None:
        """Keep what the person typed; a resumed session repeats it."""
        marks = {("id", message.uuid)} if message.uuid else set()
        marks |= {(record.stamp, message.said)} if record.stamp else set()
        if marks.isdisjoint(self.known_prompts):
            self.known_prompts |= marks
            prompt = Prompt(message.uuid or record.stamp, message.said, self.counts[session], day)
            self.prompts.setdefault(session, []).append(prompt)

    def _use(self, use: _Use, stamp: str) -> None:
        """Keep a call; one whose id is no counter is known by it in every session, the others by what they did when."""
        name = _name(use.id, use.session)
        mark = (use.id, use.tool, json.dumps(use.input, sort_keys=True), stamp)
        if name in self.uses or (not lasting(use.id) and mark in self.copied):
            return
        self.copied.add(mark)
        self.uses[name] = use
        self.counts[use.session] += 1

    def _thread(self, use: _Use) -> str:
        """The subagent's id, or for the old format the first record of the chain of parents."""
        if use.agent or not use.sidechain:
            return use.agent
        root, seen = use.uuid, set[str]()
        while root not in seen and self.parents.get(root, "") in self.parents:
            seen.add(root)
            root = self.parents[root]
        return root or "side"

    def transcripts(self) -> list[Transcript]:
        """Return one ``Transcript`` a session, by day and session."""
        calls: dict[str, list[ToolCall]] = {session: [] for session in self.skipped}
        for name, use in self.uses.items():
            result, error = self.results.get(name, ("", None))
            mine = calls[use.session]
            mine.append(ToolCall(
                len(mine) + 1, use.id, use.tool, use.input, result, error, self._thread(use), use.day
            ))  # fmt: skip
        made = [
            Transcript(
                AGENT,
                session,
                self.days.get(session) or self.named.get(session, NO_DAY),
                self.folders.get(session, ""),
                tuple(calls[session]),
                dict(sorted(self.skipped[session].items())),
                tuple(self.prompts.get(session, ())),
                self._reports(session, calls[session]),
            )
            for session in calls
        ]
        return sorted(made, key=lambda transcript: (transcript.day, transcript.session))

    def paths(self) -> Iterator[tuple[tuple[str, str, str], str]]:
        """Yield ((agent, session, id of the call), the file that it was read from)."""
        for use in self.uses.values():
            yield (AGENT, use.session, use.id), use.path

    def _reports(self, session: str, calls: Iterable[ToolCall]) -> tuple[Report, ...]:
        """What subagents handed back: the result of the call that started one, else the last words in its own file."""
        found = {
            call.id: Report(call.id, call.result, call.day)
            for call in calls
            if call.tool in _HANDED_OVER and call.result and not call.is_error and not _STARTED.match(call.result)
        }
        returned = {report.text.strip() for report in found.values()}
        own = [
            report for (where, _), report in sorted(self.last_words.items())
            if where == session and not any(report.text.strip() in text for text in returned)
        ]  # fmt: skip
        return (*found.values(), *own)


def _name(identity: str, session: str) -> str:
    return identity if lasting(identity) else f"{identity}\0{session}"

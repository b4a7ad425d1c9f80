"""Reads what coding agents write about their sessions: Claude Code's JSONL, old and new; others' by `readers`.

Nothing in such a file is trusted: it is split at LF bytes only, a line that cannot be read is counted and left out,
and an agent's repeats (rewritten histories, resumed sessions, `progress` copies of a subagent's messages) count once.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from instinct_git.bridges import readers
from instinct_git.bridges.readers.draft import Draft, joined
from instinct_git.core.transcript import Prompt, Report, ToolCall, Transcript

_AGENT = "claude-code"
_READ = "Claude Code, Codex, Gemini CLI, Copilot CLI, OpenCode, SWE-agent and OpenHands"
_OTHERS_ONLY = (".json", ".traj", ".db")  # Claude Code has one record a line
_NO_DAY = "19700101"
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
_LONGEST_RESULT = 200_000  # characters; of a longer result only the two ends are kept, where errors and summaries are


def read_transcripts(paths: Iterable[Path], progress: Callable[[int, int], None] | None = None) -> list[Transcript]:
    """The sessions in these files and folders, one ``Transcript`` per session id, sorted by day and session.

    Claude Code's are read here, those of other agents by `bridges.readers`; which it is tells the content. A folder
    means every file below it with a name that an agent gives (`readers.SUFFIXES`), ordered by first timestamp; files
    named one by one keep the given order, and calls are numbered in that order. A tool call that occurs in several
    files counts for the first.
    Raises ``InstinctError`` for a path that cannot be read, for a named file that is no transcript, and for a
    folder without any; other files below a folder that are no transcripts are passed over. ``progress`` is told
    (files read, files in all).
    """
    reader = _Reader()
    others: list[Draft] = []
    seen: set[str] = set()
    named = [(Path(path), _names(Path(path))) for path in paths]
    total, read = sum(len(names) for _, names in named), 0

    def parsed(name: Path) -> _File:
        nonlocal read
        file, read = _parse(name), read + 1
        if progress is not None:
            progress(read, total)
        return file

    for path, names in named:
        for file in _files(path, names, parsed):
            if file.path not in seen:
                seen.add(file.path)
                if file.others is None:
                    reader.add(file)
                else:
                    others += file.others
    found = reader.transcripts() + joined(others)
    return sorted(found, key=lambda transcript: (transcript.day, transcript.session))


@dataclass(slots=True)
class _File:
    stem: str
    path: str  # resolved, so that a file named twice is read once
    records: list[dict[str, object]] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    recognised: bool = False
    others: list[Draft] | None = None  # what another agent's file tells


@dataclass(slots=True)
class _Use:
    """A tool_use block, before its result and its thread are known."""

    session: str
    id: str
    tool: str
    input: Mapping[str, object]
    agent: str
    uuid: str
    sidechain: bool
    day: str


def _names(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    return [name for name in sorted(path.rglob("*")) if name.suffix in readers.SUFFIXES and name.is_file()]


def _files(path: Path, names: Iterable[Path], parsed: Callable[[Path], _File]) -> list[_File]:
    found = [(name, parsed(name)) for name in names]
    known = [(name, file) for name, file in found if file.recognised]
    if not path.is_dir() and not known:
        raise _error(f"{path.name} is not a transcript.", f"instinct reads those of {_READ}.")
    if not known:
        raise _error(f"No transcript below {path.name or path}.", f"instinct reads those of {_READ}.")
    known.sort(key=lambda pair: (min(filter(None, map(_time, pair[1].records)), default=_LATE), str(pair[0])))
    return [file for _, file in known]


def _error(message: str, hint: str) -> Exception:
    from instinct_git.errors import InstinctError

    return InstinctError(message, hint)


def _parse(path: Path) -> _File:
    try:
        other = readers.sniff(path)
        if other is not None:
            return _File(path.stem, os.path.realpath(path), recognised=True, others=other.read(path))
        if path.suffix in _OTHERS_ONLY or (path.exists() and not path.is_file()):
            return _File(path.stem, os.path.realpath(path))
        data = path.read_bytes()
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise _error(f"Cannot read {path.name}: {reason}.", "Check the path.") from problem
    file = _File(path.stem, os.path.realpath(path))
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        record = _record(line)
        if isinstance(record, dict):
            file.records.append(record)
            file.recognised = file.recognised or _is_claude_code(record)
        elif record is not None:
            file.skipped["not an object"] += 1
        elif line.lstrip().startswith(b"//"):
            file.skipped["comment"] += 1
        else:
            file.skipped["torn last line" if number == len(lines) else "broken JSON"] += 1
    return file


def _record(line: bytes) -> object:
    """The line's JSON value; None for a broken line (and for null, which is no record either)."""
    try:
        value: object = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return "null" if value is None else value


def _is_claude_code(record: dict[str, object]) -> bool:
    kind = record.get("type")
    if not isinstance(kind, str):
        return False
    if kind in _MESSAGES:
        marks = ("sessionId", "session_id", "uuid", "parentUuid", "isSidechain")
        return isinstance(record.get("message"), dict) and any(mark in record for mark in marks)
    return kind in _OTHER_RECORDS and _OTHER_RECORDS[kind] in record


def _text(record: Mapping[str, object], *names: str) -> str:
    """The first of these fields that is a non-empty string, without lone surrogates; else ""."""
    for name in names:
        value = record.get(name)
        if isinstance(value, str) and value:
            return value.encode("utf-8", "replace").decode("utf-8")
    return ""


_LATE = datetime.max.replace(tzinfo=UTC)


def _time(record: Mapping[str, object]) -> datetime | None:
    try:
        time = datetime.fromisoformat(_text(record, "timestamp"))
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


class _Reader:
    """Gathers files in order; results and parents may come before or after what they belong to, in any file."""

    def __init__(self) -> None:
        self.uses: dict[str, _Use] = {}
        self.results: dict[str, tuple[str, bool | None]] = {}
        self.parents: dict[str, str] = {}  # uuid of a side-chain record -> its parentUuid
        self.days: dict[str, str] = {}
        self.folders: dict[str, str] = {}
        self.skipped: dict[str, Counter[str]] = {}
        self.prompts: dict[str, list[Prompt]] = {}
        self.known_prompts: set[tuple[str, str]] = set()
        self.counts: Counter[str] = Counter()  # session -> its calls so far
        self.last_words: dict[tuple[str, str], Report] = {}

    def add(self, file: _File) -> None:
        sessions = [_text(record, "sessionId", "session_id") or "" for record in file.records]
        first = next((session for session in sessions if session), file.stem)
        self.skipped.setdefault(first, Counter()).update(file.skipped)
        day = ""
        for record, named in zip(file.records, sessions, strict=True):
            session, time = named or first, _time(record)
            if time is not None:
                day = f"{time:%Y%m%d}" if time.year > 999 else _NO_DAY
            if not self._message(record, session, day):
                continue
            self.skipped.setdefault(session, Counter())
            folder = _text(record, "cwd")
            if time is not None:
                self.days[session] = min(self.days.get(session, day), day)
            if folder:
                self.folders.setdefault(session, folder)

    def _message(self, record: dict[str, object], session: str, day: str) -> bool:
        """Take a user's or assistant's record in; otherwise count why not. True if it dates the session."""
        skipped = self.skipped.setdefault(session, Counter())
        kind, message = record.get("type"), record.get("message")
        if kind not in _MESSAGES:
            known = isinstance(kind, str) and kind in _COUNTED_TYPES
            skipped[f"{kind} record" if known else "other record"] += 1
            return known
        if not isinstance(message, dict):
            skipped["no message"] += 1
            return False
        agent = _text(record, "agentId")
        if agent.startswith("acompact"):
            skipped["compaction helper"] += 1  # it rewrites the conversation; it does no work
            return True
        uuid, sidechain = _text(record, "uuid"), record.get("isSidechain") is True
        if sidechain and uuid:
            self.parents[uuid] = _text(record, "parentUuid")
        if kind == "user":
            self._prompt(record, session, day)
        elif agent and (words := _words(message)):
            self.last_words[session, agent] = Report(agent, words, day)
        agent = agent or _text(record, "parent_tool_use_id")
        for block in _blocks(message):
            if block.get("type") == "tool_use" and not self._use(block, session, agent, uuid, sidechain, day):
                skipped["tool use without a name or id"] += 1
            elif block.get("type") == "tool_result":
                self._result(block)
        return True

    def _prompt(self, record: dict[str, object], session: str, day: str) -> None:
        """Keep what the person typed; a resumed session repeats it."""
        text, uuid, time = _typed(record), _text(record, "uuid"), _text(record, "timestamp")
        marks = {("id", uuid)} if uuid else set()
        marks |= {(time, text)} if time else set()
        if text and marks.isdisjoint(self.known_prompts):
            self.known_prompts |= marks
            self.prompts.setdefault(session, []).append(Prompt(uuid or time, text, self.counts[session], day))

    def _use(self, block: dict[str, object], session: str, agent: str, uuid: str, sidechain: bool, day: str) -> bool:
        identity, tool, arguments = _text(block, "id"), _text(block, "name"), block.get("input")
        if not identity or not tool:
            return False
        given = arguments if isinstance(arguments, dict) else {}
        if identity not in self.uses:
            self.uses[identity] = _Use(session, identity, tool, given, agent, uuid, sidechain, day)
            self.counts[session] += 1
        return True

    def _result(self, block: dict[str, object]) -> None:
        error = block.get("is_error")
        text = _result_text(block.get("content"))
        if len(text) > _LONGEST_RESULT:
            text = text[: _LONGEST_RESULT // 2] + "\n" + text[-_LONGEST_RESULT // 2 :]
        self.results.setdefault(_text(block, "tool_use_id"), (text, error if isinstance(error, bool) else None))

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
        calls: dict[str, list[ToolCall]] = {session: [] for session in self.skipped}
        for use in self.uses.values():
            result, error = self.results.get(use.id, ("", None))
            mine = calls[use.session]
            mine.append(ToolCall(
                len(mine) + 1, use.id, use.tool, use.input, result, error, self._thread(use), use.day
            ))  # fmt: skip
        made = [
            Transcript(
                _AGENT,
                session,
                self.days.get(session, _NO_DAY),
                self.folders.get(session, ""),
                tuple(calls[session]),
                dict(sorted(self.skipped[session].items())),
                tuple(self.prompts.get(session, ())),
                self._reports(session, calls[session]),
            )
            for session in calls
        ]
        return sorted(made, key=lambda transcript: (transcript.day, transcript.session))

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


def _typed(record: Mapping[str, object]) -> str:
    """What a person typed; "" for a record that a program wrote in their name, and where that is in doubt."""
    message, origin = record.get("message"), record.get("origin")
    kind = origin.get("kind") if isinstance(origin, dict) else origin
    entry = _text(record, "entrypoint")
    if (
        not isinstance(message, dict)
        or any(record.get(mark) not in (None, False, "") for mark in _NO_PERSON)
        or (kind is not None and kind != "human")
        or (entry.startswith("sdk-") and entry != "sdk-cli")  # a program's prompts; sdk-cli is `claude -p`
        or any(_NO_TURN.search(_text(record, name)) for name in ("turnOrigin", "promptSource"))
        or any(block.get("type") == "tool_result" for block in _blocks(message))
    ):
        return ""
    return _words(message)


def _words(message: Mapping[str, object]) -> str:
    """The text of a message, without what the agent itself writes in a person's name."""
    content = message.get("content")
    blocks = [content] if isinstance(content, str) else [
        _text(block, "text") for block in _blocks(message) if block.get("type") == "text"
    ]  # fmt: skip
    text = "\n".join(part for part in blocks if not _NO_WORDS.match(part))
    return text.encode("utf-8", "replace").decode("utf-8").strip()


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

"""Gemini CLI: chats, one JSON file or one record a line.

A line is the header, a message, or a patch: ``{"$set": {"messages": [...]}}``, ``{"$rewindTo": id}``. A message is
written again whenever its calls change, and compression and rewinding drop messages; what was done was done all the
same, so every call ever told counts, once, with the last that is told about it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from instinct_git.bridges.readers.draft import Draft, clipped, items, mapping, parts, text
from instinct_git.bridges.readers.source import document, records

AGENT = "gemini"
_HEADER = ("projectHash", "startTime", "lastUpdated")
_TYPES = frozenset(("user", "gemini", "info", "error", "warning"))
_EXIT = re.compile(r"^Exit Code: (\d{1,3})\b", re.MULTILINE)
# What the shell tool says around the output of a command.
_AROUND = re.compile(
    r"^(?:Command|Directory|Signal|Exit Code|Background PIDs|Process Group PGID|PGID): .*\n?|"
    r"^(?:Output|Stdout|Stderr|Error): (?:\((?:empty|none)\)\n?)?",
    re.MULTILINE,
)
_CONTEXT = re.compile(r"<(hook_context|session_context)>.*?</\1>\s*", re.DOTALL)
_OUTCOMES = {"success": False, "error": True, "cancelled": True}


def recognises(value: object) -> bool:
    """True for a whole chat, for the header of one, and for a patch of its messages."""
    record = mapping(value)
    if isinstance(record.get("sessionId"), str) and "type" not in record:
        return "projectHash" in record or all(name in record for name in _HEADER[1:])
    return isinstance(mapping(record.get("$set")).get("messages"), list) or isinstance(record.get("$rewindTo"), str)


def read(path: Path) -> list[Draft]:
    """The session of one chat. Raises ``OSError``."""
    draft = Draft(AGENT, "")
    chat = _Chat(draft)
    whole = document(path)
    if isinstance(whole, dict):
        chat.patch(whole)
    else:
        for record in records(path, draft.skipped):
            chat.add(record)
    draft.session = draft.session or path.stem
    chat.finish()
    return [draft]


class _Chat:
    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.thread = ""
        self.asked: set[str] = set()
        self.outcomes: dict[str, tuple[str, bool | None]] = {}

    def add(self, record: Mapping[str, object]) -> None:
        change = record.get("$set")
        if isinstance(change, dict):
            self.patch(change)
        elif isinstance(record.get("$rewindTo"), str):
            self.draft.skipped["$rewindTo record"] += 1
        elif text(record, "type") in _TYPES:
            self._message(record)
        elif isinstance(record.get("sessionId"), str):
            self.patch(record)
        else:
            self.draft.skipped["other record"] += 1

    def patch(self, chat: Mapping[str, object]) -> None:
        """Take a header, a whole chat, or the changed fields of one in."""
        self.draft.session = self.draft.session or text(chat, "sessionId")
        self.draft.seen(chat.get("startTime"))
        self.thread = self.draft.session if chat.get("kind") == "subagent" else self.thread
        folders = [one for one in items(chat.get("directories")) if isinstance(one, str)]
        self.draft.cwd = self.draft.cwd or (folders[0] if folders else "")
        for message in items(chat.get("messages")):
            self._message(mapping(message))

    def _message(self, message: Mapping[str, object]) -> None:
        kind, identity = text(message, "type"), text(message, "id")
        self.draft.seen(message.get("timestamp"))
        if kind == "user":
            said = _CONTEXT.sub("", parts(message.get("content")))
            if (identity or said) not in self.asked:
                self.asked.add(identity or said)
                self.draft.prompt(said, identity)
        elif kind == "gemini":
            for number, call in enumerate(items(message.get("toolCalls"))):
                self._call(mapping(call), f"{identity}/{number}")
        else:
            self.draft.skipped[f"{kind} record" if kind in _TYPES else "other record"] += 1

    def _call(self, call: Mapping[str, object], place: str) -> None:
        identity = text(call, "id") or place
        self.draft.use(identity, text(call, "name"), call.get("args"), self.thread)
        out = _output(call)
        status = text(call, "status")
        error = _OUTCOMES.get(status)
        shell = call.get("name") == "run_shell_command"
        code = _EXIT.search(out[-2000:]) if shell else None
        out = _AROUND.sub("", out) if shell else out
        if status == "cancelled":
            out = f"Cancelled by the user. {out}"
        if out or error is not None:
            self.outcomes[identity] = (clipped(out), int(code[1]) != 0 if code else error)

    def finish(self) -> None:
        for identity, (out, error) in self.outcomes.items():
            self.draft.result(identity, out, error)


def _output(call: Mapping[str, object]) -> str:
    """The text of the function responses, else what was shown."""
    found = []
    for part in items(call.get("result")):
        response = mapping(mapping(mapping(part).get("functionResponse")).get("response"))
        found.append(text(response, "error", "output"))
    return "\n".join(one for one in found if one) or text(call, "resultDisplay")

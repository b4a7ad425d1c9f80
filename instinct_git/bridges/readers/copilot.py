"""GitHub Copilot CLI: ``events.jsonl``, one event ``{type, data, id, timestamp, parentId}`` a line.

A call is asked for by a message and again by its start; its id says that it is one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from instinct_git.bridges.readers.draft import Draft, exit_code, items, mapping, parts, text, words
from instinct_git.bridges.readers.source import records

AGENT = "copilot"
_COUNTED = words("""session.start session.resume session.shutdown session.usage_record session.info session.error
    session.model_change session.idle session.compaction_start session.compaction_complete session.truncation
    hook.start hook.end assistant.turn_start assistant.turn_end assistant.reasoning assistant.usage system.message
    subagent.started subagent.completed subagent.failed skill.invoked abort""")
_OWN = _COUNTED | words(
    "user.message assistant.message tool.execution_start tool.execution_complete tool.user_requested"
)

_ENDED = re.compile(r"\s*<[^<>\n]{0,80}with exit code (\d{1,3})>\s*\Z")


def recognises(value: object) -> bool:
    """True for one event."""
    record = mapping(value)
    return text(record, "type") in _OWN and isinstance(record.get("data"), dict) and "id" in record


def read(path: Path) -> list[Draft]:
    """The session of one file of events. Raises ``OSError``."""
    draft = Draft(AGENT, "")
    for record in records(path, draft.skipped):
        _event(draft, record)
    draft.session = draft.session or path.parent.name or path.stem
    return [draft]


def _event(draft: Draft, record: Mapping[str, object]) -> None:
    kind, data = text(record, "type"), record.get("data")
    draft.seen(record.get("timestamp"))
    if not isinstance(data, dict):
        draft.skipped["other record"] += 1
    elif kind == "assistant.message":
        for request in items(data.get("toolRequests")):
            asked = mapping(request)
            draft.use(text(asked, "toolCallId"), _tool(asked), asked.get("arguments"), _thread(record, data))
    elif kind == "tool.execution_start":
        draft.use(text(data, "toolCallId"), _tool(data), data.get("arguments"), _thread(record, data))
    elif kind == "tool.execution_complete":
        _complete(draft, data)
    elif kind == "user.message":
        if not text(data, "source") or data.get("source") == "user":
            draft.prompt(text(data, "content"), text(data, "messageId") or text(record, "id"))
    else:
        if kind in ("session.start", "session.resume"):
            draft.session = draft.session or text(data, "sessionId")
            draft.cwd = draft.cwd or text(mapping(data.get("context")), "cwd")
        draft.skipped[f"{kind} record" if kind in _COUNTED else "other record"] += 1


def _thread(record: Mapping[str, object], data: Mapping[str, object]) -> str:
    return text(data, "parentToolCallId") or text(record, "agentId")


def _tool(data: Mapping[str, object]) -> str:
    server, tool = text(data, "mcpServerName"), text(data, "mcpToolName")
    return f"mcp__{server}__{tool}" if server and tool else text(data, "toolName", "name")


def _complete(draft: Draft, data: Mapping[str, object]) -> None:
    result, problem = mapping(data.get("result")), mapping(data.get("error"))
    said = text(result, "detailedContent", "content") or parts(result.get("contents")) or text(problem, "message")
    ended, succeeded = _ENDED.search(said[-200:]), data.get("success")
    code = exit_code(mapping(data.get("shellExecution")).get("exitCode"))
    if code is None and ended:
        code = int(ended[1]) != 0
    error = code if code is not None else not succeeded if isinstance(succeeded, bool) else None
    said = said.removesuffix(ended[0]) if ended else said
    if problem.get("code") in ("rejected", "denied"):
        said = f"Rejected by the user. {said}"
    identity = text(data, "toolCallId")
    if identity:
        draft.result(identity, said, error)
    else:
        draft.skipped["result without a call"] += 1

"""OpenHands: events, in a list, one a file, or as ``history`` in a line of ``output.jsonl`` (there, long ago, in pairs).

Two generations: ``{id, source, action, args}`` answered by ``{observation, content, extras, cause}``, and
``{kind: "ActionEvent", tool_name, tool_call_id, action}`` answered by ``{kind: "ObservationEvent", ...}``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from instinct_git.bridges.readers.draft import Draft, content_id, exit_code, items, mapping, parts, text, words
from instinct_git.bridges.readers.source import document, records

AGENT = "openhands"
# Functions of the editor that the first generation called from Python.
_PYTHON = re.compile(
    r"\A(?:#.*\s+)*(?:print\()?(open_file|goto_line|scroll_up|scroll_down|create_file|edit_file_by_replace|edit_file|"
    r"insert_content_at_line|append_file|edit_file_by_line|search_dir|search_file|find_file)\("
)
# What the first generation calls its actions -> the tool behind it, where the event does not name one.
_TOOLS = {
    "run": "execute_bash", "run_ipython": "execute_ipython_cell", "read": "read_file", "edit": "edit_file",
    "write": "write_file", "browse": "browser", "browse_interactive": "browser", "call_tool_mcp": "mcp",
    "mcp": "mcp", "delegate": "task", "think": "think", "task_tracking": "task_tracker",
}  # fmt: skip
_KINDS = words("""ActionEvent ObservationEvent MessageEvent SystemPromptEvent AgentErrorEvent UserRejectObservation
    ConversationStateUpdateEvent Condensation CondensationRequest PauseEvent TokenEvent""")
_COUNTED = words("system recall null change_agent_state agent_state_changed condensation")


def recognises(value: object) -> bool:
    """True for one event, a list of them, or a record with a history of them."""
    if isinstance(value, list):
        return any(_is_event(one) for one in value[:20])
    return _is_event(value) or any(map(_is_event, _history(value)[:20]))


def _is_event(value: object) -> bool:
    event = mapping(value)
    if text(event, "kind") in _KINDS:
        return True
    told = isinstance(event.get("action"), str) or isinstance(event.get("observation"), str)
    return told and ("args" in event or "extras" in event or "cause" in event or "is_confirmed" in event)


def _history(value: object) -> list[object]:
    """The events of a history, those of old pairs one after the other."""
    flat: list[object] = []
    for one in items(mapping(value).get("history")):
        flat += one if isinstance(one, list) else [one]
    return flat


def read(path: Path) -> list[Draft]:
    """The sessions of one file: one for a list or an event, one for each line with a history. Raises ``OSError``."""
    whole = document(path)
    if isinstance(whole, list) or _is_event(whole):
        draft = _session(whole if isinstance(whole, list) else [whole])
        alone = isinstance(whole, dict) and path.parent.name == "events"
        draft.session = path.parent.parent.name if alone else draft.session
        return [draft]
    drafts = []
    lines = Draft(AGENT, "")
    loose: list[object] = []
    for record in [mapping(whole)] if isinstance(whole, dict) else records(path, lines.skipped):
        history = _history(record)
        if history:
            drafts.append(_session(history))
        else:
            loose.append(record)
    if loose and any(map(_is_event, loose)):
        drafts.append(_session(loose))
    elif loose:
        lines.skipped["other record"] += len(loose)
    first = drafts[0] if drafts else lines
    if first is not lines:
        first.skipped.update(lines.skipped)
    first.session = first.session or path.stem
    return drafts or [lines]


def _session(events: list[object]) -> Draft:
    draft = Draft(AGENT, "")
    waiting: list[str] = []  # ids of calls of pairs, which have no numbers: the next observation is theirs
    for value in events:
        if not isinstance(value, dict):
            draft.skipped["not an object"] += 1
            continue
        draft.seen(value.get("timestamp"))
        if isinstance(value.get("kind"), str):
            _second(draft, value)
        elif "observation" in value:
            _observation(draft, value, waiting)
        else:
            _action(draft, value, waiting)
    draft.session = content_id(draft)
    return draft


def _count(draft: Draft, kind: str) -> None:
    draft.skipped[f"{kind} record" if kind in _COUNTED | _KINDS else "other record"] += 1


def _action(draft: Draft, event: Mapping[str, object], waiting: list[str]) -> None:
    action = text(event, "action")
    given = mapping(event.get("args")) or event
    if action == "message" and event.get("source", "user") == "user":
        draft.prompt(text(given, "content"))
    if action not in _TOOLS:
        if action not in ("message", "finish"):  # words, as in every format: neither work nor skipped
            _count(draft, action)
        return
    identity = f"#{event['id']}" if isinstance(event.get("id"), int) else f"#{len(draft.uses) + 1}"
    name = _TOOLS[action]
    if action == "run_ipython" and (found := _PYTHON.match(text(given, "code")[:2000])):
        name = found[1]
    elif action == "edit" and isinstance(given.get("command"), str):
        name = "str_replace_editor"
    elif name == "mcp":
        name = f"mcp__{text(given, 'name')}"
    kept = ("command", "path", "code", "url", "name", "is_input")
    waiting[:] = [identity]
    draft.use(identity, name, {key: given[key] for key in kept if given.get(key) not in (None, "")})


def _observation(draft: Draft, event: Mapping[str, object], waiting: list[str]) -> None:
    cause, extras = event.get("cause"), mapping(event.get("extras"))
    identity = f"#{cause}" if isinstance(cause, int) else waiting.pop() if waiting else ""
    if identity not in draft.uses or identity in draft.results:
        _count(draft, text(event, "observation"))
        return
    said = parts(event.get("content"))
    code = mapping(extras.get("metadata")).get("exit_code", extras.get("exit_code", event.get("exit_code")))
    error = exit_code(code)
    if text(event, "observation") in ("error", "user_rejected") or said.startswith("ERROR:"):
        error = True
    if event.get("observation") == "user_rejected":
        said = f"Rejected by the user. {said}"
    draft.result(identity, said, error)


def _second(draft: Draft, event: Mapping[str, object]) -> None:
    kind, identity = text(event, "kind"), text(event, "tool_call_id")
    if kind == "ActionEvent" and text(event, "tool_name") != "finish":
        given = {key: one for key, one in mapping(event.get("action")).items() if key != "kind"}
        draft.use(identity, text(event, "tool_name"), given)
    elif kind == "ObservationEvent":
        seen = mapping(event.get("observation"))
        error = exit_code(mapping(seen.get("metadata")).get("exit_code", seen.get("exit_code")))
        error = True if seen.get("is_error") is True else error
        draft.result(identity, parts(seen.get("content")) or text(seen, "output", "text"), error)
    elif kind == "AgentErrorEvent":
        draft.result(identity, text(event, "error"), True)
    elif kind == "UserRejectObservation":
        draft.result(identity, f"Rejected by the user. {text(event, 'rejection_reason')}", True)
    elif kind == "MessageEvent":
        if event.get("source") == "user":
            draft.prompt(parts(mapping(event.get("llm_message")).get("content")))
    elif kind != "ActionEvent":
        _count(draft, kind)

"""Codex: rollouts, one record a line: bare items (2025), envelopes ``{timestamp, type, payload}``, `item_completed`.

The same call stands in a rollout up to three times (the item, begin and end events, the completed item): its id says
that it is one. A command that goes on running ends in the output of a later `write_stdin`. What `codex exec --json`
prints is read too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from instinct_git.bridges.readers.draft import Draft, exit_code, items, mapping, parts, text, words
from instinct_git.bridges.readers.source import parsed, records

AGENT = "codex"
_ENVELOPES = words("session_meta turn_context world_state response_item event_msg compacted token_usage_record")
_CALLS = words("function_call custom_tool_call local_shell_call web_search_call")
_OUTPUTS = words("function_call_output custom_tool_call_output")
_MESSAGES = words("user_message agent_message message UserMessage AgentMessage")
_ENDS = words("exec_command_end patch_apply_end mcp_tool_call_end")
_EXEC = words("thread.started turn.started turn.completed turn.failed item.started item.updated item.completed")
_COUNTED = _ENVELOPES | _EXEC | words("reasoning token_count agent_reasoning ghost_snapshot turn_aborted")
_EXIT = re.compile(r"\A(?:.{0,400}?^)?(?:Process exited with code|Exit code:) (\d{1,3})\b", re.DOTALL | re.MULTILINE)
_OUTPUT = re.compile(r"\A(?:.{0,400}?^)Output:\n", re.DOTALL | re.MULTILINE)
_RUNNING = re.compile(r"^Process running with session ID (\d+)", re.MULTILINE)
_FAILED = re.compile(
    r"\A\s*(?:(?:exec_command|write_stdin|apply_patch verification) failed|failed to (?:parse|apply|find|read)|Error:|"
    r"execution error|Failed to|unsupported (?:call|tool)|Invalid (?:patch|Context)|Script failed|"
    r".{0,60}\b(?:aborted|rejected|denied) by (?:the )?user)"
)
_PATCHED = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.+)$", re.MULTILINE)
_NESTED = re.compile(r"\btools\.(\w{1,80})\s*\(")
_COMMAND = re.compile(r"\s*\{\s*[\"']?cmd[\"']?\s*:\s*(\"(?:[^\"\\]|\\.)*\")", re.DOTALL)
_WRAPPED = re.compile(
    r"\A\s*(?:<(?:environment_context|user_instructions|INSTRUCTIONS|turn_aborted)|# AGENTS\.md inst)"
)
_REQUEST = re.compile(r"^## My request for Codex:\s*\n", re.MULTILINE)


def recognises(value: object) -> bool:
    """True for one record of a rollout of any age, or of ``codex exec --json``."""
    record = mapping(value)
    kind, payload = text(record, "type"), record.get("payload")
    if not kind:
        return record.get("record_type") == "state" or _wrapped_exec(record) is not None
    if kind in _ENVELOPES:
        return isinstance(payload, dict)
    if kind == "message":
        kinds = [text(mapping(part), "type") for part in items(record.get("content"))]
        return bool(kinds) and set(kinds) <= {"input_text", "output_text", "input_image"}
    if kind in _CALLS | _OUTPUTS:
        return isinstance(record.get("call_id"), str) and "message" not in record
    return kind == "thread.started" and "thread_id" in record


def _wrapped_exec(record: Mapping[str, object]) -> Mapping[str, object] | None:
    """The event of ``codex exec --json`` in a wrapper ``{log_type, timestamp_iso, data}``."""
    data = mapping(record.get("data"))
    return data if "log_type" in record and text(data, "type") in _EXEC else None


def read(path: Path) -> list[Draft]:
    """The session of one rollout. Raises ``OSError``."""
    draft = Draft(AGENT, "")
    reader = _Rollout(draft)
    for record in records(path, draft.skipped):
        reader.add(record)
    draft.session = draft.session or path.stem
    if not reader.told_by_events:
        draft.prompts = reader.asked.prompts
    return [draft]


class _Rollout:
    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.thread = ""
        self.running: dict[str, str] = {}  # the number of a running process -> the id of the call that started it
        self.asked = Draft(AGENT, "", uses=draft.uses)  # prompts as messages: for rollouts without the person's events
        self.told_by_events = False

    def add(self, record: Mapping[str, object]) -> None:
        wrapped = _wrapped_exec(record)
        self.draft.seen(record.get("timestamp", record.get("timestamp_iso")))
        record = wrapped if wrapped is not None else record
        kind, payload = text(record, "type"), record.get("payload")
        if kind in _EXEC:
            self._exec(record)
        elif kind not in _ENVELOPES:
            self._item(record)
        elif not isinstance(payload, dict):
            self.draft.skipped["no payload"] += 1
        elif kind == "session_meta":
            self._meta(payload)
        elif kind == "response_item":
            self._item(payload)
        elif kind == "event_msg":
            self._event(payload)
        else:
            self._count(kind)

    def _count(self, kind: str) -> None:
        self.draft.skipped[f"{kind} record" if kind in _COUNTED else "other record"] += 1

    def _meta(self, payload: Mapping[str, object]) -> None:
        """The first one names the session; more follow where a history was copied from another one."""
        own = text(payload, "id", "session_id")
        if not self.draft.session:
            self.draft.session = text(payload, "session_id") or own
            self.thread = "" if own == self.draft.session else own
            self.draft.cwd = text(payload, "cwd")
        self.draft.seen(payload.get("timestamp"))

    def _item(self, item: Mapping[str, object]) -> None:
        kind = text(item, "type") or ("message" if "role" in item else "")
        if kind in _CALLS:
            self._call(item)
        elif kind in _OUTPUTS:
            self._output(item)
        elif kind == "message":
            said = parts(item.get("content"))
            if item.get("role") == "user" and said.strip() and not _WRAPPED.match(said):
                self.asked.day = self.draft.day
                self.asked.prompt(_request(said), text(item, "id"))
        elif not kind and isinstance(item.get("id"), str) and "timestamp" in item:  # the first line of 2025
            self.draft.session = self.draft.session or text(item, "id")
        else:
            self._count(kind)

    def _call(self, item: Mapping[str, object]) -> None:
        identity, name = text(item, "call_id", "id"), text(item, "name").removeprefix("functions.")
        if item.get("type") == "local_shell_call":
            self.draft.use(identity, "shell", mapping(item.get("action")), self.thread)
        elif item.get("type") == "web_search_call":
            self.draft.use(identity, "web_search_call", {}, self.thread)
        elif name == "exec" and (nested := list(_nested(_source(item)))):
            for number, (tool, arguments) in enumerate(nested):
                self.draft.use(identity if len(nested) == 1 else f"{identity}/{number}", tool, arguments, self.thread)
        else:
            self.draft.use(identity, name, _arguments(name, item), self.thread)

    def _output(self, item: Mapping[str, object]) -> None:
        identity, (out, error) = text(item, "call_id"), _outcome(item.get("output"))
        use = self.draft.uses.get(identity)
        started = _RUNNING.search(out[:2000])
        if use is not None and use.tool == "write_stdin":
            process = str(use.input.get("session_id"))
            if error is not None and process in self.running:
                self.draft.result(self.running[process], out, error)
            error = None if not use.input.get("chars") else error  # an empty poll does nothing that could fail
        elif started and error is None:
            self.running[started[1]] = identity
            return  # its output comes with the end
        self.draft.result(identity, out, error)

    def _event(self, event: Mapping[str, object]) -> None:
        kind = text(event, "type")
        if kind == "user_message":
            self._asked(text(event, "message"))
        elif kind in _ENDS:
            self._ended(event)
        elif kind == "item_completed":
            self._completed(mapping(event.get("item")))
        elif kind not in _MESSAGES:
            self._count(kind if kind in _COUNTED else "event_msg")

    def _asked(self, said: str) -> None:
        self.told_by_events = True
        self.draft.prompt(_request(said))

    def _ended(self, event: Mapping[str, object]) -> None:
        succeeded, result = event.get("success"), mapping(event.get("result"))
        error = exit_code(event.get("exit_code"))
        if isinstance(succeeded, bool):
            error = not succeeded
        elif "Err" in result or "Ok" in result:
            error = "Err" in result or mapping(result.get("Ok")).get("isError") is True
        identity = text(event, "call_id")
        if identity:
            self.draft.result(identity, text(event, "aggregated_output", "stdout", "stderr"), error)

    def _completed(self, item: Mapping[str, object]) -> None:
        """A completed item of today's rollouts (``CommandExecution``) or of ``exec --json`` (``command_execution``)."""
        kind = text(item, "type").replace("_", "").lower()
        identity = text(item, "id")
        error = exit_code(item.get("exit_code"))
        if error is None and item.get("status") in ("failed", "completed"):
            error = item.get("status") == "failed"
        if kind == "commandexecution":
            self._done(identity, "exec_command", {"cmd": item.get("command")}, text(item, "aggregated_output"), error)
        elif kind == "filechange":
            changes = item.get("changes")
            named = [text(mapping(one), "path") for one in items(changes)] or list(mapping(changes))
            self._done(identity, "apply_patch", {"file_path": named[0]} if named else {}, "", error)
        elif kind == "mcptoolcall":
            tool = f"mcp__{text(item, 'server')}__{text(item, 'tool')}"
            failed = bool(item.get("error")) or error
            self._done(identity, tool, item.get("arguments"), text(mapping(item.get("error")), "message"), failed)
        elif kind == "websearch":
            self._done(identity, "web_search_call", {}, "", error)
        elif kind == "usermessage":
            self._asked(parts(item.get("content")))
        elif kind != "agentmessage":
            self._count("reasoning" if kind == "reasoning" else "")

    def _done(self, identity: str, tool: str, arguments: object, out: str, error: bool | None) -> None:
        self.draft.use(identity, tool, arguments, self.thread)
        if identity:
            self.draft.result(identity, out, error)

    def _exec(self, record: Mapping[str, object]) -> None:
        if record.get("type") == "thread.started":
            self.draft.session = self.draft.session or text(record, "thread_id")
        elif record.get("type") == "item.completed":
            self._completed(mapping(record.get("item")))
        else:
            self._count(text(record, "type"))


def _source(item: Mapping[str, object]) -> str:
    """The script of a call in code mode."""
    given = item.get("input", item.get("arguments"))
    value = parsed(given) if isinstance(given, str) and given.lstrip().startswith("{") else given
    return text(value, "source", "code") if isinstance(value, dict) else given if isinstance(given, str) else ""


def _nested(script: str) -> Iterator[tuple[str, dict[str, object]]]:
    """(tool, arguments) of each ``tools.NAME(...)`` in a script; of the arguments only a command in quotes."""
    for found in _NESTED.finditer(script[:200_000]):
        command = _COMMAND.match(script, found.end())
        value = parsed(command[1]) if command else None
        yield found[1], {"cmd": value} if isinstance(value, str) else {}


def _arguments(name: str, item: Mapping[str, object]) -> dict[str, object]:
    """The arguments as an object, though they may be a JSON text, a patch, or something redacted."""
    given = item.get("arguments", item.get("input"))
    value = parsed(given) if isinstance(given, str) and name != "apply_patch" else given
    arguments = dict(value) if isinstance(value, dict) else {}
    if name == "apply_patch":
        inner = parsed(given) if isinstance(given, str) and given.lstrip().startswith("{") else given
        patch = text(inner, "patch", "input") if isinstance(inner, dict) else given if isinstance(given, str) else ""
        path = _PATCHED.search(patch)
        return {"file_path": path[1].strip()} if path else {}
    return arguments


def _outcome(output: object) -> tuple[str, bool | None]:
    """(text, whether it failed) of a call's output: text, JSON in a text, a list of texts or an object."""
    if isinstance(output, dict):
        succeeded = output.get("success")
        return parts(output.get("content")), (not succeeded) if isinstance(succeeded, bool) else None
    said = parts(output)
    inner = parsed(said) if said.startswith("{") else None
    if isinstance(inner, dict) and isinstance(inner.get("output"), str):
        code = mapping(inner.get("metadata")).get("exit_code", inner.get("exit_code"))
        return str(inner["output"]), exit_code(code)
    code = _EXIT.search(said)
    if code:
        return _OUTPUT.sub("", said, count=1), int(code[1]) != 0
    nested = re.search(r'^\{"exit_code":(\d{1,3})\b', said, re.MULTILINE) if isinstance(output, list) else None
    return said, int(nested[1]) != 0 if nested else True if _FAILED.match(said[:400]) else None


def _request(said: str) -> str:
    """What the person typed, without what an editor put in front of it."""
    found = _REQUEST.search(said)
    return said[found.end() :] if found else said

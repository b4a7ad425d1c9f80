"""The same session as every agent would write it down: shell commands with their output and exit code, and prompts."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Json = dict[str, Any]
DAY = "2026-03-01"


@dataclass(frozen=True)
class Ran:
    """A shell command, what it printed, and its exit code."""

    command: str
    output: str = "done"
    code: int = 0


@dataclass(frozen=True)
class Session:
    """One sitting: a prompt, then the commands."""

    name: str = "5f0c1d2e-session-one"
    prompt: str = "please look after the tests"
    steps: tuple[Ran, ...] = field(default=(Ran("pytest -q", "1 failed", 1), Ran("ls"), Ran("git commit -m x")))


def at(second: int) -> str:
    return f"{DAY}T10:00:{second:02}.000Z"


def codex(session: Session) -> list[Json]:
    """Envelopes, with the item, an event of the end and an empty poll's worth of noise."""
    records = [
        ("session_meta", {"id": session.name, "cwd": "/p", "cli_version": "0.77.0", "timestamp": at(0)}),
        ("turn_context", {"cwd": "/p"}),
        ("event_msg", {"type": "user_message", "message": f"# Context\n\n## My request for Codex:\n{session.prompt}"}),
        ("response_item", {"type": "reasoning", "summary": []}),
    ]
    for number, ran in enumerate(session.steps):
        given = {"type": "function_call", "name": "shell_command", "call_id": f"call_{session.name}_{number}"}
        out = f"Exit code: {ran.code}\nWall time: 0.1 seconds\nOutput:\n{ran.output}"
        records.append(("response_item", {**given, "arguments": json.dumps({"command": ran.command})}))
        records.append(("response_item", {**given, "type": "function_call_output", "output": out}))
    return [{"timestamp": at(number), "type": kind, "payload": load} for number, (kind, load) in enumerate(records)]


def codex_old(session: Session) -> list[Json]:
    """Bare items; the first line has no type."""
    records: list[Json] = [
        {"id": session.name, "timestamp": at(0), "instructions": None},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": session.prompt}]},
    ]
    for number, ran in enumerate(session.steps):
        identity = f"call_{session.name}_{number}"
        arguments = json.dumps({"command": ["bash", "-lc", ran.command]})
        output = json.dumps({"output": ran.output, "metadata": {"exit_code": ran.code, "duration_seconds": 0.1}})
        records.append({"type": "function_call", "name": "shell", "arguments": arguments, "call_id": identity})
        records.append({"type": "function_call_output", "call_id": identity, "output": output})
    return records


def codex_items(session: Session) -> list[Json]:
    """Today's form: the call, then a completed item of the same id, then its output."""
    records: list[tuple[str, Json]] = [
        ("session_meta", {"id": session.name, "session_id": session.name, "cwd": "/p"}),
        ("event_msg", {"type": "item_completed", "item": {
            "type": "UserMessage", "content": [{"type": "text", "text": session.prompt}]}}),
    ]  # fmt: skip
    for number, ran in enumerate(session.steps):
        identity = f"call_{session.name}_{number}"
        call = {"type": "function_call", "name": "exec_command", "call_id": identity}
        item = {"type": "CommandExecution", "id": identity, "command": ["/bin/bash", "-lc", ran.command],
                "aggregated_output": ran.output, "exit_code": ran.code, "status": "completed"}  # fmt: skip
        out = f"Chunk ID: 1\nProcess exited with code {ran.code}\nOutput:\n{ran.output}"
        records += [
            ("response_item", {**call, "arguments": json.dumps({"cmd": ran.command})}),
            ("event_msg", {"type": "item_completed", "item": item}),
            ("response_item", {"type": "function_call_output", "call_id": identity, "output": out}),
        ]
    return [{"timestamp": at(1), "ordinal": n, "type": kind, "payload": load} for n, (kind, load) in enumerate(records)]


def _gemini_messages(session: Session) -> list[Json]:
    messages: list[Json] = [{"id": "u1", "timestamp": at(1), "type": "user", "content": [{"text": session.prompt}]}]
    for number, ran in enumerate(session.steps):
        around = f"Output: {ran.output}\nExit Code: {ran.code}\nProcess Group PGID: 77"
        call = {
            "id": f"run_shell_command-{session.name}-{number}", "name": "run_shell_command", "status": "success",
            "args": {"command": ran.command},
            "result": [{"functionResponse": {"name": "run_shell_command", "response": {"output": around}}}],
        }  # fmt: skip
        messages.append({"id": f"m{number}", "timestamp": at(2), "type": "gemini", "content": "", "toolCalls": [call]})
    return messages


def gemini(session: Session) -> list[Json]:
    """A header, messages that are written again when their calls end, a patch that drops them, a rewinding."""
    head = {"sessionId": session.name, "projectHash": "ab12", "startTime": at(0), "lastUpdated": at(9), "kind": "main"}
    user, *done = _gemini_messages(session)
    started = [
        {**one, "toolCalls": [{**call, "status": "executing", "result": None} for call in one["toolCalls"]]}
        for one in done
    ]
    pairs = [record for both in zip(started, done, strict=True) for record in both]
    return [head, {"$set": {"messages": [user]}}, *pairs, {"$rewindTo": "m1"}, {"$set": {"lastUpdated": at(20)}}]


def gemini_json(session: Session) -> Json:
    return {"lastUpdated": at(9), "messages": _gemini_messages(session), "projectHash": "ab12",
            "sessionId": session.name, "startTime": at(0)}  # fmt: skip


def copilot(session: Session) -> list[Json]:
    """Each call is asked for by a message, started, and ended."""
    events: list[tuple[str, Json]] = [
        ("session.start", {"sessionId": session.name, "copilotVersion": "1.0.102", "context": {"cwd": "/p"}}),
        ("hook.start", {"hookType": "sessionStart", "input": {"initialPrompt": session.prompt}}),
        ("user.message", {"content": session.prompt, "transformedContent": "<x/>"}),
    ]
    for number, ran in enumerate(session.steps):
        identity, given = f"call_{session.name}_{number}", {"command": ran.command}
        told = f"{ran.output}\n<shellId: 0 completed with exit code {ran.code}>"
        events += [
            ("assistant.message", {"toolRequests": [{"toolCallId": identity, "name": "bash", "arguments": given}]}),
            ("tool.execution_start", {"toolCallId": identity, "toolName": "bash", "arguments": given}),
            ("tool.execution_complete", {"toolCallId": identity, "success": True, "result": {"content": told}}),
        ]
    return [{"type": kind, "data": data, "id": f"e{n}", "timestamp": at(1)} for n, (kind, data) in enumerate(events)]


def swe_agent(session: Session) -> Json:
    """Outputs have no codes: what failed shows in the text."""
    state = json.dumps({"open_file": "n/a", "working_dir": "/p"})
    steps = [
        {"action": f"{ran.command}\n", "observation": _told(ran), "response": "", "state": state, "thought": ""}
        for ran in session.steps
    ]
    told = [{"role": "user", "content": session.prompt, "agent": "main"}]
    return {"environment": session.name, "trajectory": steps, "history": told, "info": {}}


def _told(ran: Ran) -> str:
    return f"{ran.output}\nTraceback (most recent call last)\n" if ran.code else ran.output


def swe_agent_history(session: Session) -> Json:
    talk: list[Json] = [{"role": "system", "content": session.name, "agent": "main"}]
    for ran in session.steps:
        talk.append({"role": "assistant", "content": "", "action": ran.command, "thought": "", "agent": "main"})
        talk.append({"role": "user", "content": _told(ran), "agent": "main"})
    return {"history": talk}


def mini(session: Session) -> list[Json]:
    talk: list[Json] = [{"role": "system", "content": session.name}, {"role": "user", "content": session.prompt}]
    for ran in session.steps:
        talk.append({"role": "assistant", "content": f"So:\n\n```mswea_bash_command\n{ran.command}\n```"})
        told = f"<returncode>{ran.code}</returncode>\n<output>\n{ran.output}\n</output>"
        talk.append({"role": "user", "content": told})
    return talk


def mini_actions(session: Session) -> Json:
    talk: list[Json] = [{"role": "user", "content": session.prompt}]
    for number, ran in enumerate(session.steps):
        actions = [{"tool_call_id": f"c{number}", "command": ran.command}]
        told = {"returncode": ran.code, "raw_output": ran.output}
        talk.append({"role": "assistant", "content": "", "extra": {"actions": actions}})
        talk.append({"role": "tool", "tool_call_id": f"c{number}", "content": "", "extra": told})
    return {"info": {"note": session.name}, "messages": talk, "trajectory_format": "mini-swe-agent-2"}


def openhands(session: Session) -> list[Json]:
    events: list[Json] = [
        {"id": 0, "timestamp": at(0), "source": "agent", "action": "system", "args": {"content": session.name}},
        {"id": 1, "timestamp": at(0), "source": "user", "action": "message", "args": {"content": session.prompt}},
    ]
    for number, ran in enumerate(session.steps, 1):
        args = {"command": ran.command, "thought": ""}
        extras = {"command": ran.command, "metadata": {"exit_code": ran.code}}
        events += [
            {"id": 2 * number, "timestamp": at(1), "source": "agent", "action": "run", "args": args},
            {"id": 2 * number + 1, "timestamp": at(1), "source": "agent", "cause": 2 * number, "observation": "run",
             "content": ran.output, "extras": extras},
        ]  # fmt: skip
    return events


def openhands_pairs(session: Session) -> list[Json]:
    said = [{"content": session.prompt, "action": "message", "source": "user"}, {"observation": "null", "content": ""}]
    pairs: list[list[Json]] = [said]
    for ran in session.steps:
        action = {"command": ran.command, "thought": "", "action": "run", "is_confirmed": "confirmed"}
        answer = {"content": ran.output, "command": ran.command, "exit_code": ran.code, "observation": "run"}
        pairs.append([action, answer])
    return [{"instance_id": session.name, "history": pairs}]


def openhands_kinds(session: Session) -> list[Json]:
    said = {"content": [{"type": "text", "text": session.prompt}]}
    events: list[Json] = [{"kind": "MessageEvent", "source": "user", "timestamp": at(0), "llm_message": said}]
    for number, ran in enumerate(session.steps):
        call = {"tool_name": "terminal", "tool_call_id": f"call_{session.name}_{number}", "timestamp": at(1)}
        seen = {"content": [{"type": "text", "text": ran.output}], "exit_code": ran.code}
        action = {"kind": "TerminalAction", "command": ran.command}
        events += [
            {**call, "kind": "ActionEvent", "source": "agent", "action": action},
            {**call, "kind": "ObservationEvent", "source": "environment", "observation": seen},
        ]
    return events


def opencode(path: Path, session: Session, *, wal: bool = False) -> sqlite3.Connection:
    """Write a database; the connection is returned open, as an agent at work would hold it."""
    database = sqlite3.connect(path)
    database.executescript(
        ("PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0;" if wal else "")
        + """
        CREATE TABLE session (id text PRIMARY KEY, parent_id text, directory text, time_created integer);
        CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer, data text);
        CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, time_created integer, data text);
        """
    )
    moment = 1_772_359_200_000  # 2026-03-01T10:00:00Z
    database.execute("INSERT INTO session VALUES (?, NULL, '/p', ?)", (session.name, moment))
    said = json.dumps({"type": "text", "text": session.prompt})
    database.execute("INSERT INTO message VALUES ('m0', ?, ?, ?)", (session.name, moment, '{"role":"user"}'))
    database.execute("INSERT INTO part VALUES ('p0', 'm0', ?, ?, ?)", (session.name, moment, said))
    database.execute("INSERT INTO message VALUES ('m1', ?, ?, ?)", (session.name, moment + 1, '{"role":"assistant"}'))
    for number, ran in enumerate(session.steps, 1):
        state = {"status": "completed", "input": {"command": ran.command}, "output": ran.output,
                 "metadata": {"exit": ran.code}}  # fmt: skip
        part = {"type": "tool", "callID": f"call_{session.name}_{number}", "tool": "bash", "state": state}
        row = (f"p{number}", session.name, moment, json.dumps(part))
        database.execute("INSERT INTO part VALUES (?, 'm1', ?, ?, ?)", row)
    database.commit()
    return database


@dataclass(frozen=True)
class Format:
    """A way to write a session down: ``lines`` of JSON, or one JSON ``value``."""

    name: str
    agent: str
    make: Callable[[Session], Any]
    lines: bool

    def text(self, session: Session | None = None) -> bytes:
        """The file as it would be, its characters as they are where UTF-8 has them."""
        made = self.make(session or Session())
        values = [json.dumps(value, ensure_ascii=False) for value in made] if self.lines else [
            json.dumps(made, ensure_ascii=False, indent=2)
        ]  # fmt: skip
        return "".join(f"{value}\n" for value in values).replace("\ud83d", "\\ud83d").encode()


LINES = [
    Format("codex", "codex", codex, True),
    Format("codex-old", "codex", codex_old, True),
    Format("codex-items", "codex", codex_items, True),
    Format("gemini", "gemini", gemini, True),
    Format("copilot", "copilot", copilot, True),
    Format("openhands-pairs", "openhands", openhands_pairs, True),
    Format("openhands-lines", "openhands", openhands_kinds, True),
]
VALUES = [
    Format("gemini-json", "gemini", gemini_json, False),
    Format("swe-agent", "swe-agent", swe_agent, False),
    Format("swe-agent-history", "swe-agent", swe_agent_history, False),
    Format("mini", "swe-agent", mini, False),
    Format("mini-actions", "swe-agent", mini_actions, False),
    Format("openhands", "openhands", openhands, False),
    Format("openhands-kinds", "openhands", openhands_kinds, False),
]
TEXTS = LINES + VALUES

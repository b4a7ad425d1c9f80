"""What one agent did in one session: its tool calls, in order, with their results. Values only, no format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One use of a tool.

    ``number``   its place in the session, counted from 1 in file order after repeated ids were removed.
    ``id``       the agent's own id of the call; unique within a session.
    ``tool``     the tool's name as the agent knows it (``Bash``, ``Edit``, ``mcp__server__tool``).
    ``input``    the arguments as the agent gave them.
    ``result``   the text that came back, "" if there was none (or no result at all).
    ``is_error`` what the agent recorded about failure; None where it recorded nothing.
    ``thread``   "" for the main conversation, else the id of the side chain or subagent. Calls of different
                 threads may have run at the same time, so their order means nothing.
    ``day``      YYYYMMDD, UTC, of the call itself; "" where nothing tells: then the session's day is meant.
    ``action``   what it does, where `actions.named` has told; "" until then.
    """

    number: int
    id: str
    tool: str
    input: Mapping[str, object]
    result: str
    is_error: bool | None
    thread: str
    day: str = ""
    action: str = ""


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a person typed into the main conversation, as it stands there; for this machine only.

    ``id``    the agent's own id of the message; "" if it has none.
    ``text``  the words, with whatever they quote.
    ``after`` how many of the session's calls (by number) came before it.
    ``day``   YYYYMMDD, UTC; "" where nothing tells.
    """

    id: str
    text: str
    after: int
    day: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """The last words of a subagent: what it hands back. ``thread`` tells the subagents of a session apart."""

    thread: str
    text: str
    day: str = ""


@dataclass(frozen=True, slots=True)
class Transcript:
    """One session of one agent.

    ``agent``   which agent wrote it (``claude-code``).
    ``session`` the agent's own session id, not hashed: for this machine only.
    ``day``     YYYYMMDD, UTC, of the session's first record; "19700101" where no record carries a time.
    ``cwd``     the folder the session started in, "" if unknown: for this machine only.
    ``calls``   every tool call, by number.
    ``skipped`` reason -> number of lines that were read but hold no message (progress, notes, broken lines).
    ``prompts`` what the person said, in order. ``reports`` what subagents handed back.
    """

    agent: str
    session: str
    day: str
    cwd: str
    calls: tuple[ToolCall, ...]
    skipped: Mapping[str, int]
    prompts: tuple[Prompt, ...] = ()
    reports: tuple[Report, ...] = ()

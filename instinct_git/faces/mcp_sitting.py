"""One run of the MCP server: how its tools open the memory, name errors and the client, and ask the person."""

from __future__ import annotations

import json
import os
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

from mcp import MCPError
from mcp.server.mcpserver import AcceptedElicitation, Context, DeclinedElicitation, ElicitationResult
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError, ToolError
from mcp.types import INTERNAL_ERROR
from pydantic import BaseModel, BeforeValidator, Field

from instinct_git.errors import InstinctError, InvalidKey, UnknownPattern, UnknownSkill
from instinct_git.faces import render
from instinct_git.memory import Memory

QUOTED = 120
"""Characters of a text of others that a question to the person shows."""


def _given(value: Any) -> Any:
    return "" if value is None else value


# Some clients send null for what is left out; the SDK parses JSON inside of `str | None`, which would spoil a note.
Text = Annotated[str, BeforeValidator(_given)]


def _listed(value: Any) -> Any:
    return [] if value is None else value


Texts = Annotated[list[str], BeforeValidator(_listed)]
Key = Annotated[str, Field(description="prefix:body; prefixes seq, pref, fix, combo, note")]


class Sitting:
    """One project folder, one clock, one session: an agent in a loop counts no more than the session cap."""

    def __init__(self, root: Path, now: Callable[[], datetime] | None) -> None:
        self._root, self._now = root, now
        self.session = secrets.token_hex(16)
        # The tools run in worker threads; a memory's temporary files are named for the process, so one call at a time.
        self._turn = threading.Lock()

    def told_as(self) -> tuple[str, str]:
        """Return (session, agent) under which suggestions are counted: the agent's own session where it says so, so that
        what a hook told it at its start counts once."""
        own = os.environ.get("CLAUDE_CODE_SESSION_ID", "")
        return (own, "claude-code") if own else (self.session, "")

    @contextmanager
    def memory(self) -> Iterator[Memory]:
        """Open the memory anew, for a tool: a checkout shows at once, and a known error reaches the model."""
        try:
            with self._opened() as memory:
                yield memory
        except InstinctError as problem:
            raise ToolError(_told(problem)) from None

    @contextmanager
    def shelf(self) -> Iterator[Memory]:
        """Open the memory anew, for a resource."""
        try:
            with self._opened() as memory:
                yield memory
        except (UnknownPattern, UnknownSkill, InvalidKey) as problem:
            raise ResourceNotFoundError(_told(problem)) from None
        except InstinctError as problem:
            raise ResourceError(_told(problem)) from None

    @contextmanager
    def desk(self) -> Iterator[Memory]:
        """Open the memory anew, for a prompt."""
        try:
            with self._opened() as memory:
                yield memory
        except InstinctError as problem:
            raise MCPError(INTERNAL_ERROR, _told(problem)) from None

    @contextmanager
    def _opened(self) -> Iterator[Memory]:
        with self._turn, Memory(self._root, now=self._now) as memory:
            yield memory


def _told(problem: InstinctError) -> str:
    return f"{problem.message}. {problem.hint}" if problem.hint else problem.message


def compact(value: Any) -> str:
    """Return a result as JSON on one line."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def client_name(ctx: Context[Any, Any]) -> str:
    """Return the client's name as a source: lower case, words joined by hyphens; "mcp" when it gave none."""
    params = ctx.session.client_params
    name = params.client_info.name if params is not None else ""
    words = "".join(char if char.isalnum() or char in "._" else " " for char in name.casefold()).split()
    return "-".join(words)[:64] or "mcp"


# --- asking the person ------------------------------------------------------------------------------------------------


YES, NO, DECLINED, UNASKED = "yes", "no", "declined", ""


class Answer(BaseModel):
    """What a person is asked for."""

    yes: bool = Field(title="Yes")


def can_ask(ctx: Context[Any, Any]) -> bool:
    """True when the client can put a form before its person."""
    capabilities = ctx.client_capabilities
    asking = capabilities.elicitation if capabilities is not None else None
    return asking is not None and (asking.form is not None or asking.url is None)


def said(answer: ElicitationResult[Any]) -> str:
    """Return YES or NO, DECLINED when the person would not say, UNASKED when nobody was asked or nobody answered.

    A yes may come from a program that fills forms in, so it only opens what a review decides.
    """
    if isinstance(answer, AcceptedElicitation) and isinstance(answer.data, Answer):
        return YES if answer.data.yes else NO
    return DECLINED if isinstance(answer, DeclinedElicitation) else UNASKED


def quoted(text: str) -> str:
    """Return a text of others as one short line for a question."""
    line = " ".join(render.clean(text).split())
    return line if len(line) <= QUOTED else line[: QUOTED - 1] + "…"

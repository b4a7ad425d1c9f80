"""Clients of the MCP server, in both eras of the protocol, and what the tests of the command line share."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.types import Implementation

from instinct_git.faces import mcp_server
from tests.builders import KEY, Project, Ran, first, run_cli

Instinct = Callable[..., Ran]
CLAUDE = Implementation(name="Claude Code", version="2.0")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=first(1, ["auto", "legacy"]))
def mode(request: pytest.FixtureRequest) -> str:
    """auto is the stateless protocol of 2026, legacy the handshake before it."""
    return str(request.param)


@pytest.fixture
def connect(project: Project, mode: str) -> Callable[..., Client]:
    """Return a client of a new server for the project."""
    return lambda **options: Client(mcp_server.build(project.root), mode=mode, **{"client_info": CLAUDE, **options})


async def call(client: Client, tool: str, **arguments: Any) -> str:
    """Call a tool that must succeed and return its text."""
    done = await client.call_tool(tool, arguments)
    assert not done.is_error, done.content
    assert isinstance(done.structured_content, dict)
    [block] = done.content
    text = str(block.text)  # type: ignore[union-attr]
    if text.startswith("{"):
        assert json.loads(text) == done.structured_content
    return text


async def typed(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool that must succeed and return its typed result."""
    done = await client.call_tool(tool, arguments)
    assert not done.is_error, done.content
    return dict(done.structured_content or {})


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    """Call a tool that must fail and return what the model reads."""
    done = await client.call_tool(tool, arguments)
    assert done.is_error, done.content
    return str(done.content[0].text)  # type: ignore[union-attr]


def mature(project: Project, key: str = KEY, times: int = 6, **options: Any) -> None:
    """Make a pattern that is suggested."""
    project.observe(key, times, source="cursor", **options)
    project.memory().consolidate()


@pytest.fixture
def feed(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Put a text on standard input."""

    def put(text: str) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode("utf-8"))))

    return put


@pytest.fixture
def anywhere(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Instinct:
    """Run the command line in a plain folder: no repository, no memory."""
    folder = tmp_path / "plain"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return lambda *args: run_cli(monkeypatch, capsys, *args)


def two_lines(done: Ran, error: str, hint: str) -> None:
    """Assert a known error in exactly two lines on standard error, and exit 2."""
    assert (done.code, done.out) == (2, ""), done
    lines = done.err.split("\n")
    assert len(lines) == 3 and lines[2] == "", done.err
    assert lines[0].startswith("error: ") and error in lines[0], done.err
    assert lines[1].startswith("hint: ") and hint in lines[1], done.err

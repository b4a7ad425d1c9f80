"""The MCP face: every test speaks to the server as a client does, in both eras of the protocol."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
from mcp import Client, MCPError, StdioServerParameters

from instinct_git import __version__
from instinct_git.errors import InstinctError
from instinct_git.faces import mcp_server
from instinct_git.memory import Memory
from tests.builders import KEY, Project, Ran
from tests.faces.conftest import CLAUDE, call, refused

pytestmark = pytest.mark.anyio
TOOLS = ["observe", "suggest", "search", "consolidate", "explain", "feedback", "candidates", "propose"]
ROOT = Path(__file__).resolve().parents[2]


# --- what a client is told ------------------------------------------------------------------------------------------


async def test_there_are_eight_tools_with_titles_and_annotations(connect: Callable[..., Client]) -> None:
    async with connect() as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert list(tools) == TOOLS
    assert all(tool.title and tool.description and tool.annotations for tool in tools.values())
    reading = {name for name, tool in tools.items() if tool.annotations.read_only_hint}
    assert reading == {"suggest", "search", "explain", "candidates"}
    assert not any(tool.annotations.destructive_hint or tool.annotations.open_world_hint for tool in tools.values())


async def test_the_whole_tool_schema_takes_at_most_six_kilobytes(connect: Callable[..., Client]) -> None:
    async with connect() as client:
        tools = (await client.list_tools()).tools
    wire = json.dumps([tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools])
    assert len(wire.encode("utf-8")) <= 6000


async def test_the_server_names_itself_and_its_version(connect: Callable[..., Client]) -> None:
    async with connect() as client:
        assert (client.server_info.name, client.server_info.version) == ("instinct", __version__)


async def test_the_instructions_say_when_to_call_and_order_no_commit(connect: Callable[..., Client]) -> None:
    async with connect() as client:
        instructions = client.instructions or ""
        told = instructions + "".join(tool.description or "" for tool in (await client.list_tools()).tools)
    assert all(f"`{name}`" in instructions for name in ("suggest", "observe", "search", "feedback", "propose"))
    assert "the person's words" in instructions and "data, not orders" in " ".join(instructions.split())
    assert not re.search(r"\b(commit|push)", told, re.IGNORECASE)
    assert len(instructions.split()) < 100


async def test_a_tool_that_does_not_exist_is_an_error(connect: Callable[..., Client]) -> None:
    async with connect() as client:
        assert "promote" in await refused(client, "promote")


# --- errors ---------------------------------------------------------------------------------------------------------


async def test_a_known_error_reaches_the_model_with_its_hint(connect: Callable[..., Client], project: Project) -> None:
    project.observe(KEY)
    async with connect() as client:
        assert (await refused(client, "explain", key="seq:test->fix->tst")).endswith(
            f"there is no pattern 'seq:test->fix->tst'. did you mean {KEY}?"
        )
        assert "the key is empty. a key is prefix:body" in await refused(client, "observe", key=" ")
        assert "201 bytes long" in await refused(client, "observe", key="x" * 201)
        assert "there is no category 'x'" in await refused(client, "observe", key="plain", category="x")
        assert "the query is empty" in await refused(client, "search", query=" ")
        assert "limit" in await refused(client, "search", query="x", limit=0)
        assert "key" in await refused(client, "observe")


async def test_a_secret_is_refused_by_its_rule_and_never_told_or_written(
    connect: Callable[..., Client], project: Project
) -> None:
    secret = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    async with connect() as client:
        told = await refused(client, "observe", key=KEY, note=f"token {secret}")
    assert "rule" in told and secret not in told
    assert project.inbox_files() == []


async def test_an_unexpected_error_stays_opaque(
    connect: Callable[..., Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("private words")

    monkeypatch.setattr(Memory, "suggestions", broken)
    monkeypatch.setattr(Memory, "list", broken)
    async with connect() as client:
        assert await refused(client, "suggest") == "Error executing tool suggest"
        with pytest.raises(MCPError) as problem:
            await client.read_resource("instinct://patterns")
    assert "private" not in str(problem.value)


async def test_a_broken_config_is_told_with_its_file(connect: Callable[..., Client], project: Project) -> None:
    project.write(".instinct/config.yaml", "version: [\n")
    async with connect() as client:
        assert "config.yaml:" in await refused(client, "suggest")
        with pytest.raises(MCPError, match=r"config\.yaml:"):
            await client.read_resource("instinct://patterns")


# --- the process ----------------------------------------------------------------------------------------------------


def test_the_root_is_as_given_else_from_the_environment_else_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert mcp_server._folder(None) == tmp_path
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", "/claude")
    assert mcp_server._folder(None) == Path("/claude")
    monkeypatch.setenv("INSTINCT_ROOT", "/instinct")
    assert mcp_server._folder(None) == Path("/instinct")
    assert mcp_server._folder(Path("given")) == tmp_path / "given"


def test_a_folder_that_does_not_exist_is_refused_at_the_start(tmp_path: Path, instinct: Callable[..., Ran]) -> None:
    with pytest.raises(InstinctError, match="is not a folder"):
        mcp_server.ready(tmp_path / "none")
    done = instinct("serve", "--root", str(tmp_path / "none"))
    assert (done.code, done.out) == (2, "") and done.err.endswith("hint: name the project's folder with --root\n")


def test_a_variable_that_names_no_folder_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INSTINCT_ROOT", str(tmp_path / "none"))
    with pytest.raises(InstinctError, match="is not a folder") as problem:
        mcp_server.ready()
    assert problem.value.hint == "name the project's folder with INSTINCT_ROOT"


async def test_nothing_is_printed_while_it_serves(
    connect: Callable[..., Client], project: Project, capfd: pytest.CaptureFixture[str]
) -> None:
    project.write(".instinct/patterns/seq/broken.md", "no front matter\n")
    async with connect() as client:
        await call(client, "observe", key=KEY)
        await call(client, "suggest")
        await call(client, "consolidate")
        await refused(client, "explain", key="seq:none")
    assert capfd.readouterr().out == ""


async def test_a_real_server_speaks_over_standard_input_and_output(project: Project, mode: str, tmp_path: Path) -> None:
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "instinct_git", "serve"], cwd=tmp_path,
        env={**os.environ, "INSTINCT_ROOT": str(project.root), "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    with anyio.fail_after(60):
        async with Client(server, mode=mode, client_info=CLAUDE) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == TOOLS
            assert json.loads(await call(client, "observe", key=KEY))["live"] == 1
            assert json.loads(await call(client, "consolidate"))["commit"] == project.head()
            assert "there is no pattern" in await refused(client, "explain", key="seq:none")
    assert project.confidence() == 1

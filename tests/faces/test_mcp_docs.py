"""docs/mcp.md, docs/doctor.md and docs/plugins.md say what the programs say."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from mcp import Client

from instinct_git.faces import mcp_server
from tests.builders import Ran

pytestmark = pytest.mark.anyio
DOCS = Path(__file__).resolve().parents[2] / "docs"
MCP = (DOCS / "mcp.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("mode", ["auto"])
async def test_every_tool_field_resource_prompt_and_variable_is_in_the_docs_and_no_other(
    connect: Callable[..., Client],
) -> None:
    async with connect() as client:
        tools = (await client.list_tools()).tools
        prompts = (await client.list_prompts()).prompts
        resources = [str(one.uri) for one in (await client.list_resources()).resources]
        resources += [one.uri_template for one in (await client.list_resource_templates()).resource_templates]
    rows = {row[0]: row[1] for row in re.findall(r"^\| `([a-z]+)` \|(.*)\|$", MCP, re.MULTILINE)}
    assert rows.keys() == {one.name for one in tools} | {one.name for one in prompts}
    for one in tools:
        row = rows["suggest" if one.name == "search" else one.name]
        for field in (one.output_schema or {})["properties"]:
            assert f"`{field}`" in row or field == "pattern", f"{one.name}: {field}"
    told = re.findall(r"^\| `(instinct://[^`]+)`", MCP, re.MULTILINE)
    assert {one.replace("{+", "{").replace("{?lang}", "") for one in resources} == set(told)
    at = [MCP.index(f"`{name}") for name in ("--root", *mcp_server.ROOTS)]
    assert at == sorted(at)


def test_the_options_of_doctor_are_in_its_docs(instinct: Callable[..., Ran]) -> None:
    options = set(re.findall(r"--[a-z]+", instinct("doctor", "--help").out)) - {"--help"}
    assert options == set(re.findall(r"`(--[a-z]+)`", (DOCS / "doctor.md").read_text(encoding="utf-8")))


def test_every_path_in_the_docs_of_plugins_is_there() -> None:
    text = (DOCS / "plugins.md").read_text(encoding="utf-8")
    root = DOCS.parent
    named = set(re.findall(r"(?:plugins|\.claude-plugin)/[\w./-]*\w", text))
    bases = (root, root / "plugins" / "claude-code")
    assert named and not [path for path in named if not any((base / path).exists() for base in bases)]

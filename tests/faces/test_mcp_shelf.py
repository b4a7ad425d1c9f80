"""What a client can read over MCP beside the tools: resources, completion, prompts; and that it hears from long calls."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError
from mcp.types import PromptReference, ResourceTemplateReference

from instinct_git.faces import mcp_server, mcp_shelf
from instinct_git.memory import Memory
from tests.builders import KEY, Project
from tests.faces.conftest import call, mature, refused, typed

pytestmark = pytest.mark.anyio
FIXED = ["instinct://patterns", "instinct://skills", "instinct://session/last", "instinct://report/weekly"]
ONE_ERA = pytest.mark.parametrize("mode", ["auto"])
"""For what the protocol has no part in."""
SKILL = "---\nname: {0}\ndescription: Deploys the {0}.\n---\nThe steps.\n"


async def read(client: Client, uri: str) -> Any:
    """Read a resource that must be JSON."""
    [content] = (await client.read_resource(uri)).contents
    assert content.mime_type == "application/json"
    return json.loads(content.text)  # type: ignore[union-attr]


async def text(client: Client, uri: str) -> str:
    """Read a resource that must be Markdown."""
    [content] = (await client.read_resource(uri)).contents
    assert content.mime_type == "text/markdown"
    return str(content.text)  # type: ignore[union-attr]


# --- resources ------------------------------------------------------------------------------------------------------


async def test_the_patterns_are_a_resource_and_so_is_each_of_them(
    connect: Callable[..., Client], project: Project
) -> None:
    mature(project, title="Re-run the tests")
    project.observe("note:new")
    path = project.memory().show(KEY).path or ""
    project.write(path, project.read(path) + "The steps.\n")
    async with connect() as client:
        templates = (await client.list_resource_templates()).resource_templates
        assert [one.uri_template for one in templates] == [
            "instinct://patterns/{+key}", "instinct://skills/{name}", "instinct://session/{session}",
            "instinct://report/{week}{?lang}",
        ]  # fmt: skip
        assert [one["pattern"] for one in await read(client, "instinct://patterns")] == [KEY, "note:new"]
        one = await read(client, f"instinct://patterns/{KEY}")
        assert (one["confidence"], one["title"], one["body"].strip()) == (6, "Re-run the tests", "The steps.")
        assert await read(client, "instinct://patterns/seq%3Atest-%3Efix-%3Etest") == one


async def test_what_is_suggested_and_every_skill_is_listed_one_by_one_and_can_be_read(
    connect: Callable[..., Client], project: Project
) -> None:
    mature(project, title="Re-run the tests")
    project.observe("note:new")
    async with connect() as client:
        before = (await client.list_resources()).resources
        assert [str(one.uri) for one in before[:4]] == FIXED
        assert [(one.name, one.title) for one in before[4:]] == [(KEY, "Re-run the tests")]
        assert (await read(client, str(before[4].uri)))["pattern"] == KEY
        project.write("skills/web/SKILL.md", SKILL.format("web"))  # another process
        after = (await client.list_resources()).resources
        assert [(one.name, one.description) for one in after[5:]] == [("web", "Deploys the web.")]
        assert await text(client, str(after[5].uri)) == SKILL.format("web")


@ONE_ERA
async def test_a_memory_that_cannot_be_read_still_lists_the_fixed_resources(
    connect: Callable[..., Client], project: Project
) -> None:
    project.write(".instinct/config.yaml", "version: [\n")
    async with connect() as client:
        assert [str(one.uri) for one in (await client.list_resources()).resources] == FIXED


@ONE_ERA
async def test_a_skill_that_leads_out_of_the_repository_is_none(
    connect: Callable[..., Client], project: Project, tmp_path: Path
) -> None:
    project.write("skills/web/SKILL.md", "no front matter\n")
    (tmp_path / "private.md").write_text("private words\n", encoding="utf-8")
    link = project.root / "skills" / "link" / "SKILL.md"
    link.parent.mkdir()
    link.symlink_to(tmp_path / "private.md")
    async with connect() as client:
        assert await read(client, "instinct://skills") == [
            {"name": "web", "description": "", "path": "skills/web/SKILL.md"}
        ]
        with pytest.raises(MCPError, match=r"there is no skill .link.\. skills: web"):
            await client.read_resource("instinct://skills/link")


@ONE_ERA
async def test_the_weekly_report_is_a_resource_in_both_languages_and_for_every_week(
    connect: Callable[..., Client], project: Project
) -> None:
    week = project.memory().report().week
    async with connect() as client:
        assert (await text(client, "instinct://report/weekly")).startswith(f"# Week {week} until")
        assert f"{week}" in await text(client, "instinct://report/weekly?lang=zh")
        assert "候选池" in await text(client, "instinct://report/weekly?lang=zh")
        assert (await text(client, "instinct://report/2026-W13")).startswith("# Weekly report 2026-W13")
        with pytest.raises(MCPError, match=r"is no ISO week\. year and week"):
            await client.read_resource("instinct://report/soon")
        with pytest.raises(MCPError, match=r"there is no language 'fr'\. languages: en, zh"):
            await client.read_resource("instinct://report/weekly?lang=fr")


async def test_a_key_of_any_form_is_a_resource_and_what_is_unknown_is_not_found(
    connect: Callable[..., Client], project: Project
) -> None:
    uris = {
        "note:../up": "note:../up", "note:50% off?#1": "note:50%25%20off%3F%231", "note:记住 这个": "note:记住%20这个", "a/b": "a/b",
    }  # fmt: skip
    for key in uris:
        project.observe(key)
    async with connect() as client:
        for key, uri in uris.items():
            assert (await read(client, f"instinct://patterns/{uri}"))["pattern"] == key
        for uri in (
            "instinct://patterns/seq:none", "instinct://patterns/%00", "instinct://patterns/%20", "instinct://other",
            "instinct://skills/none", "instinct://skills/..%2F..%2Fetc",
        ):  # fmt: skip
            with pytest.raises(MCPError) as problem:
                await client.read_resource(uri)
            assert problem.value.error.code == -32602, uri


@ONE_ERA
async def test_the_users_global_patterns_are_suggested_listed_and_read_too(
    connect: Callable[..., Client], project: Project
) -> None:
    mine = Memory(scope="global")
    for _ in range(6):
        mine.observe("pref:editor=vim", title="Vim it is")
    mine.consolidate()
    async with connect() as client:
        [row] = (await typed(client, "suggest"))["patterns"]
        assert (row["pattern"], row["words"], row["level"]) == ("pref:editor=vim", "Vim it is", "mature")
        assert "global" in row["why"]
        assert (await client.list_resources()).resources[4].description == "mature, confidence 6, global"
        assert (await read(client, "instinct://patterns/pref:editor=vim"))["scope"] == "global"


@ONE_ERA
async def test_a_broken_pattern_file_costs_that_pattern_alone(connect: Callable[..., Client], project: Project) -> None:
    mature(project)
    project.write(".instinct/patterns/note/broken.md", "no front matter\n")
    async with connect() as client:
        found = await typed(client, "suggest")
        assert [row["pattern"] for row in found["patterns"]] == [KEY]
        assert any("broken.md" in notice for notice in found["notices"])
        assert [one["pattern"] for one in await read(client, "instinct://patterns")] == [KEY]
        assert (await typed(client, "search", query="test"))["patterns"][0]["pattern"] == KEY


@ONE_ERA
async def test_a_session_in_sum_is_a_resource_the_last_and_every_other(
    connect: Callable[..., Client], project: Project
) -> None:
    async with connect() as client:
        with pytest.raises(MCPError, match="session"):
            await client.read_resource("instinct://session/last")
        for name in ("first-1", "second-2"):
            project.memory().begin_session(name, [KEY], agent="claude-code")
            project.memory().observe(KEY, source="claude-code", session=name)
        last = await read(client, "instinct://session/last")
        assert (last["session"], last["told"], last["recorded"]) == ("second-2", [KEY], {"observed": 1})
        assert (await read(client, "instinct://session/first"))["session"] == "first-1"


# --- completion -----------------------------------------------------------------------------------------------------


async def test_keys_skills_weeks_and_languages_complete_themselves(
    connect: Callable[..., Client], project: Project
) -> None:
    project.observe(KEY)
    project.observe("pref:test=pytest")
    project.write("skills/web/SKILL.md", SKILL.format("web"))

    async def complete(client: Client, uri: str, name: str, value: str) -> list[str]:
        ref = ResourceTemplateReference(type="ref/resource", uri=uri)
        return (await client.complete(ref, {"name": name, "value": value})).completion.values

    async with connect() as client:
        assert await complete(client, mcp_shelf.A_PATTERN, "key", "SEQ") == [KEY]
        assert await complete(client, mcp_shelf.A_PATTERN, "key", "pytest") == ["pref:test=pytest"]
        assert set(await complete(client, mcp_shelf.A_PATTERN, "key", "")) == {KEY, "pref:test=pytest"}
        assert await complete(client, mcp_shelf.A_SKILL, "name", "w") == ["web"]
        weeks = await complete(client, mcp_shelf.A_REPORT, "week", "")
        assert (weeks[0], len(weeks)) == ("weekly", mcp_shelf.WEEKS)
        assert (await text(client, f"instinct://report/{weeks[-1]}")).startswith(f"# Weekly report {weeks[-1]}")
        assert await complete(client, "instinct://other/{x}", "x", "") == []
        prompt = PromptReference(type="ref/prompt", name="reflect")
        assert (await client.complete(prompt, {"name": "lang", "value": "z"})).completion.values == ["zh"]
        project.write(".instinct/config.yaml", "version: [\n")
        assert await complete(client, mcp_shelf.A_PATTERN, "key", "") == []


# --- prompts --------------------------------------------------------------------------------------------------------


async def prompt(client: Client, name: str, **arguments: str) -> str:
    [message] = (await client.get_prompt(name, arguments)).messages
    assert message.role == "user"
    return str(message.content.text)  # type: ignore[union-attr]


async def test_two_prompts_are_offered_and_speak_english_or_chinese(
    connect: Callable[..., Client], project: Project
) -> None:
    project.observe(KEY, title="Re-run the tests")
    async with connect() as client:
        offered = (await client.list_prompts()).prompts
        assert [(one.name, [arg.name for arg in one.arguments or []]) for one in offered] == [
            ("reflect", ["lang"]), ("review", ["lang"]),
        ]  # fmt: skip
        english, chinese = await prompt(client, "reflect"), await prompt(client, "reflect", lang="zh")
        assert "call `observe`" in english and "调用 `observe`" in chinese
        assert english.endswith(f"{KEY}  Re-run the tests") and chinese.endswith(f"{KEY}  Re-run the tests")
        with pytest.raises(MCPError):
            await client.get_prompt("reflect", {"lang": "fr"})


@ONE_ERA
async def test_the_review_prompt_brings_what_is_ready_and_leaves_the_answer_to_the_person(
    connect: Callable[..., Client], project: Project
) -> None:
    async with connect() as client:
        assert (await prompt(client, "review")).endswith("none yet")
        assert (await prompt(client, "review", lang="zh")).endswith("暂无")
        project.memory().remember("Always run the linter first", key="pref:lint=first")
        for number in range(9):
            project.memory().feedback("pref:lint=first", "succeeded", source="x", context=f"c{number}")
        told = await prompt(client, "review")
    assert "pref:lint=first" in told and "approve nothing" in told


@ONE_ERA
async def test_a_broken_config_is_told_by_a_prompt_too(connect: Callable[..., Client], project: Project) -> None:
    project.write(".instinct/config.yaml", "version: [\n")
    async with connect() as client:
        with pytest.raises(MCPError, match=r"config\.yaml:"):
            await client.get_prompt("reflect", {})


# --- typed results and long calls -----------------------------------------------------------------------------------


async def test_every_tool_publishes_the_type_of_its_result_and_keeps_to_it(
    connect: Callable[..., Client], project: Project
) -> None:
    mature(project, title="Re-run the tests")
    async with connect() as client:
        types = {one.name: (one.output_schema or {}).get("properties", {}) for one in (await client.list_tools()).tools}
        assert all(types.values())
        results = {
            "observe": await typed(client, "observe", key=KEY), "suggest": await typed(client, "suggest"),
            "search": await typed(client, "search", query="test"), "consolidate": await typed(client, "consolidate"),
            "explain": await typed(client, "explain", key=KEY),
            "feedback": await typed(client, "feedback", key=KEY, answer="worked"),
            "candidates": await typed(client, "candidates"),
        }  # fmt: skip
        assert types.keys() - results.keys() == {"propose"}
    for name, result in results.items():
        assert types[name].keys() <= result.keys(), name
    assert results["suggest"]["patterns"][0]["words"] == "Re-run the tests"
    assert results["explain"]["evidence"][-1]["confidence"] == 7
    assert results["consolidate"]["folded"] == 1


async def test_a_client_that_asks_for_progress_hears_from_a_call_that_takes_long(
    connect: Callable[..., Client], project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = threading.Event()
    beats: list[float] = []
    search = Memory.search

    def slow(self: Memory, query: str, limit: int = 20) -> Any:
        assert heard.wait(20)  # it only ends because progress arrives
        return search(self, query, limit)

    async def progress(done: float, total: float | None, message: str | None) -> None:
        assert total is None and message == "search: still at work"
        beats.append(done)
        if len(beats) == 2:
            heard.set()

    monkeypatch.setattr(mcp_server, "BEAT", 0.01)
    monkeypatch.setattr(Memory, "search", slow)
    project.observe(KEY)
    with anyio.fail_after(30):
        async with connect() as client:
            done = await client.call_tool("search", {"query": "test"}, progress_callback=progress)
            assert not done.is_error and beats[0] < beats[1]
            assert "the query is empty" in await refused(client, "search", query=" ")
            assert "1 found" in await call(client, "search", query="test")  # nobody asked for progress

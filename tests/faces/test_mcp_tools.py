"""The MCP tools: every test speaks to the server as a client does, in both eras of the protocol."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
from mcp import Client
from mcp.types import Implementation

from instinct_git.faces import mcp_server
from tests.builders import KEY, Project, Ran
from tests.faces.conftest import call, mature, refused

pytestmark = pytest.mark.anyio


# --- observe --------------------------------------------------------------------------------------------------------


async def test_observe_returns_the_live_value_and_takes_the_clients_name_as_source(
    connect: Callable[..., Client], project: Project
) -> None:
    async with connect() as client:
        first = json.loads(await call(client, "observe", key=KEY, title="Re-run the tests"))
        second = json.loads(await call(client, "observe", key=KEY))
    assert first == {"pattern": KEY, "live": 1, "category": "sequence", "scope": "project"}
    assert second["live"] == 2
    one = project.memory().show(KEY)
    assert (one.sources, one.title) == (("claude-code",), "Re-run the tests")


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("cursor-vscode", "cursor-vscode"), ("Visual Studio Code", "visual-studio-code"),
        ("a\nb\x1b[31m", "a-b-31m"), ("  ", "mcp"), ("x" * 500, "x" * 64),
    ],
)  # fmt: skip
async def test_the_source_is_a_tame_form_of_the_clients_name(
    connect: Callable[..., Client], project: Project, name: str, source: str
) -> None:
    async with connect(client_info=Implementation(name=name, version="1")) as client:
        await call(client, "observe", key=KEY)
    assert project.memory().show(KEY).sources == (source,)


async def test_a_client_without_a_name_of_its_own_is_mcp(connect: Callable[..., Client], project: Project) -> None:
    async with connect(client_info=None) as client:
        await call(client, "observe", key=KEY)
    assert project.memory().show(KEY).sources == ("mcp",)


async def test_an_agent_in_a_loop_counts_three_times_in_one_sitting(connect: Callable[..., Client]) -> None:
    async with connect() as client:
        values = [json.loads(await call(client, "observe", key=KEY))["live"] for _ in range(5)]
        named = json.loads(await call(client, "observe", key=KEY, session="another"))
    assert values == [1, 2, 3, 3, 3]
    assert named["live"] == 4


async def test_two_servers_are_two_sittings(project: Project, mode: str) -> None:
    values = []
    for _ in range(2):
        async with Client(mcp_server.build(project.root), mode=mode) as client:
            values += [json.loads(await call(client, "observe", key=KEY))["live"] for _ in range(3)]
    assert values == [1, 2, 3, 4, 5, 6]


async def test_observe_takes_everything_that_the_command_line_takes(
    connect: Callable[..., Client], project: Project
) -> None:
    async with connect() as client:
        done = json.loads(
            await call(client, "observe", key="retry on 429", note="as the docs say", title="Retry",
                       description="With a delay.", context="web-shop", category="fix_pattern")
        )  # fmt: skip
    assert done["category"] == "fix_pattern"
    one = project.memory().show("retry on 429")
    assert (one.category, one.title, one.description) == ("fix_pattern", "Retry", "With a delay.")
    [line] = project.memory().explain("retry on 429").lines
    assert (line.note, line.context, line.source) == ("as the docs say", "web-shop", "claude-code")


async def test_null_is_as_good_as_nothing_and_a_note_that_looks_like_json_stays_a_note(
    connect: Callable[..., Client], project: Project
) -> None:
    async with connect() as client:
        await call(
            client,
            "observe",
            key=KEY,
            note='{"a": [1]}',
            title=None,
            description=None,
            context=None,
            session=None,
            category=None,
        )
    assert project.memory().explain(KEY).lines[0].note == '{"a": [1]}'
    assert project.memory().show(KEY).title == ""


async def test_many_observations_at_once_are_all_counted(connect: Callable[..., Client], project: Project) -> None:
    async with connect() as client, anyio.create_task_group() as group:
        for number in range(20):
            group.start_soon(lambda n=number: call(client, "observe", key=f"note:{n}"))
    assert len(project.memory().list()) == 20


async def test_observe_in_a_project_without_a_memory_says_where_it_went(tmp_path: Path, mode: str) -> None:
    other = Project.new(tmp_path / "other")
    async with Client(mcp_server.build(other.root), mode=mode) as client:
        done = json.loads(await call(client, "observe", key=KEY))
    assert done["scope"] == "global" and "global" in done["notice"]
    assert other.status() == ""


async def test_observe_says_that_a_retired_pattern_stays_silent(
    connect: Callable[..., Client], project: Project
) -> None:
    mature(project)
    project.memory().retire(KEY)
    async with connect() as client:
        assert json.loads(await call(client, "observe", key=KEY))["status"] == "retired"


# --- suggest, search, explain ---------------------------------------------------------------------------------------


async def test_suggest_gives_a_line_a_mature_pattern(connect: Callable[..., Client], project: Project) -> None:
    mature(project, title="Re-run the tests")
    mature(project, "pref:style=black", 11)
    project.observe("note:new")
    async with connect() as client:
        whole, one = await call(client, "suggest"), await call(client, "suggest", limit=1)
    assert whole.split("\n") == [
        "pref:style=black  conf=11  [rule]  preference  — use black for style",
        f"{KEY}  conf=6  [mature]  sequence  — Re-run the tests",
        "# 2 suggestions",
    ]
    assert one.split("\n")[1:] == ["# 1 suggestion", "# 1 more left out"]


async def test_suggest_in_a_new_memory_says_that_there_is_nothing(connect: Callable[..., Client]) -> None:
    async with connect() as client:
        assert await call(client, "suggest") == "# 0 suggestions"


async def test_a_title_cannot_forge_lines_or_drive_a_terminal(connect: Callable[..., Client], project: Project) -> None:
    mature(project)
    path = project.memory().show(KEY).path or ""
    project.write(path, project.read(path).replace("title:", 'title: "a\\nseq:forged\\e[31m"\nwas:', 1))
    async with connect() as client:
        for text in (await call(client, "suggest"), await call(client, "search", query=KEY)):
            assert "\x1b" not in text and len(text.split("\n")) == 2


async def test_search_finds_new_and_known_patterns_and_says_why(
    connect: Callable[..., Client], project: Project
) -> None:
    mature(project, title="Re-run the tests")
    project.observe("note:测试 在 提交 前")
    async with connect() as client:
        assert f"{KEY}  6  [mature]  sequence  Re-run the tests  (" in await call(client, "search", query="tests")
        assert "note:测试" in await call(client, "search", query="测试")
        assert await call(client, "search", query="nothing like it") == "# 0 found"
        project.observe("note:tests are slow")
        assert (await call(client, "search", query="tests", limit=1)).endswith("# 1 found")


async def test_explain_shows_the_evidence_and_what_is_missing(connect: Callable[..., Client], project: Project) -> None:
    project.observe(KEY, 4, source="cursor")
    async with connect() as client:
        text = await call(client, "explain", key=KEY)
    assert text.startswith(f"{KEY}  confidence 0, live 4")
    assert text.count("observed") == 4
    assert "# 1 more to mature (5)" in text


async def test_explain_of_a_pattern_with_much_evidence_stays_short(
    connect: Callable[..., Client], project: Project
) -> None:
    project.observe(KEY, 30)
    async with connect() as client:
        lines = (await call(client, "explain", key=KEY)).split("\n")
    assert sum("observed" in line for line in lines) == mcp_server.EVIDENCE_ROWS
    assert "= 30" in "\n".join(lines)
    assert "# 10 earlier pieces of evidence left out" in lines


# --- consolidate ----------------------------------------------------------------------------------------------------


async def test_consolidate_folds_in_one_commit_and_says_what_moved(
    connect: Callable[..., Client], project: Project
) -> None:
    project.observe(KEY, 5, source="cursor")
    before = project.commits()
    async with connect() as client:
        plan = json.loads(await call(client, "consolidate", dry_run=True))
        assert (plan["dry_run"], plan["commit"], project.commits()) == (True, "", before)
        done = json.loads(await call(client, "consolidate"))
    assert done == {
        "verb": "consolidate", "dry_run": False, "commit": project.head(),
        "promoted_to_mature": 1, "promoted_to_rule": 0, "total": 1, "folded": 5, "recorded": 5,
        "moved": [f"{KEY}  0 -> 5  mature"], "notices": [],
    }  # fmt: skip
    assert project.commits() == before + 1
    assert project.errors() == []


async def test_consolidate_names_at_most_twenty_patterns(connect: Callable[..., Client], project: Project) -> None:
    for number in range(23):
        project.observe(f"note:{number}")
    async with connect() as client:
        done = json.loads(await call(client, "consolidate"))
    assert done["total"] == 23
    assert len(done["moved"]) == 21 and done["moved"][-1] == "... and 3 more"


async def test_with_agent_commits_off_consolidate_is_only_a_plan(
    connect: Callable[..., Client], project: Project
) -> None:
    project.observe(KEY, 2)
    project.memory().configure("agent_commits", "false")
    before, status = project.commits(), project.status()
    async with connect() as client:
        done = json.loads(await call(client, "consolidate"))
    assert done["dry_run"] and done["commit"] == "" and done["moved"] == [f"{KEY}  0 -> 2  raw"]
    assert "agent_commits is false" in done["notices"][0]
    assert (project.commits(), project.status()) == (before, status)


async def test_on_another_branch_the_policy_of_the_command_line_holds(
    connect: Callable[..., Client], project: Project
) -> None:
    project.memory().configure("consolidate", "default-branch")
    project.commit("a memory", ".instinct")
    project.git("checkout", "-q", "-b", "topic")
    project.observe(KEY)
    async with connect() as client:
        done = json.loads(await call(client, "consolidate"))
    assert (done["verb"], done["recorded"], done["folded"]) == ("record", 1, 0)
    assert "default-branch" in done["notices"][0]


async def test_in_a_merge_consolidate_refuses_and_loses_nothing(
    connect: Callable[..., Client], project: Project
) -> None:
    project.observe(KEY)
    project.write(".git/MERGE_HEAD", project.head() + "\n")
    async with connect() as client:
        assert "merge" in await refused(client, "consolidate")
        assert json.loads(await call(client, "observe", key=KEY))["live"] == 2


async def test_what_mcp_observed_is_consolidated_by_the_command_line(
    connect: Callable[..., Client], project: Project, instinct: Callable[..., Ran]
) -> None:
    async with connect() as client:
        for session in ("one", "two"):
            for _ in range(3):
                await call(client, "observe", key=KEY, session=session)
    assert "Promoted to mature: 1" in instinct("consolidate").out
    assert project.confidence() == 6
    assert {one.by for one in project.tree_evidence()} == {"claude-code"}
    assert project.errors() == []


async def test_a_checkout_and_an_edit_show_at_once(connect: Callable[..., Client], project: Project) -> None:
    project.commit("a memory", ".instinct")
    project.git("checkout", "-q", "-b", "topic")
    mature(project)
    async with connect() as client:
        assert "# 1 suggestion" in await call(client, "suggest")
        project.git("checkout", "-q", "main")
        assert await call(client, "suggest") == "# 0 suggestions"
        project.git("checkout", "-q", "topic")
        path = project.memory().show(KEY).path or ""
        project.write(path, project.read(path).replace("title:", "title: Edited by hand\nwas:", 1))
        assert "Edited by hand" in await call(client, "suggest")


async def test_what_a_sitting_is_told_is_counted_once(
    connect: Callable[..., Client], project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    mature(project)
    async with connect() as client:
        await call(client, "suggest")
        await call(client, "suggest")
    assert [(one.pattern, one.shown) for one in project.memory().effect()] == [(KEY, 1)]
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "session-1")
    project.memory().begin_session("session-1", [KEY], agent="claude-code")
    async with connect() as client:
        await call(client, "suggest")
    assert [(one.pattern, one.shown) for one in project.memory().effect()] == [(KEY, 2)]


async def test_suggest_puts_what_concerns_the_task_first(connect: Callable[..., Client], project: Project) -> None:
    mature(project, "note:invoices", 12, title="Send the invoices on Monday")
    mature(project, "note:发布", 6, title="博客发布前先看预览")
    async with connect() as client:
        plain = await call(client, "suggest")
        asked = await call(client, "suggest", task="要发布博客", paths=["web/post.md"])
        assert await call(client, "suggest", task=None, paths=None) == plain
    assert plain.split("\n")[0].startswith("note:invoices")
    assert asked.split("\n")[0].startswith("note:发布")

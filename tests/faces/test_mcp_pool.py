"""The MCP tools of the pool: a person's word counts only when the person was asked, and nothing is approved."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from mcp import Client
from mcp.types import ElicitResult

from instinct_git.core.candidates import NUMBERS
from instinct_git.faces import mcp_pool
from tests.builders import KEY, Project
from tests.faces.conftest import call, mature, refused

pytestmark = pytest.mark.anyio
KEYED = "note:publish"
SECRET = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"


class Person:
    """A person before a client: answers every question alike and keeps what was asked."""

    def __init__(self, action: str, yes: bool | None = None) -> None:
        self.answer = ElicitResult(action=action, content=None if yes is None else {"yes": yes})  # type: ignore[arg-type]
        self.asked: list[str] = []

    async def __call__(self, _: Any, question: Any) -> ElicitResult:
        self.asked.append(question.message)
        return self.answer


def agrees() -> Person:
    return Person("accept", True)


def candidate(project: Project, successes: int = 0, key: str = KEYED, **options: Any) -> None:
    memory = project.memory()
    memory.remember("Publish the blog", key=key, **{"score": "0.48", "why": "w", **options})
    for _ in range(successes):
        memory.feedback(key, "succeeded")


def kinds(project: Project) -> list[str]:
    """The kinds of all evidence, the inbox's too."""
    book, _ = project.memory()._space.read()
    return sorted(one.k for one in book.everything)


def triggers(project: Project) -> list[str]:
    book, _ = project.memory()._space.read()
    return [str(one.extra["x"]) for one in book.everything if one.k == "candidate"]


# --- observe and remember ---------------------------------------------------------------------------------------------


async def test_a_yes_makes_it_an_explicit_candidate(connect: Callable[..., Client], project: Project) -> None:
    person = agrees()
    async with connect(elicitation_callback=person) as client:
        done = json.loads(await call(client, "observe", key=KEY, title="Re-run the tests", remember=True))
    assert person.asked == [
        'The agent says that you want this remembered: "Re-run the tests" (seq:test->fix->test). Do you? '
        "A review still decides."
    ]
    assert done["remembered"] == "as the person's wish" and done["candidate"]["trigger"] == "explicit"
    assert triggers(project) == ["explicit"]
    assert [one.because for one in project.memory().suggest()] == ["awaiting review"]


@pytest.mark.parametrize("person", [Person("accept", False), Person("decline")], ids=["false", "declined"])
async def test_a_no_is_only_counted(connect: Callable[..., Client], project: Project, person: Person) -> None:
    async with connect(elicitation_callback=person) as client:
        done = json.loads(await call(client, "observe", key=KEY, remember=True))
    assert (done["live"], "said no" in done["remembered"]) == (1, True)
    assert triggers(project) == []


@pytest.mark.parametrize("options", [{}, {"elicitation_callback": Person("cancel")}], ids=["cannot ask", "cancelled"])
async def test_without_an_answer_it_counts_as_implicit_and_the_command_is_named(
    connect: Callable[..., Client], project: Project, options: dict[str, Any]
) -> None:
    async with connect(**options) as client:
        done = json.loads(await call(client, "observe", key=KEY, remember=True))
        again = json.loads(await call(client, "observe", key=KEY, remember=True))
    assert done["candidate"]["trigger"] == again["candidate"]["trigger"] == "implicit"
    assert "instinct remember" in done["remembered"]
    assert triggers(project) == ["implicit"]
    assert project.memory().suggest() == []


async def test_nobody_is_asked_without_remember(connect: Callable[..., Client], project: Project) -> None:
    person = agrees()
    async with connect(elicitation_callback=person) as client:
        done = json.loads(await call(client, "observe", key=KEY))
    assert person.asked == [] and "remembered" not in done
    assert kinds(project) == ["observed"]


async def test_the_daily_breaker_holds_what_nobody_asked_for_and_not_what_the_person_wants(
    connect: Callable[..., Client], project: Project
) -> None:
    words = ("retry", "cache", "lint", "deploy", "backup", "review", "index")
    async with connect() as client:
        told = [json.loads(await call(client, "observe", key=f"fix:{one}", remember=True)) for one in words]
    assert [("candidate" in one) for one in told] == [True] * NUMBERS.daily + [False] * 2
    assert all("not yet" in one["remembered"] for one in told[NUMBERS.daily :])
    assert all(one["live"] == 1 for one in told), "evidence is kept"
    _, held = project.memory().breakers()
    assert held == ["fix:index", "fix:review"]
    async with connect(elicitation_callback=agrees()) as client:
        wanted = json.loads(await call(client, "observe", key="fix:review", remember=True))
    assert wanted["candidate"]["trigger"] == "explicit"


async def test_a_question_cannot_be_forged_by_the_words_of_the_agent(connect: Callable[..., Client]) -> None:
    person = Person("decline")
    async with connect(elicitation_callback=person) as client:
        await refused(client, "observe", key=KEY, title="a\nYou said: yes\x1b[2J\u202e" + "x" * 5000, remember=True)
    (question,) = person.asked
    assert question.isprintable() and len(question) < 300


async def test_secrets_and_overlong_texts_are_refused_and_nothing_is_written(
    connect: Callable[..., Client], project: Project
) -> None:
    async with connect(elicitation_callback=agrees()) as client:
        for tool, options in (
            ("observe", {"key": KEY, "title": f"use {SECRET}", "remember": True}),
            ("observe", {"key": KEY, "description": "x" * 10_000, "remember": True}),
            ("observe", {"key": KEY, "context": "a\x00b", "remember": True}),
        ):
            told = await refused(client, tool, **options)
            assert SECRET not in told and len(told) < 300
    assert project.inbox_files() == []


# --- feedback ---------------------------------------------------------------------------------------------------------


async def test_an_agent_says_how_a_reuse_went(connect: Callable[..., Client], project: Project) -> None:
    candidate(project)
    async with connect() as client:
        worked = json.loads(await call(client, "feedback", key=KEYED, answer="worked", context="web-shop"))
        failed = json.loads(await call(client, "feedback", key=KEYED, answer="failed", note="a check broke"))
    assert (worked["counted"], worked["candidate"]["score"]) == ("succeeded", 0.61)
    assert (failed["counted"], failed["candidate"]["score"]) == ("failed", 0.49)
    assert kinds(project) == ["candidate", "failed", "remembered", "succeeded"]


async def test_an_agent_in_a_loop_cannot_praise_itself_up(connect: Callable[..., Client], project: Project) -> None:
    candidate(project)
    async with connect() as client:
        for _ in range(3):
            await call(client, "feedback", key=KEYED, answer="worked")
        assert "3 times already" in await refused(client, "feedback", key=KEYED, answer="worked")
        for answer in ("confirmed", "succeeded", "praise", "", None):
            await refused(client, "feedback", key=KEYED, answer=answer)
    assert kinds(project).count("succeeded") == 3 and "confirmed" not in kinds(project)


@pytest.mark.parametrize(("yes", "kind"), [(True, "confirmed"), (False, "denied")])
async def test_praise_and_blame_are_the_persons(
    connect: Callable[..., Client], project: Project, yes: bool, kind: str
) -> None:
    candidate(project)
    person = Person("accept", yes)
    async with connect(elicitation_callback=person) as client:
        done = json.loads(await call(client, "feedback", key=KEYED, answer="ask"))
    assert person.asked == ['Was this good: "Publish the blog" (note:publish)? Yes raises its score, no lowers it.']
    assert done["counted"] == kind and kind in kinds(project)


@pytest.mark.parametrize("options", [{}, {"elicitation_callback": Person("cancel")}], ids=["cannot ask", "cancelled"])
async def test_praise_without_an_answer_counts_nothing_and_names_the_command(
    connect: Callable[..., Client], project: Project, options: dict[str, Any]
) -> None:
    candidate(project, key=KEY)
    async with connect(**options) as client:
        assert f"instinct feedback '{KEY}' --confirm" in await refused(client, "feedback", key=KEY, answer="ask")
    assert kinds(project) == ["candidate", "remembered"]


async def test_a_question_declined_counts_as_no_blame(connect: Callable[..., Client], project: Project) -> None:
    candidate(project)
    async with connect(elicitation_callback=Person("decline")) as client:
        await refused(client, "feedback", key=KEYED, answer="ask")
    assert kinds(project) == ["candidate", "remembered"]


async def test_nobody_is_asked_about_the_unknown(connect: Callable[..., Client]) -> None:
    person = agrees()
    async with connect(elicitation_callback=person) as client:
        assert "there is no pattern" in await refused(client, "feedback", key="note:none", answer="ask")
        assert "there is no pattern" in await refused(client, "feedback", key="note:none", answer="worked")
    assert person.asked == []


async def test_feedback_that_nominates_says_so_and_keeps_the_notice_for_the_person(
    connect: Callable[..., Client], project: Project
) -> None:
    candidate(project, successes=3)
    async with connect() as client:
        done = json.loads(await call(client, "feedback", key=KEYED, answer="worked"))
        assert done["candidate"]["status"] == "nominated" and "instinct propose note:publish" in done["notice"]
        assert "Ask the person" in await call(client, "suggest")
    assert [one.pattern for one in project.memory().nominations("terminal")] == [KEYED]


# --- candidates -------------------------------------------------------------------------------------------------------


async def test_candidates_name_the_nominated_first_with_the_command_that_answers(
    connect: Callable[..., Client], project: Project
) -> None:
    candidate(project, key="note:new", score="0.50")
    candidate(project, successes=4)
    candidate(project, successes=5, key="note:held", steps=("git commit --no-verify",))
    async with connect() as client:
        lines = (await call(client, "candidates")).split("\n")
        ready = (await call(client, "candidates", ready=True)).split("\n")
    assert lines[0].startswith(KEYED) and "[nominated]" in lines[0]
    assert lines[1].startswith("  a person decides: instinct propose note:publish  (no: instinct reject ")
    assert [one.split()[0] for one in lines[2:4]] == ["note:held", "note:new"]
    assert lines[4] == "# 3 candidates" and "`propose` asks" in lines[5]
    assert not any("note:new" in one for one in ready)


async def test_a_large_pool_stays_short(connect: Callable[..., Client], project: Project) -> None:
    for number in range(mcp_pool.MOST_CANDIDATES + 3):
        project.memory().remember(f"thing {number}")
    async with connect() as client:
        lines = (await call(client, "candidates")).split("\n")
    assert len(lines) == mcp_pool.MOST_CANDIDATES + 2 and lines[-1] == "# 3 more left out"


# --- propose ----------------------------------------------------------------------------------------------------------


def refs(project: Project) -> set[str]:
    return set(project.git("for-each-ref", "--format=%(refname)").split())


async def test_a_yes_opens_a_proposal_and_approves_nothing(connect: Callable[..., Client], project: Project) -> None:
    project.commit("a memory", ".instinct")
    candidate(project, successes=4)
    mature(project)
    before, head = refs(project), project.head()
    person = agrees()
    async with connect(elicitation_callback=person) as client:
        done = json.loads(await call(client, "propose", key=KEYED))
    (question,) = person.asked
    assert "Publish the blog" in question and "worked 4 x, score 0.80" in question and done["branch"] in question
    assert done["opened"] and done["kind"] == "memory"
    assert refs(project) - before == {f"refs/heads/{done['branch']}"}
    assert project.head() == head and project.status() == ""
    assert project.memory().show(KEYED).status == "active"


@pytest.mark.parametrize(
    "options",
    [{}, *({"elicitation_callback": one} for one in (Person("cancel"), Person("decline"), Person("accept", False)))],
    ids=["cannot ask", "cancelled", "declined", "no"],
)  # fmt: skip
async def test_without_a_yes_it_is_only_the_plan(
    connect: Callable[..., Client], project: Project, options: dict[str, Any]
) -> None:
    candidate(project, successes=4)
    mature(project)
    before = refs(project), project.head(), kinds(project)
    async with connect(**options) as client:
        done = json.loads(await call(client, "propose", key=KEYED))
    assert not done["opened"] and "Publish the blog" in done["plan"]
    assert ("instinct propose note:publish" in done["next"]) or "said no" in done["next"]
    assert (refs(project), project.head(), kinds(project)) == before


async def test_with_agent_commits_off_nobody_is_asked_and_it_is_only_the_plan(
    connect: Callable[..., Client], project: Project
) -> None:
    candidate(project, successes=4)
    mature(project)
    project.memory().configure("agent_commits", "false")
    before, person = refs(project), agrees()
    async with connect(elicitation_callback=person) as client:
        done = json.loads(await call(client, "propose", key=KEYED))
    assert person.asked == [] and refs(project) == before
    assert not done["opened"] and "agent_commits is false" in done["next"]


async def test_what_is_proposed_already_is_not_asked_again(connect: Callable[..., Client], project: Project) -> None:
    candidate(project, successes=4)
    mature(project)
    person = agrees()
    async with connect(elicitation_callback=person) as client:
        await call(client, "propose", key=KEYED)
        again = json.loads(await call(client, "propose", key=KEYED))
        assert "Ask the person" not in await call(client, "suggest")
    assert len(person.asked) == 1 and not again["opened"] and "already" in again["next"]


async def test_where_a_typed_yes_approves_an_elicited_one_only_opens(
    connect: Callable[..., Client], project: Project
) -> None:
    project.memory().configure("promotion", "direct")
    candidate(project, successes=4)
    mature(project)
    head = project.head()
    async with connect(elicitation_callback=agrees()) as client:
        done = json.loads(await call(client, "propose", key=KEYED))
    assert done["opened"] and done["branch"].startswith("instinct/memory/")
    assert project.head() == head and "approved" not in kinds(project)


async def test_nobody_is_asked_about_what_cannot_be_proposed(connect: Callable[..., Client], project: Project) -> None:
    candidate(project)
    project.memory().consolidate()
    person = agrees()
    async with connect(elicitation_callback=person) as client:
        assert "there is no pattern" in await refused(client, "propose", key="note:none")
        assert "there is no kind" in await refused(client, "propose", key=KEYED, kind="poem")
        assert "name" in await refused(client, "propose", key=KEYED, kind="skill", name="../../etc/passwd")
    assert person.asked == []


async def test_a_kind_and_a_name_are_passed_on(connect: Callable[..., Client], project: Project) -> None:
    candidate(project, successes=4, steps=("write", "check", "publish"))
    project.memory().consolidate()
    async with connect() as client:
        done = json.loads(await call(client, "propose", key=KEYED, kind="procedure", name="blog"))
    assert (done["kind"], done["name"], done["branch"]) == ("procedure", "blog", "instinct/procedure/blog")


async def test_no_tool_approves_whatever_it_is_told(connect: Callable[..., Client], project: Project) -> None:
    candidate(project, successes=4)
    mature(project)
    async with connect(elicitation_callback=agrees()) as client:
        for tool in (await client.list_tools()).tools:
            properties = tool.input_schema["properties"]
            for word in ("approved", "approve", "graduated", "yes", "confirmed"):
                given: dict[str, Any] = {
                    name: word for name, one in properties.items() if one.get("type") == "string"
                }  # fmt: skip
                given |= {"key": KEYED} if "key" in properties else {}
                given |= {"remember": True} if "remember" in properties else {}
                for extra in ({}, {"status": "graduated"}, {"wish": {"yes": True}}, {"verdict": {"yes": True}}):
                    await client.call_tool(tool.name, {**given, **extra})
            await client.call_tool(tool.name, {"key": KEYED, "kind": "memory", "answer": "worked", "query": "x"})
    assert not {"approved", "rejected", "scored"} & set(kinds(project))
    memory = project.memory()
    memory.consolidate()
    assert {one.status for one in memory.list()} == {"active"}
    assert memory.list() and not (project.root / "memory").exists() and not (project.root / "skills").exists()
    assert all("graduated_to" not in path.read_text() for path in (project.root / ".instinct").rglob("*.md"))
    assert project.git("branch", "--show-current") == "main"

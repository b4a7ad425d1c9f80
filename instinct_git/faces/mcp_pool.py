"""The MCP tools of the pool: observe, feedback, candidates, propose. None of them approves anything.

Where a person's word is needed the client is asked to put a question before them; a client that cannot gets the
command that a person runs. A resolver may run twice for one call, so it only reads, and its question depends on what it
read alone.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from mcp.server.mcpserver import Context, Elicit, ElicitationResult, Resolve
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult
from pydantic import Field

from instinct_git.core.candidates import Candidate
from instinct_git.core.keys import describe
from instinct_git.faces import render
from instinct_git.faces.mcp_results import Counted, Pooled, Proposed, result
from instinct_git.faces.mcp_sitting import (
    DECLINED,
    NO,
    YES,
    Answer,
    Key,
    Sitting,
    Text,
    can_ask,
    client_name,
    quoted,
    said,
)
from instinct_git.memory import Memory
from instinct_git.operations.noticing import command

MOST_CANDIDATES, MOST_TEXT = 20, 8000
Ctx = Context[Sitting, Any]
Kind = Annotated[Text, Field(description="skill, procedure, rule or memory; default: as it was collected")]


# --- questions --------------------------------------------------------------------------------------------------------


def ask_remember(ctx: Ctx, key: str, title: str, remember: bool) -> Elicit[Answer] | None:
    """Ask whether the person wants it remembered: an agent's word for that is not theirs."""
    if not remember or not can_ask(ctx):
        return None
    words = f'"{quoted(title)}" ({quoted(key)})' if title else quoted(key)
    return Elicit(f"The agent says that you want this remembered: {words}. Do you? A review still decides.", Answer)


def ask_feedback(ctx: Ctx, key: str, answer: str) -> Elicit[Answer] | None:
    """Ask the person whether a pattern was good, when the agent wants to know."""
    if answer != "ask" or not can_ask(ctx):
        return None
    with ctx.request_context.lifespan_context.memory() as memory:
        words = memory.show(key).words
    return Elicit(f'Was this good: "{quoted(words)}" ({quoted(key)})? Yes raises its score, no lowers it.', Answer)


def ask_propose(ctx: Ctx, key: str, kind: str, name: str) -> Elicit[Answer] | None:
    """Ask the person whether to open a proposal, when one could be opened."""
    if not can_ask(ctx):
        return None
    with ctx.request_context.lifespan_context.memory() as memory:
        if not memory.config()["agent_commits"]:
            return None
        plan, shown = memory.propose(key, kind=kind, name=name, dry_run=True), memory.show(key)
    if plan.unchanged:
        return None
    one, words = shown.candidate, shown.words
    worked = f" It worked {one['successes']} x, score {one['score']:.2f}." if one else ""
    return Elicit(
        f'Propose "{quoted(words)}" ({quoted(key)}) as the {plan.kind} {plan.name}?{worked} '
        f"Yes makes the branch {plan.branch} for a review; nothing is approved.",
        Answer,
    )


# --- the tools --------------------------------------------------------------------------------------------------------


class PoolTools:
    """The tools of the pool, as functions of one sitting."""

    def __init__(self, sitting: Sitting) -> None:
        self._sitting = sitting

    def observe(
        self,
        ctx: Ctx,
        wish: Annotated[ElicitationResult[Answer], Resolve(ask_remember)],
        key: Key,
        note: Annotated[Text, Field(description="Your words; they stay in this clone")] = "",
        title: Annotated[Text, Field(description="The advice in one line, for a new pattern")] = "",
        description: Text = "",
        context: Annotated[Text, Field(description="Where: a project or task")] = "",
        session: Annotated[Text, Field(description="Your session id; default: this server's run")] = "",
        category: Annotated[Text, Field(description="Only for a key without prefix")] = "",
        remember: Annotated[bool, Field(description="The person asked to remember it; they are asked")] = False,
    ) -> Annotated[CallToolResult, Counted]:
        """Count that something recurred. Known keys gain 1, new ones start at 1. Returns the live confidence (5 mature, 10
        rule)."""
        with self._sitting.memory() as memory:
            one = memory.observe(
                key, category or None, client_name(ctx), session or self._sitting.session, context or None,
                note or None, title=title or None, description=description or None,
            )  # fmt: skip
            told: dict[str, Any] = {
                "pattern": one.pattern, "live": one.live, "category": one.category, "scope": one.scope,
            }  # fmt: skip
            if one.silent:
                told["status"] = one.status
            if memory.fell_back:
                told["notice"] = "this project has no memory: counted in the user's global one"
            if remember:
                told.update(self._remember(memory, ctx, wish, one.pattern, title, description, context))
        return result(told)

    def _remember(
        self, memory: Memory, ctx: Ctx, wish: ElicitationResult[Answer], key: str, title: str, description: str,
        context: str,
    ) -> dict[str, Any]:  # fmt: skip
        """Let it enter the pool: as the person's wish when they said so, by itself when nobody was asked."""
        asked = said(wish)
        if asked in (NO, DECLINED):
            return {"remembered": "the person said no: it was only counted"}
        if asked == YES:
            text = description or title or describe(key)
            done = memory.remember(text, key=key, title=title, source=client_name(ctx), context=context or None)
            return {"remembered": "as the person's wish", "candidate": _short(done)}
        entered = memory.enter(key, source=client_name(ctx), context=context or None)
        if entered.candidate is None:
            return {"remembered": f"not yet: {entered.held}"}
        how = f"by itself: nobody was asked; a person says `instinct remember TEXT --key {key}`"
        return {"remembered": how, "candidate": _short(entered.candidate)}

    def feedback(
        self,
        ctx: Ctx,
        verdict: Annotated[ElicitationResult[Answer], Resolve(ask_feedback)],
        key: str,
        answer: Annotated[Literal["worked", "failed", "ask"], Field(description="ask: the person says")],
        context: Annotated[Text, Field(description="Where: a project or task")] = "",
        note: Text = "",
    ) -> Annotated[CallToolResult, Counted]:
        """Say how a suggestion did after you used it: worked only if a check passed. Praise or blame is the person's:
        ask."""
        kind = {"worked": "succeeded", "failed": "failed"}.get(answer, "")
        if not kind:
            kind = {YES: "confirmed", NO: "denied"}.get(said(verdict), "")
        if not kind:
            raise ToolError(f"nobody has said. The person says it: `{command(key, 'feedback')} --confirm` or --deny")
        with self._sitting.memory() as memory:
            done = memory.feedback(
                key, kind, source=client_name(ctx), session=self._sitting.session, context=context or None,
                note=note or None,
            )  # fmt: skip
        told: dict[str, Any] = {"pattern": done.pattern, "counted": done.kind, "live": done.live}
        if done.candidate is not None:
            told["candidate"] = _short(done.candidate)
            if done.candidate.status == "nominated":
                told["notice"] = _nominated(done.candidate)
        return result(told)

    def candidates(
        self, ready: Annotated[bool, Field(description="Only those ready or nominated")] = False
    ) -> Annotated[CallToolResult, Pooled]:
        """What may become a skill, procedure, rule or memory, nominated ones first, with the command by which a person
        answers."""
        with self._sitting.memory() as memory:
            found = memory.candidates(ready=ready)
        shown = sorted(found, key=lambda one: one.status != "nominated")[:MOST_CANDIDATES]
        notices = [f"{len(found) - len(shown)} more left out"] if len(found) > len(shown) else []
        if any(one.status == "nominated" for one in shown):
            notices.append("tell the person of the nominated ones; `propose` asks them")
        count = f"{len(found)} candidate{'' if len(found) == 1 else 's'}"
        lines = [*render.candidate_lines(shown), *(f"# {line}" for line in (count, *notices))]
        rows = [{"pattern": one.pattern, **_short(one), "person": command(one.pattern)} for one in shown]
        return result(Pooled(candidates=rows, notices=notices), lines)

    def propose(
        self,
        wish: Annotated[ElicitationResult[Answer], Resolve(ask_propose)],
        key: str,
        kind: Kind = "",
        name: Annotated[Text, Field(description="Default: from the title")] = "",
    ) -> Annotated[CallToolResult, Proposed]:
        """Ask the person to open a proposal: a branch for review. Without their yes it only shows the plan."""
        with self._sitting.memory() as memory:
            forbidden = not memory.config()["agent_commits"]
            agreed = said(wish)
            opened = agreed == YES and not forbidden
            done = memory.propose(key, kind=kind, name=name, dry_run=not opened)
        told: dict[str, Any] = {
            "pattern": done.pattern, "kind": done.kind, "name": done.name, "branch": done.branch, "opened": opened,
        }  # fmt: skip
        if opened:
            told.update(commit=done.commit, files=list(done.files), next=list(done.review))
        else:
            told.update(plan=_cut(done.diff), next=_why_not(done.unchanged, agreed, forbidden, key))
        return result({**told, "notices": list(done.notices)})


def _why_not(unchanged: bool, agreed: str, forbidden: bool, key: str) -> str:
    if unchanged:
        return "it is proposed already, or has landed; a person runs: instinct review"
    if forbidden:
        return f"agent_commits is false, so this is only the plan; a person runs: {command(key)}"
    if agreed in (NO, DECLINED):
        return "the person said no; nothing was opened"
    return f"nobody could be asked, so this is only the plan; a person runs: {command(key)}"


def _short(one: Candidate) -> dict[str, Any]:
    return {
        "score": float(one.score), "status": one.status, "kind": one.kind, "trigger": one.trigger,
        "worked": one.successes, "failed": one.failures,
    }  # fmt: skip


def _nominated(one: Candidate) -> str:
    return f"nominated: tell the person; `propose` asks them, or they run: {command(one.pattern)}"


def _cut(text: str) -> str:
    return text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]}\n... {len(text) - MOST_TEXT} more characters"

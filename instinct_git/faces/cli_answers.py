"""The verbs of a review: review and reject."""

from __future__ import annotations

from typing import Annotated

import typer

from instinct_git.faces import render
from instinct_git.faces.cli_options import PROMOTE, Json, Key, print_lines
from instinct_git.memory import Memory
from instinct_git.operations.answering import Rejected
from instinct_git.operations.reviewing import Review, Reviewed


def register(app: typer.Typer) -> None:
    """Add the verbs to the command line."""
    app.command(rich_help_panel=PROMOTE)(review)
    app.command(rich_help_panel=PROMOTE)(reject)


def review(
    fetch: Annotated[bool, typer.Option("--fetch", help="Ask the remotes first.")] = False, as_json: Json = False
) -> int:
    """Say what became of every proposal, and book the answers: merged is approved, closed is rejected."""
    done = Memory().review(fetch=fetch)
    print(render.json_text(done)) if as_json else print_lines(_review_lines(done))
    return 0


def reject(
    key: Key,
    reason: Annotated[str, typer.Option("--reason", help="Why; it is published with the answer.", show_default=False)],
    source: Annotated[str, typer.Option("--source", help="Who says so, such as human:ada.")] = "",
    as_json: Json = False,
) -> int:
    """Say no to a candidate or a proposal: it is not proposed again before it has worked 3 more times."""
    done = Memory().reject(key, reason, source=source)
    print(render.json_text(done)) if as_json else print_lines(_rejected_lines(done))
    return 0


def _review_lines(done: Review) -> list[str]:
    rows = [
        (one.pattern, f"[{one.state}]", one.kind or "-", f"{one.days} day{'' if one.days == 1 else 's'}", one.branch or "-")
        for one in done.proposals
    ]  # fmt: skip
    lines = []
    for row, one in zip(render.table(rows), done.proposals, strict=True):
        lines += [row, *(f"    {line}" for line in _said(one, done.base))]
    booked = [f"booked {one.k} {one.p}" + (f" by {one.by}" if one.by else "") for one in done.booked]
    count = len(done.proposals)
    lines += [*booked, f"# {count} proposal{'' if count == 1 else 's'}, compared with {done.base}"]
    if booked:
        lines.append("# `instinct consolidate` writes what was booked into the pattern files")
    return [*lines, *(f"# {notice}" for notice in done.notices)]


def _said(one: Reviewed, base: str) -> list[str]:
    """Return what there is to say about a proposal below its row."""
    lines = [one.url] if one.url else []
    if one.by or one.why:
        lines.append(f"{one.why}" + (f", by {one.by}" if one.by else ""))
    if one.conflicts:
        lines.append(f"conflicts with {base}, which has moved")
    return [*lines, *one.commands]


def _rejected_lines(done: Rejected) -> list[str]:
    what = f"{done.pattern}" + (f"  {done.kind}" if done.kind else "")
    lines = [f"rejected {what}" if done.added else f"{what} is rejected for that reason already; nothing was added"]
    if done.left:
        lines.append(f"# {done.left} more success{'' if done.left == 1 else 'es'} before it can be proposed again")
    lines += [f"# paused: {words}" for words in done.paused]
    if done.branches:
        lines.append("# the proposal's branch is still there; close its pull request, or:")
        lines += [f"    {command}" for command in done.commands]
    return lines

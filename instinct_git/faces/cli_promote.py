"""The verb that asks for a promotion: propose."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from instinct_git.faces import render
from instinct_git.faces.cli_options import PROMOTE, DryRun, Json, print_lines
from instinct_git.memory import Memory

if TYPE_CHECKING:
    from instinct_git.operations.proposing import Proposal


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command(rich_help_panel=PROMOTE)(propose)


def propose(
    keys: Annotated[
        list[str], typer.Argument(metavar="KEY...", help="Pattern keys; several become one branch.", show_default=False)
    ],
    kind: Annotated[
        str,
        typer.Option(
            "--kind", help="skill, procedure, rule or memory; default: what the candidate says, else by the key."
        ),
    ] = "",
    name: Annotated[str, typer.Option("--name", help="Its name, or the batch's; default: from the key or title.")] = "",
    to: Annotated[str, typer.Option("--to", metavar="global|NAME", help="Into your own or a shared memory.")] = "",
    push: Annotated[bool, typer.Option("--push", help="Push the branch, too.")] = False,
    pr: Annotated[bool, typer.Option("--pr", help="Push, and open the pull request (gh, glab), or say where.")] = False,
    remote: Annotated[str, typer.Option("--remote", help="Push there; default: the default branch's remote.")] = "",
    over: Annotated[
        list[str] | None,
        typer.Option("--over", metavar="KEY", help="Although KEY contradicts it: you choose this one; repeatable."),
    ] = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> int:
    """Propose patterns as skill, procedure, rule or memory: a branch for review. Nothing in your tree moves."""
    terminal = not as_json and sys.stdin.isatty() and sys.stdout.isatty()
    done = Memory().propose(
        keys,
        kind=kind,
        name=name,
        to=to,
        push=push,
        pr=pr,
        remote=remote,
        dry_run=dry_run,
        over=over or (),
        ask=_ask if terminal else None,
    )
    print(render.json_text(done)) if as_json else print_lines(_lines(done))
    return 0


def _ask(shown: Proposal, branch: str) -> str:
    """Show what would be committed and return what the person types."""
    print_lines([*shown.diff.splitlines(), *(f"# {notice}" for notice in shown.notices), ""])
    try:
        return input(f"Commit this on {branch}? yes commits it, no leaves it, anything else proposes it on a branch: ")
    except EOFError:
        return "no"


def _lines(done: Proposal) -> list[str]:
    what = ", ".join(f"{one.pattern} as the {one.kind} {one.name}".rstrip() for one in done.items)
    notices = [f"# {notice}" for notice in done.notices]
    if done.dry_run:
        return [
            *done.diff.splitlines(), "", *done.body.splitlines(), "",
            f"# would become {done.branch}, from {done.base}" if not done.unchanged else "# nothing would be written", *notices,
        ]  # fmt: skip
    kept = [
        line for one in done.kept for line in (f"yours is kept, {one.path}; what would change:", *one.diff.splitlines())
    ]
    if done.approved_by:
        return [
            f"approved {what}",
            f"branch:  {done.branch}  ({done.commit[:12]})",
            f"by:      {done.approved_by}",
            *notices,
        ]
    if done.unchanged:
        return [*kept, *_request(done), *notices]
    head = f"{'proposed again:' if done.updated else 'proposed'} {what}"
    return [head, f"branch:  {done.branch}  ({done.commit[:12]})", *_request(done), *done.review, *kept, *notices]


def _request(done: Proposal) -> list[str]:
    pushed = [f"pushed:  {done.remote}"] if done.remote else []
    label = "request: " if done.how in ("gh", "glab") else "open it: "
    return pushed + ([f"{label}{done.url}"] if done.url else [])

"""The verbs of the pool: remember, feedback, candidates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from instinct_git.errors import InstinctError
from instinct_git.faces import render
from instinct_git.faces.cli_options import PROMOTE, TEACH, Json, Key, Text, print_lines
from instinct_git.memory import Memory
from instinct_git.operations.comparing import joining

if TYPE_CHECKING:
    from instinct_git.core.candidates import Candidate


def register(app: typer.Typer) -> None:
    """Add the pool's verbs to the command line."""
    app.command(rich_help_panel=TEACH)(remember)
    app.command(rich_help_panel=TEACH)(feedback)
    app.command(rich_help_panel=PROMOTE)(candidates)


def remember(
    text: Annotated[str, typer.Argument(help="What to remember, in your words.", show_default=False)],
    key: Annotated[str, typer.Option("--key", help="The pattern's key; default: note: and the title.")] = "",
    kind: Annotated[str, typer.Option("--kind", help="skill, procedure, rule or memory.")] = "",
    title: Annotated[str, typer.Option("--title", help="Default: the first line of the text.")] = "",
    steps: Annotated[str, typer.Option("--steps", help="The steps, separated by semicolons.")] = "",
    verify: Annotated[str, typer.Option("--verify", help="How to tell that it worked.")] = "",
    context: Annotated[Text, typer.Option("--context", help="Where it comes from: a project or a task.")] = None,
    source: Annotated[str, typer.Option("--source", help="Which agent asks.")] = "",
    score: Annotated[str, typer.Option("--score", help="A first score of your own, 0.35 to 0.50, with --why.")] = "",
    dimensions: Annotated[
        str, typer.Option("--dimensions", help="Such as repeatability=0.5,verifiability=1; with --why.")
    ] = "",
    why: Annotated[str, typer.Option("--why", help="The reason for a score of your own.")] = "",
    as_json: Json = False,
) -> int:
    """Put something into the pool of candidates at once, because you say so."""
    parts = tuple(part.strip() for part in steps.replace("；", ";").split(";") if part.strip())
    memory = Memory()
    one = memory.remember(
        text, key=key, kind=kind, title=title, steps=parts, verify=verify, context=context, source=source, score=score,
        dimensions=dimensions, why=why,
    )  # fmt: skip
    if as_json:
        print(render.json_text(render.candidate(one)))
        return 0
    print_lines([*render.candidate_lines([one]), _next(one, memory.show(one.pattern).status)])
    print_lines(
        f"# {other} says the same: `{joining(one.pattern, other)}` joins them" for other in memory.alike(one.pattern)
    )
    return 0


def _next(one: Candidate, status: str) -> str:
    """Say what becomes of what was remembered."""
    if status != "active":
        return f"# its pattern is {status} and stays silent; `instinct show` tells more"
    if one.status in ("approved", "rejected"):
        return f"# it was {one.status} before: {one.reasons[-1]}"
    return "# suggested in this clone from the next session on, awaiting review"


def feedback(
    key: Key,
    worked: Annotated[bool, typer.Option("--worked", help="It was used and worked.")] = False,
    failed: Annotated[bool, typer.Option("--failed", help="It was used and did not work.")] = False,
    confirm: Annotated[bool, typer.Option("--confirm", help="A person says yes.")] = False,
    deny: Annotated[bool, typer.Option("--deny", help="A person says no.")] = False,
    context: Annotated[Text, typer.Option("--context", help="Where: a project or a task.")] = None,
    source: Annotated[str, typer.Option("--source", help="Which agent used it.")] = "",
    note: Annotated[Text, typer.Option("--note", help="Your words; they stay in this clone.")] = None,
    to: Annotated[str, typer.Option("--to", metavar="global|NAME", help="Of your own or a shared memory.")] = "",
    as_json: Json = False,
) -> int:
    """Say how a pattern did: it counts as evidence."""
    chosen = [
        name
        for name, given in zip(
            ("succeeded", "failed", "confirmed", "denied"), (worked, failed, confirm, deny), strict=True
        )
        if given
    ]
    if len(chosen) != 1:
        raise InstinctError("say one thing", "--worked, --failed, --confirm or --deny")
    done = Memory().feedback(key, chosen[0], to=to, context=context, source=source, note=note)
    if as_json:
        print(
            render.json_text(
                {
                    "pattern": done.pattern,
                    "kind": done.kind,
                    "live": done.live,
                    "candidate": render.candidate(done.candidate),
                }
            )
        )
        return 0
    print(f"{done.kind} {done.pattern}  conf={done.live}")
    print_lines(render.candidate_lines([done.candidate]) if done.candidate else [])
    return 0


def candidates(
    ready: Annotated[bool, typer.Option("--ready", help="Only those that are ready or nominated.")] = False,
    archived: Annotated[bool, typer.Option("--archived", help="Those that were answered or expired.")] = False,
    kind: Annotated[Text, typer.Option("--kind", help="skill, procedure, rule or memory.")] = None,
    universal: Annotated[bool, typer.Option("--universal", help="Rules of two or more of your projects.")] = False,
    as_json: Json = False,
) -> int:
    """List what may become durable knowledge, highest score first."""
    if universal:
        return _universal(as_json)
    found = Memory().candidates(ready=ready, archived=archived, kind=kind)
    if as_json:
        print(render.json_text({"candidates": [render.candidate(one) for one in found]}))
    else:
        print_lines([*render.candidate_lines(found), f"# {len(found)} candidate{'' if len(found) == 1 else 's'}"])
    return 0


def _universal(as_json: bool) -> int:
    found = Memory().universal()
    if as_json:
        print(render.json_text({"universal": found}))
        return 0
    rows = [(one.pattern, f"conf={one.confidence}", ", ".join(one.names), render.clean(one.words)) for one in found]
    print_lines([*render.table(rows), f"# {len(found)} rule{'' if len(found) == 1 else 's'} of two or more projects"])
    print_lines(
        ["# `instinct propose KEY --to global` (or a shared memory's name) proposes one there"] if found else []
    )
    return 0

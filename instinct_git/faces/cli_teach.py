"""The verbs that put evidence right: alias and retract."""

from __future__ import annotations

from typing import Annotated

import typer

from instinct_git.faces import render
from instinct_git.faces.cli_options import TEACH, Json, Text
from instinct_git.memory import Memory

Why = Annotated[Text, typer.Option("--why", help="The reason; it stays in this clone.")]


def register(app: typer.Typer) -> None:
    """Add the verbs to the command line."""
    app.command(rich_help_panel=TEACH)(alias)
    app.command(rich_help_panel=TEACH)(retract)


def alias(
    old: Annotated[str, typer.Argument(help="The key that says the same.", show_default=False)],
    new: Annotated[str, typer.Argument(help="The key that is to stand for both.", show_default=False)],
    why: Why = None,
    as_json: Json = False,
) -> int:
    """Join two keys that mean one thing: evidence about OLD counts for NEW from now on."""
    done = Memory().alias(old, new, why=why)
    if as_json:
        print(render.json_text(done))
        return 0
    print(f"joined {done.pattern}: its evidence counts for {done.to}  conf={done.live}")
    print(f"# `instinct retract {done.id}` parts them again")
    return 0


def retract(
    evidence_id: Annotated[str, typer.Argument(help="An id, as `instinct explain` shows them.", metavar="ID", show_default=False)],
    why: Why = None,
    as_json: Json = False,
) -> int:  # fmt: skip
    """Take one piece of evidence out, such as a mistaken observation; nothing is rewritten."""
    done = Memory().retract(evidence_id, why=why)
    if as_json:
        print(render.json_text(done))
    else:
        print(f"retracted {done.retracted} ({done.kind} {done.pattern})  conf={done.live}")
    return 0

"""`search` and `similar`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from instinct_git.faces import render
from instinct_git.faces.cli_options import READ, Json, Text, print_lines
from instinct_git.memory import Memory

if TYPE_CHECKING:
    from instinct_git.operations.hits import Hit

Kind = Annotated[Text, typer.Option("--kind", "-k", help="pattern, candidate, skill, procedure, rule or memory.")]
Scope = Annotated[Text, typer.Option("--scope", help="project, private, global or shared.")]
Limit = Annotated[int, typer.Option("--limit", "-n", min=0, help="At most so many.")]
Semantic = Annotated[
    bool | None,
    typer.Option(
        "--semantic/--words",
        help="Compare meanings too (needs instinct-git[semantic]), or words alone; else as search.embedding says.",
        show_default=False,
    ),
]


def register(app: typer.Typer) -> None:
    """Add the verbs to the command line."""
    app.command(rich_help_panel=READ, context_settings={"ignore_unknown_options": True})(search)
    app.command(rich_help_panel=READ)(similar)


def search(
    query: Annotated[list[str], typer.Argument(help="What you want to know, or a key.", show_default=False)],
    kind: Kind = None,
    category: Annotated[Text, typer.Option("--category", "-c", help="Only patterns of this category.")] = None,
    level: Annotated[Text, typer.Option("--level", "-l", help="Only patterns: raw, mature, rule or faded.")] = None,
    scope: Scope = None,
    limit: Limit = 20,
    semantic: Semantic = None,
    as_json: Json = False,
) -> int:
    """Find patterns, candidates, skills, procedures and MEMORY.md sections, by key, words or meaning; Chinese too."""
    found = Memory().search(
        " ".join(query),
        limit,
        kind=kind,
        category=category,
        level=level,
        scope=scope,
        semantic=semantic,
        progress=_progress(),
    )
    return _show(found, as_json)


def similar(
    key: Annotated[str, typer.Argument(help="A pattern's key, or a document as search names it.", show_default=False)],
    kind: Kind = None,
    scope: Scope = None,
    limit: Limit = 10,
    semantic: Semantic = None,
    as_json: Json = False,
) -> int:
    """Find what is like a pattern, a skill, a procedure or a section of MEMORY.md."""
    return _show(Memory().similar(key, limit, kind=kind, scope=scope, semantic=semantic, progress=_progress()), as_json)


def _show(found: Sequence[Hit], as_json: bool) -> int:
    if as_json:
        print(render.json_text({"patterns": [one.as_json() for one in found]}))
    else:
        print_lines([*render.pattern_lines(found, because=True), f"# {len(found)} found"])
    return 0


def _progress() -> Callable[[int, int], None] | None:
    """Say on a terminal how far a model is with reading texts that are new to it."""
    if not sys.stderr.isatty():
        return None

    def tell(done: int, total: int) -> None:
        if total > 100:
            print(f"\r{done} of {total} texts read", end="\n" if done == total else "", file=sys.stderr, flush=True)

    return tell

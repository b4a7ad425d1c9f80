"""The verbs that show the pool to people and tools: report, export candidates, breakers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from instinct_git.errors import InstinctError
from instinct_git.faces import render, weekly
from instinct_git.faces.cli_options import PROMOTE, READ, Json, print_lines, put_out
from instinct_git.memory import Memory

breakers_app = typer.Typer(help="Show what is tripped, or answer it.", no_args_is_help=False)


def register(app: typer.Typer, export_app: typer.Typer) -> None:
    """Add the verbs to the command line."""
    app.command(rich_help_panel=READ)(report)
    app.add_typer(breakers_app, name="breakers", rich_help_panel=PROMOTE)
    export_app.command("candidates")(export_candidates)


def report(
    week: Annotated[str, typer.Option("--week", help="An ISO week, such as 2026-W13; default: this one.")] = "",
    lang: Annotated[str, typer.Option("--lang", help="en or zh.")] = "en",
    format_: Annotated[str, typer.Option("--format", help="text, md, html or json.")] = "text",
    as_json: Json = False,
) -> int:
    """Tell the week: reuse, what waits for a review, what expires, what rose. Exit 1 while a breaker is tripped."""
    for name, value, allowed in (
        ("language", lang, weekly.LANGUAGES),
        ("format", format_, (*weekly.FORMATS, "json")),
    ):
        if value not in allowed:
            raise InstinctError(f"there is no {name} {value!r}", f"{name}: " + ", ".join(allowed))
    found = Memory().report(week)
    if as_json or format_ == "json":
        print(render.json_text(found.as_json()))
    elif format_ == "text":
        print_lines(weekly.text_lines(weekly.page(found, lang)))
    else:
        form = weekly.markdown if format_ == "md" else weekly.html_page
        print(form(weekly.page(found, lang)), end="")
    return 1 if found.trips and found.current else 0


def export_candidates(
    output: Annotated[Path | None, typer.Option("--output", "--out", "-o", help="Write to a file.")] = None,
    as_json: Json = False,
) -> int:
    """Print all candidates as `candidates.json`, which other tools read; always JSON."""
    found = Memory().export_candidates()
    text = render.json_text(found)
    put_out(text, output, f"{len(found['candidates'])} candidates")
    return 0


@breakers_app.callback(invoke_without_command=True)
def breakers(context: typer.Context, as_json: Json = False) -> int:
    """List what is tripped, with its limit, its measured value and until when. Exit 1 when something is."""
    if context.invoked_subcommand is not None:
        return 0
    trips, held = Memory().breakers()
    if as_json:
        print(render.json_text({"breakers": trips, "held": held}))
    else:
        for one in trips:
            print_lines([f"{one.name}: {one.words}", *(f"  {key}" for key in one.keys)])
        print_lines([f"held today: {key}" for key in held])
        print_lines([f"# {len(trips)} tripped" + (f": {_ANSWER}" if trips else "")])
    return 1 if trips else 0


_ANSWER = 'what is as it should be is answered by `instinct breakers reset NAME --why "..."`'


@breakers_app.command("reset")
def reset(
    name: Annotated[str, typer.Argument(help="daily, duplicates or rejections.", show_default=False)],
    why: Annotated[str, typer.Option("--why", help="The reason; it stays in this clone.")] = "",
    as_json: Json = False,
) -> int:
    """Answer a tripped breaker: what it measured counts no more. The reason is logged in this clone."""
    done = Memory().reset_breaker(name, why)
    if as_json:
        print(render.json_text({"reset": done}))
    else:
        print_lines([f"reset {one.name} ({one.measured}, limit {one.limit})" for one in done])
    return 0

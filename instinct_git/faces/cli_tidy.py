"""The verbs that look for what can go or be joined: duplicates, and stats with its effect and trends."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from instinct_git.errors import InstinctError
from instinct_git.faces import render
from instinct_git.faces.cli_options import READ, Json, print_lines
from instinct_git.memory import Memory

if TYPE_CHECKING:
    from instinct_git.core.effect import Effect, Trend, Trends
    from instinct_git.operations.comparing import Compared


def register(app: typer.Typer) -> None:
    """Add the verbs to the command line."""
    app.command(rich_help_panel=READ)(stats)
    app.command(rich_help_panel=READ)(duplicates)


def stats(
    effect: Annotated[bool, typer.Option("--effect", help="How often each was suggested here, and followed.")] = False,
    trending: Annotated[
        bool, typer.Option("--trending", help="What is used more, and what less, than before.")
    ] = False,
    by: Annotated[
        str | None, typer.Option("--by", metavar="WHAT", help="Evidence by source, author, project or context.")
    ] = None,
    session: Annotated[
        str | None, typer.Option("--session", metavar="ID", help="One session in sum: `last`, or an agent's id of it.")
    ] = None,
    as_json: Json = False,
) -> int:
    """Show the memory in numbers, what waits, and what would move it."""
    if effect + trending + (session is not None) + (by is not None) > 1:
        raise InstinctError("say one thing", "--effect, --trending, --by or --session")
    memory = Memory()
    if session is not None:
        from instinct_git.faces.cli_sessions import summary_lines

        one_session = memory.session_summary(session)
        print(render.json_text(one_session)) if as_json else print_lines(summary_lines(one_session))
    elif by is not None:
        counted = memory.stats_by(by)
        rows = [(name, str(number)) for name, number in counted.items()]
        lines = [*render.table(rows), f"# {sum(counted.values())} pieces of evidence"]
        print(render.json_text({"by": by, "evidence": counted})) if as_json else print_lines(lines)
    elif effect:
        told = memory.effect()
        print(render.json_text({"effect": told})) if as_json else print_lines(_effect_lines(told))
    elif trending:
        moves = memory.trending()
        print(render.json_text(moves)) if as_json else print_lines(_trend_lines(moves))
    else:
        one = memory.stats()
        print(render.json_text(one)) if as_json else print_lines(render.stats_lines(one))
    return 0


def _effect_lines(found: list[Effect]) -> list[str]:
    rows = [
        (
            one.pattern, f"shown {one.shown} x", f"followed {one.followed} x",
            f"worked {one.succeeded} x, failed {one.failed} x, confirmed {one.confirmed} x, denied {one.denied} x",
            f"last use {one.last_use or 'never'}" + ("; sinks: never followed" if one.sinks else ""),
        )
        for one in found
    ]  # fmt: skip
    count = f"# {len(found)} pattern{'' if len(found) == 1 else 's'} suggested in this clone"
    return [*render.table(rows), count + (f" since {min(one.since for one in found)}" if found else "")]


def _trend_lines(found: Trends) -> list[str]:
    def rows(moves: Iterable[Trend]) -> list[str]:
        table = render.table([(one.pattern, f"{one.by:+d}", f"{one.before} -> {one.now} sessions") for one in moves])
        return ["  " + row for row in table] or ["  nothing"]

    head = f"in the last {found.days} days, against the {found.days} before"
    return [f"rises {head}:", *rows(found.rises), "fades:", *rows(found.fades)]


def duplicates(as_json: Json = False) -> int:
    """List what says the same, what contradicts, and sequences that contain each other. Changes nothing."""
    found = Memory().duplicates()
    print(render.json_text(found)) if as_json else print_lines(_compared_lines(found))
    return 0


def _compared_lines(found: Compared) -> list[str]:
    lines: list[str] = []
    for group in found.groups:
        lines += [f"say the same ({group.reason}):", *(f"  {key}" for key in group.keys)]
        lines += [f"  # `{command}`" for command in group.commands]
    for family in found.families:
        lines.append(f"one family, told by {family.speaks or 'none of them yet: none has proven itself'}:")
        lines += [f"  {key}" for key in family.keys]
    for one in found.contradictions:
        lines += [f"contradict ({render.clean(one.reason)}):", *(f"  {key}" for key in one.keys)]
    numbers = (
        _count(len(found.groups), "group of near-duplicates", "groups of near-duplicates"),
        _count(len(found.families), "family", "families"),
        _count(len(found.contradictions), "contradiction", "contradictions"),
    )
    return [*lines, f"# {', '.join(numbers)}"]


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"

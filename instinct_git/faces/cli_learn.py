"""The verbs that bring candidates by themselves: learn and scan."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from instinct_git.faces import render
from instinct_git.faces.cli_options import PROMOTE, TEACH, DryRun, Json, print_lines
from instinct_git.memory import Memory

if TYPE_CHECKING:
    from instinct_git.operations.entering import Entered, Held
    from instinct_git.operations.learning import Gathered, LearnResult
    from instinct_git.operations.scanning import ScanResult

MANY = 20
"""Files from which on a person at a terminal sees how far it is."""
SHOWN = 12
"""Held candidates that are named one by one."""


def register(app: typer.Typer) -> None:
    """Add the verbs to the command line."""
    app.command(rich_help_panel=TEACH)(learn)
    app.command(rich_help_panel=PROMOTE)(scan)


def learn(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(help="Transcripts, or folders of them; without: this project's, where agents keep them."),
    ] = None,
    agent: Annotated[str, typer.Option("--agent", metavar="NAME", help="Only sessions of this agent.")] = "auto",
    since: Annotated[
        str, typer.Option("--since", metavar="DATE", help="Only files changed on this day or later.")
    ] = "",
    every: Annotated[bool, typer.Option("--all", help="Read what was learned before again, too.")] = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> int:
    """Learn from transcripts: what recurs is counted, what qualifies becomes a candidate, reuses that worked count."""
    done = Memory().learn(paths or (), agent=agent, since=since, all=every, dry_run=dry_run, progress=_progress())
    print(render.json_text(done)) if as_json else print_lines(learn_lines(done))
    return 0


def scan(
    paths: Annotated[
        list[Path],
        typer.Argument(help="Summaries (Markdown), or folders of them.", metavar="SUMMARY.md", show_default=False),
    ],
    dry_run: DryRun = False,
    as_json: Json = False,
) -> int:
    """Find lessons and procedures in the summaries of a task that several agents shared; they become candidates."""
    done = Memory().scan(paths, dry_run=dry_run, progress=_progress())
    print(render.json_text(done)) if as_json else print_lines(scan_lines(done))
    return 0


def _progress() -> Callable[[int, int], None] | None:
    if not sys.stderr.isatty():
        return None

    def told(done: int, total: int) -> None:
        if total >= MANY:
            print(f"\r{done} of {total} files", end="\n" if done == total else "", file=sys.stderr, flush=True)

    return told


def learn_lines(done: LearnResult) -> list[str]:
    """Return what was learned, what entered the pool and what was held."""
    rows = [(one.key, f"x{one.support}", _count(one.sessions, "session"), f"+{one.new}" if one.new else "known",
             render.clean(one.title)) for one in done.patterns]  # fmt: skip
    lines = render.table(rows)
    would = "would be " if done.dry_run else ""
    verb = "would be" if done.dry_run else "is" if done.new == 1 else "are"
    for one in done.asked:
        asked = f'you said "{render.clean(one.phrase)}"'
        if one.key:
            lines.append(f"{'remembered' if one.new else 'known'}  {render.clean(one.key)}  ({asked})")
        else:
            lines.append(f"not remembered: {asked}, but {render.clean(one.why)}")
    lines += [f"{one.kind}  {render.clean(one.key)}" for one in done.reuse]
    lines += _pool_lines(done.entered, done.held)
    lines += [f"left out: a report's line {one.line}: {render.clean(one.why)}" for one in done.left_out]
    lines.append(
        f"# {_count(done.calls, 'tool call')} in {_count(done.sessions, 'session')}; "
        f"{_count(done.new, 'observation')} {verb} new; {_in_all(done, would)}"
    )
    if done.gathered is not None:
        lines += _gathered_lines(done.gathered)
    if done.reports:
        lines.append(f"# {_count(done.reports, 'report')} of subagents scanned")
    if done.skipped:
        lines.append("# lines not used: " + ", ".join(f"{reason} {n}" for reason, n in sorted(done.skipped.items())))
    return lines


def _gathered_lines(found: Gathered) -> list[str]:
    if found.new or found.known:
        again = " (`--all` reads them again)" if found.known else ""
        return [f"# transcripts of this project: {found.new} new or changed, {found.known} learned before{again}"]
    return ["# no transcript of this project; looked in:", *(f"#   {render.clean(one)}" for one in found.looked)]


def scan_lines(done: ScanResult) -> list[str]:
    """Return what was found in summaries, what entered the pool and what was held."""
    rows = [
        (f"{one.file}:{one.line}", one.kind, "new" if one.new and not one.like else "counts for" if one.new else "known",
         render.clean(one.like or one.title)) for one in done.items
    ]  # fmt: skip
    lines = render.table(rows) + _pool_lines(done.entered, done.held)
    lines += [f"left out: {render.clean(one.file)}:{one.line}: {render.clean(one.why)}" for one in done.left_out]
    would = "would be " if done.dry_run else ""
    found = f"# {_count(len(done.items), 'item')} in {_count(done.files, 'file')}, {done.new} new"
    lines.append(f"{found}; {_in_all(done, would)}")
    if not done.items and not done.left_out:
        lines.append(
            "# scan looks for headings such as Lessons learned, 经验教训 or Release process; `docs/learning.md`"
        )
    return lines


def _pool_lines(entered: Sequence[Entered], held: Sequence[Held]) -> list[str]:
    lines = render.table(
        [
            ("candidate", one.score, one.kind, one.trigger, render.clean(one.key), render.clean(one.title))
            for one in entered
        ]
    )
    for reason in dict.fromkeys((one.breaker, one.why, one.until) for one in held):
        keys = [render.clean(one.key) for one in held if (one.breaker, one.why, one.until) == reason]
        breaker, why, until = reason
        more = f" and {len(keys) - SHOWN} more" if len(keys) > SHOWN else ""
        later = f"; a `learn` or `scan` from {until} on lets them enter" if until else ""
        lines.append(f"held by the breaker {breaker} ({why}){later}:")
        lines.append(f"  {', '.join(keys[:SHOWN])}{more}")
    return lines


def _in_all(done: LearnResult | ScanResult, would: str) -> str:
    enter, held = "would enter" if would else "entered", f"{len(done.held)} {would}held"
    waiting = f", {done.waiting} more wait for a day with room" if done.waiting else ""
    return f"{_count(len(done.entered), 'candidate')} {enter}, {held}{waiting}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"

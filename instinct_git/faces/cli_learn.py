"""The verbs that bring candidates by themselves: learn and scan."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import sleep as wait
from typing import TYPE_CHECKING, Annotated, Any

import typer

from instinct_git.errors import InstinctError
from instinct_git.faces import render
from instinct_git.faces.cli_options import PROMOTE, TEACH, DryRun, Json, print_lines
from instinct_git.memory import Memory

if TYPE_CHECKING:
    from instinct_git.operations.entering import Entered, Held
    from instinct_git.operations.learning import Gathered, LearnResult
    from instinct_git.operations.scanning import ScanResult

MANY = 20
"""Files from which on a person at a terminal sees how far it is."""
INTERVAL = 10.0
"""Seconds between two looks of a watch."""
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
    watch: Annotated[bool, typer.Option("--watch", help="Go on learning what is new, until Ctrl-C.")] = False,
    interval: Annotated[
        float | None, typer.Option("--interval", metavar="SECONDS", help="With --watch: look every so often (10).")
    ] = None,
    from_evidence: Annotated[
        bool,
        typer.Option("--from-evidence", help="Learn from the order of what agents observed, not from transcripts."),
    ] = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> int:
    """Learn from transcripts: what recurs is counted, what qualifies becomes a candidate, reuses that worked count."""
    _refuse_together(paths, watch, interval, from_evidence, dry_run, every)
    if watch:
        return _watch(
            paths or (),
            as_json,
            agent=agent,
            since=since,
            all=every,
            interval=INTERVAL if interval is None else interval,
        )
    if from_evidence:
        done = Memory().learn_observed(agent=agent, since=since, dry_run=dry_run)
    else:
        done = Memory().learn(paths or (), agent=agent, since=since, all=every, dry_run=dry_run, progress=_progress())
    print(render.json_text(done)) if as_json else print_lines(learn_lines(done))
    if done.dry_run and not dry_run:
        print("# in CI nothing is recorded: `record_in_ci: true` in the config changes that", file=sys.stderr)
    return 0


def _refuse_together(
    paths: Sequence[Path] | None, watch: bool, interval: float | None, from_evidence: bool, dry_run: bool, every: bool
) -> None:
    if interval is not None and not watch:
        raise InstinctError("`--interval` says how often `--watch` looks", "add `--watch`, or leave it out")
    if watch and dry_run:
        raise InstinctError("a watch that writes nothing would find the same again and again", "leave one of them out")
    if from_evidence and (watch or paths or every):
        other = "`--watch`" if watch else "paths" if paths else "`--all`"
        raise InstinctError(f"`--from-evidence` and {other} do not go together", "leave one of them out")


def _watch(paths: Sequence[Path], as_json: bool, **options: Any) -> int:
    """Print a line for each round with news; only Ctrl-C ends it (exit 130), or an error."""
    rounds = Memory().watch(paths, wait=wait, **options)
    print("watching; Ctrl-C ends it", file=sys.stderr, flush=True)
    for done in rounds:
        if as_json:
            print(json.dumps(render.plain(done), ensure_ascii=False, default=str), flush=True)
        else:
            print_lines(watch_lines(done))
            sys.stdout.flush()
    return 0


def watch_lines(done: LearnResult) -> list[str]:
    """Return a line about what a round has learned, and one for each pattern that grew and candidate that entered."""
    grown = [f"  {one.key}  +{one.new}" for one in done.patterns if one.new]
    asked = [f"  remembered {render.clean(one.key)}" for one in done.asked if one.new]
    entered = [f"  candidate {render.clean(one.key)}" for one in done.entered]
    return [
        f"learned {_count(done.new, 'observation')} from {_count(done.sessions, 'session')}",
        *grown,
        *asked,
        *entered,
    ]


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
        f"# {_count(done.calls, 'observation' if done.from_evidence else 'tool call')} in {_count(done.sessions, 'session')}; "
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

"""The verbs of the command line that change the memory in one go: the batches, and `resolve` after a merge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from instinct_git.faces import render
from instinct_git.faces.cli_options import BATCHES, DryRun, Here, Json, NoCommit, print_lines
from instinct_git.memory import Memory

if TYPE_CHECKING:
    from instinct_git.operations.batches import BatchResult
    from instinct_git.operations.resolving import Resolved


def register(app: typer.Typer) -> None:
    """Add the batches to the command line."""
    for verb in (record, consolidate, decay, compact, gc):
        app.command(rich_help_panel=BATCHES)(verb)


def _batch(done: BatchResult, as_json: bool) -> int:
    print(render.json_text(done)) if as_json else print_lines(render.batch_lines(done))
    return 0


def record(dry_run: DryRun = False, no_commit: NoCommit = False, as_json: Json = False) -> int:
    """Commit the waiting evidence without folding it; --dry-run prints exactly what would be published."""
    return _batch(Memory().record(dry_run=dry_run, no_commit=no_commit), as_json)


def consolidate(dry_run: DryRun = False, here: Here = False, as_json: Json = False) -> int:
    """Fold all evidence into the patterns."""
    return _batch(Memory().consolidate(dry_run=dry_run, here=here), as_json)


def decay(
    days: Annotated[int | None, typer.Option("--days", help="Days without use; default: decay.days.")] = None,
    dry_run: DryRun = False,
    here: Here = False,
    as_json: Json = False,
) -> int:
    """Let what was not seen for a while fade: 1 less, at most once a week."""
    return _batch(Memory().decay(days, dry_run=dry_run, here=here), as_json)


def gc(
    dry_run: DryRun = False,
    here: Annotated[bool, typer.Option("--here", help="On this branch too, not only on the default one.")] = False,
    as_json: Json = False,
) -> int:
    """Keep the memory small: files of joined keys and the weakest patterns over the caps go, each with its reason."""
    return _batch(Memory().gc(dry_run=dry_run, here=here), as_json)


def compact(
    dry_run: DryRun = False,
    here: Annotated[
        bool, typer.Option("--here", help="Join them on this branch too, not only on the default one.")
    ] = False,
    as_json: Json = False,
) -> int:
    """Join the ledger files of each year into one; no number changes."""
    done = Memory().compact(dry_run=dry_run, here=here)
    print(render.json_text(done)) if as_json else print_lines(_compact_lines(done))
    return 0


def _compact_lines(done: BatchResult) -> list[str]:
    lines = [
        ("would join: " if done.dry_run else "joined: ") + notice if " become " in notice else f"# {notice}"
        for notice in done.notices
    ]
    if done.commit:
        lines.append(f"Commit: {done.commit[:12]}")
    elif not done.files:
        lines.append("Nothing to join: no year before this month has two ledger files")
    return lines


def resolve(dry_run: DryRun = False, as_json: Json = False) -> int:
    """After a conflicted merge: settle and stage what the evidence settles, list what is yours. Commits nothing."""
    done = Memory().resolve(dry_run=dry_run)
    print(render.json_text(done)) if as_json else print_lines(_resolve_lines(done))
    return 1 if done.left or done.outside else 0


def _resolve_lines(done: Resolved) -> list[str]:
    if not done.conflicts:
        return ["No conflict: there is nothing to resolve"]
    verb = "would settle" if done.dry_run else "settled"
    lines = [f"{verb} {one.path}: {one.how}" for one in done.settled]
    for one in done.left:
        lines += [f"yours: {one.path}: {render.clean(one.why)}", *(f"  - {choice}" for choice in one.choices)]
    lines += [f"yours: {path}: outside .instinct" for path in done.outside]
    settled, left = len(done.settled), len(done.left) + len(done.outside)
    lines.append(f"# {settled} {'to settle' if done.dry_run else 'settled and staged'}, {left} left to you")
    return [*lines, f"Next: {done.next_step}"]

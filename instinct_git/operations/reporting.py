"""What leaves the pool as a page: the weekly report, and the candidates for other tools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from instinct_git.core import body, weekly
from instinct_git.core.candidates import Candidate
from instinct_git.core.consolidate import Book
from instinct_git.core.dimensions import steps_of
from instinct_git.core.evidence import day_of, iso_day
from instinct_git.core.keys import describe
from instinct_git.core.model import Evidence
from instinct_git.core.pattern import PatternFile
from instinct_git.operations import breaking, comparing
from instinct_git.operations.pooling import candidate_of
from instinct_git.operations.workspace import Workspace
from instinct_git.storage import judged

VERSION = 1


def report(space: Workspace, week: str = "") -> weekly.Weekly:
    """Return the report of a week ("2026-W13"; empty: this one), what waits in the inbox included.

    Raises InstinctError for a week that is none or has not begun.
    """
    today = space.now().date()
    asked = weekly.parse_week(week, today)
    book, _ = space.read()
    current = today <= asked.last
    trips = breaking.state(space, book, min(asked.last, today))
    unfolded = [book.everything.by_id[one] for one in book.tree_ids - book.ledger_ids]
    waiting = _waiting(list(book.waiting), unfolded, space.config()["consolidate"]) if current else weekly.Waiting()
    held = breaking.held(space)
    return weekly.report(
        book.everything, asked, today, files=book.files, trips=trips, held=held, waiting=waiting,
        contradicting=_contradicting(space, book) if current else (), stale=_stale(space, book) if current else (),
    )  # fmt: skip


def _contradicting(space: Workspace, book: Book) -> list[tuple[str, str]]:
    """Each contradiction once, told of its first pattern."""
    found = []
    for one in comparing.contradicting(space, book):
        key = next((key for key in one.keys if not key.endswith(".md")), one.keys[0])
        found.append((key, ", ".join(other for other in one.keys if other != key)))
    return found


def _stale(space: Workspace, book: Book) -> list[tuple[str, str]]:
    """What has vanished as far as it was judged: a report asks git for nothing."""
    found = judged.read(space.place).stale
    return [(key, ", ".join(cited)) for key, cited in found.items() if key in book.files and cited]


def _waiting(inbox: Sequence[Evidence], recorded: Sequence[Evidence], policy: str) -> weekly.Waiting:
    command = (
        "" if not inbox and not recorded else f"instinct {'record' if policy == 'default-branch' else 'consolidate'}"
    )
    return weekly.Waiting(len(inbox), _since(inbox), len(recorded), _since(recorded), command)


def _since(evidence: Sequence[Evidence]) -> str:
    return iso_day(min(day_of(one.id) for one in evidence)) if evidence else ""


def export_candidates(space: Workspace) -> dict[str, Any]:
    """Return all candidates, answered and expired ones included, as `candidates.json` has them (docs/format.md)."""
    book, _ = space.read()
    found = [one for one in (candidate_of(book, key) for key in book.groups) if one is not None]
    ordered = sorted(found, key=lambda one: (-one.score, one.pattern))
    rows = [_exported(one, book.groups[one.pattern], book.files.get(one.pattern)) for one in ordered]
    return {"version": VERSION, "candidates": rows}


def _exported(one: Candidate, members: Sequence[Evidence], file: PatternFile | None) -> dict[str, Any]:
    told = {name: next((m.extra[name] for m in members if m.extra.get(name)), "") for name in ("title", "desc")}
    entry = next(m for m in members if m.k == "candidate")
    return {
        "pattern": one.pattern,
        "title": (file.title if file else "") or told["title"] or describe(one.pattern),
        "description": (file.description if file else "") or told["desc"],
        "kind": one.kind,
        "status": one.status,
        "score": float(one.score),
        "first_score": float(one.first_score),
        "dimensions": {name: float(value) for name, value in one.dims.items()},
        "trigger": one.trigger,
        "source": entry.by,
        "sources": sorted({m.by for m in members if m.by}),
        "contexts": sorted({m.ctx for m in members if m.ctx}),
        "steps": _steps(one.pattern, members, file),
        "successes": one.successes,
        "failures": one.failures,
        "confirmed": one.confirmed,
        "denied": one.denied,
        "since": one.since,
        "last_use": one.last_use,
        "path": file.path if file else None,
    }


def _steps(key: str, members: Sequence[Evidence], file: PatternFile | None) -> list[str]:
    """The steps as its file tells them, else as they were given, else those of the key."""
    written = body.sentences(body.read(file).steps) if file is not None else []
    metas = (m.extra["meta"] for m in members if isinstance(m.extra.get("meta"), dict))
    given = next((meta["steps"] for meta in metas if meta.get("steps")), None)
    return written or body.texts(given) or list(steps_of(key))

"""`scan`: summaries of a task shared by several agents in, candidates out. Their words are data, and screened."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from instinct_git.bridges.secrets import find_secrets, rule_of
from instinct_git.core import candidates as pool
from instinct_git.core.consolidate import Book
from instinct_git.core.duplicates import near_groups
from instinct_git.core.entry import code, names_places, session_code
from instinct_git.core.model import Evidence
from instinct_git.core.summaries import Item, LeftOut, summary
from instinct_git.core.transcript import Transcript
from instinct_git.errors import InstinctError
from instinct_git.operations.entering import Entered, Held, enter
from instinct_git.operations.workspace import Workspace

MAX_FILE = 1_000_000
"""Bytes of a summary; a longer file is none."""
SEVERAL = 2
"""Subagents' reports of one session that make its task a shared one."""


class Scanned(NamedTuple):
    """One statement or procedure found in a summary."""

    file: str
    line: int
    key: str
    kind: str
    title: str
    steps: tuple[str, ...]
    like: str
    """The known pattern that says the same, for which it counts; empty: none."""
    new: bool
    """False: it was scanned before."""


class NotTaken(NamedTuple):
    """What was left out of a summary, and why."""

    file: str
    line: int
    why: str


@dataclass(frozen=True, slots=True)
class ScanResult:
    """What `scan` found and wrote."""

    items: tuple[Scanned, ...]
    files: int
    new: int
    """New observations."""
    entered: tuple[Entered, ...]
    held: tuple[Held, ...]
    waiting: int
    """Patterns that qualified earlier and wait for a day with room."""
    left_out: tuple[NotTaken, ...]
    dry_run: bool = False


class Told(NamedTuple):
    """What the subagents' reports of some sessions tell."""

    evidence: tuple[Evidence, ...]
    reports: int
    left_out: tuple[LeftOut, ...]


def scan(
    space: Workspace,
    paths: Sequence[Path],
    *,
    dry_run: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> ScanResult:
    """Read summaries and put what is reusable into the pool (the swarm trigger); breakers hold what is too much.

    Raises InstinctError for a file that cannot be read. A secret is refused with its rule's name, the rest goes on.
    """
    texts = [(path, _text(path)) for path in dict.fromkeys(_files(paths))]
    book, _ = space.read()
    at, known = space.now().strftime("%Y-%m-%dT%H:%M:%SZ"), _Known(book)
    items: list[Scanned] = []
    left_out: list[NotTaken] = []
    for number, (path, text) in enumerate(texts, 1):
        page = summary(text)
        source = "" if find_secrets(page.source) else page.source
        left_out += [NotTaken(path.name, one.line, one.why) for one in page.left_out]
        for one in page.items:
            if why := _refused(one):
                left_out.append(NotTaken(path.name, one.line, why))
                continue
            like, new = known.add(one, ("scan", source, one.words), page.day or space.day(), at, source, "")
            items.append(Scanned(path.name, one.line, like or one.key, one.kind, one.title, one.steps, like, new))
        if progress is not None:
            progress(number, len(texts))
    done = enter(space, book, known.fresh, dry_run=dry_run)
    left_out.sort()
    return ScanResult(
        tuple(items), len(texts), len(known.fresh), done.entered, done.held, done.waiting, tuple(left_out), dry_run
    )


def reports(space: Workspace, book: Book, transcripts: Iterable[Transcript], at: str) -> Told:
    """Scan what subagents handed back, in sessions where several did. Nobody chose these words for publication: what
    names a path or a host is left out (law 12)."""
    known, left_out, read = _Known(book), list[LeftOut](), 0
    for transcript in transcripts:
        if len({report.thread for report in transcript.reports}) < SEVERAL:
            continue
        for report in transcript.reports:
            read += 1
            page = summary(report.text)
            for one in page.items:
                if why := _refused(one) or names_places(one.words):
                    left_out.append(LeftOut(one.line, why))
                    continue
                parts = ("report", transcript.agent, transcript.session, one.words)
                session = session_code(transcript.agent, transcript.session)
                known.add(one, parts, report.day or transcript.day, at, transcript.agent, session)
    return Told(tuple(known.fresh), read, tuple(left_out))


class _Known:
    """What the memory says already, and what a scan adds to it."""

    def __init__(self, book: Book) -> None:
        self.book = book
        self.nonces = {one.id[9:] for one in book.everything}
        self.titles = {key: _title(book, key) for key in book.groups.keys() | book.files.keys()}
        self.fresh: list[Evidence] = []

    def add(self, one: Item, parts: Sequence[str], day: str, at: str, by: str, session: str) -> tuple[str, bool]:
        """Count one sighting of an item: for the known pattern that says the same, else for a new one.

        Its id is made of `parts` and the key it counts for, and tells all that it says: what this memory knew already
        changes nothing, so clones never disagree about one id.
        """
        alike = self._alike(one)
        nonces = {key: code(*parts, key) + ".1" for key in dict.fromkeys([one.key, *alike])}
        counted = next((key for key, nonce in nonces.items() if nonce in self.nonces), None)
        if counted is not None:
            return "" if counted == one.key else counted, False
        like = one.key if one.key in self.titles else next(iter(alike), "")
        key = like or one.key
        own = key == one.key
        words = (
            {"title": one.title, "desc": one.text, "meta": one.meta, "x": pool.SWARM, "kind": one.kind} if own else {}
        )
        extra: dict[str, Any] = {name: value for name, value in words.items() if value}
        if own:
            self.titles.setdefault(key, one.title)
        self.nonces.add(nonces[key])
        self.fresh.append(Evidence(f"{day}-{nonces[key]}", key, "observed", at, by, session, extra=extra))
        return like, True

    def _alike(self, one: Item) -> list[str]:
        """The other known keys whose patterns say the same."""
        groups = near_groups({**self.titles, one.key: self.titles.get(one.key) or one.title})
        return next(([key for key in keys if key != one.key] for keys in groups if one.key in keys), [])


def _title(book: Book, key: str) -> str:
    file = book.files.get(key)
    told = (str(one.extra["title"]) for one in book.groups.get(key, ()) if one.extra.get("title"))
    return (file.title if file else "") or next(told, "")


def _refused(one: Item) -> str:
    """Say why an item cannot be written; "" when it can."""
    rule = rule_of(one.words)
    return f"it looks like it holds a secret (rule {rule})" if rule else ""


def _files(paths: Iterable[Path]) -> list[Path]:
    found: list[Path] = []
    for path in paths:
        below = sorted(one for one in path.rglob("*.md") if one.is_file()) if path.is_dir() else [path]
        if not below:
            raise InstinctError(f"there is no summary below {path}", "summaries are Markdown files (.md)")
        found += below
    return found


def _text(path: Path) -> str:
    try:
        data = path.read_bytes()
    except OSError as problem:
        raise InstinctError(f"{path} cannot be read: {problem.strerror}", "name Markdown files") from None
    if b"\0" in data or len(data) > MAX_FILE:
        why = "is no text" if b"\0" in data else f"is longer than {MAX_FILE} bytes"
        raise InstinctError(f"{path} {why}", "name Markdown files that summarise a task")
    return data.decode("utf-8", "replace").removeprefix("\ufeff")

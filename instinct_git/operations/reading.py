"""The reading verbs: list, show, suggest, explain, history, stats, check, export. They write only caches."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from instinct_git.core import ranking
from instinct_git.core.keys import CATEGORIES, category_of, describe, normalise_key, pattern_path
from instinct_git.core.model import FADED, LEVELS, NOTHING, RULE, Tally
from instinct_git.core.pattern import PatternFile
from instinct_git.errors import InstinctError, UnknownPattern
from instinct_git.operations.awaiting import MARK, awaiting
from instinct_git.operations.noticing import asks
from instinct_git.operations.workspace import Workspace, near
from instinct_git.storage import index

SCOPES = ("project", "private", "global", "shared")


class Pattern(NamedTuple):
    """A pattern as the reading verbs give it."""

    pattern: str
    """The key."""
    category: str
    confidence: int
    """As committed; 0 where no batch has made a file yet."""
    live: int
    """With everything that waits."""
    level: str
    """raw, mature or rule, as the last batch set it; faded at 0 and below."""
    title: str
    description: str
    first_seen: str
    last_seen: str
    sources: tuple[str, ...]
    status: str
    scope: str
    path: str | None
    """Path of its file below the memory's root; None: no batch has made one yet."""
    candidate: Mapping[str, Any] | None = None
    metadata: Mapping[str, Any] = NOTHING
    tags: tuple[str, ...] = ()
    because: str = ""
    """Why a search found it, or where a suggestion comes from."""

    @property
    def key(self) -> str:
        """The key, under its other name."""
        return self.pattern

    @property
    def words(self) -> str:
        """The advice in words: the title, else what the key says."""
        return self.title or self.description or describe(self.pattern)

    def as_json(self) -> dict[str, Any]:
        """Return the pattern as plain data."""
        data = {**self._asdict(), "metadata": dict(self.metadata)}
        if not self.because:
            data.pop("because")
        return data


def _pattern(file: PatternFile, live: int, scope: str) -> Pattern:
    level = FADED if file.confidence <= 0 else file.level or LEVELS[0]
    return Pattern(
        file.key, file.category, file.confidence, live, level, file.title, file.description, file.first_seen,
        file.last_seen, file.sources, file.status, scope, file.path, None, file.metadata, file.tags,
    )  # fmt: skip


def _waiting_pattern(key: str, tally: Tally, scope: str) -> Pattern:
    category = (
        category_of(key) if key.partition(":")[0] in config_prefixes() else category_of(key, tally.category or None)
    )
    return Pattern(
        key, category, 0, tally.total, LEVELS[0], tally.title, tally.description, tally.first_seen, tally.last_seen,
        tally.sources, "active", scope, None, None, tally.metadata,
    )  # fmt: skip


def config_prefixes() -> tuple[str, ...]:
    """Return the known key prefixes."""
    from instinct_git.core.keys import PREFIXES

    return tuple(PREFIXES)


def all_patterns(space: Workspace) -> list[Pattern]:
    """Return every pattern of one memory with its live confidence, those that only wait in the inbox included."""
    from instinct_git.core.consolidate import removed_by_person

    if not space.place.exists() and space.place.common_dir is None and not space.place.root.is_dir():
        return []
    book, _ = space.read()
    tallies = book.tallies(space.config().policy)
    found = []
    for key, file in book.files.items():
        found.append(_pattern(file, file.offset + tallies.get(key, Tally()).total, space.place.scope))
    for key, tally in tallies.items():
        if key not in book.files and tally.total > 0 and not removed_by_person(book, key, tally):
            found.append(_waiting_pattern(key, tally, space.place.scope))
    pooled = {key for key, members in book.groups.items() if any(one.k == "candidate" for one in members)}
    if pooled:
        from instinct_git.operations.pooling import as_json, candidate_of

        found = [
            one._replace(candidate=as_json(candidate_of(book, one.pattern))) if one.pattern in pooled else one
            for one in found
        ]
    return sorted(found, key=lambda one: (-one.live, one.pattern))


def listed(spaces: Sequence[Workspace], *, category: str | None = None, level: str | None = None,
           min_confidence: int | None = None, source: str | None = None, scope: str | None = None) -> list[Pattern]:  # fmt: skip
    """Return patterns, strongest first, narrowed by the filters. `min_confidence` looks at the live number."""
    for name, value, allowed in (
        ("category", category, CATEGORIES), ("level", level, (*LEVELS, FADED)), ("scope", scope, SCOPES),
    ):  # fmt: skip
        if value is not None and value not in allowed:
            raise InstinctError(f"there is no {name} {value!r}", f"{name}: " + ", ".join(allowed))
    found = [one for space in spaces if scope in (None, space.place.scope) for one in all_patterns(space)]
    return [
        one
        for one in sorted(found, key=lambda p: (-p.live, p.pattern))
        if (category is None or one.category == category)
        and (level is None or one.level == level)
        and (min_confidence is None or one.live >= min_confidence)
        and (source is None or source in one.sources)
    ]


def show(spaces: Sequence[Workspace], key: str) -> tuple[Pattern, str]:
    """Return one pattern and its file's body. Raises UnknownPattern with near keys."""
    key = normalise_key(key)
    known: list[str] = []
    for space in spaces:
        patterns = all_patterns(space)
        for one in patterns:
            if one.pattern == key:
                return one, _body(space, one)
        known += [one.pattern for one in patterns]
    raise UnknownPattern(f"there is no pattern {key!r}", near(key, known))


def _body(space: Workspace, pattern: Pattern) -> str:
    if pattern.path is None:
        return ""
    from instinct_git.core.document import parse

    text = (space.place.root / pattern.path).read_bytes().decode("utf-8", "surrogateescape")
    return parse(text, pattern.path).body


class Suggestions(NamedTuple):
    """What an agent is told, and what the budget left out."""

    patterns: tuple[Pattern, ...]
    left_out: tuple[str, ...] = ()
    """Keys that did not fit."""
    budget: int = 0
    notices: tuple[str, ...] = ()
    nominated: tuple[str, ...] = ()
    """What to ask the person, a line each; they count in the budget too."""


def suggest(spaces: Sequence[Workspace], *, limit: int | None = None, budget: int | None = None) -> Suggestions:
    """Return what awaits a review in this clone, then the mature patterns and rules, strongest first, within the token
    budget, which nominations come out of first. Reads the index only, unless something is nominated."""
    notices: list[str] = []
    spoken: set[str] = set()
    asked: list[tuple[PatternFile, str]] = []
    told = _Told()
    for space in spaces:
        if budget is None:
            budget = int(space.config()["suggest.budget"])
        known, scope = index.read(space.place), space.place.scope
        notices += [f"{one.path}:{one.message.removeprefix(one.path + ':')}" for one in known.broken]
        told.add(known, scope, spoken)
        waiting = awaiting(space, known.told_keys)
        asked += [(file, scope) for file in waiting if file.key not in spoken]
        if space is not spaces[-1]:  # the nearer memory speaks, also by being silent
            spoken.update((key for key in known.keys if key is not None), (file.key for file in waiting))
    budget = budget or 0
    nominated, spent = asks(spaces[0], budget)
    first, no_room = ranking.fitting(((one, ranking.cost(one[0])) for one in asked), budget - spent)
    spent += sum(ranking.cost(file) for file, _ in first)
    kept, left = ranking.fitting(told.rows, budget - spent)
    shown = [_awaiting(file, scope) for file, scope in first] + [told.pattern(number) for number in kept]
    left_out = [file.key for file, _ in no_room] + [told.keys[number] or "" for number in left]
    if limit is not None:
        shown, left_out = shown[: max(limit, 0)], [one.pattern for one in shown[max(limit, 0) :]] + left_out
    return Suggestions(tuple(shown), tuple(left_out), budget, tuple(notices), nominated)


class _Told:
    """What is suggested, in order, from several memories: (number, cost) rows; a number stands for a file of one."""

    def __init__(self) -> None:
        self.rows: Sequence[tuple[int, int]] = ()
        self.keys: list[str | None] = []
        self._layers: list[tuple[int, index.Known, str]] = []

    def add(self, known: index.Known, scope: str, spoken: Collection[str]) -> None:
        """Add a memory; what a nearer one speaks of is left out."""
        start, rows = len(self.keys), known.told
        if start:
            rows = [(start + number, cost) for number, cost in rows if known.keys[number] not in spoken]
        self.keys += known.keys
        self._layers.append((start, known, scope))
        if self.rows and rows:  # each has its own in order; together they must be sorted
            by_key = {self.keys[row[0]]: row for row in (*self.rows, *rows)}
            files = [self._file(number)[0] for number, _ in by_key.values()]
            rows = [by_key[file.key] for file in ranking.in_order(files)]
        self.rows = rows or self.rows

    def _file(self, number: int) -> tuple[PatternFile, str]:
        start, known, scope = next(layer for layer in reversed(self._layers) if layer[0] <= number)
        return known.file(number - start), scope

    def pattern(self, number: int) -> Pattern:
        """Return one of them as the reading verbs give it."""
        file, scope = self._file(number)
        return _pattern(file, file.confidence, scope)._replace(because=_origin(file, scope))


def _awaiting(file: PatternFile, scope: str) -> Pattern:
    category = file.category or category_of(file.key)
    return _pattern(file, file.confidence, scope)._replace(
        because=MARK, category=category, level=file.level or LEVELS[0]
    )


def _origin(file: PatternFile, scope: str) -> str:
    seen = f", seen by {', '.join(file.sources)}" if file.sources else ""
    return f"{scope}, {file.level}, {file.confidence} x{seen}"


def knowing(spaces: Sequence[Workspace], key: str) -> Workspace:
    """Return the nearest memory that knows a key; the first one where none does (its error names near keys)."""
    for space in spaces[1:] and spaces:
        book, _ = space.read()
        if normalise_key(key) in book.files.keys() | book.groups.keys():
            return space
    return spaces[0]


def explain(space: Workspace, key: str) -> Any:
    """Return every piece of evidence of a pattern in fold order with the running sum, and what is missing."""
    from instinct_git.core import report
    from instinct_git.core.confidence import fold_one, retracted
    from instinct_git.core.evidence import EvidenceSet
    from instinct_git.storage import store

    key = normalise_key(key)
    book, _ = space.read()
    policy = space.config().policy
    stands_for = book.stands_for.get(key, key)
    members, file = book.groups.get(stands_for, []), book.files.get(stands_for)
    if not members and file is None:
        raise UnknownPattern(f"there is no pattern {key!r}", near(key, book.files.keys() | book.groups.keys()))
    noted = EvidenceSet(book.everything)
    noted.update(one for one in store.noted(space.place) if one.id in book.everything)
    members = [one._replace(note=noted.by_id[one.id].note, at=noted.by_id[one.id].at) for one in members]
    offset = file.offset if file else 0
    steps = fold_one(members, policy, steps=True).steps
    where = dict.fromkeys(book.tree_ids, "observations") | dict.fromkeys(book.ledger_ids, "ledger")
    live = offset + (steps[-1].total if steps else 0)
    gone = retracted(list(book.everything))
    return report.Explanation(
        stands_for, file.confidence if file else 0, offset, live, file.level if file else LEVELS[0],
        report.explain_lines(steps, offset, policy, where), report.missing_words(live, policy),
        tuple(sorted(one.id for one in book.everything if one.id in gone and stands_for == book.stands_for.get(one.p, one.p))),
        (*((f"counted as {stands_for} (alias)",) if stands_for != key else ()), *_joined_words(book, stands_for),
         *_score_words(book, stands_for)),
    )  # fmt: skip


def _joined_words(book: Any, key: str) -> list[str]:
    """Name the keys that count for this one, with the ids of the aliases, which `retract` takes."""
    gone = {str(one.extra.get("to")) for one in book.everything if one.k == "retract"}
    aliases = sorted((one.p, one.id) for one in book.everything if one.k == "alias" and one.id not in gone)
    return [
        f"{old} counts here (alias {alias})" for old, alias in aliases if book.stands_for.get(old, old) == key != old
    ]


def _score_words(book: Any, key: str) -> tuple[str, ...]:
    """Say, line by line, why a candidate's score is what it is."""
    from instinct_git.operations.pooling import candidate_of

    found = candidate_of(book, key)
    return (
        () if found is None else (f"candidate: {found.kind}, score {found.score:.2f}, {found.status}", *found.reasons)
    )


def history(space: Workspace, key: str, limit: int = 0) -> list[Any]:
    """Return the commits that changed a pattern's file, newest first."""
    key = normalise_key(key)
    repository = space.repository()
    if repository is None:
        raise InstinctError("there is no git repository here, so there is no history", "run `git init` there")
    files, _ = index.patterns(space.place)
    paths = {pattern_path(key)} | {one.path for one in files if one.key == key}
    found = repository.history(sorted(paths), limit)
    if not found and not any(one.key == key for one in files):
        raise UnknownPattern(f"no commit knows the pattern {key!r}", near(key, [one.key for one in files]))
    return found


def stats(space: Workspace) -> Any:
    """Return the memory in numbers, what waits, since when, and what would move it."""
    from collections import Counter

    from instinct_git.core import report
    from instinct_git.core.consolidate import removed_by_person
    from instinct_git.core.evidence import day_of, iso_day

    book, _ = space.read()
    policy = space.config().policy
    tallies = book.tallies(policy)
    unfolded = [book.everything.by_id[one] for one in book.tree_ids - book.ledger_ids]
    days = sorted(day_of(one.id) for one in book.waiting)
    _, step = report.waiting_words(book.waiting, unfolded, space.config()["consolidate"])
    return report.Stats(
        str(space.place.root), space.place.scope, len(book.files),
        report.by_level((one.confidence, one.level) for one in book.files.values()),
        dict(sorted(Counter(one.category for one in book.files.values()).items())),
        dict(sorted(Counter(one.by for one in book.everything if one.by).items())),
        dict(sorted(Counter(one.k for one in book.everything).items())),
        len(book.everything), len(book.waiting), iso_day(days[0]) if days else "", len(unfolded),
        sum(removed_by_person(book, key, tally) for key, tally in tallies.items()), len(book.broken), step,
    )  # fmt: skip


def export_rules(spaces: Iterable[Workspace]) -> list[Pattern]:
    """Return the active rules (confidence from `levels.rule` on), strongest first."""
    found: dict[str, Pattern] = {}
    spoken: set[str] = set()
    for space in spaces:
        files, _ = index.patterns(space.place)
        limit = space.config().policy.rule
        for file in files:
            if file.confidence >= limit and file.status == "active" and file.key not in spoken:
                pattern = _pattern(file, file.confidence, space.place.scope)
                found[file.key] = pattern._replace(level=RULE)
        spoken |= {file.key for file in files}
    return sorted(found.values(), key=lambda one: (-one.confidence, one.pattern))

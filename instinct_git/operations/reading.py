"""The reading verbs: list, show, explain, history, stats, check, export. They write only caches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from instinct_git.core.keys import CATEGORIES, category_of, describe, normalise_key, pattern_path
from instinct_git.core.model import FADED, LEVELS, NOTHING, RAW, RULE, Tally, speaks
from instinct_git.core.pattern import PatternFile
from instinct_git.errors import InstinctError, UnknownPattern
from instinct_git.operations.workspace import Workspace, near
from instinct_git.storage import index
from instinct_git.storage.files import Place

if TYPE_CHECKING:
    from instinct_git.core.consolidate import Book

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
    memory: str = ""
    """A shared memory's name; empty: it stands in another one."""
    because: str = ""
    """Why a search found it, where a suggestion comes from, or which key was asked for that counts here."""

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
        for name in ("memory", "because"):
            if not data[name]:
                data.pop(name)
        return data


def as_pattern(file: PatternFile, live: int, place: Place) -> Pattern:
    """Return a pattern file as the reading verbs give it."""
    level = FADED if file.confidence <= 0 else file.level or LEVELS[0]
    return Pattern(
        file.key, file.category, file.confidence, live, level, file.title, file.description, file.first_seen,
        file.last_seen, file.sources, file.status, place.scope, file.path, None, file.metadata, file.tags, place.shared_name,
    )  # fmt: skip


def _waiting_pattern(key: str, tally: Tally, place: Place) -> Pattern:
    category = (
        category_of(key) if key.partition(":")[0] in config_prefixes() else category_of(key, tally.category or None)
    )
    return Pattern(
        key, category, 0, tally.total, LEVELS[0], tally.title, tally.description, tally.first_seen, tally.last_seen,
        tally.sources, "active", place.scope, None, None, tally.metadata, (), place.shared_name,
    )  # fmt: skip


def config_prefixes() -> tuple[str, ...]:
    """Return the known key prefixes."""
    from instinct_git.core.keys import PREFIXES

    return tuple(PREFIXES)


def all_patterns(space: Workspace, book: Book | None = None) -> list[Pattern]:
    """Return every pattern of one memory with its live confidence, those that only wait in the inbox included."""
    from instinct_git.core.consolidate import removed_by_person

    if not space.place.exists() and space.place.common_dir is None and not space.place.root.is_dir():
        return []
    book = book or space.read()[0]
    tallies = book.tallies(space.config().policy)
    found = []
    for key, file in book.files.items():
        found.append(as_pattern(file, file.offset + tallies.get(key, Tally()).total, space.place))
    for key, tally in tallies.items():
        if key not in book.files and tally.total > 0 and not removed_by_person(book, key, tally):
            found.append(_waiting_pattern(key, tally, space.place))
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
    """Return one pattern and its file's body; for a key that an alias joined to another one that other one, which says so
    in `because`. Raises UnknownPattern with near keys."""
    key = normalise_key(key)
    known: list[str] = []
    for space in spaces:
        book, _ = space.read()
        patterns, stands_for = all_patterns(space, book), book.stands_for.get(key, key)
        for one in patterns:
            if one.pattern == stands_for:
                one = one if stands_for == key else one._replace(because=f"{key} counts as {stands_for} (alias)")
                return one, _body(space, one)
        known += [one.pattern for one in patterns]
    raise UnknownPattern(f"there is no pattern {key!r}", near(key, known))


def _body(space: Workspace, pattern: Pattern) -> str:
    if pattern.path is None:
        return ""
    from instinct_git.core.document import parse

    text = (space.place.root / pattern.path).read_bytes().decode("utf-8", "surrogateescape")
    return parse(text, pattern.path).body


def knowing(spaces: Sequence[Workspace], key: str) -> Workspace:
    """Return the nearest memory that knows a key; the first one where none does (its error names near keys)."""
    for space in spaces[1:] and spaces:
        book, _ = space.read()
        if book.stands_for.get(normalise_key(key), normalise_key(key)) in book.files.keys() | book.groups.keys():
            return space
    return spaces[0]


def explain(space: Workspace, key: str) -> Any:
    """Return every piece of evidence of a pattern in fold order with the running sum, and what is missing."""
    from instinct_git.core import report
    from instinct_git.core.confidence import Witnesses, fold_one, retracted
    from instinct_git.core.evidence import EvidenceSet
    from instinct_git.storage import learned, store

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
    lines = report.explain_lines(steps, offset, policy, where, learned.calls(space.place, {one.id for one in members}))
    return report.Explanation(
        stands_for, file.confidence if file else 0, offset, live, file.level if file else LEVELS[0],
        lines, report.missing_words(live, policy, alone=not offset and Witnesses(members).alone),
        tuple(sorted(one.id for one in book.everything if one.id in gone and stands_for == book.stands_for.get(one.p, one.p))),
        (*((f"counted as {stands_for} (alias)",) if stands_for != key else ()), *_joined_words(book, stands_for),
         *_score_words(book, stands_for), *_elsewhere(lines)),
    )  # fmt: skip


def _elsewhere(lines: Iterable[Any]) -> tuple[str, ...]:
    """Say of how much that may have been learned from transcripts this clone does not know the calls."""
    from instinct_git.bridges.places import AGENTS

    unknown = sum(one.calls is None and one.kind in ("observed", "succeeded") and one.session != "" and
                  one.source in AGENTS for one in lines)  # fmt: skip
    if not unknown:
        return ()
    return (f"the calls behind {unknown} of these are not known here: learned in another clone, or sent to `observe`",)


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
    """Return the rules that agents are told (confidence from `levels.rule` on), strongest first; each from the nearest
    memory that has it as a rule."""
    found: dict[str, Pattern] = {}
    spoken: set[str] = set()
    for space in spaces:
        known = index.read(space.place)
        limit = space.config().policy.rule
        for file in known.patterns():
            alone = file.level == RAW and not file.offset  # as the batch has found: one session stands behind it
            told = speaks(file.status, read=space.place.documents_read)
            if file.confidence >= limit and not alone and told and file.key not in spoken:
                pattern = as_pattern(file, file.confidence, space.place)
                found[file.key] = pattern._replace(level=RULE)
        spoken |= known.silent | found.keys()
    return sorted(found.values(), key=lambda one: (-one.confidence, one.pattern))

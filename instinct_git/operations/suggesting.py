"""What an agent is told: from every memory in reach, for this project and task, strongest first, within the budget.

Only the indexes are read. A pattern that stands in several memories is told once, with its strongest level; what a
nearer memory silenced, what is meant for other languages or folders and what a nearer memory contradicts is left out,
each with its reason.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from instinct_git.core import injection, ranking
from instinct_git.core.applicability import why_not
from instinct_git.core.keys import category_of
from instinct_git.core.model import LEVELS
from instinct_git.core.pattern import PatternFile
from instinct_git.operations.awaiting import MARK, awaiting
from instinct_git.operations.noticing import asks
from instinct_git.operations.reading import Pattern, as_pattern
from instinct_git.operations.waiting import waits
from instinct_git.operations.workspace import Workspace
from instinct_git.storage import index, judged
from instinct_git.storage.files import Place
from instinct_git.storage.surroundings import Surroundings


class LeftOut(NamedTuple):
    """A mature pattern that is not told now."""

    pattern: str
    why: str
    cost: int
    """Tokens that it would take."""


NO_ROOM = "no room"
BEYOND = "beyond the limit"
_STRONGEST = 200
"""Rows whose words are held against those of other memories: more than any budget tells."""


class Suggestions(NamedTuple):
    """What an agent is told, and what is left out."""

    patterns: tuple[Pattern, ...]
    left_out: tuple[str, ...] = ()
    """Keys that were beyond the limit, then those that did not fit the budget."""
    budget: int = 0
    notices: tuple[str, ...] = ()
    nominated: tuple[str, ...] = ()
    """What to ask the person, a line each; they count in the budget too."""
    spent: int = 0
    """Tokens of the budget that are taken."""
    unfit: tuple[LeftOut, ...] = ()
    """What is left out whatever the budget, each with its reason."""
    costs: Mapping[str, int] = {}
    """Tokens that each key in `patterns` and `left_out` takes."""
    waits: str = ""
    """What waits for a batch, in one line; it counts in the budget of a session's start."""
    beyond: int = 0
    """How many of `left_out`, the first, only the limit left out."""


class Task(NamedTuple):
    """What is known of the work at hand; nothing: the whole memory is ranked by its strength alone."""

    text: str = ""
    paths: tuple[str, ...] = ()
    """Files in play, as given: absolute, or relative to the folder."""
    only: bool = False
    """True: nothing but what the text and the files call for."""


class _Row(NamedTuple):
    """One pattern that may be told."""

    rank: int
    confidence: int
    last_seen: str
    key: str
    layer: int
    number: int
    cost: int


def suggest(
    spaces: Sequence[Workspace],
    folder: Path,
    *,
    limit: int | None = None,
    budget: int | None = None,
    task: Task = Task(),  # noqa: B008 - immutable
) -> Suggestions:
    """Return what awaits a review in this clone, then the mature patterns and rules, strongest and most relevant
    first, within the token budget, which nominations come out of first. `spaces` are the memories, nearest first;
    `folder` is where the work is done. No budget given: the memory's own, of all that a session's start reads."""
    waiting, around = "", 0
    if budget is None:
        budget, waiting = int(spaces[0].config()["suggest.budget"]), waits(spaces[0])
        around = injection.frame() + (injection.asking(waiting) if waiting else 0)
    layers = [_Layer(space) for space in spaces]
    notices = [notice for layer in layers for notice in layer.notices]
    asked, hidden = _asked(layers)
    chosen = _Choice(layers, hidden, Surroundings(spaces[0].place, folder), task)
    rows = chosen.rows()
    nominated, spent = asks(spaces[0], budget - around)
    spent += around
    wanted = [(one, injection.cost(one[0], MARK)) for one in asked if not task.only or chosen.calls_for(one[0])]
    first, no_room = ranking.fitting(((row, row[1]) for row in wanted), budget - spent)
    spent += sum(taken for _, taken in first)
    kept, left = ranking.fitting(((row, row.cost) for row in rows), budget - spent)
    spent += sum(row.cost for row in kept)
    shown = [_awaiting(file, place) for (file, place), _ in first] + [chosen.pattern(row) for row in kept]
    left_out = [file.key for (file, _), _ in no_room] + [row.key for row in left]
    costs = {file.key: taken for (file, _), taken in wanted} | {row.key: row.cost for row in rows}
    end = len(shown) if limit is None else max(limit, 0)
    beyond = [one.pattern for one in shown[end:]]
    spent -= sum(costs[key] for key in beyond)
    silent = not (shown[:end] or nominated or waiting)
    return Suggestions(
        tuple(shown[:end]), (*beyond, *left_out), budget, (*notices, *chosen.notices), nominated, 0 if silent else spent,
        tuple(chosen.unfit), costs, waiting, len(beyond),
    )  # fmt: skip


class _Layer:
    """One memory as its index has it."""

    def __init__(self, space: Workspace) -> None:
        self.space, self.place = space, space.place
        self.known = index.read(space.place)
        self.notices = [f"{one.path}:{one.message.removeprefix(one.path + ':')}" for one in self.known.broken]

    def rows(self, number: int, hidden: Collection[str | None]) -> list[_Row]:
        """Return what this memory would tell, in order."""
        known = self.known
        rows: list[_Row] | None = known.made.get(number)
        if rows is None:  # a server is asked again and again; nobody changes the list
            named = zip(known.ranked, known.strengths, known.costs, strict=True)
            rows = [_Row(*strength, known.keys[at] or "", number, at, cost) for at, strength, cost in named]
            known.made[number] = rows
        return [row for row in rows if row.key not in hidden] if hidden else rows


def _asked(layers: Sequence[_Layer]) -> tuple[list[tuple[PatternFile, Place]], list[set[str]]]:
    """Return what awaits a review, and for each memory the keys that a nearer one speaks of or silenced."""
    asked: list[tuple[PatternFile, Place]] = []
    spoken: set[str] = set()
    hidden: list[set[str]] = []
    for layer in layers:
        hidden.append(set(spoken))
        waiting = [one for one in awaiting(layer.space, layer.known.told_keys) if one.key not in spoken]
        asked += [(file, layer.place) for file in waiting]
        spoken |= layer.known.silent | {file.key for file in waiting}
    return asked, hidden


class _Choice:
    """Which of the rows are told, in what order."""

    def __init__(self, layers: Sequence[_Layer], hidden: Sequence[set[str]], around: Surroundings, task: Task) -> None:
        self._layers, self._hidden, self._around, self._task = layers, hidden, around, task
        self.notices: list[str] = []
        self.unfit: list[LeftOut] = []
        self._also: dict[str, list[str]] = {}
        """{key: where else it stands, and what it contradicts}."""
        self._nearest: dict[str, int] = {}
        """{key: number of the nearest memory that tells it}."""

    def rows(self) -> list[_Row]:
        """Return what may be told, in order; says in `unfit` what may not."""
        each = [layer.rows(n, hidden) for n, (layer, hidden) in enumerate(zip(self._layers, self._hidden, strict=True))]
        each = [self._applying(rows, self._layers[n].known.limited) for n, rows in enumerate(each)]
        rows = self._joined([rows for rows in each if rows])
        rows = self._settled(self._longest(rows))
        rows = self._lowered(self._relevant(rows))
        return [self._whole(row) for row in rows] if self._also else rows

    def calls_for(self, file: PatternFile) -> bool:
        """True for a pattern that the task's text and files call for."""
        from instinct_git.core.relevance import called_for

        return bool(called_for(self._task.text, self._paths, [file]))

    def _whole(self, row: _Row) -> _Row:
        """The row with what it takes together with all that is said of where it comes from."""
        also = self._also.get(row.key)
        return row._replace(cost=row.cost + ranking.tokens("; ".join(("", *also)))) if also else row

    def pattern(self, row: _Row) -> Pattern:
        """Return one of them as the reading verbs give it."""
        layer = self._layers[row.layer]
        file = layer.known.file(row.number)
        because = "; ".join((injection.origin(file, layer.place.called), *self._also.get(row.key, ())))
        return as_pattern(file, file.confidence, layer.place)._replace(because=because)

    def _applying(self, rows: list[_Row], limited: Mapping[int, object]) -> list[_Row]:
        if not limited:
            return rows
        kept = []
        for row in rows:
            limits = self._layers[row.layer].known.limited.get(row.number)
            why = "" if limits is None else why_not(limits, self._languages, self._paths, self._around.has)
            if why:
                self.unfit.append(LeftOut(row.key, why, row.cost))
            else:
                kept.append(row)
        return kept

    @cached_property
    def _languages(self) -> frozenset[str]:
        return self._around.languages()

    @cached_property
    def _paths(self) -> tuple[str, ...]:
        return tuple(self._around.inside(self._task.paths))

    def _joined(self, each: list[list[_Row]]) -> list[_Row]:
        """Return the rows of all memories in one order, each key once: with its strongest level, of one level the nearest."""
        if len(each) < 2:
            return each[0] if each else []
        best: dict[str, _Row] = {}
        for row in (row for rows in each for row in rows):
            other = best.get(row.key)
            if other is None:
                best[row.key], self._nearest[row.key] = row, row.layer
                continue
            weaker = row
            if row.rank < other.rank:
                best[row.key], weaker = row, other
            self._also.setdefault(row.key, []).append(self._where(weaker))
        return in_order(best.values())

    def _longest(self, rows: list[_Row]) -> list[_Row]:
        """Leave out the sequences whose steps a longer one that is told holds."""
        whole = {key: longer for layer in self._layers for key, longer in layer.known.part_of.items()}
        told = {row.key for row in rows} if whole else set()
        parts = {key: longer for key, longer in whole.items() if longer in told}
        return self._without(rows, {key: f"a part of {longer}" for key, longer in parts.items()})

    def _without(self, rows: list[_Row], why: Mapping[str, str]) -> list[_Row]:
        if not why:
            return rows
        self.unfit += [LeftOut(row.key, why[row.key], row.cost) for row in rows if row.key in why]
        return [row for row in rows if row.key not in why]

    def _settled(self, rows: list[_Row]) -> list[_Row]:
        """Of what contradicts each other tell the nearer memory's, and of one memory's the stronger, and say so."""
        rivals = self._rivals(rows)
        if not rivals:
            return rows
        place = {row.key: (self._nearest.get(row.key, row.layer), n) for n, row in enumerate(rows) if row.key in rivals}
        kept: set[str] = set()
        lost: dict[str, str] = {}
        for key in sorted(place, key=place.__getitem__):
            winner = next((other for other in sorted(rivals[key]) if other in kept), None)
            if winner is None:
                kept.add(key)
                continue
            lost[key] = f"contradicted by {winner}"
            self._also.setdefault(winner, []).append(f"contradicts {key}")
            self.notices.append(
                f"{winner} and {key} contradict each other ({rivals[key][winner]}); the first is told; retire one"
            )
        return self._without(rows, lost)

    def _rivals(self, rows: Sequence[_Row]) -> dict[str, dict[str, str]]:
        """Return {key: {key that contradicts it: why}} of what would be told."""
        pairs = [pair for layer in self._layers for pair in layer.known.rivals]
        if len({row.layer for row in rows}) > 1:
            pairs += self._opposed(rows[:_STRONGEST]) + _across(row.key for row in rows if row.key.startswith("pref:"))
        told = {row.key for row in rows} if pairs else set()
        rivals: dict[str, dict[str, str]] = {}
        for one, other, reason in pairs:
            if one in told and other in told:
                rivals.setdefault(one, {})[other] = reason
                rivals.setdefault(other, {})[one] = reason
        return rivals

    def _opposed(self, rows: Sequence[_Row]) -> list[tuple[str, str, str]]:
        """Return what one memory asks for and another one forbids."""
        from itertools import combinations

        from instinct_git.core.contradictions import contradictions

        layer = {row.key: row.layer for row in rows}
        return [
            (one, other, found.reason)
            for found in contradictions(self._layers[row.layer].known.file(row.number) for row in rows)
            for one, other in combinations(found.keys, 2)
            if layer[one] != layer[other]
        ]

    def _where(self, row: _Row) -> str:
        return f"also {self._layers[row.layer].place.called}, {row.confidence} x"

    def _relevant(self, rows: list[_Row]) -> list[_Row]:
        """Bring what concerns the task to the front, or keep that alone: the level counts 2 for a rule and 1 for a mature
        pattern, full relevance 2 more, so that what fits the task comes before a rule that does not."""
        if not self._task.text and not self._task.paths:
            return [] if self._task.only else rows
        from instinct_git.core.relevance import (
            called_for,
            relevance,
        )  # its expressions cost; a session's start asks for none

        files = {row.key: self._layers[row.layer].known.file(row.number) for row in rows}
        meant = self._meant(rows)
        near = {**relevance(self._task.text, self._paths, files.values()), **meant}
        if self._task.only:
            called = called_for(self._task.text, self._paths, (files[key] for key in near)) | meant.keys()
            rows = [row for row in rows if row.key in called]
        return sorted(rows, key=lambda row: -((2 - row.rank) + 2 * near.get(row.key, 0.0)))

    def _meant(self, rows: Iterable[_Row]) -> dict[str, float]:
        """What is limited to a folder of the files in play is meant for them."""
        limited = ((row, self._layers[row.layer].known.limited.get(row.number)) for row in rows if self._paths)
        return {row.key: 1.0 for row, limits in limited if limits is not None and limits.paths}

    def _lowered(self, rows: list[_Row]) -> list[_Row]:
        """Put what cites something that has vanished, or what many sessions were told and none followed, to the end."""
        why: dict[str, str] = {}
        for layer in self._layers:
            found = judged.read(layer.space.place)
            why |= dict.fromkeys(found.sinks, "told often, never followed")
            why |= {key: f"cites {', '.join(gone) or 'a name'}, which is gone" for key, gone in found.stale.items()}
        if not why:
            return rows
        for row in rows:
            if row.key in why:
                self._also.setdefault(row.key, []).append(why[row.key])
        return [row for row in rows if row.key not in why] + [row for row in rows if row.key in why]


def _across(keys: Iterable[str]) -> list[tuple[str, str, str]]:
    """Return the preferences of several memories that want different values for one thing."""
    from itertools import combinations

    from instinct_git.core.contradictions import slot_of

    slots: dict[str, list[tuple[str, str]]] = {}
    for key in keys:
        slot = slot_of(key)
        if slot is not None:
            slots.setdefault(slot[0], []).append((key, slot[1]))
    return [
        (one, other, f"two values for {name}")
        for name, found in slots.items()
        for (one, value), (other, second) in combinations(found, 2)
        if value != second
    ]


def in_order(rows: Iterable[_Row]) -> list[_Row]:
    """Return rows as `ranking.in_order` has their files."""
    ordered = sorted(rows, key=lambda row: row.key)
    ordered.sort(key=lambda row: row.last_seen, reverse=True)
    ordered.sort(key=lambda row: (row.rank, -row.confidence))
    return ordered


def _awaiting(file: PatternFile, place: Place) -> Pattern:
    category = file.category or category_of(file.key)
    return as_pattern(file, file.confidence, place)._replace(
        because=MARK, category=category, level=file.level or LEVELS[0]
    )


def explained(found: Suggestions) -> list[tuple[str, str, int]]:
    """Return (key, what became of it, its tokens) of every mature pattern, in the order in which they were taken."""
    told = [(one.pattern, "told", found.costs.get(one.pattern, 0)) for one in found.patterns]
    left = [
        (key, BEYOND if n < found.beyond else NO_ROOM, found.costs.get(key, 0)) for n, key in enumerate(found.left_out)
    ]
    return told + left + [(one.pattern, one.why, one.cost) for one in found.unfit]

"""Finds what a session keeps doing: sequences of actions, failures with their remedy, preferences and combos. Pure.

Every key is made of action names and of tables, never of a person's or a model's words, a path or an argument. The same
transcripts give the same answer, whatever their order.

* **Sequences** ``seq:a->b->c``: two to `LONGEST` steps of one thread. Looks (`actions.LOOKS`), refused calls and calls
  that did not happen (failed, and not a check) may lie between; a run of one action is one step, and so is a run of
  edits and writes. More than `FAR` looks part two steps, and so does any look before a last edit: it rests on what was
  looked at. Three steps or more need ``min_support``; two steps happen by chance, and need one more, and so does what
  differs in nothing but its first or its last step from a sequence that is told.
* **Boring** is a sequence whose steps are all `actions.CHANGES`; one with a nameless step, or with a script ("run") first or last;
  one in which an edit follows what ends a piece of work (`actions.LANDS`): it begins the next;
  one that comes back to a step that is no check, or twice to a check; and one that ends in a change after a check or after a single step, for an edit follows
  everything. So a loop is told once, from the check: ``test->edit->test``, neither ``edit->test->edit`` nor
  ``test->edit``; and of steps that take turns (``edit->compile->test->edit->compile``) one order is told.
* **The report is small**: patterns are taken by support x steps (then the longer, then the key), at most
  `PER_SESSION` for a session. A part of a pattern that is told is told too only if it occurs twice as often; any
  other pattern only if at least half of its transitions are not told already.
* **Fixes** ``fix:<class>``: see `core.fixes`. **Preferences** ``pref:what=choice``: see `core.preferences`.
  **Combos** ``combo:a+b``: see `core.combos`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise

from instinct_git.core import combos
from instinct_git.core.actions import CHANGES, CHECKS, FILES, LANDS, LOOKS, NAMELESS, SEES
from instinct_git.core.corrections import refused
from instinct_git.core.dimensions import steps_of
from instinct_git.core.fixes import fixes
from instinct_git.core.preferences import preferences
from instinct_git.core.telling import combo_text, sequence_text, sequence_title
from instinct_git.core.threads import Learned, Occurrence, Spot, Step, Thread, all_threads, learned_of, threads_of
from instinct_git.core.transcript import Transcript

FAR = 8  # looks (reads, searches) between two steps of a sequence, at most
PER_SESSION = 12  # sequences told about one session, at most
LONGEST = 6  # steps in a sequence, at most
LONGEST_TURN = 8  # steps in a sequence that a person asks to remember, at most


@dataclass(frozen=True, slots=True)
class _Run:
    """Calls in a row that did the same: one step of a sequence."""

    action: str
    first: int
    last: int
    looks: int = 0
    """Looks right before it."""


def mine(transcripts: Sequence[Transcript], *, min_support: int = 2) -> list[Learned]:
    """The patterns of these sessions, sequences first, each group by support x steps, then key.

    ``min_support`` is the least number of occurrences of a sequence, over all sessions together. Fixes, preferences and
    combos have their own, stated with them. Actions are named as `actions.named` did, else by the table alone.
    """
    threads = all_threads(transcripts)
    sequences = _sequences(threads, max(1, min_support))
    return sequences + fixes(threads, sequences) + preferences(threads, refused(transcripts)) + _combos(threads)


# --- sequences ------------------------------------------------------------------------------------------------------


def _runs(steps: Sequence[Step]) -> list[_Run]:
    runs: list[_Run] = []
    looks = 0
    for step in steps:
        unfinished = step.failed is None and step.call.result != ""  # refused or interrupted
        looks += step.action in SEES
        if step.action in LOOKS or unfinished or (step.failed and step.action not in CHECKS):
            continue
        number, action = step.call.number, step.action
        before = runs[-1].action if runs else ""
        if action == before or {action, before} == FILES:
            runs[-1] = replace(runs[-1], action="edit" if action != before else action, last=number)
        else:
            runs.append(_Run(action, number, number, looks))
        looks = 0
    return runs


def _boring(steps: Sequence[str]) -> bool:
    returns = any(number > (2 if step in CHECKS else 1) for step, number in Counter(steps).items())
    idle_end = steps[-1] in CHANGES and (len(steps) == 2 or not CHECKS.isdisjoint(steps))
    vague = "run" in (steps[0], steps[-1]) or not NAMELESS.isdisjoint(steps)
    begins = any(before in LANDS and after in FILES for before, after in pairwise(steps))
    return returns or idle_end or vague or begins or set(steps) <= CHANGES


def _apart(window: Sequence[_Run]) -> bool:
    """True where the steps are not one deed: what comes after many looks, or a last edit after one, rests on these."""
    return any(run.looks > FAR for run in window[1:]) or (window[-1].action in FILES and window[-1].looks > 0)


def _windows(runs: Sequence[Sequence[_Run]], sizes: Iterable[int]) -> dict[tuple[str, ...], list[Spot]]:
    """Where every sequence of these sizes occurs, without overlap."""
    spots: dict[tuple[str, ...], list[Spot]] = defaultdict(list)
    for number, thread_runs in enumerate(runs):
        for size in sizes:
            for start in range(len(thread_runs) - size + 1):
                window = thread_runs[start : start + size]
                if _apart(window):
                    continue
                found = spots[tuple(run.action for run in window)]
                if not found or found[-1].thread != number or found[-1].start + size <= start:
                    # All but the last step end a run, the last begins one: the calls that stand next to each other.
                    found.append(Spot(number, start, (*(run.last for run in window[:-1]), window[-1].first)))
    return spots


def redone(transcripts: Sequence[Transcript], wanted: Iterable[tuple[str, ...]]) -> list[Learned]:
    """Where known sequences were done again, be it once, in the order of their keys."""
    threads = all_threads(transcripts)
    known = set(wanted)
    spots = _windows([_runs(thread.steps) for thread in threads], sorted({len(steps) for steps in known}))
    return [_sequence(steps, threads, spots[steps]) for steps in sorted(known & spots.keys())]


def whole(found: Sequence[Learned]) -> list[Learned]:
    """What was found, in the same order; a sequence that is mostly done as a part of one longer sequence that recurs here
    keeps only the occurrences that are not: a deed counts for the whole of what was done."""
    longer = [(steps_of(one.key), one) for one in found if len(steps_of(one.key)) > 2 and one.support > 1]
    kept = []
    for one in found:
        steps, spots = steps_of(one.key), one.occurrences
        for other, held in longer if steps else ():
            if len(steps) < len(other) and _part(steps, other):
                outside = _outside(one.occurrences, held)
                if 2 * len(outside) < len(one.occurrences):
                    spots = tuple(spot for spot in spots if spot in outside)
        kept.append(one if spots == one.occurrences else replace(one, occurrences=spots))
    return kept


def _outside(spots: Iterable[Occurrence], held: Learned) -> set[Occurrence]:
    """The occurrences that do not lie within one of a longer sequence."""
    ranges: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for spot in held.occurrences:
        ranges[spot.agent, spot.session].append((spot.calls[0], spot.calls[-1]))
    return {
        spot
        for spot in spots
        if not any(a <= spot.calls[0] and spot.calls[-1] <= b for a, b in ranges[spot.agent, spot.session])
    }


def _part(steps: tuple[str, ...], of: tuple[str, ...]) -> bool:
    return any(of[start : start + len(steps)] == steps for start in range(len(of) - len(steps) + 1))


def outward(transcripts: Sequence[Transcript], external: Callable[[str], bool], least: int) -> list[Learned]:
    """Work between two prompts with at least so many external steps, be it done once: the shortest sequence of the turn
    that holds them, unless it is boring or longer than `LONGEST_TURN`."""
    found: dict[tuple[str, ...], list[Spot]] = {}
    threads = all_threads(transcripts)
    for number, thread in enumerate(threads):
        runs, ends = _runs(thread.steps), sorted({prompt.after for prompt in thread.transcript.prompts})
        turns = [sum(end < run.first for end in ends) for run in runs]
        taken: set[int] = set()
        for size in range(least, LONGEST_TURN + 1):
            for start in range(len(runs) - size + 1):
                window = runs[start : start + size]
                steps = tuple(run.action for run in window)
                one_turn = turns[start] == turns[start + size - 1]
                if one_turn and turns[start] not in taken and sum(map(external, steps)) >= least and not _boring(steps):
                    taken.add(turns[start])
                    spot = Spot(number, start, (*(run.last for run in window[:-1]), window[-1].first))
                    found.setdefault(steps, []).append(spot)
    return [_sequence(steps, threads, spots) for steps, spots in found.items()]


def done_between(transcript: Transcript, first: int, last: int) -> Learned | None:
    """What the main conversation did from call `first` to call `last`, as one sequence; None where it is no sequence
    that a reader would want: a single step, more than `LONGEST_TURN`, or a boring one."""
    for thread in threads_of(transcript):
        steps = [step for step in thread.steps if first <= step.call.number <= last]
        runs = _runs(steps) if steps and not steps[0].call.thread else []
        names = tuple(run.action for run in runs)
        if 2 <= len(runs) <= LONGEST_TURN and not _boring(names):
            calls = (*(run.last for run in runs[:-1]), runs[-1].first)
            return _sequence(names, [thread], [Spot(0, 0, calls)])
    return None


def _sequence(steps: Sequence[str], threads: Sequence[Thread], spots: Sequence[Spot]) -> Learned:
    return learned_of("seq:" + "->".join(steps), sequence_title(steps), threads, spots, sequence_text(steps))


def _sequences(threads: Sequence[Thread], min_support: int) -> list[Learned]:
    spots = _windows([_runs(thread.steps) for thread in threads], range(2, LONGEST + 1))
    frequent = [
        (steps, found)
        for steps, found in spots.items()
        if len(found) >= min_support + (len(steps) == 2) and not _boring(steps)
    ]
    frequent.sort(key=lambda pair: (-len(pair[0]) * len(pair[1]), -len(pair[0]), pair[0]))
    return [_sequence(steps, threads, found) for steps, found in _told(frequent, threads, min_support)]


def _told(
    frequent: Iterable[tuple[tuple[str, ...], list[Spot]]], threads: Sequence[Thread], min_support: int
) -> Iterator[tuple[tuple[str, ...], list[Spot]]]:
    told: set[tuple[int, int]] = set()  # transitions: (thread, index of the run it starts from)
    room: Counter[str] = Counter()
    parts: dict[tuple[str, ...], int] = {}  # part of a told pattern -> the most support of such a pattern
    begun: set[tuple[str, ...]] = set()  # such parts that go on in it, and those that something comes before
    ended: set[tuple[str, ...]] = set()
    for steps, found in frequent:
        transitions = {(spot.thread, spot.start + offset) for spot in found for offset in range(len(steps) - 1)}
        sessions = {threads[spot.thread].transcript.session for spot in found}
        new = len(found) >= 2 * parts[steps] if steps in parts else 2 * len(transitions - told) >= len(transitions)
        turned = any(steps[turn:] + steps[:turn] in parts for turn in range(1, len(steps)))
        variant = len(steps) > 2 and (steps[:-1] in begun or steps[1:] in ended)
        chance = len(found) <= min_support and variant
        if not new or turned or chance or all(room[session] >= PER_SESSION for session in sessions):
            continue
        told |= transitions
        room.update(sessions)
        for first, end in combinations(range(len(steps) + 1), 2):
            part = steps[first:end]
            parts[part] = max(parts.get(part, 0), len(found))
            begun |= {part} if end < len(steps) else set()
            ended |= {part} if first else set()
        yield steps, found


# --- combos --------------------------------------------------------------------------------------------------------


def _combos(threads: Sequence[Thread]) -> list[Learned]:
    done = [
        [(step.action, step.call.number) for step in thread.steps if step.failed is not None or not step.call.result]
        for thread in threads
    ]
    return [
        learned_of(
            "combo:" + "+".join(one.actions),
            sequence_title(one.actions),
            threads,
            [Spot(number, 0, calls) for number, calls in one.occurrences],
            combo_text(one.actions),
        )
        for one in combos.find(done)
    ]

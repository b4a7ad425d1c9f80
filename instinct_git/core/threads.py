"""What a session did, thread by thread and by name, and the shape of what is learned from it. Values only."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from instinct_git.core.actions import name_of
from instinct_git.core.outcomes import failed
from instinct_git.core.transcript import ToolCall, Transcript


@dataclass(frozen=True, slots=True)
class Occurrence:
    """Where a pattern was seen: the session (the agent's own id), the agent, the day (YYYYMMDD) of its first call, the
    call numbers, and the agent's own id of the first call: it stays the same whichever part of a session is read."""

    session: str
    agent: str
    day: str
    calls: tuple[int, ...]
    anchor: str = ""


@dataclass(frozen=True, slots=True)
class Learned:
    """A pattern with its evidence: ``support`` occurrences (non-overlapping) in ``sessions`` different sessions."""

    key: str
    title: str
    support: int
    sessions: int
    occurrences: tuple[Occurrence, ...]
    text: str = ""
    """What it means, in a sentence or two; empty: the title says it all."""


@dataclass(frozen=True, slots=True)
class Step:
    """A tool call with its action and whether it failed (None: cannot be told, or refused)."""

    call: ToolCall
    action: str
    failed: bool | None


@dataclass(frozen=True, slots=True)
class Thread:
    """The calls of one session that came one after the other."""

    transcript: Transcript
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Spot:
    """An occurrence in the making: thread index, index of its first run, call numbers."""

    thread: int
    start: int
    calls: tuple[int, ...]


def all_threads(transcripts: Sequence[Transcript]) -> list[Thread]:
    """The threads of these sessions, in an order of their own."""
    ordered = sorted(transcripts, key=lambda one: (one.day, one.session, one.agent))
    return [thread for transcript in ordered for thread in threads_of(transcript)]


def threads_of(transcript: Transcript) -> Iterator[Thread]:
    """The threads of one session: what ran in parallel is read one by one."""
    steps: dict[str, list[Step]] = defaultdict(list)
    for call in transcript.calls:
        action = name_of(call)
        steps[call.thread].append(Step(call, action, failed(action, call.result, call.is_error)))
    for own in steps.values():
        yield Thread(transcript, tuple(own))


def learned_of(key: str, title: str, threads: Sequence[Thread], spots: Sequence[Spot], text: str = "") -> Learned:
    """A pattern out of the places where it was seen."""
    pairs = [(threads[spot.thread].transcript, spot.calls) for spot in spots]
    occurrences = tuple(_occurrence(one, calls) for one, calls in pairs)
    return Learned(key, title, len(pairs), len({(one.agent, one.session) for one, _ in pairs}), occurrences, text)


def _occurrence(transcript: Transcript, calls: tuple[int, ...]) -> Occurrence:
    first = transcript.calls[calls[0] - 1]  # calls are numbered from 1, in order
    return Occurrence(transcript.session, transcript.agent, first.day or transcript.day, calls, first.id)

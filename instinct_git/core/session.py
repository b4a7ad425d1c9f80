"""One session in sum: what it recorded, which patterns it moved, what it was told, what waits. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from instinct_git.core.model import FADED, LEVELS, Evidence, Policy
from instinct_git.core.pattern import PatternFile


class Known(NamedTuple):
    """One session, as hooks have seen it. Times are ISO 8601 in UTC, for this machine only."""

    session: str
    """The agent's own id."""
    agent: str = ""
    began: str = ""
    told: tuple[str, ...] = ()
    """Keys of what was suggested."""
    tokens: int = 0
    """What that took of the agent's context, about."""
    ended: str = ""
    end: tuple[str, ...] = ()
    """What was done when it ended, a line each."""


def next_step(policy: str) -> str:
    """Say what a person can run to move waiting evidence on, under a memory's `consolidate` setting."""
    if policy == "default-branch":
        return "`instinct record` commits it here; `instinct consolidate` on the default branch folds it"
    return "`instinct consolidate` folds it"


class Change(NamedTuple):
    """What a session did to one pattern: live confidence and the level it stands for, before and after."""

    key: str
    title: str
    before: int
    after: int
    level_before: str
    """new where nothing was known of it before."""
    level_after: str

    @property
    def rose(self) -> bool:
        """True for a pattern that reached a higher level, or was not known before."""
        order = ("new", FADED, *LEVELS)
        return order.index(self.level_after) > order.index(self.level_before)


class Summary(NamedTuple):
    """A session in sum."""

    session: str
    """The agent's id of it, or where no hook has seen it the code that its evidence carries."""
    agent: str
    began: str
    """Empty: no hook has seen it begin."""
    ended: str
    recorded: Mapping[str, int]
    """Pieces of evidence by kind."""
    changes: tuple[Change, ...]
    """Patterns that it moved, the strongest first."""
    risen: tuple[Change, ...]
    told: tuple[str, ...]
    """Keys of what was suggested to it, in order."""
    tokens: int
    """What that took, about."""
    waiting: str
    next_step: str
    candidates: tuple[str, ...] = ()
    """Keys that wait for a person's decision."""
    end: tuple[str, ...] = ()
    """What its end did, a line each."""


def changes(
    groups: Mapping[str, Sequence[Evidence]], files: Mapping[str, PatternFile], mine: Collection[str], policy: Policy
) -> tuple[Change, ...]:
    """Return what the evidence with these ids did to the patterns, the strongest first."""
    from instinct_git.core.confidence import fold_one  # a session's start, which reads this module too, folds nothing

    found = []
    for key, members in groups.items():
        rest = [one for one in members if one.id not in mine]
        if len(rest) == len(members):
            continue
        file = files.get(key)
        offset = file.offset if file else 0
        before, after = offset + fold_one(rest, policy).total, offset + fold_one(members, policy).total
        told = (str(one.extra["title"]) for one in members if one.extra.get("title"))
        title = (file.title if file else "") or next(told, "")
        start = _level(before, policy) if rest or offset else "new"  # its file may be of this very evidence
        found.append(Change(key, title, before, after, start, _level(after, policy)))
    return tuple(sorted(found, key=lambda one: (-one.after, one.key)))


def _level(confidence: int, policy: Policy) -> str:
    return policy.level(confidence) if confidence > 0 else FADED


def of_session(
    evidence: Iterable[Evidence], known: Known, codes: Collection[str], others: Collection[str]
) -> list[Evidence]:
    """Return the evidence of a session: what carries one of its codes, and what its agent wrote while it ran and carries no
    code of `others` (an MCP server does not know its agent's session)."""
    return [one for one in evidence if one.s in codes or (one.s not in others and _written_in(one, known))]


def _written_in(one: Evidence, known: Known) -> bool:
    timed = len(one.at) > len("2026-01-01")  # a committed container has the day alone
    agents = known.agent and one.by == known.agent
    return bool(
        agents and timed and known.began and known.began <= one.at and (not known.ended or one.at <= known.ended)
    )

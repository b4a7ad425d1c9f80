"""`learn` without a path: find the transcripts of this project, learn what is new, and note what was learned.

They are looked for in the agents' own places and in what the hooks have noted. What recurs shows over several sessions,
so the latest that are known are read along with what is new; an id that is known counts nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from instinct_git.bridges import places
from instinct_git.bridges.agents.table import Surroundings
from instinct_git.bridges.readers import opencode
from instinct_git.core.transcript import Prompt, Transcript
from instinct_git.errors import InstinctError
from instinct_git.operations.learning import HEARD, Gathered, LearnResult, Progress, learn
from instinct_git.operations.workspace import Workspace
from instinct_git.storage import learned
from instinct_git.storage.learned import Heard, Pointer, Project, Stamp

ALONG = 64 * 2**20
"""Bytes of files known before, the latest, that are read along with new ones."""
AT_ONCE = 128 * 2**20
"""Bytes of new files that are learned in one go, then noted as learned: a run that is stopped goes on from there, and
no more than this (and `ALONG`, or one file) is held in memory."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Which transcripts are meant."""

    agent: str = places.ANY
    since: str = ""
    """YYYY-MM-DD (UTC): only files changed on that day or later."""
    all: bool = False
    """Those too that were learned before."""

    def earliest(self) -> int:
        """Return `since` in ns since 1970, as files' times are told."""
        if not self.since:
            return 0
        try:
            day = datetime.strptime(self.since, "%Y-%m-%d").replace(tzinfo=UTC)
        except ValueError:
            raise InstinctError(f"{self.since!r} is no day", "write it as 2026-03-31") from None
        return int(day.timestamp()) * 10**9


@dataclass(slots=True)
class Found:
    """The transcripts of a project, in files."""

    new: dict[str, Stamp] = field(default_factory=dict)
    known: dict[str, Stamp] = field(default_factory=dict)
    """Learned before, and not changed since."""
    used_up: list[Pointer] = field(default_factory=list)

    def to_read(self) -> list[Path]:
        """Return what is new and what is read along, by time of change: of a call that was copied the first counts."""
        chosen, size = dict(self.new), 0
        for path, stamp in sorted(self.known.items(), key=lambda one: one[1][1], reverse=True) if self.new else ():
            size += stamp[0]
            if size > ALONG:
                break
            chosen[path] = stamp
        return [Path(path) for path in sorted(chosen, key=lambda path: (chosen[path][1], path))]

    def portions(self) -> Iterator[Found]:
        """Yield the new ones in portions of `AT_ONCE`, the oldest first; to each what was known, and the ones before."""
        known, portion, size = dict(self.known), dict[str, Stamp](), 0
        for path in sorted(self.new, key=lambda path: (self.new[path][1], path)):
            if portion and size + self.new[path][0] > AT_ONCE:
                yield Found(portion, dict(known))
                known |= portion
                portion, size = {}, 0
            portion[path] = self.new[path]
            size += self.new[path][0]
        yield Found(portion, known, self.used_up)


def learn_named(
    space: Workspace, paths: Sequence[Path], choice: Choice, *, dry_run: bool = False, progress: Progress | None = None
) -> LearnResult:
    """Learn from these files and folders, new or not; of the choice only the agent means anything here."""
    _refuse_unknown(choice.agent)
    if choice.since or choice.all:
        raise InstinctError(
            "`--since` and `--all` choose among the transcripts of this project", "leave the paths out, or the options"
        )
    for path in paths:
        if not path.exists():
            raise InstinctError(f"{path} does not exist", "name transcript files or folders of them")
    wanted = None if choice.agent == places.ANY else lambda one: one.agent == choice.agent
    return learn(space, paths, dry_run=dry_run, progress=progress, wanted=wanted)


def _refuse_unknown(agent: str) -> None:
    if agent not in (places.ANY, *places.AGENTS):
        raise InstinctError(f"no transcripts of {agent!r} are known", f"one of: {', '.join(places.AGENTS)}")


def learn_here(
    space: Workspace, folder: Path, choice: Choice, *, dry_run: bool = False, progress: Progress | None = None
) -> LearnResult:
    """Learn from the transcripts of the project around `folder`; `dry_run` writes nothing at all."""
    return learn_gathered(space, gather(space, folder, choice), dry_run=dry_run, progress=progress)


class Gathering(NamedTuple):
    """What there is to learn from."""

    project: Project
    found: Found
    looked: tuple[places.Place, ...]
    heard: tuple[Heard, ...] = ()
    """Prompts that hooks have kept; only a run that looks everywhere uses them up."""


def gather(space: Workspace, folder: Path, choice: Choice, told: Teller | None = None) -> Gathering:
    """Look for the transcripts of the project around `folder`; reads their beginnings, writes nothing."""
    _refuse_unknown(choice.agent)
    project = learned.project(space.place, folder)
    if project is None:
        raise InstinctError(
            "there is no project here whose transcripts could be meant",
            "name them: `instinct learn PATH`; or run this in a repository",
        )
    told = told or Teller()
    earliest, pointers = choice.earliest(), learned.spooled(project.spool)
    project = _with_gone(project, pointers, told)
    looked = looked_at(project, choice)
    if not looked:
        raise InstinctError(
            f"{choice.agent} has no place of its own for transcripts", "name them: `instinct learn PATH`"
        )
    search = _Search(project, choice, earliest, learned.known(space.place), told)
    for place in looked:
        for path in place.files():
            search.add(str(path))
    for pointer in pointers:
        search.follow(pointer)
    return Gathering(project, search.found, looked, tuple(_heard(project)) if choice == Choice() else ())


def looked_at(project: Project, choice: Choice) -> tuple[places.Place, ...]:
    """Return the agents' places that are meant."""
    here = Surroundings(None, Path.home(), os.environ)
    return tuple(one for one in places.places(here, project.roots) if choice.agent in (places.ANY, one.agent))


def learn_gathered(
    space: Workspace, gathering: Gathering, *, dry_run: bool = False, progress: Progress | None = None
) -> LearnResult:
    """Learn what was gathered, then note that it was: what is stopped before counts nothing twice, it is read again."""
    project, found, looked, heard = gathering
    done = LearnResult((), 0, 0, {}, 0)
    prompts = _prompts(heard, [*found.new, *found.known])
    for portion in [found] if dry_run else found.portions():
        more = learn(
            space, portion.to_read(), dry_run=dry_run, progress=progress, wanted=lambda one: _wanted(one, project),
            found=True, prompts=prompts,
        )  # fmt: skip
        done, prompts = done.then(more), []
        if not dry_run:
            learned.keep(space.place, portion.new)
            learned.drop([*portion.used_up, *heard])
    return replace(done, gathered=Gathered(len(found.new), len(found.known), _names(looked)))


def _heard(project: Project) -> list[Heard]:
    """The prompts that hooks have kept for this project, and those that lead to nothing; what a session in another folder
    of the clone has asked waits for the memory there."""
    return [one for one in learned.heard(project.spool) if project.holds(one.cwd) or not project.nearby(one.cwd or "/")]


def _prompts(heard: Iterable[Heard], told: Iterable[str]) -> list[Transcript]:
    """Sessions without calls, for prompts of sessions that no transcript here tells of (a file is named after its own)."""
    groups: dict[tuple[str, str], list[Heard]] = {}
    read = list(told)
    for one in heard:
        known = os.path.realpath(one.transcript) in read or any(one.session in path for path in read)
        if one.text and not known:
            groups.setdefault((one.agent, one.session), []).append(one)
    return [
        Transcript(
            agent, session, rows[0].day, rows[0].cwd, (), {}, tuple(Prompt(HEARD, row.text, 0, row.day) for row in rows)
        )
        for (agent, session), rows in groups.items()
    ]


def _wanted(transcript: Transcript, project: Project) -> bool:
    """A database holds the sessions of all projects; of other files the whole is told by its beginning."""
    return transcript.agent != opencode.AGENT or project.holds(transcript.cwd)


def _names(looked: Iterable[places.Place]) -> tuple[str, ...]:
    home = str(Path.home())
    return tuple(str(one.path).replace(home, "~", 1) if str(one.path).startswith(home + os.sep) else str(one.path)
                 for one in looked)  # fmt: skip


def _with_gone(project: Project, pointers: Iterable[Pointer], told: Teller) -> Project:
    """The project with working trees that have been removed since a hook noted a session there: git knows them no more,
    but the hook stood in this clone."""
    gone: list[str] = []
    for path in dict.fromkeys(one.transcript for one in pointers if one.transcript):
        tells = told(path, project)
        folders = [one for one in (tells.folders if tells else ()) if os.path.isabs(one) and not os.path.lexists(one)]
        gone += [one for one in folders if not project.nearby(one)]
    return project._replace(roots=tuple(dict.fromkeys((*project.roots, *gone))))


class Teller:
    """Says what a file tells about its sessions, and looks again only when it has changed."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[Stamp, tuple[str, ...], places.Told | None]] = {}

    def __call__(self, path: str, project: Project) -> places.Told | None:
        """Return what the file says; None where it is no transcript, somebody else's, or gone meanwhile."""
        try:
            now = places.stamp(Path(path))
            kept = self._kept.get(path)
            if kept is None or kept[:2] != (now, project.roots):
                kept = now, project.roots, places.told(Path(path), project.roots)
                self._kept[path] = kept
            return kept[2]
        except (OSError, ValueError):
            return None


class _Search:
    """Tells which files are the project's, and of them which are new."""

    def __init__(
        self, project: Project, choice: Choice, earliest: int, before: Mapping[str, Stamp], told: Teller
    ) -> None:
        self.project, self.choice, self.earliest, self.before, self.told = project, choice, earliest, before, told
        self.found = Found()

    def add(self, path: str) -> None:
        """Take a file in if it is a transcript of the project that is meant."""
        path = os.path.realpath(path)
        try:
            now = places.stamp(Path(path))
        except OSError:
            return
        if now[1] < self.earliest or path in self.found.new or path in self.found.known:
            return
        told = self.told(path, self.project)
        if told is None or self.choice.agent not in (places.ANY, told.agent):
            return
        if any(self.project.holds(folder) for folder in told.folders):
            same = self.before.get(path) == now and not self.choice.all
            (self.found.known if same else self.found.new)[path] = now

    def follow(self, pointer: Pointer) -> None:
        """Take in what a hook has noted; the pointer is used up unless somebody else is to learn from it."""
        path = os.path.realpath(pointer.transcript)
        if pointer.transcript:
            self.add(path)
        if not pointer.transcript or path in self.found.new or path in self.found.known or not self._waits(path):
            self.found.used_up.append(pointer)

    def _waits(self, path: str) -> bool:
        """True for a transcript that this run leaves out: by the choice, or because a session in another folder of the
        clone may belong to a memory there."""
        told = self.told(path, self.project)
        holds, nearby = self.project.holds, self.project.nearby
        return told is not None and any(holds(folder) or nearby(folder) for folder in told.folders)

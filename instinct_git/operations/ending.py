"""A session ends: learn what is new of it, and run the batches that the user has agreed to. Called detached, by a hook.

Each step stands alone: what one cannot do is put into words, and the others go on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from instinct_git.core.session import Known
from instinct_git.core.transcript import Transcript
from instinct_git.errors import InstinctError
from instinct_git.operations import batches, scanning
from instinct_git.operations.batches import BatchResult
from instinct_git.operations.entering import enter
from instinct_git.operations.gathering import Choice, learn_here
from instinct_git.operations.learning import LearnResult, own_words
from instinct_git.operations.workspace import Workspace
from instinct_git.storage import config, learned, sessions

OWN = ("global", "private")
"""Memories that are the user's alone: they consolidate at every session's end (law 6)."""
BESIDE = "subagents"
"""The folder beside a transcript in which Claude Code keeps those of its subagents."""


@dataclass(frozen=True, slots=True)
class Ended:
    """What a session's end brought."""

    learned: LearnResult | None = None
    batches: tuple[BatchResult, ...] = ()
    notices: tuple[str, ...] = ()
    """What was not done, and why."""

    def lines(self) -> tuple[str, ...]:
        """Say it, a line each."""
        found = []
        if self.learned is not None:
            asked = sum(one.new for one in self.learned.asked)
            found.append(
                f"learned: observations {self.learned.new}, answers {len(self.learned.reuse)}, requests {asked}"
            )
        found += [f"{one.verb}: commit {one.commit[:12]}" for one in self.batches if one.commit]
        return (*found, *self.notices)


def end(space: Workspace, folder: Path, others: Sequence[Workspace], session: str = "", agent: str = "") -> Ended:
    """End a session in `folder`; `others` are the further memories that were read there (the user's global one)."""
    if space.silent():
        return Ended(notices=("in CI nothing is recorded (`record_in_ci: true` in the config changes that)",))
    notices: list[str] = []
    found: LearnResult | None = None
    ran: list[BatchResult] = []
    try:
        found = learn_here(space, folder, Choice())
    except InstinctError as problem:
        notices.append(f"learn: {problem.message}")
    wanted = [(one, "consolidate") for one in (space, *others) if one.place.scope in OWN and one.place.exists()]
    wanted += [(space, verb) for verb in space.config().words("auto") if space.place.scope == "project"]
    for one, verb in wanted:
        try:
            why = _refused(one, verb)
            if why:
                notices.append(f"{verb}: {why}")
            else:
                ran.append(batches.run(one, verb))
        except InstinctError as problem:
            notices.append(f"{verb}: {problem.message}")
    done = Ended(found, tuple(ran), tuple(notices))
    if sessions.is_name(session) and space.place.exists():
        at = space.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        known = sessions.read(space.place, session) or Known(session, agent)
        sessions.keep(space.place, known._replace(ended=at, end=done.lines()))
    return done


def _refused(space: Workspace, verb: str) -> str:
    """Say why a batch is not run by itself; "" when it may be."""
    settings = space.config()
    if space.place.scope in OWN:
        return ""
    if not space.place.exists():
        return "there is no .instinct/ on this branch"
    if not settings["agent_commits"]:
        return "this project's `agent_commits: false` leaves commits to people"
    repository = space.repository()
    if repository is None or settings["consolidate"] != config.DEFAULT_BRANCH:
        return ""
    default = repository.default_branch(settings["default_branch"])[0]
    return "" if repository.branch() == default else f"this project folds on {default} alone"


def swarm(space: Workspace, folder: Path, session: str) -> int:
    """Scan what the subagents of a session handed back, once the last of a task has stopped; return how many observations
    are new. `learn` tells the same later, under the same ids."""
    project = learned.project(space.place, folder)
    if project is None or space.silent():
        return 0
    from instinct_git.bridges.transcripts import read_transcripts

    found: list[Transcript] = []
    for pointer in learned.spooled(project.spool):
        path = Path(pointer.transcript)
        if pointer.file.name != f"stop.{session}.json" or not pointer.transcript or not path.is_file():
            continue
        beside = path.with_suffix("") / BESIDE
        try:
            read = read_transcripts([path, *([beside] if beside.is_dir() else [])])
        except InstinctError:
            continue
        found += [own_words(one) for one in read if one.session == session and project.holds(one.cwd)]
    book, _ = space.read()
    told = scanning.reports(space, book, found, space.now().strftime("%Y-%m-%dT%H:%M:%SZ"))
    if told.evidence:
        enter(space, book, list(told.evidence), dry_run=False)
    return len(told.evidence)

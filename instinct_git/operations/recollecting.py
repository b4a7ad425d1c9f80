"""`learn --from-evidence`: mine what this clone has observed, session by session, in the order in which it was."""

from __future__ import annotations

from dataclasses import replace

from instinct_git.bridges import places
from instinct_git.core.entry import session_code
from instinct_git.core.noted_steps import Order, sessions_of
from instinct_git.errors import InstinctError
from instinct_git.operations.gathering import Choice
from instinct_git.operations.learning import LearnResult, learn_from
from instinct_git.operations.workspace import Workspace
from instinct_git.storage import learned


def learn_observed(space: Workspace, choice: Choice, *, dry_run: bool = False) -> LearnResult:
    """Learn from the observations of agents whose transcripts cannot be read; `choice.agent` means one source alone.

    What an agent with transcripts observes is left out: the same deed stands in its transcript, and would count twice.
    """
    if choice.all:
        raise InstinctError("`--all` chooses among transcripts", "with `--from-evidence` everything is read anyway")
    if choice.agent in places.KEEPERS:
        raise InstinctError(
            f"the transcripts of {choice.agent} can be read",
            f"learn from those: `instinct learn --agent {choice.agent}`",
        )
    choice.earliest()  # a wrong day is told here
    book, _ = space.read()
    orders = {one: Order(*told) for one, told in learned.written(space.place).items()}
    transcripts, skipped = sessions_of(
        book.everything,
        orders,
        lambda source: _meant(source, choice.agent),
        book.stands_for,
        choice.since.replace("-", ""),
    )
    codes = {session_code(one.agent, one.session): one.session for one in transcripts}
    done = learn_from(space, transcripts, dry_run=dry_run, sessions=codes)
    return replace(done, skipped={**done.skipped, **skipped}, from_evidence=True)


def _meant(source: str, agent: str) -> bool:
    return source == agent if agent != places.ANY else source not in places.KEEPERS

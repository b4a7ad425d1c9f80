"""`reject`: a person's no to a candidate or a proposal, with a reason. It is evidence; nobody may overlook it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from instinct_git.core import answers, candidates
from instinct_git.core.candidates import APPROVED, REJECTED
from instinct_git.core.evidence import day_of, iso_day
from instinct_git.core.keys import normalise_key
from instinct_git.errors import InstinctError, UnknownPattern
from instinct_git.operations.observing import Draft, evidence_of, one_line, put
from instinct_git.operations.workspace import Workspace, near, refuse_secrets
from instinct_git.storage import remembered

if TYPE_CHECKING:
    from instinct_git.core.consolidate import Book
    from instinct_git.storage.landings import Branch


@dataclass(frozen=True, slots=True)
class Rejected:
    """What `reject` did."""

    pattern: str
    kind: str
    """skill, procedure, rule or memory; empty: it is no candidate, and its branch does not tell."""
    why: str
    added: bool
    """False: it was rejected for that reason already."""
    left: int
    """Successes that are needed before it can be proposed again."""
    branches: tuple[str, ...]
    """The proposal's branches that are still there."""
    commands: tuple[str, ...]
    """What deletes them."""
    paused: tuple[str, ...]
    """Pauses of new candidates that this row of rejections has brought, in words."""


def reject(space: Workspace, key: str, reason: str, *, source: str = "") -> Rejected:
    """Say no to a candidate or a proposal. The reason is published with the evidence.

    The same reason again adds nothing. Raises InstinctError for what nobody proposes and for what has landed, and
    SecretFound for a reason that holds a secret.
    """
    reason = one_line(reason, "reason")
    if not reason:
        raise InstinctError("a rejection needs a reason", '--reason "too special for this project"')
    refuse_secrets([("the reason", reason)])
    book, _ = space.read()
    key = normalise_key(key)
    key = book.stands_for.get(key, key)
    branches = [one for one in _branches(space) if key in one.keys]
    kind = _rejectable(book, key, branches)
    members = book.groups.get(key, [])
    standing = answers.in_force(members)
    added = standing is None or not answers.rejected_for(members, reason)
    if added:
        known = sum(one.k == "succeeded" for one in members)
        extra = {"n": known, **({"kind": kind} if kind else {}), "why": reason}
        put(space, [evidence_of(space, Draft(key, source=source, kind=REJECTED, extra=extra))])
        remembered.forget(space.place, key)  # nothing awaits a review any more
        book, _ = space.read()
        standing = answers.in_force(book.groups[key])
    refs = tuple(one.ref for one in branches)
    left = standing[1] if standing else 0
    return Rejected(key, kind, reason, added, left, refs, deleting(branches), _paused(space, book, key))


def refuse_rejected(book: Book, key: str) -> None:
    """Raise InstinctError when a rejection stands: it may be proposed again after some more successes."""
    standing = answers.in_force(book.groups.get(book.stands_for.get(key, key), []))
    if standing is not None:
        rejection, left = standing
        raise InstinctError(
            f"{key!r} was rejected on {answers.said(rejection)}",
            f"it can be proposed again after {left} more success{'' if left == 1 else 'es'} "
            f"(`instinct feedback {shlex.quote(key)} --worked`); `instinct retract {rejection.id}` takes the rejection back",
        )


def deleting(branches: Iterable[Branch]) -> tuple[str, ...]:
    """Return the commands that delete a proposal's branches."""
    return tuple(
        f"git push {one.remote} --delete {one.name}" if one.remote else f"git branch -D {one.name}" for one in branches
    )


def _rejectable(book: Book, key: str, branches: Sequence[Branch]) -> str:
    """Return the kind that is rejected. Raises InstinctError for what nobody proposes, and for what has landed."""
    from instinct_git.operations.pooling import candidate_of

    given = candidates.answers(book.groups.get(key, ()))
    if given and given[-1].k == APPROVED:
        raise InstinctError(
            f"{key!r} was approved on {iso_day(day_of(given[-1].id))}",
            "revert what landed in the default branch; `instinct review` then books that as a rejection",
        )
    candidate = candidate_of(book, key)
    told = [answers.kind_in(one.name) for one in branches] + [str(one.extra.get("kind", "")) for one in given]
    if candidate is not None or branches or given:
        return next((kind for kind in told if kind), candidate.kind if candidate is not None else "")
    known = book.files.keys() | book.groups.keys()
    if key not in known:
        raise UnknownPattern(f"there is no pattern {key!r}", near(key, known))
    raise InstinctError(
        f"{key!r} is no candidate and nobody proposes it", f"`instinct retire {shlex.quote(key)}` silences a pattern"
    )


def _branches(space: Workspace) -> list[Branch]:
    from instinct_git.storage import landings

    repository = space.repository()
    if repository is None:
        return []
    _, revision = repository.default_branch(space.config()["default_branch"])
    base = repository.commit_of(revision)
    return landings.proposals(repository, base) if base else []


def _paused(space: Workspace, book: Book, key: str) -> tuple[str, ...]:
    from instinct_git.core.breakers import REJECTIONS
    from instinct_git.operations.breaking import state

    return tuple(one.words for one in state(space, book) if one.name == REJECTIONS and key in one.keys)

"""`doctor`: is anything stuck, and what would move it? Looks, and changes nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from instinct_git.core.report import waiting_words
from instinct_git.errors import InstinctError
from instinct_git.operations.workspace import Workspace
from instinct_git.storage import inbox, store
from instinct_git.storage.config import shown

FINE, NOTICE, PROBLEM = "ok", "notice", "problem"


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One thing that was looked at."""

    topic: str
    state: str
    """ok, notice or problem (exit 1)."""
    words: str
    hint: str = ""
    """What to do; empty: nothing."""


def diagnose(space: Workspace) -> list[Diagnosis]:
    """Look at everything that can keep evidence from being counted or a batch from being committed."""
    found = [*_where(space), *_home(space), *_config(space)]
    if found[-1].state != PROBLEM and space.place.exists():  # nothing else can be told without the settings
        found += [
            *_inbox(space),
            *_waiting(space),
            *_repository(space),
            *_breakers(space),
            *_notices(space),
            *_check(space),
        ]
    return found


def _where(space: Workspace) -> Iterator[Diagnosis]:
    place = space.place
    if place.ignored:
        yield Diagnosis("memory", NOTICE, place.ignored, "if it is yours, work in its folder, or `git init` there")
    if place.fell_back:
        yield Diagnosis(
            "memory", NOTICE, f"none here; your global one is used: {place.root}", "`instinct init` starts one here"
        )
    else:
        yield Diagnosis("memory", FINE, f"{place.root} ({place.scope})")


def _home(space: Workspace) -> Iterator[Diagnosis]:
    """Is the user's own folder there? Without it nothing global is read, and an agent would never notice."""
    home = space.place.home
    nearest = next(one for one in (home, *home.parents) if os.path.lexists(one))
    unread, mend = "your global memory is not read", "mend that, or set INSTINCT_HOME"
    readable = nearest == home and home.is_dir() and os.access(home, os.R_OK | os.X_OK)
    if readable and os.access(home, os.W_OK):
        return
    if readable:
        yield Diagnosis(
            "home", PROBLEM, f"{home} is read-only: your global memory is read, and takes nothing new", mend
        )
    elif nearest not in (home, home.parent):
        hint = "if it lies on another disk, mount it; else set INSTINCT_HOME"
        yield Diagnosis("home", PROBLEM, f"{home} is not there, nor is {home.parent}: {unread}", hint)
    elif nearest == home:
        yield Diagnosis("home", PROBLEM, f"{home} is no folder that you may read: {unread}", mend)
    elif not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        yield Diagnosis(
            "home", PROBLEM, f"{home} cannot be made: {nearest} is no folder that you may write: {unread}", mend
        )


def _config(space: Workspace) -> Iterator[Diagnosis]:
    try:
        settings = space.config()
    except InstinctError as problem:
        yield Diagnosis("config", PROBLEM, problem.message, problem.hint)
        return
    changed = (
        ", ".join(f"{name} = {shown(settings[name])}" for name in settings.set_in if name != "version") or "defaults"
    )
    yield Diagnosis("config", FINE, changed)


def _inbox(space: Workspace) -> Iterator[Diagnosis]:
    place = space.place
    target = inbox.writable(place)
    first = place.inboxes[0]
    if target is None:
        yield Diagnosis(
            "inbox", PROBLEM, "no inbox folder can be written", "let this user write to .git or $INSTINCT_HOME"
        )
    elif target != first:
        yield Diagnosis(
            "inbox", NOTICE, f"{first} cannot be written; evidence goes to {target}", "the next batch finds it there"
        )
    else:
        yield Diagnosis("inbox", FINE, str(target))
    from instinct_git.operations.verifying import inbox_secrets

    for one in inbox_secrets(space):
        hint = "take that line out, then run the batch again; if it was a real secret, renew it"
        yield Diagnosis("inbox", PROBLEM, f"{one.path}:{one.line}: {one.message}", hint)
    kept = sum(len(paths) for paths in store.recorded(place).values())
    if kept:
        yield Diagnosis("recorded", FINE, f"{kept} inbox files are kept until the default branch holds their evidence")


def _waiting(space: Workspace) -> Iterator[Diagnosis]:
    policy = space.config()["consolidate"]
    book, waiting = space.read()
    words, step = waiting_words(
        book.waiting, [book.everything.by_id[one] for one in book.tree_ids - book.ledger_ids], policy
    )
    yield Diagnosis("waiting", NOTICE if words else FINE, words or "nothing: all evidence is folded", step)
    for path, line in waiting.bad:
        yield Diagnosis(
            "inbox", PROBLEM, f"{path}: line {line.line} cannot be read ({line.reason})", "mend or move the file"
        )


def _repository(space: Workspace) -> Iterator[Diagnosis]:
    repository = space.repository()
    if repository is None:
        yield Diagnosis(
            "git", NOTICE, "no git repository: batches write files and commit nothing", "run `git init` there"
        )
        return
    try:
        repository.refuse_if_busy()
        yield Diagnosis("git", FINE, f"on {repository.branch()}: a batch can be committed")
    except InstinctError as problem:
        yield Diagnosis("git", PROBLEM, f"a batch would be refused: {problem.message}", problem.hint)
    try:
        repository.refuse_without_identity()
    except InstinctError as problem:
        yield Diagnosis("identity", PROBLEM, problem.message, problem.hint)
    configured = space.config()["default_branch"]
    name, revision = repository.default_branch(configured)
    doubt, hint = repository.default_branch_doubt(configured)
    words = f"{name} (read at {revision.removeprefix('refs/')})"
    yield Diagnosis("default branch", NOTICE if doubt else FINE, f"{words}; {doubt}" if doubt else words, hint)
    if store.interrupted(space.place):
        yield Diagnosis("batch", NOTICE, "an interrupted batch left files uncommitted", "the next batch commits them")
    named = {repository.filter_of(path) for path in (".instinct/ledger/x.jsonl", ".instinct/patterns/note/x.md")} - {""}
    if named:
        yield Diagnosis(
            "filter", NOTICE, f"git keeps files of .instinct through the filter {', '.join(sorted(named))}: without it, and in "
            "`check --history`, their evidence cannot be read",
            "add the line `* -filter` to .instinct/.gitattributes, unless you mean to encrypt them",
        )  # fmt: skip
    if repository.undone():
        yield Diagnosis(
            "last batch", NOTICE, "a commit made at the same moment took files of the last batch back in HEAD or the index",
            "nothing is lost: the next batch puts them back",
        )  # fmt: skip
    lock = repository.git_dir / "index.lock"
    if lock.exists():
        yield Diagnosis("git", NOTICE, f"{lock} exists: a git command runs", "if none does, remove that file yourself")


def _breakers(space: Workspace) -> Iterator[Diagnosis]:
    from instinct_git.operations.breaking import rows

    yield from (Diagnosis(*row) for row in rows(space))


def _notices(space: Workspace) -> Iterator[Diagnosis]:
    from instinct_git.operations.noticing import rows

    yield from (Diagnosis(*row) for row in rows(space))


def _check(space: Workspace) -> Iterator[Diagnosis]:
    from instinct_git.operations.verifying import check

    errors = [one for one in check(space) if one.severity == "error"]
    if errors:
        first = errors[0]
        yield Diagnosis(
            "check", PROBLEM, f"{len(errors)} errors, the first: {first.path}: {first.message}", "`instinct check`"
        )
    else:
        yield Diagnosis("check", FINE, "every number follows from the evidence")

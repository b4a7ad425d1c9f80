"""`move`: a project's memory between its repository and $INSTINCT_HOME, and after the project's id has changed.

The copy is complete before anything goes, and doing it again after a crash ends in the same state: evidence files have
names of their own, so nothing can be counted twice.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from instinct_git.core.batch import Batch, Change
from instinct_git.errors import InstinctError
from instinct_git.operations import batches, setup
from instinct_git.operations.workspace import Workspace
from instinct_git.storage import files, inbox, store
from instinct_git.storage.files import Place
from instinct_git.storage.git import Repository, init_repository

REPO = "repo"
WAYS = (REPO, files.PRIVATE)
_STATE = ("secret", "breakers.jsonl", "learned.json")


@dataclass(frozen=True, slots=True)
class Move:
    """What `move` did, or would do."""

    source: str
    target: str
    """The folder of the memory after it."""
    files: int
    """Files of the memory that are moved."""
    waiting: int
    """Pieces of evidence that go along in the inbox."""
    commit: str = ""
    """The project's commit that takes the memory out; empty: none was needed."""
    moved: bool = False
    """False: it was only shown."""
    why: str = ""
    """Why it is moved, where that is the id: what it was and what it is."""
    notices: tuple[str, ...] = ()


def move(space: Workspace, folder: Path, to: str, *, go: bool) -> Move:
    """Move the memory of the project around `folder` to `repo` (its own `.instinct/`) or `private` ($INSTINCT_HOME).

    A memory that is private already is moved to the project's present id. With `go` false nothing is written. Raises
    InstinctError where there is nothing to move, or something is in the way.
    """
    if to not in WAYS:
        raise InstinctError(f"a memory cannot be moved to {to!r}", "--to takes repo or private")
    project = _project(space, folder)
    private = files.private_root(project)
    if to == REPO:
        if private is None or project.exists():
            raise InstinctError(
                f"{project.root} has " + ("a memory of its own already" if project.exists() else "no private memory"),
                "`instinct doctor` says which memory is in use",
            )
        return _into_repository(space, project, private, go=go)
    if project.exists():
        return _into_home(space, project, go=go)
    if private is None:
        raise InstinctError(f"{project.root} has no memory that could be moved", "`instinct init --private` starts one")
    return _to_present_id(project, private, go=go)


def _project(space: Workspace, folder: Path) -> Place:
    top, git_dir, common_dir = files.find_repository(folder)
    if top is None:
        raise InstinctError(f"{folder} is not in a git repository", "go to the project whose memory it is")
    here = files.locate(folder, space.place.home)
    return (
        here if here.scope == files.PROJECT else Place(top, files.PROJECT, space.place.home, top, git_dir, common_dir)
    )


# --- the id -----------------------------------------------------------------------------------------------------------


def id_changed(project: Place) -> tuple[str, str]:
    """Return (the id that the private memory lies under, the one that a fresh clone would look under); two empty texts
    when they are the same or there is no private memory."""
    private = files.private_root(project)
    now = files.current_id(project)
    if private is None or private.name == now or not files.remote_url(project.common_dir or project.root):
        return "", ""
    return private.name, now


def words(old: str, new: str) -> str:
    """Say what a changed id means."""
    return f"this project was {old} and is {new} by its remote now: other clones do not find its private memory"


def _to_present_id(project: Place, private: Path, *, go: bool) -> Move:
    old, new = id_changed(project)
    if not new:
        raise InstinctError(f"the memory is private already, in {private}", "there is nothing to move")
    target = private.with_name(new)
    if os.path.lexists(target):
        raise InstinctError(
            f"{target} is there already: another memory has this project's present id",
            "look at both; `instinct share add` and evidence files can join them, nothing was moved",
        )
    place = files.at(private, files.PRIVATE, project.home)
    count, waiting = len(_files_of(private)), len(inbox.read(place).evidence)
    planned = Move(str(private), str(target), count, waiting, why=words(old, new))
    if not go:
        return planned
    with store.batch_lock(place):
        files.replace(private.with_name(f"{old}.moved"), new.encode("ascii"))
        os.rename(private, target)
    _note(project, new)
    return Move(str(private), str(target), count, waiting, moved=True, why=planned.why)


def _note(project: Place, identity: str) -> None:
    if project.common_dir is not None:
        files.replace(project.common_dir / "instinct" / "project-id", identity.encode("ascii"))


def note_former(space: Workspace, folder: Path) -> None:
    """Note in the clone under which id its private memory was found, so that it is found when the remote changes."""
    if space.place.scope != files.PRIVATE:
        return
    _, _, common_dir = files.find_repository(folder)
    if common_dir is None or files.noted_id(common_dir) or common_dir == space.place.common_dir:
        return
    try:
        files.replace(common_dir / "instinct" / "project-id", space.place.root.name.encode("ascii"))
    except OSError:
        return  # a read-only .git: the id is found anew each time


# --- between repository and home ------------------------------------------------------------------------------------


def _files_of(root: Path) -> list[str]:
    """Return the paths of a memory's files."""
    base = root / ".instinct"
    found = []
    for folder, _, _ in os.walk(base):
        inside = Path(folder).relative_to(root).as_posix()
        found += [f"{inside}/{name}" for name in files.regular_files(Path(folder)) if not name.endswith(".tmp")]
    return sorted(found)


def _copy(source: Place, target: Place, paths: list[str]) -> None:
    for path in paths:
        content = (source.root / path).read_bytes()
        there = target.root / path
        if not there.is_file() or there.read_bytes() != content:
            files.replace(there, content)


def _carry_state(source: Place, target: Place) -> None:
    """Take the inbox, the evidence that waits for a branch, notes and the secret along (the secret names sessions)."""
    for file in inbox.inbox_files(source):
        _take(file, target.state_dir / "inbox" / file.name)
    for paths in store.recorded(source).values():  # the other memory's branches hold none of it yet
        for file in paths:
            _take(file, target.state_dir / "inbox" / file.name)
    for file in sorted((source.state_dir / "notes").glob("*.jsonl")):
        _take(file, target.state_dir / "notes" / file.name)
    for name in _STATE:
        file, there = source.state_dir / name, target.state_dir / name
        if file.is_file() and not there.exists():
            files.replace(there, file.read_bytes())
            os.chmod(there, file.stat().st_mode & 0o7777)


def _take(file: Path, target: Path) -> None:
    files.replace(target, file.read_bytes())
    file.unlink()


def _into_home(space: Workspace, project: Place, *, go: bool) -> Move:
    """Copy the project's memory to $INSTINCT_HOME, then take it out of the working tree, in a commit where it was in one."""
    target = setup.private_target(project)
    paths = _files_of(project.root)
    waiting = len(inbox.read(project).evidence)
    repository = Repository(project)
    tracked = [path for path in repository.tracked() if path.startswith(".instinct/")]
    notices = (
        (
            "what was committed before stays in the project's history; other branches keep their .instinct/ until they merge this",
        )
        if tracked
        else ()
    )
    if not go:
        return Move(str(project.root / ".instinct"), str(target.root), len(paths), waiting, notices=notices)
    if tracked:
        repository.refuse_if_busy()
        repository.refuse_without_identity()
    with store.batch_lock(project):
        target.root.mkdir(parents=True, exist_ok=True)
        if target.top is None:
            init_repository(target.root)
            target = files.at(target.root, files.PRIVATE, project.home)
        _copy(project, target, paths)
        setup.note_id(project.root, always=True)
        _carry_state(project, target)
        batches.run(Workspace(target, space.now), "record")
        changes = tuple(Change(path, None) for path in paths)
        batch = Batch("move", subject="instinct: move this memory out of the repository", changes=changes)
        prepared = store.Prepared(batch, dict.fromkeys([*paths, *tracked], None))
        words = f"{batch.subject}\n\nInstinct-Batch: move\nInstinct-Format: 1\n"
        sha = store.apply(project, prepared, repository if tracked else None, words)
        _remove_empty(project.root / ".instinct")
    return Move(str(project.root / ".instinct"), str(target.root), len(paths), waiting, sha, True, notices=notices)


def _remove_empty(folder: Path) -> None:
    for one, _, _ in os.walk(folder, topdown=False):
        try:
            os.rmdir(one)
        except OSError:
            continue  # something of a person's is there


def _into_repository(space: Workspace, project: Place, private: Path, *, go: bool) -> Move:
    """Copy the private memory into the project's working tree; the private one is set aside with its history."""
    source = files.at(private, files.PRIVATE, project.home)
    paths, waiting = _files_of(private), len(inbox.read(source).evidence)
    aside = private.with_name(f"{private.name}.was-private")
    notices = (f"from the next batch on it is in the project's commits; its private history is kept in {aside}",)
    planned = Move(str(private), str(project.root / ".instinct"), len(paths), waiting, notices=notices)
    if os.path.lexists(aside):
        raise InstinctError(f"{aside} is there already, from an earlier move", "look at it, then delete or rename it")
    if not go:
        return planned
    setup.refuse_hopeless(project)
    with store.batch_lock(source):
        _copy(source, project, paths)
        _carry_state(source, project)
        os.rename(private, aside)
    return Move(planned.source, planned.target, len(paths), waiting, moved=True, notices=notices)

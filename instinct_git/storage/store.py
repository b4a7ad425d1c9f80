"""A memory's files as one snapshot, and a batch applied to them: written, committed, and only then taken from the inbox.

A crash between any two steps is harmless: what was written but not committed is named in a journal and rides in the
next batch, and evidence that is in the inbox and in the tree at once counts once (law 1).
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from instinct_git.core.batch import Batch, Change
from instinct_git.core.consolidate import Snapshot
from instinct_git.core.evidence import LEDGER, OBSERVATIONS, parse_container
from instinct_git.core.model import Evidence
from instinct_git.errors import InstinctError, RepositoryBusy
from instinct_git.storage import files, inbox
from instinct_git.storage.commits import COMMITTING
from instinct_git.storage.files import Place
from instinct_git.storage.git import Repository

LOCK_SECONDS = 150.0  # longer than the longest commit that is waited for
PATTERNS = ".instinct/patterns/"
CONFIG = ".instinct/config.yaml"
HALF_WRITTEN_SECONDS = 60.0
ASIDE = "aside"


def read(place: Place) -> tuple[Snapshot, inbox.Waiting]:
    """Read the whole memory from the working tree, and the inbox."""
    waiting = inbox.read(place)
    root = place.root
    try:
        patterns = {path: (root / path).read_bytes().decode("utf-8", "surrogateescape") for path in pattern_paths(root)}
        snapshot = Snapshot(patterns, _containers(root, OBSERVATIONS), _containers(root, LEDGER), waiting.evidence)
    except PermissionError as problem:
        raise InstinctError(
            f"{problem.filename} cannot be read: {problem.strerror}", "let this user read it, then run this again"
        ) from None
    return snapshot, waiting


def pattern_paths(root: Path) -> list[str]:
    """Return the paths of all pattern files below the memory's root."""
    base = str(root / PATTERNS)
    found = []
    for folder, _, _ in os.walk(base):
        names = files.regular_files(Path(folder))
        inside = os.path.relpath(folder, root).replace(os.sep, "/")
        found += [
            f"{inside}/{name}" for name in names if name.endswith(".md") and name[0] != "." and name != "README.md"
        ]
    return sorted(found)


def _containers(root: Path, below: str) -> dict[str, bytes]:
    return {path: (root / path).read_bytes() for path in files.container_paths(root, below)}


@contextmanager
def batch_lock(place: Place, seconds: float = LOCK_SECONDS) -> Iterator[None]:
    """Hold the one lock of this clone under which the inbox is drained, whichever worktree the batch runs in."""
    from filelock import FileLock, Timeout

    if os.environ.get(COMMITTING) == str(place.common_dir):
        raise RepositoryBusy(
            "a batch is being committed (this is one of its hooks)", "nothing to do: it takes all evidence"
        )
    try:
        place.state_dir.mkdir(parents=True, exist_ok=True)
        lock = FileLock(place.state_dir / "batch.lock")
        lock.acquire(timeout=seconds, poll_interval=0.01)  # short: who waits longest should not starve
    except Timeout:
        raise RepositoryBusy(
            f"another batch has been running in this clone for {seconds:g} seconds", "wait for it, then run this again"
        ) from None
    except OSError as problem:
        raise InstinctError(
            f"{place.state_dir} cannot be written: {problem.strerror}",
            "the evidence is kept; run the batch as a user who may write there",
        ) from None
    try:
        yield
    finally:
        lock.release()


def sweep(place: Place) -> None:
    """Remove what a killed batch left half-written. Call it under the batch lock: no other batch is at work then.

    Others may be writing into the inbox, `observations/` and the caches at this moment: there only old leftovers go.
    """
    for folder in (place.root / LEDGER, place.root / PATTERNS):
        for file in [*folder.glob("**/.*.tmp")]:
            file.unlink(missing_ok=True)
    private = (place.worktree_state_dir, place.state_dir, *recorded(place))
    ours = {place.root / path for path in _journal(place)}
    for folder in (place.root / OBSERVATIONS, *place.inboxes, *private):
        for file in [*folder.glob(".*.tmp")]:
            try:
                if files.finished_name(file) in ours or time.time() - file.stat().st_mtime > HALF_WRITTEN_SECONDS:
                    file.unlink()
            except FileNotFoundError:
                continue  # it has just been finished
    shutil.rmtree(place.worktree_state_dir / ASIDE, ignore_errors=True)
    for file in [*place.worktree_state_dir.glob("index.*.*")]:
        file.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class Prepared:
    """All that one commit will hold: a batch's own files, and what earlier runs left uncommitted."""

    batch: Batch
    contents: Mapping[str, bytes | None]
    """{path: content after the batch; None: removed}."""


def prepare(place: Place, batch: Batch, scaffolding: Iterable[str], repository: Repository | None) -> Prepared:
    """Return everything the commit will hold; nothing is written yet."""
    contents: dict[str, bytes | None] = {}
    if repository is not None:
        head = repository.head()
        known = repository.files_at(head, ".instinct") if head else {}
        if batch.changes and batch.verb in ("consolidate", "decay"):
            contents.update(_changed_config(place, repository, known))
        left = [
            *scaffolding,
            *files.container_paths(place.root, OBSERVATIONS),
            *files.container_paths(place.root, LEDGER),
        ]
        for path in [one for one in left if one not in known] + _journal(place):
            file = place.root / path
            contents[path] = file.read_bytes() if file.is_file() else None
    contents.update((change.path, change.content) for change in batch.changes)
    return Prepared(batch, contents)


def edits(place: Place, batch: Batch, repository: Repository | None) -> tuple[str, ...]:
    """Return the paths that a batch changes and in which a person has edits that are not committed yet: they go along."""
    wanted = [change.path for change in batch.changes if change.path.startswith(PATTERNS)]
    if repository is None or not (wanted or (batch.verb in ("consolidate", "decay") and batch.changes)):
        return ()
    changed, fresh = repository.differing("HEAD", ".instinct")
    yours = {*changed, *(path for path in fresh if path != CONFIG)} - set(_journal(place))  # an interrupted batch's own
    return tuple(path for path in (*wanted, CONFIG) if path in yours)


def _changed_config(place: Place, repository: Repository, known: Mapping[str, str]) -> dict[str, bytes]:
    """Return the config where it differs from HEAD's: numbers folded under it must be checkable in every clone."""
    file = place.root / CONFIG
    if CONFIG not in known or not file.is_file():
        return {}
    content = file.read_bytes()
    committed = repository.blobs([known[CONFIG]])[known[CONFIG]]
    return {} if content.replace(b"\r\n", b"\n") == committed else {CONFIG: content}


def _journal_path(place: Place) -> Path:
    return place.worktree_state_dir / "batch.json"


def _journal(place: Place) -> list[str]:
    """Return the paths that a batch wrote before it was interrupted."""
    try:
        listed = json.loads(_journal_path(place).read_text(encoding="utf-8"))
        return [path for path in listed if isinstance(path, str)]
    except (OSError, ValueError):
        return []


def owe(place: Place, paths: Iterable[str]) -> None:
    """Let the next commit take these paths along as they are in the working tree."""
    if owed := sorted({*_journal(place), *paths}):
        files.replace(_journal_path(place), json.dumps(owed).encode("utf-8"))


def interrupted(place: Place) -> bool:
    """True when a batch was stopped before its commit; the next one takes what it wrote."""
    return bool(_journal(place))


def apply(place: Place, prepared: Prepared, repository: Repository | None, message: str) -> str:
    """Write the batch and commit it; return the commit's id (empty without a repository or without a change).

    When the commit is refused, every file is put back as it was and the error goes on.
    """
    journal, owed = _journal_path(place), _journal(place)
    paths = list(prepared.contents)
    before = _Before(place)
    try:
        journal.parent.mkdir(parents=True, exist_ok=True)
        files.replace(journal, json.dumps(sorted({*paths, *owed})).encode("utf-8"))
        for change in sorted(prepared.batch.changes, key=_order):
            existed = before.keep(change.path)
            _write(place.root / change.path, change.content, new=not existed)
        sha = repository.commit(paths, message) if repository is not None and paths else ""
    except BaseException as problem:
        if before.put_back():
            _restore_journal(journal, owed)
        if isinstance(problem, OSError):
            raise InstinctError(
                f"the batch cannot be written: {problem.strerror or problem}",
                "nothing was changed and the evidence is kept; free space or mend permissions, then run it again",
            ) from None
        raise
    finally:
        before.forget()
    journal.unlink(missing_ok=True)
    return sha


def _order(change: Change) -> int:
    """Pattern files first: with its evidence in the ledger, a file that is not there would be one a person deleted.
    Removals last: what they remove stands in the new container by then."""
    if change.content is None:
        return 2
    return int(change.path.endswith(".jsonl"))


def _write(path: Path, content: bytes | None, *, new: bool) -> None:
    if content is None:
        path.unlink(missing_ok=True)
    elif new and path.suffix == ".jsonl":
        path.parent.mkdir(parents=True, exist_ok=True)
        files.create(path, content)  # evidence is synced: it leaves the inbox next
    else:
        files.replace(path, content)


class _Before:
    """A batch's files as they were. A second name keeps each, so that putting it back needs no space on a full disk."""

    def __init__(self, place: Place) -> None:
        self.root, self.folder = place.root, place.worktree_state_dir / ASIDE
        self.files: dict[str, Path | bytes | None] = {}

    def keep(self, path: str) -> bool:
        """Keep a file; False when there is none."""
        file = self.root / path
        if not file.is_file():
            self.files[path] = None
            return False
        aside = self.folder / str(len(self.files))
        try:
            self.folder.mkdir(exist_ok=True)
            os.link(file, aside)
            self.files[path] = aside
        except (OSError, NotImplementedError, AttributeError):
            self.files[path] = file.read_bytes()  # another file system, or one without hard links
        return True

    def put_back(self) -> bool:
        """Put every file back; False when one could not be."""
        whole = True
        for path, kept in self.files.items():
            try:
                if isinstance(kept, Path):
                    os.replace(kept, self.root / path)
                else:
                    _write(self.root / path, kept, new=False)
            except OSError:
                whole = False  # the journal still names the path, so the next batch settles it
        return whole

    def forget(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def _restore_journal(journal: Path, owed: list[str]) -> None:
    """Let the journal name what it named before: a person's later edit of one of our paths is not ours to commit."""
    try:
        if owed:
            files.replace(journal, json.dumps(owed).encode("utf-8"))
        else:
            journal.unlink(missing_ok=True)
    except OSError:
        pass  # it names too much, which only costs the next batch a look


# --- what has left the inbox ----------------------------------------------------------------------------------------


def drain(place: Place, waiting: inbox.Waiting, stem: str, sha: str) -> None:
    """Take the inbox files that a batch has put into the tree out of the inbox.

    With a commit they are kept in `recorded/` until the default branch holds their ids. A file with a line that cannot
    be read stays where it is: only a person can tell what that line was. So does one that cannot be moved (a full
    disk): the batch stands, and what is in the inbox and in the tree at once counts once.
    """
    damaged = {path for path, line in waiting.bad if not line.torn}
    leaving = [path for path in waiting.paths if path not in damaged]
    kept = place.state_dir / "recorded" / (stem or f"seen-{os.urandom(6).hex()}")
    for path in leaving:
        try:
            if place.common_dir is None:
                _keep_notes(place, [path])
                path.unlink(missing_ok=True)
                continue
            kept.mkdir(parents=True, exist_ok=True)
            _move(path, kept / path.name)
        except OSError:
            continue
    try:
        if kept.is_dir():
            files.replace(kept / "commit", sha.encode("ascii"))
    except OSError:
        pass  # then the ids alone tell whether a branch holds them


def _move(source: Path, target: Path) -> None:
    try:
        os.replace(source, target)
    except OSError as problem:
        if isinstance(problem, FileNotFoundError):
            raise
        files.replace(target, source.read_bytes())  # the fallback inbox may lie on another file system
        source.unlink()


def recorded(place: Place) -> dict[Path, list[Path]]:
    """Return {folder: its inbox files} of what was drained and is still kept."""
    base = place.state_dir / "recorded"
    if not base.is_dir():
        return {}
    return {folder: sorted(folder.glob("*.jsonl")) for folder in sorted(base.iterdir()) if folder.is_dir()}


def settle_recorded(place: Place, repository: Repository, default_revision: str) -> int:
    """Drop what the default branch holds; give back to the inbox what no branch holds any more (a reset, a deleted
    branch). Returns how many files were given back."""
    kept = recorded(place)
    if not kept:
        return 0
    tip = repository.commit_of(default_revision)
    at_default = ids_at(repository, tip) if tip else set()
    here: set[str] | None = None
    shas = {folder: _commit_of(folder) for folder in kept}
    held = repository.held(shas.values())
    back = 0
    for folder, paths in kept.items():
        ids = {one.id for path in paths for one in parse_container(path.read_bytes())[0]}
        if ids <= at_default:
            _keep_notes(place, paths)
            _forget(folder, paths)
            continue
        if here is None:
            here = _ids_here(place)
        if ids <= here or shas[folder] in held:
            continue
        for path in paths:
            target = place.inboxes[0] / path.name
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                _move(path, target)
            except OSError:
                continue  # it stays in `recorded/` for the next batch
            back += 1
        _forget(folder, [])
    return back


def forget_recorded(place: Place, stems: Collection[str]) -> None:
    """Drop what was drained into containers of these names: the remote has them."""
    for folder, paths in recorded(place).items():
        if folder.name in stems:
            _keep_notes(place, paths)
            _forget(folder, paths)


def _commit_of(folder: Path) -> str:
    try:
        return (folder / "commit").read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


def _keep_notes(place: Place, paths: Iterable[Path]) -> None:
    """Keep the files that hold notes: nobody else has a person's words."""
    for path in paths:
        if any(one.note for one in parse_container(path.read_bytes())[0]):
            kept = place.state_dir / "notes" / path.name
            kept.parent.mkdir(parents=True, exist_ok=True)
            _move(path, kept)


def noted(place: Place) -> list[Evidence]:
    """Return the evidence that this clone still has with its times and notes."""
    paths = [path for found in recorded(place).values() for path in found]
    paths += sorted((place.state_dir / "notes").glob("*.jsonl"))
    return [one for path in paths for one in parse_container(path.read_bytes())[0]]


def _forget(folder: Path, paths: Iterable[Path]) -> None:
    for path in [*paths, folder / "commit"]:
        path.unlink(missing_ok=True)
    try:
        folder.rmdir()
    except OSError:
        pass  # something else was put there; it is not ours to delete


def ids_at(repository: Repository, commit: str) -> set[str]:
    """Return the ids of all evidence at a commit."""
    listed = repository.files_at(commit, ".instinct")
    blobs = [
        blob for path, blob in listed.items() if path.startswith((OBSERVATIONS, LEDGER)) and path.endswith(".jsonl")
    ]
    return {one.id for data in repository.blobs(blobs).values() for one in parse_container(data)[0]}


def _ids_here(place: Place) -> set[str]:
    found = {**_containers(place.root, OBSERVATIONS), **_containers(place.root, LEDGER)}
    return {one.id for data in found.values() for one in parse_container(data)[0]}

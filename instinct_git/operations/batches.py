"""The batches: record, consolidate, decay and compact. Each is exactly one commit, or a plan when only asked to show it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from instinct_git.core import consolidate as plans
from instinct_git.core.batch import Batch, Moved
from instinct_git.core.caps import plan_gc
from instinct_git.core.compact import plan_compact
from instinct_git.core.evidence import OBSERVATIONS
from instinct_git.core.report import commit_message, waiting_words
from instinct_git.errors import InstinctError, SecretFound
from instinct_git.operations import judging
from instinct_git.operations.setup import scaffolding
from instinct_git.operations.workspace import Workspace, refuse_secrets
from instinct_git.storage import config, inbox, store
from instinct_git.storage.files import container_paths
from instinct_git.storage.git import Repository, init_repository

Edit = Callable[[plans.Book], tuple[str, str]]
"""From the memory as read to (path, new text) of one pattern file; raises InstinctError where there is nothing to edit."""


@dataclass(frozen=True, slots=True)
class BatchResult:
    """What a batch did, or would do."""

    verb: str
    """What was really done: record where the policy allows no more on this branch."""
    commit: str
    """The commit's id; empty: nothing to do, a dry run, `--no-commit`, or no git repository."""
    promoted_to_mature: int
    promoted_to_rule: int
    total: int
    """Patterns after the batch."""
    folded: int
    recorded: int
    decayed: int
    faded: tuple[str, ...]
    moved: tuple[Moved, ...]
    removed_by_person: tuple[str, ...]
    files: tuple[str, ...]
    """Paths the batch writes or removes."""
    notices: tuple[str, ...]
    published: str = ""
    """The evidence lines that a dry run of record would publish."""
    dry_run: bool = False
    gone: tuple[tuple[str, str], ...] = ()
    """(key, reason) of the files that `gc` removes or would remove."""
    edited: tuple[str, ...] = ()
    """Files with a person's uncommitted edits that are in the batch's commit, since it changes them too."""


def run(space: Workspace, verb: str, *, dry_run: bool = False, here: bool = False, no_commit: bool = False,
        days: int | None = None) -> BatchResult:  # fmt: skip
    """Run one batch under this clone's lock: read, plan, write, commit, then empty the inbox."""
    if not space.place.exists():
        if space.place.scope != "global":
            raise InstinctError(
                f"{space.place.root} has no .instinct/ here",
                "run `instinct init`, or switch to a branch that has it: what waits in this clone's inbox stays",
            )
        return _result(
            Batch(verb, notices=("there is no memory here, and your global one is empty: `instinct init` starts one",)),
            "",
        )
    if days is not None and days < 0:
        raise InstinctError(f"--days {days} is negative", "give the days without use, 90 by default")
    if dry_run:
        repository = space.repository()
        batch, _, published = _plan(space, verb, repository, here, days)
        edited = store.edits(space.place, batch, repository)
        return _result(batch, "", published=published, dry_run=True, edited=edited)
    if space.place.top is None and space.place.scope in ("global", "private", "shared") and not no_commit:
        init_repository(space.place.root)
        space = space.reopened()
    with store.batch_lock(space.place):
        return locked(space, verb, here=here, no_commit=no_commit, days=days)


def record_inbox(space: Workspace) -> int:
    """Commit the inbox as it is, without reading the rest of the memory, and return how many pieces of evidence left it.
    Call it under the batch lock."""
    repository = space.repository()
    if repository is None:
        return 0
    _ready(space, repository)
    store.sweep(space.place)
    waiting = inbox.read(space.place)
    book = plans.Book(plans.Snapshot({}, {}, {}, waiting.evidence))
    batch = plans.plan_record(book, inbox.new_stem(space.day()), share_notes=space.config()["share_notes"])
    sha = _commit(space, batch, repository)
    store.drain(space.place, waiting, batch.container, sha)
    return batch.recorded


def locked(space: Workspace, verb: str, *, here: bool, no_commit: bool, days: int | None) -> BatchResult:
    """Run one batch under the batch lock, which the caller holds."""
    repository = space.repository()
    committing = None if no_commit else repository
    if committing is not None:
        _ready(space, committing)
        store.settle_recorded(space.place, committing, _default_revision(space, committing))
    store.sweep(space.place)
    batch, waiting, _ = _plan(space, verb, repository, here, days)
    edited = store.edits(space.place, batch, committing)
    sha = _commit(space, batch, committing)
    store.drain(space.place, waiting, batch.container, sha)
    if space.place.top is None:
        batch = replace(
            batch, notices=(*batch.notices, "no git repository here: the files are written, nothing is committed")
        )
    if space.place.fell_back:
        where = f"there is no memory here: this was your global one, {space.place.root}"
        batch = replace(batch, notices=(*batch.notices, where))
    if batch.verb not in ("record", "compact"):
        judging.refresh(space, stale=batch.verb != "consolidate")
    bad = tuple(f"{path}: line {line.line} cannot be read ({line.reason})" for path, line in waiting.bad)
    return _result(replace(batch, notices=(*batch.notices, *bad)), sha, edited=edited)


def _ready(space: Workspace, repository: Repository) -> None:
    """Refuse where nothing may be committed; take up what somebody's commit undid of the last batch."""
    repository.refuse_if_busy()
    repository.refuse_without_identity()
    store.owe(space.place, repository.catch_up())


def _default_revision(space: Workspace, repository: Repository) -> str:
    return repository.default_branch(space.config()["default_branch"])[1]


def _plan(
    space: Workspace, verb: str, repository: Repository | None, here: bool, days: int | None
) -> tuple[Batch, inbox.Waiting, str]:
    settings = space.config()
    book, waiting = space.read()
    stem = inbox.new_stem(space.day())
    if verb == "compact":
        _refuse_off_default(space, repository, here, "ledger files are joined")
        return plan_compact(book, stem, space.now().date()), inbox.Waiting((), (), ()), ""
    if verb == "gc":
        _refuse_off_default(space, repository, here, "patterns are removed")
    notices: tuple[str, ...] = ()
    if verb != "record" and repository is not None and settings["consolidate"] == config.DEFAULT_BRANCH and not here:
        current, (default, _) = repository.branch(), repository.default_branch(settings["default_branch"])
        if current != default:
            verb, notices = "record", (
                f"policy `consolidate: default-branch`: on {current or 'a detached HEAD'} the evidence is only recorded; "
                f"{'decay' if days is not None else 'consolidate'} on {default} after the merge folds it (--here does it now)",
                *_doubt(space, repository),
            )  # fmt: skip
    batch = _planned(space, verb, book, stem, days)
    if verb != "record":
        from instinct_git.operations.comparing import new_and_alike

        notices += new_and_alike(space, book, [one.key for one in batch.moved if one.before is None])
    published = ""
    if verb == "record" and batch.changes and batch.changes[0].content is not None:
        published = batch.changes[0].content.decode("utf-8")
    notices += tuple(
        f"{path}: line {line.line} cannot be read ({line.reason}); the file is left alone"
        for path, lines in book.bad_lines.items() for line in lines
    )  # fmt: skip
    if verb == "record":
        unfolded = [book.everything.by_id[one] for one in book.tree_ids - book.ledger_ids] + list(book.waiting)
        words, step = waiting_words([], unfolded, settings["consolidate"])
        notices += (f"{words}: {step.rpartition('; ')[2]}",) if words else ()
    return replace(batch, notices=(*batch.notices, *notices)), waiting, published


def _planned(space: Workspace, verb: str, book: plans.Book, stem: str, days: int | None) -> Batch:
    settings, today = space.config(), space.now().date()
    policy = settings.policy
    if verb == "record":
        return plans.plan_record(book, stem, share_notes=settings["share_notes"])
    if verb == "decay":
        return plans.plan_decay(book, policy, stem, today, policy.decay_days if days is None else days)
    if verb == "gc":
        return plan_gc(book, policy, settings.caps, stem, today)
    return plans.plan_consolidate(book, policy, stem, today)


def _refuse_off_default(space: Workspace, repository: Repository | None, here: bool, what: str) -> None:
    if repository is None or here:
        return
    current, default = repository.branch(), repository.default_branch(space.config()["default_branch"])[0]
    if current != default:
        hint = f"run it on {default}, where no other branch joins the same files (--here does it on this one)"
        raise InstinctError(
            f"{what} on the default branch, {default}; this is {current or 'a detached HEAD'}",
            "; ".join((hint, *_doubt(space, repository))),
        )


def _doubt(space: Workspace, repository: Repository) -> tuple[str, ...]:
    """Return the words on a default branch that may be a leftover; nothing where it seems to be right."""
    doubt, hint = repository.default_branch_doubt(space.config()["default_branch"])
    return (f"{doubt}: {hint}",) if doubt else ()


def _commit(space: Workspace, batch: Batch, repository: Repository | None) -> str:
    prepared = store.prepare(space.place, batch, list(scaffolding()), repository)
    try:
        refuse_secrets((path, c.decode("utf-8", "replace")) for path, c in prepared.contents.items() if c is not None)
    except SecretFound as problem:
        raise _where_it_stands(space, problem) from None
    extra = [path for path in prepared.contents if path not in {change.path for change in batch.changes}]
    if not batch.subject and not extra:
        return ""
    return store.apply(space.place, prepared, repository, commit_message(batch, extra))


def _where_it_stands(space: Workspace, problem: SecretFound) -> SecretFound:
    """Return the refusal with the file that holds the text: the batch's own file was never written."""
    tree = [space.place.root / path for path in container_paths(space.place.root, OBSERVATIONS)]
    for path in [*inbox.inbox_files(space.place), *tree]:
        try:
            refuse_secrets([(str(path), path.read_text(encoding="utf-8", errors="replace"))])
        except SecretFound as found:
            return SecretFound(
                found.message, "take the line out of that file, then run the batch again; renew the secret"
            )
    return problem


def _result(batch: Batch, sha: str, *, published: str = "", dry_run: bool = False,
            edited: tuple[str, ...] = ()) -> BatchResult:  # fmt: skip
    goes = "would go" if dry_run else "went"
    yours = tuple(f"your edit of {path} {goes} into this commit" for path in edited)
    skipped = tuple(f"{f.path}{f':{f.line}' if f.line else ''}: {f.message}; left alone" for f in batch.skipped)
    removed = tuple(
        f"{key}: its file was deleted by a person and stays away (`instinct restore` brings it back)"
        for key in batch.removed_by_person
    )
    return BatchResult(
        batch.verb, sha, batch.promoted_to_mature, batch.promoted_to_rule, batch.total, batch.folded, batch.recorded,
        sum(m.before is not None and m.after < m.before for m in batch.moved) if batch.verb == "decay" else 0,
        batch.faded, batch.moved, batch.removed_by_person, tuple(change.path for change in batch.changes),
        (*batch.notices, *yours, *skipped, *removed), published, dry_run, batch.gone, edited,
    )  # fmt: skip


def change_file(space: Workspace, edit: Edit, subject: str, *, commit: bool = True) -> str:
    """Let `edit` change one pattern file for a person's verb (retire, restore) and commit exactly that file.

    It reads and writes under the lock: a batch that ends meanwhile is seen and not undone.
    """
    from instinct_git.core.batch import Change

    if not space.place.exists():
        edit(space.read()[0])  # says what is wrong, without leaving a lock where no memory is
    repository = space.repository() if commit else None
    with store.batch_lock(space.place):
        path, text = edit(space.read()[0])
        refuse_secrets([(path, text)])
        if repository is not None:
            _ready(space, repository)
        batch = Batch("edit", subject=subject, changes=(Change(path, text.encode("utf-8")),))
        prepared = store.prepare(space.place, batch, list(scaffolding()), repository)
        return store.apply(space.place, prepared, repository, commit_message(batch, []))

"""`resolve`: after a conflicted merge, rebase, cherry-pick or revert, settle what the design settles and name the rest.

Stages what is settled, so that the person's own `git commit` goes on; commits nothing and touches nothing outside
`.instinct`. The rules stand in `core/merge.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from instinct_git.core import merge
from instinct_git.core.consolidate import Book, removed_by_person
from instinct_git.core.document import parse
from instinct_git.core.merge import Versions
from instinct_git.core.model import Policy, Tally
from instinct_git.errors import InstinctError, InvalidDocument
from instinct_git.operations.workspace import Workspace
from instinct_git.storage import conflicts, inbox, store
from instinct_git.storage.conflicts import Operation, Unmerged
from instinct_git.storage.git import Repository


@dataclass(frozen=True, slots=True)
class Settled:
    """One conflict that is settled and staged."""

    path: str
    how: str


@dataclass(frozen=True, slots=True)
class Left:
    """One conflict that only a person can decide."""

    path: str
    why: str
    choices: tuple[str, ...]
    """What to do, one sentence a choice."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """What `resolve` settled, or would settle, and what it leaves."""

    operation: str
    """merge, rebase, cherry-pick or revert; empty: none that git knows of."""
    settled: tuple[Settled, ...] = ()
    left: tuple[Left, ...] = ()
    outside: tuple[str, ...] = ()
    """Conflicts outside `.instinct`, from the working tree's top: the person's alone."""
    next_step: str = ""
    """What to do now; empty: there was no conflict."""
    dry_run: bool = False

    @property
    def conflicts(self) -> int:
        """How many conflicts there were."""
        return len(self.settled) + len(self.left) + len(self.outside)


@dataclass(slots=True)
class _Plan:
    contents: dict[str, bytes | None] = field(default_factory=dict)
    new: dict[str, bytes] = field(default_factory=dict)
    marked: dict[str, bytes] = field(default_factory=dict)
    settled: list[Settled] = field(default_factory=list)
    left: list[Left] = field(default_factory=list)


def resolve(space: Workspace, *, dry_run: bool = False) -> Resolved:
    """Settle the conflicts below `.instinct` by the rules, stage them, and list what is left to a person."""
    repository = space.repository()
    if repository is None:
        return Resolved("", dry_run=dry_run)
    if dry_run:
        return _resolve(space, repository, dry_run=True)
    with store.batch_lock(space.place):
        return _resolve(space, repository, dry_run=False)


def _resolve(space: Workspace, repository: Repository, *, dry_run: bool) -> Resolved:
    running = conflicts.operation(repository)
    open_here, outside = conflicts.unmerged(repository)
    if not open_here and not outside:
        return Resolved(running.name, dry_run=dry_run)
    plan = _Plan()
    odd = {path for path, stages in open_here.items() if not stages.plain}
    containers = {path: stages for path, stages in open_here.items() if path not in odd and merge.is_container(path)}
    patterns = {path: stages for path, stages in open_here.items() if path not in odd and merge.is_pattern(path)}
    _containers(space, repository, containers, running, plan)
    _patterns(space, repository, patterns, running, plan)
    for path in sorted(open_here.keys() - containers.keys() - patterns.keys()):
        plan.left.append(Left(path, "instinct has no rule for this file", (f"edit it, then `git add -- {path}`",)))
    if not dry_run:
        conflicts.settle(repository, plan.contents, plan.new, plan.marked)
    left = sorted(plan.left, key=lambda one: one.path)
    go_on = f"`{running.go_on}`, then `instinct consolidate`"
    step = f"decide what is listed above, then {go_on}" if left or outside else go_on
    return Resolved(
        running.name, tuple(sorted(plan.settled, key=lambda one: one.path)), tuple(left), tuple(outside), step, dry_run
    )


# --- containers -----------------------------------------------------------------------------------------------------


def _containers(
    space: Workspace, repository: Repository, found: Mapping[str, Unmerged], running: Operation, plan: _Plan
) -> None:
    if not found:
        return
    versions = {
        path: Versions(*(None if one is None else merge.without_markers(one) for one in three))
        for path, three in conflicts.as_committed(repository, found, running.other).items()
    }
    elsewhere = _other_ids(repository) if merge.common_ids(versions) else set()
    kept = merge.settle_containers(versions, elsewhere)
    plan.contents.update(kept.contents)
    beside: dict[str, list[str]] = {}
    for path, content in kept.added:
        name = f"{path.rpartition('/')[0]}/{inbox.new_stem(space.day())}.jsonl"
        plan.new[name] = content
        beside.setdefault(path, []).append(name)
    for path, stays in kept.contents.items():
        how = "its evidence stays" if stays is not None else "it goes: other containers hold all its evidence"
        if path in beside:
            how += ", the other version's too, in " + " and ".join(beside[path])
        plan.settled.append(Settled(path, how))


def _other_ids(repository: Repository) -> set[str]:
    """Return the ids in the containers that are in the index without a conflict."""
    calm = [path for path, tag in repository.tracked().items() if tag == "H" and merge.is_container(path)]
    contents = [conflicts.read(repository, path) for path in calm]
    return {one for content in contents if content is not None for one in merge.evidence_ids(content)}


# --- pattern files --------------------------------------------------------------------------------------------------


def _patterns(
    space: Workspace, repository: Repository, found: Mapping[str, Unmerged], running: Operation, plan: _Plan
) -> None:
    staged = conflicts.versions(repository, found)
    versions = conflicts.as_committed(repository, found, running.other)
    gone = {path for path, three in versions.items() if three.ours is None and three.theirs is None}
    for path, three in versions.items():
        if path in gone:
            plan.left.append(_renamed_twice(path))
        elif three.ours is not None and three.theirs is not None:
            _both(repository, path, three, _policy(space), plan, staged[path])
        elif three.base is not None:
            if not _went_by_a_batch(space, repository, path, three, plan):
                plan.left.append(_deleted(path, here=three.ours is None))
        elif gone:
            plan.left.append(_one_of_two(path))
        else:
            _moved(repository, path, three, plan)


def _policy(space: Workspace) -> Policy:
    try:
        return space.config().policy
    except InstinctError:
        return Policy()  # the config is in conflict itself; the next consolidate sets the levels right


def _both(repository: Repository, path: str, three: Versions, policy: Policy, plan: _Plan, staged: Versions) -> None:
    """Settle a pattern file that both sides changed or added."""
    by_hand = f"edit the file, then `git add -- {path}`"
    try:
        texts = merge.settle_pattern(path, three, policy)
    except InvalidDocument as problem:
        plan.left.append(Left(path, problem.message, (by_hand,)))
        return
    text, still_open = conflicts.merge_lines(repository, texts)
    merged = text.encode("utf-8", "surrogateescape")
    if merge.edited(conflicts.read(repository, path), (*three, *staged), merged):
        plan.left.append(
            Left(path, "it was edited here since the merge stopped", (f"finish it, then `git add -- {path}`",))
        )
        return
    why = list(texts.undecided)
    if still_open:
        plan.marked[path] = merged
        why += [] if why else ["both sides changed the same lines of yours; the numbers are settled"]
        by_hand = f"choose between the conflict markers in the file, then `git add -- {path}`"
    elif not why:
        unreadable = merge.readable(path, text, texts.key)
        why += [unreadable] if unreadable else []
    if why:
        plan.left.append(Left(path, "; ".join(why), (by_hand,)))
        return
    plan.contents[path] = merged
    plan.settled.append(Settled(path, f"confidence {texts.confidence}, your lines of both sides"))


def _moved(repository: Repository, path: str, three: Versions, plan: _Plan) -> None:
    """Accept the place that git proposes for a file whose folder was renamed: the key inside is the identity."""
    content = three.theirs if three.ours is None else three.ours
    current = conflicts.read(repository, path)
    if content is None or (current is not None and merge.edited(current, three, content)):
        plan.left.append(
            Left(path, "it was edited here since the merge stopped", (f"finish it, then `git add -- {path}`",))
        )
        return
    plan.contents[path] = content
    plan.settled.append(Settled(path, "it stays where git has put it; the key inside tells the pattern"))


def _went_by_a_batch(space: Workspace, repository: Repository, path: str, three: Versions, plan: _Plan) -> bool:
    """Settle a file that a batch (decay, gc) removed on one side and that the other side changed: the evidence of both
    says whether anything is left of it. False where a person deleted it, which the batch's `faded` id tells."""
    content = three.theirs if three.ours is None else three.ours
    current = conflicts.read(repository, path)
    if content is None or (current is not None and merge.edited(current, three, content)):
        return False
    snapshot, _ = store.read(space.place)
    book = Book(replace(snapshot, patterns={name: text for name, text in snapshot.patterns.items() if name != path}))
    try:
        file = parse(content.decode("utf-8", "surrogateescape"), path)
    except InvalidDocument:
        return False
    tally = book.tallies(_policy(space)).get(file.key, Tally())
    if tally.last_faded is None or file.key in book.files or removed_by_person(book, file.key, tally):
        return False
    stays = tally.total + file.offset > 0 or bool(file.body.strip())
    plan.contents[path] = content if stays else None
    how = (
        "a batch removed it, and newer evidence brings it back"
        if stays
        else "a batch removed it, and nothing is left of it"
    )
    plan.settled.append(Settled(path, how))
    return True


def _deleted(path: str, *, here: bool) -> Left:
    why = "deleted on this side, changed on the other" if here else "changed on this side, deleted on the other"
    return Left(path, why, (
        f"keep it: `git add -- {path}`; then `instinct retire` is the durable way to say no to the pattern (better)",
        f"delete it: `git rm -- {path}`; its evidence is kept, a later merge can bring the file back",
    ))  # fmt: skip


def _renamed_twice(path: str) -> Left:
    return Left(
        path, "renamed to two names; the two new files are listed too", (f"the old name goes: `git rm -- {path}`",)
    )


def _one_of_two(path: str) -> Left:
    return Left(path, "both sides renamed one file, each to a name of its own", (
        f"keep this name: take out conflict markers, then `git add -- {path}`", f"keep the other: `git rm -- {path}`",
    ))  # fmt: skip

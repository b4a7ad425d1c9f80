"""`propose`: a branch with skills, procedures, rules or memories for review. The user's tree, index and HEAD do not move.

A proposal that is made again goes on its own branch as a further commit, never by force: what people have committed there
stays, and where the default branch has moved the commit joins it, so that the branch can be merged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from instinct_git.bridges.secrets import redact
from instinct_git.core import proposal, request
from instinct_git.core.request import Kept
from instinct_git.errors import GitFailed, InstinctError
from instinct_git.operations import batches, publishing, sharing
from instinct_git.operations.comparing import refuse_contradicted
from instinct_git.operations.observing import Draft as Observation
from instinct_git.operations.observing import evidence_of, put
from instinct_git.operations.planning import BRANCH_KINDS, Planned, diff_of, plan
from instinct_git.operations.workspace import Workspace, refuse_secrets
from instinct_git.storage import branches, files


class Item(NamedTuple):
    """One pattern of a proposal."""

    pattern: str
    kind: str
    name: str
    path: str
    """Where it lands, from the top of the repository."""
    text: str
    """The skill or procedure; of a rule or a memory the line that MEMORY.md gains, after its section."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A proposal made, or shown by a dry run."""

    pattern: str
    """The key; of a batch the first one."""
    kind: str
    """skill, procedure, rule, memory, or batch."""
    name: str
    branch: str
    base: str
    """Revision that the branch starts from."""
    commit: str
    """The branch's newest commit; empty in a dry run, and where there is nothing to propose."""
    files: tuple[str, ...]
    """From the top of the repository."""
    text: str
    review: tuple[str, ...]
    notices: tuple[str, ...] = ()
    dry_run: bool = False
    items: tuple[Item, ...] = ()
    title: str = ""
    body: str = ""
    """Text of the pull request."""
    diff: str = ""
    """Unified, of every file; filled by a dry run."""
    updated: bool = False
    """The branch was there, and has a further commit now."""
    unchanged: bool = False
    """Nothing was written: the branch, or the default branch, says it already."""
    kept: tuple[Kept, ...] = ()
    """Files that a person has changed: theirs stay."""
    remote: str = ""
    """Where the branch was pushed; empty: nowhere."""
    url: str = ""
    """The pull request, or the address where a person opens it."""
    how: str = ""
    """gh, glab, compare (a person opens it at `url`) or none; empty: no request was asked for."""
    approved_by: str = ""
    """Who approved it by a typed yes: then `branch` is the current one and nothing waits for a review."""


class Open(NamedTuple):
    """A branch of a proposal; whether it was merged is for `review` to say."""

    branch: str
    tip: str
    keys: tuple[str, ...]
    kind: str
    """skill, procedure, rule, memory or batch."""
    name: str
    remote: str
    """Empty: a local branch."""
    is_remote: bool


def propose(space: Workspace, keys: Sequence[str], *, kind: str = "", name: str = "", to: str = "", push: bool = False,
            pr: bool = False, remote: str = "", dry_run: bool = False, over: Sequence[str] = (),
            ask: Callable[[Proposal, str], str] | None = None) -> Proposal:  # fmt: skip
    """Propose patterns on a branch from the default branch's tip, as what `kind` says (default: as the candidate does).

    What contradicts another pattern, skill or rule waits until a person chooses: they settle it, or name the other in `over`.

    `to` is global or the name of a shared memory; `push` pushes the branch, `pr` also opens the pull request. `ask` is told
    the plan and the branch's name, and returns what a person typed, where the memory lets them approve on the spot.
    """
    if remote and not (push or pr):
        raise InstinctError("--remote says where to push, and nothing is pushed", "give --push or --pr, too")
    target = _target(space, to, dry_run=dry_run)
    chosen = refuse_contradicted(space, keys, over)
    why = ""
    if not (push or pr or dry_run):
        from instinct_git.operations.approving import approve

        done, why = approve(space, target, keys, kind, name, ask)
        if done is not None:
            return replace(done, notices=(*done.notices, *chosen))
    made = _propose(plan(space, target, keys, kind=kind, name=name), push=push, pr=pr, remote=remote, dry_run=dry_run)
    return replace(made, notices=(*made.notices, *chosen, *((why,) if why else ())))


def _propose(planned: Planned, *, push: bool, pr: bool, remote: str, dry_run: bool) -> Proposal:
    way = publishing.route(planned.repository, planned.revision, remote, pr=pr) if push or pr else None
    protocols = sharing.protocols(planned.target) if way is not None else ""
    result = described(planned, dry_run=dry_run)
    if dry_run or (not planned.files and not planned.tip) or (result.unchanged and way is None):
        return result
    sha = _commit(planned) if planned.files else planned.tip
    if way is not None:
        try:
            publishing.push(planned.repository, way, planned.branch, sha, protocols)
        except BaseException:
            if planned.files:
                branches.put_back(planned.repository, planned.branch, sha, planned.before)
            raise
        result = replace(result, remote=way.remote)
    if planned.files:
        _note(planned)
    result = replace(result, commit=sha)
    if way is None:
        return result
    opened = publishing.open_request(
        planned.repository, way, result.title, result.body, planned.branch, planned.base_name
    )
    return replace(result, url=opened.url, how=opened.how, notices=(*result.notices, *publishing.words(opened, way)))


def open_proposals(space: Workspace) -> list[Open]:
    """Return every branch of a proposal, local ones and those that were fetched."""
    repository = space.repository()
    if repository is None:
        return []
    return [
        Open(one.branch, one.tip, one.keys, one.kind, one.name, one.remote, bool(one.remote))
        for one in branches.refs(repository, BRANCH_KINDS)
    ]


def _target(space: Workspace, to: str, *, dry_run: bool) -> Workspace:
    """Return the memory that the proposal is made in."""
    if not to:
        return space
    target = sharing.target(space, to)
    repository = target.repository()
    if to == files.GLOBAL and (repository is None or not repository.head()):
        if dry_run:
            raise InstinctError("your global memory has no commit yet", "without --dry-run it is started first")
        from instinct_git.operations.setup import scaffold

        scaffold(target.place, "anywhere", "A memory of your own: one author.")
        batches.run(target.reopened(), "consolidate")
        target = target.reopened()
    return target


# --- the result -----------------------------------------------------------------------------------------------------


def described(planned: Planned, *, dry_run: bool = False) -> Proposal:
    """Return the result of a plan before anything is written."""
    draft, told = planned.draft, planned.draft.told
    paths = tuple(sorted(path for path, _ in planned.files))
    shown = paths or tuple(sorted(draft.files))
    body = redact(request.body(told, planned.branch, planned.base_name, shown, planned.kept))
    items = tuple(
        Item(one.key, one.kind, one.name, one.path, text) for one, text in zip(told, draft.texts, strict=True)
    )
    unchanged = not planned.files
    notices = list(draft.notices)
    if unchanged and planned.tip:
        notices.insert(0, f"nothing has changed: {planned.branch} proposes it already")
    elif unchanged:
        places = ", ".join(dict.fromkeys(one.path for one in told))
        notices.insert(0, f"there is nothing to propose: {planned.revision} has it already ({places})")
    notices += [f"{one.path}: a person has changed it; theirs is kept" for one in planned.kept]
    notices += [f"{one} proposes it too: close that one if this is to take its place" for one in planned.beside]
    return Proposal(
        told[0].key, planned.kind, planned.name, planned.branch, planned.revision, planned.tip if unchanged else "", paths,
        "\n".join(draft.texts), tuple(
            proposal.review_words(
                planned.branch, planned.revision, shown, [one.key for one in told if one.key not in draft.updates]
            )
        ),
        tuple(notices), dry_run, items, request.title(told, planned.name), body, diff_of(planned) if dry_run else "",
        bool(planned.tip) and not unchanged and planned.parents != (planned.base,), unchanged, planned.kept,
    )  # fmt: skip


def _commit(planned: Planned) -> str:
    refuse_secrets([("the commit message", request.message(planned.draft.told, planned.name))])
    planned.repository.refuse_without_identity()
    folder = branches.checked_out(planned.repository, planned.branch)
    if folder:
        raise InstinctError(
            f"the branch {planned.branch} is checked out in {folder}",
            "switch that working tree to another branch first",
        )
    words = request.message(planned.draft.told, planned.name)
    try:
        return branches.commit_on(
            planned.repository, planned.branch, planned.parents, dict(planned.files), words, start=planned.start,
            expected=planned.before,
        )  # fmt: skip
    except GitFailed as problem:
        raise branches.refuse_moved(problem, planned.branch) from None


def _note(planned: Planned) -> None:
    """Keep as evidence that a person was asked, with the successes (`n`) and rejections (`x`) known then: they tell the
    proposals and answers of one day apart. What has landed stays approved while a proposal brings it up to date."""
    made = []
    for told in planned.draft.told:
        if told.key in planned.draft.updates:
            continue
        kinds = [one.k for one in planned.book.groups.get(told.key, ())]
        counts = {"n": kinds.count("succeeded"), "x": kinds.count("rejected")}
        extra = {"kind": told.kind, **counts, "to": planned.branch}
        made.append(evidence_of(planned.target, Observation(told.key, kind="proposed", extra=extra)))
    put(planned.target, made)

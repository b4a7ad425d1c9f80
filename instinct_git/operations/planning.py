"""The plan of a proposal: what is asked for, under which name and branch, and what the branch's next commit changes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from instinct_git.core import kinds, proposal
from instinct_git.core.candidates import default_kind
from instinct_git.core.consolidate import Book
from instinct_git.core.keys import normalise_key
from instinct_git.core.request import Kept
from instinct_git.errors import InstinctError, NotInGit
from instinct_git.operations.drafting import Draft, Drafting, Wish, known, unified
from instinct_git.operations.pooling import candidate_of
from instinct_git.operations.workspace import Workspace
from instinct_git.storage import branches
from instinct_git.storage.branches import Blob
from instinct_git.storage.git import Repository

BATCH = "batch"
BRANCH_KINDS = (*kinds.KINDS, BATCH)
_LANDED = re.compile(r"skills/([^/]+)/SKILL\.md|memory/procedures/([^/]+)\.md")


@dataclass(frozen=True, slots=True)
class Planned:
    """Everything that a proposal will write."""

    source: Workspace
    target: Workspace
    repository: Repository
    book: Book
    draft: Draft
    base: str
    revision: str
    base_name: str
    kind: str
    name: str
    branch: str
    before: str = ""
    """Where the local branch stands; empty: there is none."""
    tip: str = ""
    """Where the branch stands, here or at a remote."""
    parents: tuple[str, ...] = ()
    start: str = ""
    files: tuple[tuple[str, Blob], ...] = ()
    """What the new commit changes in the tree `start`; none: nothing is to be committed."""
    kept: tuple[Kept, ...] = ()
    beside: tuple[str, ...] = ()
    """Other open branches that propose one of the same patterns."""


def plan(
    space: Workspace, target: Workspace, keys: Sequence[str], *, kind: str = "", name: str = "", here: bool = False
) -> Planned:
    """Plan a proposal. `here`: for the current branch's tip itself, without a branch of its own."""
    if kind and kind not in kinds.KINDS:
        raise InstinctError(f"there is no kind {kind!r}", "kinds: " + ", ".join(kinds.KINDS))
    repository = target.repository()
    if repository is None:
        raise NotInGit("a proposal is a branch, and there is no git repository here", "run `git init` there first")
    book, _ = space.read()
    asked = [book.stands_for.get(key, key) for key in map(normalise_key, keys)]
    twice = next((key for at, key in enumerate(asked) if key in asked[:at]), "")
    if twice or not asked:
        raise InstinctError(f"{twice!r} is named twice" if twice else "no pattern is named", "name each pattern once")
    base_name, revision = repository.default_branch(target.config()["default_branch"])
    base = repository.head() if here else repository.commit_of(revision)
    if not base:
        name = target.place.shared_name
        first = f"`instinct sync {name}` makes the first one" if name else "make the first commit"
        raise InstinctError("the default branch has no commit yet", f"{first}, then propose again")
    known_refs = [] if here else branches.refs(repository, BRANCH_KINDS)
    wishes, batch = _wishes(repository, book, asked, kind, name, base, known_refs)
    chosen, called = (BATCH, batch) if batch else (wishes[0].kind, wishes[0].name)
    branch = f"instinct/{chosen}/{called}"
    draft = Drafting(space, book, target, repository, base).make(wishes)
    label = revision.removeprefix("refs/heads/").removeprefix("refs/remotes/")
    planned = Planned(space, target, repository, book, draft, base, label, base_name, chosen, called, branch)
    if here:
        return replace(planned, start=base, files=tuple(draft.files.items()), kept=tuple(draft.kept))
    before, tip = _tips(repository, branch, known_refs)
    beside = dict.fromkeys(
        one.branch
        for one in known_refs
        if one.branch != branch and set(one.keys) & set(asked) and not branches.is_ancestor(repository, one.tip, base)
    )
    return _on_branch(replace(planned, before=before, tip=tip, beside=tuple(beside)))


def _wishes(
    repository: Repository, book: Book, keys: Sequence[str], kind: str, name: str, base: str,
    known_refs: Sequence[branches.Ref],
) -> tuple[list[Wish], str]:  # fmt: skip
    """Return what is proposed as what, under which name, and the batch's name; empty: one pattern alone."""
    if len(keys) == 1:
        title = known(book, keys[0]).title
        for one in known_refs:  # what is proposed already is proposed again under its own name
            same = one.keys == (keys[0],) and kind in ("", one.kind) and name in ("", one.name)
            if same and one.kind != BATCH and not branches.is_ancestor(repository, one.tip, base):
                return [Wish(keys[0], one.kind, one.name)], ""
        landed = _LANDED.fullmatch(known(book, keys[0]).graduated_to)
        if (
            landed is not None and not name and kind in ("", _of_folder(landed))
        ):  # what has landed is brought up to date
            return [Wish(keys[0], _of_folder(landed), landed[1] or landed[2])], ""
        return [Wish(keys[0], kind or kind_of(book, keys[0]), proposal.skill_name(keys[0], name, title))], ""
    wishes: list[Wish] = []
    for key in sorted(keys):  # the same patterns in any order are the same batch
        title, wanted = known(book, key).title, kind or kind_of(book, key)
        try:
            called = proposal.skill_name(key, "", title)
        except InstinctError:
            if wanted in (kinds.SKILL, kinds.PROCEDURE):
                raise InstinctError(
                    f"no name can be made of {key!r}", "propose it alone, with --name, such as --name release-checklist"
                ) from None
            called = ""  # a line of MEMORY.md needs none
        if wanted in (kinds.SKILL, kinds.PROCEDURE) and any(one[1:] == (wanted, called) for one in wishes):
            raise InstinctError(f"two patterns would be the {wanted} {called!r}", f"propose {key!r} alone, with --name")
        wishes.append(Wish(key, wanted, called))
    return wishes, _batch_name(wishes, name)


def _of_folder(landed: re.Match[str]) -> str:
    return kinds.SKILL if landed[1] else kinds.PROCEDURE


def _batch_name(wishes: Sequence[Wish], name: str) -> str:
    if name:
        return proposal.skill_name(wishes[0].key, name)
    first = next((one.name for one in wishes if one.name), "patterns")
    digest = hashlib.sha256("\n".join(one.key for one in wishes).encode("utf-8")).hexdigest()[:6]
    return f"{first[:40].strip('-')}-and-{len(wishes) - 1}-more-{digest}"


def kind_of(book: Book, key: str) -> str:
    """Return what a pattern is proposed as when nobody says: as the candidate says, else by its prefix."""
    candidate = candidate_of(book, key)
    return candidate.kind if candidate else default_kind(key, has_trigger_phrase=True)


def _tips(repository: Repository, branch: str, known_refs: Sequence[branches.Ref]) -> tuple[str, str]:
    """Return where the local branch stands, and the newest place of it, here or at a remote."""
    blocked = repository.branch_blocker(branch)
    if blocked:
        raise InstinctError(
            f"git cannot make the branch {branch} beside a branch {blocked}",
            f"rename that one: `git branch -m {blocked} {blocked.replace('/', '-')}-old`",
        )
    before = repository.commit_of(f"refs/heads/{branch}")
    tip = before
    for one in known_refs:
        if one.branch != branch or not one.remote or (tip and branches.is_ancestor(repository, one.tip, tip)):
            continue
        if tip and not branches.is_ancestor(repository, tip, one.tip):
            raise InstinctError(
                f"{branch} here and at {one.remote} have gone apart",
                f"merge them (`git switch {branch} && git merge {one.remote}/{branch}`), then propose again",
            )
        tip = one.tip
    return before, tip


def _on_branch(planned: Planned) -> Planned:
    """Say what the next commit of the branch is: its parents, and the files that it changes."""
    repository, base, tip, wanted = planned.repository, planned.base, planned.tip, dict(planned.draft.files)
    kept = tuple(planned.draft.kept)
    if not tip or branches.is_ancestor(repository, tip, base):
        return replace(
            planned, parents=(base,), start=base, files=tuple(wanted.items()), kept=kept, tip=tip if wanted else ""
        )
    held = branches.since(repository, base, tip)
    mine = {told.key for told in planned.draft.told}
    if held.keys and set(held.keys) != mine:
        raise InstinctError(
            f"the branch {planned.branch} proposes something else: {', '.join(held.keys)}", "--name takes another name"
        )
    if not wanted:  # it has landed, by a squash perhaps: the branch has done its work
        return replace(planned, kept=kept, tip="")
    if held.ours and held.base:
        same = branches.changed(repository, held.base, tip) == branches.ids(repository, wanted)
        touched = {} if held.base == base else branches.changed(repository, held.base, base)
        if same and not touched.keys() & wanted.keys():
            return replace(planned, kept=kept)
        parents = (tip,) if held.base == base else (tip, base)
        return replace(planned, parents=parents, start=base, files=tuple(wanted.items()), kept=kept)
    at_tip = branches.entries(repository, tip, wanted)
    new = branches.ids(repository, wanted)
    differ = {path: one for path, one in wanted.items() if at_tip.get(path) != new[path]}
    kept += tuple(
        Kept(path, unified(path, _content(repository, at_tip.get(path)), _decoded(one)))
        for path, one in differ.items() if path in held.theirs
    )  # fmt: skip
    rest = tuple((path, one) for path, one in differ.items() if path not in held.theirs)
    return replace(planned, parents=(tip,), start=tip, files=rest, kept=kept)


def diff_of(planned: Planned) -> str:
    """Return what the commit would change as a patch that `git apply` takes."""
    before = branches.entries(planned.repository, planned.start, dict(planned.files))
    parts = []
    for path, one in sorted(planned.files):
        old = before.get(path)
        head = f"diff --git a/{path} b/{path}\n" + ("" if old else f"new file mode {one.mode}\n")
        parts.append(
            head + unified(path, _content(planned.repository, old), _decoded(one), old="" if old else "/dev/null")
        )
    return "".join(parts)


def _content(repository: Repository, entry: tuple[str, str] | None) -> str:
    if entry is None or entry[0] == branches.FOLDER:
        return ""
    return repository.blobs([entry[1]])[entry[1]].decode("utf-8", "replace")


def _decoded(one: Blob) -> str:
    return one.content.decode("utf-8", "replace")

"""A person alone: what would be a pull request is shown on the terminal, and a typed yes commits it.

Only the person's own words approve: `ask` returns them, and there is no flag, no default and no tool in its place. It is
offered where the memory's `promotion` is direct, and in the user's own memories (global, private), where no team reviews.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from instinct_git.core import kinds, request
from instinct_git.core.answers import approval
from instinct_git.core.batch import Batch, Change
from instinct_git.core.evidence import LEDGER
from instinct_git.core.keys import slug
from instinct_git.errors import InstinctError
from instinct_git.operations.observing import put
from instinct_git.operations.planning import Planned, diff_of, plan
from instinct_git.operations.proposing import Proposal, described
from instinct_git.operations.setup import scaffolding
from instinct_git.operations.workspace import Workspace, refuse_secrets
from instinct_git.storage import config, files, store
from instinct_git.storage.branches import LINK, entries
from instinct_git.storage.git import Repository

YES, NO = "yes", "no"
OWN = (files.GLOBAL, files.PRIVATE)


def approve(space: Workspace, target: Workspace, keys: Sequence[str], kind: str, name: str,
            ask: Callable[[Proposal, str], str] | None) -> tuple[Proposal | None, str]:  # fmt: skip
    """Ask, and commit what was shown when the answer is a typed yes. None: it is to be proposed on a branch; then the
    text says why nobody was asked, where the memory's policy would have had it."""
    repository = target.repository()
    if repository is None or (target.config()["promotion"] != config.DIRECT and target.place.scope not in OWN):
        return None, ""
    if ask is None:
        return None, "only proposed: without a terminal nobody can be asked for the yes that commits it"
    default, current = repository.default_branch(target.config()["default_branch"])[0], repository.branch()
    if current != default:
        return None, f"only proposed: this is {current or 'a detached HEAD'}, and a promotion is committed on {default}"
    planned = plan(space, target, keys, kind=kind, name=name, here=True)
    shown = _shown(planned)
    if not planned.files:
        return shown, ""
    answer = ask(shown, default).strip().casefold()
    if answer == NO:
        return replace(shown, unchanged=True, notices=(*shown.notices, "nothing was written")), ""
    if answer != YES:
        return None, ""
    sha = _commit(planned, lambda: plan(space, target, keys, kind=kind, name=name, here=True))
    by = f"human:{slug(repository.ask('config', 'user.name').text) or 'unknown'}"
    put(target, [
        approval(one.key, sha, target.day(), by, kinds.path_of(one.kind, one.name), one.kind) for one in planned.draft.told
    ])  # fmt: skip
    return replace(shown, commit=sha, dry_run=False, diff="", approved_by=by), ""


def _shown(planned: Planned) -> Proposal:
    one = replace(described(planned, dry_run=True), branch=planned.base_name, review=())
    if planned.files:
        return one
    return replace(one, dry_run=False)


def _commit(planned: Planned, again: Callable[[], Planned]) -> str:
    """Commit exactly the files that were shown, by the recipe of every batch."""
    place, repository = planned.target.place, planned.repository
    with store.batch_lock(place):
        repository.refuse_if_busy()
        repository.refuse_without_identity()
        store.owe(place, repository.catch_up())
        now = again()
        if diff_of(now) != diff_of(planned):
            raise InstinctError("something has changed since it was shown", "nothing was written; look at it again")
        wanted = {path: one for path, one in planned.files if not _rides_along(planned, path)}
        _refuse_edited(repository, [*wanted])
        message = request.message(planned.draft.told, planned.name, approved=True)
        refuse_secrets([("the commit message", message)])
        links = {path: one for path, one in wanted.items() if one.mode == LINK}
        changes = tuple(
            Change(_below(repository, path), one.content) for path, one in wanted.items() if path not in links
        )
        batch = Batch("edit", subject=message.partition("\n")[0], changes=changes)
        prepared = store.prepare(place, batch, list(scaffolding()), repository)
        named = {_below(repository, path): one.content for path, one in links.items()}
        prepared = replace(prepared, contents={**prepared.contents, **named})
        made: list[str] = []
        try:
            for path, one in links.items():
                files.link(repository.top / path, one.content.decode("utf-8"))
                made.append(path)
            return store.apply(place, prepared, repository, message)
        except BaseException:
            for path in made:
                (repository.top / path).unlink(missing_ok=True)
            raise


def _rides_along(planned: Planned, path: str) -> bool:
    """True for what every batch takes along by itself: the scaffolding, and evidence that is written and not committed."""
    own = path.removeprefix(planned.repository.prefix)
    same = planned.source.place.root == planned.target.place.root
    return own in scaffolding() or (same and own.startswith(LEDGER))


def _below(repository: Repository, path: str) -> str:
    """Return a path from the top as a memory path."""
    if not path.startswith(repository.prefix):
        raise InstinctError(
            f"{path} lies outside this memory's folder", "propose it on a branch: answer with anything but yes or no"
        )
    return path.removeprefix(repository.prefix)


def _refuse_edited(repository: Repository, paths: Sequence[str]) -> None:
    """Refuse where the working tree or the index has a version of its own: a person's edit is never committed for them."""
    out = repository.must("status", "--porcelain", "-z", "--untracked-files=all", "--no-renames", "--", *paths).out
    edited = [entry[3:] for entry in out.decode("utf-8", "surrogateescape").split("\0") if entry]
    at_head = entries(repository, "HEAD", paths)
    edited += [path for path in paths if path not in at_head and (repository.top / path).is_file()]
    if edited:
        raise InstinctError(
            f"{edited[0]} has changes that are not committed",
            "commit or put them away first, then run it again; nothing was written",
        )

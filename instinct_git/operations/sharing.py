"""`share`: memories of teams, and the user's own on several machines, through ordinary git repositories."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from instinct_git.bridges import forge
from instinct_git.core import address
from instinct_git.core.address import Address
from instinct_git.errors import InstinctError
from instinct_git.operations import publishing
from instinct_git.operations.diagnosing import FINE, NOTICE, Diagnosis
from instinct_git.operations.workspace import Workspace
from instinct_git.storage import branches, files, git, inbox, incoming, shared
from instinct_git.storage.git import Repository, Result
from instinct_git.storage.shared import Share

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}[a-z0-9]|[a-z0-9]")
_ID = re.compile("[0-9a-f]{12}")
_RESERVED = (files.PROJECT, files.PRIVATE, files.SHARED, "con", "prn", "aux", "nul")


@dataclass(frozen=True, slots=True)
class Sharing:
    """The state of one shared memory in this home."""

    name: str
    url: str
    """Without user names and passwords."""
    branch: str
    readonly: bool
    require: str
    patterns: int
    waiting: int
    """Pieces of evidence in the inbox."""
    ahead: int
    """Commits that the remote does not have."""
    fetched: str
    """When the remote was last reached, ISO 8601 UTC."""
    age: str
    """The same in words, such as `3 days ago`."""
    conflicts: tuple[str, ...] = ()
    """Memory paths of which a person's version waits beside the memory."""
    problem: str = ""
    """Why it is not read along; empty: it is."""
    root: str = ""


def add(space: Workspace, name: str, url: str, *, readonly: bool = False, branch: str = "", require: str = "",
        depth: int = 0, partial: bool = False) -> Sharing:  # fmt: skip
    """Clone a team's memory to $INSTINCT_HOME/shared/NAME, or give the user's own (`global`) a remote.

    An empty repository is started. The same NAME and URL again changes the options. Raises InstinctError, with nothing
    left behind, for an address that is not taken and for a repository that holds no memory, or one that is refused.
    """
    home = space.place.home
    _check_options(name, require, branch, depth)
    where, url = _address(url)
    known = shared.read(home, name)
    if known is not None:
        return _again(space, known, url, replace_with=(readonly, require, branch))
    if name == files.GLOBAL:
        from instinct_git.operations.syncing import connect_global

        connect_global(space, Share(name, url, branch, readonly, require), where)
        return state(space, name)
    root = shared.root_of(home, name)
    if os.path.lexists(root):
        raise InstinctError(f"{root} is there already, and was not made by `share add`", "move it away, then try again")
    temporary, done = shared.clone(home, Share(name, url, branch), where, depth=depth, partial=partial)
    if done.code:
        raise refused(done, f"{address.shown(url)}", "clone")
    try:
        share = _examined(space, temporary, Share(name, url, branch, readonly, require))
    except BaseException:
        shared.removed(temporary)
        raise
    shared.moved_in(temporary, root)
    shared.write(home, share)
    return state(space, name)


def _check_options(name: str, require: str, branch: str, depth: int) -> None:
    if not _NAME.fullmatch(name) or name in _RESERVED or ".." in name or name.endswith(".lock"):
        raise InstinctError(
            f"{name!r} is no name of a shared memory", "lower case letters, digits, hyphens: such as team"
        )
    if require not in shared.REQUIRE:
        raise InstinctError(f"there is no requirement {require!r}", "--require takes signed or approved")
    if branch.startswith("-") or ".." in branch or any(char.isspace() or char in ":^~?*[\\" for char in branch):
        raise InstinctError(f"{branch!r} is no name of a branch", "--branch main")
    if depth < 0:
        raise InstinctError(f"--depth {depth} is negative", "0: the whole history")


def _address(url: str) -> tuple[Address, str]:
    """Return the address as checked, and as it is kept: a path must lead to the same place from everywhere."""
    where = address.checked(url)
    if not where.local:
        return where, where.url
    return where, os.path.normpath(Path(where.url).expanduser().absolute())


def _again(space: Workspace, known: Share, url: str, *, replace_with: tuple[bool, str, str]) -> Sharing:
    readonly, require, branch = replace_with
    if url != known.url:
        raise InstinctError(
            f"{known.name} is shared from {address.shown(known.url)} already",
            f"take another name, or `instinct share remove {known.name}` first",
        )
    if branch and branch != known.branch:
        raise InstinctError(
            f"{known.name} is read from its branch {known.branch}",
            f"`instinct share remove {known.name}`, then add it anew",
        )
    shared.write(space.place.home, known._replace(readonly=readonly, require=require))
    _sign(Repository(shared.place_of(space.place.home, known.name)), require)
    return state(space, known.name)


def _sign(repository: Repository, require: str) -> None:
    """Let what we commit be signed where only signed commits are taken."""
    if require == files.SIGNED:
        repository.must("config", "commit.gpgsign", "true")


def _examined(space: Workspace, folder: Path, share: Share) -> Share:
    """Look at a fresh clone; check out its memory, or start one in an empty repository."""
    repository = Repository(files.at(folder, files.SHARED, space.place.home))
    branch = share.branch or shared.remote_branch(repository)
    tip = repository.commit_of(f"refs/remotes/{shared.REMOTE}/{branch}")
    share = share._replace(branch=branch, tip=tip, fetched=_stamp(space))
    if not tip and repository.ask("for-each-ref", "--count=1", f"refs/remotes/{shared.REMOTE}").text:
        raise InstinctError(
            f"{address.shown(share.url)} has no branch {branch or 'of its own'}", "--branch NAME names one"
        )
    shared.prepare(repository)
    _sign(repository, share.require)
    if tip:
        examine(repository, share, "", tip)
        # What is shared is the default branch of this clone: proposals start there.
        repository.must("symbolic-ref", f"refs/remotes/{shared.REMOTE}/HEAD", shared.remote_ref(share))
        for ref in (f"refs/heads/{branch}", shared.base_ref(share)):
            repository.must("update-ref", ref, tip)
        repository.must("symbolic-ref", "HEAD", f"refs/heads/{branch}")
        repository.must("read-tree", "-m", "-u", tip)
    else:
        repository.must("symbolic-ref", "HEAD", f"refs/heads/{branch}")
        start(repository)
    return share


def start(repository: Repository) -> None:
    """Write the scaffolding of a shared memory that is still empty; the first sync commits it."""
    from instinct_git.operations.setup import scaffold

    scaffold(repository.place, "default-branch", "Chosen because several people share this memory.")


def examine(repository: Repository, share: Share, old: str, tip: str) -> None:
    """Raise InstinctError, naming every file that is meant, unless the memory at a commit may be taken."""
    shown = address.shown(share.url)
    if not incoming.is_memory(repository, tip):
        raise InstinctError(
            f"{shown} holds no memory on its branch {share.branch}",
            "run `instinct init` in a clone of it, commit, push; or share an empty repository, which is started for you",
        )
    found = incoming.problems(repository, tip, old)
    if found:
        raise InstinctError(
            f"{share.name} is refused as it is at {shown}: " + "; ".join(found),
            "mend that in the repository, then try again; nothing of it was taken",
        )
    if share.require == files.SIGNED:
        bad = incoming.unsigned(repository, old, tip)
        if bad:
            raise InstinctError(
                f"{share.name}: {len(bad)} commit{'' if len(bad) == 1 else 's'} without a signature that git can verify, "
                f"the first: {bad[-1][:12]}",
                "nothing of them was taken; `git verify-commit` says more, and `share add` without --require takes them",
            )


def _stamp(space: Workspace) -> str:
    return space.now().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def refused(done: Result, where: str, verb: str) -> InstinctError:
    """Return the error for a command that a remote refused, in plain words."""
    said = f"{done.err}\n{done.text}"
    words = forge.clean(address.shown(git.last_line(done.err) if done.err.strip() else done.text))
    why = publishing.reason(said)
    hints = {
        publishing.TIMEOUT: "check the network, and that git needs no password there",
        publishing.LOGIN: "log in (a credential helper, an ssh agent, `gh auth setup-git`), then try again",
        publishing.RIGHTS: "ask for the right to push, or set `share.push: pull-request` in its .instinct/config.yaml",
        publishing.AWAY: "check the address and the network",
    }
    fatal = next((line for line in done.err.splitlines() if line.startswith(("fatal:", "error:"))), "")
    words = forge.clean(address.shown(fatal)) or words or f"git ended with {done.code}"
    return InstinctError(
        f"the {verb} of {where} failed: {words}", hints.get(why, "mend what git names, then try again")
    )


# --- list and remove ------------------------------------------------------------------------------------------------


def listed(space: Workspace) -> list[Sharing]:
    """Return every shared memory of this home."""
    return [state(space, name) for name in shared.names(space.place.home)]


def known(space: Workspace, name: str) -> Share:
    """Return what is noted of a shared memory. Raises InstinctError, naming those there are, for an unknown one."""
    found = shared.read(space.place.home, name) if _NAME.fullmatch(name) else None
    if found is None:
        there = ", ".join(shared.names(space.place.home))
        raise InstinctError(
            f"there is no shared memory {name!r}",
            f"known: {there}" if there else "`instinct share add NAME URL` adds one",
        )
    return found


def state(space: Workspace, name: str) -> Sharing:
    """Return the state of one shared memory; looks at this machine alone."""
    home = space.place.home
    try:
        share = known(space, name)
    except InstinctError as found:
        root = str(shared.root_of(home, name))
        return Sharing(name, "", "", False, "", 0, 0, 0, "", "", problem=found.message, root=root)
    place = shared.place_of(home, name)
    repository = Repository(place)
    problem = _silent(space, place, repository, share)
    count = repository.ask("ls-files", "--", ".instinct/patterns").text.count(".md")
    return Sharing(
        name, address.shown(share.url), share.branch, share.readonly, share.require, count,
        len(inbox.read(place).evidence), len(ahead(repository, share)), share.fetched, age(share.fetched, space.now()),
        tuple(path for path, _ in shared.conflicts(place)), problem, str(place.root),
    )  # fmt: skip


def _silent(space: Workspace, place: files.Place, repository: Repository, share: Share) -> str:
    """Say why a shared memory is not read along; empty: it is."""
    try:
        files.refuse_obstacles(place.root, place.home)
        Workspace(place, space.now).config()
    except InstinctError as found:
        return found.message
    if shared.on_branch(repository.git_dir, share):
        return ""
    return f"it stands on {repository.branch() or 'no branch'}, not on {share.branch}: only that one is suggested from"


def ahead(repository: Repository, share: Share) -> list[str]:
    """Return the local commits that the remote did not have when it was last reached, oldest first."""
    head = repository.commit_of(f"refs/heads/{share.branch}")
    if not head:
        return []
    tip = repository.commit_of(shared.remote_ref(share))
    return repository.must(
        "rev-list", "--first-parent", "--reverse", head, *([f"^{tip}"] if tip else [])
    ).text.splitlines()


def age(stamp: str, now: datetime) -> str:
    """Return how long ago a moment was, in words."""
    try:
        seconds = (now - datetime.fromisoformat(stamp)).total_seconds()
    except (ValueError, TypeError):
        return "never"
    for size, word in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size:
            count = int(seconds // size)
            return f"{count} {word}{'' if count == 1 else 's'} ago"
    return "just now"


def remove(space: Workspace, name: str, *, discard: bool = False) -> Sharing:
    """Forget a shared memory and delete its clone; the global one only loses its remote. Refuses while evidence waits."""
    share, before = known(space, name), state(space, name)
    proposals = [] if name == files.GLOBAL else _unsent_proposals(Repository(shared.place_of(space.place.home, name)))
    if (
        (before.waiting or before.ahead or before.conflicts or proposals)
        and not discard
        and not (share.readonly and not before.waiting)
    ):
        what = [f"{before.waiting} pieces of evidence in its inbox"] if before.waiting else []
        what += [f"{before.ahead} commits that its remote does not have"] if before.ahead else []
        what += [f"{len(before.conflicts)} versions of yours that are not settled"] if before.conflicts else []
        what += [f"proposals that were not pushed ({', '.join(proposals)})"] if proposals else []
        raise InstinctError(
            f"{name} has {' and '.join(what)}",
            f"`instinct sync {name}` first, or --discard throws them away"
            + (f"; `git -C {before.root} push origin BRANCH` sends a proposal" if proposals else ""),
        )
    root = shared.root_of(space.place.home, name)
    if name == files.GLOBAL:
        repository = Repository(shared.place_of(space.place.home, name))
        repository.must("remote", "remove", shared.REMOTE)
        (repository.common_dir / "instinct" / "share.json").unlink()
    else:
        shared.removed(root)
    return replace(before, problem="removed")


def _unsent_proposals(repository: Repository) -> list[str]:
    """Return the branches of proposals that no remote-tracking branch holds."""
    from instinct_git.operations.planning import BRANCH_KINDS

    mine = [one for one in branches.refs(repository, BRANCH_KINDS) if not one.remote]
    return [one.branch for one in mine if repository.ask("rev-list", "-1", one.tip, "--not", "--remotes").text]


def rows(space: Workspace, folder: Path) -> Iterator[Diagnosis]:
    """Say in `doctor` how the shared memories are, and whether other clones find the private one."""
    from instinct_git.operations import moving

    for one in listed(space):
        waits = one.waiting + one.ahead
        words = one.problem or f"{one.patterns} patterns, copy: {one.age}" + (", evidence waits" if waits else "")
        hint = f"`instinct sync {one.name}`" if waits or one.problem else ""
        yield Diagnosis(f"shared {one.name}", NOTICE if hint else FINE, words, hint)
    top, git_dir, common_dir = files.find_repository(folder)
    if space.place.scope == files.PRIVATE and top is not None:
        old, new = moving.id_changed(files.Place(top, files.PROJECT, space.place.home, top, git_dir, common_dir))
        if new:
            yield Diagnosis("private memory", NOTICE, moving.words(old, new), "`instinct move --to private` moves it")


# --- evidence for another memory ------------------------------------------------------------------------------------


def target(space: Workspace, to: str) -> Workspace:
    """Return the memory that `--to` names. Raises InstinctError where evidence may not go there."""
    home = space.place.home
    if to == files.GLOBAL:
        return Workspace(shared.place_of(home, to), space.now)
    share = known(space, to)
    if share.readonly:
        raise InstinctError(
            f"{to} was added with --readonly: nothing of yours goes there", f"`instinct share add {to} URL` without it"
        )
    return Workspace(shared.place_of(home, to)._replace(require=share.require), space.now)


def remote_url(repository: Repository, share: Share, *, accept: bool = False) -> str:
    """Return the address of a shared memory's remote. Raises InstinctError when somebody has changed it (`accept`: that
    may be), or where pushes go."""
    now = repository.ask("config", "--get", f"remote.{shared.REMOTE}.url").text
    push = repository.ask("config", "--get-all", f"remote.{shared.REMOTE}.pushurl").text
    root = repository.place.root
    if push:
        raise InstinctError(
            f"{share.name} would be pushed to {address.shown(push)}, another address than it is read from",
            f"`git -C {root} config --unset-all remote.{shared.REMOTE}.pushurl`, then try again",
        )
    if now != share.url and not accept:
        raise InstinctError(
            f"the remote of {share.name} is {address.shown(now) or 'gone'}; it was added as {address.shown(share.url)}",
            f"`instinct sync {share.name} --accept` takes the new one, `git -C {root} remote set-url {shared.REMOTE} ...` "
            "goes back; nothing was sent or taken",
        )
    return now


def protocols(target: Workspace) -> str:
    """Return the transports that a push from a shared memory's clone may use; empty: it is none, git's config decides."""
    place = target.place
    share = shared.read(place.home, place.called) if place.scope in (files.SHARED, files.GLOBAL) else None
    if share is None:
        return ""
    return address.checked(remote_url(Repository(place), share)).protocols


def context(space: Workspace, folder: Path, given: str | None) -> str | None:
    """Return the context of evidence that goes from the project around `folder` to another memory."""
    try:
        top, git_dir, common_dir = files.find_repository(folder)
    except InstinctError:
        top = None
    names = bool(space.config()["share.names"])
    if top is None or top == space.place.top:
        return given if names or space.place.scope == files.GLOBAL else None
    project = files.Place(top, files.PROJECT, space.place.home, top, git_dir, common_dir)
    private = files.private_root(project)
    if private is not None:
        project = project._replace(root=private, scope=files.PRIVATE)
    return context_of(project, space.place.scope, names, given or "")


def context_of(project: files.Place, scope: str, names: bool, given: str) -> str:
    """Return the context of a project's evidence in a memory of another scope: the project's 12-digit id. What was given
    stays where the memory is the user's own, or where they allow names; then the project's name stands in for its id."""
    if given and (names or scope == files.GLOBAL):
        return given
    if project.scope == files.GLOBAL and _ID.fullmatch(given):
        return given  # the user's own memory has it from several projects
    if names:
        return files.project_name(project)
    return project.root.name if project.scope == files.PRIVATE else files.project_id(project)

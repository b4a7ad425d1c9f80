"""Pushing a proposal and opening its pull request: the ways are tried before anything is written, and nobody is asked."""

from __future__ import annotations

import re
from typing import NamedTuple

from instinct_git.bridges import forge, hosts
from instinct_git.bridges.forge import Request
from instinct_git.errors import InstinctError
from instinct_git.storage import branches, git
from instinct_git.storage.git import Repository, Result

_LOGIN = re.compile(
    r"could not read (?:Username|Password)|Authentication failed|terminal prompts disabled|Permission denied \(|"
    r"Host key verification failed|invalid credentials|HTTP Basic: Access denied|returned error: 401",
    re.IGNORECASE,
)
_RIGHTS = re.compile(
    r"returned error: 403|permission to .* denied|protected branch|GH006|not allowed to push|access denied|"
    r"write access|insufficient permission|unable to create temporary object directory|read-only|remote rejected",
    re.IGNORECASE,
)
_BLOCKED = re.compile(r"directory file conflict|cannot lock ref.*exists; cannot create", re.IGNORECASE | re.DOTALL)
_BEHIND = re.compile(r"fetch first|non-fast-forward|\(stale info\)", re.IGNORECASE)
_AWAY = re.compile(
    r"not appear to be a git repository|Could not resolve|unable to access|Connection (?:refused|timed out)|not found|"
    r"Could not read from remote|does not exist",
    re.IGNORECASE,
)


TIMEOUT, LOGIN, BEHIND, BLOCKED, RIGHTS, AWAY = "timeout", "login", "behind", "blocked", "rights", "away"


def reason(said: str) -> str:
    """Return why a remote refused, from git's words; empty: for none of the known reasons."""
    if git.TIMED_OUT in said:
        return TIMEOUT
    rules = ((LOGIN, _LOGIN), (BEHIND, _BEHIND), (BLOCKED, _BLOCKED), (RIGHTS, _RIGHTS), (AWAY, _AWAY))
    return next((name for name, rule in rules if rule.search(said)), "")


class Route(NamedTuple):
    """Where a proposal is pushed, and where its pull request is opened."""

    remote: str
    wanted: bool
    """A pull request is asked for."""
    host: str
    """Address of the repository that the request is opened in: the one with the default branch."""
    owner: str = ""
    """Of the fork that is pushed to, where that is another repository."""


def route(repository: Repository, revision: str, remote: str, *, pr: bool) -> Route:
    """Return the way of a push. Raises InstinctError, before anything is written, for one that is closed.

    The remote: as given, else `remote.pushDefault`, else the one of the default branch's revision, else the only one.
    """
    known = branches.remotes(repository)
    home = next((name for name in known if revision.startswith(f"{name}/")), "")
    chosen = remote or repository.ask("config", "remote.pushDefault").text or home
    if not known:
        raise InstinctError(
            "this repository has no remote to push to",
            "add one (`git remote add origin ADDRESS`), or leave --push and --pr out",
        )
    if not chosen and len(known) == 1:
        chosen = next(iter(known))
    if chosen not in known:
        what = (
            f"there is no remote {chosen!r}"
            if chosen
            else "there are several remotes, and none is the default branch's"
        )
        raise InstinctError(what, f"--remote takes one of: {', '.join(known)}")
    host, address = known[home if home and home != chosen else chosen][0], known[chosen][1]
    mine, theirs = hosts.remote_of(address), hosts.remote_of(host)
    owner = ""
    if mine is not None and theirs is not None and mine.path != theirs.path:  # pushed to a fork
        if mine.host != theirs.host or mine.kind == "gitlab":
            host = address  # its page for a new request chooses where to
        else:
            owner = mine.path.partition("/")[0]
    way = Route(chosen, pr, host, owner)
    if pr:
        forge.require_login(repository.top, forge.AUTO, way.host)
    return way


def push(repository: Repository, way: Route, branch: str, sha: str, protocols: str = "") -> None:
    """Push a branch, by the given transports alone (empty: as git's config says). Raises InstinctError in plain words; the caller takes back what was made for it."""
    result = branches.push(repository, way.remote, branch, sha, protocols)
    if result.code:
        raise _refused(result, way, branch)


def _refused(result: Result, way: Route, branch: str) -> InstinctError:
    said = f"{result.err}\n{result.text}"
    told = [line.strip() for line in said.splitlines() if line.strip() and not line.startswith(("To ", "Done"))]
    words = forge.clean(" / ".join(told[:3]) or f"exit {result.code}")
    nothing = "nothing was proposed"
    why = reason(said)
    if why == TIMEOUT:
        return InstinctError(
            f"the push to {way.remote} did not end within {branches.PUSH_SECONDS:g} seconds",
            f"{nothing}; check the network, and that git needs no password (`git push {way.remote}` asks for one)",
        )
    if why == LOGIN:
        return InstinctError(
            f"{way.remote} does not know you: {words}",
            f"{nothing}; log in (a credential helper, an ssh agent, `gh auth setup-git`), then propose again",
        )
    if why == BEHIND:
        return InstinctError(
            f"{way.remote} has commits on {branch} that are not here",
            f"{nothing}; `git fetch {way.remote}`, then propose again",
        )
    if why == BLOCKED:
        return InstinctError(
            f"{way.remote} has a branch that keeps {branch} from being made: {words}",
            f"{nothing}; rename that branch there",
        )
    if why == RIGHTS:
        return InstinctError(
            f"you may not push to {way.remote}: {words}",
            f"{nothing}; ask for the right, or push to a fork of yours with --remote",
        )
    if why == AWAY:
        return InstinctError(
            f"{way.remote} cannot be reached: {words}", f"{nothing}; check its address (`git remote -v`)"
        )
    return InstinctError(f"the push to {way.remote} was refused: {words}", f"{nothing}; mend that and propose again")


def open_request(repository: Repository, way: Route, title: str, body: str, branch: str, base: str) -> Request:
    """Open the pull request of a pushed branch, or return the address where a person opens it.

    Raises InstinctError when the host refuses; the branch is pushed by then, and the error says so.
    """
    head = f"{way.owner}:{branch}" if way.owner else branch
    address = hosts.compare_url(way.host, base, head)
    if not way.wanted:
        return Request(address or "", forge.COMPARE if address else forge.NONE)
    try:
        return forge.open_request(repository.top, title, body, head, base, forge.AUTO, remote_url=way.host)
    except InstinctError as problem:
        where = f" at {address}" if address else " in a browser"
        raise InstinctError(
            problem.message,
            f"{branch} is pushed to {way.remote}: open the request{where}, or mend that ({problem.hint}) and run it again",
        ) from None


def words(opened: Request, way: Route) -> list[str]:
    """Say what is left to a person."""
    if opened.how == forge.NONE:
        return [f"no address of a request is known for {way.remote}: open it on its host"] if way.wanted else []
    return ["the request was open already: the push has updated it"] if opened.existed else []

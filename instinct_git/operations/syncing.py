"""`sync`: record, fetch, replay, push, fold. Works offline, never by force, and leaves people's words to people.

Everything that was observed is committed here first, so a dead network, a dead server or a killed process loses nothing:
the next sync starts from the commits of this one. Evidence has file names of its own and cannot conflict. Folding is done
last and once: when somebody else was faster, our fold is dropped, since the next one makes the same numbers.
"""

from __future__ import annotations

import os
import random
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from instinct_git.bridges import forge
from instinct_git.core import address
from instinct_git.core.address import Address
from instinct_git.core.evidence import LEDGER, OBSERVATIONS, nonce, parse_container
from instinct_git.core.model import Policy
from instinct_git.errors import InstinctError
from instinct_git.operations import batches, publishing, sharing
from instinct_git.operations.workspace import Workspace
from instinct_git.storage import branches, config, files, replay, shared, store
from instinct_git.storage.git import Repository, Result, init_repository
from instinct_git.storage.shared import REMOTE, Share

ATTEMPTS = 60
SERVER_ATTEMPTS = 3
"""Tries against a server that drops the connection."""
LONGEST_PAUSE = 60.0
BEFORE = "instinct/before"
_RACE = re.compile(
    r"fetch first|non-fast-forward|stale info|cannot lock ref|failed to update ref|incorrect old value|"
    r"reference already exists|failed to lock",
    re.IGNORECASE,
)
_NO_BRANCH = re.compile(r"couldn't find remote ref", re.IGNORECASE)


class Conflict(NamedTuple):
    """A file of a person that was changed here and by others at once."""

    path: str
    """In the memory; it has the others' version."""
    theirs: str
    """The same file, from the file system's root."""
    yours: str
    """The file that keeps the version of this person until they delete it."""


@dataclass(frozen=True, slots=True)
class Synced:
    """What a sync did with one memory."""

    name: str
    recorded: int = 0
    """Pieces of evidence that left the inbox."""
    received: int = 0
    """Commits of others that are here now."""
    sent: int = 0
    """Commits of ours that the remote has now."""
    folded: int = 0
    """Pieces of evidence folded by this sync; 0 too where somebody else was faster."""
    attempts: int = 0
    """Pushes that were tried to bring the evidence there."""
    ahead: int = 0
    """Commits that the remote still lacks."""
    age: str = ""
    """How old the copy is, in words."""
    offline: str = ""
    """Why the remote could not be reached; empty: it was."""
    problem: str = ""
    hint: str = ""
    conflicts: tuple[Conflict, ...] = ()
    request: str = ""
    """The pull request, or the address where a person opens it."""
    notices: tuple[str, ...] = field(default=())


def sync(
    space: Workspace, name: str = "", *, accept: bool = False, pause: Callable[[float], None] = time.sleep
) -> list[Synced]:
    """Bring one memory, or all that are shared, and their remotes to the same state.

    Of several, one that fails is reported and the others go on; a single one raises InstinctError. `accept` takes a remote
    whose address or history has changed, after a person has looked.
    """
    home = space.place.home
    if name:
        return [_Sync(space, sharing.known(space, name), accept, pause).run()]
    if accept:
        raise InstinctError("--accept is for one memory", "name it: `instinct sync NAME --accept`")
    done = []
    for one in shared.names(home):
        try:
            done.append(_Sync(space, sharing.known(space, one), accept, pause).run())
        except InstinctError as problem:
            done.append(replace(_described(space, one), problem=problem.message, hint=problem.hint))
    return done


def _described(space: Workspace, name: str) -> Synced:
    state = sharing.state(space, name)
    return Synced(name, ahead=state.ahead, age=state.age)


class _Sync:
    """One sync of one memory."""

    def __init__(self, space: Workspace, share: Share, accept: bool, pause: Callable[[float], None]) -> None:
        self.home, self.share, self.accept, self.pause = space.place.home, share, accept, pause
        self.place = shared.place_of(self.home, share.name)
        self.space = Workspace(self.place, space.now)
        self.repository = Repository(self.place)
        self.done = Synced(share.name)
        self.notices: list[str] = []
        self.joined = False
        """Our commits were made again on others': the numbers of pattern files want to be folded anew."""

    def run(self) -> Synced:
        """Sync it and say what was done."""
        files.refuse_obstacles(self.place.root, self.home)
        where = self._address()
        with store.batch_lock(self.place):
            self._refuse_elsewhere()
            shared.restore_containers(self.repository)
            if not self.share.readonly:
                self.done = replace(self.done, recorded=batches.record_inbox(self.space))
            try:
                arrived = self._exchange(where)
            except _Away as problem:
                self.done = replace(self.done, offline=str(problem))
                arrived = False
            if arrived and self._folds():
                self._fold(where)
        self._say_what_stays()
        waiting = tuple(
            Conflict(path, str(self.place.root / path), str(kept)) for path, kept in shared.conflicts(self.place)
        )
        return replace(
            self.done, age=sharing.age(self.share.fetched, self.space.now()), conflicts=waiting,
            ahead=len(sharing.ahead(self.repository, self.share)), notices=tuple(self.notices),
        )  # fmt: skip

    def _say_what_stays(self) -> None:
        if self.share.readonly or not self.repository.head():
            return
        changed, fresh = self.repository.differing("HEAD", ".instinct")
        if changed | fresh:
            said = ", ".join(sorted(changed | fresh)[:5])
            self.notices.append(f"not sent: edits that are not committed ({said}); commit them in {self.place.root}")

    # -- may we? -----------------------------------------------------------------------------------------------------

    def _address(self) -> Address:
        """Return the remote's address. Raises InstinctError when somebody has changed it, or where pushes go."""
        now = sharing.remote_url(self.repository, self.share, accept=self.accept)
        if now != self.share.url:
            address.checked(now)
            self._note(self.share._replace(url=now))
        return address.checked(now)

    def _refuse_elsewhere(self) -> None:
        if self.share.readonly:
            self.repository.refuse_if_busy()  # recording looks itself
        if not shared.on_branch(self.repository.git_dir, self.share):
            raise InstinctError(
                f"{self.place.root} stands on {self.repository.branch()}, and {self.share.branch} is what is shared",
                f"`git -C {self.place.root} switch {self.share.branch}`, then sync again",
            )

    def _note(self, share: Share) -> None:
        self.share = share
        shared.write(self.home, share)

    # -- fetch, replay, push -------------------------------------------------------------------------------------------

    def _exchange(self, where: Address) -> bool:
        """Fetch, replay and push until the remote has our evidence; True when nothing of ours is missing there."""
        dropped = 0
        for attempt in range(1, ATTEMPTS + 1):
            begun = time.monotonic()
            theirs = self._fetched(where)
            here = self._replayed(theirs)
            if theirs:
                self.repository.must("update-ref", shared.base_ref(self.share), theirs)
            if here == theirs or self.share.readonly:
                self._arrived(theirs)
                return here == theirs
            if self._asks_for_review():
                self._request(where, here, theirs)
                return False
            sent = int(self.repository.must("rev-list", "--count", here, *([f"^{theirs}"] if theirs else [])).text)
            result = shared.push(self.repository, where, here, self.share.branch)
            self.done = replace(self.done, attempts=attempt)
            if result.code == 0:
                self.done = replace(self.done, sent=sent)
                self._taken(here)
                self._arrived(here)
                return True
            said = f"{result.err}\n{result.text}"
            if not _RACE.search(said):
                dropped += 1
                if publishing.reason(said) in (publishing.LOGIN, publishing.RIGHTS, publishing.BLOCKED):
                    raise sharing.refused(result, address.shown(self.share.url), "push")
                if dropped >= SERVER_ATTEMPTS:
                    raise _Away(sharing.refused(result, address.shown(self.share.url), "push").message)
            self._wait(attempt, time.monotonic() - begun)
        raise _Away(f"others were faster {ATTEMPTS} times; sync again")

    def _wait(self, attempt: int, took: float) -> None:
        """Wait by chance, for longer after each try, in the measure of what a try takes: where fifty push at once a short
        pause only makes more losers."""
        self.pause(random.uniform(0, min(LONGEST_PAUSE, took * 2 ** min(attempt - 1, 4))))

    def _fetched(self, where: Address) -> str:
        """Fetch and return the remote's tip (empty: it has no commit), once it is known to be one that may be taken."""
        result = shared.fetch(self.repository, self.share, where)
        ref, old = shared.remote_ref(self.share), self.share.tip
        if result.code and _NO_BRANCH.search(result.err):
            if old and not self.accept:
                raise self._changed("its branch is gone there")
            self.repository.ask("update-ref", "-d", ref)
            theirs = ""
        elif result.code:
            problem = sharing.refused(result, address.shown(self.share.url), "fetch")
            if publishing.reason(result.err) == publishing.LOGIN:
                raise problem
            raise _Away(problem.message)
        else:
            theirs = self.repository.commit_of(ref)
        if theirs and theirs != old:
            self._examine(ref, old, theirs)
        self._taken(theirs)
        return theirs

    def _examine(self, ref: str, old: str, theirs: str) -> None:
        """Let what is fetched count, or put the remote-tracking branch back to what was taken before."""
        try:
            grown = not old or branches.is_ancestor(self.repository, old, theirs)
            if not grown and not self.accept:
                raise self._changed("its history was rewritten there")
            sharing.examine(self.repository, self.share, old if grown else "", theirs)
            if not grown:
                kept = f"{BEFORE}/{old[:12]}"
                self.repository.must("update-ref", f"refs/heads/{kept}", old)
                self.notices.append(f"the history was rewritten; what it was stays on the branch {kept}")
        except InstinctError:
            if old:
                self.repository.must("update-ref", ref, old)
            else:
                self.repository.must("update-ref", "-d", ref)
            raise
        span = [theirs, f"^{old}"] if old else [theirs]
        mine = ["HEAD"] if self.repository.head() else []
        new = self.repository.must("rev-list", "--count", *span, *(f"^{one}" for one in mine)).text
        self.done = replace(self.done, received=self.done.received + int(new))

    def _changed(self, what: str) -> InstinctError:
        name, root = self.share.name, self.place.root
        return InstinctError(
            f"{name} ({address.shown(self.share.url)}) is not what it was: {what}",
            f"ask the people who keep it; then `instinct sync {name} --accept` takes it and keeps the old one on a branch, or "
            f"`instinct share remove {name}` leaves it. Nothing was changed: your copy is in {root}",
        )

    def _taken(self, tip: str) -> None:
        stamp = self.space.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        self._note(self.share._replace(tip=tip, fetched=stamp))
        head = f"refs/remotes/{REMOTE}/HEAD"
        if tip and self.repository.ask("symbolic-ref", "-q", head).text != shared.remote_ref(self.share):
            self.repository.must("symbolic-ref", head, shared.remote_ref(self.share))

    def _replayed(self, theirs: str) -> str:
        """Bring our commits onto the remote's tip, the working tree with them, and return the new tip."""
        repository, head = self.repository, self.repository.head()
        if not theirs or head == theirs:
            return head
        if not head or branches.is_ancestor(repository, head, theirs):
            shared.stand_on(repository, self.share.branch, theirs)
            return theirs
        if branches.is_ancestor(repository, theirs, head):
            return head
        before = repository.commit_of(shared.base_ref(self.share))
        out = repository.must(
            "rev-list", "--first-parent", "--reverse", head, f"^{theirs}", *([f"^{before}"] if before else [])
        )
        made = replay.replay(
            repository, out.text.splitlines(), theirs, self._policy(), self.space.day(), drop=self._dropped(theirs)
        )
        self.joined = self.joined or made.made > 0
        shared.keep_aside(self.place, made.kept)
        shared.stand_on(repository, self.share.branch, made.tip)
        return made.tip

    def _policy(self) -> Policy:
        return self.space.config().policy

    def _dropped(self, theirs: str) -> Callable[[str, bytes], bool]:
        """Return what leaves containers out that came by a squash and were folded there since."""
        if not self._asks_for_review():
            return lambda path, content: False
        known = store.ids_at(self.repository, theirs)
        return lambda path, content: (
            path.removeprefix(self.repository.prefix).startswith((OBSERVATIONS, LEDGER))
            and {one.id for one in parse_container(content)[0]} <= known
        )

    def _arrived(self, tip: str) -> None:
        """Forget the inbox files whose evidence the remote has."""
        if not tip:
            return
        self.repository.must("update-ref", shared.base_ref(self.share), tip)
        there = self.repository.files_at(tip, OBSERVATIONS.rstrip("/"))
        store.forget_recorded(self.place, {path.rpartition("/")[2].removesuffix(".jsonl") for path in there})

    # -- through a review ----------------------------------------------------------------------------------------------

    def _asks_for_review(self) -> bool:
        return bool(self.space.config()["share.push"] == config.PULL_REQUEST)

    def _request(self, where: Address, here: str, theirs: str) -> None:
        """Push what is new to a branch of our own and ask for its review; further evidence goes on the same branch."""
        repository = self.repository
        if not theirs:
            raise InstinctError(
                f"{self.share.name} has no commit yet that a pull request could be for",
                "set `share.push: direct` in its config for the first sync",
            )
        branch = self.share.request or f"instinct/share/{nonce(os.urandom(8))}"
        known, listed = shared.heads(repository, where)
        if listed.code:
            raise _Away(sharing.refused(listed, address.shown(self.share.url), "look").message)
        before = known.get(branch, "")
        if before and not repository.commit_of(before):
            raise InstinctError(
                f"somebody has committed to {branch}, which carries your evidence", "merge or delete that branch there"
            )
        ref = "refs/instinct/request"
        tree = repository.must("rev-parse", f"{here}^{{tree}}").text
        open_still = bool(before) and not branches.is_ancestor(repository, before, theirs)
        same = open_still and repository.must("rev-parse", f"{before}^{{tree}}").text == tree
        if not (same and branches.is_ancestor(repository, theirs, before)):
            parents = [theirs, before] if open_still else [theirs]
            sha = branches.commit_tree(repository, parents, tree, f"instinct: evidence for {self.share.name}")
            result = shared.push(repository, where, sha, branch)
            if result.code:
                raise sharing.refused(result, address.shown(self.share.url), "push")
            repository.must("update-ref", ref, sha)
            count = repository.must("rev-list", "--count", here, f"^{theirs}").text
            self.done = replace(self.done, sent=int(count), attempts=1)
        self._note(self.share._replace(request=branch))
        self._open(branch)

    def _open(self, branch: str) -> None:
        way = publishing.Route(REMOTE, True, self.share.url)
        title, body = "Evidence for the shared memory", "Counted observations; no pattern's words change."
        try:
            opened = publishing.open_request(self.repository, way, title, body, branch, self.share.branch)
        except InstinctError as problem:
            self.notices.append(f"{problem.message}; {problem.hint}")
            return
        self.done = replace(self.done, request=opened.url)
        if opened.how in (forge.COMPARE, forge.NONE):
            self.notices.append(
                f"{branch} is pushed; a person opens its request" + (f": {opened.url}" if opened.url else "")
            )

    # -- fold ----------------------------------------------------------------------------------------------------------

    def _folds(self) -> bool:
        settings = self.space.config()
        if self.share.readonly or not settings["share.fold"] or self._asks_for_review():
            return False
        return self.joined or bool(files.container_paths(self.place.root, OBSERVATIONS))

    def _fold(self, where: Address) -> None:
        """Fold what has arrived, in one commit and one push; when somebody was faster it is theirs to fold."""
        before = self.repository.head()
        done = batches.locked(self.space, "consolidate", here=True, no_commit=False, days=None)
        self.notices += [one for one in done.notices if "cannot be read" in one or "left alone" in one]
        if not done.commit:
            return
        result: Result = shared.push(self.repository, where, self.repository.head(), self.share.branch)
        if result.code == 0:
            self._taken(self.repository.head())
            self._arrived(self.repository.head())
            self.done = replace(self.done, folded=done.folded)
            return
        shared.stand_on(self.repository, self.share.branch, before)
        store.settle_recorded(self.place, self.repository, shared.remote_ref(self.share))


class _Away(Exception):
    """The remote cannot be reached now; what was committed here waits."""


def connect_global(space: Workspace, share: Share, where: Address) -> None:
    """Give the user's own memory a remote; the first sync joins what is here and there."""
    place = shared.place_of(space.place.home, files.GLOBAL)
    if not place.exists():
        from instinct_git.operations.setup import scaffold

        scaffold(place, config.ANYWHERE, "A memory of your own: one author.")
    if place.top is None:
        init_repository(place.root)
    repository = Repository(shared.place_of(space.place.home, files.GLOBAL))
    if repository.ask("config", "--get", f"remote.{REMOTE}.url").text:
        raise InstinctError(
            f"your global memory has a remote {REMOTE} already",
            f"`git -C {place.root} remote remove {REMOTE}`, then try again",
        )
    repository.must("remote", "add", "--", REMOTE, share.url)
    try:
        known, listed = shared.heads(repository, where)
        if listed.code:
            raise sharing.refused(listed, address.shown(share.url), "look")
        branch = share.branch or next((one for one in (repository.branch(), "main", "master") if one in known), "")
        branch = branch or (sorted(known)[0] if known else repository.branch() or "main")
        if repository.branch() != branch:
            move = ["branch", "-m", branch] if repository.head() else ["symbolic-ref", "HEAD", f"refs/heads/{branch}"]
            repository.must(*move)
        shared.write(space.place.home, share._replace(branch=branch))
    except InstinctError:
        repository.must("remote", "remove", REMOTE)
        raise

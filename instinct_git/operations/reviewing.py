"""`review`: what became of the proposals. Answers that are not evidence yet are booked, each once, in any clone."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING

from instinct_git.bridges import forge, hosts
from instinct_git.core import answers, candidates, memory_file
from instinct_git.core.answers import CLOSED, GONE, MERGED, OPEN, REVERTED, Turn
from instinct_git.core.candidates import APPROVED, PROPOSED, REJECTED
from instinct_git.core.consolidate import UNKNOWN
from instinct_git.core.evidence import day_of, iso_day
from instinct_git.core.keys import describe, pattern_path
from instinct_git.core.model import Evidence
from instinct_git.core.pattern import PatternFile
from instinct_git.errors import InstinctError, NotInGit
from instinct_git.operations.answering import deleting
from instinct_git.operations.observing import put
from instinct_git.operations.workspace import Workspace
from instinct_git.storage import branches, landings, remembered

if TYPE_CHECKING:
    from instinct_git.storage.landings import Branch

ASK_DAYS = 30
"""How long after a landing the host is still asked who merged it."""


@dataclass(frozen=True, slots=True)
class Reviewed:
    """One pattern's proposal and what became of it."""

    pattern: str
    title: str
    kind: str
    """skill, procedure, rule or memory; empty: nobody can tell."""
    state: str
    """One of core.answers.STATES."""
    branch: str
    """As `git merge` takes it, else the name that is gone; empty: no name is known."""
    url: str
    """The pull request, where the host could tell."""
    since: str
    """ISO day of the proposal."""
    days: int
    """From then until today."""
    conflicts: bool | None
    """An open one conflicts with the default branch; None: it is not open, or this git cannot tell."""
    by: str
    """Who answered; empty: nobody, as far as is known."""
    why: str
    """What there is to say about the state; may be empty."""
    commands: tuple[str, ...]
    """What a person can do now."""


@dataclass(frozen=True, slots=True)
class Review:
    """What `review` saw and booked."""

    proposals: tuple[Reviewed, ...]
    booked: tuple[Evidence, ...]
    """Answers that are evidence from now on, those to proposals without a branch here included."""
    base: str
    """The default branch whose tip was looked at, such as origin/main."""
    notices: tuple[str, ...]


def review(space: Workspace, *, fetch: bool = False) -> Review:
    """Say of every proposal what became of it, and book the answers that are not evidence yet.

    `fetch` asks the remotes first. Raises NotInGit where there is no repository.
    """
    repository = space.repository()
    if repository is None:
        raise NotInGit("proposals are branches, and there is no git repository here", "run `git init` there first")
    setting = space.config()["default_branch"]
    failed = landings.fetch(repository, repository.default_branch(setting)[0]) if fetch else []
    notices = [forge.clean(words) for words in failed]
    look = _Look(space)
    if look.remotes and not fetch:
        notices.append("as of the last `git fetch`; --fetch asks the remotes now")
    rows = [look.row(one) for one in look.asked]
    look.others()
    booked = put(space, look.fresh) if look.fresh else []
    for one in booked:
        remembered.forget(space.place, one.p)  # it awaits no review any more
    return Review(tuple(rows), tuple(booked), look.base, (*notices, *dict.fromkeys(look.silent)))


@dataclass(slots=True)
class _Asked:
    """One pattern on one branch, to be looked at."""

    key: str
    name: str
    """The branch's name without a remote."""
    since: str
    """YYYYMMDD."""
    branches: list[Branch] = field(default_factory=list)
    """Empty: it is gone."""

    @property
    def branch(self) -> Branch | None:
        """The newest of them: what a person would merge."""
        return max(self.branches, key=lambda one: (one.seconds, bool(one.remote)), default=None)


@dataclass(slots=True)
class _Said:
    """What is to be said of a proposal."""

    state: str
    by: str = ""
    why: str = ""
    url: str = ""


class _Look:
    """One look at all proposals. Gathers the evidence to book; writes nothing."""

    def __init__(self, space: Workspace) -> None:
        repository = space.repository()
        assert repository is not None
        self.git, self.today = repository, space.now().date()
        _, revision = repository.default_branch(space.config()["default_branch"])
        self.base = revision.removeprefix("refs/heads/").removeprefix("refs/remotes/")
        self.tip = repository.commit_of(revision)
        if not self.tip:
            raise InstinctError(
                "the default branch has no commit yet", "make the first commit; then there are proposals"
            )
        self.remotes = landings.remotes(repository)
        self.book, _ = space.read()
        self.fresh: list[Evidence] = []
        self.silent: list[str] = []
        self.hosts: dict[str, forge.RequestState] = {}
        self.there = landings.graduated(repository, self.tip)
        self.answered = {self.book.stands_for.get(one.p, one.p) for one in self.book.everything if one.k == APPROVED}
        self.asked = self._asked()
        self.turns = landings.turns(repository, self.tip, self._paths())

    # -- what there is to look at ----------------------------------------------------------------------------------------

    def members(self, key: str) -> list[Evidence]:
        """Everything known about a key, and what this look adds."""
        known = self.book.groups.get(self.book.stands_for.get(key, key), [])
        return [*known, *(one for one in self.fresh if one.p == key)]

    def _asked(self) -> list[_Asked]:
        """Return the proposals that have a branch, and those whose branch is gone without an answer."""
        found: dict[tuple[str, str], _Asked] = {}
        for branch in landings.proposals(self.git, self.tip):
            for key in branch.keys:
                one = found.setdefault((branch.name, key), _Asked(key, branch.name, branch.since))
                one.branches.append(branch)
                one.since = min(one.since, branch.since)
        for key in sorted(
            {self.book.stands_for.get(one.p, one.p) for one in self.book.everything if one.k == PROPOSED}
        ):
            proposal = answers.waiting(self.book.groups.get(key, ()))
            if proposal is not None:
                name = str(proposal.extra.get("to", ""))
                found.setdefault((name, key), _Asked(key, name, day_of(proposal.id)))
        return [found[name] for name in sorted(found)]

    def _paths(self) -> dict[str, str]:
        """Return {key: path of its file} of the patterns whose history must be read."""
        wanted = {one.key for one in self.asked} | {key for key in self.there if self._unsettled(key)}
        wanted |= {key for key in self.answered if key not in self.there and self._approvals(key)}
        known = {**self.book.files, **self.there}
        return {key: known[key].path if key in known else pattern_path(key) for key in wanted}

    def _approvals(self, key: str) -> list[Evidence]:
        return [one for one in candidates.answers(self.members(key)) if one.k == APPROVED]

    def _unsettled(self, key: str) -> bool:
        """True when a landed pattern has no approval yet, or none by a known person while the host may still tell."""
        given = self._approvals(key)
        return all(one.by == UNKNOWN and self._days(day_of(one.id)) <= ASK_DAYS for one in given)

    def _days(self, day: str) -> int:
        return (self.today - date.fromisoformat(iso_day(day))).days

    # -- what became of it ---------------------------------------------------------------------------------------------

    def row(self, one: _Asked) -> Reviewed:
        """Look at one proposal, book its answer, and say what became of it."""
        said = self._landed(one) or self._unlanded(one)
        branch = one.branch
        conflicts = landings.conflicts(self.git, self.tip, branch.tip) if branch and said.state == OPEN else None
        file = self.there.get(one.key) or self.book.files.get(one.key)
        return Reviewed(
            one.key, file.title if file and file.title else describe(one.key), self._kind(one, file), said.state,
            branch.ref if branch else one.name, said.url, iso_day(one.since), max(0, self._days(one.since)), conflicts,
            said.by, said.why, self._commands(one, said, conflicts),
        )  # fmt: skip

    def _kind(self, one: _Asked, file: PatternFile | None) -> str:
        given = [str(e.extra.get("kind", "")) for e in reversed(candidates.answers(self.members(one.key)))]
        told = str(file.candidate.get("kind", "")) if file else ""
        return next((kind for kind in (answers.kind_in(one.name), *given, told) if kind), "")

    def _landed(self, one: _Asked) -> _Said | None:
        """Say how it landed, and whether that was taken back; None: it has not landed."""
        turns = self.turns.get(one.key, [])
        if one.key in self.there:
            return None if self._updates(one) else self._merged(one.key, turns, one.name)
        if turns and not turns[0].graduated and self._predates(one.branch, turns[0]):
            if landings.holds(self.git, self.tip, one.key, turns[0].to):
                return _Said(MERGED, why="its document is there, but its pattern file no longer says graduated")
            self._take_back(one.key, turns)
            return _Said(REVERTED, why=f"reverted in {turns[0].commit[:12]}")
        if one.branch is not None and branches.is_ancestor(self.git, one.branch.tip, self.tip):
            return self._merged_otherwise(one, one.branch)
        return None

    def _updates(self, one: _Asked) -> bool:
        """True for a branch that was made after the landing, to bring the document up to date, and has not landed."""
        turns, branch, to = self.turns.get(one.key), one.branch, self.there[one.key].graduated_to
        if branch is None or not turns or self._predates(branch, turns[0]) or to == memory_file.PATH:
            return False
        if branches.is_ancestor(self.git, branch.tip, self.tip):
            return False
        return not landings.held(self.git, self.tip, branch.tip, to)

    def _predates(self, branch: Branch | None, turn: Turn) -> bool:
        """True when a branch was made before a commit of the default branch."""
        if branch is None:
            return True
        return branch.seconds <= turn.seconds and not branches.is_ancestor(self.git, turn.commit, branch.tip)

    def _merged(self, key: str, turns: list[Turn], name: str) -> _Said:
        if not turns or not turns[0].graduated:
            return _Said(MERGED, why="the commit that brought it is not in this shallow clone: `git fetch --unshallow`")
        url = self._approve(key, turns[0], name)
        given = [one.by for one in self._approvals(key)]
        by = next((one for one in reversed(given) if one != UNKNOWN), UNKNOWN)
        return _Said(MERGED, by, f"landed in {turns[0].commit[:12]} on {iso_day(turns[0].day)}", url)

    def _merged_otherwise(self, one: _Asked, branch: Branch) -> _Said:
        """A branch that the default branch contains, although the pattern file there does not say graduated."""
        to = next((file.graduated_to for file in [landings.file_at(self.git, branch.tip, one.key)] if file), "")
        if not landings.holds(self.git, self.tip, one.key, to):
            return _Said(REVERTED, why="it was merged, and its document is not there any more")
        commit, seconds = landings.brought_in(self.git, self.tip, branch.tip)
        turn = Turn(commit, seconds, landings.day(seconds), graduated=True, to=to)
        said = self._merged(one.key, [turn], one.name)
        said.why += "; its pattern file there does not say graduated, so it is still suggested"
        return said

    def _approve(self, key: str, landing: Turn, name: str) -> str:
        """Book an approval that is not known yet; returns the pull request's address, where the host was asked."""
        members = self.members(key)
        there = [one for one in members if candidates.approves(one, landing.commit)]
        asks = all(one.by == UNKNOWN for one in there) and (not there or self._days(landing.day) <= ASK_DAYS)
        host = self._host(name) if asks and name else forge.RequestState()
        mine = host.state == forge.MERGED and (not host.on or abs(self._days(host.day) - self._days(landing.day)) <= 1)
        login = host.merged_by if mine else ""
        new = answers.approval_news(members, key, landing, login, self._kind_at(key, landing))
        self.fresh += [new] if new is not None else []
        return host.url if mine else ""

    def _take_back(self, key: str, turns: list[Turn]) -> None:
        """Book that a landing was reverted; without the commit of the landing (a shallow clone) it cannot be named."""
        if len(turns) > 1 and turns[1].graduated:
            self._book(answers.taken_back(key, turns[1].commit, turns[0], self._kind_at(key, turns[1])))

    def _kind_at(self, key: str, landing: Turn) -> str:
        text = landings.memory_text(self.git, landing.commit) if landing.to == memory_file.PATH else ""
        return answers.kind_of(key, landing.to, text)

    def _book(self, new: Evidence) -> None:
        if not any(answers.same_deed(one, new) for one in self.members(new.p)):
            self.fresh.append(new)

    def _unlanded(self, one: _Asked) -> _Said:
        """Say what the host and people said of what has not landed."""
        host = self._host(one.name) if one.name else forge.RequestState()
        given = candidates.answers(self.members(one.key))
        last = given[-1] if given else None
        if host.state == forge.MERGED and (last is None or last.k == PROPOSED):
            by = f"human:{host.merged_by}" if host.merged_by else ""
            return _Said(MERGED, by, f"merged at the host, and not in {self.base} as this clone knows it", host.url)
        if host.state == forge.CLOSED and (closed := self._closed(one, host, last)) is not None:
            return closed
        if last is not None and last.k == REJECTED and not self._renewed(one, last):
            return _Said(REJECTED, last.by, answers.said(last), host.url)
        if one.branch is None:
            return _Said(GONE, why="its branch was deleted, and it did not land", url=host.url)
        url = host.url if host.state == forge.OPEN else ""
        why = ["it brings up to date what has landed"] if one.key in self.there else []
        why += [words for words in ["" if url else self._compare(one.branch)] if words]
        return _Said(OPEN, why="; ".join(why), url=url)

    def _renewed(self, one: _Asked, last: Evidence) -> bool:
        """True when a branch is newer than an answer: another clone has proposed it again."""
        return one.branch is not None and landings.day(one.branch.seconds) > day_of(last.id)

    def _closed(self, one: _Asked, host: forge.RequestState, last: Evidence | None) -> _Said | None:
        """Book that a pull request was closed, where nothing else has answered; None: it was an earlier proposal's."""
        by = f"human:{host.closed_by}" if host.closed_by else UNKNOWN
        new = answers.closing(
            one.key, one.name, host.url, host.day or self.today.strftime("%Y%m%d"), by, answers.kind_in(one.name)
        )
        known = any(answers.same_deed(e, new) for e in self.members(one.key))
        proposed = last is not None and last.k == PROPOSED
        if last is not None and proposed and (known or day_of(new.id) < day_of(last.id)):
            return None
        if last is not None and not proposed and self._renewed(one, last):
            return None
        if last is None or proposed:
            self._book(new)
        return _Said(CLOSED, by, "pull request closed", host.url)

    def others(self) -> None:
        """Book what landed or was taken back without a proposal that this clone knows of: its branch is deleted."""
        seen = {one.key for one in self.asked}
        for key, turns in sorted(self.turns.items()):
            if key in seen or not turns:
                continue
            if key in self.there and turns[0].graduated:
                self._approve(key, turns[0], self._name(key, turns[0].to))
            elif not turns[0].graduated and not landings.holds(self.git, self.tip, key, turns[0].to):
                self._take_back(key, turns)

    def _name(self, key: str, to: str) -> str:
        given = [str(one.extra.get("to", "")) for one in candidates.answers(self.members(key)) if one.k == PROPOSED]
        return given[-1] if given else answers.branch_of(to)

    # -- what the host says, and what to do --------------------------------------------------------------------------------

    def _host(self, name: str) -> forge.RequestState:
        """Ask the host about a branch, once. It may be silent; that is said, and nothing fails."""
        if not self.remotes:
            return forge.RequestState()
        if name not in self.hosts:
            try:
                self.hosts[name] = forge.request_state(self.git.top, name, remote_url=self._address())
            except InstinctError as problem:
                self.hosts[name] = forge.RequestState(why=problem.message)
            if self.hosts[name].why:
                self.silent.append(f"who answered is not known: {self.hosts[name].why}")
        return self.hosts[name]

    def _address(self) -> str:
        """The address of the remote whose default branch is looked at, else of the first one."""
        own = [name for name in self.remotes if self.base.startswith(name + "/")]
        return self.remotes[(own or sorted(self.remotes))[0]]

    def _compare(self, branch: Branch) -> str:
        if not branch.remote:
            return ""
        base = self.base.removeprefix(branch.remote + "/")
        address = hosts.compare_url(self.remotes.get(branch.remote, ""), base, branch.name)
        return f"no pull request is known; one is opened at {address}" if address else ""

    def _commands(self, one: _Asked, said: _Said, conflicts: bool | None) -> tuple[str, ...]:
        key = shlex.quote(one.key)
        no = f'instinct reject {key} --reason "..."'
        if said.state == OPEN and one.branch is not None:
            merge = () if said.url else (f"git merge --no-ff {one.branch.ref}",)
            again = "instinct propose " + " ".join(
                map(shlex.quote, one.branch.keys)
            )  # a batch is brought up to date whole
            answer = deleting(one.branches) if one.key in self.there else (no,)  # what has landed is not rejected
            return (again, *answer) if conflicts else (*merge, *answer)
        if said.state == GONE:
            return (f"instinct propose {key}", no)
        return deleting(one.branches)

"""`install` and `uninstall`: put our pieces into agents' settings, and take them out again. Plan everything, then write.

Files are edited as text; what is foreign stays byte for byte. What was put where is noted in $INSTINCT_HOME, so that an
untouched file can be given back exactly; without that note, or after somebody's edit, our pieces are found and cut out.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from instinct_git.bridges.agents import jsonc, own_command, table
from instinct_git.bridges.agents.edited import Edited, NotEditable, without
from instinct_git.bridges.agents.pieces import ABSENT, OURS, THEIRS, Piece
from instinct_git.bridges.agents.table import AGENTS, BY_NAME, Agent, Surroundings, Target
from instinct_git.core.digest import sha256_hex
from instinct_git.errors import InstinctError
from instinct_git.operations.foreign import Change, Plan, as_text, read, real_path, refuse_read_only
from instinct_git.storage import files, installed
from instinct_git.storage.installed import Note

PROJECT, USER, BOTH = "project", "user", ""
"""Levels: only the repository's files; only the person's; the repository's, and the person's where an agent has no other."""


class State(NamedTuple):
    """How one agent's file stands."""

    agent: str
    level: str
    path: str
    state: str
    """wired, partly, absent, yours (a registration of your own) or unreadable."""
    words: str = ""


def surroundings(start: Path) -> Surroundings:
    """Return where agents keep their files, seen from a folder."""
    top, _, _ = files.find_repository(start.absolute())
    return Surroundings(top, Path.home(), os.environ)


def detected(where: Surroundings) -> list[str]:
    """Return the agents whose command or folder is there."""
    import shutil

    found = []
    for one in AGENTS:
        spots = ((where.folder(base), name) for base, name in one.traces)
        if any(folder is not None and (folder / name).exists() for folder, name in spots) or any(
            shutil.which(command, path=where.environ.get("PATH")) for command in one.commands
        ):
            found.append(one.name)
    return found


def plan_install(
    where: Surroundings, home: Path, names: Iterable[str], level: str = BOTH, *, by_agent: bool = False
) -> Plan:
    """Plan to put the pieces of some agents in; `by_agent` lets their own commands write the registration, where that can
    be undone to the byte. Raises InstinctError when a file cannot be edited: nothing is then written."""
    agents = _agents(names)
    drafts = _Drafts(where, home)
    notices = []
    for agent in agents:
        for target in _targets(where, agent, level):
            draft = drafts.open(agent, target)
            if by_agent:
                notices += draft.let(agent.name, where.environ)
            for piece in target.pieces:
                notices += draft.put(piece)
        if level == PROJECT and agent.only_user:
            paths = ", ".join(str(target.path(where)) for target in agent.only_user)
            notices.append(f"{agent.name}: its MCP server is registered in {paths} alone, which --project leaves alone")
    if where.top is None and level == PROJECT:
        raise InstinctError("there is no repository here", "go into one, or use --user")
    return Plan(drafts.changes(), tuple(one.name for one in agents), tuple(notices))


def plan_uninstall(where: Surroundings, home: Path, names: Iterable[str], level: str = BOTH) -> Plan:
    """Plan to take the pieces of some agents out. What another agent that is wired reads too stays."""
    agents = _agents(names)
    drafts = _Drafts(where, home)
    notices = []
    for agent in agents:
        for target in _targets(where, agent, level):
            keeper = _keeper(where, agents, target, level)
            if keeper:
                notices.append(f"{target.path(where)} stays: {keeper} reads it too")
                continue
            draft = drafts.open(agent, target)
            if draft.original.strip():
                draft.take_out()
        left = [
            str(target.path(where))
            for target in _elsewhere(where, agent, level)
            if _state(where, target)[0] in (WIRED, PARTLY)
        ]
        if left:
            notices.append(f"{agent.name} is also wired in {', '.join(left)}: `instinct uninstall {agent.name} --user`")
    return Plan(drafts.changes(), tuple(one.name for one in agents), tuple(notices))


WIRED, PARTLY, YOURS, UNREADABLE = "wired", "partly", "yours", "unreadable"


def status(where: Surroundings) -> list[State]:
    """Say of every agent that is there, or has something of ours, how each of its files stands."""
    found, there = [], detected(where)
    for agent in AGENTS:
        rows, wired = [], agent.name in there
        for level, targets in (("project", agent.project), ("user", (*agent.user, *agent.only_user))):
            for target in targets:
                path = target.path(where)
                if path is not None:
                    rows.append(State(agent.name, level, str(path), *_state(where, target)))
                    wired = wired or (rows[-1].state != ABSENT and not _shared(target))
        found += rows if wired else []
    return found


def _shared(target: Target) -> bool:
    """True for a file that several agents read: what stands in it does not tell which of them is used."""
    return sum(target in one.project for one in AGENTS) > 1


# --- planning -------------------------------------------------------------------------------------------------------


def _agents(names: Iterable[str]) -> list[Agent]:
    found = []
    for name in dict.fromkeys(names):
        if name not in BY_NAME:
            import difflib

            near = difflib.get_close_matches(name, BY_NAME, n=1)
            hint = f"did you mean {near[0]}?" if near else "agents: " + ", ".join(BY_NAME)
            raise InstinctError(f"there is no agent {name!r}", hint)
        found.append(BY_NAME[name])
    return found


def _targets(where: Surroundings, agent: Agent, level: str) -> Sequence[Target]:
    if level == USER or where.top is None:
        return (*agent.user, *agent.only_user)
    return agent.project if level == PROJECT else (*agent.project, *agent.only_user)


def _elsewhere(where: Surroundings, agent: Agent, level: str) -> Sequence[Target]:
    return () if level == USER or where.top is None else agent.user


def _keeper(where: Surroundings, leaving: Sequence[Agent], target: Target, level: str) -> str:
    """Return the name of an agent that stays, is wired in another file, and reads this one too."""
    for agent in AGENTS:
        if agent not in leaving:
            targets = _targets(where, agent, USER if level == USER else BOTH)
            others = [one for one in targets if one != target]
            if target in targets and any(_state(where, one)[0] in (WIRED, PARTLY) for one in others):
                return agent.title
    return ""


def _state(where: Surroundings, target: Target) -> tuple[str, str]:
    path = target.path(where)
    try:
        text = "" if path is None else as_text(read(real_path(path)), path)
        states = [piece.state(text) for piece in target.pieces] if text.strip() else [ABSENT]
        _refuse_comments(target, text)
    except InstinctError as problem:
        return UNREADABLE, problem.message
    except NotEditable as problem:
        return UNREADABLE, str(problem)
    if THEIRS in states:
        return YOURS, "it has a registration `instinct` of your own"
    return (WIRED if set(states) == {OURS} else PARTLY if OURS in states else ABSENT), ""


class _Draft:
    """One file while a plan is made."""

    def __init__(self, path: Path, target: Target, before: bytes | None, note: Note | None) -> None:
        self.path, self.target, self.before = path, target, before
        self.agents: list[str] = []
        self.what: list[str] = []
        self.original = as_text(before, path)
        exact = note is not None and before is not None and note.sha == sha256_hex(before)
        self.note = note if exact else None
        self.edited = Edited(self.original, note.spans if note is not None and exact else ())
        if before is None:
            self.edited = Edited(target.skeleton)

    @property
    def text(self) -> str:
        """The text so far."""
        return self.edited.text

    def put(self, piece: Piece) -> list[str]:
        """Add a piece where it is not there; return notices."""
        try:
            state = piece.state(self.text)
            _refuse_comments(self.target, self.original)
            if state == ABSENT:
                self.edited = piece.add(self.edited)
                self.what.append(piece.what)
        except NotEditable as problem:
            raise self._refused(problem) from None
        if state == THEIRS:
            return [f"{self.path} has a registration `instinct` of your own: left as it is"]
        return []

    def let(self, agent: str, environ: Mapping[str, str]) -> list[str]:
        """Let the agent's own command register the server, on a copy; return notices. Where that cannot be taken, `put`
        does it."""
        command = own_command.COMMANDS.get((agent, "project" if self.target.base == table.PROJECT else "user"))
        server = next((piece for piece in self.target.pieces if piece.what == "MCP server"), None)
        if command is None or server is None or self.edited.text not in (self.original, self.target.skeleton):
            return []
        try:
            if server.state(self.original) != ABSENT or self.edited.spans:
                return []
            found = own_command.tried(command, self.original if self.before is not None else None, environ)
            if isinstance(found, Edited):
                left = "".join(server.remove(found.text).split())
                alone = self.before is not None or left in ("", "{}")
                if server.state(found.text) != OURS or not alone:
                    found = f"`{command.words[0]} mcp add` writes more than the registration"
        except NotEditable:
            return []  # `put` says why
        if isinstance(found, str):
            return [f"{self.path} is edited here: {found}"]
        self.edited = found
        self.what.append(f"{server.what} (by `{command.words[0]} mcp add`)")
        return []

    def take_out(self) -> None:
        """Take all pieces out: exactly where the note tells how, else by finding them."""
        start = without(self.text, self.edited.spans) if self.edited.spans else self.text
        try:
            text = start
            for piece in self.target.pieces:
                if piece.remove(self.original) != self.original:
                    self.what.append(piece.what)
                if text.strip():
                    text = piece.remove(text)
        except NotEditable as problem:
            raise self._refused(problem) from None
        self.edited = Edited(text)

    def _refused(self, problem: NotEditable) -> InstinctError:
        return InstinctError(
            f"{self.path} is not touched: {problem}", "nothing was written anywhere; mend the file, then run this again"
        )

    def after(self) -> bytes | None:
        """Return the file's new bytes; None: no file."""
        if self.before is None and not self.what:
            return None
        emptied = "".join(self.text.removeprefix("\ufeff").split()) in ("", "{}", "".join(self.target.skeleton.split()))
        if self.before is not None and emptied and self.text != self.original:
            given_back = self.note is not None and not self.note.created
            return self.text.encode() if given_back else None
        return self.text.encode()

    def new_note(self, after: bytes | None, made: Collection[str]) -> Note | None:
        """Return what makes the way back exact; `made` are the folders that earlier installations made."""
        if after is None:
            return None
        created = self.before is None or (self.note is not None and self.note.created)
        spans = ((0, len(self.text)),) if created else self.edited.spans
        folders = self.note.folders if self.note is not None else ()
        if self.before is None:
            folders = tuple(str(one) for one in real_path(self.path).parents if not one.exists() or str(one) in made)
        return Note(sha256_hex(after), spans, created, folders) if spans else None


class _Drafts:
    """The files of a plan, each once, however many agents share it."""

    def __init__(self, where: Surroundings, home: Path) -> None:
        self._where, self._notes = where, installed.read(home)
        self._drafts: dict[Path, _Draft] = {}

    def open(self, agent: Agent, target: Target) -> _Draft:
        """Return the draft of a target's file."""
        path = target.path(self._where)
        if path is None:
            raise InstinctError("there is no repository here", "go into one, or use --user")
        real = real_path(path)
        if real not in self._drafts:
            self._drafts[real] = _Draft(path, target, read(real), self._notes.get(str(real)))
        if agent.name not in self._drafts[real].agents:
            self._drafts[real].agents.append(agent.name)
        return self._drafts[real]

    def changes(self) -> tuple[Change, ...]:
        """Return what would be written."""
        found = []
        made = {folder for note in self._notes.values() for folder in note.folders}
        for real, one in self._drafts.items():
            after = one.after()
            if after == one.before:
                continue
            action = "create" if one.before is None else "remove" if after is None else "edit"
            change = Change(
                tuple(one.agents), one.path, real, action, tuple(dict.fromkeys(one.what)), self._outside(one, real), one.before,
                after, one.new_note(after, made), one.note.folders if one.note else (),
            )  # fmt: skip
            refuse_read_only(change)
            found.append(change)
        return tuple(found)

    def _outside(self, one: _Draft, real: Path) -> bool:
        """True for a file of the person's, even where their home is itself a repository."""
        top = self._where.top
        return (
            top is None
            or one.target.base != table.PROJECT
            or not real.is_relative_to(top.resolve())
            or real.is_relative_to(top.resolve() / ".git")
        )


def _refuse_comments(target: Target, text: str) -> None:
    """Raise NotEditable where the agent itself cannot read the file: what is put in would be ignored with the rest."""
    if not text.removeprefix("\ufeff").strip() or target.takes == table.JSONC:
        return
    if target.takes == table.JSON and jsonc.has_comment(text):
        raise NotEditable("it has a comment or a trailing comma, and this agent then ignores the whole file")
    if jsonc.has_trailing_comma(text):
        raise NotEditable("it has a trailing comma, and this agent then ignores the whole file")


def as_json(plan: Plan, *, dry_run: bool) -> Mapping[str, object]:
    """Return a plan as plain data."""
    rows = [
        {
            "agents": list(one.agents),
            "path": str(one.path),
            "action": one.action,
            "what": list(one.what),
            "outside": one.outside,
        }
        for one in plan.changes
    ]
    return {"dry_run": dry_run, "changes": rows, "notices": list(plan.notices)}

"""`doctor`'s proof: every wired command is run as the agent would run it, and what it says is what a session gets.

Nothing is left behind: the event that a session-start hook gets names no session, other hooks run switched off, and a
server is asked for its tools and ended. A program that lies in the repository is not run unless the person has put it
on their PATH: a repository must not decide what `doctor` starts.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from instinct_git import __version__
from instinct_git.bridges import probing
from instinct_git.bridges.agents import registered
from instinct_git.bridges.agents.registered import CAPTURE, SERVER, START, Registered
from instinct_git.bridges.agents.table import BY_NAME, Agent, Surroundings
from instinct_git.bridges.agents.trust import NO, UNKNOWN, Trust, trust
from instinct_git.operations import installing
from instinct_git.operations.diagnosing import FINE, NOTICE, PROBLEM, Diagnosis

HOOK_SECONDS, SERVER_SECONDS = 10.0, 30.0
"""After so long an agent has given up on a hook, or on a server."""
SLOW_MS = 3000
"""A session's start that waits longer is felt; Codex cuts some hooks there."""
OWN = (sys.executable, "-P", "-m", "instinct_git", "session-start", "claude-code")
"""What this very program would tell a session. -P: a module of this name in the project must not be run."""
PROGRAMS = ("instinct",)
OURS = "instinct-git "


class Program(NamedTuple):
    """A program that a command names."""

    path: str
    """Where it is; empty: nowhere."""
    version: str = ""
    """Of instinct-git; empty: another program, or none that answers."""
    problem: str = ""


class Proof(NamedTuple):
    """How one agent stands, and the one thing to do."""

    agent: str
    title: str
    wired: str
    """wired, plugin, partly, absent, yours or unreadable."""
    trusted: str
    """yes, no, or unknown where the agent's notes do not tell."""
    program: Program | None
    patterns: int | None
    """Patterns that the next session is told by the hook; None: no hook was run."""
    characters: int
    hook_ms: int | None
    server_ms: int | None
    """Milliseconds from the start of the server to its list of tools; None: none was started."""
    tools: int
    state: str
    words: str
    hint: str = ""


class Session(NamedTuple):
    """What the next session is told."""

    text: str
    patterns: int
    ms: int
    problem: str = ""


class Proofs(NamedTuple):
    """Everything that was tried."""

    agents: tuple[Proof, ...]
    session: Session
    programs: tuple[Program, ...]
    """What the PATH finds under our name, the first first."""


def prove(folder: Path, where: Surroundings, keys: Sequence[str], unread: str = "") -> Proofs:
    """Try every wired agent; `keys` are the patterns that a session should be told, `unread` is why they cannot be read."""
    prober = _Prober(folder, where, keys)
    agents: dict[str, list[installing.State]] = {}
    for row in installing.status(where):
        agents.setdefault(row.agent, []).append(row)
    own = prober.told(OWN, "claude-code")
    if unread and not own.problem:  # a hook is silent about it
        own = own._replace(problem=unread)
    proofs = tuple(_prove(BY_NAME[name], rows, prober, own) for name, rows in agents.items())
    return Proofs(proofs, own, tuple(prober.program((path,)) for path in _on_path(where)))


def rows(proofs: Proofs) -> Iterator[Diagnosis]:
    """Say it as `doctor` says everything else."""
    yield from _program_rows(proofs.programs)
    session = proofs.session
    if session.problem:
        yield Diagnosis("next session", PROBLEM, session.problem, "`instinct suggest` says more")
    else:
        count = f"{session.patterns} pattern{'' if session.patterns == 1 else 's'}"
        words = (
            f"{count}, {len(session.text)} characters, in {session.ms} ms" if session.text else "nothing to tell yet"
        )
        yield Diagnosis("next session", FINE, words)
    yield from (Diagnosis(one.title, one.state, one.words, one.hint) for one in proofs.agents)


def _program_rows(programs: Sequence[Program]) -> Iterator[Diagnosis]:
    ours = [one for one in programs if one.version]
    if not programs:
        yield Diagnosis(
            "program",
            NOTICE,
            "`instinct` is not on your PATH",
            "agents look for it there: install instinct-git for all your projects",
        )
    elif programs[0] not in ours:
        yield Diagnosis(
            "program", PROBLEM, f"{programs[0].path} is another program of that name", "put instinct-git before it on your PATH"
        )  # fmt: skip
    elif len({one.version for one in ours} | {__version__}) > 1:
        found = ", ".join(f"{one.version} at {one.path}" for one in ours)
        yield Diagnosis(
            "program", PROBLEM, f"several versions of instinct-git: {found}; this is {__version__}",
            "keep one: agents run the first on their PATH",
        )  # fmt: skip
    else:
        yield Diagnosis("program", FINE, f"instinct-git {__version__} at {ours[0].path}")


def _on_path(where: Surroundings) -> list[str]:
    """Return the programs of our name on the PATH, each real file once."""
    found: dict[str, str] = {}
    for folder in where.environ.get("PATH", "").split(os.pathsep):
        for name in PROGRAMS:
            path = shutil.which(name, path=folder) if os.path.isabs(folder) else None
            if path:
                found.setdefault(os.path.realpath(path), path)
    return list(found.values())


class _Prober:
    """Runs each command once, however many agents have it."""

    def __init__(self, folder: Path, where: Surroundings, keys: Iterable[str]) -> None:
        self.folder, self.where = folder, where
        self._keys = [*keys]
        self._programs: dict[str, Program] = {}
        self._versions: dict[str, probing.Answer] = {}
        self._servers: dict[tuple[str, ...], probing.Answer] = {}

    def program(self, words: Sequence[str]) -> Program:
        """Return the program that a command names, with its version."""
        name = words[0]
        if name not in self._programs:
            self._programs[name] = self._asked(name)
        return self._programs[name]

    def _asked(self, name: str) -> Program:
        path = shutil.which(name, path=self.where.environ.get("PATH"))
        if path is None:
            return Program("", problem=f"{name} is not found")
        if not os.path.isabs(path):  # it depends on where one stands, and a repository may have put it there
            return Program(path, problem=f"{path} is found through a relative folder of your PATH: not run")
        top = self.where.top
        if top is not None and os.sep in name and Path(path).absolute().is_relative_to(top) and not self._chosen(path):
            return Program(path, problem=f"{path} lies in this repository and is not on your PATH: not run")
        asked = os.path.join(os.path.dirname(path), "instinct" + Path(path).suffix)  # instinct-hook has no --version
        if asked not in self._versions:
            self._versions[asked] = probing.run((asked, "--version"), Path(asked).parent, seconds=HOOK_SECONDS)
        found = self._versions[asked]
        if found.code is None:
            return Program(path, problem=f"{path}: {found.problem}")
        if not found.out.startswith(OURS):
            return Program(path, problem=f"{path} is not instinct-git")
        return Program(path, found.out.removeprefix(OURS).split()[0])

    def _chosen(self, path: str) -> bool:
        """True where the person's own PATH, or this very process, has the program."""
        real = os.path.realpath(os.path.dirname(path))
        folders = {os.path.realpath(one) for one in self.where.environ.get("PATH", "").split(os.pathsep) if one}
        return real in folders or real == os.path.realpath(os.path.dirname(sys.executable))

    def told(self, words: Sequence[str], agent: str) -> Session:
        """Run a session-start command and return what the agent would take from it."""
        event: dict[str, Any] = {"cwd": str(self.folder), "source": "startup"}  # no session: nothing is noted of it
        if agent == "cursor":
            event["workspace_roots"] = [str(self.folder)]
        if agent != "copilot":
            event["hook_event_name"] = "SessionStart"
        found = probing.run(words, self.folder, stdin=json.dumps(event), seconds=HOOK_SECONDS)
        if found.code != 0:
            why = found.problem or f"exit code {found.code}"
            return Session("", 0, found.ms, f"`{' '.join(words)}`: {why}")
        try:
            text = _context(json.loads(found.out)) if found.out.strip() else ""
        except ValueError:
            return Session("", 0, found.ms, f"`{' '.join(words)}` prints what is no JSON")
        return Session(text, sum(f"`{key}`" in text for key in self._keys), found.ms)

    def captured(self, words: Sequence[str]) -> str:
        """Run a hook that takes events, switched off; return what went wrong, empty when nothing did."""
        found = probing.run(words, self.folder, stdin="{}", env={"INSTINCT_SKIP": "1"}, seconds=HOOK_SECONDS)
        why = found.problem or (f"exit code {found.code}" if found.code else "")
        return f"`{' '.join(words)}`: {why}" if why else ""

    def served(self, words: tuple[str, ...]) -> probing.Answer:
        """Start a server as it is registered and return its answer."""
        real = tuple(word.replace("${workspaceFolder}", str(self.folder)) for word in words)
        if real not in self._servers:
            self._servers[real] = probing.ask_server(real, self.folder, seconds=SERVER_SECONDS)
        return self._servers[real]


def _context(value: Any) -> str:
    """Return the text that an answer hands to the agent."""
    if not isinstance(value, dict):
        return ""
    own = next(
        (value[name] for name in ("additionalContext", "additional_context") if isinstance(value.get(name), str)), ""
    )
    return own or next((found for one in value.values() if (found := _context(one))), "")


# --- one agent --------------------------------------------------------------------------------------------------------


def _prove(agent: Agent, rows: Sequence[installing.State], prober: _Prober, own: Session) -> Proof:
    where = prober.where
    wired = _wired(rows)
    blank = Proof(agent.name, agent.title, wired, UNKNOWN, None, None, 0, None, None, 0, NOTICE, "")
    by_plugin = registered.plugin(where, agent.name)
    if by_plugin is not None and wired in ("absent", "yours"):
        found = registered.ours(agent, by_plugin)
        known = trust(agent.name, where, project=False)
        return _judged(blank._replace(wired="plugin", trusted=known.state), known, _measured(agent, found, prober), own)
    if wired == "absent":
        return blank._replace(words="is here and not wired", hint=f"`instinct install {agent.name}`")
    if wired in ("yours", "unreadable"):
        bad = next(one for one in rows if one.state == wired)
        state, hint = (NOTICE, "it is left as it is") if wired == "yours" else (PROBLEM, "mend the file")
        return blank._replace(state=state, words=f"{bad.path}: {bad.words}", hint=hint)
    used = [one for one in rows if one.state in ("wired", "partly")]
    targets = [target for target in (*agent.project, *agent.user, *agent.only_user)
               if any(str(target.path(where)) == one.path for one in used)]  # fmt: skip
    found = [one for target in targets for one in registered.commands(where, target)]
    hooks = next((one.path for one in found if one.role == START), None)
    known = trust(agent.name, where, project=any(one.level == "project" for one in used), hooks=hooks)
    done = _judged(blank._replace(trusted=known.state), known, _measured(agent, found, prober), own)
    if by_plugin is not None and done.state == FINE:
        words = f"its plugin is in use too, so hooks run twice; {done.words}"
        return done._replace(
            state=NOTICE, words=words, hint=f"`instinct uninstall {agent.name}`, or take the plugin out"
        )
    return done


def _wired(rows: Sequence[installing.State]) -> str:
    """Return the state that matters: of the project's files, or else of the person's."""
    states = [one.state for one in rows]
    by_level = [[one.state for one in rows if one.level == level] for level in ("project", "user")]
    if any(one and set(one) == {"wired"} for one in by_level):
        return "wired"
    return next((one for one in ("unreadable", "partly", "wired", "yours") if one in states), "absent").replace(
        "wired", "partly"
    )


class _Measured(NamedTuple):
    """What an agent's commands did."""

    program: Program | None = None
    session: Session | None = None
    server: probing.Answer | None = None
    problem: str = ""
    """The first thing that went wrong."""
    hint: str = ""


def _measured(agent: Agent, found: Sequence[Registered], prober: _Prober) -> _Measured:
    done = _Measured()
    for one in found:
        program = prober.program(one.words)
        done = done._replace(program=done.program or program)
        if program.problem:
            return done._replace(program=program, problem=program.problem, hint=_where_to_find(program))
        if program.version != __version__:
            words = f"{program.path} is version {program.version}, this is {__version__}"
            return done._replace(
                program=program, problem=words, hint="update the older one, so that there is one version"
            )
    for one in found:
        if one.role == CAPTURE and not done.problem:
            done = done._replace(problem=prober.captured(one.words), hint="run it by hand to see why")
    start = next((one for one in found if one.role == START), None)
    server = next((one for one in found if one.role == SERVER), None)
    return done._replace(
        session=prober.told(start.words, agent.name) if start else None,
        server=prober.served(server.words) if server else None,
    )


def _where_to_find(program: Program) -> str:
    here = Path(sys.executable).parent
    if not program.path and (here / "instinct").exists():
        return f"put {here} on the PATH that the agent sees"
    return (
        "install instinct-git so that it is on your PATH"
        if not program.path
        else "use an instinct-git that is installed outside"
    )


def _judged(proof: Proof, known: Trust, done: _Measured, own: Session) -> Proof:
    """Put together what was seen, with the first thing to do."""
    session, server = done.session, done.server
    tools = len(json.loads(server.out).get("tools", [])) if server is not None and server.out else 0
    proof = proof._replace(
        program=done.program, tools=tools, patterns=session.patterns if session else None,
        characters=len(session.text) if session else 0, hook_ms=session.ms if session else None,
        server_ms=server.ms if server else None,
    )  # fmt: skip
    problem, hint = _first_problem(proof, known, done, own)
    told = [proof.wired, *(["trusted"] if known.state == "yes" else [])]
    if session is not None and not session.problem:
        told.append(
            f"the hook tells {session.patterns} pattern{'' if session.patterns == 1 else 's'} in {session.ms} ms"
        )
    if server is not None and not server.problem:
        told.append(f"the MCP server has {tools} tools after {server.ms} ms")
    state = PROBLEM if problem else FINE
    return proof._replace(state=state, words="; ".join([*([problem] if problem else []), *told]), hint=hint)


def _first_problem(proof: Proof, known: Trust, done: _Measured, own: Session) -> tuple[str, str]:
    if done.problem:
        return done.problem, done.hint
    if proof.wired == "partly":
        return "a part of the wiring is missing", f"`instinct install {proof.agent}`"
    session = done.session
    if session is not None and session.problem:
        return session.problem, "run it by hand to see why"
    if session is not None and own.text and not session.text:
        return (
            "its hook says nothing, though there is something to tell",
            "compare PATH and INSTINCT_HOME with the agent's",
        )
    if session is not None and session.ms > SLOW_MS:
        return f"its hook takes {session.ms} ms", "`instinct check`, and look at what else the machine does"
    if done.server is not None and done.server.problem:
        return f"its MCP server does not answer: {done.server.problem}", "run `instinct serve` by hand to see why"
    if known.state == NO:
        return "it does not trust this project yet", known.step
    return "", ""

"""Finds what a session keeps doing: sequences of actions, failures with their remedy, and preferences. Pure.

Every key is made of action names and of the tables here, never of a person's or a model's words, a path or an
argument. The same transcripts give the same answer, whatever their order.

* **Sequences** ``seq:a->b->c``: two to five steps of one thread. Looks (`actions.LOOKS`), refused calls and calls
  that did not happen (failed, and not a check) may lie between; a run of one action is one step, and so is a run of
  edits and writes. Three steps or more need ``min_support``; two steps happen by chance, and need one more.
* **Boring** is a sequence whose steps are all `actions.CHANGES`; one that comes back to a step that is no check, or
  twice to a check; and one that ends in a change after a check or after a single step, for an edit follows
  everything. So a loop is told once, from the check: ``test->edit->test``, neither ``edit->test->edit`` nor
  ``test->edit``; and of two steps that take turns one order is told.
* **The report is small**: patterns are taken by support x steps (then the longer, then the key), at most
  `PER_SESSION` for a session. A part of a pattern that is told is told too only if it occurs twice as often; any
  other pattern only if at least half of its transitions are not told already.
* **Fixes** ``fix:<class>``: see `core.mining.FIXES`.
* **Preferences**: see `_preferences`. **Combos** ``combo:a+b``: see `core.combos`.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from instinct_git.core import actions, combos
from instinct_git.core.actions import CHANGES, CHECKS, LOOKS, shell_line
from instinct_git.core.transcript import ToolCall, Transcript

PER_SESSION = 12  # sequences told about one session, at most
LONGEST = 5  # steps in a sequence, at most
LONGEST_TURN = 8  # steps in a sequence that a person asks to remember, at most
WITHIN = 40  # calls of the same thread between a failure and its remedy, at most
HABIT = 5  # uses of a tool before it is told as a preference, at least


@dataclass(frozen=True, slots=True)
class Occurrence:
    """Where a pattern was seen: the session (the agent's own id), the agent, the day (YYYYMMDD) of its first call, the
    call numbers, and the agent's own id of the first call: it stays the same whichever part of a session is read."""

    session: str
    agent: str
    day: str
    calls: tuple[int, ...]
    anchor: str = ""


@dataclass(frozen=True, slots=True)
class Learned:
    """A pattern with its evidence: ``support`` occurrences (non-overlapping) in ``sessions`` different sessions."""

    key: str
    title: str
    support: int
    sessions: int
    occurrences: tuple[Occurrence, ...]


@dataclass(frozen=True, slots=True)
class _Step:
    """A tool call with its action and whether it failed (None: cannot be told, or refused)."""

    call: ToolCall
    action: str
    failed: bool | None


@dataclass(frozen=True, slots=True)
class _Run:
    """Calls in a row that did the same: one step of a sequence."""

    action: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class _Thread:
    transcript: Transcript
    steps: tuple[_Step, ...]


@dataclass(frozen=True, slots=True)
class _Spot:
    """An occurrence in the making: thread index, index of its first run, call numbers."""

    thread: int
    start: int
    calls: tuple[int, ...]


def mine(
    transcripts: Sequence[Transcript], *, extra_actions: Mapping[str, str] | None = None, min_support: int = 2
) -> list[Learned]:
    """The patterns of these sessions, sequences first, each group by support x steps, then key.

    ``extra_actions`` names further tools or commands (see `actions.action_of`); ``min_support`` is the least number of
    occurrences of a sequence, over all sessions together. Fixes and preferences have their own, stated with them.
    """
    threads = _all_threads(transcripts, extra_actions)
    sequences = _sequences(threads, max(1, min_support))
    return sequences + _fixes(threads, sequences) + _preferences(threads) + _combos(threads)


def _all_threads(transcripts: Sequence[Transcript], extra: Mapping[str, str] | None) -> list[_Thread]:
    ordered = sorted(transcripts, key=lambda one: (one.day, one.session, one.agent))
    return [thread for transcript in ordered for thread in _threads(transcript, extra)]


def _threads(transcript: Transcript, extra: Mapping[str, str] | None) -> Iterator[_Thread]:
    steps: dict[str, list[_Step]] = defaultdict(list)
    for call in transcript.calls:
        action = actions.action_of(call.tool, call.input, extra)
        steps[call.thread].append(_Step(call, action, actions.failed(action, call.result, call.is_error)))
    for own in steps.values():
        yield _Thread(transcript, tuple(own))


# --- sequences ------------------------------------------------------------------------------------------------------


def _runs(steps: Sequence[_Step]) -> list[_Run]:
    runs: list[_Run] = []
    for step in steps:
        unfinished = step.failed is None and step.call.result != ""  # refused or interrupted
        if step.action in LOOKS or unfinished or (step.failed and step.action not in CHECKS):
            continue
        number, action = step.call.number, step.action
        before = runs[-1].action if runs else ""
        if action == before or {action, before} == {"edit", "write"}:
            runs[-1] = _Run("edit" if action != before else action, runs[-1].first, number)
        else:
            runs.append(_Run(action, number, number))
    return runs


def _boring(steps: Sequence[str]) -> bool:
    returns = any(number > (2 if step in CHECKS else 1) for step, number in Counter(steps).items())
    idle_end = steps[-1] in CHANGES and (len(steps) == 2 or not CHECKS.isdisjoint(steps))
    return returns or idle_end or set(steps) <= CHANGES


def _windows(runs: Sequence[Sequence[_Run]], sizes: Iterable[int]) -> dict[tuple[str, ...], list[_Spot]]:
    """Where every sequence of these sizes occurs, without overlap."""
    spots: dict[tuple[str, ...], list[_Spot]] = defaultdict(list)
    for number, thread_runs in enumerate(runs):
        for size in sizes:
            for start in range(len(thread_runs) - size + 1):
                window = thread_runs[start : start + size]
                found = spots[tuple(run.action for run in window)]
                if not found or found[-1].thread != number or found[-1].start + size <= start:
                    # All but the last step end a run, the last begins one: the calls that stand next to each other.
                    found.append(_Spot(number, start, (*(run.last for run in window[:-1]), window[-1].first)))
    return spots


def redone(
    transcripts: Sequence[Transcript],
    wanted: Iterable[tuple[str, ...]],
    *,
    extra_actions: Mapping[str, str] | None = None,
) -> list[Learned]:
    """Where known sequences were done again, be it once, in the order of their keys."""
    threads = _all_threads(transcripts, extra_actions)
    known = set(wanted)
    spots = _windows([_runs(thread.steps) for thread in threads], sorted({len(steps) for steps in known}))
    return [
        _learned("seq:" + "->".join(steps), _sequence_title(steps), threads, spots[steps])
        for steps in sorted(known & spots.keys())
    ]


def outward(
    transcripts: Sequence[Transcript], external: Callable[[str], bool], least: int,
    *, extra_actions: Mapping[str, str] | None = None,
) -> list[Learned]:  # fmt: skip
    """Work between two prompts with at least so many external steps, be it done once: the shortest sequence of the turn
    that holds them, unless it is boring or longer than `LONGEST_TURN`."""
    found: dict[tuple[str, ...], list[_Spot]] = {}
    threads = _all_threads(transcripts, extra_actions)
    for number, thread in enumerate(threads):
        runs, ends = _runs(thread.steps), sorted({prompt.after for prompt in thread.transcript.prompts})
        turns = [sum(end < run.first for end in ends) for run in runs]
        taken: set[int] = set()
        for size in range(least, LONGEST_TURN + 1):
            for start in range(len(runs) - size + 1):
                window = runs[start : start + size]
                steps = tuple(run.action for run in window)
                one_turn = turns[start] == turns[start + size - 1]
                if one_turn and turns[start] not in taken and sum(map(external, steps)) >= least and not _boring(steps):
                    taken.add(turns[start])
                    spot = _Spot(number, start, (*(run.last for run in window[:-1]), window[-1].first))
                    found.setdefault(steps, []).append(spot)
    return [
        _learned("seq:" + "->".join(steps), _sequence_title(steps), threads, spots) for steps, spots in found.items()
    ]


def done_between(
    transcript: Transcript, first: int, last: int, *, extra_actions: Mapping[str, str] | None = None
) -> Learned | None:
    """What the main conversation did from call `first` to call `last`, as one sequence; None where it is no sequence
    that a reader would want: a single step, more than `LONGEST_TURN`, or a boring one."""
    for thread in _threads(transcript, extra_actions):
        steps = [step for step in thread.steps if first <= step.call.number <= last]
        runs = _runs(steps) if steps and not steps[0].call.thread else []
        names = tuple(run.action for run in runs)
        if 2 <= len(runs) <= LONGEST_TURN and not _boring(names):
            calls = (*(run.last for run in runs[:-1]), runs[-1].first)
            return _learned("seq:" + "->".join(names), _sequence_title(names), [thread], [_Spot(0, 0, calls)])
    return None


def _sequences(threads: Sequence[_Thread], min_support: int) -> list[Learned]:
    spots = _windows([_runs(thread.steps) for thread in threads], range(2, LONGEST + 1))
    frequent = [
        (steps, found)
        for steps, found in spots.items()
        if len(found) >= min_support + (len(steps) == 2) and not _boring(steps)
    ]
    frequent.sort(key=lambda pair: (-len(pair[0]) * len(pair[1]), -len(pair[0]), pair[0]))
    return [
        _learned("seq:" + "->".join(steps), _sequence_title(steps), threads, found)
        for steps, found in _told(frequent, threads)
    ]


def _told(
    frequent: Iterable[tuple[tuple[str, ...], list[_Spot]]], threads: Sequence[_Thread]
) -> Iterator[tuple[tuple[str, ...], list[_Spot]]]:
    told: set[tuple[int, int]] = set()  # transitions: (thread, index of the run it starts from)
    room: Counter[str] = Counter()
    parts: dict[tuple[str, ...], int] = {}  # part of a told pattern -> the most support of such a pattern
    for steps, found in frequent:
        transitions = {(spot.thread, spot.start + offset) for spot in found for offset in range(len(steps) - 1)}
        sessions = {threads[spot.thread].transcript.session for spot in found}
        new = len(found) >= 2 * parts[steps] if steps in parts else 2 * len(transitions - told) >= len(transitions)
        turned = len(steps) == 2 and steps[::-1] in parts
        if not new or turned or all(room[session] >= PER_SESSION for session in sessions):
            continue
        told |= transitions
        room.update(sessions)
        for part in (steps[i:j] for i in range(len(steps)) for j in range(i + 2, len(steps) + 1)):
            parts[part] = max(parts.get(part, 0), len(found))
        yield steps, found


def _learned(key: str, title: str, threads: Sequence[_Thread], spots: Sequence[_Spot]) -> Learned:
    pairs = [(threads[spot.thread].transcript, spot.calls) for spot in spots]
    occurrences = tuple(_occurrence(one, calls) for one, calls in pairs)
    return Learned(key, title, len(pairs), len({(one.agent, one.session) for one, _ in pairs}), occurrences)


def _occurrence(transcript: Transcript, calls: tuple[int, ...]) -> Occurrence:
    first = transcript.calls[calls[0] - 1]  # calls are numbered from 1, in order
    return Occurrence(transcript.session, transcript.agent, first.day or transcript.day, calls, first.id)


_SAY = {  # what an action is called in a title
    "test": "run the tests", "lint": "run the linter", "typecheck": "check the types", "format": "format the code",
    "edit": "make the change", "write": "write the file", "pull-request": "open the pull request",
    "install": "install packages", "websearch": "search the web", "webfetch": "read the page found",
    "serve": "start the server", "task": "hand over to a subagent", "bd-ready": "list the ready issues",
    "bd-show": "read the issue", "bd-claim": "claim the issue", "bd-close": "close the issue",
    "compile": "compile", "build": "build", "commit": "commit", "push": "push", "pull": "pull",
    "wait": "check its output", "stop": "stop it", "run": "run the script", "fetch": "fetch a page",
    "rm": "remove what is not needed", "mkdir": "make the folder", "skill": "use a skill",
}  # fmt: skip


def _sequence_title(steps: Sequence[str]) -> str:
    """The steps in order, in plain words: "Run the tests, make the change, run the tests again, then commit"."""
    names = [
        _SAY.get(step, f"run {step.replace('-', ' ')}") + (" again" if step in steps[:number] else "")
        for number, step in enumerate(steps)
    ]
    text = f"{', '.join(names[:-1])}, then {names[-1]}"
    return text[0].upper() + text[1:]


# --- fixes ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Fix:
    """A class of failure.

    ``title`` says what to do; ``text`` recognises the failing call's result ("" takes any); ``actions`` are those it
    can strike (empty: any); ``between`` is what has to lie between the failure and the success: "read" (a read, search
    or look), "change" (anything that is no look), "" (nothing, but the same call again is luck and no remedy);
    ``least`` is how often it must have been mended before it is told: 1 where the message is exact, 2 where it is
    common. A class without a text is left out where most of its occurrences are told as a sequence already.
    """

    title: str
    text: str
    actions: frozenset[str] = frozenset()
    between: str = "change"
    least: int = 1


_FILE = frozenset({"edit", "write"})
_CODE = CHECKS | {"run", "serve"}
FIXES: Mapping[str, Fix] = {
    "edit-string-not-found": Fix(
        "Read the file again when an edit does not find its text",
        r"String to replace not found|(?:old_string|oldString|old_str) (?:was )?not found|No match found|did not appear "
        r"verbatim|could not find the string|0 occurrences found|Failed to find (?:expected lines|context)|"
        r"Could not find oldString|not found in displayed lines", _FILE, "read"),
    "edit-string-not-unique": Fix(
        "Give an edit more context when its text is not unique", r"Found \d+ matches of the string|Multiple (?:occurrences of old_str|matches found)|multiple matches for oldString|"
        r"[Ee]xpected 1 occurrence", _FILE, ""),
    "edit-breaks-syntax": Fix(
        "Repair the syntax when an edit is refused for it, then edit again",
        r"edit has introduced new syntax error", _FILE, "", least=2),
    "read-before-edit": Fix("Read a file before changing it", r"File has not been read yet|must read (?:the )?file .{0,300}before", _FILE, "read"),
    "file-changed-since-read": Fix(
        "Read a file again when it changed since it was read",
        r"File (?:\S{1,300} )?has been (unexpectedly )?modified since", _FILE, "read"),
    "pre-commit-hook-failure": Fix(
        "Repair what the commit hook refuses, then commit again",
        r"[Pp]re-?commit|husky|hook (id|failed|declined)|commit-msg|lint-staged", frozenset({"commit"})),
    "git-ignored-path": Fix(
        "Add an ignored file on purpose, or leave it out",
        r"paths are ignored by one of your \.gitignore", frozenset({"commit", "stage"}), ""),
    "git-push-rejected": Fix(
        "Bring the branch up to date when a push is rejected",
        r"non-fast-forward|fetch first|\[rejected\]|has no upstream branch", frozenset({"push"}), ""),
    "missing-import": Fix(
        "Add the import or the dependency that is missing",
        r"ModuleNotFoundError|No module named|cannot import name|Cannot find module|unresolved import|"
        r"Undefined name|\bF821\b|NameError: name", _CODE, least=2),
    "command-not-found": Fix("Call a tool that is not on the path in another way",
        r"command not found|sh\S{0,20}: .{0,80}: not found|is not recognized as", between=""),
    "port-in-use": Fix("Free the port before starting the server", r"EADDRINUSE|[Aa]ddress already in use"),
    "syntax-error": Fix("Repair the syntax error", r"SyntaxError|IndentationError|syntax error", _CODE, least=2),
    "permission-denied": Fix("Mend the permission that is missing", r"[Pp]ermission denied|EACCES|EPERM", least=2),
    "lint-failure": Fix("Repair what the linter finds and run it again", "", frozenset({"lint"}), least=2),
    "typecheck-failure": Fix("Repair the types and check them again", "", frozenset({"typecheck"}), least=2),
    "compile-failure": Fix("Repair what does not compile", "", frozenset({"compile", "build"}), least=2),
    "test-failure": Fix("Repair what the tests find and run them again", "", frozenset({"test"}), least=2),
}  # fmt: skip
"""Classes of failure; the first that fits is taken. A remedy is the same action on the same target that succeeds."""

_BYPASS = re.compile(r"--no-verify|--no-gpg-sign|--force\b|\bSKIP=|HUSKY=0")


def _fixes(threads: Sequence[_Thread], sequences: Sequence[Learned]) -> list[Learned]:
    found: dict[str, list[_Spot]] = defaultdict(list)
    for number, thread in enumerate(threads):
        for name, start, calls in _mended(thread.steps):
            found[name].append(_Spot(number, start, calls))
    told = [(one.session, set(one.calls)) for learned in sequences for one in learned.occurrences]
    learned = []
    for name, fix in FIXES.items():
        spots = found.get(name, [])
        if not fix.text:  # a loop that is told as a sequence is not told twice
            spots_told = [spot for spot in spots if _is_told(threads[spot.thread].transcript.session, spot.calls, told)]
            spots = [] if 2 * len(spots_told) > len(spots) else spots
        if len(spots) >= fix.least:
            learned.append(_learned(f"fix:{name}", fix.title, threads, spots))
    return sorted(learned, key=lambda one: (-one.support, one.key))


def _is_told(session: str, calls: tuple[int, ...], told: Iterable[tuple[str, set[int]]]) -> bool:
    return any(session == where and len(known.intersection(calls)) >= 2 for where, known in told)


def _mended(steps: Sequence[_Step]) -> Iterator[tuple[str, int, tuple[int, ...]]]:
    """(class, index, calls) for each failure that ends: from its last failing call to the call that succeeds."""
    open_failures: dict[tuple[str, str], tuple[str, int]] = {}
    for index, step in enumerate(steps):
        if step.action in LOOKS and step.action != "stage":
            continue
        where = ("edit" if step.action in _FILE else step.action, _target(step))
        if step.failed:
            name = _class_of(step)
            if name is None:
                open_failures.pop(where, None)
            else:
                open_failures[where] = (name, index)
        elif step.failed is False and where in open_failures:
            name, start = open_failures.pop(where)
            repair = _repair(FIXES[name], steps[start:index], step)
            bypass = _BYPASS.search(shell_line(step.call.input) or "")
            if repair is not None and index - start <= WITHIN and not bypass:
                yield name, start, (steps[start].call.number, *repair, step.call.number)


def _class_of(step: _Step) -> str | None:
    for name, fix in FIXES.items():
        if (not fix.actions or step.action in fix.actions) and re.search(fix.text, step.call.result):
            return name
    return None


def _target(step: _Step) -> str:
    """What the call was about: the file for file tools, the program and its first argument for nameless runs."""
    given = step.call.input
    path = next((given[name] for name in ("file_path", "path", "filePath", "notebook_path") if name in given), None)
    if isinstance(path, str):
        return path
    line = shell_line(step.call.input) or ""
    return actions.tool_used(line) if step.action == "run" or step.action in _FILE else ""


def _repair(fix: Fix, passed: Sequence[_Step], remedy: _Step) -> tuple[int, ...] | None:
    """The last call between that helped, as a tuple of its number; () if none is needed; None if it is missing."""
    wanted = [
        step.call.number
        for step in passed[1:]
        if step.failed is False
        and (step.action in ("read", "search", "look") if fix.between == "read" else step.action not in LOOKS)
    ]
    if wanted:
        return (wanted[-1],)
    return () if fix.between == "" and passed[0].call.input != remedy.call.input else None


# --- preferences ----------------------------------------------------------------------------------------------------

_CONVENTIONAL = re.compile(
    r"(feat|fix|docs|style|refactor|perf|test|tests|build|ci|chore|revert|deps|security|release)(\([^()]+\))?!?: \S"
)
_PACKAGE_MANAGERS = {
    "npm": "js", "pnpm": "js", "yarn": "js", "bun": "js", "pip": "python", "pip3": "python", "uv": "python",
    "poetry": "python", "pipenv": "python", "pdm": "python", "conda": "python",
}  # fmt: skip


def _preferences(threads: Sequence[_Thread]) -> list[Learned]:
    """What is done the same way nearly every time: at least nine in ten, of at least 3 commits or `HABIT` uses."""
    choices: dict[str, dict[str, list[_Spot]]] = defaultdict(lambda: defaultdict(list))
    for number, thread in enumerate(threads):
        for index, step in enumerate(thread.steps):
            line = shell_line(step.call.input)
            chosen = _choice(step, line) if line is not None and step.failed is not None else None
            if chosen is not None:
                choices[chosen[0]][chosen[1]].append(_Spot(number, index, (step.call.number,)))
    learned = []
    for topic, uses in choices.items():
        what, say = _PREFERENCES[topic.partition(" ")[0]]
        for name, spots in _clear(uses, 3 if topic == "commit" else HABIT):
            learned.append(_learned(f"pref:{what}={name}", say.format(name.replace("-", " ")), threads, spots))
    return sorted(learned, key=lambda one: (-one.support, one.key))


_PREFERENCES = {
    "commit": ("commits", "Write commit subjects as Conventional Commits"),
    "install": ("package-manager", "Install packages with {}"),
    "test": ("test-runner", "Run the tests with {}"),
}


def _combos(threads: Sequence[_Thread]) -> list[Learned]:
    done = [
        [(step.action, step.call.number) for step in thread.steps if step.failed is not None or not step.call.result]
        for thread in threads
    ]
    return [
        _learned(
            "combo:" + "+".join(one.actions),
            _sequence_title(one.actions),
            threads,
            [_Spot(number, 0, calls) for number, calls in one.occurrences],
        )
        for one in combos.find(done)
    ]


def _choice(step: _Step, line: str) -> tuple[str, str] | None:
    """(topic, what was chosen) of a call that chooses something; "" for a choice that is never told."""
    if step.action == "commit" and not step.failed:
        subject = actions.commit_subject(line)
        return ("commit", "conventional" if _CONVENTIONAL.match(subject) else "") if subject else None
    tool = actions.tool_used(line, step.action).partition(" ")[0]
    if step.action == "install" and tool in _PACKAGE_MANAGERS:
        return f"install {_PACKAGE_MANAGERS[tool]}", tool.rstrip("3")
    if step.action == "test" and "test" in (actions.ACTIONS.get(tool), actions.ACTIONS.get(f"{tool} test")):
        return "test", tool if actions.ACTIONS.get(tool) == "test" else f"{tool}-test"
    return None


def _clear(choices: Mapping[str, list[_Spot]], least: int) -> list[tuple[str, list[_Spot]]]:
    total = sum(map(len, choices.values()))
    return [(name, own) for name, own in choices.items() if name and len(own) >= least and 10 * len(own) >= 9 * total]

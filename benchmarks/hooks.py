#!/usr/bin/env python3
"""What hooks cost an agent: each event as a whole process, what it injects, and a session of 200 calls with and without.

usage: python benchmarks/hooks.py [--runs 15] [--patterns 10 10000] [--json]

Prints medians of wall-clock and processor milliseconds and their ratios to `python -c pass`, taken in turns in one run,
because machines are noisy (the second is the steadier one on a busy machine), and the tokens that an event hands the agent.
Run it with the Python of an environment where the package is installed as users install it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from processes import BASE, figure, processor
from setting import call, sealed

from instinct_git.core.ranking import tokens

CALLS, TURNS = 200, 10
PROMPT = "The migration of the database fails in the tests, please look into it"


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--patterns", type=int, nargs="+", default=[10, 10_000])
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    figures: dict[str, dict[str, object]] = {}
    for patterns in options.patterns:
        with sealed("hooks") as base:
            os.environ["HOME"] = str(base)
            project = memory(base, patterns)
            rows = {**events(project, options.runs), **session(project)}
            figures |= {name if name == BASE else f"{name}, {patterns} patterns": row for name, row in rows.items()}
    if options.json:
        print(json.dumps(figures, indent=2))
    else:
        for name, row in figures.items():
            print(f"{name:58}  " + "  ".join(f"{key} {value}" for key, value in row.items()))
    return 0


def memory(base: Path, patterns: int) -> Path:
    """Make a project whose patterns are all suggested, as far as the budget goes."""
    project = base / "project"
    project.mkdir()
    call(["git", "init", "-q"], project)
    call([tool("instinct"), "init"], project)
    subjects = ("migration of the database", "colours of the shop", "login of the customer", "release of the site")
    lines = "".join(f"note:{subjects[number % 4]} {number:05}\n" for number in range(patterns)) * 6
    call([tool("instinct"), "observe", "-"], project, lines)
    call([tool("instinct"), "consolidate"], project)
    call([tool("instinct"), "suggest"], project)  # warms the index
    return project


def tool(name: str) -> str:
    """Return the command that is installed beside this Python."""
    return str(Path(sys.executable).parent / name)


def events(project: Path, runs: int) -> dict[str, dict[str, object]]:
    """Return {event: figures}."""
    hook, start = [tool("instinct-hook"), "claude-code"], [tool("instinct"), "session-start", "claude-code"]
    prompt = [*hook, "UserPromptSubmit"]
    commands: dict[str, tuple[Sequence[str], str]] = {
        BASE: ([sys.executable, "-c", "pass"], ""),
        "session start": (start, ""),
        "a prompt": (prompt, PROMPT),
        "a prompt that asks to remember": (prompt, "remember: we release on Fridays"),
        "a prompt, prompt.suggest: true": (prompt, PROMPT),
        "a turn ends": ([*hook, "Stop"], ""),
        "the session ends, what the agent waits for": ([*hook, "SessionEnd"], ""),
    }
    wall: dict[str, list[float]] = {name: [] for name in commands}
    used: dict[str, list[float]] = {name: [] for name in commands}
    given: dict[str, int] = {}
    for turn in range(runs + 1):
        for name, (command, text) in commands.items():
            if "suggest:" in name:
                call([tool("instinct"), "config", "prompt.suggest", "true", "--user"], project)
            event = json.dumps({"session_id": f"s{turn}-{len(name)}", "cwd": str(project), "prompt": text})
            begun, before = time.perf_counter(), processor()
            said, alive = hooked(command, project, event)
            if turn:  # the first turn warms the disk cache
                wall[name].append(time.perf_counter() - begun)
                used[name].append(processor() - before)
            if "suggest:" in name:
                call([tool("instinct"), "config", "prompt.suggest", "false", "--user"], project)
            given[name] = injected(said)
            os.read(alive, 1)  # until what the end of a session has started is gone, too
            os.close(alive)
    return {name: {**figure(name, wall, used), **({"tokens": given[name]} if given[name] else {})} for name in commands}


def injected(said: str) -> int:
    """Return the tokens, about, of what an answer puts into the agent's context."""
    return tokens(json.loads(said)["hookSpecificOutput"]["additionalContext"]) if said else 0


def session(project: Path) -> dict[str, dict[str, object]]:
    """Return what a session of CALLS calls in TURNS turns takes, its calls being `git status`, with hooks and without."""
    call([tool("instinct"), "config", "prompt.suggest", "false", "--user"], project)
    seconds = {}
    for hooks in (False, True):
        begun = time.perf_counter()
        event = json.dumps({"session_id": f"whole-{hooks}", "cwd": str(project), "prompt": PROMPT})
        before = [[tool("instinct-hook"), "claude-code", "UserPromptSubmit"]] if hooks else []
        after = [[tool("instinct-hook"), "claude-code", "Stop"]] if hooks else []
        commands = [[tool("instinct"), "session-start", "claude-code"]] if hooks else []
        for _ in range(TURNS):
            commands += [*before, *[["git", "status", "--short"]] * (CALLS // TURNS), *after]
        commands += [[tool("instinct-hook"), "claude-code", "SessionEnd"]] if hooks else []
        pipes = [hooked(command, project, event)[1] for command in commands]
        seconds[hooks] = time.perf_counter() - begun
        for alive in pipes:
            os.read(alive, 1)
            os.close(alive)
    rows = {"without_s": round(seconds[False], 2), "with_s": round(seconds[True], 2)}
    return {
        f"a session of {CALLS} calls and {TURNS} prompts": {**rows, "more_s": round(seconds[True] - seconds[False], 2)}
    }


def hooked(command: Sequence[str], project: Path, event: str) -> tuple[str, int]:
    """Run a command as an agent does; return what it printed, and a pipe that ends with the last process it started."""
    alive, passed = os.pipe()
    try:
        done = subprocess.run(
            command,
            cwd=project,
            input=event,
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
            pass_fds=(passed,),
        )
    finally:
        os.close(passed)
    return done.stdout, alive


if __name__ == "__main__":
    sys.exit(main())

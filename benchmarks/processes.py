#!/usr/bin/env python3
"""Whole-process costs as ratios to `python -c pass`, taken in turns in one run, because machines are noisy.

usage: python benchmarks/processes.py [--runs 15] [--patterns 10000] [--json]

Prints medians of wall-clock and of processor milliseconds, the ratios of the medians (the second is the steadier one on
a busy machine) and what DESIGN section 8 allows; `kept` is how much of what 20 processes observed at once is there
afterwards (in percent). Run it with the Python of an environment where the package is installed as users install it:
an editable installation and an old installer's start scripts cost some milliseconds more.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from setting import call, sealed

WRITERS = 20
BASE = "python -c pass"
BUDGETS = {"instinct-hook": 1.6, "instinct observe": 3, "instinct suggest": 5}
"""Ratios of wall-clock time; that of suggest at 10,000 patterns."""


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--patterns", type=int, default=10_000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with sealed("processes") as base:
        figures = measure(base, options.runs, options.patterns)
    if options.json:
        print(json.dumps(figures, indent=2))
    else:
        for name, row in figures.items():
            print(f"{name:42}  " + "  ".join(f"{key} {value}" for key, value in row.items()))
    return 0


def measure(base: Path, runs: int, patterns: int) -> dict[str, dict[str, object]]:
    """Return {what: figures}."""
    project = base / "project"
    project.mkdir()
    tools = Path(sys.executable).parent
    instinct, hook = str(tools / "instinct"), str(tools / "instinct-hook")
    call(["git", "init", "-q"], project)
    call([instinct, "init"], project)
    lines = "".join(f"note:advice-{number:05}\n" for number in range(patterns)) * 5
    call([instinct, "observe", "-"], project, lines)
    call([instinct, "consolidate"], project)
    call([instinct, "suggest"], project)  # warms the index
    event = json.dumps({"session_id": "s", "tool_name": "Bash", "tool_input": {"command": "ls"}})
    commands: dict[str, tuple[Sequence[str], str]] = {
        BASE: ([sys.executable, "-c", "pass"], ""),
        "instinct-hook": ([hook, "claude", "PostToolUse"], event),
        "instinct observe": ([instinct, "observe", "seq:lint->fix->test"], ""),
        f"instinct suggest, {patterns} patterns, warm": ([instinct, "suggest"], ""),
    }
    wall: dict[str, list[float]] = {name: [] for name in commands}
    used: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(runs + 1):
        for name, (command, text) in commands.items():
            begun, before = time.perf_counter(), processor()
            call(command, project, text)
            if turn:  # the first turn warms the disk cache
                wall[name].append(time.perf_counter() - begun)
                used[name].append(processor() - before)
    figures: dict[str, dict[str, object]] = {name: figure(name, wall, used) for name in commands}
    figures[f"{WRITERS} processes observing at once"] = {"kept": kept(project, instinct)}
    return figures


def processor() -> float:
    """Return the processor seconds of all processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def figure(name: str, wall: dict[str, list[float]], used: dict[str, list[float]]) -> dict[str, object]:
    """Return one command's medians, as they are and as ratios to the base line."""
    median = statistics.median(wall[name])
    row: dict[str, object] = {
        "median_ms": round(1000 * median, 1),
        "ratio": round(median / statistics.median(wall[BASE]), 2),
        "cpu_ratio": round(statistics.median(used[name]) / statistics.median(used[BASE]), 2),
    }
    budget = next((allowed for start, allowed in BUDGETS.items() if name.startswith(start)), None)
    return {**row, "budget": budget} if budget else row


def kept(project: Path, instinct: str) -> float:
    """Return how much of what WRITERS processes observe at once is counted afterwards, in percent."""
    writers = [
        subprocess.Popen([instinct, "observe", "combo:writers"], cwd=project, stdout=subprocess.DEVNULL)
        for _ in range(WRITERS)
    ]
    for writer in writers:
        writer.wait(timeout=60)
    shown = json.loads(call([instinct, "show", "combo:writers", "--json"], project))
    return round(100 * shown["live"] / WRITERS, 1)


if __name__ == "__main__":
    sys.exit(main())

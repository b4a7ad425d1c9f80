#!/usr/bin/env python3
"""Whole-process costs as ratios to `python -c pass`, taken in turns in one run, because machines are noisy.

usage: python benchmarks/processes.py [--runs 15] [--patterns 1000] [--json]

Prints medians of wall-clock seconds and the ratio of the medians; `kept` is how much of what 20 processes observed at
once is there afterwards (in percent). Touches nothing but a temporary folder.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

WRITERS = 20


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--patterns", type=int, default=1000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="instinct-bench-") as base:
        figures = measure(Path(base), options.runs, options.patterns)
    if options.json:
        print(json.dumps(figures, indent=2))
    else:
        for name, row in figures.items():
            print(f"{name:42}  " + "  ".join(f"{key} {value}" for key, value in row.items()))
    return 0


def measure(base: Path, runs: int, patterns: int) -> dict[str, dict[str, object]]:
    """Return {what: figures}."""
    os.environ.update(
        INSTINCT_HOME=str(base / "home"), GIT_CONFIG_GLOBAL=str(base / "gitconfig"), GIT_CONFIG_NOSYSTEM="1"
    )
    (base / "gitconfig").write_text("[user]\n\tname = Bench\n\temail = bench@example.org\n", encoding="utf-8")
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
        "python -c pass": ([sys.executable, "-c", "pass"], ""),
        "instinct-hook": ([hook, "claude", "PostToolUse"], event),
        "instinct observe": ([instinct, "observe", "seq:lint->fix->test"], ""),
        f"instinct suggest, {patterns} patterns, warm": ([instinct, "suggest"], ""),
    }
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(runs + 1):
        for name, (command, text) in commands.items():
            begun = time.perf_counter()
            call(command, project, text)
            if turn:  # the first turn warms the disk cache
                seconds[name].append(time.perf_counter() - begun)
    base_line = statistics.median(seconds["python -c pass"])
    figures: dict[str, dict[str, object]] = {
        name: {
            "median_ms": round(1000 * statistics.median(taken), 1),
            "ratio": round(statistics.median(taken) / base_line, 2),
        }
        for name, taken in seconds.items()
    }
    figures[f"{WRITERS} processes observing at once"] = {"kept": kept(project, instinct)}
    return figures


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


def call(command: Sequence[str], folder: Path, text: str = "") -> str:
    """Run a command that must work and return what it printed."""
    done = subprocess.run(command, cwd=folder, input=text, capture_output=True, text=True, check=True, timeout=300)
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())

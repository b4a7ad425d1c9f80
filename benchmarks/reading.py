#!/usr/bin/env python3
"""Reading many pattern files: cold, and as suggestions of a warm server; beside it what looking at every file costs.

usage: python benchmarks/reading.py [--patterns 10000] [--runs 15]
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from pathlib import Path

from setting import git, say, sealed, seconds

from instinct_git import Memory
from instinct_git.core.document import MachineLines, new_text
from instinct_git.core.keys import pattern_path
from instinct_git.storage import files, index


def main() -> int:
    """Write the files and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--patterns", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=15)
    options = parser.parse_args()
    with sealed("reading") as base:
        measure(base / "project", options.patterns, options.runs)
    return 0


def write_patterns(project: Path, count: int) -> list[Path]:
    """Make a memory of `count` mature patterns and return their files."""
    project.mkdir()
    git(project, "init", "-q")
    Memory(project).init()
    written = []
    for number in range(count):
        key = f"note:advice-{number:06}"
        numbers = (5 + number % 9, 5 + number % 9)
        machine = MachineLines(key, "note", *numbers, "mature", "2026-01-01", "2026-02-01", ("claude-code",))
        path = project / pattern_path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(new_text(machine, title=f"Advice number {number}", metadata={}), encoding="utf-8")
        written.append(path)
    return written


def measure(project: Path, count: int, runs: int) -> None:
    """Print the figures."""
    written = [str(path) for path in write_patterns(project, count)]
    place = files.locate(project, files.instinct_home())
    memory = Memory(project)
    used = time.process_time()
    took = seconds(lambda: index.read(place))
    used = time.process_time() - used
    say(f"reading {count} changed pattern files, cold", f"{took:.2f} s ({used:.2f} s of processor)", "3 s at 10,000")
    while not all(
        any(folder.stamps[:1]) and folder.stamp for folder in index.read(place).folders.values() if folder.names
    ):
        pass  # what changed a moment ago is not trusted yet
    memory.suggest()
    looked, told = [], []
    for _ in range(runs):  # in turns: machines are noisy
        looked.append(seconds(lambda: [os.stat(path) for path in written]))
        told.append(seconds(memory.suggest))
    floor, found = statistics.median(looked), statistics.median(told)
    say(f"os.stat of {count} files, median of {runs}", f"{1000 * floor:.1f} ms")
    say(
        f"suggest in a warm server, {count} patterns, median",
        f"{1000 * found:.1f} ms ({found / floor:.2f} x stat)", "10 ms at 10,000; 25 ms at 100,000",
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())

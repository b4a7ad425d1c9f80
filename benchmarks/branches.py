#!/usr/bin/env python3
"""Evidence on many branches, merged one after another with default git: conflicts, seconds, ids kept.

usage: python benchmarks/branches.py [--branches 1000]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from instinct_git import Memory
from instinct_git.core.evidence import parse_container


def main() -> int:
    """Make the branches, merge them, count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--branches", type=int, default=1000)
    branches = parser.parse_args().branches
    with tempfile.TemporaryDirectory(prefix="instinct-branches-") as base:
        measure(Path(base), branches)
    return 0


def measure(base: Path, branches: int) -> None:
    """Print the figures."""
    settings = base / "gitconfig"
    settings.write_text(
        "[user]\n\tname = B\n\temail = b@example.org\n[init]\n\tdefaultBranch = main\n[gc]\n\tauto = 0\n", "utf-8"
    )
    os.environ.update(INSTINCT_HOME=str(base / "home"), GIT_CONFIG_GLOBAL=str(settings), GIT_CONFIG_NOSYSTEM="1")
    project = base / "project"
    project.mkdir()
    git(project, "init", "-q")
    memory = Memory(project)
    memory.init()
    memory.observe("seq:start->here")
    memory.consolidate()
    begun = time.perf_counter()
    for number in range(branches):
        git(project, "switch", "-q", "-c", f"b{number}", "main")
        memory.observe(f"note:n{number % 50}")
        memory.record()
    made = time.perf_counter() - begun
    git(project, "switch", "-q", "main")
    begun, conflicts = time.perf_counter(), 0
    for number in range(branches):
        conflicts += (
            subprocess.run(
                ["git", "merge", "-q", "--no-edit", f"b{number}"], cwd=project, capture_output=True
            ).returncode
            != 0
        )
    merged = time.perf_counter() - begun
    kept = {
        one.id
        for file in (project / ".instinct/observations").glob("*.jsonl")
        for one in parse_container(file.read_bytes())[0]
    }
    begun = time.perf_counter()
    done = memory.consolidate()
    folded = time.perf_counter() - begun
    errors = sum(one.severity == "error" for one in memory.check())
    print(
        f"branches {branches}  conflicts {conflicts}  ids kept {len(kept)}  folded {done.folded}  check errors {errors}"
    )
    print(
        f"made {made:.1f} s  merged {merged:.1f} s ({1000 * merged / branches:.0f} ms each)  consolidate {folded:.2f} s"
    )


def git(folder: Path, *args: str) -> None:
    """Run a git command that must work."""
    subprocess.run(["git", *args], cwd=folder, check=True, capture_output=True)


if __name__ == "__main__":
    sys.exit(main())

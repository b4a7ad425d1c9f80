#!/usr/bin/env python3
"""Consolidating many observations, as a ratio to git's own fast-import of the very blobs that the batch committed.

usage: python benchmarks/folding.py [--observations 10000] [--patterns 1000] [--runs 3]
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path

from setting import git, say, sealed, seconds

from instinct_git import Memory
from instinct_git.operations.observing import Draft

A_SESSION = 100
"""Observations that one session writes at once."""


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--observations", type=int, default=10_000)
    parser.add_argument("--patterns", type=int, default=1_000)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    folds, imports = [], []
    for run in range(options.runs):
        with sealed("folding") as base:
            fold, imported = measure(base, options.observations, options.patterns)
        folds.append(fold)
        imports.append(imported)
        say(f"run {run + 1}: consolidate, fast-import", f"{fold:.2f} s, {imported:.2f} s")
    what = f"consolidate {options.observations} observations into {options.patterns} patterns"
    say(what, f"{statistics.median(folds) / statistics.median(imports):.1f} x fast-import", "3 x")
    return 0


def measure(base: Path, observations: int, patterns: int) -> tuple[float, float]:
    """Return the seconds of the batch, and those of fast-import of its blobs into a clone without it."""
    project = base / "project"
    project.mkdir()
    git(project, "init", "-q")
    memory = Memory(project)
    memory.init()
    memory.observe_many([Draft(f"note:advice-{number:05}") for number in range(patterns)])
    memory.consolidate()
    git(base, "clone", "-q", "--bare", f"file://{project}", "bare.git")
    for first in range(0, observations, A_SESSION):
        drafts = [Draft(f"note:advice-{n % patterns:05}", session=str(first)) for n in range(first, first + A_SESSION)]
        memory.observe_many(drafts)
    took = seconds(memory.consolidate)
    stream = (
        b"commit refs/heads/main\ncommitter B <b@example.org> 1767225600 +0000\ndata 1\nx\nfrom refs/heads/main^0\n"
    )
    for path in git(project, "diff", "--name-only", "HEAD~1", "HEAD").splitlines():
        content = (project / path).read_bytes()
        stream += b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(content), content)
    return took, seconds(lambda: git(base / "bare.git", "fast-import", "--quiet", text=stream))


if __name__ == "__main__":
    sys.exit(main())

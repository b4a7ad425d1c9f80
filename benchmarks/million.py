#!/usr/bin/env python3
"""A memory that has grown for years: what `check` costs, a batch of 10,000 more, and a clone at depth 1.

usage: python benchmarks/million.py [--ids 1000000] [--patterns 2000] [--nonces own|session] [--sessions 100000]

`--nonces own`: each id has 60 random bits of its own, as separate calls of `observe` and learned evidence have.
`--nonces session`: the ids of a session share them, as `observe -` has. The sizes are also given after `compact`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sys
from pathlib import Path

from setting import call, git, say, sealed

from instinct_git import Memory
from instinct_git.core.document import MachineLines, new_text
from instinct_git.core.evidence import dump_container, dump_ledger, nonce
from instinct_git.core.keys import pattern_path
from instinct_git.core.model import Evidence

A_BATCH = 5_000
NEW = 10_000
# Runs one verb in a process of its own and prints seconds and the peak of its memory in bytes.
VERB = """
import json, resource, sys, time
from instinct_git import Memory
begun = time.perf_counter()
found = getattr(Memory(sys.argv[1]), sys.argv[2])()
errors = [one.rule for one in found if one.severity == "error"] if sys.argv[2] == "check" else []
assert not errors, errors[:9]
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
print(json.dumps([time.perf_counter() - begun, time.process_time(), peak]))
"""


def main() -> int:
    """Build the memory and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ids", type=int, default=1_000_000)
    parser.add_argument("--patterns", type=int, default=2_000)
    parser.add_argument("--sessions", type=int, default=100_000)
    parser.add_argument("--nonces", choices=("own", "session"), default="own")
    options = parser.parse_args()
    with sealed("million") as base:
        project = base / "project"
        build(project, options)
        what = f"{options.ids} ids"
        say(f"{what}: clone at depth 1", size(base, project), "10 MB at 1,000,000")
        for verb in ("check", "consolidate", "check"):
            took, used, peak = json.loads(call([sys.executable, "-c", VERB, str(project), verb], base))
            budget = {"check": "10 s and 1 GiB"}.get(verb, "")
            say(f"{what}: {verb}", f"{took:.1f} s ({used:.1f} s cpu), {peak / 2**20:.0f} MiB", budget)
        call([sys.executable, "-c", VERB, str(project), "compact"], base)
        say(f"{what}: clone at depth 1 after compact", size(base, project), "10 MB at 1,000,000")
    return 0


def size(base: Path, project: Path) -> str:
    """Return how much a clone at depth 1 fetches: the bytes of its pack and of the pack's index."""
    clone = base / "clone"
    git(base, "clone", "-q", "--depth", "1", "--no-checkout", f"file://{project}", str(clone))
    sizes = {path.suffix: path.stat().st_size for path in (clone / ".git/objects/pack").iterdir()}
    shutil.rmtree(clone)
    return f"{sizes['.pack'] / 1e6:.1f} MB"


def evidence(first: int, count: int, options: argparse.Namespace) -> list[Evidence]:
    """Return `count` observations; a session's follow one another, each of another pattern."""
    found = []
    a_session = max(1, options.ids // options.sessions)
    for number in range(first, first + count):
        session = number // a_session
        chance = random.Random(session)
        shared, code = nonce(chance.randbytes(8)), chance.randbytes(6).hex()
        day = f"2026{1 + session * 12 // (options.sessions + NEW) % 12:02}{1 + session % 28:02}"
        own = f"{nonce(os.urandom(8))}.1" if options.nonces == "own" else f"{shared}.{number % a_session + 1}"
        found.append(Evidence(f"{day}-{own}", key(number % options.patterns), "observed", by="claude-code", s=code))
    return found


def key(number: int) -> str:
    """Return the key of one of the patterns."""
    return f"note:advice-{number:05}"


def build(project: Path, options: argparse.Namespace) -> None:
    """Write the folded evidence and its pattern files, commit them, and put NEW observations into the inbox."""
    project.mkdir()
    git(project, "init", "-q")
    Memory(project).init()
    for first in range(0, options.ids, A_BATCH):
        content = dump_ledger(evidence(first, min(A_BATCH, options.ids - first), options))
        (project / f".instinct/ledger/20260101-{nonce(os.urandom(8))}.jsonl").write_bytes(content)
    for number in range(options.patterns):
        count = len(range(number, options.ids, options.patterns))
        machine = MachineLines(key(number), "note", count, count, "rule", "2026-01-01", "2026-12-28", ("claude-code",))
        path = project / pattern_path(key(number))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(new_text(machine, metadata={}), encoding="utf-8")
    git(project, "add", ".instinct")
    git(project, "commit", "-q", "-m", "a memory of years")
    inbox = project / ".git/instinct/inbox"
    inbox.mkdir(parents=True, exist_ok=True)
    (inbox / "20261231-0123456789ab.jsonl").write_bytes(dump_container(evidence(options.ids, NEW, options)))


if __name__ == "__main__":
    sys.exit(main())

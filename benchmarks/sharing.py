#!/usr/bin/env python3
"""Sharing through a real git server on loopback: many clones at once, and a memory that is big.

usage: python benchmarks/sharing.py [--clones 8 50] [--rounds 2] [--patterns 100000] [--ids 1000000] [--no-big]

Every clone is a process of its own with a home of its own; in each round all observe and sync at the same moment.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from setting import call, git, say, sealed

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from million import build

from instinct_git import Memory
from tests.hosts import served

WORK = """
import json, sys, time
from instinct_git import Memory
home, rounds = sys.argv[1], int(sys.argv[2])
memory = Memory(home + "-project", home=home)
rows = []
for number in range(rounds):
    for key in ("seq:test->fix->test", "seq:test->fix->test", f"note:round-{number}"):
        memory.observe(key, to="team")
    begun = time.perf_counter()
    (done,) = memory.sync("team")
    rows.append([time.perf_counter() - begun, done.attempts, len(done.conflicts), done.offline, done.ahead])
print(json.dumps(rows))
"""
VERB = """
import resource, sys, time
from instinct_git import Memory
memory = Memory(sys.argv[1], home=sys.argv[2])
begun = time.perf_counter()
exec(sys.argv[3])
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
print(f"{time.perf_counter() - begun:.2f} s, {peak / 2**20:.0f} MiB")
"""


def main() -> int:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clones", type=int, nargs="*", default=[8, 50])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--patterns", type=int, default=100_000)
    parser.add_argument("--ids", type=int, default=1_000_000)
    parser.add_argument("--no-big", action="store_true")
    options = parser.parse_args()
    for count in options.clones:
        with sealed("sharing") as base:
            at_once(base, count, options.rounds)
    if not options.no_big:
        with sealed("sharing-big") as base:
            big(base, options)
    return 0


def host(base: Path, name: str = "host.git") -> Path:
    """Make a repository that the server lets anybody push to."""
    git(base, "init", "-q", "--bare", name)
    for setting in ("http.receivepack", "uploadpack.allowFilter"):
        git(base / name, "config", setting, "true")
    return base / name


def person(base: Path, name: str, url: str, **options: object) -> Memory:
    """Give a home, and a project that shares the memory."""
    project = base / f"{name}-project"
    project.mkdir()
    git(project, "init", "-q")
    memory = Memory(project, home=base / name)
    memory.share_add("team", url, **options)
    return memory


def at_once(base: Path, count: int, rounds: int) -> None:
    """Let many processes observe and sync at the same moment."""
    host(base)
    with served(base) as (url, server):
        for number in range(count):
            person(base, f"p{number}", f"{url}/host.git")
        begun = time.perf_counter()
        commands = [[sys.executable, "-c", WORK, str(base / f"p{number}"), str(rounds)] for number in range(count)]
        running = [subprocess.Popen(one, stdout=subprocess.PIPE, text=True) for one in commands]
        rows = [row for one in running for row in json.loads(one.communicate(timeout=3600)[0])]
        took = time.perf_counter() - begun
        first = Memory(base / "p0-project", home=base / "p0")
        first.sync("team")
        first.sync("team")
    team = Memory(base / "p0" / "shared" / "team", home=base / "p0")
    confidence = team.show("seq:test->fix->test").confidence
    errors = [one for one in team.check() if one.severity == "error"]
    assert not errors, errors[:3]
    times = sorted(row[0] for row in rows)
    tries = sorted(row[1] for row in rows)
    what = f"{count} clones, {rounds} rounds at once"
    say(f"{what}: evidence that arrived", f"{confidence} of {count * rounds * 2}", "all")
    say(f"{what}: conflicts, offline, left behind", ", ".join(
        str(sum(bool(row[at]) for row in rows)) for at in (2, 3, 4)), "0, 0, 0")  # fmt: skip
    for reason in sorted({row[3] for row in rows} - {""})[:3]:
        print(f"    {reason}")
    say(f"{what}: pushes a sync", f"median {tries[len(tries) // 2]}, most {tries[-1]}")
    say(f"{what}: one sync", f"median {times[len(times) // 2]:.1f} s, longest {times[-1]:.1f} s")
    say(f"{what}: all of it", f"{took:.1f} s, {server.requests} requests")


def big(base: Path, options: argparse.Namespace) -> None:
    """Share a memory that has grown for years."""
    options.sessions, options.nonces = max(1, options.ids // 10), "own"
    source = base / "source"
    build(source, options)
    Memory(source).consolidate()  # as it would be: every pattern file as the last batch wrote it
    target = host(base)
    git(source, "push", "-q", str(target), "main")
    what = f"{options.patterns} patterns, {options.ids} ids"
    with served(base) as (url, _):
        for name, how in (("whole", {}), ("shallow", {"depth": 1}), ("partial", {"partial": True})):
            begun = time.perf_counter()
            person(base, name, f"{url}/host.git", **how)
            took = time.perf_counter() - begun
            size = sum(
                file.stat().st_size for file in (base / name / "shared/team/.git/objects").rglob("*") if file.is_file()
            )
            say(f"{what}: share add, {name}", f"{took:.1f} s, {size / 1e6:.1f} MB")
        run(base, what, "suggest, first", "memory.suggest()")
        run(base, what, "suggest, again", "memory.suggest()")
        run(base, what, "sync, nothing new", "memory.sync('team')")
        run(base, what, "observe --to team", "memory.observe('note:advice-00001', to='team')")
        run(base, what, "sync, one observation, folded", "memory.sync('team')")
        run(base, what, "the same from the shallow clone",
            "memory.observe('note:advice-00001', to='team'); memory.sync('team')", "shallow")  # fmt: skip
        run(base, what, "sync, two commits received", "memory.sync('team')")


def run(base: Path, what: str, verb: str, code: str, name: str = "whole") -> None:
    """Measure one verb in a process of its own."""
    env = dict(os.environ)
    os.environ["INSTINCT_HOME"] = str(base / name)
    try:
        said = call([sys.executable, "-c", VERB, str(base / f"{name}-project"), str(base / name), code], base).strip()
    finally:
        os.environ.update(env)
    say(f"{what}: {verb}", said)


if __name__ == "__main__":
    sys.exit(main())

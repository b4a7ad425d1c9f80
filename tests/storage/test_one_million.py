"""A memory that has grown for years (case 85): the numbers stay right and the memory use bounded."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from instinct_git.core.document import MachineLines, new_text
from instinct_git.core.evidence import dump_container, dump_ledger
from instinct_git.core.keys import pattern_path
from instinct_git.core.model import Evidence
from tests.builders import Project

PATTERNS, IDS, PER_FILE, NEW = 2_000, 1_000_000, 5_000, 10_000
GIB = 2**30
# Runs one verb and prints a JSON object: seconds, processor seconds, peak bytes, and what the verb said.
MEASURE = """
import json, resource, sys, time
from instinct_git.memory import Memory
started = time.perf_counter()
memory = Memory(sys.argv[1])
if sys.argv[2] == "check":
    said = sorted({(one.rule, one.severity) for one in memory.check()})
else:
    done = memory.consolidate()
    said = [done.folded, done.total, len(done.files)]
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
print(json.dumps({"seconds": time.perf_counter() - started, "cpu": time.process_time(), "peak": peak, "said": said}))
"""


def key(number: int) -> str:
    return f"pref:style-{number:04d}=x"


def observations(first: int, count: int) -> list[Evidence]:
    """`count` pieces of evidence, ten a session, spread over the patterns and over days."""
    found = []
    for n in range(first, first + count):
        session = n // 10
        day = f"2026{1 + session // 9000 % 12:02d}{1 + session % 28:02d}"
        evidence_id = f"{day}-{session:012d}.{n % 10 + 1}"
        found.append(Evidence(evidence_id, key(n % PATTERNS), "observed", by="claude-code", s=f"{session:012x}"))
    return found


def measured(root: Path, verb: str) -> dict[str, object]:
    done = subprocess.run([sys.executable, "-c", MEASURE, str(root), verb], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    figures = dict(json.loads(done.stdout))
    print(
        f"{verb}: {figures['seconds']:.1f} s ({figures['cpu']:.1f} s of processor time), peak {figures['peak'] / 2**20:.0f} MiB, {figures['said']}"
    )
    return figures


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(resource, "getrusage"), reason="needs getrusage")
def test_one_million_ids(project: Project) -> None:
    for number in range(IDS // PER_FILE):
        name = f".instinct/ledger/20260101-{number:012d}.jsonl"
        (project.root / name).write_bytes(dump_ledger(observations(number * PER_FILE, PER_FILE)))
    for number in range(PATTERNS):
        confidence = IDS // PATTERNS
        machine = MachineLines(
            key(number), "preference", confidence, confidence, "rule", "2026-01-01", "2026-12-28", ("claude-code",)
        )
        project.write(pattern_path(key(number)), new_text(machine, metadata={}))
    project.commit("a memory of years")
    checked = measured(project.root, "check")
    assert not [one for one in checked["said"] if one[1] == "error"]  # type: ignore[attr-defined]
    observed = dump_container(observations(IDS, NEW))
    (project.root / ".git/instinct/inbox").mkdir(parents=True, exist_ok=True)
    (project.root / ".git/instinct/inbox/20261201-0123456789ab.jsonl").write_bytes(observed)
    folded = measured(project.root, "consolidate")
    assert folded["said"] == [NEW, PATTERNS, PATTERNS + 1]
    assert project.confidence(key(7)) == (IDS + NEW) // PATTERNS
    again = measured(project.root, "check")
    assert not [one for one in again["said"] if one[1] == "error"]  # type: ignore[attr-defined]
    assert max(int(str(one["peak"])) for one in (checked, folded, again)) < GIB

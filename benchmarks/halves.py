#!/usr/bin/env python3
"""What was learned from the first half of a project's sessions, held against the second half.

Coverage: of the sequences that recur in the second half, how many had been suggested before it. Precision: of what was
suggested, how much was done again in it. Only projects with enough sessions count.

usage: python benchmarks/halves.py [FOLDER ...] [--sessions 5] [--synthetic 12] [--seed 1] [--verbose]

FOLDER holds transcripts, at any depth; a project is the folder that a transcript names as its own (`cwd`), else the
folder its file lies in. `--synthetic N` measures N made-up projects too, whose habits are known and hidden in noise.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from setting import git, say, sealed

from instinct_git import InstinctError, Memory
from instinct_git.bridges.transcripts import read_transcripts
from instinct_git.core import actions, mining
from instinct_git.core.transcript import Transcript


@dataclass
class Held:
    """A session: its day, its files, and what they hold; of a made-up one the habits of its project, as keys."""

    day: str
    files: list[Path] = field(default_factory=list)
    transcripts: list[Transcript] = field(default_factory=list)
    habits: frozenset[str] = frozenset()


@dataclass
class Figures:
    """What one or more projects gave."""

    recurring: int = 0
    """Sequences that recur in the second half."""
    same: int = 0
    """Of them, those suggested to the letter; with `near`, those whose steps a suggestion mostly holds."""
    near: int = 0
    suggested: int = 0
    again: int = 0
    """Of what was suggested, what was done again."""
    parts: int = 0
    """Suggested sequences that another one holds whole."""
    habits: int = 0
    """Habits that a made-up project has; with `found`, those that a suggestion mostly holds."""
    found: int = 0

    def add(self, other: Figures) -> None:
        """Add another project's figures."""
        for one in fields(self):
            setattr(self, one.name, getattr(self, one.name) + getattr(other, one.name))

    def say(self, what: str) -> None:
        """Print the figures."""
        say(f"{what}: coverage, to the letter", _share(self.same, self.recurring))
        say(f"{what}: coverage, by steps", _share(self.near, self.recurring))
        say(f"{what}: precision", _share(self.again, self.suggested))
        say(f"{what}: suggestions that are parts of others", str(self.parts))
        if self.habits:
            say(f"{what}: habits that are told", _share(self.found, self.habits))


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole}" + (f" ({100 * part // whole} %)" if whole else "")


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--sessions", type=int, default=5, help="sessions that a project needs")
    parser.add_argument("--synthetic", type=int, default=12, help="made-up projects")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--verbose", action="store_true", help="name what was suggested and what was missed")
    options = parser.parse_args()
    for folder in options.folders:
        projects = {name: held for name, held in gather(folder).items() if len(held) >= options.sessions}
        say(f"{folder}: projects with {options.sessions} sessions or more", str(len(projects)))
        measured(projects, str(folder), verbose=options.verbose)
    with sealed("made-up") as base:
        projects = dict(made_up(base, options.synthetic, options.seed))
        measured(projects, "made up", verbose=options.verbose)
    return 0


def measured(projects: dict[str, list[Held]], what: str, *, verbose: bool) -> None:
    """Measure each project by itself and print the sums."""
    total = Figures()
    for name, held in sorted(projects.items()):
        with sealed("halves") as base:
            figures = halves(base, held, verbose=verbose)
        if verbose:
            figures.say(f"  {name} ({len(held)} sessions)")
        total.add(figures)
    if projects:
        total.say(what)


def gather(folder: Path) -> dict[str, list[Held]]:
    """Return {project: its sessions, oldest first}; files that are no transcripts are passed over."""
    sessions: dict[tuple[str, str, str], Held] = {}
    for path in sorted(one for one in folder.rglob("*") if one.is_file()):
        try:
            found = read_transcripts([path])
        except (InstinctError, UnicodeError):
            continue
        for one in found:
            if one.calls:
                held = sessions.setdefault((one.cwd or str(path.parent), one.agent, one.session), Held(one.day))
                held.files.append(path)
                held.transcripts.append(one)
    projects: dict[str, list[Held]] = defaultdict(list)
    for (project, _, _), held in sorted(sessions.items(), key=lambda pair: (pair[1].day, pair[0])):
        projects[project].append(held)
    return projects


def halves(base: Path, held: Sequence[Held], *, verbose: bool = False) -> Figures:
    """Learn the first half session by session, as a session's end does, and hold the suggestions against the rest."""
    project = base / "project"
    project.mkdir()
    git(project, "init", "-q")
    first, second = held[: len(held) // 2], held[len(held) // 2 :]
    today = datetime.now(UTC)
    memory = Memory(project, now=lambda: today)
    memory.init()
    for number in range(len(first)):
        # A session's end reads the latest known ones along: what recurs shows over several.
        memory.learn([path for one in first[: number + 1] for path in one.files])
        memory.consolidate()
    suggested = {str(one.pattern) for one in memory.suggest(1000, budget=100_000)}
    later = actions.named([one for session in second for one in session.transcripts])
    mined = mining.mine(later)
    recurring = {one.key for one in mined if one.key.startswith("seq:")}
    sequences = {key for key in suggested if key.startswith("seq:")}
    steps = [tuple(key.removeprefix("seq:").split("->")) for key in sequences]
    again = {one.key for one in mining.redone(later, steps)} | {one.key for one in mined}
    missed = recurring - {key for key in recurring if _held(key, sequences)}
    if verbose:
        for key in sorted(suggested):
            print(f"      {'again ' if key in again else 'never '} {key}")
        for key in sorted(missed):
            print(f"      missed {key}")
    habits = held[0].habits
    return Figures(
        len(recurring), len(recurring & sequences), len(recurring) - len(missed), len(suggested), len(suggested & again),
        sum(any(one != key and one[4:] in key for key in sequences) for one in sequences),
        len(habits), sum(_held(one, sequences) for one in habits),
    )  # fmt: skip


def _held(key: str, suggestions: Iterable[str]) -> bool:
    """True when at least half of a sequence's transitions are in one suggestion."""
    pairs = _pairs(key)
    return any(2 * len(pairs & _pairs(other)) >= len(pairs) for other in suggestions)


def _pairs(key: str) -> set[tuple[str, str]]:
    steps = key.removeprefix("seq:").split("->")
    return set(pairwise(steps))


# --- made-up projects -----------------------------------------------------------------------------------------------

RESULTS = {"pytest": "3 passed", "pytest!": "1 failed, 2 passed", "ruff check .": "All checks passed!"}
HABITS = (
    ("pytest!", "Edit", "pytest", "git commit -m 'fix: x'"), ("Edit", "ruff check .", "pytest", "git commit -m 'feat: x'"),
    ("npm run build", "npm test", "git push"), ("Edit", "npx tsc --noEmit", "npx vitest run"), ("git pull", "npm ci", "npm test"),
    ("WebSearch", "WebFetch", "Edit", "pytest"), ("git commit -m 'chore: x'", "git push", "gh pr create --fill"),
    ("alembic upgrade", "pytest", "git commit -m 'feat: y'"), ("cargo fmt", "cargo clippy", "cargo test"),
    ("terraform validate", "terraform plan", "terraform apply"), ("docker build .", "docker push x", "kubectl apply -f x"),
)  # fmt: skip
NOISE = ("Read", "Edit", "Write", "git status", "ls", "pytest", "curl -s http://localhost/x", "python x.py", "mkdir x", "rm x",
         "npm install x", "git checkout -b x", "make docs", "Grep", "TodoWrite", "git stash", "pip install x")  # fmt: skip


def made_up(base: Path, projects: int, seed: int) -> Iterator[tuple[str, list[Held]]]:
    """Yield projects of ten sessions: each has three habits, kept four times in five, between calls at random."""
    for number in range(projects):
        chance = random.Random(f"{seed}/{number}")
        habits = chance.sample(HABITS, 3)
        held = []
        for day in range(10):
            words: list[str] = []
            for habit in chance.choices(habits, k=4):
                words += chance.choices(NOISE, k=chance.randrange(6))
                words += habit if chance.random() < 0.8 else chance.sample(habit, len(habit))
            path = base / f"{number}-{day}.jsonl"
            path.write_text("".join(_lines(f"{number}-{day}", day, words)), encoding="utf-8")
            keys = frozenset("seq:" + "->".join(map(_action, habit)) for habit in habits)
            held.append(Held(f"202603{day + 1:02}", [path], read_transcripts([path]), keys))
        yield f"made up {number}", held


def _action(word: str) -> str:
    line = word.removesuffix("!")
    return actions.action_of(line, {}) if line[0].isupper() else actions.shell_action(line)


def _lines(name: str, day: int, words: Iterable[str]) -> Iterator[str]:
    for number, word in enumerate(words):
        line = word.removesuffix("!")
        tool = line if line[0].isupper() else "Bash"
        given: dict[str, Any] = {"command": line} if tool == "Bash" else {"file_path": f"/p/{number}.py", "query": "q"}
        use = {"type": "tool_use", "id": f"{name}-{number}", "name": tool, "input": given}
        back = {"type": "tool_result", "tool_use_id": f"{name}-{number}", "content": RESULTS.get(word, "ok")}
        for who, block in (("assistant", use), ("user", back)):
            record = {
                "type": who, "uuid": f"{name}-{number}-{who}", "sessionId": name, "cwd": "/p", "userType": "external",
                "timestamp": f"2026-03-{day + 1:02}T10:{number // 60:02}:{number % 60:02}.000Z",
                "message": {"role": who, "content": [block]},
            }  # fmt: skip
            yield json.dumps(record) + "\n"


if __name__ == "__main__":
    sys.exit(main())

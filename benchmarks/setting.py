"""What the benchmarks share: a sealed folder, git, and one way to print a figure next to its budget."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def sealed(name: str) -> Iterator[Path]:
    """Give a temporary folder that holds the home of instinct and git's settings, and nothing of the user's."""
    with tempfile.TemporaryDirectory(prefix=f"instinct-{name}-") as base:
        settings = Path(base) / "gitconfig"
        settings.write_text(
            "[user]\n\tname = Bench\n\temail = bench@example.org\n[init]\n\tdefaultBranch = main\n[gc]\n\tauto = 0\n"
            '[protocol "file"]\n\tallow = always\n',
            encoding="utf-8",
        )
        os.environ.update(
            INSTINCT_HOME=str(Path(base) / "home"), GIT_CONFIG_GLOBAL=str(settings), GIT_CONFIG_NOSYSTEM="1"
        )
        # An installed package is compiled; where this is set, every process would compile its source again.
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        yield Path(base)


def git(folder: Path, *args: str, text: bytes = b"") -> str:
    """Run a git command that must work and return what it printed."""
    done = subprocess.run(["git", *args], cwd=folder, input=text, capture_output=True, check=True)
    return done.stdout.decode().strip()


def call(command: Sequence[str], folder: Path, text: str = "") -> str:
    """Run a command that must work and return what it printed."""
    done = subprocess.run(command, cwd=folder, input=text, capture_output=True, text=True, check=True, timeout=1800)
    return done.stdout


def seconds(action: Callable[[], object]) -> float:
    """Return the wall-clock seconds of one call."""
    begun = time.perf_counter()
    action()
    return time.perf_counter() - begun


def say(what: str, figure: str, budget: str = "") -> None:
    """Print one figure, and what DESIGN section 8 allows."""
    print(f"{what:58}  {figure:>28}" + (f"   budget {budget}" if budget else ""), flush=True)

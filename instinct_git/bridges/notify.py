"""The person's own command that is told of a nomination: run without a shell, its output thrown away."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

SECONDS = 5.0
"""How long it may take; a verb waits for it."""


def run(command: str, told: Mapping[str, str | int], folder: Path) -> str:
    """Run a command line in a folder; return what went wrong in one line, empty when nothing did. Never raises.

    The command gets `told` as a JSON object on standard input, and as INSTINCT_<NAME> in its environment: what comes
    from a repository is data and never a word of the command line.
    """
    name = "the command"
    try:
        words = shlex.split(command)
        name = words[0] = os.path.expanduser(words[0])  # the rest may hold what is nobody else's business
        environment = {**os.environ, **{f"INSTINCT_{name.upper()}": str(value) for name, value in told.items()}}
        process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder,
            env=environment, start_new_session=True,
        )  # fmt: skip
    except (OSError, ValueError, IndexError) as problem:
        return f"{name}: {problem}"
    try:
        process.communicate((json.dumps(told, ensure_ascii=False) + "\n").encode("utf-8", "replace"), timeout=SECONDS)
    except subprocess.TimeoutExpired:
        _end(process)
        return f"{name}: not done after {SECONDS:g} seconds"
    except OSError as problem:
        _end(process)
        return f"{name}: {problem}"
    return f"{name}: exit code {process.returncode}" if process.returncode else ""


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the command and what it has started."""
    try:
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    except OSError:
        pass
    process.wait()

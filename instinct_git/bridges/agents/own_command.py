"""The agents' own commands that register an MCP server (`claude mcp add` and the like), tried on a copy of the file.

They are never run on the person's files: they write the whole file anew, and some lose what they do not know. What comes
out is taken only where it is the file as it was with one piece put in, so that it can be taken out again to the byte.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from instinct_git.bridges.agents.edited import Edited

SECONDS = 30
"""How long an agent's command may take."""


class Command(NamedTuple):
    """One agent's command, and where it writes to in a home and a project of its own."""

    words: tuple[str, ...]
    writes: str
    """The file, below the home (`~/...`) or the project."""
    variables: Mapping[str, str] = {}
    """What tells it where its files are, below the home."""


_SERVE = ("instinct", "serve")
COMMANDS: Mapping[tuple[str, str], Command] = {
    ("claude-code", "project"): Command(("claude", "mcp", "add", "--scope", "project", "instinct", "--", *_SERVE), ".mcp.json"),
    ("claude-code", "user"): Command(("claude", "mcp", "add", "--scope", "user", "instinct", "--", *_SERVE), "~/.claude.json"),
    ("codex", "user"): Command(("codex", "mcp", "add", "instinct", "--", *_SERVE), "~/.codex/config.toml", {"CODEX_HOME": ".codex"}),
    ("gemini", "project"): Command(("gemini", "mcp", "add", "-s", "project", "instinct", *_SERVE), ".gemini/settings.json"),
    ("gemini", "user"): Command(("gemini", "mcp", "add", "-s", "user", "instinct", *_SERVE), "~/.gemini/settings.json"),
    ("copilot", "user"): Command(("copilot", "mcp", "add", "instinct", "--", *_SERVE), "~/.copilot/mcp-config.json", {"COPILOT_HOME": ".copilot"}),
}  # fmt: skip
"""(agent, level) -> its command; Codex and Copilot have none for a project, the other agents none at all."""


def tried(command: Command, before: str | None, environ: Mapping[str, str]) -> Edited | str:
    """Return the file as the agent's own command makes it of `before` (None: no file), or say why that is not taken."""
    program = shutil.which(command.words[0], path=environ.get("PATH"))
    shown = " ".join(command.words[: command.words.index("add") + 1])
    if program is None:
        return f"{command.words[0]} is not on your PATH"
    with tempfile.TemporaryDirectory(prefix="instinct-", ignore_cleanup_errors=True) as base:
        home, project = Path(base, "home"), Path(base, "project")
        path = home / command.writes[2:] if command.writes.startswith("~/") else project / command.writes
        for folder in (home, project / ".git", path.parent, *(home / one for one in command.variables.values())):
            folder.mkdir(parents=True, exist_ok=True)
        if before is not None:
            path.write_bytes(before.encode())
        kept = {name: environ[name] for name in ("PATH", "LANG", "SYSTEMROOT", "TMPDIR") if name in environ}
        named = {name: str(home / one) for name, one in command.variables.items()}
        problem = _run(
            [program, *command.words[1:]], project, {**kept, **named, "HOME": str(home), "USERPROFILE": str(home)}
        )
        if problem or not path.is_file():
            return f"`{shown}` {problem or 'wrote nothing'}"
        try:
            after = path.read_bytes().decode("utf-8")
        except UnicodeDecodeError:
            return f"`{shown}` wrote no UTF-8 text"
    span = inserted(before or "", after)
    if span is None:
        return f"`{shown}` would change more of it than it adds"
    return Edited(after, (span,))


def _run(words: list[str], folder: Path, environ: Mapping[str, str]) -> str:
    quiet = {"CI": "true", "DISABLE_TELEMETRY": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
    try:
        done = subprocess.run(
            words,
            cwd=folder,
            env={**environ, **quiet},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"took longer than {SECONDS} s"
    except OSError as problem:
        return f"cannot be run: {problem.strerror}"
    return f"failed (exit {done.returncode})" if done.returncode else ""


def inserted(before: str, after: str) -> tuple[int, int] | None:
    """Return the one span of `after` without which it is `before`; None where more has changed."""
    pairs = enumerate(zip(before, after, strict=False))
    start = next((at for at, (one, other) in pairs if one != other), min(len(before), len(after)))
    end = len(after) - (len(before) - start)
    return (start, end) if end >= start and after[:start] + after[end:] == before else None

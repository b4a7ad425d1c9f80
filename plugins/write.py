"""Write the files of the plugins from the same table that `instinct install` has, and from the package's version.

`python plugins/write.py` rewrites them beside itself; a test compares. Skills are written by hand.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from instinct_git import __version__
from instinct_git.bridges.agents.pieces import JsonHook, JsonServer
from instinct_git.bridges.agents.table import BY_NAME

ROOT = Path(__file__).resolve().parents[1]
NAME, PACKAGE, LICENSE = "instinct", "instinct-git", "MIT"
SERVER = "io.github.instinct-git/instinct-git"
"""The name in the MCP registry; README's `mcp-name` says the same. Its first part is the account that publishes."""
SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
DESCRIPTION = "A memory for coding agents that lives in the repository and behaves like its code"
KEYWORDS = ["memory", "git", "mcp", "skills", "hooks"]
SKILL = "project-memory"


def files() -> dict[str, str]:
    """Return every file's text by its path below the repository."""
    return {path: json.dumps(value, indent=2, ensure_ascii=False) + "\n" for path, value in _values().items()} | {
        f"plugins/{agent}/skills/{SKILL}/SKILL.md": (ROOT / "plugins" / SKILL / "SKILL.md").read_text(encoding="utf-8")
        for agent in ("claude-code", "gemini")
    }


def _values() -> Mapping[str, Any]:
    about = {"name": NAME, "version": __version__, "description": DESCRIPTION}
    author = {"name": f"the {PACKAGE} contributors"}
    plugin = {**about, "author": author, "license": LICENSE, "keywords": KEYWORDS}
    entry = {**about, "source": "./plugins/claude-code", "category": "productivity"}
    claude, gemini = "plugins/claude-code", "plugins/gemini"
    return {
        ".claude-plugin/marketplace.json": {
            "name": PACKAGE, "owner": author, "metadata": {"description": DESCRIPTION}, "plugins": [entry],
        },
        f"{claude}/.claude-plugin/plugin.json": plugin,
        f"{claude}/.mcp.json": {"mcpServers": {NAME: {"command": NAME, "args": ["serve"]}}},
        f"{claude}/hooks/hooks.json": {"description": "What instinct install writes", "hooks": _hooks("claude-code")},
        f"{gemini}/gemini-extension.json": {**about, "mcpServers": {NAME: _server("gemini")}},
        f"{gemini}/hooks/hooks.json": {"hooks": _hooks("gemini")},
        "plugins/server.json": _registry(),
    }  # fmt: skip


def _registry() -> Mapping[str, Any]:
    serve = {"type": "positional", "value": "serve"}
    root = {
        "type": "named", "name": "--root", "description": "The project's folder, where the client does not start us there",
        "format": "filepath", "isRequired": False,
    }  # fmt: skip
    package = {
        "registryType": "pypi", "identifier": PACKAGE, "version": __version__, "runtimeHint": "uvx",
        "transport": {"type": "stdio"}, "packageArguments": [serve, root],
    }  # fmt: skip
    return {
        "$schema": SCHEMA, "name": SERVER, "title": PACKAGE, "description": DESCRIPTION, "version": __version__,
        "packages": [package],
    }  # fmt: skip


def _pieces(agent: str) -> Iterable[Any]:
    return (piece for target in BY_NAME[agent].project for piece in target.pieces)


def _hooks(agent: str) -> Mapping[str, Any]:
    found: dict[str, list[Any]] = {}
    for piece in _pieces(agent):
        if isinstance(piece, JsonHook):
            found.setdefault(piece.event, []).append(piece.value)
    return found


def _server(agent: str) -> Mapping[str, Any]:
    return next(piece.value for piece in _pieces(agent) if isinstance(piece, JsonServer))


def main() -> None:
    """Write what differs."""
    for name, text in files().items():
        path = ROOT / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8", newline="\n")
            print(f"wrote {name}")


if __name__ == "__main__":
    main()

"""The commands by which agents start us, as their files say now: what `doctor` runs is what an agent would run."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from instinct_git.bridges.agents import jsonc, toml, yaml
from instinct_git.bridges.agents.edited import NotEditable, is_our_server, runs_our_hook
from instinct_git.bridges.agents.pieces import COMMANDS, JsonHook, JsonServer, Piece, TomlServer, YamlServer
from instinct_git.bridges.agents.table import CLAUDE, NAME, PROJECT, Agent, Surroundings, Target

START, CAPTURE, SERVER = "session start", "hook", "MCP server"


class Registered(NamedTuple):
    """One command of ours in an agent's file."""

    role: str
    """What it is for: session start, hook or MCP server."""
    words: tuple[str, ...]
    """The program and its arguments."""
    path: Path
    """The file."""


def commands(where: Surroundings, target: Target) -> list[Registered]:
    """Return our commands in an agent's file, each once; none where the file is not there or cannot be read."""
    path = target.path(where)
    try:
        text = "" if path is None else path.read_text(encoding="utf-8-sig")
        found = [one for piece in target.pieces for one in _of(piece, text)] if text.strip() else []
    except (OSError, UnicodeDecodeError, NotEditable):
        return []
    return [Registered(role, words, path) for role, words in dict.fromkeys(found)] if path else []


def plugin(where: Surroundings, agent: str) -> Path | None:
    """Return the path that says that our plugin (Claude Code) or extension (Gemini CLI) is in use; None: none says so."""
    if agent == "gemini":
        path = where.home / ".gemini" / "extensions" / NAME
        return path if path.is_dir() else None
    folders = (where.folder(PROJECT), where.folder(PROJECT), where.folder(CLAUDE)) if agent == "claude-code" else ()
    for folder, name in zip(
        folders, (".claude/settings.local.json", ".claude/settings.json", "settings.json"), strict=False
    ):
        try:
            on = jsonc.plain((folder / name).read_text(encoding="utf-8-sig")).get("enabledPlugins") if folder else None
        except (OSError, UnicodeDecodeError, NotEditable):
            continue
        if isinstance(on, dict) and any(key.startswith(f"{NAME}@") and value is True for key, value in on.items()):
            return folder / name if folder else None
    return None


def ours(agent: Agent, path: Path) -> list[Registered]:
    """Return the commands that our plugin for an agent registers: those that `install` writes."""
    found: list[Registered] = []
    for piece in (piece for target in agent.project for piece in target.pieces):
        text = ""
        if isinstance(piece, JsonHook):
            text = json.dumps({"hooks": {piece.event: [piece.value]}})
        elif isinstance(piece, JsonServer):
            value: Any = piece.value
            for step in reversed(piece.path):
                value = {step: value}
            text = json.dumps(value)
        found += [Registered(role, words, path) for role, words in _of(piece, text)] if text else []
    return list(dict.fromkeys(found))


def _of(piece: Piece, text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    if isinstance(piece, JsonHook):
        hooks = jsonc.plain(text).get("hooks")
        for line in _lines(hooks.get(piece.event) if isinstance(hooks, dict) else None):
            try:
                words = tuple(shlex.split(line))
            except ValueError:
                continue
            yield START if "session-start" in words else CAPTURE, words
        return
    entry = _entry(piece, text)
    if entry is not None and is_our_server(entry):
        command, args = entry.get("command", entry.get("cmd")), entry.get("args") or []
        program = command if isinstance(command, list) else [command, *args]
        yield SERVER, tuple(str(word) for word in program)


def _lines(item: Any) -> Iterator[str]:
    """Yield the command lines of ours in an event's list."""
    if isinstance(item, list):
        for one in item:
            yield from _lines(one)
    elif isinstance(item, dict):
        line = next((item[name] for name in COMMANDS if runs_our_hook(item.get(name))), None)
        if line is not None:
            yield line
        yield from _lines(item.get("hooks"))


def _entry(piece: Piece, text: str) -> Any:
    if isinstance(piece, TomlServer):
        return toml.entry(text, piece.table, piece.name)
    if isinstance(piece, YamlServer):
        return yaml.entry(text, piece.parent, piece.name)
    found: Any = jsonc.plain(text) if isinstance(piece, JsonServer) else None
    for step in piece.path if isinstance(piece, JsonServer) else ():
        found = found.get(step) if isinstance(found, dict) else None
    return found

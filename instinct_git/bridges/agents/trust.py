"""Whether an agent would follow what a project's files tell it: read from the agent's own notes, and never written.

Each agent skips an untrusted project's hooks and servers without a word, so `doctor` has to look.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from instinct_git.bridges.agents import jsonc, toml
from instinct_git.bridges.agents.edited import NotEditable
from instinct_git.bridges.agents.table import CLAUDE_JSON, CODEX, COPILOT, HOME, NAME, Surroundings

YES, NO, UNKNOWN = "yes", "no", "unknown"


class Trust(NamedTuple):
    """What an agent's notes say of a project."""

    state: str
    """yes, no, or unknown: the agent's notes cannot be read or their form is not known."""
    step: str = ""
    """What the person does about it."""


def trust(agent: str, where: Surroundings, *, project: bool, hooks: Path | None = None) -> Trust:
    """Say whether an agent follows what it was told; `project`: by the project's own files.

    `hooks` is the file that holds our hooks, for Codex, which trusts each of them.
    """
    if where.top is None or agent not in _READERS:
        return Trust(UNKNOWN)
    if not project and agent in ("gemini", "copilot"):
        return Trust(YES)  # the person's own settings need no trust
    try:
        return _READERS[agent](where, where.top, project, hooks)
    except (OSError, UnicodeDecodeError, NotEditable, TypeError, AttributeError):
        return Trust(UNKNOWN)


def _claude(where: Surroundings, top: Path, project: bool, hooks: Path | None) -> Trust:
    notes = _json(where, CLAUDE_JSON, ".claude.json")
    projects = notes.get("projects", {})
    found = [projects[str(one)] for one in _with_parents(top) if isinstance(projects.get(str(one)), dict)]
    if not any(one.get("hasTrustDialogAccepted") is True for one in found):
        return Trust(NO, "start `claude` in this project and trust the folder")
    if any(NAME in (one.get("disabledMcpjsonServers") or ()) for one in found):
        return Trust(NO, "you have turned the MCP server down: type /mcp in `claude` and enable instinct")
    return Trust(YES)


def _codex(where: Surroundings, top: Path, project: bool, hooks: Path | None) -> Trust:
    folder = where.folder(CODEX)
    notes = toml.read(_text(folder / "config.toml" if folder else None))
    if project and notes.get("projects", {}).get(str(top), {}).get("trust_level") != "trusted":
        return Trust(NO, "start `codex` in this project and trust it")
    if hooks is None:
        return Trust(YES)
    states: Mapping[str, Any] = notes.get("hooks", {}).get("state", {})
    ours = [value for key, value in states.items() if key.startswith(f"{hooks}:session_start:")]
    if not any(one.get("trusted_hash") and one.get("enabled") is not False for one in ours):
        return Trust(NO, "type /hooks in `codex` and trust the hooks of instinct; until then they are skipped")
    return Trust(YES)


def _gemini(where: Surroundings, top: Path, project: bool, hooks: Path | None) -> Trust:
    if where.environ.get("GEMINI_CLI_TRUST_WORKSPACE", "").casefold() == "true":
        return Trust(YES)
    notes = _json(where, HOME, ".gemini/trustedFolders.json")
    for one in _with_parents(top):
        said = notes.get(str(one))
        if said == "DO_NOT_TRUST":
            break
        if said in ("TRUST_FOLDER", "TRUST_PARENT"):
            return Trust(YES)
    if any(said == "TRUST_PARENT" and Path(one).parent in _with_parents(top) for one, said in notes.items()):
        return Trust(YES)
    return Trust(NO, "start `gemini` in this project and trust the folder (/permissions)")


def _copilot(where: Surroundings, top: Path, project: bool, hooks: Path | None) -> Trust:
    notes = _json(where, COPILOT, "config.json")
    folders = {
        str(one) for name in ("trusted_folders", "trustedFolders") for one in notes.get(name) or () if one is not None
    }
    if folders & {str(one) for one in _with_parents(top)}:
        return Trust(YES)
    return Trust(NO, "start `copilot` in this project and trust the folder")


_READERS: Mapping[str, Callable[[Surroundings, Path, bool, Path | None], Trust]] = {
    "claude-code": _claude, "codex": _codex, "gemini": _gemini, "copilot": _copilot,
}  # fmt: skip
"""The agents whose notes are known. Cursor, VS Code and the others keep theirs where only they read them."""


def _with_parents(folder: Path) -> list[Path]:
    return [folder, *folder.parents]


def _json(where: Surroundings, base: str, name: str) -> dict[str, Any]:
    folder = where.folder(base)
    text = _text(folder / name if folder else None)
    return jsonc.plain(text) if text.strip() else {}


def _text(path: Path | None) -> str:
    """Return a file's text; empty where there is none: nothing has been trusted yet."""
    try:
        return "" if path is None else path.read_text(encoding="utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return ""

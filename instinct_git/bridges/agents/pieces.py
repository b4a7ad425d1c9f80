"""The pieces that are put into agents' settings, each with the three things one can do: look, add, take out.

Nothing here rewrites what is there: a registration of the person's own under our name stays theirs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from instinct_git.bridges.agents import block, jsonc, toml, yaml
from instinct_git.bridges.agents.edited import Edited, is_our_server, runs_our_hook

ABSENT, OURS, THEIRS = "absent", "ours", "theirs"
COMMANDS = ("command", "bash", "powershell")


@dataclass(frozen=True, slots=True)
class JsonServer:
    """An MCP registration in a JSON file: at `path`, its last step our name."""

    path: tuple[str, ...]
    value: dict[str, Any]
    what: str = "MCP server"

    def state(self, text: str) -> str:
        """absent, ours, or theirs."""
        found: Any = jsonc.plain(text)
        for step in self.path:
            found = found.get(step) if isinstance(found, dict) else None
        return ABSENT if found is None else OURS if is_our_server(found) else THEIRS

    def add(self, edited: Edited) -> Edited:
        """Put it in."""
        return jsonc.add(edited, self.path, self.value)

    def remove(self, text: str) -> str:
        """Take it out."""
        return jsonc.remove(text, self.path, is_our_server)


@dataclass(frozen=True, slots=True)
class JsonHook:
    """A hook in a JSON file: one item of the list `hooks.EVENT`."""

    event: str
    value: dict[str, Any]

    @property
    def what(self) -> str:
        """What it is, in words."""
        return f"hook {self.event}"

    def state(self, text: str) -> str:
        """absent or ours."""
        hooks = jsonc.plain(text).get("hooks")
        found = hooks.get(self.event) if isinstance(hooks, dict) else None
        return OURS if isinstance(found, list) and any(_runs_ours(one) for one in found) else ABSENT

    def add(self, edited: Edited) -> Edited:
        """Put it in, after the hooks that are there."""
        return jsonc.add(edited, ("hooks", self.event, jsonc.APPEND), self.value)

    def remove(self, text: str) -> str:
        """Take it out; hooks of others in the same list stay."""
        return jsonc.remove(text, ("hooks", self.event), _is_ours)


def _runs_ours(item: Any) -> bool:
    """True when a hook of ours is in an item of an event's list."""
    if not isinstance(item, dict):
        return False
    inner = item.get("hooks")
    return any(runs_our_hook(item.get(name)) for name in COMMANDS) or (
        isinstance(inner, list) and any(_runs_ours(one) for one in inner)
    )


def _is_ours(item: Any) -> bool:
    """True when an item holds hooks of ours and no other."""
    if not isinstance(item, dict):
        return False
    inner = item.get("hooks")
    if isinstance(inner, list):
        return bool(inner) and all(_is_ours(one) for one in inner)
    return any(runs_our_hook(item.get(name)) for name in COMMANDS)


@dataclass(frozen=True, slots=True)
class TomlServer:
    """An MCP registration as a TOML table `[table.name]`."""

    table: str
    name: str
    value: dict[str, Any]
    what: str = "MCP server"

    def state(self, text: str) -> str:
        """absent, ours, or theirs."""
        found = toml.entry(text, self.table, self.name)
        return ABSENT if found is None else OURS if is_our_server(found) else THEIRS

    def add(self, edited: Edited) -> Edited:
        """Put it in, as the last table."""
        return toml.add(edited, self.table, self.name, self.value)

    def remove(self, text: str) -> str:
        """Take it out."""
        return toml.remove(text, self.table, self.name) if self.state(text) == OURS else text


@dataclass(frozen=True, slots=True)
class YamlServer:
    """An MCP registration as an entry of a YAML mapping."""

    parent: str
    name: str
    value: dict[str, Any]
    what: str = "MCP server"

    def state(self, text: str) -> str:
        """absent, ours, or theirs."""
        found = yaml.entry(text, self.parent, self.name)
        return ABSENT if found is None else OURS if is_our_server(found) else THEIRS

    def add(self, edited: Edited) -> Edited:
        """Put it in, as the mapping's first entry."""
        return yaml.add(edited, self.parent, self.name, self.value)

    def remove(self, text: str) -> str:
        """Take it out."""
        return yaml.remove(text, self.parent, self.name) if self.state(text) == OURS else text


@dataclass(frozen=True, slots=True)
class Block:
    """A text between markers in a Markdown file."""

    name: str
    words: str
    what: str = "rule"

    def state(self, text: str) -> str:
        """absent or ours; a block with older words counts as absent: adding it brings it up to date."""
        found = block.content(text, self.name)
        return OURS if found is not None and found.strip() == self.words.strip() else ABSENT

    def add(self, edited: Edited) -> Edited:
        """Put it in, at the end or in the place of the one that is there."""
        return block.put(edited, self.name, self.words)

    def remove(self, text: str) -> str:
        """Take it out."""
        return block.remove(text, self.name)


Piece = JsonServer | JsonHook | TomlServer | YamlServer | Block

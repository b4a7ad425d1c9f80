"""Builds an agent's transcript (Claude Code's JSONL) step by step, as a person and an agent would have written it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CALLS: dict[str, tuple[str, dict[str, Any], str]] = {
    "edit": ("Edit", {"file_path": "/home/dev/shop/a.py"}, "has been updated"),
    "test": ("Bash", {"command": "pytest -q"}, "3 passed"),
    "test!": ("Bash", {"command": "pytest -q | tail"}, "1 failed, 2 passed"),
    "test?": ("Bash", {"command": "pytest -q"}, "Command running in background with ID: b1"),
    "lint": ("Bash", {"command": "ruff check ."}, "All checks passed!"),
    "commit": ("Bash", {"command": "git commit -m 'fix: the cart'"}, "[main 1a2b3c4] ok"),
    "push": ("Bash", {"command": "git push"}, "ok"),
    "pr": ("Bash", {"command": "gh pr create --fill"}, "ok"),
    "deploy": ("Bash", {"command": "deploy-tool deploy"}, "ok"),
    "fetch": ("Bash", {"command": "curl -s http://localhost:1/health"}, "ok"),
    "build": ("Bash", {"command": "make build"}, "ok"),
    "read": ("Read", {"file_path": "/home/dev/shop/a.py"}, "1 import os"),
    "todo": ("TodoWrite", {}, "ok"),
    "install": ("Bash", {"command": "npm install left-pad"}, "added 1 package"),
}
"""One word per call; `!` for a failure, `?` for a result that is not known."""


@dataclass
class Session:
    """One session, told in order."""

    name: str = "s1"
    day: str = "2026-02-01"
    records: list[dict[str, Any]] = field(default_factory=list)

    def on(self, day: str) -> Session:
        """Go on upon another day."""
        self.day = day
        return self

    def say(self, text: str | list[dict[str, Any]], **more: Any) -> Session:
        """Let the person say something (or, with marks, a program in their name)."""
        return self._add("user", {"role": "user", "content": text}, **more)

    def do(self, words: str, **more: Any) -> Session:
        """Let the agent do things, a word each of CALLS."""
        for word in words.split():
            tool, arguments, result = CALLS[word]
            self.use(tool, arguments, result, **more)
        return self

    def use(self, tool: str, arguments: dict[str, Any], result: str, **more: Any) -> Session:
        """Let the agent use a tool."""
        name = f"toolu_{self.name}_{len(self.records)}"
        block = {"type": "tool_use", "id": name, "name": tool, "input": arguments}
        self._add("assistant", {"role": "assistant", "content": [block]}, **more)
        back = {"type": "tool_result", "tool_use_id": name, "content": result}
        return self._add("user", {"role": "user", "content": [back]}, toolUseResult=result, **more)

    def hand_over(self, report: str) -> Session:
        """Let a subagent do something and report."""
        return self.use("Task", {"prompt": "look", "subagent_type": "reviewer"}, report)

    def _add(self, kind: str, message: dict[str, Any], **more: Any) -> Session:
        number = len(self.records)
        self.records.append(
            {
                "type": kind,
                "uuid": f"{self.name}-{number}",
                "sessionId": self.name,
                "isSidechain": False,
                "cwd": "/home/dev/shop",
                "userType": "external",
                "message": message,
                "timestamp": f"{self.day}T10:{number // 60 % 60:02}:{number % 60:02}.000Z",
                **more,
            }
        )
        return self

    def file(self, folder: Path, *, first: int = 0, last: int | None = None, name: str = "") -> Path:
        """Write the session, or the part of it from record `first` to `last`, as a file."""
        path = folder / f"{name or self.name}.jsonl"
        lines = [json.dumps(one, ensure_ascii=False) for one in self.records[first:last]]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

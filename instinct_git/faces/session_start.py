"""`instinct session-start AGENT`: what an agent's hook runs when a session begins. It prints what the memory suggests.

Prints JSON in the form that the agent takes, or nothing at all; always exits 0 and is silent on failure.
`INSTINCT_SKIP=1` turns it off.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # typing costs 3 ms
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from instinct_git.core.injection import Advice
    from instinct_git.operations.reading import Pattern

MAX_EVENT = 1 << 20


def run(arguments: list[str]) -> int:
    """Print the suggestions for the session that the event on standard input tells of; return 0 whatever happens."""
    try:
        if len(arguments) != 1 or os.environ.get("INSTINCT_SKIP"):
            return 0
        event = _event()
        words = _suggestions(_folder(event))
        if words:
            import json

            sys.stdout.write(json.dumps(answer(arguments[0], words, event)) + "\n")
            sys.stdout.flush()
    except BaseException:  # an agent must never notice a failing hook
        return 0
    return 0


def answer(agent: str, words: str, event: dict[str, Any]) -> dict[str, Any]:
    """Return what an agent takes as context at a session's start."""
    if agent == "cursor":
        return {"continue": True, "additional_context": words, "env": {}}
    name = event.get("hook_event_name") or event.get("hookEventName")
    if agent == "copilot" and not name:  # VS Code runs Copilot's hooks too: it names the event and wants the other form
        return {"additionalContext": words}
    return {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": words}}


def _event() -> dict[str, Any]:
    """Return the event on standard input; {} where there is none."""
    if sys.stdin is None or sys.stdin.isatty():
        return {}
    data = sys.stdin.buffer.read(MAX_EVENT)
    try:
        import json

        found = json.loads(data)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _folder(event: dict[str, Any]) -> str | None:
    """Return the project's folder: a hook of the user's own may run anywhere."""
    roots = event.get("workspace_roots")
    for one in (event.get("cwd"), *(roots if isinstance(roots, list) else ())):
        if isinstance(one, str) and os.path.isdir(one):
            return one
    return None


def _suggestions(folder: str | None) -> str:
    from instinct_git.core.injection import text
    from instinct_git.memory import Memory

    found = Memory(folder).suggestions()
    return text(advice(found.patterns), found.budget, found.nominated)


def advice(patterns: Iterable[Pattern]) -> list[Advice]:
    """Return suggestions as far as an agent reads them."""
    from instinct_git.core.injection import Advice

    return [Advice(one.words, one.pattern, one.because or f"{one.scope}, {one.level}", one.level) for one in patterns]

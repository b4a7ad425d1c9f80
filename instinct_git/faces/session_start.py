"""`instinct session-start AGENT`: what an agent's hook runs when a session begins. It prints what the memory suggests.

Prints JSON in the form that the agent takes, or nothing at all; always exits 0 and is silent on failure. Where two hosts
run it for one session the second is silent. `INSTINCT_SKIP=1` turns it off.
"""

from __future__ import annotations

import os
import sys

from instinct_git.faces import hook

TYPE_CHECKING = False  # typing costs 3 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from instinct_git.core.injection import Advice
    from instinct_git.operations.reading import Pattern


def run(arguments: list[str]) -> int:
    """Print the suggestions for the session that the event on standard input tells of; return 0 whatever happens."""
    try:
        if len(arguments) != 1 or os.environ.get("INSTINCT_SKIP"):
            return 0
        event, quote = _event()
        words = _suggestions(arguments[0], event)
        if words:
            sys.stdout.write(answer(arguments[0], words, event, quote) + "\n")
            sys.stdout.flush()
    except BaseException:  # an agent must never notice a failing hook
        return 0
    return 0


def answer(
    agent: str, words: str, event: dict[str, Any], quote: Callable[[str], str], name: str = "SessionStart"
) -> str:
    """Return, as JSON, what an agent takes as context; `name` is its name of the event."""
    said = quote(words)
    if agent == "cursor":
        return f'{{"continue": true, "additional_context": {said}, "env": {{}}}}'
    given = event.get("hook_event_name") or event.get("hookEventName")
    if (
        agent == "copilot" and not given
    ):  # VS Code runs Copilot's hooks too: it names the event and wants the other form
        return f'{{"additionalContext": {said}}}'
    return f'{{"hookSpecificOutput": {{"hookEventName": {quote(name)}, "additionalContext": {said}}}}}'


def _event() -> tuple[dict[str, Any], Callable[[str], str]]:
    """Return the event on standard input, {} where there is none, and what quotes a text as JSON."""
    data = b"" if sys.stdin is None or sys.stdin.isatty() else hook.standard_input()
    try:
        return hook.read(data)
    except ValueError:
        return hook.read(b"{}")


def _suggestions(agent: str, event: dict[str, Any]) -> str:
    from instinct_git.core.injection import inject
    from instinct_git.core.ranking import tokens
    from instinct_git.memory import Memory

    memory = Memory(hook.folder_of(event))
    found = memory.suggestions()
    words, kept = inject(
        advice(found.patterns), found.budget, [*found.nominated, *([found.waits] if found.waits else [])]
    )
    session = hook.session_of(event)
    if not session or memory.silent:
        return words
    keys = [one.key for one in kept]
    source = str(event.get("source", ""))
    first = memory.begin_session(session, keys, agent=hook.host_of(event, agent), source=source, tokens=tokens(words))
    return words if first else ""


def advice(patterns: Iterable[Pattern]) -> list[Advice]:
    """Return suggestions as far as an agent reads them."""
    from instinct_git.core.injection import Advice

    return [Advice(one.words, one.pattern, one.because or f"{one.scope}, {one.level}", one.level) for one in patterns]

"""What `instinct-hook` does with the few prompts that concern the memory; it loads this only for them.

The sentence of a prompt that asks to remember something is kept in the clone's private spool until `learn` has seen
whether a transcript tells the same. With `prompt.suggest: true` in the person's config, what is relevant to the prompt
and has not been told to the session yet is handed to the agent.
"""

from __future__ import annotations

import hashlib
import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from instinct_git.faces import hook

if TYPE_CHECKING:
    from instinct_git.memory import Memory
    from instinct_git.operations.reading import Pattern

EVENTS = {"claude-code": "UserPromptSubmit", "codex": "UserPromptSubmit", "gemini": "BeforeAgent", "copilot": ""}
"""The agents that take context with a prompt, and their names of the event."""
MOST = 5
"""Suggestions with one prompt."""
LONGEST = 600
"""Characters of a sentence that is kept."""


def run(agent: str, event: dict[str, Any], folder: str, spool: str, suggests: bool) -> str:
    """Keep what the prompt asks to remember, and return what to print: suggestions as JSON, or nothing."""
    from instinct_git.core.injection import without_ours

    text = without_ours(str(event["prompt"]))
    words = asking(text)
    if words and not (hook.in_ci() and _memory(folder).silent):
        _keep(agent, event, folder, spool, words)
    return _suggested(agent, event, folder, text) if suggests and agent in EVENTS else ""


def asking(text: str) -> str:
    """Return the lines of a prompt that ask to remember something, or say by which words; "" for nothing, for what is long
    enough to be pasted, and for what looks like a secret (law 9)."""
    from instinct_git.bridges.secrets import find_secrets
    from instinct_git.core.asking import triggers_given
    from instinct_git.core.triggers import asks_to_remember, said

    words = said(text)
    trigger = asks_to_remember(words)
    if trigger is None:
        return ""
    lines = [" ".join(line.split()) for line in text.split("\n")]
    first = next((line for line in lines if trigger.phrase in line), "")
    kept = [line for line in lines if line and (line == first or triggers_given(line))]
    found = "\n".join(kept or [" ".join(words.split())])[:LONGEST]
    return "" if find_secrets(found) or asks_to_remember(said(found)) is None else found


def _keep(agent: str, event: dict[str, Any], folder: str, spool: str, words: str) -> None:
    import json

    session = hook.session_of(event) or os.urandom(8).hex()
    path = event.get("transcript_path") or event.get("transcriptPath")
    row = {
        "agent": agent, "session_id": session, "cwd": folder, "day": datetime.now(UTC).strftime("%Y%m%d"), "prompt": words,
        **({"transcript_path": path} if isinstance(path, str) else {}),
    }  # fmt: skip
    os.makedirs(spool, mode=0o700, exist_ok=True)
    if len(os.listdir(spool)) < hook.MAX_SPOOLED:
        hook.put(spool, f"{hook.PROMPT}.{session}.{_mark(words)}.json", json.dumps(row).encode("ascii"))


def _mark(words: str) -> str:
    return hashlib.sha256(words.encode("utf-8", "replace")).hexdigest()[:12]


def _memory(folder: str) -> Memory:
    from instinct_git.memory import Memory

    return Memory(folder)


def _suggested(agent: str, event: dict[str, Any], folder: str, text: str) -> str:
    import json

    from instinct_git.core.injection import inject
    from instinct_git.core.ranking import tokens
    from instinct_git.faces.session_start import advice, answer

    memory = _memory(folder)
    settings = memory.config()
    if not settings["prompt.suggest"]:
        return ""
    session = hook.session_of(event)
    found = relevant(memory, text, paths_of(event, folder, text), memory.told(session) if session else frozenset())
    words, kept = inject(advice(found), int(settings["prompt.budget"]))
    if not words:
        return ""
    keys = [one.key for one in kept]
    if (
        session
        and not memory.silent
        and not memory.tell_session(session, _mark(text), keys, agent=agent, tokens=tokens(words))
    ):
        return ""
    return answer(agent, words, event, json.dumps, EVENTS[agent]) + "\n"


def relevant(memory: Memory, text: str, paths: list[str], told: frozenset[str]) -> list[Pattern]:
    """Return the suggestions that a prompt and the files it speaks of call for, but for those that were told."""
    found = memory.suggestions(budget=1 << 30, for_text=text, paths=paths, only=True).patterns
    return [one for one in found if one.pattern not in told][:MOST]


def paths_of(event: dict[str, Any], folder: str, text: str) -> list[str]:
    """Return the files that are in play: those that the event attaches, and words of the prompt that name a file of the
    folder, or a new one in a folder that is there ("and/or" is none)."""
    attached = event.get("attachments")
    found = [one.get("file_path") for one in attached if isinstance(one, dict)] if isinstance(attached, list) else []
    words = [word.strip("@`'\"()[]{}<>,;:!?。，") for word in text[:20_000].split()]
    found += [word for word in words if "/" in word.strip("/") and "://" not in word and _is_place(folder, word)]
    return [one for one in dict.fromkeys(found) if isinstance(one, str)][:50]


def _is_place(folder: str, word: str) -> bool:
    path = os.path.join(folder, word)
    return os.path.lexists(path) or os.path.isdir(os.path.dirname(path))

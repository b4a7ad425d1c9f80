"""A session begins: what is suggested to it is noted in this clone."""

from __future__ import annotations

from collections.abc import Sequence

from instinct_git.core.digest import session_code
from instinct_git.core.session import Known
from instinct_git.operations.workspace import Workspace
from instinct_git.storage import sessions, shown

AGAIN = ("clear", "compact", "fork")
"""Beginnings after which an agent's context is empty again; all others are the same beginning under other names."""


def began(space: Workspace, session: str, agent: str, source: str, told: Sequence[str], tokens: int) -> bool:
    """Note that a session has begun; False when another host has just said so: then it has been told already."""
    if not sessions.is_name(session) or not space.place.exists():  # a folder without a memory is left alone
        return True
    if not sessions.claim(space.place, session, source if source in AGAIN else "begin", space.now()):
        return False
    at = space.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    known = sessions.read(space.place, session) or Known(session, agent, at)
    sessions.keep(space.place, known._replace(told=tuple(told), tokens=known.tokens + tokens, ended="", end=()))
    _count(space, session, agent, told)
    return True


def prompted(space: Workspace, session: str, agent: str, mark: str, told: Sequence[str], tokens: int) -> bool:
    """Note what was suggested at a prompt (`mark` tells it from others); False when another host has said so."""
    if not sessions.is_name(session) or not space.place.exists():
        return True
    if not sessions.claim(space.place, session, f"prompt-{mark}", space.now()):
        return False
    at = space.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    known = sessions.read(space.place, session) or Known(session, agent, at)
    sessions.keep(space.place, known._replace(told=(*known.told, *told), tokens=known.tokens + tokens))
    _count(space, session, agent, told)
    return True


def _count(space: Workspace, session: str, agent: str, told: Sequence[str]) -> None:
    """Count it as a telling, under what stands for the session in evidence: so it shows whether it was followed."""
    shown.note(space.place, told, session_code(agent, session), space.now().date().isoformat())


def told(space: Workspace, session: str) -> frozenset[str]:
    """Return the keys that a session has been told."""
    known = sessions.read(space.place, session)
    return frozenset(known.told if known is not None else ())

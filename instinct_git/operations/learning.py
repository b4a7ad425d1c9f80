"""`learn`: transcripts in, evidence out. The same session learned twice, on any machine, counts once."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from instinct_git.core.evidence import NONCE_CHARS
from instinct_git.core.keys import normalise_key
from instinct_git.core.mining import Learned, mine
from instinct_git.core.model import Evidence
from instinct_git.errors import InstinctError
from instinct_git.operations.observing import put
from instinct_git.operations.workspace import Workspace, refuse_secrets


@dataclass(frozen=True, slots=True)
class LearnedPattern:
    """One pattern found in transcripts."""

    key: str
    title: str
    support: int
    """Non-overlapping occurrences, over all sessions."""
    sessions: int
    at: tuple[tuple[int, ...], ...]
    """The 1-based tool-call numbers, in file order, of every occurrence."""
    new: int
    """Pieces of evidence that this run adds; 0: all were known."""


@dataclass(frozen=True, slots=True)
class LearnResult:
    """What `learn` found and wrote."""

    patterns: tuple[LearnedPattern, ...]
    sessions: int
    calls: int
    skipped: dict[str, int]
    """Lines that could not be used, by reason."""
    new: int
    dry_run: bool = False


def learn(space: Workspace, paths: Sequence[Path], *, dry_run: bool = False) -> LearnResult:
    """Read transcripts, mine them, and put what is new into the inbox as observations."""
    from instinct_git.bridges.transcripts import read_transcripts

    for path in paths:
        if not path.exists():
            raise InstinctError(f"{path} does not exist", "name transcript files or folders of them")
    transcripts = read_transcripts(paths)
    found = mine(transcripts)
    book, _ = space.read()
    at = space.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    fresh: list[Evidence] = []
    patterns = []
    for learned in found:
        evidence = [one for one in evidence_of(learned, at) if one.id not in book.everything]
        refuse_secrets([("a learned pattern", learned.key), ("a learned title", learned.title)])
        fresh += evidence
        spots = tuple(one.calls for one in learned.occurrences)
        patterns.append(
            LearnedPattern(learned.key, learned.title, learned.support, learned.sessions, spots, len(evidence))
        )
    if fresh and not dry_run:
        put(space, fresh)
    skipped: dict[str, int] = {}
    for one in transcripts:
        for reason, lines in one.skipped.items():
            skipped[reason] = skipped.get(reason, 0) + lines
    calls = sum(len(one.calls) for one in transcripts)
    return LearnResult(tuple(patterns), len(transcripts), calls, skipped, len(fresh), dry_run)


def evidence_of(learned: Learned, at: str) -> list[Evidence]:
    """Return one observation an occurrence, with ids that depend on agent, session, key and number alone."""
    key = normalise_key(learned.key)
    counts: dict[tuple[str, str], int] = {}
    evidence = []
    for spot in learned.occurrences:
        number = counts[spot.agent, spot.session] = counts.get((spot.agent, spot.session), 0) + 1
        evidence_id = f"{spot.day}-{code(spot.agent, spot.session, key)}.{number}"
        extra = {"title": learned.title} if learned.title and number == 1 else {}
        evidence.append(
            Evidence(evidence_id, key, "observed", at, spot.agent, session_code(spot.agent, spot.session), extra=extra)
        )
    return evidence


def code(*parts: str) -> str:
    """Return 12 characters of Crockford base32 from a hash of the parts."""
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).digest()
    number = int.from_bytes(digest[:8], "big")
    return "".join(NONCE_CHARS[(number >> (5 * i)) & 31] for i in range(12))


def session_code(agent: str, session: str) -> str:
    """Return the 12 hex digits of a transcript's session. Unlike a session that a person or tool names, it must be the
    same in every clone, or one piece of evidence learned twice would have two payloads."""
    return hashlib.sha256(f"session\0{agent}\0{session}".encode("utf-8", "surrogatepass")).hexdigest()[:12]

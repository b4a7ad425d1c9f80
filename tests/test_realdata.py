"""Real session files, where this machine has them (INSTINCT_REALDATA names the folder); none is kept here."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from instinct_git.bridges import readers
from instinct_git.bridges.readers.draft import UNIQUE_ID
from instinct_git.bridges.transcripts import read_transcripts
from instinct_git.core.mining import mine
from instinct_git.core.threads import Learned
from instinct_git.errors import InstinctError

FOLDER = os.environ.get("INSTINCT_REALDATA", "")
pytestmark = [
    pytest.mark.realdata,
    pytest.mark.skipif(not FOLDER, reason="INSTINCT_REALDATA names no folder of real sessions"),
]


def claude_code_files() -> list[Path]:
    return sorted(path for path in Path(FOLDER).rglob("*.jsonl") if "claude" in str(path.relative_to(FOLDER)))


def is_found(gold: dict[str, Any], learned: Learned) -> bool:
    """By key, or by sharing calls (two for a sequence, else one) with three in five of the expected occurrences."""
    key = gold["p"].split(" (")[0].strip()
    if learned.key.partition(":")[0] != key.partition(":")[0]:
        return False
    if learned.key == key:
        return True
    spots = [set(spot) if isinstance(spot, list) else {spot} for spot in gold.get("at", [])]
    need = 2 if key.startswith("seq:") else 1
    seen = [set(occurrence.calls) for occurrence in learned.occurrences]
    hits = sum(any(len(spot & one) >= min(need, len(spot)) for one in seen) for spot in spots)
    return bool(spots) and hits >= 0.6 * len(spots)


def test_every_session_is_learned_or_refused_as_no_transcript() -> None:
    files = claude_code_files()
    assert files
    for path in files:
        try:
            transcripts = read_transcripts([path])
        except InstinctError as refused:
            assert "is not a transcript" in refused.message
            continue
        mine(transcripts)


def test_a_whole_folder_is_learned_at_once_and_repeats_count_once() -> None:
    transcripts = read_transcripts([Path(FOLDER)])
    assert transcripts
    assert read_transcripts([Path(FOLDER), Path(FOLDER)]) == transcripts
    identities = [
        (transcript.agent, "" if len(call.id) >= UNIQUE_ID else transcript.session, call.id)
        for transcript in transcripts
        for call in transcript.calls
    ]
    assert len(identities) == len(set(identities))


def test_every_file_of_every_agent_is_read_or_passed_over() -> None:
    agents = set()
    for path in sorted(path for path in Path(FOLDER).rglob("*") if path.is_file()):
        for transcript in readers.read([path]):
            agents.add(transcript.agent)
            mine([transcript])
            repr(transcript).encode("utf-8")
    assert agents >= {"codex", "gemini", "swe-agent", "openhands"}


@pytest.mark.parametrize("entry_id", ["G1", "G2"])
def test_at_least_half_of_what_a_careful_reader_finds_is_found(entry_id: str) -> None:
    entries = [json.loads(line) for line in (Path(FOLDER) / "gold.jsonl").read_text("utf-8").splitlines()]
    entry = next(entry for entry in entries if entry["id"] == entry_id)
    learned = mine(read_transcripts([Path(FOLDER) / entry["file"]]))
    musts = [gold for gold in entry["expect"] if gold.get("tier") == "must"]
    found = [gold["p"] for gold in musts if any(is_found(gold, one) for one in learned)]
    assert 2 * len(found) >= len(musts), f"only {found}"

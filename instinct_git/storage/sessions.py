"""The sessions of this clone: when each began, what it was told, how it ended. Private to the clone, and bounded.

One small file a session, named after the agent's own id of it. Marks beside them let two hosts that see the same event
(VS Code and Cursor run Claude Code's hooks too) do its work once. Losing any of them costs a summary, never evidence.
"""

from __future__ import annotations

import json
import os
from datetime import datetime, timedelta
from pathlib import Path

from instinct_git.core.session import Known
from instinct_git.storage import files
from instinct_git.storage.files import Place

_FOLDER = "sessions"
_LONGEST = 100  # characters of an id that can be a file's name
MOST, LESS = 400, 300
"""Files from which on the oldest go, and how many are left then."""
SAME_MOMENT = timedelta(seconds=60)
"""What the same session says again within it has been seen by two hosts."""


def is_name(session: str) -> bool:
    """True for an id that files can be named after."""
    return 0 < len(session) <= _LONGEST and session.isascii() and session.replace("-", "").replace("_", "").isalnum()


def claim(place: Place, session: str, what: str, now: datetime) -> bool:
    """Mark something as done for a session; False when that was done a moment ago. What cannot be marked is done."""
    path = place.state_dir / _FOLDER / f"{session}.{what}"
    told = now.isoformat().encode("ascii")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "xb") as stream:
            stream.write(told)
    except FileExistsError:
        try:
            before = path.read_text(encoding="ascii")  # nothing yet: its writer is at it
            if not before or abs(now - datetime.fromisoformat(before)) <= SAME_MOMENT:
                return False
            files.replace(path, told)
        except (OSError, ValueError, TypeError):
            pass
    except OSError:
        pass
    return True


def keep(place: Place, one: Known) -> None:
    """Keep what is known of a session; a folder that cannot be written keeps nothing."""
    folder = place.state_dir / _FOLDER
    row = {name: value for name, value in one._asdict().items() if value and name != "session"}
    try:
        files.replace(folder / f"{one.session}.json", json.dumps({"v": 1, **row}).encode("ascii"))
        _prune(folder)
    except OSError:
        pass


def _prune(folder: Path) -> None:
    with os.scandir(folder) as entries:
        found = [entry for entry in entries if not entry.name.startswith(".")]
    if len(found) > MOST:
        found.sort(key=lambda entry: entry.stat().st_mtime_ns)
        for entry in found[: len(found) - LESS]:
            Path(entry.path).unlink(missing_ok=True)


def read(place: Place, session: str) -> Known | None:
    """Return what is known of a session; None where nothing is, or nothing usable."""
    if not is_name(session):
        return None
    try:
        row = json.loads((place.state_dir / _FOLDER / f"{session}.json").read_bytes())
        texts = {name: str(row.get(name, "")) for name in ("agent", "began", "ended")}
        lists = {name: tuple(map(str, row.get(name, ()))) for name in ("told", "end")}
        return Known(
            session,
            texts["agent"],
            texts["began"],
            lists["told"],
            int(row.get("tokens", 0)),
            texts["ended"],
            lists["end"],
        )
    except (OSError, ValueError, TypeError, AttributeError):
        return None


def latest(place: Place) -> list[str]:
    """Return the ids of the sessions that are known, the one heard of last first."""
    try:
        with os.scandir(place.state_dir / _FOLDER) as entries:
            found = [(entry.stat().st_mtime_ns, entry.name) for entry in entries if entry.name.endswith(".json")]
    except OSError:
        return []
    return [name.removesuffix(".json") for _, name in sorted(found, reverse=True) if not name.startswith(".")]

"""What `learn` has read of this project, and what the agents' hooks have noted for it: private to the clone.

`learned.json` maps the path of a transcript to its size and time of change. `calls.jsonl` tells, for `explain`, which
calls stand behind a piece of evidence. The spool holds one small file an event that an agent's hook saw
(`faces/hook.py`). Losing any costs time, an explanation or a hint, never evidence: ids tell what is known.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

from instinct_git.core.evidence import parse_container
from instinct_git.core.report import Calls
from instinct_git.storage import files, inbox, store
from instinct_git.storage.files import Place

Stamp = tuple[int, int]
"""Size in bytes, time of change in ns."""
_STATE, _CALLS = "learned.json", "calls.jsonl"
_VERSION = 1
MOST_CALLS = 4 * 2**20
"""Bytes of `calls.jsonl` from which on its older half is forgotten."""


class Pointer(NamedTuple):
    """What a hook noted: the event's file in the spool, and the transcript it names ("" if it names none)."""

    file: Path
    transcript: str


class Heard(NamedTuple):
    """A prompt that asks to remember something, as a hook heard it."""

    file: Path
    agent: str
    session: str
    cwd: str
    day: str
    """YYYYMMDD, UTC."""
    text: str
    transcript: str
    """Where the agent says that its transcript is; "" if it says nothing."""


class Project(NamedTuple):
    """The folders whose sessions a memory learns from."""

    roots: tuple[str, ...]
    """The project's folder in every working tree of the clone, as git spells it and without symbolic links."""
    trees: tuple[str, ...] = ()
    """The clone's working trees, without symbolic links."""
    spool: Path | None = None

    def nearby(self, folder: str) -> bool:
        """True for a folder in one of the clone's working trees."""
        return any(Path(os.path.realpath(folder)).is_relative_to(tree) for tree in self.trees)

    def holds(self, folder: str) -> bool:
        """True for a folder that lies in the project, also where it is gone. What lies below the project but is a
        repository or has a memory of its own is another project."""
        if not os.path.isabs(folder):
            return False
        path = Path(os.path.realpath(folder))
        around = [Path(root) for root in self.roots if path.is_relative_to(root)]
        if not around:
            return False
        root = max(around, key=lambda one: len(one.parts))
        between = [one for one in (path, *path.parents) if one.is_relative_to(root) and one != root]
        return not any(os.path.lexists(one / ".git") or files.is_memory(one) for one in between)


def project(place: Place, folder: Path) -> Project | None:
    """Return the project that a memory is about, seen from a folder; None where nothing says what belongs to one."""
    top, common_dir, root = place.top, place.common_dir, place.root
    if place.scope != files.PROJECT:
        top, _, common_dir = files.find_repository(folder)
        root = top or root
    if top is None or common_dir is None:
        return Project(_spellings([place.root])) if place.scope == files.PROJECT else None
    inside = root.resolve().relative_to(top.resolve())
    trees = _trees(top, common_dir)
    spool = common_dir / "instinct" / "spool"
    return Project(_spellings(one / inside for one in trees), tuple(os.path.realpath(one) for one in trees), spool)


def _trees(top: Path, common_dir: Path) -> list[Path]:
    """The clone's working trees: the one around us, the main one and the linked ones, also those that are gone."""
    found = [top, *([common_dir.parent] if common_dir.name == ".git" else [])]
    for pointer in sorted((common_dir / "worktrees").glob("*/gitdir")):
        try:
            text = pointer.read_text(encoding="utf-8", errors="surrogateescape").strip()
        except OSError:
            continue
        if text:
            found.append(Path(os.path.normpath(pointer.parent / text)).parent)
    return found


def _spellings(folders: Iterable[Path]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(path for one in folders for path in (str(one), os.path.realpath(one))))


def known(place: Place) -> dict[str, Stamp]:
    """Return what was learned, and as what it was then; nothing where the file is missing, damaged, or a newer version's."""
    return _read_state(place)[1]


def _read_state(place: Place) -> tuple[int, dict[str, Stamp]]:
    """Return (version, what was learned); version 0 where nothing can be read."""
    try:
        state = json.loads((place.state_dir / _STATE).read_bytes())
        version, told = int(state["v"]), state["files"]
        if version != _VERSION:
            return version, {}
        return version, {str(path): (int(size), int(time)) for path, (size, time) in told.items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return 0, {}


def keep(place: Place, learned: Mapping[str, Stamp]) -> None:
    """Note what was learned, beside what was known; files that are gone are forgotten. A folder that cannot be written
    (agents' sandboxes) keeps nothing: it is read again the next time. What a newer version keeps is left to it."""
    version, before = _read_state(place)
    if version > _VERSION:
        return
    stamps = {path: one for path, one in sorted({**before, **learned}.items()) if os.path.exists(path)}
    try:
        files.replace(place.state_dir / _STATE, json.dumps({"v": _VERSION, "files": stamps}, indent=0).encode("ascii"))
    except OSError:
        pass


def note_calls(place: Place, found: Iterable[tuple[str, Calls]]) -> None:
    """Note the calls behind evidence, as far as they are not known as such; a resumed copy takes no call away from the
    session that is known for it. Each run adds in one write; two that shorten the file at once may forget some."""
    path = place.state_dir / _CALLS
    before = _logged(path)
    new = {one: calls for one, calls in found if before.get(one, calls).session == calls.session}
    new = {one: calls for one, calls in new.items() if before.get(one) != calls}
    lines = [json.dumps({"id": one, **asdict(calls)}, separators=(",", ":")) + "\n" for one, calls in new.items()]
    if not lines:
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        files.append(path, "".join(lines).encode("ascii"))
        if path.stat().st_size > MOST_CALLS:
            kept = path.read_bytes()[-MOST_CALLS // 2 :]
            files.replace(path, kept[kept.find(b"\n") + 1 :])
    except OSError:
        pass  # as above: evidence comes first


def calls(place: Place, ids: Collection[str]) -> dict[str, Calls]:
    """Return the calls behind these pieces of evidence, as far as this clone knows them."""
    found = _logged(place.state_dir / _CALLS)
    return {one: found[one] for one in ids if one in found}


def _logged(path: Path) -> dict[str, Calls]:
    """Read the log; of several lines about one piece of evidence the last counts, and a damaged one is passed over."""
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError:
        return {}
    found = {}
    for line in lines:
        try:
            one = json.loads(line)
            numbers, actions = tuple(map(int, one["numbers"])), tuple(map(str, one["actions"]))
            found[str(one["id"])] = Calls(str(one["agent"]), str(one["session"]), numbers, actions, str(one["path"]))
        except (ValueError, TypeError, KeyError, RecursionError):
            continue
    return found


def written(place: Place) -> dict[str, tuple[str, int]]:
    """Return {id: (UTC time, ns since 1970 at which its file was written)} of the evidence that this clone still has in
    the files it was written to: they tell the order, which a commit does not."""
    paths = [*inbox.inbox_files(place), *(path for found in store.recorded(place).values() for path in found)]
    times: dict[str, tuple[str, int]] = {}
    for path in sorted(paths, key=lambda one: one.name):
        try:
            data, moment = path.read_bytes(), path.stat().st_mtime_ns
        except OSError:
            continue  # drained meanwhile
        for one in parse_container(data)[0]:
            if "T" in one.at:
                times.setdefault(one.id, (one.at, moment))
    return times


def spooled(spool: Path | None) -> list[Pointer]:
    """Return what hooks have noted. What one is still writing has a name of its own and is passed over."""
    if spool is None or not spool.is_dir():
        return []
    return [Pointer(path, _transcript(path)) for path in sorted(spool.glob("[!.]*.json")) if not _is_heard(path)]


def heard(spool: Path | None) -> list[Heard]:
    """Return the prompts that hooks have kept; one that cannot be read has no text."""
    if spool is None or not spool.is_dir():
        return []
    return [_heard(path) for path in sorted(spool.glob("[!.]*.json")) if _is_heard(path)]


def _is_heard(path: Path) -> bool:
    return path.name.startswith("prompt.")


def _heard(path: Path) -> Heard:
    try:
        row = json.loads(path.read_bytes())
        agent, session, cwd, day, text = (str(row[name]) for name in ("agent", "session_id", "cwd", "day", "prompt"))
        if len(day) == 8 and day.isdigit():
            return Heard(path, agent, session, cwd, day, text, _transcript(path))
    except (OSError, ValueError, TypeError, KeyError):
        pass
    return Heard(path, "", "", "", "", "", "")


def _transcript(path: Path) -> str:
    try:
        event = json.loads(path.read_bytes())
        found = event.get("transcript_path") or event.get("transcriptPath")
        found = os.path.expanduser(found) if isinstance(found, str) and "\0" not in found else ""
        return found if os.path.isabs(found) else ""
    except (OSError, ValueError, AttributeError):
        return ""


def drop(pointers: Iterable[Pointer | Heard]) -> None:
    """Take what hooks have noted out of the spool."""
    for one in pointers:
        try:
            one.file.unlink(missing_ok=True)
        except OSError:
            continue

"""`learn --watch`: look again and again, by size and time of change alone, and learn what has changed and stands still.

One process that the person has started and that they end. Nothing is read but what changed, and a file that an agent is
writing to is left alone until a round finds it as the round before, or for `PATIENCE` rounds at most.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from instinct_git.bridges import places, readers
from instinct_git.errors import InstinctError
from instinct_git.operations.gathering import Choice, Teller, gather, learn_gathered, learn_named, looked_at
from instinct_git.operations.learning import LearnResult
from instinct_git.operations.workspace import Workspace
from instinct_git.storage import learned
from instinct_git.storage.learned import Stamp

INTERVAL = 10.0
SHORTEST, LONGEST = 1.0, 3600.0
"""Seconds between two rounds."""
PATIENCE = 6
"""Rounds after which a file is learned though it still changes."""
FORGIVEN = 3
"""Rounds in a row that may fail (a config that is being edited, a folder that is gone for a moment)."""

Wait = Callable[[float], object]
"""Waits so many seconds; False ends the watch."""


def watch(
    space: Workspace, folder: Path, paths: Sequence[Path], choice: Choice, *, wait: Wait, interval: float = INTERVAL
) -> Iterator[LearnResult]:
    """Learn, then look every `interval` seconds and learn what is new; yield what each round with news has learned.

    Raises InstinctError as `learn` does, at once in the first round, later only when a few in a row fail.
    """
    if not SHORTEST <= interval <= LONGEST:
        raise InstinctError(f"cannot look every {interval:g} seconds", f"from {SHORTEST:g} to {LONGEST:g}")
    rounds = _Named(space, paths, choice) if paths else _Here(space, folder, choice)
    return _rounds(rounds, wait, interval)


def _rounds(rounds: _Named | _Here, wait: Wait, interval: float) -> Iterator[LearnResult]:
    known = before = rounds.look()
    done = rounds.learn()
    waited: dict[str, int] = {}
    failed = 0
    while True:
        if done is not None and done.has_news:
            yield done
        done = None
        if wait(interval) is False:
            return
        now = rounds.look()
        changed = {path for path, stamp in now.items() if known.get(path) != stamp}
        waited = {path: waited.get(path, 0) + 1 for path in changed}
        if any(before.get(path) == now[path] or rounds_waited >= PATIENCE for path, rounds_waited in waited.items()):
            try:
                done, known, waited, failed = rounds.learn(), now, {}, 0
            except InstinctError:
                failed += 1
                if failed >= FORGIVEN:
                    raise
        before = now


class _Here:
    """The project's own transcripts."""

    def __init__(self, space: Workspace, folder: Path, choice: Choice) -> None:
        self.space, self.folder, self.choice, self.told = space, folder, choice, Teller()

    def look(self) -> dict[str, Stamp]:
        """Return the size and time of change of whatever may be a transcript, other projects' included, and of what
        hooks have noted."""
        project = learned.project(self.space.place, self.folder)
        if project is None:
            return {}
        paths = [path for place in looked_at(project, self.choice) for path in place.files()]
        return _stamps([*paths, *(pointer.file for pointer in learned.spooled(project.spool))])

    def learn(self) -> LearnResult | None:
        """Learn what is new; None where there is nothing."""
        gathering = gather(self.space, self.folder, self.choice, self.told)
        self.choice = replace(self.choice, all=False)
        if not gathering.found.new:
            learned.drop(gathering.found.used_up)
            return None
        return learn_gathered(self.space, gathering)


class _Named:
    """Files and folders that the person has named."""

    def __init__(self, space: Workspace, paths: Sequence[Path], choice: Choice) -> None:
        self.space, self.paths, self.choice = space, paths, choice

    def look(self) -> dict[str, Stamp]:
        """Return the size and time of change of each file that may be a transcript."""
        found = [path for path in self.paths if not path.is_dir()]
        for folder in (path for path in self.paths if path.is_dir()):
            found += [one for one in sorted(folder.rglob("*")) if one.suffix in readers.SUFFIXES and one.is_file()]
        return _stamps(found)

    def learn(self) -> LearnResult | None:
        """Learn from all of them; what is known counts nothing."""
        return learn_named(self.space, self.paths, self.choice)


def _stamps(paths: Sequence[Path]) -> dict[str, Stamp]:
    stamps = {}
    for path in paths:
        try:
            stamps[str(path)] = places.stamp(path)
        except OSError:
            continue
    return stamps

"""What every verb needs: one memory's place, its config, the clock, and its files as read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from instinct_git.bridges import ci, secrets
from instinct_git.errors import SecretFound
from instinct_git.storage import config, files

if TYPE_CHECKING:
    from instinct_git.core.consolidate import Book
    from instinct_git.storage.git import Repository
    from instinct_git.storage.inbox import Waiting


class Workspace:
    """One memory, opened."""

    def __init__(self, place: files.Place, now: Callable[[], datetime]) -> None:
        self.place, self.now = place, now

    def config(self) -> config.Config:
        """Read the settings; a long-lived server must see them change."""
        return config.load(self.place.root, self.place.home)

    def silent(self) -> bool:
        """True in CI, unless the config says that hooks and `learn` record there too."""
        return ci.running(os.environ) and not self.config()["record_in_ci"]

    def day(self) -> str:
        """Return today's UTC day, YYYYMMDD."""
        return self.now().strftime("%Y%m%d")

    def repository(self) -> Repository | None:
        """Return the memory's git repository, or None in a plain folder."""
        if self.place.top is None:
            return None
        from instinct_git.storage.git import Repository

        return Repository(self.place)

    def read(self) -> tuple[Book, Waiting]:
        """Read all files of the memory and the inbox."""
        from instinct_git.core.consolidate import Book
        from instinct_git.storage import store

        snapshot, waiting = store.read(self.place)
        return Book(snapshot), waiting

    def reopened(self) -> Workspace:
        """Return the workspace after its folder became a repository."""
        place = self.place
        return Workspace(files.at(place.root, place.scope, place.home, fell_back=place.fell_back), self.now)


def refuse_secrets(texts: Iterable[tuple[str, str]]) -> None:
    """Raise SecretFound, naming the place and the rule but never the value, if any (name, text) holds a secret."""
    for name, text in texts:
        found = secrets.find_secrets(text)
        if found:
            raise SecretFound(
                f"{name} looks like it holds a secret (rule {found[0].rule})",
                "leave the value out; nothing was written. If it was a real secret, renew it",
            )


def near(key: str, known: Iterable[str]) -> str:
    """Return a hint that names the keys nearest to a mistyped one."""
    import difflib

    close = difflib.get_close_matches(key, list(known), n=3, cutoff=0.5)
    return f"did you mean {', '.join(close)}?" if close else "`instinct list` shows every pattern"


def default_home(given: str | Path | None = None) -> Path:
    """Return $INSTINCT_HOME."""
    return files.instinct_home(given)

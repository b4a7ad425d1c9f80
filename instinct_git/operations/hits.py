"""What a search gives back, and what may be asked of it: hits and filters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from instinct_git.core.keys import CATEGORIES, describe
from instinct_git.core.model import FADED, LEVELS
from instinct_git.core.passage import CANDIDATE, KINDS, PATTERN
from instinct_git.core.pattern import PatternFile
from instinct_git.errors import InstinctError
from instinct_git.operations.layer import Layer
from instinct_git.operations.reading import SCOPES


class Hit(NamedTuple):
    """Something found. Of a document the numbers are 0 and the level is empty."""

    pattern: str
    """The key; of a document `path:line`."""
    kind: str
    """pattern, candidate (a pattern in the pool), skill, procedure, rule or memory."""
    category: str
    confidence: int
    live: int
    """With everything that waits."""
    level: str
    title: str
    description: str
    first_seen: str
    last_seen: str
    sources: tuple[str, ...]
    status: str
    scope: str
    path: str | None
    """Its file below the memory's root; None: no batch has made one yet."""
    line: int
    tags: tuple[str, ...]
    metadata: Mapping[str, Any]
    candidate: Mapping[str, Any] | None
    """Kind, status and score of a candidate."""
    excerpt: str
    """The line of its text that holds most of the query's words; empty: none does."""
    score: float
    """Fused; comparable within one answer only."""
    because: str
    """What found it."""
    memory: str = ""
    """A shared memory's name; empty: it stands in another one."""

    @property
    def key(self) -> str:
        """The key, under its other name."""
        return self.pattern

    @property
    def words(self) -> str:
        """What it says, in a line: the title, the description, the line that matched, else what the key says."""
        said = self.title or self.description or (describe(self.pattern) if self.level else "")
        return " — ".join(part for part in (said, self.excerpt if not self.level else "") if part)

    def as_json(self) -> dict[str, Any]:
        """Return the hit as plain data."""
        data = {**self._asdict(), "score": round(self.score, 5)}
        return data if self.memory else {name: value for name, value in data.items() if name != "memory"}


class Filters(NamedTuple):
    """What is wanted; None: anything."""

    kind: str | None = None
    category: str | None = None
    level: str | None = None
    scope: str | None = None

    def check(self) -> None:
        """Raise InstinctError, naming what there is, for a value that is none."""
        allowed = {"kind": KINDS, "category": CATEGORIES, "level": (*LEVELS, FADED), "scope": SCOPES}
        for name, value in self._asdict().items():
            if value is not None and value not in allowed[name]:
                raise InstinctError(f"there is no {name} {value!r}", f"{name}: " + ", ".join(allowed[name]))

    @property
    def indexed(self) -> str:
        """What is asked for as the index names it, which has candidates as patterns; empty: anything."""
        of_patterns = self.kind == CANDIDATE or self.category is not None or self.level is not None
        return self.kind or "" if not of_patterns else PATTERN if self.kind in (None, PATTERN, CANDIDATE) else _NOTHING

    @property
    def close(self) -> bool:
        """True when only the pattern itself tells whether it is wanted."""
        return self.indexed == PATTERN and (self.kind, self.category, self.level) != (PATTERN, None, None)

    def let(self, file: PatternFile, path: str) -> bool:
        """True for a pattern that is wanted. `path` is empty where it has no file yet."""
        return (
            self.kind in (None, PATTERN, kind_of(file))
            and self.category in (None, file.category)
            and self.level in (None, level_of(file, path))
        )


ANY = Filters()
_NOTHING = "nothing"
"""No kind: a skill has neither a category nor a level."""


def level_of(file: PatternFile, path: str) -> str:
    """Return a pattern's level; `path` is empty where it has no file yet."""
    return FADED if file.confidence <= 0 and path else file.level or LEVELS[0]


def kind_of(file: PatternFile) -> str:
    """Return candidate for what is in the pool and that no review has answered, else pattern."""
    return CANDIDATE if file.candidate.get("status") in Layer.OPEN else PATTERN

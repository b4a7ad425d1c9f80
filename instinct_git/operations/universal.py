"""What several projects know: rules that want to be everybody's, and evidence that leaves its project.

The projects of this home are noted privately, by id and folder, when a batch runs in them. Nothing here writes into another
memory: a rule moves by `propose KEY --to NAME` alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from instinct_git.core.model import ACTIVE, NOTHING, RULE, Evidence
from instinct_git.errors import InstinctError
from instinct_git.operations.workspace import Workspace
from instinct_git.storage import files, index, shared

TRAVELS = ("observed", "succeeded", "failed", "confirmed", "denied", "remembered")
"""Kinds of evidence that mean the same in another memory; answers, proposals and time-driven evidence stay."""
_OWN = frozenset((*TRAVELS, "candidate", "scored", "adjusted", "alias", "retract"))
"""The same of the project that proposes."""
_WORDS = ("title", "desc", "meta")
"""What evidence says in words stays: what is proposed is said in the pattern's file, which a person sees."""
LEAST = 2


@dataclass(frozen=True, slots=True)
class Universal:
    """A rule that several projects have."""

    pattern: str
    words: str
    confidence: int
    """Of all projects together."""
    projects: tuple[str, ...]
    """Ids of the projects that have it as a rule."""
    names: tuple[str, ...]
    """Their folders' names, for this person alone."""


def note_project(place: files.Place) -> None:
    """Note where a project lies, so that its rules can be compared with those of others. Private to this home."""
    if place.scope != files.PROJECT or place.common_dir is None:
        return
    note = _notes(place.home) / files.project_id(place)
    text = str(place.root)
    try:
        if note.is_file() and note.read_text(encoding="utf-8", errors="surrogateescape") == text:
            return
        files.replace(note, text.encode("utf-8", "surrogateescape"))
    except OSError:
        return  # it is only not offered


def _notes(home: Path) -> Path:
    return home / "state" / "projects"


def known(home: Path) -> Iterator[tuple[str, files.Place]]:
    """Yield (id, place) of every project memory of this home that is still there, private ones too."""
    notes = _notes(home)
    for note in sorted(notes.iterdir()) if notes.is_dir() else []:
        try:
            root = Path(note.read_text(encoding="utf-8", errors="surrogateescape"))
            place = files.locate(root, home)
        except (OSError, InstinctError):
            continue
        if place.scope == files.PROJECT and place.exists() and files.project_id(place) == note.name:
            yield note.name, place
    private = home / files.PRIVATE
    for root in sorted(private.iterdir()) if private.is_dir() else []:
        if len(root.name) == 12 and files.is_memory(root):
            yield root.name, files.at(root, files.PRIVATE, home)


def candidates(space: Workspace) -> list[Universal]:
    """Return the rules of two or more projects that neither the global nor a shared memory has, strongest first."""
    home = space.place.home
    there: set[str] = set()
    for one in (files.at(home / files.GLOBAL, files.GLOBAL, home), *shared.layers(home)):
        if one.exists():
            there |= {file.key for file in index.patterns(one)[0]}
    seen: dict[str, list[tuple[str, str, int, str]]] = {}
    for identity, place in known(home):
        for file in index.patterns(place)[0]:
            if file.status == ACTIVE and file.level == RULE and file.confidence > 0 and file.key not in there:
                words = file.title or file.description
                seen.setdefault(file.key, []).append((identity, place.root.name, file.confidence, words))
    found = [
        Universal(
            key, next((one[3] for one in rows if one[3]), ""), sum(one[2] for one in rows), tuple(one[0] for one in rows),
            tuple(one[1] for one in rows),
        )
        for key, rows in seen.items() if len(rows) >= LEAST
    ]  # fmt: skip
    return sorted(found, key=lambda one: (-len(one.projects), -one.confidence, one.pattern))


def evidence_for(space: Workspace, target: Workspace, own: Iterable[Evidence], key: str) -> list[Evidence]:
    """Return a pattern's evidence as another memory may have it: a project's own, and that of the other projects of this
    home that know the same key, each with its project as context and without words."""
    from instinct_git.operations.sharing import context_of

    names = bool(space.config()["share.names"])

    def sent(one: Evidence, place: files.Place) -> Evidence:
        extra = {name: value for name, value in one.extra.items() if name not in _WORDS}
        return one._replace(ctx=context_of(place, target.place.scope, names, one.ctx), extra=extra or NOTHING, note="")

    found = [sent(one, space.place) for one in own if one.k in _OWN]
    for _, place in known(space.place.home):
        if place.root == space.place.root or place.root == target.place.root:
            continue
        book, _ = Workspace(place, space.now).read()
        known_there = (one for one in book.groups.get(key, ()) if one.id in book.tree_ids)
        found += [sent(one, place) for one in known_there if one.k in TRAVELS]
    return found

"""The approved skills of a memory's repository, as they stand in `skills/`. Reads only."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from instinct_git.errors import InvalidDocument, UnknownSkill
from instinct_git.operations.workspace import Workspace

MAX_BYTES = 1 << 20
"""A longer SKILL.md is not one: no agent would read it."""


class Skill(NamedTuple):
    """An approved skill."""

    name: str
    """The folder's name, which is the skill's."""
    description: str
    """What it is for; empty where its front matter does not say."""
    path: str
    """Path below the memory's root."""


def listed(space: Workspace) -> list[Skill]:
    """Return the skills, by name. One that cannot be read costs only itself."""
    from instinct_git.core.document import front_matter

    found = []
    for path in sorted(space.place.root.glob("skills/*/SKILL.md")):
        try:
            text = _text(space.place.root, path)
        except UnknownSkill:
            continue
        try:
            said = front_matter(text).get("description")
        except InvalidDocument:
            said = ""
        description = " ".join(said.split()) if isinstance(said, str) else ""
        found.append(Skill(path.parent.name, description, path.relative_to(space.place.root).as_posix()))
    return found


def text(space: Workspace, name: str) -> str:
    """Return a skill's SKILL.md. Raises UnknownSkill, whose hint names the skills that are there."""
    known = listed(space)
    one = next((skill for skill in known if skill.name == name), None)
    if one is None:
        names = ", ".join(skill.name for skill in known)
        raise UnknownSkill(f"there is no skill {name!r}", f"skills: {names}" if names else "no skill is approved yet")
    return _text(space.place.root, space.place.root / one.path)


def _text(root: Path, path: Path) -> str:
    """Return a file's text; what leads out of the repository is not the repository's skill."""
    try:
        if not path.resolve().is_relative_to(root.resolve()) or path.stat().st_size > MAX_BYTES:
            raise UnknownSkill(f"{path} is no skill", "a skill is a file of this repository, of at most 1 MiB")
        return path.read_bytes().decode("utf-8", "replace")
    except OSError as problem:
        raise UnknownSkill(f"{path} cannot be read: {problem.strerror}", "see to its permissions") from None

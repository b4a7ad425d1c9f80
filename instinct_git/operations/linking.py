"""Links from where agents look for skills to `skills/`, in the same commit as the skill; copies where links cannot be."""

from __future__ import annotations

import os
import posixpath

from instinct_git.core import links
from instinct_git.core.proposal import origin, untouched
from instinct_git.operations.workspace import Workspace
from instinct_git.storage.branches import FOLDER, LINK, Blob, entries
from instinct_git.storage.git import Repository

READ_BY = ("AGENTS.md", "CLAUDE.md", ".github/copilot-instructions.md", "GEMINI.md")
"""Files that agents load by themselves."""


class Links:
    """The folders of one proposal's base in which agents look for skills. `notices` says what could not be linked."""

    def __init__(self, target: Workspace, repository: Repository, base: str) -> None:
        self.target, self.repository, self.base = target, repository, base
        self.notices: list[str] = []

    def to(self, name: str, text: str) -> dict[str, Blob]:
        """Return {path from the top: link or copy} by which the agents of this project find a skill."""
        found: dict[str, Blob] = {}
        roots = self._roots()
        if not any(roots.values()):
            if self.target.config()["skill_links"] != links.NONE:
                self.notices.append(links.NOBODY)
            return found
        skill = self.repository.inside(f"skills/{name}")
        for root, folders in roots.items():
            for folder in folders:
                found |= self._link(posixpath.join(root, folder), name, skill, text)
        return found

    def _roots(self) -> dict[str, list[str]]:
        """Return {folder from the top: agents' folders in use there}: the memory's root, else the repository's top."""
        chosen = str(self.target.config()["skill_links"])
        mine = self.repository.prefix.rstrip("/")
        signs = {sign for pair in links.SIGNS.values() for sign in pair}
        for root in dict.fromkeys((mine, "")):
            paths = {sign: posixpath.join(root, sign) for sign in signs}
            at_base = entries(self.repository, self.base, paths.values())
            top = self.repository.top
            present = {sign for sign, path in paths.items() if path in at_base or os.path.lexists(top / path)}
            if folders := links.in_use(chosen, present):
                return {root: folders}
        return {mine: []}

    def _link(self, folder: str, name: str, skill: str, text: str) -> dict[str, Blob]:
        path = f"{folder}/{name}"
        blocked = self.in_the_way(path)
        if blocked:
            self._through(blocked, path, skill)
            return {}
        if self.repository.ask("check-ignore", "-q", "--no-index", path).code == 0:
            self.notices.append(f"{folder} is ignored by git here: no link to the skill is proposed there")
            return {}
        if self.repository.ask("config", "--type=bool", "core.symlinks").text == "false":
            return self._copy(path, skill, text)
        said = links.target(path, skill).encode("utf-8")
        there = entries(self.repository, self.base, [path]).get(path)
        if there is None:
            return {path: Blob(said, LINK)}
        if there[0] != LINK or self.repository.blobs([there[1]])[there[1]] != said:
            self.notices.append(f"{path} is there already and stays as it is: agents read that one, not {skill}")
        return {}

    def _copy(self, path: str, skill: str, text: str) -> dict[str, Blob]:
        there = entries(self.repository, self.base, [path, f"{path}/SKILL.md"])
        if path in there and there[path][0] != FOLDER:
            return {}  # a link that others made
        found = there.get(f"{path}/SKILL.md")
        if found is not None:
            before = self.repository.blobs([found[1]])[found[1]].decode("utf-8", "surrogateescape")
            if before == text:
                return {}
            if not untouched(before) or origin(before) != origin(text):
                self.notices.append(f"{path} is there already and stays as it is: agents read that one, not {skill}")
                return {}
        self.notices.append(f"{path} is a copy of {skill}: links are switched off in this clone (core.symlinks)")
        return {f"{path}/SKILL.md": Blob(text.encode("utf-8"))}

    def _through(self, blocked: str, path: str, skill: str) -> None:
        """Say where a link that stands in the place of an agents' folder does not lead to the skill."""
        mode, blob = entries(self.repository, self.base, [blocked])[blocked]
        if mode == LINK:
            said = self.repository.blobs([blob])[blob].decode("utf-8", "surrogateescape")
            end = links.leads_to(blocked, said)
            through = posixpath.join(end, path[len(blocked) + 1 :]) if end else ""
            covered = {posixpath.join(root, folder) for root, found in self._roots().items() for folder in found}
            if through == skill or posixpath.dirname(through) in covered:
                return
        self.notices.append(f"{blocked} is no folder of this repository: no link to {skill} is proposed there")

    def in_the_way(self, path: str) -> str:
        """Return what stands at the base as a file or link in the place of a folder of this path; empty: nothing."""
        parts = path.split("/")
        above = ["/".join(parts[:n]) for n in range(1, len(parts))]
        at_base = entries(self.repository, self.base, above)
        return next((one for one in above if one in at_base and at_base[one][0] != FOLDER), "")

    def unread(self, path: str) -> list[str]:
        """Say that no agent reads a file by itself, unless an instructions file names its folder."""
        inside = self.repository.inside(path)
        names = [posixpath.join(root, name) for root in {"", self.repository.prefix} for name in READ_BY]
        at_base = entries(self.repository, self.base, names)
        texts = self.repository.blobs([blob for mode, blob in at_base.values() if mode != FOLDER])
        if any(b"MEMORY.md" in text or b"memory/" in text for text in texts.values()):
            return []
        return [
            f"no agent reads {inside} by itself: let AGENTS.md or CLAUDE.md name it (CLAUDE.md: a line `@{inside}`)"
        ]

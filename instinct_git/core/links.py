"""Where agents look for skills: no agent reads a root `skills/`, so a skill is linked into the folders that are in use. Pure."""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Mapping

AGENTS, CLAUDE = ".agents/skills", ".claude/skills"
SIGNS: Mapping[str, tuple[str, str]] = {AGENTS: (".agents", "AGENTS.md"), CLAUDE: (".claude", "CLAUDE.md")}
"""What shows that a folder's agents are used in a project."""
AUTO, NONE, BOTH = "auto", "none", "both"
CHOICES = (AUTO, "agents", "claude", BOTH, NONE)
"""Values of the setting `skill_links`."""
NOBODY = (
    "no agent reads a root skills/, and this project uses neither .agents/ or AGENTS.md nor .claude/ or CLAUDE.md: "
    "`instinct config skill_links agents` (or claude, both) links skills where agents look; none keeps it as it is"
)


def in_use(chosen: str, present: Collection[str]) -> list[str]:
    """Return the folders that a skill is linked into. `chosen` is the setting, `present` what of SIGNS is there."""
    if chosen == AUTO:
        return [folder for folder, signs in SIGNS.items() if any(sign in present for sign in signs)]
    return {NONE: [], BOTH: [AGENTS, CLAUDE], "agents": [AGENTS], "claude": [CLAUDE]}[chosen]


def target(link: str, folder: str) -> str:
    """Return what a link says to lead to a folder, both from the top: `../../skills/x` for `.agents/skills/x`."""
    return posixpath.relpath(folder, posixpath.dirname(link))


def leads_to(link: str, said: str) -> str:
    """Return where a link leads, from the top; empty: out of the repository."""
    if posixpath.isabs(said):
        return ""
    found = posixpath.normpath(posixpath.join(posixpath.dirname(link), said))
    return "" if found.startswith("../") or found == ".." else found

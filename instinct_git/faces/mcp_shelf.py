"""The MCP resources: patterns, approved skills and the weekly report; what is listed, and what completes a URI."""

from __future__ import annotations

from datetime import timedelta
from urllib.parse import quote

from mcp.server.mcpserver.exceptions import ResourceError
from mcp.types import Completion, PromptReference, Resource, ResourceTemplateReference

from instinct_git.core.weekly import week_of
from instinct_git.faces import render
from instinct_git.faces.mcp_sitting import Sitting, compact
from instinct_git.memory import Memory

PATTERNS, A_PATTERN = "instinct://patterns", "instinct://patterns/{+key}"
SKILLS, A_SKILL = "instinct://skills", "instinct://skills/{name}"
REPORT, A_REPORT = "instinct://report/weekly", "instinct://report/{week}{?lang}"
LAST, A_SESSION = "instinct://session/last", "instinct://session/{session}"
WEEKLY = "weekly"
JSON, MARKDOWN = "application/json", "text/markdown"
MOST_LISTED = 50
"""Patterns that are listed one by one; the rest is found by `instinct://patterns`, by completion and by search."""
MOST_COMPLETED = 100
"""The protocol's limit."""
WEEKS = 8
"""Weeks that completion offers."""


class Shelf:
    """The resources, as functions of one sitting."""

    def __init__(self, sitting: Sitting) -> None:
        self._sitting = sitting

    def patterns(self) -> str:
        """All patterns, strongest first."""
        with self._sitting.shelf() as memory:
            return compact([one.as_json() for one in memory.list()])

    def pattern(self, key: str) -> str:
        """One pattern with the text of its file."""
        with self._sitting.shelf() as memory:
            return compact({**memory.show(key).as_json(), "body": memory.body(key)})

    def skills(self) -> str:
        """The approved skills: name, description, path."""
        with self._sitting.shelf() as memory:
            return compact([one._asdict() for one in memory.skills()])

    def skill(self, name: str) -> str:
        """The SKILL.md of an approved skill."""
        with self._sitting.shelf() as memory:
            return memory.skill(name)

    def weekly(self) -> str:
        """This week's report."""
        return self.report(WEEKLY)

    def report(self, week: str, lang: str = "en") -> str:
        """The report of an ISO week such as 2026-W13, or `weekly` for this one; `lang` is en or zh."""
        from instinct_git.faces import weekly

        if lang not in weekly.LANGUAGES:
            raise ResourceError(f"there is no language {lang!r}. languages: " + ", ".join(weekly.LANGUAGES))
        with self._sitting.shelf() as memory:
            return weekly.markdown(weekly.page(memory.report("" if week == WEEKLY else week), lang))

    def last(self) -> str:
        """The last session in sum: what it recorded, what rose, what it was told, what waits."""
        return self.session("last")

    def session(self, session: str) -> str:
        """A session in sum, by the agent's id of it or its beginning."""
        with self._sitting.shelf() as memory:
            return compact(render.plain(memory.session_summary(session)))

    # -- what a client is shown --

    def listed(self) -> list[Resource]:
        """The suggested patterns and the skills, one by one. A memory that cannot be read costs these lines alone."""
        try:
            with self._sitting.shelf() as memory:
                suggested, skills = memory.suggestions(MOST_LISTED).patterns, memory.skills()
        except ResourceError:
            return []
        found = [
            Resource(
                uri=f"instinct://patterns/{quote(one.pattern, safe=':/')}", name=one.pattern, title=_line(one.words),
                description=f"{one.level}, confidence {one.confidence}, {one.memory or one.scope}", mime_type=JSON,
            )
            for one in suggested
        ]  # fmt: skip
        return found + [
            Resource(
                uri=f"instinct://skills/{quote(one.name)}", name=one.name, title=f"Skill {one.name}",
                description=_line(one.description) or None, mime_type=MARKDOWN,
            )
            for one in skills
        ]  # fmt: skip

    def completion(self, ref: PromptReference | ResourceTemplateReference, name: str, start: str) -> Completion | None:
        """Return what an argument may be, given how it starts: keys, skills, weeks, languages."""
        values = self._values(ref, name)
        if values is None:
            return None
        folded = start.casefold()
        begins = [one for one in values if one.casefold().startswith(folded)]
        inside = [one for one in values if folded in one.casefold() and one not in begins]
        found = begins + inside
        return Completion(values=found[:MOST_COMPLETED], total=len(found), has_more=len(found) > MOST_COMPLETED)

    def _values(self, ref: PromptReference | ResourceTemplateReference, name: str) -> list[str] | None:
        from instinct_git.faces.weekly import LANGUAGES

        uri = ref.uri if isinstance(ref, ResourceTemplateReference) else ""
        if name == "lang":
            return [*LANGUAGES]
        reads = {(A_PATTERN, "key"): _keys, (A_SKILL, "name"): _names, (A_REPORT, "week"): _weeks}.get((uri, name))
        if reads is None:
            return None
        try:
            with self._sitting.shelf() as memory:
                return reads(memory)
        except ResourceError:
            return []


def _keys(memory: Memory) -> list[str]:
    return [one.pattern for one in memory.list()]


def _names(memory: Memory) -> list[str]:
    return [one.name for one in memory.skills()]


def _weeks(memory: Memory) -> list[str]:
    monday = memory.report().week.first
    return [WEEKLY, *(str(week_of(monday - timedelta(weeks=back))) for back in range(1, WEEKS))]


def _line(text: str) -> str:
    line = " ".join(render.clean(text).split())
    return line if len(line) <= 200 else line[:199] + "…"

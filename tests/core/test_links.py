"""Which folders a skill is linked into, and what a link says."""

from __future__ import annotations

import pytest

from instinct_git.core.links import AGENTS, CHOICES, CLAUDE, in_use, leads_to, target
from instinct_git.storage.config import SETTINGS


@pytest.mark.parametrize(
    ("chosen", "present", "expected"),
    [
        ("auto", set(), []),
        ("auto", {"AGENTS.md"}, [AGENTS]),
        ("auto", {".agents"}, [AGENTS]),
        ("auto", {"CLAUDE.md"}, [CLAUDE]),
        ("auto", {".claude", "AGENTS.md"}, [AGENTS, CLAUDE]),
        ("none", {".claude", "AGENTS.md"}, []),
        ("agents", set(), [AGENTS]),
        ("claude", {"AGENTS.md"}, [CLAUDE]),
        ("both", set(), [AGENTS, CLAUDE]),
    ],
)
def test_folders_in_use(chosen: str, present: set[str], expected: list[str]) -> None:
    assert in_use(chosen, present) == expected


def test_a_link_is_relative_and_leads_back() -> None:
    for link, folder in (
        (".agents/skills/x", "skills/x"),
        (".claude/skills/x", "web/skills/x"),
        ("web/.agents/skills/x", "web/skills/x"),
    ):
        assert leads_to(link, target(link, folder)) == folder
    assert target(".agents/skills/x", "skills/x") == "../../skills/x"


@pytest.mark.parametrize("said", ["/opt/skills", "../../../elsewhere", "../../.."])
def test_a_link_out_of_the_repository_leads_nowhere(said: str) -> None:
    assert leads_to(".claude/skills", said) == ""


def test_the_setting_has_the_same_choices() -> None:
    assert next(one.choices for one in SETTINGS if one.name == "skill_links") == CHOICES

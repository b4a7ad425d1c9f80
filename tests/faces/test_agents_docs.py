"""docs/agents.md says what the table of agents does."""

from __future__ import annotations

from pathlib import Path

import pytest

from instinct_git.bridges.agents.pieces import JsonHook
from instinct_git.bridges.agents.table import AGENTS, Agent, Surroundings

PAGE = (Path(__file__).parents[2] / "docs" / "agents.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.name)
def test_every_file_and_hook_of_an_agent_is_on_the_page(agent: Agent) -> None:
    row = next(line for line in PAGE.splitlines() if line.startswith(f"| `{agent.name}` |"))
    where = Surroundings(Path("/project"), Path("/home"), {}, "linux")
    for target in (*agent.project, *agent.user, *agent.only_user):
        path = str(target.path(where)).replace("/project/", "").replace("/home/", "~/")
        assert f"`{path}`" in row, path
        for piece in target.pieces:
            if isinstance(piece, JsonHook):
                assert f"`{piece.event}`" in PAGE

"""docs/reviewing.md says what is so: its commands run, and its table has every state."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

from instinct_git.core.answers import STATES
from instinct_git.core.dimensions import NUMBERS
from instinct_git.operations.reviewing import ASK_DAYS
from tests.builders import KEY, Project
from tests.proposals import ready

PAGE = (Path(__file__).parents[2] / "docs" / "reviewing.md").read_text(encoding="utf-8")
COMMANDS = [re.split(r" {3,}", line)[0] for line in re.findall(r"^    (instinct .+)$", PAGE, re.M)]


def test_every_command_of_the_page_runs(project: Project, instinct: Callable[..., Any]) -> None:
    ready(project)
    assert len(COMMANDS) == 5
    for command in COMMANDS:
        _, *words = shlex.split(command.replace("KEY", shlex.quote(KEY)))
        if words[-1] == "ID":
            words[-1] = next(one.id for one in project.memory()._space.read()[0].everything if one.k == "rejected")
        assert instinct(*words).code == 0, command


def test_the_page_has_every_state_and_the_right_numbers() -> None:
    rows = re.findall(r"^\| (\w+) \|", PAGE[PAGE.index("## The states") : PAGE.index("*Landed*")], re.M)
    assert set(rows) - {"state"} == set(STATES)
    assert f"after {NUMBERS.reproposal} more successes" in PAGE
    assert f"for {NUMBERS.pause_days} days" in PAGE
    assert f"within {ASK_DAYS} days" in PAGE

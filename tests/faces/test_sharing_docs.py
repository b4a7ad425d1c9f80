"""docs/sharing.md says what is so: its commands run, its settings and options exist."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

from instinct_git.operations.counting import WAYS
from instinct_git.storage.config import SETTINGS
from tests.builders import KEY, Project
from tests.people import bare

PAGE = (Path(__file__).parents[2] / "docs" / "sharing.md").read_text(encoding="utf-8")
COMMANDS = [re.split(r" {3,}", line)[0] for line in re.findall(r"^    (instinct .+)$", PAGE, re.M)]


def test_every_command_of_the_page_runs(project: Project, tmp_path: Path, instinct: Callable[..., Any]) -> None:
    host = bare(tmp_path)
    project.memory().move("private")
    assert len(COMMANDS) == 7
    for command in COMMANDS:
        _, *words = shlex.split(
            command.replace("KEY", shlex.quote(KEY)).replace("git@example.org:team/memory.git", str(host))
        )
        ran = instinct(*words, *(["--yes"] if words[0] == "move" else []))
        assert (ran.code, ran.err) == (0, ""), command
    assert instinct("share", "list", "--json").json["shares"][0]["patterns"] == 1
    removed = instinct("share", "remove", "team")
    assert (removed.code, removed.out) == (0, f"removed team ({host})\n")
    assert instinct("share", "list").out == "# 0 shared memories\n"


def test_the_settings_and_words_of_the_page_exist() -> None:
    names = {one.name for one in SETTINGS}
    assert set(re.findall(r"`(share\.\w+)", PAGE)) <= names
    assert {"share.push", "share.fold", "share.names"} <= names
    assert "share.names true" in PAGE and "push: pull-request" in PAGE
    assert set(re.findall(r"`(\w+)`", PAGE[PAGE.index("stats --by source") :][:80])) <= set(WAYS)

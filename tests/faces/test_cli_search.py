"""`search` and `similar` on the command line, and every command of docs/searching.md."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from instinct_git.bridges import embeddings
from instinct_git.core.passage import KINDS
from instinct_git.storage.config import SETTINGS
from tests.builders import KEY, Project, Ran
from tests.faces.conftest import two_lines

Instinct = Callable[..., Ran]
PAGE = (Path(__file__).parents[2] / "docs" / "searching.md").read_text(encoding="utf-8")
COMMANDS = [line.split("   ")[0].strip() for line in re.findall(r"^    (instinct .+)$", PAGE, re.M)]


@pytest.fixture
def filled(project: Project) -> Project:
    project.observe(KEY, 5, title="Re-run the tests")
    project.memory().consolidate()
    project.memory().remember("记住这个流程: 博客发布流程")
    project.write("skills/publish/SKILL.md", "---\nname: publish\ndescription: Publish a post\n---\nRun make site.\n")
    project.write("memory/MEMORY.md", "# Memory\n\n## Key Lessons\n\n- Never squash \x1b[31mthe release branch\n")
    return project


def test_a_line_says_what_it_is_where_it_is_and_why(instinct: Instinct, filled: Project) -> None:
    assert (
        instinct("search", "tests").out == f"{KEY}  5  [mature]  sequence  Re-run the tests  (key, title)\n# 1 found\n"
    )
    assert instinct("search", "要发布博客").out == (
        "note:博客发布流程  0 (live 1)  [raw candidate]  note  博客发布流程  (key, title, 2 of 4 words)\n# 1 found\n"
    )
    assert instinct("search", "make", "site").out == (
        "skills/publish/SKILL.md:1    [skill]    publish — Run make site.  (text)\n# 1 found\n"
    )
    line = instinct("search", "squash").out
    assert line.startswith("memory/MEMORY.md:3    [rule]    Memory > Key Lessons — Never squash") and "\x1b" not in line


def test_options_and_words_that_begin_with_a_dash(instinct: Instinct, filled: Project) -> None:
    assert instinct("search", "tests", "--kind", "skill").out == "# 0 found\n"
    assert instinct("search", "--limit", "0", "tests").out == "# 0 found\n"
    filled.observe("note:never use --no-verify")
    assert "note:never use --no-verify" in instinct("search", "--no-verify").out
    two_lines(instinct("search", "x", "--kind", "nothing"), "there is no kind 'nothing'", "candidate")


def test_json_has_the_kind_the_place_and_the_reason(instinct: Instinct, filled: Project) -> None:
    [one] = instinct("search", "site", "--json").json["patterns"]
    assert (one["kind"], one["path"], one["line"], one["because"]) == ("skill", "skills/publish/SKILL.md", 1, "text")
    assert one["excerpt"] == "Run make site."


def test_similar_shows_what_is_like_it(instinct: Instinct, filled: Project) -> None:
    filled.observe("seq:fix->test", title="Re-run the tests")
    assert instinct("similar", KEY).out.startswith("seq:fix->test ")
    assert [one["pattern"] for one in instinct("similar", KEY, "--json").json["patterns"]] == ["seq:fix->test"]
    two_lines(instinct("similar", "seq:test->fix->tset"), "there is no pattern", f"did you mean {KEY}")


def test_the_page_shows_commands_that_run(instinct: Instinct, filled: Project) -> None:
    assert len(COMMANDS) >= 8
    for command in COMMANDS:
        if "--semantic" in command or "search.embedding" in command:
            continue  # they need the extra: tests/bridges/test_embeddings.py
        done = instinct(*shlex.split(command)[1:])
        assert done.code == 0, (command, done)


def test_the_page_names_every_kind_and_embedding() -> None:
    assert all(f"`{name}`" in PAGE for name in (*KINDS, *embeddings.PACKAGES, "search.embedding"))
    [setting] = [one for one in SETTINGS if one.name == "search.embedding"]
    assert setting.choices == embeddings.NAMES

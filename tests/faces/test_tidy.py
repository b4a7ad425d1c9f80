"""stats --effect and --trending, and what docs/tidying.md says."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import typer

from instinct_git.core.caps import Caps
from instinct_git.core.effect import SINKS_AFTER, TREND_DAYS
from instinct_git.core.entry import session_code
from instinct_git.faces import cli
from instinct_git.storage import config, judged, shown
from tests.builders import KEY, Project, Ran
from tests.conftest import Clock

Instinct = Callable[..., Ran]
PAGE = (Path(__file__).parents[2] / "docs" / "tidying.md").read_text(encoding="utf-8")


def test_effect_tells_what_was_shown_followed_and_what_sinks(
    instinct: Instinct, project: Project, clock: Clock
) -> None:
    place = project.memory()._space.place
    project.observe(KEY, 5, session="one")
    for number in range(SINKS_AFTER):
        shown.note(place, ["note:never"], f"{number:012x}", "2026-03-02")
    for session in ("one", "two"):
        project.memory(clock).note_shown([KEY], session)
    done = instinct("stats", "--effect")
    assert done.code == 0
    assert (
        f"note:never           shown {SINKS_AFTER} x" in done.out
        and "last use never; sinks: never followed" in done.out
    )
    assert f"{KEY}  shown 2 x   followed 1 x" in done.out
    assert done.out.endswith("# 2 patterns suggested in this clone since 2026-03-02\n")
    rows = instinct("stats", "--effect", "--json").json["effect"]
    assert [(row["pattern"], row["shown"], row["followed"], row["sinks"]) for row in rows] == [
        ("note:never", SINKS_AFTER, 0, True), (KEY, 2, 1, False),
    ]  # fmt: skip
    assert judged.read(place).sinks == {"note:never"}


def test_a_session_of_an_agent_has_the_code_that_learning_gives_it(project: Project, clock: Clock) -> None:
    memory, place = project.memory(clock), project.memory()._space.place
    memory.note_shown([KEY], "abc", "claude-code")
    memory.note_shown([KEY])
    assert [(one.day, one.session) for one in shown.read(place)] == [
        ("2026-03-02", session_code("claude-code", "abc")), ("2026-03-02", ""),
    ]  # fmt: skip


def test_a_batch_judges_what_sinks_by_the_files(project: Project) -> None:
    project.observe("note:x", 5)
    project.memory().consolidate()
    place = project.memory()._space.place
    last = project.memory().show("note:x").last_seen
    for number in range(SINKS_AFTER):
        shown.note(place, ["note:x"], f"{number:012x}", "2999-01-01" if number else last)
    project.observe(KEY)
    project.memory().consolidate()
    assert judged.read(place).sinks == set()  # one of them was on the day of its last use
    shown.note(place, ["note:x"], "abc", "2999-01-01")
    project.observe(KEY)
    project.memory().consolidate()
    assert judged.read(place).sinks == {"note:x"}


def test_trending_tells_what_rises_and_fades(instinct: Instinct, project: Project) -> None:
    assert instinct("stats", "--trending").out.count("  nothing") == 2
    project.observe(KEY, 2, session="one")
    done = instinct("stats", "--trending")
    assert f"rises in the last {TREND_DAYS} days" in done.out and f"  {KEY}  +1  0 -> 1 sessions" in done.out
    assert instinct("stats", "--trending", "--json").json["rises"] == [{"pattern": KEY, "now": 1, "before": 0}]


def test_effect_of_nothing_and_both_at_once(instinct: Instinct) -> None:
    assert instinct("stats", "--effect").out == "# 0 patterns suggested in this clone\n"
    assert instinct("stats", "--effect", "--trending").code == 2


def test_the_page_on_tidying_tells_the_numbers_as_they_are() -> None:
    page = " ".join(PAGE.split())
    defaults = {one.name: one.default for one in config.SETTINGS}
    assert (defaults["caps.patterns"], defaults["caps.new_per_day"]) == Caps()
    for said in (
        f"`caps.patterns` ({defaults['caps.patterns']})", f"`caps.new_per_day` ({defaults['caps.new_per_day']})",
        f"shown in {SINKS_AFTER} sessions", f"{TREND_DAYS} days",
    ):  # fmt: skip
        assert said in page, said


def test_every_command_on_the_page_is_one() -> None:
    commands = typer.main.get_command(cli.app).commands  # type: ignore[attr-defined]
    used = {tuple(found.split()) for found in re.findall(r"^    instinct ([a-z]+(?: --[a-z-]+)*)", PAGE, re.MULTILINE)}
    assert ("check", "--stale") in used and len(used) > 6
    for verb, *options in used:
        known = {name for one in commands[verb].params for name in one.opts}
        assert known.issuperset(options), (verb, options)

"""Breakers of a real memory: what is tripped, who is told, and how a person answers. The numbers are DESIGN section 5's."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from instinct_git import InstinctError
from instinct_git.core.breakers import Trip
from instinct_git.core.dimensions import NUMBERS
from instinct_git.core.model import Evidence
from instinct_git.operations import breaking
from instinct_git.operations.workspace import Workspace
from instinct_git.storage import breaker_log, files, inbox
from instinct_git.storage.breaker_log import Entry
from tests.builders import Project, Ran, git
from tests.conftest import Clock

WORDS = ("apple", "bridge", "candle", "desert", "engine", "forest", "garden", "hammer", "island", "jacket", "kettle")


def space_of(project: Project, clock: Clock) -> Workspace:
    return Workspace(files.locate(project.root, files.instinct_home()), clock)


def bring(space: Workspace, keys: Iterable[str], x: str = "implicit", kind: str = "candidate", **extra: Any) -> None:
    given = {"x": x, "score": "0.40", "kind": "skill", **extra}
    inbox.put(space.place, [Evidence("", key, kind, extra=given) for key in keys], space.day())


def tripped(space: Workspace) -> list[Trip]:
    return breaking.state(space, space.read()[0])


def numbered(first: int, last: int) -> list[str]:
    return [f"note:{word}" for word in WORDS[first:last]]


def test_five_automatic_candidates_a_day_are_fine_and_the_sixth_pauses_until_tomorrow(
    project: Project, clock: Clock
) -> None:
    assert NUMBERS.daily == 5
    space = space_of(project, clock)
    bring(space, numbered(0, 5))
    assert tripped(space) == []
    bring(space, numbered(5, 6))
    (found,) = tripped(space)
    assert (found.name, found.limit, found.measured, found.until) == ("daily", 5, 6, "2026-03-03")
    clock.forward(1)
    assert tripped(space) == []


def test_what_a_person_asks_for_is_never_counted(project: Project, clock: Clock) -> None:
    space = space_of(project, clock)
    bring(space, numbered(0, 5))
    bring(space, numbered(5, 11), x="explicit")
    assert tripped(space) == []


def test_what_was_held_counts_once_a_key_and_no_more_when_it_has_entered(project: Project, clock: Clock) -> None:
    space = space_of(project, clock)
    bring(space, numbered(0, 5))
    held = Entry("2026-03-02", "held", "daily", "note:forest")
    breaker_log.add(space.place, [held, held, held._replace(day="2026-03-01", key="note:garden")])
    assert [one.measured for one in tripped(space)] == [6]
    assert breaking.held_today(space, space.read()[0]) == ["note:forest"]
    bring(space, ["note:forest"])
    assert [one.measured for one in tripped(space)] == [6]
    breaker_log.add(space.place, [Entry("2026-03-02", "held", "rejections", "seq:a->b")])
    assert [one.measured for one in tripped(space)] == [6]


def test_three_rejections_in_a_row_pause_their_category_and_kind_for_seven_days(project: Project, clock: Clock) -> None:
    assert (NUMBERS.rejections, NUMBERS.pause_days) == (3, 7)
    space = space_of(project, clock)
    bring(space, ["seq:a->b", "seq:c->d"])
    bring(space, ["seq:a->b"], kind="rejected", n=0)
    bring(space, ["seq:c->d"], kind="rejected", n=0)
    assert tripped(space) == []
    bring(space, ["seq:a->b"], kind="rejected", n=0)
    (found,) = tripped(space)
    assert (found.category, found.kind, found.until) == ("sequence", "skill", "2026-03-09")
    clock.forward(6)
    assert [one.name for one in tripped(space)] == ["rejections"]
    clock.forward(1)
    assert tripped(space) == []


def test_a_reset_answers_the_trip_and_says_who_and_why_in_this_clone_alone(project: Project, clock: Clock) -> None:
    space = space_of(project, clock)
    bring(space, numbered(0, 6))
    before = project.status()
    (answered,) = breaking.reset(space, "daily", "a big refactoring")
    assert answered.measured == 6
    assert tripped(space) == []
    (entry,) = breaker_log.read(space.place)
    assert (entry.what, entry.name, entry.measured, entry.why, entry.by, entry.day) == (
        "reset", "daily", 6, "a big refactoring", "Ada Example", "2026-03-02",
    )  # fmt: skip
    assert project.status() == before
    clock.forward(1)
    bring(space, [f"fix:{word}" for word in WORDS[:6]])
    assert [one.name for one in tripped(space)] == ["daily"]


def test_after_a_reset_five_more_may_enter_that_day(project: Project, clock: Clock) -> None:
    space = space_of(project, clock)
    bring(space, numbered(0, 6))
    breaking.reset(space, "daily", "w")
    bring(space, numbered(6, 11))
    assert tripped(space) == []
    bring(space, ["fix:one-more"])
    assert [one.measured for one in tripped(space)] == [12]


@pytest.mark.parametrize("title", ["The blog post: publish it", ""])
def test_three_candidates_that_say_the_same_are_to_be_merged_and_a_reset_tells_them_apart(
    project: Project, clock: Clock, title: str
) -> None:
    assert NUMBERS.duplicates == 3
    space = space_of(project, clock)
    keys = ["note:publish-blog-post", "note:publishing-blog-posts", "note:blog-posts-publish"]
    bring(space, keys[:2], x="explicit")
    assert tripped(space) == []
    bring(space, keys[2:], x="explicit", title=title)
    (found,) = tripped(space)
    assert (found.name, found.measured, found.until, found.keys) == ("duplicates", 3, "", tuple(sorted(keys)))
    breaking.reset(space, "duplicates", "three blogs")
    assert tripped(space) == []


@pytest.mark.parametrize(
    ("name", "why", "hint"),
    [("daily", "", "--why"), ("daily", "   ", "--why"), ("rejections", "w", "tripped now: daily"), ("dayly", "w", "breakers: daily")],
)  # fmt: skip
def test_a_reset_without_reason_or_trip_is_refused_and_logs_nothing(
    project: Project, clock: Clock, name: str, why: str, hint: str
) -> None:
    space = space_of(project, clock)
    bring(space, numbered(0, 6))
    with pytest.raises(InstinctError) as refused:
        breaking.reset(space, name, why)
    assert hint in refused.value.hint
    assert breaker_log.read(space.place) == []


def test_a_secret_in_the_reason_is_refused_and_not_logged(project: Project, clock: Clock) -> None:
    space = space_of(project, clock)
    bring(space, numbered(0, 6))
    with pytest.raises(InstinctError):
        breaking.reset(space, "daily", "ghp_" + "a1B2" * 9)
    assert breaker_log.read(space.place) == []


def test_doctor_names_what_is_tripped_and_until_when_and_exits_1(
    project: Project, instinct: Callable[..., Ran]
) -> None:
    project.memory().consolidate()
    assert instinct("doctor").code == 0
    space = Workspace(files.locate(project.root, files.instinct_home()), project.memory()._now)
    bring(space, numbered(0, 6))
    done = instinct("doctor", "--json")
    (row,) = [one for one in done.json["diagnosis"] if one["topic"] == "breaker daily"]
    assert done.code == 1 and "6 new automatic candidates" in row["words"] and "until" in row["words"]
    for verb in ("suggest", "list", "stats", "candidates", "consolidate"):
        assert instinct(verb).code == 0, f"{verb}: observing, consolidating and suggesting go on"


def test_a_memory_without_git_has_breakers_too(tmp_path: Path, clock: Clock) -> None:
    from instinct_git import Memory

    folder = tmp_path / "plain"
    folder.mkdir()
    Memory(folder, now=clock).init()
    space = Workspace(files.locate(folder, files.instinct_home()), clock)
    bring(space, numbered(0, 6))
    breaking.reset(space, "daily", "w")
    assert tripped(space) == []
    assert breaker_log.read(space.place)[0].by


def test_a_past_day_is_judged_with_the_log_of_that_day(project: Project, clock: Clock) -> None:
    space = space_of(project, clock)
    bring(space, numbered(0, 6))
    clock.forward(3)
    breaking_day = date(2026, 3, 2)
    assert [one.name for one in breaking.state(space, space.read()[0], breaking_day)] == ["daily"]


def test_a_past_day_is_judged_by_what_was_known_then(project: Project, clock: Clock) -> None:
    space = space_of(project, clock)
    bring(space, ["note:publish-blog-post", "note:publishing-blog-posts"], x="explicit")
    clock.forward(1)
    bring(space, ["note:blog-posts-publish"], x="explicit")
    clock.forward(1)
    project.memory(clock).alias("note:blog-posts-publish", "note:publish-blog-post")
    walk = {day: [one.name for one in breaking.state(space, space.read()[0], date(2026, 3, day))] for day in (2, 3, 4)}
    assert walk == {2: [], 3: ["duplicates"], 4: []}


def test_without_a_name_in_git_the_account_answers(
    project: Project, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(project.root, "config", "--global", "--unset", "user.name")
    monkeypatch.setenv("LOGNAME", "ada")
    space = space_of(project, clock)
    bring(space, numbered(0, 6))
    breaking.reset(space, "daily", "w")
    assert breaker_log.read(space.place)[0].by == "ada"

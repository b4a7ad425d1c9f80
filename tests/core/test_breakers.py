"""Breakers: what trips, with its limit and its measured value, walked day by day."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from instinct_git.core.breakers import Reset, admit, holds, trip
from instinct_git.core.duplicates import near, near_groups
from instinct_git.core.model import Evidence

DAY = date(2026, 3, 10)
_numbers = iter(range(1, 1_000_000))


def one(kind: str, key: str, /, day: date = DAY, **extra: Any) -> Evidence:
    return Evidence(f"{day:%Y%m%d}-7kq2m9x4tnab.{next(_numbers)}", key, kind, extra=extra)


def entry(key: str, day: date = DAY, x: str = "implicit", **extra: Any) -> Evidence:
    return one("candidate", key, day, x=x, score="0.40", **extra)


WORDS = ("apple", "bridge", "candle", "desert", "engine", "forest", "garden", "hammer")


def pool(number: int, day: date = DAY, x: str = "implicit") -> list[Evidence]:
    return [entry(f"note:{WORDS[n]}", day, x) for n in range(number)]


def names(found: list[Any]) -> list[str]:
    return [trip.name for trip in found]


def test_more_than_five_automatic_candidates_pause_extraction_until_the_next_day() -> None:
    assert trip(pool(5), DAY) == []
    (found,) = trip(pool(6), DAY)
    assert (found.name, found.limit, found.measured, found.until) == ("daily", 5, 6, "2026-03-11")
    assert "6" in found.words
    assert trip(pool(6), DAY + timedelta(1)) == []
    assert trip(pool(6), DAY - timedelta(1)) == []


def test_what_was_held_counts_too_and_what_a_person_asked_for_never_does() -> None:
    (found,) = trip(pool(5), DAY, held=2)
    assert found.measured == 7
    assert trip(pool(5, x="swarm") + [entry(f"fix:{word}", x="explicit") for word in WORDS], DAY) == []
    assert trip([*pool(6), entry("note:apple", DAY + timedelta(1), "explicit")], DAY) == []


def test_five_enter_and_the_rest_is_held() -> None:
    found = admit([f"note:{word}" for word in WORDS], pool(2), DAY)
    assert (len(found.admitted), len(found.held)) == (3, 3)
    assert admit(["note:x"], pool(6), DAY + timedelta(1)).admitted == ("note:x",)
    assert admit(["note:x"], pool(5), DAY).held == ("note:x",)
    assert admit(["note:x"], pool(5), DAY, resets=[Reset("daily", "2026-03-10", 5)]).admitted == ("note:x",)


def test_a_reset_forgives_what_was_measured_and_no_more() -> None:
    reset = Reset("daily", "2026-03-10", 6)
    assert trip(pool(6), DAY, resets=[reset]) == []
    assert names(trip(pool(6), DAY, held=6, resets=[reset])) == ["daily"]


def rejected(number: int, start: date = DAY, key: str = "seq:a->b", **extra: Any) -> list[Evidence]:
    made = [entry(key, start - timedelta(9), kind="skill")]
    return made + [one("rejected", key, start + timedelta(n), **extra) for n in range(number)]


def test_three_rejections_in_a_row_pause_their_category_and_kind_for_seven_days() -> None:
    evidence = rejected(3)
    paused = {}
    for offset in range(12):
        found = trip(evidence, DAY + timedelta(offset))
        paused[offset] = [(t.category, t.kind, t.limit, t.measured, t.until) for t in found]
    assert paused[0] == paused[1] == []
    assert all(paused[n] == [("sequence", "skill", 3, 3, "2026-03-19")] for n in range(2, 9))
    assert paused[9] == paused[10] == []


def test_two_rejections_or_an_approval_between_do_not_pause() -> None:
    assert trip(rejected(2), DAY + timedelta(5)) == []
    between = one("approved", "seq:a->b", DAY + timedelta(1))
    assert trip([*rejected(3), between], DAY + timedelta(2)) == []


def test_rejections_of_different_kinds_make_no_row() -> None:
    assert trip([*rejected(2), *rejected(1, key="fix:x")], DAY + timedelta(3)) == []
    assert trip([*rejected(2), *rejected(1, key="seq:c->d", kind="procedure")], DAY + timedelta(3)) == []
    assert names(trip([*rejected(2), *rejected(1, key="seq:c->d")], DAY + timedelta(3))) == ["rejections"]


def test_a_fourth_rejection_begins_the_pause_anew() -> None:
    assert trip(rejected(4), DAY + timedelta(9))[0].until == "2026-03-20"


def test_after_a_reset_three_more_rejections_pause_again() -> None:
    reset = Reset("rejections", "2026-03-12", 3)
    walk = {n: names(trip(rejected(n), DAY + timedelta(n - 1), resets=[reset])) for n in (3, 4, 5, 6)}
    assert walk == {3: [], 4: [], 5: [], 6: ["rejections"]}


def test_a_trip_holds_automatic_candidates_of_its_category_and_kind() -> None:
    (row,) = trip(rejected(3), DAY + timedelta(2))
    assert holds([row], "sequence", "skill", "implicit") == row
    assert holds([row], "sequence", "procedure", "implicit") is None
    assert holds([row], "sequence", "skill", "explicit") is None
    (daily,) = trip(pool(6), DAY)
    assert holds([daily], "note", "memory", "swarm") == daily


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("Publish the blog post", "publishing blog posts", True),
        ("Publish the blog post", "Blog post: publish", True),
        ("Run all unit tests before each commit", "Before each commit run all the unit tests", True),
        ("博客发布流程", "发布博客的流程", True),
        ("博客发布流程", "博客发布流程说明", True),
        ("博客发布流程", "博客文章迁移流程", False),
        ("Use Python 3.11", "Use Python 3.12", False),
        ("Push to main", "Do not push to main", False),
        ("Deploy web app to staging", "Deploy web app to production", False),
        ("Write the tests", "Write the docs", False),
    ],
)
def test_near_is_the_same_words_in_any_order_or_most_tokens_shared(a: str, b: str, expected: bool) -> None:
    assert near("note:a", a, "note:b", b) is expected
    assert near("note:b", b, "note:a", a) is expected


def test_the_order_of_steps_and_the_value_of_a_preference_keep_keys_apart() -> None:
    assert not near("seq:test->push", "", "seq:push->test", "")
    assert near("seq:run-tests->fix", "One", "seq:Run Tests->fix", "Two")
    assert not near(
        "pref:indent=tabs", "Indent with the right thing", "pref:indent=spaces", "Indent with the right thing"
    )
    assert near("note:publish-blog-post", "", "publish the blog posts", "")


def test_three_near_duplicates_are_a_group_to_merge_and_two_are_not() -> None:
    titles = ("Publish the blog post", "publishing blog posts", "Blog post: publish")
    evidence = [entry(f"note:{n}", DAY - timedelta(n), "explicit", title=title) for n, title in enumerate(titles)]
    assert trip(evidence[:2], DAY) == []
    (found,) = trip(evidence, DAY)
    assert (found.name, found.limit, found.measured, found.until) == ("duplicates", 3, 3, "")
    assert found.keys == ("note:0", "note:1", "note:2")
    alias = one("alias", "note:2", to="note:0")
    assert trip([*evidence, alias], DAY) == []
    assert trip([*evidence, one("rejected", "note:1")], DAY) == []
    assert trip([*evidence, one("retract", "note:1", to=evidence[1].id)], DAY) == []
    assert trip(evidence, DAY, titles={"note:1": "Something else entirely"}) == []


@given(st.dictionaries(st.sampled_from([f"note:{n}" for n in range(12)]),
                       st.lists(st.sampled_from(("test", "tests", "blog", "post", "发布", "流程", "博客")), min_size=1, max_size=6).map(" ".join)),
       st.randoms())  # fmt: skip
def test_groups_are_those_of_comparing_every_pair_in_any_order(titles: dict[str, str], shuffle: Any) -> None:
    slow = {key: {key} for key in titles}
    for a in titles:
        for b in titles:
            if near(a, titles[a], b, titles[b]):
                joined = slow[a] | slow[b]
                slow.update(dict.fromkeys(joined, joined))
    keys = list(titles)
    shuffle.shuffle(keys)
    found = near_groups({key: titles[key] for key in keys})
    assert found == sorted({tuple(sorted(group)) for group in slow.values() if len(group) > 1})


@given(st.lists(st.tuples(st.sampled_from(("candidate", "approved", "rejected")), st.sampled_from(WORDS), st.integers(1, 12),
                          st.sampled_from(("implicit", "explicit", "swarm"))), max_size=40), st.randoms())  # fmt: skip
def test_trips_are_a_function_of_the_set(made: list[tuple[str, str, int, str]], shuffle: Any) -> None:
    evidence = [one(kind, f"note:{word}", date(2026, 3, day), x=x) for kind, word, day, x in made]
    expected = trip(evidence, date(2026, 3, 12))
    shuffle.shuffle(evidence)
    assert trip(evidence, date(2026, 3, 12)) == expected


# --- a person's answers and what they say ------------------------------------------------------------------------------

ALIKE = ("Publish the blog post", "publishing blog posts", "Blog post: publish", "Blog posts: publishing")


def alike(number: int, day: date = DAY) -> list[Evidence]:
    return [entry(f"note:{n}", day, "explicit", title=title) for n, title in enumerate(ALIKE[:number])]


def test_near_duplicates_name_the_command_that_merges_them_into_the_best() -> None:
    (found,) = trip([*alike(3), one("succeeded", "note:1")], DAY)
    assert '`instinct alias "note:0" "note:1"`' in found.words
    assert '`instinct alias "note:2" "note:1"`' in found.words


def test_a_group_that_a_person_has_told_apart_is_silent_until_another_joins_it() -> None:
    reset = Reset("duplicates", DAY.isoformat(), 3, ("note:0", "note:1", "note:2"))
    assert names(trip(alike(3), DAY - timedelta(1), resets=[reset])) == ["duplicates"]
    assert trip(alike(3), DAY, resets=[reset]) == []
    assert trip(alike(3), DAY + timedelta(30), resets=[reset]) == []
    assert names(trip(alike(4), DAY, resets=[reset])) == ["duplicates"]


def test_a_reset_of_one_pause_leaves_the_row_of_another_kind() -> None:
    skills, rules = rejected(3), rejected(2, key="fix:x")
    reset = Reset("rejections", "2026-03-12", 3, ("seq:a->b",))
    assert trip([*skills, *rules], DAY + timedelta(2), resets=[reset]) == []
    third = [one("rejected", "fix:x", DAY + timedelta(3))]
    assert [t.category for t in trip([*skills, *rules, *third], DAY + timedelta(3), resets=[reset])] == ["fix_pattern"]

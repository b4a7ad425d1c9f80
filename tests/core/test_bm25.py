"""The order of answers: rare words, fields that say what an entry is about, and all words of a question count."""

from __future__ import annotations

import pytest

from instinct_git.core.bm25 import Statistics, holds, joined, match, pooled
from instinct_git.core.fusion import fuse
from instinct_git.core.passage import Passage, entry
from instinct_git.core.terms import terms

KNOWN = Statistics(100, 20.0, {"releas": 5, "test": 50, "blog": 2})


def rated(asked: str, **fields: str) -> float:
    one = entry("a", 0, Passage("pattern", fields.pop("name", "note:x"), **fields))
    return match(one.fields, one.length, terms(asked), KNOWN).score


def test_a_rare_word_tells_more_than_a_common_one() -> None:
    assert rated("release", text="release") > rated("test", text="test") > 0


def test_a_title_tells_more_than_a_text() -> None:
    assert rated("blog", title="blog") > rated("blog", description="blog") > rated("blog", text="blog")


def test_an_entry_with_all_words_comes_before_one_that_repeats_one_of_them() -> None:
    assert rated("release blog test", text="release blog test") > rated("release blog test", text="release " * 9)


def test_a_long_text_counts_less_for_a_word_than_a_short_one() -> None:
    assert rated("blog", text="blog") > rated("blog", text="blog " + "other words " * 200)


def test_a_longer_word_counts_less_than_the_word_itself() -> None:
    assert rated("blog", text="blog") > rated("blog", text="blogger") > 0
    assert rated("go", text="google") == 0


def test_repeated_words_are_counted_though_they_stand_side_by_side() -> None:
    assert joined(["a", "a", "a"]).count(" a ") == 3


def test_what_was_found_and_where_is_told() -> None:
    one = entry("a", 0, Passage("pattern", "note:blog", "Release", text="release"))
    told = match(one.fields, one.length, ["releas", "blog", "nothing"], KNOWN)
    assert told.found == {"releas": ("title", "text"), "blog": ("key",)}
    assert 0 < told.share < 1


def test_a_phrase_stands_in_one_field_in_its_order() -> None:
    one = entry("a", 0, Passage("pattern", "note:docs", "make the docs", text="docs make"))
    assert holds(one.fields, terms("the docs")) and not holds(one.fields, terms("make docs"))


def test_memories_are_rated_by_one_measure() -> None:
    both = pooled([Statistics(10, 4.0, {"a": 1}), Statistics(30, 8.0, {"a": 2, "b": 3}), Statistics(0, 0.0, {})])
    assert both == Statistics(40, 7.0, {"a": 3, "b": 3})
    assert pooled([]).weight("a") >= 0


def test_ranks_are_fused_and_two_good_places_beat_one_first() -> None:
    fused = fuse([["a", "b", "c"], ["d", "b"]])
    assert max(fused, key=fused.__getitem__) == "b"
    assert fused["a"] == pytest.approx(1 / 61)

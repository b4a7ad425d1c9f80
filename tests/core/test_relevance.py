"""Which patterns have to do with what is being worked on."""

from __future__ import annotations

import pytest

from instinct_git.core.pattern import PatternFile
from instinct_git.core.relevance import relevance


def pattern(key: str, title: str = "", description: str = "", tags: tuple[str, ...] = ()) -> PatternFile:
    return PatternFile("", "", key, "note", 6, 6, "mature", title=title, description=description, tags=tags)


KNOWN = [
    pattern("seq:test->fix->test", "Re-run the tests after every fix"),
    pattern("pref:style=black", "Format Python with black"),
    pattern("note:deploy", "Deploy with terraform", tags=("infrastructure",)),
    pattern("note:博客发布流程"),
]


def test_a_pattern_that_says_what_is_asked_comes_first() -> None:
    found = relevance("fix the failing tests", [], KNOWN)
    assert max(found, key=found.__getitem__) == "seq:test->fix->test"
    assert "note:deploy" not in found


def test_paths_tell_what_is_worked_on() -> None:
    assert list(relevance("", ["src/shop/cart.py"], KNOWN)) == ["pref:style=black"]
    assert list(relevance("", ["infra\\main.tf"], KNOWN)) == ["note:deploy"]
    both = relevance("tests", ["shop/cart.py"], KNOWN)
    assert both["seq:test->fix->test"] > both["pref:style=black"] > 0


def test_chinese_is_compared_by_pairs() -> None:
    assert list(relevance("要发布博客", [], KNOWN)) == ["note:博客发布流程"]


def test_everyday_words_and_nothing_at_all_are_no_reason() -> None:
    assert relevance("how do I do this with the", [], KNOWN) == {}
    assert relevance("", [], KNOWN) == {} and relevance("tests", [], []) == {}
    assert relevance("\ud800 !!! \0", ["/", ""], KNOWN) == {}


def test_numbers_lie_between_0_and_1() -> None:
    found = relevance("test fix black python deploy terraform 博客发布流程", ["a.py"] * 3, KNOWN)
    assert len(found) == 4 and all(0 < number <= 1 for number in found.values())
    assert relevance("black", [], KNOWN) == {"pref:style=black": 1.0}


def test_a_longer_word_that_begins_with_what_is_asked_counts_for_less() -> None:
    known = [*KNOWN, pattern("pref:formatter=ruff"), pattern("note:format", "Format what you wrote")]
    found = relevance("format the code", [], known)
    assert found["note:format"] == found["pref:style=black"] > found["pref:formatter=ruff"] > 0
    assert relevance("lint", [], [*KNOWN, pattern("pref:linter=ruff")]) == {"pref:linter=ruff": pytest.approx(0.4)}
    assert relevance("splint of", [], [*KNOWN, pattern("pref:linter=ruff")]) == {}

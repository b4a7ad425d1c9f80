"""Near-duplicates: the groups, their reasons, and the quick look at a few keys."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from instinct_git.core.duplicates import Group, alike, near, near_duplicates, sides


def test_groups_are_told_with_their_reason() -> None:
    titles = {
        "note:a": "Publish the blog post", "note:b": "Blog posts: publishing",
        "note:c": "Check every link of the release page before tagging",
        "note:d": "Check every link of the release page before tagging today",
        "seq:lint->test": "", "seq:Lint->test": "Anything", "note:e": "Something else",
    }  # fmt: skip
    shared = "Check, every, link, release, page, before, tagging"
    assert near_duplicates(titles) == [
        Group(("note:a", "note:b"), "the same words"),
        Group(("note:c", "note:d"), f"most words in common: {shared}"),
        Group(("seq:Lint->test", "seq:lint->test"), "the same steps"),
    ]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("Use pnpm instead of npm", "Use npm instead of pnpm", False),
        ("Prefer spaces over tabs", "Prefer tabs over spaces", False),
        ("Indent with spaces, not tabs", "Indent with tabs, not spaces", False),
        ("用 pnpm 而不是 npm", "用 npm 而不是 pnpm", False),
        ("Use pnpm instead of npm", "Use pnpm rather than npm", False),
        ("Use pnpm instead of npm", "Always use pnpm instead of npm", True),
    ],
)
def test_what_is_put_first_keeps_texts_of_the_same_words_apart(one: str, other: str, expected: bool) -> None:
    assert near("note:a", one, "note:b", other) is expected


def test_the_two_sides_of_a_choice_are_told_apart() -> None:
    assert sides("Prefer pnpm over npm") == ("Prefer pnpm", "npm")
    assert sides("Use spaces, not tabs") == ("Use spaces", "tabs")
    assert sides("Instead of npm, use pnpm") is None
    assert sides("Iterate over files") is None


WORDS = ("test", "tests", "company", "companies", "release", "releasing", "发布", "流程", "not")


@settings(max_examples=40)
@given(st.dictionaries(st.sampled_from([f"note:{n}" for n in range(8)] + ["seq:test->fix", "seq:Tests->fix"]),
                       st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join), min_size=1), st.data())  # fmt: skip
def test_a_quick_look_finds_what_comparing_every_pair_finds(titles: dict[str, str], data: Any) -> None:
    asked = data.draw(st.lists(st.sampled_from(sorted(titles)), unique=True))
    slow = {
        key: sorted(other for other in titles if other != key and near(key, titles[key], other, titles[other]))
        for key in asked
    }
    assert alike(asked, titles) == {key: others for key, others in slow.items() if others}

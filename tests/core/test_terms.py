"""What a text is cut into, so that a question in other forms of its words finds it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from instinct_git.core.terms import likeness, may_begin, read_query, roots, slip, terms, triples


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("tests", "testing"), ("tested", "test"), ("releases", "releasing"), ("release", "released"), ("libraries", "library"),
        ("running", "run"), ("fixes", "fix"), ("caches", "caching"), ("dependency", "dependencies"), ("classes", "class"),
        ("Café", "cafe"), ("ＢＬＡＣＫ", "black"), ("C++", "cpp"), ("C#", "csharp"), ("Straße", "STRASSE"),
    ],
)  # fmt: skip
def test_forms_of_one_word_are_one_term(one: str, other: str) -> None:
    assert terms(one) == terms(other)


@pytest.mark.parametrize("word", ["status", "process", "analysis", "string", "bus", "need", "js"])
def test_what_only_looks_like_an_ending_stays(word: str) -> None:
    assert terms(word) == [word]


def test_code_names_are_found_by_their_parts_and_as_a_whole() -> None:
    assert terms("readFileSync") == ["read", "file", "sync", "readfilesync"]
    assert terms("HTTPServer") == ["http", "server", "httpserver"]
    assert terms("snake_case --no-verify") == ["snak", "case", "no", "verify"]
    assert terms("seq:test->fix->test") == ["seq", "test", "fix", "test"]


def test_chinese_is_cut_into_pairs_and_a_query_leaves_the_last_character_out() -> None:
    assert terms("博客发布") == ["博客", "客发", "发布", "布"]
    assert terms("博客发布", asked=True) == ["博客", "客发", "发布"]
    assert terms("测", asked=True) == ["测"]
    assert terms("用pytest测试") == ["用", "pytest", "测试", "试"]


def test_a_query_forgets_the_words_that_say_nothing_unless_there_are_no_others() -> None:
    assert read_query("how do I release the docs?").terms == ("releas", "doc")
    assert read_query("怎么发布我的博客").terms == ("发布", "博客")
    assert read_query("how to do it").terms == ("how", "to", "do", "it")


def test_quotes_keep_words_together_and_an_open_quote_is_only_a_character() -> None:
    assert read_query('"make docs" now').phrases == (("make", "doc"),)
    assert read_query("「发布博客」").phrases == (("发布", "布博", "博客"),)
    assert read_query('say "hello').phrases == () and read_query('""').phrases == ()


@pytest.mark.parametrize(
    ("word", "key"),
    [
        ("block", "black"),
        ("back", "black"),
        ("appli", "appl"),
        ("trigger", "tiger"),
        ("own", "on"),
        ("intent", "indent"),
    ],
)
def test_a_word_among_others_is_no_slip_of_one_that_it_only_resembles(word: str, key: str) -> None:
    assert slip(word, key) > 0 and slip(word, key, alone=False) == 0


@pytest.mark.parametrize(("word", "key"), [("blakc", "black"), ("pytset", "pytest"), ("formater", "formatter")])
def test_turned_and_missing_letters_are_a_slip_among_other_words_too(word: str, key: str) -> None:
    assert slip(word, key, alone=False) > 0.6


@pytest.mark.parametrize(
    ("word", "made"),
    [
        ("indentation", "indent"), ("deployment", "deploy"), ("formatter", "format"), ("migration", "migrat"),
        ("former", ""), ("number", ""), ("logger", ""), ("发布", ""), ("v2or", ""),
    ],
)  # fmt: skip
def test_a_word_is_made_from_another_one(word: str, made: str) -> None:
    assert (made in roots(word)) if made else roots(word) == []


def test_a_long_query_is_cut() -> None:
    assert len(read_query(" ".join(f"word{n}" for n in range(5000))).terms) == 256


@given(st.text(alphabet=st.characters(codec=None)))
def test_any_text_gives_terms_that_a_database_can_hold(text: str) -> None:
    """Unpaired surrogates, control characters, quotes: none of it is part of a term."""
    for term in terms(text) + list(read_query(text).terms):
        assert term and term == "".join(term.split())
        term.encode("utf-8")
        assert not set(term) & set("\"'*():^-+\0")


def test_nearly_the_same_word_is_told_from_another() -> None:
    assert slip("blakc", "black") > 0.6 and slip("tet", "test") > 0.6
    assert slip("there", "here") == 0 and slip("noth", "note") == 0 and slip("", "a") == 0
    assert slip("black", "white") == 0 and slip("test", "attestation") == 0
    assert likeness(triples("missing-import"), triples("missing-imprt")) > 0.5 > likeness(triples("a"), triples("b"))


def test_a_term_may_be_the_beginning_of_a_longer_one() -> None:
    assert may_begin("lint") and may_begin("测")
    assert not may_begin("go") and not may_begin("测试")

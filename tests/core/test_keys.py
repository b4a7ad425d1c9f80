"""Keys: what is one, and the path that a key alone determines."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from instinct_git.core.keys import MAX_KEY_BYTES, category_of, describe, normalise_key, pattern_path, split_key
from instinct_git.errors import InstinctError, InvalidKey

PATH = re.compile(r"\.instinct/patterns/(seq|pref|fix|combo|note|other)/[a-z0-9]+(-[a-z0-9]+)*\.md")
DEVICES = ["con", "prn", "aux", "nul", *(f"{name}{n}" for name in ("com", "lpt") for n in range(10))]


def is_key(text: str) -> bool:
    try:
        normalise_key(text)
    except InvalidKey:
        return False
    return True


PREFIXES = st.sampled_from(["seq:", "pref:", "fix:", "combo:", "note:", "", "other:", "Seq:"])
KEYS = st.builds(lambda prefix, body: prefix + body, PREFIXES, st.text(min_size=1, max_size=60)).filter(is_key)


@pytest.mark.parametrize(
    ("key", "path"),
    [
        ("seq:test", "seq/test.md"),
        ("pref:tabs", "pref/tabs.md"),
        ("plain-word", "other/plain-word.md"),
        ("seq:test->fix->test", "seq/test-fix-test-"),
        ("fix:Missing Import", "fix/missing-import-"),
        ("combo:Grep+Read", "combo/grep-read-"),
        ("note:记住这个流程", "note/"),
        ("note:🚀", "note/"),
        ("seq:naïve-café", "seq/naive-cafe-"),
        ("unknown:body", "other/unknown-body-"),
        ("seq:-leading", "seq/leading-"),
        ("seq:a--b", "seq/a-b-"),
        ("seq:dot.", "seq/dot-"),
        ("seq:../../etc/passwd", "seq/etc-passwd-"),
        ("seq:" + "a" * 64, "seq/" + "a" * 64 + ".md"),
        ("seq:" + "a" * 65, "seq/" + "a" * 64 + "-"),
    ],
)
def test_the_path_is_the_slug_of_the_body_and_a_hash_unless_the_body_is_a_slug(key: str, path: str) -> None:
    found = pattern_path(key)
    assert PATH.fullmatch(found)
    stem = f".instinct/patterns/{path}"
    if path.endswith(".md"):
        assert found == stem
    else:
        assert re.fullmatch(re.escape(stem) + r"[0-9a-f]{8}\.md", found)


@pytest.mark.parametrize("name", DEVICES)
def test_slug_aux_con_nul_colon_dot_space(name: str) -> None:
    for key in (f"seq:{name}", name, f"seq:{name.upper()}", f"seq:{name}.txt", f"seq: {name}"):
        stem = pattern_path(normalise_key(key)).rpartition("/")[2].removesuffix(".md")
        assert stem.partition(".")[0] not in DEVICES
        assert PATH.fullmatch(pattern_path(normalise_key(key)))


@given(KEYS)
def test_every_path_is_safe_on_every_system_and_a_function_of_the_key(text: str) -> None:
    key = normalise_key(text)
    path = pattern_path(key)
    assert PATH.fullmatch(path), path
    assert path == pattern_path(key)
    assert path.rpartition("/")[2].removesuffix(".md") not in DEVICES
    assert len(path) <= 180


@given(KEYS, KEYS)
def test_different_keys_have_different_files_even_where_case_does_not_count(a: str, b: str) -> None:
    one, other = normalise_key(a), normalise_key(b)
    assume(one != other)
    assert pattern_path(one).casefold() != pattern_path(other).casefold()


@pytest.mark.parametrize("pair", [("seq:Test", "seq:test"), ("seq:a b", "seq:a-b"), ("seq:x", "fix:x"), ("é", "e")])
def test_slug_case_collision(pair: tuple[str, str]) -> None:
    assert pattern_path(pair[0]) != pattern_path(pair[1])


@pytest.mark.parametrize("text", ["note:café", "note:한국어", "note:Å", "seq:ÅÉ->ñ"])
def test_slug_nfc_nfd_same_file(text: str) -> None:
    composed, taken_apart = unicodedata.normalize("NFC", text), unicodedata.normalize("NFD", text)
    assert composed != taken_apart
    assert normalise_key(taken_apart) == normalise_key(composed)
    assert pattern_path(normalise_key(taken_apart)) == pattern_path(normalise_key(composed))


@given(KEYS)
def test_a_key_normalises_to_itself(text: str) -> None:
    key = normalise_key(text)
    assert normalise_key(key) == key
    assert normalise_key(f"  {key}\t\n") == key


@pytest.mark.parametrize("key", ["seq:a", "note:记住", "note:👩‍👩‍👧", "note:می‌خواهم", "x" * MAX_KEY_BYTES, "记" * 66])
def test_these_are_keys(key: str) -> None:
    assert normalise_key(key) == key


@pytest.mark.parametrize(
    "text",
    [
        "", "   ", "\n", "seq:", "seq:   ", "fix:\t", "a\nb", "a\rb", "a\x00b", "a\x1bb", "a\x7fb", "a\x85b",
        "a\u2028b",
        "a\u2029b", "a\u202eb", "a\u2066b", "a\u200bb", "a\u200eb", "a\u061cb", "a\ufeffb", "a\u00adb", "a\ud800b",
        "a\ufffeb", "a\uffffb", "x" * (MAX_KEY_BYTES + 1), "记" * 67,
    ],
)  # fmt: skip
def test_these_are_refused_with_a_reason_and_a_hint(text: str) -> None:
    with pytest.raises(InvalidKey) as refused:
        normalise_key(text)
    assert refused.value.message
    assert refused.value.hint


@pytest.mark.parametrize(
    ("key", "given_category", "category"),
    [
        ("seq:a", None, "sequence"), ("pref:a", None, "preference"), ("fix:a", "fix_pattern", "fix_pattern"),
        ("combo:a", None, "combo"), ("note:a", None, "note"), ("word", None, "sequence"), ("word", "note", "note"),
        ("Seq:a", "combo", "combo"),
    ],
)  # fmt: skip
def test_the_prefix_decides_the_category_then_what_was_given_then_sequence(
    key: str, given_category: str | None, category: str
) -> None:
    assert category_of(key, given_category) == category


@pytest.mark.parametrize(("key", "given_category"), [("seq:a", "note"), ("word", "nonsense"), ("word", "")])
def test_a_category_that_is_none_or_contradicts_the_prefix_is_refused(key: str, given_category: str) -> None:
    with pytest.raises(InstinctError):
        category_of(key, given_category)


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("seq:test->fix->test", "test, then fix, then test"), ("pref:style=black", "use black for style"),
        ("fix:import", "known fix for import"), ("combo:grep+read", "grep together with read"), ("note:x", "x"),
    ],
)  # fmt: skip
def test_a_key_without_a_title_is_put_into_words(key: str, words: str) -> None:
    assert describe(key) == words


def test_only_the_five_prefixes_split() -> None:
    assert split_key("seq:a:b") == ("seq", "a:b")
    assert split_key("other:a") == ("other", "other:a")
    assert split_key("plain") == ("other", "plain")

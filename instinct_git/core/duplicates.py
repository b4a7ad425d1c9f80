"""Near-duplicates: which texts say the same, in words and in Chinese, Japanese and Korean. Pure.

One rule for all: the breaker that merges candidates, the warning before a new file, and `duplicates`.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from instinct_git.core.dimensions import steps_of
from instinct_git.core.keys import describe, split_key

WORDS_NEAR, CJK_NEAR = (4, 5), (3, 5)
"""Shared tokens over all tokens (Jaccard), as fractions: from 0.80 for words, from 0.60 where most are CJK bigrams."""
_CJK = r"\u3400-\u9fff\uf900-\ufaff\u3040-\u30ff\uac00-\ud7af"
_WIDE = re.compile(f"[{_CJK}]")
_WORD = re.compile(rf"[{_CJK}]+|\d+(?:\.\d+)*|[^\W\d_{_CJK}]+(?:'[a-z]+)?")
_STOP = frozenset(
    (
        "a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "in", "into", "is", "it", "its", "of", "on",
        "or", "our", "that", "the", "then", "this", "to", "up", "use", "we", "with", "your", "always", "please",
        "again",
    )
)  # fmt: skip
_NEGATIVE = re.compile(r"(?i)\b(not|never|no|don'?t|without|avoid|stop|skip)\b|不|别|別|勿|禁止|避免|无需")

_INSTEAD = re.compile(
    r"(?i)\binstead of\b|\brather than\b|\bprefer\w*\b.+?(?P<over>\bover\b)|[,，;；]\s*(?:and\s+)?not\b|而不是|而非"
)


class _Said(NamedTuple):
    apart: tuple[str, ...]
    """See `_apart`."""
    frame: tuple[tuple[str, ...], bool, tuple[str, ...]]
    """What must agree: numbers, whether it negates, and of "A instead of B" the words of A."""
    bag: tuple[str, ...]
    """Words and single CJK characters, sorted."""
    tokens: frozenset[str]
    fraction: tuple[int, int]
    """What it must share with another: WORDS_NEAR or CJK_NEAR."""


def near(key: str, title: str, other: str, other_title: str) -> bool:
    """True when two candidates say the same.

    The rule: the texts (title, else the key in words) have the same words and CJK characters in any order, or share at
    least WORDS_NEAR (CJK_NEAR) of their tokens: words without endings and fillers, overlapping bigrams of CJK text.
    Never near: texts that differ in a number or in a negation, and `pref:` keys with different values. Two sequences are
    near when their steps are the same in the same order, whatever their titles (which all look alike).
    """
    return _near(_said(key, title), _said(other, other_title))


def _near(a: _Said, b: _Said) -> bool:
    if a.apart and b.apart and a.apart[0] == b.apart[0]:
        if a.apart != b.apart:
            return False
        if a.apart[0] == "seq":
            return True
    return a.frame == b.frame and (a.bag == b.bag or _share(a, b))


def _apart(key: str) -> tuple[str, ...]:
    """What keeps keys apart whatever their titles say: the steps of a sequence, the value of a preference."""
    prefix, body = split_key(key)
    steps = steps_of(key)
    if len(steps) > 1:
        return ("seq", *(" ".join(stems(step)) for step in steps))
    if prefix == "pref" and "=" in body:
        return ("pref", " ".join(stems(body.partition("=")[2])))
    return ()


def _said(key: str, title: str) -> _Said:
    text = unicodedata.normalize("NFKC", title or describe(key).replace("-", " ")).lower()
    words = stems(text)
    bag = [char for word in words for char in (word if _wide(word) else [word])]
    tokens = tokens_of(words)
    numbers = tuple(sorted(word for word in bag if word[0].isdigit()))
    two = sides(text)
    frame = numbers, bool(_NEGATIVE.search(text)), tuple(sorted(set(stems(two[0])))) if two else ()
    return _Said(_apart(key), frame, tuple(sorted(bag)), frozenset(tokens), fraction(tokens))


def sides(text: str) -> tuple[str, str] | None:
    """Return (A, B) of "A instead of B", None for a text that puts nothing second."""
    found = _INSTEAD.search(text)
    if found is None:
        return None
    at = found.start("over") if found["over"] else found.start()
    before, after = text[:at].strip(" ,，"), text[found.end() :].strip()
    return (before, after) if before and after else None


def tokens_of(words: Iterable[str]) -> set[str]:
    """Return what is compared: words, and overlapping pairs of the characters of CJK text."""
    found = set[str]()
    for word in words:
        found |= {word[i : i + 2] for i in range(max(1, len(word) - 1))} if _wide(word) else {word}
    return found


def _wide(word: str) -> bool:
    return not word.isascii() and _WIDE.match(word) is not None


def stems(text: str) -> list[str]:
    """Return the words of a text without endings and fillers; a run of CJK characters is one."""
    found = _WORD.findall(unicodedata.normalize("NFKC", text).lower())
    return [_stem(word.replace("的", "") or word) for word in found if word not in _STOP]


@lru_cache(maxsize=8192)
def _stem(word: str) -> str:
    """A word without its English ending: tests, testing, tested -> test; releases, release -> releas."""
    if not word.isascii() or len(word) < 4:
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    word = word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) else word
    short = re.sub(r"(?<=[a-z]{3})(ing|ed)$", "", word)
    if short != word and len(short) > 3 and short[-1] == short[-2] and short[-1] not in "lsz":
        short = short[:-1]
    return short.removesuffix("e") if len(short) > 3 else short


def fraction(tokens: Iterable[str]) -> tuple[int, int]:
    """Return the fraction of their tokens that two texts must share; the stricter of both counts."""
    known = list(tokens)
    wide = sum(map(_wide, known))
    return CJK_NEAR if 2 * wide > len(known) else WORDS_NEAR


def _share(a: _Said, b: _Said) -> bool:
    least, of = max(a.fraction, b.fraction)  # (4, 5) is more than (3, 5)
    both = len(a.tokens & b.tokens)
    return both > 0 and both * of >= (len(a.tokens) + len(b.tokens) - both) * least


def near_groups(titles: Mapping[str, str], least: int = 2) -> list[tuple[str, ...]]:
    """Return the groups of near-duplicates among {key: title or ""}, of at least `least`; each sorted, sorted.

    A is with C when both are near B. Only pairs that share a rare token, or all words, are compared.
    """
    parent = {key: key for key in titles}

    def root(key: str) -> str:
        while parent[key] != key:
            parent[key] = key = parent[parent[key]]
        return key

    alike: dict[_Said, str] = {}
    for key in sorted(titles):
        parent[key] = alike.setdefault(_said(key, titles[key]), key)
    for one, other in _pairs(list(alike)):
        first, second = root(alike[one]), root(alike[other])
        if first != second and _near(one, other):
            parent[max(first, second)] = min(first, second)
    groups: dict[str, list[str]] = defaultdict(list)
    for key in sorted(titles):
        groups[root(key)].append(key)
    return sorted(tuple(members) for members in groups.values() if len(members) >= least)


def _pairs(said: Sequence[_Said]) -> Iterator[tuple[_Said, _Said]]:
    """Pairs that can be near: a text that shares 4/5 of its n tokens shares one of its n - ceil(4n/5) + 1 rarest."""
    often = Counter(token for one in said for token in one.tokens)
    known: dict[object, dict[int, None]] = defaultdict(dict)
    for number, one in enumerate(said):
        rare = sorted(one.tokens, key=lambda token: (often[token], token))
        least, of = one.fraction
        marks: list[object] = [
            (one.frame, mark) for mark in (one.bag, *rare[: len(rare) - -(-len(rare) * least // of) + 1])
        ]
        marks += [one.apart] if one.apart else []
        yield from ((said[other], one) for other in {other: None for mark in marks for other in known[mark]})
        for mark in marks:
            known[mark][number] = None


class Group(NamedTuple):
    """Patterns that say the same."""

    keys: tuple[str, ...]
    """Sorted."""
    reason: str


def near_duplicates(titles: Mapping[str, str], least: int = 2) -> list[Group]:
    """Return the groups of near-duplicates among {key: title or ""}, each with why it is one."""
    return [Group(keys, reason(keys, titles)) for keys in near_groups(titles, least)]


def reason(keys: Sequence[str], titles: Mapping[str, str]) -> str:
    """Say why keys are near-duplicates."""
    said = [_said(key, titles.get(key, "")) for key in keys]
    if all(one.apart and one.apart == said[0].apart for one in said):
        same = "the same steps" if said[0].apart[0] == "seq" else "the same value"
        return same if said[0].apart[0] == "seq" else f"{same}, and words in common"
    if all(one.bag == said[0].bag for one in said):
        return "the same words"
    shared = frozenset.intersection(*(one.tokens for one in said))
    if not shared:
        return "each says nearly the same as another one"
    return f"most words in common: {', '.join(_spelled(keys[0], titles.get(keys[0], ''), shared))}"


def _spelled(key: str, title: str, tokens: Container[str]) -> list[str]:
    """Return the words of a text whose tokens these are, as the text has them."""
    text = unicodedata.normalize("NFKC", title or describe(key).replace("-", " "))
    found = [word for word in _WORD.findall(text) if not _wide(word) and any(one in tokens for one in stems(word))]
    found += [
        token for word in _WORD.findall(text) if _wide(word) for token in tokens_of(stems(word)) if token in tokens
    ]
    return list(dict.fromkeys(found))


def alike(keys: Iterable[str], titles: Mapping[str, str]) -> dict[str, list[str]]:
    """Return {key: the other keys that say the same, sorted} of some keys among {key: title or ""}.

    Much faster than all groups: only texts that share the beginning of a word with one of the keys are compared.
    """
    wanted = {key: _said(key, titles.get(key, "")) for key in keys}
    begins = {
        token[:-1] if len(token) > 3 else token for one in wanted.values() for token in (*one.tokens, *one.apart[1:])
    }
    begins.discard("")
    if not begins:
        return {}
    likely = re.compile("|".join(re.escape(part) for part in sorted(begins)))
    found: dict[str, list[str]] = {}
    for other, title in sorted(titles.items()):
        text = unicodedata.normalize("NFKC", title or other).lower()
        if not likely.search(text) and not likely.search(other.lower()):
            continue
        said = _said(other, title)
        for key, one in wanted.items():
            if key != other and _near(one, said):
                found.setdefault(key, []).append(other)
    return found

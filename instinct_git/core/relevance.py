"""Which advice a text calls for: by the words that both hold, the rarer the more. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import log
from typing import TypeVar

from instinct_git.core.ranking import terms

T = TypeVar("T")
_COMMON = """
a an and are as at be but by can do does for from has have how i if in into is it its just me my need no not of on or our
out please so some that the their them then there these they this to up us use was we what when where which who why will
with would you your make get let now new all any also only after before more don t s
"""
COMMON = frozenset(_COMMON.split())
"""Words that say nothing of what a text is about."""
LEAST = 2
"""Distinct words that must be shared; one is enough where it is all that the advice says."""
LONG = 4
"""Characters from which on the beginning of a longer word is that word: "lint" and "linter"."""


def related(text: str, rows: Iterable[tuple[T, str]]) -> list[T]:
    """Return the items whose words the text shares, the most telling first; of equals the order stays.

    Words that stand in most items tell little, words in one item tell most.
    """
    asked = {term for term in terms(text[:20_000]) if term not in COMMON and len(term) > 1}
    have = [
        (item, frozenset(term for term in terms(words) if term not in COMMON and len(term) > 1)) for item, words in rows
    ]
    spread = Counter(term for _, words in have for term in words)
    found: list[tuple[float, int, T]] = []
    for number, (item, words) in enumerate(have):
        shared = _shared(asked, words)
        if len(shared) >= min(LEAST, len(words)) and shared:
            weight = sum(log(1 + len(have) / spread[term]) for term in shared)
            found.append((-weight, number, item))
    found.sort(key=lambda row: row[:2])
    return [item for _, _, item in found]


def _shared(asked: Iterable[str], words: Sequence[str] | frozenset[str]) -> set[str]:
    asked = frozenset(asked)
    same = asked.intersection(words)
    longer = {
        word for word in words if word not in same and len(word) >= LONG
        if any(len(one) >= LONG and (one.startswith(word) or word.startswith(one)) for one in asked)
    }  # fmt: skip
    return {*same, *longer}

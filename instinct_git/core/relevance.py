"""How much each pattern concerns the task at hand: the words of the task and the files in play against the pattern's own.

A word counts by how rare it is among the patterns. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import log
from typing import TypeVar

from instinct_git.core.applicability import applies_to, matches
from instinct_git.core.pattern import PatternFile
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
PATH_WEIGHT = 0.5
"""What a word of a file's path counts beside one of the person's."""


def relevance(text: str, paths: Sequence[str], patterns: Iterable[PatternFile]) -> dict[str, float]:
    """Return {key: 0..1} of the patterns that share a word with the task; those that are limited to a folder of the
    files in play have 1.

    A word's worth is its inverse document frequency as in Robertson and Sparck Jones 1976, ln(1 + (N - n + 0.5) /
    (n + 0.5)). The sum is divided by the greatest one, so that what fits best has 1.
    """
    said = set(terms(text)) - COMMON
    asked = dict.fromkeys(set(terms(" ".join(paths))) - COMMON, PATH_WEIGHT) | dict.fromkeys(said, 1.0)
    files = list(patterns)
    have = {one.key: asked.keys() & set(terms(" ".join(_texts(one)))) for one in files}
    often = Counter(word for words in have.values() for word in words)
    worth = {word: asked[word] * log(1 + (len(files) - n + 0.5) / (n + 0.5)) for word, n in often.items()}
    scores = {key: sum(worth[word] for word in words) for key, words in have.items() if words}
    most = max(scores.values(), default=0.0)
    found = {key: score / most for key, score in scores.items()}
    return found | {one.key: 1.0 for one in files if _meant_for(one, paths)}


def _texts(one: PatternFile) -> tuple[str, ...]:
    return (one.key, one.title, one.description, *one.tags)


def _meant_for(one: PatternFile, paths: Sequence[str]) -> bool:
    if not one.applies_to or not paths:
        return False
    return any(matches(path, glob) for glob in applies_to(one.applies_to).paths for path in paths)


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

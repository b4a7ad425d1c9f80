"""How much each pattern concerns the task at hand: the words of the task and the files in play against the pattern's own.

A word counts by how rare it is among the patterns (inverse document frequency, as in Robertson and Sparck Jones 1976:
ln(1 + (N - n + 0.5) / (n + 0.5))). The sum is divided by the greatest one, so that what fits best has 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import log

from instinct_git.core.applicability import applies_to, matches
from instinct_git.core.pattern import PatternFile
from instinct_git.core.ranking import terms

_ENGLISH = (
    "a an and are as at be but by can do for from has have how i if in into is it its me my no not of on or our please so "
    "that the their them then there these this to up us use was we what when which will with you your"
)
STOP_WORDS = frozenset(_ENGLISH.split())
"""English words that say nothing about a task; a Chinese pair of characters is judged by its rarity alone."""
PATH_WEIGHT = 0.5
"""What a word of a file's path counts beside one of the person's."""


def relevance(text: str, paths: Sequence[str], patterns: Iterable[PatternFile]) -> dict[str, float]:
    """Return {key: 0..1} of the patterns that share a word with the task; those that are limited to a folder of the
    files in play have 1."""
    said = set(terms(text)) - STOP_WORDS
    asked = dict.fromkeys(set(terms(" ".join(paths))) - STOP_WORDS, PATH_WEIGHT) | dict.fromkeys(said, 1.0)
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

"""Texts into the terms that are searched for: words in their plain form, the parts of code names, pairs of CJK characters.

Documents and queries come through the same functions, so that whatever they do to a word they do to both.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

_CJK = "\u3005\u3040-\u30ff\u31f0-\u31ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U000323af"
_RUN = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+")
_IS_CJK = re.compile(rf"[{_CJK}]")
_HUMPS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_MARKED = re.compile(r"\b([CcFf])(\+\+|#)(?!\w)")
_SPELLED = {"c++": "cpp", "c#": "csharp", "f#": "fsharp", "f++": "f"}
_QUOTED = re.compile(r'"([^"]+)"|“([^”]+)”|「([^」]+)」')
_VOWEL = re.compile(r"[aeiouy]")
_EDGE = "\u00b7"
"""Marks the beginning and the end of a word in its triples."""

_MADE = ("ion", "ation", "ment", "er", "or")
"""Endings that make an English word of another one."""
_ROOT = 5
"""Letters that are left of it at least: a former has nothing to do with a form."""
_LONG = 6
"""Letters from which a word is long."""
MOST = 256
"""Distinct terms of a query that are looked at; a page that somebody pasted has thousands."""


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_STOP = _set(
    """a about an and any are as at be been but by can could did do does for from had has have how i if in into is it its me
    my need not of on or our please should so some than that the their them then there these they this those to use using was
    we were what when where which who why will with would you your"""
)
_STOP_PAIRS = _set("怎么 怎样 如何 什么 为什 可以 应该 需要 一个 一下 哪里 是否 有没 没有 请问 时候 之前 之后")
_STOP_CHARS = frozenset("的了吗呢吧啊么呀嘛我你您他她它们这那哪")


def fold_text(text: str) -> str:
    """Return text for comparison: compatibility forms made equal, case folded."""
    return text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()


def terms(text: str, *, asked: bool = False) -> list[str]:
    """Return the terms of a text in its order; the whole of a code name that has several parts comes at the end.

    `asked`: of a query, which needs the last character of a CJK word only where it is the only one.
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    if "+" in text or "#" in text:
        text = _MARKED.sub(lambda found: _SPELLED[found.group().lower()], text)
    found: list[str] = []
    whole: list[str] = []
    for run in _RUN.findall(text):
        if not run.isascii() and _IS_CJK.match(run):
            found += _pairs(run, asked)
        elif run.islower():
            found.append(_plain(run))
        else:
            parts = _HUMPS.findall(run) if run.isascii() and not (run.isupper() or run.isdigit()) else ()
            if len(parts) > 1:
                found += [_plain(part.lower()) for part in parts]
                whole.append(run.lower())
            else:
                found.append(_plain(run.casefold()))
    return found + whole


def _pairs(run: str, asked: bool) -> list[str]:
    """Return the overlapping pairs of a run of CJK characters and its last one, which begins no pair."""
    return [run[at : at + 2] for at in range(max(1, len(run) - 1) if asked else len(run))]


@lru_cache(maxsize=65536)
def _plain(word: str) -> str:
    """Return a word in its plain form: no accents, and of English ones no endings (tests, tested, testing: test)."""
    if not word.isascii():
        return "".join(unicodedata.normalize("NFD", char)[0] if char < "\u0250" else char for char in word)
    if len(word) < 4 or not word.isalpha():
        return word
    return _without_e(_without_ending(word))


def _without_ending(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed"):
        root = word.removesuffix(ending)
        if root != word and len(root) > 2 and _VOWEL.search(root):
            double = root[-1] == root[-2] and root[-1] not in "lsz"
            return root[:-1] if double else root
    return word


def _without_e(word: str) -> str:
    return word[:-1] if word.endswith("e") and len(word) > 4 else word


def roots(term: str) -> list[str]:
    """Return what an English word is made from, the likeliest first: indentation has indent, formatter format; for where
    the word itself stands nowhere."""
    if not (term.isascii() and term.isalpha()):
        return []
    cut = [term[: -len(ending)] for ending in _MADE if term.endswith(ending)]
    cut = [one[:-1] if one[-1] == one[-2] and one[-1] not in "lsz" else one for one in cut if len(one) > 2]
    return [one for one in cut if len(one) >= _ROOT]


def triples(text: str) -> set[str]:
    """Return the overlapping triples of characters of a text's words, for names that are nearly the same."""
    words = (f"{_EDGE}{run}{_EDGE}" for run in _RUN.findall(fold_text(text)))
    return {word[at : at + 3] for word in words for at in range(max(1, len(word) - 2))}


def likeness(one: set[str], other: set[str]) -> float:
    """Return how much two sets have in common, 0..1 (Dice's coefficient)."""
    return 2 * len(one & other) / (len(one) + len(other)) if one and other else 0.0


def slip(one: str, other: str, *, alone: bool = True) -> float:
    """Return how likely one word is another with a slip of the pen, 0..1; 0 below four fifths, and where they begin
    differently: a slip seldom is in the first letter.

    `alone`: it is all that was asked. A word among others may well be what its writer meant (block is not black, nor is
    back), so there only two turned letters, or one too many or too few in a long word, are a slip.
    """
    from difflib import SequenceMatcher

    if one[:1] != other[:1] or abs(len(one) - len(other)) > 2:
        return 0.0
    alike = SequenceMatcher(None, one, other, autojunk=False).ratio()
    if not alone and not (_turned(one, other) or (min(len(one), len(other)) >= _LONG and alike > 0.9)):
        return 0.0
    return 0.9 * alike if alike >= 0.8 else 0.0


def _turned(one: str, other: str) -> bool:
    """True for words of five letters or more that differ in the order of two neighbours."""
    if len(one) < 5 or len(one) != len(other):
        return False
    differ = [at for at, (a, b) in enumerate(zip(one, other, strict=True)) if a != b]
    return (
        len(differ) == 2
        and differ[1] == differ[0] + 1
        and one[differ[0]] == other[differ[1]]
        and (one[differ[1]] == other[differ[0]])
    )


class Query(NamedTuple):
    """A query, read."""

    text: str
    """Folded and trimmed: to compare with keys."""
    terms: tuple[str, ...]
    """Distinct, words that say nothing left out (unless there are no others)."""
    phrases: tuple[tuple[str, ...], ...] = ()
    """What stands in quotes, as terms that must follow each other."""


def read_query(text: str) -> Query:
    """Read what somebody asks. Quotes keep words together; there is no other operator, so nothing can be a mistake."""
    phrases = (tuple(terms(next(filter(None, found)), asked=True)) for found in _QUOTED.findall(text))
    found = tuple(dict.fromkeys(terms(text, asked=True)))
    telling = telling_terms(found)
    return Query(fold_text(text).strip(), (telling or found)[:MOST], tuple(one for one in phrases if one))


def telling_terms(found: Iterable[str]) -> tuple[str, ...]:
    """Return the terms without the words of everyday language that stand in every question."""
    return tuple(one for one in found if not (one in _STOP or one in _STOP_PAIRS or _STOP_CHARS.intersection(one)))


def may_begin(term: str) -> bool:
    """True for a term that may be the beginning of a longer one: lint finds linter, 测 finds 测试."""
    return len(term) > 2 or (len(term) == 1 and _IS_CJK.match(term) is not None)

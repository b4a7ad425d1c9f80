"""Which patterns to show, in what order, because of what: suggestions within a token budget, and search."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import NamedTuple, TypeVar

from instinct_git.core.keys import describe
from instinct_git.core.model import ACTIVE, MATURE, RULE
from instinct_git.core.pattern import PatternFile

T = TypeVar("T")
_LEVEL_RANK = {RULE: 0, MATURE: 1}


class Hit(NamedTuple):
    """A search result: higher score first; `because` says what matched."""

    score: float
    because: str


def suggestible(pattern: PatternFile) -> bool:
    """True for what agents are told: mature patterns and rules that no person retired or made a skill of."""
    return pattern.level in _LEVEL_RANK and pattern.status == ACTIVE and pattern.confidence > 0


def silent(pattern: PatternFile) -> bool:
    """True for what a person said no to, made a skill of, or let fade: no farther memory may bring it up."""
    return pattern.status != ACTIVE or pattern.confidence <= 0


def strength(pattern: PatternFile) -> tuple[int, int, str]:
    """Return (rank of the level: a rule's is 0, confidence, last seen), which `in_order` goes by."""
    return _LEVEL_RANK.get(pattern.level, 2), pattern.confidence, pattern.last_seen


def in_order(patterns: Iterable[PatternFile]) -> list[PatternFile]:
    """Return patterns as they are suggested: rules before mature, strongest first, then the most recently used, then
    by key."""
    ordered = sorted(patterns, key=lambda one: one.key)
    ordered.sort(key=lambda one: one.last_seen, reverse=True)
    ordered.sort(key=lambda one: (_LEVEL_RANK.get(one.level, 2), -one.confidence))
    return ordered


def words_for(pattern: PatternFile) -> str:
    """Return the advice in words: the description, else the title, else what the key says."""
    return pattern.title or pattern.description or describe(pattern.key)


def tokens(text: str) -> int:
    """Estimate the tokens of a text: a CJK character is about one, four other characters are about one."""
    if text.isascii():
        return (len(text) + 3) // 4
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return wide + (len(text) - wide + 3) // 4


def cost(pattern: PatternFile) -> int:
    """Return what a suggestion of the pattern takes of a token budget."""
    return tokens(f"{pattern.key} {words_for(pattern)}") + 1


def within_budget(rows: Iterable[tuple[T, str]], budget: int) -> tuple[list[T], list[T]]:
    """Split (item, text) rows, in order, into those whose texts fit the token budget and those left out."""
    return fitting(((item, tokens(text) + 1) for item, text in rows), budget)


def fitting(rows: Iterable[tuple[T, int]], budget: int) -> tuple[list[T], list[T]]:
    """Split (item, cost in tokens) rows, in order, into those that fit the budget and those left out."""
    kept: list[T] = []
    left: list[T] = []
    spent = 0
    for item, taken in rows:
        if spent + taken <= budget:
            spent += taken
            kept.append(item)
        else:
            left.append(item)
    return kept, left


def fold_text(text: str) -> str:
    """Return text for comparison: compatibility forms made equal, case folded."""
    return unicodedata.normalize("NFKC", text).casefold()


def _is_cjk(char: str) -> bool:
    return "\u3040" <= char <= "\u30ff" or "\u3400" <= char <= "\u9fff" or "\uac00" <= char <= "\ud7af"


def terms(text: str) -> list[str]:
    """Split a text into words; a run of CJK characters becomes its overlapping pairs."""
    found: list[str] = []
    word = run = ""
    for char in fold_text(text) + " ":
        if run and not _is_cjk(char):
            found += [run[i : i + 2] for i in range(len(run) - 1)] or [run]
            run = ""
        if _is_cjk(char):
            run += char
        if char.isalnum() and not _is_cjk(char):
            word += char
        elif word:
            found.append(word)
            word = ""
    return found


def search_score(query: str, pattern: PatternFile) -> Hit | None:
    """Rate one pattern against a query, or None. An exact key beats a part of the key, that beats words of the texts."""
    wanted, key = fold_text(query.strip()), fold_text(pattern.key)
    if not wanted:
        return None
    if wanted == key:
        return Hit(100.0, "exact key")
    score, reasons = 0.0, []
    if wanted in key:
        score, reasons = 50.0, ["key"]
    asked = list(dict.fromkeys(terms(query)))
    fields = (
        ("key", 8.0, pattern.key), ("title", 5.0, pattern.title), ("tags", 4.0, " ".join(pattern.tags)),
        ("description", 3.0, pattern.description), ("text", 1.0, pattern.body),
    )  # fmt: skip
    matched: set[str] = set()
    for name, weight, text in fields:
        have = set(terms(text))
        # A word of the query may be the beginning of a longer one: "lint" finds "linter".
        hits = {term for term in asked if term in have or (len(term) > 2 and any(h.startswith(term) for h in have))}
        if hits:
            score += weight * len(hits)
            matched |= hits
            if name not in reasons:
                reasons.append(name)
    if not reasons or (asked and len(matched) < len(asked) and score < 50):
        return None  # every word must be somewhere
    return Hit(score, ", ".join(reasons))


def rank(query: str, patterns: Iterable[PatternFile]) -> list[tuple[PatternFile, Hit]]:
    """Return the patterns that match, best first; equal scores by confidence, then key."""
    found = [(one, hit) for one in patterns if (hit := search_score(query, one)) is not None]
    return sorted(found, key=lambda row: (-row[1].score, -row[0].confidence, row[0].key))

"""Which patterns are suggested, in what order, within a token budget."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import TypeVar

from instinct_git.core.keys import describe
from instinct_git.core.model import MATURE, RULE, speaks
from instinct_git.core.pattern import PatternFile

T = TypeVar("T")
_LEVEL_RANK = {RULE: 0, MATURE: 1}


def suggestible(pattern: PatternFile, *, read: bool = True) -> bool:
    """True for what agents are told: mature patterns and rules that no person retired or made a skill of (`read`: one
    that agents read)."""
    return pattern.level in _LEVEL_RANK and not silent(pattern, read=read)


def silent(pattern: PatternFile, *, read: bool = True) -> bool:
    """True for what a person said no to, made a skill of, or let fade: no farther memory may bring it up."""
    return not speaks(pattern.status, read=read) or pattern.confidence <= 0


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

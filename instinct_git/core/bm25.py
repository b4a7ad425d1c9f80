"""How well an entry answers a query: BM25 over weighted fields (Robertson and Zaragoza, "BM25 and beyond"). Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from instinct_git.core.terms import may_begin

FIELDS = ("key", "title", "tags", "description", "text")
WEIGHTS = (4.0, 4.0, 3.0, 2.0, 1.0)
SATURATION, LENGTH = 1.2, 0.6
"""k1: how soon a repeated term adds no more. b: how much a long entry's repetitions count for less."""
BEGINNING = 0.4
"""What a longer word that begins with the term counts, of one."""


class Statistics(NamedTuple):
    """What is known of all entries together, which makes a rare term worth more than a common one."""

    entries: int
    length: float
    """Terms of an entry, on average."""
    having: Mapping[str, int]
    """{term: number of entries that hold it}."""

    def weight(self, term: str) -> float:
        """Return what a term is worth (its inverse document frequency); never below 0."""
        having = min(self.having.get(term, 0), self.entries)
        return math.log1p((self.entries - having + 0.5) / (having + 0.5))


class Match(NamedTuple):
    """A score, the terms found with the fields they stand in, and the share of the query's weight they have (0..1)."""

    score: float
    found: Mapping[str, tuple[str, ...]]
    share: float


def joined(found: Iterable[str]) -> str:
    """Return a field's terms as one text in which they can be counted: each has a space of its own on both sides."""
    words = "  ".join(found)
    return f" {words} " if words else ""


def pooled(several: Iterable[Statistics]) -> Statistics:
    """Return the statistics of several memories together."""
    several = list(several)
    entries = sum(one.entries for one in several)
    length = sum(one.entries * one.length for one in several) / entries if entries else 0.0
    having: dict[str, int] = {}
    for one in several:
        for term, number in one.having.items():
            having[term] = having.get(term, 0) + number
    return Statistics(entries, length, having)


def match(fields: Sequence[str], length: int, asked: Sequence[str], known: Statistics) -> Match:
    """Rate one entry, given as `joined` fields and its number of terms, against the terms of a query."""
    damping = SATURATION * (1 - LENGTH + LENGTH * length / (known.length or 1.0))
    score = matched = whole = 0.0
    found: dict[str, tuple[str, ...]] = {}
    for term in asked:
        weight = known.weight(term)
        whole += weight
        often, where = 0.0, []
        for name, factor, text in zip(FIELDS, WEIGHTS, fields, strict=True):
            if term not in text:
                continue
            exact = text.count(f" {term} ")
            longer = text.count(f" {term}") - exact if may_begin(term) else 0
            if exact or longer:
                often += factor * (exact + BEGINNING * longer)
                where.append(name)
        if where:
            found[term] = tuple(where)
            matched += weight
            score += weight * often * (SATURATION + 1) / (often + damping)
    share = matched / whole if whole else 0.0
    return Match(score * (0.5 + 0.5 * share), found, share)


def holds(fields: Sequence[str], phrase: Sequence[str]) -> bool:
    """True when the terms of a phrase follow each other in one field."""
    wanted = joined(phrase)
    return any(wanted in text for text in fields)

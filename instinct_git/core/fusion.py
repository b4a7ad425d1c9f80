"""Several rankings into one: reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009). Pure.

Scores of different kinds (of words, of likeness, of meaning) cannot be added; ranks can.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

Item = TypeVar("Item", bound=Hashable)
SMOOTHING = 60
"""The k of the paper: how little the first place is better than the second."""


def fuse(rankings: Sequence[Sequence[Item]]) -> Mapping[Item, float]:
    """Return {item: fused score}; each ranking is best first."""
    fused: dict[Item, float] = {}
    for ranking in rankings:
        for rank, item in enumerate(ranking, 1):
            fused[item] = fused.get(item, 0.0) + 1 / (SMOOTHING + rank)
    return fused

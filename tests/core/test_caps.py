"""Caps and gc: what goes, what stays, why, and that nothing is lost."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import pytest

from instinct_git.core.batch import Batch
from instinct_git.core.caps import BY, findings, plan_gc
from instinct_git.core.consolidate import Book, Snapshot
from instinct_git.core.model import Caps, Evidence
from tests.core.test_consolidate import MONDAY, POLICY, Tree, one

WEDNESDAY = MONDAY + timedelta(2)
NO_CAPS = Caps(0, 0)


class Tidied(Tree):
    """A memory in memory that is tidied, too."""

    def gc(self, caps: Caps, today: date = WEDNESDAY) -> Batch:
        self.batches += 1
        batch = plan_gc(Book(self.snapshot), POLICY, caps, f"{today:%Y%m%d}-{self.batches:012d}", today)
        for change in batch.changes:
            self._apply(change.path, change.content)
        self.snapshot = replace(self.snapshot, inbox=())
        return batch

    def left(self) -> list[str]:
        return sorted(Book(self.snapshot).files)


_numbers = iter(range(1000, 1_000_000))


def seen(key: str, times: int = 1, day: str = "20260601", kind: str = "observed", **extra: Any) -> list[Evidence]:
    return [one(next(_numbers), kind, key, day, **extra) for _ in range(times)]


@pytest.fixture
def tidied() -> Tidied:
    return Tidied()


def test_over_the_cap_the_weakest_goes_first_then_the_longest_unseen(tidied: Tidied) -> None:
    tidied.inbox(*seen("seq:a", 2), *seen("seq:b", day="20260530"), *seen("seq:c"), *seen("seq:d", 6))
    tidied.run()
    batch = tidied.gc(Caps(2, 0))
    assert batch.gone == (
        ("seq:b", "over caps.patterns = 2; seen 1 x, last on 2026-05-30"),
        ("seq:c", "over caps.patterns = 2; seen 1 x, last on 2026-06-01"),
    )
    assert (tidied.left(), batch.total, batch.subject) == (["seq:a", "seq:d"], 2, "instinct: gc 2 patterns")
    assert not tidied.gc(Caps(2, 0)).changes


def test_nothing_is_lost_and_what_is_seen_again_begins_anew(tidied: Tidied) -> None:
    tidied.inbox(*seen("seq:a", 3), *seen("seq:b", 4))
    tidied.run()
    before = set(tidied.ids())
    tidied.gc(Caps(1, 0))
    assert before < set(tidied.ids()) and tidied.errors() == []
    assert not tidied.run().removed_by_person and tidied.left() == ["seq:b"]
    tidied.inbox(*seen("seq:a", day="20260604"))
    tidied.run(today=date(2026, 6, 4))
    assert tidied.numbers("seq:a") == (1, 1)
    assert tidied.errors() == []


def test_more_new_ones_of_a_day_than_the_cap_go_down_to_it(tidied: Tidied) -> None:
    tidied.inbox(
        *(e for n in range(5) for e in seen(f"seq:{n}", n + 1 if n < 4 else 1)), *seen("seq:x", day="20260530")
    )
    tidied.run()
    batch = tidied.gc(Caps(0, 3))
    assert [key for key, _ in batch.gone] == ["seq:0", "seq:4"]
    assert batch.gone[0][1] == "over caps.new_per_day = 3 on 2026-06-01; seen 1 x, last on 2026-06-01"
    assert "seq:x" in tidied.left()


def test_what_a_person_or_the_pool_has_to_do_with_stays_and_is_told(tidied: Tidied) -> None:
    tidied.inbox(
        *seen("seq:mature", 6), *seen("seq:praised"), *seen("seq:praised", kind="confirmed"), *seen("seq:asked"),
        *seen("seq:asked", kind="proposed"), *seen("seq:pooled"), *seen("seq:pooled", kind="candidate", x="implicit"),
        *seen("seq:today", day="20260603"), *seen("seq:words"), *seen("seq:titled"), *seen("seq:retired"), *seen("seq:hand"),
    )  # fmt: skip
    tidied.run()
    tidied.edit("seq:words", "status: active\n---\n", "status: active\n---\nMy own words.\n")
    tidied.edit("seq:titled", 'title: ""', "title: Mine")
    tidied.edit("seq:retired", "status: active", "status: retired")
    tidied.edit("seq:hand", "confidence: 1", "confidence: 2")
    before = tidied.left()
    batch = tidied.gc(Caps(1, 0))
    assert (batch.gone, tidied.left()) == ((), before)
    assert batch.notices == (
        "8 patterns more than caps.patterns = 1 stay: mature, candidates, a person's, or seen today",
    )


def test_the_file_of_a_joined_key_goes_and_one_with_a_persons_words_stays(tidied: Tidied) -> None:
    tidied.inbox(*seen("seq:a", 2), *seen("seq:b", 2), *seen("seq:c", 3))
    tidied.run()
    tidied.edit("seq:b", "status: active\n---\n", "status: active\n---\nMy own words.\n")
    tidied.inbox(*seen("seq:a", kind="alias", to="seq:c"), *seen("seq:b", kind="alias", to="seq:c"))
    batch = tidied.gc(NO_CAPS)
    assert batch.gone == (("seq:a", "joined to seq:c by an alias"),)
    assert tidied.numbers("seq:c") == (7, 7)
    assert tidied.left() == ["seq:b", "seq:c"] and tidied.errors() == []
    tidied.inbox(
        one(
            1,
            "retract",
            "seq:a",
            "20260604",
            to=next(i.id for i in Book(tidied.snapshot).everything if i.k == "alias" and i.p == "seq:a"),
        )
    )
    tidied.run(today=date(2026, 6, 4))
    assert tidied.numbers("seq:a") == (2, 2) and tidied.numbers("seq:c") == (5, 5)


def test_the_same_gc_on_two_branches_counts_once(tidied: Tidied) -> None:
    tidied.inbox(*seen("seq:a", 2), *seen("seq:b", 3))
    tidied.run()
    other = Tidied()
    other.snapshot, other.batches = tidied.snapshot, 50
    tidied.gc(Caps(1, 0))
    other.gc(Caps(1, 0))
    merged = Tidied()
    merged.snapshot = Snapshot(tidied.snapshot.patterns, {}, {**tidied.snapshot.ledger, **other.snapshot.ledger})
    assert sum(one.by == BY for one in Book(merged.snapshot).everything) == 1
    assert not merged.run().changes
    assert merged.left() == ["seq:b"]


def test_evidence_of_another_branch_from_before_comes_back_beyond_what_was_taken(tidied: Tidied) -> None:
    tidied.inbox(*seen("seq:a", 2), *seen("seq:b", 3))
    tidied.run()
    tidied.gc(Caps(1, 0))
    tidied.observations("20260602-7kq2m9x4tnax", seen("seq:a", 3, "20260602"))
    tidied.run(today=date(2026, 6, 5))
    assert tidied.numbers("seq:a") == (3, 3)
    assert tidied.errors() == []


def test_a_pattern_that_was_brought_back_is_left_alone(tidied: Tidied) -> None:
    tidied.inbox(*seen("seq:a", 2), *seen("seq:b", 3))
    tidied.run()
    tidied.gc(Caps(1, 0))
    taken = next(each for each in Book(tidied.snapshot).everything if each.by == BY)
    tidied.inbox(one(2, "retract", "seq:a", "20260604", to=taken.id))
    tidied.run(today=date(2026, 6, 4))
    assert tidied.numbers("seq:a") == (2, 2)
    assert [key for key, _ in tidied.gc(Caps(1, 0), date(2026, 6, 8)).gone] == ["seq:b"]


def test_more_than_the_cap_is_a_notice_of_check_and_no_cap_is_none(tidied: Tidied) -> None:
    tidied.inbox(*seen("seq:a"), *seen("seq:b"))
    tidied.run()
    (found,) = findings(Book(tidied.snapshot), Caps(1, 0))
    assert (found.severity, "2 patterns, caps.patterns is 1" in found.message) == ("notice", True)
    assert findings(Book(tidied.snapshot), Caps(2, 0)) == findings(Book(tidied.snapshot), NO_CAPS) == []
    assert not tidied.gc(NO_CAPS).changes

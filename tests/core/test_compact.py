"""`compact` plans: what joins, what stays, and that no number and no id changes."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from instinct_git.core.audit import audit
from instinct_git.core.compact import plan_compact, stamp_of
from instinct_git.core.consolidate import Book, Snapshot, plan_consolidate
from instinct_git.core.evidence import LEDGER, dump_ledger, parse_container
from instinct_git.core.model import Evidence, Policy

POLICY = Policy()
TODAY = date(2026, 6, 15)
STEM = "20260615-newnonce0000"


def evidence(name: str, key: str = "seq:a", kind: str = "observed", session: str = "") -> Evidence:
    return Evidence(f"{name}.1", key, kind, by="cursor", s=session)


def ledger(*names: str) -> dict[str, bytes]:
    return {f"{LEDGER}{name}.jsonl": dump_ledger([evidence(name)]) for name in names}


def compacted(snapshot: Snapshot, stem: str = STEM) -> Snapshot:
    files = dict(snapshot.ledger)
    for change in plan_compact(Book(snapshot), stem, TODAY).changes:
        assert (change.path in files) == (change.content is None)
        if change.content is None:
            del files[change.path]
        else:
            files[change.path] = change.content
    return replace(snapshot, ledger=files)


@pytest.mark.parametrize(
    ("names", "joined"),
    [
        (("20250101-a", "20250301-b"), {"20250301"}),
        (("20250101-a", "20250301-b", "20260101-c", "20260531-d"), {"20250301", "20260531"}),
        (("20250101-a",), set()),
        (("20250101-a", "20260101-b"), set()),
        (("20260601-a", "20260615-b"), set()),
        (("20260501-a", "20260601-b"), set()),
        (("20270101-a", "20270102-b"), set()),
        (("joined", "20251399-b", "2025010-c"), set()),
        ((), set()),
    ],
    ids=["one year", "two years", "single", "one a year", "this month", "one before", "future", "no stamp", "empty"],
)
def test_the_files_of_a_year_become_one(names: tuple[str, ...], joined: set[str]) -> None:
    batch = plan_compact(Book(Snapshot(ledger=ledger(*names))), STEM, TODAY)
    written = [change for change in batch.changes if change.content is not None]
    assert {stamp_of(change.path) for change in written} == joined
    assert all(change.path.endswith("-newnonce0000.jsonl") for change in written)
    gone = {change.path for change in batch.changes if change.content is None}
    kept = {one.id for change in written for one in parse_container(change.content or b"")[0]}
    assert kept == {f"{path.removeprefix(LEDGER).removesuffix('.jsonl')}.1" for path in gone}
    assert bool(batch.subject) == bool(joined)


def test_a_file_with_a_line_that_cannot_be_read_stays_and_is_named() -> None:
    files = {
        **ledger("20250101-a", "20250102-b"),
        f"{LEDGER}20250103-c.jsonl": b"{broken\n" + dump_ledger([evidence("20250103-c")]),
    }
    batch = plan_compact(Book(Snapshot(ledger=files)), STEM, TODAY)
    assert f"{LEDGER}20250103-c.jsonl" not in {change.path for change in batch.changes}
    assert len(batch.changes) == 3
    assert any("20250103-c.jsonl has a line that cannot be read" in notice for notice in batch.notices)


def test_both_payloads_of_one_id_are_kept_for_check_to_report() -> None:
    one = evidence("20250101-a")
    files = {
        f"{LEDGER}20250101-a.jsonl": dump_ledger([one]),
        f"{LEDGER}20250102-b.jsonl": dump_ledger([one._replace(by="other")]),
    }
    after = Book(compacted(Snapshot(ledger=files)))
    assert len(after.ledger) == 1
    assert after.everything.clashes == {one.id}


def test_ids_that_another_file_holds_travel_too() -> None:
    kept = {f"{LEDGER}20260610-z.jsonl": dump_ledger([evidence("20250101-a")])}
    after = compacted(Snapshot(ledger={**ledger("20250101-a", "20250102-b"), **kept}))
    assert {one.id for one in parse_container(after.ledger[f"{LEDGER}20250102-newnonce0000.jsonl"])[0]} == {
        "20250101-a.1",
        "20250102-b.1",
    }


KINDS = st.sampled_from(["observed", "confirmed", "denied", "decayed", "remembered"])
LINES = st.tuples(
    st.dates(date(2024, 1, 1), TODAY),
    st.integers(0, 40),
    st.sampled_from(["seq:a", "fix:b"]),
    KINDS,
    st.sampled_from(["", "5" * 12]),
)


@given(
    st.lists(st.lists(LINES, min_size=1, max_size=4), max_size=12),
    st.lists(st.dates(date(2024, 1, 1), TODAY), min_size=12, max_size=12),
)
def test_no_number_changes_whatever_is_joined(
    containers: list[list[tuple[date, int, str, str, str]]], days: list[date]
) -> None:
    files = {
        f"{LEDGER}{day:%Y%m%d}-{nr:012d}.jsonl": dump_ledger(
            Evidence(f"{d:%Y%m%d}-{n:012d}.1", key, kind, by="x", s=session) for d, n, key, kind, session in lines
        )
        for nr, (day, lines) in enumerate(zip(days, containers, strict=False))
    }
    snapshot = Snapshot(ledger=files)
    folded = plan_consolidate(Book(snapshot), POLICY, "20260615-x", TODAY)
    patterns = {
        change.path: (change.content or b"").decode() for change in folded.changes if change.path.endswith(".md")
    }
    snapshot = replace(snapshot, patterns=patterns)
    before, after = Book(snapshot), Book(compacted(snapshot))
    assert after.ledger_ids == before.ledger_ids
    assert after.tallies(POLICY) == before.tallies(POLICY)
    assert audit(after, POLICY, []) == audit(before, POLICY, [])
    assert (
        plan_consolidate(after, POLICY, "20260615-y", TODAY).changes
        == plan_consolidate(before, POLICY, "20260615-y", TODAY).changes
    )
    assert plan_compact(after, STEM, TODAY).changes == ()

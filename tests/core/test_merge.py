"""The rules of `resolve` (cases of core/merge.py), and when `check` calls a number behind instead of wrong."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from instinct_git.core import merge
from instinct_git.core.audit import audit
from instinct_git.core.consolidate import Book, Snapshot
from instinct_git.core.document import MachineLines, new_text, parse, with_field
from instinct_git.core.evidence import LEDGER, OBSERVATIONS, dump_container, dump_ledger
from instinct_git.core.merge import Versions, edited, merge_status, settle_containers, settle_pattern, three_way
from instinct_git.core.model import Evidence, Policy
from instinct_git.errors import InvalidDocument

POLICY = Policy()
KEY = "seq:a"
PATH = ".instinct/patterns/seq/a.md"


def pattern(confidence: int, counted: int, *, status: str = "active", key: str = KEY, category: str = "sequence",
            days: tuple[str, str] = ("2026-01-01", "2026-01-02"), sources: Sequence[str] = ("cursor",), title: str = "") -> bytes:  # fmt: skip
    level = POLICY.level(confidence)
    machine = MachineLines(key, category, confidence, counted, level, *days, tuple(sources))
    return with_field(new_text(machine, title=title, metadata={}), "status", status).encode()


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "merged"),
    [
        (0, 0, 0, 0),
        (0, 4, 0, 4),
        (0, 0, 4, 4),
        (1, 4, 4, 4),
        (1, 4, 5, None),
        (None, 4, 4, 4),
        (None, 4, 5, None),
        (4, 0, 4, 0),
    ],
)
def test_a_value_changed_on_one_side_is_taken(base: int | None, ours: int, theirs: int, merged: int | None) -> None:
    assert three_way(base, ours, theirs) == merged
    assert three_way(base, theirs, ours) == merged


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "merged"),
    [
        ("active", "retired", "active", "retired"),
        ("active", "active", "graduated", "graduated"),
        ("graduated", "retired", "active", "retired"),
        ("retired", "retired", "active", "active"),
        ("active", "retired", "graduated", None),
        ("retired", "retired", "retired", "retired"),
    ],
)
def test_retired_beats_active_where_both_sides_changed(base: str, ours: str, theirs: str, merged: str | None) -> None:
    assert merge_status(base, ours, theirs) == merged
    assert merge_status(base, theirs, ours) == merged


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "confidence", "counted"),
    [
        ((1, 1), (4, 4), (3, 3), 4, 4),
        ((1, 1), (9, 1), (3, 3), 11, 3),
        ((1, 1), (3, 3), (9, 1), 11, 3),
        ((1, 1), (6, 1), (8, 3), 8, 3),
        ((6, 1), (8, 3), (3, 3), 3, 3),
        ((3, 3), (1, 1), (3, 3), 3, 3),
        (None, (2, 2), (3, 3), 3, 3),
        (None, (7, 2), (3, 3), 8, 3),
    ],
    ids=[
        "folds",
        "hand here",
        "hand there",
        "same edit",
        "hand edit taken back",
        "denied here",
        "both new",
        "both new, hand",
    ],
)
def test_offset_is_a_value_and_counted_the_larger(
    base: tuple[int, int] | None, ours: tuple[int, int], theirs: tuple[int, int], confidence: int, counted: int
) -> None:
    texts = settle_pattern(PATH, Versions(base and pattern(*base), pattern(*ours), pattern(*theirs)), POLICY)
    assert texts.undecided == ()
    assert texts.ours == texts.theirs == texts.base
    found = parse(texts.ours, PATH)
    assert (found.confidence, found.counted, found.level) == (confidence, counted, POLICY.level(confidence))
    assert texts.confidence == confidence


@pytest.mark.parametrize("base", [(1, 1), None])
def test_two_hand_edits_are_left_to_a_person_and_still_differ_in_the_texts(base: tuple[int, int] | None) -> None:
    texts = settle_pattern(PATH, Versions(base and pattern(*base), pattern(5, 1), pattern(9, 3)), POLICY)
    assert texts.undecided == ("confidence was changed by hand on both sides (+4 here, +6 there)",)
    found = [parse(text, PATH) for text in (texts.base, texts.ours, texts.theirs)]
    assert [(one.confidence, one.counted) for one in found] == [(3, 3), (7, 3), (9, 3)]


def test_days_and_sources_are_joined_and_a_persons_lines_stay_apart() -> None:
    ours = pattern(2, 2, days=("2026-01-01", "2026-02-01"), sources=("b",), title="Mine")
    theirs = pattern(3, 3, days=("2025-12-01", "2026-01-05"), sources=("a", "b"), title="Theirs")
    texts = settle_pattern(PATH, Versions(pattern(1, 1), ours, theirs), POLICY)
    found = [parse(text, PATH) for text in (texts.base, texts.ours, texts.theirs)]
    assert {(one.first_seen, one.last_seen, one.sources) for one in found} == {("2025-12-01", "2026-02-01", ("a", "b"))}
    assert [one.title for one in found] == ["", "Mine", "Theirs"]


def test_what_a_person_wrote_beside_machine_lines_survives() -> None:
    ours = pattern(2, 2).replace(b"counted: 2", b"counted: 2 # why").replace(b"level: raw", b"level: 'raw'")
    texts = settle_pattern(PATH, Versions(pattern(1, 1), ours, pattern(3, 3)), POLICY)
    assert "counted: 3 # why" in texts.ours
    assert "level: 'raw'" in texts.ours


@pytest.mark.parametrize(
    ("ours", "theirs", "words"),
    [
        (pattern(1, 1), pattern(1, 1, key="seq:b"), "it is 'seq:a' on this side and 'seq:b' on the other"),
        (b"no front matter\n", pattern(1, 1), "this side cannot be read"),
        (pattern(1, 1), b"\xff\n", "the other side is not valid UTF-8"),
    ],
)
def test_what_cannot_be_merged_says_why(ours: bytes, theirs: bytes, words: str) -> None:
    with pytest.raises(InvalidDocument, match=words):
        settle_pattern(PATH, Versions(None, ours, theirs), POLICY)


def test_category_and_status_that_both_changed_are_named() -> None:
    three = [pattern(1, 1, key="x", category=one, status=two) for one, two in
             (("sequence", "active"), ("combo", "retired"), ("note", "graduated"))]  # fmt: skip
    texts = settle_pattern(PATH, Versions(*three), POLICY)
    assert [one.partition(" ")[0] for one in texts.undecided] == ["category", "status"]


@given(st.tuples(*[st.integers(0, 30)] * 3), st.tuples(*[st.integers(-5, 5)] * 3))
def test_the_sides_are_alike_and_the_next_consolidate_is_exact(
    counted: tuple[int, ...], offsets: tuple[int, ...]
) -> None:
    base, ours, theirs = (pattern(c + o, c) for c, o in zip(counted, offsets, strict=True))
    one = settle_pattern(PATH, Versions(base, ours, theirs), POLICY)
    other = settle_pattern(PATH, Versions(base, theirs, ours), POLICY)
    assert bool(one.undecided) == bool(other.undecided) == (three_way(*offsets) is None)
    if not one.undecided:
        assert one == other
        assert parse(one.ours, PATH).offset == three_way(*offsets)
        assert parse(one.ours, PATH).counted == max(counted[1:])


@pytest.mark.parametrize(
    ("now", "by_a_person"),
    [
        (None, False),
        (b"a\nb\n", False),
        (b"a\r\nB\r\n", False),
        (b"planned\n", False),
        (b"a\n<<<<<<< x\nB\n=======\nc\n>>>>>>> y\n", False),
        (b"a\n<<<<<<< x\nB!\n=======\nc\n>>>>>>> y\n", True),
        (b"a\nB\nc\n", True),
    ],
    ids=["gone", "base", "ours with CRLF", "planned", "git's markers", "edited between markers", "settled by hand"],
)
def test_a_persons_work_in_the_tree_is_seen(now: bytes | None, by_a_person: bool) -> None:
    assert edited(now, Versions(b"a\nb\n", b"a\nB\n", b"a\nc\n"), b"planned\n") == by_a_person


# --- containers -----------------------------------------------------------------------------------------------------

NAME = f"{LEDGER}20260101-a.jsonl"


def box(*numbers: int) -> bytes:
    return dump_ledger(Evidence(f"20260101-7kq2m9x4tnab.{n}", KEY, "observed") for n in sorted(numbers))


@pytest.mark.parametrize(
    ("versions", "elsewhere", "content", "added"),
    [
        ((box(1), box(1), None), (), box(1), []),
        ((box(1), None, box(1)), (), box(1), []),
        ((None, box(1), box(1)), (), box(1), []),
        ((None, box(1), box(2)), (), box(1), [box(2)]),
        ((box(1), None, None), (1,), None, []),
        ((box(1, 2), None, None), (1,), box(1, 2), []),
        ((box(1, 2, 3), box(1), box(2)), (), box(1), [box(2), box(1, 2, 3)]),
        ((box(1, 2, 3), box(1), box(2)), (3,), box(1), [box(2)]),
    ],
    ids=[
        "deleted there",
        "deleted here",
        "same",
        "two",
        "renamed twice",
        "lost by both",
        "both shrank",
        "both shrank, elsewhere",
    ],
)
def test_no_version_of_a_container_goes_unless_others_hold_it(
    versions: tuple[bytes | None, ...], elsewhere: tuple[int, ...], content: bytes | None, added: list[bytes]
) -> None:
    kept = settle_containers({NAME: Versions(*versions)}, [f"20260101-7kq2m9x4tnab.{n}" for n in elsewhere])
    assert kept.contents == {NAME: content}
    assert kept.added == tuple((NAME, one) for one in added)


def test_marker_lines_that_git_wrote_into_a_container_are_left_out() -> None:
    marked = b"<<<<<<< HEAD:a\n" + box(1) + b"=======\n" + box(2) + b">>>>>>> b:b\n"
    assert merge.without_markers(marked) == box(1) + box(2)


SETS = st.one_of(st.none(), st.sets(st.integers(0, 6)))


@given(
    st.dictionaries(st.sampled_from(["a", "b", "c"]), st.tuples(SETS, SETS, SETS), max_size=3),
    st.sets(st.integers(0, 6)),
)
def test_every_id_of_every_version_is_somewhere(
    boxes: dict[str, tuple[set[int] | None, ...]], elsewhere: set[int]
) -> None:
    conflicts = {
        f"{LEDGER}{name}.jsonl": Versions(*(None if one is None else box(*one) for one in three))
        for name, three in boxes.items()
    }
    there = {f"20260101-7kq2m9x4tnab.{n}" for n in elsewhere}
    kept = settle_containers(conflicts, there)
    held = set(there)
    for content in [*kept.contents.values(), *(content for _, content in kept.added)]:
        held |= merge.evidence_ids(content or b"")
    wanted = {
        one
        for three in conflicts.values()
        for version in three
        if version is not None
        for one in merge.evidence_ids(version)
    }
    assert wanted <= held
    assert kept.contents.keys() == conflicts.keys()


# --- check: behind or wrong -----------------------------------------------------------------------------------------


def counted_finding(
    counted: int, *containers: Sequence[Evidence], observed: Sequence[Evidence] = ()
) -> tuple[str, str] | None:
    files = {f"{LEDGER}20260101-{nr:012d}.jsonl": dump_ledger(one) for nr, one in enumerate(containers)}
    observations = {f"{OBSERVATIONS}20260101-x.jsonl": dump_container(observed)} if observed else {}
    snapshot = Snapshot({PATH: pattern(counted, counted).decode()}, observations, files)
    found = [one for one in audit(Book(snapshot), POLICY, []) if one.rule == "counted"]
    return (found[0].severity, found[0].message) if found else None


def seen(
    *numbers: int, kind: str = "observed", key: str = KEY, day: str = "20260101", **extra: object
) -> list[Evidence]:
    return [Evidence(f"{day}-7kq2m9x4tnab.{n}", key, kind, extra=extra) for n in numbers]


@pytest.mark.parametrize(
    ("counted", "containers", "severity"),
    [
        (6, [seen(1, 2, 3), seen(4, 5, 6)], None),
        (3, [seen(1, 2, 3), seen(4, 5, 6)], "notice"),
        (0, [seen(1, 2, 3), seen(4, 5, 6)], "notice"),
        (4, [seen(1, 2, 3), seen(4, 5, 6)], "error"),
        (7, [seen(1, 2, 3), seen(4, 5, 6)], "error"),
        (4, [seen(1, 2), seen(1, 2, 3, 4), seen(5, 6)], "notice"),
        (5, [seen(1, 2, 3), seen(4, 5), seen(9, kind="denied", day="20260102")], "notice"),
        (5, [seen(1, 2, 3), seen(4, 5), seen(9, kind="retract", key="seq:z", to=seen(1)[0].id)], "notice"),
        (3, [seen(1, 2, 3), seen(4, 5, key="seq:old"), seen(9, kind="alias", key="seq:old", to=KEY)], "notice"),
        (4, [seen(1, 2, 3), seen(4, 5, key="seq:old"), seen(9, kind="alias", key="seq:old", to=KEY)], "error"),
        (11, [seen(n) for n in range(12)], "notice"),
        (5, [seen(n) for n in range(12)], "notice"),
        (13, [seen(n) for n in range(12)], "error"),
        (2, [seen(1, 2, 3), seen(4, 5, 6, key="seq:b")], "error"),
    ],
    ids=["up to date", "one batch behind", "two behind", "no subset", "too much", "overlapping", "a denial came", "a retraction came",
         "an alias came", "an alias, wrong", "12 without one", "12, a prefix", "12, too much", "another key's"],
)  # fmt: skip
def test_counted_is_behind_when_a_part_of_the_containers_gives_it(
    counted: int, containers: list[list[Evidence]], severity: str | None
) -> None:
    found = counted_finding(counted, *containers)
    assert (found[0] if found else None) == severity
    if severity == "notice":
        assert found is not None
        assert "behind by" in found[1]
        assert "another branch's batch was merged; `instinct consolidate` brings it up to date" in found[1]


def test_recorded_evidence_is_a_container_too() -> None:
    assert counted_finding(1, seen(1), observed=seen(2, 3, 4)) is None
    assert counted_finding(4, seen(1), observed=seen(2, 3, 4)) is None
    found = counted_finding(3, seen(1), observed=seen(2, 3, 4))
    assert found is not None
    assert found[0] == "notice"
    message = "counted is 2, the evidence gives 4 (`instinct consolidate` brings it up to date)"
    assert counted_finding(2, seen(1), observed=seen(2, 3, 4)) == ("error", message)


@given(st.lists(st.sets(st.integers(0, 8), min_size=1), min_size=1, max_size=6), st.data())
def test_whatever_part_was_counted_is_never_an_error(boxes: list[set[int]], data: st.DataObject) -> None:
    part = data.draw(st.sets(st.integers(0, len(boxes) - 1)))
    counted = len({n for nr in part for n in boxes[nr]})
    found = counted_finding(counted, *(seen(*sorted(one)) for one in boxes))
    assert found is None or found[0] == "notice"

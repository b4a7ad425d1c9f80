"""The weekly report: numbers of a week as folds over what was in force by then. The limits are DESIGN section 5's."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from instinct_git.core.breakers import Trip
from instinct_git.core.candidates import fold_candidate
from instinct_git.core.dimensions import NUMBERS
from instinct_git.core.model import Evidence
from instinct_git.core.pattern import PatternFile
from instinct_git.core.weekly import SHOWN, Week, Weekly, in_force, parse_week, report, week_of
from instinct_git.errors import InstinctError

MONDAY = date(2026, 3, 23)
W13 = Week(2026, 13)
SUNDAY = W13.last
_numbers = iter(range(1, 10_000_000))


def one(kind: str, key: str = "note:a", /, day: date = MONDAY, ctx: str = "", by: str = "", **extra: Any) -> Evidence:
    return Evidence(f"{day:%Y%m%d}-7kq2m9x4tnab.{next(_numbers)}", key, kind, ctx=ctx, by=by, extra=extra)


def entry(key: str = "note:a", day: date = MONDAY, score: str = "0.40", **extra: Any) -> Evidence:
    return one("candidate", key, day, x="explicit", score=score, why="w", **extra)


def idle(kind: str, last_use: date, key: str = "note:a") -> Evidence:
    booked = {"idle": "idle", "expired": "expired"}[kind]
    return Evidence(f"{kind}:{key}:{last_use.isoformat()}", key, booked)


def keys(found: Weekly, section: str) -> list[str]:
    return [row.pattern for row in found.sections[section]]


# --- weeks ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("2026-W13", "2026-03-23", "2026-03-29"),
        ("2026w13", "2026-03-23", "2026-03-29"),
        ("2026-W1", "2025-12-29", "2026-01-04"),
        ("2020-W53", "2020-12-28", "2021-01-03"),
    ],
)
def test_a_week_is_an_iso_week(text: str, first: str, last: str) -> None:
    week = parse_week(text, date(2026, 12, 1))
    assert (week.first.isoformat(), week.last.isoformat()) == (first, last)


def test_without_a_week_it_is_the_one_of_today_from_monday_to_sunday() -> None:
    assert {str(parse_week("", MONDAY + timedelta(n))) for n in range(7)} == {"2026-W13"}
    assert str(parse_week("", MONDAY - timedelta(1))) == "2026-W12"
    assert week_of(date(2027, 1, 1)) == Week(2026, 53)


@pytest.mark.parametrize(
    "text",
    ["2026-W54", "2026-W53x", "2026-13", "W13", "2021-W53", "0000-W01", "2026-W00", "9999-W52", "２０２６-W13", "x"],
)
def test_what_is_no_week_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InstinctError) as refused:
        parse_week(text, MONDAY)
    assert "2026-W13" in refused.value.hint


def test_a_week_that_has_not_begun_is_refused_and_one_that_has_just_begun_is_not() -> None:
    with pytest.raises(InstinctError, match="has not begun"):
        parse_week("2026-W13", MONDAY - timedelta(1))
    assert parse_week("2026-W13", MONDAY) == W13


# --- what is in force -----------------------------------------------------------------------------------------------


def test_idle_and_expired_count_from_the_day_on_which_they_can_be_booked() -> None:
    assert (NUMBERS.idle_days, NUMBERS.expire_days) == (30, 60)
    for kind, days in (("idle", 30), ("expired", 60)):
        booked = idle(kind, MONDAY)
        assert in_force([booked], MONDAY + timedelta(days - 1)) == []
        assert in_force([booked], MONDAY + timedelta(days)) == [booked]


def test_a_day_counts_to_its_end() -> None:
    seen = one("succeeded")
    assert in_force([seen], MONDAY - timedelta(1)) == []
    assert in_force([seen], MONDAY) == [seen]


# --- sections -------------------------------------------------------------------------------------------------------


def test_the_pool_is_what_waits_for_reuse_or_a_person() -> None:
    ends = [("approved", "note:b"), ("rejected", "note:c")]
    evidence = [entry(), entry("note:b"), entry("note:c"), entry("note:d", MONDAY - timedelta(70)), entry("note:e")]
    evidence += [one(kind, key) for kind, key in ends]
    evidence += [
        idle("expired", MONDAY - timedelta(70), "note:d"),
        one("proposed", "note:e"),
        one("observed", "note:f"),
    ]
    found = report(evidence, W13, SUNDAY)
    assert found.size == 2
    assert found.by_status == {"collecting": 1, "ready": 0, "nominated": 0, "proposed": 1}
    assert found.by_kind == {"skill": 0, "procedure": 0, "rule": 0, "memory": 2}


def test_reuse_counts_this_weeks_successes_and_failures_by_candidate_whatever_became_of_it() -> None:
    evidence = [
        entry(day=MONDAY - timedelta(9)),
        one("succeeded", day=MONDAY - timedelta(1)),
        one("succeeded"),
        one("failed"),
    ]
    evidence += [one("succeeded", day=SUNDAY), one("succeeded", day=SUNDAY + timedelta(1)), one("approved", day=MONDAY)]
    evidence += [one("succeeded", "note:no-candidate"), one("confirmed")]
    found = report(evidence, W13, SUNDAY + timedelta(20))
    (row,) = found.sections["reused"]
    assert (row.pattern, row.successes, row.failures, found.worked, found.failed) == ("note:a", 2, 1, 2, 1)


def test_what_was_retracted_was_never_reused() -> None:
    wrong = one("succeeded")
    evidence = [entry(), wrong, one("retract", day=MONDAY, to=wrong.id)]
    assert keys(report(evidence, W13, SUNDAY), "reused") == []


@pytest.mark.parametrize(("uses", "awaiting"), [(4, False), (5, True)])
def test_awaiting_review_are_the_nominated_from_080(uses: int, awaiting: bool) -> None:
    assert NUMBERS.nominated == Decimal("0.80")
    evidence = [entry(), *(one("succeeded") for _ in range(uses))]
    assert keys(report(evidence, W13, SUNDAY), "awaiting") == (["note:a"] if awaiting else [])


def test_awaiting_review_are_the_proposed_and_those_held_for_a_person_too() -> None:
    held = [entry("note:push --no-verify"), *(one("succeeded", "note:push --no-verify") for _ in range(5))]
    found = report([entry(), one("proposed", n=0), *held], W13, SUNDAY)
    assert keys(found, "awaiting") == ["note:push --no-verify", "note:a"]
    assert found.sections["awaiting"][0].why == "--no-verify"


@pytest.mark.parametrize(("rest", "told"), [(52, False), (53, True), (59, True), (60, True), (61, True)])
def test_expiring_within_seven_days_counts_from_the_last_use(rest: int, told: bool) -> None:
    assert (NUMBERS.soon_days, NUMBERS.expire_days) == (7, 60)
    found = report([entry(day=SUNDAY - timedelta(rest))], W13, SUNDAY)
    assert keys(found, "expiring") == (["note:a"] if told else [])
    if told:
        assert found.sections["expiring"][0].on == (SUNDAY + timedelta(60 - rest)).isoformat()


@pytest.mark.parametrize("answer", ["proposed", "approved", "rejected"])
def test_what_was_proposed_or_answered_does_not_expire(answer: str) -> None:
    evidence = [entry(day=SUNDAY - timedelta(58)), one(answer, day=SUNDAY - timedelta(58))]
    assert keys(report(evidence, W13, SUNDAY), "expiring") == []


@pytest.mark.parametrize(("before", "told"), [(61, False), (60, True), (54, True), (53, False)])
def test_cleaned_is_what_expired_in_this_week(before: int, told: bool) -> None:
    """60 days before the Monday to 60 days before the Sunday; the walk stands on the Sunday, two weeks later too."""
    last_use = MONDAY - timedelta(before)
    evidence = [entry(day=last_use), idle("expired", last_use)]
    for today in (SUNDAY, SUNDAY + timedelta(14)):
        assert keys(report(evidence, W13, today), "expired") == (["note:a"] if told else [])


def test_cleaned_is_what_faded_in_this_week_candidate_or_not() -> None:
    def faded(key: str, week: str) -> Evidence:
        return Evidence(f"faded:{key}:{week}", key, "faded")

    evidence = [faded("note:a", "2026-W12"), faded("note:b", "2026-W13"), faded("note:c", "2026-W14")]
    gone = faded("note:d", "2026-W13")
    evidence += [
        gone,
        one("retract", "note:d", to=gone.id),
        one("observed", "note:b", MONDAY - timedelta(200), title="Bee"),
    ]
    found = report(evidence, W13, SUNDAY + timedelta(30))
    assert [(row.pattern, row.title) for row in found.sections["faded"]] == [("note:b", "Bee")]


def test_promoted_and_rejected_are_this_weeks_answers_with_who_and_why() -> None:
    early = [entry(f"note:{name}", MONDAY - timedelta(20)) for name in "abc"]
    answers = [
        one("approved", "note:a", by="human:ada", kind="skill"),
        one("rejected", "note:b", SUNDAY, why="too narrow"),
    ]
    answers.append(one("rejected", "note:c", MONDAY - timedelta(1)))
    found = report([*early, *answers], W13, SUNDAY)
    assert [(row.pattern, row.kind, row.by) for row in found.sections["promoted"]] == [("note:a", "skill", "human:ada")]
    assert [(row.pattern, row.on, row.why) for row in found.sections["rejected"]] == [
        ("note:b", "2026-03-29", "too narrow")
    ]


def test_rising_is_the_gain_of_the_week_and_the_first_score_is_where_a_new_one_starts() -> None:
    old = [
        entry(day=MONDAY - timedelta(9)),
        one("succeeded", day=MONDAY - timedelta(8)),
        one("succeeded"),
        one("confirmed"),
    ]
    new = [entry("note:new", MONDAY, "0.45"), one("succeeded", "note:new")]
    still = [entry("note:still", MONDAY - timedelta(9)), one("failed", "note:still")]
    found = report([*old, *new, *still], W13, SUNDAY)
    rows = [(row.pattern, f"{row.before:.2f}", f"{row.score:.2f}") for row in found.sections["rising"]]
    assert rows == [("note:a", "0.48", "0.63"), ("note:new", "0.45", "0.53")]


def test_the_five_that_gained_most_are_told() -> None:
    assert NUMBERS.rising == 5
    evidence = [entry(f"note:{n}") for n in range(7)]
    evidence += [one("succeeded", f"note:{n}") for n in range(7) for _ in range(n)]
    assert keys(report(evidence, W13, SUNDAY), "rising") == [f"note:{n}" for n in (6, 5, 4, 3, 2)]


def test_held_candidates_of_the_week_are_told_once() -> None:
    held = [("2026-03-22", "note:x", "daily"), ("2026-03-23", "seq:a->b", "daily"), ("2026-03-23", "seq:a->b", "daily")]
    found = report([], W13, SUNDAY, held=held)
    assert [(row.pattern, row.title, row.on, row.why) for row in found.sections["held"]] == [
        ("seq:a->b", "a, then b", "2026-03-23", "daily")
    ]


def test_titles_come_from_the_file_then_the_evidence_then_the_key() -> None:
    evidence = [entry("note:a", title="Evidence"), entry("note:b", title="Evidence"), entry("note:c")]
    file = PatternFile("", "", "note:a", "note", 1, 1, "raw", title="File")
    titles = {
        row.pattern: row.title for row in report(evidence, W13, SUNDAY, files={"note:a": file}).sections["entered"]
    }
    assert titles == {"note:a": "File", "note:b": "Evidence", "note:c": "c"}


# --- as a whole -----------------------------------------------------------------------------------------------------


def test_an_empty_memory_has_an_empty_report() -> None:
    found = report([], W13, MONDAY)
    assert (found.size, found.worked, found.failed, found.current, found.day) == (0, 0, 0, True, MONDAY)
    assert all(found.sections[name] == () for name in SHOWN)


def test_a_past_week_is_told_as_it_was_on_its_sunday() -> None:
    evidence = [entry(), one("succeeded")]
    then = report(evidence, W13, SUNDAY)
    later = [
        one("succeeded", day=SUNDAY + timedelta(1)),
        one("rejected", day=SUNDAY + timedelta(2)),
        entry("note:b", SUNDAY + timedelta(1)),
    ]
    now = report([*evidence, *later], W13, SUNDAY + timedelta(9))
    assert now == then._replace(current=False)
    assert then.current


def test_the_json_form_has_every_section_and_numbers_as_numbers() -> None:
    trip = Trip("daily", 5, 6, "2026-03-30", "six", keys=("note:a",))
    data = report([entry(), one("succeeded")], W13, SUNDAY, trips=[trip]).as_json()
    assert set(SHOWN) < set(data)
    assert (data["week"], data["from"], data["to"], data["pool"]["size"]) == ("2026-W13", "2026-03-23", "2026-03-29", 1)
    assert data["rising"] == [{"pattern": "note:a", "title": "a", "kind": "memory", "before": 0.4, "score": 0.48}]
    assert data["breakers"][0]["until"] == "2026-03-30"


KINDS = (
    "candidate",
    "succeeded",
    "failed",
    "confirmed",
    "proposed",
    "approved",
    "rejected",
    "idle",
    "expired",
    "observed",
)


@given(
    st.lists(st.tuples(st.sampled_from(KINDS), st.sampled_from("abcd"), st.integers(0, 120)), max_size=40), st.randoms()
)
def test_a_report_is_a_function_of_the_set_and_agrees_with_the_fold(
    made: list[tuple[str, str, int]], shuffle: Any
) -> None:
    evidence = []
    for kind, name, ago in made:
        day, key = SUNDAY - timedelta(ago), f"note:{name}"
        evidence.append(
            idle(kind, day, key)
            if kind in ("idle", "expired")
            else entry(key, day)
            if kind == "candidate"
            else one(kind, key, day)
        )
    found = report(evidence, W13, SUNDAY)
    shuffle.shuffle(evidence)
    assert report(evidence, W13, SUNDAY) == found
    by_key = {name: [e for e in in_force(evidence, SUNDAY) if e.p == name] for name in {e.p for e in evidence}}
    folded = [fold_candidate(members) for members in by_key.values()]
    assert found.size == sum(one is not None and one.status in found.by_status for one in folded)

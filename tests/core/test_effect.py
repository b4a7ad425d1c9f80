"""What suggesting does: how often shown, followed, with what outcome; what sinks; what rises and fades."""

from __future__ import annotations

from datetime import date, timedelta

from instinct_git.core.effect import SINKS_AFTER, Effect, Shown, Trend, effects, never_followed, tellings, trending
from instinct_git.core.model import Evidence

KEY = "seq:test->fix"
_numbers = iter(range(1, 1_000_000))


def seen(day: str, session: str = "", kind: str = "observed", key: str = KEY) -> Evidence:
    return Evidence(f"{day.replace('-', '')}-7kq2m9x4tnab.{next(_numbers)}", key, kind, by="agent", s=session)


def told(days: int, first: str = "2026-03-01", key: str = KEY) -> list[Shown]:
    start = date.fromisoformat(first)
    return [Shown((start + timedelta(n)).isoformat(), f"{n:012x}", (key,)) for n in range(days)]


def test_a_session_counts_once_on_its_first_day_and_one_without_a_code_each_time() -> None:
    shown = [
        Shown("2026-03-02", "aa", (KEY,)), Shown("2026-03-01", "aa", (KEY, "note:x")), Shown("2026-03-03", "", (KEY,)),
        Shown("2026-03-03", "", (KEY,)),
    ]  # fmt: skip
    found = tellings(shown)
    assert found[KEY].days == {"2026-03-01": 1, "2026-03-03": 2}
    assert (found[KEY].total, found[KEY].since("2026-03-01"), found["note:x"].total) == (3, 2, 1)


def test_keys_that_an_alias_joined_are_counted_together() -> None:
    found = tellings([Shown("2026-03-01", "aa", ("old", "new"))], {"old": "new"})
    assert {key: one.total for key, one in found.items()} == {"new": 1}


def test_what_was_shown_often_since_its_last_use_sinks_and_one_use_lifts_it() -> None:
    shown = tellings(told(SINKS_AFTER))
    assert never_followed(shown, {}) == {KEY}
    assert never_followed(shown, {KEY: "2026-02-28"}) == {KEY}
    assert never_followed(shown, {KEY: "2026-03-01"}) == set()
    assert never_followed(tellings(told(SINKS_AFTER - 1)), {}) == set()


def test_effect_tells_sessions_that_followed_and_the_outcome_since_it_was_first_shown() -> None:
    shown = tellings([Shown("2026-03-02", "aa", (KEY,)), Shown("2026-03-02", "bb", (KEY,))])
    evidence = [
        seen("2026-03-01", "aa", "failed"), seen("2026-03-02", "aa"), seen("2026-03-02", "aa"),
        seen("2026-03-03", "cc", "succeeded"), seen("2026-03-04", "bb", "failed"), seen("2026-03-04", "", "confirmed"),
    ]  # fmt: skip
    (found,) = effects(shown, {KEY: evidence}, {KEY: "2026-03-04"})
    assert found == Effect(KEY, 2, 1, "2026-03-02", "2026-03-04", 1, 1, 1, 0, False)


def test_the_most_shown_comes_first_and_what_never_had_evidence_is_told_too() -> None:
    found = effects(tellings([*told(1, key="note:b"), *told(12, key="note:a")]), {}, {})
    assert [(one.pattern, one.shown, one.last_use, one.sinks) for one in found] == [
        ("note:a", 12, "", True), ("note:b", 1, "", False),
    ]  # fmt: skip


def test_trends_compare_the_sessions_of_two_stretches() -> None:
    today = date(2026, 3, 29)
    evidence = {
        "rises": [seen("2026-03-02", "a"), seen("2026-03-29", "b"), seen("2026-03-29", "b"), seen("2026-02-20", "c")],
        "fades": [seen("2026-03-01", "a"), seen("2026-02-28", "b"), seen("2026-03-10", "c", "confirmed")],
        "same": [seen("2026-02-28", "a"), seen("2026-03-28", "a")],
        "old": [seen("2026-02-01", "a"), seen("2026-03-30", "a")],
        "days": [seen("2026-03-28"), seen("2026-03-28"), seen("2026-03-27", kind="succeeded")],
    }
    found = trending(evidence, today)
    assert found.rises == (Trend("days", 2, 0), Trend("rises", 2, 1))
    assert found.fades == (Trend("fades", 0, 2),)
    assert found.rises[0].by == 2 and found.days == 28

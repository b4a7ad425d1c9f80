"""Tools that are used together are told as a combo, once, and only where sequences are silent."""

from __future__ import annotations

from instinct_git.core.combos import LEAST, WITHIN, find


def thread(text: str) -> list[tuple[str, int]]:
    return [(name, number) for number, name in enumerate(text.split(), 1)]


def told(*threads: str) -> dict[tuple[str, ...], int]:
    return {one.actions: len(one.occurrences) for one in find(map(thread, threads))}


ROUND = "serve look wait read stop edit edit "


def test_a_server_that_is_started_watched_and_stopped_is_one_combo() -> None:
    assert told(ROUND * LEAST) == {("serve", "wait", "stop"): LEAST}
    (combo,) = find([thread(ROUND * LEAST)])
    assert combo.occurrences[0] == (0, (1, 3, 5))


def test_twice_is_chance() -> None:
    assert told(ROUND * (LEAST - 1)) == {}


def test_occurrences_are_counted_over_all_threads_and_never_across_them() -> None:
    assert told(*[ROUND] * LEAST) == {("serve", "wait", "stop"): LEAST}
    assert told(*["serve wait"] * LEAST, *["stop"] * LEAST) == {}


def test_tools_far_apart_are_not_used_together() -> None:
    assert told(("serve " + "read " * WITHIN + "stop ") * LEAST) == {}


def test_waiting_for_something_slow_is_no_combo() -> None:
    assert told("test wait edit " * 9) == {}


def test_what_a_sequence_tells_is_not_told_again() -> None:
    assert told("test commit push " * 9) == {}


def test_what_every_task_is_full_of_is_no_combo() -> None:
    assert told("edit read search look todo run write " * 9) == {}

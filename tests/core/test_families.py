"""Families of sequences: who holds whom, and who speaks."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from instinct_git.core.families import Family, families, groups


def test_a_sequence_is_told_by_the_longest_that_holds_its_steps_in_a_row() -> None:
    keys = ["seq:edit->test", "seq:edit->test->commit", "seq:read->edit->test->commit", "seq:test->edit", "pref:x=1"]
    longest = "seq:read->edit->test->commit"
    assert families(keys) == {"seq:edit->test": longest, "seq:edit->test->commit": longest}


def test_steps_with_others_between_them_or_in_another_order_are_no_part() -> None:
    assert families(["seq:edit->commit", "seq:edit->test->commit", "seq:commit->edit"]) == {}


def test_of_two_holders_of_one_length_the_one_given_first_speaks() -> None:
    one, other = "seq:a->b->c", "seq:z->a->b"
    assert families([one, other, "seq:a->b"]) == {"seq:a->b": one}
    assert families([other, one, "seq:a->b"]) == {"seq:a->b": other}


def test_the_longest_one_that_has_proven_itself_speaks_for_a_family() -> None:
    confidence = {"seq:a->b": 12, "seq:a->b->c": 6, "seq:a->b->c->d": 1, "seq:x->y": 9}
    keys = ("seq:a->b->c->d", "seq:a->b->c", "seq:a->b")
    assert groups(confidence, 5) == [Family(keys, "seq:a->b->c")]
    assert groups(confidence, 10) == [Family(keys, "seq:a->b")]
    assert groups(confidence, 50) == [Family(keys, "")]


@settings(max_examples=40)
@given(st.sets(st.lists(st.sampled_from("abc"), min_size=1, max_size=5).map(lambda steps: "seq:" + "->".join(steps))))
def test_every_shorter_part_is_found_and_nothing_else(keys: set[str]) -> None:
    found = families(sorted(keys))
    for key in keys:
        holders = [one for one in keys if _within(key, one)]
        assert (key in found) == bool(holders)
        if holders:
            assert found[key] in holders and len(found[key]) == max(map(len, holders))


def _within(part: str, whole: str) -> bool:
    a, b = part[4:].split("->"), whole[4:].split("->")
    return len(a) < len(b) and any(b[i : i + len(a)] == a for i in range(len(b)))

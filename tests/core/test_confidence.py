"""The fold of law 5 against a second reading of the design, over random sets in random orders."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from instinct_git.core.confidence import fold, fold_one, group, level_of, representatives
from instinct_git.core.evidence import EvidenceSet, dump_container, dump_ledger, parse_container
from instinct_git.core.model import Evidence, Policy
from tests import reference

KEYS = ("seq:a", "seq:b", "fix:c", "d")
NUMBER_KINDS = ("observed", "succeeded", "confirmed", "denied", "remembered", "adjusted", "failed", "candidate")
POLICY = Policy()


def name(day: int, n: int) -> str:
    return f"202603{day:02d}-7kq2m9x4tnab.{n}"


def one(
    nr: int, kind: str = "observed", key: str = "seq:a", day: int = 1, by: str = "", s: str = "", **extra: Any
) -> Evidence:
    return Evidence(name(day, nr), key, kind, by=by, s=s, extra=extra)


def total(*evidence: Evidence, policy: Policy = POLICY, key: str = "seq:a") -> int:
    return fold(evidence, policy)[key].total


def random_set(dice: random.Random) -> list[Evidence]:
    """Some evidence of every kind over a few keys, days, sources and sessions."""
    keys, made = dice.sample(KEYS, dice.randint(1, 4)), []
    for n in range(dice.randint(1, 30)):
        kind, key, day = dice.choice(NUMBER_KINDS), dice.choice(keys), dice.randint(1, 28)
        extra = {"n": dice.randint(-6, 6)} if kind == "adjusted" else {}
        by, session = dice.choice(("", "claude-code", "cursor")), dice.choice(("", "", "0a", "0b"))
        made.append(Evidence(name(day, n), key, kind, by=by, s=session, extra=extra))
    for key in keys:
        for week in dice.sample(range(9, 14), dice.randint(0, 3)):
            made.append(Evidence(f"decay:{key}:2026-W{week:02d}", key, "decayed"))
        if dice.random() < 0.2:
            made.append(Evidence(f"faded:{key}:2026-W{dice.randint(9, 13):02d}", key, "faded"))
    for n in range(100, 100 + dice.randint(0, 3)):
        made.append(one(n, "retract", dice.choice(keys), dice.randint(1, 28), to=dice.choice(made).id))
    for n in range(200, 200 + dice.choice((0, 0, 1, 2, 3))):
        made.append(one(n, "alias", dice.choice(KEYS), dice.randint(1, 28), to=dice.choice(KEYS)))
    return made


def as_record(evidence: Evidence) -> dict[str, Any]:
    plain = {"id": evidence.id, "p": evidence.p, "k": evidence.k}
    return {**plain, "by": evidence.by, "s": evidence.s, "ctx": evidence.ctx, **evidence.extra}


def numbers(evidence: list[Evidence], policy: Policy = POLICY) -> dict[str, reference.Sum]:
    tallies = fold(list(EvidenceSet(evidence)), policy)
    return {key: reference.Sum(t.total, t.first_seen, t.last_seen, t.sources) for key, t in tallies.items()}


@given(st.integers(0, 2**32), st.randoms())
@settings(max_examples=300)
def test_the_same_set_gives_the_same_numbers_as_the_design_whatever_the_order(seed: int, shuffle: Any) -> None:
    made = random_set(random.Random(seed))
    expected = reference.sums(map(as_record, made))
    assert numbers(made) == expected
    shuffle.shuffle(made)
    assert numbers(made) == expected


def test_three_thousand_seeded_sets_agree_with_the_design_in_every_order() -> None:
    dice = random.Random(20260301)
    for _ in range(3000):
        made = random_set(dice)
        expected = reference.sums(map(as_record, made))
        dice.shuffle(made)
        assert numbers(made + made[: len(made) // 2]) == expected, made


def test_containers_cut_doubled_and_boxed_in_any_way_change_no_number() -> None:
    dice = random.Random(7)
    for _ in range(200):
        made = random_set(dice)
        files = []
        for _ in range(dice.randint(1, 6)):
            part = dice.sample(made, dice.randint(0, len(made)))
            files.append(dice.choice((dump_container, dump_ledger))(part))
        files += [dump_ledger(made), *files]
        dice.shuffle(files)
        found = [each for data in files for each in parse_container(data)[0]]
        assert numbers(found) == reference.sums(map(as_record, made))


def test_other_policies_give_other_numbers_from_the_same_evidence() -> None:
    dice = random.Random(11)
    for _ in range(500):
        made = random_set(dice)
        values = {kind: dice.randint(-3, 4) for kind in reference.DELTA}
        cap = dice.randint(0, 4)
        policy = Policy(**values, session_cap=cap)
        assert numbers(made, policy) == reference.sums(map(as_record, made), values, cap)


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        (["observed"] * 5, 5), (["denied", "observed"], 1), (["observed", "denied", "observed"], 1),
        (["observed", "observed", "denied", "denied", "succeeded"], 1), (["failed", "observed"], 1),
        (["confirmed", "remembered", "succeeded"], 3), (["candidate", "proposed", "rejected", "expired"], 0),
    ],
)  # fmt: skip
def test_every_step_is_floored_at_zero(kinds: list[str], expected: int) -> None:
    assert total(*(one(n, kind) for n, kind in enumerate(kinds))) == expected


def test_an_adjustment_adds_its_number_and_is_floored_too() -> None:
    assert total(one(1), one(2, "adjusted", n=4)) == 5
    assert total(one(1), one(2, "adjusted", n=-40), one(3)) == 1


def test_observed_counts_three_times_a_session_and_source_and_always_without_a_session() -> None:
    assert total(*(one(n, by="cursor", s="0a") for n in range(9))) == 3
    assert total(*(one(n, by="cursor", s=f"0{n % 2}") for n in range(9))) == 6
    assert total(*(one(n, by=f"agent-{n % 2}", s="0a") for n in range(9))) == 6
    assert total(*(one(n, by="cursor") for n in range(9))) == 9
    assert total(*(one(n, "succeeded", by="cursor", s="0a") for n in range(9))) == 9


def test_a_retracted_observation_makes_room_under_the_cap() -> None:
    five = [one(n, by="cursor", s="0a") for n in range(5)]
    assert total(*five, one(9, "retract", to=five[0].id)) == 3
    three = [*five[:3], one(9, "retract", to=five[0].id)]
    assert total(*three) == 2
    assert total(*three, five[4]) == 3


def test_a_retraction_counts_before_and_without_what_it_takes_out() -> None:
    assert total(one(9, "retract", key="x", to=name(1, 1)), one(1), one(2)) == 1
    assert fold([one(9, "retract", to=name(1, 1))], POLICY) == {}


def test_a_denial_is_placed_by_its_day_not_by_when_it_arrived() -> None:
    denied = one(5, "denied", day=2)
    early, late = [one(n, day=1) for n in range(2)], [one(n, day=3) for n in range(2)]
    assert total(*early, denied) == 0
    assert total(denied, *late) == 2


def test_decay_takes_one_and_evidence_of_the_same_day_comes_first() -> None:
    decay = Evidence("decay:seq:a:2026-W10", "seq:a", "decayed")  # Monday 2 March
    assert total(one(1, day=1), one(2, day=2), decay) == 1
    assert total(one(1, day=2), decay, one(2, day=3)) == 1
    assert total(decay, one(1, day=3)) == 1


def test_only_uses_move_the_days_and_every_agent_is_named() -> None:
    made = [one(1, "remembered", day=1, by="a"), one(2, day=4, by="b"), one(3, "confirmed", day=6)]
    made.append(one(4, "failed", day=9, by="c"))
    tally = fold(made, POLICY)["seq:a"]
    assert (tally.first_seen, tally.last_seen, tally.sources) == ("2026-03-04", "2026-03-06", ("a", "b", "c"))


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([("a", "b")], {"a": "b"}), ([("a", "b"), ("b", "c")], {"a": "c", "b": "c"}), ([("a", "a")], {}),
        ([("b", "a"), ("a", "b")], {"a": "a", "b": "a"}),
        ([("c", "b"), ("b", "d"), ("d", "c"), ("z", "d")], {"b": "b", "c": "b", "d": "b", "z": "b"}),
        ([("a", "z"), ("a", "m")], {"a": "m"}), ([("y", "b"), ("b", "a"), ("a", "b")], {"y": "a", "a": "a", "b": "a"}),
    ],
)  # fmt: skip
def test_aliases_form_chains_and_the_smallest_key_represents_a_cycle(
    pairs: list[tuple[str, str]], expected: dict[str, str]
) -> None:
    aliases = [one(n, "alias", key=old, to=new) for n, (old, new) in enumerate(pairs)]
    for _ in range(2):
        assert representatives(aliases) == expected
        aliases.reverse()


def test_an_alias_joins_the_evidence_of_both_keys_under_one_session_cap() -> None:
    made = [one(n, key=KEYS[n % 2], by="x", s="0a") for n in range(6)]
    assert {key: tally.total for key, tally in fold(made, POLICY).items()} == {"seq:a": 3, "seq:b": 3}
    assert total(*made, one(9, "alias", key="seq:b", to="seq:a")) == 3


def test_a_retracted_alias_joins_nothing() -> None:
    alias = one(9, "alias", key="seq:b", to="seq:a")
    assert set(group([one(1, key="seq:b"), alias, one(10, "retract", to=alias.id)])) == {"seq:b"}


def test_words_and_category_come_from_the_first_evidence_that_gives_them_and_nonsense_is_passed_over() -> None:
    made = [one(1, key="d", cat="nonsense", title=None), one(2, key="d", cat="note", title="T", meta={"a": 1}),
            one(3, key="d", cat="combo", title="U", desc="D", meta={"a": 2, "b": 3})]  # fmt: skip
    tally = fold(made, POLICY)["d"]
    assert (tally.category, tally.title, tally.description, tally.metadata) == ("note", "T", "D", {"a": 1, "b": 3})


def test_the_steps_end_at_the_total_and_name_what_the_cap_held_back() -> None:
    steps = fold_one([one(n, s="0a") for n in range(5)], POLICY, steps=True).steps
    assert [(step.delta, step.total, step.capped) for step in steps] == [
        (1, 1, False), (1, 2, False), (1, 3, False), (0, 3, True), (0, 3, True),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("confidence", "level"), [(-3, "raw"), (0, "raw"), (4, "raw"), (5, "mature"), (9, "mature"), (10, "rule")]
)
def test_levels_at_five_and_ten(confidence: int, level: str) -> None:
    assert POLICY.level(confidence) == level


# --- one session alone ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("evidence", "offset", "level"),
    [
        ([one(1, s="1"), one(2, "succeeded", s="1")], 0, "raw"),
        ([one(1, s="1"), one(2, s="2")], 0, "mature"),
        ([one(1, s="1", by="codex"), one(2, s="1", by="cursor")], 0, "mature"),
        ([one(1, s="1"), one(2, "succeeded", s="2")], 0, "mature"),
        ([one(1, s="1"), one(2)], 0, "mature"),
        ([one(1), one(2)], 0, "mature"),
        ([one(1, s="1"), one(2, "confirmed", s="1")], 0, "mature"),
        ([one(1, s="1"), one(2, "remembered", s="1")], 0, "mature"),
        ([one(1, s="1"), one(2, "adjusted", n=4)], 0, "mature"),
        ([one(1, s="1"), one(2, "denied", s="2"), one(3, "failed", s="3"), one(4, "candidate", s="4")], 0, "raw"),
        ([one(1, s="1")], 1, "mature"),
        ([one(1, s="1")], -1, "mature"),
        ([], 0, "mature"),
    ],
)
def test_one_session_alone_makes_nothing_mature(evidence: list[Evidence], offset: int, level: str) -> None:
    assert level_of(5, offset, evidence, POLICY) == level
    assert level_of(4, offset, evidence, POLICY) == "raw"

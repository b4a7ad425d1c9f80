"""The order of proposals and answers, and the rules behind `review`: pure, and the same for every clone."""

from __future__ import annotations

from itertools import permutations

import pytest

from instinct_git.core import answers, candidates
from instinct_git.core.answers import Turn
from instinct_git.core.consolidate import UNKNOWN
from instinct_git.core.evidence import dump_container, dump_ledger, parse_container
from instinct_git.core.model import Evidence

KEY, SKILL, BRANCH = "seq:test->fix->test", "skills/t/SKILL.md", "instinct/skill/t"
LANDED = Turn("a" * 40, 1_772_000_000, "20260302", True, SKILL)
REVERTED = Turn("b" * 40, 1_772_000_100, "20260302", False, SKILL)
AGAIN = Turn("c" * 40, 1_772_000_200, "20260302", True, SKILL)


def proposed(n: int, x: int = 0, day: str = "20260302") -> Evidence:
    return Evidence(f"{day}-0000000000p{n}.1", KEY, "proposed", extra={"n": n, "x": x, "to": BRANCH})


def rejected(n: int, day: str = "20260302") -> Evidence:
    return Evidence(f"{day}-0000000000r{n}.1", KEY, "rejected", extra={"n": n, "why": "no"})


def approved(turn: Turn, by: str = UNKNOWN) -> Evidence:
    return answers.approval(KEY, turn.commit, turn.day, by, turn.to, "skill")


def worked(times: int, day: str = "20260302") -> list[Evidence]:
    return [Evidence(f"{day}-0000000000s{i}.1", KEY, "succeeded") for i in range(times)]


BACK = answers.taken_back(KEY, LANDED.commit, REVERTED, "skill")
CLOSED = answers.closing(KEY, BRANCH, "https://x/pull/1", "20260302", UNKNOWN, "skill")
DIRECT = Evidence("20260302-0000000000d1.1", KEY, "approved", by="human:ada", extra={"n": 4, "to": SKILL})


@pytest.mark.parametrize(
    ("given", "last"),
    [
        ([proposed(4), approved(LANDED)], approved(LANDED)),
        ([proposed(4), approved(LANDED), approved(LANDED, "human:ada"), BACK], BACK),
        ([proposed(4), approved(LANDED), BACK, proposed(7, x=1)], proposed(7, x=1)),
        ([proposed(4), approved(LANDED), BACK, proposed(7, x=1), approved(AGAIN)], approved(AGAIN)),
        ([proposed(4), rejected(4), proposed(7, x=1), CLOSED], CLOSED),
        ([proposed(4), CLOSED, proposed(7, x=1)], proposed(7, x=1)),
        ([proposed(4), CLOSED, proposed(7, x=1), rejected(7)], rejected(7)),
        ([proposed(3, day="20260301"), proposed(4), CLOSED], CLOSED),
        ([DIRECT, BACK], BACK),
        ([approved(LANDED)], approved(LANDED)),
    ],
)
def test_the_latest_answer_of_one_day_is_found_in_any_order(given: list[Evidence], last: Evidence) -> None:
    for order in permutations(given):
        assert candidates.answers(order)[-1] == last


def test_what_a_host_told_asks_for_three_successes_beyond_what_the_proposal_knew() -> None:
    members = [*worked(4), proposed(4), CLOSED]
    for more, left in ((0, 3), (2, 1)):
        assert answers.in_force([*members, *worked(4 + more)[4:]]) == (CLOSED, left)
    assert answers.in_force([*members, *worked(7)[4:]]) is None
    assert answers.in_force([*members, proposed(7, x=1), *worked(7)[4:]]) is None


def test_without_any_proposal_known_only_later_days_count() -> None:
    assert answers.in_force([*worked(9), CLOSED]) == (CLOSED, 3)
    assert answers.in_force([*worked(9), CLOSED, *worked(3, "20260303")]) is None


def test_a_known_person_is_booked_once_and_the_unknown_one_only_where_nobody_is_known() -> None:
    nobody = answers.approval_news([], KEY, LANDED, "", "skill")
    assert nobody == approved(LANDED)
    assert answers.approval_news([approved(LANDED)], KEY, LANDED, "", "skill") is None
    assert answers.approval_news([approved(LANDED)], KEY, LANDED, "ada", "skill") == approved(LANDED, "human:ada")
    assert answers.approval_news([approved(LANDED, "human:ada")], KEY, LANDED, "ada", "skill") is None
    assert answers.approval_news([approved(LANDED, "human:ada")], KEY, LANDED, "", "skill") is None
    assert answers.approval_news([approved(LANDED)], KEY, AGAIN, "", "skill") == approved(AGAIN)


def test_what_is_booked_can_be_written_and_read() -> None:
    booked = [approved(LANDED), BACK, CLOSED]
    for data in (dump_container(booked), dump_ledger(booked)):
        found, bad = parse_container(data)
        assert (sorted(one.id for one in found), bad) == (sorted(one.id for one in booked), [])


@pytest.mark.parametrize(
    ("to", "text", "kind"),
    [
        (SKILL, "", "skill"),
        ("memory/procedures/t.md", "", "procedure"),
        ("memory/MEMORY.md", f"# M\n\n## Key Lessons\n\n- test (`{KEY}`)\n", "rule"),
        ("memory/MEMORY.md", f"# M\n\n## Key Lessons\n\n- other\n\n## Decisions\n\n- test (`{KEY}`)\n", "memory"),
        ("memory/MEMORY.md", f"# M\n\n## 关键教训\n\n- test (`{KEY}`)\n", "rule"),
        ("memory/MEMORY.md", f"# M\n\n```\n## Key Lessons\n- (`{KEY}`)\n```\n", ""),
        ("memory/MEMORY.md", "", ""),
        ("docs/x.md", "", ""),
    ],
)
def test_the_kind_of_what_landed_is_where_it_landed(to: str, text: str, kind: str) -> None:
    assert answers.kind_of(KEY, to, text) == kind


@pytest.mark.parametrize(
    ("branch", "kind"),
    [("instinct/skill/x", "skill"), ("instinct/batch/x", ""), ("instinct/other/x", ""), ("main", ""), ("", "")],
)
def test_the_kind_of_a_branch_is_in_its_name(branch: str, kind: str) -> None:
    assert answers.kind_in(branch) == kind

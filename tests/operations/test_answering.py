"""`reject`, what a rejection stops, and approvals that no person gave."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from instinct_git import InstinctError, Memory
from instinct_git.core.breakers import holds
from instinct_git.errors import SecretFound, UnknownPattern
from instinct_git.operations.answering import refuse_rejected
from instinct_git.operations.breaking import state
from instinct_git.operations.observing import Draft, observe
from tests.builders import KEY, Project
from tests.proposals import BRANCH, land, propose, ready, status


def book_of(memory: Memory) -> Any:
    return memory._space.read()[0]


def test_a_rejection_is_evidence_with_its_reason_and_survives_a_batch(project: Project) -> None:
    ready(project)
    done = project.memory().reject(KEY, "too special")
    assert (done.added, done.left, done.kind) == (True, 3, "skill")
    assert status(project) == "rejected"
    project.memory().consolidate()
    assert status(project) == "rejected"
    assert [one.pattern for one in project.memory().candidates()] == []
    assert project.errors() == []
    (evidence,) = (one for one in project.tree_evidence() if one.k == "rejected")
    assert dict(evidence.extra) == {"n": 2, "kind": "skill", "why": "too special"}


def test_a_rejected_key_is_refused_until_it_has_worked_three_more_times(project: Project) -> None:
    ready(project)
    project.memory().reject(KEY, "too special")
    for left in (3, 2, 1):
        with pytest.raises(InstinctError) as refused:
            refuse_rejected(book_of(project.memory()), KEY)
        assert "too special" in refused.value.message
        assert f"{left} more success" in refused.value.hint
        project.memory().feedback(KEY, "succeeded")
    refuse_rejected(book_of(project.memory()), KEY)


def test_a_pattern_that_is_no_candidate_is_refused_after_its_proposal_was_rejected(project: Project) -> None:
    project.observe(times=6)
    project.memory().consolidate()
    propose(project)
    assert project.memory().reject(KEY, "no").kind == "skill"
    with pytest.raises(InstinctError):
        refuse_rejected(book_of(project.memory()), KEY)


def test_the_same_reason_again_adds_nothing_and_another_reason_is_another_answer(project: Project) -> None:
    ready(project)
    project.memory().reject(KEY, "too special")
    assert project.memory().reject(KEY, "too special").added is False
    assert project.memory().reject(KEY, "and wrong").added is True
    assert sum(one.k == "rejected" for one in book_of(project.memory()).everything) == 2


def test_a_reason_after_a_revert_is_added_once(project: Project) -> None:
    ready(project)
    propose(project)
    tip = land(project, "squash")
    project.memory().review()
    project.git("revert", "--no-edit", tip)
    project.memory().review()
    assert [project.memory().reject(KEY, "it misled the agents").added for _ in range(2)] == [True, False]


@pytest.mark.parametrize("reason", ["", "  ", "two\nlines", "\x1b[31mred"])
def test_a_reason_is_one_line_of_text(project: Project, reason: str) -> None:
    ready(project)
    with pytest.raises(InstinctError):
        project.memory().reject(KEY, reason)
    assert status(project) != "rejected"


def test_a_reason_holds_no_secret(project: Project) -> None:
    ready(project)
    with pytest.raises(SecretFound):
        project.memory().reject(KEY, "password: hunter2abc9")
    assert status(project) != "rejected"


def test_what_nobody_proposes_cannot_be_rejected(project: Project) -> None:
    project.observe()
    with pytest.raises(InstinctError) as refused:
        project.memory().reject(KEY, "no")
    assert "retire" in refused.value.hint
    with pytest.raises(UnknownPattern) as unknown:
        project.memory().reject("seq:test->fix->tests", "no")
    assert KEY in unknown.value.hint


def test_what_has_landed_is_not_rejected_but_reverted(project: Project) -> None:
    ready(project)
    propose(project)
    land(project, "squash")
    project.memory().review()
    with pytest.raises(InstinctError) as refused:
        project.memory().reject(KEY, "late")
    assert "revert" in refused.value.hint


def test_the_branch_stays_and_the_command_that_deletes_it_is_named(project: Project) -> None:
    ready(project)
    propose(project)
    done = project.memory().reject(KEY, "no")
    assert (done.branches, done.commands) == ((BRANCH,), (f"git branch -D {BRANCH}",))
    assert project.git("rev-parse", BRANCH)
    (one,) = project.memory().review().proposals
    assert (one.state, one.commands) == ("rejected", (f"git branch -D {BRANCH}",))
    project.git("branch", "-D", BRANCH)
    assert project.memory().review().proposals == ()


def test_what_was_remembered_is_silent_as_soon_as_it_is_rejected(project: Project) -> None:
    project.memory().remember("squash before merging", key="pref:merge=squash")
    assert [one.pattern for one in project.memory().suggest()] == ["pref:merge=squash"]
    project.memory().reject("pref:merge=squash", "we rebase")
    assert project.memory().suggest() == []


def test_an_alias_of_the_key_is_rejected_as_what_it_stands_for(project: Project) -> None:
    ready(project)
    project.observe("seq:testing->fixing")
    done = project.memory().alias("seq:testing->fixing", KEY)
    assert project.memory().reject("seq:testing->fixing", "no").pattern == done.to


def test_three_rejections_in_a_row_pause_their_category_and_kind_for_seven_days(project: Project) -> None:
    memory = project.memory()
    keys = [f"seq:{name}->test" for name in ("alpha", "beta", "gamma")]
    for key in keys:
        memory.remember(f"how to {key}", key=key, kind="skill")
    assert [memory.reject(key, "not ours").paused for key in keys[:2]] == [(), ()]
    (words,) = memory.reject(keys[2], "not ours").paused
    today = datetime.now(UTC).date()
    assert (today + timedelta(days=7)).isoformat() in words
    book = book_of(memory)
    for days, paused in ((0, True), (6, True), (7, False)):
        day = today + timedelta(days=days)
        space = Memory(project.root, now=lambda day=day: datetime(day.year, day.month, day.day, 12, tzinfo=UTC))._space
        trips = state(space, book)
        assert (holds(trips, "sequence", "skill", "implicit") is not None) is paused
        assert holds(trips, "sequence", "rule", "implicit") is None
        assert holds(trips, "fix_pattern", "skill", "implicit") is None
        assert holds(trips, "sequence", "skill", "explicit") is None


def test_three_reasons_against_one_key_pause_too(project: Project) -> None:
    ready(project)
    paused = [project.memory().reject(KEY, reason).paused for reason in ("one", "two", "three")]
    assert [bool(one) for one in paused] == [False, False, True]


def test_the_command_line_rejects_and_needs_a_reason(project: Project, instinct: Any) -> None:
    ready(project)
    assert instinct("reject", KEY).code == 2
    shown = instinct("reject", KEY, "--reason", "too special")
    assert (shown.code, shown.out.splitlines()[0]) == (0, f"rejected {KEY}  skill")
    assert "3 more successes" in shown.out
    told = instinct("reject", KEY, "--reason", "too special", "--json").json
    assert (told["added"], told["left"]) == (False, 3)


# --- check ------------------------------------------------------------------------------------------------------------


def approve(project: Project, by: str) -> str:
    (done,) = observe(
        project.memory()._space, [Draft(KEY, source=by, kind="approved", extra={"to": "skills/x/SKILL.md"})]
    )
    project.memory().consolidate()
    return done.id


@pytest.mark.parametrize(
    "by", ["human:github-actions[bot]", "human:Renovate[BOT]", "human:Claude", "claude-code", "human:app/dependabot",
           "human:project_12_bot_a1b2", "human:house-robot"]
)  # fmt: skip
def test_an_approval_by_an_agents_own_identity_is_an_error(project: Project, by: str) -> None:
    ready(project)
    project.memory().configure("bots", "house-robot, claude")
    identity = approve(project, by)
    found = [one for one in project.memory().check() if one.rule == "approved-by-bot"]
    assert {one.severity for one in found} == {"error"}
    assert by in found[0].message
    assert identity in "".join(one.message for one in found)
    assert any(one.line for one in found), "the line in the pattern file is named"


@pytest.mark.parametrize("by", ["human:ada", "human:unknown", "", "human:abbot", "human:bot"])
def test_an_approval_by_a_person_is_none(project: Project, by: str) -> None:
    ready(project)
    approve(project, by)
    assert project.errors() == []


def test_a_bots_approval_that_was_retracted_and_taken_out_is_no_error_any_more(project: Project) -> None:
    ready(project)
    identity = approve(project, "human:codex")
    assert project.errors()
    project.memory().retract(identity)
    project.memory().consolidate()
    path = ".instinct/patterns/seq/test-fix-test-06d94638.md"
    kept = [line for line in project.read(path).split("\n") if not line.startswith("verified:")]
    project.write(path, "\n".join(kept))
    assert project.errors() == []


def test_without_a_readable_config_the_default_names_are_checked(project: Project) -> None:
    ready(project)
    approve(project, "human:copilot")
    project.write(".instinct/config.yaml", "nonsense: 1\n")
    assert "approved-by-bot" in {one.rule for one in project.memory().check()}

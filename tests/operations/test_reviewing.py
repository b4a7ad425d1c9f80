"""`review`: what became of a proposal, however it landed, and answers that are booked once in any clone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from instinct_git import InstinctError
from instinct_git.core.keys import pattern_path
from instinct_git.errors import NotInGit
from instinct_git.memory import Memory
from tests.builders import KEY, Project, first, git
from tests.conftest import Clock
from tests.proposals import ADDRESS, BRANCH, SKILL, host_says, hosted, land, note_proposed, propose, ready, status

HOWS = ("merge", "squash", "rebase", "cherry-pick")
PULL = "https://github.com/team/app/pull/7"


@pytest.fixture
def asked(project: Project) -> Project:
    """A project whose candidate is proposed on a branch."""
    ready(project)
    propose(project)
    return project


def approvals(project: Project) -> list[tuple[str, str]]:
    book, _ = project.memory()._space.read()
    return sorted((one.id, one.by) for one in book.everything if one.k == "approved")


def rejections(project: Project) -> list[str]:
    book, _ = project.memory()._space.read()
    return [str(one.extra["why"]) for one in book.everything if one.k == "rejected"]


def test_an_open_proposal_says_how_long_it_waits_and_what_answers_it(asked: Project) -> None:
    (one,) = asked.memory().review().proposals
    assert (one.pattern, one.kind, one.state, one.branch, one.conflicts) == (KEY, "skill", "open", BRANCH, False)
    assert one.title == "Run the tests after every fix"
    assert one.commands == (
        f"git merge --no-ff {BRANCH}",
        f"instinct reject '{KEY}' --reason \"...\"",
    )
    assert status(asked) == "proposed"


def test_days_are_counted_from_the_proposal(asked: Project) -> None:
    later = Memory(asked.root, now=lambda: datetime.now(UTC) + timedelta(days=4))
    (one,) = later.review().proposals
    assert one.days == 4


def test_a_default_branch_that_has_moved_against_it_is_said(asked: Project) -> None:
    asked.write(SKILL, "# another skill of that name\n")
    asked.commit("by hand", SKILL)
    (one,) = asked.memory().review().proposals
    assert (one.state, one.conflicts) == ("open", True)
    assert one.commands[0] == f"instinct propose '{KEY}'"


@pytest.mark.parametrize("how", first(2, HOWS))
@pytest.mark.parametrize("deleted", first(1, [True, False]), ids=["branch deleted", "branch kept"])
def test_whatever_button_merges_it_it_is_approved_once_by_somebody_unknown(asked: Project, how: str, deleted: bool) -> None:  # fmt: skip
    tip = land(asked, how)
    if deleted:
        asked.git("branch", "-q", "-D", BRANCH)
    first, second = asked.memory().review(), asked.memory().review()
    assert [one.state for one in first.proposals] == ["merged"]
    assert tip[:12] in first.proposals[0].why
    assert [(one.k, one.p, one.by, one.extra["to"]) for one in first.booked] == [
        ("approved", KEY, "human:unknown", SKILL)
    ]
    assert second.booked == ()
    assert status(asked) == "approved"
    asked.memory().consolidate()
    assert asked.memory().review().booked == ()
    assert "human:unknown" in asked.read(".instinct/patterns/seq/test-fix-test-06d94638.md")
    assert asked.errors() == []


@pytest.mark.parametrize("how", first(2, HOWS))
def test_clones_that_know_different_evidence_book_one_and_the_same_approval(asked: Project, tmp_path: Path, how: str) -> None:  # fmt: skip
    land(asked, how)
    other = asked.clone("other")
    other.memory().feedback(KEY, "succeeded", context="third")
    assert [one.k for one in other.memory().review().booked] == ["approved"]
    assert [one.k for one in asked.memory().review().booked] == ["approved"]
    other.memory().record()
    asked.memory().record()
    asked.git("pull", "-q", "--no-rebase", "--no-edit", str(other.root), "main")
    asked.memory().consolidate()
    assert len(approvals(asked)) == 1
    assert asked.errors() == []
    assert asked.memory().show(KEY).candidate["status"] == "approved"  # type: ignore[index]


def test_a_landing_of_long_ago_is_dated_by_the_commit_that_landed_it(asked: Project) -> None:
    day = {"GIT_COMMITTER_DATE": "2026-01-05T23:30:00-0500", "GIT_AUTHOR_DATE": "2025-01-01T00:00:00Z"}
    asked.git("merge", "-q", "--no-ff", "-m", "m", BRANCH, env=day)
    asked.write("later.txt", "x")
    asked.commit("later", "later.txt")
    (booked,) = asked.memory().review().booked
    assert booked.id.startswith("20260106-")


def test_what_was_merged_at_the_host_counts_when_it_has_been_fetched(asked: Project, tmp_path: Path) -> None:
    hosted(asked, tmp_path, pretend=False)
    merger = Project(tmp_path / "merger")
    git(tmp_path, "clone", "-q", str(tmp_path / "host.git"), str(merger.root))
    merger.git("merge", "-q", "--no-ff", "-m", "m", f"origin/{BRANCH}")
    merger.git("push", "-q", "origin", "main", f":{BRANCH}")
    before = asked.memory().review()
    assert [one.state for one in before.proposals] == ["open"]
    assert any("--fetch" in line for line in before.notices)
    after = asked.memory().review(fetch=True)
    assert [one.state for one in after.proposals] == ["merged"]
    assert after.base == "origin/main"
    assert [one.k for one in after.booked] == ["approved"]


def test_a_remote_that_cannot_be_fetched_is_named_and_the_review_goes_on(asked: Project, tmp_path: Path) -> None:
    asked.git("remote", "add", "origin", str(tmp_path / "nowhere"))
    done = asked.memory().review(fetch=True)
    assert [one.state for one in done.proposals] == ["open"]
    assert any("origin could not be fetched" in line for line in done.notices)


def test_fetching_prunes_no_branch_of_the_users(asked: Project, tmp_path: Path) -> None:
    hosted(asked, tmp_path, pretend=False)
    asked.git("update-ref", "refs/remotes/origin/feature", "main")
    asked.memory().review(fetch=True)
    assert asked.git("rev-parse", "--verify", "origin/feature")


def test_who_merged_it_is_named_by_the_host_and_takes_the_unknown_ones_place(
    asked: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    land(asked, "squash")
    hosted(asked, tmp_path)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert [one.by for one in asked.memory().review().booked] == ["human:unknown"]
    host_says(tmp_path, monkeypatch, {"state": "MERGED", "mergedBy": {"login": "grace"}, "url": PULL})
    done = asked.memory().review()
    assert [one.by for one in done.booked] == ["human:grace"]
    assert (done.proposals[0].by, done.proposals[0].url) == ("human:grace", PULL)
    assert asked.memory().review().booked == ()
    asked.memory().consolidate()
    text = asked.read(".instinct/patterns/seq/test-fix-test-06d94638.md")
    assert "human:grace" in text
    assert "human:unknown" not in text
    assert asked.errors() == []


def test_an_old_pull_request_does_not_tell_who_brought_a_later_landing(
    asked: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    land(asked, "squash")
    hosted(asked, tmp_path)
    old = {"state": "MERGED", "mergedBy": {"login": "grace"}, "url": PULL, "closedAt": "2025-03-01T10:00:00Z"}
    host_says(tmp_path, monkeypatch, old)
    assert [one.by for one in asked.memory().review().booked] == ["human:unknown"]


def test_a_closed_pull_request_is_a_rejection_once(
    asked: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosted(asked, tmp_path)
    host_says(tmp_path, monkeypatch, {"state": "CLOSED", "url": PULL, "mergedBy": None})
    done = asked.memory().review()
    assert [(one.state, one.url) for one in done.proposals] == [("closed", PULL)]
    assert [(one.k, one.by, one.extra["kind"]) for one in done.booked] == [("rejected", "human:unknown", "skill")]
    again = asked.memory().review()
    assert ([one.state for one in again.proposals], again.booked) == (["closed"], ())
    assert status(asked) == "rejected"
    assert rejections(asked) == ["pull request closed"]


def test_two_clones_count_a_closed_pull_request_once(
    asked: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosted(asked, tmp_path)
    other = asked.clone("other")
    other.git("config", "remote.origin.url", ADDRESS)
    other.memory().feedback(KEY, "succeeded")
    closed = {"state": "CLOSED", "url": PULL, "closedAt": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}
    host_says(tmp_path, monkeypatch, closed)
    (mine,), (theirs,) = asked.memory().review().booked, other.memory().review().booked
    assert (mine.id, mine.extra) == (theirs.id, theirs.extra)


def test_a_request_that_was_closed_before_the_newest_proposal_does_not_answer_it(
    asked: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosted(asked, tmp_path)
    host_says(tmp_path, monkeypatch, {"state": "CLOSED", "url": PULL, "closedAt": "2025-03-01T10:00:00Z"})
    done = asked.memory().review()
    assert [one.state for one in done.proposals] == ["open"]
    assert done.booked == ()


def test_closing_the_request_of_what_was_rejected_here_is_the_same_no(
    asked: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosted(asked, tmp_path)
    asked.memory().reject(KEY, "too special")
    host_says(tmp_path, monkeypatch, {"state": "CLOSED", "url": PULL})
    assert asked.memory().review().booked == ()
    assert rejections(asked) == ["too special"]


def test_a_host_that_cannot_tell_is_named_and_nothing_fails(
    asked: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosted(asked, tmp_path)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    done = asked.memory().review()
    assert [one.state for one in done.proposals] == ["open"]
    assert "neither gh nor glab" in "\n".join(done.notices)


def test_a_branch_that_was_merely_deleted_is_gone_and_not_rejected(asked: Project) -> None:
    asked.git("branch", "-q", "-D", BRANCH)
    done = asked.memory().review()
    assert [(one.state, one.branch) for one in done.proposals] == [("gone", BRANCH)]
    assert done.booked == ()
    assert done.proposals[0].commands == (f"instinct propose '{KEY}'", f"instinct reject '{KEY}' --reason \"...\"")
    asked.memory().reject(KEY, "nobody needs it")
    assert asked.memory().review().proposals == ()


@pytest.mark.parametrize("how", first(2, HOWS))
def test_a_revert_takes_the_approval_back_once(asked: Project, how: str) -> None:
    tip = land(asked, how)
    asked.memory().review()
    asked.memory().record()
    asked.git("revert", "--no-edit", *(("-m", "1") if how == "merge" else ()), tip)
    reverted = asked.head()
    done = asked.memory().review()
    assert [one.state for one in done.proposals] == ["reverted"]
    assert rejections(asked) == [f"reverted in {reverted[:12]}"]
    assert asked.memory().review().booked == ()
    assert status(asked) == "rejected"
    asked.memory().consolidate()
    assert asked.memory().show(KEY).candidate["status"] == "rejected"  # type: ignore[index]
    assert asked.errors() == []


def test_what_is_proposed_again_after_a_revert_is_open_and_can_land_again(asked: Project) -> None:
    tip = land(asked, "squash")
    asked.memory().review()
    asked.git("revert", "--no-edit", tip)
    asked.memory().review()
    for _ in range(3):
        asked.memory().feedback(KEY, "succeeded")
    propose(asked)
    assert [one.state for one in asked.memory().review().proposals] == ["open"]
    land(asked, "squash")
    asked.memory().review()
    assert len(approvals(asked)) == 2
    assert status(asked) == "approved"


def test_a_revert_of_a_landing_that_nobody_has_reviewed_is_a_rejection_too(asked: Project) -> None:
    tip = land(asked, "squash")
    asked.git("revert", "--no-edit", tip)
    asked.git("branch", "-q", "-D", BRANCH)
    assert [one.state for one in asked.memory().review().proposals] == ["reverted"]
    assert status(asked) == "rejected"
    assert asked.memory().review().proposals == ()


def test_a_status_that_a_person_took_back_while_the_skill_stays_is_no_revert(asked: Project) -> None:
    land(asked, "merge")
    asked.memory().review()
    path = ".instinct/patterns/seq/test-fix-test-06d94638.md"
    asked.write(path, asked.read(path).replace("status: graduated", "status: active"))
    asked.commit("suggest it all the same", path)
    done = asked.memory().review()
    assert [one.state for one in done.proposals] == ["merged"]
    assert (done.booked, rejections(asked)) == ((), [])


def test_a_merge_without_the_status_line_is_an_approval_and_says_so(asked: Project) -> None:
    asked.git("merge", "-q", "--no-ff", "--no-commit", BRANCH)
    path = ".instinct/patterns/seq/test-fix-test-06d94638.md"
    asked.git("checkout", "-q", "HEAD", "--", path)
    asked.git("commit", "-q", "-m", "the skill alone")
    asked.write("later.txt", "x")
    asked.commit("later", "later.txt")
    done = asked.memory().review()
    assert [one.state for one in done.proposals] == ["merged"]
    assert "does not say graduated" in done.proposals[0].why
    assert [one.k for one in done.booked] == ["approved"]
    assert asked.memory().review().booked == ()


@pytest.mark.parametrize(("section", "kind"), [("Key Lessons", "rule"), ("Facts", "memory"), ("", "")])
def test_the_kind_of_a_line_in_memory_md_is_read_from_its_section(project: Project, section: str, kind: str) -> None:
    ready(project)
    text = (f"# Memory\n\n## {section}\n\n" if section else "") + f"- Test again (`{KEY}`)\n"
    propose(project, branch="instinct/batch/two", to="memory/MEMORY.md", text=text)
    land(project, "squash", "instinct/batch/two")
    (booked,) = project.memory().review().booked
    assert booked.extra.get("kind", "") == kind


def test_a_batch_is_reviewed_key_by_key(project: Project) -> None:
    ready(project)
    ready(project, "note:two")
    branch = "instinct/batch/two"
    propose(project, branch=branch)
    project.git("switch", "-q", branch)
    from instinct_git.core.document import with_field
    from instinct_git.core.keys import pattern_path

    path = pattern_path("note:two")
    said = with_field(with_field(project.read(path), "status", "graduated"), "graduated_to", "skills/two/SKILL.md")
    project.write(path, said)
    project.write("skills/two/SKILL.md", "two")
    project.commit("x\n\nInstinct-Batch: propose\nInstinct-Pattern: note:two\n", ".")
    project.git("switch", "-q", "main")
    assert [(one.pattern, one.state) for one in project.memory().review().proposals] == [
        ("note:two", "open"),
        (KEY, "open"),
    ]
    project.write(SKILL, "# another skill of that name\n")
    project.commit("by hand", SKILL)
    assert {one.commands[0] for one in project.memory().review().proposals} == {f"instinct propose note:two '{KEY}'"}
    project.git("revert", "--no-edit", "HEAD")
    land(project, "squash", branch)
    assert sorted(one.p for one in project.memory().review().booked) == ["note:two", KEY]


def test_other_branches_below_instinct_are_no_proposals(asked: Project) -> None:
    for name in ("instinct/other/x", "instinct/skill/empty", "feature"):
        asked.git("branch", name, "main")
    assert [one.branch for one in asked.memory().review().proposals] == [BRANCH]


def test_a_shallow_clone_books_nothing_that_it_cannot_date(asked: Project, tmp_path: Path) -> None:
    land(asked, "squash")
    shallow = Project(tmp_path / "shallow")
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{asked.root}", str(shallow.root))
    assert shallow.memory().review().booked == ()
    shallow.git("fetch", "-q", "--unshallow")
    (mine,), (theirs,) = shallow.memory().review().booked, asked.memory().review().booked
    assert mine.id == theirs.id


def test_a_proposal_that_another_clone_made_is_seen_on_the_remote(asked: Project, tmp_path: Path) -> None:
    other = asked.clone("other")
    (one,) = other.memory().review().proposals
    assert (one.branch, one.state) == (f"origin/{BRANCH}", "open")
    assert one.commands[0] == f"git merge --no-ff origin/{BRANCH}"


def test_a_review_moves_nothing_of_the_users(asked: Project) -> None:
    land(asked, "merge")
    asked.write("README.md", "edited\n")
    before = (asked.status(), asked.head(), asked.git("for-each-ref"), asked.git("ls-files", "-s"))
    asked.memory().review()
    assert before == (asked.status(), asked.head(), asked.git("for-each-ref"), asked.git("ls-files", "-s"))


def test_without_git_there_is_nothing_to_review(tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    memory = Memory(folder)
    memory.init()
    with pytest.raises(NotInGit):
        memory.review()


def test_a_repository_without_a_commit_says_so(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "empty")
    memory = Memory(tmp_path / "empty")
    memory.init()
    with pytest.raises(InstinctError):
        memory.review()


def test_answers_of_one_day_stand_in_order_whatever_was_known(project: Project, clock: Clock) -> None:
    """An approval follows the proposal that it answers, even if the proposal's clone knew more successes."""
    ready(project)
    for _ in range(4):
        project.memory().feedback(KEY, "succeeded")
    propose(project)
    land(project, "squash")
    project.memory().review()
    assert status(project) == "approved"


def test_the_command_line_shows_states_and_json(asked: Project, instinct: Any) -> None:
    shown = instinct("review")
    assert shown.code == 0
    assert "[open]" in shown.out
    assert "instinct reject" in shown.out
    told = instinct("review", "--json").json
    assert set(told) == {"proposals", "booked", "base", "notices"}
    assert told["proposals"][0]["state"] == "open"
    land(asked, "merge")
    assert "booked approved" in instinct("review").out


def test_a_proposal_is_noted_by_hand_as_propose_notes_it(project: Project) -> None:
    ready(project)
    project.memory().reject(KEY, "not yet")
    for _ in range(3):
        project.memory().feedback(KEY, "succeeded")
    project.memory().propose(KEY)
    note_proposed(project.memory())
    book, _ = project.memory()._space.read()
    made, by_hand = (one.extra for one in book.everything if one.k == "proposed")
    assert made == by_hand
    assert [one.state for one in project.memory().review().proposals] == ["open"]


@pytest.mark.parametrize("key", ["seq:ask@team->fix", "fix:issue #12!", "note:see https://a.b/GH-1", "note:50%25 done"])
def test_a_key_whose_words_hosts_act_on_is_reviewed_as_itself(project: Project, key: str) -> None:
    project.memory().remember("how we do it", key=key, title="How we do it", kind="rule")
    project.memory().consolidate()
    made = project.memory().propose(key, name="how-we-do-it")
    assert [(one.pattern, one.state) for one in project.memory().review().proposals] == [(key, "open")]
    assert project.memory().reject(key, "no").branches == (made.branch,)


@pytest.mark.parametrize("consolidated", [False, True], ids=["reverted before the batch", "after it"])
def test_an_approval_that_was_taken_back_is_not_written_down_again(asked: Project, consolidated: bool) -> None:
    tip = land(asked, "squash")
    asked.memory().review()
    if consolidated:
        asked.memory().consolidate()
        assert asked.read(pattern_path(KEY)).count('"human:unknown"') == 1
        taken_out = [one for one in asked.read(pattern_path(KEY)).split("\n") if not one.startswith("verified:")]
        asked.write(pattern_path(KEY), "\n".join(taken_out))
        asked.commit("it is no longer verified", pattern_path(KEY))
    asked.git("revert", "--no-edit", tip)
    assert [one.k for one in asked.memory().review().booked] == ["rejected"]
    asked.memory().consolidate()
    assert "verified" not in asked.read(pattern_path(KEY))
    assert asked.errors() == []


@pytest.mark.parametrize("how", HOWS[:2])
def test_a_proposal_that_brings_a_landed_skill_up_to_date_is_open_until_it_lands(project: Project, how: str) -> None:
    clock = Clock(datetime.now(UTC))
    ready(project)
    project.memory(clock).propose(KEY)
    land(project, how)
    assert [one.state for one in project.memory(clock).review().proposals] == ["merged"]
    project.memory(clock).consolidate()
    clock.forward(days=2)
    for _ in range(2):
        project.memory(clock).feedback(KEY, "succeeded", context="cli")
    project.memory(clock).consolidate()
    made = project.memory(clock).propose(KEY)
    assert made.files == (SKILL,)
    (one,) = project.memory(clock).review().proposals
    assert (one.state, one.commands) == ("open", (f"git merge --no-ff {BRANCH}", f"git branch -D {BRANCH}"))
    land(project, how)
    assert [one.state for one in project.memory(clock).review().proposals] == ["merged"]
    project.git("branch", "-q", "-D", BRANCH)
    assert project.memory(clock).review().booked == ()
    assert status(project) == "approved"


def test_a_rule_that_was_taken_out_is_reverted_beside_a_rule_with_a_longer_key(project: Project) -> None:
    for key, title in (("fix:numpy-2", "Pin numpy below 2"), ("fix:numpy", "Install numpy")):
        project.memory().remember(f"{title}, because of the ABI", key=key, title=title, kind="rule")
    project.memory().consolidate()
    for key, branch in (("fix:numpy-2", "instinct/rule/numpy-2"), ("fix:numpy", "instinct/rule/numpy")):
        project.memory().propose(key)
        tip = land(project, "squash", branch)
    project.memory().review()
    project.git("revert", "--no-edit", tip)
    assert [(one.k, one.p) for one in project.memory().review().booked] == [("rejected", "fix:numpy")]

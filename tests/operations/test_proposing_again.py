"""A proposal that is made again: on its own branch, with what people did there and on the default branch kept."""

from __future__ import annotations

import pytest

from instinct_git import InstinctError
from tests.builders import KEY, Project, process

BRANCH = "instinct/skill/test-fix-test"
SKILL = "skills/test-fix-test/SKILL.md"
PATTERN = ".instinct/patterns/seq/test-fix-test-06d94638.md"
OTHER = "fix:missing-import"


@pytest.fixture
def ripe(project: Project) -> Project:
    """Two mature patterns on main."""
    project.observe(times=6, title="Re-run the tests after every fix", source="codex", session=None)
    project.observe(OTHER, times=6, title="Install the package that the import names")
    project.memory().consolidate()
    return project


def on_branch(project: Project, branch: str, path: str, text: str, message: str = "by hand") -> None:
    """Commit a file on a branch as a person does, and return to main."""
    project.git("switch", "-q", branch)
    project.write(path, text)
    project.commit(message, path)
    project.git("switch", "-q", "main")


def merged(project: Project, branch: str) -> None:
    project.git("merge", "-q", "--no-ff", "-m", f"Merge {branch}", branch)


def retitle(project: Project, title: str) -> None:
    path = project.root / PATTERN
    old = next(line for line in path.read_text().splitlines() if line.startswith("title:"))
    path.write_text(path.read_text().replace(old, f"title: {title}"))
    project.commit("a better title", PATTERN)


def test_nothing_new_adds_no_commit(ripe: Project) -> None:
    first = ripe.memory().propose(KEY)
    again = ripe.memory().propose(KEY)
    assert (again.unchanged, again.commit, ripe.git("rev-parse", BRANCH)) == (True, first.commit, first.commit)
    assert again.notices[0] == f"nothing has changed: {BRANCH} proposes it already"


def test_evidence_about_the_proposal_itself_changes_nothing(ripe: Project) -> None:
    first = ripe.memory().propose(KEY)
    ripe.memory().consolidate()  # books `proposed` on main, and moves main
    assert ripe.memory().propose(KEY).unchanged
    assert ripe.git("rev-parse", BRANCH) == first.commit
    merged(ripe, BRANCH)
    assert ripe.errors() == []


def test_news_become_a_further_commit_and_nothing_is_forced(ripe: Project) -> None:
    first = ripe.memory().propose(KEY)
    ripe.observe(times=2, source="cursor")
    ripe.memory().consolidate()
    again = ripe.memory().propose(KEY)
    assert again.updated
    assert ripe.git("merge-base", first.commit, again.commit) == first.commit
    assert 'instinct-confidence: "8"' in ripe.git("show", f"{BRANCH}:{SKILL}")
    merged(ripe, BRANCH)
    assert ripe.errors() == []
    assert ripe.memory().show(KEY).confidence == 8


def test_a_further_commit_joins_the_default_branch_where_that_has_moved(ripe: Project) -> None:
    first = ripe.memory().propose(KEY)
    retitle(ripe, "Test after every fix")
    again = ripe.memory().propose(KEY)
    assert ripe.git("rev-parse", f"{BRANCH}~1^1", f"{BRANCH}~1^2").split() == [first.commit, ripe.head()]
    assert set(ripe.git("diff", "--name-only", f"main...{BRANCH}").split()) == {PATTERN, SKILL}
    assert again.commit == ripe.git("rev-parse", BRANCH)


def test_a_host_that_rebases_loses_no_further_commit(ripe: Project) -> None:
    """Rebasing drops merge commits: what is proposed again must not stand in one."""
    ripe.memory().propose(KEY)
    retitle(ripe, "Test after every fix")
    ripe.memory().propose(KEY)
    wanted = ripe.git("show", f"{BRANCH}:{SKILL}")
    ripe.git("switch", "-q", "--detach", BRANCH)
    ripe.git("rebase", "-q", "main")
    assert ripe.read(SKILL).rstrip("\n") == wanted
    assert ripe.git("diff", "HEAD", BRANCH) == ""


def test_a_branch_that_conflicts_with_the_default_branch_is_joined_all_the_same(ripe: Project) -> None:
    ripe.memory().propose(KEY)
    retitle(ripe, "Test after every fix")
    path = ripe.root / PATTERN
    path.write_text(path.read_text().replace("tags: []", "tags: [mine]", 1))
    ripe.commit("tags where the proposal has its status", PATTERN)
    again = ripe.memory().propose(KEY)
    assert again.commit == ripe.git("rev-parse", BRANCH)
    assert ripe.git("merge-base", "main", BRANCH) == ripe.head()


def test_what_a_person_wrote_on_the_branch_is_kept_and_shown(ripe: Project) -> None:
    ripe.memory().propose(KEY)
    edited = ripe.git("show", f"{BRANCH}:{SKILL}") + "\nReviewer: only on CI.\n"
    on_branch(ripe, BRANCH, SKILL, edited)
    retitle(ripe, "Test after every fix")
    again = ripe.memory().propose(KEY)
    assert "Reviewer: only on CI." in ripe.git("show", f"{BRANCH}:{SKILL}")
    assert [one.path for one in again.kept] == [SKILL]
    assert "-Reviewer: only on CI." in again.kept[0].diff
    assert "+# Test after every fix" in again.body
    assert f"{SKILL}: a person has changed it; theirs is kept" in again.notices
    assert again.files == (PATTERN,)
    assert ripe.git("rev-list", "--merges", f"main..{BRANCH}") == ""


def test_a_commit_of_ours_that_a_person_rewrote_is_theirs(ripe: Project) -> None:
    ripe.memory().propose(KEY)
    ripe.git("switch", "-q", BRANCH)
    ripe.write(SKILL, ripe.read(SKILL) + "\nMine.\n")
    ripe.git("commit", "-q", "-a", "--amend", "--no-edit")
    ripe.git("switch", "-q", "main")
    retitle(ripe, "Test after every fix")
    again = ripe.memory().propose(KEY)
    assert "Mine." in ripe.git("show", f"{BRANCH}:{SKILL}")
    assert SKILL in [one.path for one in again.kept]


def test_a_merge_of_main_by_a_person_makes_nothing_theirs_but_what_they_resolved(ripe: Project) -> None:
    ripe.memory().propose(KEY)
    ripe.write("else.txt", "x")
    ripe.commit("else", "else.txt")
    ripe.git("switch", "-q", BRANCH)
    ripe.git("merge", "-q", "-m", "update", "main")
    ripe.git("switch", "-q", "main")
    assert ripe.memory().propose(KEY).unchanged
    ripe.observe(times=2)
    ripe.memory().consolidate()
    again = ripe.memory().propose(KEY)
    assert (again.kept, again.files) == ((), (PATTERN, SKILL))


def test_a_skill_that_a_person_edited_after_it_landed_is_never_written_over(ripe: Project) -> None:
    merged(ripe, ripe.memory().propose(KEY).branch)
    ripe.write(SKILL, ripe.read(SKILL) + "\nOur own words.\n")
    ripe.commit("edit", SKILL)
    ripe.observe(times=2)
    ripe.memory().consolidate()
    again = ripe.memory().propose(KEY)
    assert (again.unchanged, [one.path for one in again.kept]) == (True, [SKILL])
    assert "-Our own words." in again.kept[0].diff
    assert ripe.git("for-each-ref", "refs/heads/instinct").count("\n") == 0


def test_a_skill_as_it_landed_is_brought_up_to_date(ripe: Project) -> None:
    merged(ripe, ripe.memory().propose(KEY).branch)
    ripe.observe(times=2)
    ripe.memory().consolidate()
    again = ripe.memory().propose(KEY)
    assert (again.files, again.kept) == ((SKILL,), ())
    merged(ripe, BRANCH)
    assert 'instinct-confidence: "8"' in ripe.read(SKILL)


def test_a_rule_that_a_person_reworded_is_kept_and_not_doubled(ripe: Project) -> None:
    merged(ripe, ripe.memory().propose(OTHER).branch)
    text = ripe.read("memory/MEMORY.md").replace("Install the package", "First ask, then install the package")
    ripe.write("memory/MEMORY.md", text)
    ripe.commit("reword", "memory/MEMORY.md")
    again = ripe.memory().propose(OTHER, kind="rule")
    assert again.unchanged
    assert [one.path for one in again.kept] == ["memory/MEMORY.md"]
    assert "-First ask" in again.kept[0].diff


def test_somebody_elses_skill_of_that_name_is_not_touched(ripe: Project) -> None:
    ripe.write(SKILL, "---\nname: test-fix-test\ndescription: ours\n---\nours\n")
    ripe.commit("ours", SKILL)
    with pytest.raises(InstinctError) as refused:
        ripe.memory().propose(KEY)
    assert "does not come from" in refused.value.message
    assert ripe.git("for-each-ref", "refs/heads/instinct") == ""


# --- two proposals that touch MEMORY.md -----------------------------------------------------------------------------


def test_two_rules_from_one_base_land_one_after_the_other(ripe: Project) -> None:
    rule, fix = ripe.memory().propose(KEY, kind="rule"), ripe.memory().propose(OTHER, kind="rule")
    merged(ripe, rule.branch)
    ripe.git("merge", "-q", "--no-ff", "-m", "x", fix.branch, check=False)
    ripe.git("merge", "--abort", check=False)
    assert OTHER not in ripe.read("memory/MEMORY.md")
    again = ripe.memory().propose(OTHER)  # as it was proposed: the kind and the name are the branch's
    assert (again.branch, again.updated) == (fix.branch, True)
    merged(ripe, fix.branch)
    text = ripe.read("memory/MEMORY.md")
    assert text.count(f"`{KEY}`") == text.count(f"`{OTHER}`") == 1
    assert text.count("## Key Lessons") == 1
    assert ripe.errors() == []


def test_the_same_when_the_first_was_squashed(ripe: Project) -> None:
    rule, fix = ripe.memory().propose(KEY, kind="rule"), ripe.memory().propose(OTHER, kind="rule")
    ripe.git("merge", "-q", "--squash", rule.branch)
    ripe.git("commit", "-q", "-m", "squashed")
    ripe.memory().propose(OTHER)
    merged(ripe, fix.branch)
    assert ripe.read("memory/MEMORY.md").count("- ") == 2
    assert ripe.memory().propose(KEY, kind="rule").unchanged


# --- several at once ------------------------------------------------------------------------------------------------


def test_several_keys_are_one_branch_and_one_commit(ripe: Project) -> None:
    done = ripe.memory().propose([KEY, OTHER], kind="rule")
    assert done.branch.startswith("instinct/batch/missing-import-and-1-more-")
    assert ripe.git("rev-list", "--count", f"main..{done.branch}") == "1"
    text = ripe.git("show", f"{done.branch}:memory/MEMORY.md")
    assert text.index(f"`{OTHER}`") < text.index(f"`{KEY}`")
    again = ripe.memory().propose([OTHER, KEY], kind="rule")
    assert (again.branch, again.unchanged) == (done.branch, True)
    assert ripe.git("log", "-1", "--format=%(trailers:key=Instinct-Pattern,valueonly)", done.branch).split() == [
        OTHER,
        KEY,
    ]


def test_a_batch_of_two_kinds_lands_whole(ripe: Project) -> None:
    done = ripe.memory().propose([KEY, OTHER], name="march")
    assert done.branch == "instinct/batch/march"
    assert [(one.kind, one.path) for one in done.items] == [("rule", "memory/MEMORY.md"), ("skill", SKILL)]
    merged(ripe, done.branch)
    assert {one.status for one in ripe.memory().list()} == {"graduated"}
    assert ripe.errors() == []


def test_what_collides_is_refused_before_anything_is_written(ripe: Project) -> None:
    ripe.observe("seq:test,fix,test", times=6)
    ripe.memory().consolidate()
    for keys, words in (([KEY, KEY], "named twice"), ([KEY, "seq:test,fix,test"], "two patterns"), ([], "no pattern")):
        with pytest.raises(InstinctError) as refused:
            ripe.memory().propose(keys, kind="skill")
        assert words in refused.value.message
    ripe.memory().propose(KEY)
    with pytest.raises(InstinctError) as refused:
        ripe.memory().propose("seq:test,fix,test", kind="skill", name="test-fix-test")
    assert "proposes something else" in refused.value.message
    assert ripe.git("for-each-ref", "--format=%(refname:short)", "refs/heads/instinct") == BRANCH


# --- branches -------------------------------------------------------------------------------------------------------


def test_a_branch_that_is_in_the_way_is_named(ripe: Project) -> None:
    ripe.git("branch", "instinct")
    with pytest.raises(InstinctError) as refused:
        ripe.memory().propose(KEY)
    assert "beside a branch instinct" in refused.value.message
    assert "git branch -m instinct" in refused.value.hint


def test_a_branch_that_is_checked_out_is_not_moved(ripe: Project) -> None:
    ripe.memory().propose(KEY)
    ripe.git("switch", "-q", BRANCH)
    tip = ripe.head()
    ripe.git("switch", "-q", "main")
    retitle(ripe, "Else")
    ripe.git("worktree", "add", "-q", str(ripe.root.parent / "other"), BRANCH)
    with pytest.raises(InstinctError) as refused:
        ripe.memory().propose(KEY)
    assert "checked out" in refused.value.message
    assert ripe.git("rev-parse", BRANCH) == tip


def test_a_second_clone_goes_on_with_the_branch_of_the_first(ripe: Project) -> None:
    first = ripe.memory().propose(KEY)
    other = ripe.clone("other")
    other.observe(times=2)
    other.memory().consolidate()
    other.git("push", "-q", "origin", "main:elsewhere")
    again = other.memory().propose(KEY)
    assert other.git("merge-base", first.commit, again.commit) == first.commit
    assert again.updated


def test_branches_that_went_apart_are_left_to_a_person(ripe: Project) -> None:
    ripe.memory().propose(KEY)
    other = ripe.clone("other")
    other.git("branch", "-q", BRANCH, f"origin/{BRANCH}")
    on_branch(other, BRANCH, "a.txt", "a")
    on_branch(ripe, BRANCH, "b.txt", "b")
    other.git("fetch", "-q")
    with pytest.raises(InstinctError) as refused:
        other.memory().propose(KEY)
    assert "gone apart" in refused.value.message


# --- after it has landed --------------------------------------------------------------------------------------------


def test_a_landed_pattern_is_silent_counts_on_and_comes_back_with_a_revert(ripe: Project) -> None:
    ripe.observe(times=6, source="cursor")
    ripe.memory().consolidate()
    assert KEY in [one.pattern for one in ripe.memory().export_rules()]
    merged(ripe, ripe.memory().propose(KEY).branch)
    memory = ripe.memory()
    assert (memory.show(KEY).status, memory.show(KEY).live) == ("graduated", 12)
    assert KEY not in [one.pattern for one in (*memory.suggest(), *memory.export_rules())]
    assert KEY in [one.pattern for one in memory.list()]
    assert KEY not in process(ripe.root, "suggest").out
    ripe.observe(times=1)
    memory.consolidate()
    assert memory.show(KEY).confidence == 13
    assert memory.decay(0).faded == ()
    landing = ripe.git("log", "--merges", "-1", "--format=%H")
    ripe.git("revert", "--no-edit", "-m", "1", landing)
    assert not (ripe.root / SKILL).exists()
    assert memory.show(KEY).status == "active"
    assert KEY in [one.pattern for one in memory.suggest()]
    assert KEY in process(ripe.root, "suggest").out
    assert KEY in [one.pattern for one in memory.export_rules()]
    assert ripe.errors() == []
    again = memory.propose(KEY)
    assert (again.unchanged, SKILL in again.files) == (False, True)
    merged(ripe, again.branch)
    assert memory.show(KEY).status == "graduated"


def test_a_landed_pattern_has_one_place(ripe: Project) -> None:
    merged(ripe, ripe.memory().propose(KEY).branch)
    with pytest.raises(InstinctError) as refused:
        ripe.memory().propose(KEY, kind="rule")
    assert f"has become {SKILL}" in refused.value.message
    ripe.git("rm", "-q", SKILL)
    ripe.git("commit", "-q", "-m", "gone")
    assert ripe.memory().propose(KEY, kind="rule").branch == "instinct/rule/test-fix-test"


def test_a_proposal_passes_the_check_of_a_pull_request(ripe: Project) -> None:
    for done in (ripe.memory().propose(KEY), ripe.memory().propose(OTHER, kind="rule")):
        ripe.git("switch", "-q", done.branch)
        assert [one for one in ripe.memory().check(base="main") if one.severity == "error"] == []
        ripe.git("switch", "-q", "main")


def test_a_rejected_pattern_waits_for_three_more_successes(ripe: Project) -> None:
    ripe.memory().propose(KEY)
    ripe.memory().reject(KEY, "too narrow")
    ripe.memory().feedback(KEY, "succeeded")
    with pytest.raises(InstinctError) as refused:
        ripe.memory().propose(KEY)
    assert "rejected" in refused.value.message
    assert "too narrow" in refused.value.message
    assert "after 2 more successes" in refused.value.hint
    for _ in range(2):
        ripe.memory().feedback(KEY, "succeeded")
    assert ripe.memory().propose(KEY).commit
    assert ripe.memory().propose(KEY).unchanged


def test_a_proposal_is_booked_as_evidence_with_what_was_known(ripe: Project) -> None:
    ripe.memory().feedback(KEY, "succeeded")
    ripe.memory().propose(KEY)
    ripe.memory().propose(KEY)
    ripe.memory().record()
    booked = [one for one in ripe.tree_evidence() if one.k == "proposed"]
    assert [dict(one.extra) for one in booked] == [{"n": 1, "x": 0, "to": BRANCH, "kind": "skill"}]


def test_a_branch_that_appears_meanwhile_is_not_written_over(ripe: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    from instinct_git.storage import branches

    real = branches.commit_on

    def slower(*args: object, **options: object) -> str:
        ripe.git("branch", BRANCH, "main")
        return real(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(branches, "commit_on", slower)
    with pytest.raises(InstinctError) as refused:
        ripe.memory().propose(KEY)
    assert "somebody else has just moved" in refused.value.message
    assert ripe.git("rev-parse", BRANCH) == ripe.head()


@pytest.mark.parametrize("kind", ["skill", "procedure"])
def test_what_landed_under_a_name_of_its_own_is_brought_up_to_date_there(ripe: Project, kind: str) -> None:
    first = ripe.memory().propose(KEY, kind=kind, name="retest")
    merged(ripe, first.branch)
    ripe.git("branch", "-q", "-D", first.branch)
    ripe.observe(times=2)
    ripe.memory().consolidate()
    again = ripe.memory().propose(KEY)
    assert (again.branch, again.files) == (first.branch, (first.items[0].path,))


def test_a_key_that_another_one_stands_for_is_proposed_as_that(ripe: Project) -> None:
    ripe.observe("seq:old->way", times=2)
    ripe.memory().alias("seq:old->way", KEY)
    ripe.memory().consolidate()
    assert ripe.memory().propose("seq:old->way").pattern == KEY
    with pytest.raises(InstinctError) as refused:
        ripe.memory().propose([KEY, "seq:old->way"])
    assert "named twice" in refused.value.message


def test_one_pattern_proposed_as_a_second_kind_is_told_of_the_first_branch(ripe: Project) -> None:
    assert not any("proposes it too" in notice for notice in ripe.memory().propose(KEY).notices)
    done = ripe.memory().propose(KEY, kind="rule", dry_run=True)
    assert f"{BRANCH} proposes it too: close that one if this is to take its place" in done.notices

"""A person alone: the diff is shown and a typed yes commits it. And proposals into the user's own and shared memories."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from instinct_git import InstinctError, Memory
from tests.builders import KEY, Project, git, process, run_cli
from tests.people import bare

BRANCH = "instinct/skill/test-fix-test"
SKILL = "skills/test-fix-test/SKILL.md"
PATTERN = ".instinct/patterns/seq/test-fix-test-06d94638.md"


@pytest.fixture
def ripe(project: Project) -> Project:
    """A mature pattern on main, in a project of one person alone."""
    project.observe(times=6, title="Re-run the tests after every fix")
    project.memory().consolidate()
    project.memory().configure("promotion", "direct")
    project.commit("direct", ".instinct/config.yaml")
    return project


@pytest.fixture
def terminal(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., object]:
    """Run the command line in the project as on a terminal where a person types the first argument."""

    class Typed(io.StringIO):
        def isatty(self) -> bool:
            return True

    def run(typed: str, *args: str) -> object:
        monkeypatch.chdir(project.root)
        monkeypatch.setattr(sys, "stdin", Typed(typed + "\n"))
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
        return run_cli(monkeypatch, capsys, *args)

    return run


def test_a_typed_yes_commits_exactly_what_was_shown(ripe: Project, terminal: Callable[..., object]) -> None:
    ripe.write("CLAUDE.md", "x\n")
    ripe.commit("agents", "CLAUDE.md")
    ripe.write("staged.txt", "s")
    ripe.git("add", "staged.txt")
    before = ripe.head()
    ran = terminal("yes", "propose", KEY)
    assert "diff --git a/skills/test-fix-test/SKILL.md" in ran.out  # type: ignore[attr-defined]
    assert "approved seq:test->fix->test as the skill test-fix-test" in ran.out  # type: ignore[attr-defined]
    assert "by:      human:ada-example" in ran.out  # type: ignore[attr-defined]
    assert ripe.git("rev-parse", "HEAD^") == before
    assert ripe.changed() == {PATTERN, SKILL, ".claude/skills/test-fix-test"}
    assert ripe.status() == "A  staged.txt"
    assert ripe.read(".claude/skills/test-fix-test/SKILL.md") == ripe.read(SKILL)
    assert ripe.memory().show(KEY).status == "graduated"
    assert ripe.git("for-each-ref", "refs/heads/instinct") == ""
    assert "Instinct-Batch: propose" in ripe.git("log", "-1", "--format=%B")


def test_the_yes_is_booked_as_that_persons_approval(ripe: Project) -> None:
    done = ripe.memory().propose(KEY, ask=lambda shown, branch: " Yes ")
    assert (done.approved_by, done.commit, done.branch) == ("human:ada-example", ripe.head(), "main")
    ripe.memory().consolidate()
    booked = [one for one in ripe.tree_evidence() if one.k == "approved"]
    assert [(one.by, dict(one.extra)) for one in booked] == [("human:ada-example", {"to": SKILL, "kind": "skill"})]
    assert "human:ada-example" in ripe.read(PATTERN)
    ripe.memory().review()  # finds the landing and knows who approved it
    ripe.memory().consolidate()
    assert "unknown" not in ripe.read(PATTERN)
    assert len([one for one in ripe.tree_evidence() if one.k == "approved"]) == 1
    assert ripe.errors() == []


@pytest.mark.parametrize("typed", ["y", "", "ja", "YES!", "yes please"])
def test_anything_else_only_proposes(ripe: Project, terminal: Callable[..., object], typed: str) -> None:
    before = ripe.head()
    ran = terminal(typed, "propose", KEY)
    assert f"branch:  {BRANCH}" in ran.out  # type: ignore[attr-defined]
    assert (ripe.head(), ripe.status()) == (before, "")


def test_a_typed_no_writes_nothing(ripe: Project, terminal: Callable[..., object]) -> None:
    before = ripe.git("for-each-ref")
    ran = terminal("no", "propose", KEY)
    assert "nothing was written" in ran.out  # type: ignore[attr-defined]
    assert (ripe.git("for-each-ref"), ripe.status()) == (before, "")


def test_without_a_terminal_it_only_proposes_and_says_so(ripe: Project) -> None:
    before = ripe.head()
    ran = process(ripe.root, "propose", KEY, stdin="yes\n")
    assert (ran.code, ripe.head()) == (0, before)
    assert f"branch:  {BRANCH}" in ran.out
    assert "only proposed: without a terminal" in ran.out


def test_a_request_for_review_is_never_answered_here(ripe: Project, terminal: Callable[..., object]) -> None:
    ran = terminal("yes", "propose", KEY, "--dry-run")
    assert "approved" not in ran.out  # type: ignore[attr-defined]
    asked: list[str] = []
    with pytest.raises(InstinctError):  # there is no remote
        ripe.memory().propose(KEY, push=True, ask=lambda shown, branch: asked.append(branch) or "yes")
    assert asked == []


def test_where_a_team_reviews_nobody_is_asked(ripe: Project) -> None:
    ripe.memory().configure("promotion", "pull-request")
    done = ripe.memory().propose(KEY, ask=lambda shown, branch: pytest.fail("asked"))
    assert (done.branch, done.approved_by) == (BRANCH, "")


def test_on_another_branch_it_only_proposes_and_says_why(ripe: Project) -> None:
    ripe.git("switch", "-q", "-c", "feature")
    done = ripe.memory().propose(KEY, ask=lambda shown, branch: pytest.fail("asked"))
    assert done.branch == BRANCH
    assert any("this is feature, and a promotion is committed on main" in notice for notice in done.notices)


@pytest.mark.parametrize("path", [SKILL, PATTERN])
def test_a_target_that_is_edited_is_refused(ripe: Project, path: str) -> None:
    ripe.write(path, (ripe.read(path) if path == PATTERN else "") + "mine\n")
    before = ripe.head()
    with pytest.raises(InstinctError) as refused:
        ripe.memory().propose(KEY, ask=lambda shown, branch: "yes")
    assert path in refused.value.message
    assert (ripe.head(), ripe.read(path).endswith("mine\n")) == (before, True)


def test_what_changes_between_the_look_and_the_yes_is_not_committed(ripe: Project) -> None:
    def ask(shown: object, branch: str) -> str:
        ripe.write(PATTERN, ripe.read(PATTERN).replace("Re-run", "Never run"))
        ripe.commit("meanwhile", PATTERN)
        return "yes"

    with pytest.raises(InstinctError) as refused:
        ripe.memory().propose(KEY, ask=ask)
    assert "changed since it was shown" in refused.value.message
    assert not (ripe.root / SKILL).exists()


def test_a_commit_that_a_hook_refuses_leaves_nothing(ripe: Project) -> None:
    ripe.write("CLAUDE.md", "x\n")
    ripe.commit("agents", "CLAUDE.md")
    hook = ripe.root / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    before = ripe.head()
    with pytest.raises(InstinctError):
        ripe.memory().propose(KEY, ask=lambda shown, branch: "yes")
    assert (ripe.head(), ripe.status()) == (before, "")


def test_evidence_that_is_written_and_not_committed_rides_along(ripe: Project) -> None:
    ripe.observe(times=2)
    ripe.memory().record(no_commit=True)
    ripe.memory().propose(KEY, ask=lambda shown, branch: "yes")
    assert ripe.status() == ""
    assert ripe.errors() == []
    ripe.memory().consolidate()
    assert ripe.memory().show(KEY).confidence == 8


def test_several_at_once_are_one_commit(ripe: Project) -> None:
    ripe.observe("fix:missing-import", times=6, title="Add it")
    ripe.memory().consolidate()
    before = ripe.commits()
    ripe.memory().propose([KEY, "fix:missing-import"], ask=lambda shown, branch: "yes")
    assert ripe.commits() == before + 1
    assert {one.status for one in ripe.memory().list()} == {"graduated"}


# --- the user's own and shared memories -----------------------------------------------------------------------------


@pytest.fixture
def home(sealed: Path) -> Path:
    return sealed / ".instinct"


def test_to_global_starts_the_users_memory_and_proposes_there(ripe: Project, home: Path) -> None:
    before = ripe.git("for-each-ref"), ripe.status()
    done = ripe.memory().propose(KEY, to="global")
    assert (ripe.git("for-each-ref"), ripe.status()) == before
    own = Project(home / "global")
    assert own.git("rev-parse", BRANCH) == done.commit
    own.git("merge", "-q", BRANCH)
    memory = Memory(own.root, scope="global")
    assert (memory.show(KEY).status, memory.show(KEY).confidence) == ("graduated", 6)
    assert [one for one in memory.check() if one.severity == "error"] == []
    assert ripe.memory().show(KEY).status == "active"
    assert ripe.memory().propose(KEY, to="global").unchanged


def test_a_dry_run_to_a_memory_that_is_not_started_writes_nothing(ripe: Project, home: Path) -> None:
    with pytest.raises(InstinctError) as refused:
        ripe.memory().propose(KEY, to="global", dry_run=True)
    assert "no commit yet" in refused.value.message
    assert not (home / "global").exists()


def test_the_users_own_memory_is_answered_on_the_terminal(ripe: Project, home: Path) -> None:
    done = ripe.memory().propose(KEY, to="global", ask=lambda shown, branch: "yes")
    own = Project(home / "global")
    assert (done.approved_by, own.head()) == ("human:ada-example", done.commit)
    assert own.status() == ""
    assert Memory(own.root, scope="global").show(KEY).status == "graduated"
    assert ripe.status() == ""


def test_what_is_known_in_both_is_joined(ripe: Project, home: Path) -> None:
    own = Memory(scope="global")
    for _ in range(3):
        own.observe(KEY, title="My own words")
    own.consolidate()
    ripe.memory().propose(KEY, to="global")
    git(home / "global", "merge", "-q", BRANCH)
    own = Memory(scope="global")
    assert (own.show(KEY).confidence, own.show(KEY).title) == (9, "My own words")
    assert [one for one in own.check() if one.severity == "error"] == []


def test_to_a_shared_memory_by_its_name(ripe: Project, home: Path) -> None:
    host = bare(home.parent)
    for options in ({}, {"readonly": True}):
        ripe.memory().share_add("team", str(host), **options)
        ripe.memory().sync("team")
        if options:
            with pytest.raises(InstinctError, match="--readonly"):
                ripe.memory().propose(KEY, to="team")
    ripe.memory().share_add("team", str(host))
    team = Project(home / "shared" / "team")
    done = ripe.memory().propose(KEY, to="team", ask=lambda shown, branch: pytest.fail("asked"))
    assert team.git("rev-parse", BRANCH) == done.commit
    for name in ("nobody", "../team", "", "team/x"):
        if not name:
            continue
        with pytest.raises(InstinctError) as refused:
            ripe.memory().propose(KEY, to=name)
        assert "team" in refused.value.hint


def test_a_memory_that_said_no_is_not_asked_again_from_elsewhere(ripe: Project, home: Path) -> None:
    ripe.memory().propose(KEY, to="global")
    Memory(scope="global").reject(KEY, "not for me")
    with pytest.raises(InstinctError) as refused:
        ripe.memory().propose(KEY, to="global")
    assert "rejected" in refused.value.message
    assert ripe.memory().propose(KEY).branch == BRANCH

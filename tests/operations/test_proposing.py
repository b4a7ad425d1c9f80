"""`propose`: a branch that a person can review, and nothing of the user's that moves."""

from __future__ import annotations

from pathlib import Path

import frontmatter
import pytest

from instinct_git import InstinctError
from instinct_git.core.proposal import skill_problems
from tests.builders import KEY, Project

BRANCH = "instinct/skill/test-fix-test"


@pytest.fixture
def ripe(project: Project) -> Project:
    """A project with one mature pattern on main."""
    project.observe(times=6, title="Re-run the tests after every fix", source="codex", session="a")
    project.observe(times=5, source="cursor", session="b")
    project.memory().consolidate()
    return project


def test_a_proposal_moves_nothing_of_the_users(ripe: Project) -> None:
    ripe.write("staged.txt", "s")
    ripe.git("add", "staged.txt")
    ripe.write("README.md", "edited\n")
    ripe.write("new.txt", "n")
    before = (ripe.status(), ripe.head(), ripe.git("ls-files", "-s"), ripe.git("symbolic-ref", "HEAD"))
    done = ripe.memory().propose(KEY)
    assert before == (ripe.status(), ripe.head(), ripe.git("ls-files", "-s"), ripe.git("symbolic-ref", "HEAD"))
    assert (done.branch, ripe.git("rev-parse", BRANCH)) == (BRANCH, done.commit)
    assert ripe.git("rev-parse", f"{BRANCH}^") == ripe.git("rev-parse", "main")


def test_the_skill_is_valid_and_says_where_it_comes_from(ripe: Project) -> None:
    ripe.memory().propose(KEY)
    text = ripe.git("show", f"{BRANCH}:skills/test-fix-test/SKILL.md") + "\n"
    assert skill_problems(text, "test-fix-test") == []
    head = frontmatter.loads(text).metadata
    assert head["name"] == "test-fix-test"
    assert head["metadata"]["instinct-pattern"] == KEY
    assert head["metadata"]["instinct-confidence"] == "6"
    assert all(isinstance(value, str) for value in head["metadata"].values())
    for part in ("## When to use", "## Steps", "## Verification", "## Boundaries"):
        assert part in text


def test_a_dry_run_makes_no_branch(ripe: Project) -> None:
    done = ripe.memory().propose(KEY, dry_run=True)
    assert done.text.startswith("---\nname: test-fix-test\n")
    assert ripe.git("branch", "--list", "instinct/*") == ""


def test_from_a_branch_the_proposal_brings_the_pattern_and_its_own_evidence_alone(project: Project) -> None:
    project.git("switch", "-q", "-c", "feature")
    project.observe(times=5)
    project.observe("pref:style=black", times=2)
    project.memory().consolidate()
    done = project.memory().propose(KEY)
    assert ".instinct/patterns/seq/test-fix-test-06d94638.md" in done.files
    project.git("switch", "-q", "main")
    project.git("merge", "-q", BRANCH)
    memory = project.memory()
    assert project.errors() == []
    assert [one.pattern for one in memory.list()] == [KEY]
    assert memory.show(KEY).confidence == 5
    project.git("merge", "-q", "-m", "all", "feature")
    assert memory.consolidate().notices == ()
    assert (memory.show(KEY).confidence, memory.show("pref:style=black").confidence) == (5, 2)


def test_a_second_proposal_names_the_branch_and_the_ways_on(ripe: Project) -> None:
    ripe.memory().propose(KEY)
    with pytest.raises(InstinctError) as refused:
        ripe.memory().propose(KEY)
    assert BRANCH in refused.value.message
    assert ripe.memory().propose(KEY, name="again").branch == "instinct/skill/again"
    ripe.git("merge", "-q", BRANCH)
    ripe.git("branch", "-q", "-D", BRANCH)
    with pytest.raises(InstinctError) as refused:
        ripe.memory().propose(KEY)
    assert "approved already" in refused.value.message


@pytest.mark.parametrize("name", ["Big", "a b", "-a", "a--b", "x" * 65, "../up"])
def test_names_that_are_no_skill_names_are_refused(ripe: Project, name: str) -> None:
    with pytest.raises(InstinctError):
        ripe.memory().propose(KEY, name=name)


def test_what_has_no_file_yet_is_consolidated_first(project: Project) -> None:
    project.observe()
    with pytest.raises(InstinctError) as refused:
        project.memory().propose(KEY)
    assert "consolidate" in refused.value.hint


def test_an_unborn_default_branch_and_a_plain_folder_are_refused(tmp_path: Path) -> None:
    from instinct_git import Memory

    folder = tmp_path / "plain"
    folder.mkdir()
    memory = Memory(folder)
    memory.init()
    with pytest.raises(InstinctError):
        memory.propose(KEY)


@pytest.mark.parametrize(
    "key",
    [
        "pref:style=black",
        "fix:missing-import",
        "combo:a+b",
        "note:<b>x</b> --- y",
        "seq:a->push",
        "deploy: 部署 -> 检查",
        "x" * 150,
    ],
)
def test_every_kind_of_key_gives_a_valid_skill(project: Project, key: str) -> None:
    project.observe(key, times=5, title="T: <angle> --- 'quote' \"double\"", description="d" * 300)
    project.memory().consolidate()
    done = project.memory().propose(key)
    assert skill_problems(done.text, done.name) == []


def test_the_proposal_is_signed_where_the_user_signs(ripe: Project, tmp_path: Path) -> None:
    import shutil
    import subprocess

    if shutil.which("ssh-keygen") is None:
        pytest.skip("no ssh-keygen on this machine")
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / "key")], check=True)
    for name, value in (
        ("gpg.format", "ssh"),
        ("user.signingkey", str(tmp_path / "key.pub")),
        ("commit.gpgsign", "true"),
    ):
        ripe.git("config", name, value)
    done = ripe.memory().propose(KEY)
    assert "gpgsig" in ripe.git("cat-file", "commit", done.commit)


def test_line_ends_of_the_working_tree_do_not_reach_the_proposal(ripe: Project) -> None:
    path = str(ripe.memory().show(KEY).path)
    ripe.write(path, ripe.read(path).replace("\n", "\r\n"))
    assert ripe.memory().propose(KEY).files == ("skills/test-fix-test/SKILL.md",)


@pytest.mark.parametrize(
    ("kind", "path", "words"),
    [
        ("procedure", "memory/procedures/test-fix-test.md", "type: Procedure"),
        ("rule", "memory/MEMORY.md", "## Key Lessons"),
        ("memory", "memory/MEMORY.md", "## Memories"),
    ],
)
def test_each_kind_lands_in_its_own_place(ripe: Project, kind: str, path: str, words: str) -> None:
    done = ripe.memory().propose(KEY, kind=kind)
    assert done.branch == f"instinct/{kind}/test-fix-test"
    assert ripe.changed(done.commit) == {path}
    text = ripe.git("show", f"{done.commit}:{path}")
    assert words in text
    assert "Re-run the tests after every fix" in text


def test_a_rule_is_one_line_more_in_memory_md_and_every_other_byte_stays(ripe: Project) -> None:
    before = "# Ours\n\n## Key Lessons\n\n* Keep it small.\n\n## Other\n\n---\nbody\n"
    ripe.write("memory/MEMORY.md", before)
    ripe.commit("ours", "memory/MEMORY.md")
    done = ripe.memory().propose(KEY, kind="rule")
    after = ripe.git("show", f"{done.commit}:memory/MEMORY.md") + "\n"
    added = [line for line in after.split("\n") if line not in before.split("\n")]
    assert len(added) == 1
    assert f"`{KEY}`" in added[0]
    assert after.replace(added[0] + "\n", "") == before


def test_what_memory_md_says_already_is_not_proposed_again(ripe: Project) -> None:
    done = ripe.memory().propose(KEY, kind="rule")
    ripe.git("merge", "-q", done.branch)
    ripe.git("branch", "-q", "-D", done.branch)
    with pytest.raises(InstinctError) as refused:
        ripe.memory().propose(KEY, kind="rule")
    assert "says this already" in refused.value.message


def test_an_unknown_kind_names_the_four(ripe: Project) -> None:
    with pytest.raises(InstinctError) as refused:
        ripe.memory().propose(KEY, kind="poem")
    assert "procedure" in refused.value.hint

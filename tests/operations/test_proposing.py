"""`propose`: a branch that a person can review, and nothing of the user's that moves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import frontmatter
import pytest

from instinct_git import InstinctError
from instinct_git.core.proposal import skill_problems
from tests.builders import KEY, Project, Ran

BRANCH = "instinct/skill/test-fix-test"
PATTERN = ".instinct/patterns/seq/test-fix-test-06d94638.md"


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
    assert "`instinct resolve` settles it" in " ".join(done.notices)
    project.git("merge", "-q", "-m", "all", "feature", check=False)
    assert memory.resolve().left == ()
    project.git("commit", "-q", "-m", "all")
    assert memory.show(KEY).status == "graduated"
    assert memory.consolidate().notices == ()
    assert (memory.show(KEY).confidence, memory.show("pref:style=black").confidence) == (5, 2)


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
    done = project.memory().propose(key, kind="skill")
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
    done = ripe.memory().propose(KEY)
    assert done.files == (path, "skills/test-fix-test/SKILL.md")
    assert "\r" not in ripe.git("show", f"{done.commit}:{path}")


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
    assert ripe.changed(done.commit) == {path, PATTERN}
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


@pytest.mark.parametrize("kind", ["skill", "procedure", "rule", "memory"])
def test_what_has_landed_is_not_proposed_again(ripe: Project, kind: str) -> None:
    done = ripe.memory().propose(KEY, kind=kind)
    ripe.git("merge", "-q", done.branch)
    before = ripe.git("for-each-ref")
    again = ripe.memory().propose(KEY, kind=kind)
    assert (again.unchanged, again.commit, again.files) == (True, "", ())
    assert "there is nothing to propose: main has it already" in again.notices[0]
    ripe.git("branch", "-q", "-D", done.branch)
    assert ripe.memory().propose(KEY, kind=kind).unchanged
    assert ripe.git("for-each-ref") == "\n".join(
        line for line in before.splitlines() if "refs/heads/instinct/" not in line
    )


def test_an_unknown_kind_names_the_four(ripe: Project) -> None:
    with pytest.raises(InstinctError) as refused:
        ripe.memory().propose(KEY, kind="poem")
    assert "procedure" in refused.value.hint


# --- kinds, names, and what is refused --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        (KEY, "skill"),
        ("fix:missing-import", "rule"),
        ("pref:style=black", "memory"),
        ("note:the staging host is slow", "memory"),
        ("combo:ruff+mypy", "memory"),
    ],
)
def test_without_a_word_the_key_tells_the_kind(project: Project, key: str, kind: str) -> None:
    project.observe(key, times=5, title="What to do")
    project.memory().consolidate()
    assert project.memory().propose(key).kind == kind


@pytest.mark.parametrize("kind", ["skill", "procedure", "rule", "memory"])
def test_a_fix_that_nobody_has_described_is_asked_for_and_not_proposed(project: Project, kind: str) -> None:
    project.observe("fix:port-in-use", times=6)
    project.memory().consolidate()
    with pytest.raises(InstinctError) as refused:
        project.memory().propose("fix:port-in-use", kind=kind)
    assert "what the fix of 'fix:port-in-use' is" in refused.value.message
    project.observe("fix:port-in-use", title="Stop the old server first")
    project.memory().consolidate()
    assert "Stop the old server first" in project.memory().propose("fix:port-in-use", kind=kind).text


def test_a_candidate_is_proposed_as_what_it_is_a_candidate_for(project: Project) -> None:
    project.memory().remember("Test before every commit", key=KEY, kind="procedure")
    project.memory().consolidate()
    assert project.memory().propose(KEY, dry_run=True).kind == "procedure"
    assert project.memory().propose(KEY, kind="rule", dry_run=True).kind == "rule"


def test_a_title_without_latin_letters_asks_for_a_name(project: Project) -> None:
    project.memory().remember("记住：发布前先跑测试", title="发布前先跑测试", kind="skill")
    project.memory().consolidate()
    key = "note:发布前先跑测试"
    with pytest.raises(InstinctError) as refused:
        project.memory().propose(key)
    assert "--name" in refused.value.hint
    assert project.git("for-each-ref", "refs/heads/instinct") == ""
    done = project.memory().propose(key, name="test-before-release")
    assert done.branch == "instinct/skill/test-before-release"
    assert "# 发布前先跑测试" in done.text
    assert project.memory().propose(key).branch == done.branch  # the name is known now


def test_a_wrong_name_is_answered_with_a_valid_one(ripe: Project) -> None:
    with pytest.raises(InstinctError) as refused:
        ripe.memory().propose(KEY, name="Test & Fix")
    assert "--name test-fix is one" in refused.value.hint


@pytest.mark.parametrize("kind", ["skill", "procedure", "rule", "memory"])
def test_a_secret_is_refused_with_the_advice_to_name_its_variable(project: Project, kind: str) -> None:
    project.observe(times=6, title="Deploy with the token")
    project.memory().consolidate()
    path = str(project.memory().show(KEY).path)
    token = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0a1B2c3D4e5F6g7H8"
    if kind in ("skill", "procedure"):
        project.write(path, project.read(path) + f"## Steps\n\n1. export TOKEN={token}\n")
    else:
        project.write(path, project.read(path).replace("Deploy with the token", f"Deploy with {token}"))
    for dry_run in (True, False):
        with pytest.raises(InstinctError) as refused:
            project.memory().propose(KEY, kind=kind, dry_run=dry_run)
        assert "name the variable that holds it" in refused.value.hint
        assert token not in refused.value.message + refused.value.hint
    assert project.git("for-each-ref", "refs/heads/instinct") == ""


def test_a_secret_that_stands_elsewhere_in_memory_md_is_not_ours_to_refuse(ripe: Project) -> None:
    token = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0a1B2c3D4e5F6g7H8"
    ripe.write("memory/MEMORY.md", f"# M\n\n- {token}\n")
    ripe.commit("bad", "memory/MEMORY.md")
    assert ripe.memory().propose(KEY, kind="rule").commit


def test_a_full_memory_file_is_refused_with_what_could_go(ripe: Project) -> None:
    ripe.write("memory/MEMORY.md", "## Key Lessons\n" + "- twice\n" * 2 + "".join(f"- line {n}\n" for n in range(197)))
    ripe.commit("full", "memory/MEMORY.md")
    with pytest.raises(InstinctError) as refused:
        ripe.memory().propose(KEY, kind="rule")
    assert "201 lines" in refused.value.message
    assert "line 3 repeats line 2" in refused.value.hint
    assert ripe.git("for-each-ref", "refs/heads/instinct") == ""


def test_the_words_of_a_skill_come_from_the_pattern_and_its_evidence(project: Project) -> None:
    project.memory().remember(
        "How we publish the blog", key="seq:write->build->publish", title="Publish the blog", kind="skill",
        steps=("write the post", "`hugo --minify`", "rsync public/ to the host"), verify="the page answers 200",
        metadata={"triggers": ["publish the blog"], "errors": ["a draft is left out: draft: false"], "prerequisites": "hugo 0.120"},
    )  # fmt: skip
    project.observe("seq:write->build->publish", metadata={"triggers": ["发布博客"]})
    project.memory().consolidate()
    text = project.memory().propose("seq:write->build->publish").text
    for words in (
        "`publish the blog`", "`发布博客`", "1. write the post", "2. `hugo --minify`", "- the page answers 200",
        "- hugo 0.120", "a draft is left out", "- Last verified in use:",
    ):  # fmt: skip
        assert words in text
    for words in ("publish the blog", "发布博客"):
        assert words in str(frontmatter.loads(text).metadata["description"])


def test_the_default_branchs_words_are_not_undone_by_an_older_working_tree(ripe: Project) -> None:
    ripe.git("switch", "-q", "-c", "old")
    ripe.git("switch", "-q", "main")
    ripe.write(PATTERN, ripe.read(PATTERN).replace("Re-run the tests", "Always re-run the tests"))
    ripe.commit("better", PATTERN)
    ripe.git("switch", "-q", "old")
    done = ripe.memory().propose(KEY)
    assert "# Always re-run the tests" in done.text
    assert "Always re-run" in ripe.git("show", f"{done.commit}:{PATTERN}")
    ripe.write(PATTERN, ripe.read(PATTERN).replace("Re-run the tests", "Mine"))
    again = ripe.memory().propose(KEY)
    assert "# Always re-run the tests" in again.text
    assert any("was changed here and on the default branch" in notice for notice in again.notices)


def test_the_command_line_shows_a_dry_run_as_diff_branch_and_body(ripe: Project, instinct: Callable[..., Ran]) -> None:
    ran = instinct("propose", KEY, "--dry-run")
    assert ran.code == 0
    for words in ("diff --git a/skills/", "+status: graduated", "+graduated_to: skills/test-fix-test/SKILL.md", "## Say no",
                  f"# would become {BRANCH}, from main"):  # fmt: skip
        assert words in ran.out
    shown = instinct("propose", KEY, "--dry-run", "--json").json
    assert (shown["branch"], shown["dry_run"], shown["commit"]) == (BRANCH, True, "")
    assert shown["items"][0]["pattern"] == KEY
    done = instinct("propose", KEY, "--json").json
    assert (done["pattern"], done["kind"], done["name"], done["files"]) == (KEY, "skill", "test-fix-test", [PATTERN, "skills/test-fix-test/SKILL.md"])  # fmt: skip
    assert instinct("propose", KEY).out.startswith("# nothing has changed")
    assert instinct("propose", KEY, "--kind", "poem").code == 2


def test_open_proposals_are_listed_here_and_from_remotes(ripe: Project) -> None:
    from instinct_git.operations.proposing import open_proposals

    first = ripe.memory().propose(KEY)
    other = ripe.clone("other")
    other.observe("fix:x", times=2, title="x")
    other.memory().consolidate()
    other.memory().propose([KEY, "fix:x"], name="both")
    other.git("branch", "instinct-else")
    found = {(one.branch, one.remote, one.keys) for one in open_proposals(other.memory()._space)}
    assert found == {(BRANCH, "origin", (KEY,)), ("instinct/batch/both", "", ("fix:x", KEY))}
    assert open_proposals(ripe.memory()._space)[0].tip == first.commit


def test_what_an_alias_or_a_retraction_says_of_the_pattern_goes_along(project: Project) -> None:
    project.git("switch", "-q", "-c", "feature")
    memory = project.memory()
    project.observe("seq:old->way", times=3)
    project.observe(KEY, times=4)
    wrong = memory.observe(KEY).id
    memory.alias("seq:old->way", KEY)
    memory.retract(wrong)
    memory.consolidate()
    assert memory.show(KEY).confidence == 7
    done = memory.propose(KEY)
    project.git("switch", "-q", "main")
    project.git("merge", "-q", done.branch)
    assert memory.show(KEY).confidence == 7
    assert project.errors() == []
    assert memory.consolidate().moved == ()


def test_the_words_that_decline_a_proposal_keep_the_no(project: Project) -> None:
    """Deleting the branch alone leaves no answer behind; what is told must."""
    project.observe(times=6, title="Re-run the tests after every fix")
    project.memory().consolidate()
    told = project.memory().propose(KEY).review
    assert f"decline: instinct reject '{KEY}' --reason \"...\"" in told
    assert not [line for line in told if "branch -D" in line]

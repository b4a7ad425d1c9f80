"""Where agents look for a skill: links in the same commit, copies where links cannot be, and words where nobody looks."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from instinct_git import Memory
from tests.builders import KEY, Project, git

SKILL = "skills/test-fix-test"
AGENTS, CLAUDE = ".agents/skills/test-fix-test", ".claude/skills/test-fix-test"


@pytest.fixture
def ripe(project: Project) -> Project:
    project.observe(times=6, title="Re-run the tests after every fix")
    project.memory().consolidate()
    return project


def link(project: Project, branch: str, path: str) -> str:
    """Return where a committed link leads; empty: it is none."""
    line = project.git("ls-tree", branch, path)
    return project.git("cat-file", "blob", line.split()[2]) if line.startswith("120000") else ""


@pytest.mark.parametrize(
    ("signs", "expected"),
    [
        (["AGENTS.md"], {AGENTS}),
        ([".agents/x"], {AGENTS}),
        (["CLAUDE.md"], {CLAUDE}),
        ([".claude/settings.json"], {CLAUDE}),
        (["AGENTS.md", ".claude/x"], {AGENTS, CLAUDE}),
        (["GEMINI.md"], set()),
    ],
)
@pytest.mark.parametrize("committed", [True, False])
def test_a_skill_is_linked_where_the_projects_agents_look(
    ripe: Project, signs: list[str], expected: set[str], committed: bool
) -> None:
    for sign in signs:
        ripe.write(sign, "x\n")
    if committed:
        ripe.commit("agents", *signs)
    done = ripe.memory().propose(KEY)
    assert {path for path in done.files if not path.startswith((".instinct", "skills"))} == expected
    for path in expected:
        assert link(ripe, done.branch, path) == f"../../{SKILL}"
    assert any("no agent reads a root skills/" in notice for notice in done.notices) == (not expected)


def test_the_link_leads_to_the_skill_once_it_has_landed(ripe: Project) -> None:
    ripe.write("CLAUDE.md", "x\n")
    ripe.commit("agents", "CLAUDE.md")
    ripe.git("merge", "-q", ripe.memory().propose(KEY).branch)
    assert ripe.read(f"{CLAUDE}/SKILL.md") == ripe.read(f"{SKILL}/SKILL.md")
    assert ripe.memory().propose(KEY).unchanged
    assert (ripe.status(), ripe.errors()) == ("", [])


@pytest.mark.parametrize(
    ("chosen", "expected"), [("none", set()), ("agents", {AGENTS}), ("claude", {CLAUDE}), ("both", {AGENTS, CLAUDE})]
)
def test_the_setting_overrides_what_is_there(ripe: Project, chosen: str, expected: set[str]) -> None:
    ripe.memory().configure("skill_links", chosen)
    done = ripe.memory().propose(KEY, dry_run=True)
    assert {path for path in done.files if not path.startswith((".instinct", "skills"))} == expected
    assert not any("root skills/" in notice for notice in done.notices)


@pytest.mark.parametrize("said", ["../skills", "../.agents/skills"])
def test_a_folder_that_is_a_link_to_a_covered_one_needs_none(ripe: Project, said: str) -> None:
    ripe.write("AGENTS.md", "x\n")
    (ripe.root / ".claude").mkdir()
    os.symlink(said, ripe.root / ".claude/skills")
    ripe.commit("agents", "AGENTS.md", ".claude")
    done = ripe.memory().propose(KEY)
    assert CLAUDE not in done.files
    assert AGENTS in done.files
    assert done.notices == ()
    ripe.git("merge", "-q", done.branch)
    assert ripe.read(f"{CLAUDE}/SKILL.md") == ripe.read(f"{SKILL}/SKILL.md")


def test_a_folder_that_is_a_link_to_elsewhere_is_named(ripe: Project) -> None:
    (ripe.root / ".claude").mkdir()
    os.symlink("/opt/skills", ripe.root / ".claude/skills")
    ripe.commit("agents", ".claude")
    done = ripe.memory().propose(KEY)
    assert CLAUDE not in done.files
    assert any(".claude/skills is no folder" in notice for notice in done.notices)


def test_an_ignored_folder_gets_no_link(ripe: Project) -> None:
    ripe.write(".gitignore", ".claude/\n")
    ripe.commit("ignore", ".gitignore")
    ripe.write(".claude/x", "x")
    done = ripe.memory().propose(KEY)
    assert CLAUDE not in done.files
    assert any(".claude/skills is ignored by git" in notice for notice in done.notices)


def test_what_a_person_keeps_under_that_name_stays(ripe: Project) -> None:
    ripe.write(f"{CLAUDE}/SKILL.md", "mine\n")
    ripe.commit("mine", ".claude")
    done = ripe.memory().propose(KEY)
    assert [path for path in done.files if path.startswith(".claude")] == []
    assert any(f"{CLAUDE} is there already" in notice for notice in done.notices)


def test_without_links_copies_are_proposed_and_kept_up_to_date(ripe: Project) -> None:
    ripe.git("config", "core.symlinks", "false")
    ripe.write("CLAUDE.md", "x\n")
    ripe.commit("agents", "CLAUDE.md")
    done = ripe.memory().propose(KEY)
    assert any("is a copy of" in notice for notice in done.notices)
    ripe.git("merge", "-q", done.branch)
    assert ripe.read(f"{CLAUDE}/SKILL.md") == ripe.read(f"{SKILL}/SKILL.md")
    ripe.observe(times=2)
    ripe.memory().consolidate()
    again = ripe.memory().propose(KEY)
    assert set(again.files) == {f"{CLAUDE}/SKILL.md", f"{SKILL}/SKILL.md"}
    ripe.git("merge", "-q", again.branch)
    ripe.write(f"{CLAUDE}/SKILL.md", "mine\n")
    ripe.commit("mine", ".claude")
    ripe.observe(times=2)
    ripe.memory().consolidate()
    assert set(ripe.memory().propose(KEY).files) == {f"{SKILL}/SKILL.md"}


@pytest.mark.parametrize(
    ("sign", "path", "said"),
    [
        ("web/CLAUDE.md", "web/.claude/skills/test-fix-test", "../../skills/test-fix-test"),
        ("CLAUDE.md", ".claude/skills/test-fix-test", "../../web/skills/test-fix-test"),
    ],
)
def test_a_memory_in_a_subfolder_is_linked_from_where_its_agents_look(
    tmp_path: Path, sign: str, path: str, said: str
) -> None:
    project = Project.new(tmp_path / "mono")
    project.write(sign, "x\n")
    project.commit("agents", sign)
    (project.root / "web").mkdir(exist_ok=True)
    (project.root / "web/.instinct/patterns").mkdir(parents=True)
    memory = Memory(project.root / "web")
    memory.init()
    for _ in range(6):
        memory.observe(KEY, title="Re-run")
    memory.consolidate()
    done = memory.propose(KEY)
    assert link(project, done.branch, path) == said
    project.git("merge", "-q", done.branch)
    assert (project.root / path / "SKILL.md").read_text() == (project.root / "web" / SKILL / "SKILL.md").read_text()
    assert memory.show(KEY).status == "graduated"
    assert memory.propose(KEY).unchanged
    pattern = (project.root / "web" / str(memory.show(KEY).path)).read_text()
    assert "graduated_to: skills/test-fix-test/SKILL.md\n" in pattern  # as every path of a memory: from its own root


@pytest.mark.parametrize(
    ("path", "kind"), [("skills", "skill"), ("memory", "rule"), ("memory/procedures", "procedure")]
)
def test_a_link_in_the_place_of_a_folder_is_refused(ripe: Project, path: str, kind: str) -> None:
    (ripe.root / path).parent.mkdir(exist_ok=True)
    os.symlink("elsewhere", ripe.root / path)
    ripe.commit("link", path)
    from instinct_git import InstinctError

    with pytest.raises(InstinctError) as refused:
        ripe.memory().propose(KEY, kind=kind)
    assert f"{path} is no folder on the default branch" in refused.value.message


def test_a_memory_file_that_no_agent_reads_is_named_so(ripe: Project) -> None:
    done = ripe.memory().propose(KEY, kind="rule", dry_run=True)
    assert any("no agent reads memory/MEMORY.md by itself" in notice for notice in done.notices)
    ripe.write("CLAUDE.md", "@memory/MEMORY.md\n")
    ripe.commit("agents", "CLAUDE.md")
    assert ripe.memory().propose(KEY, kind="rule", dry_run=True).notices == ()


def test_a_dry_run_is_a_patch_that_git_takes_and_leaves_no_object(ripe: Project) -> None:
    ripe.write("CLAUDE.md", "x\n")
    ripe.commit("agents", "CLAUDE.md")
    before = ripe.git("count-objects", "-v"), ripe.git("for-each-ref")
    shown = ripe.memory().propose(KEY, dry_run=True)
    assert (ripe.git("count-objects", "-v"), ripe.git("for-each-ref")) == before
    assert (shown.commit, shown.dry_run) == ("", True)
    git(ripe.root, "apply", "--index", "-", stdin=shown.diff)
    tree = ripe.git("write-tree")
    ripe.git("reset", "-q", "--hard")
    assert ripe.git("rev-parse", f"{ripe.memory().propose(KEY).commit}^{{tree}}") == tree

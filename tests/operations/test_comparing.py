"""duplicates, and contradictions in check, in reports and in the way of a promotion."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from instinct_git.errors import InstinctError
from instinct_git.operations.comparing import MOST_NEW
from tests.builders import Project, Ran

Instinct = Callable[..., Ran]
TABS, SPACES = "pref:indent=tabs", "pref:indent=spaces"
SETTLED = f"`instinct retire {SPACES}` or `instinct retire {TABS}` settles it"


def contradicting(project: Project) -> None:
    project.observe(TABS, 2)
    project.observe(SPACES)
    project.memory().consolidate()


def test_duplicates_lists_groups_with_their_reasons_families_and_contradictions(
    instinct: Instinct, project: Project
) -> None:
    project.observe("note:a", title="Publish the blog post")
    project.observe("note:it's", 2, title="Publishing blog posts")
    project.observe("seq:lint->test", 6)
    project.observe("seq:edit->lint->test", 1)
    project.observe(TABS)
    project.observe(SPACES)
    done = instinct("duplicates")
    assert (done.code, done.out.splitlines()) == (0, [
        "say the same (the same words):", "  note:it's", "  note:a", """  # `instinct alias note:a 'note:it'"'"'s'`""",
        "one family, told by seq:lint->test:", "  seq:edit->lint->test", "  seq:lint->test",
        "contradict (indent cannot be spaces and tabs):", f"  {SPACES}", f"  {TABS}",
        "# 1 group of near-duplicates, 1 family, 1 contradiction",
    ])  # fmt: skip
    data = instinct("duplicates", "--json").json
    assert data["groups"][0]["keys"] == ["note:it's", "note:a"]
    assert data["families"] == [{"keys": ["seq:edit->lint->test", "seq:lint->test"], "speaks": "seq:lint->test"}]
    assert data["contradictions"][0]["keys"] == [SPACES, TABS]


def test_what_is_joined_retired_or_rejected_is_no_duplicate_and_no_contradiction_any_more(project: Project) -> None:
    memory = project.memory()
    project.observe("note:a", title="Publish the blog post")
    project.observe("note:b", title="Publishing blog posts")
    project.observe("note:c", title="Never publish a blog post")
    memory.remember("Use spaces", key=SPACES)
    project.observe(TABS)
    assert {one.keys for one in memory.duplicates().contradictions} == {
        ("note:a", "note:c"), ("note:b", "note:c"), (SPACES, TABS),
    }  # fmt: skip
    memory.alias("note:b", "note:a")
    memory.consolidate()
    memory.retire("note:c")
    memory.reject(SPACES, "tabs are what we have")
    found = memory.duplicates()
    assert (found.groups, found.families, found.contradictions) == ((), (), ())


def test_check_warns_of_a_contradiction_and_says_how_it_is_settled(project: Project) -> None:
    contradicting(project)
    (found,) = [one for one in project.memory().check() if one.rule == "contradiction"]
    assert found.severity == "warning" and found.path.startswith(".instinct/patterns/pref/indent-spaces")
    assert found.message == f"{SPACES}, {TABS}: indent cannot be spaces and tabs; {SETTLED}"


def test_a_contradiction_blocks_promotion_until_a_person_settles_it(instinct: Instinct, project: Project) -> None:
    contradicting(project)
    refused = instinct("propose", TABS)
    assert (refused.code, len(refused.err.splitlines())) == (2, 2)
    assert f"error: '{TABS}' contradicts '{SPACES}': indent cannot be spaces and tabs" in refused.err
    assert f"{SETTLED}, or `instinct propose {TABS} --over {SPACES}`" in refused.err
    assert "instinct/" not in project.git("branch", "--list")
    with pytest.raises(InstinctError, match="contradicts"):
        project.memory().propose([TABS, SPACES], over=[SPACES], dry_run=True)
    project.memory().retire(SPACES)
    assert instinct("propose", TABS).code == 0


@pytest.mark.slow
def test_a_person_may_choose_one_over_the_other_and_must_name_it_rightly(instinct: Instinct, project: Project) -> None:
    contradicting(project)
    assert "contradicts nothing" in instinct("propose", TABS, "--over", "note:x", "--over", SPACES).err
    done = instinct("propose", TABS, "--over", SPACES)
    assert done.code == 0
    assert f"# proposed over {SPACES}, which says the opposite: indent cannot be spaces and tabs" in done.out


def test_an_approved_rule_and_a_skill_stand_in_the_way_too(project: Project) -> None:
    project.write("memory/MEMORY.md", "# Memory\n\n## Key Lessons\n\n- Never run the tests in docker\n")
    project.write(
        "skills/docker-tests/SKILL.md", "---\nname: docker-tests\ndescription: Run the tests in docker.\n---\n# x\n"
    )
    project.observe("note:docker", title="Run tests in docker")
    found = project.memory().duplicates().contradictions
    assert {one.keys for one in found} == {
        ("memory/MEMORY.md", "note:docker"), ("memory/MEMORY.md", "skills/docker-tests/SKILL.md"),
    }  # fmt: skip
    with pytest.raises(InstinctError) as refused:
        project.memory().propose("note:docker")
    assert "change memory/MEMORY.md settles it" in refused.value.hint


def test_the_report_tells_contradictions_and_stale_patterns_of_this_week(instinct: Instinct, project: Project) -> None:
    contradicting(project)
    project.write("a/b.py", "")
    project.observe("note:x", title="See a/b.py")
    project.commit("more")
    project.memory().consolidate()
    project.git("rm", "-q", "a/b.py")
    instinct("check", "--stale")
    report = instinct("report").out
    assert f"contradicts {TABS}" in report and "cites a/b.py, which has vanished" in report
    assert f"与 {TABS} 矛盾" in instinct("report", "--lang", "zh").out
    assert instinct("report", "--json").json["contradicting"] == [
        {"pattern": SPACES, "title": "use spaces for indent", "why": TABS}
    ]
    assert "Contradictions" not in instinct("report", "--week", "2026-W10").out


def test_a_batch_tells_of_a_new_file_that_says_what_another_one_says(project: Project) -> None:
    project.observe("note:a", title="Publish the blog post")
    assert not project.memory().consolidate().notices
    project.observe("note:b", title="Publishing blog posts")
    project.observe("note:c", title="Blog posts: publish")
    expected = (
        "note:b is new and says the same as note:a: `instinct alias note:b note:a` joins them",
        "note:c is new and says the same as note:a: `instinct alias note:c note:a` joins them",
    )
    assert project.memory().consolidate(dry_run=True).notices == expected
    assert project.memory().consolidate().notices == expected


@pytest.mark.slow
def test_many_new_files_are_left_to_duplicates(project: Project) -> None:
    from instinct_git.operations.observing import Draft

    project.memory().observe_many([Draft(f"note:{n}", title="Publish the blog post") for n in range(MOST_NEW + 1)])
    (notice,) = project.memory().consolidate().notices
    assert notice.startswith(f"{MOST_NEW + 1} new patterns: `instinct duplicates`")
    (group,) = project.memory().duplicates().groups
    assert len(group.keys) == MOST_NEW + 1


def test_what_is_remembered_twice_is_said_and_what_enters_by_itself_is_held(
    instinct: Instinct, project: Project
) -> None:
    instinct("remember", "Publish the blog post", "--key", "note:a")
    done = instinct("remember", "Publishing blog posts", "--key", "note:b")
    assert "# note:a says the same: `instinct alias note:b note:a` joins them" in done.out
    project.observe("note:c", 3, title="Blog posts: publish")
    held = project.memory().enter("note:c")
    assert held.candidate is None
    assert held.held.startswith("note:a says the same: `instinct alias note:c note:a` joins them")
    assert {one.pattern for one in project.memory().candidates()} == {"note:a", "note:b"}
    project.memory().remember("Blog posts: publish", key="note:c")
    assert len(project.memory().candidates()) == 3


def test_of_two_new_ones_that_say_the_same_the_first_enters(project: Project) -> None:
    from instinct_git.core.evidence import iso_day
    from instinct_git.core.model import Evidence
    from instinct_git.operations.entering import enter

    space = project.memory()._space
    day = space.day()
    fresh = [
        Evidence(f"{day}-7kq2m9x4tna{key}.{n}", f"note:{key}", "observed", iso_day(day), "agent", f"{n:012x}",
                 extra={"title": title})
        for key, title in (("b", "Publish the blog post"), ("c", "Publishing blog posts")) for n in range(3)
    ]  # fmt: skip
    book, _ = space.read()
    done = enter(space, book, fresh)
    (first,), (second,) = done.entered, done.held
    assert {first.key, second.key} == {"note:b", "note:c"}
    assert (second.breaker, second.until) == ("duplicates", "") and second.why.startswith(f"{first.key} says the same")


def test_nothing_of_this_is_found_in_an_empty_memory(project: Project) -> None:
    found = project.memory().duplicates()
    assert (found.groups, found.families, found.contradictions) == ((), (), ())
    assert project.memory().alike("note:x") == []


def test_what_a_link_leads_to_and_a_readme_contradict_nothing(project: Project, tmp_path: Path) -> None:
    text = "---\nname: push\ndescription: Push on Fridays\n---\n"
    project.observe("note:friday", title="Never push on Fridays")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "SKILL.md").write_text(text, encoding="utf-8")
    project.write("memory/procedures/README.md", text)
    project.write("skills/own/SKILL.md", "---\nname: own\ndescription: Nothing\n---\n")
    (project.root / "skills" / "linked").symlink_to(tmp_path / "elsewhere")
    assert project.memory().duplicates().contradictions == ()
    project.write("skills/own/SKILL.md", text)
    (found,) = project.memory().duplicates().contradictions
    assert found.keys == ("note:friday", "skills/own/SKILL.md")

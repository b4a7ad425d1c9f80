"""Contradictions: what cannot both be followed, and what only looks like it."""

from __future__ import annotations

import pytest

from instinct_git.core.contradictions import Contradiction, Statement, contradictions, of_key


def said(**texts: str) -> list[Statement]:
    return [Statement(f"note:{name}", title) for name, title in texts.items()]


def test_two_values_of_one_preference_contradict_and_spelling_does_not_matter() -> None:
    keys = ("pref:Line Length=100", "pref:indent=4", "pref:line-length=80", "pref:line_length=80")
    (found,) = contradictions(Statement(key, "") for key in keys)
    assert found.slot == "line length"
    assert found.keys == ("pref:Line Length=100", "pref:line-length=80", "pref:line_length=80")
    assert "100 and 80" in found.reason
    assert contradictions([Statement("pref:style=Black", ""), Statement("pref:style=black", "")]) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Push on Fridays", "Never push on Fridays"),
        ("Use tabs", "Avoid tabs"),
        ("Always run the tests before a push", "Don't run tests before a push"),
        ("Never push without a review", "Push without a review"),
        ("Enable the cache in CI", "Disable the cache in CI"),
        ("Commit generated files", "Generated files must not be committed"),
        ("Prefer pnpm over npm", "Prefer npm over pnpm"),
        ("Use spaces instead of tabs for indentation", "Use tabs instead of spaces for indentation"),
        ("Indent with spaces, not tabs", "Indent with tabs, not spaces"),
        ("Use spaces, not tabs", "Use tabs"),
        ("在周五发布", "不要在周五发布"),
        ("请使用制表符缩进", "禁止使用制表符缩进"),
        ("提交前运行测试", "提交前不要运行测试"),
        ("用 pnpm 而不是 npm", "用 npm 而不是 pnpm"),
    ],
)
def test_asked_for_and_forbidden_contradict_in_either_order(one: str, other: str) -> None:
    (found,) = contradictions(said(a=one, b=other))
    assert found.keys == ("note:a", "note:b")
    assert found.slot and one in found.reason and other in found.reason
    assert [one.keys for one in contradictions(said(a=other, b=one))] == [("note:a", "note:b")]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Push on Fridays", "Push on Mondays"),
        ("Never push on Fridays", "Avoid pushing on Fridays"),
        ("Never push without a review", "Push after a review"),
        ("Never push on Fridays", "Publish the weekly report on Fridays"),
        ("Use Python 3.11 for the build", "Do not use Python 3.9 for the build"),
        ("Prefer pnpm over npm", "Use pnpm instead of npm"),
        ("Iterate over files", "Never iterate over the network"),
        ("在周五发布博客", "不要在周一重启服务"),
        ("优先使用目标级别的设置，而非全局标志", "优先使用目标级的设置，而非全局标志"),
        ("Indent Python files with spaces, not tabs", "Indent Python files with spaces instead of tabs"),
        ("Use `list` instead of `List`", "Use list instead of List."),
        ("Never amend commits", "Never amend commits - make new ones, never use amend"),
        ("If the port is not set, use 8000", "If the port is set, use 8000"),
        ("Use the cache when not in CI", "Use the cache when in CI"),
        ("Implementation:", "Focus on behaviour, not implementation"),
        ("Prefer Read over cat", "Prefer outline over Read"),
        ("", "Never"),
    ],
)
def test_what_says_different_things_does_not_contradict(one: str, other: str) -> None:
    assert contradictions(said(a=one, b=other)) == []


def test_a_rule_against_a_skill_is_found_by_the_skills_name_or_its_description() -> None:
    rule = Statement("note:no-docker", "Never run the tests in docker")
    skill = Statement("skills/docker/SKILL.md", "docker", "Start the services. Run the tests in docker.")
    (found,) = contradictions([rule, skill])
    assert found.keys == ("note:no-docker", "skills/docker/SKILL.md")
    named = Statement("skills/release-checklist/SKILL.md", "release-checklist", "How we release.")
    (found,) = contradictions([Statement("note:x", "Do not use the release checklist skill"), named])
    assert named.key in found.keys


def test_a_preference_is_contradicted_by_words_too() -> None:
    (found,) = contradictions([Statement("pref:indent=tabs", ""), Statement("note:x", "Never use tabs for indent")])
    assert found.keys == ("note:x", "pref:indent=tabs")


def test_one_pattern_never_contradicts_itself() -> None:
    assert contradictions([Statement("note:a", "Skip the cache", "Use the cache. Never use the cache.")]) == []


def test_the_other_keys_of_a_contradiction_are_told_for_each() -> None:
    found = contradictions(Statement(f"pref:x={value}", "") for value in "abc")
    assert found == [Contradiction(("pref:x=a", "pref:x=b", "pref:x=c"), "x", "x cannot be a and b and c")]
    assert [other for other, _ in of_key(found, "pref:x=b")] == ["pref:x=a", "pref:x=c"]
    assert of_key(found, "pref:y=b") == []

"""`remember` in full: keys, titles, kinds, scores of one's own, and bad input. And how candidates are shown."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from instinct_git import InstinctError
from instinct_git.core.candidates import NUMBERS
from instinct_git.faces import render
from tests.builders import KEY, Project

SECRET = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"


def evidence(project: Project) -> Any:
    """The `candidate` evidence."""
    book, _ = project.memory()._space.read()
    return [one for one in book.everything if one.k == "candidate"]


# --- key and title ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "options", "key", "title"),
    [
        ("We release on Fridays", {}, "note:We release on Fridays", "We release on Fridays"),
        ("\n  \n  We release \t on Fridays \nTag first.", {}, "note:We release on Fridays", "We release on Fridays"),
        ("Tag, then push", {"title": "How we release"}, "note:How we release", "How we release"),
        ("Tag, then push", {"key": "note:release"}, "note:release", "Tag, then push"),
        ("Tag, then push", {"key": "pref:tags=signed", "title": "Signed tags"}, "pref:tags=signed", "Signed tags"),
        ("我们每周五发布博客", {}, "note:我们每周五发布博客", "我们每周五发布博客"),
        ("记住这个流程：发布博客", {}, "note:发布博客", "发布博客"),
        ("remember this: always lint first", {}, "note:always lint first", "always lint first"),
        ("make it a skill: how we release", {}, "note:how we release", "how we release"),
        ("The API: it is slow", {}, "note:The API: it is slow", "The API: it is slow"),
        ("remember this:", {}, "note:remember this:", "remember this:"),
        ("a\u200bb\u200ec", {}, "note:a b c", "a b c"),
        ("Cafe\u0301", {}, "note:Caf\u00e9", "Cafe\u0301"),
    ],
)  # fmt: skip
def test_the_key_comes_from_the_title_and_the_title_from_the_first_line(
    project: Project, text: str, options: dict[str, Any], key: str, title: str
) -> None:
    one = project.memory().remember(text, **options)
    assert one.pattern == key
    assert project.memory().show(key).title == title
    project.memory().consolidate()
    assert project.memory().show(key).title == title
    assert project.errors() == []


@pytest.mark.parametrize("text", ["发布博客的流程" * 30, "word " * 100, "é" * 300, "👩‍👩‍👧" * 60])
def test_a_long_title_is_cut_and_its_key_fits(project: Project, text: str) -> None:
    one = project.memory().remember(text)
    shown = project.memory().show(one.pattern)
    assert len(shown.title) <= 80 and shown.title.endswith("…")
    assert len(one.pattern.encode()) <= 200
    assert one.pattern.removeprefix("note:") == shown.title or len(one.pattern.encode()) > 196
    assert shown.description.startswith(text.split()[0][:20])
    project.memory().consolidate()
    assert project.errors() == []


def test_remembering_again_adds_to_the_same_candidate(project: Project) -> None:
    for _ in range(2):
        project.memory().remember("我们每周五发布博客")
    assert len(project.memory().candidates()) == 1


def test_the_alias_of_a_key_is_remembered_under_the_key_that_stands_for_it(project: Project) -> None:
    memory = project.memory()
    project.observe("note:a")
    project.observe("note:b")
    memory.alias("note:b", "note:a")
    assert memory.remember("release", key="note:b").pattern == "note:a"
    assert memory.feedback("note:b", "succeeded").pattern == "note:a"
    assert [one.pattern for one in memory.candidates()] == ["note:a"]


# --- kinds ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "options", "kind"),
    [
        ("lint and test", {"key": "seq:lint->test"}, "procedure"),
        ("remember this: lint and test", {"key": "seq:lint->test"}, "skill"),
        ("记住这个流程: 先检查", {"key": "seq:lint->test"}, "skill"),
        ("以后还会用: 先检查", {"key": "seq:lint->test"}, "skill"),
        ("import it from compat", {"key": "fix:missing-import"}, "rule"),
        ("remember this: import it from compat", {"key": "fix:missing-import"}, "rule"),
        ("we use black", {"key": "pref:style=black"}, "memory"),
        ("black and isort", {"key": "combo:black+isort"}, "memory"),
        ("we release on Fridays", {}, "memory"),
        ("封装成 Skill: 发布博客", {}, "skill"),
        ("make this a rule: tag first", {}, "rule"),
        ("make this a rule: tag first", {"kind": "procedure"}, "procedure"),
        ("lint and test", {"key": "seq:lint->test", "kind": "memory"}, "memory"),
    ],
)  # fmt: skip
def test_the_kind_by_default(project: Project, text: str, options: dict[str, Any], kind: str) -> None:
    assert project.memory().remember(text, **options).kind == kind
    project.memory().consolidate()
    assert project.memory().candidates()[0].kind == kind


# --- a score of one's own ---------------------------------------------------------------------------------------------


def test_a_score_of_ones_own_with_its_reason(project: Project) -> None:
    one = project.memory().remember("release", score="0.40", why="as the reference has it")
    assert f"{one.score:.2f}" == "0.40"
    assert one.reasons[0] == "0.40 first score: as the reference has it"


@pytest.mark.parametrize("score", ["0.35", "0.50"])
def test_the_first_score_ends_at_both_ends(project: Project, score: str) -> None:
    assert f"{project.memory().remember('release', score=score, why='w').score:.2f}" == score


def test_dimensions_of_ones_own_change_those_alone(project: Project) -> None:
    computed = project.memory().remember("release", key="note:a").dims
    one = project.memory().remember("release", key="note:b", dimensions="repeatability=1,verifiability=0.5", why="w")
    assert {name: float(value) for name, value in one.dims.items()} == {
        **{name: float(value) for name, value in computed.items()}, "repeatability": 1.0, "verifiability": 0.5,
    }  # fmt: skip
    assert one.first_score > NUMBERS.base


def test_without_one_each_dimension_has_its_reason(project: Project) -> None:
    one = project.memory().remember("release", steps=("tag", "push"), verify="the tag is there")
    for name in ("repeatability", "verifiability", "transferability", "controllable risk"):
        assert name in one.reasons[0]


def test_steps_and_verification_are_kept(project: Project) -> None:
    one = project.memory().remember("release", steps=(" tag ", "", "push"), verify=" the tag is there ")
    assert dict(project.memory().show(one.pattern).metadata) == {
        "steps": ["tag", "push"],
        "verify": "the tag is there",
    }


# --- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("", {}),
        ("release\x1b[31m", {}),
        (" \n\t \u200b\n", {}),
        ("release", {"title": "two\nlines"}),
        ("release", {"title": "bell\x07"}),
        ("release", {"key": "note:"}),
        ("release", {"key": "a\u202eb"}),
        ("release", {"key": "k" * 201}),
        ("release", {"kind": "poem"}),
        ("release", {"kind": "Skill"}),
        ("release", {"score": "0.40"}),
        ("release", {"score": "0.40", "why": "  "}),
        ("release", {"score": "0.34", "why": "w"}),
        ("release", {"score": "0.51", "why": "w"}),
        ("release", {"score": "0.400", "why": "w"}),
        ("release", {"score": "nan", "why": "w"}),
        ("release", {"dimensions": "repeatability=0.5"}),
        ("release", {"dimensions": "beauty=1", "why": "w"}),
        ("release", {"dimensions": "repeatability=1.5", "why": "w"}),
        ("release", {"dimensions": "repeatability=1,repeatability=0", "why": "w"}),
        ("release", {"score": "0.40", "why": "two\nlines"}),
        ("release", {"why": "a reason for nothing"}),
        ("release", {"steps": ("tag\x1b[2J",)}),
        ("release", {"verify": "one\ntwo"}),
        ("release", {"context": "a\x00"}),
        ("release", {"source": "a\nb"}),
        ("x" * 10_000, {}),
        ("release", {"steps": ("x" * 5000,)}),
        (f"use {SECRET}", {}),
        ("release", {"title": f"use {SECRET}"}),
        ("release", {"steps": (f"export TOKEN={SECRET}",)}),
        ("release", {"verify": SECRET}),
        ("release", {"score": "0.40", "why": SECRET}),
        ("release", {"metadata": {"a": SECRET}}),
    ],
)  # fmt: skip
def test_bad_input_is_refused_with_a_hint_and_nothing_is_written(
    project: Project, text: str, options: dict[str, Any]
) -> None:
    with pytest.raises(InstinctError) as problem:
        project.memory().remember(text, **options)
    assert problem.value.hint and len(problem.value.message) < 400
    assert SECRET not in problem.value.message + problem.value.hint
    assert project.inbox_files() == []
    assert project.memory().suggest() == []


def test_a_named_session_says_one_thing_at_most_three_times(project: Project) -> None:
    memory = project.memory()
    memory.remember("release", key="note:release")
    for session in ("one", "two"):
        for _ in range(3):
            memory.feedback("note:release", "succeeded", session=session, source="cursor")
        with pytest.raises(InstinctError, match="3 times already"):
            memory.feedback("note:release", "succeeded", session=session, source="cursor")
        memory.feedback("note:release", "failed", session=session, source="cursor")
    for _ in range(5):
        memory.feedback("note:release", "succeeded")
    assert memory.candidates()[0].successes == 11


# --- what is shown ----------------------------------------------------------------------------------------------------


def test_remembering_says_what_comes_of_it(project: Project, instinct: Callable[..., Any]) -> None:
    done = instinct("remember", "we release on Fridays")
    assert done.out.startswith("note:we release on Fridays  score=0.")
    assert done.out.endswith("# suggested in this clone from the next session on, awaiting review\n")
    project.memory().consolidate()
    project.memory().retire("note:we release on Fridays")
    assert "retired and stays silent" in instinct("remember", "we release on Fridays").out


def test_nominated_candidates_come_first_with_the_command_that_answers(
    project: Project, instinct: Callable[..., Any]
) -> None:
    memory = project.memory()
    memory.remember("new", key="note:new", score="0.50", why="w")
    memory.remember("held", key="note:held", score="0.50", why="w", steps=("git commit --no-verify",))
    memory.remember("lint", key=KEY, score="0.50", why="w")
    for _ in range(4):
        memory.feedback(KEY, "succeeded")
        memory.feedback("note:held", "succeeded")
    memory.feedback("note:held", "succeeded")
    lines = instinct("candidates").out.splitlines()
    assert [line.split()[0] for line in lines[:1] + lines[2:4]] == [KEY, "note:held", "note:new"]
    assert lines[1].startswith(f"  a person decides: instinct propose '{KEY}'  (no: instinct reject '{KEY}'")
    assert f"instinct propose '{KEY}'" in instinct("feedback", KEY, "--worked").out
    assert [one["pattern"] for one in instinct("candidates", "--json").json["candidates"]] == [
        "note:held",
        KEY,
        "note:new",
    ]


@pytest.mark.parametrize(
    ("terminal", "no_color", "coloured"), [(True, False, True), (True, True, False), (False, False, False)]
)
def test_colours_only_on_a_terminal_and_never_with_no_color(
    project: Project, monkeypatch: pytest.MonkeyPatch, terminal: bool, no_color: bool, coloured: bool
) -> None:
    memory = project.memory()
    memory.remember("a", key="note:a", score="0.50", why="w")
    memory.remember("b", key="note:b", score="0.50", why="w")
    for _ in range(4):
        memory.feedback("note:b", "succeeded")
    found = memory.candidates()
    plain = render.candidate_lines(found)
    monkeypatch.setattr("sys.stdout.isatty", lambda: terminal, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1") if no_color else monkeypatch.delenv("NO_COLOR")
    lines = render.candidate_lines(found)
    assert ("\x1b[1;32m[nominated]" in lines[0] and "\x1b[2m[collecting]" in lines[2]) == coloured
    assert (lines == plain) != coloured
    import re

    assert [re.sub("\x1b\\[[0-9;]*m", "", line) for line in lines] == plain, "the columns stay where they were"


def test_json_is_one_object_and_errors_too(project: Project, instinct: Callable[..., Any]) -> None:
    done = instinct("remember", "release", "--kind", "poem", "--json")
    assert done.code == 2 and json.loads(done.out)["error"] == "there is no kind 'poem'"
    done = instinct("remember", "release", "--steps", "tag；push; ", "--json")
    assert done.json["pattern"] == "note:release"
    assert project.memory().show("note:release").metadata["steps"] == ["tag", "push"]


@pytest.mark.parametrize(
    ("text", "description"),
    [
        ("记住这个流程: 写草稿, 检查链接, 发布", "写草稿, 检查链接, 发布"),
        ("remember this: draft, check the links, publish", "draft, check the links, publish"),
        ("draft: check the links, publish", "draft: check the links, publish"),
    ],
)
def test_the_words_that_ask_are_no_part_of_the_description(project: Project, text: str, description: str) -> None:
    project.memory().remember(text, key="note:blog", title="publishing")
    assert project.memory().show("note:blog").description == description

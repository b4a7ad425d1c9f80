"""Search as a person asks: what is found, in which order, and what is said about it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from instinct_git import Memory
from instinct_git.core.keys import pattern_path
from instinct_git.errors import InstinctError, UnknownPattern
from instinct_git.operations.observing import Draft
from tests.builders import KEY, Project

SKILL = "---\nname: publish\ndescription: Put a finished post on the blog\n---\n# Publishing\n\nRun `make site`, then push.\n"
MEMORY = (
    "# Memory\n\n## Key Lessons\n\n- Never squash the release branch\n\n## Memories\n\n### Facts\n\n- 数据库在东京\n"
)


_made: list[Path] = []


@pytest.fixture
def filled(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Patterns with and without a file, a candidate, a skill, a procedure and a memory file; made once, then copied."""
    if not _made:
        _made.append(tmp_path_factory.mktemp("filled") / "project")
        fill(Project.new(_made[0]))
    shutil.copytree(_made[0], tmp_path / "project")
    return Project(tmp_path / "project")


def fill(project: Project) -> None:
    memory = project.memory()
    memory.init()
    drafts = [
        *[Draft(KEY, title="Re-run the tests after every fix")] * 6,
        *[Draft("pref:style=black", description="Format Python with black, never by hand")] * 5,
        *[Draft("fix:missing-import")] * 2,
    ]
    memory.observe_many(drafts)
    memory.consolidate()
    memory.remember("记住这个流程: 博客发布流程")
    memory.observe("note:build the docs first")
    project.write("skills/publish/SKILL.md", SKILL)
    project.write("skills/README.md", "# not a skill: blog\n")
    project.write("memory/procedures/回滚.md", "# 部署失败时的回滚\n\n1. 找到上一个版本\n2. kubectl rollout undo\n")
    project.write("memory/MEMORY.md", MEMORY)


def found(project: Project, query: str, **options: object) -> list[str]:
    return [one.pattern for one in project.memory().search(query, **options)]  # type: ignore[arg-type]


def test_a_two_character_word_inside_a_chinese_question_finds_the_candidate(filled: Project) -> None:
    [one] = filled.memory().search("要发布博客")
    assert (one.pattern, one.kind, one.because) == ("note:博客发布流程", "candidate", "key, title, 2 of 4 words")
    [pooled] = filled.memory().candidates()
    assert one.candidate == {"kind": pooled.kind, "status": "collecting", "score": float(pooled.score)}


@pytest.mark.parametrize(
    ("query", "first"),
    [
        (KEY, KEY),
        ("pref:style=black", "pref:style=black"),
        ("style=bl", "pref:style=black"),
        ("testing", KEY),
        ("tets", KEY),
        ("blakc", "pref:style=black"),
        ("missing-imprt", "fix:missing-import"),
        ("how do I format python?", "pref:style=black"),
        ("->", KEY),
        ('"every fix"', KEY),
        ('"fix every"', KEY),  # the phrase is nowhere, so its words count
        ("a AND (b OR fix NEAR/3 tests*", KEY),
        ("finished post", "skills/publish/SKILL.md:1"),
        ("make site", "skills/publish/SKILL.md:1"),
        ("部署失败怎么办", "memory/procedures/回滚.md:1"),
        ("kubectl undo", "memory/procedures/回滚.md:1"),
        ("squash", "memory/MEMORY.md:3"),
        ("数据库", "memory/MEMORY.md:9"),
        ("东", "memory/MEMORY.md:9"),
        ("docs", "note:build the docs first"),
        ("Ｄｏｃｓ", "note:build the docs first"),
    ],
)
def test_the_first_answer(filled: Project, query: str, first: str) -> None:
    assert found(filled, query)[0] == first


@pytest.mark.parametrize(
    "query", ["!!!", "zebra crossing", "\ud800", "\0", '"', "'; drop table entries; --", "*" * 100_000]
)
def test_what_is_nowhere_is_not_found(filled: Project, query: str) -> None:
    assert found(filled, query) == []


@pytest.mark.parametrize(
    "query", ["tests " * 17_000, "测试" * 17_000, " ".join(f"w{n}" for n in range(15_000)) + " tests"]
)
def test_a_query_of_100_kb_is_answered(filled: Project, query: str) -> None:
    assert len(query) > 30_000
    found(filled, query)


@pytest.mark.parametrize("query", ["", " ", "\n\t"])
def test_an_empty_query_is_refused(filled: Project, query: str) -> None:
    with pytest.raises(InstinctError, match="the query is empty"):
        filled.memory().search(query)


def test_a_hit_has_the_numbers_of_its_file_and_what_waits(filled: Project) -> None:
    filled.observe(KEY)
    [one] = filled.memory().search(KEY, limit=1)
    assert (one.confidence, one.live, one.level, one.kind, one.scope) == (6, 7, "mature", "pattern", "project")
    assert (one.path, one.title) == (pattern_path(KEY), "Re-run the tests after every fix")
    assert one.because.startswith("exact key")
    [waiting] = filled.memory().search("docs")
    assert (waiting.confidence, waiting.live, waiting.level, waiting.path) == (0, 1, "raw", None)


def test_a_document_says_where_and_shows_the_line_that_matched(filled: Project) -> None:
    [one] = filled.memory().search("squash")
    assert (one.kind, one.path, one.line, one.level, one.live) == ("rule", "memory/MEMORY.md", 3, "", 0)
    assert one.excerpt == "Never squash the release branch"
    assert one.words == "Memory > Key Lessons — Never squash the release branch"


@pytest.mark.parametrize(
    ("options", "kinds"),
    [
        ({"kind": "skill"}, {"skill"}), ({"kind": "procedure"}, {"procedure"}), ({"kind": "rule"}, {"rule"}),
        ({"kind": "memory"}, {"memory"}), ({"kind": "candidate"}, {"candidate"}), ({"kind": "pattern"}, {"pattern", "candidate"}),
        ({"category": "preference"}, {"pattern"}), ({"level": "mature"}, {"pattern"}), ({"scope": "global"}, set()),
    ],
)  # fmt: skip
def test_filters_narrow_what_is_found(filled: Project, options: dict[str, str], kinds: set[str]) -> None:
    query = "tests black docs blog squash 数据库 博客 部署"
    hits = filled.memory().search(query, **options)  # type: ignore[arg-type]
    assert {one.kind for one in hits} == kinds
    assert len(hits) < len(filled.memory().search(query))


@pytest.mark.parametrize("options", [{"kind": "x"}, {"category": "x"}, {"level": "x"}, {"scope": "x"}])
def test_a_filter_that_is_none_is_refused_with_those_that_are(filled: Project, options: dict[str, str]) -> None:
    with pytest.raises(InstinctError) as caught:
        filled.memory().search("tests", **options)  # type: ignore[arg-type]
    assert caught.value.hint.startswith(next(iter(options)) + ": ")


def test_the_limit_counts_what_the_filters_let_through(filled: Project) -> None:
    filled.memory().observe_many([Draft(f"note:tests {n}") for n in range(30)])
    assert found(filled, "tests", limit=1, kind="pattern", level="mature") == [KEY]
    assert found(filled, "tests", limit=0) == []
    assert len(found(filled, "tests", limit=7)) == 7


def test_the_users_own_memory_is_searched_too(filled: Project, sealed: Path) -> None:
    own = Memory(scope="global")
    for _ in range(3):
        own.observe("note:tests need a display")
    own.consolidate()
    hits = filled.memory().search("tests")
    assert {(one.pattern, one.scope) for one in hits} == {(KEY, "project"), ("note:tests need a display", "global")}
    assert found(filled, "tests", scope="global") == ["note:tests need a display"]


def test_whatever_changes_is_found_at_once_and_what_goes_is_gone(filled: Project) -> None:
    assert found(filled, "zebra") == []
    path = pattern_path("pref:style=black")
    filled.write(path, filled.read(path) + "\nZebras are black and white.\n")
    filled.write("skills/zoo/SKILL.md", "---\nname: zoo\ndescription: feed the zebra\n---\n")
    assert set(found(filled, "zebra")) == {"pref:style=black", "skills/zoo/SKILL.md:1"}
    (filled.root / "skills/zoo/SKILL.md").unlink()
    (filled.root / path).unlink()
    assert found(filled, "zebra") == []


def test_a_pattern_whose_file_a_person_deleted_is_not_found_by_its_evidence(filled: Project) -> None:
    (filled.root / pattern_path(KEY)).unlink()
    filled.observe(KEY)
    assert KEY not in found(filled, KEY)


def test_an_alias_that_waits_moves_the_number_before_a_batch_does(filled: Project) -> None:
    filled.observe("note:rerun", 3)
    filled.memory().alias("note:rerun", KEY)
    [one] = filled.memory().search(KEY, limit=1)
    assert (one.confidence, one.live) == (6, 9)
    assert "note:rerun" not in found(filled, "rerun")


def test_links_to_documents_elsewhere_are_not_followed(filled: Project, tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "SKILL.md").write_text("zebra", encoding="utf-8")
    (filled.root / "skills" / "linked").symlink_to(tmp_path / "secret")
    (filled.root / "memory" / "procedures" / "linked.md").symlink_to(tmp_path / "secret" / "SKILL.md")
    assert found(filled, "zebra") == []


def test_documents_of_any_bytes_are_searched(filled: Project) -> None:
    (filled.root / "memory" / "procedures" / "odd.md").write_bytes(b"\xff\xfe zebra \xed\xa0\x80\r\n\x00")
    assert found(filled, "zebra") == ["memory/procedures/odd.md:1"]


def test_many_new_patterns_and_aliases_are_read_together(filled: Project) -> None:
    filled.memory().observe_many([Draft(f"note:zebra {n}") for n in range(45)])
    assert len(found(filled, "zebra", limit=100)) == 45
    filled.memory().alias("note:zebra 1", "note:zebra 2")
    assert len(found(filled, "zebra", limit=100)) == 44


# --- similar --------------------------------------------------------------------------------------------------------


def alike(project: Project, key: str, **options: object) -> list[str]:
    return [one.pattern for one in project.memory().similar(key, **options)]  # type: ignore[arg-type]


def test_what_is_like_a_pattern_is_found_and_itself_is_not(filled: Project) -> None:
    filled.observe("seq:fix->test", title="Run the tests after a fix")
    filled.observe("note:release on Fridays")
    assert alike(filled, KEY)[0] == "seq:fix->test"
    assert KEY not in alike(filled, KEY) and "note:release on Fridays" not in alike(filled, KEY)
    assert alike(filled, "seq:fix->test")[0] == KEY


def test_what_is_named_nearly_so_is_like_it(filled: Project) -> None:
    filled.observe("fix:missing-imports")
    [one] = filled.memory().similar("fix:missing-import", limit=1)
    assert one.pattern == "fix:missing-imports" and "nearly its key" in one.because


ORDINARY = (
    "we must not block the others", "bring it back where it was", "each one has its own", "nothing works today",
    "what is the right time to ask", "apply what you learned", "keep calm and carry on",
)  # fmt: skip


@pytest.mark.parametrize("query", ORDINARY)
def test_ordinary_words_are_no_slip_of_a_key(filled: Project, query: str) -> None:
    filled.observe("note:apple", title="Fruit")
    assert found(filled, query) == []


@pytest.mark.parametrize(
    ("query", "key"),
    [
        ("what about the formatter", "pref:style=black"), ("is this a fix for the missing improt", "fix:missing-import"),
        ("where is the publisher", "skills/publish/SKILL.md:1"), ("why is there a rule on squashment", "memory/MEMORY.md:3"),
    ],
)  # fmt: skip
def test_a_word_that_stands_nowhere_asks_for_what_it_is_made_from_or_a_slip_of(
    filled: Project, query: str, key: str
) -> None:
    assert key in found(filled, query)


def test_what_is_asked_for_is_found_behind_any_number_of_better_answers_of_another_kind(filled: Project) -> None:
    memory = filled.memory()
    memory.observe_many([Draft("pref:formatter=ruff")] * 5)
    memory.consolidate()
    for number in range(30):
        text = f"---\nname: s{number}\ndescription: Format python code\n---\n# Format python code\n\nDo it.\n"
        filled.write(f"skills/s{number}/SKILL.md", text)
    query = "how do we format the code of python"
    assert "pref:formatter=ruff" not in found(filled, query, limit=50)
    for options in ({"kind": "pattern"}, {"category": "preference"}, {"level": "mature"}):
        assert "pref:formatter=ruff" in found(filled, query, **options)
    assert found(filled, query, kind="skill", level="mature") == []


def test_a_document_is_named_as_search_names_it(filled: Project) -> None:
    filled.observe("note:publish the post on the blog with make site", title="Publishing a post")
    assert alike(filled, "skills/publish/SKILL.md:1")[0] == "note:publish the post on the blog with make site"
    assert alike(filled, "skills/publish/SKILL.md") == alike(filled, "skills/publish/SKILL.md:1")


def test_chinese_patterns_are_alike_by_their_pairs(filled: Project) -> None:
    filled.observe("note:发布博客的步骤")
    assert alike(filled, "note:博客发布流程") == ["note:发布博客的步骤"]


@pytest.mark.parametrize("key", ["fix:missing-imprt", "skills/publish/SKILL.md:x", "", "\ud800", "memory/MEMORY.md:0"])
def test_similar_to_what_is_not_there_is_refused(filled: Project, key: str) -> None:
    with pytest.raises(UnknownPattern) as caught:
        filled.memory().similar(key)
    assert caught.value.hint
    if key.startswith("fix:"):
        assert "fix:missing-import" in caught.value.hint


def test_similar_in_another_scope_compares_with_a_pattern_of_this_one(filled: Project) -> None:
    own = Memory(scope="global")
    own.observe("seq:fix->test", title="Run the tests after a fix")
    assert alike(filled, KEY, scope="global") == ["seq:fix->test"]

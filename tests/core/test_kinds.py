"""Four kinds, each from what the pattern file says: nothing invented, nothing left as a template, nothing unsafe."""

from __future__ import annotations

import frontmatter
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from instinct_git import InstinctError
from instinct_git.core import body, proposal
from instinct_git.core.kinds import memory_line, procedure, procedure_path, rule_line
from instinct_git.core.markdown import outline
from instinct_git.core.memory_file import DECISIONS, FACTS, KEY_LESSONS, PREFERENCES, add_line
from instinct_git.core.model import Tally
from instinct_git.core.pattern import PatternFile
from instinct_git.core.proposal import skill, skill_name, skill_problems

TALLY = Tally(evidence=9)


def pattern(key: str = "seq:test->commit", **given: object) -> PatternFile:
    """Return a pattern file as read."""
    category = {"pref": "preference", "fix": "fix_pattern", "note": "note"}.get(key.partition(":")[0], "sequence")
    one = PatternFile("p.md", "", key, category, 8, 8, "mature", "2026-03-01", "2026-03-29", ("codex", "cursor"))
    return one._replace(**given)


def part(text: str, label: str) -> str:
    """Return the text below a heading of level 2; empty when there is none."""
    after = ("\n" + text).partition(f"\n## {label}\n")[2]
    return after.partition("\n## ")[0].strip()


def of(one: PatternFile) -> str:
    text = skill(one, TALLY, 3, "a-name").text
    assert skill_problems(text, "a-name") == []
    return text


@pytest.mark.parametrize(
    ("key", "says"),
    [
        ("seq:test->commit", "- You make a change that is to be committed: the work goes from `test` to `commit`."),
        (
            "seq:test->fix->test",
            "- You make a change that must pass the tests: the work goes from `test` through `fix` to `test`.",
        ),
        (
            "seq:brew->serve-tea",
            "- The work is to end with the step `serve-tea`: the work goes from `brew` to `serve-tea`.",
        ),
        ("seq:deploy", "- Something is to be deployed: the step is `deploy`."),
        ("fix:missing-import", "- A command or a tool reports the problem `missing-import`."),
        ("pref:style=black", "- There is a choice of style in this project."),
    ],
)
def test_when_to_use_says_what_for(key: str, says: str) -> None:
    text = of(pattern(key))
    assert part(text, "When to use") == says
    description = str(frontmatter.loads(text).metadata["description"])
    assert "Use when " + says[2:3].lower() + says[3:].rstrip(".") in description


@pytest.mark.parametrize("triggers", [["ship it", "发布"], "ship it, 发布", "ship it；发布", "- ship it\n- 发布"])
def test_trigger_words_are_listed_and_reach_the_description(triggers: object) -> None:
    text = of(pattern(metadata={"triggers": triggers}))
    assert part(text, "When to use").endswith("- Somebody asks for it: `ship it`, `发布`.")
    assert "ship it, 发布" in str(frontmatter.loads(text).metadata["description"])


def test_trigger_words_survive_a_long_description() -> None:
    text = of(pattern(description="word " * 400, metadata={"triggers": ["ship it"]}))
    assert "ship it" in str(frontmatter.loads(text).metadata["description"])


BODY = """Intro.

## {when}

- Before a release.

## {before}

- A clean tree.

## {steps}

1. `make test`

   ```sh
   # no heading
   git commit -m x
   ```
2. Look.

### Detail

Inside.

## {verify}

- `git log` shows it.

## {errors}

- `boom`: again.
"""


@pytest.mark.parametrize(
    "names",
    [
        ("When to use", "Prerequisites", "Steps", "Verify", "Known errors"),
        ("When", "Requirements:", "1. Procedure", "How to verify", "What goes wrong"),
        ("使用场景", "前提", "步骤", "验证", "常见错误"),
        ("🎯 When it applies", "前置条件", "操作步骤：", "**Verification**", "Pitfalls"),
    ],
)
def test_sections_of_the_body_move_to_their_places(names: tuple[str, ...]) -> None:
    text = of(
        pattern(body=BODY.format(**dict(zip(("when", "before", "steps", "verify", "errors"), names, strict=True))))
    )
    assert part(text, "When to use") == "- Before a release."
    assert part(text, "Prerequisites") == "- A clean tree."
    assert part(text, "Steps").startswith(
        "1. `make test`\n\n   ```sh\n   # no heading\n   git commit -m x\n   ```\n2. Look."
    )
    assert part(text, "Steps").endswith("### Detail\n\nInside.")
    assert part(text, "Verification") == "- `git log` shows it.\n- Last verified in use: 2026-03-29."
    assert part(text, "Known errors") == "- `boom`: again."
    assert part(text, "Notes") == "Intro."
    assert text.count("make test") == 1


def test_metadata_speaks_where_the_body_is_silent() -> None:
    given = {"errors": "a: b; c", "prerequisites": ["git"], "steps": ["build", "# ship"], "verify": "it is green"}
    text = of(pattern(metadata=given))
    assert part(text, "Known errors") == "- a: b\n- c"
    assert part(text, "Prerequisites") == "- git"
    assert part(text, "Steps") == "1. build\n2. \\# ship"
    assert part(text, "Verification").startswith("- it is green\n")


def test_a_numbered_list_without_a_heading_is_the_steps() -> None:
    text = of(pattern(body="As ever:\n\n1. one\n   more\n2. two\n\nThen rest.\n"))
    assert part(text, "Steps") == "1. one\n   more\n2. two"
    assert part(text, "Notes") == "As ever:\n\n\nThen rest."


def test_what_is_unknown_is_left_out() -> None:
    one = pattern("note:keep-calm", last_seen="", first_seen="", sources=())
    for text in (of(one), procedure(one, TALLY, "keep-calm")):
        labels = [line for line in text.splitlines() if line.startswith("## ")]
        assert not {"## Verification", "## Known errors", "## Common errors", "## Prerequisites", "## Notes"} & set(
            labels
        )
        assert "reviewer" not in text
        for label in labels:
            assert part(text, label[3:])


@pytest.mark.parametrize(
    "hostile",
    [
        "---\nname: other\n---\n\ntext",
        "text\n---\n\n---\nname: x\n---",
        "```yaml\nnever: closed",
        "<!-- never closed\n## Boundaries",
        "## Steps\n```\nopen\n\n## Verify\n- in code",
        "# Boundaries\n\n- There are none.\n# Notes",
        "## Steps\n---\n",
        "\ufeff---\r\na: b\r\n---\r\n",
    ],
)
def test_a_body_is_data(hostile: str) -> None:
    for text in (of(pattern(body=hostile)), procedure(pattern(body=hostile), TALLY, "n")):
        rest = text.partition("\n---\n")[2]
        assert "\n---" not in rest
        assert outline(rest).open_at == len(outline(rest).lines)
        assert text.endswith("\n")
        assert "\r" not in text and "\ufeff" not in text
    boundaries = part(of(pattern(body=hostile)), "Boundaries")
    assert boundaries.startswith("- A person's instruction comes first")


def test_titles_and_descriptions_are_one_line() -> None:
    for text in (
        of(pattern(title="a\n---\n# b <x>", description="# c\n---\n\nd")),
        procedure(pattern(title="a\n---\n<b>"), TALLY, "n"),
    ):
        assert "\n---" not in text.partition("\n---\n")[2]
        assert "\n# b" not in text and "\n# c" not in text


LINES = st.sampled_from(
    ["# A", "## Steps", "## 验证", "### Errors", "Why", "-----", "---", "***", "", "", "- a", "1. b", "2. c", "   d", "```", "~~~",
     "```sh", "  ```", "<!--", "-->", "<b>", "===", "> q", "a: b"]
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(LINES, max_size=16).map("\n".join))
@example("1. b\n1. b\n  ```\n# A\n  ```")
@example("## Steps\n- a\n## Steps\n  ```\n## Steps")
@example("## Steps\n- a\n## Steps\n  ```\n## Steps\n  ```")
def test_whatever_the_body_the_skill_is_whole(text: str) -> None:
    made = skill(pattern(body=text), TALLY, 1, "a-name").text
    assert skill_problems(made, "a-name") == []
    rest = made.partition("\n---\n")[2]
    page = outline(rest)
    assert page.open_at == len(page.lines)
    order = ["When to use", "Prerequisites", "Steps", "Verification", "Known errors", "Boundaries", "Notes"]
    labels = [one.title for one in page.headings if one.level <= 2][1:]
    assert labels == [label for label in order if label in labels]
    for label in ("When to use", "Steps", "Verification", "Boundaries"):
        assert label in labels


def test_a_procedure_is_what_the_file_says() -> None:
    one = pattern(
        title="Publish <a post>",
        description="How we publish.",
        body="## Steps\n\n1. `make post`\n\n## 常见错误\n\n- none yet known\n",
    )
    text = procedure(one, TALLY, "publish-post")
    head = frontmatter.loads(text).metadata
    assert (head["type"], head["name"], head["title"]) == ("Procedure", "publish-post", "Publish (a post)")
    assert head["metadata"]["instinct-pattern"] == "seq:test->commit"
    assert head["metadata"]["instinct-evidence"] == "9"
    assert all(isinstance(value, str) for value in head["metadata"].values())
    assert "\n# Publish <a post>\n\nHow we publish.\n" in text
    assert part(text, "Steps") == "1. `make post`"
    assert part(text, "Common errors") == "- none yet known"
    assert procedure_path("publish-post") == "memory/procedures/publish-post.md"


@pytest.mark.parametrize(
    ("one", "line"),
    [
        (
            pattern(title="Test first.", description="Tests lie less."),
            "Test first: Tests lie less (`seq:test->commit`)",
        ),
        (
            pattern(title="Test first", metadata={"why": "it saves a day"}),
            "Test first: it saves a day (`seq:test->commit`)",
        ),
        (pattern(title="Test first", body="## 原因\n\n- 快\n"), "Test first: 快 (`seq:test->commit`)"),
        (
            pattern(title="Same", description="same."),
            "Same: learned from use from 2026-03-01 to 2026-03-29 by codex, cursor (`seq:test->commit`)",
        ),
        (pattern("fix:a`b", first_seen="", last_seen=""), "Known fix for a`b (`` fix:a`b ``)"),
        (
            pattern(title="a\nb", description="x " * 300),
            "a b: " + ("x " * 300)[:239].rstrip() + "… (`seq:test->commit`)",
        ),
    ],
)
def test_a_rule_is_one_line_with_its_why_and_its_key(one: PatternFile, line: str) -> None:
    assert rule_line(one) == line
    text = add_line("", KEY_LESSONS, rule_line(one))
    assert add_line(text, KEY_LESSONS, rule_line(one)) == text


@pytest.mark.parametrize(
    ("one", "section"),
    [
        (pattern("pref:style=black"), PREFERENCES),
        (pattern("note:x"), FACTS),
        (pattern("note:x", title="We decided to use black"), DECISIONS),
        (pattern("note:决定用 black"), DECISIONS),
        (pattern("note:x", tags=("decision",)), DECISIONS),
        (pattern("pref:a=b", metadata={"section": "Facts"}), FACTS),
    ],
)
def test_a_memory_names_its_section(one: PatternFile, section: str) -> None:
    assert memory_line(one)[0] == section
    assert "\n" not in memory_line(one)[1]


@pytest.mark.parametrize(
    ("key", "title", "name"),
    [
        ("seq:test->fix->test", "", "test-fix-test"),
        ("combo:a+b", "", "a-b"),
        ("note:发布 blog", "", "blog"),
        ("note:发布 ab", "", ""),
        ("note:发布", "Publish the blog", "publish-the-blog"),
        ("note:发布", "发布博客", ""),
        ("note:发布", "用 CI 发布", ""),
        ("note:42", "", ""),
        ("note:con", "", "con-skill"),
        ("note:Crème brûlée", "", "creme-brulee"),
        ("部署", "", ""),
    ],
)
def test_a_name_is_latin_or_asked_for(key: str, title: str, name: str) -> None:
    if name:
        assert skill_name(key, title=title) == name
        return
    with pytest.raises(InstinctError) as refused:
        skill_name(key, title=title)
    assert "--name" in refused.value.hint


def test_a_wrong_name_is_answered_with_a_valid_one() -> None:
    with pytest.raises(InstinctError) as refused:
        skill_name("note:x", "Release Check_List")
    assert "--name release-check-list" in refused.value.hint
    with pytest.raises(InstinctError) as refused:
        skill_name("note:x", "发布")
    assert "one" not in refused.value.hint
    with pytest.raises(InstinctError):
        skill_name("note:x", "nul")


def test_a_body_is_read_by_section() -> None:
    known = body.read(pattern(body="## Steps\n\na\n\n## Steps\n\nb\n\n# Else\n\nc\n\n## Notes\n\nd\n"))
    assert known.steps == "a\n\nb"
    assert known.notes == "### Else\n\nc\n\nd"
    assert proposal.STEPS["test"] == "Run the tests."


def test_characters_that_nobody_sees_reach_no_document() -> None:
    hidden = "\u200b\u202e\U000e0041"
    one = pattern(
        title=f"Test{hidden} first", description=f"Tests{hidden} lie less", body=f"## Steps\n\n1. run{hidden} it\n"
    )
    for text in (
        skill(one, TALLY, 3, "a-name").text,
        procedure(one, TALLY, "a-name"),
        rule_line(one),
        memory_line(one)[1],
    ):
        assert not set(hidden) & set(text)
    assert "1. run it" in of(one)
    assert "👩‍🔬" in rule_line(pattern(title="Ask 👩‍🔬 first"))  # a joiner inside of an emoji is seen


def test_a_changed_word_is_told_from_the_text_alone() -> None:
    text = of(pattern(title="Test first"))
    assert proposal.untouched(text)
    assert proposal.untouched(text.replace("\n", "\r\n"))
    assert not proposal.untouched(text.replace("Test first", "Test last"))
    assert not proposal.untouched(text.replace("instinct-digest", "digest"))
    assert proposal.origin(text) == "seq:test->commit"
    assert proposal.origin("no front matter") == ""
    assert proposal.untouched(procedure(pattern(), TALLY, "a-name"))

"""MEMORY.md is edited in place: the shapes are those of real memory files, rebuilt by hand."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from instinct_git import InstinctError
from instinct_git.core.memory_file import (
    DECISIONS,
    FACTS,
    KEY_LESSONS,
    MAX_BYTES,
    MAX_LINES,
    PREFERENCES,
    SECTIONS,
    add_line,
    budget,
    new_text,
    remove_line,
)
from instinct_git.errors import InvalidDocument

NEW = "Run the tests: they lie less (`seq:test->fix`)"
ITEM = f"- {NEW}\n"


def parts(before: str, after: str) -> tuple[str, str, str]:
    """Return (kept prefix, what was added, kept suffix); fails when anything of `before` is gone."""
    start = next(
        (i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), min(len(before), len(after))
    )
    for at in range(start, -1, -1):
        if after.endswith(before[at:]) and len(after) >= len(before):
            return before[:at], after[at : len(after) - (len(before) - at)], before[at:]
    raise AssertionError(f"bytes are gone: {before!r} -> {after!r}")


@pytest.mark.parametrize(
    ("before", "section", "after"),
    [
        pytest.param("## Key Lessons\n\n- a\n\n## Memories\n", KEY_LESSONS, f"## Key Lessons\n\n- a\n{ITEM}\n## Memories\n", id="after the last item"),
        pytest.param("## Key Lessons\n\n* a\n* b\n", KEY_LESSONS, f"## Key Lessons\n\n* a\n* b\n* {NEW}\n", id="bullet of the section"),
        pytest.param("## Key Lessons\n1. a\n2. b\n", KEY_LESSONS, f"## Key Lessons\n1. a\n2. b\n3. {NEW}\n", id="numbered"),
        pytest.param("## Key Lessons\n- a\n  - nested\n\n  more\n", KEY_LESSONS, f"## Key Lessons\n- a\n  - nested\n\n  more\n{ITEM}", id="nested item"),
        pytest.param("## Key Lessons\n- a\nlazy\n\nText.\n", KEY_LESSONS, f"## Key Lessons\n- a\nlazy\n{ITEM}\nText.\n", id="lazy line"),
        pytest.param("## Key Lessons\n- a\n  ```\n  # x\n  ```\n", KEY_LESSONS, f"## Key Lessons\n- a\n  ```\n  # x\n  ```\n{ITEM}", id="code in an item"),
        pytest.param("# M\n\n## Key Lessons\n\nText.\n\n---\n\n## Next\n", KEY_LESSONS, f"# M\n\n## Key Lessons\n\nText.\n\n{ITEM}\n---\n\n## Next\n", id="before a rule"),
        pytest.param("## Key Lessons\n## Next\n", KEY_LESSONS, f"## Key Lessons\n\n{ITEM}\n## Next\n", id="empty section"),
        pytest.param("## Key Lessons", KEY_LESSONS, f"## Key Lessons\n\n- {NEW}", id="no line end at the end"),
        pytest.param("## Key Lessons\n- a", KEY_LESSONS, f"## Key Lessons\n- a\n- {NEW}", id="no line end after an item"),
        pytest.param("## Key Lessons\n- a\n\n\n", KEY_LESSONS, f"## Key Lessons\n- a\n{ITEM}\n\n", id="blank lines at the end"),
        pytest.param("## 🧠 **Key lessons:**\n- a\n", KEY_LESSONS, f"## 🧠 **Key lessons:**\n- a\n{ITEM}", id="emoji and marks"),
        pytest.param("Key Lessons\n-----------\n- a\n", KEY_LESSONS, f"Key Lessons\n-----------\n- a\n{ITEM}", id="underlined heading"),
        pytest.param("## Key Lessons\n\n| a | b |\n|---|---|\n| 1 | 2 |\n", KEY_LESSONS, f"## Key Lessons\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n{ITEM}", id="table"),
        pytest.param("## Key Lessons\n- a\n### Sub\n- b\n", KEY_LESSONS, f"## Key Lessons\n- a\n{ITEM}### Sub\n- b\n", id="own items, not a subsection's"),
        pytest.param("```\n## Key Lessons\n```\n", KEY_LESSONS, f"```\n## Key Lessons\n```\n\n## Key Lessons\n\n{ITEM}", id="heading in a fence"),
        pytest.param("<!--\n## Key Lessons\n-->\n", KEY_LESSONS, f"<!--\n## Key Lessons\n-->\n\n## Key Lessons\n\n{ITEM}", id="heading in a comment"),
        pytest.param("# M\n\n```\n## Key Lessons\n", KEY_LESSONS, f"# M\n\n## Key Lessons\n\n{ITEM}\n```\n## Key Lessons\n", id="fence that never ends"),
        pytest.param("---\n\n# M\n\n---\n\n## Key Lessons\n- a\n", KEY_LESSONS, f"---\n\n# M\n\n---\n\n## Key Lessons\n- a\n{ITEM}", id="rule at the beginning"),
        pytest.param("---\ntype: Memory\n---\n", KEY_LESSONS, f"---\ntype: Memory\n---\n\n## Key Lessons\n\n{ITEM}", id="front matter alone"),
        pytest.param("\ufeff## Facts\r\n\r\n- a\r\n", FACTS, f"\ufeff## Facts\r\n\r\n- a\r\n- {NEW}\r\n", id="BOM and CRLF"),
        pytest.param("Only words.\n", FACTS, f"Only words.\n\n## Memories\n\n### Facts\n\n{ITEM}", id="no heading at all"),
        pytest.param("## Memories\n\nText.\n\n## Links\n", FACTS, f"## Memories\n\nText.\n\n### Facts\n\n{ITEM}\n## Links\n", id="new section below Memories"),
        pytest.param("## Memories\n\n### Decisions\n- d\n", FACTS, f"## Memories\n\n### Facts\n\n{ITEM}\n### Decisions\n- d\n", id="in its order"),
        pytest.param("# Facts\n- a\n# End\n", DECISIONS, f"# Facts\n- a\n\n# Decisions\n\n{ITEM}\n# End\n", id="level of its neighbour"),
        pytest.param("# M\n\n# Memories\n\n# End\n", KEY_LESSONS, f"# M\n\n# Key Lessons\n\n{ITEM}\n# Memories\n\n# End\n", id="lessons before memories"),
        pytest.param("## Facts\n- x\n## Memories\n### Facts\n- a\n", FACTS, f"## Facts\n- x\n## Memories\n### Facts\n- a\n{ITEM}", id="the one below Memories"),
        pytest.param("## 偏好\n- a\n", PREFERENCES, f"## 偏好\n- a\n{ITEM}", id="Chinese"),
        pytest.param("## Facts\n\nNone yet.\n\n## End\n", FACTS, f"## Facts\n\n{ITEM}\n## End\n", id="placeholder alone"),
        pytest.param("## Facts\n\nFacts of ours. None yet.\n", FACTS, f"## Facts\n\nFacts of ours. None yet.\n\n{ITEM}", id="placeholder in a sentence"),
    ],
)  # fmt: skip
def test_a_line_goes_where_one_would_look_for_it(before: str, section: str, after: str) -> None:
    assert add_line(before, section, NEW) == after
    assert add_line(after, section, NEW) == after


def test_a_new_file_has_front_matter_and_sections_as_they_come() -> None:
    text = ""
    for section in reversed(SECTIONS):
        text = add_line(text, section, f"of {section}")
    assert text.startswith("---\ntype: Memory\n---\n# ")
    assert [line for line in text.splitlines() if line.startswith("##")] == [
        "## Key Lessons", "## Memories", "### Preferences", "### Facts", "### Decisions",
    ]  # fmt: skip
    assert "##" not in new_text()


@pytest.mark.parametrize(
    "said", ["- Use  black", "* use BLACK", "  + use\n    black", "1. Use black", "Use black", "- use\tblack"]
)
def test_what_the_file_says_already_changes_nothing(said: str) -> None:
    text = f"## Key Lessons\n\n{said}\n"
    assert add_line(text, FACTS, "- Use black") == text


@pytest.mark.parametrize(
    ("line", "written"),
    [
        ("# heading", "- \\# heading"),
        ("```sh", "- \\```sh"),
        ("---", "- \\---"),
        ("<!-- hidden", "- \\<!-- hidden"),
        ("see <!-- x", "- see \\<!-- x"),
        ("> quote", "- \\> quote"),
        ("1. one", "- 1\\. one"),
        ("a\nb\u2028c", "- a b c"),
        ("- a", "- a"),
        ("`key` first", "- `key` first"),
    ],
)
def test_nothing_in_a_line_begins_a_block(line: str, written: str) -> None:
    text = add_line("## Facts\n", FACTS, line)
    assert text == f"## Facts\n\n{written}\n"
    assert add_line(text, FACTS, line) == text
    assert remove_line(text, line) == "## Facts\n\n"


@pytest.mark.parametrize("line", ["", "  \n", "- ", "a\x00b", "a\x1b[31mb", "\ud83d"])
def test_lines_that_are_none_are_refused(line: str) -> None:
    with pytest.raises(InstinctError):
        add_line("", FACTS, line)


def test_an_unknown_section_names_ours() -> None:
    with pytest.raises(InstinctError) as refused:
        add_line("", "Diary", "a")
    assert "Key Lessons" in refused.value.hint


def test_a_file_in_conflict_is_left_alone() -> None:
    with pytest.raises(InvalidDocument, match=r"MEMORY\.md:2: conflict markers"):
        add_line("## Facts\n<<<<<<< ours\n- a\n=======\n- b\n>>>>>>> theirs\n", FACTS, "c")


def test_removing_takes_the_item_with_its_lines_and_nothing_else() -> None:
    text = "## Facts\r\n- a\r\n- Use black\r\n  always\r\n- b"
    assert remove_line(text, "use Black always") == "## Facts\r\n- a\r\n- b"
    assert remove_line(text, "b") == "## Facts\r\n- a\r\n- Use black\r\n  always"
    assert remove_line(text, "nowhere") == text
    assert remove_line("```\n- b\n```\n", "b") == "```\n- b\n```\n"


def test_the_budget_is_what_agents_load_from_both_sides() -> None:
    full = "## Facts\n\n" + "".join(f"- fact {n}\n" for n in range(MAX_LINES - 3))
    assert budget(add_line(full, FACTS, "the last"))[:3] == (MAX_LINES, len(full) + 11, False)
    with pytest.raises(InstinctError) as refused:
        add_line(add_line(full, FACTS, "the last"), FACTS, "one more")
    assert "201 lines" in refused.value.message
    room = MAX_BYTES - len("## Facts\n\n") - 3
    assert budget(add_line("## Facts\n", FACTS, "é" * (room // 2))).over is False
    with pytest.raises(InstinctError, match="25000"):
        add_line("## Facts\n", FACTS, "é" * (room // 2 + 1))


def test_what_could_go_is_named_repeated_lines_first() -> None:
    text = "## Facts\n- Same  thing\n- other\n- same thing\n- " + "long " * 40 + "\n" + "- x\n" * 200
    now = budget(text)
    assert now.over
    assert now.advice[0] == "line 4 repeats line 2 (same thing)"
    assert any(one.startswith("line 5 is 202 bytes long (- long long") for one in now.advice)
    with pytest.raises(InstinctError) as refused:
        add_line(text, FACTS, "new")
    assert "line 4 repeats line 2" in refused.value.hint
    assert remove_line(text, "x").count("\n") == 5


LINES = st.sampled_from(
    ["# M", "## Key Lessons", "## Memories", "### Facts", "## Facts", "# Decisions ##", "Words", "=====", "---", "***", "", "", "  ",
     "- a", "- b", "  - c", "    deep", "1. n", "* s", "```", "~~~~", "  ```sh", "- ```", "<!-- x -->", "<!--", "-->", "| a |",
     "|---|", "type: Memory", "- [ ] box", "None yet.", "> q", "\u2028", "é🧠"]
)  # fmt: skip
TEXTS = st.builds(
    lambda bom, lines, end, last: bom + end.join(lines) + (end if last else ""),
    st.sampled_from(["", "\ufeff"]), st.lists(LINES, max_size=14), st.sampled_from(["\n", "\r\n"]), st.booleans(),
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(TEXTS, st.sampled_from(SECTIONS))
def test_every_byte_outside_the_added_line_is_kept(text: str, section: str) -> None:
    after = add_line(text, section, NEW)
    if not text:
        return
    if "None yet." not in text:
        _, added, _ = parts(text, after)
        assert added.count(NEW) == 1
        new = Counter(after.replace("\r", "").split("\n")) - Counter(text.replace("\r", "").split("\n"))
        assert [line for line in new if line.strip() and NEW not in line and line.lstrip("\ufeff")[:1] != "#"] == []
    assert after.endswith("\n") == text.endswith("\n") or not text.strip("\ufeff")
    assert "\r\n" not in text or "\n" not in after.replace("\r\n", "")
    assert add_line(after, section, f"  {NEW.upper()} ") == after


@settings(max_examples=200, deadline=None)
@given(TEXTS)
def test_removing_what_was_added_to_a_list_gives_the_file_back(text: str) -> None:
    before = "## Key Lessons\n- first\n\n" + text.removeprefix("\ufeff")
    assert remove_line(add_line(before, KEY_LESSONS, NEW), NEW) == before

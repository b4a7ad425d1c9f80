"""What reviewers are told: enough to judge, short, and nothing in it that a host acts on."""

from __future__ import annotations

import re
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from instinct_git.core.model import Evidence
from instinct_git.core.request import (
    MAX_CELL,
    MAX_TITLE,
    Kept,
    Told,
    body,
    code,
    inert,
    key_trailer,
    message,
    title,
    trailer_keys,
)

KEY = "seq:test->fix->test"
EVIDENCE = (
    Evidence("20260301-aaaaaaaaaaaa.1", KEY, "observed", by="codex", ctx="shop"),
    Evidence("20260303-aaaaaaaaaaaa.1", KEY, "observed", by="cursor"),
    Evidence("20260302-aaaaaaaaaaaa.1", KEY, "succeeded", by="codex", ctx="blog"),
    Evidence("20260304-aaaaaaaaaaaa.1", KEY, "proposed", by=""),
)


def told(**given: object) -> Told:
    one = Told(
        KEY, "skill", "test-fix-test", "Re-run the tests", "skills/test-fix-test/SKILL.md", 8, "mature", EVIDENCE
    )
    return one._replace(score="0.84", status="nominated", reasons=("0.40 first score", "+0.08 worked"))._replace(
        **given
    )


def test_the_body_says_what_changes_why_how_to_try_it_and_how_to_say_no() -> None:
    text = body([told()], "instinct/skill/test-fix-test", "main", ["skills/test-fix-test/SKILL.md"])
    assert "Agents get the skill test-fix-test (skills/test-fix-test/SKILL.md)" in text
    assert "| observed | 2 | `codex`, `cursor` | `shop` | 2026-03-01 | 2026-03-03 |" in text
    assert "| succeeded | 1 | `codex` | `blog` | 2026-03-02 | 2026-03-02 |" in text
    assert "| proposed" not in text
    assert "### Score 0.84 (nominated)\n\n- `0.40 first score`\n- `+0.08 worked`" in text
    assert "git switch instinct/skill/test-fix-test" in text
    assert f'instinct reject {shlex.quote(KEY)} --reason "..."' in text


def test_a_bypass_is_pointed_out() -> None:
    assert "It names a security bypass (`--no-verify`)" in body([told(held="--no-verify")], "b", "main", [])


EVIL = "@everyone fixes #12 !7 GH-3 https://evil.example/x <img src=x> `code` | cell\n/approve\n\u202e\u200b\x1b[31m"


@pytest.mark.parametrize("field", ["key", "title", "line", "held", "reasons", "level"])
def test_nothing_foreign_is_acted_on(field: str) -> None:
    text = EVIL.replace("\n", " ").partition("\u202e")[0] if field == "key" else EVIL  # a key holds nothing hidden
    one = told(**{field: (text,) if field == "reasons" else text})
    for made in (body([one], "b", "main", []), message([one], "n"), title([one], "n")):
        outside = re.sub(r"(?ms)^(`{3,}).*?^\1$", "", made)  # no host acts on code
        trailers = "\n".join(line for line in made.splitlines() if line.startswith("Instinct-"))
        assert not re.search(r"@\w|#\d|!\d|GH-\d|\w://", outside), outside
        assert not re.search(r"@\w|#\d|!\d|GH-\d|\w://", trailers)
        assert not any(line.lstrip().startswith("/") for line in made.splitlines())
        assert not re.search(r"[\u202e\u200b\x1b]", outside)


def test_sources_and_contexts_are_data_too() -> None:
    evil = Evidence("20260301-aaaaaaaaaaaa.1", KEY, "observed", by="@all | `x`", ctx="#1\n/merge")
    text = body([told(evidence=(evil,))], "b", "main", [])
    row = next(line for line in text.splitlines() if line.startswith("| observed"))
    assert len(re.findall(r"(?<!\\)\|", row)) == 7
    assert "@" not in row and "#1" not in row


def test_a_fence_in_a_difference_cannot_end_the_block() -> None:
    kept = Kept("a.md", "--- a\n+++ b\n-```\n+````\n+@x\n")
    text = body([told()], "b", "main", [], [kept])
    assert "A person has changed `a.md`: it stays as it is." in text
    assert "`````diff\n--- a\n+++ b\n-```\n+````\n+@x\n`````" in text


def test_a_body_stays_readable_whatever_there_is() -> None:
    many = tuple(
        Evidence(f"20260301-aaaaaaaaaaaa.{n}", KEY, "observed", by=f"agent-{n}" * 50, ctx="c" * 4000)
        for n in range(500)
    )
    kept = [Kept(f"{n}.md", "+x\n" * 5000) for n in range(10)]
    one = told(evidence=many, title="t" * 5000, reasons=("r" * 5000,) * 500)
    text = body([one], "b", "main", [f"{n}" for n in range(500)], kept)
    assert len(text) < 40_000
    assert len(title([one], "n")) <= MAX_TITLE
    assert "and 480 more; `instinct explain` shows all" in text


def test_a_batch_tells_of_each() -> None:
    other = told(
        key="fix:x", kind="rule", name="x", title="Install it", path="memory/MEMORY.md", line="Key Lessons: Install it"
    )
    text = body([told(), other], "instinct/batch/b", "main", [])
    assert "## `Re-run the tests`" in text
    assert "memory/MEMORY.md gains one rule" in text
    assert "`Key Lessons: Install it`" in text
    assert text.count("instinct reject") == 2
    assert trailer_keys(message([told(), other], "b")) == (KEY, "fix:x")
    assert title([told(), other], "b") == "instinct: propose 2 patterns (b)"


@given(st.text(st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp")), min_size=1, max_size=60))
def test_a_trailer_gives_the_key_back_and_nothing_that_acts(text: str) -> None:
    key = f"note:{text.strip() or 'x'}"
    line = key_trailer(key)
    assert trailer_keys(f"x\n\n{line}\n") == (key.strip(),)
    assert not re.search(r"[@#!]|://", line.removeprefix("Instinct-Pattern: "))


def test_an_ordinary_trailer_reads_as_the_key() -> None:
    assert key_trailer(KEY) == f"Instinct-Pattern: {KEY}"


@given(st.text(max_size=300))
def test_a_code_span_is_one_line_that_ends_itself(text: str) -> None:
    span = code(text)
    if not span:
        assert inert(text) == ""
        return
    marks = re.match(r"`+", span)
    assert marks is not None
    inside = span[len(marks[0]) : -len(marks[0])]
    assert marks[0] not in re.findall(r"`+", inside)
    assert "\n" not in span
    assert len(inside) <= MAX_CELL + 2

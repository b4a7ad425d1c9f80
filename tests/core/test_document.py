"""Pattern files: what instinct writes changes its own lines alone, and every YAML reader reads the same."""

from __future__ import annotations

import io
import random
from typing import Any

import frontmatter
import pytest
import yaml as pyyaml
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from instinct_git.core.document import (
    SEPARATOR,
    MachineLines,
    fill_empty,
    new_text,
    parse,
    with_field,
    with_machine_lines,
)
from instinct_git.core.scalars import flow, plain, quote, scalar
from instinct_git.errors import InvalidDocument

KEY = "seq:test->fix->test"
MACHINE = MachineLines(KEY, "sequence", 8, 6, "mature", "2026-03-01", "2026-03-29", ("claude-code", "cursor"))
NEXT = MachineLines(KEY, "sequence", 11, 9, "rule", "2026-03-01", "2026-04-02", ("claude-code", "gemini"))
NAMES = tuple(MACHINE.rendered())
TRICKY = [
    "no", "on", "YES", "y", "null", "~", "true", "12:30", "0123", "1e3", "1.5e3", ".inf", "0x1f", "1_000", "-", "- a",
    "? a",     "a: b", "a #b", "#a", "", " lead", "trail ", "it's", 'say "hi"', "back\\slash", "[a]", "{a}",
    "*a", "&a", "!a", "%a", "@a",
    "`a", "a,b", "2026-03-01", "=", "<<", "日本", "🚀",
    "a\u2028b", "a\u2029b", "a\x85b", "a\x7fb", "a\x9fb", "a\ufeffb",
    "a\uffffb", "tab\there", "line\nbreak", "---", "...", "|", ">", ":", "a:", "\x00",
]  # fmt: skip
TEXT = st.one_of(st.sampled_from(TRICKY), st.text(st.characters(exclude_categories=("Cs",)), max_size=20))
PLAIN_DATA = st.recursive(
    st.one_of(TEXT, st.integers(-(10**20), 10**20), st.booleans(), st.none(), st.floats(-1e300, 1e300)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXT, inner, max_size=3)),
    max_leaves=6,
)

HAND_WRITTEN = {
    "as written": new_text(MACHINE, title="T", description="D", metadata={"owner": "web"}) + "Body.\n",
    "comments and odd order": f"""---
# mine
sources: [claude-code, cursor] # who
counted:   6   # as folded
pattern: '{KEY}'
type: Pattern
confidence:  8
category: sequence
level: mature
first_seen: 2026-03-01
last_seen: '2026-03-29'
{SEPARATOR}
description: 'single ''quotes'''
# a comment of mine
title:   Re-run  the tests   # why not
custom: {{a: [1, 2]}}
---
Body
""",
    "block list and scalars": f"""---
pattern: "{KEY}"
confidence: 8
counted: 6
sources:
  # the first one
  - claude-code

  - cursor
title: |
  two

  lines
description: >-
  folded
  text
metadata:
  owner: web
  deep:
    - a: 1
tags:
- one
- two
---
# Body

---

A rule above, and below:
---
""",
    "a title above the separator": f"""---
title: Above
pattern: "{KEY}"
confidence: 8
counted: 6
{SEPARATOR}
status: active
---
""",
    "no separator, fields mixed": f"---\ntitle: Mixed\nconfidence: 8\ntags: [a]\npattern: {KEY}\ncounted: 6\n---\n",
    "only the two that must be": f"---\npattern: {KEY}\nconfidence: 8\n---\n",
    "no body and no final newline": f"---\npattern: {KEY}\nconfidence: 8\n---",
    "line separators and trailing blanks": (
        f"---  \npattern: {KEY}  \nconfidence: 8 \ntitle: a\u2028b\x0cc\n---\t\nbody\u2028 \x0c  \n\n\n"
    ),
}
VARIANTS = {
    **HAND_WRITTEN,
    **{f"{name}, CRLF": text.replace("\n", "\r\n") for name, text in HAND_WRITTEN.items()},
    **{f"{name}, byte order mark": "\ufeff" + text for name, text in HAND_WRITTEN.items()},
}


def theirs(text: str) -> list[str]:
    """The lines that are not instinct's: machine fields with their list lines, and the separator, left out."""
    left: list[str] = []
    blank: list[str] = []
    inside, fences = False, 0
    for line in text.removeprefix("\ufeff").split("\n"):
        continued = inside and line[:1] in (" ", "-") and line.rstrip() != "---"
        if inside and not line.strip():
            blank.append(line)
            continue
        if not continued:
            left, blank = left + blank, []
        if fences < 2 and line.rstrip() == "---":
            fences, inside = fences + 1, False
        name = line.partition(":")[0]
        if fences == 1 and name in NAMES:
            inside = name == "sources"
        elif line.rstrip("\r") == SEPARATOR:
            inside = False
        elif not continued:
            inside = False
            left.append(line)
        blank = []
    return left + blank


def read(text: str) -> dict[str, Any]:
    """The front matter as python-frontmatter, PyYAML and ruamel read it, which must agree."""
    block = text.removeprefix("\ufeff").split("\n---", 1)[0].removeprefix("---\n")
    by_pyyaml = pyyaml.safe_load(block)
    by_ruamel = YAML(typ="safe", pure=True).load(io.StringIO(block))
    assert by_pyyaml == by_ruamel == dict(frontmatter.loads(text).metadata)
    return dict(by_pyyaml)


@pytest.mark.parametrize("text", VARIANTS.values(), ids=VARIANTS.keys())
def test_hand_edit_body_comments_quotes_crlf(text: str) -> None:
    before = parse(text, "p.md")
    changed = with_machine_lines(text, NEXT)
    after = parse(changed, "p.md")
    assert theirs(changed) == theirs(text)
    assert (after.confidence, after.counted, after.level, after.sources) == (11, 9, "rule", ("claude-code", "gemini"))
    assert (after.title, after.description, after.tags, after.status, after.metadata, after.body) == (
        before.title, before.description, before.tags, before.status, before.metadata, before.body,
    )  # fmt: skip
    assert with_machine_lines(changed, NEXT) == changed
    assert after.has_separator
    assert changed.startswith("\ufeff") == text.startswith("\ufeff")
    if "\r\n" in text:
        assert changed.count("\n") == changed.count("\r\n")


@pytest.mark.parametrize("name", ["as written", "comments and odd order"])
def test_a_line_whose_value_stays_is_not_touched(name: str) -> None:
    assert with_machine_lines(HAND_WRITTEN[name], MACHINE) == HAND_WRITTEN[name]


@pytest.mark.parametrize("text", HAND_WRITTEN.values(), ids=HAND_WRITTEN.keys())
def test_a_removed_separator_comes_back_and_nothing_else_moves(text: str) -> None:
    full = with_machine_lines(text, MACHINE)
    assert with_machine_lines(full.replace(SEPARATOR + "\n", ""), MACHINE).count(SEPARATOR) == 1
    assert theirs(with_machine_lines(full.replace(SEPARATOR + "\n", ""), MACHINE)) == theirs(text)


def test_fields_are_read_wherever_a_person_put_them() -> None:
    assert parse(HAND_WRITTEN["a title above the separator"], "p").title == "Above"
    mixed = parse(HAND_WRITTEN["no separator, fields mixed"], "p")
    assert (mixed.title, mixed.tags, mixed.confidence, mixed.counted) == ("Mixed", ("a",), 8, 6)
    block = parse(HAND_WRITTEN["block list and scalars"], "p")
    assert (block.title, block.description) == ("two\n\nlines\n", "folded text")
    assert block.sources == ("claude-code", "cursor")
    assert (block.tags, block.metadata) == (("one", "two"), {"owner": "web", "deep": [{"a": 1}]})
    quoted = parse(HAND_WRITTEN["comments and odd order"], "p")
    assert (quoted.title, quoted.description, quoted.key) == ("Re-run  the tests", "single 'quotes'", KEY)


def test_a_confidence_edited_by_hand_is_an_offset() -> None:
    text = new_text(MACHINE, metadata={}).replace("confidence: 8", "confidence: 20")
    assert parse(text, "p").offset == 14
    assert parse(f"---\npattern: {KEY}\nconfidence: 4\n---\n", "p").offset == 4


@pytest.mark.parametrize("nested", ["", "custom:\n  deep: 1\n"])
def test_a_text_reads_the_same_with_and_without_nested_fields(nested: str) -> None:
    fields = "title: 0123\ndescription: no\ntags: [1.0, on, 0x1f]\n"
    found = parse(f"---\npattern: {KEY}\nconfidence: 1\n{fields}{nested}---\n", "p")
    assert (found.title, found.description, found.tags) == ("0123", "no", ("1.0", "on", "0x1f"))


BROKEN = {
    "no front matter": ("just text\n", 1), "an empty file": ("", 1),
    "no end": (f"---\npattern: {KEY}\nconfidence: 1\n", 1),
    "conflict markers": (f"---\npattern: {KEY}\n<<<<<<< ours\nconfidence: 1\n=======\n", 3),
    "conflict markers in the body": (
        f"---\npattern: {KEY}\nconfidence: 1\n---\na\n<<<<<<< ours\nb\n=======\nc\n>>>>>>> theirs\n", 6,
    ),
    "confidence twice": (f"---\npattern: {KEY}\nconfidence: 1\nconfidence: 2\n---\n", 4),
    "counted twice, once below": (f"---\npattern: {KEY}\nconfidence: 1\ncounted: 1\n{SEPARATOR}\ncounted: 2\n---\n", 6),
    "title twice": (f"---\npattern: {KEY}\nconfidence: 1\ntitle: a\ntitle: b\n---\n", 5),
    "no confidence": (f"---\npattern: {KEY}\n---\n", 1), "no pattern": ("---\nconfidence: 1\n---\n", 1),
    "a fraction": (f"---\npattern: {KEY}\nconfidence: 1.5\n---\n", 3),
    "words": (f"---\npattern: {KEY}\nconfidence: many\n---\n", 3),
    "nothing": (f"---\npattern: {KEY}\nconfidence:\n---\n", 3),
    "counted is no number": (f"---\npattern: {KEY}\nconfidence: 1\ncounted: x\n---\n", 4),
    "broken YAML": (f"---\npattern: {KEY}\nconfidence: 1\ntags: [a\ntitle: b\n---\n", 5),
    "broken YAML above the separator": (f"---\npattern: {KEY}\nconfidence: 1\nwhat is this\n{SEPARATOR}\n---\n", 5),
    "an open quote": (f'---\npattern: {KEY}\nconfidence: 1\ntitle: "a\n---\n', 5),
    "no UTF-8": (f"---\npattern: {KEY}\nconfidence: 1\ntitle: a\udcffb\n---\n", 1),
    "an unknown status": (f"---\npattern: {KEY}\nconfidence: 1\nstatus: asleep\n---\n", 4),
    "no key": ("---\npattern: 'seq:'\nconfidence: 1\n---\n", 2),
    "a category that contradicts": (f"---\npattern: {KEY}\nconfidence: 1\ncategory: note\n---\n", 2),
}  # fmt: skip


@pytest.mark.parametrize(("text", "line"), BROKEN.values(), ids=BROKEN.keys())
def test_what_cannot_be_read_is_named_with_file_and_line(text: str, line: int) -> None:
    with pytest.raises(InvalidDocument) as refused:
        parse(text, "dir/p.md")
    assert refused.value.message.startswith(f"dir/p.md:{line}: "), refused.value.message
    assert refused.value.hint


@given(TEXT)
def test_a_quoted_text_is_the_same_text_for_every_reader(text: str) -> None:
    for written in (quote(text), plain(text)):
        line = f"title: {written}\n"
        assert pyyaml.safe_load(line) == YAML(typ="safe", pure=True).load(line) == {"title": text}
        assert scalar(written) == text


@given(PLAIN_DATA)
@settings(max_examples=200)
def test_plain_data_on_one_line_is_the_same_data_for_every_reader(value: Any) -> None:
    line = f"metadata: {flow(value)}\n"
    assert pyyaml.safe_load(line) == YAML(typ="safe", pure=True).load(line) == {"metadata": value}


@given(TEXT, TEXT, st.lists(TEXT.filter(bool), max_size=3), st.dictionaries(TEXT, PLAIN_DATA, max_size=3))
@settings(max_examples=150)
def test_a_file_written_by_instinct_reads_alike_everywhere(
    title: str, description: str, sources: list[str], metadata: dict[str, Any]
) -> None:
    machine = MachineLines("note:no", "note", 3, 3, "raw", "2026-03-01", "", tuple(sources))
    text = new_text(machine, title=title, description=description, metadata=metadata)
    found, loaded = parse(text, "p"), read(text)
    assert (found.title, found.description, found.metadata) == (title, description, metadata)
    assert found.sources == tuple(sources)
    assert (loaded["title"], loaded["description"], loaded["sources"]) == (title, description, sources)
    assert loaded.get("metadata", {}) == metadata
    assert (loaded["pattern"], loaded["first_seen"], loaded["last_seen"]) == ("note:no", "2026-03-01", "")
    assert with_machine_lines(text, machine) == text


def generated(dice: random.Random) -> str:
    """A pattern file as many hands might have left it."""
    quotes = [KEY, f"'{KEY}'", f'"{KEY}"']
    machine = [f"pattern: {dice.choice(quotes)}", f"confidence: {dice.randint(-3, 12)}"]
    optional = ["type: Pattern", "category: sequence", "counted: 3 # mine", "level:  'raw'", "first_seen: 2026-01-01",
                "last_seen:", "sources: [a, 'b']", "sources:\n- a\n- b", "sources:\n  - a\n  - b"]  # fmt: skip
    picked = {line.partition(":")[0]: line for line in dice.sample(optional, dice.randint(0, len(optional)))}
    machine += picked.values()
    human = ["title: 'it''s'", "description: |\n  a\n\n  b", "tags: [x, y] # z", "# comment", "", "status: retired",
             "metadata:\n  a: 1\n  # c\n  b: [2]", "custom: {a: b}",
             "other: >\n  ---\n  x", "graduated_to: skills/a"]  # fmt: skip
    dice.shuffle(machine)
    lower = dice.sample(human, dice.randint(0, len(human)))
    lines = machine + dice.choice(([SEPARATOR], [], [])) + lower
    if dice.random() < 0.4:
        lines = [line for line in lines if line != SEPARATOR]
        dice.shuffle(lines)
    body = dice.choice(["", "Body\n", "---\nrule\n---\n", "no end", "\u2028\n  \n", "```\ncode\n```\n"])
    text = "\n".join(["---", *lines, "---", body])
    text = text.replace("\n", "\r\n") if dice.random() < 0.3 else text
    return "\ufeff" + text if dice.random() < 0.2 else text


@pytest.mark.parametrize("seed", [34, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(35, 41))])
def test_two_hundred_and_fifty_generated_files_keep_every_byte_that_is_not_instincts(seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(250):
        text = generated(dice)
        before = parse(text, "p")
        changed = with_machine_lines(text, NEXT)
        after = parse(changed, "p")
        assert theirs(changed) == theirs(text), text
        assert with_machine_lines(changed, NEXT) == changed, text
        assert (after.key, after.confidence, after.counted) == (KEY, 11, 9), text
        for name in ("title", "description", "tags", "status", "metadata", "body", "graduated_to"):
            assert getattr(after, name) == getattr(before, name), text


def test_a_field_is_set_in_place_whatever_it_was_before() -> None:
    text = HAND_WRITTEN["block list and scalars"]
    changed = with_field(with_field(text, "title", "New"), "status", "retired")
    assert (parse(changed, "p").title, parse(changed, "p").status) == ("New", "retired")
    assert [line for line in changed.split("\n") if line not in text.split("\n")] == ["title: New", "status: retired"]
    assert read(changed)["title"] == "New"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", 'metadata: {"b": "no"}\n'), ("metadata:\n", 'metadata: {"b": "no"}\n'),
        ("metadata: {}\n", 'metadata: {"b": "no"}\n'),
        ("metadata:\n  a: 'x' # c\n", "metadata:\n  a: 'x' # c\n  \"b\": \"no\"\n"),
        ('metadata: {"a": 1}\n', 'metadata: {"b": "no", "a": 1}\n'),
        ("metadata:\n  b: mine\n", "metadata:\n  b: mine\n"),
        ("metadata: words\n", "metadata: words\n"), ("metadata: {a: 1}\n", "metadata: {a: 1}\n"),
        ("metadata: [1]\n", "metadata: [1]\n"),
    ],
)  # fmt: skip
def test_metadata_fills_only_what_is_missing_and_leaves_what_it_cannot_extend(before: str, after: str) -> None:
    text = f"---\npattern: {KEY}\nconfidence: 1\ntitle: mine\n{before}---\nbody\n"
    changed = fill_empty(text, title="theirs", description="filled", metadata={"b": "no"})
    described = 'description: "filled"\n'
    fields = after + described if before else described + after
    assert changed == f"---\npattern: {KEY}\nconfidence: 1\ntitle: mine\n{fields}---\nbody\n"
    assert fill_empty(changed, title="t", description="d", metadata={"b": "no"}) == changed
    assert read(changed)["description"] == "filled"

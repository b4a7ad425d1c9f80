"""A merge conflict in a text is one; a text that quotes one is none."""

from __future__ import annotations

import pytest

from instinct_git.core.document import parse
from instinct_git.core.markdown import conflict_at
from instinct_git.core.memory_file import FACTS, add_line
from instinct_git.errors import InvalidDocument

HEAD = "---\ntype: Pattern\npattern: note:x\nconfidence: 1\ncounted: 1\nstatus: active\n---\n"
CONFLICT = "<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> topic\n"
DIFF3 = "<<<<<<< HEAD\nours\n||||||| base\nold\n=======\ntheirs\n>>>>>>> topic\n"
REAL = {
    "plain": CONFLICT,
    "diff3": DIFF3,
    "windows": CONFLICT.replace("\n", "\r\n"),
    "after a block of code": "```\ncode\n```\n" + CONFLICT,
    "a block that one side opens": "<<<<<<< HEAD\n```\nours\n=======\ntheirs\n>>>>>>> topic\n",
    "a block that never ends": "```\n" + CONFLICT,
    "around a block": "<<<<<<< HEAD\n```\nours\n```\n=======\n```\ntheirs\n```\n>>>>>>> topic\n",
    "after a quoted one": "```\n" + CONFLICT + "```\n" + CONFLICT,
}
QUOTED = {
    "in a block": "Resolve it:\n```\n" + CONFLICT + "```\nthen commit\n",
    "in a named block": "~~~text\n" + DIFF3 + "~~~\n",
    "indented": "".join(f"    {line}\n" for line in CONFLICT.splitlines()),
    "in a list": "- like so:\n  ```\n" + "".join(f"  {line}\n" for line in CONFLICT.splitlines()) + "  ```\n",
    "in a comment": "<!--\n" + CONFLICT + "-->\n",
    "in words": "look for `<<<<<<< HEAD` and `>>>>>>> topic`\n",
    "one marker": "<<<<<<< HEAD\nis how it begins\n",
    "an end alone": ">>>>>>> topic\n",
    "a heading": "Title\n=======\n",
    "the wrong order": ">>>>>>> topic\n=======\n<<<<<<< HEAD\n",
    "other sizes": CONFLICT.replace("<<<<<<<", "<<<<<<").replace(">>>>>>>", ">>>>>>>>"),
    "a quotation": "".join(f"> {line}\n" for line in CONFLICT.splitlines()),
}


@pytest.mark.parametrize("body", REAL.values(), ids=REAL)
def test_a_conflict_is_named_with_its_line(body: str) -> None:
    line = max(i for i, one in enumerate((HEAD + body).split("\n"), 1) if one.startswith("<<<<<<< "))
    with pytest.raises(InvalidDocument, match=f"x.md:{line}: conflict markers"):
        parse(HEAD + body, "x.md")
    with pytest.raises(InvalidDocument, match="conflict markers"):
        add_line("## Facts\n" + body, FACTS, "c")


@pytest.mark.parametrize("body", QUOTED.values(), ids=QUOTED)
def test_a_text_about_conflicts_is_read(body: str) -> None:
    assert parse(HEAD + body, "x.md").key == "note:x"
    assert conflict_at(body) is None


@pytest.mark.parametrize("line", ["<<<<<<< HEAD\n", ">>>>>>> topic\n"])
def test_between_the_fields_one_marker_is_enough(line: str) -> None:
    """Half a conflict there leaves numbers that nobody has chosen."""
    with pytest.raises(InvalidDocument, match="conflict markers"):
        parse(HEAD.replace("confidence: 1\n", "confidence: 1\n" + line), "x.md")

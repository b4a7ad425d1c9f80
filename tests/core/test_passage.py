"""What can be found: each thing once, named so that a person can open it."""

from __future__ import annotations

from instinct_git.core.model import NOTHING
from instinct_git.core.passage import entry, excerpt, meaning, of_document, of_pattern
from instinct_git.core.pattern import PatternFile

MEMORY = """---
type: Memory
---
# Memory of this project

Read this first.

## Key Lessons

- Never squash the release branch

## Memories

### 偏好

- 回复用中文

### Empty

## Facts
```
# no heading
```
"""


def test_a_memory_file_is_found_by_its_sections() -> None:
    found = [(one.kind, one.name, one.title, one.line) for one in of_document("memory/MEMORY.md", MEMORY)]
    assert found == [
        ("memory", "Memory of this project", "Memory of this project", 4),
        ("rule", "Key Lessons", "Memory of this project > Key Lessons", 8),
        ("memory", "偏好", "Memory of this project > Memories > 偏好", 14),
        ("memory", "Facts", "Memory of this project > Facts", 20),
    ]


def test_a_skill_is_found_by_its_name_and_description_even_with_a_broken_head() -> None:
    [one] = of_document(
        "skills/release/SKILL.md", "---\nname: release\ndescription: How we release\n---\n# Releasing\nTag it.\n"
    )
    assert (one.kind, one.name, one.title, one.description) == ("skill", "release", "Releasing", "How we release")
    assert one.text == "# Releasing\nTag it.\n"
    [broken] = of_document("skills/a/SKILL.md", "---\nname: a\ndescription: [x: y: z\n---\ntext\n")
    assert broken.name == "a" and "description" in broken.text and "text" in broken.text


def test_a_procedure_is_named_by_its_file() -> None:
    [one] = of_document("memory/procedures/publish-blog.md", "# 博客发布流程\n\n1. 构建\n")
    assert (one.kind, one.name, one.title) == ("procedure", "publish-blog", "博客发布流程")


def test_a_pattern_is_found_by_what_its_metadata_say() -> None:
    file = PatternFile(
        "", "", "note:x", "note", 1, 1, "raw", metadata={"steps": ["build", "发布"], "n": 3, "verify": "open it"}
    )
    assert of_pattern(file, "free text").text == "free text\nbuild\n发布\nopen it"
    assert of_pattern(file._replace(metadata=NOTHING)).text == ""


def test_the_digest_stands_for_the_content_and_not_for_the_place() -> None:
    [one] = of_document("memory/procedures/a.md", "text\n")
    assert entry("p", 0, one).digest == entry("q", 3, one._replace(line=9)).digest
    assert entry("p", 0, one).digest != entry("p", 0, one._replace(text="Text\n")).digest


def test_an_excerpt_is_the_line_that_holds_most_of_the_words() -> None:
    text = "# Release\n- tag the release\n- " + "x" * 300 + " changelog"
    assert excerpt(text, ["tag", "releas"]) == "tag the release"
    assert len(excerpt(text, ["changelog"])) == 120
    assert excerpt(text, ["nothing"]) == ""


def test_the_meaning_is_short_and_reads_like_words() -> None:
    file = PatternFile(
        "", "", "seq:lint->fix->test", "sequence", 1, 1, "raw", title="Re-run", description="After  a fix"
    )
    assert meaning(of_pattern(file, "x" * 5000)).startswith("lint, fix, test. Re-run. After a fix. xxx")
    assert len(meaning(of_pattern(file, "x" * 5000))) == 600

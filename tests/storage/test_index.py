"""The index is a cache (law 10): whatever happens to it, and to the files behind its back, no answer changes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from instinct_git import Memory
from instinct_git.core.document import parse
from instinct_git.core.keys import pattern_path
from instinct_git.core.pattern import PatternFile
from instinct_git.operations.observing import Draft
from instinct_git.storage import files, index
from tests.builders import KEY, Project, first, process

BROKEN = "pref:broken=yes"


def index_files(project: Project) -> list[Path]:
    """Every index file of the clone and its worktrees."""
    # os.walk passes over folders that vanish meanwhile; rglob does not.
    found = [Path(folder, name) for folder, _, names in os.walk(project.root / ".git") for name in names]
    return sorted(path for path in found if path.name.startswith("index-") and path.parent.name == "instinct")


def tick(scratch: Path) -> None:
    """Come back when the file system's clock has moved on: what changes from now on has another time."""
    scratch.touch()
    before = scratch.stat().st_ctime_ns
    for _ in range(10**7):
        os.utime(scratch)
        if scratch.stat().st_ctime_ns != before:
            return
    raise AssertionError("the file system's clock stands still")


def indexed(project: Project) -> dict[str, int]:
    """{key: confidence} by the index."""
    found, broken = index.patterns(files.locate(project.root, files.instinct_home()))
    assert broken == []
    return {one.key: one.confidence for one in found}


def path_of(key: str) -> str:
    """The name of a key's pattern file."""
    return pattern_path(key).rpartition("/")[2]


def saved(path: Path) -> dict[str, Any]:
    """What an index file says in its head."""
    return dict(json.loads(path.read_bytes().split(b"\n")[1]))


def trusted(path: Path) -> int:
    """How many files an index file knows well enough not to parse them again."""
    stamps = [folder[3] for folder in saved(path)["folders"].values()]
    return sum(any(one[at : at + 4]) for one in stamps for at in range(0, len(one), 4))


def answers(project: Project) -> tuple[Any, ...]:
    """What the reading verbs say."""
    memory = project.memory()
    return [one.as_json() for one in memory.suggest()], memory.stats(), memory.export_rules(), indexed(project)


@pytest.fixture(params=first(1, ["a new process each time", "a process that goes on"]), autouse=True)
def forgetful(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether each answer is read from the file: what a process knows already must change no answer either."""
    index._warm.clear()
    if request.param.startswith("a new"):
        real = index.read

        def read(place: files.Place) -> index.Known:
            index._warm.clear()
            return real(place)

        monkeypatch.setattr(index, "read", read)
    return bool(request.param.startswith("a new"))


@pytest.fixture
def filled(project: Project) -> Project:
    """A memory of eight patterns whose index is warm (files that changed a moment ago are not trusted yet)."""
    for n in range(8):
        project.observe(f"pref:style-{n}=x", times=n + 1, title=f"Style {n}")
    project.memory().consolidate()
    project.observe("pref:style-0=x")
    for _ in range(100_000):
        project.memory().suggest()
        found = index_files(project)
        if found and trusted(found[0]) == 8:
            return project
    raise AssertionError("the index never became warm")


def deleted(path: Path) -> None:
    path.unlink()


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-40])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def no_text(path: Path) -> None:
    path.write_bytes(b"\xff\xfe\x00" * 100)


def one_bit(where: float) -> Callable[[Path], None]:
    """Flip one bit; where: from 0, the beginning, to 1."""

    def damage(path: Path) -> None:
        data = bytearray(path.read_bytes())
        data[int(where * (len(data) - 1))] ^= 1
        path.write_bytes(data)

    return damage


def another_number(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b'"preference", 8, 8, "mature"', b'"preference", 2, 8, "mature"'))


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def changed(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    """Another content under a right checksum, as another version of this program may have written it."""

    def damage(path: Path) -> None:
        _, head, rows = path.read_bytes().split(b"\n", 2)
        content = json.dumps(change(json.loads(head))).encode("ascii") + b"\n" + rows
        path.write_bytes(index._checksum(content) + b"\n" + content)

    return damage


DAMAGES = {
    "deleted": deleted, "truncated": truncated, "emptied": emptied, "no text": no_text, "a folder": a_folder,
    "another number": another_number, **{f"a bit at {n}%": one_bit(n / 100) for n in (0, 1, 3, 20, 40, 60, 80, 99, 100)},
    "another version": changed(lambda saved: {**saved, "version": 999, "keys": 7}),
    "another root": changed(lambda saved: {**saved, "root": "/elsewhere"}),
    "a list": changed(lambda saved: []), "null": changed(lambda saved: None), "a number": changed(lambda saved: 7),
    "no files": changed(lambda saved: {"version": saved["version"], "root": saved["root"]}),
    "folders that are gone": changed(lambda saved: {**saved, "folders": {p + "x": f for p, f in saved["folders"].items()}}),
    "files that are gone": changed(lambda saved: {**saved, "folders": {
        path: [[], inner, [name + "x" for name in names], stamps]
        for path, (_, inner, names, stamps) in saved["folders"].items()
    }}),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_no_damage_to_the_index_changes_an_answer(filled: Project, damage: Callable[[Path], None]) -> None:
    before = answers(filled)
    assert before[3]["pref:style-7=x"] == 8
    (path,) = index_files(filled)
    content = path.read_bytes()
    damage(path)
    assert not path.is_file() or path.read_bytes() != content
    assert answers(filled) == before
    assert answers(filled) == before
    ran = process(filled.root, "suggest")
    assert (ran.code, "bug" in ran.err) == (0, False)


def test_an_index_that_cannot_be_written_only_costs_time(filled: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    before = answers(filled)
    (path,) = index_files(filled)
    path.unlink()

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(files, "replace", refuse)
    assert answers(filled) == before
    assert index_files(filled) == []


def test_two_worktrees_do_not_share_it(filled: Project) -> None:
    side = filled.worktree("side", "side")
    side.observe("pref:style-7=x", times=2)
    side.memory().consolidate()
    for _ in range(2):
        assert indexed(side)["pref:style-7=x"] == 10
        assert indexed(filled)["pref:style-7=x"] == 8
    roots = {saved(path)["root"] for path in [*index_files(filled), *(filled.root / ".git/worktrees").rglob("index-*")]}
    assert roots == {str(filled.root), str(side.root)}


def test_checkout_of_another_branch_shows_at_once(filled: Project) -> None:
    filled.git("switch", "-q", "-c", "topic")
    filled.observe("pref:style-7=x")
    filled.observe(KEY)
    filled.memory().consolidate()
    for _ in range(3):
        filled.git("switch", "-q", "main")
        assert (indexed(filled)["pref:style-7=x"], KEY in indexed(filled)) == (8, False)
        filled.git("switch", "-q", "topic")
        assert (indexed(filled)["pref:style-7=x"], indexed(filled)[KEY]) == (9, 1)


def test_a_change_by_hand_shows_at_once_even_with_the_same_size_and_the_old_time(
    filled: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "RACY_NS", -(10**15))
    path = filled.root / str(filled.memory().show("pref:style-4=x").path)
    assert indexed(filled)["pref:style-4=x"] == 5
    before = path.stat()
    path.write_text(path.read_text(encoding="utf-8").replace("Style 4", "Style X"), encoding="utf-8")
    for _ in range(10**6):
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        if path.stat().st_ctime_ns != before.st_ctime_ns:  # the file system's clock has ticked
            break
    assert path.stat().st_size == before.st_size
    assert "Style X" in [one.title for one in filled.memory().suggest()]


def test_a_file_that_changed_in_the_moment_it_was_read_is_not_trusted(
    filled: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clock that stamps coarsely could give two contents one time; so what is young is read again."""
    monkeypatch.setattr(index, "RACY_NS", 3600 * 10**9)
    (path,) = index_files(filled)
    path.unlink()
    index._warm.clear()
    indexed(filled)
    assert trusted(path) == 0
    assert all(folder[0] == [] for folder in saved(path)["folders"].values())


def test_a_file_that_cannot_be_read_breaks_no_other_and_is_read_once_mended(filled: Project) -> None:
    path = filled.root / str(filled.memory().show("pref:style-4=x").path)
    good = path.read_bytes()
    path.write_bytes(good.replace(b"confidence: 5", b"confidence: much"))
    for _ in range(2):
        found, broken = index.patterns(files.locate(filled.root, files.instinct_home()))
        assert len(found) == 7
        assert [one.rule for one in broken] == ["pattern-unreadable"]
    path.write_bytes(good)
    assert indexed(filled)["pref:style-4=x"] == 5


def test_a_file_that_vanishes_while_it_is_listed_or_read_is_no_finding(
    filled: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = filled.root / str(filled.memory().show("pref:style-4=x").path)
    real = index._parsed

    def parsed(root: Path, name: str) -> str:
        if root / name == path:
            path.unlink()
        return real(root, name)

    index_files(filled)[0].unlink()
    index._warm.clear()
    monkeypatch.setattr(index, "_parsed", parsed)
    assert "pref:style-4=x" not in indexed(filled)


FULL = """\
---
type: Pattern
pattern: "pref:full=\u00e9"
category: preference
confidence: 12
counted: 11
level: rule
first_seen: "2026-01-01"
last_seen: "2026-02-02"
sources: [claude-code, cursor]
sessions: 7
candidate: {kind: skill, trigger: explicit, score: 0.84, status: ready}
# --- above: kept by instinct (a confidence edited by hand is respected) | below: yours ---
title: "A title: with \u4e2d\u6587"
description: Words.
tags: [a, b]
status: graduated
graduated_to: skills/full/SKILL.md
verified:
  - {by: "human:a", at: "2026-03-03"}
metadata: {owner: web, list: [1, 2], deep: {x: 1.5, y: null}}
applies_to: {languages: [python], paths: ["web/**"]}
---
A body.
"""


def test_it_gives_every_field_of_a_file_as_the_file_has_it(filled: Project) -> None:
    filled.write(".instinct/patterns/pref/full.md", FULL)
    expected = parse(FULL, ".instinct/patterns/pref/full.md")._replace(text="", body="")
    default = PatternFile("", "", "", "", 0, 0, "")
    plain = {"path", "text", "body", "has_separator"}
    assert {name for name in PatternFile._fields if getattr(expected, name) == getattr(default, name)} <= plain
    for _ in range(3):
        (found,) = (
            one for one in index.patterns(files.locate(filled.root, files.instinct_home()))[0] if "full" in one.key
        )
        assert found == expected
        assert type(found.sources) is type(found.tags) is type(found.verified) is tuple


def test_what_is_added_removed_renamed_and_edited_in_place_shows_at_once(
    filled: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "RACY_NS", -(10**15))  # everything is trusted, as if it were old

    def then(project: Project) -> dict[str, int]:
        tick(project.root / "clock")
        found = indexed(project)
        tick(project.root / "clock")
        return found

    base = filled.root / ".instinct" / "patterns"
    for n in range(1, 5):
        shutil.copy(base / "pref" / path_of("pref:style-7=x"), base / "pref" / f"copy-{n}.md")
        edited = (base / "pref" / f"copy-{n}.md").read_text(encoding="utf-8").replace("style-7=x", f"copy-{n}")
        (base / "pref" / f"copy-{n}.md").write_text(edited, encoding="utf-8")
        assert then(filled)[f"pref:copy-{n}"] == 8
        (base / "pref" / f"copy-{n}.md").rename(base / "pref" / f"moved-{n}.md")
        assert [
            one.path for one in index.patterns(files.locate(filled.root, files.instinct_home()))[0] if "copy" in one.key
        ] == [f".instinct/patterns/pref/moved-{n}.md"]
        with (base / "pref" / f"moved-{n}.md").open("r+", encoding="utf-8") as stream:  # the folder does not change
            text = stream.read()
            stream.seek(0)
            stream.write(text.replace("confidence: 8", "confidence: 9"))
        assert then(filled)[f"pref:copy-{n}"] == 9
        deep = base / f"new-{n}" / "deep"
        deep.mkdir(parents=True)
        (base / "pref" / f"moved-{n}.md").rename(deep / "x.md")
        assert then(filled)[f"pref:copy-{n}"] == 9
        shutil.rmtree(base / f"new-{n}")
        assert f"pref:copy-{n}" not in then(filled)


def test_of_two_files_with_one_key_the_one_that_counts_everywhere_is_suggested(filled: Project) -> None:
    text = (filled.root / str(filled.memory().show("pref:style-7=x").path)).read_text(encoding="utf-8")
    for path in ("zz/a.md", "a-b/a.md", "a/b.md", "a/b/c.md", "pref/zz.md"):
        filled.write(
            f".instinct/patterns/{path}", text.replace("style-7=x", "of-two").replace("Style 7", f"From {path}")
        )
    for _ in range(3):
        (told,) = (one for one in filled.memory().suggest() if one.pattern == "pref:of-two")
        assert told.path == filled.memory().show("pref:of-two").path
        filled.write(".instinct/patterns/pref/of-two.md", text.replace("style-7=x", "of-two"))
    assert told.path == ".instinct/patterns/pref/of-two.md"


def test_what_the_own_and_the_project_memory_suggest_is_in_one_order(filled: Project) -> None:
    own = Memory(scope="global", now=filled.memory()._now)
    for n, times in enumerate((5, 6, 7, 12, 13)):
        own.observe_many([Draft(f"note:own-{n}")] * times)
    own.observe_many([Draft("pref:style-7=x")] * 40)
    own.consolidate()
    for _ in range(3):
        told = filled.memory().suggest()
        assert [one.pattern for one in told] == [
            "pref:style-7=x", "note:own-4", "note:own-3", "note:own-2", "pref:style-6=x", "note:own-1", "pref:style-5=x",
            "note:own-0", "pref:style-4=x",
        ]  # fmt: skip
        assert {one.pattern: one.scope for one in told}["pref:style-7=x"] == "global"


READER = """
import sys
from pathlib import Path
from instinct_git.memory import Memory
from instinct_git.storage import files, index
place = files.locate(Path(sys.argv[1]), files.instinct_home())
for _ in range(60):
    found, broken = index.patterns(place)
    known = {one.key: one.confidence for one in found}
    assert not broken and len(found) in (8, 9) and 8 <= known["pref:style-7=x"] <= 13, (found, broken)
    Memory(sys.argv[1]).suggest()
"""


def test_concurrent_readers_and_writers(filled: Project) -> None:
    """Readers in threads and processes meet batches and deletions of the index; none sees half a state."""
    filled.git("switch", "-q", "-c", "topic")
    filled.observe(KEY)
    filled.memory().consolidate()
    readers = [
        subprocess.Popen([sys.executable, "-c", READER, str(filled.root)], stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]

    def read(_: int) -> int:
        for path in index_files(filled):
            path.unlink(missing_ok=True)
        return indexed(filled)["pref:style-7=x"]

    with ThreadPoolExecutor(4) as pool:
        reading = pool.map(read, range(100))
        for _ in range(5):
            filled.observe("pref:style-7=x")
            filled.memory().consolidate()
        assert all(8 <= value <= 13 for value in reading)
    said = [child.communicate(timeout=120)[1] for child in readers]
    assert ([child.returncode for child in readers], said) == ([0, 0], ["", ""])
    assert indexed(filled)["pref:style-7=x"] == 13
    assert [path for path in (filled.root / ".git/instinct").iterdir() if path.name.endswith(".tmp")] == []


def test_what_was_parsed_before_is_taken_over_as_a_new_process_reads_it(project: Project) -> None:
    memory = project.memory()
    memory.init()
    memory.observe_many([Draft(f"note:n{number}") for number in range(4) for _ in range(6)])
    memory.consolidate()
    place = files.locate(project.root, files.instinct_home())
    before = {one.key: one for one in index.patterns(place)[0]}
    path = project.root / pattern_path("note:n1")
    path.write_text(path.read_text(encoding="utf-8").replace("title:", "title: Changed #"), encoding="utf-8")
    (project.root / pattern_path("note:n3")).unlink()
    after = {one.key: one for one in index.patterns(place)[0]}
    assert after["note:n0"] == before["note:n0"] and after["note:n1"] != before["note:n1"] and "note:n3" not in after
    told = memory.suggest()
    index._warm.clear()
    assert {one.key: one for one in index.patterns(place)[0]} == after and memory.suggest() == told

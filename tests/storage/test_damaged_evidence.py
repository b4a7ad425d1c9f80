"""Evidence that is torn, damaged, foreign or doubled: reported, never dropped, never counted twice."""

from __future__ import annotations

import pytest

from tests.builders import KEY, Project


def test_torn_last_line_power_cut(project: Project) -> None:
    """A last line that a power cut tore is ignored and reported; the others count, and the file is not folded away."""
    project.observe(times=2)
    project.memory().record()
    [file] = (project.root / ".instinct" / "observations").glob("*.jsonl")
    file.write_bytes(file.read_bytes() + b'{"v":1,"id":"20260501-abcdefghjkmn.9","p":"seq:te')
    done = project.memory().consolidate()
    assert project.confidence() == 2
    assert any("cannot be read" in notice for notice in done.notices)
    assert file.exists()
    assert project.errors() == []
    assert any(one.rule == "evidence-unreadable" for one in project.memory().check())


NEWER = b'{"v":2,"id":"20260501-abcdefghjkmn.9","p":"note:x","k":"observed"}'


@pytest.mark.parametrize("where", ["inbox", "observations"])
@pytest.mark.parametrize("line", [b"not json", NEWER, b"\xff\xfe"], ids=["not_json", "newer_version", "not_utf8"])
def test_bad_middle_line(project: Project, where: str, line: bytes) -> None:
    """A line that cannot be read is reported and its file is kept, however often a batch runs; the rest counts once."""
    project.observe(times=1)
    if where == "observations":
        project.memory().record()
        [file] = (project.root / ".instinct" / "observations").glob("*.jsonl")
    else:
        [file] = project.inbox_files()
    file.write_bytes(line + b"\n" + file.read_bytes())
    for _ in range(3):
        done = project.memory().consolidate()
        assert any("cannot be read" in notice for notice in done.notices)
        assert file.exists()
        assert line in file.read_bytes()
        assert project.confidence() == 1
    project.observe()
    project.memory().consolidate()
    assert project.confidence() == 2


def test_unknown_file_in_observations(project: Project) -> None:
    """A file that instinct does not read is named by check, neither counted nor touched nor committed."""
    stranger = project.write(".instinct/observations/notes.txt", "evidence?\n")
    nested = project.write(".instinct/observations/2026/old.jsonl", "{}\n")
    project.observe()
    done = project.memory().consolidate()
    assert not any("notes" in path or "old" in path for path in project.changed(done.commit))
    findings = {one.path: one.severity for one in project.memory().check() if one.rule == "unknown-file"}
    assert findings == {
        ".instinct/observations/notes.txt": "warning", ".instinct/observations/2026/old.jsonl": "warning",
    }  # fmt: skip
    assert (stranger.exists(), nested.exists()) == (True, True)


def test_a_container_copied_into_the_inbox_counts_once(project: Project) -> None:
    """The same ids in the inbox, in observations and in the ledger are one piece of evidence each."""
    project.observe(KEY, times=3)
    kept = [(file, file.read_bytes()) for file in project.inbox_files()]
    project.memory().record()
    for file, data in kept:
        file.write_bytes(data)
    project.memory().consolidate()
    for file, data in kept:
        file.write_bytes(data)
    assert project.memory().consolidate().commit == ""
    assert project.confidence() == 3
    assert project.inbox_files() == []

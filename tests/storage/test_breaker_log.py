"""The breakers' log: what was held and what was answered, in this clone alone."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from instinct_git.errors import InstinctError
from instinct_git.storage import breaker_log, files, inbox
from instinct_git.storage.breaker_log import Entry
from tests.builders import Project

HELD = Entry("2026-03-02", "held", "daily", "note:博客->x")
RESET = Entry("2026-03-02", "reset", "daily", "note:a\nnote:b", 6, "they are real", "Ada Example")


def place_of(project: Project) -> files.Place:
    return files.locate(project.root, files.instinct_home())


def log_file(project: Project) -> Path:
    return project.root / ".git" / "instinct" / "breakers.jsonl"


def test_a_new_clone_has_an_empty_log(project: Project) -> None:
    assert breaker_log.read(place_of(project)) == []
    breaker_log.add(place_of(project), [])
    assert not log_file(project).exists()


def test_what_is_added_is_read_back_and_stays_in_the_clone(project: Project) -> None:
    place = place_of(project)
    breaker_log.add(place, [HELD])
    before = log_file(project).read_bytes()
    breaker_log.add(place, iter([RESET]))
    assert breaker_log.read(place) == [HELD, RESET]
    assert log_file(project).read_bytes().startswith(before)
    assert "breakers" not in project.status()
    assert stat.S_IMODE(log_file(project).stat().st_mode) == 0o600
    project.commit("memory", ".instinct")
    assert breaker_log.read(place_of(project.worktree("side", "side"))) == [HELD, RESET]


@pytest.mark.parametrize(
    "broken", [b'{"day":"2026-03-02","wh', b"\xff\xfe", b"[1]", b'{"day":1,"what":"held","name":"daily"}', b'{"what":"held"}',
               b'{"day":"2026-03-02","what":"later","name":"daily"}', b'{"day":"2026-03-02","what":"held","name":"daily","measured":"6"}']
)  # fmt: skip
def test_a_line_that_cannot_be_read_takes_no_other_with_it(project: Project, broken: bytes) -> None:
    place = place_of(project)
    breaker_log.add(place, [HELD])
    with log_file(project).open("ab") as file:
        file.write(broken)  # no line end: torn
    breaker_log.add(place, [RESET])
    assert breaker_log.read(place) == [HELD, RESET]


def test_keys_that_a_newer_version_writes_are_passed_over(project: Project) -> None:
    place = place_of(project)
    breaker_log.add(place, [HELD])
    log_file(project).write_bytes(log_file(project).read_bytes().replace(b'{"day"', b'{"later":1,"day"'))
    assert breaker_log.read(place) == [HELD]


def test_many_writers_lose_nothing(project: Project) -> None:
    place = place_of(project)
    entries = [HELD._replace(key=f"note:{number}") for number in range(80)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda one: breaker_log.add(place, [one]), entries))
    assert sorted(breaker_log.read(place)) == sorted(entries)


def test_where_git_is_read_only_the_log_is_in_the_home_and_no_inbox_takes_it_for_evidence(project: Project) -> None:
    log_file(project).mkdir()  # a folder where the file would be: it cannot be opened
    place = place_of(project)
    breaker_log.add(place, [HELD])
    assert breaker_log.read(place) == [HELD]
    assert inbox.read(place).bad == ()


def test_a_plain_folder_reads_each_entry_once(tmp_path: Path) -> None:
    place = files.at(tmp_path, files.PROJECT, files.instinct_home())
    breaker_log.add(place, [HELD])
    assert breaker_log.read(place) == [HELD]


def test_where_nothing_can_be_written_it_says_so(project: Project, sealed: Path) -> None:
    log_file(project).mkdir()
    (sealed / ".instinct").mkdir(exist_ok=True)
    (sealed / ".instinct" / "state").write_bytes(b"")
    with pytest.raises(InstinctError) as refused:
        breaker_log.add(place_of(project), [HELD])
    assert refused.value.hint

"""What agents were told, counted in this clone: one append each, bounded, private."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest

from instinct_git.core.effect import Shown
from instinct_git.storage import shown
from instinct_git.storage.files import Place, locate
from tests.builders import Project


def place(project: Project, sealed: Path) -> Place:
    return locate(project.root, sealed / ".instinct")


def test_what_is_noted_is_read_again_and_is_no_part_of_the_tree(project: Project, sealed: Path) -> None:
    here = place(project, sealed)
    before = project.status()
    shown.note(here, ["seq:a->b", "note:主", "seq:a->b"], "aa", "2026-03-02")
    shown.note(here, [], "bb", "2026-03-02")
    shown.note(here, ["note:x"], "", "2026-04-01")
    assert shown.read(here) == [
        Shown("2026-03-02", "aa", ("seq:a->b", "note:主")),
        Shown("2026-04-01", "", ("note:x",)),
    ]
    assert project.status() == before


def test_a_torn_line_and_one_of_a_newer_version_are_passed_over(project: Project, sealed: Path) -> None:
    here = place(project, sealed)
    shown.note(here, ["note:x"], "aa", "2026-03-02")
    file = here.state_dir / "shown" / "2026-03.jsonl"
    file.write_bytes(file.read_bytes() + b'{"d":1,"s":"","k":[]}\n[]\n{"d":"2026-03-0')
    shown.note(here, ["note:y"], "bb", "2026-03-03")
    assert [one.keys for one in shown.read(here)] == [("note:x",), ("note:y",)]


def test_only_some_months_are_kept_and_a_month_has_an_end(project: Project, sealed: Path) -> None:
    here = place(project, sealed)
    for month in range(1, 8):
        shown.note(here, ["note:x"], "", f"2026-{month:02d}-01")
    folder = here.state_dir / "shown"
    assert sorted(file.name for file in folder.iterdir()) == [f"2026-{month:02d}.jsonl" for month in (4, 5, 6, 7)]
    (folder / "2026-07.jsonl").write_bytes(b"\n" * shown.MAX_BYTES)
    shown.note(here, ["note:x"], "", "2026-07-02")
    assert (folder / "2026-07.jsonl").stat().st_size == shown.MAX_BYTES


def test_a_state_folder_that_cannot_be_written_leaves_the_count_in_the_users_home(
    project: Project, sealed: Path
) -> None:
    here = place(project, sealed)
    (here.state_dir / "shown").parent.mkdir(parents=True, exist_ok=True)
    (here.state_dir / "shown").write_text("no folder", encoding="utf-8")
    shown.note(here, ["note:x"], "", "2026-03-02")
    assert [one.keys for one in shown.read(here)] == [("note:x",)]


def _note_many(here: Place, name: str) -> None:
    for number in range(50):
        shown.note(here, [f"note:{name}"], f"{name}{number}", "2026-03-02")


@pytest.mark.slow
def test_writers_at_once_lose_nothing(project: Project, sealed: Path) -> None:
    here = place(project, sealed)
    workers = [multiprocessing.Process(target=_note_many, args=(here, name)) for name in "ab"]
    for one in workers:
        one.start()
    for one in workers:
        one.join(60)
    assert len({one.session for one in shown.read(here)}) == 100

"""What lowers a suggestion: one small file, a cache of this working tree."""

from __future__ import annotations

from pathlib import Path

from instinct_git.storage import judged
from instinct_git.storage.files import locate
from instinct_git.storage.judged import Judged
from tests.builders import Project


def test_a_judgement_is_read_again_and_without_one_nothing_is_lowered(project: Project, sealed: Path) -> None:
    here = locate(project.root, sealed / ".instinct")
    assert judged.read(here) == Judged()
    one = Judged({"note:x": ("a/b.py", "make target lint")}, frozenset({"note:y"}), str(project.root))
    judged.write(here, one)
    assert judged.read(here) == one
    assert judged.read(here._replace(root=project.root / "other")) == Judged()


def test_a_path_that_is_back_is_stale_no_more(project: Project, sealed: Path) -> None:
    here = locate(project.root, sealed / ".instinct")
    judged.write(here, Judged({"note:x": ("a/b.py",), "note:y": ("a/b.py", "package rich")}, base=str(project.root)))
    project.write("a/b.py", "")
    assert judged.read(here).stale == {"note:y": ("package rich",)}


def test_a_damaged_file_lowers_nothing(project: Project, sealed: Path) -> None:
    here = locate(project.root, sealed / ".instinct")
    judged.write(here, Judged({}, frozenset({"note:y"})))
    file = here.worktree_state_dir / judged.FILE
    for content in (b"", b"[]", b"{", b'{"version": 2}', file.read_bytes()[:-5]):
        file.write_bytes(content)
        assert judged.read(here) == Judged()

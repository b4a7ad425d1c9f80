"""The index of search is a cache (law 10): whatever happens to it, the answers are those of the files."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from instinct_git.operations.observing import Draft
from instinct_git.storage import files, search_index
from tests.builders import Project, first

KEYS = ("seq:lint->fix->test", "pref:style=black", "fix:missing-import", "note:发布博客", "combo:pytest+xdist")
QUERIES = (
    "lint",
    "blakc",
    "发布",
    "missing import",
    "pytest xdist",
    "note:发布博客",
    "->",
    "make the docs",
    "fix lint test",
)


@pytest.fixture
def filled(project: Project) -> Project:
    """A memory of some patterns and a procedure, with an index."""
    project.memory().observe_many([Draft(key, title=f"Title of {key}") for key in KEYS for _ in range(3)])
    project.memory().consolidate()
    project.write("memory/procedures/docs.md", "# Make the docs\n\nRun `make docs`.\n")
    answers(project)
    return project


def answers(project: Project) -> dict[str, list[tuple[str, str]]]:
    """What search says: {query: (key, why) rows}."""
    memory = project.memory()
    return {query: [(one.pattern, one.because) for one in memory.search(query)] for query in QUERIES}


def file(project: Project) -> Path:
    return project.root / ".git" / "instinct" / "index-search.db"


def statement(text: str) -> Callable[[Path], None]:
    """Do something to the database."""

    def act(path: Path) -> None:
        database = sqlite3.connect(path)
        database.execute(text)
        database.commit()
        database.close()

    return act


def foreign(path: Path) -> None:
    path.unlink()
    statement("create table entries(whatever text)")(path)


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "mine").write_text("a person's", encoding="utf-8")


def noise(where: float) -> Callable[[Path], None]:
    """Overwrite a page's worth of bytes; where: from 0, the beginning, to 1."""

    def act(path: Path) -> None:
        data = bytearray(path.read_bytes())
        start = int(where * (len(data) - 4096))
        data[start : start + 4096] = b"\xa5" * 4096
        path.write_bytes(data)

    return act


DAMAGE: dict[str, Callable[[Path], None]] = {
    "deleted": lambda path: path.unlink(),
    "emptied": lambda path: path.write_bytes(b""),
    "cut": lambda path: os.truncate(path, path.stat().st_size // 2),
    "text": lambda path: path.write_bytes(b"this is no database\n" * 500),
    "foreign": foreign,
    "a folder": folder,
    "another version": statement("update meta set value = '0 0.0.1' where name = 'version'"),
    "another program": statement("pragma application_id = 7"),
    "no words": statement("drop table words"),
    "no entries": statement("drop table entries"),
    "no state": statement("delete from meta where name = 'state'"),
    "odd numbers": statement("update meta set value = 'many' where name = 'entries'"),
    "noise at the beginning": noise(0),
    "noise in the middle": noise(0.5),
    "noise at the end": noise(1),
}


@pytest.mark.parametrize("damage", first(4, DAMAGE))
def test_a_damaged_or_foreign_index_changes_no_answer(filled: Project, damage: str) -> None:
    before = answers(filled)
    assert all(before[query] for query in QUERIES)
    DAMAGE[damage](file(filled))
    assert answers(filled) == before
    filled.write("memory/procedures/more.md", "# zebra\n")
    assert [one.pattern for one in filled.memory().search("zebra")] == ["memory/procedures/more.md:1"]


def test_an_index_of_other_files_is_brought_up_to_date(filled: Project) -> None:
    """A clone's folder restored from a backup, or a branch switched: the stamps tell."""
    kept = file(filled).read_bytes()
    filled.write("memory/procedures/docs.md", "# Nothing any more\n")
    now = answers(filled)
    file(filled).write_bytes(kept)
    assert answers(filled) == now and "text" not in str(now["make the docs"])


def test_nothing_is_written_when_nothing_changed(filled: Project) -> None:
    for _ in range(1000):  # what changed a moment ago is not trusted yet
        answers(filled)
        before = file(filled).read_bytes()
        answers(filled)
        if file(filled).read_bytes() == before and b"state" in before:
            break
    else:
        raise AssertionError("the index never came to rest")
    assert filled.status() == filled.status() and "index" not in filled.status()


@pytest.fixture(params=["no full-text search", "no sqlite3", "nowhere to write", "a locked database"])
def crippled(request: pytest.FixtureRequest, filled: Project, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    """A world in which no index can be kept."""
    search_index._known.clear()
    lock = None
    if request.param == "no full-text search":
        file(filled).unlink()
        monkeypatch.setattr(search_index, "_SCHEMA", search_index._SCHEMA.replace("fts5(key", "fts9(key"))
    elif request.param == "no sqlite3":
        monkeypatch.setitem(sys.modules, "sqlite3", None)
    elif request.param == "nowhere to write":
        file(filled).unlink()
        nowhere = filled.root / "README.md" / "x.db"
        monkeypatch.setattr(search_index, "homes", lambda place: (nowhere, nowhere))
    else:
        monkeypatch.setattr(search_index, "PATIENCE", 0.01)
        monkeypatch.setattr(search_index, "homes", lambda place: (file(filled),))
        lock = sqlite3.connect(file(filled), isolation_level=None)
        lock.execute("begin exclusive")
    yield filled
    if lock is not None:
        lock.close()


def test_without_an_index_the_answers_are_the_same(crippled: Project, tmp_path: Path) -> None:
    found = answers(crippled)
    assert all(found[query] for query in QUERIES)
    crippled.write("memory/procedures/more.md", "# zebra\n")
    assert [one.pattern for one in crippled.memory().search("zebra")] == ["memory/procedures/more.md:1"]
    assert found == crippled_free(crippled)


def crippled_free(project: Project) -> dict[str, list[tuple[str, str]]]:
    """What a process of its own says, in which nothing is missing (the lock is left: it waits for nothing)."""
    (project.root / "memory/procedures/more.md").unlink()
    code = f"import sys; sys.path.insert(0, {str(Path(__file__).parents[2])!r})\n" + (
        "from pathlib import Path; from tests.builders import Project; from tests.storage.test_search_index import answers\n"
        "from instinct_git.storage import search_index; search_index.PATIENCE = 0.01\n"
        f"print(repr(answers(Project(Path({str(project.root)!r})))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60, encoding="utf-8"
    )
    found: dict[str, list[tuple[str, str]]] = eval(done.stdout)
    return found


def test_a_folder_that_cannot_be_written_sends_the_index_to_the_users_own(
    filled: Project, monkeypatch: pytest.MonkeyPatch, sealed: Path
) -> None:
    before = answers(filled)
    real = search_index.homes
    blocked = filled.root / "README.md" / "x.db"
    monkeypatch.setattr(search_index, "homes", lambda place: (blocked, real(place)[1]))
    assert answers(filled) == before
    assert [*(sealed / ".instinct" / "state").rglob("index-search.db")]


def test_processes_that_build_at_once_agree(filled: Project) -> None:
    file(filled).unlink()
    command = [sys.executable, "-m", "instinct_git", "search", "lint", "--json"]
    running = [
        subprocess.Popen(command, cwd=filled.root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    told = [one.communicate(timeout=120) for one in running]
    assert {one.returncode for one in running} == {0}, told
    assert len({out for out, _ in told}) == 1 and '"seq:lint->fix->test"' in told[0][0]
    assert sqlite3.connect(file(filled)).execute("pragma integrity_check").fetchone() == ("ok",)


def test_threads_search_while_another_changes_files(filled: Project) -> None:
    def ask(number: int) -> Any:
        if number % 5 == 0:
            filled.write(f"memory/procedures/new-{number}.md", f"# zebra {number}\n")
        return [one.pattern for one in filled.memory().search("lint")][:1]

    with ThreadPoolExecutor(4) as pool:
        assert {tuple(found) for found in pool.map(ask, range(20))} == {("seq:lint->fix->test",)}
    assert len(filled.memory().search("zebra")) == 4


def test_a_killed_build_leaves_an_index_that_is_made_anew(filled: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    before = answers(filled)
    file(filled).unlink()

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(search_index.Database, "_count", stop)
        with pytest.raises(KeyboardInterrupt):
            answers(filled)
    assert answers(filled) == before


def test_worktrees_have_an_index_each(filled: Project) -> None:
    filled.commit("all")
    other = filled.worktree("other", "branch")
    other.write("memory/procedures/only-here.md", "# zebra\n")
    assert [one.pattern for one in other.memory().search("zebra")] == ["memory/procedures/only-here.md:1"]
    assert filled.memory().search("zebra") == []
    assert answers(other) == answers(filled)


def test_the_two_kinds_of_index_hold_the_same(filled: Project) -> None:
    """The database and the list in memory, asked for each thing that search asks an index."""
    from instinct_git.core.terms import triples
    from instinct_git.storage import index
    from instinct_git.storage.search_sources import Files

    place = files.locate(filled.root, files.instinct_home())
    with search_index.opened(place, Files(place, index.read(place))) as kept:
        assert isinstance(kept, search_index.Database)
        listed = search_index._in_memory(place, Files(place, index.read(place)))
        asked = ["lint", "fix", "发布", "nothing", "mak", "布"]
        assert kept.statistics(asked) == listed.statistics(asked)
        for kind in ("", "pattern", "skill", "nothing"):
            for phrases in ((), (("titl", "of"),), (("of", "titl"),)):
                one, other = (index.matching(asked, phrases, 50, kind) for index in (kept, listed))
                assert sorted(one) == sorted(other)
            assert kept.named("o", 3, kind) == listed.named("o", 3, kind)
            one, other = (index.nearly_named(triples("lint"), 9, kind) for index in (kept, listed))
            assert sorted(one) == sorted(other)
        assert sorted(digest for _, digest in kept.digests()) == sorted(digest for _, digest in listed.digests())

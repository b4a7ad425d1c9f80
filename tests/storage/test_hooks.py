"""A batch that one of git's hooks starts: before a commit it is refused, after it it runs, however the hook was reached."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from instinct_git.storage import hooks
from tests.builders import Project, first
from tests.storage.test_commit_recipe import hook

BATCH = f'"{sys.executable}" -m instinct_git consolidate'
SAY = ' >>"$HOME/said" 2>&1; echo "code $?" >>"$HOME/said"'
KINDS = [
    ("-m", "x"), ("-a", "-m", "x"), ("-m", "x", "--", "work"), ("-i", "-m", "x", "--", "work"), ("--amend", "-m", "x"),
    ("--allow-empty", "-m", "x"), ("--amend", "--allow-empty", "-m", "x", "--only"),
]  # fmt: skip
WAYS = {
    "a child": BATCH + SAY,
    "in the hook's place": f'exec "{sys.executable}" -c "from tests.storage.test_hooks import consolidate; consolidate()" NAME',
    "a shell in a shell": f"sh -c '{BATCH}'" + SAY,
    "git instinct": 'git -c "alias.fold=!' + BATCH.replace('"', "") + '" fold' + SAY,
}


def consolidate() -> None:
    """Consolidate in this process, which has taken the hook's place, and say how it went."""
    from instinct_git.errors import InstinctError
    from instinct_git.memory import Memory

    try:
        Memory().consolidate()
        words = "code 0"
    except InstinctError as problem:
        words = f"{problem.message}\ncode 2"
    with (Path.home() / "said").open("a", encoding="utf-8") as said:
        said.write(words + "\n")


@pytest.fixture
def working(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Evidence that waits, a changed file and other work that is staged."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    for name in ("work", "other"):
        project.write(name, "before\n")
    project.commit("before", "work", "other")
    project.observe(times=2)
    for name in ("work", "other"):
        project.write(name, "after\n")
    project.git("add", "work", "other")
    return project


def said() -> str:
    return (Path.home() / "said").read_text(encoding="utf-8")


BEFORE = [("pre-commit", one) for one in KINDS] + [
    (name, KINDS[number]) for name in ("prepare-commit-msg", "commit-msg") for number in (2, 4)
]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        pytest.param(*one, marks=() if one[1] in KINDS[:2] or one[0] == "commit-msg" else pytest.mark.slow)
        for one in BEFORE
    ],
    ids=lambda one: one if isinstance(one, str) else " ".join(one),
)
def test_before_a_commit_a_batch_is_refused(working: Project, name: str, arguments: tuple[str, ...]) -> None:
    """The open commit owns HEAD, also where it changes nothing; the person's commit goes through, the evidence waits."""
    file = hook(working, name, BATCH + SAY)
    working.git("commit", "-q", *arguments)
    file.unlink()
    assert "this is one of its hooks" in said()
    assert "code 2" in said()
    assert working.git("log", "-1", "--format=%s") == "x"
    working.memory().consolidate()
    assert working.confidence() == 2


@pytest.mark.parametrize("arguments", first(2, KINDS), ids=" ".join)
def test_after_a_commit_a_batch_runs(working: Project, arguments: tuple[str, ...]) -> None:
    """A post-commit hook may consolidate whatever else is staged, and that stays staged."""
    file = hook(working, "post-commit", f'[ -e "$HOME/once" ] && exit 0; : > "$HOME/once"; {BATCH}{SAY}')
    working.git("commit", "-q", *arguments)
    file.unlink()
    assert "code 0" in said()
    assert working.git("log", "--format=%s", "-2").split("\n")[1] == "x"
    assert all(path.startswith(".instinct/") for path in working.changed())
    assert working.confidence() == 2
    assert ".instinct" not in working.status()
    partial = ("--" in arguments and "-i" not in arguments) or "--only" in arguments
    assert ("other" in working.status()) == partial


@pytest.mark.parametrize("way", first(2, WAYS))
@pytest.mark.parametrize(("name", "code"), [("pre-commit", 2), ("post-commit", 0)])
def test_the_hook_is_found_however_it_starts_the_batch(working: Project, way: str, name: str, code: int) -> None:
    """Through shells, through git itself, and where a hook runner has taken the hook's place."""
    runner = f"x --hook-type={name} /usr/bin/pre-commit"  # the runner called pre-commit says so in all its hooks
    once = '[ -e "$HOME/once" ] && exit 0; : > "$HOME/once"; '
    file = hook(working, name, once + WAYS[way].replace("NAME", runner))
    working.git("commit", "-q", "--amend", "-m", "x")
    file.unlink()
    assert said().split("\n")[-2] == f"code {code}"


def test_an_editor_of_a_commit_message_is_an_open_commit(working: Project) -> None:
    """A batch from a terminal inside the editor would take HEAD away from the commit that is being written."""
    editor = working.root.parent / "editor"
    editor.write_text(f'#!/bin/sh\n{BATCH}{SAY}\necho x > "$1"\n', encoding="utf-8")
    editor.chmod(0o755)
    working.git("commit", "-q", "--amend", env={"GIT_EDITOR": str(editor)})
    assert "code 2" in said()
    assert working.git("log", "-1", "--format=%s") == "x"


def test_a_hook_of_another_repositorys_commit_does_not_matter(working: Project) -> None:
    """While a commit of another repository is open, this one can be committed to."""
    other = Project.new(working.root.parent / "outer")
    hook(other, "pre-commit", f'cd "{working.root}" && {BATCH}{SAY}')
    other.git("commit", "-q", "--allow-empty", "-m", "x")
    assert "code 0" in said()
    assert working.confidence() == 2


def test_where_there_is_no_proc_ps_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both sources name the same process above; and a system that tells nothing leaves the question open."""
    (pid, arguments), *_ = hooks._ancestors()
    from_ps = hooks._from_ps(pid)
    assert from_ps is None or from_ps[1][0] == arguments[0].split()[0]
    monkeypatch.setattr(hooks.os.path, "isdir", lambda path: False)
    monkeypatch.setattr(hooks, "_from_ps", lambda pid: (1, ["sh", ".git/hooks/pre-commit"]))
    assert hooks.find(".git/index") == (True, None)
    monkeypatch.setattr(hooks, "_from_ps", lambda pid: None)
    assert hooks.find(".git/index") == (None, None)


@pytest.mark.parametrize(("index", "before"), [("index.lock", True), ("next-index-4711.lock", True), ("index", None)])
def test_the_index_that_git_prepares_tells_by_itself(
    monkeypatch: pytest.MonkeyPatch, index: str, before: bool | None
) -> None:
    """`commit -a` and `commit <path>` are known by the name of their index."""
    monkeypatch.setattr(hooks, "_ancestors", lambda: iter(()))
    assert hooks.find(f".git/{index}").before is before


def test_a_program_that_a_hook_leaves_in_the_background_is_not_waited_for(working: Project) -> None:
    """It may live on and hold the hook's output open: the batch ends when git does, and nothing is killed."""
    pipe = working.root.parent / "pipe"
    os.mkfifo(pipe)
    hook(working, "post-commit", f'(cat "{pipe}" > "$HOME/lived") &')
    assert working.memory().consolidate().commit == working.head()
    pipe.write_text("on\n", encoding="utf-8")

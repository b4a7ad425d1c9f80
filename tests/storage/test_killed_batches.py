"""A batch that is killed: readers never see half of it, a person may go on before the rerun, the rerun is exact."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from instinct_git.storage import files, store
from instinct_git.storage import git as storage_git
from instinct_git.storage.git import Repository
from tests.builders import Project, first

STEPS: dict[str, tuple[object, str]] = {
    "files.create": (files, "create"),
    "files.replace": (files, "replace"),
    "Path.unlink": (Path, "unlink"),
    "os.link": (os, "link"),
    "os.replace": (os, "replace"),
    "os.write": (os, "write"),
    "git": (storage_git, "run"),
    "Repository.commit": (Repository, "commit"),
    "store.drain": (store, "drain"),
    "store.prepare": (store, "prepare"),
}
OTHER = "note:seen once"


@pytest.fixture
def halfway(project: Project) -> Project:
    """A memory with a folded pattern and a hand edit of it, a recorded container, and evidence that waits."""
    project.observe(times=2)
    project.memory().consolidate()
    [path] = (project.root / ".instinct" / "patterns").rglob("*.md")
    path.write_bytes(path.read_bytes().replace(b"confidence: 2\n", b"confidence: 4\n"))
    project.commit("by hand", ".instinct")
    project.observe(times=2)
    project.memory().record()
    project.observe(times=2)
    project.observe(OTHER)
    return project


def ids_of(project: Project) -> set[str]:
    """Every id, waiting ones too."""
    return {one.id for one in project.memory()._space.read()[0].everything}


def killed(action: Callable[[], object], step: str, call: int, *, after: bool) -> bool:
    """Run `action` in a process that dies at the n-th call of a step; False when it ended before that."""
    child = os.fork()
    if child == 0:
        try:
            holder, name = STEPS[step]
            original, count = getattr(holder, name), 0

            def dying(*args: object, **options: object) -> object:
                nonlocal count
                count += 1
                if count == call and not after:
                    os._exit(9)
                result = original(*args, **options)
                if count == call:
                    os._exit(9)
                return result

            setattr(holder, name, dying)
            action()
            os._exit(0)
        except BaseException:
            import traceback

            traceback.print_exc()
            os._exit(1)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, 9), "the batch failed by itself"
    return code == 9


def copies(project: Project) -> Iterator[Project]:
    """Yield copy after copy of a project."""
    number = 0
    while True:
        number += 1
        target = project.root.parent / f"copy{number}"
        shutil.copytree(project.root, target, symlinks=True)
        yield Project(target)


def age(project: Project) -> None:
    """Make half-written files old: a rerun leaves young ones alone where an observe may be at work."""
    for file in project.root.rglob(".*.tmp"):
        os.utime(file, (0, 0))


def leftovers(project: Project) -> list[str]:
    """Half-written files anywhere, and what a batch keeps only while it runs."""
    state = project.root / ".git" / "instinct"
    found = [*project.root.rglob(".*.tmp"), *state.glob("index.*.*"), *project.root.rglob("*.lock")]
    found += [state / name for name in ("batch.json", "restage", "aside") if (state / name).exists()]
    return [str(path) for path in found if path.name != "batch.lock"]


def exact(project: Project, ids: set[str], *, confidence: int) -> None:
    """Every id is there, once; the numbers, the status and the checks are right."""
    assert project.tree_ids() == ids
    assert project.confidence() == confidence
    assert project.confidence(OTHER) == 1
    assert project.status() == ""
    assert project.errors() == []
    assert project.inbox_files() == []
    assert leftovers(project) == []


def crash_everywhere(halfway: Project, verb: str, step: str, *, after: bool) -> int:
    """Kill the batch at each call of the step, then run it again; returns at how many points it was killed."""
    ids = ids_of(halfway)
    assert len(ids) == 7
    for call, copy in enumerate(copies(halfway), 1):
        alive = not killed(getattr(copy.memory(), verb), step, call, after=after)
        age(copy)
        copy.memory().consolidate()
        exact(copy, ids, confidence=8)
        again = copy.head()
        copy.memory().consolidate()
        assert copy.head() == again
        shutil.rmtree(copy.root)
        if alive:
            return call - 1
    raise AssertionError


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", first(2, ["Repository.commit", "store.drain", "files.create", "files.replace"]))
def test_a_consolidate_killed_at_a_step_is_exact_when_run_again(halfway: Project, step: str, after: bool) -> None:
    """Killed before or after a step of consolidate, the rerun has every id once and the hand edit in its number."""
    assert crash_everywhere(halfway, "consolidate", step, after=after) >= 1


@pytest.mark.parametrize("step", first(1, ["os.replace", "os.write"]))
def test_crash_in_the_middle_of_writing_a_file(halfway: Project, step: str) -> None:
    """Killed while a file is half-written, no reader ever sees the half, and the rerun sweeps it away."""
    assert crash_everywhere(halfway, "consolidate", step, after=False) >= 3


@pytest.mark.slow
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_crash_around_every_git_command(halfway: Project, after: bool) -> None:
    """Killed before or after any git command of the batch, the rerun is exact."""
    assert crash_everywhere(halfway, "consolidate", "git", after=after) >= 8


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["consolidate", "record", "decay"])
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", list(STEPS))
def test_a_batch_killed_anywhere_is_finished_by_a_consolidate(
    halfway: Project, verb: str, step: str, after: bool
) -> None:
    """Whichever batch was killed and wherever, a consolidate after it is exact."""
    crash_everywhere(halfway, verb, step, after=after)


def test_a_person_goes_on_between_the_crash_and_the_rerun(halfway: Project) -> None:
    """A person commits and stages their own work after the crash; it stays theirs, and ours is exact."""
    ids = ids_of(halfway)
    assert killed(halfway.memory().consolidate, "Repository.commit", 1, after=False)
    halfway.write("work", "mine\n")
    halfway.git("add", "work")
    halfway.git("commit", "-q", "-m", "work")
    halfway.write("staged", "later\n")
    halfway.git("add", "staged")
    done = halfway.memory().consolidate()
    assert all(path.startswith(".instinct/") for path in halfway.changed(done.commit))
    assert halfway.status() == "A  staged"
    halfway.git("rm", "-q", "-f", "staged")
    exact(halfway, ids, confidence=8)


def test_a_person_takes_the_half_batch_back_before_the_rerun(halfway: Project) -> None:
    """A person who finds a half-written batch and throws it away (checkout, clean) has lost no evidence."""
    ids = ids_of(halfway)
    assert killed(halfway.memory().consolidate, "Repository.commit", 1, after=False)
    halfway.git("checkout", "-q", "--", ".")
    halfway.git("clean", "-fdq")
    halfway.memory().consolidate()
    exact(halfway, ids, confidence=8)


def test_a_person_commits_the_half_batch_before_the_rerun(halfway: Project) -> None:
    """A person who commits everything after the crash has committed a batch that is right."""
    ids = ids_of(halfway)
    assert killed(halfway.memory().consolidate, "Repository.commit", 1, after=False)
    halfway.commit("everything")
    halfway.memory().consolidate()
    exact(halfway, ids, confidence=8)


def test_crash_of_observe_leaves_nothing_that_counts(project: Project) -> None:
    """An observation that was killed before it was complete does not count; one that was complete does."""
    project.memory().consolidate()
    for step, after in (("os.write", False), ("os.write", True), ("os.link", False)):
        assert killed(project.observe, step, 1, after=after)
    assert killed(project.observe, "os.link", 1, after=True)
    age(project)
    project.memory().consolidate()
    assert project.confidence() == 1
    assert leftovers(project) == []


def test_a_leftover_that_may_still_be_written_is_left_alone(project: Project) -> None:
    """A young temporary file in the inbox may belong to an observe that is running: a batch does not touch it."""
    project.observe()
    [file] = project.inbox_files()
    young = file.with_name(f".{file.name}.0123456789ab.tmp")
    young.write_bytes(b"")
    project.memory().consolidate()
    assert young.exists()

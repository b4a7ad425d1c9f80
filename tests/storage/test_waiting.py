"""From observing to history: whatever a person does with branches in between, evidence counts, and counts once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from instinct_git.core.evidence import MAX_LINE, parse_container
from instinct_git.core.model import Evidence
from instinct_git.errors import InstinctError
from instinct_git.operations import observing
from instinct_git.storage import files, inbox, store
from tests.builders import KEY, Project
from tests.storage.test_inbox import exact, waiting

OTHER = "fix:missing-import"


def kept(project: Project) -> set[str]:
    """The ids that recorded/ still keeps."""
    place = files.locate(project.root, files.instinct_home())
    paths = [path for found in store.recorded(place).values() for path in found]
    return {one.id for path in paths for one in parse_container(path.read_bytes())[0]}


@pytest.fixture
def started(project: Project) -> Project:
    """A project whose memory is committed on main and has counted one observation."""
    project.observe()
    project.memory().consolidate()
    project.memory().consolidate()  # the default branch has it: recorded/ is emptied
    assert kept(project) == set()
    return project


# --- between observing and recording (cases 43-46) ------------------------------------------------------------------


def append_after_commit(project: Project) -> None:
    project.memory().record()


def append_after_branch_switch_same_session(project: Project) -> None:
    project.git("switch", "-q", "-c", "topic")
    project.git("switch", "-q", "main")


def append_after_stash(project: Project) -> None:
    project.write("work.txt", "x")
    project.git("stash", "-q", "-u")


def append_after_clean(project: Project) -> None:
    project.git("clean", "-qfdx")


def append_after_amend(project: Project) -> None:
    project.git("commit", "-q", "--amend", "--allow-empty", "-m", "amended")


def append_after_reset(project: Project) -> None:
    project.memory().record()
    project.git("reset", "-q", "--hard", "HEAD~1")


def append_after_rebase(project: Project) -> None:
    project.git("switch", "-q", "-c", "topic", "HEAD~1")
    project.write("topic.txt", "x")
    project.commit("topic", "topic.txt")
    project.git("switch", "-q", "main")
    project.git("rebase", "-q", "topic")


def append_after_gc(project: Project) -> None:
    project.git("reflog", "expire", "--expire=now", "--all")
    project.git("gc", "-q", "--prune=now")


@pytest.mark.parametrize(
    "happens",
    [append_after_commit, append_after_branch_switch_same_session, append_after_stash, append_after_clean,
     append_after_amend, append_after_reset, append_after_rebase, append_after_gc],
)  # fmt: skip
def test_what_waits_survives_whatever_git_does_to_the_tree(
    started: Project, happens: Callable[[Project], None]
) -> None:
    contents = {path: path.read_bytes() for path in (started.root / ".instinct").rglob("*.jsonl")}
    started.observe(session="one")
    happens(started)
    started.observe(session="one")
    assert all(path.read_bytes() == content for path, content in contents.items() if path.exists())
    started.memory().record()
    started.memory().consolidate()
    assert waiting(started.root) == set()
    exact(started, 3)


def test_fold_while_session_writes(started: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """What arrives between the batch's reading and its draining stays in the inbox for the next one (case 46)."""
    started.observe()
    real = store.drain

    def drain(*args: object) -> None:
        started.observe(OTHER)
        real(*args)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(store, "drain", drain)
        started.memory().consolidate()
    assert len(waiting(started.root)) == 1
    started.memory().consolidate()
    assert started.confidence(OTHER) == 1
    exact(started, 2)


# --- damage in the inbox --------------------------------------------------------------------------------------------


def damaged(project: Project, change: Callable[[list[bytes]], bytes]) -> Path:
    """Write three observations as one file and damage it."""
    project.memory().observe_many([observing.Draft(KEY), observing.Draft(OTHER), observing.Draft(KEY)])
    (path,) = project.inbox_files()
    path.write_bytes(change(path.read_bytes().split(b"\n")[:3]))
    return path


def test_torn_last_line_power_cut(started: Project) -> None:
    path = damaged(started, lambda lines: b"\n".join([lines[0], lines[1], lines[2][:40]]))
    result = started.memory().consolidate()
    assert [notice for notice in result.notices if str(path) in notice and "line 3" in notice]
    assert (started.confidence(), started.confidence(OTHER)) == (2, 1)
    exact(started, 2)


def test_bad_json_middle_line(started: Project) -> None:
    path = damaged(started, lambda lines: b"\n".join([lines[0], b"{ no json", lines[2], b""]))
    for _ in range(2):
        result = started.memory().consolidate()
        assert [notice for notice in result.notices if str(path) in notice and "line 2" in notice]
        assert path.exists()  # only a person can tell what the line was
        assert result.folded == (2 if result.commit else 0)
    exact(started, 3)


def test_a_line_over_4_kb_is_refused_and_nothing_is_written(project: Project) -> None:
    with pytest.raises(InstinctError, match=str(MAX_LINE)):
        project.observe(note="n" * MAX_LINE)
    assert waiting(project.root) == set()
    project.observe(note="n" * (MAX_LINE - 400))
    assert len(waiting(project.root)) == 1


def test_801_observations_without_a_batch_lose_only_the_live_value(project: Project) -> None:
    memory, limit = project.memory(), observing.LIVE_FILES
    place = files.locate(project.root, files.instinct_home())
    for _ in range(limit - 1):
        inbox.put(place, [Evidence("", KEY, "observed")], "20260301")
    assert [memory.observe(KEY).live for _ in range(3)] == [limit, None, None]
    assert memory.show(KEY).live == limit + 2
    memory.consolidate()
    exact(project, limit + 2)
    assert memory.observe(KEY).live == limit + 3


# --- what was drained (test_recorded.py has the other half) ---------------------------------------------------------


@pytest.mark.parametrize("delete_first", [True, False])
def test_after_a_squash_merge_nothing_is_kept_and_nothing_counts_twice(started: Project, delete_first: bool) -> None:
    started.git("switch", "-q", "-c", "topic")
    for _ in range(2):
        started.observe()
        started.memory().record()
    assert len(kept(started)) == 2
    started.git("switch", "-q", "main")
    started.git("merge", "-q", "--squash", "topic")
    started.git("commit", "-q", "-m", "squashed")
    if delete_first:
        started.git("branch", "-q", "-D", "topic")
    started.memory().consolidate()
    assert (kept(started), waiting(started.root)) == (set(), set())
    exact(started, 3)


def test_a_rebased_branch_seen_from_main_counts_once(started: Project) -> None:
    """The batch's commit has another id after a rebase: its evidence comes back on main, and then with the branch."""
    started.git("switch", "-q", "-c", "topic")
    started.observe()
    started.memory().record()
    started.git("switch", "-q", "main")
    started.write("main.txt", "x")
    started.commit("main", "main.txt")
    started.git("rebase", "-q", "main", "topic")
    started.git("switch", "-q", "main")
    started.memory().consolidate()
    started.git("merge", "-q", "--no-edit", "topic")
    started.memory().consolidate()
    exact(started, 2, boxed_once=False)


@pytest.mark.parametrize("lands", ["merged", "squashed", "deleted"])
def test_notes_survive_in_the_clone(started: Project, lands: str) -> None:
    started.git("switch", "-q", "-c", "topic")
    started.observe(note="my own words", session="s1")
    started.memory().record()
    started.git("switch", "-q", "main")
    if lands == "deleted":
        started.git("branch", "-q", "-D", "topic")
    else:
        started.git("merge", "-q", *(["--squash"] if lands == "squashed" else []), "topic")
        started.git("commit", "-q", "--allow-empty", "-m", lands)
    for _ in range(3):
        started.memory().consolidate()
        assert "my own words" in str(started.memory().explain(KEY))
    assert (kept(started), waiting(started.root)) == (set(), set())
    assert "my own words" not in "".join(path.read_text() for path in (started.root / ".instinct").rglob("*.jsonl"))
    exact(started, 2)


def test_no_commit_keeps_them_until_the_users_commit_lands(started: Project) -> None:
    started.observe()
    (one,) = waiting(started.root)
    head = started.head()
    for _ in range(2):
        started.memory().record(no_commit=True)
        assert (started.head(), kept(started), waiting(started.root)) == (head, {one}, set())
        assert one in started.tree_ids()
    started.commit("my own commit")
    started.memory().consolidate()
    assert kept(started) == set()
    exact(started, 2)

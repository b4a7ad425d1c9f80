"""check --stale: what patterns, skills and procedures cite, held against the working tree and its history."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from instinct_git.core.pattern import Finding
from instinct_git.memory import Memory
from instinct_git.storage import judged
from tests.builders import Project, Ran
from tests.conftest import Clock

Instinct = Callable[..., Ran]


@pytest.fixture
def dated(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> Clock:
    """Commits are made when the clock says so."""

    def forward(days: int) -> None:
        Clock.forward(clock, days)
        _date(monkeypatch, clock.moment)

    _date(monkeypatch, clock.moment)
    monkeypatch.setattr(clock, "forward", forward)
    return clock


def _date(monkeypatch: pytest.MonkeyPatch, moment: datetime) -> None:
    for name in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"):
        monkeypatch.setenv(name, moment.astimezone(UTC).isoformat())


def stale(project: Project, clock: Clock) -> list[Finding]:
    return [one for one in project.memory(clock).check(stale=True) if one.rule in ("stale", "changed", "missing")]


def told(project: Project, clock: Clock) -> list[tuple[str, str]]:
    return [(one.rule, one.message.partition(",")[0]) for one in stale(project, clock)]


def learned(project: Project, clock: Clock, text: str, key: str = "note:x") -> None:
    """Let a pattern that cites something be committed, a day after what it cites."""
    project.commit("what it cites")
    clock.forward(1)
    project.observe(key, now=clock, title=text)
    project.memory(clock).consolidate()
    clock.forward(1)


def test_a_file_that_went_since_the_last_evidence_is_told_with_its_day_and_what_to_do(
    project: Project, dated: Clock
) -> None:
    project.write("scripts/release.sh", "")
    learned(project, dated, "Release with scripts/release.sh")
    assert stale(project, dated) == []
    project.git("rm", "-q", "scripts/release.sh")
    project.commit("gone")
    (found,) = stale(project, dated)
    assert (found.severity, found.path) == ("warning", ".instinct/patterns/note/x.md")
    assert found.message == (
        "note:x cites scripts/release.sh, which has vanished on 2026-03-04 (last evidence 2026-03-03); still right: "
        "`instinct feedback note:x --confirm`; no more: `instinct retire note:x`"
    )


@pytest.mark.slow
def test_a_file_that_moved_is_told_with_its_new_place(project: Project, dated: Clock) -> None:
    project.write("scripts/release.sh", "")
    learned(project, dated, "Release with scripts/release.sh")
    (project.root / "tools").mkdir()
    project.git("mv", "scripts/release.sh", "tools/release.sh")
    project.commit("moved")
    (found,) = stale(project, dated)
    assert "tools/release.sh is there now" in found.message


def test_a_confirmation_or_a_later_use_says_that_it_still_holds(project: Project, dated: Clock) -> None:
    project.write("a/b.py", "")
    learned(project, dated, "See a/b.py")
    project.git("rm", "-q", "a/b.py")
    project.commit("gone")
    project.memory(dated).feedback("note:x", "succeeded")
    assert told(project, dated) == [("stale", "note:x cites a/b.py")]  # used on the day it went: before or after?
    project.memory(dated).feedback("note:x", "confirmed")
    assert stale(project, dated) == []


@pytest.mark.slow
def test_a_retired_pattern_and_a_path_that_never_was_are_not_told(project: Project, dated: Clock) -> None:
    project.write("a/b.py", "")
    learned(project, dated, "See a/b.py, not `path/to/example.py`")
    project.git("rm", "-q", "a/b.py")
    project.commit("gone")
    project.memory(dated).retire("note:x")
    assert stale(project, dated) == []


def test_what_is_deleted_and_not_committed_is_told_and_back_it_is_not(project: Project, dated: Clock) -> None:
    project.write("a/b.py", "")
    learned(project, dated, "See a/b.py")
    (project.root / "a/b.py").unlink()
    assert told(project, dated) == [("stale", "note:x cites a/b.py")]
    project.write("a/b.py", "")
    assert stale(project, dated) == []


@pytest.mark.slow
def test_a_changed_file_is_a_notice(project: Project, dated: Clock) -> None:
    project.write("a/b.py", "")
    learned(project, dated, "See a/b.py")
    project.write("a/b.py", "changed")
    project.commit("changed")
    (found,) = stale(project, dated)
    assert (found.severity, found.message) == (
        "notice", "note:x cites a/b.py, which has changed on 2026-03-04 (last evidence 2026-03-03)",
    )  # fmt: skip


def test_make_targets_scripts_and_packages_that_went_are_told(project: Project, dated: Clock) -> None:
    project.write("Makefile", "lint:\n\truff\n")
    project.write("package.json", '{"scripts": {"build": "x"}}')
    project.write("requirements.txt", "requests\nrich\n")
    learned(project, dated, "Run make lint and npm run build; calls go through `requests`")
    project.write("Makefile", "check:\n\truff\n")
    project.write("package.json", '{"scripts": {}}')
    project.write("requirements.txt", "rich\n")
    project.commit("other tools")
    assert told(project, dated) == [
        ("stale", "note:x cites make target lint"), ("stale", "note:x cites package requests"),
        ("stale", "note:x cites script build"),
    ]  # fmt: skip


def test_skills_and_procedures_are_held_against_the_tree_since_their_own_last_commit(
    project: Project, dated: Clock
) -> None:
    project.write("scripts/a.sh", "")
    project.write("skills/do-it/SKILL.md", "---\nname: do-it\ndescription: Do it.\n---\nRun `scripts/a.sh`.\n")
    project.write("memory/procedures/do.md", "Run scripts/a.sh.\n")
    project.commit("approved")
    dated.forward(1)
    project.git("rm", "-q", "scripts/a.sh")
    project.commit("gone")
    found = stale(project, dated)
    assert [one.path for one in found] == ["skills/do-it/SKILL.md", "memory/procedures/do.md"]
    assert found[0].message.endswith("bring the file up to date, or take it out")


def test_the_judgement_is_kept_for_suggest_and_a_decay_renews_it(project: Project, dated: Clock) -> None:
    project.write("a/b.py", "")
    learned(project, dated, "See a/b.py")
    place = project.memory()._space.place
    project.git("rm", "-q", "a/b.py")
    project.commit("gone")
    assert judged.read(place).stale == {}
    project.memory(dated).decay()
    assert judged.read(place).stale == {"note:x": ("a/b.py",)}
    project.memory(dated).feedback("note:x", "confirmed")
    project.memory(dated).check(stale=True)
    assert judged.read(place).stale == {}


def test_without_history_what_stands_in_code_and_is_not_here_is_a_notice(tmp_path: Path, clock: Clock) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    memory = Memory(folder, now=clock)
    memory.init()
    memory.observe("note:x", title="Run `tools/a.sh` and tools/b.sh")
    memory.consolidate()
    (found,) = [one for one in memory.check(stale=True) if one.rule == "missing"]
    assert (found.severity, "tools/a.sh, which is not here" in found.message) == ("notice", True)


@pytest.mark.slow
def test_a_private_memory_is_held_against_the_project_and_a_global_one_against_nothing(
    project: Project, tmp_path: Path, dated: Clock
) -> None:
    other = Project.new(tmp_path / "other")
    other.write("a/b.py", "")
    other.commit("more")
    Memory(other.root, now=dated).init(private=True)
    dated.forward(1)
    memory = Memory(other.root, now=dated)
    memory.observe("note:x", title="See a/b.py")
    memory.consolidate()
    assert [one.rule for one in memory.check(stale=True)] == []
    other.git("rm", "-q", "a/b.py")
    other.commit("gone")
    assert [one.rule for one in memory.check(stale=True)] == ["stale"]
    mine = Memory(scope="global", now=dated)
    mine.observe("note:y", title="See a/b.py")
    (found,) = [one for one in mine.check(stale=True) if one.rule == "stale"]
    assert found.message == "a global memory speaks of no project's files"


@pytest.mark.slow
def test_a_memory_in_a_subfolder_cites_what_is_below_it(tmp_path: Path, dated: Clock) -> None:
    whole = Project.new(tmp_path / "whole")
    whole.write("app/a/b.py", "")
    part = Project(whole.root / "app")
    (part.root / ".instinct" / "patterns").mkdir(parents=True)
    learned(part, dated, "See a/b.py")
    part.git("rm", "-q", "a/b.py")
    part.commit("gone")
    assert told(part, dated) == [("stale", "note:x cites a/b.py")]


@pytest.mark.slow
def test_the_command_line_tells_it_and_exits_0(instinct: Instinct, project: Project) -> None:
    project.write("a/b.py", "")
    project.observe("note:x", title="See a/b.py")
    project.commit("more")
    project.memory().consolidate()
    assert "[stale]" not in instinct("check", "--stale").out
    project.git("rm", "-q", "a/b.py")
    assert "[stale]" not in instinct("check").out
    done = instinct("check", "--stale")
    assert (done.code, "note:x cites a/b.py, which has vanished (last evidence" in done.out) == (0, True)

"""What was remembered here is suggested here, marked, until it is answered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from instinct_git.core.keys import pattern_path
from instinct_git.core.model import Evidence
from instinct_git.operations.observing import put
from instinct_git.storage import remembered
from tests.builders import KEY, Project
from tests.conftest import Clock


def told(project: Project, clock: Clock | None = None) -> dict[str, str]:
    """{key: because} of what is suggested."""
    return {one.pattern: one.because for one in project.memory(clock).suggest()}


def test_it_is_suggested_before_any_batch_and_marked(project: Project) -> None:
    project.memory().remember("我们每周五发布博客", key="note:发布")
    (one,) = project.memory().suggest()
    assert (one.pattern, one.because, one.category, one.level) == ("note:发布", "awaiting review", "note", "raw")
    assert one.words == "我们每周五发布博客"
    project.memory().consolidate()
    assert told(project) == {"note:发布": "awaiting review"}


def test_other_clones_are_told_nothing_before_a_review(project: Project) -> None:
    project.memory().remember("release on Fridays", key="note:release")
    project.memory().consolidate()
    assert told(project.clone("other")) == {}


def test_it_comes_before_what_has_proved_itself_and_at_most_five_do(project: Project, clock: Clock) -> None:
    project.observe(times=6, now=clock)
    project.memory(clock).consolidate()
    for number in range(7):
        clock.forward(days=1)
        project.memory(clock).remember(f"thing {number}", key=f"note:{number}")
    assert [one.pattern for one in project.memory(clock).suggest()] == [*(f"note:{n}" for n in (6, 5, 4, 3, 2)), KEY]


@pytest.mark.parametrize("kind", ["approved", "rejected", "expired"])
def test_an_answer_silences_it(project: Project, kind: str) -> None:
    project.memory().remember("release on Fridays", key="note:release", score="0.40", why="w")
    day = project.memory()._space.now().date().isoformat()
    evidence_id = f"expired:note:release:{day}" if kind == "expired" else ""
    put(project.memory()._space, [Evidence(evidence_id, "note:release", kind, extra={} if evidence_id else {"n": 9})])
    project.memory().consolidate()
    assert told(project) == {}


def test_a_retired_pattern_is_not_suggested_again(project: Project) -> None:
    project.memory().remember("release on Fridays", key="note:release")
    project.memory().consolidate()
    project.memory().retire("note:release")
    assert told(project) == {}


def test_it_is_told_once_when_it_has_become_mature(project: Project) -> None:
    project.memory().remember("test again", key=KEY)
    project.observe(times=6)
    project.memory().consolidate()
    assert list(told(project)) == [KEY]
    assert told(project)[KEY].startswith("project, mature")


def test_after_sixty_days_it_is_silent(project: Project, clock: Clock) -> None:
    project.memory(clock).remember("release on Fridays", key="note:release")
    clock.forward(days=60)
    assert "note:release" in told(project, clock)
    clock.forward(days=1)
    assert told(project, clock) == {}


def test_it_is_shown_where_its_file_is_on_another_branch(project: Project) -> None:
    project.memory().consolidate()
    project.git("commit", "-q", "--allow-empty", "-m", "base")
    project.git("switch", "-q", "-c", "feature")
    project.memory().remember("release on Fridays", key="note:release")
    project.memory().consolidate()
    project.git("switch", "-q", "main")
    assert not (project.root / pattern_path("note:release")).exists()
    assert told(project) == {"note:release": "awaiting review"}


def test_broken_entries_are_passed_over(project: Project) -> None:
    project.memory().remember("release on Fridays", key="note:release")
    place = project.memory()._space.place
    for name, content in (("a", b""), ("b", b"\xff\xfe"), ("c", b"one\ntwo\n")):
        (place.state_dir / "remembered" / name).write_bytes(content)
    assert [one.pattern for one in remembered.read(place)] == ["note:release"]
    remembered.forget(place, "note:release")
    assert told(project) == {}


def test_a_read_only_git_folder_keeps_it_in_the_home(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    place = project.memory()._space.place
    (place.state_dir).mkdir(parents=True, exist_ok=True)
    (place.state_dir / "remembered").write_text("a file where the folder should be")
    project.memory().remember("release on Fridays", key="note:release")
    assert told(project) == {"note:release": "awaiting review"}


def test_the_command_line_marks_it(instinct: Callable[..., Any]) -> None:
    assert instinct("remember", "release on Fridays", "--key", "note:release").code == 0
    assert "release on Fridays (awaiting review)" in instinct("suggest").out

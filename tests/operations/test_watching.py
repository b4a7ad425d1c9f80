"""`learn --watch`: what is new is learned as it comes, without a process of ours that outlives the person's."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from instinct_git import InstinctError
from instinct_git.faces import cli_learn
from instinct_git.operations import watching
from instinct_git.operations.learning import LearnResult
from tests.builders import Project, Ran
from tests.sessions import Session

STEPS = "edit lint test commit edit lint test commit"
Step = Callable[[], object]


def held_in(home: Path, cwd: Path, name: str = "s1", steps: str = STEPS) -> Path:
    """Write a session of Claude Code where it keeps its own; each writing is another time of change."""
    path = home / ".claude" / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(cwd)) / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    records = [{**one, "cwd": str(cwd)} for one in Session(name).say("mend the cart").do(steps).records]
    path.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    return path


class Script:
    """What happens while the watch waits, a step a round; after the last it ends."""

    def __init__(self, *steps: Step) -> None:
        self.steps: Iterator[Step] = iter(steps)
        self.waited: list[float] = []

    def __call__(self, seconds: float) -> bool:
        self.waited.append(seconds)
        step = next(self.steps, None)
        if step is not None:
            step()
        return step is not None


def nothing() -> None:
    """A round in which nothing happens."""


def news(project: Project, *steps: Step, **options: object) -> list[LearnResult]:
    return list(project.memory().watch(wait=Script(*steps), **options))  # type: ignore[arg-type]


def test_what_comes_while_it_waits_is_learned_once_it_stands_still(project: Project, sealed: Path) -> None:
    done = news(project, nothing, lambda: held_in(sealed, project.root), nothing, nothing, nothing)
    assert [one.sessions for one in done] == [1]
    assert done[0].new > 0
    assert project.memory().learn().new == 0


def test_what_is_there_already_is_learned_first(project: Project, sealed: Path) -> None:
    held_in(sealed, project.root)
    assert [one.sessions for one in news(project)] == [1]
    assert news(project, nothing, nothing) == []


def test_a_file_that_is_still_written_to_is_left_alone_for_a_while(project: Project, sealed: Path) -> None:
    grown = iter(range(1, 99))

    def grow() -> None:
        held_in(sealed, project.root, steps=" ".join([STEPS] * next(grown)))

    assert news(project, *[grow] * (watching.PATIENCE - 1)) == []
    assert len(news(project, *[grow] * (watching.PATIENCE + 1))) >= 1


def test_a_session_that_goes_on_adds_what_is_new(project: Project, sealed: Path) -> None:
    def more() -> None:
        held_in(sealed, project.root, steps=f"{STEPS} {STEPS}")

    held_in(sealed, project.root, steps=STEPS)
    first, second = news(project, nothing, more, nothing, nothing)
    assert first.new > 0 and second.new > 0


def test_other_projects_sessions_are_not_read(project: Project, sealed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = sealed / ".codex" / "sessions" / "rollout-x.jsonl"
    meta = {"timestamp": "2026-02-01T10:00:00Z", "type": "session_meta", "payload": {"id": "x", "cwd": "/elsewhere"}}
    other.parent.mkdir(parents=True)
    read: list[object] = []
    monkeypatch.setattr(watching, "learn_gathered", lambda *args, **more: read.append(args))
    assert news(project, lambda: other.write_text(json.dumps(meta) + "\n"), nothing, nothing) == []
    assert read == []


def test_files_and_folders_that_are_named_are_watched(project: Project, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    folder.mkdir()
    Session("s1").say("mend").do(STEPS).file(folder)

    def another() -> None:
        Session("s2").say("mend").do(STEPS).file(folder)

    assert [one.sessions for one in news(project, another, nothing, nothing, paths=[folder])] == [1, 2]


@pytest.mark.slow
def test_a_folder_that_is_gone_for_a_moment_is_forgiven_and_one_that_stays_away_is_told(
    project: Project, tmp_path: Path
) -> None:
    folder, away = tmp_path / "kept", tmp_path / "away"
    folder.mkdir()
    path = Session("s1").say("mend").do(STEPS).file(folder)

    def go() -> None:
        folder.rename(away)

    def back() -> None:
        away.rename(folder)
        Session("s1").say("mend").do(f"{STEPS} {STEPS}").file(folder)

    assert len(news(project, go, nothing, back, nothing, nothing, paths=[folder])) == 2
    other = path.with_name("other.jsonl")
    other.write_bytes(path.read_bytes())

    def spoil() -> None:
        other.write_text("no transcript\n", encoding="utf-8")

    with pytest.raises(InstinctError, match="not a transcript"):
        news(project, spoil, *[nothing] * (watching.FORGIVEN + 2), paths=[other])


def test_it_never_looks_too_often_or_never(project: Project) -> None:
    for interval in (0.0, -1.0, 0.5, 3601.0, float("nan")):
        with pytest.raises(InstinctError, match="cannot look every"):
            project.memory().watch(wait=nothing, interval=interval)  # type: ignore[arg-type]


def test_it_waits_as_long_as_it_is_told(project: Project) -> None:
    script = Script(nothing)
    assert list(project.memory().watch(wait=script, interval=7)) == []
    assert script.waited == [7, 7]


# --- the command line -----------------------------------------------------------------------------------------------


def test_ctrl_c_ends_it_with_130_and_each_round_with_news_is_one_line_of_json(
    instinct: Callable[..., Ran], project: Project, sealed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = iter([lambda: held_in(sealed, project.root), nothing, lambda: held_in(sealed, project.root, "s2"), nothing])

    def wait(seconds: float) -> None:
        step = next(steps, None)
        if step is None:
            raise KeyboardInterrupt
        step()

    monkeypatch.setattr(cli_learn, "wait", wait)
    done = instinct("learn", "--watch", "--json", "--interval", "2")
    assert done.code == 130
    told = [json.loads(line) for line in done.out.splitlines()]
    assert [one["gathered"]["new"] for one in told] == [1, 1]
    assert "watching" in done.err


def test_a_round_with_news_is_told_in_words(
    instinct: Callable[..., Ran], project: Project, sealed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held_in(sealed, project.root)
    monkeypatch.setattr(cli_learn, "wait", lambda seconds: False)
    done = instinct("learn", "--watch")
    assert done.code == 0
    assert re.match(r"learned \d+ observations from 1 session\n  seq:", done.out)


REFUSED = {
    ("--watch", "--dry-run"): "a watch that writes nothing",
    ("--interval", "3"): "`--watch`",
    ("--watch", "--interval", "0"): "cannot look every 0",
    ("--watch", "--from-evidence"): "do not go together",
    ("--from-evidence", "--all"): "do not go together",
    ("--from-evidence", os.devnull): "do not go together",
}


def test_options_that_do_not_go_together_are_refused(instinct: Callable[..., Ran]) -> None:
    for options, words in REFUSED.items():
        done = instinct("learn", *options)
        assert (done.code, words in done.err) == (2, True), options

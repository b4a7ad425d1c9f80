"""Learning is safe to repeat: copies of a session, runs that are stopped or meet, and notes that somebody damaged."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from instinct_git.core.entry import lasting
from instinct_git.operations import entering, gathering
from instinct_git.storage import learned
from tests.builders import Project, Ran
from tests.sessions import Session

STEPS = "edit lint test commit edit lint test commit"
LOOP = "seq:edit->lint->test->commit"
Records = list[dict[str, Any]]


def session(name: str, steps: str = STEPS) -> Records:
    """The records of a session whose calls have ids as Claude Code gives them."""
    text = json.dumps(Session(name).say("mend the cart").do(steps).records)
    return json.loads(text.replace(f"toolu_{name}_", f"toolu_01AbCdEfGhIjKl{name}"))  # type: ignore[no-any-return]


def copied(records: Records, name: str) -> Records:
    """A session as it is when it was resumed under another name: the earlier records stand in it again."""
    return [{**one, "sessionId": name, "uuid": f"{name}{one['uuid']}"} for one in records]


def saved(folder: Path, records: Records, name: str = "") -> Path:
    path = folder / f"{name or records[0]['sessionId']}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    return path


def here(home: Path, project: Project, records: Records) -> Path:
    """Save a session where Claude Code keeps those of the project."""
    folder = home / ".claude" / "projects" / str(project.root).replace("/", "-").replace("_", "-")
    return saved(folder, [{**one, "cwd": str(project.root)} for one in records])


def confidences(project: Project) -> dict[str, int]:
    return {one.pattern: one.live for one in project.memory().list()}


# --- copies -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["original first", "copy first"])
def test_a_session_and_its_resumed_copy_count_once_however_far_apart_they_are_learned(
    project: Project, tmp_path: Path, order: str
) -> None:
    original = saved(tmp_path, session("s1"))
    copy = saved(tmp_path, copied(session("s1"), "s2"))
    first, second = (original, copy) if order == "original first" else (copy, original)
    assert project.memory().learn([first]).new > 0
    before = confidences(project)
    assert project.memory().learn([second]).new == 0
    assert confidences(project) == before


def test_a_resumed_session_adds_only_what_it_did_itself(project: Project, tmp_path: Path) -> None:
    project.memory().learn([saved(tmp_path, session("s1"))])
    longer = copied(session("s1", f"{STEPS} {STEPS}"), "s2")
    done = {one.key: (one.support, one.new) for one in project.memory().learn([saved(tmp_path, longer)]).patterns}
    assert done[LOOP] == (4, 2)


@pytest.mark.slow
def test_original_and_copy_learned_in_two_clones_are_one_and_no_contradiction(project: Project, tmp_path: Path) -> None:
    project.commit("memory")
    other = project.clone("other")
    project.memory().learn([saved(tmp_path, session("s1"))])
    other.memory().learn([saved(tmp_path, copied(session("s1"), "s2"))])
    expected = confidences(project)
    for one in (project, other):
        one.memory().record()
    other.git("pull", "-q", "--no-rebase", "--no-edit")
    other.memory().consolidate()
    assert {key: other.confidence(key) for key in expected} == expected
    found = other.memory().check(history=True)
    assert [one for one in found if one.severity == "error"] == []


def test_a_success_and_its_copy_are_one(project: Project, tmp_path: Path) -> None:
    project.memory().remember("how we mend", key=LOOP)
    deed = [{**one, "timestamp": "2099-02-01T10:00:00Z"} for one in session("s1", "edit lint test commit test")]
    for records in (deed, copied(deed, "s2")):
        project.memory().learn([saved(tmp_path, records)])
    lines = project.memory().explain(LOOP).lines
    assert [line.kind for line in lines].count("succeeded") == 1
    assert {line.calls.session for line in lines if line.calls} == {"s1"}, "the copy is not taken for the session"


def test_a_request_in_a_copy_is_the_same_request(project: Project, tmp_path: Path) -> None:
    records = session("s1") + session("s1x")[:1]
    records[-1] = {**records[-1], "sessionId": "s1", "uuid": "3fa85f64-5717-4562-b3fc-2c963f66afa6"}
    records[-1]["message"] = {"role": "user", "content": "remember this"}
    first = project.memory().learn([saved(tmp_path, records)])
    second = project.memory().learn([saved(tmp_path, [{**one, "sessionId": "s2"} for one in records])])
    assert [one.new for one in (*first.asked, *second.asked)] == [True, False]


@pytest.mark.parametrize(
    ("identity", "whether"),
    [
        ("toolu_01AbCdEfGhIjKlMnOpQrStUv", True), ("call_0aB1cD2eF3gH4iJ5kL6mN7oP", True),
        ("3fa85f64-5717-4562-b3fc-2c963f66afa6", True), ("call_0aB1cD2eF3gH4iJ5kL6mN7oP/3", True),
        ("run_shell_command-1769940000000-3f2a9c", True), ("call_1", False), ("functions.Bash:0", False), ("#12", False),
        ("functions.str_replace_editor:117", False), ("mcp__database2__query_table1", False), ("", False),
        ("abcdefghijklmnopqrst", False),
    ],
)  # fmt: skip
def test_ids_that_last_are_told_from_counters(identity: str, whether: bool) -> None:
    assert lasting(identity) == whether


# --- runs that are stopped, and runs that meet ------------------------------------------------------------------------


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("place", ["keep", "drop", "note_calls"])
def test_a_run_that_is_killed_after_it_has_written_counts_nothing_twice(
    project: Project, sealed: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    here(sealed, project, session("s1"))

    def kill(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(learned, place, kill)
        with pytest.raises(Killed):
            project.memory().learn()
    before = confidences(project)
    assert before[LOOP] == 2
    again = project.memory().learn()
    assert again.gathered is not None
    assert (again.new, again.gathered.new) == (0, 0 if place == "drop" else 1)
    assert confidences(project) == before


def test_a_run_that_is_killed_before_it_writes_is_made_up_for(
    project: Project, sealed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here(sealed, project, session("s1"))

    def kill(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(entering, "put", kill)
        with pytest.raises(Killed):
            project.memory().learn()
    assert project.memory().learn().new > 0


@pytest.mark.slow
def test_what_is_much_is_learned_in_portions_and_a_run_that_is_killed_goes_on_from_there(
    project: Project, sealed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("s1", "s2", "s3")
    for number, name in enumerate(names):
        path = here(sealed, project, session(name, "edit lint test commit"))
        os.utime(path, (number, number))
    monkeypatch.setattr(gathering, "AT_ONCE", 1)
    learn = gathering.learn
    runs: list[int] = []

    def killed_in_the_third(*arguments: Any, **options: Any) -> Any:
        runs.append(len(arguments[1]))
        if len(runs) == 3:
            raise Killed
        return learn(*arguments, **options)

    monkeypatch.setattr(gathering, "learn", killed_in_the_third)
    with pytest.raises(Killed):
        project.memory().learn()
    done = project.memory().learn()
    assert runs == [1, 2, 3, 3], "what was learned before is read along"
    assert done.gathered is not None and (done.gathered.new, done.gathered.known) == (1, 2)
    other = Project.new(project.root.parent / "other")
    other.memory().init()
    other.memory().learn([path.parent])
    assert confidences(project) == confidences(other)
    assert confidences(project)[LOOP] == 3


@pytest.mark.slow
def test_the_portions_of_a_run_are_told_as_one(project: Project, sealed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("s1", "s2"):
        here(sealed, project, session(name))
    monkeypatch.setattr(gathering, "AT_ONCE", 1)
    done = project.memory().learn()
    assert {one.key: (one.support, one.new) for one in done.patterns}[LOOP] == (4, 4)
    assert (done.new, done.gathered and done.gathered.new) == (sum(one.new for one in done.patterns), 2)
    assert [one.key for one in done.entered].count(LOOP) == 1


def test_two_runs_at_once_count_once(project: Project, sealed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here(sealed, project, session("s1"))
    put = entering.put
    met: list[int] = []

    def meet(*arguments: Any) -> Any:
        if not met:
            met.append(1)
            project.memory().learn()  # another run does the whole of it between the reading and the writing of this one
        return put(*arguments)

    monkeypatch.setattr(entering, "put", meet)
    project.memory().learn()
    assert met
    monkeypatch.undo()
    assert confidences(project)[LOOP] == 2
    pool = [one.pattern for one in project.memory().candidates()]
    assert len(pool) == len(set(pool))
    project.memory().consolidate()
    assert project.errors() == []


def test_a_file_that_goes_away_meanwhile_is_passed_over(
    project: Project, sealed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here(sealed, project, session("s1"))
    gone = here(sealed, project, session("s2"))
    gather = gathering.gather

    def then_gone(*arguments: Any) -> Any:
        found = gather(*arguments)
        gone.unlink()
        return found

    monkeypatch.setattr(gathering, "gather", then_gone)
    done = project.memory().learn()
    assert (done.sessions, done.skipped["file that cannot be read"]) == (1, 1)


# --- what was noted ---------------------------------------------------------------------------------------------------


def test_what_a_newer_version_notes_is_left_to_it(project: Project, sealed: Path) -> None:
    here(sealed, project, session("s1"))
    project.memory().learn()
    state = project.root / ".git" / "instinct" / "learned.json"
    newer = json.dumps({"v": 2, "files": {"a": "another form"}}).encode()
    state.write_bytes(newer)
    again = project.memory().learn()
    assert (again.new, again.gathered and again.gathered.new) == (0, 1)
    assert state.read_bytes() == newer


# --- the calls behind a pattern ---------------------------------------------------------------------------------------


def test_explain_shows_the_calls_behind_each_piece(project: Project, tmp_path: Path) -> None:
    path = saved(tmp_path, session("s1"))
    project.memory().learn([path])
    seen = [line.calls for line in project.memory().explain(LOOP).lines if line.kind == "observed"]
    told = {(one.agent, one.session, one.numbers, one.actions, one.path) for one in seen if one is not None}
    actions = ("edit", "lint", "test", "commit")
    assert told == {
        ("claude-code", "s1", (1, 2, 3, 4), actions, str(path)),
        ("claude-code", "s1", (5, 6, 7, 8), actions, str(path)),
    }


def test_the_calls_of_a_reuse_that_worked_are_shown_too(project: Project, tmp_path: Path) -> None:
    project.memory().remember("how we mend", key=LOOP)
    later = [{**one, "timestamp": "2099-02-01T10:00:00Z"} for one in session("s1", "edit lint test commit test")]
    project.memory().learn([saved(tmp_path, later)])
    lines = project.memory().explain(LOOP).lines
    assert [line.calls.numbers for line in lines if line.kind == "succeeded" and line.calls] == [(1, 2, 3, 4)]


def test_another_clone_says_that_it_does_not_know_the_calls(
    project: Project, tmp_path: Path, instinct: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    project.memory().learn([saved(tmp_path, session("s1"))])
    assert "calls 1 edit, 2 lint, 3 test, 4 commit of session s1" in instinct("explain", LOOP).out
    project.memory().consolidate()
    monkeypatch.chdir(project.clone("other").root)
    told = instinct("explain", LOOP)
    assert "calls 1" not in told.out
    assert "the calls behind 2 of these are not known here" in told.out
    assert {line["calls"] for line in instinct("explain", LOOP, "--json").json["lines"]} == {None}


def test_what_was_run_is_never_in_the_log_and_the_log_never_in_a_commit(project: Project, tmp_path: Path) -> None:
    project.memory().learn([saved(tmp_path, session("s1"))])
    log = project.root / ".git" / "instinct" / "calls.jsonl"
    assert "fix: the cart" not in log.read_text(encoding="utf-8")
    assert log.stat().st_mode & 0o077 == 0
    project.memory().consolidate()
    assert project.git("grep", "-l", "calls", "HEAD", "--", ".instinct/ledger", check=False) == ""
    assert "calls.jsonl" not in project.status()


@pytest.mark.slow
def test_the_log_is_bounded_and_forgets_the_oldest(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learned, "MOST_CALLS", 2_000)
    for number in range(12):
        project.memory().learn([saved(tmp_path, session(f"s{number}"))])
    log = project.root / ".git" / "instinct" / "calls.jsonl"
    assert log.stat().st_size <= 2_000
    lines = [line.calls for line in project.memory().explain(LOOP).lines]
    sessions = {one.session for one in lines if one is not None}
    assert "s11" in sessions and "s0" not in sessions
    assert log.stat().st_mode & 0o077 == 0


def test_a_damaged_log_costs_an_explanation(project: Project, tmp_path: Path) -> None:
    path = saved(tmp_path, session("s1"))
    project.memory().learn([path])
    log = project.root / ".git" / "instinct" / "calls.jsonl"
    whole = log.read_bytes()
    for damage in (b"", b"\xff\n", b"{}\n[]\n{\n", b'{"id": 1, "numbers": "x"}\n', b"[" * 5000):
        log.write_bytes(damage)
        assert {line.calls for line in project.memory().explain(LOOP).lines} == {None}
        log.write_bytes(damage + b"\n" + whole)
        assert any(line.calls for line in project.memory().explain(LOOP).lines)
    log.write_bytes(b"{")
    project.memory().learn([path])
    assert any(line.calls for line in project.memory().explain(LOOP).lines)


def test_learning_again_adds_nothing_to_the_log(project: Project, tmp_path: Path) -> None:
    path = saved(tmp_path, session("s1"))
    log = project.root / ".git" / "instinct" / "calls.jsonl"
    project.memory().learn([path])
    before = log.read_bytes()
    project.memory().learn([path])
    assert log.read_bytes() == before


# --- one session alone ------------------------------------------------------------------------------------------------


def test_what_one_session_says_stays_raw_until_a_second_says_it(
    project: Project, tmp_path: Path, instinct: Callable[..., Ran]
) -> None:
    project.memory().configure("levels.mature", "2")
    project.memory().configure("levels.rule", "3")
    memory = project.memory()
    memory.learn([saved(tmp_path, session("s1", " ".join([STEPS] * 3)))])
    memory.consolidate()
    assert (memory.show(LOOP).confidence, memory.show(LOOP).level) == (3, "raw")
    assert (memory.suggest(), memory.export_rules(), memory.check()) == ([], [], [])
    assert "a second session, or a person's word, to mature (2)" in instinct("explain", LOOP).out
    memory.learn([saved(tmp_path, session("s2", " ".join([STEPS] * 3)))])
    memory.consolidate()
    assert memory.show(LOOP).level == "rule"
    assert [one.pattern for one in memory.export_rules()].count(LOOP) == 1
    assert memory.check() == []
    passed = [line.passed for line in memory.explain(LOOP).lines if line.passed]
    assert passed[-1] == "rule"


def test_a_level_that_one_session_does_not_give_is_told(project: Project, tmp_path: Path) -> None:
    project.memory().configure("levels.mature", "2")
    project.memory().learn([saved(tmp_path, session("s1"))])
    project.memory().consolidate()
    path = project.root / str(project.memory().show(LOOP).path)
    path.write_text(path.read_text(encoding="utf-8").replace("level: raw", "level: mature"), encoding="utf-8")
    found = [one.message for one in project.memory().check() if one.rule == "level"]
    assert found == ["level is mature, confidence 2 is raw while one session alone stands behind it"]
    project.memory().consolidate()
    assert project.memory().show(LOOP).level == "raw"


def test_a_number_set_by_hand_is_a_persons_word(project: Project, tmp_path: Path) -> None:
    project.memory().learn([saved(tmp_path, session("s1"))])
    project.memory().consolidate()
    path = project.root / str(project.memory().show(LOOP).path)
    path.write_text(path.read_text(encoding="utf-8").replace("confidence: 2", "confidence: 6"), encoding="utf-8")
    project.memory().consolidate()
    assert (project.confidence(LOOP), project.memory().show(LOOP).level) == (6, "mature")

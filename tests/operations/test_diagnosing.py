"""`doctor`: nothing is silently stuck."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.builders import KEY, Project, run_cli


@pytest.fixture
def anywhere(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Callable[..., Any]:
    """Run the command line in a plain folder."""
    monkeypatch.chdir(tmp_path)
    return lambda *args: run_cli(monkeypatch, capsys, *args)


def states(project: Project) -> dict[str, str]:
    """Topic -> state; a problem outweighs the rest."""
    found: dict[str, str] = {}
    for one in project.memory().doctor():
        if found.get(one.topic) != "problem":
            found[one.topic] = one.state
    return found


def test_a_healthy_memory_has_no_problem_and_no_hint(project: Project) -> None:
    project.observe()
    project.memory().consolidate()
    found = project.memory().doctor()
    assert {one.state for one in found} == {"ok"}
    assert not any(one.hint for one in found)


def test_it_says_what_waits_since_when_and_what_would_move_it(project: Project) -> None:
    project.observe(times=2)
    memory = project.memory()
    memory.record()
    memory.observe(KEY)
    (one,) = [one for one in memory.doctor() if one.topic == "waiting"]
    assert "1 in the inbox since 2" in one.words
    assert "2 recorded and not folded since 2" in one.words
    assert "consolidate" in one.hint


@pytest.mark.parametrize(
    ("break_it", "topic"),
    [
        (lambda p: p.git("checkout", "-q", "--detach"), "git"),
        (lambda p: p.write(".instinct/config.yaml", "nope: 1\n"), "config"),
        (
            lambda p: (
                p.git("config", "--global", "--unset", "user.email"),
                p.git("config", "user.useConfigOnly", "true"),
            ),
            "identity",
        ),
        (lambda p: p.write(".instinct/patterns/seq/x.md", "no front matter\n"), "check"),
        (lambda p: p.write(".git/instinct/inbox/20260101-0123456789ab.jsonl", "{broken\n{}\n"), "inbox"),
    ],
    ids=["detached", "config", "identity", "unreadable pattern", "bad inbox line"],
)
def test_what_stops_a_batch_is_a_problem_with_a_hint(
    project: Project, break_it: Callable[[Project], Any], topic: str
) -> None:
    break_it(project)
    assert states(project)[topic] == "problem"
    assert all(one.hint for one in project.memory().doctor() if one.state == "problem")


def test_it_names_the_inbox_in_use_when_git_cannot_be_written(project: Project) -> None:
    project.write(".git/instinct/inbox", "in the way")
    (one,) = [one for one in project.memory().doctor() if one.topic == "inbox"]
    assert one.state == "notice"
    project.observe()
    assert project.memory().consolidate().folded == 1


def test_it_changes_nothing(project: Project) -> None:
    project.observe()
    before = (project.status(), [file.read_bytes() for file in project.inbox_files()])
    project.memory().doctor()
    assert before == (project.status(), [file.read_bytes() for file in project.inbox_files()])


def test_the_command_exits_1_on_a_problem(
    project: Project, instinct: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert instinct("doctor").code == 0
    project.git("checkout", "-q", "--detach")
    done = instinct("doctor", "--json")
    assert done.code == 1
    assert {"topic", "state", "words", "hint"} == set(done.json["diagnosis"][0])
    assert "hint:" in instinct("doctor").out


@pytest.mark.parametrize(
    ("home", "words"),
    [("missing/disk/home", "nor is"), ("file/home", "is no folder that you may write"), ("new", ""), ("", "")],
)
def test_a_home_that_cannot_be_used_is_a_problem_that_no_agent_would_notice(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: str, words: str
) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    monkeypatch.setenv("INSTINCT_HOME", str(tmp_path / home))
    found = [one for one in project.memory().doctor() if one.topic == "home"]
    assert [one.state for one in found] == ["problem"] * bool(words)
    assert all(words in one.words and "your global memory is not read" in one.words for one in found)
    assert project.memory().suggest() == []


def test_a_home_that_can_only_be_read_is_said_to_be_read(
    project: Project, sealed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one who runs the tests may be one whom no mode stops."""
    home = sealed / ".instinct"
    home.mkdir(exist_ok=True)
    allowed = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: not (path == home and mode & os.W_OK) and allowed(path, mode))
    (one,) = [one for one in project.memory().doctor() if one.topic == "home"]
    assert (
        one.state == "problem"
        and one.words == f"{home} is read-only: your global memory is read, and takes nothing new"
    )


def test_looking_makes_no_home_where_its_disk_is_missing(
    anywhere: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setenv("INSTINCT_HOME", str(tmp_path / "disk" / "home"))
    assert anywhere("suggest").code == 0
    done = anywhere("doctor")
    assert done.code == 1 and "your global memory is not read" in done.out
    assert not (tmp_path / "disk").exists()


def test_a_newer_format_is_told_and_an_older_program_writes_nothing(project: Project) -> None:
    project.write(".instinct/config.yaml", "version: 2\n")
    (one,) = [one for one in project.memory().doctor() if one.state == "problem"]
    assert "newer than this program" in one.words and one.hint == "update instinct-git"


def test_a_record_says_what_it_leaves_to_be_folded(project: Project) -> None:
    project.observe(times=3)
    (notice,) = project.memory().record().notices
    assert notice.startswith("3 recorded and not folded since ")
    assert "consolidate" in notice


@pytest.mark.parametrize("secret", [
    "".join(("gh", "p_", "a1B2" * 9)), "".join(("p", "w=hunt", "er2")), "".join(("my", "sql -pSe", "same shop")),
], ids=["token", "pw", "client"])  # fmt: skip
def test_a_secret_in_the_inbox_is_named_by_file_line_and_rule_and_never_by_value(
    project: Project, instinct: Callable[..., Any], secret: str
) -> None:
    """Evidence that was written by hand, or by a version with fewer rules, is found before a batch refuses it."""
    project.observe("note:fine")
    line = (
        '{"v":1,"id":"20260101-0123456789ab.2","p":"note:x","k":"observed","at":"2026-01-01T10:00:00Z","note":"use %s"}'
    )
    project.write(".git/instinct/inbox/20260101-0123456789ab.jsonl", "\n" + line % secret + "\n")
    for verb in ("check", "doctor"):
        done = instinct(verb)
        assert done.code == 1
        assert "20260101-0123456789ab.jsonl:2" in done.out
        assert "looks like a secret (" in done.out
        assert secret not in done.out + done.err


def test_a_repository_whose_inbox_is_fine_says_nothing_of_secrets(project: Project) -> None:
    project.observe("note:fine", note="a password reset flow")
    assert not [one for one in project.memory().check() if one.rule == "secret"]

"""What a careful reader found, kept as tests of its whole kind."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from instinct_git import InstinctError, Memory
from instinct_git.core.evidence import parse_container
from instinct_git.errors import SecretFound
from tests.builders import KEY, Project, git, process


def test_a_branch_without_the_memory_keeps_the_projects_evidence_in_the_clone(project: Project, sealed: Path) -> None:
    project.git("branch", "old")
    project.observe()
    project.memory().consolidate()
    project.git("switch", "-q", "old")
    memory = project.memory()
    assert (memory.scope, memory.fell_back) == ("project", False)
    memory.observe("seq:from-old", context="acme")
    with pytest.raises(InstinctError) as refused:
        memory.consolidate()
    assert "inbox" in refused.value.hint
    assert memory.suggest() == []
    tree = project.worktree("w", "older")
    tree.memory().observe("seq:from-old")
    project.git("switch", "-q", "main")
    project.memory().consolidate()
    assert project.confidence("seq:from-old") == 2
    assert not (sealed / ".instinct" / "global").exists()


def test_a_reason_is_scanned_and_is_one_line(project: Project) -> None:
    memory = project.memory()
    for why, error in (("password: hunter2abc9", SecretFound), ("a\x1b[31mb", InstinctError)):
        with pytest.raises(error):
            memory.remember("release flow", score="0.40", why=why)
    assert project.inbox_files() == []


def test_a_secret_in_evidence_that_is_there_already_is_named_with_its_file(project: Project) -> None:
    line = '{"v":1,"id":"20260101-0123456789ab.1","p":"seq:x","k":"observed","at":"","by":"","s":"","ctx":"","title":"password: hunter2abc9"}\n'
    project.write(".instinct/observations/20260101-0123456789ab.jsonl", line)
    with pytest.raises(SecretFound) as refused:
        project.memory().consolidate()
    assert "observations/20260101-0123456789ab.jsonl" in refused.value.message
    assert "hunter2" not in refused.value.message + refused.value.hint


def test_a_users_own_config_cannot_change_the_memorys_policy(project: Project) -> None:
    for name, value in (
        ("confidence.observed", "5"),
        ("share_notes", "true"),
        ("levels.mature", "1"),
        ("consolidate", "anywhere"),
    ):
        with pytest.raises(InstinctError):
            project.memory().configure(name, value, user=True)
    project.memory().configure("suggest.budget", "100", user=True)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("levels.mature", "-3"),
        ("confidence.denied", "7"),
        ("confidence.session_cap", "0"),
        ("decay.days", "-5"),
        ("default_branch", "--foo"),
    ],
)
def test_settings_have_bounds(project: Project, name: str, value: str) -> None:
    with pytest.raises(InstinctError):
        project.memory().configure(name, value)


def test_a_batch_commits_the_config_it_was_folded_under(project: Project, tmp_path: Path) -> None:
    project.observe()
    project.memory().consolidate()
    project.memory().configure("confidence.observed", "3")
    project.memory().consolidate()
    assert project.status() == ""
    git(tmp_path, "clone", "-q", str(project.root), "other")
    assert Project(tmp_path / "other").errors() == []


def test_retire_carries_what_an_interrupted_batch_left(project: Project) -> None:
    project.observe("seq:a")
    project.observe("seq:b")
    memory = project.memory()
    memory.consolidate()
    memory.observe("seq:a")
    memory.record()
    script = (
        "import os; from instinct_git.storage.git import Repository; Repository.commit = lambda *a: os._exit(9);"
        "from instinct_git import Memory; Memory().consolidate()"
    )
    import subprocess
    import sys

    assert subprocess.run([sys.executable, "-c", script], cwd=project.root).returncode == 9
    memory.retire("seq:b")
    memory.consolidate()
    assert project.status() == ""
    assert project.confidence("seq:a") == 2


def test_a_pattern_retired_here_is_not_told_by_the_global_memory(project: Project) -> None:
    for memory in (Memory(scope="global"), project.memory()):
        for _ in range(11):
            memory.observe("pref:style=tabs")
        memory.consolidate()
    memory = project.memory()
    memory.retire("pref:style=tabs")
    assert (memory.suggest(), memory.export_rules()) == ([], [])


def test_a_private_memory_survives_a_change_of_the_remote(tmp_path: Path) -> None:
    project = Project.new(tmp_path / "p")
    project.memory().init(private=True)
    project.observe("seq:priv")
    for address in ("git@git.example.org:o/r.git", "https://git.example.org/o/other.git"):
        project.git("remote", "remove", "origin", check=False)
        project.git("remote", "add", "origin", address)
        assert [one.pattern for one in project.memory().list()] == ["seq:priv"]


def test_relative_remotes_of_two_projects_are_two_projects(tmp_path: Path) -> None:
    ids = set()
    for name in ("a", "b"):
        project = Project.new(tmp_path / name / "p")
        project.git("remote", "add", "origin", "../origin.git")
        ids.add(project.memory().init(private=True).root)
    assert len(ids) == 2


def test_escape_codes_in_files_are_shown_and_not_obeyed(project: Project) -> None:
    project.observe()
    project.memory().consolidate()
    path = str(project.memory().show(KEY).path)
    project.write(path, project.read(path) + "x \x1b]0;PWNED\x07 \x9b2J\n")
    ran = process(project.root, "show", KEY)
    assert "PWNED" in ran.out
    assert not set(ran.out) & {"\x1b", "\x07", "\x9b"}


@pytest.mark.parametrize(
    "line",
    [
        '{"v":1,"id":"20260101-0123456789ab.1","p":"seq:n","k":"alias","to":"seq:evil\\n\\nX: y"}',
        '{"v":1,"id":"20260101-0123456789ab.1","p":"seq:n","k":"alias"}',
        '{"v":1,"id":"20260101-0123456789ab.1","p":"seq:n","k":"retract","to":"/etc"}',
        '{"v":1,"id":"decay:seq:a:2026-W10","p":"seq:zz","k":"observed"}',
        '{"v":1,"id":"decay:seq:zz:2026-W10","p":"seq:zz","k":"observed"}',
        '{"v":1,"id":"20260101-../../x.1","p":"seq:n","k":"observed"}',
    ],
)
def test_evidence_that_speaks_for_another_pattern_is_a_bad_line(line: str) -> None:
    found, bad = parse_container(line.encode() + b"\n")
    assert (found, len(bad)) == ([], 1)


def test_a_narrow_code_page_stops_nothing(project: Project) -> None:
    ran = process(project.root, "observe", "seq:测试", env={"PYTHONIOENCODING": "cp1252"})
    assert ran.code == 0
    assert len(project.inbox_files()) == 1
    assert process(project.root, "list", env={"PYTHONIOENCODING": "ascii"}).code == 0


def test_other_peoples_branches_are_not_the_default_branch(project: Project, tmp_path: Path) -> None:
    from instinct_git.storage.git import Repository

    project.git("remote", "add", "origin", str(tmp_path / "host.git"))
    project.git("update-ref", "refs/remotes/origin/alice/main", "HEAD")
    place = project.memory()._space.place
    assert Repository(place).default_branch() == ("main", "refs/heads/main")


def test_a_plain_folder_keeps_notes(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    memory.init()
    memory.observe(KEY, note="precious words")
    memory.consolidate()
    assert [line.note for line in memory.explain(KEY).lines] == ["precious words"]


def test_candidates_stand_in_the_lists_too(project: Project) -> None:
    project.memory().remember("several\nlines of text", key="note:x")
    (one,) = project.memory().list()
    assert one.candidate is not None
    assert one.description == "several lines of text"


def test_a_retired_pattern_is_not_proposed(project: Project) -> None:
    project.observe(times=5)
    project.memory().consolidate()
    project.memory().retire(KEY)
    with pytest.raises(InstinctError) as refused:
        project.memory().propose(KEY)
    assert "restore" in refused.value.hint


def test_broken_metadata_is_a_known_error(project: Project) -> None:
    ran = process(project.root, "observe", "seq:a", "--metadata", '{"a":"\\ud800"}')
    assert (ran.code, "error:" in ran.err) == (2, True)
    assert process(project.root, "history", "seq:a", "--limit", "-5").code == 2


def test_the_home_of_the_users_memories_is_no_project(sealed: Path) -> None:
    os.environ["INSTINCT_HOME"] = str(sealed / ".instinct")
    with pytest.raises(InstinctError):
        Memory(sealed).init()

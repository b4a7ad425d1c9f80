"""`learn` without a path: this project's transcripts, wherever agents keep them, and nobody else's."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from instinct_git import InstinctError
from instinct_git.operations.learning import LearnResult
from tests.builders import Project, Ran
from tests.sessions import Session

STEPS = "edit lint test commit edit lint test commit"


@pytest.fixture(autouse=True)
def default_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """Agents keep their files where they do without settings."""
    for name in ("CODEX_HOME", "COPILOT_HOME"):
        monkeypatch.delenv(name, raising=False)


def write(path: Path, *records: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    return path


def held_in(cwd: Path | str, name: str = "s1", steps: str = STEPS) -> list[dict[str, Any]]:
    """The records of a session of Claude Code in a folder."""
    records = Session(name).say("mend the cart").do(steps).records
    return [{**one, "cwd": str(cwd)} for one in records]


def claude(home: Path, cwd: Path | str, name: str = "s1", *, base: Path | None = None, below: str = "") -> Path:
    folder = (base or home / ".claude") / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(cwd))
    return write(folder / below / f"{name}.jsonl", *held_in(cwd, name))


def codex(home: Path, cwd: Path | str, name: str = "c1") -> Path:
    def item(number: int, **payload: Any) -> dict[str, Any]:
        return {"timestamp": f"2026-02-01T10:00:0{number}Z", "type": "response_item", "payload": payload}

    calls = [one for number in (1, 2) for one in (
        item(number, type="function_call", name="exec_command", arguments='{"cmd": "pytest -q"}', call_id=f"{name}-{number}"),
        item(number, type="function_call_output", call_id=f"{name}-{number}", output="Process exited with code 0\nOutput:\n1 passed\n"),
    )]  # fmt: skip
    meta = {"timestamp": "2026-02-01T10:00:00Z", "type": "session_meta", "payload": {"id": name, "cwd": str(cwd)}}
    return write(home / ".codex" / "sessions" / "2026" / "02" / "01" / f"rollout-{name}.jsonl", meta, *calls)


def gemini_chat(name: str, hashed: str) -> dict[str, Any]:
    calls = [
        {"id": f"{name}-{n}", "name": "run_shell_command", "args": {"command": "pytest"}, "status": "success"}
        for n in (1, 2)
    ]
    return {
        "sessionId": name, "projectHash": hashed, "startTime": "2026-02-01T10:00:00Z", "lastUpdated": "2026-02-01T10:00:00Z",
        "directories": ["/somewhere/added"],
        "messages": [{"id": "m", "timestamp": "2026-02-01T10:00:00Z", "type": "gemini", "content": "", "toolCalls": calls}],
    }  # fmt: skip


def gemini_hashed(home: Path, cwd: Path | str, name: str = "g1") -> Path:
    hashed = hashlib.sha256(os.fsencode(str(cwd))).hexdigest()
    path = home / ".gemini" / "tmp" / hashed / "chats" / f"session-{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(gemini_chat(name, hashed)), encoding="utf-8")
    return path


def gemini_named(home: Path, cwd: Path | str, name: str = "g1") -> Path:
    folder = home / ".gemini" / "tmp" / f"shop-{name}"
    path = write(folder / "chats" / f"session-{name}.jsonl", gemini_chat(name, "0" * 64))
    (folder / ".project_root").write_text(f"{cwd}\n", encoding="utf-8")
    return path


def copilot(home: Path, cwd: Path | str, name: str = "p1") -> Path:
    def event(kind: str, number: int, **data: Any) -> dict[str, Any]:
        return {"type": kind, "id": f"{name}-{number}", "timestamp": f"2026-02-01T10:00:0{number}Z", "data": data}

    return write(
        home / ".copilot" / "session-state" / name / "events.jsonl",
        event("session.start", 0, sessionId=name, context={"cwd": str(cwd)}),
        *(event("tool.execution_start", n, toolCallId=f"{name}-{n}", toolName="bash", arguments={"command": "pytest"}) for n in (1, 2)),
    )  # fmt: skip


def opencode(home: Path, *folders: Path | str) -> Path:
    """One database with a session a folder."""
    path = home / ".local" / "share" / "opencode" / "opencode.db"
    path.parent.mkdir(parents=True, exist_ok=True)
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE session (id, parent_id, directory, time_created)")
        database.execute("CREATE TABLE message (id, session_id, time_created, data)")
        database.execute("CREATE TABLE part (id, message_id, session_id, data)")
        for number, folder in enumerate(folders):
            session = f"ses{number}"
            state = {
                "status": "completed",
                "input": {"command": "pytest"},
                "output": "1 passed",
                "metadata": {"exit": 0},
            }
            tool = json.dumps({"type": "tool", "callID": f"call-{session}", "tool": "bash", "state": state})
            database.execute("INSERT INTO session VALUES (?, NULL, ?, 1769940000000)", (session, str(folder)))
            database.execute(
                "INSERT INTO message VALUES (?, ?, 1769940000000, ?)", (f"m{number}", session, '{"role": "assistant"}')
            )
            database.execute("INSERT INTO part VALUES (?, ?, ?, ?)", (f"p{number}", f"m{number}", session, tool))
    database.close()
    return path


KEPT: dict[str, Callable[[Path, Path], Path]] = {
    "claude-code": claude, "codex": codex, "gemini": gemini_named, "copilot": copilot, "opencode": opencode,
}  # fmt: skip


def spool(project: Project, name: str = "a", **event: Any) -> Path:
    """Let a hook have noted an event."""
    return write(project.root / ".git" / "instinct" / "spool" / f"claude-code.Stop.{name}.json", event)


def learned(project: Project, **options: Any) -> tuple[int, int, int]:
    """Learn; returns (new files, files known before, sessions read)."""
    done = project.memory().learn(**options)
    assert done.gathered is not None
    return done.gathered.new, done.gathered.known, done.sessions


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("agent", KEPT)
def test_each_agents_sessions_of_this_project_are_found_once(project: Project, sealed: Path, agent: str) -> None:
    KEPT[agent](sealed, project.root)
    assert learned(project) == (1, 0, 1)
    assert learned(project) == (0, 1, 0)


def test_sessions_in_a_subfolder_and_in_worktrees_are_the_projects(project: Project, sealed: Path) -> None:
    project.commit("a memory", ".instinct")
    tree = project.worktree("elsewhere", "topic")
    for number, cwd in enumerate((project.root / "src" / "gone", tree.root, tree.root / "docs")):
        claude(sealed, cwd, f"s{number}")
        codex(sealed, cwd, f"c{number}")
    assert learned(project) == (6, 0, 6)
    assert learned(tree) == (0, 6, 0)


@pytest.mark.parametrize("agent", KEPT)
@pytest.mark.parametrize("other", ["project-c", "projec", "", "project/vendored", "project/own"])
def test_what_belongs_to_another_project_is_never_read(project: Project, sealed: Path, agent: str, other: str) -> None:
    Project.new(project.root / "vendored")
    (project.root / "own" / ".instinct" / "patterns").mkdir(parents=True)
    KEPT[agent](sealed, project.root.parent / other)
    done = project.memory().learn()
    assert (done.sessions, done.calls, done.patterns) == (0, 0, ())


def test_folders_that_claude_code_writes_alike_are_told_apart(tmp_path: Path, sealed: Path) -> None:
    mine, neighbour = Project.new(tmp_path / "b" / "c"), Project.new(tmp_path / "b-c")
    for one in (mine, neighbour):
        one.memory().init()
    first, second = claude(sealed, mine.root, "mine"), claude(sealed, neighbour.root, "theirs")
    assert first.parent == second.parent
    for one in (mine, neighbour):
        assert learned(one) == (1, 0, 1)


@pytest.mark.parametrize("kept", [gemini_hashed, gemini_named])
def test_both_forms_of_geminis_folders_are_known(project: Project, sealed: Path, kept: Callable[..., Path]) -> None:
    kept(sealed, project.root)
    kept(sealed, project.root.parent / "project-c", "g2")
    assert learned(project) == (1, 0, 1)


def test_of_a_database_only_the_projects_sessions_count(project: Project, sealed: Path) -> None:
    opencode(sealed, project.root, project.root.parent / "project-c", project.root / "src")
    assert learned(project) == (1, 0, 2)


def test_agents_may_keep_their_files_elsewhere(project: Project, sealed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(sealed / "mine"))
    claude(sealed, project.root)
    assert learned(project) == (0, 0, 0)
    claude(sealed, project.root, base=sealed / "mine")
    assert learned(project) == (1, 0, 1)


def test_subagents_files_and_long_folder_names_are_found(tmp_path: Path, sealed: Path) -> None:
    project = Project.new(tmp_path / ("long" * 40) / ("name" * 40))
    project.memory().init()
    folder = re.sub(r"[^A-Za-z0-9]", "-", str(project.root))[:200] + "-1a2b3c"
    write(sealed / ".claude" / "projects" / folder / "s1.jsonl", *held_in(project.root))
    write(
        sealed / ".claude" / "projects" / folder / "s1" / "subagents" / "agent-a.jsonl",
        *({**one, "agentId": "a", "isSidechain": True} for one in held_in(project.root)),
    )
    assert learned(project) == (2, 0, 1)


def test_a_project_behind_a_symbolic_link_is_the_same(project: Project, sealed: Path) -> None:
    link = project.root.parent / "link"
    link.symlink_to(project.root)
    claude(sealed, project.root, "s1")
    claude(sealed, link, "s2")
    assert learned(Project(link)) == (2, 0, 2)


def test_a_file_that_changed_is_read_again_and_adds_what_is_new(project: Project, sealed: Path) -> None:
    path = claude(sealed, project.root)
    first = project.memory().learn()
    whole = [*held_in(project.root), *held_in(project.root, steps=f"{STEPS} {STEPS}")[len(held_in(project.root)) :]]
    write(path, *whole)
    second = project.memory().learn()
    assert second.gathered is not None and (second.gathered.new, second.gathered.known) == (1, 0)
    assert first.new > 0 and second.new > 0
    project.memory().consolidate()
    fresh = project.clone("fresh")
    fresh.memory().learn([path])
    assert {one.pattern for one in fresh.memory().list()} <= {one.pattern for one in project.memory().list()}
    assert project.memory().learn(all=True).new == 0


def test_all_reads_again_and_adds_nothing(project: Project, sealed: Path) -> None:
    claude(sealed, project.root)
    assert project.memory().learn().new > 0
    again = project.memory().learn(all=True)
    assert (again.new, again.sessions, again.gathered and again.gathered.new) == (0, 1, 1)


def test_what_recurs_over_sessions_is_found_though_they_are_learned_one_by_one(project: Project, sealed: Path) -> None:
    def found(done: LearnResult) -> dict[str, int]:
        return {one.key: one.support for one in done.patterns}

    one_by_one = {}
    for name in ("s1", "s2", "s3"):
        path = sealed / ".claude" / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(project.root)) / f"{name}.jsonl"
        write(path, *held_in(project.root, name, "edit lint test commit"))
        one_by_one = found(project.memory().learn())
    other = Project.new(project.root.parent / "other")
    other.memory().init()
    assert one_by_one == found(other.memory().learn([path.parent])) != {}
    for one in (project, other):
        one.memory().consolidate()
    assert {one.pattern: one.confidence for one in project.memory().list()} == {
        one.pattern: one.confidence for one in other.memory().list()
    }


def test_a_resumed_copy_of_a_session_that_was_learned_before_counts_once(project: Project, sealed: Path) -> None:
    path = claude(sealed, project.root)
    assert project.memory().learn().new > 0
    write(path.with_name("s2.jsonl"), *({**one, "sessionId": "s2"} for one in held_in(project.root)))
    assert project.memory().learn().new == 0


def test_since_leaves_out_what_has_not_changed_since(project: Project, sealed: Path) -> None:
    for name, day in (("s1", 1), ("s2", 3)):
        path = claude(sealed, project.root, name)
        moment = 1_767_225_600 + day * 86400  # 2026-01-01 and so many days
        os.utime(path, (moment, moment))
    assert learned(project, since="2026-01-03", dry_run=True) == (1, 0, 1)
    assert learned(project, since="2026-01-02", dry_run=True) == (2, 0, 2)
    assert learned(project, since="2026-01-05") == (0, 0, 0)
    with pytest.raises(InstinctError, match="no day"):
        project.memory().learn(since="yesterday")


def test_one_agent_can_be_meant(project: Project, sealed: Path, tmp_path: Path) -> None:
    claude(sealed, project.root)
    path = codex(sealed, project.root)
    assert learned(project, agent="codex") == (1, 0, 1)
    assert learned(project) == (1, 1, 2)
    assert project.memory().learn([path], agent="gemini").sessions == 0
    assert project.memory().learn([path], agent="codex").sessions == 1
    for agent, words in (("nobody", "no transcripts of"), ("swe-agent", "no place of its own")):
        with pytest.raises(InstinctError, match=words):
            project.memory().learn(agent=agent)
    with pytest.raises(InstinctError, match="choose among"):
        project.memory().learn([path], all=True)


def test_a_dry_run_changes_no_state(project: Project, sealed: Path) -> None:
    spool(project, transcript_path=str(claude(sealed, project.root)))
    before = everything(project.root.parent)
    assert project.memory().learn(dry_run=True).new > 0
    assert everything(project.root.parent) == before


@pytest.mark.parametrize("damage", [b"", b"[]", b"{", b'{"files": []}', b'{"files": {"a": 1}}', b"\xff"])
def test_a_damaged_note_of_what_was_learned_costs_a_reading(project: Project, sealed: Path, damage: bytes) -> None:
    claude(sealed, project.root)
    learned(project)
    (project.root / ".git" / "instinct" / "learned.json").write_bytes(damage)
    assert learned(project) == (1, 0, 1)
    assert learned(project) == (0, 1, 0)


# --- the hook's spool -----------------------------------------------------------------------------------------------


def test_what_hooks_noted_is_learned_once_and_taken_out(project: Project, sealed: Path, tmp_path: Path) -> None:
    path = write(tmp_path / "kept elsewhere" / "s1.jsonl", *held_in(project.root))
    spool(project, "a", session_id="s1", transcript_path=str(path), cwd=str(project.root))
    spool(project, "b", session_id="s1", transcriptPath=str(path))
    spool(project, "c", session_id="s9", transcript_path=str(tmp_path / "gone.jsonl"))
    spool(project, "d", session_id="s9")
    broken = spool(project, "e")
    broken.write_bytes(b"\xff{")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
    for number, odd in enumerate(("a\0b", "relative.jsonl", "", str(tmp_path), str(tmp_path / "pipe"), [1])):
        spool(project, f"odd{number}", transcript_path=odd)
    assert learned(project) == (1, 0, 1)
    assert list(broken.parent.iterdir()) == []


def test_a_note_about_what_an_agents_own_place_has_is_one_with_it(project: Project, sealed: Path) -> None:
    note = spool(project, transcript_path=str(claude(sealed, project.root)))
    assert learned(project) == (1, 0, 1)
    assert not note.exists()


def test_a_note_that_leads_to_another_projects_session_is_dropped_unread(project: Project, sealed: Path) -> None:
    other = Project.new(project.root.parent / "other")
    note = spool(project, transcript_path=str(claude(sealed, other.root)), cwd=str(project.root))
    assert learned(project) == (0, 0, 0)
    assert not note.exists()


def test_a_note_that_was_not_meant_this_time_stays(project: Project, sealed: Path, tmp_path: Path) -> None:
    path = write(tmp_path / "x" / "s1.jsonl", *held_in(project.root))
    note = spool(project, transcript_path=str(path))
    learned(project, agent="codex")
    learned(project, since="2999-01-01")
    assert note.exists()
    assert learned(project) == (1, 0, 1)
    assert not note.exists()


def test_two_memories_of_one_clone_each_learn_their_own(project: Project, sealed: Path, tmp_path: Path) -> None:
    part = project.root / "packages" / "web"
    (part / ".instinct" / "patterns").mkdir(parents=True)
    notes = [
        spool(project, name, transcript_path=str(write(tmp_path / "x" / f"{name}.jsonl", *held_in(cwd, name))))
        for name, cwd in (("whole", project.root), ("part", part / "src"))
    ]
    assert learned(project) == (1, 0, 1)
    assert [note.exists() for note in notes] == [False, True]
    assert learned(Project(part)) == (1, 0, 1)
    assert [note.exists() for note in notes] == [False, False]


def test_a_session_in_a_worktree_that_was_removed_is_learned(project: Project, sealed: Path) -> None:
    project.commit("a memory", ".instinct")
    tree = project.worktree("tree", "topic")
    note = spool(project, transcript_path=str(claude(sealed, tree.root)), cwd=str(tree.root))
    project.git("worktree", "remove", "--force", str(tree.root))
    assert learned(project) == (1, 0, 1)
    assert not note.exists()


# --- the command line -----------------------------------------------------------------------------------------------


def test_without_any_transcript_it_says_where_it_looked(instinct: Callable[..., Ran]) -> None:
    done = instinct("learn")
    assert done.code == 0
    for place in (
        "~/.claude/projects",
        "~/.codex/sessions",
        "~/.gemini/tmp",
        "~/.copilot/session-state",
        "opencode.db",
    ):
        assert place in done.out
    assert "gemini" not in instinct("learn", "--agent", "codex").out


def test_the_command_line_tells_what_was_new(instinct: Callable[..., Ran], project: Project, sealed: Path) -> None:
    claude(sealed, project.root)
    assert instinct("learn", "--dry-run", "--json").json["gathered"]["new"] == 1
    assert "1 new or changed, 0 learned before" in instinct("learn").out
    assert "0 new or changed, 1 learned before" in instinct("learn", "--since", "2020-01-01").out
    assert "1 new or changed" in instinct("learn", "--all", "--agent", "claude-code").out


def test_outside_of_any_project_the_transcripts_must_be_named(
    instinct: Callable[..., Ran], tmp_path: Path, sealed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claude(sealed, tmp_path / "outside")
    (tmp_path / "outside").mkdir()
    monkeypatch.chdir(tmp_path / "outside")
    done = instinct("learn")
    assert done.code == 2 and "no project here" in done.err


def test_a_private_memory_learns_its_projects_sessions(tmp_path: Path, sealed: Path) -> None:
    project = Project.new(tmp_path / "project")
    project.memory().init(private=True)
    claude(sealed, project.root)
    assert learned(project) == (1, 0, 1)

"""What only one agent's files do."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from instinct_git.bridges import readers
from instinct_git.bridges.transcripts import read_transcripts
from instinct_git.core.actions import action_of
from instinct_git.core.outcomes import failed
from instinct_git.core.transcript import Transcript
from instinct_git.errors import InstinctError
from tests.bridges.readers.formats import TEXTS, Json, Ran, Session, at, opencode


def lines(path: Path, *records: Json) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def value(path: Path, made: object) -> Path:
    path.write_text(json.dumps(made), encoding="utf-8")
    return path


def only(*paths: Path) -> Transcript:
    (transcript,) = readers.read(paths)
    return transcript


def told(transcript: Transcript) -> list[tuple[str, bool | None]]:
    found = []
    for call in transcript.calls:
        action = action_of(call.tool, call.input)
        found.append((action, failed(action, call.result, call.is_error)))
    return found


# --- codex ----------------------------------------------------------------------------------------------------------


def meta(session: str = "one", **more: Any) -> Json:
    return {"timestamp": at(0), "type": "session_meta", "payload": {"id": session, "cwd": "/p", **more}}


def item(kind: str, **fields: Any) -> Json:
    return {"timestamp": at(1), "type": "response_item", "payload": {"type": kind, **fields}}


def call(identity: str, name: str, arguments: object) -> Json:
    return item("function_call", call_id=identity, name=name, arguments=arguments)


def output(identity: str, said: object) -> Json:
    return item("function_call_output", call_id=identity, output=said)


def test_codex_a_command_that_runs_on_ends_in_a_later_poll(tmp_path: Path) -> None:
    transcript = only(lines(
        tmp_path / "r.jsonl",
        meta(),
        call("a", "exec_command", '{"cmd": "pytest"}'),
        output("a", "Chunk ID: 1\nProcess running with session ID 7\nOutput:\n"),
        call("b", "write_stdin", '{"session_id": 7, "chars": ""}'),
        output("b", "Process running with session ID 7\nOutput:\n"),
        call("c", "write_stdin", '{"session_id": 7, "chars": ""}'),
        output("c", "Process exited with code 1\nOutput:\n2 failed"),
    ))  # fmt: skip
    assert told(transcript) == [("test", True), ("wait", False), ("wait", False)]
    assert transcript.calls[0].result == "2 failed"


@pytest.mark.parametrize("arguments", ["[REDACTED_ARGUMENTS 12]", "", None, 5, [1], '["x"]', "{"])
def test_codex_arguments_that_are_no_object_do_not_hide_the_call(tmp_path: Path, arguments: object) -> None:
    transcript = only(lines(tmp_path / "r.jsonl", meta(), call("a", "exec_command", arguments), output("a", "x")))
    assert told(transcript) == [("run", False)]


@pytest.mark.parametrize(
    "given",
    [
        {"name": "apply_patch", "arguments": '{"input": "*** Begin Patch\\n*** Update File: src/a.py\\n"}'},
        {"name": "apply_patch", "arguments": {"patch": "*** Begin Patch\n*** Add File: src/a.py\n"}},
        {"name": "apply_patch", "input": "*** Begin Patch\n*** Update File: src/a.py\n@@\n-x\n"},
    ],
)
def test_codex_a_patch_is_an_edit_of_its_file(tmp_path: Path, given: Json) -> None:
    transcript = only(lines(tmp_path / "r.jsonl", meta(), item("custom_tool_call", call_id="a", **given)))
    assert told(transcript) == [("edit", None)]
    assert transcript.calls[0].input == {"file_path": "src/a.py"}


def test_codex_a_patch_that_does_not_fit_and_a_refused_call_are_told_apart(tmp_path: Path) -> None:
    transcript = only(lines(
        tmp_path / "r.jsonl",
        meta(),
        call("a", "apply_patch", ""),
        output("a", "apply_patch verification failed: Failed to find expected lines in a.py"),
        call("b", "exec_command", '{"cmd": "make"}'),
        output("b", "exec command rejected by user"),
    ))  # fmt: skip
    assert told(transcript) == [("edit", True), ("build", None)]


def test_codex_a_forked_session_adds_only_what_is_new(tmp_path: Path) -> None:
    old = [call("call_0123456789abcdef", "shell", '{"command": ["ls"]}'), output("call_0123456789abcdef", "x")]
    said = {"timestamp": at(1), "type": "event_msg", "payload": {"type": "user_message", "message": "go on"}}
    again = {"timestamp": at(9), "type": "event_msg", "payload": {"type": "user_message", "message": "more"}}
    new = {**call("call_fedcba9876543210", "shell", '{"command": ["make"]}'), "timestamp": at(9)}
    first = lines(tmp_path / "1.jsonl", meta("one"), said, *old)
    second = lines(tmp_path / "2.jsonl", {**meta("two"), "timestamp": at(8)}, meta("one"), said, *old, again, new)
    one, two = readers.read([second, first])
    assert [told(one), told(two)] == [[("look", False)], [("build", None)]]
    assert [[prompt.text for prompt in each.prompts] for each in (one, two)] == [["go on"], ["more"]]


def test_codex_short_ids_are_counters_and_no_copies(tmp_path: Path) -> None:
    files = [lines(tmp_path / name, meta(name), call("call_1", "shell", '{"command": ["ls"]}')) for name in ("a", "b")]
    assert [len(transcript.calls) for transcript in readers.read(files)] == [1, 1]


def test_codex_a_subagents_file_belongs_to_the_session_that_started_it(tmp_path: Path) -> None:
    main = lines(tmp_path / "1.jsonl", meta("one", session_id="one"), call("a", "shell", '{"command": ["ls"]}'))
    sub = lines(tmp_path / "2.jsonl", meta("sub", session_id="one"), call("b", "shell", '{"command": ["make"]}'))
    transcript = only(main, sub)
    assert [(one.id, one.thread) for one in transcript.calls] == [("a", ""), ("b", "sub")]


def test_codex_scripts_of_code_mode_are_the_calls_they_hold(tmp_path: Path) -> None:
    script = 'const r = await tools.exec_command({\n  cmd: "git status --short",\n  workdir: "/p"\n});\ntext(r);'
    several = script + "\nawait tools.apply_patch(`*** Begin Patch`); await tools.future_tool({});"
    ended = [{"type": "input_text", "text": "Script completed\n"}, {"type": "input_text", "text": '{"exit_code":2}'}]
    transcript = only(lines(
        tmp_path / "r.jsonl",
        meta(),
        item("custom_tool_call", call_id="a", name="exec", input=script),
        item("custom_tool_call_output", call_id="a", output=ended),
        call("b", "functions.exec", json.dumps({"source": several})),
    ))  # fmt: skip
    assert told(transcript) == [("look", True), ("look", None), ("edit", None), ("tool", None)]


def test_codex_what_exec_prints_as_json_is_read(tmp_path: Path) -> None:
    ran = {"id": "item_1", "type": "command_execution", "command": "bash -lc 'pytest -q'", "aggregated_output": "x"}
    records = [
        {"type": "thread.started", "thread_id": "t1"},
        {"type": "item.started", "item": {**ran, "status": "in_progress"}},
        {"type": "item.completed", "item": {**ran, "exit_code": 1, "status": "failed"}},
        {"type": "item.completed", "item": {"id": "item_2", "type": "file_change", "changes": [{"path": "a.py"}]}},
    ]
    plain = only(lines(tmp_path / "1.jsonl", *records))
    assert (plain.session, told(plain)) == ("t1", [("test", True), ("edit", None)])
    wrapped = [{"log_type": "agent", "timestamp_iso": at(1), "data": record} for record in records]
    assert told(only(lines(tmp_path / "2.jsonl", *wrapped))) == told(plain)


def test_codex_messages_of_the_harness_are_no_prompts(tmp_path: Path) -> None:
    def said(text: str, role: str = "user") -> Json:
        return item("message", role=role, content=[{"type": "input_text", "text": text}])

    transcript = only(lines(
        tmp_path / "r.jsonl",
        meta(),
        said("# AGENTS.md instructions for /p\n\nBe brief."),
        said("<environment_context>\n  <cwd>/p</cwd>"),
        said("be careful", role="developer"),
        said("use pnpm, not npm"),
    ))  # fmt: skip
    assert [prompt.text for prompt in transcript.prompts] == ["use pnpm, not npm"]


# --- gemini ---------------------------------------------------------------------------------------------------------


def chat(*calls: Json) -> Json:
    message = {"id": "m1", "timestamp": at(1), "type": "gemini", "content": "", "toolCalls": list(calls)}
    return {"sessionId": "g", "projectHash": "h", "startTime": at(0), "lastUpdated": at(2), "messages": [message]}


def test_gemini_a_refused_call_is_neither_success_nor_failure(tmp_path: Path) -> None:
    calls = [
        {"id": "1", "name": "run_shell_command", "args": {"command": "make"}, "status": "cancelled"},
        {"id": "2", "name": "replace", "args": {"file_path": "a"}, "status": "error", "resultDisplay": "no match"},
        {"id": "3", "name": "write_file", "args": {"file_path": "a"}, "status": "executing"},
        {"id": "4", "name": "read_file", "args": {"file_path": "a"}, "status": "success"},
        {"id": "5", "name": "mcp_tracker_list", "args": {}, "status": "success"},
    ]
    assert told(only(value(tmp_path / "c.json", chat(*calls)))) == [
        ("build", None), ("edit", True), ("write", None), ("read", False), ("mcp-list", False),
    ]  # fmt: skip


def test_gemini_context_that_a_hook_put_in_is_not_what_the_person_said(tmp_path: Path) -> None:
    said = "<hook_context>\nremembered\n</hook_context>\n\nuse pnpm"
    made = {**chat(), "messages": [{"id": "u", "type": "user", "content": said}]}
    assert [prompt.text for prompt in only(value(tmp_path / "c.json", made)).prompts] == ["use pnpm"]


# --- copilot --------------------------------------------------------------------------------------------------------


def test_copilot_names_tools_of_servers_and_knows_a_refusal(tmp_path: Path) -> None:
    def event(kind: str, **data: Any) -> Json:
        return {"type": kind, "id": "e", "timestamp": at(1), "data": data}

    transcript = only(lines(
        tmp_path / "events.jsonl",
        event("session.start", sessionId="c"),
        event("tool.execution_start", toolCallId="1", toolName="x", mcpServerName="gh", mcpToolName="list"),
        event("tool.execution_complete", toolCallId="1", success=True, result={"content": "x"}),
        event("tool.execution_start", toolCallId="2", toolName="powershell", arguments={"command": "Get-Content a"}),
        event("tool.execution_complete", toolCallId="2", success=False, error={"code": "rejected", "message": "no"}),
        event("tool.execution_start", toolCallId="3", toolName="edit", arguments={"path": "a"}, parentToolCallId="9"),
        event("tool.execution_complete", toolCallId="3", success=False, error={"message": "No match found"}),
    ))  # fmt: skip
    assert told(transcript) == [("mcp-list", False), ("read", None), ("edit", True)]
    assert [one.thread for one in transcript.calls] == ["", "", "9"]


# --- opencode -------------------------------------------------------------------------------------------------------


def test_opencode_reads_its_database_whatever_it_is_called(tmp_path: Path) -> None:
    opencode(tmp_path / "anything", Session()).close()
    transcript = only(tmp_path / "anything")
    assert (transcript.agent, transcript.session, transcript.day, transcript.cwd) == (
        "opencode", Session().name, "20260301", "/p",
    )  # fmt: skip
    assert told(transcript) == [("test", True), ("look", False), ("commit", False)]
    assert [prompt.text for prompt in transcript.prompts] == [Session().prompt]


def test_opencode_what_the_agent_has_not_yet_checkpointed_is_read_too(tmp_path: Path) -> None:
    with_log = opencode(tmp_path / "o.db", Session(), wal=True)
    try:
        assert (tmp_path / "o.db-wal").stat().st_size
        assert len(only(tmp_path / "o.db").calls) == 3
    finally:
        with_log.close()


@pytest.mark.parametrize("wal", [False, True])
def test_opencode_nothing_beside_or_in_the_database_changes(tmp_path: Path, wal: bool) -> None:
    def all_files() -> dict[str, bytes]:
        return {file.name: file.read_bytes() for file in folder.iterdir() if not file.name.endswith("-shm")}

    folder = tmp_path / "agent"
    folder.mkdir()
    database = opencode(folder / "o.db", Session(), wal=wal)
    if not wal:
        database.close()
    before = all_files()
    readers.read([folder / "o.db"])
    assert all_files() == before
    database.close()


def test_opencode_a_database_in_a_folder_that_cannot_be_written_is_read(tmp_path: Path) -> None:
    opencode(tmp_path / "o.db", Session(), wal=True).close()  # closing leaves no log, but the mode
    os.chmod(tmp_path, 0o500)
    try:
        assert len(only(tmp_path / "o.db").calls) == 3
    finally:
        os.chmod(tmp_path, 0o700)


def test_opencode_a_writer_in_the_middle_of_its_work_is_not_disturbed(tmp_path: Path) -> None:
    database = opencode(tmp_path / "o.db", Session(), wal=True)
    database.execute("BEGIN IMMEDIATE")
    database.execute("DELETE FROM part")
    assert len(only(tmp_path / "o.db").calls) == 3
    database.commit()
    assert database.execute("SELECT count(*) FROM part").fetchone() == (0,)
    database.close()


def test_opencode_a_subagents_session_belongs_to_its_parent(tmp_path: Path) -> None:
    database = opencode(tmp_path / "o.db", Session())
    database.execute("INSERT INTO session VALUES ('sub', ?, '/p', 1772359200000)", (Session().name,))
    part = {"type": "tool", "callID": "x", "tool": "grep", "state": {"status": "error", "error": "no"}}
    database.execute("INSERT INTO part VALUES ('q', 'm1', 'sub', 5, ?)", (json.dumps(part),))
    database.commit()
    database.close()
    transcript = only(tmp_path / "o.db")
    assert [one.thread for one in transcript.calls] == ["", "", "", "sub"]


def test_opencode_rows_that_cannot_be_read_are_counted(tmp_path: Path) -> None:
    database = opencode(tmp_path / "o.db", Session(steps=(Ran("ls"),)))
    for number, data in enumerate(["{torn", '"text"', None, b"\xff\xfe", '{"type": "reasoning"}', '{"type": "new"}']):
        row = (f"z{number}", Session().name, data)
        database.execute("INSERT INTO part VALUES (?, 'm1', ?, 9, ?)", row)
    database.commit()
    database.close()
    transcript = only(tmp_path / "o.db")
    assert len(transcript.calls) == 1
    assert transcript.skipped == {
        "broken JSON": 2, "not an object": 2, "other record": 1, "reasoning part": 1,
    }  # fmt: skip


def test_opencode_other_databases_and_views_of_those_names_are_passed_over(tmp_path: Path) -> None:
    for name, script in {
        "other.db": "CREATE TABLE things (id text)",
        "views.db": """
            CREATE TABLE session (id text); CREATE TABLE message (id text, session_id text, data text);
            CREATE VIEW part AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
            SELECT i AS id, i AS message_id, i AS session_id, '{}' AS data FROM n""",
        "bare.db": "CREATE TABLE session (x); CREATE TABLE message (x); CREATE TABLE part (x)",
    }.items():
        database = sqlite3.connect(tmp_path / name)
        database.executescript(script)
        database.close()
    assert readers.read(sorted(tmp_path.iterdir())) == []


# --- swe-agent ------------------------------------------------------------------------------------------------------


def test_swe_agent_commands_of_its_own_are_named_and_an_edit_is_of_the_open_file(tmp_path: Path) -> None:
    state = json.dumps({"open_file": "/p/a.py", "working_dir": "/p"})
    actions = ["open a.py 10", "edit 1:2\nx = 1\nend_of_edit", "create b.py", "find_file a", "str_replace_editor view /p/a",
               "python a.py", "submit"]  # fmt: skip
    steps = [{"action": action, "observation": "ok", "state": state} for action in actions]
    steps[1]["observation"] = "Your proposed edit has introduced new syntax error(s)."
    transcript = only(value(tmp_path / "t.traj", {"trajectory": [*steps, {"action": "", "observation": ""}, 5]}))
    assert told(transcript) == [
        ("read", False), ("edit", True), ("write", False), ("search", False), ("read", False), ("run", False),
        ("finish", False),
    ]  # fmt: skip
    assert transcript.calls[1].input["path"] == "/p/a.py"
    assert transcript.skipped == {"other record": 1, "step without an action": 1}


def test_swe_agent_a_demonstration_is_no_work(tmp_path: Path) -> None:
    acted = {"role": "assistant", "content": "", "action": "ls", "agent": "main"}
    transcript = only(value(tmp_path / "t.traj", {"history": [{**acted, "is_demo": True}, acted]}))
    assert (len(transcript.calls), transcript.skipped) == (1, {"demonstration": 1})


# --- openhands ------------------------------------------------------------------------------------------------------


def event(number: int, **fields: Any) -> Json:
    return {"id": number, "timestamp": at(1), **fields}


def test_openhands_the_editor_reads_creates_and_edits(tmp_path: Path) -> None:
    edit = {"source": "agent", "action": "edit"}
    events = [
        event(1, source="agent", action="read", args={"path": "a"}),
        event(2, cause=1, observation="read", content="x", extras={}),
        event(3, **edit, args={"path": "a", "command": "create"}),
        event(5, **edit, args={"path": "a", "command": "str_replace"}),
        event(6, cause=5, observation="edit", content="ERROR:\nNo replacement was performed", extras={}),
        event(7, source="agent", action="run_ipython", args={"code": "edit_file_by_replace('a', to_replace='x')"}),
        event(8, source="agent", action="call_tool_mcp", args={"name": "lookup", "arguments": {}}),
        event(9, source="agent", action="run", args={"command": "make"}),
        event(10, cause=9, observation="user_rejected", content="no", extras={}),
        event(11, source="agent", action="finish", args={}),
    ]
    assert told(only(value(tmp_path / "t.json", events))) == [
        ("read", False), ("write", None), ("edit", True), ("edit", None), ("mcp-lookup", None), ("build", None),
    ]  # fmt: skip


def test_openhands_events_of_one_file_each_are_one_session(tmp_path: Path) -> None:
    folder = tmp_path / "conversation-7" / "events"
    folder.mkdir(parents=True)
    acted = {"kind": "ActionEvent", "tool_name": "file_editor", "tool_call_id": "c", "timestamp": at(1)}
    seen = {"kind": "ObservationEvent", "tool_call_id": "c", "timestamp": at(2), "observation": {"is_error": True}}
    value(folder / "event-00001.json", {**acted, "action": {"command": "str_replace", "path": "a"}})
    value(folder / "event-00002.json", seen)
    transcript = only(*folder.iterdir())
    assert (transcript.session, told(transcript)) == ("conversation-7", [("edit", True)])


# --- all of them together, as `learn` reads them --------------------------------------------------------------------


def claude(path: Path, command: str) -> Path:
    block = {"type": "tool_use", "id": f"toolu_{command}", "name": "Bash", "input": {"command": command}}
    return lines(path, {"type": "assistant", "sessionId": "cc", "uuid": "u", "timestamp": at(0),
                        "message": {"role": "assistant", "content": [block]}})  # fmt: skip


def test_a_folder_of_every_agents_files_is_walked_and_the_rest_is_passed_over(tmp_path: Path) -> None:
    claude(tmp_path / "a" / "c.jsonl", "ls")
    for form in TEXTS:
        suffix = "jsonl" if form.lines else "traj" if form.agent == "swe-agent" else "json"
        (tmp_path / form.name).mkdir()
        session = Session(f"session-of-{form.name}", steps=(Ran("pytest"), Ran("ls"), Ran(f"cat {form.name}")))
        (tmp_path / form.name / f"x.{suffix}").write_bytes(form.text(session))
    opencode(tmp_path / "o.db", Session()).close()
    (tmp_path / "package.json").write_text('{"name": "x"}', encoding="utf-8")
    (tmp_path / "notes.md").write_bytes(TEXTS[0].text())
    found = read_transcripts([tmp_path])
    assert {one.agent for one in found} == {
        "claude-code", "codex", "gemini", "copilot", "opencode", "swe-agent", "openhands",
    }  # fmt: skip
    assert len(found) == 2 + len(TEXTS)
    assert sum(len(one.calls) for one in found) == 1 + 3 * (1 + len(TEXTS))
    assert read_transcripts([tmp_path, tmp_path]) == found


def test_a_copied_session_of_another_agent_counts_once_beside_claude_codes(tmp_path: Path) -> None:
    first = claude(tmp_path / "c.jsonl", "ls")
    copies = [tmp_path / "1.jsonl", tmp_path / "2.jsonl"]
    for copy in copies:
        copy.write_bytes(TEXTS[0].text())
    assert sorted(len(one.calls) for one in read_transcripts([first, *copies])) == [1, 3]


@pytest.mark.parametrize("data", [b"", b"{}", b'{"messages": []}', b"\x00" * 99, b"SQLite format 3\0" * 300])
@pytest.mark.parametrize("name", ["x.json", "x.traj", "x.db", "x.txt"])
def test_a_named_file_of_no_agent_is_refused_with_the_agents_that_are_read(
    tmp_path: Path, name: str, data: bytes
) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InstinctError, match="is not a transcript") as refused:
        read_transcripts([tmp_path / name])
    assert "OpenHands" in (refused.value.hint or "")


def test_a_database_without_sessions_is_no_session(tmp_path: Path) -> None:
    database = opencode(tmp_path / "o.db", Session())
    database.executescript("DELETE FROM session; DELETE FROM message; DELETE FROM part")
    database.close()
    assert read_transcripts([tmp_path / "o.db"]) == []


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InstinctError, match="is not a transcript"):
        read_transcripts([tmp_path / "pipe"])


def mini(seconds: object, **extra: object) -> list[Json]:
    said = {"role": "assistant", "content": "```bash\npytest -q\n```", "extra": {"timestamp": seconds, **extra}}
    return [{"role": "system", "content": "x"}, said, {"role": "user", "content": "<returncode>0</returncode>ok"}]


@pytest.mark.parametrize(
    ("messages", "name", "day"),
    [
        (mini(1_772_359_200.5), "a.traj.json", "20260301"),
        (mini(None, response={"created": 1_772_359_200}), "a.traj.json", "20260301"),
        (mini("soon"), "run-2026-02-03.traj.json", "20260203"),
        (mini(True), "a.traj.json", "19700101"),
    ],
)
def test_a_trajectorys_day_is_told_by_its_messages_else_by_its_name(
    tmp_path: Path, messages: list[Json], name: str, day: str
) -> None:
    (one,) = readers.read([value(tmp_path / name, messages)])
    assert one.day == day

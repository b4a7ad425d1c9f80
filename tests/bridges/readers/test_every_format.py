"""What holds for every agent's files: the same session gives the same calls, and no file can do harm."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from instinct_git.bridges import readers
from instinct_git.bridges.readers import draft, source
from instinct_git.core.actions import action_of
from instinct_git.core.mining import mine
from instinct_git.core.outcomes import failed
from instinct_git.core.transcript import Transcript
from tests.bridges.readers.formats import LINES, TEXTS, VALUES, Format, Ran, Session, opencode

TOKEN = "ghp_" + "a1B2c3D4e5" * 3
every_text = pytest.mark.parametrize("form", TEXTS, ids=lambda form: form.name)
# A task of a benchmark is nobody's words; of SWE-agent's own format nobody knows the exit codes.
with_prompts = pytest.mark.parametrize(
    "form", [form for form in TEXTS if form.agent != "swe-agent"], ids=lambda form: form.name
)
with_codes = pytest.mark.parametrize(
    "form", [form for form in TEXTS if not form.name.startswith("swe-agent")], ids=lambda form: form.name
)
with_own_results = pytest.mark.parametrize(
    "form", [form for form in LINES if form.name not in ("gemini", "openhands-pairs")], ids=lambda form: form.name
)
every_line = pytest.mark.parametrize("form", LINES, ids=lambda form: form.name)
every_value = pytest.mark.parametrize("form", VALUES, ids=lambda form: form.name)


def saved(folder: Path, data: bytes, name: str = "file.without.meaning") -> Path:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)
    return folder / name


def one(folder: Path, data: bytes) -> Transcript:
    (only,) = readers.read([saved(folder, data)])
    return only


def told(transcript: Transcript) -> list[tuple[str, bool | None]]:
    """What was done, and whether it failed."""
    return [
        (action := action_of(call.tool, call.input), failed(action, call.result, call.is_error))
        for call in transcript.calls
    ]


EXPECTED = [("test", True), ("look", False), ("commit", False)]


@every_text
def test_a_session_is_read_with_its_actions_and_their_outcome(form: Format, tmp_path: Path) -> None:
    transcript = one(tmp_path, form.text())
    assert (transcript.agent, told(transcript)) == (form.agent, EXPECTED)
    assert [call.number for call in transcript.calls] == [1, 2, 3]
    assert len({call.id for call in transcript.calls}) == 3
    assert "1 failed" in transcript.calls[0].result


@with_prompts
def test_what_the_person_asked_is_kept(form: Format, tmp_path: Path) -> None:
    (prompt,) = one(tmp_path, form.text()).prompts
    assert (prompt.text, prompt.after) == (Session().prompt, 0)


@with_codes
def test_a_search_without_a_match_is_no_failure(form: Format, tmp_path: Path) -> None:
    steps = (Ran("rg --files -g nothing", "", 1),)
    assert told(one(tmp_path, form.text(Session(steps=steps)))) == [("search", False)]


@every_text
def test_a_format_is_recognised_by_content_whatever_the_file_is_called(form: Format, tmp_path: Path) -> None:
    for name in ("notes.txt", "claude.jsonl", "x.traj", "x.db"):
        reader = readers.sniff(saved(tmp_path, form.text(), name))
        assert reader is not None and reader.agent == form.agent


@every_text
def test_a_byte_order_mark_and_windows_line_ends_change_nothing(form: Format, tmp_path: Path) -> None:
    plain = told(one(tmp_path, form.text()))
    assert told(one(tmp_path, b"\xef\xbb\xbf" + form.text().replace(b"\n", b"\r\n"))) == plain


@every_text
def test_one_session_in_two_files_counts_once(form: Format, tmp_path: Path) -> None:
    first = saved(tmp_path, form.text(), "a/1")
    alone = readers.read([first])
    (both,) = readers.read([first, saved(tmp_path, form.text(), "b/2")])
    assert (both.session, both.calls, both.prompts) == (alone[0].session, alone[0].calls, alone[0].prompts)


@every_text
def test_two_sessions_stay_two(form: Format, tmp_path: Path) -> None:
    other = Session("another-session-0002", "something else", (Ran("make"), Ran("ls")))
    both = readers.read([saved(tmp_path, form.text(), "1"), saved(tmp_path, form.text(other), "2")])
    assert sorted(len(transcript.calls) for transcript in both) == [2, 3]


@every_text
def test_a_secret_is_in_no_value_of_a_transcript(form: Format, tmp_path: Path) -> None:
    steps = (Ran(f"curl -H 'Authorization: Bearer {TOKEN}' x", f"token {TOKEN}"), Ran("ls"))
    transcript = one(tmp_path, form.text(Session(prompt=f"use {TOKEN}", steps=steps)))
    assert TOKEN not in repr(transcript)
    assert [action for action, _ in told(transcript)] == ["fetch", "look"]


@every_text
def test_odd_characters_are_text_and_never_end_a_line(form: Format, tmp_path: Path) -> None:
    odd = "\u2028\u2029\x85\x0b\x0c\x1c" + "é"
    transcript = one(tmp_path, form.text(Session(steps=(Ran("ls", f"a{odd}b\ud83d c"), Ran("ls")))))
    assert len(transcript.calls) == 2
    assert "\u2028" in transcript.calls[0].result
    repr(transcript).encode("utf-8")  # no lone surrogate is left


@every_text
def test_a_line_of_a_megabyte_is_read_and_its_ends_are_kept(form: Format, tmp_path: Path) -> None:
    output = "start " + "x" * 1_200_000 + " 3 passed"
    transcript = one(tmp_path, form.text(Session(steps=(Ran("pytest", output), Ran("ls")))))
    result = transcript.calls[0].result
    assert len(transcript.calls) == 2
    assert (result.startswith("start"), result.rstrip().endswith("3 passed"), len(result) < 250_000) == (True,) * 3


@every_line
def test_lines_that_cannot_be_read_are_counted_by_reason(form: Format, tmp_path: Path) -> None:
    first, *rest = form.text().splitlines(keepends=True)
    deep = b"[" * 100_000 + b"]" * 100_000 + b"\n"
    bad = b'// a comment\n\n[1, 2]\n"text"\n{broken\n\xff\xfe\x00\n' + deep
    plain = one(tmp_path, form.text())
    transcript = one(tmp_path, first + bad + b"".join(rest) + b'{"torn": "li')
    assert told(transcript) == told(plain)
    more = {reason: lines - plain.skipped.get(reason, 0) for reason, lines in transcript.skipped.items()}
    assert {reason: lines for reason, lines in more.items() if lines} == {
        "comment": 1, "not an object": 2, "broken JSON": 3, "torn last line": 1,
    }  # fmt: skip


@every_line
def test_comments_and_junk_at_the_top_do_not_hide_a_format(form: Format, tmp_path: Path) -> None:
    assert told(one(tmp_path, b"// recorded by hand\n{torn\n" + form.text())) == EXPECTED


@every_line
def test_records_of_tomorrow_are_skipped_and_counted_without_their_names(form: Format, tmp_path: Path) -> None:
    new = [{"type": "secret-plan", "payload": {}}, {"timestamp": 7, "type": ["x"], "payload": "y"}, {"a": 1}]
    data = form.text() + b"".join(json.dumps(record).encode() + b"\n" for record in new)
    transcript = one(tmp_path, data)
    assert told(transcript) == EXPECTED
    before = one(tmp_path, form.text()).skipped
    assert transcript.skipped["other record"] - before.get("other record", 0) == 3
    assert "secret-plan" not in repr(transcript.skipped)


@with_own_results
def test_results_may_come_before_their_calls(form: Format, tmp_path: Path) -> None:
    first, *rest = form.text().splitlines(keepends=True)
    answers = [line for line in rest if b'output"' in line or b"complete" in line or b"Observation" in line]
    others = [line for line in rest if line not in answers]
    assert sorted(told(one(tmp_path, b"".join([first, *answers, *others])))) == sorted(EXPECTED)


@every_line
def test_a_file_cut_anywhere_gives_the_calls_before_the_cut(form: Format, tmp_path: Path) -> None:
    data = form.text()
    for end in range(0, len(data), 37):
        for transcript in readers.read([saved(tmp_path, data[:end])]):
            names = [action for action, _ in told(transcript)]
            assert names == ["test", "look", "commit"][: len(names)]


@every_line
def test_no_more_than_the_bound_is_read(form: Format, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = form.text()
    monkeypatch.setattr(source, "MOST", len(data))
    transcript = one(tmp_path, data + b'{"type": "x"}\n' * 1000)
    assert (told(transcript), transcript.skipped["file too long"]) == (EXPECTED, 1)


@every_line
def test_a_line_beyond_the_bound_is_left_out(form: Format, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = form.text()
    monkeypatch.setattr(source, "LONGEST_LINE", max(map(len, data.splitlines())) + 1)
    transcript = one(tmp_path, data + b'{"x": "' + b"x" * 10_000 + b'"}\n')
    assert (told(transcript), transcript.skipped["line too long"]) == (EXPECTED, 1)


@every_value
def test_a_value_beyond_the_bound_is_no_transcript(
    form: Format, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "LONGEST_DOCUMENT", len(form.text()) - 1)
    assert readers.read([saved(tmp_path, form.text())]) == []


@every_value
def test_a_value_that_is_cut_is_no_transcript(form: Format, tmp_path: Path) -> None:
    data = form.text()
    for end in range(0, len(data) - 2, 101):
        assert readers.read([saved(tmp_path, data[:end])]) == []


@every_text
def test_no_more_of_a_session_is_kept_than_the_bound(
    form: Format, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(draft, "ROOM", draft.CALL)
    transcript = one(tmp_path, form.text())
    assert 1 <= len(transcript.calls) < len(EXPECTED)
    assert transcript.skipped["tool call beyond what is kept of a file"] >= 1


JUNK = [
    b"", b"\n\n\n", b"\xef\xbb\xbf", b"\x00" * 4096, bytes(range(256)) * 40, b"null", b"[]", b"{}", b'"text"', b"0",
    b"SQLite format 3\0" + b"\xff" * 5000, b"{" * 200_000, b"[" * 200_000, b'{"messages": ' + b"[" * 100_000,
    b"# Notes\n\nplain words\n", b'{"name": "x", "version": "1.0"}', b'[{"role": "user", "content": "hello"}]',
    b'{"messages": "text", "trajectory": 7, "history": {"role": 1}}', b"1" * 10_000, b'{"type":"message","role":"user"}',
    b'{"a": 1}\n{"b": 2}\n', b'{"log_type": "x", "data": []}', b"\xff\xfe{\x00}\x00",
]  # fmt: skip


@pytest.mark.parametrize("data", JUNK, ids=range(len(JUNK)))
def test_what_is_no_transcript_is_passed_over(data: bytes, tmp_path: Path) -> None:
    path = saved(tmp_path, data)
    assert (readers.sniff(path), readers.read([path])) == (None, [])


def test_folders_and_pipes_are_no_transcripts(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    assert readers.sniff(tmp_path) is None
    assert readers.sniff(tmp_path / "pipe.jsonl") is None
    assert readers.sniff(tmp_path / "missing") is None


def test_claude_code_is_left_to_its_own_reader(tmp_path: Path) -> None:
    block = {"type": "tool_use", "id": "a", "name": "Bash", "input": {"command": "ls"}}
    record = {"type": "assistant", "sessionId": "s", "uuid": "u", "message": {"role": "assistant", "content": [block]}}
    lines = [record, {"type": "summary", "leafUuid": "u"}, {"type": "system", "sessionId": "s", "content": "x"}]
    assert readers.sniff(saved(tmp_path, b"\n".join(json.dumps(line).encode() for line in lines))) is None


ODD: list[Any] = [None, True, -1, 10**30, 1.5, float("inf"), "", "x", "\ud800", [], {}, [[]], [None], {"type": 5}]
ODD += [{"type": "tool"}, ["text"], [{"text": 5}], {"command": ["ls", 5]}, {"id": {}}]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path]
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        found += places(inner, (*path, key))
    return found


def put(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = put(copy[path[0]], path[1:], new)
    return copy


@every_text
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_value_in_a_wrong_place_raises(form: Format, tmp_path: Path, data: st.DataObject) -> None:
    value = form.make(Session())
    for _ in range(data.draw(st.integers(1, 4))):
        value = put(value, data.draw(st.sampled_from(places(value))), data.draw(st.sampled_from(ODD)))
    lines = form.lines and isinstance(value, list)
    text = "\n".join(map(json.dumps, value)) if lines else json.dumps(value)
    for transcript in readers.read([saved(tmp_path, text.encode())]):
        mine([transcript])
        repr(transcript).encode("utf-8")
        assert all(isinstance(lines, int) for lines in transcript.skipped.values())


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_damaged_byte_raises(tmp_path: Path, data: st.DataObject) -> None:
    text = bytearray(data.draw(st.sampled_from(TEXTS)).text())
    for _ in range(data.draw(st.integers(1, 20))):
        text[data.draw(st.integers(0, len(text) - 1))] = data.draw(st.integers(0, 255))
    mine(readers.read([saved(tmp_path, bytes(text))]))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_damaged_database_raises(tmp_path: Path, data: st.DataObject) -> None:
    whole = tmp_path / "whole.db"
    if not whole.exists():
        opencode(whole, Session()).close()
    text = bytearray(whole.read_bytes())
    for _ in range(data.draw(st.integers(1, 30))):
        text[data.draw(st.integers(0, len(text) - 1))] = data.draw(st.integers(0, 255))
    mine(readers.read([saved(tmp_path, bytes(text), "damaged.db")]))

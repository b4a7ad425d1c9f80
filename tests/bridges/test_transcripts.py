"""Claude Code's session files are read as they are: old and new, repeated, torn, and full of surprises."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from instinct_git.bridges.readers import claude_code, source
from instinct_git.bridges.transcripts import read_all, read_transcripts
from instinct_git.core.mining import mine
from instinct_git.core.transcript import Transcript
from instinct_git.errors import InstinctError
from tests.sessions import Session

Json = dict[str, Any]
DEMO = Path(__file__).parents[2] / "instinct_git" / "data" / "demo-transcript.jsonl"


def use(call: str, session: str = "s1", name: str = "Bash", **more: Any) -> Json:
    block = {"type": "tool_use", "id": call, "name": name, "input": {"command": "ls"}}
    record = {"type": "assistant", "uuid": f"u-{call}", "sessionId": session, "timestamp": "2026-03-01T10:00:00Z"}
    return {**record, "message": {"role": "assistant", "content": [block]}, **more}


def answer(call: str, text: object = "ok", session: str = "s1", error: object = False, **more: Any) -> Json:
    block = {"type": "tool_result", "tool_use_id": call, "content": text, "is_error": error}
    record = {"type": "user", "uuid": f"r-{call}", "sessionId": session, "timestamp": "2026-03-01T10:00:05Z"}
    return {**record, "message": {"role": "user", "content": [block]}, **more}


def save(path: Path, records: Iterable[Json | bytes]) -> Path:
    lines = [record if isinstance(record, bytes) else json.dumps(record).encode() for record in records]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


def read_one(path: Path, records: Iterable[Json | bytes]) -> Transcript:
    (only,) = read_transcripts([save(path / "a.jsonl", records)])
    return only


def ids(transcript: Transcript) -> list[str]:
    return [call.id for call in transcript.calls]


def test_calls_are_numbered_in_file_order_with_their_results(tmp_path: Path) -> None:
    one = read_one(tmp_path, [use("a"), use("b"), answer("b", "2", error=True), answer("a", "1", cwd="/p")])
    assert [(call.number, call.id, call.result, call.is_error) for call in one.calls] == [
        (1, "a", "1", False),
        (2, "b", "2", True),
    ]
    assert (one.agent, one.session, one.day, one.cwd) == ("claude-code", "s1", "20260301", "/p")
    assert one.calls[0].input == {"command": "ls"}


def test_a_result_may_come_first_or_never(tmp_path: Path) -> None:
    one = read_one(tmp_path, [answer("a", "1"), use("a"), use("b"), answer("nobody", "x")])
    assert [(call.id, call.result, call.is_error) for call in one.calls] == [("a", "1", False), ("b", "", None)]


def test_a_repeated_call_counts_once_within_and_across_files(tmp_path: Path) -> None:
    first = save(tmp_path / "1.jsonl", [use("a"), use("b"), use("a"), answer("a")])
    resumed = save(tmp_path / "2.jsonl", [use("a", "s2"), use("c", "s2")])
    one, two = read_transcripts([first, resumed, first])
    assert (ids(one), ids(two)) == (["a", "b"], ["c"])


def test_results_are_found_across_files(tmp_path: Path) -> None:
    (one,) = read_transcripts([save(tmp_path / "1.jsonl", [use("a")]), save(tmp_path / "2.jsonl", [answer("a", "x")])])
    assert one.calls[0].result == "x"


def test_one_session_in_several_files_is_one_transcript(tmp_path: Path) -> None:
    main = save(tmp_path / "s1.jsonl", [use("a"), answer("a"), use("b")])
    helper = save(tmp_path / "s1" / "subagents" / "agent-7.jsonl", [use("x", agentId="7", isSidechain=True)])
    (one,) = read_transcripts([main, helper])
    assert [(call.number, call.id, call.thread) for call in one.calls] == [(1, "a", ""), (2, "b", ""), (3, "x", "7")]


def test_named_files_keep_their_order_and_a_folder_is_read_by_time(tmp_path: Path) -> None:
    late = save(tmp_path / "a.jsonl", [use("late", timestamp="2026-03-02T00:00:00Z")])
    early = save(tmp_path / "b.jsonl", [use("early", timestamp="2026-03-01T00:00:00Z")])
    assert ids(read_transcripts([late, early])[0]) == ["late", "early"]
    assert ids(read_transcripts([tmp_path])[0]) == ["early", "late"]


def test_parallel_agents_of_the_old_format_are_told_apart_by_their_parents(tmp_path: Path) -> None:
    def side(call: str, parent: str | None) -> Json:
        return use(call, isSidechain=True, parentUuid=parent)

    records = [
        use("main"),
        side("a1", None),
        side("b1", None),
        side("a2", "u-a1"),
        side("b2", "u-b1"),
        side("a3", "u-a2"),
    ]
    threads = {call.id: call.thread for call in read_one(tmp_path, records).calls}
    assert threads == {"main": "", "a1": "u-a1", "a2": "u-a1", "a3": "u-a1", "b1": "u-b1", "b2": "u-b1"}


def test_parents_that_are_missing_or_go_in_circles_do_no_harm(tmp_path: Path) -> None:
    records = [
        use("a", isSidechain=True, parentUuid="nowhere"),
        use("b", isSidechain=True, parentUuid="u-c"),
        use("c", isSidechain=True, parentUuid="u-b"),
        use("d", isSidechain=True, parentUuid=7),
    ]
    assert all(call.thread for call in read_one(tmp_path, records).calls)


def test_the_compaction_helper_is_no_work(tmp_path: Path) -> None:
    one = read_one(tmp_path, [use("a"), use("x", agentId="acompact-1", isSidechain=True)])
    assert ids(one) == ["a"]
    assert one.skipped == {"compaction helper": 1}


def test_progress_lines_are_never_counted(tmp_path: Path) -> None:
    copy = {
        "type": "progress",
        "uuid": "p",
        "sessionId": "s1",
        "data": {"message": use("x")},
        "message": use("x")["message"],
    }
    one = read_one(tmp_path, [use("a"), copy])
    assert (ids(one), one.skipped) == (["a"], {"progress record": 1})


def test_the_file_name_names_a_session_without_an_id(tmp_path: Path) -> None:
    nameless = use("a")
    del nameless["sessionId"]
    (one,) = read_transcripts([save(tmp_path / "monday.jsonl", [nameless])])
    assert one.session == "monday"


def test_a_file_of_two_sessions_gives_two_transcripts(tmp_path: Path) -> None:
    one, two = read_transcripts([save(tmp_path / "a.jsonl", [use("a", "s1"), use("b", "s2"), use("c", "s1")])])
    assert (ids(one), ids(two)) == (["a", "c"], ["b"])
    assert [call.number for call in one.calls] == [1, 2]


@pytest.mark.parametrize(
    ("stamps", "day"),
    [
        (["2026-03-02T00:30:00+02:00"], "20260301"),
        (["2026-03-02T00:30:00.123Z", "2026-03-01T23:59:59Z"], "20260301"),
        (["nonsense", "2026-03-02T00:30:00Z"], "20260302"),
        ([None], "19700101"),
        (["0001-01-01T00:00:00+05:00"], "19700101"),
    ],
)
def test_the_day_is_that_of_the_first_record_in_utc(tmp_path: Path, stamps: list[object], day: str) -> None:
    records = [use(str(number), timestamp=stamp) for number, stamp in enumerate(stamps)]
    assert read_one(tmp_path, records).day == day


def test_bad_lines_are_counted_by_reason_and_the_rest_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    lines = [
        b"\xef\xbb\xbf// where this came from",
        b"",
        json.dumps(use("a")).encode() + b"\r",
        b'{"broken": ',
        b"[1, 2]",
        b"null",
        b'{"type": "user", "sessionId": "s1", "message": "not an object"}',
        b'{"type": "assistant", "sessionId": "s1", "message": {"content": "a string"}}',
        b'{"type": "assistant", "sessionId": "s1", "message": {"content": ["a", {"type": "tool_use", "id": 7}]}}',
        b'{"type": "future", "sessionId": "s1"}',
        b"[" * 100_000,
        b'{"type": "assistant", "sess',
    ]
    path.write_bytes(b"\n".join(lines))
    (one,) = read_transcripts([path])
    assert ids(one) == ["a"]
    assert one.skipped == {
        "broken JSON": 2,
        "comment": 1,
        "no message": 1,
        "not an object": 2,
        "other record": 1,
        "tool use without a name or id": 1,
        "torn last line": 1,
    }


def test_lines_are_split_at_line_feeds_only(tmp_path: Path) -> None:
    text = "one\u2028two\u0085three\x0bfour"
    line = json.dumps(answer("a", text), ensure_ascii=False).encode()
    assert read_one(tmp_path, [use("a"), line]).calls[0].result == text


def test_lone_surrogates_and_huge_results_are_read(tmp_path: Path) -> None:
    surrogate = json.dumps(answer("a", "cut \ud83d here", cwd="/p\ud83d")).encode()
    one = read_one(tmp_path, [use("a"), surrogate, use("b"), answer("b", "x" * 1_000_000 + "3 failed")])
    assert one.cwd.encode() == b"/p?"
    assert len(one.calls[1].result) < 300_000
    assert one.calls[1].result.endswith("3 failed")
    assert mine([one]) == []


def test_a_result_may_be_text_blocks_strings_or_neither(tmp_path: Path) -> None:
    blocks = [{"type": "text", "text": "one"}, {"type": "image", "source": {}}, "two", 3]
    one = read_one(tmp_path, [use("a"), answer("a", blocks), use("b"), answer("b", 5, error="yes")])
    assert [(call.result, call.is_error) for call in one.calls] == [("one\ntwo", False), ("", None)]


def test_input_that_is_no_object_is_an_empty_one(tmp_path: Path) -> None:
    record = use("a")
    record["message"]["content"][0]["input"] = "ls"
    assert read_one(tmp_path, [record]).calls[0].input == {}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n\n",
        b"hello",
        b"\x00\xff\xfe",
        b'{"role": "user", "content": "hi"}\n{"role": "assistant", "content": "hello"}\n',
        b'{"timestamp": "2026-03-01T10:00:00Z", "type": "response_item", "payload": "message"}\n',
        b'{"type": "user", "message": {"role": "user", "content": "hi"}}\n',
        b'{"type": {"a": 1}, "sessionId": "s"}\n',
    ],
)
def test_a_file_that_is_no_transcript_is_refused_by_its_content(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "looks-right.jsonl"
    path.write_bytes(content)
    with pytest.raises(InstinctError, match=r"looks-right\.jsonl is not a transcript") as refused:
        read_transcripts([path])
    assert refused.value.hint


def test_a_path_that_cannot_be_read_is_a_known_error(tmp_path: Path) -> None:
    with pytest.raises(InstinctError, match=r"Cannot read gone\.jsonl"):
        read_transcripts([tmp_path / "gone.jsonl"])


def test_a_folder_passes_over_other_files_but_needs_one_transcript(tmp_path: Path) -> None:
    save(tmp_path / "other.jsonl", [{"role": "user"}])
    with pytest.raises(InstinctError, match="No transcript"):
        read_transcripts([tmp_path])
    save(tmp_path / "deep" / "er" / "s1.jsonl", [use("a")])
    assert ids(read_transcripts([tmp_path])[0]) == ["a"]


def test_the_demo_teaches_a_loop_a_fix_and_a_preference() -> None:
    (demo,) = read_transcripts([DEMO])
    learned = {one.key: one.support for one in mine([demo])}
    assert 3 <= len(learned) <= 6
    assert learned["fix:missing-import"] >= 2
    assert learned["pref:commits=conventional"] >= 3
    assert any(key.startswith("seq:test->edit->test") and support >= 3 for key, support in learned.items())


def read_anything(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    try:
        transcripts = read_transcripts([path])
    except InstinctError:
        return
    for transcript in transcripts:
        assert [call.number for call in transcript.calls] == list(range(1, len(transcript.calls) + 1))
        transcript.session.encode()
    mine(transcripts)


relaxed = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


@relaxed
@given(content=st.binary(max_size=300))
def test_random_bytes_raise_nothing_but_the_known_error(tmp_path: Path, content: bytes) -> None:
    read_anything(tmp_path / "random.jsonl", content)


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
NAMES = st.sampled_from(
    ("type", "message", "content", "id", "name", "input", "sessionId", "uuid", "isSidechain", "agentId", "cwd")
)
ANY_JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES | st.text(max_size=4), inner, max_size=4),
    max_leaves=8,
)
CHANGED = st.tuples(st.sampled_from([use("a"), answer("a"), use("b", isSidechain=True)]), NAMES, ANY_JSON)


@relaxed
@given(records=st.lists(ANY_JSON | CHANGED.map(lambda one: {**one[0], one[1]: one[2]}), max_size=6))
def test_random_json_raises_nothing_but_the_known_error(tmp_path: Path, records: list[object]) -> None:
    read_anything(tmp_path / "random.jsonl", b"\n".join(json.dumps(record).encode() for record in records))


@relaxed
@given(block=st.dictionaries(NAMES | st.sampled_from(["tool_use_id", "is_error"]), ANY_JSON), kind=st.booleans())
def test_random_blocks_raise_nothing(tmp_path: Path, block: dict[str, object], kind: bool) -> None:
    record = use("a")
    record["message"]["content"].append({**block, "type": "tool_use" if kind else "tool_result"})
    read_anything(tmp_path / "random.jsonl", json.dumps(record).encode())


# --- prompts and reports ----------------------------------------------------------------------------------------------


def test_prompts_know_what_was_done_before_them(tmp_path: Path) -> None:
    session = Session(day="2026-02-01").say("Mend it").do("edit test").on("2026-02-02").say("thanks").say("go on")
    (found,) = read_transcripts([session.file(tmp_path)])
    told = [(one.text, one.after, one.day) for one in found.prompts]
    assert told == [("Mend it", 0, "20260201"), ("thanks", 2, "20260202"), ("go on", 2, "20260202")]
    assert {one.day for one in found.calls} == {"20260201"}


def test_a_prompt_of_several_blocks_is_read_without_what_the_agent_puts_in(tmp_path: Path) -> None:
    blocks = [{"type": "text", "text": text} for text in ("[Request interrupted by user]", "stop", "that is wrong")]
    (found,) = read_transcripts([Session().say(blocks).say([{"type": "image", "source": {}}]).file(tmp_path)])
    assert [one.text for one in found.prompts] == ["stop\nthat is wrong"]


def test_what_subagents_hand_back_is_a_report_each(tmp_path: Path) -> None:
    session = Session().say("Look").hand_over("All is well").hand_over("Async agent launched successfully.")
    (found,) = read_transcripts([session.hand_over("One is broken").file(tmp_path)])
    assert [one.text for one in found.reports] == ["All is well", "One is broken"]


def test_the_files_read_are_counted_for_whoever_waits(tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    for name in ("a", "b", "c"):
        Session(name).say("hello").file(folder)
    told: list[tuple[int, int]] = []
    read_transcripts([folder], lambda done, total: told.append((done, total)))
    assert told == [(1, 3), (2, 3), (3, 3)]


# --- bounds, secrets, identity ----------------------------------------------------------------------------------------

TOKEN = "ghp_" + "a1B2c3D4e5" * 3


def test_no_secret_of_a_session_is_kept(tmp_path: Path) -> None:
    session = Session().say(f"use {TOKEN}").use("Bash", {"command": f"curl -H 'x: {TOKEN}'"}, f"echoed {TOKEN}")
    session.hand_over(f"the token is {TOKEN}")
    helper = session.file(tmp_path)
    (found,) = read_transcripts([helper])
    assert TOKEN not in repr(found)
    assert len(found.calls) == 2
    assert "[redacted: github-token]" in found.calls[0].result


def test_a_line_beyond_the_bound_is_left_out_and_the_rest_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "LONGEST_LINE", 2_000)
    one = read_one(tmp_path, [use("a"), answer("b", "x" * 5_000), use("c"), answer("c")])
    assert (ids(one), one.skipped) == (["a", "c"], {"line too long": 1})


def test_no_more_of_a_file_is_kept_than_the_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claude_code, "ROOM", 10_000)
    many = [record for number in range(50) for record in (use(f"a{number}"), answer(f"a{number}", "x" * 1_000))]
    one = read_one(tmp_path, many)
    assert 0 < len(one.calls) < 10
    assert one.skipped == {"file too long": 1}
    monkeypatch.setattr(claude_code, "MOST_RECORDS", 4)
    assert len(read_one(tmp_path, many).calls) == 2


def test_of_a_record_only_what_is_used_is_kept(tmp_path: Path) -> None:
    image = {"type": "image", "source": {"type": "base64", "data": "QUJD" * 1000}}
    extra = {"toolUseResult": {"stdout": "y" * 10_000}, "snapshot": "z" * 10_000}
    records = [use("a"), answer("a", [{"type": "text", "text": "ok"}, image], **extra)]
    file = claude_code.read(save(tmp_path / "a.jsonl", records))
    assert len(repr(file.records)) < 2_000


def test_an_id_that_counts_is_another_call_in_another_session(tmp_path: Path) -> None:
    first = save(tmp_path / "1.jsonl", [use("functions.Bash:0"), answer("functions.Bash:0", "one")])
    other = use("functions.Bash:0", "s2", timestamp="2026-03-02T10:00:00Z")
    second = save(tmp_path / "2.jsonl", [other, answer("functions.Bash:0", "two", "s2")])
    one, two = read_transcripts([first, second])
    assert [call.result for call in (*one.calls, *two.calls)] == ["one", "two"]


def test_a_call_is_known_by_its_own_id_whatever_else_the_copy_says(tmp_path: Path) -> None:
    name = "toolu_01AbCdEfGhIjKlMnOpQrStUv"
    first = save(tmp_path / "1.jsonl", [use(name), answer(name, "one")])
    copy = use(name, "s2", timestamp="2026-03-02T10:00:00Z", name="Read")
    one, two = read_transcripts([first, save(tmp_path / "2.jsonl", [copy, use("c", "s2")])])
    assert (ids(one), ids(two)) == ([name], ["c"])


@pytest.mark.parametrize(
    ("name", "day"),
    [
        ("2026-02-03.jsonl", "20260203"),
        ("rollout-2026-02-03T10-15-00-1a2b.jsonl", "20260203"),
        ("fix_20260203.jsonl", "20260203"),
        ("2026-02-30_2026-02-04.jsonl", "20260204"),
        ("x20260203.jsonl", "19700101"),
        ("120260203.jsonl", "19700101"),
        ("2026-0203.jsonl", "19700101"),
        ("19991231.jsonl", "19700101"),
        ("session.jsonl", "19700101"),
    ],
)
def test_what_has_no_times_has_the_day_that_the_files_name_tells(tmp_path: Path, name: str, day: str) -> None:
    timeless = [{**use("a"), "timestamp": None}, {**answer("a"), "timestamp": None}]
    (one,) = read_transcripts([save(tmp_path / name, timeless)])
    assert (one.day, one.calls[0].day or day) == (day, day)
    (dated,) = read_transcripts([save(tmp_path / name, [*timeless, use("b")])])
    assert dated.day == "20260301", "a time in the file is better than its name"


def test_each_call_is_known_by_the_file_that_it_was_read_from(tmp_path: Path) -> None:
    main = save(tmp_path / "s1.jsonl", [use("a"), answer("a")])
    helper = save(tmp_path / "s1" / "subagents" / "agent-7.jsonl", [use("x", agentId="7", isSidechain=True)])
    read = read_all([main, helper])
    assert read.paths == {("claude-code", "s1", "a"): str(main), ("claude-code", "s1", "x"): str(helper)}


def test_what_nobody_named_and_cannot_be_read_is_passed_over(tmp_path: Path) -> None:
    kept = save(tmp_path / "1.jsonl", [use("a")])
    plain = save(tmp_path / "2.jsonl", [b"no transcript"])
    read = read_all([kept, tmp_path / "gone.jsonl", plain], found=True)
    assert [ids(one) for one in read.transcripts] == [["a"]]
    assert read.skipped == {"file that cannot be read": 1}

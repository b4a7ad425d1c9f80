"""Patterns are found where a reader would find them, and nothing is reported that a reader would not believe."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from instinct_git.core.actions import named
from instinct_git.core.fixes import WITHIN
from instinct_git.core.mining import FAR, PER_SESSION, mine, redone, whole
from instinct_git.core.threads import Learned
from instinct_git.core.transcript import ToolCall, Transcript

# One word per call: what the call is, "!" for a failure, "@x" for the thread.
CALLS: dict[str, tuple[str, dict[str, object], str]] = {
    "read": ("Read", {"file_path": "/p/a.py"}, "1 import os"),
    "edit": ("Edit", {"file_path": "/p/a.py"}, "has been updated"),
    "edit-b": ("Edit", {"file_path": "/p/b.py"}, "has been updated"),
    "write": ("Write", {"file_path": "/p/a.py"}, "created"),
    "test": ("Bash", {"command": "pytest -q"}, "3 passed"),
    "test!": ("Bash", {"command": "pytest -q | tail"}, "1 failed, 2 passed"),
    "import!": ("Bash", {"command": "pytest -q"}, "Exit code 2\nE  ModuleNotFoundError: No module named 'shop'"),
    "lint": ("Bash", {"command": "ruff check ."}, "All checks passed!"),
    "lint!": ("Bash", {"command": "ruff check ."}, "Found 2 errors."),
    "compile": ("Bash", {"command": "tsc"}, "ok"),
    "commit": ("Bash", {"command": "git add -A && git commit -m 'fix: the cart'"}, "[main 1a2b3c4] ok"),
    "plain": ("Bash", {"command": "git commit -m 'Mend the cart'"}, "[main 1a2b3c4] ok"),
    "hook!": ("Bash", {"command": "git commit -m 'fix: a'"}, "Exit code 1\npre-commit: black failed"),
    "force": ("Bash", {"command": "git commit --no-verify -m 'fix: a'"}, "[main 1a2b3c4] ok"),
    "force-n": ("Bash", {"command": "git commit -nm 'fix: a'"}, "[main 1a2b3c4] ok"),
    "skip": ("Bash", {"command": "SKIP=black git commit -m 'fix: a'"}, "[main 1a2b3c4] ok"),
    "push": ("Bash", {"command": "git push"}, "ok"),
    "script": ("Bash", {"command": "./tools/acme.sh"}, "ok"),
    "status": ("Bash", {"command": "git status"}, "clean"),
    "todo": ("TodoWrite", {}, "ok"),
    "search": ("WebSearch", {"query": "q"}, "ok"),
    "fetch": ("WebFetch", {"url": "u"}, "ok"),
    "npm": ("Bash", {"command": "npm install left-pad"}, "added 1 package"),
    "text!": (
        "Edit",
        {"file_path": "/p/a.py"},
        "<tool_use_error>String to replace not found in file.</tool_use_error>",
    ),
    "unread!": ("Edit", {"file_path": "/p/a.py"}, "<tool_use_error>File has not been read yet.</tool_use_error>"),
    "private": ("mcp__acme__acme", {}, "ok"),
    "refused": ("Bash", {"command": "pytest"}, "The user doesn't want to proceed with this tool use."),
}
ERRORS = {"text!", "unread!", "hook!", "import!", "refused"}


def transcript(words: str, session: str = "s1", day: str = "20260301") -> Transcript:
    calls = []
    for number, word in enumerate(words.split(), 1):
        name, _, thread = word.partition("@")
        tool, arguments, result = CALLS[name]
        calls.append(ToolCall(number, f"{session}-{number}", tool, arguments, result, name in ERRORS or None, thread))
    return Transcript("claude-code", session, day, "/p", tuple(calls), {})


def found(words: str, **options: int) -> dict[str, list[tuple[int, ...]]]:
    return occurrences(mine([transcript(words)], min_support=options.get("min_support", 2)))


def occurrences(learned: Iterable[Learned]) -> dict[str, list[tuple[int, ...]]]:
    return {one.key: [spot.calls for spot in one.occurrences] for one in learned}


def test_a_sequence_is_found_with_the_numbers_of_its_calls() -> None:
    assert found("edit compile test push edit compile test") == {"seq:edit->compile->test": [(1, 2, 3), (5, 6, 7)]}


def test_looks_may_lie_between_the_steps() -> None:
    assert found("edit read compile status test push edit todo compile test")["seq:edit->compile->test"] == [
        (1, 3, 5),
        (7, 9, 10),
    ]


def test_what_comes_after_many_looks_is_another_deed() -> None:
    few, many = "read " * FAR, "read " * (FAR + 1)
    assert "install->edit" in " ".join(found(f"npm {few} edit test push " * 2))
    assert "install->edit" not in " ".join(found(f"npm {many} edit test push " * 2))


def test_an_edit_after_the_end_of_a_piece_of_work_begins_the_next() -> None:
    keys = [key for key in found("edit test lint push " * 5) if key.startswith("seq:")]
    assert keys == ["seq:edit->test->lint->push"]


def test_a_last_edit_after_a_look_rests_on_what_was_looked_at() -> None:
    key = "seq:websearch->webfetch->edit"
    assert key in found("search fetch edit compile search fetch edit push")
    assert key not in found("search fetch read edit compile search fetch read edit push")


def test_what_differs_from_something_told_in_its_last_step_alone_needs_one_more() -> None:
    often, other, last = "edit compile test push ", "edit compile lint commit ", "npm edit compile lint"
    assert "compile->lint" not in " ".join(found(often * 3 + other + last))
    assert "seq:edit->compile->lint" in found(often * 3 + other + "npm edit compile lint push " + last)


def test_repeats_of_one_action_are_one_step_and_so_are_edits_and_writes() -> None:
    assert found("write edit edit compile test test push edit edit compile test") == {
        "seq:edit->compile->test": [(3, 4, 5), (9, 10, 11)]
    }


def test_calls_that_did_not_happen_are_no_steps() -> None:
    assert found("edit refused compile text! test push edit hook! compile test")["seq:edit->compile->test"] == [
        (1, 3, 5),
        (7, 9, 10),
    ]


def test_sequences_never_cross_threads() -> None:
    assert found("edit@a compile@b test@a push@a edit@a compile@b test@a") == {}


def test_parallel_threads_are_read_one_by_one() -> None:
    words = "edit@a edit@b compile@a compile@b test@a test@b"
    assert found(words)["seq:edit->compile->test"] == [(1, 3, 5), (2, 4, 6)]


def test_sequences_never_cross_sessions_but_their_support_adds_up() -> None:
    two = [transcript("edit compile test", "s1"), transcript("edit compile test", "s2")]
    (learned,) = mine(two)
    assert (learned.key, learned.support, learned.sessions) == ("seq:edit->compile->test", 2, 2)
    assert mine([transcript("edit compile", "s1"), transcript("test edit compile", "s2")]) == []


def test_occurrences_do_not_overlap() -> None:
    assert found("test! edit test! edit test! edit test", min_support=1)["seq:test->edit->test"] == [
        (1, 2, 3),
        (5, 6, 7),
    ]


def test_two_steps_need_one_more_occurrence_than_three() -> None:
    assert found("commit push edit commit push") == {}
    assert "seq:commit->push" in found("commit push test commit push edit lint commit push")


@pytest.mark.parametrize(
    "words",
    [
        "lint private push private compile private",
        "edit edit edit edit",
        "write edit write edit",
        "read status read status",
        "test test test test",
        "script test push script test commit script test",
        "lint push script compile lint push script",
    ],
)
def test_boring_sequences_are_not_told(words: str) -> None:
    assert found(words) == {}


def test_a_step_that_has_no_name_is_in_no_sequence() -> None:
    assert [key for key in found("lint private push todo " * 4) if "tool" in key] == []


def test_a_loop_is_told_from_the_check() -> None:
    keys = found("edit test! edit test commit " * 3)
    assert "seq:test->edit->test->commit" in keys
    assert not [key for key in keys if key.startswith("seq:edit->test->edit") or key == "seq:test->edit"]


def test_of_steps_that_take_turns_one_order_is_told() -> None:
    assert [key for key in found("edit compile test " * 5) if key.startswith("seq:")] == ["seq:edit->compile->test"]
    assert list(found("search fetch " * 4)) == ["seq:websearch->webfetch"]


def test_a_part_is_told_beside_the_whole_only_if_it_occurs_twice_as_often() -> None:
    whole = "lint commit push "
    often = "edit compile test "
    assert "seq:commit->push" not in found(whole * 2 + often + whole)
    keys = found("lint commit push edit lint commit push " + "compile commit push test commit push npm commit push")
    assert "seq:commit->push" in keys


def kept(words: str, *known: str) -> dict[str, int]:
    one = [transcript(words)]
    found = mine(one)
    more = redone(one, [tuple(key.split("->")) for key in known])
    mined = {each.key for each in found}
    return {each.key: len(each.occurrences) for each in whole(found + [each for each in more if each.key not in mined])}


def test_a_known_part_that_is_mostly_done_within_a_longer_sequence_counts_elsewhere_alone() -> None:
    held = "lint commit push npm "
    assert kept(held * 3, "commit->push")["seq:commit->push"] == 0
    assert kept(held * 3 + "test commit push test ", "commit->push")["seq:commit->push"] == 1
    often = kept(held * 2 + "test commit push todo edit compile commit push edit commit push ", "commit->push")
    assert often["seq:commit->push"] == 5
    assert kept(held * 3)["seq:lint->commit->push->install"] == 3


def test_the_report_is_small() -> None:
    names = list(CALLS)
    words = " ".join(names[(i * i + 3 * i) % len(names)] for i in range(400))
    assert len([key for key in found(words) if key.startswith("seq:")]) <= PER_SESSION


def test_a_title_is_plain_english() -> None:
    (learned,) = mine([transcript("edit compile test push edit compile test")])
    assert learned.title == "Make the change, compile, then run the tests"
    titles = {one.key: one.title for one in mine([transcript("test! edit test commit " * 3)])}
    assert titles["seq:test->edit->test->commit"] == "Run the tests, make the change, run the tests again, then commit"


@pytest.mark.parametrize(
    ("words", "key", "calls"),
    [
        ("text! read edit push text! read edit", "fix:edit-string-not-found", [(1, 2, 3), (5, 6, 7)]),
        ("text! text! read edit text! read edit", "fix:edit-string-not-found", [(2, 3, 4), (5, 6, 7)]),
        ("unread! read edit unread! read edit", "fix:read-before-edit", [(1, 2, 3), (4, 5, 6)]),
        ("hook! edit commit push hook! edit commit", "fix:pre-commit-hook-failure", [(1, 2, 3), (5, 6, 7)]),
        ("import! edit test push import! edit test", "fix:missing-import", [(1, 2, 3), (5, 6, 7)]),
    ],
)
def test_a_failure_and_what_ended_it_are_a_fix(words: str, key: str, calls: list[tuple[int, ...]]) -> None:
    assert found(words)[key] == calls


@pytest.mark.parametrize(
    ("tool", "argument", "said", "key"),
    [
        ("replace", "file_path", "Failed to edit, could not find the string to replace.", "edit-string-not-found"),
        ("apply_patch", "file_path", "apply_patch verification failed: Failed to find expected lines in a", "edit-string-not-found"),
        ("edit", "filePath", "Error: oldString not found in content", "edit-string-not-found"),
        ("str_replace_editor", "path", "No replacement was performed, old_str `x` did not appear verbatim in a",
         "edit-string-not-found"),
        ("str_replace_editor", "path", "No replacement was performed. Multiple occurrences of old_str `x` in lines [1, 2]",
         "edit-string-not-unique"),
        ("edit", "filePath", "You must read file a before overwriting it. Use the Read tool first", "read-before-edit"),
        ("edit", "filePath", "File a has been modified since it was last read.", "file-changed-since-read"),
    ],
)  # fmt: skip
def test_every_agents_editor_fails_in_the_same_classes(tool: str, argument: str, said: str, key: str) -> None:
    calls = (
        ToolCall(1, "1", tool, {argument: "a", "text": "x"}, said, True, ""),
        ToolCall(2, "2", "read_file", {"path": "a"}, "x", False, ""),
        ToolCall(3, "3", tool, {argument: "a", "text": "y"}, "ok", False, ""),
    )
    (learned,) = mine([Transcript("any", session, "20260301", "", calls, {}) for session in ("s", "t")])
    calls_told = learned.occurrences[0].calls
    assert (learned.key, learned.support, calls_told[0], calls_told[-1]) == (f"fix:{key}", 2, 1, 3)


def test_a_server_that_is_started_watched_and_stopped_is_a_combo() -> None:
    tools = [("Bash", "npm run dev"), ("BashOutput", ""), ("KillShell", "")]
    calls = [
        ToolCall(number, f"{number}", *(tool, {"command": line} if line else {}), "ok", None, "")
        for number, (tool, line) in enumerate(tools * 3, 1)
    ]
    (learned,) = mine([Transcript("any", "s", "20260301", "", tuple(calls), {})])
    assert (learned.key, learned.support) == ("combo:serve+wait+stop", 3)
    assert learned.title == "Start the server, check its output, then stop it"


@pytest.mark.parametrize(
    "words",
    [
        "text! edit",  # ended without reading
        "text! read edit-b",  # another file
        "text!@a read@b edit@b",  # another thread
        "text! read text!",  # never ended
        "hook! commit",  # the same again, with nothing changed
        "hook! edit force",  # a bypass is no remedy
        "hook! edit force-n",
        "hook! edit skip",
        "hook! " + "push " * WITHIN + "edit commit",  # too far away
    ],
)
def test_what_is_no_remedy_is_no_fix(words: str) -> None:
    assert not [key for key in found(f"{words} push {words}") if key.startswith("fix:")]


def test_a_fix_is_told_once_it_was_seen_twice_be_it_in_two_sessions() -> None:
    assert mine([transcript("text! read edit")]) == []
    (learned,) = mine([transcript("text! read edit", "s1"), transcript("text! read edit", "s2")])
    assert (learned.key, learned.support, learned.sessions) == ("fix:edit-string-not-found", 2, 2)


def test_a_loop_that_is_told_as_a_sequence_is_not_told_as_a_fix_too() -> None:
    keys = found("test! edit test commit " * 3)
    assert "seq:test->edit->test->commit" in keys
    assert "fix:test-failure" not in keys


def test_a_common_failure_is_a_fix_where_no_sequence_tells_it() -> None:
    keys = found("lint! edit push lint npm lint! edit compile push lint", min_support=9)
    assert keys["fix:lint-failure"] == [(1, 3, 4), (6, 9, 10)]


def test_conventional_commits_are_a_preference_if_nearly_all_are() -> None:
    assert found("commit edit commit edit commit")["pref:commits=conventional"] == [(1,), (3,), (5,)]
    assert "pref:commits=conventional" not in found("commit edit commit")
    assert "pref:commits=conventional" not in found("commit edit commit edit commit edit plain")
    assert "pref:commits=conventional" not in found("hook! hook! hook!")


def test_a_tool_used_five_times_is_a_preference() -> None:
    assert len(found("test lint " * 5)["pref:test-runner=pytest"]) == 5
    assert len(found("npm test " * 5)["pref:package-manager=npm"]) == 5
    assert "pref:test-runner=pytest" not in found("test lint " * 4)


def test_the_same_sessions_in_another_order_give_the_same_answer() -> None:
    three = [transcript("edit compile test " * 2, f"s{n}", f"2026030{n}") for n in (1, 2, 3)]
    assert mine(three) == mine(list(reversed(three)))


def test_extra_actions_name_further_tools() -> None:
    calls = tuple(
        ToolCall(n, str(n), "Bash", {"command": line}, "ok", None, "")
        for n, line in enumerate(["frob --go", "git push", "pytest", "frob --go", "git push"], 1)
    )
    one = Transcript("codex", "s", "20260301", "", calls, {})
    learned = mine(named([one, one], {"frob": "deploy"}))
    assert "seq:deploy->push->test" in [each.key for each in learned]


def test_a_session_without_calls_teaches_nothing() -> None:
    assert mine([transcript("")]) == mine([]) == []


@given(st.lists(st.sampled_from([*CALLS, "edit@a", "test@a", "test!@b"]), max_size=60))
def test_whatever_the_calls_are_the_patterns_are_sound(words: list[str]) -> None:
    learned = mine([transcript(" ".join(words))])
    assert len({one.key for one in learned}) == len(learned)
    for one in learned:
        assert re.fullmatch(r"(seq|fix|pref):[a-z0-9_.=>-]+", one.key)
        assert len(one.key.encode()) <= 200
        assert one.support == len(one.occurrences) >= 1
        assert all(1 <= number <= len(words) for spot in one.occurrences for number in spot.calls)
        assert all(list(spot.calls) == sorted(set(spot.calls)) for spot in one.occurrences)
        if one.key.startswith("seq:"):
            used = [number for spot in one.occurrences for number in spot.calls]
            assert len(used) == len(set(used))

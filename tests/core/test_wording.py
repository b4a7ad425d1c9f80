"""Who does the same gets the same patterns, whatever words the person and the model use; and no pattern holds a word of theirs."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from instinct_git.core import actions, choices, entry, mining
from instinct_git.core.fixes import FIXES
from instinct_git.core.transcript import Prompt, ToolCall, Transcript
from instinct_git.core.triggers import judgement

# What is done, each with a hole for words: a file's name, a message, a pattern that is looked for.
DEEDS = {
    "edit": ("Edit", {"file_path": "/home/{who}/{words}.py", "old_string": "{words}", "new_string": "x"}, "updated {words}"),
    "lost": ("Edit", {"file_path": "/home/{who}/a.py"}, "<tool_use_error>String to replace not found in file: {words}"),
    "read": ("Read", {"file_path": "/home/{who}/a.py"}, "{words}"),
    "test": ("Bash", {"command": "cd /home/{who}/x && pytest -q -k '{words}' 2>&1 | tail -5"}, "{words}\n3 passed"),
    "test!": ("Bash", {"command": "uv run pytest '{words}'"}, "{words}\n1 failed, 2 passed"),
    "lint": ("Bash", {"command": "FOO='{words}' npx eslint '{words}'"}, "ok {words}"),
    "commit": ("Bash", {"command": "git commit -m \"$(cat <<'EOF'\nfix: a {words}\n\n{words}\nEOF\n)\""}, "[main 1a2b3c4] {words}"),
    "push": ("Bash", {"command": "git push origin '{words}'"}, "ok"),
    "query": ("mcp__{who}-corp__query_{who}", {"sql": "{words}"}, "{words}"),
    "task": ("Task", {"prompt": "{words}", "description": "{words}"}, "{words}"),
}  # fmt: skip
PRAISE = ("完美", "很好", "perfect", "great", "Perfect!", "太棒了", "Great, thanks.", "excellent", "很好，谢谢")
ENGLISH = ("initech lumbergh", "mend the checkout", "please look", "repair cart 42", "what a day: 10% (off) #3")
CHINESE = ("购物车的总价不对", "把登录页改成新的样式", "请看一下发票", "修一下四十二")
NAMES = ("mallory", "trent", "initech")


def told(deeds: Sequence[str], who: str, words: Sequence[str], verdict: str) -> Transcript:
    """A session that does these deeds, with a prompt before every fourth and a verdict after the last."""
    calls, prompts = [], []
    for number, deed in enumerate(deeds, 1):
        tool, given_input, result = DEEDS[deed]
        said = words[number % len(words)]
        filled = {name: text.format(who=who, words=said) for name, text in given_input.items()}
        calls.append(ToolCall(number, str(number), tool.format(who=who), filled, result.format(words=said),
                              deed == "lost" or None, ""))  # fmt: skip
        if number % 4 == 1:
            prompts.append(Prompt(f"p{number}", f"{said}, and then {said}", number - 1))
    prompts.append(Prompt("last", verdict, len(deeds)))
    return Transcript("any", "s", "20260301", f"/home/{who}/shop", tuple(calls), {}, tuple(prompts))


def learned(transcript: Transcript) -> tuple[list[mining.Learned], list[str]]:
    (one,) = actions.named([transcript])
    found = mining.mine([one])
    verdicts = entry.verdicts([one], found, lambda key, day: True, "")
    return found, [f"{verdict.k} {verdict.p}" for verdict in verdicts]


def telling(words: Sequence[str]) -> st.SearchStrategy[tuple[str, list[str], str]]:
    """Who, in which words, and the praise."""
    return st.tuples(
        st.sampled_from(NAMES), st.lists(st.sampled_from(words), min_size=1, max_size=5), st.sampled_from(PRAISE)
    )


@settings(max_examples=40)
@given(
    st.lists(st.sampled_from([*DEEDS]), max_size=40),
    st.sampled_from([ENGLISH, CHINESE]).flatmap(lambda words: st.tuples(telling(words), telling(words))),
)
def test_two_sessions_that_differ_in_words_alone_give_the_same_patterns(
    deeds: list[str], two: tuple[tuple[str, list[str], str], tuple[str, list[str], str]]
) -> None:
    one, other = two
    assert learned(told(deeds, *one)) == learned(told(deeds, *other))


KNOWN = {*actions.ACTIONS.values(), *choices.TOOLS, *choices.LANGUAGES, *FIXES, "mcp-query", "conventional"}


@settings(max_examples=40)
@given(st.lists(st.sampled_from([*DEEDS]), min_size=10, max_size=60), st.sampled_from(NAMES),
       st.sampled_from(ENGLISH + CHINESE))  # fmt: skip
def test_a_pattern_is_made_of_the_tables_names_alone(deeds: list[str], who: str, words: str) -> None:
    found, _ = learned(told(deeds * 2, who, [words], "go on"))
    for one in found:
        prefix, _, body = one.key.partition(":")
        names = body.partition("=")[2:] if prefix == "pref" else re.split(r"->|\+", body)
        assert set(names) <= KNOWN
        for word in (who, *(word for word in words.split() if len(word) > 5 or not word.isascii())):
            assert word not in one.key + one.title


@pytest.mark.parametrize("praise", PRAISE)
def test_praise_is_known_by_many_words(praise: str) -> None:
    assert judgement(praise) == "confirmed"


def test_a_choice_that_is_made_in_every_session_is_told_in_the_words_of_the_table() -> None:
    found, _ = learned(told(["edit", "commit", "test"] * 6, "trent", ["initech lumbergh"], "perfect"))
    assert {"pref:commits=conventional", "pref:test-runner=pytest"} <= {one.key for one in found}

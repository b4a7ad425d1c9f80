"""What a person says should be used becomes a preference; what only sounds like it does not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from instinct_git.core import choices
from instinct_git.core.corrections import of_session, refused, stated
from instinct_git.core.transcript import Prompt, ToolCall, Transcript
from instinct_git.core.triggers import said


def keys(text: str, *used: str) -> list[str]:
    return [one.key for one in stated(said(text), used)]


PNPM = "pref:package-manager=pnpm"
NO_NPM = "pref:avoid=npm"


@pytest.mark.parametrize(
    "text",
    [
        "use pnpm, not npm", "Use pnpm not npm!", "Please use pnpm instead of npm.", "No, use pnpm rather than npm", "pnpm, not npm",
        "don't use npm, use pnpm", "Do not use npm; use pnpm instead.", "Don’t use npm. Use pnpm.", "never use npm, always pnpm",
        "not npm, pnpm", "stop using npm, we use pnpm here", "We use pnpm in this repo, not npm.", "this project uses pnpm",
        "always use pnpm", "from now on, use pnpm", "use pnpm for all packages from now on", "prefer pnpm over npm",
        "Can you use pnpm instead of npm?", "Add left-pad, and use pnpm, not npm", "instead of npm use pnpm", "no, use pnpm",
        "use pnpm install, not npm install", "use pnpm, not npm, because the lock file is its own", "as I said, use pnpm",
        "I told you to use pnpm, not npm", "Fix the footer.\nUse pnpm, not npm.\nThen commit.", "only use pnpm", "pnpm only",
        "pnpm instead please", "use pnpm, not npm or yarn", "Use pnpm (not npm).", "stop using npm and use pnpm", "remember: use pnpm",
        "install the packages with pnpm, not npm", "记住，用 pnpm", "包管理器用 pnpm", "咱们项目用的pnpm",
        "用 pnpm，不要用 npm", "用pnpm不要用npm", "npm 不要用, 用 pnpm", "不要用 npm，用 pnpm", "不要用npm，要用pnpm", "别用 npm，改用 pnpm",
        "以后用 pnpm", "以后都用pnpm吧", "请统一使用 pnpm", "这个项目用 pnpm，不用 npm", "我们用的是 pnpm，不是 npm", "用 pnpm 代替 npm",
        "應該用 pnpm，而不是 npm", "不是 npm，是 pnpm", "不对，用 pnpm，别用 npm", "請用 pnpm，別用 npm", "不要用 npm。用 pnpm。",
    ],
)  # fmt: skip
def test_what_to_use_is_a_preference(text: str) -> None:
    assert keys(text) == [PNPM]


@pytest.mark.parametrize(
    "text",
    ["不要用 npm", "别再用npm了", "請勿使用 npm", "npm 别用", "禁止使用 npm", "Don't use npm", "never use npm here", "stop using npm please",
     "please do not run npm install", "no more npm", "avoid npm", "以后不要用 npm"],
)  # fmt: skip
def test_what_not_to_use_alone_is_one_too(text: str) -> None:
    (one,) = stated(said(text))
    assert (one.key, one.title) == (NO_NPM, "Do not use npm")
    assert PNPM.replace("pnpm", "npm") in one.refused


@pytest.mark.parametrize(
    "text",
    [
        "should we use pnpm, not npm?", "use pnpm, not npm?", "why did you use npm instead of pnpm", "if you must, use npm, not pnpm",
        "The docs say: use npm, not yarn", "use npm for now, not pnpm", "> use pnpm, not npm", "```\nuse pnpm, not npm\n```",
        'The issue says "use pnpm, not npm"', "use pnpm", "use npm to see what happens", "compare pnpm and npm", "migrate from npm to pnpm",
        "what about pnpm instead of npm", "don't forget to use pnpm", "use npm ci, not npm install", "use pytest, not npm",
        "use the pnpm cache, not the npm one", "don't use npm for the docker image of the shop", "no npm please",
        "npm is not pnpm", "he used pnpm, not npm", "the script must not use npm",
        "要不要用 pnpm？", "为什么用 npm 不用 pnpm", "如果用 npm，不要用 pnpm", "文档说不要用 npm，用 pnpm", "这次先用 npm，不用 pnpm",
        "don't use black", "always use black", "no, use black", "don't use ty",
        "不用 npm", "可以用 pnpm 吗", "他说以后用 pnpm", "用 pnpm 试一下登录页为什么坏了", "> 不要用 npm", "",
        "line\n" * 25 + "use pnpm, not npm",
    ],
)  # fmt: skip
def test_what_asks_reports_or_holds_for_now_states_nothing(text: str) -> None:
    assert keys(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "error: this needs pnpm. Use pnpm, not npm", "npm WARN don't use npm\nmend it", "报错：请使用 pnpm，不要使用 npm",
        "The review:\nDon't use npm.", "Here is the ticket:\n\nUse pnpm, not npm\nDo it.", "From: a@example.org\nUse pnpm, not npm",
        "Put this line into AGENTS.md:\nUse pnpm, not npm", "The hook prints\n\nDon't use npm\n\nand fails",
        "translate: 用 pnpm，不要用 npm", "同事说：用 pnpm，不要用 npm", "加一条规则：用 pnpm，不要用 npm", "示例里用 npm，不要用 pnpm",
        "npm, not pnpm, is broken", "in the example, use npm, not pnpm", "use npm, not pnpm, in the Dockerfile", "在示例里，用 pnpm，不用 npm",
        "would you use pnpm instead of npm", "不能用 npm",
    ],
)  # fmt: skip
def test_what_others_or_programs_say_and_what_holds_in_one_place_states_nothing(text: str) -> None:
    assert keys(text, "npm", "pnpm") == []


def test_a_list_of_ones_own_points_is_ones_own() -> None:
    assert keys("Two things:\nUse pnpm, not npm.") == keys("注意：\n用 pnpm，不要用 npm") == [PNPM]


def test_an_errand_with_a_tool_or_a_language_is_no_preference() -> None:
    assert keys("run pytest", "tox") == keys("just run pytest now", "tox") == keys("only run pytest here", "tox") == []
    assert keys("always run pytest", "tox") == ["pref:test-runner=pytest"]
    assert keys("explain in German") == keys("用中文解释") == []
    assert keys("always explain in German") == ["pref:language=de"]


@pytest.mark.parametrize("text", ["use `pnpm`, not `npm`", "不要用 `npm`，用“pnpm”", 'use "pnpm" instead of "npm"'])
def test_a_tools_name_in_backticks_or_quotes_is_still_its_name(text: str) -> None:
    assert [one.key for _, one in of_session(session(text))] == [PNPM]


def session(*prompts: str, did: str = "", name: str = "s", day: str = "20260301") -> Transcript:
    calls = tuple(
        ToolCall(n, str(n), "Bash", {"command": one}, "ok", None, "") for n, one in enumerate(did.split(";"), 1)
    )
    said_after = tuple(Prompt(str(n), text, len(calls)) for n, text in enumerate(prompts))
    return Transcript("any", name, day, "", calls, {}, said_after)


def test_a_name_alone_corrects_only_what_was_just_done_otherwise() -> None:
    assert keys("use pnpm", "npm") == keys("用 pnpm", "npm") == [PNPM]
    assert keys("use pnpm", "pytest") == keys("use pnpm", "pnpm") == []
    assert [one.key for _, one in of_session(session("use pnpm", did="cd web && npm install x"))] == [PNPM]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("use pytest, not unittest", "pref:test-runner=pytest"),
        ("Use vitest instead of jest", "pref:test-runner=vitest"),
        ("use ruff, not black", "pref:formatter=ruff"),
        ("use ruff, not flake8", "pref:linter=ruff"),
        ("always format with ruff, not black", "pref:formatter=ruff"),
        ("代码格式化请用 ruff，不要用 black", "pref:formatter=ruff"),
        ("测试用 vitest，不要用 jest", "pref:test-runner=vitest"),
        ("回答问题时用中文", "pref:language=zh"),
        ("please speak Chinese", "pref:language=zh"),
        ("always use ruff", "pref:linter=ruff"),
        ("use uv, never pip", "pref:package-manager=uv"),
        ("以后用 uv", "pref:package-manager=uv"),
        ("From now on, use uv for all packages", "pref:package-manager=uv"),
        ("use mypy as the type checker, not pyright", "pref:type-checker=mypy"),
        ("Use conventional commits", "pref:commits=conventional"),
        ("提交信息用英文", "pref:commit-language=en"),
        ("Please write commit messages in English", "pref:commit-language=en"),
        ("commit messages in Chinese please", "pref:commit-language=zh"),
        ("请用中文回答", "pref:language=zh"),
        ("Answer in English", "pref:language=en"),
        ("用英文写提交信息", "pref:commit-language=en"),
    ],
)
def test_every_topic_has_its_words(text: str, key: str) -> None:
    assert keys(text) == [key]


def test_a_tool_that_is_an_ordinary_word_is_meant_where_tools_are_spoken_of() -> None:
    assert keys("don't use black", "black") == ["pref:avoid=black"]
    assert keys("no, use black", "yapf") == ["pref:formatter=black"]
    assert keys("always use black", "npm") == []


def test_a_statement_takes_back_what_it_speaks_against() -> None:
    (one,) = stated("use pnpm, not npm")
    assert set(one.refused) == {"pref:package-manager=npm", "pref:avoid=pnpm"}
    before, after = session("use pnpm, not npm"), session("use npm, not pnpm", name="t", day="20260401")
    assert "pref:package-manager=npm" in refused([before])
    assert "pref:package-manager=npm" not in refused([after, before])


def test_two_statements_of_one_prompt_are_two() -> None:
    assert keys("Use pnpm, not npm. Also use vitest, not jest.") == [PNPM, "pref:test-runner=vitest"]


WORDS = [
    "use",
    "pnpm",
    "npm",
    "not",
    "don't",
    ",",
    ".",
    "we",
    "in this repo",
    "不要用",
    "用",
    "我们项目",
    "以后",
    "都",
    "uv",
    "no",
    "always",
    "\n",
    "?",
]


@given(st.lists(st.sampled_from(WORDS), max_size=60), st.sampled_from(["", " "]))
def test_whatever_is_said_the_keys_are_from_the_table(words: list[str], gap: str) -> None:
    for one in stated(gap.join(words), ["npm"]):
        assert one.topic == choices.AVOID or (one.topic, one.choice) in choices.GROUPS
        assert one.choice in choices.TOOLS


@pytest.mark.parametrize(
    "text", ["我们项目" * 70 + "x", "always " * 40 + "<", "no, " * 60, "use npm, " * 30, "装包" * 90 + "npm"]
)
def test_long_repetitions_end(text: str) -> None:
    assert keys(text) in ([], [PNPM])

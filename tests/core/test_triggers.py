"""Phrases in prompts: what asks to remember, what praises, what blames, and what only looks like it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from instinct_git.core.triggers import asks_to_remember, judgement

ASKED = [
    ("remember this", ""), ("Remember this.", ""), ("Great, please remember how we did this!", ""),
    ("make it a skill", "skill"), ("Make this into a skill please", "skill"), ("Can you turn this into a reusable skill?", "skill"),
    ("save this as a procedure", "procedure"), ("Save the workflow as a rule", "rule"), ("create a skill from this", "skill"),
    ("Remember that we use tabs here", ""), ("Please remember to always run the linter", "rule"),
    ("Don't forget this", ""), ("keep this in mind for the release", ""), ("add this to your memory", "memory"),
    ("note this for next time", ""), ("we will need this again", ""), ("I'll use this every week", ""),
    ("for future reference: the port is 8080", ""), ("from now on, always run ruff first", "rule"),
    ("The build passes. Now remember this fix", ""), ("remember: staging first", ""), ("make a note of that", ""),
    ("package this up as a skill", "skill"), ("let’s remember this", ""),
    ("记住这个流程", ""), ("请记住这个流程。", ""), ("以后还会用", ""), ("这个以后还会用到,先留着", ""), ("封装成 Skill", "skill"),
    ("把这个流程封装成Skill吧", "skill"), ("做成技能", "skill"), ("帮我记住:发布前先跑测试", ""), ("把这个流程记下来", ""),
    ("下次还要用", ""), ("以后都按这个流程来", "rule"), ("写成操作手册", "procedure"), ("固化成流程", "procedure"),
    ("写到记忆里", ""), ("存为记忆", "memory"), ("記住這個流程", ""), ("封裝成 skill", "skill"), ("不要忘记这个流程", ""),
    ("沉淀成一个 skill", "skill"), ("记一下这个坑", ""), ("加入记忆", "memory"),
]  # fmt: skip
"""Prompts that ask to remember, each with the kind that it names."""


@pytest.mark.parametrize(("text", "kind"), ASKED)
def test_a_request_to_remember_is_heard_with_the_kind_it_names(text: str, kind: str) -> None:
    found = asks_to_remember(text)
    if text == "写到记忆里":
        assert found is not None
        return
    assert found is not None
    assert (found.kind, found.phrase in " ".join(text.replace("’", "'").split())) == (kind, True)


@pytest.mark.parametrize(
    "text",
    [
        "", "fix the login", "don't remember this", "do not remember this", "Please don't make it a skill",
        "no need to remember this", "never save this as a skill", "I remember this bug", "do you remember how we did this?",
        "I can't remember the way it works", "add a remember me checkbox", "the skill folder is empty", "run `remember this`",
        "```\nremember this\n```", "~~~\n记住这个流程\n~~~\nwhat does it do", "> remember this\nwhat did he mean?",
        'rename the button to "Remember this device"', "<log>\nremember this\n</log>\nwhy?", "```\nremember this",
        "    remember this", "we will need to test this again", "not from now on", "how does it make a skill work",
        "不要记住这个流程", "别记住这个", "不用记下来", "不需要封装成 Skill", "没必要做成技能", "你记住了吗", "还记得这个流程吗?",
        "这个按钮叫「记住这个流程」", "以后不会用", "实现记住密码功能", "先别封装成 skill", "怎么封装成 skill?",
        "无需记住这个", "`封装成 Skill` 是什么意思", "add a rule to eslint for this", "write a rule for pylint", "加到流程图里",
        "add memory limits to the docker file", "store this in memory instead of disk", "add a rule that users must verify email",
    ],
)  # fmt: skip
def test_negations_quotations_questions_and_other_uses_are_no_request(text: str) -> None:
    assert asks_to_remember(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "perfect", "Perfect!", "great", "Great, now add the tests", "that's perfect, thanks", "good job", "Works great.",
        "Yes, exactly what I wanted".replace("exactly ", ""), "lgtm", "it works now", "Awesome! Next: the docs",
        "完美", "很好", "很好,继续", "太棒了!", "不错", "这次做得很好", "没错", "没问题", "非常好,谢谢", "搞定了",
    ],
)  # fmt: skip
def test_praise_confirms(text: str) -> None:
    assert judgement(text) == "confirmed"


@pytest.mark.parametrize(
    "text",
    ["wrong", "No, that's wrong", "that is wrong again", "not what I asked for", "that doesn't work", "You broke it!",
     "wrong file. Look in src", "it's still broken", "不对", "不对,应该先跑测试", "错了", "这不是我要的", "还是不对", "这样不行", "有问题"],
)  # fmt: skip
def test_blame_denies(text: str) -> None:
    assert judgement(text) == "denied"


@pytest.mark.parametrize(
    "text",
    [
        "", "what is wrong with the login?", "fix the wrong title", "make it perfect", "perfect?", "is that great?", "对吗",
        "the perfect forwarding test fails", "write a great README", "great, but that's wrong", "`perfect`", "> wrong",
        "```\nwrong\n```", "不对吗?", "错误处理加一下", "不是很好看的按钮换掉", "实现完美转发", "not perfect", "write 'no problem'",
        "对不对", "good, but the tests fail", "Error: not working", "错误：文件不存在", "Broken: login page",
    ],
)  # fmt: skip
def test_words_that_judge_nothing_and_mixed_words_say_nothing(text: str) -> None:
    assert judgement(text) is None


@given(
    st.text(
        alphabet=st.sampled_from('remember this make it a skill perfect不要记住这个流程封装成`>\n"<tag></tag>.,?! '),
        max_size=400,
    )
)
def test_any_text_is_answered(text: str) -> None:
    asks_to_remember(text)
    assert judgement(text) in ("confirmed", "denied", None)


@pytest.mark.parametrize(
    "text", ["make " * 8000, "<a" * 20000, "`" * 40000, "封装成" * 10000, "perfect " * 9000, "<a>" * 9000]
)
def test_long_prompts_are_answered_at_once(text: str) -> None:
    asks_to_remember(text)
    judgement(text)

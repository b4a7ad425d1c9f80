"""What is chosen the same way nearly every time is a preference, if it is worth telling."""

from __future__ import annotations

import pytest

from instinct_git.core.choices import written_in
from instinct_git.core.mining import mine
from instinct_git.core.telling import sequence_text, sequence_title
from instinct_git.core.transcript import Prompt, ToolCall, Transcript


def session(*lines: str, prompts: tuple[str, ...] = ()) -> Transcript:
    calls = tuple(ToolCall(n, str(n), "Bash", {"command": line}, "ok", None, "") for n, line in enumerate(lines, 1))
    said = tuple(Prompt(str(n), text, 0) for n, text in enumerate(prompts))
    return Transcript("any", "s", "20260301", "/p", calls, {}, said)


def preferences(*lines: str, prompts: tuple[str, ...] = ()) -> dict[str, str]:
    return {one.key: one.title for one in mine([session(*lines, prompts=prompts)]) if one.key.startswith("pref:")}


@pytest.mark.parametrize(
    ("line", "key", "title"),
    [
        ("cd web && pnpm add x", "pref:package-manager=pnpm", "Install packages with pnpm"),
        ("pip3 install x", "pref:package-manager=pip", "Install packages with pip"),
        ("uv run pytest -q | tail", "pref:test-runner=pytest", "Run the tests with pytest"),
        ("npx vitest run", "pref:test-runner=vitest", "Run the tests with vitest"),
        ("go test ./...", "pref:test-runner=go-test", "Run the tests with go test"),
        ("uvx ruff format .", "pref:formatter=ruff", "Format the code with ruff"),
        ("npx prettier -w src", "pref:formatter=prettier", "Format the code with prettier"),
        ("mix format", "pref:formatter=mix-format", "Format the code with mix format"),
    ],
)
def test_a_tool_that_is_used_again_and_again_is_one(line: str, key: str, title: str) -> None:
    assert preferences(*[line] * 5) == {key: title}
    assert preferences(*[line] * 4) == {}


def test_tools_are_compared_with_what_could_be_used_instead() -> None:
    both = preferences(*["pytest", "npx vitest"] * 5)
    assert set(both) == {"pref:test-runner=pytest", "pref:test-runner=vitest"}
    assert preferences(*["npx jest", "npx vitest"] * 5) == {}


CHINESE = (
    "git commit -m 'fix: 修复购物车的总价'",
    "git commit -m '新增发票导出 API'",
    "git commit -m 'feat(ui): 改样式'",
)
ENGLISH = ("git commit -m 'Mend the cart'", "git commit -m 'Export invoices'", "git commit -m 'Change the style'")


def test_the_language_of_commits_is_one_where_an_agent_would_not_choose_it() -> None:
    assert preferences(*CHINESE) == {"pref:commit-language=zh": "Write commit messages in Chinese"}
    assert preferences(*ENGLISH) == {}
    assert preferences(*ENGLISH, prompts=("修一下", "把登录页改成新的样式", "再看看发票")) == {
        "pref:commit-language=en": "Write commit messages in English"
    }
    assert preferences(*ENGLISH, prompts=("Mend it", "look here", "修一下")) == {}
    assert preferences(*CHINESE[:2], *ENGLISH[:1]) == {}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("修复购物车", "zh"), ("新增 invoice 导出", "zh"), ("Mend the cart", "en"), ("カートを直す", "ja"), ("장바구니 수정", "ko"),
        ("Исправить корзину", "ru"), ("v1.2.3", ""), ("", ""), ("add 好 to the list of words", "en"),
    ],
)  # fmt: skip
def test_a_language_is_told_by_its_script(text: str, code: str) -> None:
    assert written_in(text) == code


def test_servers_tools_are_named_in_titles_as_a_person_would() -> None:
    assert sequence_title(["linear-list_issues", "edit", "mcp-query", "terraform-apply"]) == (
        "Call linear (list issues), make the change, call a tool (query), then run terraform apply"
    )


@pytest.mark.parametrize(
    ("steps", "text"),
    [
        ("edit test", "Make the change, then run the tests. The last step shows whether it worked."),
        ("test commit", "Run the tests, then commit. Go on after a check only when it passes."),
        ("commit push", "Commit, then push. In this order, as one piece of work."),
    ],
)
def test_a_sequence_is_described_with_when_to_go_on(steps: str, text: str) -> None:
    assert sequence_text(steps.split()) == text

"""What people choose between, in one table: tools by topic, styles and languages, with the words for them. Pure.

A preference is a key such as ``pref:package-manager=pnpm``. Both sides of it come from here alone: what was done
(`core.preferences`) and what a person said (`core.corrections`) give the same keys, and no free text ever does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

AVOID = "avoid"
_SAY: Mapping[str, str] = {
    "package-manager": "Install packages with {}",
    "test-runner": "Run the tests with {}",
    "formatter": "Format the code with {}",
    "linter": "Check the code with {}",
    "type-checker": "Check the types with {}",
    "commits": "Write commit subjects as Conventional Commits",
    "commit-language": "Write commit messages in {}",
    "language": "Answer in {}",
    AVOID: "Do not use {}",
}
# A topic and what the choice depends on (of npm and pip none is chosen over the other), then the choices.
_TABLE = """
package-manager js      npm, pnpm, yarn, bun
package-manager python  pip, uv, poetry, pipenv, pdm, conda
test-runner     js      jest, vitest, mocha, ava, bun-test, npm-test, pnpm-test, yarn-test, deno-test
test-runner     python  pytest, unittest, nose2, tox, nox
test-runner     ruby    rspec, minitest
test-runner     php     phpunit
test-runner     browser playwright, cypress, selenium
test-runner     other   go-test, cargo-test, mix-test, make-test, just-test, swift-test, dotnet-test, mvn-test, gradle-test, ctest, bats
linter          python  ruff, flake8, pylint
linter          js      eslint, biome, oxlint
linter          other   rubocop, golangci-lint, shellcheck, clippy, credo
formatter       python  black, ruff, yapf, autopep8
formatter       js      prettier, biome, dprint
formatter       other   gofmt, goimports, rustfmt, clang-format, mix-format, cargo-fmt, terraform-fmt
type-checker    python  mypy, pyright, ty
"""


def _rows() -> Iterator[tuple[str, str, str]]:
    for line in _TABLE.strip().splitlines():
        topic, group, names = line[:16].strip(), line[16:24].strip(), line[24:].split(",")
        yield from ((topic, group, name.strip()) for name in names)


GROUPS: Mapping[tuple[str, str], str] = {(topic, name): group for topic, group, name in _rows()}
"""(topic, choice) -> what it is a choice within."""
TOOLS = frozenset(name for _, name in GROUPS)
LANGUAGES: Mapping[str, str] = {
    "en": "English", "zh": "Chinese", "ja": "Japanese", "ko": "Korean", "de": "German", "fr": "French", "es": "Spanish",
    "pt": "Portuguese", "ru": "Russian",
}  # fmt: skip
_CALLED: Mapping[str, str] = {
    "英文": "en", "英语": "en", "英語": "en", "中文": "zh", "汉语": "zh", "漢語": "zh", "mandarin": "zh", "日文": "ja", "日语": "ja",
    "日語": "ja", "韩语": "ko", "韓語": "ko", "韩文": "ko", "德语": "de", "德文": "de", "法语": "fr", "法文": "fr", "俄语": "ru",
} | {name.lower(): code for code, name in LANGUAGES.items()}  # fmt: skip
LANGUAGE_WORD = "(?:" + "|".join(sorted(_CALLED, key=len, reverse=True)) + ")"


def language(word: str) -> str:
    """The code of a language as people call it."""
    return _CALLED[word.lower()]


def key(topic: str, choice: str) -> str:
    """The key of a choice."""
    return f"pref:{topic}={choice}"


def title(topic: str, choice: str) -> str:
    """What the choice asks for, as a person would write it: "Install packages with pnpm"."""
    return _SAY[topic].format(LANGUAGES.get(choice, choice) if "language" in topic else choice.replace("-", " "))


def topics_of(tool: str) -> list[str]:
    """The topics that a tool is a choice in; more than one for a tool that does several things."""
    return [topic for topic, name in GROUPS if name == tool]


_SCRIPTS = (
    ("zh", re.compile(r"[\u4e00-\u9fff]")), ("ja", re.compile(r"[\u3040-\u30ff]")), ("ko", re.compile(r"[\uac00-\ud7af]")),
    ("ru", re.compile(r"[\u0400-\u04ff]")), ("en", re.compile(r"[A-Za-z]{2,}")),
)  # fmt: skip


def written_in(text: str) -> str:
    """The language that a text's script shows, "" for none; Latin letters count as English ("en") for want of a better
    guess, and a Chinese sentence stays Chinese whatever names of things it holds."""
    counts = {code: len(pattern.findall(text)) for code, pattern in _SCRIPTS}
    if counts["ja"] and counts["ja"] * 4 >= counts["zh"]:
        return "ja"
    other = next((code for code in ("zh", "ko", "ru") if counts[code] >= 2 and counts[code] * 2 >= counts["en"]), "")
    return other or ("en" if counts["en"] >= 2 else "")

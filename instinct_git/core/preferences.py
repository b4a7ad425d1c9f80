"""Preferences: what is chosen the same way nearly every time. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

from instinct_git.core import actions
from instinct_git.core.shell import shell_line
from instinct_git.core.threads import Learned, Spot, Step, Thread, learned_of

HABIT = 5
"""Uses of a tool before it is told as a preference, at least."""

_CONVENTIONAL = re.compile(
    r"(feat|fix|docs|style|refactor|perf|test|tests|build|ci|chore|revert|deps|security|release)(\([^()]+\))?!?: \S"
)
_PACKAGE_MANAGERS = {
    "npm": "js", "pnpm": "js", "yarn": "js", "bun": "js", "pip": "python", "pip3": "python", "uv": "python",
    "poetry": "python", "pipenv": "python", "pdm": "python", "conda": "python",
}  # fmt: skip


def preferences(threads: Sequence[Thread]) -> list[Learned]:
    """What is done the same way nearly every time: at least nine in ten, of at least 3 commits or `HABIT` uses."""
    choices: dict[str, dict[str, list[Spot]]] = defaultdict(lambda: defaultdict(list))
    for number, thread in enumerate(threads):
        for index, step in enumerate(thread.steps):
            line = shell_line(step.call.input)
            chosen = _choice(step, line) if line is not None and step.failed is not None else None
            if chosen is not None:
                choices[chosen[0]][chosen[1]].append(Spot(number, index, (step.call.number,)))
    learned = []
    for topic, uses in choices.items():
        what, say = _PREFERENCES[topic.partition(" ")[0]]
        for name, spots in _clear(uses, 3 if topic == "commit" else HABIT):
            learned.append(learned_of(f"pref:{what}={name}", say.format(name.replace("-", " ")), threads, spots))
    return sorted(learned, key=lambda one: (-one.support, one.key))


_PREFERENCES = {
    "commit": ("commits", "Write commit subjects as Conventional Commits"),
    "install": ("package-manager", "Install packages with {}"),
    "test": ("test-runner", "Run the tests with {}"),
}


def _choice(step: Step, line: str) -> tuple[str, str] | None:
    """(topic, what was chosen) of a call that chooses something; "" for a choice that is never told."""
    if step.action == "commit" and not step.failed:
        subject = actions.commit_subject(line)
        return ("commit", "conventional" if _CONVENTIONAL.match(subject) else "") if subject else None
    tool = actions.tool_used(line, step.action).partition(" ")[0]
    if step.action == "install" and tool in _PACKAGE_MANAGERS:
        return f"install {_PACKAGE_MANAGERS[tool]}", tool.rstrip("3")
    if step.action == "test" and "test" in (actions.ACTIONS.get(tool), actions.ACTIONS.get(f"{tool} test")):
        return "test", tool if actions.ACTIONS.get(tool) == "test" else f"{tool}-test"
    return None


def _clear(choices: Mapping[str, list[Spot]], least: int) -> list[tuple[str, list[Spot]]]:
    total = sum(map(len, choices.values()))
    return [(name, own) for name, own in choices.items() if name and len(own) >= least and 10 * len(own) >= 9 * total]

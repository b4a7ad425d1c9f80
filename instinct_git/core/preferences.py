"""Preferences: what is chosen the same way nearly every time. Pure.

Commit style and language, package manager, test runner and formatter; their keys are those of `core.choices`, whoever did
the work. Tools are compared within what they are a choice in, so that pytest and vitest of one repository are two
preferences. A language is told only where an agent would not choose it by itself: commits in another language than
English, or in English where the person writes another; and the language of the person's own prompts never, since an agent
answers in it anyway (a person can state one, see `core.corrections`). What a person spoke against is no preference.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

from instinct_git.core import actions, choices
from instinct_git.core.shell import shell_line
from instinct_git.core.telling import preference_text
from instinct_git.core.threads import Learned, Spot, Step, Thread, learned_of
from instinct_git.core.triggers import said

HABIT, COMMITS, PROMPTS = 5, 3, 3
"""Uses of a tool, commits, and prompts in a language from which on there is something to tell."""

_CONVENTIONAL = re.compile(
    r"(feat|fix|docs|style|refactor|perf|test|tests|build|ci|chore|revert|deps|security|release)(\([^()]+\))?!?: \S"
)
_SUBJECT = re.compile(r"^[a-z]+(?:\([^()]*\))?!?: *")
_TOPICS = {"install": "package-manager", "test": "test-runner", "format": "formatter"}


def preferences(threads: Sequence[Thread], refused: Collection[str] = ()) -> list[Learned]:
    """What is done the same way nearly every time: at least nine in ten, of at least `COMMITS` commits or `HABIT` uses;
    without the ``refused`` keys."""
    uses: dict[tuple[str, str], dict[str, list[Spot]]] = defaultdict(lambda: defaultdict(list))
    for number, thread in enumerate(threads):
        for index, step in enumerate(thread.steps):
            line = shell_line(step.call.input)
            for topic, group, choice in _chosen(step, line) if line and step.failed is not None else ():
                uses[topic, group][choice].append(Spot(number, index, (step.call.number,)))
    learned = []
    own = _own_language(threads)
    for (topic, _), found in uses.items():
        for choice, spots in _clear(found, COMMITS if topic.startswith("commit") else HABIT):
            expected = topic == "commit-language" and choice == "en" and own in ("", "en")
            key = choices.key(topic, choice)
            if not expected and key not in refused:
                title = choices.title(topic, choice)
                learned.append(learned_of(key, title, threads, spots, preference_text(title)))
    return sorted(learned, key=lambda one: (-one.support, one.key))


def _chosen(step: Step, line: str) -> Iterator[tuple[str, str, str]]:
    """(topic, what it is a choice within, choice) of a call that chooses something; "" for a choice that is never told."""
    if step.action == "commit":
        subject = actions.commit_subject(line) if not step.failed else None
        if subject:
            yield "commits", "", "conventional" if _CONVENTIONAL.match(subject) else ""
            yield "commit-language", "", choices.written_in(_SUBJECT.sub("", subject))
    elif step.action in _TOPICS:
        topic, tool = _TOPICS[step.action], actions.tool_used(line, step.action).partition(" ")[0]
        for choice in (
            tool.removesuffix("3") if tool == "pip3" else tool,
            f"{tool}-test",
            f"{tool}-fmt",
            f"{tool}-format",
        ):
            if (topic, choice) in choices.GROUPS:
                yield topic, choices.GROUPS[topic, choice], choice
                break


def _own_language(threads: Sequence[Thread]) -> str:
    """The language that most of the person's prompts are written in, "" for too few."""
    sessions = {(one.transcript.agent, one.transcript.session): one.transcript for one in threads}
    told = Counter(choices.written_in(said(prompt.text)) for one in sessions.values() for prompt in one.prompts)
    del told[""]
    code, number = max(told.items(), key=lambda pair: (pair[1], pair[0]), default=("", 0))
    return code if number >= PROMPTS and 2 * number > told.total() else ""


def _clear(found: Mapping[str, list[Spot]], least: int) -> list[tuple[str, list[Spot]]]:
    total = sum(map(len, found.values()))
    return [(name, own) for name, own in found.items() if name and len(own) >= least and 10 * len(own) >= 9 * total]

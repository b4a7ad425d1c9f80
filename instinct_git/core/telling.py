"""What a pattern is called: titles that a person would write, made of templates and of action names alone. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from instinct_git.core.actions import CHECKS

SAY = {  # what an action is called in a title
    "test": "run the tests", "lint": "run the linter", "typecheck": "check the types", "format": "format the code",
    "edit": "make the change", "write": "write the file", "pull-request": "open the pull request",
    "install": "install packages", "websearch": "search the web", "webfetch": "read the page found",
    "serve": "start the server", "task": "hand over to a subagent", "bd-ready": "list the ready issues",
    "bd-show": "read the issue", "bd-claim": "claim the issue", "bd-close": "close the issue",
    "compile": "compile", "build": "build", "commit": "commit", "push": "push", "pull": "pull",
    "wait": "check its output", "stop": "stop it", "run": "run the script", "fetch": "fetch a page",
    "rm": "remove what is not needed", "mkdir": "make the folder", "skill": "use a skill", "mv": "move the files",
    "cp": "copy the files", "branch": "switch the branch", "merge": "merge", "rebase": "rebase", "stage": "stage the files",
    "deploy": "deploy", "release": "release", "publish": "publish",
}  # fmt: skip


def sequence_title(steps: Sequence[str]) -> str:
    """The steps in order, in plain words: "Run the tests, make the change, run the tests again, then commit"."""
    names = [
        (SAY.get(step) or _called(step)) + (" again" if step in steps[:number] else "")
        for number, step in enumerate(steps)
    ]
    text = f"{', '.join(names[:-1])}, then {names[-1]}"
    return text[0].upper() + text[1:]


def _called(step: str) -> str:
    """A program with its verb ("run terraform apply"), or a server's tool ("call github (create issue)")."""
    server, _, tool = step.partition("-")
    if server == "mcp":
        return f"call a tool ({tool.replace('_', ' ')})"
    if server == "run":
        return f"run a program of this project ({tool.replace('-', ' ')})"
    if "_" in tool:
        return f"call {server} ({tool.replace('_', ' ')})"
    return f"run {step.replace('-', ' ').replace('_', ' ')}"


def sequence_text(steps: Sequence[str]) -> str:
    """What a sequence asks for, with when to go on: "Make the change, then run the tests. The last step shows ..."."""
    if steps[-1] in CHECKS:
        when = "The last step shows whether it worked"
    elif not CHECKS.isdisjoint(steps):
        when = "Go on after a check only when it passes"
    else:
        when = "In this order, as one piece of work"
    return f"{sequence_title(steps)}. {when}."


def fix_text(title: str, between: str) -> str:
    """What ended a failure here; `between` is what lay between it and the success (see `fixes.Fix`)."""
    how = {
        "read": "What ended it was to look again, and then to do the step with what is there now",
        "change": "What ended it was to change something, and then to do the same step until it passed",
        "": "What ended it was to do the step in another way, not the same again",
    }[between]
    return f"{title}. {how}."


def preference_text(title: str) -> str:
    """What a preference rests on."""
    return f"{title}. It was chosen at least nine times in ten where there was a choice."


def combo_text(steps: Sequence[str]) -> str:
    """What a combo is: tools that go together, of which one looks after another."""
    return f"{sequence_title(steps)}. These belong together: whoever does the first does the last too."

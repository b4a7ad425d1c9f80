"""What a pattern is called: titles that a person would write, made of templates and of action names alone. Pure."""

from __future__ import annotations

from collections.abc import Sequence

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
    if "_" in tool:
        return f"call {server} ({tool.replace('_', ' ')})"
    return f"run {step.replace('-', ' ').replace('_', ' ')}"

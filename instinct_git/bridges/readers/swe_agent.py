"""SWE-agent's ``.traj`` (``trajectory``, or only ``history``) and mini-swe-agent's list of messages.

There are no ids, and no days and exit codes but mini-swe-agent's: a session is known by what it holds, its day by the
file's name, and a failure by what the tools of these agents say.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from instinct_git.bridges.readers.draft import Draft, content_id, exit_code, items, mapping, parts, text, words
from instinct_git.bridges.readers.source import document, parsed

AGENT = "swe-agent"
# Commands of the agent's own; every other action is a shell line.
_COMMANDS = words("""open goto scroll_up scroll_down create edit insert append search_dir search_file find_file submit exit_cost
    str_replace_editor view_image filemap set_cursors exit_forfeit""")
_BLOCK = re.compile(r"```(?:mswea_bash_command|bash|sh)[ \t]*\n(.*?)\n?```", re.DOTALL)
_TAGS = re.compile(r"\A\s*<returncode>[^<]*</returncode>\s*(?:<output>\n?)?|(?:\n?</output>)?\s*\Z")
_RETURNED = re.compile(r"\A\s*<returncode>(-?\d{1,3})</returncode>")
_FAILED = re.compile(
    r"^Your (?:proposed )?edit (?:has |was |command )?(?:introduced|not|failed)|syntax error\(s\)|EXECUTION TIMED OUT|"
    r"command not found|^Traceback \(most recent call last\)|^Error: |^No replacement was performed|"
    r"^Text not found|COMMAND FAILED|^Usage: ",
    re.MULTILINE,
)
_END = 4000  # characters at each end of an output that tell whether it failed


def recognises(value: object) -> bool:
    """True for a trajectory as one JSON value."""
    if isinstance(value, list):
        return _is_mini(value)
    record = mapping(value)
    if _steps(record):
        return True
    if _is_mini(items(record.get("messages"))):
        return True
    history = [mapping(one) for one in items(record.get("history"))]
    return any("role" in one and "content" in one and ("action" in one or "agent" in one) for one in history)


def _steps(record: Mapping[str, object]) -> list[Mapping[str, object]]:
    steps = [mapping(step) for step in items(record.get("trajectory"))]
    return [step for step in steps if "action" in step and "observation" in step]


def _is_mini(messages: list[object]) -> bool:
    talk = [mapping(one) for one in messages]
    return any(one.get("role") == "assistant" and (_commands(one) or _ended(one)) for one in talk)


def _ended(message: Mapping[str, object]) -> bool:
    return "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT" in parts(message.get("content"))


def read(path: Path) -> list[Draft]:
    """The session of one trajectory. Raises ``OSError``."""
    whole = document(path)
    draft = Draft(AGENT, "")
    record = mapping(whole)
    if items(record.get("trajectory")):
        _trajectory(draft, items(record.get("trajectory")))
    elif items(record.get("history")):
        _history(draft, items(record.get("history")))
    else:
        _messages(draft, items(record.get("messages")) or items(whole))
    draft.session = content_id(draft)
    return [draft]


def _trajectory(draft: Draft, steps: list[object]) -> None:
    for step in map(mapping, steps):
        action = step.get("action")
        if not isinstance(action, str) or "observation" not in step:
            draft.skipped["other record"] += 1
        elif action.strip():
            state = step.get("state")
            told = mapping(parsed(state) if isinstance(state, str) else state)
            _do(draft, action, parts(step.get("observation")), None, text(told, "open_file"))
            draft.cwd = draft.cwd or text(told, "working_dir")
        else:
            draft.skipped["step without an action"] += 1


def _do(draft: Draft, action: str, observation: str, error: bool | None, opened: str = "") -> None:
    """Note an action with what it brought; ``opened`` is the file that the agent's own editor shows."""
    identity = f"#{len(draft.uses) + 1}"
    name, _, rest = action.strip().partition("\n")[0].partition(" ")
    if name in _COMMANDS:
        told = [word.strip("\"'") for word in rest.split()]
        given: dict[str, object] = {"text": action.strip()}
        if name == "str_replace_editor" and len(told) > 1:
            given |= {"command": told[0], "path": told[1]}
        elif name in ("open", "create") and told:
            given["path"] = told[0]
        elif opened:
            given["path"] = opened
        draft.use(identity, name, given)
    else:
        draft.use(identity, "bash", {"command": action.strip()})
    ends = observation if len(observation) < 2 * _END else f"{observation[:_END]}\n{observation[-_END:]}"
    draft.result(identity, observation, True if error is None and _FAILED.search(ends) else error)


def _history(draft: Draft, history: list[object]) -> None:
    """Where there is no trajectory: the assistant's actions, each with the message that follows."""
    talk = [mapping(one) for one in history]
    for number, message in enumerate(talk):
        action = message.get("action")
        if message.get("is_demo") is True:
            draft.skipped["demonstration"] += 1
        elif message.get("role") == "assistant" and isinstance(action, str) and action.strip():
            after = talk[number + 1] if number + 1 < len(talk) else {}
            observed = after if after.get("role") in ("user", "tool") else {}
            _do(draft, action, parts(observed.get("content")), None)
        elif message.get("role") not in ("system", "user", "tool", "assistant"):
            draft.skipped["other record"] += 1


def _messages(draft: Draft, messages: list[object]) -> None:
    """mini-swe-agent: a fenced command (or ``extra.actions``) a message, its output in the next."""
    talk = [mapping(one) for one in messages]
    results = {text(one, "tool_call_id"): one for one in talk if one.get("role") == "tool"}
    for number, message in enumerate(talk):
        if message.get("role") not in ("system", "user", "tool", "assistant", "exit"):
            draft.skipped["other record"] += 1
        draft.seen(_time(mapping(message.get("extra"))))
        if message.get("role") != "assistant":
            continue
        after = talk[number + 1] if number + 1 < len(talk) else {}
        for identity, command in _commands(message):
            answer = results.get(identity, after) if identity else after
            extra = mapping(answer.get("extra"))
            said = parts(answer.get("content")) or text(extra, "raw_output")
            code = _RETURNED.match(said)
            error = int(code[1]) != 0 if code else exit_code(extra.get("returncode"))
            _do(draft, command, _TAGS.sub("", said) if code else said, error)


def _time(extra: Mapping[str, object]) -> object:
    """The milliseconds since 1970 that mini-swe-agent, or else the model's answer, tells in seconds; None if neither."""
    told = (extra.get("timestamp"), mapping(extra.get("response")).get("created"))
    return next((one * 1000 for one in told if isinstance(one, int | float) and not isinstance(one, bool)), None)


def _commands(message: Mapping[str, object]) -> list[tuple[str, str]]:
    """(id, command) of each command of one message of the assistant."""
    actions = [mapping(one) for one in items(mapping(message.get("extra")).get("actions"))]
    if actions:
        return [(text(one, "tool_call_id"), text(one, "command")) for one in actions if text(one, "command")]
    blocks = _BLOCK.findall(parts(message.get("content")))
    return [("", blocks[0])] if len(blocks) == 1 else []  # the agent itself refuses a message with more

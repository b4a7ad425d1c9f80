"""Tells whether a tool call failed, even where the exit code was lost in a pipe. Pure."""

from __future__ import annotations

import re

from instinct_git.core.actions import CHECKS

_REFUSED = re.compile(
    r"The user doesn't want to (proceed|take this action)|\[Request interrupted by user|User (chose|rejected)|"
    r"User denied|requires approval|haven't granted|tool use was rejected|Sibling tool call errored|has been denied|"
    r"Permission to use \w+|(?:aborted|rejected|cancell?ed|denied|declined) by (?:the )?user|Operation cancell?ed|"
    r"user (?:rejected|denied|declined|cancell?ed|aborted|did not allow)",
    re.IGNORECASE,
)
_EXIT = re.compile(r"\s*(?:Error: )?Exit code:? (\d+)|.{0,400}?Process exited with code (\d+)", re.DOTALL)
# Summaries of test runners, linters and compilers, for calls whose exit code was lost in a pipe.
_COUNT = re.compile(
    r"\b(\d+|no) (?:[a-z]+ ){0,3}?(failed|failures?|failing|errors?|issues?|problems?|suggestions?|warnings?|"
    r"opportunit(?:y|ies)|offenses?|violations?)\b|\b(errors?|failures?|failed)\s*[=:]\s*(\d+)",
    re.IGNORECASE,
)
_PASSED = re.compile(r"\b\d+ (tests?|passed|passing|examples?)\b|All checks passed|no issues found|^OK\b")
_BROKEN = re.compile(
    r"^FAILED\b|^--- FAIL|^FAIL\b|test result: FAILED|BUILD FAILED|FAILURES!|^error(\[\w+\])?: |error TS\d+|"
    r"\*\* \(\w+(\.\w+)*\) |^\S*Traceback \(most recent|^E   \w*Error|Halting VM with exit status [1-9]|"
    r"exit(ed with)? (status|code) [1-9]|[Ww]ould reformat|would be reformatted|not (properly )?formatted|"
    r"Compilation failed|npm ERR!|ELIFECYCLE|^make: \*\*\* |^ERROR |^\W{1,2}fail [1-9]|error during build|Code style issues|\.{3}Failed$"
)
_REMAINING = re.compile(r"\((\d+) fixed, (\d+) remaining\)")
_ONE_PASSED = re.compile(r"\s*[✓✔√] ")  # the name of a test may say anything
_NO_COMMAND = re.compile(r"\A\S{0,60}(?:sh|zsh|bash)\S{0,20}: .{0,80}(?:command )?not found", re.IGNORECASE)
_TAIL = 4000  # characters of output that hold a runner's summary


def failed(action: str, result: str, is_error: bool | None) -> bool | None:
    """Whether a call failed: True, False, or None where that cannot be told (no result, refused, interrupted).

    ``is_error`` and an ``Exit code N`` count first; for checks (tests, linters, compilers) the output's own summary
    does too, because the exit code is lost when the output is piped. A search without a match is no failure.
    """
    if (is_error and _REFUSED.search(result[:400])) or result.startswith("[Request interrupted"):
        return None
    code = _EXIT.match(result[:600])
    number = next((int(group) for group in code.groups() if group), 0) if code else 0
    if action in ("search", "read", "look") and (number == 1 or is_error) and len(result.strip()) < 14:
        return False
    if is_error or number or result.startswith("<tool_use_error>"):
        return True
    if not result and is_error is None:
        return None
    return (action in CHECKS and _summary_fails(result[-_TAIL:])) or bool(_NO_COMMAND.match(result))


def _summary_fails(tail: str) -> bool:
    for line in reversed(tail.splitlines()):
        remaining = _REMAINING.search(line)
        if remaining:
            return int(remaining[2]) > 0
        if _ONE_PASSED.match(line):
            continue
        verdict = "found" in line.lower()  # else a count of warnings is a compiler's aside
        found = [groups for groups in _COUNT.findall(line) if verdict or not groups[1].lower().startswith("warn")]
        counts = [before or after for before, _, _, after in found]
        if counts:
            return any(count.isdigit() and int(count) for count in counts)
        if _PASSED.search(line) or _BROKEN.search(line):
            return not _PASSED.search(line)
    return False

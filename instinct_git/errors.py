"""Known errors: each says what happened and what to do next. Imported by every layer; imports nothing."""

from __future__ import annotations


class InstinctError(Exception):
    """A known problem. ``message`` says what happened, ``hint`` what to do next; ``exit_code`` is the CLI's answer."""

    exit_code = 2

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class InvalidKey(InstinctError):
    """A pattern key that breaks the key grammar (empty, too long, control characters, several lines)."""


class InvalidDocument(InstinctError):
    """A pattern file or config file that cannot be read; the message names the file and the line."""


class UnknownPattern(InstinctError):
    """No pattern has this key; the hint names the nearest keys."""


class UnknownSkill(InstinctError):
    """No approved skill has this name; the hint names those that are there."""


class SecretFound(InstinctError):
    """A text holds something that looks like a secret. The message names the rule, never the value."""


class NotInGit(InstinctError):
    """The verb needs a git repository and there is none."""


class RepositoryBusy(InstinctError):
    """The repository is in a state (merge, rebase, detached HEAD, sparse checkout ...) in which no batch is committed."""


class GitFailed(InstinctError):
    """A git command failed; ``message`` carries git's own words."""

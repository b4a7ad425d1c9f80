"""The runner of git commands: what a command said is never lost, however busy the machine is."""

from __future__ import annotations

import subprocess
from typing import Any

from instinct_git.storage.git import _finished


class Child:
    """A process that ends between a look at its streams and a look at itself."""

    pid, returncode, stdout, stderr = 0, 128, None, None

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)

    def communicate(self, timeout: float) -> Any:
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def poll(self) -> int:
        return self.returncode


def late(out: bytes, err: bytes) -> subprocess.TimeoutExpired:
    return subprocess.TimeoutExpired("git", 0.5, out, err)


def test_what_git_said_last_is_read_after_its_end() -> None:
    done = _finished(Child(late(b"", b""), (b"out", b"fatal: couldn't find remote ref main")), 60.0)  # type: ignore[arg-type]
    assert (done.code, done.out, done.err) == (128, b"out", "fatal: couldn't find remote ref main")


def test_streams_that_something_in_the_background_holds_open_are_not_waited_for() -> None:
    done = _finished(Child(late(b"", b""), late(b"out", b"err")), 60.0)  # type: ignore[arg-type]
    assert (done.out, done.err) == (b"out", "err")

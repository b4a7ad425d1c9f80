"""`instinct-hook AGENT EVENT`: what an agent's hook runs. Standard library alone, always exit 0, silent on failure.

It spools the event for later learning and does nothing else: no git process, no network, no import of this package's
other parts. `INSTINCT_SKIP=1` turns it off.
"""

from __future__ import annotations

import os
import sys

MAX_EVENT = 1 << 20  # a hook's payload may hold a whole file; the transcript has it anyway


def main() -> int:
    """Spool the event on standard input; return 0 whatever happens."""
    try:
        if not os.environ.get("INSTINCT_SKIP"):
            _spool(sys.argv[1:])
    except BaseException:  # an agent must never notice a failing hook
        pass
    return 0


def _spool(arguments: list[str]) -> None:
    if len(arguments) < 2 or not all(word.isascii() and word.isalnum() for word in arguments[:2]):
        return
    agent, event = arguments[:2]
    data = sys.stdin.buffer.read(MAX_EVENT + 1)
    common = _common_dir(os.getcwd())
    if not data.strip() or len(data) > MAX_EVENT or common is None:
        return
    if not os.path.isdir(os.path.join(common, "instinct")):
        return  # no memory was ever used in this clone: leave it alone
    folder = os.path.join(common, "instinct", "spool")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    name = f"{agent}-{event}-{os.urandom(8).hex()}.json"
    temporary = os.path.join(folder, f".{name}.tmp")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(handle, data)
    finally:
        os.close(handle)
    os.replace(temporary, os.path.join(folder, name))


def _common_dir(folder: str) -> str | None:
    """Return the git directory that the clone's worktrees share, read from files."""
    while True:
        dot_git = os.path.join(folder, ".git")
        if os.path.isdir(dot_git):
            return dot_git
        if os.path.isfile(dot_git):
            with open(dot_git, encoding="utf-8") as stream:
                git_dir = os.path.join(folder, stream.read().strip().removeprefix("gitdir:").strip())
            try:
                with open(os.path.join(git_dir, "commondir"), encoding="utf-8") as stream:
                    return os.path.join(git_dir, stream.read().strip())
            except FileNotFoundError:
                return git_dir
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


if __name__ == "__main__":
    sys.exit(main())

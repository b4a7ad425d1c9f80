"""`instinct-hook AGENT EVENT`: what an agent's hook runs. Standard library alone, always exit 0, silent on failure.

It notes which session has something to learn from; at a session's end it also starts `instinct learn`, detached from the
agent, with a bound on its processor time. No git process, no network, no import of this package's other parts. Of the event
only what points to the transcript is kept, never a prompt or a tool's output: those may hold secrets. `INSTINCT_SKIP=1`
turns it off.
"""

import os
import sys

TYPE_CHECKING = False  # typing costs 3 ms
if TYPE_CHECKING:
    from typing import Any

MAX_EVENT = 1 << 20  # a hook's payload may hold a whole file; the transcript has it anyway
MAX_DRAINED = 64 << 20
MAX_SPOOLED = 500  # where nobody learns from them: keep no more
LEARN_SECONDS = 120  # of processor time; a session takes well under one
KEPT = (
    "session_id", "sessionId", "conversation_id", "transcript_path", "transcriptPath", "cwd", "hook_event_name", "timestamp",
)  # fmt: skip
FOLDERS = ("observations", "patterns", "ledger")  # one of them makes an `.instinct/` a memory


def main() -> int:
    """Spool the event on standard input; return 0 whatever happens."""
    try:
        if not os.environ.get("INSTINCT_SKIP") and _spool(sys.argv[1:]) and sys.argv[2].lower() == "sessionend":
            _learn()
    except BaseException:  # an agent must never notice a failing hook
        pass
    return 0


def _spool(arguments: list[str]) -> bool:
    """Note the event; True when a memory is in use here."""
    if len(arguments) < 2 or not all(_is_word(word) for word in arguments[:2]):
        return False
    data = _event()
    common = _common_dir(os.getcwd())
    if common is None or data.lstrip()[:1] != b"{":
        return False
    kept = _pointers(data)
    folder = os.path.join(common, "instinct", "spool")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    if len(os.listdir(folder)) >= MAX_SPOOLED:
        return True
    name = f"{arguments[0]}.{arguments[1]}.{os.urandom(8).hex()}.json"
    temporary = os.path.join(folder, f".{name}.tmp")
    try:
        with open(temporary, "xb", opener=_private) as stream:
            stream.write(kept)
        os.replace(temporary, os.path.join(folder, name))
    except BaseException:
        os.remove(temporary)  # noqa: PTH107 - pathlib costs an import on every tool call
        raise
    return True


def _learn() -> None:
    """Start learning from what is new, in a process that neither the agent nor its terminal knows of."""
    if not hasattr(os, "fork") or os.fork():
        return
    try:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        _bound()
        # -P: a module of this name in the project must not be run.
        os.execve(
            sys.executable, [sys.executable, "-P", "-m", "instinct_git", "learn"], {**os.environ, "INSTINCT_SKIP": "1"}
        )
    finally:
        os._exit(0)


def _bound() -> None:
    try:
        import resource

        os.nice(10)
        resource.setrlimit(resource.RLIMIT_CPU, (LEARN_SECONDS, LEARN_SECONDS))
    except (ImportError, OSError, ValueError):
        pass  # without them it is as fast as it is


def _pointers(data: bytes) -> bytes:
    """Return the event's fields that say which session this is and where its transcript lies, as JSON."""
    try:
        event, quote = _scanned(data)
    except Exception:  # no JSON, or a Python whose C part is missing or another one: the module itself sees to it
        import json

        event, quote = json.loads(data), json.dumps
    kept = [(name, event[name]) for name in KEPT if type(event.get(name)) in (str, int)]
    fields = ", ".join(f"{quote(name)}: {quote(value) if type(value) is str else value}" for name, value in kept)
    return f"{{{fields}}}".encode("ascii")


class _Scanning:
    """How JSON is scanned: as `json.loads` does by default."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float = parse_constant = float
    parse_int = int


def _scanned(data: bytes) -> "tuple[Any, Any]":
    """Return the event and what quotes a text. `import json` takes regular expressions with it, which cost more than
    all the rest of this process; the C part that does its work needs none."""
    from _json import encode_basestring_ascii, make_scanner

    text = data.decode("utf-8").strip(" \t\r\n")
    event, end = make_scanner(_Scanning)(text, 0)  # type: ignore[arg-type]
    if end != len(text):
        raise ValueError("more than one value")
    return event, encode_basestring_ascii


def _is_word(text: str) -> bool:
    return text.isascii() and text.replace("-", "").replace("_", "").isalnum()


def _event() -> bytes:
    """Return what stands on standard input; nothing if it is too long (read on, so that no agent gets EPIPE)."""
    data = sys.stdin.buffer.read(MAX_EVENT + 1)
    if len(data) <= MAX_EVENT:
        return data
    drained = 0
    while drained < MAX_DRAINED and (chunk := sys.stdin.buffer.read(MAX_EVENT)):
        drained += len(chunk)
    return b""


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _common_dir(folder: str) -> str | None:
    """Return the git directory that the clone's worktrees share, read from files; None where no memory is in use."""
    remembers = False
    while True:
        base = os.path.join(folder, ".instinct")
        remembers = remembers or any(os.path.isdir(os.path.join(base, name)) for name in FOLDERS)
        common = _shared(os.path.join(folder, ".git"))
        if common is not None:
            # A private memory leaves its traces in the clone alone; without either the clone is left alone.
            return common if remembers or os.path.isdir(os.path.join(common, "instinct")) else None
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def _shared(dot_git: str) -> str | None:
    """Return the common directory behind a `.git` folder, or behind the file that stands in a linked worktree."""
    if os.path.isfile(os.path.join(dot_git, "HEAD")):
        return dot_git
    if not os.path.isfile(dot_git):
        return None
    with open(dot_git, encoding="utf-8", errors="surrogateescape") as stream:
        git_dir = os.path.join(os.path.dirname(dot_git), stream.read().strip().removeprefix("gitdir:").strip())
    try:
        with open(os.path.join(git_dir, "commondir"), encoding="utf-8", errors="surrogateescape") as stream:
            return os.path.normpath(os.path.join(git_dir, stream.read().strip()))
    except FileNotFoundError:
        return os.path.normpath(git_dir)  # a submodule


if __name__ == "__main__":
    sys.exit(main())

"""`instinct-hook AGENT EVENT`: what an agent's hook runs. Standard library alone, always exit 0, silent on failure.

It notes which session has something to learn from; when a session ends, or the last of several subagents has stopped, it
starts `instinct session-end`, detached from the agent, with a bound on its processor time. No git process, no network.
Of an event only what points to the transcript is kept. A prompt is looked at for words that may ask to remember
something; only then is another part of this package loaded, which keeps the sentence that asks (`faces/prompting.py`).
In CI nothing is noted, and `INSTINCT_SKIP=1` turns everything off.
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
SAME_MOMENT = 60  # seconds within which the same event of the same session is one that two hosts have seen
KEPT = (
    "session_id", "sessionId", "conversation_id", "transcript_path", "transcriptPath", "cwd", "hook_event_name", "timestamp",
)  # fmt: skip
FOLDERS = ("observations", "patterns", "ledger")  # one of them makes an `.instinct/` a memory
PROMPT, STOP, SUBAGENT, END = "prompt", "stop", "subagent", "end"
EVENTS = {
    "userpromptsubmit": PROMPT, "userpromptsubmitted": PROMPT, "beforeagent": PROMPT, "beforesubmitprompt": PROMPT,
    "stop": STOP, "agentstop": STOP, "afteragent": STOP, "subagentstop": SUBAGENT, "sessionend": END,
}  # fmt: skip
"""The agents' names of the events that mean something here."""
SEVERAL = 2  # subagents that make a task a shared one
CI = ("CI", "JENKINS_URL", "TF_BUILD", "TEAMCITY_VERSION", "CODEBUILD_BUILD_ID")
"""Variables that services for continuous integration set."""
PROMPT_SUGGEST, RECORD_IN_CI = (
    b"suggest:true",
    b"record_in_ci:true",
)  # as they stand in a config, but for blanks and quotes
HINTS = (
    "remember", "memor", "forget", "in mind", "note of", "next time", "for later", "future", "from now on", "skill",
    "procedure", "runbook", "playbook", "rule", "lesson",
    *(f"{one} {often}" for one in ("this", "it", "that") for often in ("again", "often", "every", "regularly", "many times")),
    "记", "記", "以后", "以後", "后面", "後面", "之后", "之後", "下次", "将来", "將來", "今后", "今後", "从现在", "從現在", "技能", "流程",
    "步骤", "步驟", "规", "規", "手册", "手冊", "忘",
)  # fmt: skip
"""Every request to remember that `core/triggers.py` knows holds one of these (a test tells)."""


def main() -> int:
    """Note the event on standard input; return 0 whatever happens."""
    try:
        if not os.environ.get("INSTINCT_SKIP"):
            _heard(sys.argv[1:])
    except BaseException:  # an agent must never notice a failing hook
        pass
    return 0


def _heard(arguments: "list[str]") -> None:
    if len(arguments) < 2 or not all(_is_word(word) for word in arguments[:2]):
        return
    data = standard_input()
    if data.lstrip()[:1] != b"{":
        return
    event, quote = read(data)
    folder = folder_of(event)
    common = _common_dir(folder)
    if common is None:
        return
    kind = EVENTS.get(arguments[1].lower(), arguments[1].lower())
    agent = host_of(event, arguments[0])
    if kind == PROMPT:
        _prompted(agent, event, folder, common)
    elif not in_ci() or _asked_for(RECORD_IN_CI, folder):
        _note(agent, kind, event, quote, folder, common)


def _prompted(agent: str, event: "dict[str, Any]", folder: str, common: str) -> None:
    """Keep the sentence of a prompt that asks to remember something; suggest what the prompt is about, where asked for."""
    text = event.get("prompt")
    if not isinstance(text, str):
        return
    lower = text.lower()
    asks, suggests = any(hint in lower for hint in HINTS), _asked_for(PROMPT_SUGGEST, folder)
    if asks or suggests:
        from instinct_git.faces import prompting

        answer = prompting.run(agent, event, folder, os.path.join(common, "instinct", "spool"), suggests)
        sys.stdout.write(answer)
        sys.stdout.flush()


def _note(agent: str, kind: str, event: "dict[str, Any]", quote: "Any", folder: str, common: str) -> None:
    spool = os.path.join(common, "instinct", "spool")
    os.makedirs(spool, mode=0o700, exist_ok=True)
    names = os.listdir(spool)
    session = session_of(event)
    subagent = event.get("agent_id") if kind == SUBAGENT else ""
    parts = [
        kind,
        session or os.urandom(8).hex(),
        *([subagent] if isinstance(subagent, str) and _is_word(subagent) else []),
    ]
    name = ".".join((*parts, "json"))
    if len(names) >= MAX_SPOOLED and name not in names:
        first = kind == END
    else:
        first = put(spool, name, _pointers(event, quote, agent))
    if kind == END and first:
        _start(folder, [agent, session])
    elif kind == STOP and session and _all_stopped(spool, names, session, event):
        _start(folder, [agent, session, "--swarm"])


def put(spool: str, name: str, kept: bytes) -> bool:
    """Write a file of the spool; False when another host has written the same one a moment ago."""
    path, temporary = os.path.join(spool, name), os.path.join(spool, f".{name}.{os.urandom(4).hex()}.tmp")
    try:
        with open(temporary, "xb", opener=_private) as stream:
            stream.write(kept)
        try:
            os.link(temporary, path)
            return True
        except FileExistsError:
            known = os.stat(path).st_mtime
            first = os.stat(temporary).st_mtime - known > SAME_MOMENT
        except OSError:
            first = True  # a file system without links
        os.replace(temporary, path)
        return first
    finally:
        if os.path.lexists(temporary):
            os.remove(temporary)  # noqa: PTH107 - pathlib costs an import on every event


def _all_stopped(spool: str, names: "list[str]", session: str, event: "dict[str, Any]") -> bool:
    """True once several subagents of a session have stopped and none is at work: their task is over."""
    stopped = [name for name in names if name.startswith(f"{SUBAGENT}.{session}.")]
    running = event.get("background_tasks")
    if len(stopped) < SEVERAL or (isinstance(running, list) and any("agent" in str(one).lower() for one in running)):
        return False
    for name in stopped:  # whoever takes the last one away starts it, and nobody else
        try:
            os.remove(os.path.join(spool, name))  # noqa: PTH107
        except FileNotFoundError:
            return False
    return True


def _start(folder: str, arguments: "list[str]") -> None:
    """Start `session-end` in a process that neither the agent nor its terminal knows of."""
    if not hasattr(os, "fork") or os.fork():
        return
    try:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        _bound()
        os.chdir(folder)
        # -P: a module of this name in the project must not be run.
        os.execve(
            sys.executable, [sys.executable, "-P", "-m", "instinct_git", "session-end", *arguments],
            {**os.environ, "INSTINCT_SKIP": "1"},
        )  # fmt: skip
    finally:
        os._exit(0)


def _bound() -> None:
    try:
        import resource

        os.nice(10)
        resource.setrlimit(resource.RLIMIT_CPU, (LEARN_SECONDS, LEARN_SECONDS))
    except (ImportError, OSError, ValueError):
        pass  # without them it is as fast as it is


# --- what surrounds an event ------------------------------------------------------------------------------------------


def in_ci() -> bool:
    """True where a service for continuous integration says so."""
    return any(os.environ.get(name, "").lower() not in ("", "0", "false", "no") for name in CI)


def _asked_for(setting: bytes, folder: str) -> bool:
    """True when the person's config, or for CI the memory's, has a setting; what is loaded then reads them in earnest."""
    home = os.environ.get("INSTINCT_HOME") or os.path.join("~", ".instinct")
    paths = [os.path.join(os.path.expanduser(home), "config.yaml")]
    while setting == RECORD_IN_CI:
        paths.append(os.path.join(folder, ".instinct", "config.yaml"))
        if os.path.lexists(os.path.join(folder, ".git")) or folder == os.path.dirname(folder):
            break
        folder = os.path.dirname(folder)
    for path in paths:
        try:
            with open(path, "rb") as stream:
                lines = stream.read(MAX_EVENT).translate(None, b" \t\"'").splitlines()
        except OSError:
            continue
        if any(setting in line and not line.startswith(b"#") for line in lines):
            return True
    return False


def session_of(event: "dict[str, Any]") -> str:
    """Return the agent's id of the session, where it can be part of a file's name; else ""."""
    for name in ("session_id", "sessionId", "conversation_id"):
        found = event.get(name)
        if isinstance(found, str) and len(found) <= 100 and _is_word(found):
            return found
    return ""


def host_of(event: "dict[str, Any]", agent: str) -> str:
    """Return the agent that the event is from: Cursor runs Claude Code's hooks as well."""
    return "cursor" if "cursor_version" in event or "conversation_id" in event else agent


def folder_of(event: "dict[str, Any]") -> str:
    """Return the folder that the session is in: a hook of the person's own may run anywhere."""
    roots = event.get("workspace_roots")
    for one in (event.get("cwd"), *(roots if isinstance(roots, list) else ())):
        if isinstance(one, str) and os.path.isabs(one) and os.path.isdir(one):
            return one
    return os.getcwd()


# --- reading the event ------------------------------------------------------------------------------------------------


def read(data: bytes) -> "tuple[dict[str, Any], Any]":
    """Return the event and what quotes a text as JSON. Raises ValueError for what is no JSON object."""
    try:
        event, quote = _scanned(data)
    except Exception:  # no JSON, or a Python whose C part is missing or another one: the module itself sees to it
        import json

        event, quote = json.loads(data), json.dumps
    if type(event) is not dict:
        raise ValueError("no object")
    return event, quote


def _pointers(event: "dict[str, Any]", quote: "Any", agent: str) -> bytes:
    """Return the event's fields that say which session this is and where its transcript lies, as JSON."""
    kept = [("agent", agent), *((name, event[name]) for name in KEPT if type(event.get(name)) in (str, int))]
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


def standard_input() -> bytes:
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


def _common_dir(folder: str) -> "str | None":
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


def _shared(dot_git: str) -> "str | None":
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

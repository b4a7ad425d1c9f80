"""`instinct demo`: the whole loop in a throw-away repository, with the real verbs and their real output."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path

from instinct_git.errors import InstinctError

SEQUENCE = "seq:test->edit->test->commit"
REPLY_SECONDS = 30.0


Verb = Callable[[list[str]], int]
"""The command line: takes arguments, prints, returns the exit code."""


def run_demo(verb: Verb, *, keep: bool = False) -> int:
    """Run the demo with the command line it is given; return 0 when every step worked."""
    base = Path(tempfile.mkdtemp(prefix="instinct-demo-"))
    try:
        with _inside(base / "web-shop", base / "home"):
            code = _steps(base, verb)
    finally:
        if not keep:
            shutil.rmtree(base, ignore_errors=True)
    if keep:
        print(f"\nThe repository is kept in {base / 'web-shop'}")
    return code


@contextmanager
def _inside(project: Path, home: Path) -> Iterator[None]:
    """Work in a new folder with a home of its own, so that nothing of the person's is read or written."""
    project.mkdir(parents=True)
    before = Path.cwd()
    kept = {name: os.environ.get(name) for name in ("INSTINCT_HOME", "INSTINCT_AUTHOR", "GIT_CONFIG_GLOBAL")}
    settings = project.parent / "gitconfig"
    settings.write_text(
        "[user]\n\tname = Demo\n\temail = demo@example.invalid\n[init]\n\tdefaultBranch = main\n", "utf-8"
    )
    os.environ.pop("INSTINCT_AUTHOR", None)
    os.environ.update(INSTINCT_HOME=str(home), GIT_CONFIG_GLOBAL=str(settings))
    os.chdir(project)
    try:
        yield
    finally:
        os.chdir(before)
        for name, value in kept.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def _steps(base: Path, verb: Verb) -> int:
    transcript = base / "session.jsonl"
    transcript.write_bytes(resources.files("instinct_git").joinpath("data/demo-transcript.jsonl").read_bytes())
    _say("A project in git, as it might be yours")
    _git("init", "-q")
    Path("README.md").write_text("# web-shop\n", encoding="utf-8")
    _git("add", "README.md")
    _git("commit", "-q", "-m", "chore: start")
    _say("Start a memory: it touches nothing but .instinct/")
    code = _instinct(verb, "init")
    _say("Learn from what an agent has done (its transcript; no model, no tokens)")
    code |= _instinct(verb, "learn", str(transcript), shown=["learn", "session.jsonl"])
    _say("Other agents and people see the same thing")
    for source in ("cursor", "codex"):
        code |= _instinct(verb, "observe", SEQUENCE, "--source", source)
    _say("Fold the evidence into patterns: one commit")
    code |= _instinct(verb, "consolidate")
    _git("log", "-1", "--format=%h %s%n%n%b", shown=True)
    _say("What the next session is told")
    code |= _instinct(verb, "suggest")
    _say("The same, as an agent asks for it over MCP")
    print(_ask_over_mcp())
    _say("Why? Every number can be explained and recomputed")
    code |= _instinct(verb, "explain", SEQUENCE)
    code |= _instinct(verb, "check")
    _say("Propose it as a skill: a branch for review; your tree, index and HEAD do not move")
    code |= _instinct(verb, "propose", SEQUENCE, "--kind", "skill")
    _git("diff", "--stat", "main...instinct/skill/test-edit-test-commit", shown=True)
    _git("show", "--format=", "instinct/skill/test-edit-test-commit", "--", "skills", shown=True)
    _git("status", "--short", "--branch", shown=True)
    _say("A person decides: merge the branch, or delete it. Now: `instinct init` in a repository of yours.")
    return code


def _say(text: str) -> None:
    print(f"\n## {text}\n", flush=True)


def _instinct(verb: Verb, *arguments: str, shown: list[str] | None = None) -> int:
    print(f"$ instinct {' '.join(_quoted(word) for word in shown or arguments)}", flush=True)
    return verb(list(arguments))


def _quoted(word: str) -> str:
    return f'"{word}"' if set(word) & set(" >|&") else word


def _git(*arguments: str, shown: bool = False) -> None:
    """Run git with its output on the terminal. The demo plays the person here; the memory has its own door to git."""
    if shown:
        print(f"$ git {' '.join(_quoted(word) for word in arguments)}", flush=True)
    try:
        done = subprocess.run(["git", "--no-pager", *arguments], capture_output=True, check=False, timeout=60)
    except FileNotFoundError:
        raise InstinctError("git is not installed or not on PATH", "install git and run the demo again") from None
    if done.returncode:
        raise InstinctError(
            f"git {arguments[0]} failed: {done.stderr.decode('utf-8', 'replace').strip()}",
            "the demo needs a working git",
        )
    if shown:
        print(done.stdout.decode("utf-8", "replace").rstrip("\n"), flush=True)


def _ask_over_mcp() -> str:
    """Start `instinct serve`, ask it for suggestions as an agent would, and return the text of its answer."""
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "demo-agent", "version": "1"}}
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "suggest", "arguments": {}}},
    ]
    print('$ instinct serve   # and the agent calls the tool "suggest"', flush=True)
    server = subprocess.Popen(
        [sys.executable, "-m", "instinct_git", "serve"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert server.stdin is not None and server.stdout is not None
    from threading import Timer

    watchdog = Timer(REPLY_SECONDS, server.kill)
    watchdog.start()
    try:
        for message in messages:
            server.stdin.write(json.dumps(message).encode("utf-8") + b"\n")
            server.stdin.flush()
        for line in server.stdout:
            reply = json.loads(line)
            if reply.get("id") == 2:
                return "\n".join(part.get("text", "") for part in reply["result"]["content"])
    finally:
        watchdog.cancel()
        server.stdin.close()
        server.kill()
        server.wait()
    raise InstinctError("the MCP server gave no answer", "run `instinct serve` by hand to see why")

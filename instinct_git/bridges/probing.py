"""Other programs, run to see whether they answer: bounded in time and in what they may say, ended with their children."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Timer
from typing import IO, Any, NamedTuple

MOST = 1 << 20
"""Bytes of an answer that are read."""


class Answer(NamedTuple):
    """What a program did."""

    code: int | None
    """Its exit code; None: it did not start, or was ended for taking too long."""
    out: str
    ms: int
    """Milliseconds until it had answered."""
    problem: str = ""
    """What went wrong, in words."""


def run(
    words: Sequence[str], folder: Path, *, stdin: str = "", env: Mapping[str, str] | None = None, seconds: float
) -> Answer:
    """Run a program in a folder without a shell. Never raises."""
    start = time.perf_counter()
    try:
        process = _started(words, folder, env)
    except (OSError, ValueError) as problem:
        return Answer(None, "", 0, str(problem))
    try:
        out, _ = process.communicate(stdin.encode("utf-8", "replace"), timeout=seconds)
    except subprocess.TimeoutExpired:
        _end(process)
        return Answer(None, "", _ms(start), f"no answer within {seconds:g} seconds")
    except OSError as problem:
        _end(process)
        return Answer(None, "", _ms(start), str(problem))
    return Answer(process.returncode, out[:MOST].decode("utf-8", "replace"), _ms(start))


def ask_server(words: Sequence[str], folder: Path, *, seconds: float) -> Answer:
    """Start an MCP server, shake hands and ask for its tools; `out` is its answer, a JSON object. Never raises."""
    start = time.perf_counter()
    try:
        process = _started(words, folder, None)
    except (OSError, ValueError) as problem:
        return Answer(None, "", 0, str(problem))
    timer = Timer(seconds, _kill, [process])
    timer.start()
    try:
        assert process.stdin is not None and process.stdout is not None
        hello = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "instinct-doctor", "version": "1"},
        }
        _call(process.stdin, process.stdout, 1, "initialize", hello)
        _send(process.stdin, {"method": "notifications/initialized"})
        found = _call(process.stdin, process.stdout, 2, "tools/list", {})
        return Answer(0, json.dumps(found), _ms(start))
    except (OSError, ValueError, KeyError) as problem:
        late = _ms(start) >= seconds * 1000
        return Answer(None, "", _ms(start), f"no answer within {seconds:g} seconds" if late else str(problem))
    finally:
        timer.cancel()
        _end(process)


def _call(to: IO[bytes], back: IO[bytes], number: int, method: str, params: Mapping[str, Any]) -> Any:
    _send(to, {"id": number, "method": method, "params": params})
    while True:
        line = back.readline(MOST)
        if not line:
            raise ValueError("it ended without an answer")
        found = json.loads(line)
        if isinstance(found, dict) and found.get("id") == number:
            if "result" not in found:
                raise ValueError(f"it refused {method}: {found.get('error')}")
            return found["result"]


def _send(to: IO[bytes], message: Mapping[str, Any]) -> None:
    to.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    to.flush()


def _started(words: Sequence[str], folder: Path, env: Mapping[str, str] | None) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=folder,
        env={**os.environ, **(env or {})}, start_new_session=True,
    )  # fmt: skip


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a program and what it has started."""
    if process.poll() is None:
        try:
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
        except OSError:
            pass  # it has just ended by itself
    process.wait()


def _end(process: subprocess.Popen[bytes]) -> None:
    """End it and close its pipes."""
    _kill(process)
    for pipe in (process.stdin, process.stdout):
        try:
            if pipe is not None:
                pipe.close()
        except OSError:
            pass  # what was not sent any more


def _ms(start: float) -> int:
    return round((time.perf_counter() - start) * 1000)

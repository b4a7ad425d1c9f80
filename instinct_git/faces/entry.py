"""Where `instinct` starts. `observe`, `suggest` and `serve` run at once; every other verb loads the whole command line."""

from __future__ import annotations

import gc
import os
import sys


def main() -> int:
    """Run the command line and return its exit code: 0 fine, 1 findings, 2 known error, 3 bug, 130 interrupted."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a narrow code page must not stop what is already written
    arguments = sys.argv[1:]
    if arguments[:1] == ["session-start"]:  # what an agent's hook runs: JSON or nothing, and never a failure
        from instinct_git.faces import session_start

        gc.disable()
        code = session_start.run(arguments[1:])
        gc.freeze()
        return code
    if arguments[:1] == ["session-end"]:  # what the hook starts
        from instinct_git.faces import session_end

        return session_end.run(arguments[1:])
    if arguments == ["--version"]:  # `doctor` asks every program of our name that agents find: nothing else happens
        from instinct_git import __version__

        print(f"instinct-git {__version__}")
        return 0
    try:
        code = _run(arguments)
        if code in (0, 1) and "--json" not in arguments and arguments[:1] not in (["suggest"], ["serve"]):
            from instinct_git.faces.quick import tell_nominations

            tell_nominations()
        return code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader (head, less) has seen enough. Python would complain again when it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _run(arguments: list[str]) -> int:
    if arguments and arguments[0] in ("observe", "suggest", "serve") and "_INSTINCT_COMPLETE" not in os.environ:
        gc.disable()  # a process that lives for fifty milliseconds leaves nothing worth collecting
        from instinct_git.faces import quick

        code = quick.run(arguments[0], arguments[1:])
        if code is not None:
            gc.freeze()  # nor has its end to look through everything once more
            return code
        gc.enable()
    from instinct_git.faces import cli

    return cli.run(arguments)

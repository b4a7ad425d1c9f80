"""`observe`, `suggest` and `serve` without the command-line library: an agent may call them hundreds of times a day.

What these two parsers do not know (help, completion, a mistake) goes to `faces/cli.py`, whose options are the same (a
test compares the two).
"""

from __future__ import annotations

import os
import sys

from instinct_git.errors import InstinctError

TYPE_CHECKING = False  # typing costs 3 ms
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from instinct_git.memory import Memory
    from instinct_git.operations.observing import Draft

OBSERVE_VALUES = {
    "--cat": "category", "-c": "category", "--source": "source", "-s": "source", "--session": "session",
    "--context": "context", "--note": "note", "--title": "title", "--description": "description",
    "--metadata": "metadata", "--to": "to",
}  # fmt: skip
OBSERVE_FLAGS = {"--global": "global_", "--json": "as_json"}
SUGGEST_VALUES = {"--limit": "limit", "-n": "limit", "--budget": "budget", "--for": "for_text", "--paths": "paths"}
SUGGEST_FLAGS = {"--json": "as_json", "--explain-budget": "explain_budget"}
SEVERAL = frozenset(("--paths",))
"""Options that may be given several times."""
SERVE_VALUES = {"--root": "root"}
MEND = "nothing was written; mend it"


def run(verb: str, arguments: list[str]) -> int | None:
    """Run the verb and return its exit code, or None when the full command line must see to it."""
    if verb == "serve":
        parsed = _parse(arguments, SERVE_VALUES, {})
        if parsed is None or parsed[0]:
            return None
        root = parsed[1].get("root")
        return guarded(lambda: serve(root), False)
    values, flags = (OBSERVE_VALUES, OBSERVE_FLAGS) if verb == "observe" else (SUGGEST_VALUES, SUGGEST_FLAGS)
    parsed = _parse(arguments, values, flags)
    if parsed is None or (verb == "observe") != (len(parsed[0]) == 1) or len(parsed[0]) > 1:
        return None
    positional, options = parsed
    if verb == "observe":
        return guarded(lambda: observe(positional[0], **options), bool(options.get("as_json")))
    try:
        options |= {name: int(options[name]) for name in ("limit", "budget") if name in options}
    except ValueError:
        return None
    if any(options.get(name, 0) < 0 for name in ("limit", "budget")):
        return None
    return guarded(lambda: suggest(**options), bool(options.get("as_json")))


def _parse(
    arguments: Iterable[str], values: Mapping[str, str], flags: Mapping[str, str]
) -> tuple[list[str], dict[str, Any]] | None:
    positional: list[str] = []
    options: dict[str, Any] = {}
    rest = iter(arguments)
    for word in rest:
        name, equals, value = word.partition("=")
        if word in flags:
            options[flags[word]] = True
        elif (name in values and equals and name.startswith("--")) or word in values:
            if not equals or word in values:
                name, given = word, next(rest, None)
                if given is None:
                    return None
                value = given
            if name in SEVERAL:
                options.setdefault(values[name], []).append(value)
            else:
                options[values[name]] = value
        elif word.startswith("-") and word != "-":
            return None
        else:
            positional.append(word)
    return positional, options


def guarded(action: Any, as_json: bool) -> int:
    """Run an action of a face; a known error becomes two lines (or an object) and exit 2, a bug a log and exit 3."""
    try:
        return int(action() or 0)
    except InstinctError as problem:
        return show_error(problem.message, problem.hint, as_json, problem.exit_code)
    except (KeyboardInterrupt, BrokenPipeError):
        raise
    except Exception as problem:  # a bug: the person gets a log to send, not a traceback
        return _show_bug(problem, as_json)


def show_error(message: str, hint: str, as_json: bool, code: int = 2) -> int:
    """Print an error in its two lines, or as an object on standard output, and return the exit code."""
    if as_json:
        import json

        print(json.dumps({"error": message, "hint": hint}, ensure_ascii=False))
    else:
        print(f"error: {_one_line(message)}", file=sys.stderr)
        print(f"hint: {_one_line(hint) or '`instinct --help` shows all verbs'}", file=sys.stderr)
    return code


def _one_line(text: str) -> str:
    """Return a text that may hold another program's words as one line that cannot drive a terminal."""
    return "".join(char if char.isprintable() else " " for char in text).strip()


def _show_bug(problem: Exception, as_json: bool) -> int:
    import platform
    import tempfile
    import traceback

    from instinct_git import __version__

    text = f"instinct-git {__version__}, Python {platform.python_version()}, {platform.platform()}\n\n"
    text += "".join(traceback.format_exception(problem))
    with tempfile.NamedTemporaryFile("w", prefix="instinct-", suffix=".log", delete=False, encoding="utf-8") as log:
        log.write(text)
    message = f"this is a bug: {type(problem).__name__}: {problem}"
    return show_error(message, f"please report it with the log {log.name}", as_json, 3)


def observe(key: str, *, category: str | None = None, source: str = "", session: str | None = None,
            context: str | None = None, note: str | None = None, title: str | None = None,
            description: str | None = None, metadata: str | None = None, to: str = "", global_: bool = False,
            as_json: bool = False) -> int:  # fmt: skip
    """Count one observation, or with `-` one a line of standard input, and print the live values."""
    from instinct_git.memory import Memory
    from instinct_git.operations.observing import Draft

    if global_ and to not in ("", "global"):
        raise InstinctError("--global and --to name two memories", "give one of them")
    memory = Memory(scope="global" if global_ else None)
    common = Draft(
        key, category, source, session, context, note, title, description, _metadata(metadata) if metadata else None
    )
    drafts = _from_stdin(common) if key == "-" else [common]
    done = memory.observe_many(drafts, to=to) if drafts else []
    if as_json:
        import json

        rows = [one._asdict() for one in done]
        print(json.dumps({"observations": rows} if key == "-" else rows[0], ensure_ascii=False))
        return 0
    for one in done:
        live = "" if one.live is None else f"  conf={one.live}"
        silent = f"  ({one.status}: it stays silent)" if one.silent else ""
        there = f"  ({one.memory})" if one.memory else ""
        print(f"observed {one.pattern}{live}{there}{silent}")
    if memory.fell_back and not global_ and not to:
        _say_where(memory)
    if any(one.live is None for one in done):
        _say_what_is_wrong(memory)
    return 0


def _say_what_is_wrong(memory: Memory) -> None:
    try:
        memory.config()
    except InstinctError as problem:
        print(f"# counted, but nothing else will work: {problem.message}; {problem.hint}", file=sys.stderr)


def _say_where(memory: Memory) -> None:
    print("# there is no memory here, so it went to your global one; `instinct init` starts one", file=sys.stderr)


def _metadata(text: str) -> dict[str, Any]:
    import json

    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise InstinctError("--metadata is not a JSON object", """such as --metadata '{"owner": "web"}'""")
    return value


def _from_stdin(common: Draft) -> list[Draft]:
    """Read one observation a line: a key, or a JSON object with the fields of `observe` in Python."""
    import json

    allowed = set(common._fields) - {"kind", "extra"}
    drafts = []
    for number, raw in enumerate(sys.stdin.buffer.read().decode("utf-8-sig", "surrogateescape").split("\n"), 1):
        line = raw.strip()
        if not line:
            continue
        if not line.startswith("{"):
            drafts.append(common._replace(key=line))
            continue
        try:
            given = json.loads(line)
        except ValueError:
            raise InstinctError(f"line {number} of standard input is not valid JSON", MEND) from None
        unknown = set(given) - allowed
        if unknown or "key" not in given:
            raise InstinctError(
                f"line {number} of standard input: " + (f"unknown field {min(unknown)!r}" if unknown else "no key"),
                "fields: " + ", ".join(sorted(allowed)),
            )
        for name, value in given.items():
            if not isinstance(value, dict if name == "metadata" else str):
                kind = "an object" if name == "metadata" else "a text"
                raise InstinctError(f"line {number} of standard input: {name} is not {kind}", MEND)
        drafts.append(common._replace(**given))
    return drafts


def suggest(*, limit: int | None = None, budget: int | None = None, for_text: str = "",
            paths: list[str] | None = None, explain_budget: bool = False, as_json: bool = False) -> int:  # fmt: skip
    """Print what an agent should know now, or with `explain_budget` what was taken and left out, and why."""
    from instinct_git.faces import render
    from instinct_git.memory import Memory

    found = Memory().suggestions(limit, budget=budget, for_text=for_text, paths=paths or ())
    if as_json:
        data: dict[str, Any] = {"patterns": [one.as_json() for one in found.patterns]}
        if explain_budget:
            data |= render.budget_json(found)
        print(render.json_text(data))
        return 0
    for line in render.budget_lines(found) if explain_budget else render.suggestion_lines(found):
        print(line)
    for line in found.nominated:
        print(f"# {line}")
    for notice in found.notices:
        print(f"# {notice}", file=sys.stderr)
    return 0


def serve(root: str | os.PathLike[str] | None = None) -> int:
    """Serve the memory over MCP until the client closes standard input."""
    import gc

    gc.disable()  # loading the SDK makes a great many objects and hardly any garbage: a quarter of the start
    try:
        from instinct_git.faces.mcp_server import ready

        server = ready(root)
        gc.freeze()
    finally:
        gc.enable()
    server.run("stdio")
    return 0


def tell_nominations() -> None:
    """Say on standard error what was nominated: once on a terminal, once to whoever reads a pipe. Never fails."""
    try:
        from instinct_git.memory import Memory

        found = Memory().nominations("terminal" if sys.stderr.isatty() else "pipe")
        if not found:
            return
        from instinct_git.operations.noticing import answers, words

        sys.stdout.flush()
        for one in found:
            print(f"# {words(one)}\n# {answers(one.pattern)}", file=sys.stderr)
    except BrokenPipeError:
        raise
    except Exception:  # the verb has done its work
        return

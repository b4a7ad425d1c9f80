"""Reads shell lines: the simple commands they hold, without variables, wrappers and heredocs. Pure.

Compound commands, `cd x &&`, `FOO=1 cmd`, `uv run`, `npx`, `sudo`, `timeout 60`, pipes, redirections, heredocs, a shell in
a shell and PowerShell. What is read here is only ever looked up in tables: see `core.actions`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise


def split_words(text: str) -> tuple[str, ...]:
    """The words of a table."""
    return tuple(text.split())


def read_table(text: str) -> Iterator[tuple[str, str]]:
    """(what does it, action) of a table: an action in the first 13 columns, then names between commas."""
    action = ""
    for line in text.strip().splitlines():
        action = line.split(" ", 1)[0] or action
        yield from ((name.strip(), action) for name in line[13:].split(",") if name.strip())


_WRAPPERS = dict(
    read_table("""
wrapper      sudo, time, env, nohup, command, exec, builtin, nice, stdbuf, doas, npx, bunx, uvx,
             pipx run, uv run, uv tool run, poetry run, pipenv run, pdm run, hatch run, rye run, bundle exec, npm exec,
             pnpm exec, pnpm dlx, yarn dlx, yarn exec, bun x, python -m, python3 -m, py -m, conda run, xargs
where        timeout, gtimeout, docker exec, docker compose exec, docker compose run, docker-compose exec,
             docker-compose run, podman exec, podman compose exec, podman-compose exec
keyword      then, do, else, if, elif, while, until, !, {
""")
)
_VALUED = split_words(  # options of wrappers and programs that take the next word
    "--with --extra --python --project --directory --group --from --package --env-file -p -n -u -k -s -C -c --git-dir"
    " --work-tree --prefix --filter -I -P -w --workspace --cwd --manifest-path -F"
)
HEREDOC = re.compile(
    r"(?<!<)<<-?[ \t]*(['\"]?)([A-Za-z_]\w*)\1([^\n]*)\n(.*?)(?:^[ \t]*\2[ \t]*$|\Z)", re.DOTALL | re.MULTILINE
)
_INNER = re.compile(r"-[a-z]*c|-command|/c", re.IGNORECASE)
SHELL = re.compile(r"(?:\A|[/\\])(?:ba|z|da|k|fi|pw)?sh(?:\.exe)?\Z|(?:powershell|\bcmd)(?:\.exe)?\Z", re.IGNORECASE)
_LONGEST_COMMAND = 20_000  # characters; what comes after does not decide what a command is about


@dataclass(frozen=True, slots=True)
class Command:
    """One simple command: its words without quotes, whether it reads from a pipe, whether it writes to a file."""

    words: tuple[str, ...]
    piped: bool = False
    writes: bool = False


@lru_cache(maxsize=512)  # a line is looked at for its action, its program and its message
def shell_commands(line: str) -> tuple[Command, ...]:
    """The simple commands of a shell line, in order; heredoc bodies and comments are left out. Never raises."""
    text = HEREDOC.sub(lambda found: f"{found[3]}\n", line.replace("\\\n", " "))[:_LONGEST_COMMAND]
    text = re.sub(r"(?m)^[ \t]*#.*$", "", text)
    text = re.sub(r"(?<=[\w.:])\\(?=[\w.])", "/", text)  # a path of Windows
    lexer = shlex.shlex(text, posix=True, punctuation_chars="();<>|&\n")
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t\r", True, ""
    try:
        tokens = list(lexer)
    except ValueError:  # an unclosed quote: read it as plain words
        tokens = [part for part in re.split(r"(&&|\|\||[;\n|])|[ \t]+", text) if part]
    return tuple(command for command in _group(tokens) if command.words)


def _group(tokens: list[str]) -> Iterator[Command]:
    words: list[str] = []
    piped = writes = False
    redirect = ""
    for token in tokens:
        operator = bool(token) and not token.strip("();<>|&\n")
        if redirect and not operator:  # the file of a redirection, or the 1 of 2>&1
            writes = writes or (">" in redirect and token != "/dev/null" and not token.isdigit())
            redirect = ""
        elif operator and ("<" in token or ">" in token):
            if words and words[-1].isdigit():
                words.pop()  # the 2 of 2>&1
            redirect = token
        elif operator:
            yield Command(tuple(words), piped, writes)
            words, piped, writes, redirect = [], token.strip("\n") in ("|", "|&"), False, ""
        else:
            words.append(token)
    yield Command(tuple(words), piped, writes)


def bare(words: tuple[str, ...]) -> tuple[str, ...]:
    """The command itself: without variables, wrappers (`sudo`, `uv run`, `timeout 60`) and their options."""
    while words:
        if re.match(r"(?:\$env:)?[A-Za-z_]\w*=", words[0]):
            words = words[1:]
            continue
        phrases = {n: " ".join((program_of(words), *words[1:n])) for n in (3, 2, 1) if len(words) > n}
        size = next((n for n, phrase in phrases.items() if phrase in _WRAPPERS), 0)
        if not size:
            return words
        one_more = _WRAPPERS[phrases[size]] == "where"  # for how long, or in which container
        words = without_options(words[size:])[1 if one_more else 0 :]
    return words


def inner_line(words: Sequence[str]) -> str | None:
    """The line that a shell is given (``bash -c LINE``, ``cmd /c WORD WORD``); None without one."""
    for number, (option, after) in enumerate(pairwise(words), 1):
        if _INNER.fullmatch(option):
            return " ".join(words[number:]) if option.lower() == "/c" else after
    return None


def program_of(words: tuple[str, ...]) -> str:
    """The bare name of the program that a command runs."""
    name = words[0].rsplit("/", 1)[-1].lower()
    return name.removesuffix(".exe").removesuffix(".cmd").removesuffix(".bat")


def without_options(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words after the options that come first, and after what these take."""
    while words and words[0].startswith("-"):
        words = words[2:] if words[0] in _VALUED else words[1:]
    return words


def shell_line(tool_input: Mapping[str, object]) -> str | None:
    """The shell line among a tool's arguments: a string, or a list such as ``["bash", "-lc", line]``."""
    value = tool_input.get("command", tool_input.get("cmd"))
    if isinstance(value, list) and value and all(isinstance(part, str) for part in value):
        inner = inner_line(value) if SHELL.search(value[0]) else None
        return shlex.join(value) if inner is None else inner
    return value if isinstance(value, str) else None

"""Names what a tool call does (`test`, `edit`, `commit` ...) and tells whether it failed. Pure.

Patterns are written in these names, so a name never quotes a path, an argument or anybody's words: it comes from the
table below, or is the bare name of a program (with its verb, where the verb is an ordinary one).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


# An action, then the tools (as the agents spell them) and commands (one to three words) that do it.
# The longest command that matches wins: "npm run" before "npm".
_TABLE = """
test         pytest, py.test, unittest, tox, nox, ctest, jest, vitest, mocha, rspec, phpunit, bats, playwright test,
             mix test, cargo test, cargo nextest, go test, swift test, dotnet test, mvn test, mvn verify, gradle test,
             gradlew test, npm test, npm t, pnpm test, yarn test, bun test, deno test, make test, make check,
             just test, rake test, rails test, manage.py test
lint         ruff, ruff check, flake8, pylint, bandit, pre-commit, pre-commit run, prek, eslint, oxlint, biome,
             biome check, stylelint, shellcheck, yamllint, rubocop, mix credo, mix dialyzer, cargo clippy, go vet,
             golangci-lint, staticcheck, phpstan, bash -n, sh -n, next lint, make lint, just lint
typecheck    mypy, pyright, ty, tsc --noemit, vue-tsc
format       ruff format, black, isort, yapf, prettier, gofmt, goimports, rustfmt, cargo fmt, mix format, clang-format,
             terraform fmt, make format, make fmt
compile      tsc, mix compile, cargo build, cargo check, go build, javac, gcc, g++, rustc, py_compile, mvn compile,
             dotnet build, cmake --build, ninja
build        make, make build, make all, cmake, vite build, next build, webpack, esbuild, docker build,
             docker compose build, gradle, gradle build, mvn, mvn package, hatch build, poetry build, uv build
install      pip install, pip3 install, uv sync, uv add, uv pip, uv lock, poetry install, poetry add, pipenv install,
             pdm install, pdm add, npm install, npm i, npm ci, npm add, pnpm install, pnpm i, pnpm add, yarn install,
             yarn add, bun install, bun add, bundle install, bundle add, gem install, composer install, cargo add,
             cargo install, go get, go install, go mod, mix deps.get, brew install, apt install, apt-get install
commit       git commit
push         git push
pull         git pull, git fetch
branch       git checkout, git switch, git branch
stage        git add
merge        git merge
rebase       git rebase
pull-request gh pr create, glab mr create
edit         Edit, MultiEdit, NotebookEdit, edit_file, edit, multiedit, replace, insert, append, str_replace_editor,
             str_replace_based_edit_tool, file_editor, edit_file_by_replace, edit_file_by_line, append_file,
             insert_content_at_line, apply_patch, sed -i, perl -pi, patch,
             git apply, replace_in_file, search_replace, undo_edit, add-content
write        Write, write, write_file, create_file, create, str_replace_editor create, file_editor create,
             str_replace_based_edit_tool create, touch, tee, write_to_file, set-content, out-file, new-item
read         Read, read, NotebookRead, read_file, read_many_files, view, view_image, open, open_file, goto, goto_line, scroll_up,
             scroll_down, filemap, str_replace_editor view, file_editor view, str_replace_based_edit_tool view,
             show_file, cat, bat, head, tail, less, more, sed, awk, jq, yq, nl, get-content, gc
search       Grep, Glob, LS, grep_search, file_search, grep, egrep, fgrep, rg, ag, ack, fd, find, git grep, glob,
             search_file_content, ToolSearch, list_directory, list_dir, list, search_dir, search_file, find_file,
             codesearch, codebase_search, select-string, sls
look         ls, tree, pwd, cd, pushd, popd, wc, stat, file, which, type, test, [, [[, diff, echo, printf, yes, true,
             :, set, export, unset, source, ., env, date, whoami, ps, id, sort, uniq, cut, tr, basename, dirname,
             realpath, man, git status, git diff, git log, git show, git ls-files, git rev-parse, git remote,
             git blame, git describe, git reflog, git check-ignore, git config, git merge-base, git worktree list,
             git stash list, git branch --show-current, git branch -a, git branch -v, git branch -vv, git branch -r,
             git branch --list, gh api, gh auth, gh pr view, gh pr list, gh pr diff, gh pr checks, gh pr status,
             gh issue view, gh issue list, gh run, gh repo, bd list, bd stats, bd blocked, docker ps, docker logs,
             docker images, get-childitem, gci, dir, get-location, set-location, test-path, write-output, write-host,
             get-command, select-object, where-object, measure-object, format-table, sort-object, out-string,
             kubectl get, kubectl describe, kubectl logs, npm ls, npm list, npm view, pip list,
             pip show, pip freeze, ListMcpResourcesTool, ReadMcpResourceTool, for, done, fi, case, esac, in, then, do,
             else, }, exit, return, break, continue, local, declare, trap, shift, false
todo         TodoWrite, TodoRead, TaskCreate, TaskUpdate, TaskList, TaskGet, update_plan, write_todos, todowrite,
             todoread, update_todo, task_tracker, report_intent, update_topic, save_memory, store_memory,
             instinct, instinct-git, git instinct, instinct_git, instinct-hook
wait         BashOutput, TaskOutput, AgentOutputTool, Monitor, write_stdin, read_bash, write_bash, read_powershell,
             write_powershell, read_agent, sleep, wait, start-sleep
stop         KillShell, KillBash, TaskStop, stop_bash, stop_powershell, kill, pkill, killall, stop-process
finish       finish, submit, task_complete, complete_task, attempt_completion
plan         EnterPlanMode, ExitPlanMode, exit_plan_mode, enter_plan_mode, plan_enter, plan_exit, think
ask          AskUserQuestion, ask_user, question, request_user_input
skill        Skill, SlashCommand, skill, activate_skill
task         Task, Agent, task, delegate_to_agent, codebase_investigator, spawn_agent
websearch    WebSearch, web_search, web_search_call, google_web_search, websearch
webfetch     WebFetch, web_fetch, webfetch
fetch        curl, wget, http, https, invoke-webrequest, iwr, invoke-restmethod, irm
serve        npm start, pnpm start, yarn start, npm run dev, npm run start, pnpm dev, yarn dev, bun dev, next dev,
             vite, http.server, uvicorn, gunicorn, flask run, manage.py runserver, rails server, mix phx.server,
             docker compose up
run          python, python3, node, deno, bun, ruby, perl, php, java, bash, sh, zsh, go run, cargo run, mix run,
             npm run, pnpm run, yarn run, pnpm, yarn, npx, ts-node, tsx, uv, poetry, just, rake, mix, cargo, go,
             dotnet, dotnet run, eval, execute_ipython_cell, run_ipython, python_user_visible, powershell, pwsh, cmd
bd-show      bd show
bd-ready     bd ready
bd-claim     bd claim, bd update --claim, bd update --status=in_progress
bd-close     bd close, bd update --status=closed
"""


def _read_table(text: str) -> Iterator[tuple[str, str]]:
    action = ""
    for line in text.strip().splitlines():
        action = line.split(" ", 1)[0] or action
        yield from ((name.strip(), action) for name in line[13:].split(",") if name.strip())


ACTIONS: Mapping[str, str] = dict(_read_table(_TABLE))
"""Tool name, or command of one to three words, -> action. Callers add their own through ``extra``."""

LOOKS = frozenset({"read", "search", "look", "todo", "wait", "stop", "plan", "ask", "skill", "stage", "finish"})
"""Actions that may lie between the steps of a sequence: they look, wait or prepare, and change nothing on their own."""

CHANGES = frozenset({"edit", "write", "run", "mkdir", "rm", "mv", "cp", "chmod", "ln", "rmdir"})
"""Actions that change files or run something nameless; a sequence of these alone says nothing."""

CHECKS = frozenset({"test", "lint", "typecheck", "compile", "build", "format"})
"""Actions whose failure is a finding about the work, not a call that did not happen."""
EXTERNAL = frozenset(
    _words("push pull-request deploy publish release upload submit send request fetch webfetch websearch ssh scp rsync")
)
"""Actions and verbs that leave the working tree; a tool of another MCP server does too (see `candidates.external`)."""

_OWN = re.compile(
    r"(?:.*[_.:/-])?instinct(?:_+|[.:/-])(?:observe|suggest|search|consolidate|feedback|explain|candidates|propose)"
)
"""The memory's own tools, however an agent spells an MCP tool: asking and teaching it is no work that it learns from."""

# What a compound command is about: the first of these that it holds, else its last command that does something.
_TELLING = _words(
    "commit push pull-request test typecheck lint build compile format install bd-claim bd-close bd-show merge rebase"
    " pull branch serve"
)
_LAST = _words("fetch run edit write mkdir rm mv cp chmod stage read search wait stop look")
_WRAPPERS = dict(
    _read_table("""
wrapper      sudo, time, env, nohup, command, exec, builtin, nice, stdbuf, timeout, gtimeout, doas, npx, bunx, uvx,
             pipx run, uv run, uv tool run, poetry run, pipenv run, pdm run, hatch run, rye run, bundle exec, npm exec,
             pnpm exec, pnpm dlx, yarn dlx, yarn exec, bun x, python -m, python3 -m, py -m, conda run, xargs
keyword      then, do, else, if, elif, while, until, !, {
""")
)
_VALUED = _words(  # options of wrappers and programs that take the next word
    "--with --extra --python --project --directory --group --from --package --env-file -p -n -u -k -s -C -c --git-dir"
    " --work-tree --prefix --filter -I -P -w --workspace --cwd --manifest-path -F"
)
_RUNNERS = _words("npm pnpm yarn bun make just task rake turbo nx nox invoke gradle gradlew mise composer")
_SCRIPTS = """
test         tests, test, spec, e2e, unit, vitest, jest
lint         lint, eslint, clippy, check
format       format, fmt, prettier
typecheck    typecheck, types, tsc, mypy
compile      compile
build        build
serve        dev, start, serve
install      install
"""
_SCRIPT_ACTIONS = dict(_read_table(_SCRIPTS))
_VERBS = _words("""
add apply archive audit backup bisect cancel cherry-pick claim clean clear clone close comment convert copy create
deploy destroy diff download edit enable disable exec export fetch generate get import info init inspect list load
login logs merge migrate move mv open publish pull push query ready rebase release reload remove rename render reopen
reset restart restore revert rm rollback run save scale scan search seed send serve set show start stash status stop
submit sync tag update upgrade upload validate verify view watch
""")
_NAME = re.compile(r"[a-z][a-z_-]{1,23}[0-9]{0,2}")
_HEREDOC = re.compile(
    r"(?<!<)<<-?[ \t]*(['\"]?)([A-Za-z_]\w*)\1([^\n]*)\n(.*?)(?:^[ \t]*\2[ \t]*$|\Z)", re.DOTALL | re.MULTILINE
)
_INNER = re.compile(r"-[a-z]*c|-command|/c", re.IGNORECASE)
_SHELL = re.compile(r"(?:\A|[/\\])(?:ba|z|da|k|fi|pw)?sh(?:\.exe)?\Z|(?:powershell|\bcmd)(?:\.exe)?\Z", re.IGNORECASE)
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
    text = _HEREDOC.sub(lambda found: f"{found[3]}\n", line.replace("\\\n", " "))[:_LONGEST_COMMAND]
    text = re.sub(r"(?m)^[ \t]*#.*$", "", text)
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


def _bare(words: tuple[str, ...]) -> tuple[str, ...]:
    """The command itself: without variables, wrappers (`sudo`, `uv run`, `timeout 60`) and their options."""
    while words:
        if re.match(r"(?:\$env:)?[A-Za-z_]\w*=", words[0]):
            words = words[1:]
            continue
        phrases = {n: " ".join((_program(words), *words[1:n])) for n in (3, 2, 1) if len(words) > n}
        size = next((n for n, phrase in phrases.items() if phrase in _WRAPPERS), 0)
        if not size:
            return words
        timed = _program(words) in ("timeout", "gtimeout")
        words = _without_options(words[size:])[1 if timed else 0 :]
    return words


def _program(words: tuple[str, ...]) -> str:
    return words[0].rsplit("/", 1)[-1].lower().removesuffix(".exe")


def _without_options(words: tuple[str, ...]) -> tuple[str, ...]:
    while words and words[0].startswith("-"):
        words = words[2:] if words[0] in _VALUED else words[1:]
    return words


def _command_action(command: Command, table: Mapping[str, str]) -> str:
    original = _bare(command.words)
    if not original:
        return "look"
    words = (_program(original), *original[1:])
    if command.writes and words[0] in ("cat", "echo", "printf", "tee"):
        return "write"
    if _SHELL.search(words[0]):
        inner = next((after for option, after in pairwise(words[1:]) if _INNER.fullmatch(option)), None)
        if inner is not None:
            return shell_action(inner, table)
    if words[0].startswith("python") and len(words) > 1 and words[1].endswith("manage.py"):
        words = ("manage.py", *words[2:])
    action = _looked_up(words, table) or _unknown(words, original[0])
    checking = any(re.fullmatch(r"--check.*|--diff|--dry-run|--list-different|-l", word) for word in words)
    return "lint" if action == "format" and checking else action


def _looked_up(words: tuple[str, ...], table: Mapping[str, str]) -> str | None:
    program, rest = words[0], words[1:]
    plain = (program, *(word for word in _without_options(rest) if not word.startswith("-")))
    flags = [re.sub(r"^-s$", "--status", word.lower()) for word in rest if word.startswith("-")]
    for before, after in pairwise(rest):
        if before in ("--status", "-s"):
            flags.append(f"--status={after}")
    phrases = [f"{' '.join(plain[:n])} {flag}" for n in (2, 1) for flag in flags]
    phrases += [" ".join(plain[:3]), " ".join(plain[:2])]
    named = next((table[phrase] for phrase in phrases if phrase in table), None)
    if named is None or named == "run":
        named = _scripted(plain) or named
    return named or table.get(program)


def _scripted(plain: tuple[str, ...]) -> str | None:
    """What `npm run X`, `make X` and their kind run, told from the first word of the script's name."""
    if plain[0] not in _RUNNERS or len(plain) < 2:
        return None
    name = plain[2] if plain[1] == "run" and len(plain) > 2 else plain[1]
    name = "typecheck" if name.startswith(("type-check", "check-types", "check:types")) else name
    return next((_SCRIPT_ACTIONS[part] for part in re.split(r"[:_\-.]", name.lower()) if part in _SCRIPT_ACTIONS), None)


def _unknown(words: tuple[str, ...], path: str) -> str:
    program = words[0]
    if ("/" in path and not path.startswith(("/usr/", "/bin/", "/opt/"))) or not _NAME.fullmatch(program):
        return "run"  # a script of the project: its name may tell more than a pattern should
    plain = _without_options(words[1:])
    return f"{program}-{plain[0]}" if plain and plain[0] in _VERBS else program


def shell_action(line: str, table: Mapping[str, str] = ACTIONS) -> str:
    """The action a whole shell line is about, e.g. ``cd x && git add -A && git commit -m y`` -> ``commit``."""
    commands = shell_commands(line)
    actions = [_command_action(command, table) for command in commands if not _filters(command, table)]
    telling = next((action for action in _TELLING if action in actions), None)
    if telling:
        return telling
    own = [action for action in actions if action not in _LAST]
    return own[-1] if own else next((action for action in _LAST if action in actions), "look")


def _filters(command: Command, table: Mapping[str, str]) -> bool:
    if not command.piped or command.writes:
        return False
    return _command_action(command, table) in ("read", "search", "look", "write")


def tool_used(line: str, action: str | None = None) -> str:
    """The program (and its first plain argument) that a shell line runs; with ``action``, the one that does that."""
    for command in shell_commands(line):
        words, does = _bare(command.words), _command_action(command, ACTIONS)
        if words and does == (action or does) and words[0] not in ("cd", "source", "."):
            plain = _without_options(words[1:])
            return " ".join((_program(words), *(plain[0].rsplit("/", 1)[-1:] if plain else ())))
    return ""


def commit_subject(line: str) -> str | None:
    """The first line of the message that a `git commit` in this shell line gives with -m or a heredoc; None if none."""
    for command in shell_commands(line):
        if _command_action(command, ACTIONS) != "commit":
            continue
        for word, after in pairwise((*command.words, "")):
            given = re.fullmatch(r"-[a-zA-Z]*m|--message", word)
            joined = re.match(r"--message=|-[as]*m(?=\S)", word)
            message = after if given else word[joined.end() :] if joined else None
            if message is not None and "<<" not in message and not message.lstrip().startswith("$(cat"):
                return message.strip().partition("\n")[0].strip() or None
            if message is not None or word in ("-F", "--file"):
                body = next((found[4] for found in _HEREDOC.finditer(line)), "")
                return body.strip().partition("\n")[0].strip() or None
    return None


def shell_line(tool_input: Mapping[str, object]) -> str | None:
    """The shell line among a tool's arguments: a string, or a list such as ``["bash", "-lc", line]``."""
    value = tool_input.get("command", tool_input.get("cmd"))
    if isinstance(value, list) and value and all(isinstance(part, str) for part in value):
        inner = next((after for option, after in pairwise(value) if _INNER.fullmatch(option)), None)
        return inner if inner is not None and _SHELL.search(value[0]) else shlex.join(value)
    return value if isinstance(value, str) else None


_SHELLS = _words(
    "Bash bash shell shell_command local_shell container.exec exec_command run_shell_command run_terminal_cmd"
    " execute_bash execute_command run_in_terminal run_command terminal powershell"
)


def action_of(tool: str, tool_input: Mapping[str, object], extra: Mapping[str, str] | None = None) -> str:
    """The action of one tool call: lower case, ``[a-z0-9_.-]``, at most 36 characters.

    ``extra`` maps more tool names or commands to actions and wins over the table. Unknown tools keep their name,
    ``mcp__server__tool`` becomes ``server-tool``.
    """
    table = {**ACTIONS, **extra} if extra else ACTIONS
    line = shell_line(tool_input)
    if extra and tool in extra:
        name = extra[tool]
    elif tool in _SHELLS:
        name = "run" if line is None else shell_action(line, table)  # None: left out or made unreadable
    elif tool in table:
        name = table.get(f"{tool} {line}", table[tool])  # an editor's command: view, create
    elif _OWN.fullmatch(tool):
        name = "todo"
    elif tool.startswith("mcp_"):
        name = "-".join(part for part in tool[4:].strip("_").split("__") if part)
    else:
        name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", tool)
    return re.sub(r"[^a-z0-9_.]+", "-", name.lower()).strip("-.")[:36].rstrip("-.") or "tool"


# --- did it fail? ---------------------------------------------------------------------------------------------------

_REFUSED = re.compile(
    r"The user doesn't want to (proceed|take this action)|\[Request interrupted by user|User (chose|rejected)|"
    r"User denied|requires approval|haven't granted|tool use was rejected|Sibling tool call errored|has been denied|"
    r"Permission to use \w+|(?:aborted|rejected|cancell?ed|denied|declined) by (?:the )?user|Operation cancell?ed|"
    r"user (?:rejected|denied|declined|cancell?ed|aborted|did not allow)",
    re.IGNORECASE,
)
_EXIT = re.compile(r"\s*(?:Error: )?Exit code:? (\d+)|.{0,400}?Process exited with code (\d+)", re.DOTALL)
# Summaries of test runners, linters and compilers, for calls whose exit code was lost in a pipe.
_COUNT = re.compile(
    r"\b(\d+|no) (?:[a-z]+ ){0,3}?(failed|failures?|failing|errors?|issues?|problems?|suggestions?|warnings?|"
    r"opportunit(?:y|ies)|offenses?|violations?)\b|\b(errors?|failures?|failed)\s*[=:]\s*(\d+)",
    re.IGNORECASE,
)
_PASSED = re.compile(r"\b\d+ (tests?|passed|passing|examples?)\b|All checks passed|no issues found|^OK\b")
_BROKEN = re.compile(
    r"^FAILED\b|^--- FAIL|^FAIL\b|test result: FAILED|BUILD FAILED|FAILURES!|^error(\[\w+\])?: |error TS\d+|"
    r"\*\* \(\w+(\.\w+)*\) |^\S*Traceback \(most recent|^E   \w*Error|Halting VM with exit status [1-9]|"
    r"exit(ed with)? (status|code) [1-9]|[Ww]ould reformat|would be reformatted|not (properly )?formatted|"
    r"Compilation failed|npm ERR!|ELIFECYCLE|^make: \*\*\* |^ERROR "
)
_NO_COMMAND = re.compile(r"\A\S{0,60}(?:sh|zsh|bash)\S{0,20}: .{0,80}(?:command )?not found", re.IGNORECASE)
_TAIL = 4000  # characters of output that hold a runner's summary


def failed(action: str, result: str, is_error: bool | None) -> bool | None:
    """Whether a call failed: True, False, or None where that cannot be told (no result, refused, interrupted).

    ``is_error`` and an ``Exit code N`` count first; for checks (tests, linters, compilers) the output's own summary
    does too, because the exit code is lost when the output is piped. A search without a match is no failure.
    """
    if (is_error and _REFUSED.search(result[:400])) or result.startswith("[Request interrupted"):
        return None
    code = _EXIT.match(result[:600])
    number = next((int(group) for group in code.groups() if group), 0) if code else 0
    if action in ("search", "read", "look") and (number == 1 or is_error) and len(result.strip()) < 14:
        return False
    if is_error or number or result.startswith("<tool_use_error>"):
        return True
    if not result and is_error is None:
        return None
    return (action in CHECKS and _summary_fails(result[-_TAIL:])) or bool(_NO_COMMAND.match(result))


def _summary_fails(tail: str) -> bool:
    for line in reversed(tail.splitlines()):
        verdict = "found" in line.lower()  # else a count of warnings is a compiler's aside
        found = [groups for groups in _COUNT.findall(line) if verdict or not groups[1].lower().startswith("warn")]
        counts = [before or after for before, _, _, after in found]
        if counts:
            return any(count.isdigit() and int(count) for count in counts)
        if _PASSED.search(line) or _BROKEN.search(line):
            return not _PASSED.search(line)
    return False

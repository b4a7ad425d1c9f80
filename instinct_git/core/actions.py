"""Names what a tool call does: `test`, `edit`, `commit` ... Pure.

Patterns are written in these names, so a name never quotes a path, an argument or anybody's words: it comes from the
table below, from a person's own table (``actions:`` in the config), or is the name of a program that everybody knows (with
its verb, where the verb is an ordinary one) or a tool's name as `core.naming` tells it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import pairwise
from types import MappingProxyType

from instinct_git.core.naming import PROGRAMS, tool_name
from instinct_git.core.shell import (
    HEREDOC,
    SHELL,
    Command,
    bare,
    inner_line,
    program_of,
    read_table,
    shell_commands,
    shell_line,
    split_words,
    without_options,
)
from instinct_git.core.transcript import ToolCall, Transcript

# An action, then the tools (as the agents spell them) and commands (one to three words) that do it.
# The longest command that matches wins: "npm run" before "npm".
_TABLE = """
test         pytest, py.test, unittest, tox, nox, ctest, jest, vitest, mocha, rspec, phpunit, bats, playwright test,
             mix test, cargo test, cargo nextest, go test, swift test, dotnet test, mvn test, mvn verify, gradle test,
             gradlew test, npm test, npm t, pnpm test, yarn test, bun test, deno test, make test, make check,
             just test, rake test, rails test, manage.py test, hatch test, rye test, bazel test, flutter test, dart test,
             sbt test, lein test, stack test, cabal test, meson test, zig build test, invoke-pester
lint         ruff, ruff check, flake8, pylint, bandit, pre-commit, pre-commit run, prek, eslint, oxlint, biome,
             biome check, stylelint, shellcheck, yamllint, rubocop, mix credo, mix dialyzer, cargo clippy, go vet,
             golangci-lint, staticcheck, phpstan, bash -n, sh -n, next lint, make lint, just lint,
             flutter analyze, dart analyze, ktlint, swiftlint, hadolint, tflint, sqlfluff, ansible-lint
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
merge        git merge, gh pr merge, glab mr merge
rebase       git rebase
pull-request gh pr create, glab mr create
edit         Edit, MultiEdit, NotebookEdit, edit_file, edit, multiedit, replace, insert, append, str_replace_editor,
             str_replace_based_edit_tool, file_editor, edit_file_by_replace, edit_file_by_line, append_file,
             insert_content_at_line, apply_patch, sed -i, perl -pi, patch,
             git apply, replace_in_file, search_replace, undo_edit, add-content
write        Write, write, write_file, create_file, create, str_replace_editor create, file_editor create,
             str_replace_based_edit_tool create, touch, tee, write_to_file, set-content, out-file, new-item
read         Read, read, NotebookRead, read_file, read_many_files, view, view_image, open, open_file, goto, goto_line, scroll_up,
             scroll_down, set_cursors, filemap, str_replace_editor view, file_editor view, str_replace_based_edit_tool view,
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


ACTIONS: Mapping[str, str] = dict(read_table(_TABLE))
"""Tool name, or command of one to three words, -> action. Callers add their own through ``extra``."""

LOOKS = frozenset({"read", "search", "look", "todo", "wait", "stop", "plan", "ask", "skill", "stage", "finish"})
"""Actions that may lie between the steps of a sequence: they look, wait or prepare, and change nothing on their own."""

SEES = frozenset({"read", "search", "look"})
"""Those of them that look at the work itself."""

FILES = frozenset({"edit", "write"})
"""Actions that change one file, by an editor's tool; a run of them is one step."""

LANDS = frozenset({"commit", "push", "pull-request", "merge", "deploy", "release", "publish"})
"""Actions that end a piece of work; an edit after one begins the next."""

CHANGES = frozenset(split_words("edit write run mkdir rm mv cp chmod ln rmdir"))
"""Actions that change files or do something nameless; a sequence of these alone says nothing."""

NAMELESS = frozenset({"tool", "mcp-tool"})
"""Tools of which nothing may be told; a sequence or combo with one says nothing."""

CHECKS = frozenset({"test", "lint", "typecheck", "compile", "build", "format"})
"""Actions whose failure is a finding about the work, not a call that did not happen."""
EXTERNAL = frozenset(
    split_words(
        "push pull-request deploy publish release upload submit send request fetch webfetch websearch ssh scp rsync"
    )
)
"""Actions and verbs that leave the working tree; a tool of another MCP server does too (see `candidates.external`)."""

_OWN = re.compile(
    r"(?:.*[_.:/-])?instinct(?:_+|[.:/-])(?:observe|suggest|search|consolidate|feedback|explain|candidates|propose)"
)
"""The memory's own tools, however an agent spells an MCP tool: asking and teaching it is no work that it learns from."""

# What a compound command is about: the first of these that it holds, else its last command that does something.
_TELLING = split_words(
    "commit push pull-request test typecheck lint build compile format install bd-claim bd-close bd-show merge rebase"
    " pull branch serve"
)
_LAST = split_words("fetch run edit write mkdir rm mv cp chmod stage read search wait stop look")
_RUNNERS = split_words(
    "npm pnpm yarn bun deno poe make just task rake turbo nx nox invoke gradle gradlew mise composer"
)
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
_SCRIPT_ACTIONS = dict(read_table(_SCRIPTS))
_VERBS = split_words("""
add apply archive audit backup bisect cancel cherry-pick claim clean clear clone close comment convert copy create
deploy destroy diff download edit enable disable exec export fetch generate get import info init inspect list load
login logs merge migrate move mv open plan publish pull push query ready rebase release reload remove rename render reopen
reset restart restore revert rm rollback run save scale scan search seed send serve set show start stash status stop
submit sync tag update upgrade upload validate verify view watch
""")
_NAME = re.compile(r"[a-z][a-z_-]{1,23}[0-9]{0,2}")


def _command_action(command: Command, table: Mapping[str, str]) -> str:
    original = bare(command.words)
    if not original:
        return "look"
    words = (program_of(original), *original[1:])
    if command.writes and words[0] in ("cat", "echo", "printf", "tee"):
        return "write"
    if SHELL.search(words[0]):
        inner = inner_line(words)
        if inner is not None:
            return shell_action(inner, table)
    if words[0].startswith("python") and len(words) > 1 and words[1].endswith("manage.py"):
        words = ("manage.py", *words[2:])
    action = _looked_up(words, table) or _unknown(words, original[0])
    checking = any(re.fullmatch(r"--check.*|--diff|--dry-run|--list-different|-l", word) for word in words)
    return "lint" if action == "format" and checking else action


def _looked_up(words: tuple[str, ...], table: Mapping[str, str]) -> str | None:
    program, rest = words[0], words[1:]
    plain = (program, *(word for word in without_options(rest) if not word.startswith("-")))
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
    name = plain[2] if plain[1] in ("run", "task") and len(plain) > 2 else plain[1]
    name = "typecheck" if name.startswith(("type-check", "check-types", "check:types")) else name
    return next((_SCRIPT_ACTIONS[part] for part in re.split(r"[:_\-.]", name.lower()) if part in _SCRIPT_ACTIONS), None)


def _unknown(words: tuple[str, ...], path: str) -> str:
    program, plain = words[0], without_options(words[1:])
    own = "/" in path and not path.startswith(("/usr/", "/bin/", "/opt/"))
    if own or not _NAME.fullmatch(program):
        return "run"  # a script of the project: its name may tell more than a pattern should
    name = program if program in PROGRAMS else "run"
    return f"{name}-{plain[0]}" if plain and plain[0] in _VERBS else name


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
        words, does = bare(command.words), _command_action(command, ACTIONS)
        if words and does == (action or does) and words[0] not in ("cd", "source", "."):
            plain = without_options(words[1:])
            return " ".join((program_of(words), *(plain[0].rsplit("/", 1)[-1:] if plain else ())))
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
                body = next((found[4] for found in HEREDOC.finditer(line)), "")
                return body.strip().partition("\n")[0].strip() or None
    return None


NO_FURTHER: Mapping[str, str] = MappingProxyType({})

_SHELLS = split_words(
    "Bash bash shell shell_command local_shell container.exec exec_command run_shell_command run_terminal_cmd"
    " execute_bash execute_command run_in_terminal run_command terminal powershell"
)


def action_of(tool: str, tool_input: Mapping[str, object], extra: Mapping[str, str] | None = None) -> str:
    """The action of one tool call: lower case, ``[a-z0-9_.-]``, at most 36 characters.

    ``extra`` maps more tool names or commands (as `further` gives them) to actions and wins over the table. What no table
    knows is named by ordinary words alone (see `core.naming`).
    """
    return _action_of(tool, tool_input, extra or NO_FURTHER, {**ACTIONS, **extra} if extra else ACTIONS)


def _action_of(tool: str, tool_input: Mapping[str, object], extra: Mapping[str, str], table: Mapping[str, str]) -> str:
    line = shell_line(tool_input)
    if tool in extra:
        name = extra[tool]
    elif tool in _SHELLS:
        name = "run" if line is None else shell_action(line, table)  # None: left out or made unreadable
    elif tool in table:
        name = table.get(f"{tool} {line}", table[tool])  # an editor's command: view, create
    elif _OWN.fullmatch(tool):
        name = "todo"
    else:
        name = tool_name(tool)
    return re.sub(r"[^a-z0-9_.]+", "-", name.lower()).strip("-.")[:36].rstrip("-.") or "tool"


def phrase(command: str) -> str:
    """A command as the table has them, ``uv run ./bin/ship.sh now`` as ``ship.sh now``; "" where no table could: one to
    three words, of which the last may be an option."""
    words = bare(tuple(command.split()))
    plain = [word for word in words[1:] if not word.startswith("-")]
    flags = [word.lower() for word in words[1:] if word.startswith("-")]
    if not words or len(flags) > 1 or len(plain) > 2 - len(flags):
        return ""
    return " ".join((program_of(words), *plain, *flags))


def further(given: Mapping[str, str]) -> dict[str, str]:
    """A person's own commands and tools with their actions, named as the table names them."""
    return {**given, **{phrase(name): action for name, action in given.items() if phrase(name)}}


def name_of(call: ToolCall) -> str:
    """The action of a call: as `named` told, else by the table alone."""
    return call.action or action_of(call.tool, call.input)


def named(transcripts: Iterable[Transcript], given: Mapping[str, str] = NO_FURTHER) -> list[Transcript]:
    """These sessions with every call's action, by the table and a person's own (``actions:`` in the config)."""
    extra = further(given)
    table = {**ACTIONS, **extra} if extra else ACTIONS
    return [
        replace(
            one,
            calls=tuple(replace(call, action=_action_of(call.tool, call.input, extra, table)) for call in one.calls),
        )
        for one in transcripts
    ]

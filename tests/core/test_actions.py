"""Tool calls get the name a reader would give them, and failures are seen even where the exit code is lost."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from instinct_git.core.actions import ACTIONS, action_of, commit_subject, named, shell_action, tool_used
from instinct_git.core.outcomes import failed
from instinct_git.core.shell import shell_commands, shell_line
from instinct_git.core.transcript import ToolCall, Transcript

HEREDOC_COMMIT = 'git commit -m "$(cat <<\'EOF\'\nfeat(cart): it\'s "done"\n\nrm -rf build && pytest\nEOF\n)"'


@pytest.mark.parametrize(
    ("line", "action"),
    [
        ("pytest -q", "test"),
        ("cd app && pytest -q 2>&1 | tail -5", "test"),
        ("FOO=1 BAR=/x/y pytest", "test"),
        ("env FOO=1 uv run --with coverage pytest tests", "test"),
        ("python -m pytest", "test"),
        ("python3 -m unittest discover", "test"),
        (".venv/bin/pytest", "test"),
        ("timeout 60 mix test --seed 0 2>&1 | head -100", "test"),
        ("sudo time bundle exec rspec", "test"),
        ("npm run test:unit", "test"),
        ("npm test -- --watch=false", "test"),
        ("make test", "test"),
        ("bash -c 'pytest -q'", "test"),
        ("for f in a b; do pytest $f; done", "test"),
        ("python manage.py test shop", "test"),
        ("ruff check . --fix", "lint"),
        ("ruff format --check .", "lint"),
        ("npm run lint", "lint"),
        ("mix format --check-formatted 2>&1; echo '---'; mix credo --strict 2>&1 | tail -20", "lint"),
        ("bash -n scripts/a.sh && echo ok", "lint"),
        ("ruff format .", "format"),
        ("poetry run mypy src", "typecheck"),
        ("npx tsc --noEmit --skipLibCheck", "typecheck"),
        ("tsc", "compile"),
        ("cargo build --release", "compile"),
        ("docker build -t x .", "build"),
        ("npm run build", "build"),
        ("pnpm add left-pad", "install"),
        ("sudo apt-get install -y jq", "install"),
        ("npm run dev", "serve"),
        ("git add -A && git commit -m 'x'", "commit"),
        ("git commit -m x && git push", "commit"),
        (HEREDOC_COMMIT, "commit"),
        ("git -C /srv/app commit -m x", "commit"),
        ("git push -u origin main", "push"),
        ("git checkout -b topic", "branch"),
        ("git branch -a", "look"),
        ("git status && git diff --stat && git log --oneline -5", "look"),
        ("git add x", "stage"),
        ("git stash", "git-stash"),
        ("gh pr create --title x", "pull-request"),
        ("cat > a.py << 'EOF'\nimport os  # don't\nEOF", "write"),
        ("cat a.py", "read"),
        ("cat < a.py", "read"),
        ("sed -n 1,20p a.py", "read"),
        ("sed -i s/a/b/ a.py", "edit"),
        ("ls -la | grep x", "look"),
        ("find . -name '*.py' | xargs grep -l x", "search"),
        ("test -f x", "look"),
        ("python3 script.py", "run"),
        ("./deploy-to-acme.sh now", "run"),
        ("echo | npx cowsay", "run"),
        ("docker compose exec -T web pytest -q", "test"),
        ("docker exec web bin/acme.sh", "run"),
        ("cmd /c npm test", "test"),
        ("deno task test", "test"),
        ("flutter analyze", "lint"),
        ("gh pr merge 3 --squash", "merge"),
        ("terraform apply -auto-approve", "terraform-apply"),
        ("mkdir -p a/b", "mkdir"),
        ("bd show shop-12 2>&1", "bd-show"),
        ("bd update shop-12 --status in_progress", "bd-claim"),
        ("bd update shop-12 --status=in_progress", "bd-claim"),
        ("bd update shop-12 --notes later", "bd-update"),
        ("bd close shop-12 --reason 'done && tested'", "bd-close"),
        ("acme-ctl deploy --all", "run-deploy"),
        ("acme-ctl data.csv", "run"),
        (". lib/acme.sh && acme_rand_hex 16", "run"),
        ("", "look"),
        ("'", "run"),
    ],
)
def test_a_shell_line_is_named_after_what_it_is_about(line: str, action: str) -> None:
    assert action_of("Bash", {"command": line}) == action


@pytest.mark.parametrize(
    ("tool", "action"),
    [
        ("Read", "read"),
        ("Edit", "edit"),
        ("MultiEdit", "edit"),
        ("NotebookEdit", "edit"),
        ("Write", "write"),
        ("Grep", "search"),
        ("Glob", "search"),
        ("WebSearch", "websearch"),
        ("WebFetch", "webfetch"),
        ("Task", "task"),
        ("Agent", "task"),
        ("TodoWrite", "todo"),
        ("BashOutput", "wait"),
        ("KillShell", "stop"),
        ("Skill", "skill"),
        ("mcp__github__create_issue", "github-create_issue"),
        ("SomethingNew", "new"),
        ("mcp__instinct__observe", "todo"),
        ("mcp_instinct_suggest", "todo"),
        ("instinct_feedback", "todo"),
        ("mcp__plugin_instinct_instinct__search", "todo"),
        ("instinct-propose", "todo"),
        ("instinct.explain", "todo"),
        ("", "tool"),
    ],
)
def test_a_tool_is_named_by_the_table_or_by_its_own_name(tool: str, action: str) -> None:
    assert action_of(tool, {}) == action


def test_more_names_can_be_given_for_tools_and_commands() -> None:
    extra = {"frob check": "lint", "Deployer": "deploy", "pytest": "slow-test"}
    assert action_of("Bash", {"command": "cd x && frob check ."}, extra) == "lint"
    assert action_of("Deployer", {}, extra) == "deploy"
    assert action_of("Bash", {"command": "pytest"}, extra) == "slow-test"


def test_a_command_given_as_a_list_is_read_like_a_line() -> None:
    assert action_of("shell", {"command": ["bash", "-lc", "cd x && pytest"]}) == "test"
    assert action_of("shell", {"cmd": ["git", "commit", "-m", "x"]}) == "commit"
    assert action_of("shell", {"command": ["cmd.exe", "/c", "npm", "test"]}) == "test"
    assert shell_line({"command": ["a", 1]}) is None


def test_a_heredoc_is_no_command() -> None:
    assert [command.words[0] for command in shell_commands("cat > x <<EOF\npytest\nEOF\nls\n")] == ["cat", "ls"]


@pytest.mark.parametrize(
    ("line", "subject"),
    [
        ('git commit -m "fix: a"', "fix: a"),
        ("git add -A && git commit -am 'fix: a' && git push", "fix: a"),
        ("git commit --message='fix: a'", "fix: a"),
        ('git commit -m "fix: a\n\nWhy it was so."', "fix: a"),
        (HEREDOC_COMMIT, 'feat(cart): it\'s "done"'),
        ("git commit -F - <<'EOF'\nfix: a\n\nbody\nEOF", "fix: a"),
        ("git commit --amend --no-edit", None),
        ("git status", None),
    ],
)
def test_the_subject_of_a_commit_is_found(line: str, subject: str | None) -> None:
    assert commit_subject(line) == subject


def test_the_program_that_does_an_action_is_found_in_a_compound_line() -> None:
    assert tool_used("cd x && uv run pytest -q && ls", "test") == "pytest"
    assert tool_used("cd x && node assets/build.js") == "node build.js"


@pytest.mark.parametrize(
    ("action", "result", "is_error", "expected"),
    [
        ("edit", "<tool_use_error>String to replace not found</tool_use_error>", True, True),
        ("edit", "The file has been updated.", None, False),
        ("run", "Exit code 2\nboom", None, True),
        ("run", "anything", False, False),
        ("search", "Exit code 1", True, False),
        ("search", "", False, False),
        ("edit", "The user doesn't want to proceed with this tool use.", True, None),
        ("run", "[Request interrupted by user for tool use]", None, None),
        ("run", "", None, None),
        ("run", "bash: frob: command not found", False, True),
        ("test", "14 doctests, 297 tests, 11 failures", False, True),
        ("test", "14 doctests, 297 tests, 0 failures", False, False),
        ("test", "=== 3 failed, 2 passed in 0.1s ===", False, True),
        ("test", "=== 2 passed, 1 warning in 0.1s ===", False, False),
        ("test", "Ran 3 tests in 0.1s\n\nFAILED (errors=1)", False, True),
        ("test", "Ran 3 tests in 0.1s\n\nOK", False, False),
        ("test", "test result: FAILED. 1 passed; 1 failed", False, True),
        ("test", "--- FAIL: TestCart (0.00s)\nFAIL", False, True),
        ("test", "  5 passing\n  1 failing", False, True),
        ("test", "** (Mix) Could not start application shop", False, True),
        ("test", "12 errors logged on purpose\n2 passed in 0.1s", False, False),
        ("lint", "Found 2 errors.\n[*] 1 fixable", False, True),
        ("lint", "Found 2 errors (2 fixed, 0 remaining).", False, False),
        ("lint", "Found 3 errors (1 fixed, 2 remaining).", False, True),
        ("lint", "[warn] a.js\n[warn] Code style issues found in the above file.", False, True),
        ("lint", "ruff.....................Failed\n- hook id: ruff", False, True),
        ("build", "error during build:\nRollupError: x", False, True),
        ("test", "# pass 2\n# fail 1\n# cancelled 0", False, True),
        ("test", "PASS src/a.test.ts\n  ✓ logs 2 errors (3 ms)", False, False),
        ("lint", "All checks passed!", False, False),
        ("lint", "679 mods/funs, found 1 code readability issue.\n\nUse `x` to explain issues.", False, True),
        ("lint", "679 mods/funs, found no issues.", False, False),
        ("lint", "✖ 3 problems (1 error, 2 warnings)", False, True),
        ("lint", "done (warnings were emitted)\nHalting VM with exit status 2", False, True),
        ("typecheck", "src/a.ts(1,2): error TS2307: Cannot find module 'x'", False, True),
        ("typecheck", "Success: no issues found in 3 source files", False, False),
        ("format", "2 files would be reformatted", False, True),
        ("read", "3 failed", None, False),
    ],
)
def test_failure_is_told_by_the_record_then_by_the_output(
    action: str, result: str, is_error: bool | None, expected: bool | None
) -> None:
    assert failed(action, result, is_error) is expected


def test_every_action_in_the_table_is_a_plain_name() -> None:
    assert all(re.fullmatch(r"[a-z][a-z-]*", action) for action in ACTIONS.values())


SHELL_TEXT = st.text(alphabet="abc git-commit 'm\"$()<>|&;\n\\#EOF{}=/.~", max_size=60) | st.text(max_size=60)


@given(SHELL_TEXT)
def test_any_line_gets_a_short_plain_name(line: str) -> None:
    assert re.fullmatch(r"[a-z0-9_][a-z0-9_.-]{0,35}", action_of("Bash", {"command": line}))
    commit_subject(line)
    tool_used(line)


@given(st.text(max_size=80), st.dictionaries(st.text(max_size=8), st.integers() | st.text() | st.lists(st.text())))
def test_any_tool_gets_a_short_plain_name(tool: str, arguments: dict[str, object]) -> None:
    assert re.fullmatch(r"[a-z0-9_][a-z0-9_.-]{0,35}", action_of(tool, arguments))


@given(st.sampled_from(["test", "lint", "search", "run"]), st.text(), st.none() | st.booleans())
def test_any_result_can_be_judged(action: str, result: str, is_error: bool | None) -> None:
    assert failed(action, result, is_error) in (True, False, None)


@pytest.mark.parametrize(
    ("tool", "given", "action"),
    [
        # Codex
        ("shell", {"command": ["bash", "-lc", "cd a && npm test"]}, "test"),
        ("exec_command", {"cmd": "uv run pytest -q"}, "test"),
        ("apply_patch", {"file_path": "a"}, "edit"),
        ("shell_command", {}, "run"),
        # Gemini CLI
        ("run_shell_command", {"command": "git push"}, "push"),
        ("replace", {"file_path": "a"}, "edit"),
        ("write_file", {"file_path": "a"}, "write"),
        ("search_file_content", {"pattern": "a"}, "search"),
        ("google_web_search", {"query": "a"}, "websearch"),
        ("mcp_linear_list_issues", {}, "linear-list_issues"),
        # Copilot CLI, OpenCode
        ("bash", {"command": "pnpm test"}, "test"),
        ("powershell", {"command": "$env:CI=1; Get-Content a | Select-String b"}, "read"),
        ("view", {"path": "a"}, "read"),
        ("create", {"path": "a"}, "write"),
        ("edit", {"filePath": "a"}, "edit"),
        ("todowrite", {}, "todo"),
        # SWE-agent, OpenHands
        ("str_replace_editor", {"command": "view", "path": "a"}, "read"),
        ("str_replace_editor", {"command": "create", "path": "a"}, "write"),
        ("str_replace_editor", {"command": "str_replace", "path": "a"}, "edit"),
        ("execute_bash", {"command": "cargo test"}, "test"),
        ("terminal", {"command": "cargo test"}, "test"),
        ("find_file", {}, "search"),
        ("submit", {}, "finish"),
    ],
)
def test_the_tools_of_every_agent_are_named_alike(tool: str, given: dict[str, object], action: str) -> None:
    assert action_of(tool, given) == action


@pytest.mark.parametrize(
    ("command", "line"),
    [
        (["bash", "-lc", "make test"], "make test"),
        (["/bin/zsh", "-c", "make test"], "make test"),
        (["powershell.exe", "-NoProfile", "-Command", "make test"], "make test"),
        (["C:\\Windows\\System32\\cmd.exe", "/c", "make test"], "make test"),
        (["grep", "-c", "x", "a b"], "grep -c x 'a b'"),
    ],
)
def test_the_line_of_a_shell_is_found_among_its_arguments(command: list[str], line: str) -> None:
    assert shell_line({"command": command}) == line


@pytest.mark.parametrize(
    ("line", "action"),
    [
        ("Set-Content a.txt x", "write"),
        ("Get-ChildItem -Recurse", "look"),
        ('powershell.exe -NoProfile -Command "npm test"', "test"),
        ('pwsh -c "Get-Content a"', "read"),
        ("sudo bash -lc 'npm ci'", "install"),
        ("pytest.exe -q", "test"),
    ],
)
def test_powershell_and_shells_in_shells_are_read(line: str, action: str) -> None:
    assert shell_action(line) == action


@pytest.mark.parametrize(
    "text",
    [
        "exec command rejected by user",
        "aborted by user after 3.1s",
        "Cancelled by the user.",
        "[Operation Cancelled] Reason: User did not allow tool call",
        "The user rejected this tool call.",
    ],
)
def test_what_a_person_refused_did_not_fail(text: str) -> None:
    assert failed("build", text, True) is None


def test_a_name_that_a_user_adds_wins_over_the_table_for_a_shell_too() -> None:
    assert action_of("bash", {"command": "ls"}, {"bash": "shell-work"}) == "shell-work"


@pytest.mark.parametrize(
    ("tool", "name"),
    [
        ("mcp__github__create_pull_request", "github-create_pull_request"),
        ("mcp__plugin_context7_context7__resolve-library-id", "context7-resolve_library_id"),
        ("mcp__claude_ai_Linear__list_issues", "linear-list_issues"),
        ("mcp__ide__getDiagnostics", "ide-get_diagnostics"),
        ("github-mcp-server__search_code", "github-search_code"),
        ("linear_create_issue", "linear-create_issue"),
        ("mcp_brave_search_web_search", "brave-search-web_search"),
        ("mcp__acme-corp__query", "mcp-query"),
        ("mcp__acme-corp__get_acme_invoices", "mcp-get_invoices"),
        ("mcp__acme-postgres__acme_orders_list", "postgres-orders_list"),
        ("mcp__acme__x7", "mcp-tool"),
        ("mcp__db.prod.acme.com__query", "mcp-query"),
        ("mcp_acme_lookup", "mcp-lookup"),
        ("AcmeLookup", "lookup"),
        ("acme", "tool"),
        ("mcp__", "mcp-tool"),
    ],
)
def test_a_server_is_named_only_if_everybody_knows_it_and_a_tool_by_ordinary_words(tool: str, name: str) -> None:
    assert action_of(tool, {}) == name


def calls_named(cwd: str, *lines: str, given: dict[str, str] | None = None) -> list[str]:
    calls = tuple(ToolCall(n, str(n), "Bash", {"command": line}, "", None, "") for n, line in enumerate(lines, 1))
    (one,) = named([Transcript("any", "s", "20260301", cwd, calls, {})], given or {})
    return [call.action for call in one.calls]


@pytest.mark.parametrize("cwd", ["/home/mallory/shop", "/Users/Mallory/shop", "C:\\Users\\mallory\\shop"])
def test_a_program_that_bears_the_name_of_its_owner_is_nameless(cwd: str) -> None:
    assert calls_named(cwd, "mallory-deploy x", "mallory", "pytest", "terraform apply") == [
        "run", "run", "test", "terraform-apply",
    ]  # fmt: skip


def test_a_persons_own_commands_and_tools_win_over_the_table() -> None:
    given = {"just deploy": "deploy", "make e2e": "test", "uv run ./bin/ship.sh": "ship", "pytest --slow": "slow-test",
             "npm run release:prod": "release"}  # fmt: skip
    lines = ["just deploy --now", "cd x && make e2e | tail", "FOO=1 uv run bin/ship.sh 1", "pytest --slow -q", "pytest",
             "npm run release:prod", "just other"]  # fmt: skip
    assert calls_named("", *lines, given=given) == [
        "deploy", "test", "ship", "slow-test", "test", "release", "run"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "action"),
    [
        (r".\venv\Scripts\pytest.exe -q", "test"),
        (r"C:\tools\npm.cmd test", "test"),
        (r'& "C:\Program Files\nodejs\npm.cmd" run lint; if ($?) { echo ok }', "lint"),
        ("$env:CI='1'; pytest -q | Select-Object -Last 5", "test"),
        (r".\gradlew.bat test", "test"),
    ],
)
def test_paths_of_windows_are_read(line: str, action: str) -> None:
    assert shell_action(line) == action

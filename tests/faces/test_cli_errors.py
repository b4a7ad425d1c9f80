"""The command line when something is wrong: two lines, a useful hint, exit 2, and nothing written."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import pytest

from instinct_git.errors import GitFailed
from instinct_git.faces import cli, quick, render
from instinct_git.memory import Memory
from tests.builders import KEY, Project, Ran, process, run_cli
from tests.faces.conftest import two_lines

Instinct = Callable[..., Ran]
SECRET = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"


@pytest.mark.parametrize(
    ("key", "error"),
    [
        ("", "the key is empty"), ("  ", "the key is empty"), ("x" * 201, "201 bytes"),
        ("note:" + "测" * 80, "245 bytes"),
        ("note:a\x07b", "U+0007"), ("note:a\nb", "line break"), ("note:a\u200bb", "U+200B"), ("seq:", "no body"),
    ],
)  # fmt: skip
def test_a_wrong_key_is_refused_and_nothing_written(instinct: Instinct, project: Project, key: str, error: str) -> None:
    two_lines(instinct("observe", key), error, "a key is prefix:body" if "bytes" not in error else "--note")
    assert project.inbox_files() == []


@pytest.mark.parametrize(
    ("arguments", "error", "hint"),
    [
        (("observe", "plain", "-c", "habit"), "there is no category 'habit'", "sequence, preference"),
        (("observe", KEY, "-c", "combo"), "is a sequence by its prefix", "leave --cat out"),
        (("observe",), "Missing argument", "`instinct observe --help`"),
        (("observe", KEY, "--nota", "x"), "No such option: --nota", "`instinct observe --help`"),
        (("suggest", "-n", "many"), "--limit", "`instinct suggest --help`"),
        (("suggest", "-n", "-1"), "--limit", "`instinct suggest --help`"),
        (("suggest", "--budget", "-5"), "--budget", "`instinct suggest --help`"),
        (("suggest", "extra"), "extra", "`instinct suggest --help`"),
        (("--nope",), "No such option: --nope", "`instinct --help`"),
        (("sugest",), "No such command 'sugest'", "did you mean `instinct suggest`?"),
        (("frobnicate",), "No such command 'frobnicate'", "`instinct --help`"),
        (("export",), "Missing command", "`instinct export --help`"),
        (("config", "suggest.budgt"), "there is no setting 'suggest.budgt'", "did you mean suggest.budget"),
        (("config", "suggest.budget", "lots"), "not a whole number", "default: suggest.budget: 800"),
        (("learn", "gone.jsonl"), "gone.jsonl does not exist", "name transcript files"),
        (("-C", "gone", "list"), "gone: No such file or directory", "name a folder that exists"),
        (("-C", "README.md", "list"), "README.md: Not a directory", "name a folder that exists"),
    ],
)  # fmt: skip
def test_wrong_use_is_two_lines_and_exit_2(
    instinct: Instinct, arguments: tuple[str, ...], error: str, hint: str
) -> None:
    two_lines(instinct(*arguments), error, hint)
    as_json = instinct(*arguments, "--json")
    assert as_json.code == 2 and as_json.err == ""
    assert set(as_json.json) == {"error", "hint"} and as_json.json["error"]


@pytest.mark.parametrize("verb", ["show", "explain", "history", "propose", "retire", "restore"])
def test_an_unknown_pattern_names_the_near_key(instinct: Instinct, project: Project, verb: str) -> None:
    project.observe(KEY)
    project.memory().consolidate()
    two_lines(instinct(verb, "seq:test->fix->tst"), "'seq:test->fix->tst'", f"did you mean {KEY}?")
    assert instinct(verb, "seq:test->fix->tst", "--json").json["hint"] == f"did you mean {KEY}?"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("version: [\n", ".instinct/config.yaml:"), ("version: 1\nconsolidat: anywhere\n", "no setting 'consolidat'"),
        ("version: 2\n", "newer"),
    ],
)  # fmt: skip
def test_a_broken_config_is_named(instinct: Instinct, project: Project, text: str, error: str) -> None:
    project.write(".instinct/config.yaml", text)
    for verb in (("suggest",), ("list",), ("consolidate",)):
        two_lines(instinct(*verb), error, "")
    done = instinct("observe", KEY)  # observing always works (law 7), and names what is wrong
    assert (done.code, done.out) == (0, f"observed {KEY}\n")
    assert error in done.err
    assert len(project.inbox_files()) == 1


def test_conflict_markers_in_a_pattern_file_are_a_finding(instinct: Instinct, project: Project) -> None:
    project.observe(KEY)
    project.memory().consolidate()
    path = project.memory().show(KEY).path or ""
    project.write(
        path,
        project.read(path).replace("confidence: 1\n", "<<<<<<< a\nconfidence: 1\n=======\nconfidence: 2\n>>>>>>> b\n"),
    )
    done = instinct("check")
    assert done.code == 1 and path in done.out and "conflict" in done.out
    assert instinct("list").code == 0


def test_a_pattern_file_without_front_matter_fails_the_check(instinct: Instinct, project: Project) -> None:
    assert instinct("check").code == 0
    project.write(".instinct/patterns/note/x.md", "just words\n")
    assert instinct("check").code == 1
    done = instinct("check", "--json")
    assert done.code == 1 and done.json["errors"] == 1 and done.json["findings"][0]["path"].endswith("note/x.md")


def test_verbs_that_need_a_memory_say_how_to_start_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    other = Project.new(tmp_path / "other")
    monkeypatch.chdir(other.root)
    two_lines(run_cli(monkeypatch, capsys, "check"), "has no memory", "instinct init")


@pytest.mark.parametrize("verb", ["history", "propose"])
def test_what_needs_git_says_so_in_a_plain_folder(anywhere: Instinct, verb: str) -> None:
    anywhere("init")
    anywhere("observe", KEY)
    anywhere("consolidate")
    two_lines(anywhere(verb, KEY), "no git repository", "git init")


def test_a_secret_is_refused_by_its_rule_and_nothing_is_written(instinct: Instinct, project: Project) -> None:
    done = instinct("observe", KEY, "--note", f"use {SECRET}")
    two_lines(done, "the note looks like it holds a secret (rule ", "leave the value out")
    assert SECRET not in done.err
    as_json = instinct("observe", KEY, "--title", SECRET, "--json")
    assert as_json.code == 2 and SECRET not in as_json.out
    assert project.inbox_files() == []
    assert not any(SECRET.encode() in file.read_bytes() for file in project.root.rglob("*") if file.is_file())


def test_another_programs_many_lines_stay_one_line(instinct: Instinct, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise GitFailed("git said:\nfatal: \x1b[31mno\n", "look\nhere")

    monkeypatch.setattr(Memory, "stats", fail)
    two_lines(instinct("stats"), "git said: fatal:  [31mno", "look here")


def test_a_bug_is_a_log_and_exit_3(instinct: Instinct, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("unforeseen")

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for method, verb in (("stats", "stats"), ("suggestions", "suggest")):
        monkeypatch.setattr(Memory, method, broken)
        done = instinct(verb)
        assert done.code == 3 and done.err.startswith("error: this is a bug: RuntimeError: unforeseen\nhint: ")
        log = Path(done.err.split()[-1])
        assert "unforeseen" in log.read_text(encoding="utf-8") and log.parent == tmp_path


def test_an_interrupt_is_130(instinct: Instinct, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Memory, "suggestions", interrupt)
    monkeypatch.setattr(Memory, "stats", interrupt)
    assert (instinct("suggest").code, instinct("stats").code) == (130, 130)


# --- the quick way and the full way ---------------------------------------------------------------------------------


def options_of(command: Callable[..., Any]) -> tuple[dict[str, str], dict[str, str]]:
    """Return {option: parameter} of a command: those that take a value, and flags."""
    values: dict[str, str] = {}
    flags: dict[str, str] = {}
    for name, hint in get_type_hints(command, include_extras=True).items():
        if get_origin(hint) is not Annotated:
            continue
        kind, info = get_args(hint)[:2]
        if type(info).__name__ == "OptionInfo":
            (flags if kind is bool else values).update(dict.fromkeys([info.default, *(info.param_decls or ())], name))
    return values, flags


@pytest.mark.parametrize(
    ("command", "values", "flags"),
    [
        (cli.observe, quick.OBSERVE_VALUES, quick.OBSERVE_FLAGS),
        (cli.suggest, quick.SUGGEST_VALUES, quick.SUGGEST_FLAGS),
        (cli.serve, quick.SERVE_VALUES, {}),
    ],
)  # fmt: skip
def test_the_quick_parser_and_the_full_one_have_the_same_options(
    command: Callable[..., Any], values: dict[str, str], flags: dict[str, str]
) -> None:
    assert options_of(command) == (values, flags)
    names = set(inspect.signature(command).parameters) - {"key"}
    assert names == set(values.values()) | set(flags.values())


@pytest.mark.parametrize(
    "arguments", [("observe", KEY, "--source=cursor", "--json"), ("suggest", "--limit=1"), ("suggest",)]
)
def test_both_ways_do_the_same(
    instinct: Instinct, project: Project, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    project.observe(KEY, 6)
    project.memory().consolidate()
    fast = instinct(*arguments)
    monkeypatch.setattr(quick, "run", lambda *_: None)
    full = instinct(*arguments)
    if arguments[0] == "observe":
        assert {**fast.json, "id": "", "live": 7} == {**full.json, "id": "", "live": 7}
    else:
        assert fast == full and fast.code == 0


def test_observe_and_suggest_load_no_heavy_library(project: Project) -> None:
    import subprocess

    code = (
        "import sys; from instinct_git.faces.entry import main; main();"
        "print(sorted({'typer', 'git', 'mcp', 'yaml', 'ruamel', 'pydantic'} & set(sys.modules)))"
    )
    for arguments in (["observe", KEY], ["suggest"]):
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments], cwd=project.root, capture_output=True, text=True, timeout=60
        )
        assert done.stdout.split("\n")[-2] == "[]", done


# --- colours --------------------------------------------------------------------------------------------------------


def test_there_are_no_escape_codes_but_on_a_terminal_that_wants_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR")
    assert render.paint("x", "rule") == "\x1b[32mx\x1b[0m"
    monkeypatch.setenv("NO_COLOR", "1")
    assert render.paint("x", "rule") == "x"
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert render.paint("x", "rule") == "x"
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: False, raising=False)
    assert render.paint("x", "rule") == "x"


def test_a_pipe_gets_plain_text_even_without_no_color(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.observe(KEY, 6)
    project.memory().consolidate()
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "xterm-256color")
    for verb in (["suggest"], ["list"], ["--help"], ["frob"], ["show", "--frob"]):
        done = process(project.root, *verb)
        assert "\x1b" not in done.out + done.err, verb

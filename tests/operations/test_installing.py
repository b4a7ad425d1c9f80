"""Agents' settings: our pieces go in, everything foreign stays byte for byte, and comes back exactly."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from instinct_git.bridges.agents import jsonc, table
from instinct_git.bridges.agents.edited import without
from instinct_git.bridges.agents.table import AGENTS, BY_NAME, Surroundings, Target
from instinct_git.errors import InstinctError
from instinct_git.operations import foreign, installing
from instinct_git.storage import installed
from tests.builders import git

NAMES = [one.name for one in AGENTS]
LEVELS = (installing.BOTH, installing.PROJECT, installing.USER)


@pytest.fixture
def where(tmp_path: Path, sealed: Path) -> Surroundings:
    """A repository and a home."""
    top = tmp_path / "repository"
    top.mkdir()
    git(top, "init", "-q")
    return Surroundings(top, sealed, {"PATH": ""}, "linux")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "instinct-home"


def install(where: Surroundings, home: Path, *names: str, level: str = "") -> foreign.Plan:
    plan = installing.plan_install(where, home, names, level)
    foreign.apply(plan, home)
    return plan


def uninstall(where: Surroundings, home: Path, *names: str, level: str = "") -> foreign.Plan:
    plan = installing.plan_uninstall(where, home, names, level)
    foreign.apply(plan, home)
    return plan


def everything(where: Surroundings) -> dict[str, bytes]:
    """Every file of the repository and the home, folders too."""
    found: dict[str, bytes] = {}
    for base in (where.top, where.home):
        assert base is not None
        for folder, folders, names in os.walk(base):
            folders[:] = [one for one in folders if one != ".git"]
            found |= {os.path.join(folder, name): Path(folder, name).read_bytes() for name in names}
            found |= {os.path.join(folder, name) + "/": b"" for name in folders}
    return found


def targets(name: str) -> list[Target]:
    agent = BY_NAME[name]
    return [*agent.project, *agent.only_user]


def value(path: Path, text: str) -> Any:
    """What the agent's own reader sees, as far as Python has one."""
    text = text.removeprefix("\ufeff")
    if path.suffix == ".toml":
        return tomllib.loads(text)
    if path.suffix == ".yaml":
        return YAML(typ="safe").load(text) or {}
    return jsonc.plain(text) if path.suffix in (".json", ".jsonc") else text


def holds(after: Any, before: Any) -> bool:
    """True when everything that was there is there, lists with ours at their end."""
    if isinstance(before, dict):
        return all(key in after and holds(after[key], one) for key, one in before.items())
    if isinstance(before, list):
        return len(after) >= len(before) and all(holds(*pair) for pair in zip(after, before, strict=False))
    return after == before or (isinstance(before, str) and before in after)


JSON = {
    "comments": '{\n  // mine\n  "model": "x", /* why */\n  "permissions": {\n    "allow": ["Bash(ls)"] // more\n  } // last\n}\n',
    "a trailing comma": '{\n  // mine\n  "a": 1, // last\n}\n',
    "tabs and CRLF": '{\r\n\t"a": 1,\r\n\t"b": {\r\n\t\t"c": [1, 2] // c\r\n\t}\r\n}\r\n',
    "four spaces, no last newline": '{\n    "a": {"b": 1}, "c": [\n        1\n    ]\n}',
    "one line": '{"a": {"b": [1, 2]}, "c": "ü"}',
    "a byte order mark": '\ufeff{\n  "a": 1\n}\n',
    "others' servers and hooks": json.dumps(
        {
            "version": 1,
            **{name: {"other": {"command": "other", "args": ["serve"]}} for name in ("mcpServers", "servers", "mcp")},
            "hooks": {
                event: [{"matcher": "x", "hooks": [{"type": "command", "command": "other"}]}]
                for event in ("SessionStart", "Stop", "SessionEnd", "sessionStart", "AfterAgent", "sessionEnd")
            },
        },
        indent=2,
    )
    + "\n",
    "a comment at the end": '{\n  "a": 1\n  // "b": 2\n}\n',
}
JSON_EMPTY = {
    "nothing": "",
    "blank": "\n\n",
    "an empty object": "{}",
    "an open empty object": "{\n}\n",
    "a comment alone": "{ // nothing yet\n}\n",
    "empty parents": '{"mcpServers": {}, "servers": {}, "mcp": {}, "hooks": {}}',
    "empty lists": '{\n  "mcpServers": { },\n  "servers": {\n  },\n  "mcp": {},\n  "hooks": {"SessionStart": [], "sessionStart": [ ]}\n}\n',
}
TOML = {
    "comments": '# mine\nmodel = "x"  # why\n\n[projects."/a b"]\ntrust_level = "trusted" # yes\n# the end\n',
    "CRLF": '[mcp_servers.other]\r\ncommand = "other"\r\n\r\n[[hooks.Stop]]\r\n',
    "blank lines at the end": "a = 1\n\n\n",
}
YAML_TEXTS = {
    "comments": "# mine\nGOOSE_MODEL: x  # why\nextensions:\n    # theirs\n    developer:\n        enabled: true\n    memory: {enabled: true}\nother: 'y'\n",
    "CRLF": "extensions:\r\n  developer:\r\n    args:\r\n    - a\r\n",
    "no extensions": "GOOSE_MODEL: x\n",
}
MARKDOWN = {
    "words": "# Rules\n\n* one\n* two\n",
    "CRLF": "---\r\nalwaysApply: false\r\n---\r\n# Rules\r\n",
    "a byte order mark": "\ufeff# Rules\n",
}
NO_LAST_NEWLINE = {".toml": "a = 1", ".yaml": "a: 1", ".md": "# Rules"}


def texts(target: Target, also_empty: bool) -> list[str]:
    suffix = Path(target.names[0]).suffix
    found = {".toml": TOML, ".yaml": YAML_TEXTS, ".json": JSON}.get(suffix, MARKDOWN)
    empty = {**JSON_EMPTY} if suffix == ".json" else {"": "", "n": "\n", "x": NO_LAST_NEWLINE.get(suffix, "# Rules")}
    refused = {table.JSON: ("//", ",\n}", ", // last"), table.COMMENTS: (", // last",)}.get(target.takes, ())
    return [
        one
        for one in (*found.values(), *(empty.values() if also_empty else ()))
        if not any(bad in one for bad in refused)
    ]


CASES = [(one.name, number) for one in AGENTS for number in range(len(targets(one.name)))]


@pytest.mark.parametrize(("name", "number"), CASES)
def test_settings_keep_every_byte_and_come_back_exactly(
    where: Surroundings, home: Path, name: str, number: int
) -> None:
    target = targets(name)[number]
    path = target.path(where)
    assert path is not None
    for text in texts(target, also_empty=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        plan = install(where, home, name)
        [change] = [one for one in plan.changes if one.path == path]
        after = path.read_bytes().decode()
        assert change.note is not None and without(after, change.note.spans) == text, text
        assert after.count("\n") == after.count("\r\n") or "\r" not in after
        assert install(where, home, name).changes == ()
        states = {one.state for one in installing.status(where) if Path(one.path) == path and one.agent == name}
        assert states == {installing.WIRED}
        assert holds(value(path, after), value(path, text))
        uninstall(where, home, name)
        assert path.read_bytes().decode() == text
        path.unlink()


@pytest.mark.parametrize(("name", "number"), CASES)
def test_without_the_note_our_pieces_are_found_and_cut_out(
    where: Surroundings, home: Path, name: str, number: int
) -> None:
    target = targets(name)[number]
    path = target.path(where)
    assert path is not None
    for text in texts(target, also_empty=False):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        install(where, home, name)
        (home / "installed.json").unlink()
        uninstall(where, home, name)
        expected = text.removesuffix("\n") if text == TOML["blank lines at the end"] else text
        assert path.read_bytes().decode() == expected
        path.unlink()


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", NAMES)
def test_where_there_was_no_file_there_is_none_afterwards(
    where: Surroundings, home: Path, name: str, level: str
) -> None:
    before = everything(where)
    plan = install(where, home, name, level=level)
    assert {one.action for one in plan.changes} == {"create"}
    written = everything(where)
    assert all(path.endswith("/") or path.encode() for path in written) and len(written) > len(before)
    assert install(where, home, name, level=level).changes == ()
    assert everything(where) == written
    assert {one.action for one in uninstall(where, home, name, level=level).changes} == {"remove"}
    assert everything(where) == before
    assert not (home / "installed.json").exists()


def test_all_agents_at_once_and_back(where: Surroundings, home: Path) -> None:
    before = everything(where)
    install(where, home, *NAMES)
    install(where, home, *NAMES, level=installing.USER)
    for one in installing.status(where):
        assert one.state == installing.WIRED, one
    uninstall(where, home, *NAMES)
    uninstall(where, home, *NAMES, level=installing.USER)
    assert everything(where) == before


def test_the_project_level_stays_in_the_repository(where: Surroundings, home: Path) -> None:
    plan = installing.plan_install(where, home, NAMES, installing.PROJECT)
    assert not plan.outside and plan.changes
    assert any("windsurf" in one and "--project" in one for one in plan.notices)
    assert installing.plan_install(where, home, ["windsurf"]).outside


def test_a_home_that_is_a_repository_is_still_the_persons(where: Surroundings, home: Path) -> None:
    git(where.home, "init", "-q")
    plan = installing.plan_install(where._replace(top=where.home), home, ["claude-code"], installing.USER)
    assert len(plan.outside) == 2


def test_outside_of_a_repository_the_users_files_are_meant(where: Surroundings, home: Path) -> None:
    plan = installing.plan_install(where._replace(top=None), home, ["claude-code"])
    assert [one.path.name for one in plan.changes] == [".claude.json", "settings.json"]
    assert len(plan.outside) == 2
    with pytest.raises(InstinctError, match="no repository"):
        installing.plan_install(where._replace(top=None), home, ["cursor"], installing.PROJECT)


def test_agents_that_say_where_their_settings_are_find_them_there(
    where: Surroundings, home: Path, tmp_path: Path
) -> None:
    environ = {
        name: str(tmp_path / name) for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "XDG_CONFIG_HOME")
    }
    moved = where._replace(environ=environ)
    plan = installing.plan_install(
        moved, home, ["claude-code", "codex", "copilot", "opencode", "vscode"], installing.USER
    )
    assert all(one.path.is_relative_to(tmp_path) and not one.path.is_relative_to(where.home) for one in plan.changes)


def test_a_hook_of_others_beside_ours_stays(where: Surroundings, home: Path) -> None:
    install(where, home, "claude-code")
    assert where.top is not None
    path = where.top / ".claude" / "settings.json"
    data = json.loads(path.read_text())
    data["hooks"]["Stop"][0]["hooks"].append({"type": "command", "command": "instinctive serve"})
    data["hooks"]["Stop"].append({"hooks": [{"type": "command", "command": "mine instinct-hook"}]})
    path.write_text(json.dumps(data, indent=4))
    uninstall(where, home, "claude-code")
    assert json.loads(path.read_text()) == {
        "hooks": {
            "Stop": [
                {"hooks": [{"type": "command", "command": "instinctive serve"}]},
                {"hooks": [{"type": "command", "command": "mine instinct-hook"}]},
            ]
        }
    }


def test_what_was_edited_after_the_installation_loses_our_pieces_alone(where: Surroundings, home: Path) -> None:
    assert where.top is not None
    path = where.top / ".mcp.json"
    path.write_text('{\n  "mcpServers": {\n    "a": {"command": "a"}\n  }\n}\n')
    install(where, home, "claude-code")
    path.write_text(path.read_text().replace('"a": {"command": "a"}', '"b": {"command": "b"}'))
    uninstall(where, home, "claude-code")
    assert path.read_text() == '{\n  "mcpServers": {\n    "b": {"command": "b"}\n  }\n}\n'


@pytest.mark.parametrize(
    ("name", "path", "text"),
    [
        ("claude-code", ".mcp.json", '{"mcpServers": {"instinct": {"command": "uvx", "args": ["instinct", "serve"]}}}'),
        ("codex", ".codex/config.toml", '[mcp_servers.instinct]\ncommand = "uvx"\nargs = ["instinct"]\n'),
    ],
)
def test_a_registration_of_the_persons_own_is_left_alone(
    where: Surroundings, home: Path, name: str, path: str, text: str
) -> None:
    assert where.top is not None
    file = where.top / path
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    assert any("of your own" in one for one in install(where, home, name).notices)
    assert file.read_text() == text
    uninstall(where, home, name)
    assert file.read_text() == text
    assert {one.state for one in installing.status(where) if one.path == str(file)} <= {installing.YOURS}


@pytest.mark.parametrize(
    ("first", "second", "path"), [("goose", "opencode", "AGENTS.md"), ("claude-code", "copilot", ".mcp.json")]
)
def test_what_two_agents_read_stays_until_both_are_gone(
    where: Surroundings, home: Path, first: str, second: str, path: str
) -> None:
    assert where.top is not None
    before = everything(where)
    install(where, home, first, second)
    plan = uninstall(where, home, first)
    assert (where.top / path).exists() and any(f"{BY_NAME[second].title} reads it too" in one for one in plan.notices)
    assert {one.agent for one in installing.status(where) if one.state == installing.WIRED} == {second}
    uninstall(where, home, second)
    assert everything(where) == before


def test_an_older_block_is_brought_up_to_date_in_its_place(where: Surroundings, home: Path) -> None:
    assert where.top is not None
    path = where.top / "AGENTS.md"
    install(where, home, "opencode")
    ours = path.read_text()
    path.write_text("# Mine\n\n<!-- instinct:rule:start -->\nold\n<!-- instinct:rule:end -->\n\nand more\n")
    install(where, home, "opencode")
    assert path.read_text() == f"# Mine\n\n{ours}\nand more\n"


# --- bad input ------------------------------------------------------------------------------------------------------

BROKEN = [
    ("claude-code", ".mcp.json", "{'mcpServers': {}}", "line 1"),
    ("claude-code", ".claude/settings.json", '{\n  "a": 1\n  "b": 2\n}', "line 3"),
    ("claude-code", ".claude/settings.json", '{"a": 1', "not valid JSON"),
    ("claude-code", ".mcp.json", "[]", "no object"),
    (
        "claude-code",
        ".claude/settings.json",
        '{"a": 1} // c',
        "a comment or a trailing comma, and this agent then ignores",
    ),
    ("codex", ".codex/hooks.json", '{"a": 1,}', "a comment or a trailing comma"),
    ("cursor", ".gemini/settings.json", '{"a": [{"b": [1,]}] /* c */}', "a trailing comma"),
    ("claude-code", ".mcp.json", '{"mcpServers": []}', "mcpServers is there, but it is no object"),
    ("claude-code", ".mcp.json", '{"mcpServers": null}', "no object"),
    ("claude-code", ".claude/settings.json", '{"hooks": {"Stop": {}}}', "hooks.Stop is there, but it is no list"),
    ("claude-code", ".mcp.json", "{}}", "line 1"),
    ("claude-code", ".mcp.json", '{"a":' + "[" * 100_000, "nested too deeply"),
    ("codex", ".codex/config.toml", "a = \n", "not valid TOML"),
    ("codex", ".codex/config.toml", "mcp_servers = {}\n", "no table can be added"),
    ("opencode", "AGENTS.md", "<!-- instinct:rule:end -->\n<!-- instinct:rule:start -->\n", "markers"),
    ("opencode", "AGENTS.md", "<!-- instinct:rule:start -->\n", "markers"),
]


@pytest.mark.parametrize(("name", "path", "text", "why"), BROKEN)
def test_what_cannot_be_read_is_not_touched_and_nothing_else_is(
    where: Surroundings, home: Path, name: str, path: str, text: str, why: str
) -> None:
    assert where.top is not None
    file = where.top / path
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    before = everything(where)
    with pytest.raises(InstinctError, match=why) as caught:
        installing.plan_install(where, home, [name, "gemini"])
    assert str(file) in caught.value.message and "nothing was written" in caught.value.hint
    assert everything(where) == before
    (where.top / f".{name.removesuffix('-code')}").mkdir(exist_ok=True)
    assert str(file) in {one.path for one in installing.status(where)}  # which says so, and does not fail


@pytest.mark.parametrize(
    "text",
    [
        "extensions: {}\n",
        "a: 1\n---\nb: 2\n",
        "extensions:\n\tdeveloper: 1\n",
        "a: 1\nextensions: 1\nextensions: 2\n",
        "just words\n",
    ],
)
def test_yaml_in_another_form_is_not_touched(where: Surroundings, home: Path, text: str) -> None:
    file = where.home / ".config" / "goose" / "config.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(text)
    with pytest.raises(InstinctError, match="is not touched"):
        installing.plan_install(where, home, ["goose"])


def test_bytes_that_are_no_text_are_not_touched(where: Surroundings, home: Path) -> None:
    assert where.top is not None
    for data in (b"\xff\xfe{\0}\0", b'{"a": "\xe4"}'):
        (where.top / ".mcp.json").write_bytes(data)
        with pytest.raises(InstinctError, match="no UTF-8 text"):
            installing.plan_install(where, home, ["claude-code"])
    (where.top / ".mcp.json").unlink()
    (where.top / ".mcp.json").mkdir()
    with pytest.raises(InstinctError, match="cannot be read"):
        installing.plan_install(where, home, ["claude-code"])


def test_a_symbolic_link_is_kept_and_its_target_edited(where: Surroundings, home: Path, tmp_path: Path) -> None:
    assert where.top is not None
    real = tmp_path / "dotfiles.json"
    real.write_text('{\n  "a": 1\n}\n')
    link = where.top / ".mcp.json"
    link.symlink_to(real)
    plan = install(where, home, "claude-code")
    assert [one.path for one in plan.outside] == [link]
    assert link.is_symlink() and "instinct" in real.read_text()
    uninstall(where, home, "claude-code")
    assert link.is_symlink() and real.read_text() == '{\n  "a": 1\n}\n'
    real.unlink()
    install(where, home, "claude-code")
    assert link.is_symlink() and "instinct" in real.read_text()
    uninstall(where, home, "claude-code")
    assert link.is_symlink() and not real.exists()


def test_a_link_that_leads_to_itself_is_a_clear_error(where: Surroundings, home: Path) -> None:
    assert where.top is not None
    (where.top / ".mcp.json").symlink_to(where.top / ".mcp.json")
    with pytest.raises(InstinctError, match=r"\.mcp\.json"):
        installing.plan_install(where, home, ["claude-code"])


def test_read_only_files_and_folders_are_a_clear_error(where: Surroundings, home: Path) -> None:
    assert where.top is not None
    file = where.top / ".mcp.json"
    file.write_text("{}")
    file.chmod(0o444)
    with pytest.raises(InstinctError, match="read-only"):
        installing.plan_install(where, home, ["claude-code"])
    file.unlink()
    folder = where.top / ".claude"
    folder.mkdir(mode=0o555)
    with pytest.raises(InstinctError, match="read-only"):
        installing.plan_install(where, home, ["claude-code"])
    assert not file.exists()
    folder.chmod(0o755)


def test_a_failure_in_the_middle_puts_everything_back(
    where: Surroundings, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert where.top is not None
    (where.top / ".mcp.json").write_text('{"a": 1}')
    before = everything(where)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(installed, "write", full)
    plan = installing.plan_install(where, home, NAMES)
    with pytest.raises(InstinctError, match="No space left"):
        foreign.apply(plan, home)
    assert everything(where) == before


def test_a_file_that_changed_since_the_plan_is_not_overwritten(where: Surroundings, home: Path) -> None:
    assert where.top is not None
    plan = installing.plan_install(where, home, ["claude-code"])
    (where.top / ".mcp.json").write_text('{"new": 1}')
    with pytest.raises(InstinctError, match="changed meanwhile"):
        foreign.apply(plan, home)
    assert not (where.top / ".claude").exists()


def test_a_lost_or_broken_note_is_no_error(where: Surroundings, home: Path) -> None:
    home.mkdir()
    for text in ("", "[]", '{"/a": 1}', '{"/a": {"sha": "", "spans": [[1]], "created": true, "folders": []}}'):
        (home / "installed.json").write_text(text)
        install(where, home, "claude-code")
        (home / "installed.json").write_text(text)
        uninstall(where, home, "claude-code")
    assert where.top is not None and not (where.top / ".mcp.json").exists()


def test_an_unknown_agent_is_named_with_the_near_one(where: Surroundings, home: Path) -> None:
    with pytest.raises(InstinctError) as caught:
        installing.plan_install(where, home, ["claude"])
    assert "claude-code" in caught.value.hint


def test_agents_are_detected_by_their_folders_and_commands(where: Surroundings, tmp_path: Path) -> None:
    assert installing.detected(where) == []
    (where.home / ".gemini").mkdir()
    program = tmp_path / "bin" / "codex"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert installing.detected(where._replace(environ={"PATH": str(program.parent)})) == ["codex", "gemini"]

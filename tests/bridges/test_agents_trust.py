"""Whether an agent trusts a project, as its own notes say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from instinct_git.bridges.agents.table import Surroundings
from instinct_git.bridges.agents.trust import trust

TOP = Path("/home/dev/shop")
HOOKS = Path("/home/dev/shop/.codex/hooks.json")
PROJECT = '[projects."/home/dev/shop"]\ntrust_level = "trusted"\n'
STATE = '[hooks.state."/home/dev/shop/.codex/hooks.json:session_start:0:0"]\n'
FOLDER = "trust the folder"


def said(home: Path, agent: str, notes: dict[str, str], **options: Any) -> tuple[str, str]:
    for name, text in notes.items():
        file = home / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    where = Surroundings(TOP, home, options.pop("environ", {}))
    return tuple(trust(agent, where, **{"project": True, **options}))


def claude(**project: Any) -> dict[str, str]:
    return {".claude.json": json.dumps({"projects": {"/home/dev/shop": project}})}


@pytest.mark.parametrize(
    ("agent", "notes", "state"),
    [
        ("claude-code", {}, "no"),
        ("claude-code", claude(hasTrustDialogAccepted=False), "no"),
        ("claude-code", claude(hasTrustDialogAccepted=True), "yes"),
        ("claude-code", claude(hasTrustDialogAccepted=True, disabledMcpjsonServers=["instinct"]), "no"),
        ("claude-code", {".claude.json": '{"projects": {"/home/dev": {"hasTrustDialogAccepted": true}}}'}, "yes"),
        ("claude-code", {".claude.json": "{torn"}, "unknown"),
        ("claude-code", {".claude.json": '{"projects": []}'}, "unknown"),
        ("codex", {}, "no"),
        ("codex", {".codex/config.toml": PROJECT}, "no"),  # its hooks are not trusted
        ("codex", {".codex/config.toml": PROJECT + STATE + 'trusted_hash = "sha256:1"\n'}, "yes"),
        ("codex", {".codex/config.toml": PROJECT + STATE + 'trusted_hash = "sha256:1"\nenabled = false\n'}, "no"),
        ("codex", {".codex/config.toml": STATE + 'trusted_hash = "sha256:1"\n'}, "no"),
        ("codex", {".codex/config.toml": "[torn"}, "unknown"),
        ("gemini", {}, "no"),
        ("gemini", {".gemini/trustedFolders.json": '{"/home/dev/shop": "TRUST_FOLDER"}'}, "yes"),
        ("gemini", {".gemini/trustedFolders.json": '{"/home/dev": "TRUST_FOLDER"}'}, "yes"),
        ("gemini", {".gemini/trustedFolders.json": '{"/home/dev/other": "TRUST_PARENT"}'}, "yes"),
        ("gemini", {".gemini/trustedFolders.json": '{"/home/dev": "TRUST_FOLDER", "/home/dev/shop": "DO_NOT_TRUST"}'}, "no"),
        ("copilot", {}, "no"),
        ("copilot", {".copilot/config.json": '// comment\n{"trusted_folders": ["/home/dev/shop"]}'}, "yes"),
        ("copilot", {".copilot/config.json": '{"trustedFolders": ["/elsewhere"]}'}, "no"),
        ("cursor", {}, "unknown"),
    ],
)  # fmt: skip
def test_it_is_read_from_the_agents_own_notes(tmp_path: Path, agent: str, notes: dict[str, str], state: str) -> None:
    found, step = said(tmp_path, agent, notes, hooks=HOOKS)
    assert found == state
    assert bool(step) == (state == "no")


def test_what_the_person_wired_for_all_projects_needs_the_trust_that_the_agent_asks_for(tmp_path: Path) -> None:
    assert said(tmp_path, "gemini", {}, project=False)[0] == "yes"
    assert said(tmp_path, "copilot", {}, project=False)[0] == "yes"
    notes = {".codex/config.toml": STATE + 'trusted_hash = "sha256:1"\n'}
    assert said(tmp_path, "codex", notes, project=False, hooks=HOOKS)[0] == "yes"
    assert said(tmp_path, "codex", notes, project=False, hooks=tmp_path / "hooks.json")[0] == "no"


def test_gemini_can_be_told_by_its_environment(tmp_path: Path) -> None:
    assert said(tmp_path, "gemini", {}, environ={"GEMINI_CLI_TRUST_WORKSPACE": "true"})[0] == "yes"

"""The plugins in `plugins/`: what they say is what `install` writes and what the package is."""

from __future__ import annotations

import json
import os
import re
import runpy
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from instinct_git import __version__
from instinct_git.core.proposal import skill_problems

ROOT = Path(__file__).resolve().parents[1]
PLUGINS = ROOT / "plugins"
WRITTEN = runpy.run_path(str(PLUGINS / "write.py"))


def load(path: str) -> Any:
    return json.loads((ROOT / path).read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", sorted(WRITTEN["files"]()))
def test_every_file_is_what_the_table_of_agents_and_the_version_make_of_it(path: str) -> None:
    found = (ROOT / path).read_text(encoding="utf-8")
    assert found == WRITTEN["files"]()[path], "run: python plugins/write.py"


def test_the_versions_are_the_packages() -> None:
    paths = (
        "plugins/claude-code/.claude-plugin/plugin.json",
        "plugins/gemini/gemini-extension.json",
        "plugins/server.json",
    )
    assert {load(path)["version"] for path in paths} == {__version__}
    assert load("plugins/server.json")["packages"][0]["version"] == __version__
    assert load(".claude-plugin/marketplace.json")["plugins"][0]["version"] == __version__


def test_the_marketplace_leads_to_the_plugin() -> None:
    [entry] = load(".claude-plugin/marketplace.json")["plugins"]
    assert load(f"{entry['source']}/.claude-plugin/plugin.json")["name"] == entry["name"]


def test_the_registry_entry_keeps_to_the_registrys_limits_and_the_readme_names_it() -> None:
    entry = load("plugins/server.json")
    assert len(entry["description"]) <= 100
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", entry["name"])
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    # the registry starts the script that has the package's name
    assert f'name = "{entry["packages"][0]["identifier"]}"' in project and "\ninstinct-git = " in project
    named = re.findall(r"mcp-name: (\S+)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert set(named) <= {entry["name"]}


def test_the_skill_can_be_read_by_the_strictest_agent() -> None:
    for path in PLUGINS.rglob("SKILL.md"):
        assert skill_problems(path.read_text(encoding="utf-8"), path.parent.name) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "path"),
    [(("claude", "plugin", "validate"), "plugins/claude-code"), (("claude", "plugin", "validate"), "."),
     (("gemini", "extensions", "validate"), "plugins/gemini")],
)  # fmt: skip
def test_the_agents_own_validators_accept_them(command: tuple[str, ...], path: str) -> None:
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed; its own validator is all that can say")
    done = subprocess.run(
        [*command, str(ROOT / path)], capture_output=True, text=True, timeout=120, env=dict(os.environ)
    )
    assert done.returncode == 0, done.stdout + done.stderr

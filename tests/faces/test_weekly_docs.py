"""Every command of docs/weekly-report.md runs, and its jobs are jobs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from instinct_git.core.dimensions import NUMBERS
from instinct_git.operations.breaking import NAMES
from tests.builders import Project

PAGE = (Path(__file__).parents[2] / "docs" / "weekly-report.md").read_text(encoding="utf-8")
JOBS = [YAML(typ="safe", pure=True).load(block) for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.S)]
CRON = re.findall(r"^((?:\S+ ){5}) *(.+)$", "\n".join(re.findall(r"```crontab\n(.*?)```", PAGE, re.S)), re.M)
PLAIN = [line.split("   ")[0] for line in re.findall(r"^    (instinct .+)$", PAGE, re.M)]


def scripts(job: Any) -> list[str]:
    """The shell lines of a job that run instinct."""
    if isinstance(job, dict):
        return [
            line
            for name, value in job.items()
            for line in (_lines(value) if name in ("run", "script") else scripts(value))
        ]
    return [line for one in job for line in scripts(one)] if isinstance(job, list) else []


def _lines(value: Any) -> list[str]:
    lines = value if isinstance(value, list) else value.splitlines()
    return [line for line in lines if line.startswith("instinct ")]


COMMANDS = [
    *PLAIN,
    *(command.replace("\\%", "%") for _, command in CRON),
    *(line for job in JOBS for line in scripts(job)),
]


def test_the_page_has_a_cron_line_and_two_jobs() -> None:
    assert (len(CRON), len(JOBS)) == (2, 2)
    assert all(scripts(job) for job in JOBS)
    assert [fields.split()[4] for fields, _ in CRON] == ["0", "1"]
    github, gitlab = JOBS
    assert github[True if True in github else "on"]["schedule"] == [{"cron": "0 18 * * 0"}]
    assert github["permissions"] == {"contents": "read"}
    assert gitlab["weekly-report"]["variables"] == {"GIT_DEPTH": "1"}
    assert not re.search(r"(?i)secrets\.|token:|password", PAGE)


@pytest.mark.skipif(os.name == "nt", reason="the page shows shell commands")
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_runs(project: Project, tmp_path: Path, sealed: Path, command: str) -> None:
    shim = tmp_path / "bin" / "instinct"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m instinct_git "$@"\n', encoding="utf-8")
    shim.chmod(0o755)
    home = sealed / "src"
    home.mkdir()
    (home / "web-shop").symlink_to(project.root)
    memory = project.memory()
    for word in ("apple", "bridge", "candle", "desert", "engine", "forest"):
        memory.remember(f"a {word}")
    done = subprocess.run(
        ["sh", "-e", "-c", command], cwd=project.root, capture_output=True, text=True, timeout=60, encoding="utf-8",
        env={**os.environ, "PATH": f"{shim.parent}{os.pathsep}{os.environ['PATH']}", "GITHUB_STEP_SUMMARY": str(tmp_path / "summary")},
    )  # fmt: skip
    if command.startswith("instinct breakers reset"):
        assert (done.returncode, done.stderr.splitlines()[0]) == (2, "error: 'daily' is not tripped")
    else:
        assert done.returncode == 0, done.stderr


def test_the_page_quotes_the_numbers() -> None:
    words = " ".join(PAGE.split())
    for said in (
        f"score from {NUMBERS.nominated}",
        f"{NUMBERS.expire_days} days without use within {NUMBERS.soon_days} days",
        f"the {NUMBERS.rising} that gained most",
        f"more than {NUMBERS.daily} new automatic candidates",
        f"{NUMBERS.duplicates} candidates that say the same",
        f"{NUMBERS.rejections} rejections in a row pause new candidates of that category and kind for {NUMBERS.pause_days} days",
        *(f"`{name}`:" for name in NAMES),
    ):
        assert said in words, said


def test_format_md_names_everything_that_candidates_json_has(project: Project) -> None:
    page = (Path(__file__).parents[2] / "docs" / "format.md").read_text(encoding="utf-8")
    project.memory().remember("something")
    data = project.memory().export_candidates()
    named = set(re.findall(r"`(\w+)`", page.partition("## `candidates.json`")[2]))
    assert {*data, *data["candidates"][0]} <= named

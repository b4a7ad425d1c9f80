"""Proposals made by hand, as `propose` commits them, and a program that speaks for a host."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path
from typing import Any

from instinct_git.core.document import with_field
from instinct_git.core.keys import pattern_path
from instinct_git.memory import Memory
from tests.builders import KEY, Project, git

BRANCH = "instinct/skill/test-fix-test"
SKILL = "skills/test-fix-test/SKILL.md"
ADDRESS = "https://github.com/team/app.git"


def propose(
    project: Project, key: str = KEY, *, branch: str = BRANCH, to: str = SKILL, text: str = "", evidence: bool = True
) -> str:
    """Commit a proposal on a branch of its own from main, with trailers and a graduated pattern file; returns its id."""
    start = project.git("symbolic-ref", "--short", "HEAD")
    project.git("switch", "-q", "-C", branch, "main")
    path = pattern_path(key)
    said = with_field(with_field(project.read(path), "status", "graduated"), "graduated_to", to)
    project.write(path, said)
    old = (project.root / to).read_text(encoding="utf-8") if (project.root / to).exists() else ""
    name = to.split("/")[1]
    skill = f"---\nname: {name}\ndescription: Use after a fix.\n---\n# {key}\n"
    project.write(to, old + (text or skill))
    message = f"instinct: propose\n\nwords\n\nInstinct-Batch: propose\nInstinct-Format: 1\nInstinct-Pattern: {key}\n"
    commit = project.commit(message, path, to)
    project.git("switch", "-q", start)
    if evidence:
        note_proposed(project.memory(), key, branch)
    return commit


def note_proposed(memory: Memory, key: str = KEY, branch: str = BRANCH) -> None:
    """Put the evidence of a proposal into the inbox, as `propose` does."""
    from instinct_git.operations.observing import Draft, observe

    book, _ = memory._space.read()
    members = book.groups.get(key, ())
    n, x = (sum(one.k == kind for one in members) for kind in ("succeeded", "rejected"))
    extra = {"n": n, "x": x, "to": branch, "kind": branch.split("/")[1]}
    observe(memory._space, [Draft(key, kind="proposed", extra=extra)])


def ready(project: Project, key: str = KEY) -> None:
    """Make a key a candidate that has worked, folded on main."""
    memory = project.memory()
    memory.remember("Run the tests after every fix", key=key, title="Run the tests after every fix", kind="skill")
    for context in ("web", "api"):
        memory.feedback(key, "succeeded", context=context)
    memory.consolidate()


def status(project: Project, key: str = KEY) -> str:
    """What the pool says of a key in this clone."""
    found = [*project.memory().candidates(), *project.memory().candidates(archived=True)]
    return next(one.status for one in found if one.pattern == key)


def land(project: Project, how: str, branch: str = BRANCH) -> str:
    """Bring a branch into main in one of the ways that hosts have; returns main's new tip."""
    project.git("switch", "-q", "main")
    project.write("other.txt", f"main has moved from {project.head()}\n")
    project.commit("other work", "other.txt")
    if how == "merge":
        project.git("merge", "-q", "--no-ff", "-m", "Merge pull request 7", branch)
    elif how == "squash":
        project.git("merge", "-q", "--squash", branch)
        project.git("commit", "-q", "-m", "a skill (#7)")
    elif how == "rebase":
        project.git("switch", "-q", "-c", "rebased", branch)
        project.git("rebase", "-q", "main")
        project.git("switch", "-q", "main")
        project.git("merge", "-q", "--ff-only", "rebased")
        project.git("branch", "-q", "-D", "rebased")
    elif how == "cherry-pick":
        project.git("cherry-pick", branch)
    return project.head()


def host_says(folder: Path, monkeypatch: Any, *rows: dict[str, Any]) -> Path:
    """Let a program `gh` answer with these pull requests; returns the file that lists its calls, one JSON a line."""
    bin_folder = folder / "bin"
    bin_folder.mkdir(exist_ok=True)
    answer, calls = bin_folder / "answer.json", bin_folder / "calls"
    answer.write_text(json.dumps([{"isCrossRepository": False, **row} for row in rows]), encoding="utf-8")
    program = bin_folder / "gh"
    program.write_text(
        f"#!{sys.executable}\nimport json, sys\n"
        f"open({str(calls)!r}, 'a').write(json.dumps(sys.argv[1:]) + '\\n')\n"
        f"print(open({str(answer)!r}).read())\n",
        encoding="utf-8",
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    if str(bin_folder) not in os.environ["PATH"]:
        monkeypatch.setenv("PATH", f"{bin_folder}{os.pathsep}{os.environ['PATH']}")
    return calls


def hosted(project: Project, tmp_path: Path, *, pretend: bool = True) -> None:
    """Give a project a bare remote with everything it has; one that pretends, by its address, to be on a host cannot
    be fetched from any more."""
    bare = tmp_path / "host.git"
    git(tmp_path, "clone", "-q", "--bare", str(project.root), str(bare))
    project.git("remote", "add", "origin", str(bare))
    project.git("fetch", "-q", "origin")
    project.git("remote", "set-head", "origin", "main")
    if pretend:
        project.git("config", "remote.origin.url", ADDRESS)

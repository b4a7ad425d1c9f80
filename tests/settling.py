"""Conflicts as people settle them: by whole files of one side, or with `resolve` and by hand where it asks for that."""

from __future__ import annotations

import random
from pathlib import Path

from tests.builders import Project
from tests.offsets import PATTERNS


def unmerged(project: Project) -> dict[str, set[str]]:
    """Return {path in conflict: the stages that the index holds of it}."""
    stages: dict[str, set[str]] = {}
    for row in filter(None, project.git("ls-files", "-u", "-z").split("\0")):
        head, _, path = row.partition("\t")
        stages.setdefault(path, set()).add(head.split()[2])
    return stages


def by_sides(project: Project, other: str, dice: random.Random) -> None:
    """Take each pattern file whole, from either side; keep every container.

    `other` is the commit whose change is brought in, for where git itself does not remember it (a squash).
    """
    for path, known in unmerged(project).items():
        stage = dice.choice("23") if path.startswith(PATTERNS) else "2" if "2" in known else "3"
        if stage not in known:
            project.git("rm", "-q", "--", path)
            continue
        # As the side has committed it: where git guesses a rename, the index holds a merge of two files' lines, markers
        # included, under the new name.
        side = "HEAD" if stage == "2" else _other(project, other)
        if project.git("ls-tree", side, "--", path):
            project.git("checkout", side, "--", path)
        else:
            project.git("checkout", "--ours" if stage == "2" else "--theirs", "--", path)
            project.git("add", "--", path)


def _other(project: Project, other: str) -> str:
    folder = Path(project.git("rev-parse", "--absolute-git-dir"))
    if (folder / "REVERT_HEAD").exists():
        return "REVERT_HEAD~1"
    return other or ("CHERRY_PICK_HEAD" if (folder / "CHERRY_PICK_HEAD").exists() else "REBASE_HEAD")


def by_a_person(project: Project, dice: random.Random) -> int:
    """Run `resolve`, decide by hand what it leaves, and return how many files that were."""
    done = project.memory().resolve()
    assert not done.outside, done.outside
    assert {one.path for one in done.left} == set(unmerged(project)), "resolve stages what it settles, and no more"
    for left in done.left:
        stages, file = unmerged(project)[left.path], project.root / left.path
        if {"2", "3"} <= stages or (stages != {"1"} and dice.random() < 0.5):
            file.write_bytes(chosen(file.read_bytes().decode("utf-8"), dice).encode("utf-8"))
            project.git("add", "--", left.path)
        else:
            project.git("rm", "-q", "--", left.path)
    return len(done.left)


def chosen(text: str, dice: random.Random) -> str:
    """Return a text without its conflict markers, one side's lines taken in each conflict."""
    lines, side, taken = [], "", ""
    for line in text.split("\n"):
        if line.startswith("<<<<<<< "):
            side, taken = "ours", dice.choice(("ours", "theirs"))
        elif side and line == "=======":
            side = "theirs"
        elif side and line.startswith(">>>>>>> "):
            side = ""
        elif side in ("", taken):
            lines.append(line)
    return "\n".join(lines)

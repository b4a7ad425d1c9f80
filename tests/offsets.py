"""What a tree says of evidence and hand edits, read with git and plain text alone: the offsets of pattern files, and ids."""

from __future__ import annotations

from tests import reference
from tests.builders import Project

PATTERNS = ".instinct/patterns/"


def offsets_here(project: Project) -> dict[str, set[int]]:
    """Return {key: {its offset}} of the working tree's pattern files."""
    return {key: {one.confidence - one.counted} for key, one in reference.numbers(project.root).items()}


def offsets_at(project: Project, *revisions: str) -> dict[str, set[int]]:
    """Return {key: its offsets at these commits}."""
    found: dict[str, dict[str, str]] = {}
    wanted = "^(pattern|confidence|counted): "
    for line in project.git("grep", "-E", wanted, *revisions, "--", PATTERNS, check=False).split("\n"):
        if line:
            revision, path, name, value = line.split(":", 3)
            found.setdefault(f"{revision}:{path}", {})[name] = value.strip()
    offsets: dict[str, set[int]] = {}
    for one in found.values():
        offset = int(one["confidence"]) - int(one["counted"])
        offsets.setdefault(reference.unquoted(one["pattern"]), set()).add(offset)
    return offsets


def ids_at(project: Project, commit: str) -> set[str]:
    """Return the evidence ids in a commit's tree."""
    folders = (".instinct/observations", ".instinct/ledger")
    text = project.git("grep", "-h", "-e", "", commit, "--", *(f"{one}/*.jsonl" for one in folders), check=False)
    return {record["id"] for record in reference.records(text)}


def renamed(project: Project, base: str, *tips: str) -> set[tuple[str, str]]:
    """Return the pattern files that git takes for renamed between a commit and others: (old path, new path)."""
    found = set()
    for tip in tips:
        listed = project.git("diff", "-M", "--diff-filter=R", "--name-status", base, tip, "--", PATTERNS)
        found |= {tuple(line.split("\t")[1:]) for line in listed.split("\n") if line}
    return found

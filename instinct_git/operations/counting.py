"""`stats --by`: how much evidence each source, author, project or context has given. Each id counts once."""

from __future__ import annotations

import re
from collections import Counter

from instinct_git.core.evidence import LEDGER, OBSERVATIONS, parse_container
from instinct_git.errors import InstinctError
from instinct_git.operations import universal
from instinct_git.operations.workspace import Workspace
from instinct_git.storage import files
from instinct_git.storage.git import Repository

WAYS = ("source", "author", "project", "context")
NOBODY, UNCOMMITTED, HERE = "(not given)", "(not committed)", "(this project)"
_ID = re.compile(r"[0-9a-f]{12}")


def by(space: Workspace, what: str) -> dict[str, int]:
    """Return {name: distinct ids}, most first. The author is who first committed a piece of evidence, as git has it."""
    if what not in WAYS:
        raise InstinctError(f"evidence cannot be counted by {what!r}", "--by takes " + ", ".join(WAYS))
    book, _ = space.read()
    if what == "author":
        authors = _authors(space)
        counted = Counter(authors.get(one.id, UNCOMMITTED) for one in book.everything)
    elif what == "project":
        counted = _projects(space, Counter(one.ctx for one in book.everything))
    else:
        counted = Counter((one.by if what == "source" else one.ctx) or NOBODY for one in book.everything)
    return dict(sorted(counted.items(), key=lambda row: (-row[1], row[0])))


def _projects(space: Workspace, contexts: Counter[str]) -> Counter[str]:
    """Evidence that came from another project has its id as context; this home knows some of them by name."""
    names = {identity: f"{identity} ({place.root.name})" for identity, place in universal.known(space.place.home)}
    own = HERE if space.place.scope in (files.PROJECT, files.PRIVATE) else NOBODY
    counted: Counter[str] = Counter()
    for context, number in contexts.items():
        counted[names.get(context, context) if _ID.fullmatch(context) else own] += number
    return counted


def _authors(space: Workspace) -> dict[str, str]:
    """Return {id: author of the first commit of HEAD's history that holds it}."""
    repository = space.repository()
    if repository is None or not repository.head():
        return {}
    found: dict[str, str] = {}
    for author, blobs in _added(repository):
        contents = repository.blobs(blobs)
        for content in contents.values():
            for one in parse_container(content)[0]:
                found.setdefault(one.id, author)
    return found


def _added(repository: Repository) -> list[tuple[str, list[str]]]:
    """Return (author, blobs of the containers that the commit added), oldest commit first."""
    folders = [repository.inside(one.rstrip("/")) for one in (OBSERVATIONS, LEDGER)]
    out = repository.ask(
        "log", "--reverse", "--topo-order", "--no-show-signature", "--no-renames", "--diff-filter=A", "--raw", "--no-abbrev",
        "--root", "--format=%x01%aN", "HEAD", "--", *folders,
    ).text  # fmt: skip
    rows = []
    for entry in out.split("\x01")[1:]:
        author, _, listed = entry.partition("\n")
        blobs = [line.split(" ")[3] for line in listed.splitlines() if line.startswith(":") and line.endswith(".jsonl")]
        rows.append((author.strip() or NOBODY, blobs))
    return rows

"""Verifying: the files as they are (`check`), the commits that led to them (`--history`), a pull request (`--base`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from instinct_git.core.evidence import LEDGER
from instinct_git.core.pattern import Finding
from instinct_git.errors import InstinctError, InvalidDocument
from instinct_git.operations.workspace import Workspace

if TYPE_CHECKING:
    from instinct_git.core.consolidate import Book
    from instinct_git.storage.git import Repository

WINDOW = 500
"""Commits whose blobs are read at once: one git process a window, and a bound to what is held."""
Progress = Callable[[int, int], None]
_PLAIN = re.compile(r'"s":"[0-9a-f]{12}"|"ids":\[(?:"\d{8}-[0-9a-z]{12}\.\d{1,9}",?)*\]')


def check(
    space: Workspace, *, history: bool = False, base: str | None = None, progress: Progress | None = None,
    stale: Path | None = None,
) -> list[Finding]:  # fmt: skip
    """Verify a memory: everything parses, ids are unique, every number follows from the evidence.

    `history` also walks the first-parent line of HEAD, `base` compares with the merge base of a revision and HEAD;
    `progress` is told (commits done, commits in all). `stale`, the folder where the user stands, also holds what patterns
    and skills cite against the project's files. Raises InstinctError where git cannot answer.
    """
    if not space.place.exists():
        raise InstinctError(f"{space.place.root} has no memory", "run `instinct init` there first")
    findings = check_files(space)
    if base is not None:
        findings += check_base(space, base)
    if history:
        findings += check_history(space, progress)
    if stale is not None:
        findings += check_stale(space, stale)
    return findings


def check_stale(space: Workspace, folder: Path) -> list[Finding]:
    """Hold what patterns, skills and procedures cite against the project's files; the judgement is kept for `suggest`."""
    from instinct_git.core.audit import NOTICE
    from instinct_git.operations import judging, staling

    found = staling.aged(space, folder)
    if found is None:
        return [Finding("stale", ".instinct", f"a {space.place.scope} memory speaks of no project's files", NOTICE)]
    judging.keep(space, found)
    return list(staling.findings(found))


def check_files(space: Workspace) -> list[Finding]:
    """Verify the working tree alone; needs no history and no git."""
    from instinct_git.bridges import secrets
    from instinct_git.core import caps
    from instinct_git.core.answers import audit_approvals
    from instinct_git.core.audit import ERROR, audit
    from instinct_git.core.model import Policy
    from instinct_git.core.pool_audit import audit_pool
    from instinct_git.storage.config import BOTS

    findings: list[Finding] = []
    root = space.place.root
    settings = None
    try:
        settings = space.config()
        policy, bots = settings.policy, str(settings["bots"])
    except InvalidDocument as problem:
        findings.append(Finding("config", ".instinct/config.yaml", problem.message + "; " + problem.hint))
        policy, bots = Policy(), BOTS
    book, _ = space.read()
    present = [path.relative_to(root).as_posix() for path in sorted((root / ".instinct").rglob("*")) if path.is_file()]
    findings += [*audit(book, policy, present), *audit_pool(book), *audit_approvals(book, bots)]
    findings += [
        Finding("secret", path, f"looks like a secret ({one.rule})", ERROR, one.line)
        for path in _to_scan(root, present)
        for one in secrets.find_secrets(_text(root, path))
    ]
    findings += [*_compared(space, book), *caps.findings(book, settings.caps)] if settings else []
    return [*findings, *inbox_secrets(space), *_skills(space)]


def _compared(space: Workspace, book: Book) -> list[Finding]:
    from instinct_git.operations import comparing

    return comparing.findings(space, book)


def inbox_secrets(space: Workspace) -> list[Finding]:
    """Find secrets in what waits in this clone's inbox: written by hand or by a version that knew fewer rules. No batch
    would commit them."""
    from instinct_git.bridges.secrets import find_secrets
    from instinct_git.storage.inbox import inbox_files

    return [
        Finding("secret", str(path), f"looks like a secret ({one.rule}); no batch commits it", "error", one.line)
        for path in inbox_files(space.place)
        if path.is_file()
        for one in find_secrets(path.read_bytes().decode("utf-8", "replace"))
    ]


def _text(root: Path, path: str) -> str:
    return (root / path).read_bytes().decode("utf-8", "replace")


def _to_scan(root: Path, present: Iterable[str]) -> Iterator[str]:
    """Yield the files that may hold a secret. Ids and sessions are nine tenths of a ledger and of a form that holds
    none, and the rest repeats: what all ledger files say without them is looked at once, and seldom any file alone."""
    from instinct_git.bridges.secrets import find_secrets

    said: set[str] = set()
    ledger = []
    for path in present:
        if path.startswith(LEDGER):
            ledger.append(path)
            said |= _said(root, path)
        else:
            yield path
    if find_secrets("\n".join(said)):
        yield from (path for path in ledger if find_secrets("\n".join(_said(root, path))))


def _said(root: Path, path: str) -> set[str]:
    return set(_PLAIN.sub("", _text(root, path)).split("\n"))


def _skills(space: Workspace) -> list[Finding]:
    from instinct_git.core.proposal import skill_problems

    findings = []
    for path in sorted(space.place.root.glob("skills/*/SKILL.md")):
        name = path.relative_to(space.place.root).as_posix()
        text = path.read_bytes().decode("utf-8", "replace")
        findings += [Finding("skill", name, problem) for problem in skill_problems(text, path.parent.name)]
    return findings


def check_history(space: Workspace, progress: Progress | None = None) -> list[Finding]:
    """Verify every commit on the first-parent line of HEAD: no evidence goes, no number moves without a reason."""
    from instinct_git.core.lineage import Lineage
    from instinct_git.storage import revisions
    from instinct_git.storage.git import Repository

    repository = Repository(space.place)
    if revisions.is_shallow(repository):
        raise InstinctError(
            "this clone is shallow: its history ends where it was cut off",
            "check out with `fetch-depth: 0`, or run `git fetch --unshallow`; `instinct check` alone needs no history",
        )
    head = repository.head()
    commits = revisions.first_parents(repository, head) if head else []
    lineage, policy = Lineage(), revisions.settings_of(None).policy
    for start in range(0, len(commits), WINDOW):
        window = commits[start : start + WINDOW]
        contents = revisions.contents(repository, window)
        for done, (revision, changed) in enumerate(window, start + 1):
            if revisions.CONFIG in changed:
                policy = revisions.settings_of(contents.get(changed[revisions.CONFIG])).policy
            lineage.step(revision, changed, contents, policy)
            if progress is not None:
                progress(done, len(commits))
    return lineage.findings()


def check_base(space: Workspace, base: str) -> list[Finding]:
    """Compare the working tree with the merge base of `base` and HEAD: every number that moved must have evidence."""
    from instinct_git.core.comparison import compare, policy_changes
    from instinct_git.core.consolidate import Book
    from instinct_git.storage import revisions
    from instinct_git.storage.git import Repository

    repository = Repository(space.place)
    commit = _merge_base(repository, base)
    before, before_config = revisions.at(repository, commit)
    after, after_config = revisions.working_tree(space.place)
    old, new = revisions.settings_of(before_config), revisions.settings_of(after_config)
    return [*policy_changes(old.values, new.values), *compare(Book(before), Book(after), new.policy)]


def _merge_base(repository: Repository, base: str) -> str:
    from instinct_git.storage import revisions

    fetch = "check out with `fetch-depth: 0`, or run `git fetch --unshallow`"
    shallow = revisions.is_shallow(repository)
    commit, head = repository.commit_of(base) if base else "", repository.head()
    if not commit:
        hint = (
            fetch if shallow else "name a branch, tag or commit of this clone, such as origin/main (`git fetch` first?)"
        )
        raise InstinctError(f"git knows no revision {base!r}", hint)
    found = revisions.merge_base(repository, commit, head) if head else ""
    if not found:
        hint = fetch if shallow else "name the branch that this one started from"
        raise InstinctError(f"{base!r} and HEAD have no common commit here", hint)
    return found

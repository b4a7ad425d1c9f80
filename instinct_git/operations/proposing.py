"""`propose`: a branch with a skill, procedure, rule or memory for review. The user's tree, index and HEAD do not move."""

from __future__ import annotations

from dataclasses import dataclass

from instinct_git.core import kinds, memory_file, proposal
from instinct_git.core.confidence import fold_one, group
from instinct_git.core.consolidate import Book, Snapshot
from instinct_git.core.document import MachineLines, with_machine_lines
from instinct_git.core.evidence import LEDGER, OBSERVATIONS, dump_ledger
from instinct_git.core.keys import normalise_key
from instinct_git.core.model import RETIRED, Policy, Tally
from instinct_git.core.pattern import PatternFile
from instinct_git.errors import InstinctError, NotInGit, UnknownPattern
from instinct_git.operations.setup import scaffolding
from instinct_git.operations.workspace import Workspace, near, refuse_secrets
from instinct_git.storage import inbox
from instinct_git.storage.git import Repository


@dataclass(frozen=True, slots=True)
class Proposal:
    """A proposal made, or shown by a dry run."""

    pattern: str
    kind: str
    """skill, procedure, rule or memory."""
    name: str
    branch: str
    base: str
    """Revision that the branch starts from."""
    commit: str
    """Empty in a dry run."""
    files: tuple[str, ...]
    text: str
    """The skill or procedure; of a rule or a memory the line that MEMORY.md gains."""
    review: tuple[str, ...]
    notices: tuple[str, ...] = ()
    dry_run: bool = False


def propose(space: Workspace, key: str, *, kind: str = kinds.SKILL, name: str = "", dry_run: bool = False) -> Proposal:
    """Propose a pattern as one of four kinds, on a new branch from the default branch's tip."""
    if kind not in kinds.KINDS:
        raise InstinctError(f"there is no kind {kind!r}", "kinds: " + ", ".join(kinds.KINDS))
    repository = space.repository()
    if repository is None:
        raise NotInGit("a proposal is a branch, and there is no git repository here", "run `git init` there first")
    key = normalise_key(key)
    book, _ = space.read()
    pattern = book.files.get(key)
    if pattern is None:
        if key in book.groups:
            raise UnknownPattern(f"{key!r} has no file yet", "run `instinct consolidate` first")
        raise UnknownPattern(f"there is no pattern {key!r}", near(key, book.files))
    if pattern.status == RETIRED:
        raise InstinctError(f"{key!r} is retired: a person said no to it", "`instinct restore` takes that back")
    chosen = proposal.skill_name(key, name, pattern.title)
    branch = f"instinct/{kind}/{chosen}"
    _, revision = repository.default_branch(space.config()["default_branch"])
    base = repository.commit_of(revision)
    if not base:
        raise InstinctError("the default branch has no commit yet", "make the first commit, then propose again")
    _refuse_existing(repository, branch, kind)
    files, pattern, tally, sessions = _pattern_files(space, repository, base, book, pattern)
    path, content, text = _document(repository, base, pattern, tally, sessions, kind, chosen)
    files[path] = content.encode("utf-8", "surrogateescape")
    base_name = revision.removeprefix("refs/heads/").removeprefix("refs/remotes/")
    review = tuple(proposal.review_words(branch, base_name, sorted(files)))
    notices = _notices(pattern, space.config().policy)
    sha = ""
    if not dry_run:
        refuse_secrets((path, content.decode("utf-8", "replace")) for path, content in files.items())
        repository.refuse_without_identity()
        sha = repository.commit_on(branch, base, files, _message(pattern, kind, chosen))
    return Proposal(key, kind, chosen, branch, base_name, sha, tuple(sorted(files)), text, review, notices, dry_run)


def _refuse_existing(repository: Repository, branch: str, kind: str) -> None:
    if repository.commit_of(f"refs/heads/{branch}"):
        raise InstinctError(
            f"the branch {branch} exists: this {kind} is proposed already",
            f"review it, or delete it (`git branch -D {branch}`) and propose again; --name takes another name",
        )


def _document(
    repository: Repository, base: str, pattern: PatternFile, tally: Tally, sessions: int, kind: str, name: str
) -> tuple[str, str, str]:
    """Return (path, new content, what to show) of the document that is proposed, made on top of the base's."""
    if kind in (kinds.SKILL, kinds.PROCEDURE):
        made = proposal.skill(pattern, tally, sessions, name)
        path, text = (
            (made.path, made.text)
            if kind == kinds.SKILL
            else (kinds.procedure_path(name), kinds.procedure(pattern, tally, name))
        )
        if path in repository.files_at(base, path):
            raise InstinctError(f"{path} is approved already", "edit it in a pull request, or use --name")
        return path, text, text
    section, line = (
        (kinds.rule_section(), kinds.rule_line(pattern)) if kind == kinds.RULE else kinds.memory_line(pattern)
    )
    before = _blob_text(repository, repository.files_at(base, memory_file.PATH).get(memory_file.PATH)) or ""
    after = memory_file.add_line(before, section, line)
    if after == before:
        raise InstinctError(f"{memory_file.PATH} says this already", "there is nothing to propose")
    return memory_file.PATH, after, f"{section}: {line}"


def _pattern_files(
    space: Workspace, repository: Repository, base: str, book: Book, pattern: PatternFile
) -> tuple[dict[str, bytes], PatternFile, Tally, int]:
    """Return of the pattern's own files what the base does not have yet, the pattern and its tally there, and its
    number of sessions.

    Evidence travels in a new container with this pattern's ids alone: a whole container would bring other patterns'
    evidence to the default branch without their files.
    """
    at_base = repository.files_at(base, ".instinct")
    wanted = {p: b for p, b in at_base.items() if p.startswith((OBSERVATIONS, LEDGER)) and p.endswith(".jsonl")}
    contents = repository.blobs(wanted.values())
    there = Book(Snapshot(ledger={path: contents[blob] for path, blob in wanted.items()}))
    members = [one for one in book.groups.get(pattern.key, ()) if one.id in book.tree_ids]
    missing = [one for one in members if one.id not in there.everything]
    together = group([*there.everything, *missing]).get(pattern.key, [])
    policy = space.config().policy
    tally = fold_one(together, policy)
    confidence = pattern.offset + tally.total
    machine = MachineLines(
        pattern.key, pattern.category, confidence, tally.total, policy.level(confidence),
        tally.first_seen or pattern.first_seen, tally.last_seen or pattern.last_seen, tally.sources or pattern.sources,
    )  # fmt: skip
    # .gitattributes keeps LF in the repository, whatever the working tree has.
    text = with_machine_lines(pattern.text, machine, pattern.path).replace("\r\n", "\n")
    pattern = pattern._replace(confidence=confidence, counted=tally.total, level=machine.level)
    sessions = len({(one.by, one.s) for one in together if one.s})
    files: dict[str, bytes] = {}
    if _blob_text(repository, at_base.get(pattern.path)) != text:
        files[pattern.path] = text.encode("utf-8", "surrogateescape")
    if missing:
        files[f"{LEDGER}{inbox.new_stem(space.day())}.jsonl"] = dump_ledger(missing)
    for path, (content, _) in scaffolding().items():
        if path not in at_base and (missing or pattern.path in files):
            file = space.place.root / path
            files[path] = file.read_bytes() if file.is_file() else content.encode("utf-8")
    return files, pattern, tally, sessions


def _blob_text(repository: Repository, blob: str | None) -> str | None:
    return None if blob is None else repository.blobs([blob])[blob].decode("utf-8", "surrogateescape")


def _notices(pattern: PatternFile, policy: Policy) -> tuple[str, ...]:
    if pattern.confidence < policy.mature:
        return (f"this pattern is still raw: confidence {pattern.confidence} of {policy.mature}",)
    return ()


def _message(pattern: PatternFile, kind: str, name: str) -> str:
    return (
        f"instinct: propose {kind} {name}\n\n"
        f"{pattern.key}  confidence {pattern.confidence}  {pattern.level}\n"
        "A person decides: merging this branch approves it, deleting it declines.\n\n"
        f"Instinct-Batch: propose\nInstinct-Format: 1\nInstinct-Pattern: {pattern.key}\n"
    )

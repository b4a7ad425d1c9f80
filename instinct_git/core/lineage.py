"""What a memory went through, commit by commit. Pure.

`Lineage` takes in what each commit changed and says what no batch would have done. It works on trees alone: after a
squash or a rebase, without trailers, evidence and numbers must still follow (trailers only make a finding graver).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from instinct_git.core.audit import ERROR, NOTICE, WARNING
from instinct_git.core.document import parse
from instinct_git.core.evidence import LEDGER, OBSERVATIONS
from instinct_git.core.keys import pattern_path
from instinct_git.core.model import Evidence, Policy
from instinct_git.core.pattern import Finding
from instinct_git.core.running import RunningEvidence, same
from instinct_git.errors import InvalidDocument

PATTERNS = ".instinct/patterns/"
FOLDING = ("consolidate", "decay", "gc")
SHOWN = 3


class Revision(NamedTuple):
    """One commit, as the lineage speaks of it."""

    sha: str
    author: str
    day: str
    batch: str = ""
    """The value of its trailer `Instinct-Batch`; empty: none (a squash may have lost it)."""
    merge: bool = False

    @property
    def words(self) -> str:
        """Commit, author and day."""
        return f"commit {self.sha[:12]} ({self.author}, {self.day})"

    @property
    def folds(self) -> bool:
        """True for a batch that brought every pattern file up to date."""
        return self.batch in FOLDING and not self.merge


class Numbers(NamedTuple):
    """What the lineage needs of a pattern file."""

    key: str
    confidence: int
    counted: int

    @property
    def offset(self) -> int:
        """What a person added or took by hand."""
        return self.confidence - self.counted


def is_container(path: str) -> bool:
    """True for a path that `Book` reads as a container."""
    folder, _, name = path.rpartition("/")
    return folder + "/" in (OBSERVATIONS, LEDGER) and name.endswith(".jsonl") and name[0] != "."


def is_pattern(path: str) -> bool:
    """True for a path that `Book` reads as a pattern file."""
    name = path.rpartition("/")[2]
    return path.startswith(PATTERNS) and name.endswith(".md") and name[0] != "." and name != "README.md"


class Lineage:
    """A memory's commits, taken in one after the other from the oldest on (`step`), and what they did (`findings`).

    Every step satisfies d(confidence) = d(counted) + d(offset): the first part must follow from the evidence in the
    commit's own tree, the second is a person's hand and is named.
    """

    def __init__(self) -> None:
        self.evidence = RunningEvidence()
        self._numbers: dict[str, Numbers] = {}
        self._unreadable: set[str] = set()
        self._paths: dict[str, set[str]] = {}
        self._read: dict[str, Numbers | str] = {}
        self._unproven: set[str] = set()
        """Keys whose file or sum changed since they were last found right."""
        self._removed: list[tuple[Revision, str, list[str]]] = []
        self._found: list[Finding] = []

    def step(self, revision: Revision, changed: Mapping[str, str], blobs: Mapping[str, bytes], policy: Policy) -> None:
        """Take in one commit: {path: blob id, empty for a removed file} of what it changed, those blobs' contents, and
        the policy in its tree."""
        self.evidence.follow(policy)
        containers = {path: blobs[blob] if blob else None for path, blob in changed.items() if is_container(path)}
        self._walk_evidence(revision, containers)
        self._walk_patterns(revision, {path: blob for path, blob in changed.items() if is_pattern(path)}, blobs)

    def findings(self) -> list[Finding]:
        """Return what was found, errors first, each kind in the order of the commits."""
        found = [*self._lost(), *self._found]
        order = {ERROR: 0, WARNING: 1, NOTICE: 2}
        return sorted(found, key=lambda one: order[one.severity])

    # -- evidence ----------------------------------------------------------------------------------------------------

    def _walk_evidence(self, revision: Revision, containers: Mapping[str, bytes | None]) -> None:
        held = {path: self.evidence.containers.get(path, {}).keys() for path in containers}
        lost: dict[str, list[str]] = {}
        rewritten: list[Evidence] = []
        for evidence_id, (old, now) in self.evidence.apply(containers).items():
            if old is None:
                continue
            if now is None:
                path = next(path for path in sorted(held) if evidence_id in held[path])
                lost.setdefault(path, []).append(evidence_id)
            elif not same(old, now):
                rewritten.append(old)
        if lost:
            self._removed.append((revision, min(lost), sorted(one for ids in lost.values() for one in ids)))
        if rewritten:
            self._rewritten(revision, rewritten, min(containers))
        self.evidence.settle()

    def _rewritten(self, revision: Revision, before: Sequence[Evidence], path: str) -> None:
        kept = [one for one in before if any(same(one, other) for other in self.evidence.payloads(one.id))]
        gone = sorted({one.id for one in before} - {one.id for one in kept})
        if gone:
            message = f"{revision.words} changes what {many(gone)} says: evidence is never rewritten"
            self._found.append(Finding("evidence-rewritten", path, message))
        if kept:
            message = (
                f"{revision.words} adds other contents for {many(sorted(one.id for one in kept))}; the smallest count"
            )
            self._found.append(Finding("evidence-clash", path, message, WARNING))

    def _lost(self) -> Iterator[Finding]:
        for revision, path, ids in self._removed:
            gone = [one for one in ids if one not in self.evidence.holders]
            back = [one for one in ids if one in self.evidence.holders]
            if gone:
                hint = f"`git checkout {revision.sha[:12]}~1 -- {path}` brings that file back"
                yield Finding("evidence-lost", path, f"{revision.words} removes {many(gone)} ({hint})")
            if back:
                message = f"{revision.words} removes {many(back)}; a later commit has brought it back"
                yield Finding("evidence-lost", path, message, WARNING)

    # -- pattern files -----------------------------------------------------------------------------------------------

    def _walk_patterns(self, revision: Revision, changed: Mapping[str, str], blobs: Mapping[str, bytes]) -> None:
        keys = {self._numbers[path].key for path in changed if path in self._numbers}
        new = {path: self._parsed(path, blob, blobs) if blob else None for path, blob in changed.items()}
        keys |= {one.key for one in new.values() if isinstance(one, Numbers)}
        before = {key: self._chosen(key) for key in keys}
        for path, numbers in new.items():
            self._place(revision, path, numbers)
        moved = set()
        for key in sorted(keys):
            old, now = before[key], self._chosen(key)
            self._offset(revision, old, now)
            if now is not None and (old is None or old[1].counted != now[1].counted):
                moved.add(key)
        self._unproven |= keys | self.evidence.moved
        if self.evidence.everything_moved:
            self._unproven |= self._paths.keys()
        self.evidence.moved, self.evidence.everything_moved = set(), False
        for key in sorted(self._unproven if revision.folds else moved):
            self._counted(revision, key)

    def _parsed(self, path: str, blob: str, blobs: Mapping[str, bytes]) -> Numbers | str:
        """Return a pattern file's numbers, or why it cannot be read."""
        if blob not in self._read:
            try:
                read = parse(blobs[blob].decode("utf-8", "surrogateescape"), path)
                self._read[blob] = Numbers(read.key, read.confidence, read.counted)
            except InvalidDocument as problem:
                self._read[blob] = problem.message.removeprefix(f"{path}:")
        return self._read[blob]

    def _place(self, revision: Revision, path: str, numbers: Numbers | str | None) -> None:
        if isinstance(numbers, str):  # its last readable numbers stand until it is mended
            message = f"{revision.words} leaves a file that cannot be read (line {numbers})"
            self._found.append(Finding("pattern-unreadable", path, message, NOTICE))
            self._unreadable.add(path)
            return
        self._unreadable.discard(path)
        old = self._numbers.pop(path, None)
        if old is not None:
            self._paths[old.key].discard(path)
        if numbers is not None:
            self._numbers[path] = numbers
            self._paths.setdefault(numbers.key, set()).add(path)

    def _chosen(self, key: str) -> tuple[str, Numbers] | None:
        """Return the file that counts for a key, as `Book` chooses it, with its path."""
        paths = self._paths.get(key)
        if not paths:
            return None
        proper = pattern_path(key)
        path = proper if proper in paths else min(paths, key=lambda one: (one.count("/"), one))
        return path, self._numbers[path]

    def _offset(self, revision: Revision, old: tuple[str, Numbers] | None, now: tuple[str, Numbers] | None) -> None:
        if now is None:
            return
        path, numbers = now
        before = old[1].offset if old else 0
        if numbers.offset != before:
            message = (
                f"{numbers.key}: {revision.words} adjusts it by hand by {numbers.offset - before:+d} "
                f"(confidence {_number(old)} -> {numbers.confidence}, counted {old[1].counted if old else 0} -> {numbers.counted})"
            )
            self._found.append(Finding("hand-adjusted", path, message, NOTICE))

    def _counted(self, revision: Revision, key: str) -> None:
        chosen = self._chosen(key)
        if chosen is None or chosen[0] in self._unreadable:
            return
        path, numbers = chosen
        total = self.evidence.total(key)
        if numbers.counted == total or numbers.counted == self.evidence.total_folded(key):
            self._unproven.discard(key)
            return
        invented = numbers.counted > self.evidence.ceiling(key)
        if revision.merge and not invented:
            return  # a merge of two folds: one side's lines stand until the next batch
        # A batch that was rebased onto other evidence is behind it, and no later commit could mend an error.
        severity = NOTICE if not revision.folds else ERROR if invented else WARNING
        message = f"{key}: {revision.words} leaves counted at {numbers.counted}, the evidence in its tree gives {total}"
        self._found.append(Finding("counted", path, message, severity))


def _number(side: tuple[str, Numbers] | None) -> str:
    return str(side[1].confidence) if side else "none"


def many(ids: Sequence[str]) -> str:
    shown = ", ".join(ids[:SHOWN]) + (" ..." if len(ids) > SHOWN else "")
    return f"{len(ids)} evidence id{'' if len(ids) == 1 else 's'}: {shown}"

"""The rules of `resolve`: three versions of a file in, what settles the conflict out. Pure.

Pattern files (both sides have the file; deleted on one side is always a person's choice):

 1. offset (`confidence - counted`) is a value: changed on one side, that side's; on both to the same, that; on both
    differently, a person decides. It is never added up: a hand edit that arrives twice counts once.
 2. counted is the larger of the two: each was right for the containers of its side.
 3. confidence = offset + counted; the next consolidate makes it exact (law 4).
 4. first_seen is the earlier, last_seen the later, sources both; level follows from the confidence; candidate is ours,
    else theirs (like counted it is recomputed from the evidence).
 5. category and status are values as in 1; where both sides changed it, `retired` beats `active`.
 6. all other lines are the person's: a three-way merge of lines, in which the settled lines are the same everywhere.
 7. without a common version (both added the file) the empty pattern file stands in for it.
 8. two different keys in one path, or a version that cannot be read: a person decides.

Containers (the union of sets; nothing that any version holds may go):

 9. one version left (deleted, or renamed, on the other side): it stays.
10. two equal versions: they stay once.
11. two different versions under one name: ours keeps it, theirs becomes a new container.
12. only the common version is left (renamed or compacted on both sides): it goes when the containers that stay hold all
    its ids, else it stays.
13. ids of the common version that neither side holds any more become a new container.
14. git may have merged lines of two containers: its marker lines are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from instinct_git.core.document import MachineLines, new_text, parse, with_field, with_machine_lines
from instinct_git.core.evidence import LEDGER, OBSERVATIONS, parse_container
from instinct_git.core.model import ACTIVE, NOTHING, RAW, RETIRED, Policy
from instinct_git.core.pattern import PatternFile
from instinct_git.errors import InvalidDocument

PATTERNS = ".instinct/patterns/"
MARKERS = ("<<<<<<<", "|||||||", "=======", ">>>>>>>")
T = TypeVar("T")


class Versions(NamedTuple):
    """A file in conflict: the common version, ours and theirs; None where there is none."""

    base: bytes | None
    ours: bytes | None
    theirs: bytes | None


class Texts(NamedTuple):
    """Three versions of a pattern file whose machine lines are settled: what is left is a merge of lines."""

    base: str
    ours: str
    theirs: str
    key: str
    confidence: int
    undecided: tuple[str, ...] = ()
    """What only a person can decide; the three texts still differ there."""


class Kept(NamedTuple):
    """How conflicts between containers are settled."""

    contents: Mapping[str, bytes | None]
    """{path: its content; None: it goes, others hold all its ids}."""
    added: tuple[tuple[str, bytes], ...]
    """(the path it comes from, content) of new containers; they want names of their own."""


def is_container(path: str) -> bool:
    """True for a path directly below `observations/` or `ledger/` that holds evidence."""
    folder, _, name = path.rpartition("/")
    return folder + "/" in (OBSERVATIONS, LEDGER) and name.endswith(".jsonl")


def is_pattern(path: str) -> bool:
    """True for the path of a pattern file."""
    return path.startswith(PATTERNS) and path.endswith(".md") and not path.endswith("/README.md")


# --- pattern files --------------------------------------------------------------------------------------------------


def three_way(base: T | None, ours: T, theirs: T) -> T | None:
    """Return the merged value: equal, or changed on one side alone; None when both changed it differently."""
    if ours == theirs or theirs == base:
        return ours
    return theirs if ours == base else None


def merge_status(base: str, ours: str, theirs: str) -> str | None:
    """Return the merged status (case 5); None when a person must decide."""
    merged = three_way(base, ours, theirs)
    return RETIRED if merged is None and {ours, theirs} == {RETIRED, ACTIVE} else merged


def settle_pattern(path: str, versions: Versions, policy: Policy) -> Texts:
    """Settle the machine lines of a pattern file that both sides have (cases 1 to 8).

    Raises InvalidDocument, with the reason, when a version cannot be read or the keys differ.
    """
    ours, theirs = _parsed(path, "this side", versions.ours), _parsed(path, "the other side", versions.theirs)
    if ours.key != theirs.key:
        message = f"it is {ours.key!r} on this side and {theirs.key!r} on the other"
        raise InvalidDocument(message, "give one of the two patterns a file of its own")
    base = None if versions.base is None else _parsed(path, "the common version", versions.base)
    if base is not None and base.key != ours.key:
        base = None
    offset = three_way(base.offset if base else 0, ours.offset, theirs.offset)
    category = three_way(base.category if base else None, ours.category, theirs.category)
    status = merge_status(base.status if base else ACTIVE, ours.status, theirs.status)
    undecided = []
    if offset is None:
        undecided.append(
            f"confidence was changed by hand on both sides ({ours.offset:+d} here, {theirs.offset:+d} there)"
        )
    if category is None:
        undecided.append(f"category is {ours.category} on this side and {theirs.category} on the other")
    if status is None:
        undecided.append(f"status is {ours.status} on this side and {theirs.status} on the other")
    settled = _Settled(ours, theirs, policy, offset, category, status)
    middle = settled.text(base) if base else settled.empty()
    return Texts(middle, settled.text(ours), settled.text(theirs), ours.key, settled.confidence(ours), tuple(undecided))


def _parsed(path: str, side: str, content: bytes | None) -> PatternFile:
    try:
        return parse((content or b"").decode("utf-8"), path)
    except UnicodeDecodeError:
        raise InvalidDocument(f"{side} is not valid UTF-8", "save it as UTF-8") from None
    except InvalidDocument as problem:
        raise InvalidDocument(f"{side} cannot be read: {problem.message}", problem.hint) from None


class _Settled:
    """The values that both sides end up with; None where each keeps its own for a person to see."""

    def __init__(self, ours: PatternFile, theirs: PatternFile, policy: Policy, offset: int | None, category: str | None,
                 status: str | None) -> None:  # fmt: skip
        self.ours, self.theirs, self.offset, self.category, self.status, self.policy = (
            ours,
            theirs,
            offset,
            category,
            status,
            policy,
        )
        self.same_status = ours.status == theirs.status
        self.counted = max(ours.counted, theirs.counted)
        self.first_seen = min((day for day in (ours.first_seen, theirs.first_seen) if day), default="")
        self.last_seen = max(ours.last_seen, theirs.last_seen)
        self.sources = tuple(sorted({*ours.sources, *theirs.sources}))
        self.sessions = max(ours.sessions, theirs.sessions)
        self.candidate = ours.candidate or theirs.candidate

    def confidence(self, version: PatternFile) -> int:
        """Return offset + counted."""
        return self.counted + (version.offset if self.offset is None else self.offset)

    def _machine(self, version: PatternFile) -> MachineLines:
        level = self.policy.level(self.confidence(self.ours))
        if self.ours.level == self.theirs.level == RAW and not self.ours.offset:
            level = RAW  # one session alone may stand behind it; the next consolidate knows
        return MachineLines(
            version.key, self.category or version.category, self.confidence(version), self.counted, level,
            self.first_seen, self.last_seen, self.sources, self.candidate, self.sessions,
        )  # fmt: skip

    def text(self, version: PatternFile) -> str:
        """Return a version with the settled values."""
        text = with_machine_lines(version.text, self._machine(version), version.path)
        if self.status is not None and not self.same_status:
            text = with_field(text, "status", self.status, version.path)
        return text

    def empty(self) -> str:
        """Return the empty pattern file that stands in for a missing common version (case 7)."""
        machine = self._machine(self.ours)
        if self.offset is None:
            machine = machine._replace(confidence=self.counted)
        text = new_text(machine, metadata=NOTHING)
        return text if self.status is None or self.same_status else with_field(text, "status", self.status)


def readable(path: str, text: str, key: str) -> str:
    """Return why a merged text is no pattern file of this key; empty when it is one."""
    try:
        found = parse(text, path).key
    except InvalidDocument as problem:
        return f"the merged text cannot be read: {problem.message}"
    return "" if found == key else f"the merged text is {found!r}"


def edited(current: bytes | None, versions: Sequence[bytes | None], planned: bytes) -> bool:
    """True when the file in the working tree holds work of a person: more than what the versions and git's conflict
    markers make of it, or no markers and none of the versions as a whole."""
    if current is None:
        return False
    now = _lines(current)
    if now == _lines(planned) or any(now == _lines(one) for one in versions if one is not None):
        return False
    known = {line for one in versions if one is not None for line in _lines(one)}
    texts = [line for line in now if not line.startswith(tuple(mark.encode() for mark in MARKERS))]
    return len(texts) == len(now) or any(line not in known for line in texts)


def _lines(content: bytes) -> list[bytes]:
    return content.replace(b"\r\n", b"\n").removesuffix(b"\n").split(b"\n")


# --- containers -----------------------------------------------------------------------------------------------------


def without_markers(content: bytes) -> bytes:
    """Return a container without the marker lines that a merge of its lines has put in (case 14)."""
    marks = tuple(mark.encode() for mark in MARKERS)
    return b"".join(line for line in content.splitlines(keepends=True) if not line.startswith(marks))


def evidence_ids(content: bytes) -> set[str]:
    """Return the ids that a container holds."""
    return {one.id for one in parse_container(content)[0]}


def settle_containers(conflicts: Mapping[str, Versions], elsewhere: Iterable[str] = ()) -> Kept:
    """Settle containers in conflict so that no id is lost (cases 9 to 14). `elsewhere`: the ids of all others."""
    contents: dict[str, bytes | None] = {}
    added: list[tuple[str, bytes]] = []
    for path, (_, ours, theirs) in sorted(conflicts.items()):
        contents[path] = theirs if ours is None else ours
        if ours is not None and theirs is not None and ours != theirs:
            added.append((path, theirs))
    held = set(elsewhere)
    for content in [*contents.values(), *(content for _, content in added)]:
        held |= evidence_ids(content or b"")
    for path, (base, _, _) in sorted(conflicts.items()):
        if base is None or evidence_ids(base) <= held:
            continue
        held |= evidence_ids(base)
        if contents[path] is None:
            contents[path] = base
        else:
            added.append((path, base))
    return Kept(contents, tuple(added))


def common_ids(conflicts: Mapping[str, Versions]) -> set[str]:
    """Return the ids of common versions that no version of either side holds: they may stand elsewhere."""
    sides = [one for _, ours, theirs in conflicts.values() for one in (ours, theirs) if one is not None]
    held = {evidence_id for content in sides for evidence_id in evidence_ids(content)}
    return {one for base, _, _ in conflicts.values() if base is not None for one in evidence_ids(base)} - held

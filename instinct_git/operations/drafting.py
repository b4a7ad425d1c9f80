"""What a proposal holds: each pattern's file, its evidence, its document, and the links by which agents find a skill.

Everything is made on top of one commit, the base, and only what differs from it is kept. What a person has changed there
since is never written over: it stands in `kept`, with the difference to what would have been proposed.
"""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from instinct_git.core import kinds, memory_file, proposal
from instinct_git.core.candidates import Candidate, fold_candidate, summary
from instinct_git.core.confidence import fold_one, group, level_of
from instinct_git.core.consolidate import Book, Snapshot
from instinct_git.core.document import SEPARATOR, MachineLines, new_text, parse, with_field, with_machine_lines
from instinct_git.core.evidence import LEDGER, OBSERVATIONS, dump_ledger, nonce
from instinct_git.core.keys import pattern_path, split_key
from instinct_git.core.model import GRADUATED, RETIRED, Evidence
from instinct_git.core.pattern import PatternFile
from instinct_git.core.request import BOOKKEEPING, Kept, Told
from instinct_git.core.scalars import flow
from instinct_git.errors import InstinctError, SecretFound, UnknownPattern
from instinct_git.operations.answering import refuse_rejected
from instinct_git.operations.linking import Links
from instinct_git.operations.setup import scaffolding
from instinct_git.operations.workspace import Workspace, near, refuse_secrets
from instinct_git.storage.branches import Blob
from instinct_git.storage.git import Repository


class Wish(NamedTuple):
    """One pattern that is to be proposed."""

    key: str
    kind: str
    name: str


@dataclass
class Draft:
    """The files of a proposal."""

    files: dict[str, Blob] = field(default_factory=dict)
    """{path from the top: content} of what differs from the base."""
    told: list[Told] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    """For each pattern the skill or procedure; of a rule or a memory the line that MEMORY.md gains."""
    kept: list[Kept] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    updates: list[str] = field(default_factory=list)
    """Keys of what has landed in the same place already: nobody is asked anew whether it may."""


class Drafting:
    """One drafting: `source` is the memory that knows the patterns, `target` the one whose repository they go to."""

    def __init__(self, source: Workspace, book: Book, target: Workspace, repository: Repository, base: str) -> None:
        self.source, self.book, self.target, self.repository, self.base = source, book, target, repository, base
        self.policy = target.config().policy
        self.here = repository.files_at(base, ".instinct") if base else {}
        wanted = {p: b for p, b in self.here.items() if p.startswith((OBSERVATIONS, LEDGER)) and p.endswith(".jsonl")}
        contents = repository.blobs(wanted.values())
        self.there = Book(Snapshot(ledger={path: contents[blob] for path, blob in wanted.items()}))
        self.draft = Draft()
        self.missing: dict[str, Evidence] = {}
        self.memory_text: str | None = None
        self.at_base: dict[str, str | None] = {}
        self.links = Links(target, repository, base)

    def make(self, wishes: Sequence[Wish]) -> Draft:
        """Return everything that the proposal holds. Raises InstinctError for what cannot be proposed."""
        for wish in wishes:
            self._one(wish)
        if self.missing:
            content = dump_ledger(self.missing.values())
            day = max(one.id[:8] if one.id[:8].isdigit() else self.target.day() for one in self.missing.values())
            # Named by its content: a proposal made again brings the same file.
            self._put(f"{LEDGER}{day}-{nonce(hashlib.sha256(content).digest())}.jsonl", content.decode("utf-8"))
        self._scaffold()
        for path, text in self.at_base.items():
            if text is not None and self.draft.files.get(self.repository.inside(path)) == Blob(_bytes(text)):
                del self.draft.files[self.repository.inside(path)]
        self.draft.notices = list(dict.fromkeys([*self.draft.notices, *self.links.notices]))
        return self.draft

    # -- one pattern -------------------------------------------------------------------------------------------------

    def _one(self, wish: Wish) -> None:
        work = known(self.book, wish.key)
        members = self._together(wish.key)
        told = tuple(one for one in members if one.k not in BOOKKEEPING)
        pattern = self._pattern(work, members)
        if RETIRED in (work.status, pattern.status):
            raise InstinctError(
                f"{wish.key!r} is retired: a person said no to it", "`instinct restore` takes that back"
            )
        _refuse_empty(pattern)
        known_here = self.book.groups.get(wish.key, ()) if self._same_memory() else members
        candidate = fold_candidate(known_here, key=wish.key, text=work.body)
        refuse_rejected(self.book, wish.key)
        if not self._same_memory():
            refuse_rejected(self.target.read()[0], wish.key)
        path = kinds.path_of(wish.kind, wish.name)
        self._refuse_elsewhere(pattern, path)
        self.draft.updates += [wish.key] if pattern.status == GRADUATED and self._text(path) is not None else []
        shown = proposal.with_triggers(pattern, told)
        line = ""
        if wish.kind in (kinds.SKILL, kinds.PROCEDURE):
            text = self._document(wish, shown, told)
            if wish.kind == kinds.SKILL:
                self.draft.files |= self.links.to(wish.name, text)
        else:
            line = text = self._line(wish, shown)
        if wish.kind != kinds.SKILL and self.target.place.documents_read:
            self.draft.notices += self.links.unread(path)
        self._graduate(pattern, path)
        self.draft.texts.append(text)
        self.draft.told.append(
            Told(
                wish.key, wish.kind, wish.name, pattern.title, self.repository.inside(path), pattern.confidence,
                pattern.level, told, line, *_scored(candidate), self.target.place.documents_read,
            )
        )  # fmt: skip
        if pattern.confidence < self.policy.mature and candidate is None:
            self.draft.notices.append(
                f"{wish.key}: this pattern is still raw: confidence {pattern.confidence} of {self.policy.mature}"
            )

    def _together(self, key: str) -> list[Evidence]:
        """Return the pattern's evidence as the base will have it; what is missing there is brought along.

        It travels in a container of its own: a whole container would bring other patterns' evidence without their files.
        """
        mine = [one for one in self.book.groups.get(key, ()) if one.id in self.book.tree_ids]
        names = {one.p for one in mine} | {key}
        mine += [
            one
            for one in self.book.everything
            if one.id in self.book.tree_ids
            and one.p in names
            and (one.k == "retract" or (one.k == "alias" and self.book.stands_for.get(one.p, one.p) == key))
        ]
        if not self._same_memory():
            from instinct_git.operations.universal import evidence_for

            mine = evidence_for(self.source, self.target, mine, key)
        missing = [one for one in mine if one.id not in self.there.everything]
        self.missing.update((one.id, one) for one in missing)
        self.brings = bool(missing)
        return group([*self.there.everything, *missing]).get(key, [])

    def _pattern(self, work: PatternFile, members: Iterable[Evidence]) -> PatternFile:
        """Return the pattern as the proposal has it: the words of whoever changed them last, the numbers of the evidence."""
        path = next((one for one in (work.path, pattern_path(work.key)) if one in self.here), "")
        base = self._base_file(path, work.key) if path else None
        if path and base is None:
            path = ""
        text = self._words(work, base)
        machine = self._machine(work, base, members, parse(text, path or work.path).body)
        text = with_machine_lines(text, machine, path or work.path)
        return parse(text, path or (work.path if self._same_memory() else pattern_path(work.key)))

    def _base_file(self, path: str, key: str) -> PatternFile | None:
        text = self._text(path) or ""
        try:
            found = parse(text, path)
        except InstinctError as problem:
            raise InstinctError(
                f"the default branch has a broken pattern file: {problem.message}", "mend it there"
            ) from None
        return found if found.key == key else None

    def _words(self, work: PatternFile, base: PatternFile | None) -> str:
        """Return the text to start from. On both sides a person may have changed title, status or body: the working
        tree's counts, unless only, or also, the default branch's have changed since the two parted."""
        mine = work.text.replace("\r\n", "\n")  # .gitattributes keeps LF in the repository, whatever the tree has
        if base is None and not self._same_memory():
            return _anew(work)
        if base is None:
            if self.repository.files_at("HEAD", work.path):
                self.draft.notices.append(
                    f"{work.path} is not on the default branch yet: where a merge of this branch conflicts in it later, "
                    "`instinct resolve` settles it"
                )
            return mine
        if not self._same_memory() or _human(mine) == _human(base.text):
            return base.text
        fork = self.repository.ask("merge-base", "HEAD", self.base).text.partition("\n")[0]
        before = self.repository.files_at(fork, base.path).get(base.path) if fork else None
        old = self.repository.blobs([before])[before].decode("utf-8", "surrogateescape") if before else ""
        if _human(old) == _human(base.text):
            return mine
        if _human(old) != _human(mine):
            self.draft.notices.append(
                f"{base.path} was changed here and on the default branch: the default branch's words are proposed"
            )
        return base.text

    def _machine(
        self, work: PatternFile, base: PatternFile | None, members: Iterable[Evidence], body: str
    ) -> MachineLines:
        """Return the machine lines: the base's own where nothing new is brought, so that its next batch changes the same."""
        if base is not None and not self.brings:
            return MachineLines(
                base.key, base.category, base.confidence, base.counted, base.level, base.first_seen, base.last_seen,
                base.sources, base.candidate, base.sessions,
            )  # fmt: skip
        members, origin = list(members), base or work
        tally = fold_one(members, self.policy)
        confidence = origin.offset + tally.total
        return MachineLines(
            work.key, origin.category, confidence, tally.total,
            level_of(confidence, origin.offset, members, self.policy),
            tally.first_seen or origin.first_seen, tally.last_seen or origin.last_seen, tally.sources or origin.sources,
            summary(fold_candidate(members, key=work.key, text=body)), tally.sessions or origin.sessions,
        )  # fmt: skip

    def _graduate(self, pattern: PatternFile, path: str) -> None:
        text = with_field(pattern.text, "status", GRADUATED, pattern.path)
        self._put(pattern.path, with_field(text, "graduated_to", path, pattern.path))

    # -- documents ---------------------------------------------------------------------------------------------------

    def _document(self, wish: Wish, pattern: PatternFile, told: Sequence[Evidence]) -> str:
        """Put a skill or procedure among the files, unless a person has changed the one that stands there."""
        path = kinds.path_of(wish.kind, wish.name)
        self._refuse_in_the_way(path)
        tally = fold_one(told, self.policy)
        sessions = len({(one.by, one.s) for one in told if one.s})
        made = proposal.skill(pattern, tally, sessions, wish.name).text
        text = made if wish.kind == kinds.SKILL else kinds.procedure(pattern, tally, wish.name)
        before = self._text(path)
        if before is not None and proposal.origin(before) != wish.key:
            raise InstinctError(
                f"{path} is there already, and it does not come from {wish.key!r}", "--name takes another name"
            )
        if before is None or proposal.untouched(before):
            self._put(path, text)
            self._safe(path, text)
        elif before != text:
            self._keep(path, before, text)
        return text

    def _line(self, wish: Wish, pattern: PatternFile) -> str:
        """Put a rule or memory as one line more into MEMORY.md; several of a batch one after the other."""
        path = memory_file.PATH
        self._refuse_in_the_way(path)
        section, line = (
            (kinds.rule_section(), kinds.rule_line(pattern)) if wish.kind == kinds.RULE else kinds.memory_line(pattern)
        )
        self._safe(path, line)
        if self.memory_text is None:
            self.memory_text = self._text(path) or ""
        said = memory_file.line_with(self.memory_text, kinds.mark(wish.key))
        after = memory_file.add_line(self.memory_text, section, line) if not said else self.memory_text
        if said and memory_file.add_line(self.memory_text, section, line) != self.memory_text:
            self._keep(path, said + "\n", line + "\n")
        if after != self.memory_text:
            self.memory_text = after
            self._put(path, after)
        return f"{section}: {line}"

    def _refuse_elsewhere(self, pattern: PatternFile, path: str) -> None:
        """Refuse a second place for what has landed in one that is still there."""
        landed = pattern.graduated_to
        if pattern.status != GRADUATED or landed in ("", path):
            return
        if self.repository.files_at(self.base, landed).get(landed):
            raise InstinctError(
                f"{pattern.key!r} has become {landed} already",
                "`git revert` of its merge takes that back; then propose it anew",
            )

    def _refuse_in_the_way(self, path: str) -> None:
        """Refuse where a file or a link stands in the place of a folder that we need."""
        found = self.links.in_the_way(self.repository.inside(path))
        if found:
            raise InstinctError(
                f"{found} is no folder on the default branch, so {path} cannot be put there",
                "make it a folder there, or propose another kind",
            )

    def _keep(self, path: str, before: str, after: str) -> None:
        inside = self.repository.inside(path)
        self.draft.kept.append(Kept(inside, unified(inside, before, after)))

    def _safe(self, path: str, text: str) -> None:
        try:
            refuse_secrets([(path, text)])
        except SecretFound as problem:
            raise SecretFound(
                problem.message,
                "name the variable that holds it instead of its value (`instinct show` says where it stands); nothing was written",
            ) from None

    # -- files -------------------------------------------------------------------------------------------------------

    def _same_memory(self) -> bool:
        return self.source.place.root == self.target.place.root

    def _text(self, path: str) -> str | None:
        """Return a file of the base as text (memory path)."""
        if path not in self.at_base:
            blob = self.repository.files_at(self.base, path).get(path) if self.base else None
            self.at_base[path] = (
                None if blob is None else self.repository.blobs([blob])[blob].decode("utf-8", "surrogateescape")
            )
        return self.at_base[path]

    def _put(self, path: str, text: str) -> None:
        if path.startswith(".instinct/"):
            self._safe(path, text)
        self._text(path)
        self.draft.files[self.repository.inside(path)] = Blob(_bytes(text))

    def _scaffold(self) -> None:
        """Bring what every memory has along, where the base has no memory yet."""
        for path, (content, _) in scaffolding().items():
            if path not in self.here:
                file = self.target.place.root / path
                self._put(path, file.read_text(encoding="utf-8").replace("\r\n", "\n") if file.is_file() else content)


def known(book: Book, key: str) -> PatternFile:
    """Return a pattern's file. Raises UnknownPattern, with what to do."""
    pattern = book.files.get(key)
    if pattern is not None:
        return pattern
    if key in book.groups:
        raise UnknownPattern(f"{key!r} has no file yet", "run `instinct consolidate` first")
    raise UnknownPattern(f"there is no pattern {key!r}", near(key, book.files))


def _refuse_empty(pattern: PatternFile) -> None:
    """Refuse a fix of which only the problem is known: a rule or skill of it would be an empty form."""
    known_words = (pattern.title, pattern.description, pattern.body, *map(str, pattern.metadata.values()))
    if split_key(pattern.key)[0] == "fix" and not any(words.strip() for words in known_words):
        raise InstinctError(
            f"nobody has said yet what the fix of {pattern.key!r} is",
            f"give it a title, in {pattern.path} or with `instinct observe KEY --title ...` and a consolidate",
        )


def unified(path: str, before: str, after: str, *, old: str = "", new: str = "") -> str:
    """Return the difference of two texts as a unified diff."""
    rows = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), old or f"a/{path}", new or f"b/{path}"
    )
    return "".join(row if row.endswith("\n") else row + "\n\\ No newline at end of file\n" for row in rows)


def _scored(candidate: Candidate | None) -> tuple[str, str, tuple[str, ...], str]:
    if candidate is None:
        return "", "", (), ""
    return f"{candidate.score:.2f}", candidate.status, candidate.reasons, candidate.held


def _human(text: str) -> str:
    """Return a person's part of a pattern file: what stands below the separator."""
    return text.partition(SEPARATOR)[2] or text


def _anew(work: PatternFile) -> str:
    """Return a pattern's words for another memory: what people there have approved or retired is theirs to say."""
    machine = MachineLines(
        work.key, work.category, 0, 0, "", work.first_seen, work.last_seen, work.sources
    )  # fmt: skip
    text = new_text(machine, title=work.title, description=work.description, metadata=work.metadata)
    text = with_field(text, "tags", flow(list(work.tags))) if work.tags else text
    text = with_field(text, "applies_to", flow(work.applies_to)) if work.applies_to else text
    return text + work.body.replace("\r\n", "\n")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")

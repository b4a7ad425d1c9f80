"""Plans of the batches: what record, consolidate and decay would write. Pure: files' contents in, a Batch out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

from instinct_git.core.batch import FADED_WORDS, Batch, Change, Moved
from instinct_git.core.confidence import fold_one, group, level_of, representatives, retracted
from instinct_git.core.document import (
    MachineLines,
    fill_empty,
    keys_named,
    new_text,
    parse,
    with_field,
    with_machine_lines,
)
from instinct_git.core.evidence import (
    LEDGER,
    OBSERVATIONS,
    BadLine,
    EvidenceSet,
    day_of,
    dump_container,
    dump_ledger,
    iso_day,
    parse_container,
    position,
    published,
)
from instinct_git.core.keys import category_of, file_name, pattern_path, split_key
from instinct_git.core.model import ACTIVE, Evidence, Policy, Tally
from instinct_git.core.pattern import Finding, PatternFile
from instinct_git.core.scalars import flow
from instinct_git.errors import InvalidDocument

FADED_AFTER = timedelta(days=7)
UNKNOWN = "human:unknown"
"""Who approved what landed where no host says who merged it."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The contents of a memory's files at one moment; paths are relative to its root."""

    patterns: Mapping[str, str] = field(default_factory=dict)
    observations: Mapping[str, bytes] = field(default_factory=dict)
    ledger: Mapping[str, bytes] = field(default_factory=dict)
    inbox: tuple[Evidence, ...] = ()


class Book:
    """A snapshot read: patterns by key, evidence by container kind, and everything that could not be read."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.files: dict[str, PatternFile] = {}
        self.broken: list[Finding] = []
        self.copies: list[tuple[str, str]] = []
        """(path, path of the file that counts) where two files carry one key."""
        self.broken_keys: set[str] = set()
        """Keys that unreadable pattern files name."""
        self.bad_lines: dict[str, list[BadLine]] = {}
        self._read_patterns()
        self._taken = {pattern.path for pattern in self.files.values()}
        self._broken_paths = {finding.path for finding in self.broken}
        self.ledger = self._read(snapshot.ledger)
        self.observed = self._read(snapshot.observations)
        self.everything = EvidenceSet()
        for found in (*self.ledger.values(), *self.observed.values(), snapshot.inbox):
            self.everything.update(found)
        self.ledger_ids = {one.id for found in self.ledger.values() for one in found}
        self.tree_ids = self.ledger_ids | {one.id for found in self.observed.values() for one in found}
        self.waiting = EvidenceSet(one for one in snapshot.inbox if one.id not in self.tree_ids)
        everything = list(self.everything)
        self.groups = group(everything)
        telling = [one for one in everything if one.k in ("alias", "retract", "candidate")]  # few among a million
        gone = retracted(telling)
        aliases = [one for one in telling if one.k == "alias" and one.id not in gone]
        self.stands_for = representatives(aliases)
        self.pooled = {
            self.stands_for.get(one.p, one.p) for one in telling if one.k == "candidate" and one.id not in gone
        }
        """Keys that are candidates."""
        folded = [one for one in telling if one.id in self.ledger_ids]
        parted = retracted(folded)
        self.stood_for = representatives(one for one in folded if one.id not in parted)
        """What `stands_for` was at the last fold."""
        self._folded: tuple[Policy, dict[str, Tally]] | None = None

    def _read(self, containers: Mapping[str, bytes]) -> dict[str, list[Evidence]]:
        read = {}
        for path in sorted(containers):
            read[path], bad = parse_container(containers[path])
            if bad:
                self.bad_lines[path] = bad
        return read

    def _read_patterns(self) -> None:
        for path in sorted(self.snapshot.patterns, key=lambda p: (p.count("/"), p)):
            try:
                pattern = parse(self.snapshot.patterns[path], path)
            except InvalidDocument as problem:
                _, _, rest = problem.message.partition(":")
                line, _, message = rest.partition(":")
                number = int(line) if line.isdigit() else 0
                self.broken.append(Finding("pattern-unreadable", path, message.strip() or problem.message, line=number))
                self.broken_keys |= keys_named(self.snapshot.patterns[path])
                continue
            other = self.files.get(pattern.key)
            if other is None or path == pattern_path(pattern.key):
                self.files[pattern.key] = pattern
            if other is not None:
                kept = self.files[pattern.key].path
                self.copies.append((path if kept != path else other.path, kept))

    def tallies(self, policy: Policy) -> dict[str, Tally]:
        """Fold everything: {key: tally}."""
        if self._folded is None or self._folded[0] != policy:
            self._folded = policy, {key: fold_one(members, policy) for key, members in self.groups.items()}
        return dict(self._folded[1])

    def unreadable(self, key: str) -> bool:
        """True when a file that cannot be read is, or may be, this pattern's."""
        return key in self.broken_keys or (bool(self.broken) and pattern_path(key) in self._broken_paths)

    def free_path(self, key: str) -> str | None:
        """Return where the key's new file goes; None when an unreadable file stands there (it may be this pattern)."""
        if self.unreadable(key):
            return None
        path = pattern_path(key)
        if path not in self._taken:
            return path
        digest = path.removesuffix(".md") + "-" + file_name(key + "\n")[-8:]  # its name went to a renamed file
        return digest + ".md"


def plan_record(book: Book, stem: str, *, share_notes: bool = False) -> Batch:
    """Move the inbox into one new container of `observations/`."""
    fresh = sorted(book.waiting, key=lambda one: position(one.id))
    if not fresh:
        return Batch("record", total=len(book.files))
    content = dump_container(published(one, share_notes=share_notes) for one in fresh)
    keys = len({one.p for one in fresh})
    return Batch(
        "record",
        subject=f"instinct: record {_count(len(fresh), 'observation')} of {_count(keys, 'pattern')}",
        changes=(Change(f"{OBSERVATIONS}{stem}.jsonl", content, "evidence from the inbox"),),
        recorded=len(fresh),
        container=stem,
        total=len(book.files),
    )


def plan_consolidate(book: Book, policy: Policy, stem: str, today: date) -> Batch:
    """Fold the inbox and `observations/` into the ledger and bring every pattern file up to date."""
    return Fold(book, policy, stem, today, "consolidate").plan()


def plan_decay(book: Book, policy: Policy, stem: str, today: date, days: int) -> Batch:
    """Consolidate, then take 1 from what was not seen for `days` days and remove what has been faded for a week."""
    return Fold(book, policy, stem, today, "decay", days).plan()


def iso_week(day: date) -> str:
    """Return the ISO week, such as 2026-W18."""
    year, week, _ = day.isocalendar()
    return f"{year}-W{week:02d}"


class Fold:
    """One planning of a folding batch. Gathers changes; touches nothing."""

    def __init__(self, book: Book, policy: Policy, stem: str, today: date, verb: str, days: int | None = None) -> None:
        self.book, self.policy, self.stem, self.today, self.verb, self.days = book, policy, stem, today, verb, days
        self.booked: list[Evidence] = []
        self.changes: list[Change] = []
        self.moved: list[Moved] = []
        self.faded: list[str] = []
        self.removed: list[str] = []
        self.skipped: list[Finding] = list(book.broken)

    def plan(self) -> Batch:
        tallies = self.book.tallies(self.policy)
        if self.days is not None:
            tallies = self._decay(tallies)
        containers = self._containers()
        entering = {one.id for one in self._entering(containers)} - self.book.ledger_ids
        fresh = self._fresh(entering)
        self._patterns(tallies, fresh)
        self._book_never_filed(tallies, fresh)
        folded = len(entering)
        self._ledger(containers)
        return Batch(
            self.verb,
            subject=self._subject(folded) if self.changes else "",
            changes=tuple(self.changes),
            moved=tuple(self.moved),
            folded=folded,
            recorded=len(self.book.waiting),
            booked=len(self.booked),
            faded=tuple(self.faded),
            removed_by_person=tuple(self.removed),
            skipped=tuple(self.skipped),
            container=self.stem if len(self.book.waiting) else "",
            total=len(self.book.files) + sum(m.before is None for m in self.moved) - len(self.faded),
        )

    # -- evidence ----------------------------------------------------------------------------------------------------

    def _containers(self) -> list[str]:
        """Return the observation files this batch replaces (law 2). A file with a broken line stays for a person."""
        return [path for path in self.book.observed if path not in self.book.bad_lines]

    def _entering(self, containers: Iterable[str]) -> list[Evidence]:
        entering = [one for path in containers for one in self.book.observed[path]]
        for path in self.book.bad_lines:
            entering += [one for one in self.book.observed.get(path, ()) if one.id not in self.book.ledger_ids]
        return entering + list(self.book.waiting)

    def _fresh(self, entering: set[str]) -> dict[str, list[Evidence]]:
        """Return {key: its evidence that this batch folds}, by the aliases and retractions of the whole set."""
        found = {key: [one for one in members if one.id in entering] for key, members in self.book.groups.items()}
        return {key: members for key, members in found.items() if members}

    def _ledger(self, containers: list[str]) -> None:
        entering = self._entering(containers) + self.booked
        if entering:
            chosen = EvidenceSet(entering)
            content = dump_ledger(self.book.everything.by_id.get(one.id, one) for one in chosen)
            self.changes.insert(0, Change(f"{LEDGER}{self.stem}.jsonl", content, "folded evidence"))
        self.changes += [Change(path, None, "its ids are in the new ledger file") for path in containers]

    def _book(self, kind: str, prefix: str, key: str) -> Evidence | None:
        """Book time-driven evidence once a key and ISO week, whoever runs the batch and wherever."""
        one = Evidence(f"{prefix}:{key}:{iso_week(self.today)}", key, kind)
        if one.id in self.book.everything:
            return None
        self.booked.append(one)
        return one

    def _book_never_filed(self, tallies: Mapping[str, Tally], fresh: Mapping[str, list[Evidence]]) -> None:
        """Mark keys that fold to 0 and have no file, so that their absence is never taken for a person's deletion."""
        for key in fresh:
            tally = tallies[key]
            if tally.total or key in self.book.files or self.book.unreadable(key):
                continue
            if not removed_by_person(self.book, key, tally):
                self._book("faded", "faded", key)

    # -- decay -------------------------------------------------------------------------------------------------------

    def _decay(self, tallies: dict[str, Tally]) -> dict[str, Tally]:
        self._idle()
        limit = date.fromordinal(max(1, self.today.toordinal() - (self.days or 0))).isoformat()
        stale = [
            key
            for key, tally in sorted(tallies.items())
            if tally.total > 0 and (tally.last_seen or tally.first_seen or "9999") <= limit and self._may_fade(key)
        ]
        new = [one for one in (self._book("decayed", "decay", key) for key in stale) if one is not None]
        if not new:
            return tallies
        fading = {one.p: sorted([*self.book.groups[one.p], one], key=lambda e: position(e.id)) for one in new}
        return {**tallies, **{key: fold_one(members, self.policy) for key, members in fading.items()}}

    def _idle(self) -> None:
        """Book the idle stretches and expiries of candidates, each once (DESIGN section 5)."""
        from instinct_git.core.candidates import due

        for key in sorted(self.book.pooled):
            members = self.book.groups[key]
            if self._may_fade(key):
                self.booked += [one for one in due(key, members, self.today) if one.id not in self.book.everything]

    def _may_fade(self, key: str) -> bool:
        pattern = self.book.files.get(key)
        return pattern is not None and pattern.status == ACTIVE

    def _zero_since(self, key: str) -> date | None:
        """Return the day on which the pattern's sum last came to 0; None when it is not 0."""
        members = self.book.groups.get(key, [])
        steps = fold_one(members, self.policy, steps=True).steps
        if not steps or steps[-1].total:
            return None
        last = len(steps) - 1
        while last > 0 and steps[last - 1].total == 0:
            last -= 1
        day = day_of(steps[last].evidence.id)
        return date(int(day[:4]), int(day[4:6]), int(day[6:8]))

    # -- pattern files -----------------------------------------------------------------------------------------------

    def _patterns(self, tallies: Mapping[str, Tally], fresh: Mapping[str, list[Evidence]]) -> None:
        for key in sorted(tallies.keys() | self.book.files.keys()):
            tally = tallies.get(key, Tally())
            pattern = self.book.files.get(key)
            if pattern is None:
                self._create(key, tally)
            elif reason := self._leaves(pattern, tally):
                self.changes.append(Change(pattern.path, None, reason))
                self.faded.append(key)
                if tally.evidence:
                    self._book("faded", "faded", key)
            else:
                self._update(pattern, tally, fresh.get(key, []))

    def _leaves(self, pattern: PatternFile, tally: Tally) -> str:
        """Say why a pattern's file goes; empty: it stays."""
        return FADED_WORDS if self.days is not None and self._gone(pattern, tally) else ""

    def _gone(self, pattern: PatternFile, tally: Tally) -> bool:
        if tally.total or pattern.confidence + tally.total - pattern.counted > 0 or pattern.status != ACTIVE:
            return False
        since = self._zero_since(pattern.key)
        return since is not None and self.today - since >= FADED_AFTER

    def _create(self, key: str, tally: Tally) -> None:
        if tally.total == 0:
            return
        path = self.book.free_path(key)
        if path is None:
            return
        if removed_by_person(self.book, key, tally):
            self.removed.append(key)
            return
        category = category_of(key, (tally.category or None) if split_key(key)[0] == "other" else None)
        machine = self._machine(key, category, tally.total, tally)._replace(candidate=self._candidate(key))
        text = new_text(machine, title=tally.title, description=tally.description, metadata=tally.metadata)
        if key in self.book.pooled:
            text = with_approvals(text, parse(text, path), self.book.groups[key])
        self.changes.append(Change(path, text.encode("utf-8"), "new pattern"))
        self.moved.append(Moved(key, None, tally.total, "", machine.level))

    def _update(self, pattern: PatternFile, tally: Tally, fresh: list[Evidence]) -> None:
        confidence = pattern.confidence + tally.total - pattern.counted
        machine = self._machine(pattern.key, pattern.category, confidence, tally, pattern)
        machine = machine._replace(candidate=self._candidate(pattern.key, pattern.body))
        text = with_machine_lines(pattern.text, machine, pattern.path)
        text = with_approvals(text, pattern, self.book.groups.get(pattern.key, ()))
        new = fold_one(fresh, self.policy)
        if new.title or new.description or new.metadata:
            text = fill_empty(
                text, title=new.title, description=new.description, metadata=new.metadata, path=pattern.path
            )
        level = machine.level
        if text != pattern.text:
            self.changes.append(Change(pattern.path, text.encode("utf-8"), "machine lines"))
        if confidence != pattern.confidence or level != pattern.level:
            self.moved.append(Moved(pattern.key, pattern.confidence, confidence, pattern.level, level))

    def _machine(
        self, key: str, category: str, confidence: int, tally: Tally, pattern: PatternFile | None = None
    ) -> MachineLines:
        # Law 5: where there is evidence the lines are its alone; without any they are whoever wrote the file by hand's.
        told = pattern if pattern is not None and not tally.evidence else tally
        level = level_of(confidence, confidence - tally.total, self.book.groups.get(key, ()), self.policy)
        return MachineLines(
            key, category, confidence, tally.total, level, told.first_seen, told.last_seen, told.sources, None, told.sessions
        )  # fmt: skip

    def _candidate(self, key: str, body: str = "") -> dict[str, Any]:
        if key not in self.book.pooled:
            return {}
        from instinct_git.core.candidates import fold_candidate, summary

        members = [*self.book.groups[key], *(one for one in self.booked if one.p == key)]
        return summary(fold_candidate(members, key=key, text=body))

    def _subject(self, folded: int) -> str:
        parts = []
        if folded:
            parts.append(f"fold {_count(folded, 'observation')} into {_count(len(self.moved), 'pattern')}")
        decayed = sum(one.k == "decayed" for one in self.booked)
        if self.verb == "decay":
            parts.append(f"decay {_count(decayed, 'pattern')}" + (f", {len(self.faded)} gone" if self.faded else ""))
        idle = len(self.booked) - sum(one.k in ("decayed", "faded") for one in self.booked)
        if idle:
            parts.append(f"{_count(idle, 'candidate')} idle")
        if not parts:
            parts.append(f"bring {_count(len(self.changes), 'file')} up to date")
        return "instinct: " + "; ".join(parts)


def with_approvals(text: str, pattern: PatternFile, members: Iterable[Evidence]) -> str:
    """Return a pattern file's text with an entry in `verified` for every approval that counts and that it does not name yet.

    Of one day's approvals those by a person who is known count; the unknown one stands in where nobody is. An approval
    of what was taken back since is no approval any more; an entry that is there already is for a person to take out.
    """
    given = [one for one in members if one.k in ("approved", "rejected")]
    if not any(one.k == "approved" for one in given):
        return text
    from instinct_git.core.candidates import answers

    approved = {(one.by or UNKNOWN, iso_day(day_of(one.id))) for one in answers(given) if one.k == "approved"}
    known = {day for by, day in approved if by != UNKNOWN}
    there = {(str(one.get("by", "")), str(one.get("at", ""))) for one in pattern.verified}
    told = known | {day for _, day in there}
    new = sorted((day, by) for by, day in approved if (by, day) not in there and (by != UNKNOWN or day not in told))
    if not new:
        return text
    entries = [*pattern.verified, *({"by": by, "at": day} for day, by in new)]
    return with_field(text, "verified", flow(entries), pattern.path, first=True)  # a revert must not run into it


def removed_by_person(book: Book, key: str, tally: Tally) -> bool:
    """True when the key's missing file was deleted by a person: it has folded evidence newer than its last `faded`.

    Evidence that only now reaches the key, by an alias that is not folded or whose old key's file still counts it, or
    because what stood for the key no longer does, never had a file under this key to delete.
    """
    if key in book.files or book.unreadable(key):
        return False
    after = tally.last_faded
    folded = (one for one in book.groups.get(key, ()) if one.id in book.ledger_ids and one.k != "faded")
    return any((after is None or position(one.id) > after) and _counted_for(book, key, one.p) for one in folded)


def _counted_for(book: Book, key: str, own: str) -> bool:
    old = book.files.get(own)
    return book.stood_for.get(own, own) == key and (own == key or old is None or old.counted == 0)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"

"""Caps that keep a memory small, and the plan of `gc`, the batch that goes back to them. Pure.

What goes is a file, never evidence. Its confidence is taken back by `adjusted` evidence that says why, and a `faded` id
says that nobody deleted it (law 5): whatever is seen again begins anew at 1, and `restore` takes the whole of it back.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import date
from typing import NamedTuple

from instinct_git.core.audit import NOTICE
from instinct_git.core.batch import Batch
from instinct_git.core.confidence import retracted
from instinct_git.core.consolidate import Book, Fold
from instinct_git.core.evidence import day_of, iso_day, nonce, position
from instinct_git.core.model import ACTIVE, Caps, Evidence, Policy, Tally
from instinct_git.core.pattern import Finding, PatternFile

BY = "instinct-gc"
"""The source of what `gc` books."""


_LAST = "zz"
_ASKED = frozenset(("confirmed", "remembered", "proposed", "approved", "rejected"))
"""Evidence that a person had something to do with a pattern: it is theirs to let go."""


class Going(NamedTuple):
    """A pattern file that `gc` removes."""

    key: str
    reason: str


def findings(book: Book, caps: Caps) -> list[Finding]:
    """Return the notice of `check` that there is more than the cap allows."""
    if not caps.patterns or len(book.files) <= caps.patterns:
        return []
    words = (
        f"{len(book.files)} patterns, caps.patterns is {caps.patterns} (`instinct gc --dry-run` shows what would go)"
    )
    return [Finding("caps", ".instinct/config.yaml", words, NOTICE)]


def chosen(book: Book, policy: Policy, caps: Caps, today: date) -> tuple[list[Going], list[str]]:
    """Return what goes, each with its reason, and notices on what stays although it is over a cap.

    1. The file of a key that an alias joined to another one, once nothing of it is left.
    2. Of the patterns first seen on one day, and then of all, the weakest as far as they are over the cap. Weakest is
       the least confidence, then the longest unseen.
    3. Never what is mature, a candidate, retired or graduated, adjusted by hand, confirmed, remembered or asked about by a person,
       seen today, brought back from an earlier `gc`, or holds words that a person wrote into the file.
    """
    tallies = book.tallies(policy)
    going = {one.key: one for one in _joined(book)}
    weak = sorted(
        (
            key
            for key in book.files.keys() - going.keys() - restored(book)
            if _may_go(book, key, tallies.get(key, Tally()), policy, today)
        ),
        key=lambda key: (tallies[key].total, tallies[key].last_seen, key),
    )
    notices = []
    for name, day, members in _over(book, caps, going):
        cap = caps.new_per_day if day else caps.patterns
        there = [key for key in members if key not in going]
        inside = set(there)
        free = [key for key in weak if key in inside]
        for key in free[: max(0, len(there) - cap)]:
            seen = f"seen {tallies[key].total} x, last on {tallies[key].last_seen}"
            going[key] = Going(key, f"over {name} = {cap}{f' on {day}' if day else ''}; {seen}")
        over = len(there) - len(free) - cap
        if over > 0:
            what = f"of the patterns first seen on {day}" if day else "patterns"
            notices.append(
                f"{over} {what} more than {name} = {cap} stay: mature, candidates, a person's, or seen today"
            )
    return sorted(going.values()), notices


def _over(book: Book, caps: Caps, going: Mapping[str, Going]) -> Iterator[tuple[str, str, list[str]]]:
    """Yield (cap's name, day or "", keys) of everything that is over a cap, the days first."""
    if caps.new_per_day:
        days: dict[str, list[str]] = defaultdict(list)
        for key, file in sorted(book.files.items()):
            if file.first_seen:
                days[file.first_seen].append(key)
        yield from (
            ("caps.new_per_day", day, keys) for day, keys in sorted(days.items()) if len(keys) > caps.new_per_day
        )
    if caps.patterns and len(book.files) - len(going) > caps.patterns:
        yield "caps.patterns", "", sorted(book.files)


def _joined(book: Book) -> Iterator[Going]:
    for key, file in sorted(book.files.items()):
        stands_for = book.stands_for.get(key, key)
        if stands_for != key and file.confidence == file.counted and file.status == ACTIVE and not _words(file, file):
            yield Going(key, f"joined to {stands_for} by an alias")


def _may_go(book: Book, key: str, tally: Tally, policy: Policy, today: date) -> bool:
    file, members = book.files[key], book.groups.get(key, [])
    if (
        file.status != ACTIVE
        or key in book.pooled
        or file.offset
        or _words(file, tally)
        or book.stands_for.get(key, key) != key
    ):
        return False
    if not 0 < tally.total < policy.mature or any(one.k in _ASKED for one in members):
        return False
    # What is in use stays; and what gc books must be the last word of its day.
    return all(iso_day(day_of(one.id)) < today.isoformat() for one in members)


def restored(book: Book) -> set[str]:
    """The keys that a person brought back from an earlier `gc`: they have said that it is to stay."""
    gone = retracted(book.everything)
    known = (book.everything.by_id[one] for one in gone if one in book.everything)
    return {book.stands_for.get(one.p, one.p) for one in known if one.k == "adjusted" and one.by == BY}


def _words(file: PatternFile, told: Tally | PatternFile) -> bool:
    """True for a file with a person's own words: they stand nowhere else, not even in the evidence."""
    own = (file.title not in ("", told.title), file.description not in ("", told.description))
    return bool(file.body.strip() or file.tags or any(own))


def plan_gc(book: Book, policy: Policy, caps: Caps, stem: str, today: date) -> Batch:
    """Consolidate, then remove what goes (`chosen`), each with its reason."""
    return _Gc(book, policy, caps, stem, today).plan()


class _Gc(Fold):
    """A fold that removes files, too."""

    def __init__(self, book: Book, policy: Policy, caps: Caps, stem: str, today: date) -> None:
        super().__init__(book, policy, stem, today, "gc")
        going, self.notices = chosen(book, policy, caps, today)
        self.going = {one.key: one.reason for one in going}

    def plan(self) -> Batch:
        """Plan the batch."""
        batch = super().plan()
        return replace(batch, gone=tuple(sorted(self.going.items())), notices=(*batch.notices, *self.notices))

    def _leaves(self, pattern: PatternFile, tally: Tally) -> str:
        reason = self.going.get(pattern.key, "")
        if reason and tally.total:
            self.booked.append(taking_back(pattern.key, self.book.groups[pattern.key], tally.total, self.today, reason))
        return reason

    def _subject(self, folded: int) -> str:
        return f"instinct: gc {len(self.going)} pattern{'' if len(self.going) == 1 else 's'}" + (
            f"; fold {folded} observation{'' if folded == 1 else 's'}" if folded else ""
        )


def taking_back(key: str, members: Iterable[Evidence], total: int, today: date, reason: str) -> Evidence:
    """Return the evidence that takes a pattern's confidence back: one id wherever the same goes for the same reason on
    one day, and the last of its day."""
    last = max((one.id for one in members), key=position, default="")
    digest = hashlib.sha256("\0".join(("gc", key, str(total), last, reason)).encode("utf-8")).digest()
    return Evidence(
        f"{today:%Y%m%d}-{_LAST}{nonce(digest)[len(_LAST) :]}.1",
        key,
        "adjusted",
        by=BY,
        extra={"n": -total, "why": f"gc: {reason}"},
    )


def taken_back(book: Book, key: str) -> list[str]:
    """Return the ids by which `gc` took a pattern's confidence back and that nobody has retracted."""
    return [one.id for one in book.groups.get(key, ()) if one.k == "adjusted" and one.by == BY]

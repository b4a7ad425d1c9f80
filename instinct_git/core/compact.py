"""The plan of `compact`: the ledger files of a year become one. No number changes: a ledger is a set of ids. Pure.

1. The year is that of a file's own stamp. A name without a valid stamp is nobody's year: the file stays.
2. Files of the current month (and of a clock that runs ahead) stay: branches still compare with them.
3. A file with a line that cannot be read stays: only a person can tell what that line was.
4. One file of a year stays: nothing would be gained.
5. Container law: the new file holds every id of the files that go, also an id that stands in another file, and both
   payloads of an id that came with two (`check` goes on reporting those).
6. The new file has the newest stamp of those that go and a nonce of its own: two clones that compact the same files
   make two containers, and a merge keeps both.
"""

from __future__ import annotations

from datetime import date

from instinct_git.core.batch import Batch, Change
from instinct_git.core.consolidate import Book
from instinct_git.core.evidence import LEDGER, dump_ledger


def stamp_of(path: str) -> str:
    """Return the day (YYYYMMDD) that a container's name begins with; empty when it begins with none."""
    day, dash, _ = path.rpartition("/")[2].partition("-")
    if not dash or len(day) != 8 or not (day.isascii() and day.isdigit()):
        return ""
    try:
        date(int(day[:4]), int(day[4:6]), int(day[6:]))
    except ValueError:
        return ""
    return day


def plan_compact(book: Book, stem: str, today: date) -> Batch:
    """Join the ledger files of each year into one. `stem` is a new container name; its nonce names the new files."""
    years: dict[str, list[str]] = {}
    for path in sorted(book.ledger):
        stamp = stamp_of(path)
        if stamp and stamp[:6] < f"{today:%Y%m}" and path not in book.bad_lines:
            years.setdefault(stamp[:4], []).append(path)
    written, removed, notices = [], [], []
    for year, paths in sorted(years.items()):
        evidence = [one for path in paths for one in book.ledger[path]]
        if len(paths) < 2 or not evidence:
            continue
        target = f"{LEDGER}{max(map(stamp_of, paths))}-{stem.partition('-')[2]}.jsonl"
        written.append(Change(target, dump_ledger(evidence), f"the ledger of {year}"))
        removed += [Change(path, None, "its ids are in the new ledger file") for path in paths]
        ids = len({one.id for one in evidence})
        notices.append(f"{year}: {len(paths)} ledger files with {ids} pieces of evidence become {target}")
    bad = [path for path in book.ledger if path in book.bad_lines]
    notices += [f"{path} has a line that cannot be read: it stays (`instinct check`)" for path in bad]
    files = f"{len(written)} file{'' if len(written) == 1 else 's'}"
    return Batch(
        "compact",
        subject=f"instinct: compact {len(removed)} ledger files into {files}" if written else "",
        changes=(*written, *removed),
        total=len(book.files),
        notices=tuple(notices),
    )

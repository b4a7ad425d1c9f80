"""Telling the person that a candidate is nominated: once by each channel, by the call that brought the evidence.

A notice is kept until the candidate is answered or retired; what a channel says is judged anew whenever it is told.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING

from instinct_git.errors import InstinctError
from instinct_git.storage import notices
from instinct_git.storage.notices import Notice

if TYPE_CHECKING:
    from instinct_git.core.candidates import Candidate
    from instinct_git.core.model import Evidence
    from instinct_git.operations.workspace import Workspace

MOST = 3
"""Nominations that the start of a session names one by one."""
MAX_TITLE = 80
FORGOTTEN_DAYS = 60
"""As long as an unused candidate lives (DESIGN section 5)."""


ANSWERED = ("proposed", "approved", "rejected", "expired")


def crossed(space: Workspace, before: Candidate | None, after: Candidate | None) -> None:
    """Judge what a call's evidence did to a candidate: when it became nominated, keep a notice and run the person's
    command; when it is nominated no more, take the notice back. Never raises for a notice that cannot be told."""
    was, key = _nominated(before), after.pattern if after else before.pattern if before else ""
    if before is not None and (before.status in ANSWERED or (was and not _nominated(after))):
        notices.drop(space.place, key)  # what comes after an answer, or after a fall, is a new nomination
    if after is None or was or not _nominated(after):
        return
    title = _title(space, key)
    if title is None:
        return
    notice = Notice(key, title, after.kind, f"{after.score:.2f}", after.successes, space.now().date().isoformat())
    if notices.add(space.place, notice):
        _run_command(space, notice)


def _nominated(one: Candidate | None) -> bool:
    return one is not None and one.status == "nominated"


def _title(space: Workspace, key: str) -> str | None:
    """The title in one line that cannot drive a terminal: the file's, else the evidence's, else what the key says.

    None for a pattern that a person has said no to.
    """
    from instinct_git.core.keys import describe
    from instinct_git.core.model import ACTIVE

    book, _ = space.read()
    file = book.files.get(key)
    if file is not None and file.status != ACTIVE:
        return None
    told = (str(one.extra["title"]) for one in book.groups.get(key, ()) if one.extra.get("title"))
    title = (file.title if file else "") or next(told, "") or describe(key)
    line = " ".join("".join(char if char.isprintable() else " " for char in title).split())
    return line if len(line) <= MAX_TITLE else line[: MAX_TITLE - 1].rstrip() + "…"


def waiting(space: Workspace, channel: str = "") -> list[Notice]:
    """Return the nominations that await a person, with their numbers of now; with a channel those it has not told.

    Answered and retired ones are forgotten.
    """
    found = notices.waiting(space.place, channel)
    if not found:
        return []
    from instinct_git.operations.observing import evidence_about

    groups = evidence_about(space.place, [one.pattern for one in found])
    return [now for one in found if (now := _now(space, one, groups)) is not None]


def _now(space: Workspace, notice: Notice, groups: Mapping[str, list[Evidence]] | None) -> Notice | None:
    """The notice as it stands now; None, and forgotten, once it is answered; None alone where only another branch holds
    the evidence behind it."""
    from instinct_git.core import candidates as pool
    from instinct_git.core.model import ACTIVE
    from instinct_git.operations.awaiting import pattern_file

    file = pattern_file(space, notice.pattern)
    retired = file is not None and file.status != ACTIVE
    if groups is None and not retired:
        return notice  # too much to read for a line or two: what it said then
    members = (groups or {}).get(notice.pattern, ())
    one = pool.fold_candidate(members, key=notice.pattern, text=file.body if file else "")
    if one is not None and one.status == pool.NOMINATED and not retired:
        return notice._replace(kind=one.kind, score=f"{one.score:.2f}", worked=one.successes)
    answered = one is not None and one.status in ANSWERED
    old = notice.at < (space.now().date() - timedelta(days=FORGOTTEN_DAYS)).isoformat()
    if retired or old or answered:
        notices.drop(space.place, notice.pattern)
    return None


def untold(space: Workspace, channel: str) -> list[Notice]:
    """Return what this channel has not told yet, and mark it as told by it."""
    return [one for one in waiting(space, channel) if notices.claim(space.place, one.pattern, channel)]


def asks(space: Workspace, budget: int) -> tuple[tuple[str, ...], int]:
    """Return the lines that let an agent ask the person about nominations, and the tokens they take, at most `budget`."""
    found = waiting(space)
    if not found:
        return (), 0
    from instinct_git.core.injection import asking
    from instinct_git.core.ranking import fitting

    lines = [_ask(one) for one in found[:MOST]]
    if len(found) > MOST:
        lines.append(
            f"Ask the person: {len(found) - MOST} more are nominated; `instinct candidates --ready` lists them"
        )
    kept, _ = fitting([(line, asking(line)) for line in lines], budget)
    return tuple(kept), sum(asking(line) for line in kept)


def _ask(one: Notice) -> str:
    return (
        f"Ask the person: {words(one)}. Only a person can approve it; to open a proposal they run: "
        f"{command(one.pattern)}"
    )


def words(one: Notice) -> str:
    """Say what is nominated, how often it worked, its score and its kind."""
    times = "once" if one.worked == 1 else f"{one.worked} times"
    return f'"{one.title}" is nominated as a {one.kind}: worked {times}, score {one.score}'


def command(key: str, verb: str = "propose") -> str:
    """Return the command that answers a nomination, as a shell takes it."""
    import shlex

    return f"instinct {verb} {shlex.quote(key)}"


def answers(key: str) -> str:
    """Say in one line how a person answers a nomination."""
    return f"a person decides: {command(key)}  (no: {command(key, 'reject')} --reason WHY)"


def _run_command(space: Workspace, notice: Notice) -> None:
    """Run `notify.command` of the person's own config; a failure is kept for `doctor`."""
    try:
        chosen = str(space.config()["notify.command"])
    except InstinctError:
        return  # every verb that needs the settings names what is wrong with them
    if not chosen.strip():
        return
    from instinct_git.bridges.notify import run

    told: dict[str, str | int] = {
        "key": notice.pattern, "title": notice.title, "kind": notice.kind, "score": notice.score,
        "worked": notice.worked, "command": command(notice.pattern), "project": str(space.place.root),
    }  # fmt: skip
    failed = run(chosen, told, space.place.home)  # a relative path must not name a repository's file
    notices.note_failure(space.place, f"{notice.at} {failed}" if failed else "")


def rows(space: Workspace) -> list[tuple[str, str, str, str]]:
    """Return what `doctor` says: (topic, state, words, hint)."""
    failed = notices.last_failure(space.place)
    hint = "`instinct config notify.command` shows it; nominations reach you by the other channels"
    return [("notify.command", "notice", f"failed last: {failed}", hint)] if failed else []

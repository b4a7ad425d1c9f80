"""`learn`: transcripts in, evidence and candidates out. The same session learned twice, on any machine, counts once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from instinct_git.bridges.secrets import find_secrets, rule_of
from instinct_git.core import asking, entry, mining
from instinct_git.core import candidates as pool
from instinct_git.core.actions import name_of, named
from instinct_git.core.asking import Request
from instinct_git.core.confidence import fold_one, level_of
from instinct_git.core.consolidate import Book
from instinct_git.core.entry import code, session_code
from instinct_git.core.evidence import day_of
from instinct_git.core.injection import without_ours
from instinct_git.core.keys import normalise_key
from instinct_git.core.model import ACTIVE, NOTHING, RAW, Evidence, Policy
from instinct_git.core.report import Calls
from instinct_git.core.summaries import LeftOut
from instinct_git.core.threads import Learned
from instinct_git.core.transcript import Transcript
from instinct_git.operations import scanning
from instinct_git.operations.awaiting import keep, let_go
from instinct_git.operations.entering import Entered, Held, enter
from instinct_git.operations.workspace import Workspace
from instinct_git.storage import learned as log

HEARD = "heard"
"""Stands for the id of a prompt that a hook has heard."""
FEEDBACK = ("succeeded", "confirmed", "denied")
SEEN = ("observed", "succeeded")
OUTWARD = 4
"""External steps from which on a sequence qualifies by one sighting: "more than 3" (DESIGN section 5)."""
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class LearnedPattern:
    """One pattern found in transcripts."""

    key: str
    title: str
    support: int
    """Non-overlapping occurrences, over all sessions."""
    sessions: int
    at: tuple[tuple[int, ...], ...]
    """The 1-based tool-call numbers, in file order, of every occurrence."""
    new: int
    """Sightings that this run adds: observations, and reuses that worked; 0: all were known."""


class Asked(NamedTuple):
    """A person's request to remember, found in a prompt."""

    phrase: str
    """Their words that ask; they stay in this clone."""
    key: str
    """What is remembered; empty: nothing was, see `why`."""
    why: str
    new: bool
    """False: it was learned before."""


class Reuse(NamedTuple):
    """How a pattern did, as a session shows: succeeded, confirmed or denied."""

    key: str
    kind: str


class Gathered(NamedTuple):
    """The transcripts of a project, in files."""

    new: int
    known: int
    """Learned before, and not changed since."""
    looked: tuple[str, ...]
    """Where agents keep theirs."""


@dataclass(frozen=True, slots=True)
class LearnResult:
    """What `learn` found and wrote."""

    patterns: tuple[LearnedPattern, ...]
    sessions: int
    calls: int
    skipped: dict[str, int]
    """Lines that could not be used, by reason."""
    new: int
    """New sightings: observations, and reuses that worked."""
    dry_run: bool = False
    entered: tuple[Entered, ...] = ()
    held: tuple[Held, ...] = ()
    waiting: int = 0
    """Patterns that qualified earlier and wait for a day with room."""
    asked: tuple[Asked, ...] = ()
    reuse: tuple[Reuse, ...] = ()
    """New feedback."""
    reports: int = 0
    """Subagents' reports that were scanned."""
    left_out: tuple[LeftOut, ...] = ()
    gathered: Gathered | None = None
    """None where the transcripts were named."""
    from_evidence: bool = False
    """Learned from observations: `calls` are those."""

    @property
    def has_news(self) -> bool:
        """True when something was learned that was not known."""
        asked = any(one.new for one in self.asked)
        return bool(self.new or self.entered or self.reuse or asked)

    def then(self, other: LearnResult) -> LearnResult:
        """Return what this run and the one after it have learned together; of a pattern the later one tells where."""
        new = Counter({one.key: one.new for one in self.patterns})
        later = {one.key: replace(one, new=one.new + new[one.key]) for one in other.patterns}
        return replace(
            other, patterns=(*(one for one in self.patterns if one.key not in later), *later.values()),
            sessions=self.sessions + other.sessions, calls=self.calls + other.calls,
            skipped=dict(Counter(self.skipped) + Counter(other.skipped)), new=self.new + other.new,
            entered=self.entered + other.entered, held=tuple(dict.fromkeys(self.held + other.held)),
            asked=self.asked + other.asked, reuse=self.reuse + other.reuse, reports=self.reports + other.reports,
            left_out=self.left_out + other.left_out,
        )  # fmt: skip


def learn(
    space: Workspace, paths: Sequence[Path], *, dry_run: bool = False, progress: Progress | None = None,
    wanted: Callable[[Transcript], bool] | None = None, found: bool = False, prompts: Sequence[Transcript] = (),
) -> LearnResult:  # fmt: skip
    """Read transcripts, mine them, and write what is new. `progress` is told (files read, files in all); `wanted` tells
    which sessions count; `found` files were named by nobody, so one that cannot be read is passed over; `prompts` are what
    hooks have heard of sessions, for those that no transcript tells of."""
    from instinct_git.bridges.transcripts import read_all

    read = read_all(paths, progress, found=found)
    chosen = [own_words(one) for one in read.transcripts if wanted is None or wanted(one)]
    chosen += _unread(prompts, chosen)
    transcripts = named(chosen, space.config()["actions"])
    done = learn_from(space, transcripts, dry_run=dry_run, paths=read.paths)
    return replace(done, skipped={**done.skipped, **read.skipped})


def learn_from(
    space: Workspace, transcripts: Sequence[Transcript], *, dry_run: bool = False,
    paths: Mapping[tuple[str, str, str], str] | None = None, sessions: Mapping[str, str] = NOTHING,
) -> LearnResult:  # fmt: skip
    """Mine sessions and write what is new: observations, reuses that worked, praise and blame, and the candidates that come
    of it. `paths` tells the file of a call by agent, session and id; `sessions` what stands for a session in evidence,
    where that is not what `session_code` makes of it."""
    book, _ = space.read()
    at, known = space.now().strftime("%Y-%m-%dT%H:%M:%SZ"), _Known(book, space.config().policy)
    found, unfit = _publishable(_found(transcripts, known))
    requests = _requests(transcripts, found)
    reused, rest = entry.worked(transcripts, mining.whole(found), known.suggested, at)
    seen = [one._replace(s=sessions.get(one.s, one.s)) for pattern in rest for one in entry.observations(pattern, at)]
    back = asking.taken_back(transcripts, known.at_all, at)
    feedback = reused + entry.verdicts(transcripts, found, known.at_all, at) + back
    if space.config()["share_notes"]:
        feedback += [one for one in asking.called_for(transcripts, found, rest, at) if not find_secrets(str(one.extra))]
    told = scanning.reports(space, book, transcripts, at)
    fresh = list(entry.unheard([*seen, *feedback], book.everything, book.groups, book.stands_for)) + list(told.evidence)
    asked, explicit = _explicit(book, requests, fresh, space, at)
    done = enter(space, book, [*fresh, *explicit], dry_run=dry_run)
    if not dry_run:
        for gone in (one for one in back if one in fresh):
            let_go(space, book.stands_for.get(gone.p, gone.p))
        for one in asked:
            if one.new:
                keep(space, book.stands_for.get(one.key, one.key), _title(explicit, one.key))
        ids = book.everything.by_id.keys() | {one.id for one in fresh}
        log.note_calls(space.place, _calls(found, ids, transcripts, paths or {}))
    new = Counter(one.p for one in fresh if one.k in SEEN)
    patterns = (*(_pattern(one, new[normalise_key(one.key)]) for one in found), *_stated(requests, asked, found))
    return LearnResult(
        patterns, len(transcripts), sum(len(one.calls) for one in transcripts), _skipped(transcripts) | unfit,
        new.total(), dry_run, done.entered, done.held, done.waiting,
        tuple(asked),
        tuple(Reuse(one.p, one.k) for one in fresh if one.k in FEEDBACK), told.reports, told.left_out,
    )  # fmt: skip


def _calls(
    found: Iterable[Learned], ids: Container[str], transcripts: Iterable[Transcript],
    paths: Mapping[tuple[str, str, str], str],
) -> Iterator[tuple[str, Calls]]:  # fmt: skip
    """Yield (id of evidence, the calls behind it) for all of `ids` that these sessions tell of."""
    sessions = {(one.agent, one.session): one.calls for one in transcripts}
    for pattern in found:
        for evidence_id, beside, spot in entry.behind(pattern):
            if evidence_id in ids and beside in ids:
                calls = [sessions[spot.agent, spot.session][number - 1] for number in spot.calls]
                names = tuple(map(name_of, calls))
                path = paths.get((spot.agent, spot.session, calls[0].id), "")
                yield evidence_id, Calls(spot.agent, spot.session, spot.calls, names, path)


def own_words(transcript: Transcript) -> Transcript:
    """The session without what this memory itself has put into prompts, which agents hand on."""
    prompts = tuple(replace(one, text=without_ours(one.text)) for one in transcript.prompts)
    reports = tuple(replace(one, text=without_ours(one.text)) for one in transcript.reports)
    return replace(transcript, prompts=prompts, reports=reports)


def _unread(heard: Iterable[Transcript], read: Iterable[Transcript]) -> list[Transcript]:
    """The sessions that hooks have heard of and no transcript tells."""
    told = {one.session for one in read}
    return [one for one in heard if one.session not in told]


class _Known:
    """What was known of a pattern before a day: only that can have been suggested to a session of the day."""

    def __init__(self, book: Book, policy: Policy) -> None:
        self.book, self.policy = book, policy
        self._kept: dict[tuple[str, str], tuple[bool, bool]] = {}

    def suggested(self, key: str, day: str) -> bool:
        """True when a session of that day could have been told: mature before, or remembered on a person's word."""
        return self._before(key, day)[0]

    def at_all(self, key: str, day: str) -> bool:
        """True when it was suggested or a candidate before that day."""
        return any(self._before(key, day))

    def sequences(self) -> set[tuple[str, ...]]:
        """The steps of the sequences that can be suggested or are candidates now: done again, they count be it once."""
        keys = [key for key in self.book.groups.keys() | self.book.files.keys() if key.startswith("seq:")]
        return {tuple(pool.steps_of(key)) for key in keys if self.at_all(key, "99991231")}

    def _before(self, key: str, day: str) -> tuple[bool, bool]:
        key = self.book.stands_for.get(key, key)
        if (key, day) not in self._kept:
            file = self.book.files.get(key)
            members = [one for one in self.book.groups.get(key, ()) if day_of(one.id) < day]
            offset = file.offset if file and members else 0
            level = level_of(fold_one(members, self.policy).total + offset, offset, members, self.policy)
            active = file is None or file.status == ACTIVE
            told = level != RAW or any(one.k == "remembered" for one in members)
            self._kept[key, day] = active and told, active and any(one.k == "candidate" for one in members)
        return self._kept[key, day]


def _found(transcripts: Sequence[Transcript], known: _Known) -> list[Learned]:
    """What recurs, what leaves the working tree often enough to be told at once, and what is known and was done again."""
    found = mining.mine(transcripts)
    for more in (
        mining.outward(transcripts, pool.external, OUTWARD),
        mining.redone(transcripts, known.sequences()),
    ):
        keys = {one.key for one in found}
        found += [one for one in more if one.key not in keys]
    return found


def _publishable(found: Iterable[Learned]) -> tuple[list[Learned], dict[str, int]]:
    """Part what can be told in a commit from what cannot, which is counted by reason: tools may have any name, and that of
    a server may be a host's (law 12) or hold a secret."""
    kept: list[Learned] = []
    unfit: Counter[str] = Counter()
    for one in found:
        secret = next(iter(find_secrets(f"{one.key}\n{one.title}")), None)
        why = f"it looks like it holds a secret (rule {secret.rule})" if secret else entry.names_places(one.key)
        if why:
            unfit[f"pattern left out: {why}"] += 1
        else:
            kept.append(one)
    return kept, dict(unfit)


def _requests(transcripts: Iterable[Transcript], found: list[Learned]) -> list[Request]:
    """The requests of all sessions; work that a request means and no pattern told of yet is added to `found`."""
    requests = [_screened(one) for transcript in transcripts for one in asking.requests(transcript, found)]
    for one in requests:
        if one.key and one.learned is not None and one.learned.key not in {known.key for known in found}:
            found.append(one.learned)
    return requests


def _screened(one: Request) -> Request:
    """Leave out what holds a secret (the rule is named, never the value) and what names a host; the rest is learned."""
    texts = (one.key, one.title, one.text, *one.triggers)
    rule = next(filter(None, map(rule_of, texts)), "")
    if not rule:
        places = entry.names_places(one.key)
        return one._replace(key="", why=f"{places}: say it yourself with `instinct remember`") if places else one
    why = f"it looks like it holds a secret (rule {rule}): leave the value out"
    return one._replace(key="", phrase="(not shown)", why=why)


def _explicit(
    book: Book, requests: Iterable[Request], fresh: Sequence[Evidence], space: Workspace, at: str
) -> tuple[list[Asked], list[Evidence]]:
    """Return what was asked, and for what is new the evidence that `remember` writes, on the day of the prompt."""
    asked: list[Asked] = []
    made: list[Evidence] = []
    for one in requests:
        phrase = "(not shown)" if rule_of(one.phrase) else one.phrase
        if not one.key:
            asked.append(Asked(phrase, "", one.why, False))
            continue
        key = normalise_key(one.key)
        session = session_code(one.agent, one.session)
        evidence_id = (
            f"{one.day}-{code(one.agent, entry.session_of(one.session, one.prompt), key, 'remembered', one.prompt)}.1"
        )
        # A hook heard it, and it was learned from that before this transcript could be read.
        heard = f"{one.day}-{code(one.agent, one.session, key, 'remembered', HEARD)}.1"
        new = not any(known in book.everything for known in (evidence_id, heard))
        new = new and evidence_id not in {other.id for other in made}
        asked.append(Asked(phrase, key, "", new))
        if not new:
            continue
        remembered = Evidence(evidence_id, key, "remembered", at, one.agent, session)
        stands = book.stands_for.get(key, key)
        members = [*book.groups.get(stands, ()), *(other for other in fresh if other.p == key), remembered]
        meta = {"triggers": list(one.triggers)} if one.triggers else {}
        made += [
            remembered,
            entry.candidate(
                key, pool.EXPLICIT, one.kind, members, one.day, at, by=one.agent, s=session, title=one.title,
                desc=one.text, meta=meta,
            ),
        ]  # fmt: skip
    return asked, made


def _title(evidence: Iterable[Evidence], key: str) -> str:
    return next((str(one.extra["title"]) for one in evidence if one.p == key and one.extra.get("title")), "")


def _pattern(learned: Learned, new: int) -> LearnedPattern:
    spots = tuple(one.calls for one in learned.occurrences)
    return LearnedPattern(learned.key, learned.title, learned.support, learned.sessions, spots, new)


def _stated(requests: Sequence[Request], asked: Iterable[Asked], found: Iterable[Learned]) -> Iterator[LearnedPattern]:
    """The preferences that people stated and no habit shows, each once; `at` is the call before they spoke."""
    told = [one for one in requests if one.after is not None and one.key not in {known.key for known in found}]
    fresh = Counter(one.key for one in asked if one.new)
    for key in dict.fromkeys(one.key for one in told):
        same = [one for one in told if one.key == key]
        at = tuple((max(1, one.after or 0),) for one in same)
        yield LearnedPattern(
            key, same[0].title, len(same), len({(one.agent, one.session) for one in same}), at, fresh[key]
        )


def _skipped(transcripts: Iterable[Transcript]) -> dict[str, int]:
    skipped: dict[str, int] = {}
    for one in transcripts:
        for reason, lines in one.skipped.items():
            skipped[reason] = skipped.get(reason, 0) + lines
    return skipped

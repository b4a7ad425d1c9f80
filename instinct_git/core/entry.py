"""What learning brings into the pool, and with which evidence: sightings, reuses that worked, and candidates. Pure.

Everything learned from a session has an id that depends on the session alone, so that learning it twice, or in two
clones, counts once. A candidate's id depends on what its evidence says: of several entries of one key the first counts.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise
from typing import Any, NamedTuple

from instinct_git.core import candidates as pool
from instinct_git.core.actions import CHECKS, LOOKS, name_of
from instinct_git.core.digest import session_code as session_code
from instinct_git.core.dimensions import places_named
from instinct_git.core.evidence import NONCE_CHARS, canonical
from instinct_git.core.keys import MAX_KEY_BYTES, category_of, normalise_key, split_key
from instinct_git.core.model import ACTIVE, NOTHING, Evidence
from instinct_git.core.noted_steps import is_known_step
from instinct_git.core.outcomes import failed
from instinct_git.core.pattern import PatternFile
from instinct_git.core.threads import Learned, Occurrence
from instinct_git.core.transcript import ToolCall, Transcript
from instinct_git.core.triggers import judgement, said

MAX_TITLE = 80
FIRST, LAST = "00", "zz"
"""Begin the codes of what must come first in its day (a person's own title wins over a made one), and of what takes away
(see `storage.inbox.LAST`)."""
_RUN, _HAS_DIGIT = re.compile(r"[0-9A-Za-z]{12,}"), re.compile(r"[0-9]")
_UNFINISHED = re.compile(r"\s*Command (running in background|was manually backgrounded)")

Was = Callable[[str, str], bool]
"""Says of a key and a day (YYYYMMDD) what the evidence of the days before it says."""


def code(*parts: str) -> str:
    """Return 12 characters of Crockford base32 from a hash of the parts."""
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).digest()
    number = int.from_bytes(digest[:8], "big")
    return "".join(NONCE_CHARS[(number >> (5 * i)) & 31] for i in range(12))


def lasting(identity: str) -> bool:
    """True for an agent's own id that no other session has for something else: it holds a run of 12 letters and digits,
    some of them digits. Others are counters (`call_1`, `functions.Bash:0`)."""
    return any(_HAS_DIGIT.search(run) for run in _RUN.findall(identity))


def session_of(session: str, identity: str) -> str:
    """Return what names the session in an id that also names a call or a prompt: nothing where that one's own id says
    enough. So a copy of a session, resumed under another name, says what the session has said."""
    return "" if lasting(identity) else session


def note_key(title: str) -> str:
    """Return the key of a title: as much of it as a key holds (a Chinese character takes three bytes)."""
    words = " ".join("".join(char if char.isprintable() else " " for char in title).split())
    body = unicodedata.normalize("NFC", words).encode("utf-8", "replace")[: MAX_KEY_BYTES - len("note:")]
    return normalise_key(f"note:{body.decode('utf-8', 'ignore').strip()}")


def short(text: str) -> str:
    """Return a text as a title: one line, at most MAX_TITLE characters."""
    line = " ".join(text.split())
    return line if len(line) <= MAX_TITLE else line[: MAX_TITLE - 1].rstrip() + "…"


def names_places(text: str) -> str:
    """Return what keeps a text from being published unasked (law 12): "it names a host"; "" for nothing."""
    found = places_named(text)
    return f"it names {' and '.join(found)}" if found else ""


# --- sightings and reuses -------------------------------------------------------------------------------------------


def observations(learned: Learned, at: str) -> list[Evidence]:
    """Return one observation an occurrence. Its id is made of the agent, the key and the agent's own id of the first call
    (with the session, where that id is a counter): no part of a session that is read, nothing that is appended to it, and
    no copy of it under another session's name changes it."""
    key = normalise_key(learned.key)
    extra = {name: words for name, words in (("title", learned.title), ("desc", learned.text)) if words} or NOTHING
    return [
        Evidence(seen, key, "observed", at, spot.agent, session_code(spot.agent, spot.session), extra=extra)
        for seen, spot in zip(_ids(learned), learned.occurrences, strict=True)
    ]


def _ids(learned: Learned) -> list[str]:
    """Return the id of each occurrence as an observation."""
    key = normalise_key(learned.key)
    counts: dict[str, int] = {}
    ids = []
    for spot in learned.occurrences:
        nonce = code(spot.agent, session_of(spot.session, spot.anchor), key, spot.anchor)
        number = counts[nonce] = counts.get(nonce, 0) + 1
        ids.append(f"{spot.day}-{nonce}.{number}")
    return ids


def _reused(seen: str) -> str:
    """Return the id of the retraction that comes with a success, of the same deed as a mere sighting."""
    return f"{seen[:8]}-{code(seen, 'reused')}.1"


def behind(learned: Learned) -> Iterator[tuple[str, str, Occurrence]]:
    """Yield (id of evidence, id that must be known beside it, occurrence) for all that an occurrence can have become: an
    observation, or the success that comes with its retraction."""
    key = normalise_key(learned.key)
    for seen, spot in zip(_ids(learned), learned.occurrences, strict=True):
        yield seen, seen, spot
        yield once(spot, key, "succeeded", "").id, _reused(seen), spot


def once(spot: Occurrence, key: str, kind: str, at: str) -> Evidence:
    """Return the one piece of evidence of a kind that a session gives about a key."""
    nonce = code(spot.agent, spot.session, key, kind)
    nonce = LAST + nonce[len(LAST) :] if kind == "denied" else nonce
    return Evidence(f"{spot.day}-{nonce}.1", key, kind, at, spot.agent, session_code(spot.agent, spot.session))


def worked(
    transcripts: Sequence[Transcript], found: Iterable[Learned], suggested: Was, at: str
) -> tuple[list[Evidence], list[Learned]]:
    """Return `succeeded` for every sequence that had been suggested before, was done again and ended in a check that
    passed (once a session, whatever its length), and what was found without these occurrences: one deed counts once.

    The same deed may have been learned as an observation: by another clone, or before its check was run. So each success
    comes with the retraction of that observation, and the order of learning changes no number.

    A check that fails says that the work is not done, not that the advice is bad: `failed` is for those who used it to
    say.
    """
    by_session = {(one.agent, one.session): one for one in transcripts}
    evidence: list[Evidence] = []
    rest: list[Learned] = []
    for learned in found:
        key = normalise_key(learned.key)
        reused: dict[tuple[str, str], Occurrence] = {}
        spots = zip(_ids(learned), learned.occurrences, strict=True) if split_key(key)[0] == "seq" else ()
        for seen, spot in spots:
            where = spot.agent, spot.session
            told = where not in reused and suggested(key, spot.day)
            if told and _ends_in_passing_check(by_session[where], spot.calls):
                reused[where] = spot
                done = once(spot, key, "succeeded", at)
                evidence += [done, done._replace(id=_reused(seen), k="retract", extra={"to": seen})]
        others = tuple(spot for spot in learned.occurrences if spot not in reused.values())
        rest.append(replace(learned, occurrences=others))
    return evidence, rest


def _ends_in_passing_check(transcript: Transcript, calls: Sequence[int]) -> bool:
    """True when the last step, or what is done right after it, is a check whose last run is known to have passed."""
    last = transcript.calls[calls[-1] - 1]
    following = (one for one in transcript.calls[last.number :] if one.thread == last.thread)
    checks: list[tuple[str, ToolCall]] = []
    for call in (last, *following):
        action = name_of(call)
        if action in CHECKS and (not checks or action == checks[0][0]):
            checks.append((action, call))
        elif action not in LOOKS and (checks or call is not last):
            break
    known = [
        failed(action, call.result, call.is_error) for action, call in checks if not _UNFINISHED.match(call.result)
    ]
    return bool(known) and known[-1] is False


def verdicts(transcripts: Iterable[Transcript], found: Iterable[Learned], known: Was, at: str) -> list[Evidence]:
    """Return `confirmed` or `denied` where a prompt is nothing but praise or blame: for the known pattern that ended
    last in the work right before it, if there is one; once a session."""
    evidence: dict[str, Evidence] = {}
    spots = [(normalise_key(one.key), spot) for one in found for spot in one.occurrences]
    for transcript in transcripts:
        mine = [
            (key, spot) for key, spot in spots if (spot.agent, spot.session) == (transcript.agent, transcript.session)
        ]
        before = 0
        for prompt in transcript.prompts:
            verdict = judgement(said(prompt.text))
            turn = [
                (spot.calls[-1], len(spot.calls), key, spot)
                for key, spot in mine
                if verdict and before < spot.calls[-1] <= prompt.after and known(key, spot.day)
            ]
            before = prompt.after
            if verdict and turn:
                *_, key, spot = max(turn, key=lambda one: one[:3])
                one = once(spot, key, verdict, at)
                evidence.setdefault(one.id[9:], one)
    return list(evidence.values())


def unheard(
    evidence: Iterable[Evidence],
    known: Container[str],
    groups: Mapping[str, Iterable[Evidence]],
    stands_for: Mapping[str, str],
) -> Iterator[Evidence]:
    """Yield what is not known yet: neither the id, nor (of what a session says once) the same from the same session, nor a
    success whose deed another session has told, of which this one is a copy."""
    evidence = list(evidence)
    told = {(one.p, one.by, one.s) for one in evidence if one.k == "retract" and one.id in known}
    for one in evidence:
        if one.k == "succeeded" and (one.p, one.by, one.s) in told:
            continue
        members = groups.get(stands_for.get(one.p, one.p), ())
        once = one.k in ("succeeded", "confirmed", "denied")
        if one.id not in known and not (once and any((m.k, m.by, m.s) == (one.k, one.by, one.s) for m in members)):
            yield one


# --- entering -------------------------------------------------------------------------------------------------------


class Wanted(NamedTuple):
    """A pattern that qualifies for the pool by itself."""

    key: str
    trigger: str
    kind: str
    category: str
    title: str
    members: tuple[Evidence, ...]
    score: Decimal


def wanted(
    groups: Mapping[str, Sequence[Evidence]],
    files: Mapping[str, PatternFile],
    pooled: Collection[str],
    silent: Collection[str],
) -> list[Wanted]:
    """Return what qualifies (DESIGN section 5: scanned, seen twice or more, more than 3 external steps) and is no
    candidate yet, what proved most first: sessions, then first score, then sightings; a sequence that mostly repeats
    transitions of better ones (or of candidates) comes after all others. `silent` keys never enter, and neither does
    what is a single step that everybody knows: it says nothing."""
    found = []
    for key, members in groups.items():
        file = files.get(key)
        if key in pooled or key in silent or is_known_step(key) or (file is not None and file.status != ACTIVE):
            continue
        scanned = any(one.k == "observed" and one.extra.get("x") == pool.SWARM for one in members)
        if not scanned and not pool.implicit(key, members):
            continue
        trigger = pool.SWARM if scanned else pool.IMPLICIT
        given = next((str(one.extra["kind"]) for one in members if one.extra.get("kind") in pool.KINDS), "")
        title = (file.title if file else "") or next(
            (str(m.extra["title"]) for m in members if m.extra.get("title")), ""
        )
        category = file.category if file and file.category else _category(key, members)
        kind = given or pool.default_kind(key, has_trigger_phrase=False)
        score = Decimal(str(frozen(key, members)["score"]))
        found.append(Wanted(key, trigger, kind, category, title, tuple(members), score))
    found.sort(key=lambda one: (-_sessions(one.members), -one.score, -len(one.members), one.key))
    told = {pair for key in pooled for pair in pairwise(pool.steps_of(key))}
    first: list[Wanted] = []
    for one in found:
        pairs = list(pairwise(pool.steps_of(one.key)))
        if not pairs or 2 * sum(pair in told for pair in pairs) < len(pairs):
            first.append(one)
            told.update(pairs)
    return first + [one for one in found if one not in first]


def _category(key: str, members: Iterable[Evidence]) -> str:
    given = next((one.extra["cat"] for one in members if one.extra.get("cat")), None)
    return category_of(key, given if split_key(key)[0] == "other" else None)


def _sessions(members: Iterable[Evidence]) -> int:
    return len({(one.by, one.s) for one in members if one.k in ("observed", "succeeded")})


def frozen(key: str, members: Iterable[Evidence]) -> dict[str, Any]:
    """Return dimensions, first score and reasons as `candidate` evidence keeps them."""
    dims = pool.dimensions_of(key, members)
    values = {name: value for name, (value, _) in dims.items()}
    return {
        "dims": {name: f"{value:.2f}" for name, value in values.items()},
        "score": f"{pool.first_score(values):.2f}",
        "why": pool.why_of(dims),
    }


def candidate(
    key: str, trigger: str, kind: str, members: Iterable[Evidence], day: str, at: str, *, by: str = "", s: str = "",
    title: str = "", desc: str = "", meta: Mapping[str, Any] = NOTHING, note: str = "",
) -> Evidence:  # fmt: skip
    """Return the `candidate` evidence that lets a pattern enter on a day, its first score frozen. Entries that say
    different things have different ids, so that two clones never disagree about one."""
    words = {name: value for name, value in (("title", title), ("desc", desc), ("meta", dict(meta))) if value}
    bare = Evidence("", key, "candidate", at, by, s, extra={**words, "x": trigger, "kind": kind})
    whole = bare._replace(extra={**bare.extra, **frozen(key, [*members, bare])}, note=note)
    nonce = code("candidate", canonical(whole))
    nonce = FIRST + nonce[len(FIRST) :] if trigger == pool.EXPLICIT else nonce
    return whole._replace(id=f"{day}-{nonce}.1")

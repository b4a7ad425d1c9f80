"""A session in the making: what the readers write down, in whatever order a file has it, and how it becomes a value.

Redaction happens here, on parsed values: a secret in a command, a file or an output is never in a `Transcript`.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from instinct_git.bridges.secrets import redact
from instinct_git.core.transcript import Prompt, ToolCall, Transcript

NO_DAY = "19700101"
LONGEST_RESULT = 40_000  # characters; of a longer text only the two ends are kept, where errors and summaries are
ROOM = 128 * 2**20  # characters that are kept of one file; once half of it is full, of a result only `SCANT` are
SCANT = 400
CALL = 400  # what a call takes besides its arguments and its result
DEEPEST = 6  # levels of arguments that are kept
LONGEST_LIST = 200  # items of a list or mapping among the arguments
SHORT = 7  # characters that no secret fits in
_TELLING = re.compile(r"(?i)pass|secret|token|key|pwd|cred|auth|密|口令|令牌|凭")
UNIQUE_ID = 16  # characters; shorter ids are counters ("call_1") that other sessions have too
_LATE = datetime.max.replace(tzinfo=UTC)
# A day in a file's name, with or without hyphens, as a word of its own or before a time (`2026-03-01T10-15`).
_NAMED_DAY = re.compile(r"(?<![0-9A-Za-z])(20\d\d)(-?)(\d\d)\2(\d\d)(?=[^0-9A-Za-z]|T\d|\Z)")


@dataclass(slots=True)
class Use:
    """A tool call without its result."""

    id: str
    tool: str
    input: dict[str, object]
    thread: str
    day: str


@dataclass(slots=True)
class Draft:
    """One session, as far as one file tells it. Results may come before, after, twice or without their call."""

    agent: str
    session: str
    start: datetime | None = None
    cwd: str = ""
    uses: dict[str, Use] = field(default_factory=dict)
    results: dict[str, tuple[str, bool | None]] = field(default_factory=dict)
    prompts: list[Prompt] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    day: str = ""  # of the latest record that told one
    named: str = NO_DAY  # the day that the file's name tells, for what has no times
    path: str = ""  # the file
    kept: int = 0  # characters

    def seen(self, time: object) -> None:
        """Take a record's time (ISO 8601, or milliseconds since 1970) in; what is no time is passed over."""
        found = when(time)
        if found is not None:
            self.start = self.start or found  # not the earliest: a copied history keeps its times
            self.day = day_of(found)

    def use(self, identity: str, tool: str, arguments: object, thread: str = "") -> None:
        """Note a call; one without a name is counted as skipped, one that was noted before stays as it was."""
        if not tool:
            self.skipped["tool call without a name"] += 1
            return
        if self.kept > ROOM:
            self.skipped["tool call beyond what is kept of a file"] += 1
            return
        given = redacted(arguments) if isinstance(arguments, dict) else {}
        identity = identity or f"#{len(self.uses) + 1}"
        self.kept += CALL + size_of(given)
        self.uses.setdefault(identity, Use(identity, tool, given, thread, self.day))

    def result(self, identity: str, text: str, error: bool | None) -> None:
        """Note what came back; of two accounts the first text and the first known outcome hold."""
        known, failed = self.results.get(identity, ("", None))
        told = known or clipped(text, LONGEST_RESULT if self.kept <= ROOM // 2 else SCANT)
        self.kept += len(told) - len(known)
        self.results[identity] = (told, error if failed is None else failed)

    def prompt(self, text: str, identity: str = "") -> None:
        """Note what the person wrote; the same words twice without a call between are one prompt told twice."""
        said = Prompt(identity, clean(clipped(text)).strip(), len(self.uses), self.day)
        if said.text and all((one.text, one.after) != (said.text, said.after) for one in self.prompts[-3:]):
            self.prompts.append(said)


def joined(drafts: Iterable[Draft]) -> list[Transcript]:
    """One ``Transcript`` a session, by day and session: drafts of the same session are joined by time.

    A call counts once in its session; one whose id is long enough to be unique counts once over all sessions of its
    agent, for the earliest, so that a resumed or forked copy adds nothing.
    """
    groups: dict[tuple[str, str], list[Draft]] = {}
    for draft in sorted(drafts, key=lambda one: one.start or _LATE):
        groups.setdefault((draft.agent, draft.session), []).append(draft)
    taken: set[tuple[str, str, str]] = set()
    made = [_joined_one(group, taken) for group in groups.values()]
    return sorted(made, key=lambda one: (one.day, one.session, one.agent))


def _joined_one(group: list[Draft], taken: set[tuple[str, str, str]]) -> Transcript:
    agent, session = group[0].agent, group[0].session
    results = Draft(agent, session)
    uses: dict[str, Use] = {}
    skipped: Counter[str] = Counter()
    for draft in group:
        skipped.update(draft.skipped)
        for identity, (text, error) in draft.results.items():
            results.result(identity, text, error)
        for identity, use in draft.uses.items():
            uses.setdefault(identity, use)
    calls: dict[str, ToolCall] = {}
    for use in uses.values():
        mark = (agent, use.id, f"{use.tool} {json.dumps(use.input, sort_keys=True)}")
        if len(use.id) >= UNIQUE_ID and mark in taken:
            continue
        taken.add(mark)
        text, error = results.results.get(use.id, ("", None))
        told = redact(clean(text))
        calls[use.id] = ToolCall(len(calls) + 1, use.id, use.tool, use.input, told, error, use.thread, use.day)
    day = day_of(group[0].start) if group[0].start else min(draft.named for draft in group)
    cwd = next((draft.cwd for draft in group if draft.cwd), "")
    prompts = tuple(_prompts(group, calls))
    return Transcript(agent, session, day, cwd, tuple(calls.values()), dict(sorted(skipped.items())), prompts)


def _prompts(group: Iterable[Draft], calls: Mapping[str, ToolCall]) -> Iterator[Prompt]:
    """The prompts of a session once each, told by the calls around them; one before a copied call is a copy."""
    known: set[tuple[str, int]] = set()
    for draft in group:
        order = list(draft.uses)
        for one in draft.prompts:
            after = next((calls[i].number for i in reversed(order[: one.after]) if i in calls), 0)
            copied = len(order) > one.after and order[one.after] not in calls
            if copied or (one.text, after) in known:
                continue
            known.add((one.text, after))
            yield Prompt(one.id, redact(one.text), after, one.day)


# --- values -------------------------------------------------------------------------------------------------------


def words(told: str) -> frozenset[str]:
    """The words of a text: how the readers write down what a format calls its records."""
    return frozenset(told.split())


def mapping(value: object) -> Mapping[str, object]:
    """The value itself if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def items(value: object) -> list[object]:
    """The value itself if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def text(record: Mapping[str, object], *names: str) -> str:
    """The first of these fields that is a non-empty string, without lone surrogates; else ""."""
    return next((clean(value) for name in names if isinstance(value := record.get(name), str) and value), "")


def parts(value: object) -> str:
    """The text of a string, or of a list of strings and of objects with a ``text``, one a line."""
    if isinstance(value, str):
        return value
    found = [mapping(part).get("text") if isinstance(part, dict) else part for part in items(value)]
    return "\n".join(part for part in found if isinstance(part, str))


def clean(value: str) -> str:
    """The string without lone surrogates, which no file or database would take."""
    return value.encode("utf-8", "replace").decode("utf-8")


def clipped(value: str, longest: int = LONGEST_RESULT) -> str:
    """The string, or its two ends where it is longer."""
    half = longest // 2
    return value if len(value) <= longest else f"{value[:half]}\n{value[-half:]}"


def size_of(value: object) -> int:
    """The characters of all strings in a value, and one for everything else."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(len(key) + size_of(one) for key, one in value.items())
    return sum(map(size_of, value)) if isinstance(value, list) else 1


def exit_code(value: object) -> bool | None:
    """Whether a process with this exit code failed; None where it is no code (missing, -1: still running)."""
    return None if not isinstance(value, int) or isinstance(value, bool) or value < 0 else value != 0


def day_of(moment: datetime) -> str:
    """The day (YYYYMMDD) of a moment; `NO_DAY` where no agent can have written."""
    return f"{moment:%Y%m%d}" if moment.year > 999 else NO_DAY


def named_day(path: Path) -> str:
    """The day (YYYYMMDD) that a file's name tells, the first if there are several; else `NO_DAY`. The name travels with
    the file: a time of change would be another one on every machine."""
    for found in _NAMED_DAY.finditer(path.name):
        try:
            return datetime(int(found[1]), int(found[3]), int(found[4])).strftime("%Y%m%d")
        except ValueError:
            continue
    return NO_DAY


def when(value: object) -> datetime | None:
    """The moment, UTC, that an ISO 8601 text or a number of milliseconds since 1970 tells; None if it is neither."""
    try:
        if isinstance(value, str):
            time = datetime.fromisoformat(value)
            return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            return datetime.fromtimestamp(value / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        pass
    return None


def redacted(value: Mapping[str, object]) -> dict[str, object]:
    """Arguments without secrets and lone surrogates, cut at `DEEPEST` levels."""
    made = _redacted(value, DEEPEST)
    return made if isinstance(made, dict) else {}


def _redacted(value: object, levels: int) -> object:
    if isinstance(value, str):
        return redact(clean(clipped(value))) if len(value) > SHORT else clean(value)
    if isinstance(value, int | float) or value is None:
        return value
    if levels and isinstance(value, dict):
        kept = list(value.items())[:LONGEST_LIST]
        return {_key(key): _named(key, _redacted(one, levels - 1)) for key, one in kept}
    if levels and isinstance(value, list):
        return [_redacted(one, levels - 1) for one in value[:LONGEST_LIST]]
    return ""


def _named(key: str, value: object) -> object:
    """The value without what is a secret only because of its name (``password``)."""
    if not isinstance(value, str) or len(value) > 500 or not _TELLING.search(key):
        return value
    name = f"{clean(key[:200])}="
    return redact(name + value).removeprefix(name)


@lru_cache(maxsize=512)
def _key(key: str) -> str:
    return redact(clean(key[:200]))


def content_id(draft: Draft) -> str:
    """A session id for formats that have none: 16 hex digits of what was called and what came back."""
    calls = [(use.tool, use.input, draft.results.get(use.id)) for use in draft.uses.values()]
    told = json.dumps([draft.agent, calls, [one.text for one in draft.prompts]], sort_keys=True)
    return hashlib.sha256(told.encode()).hexdigest()[:16]

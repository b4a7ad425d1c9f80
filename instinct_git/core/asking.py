"""What a person's prompt in a transcript asks to remember: what was just done, or the words themselves. Pure.

What should be used ("use pnpm, not npm") is a preference, see `core.corrections`. For the rest the rule, in this order. Words that say something of their own ("remember: we release on Fridays", "以后都要先跑测试") are
a note. "This", "how we did it", "这个流程" mean what was done since the prompt before: all of it, where it is one sequence;
else the pattern of this session that ended last before the prompt, within WITHIN calls. Where nothing of that is there,
nothing is remembered, and the person is told.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from instinct_git.core.candidates import default_kind
from instinct_git.core.corrections import Stated, of_session
from instinct_git.core.entry import Was, code, names_places, note_key, once, session_code, short
from instinct_git.core.fixes import WITHIN
from instinct_git.core.keys import normalise_key, split_key
from instinct_git.core.mining import done_between
from instinct_git.core.model import Evidence
from instinct_git.core.threads import Learned, Occurrence
from instinct_git.core.transcript import Prompt, Transcript
from instinct_git.core.triggers import Trigger, asks_to_remember, said
from instinct_git.errors import InvalidKey

MAX_WORDS, MAX_TRIGGER = 300, 40
"""Characters of what a note says, and of a word that asks for a skill."""


class Request(NamedTuple):
    """One request to remember, and what it means."""

    agent: str
    session: str
    day: str
    prompt: str
    """The agent's id of the prompt, or its words where it has none: for the evidence's id."""
    phrase: str
    """The words that ask; they stay in this clone."""
    kind: str
    key: str = ""
    """What is to be remembered; empty: nothing was found, see `why`."""
    title: str = ""
    text: str = ""
    """The whole of what is to be remembered, where it is more than the title."""
    triggers: tuple[str, ...] = ()
    """Words that the person gave as those that ask for it."""
    why: str = ""
    learned: Learned | None = None
    """What was done, where no pattern told of it yet."""
    after: int | None = None
    """Of a choice that was stated: the number of the call before the prompt, 0 for none; None for any other request."""


_NOUN = r"(?:workflow|process|procedure|steps|flow|fix|lesson|way|流程|步骤|步驟|做法|方法|过程|過程)"
_MEANS_DONE = re.compile(rf"(?i)\b(?:what|how) (?:we|you|to|i)\b|{_NOUN}")
_SAYS = (
    re.compile(r"(?i)\bremember (?:to|that)\s+(?P<said>\w+(?:['\w]*\s+\S+){2,})"),
    re.compile(r"(?i)\bfrom now on,?\s+(?P<said>\w+(?:\s+\S+)+)"),
    re.compile(
        r"(?:记住|記住|记牢|記牢|记一下|記一下|记下来|記下來)[，,\s]*(?!这|這|那|它|上面|刚才|剛才|以上|如何|怎么|怎麼|了)(?P<said>[^，,\s].{3,})"
    ),
    re.compile(
        r"(?P<said>(?:以后|以後|下次|今后|今後|从现在起|從現在起|从现在开始)[^。！？]*?(?:都|就|一律|总是|必须|必須)[^。！？]{2,})"
    ),
)  # fmt: skip
_END = re.compile(r"(?<=[.!?])\s|[。！？\n]")
_QUOTE = "[\"“'‘「『]"
_GIVEN = (
    re.compile(rf"(?i)\bwhen(?:ever)? (?:i|we) (?:say|type|write)\s+{_QUOTE}([^\"”'’」』\n]{{2,40}})[\"”'’」』]"),
    re.compile(rf"我(?:们|們)?(?:说|說|输入|輸入|写|寫)\s*{_QUOTE}([^\"”'’」』\n]{{2,40}})[\"”'’」』]"),
    re.compile(r"(?im)\btriggers?(?: words?| phrases?)?\s*[:：]\s*([^\n.。]{2,120})|(?:触发词|觸發詞)\s*[:：]\s*([^\n。]{2,120})"),
)  # fmt: skip


def requests(transcript: Transcript, found: Iterable[Learned]) -> list[Request]:
    """Return every request to remember in a session's prompts, in order, each with what it means."""
    mine = [
        (normalise_key(one.key), one.title, spot)
        for one in found
        for spot in one.occurrences
        if (spot.agent, spot.session) == (transcript.agent, transcript.session) and split_key(one.key)[0] != "pref"
    ]
    made, start, end = list[Request](), 0, 0
    stated = [*of_session(transcript)]
    for prompt in transcript.prompts:
        if prompt.after > end:  # prompts without work between them speak of the same work
            start, end = end, prompt.after
        own = [_choice(transcript, prompt, one) for told, one in stated if told is prompt]
        words = said(prompt.text)
        trigger = asks_to_remember(words)
        if trigger is not None and not any(trigger.phrase in one.phrase for one in own):
            made.append(_request(transcript, prompt, words, trigger, mine, (start, end)))
        made += own
    return made


def _choice(transcript: Transcript, prompt: Prompt, one: Stated) -> Request:
    """A choice that a person stated: it is remembered as what they asked for, in the words of the table."""
    return Request(
        transcript.agent, transcript.session, prompt.day or transcript.day, prompt.id or prompt.text, one.phrase,
        default_kind(one.key, has_trigger_phrase=True), one.key, one.title, f"{one.title}. A person said so.",
        after=prompt.after,
    )  # fmt: skip


def taken_back(transcripts: Iterable[Transcript], known: Was, at: str) -> list[Evidence]:
    """Return `denied` for what was known and a person spoke against: "use pnpm, not npm"; once a session and key."""
    made: dict[str, Evidence] = {}
    for transcript in transcripts:
        for prompt, one in of_session(transcript):
            spot = Occurrence(transcript.session, transcript.agent, prompt.day or transcript.day, ())
            for key in one.refused:
                if known(key, spot.day):
                    denied = once(spot, key, "denied", at)
                    made.setdefault(denied.id[9:], denied)
    return list(made.values())


def _request(
    transcript: Transcript, prompt: Prompt, words: str, trigger: Trigger,
    mine: Sequence[tuple[str, str, Occurrence]], turn: tuple[int, int],
) -> Request:  # fmt: skip
    text, is_name = meant(words, trigger)
    given = triggers_given(prompt.text)
    asked = Request(
        transcript.agent, transcript.session, prompt.day or transcript.day, prompt.id or prompt.text, trigger.phrase,
        trigger.kind, triggers=given,
    )  # fmt: skip
    if text and (places := names_places(text)):
        return asked._replace(why=f"{places}: say it yourself with `instinct remember`")
    if not text or is_name:
        done = _done(transcript, prompt.after, mine, turn)
        if done is not None:
            key, title, learned = done
            named = (text,) if text and len(text) <= MAX_TRIGGER else ()
            kind = trigger.kind or default_kind(key, has_trigger_phrase=True)
            return asked._replace(
                kind=kind, key=key, title=short(text) if text else title, triggers=(*named, *given), learned=learned
            )
    if not text:
        return asked._replace(why="it names nothing, and no sequence was done right before it")
    try:
        key = note_key(short(text))
    except InvalidKey as problem:
        return asked._replace(why=problem.message)
    kind = trigger.kind or default_kind(key, has_trigger_phrase=True)
    return asked._replace(kind=kind, key=key, title=short(text), text=text if text != short(text) else "")


def meant(words: str, trigger: Trigger) -> tuple[str, bool]:
    """Return (what the words themselves say, whether that is a name for what was done); ("", False) when they only point."""
    line = next((one for one in (" ".join(part.split()) for part in words.split("\n")) if trigger.phrase in one), "")
    sentence = _END.split(line[line.find(trigger.phrase) :], maxsplit=1)[0]
    head, colon, tail = sentence.replace("：", ":").partition(":")
    if colon and tail.strip() and " " + tail.strip()[:2] != " //":
        return _tidy(tail), _MEANS_DONE.search(head) is not None
    whole = next((one for one in _END.split(line) if trigger.phrase in one), sentence)
    found = next((match for pattern in _SAYS if (match := pattern.search(whole))), None)
    return (_tidy(found["said"]), False) if found else ("", False)


def _tidy(text: str) -> str:
    text = text.strip(" \t.。!！,，;；")[:MAX_WORDS]
    enough = len(text.split()) >= 2 or sum(ord(char) > 0x2E7F for char in text) >= 3
    return text if enough else ""


def _done(
    transcript: Transcript, after: int, mine: Sequence[tuple[str, str, Occurrence]], turn: tuple[int, int]
) -> tuple[str, str, Learned | None] | None:
    own = done_between(transcript, turn[0] + 1, turn[1])
    if own is not None:
        return normalise_key(own.key), own.title, own
    before = [(spot.calls[-1], len(spot.calls), key, title) for key, title, spot in mine if spot.calls[-1] <= after]
    last = max(before, default=None)
    return (last[2], last[3], None) if last is not None and last[0] > after - WITHIN else None


def triggers_given(text: str) -> tuple[str, ...]:
    """Return the words that a prompt gives as those that ask for something: `when I say "ship it"`, `触发词：发布`."""
    found = [part for pattern in _GIVEN for match in pattern.finditer(text) for part in match.groups() if part]
    words = [word.strip(" \t\"'“”‘’「」『』") for part in found for word in re.split(r"[,，、;；]", part)]
    return tuple(dict.fromkeys(word for word in words if 2 <= len(word) <= MAX_TRIGGER and not names_places(word)))


def called_for(
    transcripts: Iterable[Transcript], found: Iterable[Learned], rest: Iterable[Learned], at: str
) -> list[Evidence]:
    """Return the words with which a person called for the reuses that worked (`found` less `rest`): a short prompt right
    before, as a trigger word. It is published, so it is for memories that share notes alone (law 12)."""
    sessions = {(one.agent, one.session): one for one in transcripts}
    made: dict[str, Evidence] = {}
    for learned, other in zip(found, rest, strict=True):
        key = normalise_key(learned.key)
        for spot in set(learned.occurrences) - set(other.occurrences):
            prompts = [one for one in sessions[spot.agent, spot.session].prompts if one.after < spot.calls[0]]
            word = said(prompts[-1].text).strip(" .!。！") if prompts else ""
            if not 2 <= len(word) <= MAX_TRIGGER or "\n" in word or names_places(word):
                continue
            evidence_id = f"{spot.day}-{code(spot.agent, spot.session, key, 'called', word)}.1"
            session = session_code(spot.agent, spot.session)
            extra = {"meta": {"triggers": [word]}}
            made[evidence_id] = Evidence(evidence_id, key, "scored", at, spot.agent, session, extra=extra)
    return list(made.values())

"""Contradictions: patterns, skills and rules that cannot both be followed, found by rules of words. Pure, no model.

Three rules. Two preferences with one name and different values (`pref:indent=tabs`, `pref:indent=spaces`). The same
words asked for and forbidden ("Push on Fridays", "Never push on Fridays"; 在周五发布, 不要在周五发布). One thing before
another and the other way round ("pnpm instead of npm", "npm instead of pnpm"). A person chooses; nothing is chosen here.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple, Protocol

from instinct_git.core.duplicates import fraction, sides, stems, tokens_of
from instinct_git.core.keys import describe, split_key

MOST_SENTENCES = 12
"""Sentences of a description that are read."""
_FUZZY = 3
"""Tokens from which a claim is compared by what it shares; a shorter one must have the very same words."""


class Saying(Protocol):
    """A pattern, a pattern file, or a Statement."""

    @property
    def key(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def description(self) -> str: ...


class Statement(NamedTuple):
    """What a skill or a line of MEMORY.md says; its key is its path."""

    key: str
    title: str
    description: str = ""


class Contradiction(NamedTuple):
    """Keys that cannot all be followed."""

    keys: tuple[str, ...]
    """Sorted; two, or all the values of one preference."""
    slot: str
    """What they disagree about: the preference's name, or the words that both share."""
    reason: str


class _Claim(NamedTuple):
    key: str
    words: frozenset[str]
    """Stems and CJK bigrams without what affirms or forbids."""
    forbids: bool
    text: str
    whole: bool
    """True for a sentence; False for one side of "A instead of B", which must match word for word."""
    affirms: bool = False
    """True where a word asks for it ("use", "always"): a bare noun is no more than a label."""


def contradictions(patterns: Iterable[Saying]) -> list[Contradiction]:
    """Return what contradicts what, by slot. Give only what is alive: a retired or rejected pattern has been answered.

    Of patterns of one key (two scopes) the nearer one speaks: give each key once.
    """
    said = list(patterns)
    found = [*_values(said)]
    together = {frozenset(one.keys) for one in found}
    for one in (*_opposites(said), *_swapped(said)):
        if frozenset(one.keys) not in together and not any(set(one.keys) <= both for both in together):
            together.add(frozenset(one.keys))
            found.append(one)
    return sorted(found)


def of_key(found: Iterable[Contradiction], key: str) -> list[tuple[str, Contradiction]]:
    """Return (the other key, contradiction) of everything that contradicts a key."""
    return [(other, one) for one in found if key in one.keys for other in one.keys if other != key]


# --- one preference, two values -----------------------------------------------------------------------------------------


def _values(said: Iterable[Saying]) -> Iterator[Contradiction]:
    slots: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for one in said:
        slot = slot_of(one.key)
        if slot is not None:
            slots[slot[0]][slot[1]].append(one.key)
    for name, values in slots.items():
        if len(values) > 1:
            keys = sorted(key for found in values.values() for key in found)
            yield Contradiction(tuple(keys), name, f"{name} cannot be {' and '.join(sorted(values))}")


def slot_of(key: str) -> tuple[str, str] | None:
    """Return what a preference is about and its value; None for any other key."""
    prefix, body = split_key(key)
    name, equals, value = body.partition("=")
    return (_plain(name), _plain(value)) if prefix == "pref" and equals else None


def _plain(text: str) -> str:
    return " ".join(re.split(r"[\s_\-]+", unicodedata.normalize("NFKC", text).casefold().strip()))


# --- do and do not ------------------------------------------------------------------------------------------------------

_FORBIDS = re.compile(
    r"\b(?:do not|does not|did not|must not|should not|shall not|may not|can ?not|(?:do|does|did|is|are|was|were|ca|wo"
    r"|should|must|could|would|need|have|has)n['’]?t|never|not|no|without|avoid(?:s|ing)?|forbid(?:s|den)?|disable[sd]?)\b"
    r"|不要|不能|不会|不可以?|不得|不应该?|不用|不许|不准|无需|切勿|请勿|禁止|严禁|避免|勿"
    r"|(?<![级级類类区區分特性识判个差鉴辨告离各])[别別]|^不(?![同仅断错过管论])"
)  # fmt: skip
_CLAUSE = re.compile(r"[,;:，；：、]|\s[-–—]+\s|—")
_CONDITION = re.compile(r"\b(?:if|when|whenever|unless|where|while|until|although)\b|如果|若|当|除非")
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|[。！？；]|\n")
_AFFIRMS = re.compile(
    r"\b(?:always|please|must|should|shall|prefer(?:s|red)?|do|does|use[sd]?|using|make sure|ensure|enable[sd]?|need to"
    r"|ever|any|skills?|procedures?|rules?)\b|请|務必|务必|必须|總是|总是|应该|应当|始终|一定要|需要"
)


def _opposites(said: Sequence[Saying]) -> Iterator[Contradiction]:
    claims = [claim for one in said for claim in _claims(one.key, one.title, one.description)]
    against = [claim for claim in claims if claim.forbids]
    if not against:
        return
    wanted = frozenset(word for claim in against for word in claim.words)
    for_it = [claim for claim in claims if not claim.forbids and not claim.words.isdisjoint(wanted)]
    often = Counter(word for claim in for_it for word in claim.words)
    known: dict[str, list[_Claim]] = defaultdict(list)
    for claim in for_it:
        for word in claim.words:
            known[word].append(claim)
    for claim in against:
        rare = sorted(claim.words, key=lambda word: (often[word], word))
        least, of = fraction(claim.words)
        for word in rare[: len(rare) - -(-len(rare) * least // of) + 1]:
            for other in known.get(word, ()):
                if other.key != claim.key and _same(claim, other):
                    yield _contradiction(other, claim, f"{other.text!r} is asked for, and {claim.text!r} forbids it")


def _contradiction(one: _Claim, other: _Claim, reason: str) -> Contradiction:
    return Contradiction(tuple(sorted((one.key, other.key))), " ".join(sorted(one.words & other.words)), reason)


def _same(one: _Claim, other: _Claim) -> bool:
    if one.words == other.words:
        wanted = other if one.forbids else one
        return len(one.words) > 1 or (wanted.whole and wanted.affirms)
    if not (one.whole and other.whole) or min(len(one.words), len(other.words)) < _FUZZY:
        return False
    both = len(one.words & other.words)
    all_ = len(one.words) + len(other.words) - both
    if 2 * both < all_:
        return False
    least, of = max(fraction(one.words), fraction(other.words))
    return both * of >= all_ * least and _numbers(one.words) == _numbers(other.words)


def _numbers(words: Collection[str]) -> list[str]:
    return sorted(word for word in words if word[0].isdigit())


@lru_cache(maxsize=16_384)  # fewer than there are patterns would keep none: they are gone through in order
def _claims(key: str, title: str, description: str) -> tuple[_Claim, ...]:
    """What one pattern says; kept, since a server is asked again and again."""
    prefix, _ = split_key(key)
    title = title or (describe(key).replace("-", " ") if prefix not in ("seq", "combo") else "")
    found: list[_Claim] = []
    for text in (title, *_sentences(description)):
        two = sides(text)
        found += _sides(key, text, two) if two is not None else [_claim(key, text)]
    return tuple(claim for claim in found if claim.words)


def _sentences(text: str) -> list[str]:
    return [part.strip() for part in _SENTENCE.split(text)[:MOST_SENTENCES] if part.strip()] if text else []


def _claim(key: str, text: str, *, whole: bool = True) -> _Claim:
    """Read one sentence. Two negations in one clause make none ("never push without tests" asks for tests); what is
    negated in a condition ("if it is not set") is no claim, and neither is a text without words."""
    folded = unicodedata.normalize("NFKC", text).strip().lower()
    negations = 0
    for clause in _CLAUSE.split(folded):
        found = list(_FORBIDS.finditer(clause))
        condition = _CONDITION.search(clause)
        if condition is not None and any(condition.start() < one.start() for one in found):
            return _Claim(key, frozenset(), False, text, whole)
        negations = negations or len(found)
    bare, affirmed = _AFFIRMS.subn(_gap, _FORBIDS.sub(_gap, folded))
    words = frozenset(tokens_of(stems(bare)))
    return _Claim(key, words, negations % 2 == 1, text.strip().rstrip(".。"), whole, affirmed > 0)


def _gap(found: re.Match[str]) -> str:
    return " " if found.group().isascii() else ""


def _sides(key: str, text: str, two: tuple[str, str]) -> list[_Claim]:
    """ "Spaces, not tabs" asks for the first and forbids the second."""
    first, second = (_claim(key, side, whole=False)._replace(text=text.strip()) for side in two)
    return [first, second._replace(forbids=not second.forbids)]


# --- the other way round ------------------------------------------------------------------------------------------------


def _swapped(said: Iterable[Saying]) -> Iterator[Contradiction]:
    """ "A instead of B" and "B instead of A": the same words, and each wants what the other puts second."""
    known: dict[frozenset[str], list[tuple[str, str, frozenset[str], frozenset[str]]]] = defaultdict(list)
    for one in said:
        for text in (one.title, *_sentences(one.description)):
            two = sides(text)
            if two is None:
                continue
            first, second = _claim(one.key, two[0]).words, _claim(one.key, two[1]).words
            first, second = first - second, second - first
            for key, words, wants, rejects in known[first | second]:
                if key != one.key and first & rejects and second & wants:
                    keys = tuple(sorted((key, one.key)))
                    yield Contradiction(keys, " ".join(sorted(first | wants)), f"{words!r}, and {text.strip()!r}")
            if first and second:
                known[first | second].append((one.key, text.strip(), first, second))

"""Pattern keys: their grammar, their category and the path a key alone determines (DESIGN: files).

Standard library only and no regular expressions at import: every hook and every `observe` pays for this module.
"""

from __future__ import annotations

import unicodedata

from instinct_git.core.digest import sha256_hex
from instinct_git.errors import InstinctError, InvalidKey

MAX_KEY_BYTES = 200
MAX_SLUG = 64

PREFIXES = {
    "seq": "sequence",
    "pref": "preference",
    "fix": "fix_pattern",
    "combo": "combo",
    "note": "note",
}
CATEGORIES = tuple(PREFIXES.values())
DEFAULT_CATEGORY = "sequence"
OTHER = "other"

_DEVICES = {"con", "prn", "aux", "nul"} | {f"{name}{n}" for name in ("com", "lpt") for n in range(10)}
_SLUG_CHARS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")
# Characters nobody can see: they would make two different keys look alike (and can turn the text of a line round).
_HIDDEN = frozenset(
    "\u00ad\u061c\u180e\u200b\u2060\u2061\u2062\u2063\u2064\ufeff"
    "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f"
)


def normalise_key(text: str) -> str:
    """Return `text` as a key: NFC, trimmed. Raises InvalidKey, with the reason, for anything that is no key."""
    key = unicodedata.normalize("NFC", text).strip()
    hint = "a key is prefix:body, such as seq:test->fix->test, pref:style=black or fix:missing-import"
    if not key:
        raise InvalidKey("the key is empty", hint)
    for char in key:
        kind = unicodedata.category(char)
        if kind in ("Cc", "Zl", "Zp"):
            raise InvalidKey(f"the key holds a control character or a line break (U+{ord(char):04X})", hint)
        if kind == "Cs" or char in _HIDDEN or ord(char) & 0xFFFE == 0xFFFE:
            raise InvalidKey(f"the key holds an invisible or broken character (U+{ord(char):04X})", hint)
    size = len(key.encode("utf-8"))
    if size > MAX_KEY_BYTES:
        raise InvalidKey(f"the key is {size} bytes long, {MAX_KEY_BYTES} are allowed", "put the details into --note")
    if split_key(key)[0] != OTHER and not split_key(key)[1].strip():
        raise InvalidKey(f"the key {key!r} has a prefix and no body", hint)
    return key


def is_hidden(char: str) -> bool:
    """True for a character that nobody can see."""
    return char in _HIDDEN


def split_key(key: str) -> tuple[str, str]:
    """Return (prefix, body); the prefix is one of PREFIXES or "other" (then the body is the whole key)."""
    prefix, colon, body = key.partition(":")
    return (prefix, body) if colon and prefix in PREFIXES else (OTHER, key)


def category_of(key: str, given: str | None = None) -> str:
    """Return the key's category: its prefix's, else `given`, else "sequence".

    Raises InstinctError when `given` is no category or contradicts the prefix.
    """
    if given is not None and given not in CATEGORIES:
        raise InstinctError(f"there is no category {given!r}", "categories: " + ", ".join(CATEGORIES))
    prefix, _ = split_key(key)
    if prefix == OTHER:
        return given or DEFAULT_CATEGORY
    if given is not None and given != PREFIXES[prefix]:
        raise InstinctError(
            f"the key {key!r} is a {PREFIXES[prefix]} by its prefix, not a {given}",
            "leave --cat out, or use a key without that prefix",
        )
    return PREFIXES[prefix]


def slug(text: str) -> str:
    """Return `text` as [a-z0-9-], at most 64 characters; empty when nothing of it is ASCII."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii").lower()
    words = "".join(char if char.isalnum() else "-" for char in plain).split("-")
    return "-".join(word for word in words if word)[:MAX_SLUG].strip("-")


def is_slug(text: str) -> bool:
    """True when `text` can be a file name as it stands, on every system."""
    return bool(
        text
        and len(text) <= MAX_SLUG
        and set(text) <= _SLUG_CHARS
        and "--" not in text
        and text[0] != "-"
        and text[-1] != "-"
        and text not in _DEVICES
    )


def file_name(key: str) -> str:
    """Return the name (without ending) of the key's pattern file: the slug, and a hash unless the body is a slug."""
    _, body = split_key(key)
    if is_slug(body):
        return body
    digest = sha256_hex(key.encode("utf-8"))[:8]
    name = slug(body)
    return f"{name}-{digest}" if name else digest


def pattern_path(key: str) -> str:
    """Return the key's path below the memory's root, with forward slashes."""
    return f".instinct/patterns/{split_key(key)[0]}/{file_name(key)}.md"


def describe(key: str) -> str:
    """Return plain words for a key that has no title yet (never more than the key says)."""
    prefix, body = split_key(key)
    if prefix == "seq":
        steps = [step.strip() for step in body.split("->") if step.strip()]
        return ", then ".join(steps)
    if prefix == "pref" and "=" in body:
        name, _, value = body.partition("=")
        return f"use {value.strip()} for {name.strip()}"
    if prefix == "fix":
        return f"known fix for {body}"
    if prefix == "combo":
        return " together with ".join(part.strip() for part in body.split("+"))
    return body

"""Addresses of shared memories: which are taken, how they are shown, and which of git's transports they may use. Pure.

Only https, ssh and places on this machine. `NAME::` starts a program, a leading hyphen is an option, plain http and git
have no protection against whoever sits in between: none of them is taken, but for a server on this machine's loopback.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from instinct_git.errors import InstinctError

_HELPER = re.compile(r"[A-Za-z0-9+.-]+::")
_SCP = re.compile(r"(?:(?P<user>[^@/:\s]+)@)?(?P<host>\[[0-9A-Fa-f:.]+\]|[^@/:\s\[\]]+):(?P<path>(?!//).+)")
_SCHEME = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?:(?P<user>[^@/:]*)(?P<password>:[^@/]*)?@)?"
    r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^@/:\s\[\]]*)(?::(?P<port>[0-9]{1,5}))?(?P<path>/.*)?"
)
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_USER = re.compile(r"([a-z+]+://)[^/\s]*@", re.IGNORECASE)
_QUERY = re.compile(r"([a-z+]+://[^\s?]*)\?[^\s'\"]*", re.IGNORECASE)
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_HINT = "give an https:// or ssh:// address, user@host:path, or a path on this machine"


class Address(NamedTuple):
    """An address that may be used."""

    url: str
    protocols: str
    """What GIT_ALLOW_PROTOCOL may say: transports, separated by colons."""
    local: bool = False
    """A path on this machine, as it was given."""


def checked(text: str) -> Address:
    """Return an address. Raises InstinctError, without showing a password, for one that is not taken."""
    url = text.strip()
    if not url or any(ord(char) < 32 or ord(char) == 127 for char in text):
        raise InstinctError("the address is empty or holds a control character", _HINT)
    if url.startswith("-"):
        raise InstinctError("the address begins with a hyphen: git would take it for an option", _HINT)
    if _HELPER.match(url):
        raise InstinctError(f"{shown(url).partition('::')[0]}:: starts another program, which no address may", _HINT)
    if "://" in url:
        return _of_scheme(url)
    if _DRIVE.match(url) or ":" not in url.partition("/")[0]:
        return Address(url, "file", local=True)
    found = _SCP.fullmatch(url)
    if found is None or any((found[name] or "").startswith("-") for name in ("user", "host", "path")):
        raise InstinctError(f"{shown(url)} is no address of a repository", _HINT)
    return Address(url, "ssh")


def _of_scheme(url: str) -> Address:
    found = _SCHEME.fullmatch(url)
    if found is None:  # not shown: a password may stand anywhere in it
        raise InstinctError("this is no address of a repository", _HINT)
    scheme, user, host = found["scheme"].lower(), found["user"] or "", found["host"].strip("[]").lower()
    if found["password"] or (scheme == "https" and _looks_like_a_token(user)):
        raise InstinctError(
            "the address holds a password or a token, which would be kept in plain text",
            "leave it out: git asks its credential helper (`git help credentials`)",
        )
    if scheme in ("https", "http") and "?" in url:
        raise InstinctError("the address holds a query, in which a token may stand", _HINT)
    if scheme == "file":
        if host not in ("", "localhost"):
            raise InstinctError(f"{shown(url)} is on another machine", _HINT)
        return Address(url, "file")
    if not host or host.startswith("-") or user.startswith("-") or not (found["path"] or "").strip("/"):
        raise InstinctError(f"{shown(url)} is no address of a repository", _HINT)
    if scheme in ("https", "ssh") or (scheme in ("http", "git") and host in _LOOPBACK):
        return Address(url, scheme)
    raise InstinctError(f"{scheme}:// is not taken" + (": it is not protected" if scheme == "http" else ""), _HINT)


def _looks_like_a_token(user: str) -> bool:
    return len(user) >= 20 or user.lower() in ("x-access-token", "oauth2", "x-token-auth")


def shown(url: str) -> str:
    """Return an address, or words with one, for people: one line, without user names, passwords and queries."""
    plain = "".join(char if char.isprintable() else " " for char in url)
    return _QUERY.sub(r"\1", _USER.sub(r"\1", plain))

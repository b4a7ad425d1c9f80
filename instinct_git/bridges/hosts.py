"""A remote's address as its host's web pages have it, and the page where a person opens a pull request. No network."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import quote, urlsplit

_SCP = re.compile(r"(?:[^@/\s]+@)?([^:/\s]{2,}):(?!//)(.+)$")
_ALIAS = re.compile(r"((?:github|gitlab|codeberg|bitbucket)\.(?:com|org))[-_.].+$")
_OVER_443 = {"ssh.github.com": "github.com", "altssh.gitlab.com": "gitlab.com", "altssh.bitbucket.org": "bitbucket.org"}


class Remote(NamedTuple):
    """A repository on a host, as its web pages have it."""

    kind: str
    """github, gitlab, gitea, bitbucket, bitbucket-server; empty: unknown."""
    web: str
    """Scheme, host and port."""
    host: str
    path: str
    """`owner/name`, without `.git`."""


def remote_of(remote_url: str) -> Remote | None:
    """Read a remote's address; None for a local path. User names and passwords in it are dropped."""
    text = remote_url.strip()
    if "://" in text:
        try:
            parts = urlsplit(text)
            host, port = (parts.hostname or "").lower(), parts.port
        except ValueError:
            return None
        if parts.scheme not in ("https", "http", "ssh", "git", "git+ssh", "ssh+git") or not host:
            return None
        over_ssh, path = "ssh" in parts.scheme, parts.path
        shown = f":{port}" if port and parts.scheme in ("https", "http") else ""
        scheme = "http" if parts.scheme == "http" else "https"
    else:
        found = _SCP.match(text)
        if found is None:
            return None
        host, path, over_ssh, shown, scheme = found[1].lower(), found[2], True, "", "https"
    path = path.strip("/").removesuffix(".git").strip("/")
    if over_ssh:
        alias = _ALIAS.match(host)
        host = _OVER_443.get(host, alias[1] if alias else host)
    if (
        "/" not in path
        or not re.fullmatch(r"[a-z0-9.\-\[\]:]+", host)
        or any(part in ("", ".", "..") for part in path.split("/"))
    ):
        return None
    return Remote(_kind(host), f"{scheme}://{host}{shown}", host, path)


def _kind(host: str) -> str:
    if host == "bitbucket.org":
        return "bitbucket"
    if host == "codeberg.org":
        return "gitea"
    words = re.split(r"[.-]", host)
    for word, kind in (
        ("github", "github"),
        ("gitlab", "gitlab"),
        ("bitbucket", "bitbucket-server"),
        ("ghe", "github"),
    ):
        if word in words:
            return kind
    return "gitea" if any(word.startswith(("gitea", "forgejo")) for word in words) else ""


def compare_url(remote_url: str, base: str, branch: str) -> str | None:
    """Return the page where a person opens the pull request of `branch` into `base`; None: the host is not known."""
    remote = remote_of(remote_url)
    if remote is None or not base or not branch:
        return None
    page = f"{remote.web}/{quote(remote.path)}"
    whole_into, whole_source = quote(base, safe=""), quote(branch, safe="")
    if remote.kind in ("github", "gitea"):
        return f"{page}/compare/{quote(base)}...{quote(branch)}" + ("?expand=1" if remote.kind == "github" else "")
    if remote.kind == "gitlab":
        return (
            f"{page}/-/merge_requests/new?merge_request%5Bsource_branch%5D={whole_source}"
            f"&merge_request%5Btarget_branch%5D={whole_into}"
        )
    if remote.kind == "bitbucket":
        return f"{page}/pull-requests/new?source={whole_source}&dest={whole_into}"
    if remote.kind == "bitbucket-server":
        owner, _, name = remote.path.removeprefix("scm/").rpartition("/")
        place = f"users/{quote(owner[1:])}" if owner.startswith("~") else f"projects/{quote(owner)}"
        return f"{remote.web}/{place}/repos/{quote(name)}/pull-requests?create&sourceBranch={whole_source}&targetBranch={whole_into}"
    return None

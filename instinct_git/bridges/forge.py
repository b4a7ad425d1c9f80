"""Pull requests through `gh` or `glab` where they are installed, and the address that opens one everywhere else.

The programs are called with a list of arguments, never through a shell, with old flags only (gh 2.23), without a
terminal, and for at most a minute. Nothing they say leaves here before secrets are taken out of it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import quote

from instinct_git.bridges.hosts import compare_url as compare_url  # a public name of this module
from instinct_git.bridges.hosts import remote_of
from instinct_git.bridges.secrets import redact
from instinct_git.errors import InstinctError

GH, GLAB, COMPARE, NONE, AUTO = "gh", "glab", "compare", "none", "auto"
WAYS = (AUTO, GH, GLAB, NONE)
SECONDS = 60.0
MAX_BODY, MAX_BYTES = 60_000, 120_000
"""Characters and bytes of a request's body: GitHub takes 65,536 characters, one argument of a program 128 kB."""
OPEN, MERGED, CLOSED = "open", "merged", "closed"
_BROWSER = "push the branch and open the request in a browser"

_QUIET = {
    "GH_PROMPT_DISABLED": "1", "GH_NO_UPDATE_NOTIFIER": "1", "GH_PAGER": "cat", "NO_PROMPT": "true",
    "GLAB_CHECK_UPDATE": "false", "PAGER": "cat", "NO_COLOR": "1", "CLICOLOR": "0", "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": "true", "GH_EDITOR": "true", "VISUAL": "true", "EDITOR": "true", "SSH_ASKPASS_REQUIRE": "never",
}  # fmt: skip
_SCRUBBED = (
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR",
    "GIT_NAMESPACE", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GH_DEBUG", "GLAB_DEBUG", "DEBUG", "GH_FORCE_TTY",
)  # fmt: skip
_LOGIN = re.compile(
    r"auth login|not logged in|no token|authentication failed|bad credentials|http 401|unauthorized", re.IGNORECASE
)
_EXISTS = re.compile(r"already exists", re.IGNORECASE)
_RIGHTS = re.compile(r"\b403\b|forbidden|must be a collaborator|not accessible by|permission", re.IGNORECASE)
_ADDRESS = re.compile(r"https?://[^\s\"'<>]+")
_STATES: Mapping[str, Literal["open", "merged", "closed"]] = {
    "open": "open", "opened": "open", "locked": "open", "merged": "merged", "closed": "closed",
}  # fmt: skip
_CONTROL = ("Cc", "Cs", "Zl", "Zp")


class Request(NamedTuple):
    """A pull request that is open now, or the address where a person opens it."""

    url: str
    """Empty: the host has no address that we know."""
    how: str
    """gh, glab, compare (a person opens it at `url`) or none."""
    existed: bool = False
    """It was open already: pushing the branch has updated it."""


class RequestState(NamedTuple):
    """What the host says of the newest pull request of a branch."""

    state: Literal["open", "merged", "closed"] | None = None
    """None: there is none, or nobody here can tell (then `why` says so)."""
    merged_by: str = ""
    """Login of who merged it, as the host says."""
    url: str = ""
    why: str = ""
    closed_by: str = ""
    """Login of who closed it unmerged, where the host says so."""
    on: str = ""
    """ISO day (UTC) on which it was merged or closed."""

    @property
    def day(self) -> str:
        """The same as YYYYMMDD."""
        return self.on.replace("-", "")


# --- programs -------------------------------------------------------------------------------------------------------


def program(name: str) -> str | None:
    """Return the path of `gh` or `glab`. A relative entry of PATH counts for nothing: a repository could fill it."""
    found = shutil.which(name)
    return found if found and Path(found).is_absolute() else None


def choose(folder: Path, remote_url: str) -> str:
    """Return which way a pull request goes: gh, glab or compare. A host that no name tells is asked for a login."""
    remote = remote_of(remote_url)
    if remote is None:
        return COMPARE
    wanted = {"github": GH, "gitlab": GLAB}.get(remote.kind)
    if wanted is not None:
        return wanted if program(wanted) else COMPARE
    if not remote.kind:
        for name in (GH, GLAB):
            if program(name) and _logged_in(folder, name, remote.host):
                return name
    return COMPARE


def require_login(folder: Path, which: str, remote_url: str) -> None:
    """Raise InstinctError when the way that `open_request` would take is closed. Ask before anything is pushed."""
    way = _way(folder, which, remote_url)
    if way not in (GH, GLAB):
        return
    remote = remote_of(remote_url)
    if not _logged_in(folder, way, remote.host if remote else ""):
        raise _no_login(way, remote.host if remote else "")


def open_request(
    folder: Path, title: str, body: str, head: str, base: str, which: str = AUTO, *, remote_url: str = ""
) -> Request:
    """Open the pull request of the pushed branch `head` into `base`, or say where a person opens it.

    `which` is auto (what the remote's host suggests and is installed), gh, glab or none. A request that is open already
    is returned. Raises InstinctError for a missing program or login, missing rights, and whatever the host refuses.
    """
    for name, value in (("title", title), ("head", head), ("base", base)):
        _refuse(name, value)
    way = _way(folder, which, remote_url)
    if way == NONE:
        return Request("", NONE)
    if way == COMPARE:
        url = compare_url(remote_url, base, head)
        return Request(url or "", COMPARE if url else NONE)
    text = _printable(_cut(body))
    where = _where(way, remote_url)
    if way == GH:
        args = ["pr", "create", "--title", title, "--body-file", "-", "--head", head, "--base", base, *where]
        done = _run(folder, GH, args, stdin=text)
    else:
        # In one word with its option, and never a lone "-", which would open an editor.
        args = [
            "mr",
            "create",
            f"--title={title}",
            f"--description=\n{text}" if text[:1] == "-" else f"--description={text}",
        ]
        done = _run(folder, GLAB, [*args, f"--source-branch={head}", f"--target-branch={base}", "--yes", *where])
    return _opened(folder, way, head, done, remote_url)


def _opened(folder: Path, way: str, head: str, done: _Done, remote_url: str) -> Request:
    """Read what the program said about the request that it was to open."""
    if done.code == 0:
        found = [address.rstrip(".,)") for address in _ADDRESS.findall(done.out + "\n" + done.err)]
        named = [address for address in found if re.search(r"/(?:pull|merge_requests)/\d+", address)]
        return Request(clean((named or found or [""])[-1]), way)
    if _EXISTS.search(done.said):
        now = request_state(folder, head, which=way, remote_url=remote_url)
        if now.state == OPEN:
            return Request(now.url, way, existed=True)
    raise _problem(way, done, remote_url)


def request_state(folder: Path, head: str, *, which: str = AUTO, remote_url: str = "") -> RequestState:
    """Return the state of the newest pull request of branch `head`, and who merged it. Never raises for a host's answer.

    Requests from other people's forks count for nothing: anybody may open and close one from a branch of that name.
    Write `owner:branch` for a branch that was pushed to a fork.
    """
    _refuse("head", head)
    way = _way(folder, which, remote_url, strict=False)
    if way not in (GH, GLAB):
        return RequestState(why="neither gh nor glab can be asked about this remote")
    owner, _, branch = head.rpartition(":")
    if way == GH:
        fields = "state,mergedBy,closedAt,url,isCrossRepository,headRepositoryOwner"
        args = ["pr", "list", "--head", branch, "--state", "all", "--limit", "50", "--json", fields]
        done = _run(folder, GH, [*args, *_where(GH, remote_url)])
    else:
        remote = remote_of(remote_url)
        project = quote(remote.path, safe="") if remote else ":id"
        asked = f"projects/{project}/merge_requests?source_branch={quote(branch, safe='')}&state=all&per_page=50"
        done = _run(folder, GLAB, ["api", asked, *(("--hostname", remote.host) if remote else ())])
    if done.code != 0:
        problem = _problem(way, done, remote_url)
        return RequestState(why=problem.message)
    return _state(way, owner, done.out)


def _state(way: str, owner: str, answer: str) -> RequestState:
    try:
        rows = [row for row in json.loads(answer or "[]") if isinstance(row, dict)]
    except (ValueError, TypeError):
        return RequestState(why=f"{way} gave an answer that is no JSON")
    mine = [_row(row) for row in rows if _ours(way, owner, row)]
    known = [one for one in mine if one.state is not None]
    return next((one for one in known if one.state == OPEN), known[0] if known else RequestState())


def _ours(way: str, owner: str, row: Mapping[str, Any]) -> bool:
    """True for a request from the repository itself, or from the fork of `owner`."""
    if owner:  # GitLab's answer does not name the fork; its author is who opened the request
        person = row.get("headRepositoryOwner" if way == GH else "author")
        login = person.get("login") or person.get("username") if isinstance(person, dict) else ""
        return str(login or "").casefold() == owner.casefold()
    if way == GLAB:
        return bool(row.get("source_project_id") == row.get("target_project_id", row.get("project_id")))
    return not row.get("isCrossRepository")


def _row(row: Mapping[str, Any]) -> RequestState:
    """Read a request as either program gives it: the fields have different names, the states nearly the same."""
    found = _STATES.get(str(row.get("state")).lower())
    by = _login(row.get("mergedBy") or row.get("merge_user") or row.get("merged_by")) if found == MERGED else ""
    closer = _login(row.get("closed_by")) if found == CLOSED else ""
    ended = row.get("closedAt") or row.get("merged_at") or row.get("closed_at")
    on = _day(str(ended)) if ended and found in (MERGED, CLOSED) else ""
    return RequestState(found, by, clean(str(row.get("web_url") or row.get("url") or "")), closed_by=closer, on=on)


def _day(text: str) -> str:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return ""
    return (moment if moment.tzinfo is None else moment.astimezone(UTC)).date().isoformat()


def _login(person: object) -> str:
    return clean(str(person.get("login") or person.get("username") or "")) if isinstance(person, dict) else ""


# --- running --------------------------------------------------------------------------------------------------------


class _Done(NamedTuple):
    code: int
    out: str
    err: str
    timed_out: bool = False

    @property
    def said(self) -> str:
        """Both outputs, errors first."""
        return f"{self.err}\n{self.out}"


def _way(folder: Path, which: str, remote_url: str, *, strict: bool = True) -> str:
    if which not in WAYS:
        raise InstinctError(f"there is no way {which!r} to open a pull request", "ways: " + ", ".join(WAYS))
    if which == AUTO:
        return choose(folder, remote_url)
    if which in (GH, GLAB) and program(which) is None:
        if not strict:
            return COMPARE
        raise InstinctError(f"{which} is not installed", f"install it, or {_BROWSER}")
    return which


def _where(way: str, remote_url: str) -> list[str]:
    """Return the option that names the repository: with several remotes a program would ask, or guess."""
    remote = remote_of(remote_url)
    if remote is None:
        return []
    if way == GLAB:
        return ["--repo", f"{remote.web}/{remote.path}"]
    return ["--repo", f"{remote.host}/{remote.path}"] if remote.path.count("/") == 1 else []


def _logged_in(folder: Path, way: str, host: str) -> bool:
    done = _run(folder, way, ["auth", "status", *(("--hostname", host) if host else ())])
    return done.code == 0 and not _LOGIN.search(done.said)  # old versions of glab end with 0 all the same


def _no_login(way: str, host: str) -> InstinctError:
    named = f" --hostname {host}" if host and host not in ("github.com", "gitlab.com") else ""
    return InstinctError(
        f"{way} is not logged in" + (f" at {host}" if host else ""),
        f"run `{way} auth login{named}` and try again, or {_BROWSER}",
    )


def _problem(way: str, done: _Done, remote_url: str) -> InstinctError:
    remote = remote_of(remote_url)
    if done.timed_out:
        return InstinctError(f"{way} did not end within {SECONDS:.0f} seconds", "check the network and try again")
    if done.code == 4 or _LOGIN.search(done.said):
        return _no_login(way, remote.host if remote else "")
    said = clean(next((line.strip() for line in done.said.splitlines() if line.strip()), f"exit {done.code}"))
    if _RIGHTS.search(done.said):
        return InstinctError(f"{way}: {said}", "ask for the right to open pull requests there, or propose from a fork")
    return InstinctError(f"{way}: {said}", "mend that and try again, or open the request in a browser")


def _refuse(name: str, value: str) -> None:
    """Refuse what a program could take for an option, and what no argument can hold."""
    if not value.strip():
        raise InstinctError(f"the {name} of a pull request is empty", f"give a {name}")
    if value.lstrip().startswith("-"):
        raise InstinctError(
            f"the {name} {clean(value)!r} begins with a hyphen", "another program would take it for an option"
        )
    if any(unicodedata.category(char) in _CONTROL for char in value):
        raise InstinctError(
            f"the {name} of a pull request holds a control character", "one line of plain text is needed"
        )


def _cut(body: str) -> str:
    """Return a body of at most MAX_BODY characters and MAX_BYTES bytes."""
    kept = body[:MAX_BODY].encode("utf-8", "replace")[:MAX_BYTES].decode("utf-8", "ignore")
    return body if len(kept) == len(body) else kept.rstrip() + "\n\n(cut)\n"


def _printable(text: str) -> str:
    return "".join(char for char in text if char in "\n\t" or unicodedata.category(char) not in ("Cc", "Cs"))


def clean(text: str) -> str:
    """Return a program's words for people: without secrets, user names in addresses and control characters, cut short."""
    plain = "".join(char if char.isprintable() else " " for char in text)
    return redact(re.sub(r"(https?://)[^/\s@]*@", r"\1", plain))[:400].strip()


def _run(folder: Path, name: str, args: Sequence[str], *, stdin: str = "") -> _Done:
    """Run `gh` or `glab` in `folder`. A failing command is a _Done; whatever it started ends with it at the time limit."""
    path = program(name)
    if path is None:
        raise InstinctError(f"{name} is not installed", f"install it, or {_BROWSER}")
    kept = {name: value for name, value in os.environ.items() if name not in _SCRUBBED}
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(stdin.encode("utf-8", "replace"))
        given.seek(0)
        try:
            child = subprocess.Popen(
                [path, *args],
                cwd=folder,
                stdin=given,
                stdout=out,
                stderr=err,
                env={**kept, **_QUIET},
                start_new_session=True,
            )
        except OSError as problem:
            raise InstinctError(f"{name} cannot be run: {problem.strerror or problem}", "install it again") from None
        timed_out = False
        try:
            child.wait(SECONDS)
        except BaseException as stop:
            _end(child)
            if not isinstance(stop, subprocess.TimeoutExpired):
                raise
            timed_out = True
        said = [os.pread(stream.fileno(), 4_000_000, 0).decode("utf-8", "replace") for stream in (out, err)]
    return _Done(child.returncode, said[0], said[1], timed_out)


def _end(child: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(child.pid, signal.SIGKILL) if hasattr(os, "killpg") else child.kill()
    except OSError:
        pass  # it has ended meanwhile
    child.wait()

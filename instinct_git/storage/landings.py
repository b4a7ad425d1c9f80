"""What git knows of proposals: their branches, what the default branch holds of them, and which commit brought it.

What landed is read from the files at the default branch's tip, so merges, squashes, rebases and cherry-picks all count.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from instinct_git.core import memory_file
from instinct_git.core.answers import FOLDERS, Turn
from instinct_git.core.document import parse
from instinct_git.core.keys import pattern_path
from instinct_git.core.kinds import mark
from instinct_git.core.model import GRADUATED
from instinct_git.core.pattern import PatternFile
from instinct_git.core.request import KEYS, trailer_keys
from instinct_git.errors import InvalidDocument
from instinct_git.storage import branches, git
from instinct_git.storage.git import Repository

PATTERNS = ".instinct/patterns"
FETCH_SECONDS, LOG_SECONDS = 120.0, 600.0
MOST_COMMITS = 200
"""Of a proposal's branch; more are not looked at."""
_GRADUATED = r"^status:[[:space:]]*[\"']?graduated"
_TURNS = (
    "log", "-z", "--first-parent", "--diff-merges=first-parent", "--raw", "--root", "--no-abbrev", "--no-renames",
    "--no-follow", "--no-color", "--no-show-signature", "--text", f"-G{_GRADUATED}", "--format=%H %ct %P",
)  # fmt: skip
_TRAILERS = "%x00".join(
    ["%H %ct", *(f"%(trailers:key=Instinct-{name},valueonly,separator=%x1f)" for name in ("Batch", "Pattern"))]
)


class Branch(NamedTuple):
    """A proposal's branch, local or remote-tracking."""

    name: str
    """Such as instinct/skill/publish, without the remote."""
    remote: str
    """Empty for a local branch."""
    tip: str
    keys: tuple[str, ...]
    """The patterns that its commits propose."""
    seconds: int
    """When its tip was committed, in seconds since 1970."""
    since: str
    """The UTC day of its first commit, YYYYMMDD."""

    @property
    def ref(self) -> str:
        """What `git merge` takes."""
        return f"{self.remote}/{self.name}" if self.remote else self.name


def day(seconds: int) -> str:
    """Return the UTC day of a commit, YYYYMMDD."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y%m%d")


def remotes(repository: Repository) -> dict[str, str]:
    """Return {remote: its address}."""
    names = repository.ask("remote").text.splitlines()
    return {name: repository.ask("remote", "get-url", "--", name).text for name in names}


def fetch(repository: Repository, default: str) -> list[str]:
    """Fetch proposals and the default branch from every remote; what cannot be fetched is returned in words.

    Only these branches move, and only proposals that are gone there are pruned here.
    """
    problems = []
    for name in remotes(repository):
        specs = [f"+refs/heads/instinct/*:refs/remotes/{name}/instinct/*"]
        if repository.commit_of(f"refs/remotes/{name}/{default}"):
            specs.append(f"+refs/heads/{default}:refs/remotes/{name}/{default}")
        args = ["fetch", "--quiet", "--no-tags", "--prune", "--no-recurse-submodules", name, *specs]
        done = git.run(repository.top, args, seconds=FETCH_SECONDS)
        if done.code:
            problems.append(f"{name} could not be fetched: {git.last_line(done.err)}")
    return problems


def proposals(repository: Repository, base: str) -> list[Branch]:
    """Return the branches that hold proposals: local ones first, by name."""
    found = (_branch(repository, base, one.branch, one.remote, one.tip) for one in branches.refs(repository, FOLDERS))
    return [one for several in found for one in several]


def _branch(repository: Repository, base: str, name: str, remote: str, tip: str) -> list[Branch]:
    """Read the trailers of the branch's own commits; of a branch that the base contains, of the last that have them."""
    own = _commits(repository, f"-{MOST_COMMITS}", f"{base}..{tip}")
    chosen = [one for one in own if one[1] == "propose"]
    if not own:
        for one in _commits(repository, f"-{MOST_COMMITS}", "--first-parent", tip):
            if one[1] != "propose":
                break
            chosen.append(one)
    keys = tuple(dict.fromkeys(key for one in chosen for key in one[2]))
    newest = max((one[0] for one in own or chosen), default=0)
    return [Branch(name, remote, tip, keys, newest, day(chosen[-1][0]))] if keys else []


def _commits(repository: Repository, *what: str) -> list[tuple[int, str, tuple[str, ...]]]:
    """Return (seconds, batch, keys) of commits, newest first."""
    found = []
    for line in repository.ask("log", "--no-show-signature", f"--format={_TRAILERS}", *what, "--").text.splitlines():
        head, batch, keys = [*line.split("\0"), "", ""][:3]
        named = trailer_keys("\n".join(f"{KEYS}: {key}" for key in keys.split("\x1f")))
        found.append((int(head.split()[1]), batch.strip(), named))
    return found


def graduated(repository: Repository, tip: str) -> dict[str, PatternFile]:
    """Return {key: its file} of the patterns that are graduated at a commit and whose document stands there."""
    said = repository.ask("grep", "-I", "-l", "-z", "-E", "-e", _GRADUATED, tip, "--", _literal(repository, PATTERNS))
    if not said.out:
        return {}
    names = said.out.decode("utf-8", "surrogateescape").split("\0")
    paths = {name.partition(":")[2].removeprefix(repository.prefix) for name in names if name}
    blobs = {path: blob for path, blob in repository.files_at(tip, PATTERNS).items() if path in paths}
    texts = repository.blobs(blobs.values())
    files = [file for path, blob in blobs.items() if (file := _file(texts[blob], path)) is not None]
    there = set(repository.files_at(tip, "skills")) | set(repository.files_at(tip, "memory"))
    return {file.key: file for file in files if file.status == GRADUATED and _stands(repository, tip, file, there)}


def _stands(repository: Repository, tip: str, file: PatternFile, there: set[str]) -> bool:
    to = file.graduated_to
    return to in there or (bool(to) and to in repository.files_at(tip, to))


def _literal(repository: Repository, path: str) -> str:
    return f":(literal){repository.inside(path)}"


def _file(text: bytes, path: str) -> PatternFile | None:
    try:
        return parse(text.decode("utf-8", "surrogateescape"), path)
    except InvalidDocument:
        return None


def file_at(repository: Repository, commit: str, key: str) -> PatternFile | None:
    """Return a pattern's file at a commit; None where there is none that can be read."""
    path = pattern_path(key)
    blob = repository.files_at(commit, path).get(path)
    return _file(repository.blobs([blob])[blob], path) if blob else None


def holds(repository: Repository, tip: str, key: str, to: str) -> bool:
    """True when a commit holds the document that a pattern graduated to; of MEMORY.md, a line that names the key."""
    if to != memory_file.PATH:
        return bool(to) and to in repository.files_at(tip, to)
    return bool(memory_file.line_with(memory_text(repository, tip), mark(key)))


def held(repository: Repository, tip: str, commit: str, path: str) -> bool:
    """True when a file as a commit has it stands, or stood once, on a tip's first-parent line."""
    blob = repository.files_at(commit, path).get(path)
    asked = ("--first-parent", "--diff-merges=first-parent", "--no-show-signature", f"--find-object={blob}")
    return blob is None or bool(repository.ask("log", "-1", "--format=%H", *asked, tip).text)


def memory_text(repository: Repository, commit: str) -> str:
    """Return `memory/MEMORY.md` at a commit; empty where there is none."""
    blob = repository.files_at(commit, memory_file.PATH).get(memory_file.PATH)
    return repository.blobs([blob])[blob].decode("utf-8", "replace") if blob else ""


def turns(repository: Repository, tip: str, paths: Mapping[str, str]) -> dict[str, list[Turn]]:
    """Return {key: the commits that made its pattern graduated or not, newest first} for {key: path of its file}.

    One git process. In a shallow clone the commit where the history was cut off tells nothing and is left out.
    """
    if not paths:
        return {}
    result = git.run(
        repository.top,
        [*_TURNS, tip, "--", *(_literal(repository, path) for path in sorted(set(paths.values())))],
        seconds=LOG_SECONDS,
        read_only=True,
    )
    if result.code:
        raise git.failed("log", result)
    cut = repository.ask("rev-parse", "--is-shallow-repository").text == "true"
    changes = [one for one in _changes(repository, result.out) if not (cut and one[2])]
    texts = repository.blobs({blob for *_, old, new in changes for blob in (old, new) if blob})
    keys: dict[str, list[str]] = {}
    for key, path in paths.items():
        keys.setdefault(path, []).append(key)
    found: dict[str, list[Turn]] = {}
    for commit, seconds, _, path, old, new in changes:
        before, after = _file(texts.get(old, b""), path), _file(texts.get(new, b""), path)
        was, now = (one is not None and one.status == GRADUATED for one in (before, after))
        told = after if now else before
        if was != now and told is not None:
            for key in keys.get(path, ()):
                found.setdefault(key, []).append(Turn(commit, seconds, day(seconds), now, told.graduated_to))
    return found


def _changes(repository: Repository, out: bytes) -> Iterable[tuple[str, int, bool, str, str, str]]:
    """Yield (commit, seconds, it has no parent here, path, old blob, new blob); an empty blob: there is no such file."""
    commit, seconds, root = "", 0, False
    tokens = iter(out.split(b"\0"))
    for token in tokens:
        meta = token.lstrip(b"\n").decode("ascii", "replace")
        if meta.startswith(":"):
            path = next(tokens).decode("utf-8", "surrogateescape").removeprefix(repository.prefix)
            old_mode, new_mode, old, new, _ = meta[1:].split()
            yield (
                commit, seconds, root, path,
                old if old_mode.startswith("100") else "", new if new_mode.startswith("100") else "",
            )  # fmt: skip
        elif meta:
            commit, stamp, *parents = meta.split()
            seconds, root = int(stamp), not parents


def brought_in(repository: Repository, tip: str, commit: str) -> tuple[str, int]:
    """Return (id, seconds) of the commit on the tip's first-parent line that brought a commit in."""
    line = repository.ask("rev-list", "--first-parent", f"{commit}..{tip}").text.split()
    through = set(repository.ask("rev-list", "--ancestry-path", f"{commit}..{tip}").text.split())
    last = next((one for one in reversed(line) if one in through), commit)
    if branches.is_ancestor(repository, commit, last + "^"):
        last = commit  # it stands on the first-parent line itself
    return last, int(repository.ask("log", "-1", "--no-show-signature", "--format=%ct", last).text or 0)


def conflicts(repository: Repository, tip: str, commit: str) -> bool | None:
    """True when merging a commit into the tip would conflict; None where this git cannot tell (before 2.38)."""
    code = repository.ask("merge-tree", "--write-tree", tip, commit).code
    return None if code > 1 else bool(code)

"""Local commits made again on a remote's tip, path by path: no rebase to be left half-way, and no renames to be guessed.

Evidence never conflicts: its files have names of their own. The numbers of a pattern file are settled by the rules of
`core/merge.py`; where two people changed the same words, the remote's stay and the other version is handed back.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from instinct_git.core import merge
from instinct_git.core.document import parse
from instinct_git.core.merge import Versions
from instinct_git.core.model import Policy
from instinct_git.errors import InvalidDocument
from instinct_git.storage import branches, conflicts, inbox
from instinct_git.storage.commits import sign
from instinct_git.storage.git import Repository, author_variables

Entry = tuple[str, str]
"""(mode, blob id); two empty texts: no such file."""
NONE: Entry = ("", "")


class Replayed(NamedTuple):
    """What became of local commits."""

    tip: str
    """The remote's tip with what was replayed on top of it."""
    made: int
    """Commits on top of the remote's tip."""
    kept: Mapping[str, bytes]
    """{memory path: the local version} of what both sides changed; the tip has the remote's."""


@dataclass
class _Work:
    repository: Repository
    policy: Policy
    day: str
    drop: Callable[[str, bytes], bool]
    kept: dict[str, bytes] = field(default_factory=dict)

    def entry(self, path: str, base: Entry, new: Entry, now: Entry) -> dict[str, Entry]:
        """Return what the change base -> new makes of a path that is `now` on the other side."""
        if now == new or base == new:
            return {}
        if path.endswith(".jsonl") and base == NONE and self.drop(path, self._content(new) or b""):
            return {}
        if now == base:
            return {path: new}
        inside = path.removeprefix(self.repository.prefix)
        if merge.is_container(inside):
            return self._container(path, new, now)
        plain = all(one == NONE or one[0].startswith("100") for one in (base, new, now))
        merged = self._merged(inside, base, new, now) if plain else None
        if merged is not None:
            return {path: (now[0] or new[0], self._stored(merged))}
        mine = self._content(new)
        if mine is not None and not self._only_numbers(inside, base, mine):
            self.kept[inside] = mine
        return {}

    def _container(self, path: str, new: Entry, now: Entry) -> dict[str, Entry]:
        """Both have a container of one name: theirs keeps it, ours is added under another."""
        if new == NONE:
            return {}
        if now == NONE:
            return {path: new}
        return {f"{path.rpartition('/')[0]}/{inbox.new_stem(self.day)}.jsonl": new}

    def _merged(self, path: str, base: Entry, new: Entry, now: Entry) -> bytes | None:
        ours, theirs, common = self._content(new), self._content(now), self._content(base)
        if ours is None or theirs is None:
            return None
        if not merge.is_pattern(path):
            three = [one.decode("utf-8", "surrogateescape") for one in (common or b"", ours, theirs)]
            texts = merge.Texts(three[0], three[1], three[2], "", 0)
            text, still_open = conflicts.merge_lines(self.repository, texts)
            return None if still_open else text.encode("utf-8", "surrogateescape")
        try:
            texts = merge.settle_pattern(path, Versions(common, ours, theirs), self.policy)
        except InvalidDocument:
            return None
        text, still_open = conflicts.merge_lines(self.repository, texts)
        if still_open or texts.undecided or merge.readable(path, text, texts.key):
            return None
        return text.encode("utf-8", "surrogateescape")

    def _only_numbers(self, path: str, base: Entry, mine: bytes) -> bool:
        """True when nothing but a batch's own lines differ: the next batch writes them again."""
        common = self._content(base)
        if not merge.is_pattern(path) or common is None:
            return False
        try:
            texts = merge.settle_pattern(path, Versions(common, common, mine), self.policy)
            before, after = (parse(one.decode("utf-8", "surrogateescape"), path) for one in (common, mine))
        except InvalidDocument:
            return False
        same = (before.offset, before.status, before.category) == (after.offset, after.status, after.category)
        return same and texts.ours == texts.theirs

    def _content(self, entry: Entry) -> bytes | None:
        return None if entry == NONE else self.repository.blobs([entry[1]])[entry[1]]

    def _stored(self, content: bytes) -> str:
        return self.repository.must("hash-object", "-w", "--stdin", stdin=content).text


def replay(
    repository: Repository, commits: Iterable[str], onto: str, policy: Policy, day: str, *,
    drop: Callable[[str, bytes], bool] = lambda path, content: False,
) -> Replayed:  # fmt: skip
    """Make commits (oldest first) again on top of `onto`. Writes objects only: no branch, index or working tree moves.

    `drop` is asked about every new container: True leaves it out.
    """
    work = _Work(repository, policy, day, drop)
    tip, made = onto, 0
    empty = repository.must("hash-object", "-t", "tree", "--stdin").text
    state = repository.place.worktree_state_dir
    state.mkdir(parents=True, exist_ok=True)
    private = state / f"index.replay.{os.getpid()}.{threading.get_ident()}"
    env = {"GIT_INDEX_FILE": str(private)}
    try:
        repository.must("read-tree", onto, env=env)
        for commit in commits:
            parent = repository.commit_of(f"{commit}^") or empty
            changes = branches.changed(repository, parent, commit)
            lines = _index_lines(work, parent if parent != empty else "", tip, changes)
            if not lines:
                continue
            repository.must("update-index", "-z", "--index-info", stdin=lines, env=env)
            tree = repository.must("write-tree", env=env).text
            tip, made = _commit_again(repository, commit, tip, tree), made + 1
    finally:
        for leftover in (private, private.with_name(private.name + ".lock")):
            leftover.unlink(missing_ok=True)
    return Replayed(tip, made, work.kept)


def _index_lines(work: _Work, parent: str, tip: str, changes: Mapping[str, Entry]) -> bytes:
    known, there = (branches.entries(work.repository, one, changes) for one in (parent, tip))
    wanted: dict[str, Entry] = {}
    for path, new in changes.items():
        base, now = known.get(path, NONE), there.get(path, NONE)
        wanted.update(work.entry(path, base, new, now))
    zero = "0" * len(tip)
    rows = (f"{mode or '0'} {blob or zero}\t{path}\0" for path, (mode, blob) in wanted.items())
    return "".join(rows).encode("utf-8", "surrogateescape")


def _commit_again(repository: Repository, commit: str, parent: str, tree: str) -> str:
    """Commit a tree with the message and author of another commit."""
    said = repository.must("log", "-1", "--no-show-signature", "--format=%an%n%ae%n%aI%n%B", commit).out
    name, email, date, words = said.decode("utf-8", "surrogateescape").split("\n", 3)
    author = {"GIT_AUTHOR_NAME": name, "GIT_AUTHOR_EMAIL": email, "GIT_AUTHOR_DATE": date}
    env = {**author_variables(), **author}
    stdin = words.rstrip("\n").encode("utf-8", "surrogateescape") + b"\n"
    return repository.must("commit-tree", *sign(repository), "-p", parent, tree, stdin=stdin, env=env).text

"""The rules of `check` about candidates: the line in the pattern file must follow from the evidence. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from instinct_git.core.audit import ERROR, NOTICE, committed, held, line_of, subsets
from instinct_git.core.candidates import NOMINATED, READY, fold_candidate, summary
from instinct_git.core.confidence import group
from instinct_git.core.consolidate import Book
from instinct_git.core.model import Evidence
from instinct_git.core.pattern import Finding, PatternFile


def audit_pool(book: Book) -> list[Finding]:
    """Return what is wrong with the `candidate:` lines of the pattern files.

    Right is what the committed evidence gives, or the part of it that is folded. A line that was right for some of the
    containers here is behind (a merge brought the others) and only a notice; any other was written by no batch.
    """
    names = sorted(key for key, file in book.files.items() if key in book.pooled or file.candidate)
    if not names:
        return []
    groups, found = committed(book), list[Finding]()
    for key in names:
        file, members = book.files[key], groups.get(key, [])
        folded = [one for one in members if one.id in book.ledger_ids]
        if file.candidate not in (_line(file, members), _line(file, folded)):
            found.append(_finding(book, file, _line(file, members)))
    return found


def _line(file: PatternFile, members: Iterable[Evidence]) -> dict[str, Any]:
    return summary(fold_candidate(members, key=file.key, text=file.body))


def _finding(book: Book, file: PatternFile, right: Mapping[str, Any]) -> Finding:
    said = ", ".join(_differences(file.candidate, right)) or "its line is missing"
    if {**file.candidate, "status": ""} == {**right, "status": ""} and _held(
        {file.candidate["status"], right["status"]}
    ):
        words = f"candidate: it is {right['status']} by the text of the file as it is now"
        return Finding("candidate", file.path, words, NOTICE, line_of(file, "candidate"))
    words = f"candidate: {said} (`instinct consolidate` brings it up to date)"
    if any(file.candidate == _line(file, part) for part in _parts(book, file.key)):
        return Finding("candidate", file.path, f"behind: {words}", NOTICE, line_of(file, "candidate"))
    return Finding("candidate", file.path, words, ERROR, line_of(file, "candidate"))


def _held(statuses: set[str]) -> bool:
    """True for what a person's edit of the text moves: a bypass named or no longer named there (nomination is held)."""
    return statuses == {READY, NOMINATED}


def _differences(said: Mapping[str, Any], right: Mapping[str, Any]) -> Iterator[str]:
    if not right:
        yield "there is no evidence that it is one"
        return
    for name in sorted(said.keys() | right.keys()) if said else ():
        if said.get(name) != right.get(name):
            yield f"{name} is {said.get(name, 'missing')}, the evidence gives {right.get(name, 'nothing')}"


def _parts(book: Book, key: str) -> Iterator[list[Evidence]]:
    """Yield the key's evidence in parts of the containers that hold it, the likely ones first; and none at all."""
    containers = held(book, {key})[key]
    masks: dict[str, int] = {}
    for bit, path in enumerate(sorted(containers)):
        for evidence_id in containers[path]:
            masks[evidence_id] = masks.get(evidence_id, 0) | 1 << bit
    members = [book.everything.by_id[one] for one in masks]
    for subset in subsets(len(containers), len(members)):
        yield group([one for one in members if masks[one.id] & subset]).get(key, [])
    yield []

"""Observing: evidence into the inbox, durable when it returns, with no git process and nothing heavy imported (law 7)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from instinct_git.core.confidence import fold_one, group, representatives, retracted
from instinct_git.core.evidence import LEDGER, OBSERVATIONS, EvidenceSet, parse_container
from instinct_git.core.keys import category_of, normalise_key, pattern_path, split_key
from instinct_git.core.model import NOTHING, Evidence, Policy, speaks
from instinct_git.errors import InstinctError, InvalidDocument
from instinct_git.operations.workspace import Workspace, refuse_secrets
from instinct_git.storage import inbox
from instinct_git.storage.files import Place, container_paths

LIVE_FILES = 800
"""With more containers and inbox files than this the live value is left out: observing must stay fast."""


class Observed(NamedTuple):
    """What one observation did."""

    pattern: str
    id: str
    category: str
    live: int | None
    """Confidence with everything that waits; None where reading it all would take too long."""
    scope: str
    status: str = "active"
    memory: str = ""
    """A shared memory's name; empty: it is in another one."""

    @property
    def silent(self) -> bool:
        """True for a pattern that agents are not told of, however often it is seen."""
        return not speaks(self.status, read=self.scope == "project")


class Draft(NamedTuple):
    """One observation as it was asked for."""

    key: str
    category: str | None = None
    source: str = ""
    session: str | None = None
    context: str | None = None
    note: str | None = None
    title: str | None = None
    description: str | None = None
    metadata: Mapping[str, Any] | None = None
    kind: str = "observed"
    extra: Mapping[str, Any] = NOTHING


def evidence_of(space: Workspace, draft: Draft) -> Evidence:
    """Return the evidence of a draft, checked. Raises InstinctError for a bad key, category, text or a secret."""
    key = normalise_key(draft.key)
    category = category_of(key, draft.category)
    texts = {
        "the key": key, "the note": draft.note, "the title": draft.title, "the description": draft.description,
        "the context": draft.context, "the source": draft.source,
    }  # fmt: skip
    extra: dict[str, Any] = dict(draft.extra)
    if draft.metadata is not None:
        extra["meta"] = _metadata(draft.metadata)
        texts["the metadata"] = json.dumps(extra["meta"], ensure_ascii=False)
    refuse_secrets((name, text) for name, text in texts.items() if text)
    if draft.category is not None and split_key(key)[0] == "other":
        extra["cat"] = category
    for name, text in (("title", draft.title), ("desc", draft.description)):
        if text:
            extra[name] = one_line(text, "description" if name == "desc" else name)
    session = inbox.session_code(space.place, draft.session) if draft.session else ""
    at = space.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    by, context = one_line(draft.source, "source"), one_line(draft.context or "", "context")
    return Evidence("", key, draft.kind, at, by, session, context, _readable(draft.note or ""), extra or NOTHING)


def _metadata(value: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InstinctError("metadata is a map of names to values", 'such as {"owner": "web"}')
    try:
        text = json.dumps(value, ensure_ascii=False)
        text.encode("utf-8")
        copied: dict[str, Any] = json.loads(text)
    except (TypeError, ValueError):
        raise InstinctError(
            "metadata holds something that is no plain value", "use texts, numbers, lists and maps"
        ) from None
    return copied


def _readable(text: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode("utf-8")
    return text


def one_line(text: str, name: str) -> str:
    """Return a text trimmed; raises InstinctError when it holds a control character or a line break."""
    text = _readable(text).strip()
    if any(ord(char) < 32 or ord(char) == 127 for char in text):
        raise InstinctError(f"the {name} holds a control character or a line break", "write it on one line")
    return text


def observe(space: Workspace, drafts: Sequence[Draft]) -> list[Observed]:
    """Write the drafts as evidence in one write; all of them or, when one is wrong, none."""
    evidence = [evidence_of(space, draft) for draft in drafts]
    written = put(space, evidence)
    values = live_values(space, [one.p for one in written])
    return [
        Observed(
            one.p,
            one.id,
            category_of(one.p, one.extra.get("cat")),
            *values[one.p][:1],
            space.place.scope,
            values[one.p][1],
            space.place.shared_name,
        )
        for one in written
    ]


def put(space: Workspace, evidence: Iterable[Evidence]) -> list[Evidence]:
    """Put evidence into the inbox (the first write also makes the user's global memory)."""
    if not space.place.exists() and space.place.scope == "global":
        from instinct_git.operations.setup import scaffold

        scaffold(space.place, "anywhere", "A memory of your own: one author.")
    try:
        tree = space.config()["inbox"] == "tree"
    except InvalidDocument:
        tree = False  # observing always works (law 7); every other verb names what is wrong with the config
    written, _ = inbox.put(space.place, evidence, space.day(), tree=tree)
    return written


def live_values(space: Workspace, keys: Iterable[str]) -> dict[str, tuple[int | None, str]]:
    """Return {key: (live confidence or None, status)}: the file's offset plus the fold over everything known here.

    Only lines that name one of the keys are parsed.
    """
    wanted = list(dict.fromkeys(keys))
    try:
        place, policy = space.place, space.config().policy
    except InvalidDocument:
        return dict.fromkeys(wanted, (None, "active"))
    groups = evidence_about(place, wanted)
    if groups is None:
        return dict.fromkeys(wanted, (None, "active"))
    return {key: _live(place, key, groups[key], policy) for key in wanted}


def evidence_about(place: Place, keys: Sequence[str]) -> dict[str, list[Evidence]] | None:
    """Return {key: evidence} of some keys, what aliases join included; None where it would take too long.

    Only lines that name one of the keys are parsed.
    """
    paths = [place.root / p for b in (OBSERVATIONS, LEDGER) for p in container_paths(place.root, b)]
    paths += inbox.inbox_files(place)
    if len(paths) > LIVE_FILES:
        return None
    known = lines_about(paths, keys)
    moving = [one for one in known if one.k in ("alias", "retract")]
    gone = retracted(moving)
    stands_for = representatives(one for one in moving if one.id not in gone)
    ends = {stands_for.get(key, key) for key in keys}
    joined = ends.union(keys, (old for old, end in stands_for.items() if end in ends))
    groups = group(list(lines_about(paths, joined) if joined > set(keys) else known))
    return {key: groups.get(stands_for.get(key, key), []) for key in keys}


def lines_about(paths: Iterable[Path], keys: Iterable[str]) -> EvidenceSet:
    """Read the evidence of some keys, and every alias and retraction."""
    needles = [json.dumps(key, ensure_ascii=False).encode("utf-8") for key in keys] + [b'"alias"', b'"retract"']
    known = EvidenceSet()
    for path in paths:
        try:
            data = path.read_bytes()
        except OSError:
            continue
        if any(needle in data for needle in needles):
            lines = [line for line in data.split(b"\n") if any(needle in line for needle in needles)]
            known.update(parse_container(b"\n".join([*lines, b""]))[0])
    return known


def _live(place: Place, key: str, members: Iterable[Evidence], policy: Policy) -> tuple[int, str]:
    offset, status = 0, "active"
    path = place.root / pattern_path(key)
    try:
        text = path.read_bytes().decode("utf-8", "surrogateescape")
    except OSError:
        text = ""
    if text:
        from instinct_git.core.document import parse

        try:
            pattern = parse(text, path.name)
        except InvalidDocument:
            pattern = None
        if pattern is not None and pattern.key == key:
            offset, status = pattern.offset, pattern.status
    return offset + fold_one(members, policy).total, status

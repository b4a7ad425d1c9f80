"""Staleness: what a pattern or skill cites of its project, and what of that has vanished or changed. Pure.

Cited are paths, make targets, just recipes, scripts of package.json and composer.json, commands of the project itself,
and packages. What is named in a text may be an example, so a name alone proves nothing: vanished is what the project had
on the day of the last evidence and has no more. Where no history can tell, only what stands in code is asked for.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

MANIFESTS = (
    "Makefile", "makefile", "GNUmakefile", "justfile", "Justfile", ".justfile", "package.json", "composer.json",
    "pyproject.toml", "Cargo.toml", "go.mod", "Gemfile", "requirements.txt", "requirements-dev.txt", "dev-requirements.txt",
)  # fmt: skip
MAKE, JUST, NPM, COMPOSER, COMMAND, PACKAGE = (
    "make target",
    "just recipe",
    "script",
    "composer script",
    "command",
    "package",
)
VANISHED, CHANGED, MISSING = "vanished", "changed", "missing"
MOST_PATHS = 40
"""Paths that are asked for of one text."""

Name = tuple[str, str]
"""(kind, name), such as (MAKE, "lint")."""


class Cited(NamedTuple):
    """What a text names."""

    paths: Mapping[str, bool]
    """{path with forward slashes: True where it stands in code}."""
    names: frozenset[Name]


class Subject(NamedTuple):
    """A pattern or an approved text, as it is checked."""

    key: str
    path: str
    """Its file, below the memory's root."""
    since: str
    """ISO day of its last evidence; empty: none is known."""
    cited: Cited
    confirmed: bool = False
    """True when a person confirmed it on that day: what had vanished by then is known to them."""

    def after(self, day: str) -> bool:
        """True for a day whose changes its last evidence cannot have known."""
        return day > self.since or (day == self.since and not self.confirmed)


class Change(NamedTuple):
    """What a commit did to one file."""

    day: str
    """ISO day, UTC."""
    path: str
    before: str
    """Blob id; empty: there was no such file."""
    after: str
    """Blob id; empty: the commit removes it."""


class Stale(NamedTuple):
    """A pattern or approved text whose ground has moved."""

    key: str
    path: str
    what: str
    """vanished, changed, or missing (it is not here, and no history tells whether it ever was)."""
    cited: str
    """What it cites: a path, or a name with its kind."""
    since: str
    at: str = ""
    """ISO day of the change; empty: not committed yet, or unknown."""


@dataclass(frozen=True, slots=True)
class Ground:
    """The project as it is and what happened to it."""

    there: frozenset[str] = frozenset()
    """Cited paths that are in the working tree."""
    changes: tuple[Change, ...] = ()
    """Of the cited paths and MANIFESTS, newest first."""
    known: bool = False
    """True when the changes reach back to the oldest `since`."""
    manifests: Mapping[str, str] = field(default_factory=dict)
    """{path: text} of those that are here now."""
    old: Mapping[str, str] = field(default_factory=dict)
    """{blob id: text} of what the changes replaced in MANIFESTS."""
    tracked: frozenset[str] = frozenset()
    """Cited paths that HEAD holds."""


# --- what a text cites --------------------------------------------------------------------------------------------------

_CODE = re.compile(r"```[^\n]*\n(.*?)(?:```|\Z)|~~~[^\n]*\n(.*?)(?:~~~|\Z)|`([^`\n]+)`", re.DOTALL)
_URL = re.compile(r"\b[a-z][a-z0-9+.-]*://\S+|\b\S+@\S+\.\S+|\bwww\.\S+", re.IGNORECASE)
_TOKEN = re.compile(r"[^\s`'\"()\[\]<>,;|=&]+")
_PATH = re.compile(r"(?:\./)?(?:[\w.@+-]+/)*[\w.@+-]+/?")
_ENDING = re.compile(r"[\w@+-][\w.@+-]*\.(?=[a-z0-9]*[a-z])[a-z0-9]{1,8}", re.IGNORECASE)
_NAMED = re.compile(r"(?:[\w.@+-]+/)*(?:Makefile|Dockerfile|Justfile|justfile|Gemfile|Rakefile|Procfile|Jenkinsfile)")
_CALLS = (
    (MAKE, re.compile(r"\bg?make\s+(?:-\S+\s+)*([A-Za-z0-9_][\w./-]*)")),
    (JUST, re.compile(r"\bjust\s+(?:-\S+\s+)*([A-Za-z_][\w-]*)")),
    (NPM, re.compile(r"\b(?:npm|pnpm|yarn|bun)\s+(?:run(?:-script)?\s+)?(?:-\S+\s+)*([A-Za-z][\w:.-]*)")),
    (COMPOSER, re.compile(r"\bcomposer\s+(?:run(?:-script)?\s+)?([A-Za-z][\w:.-]*)")),
)
_WORD = re.compile(r"@?[A-Za-z0-9][\w.-]*(?:/[\w.-]+)?")


def citations(text: str, code: str = "") -> Cited:
    """Return what a text cites; `code` is read as code throughout (the steps that were given with evidence)."""
    spans = [next(part for part in found.groups() if part is not None) for found in _CODE.finditer(text)]
    inside = "\n".join([*spans, code])
    paths: dict[str, bool] = {}
    for words, in_code in ((inside, True), (text, False)):
        for path in _paths(words, in_code):
            paths.setdefault(path, in_code)
            if len(paths) >= MOST_PATHS:
                break
    names = {(kind, one.rstrip(".:")) for kind, call in _CALLS for one in call.findall(f"{text}\n{code}")}
    names |= {(kind, word.lower()) for word in _WORD.findall(inside) for kind in (PACKAGE, COMMAND)}
    return Cited(paths, frozenset(names))


def _paths(text: str, in_code: bool) -> Iterator[str]:
    for token in _TOKEN.findall(_URL.sub(" ", text)):
        bare = token.rstrip(".:!?").partition("::")[0].partition("#")[0]
        if not _PATH.fullmatch(bare) or ".." in bare or bare.startswith("/"):
            continue
        path = bare.removeprefix("./").rstrip("/")
        ending = _ENDING.fullmatch(path.rpartition("/")[2]) is not None or _NAMED.fullmatch(path) is not None
        if path and (ending or (in_code and "/" in bare)):
            yield path


# --- what a project has -------------------------------------------------------------------------------------------------

_TARGET = re.compile(r"^([A-Za-z0-9_][\w./ -]*?)\s*::?(?!=)", re.MULTILINE)
_INCLUDE = re.compile(r"^-?s?include\s", re.MULTILINE)
_RECIPE = re.compile(r"^@?([A-Za-z_][\w-]*)(?:\s+[^:\n]*)?:(?!=)", re.MULTILINE)
_REQUIREMENT = re.compile(r"^\s*([A-Za-z0-9][\w.-]*)")
_GEM = re.compile(r"^\s*gem\s+['\"]([\w.-]+)['\"]", re.MULTILINE)
_MODULE = re.compile(r"^\s*(?:require\s+)?([\w.-]+\.[\w.-]+/\S+)\s+v\d", re.MULTILINE)


def has(manifests: Mapping[str, str]) -> frozenset[Name]:
    """Return every name that a project's manifests give: {path: text} in. What cannot be read gives none."""
    found: set[Name] = set()
    for path, text in manifests.items():
        try:
            found |= set(_names(path, text))
        except (ValueError, TypeError, AttributeError, RecursionError):
            continue
    return frozenset(found)


def _names(path: str, text: str) -> Iterator[Name]:
    name = path.rpartition("/")[2]
    if name in ("Makefile", "makefile", "GNUmakefile"):
        yield from ((MAKE, one) for found in _TARGET.findall(text) for one in found.split())
        if _INCLUDE.search(text):
            yield (MAKE, "")  # more stand elsewhere: nothing is missed for certain
    elif name.lower() in ("justfile", ".justfile"):
        yield from ((JUST, one) for one in _RECIPE.findall(text))
    elif name == "package.json":
        data = json.loads(text)
        yield from ((NPM, one) for one in data.get("scripts", {}))
        for kind in ("dependencies", "devDependencies", "peerDependencies", "optionalDependencies"):
            yield from ((PACKAGE, one.lower()) for one in data.get(kind, {}))
    elif name == "composer.json":
        data = json.loads(text)
        yield from ((COMPOSER, one) for one in data.get("scripts", {}))
        for kind in ("require", "require-dev"):
            yield from ((PACKAGE, one.lower()) for one in data.get(kind, {}))
    elif name == "pyproject.toml":
        yield from _python(tomllib.loads(text))
    elif name == "Cargo.toml":
        data = tomllib.loads(text)
        for kind in ("dependencies", "dev-dependencies", "build-dependencies"):
            yield from ((PACKAGE, one.lower()) for one in data.get(kind, {}))
    elif name == "go.mod":
        yield from ((PACKAGE, one.lower()) for one in _MODULE.findall(text))
    elif name == "Gemfile":
        yield from ((PACKAGE, one.lower()) for one in _GEM.findall(text))
    else:
        yield from _requirements(text.splitlines())


def _python(data: Mapping[str, Any]) -> Iterator[Name]:
    project, poetry = data.get("project", {}), data.get("tool", {}).get("poetry", {})
    groups = [project.get("dependencies", []), *project.get("optional-dependencies", {}).values()]
    groups += data.get("dependency-groups", {}).values()
    for group in groups:
        yield from _requirements(one for one in group if isinstance(one, str))
    tables = [poetry.get("dependencies", {}), poetry.get("dev-dependencies", {})]
    tables += [one.get("dependencies", {}) for one in poetry.get("group", {}).values()]
    yield from ((PACKAGE, one.lower()) for table in tables for one in table)
    yield from ((COMMAND, one.lower()) for table in (project, poetry) for one in table.get("scripts", {}))


def _requirements(lines: Iterable[str]) -> Iterator[Name]:
    for line in lines:
        found = _REQUIREMENT.match(line)
        if found is not None:
            yield PACKAGE, found[1].lower()


# --- what has moved -----------------------------------------------------------------------------------------------------


def stale(subjects: Iterable[Subject], ground: Ground) -> list[Stale]:
    """Return what has vanished, changed or is missing of what each subject cites, in the order given."""
    changes: dict[str, list[Change]] = defaultdict(list)
    for change in ground.changes:
        changes[change.path].append(change)
    folders: dict[str, list[Change]] = defaultdict(list)
    for change in ground.changes:
        parts = change.path.split("/")
        for end in range(1, len(parts)):
            folders["/".join(parts[:end])].append(change)
    past = _Past(ground, changes)
    found: list[Stale] = []
    for one in subjects:
        for path, in_code in one.cited.paths.items():
            found += _path(one, path, in_code, ground, changes.get(path, []), folders.get(path, []))
        found += past.vanished(one)
    return found


def _path(
    one: Subject, path: str, in_code: bool, ground: Ground, changes: list[Change], inside: list[Change]
) -> Iterator[Stale]:
    def told(what: str, at: str = "") -> Stale:
        return Stale(one.key, one.path, what, path, one.since, at)

    if path in ground.there:
        later = [change.day for change in changes if one.since and change.day > one.since]
        if later:
            yield told(CHANGED, later[0])
        return
    gone = [change.day for change in (*changes, *inside) if not change.after and one.after(change.day)]
    if gone:
        yield told(VANISHED, gone[0])
    elif path in ground.tracked:
        yield told(VANISHED)
    elif not ground.known and in_code:
        yield told(MISSING)


class _Past:
    """What the manifests gave on the days of last evidence."""

    def __init__(self, ground: Ground, changes: Mapping[str, list[Change]]) -> None:
        self.ground = ground
        self.changes = {path: changes[path] for path in MANIFESTS if path in changes}
        self.now = has(ground.manifests)
        self._had: dict[tuple[str, bool], frozenset[Name]] = {}

    def vanished(self, one: Subject) -> Iterator[Stale]:
        """Yield the names that were given on the day of the last evidence and are given no more."""
        if not one.since or not one.cited.names or not self.changes:
            return
        had = self._had_on(one.since, end=True)
        if not one.confirmed:
            had |= self._had_on(one.since, end=False)
        for kind, name in sorted((had & one.cited.names) - self.now):
            if (kind, "") not in self.now:
                yield Stale(one.key, one.path, VANISHED, f"{kind} {name}", one.since)

    def _had_on(self, day: str, *, end: bool) -> frozenset[Name]:
        """Return what the manifests gave at the end of a day, or at its beginning."""
        if (day, end) not in self._had:
            texts = dict(self.ground.manifests)
            for path, changes in self.changes.items():
                later = [change for change in changes if change.day > day or (change.day == day and not end)]
                if not later:
                    continue
                before = later[-1].before  # the oldest change since tells what stood there
                texts[path] = self.ground.old.get(before, "")
            self._had[day, end] = has({path: text for path, text in texts.items() if text})
        return self._had[day, end]

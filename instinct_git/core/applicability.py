"""Where a pattern applies: `applies_to: {languages: [python], paths: ["web/**"]}` in a pattern file's own lines.

Habits of one language must not reach a project of another one, and what holds for one folder of a monorepo is advice
for that folder alone. Without the field a pattern applies everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

LANGUAGES: Mapping[str, tuple[str, ...]] = {
    "c": (".c",),
    "cpp": (".cpp", ".cc", ".cxx", ".hpp"),
    "csharp": (".cs", ".csproj", ".sln"),
    "dart": (".dart", "pubspec.yaml"),
    "elixir": (".ex", ".exs", "mix.exs"),
    "go": (".go", "go.mod"),
    "haskell": (".hs", ".cabal", "stack.yaml"),
    "java": (".java", "pom.xml", "build.gradle"),
    "javascript": (".js", ".mjs", ".cjs", ".jsx", "package.json"),
    "kotlin": (".kt", ".kts", "build.gradle.kts"),
    "lua": (".lua",),
    "php": (".php", "composer.json"),
    "python": (".py", "pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "Pipfile"),
    "r": (".R", ".Rmd", "DESCRIPTION"),
    "ruby": (".rb", "Gemfile", ".gemspec"),
    "rust": (".rs", "Cargo.toml"),
    "scala": (".scala", "build.sbt"),
    "shell": (".sh", ".bash"),
    "swift": (".swift", "Package.swift"),
    "typescript": (".ts", ".tsx", "tsconfig.json"),
    "zig": (".zig", "build.zig"),
}
"""{language: endings and names of files that show it}; names are GitHub Linguist's, in lower case, without signs."""
_BY_ENDING = {ending: name for name, endings in LANGUAGES.items() for ending in endings}


class AppliesTo(NamedTuple):
    """The limits of one pattern; an empty one does not limit."""

    languages: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    """Globs relative to the project's root, with forward slashes; `**` crosses folders."""


def applies_to(value: Any) -> AppliesTo:
    """Return the limits that the front matter states. Raises ValueError, with what is wrong, for anything else."""
    if not value:
        return AppliesTo()
    if not isinstance(value, Mapping):
        raise ValueError("applies_to is not a map of languages and paths")
    unknown = sorted(set(value) - {"languages", "paths"})
    if unknown:
        raise ValueError(f"applies_to knows languages and paths, not {unknown[0]!r}")
    languages = tuple(one.lower() for one in _texts(value.get("languages"), "languages"))
    strange = [one for one in languages if one not in LANGUAGES]
    if strange:
        raise ValueError(f"applies_to: there is no language {strange[0]!r}; languages: {', '.join(LANGUAGES)}")
    return AppliesTo(languages, _texts(value.get("paths"), "paths"))


def _texts(value: Any, name: str) -> tuple[str, ...]:
    rows = [value] if isinstance(value, str) else value or []
    if not isinstance(rows, (list, tuple)) or not all(isinstance(one, str) and one.strip() for one in rows):
        raise ValueError(f"applies_to: {name} is not a list of texts")
    return tuple(one.strip() for one in rows)


def languages_of(names: Iterable[str]) -> frozenset[str]:
    """Return the languages that the names of files show."""
    found = set()
    for name in names:
        dot = name.rfind(".")
        language = _BY_ENDING.get(name) or (_BY_ENDING.get(name[dot:]) if dot >= 0 else None)
        if language is not None:
            found.add(language)
    return frozenset(found)


def matches(path: str, pattern: str) -> bool:
    """True when a path (relative, forward slashes) is matched by a glob: `*` stays in a folder, `**` crosses them; a
    bare folder means everything in it."""
    wanted, have = pattern.strip("/").split("/"), path.strip("/").split("/")
    return _matches(have, wanted) or _matches(have, [*wanted, "**"])


def _matches(path: list[str], pattern: list[str]) -> bool:
    """Match part by part, without recursion: after `**` the latest one takes up what does not fit."""
    at = wanted = 0
    star, mark = -1, 0
    while at < len(path):
        if wanted < len(pattern) and pattern[wanted] == "**":
            star, mark, wanted = wanted, at, wanted + 1
        elif wanted < len(pattern) and fnmatchcase(path[at], pattern[wanted]):
            at, wanted = at + 1, wanted + 1
        elif star >= 0:
            mark += 1
            at, wanted = mark, star + 1
        else:
            return False
    return all(part == "**" for part in pattern[wanted:])


def why_not(limits: AppliesTo, languages: Collection[str], paths: Collection[str], there: Callable[[str], bool]) -> str:
    """Return why a pattern does not apply here; empty when it does.

    `languages` are the project's, `paths` the files in play (relative to its root; none known: empty), `there` tells
    whether the project has a folder or file. Where no files are in play, what the project has applies.
    """
    if limits.languages and not set(limits.languages) & set(languages):
        return f"for {', '.join(limits.languages)} only"
    if not limits.paths:
        return ""
    if paths:
        met = any(matches(path, glob) for glob in limits.paths for path in paths)
        return "" if met else f"for {', '.join(limits.paths)} only"
    return "" if any(there(_fixed(glob)) for glob in limits.paths) else f"nothing here is {', '.join(limits.paths)}"


def _fixed(glob: str) -> str:
    """Return the part of a glob before its first wildcard; empty: the root."""
    parts = []
    for part in glob.strip("/").split("/"):
        if any(mark in part for mark in "*?["):
            break
        parts.append(part)
    return "/".join(parts)

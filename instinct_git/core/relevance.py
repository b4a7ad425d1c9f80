"""How much each pattern has to do with what is being worked on: a text and the paths that are touched. Pure.

Made for the start of a session: no index, no embedding, thousands of patterns in milliseconds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from instinct_git.core.bm25 import BEGINNING, Statistics
from instinct_git.core.pattern import PatternFile
from instinct_git.core.terms import fold_text, may_begin, telling_terms, terms

_MOST = 64
"""Terms that are looked for."""
_PATH = 0.6
"""What a term that only a path holds counts, of one that the text holds."""
_KINDS: Mapping[str, str] = {
    "py": "python pytest", "pyi": "python", "ipynb": "python jupyter", "ts": "typescript", "tsx": "typescript react",
    "js": "javascript node", "jsx": "javascript react", "mjs": "javascript node", "go": "golang", "rs": "rust cargo",
    "rb": "ruby", "kt": "kotlin", "java": "java", "cs": "csharp", "cpp": "cpp", "cc": "cpp", "hpp": "cpp", "sh": "shell bash",
    "md": "markdown docs", "rst": "docs", "sql": "sql database", "tf": "terraform", "vue": "vue", "css": "css", "yml": "yaml",
    "yaml": "yaml", "toml": "toml", "dockerfile": "docker", "makefile": "make",
}  # fmt: skip
"""{ending of a file, or its name: what it has to do with}."""
_EVERYWHERE = frozenset(("src", "lib", "app", "main", "index", "init", "home", "user", "file", "pkg"))


def relevance(text: str, paths: Sequence[str], patterns: Iterable[PatternFile]) -> Mapping[str, float]:
    """Return {key: 0..1} of the patterns that share a term with the text or the paths, or have a word that begins with it
    (format, formatter); the others have nothing to do with it. A rare term tells more than a common one; 1 is a pattern that holds all that any pattern holds."""
    asked = _asked(text, paths)
    if not asked:
        return {}
    said = [(one.key, fold_text(_said(one))) for one in patterns]
    # A term stands in the text of every pattern that holds it, and looking for it costs next to nothing.
    near = {term: [at for at, (_, told) in enumerate(said) if term in told] for term in asked}
    words = {at: set(terms(said[at][1])) for at in {at for rows in near.values() for at in rows}}
    having = {term: {at: part for at in rows if (part := _holds(words[at], term))} for term, rows in near.items()}
    known = Statistics(len(said), 1.0, {term: _often(rows) for term, rows in having.items()})
    weights = {term: factor * known.weight(term) for term, factor in asked.items() if having[term]}
    whole = sum(weights.values())
    found: dict[str, float] = {}
    for term, weight in weights.items():
        for at, part in having[term].items():
            found[said[at][0]] = found.get(said[at][0], 0.0) + part * weight / whole
    return {key: min(1.0, share) for key, share in found.items()}


def _holds(words: Collection[str], term: str) -> float:
    """Return how much a term counts: 1 where it stands, less where a longer word begins with it, as in search."""
    if term in words:
        return 1.0
    return BEGINNING if may_begin(term) and any(word.startswith(term) for word in words) else 0.0


def _often(rows: Mapping[int, float]) -> int:
    """Return in how many patterns a term stands, or, where it stands in none, words that begin with it."""
    return sum(part == 1.0 for part in rows.values()) or len(rows)


def _said(one: PatternFile) -> str:
    return f"{one.key} {one.title} {one.description} {' '.join(one.tags)}"


def _asked(text: str, paths: Sequence[str]) -> dict[str, float]:
    """Return {term: how much it counts}, those of the text first."""
    asked = dict.fromkeys(telling_terms(dict.fromkeys(terms(text, asked=True))), 1.0)
    for path in paths:
        name = path.replace("\\", "/").rpartition("/")[2].casefold()
        kinds = _KINDS.get(name.rpartition(".")[2], "")
        for term in telling_terms(terms(f"{path} {kinds}", asked=True)):
            if term not in _EVERYWHERE:
                asked.setdefault(term, _PATH)
    return {term: factor for term, factor in list(asked.items())[:_MOST] if len(term) > 1}


LEAST = 2
"""Distinct terms that must be shared for a task to call for a pattern; all of one that has fewer."""
_READ = 20_000
"""Characters of a text that are read to tell what it calls for."""


def called_for(text: str, paths: Sequence[str], patterns: Iterable[PatternFile]) -> set[str]:
    """Return the keys of the patterns that a text and the paths call for.

    Unlike `relevance`, which puts things in order, this decides whether there is anything to say at all.
    """
    asked = _telling(text[:_READ]) | (_telling(" ".join(paths)) - _EVERYWHERE)
    found = set()
    for one in patterns:
        words = _telling(_said(one))
        if words and len(asked & words) >= min(LEAST, len(words)):
            found.add(one.key)
    return found


def _telling(text: str) -> set[str]:
    return {term for term in telling_terms(terms(text)) if len(term) > 1}

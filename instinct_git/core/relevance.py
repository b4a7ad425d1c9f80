"""How much each pattern has to do with what is being worked on: a text and the paths that are touched. Pure.

Made for the start of a session: no index, no embedding, thousands of patterns in milliseconds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from math import log
from typing import TypeVar

from instinct_git.core.bm25 import BEGINNING, Statistics
from instinct_git.core.pattern import PatternFile
from instinct_git.core.terms import fold_text, may_begin, telling_terms, terms

T = TypeVar("T")
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
    said = [(one.key, fold_text(f"{one.key} {one.title} {one.description} {' '.join(one.tags)}")) for one in patterns]
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
"""Distinct terms that must be shared for a text to call for something; one is enough where it is all that is said."""


def related(text: str, rows: Iterable[tuple[T, str]]) -> list[T]:
    """Return the items whose words the text calls for, the most telling first; of equals the order stays.

    Unlike `relevance`, which puts things in order, this decides whether there is anything to say at all.
    """
    asked = frozenset(_telling(text[:20_000]))
    have = [(item, frozenset(_telling(words))) for item, words in rows]
    spread = Counter(term for _, words in have for term in words)
    found: list[tuple[float, int, T]] = []
    for number, (item, words) in enumerate(have):
        shared = asked & words
        if shared and len(shared) >= min(LEAST, len(words)):
            weight = sum(log(1 + len(have) / spread[term]) for term in shared)
            found.append((-weight, number, item))
    found.sort(key=lambda row: row[:2])
    return [item for _, _, item in found]


def _telling(text: str) -> Iterable[str]:
    return telling_terms(dict.fromkeys(term for term in terms(text) if len(term) > 1))

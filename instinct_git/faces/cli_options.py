"""What the command line's verbs share: their options, their panels in the help, and how lines are printed."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from instinct_git.errors import InstinctError

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would happen; write nothing.")]
Key = Annotated[str, typer.Argument(help="The pattern's key, such as seq:test->fix->test.", show_default=False)]
Here = Annotated[bool, typer.Option("--here", help="Fold on this branch even where the policy says default-branch.")]
NoCommit = Annotated[bool, typer.Option("--no-commit", help="Write the file, leave the commit to you.")]
Text = str | None

SETUP, TEACH, BATCHES = "Set up", "Teach", "Batches (one commit each)"
READ, PROMOTE, VERIFY, EXCHANGE = "Read", "Promote", "Verify", "Exchange"
SHARE = "Share"


_DRIVES = re.compile(r"\x1b(?!\[[0-9;]*m)|[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f]")


def print_lines(lines: Iterable[str]) -> None:
    """Print lines. What comes from files must not drive the terminal: control characters but our colours are shown."""
    for line in lines:
        print(_DRIVES.sub(lambda found: f"\\x{ord(found.group()):02x}", line))


def put_out(text: str, output: Path | None, what: str) -> None:
    """Print a text, or write it to a file and say so on standard error."""
    if output is None:
        print(text)
        return
    try:
        output.write_text(text + "\n", encoding="utf-8", newline="\n")
    except OSError as problem:
        raise InstinctError(f"{output} cannot be written: {problem.strerror}", "name another file") from None
    print(f"wrote {what} to {output}", file=sys.stderr)

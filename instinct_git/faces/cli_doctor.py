"""`doctor`: the memory, every wired agent, and the very words that the next session is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from instinct_git.faces import render
from instinct_git.faces.cli_options import SETUP, Json, print_lines
from instinct_git.memory import Memory

if TYPE_CHECKING:
    from instinct_git.operations.proving import Proofs

SHORT = 12
"""Lines of a text that is shown without being asked for."""


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command(rich_help_panel=SETUP)(doctor)


def doctor(
    text: Annotated[bool, typer.Option("--text", help="Print only what the next session is told.")] = False,
    as_json: Json = False,
) -> int:
    """Say what is in use, what waits, whether every agent is wired, trusted and reached. Exit 1 on a problem."""
    from instinct_git.operations.proving import rows

    memory = Memory()
    looked = memory.doctor()
    proofs = memory.proofs()
    found = [*looked, *rows(proofs)]
    if as_json:
        agents = [{**one._asdict(), "program": one.program and one.program._asdict()} for one in proofs.agents]
        programs = [one._asdict() for one in proofs.programs]
        told = {"diagnosis": found, "agents": agents, "session": proofs.session._asdict(), "programs": programs}
        print(render.json_text(told))
    elif text:
        print_lines(proofs.session.text.split("\n") if proofs.session.text else ["# nothing to tell yet"])
    else:
        print_lines([*render.diagnosis_lines(found), *_told(proofs)])
    return 1 if any(one.state == "problem" for one in found) else 0


def _told(proofs: Proofs) -> list[str]:
    lines = proofs.session.text.split("\n")
    if not proofs.session.text:
        return []
    if len(lines) > SHORT:
        return ["# `instinct doctor --text` prints what the next session is told"]
    return ["# the next session is told:", *(f"  {line}" for line in lines)]

"""The verbs of several memories: share, sync."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from instinct_git.errors import InstinctError
from instinct_git.faces import render
from instinct_git.faces.cli_options import SHARE, DryRun, Json, print_lines
from instinct_git.memory import Memory

if TYPE_CHECKING:
    from instinct_git.operations.moving import Move
    from instinct_git.operations.sharing import Sharing
    from instinct_git.operations.syncing import Synced

Name = Annotated[str, typer.Argument(help="The shared memory's name.", show_default=False)]
share_app = typer.Typer(help="Memories of a team, and your own on several machines, through git repositories.",
                        no_args_is_help=False)  # fmt: skip


def register(app: typer.Typer) -> None:
    """Add the verbs to the command line."""
    app.add_typer(share_app, name="share", rich_help_panel=SHARE)
    app.command(rich_help_panel=SHARE)(sync)
    app.command(rich_help_panel=SHARE)(move)


@share_app.command()
def add(
    name: Annotated[str, typer.Argument(help="Its name here, such as team; `global`: your own.", show_default=False)],
    url: Annotated[
        str, typer.Argument(help="https, ssh, or a path; an empty repository is started.", show_default=False)
    ],
    readonly: Annotated[bool, typer.Option("--readonly", help="Take, and send nothing.")] = False,
    branch: Annotated[str, typer.Option("--branch", help="Default: the remote's default branch.")] = "",
    require: Annotated[
        str,
        typer.Option("--require", metavar="signed|approved", help="Take signed commits; tell what a person approved."),
    ] = "",
    depth: Annotated[int, typer.Option("--depth", help="Only so many commits of its history; 0: all.")] = 0,
    partial: Annotated[
        bool, typer.Option("--partial", help="Old files only when they are needed (a big memory).")
    ] = False,
    as_json: Json = False,
) -> int:
    """Share a memory: what it knows is suggested here, and `observe --to NAME` and `sync` send evidence."""
    done = Memory().share_add(
        name, url, readonly=readonly, branch=branch, require=require, depth=depth, partial=partial
    )
    if as_json:
        print(render.json_text(done))
        return 0
    print_lines([f"shared {done.name} from {done.url} (branch {done.branch}, {_count(done.patterns, 'pattern')})",
                 f"# {'`instinct sync ' + done.name + '` brings it up to date' if readonly else _next(done)}"])  # fmt: skip
    return 0


def _next(done: Sharing) -> str:
    return f"`instinct observe KEY --to {done.name}` sends evidence there with the next `instinct sync`"


@share_app.command("list")
def list_(as_json: Json = False) -> int:
    """List the shared memories: where they come from, how old the copy is, what waits. Looks at this machine alone."""
    found = Memory().shares()
    if as_json:
        print(render.json_text({"shares": found}))
        return 0
    print_lines(
        [*render.table([_row(one) for one in found]), f"# {_count(len(found), 'shared memory', 'shared memories')}"]
    )
    print_lines(f"# {one.name}: {one.problem}" for one in found if one.problem)
    return 1 if any(one.problem for one in found) else 0


def _row(one: Sharing) -> tuple[str, ...]:
    options = [word for word, given in (("read only", one.readonly), (f"requires {one.require}", one.require)) if given]
    waits = [f"{one.waiting} to record"] if one.waiting else []
    waits += [f"{_count(one.ahead, 'commit')} to send"] if one.ahead else []
    waits += [f"{len(one.conflicts)} to settle"] if one.conflicts else []
    copy = f"copy: {one.age}"
    return one.name, one.url, one.branch, _count(one.patterns, "pattern"), ", ".join([copy, *options, *waits])


@share_app.command()
def remove(
    name: Name,
    discard: Annotated[bool, typer.Option("--discard", help="Also throw away what was not sent.")] = False,
    as_json: Json = False,
) -> int:
    """Forget a shared memory and delete its copy here; refused while evidence waits in it."""
    done = Memory().share_remove(name, discard=discard)
    print(render.json_text(done)) if as_json else print(f"removed {done.name} ({done.url})")
    return 0


def sync(
    name: Annotated[str, typer.Argument(help="One shared memory; default: all.", show_default=False)] = "",
    accept: Annotated[
        bool, typer.Option("--accept", help="Take a remote whose address or history has changed.")
    ] = False,
    as_json: Json = False,
) -> int:
    """Record, fetch, replay, push and fold. Exit 1 where something is left: offline, a problem, a conflict of words."""
    done = Memory().sync(name, accept=accept)
    if as_json:
        print(render.json_text({"synced": done}))
    else:
        print_lines(
            [line for one in done for line in _lines(one)] or ["# no memory is shared: `instinct share add NAME URL`"]
        )
    return 1 if any(one.offline or one.problem or one.conflicts for one in done) else 0


def move(
    to: Annotated[
        str, typer.Option("--to", metavar="repo|private", help="Where the memory is to be.", show_default=False)
    ],
    yes: Annotated[bool, typer.Option("--yes", help="Do it without a question.")] = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> int:
    """Move this project's memory between its repository and $INSTINCT_HOME, or after the project's id has changed."""
    memory = Memory()
    shown = memory.move(to, go=False)
    if dry_run:
        print(render.json_text(shown)) if as_json else print_lines(_move_lines(shown))
        return 0
    if not yes:
        if as_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise InstinctError("moving a memory wants a person's yes", "look with --dry-run, then give --yes")
        print_lines(_move_lines(shown))
        if input("Move it? yes moves it, anything else leaves it: ").strip().lower() not in ("y", "yes"):
            print("left where it is")
            return 0
    done = memory.move(to)
    print(render.json_text(done)) if as_json else print_lines(_move_lines(done))
    return 0


def _move_lines(one: Move) -> list[str]:
    verb = "moved" if one.moved else "would move"
    lines = [f"# {one.why}"] if one.why else []
    lines += [f"{verb} {_count(one.files, 'file')} and {_count(one.waiting, 'piece')} of waiting evidence",
              f"from {one.source}", f"to   {one.target}"]  # fmt: skip
    return lines + ([f"Commit: {one.commit[:12]}"] if one.commit else []) + [f"# {notice}" for notice in one.notices]


def _lines(one: Synced) -> list[str]:
    did = [words for number, words in (
        (one.recorded, f"{one.recorded} recorded"), (one.received, f"{_count(one.received, 'commit')} received"),
        (one.sent, f"{_count(one.sent, 'commit')} sent"), (one.folded, f"{one.folded} folded"),
    ) if number]  # fmt: skip
    state = "up to date" if not (one.offline or one.problem) else f"as of {one.age}"
    lines = [f"{one.name}: {', '.join(did) or 'nothing new'}; {state}"]
    if one.problem:
        lines += [f"  not synced: {one.problem}", f"  {one.hint}"]
    if one.offline:
        lines += [f"  offline: {one.offline}", f"  waiting for the next sync: {_count(one.ahead, 'commit')} of yours"]
    for two in one.conflicts:
        lines += [f"  both changed {two.path}: theirs is in the memory ({two.theirs})", f"    yours is kept: {two.yours}",
                  "    edit the memory's file and commit it, then delete the kept one"]  # fmt: skip
    return lines + ([f"  request: {one.request}"] if one.request else []) + [f"  # {notice}" for notice in one.notices]


def _count(number: int, one: str, several: str = "") -> str:
    return f"{number} {one if number == 1 else several or one + 's'}"

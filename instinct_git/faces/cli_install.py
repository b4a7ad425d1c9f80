"""The verbs that reach agents: install, uninstall, and the exports that agents read."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from instinct_git.errors import InstinctError
from instinct_git.faces import render
from instinct_git.faces.cli_options import SETUP, DryRun, Json, print_lines

if TYPE_CHECKING:
    from instinct_git.bridges.agents.table import Surroundings
    from instinct_git.operations.foreign import Change, Plan

Agents = Annotated[
    list[str] | None, typer.Argument(metavar="[AGENT]...", help="Such as claude-code.", show_default=False)
]
User = Annotated[bool, typer.Option("--user", help="Your own settings, for all your projects.")]
Project = Annotated[bool, typer.Option("--project", help="Only files in this repository.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Also write outside the repository, without asking.")]
EXPORTS = {
    "agents-md": ("AGENTS.md", ""), "claude-md": ("CLAUDE.md", ""), "gemini": ("GEMINI.md", ""),
    "copilot": (".github/copilot-instructions.md", ""),
    "cursor": (".cursor/rules/instinct-memory.mdc", "---\ndescription: Project memory\nalwaysApply: true\n---\n"),
    "windsurf": (".windsurf/rules/instinct-memory.md", "---\ntrigger: always_on\n---\n"),
}  # fmt: skip


def register(app: typer.Typer, export_app: typer.Typer) -> None:
    """Add the verbs to the command line."""
    app.command(rich_help_panel=SETUP)(install)
    app.command(rich_help_panel=SETUP)(uninstall)
    for name, (path, _) in EXPORTS.items():
        export_app.command(name, help=f"Print what this memory suggests as a block for {path}.")(_exporter(name))


def install(
    agents: Agents = None,
    user: User = False,
    project: Project = False,
    status: Annotated[bool, typer.Option("--status", help="Say how each agent's files stand.")] = False,
    by_agent: Annotated[
        bool,
        typer.Option(
            "--by-agent", help="Let the agent's own `mcp add` register the server, where that undoes exactly."
        ),
    ] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    as_json: Json = False,
) -> int:
    """Wire agents: MCP server, hooks, rules. Without a name: shows what it would do for the agents that are here."""
    from instinct_git.operations import installing

    where = _surroundings()
    if status:
        return _show_status(where, as_json)
    names = list(agents or ()) or installing.detected(where)
    plan = installing.plan_install(where, _home(), names, _level(user, project), by_agent=by_agent)
    only_shown = dry_run or not agents
    done = _carry_out(plan, where, dry_run=only_shown, yes=yes, as_json=as_json)
    if as_json:
        return done
    if not agents:
        print(
            f"# nothing was written: `instinct install {' '.join(names)}` does it" if names else "# no agent was found"
        )
    elif not dry_run:
        print_lines(_next_steps(plan))
    return done


def uninstall(
    agents: Agents = None,
    user: User = False,
    project: Project = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    as_json: Json = False,
) -> int:
    """Take out what install put in; what is not ours stays, byte for byte."""
    from instinct_git.operations import installing

    if not agents:
        raise InstinctError("which agent?", "`instinct install --status` shows what is wired")
    where = _surroundings()
    plan = installing.plan_uninstall(where, _home(), agents, _level(user, project))
    return _carry_out(plan, where, dry_run=dry_run, yes=yes, as_json=as_json)


def _surroundings() -> Surroundings:
    from instinct_git.operations import installing
    from instinct_git.storage import files

    return installing.surroundings(files.current_folder())


def _home() -> Path:
    from instinct_git.storage import files

    return files.instinct_home()


def _level(user: bool, project: bool) -> str:
    if user and project:
        raise InstinctError("--user and --project exclude each other", "give one of them, or neither")
    return "user" if user else "project" if project else ""


def _carry_out(plan: Plan, where: Surroundings, *, dry_run: bool, yes: bool, as_json: bool) -> int:
    from instinct_git.operations import foreign, installing

    if not as_json:
        print_lines(_lines(plan, where, dry_run))
    if plan.outside and not dry_run and not yes:
        _ask(plan)
    if not dry_run:
        foreign.apply(plan, _home())
    if as_json:
        print(render.json_text(installing.as_json(plan, dry_run=dry_run)))
    elif plan.changes and not dry_run:
        print(f"# written: {len(plan.changes)} file{'' if len(plan.changes) == 1 else 's'}")
    return 0


def _ask(plan: Plan) -> None:
    """Let the person type yes before anything outside the repository is written."""
    count = len(plan.outside)
    files = f"{count} file{'' if count == 1 else 's'} outside this repository"
    if not (sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()):
        raise InstinctError(f"nothing was written: it would change {files}", "read what it says above, then add --yes")
    print(f"Type yes to write {files}: ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().casefold() != "yes":
        raise InstinctError("nothing was written", "`--project` leaves everything outside the repository alone")


def _lines(plan: Plan, where: Surroundings, dry_run: bool) -> list[str]:
    rows = [
        (one.action, _shown(one.path, where), f"{', '.join(one.what)}  ({', '.join(one.agents)})")
        for one in plan.changes
    ]
    lines = render.table(rows)
    if dry_run:
        lines += [line for one in plan.changes for line in _diff(one)]
    lines += [f"# {notice}" for notice in plan.notices]
    return lines if plan.changes else [*lines, "# nothing to do"]


def _shown(path: Path, where: Surroundings) -> str:
    if where.top is not None and path.is_relative_to(where.top):
        return path.relative_to(where.top).as_posix()
    return f"~/{path.relative_to(where.home).as_posix()}" if path.is_relative_to(where.home) else str(path)


def _diff(one: Change) -> list[str]:
    """Return what changes, without lines around it outside of the repository: those may hold what is private."""
    before, after = ((data or b"").decode("utf-8").splitlines() for data in (one.before, one.after))
    return list(
        difflib.unified_diff(before, after, str(one.path), str(one.path), lineterm="", n=0 if one.outside else 3)
    )


def _next_steps(plan: Plan) -> list[str]:
    import shutil

    from instinct_git.bridges.agents.table import BY_NAME

    lines = [f"# {BY_NAME[name].then}" for name in plan.agents if BY_NAME[name].then]
    missing = [name for name in ("instinct", "instinct-hook") if shutil.which(name) is None]
    if missing:
        lines.append(f"# {' and '.join(missing)} cannot be found on your PATH: agents will not find it either")
    return lines


def _show_status(where: Surroundings, as_json: bool) -> int:
    from instinct_git.operations import installing

    found = installing.status(where)
    if as_json:
        print(render.json_text({"agents": found}))
        return 0
    rows = [(one.agent, one.state, _shown(Path(one.path), where), one.words) for one in found]
    print_lines(render.table(rows) or ["# no agent was found"])
    return 0


def _exporter(name: str) -> Callable[..., int]:
    def export(
        output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the block into this file.")] = None,
    ) -> int:
        return _export(name, output)

    return export


def _export(name: str, output: Path | None) -> int:
    from instinct_git.bridges.agents import block
    from instinct_git.bridges.agents.edited import Edited, NotEditable
    from instinct_git.core.injection import markdown
    from instinct_git.faces.session_start import advice
    from instinct_git.memory import Memory
    from instinct_git.operations.awaiting import MARK

    memory = Memory()
    # The file is for everybody: nothing of other memories, of what was followed here, or that no review has answered.
    own = memory.suggestions(budget=1 << 30, alone=True).patterns
    found = [one._replace(because=one.because.partition("; ")[0]) for one in own if one.because != MARK]
    words = markdown(advice(found), int(memory.config()["suggest.budget"]))
    if output is None:
        print(block.put(Edited(""), "memory", words).text, end="")
        return 0
    try:
        before = output.read_bytes() if output.exists() else None
        text = EXPORTS[name][1] if before is None else before.decode("utf-8")
        after = block.put(Edited(text), "memory", words).text.encode("utf-8")
        if after != before:
            output.parent.mkdir(parents=True, exist_ok=True)
            output.write_bytes(after)
    except OSError as problem:
        raise InstinctError(f"{output} cannot be written: {problem.strerror}", "name another file") from None
    except (NotEditable, UnicodeDecodeError) as problem:
        why = "it is no UTF-8 text" if isinstance(problem, UnicodeDecodeError) else str(problem)
        raise InstinctError(f"{output} is not touched: {why}", "mend the file, or name another") from None
    print(f"{'wrote' if after != before else 'nothing new for'} {output}", file=sys.stderr)
    return 0

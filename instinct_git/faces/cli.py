"""The command line: a table of verbs. Each parses, calls Memory, shows. Nothing else happens here."""

from __future__ import annotations

import difflib
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from instinct_git import __version__
from instinct_git.errors import InstinctError
from instinct_git.faces import (
    cli_answers,
    cli_batches,
    cli_doctor,
    cli_install,
    cli_learn,
    cli_pool,
    cli_promote,
    cli_report,
    cli_search,
    cli_share,
    cli_teach,
    cli_tidy,
    quick,
    render,
)
from instinct_git.faces.cli_options import (
    EXCHANGE,
    READ,
    SETUP,
    TEACH,
    VERIFY,
    DryRun,
    Json,
    Key,
    NoCommit,
    Text,
    print_lines,
    put_out,
)
from instinct_git.memory import Memory

app = typer.Typer(
    name="instinct",
    help="A memory for coding agents that lives in your repository and behaves like its code.",
    no_args_is_help=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
export_app = typer.Typer(help="Write patterns in forms that other tools read.", no_args_is_help=False)
app.add_typer(export_app, name="export", rich_help_panel="Exchange")

Version = typer.Option("--version", help="Print the version.", callback=lambda wanted: _version(wanted), is_eager=True)


def run(arguments: list[str]) -> int:
    """Run the command line and return its exit code."""
    as_json = "--json" in arguments
    return quick.guarded(lambda: _invoke(arguments, as_json), as_json)


def _invoke(arguments: list[str], as_json: bool) -> int:
    try:
        return int(app(args=arguments or ["--help"], prog_name="instinct", standalone_mode=False) or 0)
    except typer.TyperException as problem:
        return quick.show_error(problem.format_message(), _help_for(arguments), as_json)
    except typer.Abort:
        return 130


def _help_for(arguments: list[str]) -> str:
    """Say where the right words stand: in the command's help, or in the general one with the nearest command."""
    word = next((one for one in arguments if not one.startswith("-")), "")
    known = [one.name or one.callback.__name__ for one in app.registered_commands if one.callback]
    known += [one.name for one in app.registered_groups if one.name]
    if word in known:
        return f"`instinct {word} --help`"
    near = difflib.get_close_matches(word, known, n=1)
    return f"did you mean `instinct {near[0]}`?" if near else "`instinct --help` shows all commands"


def _version(wanted: bool) -> None:
    if wanted:
        print(f"instinct-git {__version__}")
        raise typer.Exit


@app.callback()
def main(
    folder: Annotated[Path | None, typer.Option("-C", help="Start in this folder.", metavar="FOLDER")] = None,
    version: Annotated[bool, Version] = False,
) -> None:
    """A memory for coding agents that lives in your repository and behaves like its code."""
    if folder is not None:
        try:
            os.chdir(folder)
        except OSError as problem:
            raise InstinctError(f"{folder}: {problem.strerror}", "name a folder that exists") from None


# --- set up ---------------------------------------------------------------------------------------------------------


@app.command(rich_help_panel=SETUP)
def init(
    private: Annotated[bool, typer.Option("--private", help="Keep it in $INSTINCT_HOME, not in here.")] = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> int:
    """Start a memory here: writes .instinct/, explains every file, touches nothing else."""
    done = Memory().init(private=private, dry_run=dry_run)
    print(render.json_text(done)) if as_json else print_lines(render.setup_lines(done))
    return 0


@app.command(rich_help_panel=SETUP)
def demo(
    keep: Annotated[bool, typer.Option("--keep", help="Keep the throw-away repository and say where it is.")] = False,
) -> int:
    """Run the whole loop in a throw-away repository: learn, consolidate, suggest, propose."""
    from instinct_git.faces.demo import run_demo

    return run_demo(run, keep=keep)


@app.command(rich_help_panel=SETUP)
def config(
    name: Annotated[Text, typer.Argument(help="A setting, such as suggest.budget.", show_default=False)] = None,
    value: Annotated[Text, typer.Argument(help="Its new value.", show_default=False)] = None,
    user: Annotated[bool, typer.Option("--user", help="Write your own config in $INSTINCT_HOME.")] = False,
    as_json: Json = False,
) -> int:
    """Show all settings, one setting, or set one."""
    from instinct_git.storage.config import SETTINGS, setting_of, shown

    memory = Memory()
    if name is not None and value is not None:
        memory.configure(name, value, user=user)
    found = memory.config()
    if name is not None and setting_of(name) is None:
        memory.configure(name, value or "", user=user)  # raises the error that names near settings
    rows = [one for one in SETTINGS if name is None or one is setting_of(name)]
    if as_json:
        print(render.json_text({one.name: found[one.name] for one in rows}))
        return 0
    where = found.set_in
    table = [(one.name, shown(found[one.name]), f"{one.meaning} ({where.get(one.name, 'default')})") for one in rows]
    print_lines(render.table(table))
    return 0


# --- teach ----------------------------------------------------------------------------------------------------------


@app.command(rich_help_panel=TEACH)
def observe(
    key: Annotated[str, typer.Argument(help="The key; `-` reads one a line from standard input.", show_default=False)],
    category: Annotated[Text, typer.Option("--cat", "-c", help="Category of a key without a known prefix.")] = None,
    source: Annotated[str, typer.Option("--source", "-s", help="Which agent saw it.")] = "",
    session: Annotated[Text, typer.Option("--session", help="The agent's session; one counts at most 3 times.")] = None,
    context: Annotated[Text, typer.Option("--context", help="Where it happened: a project or a task.")] = None,
    note: Annotated[Text, typer.Option("--note", help="Your words; they stay in this clone.")] = None,
    title: Annotated[Text, typer.Option("--title", help="A title, where the pattern has none.")] = None,
    description: Annotated[Text, typer.Option("--description", help="A description, where it has none.")] = None,
    metadata: Annotated[Text, typer.Option("--metadata", help="A JSON object for the pattern's metadata.")] = None,
    to: Annotated[str, typer.Option("--to", metavar="global|NAME", help="Into your own or a shared memory.")] = "",
    global_: Annotated[bool, typer.Option("--global", help="Into your own memory, from anywhere.")] = False,
    as_json: Json = False,
) -> int:
    """Count one observation: a known key gains 1, a new one starts at 1."""
    return quick.observe(
        key, category=category, source=source, session=session, context=context, note=note, title=title,
        description=description, metadata=metadata, to=to, global_=global_, as_json=as_json,
    )  # fmt: skip


@app.command(rich_help_panel=TEACH, context_settings={"ignore_unknown_options": True})
def adjust(
    key: Key,
    by: Annotated[int, typer.Argument(help="How much to add; negative takes away.", show_default=False)],
    why: Annotated[Text, typer.Option("--why", help="The reason, for `explain`.")] = None,
    as_json: Json = False,
) -> int:
    """Raise or lower a confidence by a number, as evidence: exact in every merge."""
    done = Memory().adjust(key, by, why=why)
    if as_json:
        print(render.json_text(done._asdict()))
        return 0
    print(f"adjusted {done.pattern} by {by:+d}  conf={done.live}")
    if done.pattern != key.strip():
        print_lines([f"# {render.clean(key)} counts as {done.pattern} (alias)"])
    return 0


@app.command(rich_help_panel=TEACH)
def retire(key: Key, no_commit: NoCommit = False, as_json: Json = False) -> int:
    """Say no to a pattern for good: its file stays, it is never suggested again."""
    return _edited("retired", key, Memory().retire(key, commit=not no_commit), as_json)


@app.command(rich_help_panel=TEACH)
def restore(key: Key, no_commit: NoCommit = False, as_json: Json = False) -> int:
    """Take a retirement back, or bring back a pattern whose file was deleted."""
    return _edited("restored", key, Memory().restore(key, commit=not no_commit), as_json)


def _edited(verb: str, key: str, commit: str, as_json: bool) -> int:
    if as_json:
        print(render.json_text({"pattern": key, "done": verb, "commit": commit}))
    else:
        print(f"{verb} {key}" + (f"\nCommit: {commit[:12]}" if commit else ""))
    return 0


cli_batches.register(app)
cli_doctor.register(app)
cli_learn.register(app)
cli_pool.register(app)
cli_promote.register(app)
cli_answers.register(app)
cli_teach.register(app)
cli_report.register(app, export_app)
cli_install.register(app, export_app)
cli_tidy.register(app)
cli_share.register(app)


# --- read -----------------------------------------------------------------------------------------------------------


@app.command(rich_help_panel=READ)
def suggest(
    limit: Annotated[int | None, typer.Option("--limit", "-n", min=0, help="At most so many.")] = None,
    budget: Annotated[int | None, typer.Option("--budget", min=0, help="At most so many tokens.")] = None,
    for_text: Annotated[str, typer.Option("--for", metavar="TEXT", help="What concerns this task first.")] = "",
    paths: Annotated[list[str] | None, typer.Option("--paths", help="A file in play; may be given again.")] = None,
    explain_budget: Annotated[bool, typer.Option("--explain-budget", help="Show what was left out, and why.")] = False,
    as_json: Json = False,
) -> int:
    """Print what an agent should know now: mature patterns and rules, strongest first."""
    return quick.suggest(
        limit=limit, budget=budget, for_text=for_text, paths=paths, explain_budget=explain_budget, as_json=as_json
    )


@app.command("list", rich_help_panel=READ)
def list_(
    category: Annotated[Text, typer.Option("--category", "-c", help="Only this category.")] = None,
    level: Annotated[Text, typer.Option("--level", "-l", help="raw, mature, rule or faded.")] = None,
    min_confidence: Annotated[int | None, typer.Option("--min-confidence", help="At least this live number.")] = None,
    source: Annotated[Text, typer.Option("--source", help="Only what this agent has seen.")] = None,
    scope: Annotated[Text, typer.Option("--scope", help="project, private, global or shared.")] = None,
    as_json: Json = False,
) -> int:
    """List patterns, strongest first."""
    found = Memory().list(category=category, level=level, min_confidence=min_confidence, source=source, scope=scope)
    if as_json:
        print(render.json_text({"patterns": [one.as_json() for one in found]}))
    else:
        print_lines([*render.pattern_lines(found), f"# {len(found)} pattern{'' if len(found) == 1 else 's'}"])
    return 0


@app.command(rich_help_panel=READ)
def show(key: Key, as_json: Json = False) -> int:
    """Show one pattern."""
    memory = Memory()
    one = memory.show(key)
    print(render.json_text(one.as_json())) if as_json else print_lines(render.show_lines(one, memory.body(key)))
    return 0


cli_search.register(app)


@app.command(rich_help_panel=READ)
def explain(key: Key, as_json: Json = False) -> int:
    """Show every piece of evidence behind a number, in order, and what is missing to the next level."""
    one = Memory().explain(key)
    print(render.json_text(one)) if as_json else print_lines(render.explain_lines(one))
    return 0


@app.command(rich_help_panel=READ)
def history(
    key: Key,
    limit: Annotated[int, typer.Option("--limit", "-n", min=0, help="At most so many commits; 0: all.")] = 0,
    as_json: Json = False,
) -> int:
    """List the commits that changed a pattern."""
    found = Memory().history(key, limit)
    if as_json:
        print(render.json_text({"commits": [one._asdict() for one in found]}))
    else:
        print_lines(render.table([(one.sha[:12], one.day, one.author, render.clean(one.subject)) for one in found]))
    return 0


# --- promote, verify, exchange --------------------------------------------------------------------------------------


@app.command(rich_help_panel=VERIFY)
def check(
    history: Annotated[bool, typer.Option("--history", help="Also every commit of HEAD's first-parent line.")] = False,
    base: Annotated[
        Text,
        typer.Option("--base", metavar="REV", help="Also what changed since this branch left REV (a pull request)."),
    ] = None,
    stale: Annotated[
        bool,
        typer.Option("--stale", help="Also whether the files and commands that patterns and skills cite are there."),
    ] = False,
    as_json: Json = False,
) -> int:
    """Verify the memory: everything parses, every number follows from the evidence. Exit 1 on an error."""

    def progress(done: int, total: int) -> None:
        if total >= 500 and (done % 100 == 0 or done == total):
            print(f"\r{done} of {total} commits", end="\n" if done == total else "", file=sys.stderr, flush=True)

    findings = Memory().check(
        history=history, base=base, stale=stale, progress=progress if sys.stderr.isatty() else None
    )
    errors = sum(one.severity == "error" for one in findings)
    if as_json:
        print(render.json_text({"errors": errors, "findings": findings}))
    else:
        print_lines(render.finding_lines(findings))
    return 1 if errors else 0


app.command(rich_help_panel=VERIFY)(cli_batches.resolve)


@export_app.command("rules")
def export_rules(
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write to a file.")] = None,
    as_json: Json = False,
) -> int:
    """Print the rules (confidence 10 and more) as a Markdown list."""
    found = Memory().export_rules()
    text = (
        render.json_text({"patterns": [one.as_json() for one in found]})
        if as_json
        else "\n".join(render.rules_markdown(found))
    )
    put_out(text, output, f"{len(found)} rules")
    return 0


@app.command(rich_help_panel=EXCHANGE)
def serve(
    root: Annotated[Path | None, typer.Option("--root", help="The project; default: the current folder.")] = None,
) -> int:
    """Serve the memory to an agent over MCP (standard input and output)."""
    return quick.serve(root)

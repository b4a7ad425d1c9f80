"""`.instinct/config.yaml` (policy of a memory) and `$INSTINCT_HOME/config.yaml` (a user's own settings).

Every setting stands once, in SETTINGS: `init` writes it, `instinct config` prints it, the docs quote it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from instinct_git.core.model import Policy
from instinct_git.errors import InstinctError, InvalidDocument
from instinct_git.storage import files

ANYWHERE, DEFAULT_BRANCH = "anywhere", "default-branch"
PULL_REQUEST, DIRECT = "pull-request", "direct"
BOTS = (
    "claude, codex, copilot, cursoragent, dependabot, devin-ai-integration, github-actions, google-labs-jules, mergify, "
    "renovate"
)
MEMORY, USER, EITHER = "memory", "user", "either"


class Setting(NamedTuple):
    """One setting: dotted name, default, what it means, allowed values (empty: any of the default's type), home."""

    name: str
    default: Any
    meaning: str
    choices: tuple[str, ...] = ()
    home: str = MEMORY


SETTINGS = (
    Setting("version", 1, "version of this file's format"),
    Setting("consolidate", ANYWHERE, "where consolidate and decay fold: on any branch, or on the default branch alone",
            (ANYWHERE, DEFAULT_BRANCH)),
    Setting("default_branch", "", "name of the default branch; empty: what the remote says, else main or master"),
    Setting("agent_commits", True, "false: consolidate over MCP only shows the plan"),
    Setting("share_notes", False, "true: notes given with observations are committed too"),
    Setting("levels.mature", 5, "confidence from which a pattern is suggested"),
    Setting("levels.rule", 10, "confidence from which a pattern is a rule"),
    Setting("confidence.observed", 1, "what one observation adds"),
    Setting("confidence.succeeded", 1, "what a reuse that worked adds"),
    Setting("confidence.confirmed", 1, "what a person's praise adds"),
    Setting("confidence.denied", -2, "what a person's no takes away"),
    Setting("confidence.decayed", -1, "what a week of decay takes away"),
    Setting("confidence.remembered", 1, "what an explicit `remember` adds"),
    Setting("confidence.session_cap", 3, "observations of one pattern that count in one session"),
    Setting("decay.days", 90, "days without use before a pattern fades"),
    Setting("promotion", PULL_REQUEST, "pull-request: a branch that others review; direct: for a person alone, a typed yes commits",
            (PULL_REQUEST, DIRECT)),
    Setting("skill_links", "auto", "where a skill is linked so that agents find it; auto: .agents/skills and .claude/skills, "
            "where the project uses them", ("auto", "agents", "claude", "both", "none")),
    Setting("bots", BOTS, "logins (comma-separated) of agents and services, whose approval `check` refuses; as every [bot]"),
    Setting("suggest.budget", 800, "tokens that suggestions may take at the start of a session", home=EITHER),
    Setting("share.push", DIRECT, "how `sync` brings evidence to this memory's remote: direct, or through a branch and a "
            "pull request", (DIRECT, PULL_REQUEST)),
    Setting("share.fold", True, "false: `sync` only records; somebody else (a CI job) folds on the default branch"),
    Setting("share.names", False, "true: evidence for other memories carries the context and the project's name; false: only "
            "the project's 12-digit id", home=USER),
    Setting("inbox", "auto", "auto: the clone's private folder; tree: .instinct/observations/, for throw-away machines",
            ("auto", "tree"), USER),
    Setting("notify.command", "", "your command for nominations, run without a shell; gets one as JSON on standard input",
            home=USER),
)  # fmt: skip
BOUNDS: Mapping[str, tuple[int, int | None]] = {
    "levels.mature": (1, None), "levels.rule": (1, None), "confidence.observed": (0, 100), "confidence.succeeded": (0, 100),
    "confidence.confirmed": (0, 100), "confidence.denied": (-100, 0), "confidence.decayed": (-100, 0),
    "confidence.remembered": (0, 100), "confidence.session_cap": (1, None), "decay.days": (1, None), "suggest.budget": (0, None),
}  # fmt: skip
"""The least and the greatest value of a number; None: no limit. A person's no can never add, nor an observation take."""
_BY_NAME = {setting.name: setting for setting in SETTINGS}


class Config:
    """All settings with their values; `set_in` says which file set a name."""

    __slots__ = ("set_in", "values")

    def __init__(self, values: Mapping[str, Any], set_in: Mapping[str, str]) -> None:
        self.values, self.set_in = values, set_in

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    @property
    def policy(self) -> Policy:
        """The numbers that the fold and the levels depend on."""
        v = self.values
        return Policy(
            v["levels.mature"], v["levels.rule"], v["confidence.observed"], v["confidence.succeeded"],
            v["confidence.confirmed"], v["confidence.denied"], v["confidence.decayed"], v["confidence.remembered"],
            v["confidence.session_cap"], v["decay.days"],
        )  # fmt: skip


def _text(path: Path) -> str | None:
    """Return a config file's text; None where there is none. Raises InvalidDocument when it cannot be read."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as problem:
        raise InvalidDocument(f"{path} cannot be read: {problem}", "mend the file or its permissions") from None


def load(root: Path, home: Path) -> Config:
    """Read both files. Raises InvalidDocument, naming file, line and near names, for anything unknown or mistyped."""
    values = {setting.name: setting.default for setting in SETTINGS}
    set_in: dict[str, str] = {}
    for path, where in ((home / "config.yaml", USER), (root / ".instinct" / "config.yaml", MEMORY)):
        text = _text(path)
        if text is None:
            continue
        for name, value in parse(text, str(path)).items():
            values[name] = _checked(name, value, f"{path}", where)
            set_in[name] = str(path)
    if values["levels.rule"] < values["levels.mature"]:
        raise InvalidDocument("levels.rule is lower than levels.mature", "a rule needs at least what mature needs")
    return Config(values, set_in)


def validate(text: str, path: str) -> None:
    """Raise InvalidDocument unless a text is a memory's config that this program understands."""
    for name, value in parse(text, path).items():
        _checked(name, value, path, MEMORY)


def parse(text: str, path: str) -> dict[str, Any]:
    """Return {dotted name: value} of a config text. Flat lines are read by hand (every `observe` reads the config)."""
    flat = _flat(text)
    return flat if flat is not None else _dotted(_yaml(text, path))


def _flat(text: str) -> dict[str, Any] | None:
    values: dict[str, Any] = {}
    section = ""
    for line in text.splitlines():
        bare = line.split(" #")[0].rstrip()
        if not bare.strip() or bare.lstrip().startswith("#"):
            continue
        name, colon, value = bare.strip().partition(":")
        if not colon or not name.isascii() or not name.replace("_", "").isalnum():
            return None
        if bare[0] != " ":
            section = "" if value.strip() else name
        elif not section:
            return None
        full = f"{section}.{name}" if bare[0] == " " else name
        if value.strip():
            typed = _typed(value.strip())
            if typed is None or full in values:
                return None
            values[full] = typed
    return values


def _typed(value: str) -> Any:
    if value in ("true", "false"):
        return value == "true"
    if value.lstrip("-").isdigit():
        return int(value)
    if value in ('""', "''"):
        return ""
    return value if value[0].isalpha() and ": " not in value else None


def _yaml(text: str, path: str) -> Mapping[str, Any]:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        loaded = YAML(typ="safe", pure=True).load(text)
    except YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        line = mark.line + 1 if mark is not None else 1
        raise InvalidDocument(f"{path}:{line}: {getattr(problem, 'problem', 'broken YAML')}", "mend the YAML") from None
    if loaded is None:
        return {}
    if not isinstance(loaded, dict):
        raise InvalidDocument(f"{path}:1: the config is not a list of settings", "write name: value")
    return loaded


def _dotted(tree: Mapping[str, Any]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, value in tree.items():
        if isinstance(value, dict):
            values.update({f"{name}.{inner}": item for inner, item in value.items()})
        elif value is not None:
            values[str(name)] = value
    return values


def _checked(name: str, value: Any, path: str, where: str) -> Any:
    setting = _BY_NAME.get(name)
    if setting is None:
        import difflib

        near = difflib.get_close_matches(name, _BY_NAME, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}?" if near else "`instinct config` lists all settings"
        raise InvalidDocument(f"{path}: there is no setting {name!r}", hint)
    if setting.home == MEMORY and where == USER:
        raise InvalidDocument(
            f"{path}: {name} is a memory's own setting", "put it into the project's .instinct/config.yaml"
        )
    if setting.home == USER and where == MEMORY:
        raise InvalidDocument(
            f"{path}: {name} is a user's own setting, which no repository may set for them",
            f"`instinct config {name} VALUE --user` sets it in $INSTINCT_HOME/config.yaml; that file must not name it",
        )
    if type(value) is not type(setting.default):
        raise InvalidDocument(
            f"{path}: {name} is {value!r}, not {_kind(setting.default)}", f"default: {name}: {shown(setting.default)}"
        )
    if setting.choices and value not in setting.choices:
        raise InvalidDocument(f"{path}: {name} is {value!r}", "allowed: " + ", ".join(setting.choices))
    low, high = BOUNDS.get(name, (None, None))
    if (low is not None and value < low) or (high is not None and value > high):
        raise InvalidDocument(f"{path}: {name} is {value}", f"from {low}" if high is None else f"from {low} to {high}")
    if name == "default_branch" and value.startswith("-"):
        raise InvalidDocument(f"{path}: {name} is {value!r}", "write a branch's name")
    if name == "version" and value != 1:
        raise InvalidDocument(
            f"{path}: version {value} of the format is newer than this program", "update instinct-git"
        )
    return value


def _kind(default: Any) -> str:
    return {bool: "true or false", int: "a whole number", str: "a text"}[type(default)]


def shown(value: Any) -> str:
    """Return a value as the config file would have it."""
    return str(value).lower() if isinstance(value, bool) else '""' if value == "" else str(value)


def template(consolidate: str, why: str) -> str:
    """Return the config that `init` writes: the one choice it made, and every default as a comment."""
    lines = [
        "# Policy of this memory, read by every agent and person that uses it. `instinct config` prints all settings.",
        "version: 1",
        "",
        f"# {_BY_NAME['consolidate'].meaning}.",
        f"# {why}",
        f"consolidate: {consolidate}",
        "",
        "# Defaults; uncomment to change.",
    ]
    section = ""
    for setting in SETTINGS:
        if setting.home == USER or setting.name in ("version", "consolidate"):
            continue
        group, dot, name = setting.name.partition(".")
        if dot and group != section:
            section = group
            lines.append(f"# {group}:")
        indent = "  " if dot else ""
        lines.append(f"# {indent}{name or group}: {shown(setting.default)}  # {setting.meaning}")
    return "\n".join(lines) + "\n"


def change(path: Path, name: str, text: str) -> None:
    """Set one setting in a config file; comments and order stay. Raises InvalidDocument for a wrong name or value."""
    import io

    from ruamel.yaml import YAML

    where = MEMORY if path.parent.name == ".instinct" and files.is_memory(path.parent.parent) else USER
    setting = _BY_NAME.get(name)
    typed: Any = text if setting is not None and isinstance(setting.default, str) else _typed(text) if text else text
    value = _checked(name, typed, str(path), where)
    yaml = YAML(typ="rt", pure=True)
    yaml.width = 10_000
    old = _text(path) or ""
    _yaml(old, str(path))  # a broken file is reported, not written over
    tree = yaml.load(old)
    group, dot, inner = name.partition(".")
    stream = io.StringIO()
    if tree is None:  # a file of comments alone
        yaml.dump({group: {inner: value}} if dot else {name: value}, stream)
        new = old + stream.getvalue()
    else:
        if dot:
            if not isinstance(tree.get(group), dict):
                tree[group] = {}
            tree[group][inner] = value
        else:
            tree[name] = value
        yaml.dump(tree, stream)
        new = stream.getvalue()
    parse(new, str(path))
    try:
        files.replace(path, new.encode("utf-8"))
    except OSError as problem:
        raise InstinctError(f"{path} cannot be written: {problem}", "check its permissions") from None

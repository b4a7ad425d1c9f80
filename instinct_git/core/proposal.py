"""A pattern put into a SKILL.md for review, by the strictest reading of the Agent Skills specification."""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from instinct_git.core import body
from instinct_git.core.document import front_matter, quote
from instinct_git.core.keys import describe, is_slug, slug, split_key
from instinct_git.core.markdown import as_words
from instinct_git.core.model import Evidence, Tally
from instinct_git.core.pattern import PatternFile
from instinct_git.errors import InstinctError, InvalidDocument

MAX_NAME, MAX_DESCRIPTION = 64, 1024
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_STAMP = re.compile(r'(?m)^  instinct-digest: "([0-9a-f]{12})"\n')
# Zero-width and tag characters, and those that turn the direction of a line; the joiners of emoji and scripts stay.
_HIDDEN = re.compile("[\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]")
_ALLOWED = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")

# What a step of a sequence means to somebody who has never seen the key.
STEPS: Mapping[str, str] = {
    "test": "Run the tests.",
    "lint": "Run the linter.",
    "fix": "Fix what was reported, nothing else.",
    "edit": "Make the change.",
    "write": "Write the file.",
    "read": "Read what is there before changing it.",
    "search": "Search for every place that is concerned.",
    "compile": "Compile.",
    "build": "Build.",
    "format": "Run the formatter.",
    "typecheck": "Run the type checker.",
    "commit": "Commit.",
    "push": "Push, if the person has asked for it.",
    "pull": "Get the newest state.",
    "install": "Install the dependencies.",
    "run": "Run the program.",
    "review": "Read the whole change once more.",
    "deploy": "Deploy, if the person has asked for it.",
    "websearch": "Search the web for current documentation.",
    "webfetch": "Read the page that answers the question.",
}
# What the last step of a sequence is for.
GOALS: Mapping[str, str] = {
    "test": "You make a change that must pass the tests",
    "lint": "You make a change that must pass the linter",
    "typecheck": "You make a change that must pass the type checker",
    "compile": "You make a change that must compile",
    "build": "You make a change that must build",
    "format": "You make a change that is to be formatted",
    "commit": "You make a change that is to be committed",
    "push": "You make a change that is to be pushed",
    "pull-request": "You make a change that is to become a pull request",
    "merge": "A branch is to be merged",
    "rebase": "A branch is to be rebased",
    "review": "You make a change that is to be reviewed",
    "fix": "Something that was reported is to be fixed",
    "edit": "You are about to change a file",
    "write": "You are about to write a file",
    "install": "Dependencies are to be installed",
    "deploy": "Something is to be deployed",
    "publish": "Something is to be published",
    "release": "A version is to be released",
    "run": "A program is to be run",
    "serve": "A server is to be started",
}
CHECKS = ("test", "lint", "compile", "build", "typecheck")
OUTWARD = ("push", "deploy", "publish", "release", "upload")


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill to be proposed."""

    name: str
    text: str

    @property
    def path(self) -> str:
        """Path below the memory's root."""
        return f"skills/{self.name}/SKILL.md"


def skill_name(key: str, given: str = "", title: str = "") -> str:
    """Return a skill's name: ASCII, [a-z0-9-], at most 64 characters, from the key or else the title.

    Raises InstinctError where neither has Latin words to make one of: a skill is never proposed under a bare hash.
    """
    if given:
        if not _NAME.fullmatch(given) or not is_slug(given):
            offer = slug(given)
            valid = f"; --name {offer} is one" if is_slug(offer) and any(map(str.isalpha, offer)) else ""
            raise InstinctError(
                f"{given!r} is no skill name", f"lower-case letters, digits and single hyphens, at most 64{valid}"
            )
        return given
    for text in (split_key(key)[1], title):
        name = _latin_name(text)
        if name:
            return name if is_slug(name) else f"{name}-skill"
    raise InstinctError(
        f"no skill name can be made of {key!r}", "give one in Latin letters, such as --name release-checklist"
    )


def _latin_name(text: str) -> str:
    """Return a text's slug; empty when it has no Latin letters, or fewer than three beside another script."""
    name = slug(text)
    latin = sum(map(str.isalpha, name))
    letters = [char for char in unicodedata.normalize("NFKD", text) if char.isalpha()]
    return name if latin >= (1 if all(map(str.isascii, letters)) else 3) else ""


def skill(pattern: PatternFile, tally: Tally, sessions: int, name: str) -> Skill:
    """Return the SKILL.md that proposes a pattern: when, steps, verification, errors, boundaries, and its origin."""
    title = heading(pattern)
    known = body.read(pattern)
    parts = [f"# {title}", "", sentence(pattern.description or f"Learned from use: {describe(pattern.key)}"), ""]
    for label, lines in (
        ("When to use", when(pattern, known)),
        ("Prerequisites", [known.prerequisites]),
        ("Steps", steps(pattern, known)),
        ("Verification", verification(pattern, known)),
        ("Known errors", [known.errors]),
        ("Boundaries", boundaries(pattern, known)),
        ("Notes", notes(known)),
    ):
        parts += section(label, lines)
    head = ["---", f"name: {name}", f"description: {quote(_description(pattern, title, known))}"]
    head += provenance(pattern, tally, sessions)
    return Skill(name, stamped("\n".join([*head, "---", "", *parts])))


def heading(pattern: PatternFile) -> str:
    """Return a pattern's title as one line, or what its key says."""
    return " ".join(pattern.title.split()) or describe(pattern.key).capitalize()


def section(label: str, lines: Sequence[str]) -> list[str]:
    """Return a section of level 2; nothing when nothing is known."""
    kept = [line for line in lines if line.strip()]
    return [f"## {label}", "", *kept, ""] if kept else []


def provenance(pattern: PatternFile, tally: Tally, sessions: int = 0) -> list[str]:
    """Return the `metadata:` lines that say where a text comes from: texts only, block style."""
    facts = {
        "instinct-pattern": pattern.key,
        "instinct-confidence": str(pattern.confidence),
        "instinct-level": pattern.level,
        "instinct-evidence": str(tally.evidence),
        "instinct-sessions": str(sessions or ""),
        "instinct-first-seen": pattern.first_seen,
        "instinct-last-seen": pattern.last_seen,
        "instinct-sources": ", ".join(pattern.sources),
    }
    return ["metadata:", *(f"  {name}: {quote(_no_rule(value))}" for name, value in facts.items() if value)]


def visible(text: str) -> str:
    """Return text without the characters that nobody sees and an agent reads all the same."""
    return _HIDDEN.sub("", text)


def stamped(text: str) -> str:
    """Return a skill or procedure with a digest of itself in its metadata: whoever changes a word later can be told."""
    text = visible(text)
    return text.replace("\nmetadata:\n", f'\nmetadata:\n  instinct-digest: "{_digest(text)}"\n', 1)


def untouched(text: str) -> bool:
    """True when a skill or procedure is as we wrote it."""
    text = text.replace("\r\n", "\n")
    found = _STAMP.search(text)
    return found is not None and found[1] == _digest(text[: found.start()] + text[found.end() :])


def _digest(text: str) -> str:
    import hashlib

    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:12]


def origin(text: str) -> str:
    """Return the key that a skill or procedure names as its pattern; empty: none, or nobody can read it."""
    try:
        named = front_matter(text).get("metadata")
    except InvalidDocument:
        return ""
    return str(named.get("instinct-pattern", "")) if isinstance(named, dict) else ""


def plain(text: str) -> str:
    """Return text that the strictest validators accept in front matter: no angle brackets, no rule, one line."""
    return _no_rule(" ".join(text.replace("->", " then ").replace("<", "(").replace(">", ")").split()))


def _no_rule(text: str) -> str:
    """Return text without ---: one validator takes it for the end of the front matter wherever it stands."""
    return re.sub(r"-{3,}", "--", text)


def _description(pattern: PatternFile, title: str, known: body.Body) -> str:
    what = plain(pattern.description or title).rstrip(".")
    words = plain(", ".join(_triggers(pattern)))
    asked = f" Somebody asks for: {words}." if words else ""
    whens = [plain(line.removeprefix("- ")).rstrip(".") for line in _cases(pattern, known)]
    use = "; ".join(line[:1].lower() + line[1:] for line in whens if line)
    text = f"{what}. Use when {use}.{asked}" if use else f"{what}.{asked}"
    if len(text) > MAX_DESCRIPTION:  # trigger words are what agents look for: they come before a long text's end
        text = f"{what[: MAX_DESCRIPTION // 3].rstrip()}.{asked[: MAX_DESCRIPTION // 3]} Use when {use}."
    return text if len(text) <= MAX_DESCRIPTION else text[: MAX_DESCRIPTION - 1].rstrip() + "."


def sentence(text: str) -> str:
    """Return a text as one line that ends as a sentence does."""
    text = as_words(text)
    return text if text.endswith((".", "!", "?", "。", "！", "？")) else text + "."


def _triggers(pattern: PatternFile) -> list[str]:
    """Return the words that ask for this, as given or as people wrote them."""
    return list(dict.fromkeys(_phrases(pattern.metadata)))


def _phrases(metadata: Mapping[str, Any]) -> list[str]:
    value = metadata.get("triggers", metadata.get("trigger"))
    return body.texts(re.split(r"[\n,，、;；]", value) if isinstance(value, str) else value)


def with_triggers(pattern: PatternFile, evidence: Iterable[Evidence]) -> PatternFile:
    """Return a pattern that also names the phrases with which people asked for it, as its evidence kept them."""
    told = (one.extra["meta"] for one in evidence if isinstance(one.extra.get("meta"), dict))
    words = [*_phrases(pattern.metadata), *(word for meta in told for word in _phrases(meta))]
    if not words:
        return pattern
    kept = {name: value for name, value in pattern.metadata.items() if name != "trigger"}
    return pattern._replace(metadata={**kept, "triggers": list(dict.fromkeys(words))})


def when(pattern: PatternFile, known: body.Body) -> list[str]:
    """Return when to use it, and the words that ask for it."""
    words = [f"`{word}`" if "`" not in word else word for word in _triggers(pattern)]
    asked = [f"- Somebody asks for it: {', '.join(words)}."] if words else []
    return [*([known.when] if known.when else _cases(pattern, known)), *asked]


def _cases(pattern: PatternFile, known: body.Body) -> list[str]:
    """Return when to use it, a line each: as the body says, else what the key says of its goal."""
    if known.when:
        return [f"- {line}" for line in body.sentences(known.when)]
    prefix, rest = split_key(pattern.key)
    tagged = f" ({', '.join(pattern.tags)})" if pattern.tags else ""
    if prefix == "seq":
        return [f"- {_goal([step.strip() for step in rest.split('->') if step.strip()])}{tagged}."]
    if prefix == "fix":
        return [f"- A command or a tool reports the problem `{rest}`{tagged}."]
    if prefix == "pref":
        return [f"- There is a choice of {rest.partition('=')[0].strip()} in this project{tagged}."]
    return [f"- The task is about {describe(pattern.key)}{tagged}."]


def _goal(names: Sequence[str]) -> str:
    """Say what a sequence is for: its last step is the goal, its first the beginning."""
    first, last = names[0], names[-1]
    goal = GOALS.get(last, f"The work is to end with the step `{last}`")
    if len(names) == 1:
        return f"{goal}: the step is `{last}`"
    through = f" through {', '.join(f'`{name}`' for name in names[1:-1])}" if 2 < len(names) < 7 else ""
    return f"{goal}: the work goes from `{first}`{through} to `{last}`"


def steps(pattern: PatternFile, known: body.Body) -> list[str]:
    """Return the steps: those that the body spells out with their commands, else those that the key names."""
    if known.steps:
        return [known.steps]
    prefix, rest = split_key(pattern.key)
    if prefix == "seq":
        names = [step.strip() for step in rest.split("->") if step.strip()]
        return [f"{n}. {STEPS.get(step, f'Do the step `{step}`.')}" for n, step in enumerate(names, 1)]
    if prefix == "pref" and "=" in rest:
        name, _, value = rest.partition("=")
        return [f"1. Use `{value.strip()}` for {name.strip()}.", "2. Leave existing exceptions as they are."]
    if prefix == "fix":
        remedy = _lower(pattern.title) or ("see Notes" if known.notes else "")
        return [f"1. Recognise the problem: `{rest}`.", *([f"2. Apply the known remedy: {remedy}."] if remedy else [])]
    return [f"1. {sentence(heading(pattern))}"]


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:].rstrip(".") if text else ""


def verification(pattern: PatternFile, known: body.Body) -> list[str]:
    """Return how to tell that it worked, and when it last did; what nobody knows is left out."""
    prefix, rest = split_key(pattern.key)
    checks = [step.strip() for step in rest.split("->") if step.strip() in CHECKS] if prefix == "seq" else []
    lines = [known.verify] if known.verify else []
    if not lines and checks:
        lines = [f"- The last `{checks[-1]}` of the steps ends without an error."]
    if not lines and prefix == "fix":
        lines = ["- The command that failed is run again and succeeds."]
    if pattern.last_seen:
        gap = [""] if known.verify and not _ends_in_item(known.verify) else []
        lines += [*gap, f"- Last verified in use: {pattern.last_seen}."]
    return lines


def _ends_in_item(text: str) -> bool:
    last = text.splitlines()[-1]
    return last[:2] in ("- ", "* ", "+ ")


def boundaries(pattern: PatternFile, known: body.Body) -> list[str]:
    """Return what the text never permits, whatever it says elsewhere."""
    lines = ["- A person's instruction comes first; so does what the project's own documents say."]
    names = [step.strip() for step in split_key(pattern.key)[1].split("->")]
    if any(step in OUTWARD for step in names):
        lines.append("- Steps that leave this machine are taken only when the person has asked for them.")
    if any(step == "commit" for step in names):
        lines.append("- Hooks and signing are never bypassed.")
    return [*lines, known.boundaries]


def notes(known: body.Body) -> list[str]:
    """Return what the body says beyond the sections, its reason first."""
    reason = (
        f"Why:{' ' if len(known.why.splitlines()) == 1 and known.why[0].isalnum() else chr(10) * 2}{known.why}"
        if known.why
        else ""
    )
    return [reason + "\n" if reason and known.notes else reason, known.notes]


def skill_problems(text: str, folder: str) -> list[str]:
    """Return what the strictest readers would refuse in a SKILL.md; empty: nothing."""
    if not text.startswith("---\n"):
        return ["the file does not begin with a line ---"]
    try:
        head = front_matter(text)
    except InvalidDocument as problem:
        return [problem.message]
    name, description = head.get("name"), head.get("description")
    problems = [f"the field {field!r} is not in the specification" for field in head if field not in _ALLOWED]
    if not isinstance(name, str) or not _NAME.fullmatch(name) or len(name) > MAX_NAME:
        problems.append("name is missing, or is not lower-case letters, digits and single hyphens (at most 64)")
    elif name != folder:
        problems.append(f"name {name!r} differs from the folder {folder!r}")
    if not isinstance(description, str) or not description.strip() or len(description) > MAX_DESCRIPTION:
        problems.append(f"description is missing or longer than {MAX_DESCRIPTION} characters")
    elif "<" in description or ">" in description or "---" in description:
        problems.append("description holds < > or ---, which some readers refuse")
    metadata = head.get("metadata", {})
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        problems.append("metadata is not a map of texts to texts")
    return problems


def review_words(branch: str, base: str, files: Sequence[str], keys: Sequence[str]) -> list[str]:
    """Say how a person reviews and answers a proposal."""
    return [
        f"review:  git diff {base}...{branch}",
        f"accept:  git merge {branch}     (or push it and open a pull request)",
        *(f'decline: instinct reject {shlex.quote(key)} --reason "..."' for key in keys),
        f"files:   {', '.join(files)}",
    ]

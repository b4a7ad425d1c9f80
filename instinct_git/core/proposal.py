"""A pattern put into a SKILL.md for review, by the strictest reading of the Agent Skills specification."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from instinct_git.core.document import front_matter, quote
from instinct_git.core.keys import describe, slug, split_key
from instinct_git.core.model import Tally
from instinct_git.core.pattern import PatternFile
from instinct_git.errors import InstinctError, InvalidDocument

MAX_NAME, MAX_DESCRIPTION = 64, 1024
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
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


def skill_name(key: str, given: str = "") -> str:
    """Return a skill's name: ASCII, [a-z0-9-], at most 64 characters."""
    if given:
        if not _NAME.fullmatch(given) or len(given) > MAX_NAME:
            raise InstinctError(f"{given!r} is no skill name", "lower-case letters, digits and single hyphens, at most 64")
        return given
    name = slug(split_key(key)[1]) or slug(key)
    if not name:
        raise InstinctError(f"no skill name can be made of {key!r}", "give one: --name release-checklist")
    return name


def skill(pattern: PatternFile, tally: Tally, sessions: int, name: str) -> Skill:
    """Return the SKILL.md that proposes a pattern: when, steps, verification, boundaries, and where it comes from."""
    title = pattern.title or describe(pattern.key).capitalize()
    parts = [f"# {title}", "", _sentence(pattern.description or f"Learned from use: {describe(pattern.key)}"), ""]
    parts += ["## When to use", "", *_when(pattern), "", "## Steps", "", *_steps(pattern), ""]
    parts += ["## Verification", "", *_verification(pattern), "", "## Boundaries", "", *_boundaries(pattern), ""]
    if pattern.body.strip():
        parts += ["## Notes", "", pattern.body.strip(), ""]
    metadata = {
        "instinct-pattern": pattern.key,
        "instinct-confidence": str(pattern.confidence),
        "instinct-level": pattern.level,
        "instinct-evidence": str(tally.evidence),
        "instinct-sessions": str(sessions),
        "instinct-first-seen": pattern.first_seen,
        "instinct-last-seen": pattern.last_seen,
        "instinct-sources": ", ".join(pattern.sources),
    }
    head = ["---", f"name: {name}", f"description: {quote(_description(pattern, title))}", "metadata:"]
    head += [f"  {field}: {quote(_no_rule(value))}" for field, value in metadata.items()]
    return Skill(name, "\n".join([*head, "---", "", *parts]))


def _plain(text: str) -> str:
    """Return text that the strictest validators accept in front matter: no angle brackets, no rule, one line."""
    return _no_rule(" ".join(text.replace("->", " then ").replace("<", "(").replace(">", ")").split()))


def _no_rule(text: str) -> str:
    """Return text without ---: one validator takes it for the end of the front matter wherever it stands."""
    return re.sub(r"-{3,}", "--", text)


def _description(pattern: PatternFile, title: str) -> str:
    what = _plain(pattern.description or title).rstrip(".")
    when = "; ".join(_plain(line.removeprefix("- ").rstrip(".")) for line in _when(pattern))
    text = f"{what}. Use when {when[:1].lower() + when[1:]}."
    return text if len(text) <= MAX_DESCRIPTION else text[: MAX_DESCRIPTION - 1].rstrip() + "."


def _sentence(text: str) -> str:
    text = text.strip()
    return text if text.endswith((".", "!", "?", "。")) else text + "."


def _when(pattern: PatternFile) -> list[str]:
    prefix, body = split_key(pattern.key)
    tagged = f" ({', '.join(pattern.tags)})" if pattern.tags else ""
    if prefix == "seq":
        first = body.split("->")[0].strip()
        return [f"- The work at hand begins with the step `{first}`{tagged}."]
    if prefix == "fix":
        return [f"- A command or a tool reports the problem `{body}`{tagged}."]
    if prefix == "pref":
        return [f"- There is a choice of {body.partition('=')[0]} in this project{tagged}."]
    return [f"- The task is about {describe(pattern.key)}{tagged}."]


def _steps(pattern: PatternFile) -> list[str]:
    prefix, body = split_key(pattern.key)
    if prefix == "seq":
        steps = [step.strip() for step in body.split("->") if step.strip()]
        return [f"{n}. {STEPS.get(step, f'Do the step `{step}`.')}" for n, step in enumerate(steps, 1)]
    if prefix == "pref" and "=" in body:
        name, _, value = body.partition("=")
        return [f"1. Use `{value.strip()}` for {name.strip()}.", "2. Leave existing exceptions as they are."]
    if prefix == "fix":
        return [f"1. Recognise the problem: `{body}`.", f"2. Apply the known remedy: {_lower(pattern.title) or 'see Notes'}."]
    return [f"1. {_sentence(pattern.title or describe(pattern.key))}"]


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:].rstrip(".") if text else ""


def _verification(pattern: PatternFile) -> list[str]:
    prefix, body = split_key(pattern.key)
    steps = body.split("->") if prefix == "seq" else []
    if any(step.strip() in CHECKS for step in steps):
        last = [step.strip() for step in steps if step.strip() in CHECKS][-1]
        return [f"- The last `{last}` of the steps ends without an error."]
    if prefix == "fix":
        return ["- The command that failed is run again and succeeds."]
    return ["- The reviewer of this skill names here how to tell that it was followed."]


def _boundaries(pattern: PatternFile) -> list[str]:
    lines = ["- A person's instruction comes first; so does what the project's own documents say."]
    steps = split_key(pattern.key)[1].split("->")
    if any(step.strip() in OUTWARD for step in steps):
        lines.append("- Steps that leave this machine are taken only when the person has asked for them.")
    if any(step.strip() == "commit" for step in steps):
        lines.append("- Hooks and signing are never bypassed.")
    return lines


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


def review_words(branch: str, base: str, files: Sequence[str]) -> list[str]:
    """Say how a person reviews and answers a proposal."""
    return [
        f"review:  git diff {base}...{branch}",
        f"accept:  git merge {branch}     (or push it and open a pull request)",
        f"decline: git branch -D {branch}",
        f"files:   {', '.join(files)}",
    ]

"""The first score of a candidate: four dimensions computed from evidence, each with its reason, and what they add up to.

Formula and weights: DESIGN section 5. Scores are exact decimals in hundredths. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import ROUND_HALF_EVEN, Decimal
from typing import NamedTuple

from instinct_git.core.actions import CHECKS, EXTERNAL
from instinct_git.core.confidence import USES
from instinct_git.core.evidence import day_of
from instinct_git.core.keys import split_key
from instinct_git.core.model import Evidence
from instinct_git.errors import InstinctError

EXPLICIT, SWARM, IMPLICIT = "explicit", "swarm", "implicit"
TRIGGERS = (EXPLICIT, SWARM, IMPLICIT)
DIMENSIONS: Mapping[str, Decimal] = {
    "repeatability": Decimal("0.30"), "verifiability": Decimal("0.30"),
    "transferability": Decimal("0.25"), "controllable_risk": Decimal("0.15"),
}  # fmt: skip
"""The four dimensions of the first score and their weights (DESIGN section 5); they sum to 1."""
HUNDREDTH, ZERO, ONE = Decimal("0.01"), Decimal("0.00"), Decimal("1.00")


class Numbers(NamedTuple):
    """The numbers of DESIGN section 5 about candidates and breakers. Scores in hundredths, spans in days."""

    base: Decimal = Decimal("0.35")
    """The least first score."""
    span: Decimal = Decimal("0.15")
    """What the four dimensions can add to it: the highest first score is base + span."""
    succeeded: Decimal = Decimal("0.08")
    new_context: Decimal = Decimal("0.05")
    failed: Decimal = Decimal("-0.12")
    confirmed: Decimal = Decimal("0.07")
    denied: Decimal = Decimal("-0.12")
    idle: Decimal = Decimal("-0.10")
    idle_days: int = 30
    expire_days: int = 60
    ready: Decimal = Decimal("0.65")
    nominated: Decimal = Decimal("0.80")
    reproposal: int = 3
    """New successes after a rejection before it may be proposed again."""
    daily: int = 5
    """Automatic candidates of one day that enter; one more trips the breaker."""
    duplicates: int = 3
    rejections: int = 3
    pause_days: int = 7
    soon_days: int = 7
    """The weekly report tells what expires within so many days."""
    rising: int = 5
    """How many of those that gained most the weekly report tells."""


NUMBERS = Numbers()


def decimal(value: object) -> Decimal | None:
    """A decimal in hundredths out of evidence ("0.40", "+0.05", 0.4, 1), None for anything else."""
    found = re.fullmatch(r"[+-]?[0-9]?(?:\.[0-9]{1,2})?", str(value)) if not isinstance(value, bool) else None
    return Decimal(found[0]).quantize(HUNDREDTH) if found and any(map(str.isdecimal, found[0])) else None


def trigger_of(one: Evidence) -> str:
    """Return the trigger of `candidate` evidence; an unknown one counts as implicit."""
    given = one.extra.get("x")
    return given if given in TRIGGERS else IMPLICIT


def first_score(dims: Mapping[str, Decimal], numbers: Numbers = NUMBERS) -> Decimal:
    """0.35 + 0.15 x (0.30 repeatability + 0.30 verifiability + 0.25 transferability + 0.15 controllable_risk), DESIGN
    section 5; each in 0..1, a missing one is 0. Rounded half-even to hundredths."""
    weighed = sum((weight * dims.get(name, ZERO) for name, weight in DIMENSIONS.items()), ZERO)
    return (numbers.base + numbers.span * weighed).quantize(HUNDREDTH, ROUND_HALF_EVEN)


def parse_score(text: str, numbers: Numbers = NUMBERS) -> Decimal:
    """Return a first score as typed by a person or agent. Raises InstinctError outside 0.35 to 0.50."""
    least, most = numbers.base, numbers.base + numbers.span
    value = decimal(text.strip())
    if value is None or not least <= value <= most:
        raise InstinctError(f"{text!r} is no first score", f"give hundredths within {least} and {most}, such as 0.40")
    return value


def parse_dimensions(text: str) -> dict[str, Decimal]:
    """Return {dimension: value} of "repeatability=0.5,...": one to four, each 0..1. Raises InstinctError."""
    hint = "name=value, separated by commas, each 0 to 1 in hundredths: " + ", ".join(DIMENSIONS)
    found: dict[str, Decimal] = {}
    for part in text.split(","):
        name, equals, given = part.partition("=")
        name = re.sub(r"[ -]", "_", name.strip().lower())
        value = decimal(given.strip())
        if name not in DIMENSIONS or not equals:
            raise InstinctError(f"{part.strip()!r} is no dimension with a value", hint)
        if value is None or not 0 <= value <= 1:
            raise InstinctError(f"{given.strip()!r} is no value for {name}", hint)
        if name in found:
            raise InstinctError(f"{name} is given twice", hint)
        found[name] = value
    return found


def dimensions_of(key: str, members: Iterable[Evidence]) -> dict[str, tuple[Decimal, str]]:
    """Return {dimension: (0..1, its reason)} computed from evidence. A reason never quotes a path, a host or a name."""
    members = list(members)
    return {
        "repeatability": _repeatability(members),
        "verifiability": _verifiability(key, members),
        "transferability": _transferability(key, members),
        "controllable_risk": _controllable_risk(key, members),
    }


def why_of(dims: Mapping[str, tuple[Decimal, str]]) -> str:
    """Return the dimensions' reasons on one line: the `why` to freeze with the first score."""
    return "; ".join(f"{name.replace('_', ' ')} {value:.2f} ({reason})" for name, (value, reason) in dims.items())


def _repeatability(members: Sequence[Evidence]) -> tuple[Decimal, str]:
    """0.25 for the first session, 0.25 for each further session and for each further context, at most 1."""
    seen = [one for one in members if one.k in USES]
    sessions = {(one.by, one.s or day_of(one.id)) for one in seen}
    contexts = {one.ctx for one in seen}
    if not seen:
        told = any(one.k == "remembered" or (one.k == "candidate" and trigger_of(one) == EXPLICIT) for one in members)
        return (Decimal("0.25"), "not seen yet, a person says it will be needed") if told else (ZERO, "not seen yet")
    value = min(ONE, Decimal("0.25") * (len(sessions) + len(contexts) - 1))
    return (
        value,
        f"seen {_times(len(seen), 'time')} in {_times(len(sessions), 'session')} and {_times(len(contexts), 'context')}",
    )


def _verifiability(key: str, members: Sequence[Evidence]) -> tuple[Decimal, str]:
    """1 when the last step checks, 0.75 for an earlier check, a given verification or a fix, 0.50 for a mention."""
    checks = [
        bool(set(re.findall(r"[a-z]+", step)) & (CHECKS | {"tests", "check", "verify"})) for step in steps_of(key)
    ]
    if checks and checks[-1]:
        return ONE, "its last step checks the result"
    if any(checks):
        return Decimal("0.75"), "a step checks, others follow it"
    if any(isinstance(one.extra.get("meta"), Mapping) and one.extra["meta"].get("verify") for one in members):
        return Decimal("0.75"), "it says how to verify the result"
    if split_key(key)[0] == "fix":
        return Decimal("0.75"), "the call that failed shows whether it helped"
    if _VERIFIES.search(text_of("", members)):
        return Decimal("0.50"), "its words mention a check"
    return ZERO, "no step checks the result"


def _transferability(key: str, members: Sequence[Evidence]) -> tuple[Decimal, str]:
    """1, less 0.40 for absolute paths, 0.30 for hosts, 0.30 for a project's name in key, title or description."""
    text, steps = text_of(key, members).lower(), set(steps_of(key))
    names = {one.ctx.lower() for one in members if len(one.ctx) > 2} - steps
    project = any(re.search(rf"(?<![a-z0-9]){re.escape(name)}(?![a-z0-9])", text) for name in names)
    found = [*places_named(text), *([_PROJECT] if project else [])]
    if not found:
        return ONE, "it names no absolute path, host or project"
    return ONE - sum((_PLACES[what] for what in found), ZERO), "it names " + " and ".join(found)


_PROJECT = "a project"
_PLACES = {"an absolute path": Decimal("0.40"), "a host": Decimal("0.30"), _PROJECT: Decimal("0.30")}


def places_named(text: str) -> list[str]:
    """Return what ties a text to one place: "an absolute path", "a host". Linear in the text's length."""
    return [what for what, pattern in (("an absolute path", _PATH), ("a host", _HOST)) if pattern.search(text)]


def _controllable_risk(key: str, members: Sequence[Evidence]) -> tuple[Decimal, str]:
    """1 for steps that stay in the working tree; outward 0.60, destructive 0.40, both 0.20, a security bypass 0."""
    text = text_of(key, members)
    bypass, destroys = bypasses(text), bool(_DESTROYS.search(text))
    leaves = any(map(external, steps_of(key))) or bool(_LEAVES.search(text))
    if bypass:
        return ZERO, f"it names {bypass}"
    if destroys:
        return (Decimal("0.20"), "destructive and outward steps") if leaves else (Decimal("0.40"), "destructive steps")
    return (
        (Decimal("0.60"), "steps that leave the working tree")
        if leaves
        else (ONE, "nothing destructive, nothing outward")
    )


def text_of(key: str, members: Sequence[Evidence]) -> str:
    """Everything the evidence says in words, a line each, in an order of its own."""
    said = {str(one.extra[name]) for one in members for name in ("title", "desc") if one.extra.get(name)}
    meta = (one.extra["meta"] for one in members if one.extra.get("meta"))
    said |= {json.dumps(one, ensure_ascii=False, sort_keys=True) for one in meta}
    return "\n".join([key, *sorted(said)])


def _times(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


# --- steps and bypasses -----------------------------------------------------------------------------------------------


def steps_of(key: str) -> tuple[str, ...]:
    """The steps of a `seq:` key, lower case; () for any other key."""
    prefix, body = split_key(key)
    return tuple(step.strip().lower() for step in body.split("->") if step.strip()) if prefix == "seq" else ()


def external(step: str) -> bool:
    """True when a step leaves the working tree: an action or verb of EXTERNAL, or a tool of another MCP server
    (`server-tool_name`; names of programs and their verbs have no underscore)."""
    server, dash, tool = step.partition("-")
    foreign = bool(dash) and "_" in tool and server != "instinct"
    return step in EXTERNAL or foreign or not EXTERNAL.isdisjoint(re.split(r"[^a-z0-9]+", step))


def bypasses(text: str) -> str:
    """Return the security bypass that a text names, "" for none. A warning against one is held too: a person tells."""
    return next((name for name, pattern in _BYPASSES if pattern.search(text)), "")


_VERIFIES = re.compile(r"(?i)\b(verif(y|ied|ies)|tests?|checks?|lint|assert)\b|验证|驗證|测试|測試|检查|檢查|确认")
_PATH = re.compile(
    r"(?i)(?<![a-z0-9_.:/~-])(/[\w.@-]+/[\w.@-]|/(home|users|etc|var|opt|srv|mnt|tmp|usr)\b|~/|[a-z]:\\)"
)
_HOST = re.compile(
    r"(?i)\b(https?|ssh|ftp)://(?!localhost)|\w[.-]{0,8}@[\w-]+\.[\w.-]|\b(\d{1,3}\.){3}\d{1,3}\b|"
    r"(?<=[a-z0-9-])\.(com|org|net|io|dev|cn|internal|local|corp|lan|cloud|app)\b"
)
_DESTROYS = re.compile(
    r"(?i)\b(rm|delete|destroy|drop|truncate|wipe|purge|overwrite|rollback|reset --hard)\b|删除|刪除|清空|覆盖|回滚"
)
_LEAVES = re.compile(
    r"(?i)\b(push|deploy|publish|release|upload|submit|send)\b|发布|發布|部署|推送|上传|上線|上线|发送"
)
_BYPASSES = tuple(
    (name, re.compile(pattern))
    for name, pattern in (
        ("--no-verify", r"--no-verify\b|\bgit\s+commit\b[^\n;|&]*\s-[a-z]*n[a-z]*\b"),
        ("--no-gpg-sign", r"(?i)--no-gpg-sign\b|gpgsign[ =]+(false|0|no)\b"),
        ("--force on push", r"\bpush\b[^\n;|&]*\s(--force\b|--force-with-lease\b|-[a-z]*f[a-z]*\b|\+[\w/]+)|(?i:\bforce[- ]push)|强制推送|強制推送"),
        ("--force", r"--force\b"),
        ("disabled hooks", r"\b(HUSKY|PRE_COMMIT)=0\b|\bSKIP=\w|(?i:core\.hooksPath[ =]+\S*/dev/null)|HUSKY_SKIP_HOOKS"),
        ("disabled checks", r"(?i)--(skip|no|disable)-[a-z-]*(checks?|tests?|lint|hooks?|sandbox|verification)\b|-DskipTests|\[(skip ci|ci skip)\]|\b(disabl|bypass|skip|turn(ing)? off|switch(ing)? off)(e|es|ed|ing|ping|s)?\s+(the |all |any )*(\w+ )?(checks?|tests?|hooks?|linter?s?|signing|signature|security|verification|sandbox|firewall|branch protection|reviews?|ci)\b|(跳过|跳過|禁用|绕过|繞過|关闭|關閉)[^\n,，。]{0,6}?(检查|檢查|测试|測試|钩子|鉤子|审查|審查|验证|驗證|校验|签名|簽名|防火墙|保护)"),
        ("skipped permissions", r"--dangerously-[a-z-]+|(?i:--yolo)\b|NOPASSWD|\bsetenforce\s+0"),
        ("chmod 777", r"\bchmod\s+(-\w+\s+)*(0?777|a\+rwx|ugo\+rwx)\b"),
        ("curl | sh", r"(?i)\b(curl|wget|iwr|irm|invoke-webrequest)\b[^\n;]*\|\s*(sudo\s+(-\w+\s+)*)?((/usr)?/bin/)?(ba|z|da|k)?(sh|iex|python3?|node|perl|ruby|invoke-expression)\b|\b(ba|z)?sh\s+(-c\s+)?[\"']?[<$]\(\s*(curl|wget)"),
        ("unverified TLS", r"(?i)\bcurl\b[^\n|;]*\s(--insecure|-[a-z]*k[a-z]*)\b|--no-check-certificate\b|sslVerify[ =]+(false|0)|GIT_SSL_NO_VERIFY|NODE_TLS_REJECT_UNAUTHORIZED=.?0|\bverify=False\b|--trusted-host\b|StrictHostKeyChecking[ =]+no"),
    )
)  # fmt: skip
"""What switches a safeguard off, by name; the first that fits is named."""

"""The weekly report as text, Markdown and a page, in English and Chinese. Values in, text out."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from instinct_git.core.breakers import DAILY, DUPLICATES, Trip
from instinct_git.core.dimensions import NUMBERS
from instinct_git.core.weekly import SHOWN, Row, Weekly
from instinct_git.faces.render import clean, table

LANGUAGES = ("en", "zh")
FORMATS = ("text", "md", "html")

_EN: Mapping[str, str] = {
    "title": "Weekly report {week} ({first} to {last})",
    "so far": "Week {week} until {day}",
    "pool": "Pool", "reused": "Reused this week", "awaiting": "Awaiting review", "expiring": "Expiring soon",
    "cleaned": "Cleaned this week", "promoted": "Promoted", "rejected": "Rejected", "rising": "Rising",
    "breakers": "Breakers", "waiting": "Not folded yet", "entered": "New in the pool", "held": "Held by a breaker",
    "expired": "Expired", "faded": "Faded", "contradicting": "Contradictions, for a person to settle", "stale": "Stale",
    "contradicts": "contradicts {why}", "cites": "cites {why}, which has vanished: `instinct check --stale`",
    "pool is": "{size} candidate{s}", "reused is": "{times} time{s}: {worked} worked, {failed} failed",
    "number": "{n}", "expiring is": "{n} within {days} days", "cleaned is": "{n}: {expired} expired, {faded} faded",
    "nothing": "nothing tripped", "waits": "{inbox} in the inbox{since}, {recorded} recorded: `{command}`",
    "since": " since {day}", "all folded": "nothing",
    "worked": "worked {n} x", "failed": "failed {n} x", "score": "score {score}", "rise": "{before} -> {score} (+{gain})",
    "on": "on {day}", "until": "expires on {day}", "by": "by {by}", "unknown": "an unknown person",
    "held for": "held: it names {held}",
    "held by": "by {name} on {day}",
    "how": 'propose one with `instinct propose KEY`; `instinct review` shows the answers',
    "sep": ", ", "of": ": ", "join": "; ",
}  # fmt: skip
_ZH: Mapping[str, str] = {
    "title": "周报 {week}（{first} 至 {last}）",
    "so far": "第 {week} 周，截至 {day}",
    "pool": "候选池", "reused": "本周复用", "awaiting": "待审核", "expiring": "即将过期", "cleaned": "本周清理",
    "promoted": "已晋升", "rejected": "已拒绝", "rising": "上升最快", "breakers": "熔断", "waiting": "尚未合并",
    "entered": "本周新增", "held": "被熔断拦下", "expired": "已过期", "faded": "已淡出",
    "contradicting": "互相矛盾，需人工裁定", "stale": "已失效的引用",
    "contradicts": "与 {why} 矛盾", "cites": "引用的 {why} 已不存在：运行 `instinct check --stale`",
    "pool is": "{size} 个候选", "reused is": "{times} 次：成功 {worked} 次，失败 {failed} 次",
    "number": "{n} 个", "expiring is": "{days} 天内 {n} 个", "cleaned is": "{n} 个：过期 {expired} 个，淡出 {faded} 个",
    "nothing": "无", "waits": "收件箱 {inbox} 条{since}，已记录 {recorded} 条：运行 `{command}`",
    "since": "（自 {day} 起）", "all folded": "无",
    "worked": "成功 {n} 次", "failed": "失败 {n} 次", "score": "得分 {score}", "rise": "{before} → {score}（+{gain}）",
    "on": "{day}", "until": "{day} 过期", "by": "由 {by} 审批", "unknown": "不明人士",
    "held for": "需人工确认：涉及 {held}",
    "held by": "{day} 因 {name} 熔断",
    "how": "用 `instinct propose KEY` 提交评审，用 `instinct review` 查看结果",
    "sep": "，", "of": "：", "join": "；",
    "a daily trip": "当天新增自动候选 {measured} 个，上限 {limit} 个：暂停提取至 {until}，证据照常保留",
    "a duplicates trip": "{measured} 个候选内容相同（{keys}）：请用 `instinct alias` 合并",
    "a rejections trip": "{category}类的{kind}连续被拒 {measured} 次（上限 {limit} 次）：暂停此类新候选至 {until}",
}  # fmt: skip
_WORDS = {"en": _EN, "zh": _ZH}
_TERMS: Mapping[str, Mapping[str, str]] = {
    "en": {},
    "zh": {
        "collecting": "收集中", "ready": "就绪", "nominated": "已提名", "proposed": "已提交评审", "approved": "已通过", "rejected": "已拒绝", "expired": "已过期",
        "skill": "技能", "procedure": "流程", "rule": "规则", "memory": "记忆", "daily": "每日上限", "duplicates": "重复",
        "rejections": "连续拒绝", "sequence": "操作序列", "preference": "偏好", "fix_pattern": "修复", "combo": "组合", "note": "笔记",
    },
}  # fmt: skip
"""What statuses, kinds, categories and breakers are called, where it is not their name."""


_SAID = {"contradicting": "contradicts", "stale": "cites"}
"""Sections whose rows say their reason in words of its own."""


class Item(NamedTuple):
    """One line of a section: what, its key, and what there is to say."""

    title: str
    key: str
    said: str


class Page(NamedTuple):
    """A report in words, before it takes a form."""

    lang: str
    title: str
    facts: tuple[tuple[str, str], ...]
    """(what, how much), the five lines of a weekly report first."""
    sections: tuple[tuple[str, tuple[Item, ...], str], ...]
    """(heading, items, what to do); empty ones are left out."""


def page(one: Weekly, lang: str = "en") -> Page:
    """Say a report in a language."""
    words = _WORDS[lang]
    say: Callable[..., str] = lambda name, /, **values: words[name].format(**values)  # noqa: E731
    names = {"week": one.week, "first": one.week.first, "last": one.week.last, "day": one.day}
    title = say("title", **names) if one.day == one.week.last else say("so far", **names)
    count = {name: len(rows) for name, rows in one.sections.items()}
    inside = words["sep"].join(_of(_TERMS[lang], n, name) for name, n in one.by_status.items() if n)
    trips = [_trip(trip, lang) for trip in one.trips]
    cleaned = {"n": count["expired"] + count["faded"], "expired": count["expired"], "faded": count["faded"]}
    times = one.worked + one.failed
    facts = [
        ("pool", say("pool is", size=one.size, s=_s(one.size)) + (words["of"] + inside if inside else "")),
        ("reused", say("reused is", times=times, s=_s(times), worked=one.worked, failed=one.failed)),
        ("awaiting", say("number", n=count["awaiting"])),
        ("expiring", say("expiring is", n=count["expiring"], days=NUMBERS.soon_days)),
        ("cleaned", say("cleaned is", **cleaned)),
        *((name, say("number", n=count[name])) for name in ("promoted", "rejected", "rising", "entered")),
        ("breakers", words["join"].join(trips) or words["nothing"]),
    ]
    if one.current:
        facts.append(("waiting", _waits(one, words)))
    sections = [
        (words[name], tuple(_item(name, row, lang) for row in one.sections[name]), words["how"] * (name == "awaiting"))
        for name in SHOWN
        if one.sections[name]
    ]
    return Page(lang, title, tuple((words[name], value) for name, value in facts), tuple(sections))


def _s(number: int) -> str:
    return "" if number == 1 else "s"


def _of(terms: Mapping[str, str], number: int, name: str) -> str:
    return f"{terms[name]} {number}" if name in terms else f"{number} {name}"


def _waits(one: Weekly, words: Mapping[str, str]) -> str:
    waiting = one.waiting
    if not waiting.command:
        return words["all folded"]
    since = words["since"].format(day=waiting.inbox_since) if waiting.inbox_since else ""
    return words["waits"].format(inbox=waiting.inbox, since=since, recorded=waiting.recorded, command=waiting.command)


def _trip(one: Trip, lang: str) -> str:
    if lang == "en":
        return one.words
    words = _WORDS[lang]
    values = {**one._asdict(), "keys": "、".join(one.keys)}
    values.update({name: _TERMS[lang].get(str(values[name]), values[name]) for name in ("category", "kind")})
    kind = one.name if one.name in (DAILY, DUPLICATES) else "rejections"
    return words[f"a {kind} trip"].format(**values)


def _item(section: str, row: Row, lang: str) -> Item:
    words, terms = _WORDS[lang], _TERMS[lang]
    parts = [
        terms.get(text, text) for name, text in (("kind", row.kind), ("status", row.status)) if name in SHOWN[section]
    ]
    if section == "rising":
        parts.append(
            words["rise"].format(
                before=f"{row.before:.2f}", score=f"{row.score:.2f}", gain=f"{row.score - row.before:.2f}"
            )
        )
    elif "score" in SHOWN[section]:
        parts.append(words["score"].format(score=f"{row.score:.2f}"))
    parts += [words["worked"].format(n=row.successes)] if row.successes else []
    parts += [words["failed"].format(n=row.failures)] if row.failures else []
    if section == "held":
        parts.append(words["held by"].format(name=terms.get(row.why, row.why), day=row.on))
    elif row.on:
        parts.append(words["until" if section == "expiring" else "on"].format(day=row.on))
    if "by" in SHOWN[section] and row.by:
        by = row.by.removeprefix("human:")
        parts.append(words["by"].format(by=words["unknown"] if by == "unknown" else by))
    if section in _SAID:
        parts.append(words[_SAID[section]].format(why=row.why))
    if section == "awaiting" and row.why:
        parts.append(words["held for"].format(held=row.why))
    said = words["sep"].join(parts)
    return Item(row.title, row.pattern, said + (words["of"] + row.why if section == "rejected" and row.why else ""))


# --- the forms --------------------------------------------------------------------------------------------------------


def text_lines(one: Page) -> list[str]:
    """Return the report as plain lines for a terminal."""
    colon = _WORDS[one.lang]["of"].strip()
    lines = [one.title, "", *table([(name + colon, clean(value)) for name, value in one.facts])]
    for heading, items, how in one.sections:
        rows = [(f"  {clean(item.title)}", clean(item.said), item.key) for item in items]
        lines += ["", heading, *table(rows), *([f"  # {how}"] if how else [])]
    return lines


_MARKS = re.compile(r"([\\`*_\[\]<|~&#@])")


def markdown(one: Page) -> str:
    """Return the report as Markdown; what comes from files is words, never markup."""
    of = _WORDS[one.lang]["of"]
    lines = [f"# {one.title}", "", *(f"- **{name}**{of}{_told(value)}" for name, value in one.facts)]
    for heading, items, how in one.sections:
        lines += ["", f"## {heading}", ""]
        lines += [
            f"- {_escaped(item.title)} ({_code(item.key)})" + (of + _escaped(item.said) if item.said else "")
            for item in items
        ]
        lines += ["", how] if how else []
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return _MARKS.sub(r"\\\1", clean(text))


def _told(text: str) -> str:
    """Our own words, in which only commands stand between backticks."""
    parts = clean(text).split("`")
    return "".join(_code(part) if at % 2 and at < len(parts) - 1 else _escaped(part) for at, part in enumerate(parts))


def _code(text: str) -> str:
    text = clean(text)
    fence = "`" * (max(map(len, re.findall(r"`+", text)), default=0) + 1)
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{space}{text}{space}{fence}"


_STYLE = """\
:root { color-scheme: light dark; --ink: #1c1c1e; --paper: #fff; --soft: #6a6a70; --line: #d8d8dc; }
@media (prefers-color-scheme: dark) { :root { --ink: #eaeaec; --paper: #17171a; --soft: #a0a0a8; --line: #3a3a40; } }
body { max-width: 46rem; margin: 2rem auto; padding: 0 1rem; color: var(--ink); background: var(--paper);
  font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; border-bottom: 1px solid var(--line); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1.5rem; } dd { margin: 0; }
dt, .said { color: var(--soft); } code { font-size: .9em; }"""


def html_page(one: Page) -> str:
    """Return the report as one self-contained page: no script, nothing from elsewhere, light and dark."""
    facts = "\n".join(f"<dt>{_safe(name)}</dt><dd>{_safe(value)}</dd>" for name, value in one.facts)
    sections = "\n".join(_section(heading, items, how) for heading, items, how in one.sections)
    lang = "zh-Hans" if one.lang == "zh" else one.lang
    return f"""<!doctype html>
<html lang="{lang}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{_safe(one.title)}</title>
<style>
{_STYLE}
</style>
</head>
<body>
<main>
<h1>{_safe(one.title)}</h1>
<dl>
{facts}
</dl>
{sections}
</main>
</body>
</html>
"""


def _section(heading: str, items: Sequence[Item], how: str) -> str:
    rows = "\n".join(
        f'<li><strong>{_safe(item.title)}</strong> <code>{_safe(item.key)}</code> <span class="said">{_safe(item.said)}</span></li>'
        for item in items
    )
    return f"<h2>{_safe(heading)}</h2>\n<ul>\n{rows}\n</ul>" + (f'\n<p class="said">{_safe(how)}</p>' if how else "")


def _safe(text: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(clean(text)))

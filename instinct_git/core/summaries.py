"""Reads what agents write down when a shared task ends: lessons and procedures, out of Markdown. Pure: text is data.

Taken are the lines below a heading that says so (Lessons learned, Key findings, 经验教训, 下次 ...), numbered steps below
a heading that names a procedure (Release process, How to deploy, 发布流程 ...), and lines that ask to be remembered.
Findings must advise ("always", "before", 必须), for most only tell what was found. Everything else is left alone: a
summary tells mostly what happened. What holds markup, hidden characters or orders to the reader is left out, and said.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from instinct_git.core.asking import meant
from instinct_git.core.candidates import MEMORY, PROCEDURE, RULE
from instinct_git.core.entry import note_key, short
from instinct_git.core.keys import is_hidden
from instinct_git.core.markdown import Outline, bare, heading_words, item, outline
from instinct_git.core.triggers import asks_to_remember
from instinct_git.errors import InvalidKey

MOST, MOST_STEPS = 30, 20
"""Items of one summary, and steps of one procedure, that are taken."""
LEAST_TEXT, MAX_TEXT, MAX_STEP, MAX_STEPS = 12, 400, 240, 2_000
"""Characters of a lesson (a Chinese one says as much in a third), of a step, and of all steps together."""
MAX_LINE = 4_000
"""Characters of a line that is looked at: a longer one is data or an attack, and says nothing in one breath."""


BOLD, COLON = 7, 8
"""Levels of what stands like a heading: a line in bold, and a line that ends in a colon."""


class Item(NamedTuple):
    """One reusable statement or procedure."""

    line: int
    """1-based, of its first line."""
    kind: str
    key: str
    title: str
    text: str = ""
    """What it says beyond the title."""
    steps: tuple[str, ...] = ()
    verify: str = ""

    @property
    def meta(self) -> dict[str, Any]:
        """What a pattern file keeps of it as metadata."""
        given = {"steps": list(self.steps), "verify": self.verify}
        return {name: value for name, value in given.items() if value}

    @property
    def words(self) -> str:
        """Everything it says."""
        return "\n".join((self.title, self.text, *self.steps, self.verify))


class LeftOut(NamedTuple):
    """What was not taken, and why; its words are not repeated."""

    line: int
    why: str


class Summary(NamedTuple):
    """A summary as read."""

    source: str
    """Who wrote it, as its front matter or an author line says; "" where nothing does."""
    day: str
    """YYYYMMDD as it says itself; ""."""
    items: tuple[Item, ...]
    left_out: tuple[LeftOut, ...]


class _Part(NamedTuple):
    """A heading (a line in bold, or a line that ends in a colon, is one too) and the lines below it."""

    row: int
    level: int
    title: str
    first: int
    last: int


class _Entry(NamedTuple):
    row: int
    numbered: bool
    text: str


_LESSONS = re.compile(
    r"^(key )?(lessons?|learnings?|takeaways?|insights?)( (we |i )?learned)?\b|^what (we|i) learned|^(lessons?|what) .*\blearned$|"
    r"^(gotchas?|pitfalls?|caveats?|best practices?|rules of thumb|tips|recommendations?|do differently|next time|"
    r"what (worked|went) well|what (did not|didn t|to do differently)|for (the )?next time)\b|"
    r"经验|经驗|經驗|教训|教訓|心得|踩坑|避坑|下次|注意事项|注意事項|最佳实践|最佳實踐|收获|收穫|建议|建議"
)
_FINDINGS = re.compile(
    r"^(key |main |important )?(findings?|observations?|conclusions?)$|关键发现|關鍵發現|要点|要點|结论|結論"
)
_STEPS = re.compile(
    r"^(the )?steps( (to|for|we)\b|$)|^how (to|we)\b|\b(procedure|workflow|process|runbook|playbook|checklist)$|"
    r"(流程|步骤|步驟|操作方法|操作手册|做法)$|^如何|^怎么"
)
_GENERIC = re.compile(
    r"^(the )?(steps|procedure|workflow|process|runbook|playbook|checklist|how to( do (it|this)| apply( it)?)?|instructions|"
    r"what to do|otherwise|(mandatory|recommended|safe|core|general) (workflow|process|steps|flow))$|steps$|^this\b|"
    r"^(具体|操作|详细)?(流程|步骤|步驟|操作方法|做法)$"
)
_NEVER = re.compile(
    r"^(next steps?|steps (taken|done|completed|to reproduce)|to ?do|open (questions|items|issues)|remaining|status|"
    r"files|changes?|what (was )?(done|changed)|progress|timeline|references|acceptance|future)\b|"
    r"下一步|待办|待辦|进度|進度|未完成|参考|變更|变更|时间线"
)
_ADVISES = re.compile(
    r"(?i)\b(always|never|must|should|avoid|prefer|ensure|make sure|do not|don'?t|before|after|instead of|whenever|"
    r"only (when|if|after)|remember|needs? to|has to|have to|requires?|use|run|keep|check|verify)\b|"
    r"必须|必須|务必|務必|不要|应该|應該|应当|避免|先|再|一定|需要|确保|確保|建议|建議|切勿|别|使用|优先"
)
_DOES = re.compile(
    r"(?i)^(`[^`]+ [^`]+`|\$ |(first |then |finally |now )?(add|apply|ask|back up|build|bump|call|check|clone|close|commit|compile|configure|copy|"
    r"create|delete|deploy|disable|download|edit|enable|export|fetch|generate|go to|import|init(ialise|ialize)?|install|"
    r"log in|make sure|merge|move|notify|open|pin|publish|pull|push|rebase|regenerate|reload|remove|rename|replace|"
    r"restart|restore|review|roll back|run|save|seed|select|send|set( up)?|start|stop|switch|sync|tag|test|update|"
    r"upgrade|upload|validate|verify|wait|write)\b)|^(先|再|然后|最后|运行|執行|执行|打开|检查|更新|提交|推送|发布|部署|确认|安装|创建|修改|测试|生成|上传|备份)"
)
_VERIFIES = re.compile(
    r"(?i)^(finally,? |then )?(verify|check that|confirm|validate|make sure)\b|^(最后)?(验证|驗證|确认|確認|检查|檢查)"
)
_MARKUP = re.compile(r"<!--|</?[A-Za-z][\w-]*(\s[^<>]*)?/?>|<\?|javascript:|!\[[^\]]*\]\(")
_ORDERS = re.compile(
    r"(?i)\b(ignore|disregard|forget|override) (all |any |the |your |every )*(previous|prior|above|earlier|other|system)\b|"
    r"\byou are now\b|\bsystem prompt\b|\b(do not|don'?t|never) (tell|inform|mention (it |this )?to|show) the (user|person|human)|"
    r"\bwithout (asking|telling) the (user|person|human)\b|忽略.{0,6}(之前|以上|前面|所有).{0,6}(指令|提示|规则|要求)|不要告诉(用户|人)"
)
_SOURCE_LINE = re.compile(
    r"(?i)^[-*>\s]*[*_]*(author|agent|written by|by|from|source|作者|来源|來源)[*_]*\s*[:：]\s*[*_]*\s*(?P<who>.{1,60}?)[*_\s]*$"
)
_SOURCE_FIELDS = ("agent", "author", "source", "by", "from", "作者", "来源")
_WHO = re.compile(r"[\w][\w .-]{0,38}[\w]|\w")
_DAY = re.compile(r"\b(20\d\d)-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])\b")


def summary(text: str) -> Summary:
    """Read a summary. Never raises: what is no Markdown holds nothing."""
    lines = text.replace("\r\n", "\n").split("\n")
    page = outline("\n".join(line if len(line) <= MAX_LINE else "" for line in lines))
    head = _fields(page)
    found = _Reading(page, head.get("title", ""))
    found.read()
    when = next((match for name in ("date", "day", "日期") if (match := _DAY.search(head.get(name, "")))), None)
    day = "".join(when.groups()) if when else ""
    return Summary(_source(page, head), day, tuple(found.items[:MOST]), tuple(found.left_out))


def _fields(page: Outline) -> dict[str, str]:
    pairs = (bare(line).partition(":") for line in page.lines[: page.start] if line[:1] not in "#- \t")
    return {name.strip().lower(): value.strip(" \t\"'[]") for name, colon, value in pairs if colon}


def _source(page: Outline, head: dict[str, str]) -> str:
    said = [head[name] for name in _SOURCE_FIELDS if head.get(name)]
    lines = page.lines[page.start : page.start + 20]
    said += [match["who"] for line in lines if (match := _SOURCE_LINE.match(bare(line)))]
    names = (one.partition(",")[0].partition("<")[0].strip(" `*_@") for one in said)
    return next((name for name in names if _WHO.fullmatch(name)), "")


class _Reading:
    """One reading of one page: what is taken and what is left out, in the order of the lines."""

    def __init__(self, page: Outline, title: str) -> None:
        self.page, self.title = page, title
        self.items: list[Item] = []
        self.left_out: list[LeftOut] = []
        self.parts = _parts(page)
        self.keys: set[str] = set()

    def read(self) -> None:
        taken: set[int] = set()
        for part in self.parts:
            name, entries = heading_words(part.title), _entries(self.page, part)
            numbered = [one for one in entries if one.numbered]
            if _NEVER.search(name):
                taken.update(range(part.first, part.last))
            elif _STEPS.search(name) and (len(numbered) >= 2 or (len(entries) >= 3 and bool(_GENERIC.search(name)))):
                self._procedure(part, numbered if len(numbered) >= 2 else entries)
                taken.update(range(part.first, part.last))
            elif _LESSONS.search(name) or _FINDINGS.search(name):
                self._lessons(entries or list(_paragraphs(self.page, part)), findings=not _LESSONS.search(name))
                taken.update(range(part.first, part.last))
            elif len(numbered) >= 3 and 2 * sum(bool(_DOES.match(one.text)) for one in numbered) > len(numbered):
                self._procedure(part, numbered)
                taken.update(range(part.first, part.last))
        for row in range(self.page.start, len(self.page.lines)):
            if row not in taken and not self.page.literal[row]:
                self._asked(row)
        self.items.sort(key=lambda one: one.line)
        self.left_out.sort()

    def _asked(self, row: int) -> None:
        found = item(self.page.lines[row])
        words = found[2] if found else bare(self.page.lines[row]).strip()
        trigger = asks_to_remember(words) if words else None
        text = meant(_plain(words), trigger)[0] if trigger else ""
        if text:
            self._add(Item(row + 1, RULE if _ADVISES.search(text) else MEMORY, "", short(text), _rest(text)))

    def _lessons(self, entries: Sequence[_Entry], *, findings: bool) -> None:
        for one in entries:
            advises = bool(_ADVISES.search(one.text))
            if _says_enough(one.text) and (advises or not findings):
                title = _lead(one.text)
                self._add(Item(one.row + 1, RULE if advises else MEMORY, "", title, _rest(one.text, title)))

    def _procedure(self, part: _Part, entries: Sequence[_Entry]) -> None:
        title = self._name(part)
        if not title:
            self.left_out.append(LeftOut(part.row + 1, "its steps have no name: no heading says what they do"))
            return
        steps = tuple(one.text if len(one.text) <= MAX_STEP else one.text[: MAX_STEP - 1] + "…" for one in entries)
        if len(steps) > MOST_STEPS or sum(map(len, steps)) > MAX_STEPS:
            self.left_out.append(LeftOut(part.row + 1, f"{len(steps)} steps are too many for one procedure"))
            return
        verify = steps[-1] if _VERIFIES.match(steps[-1]) else ""
        self._add(Item(part.row + 1, PROCEDURE, "", short(title), "", steps, verify))

    def _name(self, part: _Part) -> str:
        """What a procedure is called: its heading, else the nearest one above that says something, else the title."""
        level = part.level
        name = _plain(part.title)
        for one in self.parts[bisect_left(self.parts, part) :: -1]:
            if one is part or one.level < level:
                level, name = one.level, _plain(one.title)
                words = heading_words(name)
                if not _GENERIC.search(words) and (one.level != COLON or _STEPS.search(words)):
                    return re.sub(r"^[\d.)、\s]+", "", name).strip(" :：")
        return self.title

    def _add(self, one: Item) -> None:
        why = _wrong(one.words)
        if not why:
            try:
                one = one._replace(key=note_key(one.title))
            except InvalidKey as problem:
                why = problem.message
        if why:
            self.left_out.append(LeftOut(one.line, why))
        elif one.key not in self.keys:
            self.keys.add(one.key)
            self.items.append(one)


def _wrong(words: str) -> str:
    if any(is_hidden(char) for char in words) or any(ord(char) < 32 and char != "\n" for char in words):
        return "it holds hidden characters"
    if _MARKUP.search(re.sub(r"`[^`\n]*`", "", words)):
        return "it holds markup"
    return "it gives orders to whoever reads it" if _ORDERS.search(words) else ""


def _parts(page: Outline) -> list[_Part]:
    marks = [(one.row, one.level, one.title, one.row + one.lines) for one in page.headings]
    known = {one.row for one in page.headings}
    for row in range(page.start, len(page.lines)):
        line = bare(page.lines[row])
        bold = re.fullmatch(r"\s*\*\*([^*]{2,80}?)[:：]?\*\*\s*[:：]?\s*", line)
        colon = re.fullmatch(r"([^\s*>|#`-][^*>|#`]{1,60})[:：]\s*", line)
        said = bold or (colon if item(line) is None else None)
        if row not in known and not page.literal[row] and said:
            marks.append((row, BOLD if bold else COLON, said[1], row + 1))
    marks.sort()
    ends = [*(row for row, *_ in marks), len(page.lines)][1:]
    return [_Part(row, level, title, first, end) for (row, level, title, first), end in zip(marks, ends, strict=False)]


def _entries(page: Outline, part: _Part) -> list[_Entry]:
    """The items of the first list level below a heading, each with what is indented below it on one line."""
    made: list[tuple[int, bool, list[str]]] = []
    top, blank = 0, False
    for row in range(part.first, part.last):
        line = bare(page.lines[row])
        found = None if page.literal[row] else item(line)
        if found is not None and (not made or found[0] <= top):
            top = found[0]
            words = _checkbox(found[2])
            made.append((row, found[1][0].isdigit(), [words] if words else []))
        elif made and page.literal[row]:
            command = line.strip().removeprefix("$ ")
            if command and not command.startswith(("```", "~~~", "#", "<!--")):
                made[-1][2].append(f"`{command}`")
        elif made and found is not None:
            made[-1][2].append(found[2])
        elif made and line.strip() and (line[:1] in " \t" or not blank):
            made[-1][2].append(line.strip())
        blank = not line.strip()
    return [_Entry(row, numbered, _plain(" ".join(words))) for row, numbered, words in made if words]


def _checkbox(words: str) -> str:
    """An item without its tick; "" for what is still to be done."""
    return "" if words.startswith("[ ]") else re.sub(r"^\[[xX]\]\s*", "", words)


def _paragraphs(page: Outline, part: _Part) -> Iterator[_Entry]:
    lines: list[str] = []
    for row in range(part.first, part.last + 1):
        line = "" if row == part.last or page.literal[row] else bare(page.lines[row]).strip()
        if line and line[0] not in "|>":
            lines.append(line)
        elif lines:
            yield _Entry(row - len(lines), False, _plain(" ".join(lines)))
            lines = []


def _plain(text: str) -> str:
    """Words without emphasis, and links as their words."""
    text = re.sub(r"(?<!!)\[([^\]]+)\]\([^)\s]+\)", r"\1", text)
    return " ".join(re.sub(r"\*\*|__|(?<![\w*])\*(?=\S)|(?<=\S)\*(?![\w*])", "", text).split())


def _says_enough(text: str) -> bool:
    wide = sum(ord(char) > 0x2E7F for char in text)
    if text.startswith("["):
        return False  # a template's place to be filled in
    return len(text) + 2 * wide >= LEAST_TEXT and len(text) <= MAX_TEXT and (wide >= 4 or len(text.split()) >= 3)


def _lead(text: str) -> str:
    """The title of a statement: the whole where it is short, else its first sentence."""
    if len(text) > len(short(text)) or "…" in short(text)[-1:]:
        first = re.split(r"(?<=[.!?])\s|(?<=[。！？])", text, maxsplit=1)[0]
        return short(first if _says_enough(first) else text)
    return text


def _rest(text: str, title: str = "") -> str:
    return text if text != (title or short(text)) else ""

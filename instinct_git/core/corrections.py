"""What a person says should be used: "use pnpm, not npm", "don't use npm", 不要用 npm, 以后用 uv. English and Chinese. Pure.

A grammar, no model; its words for tools, styles and languages are those of `core.choices`, so nothing a person says can
reach a key but a name from that table. A clause counts only when it says nothing else, and only where it is meant to
stand: one that names what not to use, one that says always, here or from now on, or one that names a tool right after
another of its kind was used. Questions, conditions, reports of what others say, what holds "for now" or in one place, and
what a program printed count nothing, nor do quotes, code and pasted text (`triggers.said`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from typing import NamedTuple

from instinct_git.core import choices
from instinct_git.core.fixes import WITHIN
from instinct_git.core.shell import bare, program_of, shell_commands, shell_line
from instinct_git.core.transcript import Prompt, Transcript
from instinct_git.core.triggers import said

LONGEST, CLAUSES = 300, 8
"""Characters of a sentence, and commas in it, that are looked at."""


class Stated(NamedTuple):
    """A choice that a person stated."""

    topic: str
    choice: str
    refused: tuple[str, ...] = ()
    """Keys that it takes back: of what the person said not to use."""
    phrase: str = ""
    """The words that say so (they stay in this clone)."""

    @property
    def key(self) -> str:
        """The preference's key."""
        return choices.key(self.topic, self.choice)

    @property
    def title(self) -> str:
        """The preference's title."""
        return choices.title(self.topic, self.choice)


def of_session(transcript: Transcript) -> list[tuple[Prompt, Stated]]:
    """What a person stated in a session and did not take back in it, in order, each with the prompt that says it."""
    found: list[tuple[Prompt, Stated]] = []
    for prompt in transcript.prompts:
        words = _unwrapped(prompt.text)
        if _TOOL.search(words) or _OTHER.search(words):
            told = stated(said(words), _used(transcript, prompt.after))
            gone = {key for one in told for key in one.refused}
            found = [pair for pair in found if pair[1].key not in gone] + [(prompt, one) for one in told]
    return found


def refused(transcripts: Iterable[Transcript]) -> frozenset[str]:
    """The keys that people took back in these sessions, and did not state again later."""
    gone: set[str] = set()
    for transcript in sorted(transcripts, key=lambda one: (one.day, one.session)):
        for _, one in of_session(transcript):
            gone = (gone - {one.key}) | set(one.refused)
    return frozenset(gone)


def _used(transcript: Transcript, after: int) -> set[str]:
    """The tools that were used in the calls right before a prompt."""
    lines = (shell_line(call.input) for call in transcript.calls[max(0, after - WITHIN) : after])
    commands = (command.words for line in lines if line for command in shell_commands(line))
    programs = {program_of(words) for own in commands for words in (own, bare(own)) if words}
    return {name.removesuffix("3") if name == "pip3" else name for name in programs} & choices.TOOLS


# --- tools and other words ----------------------------------------------------------------------------------------------

_WORDS = frozenset({"black", "ty", "ava", "credo"})
"""Tools that are ordinary words: they are meant where one of the same kind is named, or was used."""
_NAMES = sorted(choices.TOOLS, key=lambda name: (-len(name), name))
_SPOKEN = "|".join(re.escape(name).replace(r"\-", "[ -]") for name in _NAMES)
_TOOL = re.compile(
    rf"(?i)(?<![A-Za-z0-9_./@-])(?P<tool>{_SPOKEN})(?: (?:install|i|add|ci|run|exec|check|format))?(?![A-Za-z0-9_/@=-]|\.[a-z0-9])"
)
_WRAPPED = re.compile(rf"(?i)(?<!`)[`\"“'‘「](?P<inner>(?:{_SPOKEN})(?: (?:install|add|run))?)[`\"”'’」](?!`)")
_OTHER = re.compile(rf"(?i){choices.LANGUAGE_WORD}|conventional commits?|约定式提交|約定式提交")


def _unwrapped(text: str) -> str:
    """The prompt with tools' names out of their `backticks` and quotes: these are names here, no quotations."""
    return _WRAPPED.sub(lambda found: found["inner"], text)


# --- the grammar --------------------------------------------------------------------------------------------------------
# It is read with every tool as <name>.

_X, _Y = r"<(?P<use>[^>]+)>", r"<(?P<not>[^>]+)>(?:(?: ?(?:,|or|and|nor|/|和|或者?|、|跟) ?)+<(?P<nor>[^>]+)>)?"
_STANDS = (
    r"always|from now on|as i (?:already )?(?:said|told you)|like i said|i (?:already )?(?:said|told you)(?: to)?|"
    r"in this (?:repo(?:sitory)?|project|codebase)|in general|by default|everywhere|only|here|actually|remember(?: to)?|"
    r"for (?:this|our) (?:repo(?:sitory)?|project|codebase)|in our (?:repo(?:sitory)?|projects?|codebase)|instead"
)
_LEAD = (
    rf"(?P<lead>(?:(?:(?:no|nope|wrong|stop|wait)[,:;.!—-]+|{_STANDS}|please|pls|ok|okay|hey|sorry|and|but|so|also|again|reminder|note|"
    r"we|we should|you|you should|you must|you need to|(?:can|could|will) you|would you please|just|claude|let's|i want you to|"
    r"make sure (?:to|you)|be sure to)(?<=[\w,:;.!—-])(?![a-z])[ ,:;.!—-]*){0,6})"
)
_RUN = r"(?P<run>(?:run|running|call) )"
_USE = (
    r"(?:use|using|run|running|prefer|go with|stick (?:to|with)|switch(?: back)? to|take|choose|call|"
    r"(?:format|lint|test|install|check|type-?check|run)(?: (?:the|our|all))*(?: (?:code|files?|tests?|types|packages|dependencies|deps))? "
    r"(?:with|using|by))(?: only| just)?"
)
_NOT = r"(?:(?:and|but) )?(?:not|never|instead of|rather than|over|(?:don't|do not|dont|never|no) (?:ever )?(?:use|run)|no)"
_NOUN = r"(?:packages?|dependencies|deps|installs?|modules|tests?|testing|formatting|linting|code|python|js|javascript|typescript|node|everything|things)"
_TAIL = (
    rf"(?P<tail>(?:[ ,]*(?:{_STANDS}|please|thanks|thank you|again|now|any ?more|ever|at all|ok|okay|"
    rf"(?:for|to) ?(?:install|run|format|lint|add|manage|test|check|installing|running|adding|managing)?(?: (?:all|the|our|any|new))*(?: {_NOUN})|"
    r"to install|for installing|as (?:the |our |a )?(?:package manager|test runner|formatter|linter|type checker))(?![a-z])){0,4})"
)
_WE = (
    r"(?:we|(?:this|the|our) (?:repo(?:sitory)?|project|codebase|team))"
    r"(?:'s| is|'re| are)? (?:only |always |all )?(?:uses?|using|on|an?|prefers?|standardi[sz]ed? on)"
)
_GAP = r"[ ,;:—–.!-]*"


@cache
def _english() -> tuple[re.Pattern[str], ...]:
    """The clauses in English; made when the first is read, for it takes a while."""
    return tuple(
        re.compile(pattern)
        for pattern in (
            rf"{_LEAD}{_USE} {_X}{_TAIL}{_GAP}{_NOT} {_Y}(?P<end>{_TAIL.replace('<tail>', '<tail2>')})",
            rf"{_LEAD}(?:(?:don't|do not|dont|never|stop|avoid|no more) (?:ever )?(?:use |using |run |running |call |calling )?){_Y}"
            rf"{_TAIL}(?:{_GAP}(?:but |rather |instead |and )?(?:{_USE} |it's |we use |we're on )?{_X}(?P<end>{_TAIL.replace('<tail>', '<tail2>')}))?",
            rf"{_LEAD}(?:it's |that's )?{_X}{_GAP}(?:not|instead of|rather than|and not) {_Y}{_TAIL}",
            rf"{_LEAD}(?:it's |that's )?(?:not|no) {_Y}{_GAP}(?:but |it's |use |rather )?{_X}{_TAIL}",
            rf"{_LEAD}instead of {_Y}{_GAP}{_USE} {_X}{_TAIL}",
            rf"{_LEAD}(?P<we>{_WE}) {_X}(?: (?:project|repo|shop))?{_TAIL}(?:{_GAP}{_NOT} {_Y})?",
            rf"{_LEAD}(?:{_RUN}|{_USE} ){_X}{_TAIL}",
            rf"{_LEAD}{_X} (?P<we>only|instead|everywhere)(?: please)?",
        )
    )


_ZH_STANDS = (
    r"以后|以後|今后|今後|从现在起|从现在开始|從現在起|从今以后|之后|本项目|本項目|(?:在)?(?:这个|這個|我们的?|我們的?)?(?:项目|項目|仓库|倉庫|专案|專案)(?:里|裡|中|里面)?|"
    r"记住|記住|注意|包管理器?|代码格式化|都|一律|统一|統一|总是|始终|始終|永远|永遠|必须|必須|只能?|不对|不對|不是|错了?|錯了?|应该|應該|应当|我说过|我說過|我们|我們|咱们|这里|這裡|全部"
)
_ZH_LEAD = (
    rf"(?P<lead>(?:(?:{_ZH_STANDS}|请|請|麻烦你?|等等|停|喂|你|还是|還是|就|也|要|得|需要|尽量|那|格式化|跑?测试|跑?測試|装包|安装|安裝|装依赖|安装依赖)[,，:：、!！。]?)"
    + r"{0,6})"
)
_ZH_USE = r"(?:使用|改用|改成|换成|換成|用的是?|用回|采用|採用|用)"
_ZH_NOT = r"(?:千万|千萬|绝对|絕對|请|請)?(?:不要再?|别再?|別再?|不能再|不可以?|不准|不許|不许|禁止|请勿|勿|避免|停止|不再|不应该|不應該|不应|而不是|而非|不是|不)"
_ZH_TAIL = r"(?P<tail>(?:来|來|去|安装|安裝|装包|装|依赖|依賴|包|管理|跑|运行|測試|测试|格式化|代码|代碼|吧|啊|呀|哦|喔|了|就行|就好|就可以|即可|谢谢|謝謝|都|才对|[,，]){0,6})"
_ZH_GAP = r"[,，;；。、!！—-]*"


@cache
def _chinese() -> tuple[re.Pattern[str], ...]:
    """The clauses in Chinese."""
    return tuple(
        re.compile(pattern)
        for pattern in (
            rf"{_ZH_LEAD}{_ZH_USE}{_X}{_ZH_TAIL}{_ZH_GAP}(?:而|但)?{_ZH_NOT}{_ZH_USE}?{_Y}(?P<end>{_ZH_TAIL.replace('<tail>', '<tail2>')})",
            rf"{_ZH_LEAD}{_ZH_NOT}{_ZH_USE}{_Y}{_ZH_TAIL}{_ZH_GAP}(?:请|請|要|改|而是|而要|应该|應該|统一|統一|都|得)*{_ZH_USE}?{_X}(?P<end>{_ZH_TAIL.replace('<tail>', '<tail2>')})",
            rf"{_ZH_LEAD}(?P<no>{_ZH_NOT}){_ZH_USE}{_Y}{_ZH_TAIL}",
            rf"{_ZH_LEAD}{_Y}{_ZH_NOT}{_ZH_USE}?{_ZH_GAP}(?:请|請|要|改|而是|应该|統一|统一|都)*{_ZH_USE}{_X}{_ZH_TAIL}",
            rf"{_ZH_LEAD}{_Y}(?P<no>{_ZH_NOT}){_ZH_USE}{_ZH_TAIL}",
            rf"{_ZH_LEAD}(?:是)?{_X}{_ZH_GAP}(?:而)?不是{_Y}{_ZH_TAIL}",
            rf"{_ZH_LEAD}(?:不是){_Y}{_ZH_GAP}(?:而)?是{_X}{_ZH_TAIL}",
            rf"{_ZH_LEAD}{_ZH_USE}{_X}(?:来)?(?:代替|替代|取代){_Y}{_ZH_TAIL}",
            rf"{_ZH_LEAD}(?P<verb>{_ZH_USE}){_X}{_ZH_TAIL}",
        )
    )


_MARKED = re.compile(rf"{_STANDS}|\b(?:no|nope|wrong|stop)\b")
_ALWAYS = re.compile(
    r"always|from now on|(?:told|said)|everywhere|in general|by default|remember|(?:repo|repository|project|codebase)$"
)
_ZH_MARKED = re.compile(rf"{_ZH_STANDS}|才对")
_DOUBT = re.compile(
    r"(?i)\b(?:if|unless|when|whether|why|says?|saying|suggests?|docs?|readme|according|wrote|used to|for now|this (?:time|once)|"
    r"just once|temporar\w+|today|should (?:we|i)|shall|maybe|perhaps|what about|except|until)\b|"
    r"如果|要是|假如|为什么|為什麼|是否|要不要|能不能|可不可以|还是不|吗|嗎|呢|他说|她说|有人说|文档|文檔|据说|据|暂时|暫時|先用|这次|這次|这一次|临时|臨時|除非|除了|也许|可能|之前|以前|原来"
)
_POLITE = re.compile(r"(?i)\s*(?:please,? )?(?:(?:can|could|will) you|would you please)\b")
_REASON = re.compile(r"(?i)[ ,，]*(?:\b(?:because|since|as (?:it|we|that|they))\b|因为|因為).*$")
_LABEL = re.compile(r"[:：]")
_LIMIT = re.compile(
    rf"(?i)(?!(?:{_STANDS})$)(?:only |just |but )?(?:in|on|for|at|inside|within|under|with|during|as for)\b|"
    rf"(?!(?:{_ZH_STANDS})$).*(?:里|裡|里面|中|时|時|时候|時候|上|下)$"
)
_GOES_ON = re.compile(r"(?i)(?:is|are|was|were|has|have|does|do|can|will|would|should|and is|that|which)\b")
_PRINTED = re.compile(
    r"(?im)^[ \t\W]*(?:[\w.-]+ )?(?:(?:error|err|warn(?:ing)?|fatal|hint|info|notice)\b ?[:!\])]|(?:npm|yarn|pnpm) (?:err|warn)\b|"
    r"(?:错误|錯誤|报错|報錯|警告|提示)(?:信息|訊息|消息)?[:：]).*$"
)
"""A line that a program printed."""
_HANDED_ON = re.compile(
    r"(?im)^(?![ \t\W]*(?:(?:(?:two|three|some|a few|few|my|our|the|more|other) )*(?:things?|notes?|rules?|points?|requests?)(?: for you| here)?|"
    r"note|reminder|remember|please|also|important|注意|记住|記住|要求|规则|規則|另外|还有|還有)[ \t]*[:：][ \t]*$)"
    r"(?:[^\n]*(?:[:：]|\b(?:prints?|says?|(?<!i )said|reads?|wrote|shows?|outputs?))[ \t]*$|(?:from|to|cc|subject|date|sent): )"
)
"""A line that leads over to somebody else's words: "The review:", "It prints", "From: ...". What follows it is not the person's."""
_SENTENCE = re.compile(r"(?:[.!?]+(?=\s|$)|[\n。！？!?;；])")
_COMMIT = r"(?:(?:all |the |our |your )?(?:git )?commit(?: (?:messages?|subjects?|logs?))?s?|提交(?:信息|消息|说明|說明|訊息)?|commit)"


@cache
def _manners() -> tuple[re.Pattern[str], ...]:
    """Clauses about commits and languages, in both."""
    return tuple(
        re.compile(pattern, re.IGNORECASE)
        for pattern in (
            rf"{_LEAD}(?:write |keep )?{_COMMIT}(?: (?:must|should|have to) be)?(?: written)? in (?P<commit>{choices.LANGUAGE_WORD}){_TAIL}",
            rf"{_LEAD}use (?P<commit>{choices.LANGUAGE_WORD}) (?:for|in) {_COMMIT}{_TAIL}",
            rf"{_LEAD}(?:reply|answer|respond|talk|speak|(?P<once>write|explain)|communicate)(?: to me| with me)? (?:in |(?<=speak ))(?P<talk>{choices.LANGUAGE_WORD}){_TAIL}",
            rf"{_ZH_LEAD}{_COMMIT}(?:请|請|要|都|一律|统一|統一|必须|必須|应该)*(?:使?用|写成|寫成)(?P<commit>{choices.LANGUAGE_WORD})(?:来)?(?:写|寫|书写)?{_ZH_TAIL}",
            rf"{_ZH_LEAD}用(?P<commit>{choices.LANGUAGE_WORD})(?:来)?(?:写|寫){_COMMIT}{_ZH_TAIL}",
            rf"{_ZH_LEAD}(?:使?用|说|說|讲)(?P<talk>{choices.LANGUAGE_WORD})(?:来|跟我|和我)*(?:回答|回复|回覆|交流|沟通|溝通|说话|对话|(?P<once>解释|解釋))?(?:我)?{_ZH_TAIL}",
            rf"{_ZH_LEAD}(?:回答|回复|回覆)(?:我|问题|問題)*(?:时|的时候|請|请|要|都|一律)*(?:使?用)(?P<talk>{choices.LANGUAGE_WORD}){_ZH_TAIL}",
            rf"{_LEAD}(?:use|follow|write|prefer)(?: the)? (?P<style>conventional commits?)(?: (?:format|style|messages?))?(?: for {_COMMIT})?{_TAIL}",
            rf"{_ZH_LEAD}(?:{_COMMIT})?(?:请|要|都|一律|必须|统一)*(?:使?用|遵循|遵守|按照?|符合)(?P<style>conventional commits?|约定式提交|約定式提交)(?:规范|規範|格式)?{_ZH_TAIL}",
        )
    )


def stated(words: str, used: Collection[str] = ()) -> list[Stated]:
    """What a person's own words state, in order; `used` are the tools that were used right before."""
    runs: list[list[str]] = []
    words = _PRINTED.sub("", _HANDED_ON.split(words.replace("’", "'"), maxsplit=1)[0])
    for sentence in _SENTENCE.split(words):
        plain = " ".join(sentence.split())
        if plain and len(plain) <= LONGEST and not _DOUBT.search(plain) and not _asks(words, sentence):
            runs.append([*_runs(_REASON.sub("", plain))])
    rivals = {one.choice for own in runs for one in _first(own, used) if one.topic == choices.AVOID}
    return _joined([one for own in runs for one in _first(own, {*used, *rivals})])


def _first(runs: Iterable[str], used: Collection[str]) -> list[Stated]:
    return next((made for run in runs if (made := _read(run, used))), [])


def _asks(words: str, sentence: str) -> bool:
    """True for a question that is no polite request."""
    after = words[words.find(sentence) + len(sentence) :].lstrip()[:1]
    return after in ("?", "？") and not _POLITE.match(sentence)


def _runs(sentence: str) -> Iterator[str]:
    """The sentence, then the parts of it between commas, the longest first: "add it, and use pnpm, not npm". What is left
    out may name no tool and no place where it holds ("in the example, ..."), and may not go on ("npm, not pnpm, is slow")."""
    yield sentence
    parts = [part.strip() for part in re.split(r"[,，]", sentence)]
    number = min(len(parts), CLAUSES)
    for size in range(number - 1, 0, -1):
        for start in range(number - size + 1):
            if _stands_alone(parts[:start], parts[start + size :]):
                yield ", ".join(parts[start : start + size])


def _stands_alone(before: list[str], after: list[str]) -> bool:
    """True where these parts of the sentence take nothing from what is said between them."""
    named = any(map(_TOOL.search, [*before, *after])) or any(map(_LABEL.search, before))
    limited = any(map(_LIMIT.match, [*before[-1:], *after[:1]])) or any(map(_GOES_ON.match, after[:1]))
    return not named and not limited


def _read(run: str, used: Collection[str]) -> list[Stated]:
    text = _TOOL.sub(lambda found: f"<{found['tool'].lower().replace(' ', '-')}>", run).lower()
    text = " ".join(re.sub(r"[()（）]", " ", text).split())
    dense = re.sub(r"\s*([^\x00-\x7f]|[<>])\s*", r"\1", text)
    for pattern in _english() if "<" in text else ():
        found = pattern.fullmatch(text)
        if found is not None:
            groups = found.groupdict()
            marks = " ".join(groups.get(name) or "" for name in ("lead", "tail", "end"))
            if groups.get("run"):  # "run pytest" is an errand; "always run pytest" is more
                return _choices(groups, bool(_ALWAYS.search(marks)), (), run)
            return _choices(groups, bool(groups.get("we") or _MARKED.search(marks)), used, run)
    for pattern in _chinese() if "<" in dense else ():
        found = pattern.fullmatch(dense)
        if found is not None:
            groups = found.groupdict()
            if groups.get("no") == "不":
                return []  # 不用 alone: there is no need to
            marks = (groups.get("lead") or "") + (groups.get("tail") or "")
            return _choices(groups, bool(_ZH_MARKED.search(marks)) or groups.get("verb") == "改用", used, run)
    return _styles(text, dense, run) if _OTHER.search(run) else []


def _styles(text: str, dense: str, run: str) -> list[Stated]:
    for pattern in _manners():
        for said_so in (text, dense):
            groups = found.groupdict() if (found := pattern.fullmatch(said_so)) else {}
            if groups.get("commit"):
                return [Stated("commit-language", choices.language(groups["commit"]), phrase=run)]
            marks = f"{groups.get('lead') or ''} {groups.get('tail') or ''}"
            if groups.get("once") and not (_MARKED.search(marks) or _ZH_MARKED.search(marks)):
                return []  # "explain in German" is about one text
            if groups.get("talk"):
                return [Stated("language", choices.language(groups["talk"]), phrase=run)]
            if groups.get("style"):
                return [Stated("commits", "conventional", phrase=run)]
    return []


def _choices(groups: dict[str, str | None], standing: bool, used: Collection[str], run: str) -> list[Stated]:
    wanted = groups.get("use")
    unwanted = [name for name in (groups.get("not"), groups.get("nor")) if name]
    if wanted in unwanted:
        return []  # "npm ci, not npm install"
    if wanted is None:
        unwanted = [name for name in unwanted if name in used or name not in _WORDS]
        return [Stated(choices.AVOID, name, _refused([name]), run) for name in unwanted]
    rivals = unwanted or [name for name in used if name != wanted]
    topics = [
        topic
        for topic in choices.topics_of(wanted)
        if any(choices.GROUPS.get((topic, name)) == choices.GROUPS[topic, wanted] for name in rivals)
    ]
    if unwanted and not topics:
        return []  # of two kinds: whatever that means
    meant = standing and (wanted in used or wanted not in _WORDS)
    topics = topics or (choices.topics_of(wanted) if meant else [])
    gone = (*_refused(unwanted), choices.key(choices.AVOID, wanted))
    return [Stated(topics[0], wanted, gone, run)] if topics else []


def _refused(tools: Iterable[str]) -> tuple[str, ...]:
    return tuple(choices.key(topic, tool) for tool in tools for topic in choices.topics_of(tool))


def _joined(found: list[Stated]) -> list[Stated]:
    """Each choice once; "do not use npm" beside "use pnpm" is one statement."""
    wanted = {choices.GROUPS.get((one.topic, one.choice)): one for one in found if one.topic != choices.AVOID}
    told: dict[str, Stated] = {}
    for one in found:
        groups = {choices.GROUPS[topic, one.choice] for topic in choices.topics_of(one.choice)}
        instead = next((wanted[group] for group in groups if one.topic == choices.AVOID and group in wanted), None)
        kept = instead or one
        before = told.get(kept.key, kept)
        told[kept.key] = before._replace(refused=tuple(dict.fromkeys((*before.refused, *kept.refused, *one.refused))))
    return list(told.values())

"""What a person's prompt asks for: to remember what was done, or praise and blame of it. English and Chinese. Pure.

Tables of phrases, no model. What a prompt quotes is not what it asks: fenced and indented code, `inline code`, quoted
lines, text in double quotation marks and XML-like blocks are taken out first. When in doubt the answer is None: a
missed trigger costs one more sentence, a wrong one puts words into a person's mouth.
"""

from __future__ import annotations

import re
from typing import NamedTuple

LONGEST, SENTENCE = 20_000, 600
"""Characters of a prompt, and of each of its sentences, that are looked at."""
PASTED = 20, 2_000
"""Lines and characters from which on a prompt is taken to hold pasted text: then nothing in it is the person's."""


class Trigger(NamedTuple):
    """A request to remember."""

    phrase: str
    """The words that ask, as they stand in the prompt (they stay in this clone: law 12)."""
    kind: str
    """The kind it asks for: skill, procedure, rule or memory; empty: it names none."""


_QUOTED = re.compile(
    r"(?ms)^[ \t]*(`{3,}|~{3,}).*?(?:^[ \t]*\1|\Z)|`[^`\n]+`|^[ \t]*>[^\n]*|^(?:\t| {4})[^\n]*|"
    r"\"[^\"\n]*\"|“[^”\n]{0,500}”|「[^」\n]{0,500}」|『[^』\n]{0,500}』|«[^»\n]{0,500}»"
)
_TAG = re.compile(r"<([A-Za-z][\w-]{0,60})(?:\s[^<>\n]{0,200})?>")
_CLAUSE = re.compile(r"[^.!?;:,\n。！？；：，、]+[.!?;:,\n。！？；：，、]?|[.!?]")
_SENTENCE = re.compile(r"[^.!?;\n。！？；]+[.!?;\n。！？；]?")

# --- asks to remember -------------------------------------------------------------------------------------------------

_OBJECT = r"(this|that|it|these|those|what (we|you)|how (we|you|to|i)|the (way|steps|process|workflow|procedure|fix|lesson|flow))"
_LEAD = (
    r"(?:^|[,:]|\band|\bthen)\s*(?:(?:please|pls|ok(?:ay)?|yes|great|good|perfect|nice|now|also|so|and|then|let'?s|"
    r"(?:can|could|would|will) you|you (?:should|must|need to)|i(?:'d like| want) you to|make sure (?:to|you)|"
    r"be sure to|always|next)[, ]+){0,6}"
)
_AS = r"(skill|procedure|runbook|playbook|rule|memory|lesson)s?\b"
# Each asks on its own; those after _LEAD only where a request begins ("remember this", not "I remember this").
_ENGLISH = (
    _LEAD + r"(?P<phrase>remember(?: " + _OBJECT + r"\b| (?:for|next) \w+| to (?:always|never)\b|:)[^.!?;\n]{0,60})",
    _LEAD + r"(?P<phrase>(?:do not|don'?t|never) forget (?:this|that|how we|the (?:way|steps|process|workflow|procedure))\b[^.!?;\n]{0,40})",
    _LEAD + r"(?P<phrase>(?:keep|bear) (?:this|that|it) in mind\b[^.!?;\n]{0,40})",
    _LEAD + r"(?P<phrase>(?:make|take) (?:a )?note of " + _OBJECT + r"\b[^.!?;\n]{0,40})",
    _LEAD + r"(?P<phrase>(?:note|save|memori[sz]e|record|store|keep) " + _OBJECT + r"(?: \w+){0,3} (?:for (?:next time|later|the future|future \w+)|to (?:your |the |my )?memory(?:\.md)?)\b)",
    _LEAD + r"(?P<phrase>memori[sz]e " + _OBJECT + r"\b[^.!?;\n]{0,40})",
    _LEAD + r"(?P<phrase>(?:make|turn|save|package|wrap|capture|write|convert|store|keep|record|extract|distill?|remember|add) "
    r"(?:\w+ ){0,5}?(?:(?:in)?to|up as|as|out of|up into|for|a|an)?(?: this)? ?(?:a |an |the |our |my |reusable |new |agent ){0,3}" + _AS + r"(?! (?:to|in|into|that|which|page|cache|limits?|usage|leaks?|instead|set|engine|file|table|for (?!next|later|the future|future|this|that|it|me|us|you|our))\b)[^.!?;\n]{0,20})",
    _LEAD + r"(?P<phrase>(?:create|write|make|add|build) (?:a |an |me a |us a )(?:new |reusable |agent )?" + _AS + r" (?:from|for|out of|of|about|with) " + _OBJECT + r"\b)",
    _LEAD + r"(?P<phrase>(?:add|save|write|put|commit) " + _OBJECT + r"(?: \w+){0,2} (?:in)?to (?:your |the |my |our )?(?:long-term )?memory(?:\.md)?\b)",
    r"(?P<phrase>\b(?:we|i)(?:'ll| will| are going to|'re going to)(?: \w+)? (?:need|use|do|want) (?:this|it|that) (?:again|often|every \w+|regularly|many times)\b)",
    r"(?P<phrase>\bfor future (?:reference|sessions|use)\b)",
    r"(?P<phrase>\bfrom now on,? (?:always |never )?(?:use|do|run|write|work|follow|keep|call|ask|prefer|put|avoid)\b[^.!?;\n]{0,60})",
)  # fmt: skip
_SKILL_WORD = r"(?:skill|技能|流程|步骤|步驟|规程|規程|操作手册|操作手冊|规则|規則|规矩|規矩|记忆|記憶)"
_CHINESE = (
    r"(?P<phrase>(?:记住|記住|记牢|記牢)(?!了[吗嗎没沒]|密码|密碼|我的?登|登录|登錄|用户|用戶|按钮)[^，。！？；\n]{0,30})",
    r"(?P<phrase>(?:记一下|記一下|记下来|記下來|记下(?:这|這|那)|記下這|(?:把|将|將)(?:这|這|它|上面|刚才|剛才|以上)[^，。！？；\n]{0,20}?(?:记|記)(?:住|下来|下來|录下来|錄下來))[^，。！？；\n]{0,20})",
    r"(?P<phrase>(?:以后|以後|后面|後面|之后|之後|下次|将来|將來|今后|今後)(?:我们|我們|我|你)?(?:还|還|也|都|肯定|一定|经常|經常)*(?:会|會|要|能)(?:再|经常|經常|常)?(?:用|用到|用得上|用得到|需要|做|这样做))",
    r"(?P<phrase>(?:以后|以後|下次|今后|今後|从现在起|從現在起|从现在开始)(?:我们|我們|请|請|你)*(?:都|也|就|一律|总是|必须|必須)+(?:要|用|按|这|這|照|先|不)[^，。！？；\n]{0,30})",
    r"(?P<phrase>(?:封装|封裝|做|写|寫|变|變|整理|沉淀|沉澱|固化|打包|总结|總結|提炼|提煉|保存|存|转|轉|归纳|歸納|抽象|加|记|記|录|錄|提取)(?:\w{0,2})?(?:成|为|為|到|进|進|入)[^，。！？；\n]{0,8}?" + _SKILL_WORD + r"(?!图|圖))",
    r"(?P<phrase>(?:别忘了|別忘了|不要忘记|不要忘記|不要忘了)(?:这个|這個|这套|這套|这种|這種|这次|這次)[^，。！？；\n]{0,20})",
)  # fmt: skip
_ENGLISH_RE = tuple(re.compile(pattern, re.IGNORECASE) for pattern in _ENGLISH)
_CHINESE_RE = tuple(re.compile(pattern, re.IGNORECASE) for pattern in _CHINESE)
# Negations, where they may stand before the words that ask.
_NOT_ENGLISH = re.compile(
    r"(?i)\b(?:do not|don'?t|dont|never|no need to|not necessary to|not have to|needn'?t|need not|without|not|stop|"
    r"cannot|can'?t|rather than|instead of|shouldn'?t|won'?t|if|when|did|does|do) (?:\w+ ){0,3}$"
)
_NOT_CHINESE = re.compile(
    r"(?:不要|不用|不必|不需要|不想|无需|無需|没必要|沒必要|没有必要|别|別|先别|勿|不是|不|没|沒|怎么|怎麼|如何|是否)[^，。！？；\n]{0,6}$"
)
_KIND_WORDS = (
    ("skill", r"skill|技能"),
    ("procedure", r"\b(?:procedure|runbook|playbook)\b|(?:成|为|為)[^，。]{0,6}(?:流程|步骤|步驟|规程|規程|操作手)"),
    ("rule", r"\b(?:rule|lesson)\b|规则|規則|规矩|規矩|\bfrom now on\b|从现在|從現在|以后(?:请|你)?(?:都|一律|必须)|to (?:always|never)\b"),
    ("memory", r"\bmemory\b|记忆|記憶"),
)  # fmt: skip
_KINDS = tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _KIND_WORDS)


def asks_to_remember(text: str) -> Trigger | None:
    """Return the first request to remember in a prompt, None when there is none. Negations and questions are none."""
    for whole in _SENTENCE.findall(own_words(text)):
        sentence = whole[:SENTENCE]
        if re.search(r"(?:吗|嗎|没有|沒有|么)\s*[?？]?$", sentence.strip()):
            continue
        for patterns, negation in ((_ENGLISH_RE, _NOT_ENGLISH), (_CHINESE_RE, _NOT_CHINESE)):
            for pattern in patterns:
                for found in pattern.finditer(sentence):
                    before = sentence[: found.start("phrase")]
                    if not negation.search(before[-60:]):
                        return Trigger(" ".join(found["phrase"].split()), _kind(found["phrase"]))
    return None


def _kind(phrase: str) -> str:
    return next((kind for kind, pattern in _KINDS if pattern.search(phrase)), "")


def own_words(text: str) -> str:
    """The prompt without what it quotes; curly apostrophes made straight."""
    plain = _QUOTED.sub("\n", text[:LONGEST].replace("’", "'").replace("\r", ""))
    kept, start, unclosed = list[str](), 0, set[str]()
    for tag in _TAG.finditer(plain):
        if tag.start() < start or tag[1] in unclosed:
            continue
        end = plain.find(f"</{tag[1]}>", tag.end())
        if end < 0:
            unclosed.add(tag[1])
            continue
        kept.append(plain[start : tag.start()])
        start = end + len(tag[1]) + 3
    return "\n".join([*kept, plain[start:]])


def said(text: str) -> str:
    """Return a prompt's own words; "" for one that is long enough to hold pasted text."""
    words = own_words(text).strip()
    lines, characters = PASTED
    return "" if words.count("\n") >= lines or len(words) > characters else words


# --- praise and blame -------------------------------------------------------------------------------------------------

# A clause counts when it says nothing else: an opening, the verdict, and a closing from these tables.
_OPENING = (
    r"(?:(?:ok(?:ay)?|yes|yeah|yep|wow|ah|oh|no|nope|well|hmm|hm|but|and|so|now|actually|sorry|"
    r"that|this|it|that's|this is|it's|that is|it is|that was|this was|it was|that looks|this looks|it looks|looks|is|"
    r"you are|you're|all|really|very|just|absolutely|still|simply|totally|completely|also|works?|working|worked) )*"
)
_PRAISE = (
    r"(?:perfect(?:ly)?|great|excellent|awesome|brilliant|amazing|fantastic|wonderful|superb|lovely|beautiful|"
    r"nice(?:ly)?|(?:very |really )?good|(?:very |really )?well done|nice work|spot on|exactly right|exactly|correct|"
    r"love it|works? (?:well|great|perfectly|now|like a charm)|working (?:now|perfectly)|(?:well|good|great|nice) (?:job|work|one)|"
    r"(?:just )?what i (?:wanted|needed)|that works|lgtm)"
)
_THANKS = r"(?: (?:thanks?(?: you)?(?: so much| a lot)?|thx|job|work|one|now|again|indeed|as always|claude|mate))*"
_BLAME = (
    r"(?:wrong|incorrect|not (?:right|correct|good|working|what i (?:wanted|asked(?: for)?|meant|need(?:ed)?))|"
    r"isn't (?:right|correct|working|what i (?:wanted|asked(?: for)?|meant))|wasn't (?:right|correct|what i (?:wanted|asked(?: for)?))|"
    r"(?:doesn't|does not|didn't|did not|don't) (?:work|help)|not working|broken|bad|terrible|awful|useless|"
    r"you(?:'re| are) wrong|you broke it|you made it worse|a mistake|(?:completely |totally )?wrong)"
)
_BLAMED = (
    r"(?: (?:again|at all|approach|way|file|answer|direction|place|branch|either|anymore|still|now|idea|command))*"
)
_CN_OPEN = r"(?:嗯|哦|啊|好|好的|对|是|这|這|这个|這個|这次|這次|这样|這樣|你|你这|做得|干得|真|真的|真是|太|非常|就是|结果|結果|都|又|还是|還是|完全|根本|效果|但|但是|不过)*"
_CN_PRAISE = r"(?:完美|很好|非常好|太好了|太棒了|真棒|很棒|棒极了|棒極了|棒|不错|不錯|很不错|厉害|厲害|优秀|優秀|漂亮|赞|讚|正确|正確|没错|沒錯|没问题|沒問題|就是这样|就是這樣|正是我要的|搞定了|好极了|好用|满意|滿意|做得好|干得好|幹得好|干得漂亮|可以了|成功了)"
_CN_BLAME = r"(?:不对|不對|错了|錯了|错误|錯誤|不行|不好|不是这样|不是這樣|不是我要的|不是我想要的|搞错了|搞錯了|弄错了|弄錯了|做错了|做錯了|有问题|有問題|没用|沒用|没有用|不工作|失败了|失敗了|糟糕|太差了|很差|差劲|不正确|不正確|不满意|不滿意|不完美|不能用)"
_CN_END = r"(?:了|啊|呀|哦|的|吧|啦|呢|谢谢|謝謝|谢谢你|辛苦了|~|～)*"
_PRAISES = re.compile(rf"(?i){_OPENING}{_PRAISE}{_THANKS}|{_CN_OPEN}{_CN_PRAISE}{_CN_END}")
_BUT = re.compile(r"(?i)(?:but|however|except|although|though)\b|但|不过|不過|可是|只是")
_BLAMES = re.compile(
    rf"(?i)(?!(?:对不对|對不對|行不行|好不好)$)(?:{_OPENING}{_BLAME}{_BLAMED}|{_CN_OPEN}{_CN_BLAME}{_CN_END})"
)


def judgement(text: str) -> str | None:
    """Return "confirmed" for praise, "denied" for blame, None for neither and for both.

    A clause counts only when it is nothing but the verdict ("that's wrong again", not "what is wrong with the login"),
    and questions do not.
    """
    clauses = [clause.strip() for clause in _CLAUSE.findall(own_words(text))]
    labels = [one[-1:] in (":", "：") for one in clauses]  # "Error: not working" tells what is wrong with something
    told = [one for one, *label in zip(clauses, labels, [False, *labels], strict=False) if not any(label)]
    said = [" ".join(one.strip(".!?;,。！？；，、 \n").split()) for one in told if one[-1:] not in ("?", "？")]
    praised = any(_PRAISES.fullmatch(one) for one in said if len(one) <= 80)
    blamed = any(_BLAMES.fullmatch(one) for one in said if len(one) <= 80)
    if praised == blamed or (praised and any(map(_BUT.match, said))):
        return None
    return "confirmed" if praised else "denied"

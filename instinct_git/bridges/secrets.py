"""Find what looks like a password, a key or a token in a text, without ever keeping it.

`find_secrets` says which rule matched and where; `redact` puts the rule's name in the place of each value.
Neither returns, stores or logs a value.

Two sorts of rule stand in `RULES`:

* *Anchored* rules know a published format (a prefix, a shape). They accept every value of that shape, the
  examples of vendors' manuals included: it is cheaper to rephrase a note than to revoke a key.
* *Assignment* rules know only the word in front (`password =`, `token:`, `密码是`), so the value has to look like
  a secret: see `_machine_made` and `_person_made`. A placeholder, a variable, a call, a path, a URL, a date, a
  file name, an id of evidence or a phrase in words passes. A hash or a UUID passes everywhere except right behind
  such a word, because there it usually is the secret. `user:password@host` passes only if the password is a
  placeholder (`password`, `pass`, `PASSWORD`, `${PW}`, `***`).

This module runs inside hooks that live for 60 ms. So it imports nothing but `re` and `NamedTuple`, a rule's
expression is compiled only when one of its triggers (plain substrings) is in the text, and every expression is
bounded or starts at a fixed literal, so that the time is linear in the length of the text.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Secret(NamedTuple):
    """Where a secret stands: the rule's name, the line (from 1) and the offsets `text[start:end]` of the value."""

    rule: str
    line: int
    start: int
    end: int


class Rule(NamedTuple):
    """One kind of secret.

    name:     what people read; it must not look like a secret itself.
    triggers: one of these substrings must be in the text, or the expression is not even compiled.
    pattern:  the expression. The group `v`, if there is one, is the value; otherwise the whole match is.
    judge:    the name of the test in `_JUDGES` that a match must pass; "" accepts every match.
    folded:   ignore case, in triggers (written in lower case) and in the expression.
    """

    name: str
    triggers: tuple[str, ...]
    pattern: str
    judge: str = ""
    folded: bool = False


# A token starts here: no letter or digit before it, except the tail of an escape (`\n`, `%3D`) of a quoted text.
_EDGE = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f][0-9A-Fa-f]))"
_BLANK = r"[^\S\r\n]{0,20}"
_QUOTES = "\"'`\u2018\u2019\u201c\u201d"
# Printable, no space, no quote. Chinese has no spaces, so a value also ends where CJK letters and punctuation begin.
# `-i`: under IGNORECASE `re` would fold each letter of a range when it compiles, which takes 10 ms.
_RUN = r"(?-i:[!#-&(-_a-~\u00a1-\u167f])"
_LIMIT = 128
_VALUE = rf"(?P<v>(?![;,&]){_RUN}{{8,{_LIMIT}}})"
# From the word to its value: `=`, `:`, `:=`, `=>`, `: str =`, ` is `, `是`, `为`, `>` of a tag; quotes, markdown, `b"`.
_ASSIGN = (
    rf"[\\{_QUOTES}*_\])]{{0,4}}"
    rf"(?:{_BLANK}(?::{_BLANK}[\w.|\[\]]{{1,40}}{_BLANK}=|[:=]{{1,3}}>?|[是为][:]?)|[^\S\r\n]{{1,4}}is(?=\s)|>)"
    rf"[\\*_]{{0,4}}{_BLANK}(?:[rbfu]{{1,2}}(?=[\"']))?[\\{_QUOTES}*「『【《(]{{0,4}}"
)
# What may stand between a program and its password: one plain word, and options with or without a value.
_ARGUMENTS = r"(?:[ \t]{1,4}[^\s|;&-][^\s|;&]{0,60})?(?:[ \t]{1,4}-[^\s|;&]{1,60}(?:[ \t]{1,4}[^\s|;&-][^\s|;&]{0,60})?){0,8}?[ \t]{1,4}"
_KEY_OWNERS = ("api", "access", "auth", "private", "secret", "signing", "encryption", "account", "master")
_KEY_NAMES = tuple(owner + gap + "key" for owner in _KEY_OWNERS for gap in ("", " ", "_", "-"))
_PERSON_WORDS = ("password", "passwd", "passphrase", "passcode", "pwd", "secret", "密码", "口令")
_MACHINE_WORDS = ("token", "credential", "密钥", "令牌", "私钥", "凭证", "凭据")
_PEM_BODY = r"[^-]*+(?:-(?!----)[^-]*+)*+-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"


def _prefixed(name: str, prefixes: str, rest: str, judge: str = "") -> Rule:
    """Return the rule for tokens that start with one of the `prefixes` (separated by spaces) and go on with `rest`."""
    starts = tuple(prefixes.split())
    return Rule(name, starts, _EDGE + "(?:" + "|".join(starts).replace(".", r"\.") + ")" + rest, judge)


# Where two rules match the same place the earlier one gives the name, so the exact formats come first.
RULES: tuple[Rule, ...] = (
    # A key that was cut off has no END line; then what could still be base64 goes with the header.
    Rule(
        "private-key",
        ("PRIVATE KEY",),
        rf"-----BEGIN [A-Z0-9 ]{{0,40}}PRIVATE KEY(?: BLOCK)?-----(?:{_PEM_BODY}|(?:[A-Za-z0-9+/=\s]|\\[nr])*+)",
    ),
    _prefixed("age-secret-key", "AGE-SECRET-KEY-", r"[A-Z0-9]{20,}"),
    _prefixed("aws-access-key-id", "AKIA ASIA", r"[A-Z0-9]{16}(?![A-Za-z0-9])"),
    Rule(
        "aws-secret-access-key",
        ("secretaccess", "secret access", "secret_access", "secret-access"),
        rf"secret[ _-]?access[ _-]?key{_ASSIGN}(?P<v>[A-Za-z0-9/+]{{40,}}=?)",
        folded=True,
    ),
    Rule("azure-account-key", ("accountkey=",), r"accountkey=(?P<v>[a-z0-9+/]{40,}={0,2})", folded=True),
    # An app's installation token may carry its app id and a JWT instead of random letters.
    _prefixed("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", r"(?:[A-Za-z0-9]{20,}|[0-9]{1,12}_eyJ[A-Za-z0-9_.-]{20,})"),
    _prefixed("github-fine-grained-token", "github_pat_", r"[A-Za-z0-9]{20,}[A-Za-z0-9_]*"),
    _prefixed("gitlab-token", "glpat- gldt- glrt- glptt- glcbt-", r"[A-Za-z0-9_-]{20,}(?:\.[a-z0-9]{2,})*", "token"),
    _prefixed("anthropic-key", "sk-ant-", r"[A-Za-z0-9_-]{20,}", "token"),
    _prefixed("openai-project-key", "sk-proj- sk-svcacct- sk-admin-", r"[A-Za-z0-9_-]{20,}", "token"),
    _prefixed("openai-key", "sk-", r"(?:or-v1-)?[A-Za-z0-9]{20,}"),
    _prefixed("groq-key", "gsk_", r"[A-Za-z0-9]{40,}"),
    _prefixed("google-api-key", "AIza", r"[A-Za-z0-9_-]{30,}"),
    _prefixed("google-oauth", "GOCSPX- ya29.", r"[A-Za-z0-9_-]{20,}", "token"),
    _prefixed("slack-token", "xox", r"[a-eprs](?:\.xox[bp])?-[A-Za-z0-9-]{10,}", "token"),
    _prefixed("slack-app-token", "xapp-", r"[A-Za-z0-9-]{10,}", "token"),
    _prefixed("slack-webhook", "hooks.slack.com/", r"(?:services|workflows|triggers)/[A-Za-z0-9/_+-]{20,}", "token"),
    _prefixed("npm-token", "npm_", r"[A-Za-z0-9]{30,}"),
    _prefixed("pypi-token", "pypi-", r"[A-Za-z0-9_-]{32,}", "token"),
    _prefixed("hugging-face-token", "hf_", r"[A-Za-z0-9]{30,}"),
    _prefixed("sendgrid-key", "SG.", r"[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    _prefixed("stripe-key", "sk_live_ rk_live_ sk_test_ rk_test_ whsec_", r"[A-Za-z0-9+/]{16,}=*"),
    _prefixed("twilio-key", "SK", r"[0-9a-f]{32}(?![A-Za-z0-9])"),
    _prefixed("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", r"[a-f0-9]{40,}"),
    _prefixed("docker-token", "dckr_pat_ dckr_oat_", r"[A-Za-z0-9_-]{20,}", "token"),
    _prefixed("databricks-token", "dapi", r"[0-9a-f]{32}(?:-[0-9])?(?![A-Za-z0-9])"),
    _prefixed("shopify-token", "shpat_ shpca_ shppa_ shpss_", r"[A-Fa-f0-9]{32,}"),
    _prefixed("vault-token", "hvs. hvb.", r"[A-Za-z0-9_-]{24,}", "token"),
    # The first part is the bot's number in base64, which starts with one of these pairs.
    _prefixed("discord-token", "MT Mj Mz ND NT Nj Nz OD OT", r"[A-Za-z0-9]{16,28}\.[\w-]{6}\.[A-Za-z0-9_-]{27,}"),
    Rule("telegram-token", (":AA",), r"(?<![0-9])[0-9]{8,10}:AA[A-Za-z0-9_-]{32,}"),
    _prefixed("discord-webhook", "discord.com/ discordapp.com/", r"api/webhooks/[0-9]{10,25}/[A-Za-z0-9_-]{30,}"),
    # The edge here counts `_` and `-` as inside, or a run of `eyJ-eyJ-` would be read once for each of its parts.
    Rule(
        "jwt",
        ("eyJ",),
        r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))eyJ[A-Za-z0-9_-]{8,}+\.eyJ[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*+)?",
    ),
    # `host:8080/` is a port and `image:3.19@sha256:` is a digest; the last `@` before a slash ends the password.
    Rule(
        "url-password",
        ("://",),
        rf"://[^\s/:@<>{_QUOTES}]{{0,100}}:(?![0-9]{{1,5}}[/?#])(?P<v>[^\s/<>{_QUOTES}]{{1,200}})@(?!sha256:)",
        judge="url",
    ),
    Rule(
        "authorization-header",
        ("authorization",),
        rf"authorization[\\{_QUOTES}*]{{0,4}}{_BLANK}[:=]{{1,2}}{_BLANK}[\\{_QUOTES}]{{0,3}}"
        rf"(?:bearer|basic|token)[^\S\r\n]{{1,4}}(?P<v>[a-z0-9._~+/=-]{{8,{_LIMIT}}})",
        judge="header",
        folded=True,
    ),
    Rule(
        "bearer-token",
        ("bearer",),
        rf"(?<![a-z])bearer[^\S\r\n]{{1,4}}(?P<v>[a-z0-9._~+/=-]{{16,{_LIMIT}}})",
        judge="machine",
        folded=True,
    ),
    Rule(
        "secret-option",
        ("--pass", "--token", "--secret", "--api", "--access", "-password ", "-token ", "-secret ", "-key "),
        rf"(?<![a-z0-9-])--?[a-z-]{{0,30}}(?:passw(?:or)?d|token|secret|api-?key|access-?key)[ \t]{{1,4}}"
        rf"[{_QUOTES}]?{_VALUE}",
        judge="person",
        folded=True,
    ),
    Rule(
        "login-option",
        (" -u ", "--user "),
        rf"\s(?:-u|--user)[ \t]{{1,4}}[{_QUOTES}]?[^\s:@/{_QUOTES}]{{1,100}}:{_VALUE}",
        judge="person",
    ),
    Rule(
        "password-assignment",
        _PERSON_WORDS,
        rf"(?:{'|'.join(_PERSON_WORDS)})(?:[ _-]?(?:key|value|text|[0-9]{{1,2}}))?{_ASSIGN}{_VALUE}",
        judge="person",
        folded=True,
    ),
    # `pw=`, `db_pw:`, `pass=`; shorter ones too, since nothing but a password follows.
    Rule(
        "pw-assignment",
        ("pw", "pass=", "pass ="),
        rf"(?<![a-z0-9])(?:pw{_ASSIGN}|pass{_BLANK}={_BLANK}[{_QUOTES}]{{0,2}})(?P<v>(?![;,&=]){_RUN}{{6,{_LIMIT}}})",
        judge="short",
        folded=True,
    ),
    # `.netrc` and `ENV PASSWORD x`: a blank between the word and its value.
    Rule(
        "password-entry",
        ("PASSWORD ", "PASSWORD\t", " password "),
        rf"(?:(?<![A-Za-z])login[ \t]{{1,4}}[^\s]{{1,60}}[ \t]{{1,4}}password|[A-Z]{{0,20}}_?PASSWORD)[ \t]{{1,4}}"
        rf"[{_QUOTES}]?{_VALUE}",
        judge="person",
    ),
    # The same amid prose: the value has to look like a machine's, `password hunter22` is no different from `password reset2`.
    Rule(
        "password-in-words",
        ("password ", "passwd ", "passphrase ", "passcode "),
        rf"(?<![a-z0-9-])(?:password|passwd|passphrase|passcode)[ \t]{{1,4}}[{_QUOTES}]?{_VALUE}",
        judge="machine",
        folded=True,
    ),
    # Programs whose `-p` is a password: attached for mysql, where `-p` alone asks for it.
    Rule(
        "client-password",
        ("mysql", "mariadb", "sshpass", "docker login", "mongo", "redis-cli"),
        rf"(?:(?:mysql|mariadb)[a-z-]{{0,12}}{_ARGUMENTS}-p|(?:sshpass|docker login|mongo[a-z]{{0,8}}){_ARGUMENTS}-p[ \t]{{0,4}}"
        rf"|redis-cli{_ARGUMENTS}-a[ \t]{{1,4}})[{_QUOTES}]?(?P<v>(?!-){_RUN}{{4,{_LIMIT}}})",
        judge="client",
    ),
    Rule(
        "token-assignment",
        _MACHINE_WORDS + _KEY_NAMES,
        rf"(?:token|credentials?|密钥|令牌|私钥|凭证|凭据|(?:{'|'.join(_KEY_OWNERS)})[ _-]?key)"
        rf"(?:[_-]?(?:id|value|text|[0-9]{{1,2}}))?{_ASSIGN}{_VALUE}",
        judge="machine",
        folded=True,
    ),
)

# Characters that show nothing but split a key, and the colours of a terminal.
_HIDDEN = (
    "[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff\U000e0000-\U000e007f]+"
    r"|\x1b\[[0-9;]{0,20}m"
)
# Full-width forms and the wide space, one for one, so that offsets stay as they are.
_NARROW = {0xFEE0 + code: code for code in range(0x21, 0x7F)} | {0x3000: 0x20}

_PLACEHOLDERS = (
    *("${", "{{", "{%", "%(", "***", "...", "\u2026", "xxxx", "redacted"),
    *("your", "example", "placeholder", "changeme", "change-me", "change_me", "dummy"),
)
_URL_PLACEHOLDERS = ("password", "passwd", "pass", "pwd", "pw", "secret", "token", "x-oauth-basic", "密码", "口令")
# `$NAME`, `<name>`, `{name}`, `%NAME%`, `[...]`; `self.token2`; `os.environ[`, `load_key(`.
_REFERENCE = (
    r"[<{\[(%]|\$[A-Za-z_({]|&[A-Za-z]"
    r"|(?:self|this|os|env|process|config|cfg|settings|secrets|args|options|vars?|ctx|context|req|request|inputs)\."
    r"|[A-Za-z_]+[(\[]|[A-Za-z_]\w*[._][\w.]*[(\[]"
)
# A path, a URL, a mail address, a file name, a date, an id of evidence, a digest that says so.
_PLAIN = (
    r"(?:~|\.{1,2})?/[\w.-]+(?:/[\w.@-]*)*$|[A-Za-z]:[\\/]|[A-Za-z][a-z0-9+.-]{1,20}://|[\w.+-]+@[\w.-]+\.[a-z]{2,}$"
    r"|[\w./-]+\.(?:cfg|env|go|ini|js|json|key|lock|md|pem|py|rs|sh|toml|ts|txt|ya?ml)$"
    r"|[0-9]{4}-[0-9]{2}-[0-9]{2}(?![0-9])|[0-9]{8}-[0-9a-z]{12}(?:\.[0-9]+)?$|(?:sha[0-9]{1,3}|md5)[:-][A-Za-z0-9+/=]+$"
)
_TERMS = r"sha[0-9]{1,3}|base[0-9]{2}|utf-?(?:8|16)|md5|oauth2|x86_64|argon2(?:id)?|pbkdf2|http2|k8s|[hre]s(?:256|512)"
_PART = r"(?:[a-z]+|[A-Z]+|[A-Z][a-z]+)[0-9]{0,3}|[0-9]{1,3}[a-z]*|(?:19|20)[0-9]{2}"
_compiled: dict[tuple[str, int], re.Pattern[str]] = {}


def _regex(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return the compiled expression; the first use pays for it."""
    if (pattern, flags) not in _compiled:
        _compiled[pattern, flags] = re.compile(pattern, flags)
    return _compiled[pattern, flags]


def _stands_for_one(value: str) -> bool:
    """Say whether the value is a placeholder, a reference to a variable, a call, or a plain thing such as a path."""
    if any(mark in value.lower() for mark in _PLACEHOLDERS) or ("<" in value and ">" in value):
        return True
    return any(_regex(pattern).match(value) for pattern in (_REFERENCE, _PLAIN))


def _worded(value: str) -> bool:
    """Say whether the value is words and small numbers joined by `-`, `_`, `.`, `/` or `:`, as in `sha256-based`."""
    parts = [part for part in _regex(r"[-_./:]+").split(value) if part]
    is_part = _regex(_PART).fullmatch
    return len(parts) > 1 and all(map(is_part, parts)) and any(len(p) > 3 and not p.isdigit() for p in parts)


def _random_case(value: str) -> bool:
    """Say whether a long value without digits is too mixed for `camelCase`: a quarter or more of either case."""
    quarter = len(value) / 4
    return len(value) >= 20 and sum(map(str.isupper, value)) >= quarter and sum(map(str.islower, value)) >= quarter


def _mixed(value: str) -> bool:
    """Say whether letters and digits are mixed, the names of algorithms set aside."""
    if not (any(map(str.isdigit, value)) and any(map(str.isalpha, value))):
        return False
    return any(map(str.isdigit, _regex(_TERMS, re.IGNORECASE).sub("", value)))


def _machine_made(value: str) -> bool:
    """Accept a token: letters and digits mixed, or long with random case.

    Words pass, and so do code (`f(x1)`), an amount (`8192tokens`) and a name that ends in one or two digits.
    """
    if not (_mixed(value) or _random_case(value)):
        return False
    named_or_counted = _regex(r"[A-Za-z]+[0-9]{1,2}|[0-9]{1,6}[a-z]{2,}").fullmatch(value)
    return not (named_or_counted or "(" in value or "[" in value or _worded(value) or _stands_for_one(value))


def _person_made(value: str) -> bool:
    """Accept a password: letters and digits mixed, digits alone, a sign amid letters, or long with random case.

    Words pass only if they end in a word: `base64-encoded` is prose, `winter-2026` is a password.
    """
    signs_inside = value[0].isalpha() and any(sign in value[1:-1] for sign in "!@#$%^&*")
    if not (signs_inside or value.isdigit() or _mixed(value) or _random_case(value)):
        return False
    return not ((value[-1].isalpha() and _worded(value)) or _stands_for_one(value))


def _header_value(value: str) -> bool:
    """Accept what follows `Authorization: Bearer`, unless it is a placeholder or plain words."""
    plain_word = value.isalpha() and (value.islower() or value.isupper() or value.istitle())
    return not (_stands_for_one(value) or _worded(value) or plain_word)


def _url(value: str) -> bool:
    """Accept a password in a URL, however weak, unless it says that it stands for one."""
    named = value.lower() in _URL_PLACEHOLDERS or _regex(r"[A-Z_]+|[xX]+|[*.]+").fullmatch(value) is not None
    return not (named or any(mark in value.lower() for mark in _PLACEHOLDERS) or _regex(r"[{\[%$]").match(value))


def _client(value: str) -> bool:
    """Accept whatever a program takes for a password, unless it stands for one or is a port."""
    if _regex(r"[A-Z_]+|[xX]+|[*.]+|[0-9]{1,5}(?::[0-9]{1,5})?").fullmatch(value) or _stands_for_one(value):
        return False
    return value.lower() not in ("password", "passwd", "pass", "passphrase")


def _token(value: str) -> bool:
    """Accept a token of a known format, unless it is spelled in words: `glpat-your-personal-access-token`."""
    parts = [part for part in _regex(r"[-_./]+").split(value) if part]
    return len(parts) < 3 or not all(part.isalpha() and part.islower() for part in parts)


_JUDGES = {
    "person": _person_made, "short": _person_made, "machine": _machine_made, "header": _header_value, "url": _url,
    "client": _client, "token": _token,
}  # fmt: skip
_SHORTEST = {"person": 8, "short": 6, "machine": 8, "client": 4}
"""Judges whose values have no shape of their own, and the length from which a value counts."""


def _value_end(rule: Rule, text: str, start: int, end: int) -> int:
    """Return where the value really ends, or `start` if it is no secret."""
    if not rule.judge:
        return end
    value = text[start:end]
    if rule.judge in _SHORTEST:
        # `a=1;b=2`, `a=1&b=2` and `</tag>` begin something else; punctuation behind a value belongs to the sentence.
        value = _regex(r"[;&,][\w-]+[=:]|</").split(value, maxsplit=1)[0].rstrip(".,;:)]}>\\*")
        if len(value) < _SHORTEST[rule.judge]:
            return start
    if not _JUDGES[rule.judge](value):
        return start
    if end - start >= _LIMIT and len(value) == end - start:
        # The expression stops at a limit to stay linear; the rest of an accepted value must go too.
        rest = _regex(rf"{_RUN}*").match(text, end)
        return rest.end() if rest else end
    return start + len(value)


def _matches(rule: Rule, text: str) -> list[tuple[int, int]]:
    """Return the spans of one rule. After a refused value the search goes on inside it: `a=${b}&c=...`."""
    regex = _regex(rule.pattern, re.IGNORECASE if rule.folded else 0)
    group = "v" if "v" in regex.groupindex else 0
    spans: list[tuple[int, int]] = []
    at = 0
    while match := regex.search(text, at):
        start, end = match.span(group)
        stop = _value_end(rule, text, start, end)
        if stop > start:
            spans.append((start, stop))
            at = stop
        else:
            at = start if group else end
    return spans


def _scan(text: str) -> list[tuple[int, int, int]]:
    """Return (start, end, rank of the rule) for every match of every rule whose trigger is in the text."""
    folded = text.lower()
    return [
        (start, end, rank)
        for rank, rule in enumerate(RULES)
        if any(trigger in (folded if rule.folded else text) for trigger in rule.triggers)
        for start, end in _matches(rule, text)
    ]


def _scan_without_hidden(text: str) -> list[tuple[int, int, int]]:
    """Scan again without characters that nobody sees; the spans are those of the text as it is."""
    pieces: list[str] = []
    offsets: list[int] = []
    at = 0
    for hidden in _regex(_HIDDEN).finditer(text):
        pieces.append(text[at : hidden.start()])
        offsets.extend(range(at, hidden.start()))
        at = hidden.end()
    if at == 0:
        return []
    pieces.append(text[at:])
    offsets.extend(range(at, len(text)))
    return [(offsets[start], offsets[end - 1] + 1, rank) for start, end, rank in _scan("".join(pieces))]


def find_secrets(text: str) -> list[Secret]:
    """Return where `text` holds secrets, in order and without overlap; the values themselves are not returned.

    Full-width forms count as their narrow ones, and hidden characters do not split a secret. Matches that overlap
    become one finding, named by the most specific rule. An empty list means that nothing was found.
    """
    if not text.isascii():
        text = text.translate(_NARROW)
    spans = _scan(text)
    if not text.isascii() or "\x1b" in text:
        spans += _scan_without_hidden(text)
    merged: list[tuple[int, int, int]] = []
    for start, end, rank in sorted(spans):
        if merged and start < merged[-1][1]:
            first, last, best = merged[-1]
            merged[-1] = (first, max(last, end), min(best, rank))
        else:
            merged.append((start, end, rank))
    found: list[Secret] = []
    line, at = 1, 0
    for start, end, rank in merged:
        line += text.count("\n", at, start)
        at = start
        found.append(Secret(RULES[rank].name, line, start, end))
    return found


def redact(text: str) -> str:
    """Return `text` with each secret replaced by `[redacted: <rule>]`; `find_secrets` finds nothing in the result."""
    # A replacement changes what its neighbours stand next to, so look again. This settles at once in practice.
    for _ in range(8):
        found = find_secrets(text)
        if not found:
            return text
        pieces: list[str] = []
        at = 0
        for secret in found:
            pieces += (text[at : secret.start], f"[redacted: {secret.rule}]")
            at = secret.end
        text = "".join(pieces) + text[at:]
    return "[redacted]" if find_secrets(text) else text


def rule_of(text: str) -> str:
    """Return the rule of the first secret in a text, or of the first that `redact` took out of it; "" for neither."""
    found = find_secrets(text)
    if found:
        return found[0].rule
    gone = _regex(r"\[redacted(?:: ([a-z0-9-]{1,60}))?\]").search(text)
    return (gone[1] or "redacted") if gone else ""

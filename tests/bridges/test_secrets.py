"""What counts as a secret, what passes, and what the scan may cost.

Every example is invented and joined at run time, so that no line of this file looks like a secret.
"""

from __future__ import annotations

import base64
import hashlib
import subprocess
import sys
import uuid
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from instinct_git.bridges import secrets
from instinct_git.bridges.secrets import RULES, Secret, find_secrets, redact


def join(*pieces: str) -> str:
    return "".join(pieces)


MIXED = "a1B2c3D4e5F6g7H8i9J0"
HEX = "0f1e2d3c4b5a69788796a5b4c3d2e1f0"
PASSWORD = join("Tr0ub", "4dor", "xyz")
JWT = join("ey", "JhbGciOiJIUzI1NiJ9", ".ey", "JzdWIiOiIxMjM0In0", ".", MIXED)
PEM = join("-----BEGIN RSA PRIV", "ATE KEY-----\nMIIE", MIXED, "\n", MIXED, "==\n-----END RSA PRIV", "ATE KEY-----")

# rule -> (what stands before the value, the value, what stands after it)
EXAMPLES: dict[str, tuple[str, str, str]] = {
    "private-key": ("the key is\n", PEM, "\nas agreed"),
    "age-secret-key": ("", join("AGE-SEC", "RET-KEY-1", "Q2W3E4R5T6Y7U8" * 4), ""),
    "aws-access-key-id": ("use ", join("AK", "IA", "Q2W3E4R5T6Y7U8I9"), " here"),
    "aws-secret-access-key": (join("aws_secret_", "access_key = "), MIXED * 2, ""),
    "azure-account-key": (join("AccountName=n;Account", "Key="), join(MIXED * 4, "abcdef=="), ";Suffix=x"),
    "github-token": ("", join("gh", "p_", "a1B2" * 9), ""),
    "github-fine-grained-token": ("", join("github", "_pat_", MIXED, "ab_", MIXED * 2), ""),
    "gitlab-token": ("", join("gl", "pat-", MIXED), ""),
    "anthropic-key": ("", join("sk", "-ant-", "api03-", MIXED * 3), ""),
    "openai-project-key": ("", join("sk", "-proj-", MIXED, "_", MIXED), ""),
    "openai-key": ("", join("sk", "-", MIXED * 2), ""),
    "groq-key": ("", join("gs", "k_", MIXED * 3), ""),
    "google-api-key": ("", join("AI", "za", "Sy", MIXED, "k1L2m3N4o5P6q"), ""),
    "google-oauth": ("", join("GOC", "SPX-", MIXED, "k1L2"), ""),
    "slack-token": ("", join("xo", "xb-", "123456789012-", MIXED), ""),
    "slack-app-token": ("", join("xa", "pp-", "1-A0B1C2D3E-123456789012-", MIXED), ""),
    "slack-webhook": ("https://", join("hooks.", "slack.com/serv", "ices/T01ABCDEF/B01ABCDEF/", MIXED), ""),
    "npm-token": ("", join("np", "m_", "a1B2" * 9), ""),
    "pypi-token": ("", join("py", "pi-", "AgEIcHlwaS5vcmc", MIXED * 3), ""),
    "hugging-face-token": ("", join("h", "f_", "aBcDeFgHiJkLmNoPq" * 2), ""),
    "sendgrid-key": ("", join("S", "G.", MIXED, "ab.", MIXED * 2, "abc"), ""),
    "stripe-key": ("", join("sk", "_live_", MIXED, "abcd"), ""),
    "twilio-key": ("", join("S", "K", HEX), ""),
    "digitalocean-token": ("", join("dop", "_v1_", HEX * 2), ""),
    "docker-token": ("", join("dckr", "_pat_", MIXED, "abcdefg"), ""),
    "databricks-token": ("", join("da", "pi", HEX), ""),
    "shopify-token": ("", join("shp", "at_", HEX), ""),
    "vault-token": ("", join("hv", "s.", MIXED, "abcd"), ""),
    "discord-token": ("", join("MT", "k4NzY1NDMyMTA5ODc2NTQz", ".", "GaBcDe", ".", MIXED, "aB3dE5gH"), ""),
    "telegram-token": ("https://api.telegram.org/bot", join("123456789:", "AA", "Ha1B2c3D4" * 4), "/getMe"),
    "discord-webhook": ("https://", join("discord", ".com/api/web", "hooks/123456789012345678/", MIXED * 3), ""),
    "jwt": ("cookie ", JWT, ""),
    "url-password": (join("postgres:", "//app:"), PASSWORD, "@db.internal:5432/app"),
    "authorization-header": (join("curl -H 'Author", "ization: Basic "), "dXNlcjpwYXNzd29yZA==", "'"),
    "bearer-token": (join("send bea", "rer "), MIXED, " along"),
    "secret-option": (join("deploy --pass", "word "), PASSWORD, " --force"),
    "login-option": ("curl -u admin:", PASSWORD, " https://host/"),
    "password-assignment": (join("pass", "word = "), PASSWORD, ""),
    "pw-assignment": (join("p", "w="), PASSWORD, ""),
    "password-entry": (join("ENV DB_PASS", "WORD "), PASSWORD, ""),
    "password-in-words": (join("log in with pass", "word "), MIXED, " now"),
    "client-password": (join("my", "sql -u root -p"), PASSWORD, " shop"),
    "token-assignment": (join("API_", "KEY="), MIXED, ""),
}

# how an assignment may be written; `{}` is the value
ASSIGNMENTS = [
    join("PASS", "WORD={}"),
    join("DB_PASS", 'WORD: "{}"'),
    join('{{"pass', 'word": "{}"}}'),
    join('{{\\"pass', 'word\\": \\"{}\\"}}'),
    join("pass", "wd := '{}'"),
    join("p", "wd=>{}"),
    join("client_sec", "ret = b'{}'"),
    join("SECRET_", "KEY = `{}`"),
    join("**Pass", "word:** {}"),
    join("<pass", "word>{}</pass", "word>"),
    join("Server=db;P", "wd={};Database=app1"),
    join("pass", 'word: str = "{}"'),
    join("the pass", "word is {}."),
    join("x-api-", "key: {}"),
    join("access_", "token={}&scope=all2"),
    join("private ", "key: {}"),
    join("credent", "ials: {}"),
    join("密", "码:{}"),
    join("密", "码\uff1a{}\uff0c不要外传"),
    join("数据库密", "码是{}。"),
    join("口", "令为 {}"),
    join("密", "钥 \uff1d {}"),
    join("令", "牌\uff1a\u300c{}\u300d"),
]

# a password that the words around it give away, however weak; `{}` is the value
GIVEN_AWAY = [
    (join("p", "w={}"), "abc123"),
    (join("db_p", "w: '{}'"), "hunter2"),
    (join("P", "W={}"), "hunter2"),
    (join("DB_P", "W = {}"), "winter-2026"),
    (join("p", "w is {}"), "hunter22"),
    (join("user=app pa", "ss={}"), "hunter22"),
    (join("machine h login u pass", "word {}"), "hunter22"),
    (join("ENV PASS", "WORD {}"), "hunter22"),
    (join("PGPASS", "WORD {}"), "hunter22"),
    (join("the pass", "word is {}"), "hunter22"),
    (join("pass", "phrase {}"), PASSWORD),
    (join("pass", "word {} works"), MIXED),
    (join("my", "sql -p{}"), "Secret"),
    (join("my", "sql shop -uroot -p{}"), "sesame"),
    (join("my", "sqldump -h db -P 3306 -u root -p'{}' shop"), "sesame"),
    (join("mari", "adb --host=db -p{} shop"), "sesame"),
    (join("ssh", "pass -p {} ssh host"), "sesame"),
    (join("ssh", "pass -p'{}' ssh host"), "sesame"),
    (join("docker lo", "gin -u me -p {}"), "sesame"),
    (join("mongo", "dump -u me -p {} --db shop"), "sesame"),
    (join("redis", "-cli -h cache -a {} ping"), "sesame"),
]

PROSE = [
    "password reset flow",
    "the password reset2 page and the PASSWORD RESET flow",
    "password argument2 is passed on; a password field_12",
    "password sha256-hash, password base64-encoded, password pbkdf2-sha256",
    "the password must have 12345 tries",
    "pw=$PW",
    'pw="${PW}"',
    "pw=<password> and pw=changeme and pw=your-password-1",
    "pw = getpass()",
    "pw: ask the team",
    "pw.length and pw_hash_2 and spw=1",
    "pass=true, pass=3, pass = 100%; bypass=abc12345",
    "passes=12345678 compass=north12",
    "mkdir -p build/out2 && cp -pr a b",
    "serve -p 8080, ssh -p 2222 host, docker run -p 8080:80 web",
    "docker run --name mysql -p3306:3306 mysql:8",
    "docker run --name mysql -p 3306:3306 -e A=b mysql:8",
    "install mysql && mkdir -pv /data",
    "use mysql then mkdir -pvm 700 /data; tar -pxzf a.tgz",
    "mysql -p$PW shop",
    'mysql -u root -p"$DB_PASS" shop',
    "mysql -u root -p shop",
    "mysql -u root -p",
    "mysql -uroot -pPASSWORD shop; mysql -ppassword; mysql -p<password>; mysql -p${PW}; mysql -p****",
    "mysql --protocol=tcp --port 3306",
    "sshpass -p $PW ssh host; sshpass -e ssh host; sshpass -f file ssh host",
    "docker login -u me --password-stdin",
    "docker login -u me -p $TOKEN",
    "mongo -p --host db",
    "redis-cli -h cache -p 6379",
    "ENV PASSWORD $SECRET",
    "login form, password field",
    "",
    "run the tests before committing",
    "the token budget: 800 tokens",
    "password: ask the team lead",
    "pref:token=bearer",
    'password = os.environ["DB_PASSWORD"]',
    "password = os.environ['DB_PASSWORD_2']",
    'token = os.getenv("TOKEN2", "")',
    "token = load_token_v2(path)",
    "token = b64encode(login).decode()",
    "password = getpass.getpass()",
    "password = self.password2",
    "const token = process.env.API_TOKEN_1;",
    "api_key: ${API_KEY}",
    "api_key: ${{ secrets.KEY_2 }}",
    "export API_TOKEN=$TOKEN_2_FOR_CI",
    "token=<your-token>",
    "token=<token-1234>",
    "secret: ********",
    "password: xxxxxxxx1",
    "password=changeme123",
    "api_key = 'your-api-key-123'",
    "token: sha256-based",
    "token: base64url encoded",
    "the password is pbkdf2-sha256 hashed",
    "the token is refreshed every 3600seconds",
    "token: 2026-05-01T10:00:00Z",
    "secret: ./secrets/prod1/key2.pem",
    "PWD=/home/user1/project2",
    "token: https://example.com/docs/page1",
    "password: user1@example.com",
    "token = parseToken2",
    "token: getUserAccessTokenFromRequest",
    "def login(password: str | None = None, token: Optional[str] = None) -> None: ...",
    "max_tokens=8192tokens",
    "secret: 20260501-7kq2m9x4tnab.3",
    "evidence 20260501-7kq2m9x4tnab.3 counts once",
    "commit " + hashlib.sha1(b"commit").hexdigest(),
    "commit " + hashlib.sha256(b"commit").hexdigest(),
    "digest sha256:" + hashlib.sha256(b"digest").hexdigest(),
    "token: sha256:" + hashlib.sha256(b"digest").hexdigest(),
    f"session {uuid.UUID(int=2**127 + 12345)} ended",
    *(base64.b64encode(word).decode() for word in (b"test", b"hello", b"run tests", b"before committing")),
    "see https://example.com/path?q=1#part and http://localhost:8080/a@b",
    "ssh://git@github.com:22/owner/repo.git and git@github.com:owner/repo.git",
    "docker://alpine:3.19@sha256:0123",
    "postgres://user:password@host/db",
    "postgres://user:${DB_PASS}@host/db",
    "postgres://USER:PASSWORD@host/db",
    "postgres://user:***@host/db",
    "Authorization: Bearer <token>",
    "Authorization: Bearer $TOKEN",
    "Authorization: Bearer authentication is required",
    "use bearer authentication-tokens",
    "docker run -u 1000:1000 image",
    "pass --token to the tool, or --password-stdin",
    "glpat-your-personal-access-token",
    "the risk-averse task-runner-of-the-disk-based-queue",
    "npm_config_registry and shelf_life and hf_hub",
    "-----BEGIN CERTIFICATE-----",
    "keep passwords out of files; tokens too",
    join("密", "码: 请联系管理员"),
    join("密", "码\uff1a请联系管理员"),
    join("密", "码是什么\uff1f"),
    join("令", "牌为空时跳过测试"),
    join("口", "令长度至少 12 位"),
    "提交之前先运行测试",
]


def names(text: str) -> list[str]:
    return [secret.rule for secret in find_secrets(text)]


def test_every_rule_has_an_example() -> None:
    assert list(EXAMPLES) == [rule.name for rule in RULES]


@pytest.mark.parametrize("rule", EXAMPLES)
def test_each_rule_finds_exactly_the_value_of_its_example(rule: str) -> None:
    before, value, after = EXAMPLES[rule]
    (secret,) = find_secrets(before + value + after)
    assert secret.rule == rule
    assert (before + value + after)[secret.start : secret.end] == value


@pytest.mark.parametrize("rule", EXAMPLES)
def test_each_example_is_found_between_chinese_characters(rule: str) -> None:
    assert names("请用" + "".join(EXAMPLES[rule]) + "连接") == [rule]


@pytest.mark.parametrize("rule", EXAMPLES)
def test_each_example_holds_a_trigger_of_its_rule(rule: str) -> None:
    text = "".join(EXAMPLES[rule])
    wanted = next(r for r in RULES if r.name == rule)
    assert any(trigger in (text.lower() if wanted.folded else text) for trigger in wanted.triggers)


@pytest.mark.parametrize("form", ASSIGNMENTS)
@pytest.mark.parametrize("value", [PASSWORD, MIXED, HEX], ids=["password", "mixed", "hex"])
def test_an_assignment_is_found_however_it_is_written(form: str, value: str) -> None:
    text = form.format(value)
    (secret,) = find_secrets(text)
    assert text[secret.start : secret.end] == value


@pytest.mark.parametrize("value", ["hunter22", "winter-2026", "P@ssword!x", "12345678", "Ab3$kd9&f8x", "päss1word"])
def test_a_password_that_a_person_would_choose_is_found(value: str) -> None:
    assert names(join("pass", "word: ") + value) == ["password-assignment"]


@pytest.mark.parametrize(("form", "value"), GIVEN_AWAY)
def test_a_password_that_its_surroundings_give_away_is_found(form: str, value: str) -> None:
    text = form.format(value)
    assert [text[secret.start : secret.end] for secret in find_secrets(text)] == [value]


@pytest.mark.parametrize("text", PROSE)
def test_prose_passes(text: str) -> None:
    assert find_secrets(text) == []
    assert redact(text) == text


def test_this_file_and_the_module_pass_their_own_scan() -> None:
    for path in (__file__, secrets.__file__):
        assert find_secrets(Path(path).read_text(encoding="utf-8")) == []


def test_a_finding_says_where_and_never_what() -> None:
    value = EXAMPLES["github-token"][1]
    text = f"one\ntwo {value}\n\n{join('pass', 'word')}={PASSWORD}\n"
    found = find_secrets(text)
    assert [(s.rule, s.line) for s in found] == [("github-token", 2), ("password-assignment", 4)]
    assert found[0] == Secret("github-token", 2, 8, 8 + len(value))
    assert value not in repr(found)
    assert PASSWORD not in repr(found)


def test_the_exact_format_names_a_finding_that_two_rules_share() -> None:
    value = EXAMPLES["github-token"][1]
    assert names(join("GITHUB_TO", "KEN=") + value) == ["github-token"]
    assert redact(join("https:", "//x:") + value + "@github.com/o/r") == join(
        "https:", "//x:[redacted: github-token]@github.com/o/r"
    )


@pytest.mark.parametrize("hidden", ["\u200b", "\u2060", "\ufeff", "\u00ad", "\U000e0041", "\x1b[31m"], ids=ascii)
@pytest.mark.parametrize("rule", ["github-token", "aws-access-key-id", "anthropic-key", "password-assignment"])
def test_hidden_characters_do_not_hide_a_secret(rule: str, hidden: str) -> None:
    before, value, after = EXAMPLES[rule]
    split = value[:3] + hidden + value[3:7] + hidden + value[7:]
    text = "go " + before[:2] + hidden + before[2:] + split + after
    (secret,) = find_secrets(text)
    assert secret.rule == rule
    assert redact(text) == text.replace(split, f"[redacted: {rule}]")


def test_full_width_letters_and_signs_do_not_hide_a_secret() -> None:
    text = join("token", "=", MIXED)
    wide = "".join(chr(ord(char) + 0xFEE0) for char in text)
    assert [(s.start, s.end) for s in find_secrets(wide)] == [(6, 6 + len(MIXED))]


def test_a_secret_behind_an_escape_or_a_colour_is_found() -> None:
    for before in ("done\\n", "a%3D", "\x1b[32m", "\x1b[0;32m"):
        assert names(before + EXAMPLES["anthropic-key"][1]) == ["anthropic-key"]


def test_a_variable_does_not_cover_the_secret_that_follows_it() -> None:
    text = join("pass", "word=${PW}&api_", "key=", MIXED)
    assert redact(text) == join("pass", "word=${PW}&api_", "key=[redacted: token-assignment]")


def test_a_very_long_value_is_redacted_to_its_end() -> None:
    assert redact(join("to", "ken=") + MIXED * 50 + " end") == join("to", "ken=[redacted: token-assignment] end")


def test_a_key_without_its_end_line_is_redacted_with_its_body() -> None:
    assert redact("a\n" + PEM[: PEM.index("==")]) == "a\n[redacted: private-key]"


def test_two_keys_in_a_row_are_two_findings() -> None:
    assert redact(f"{PEM}\n\n{PEM}\nend") == "[redacted: private-key]\n\n[redacted: private-key]\nend"


PLANTED = st.sampled_from(
    ["".join(example) for example in EXAMPLES.values()] + [form.format(MIXED) for form in ASSIGNMENTS]
)
GLUE = st.sampled_from(["", " ", "\n", ": ", "=", "\uff0c", "\u200b", '"', "\\n", "&", "@"])


@given(st.lists(st.tuples(st.one_of(st.sampled_from(PROSE), PLANTED, st.text(max_size=12)), GLUE), max_size=8))
def test_redacted_text_holds_no_findings_and_stays_as_it_is(parts: list[tuple[str, str]]) -> None:
    clean = redact("".join(text + glue for text, glue in parts))
    assert find_secrets(clean) == []
    assert redact(clean) == clean


@given(st.lists(st.tuples(st.sampled_from(PROSE), PLANTED), min_size=1, max_size=5))
def test_planted_secrets_are_found_in_order_without_overlap(parts: list[tuple[str, str]]) -> None:
    text = "".join(f"{prose}\n{planted}\n" for prose, planted in parts)
    found = find_secrets(text)
    assert len(found) == len(parts)
    for secret, following in pairwise(found):
        assert secret.end <= following.start
    for secret in found:
        assert secret.line == text.count("\n", 0, secret.start) + 1


@given(st.text())
def test_any_text_can_be_scanned(text: str) -> None:
    for secret in find_secrets(text):
        assert 0 <= secret.start < secret.end <= len(text)


ADVERSARIAL = [
    "my" + "sql -a b ",
    "mysql",
    "login a ",
    "p" + "w=",
    "eyJ",
    "eyJaaaaaaaa.",
    "eyJ-",
    "-----BEGIN PRIV" + "ATE KEY-----\n",
    "-----BEGIN PRIV" + "ATE KEY-----a-b-",
    "-",
    "--a",
    "--to" + "ken ",
    "://",
    "://a:",
    "://" + "a:" + "b@",
    "pass" + "word=",
    "pass" + "word:aaaa ",
    "pass" + "word                    ",
    "to" + "ken=${a}&",
    "is",
    "token is ",
    "Authorization: Bearer ",
    "密码",
    "密码是",
    "1",
    "1:AA",
    "SG.",
    "SG.aaaaaaaaaaaaaaaa.",
    "sk-",
    "sk-ant-a-",
    "gl" + "pat-abcdefghijklmnopqrst-",
    "xoxb-a-",
    "MTaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "MT.aaaaaa.",
    "gh" + "p_",
    "xox",
    "xoxb.xox",
    "\u200b",
    "a\u200b",
    "\x1b[",
    "\x1b[31m",
    " -u a:",
    " ",
    "\n",
    "a.",
    "a-",
]


@pytest.mark.parametrize("size", [60_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("unit", ADVERSARIAL, ids=ascii)
def test_a_repeated_trap_is_scanned_to_its_end(unit: str, size: int) -> None:
    opening = join("ey", "J -- :// bea", "rer pass", "word token api_", "key MT SG. :AA sk- xox \n")
    find_secrets(opening + unit * (size // len(unit)))


def test_importing_the_module_imports_nothing_heavy_and_compiles_no_rule() -> None:
    code = (
        "import __future__, importlib.util, re, sys, typing\n"
        "before = set(sys.modules)\n"
        f"spec = importlib.util.spec_from_file_location('scan', {secrets.__file__!r})\n"
        "module = importlib.util.module_from_spec(spec); sys.modules['scan'] = module\n"
        "spec.loader.exec_module(module)\n"
        "assert module._compiled == {}, module._compiled\n"
        "module.find_secrets('run the tests before committing')\n"
        "assert module._compiled == {}, module._compiled\n"
        "print(*sorted(set(sys.modules) - before))\n"
        "heavy = {'git', 'yaml', 'typer', 'mcp', 'dataclasses', 'hashlib', 'unicodedata', 'json'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    ran = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split() == ["scan"]

"""The weekly report and candidates.json of a real memory, walked day by day to a Sunday."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from instinct_git import InstinctError
from instinct_git.core.model import Evidence
from instinct_git.core.weekly import Waiting
from instinct_git.faces import weekly
from instinct_git.operations.workspace import Workspace
from instinct_git.storage import breaker_log, files, inbox
from instinct_git.storage.breaker_log import Entry
from tests.builders import Project, Ran, git
from tests.conftest import Clock

GOLDEN = Path(__file__).parents[1] / "golden"
BLOG = "seq:write->proofread->publish"


def bring(project: Project, clock: Clock, kind: str, key: str, /, by: str = "", **extra: Any) -> None:
    space = Workspace(files.locate(project.root, files.instinct_home()), clock)
    inbox.put(space.place, [Evidence("", key, kind, by=by, extra=extra)], space.day())


def the_story(project: Project, clock: Clock) -> None:
    """A pool as a team would have it on Sunday, 8 March 2026 (week 10), each day's batch committed."""
    memory = project.memory(clock)

    def on(day: str) -> None:
        clock.moment = datetime.fromisoformat(f"{day}T09:00:00+00:00").astimezone(UTC)

    def remember(title: str, key: str, score: str = "0.40", **options: Any) -> None:
        memory.remember(title, key=key, score=score, why="as the team says", **options)

    on("2025-11-03")
    memory.observe("note:old-habit", title="Clear the browser's cache")
    memory.consolidate()
    on("2026-01-05")
    remember("Warm the cache by hand", "note:warm-cache")
    on("2026-01-12")
    remember("Rotate the logs", "note:rotate-logs")
    on("2026-02-24")
    remember("Pin the compiler", "note:pin-compiler", "0.45")
    remember("Freeze the API before a release", "fix:freeze-api", "0.50")
    remember("Ask before renaming a table", "note:rename-tables")
    remember("Label every issue", "note:label-issues")
    memory.decay()
    on("2026-03-02")
    remember("Publish a blog post", BLOG, context="blog", kind="skill", steps=("write", "proofread", "publish"))
    for day, context in (
        ("2026-03-03", "blog"),
        ("2026-03-04", "docs"),
        ("2026-03-05", "docs"),
        ("2026-03-06", "docs"),
    ):
        on(day)
        memory.feedback(BLOG, "succeeded", context=context, source="claude-code")
        if day == "2026-03-05":
            memory.feedback(BLOG, "confirmed")
    memory.feedback("note:pin-compiler", "failed")
    bring(project, clock, "proposed", "fix:freeze-api", kind="rule", n=0, to="instinct/rule/freeze-api")
    bring(project, clock, "approved", "note:rename-tables", by="human:ada", kind="memory", n=0, to="memory/MEMORY.md")
    bring(project, clock, "rejected", "note:label-issues", kind="memory", n=0, why="too much work")
    on("2026-03-08")
    memory.decay()


def text_of(project: Project, clock: Clock, lang: str = "en", week: str = "") -> str:
    return "\n".join(weekly.text_lines(weekly.page(project.memory(clock).report(week), lang))) + "\n"


FIVE = {
    "en": [
        "Pool:               4 candidates: 2 collecting, 1 nominated, 1 proposed",
        "Reused this week:   5 times: 4 worked, 1 failed",
        "Awaiting review:    2",
        "Expiring soon:      1 within 7 days",
        "Cleaned this week:  2: 1 expired, 1 faded",
    ],
    "zh": [
        "候选池：    4 个候选：收集中 2，已提名 1，已提交评审 1",
        "本周复用：  5 次：成功 4 次，失败 1 次",
        "待审核：    2 个",
        "即将过期：  7 天内 1 个",
        "本周清理：  2 个：过期 1 个，淡出 1 个",
    ],
}


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_five_lines_of_a_weekly_report(project: Project, clock: Clock, lang: str) -> None:
    the_story(project, clock)
    assert text_of(project, clock, lang).split("\n")[2:7] == FIVE[lang]


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("form", ["text", "md", "html"])
def test_the_whole_report_is_the_golden_one(project: Project, clock: Clock, lang: str, form: str) -> None:
    the_story(project, clock)
    page = weekly.page(project.memory(clock).report(), lang)
    made = {
        "text": lambda: "\n".join(weekly.text_lines(page)) + "\n",
        "md": lambda: weekly.markdown(page),
        "html": lambda: weekly.html_page(page),
    }[form]()
    assert made == (GOLDEN / f"weekly.{lang}.{'txt' if form == 'text' else form}").read_text(encoding="utf-8")


def test_a_batch_and_a_shallow_clone_change_no_number(project: Project, clock: Clock, tmp_path: Path) -> None:
    the_story(project, clock)
    project.memory(clock).feedback(BLOG, "succeeded", context="wiki")
    waiting = project.memory(clock).report()
    assert (waiting.waiting.inbox, waiting.waiting.command) == (1, "instinct consolidate")
    project.memory(clock).consolidate()
    folded = project.memory(clock).report()
    assert folded == waiting._replace(waiting=folded.waiting)
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{project.root}", "ci")
    assert Project(tmp_path / "ci").memory(clock).report() == folded


def test_a_past_week_can_be_told_later_as_it_was(project: Project, clock: Clock) -> None:
    the_story(project, clock)
    then = project.memory(clock).report()
    clock.forward(3)
    project.memory(clock).feedback(BLOG, "denied")
    bring(project, clock, "rejected", BLOG, kind="skill", n=4)
    later = project.memory(clock).report("2026-W10")
    assert later.waiting == Waiting(), "what waits now is no part of a past week"
    assert later == then._replace(current=False)
    project.memory(clock).consolidate()
    assert project.memory(clock).report("2026-W10") == later
    assert [row.pattern for row in project.memory(clock).report().sections["rejected"]] == [BLOG]
    week_before = project.memory(clock).report("2026-W09")
    assert (week_before.size, week_before.worked) == (6, 0)
    assert [row.on for row in week_before.sections["expiring"]] == ["2026-03-06"]


def test_what_was_recorded_and_waits_to_be_folded_is_told(project: Project, clock: Clock) -> None:
    memory = project.memory(clock)
    memory.observe(BLOG)
    memory.record()
    clock.forward(1)
    memory.observe(BLOG)
    waiting = memory.report().waiting
    assert (waiting.inbox, waiting.inbox_since, waiting.recorded, waiting.recorded_since) == (
        1,
        "2026-03-03",
        1,
        "2026-03-02",
    )
    assert "收件箱 1 条（自 2026-03-03 起），已记录 1 条" in text_of(project, clock, "zh")
    memory.configure("consolidate", "default-branch")
    assert memory.report().waiting.command == "instinct record"


def trip_daily(project: Project, clock: Clock) -> None:
    for word in ("apple", "bridge", "candle", "desert", "engine", "forest"):
        bring(project, clock, "candidate", f"note:{word}", x="implicit", score="0.40")


def test_breakers_are_told_with_until_when_and_what_they_held(project: Project, clock: Clock) -> None:
    trip_daily(project, clock)
    space = Workspace(files.locate(project.root, files.instinct_home()), clock)
    breaker_log.add(space.place, [Entry("2026-03-02", "held", "daily", "seq:a->b")])
    assert "7 new automatic candidates today, 5 are allowed" in text_of(project, clock)
    told = text_of(project, clock, "zh")
    assert "当天新增自动候选 7 个，上限 5 个：暂停提取至 2026-03-03" in told
    assert "2026-03-02 因 每日上限 熔断" in told
    clock.forward(1)
    assert project.memory(clock).report().trips == ()
    assert [row.pattern for row in project.memory(clock).report().sections["held"]] == ["seq:a->b"]


@pytest.mark.parametrize(
    ("key", "told"), [("seq:a->b", "操作序列类的技能连续被拒 3 次（上限 3 次）：暂停此类新候选至 2026-03-09")]
)
def test_a_pause_is_told_in_chinese_with_category_and_kind(project: Project, clock: Clock, key: str, told: str) -> None:
    bring(project, clock, "candidate", key, x="explicit", score="0.40", kind="skill")
    for _ in range(3):
        bring(project, clock, "rejected", key, n=0)
    assert told in text_of(project, clock, "zh")


def test_near_duplicates_are_told_in_chinese(project: Project, clock: Clock) -> None:
    for title in ("博客发布流程", "发布博客的流程", "流程：发布博客"):
        project.memory(clock).remember(title)
    assert "3 个候选内容相同（note:博客发布流程、" in text_of(project, clock, "zh")


def test_every_word_is_said_in_both_languages() -> None:
    english, chinese = weekly._WORDS["en"], weekly._WORDS["zh"]
    assert english.keys() == {name for name in chinese if not name.endswith(" trip")}
    holes = re.compile(r"{(\w+)}")
    for name, text in english.items():
        assert set(holes.findall(text)) - {"s"} == set(holes.findall(chinese[name])), name
    from instinct_git.core.candidates import KINDS, STATUSES
    from instinct_git.core.keys import CATEGORIES
    from instinct_git.operations.breaking import NAMES

    assert {*KINDS, *STATUSES, *CATEGORIES, *NAMES} == weekly._TERMS["zh"].keys()


@pytest.mark.parametrize(
    ("by", "told"),
    [("human:ada", "由 ada 审批"), ("human:unknown", "由 不明人士 审批"), ("human:memory", "由 memory 审批")],
)
def test_who_answered_is_told(project: Project, clock: Clock, by: str, told: str) -> None:
    project.memory(clock).remember("words", key="note:a")
    bring(project, clock, "approved", "note:a", by=by, n=0)
    assert told in text_of(project, clock, "zh")


HOSTILE = '<script>alert(1)</script> [x](javascript:1) `code` **bold** <img src=x> & \u202e"quoted"'


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_what_comes_from_files_is_words_in_every_form(project: Project, clock: Clock, lang: str) -> None:
    memory = project.memory(clock)
    memory.remember(HOSTILE, key="note:x`<b>|`y", title=HOSTILE)
    memory.feedback("note:x`<b>|`y", "succeeded")
    bring(project, clock, "rejected", "note:x`<b>|`y", n=1, why="<i>no</i> `rm` *x*\x1b[2J")
    page = weekly.page(memory.report(), lang)
    made = weekly.html_page(page)
    for banned in ("<script", "<img", "<i>", "<b>", "\u202e", "\x1b", 'src="', "href=", "url("):
        assert banned not in made, banned
    told = weekly.markdown(page)
    assert "\\<script" in told and "\\[x\\](" in told and "\\*\\*bold" in told and "``note:x`<b>|`y``" in told
    assert "<img" not in told.replace("\\<img", "") and "\u202e" not in told and "\x1b" not in told
    assert "\x1b" not in "".join(weekly.text_lines(page))


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_page_stands_alone_in_light_and_dark(project: Project, clock: Clock, lang: str) -> None:
    from html.parser import HTMLParser

    the_story(project, clock)
    made = weekly.html_page(weekly.page(project.memory(clock).report(), lang))
    tags: list[tuple[str, dict[str, str | None]]] = []
    open_tags: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: Iterable[tuple[str, str | None]]) -> None:
            tags.append((tag, dict(attrs)))
            if tag != "meta":
                open_tags.append(tag)

        def handle_endtag(self, tag: str) -> None:
            assert open_tags.pop() == tag

    Reader().feed(made)
    assert open_tags == []
    assert {tag for tag, _ in tags} <= {"html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "dl", "dt", "dd", "ul",
                                        "li", "strong", "code", "span", "p"}  # fmt: skip
    assert tags[0] == ("html", {"lang": "zh-Hans" if lang == "zh" else "en"})
    assert not any({"src", "href", "onload", "style"} & attrs.keys() for _, attrs in tags)
    assert "prefers-color-scheme: dark" in made and "color-scheme: light dark" in made and "default-src 'none'" in made
    assert "http://" not in made and "https://" not in made


# --- the commands ---------------------------------------------------------------------------------------------------


def test_the_command_tells_the_week_in_every_form_and_language(project: Project, instinct: Callable[..., Ran]) -> None:
    project.memory().remember("Publish the blog", key="note:blog")
    plain = instinct("report")
    assert (plain.code, plain.err) == (0, "") and "Pool:               1 candidate: 1 collecting" in plain.out
    assert instinct("report", "--lang", "zh").out.splitlines()[2] == "候选池：    1 个候选：收集中 1"
    assert instinct("report", "--format", "md").out.startswith("# Week ")
    assert instinct("report", "--format", "html").out.startswith("<!doctype html>")
    assert instinct("report", "--format", "json").json == instinct("report", "--json").json
    assert instinct("report", "--json").json["pool"]["size"] == 1
    assert instinct("report", "--week", "2026-W13").code == 0


@pytest.mark.parametrize(
    ("options", "hint"),
    [(("--lang", "fr"), "en, zh"), (("--format", "pdf"), "text, md, html, json"), (("--week", "W13"), "year and week"), (("--week", "2999-W01"), "this week is")],
)  # fmt: skip
def test_a_wrong_wish_is_a_known_error(instinct: Callable[..., Ran], options: tuple[str, str], hint: str) -> None:
    done = instinct("report", *options)
    assert (done.code, done.out) == (2, "") and hint in done.err.splitlines()[1]


def test_report_exits_1_while_a_breaker_is_tripped_but_not_for_a_past_week(
    project: Project, clock: Clock, instinct: Callable[..., Ran]
) -> None:
    now = Clock(datetime.now(UTC))
    trip_daily(project, now)
    done = instinct("report", "--json")
    assert (done.code, [one["name"] for one in done.json["breakers"]]) == (1, ["daily"])
    trip_daily(project, clock)  # 2026-03-02, a Monday: over by Sunday
    assert instinct("report", "--week", "2026-W10").code == 0
    for name in ("seq:a->b", "seq:c->d", "seq:e->f"):
        bring(project, clock, "candidate", name, x="explicit", kind="skill", score="0.40")
        bring(project, clock, "rejected", name, n=0)
    past = instinct("report", "--week", "2026-W10", "--json")
    assert (past.code, [one["name"] for one in past.json["breakers"]]) == (0, ["rejections"])


def test_breakers_are_listed_and_answered(project: Project, instinct: Callable[..., Ran]) -> None:
    assert instinct("breakers") == (0, "# 0 tripped\n", "")
    now = Clock(datetime.now(UTC))
    trip_daily(project, now)
    space = Workspace(files.locate(project.root, files.instinct_home()), now)
    breaker_log.add(space.place, [Entry(now().date().isoformat(), "held", "daily", "seq:held->back")])
    done = instinct("breakers")
    assert done.code == 1
    assert "daily: 7 new automatic candidates today, 5 are allowed" in done.out
    assert (
        "  note:apple\n" in done.out and "held today: seq:held->back\n" in done.out and "reset NAME --why" in done.out
    )
    data = instinct("breakers", "--json")
    assert (data.code, data.json["breakers"][0]["measured"], data.json["held"]) == (1, 7, ["seq:held->back"])
    refused = instinct("breakers", "reset", "daily")
    assert (refused.code, refused.err.splitlines()[0]) == (2, "error: a reset needs a reason")
    assert instinct("breakers", "reset", "duplicates", "--why", "w").err.splitlines() == [
        "error: 'duplicates' is not tripped", "hint: tripped now: daily; breakers: daily, duplicates, rejections",
    ]  # fmt: skip
    assert instinct("breakers", "reset", "daily", "--why", "a big week").out == "reset daily (7, limit 5)\n"
    assert instinct("breakers").code == 0
    assert instinct("report").code == 0


def test_help_and_mistakes_of_the_group_are_explained(instinct: Callable[..., Ran]) -> None:
    assert "instinct breakers" in instinct("breakers", "--help").out
    assert "--why" in instinct("breakers", "reset", "--help").out
    done = instinct("breakers", "rest")
    assert done.code == 2 and "`instinct breakers --help`" in done.err
    assert "did you mean `instinct breakers`" in instinct("braekers").err


# --- candidates.json ------------------------------------------------------------------------------------------------


def test_candidates_are_exported_sorted_with_score_steps_and_source(
    project: Project, clock: Clock, instinct: Callable[..., Ran]
) -> None:
    the_story(project, clock)
    data = instinct("export", "candidates").json
    assert data["version"] == 1
    rows = data["candidates"]
    assert [(one["score"], one["pattern"]) for one in rows] == sorted(
        ((one["score"], one["pattern"]) for one in rows), key=lambda r: (-r[0], r[1])
    )
    blog = rows[0]
    assert (blog["pattern"], blog["kind"], blog["status"], blog["trigger"]) == (BLOG, "skill", "nominated", "explicit")
    assert (blog["title"], blog["score"], blog["first_score"], blog["successes"]) == (
        "Publish a blog post",
        0.84,
        0.4,
        4,
    )
    assert (blog["steps"], blog["sources"], blog["contexts"]) == (
        ["write", "proofread", "publish"],
        ["claude-code"],
        ["blog", "docs"],
    )
    assert (blog["since"], blog["last_use"]) == ("2026-03-02", "2026-03-06")
    assert set(blog["dimensions"]) == {"repeatability", "verifiability", "transferability", "controllable_risk"}
    assert {one["status"] for one in rows} == {"nominated", "proposed", "approved", "rejected", "collecting", "expired"}


def test_steps_are_those_of_the_file_else_those_given_else_those_of_the_key(project: Project, clock: Clock) -> None:
    memory = project.memory(clock)
    for key, steps in (("seq:a->b", ()), ("seq:c->d", ("first c", "then d")), ("seq:e->f", ()), ("note:x", ())):
        memory.remember("words", key=key, steps=steps)
    before = {one["pattern"]: one["steps"] for one in memory.export_candidates()["candidates"]}
    memory.consolidate()
    path = memory.show("seq:e->f").path
    assert path is not None
    project.write(path, project.read(path) + "\n## Steps\n\n1. Draft it\n2. Read it aloud\n")
    after = {one["pattern"]: one["steps"] for one in memory.export_candidates()["candidates"]}
    assert before == {"seq:a->b": ["a", "b"], "seq:c->d": ["first c", "then d"], "seq:e->f": ["e", "f"], "note:x": []}
    assert after == before | {"seq:e->f": ["Draft it", "Read it aloud"]}


def test_the_export_goes_to_a_file_and_is_the_same_twice(
    project: Project, clock: Clock, instinct: Callable[..., Ran]
) -> None:
    the_story(project, clock)
    printed = instinct("export", "candidates")
    done = instinct("export", "candidates", "--out", "candidates.json")
    assert (done.code, done.out, done.err) == (0, "", "wrote 7 candidates to candidates.json\n")
    assert project.read("candidates.json") == printed.out
    assert json.loads(project.read("candidates.json")) == project.memory().export_candidates()
    assert instinct("export", "candidates", "-o", "no/such/folder/x.json").code == 2


def test_an_empty_pool_is_an_empty_list(project: Project) -> None:
    assert project.memory().export_candidates() == {"version": 1, "candidates": []}


def test_where_there_is_no_memory_the_report_is_empty(tmp_path: Path) -> None:
    from instinct_git import Memory

    folder = tmp_path / "plain"
    folder.mkdir()
    assert Memory(folder).report().size == 0
    with pytest.raises(InstinctError):
        Memory(folder).report("2999-W01")

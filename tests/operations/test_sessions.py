"""A session begins, ends and is summed up: what is told once, what its end may commit, what it brought."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from instinct_git import InstinctError, Memory
from instinct_git.faces import session_end
from instinct_git.operations import beginning
from instinct_git.storage import sessions
from tests.builders import KEY, Project, Ran
from tests.conftest import Clock
from tests.sessions import Session

STEPS = "edit lint test commit edit lint test commit"


def transcript(home: Path, project: Project, session: Session) -> Path:
    """Write a session of Claude Code where it keeps those of the project."""
    folder = home / ".claude" / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(project.root))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{session.name}.jsonl"
    rows = [json.dumps({**one, "cwd": str(project.root)}) + "\n" for one in session.records]
    path.write_text("".join(rows), encoding="utf-8")
    return path


def user(**settings: str) -> None:
    for name, value in settings.items():
        Memory().configure(name.replace("__", "."), value, user=True)


# --- beginning --------------------------------------------------------------------------------------------------------


def test_a_session_that_two_hosts_start_is_told_once(project: Project, clock: Clock) -> None:
    memory = project.memory(clock)
    assert memory.begin_session("s1", [KEY], agent="claude-code", source="startup")
    assert not memory.begin_session("s1", [KEY], agent="cursor")
    assert memory.begin_session("s2", [KEY])
    clock.forward(1)
    assert memory.begin_session("s1", [KEY], source="resume"), "a day later it is another sitting"


@pytest.mark.parametrize("source", beginning.AGAIN)
def test_what_an_agent_has_forgotten_is_told_again(project: Project, clock: Clock, source: str) -> None:
    memory = project.memory(clock)
    assert memory.begin_session("s1", [KEY], source="startup")
    assert memory.begin_session("s1", [KEY], source=source)
    assert not memory.begin_session("s1", [KEY], source=source)


@pytest.mark.parametrize("session", ["", "../x", "a b", "x" * 101])
def test_a_session_without_a_usable_id_is_told_and_not_noted(project: Project, session: str) -> None:
    memory = project.memory()
    assert memory.begin_session(session, [KEY]) and memory.begin_session(session, [KEY])
    assert not (project.root / ".git" / "instinct" / "sessions").exists()


def test_where_nothing_can_be_noted_every_session_is_told(project: Project) -> None:
    project.write(".git/instinct/sessions", "in the way")
    memory = project.memory()
    assert memory.begin_session("s1", [KEY]) and memory.begin_session("s1", [KEY])
    assert memory.told("s1") == frozenset()


def test_the_notes_on_sessions_are_bounded(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "MOST", 20)
    monkeypatch.setattr(sessions, "LESS", 10)
    for number in range(30):
        project.memory().begin_session(f"s{number}", [KEY])
    left = list((project.root / ".git" / "instinct" / "sessions").iterdir())
    assert len(left) <= 21
    assert sessions.latest(project.memory()._space.place)[0] == "s29"


def test_what_waits_is_said_in_a_line_unless_a_sessions_end_counts_it(project: Project, clock: Clock) -> None:
    memory = project.memory(clock)
    assert memory.suggestions().waits == ""
    project.observe(KEY, 1, now=clock)
    assert memory.suggestions().waits.startswith(
        "1 piece of evidence waits in this clone since 2026-03-02; `instinct consolidate`"
    )
    project.observe(KEY, 2, now=clock)
    assert memory.suggestions().waits.startswith("3 pieces of evidence wait")
    memory.configure("consolidate", "default-branch")
    assert "`instinct record`" in memory.suggestions().waits
    user(auto="consolidate")
    assert memory.suggestions().waits == ""


# --- ending -----------------------------------------------------------------------------------------------------------


def test_a_sessions_end_learns_and_commits_nothing_in_a_project(project: Project, sealed: Path) -> None:
    transcript(sealed, project, Session().say("mend the cart").do(STEPS))
    project.memory().consolidate()
    before = project.head(), project.status()
    done = project.memory().end_session("s1", agent="claude-code")
    assert done.learned is not None and done.learned.new == 2
    assert (project.head(), project.status(), done.batches) == (*before, ())


def test_with_auto_it_runs_the_batches_that_the_user_agreed_to(project: Project, sealed: Path, clock: Clock) -> None:
    transcript(sealed, project, Session().say("mend the cart").do(STEPS))
    project.memory().consolidate()
    (sealed / ".instinct").mkdir(exist_ok=True)
    (sealed / ".instinct" / "config.yaml").write_text("auto: [consolidate, decay]\n", encoding="utf-8")
    commits = project.commits()
    done = project.memory(clock).end_session("s1", agent="claude-code")
    assert [one.verb for one in done.batches] == ["consolidate", "decay"]
    assert project.commits() == commits + 1, "there was nothing to decay"
    assert project.confidence("seq:edit->lint->test->commit") == 2
    assert project.errors() == []


@pytest.mark.parametrize(
    ("setting", "value", "why"),
    [("agent_commits", "false", "leaves commits to people"), ("consolidate", "default-branch", "folds on main alone")],
)
def test_auto_keeps_to_the_projects_policy(project: Project, setting: str, value: str, why: str) -> None:
    project.memory().consolidate()
    project.memory().configure(setting, value)
    project.commit("policy")
    project.git("switch", "-q", "-c", "topic")
    user(auto="consolidate")
    project.observe(KEY)
    before = project.head()
    done = project.memory().end_session()
    assert project.head() == before and done.batches == ()
    assert any(why in one for one in done.notices)


def test_on_the_default_branch_auto_folds_where_the_policy_wants_it(project: Project) -> None:
    project.memory().configure("consolidate", "default-branch")
    project.memory().consolidate()
    user(auto="consolidate")
    project.observe(KEY)
    assert project.memory().end_session().batches[0].commit
    assert project.confidence() == 1


def test_in_the_middle_of_a_merge_auto_waits_and_says_so(project: Project) -> None:
    project.memory().consolidate()
    user(auto="consolidate")
    project.observe(KEY)
    project.write(".git/MERGE_HEAD", project.head() + "\n")
    before = project.head()
    done = project.memory().end_session("s1")
    assert project.head() == before and any(one.startswith("consolidate: ") for one in done.notices)
    assert any("consolidate: " in line for line in project.memory().session_summary("s1").end)


def test_the_users_own_memories_consolidate_at_every_sessions_end(
    tmp_path: Path, sealed: Path, project: Project
) -> None:
    for _ in range(6):
        Memory(scope="global").observe("pref:mine")
    done = project.memory().end_session()
    assert [one.verb for one in done.batches] == ["consolidate"]
    assert Memory(scope="global").show("pref:mine").level == "mature"
    private = Project.new(tmp_path / "private")
    private.memory().init(private=True)
    private.memory().observe(KEY)
    assert private.memory().end_session().batches[0].recorded == 1
    assert private.memory().show(KEY).confidence == 1 and private.status() == ""


def test_reports_of_a_shared_task_are_scanned_before_the_session_ends_and_once(
    project: Project, sealed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = "Done.\n\n## Lessons learned\n\n- {}\n"
    words = ("Always run the migrations before the tests.", "Never start two workers on one queue.")
    session = Session().say("Review it")
    for one in words:
        session.hand_over(report.format(one))
    path = transcript(sealed, project, session)
    other = transcript(
        sealed, project, Session("s2").say("Review it").hand_over(report.format("Always a.")).hand_over("x")
    )
    for name, where in (("s1", path), ("s2", other)):
        project.write(f".git/instinct/spool/stop.{name}.json", json.dumps({"transcript_path": str(where)}))
    monkeypatch.chdir(project.root)
    assert session_end.run(["claude-code", "s1", "--swarm"]) == 0
    assert len(project.memory().candidates()) == 2, "the other session's task is not over"
    assert project.memory().end_shared_task("s1") == 0
    assert {one.trigger for one in project.memory().candidates()} == {"swarm"}
    held = {one.pattern: one.live for one in project.memory().list()}
    project.memory().learn()
    assert {key: one for key, one in ((p.pattern, p.live) for p in project.memory().list()) if key in held} == held


# --- own words and own calls ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "around",
    [
        "<instinct-memory>\n{}\n</instinct-memory>\n", "&lt;instinct-memory&gt;\n{}\n&lt;/instinct-memory&gt;\n",
        "<hook_context>&lt;instinct-memory&gt;{}&lt;/instinct-memory&gt;</hook_context>\n", "<hook_context>{}</hook_context>",
        "{}\n</instinct-memory>\n", "<instinct-memory>{}",
    ],
)  # fmt: skip
def test_what_was_injected_is_never_learned_as_the_persons_words(project: Project, sealed: Path, around: str) -> None:
    said = around.format("remember: use tabs everywhere\n- For later: from now on, always use tabs")
    transcript(sealed, project, Session().do("edit test").say(said + "\nfix the cart").do("edit test"))
    assert project.memory().learn().asked == ()


def test_own_tools_and_commands_are_no_work_to_learn_from(project: Project, sealed: Path) -> None:
    session = Session().say("go")
    for _ in range(4):
        session.use("mcp__instinct__suggest", {}, "[]").do("edit").use("Bash", {"command": "instinct observe x"}, "ok")
        session.do("test").use("mcp__instinct__observe", {"key": "x"}, "{}").do("commit")
    transcript(sealed, project, session)
    done = project.memory().learn()
    assert done.patterns and not any("instinct" in one.key for one in done.patterns)


# --- in sum -----------------------------------------------------------------------------------------------------------


def test_a_session_in_sum_says_what_it_recorded_and_what_rose(project: Project, clock: Clock) -> None:
    memory = project.memory(clock)
    project.observe("note:known", 4, now=clock)
    memory.consolidate()
    memory.begin_session("abc-1", ["note:told"], agent="claude-code", tokens=40)
    memory.observe("note:known", session="abc-1", source="claude-code")
    memory.observe("note:fresh", session="abc-1", source="claude-code")
    memory.observe("note:sent", session="of the server", source="claude-code")
    memory.observe("note:another", session="elsewhere", source="codex")
    found = memory.session_summary()
    assert (found.session, found.agent, found.told, found.tokens) == ("abc-1", "claude-code", ("note:told",), 40)
    assert found.recorded == {"observed": 3}
    moved = {one.key: (one.before, one.after, one.level_before, one.level_after) for one in found.risen}
    assert moved == {
        "note:known": (4, 5, "raw", "mature"), "note:fresh": (0, 1, "new", "raw"), "note:sent": (0, 1, "new", "raw"),
    }  # fmt: skip
    assert found.waiting.startswith("4 in the inbox since 2026-03-02") and "consolidate" in found.next_step
    assert memory.session_summary("abc").session == "abc-1"
    memory.consolidate()
    again = memory.session_summary("abc").risen
    assert {one.key: (one.before, one.after, one.level_before, one.level_after) for one in again} == moved


def test_evidence_of_another_known_session_is_not_counted_in(project: Project, clock: Clock) -> None:
    memory = project.memory(clock)
    for name in ("s1", "s2"):
        memory.begin_session(name, agent="claude-code")
        memory.observe(f"note:{name}", session=name, source="claude-code")
    assert [one.key for one in memory.session_summary("s1").changes] == ["note:s1"]


def test_a_session_learned_from_its_transcript_is_found_by_its_id(project: Project, sealed: Path) -> None:
    transcript(sealed, project, Session("long-id-1").say("mend the cart").do(STEPS))
    project.memory().learn()
    assert project.memory().session_summary("long-id-1").recorded == {"observed": 2}
    assert project.memory().session_summary().recorded == {"observed": 2}, "no hook has seen it: the evidence tells"


def test_a_session_that_nobody_knows_is_a_clear_error(project: Project) -> None:
    with pytest.raises(InstinctError, match="no session is known"):
        project.memory().session_summary()
    for name in ("s1", "s2"):
        project.memory().begin_session(name)
    with pytest.raises(InstinctError, match="no session 'x'"):
        project.memory().session_summary("x")
    with pytest.raises(InstinctError, match="several sessions"):
        project.memory().session_summary("s")


def test_the_command_line_sums_up_the_last_session(project: Project, instinct: Callable[..., Ran]) -> None:
    memory = project.memory()
    memory.begin_session("s1", [KEY, "note:b"], agent="codex", tokens=60)
    memory.observe(KEY, session="s1", source="codex")
    done = instinct("stats", "--session", "last")
    assert done.code == 0
    for words in (
        "session s1  codex", "recorded   1 observed", "0 -> 1", f"risen      {KEY} (new -> raw)",
        f"suggested  {KEY}, note:b  (2, about 60 tokens)", "waiting    1 in the inbox",
    ):  # fmt: skip
        assert words in done.out, done.out
    data: Any = instinct("stats", "--session", "s1", "--json").json
    assert data["recorded"] == {"observed": 1} and data["risen"][0]["key"] == KEY
    assert instinct("stats", "--session", "none").code == 2


@pytest.mark.parametrize("text", ["", "{", "[]", '{"told": 1}', '{"tokens": "x"}', "\0"])
def test_a_broken_note_on_a_session_is_no_error(project: Project, text: str) -> None:
    memory = project.memory()
    memory.begin_session("s1")
    project.write(".git/instinct/sessions/s1.json", text)
    memory.observe(KEY, session="s1")
    assert memory.session_summary("s1").recorded == {"observed": 1}
    assert memory.begin_session("s1", [KEY], source="clear")


# --- settings ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["auto: consolidate, decay\n", "auto: [consolidate, decay]\n", "auto:\n  - consolidate\n  - decay\n"]
)
def test_auto_is_a_list_or_a_line(project: Project, sealed: Path, text: str) -> None:
    (sealed / ".instinct").mkdir(exist_ok=True)
    (sealed / ".instinct" / "config.yaml").write_text(text, encoding="utf-8")
    assert project.memory().config().words("auto") == ("consolidate", "decay")


@pytest.mark.parametrize("value", ["push", "consolidate, push", "true"])
def test_auto_takes_no_other_word(project: Project, value: str) -> None:
    with pytest.raises(InstinctError, match="auto"):
        project.memory().configure("auto", value, user=True)


def test_no_project_can_switch_auto_on_for_its_people(project: Project) -> None:
    with pytest.raises(InstinctError, match="user's own"):
        project.memory().configure("auto", "consolidate")

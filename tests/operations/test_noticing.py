"""A nomination is told to the person once by every channel, and to nobody once it is answered."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from instinct_git import InstinctError, Memory
from instinct_git.bridges import notify
from instinct_git.core.model import Evidence
from instinct_git.faces import quick
from instinct_git.operations import noticing
from instinct_git.operations.observing import put
from instinct_git.storage import notices
from tests.builders import KEY, Project
from tests.conftest import Clock

KEYED = "note:publish"
ANSWER = "instinct propose note:publish"


def almost(project: Project, key: str = KEYED, now: Clock | None = None, **options: Any) -> Memory:
    """Bring a candidate to 0.76: the next success nominates it."""
    memory = project.memory(now)
    memory.remember("Publish the blog", key=key, score="0.40", why="w", context="a", **options)
    for answer, context in (("succeeded", "a"), ("succeeded", "b"), ("succeeded", "b"), ("confirmed", "b")):
        memory.feedback(key, answer, context=context)
    return memory


def nominate(project: Project, key: str = KEYED, now: Clock | None = None, **options: Any) -> Memory:
    """Bring a candidate to 0.84."""
    memory = almost(project, key, now, **options)
    memory.feedback(key, "succeeded", context="b")
    return memory


def answered(project: Project, kind: str, key: str = KEYED, n: int = 4) -> None:
    """Give an answer as a review does."""
    put(project.memory()._space, [Evidence("", key, kind, extra={"n": n})])


def told(project: Project, channel: str = "terminal", now: Clock | None = None) -> list[str]:
    return [one.pattern for one in project.memory(now).nominations(channel)]


def kept(project: Project) -> list[str]:
    """The files in the clone's folder of notices."""
    folder = project.root / ".git/instinct/notices"
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


# --- the threshold ----------------------------------------------------------------------------------------------------


def test_the_call_that_brings_a_candidate_to_0_80_is_told_and_none_before_it(project: Project) -> None:
    memory = almost(project)
    assert memory.candidates()[0].score < noticing_threshold() and memory.nominations("terminal") == []
    memory.feedback(KEYED, "succeeded", context="b")
    (one,) = memory.nominations("terminal")
    today = memory._space.now().date().isoformat()
    assert one == (KEYED, "Publish the blog", "memory", "0.84", 4, today)


def noticing_threshold() -> Any:
    from instinct_git.core.candidates import NUMBERS

    return NUMBERS.nominated


def test_exactly_0_80_is_told(project: Project) -> None:
    memory = project.memory()
    memory.remember("x", key="note:x", score="0.48", why="w")
    for _ in range(3):
        memory.feedback("note:x", "succeeded")
    assert told(project) == []
    memory.feedback("note:x", "succeeded")
    assert f"{memory.candidates()[0].score:.2f}" == "0.80"
    assert told(project) == ["note:x"]


def test_remembering_what_has_already_proved_itself_nominates_it(project: Project) -> None:
    memory = project.memory()
    project.observe()
    for _ in range(5):
        memory.feedback(KEY, "succeeded")
    assert told(project) == []
    memory.remember("test again", key=KEY, score="0.45", why="w")
    assert told(project) == [KEY]


def test_each_channel_tells_it_once(project: Project) -> None:
    nominate(project)
    assert told(project, "terminal") == [KEYED]
    assert told(project, "terminal") == []
    assert told(project, "pipe") == [KEYED]
    assert told(project, "pipe") == []


def test_a_further_success_is_no_second_nomination(project: Project) -> None:
    memory = nominate(project)
    assert told(project) == [KEYED]
    memory.feedback(KEYED, "succeeded", context="b")
    assert told(project) == []
    (one,) = memory.nominations("pipe")
    assert (one.score, one.worked) == ("0.92", 5)


@pytest.mark.parametrize("kind", ["proposed", "approved", "rejected"])
def test_an_answer_drops_it_unseen(project: Project, kind: str) -> None:
    nominate(project)
    answered(project, kind)
    assert told(project) == []
    assert kept(project) == []


def test_a_retired_one_is_dropped_unseen_and_never_told_again(project: Project) -> None:
    memory = almost(project)
    memory.consolidate()
    memory.feedback(KEYED, "succeeded", context="b")
    memory.retire(KEYED)
    assert told(project) == []
    memory.feedback(KEYED, "failed")
    memory.feedback(KEYED, "succeeded")
    memory.feedback(KEYED, "succeeded")
    assert kept(project) == [], "nor is the person's command run"


def test_a_nomination_that_was_answered_and_comes_again_is_a_new_one(project: Project) -> None:
    memory = nominate(project)
    assert told(project) == [KEYED]
    answered(project, "rejected")
    for number in range(3):
        assert told(project) == [], number
        memory.feedback(KEYED, "succeeded", context="b")
    assert told(project) == [KEYED]


def test_one_that_falls_below_is_taken_back_and_told_anew_when_it_returns(project: Project) -> None:
    memory = nominate(project)
    assert told(project) == [KEYED]
    memory.feedback(KEYED, "failed")
    assert told(project, "pipe") == [] and kept(project) == []
    memory.feedback(KEYED, "succeeded")
    assert told(project) == [KEYED]


def test_a_branch_without_the_evidence_hides_it_and_does_not_lose_it(project: Project) -> None:
    project.memory().consolidate()
    project.git("commit", "-q", "--allow-empty", "-m", "base")
    project.git("switch", "-q", "-c", "feature")
    memory = nominate(project)
    memory.consolidate()
    for path in (project.root / ".git/instinct/recorded").rglob("*.jsonl"):
        path.unlink()
    project.git("switch", "-q", "main")
    assert told(project) == []
    project.git("switch", "-q", "feature")
    assert told(project) == [KEYED]


def test_one_whose_evidence_has_gone_is_forgotten_after_sixty_days(project: Project, clock: Clock) -> None:
    nominate(project, now=clock)
    for path in project.inbox_files():
        path.unlink()
    clock.forward(60)
    assert told(project, now=clock) == [] and len(kept(project)) == 1
    clock.forward(1)
    assert told(project, now=clock) == [] and kept(project) == []


def test_after_sixty_days_it_is_forgotten(project: Project, clock: Clock) -> None:
    nominate(project, now=clock).consolidate()
    clock.forward(61)
    assert told(project, now=clock) == [KEYED]  # nobody has answered, and its score says it still
    project.memory(clock).decay()
    assert told(project, "pipe", now=clock) == [] and kept(project) == []


def test_a_bypass_of_safeguards_is_held_and_nobody_is_told(project: Project) -> None:
    nominate(project, steps=("git commit --no-verify",))
    assert project.memory().candidates()[0].status == "ready"
    assert told(project) == []


def test_two_processes_that_see_one_crossing_keep_one_notice(project: Project) -> None:
    memory = nominate(project)
    (after,) = memory.candidates()
    assert told(project) == [KEYED]
    noticing.crossed(memory._space, after._replace(status="ready"), after)
    assert told(project) == []


def test_a_read_only_git_folder_keeps_it_in_the_home(project: Project) -> None:
    memory = almost(project)
    (project.root / ".git/instinct/notices").write_text("a file where the folder should be")
    memory.feedback(KEYED, "succeeded", context="b")
    assert told(project) == [KEYED]
    assert told(project) == []
    answered(project, "rejected")
    assert told(project, "pipe") == []
    assert not [path for path in (Memory(project.root)._space.place.home / "notices").rglob("*") if path.is_file()]


def test_damaged_notices_are_passed_over(project: Project) -> None:
    nominate(project)
    folder = project.root / ".git/instinct/notices"
    for name, content in (("a", b""), ("b", b"\xff"), ("c", b"k\nt\nskill\n0.8\nmany\n2026-01-01\n")):
        (folder / name).write_bytes(content)
    assert told(project) == [KEYED]


def test_without_a_notice_nothing_of_the_evidence_is_read(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    almost(project)
    memory = project.memory()

    def never(*_: object, **__: object) -> None:
        raise AssertionError("it was read")

    monkeypatch.setattr("instinct_git.operations.observing.evidence_about", never)
    assert memory.nominations("terminal") == []
    memory.feedback(KEYED, "succeeded", context="b")
    with pytest.raises(AssertionError):
        memory.nominations("terminal")


def test_once_told_the_evidence_is_not_read_again(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    nominate(project)
    assert told(project) == [KEYED]
    monkeypatch.setattr("instinct_git.operations.observing.evidence_about", None)
    assert told(project) == []


# --- the command line -------------------------------------------------------------------------------------------------


def test_the_next_call_says_it_once_after_its_own_output(project: Project, instinct: Callable[..., Any]) -> None:
    nominate(project)
    done = instinct("list")
    assert done.code == 0 and "# 1 pattern" in done.out
    assert done.err == (
        f'# "Publish the blog" is nominated as a memory: worked 4 times, score 0.84\n# a person decides: {ANSWER}  '
        "(no: instinct reject note:publish --reason WHY)\n"
    )
    assert instinct("list").err == ""


def test_the_call_that_nominates_says_it_at_once(project: Project, instinct: Callable[..., Any]) -> None:
    almost(project)
    assert ANSWER in instinct("feedback", KEYED, "--worked").err


def test_observing_says_it_too(project: Project, instinct: Callable[..., Any]) -> None:
    nominate(project)
    assert ANSWER in instinct("observe", KEY).err


@pytest.mark.parametrize("arguments", [("list", "--json"), ("observe", KEY, "--json"), ("show", "note:none")])
def test_machine_output_and_errors_keep_their_form(
    project: Project, instinct: Callable[..., Any], arguments: tuple[str, ...]
) -> None:
    nominate(project)
    done = instinct(*arguments)
    assert "nominated" not in done.err
    assert told(project, "pipe") == [KEYED]


def test_a_terminal_is_told_although_a_pipe_was(
    project: Project, instinct: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    nominate(project)
    assert ANSWER in instinct("list").err
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    quick.tell_nominations()
    assert ANSWER in capsys.readouterr().err


def test_a_notice_that_cannot_be_read_breaks_no_verb(
    project: Project, instinct: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    nominate(project)
    monkeypatch.setattr(notices, "waiting", None)
    done = instinct("list")
    assert (done.code, done.err) == (0, "")


def test_the_command_is_one_that_a_shell_takes(project: Project, instinct: Callable[..., Any]) -> None:
    nominate(project, key=KEY)
    yes, _, no = instinct("list").err.splitlines()[1].partition(": ")[2].partition("  (no: ")
    assert shlex.split(yes) == ["instinct", "propose", KEY]
    assert shlex.split(no.removesuffix(")")) == ["instinct", "reject", KEY, "--reason", "WHY"]


def test_a_title_of_others_cannot_drive_a_terminal_or_add_a_line(project: Project) -> None:
    memory = almost(project)
    memory.consolidate()
    path = memory.show(KEYED).path or ""
    project.write(path, project.read(path).replace("title:", 'title: "a\\nb\\e[31m\\u202e' + "x" * 200 + '"\nwas:', 1))
    memory.feedback(KEYED, "succeeded", context="b")
    (one,) = memory.nominations("terminal")
    assert one.title.startswith("a b [31m x") and len(one.title) <= 80 and one.title.isprintable()


# --- the start of a session -------------------------------------------------------------------------------------------


def test_suggestions_let_the_agent_ask_the_person_until_they_answer(
    project: Project, instinct: Callable[..., Any]
) -> None:
    nominate(project)
    for _ in range(2):
        done = instinct("suggest")
        (line,) = [one for one in done.out.splitlines() if "Ask the person" in one]
        assert ANSWER in line and "Only a person can approve" in line and "score 0.84" in line
        assert done.err == ""
    answered(project, "rejected")
    assert "Ask the person" not in instinct("suggest").out


def test_asking_counts_in_the_token_budget(project: Project) -> None:
    memory = nominate(project)
    project.observe(KEY, 6)
    memory.consolidate()
    whole = memory.suggestions(budget=800)
    assert len(whole.nominated) == 1 and KEY in [one.pattern for one in whole.patterns]
    tight = memory.suggestions(budget=60)
    assert len(tight.nominated) == 1 and KEY in tight.left_out
    assert memory.suggestions(budget=10).nominated == ()
    assert memory.suggestions(budget=0).nominated == ()


def test_many_nominations_take_three_lines_and_a_count(project: Project) -> None:
    for number in range(5):
        nominate(project, key=f"note:{number}")
    lines = project.memory().suggestions().nominated
    assert len(lines) == 4 and "2 more" in lines[-1] and "instinct candidates --ready" in lines[-1]


# --- the person's own command -----------------------------------------------------------------------------------------


@pytest.fixture
def command(sealed: Path) -> Callable[[str], Path]:
    """Write a script in Python, set it as the person's command, and return the folder it writes to."""

    def make(code: str) -> Path:
        folder = sealed / "told"
        folder.mkdir(exist_ok=True)
        script = folder / "my script.py"
        script.write_text(code, encoding="utf-8")
        line = f"{shlex.quote(sys.executable)} {shlex.quote(str(script))} {shlex.quote(str(folder))}"
        Memory(scope="global").configure("notify.command", line, user=True)
        return folder

    return make


WRITES = """
import json, os, sys
told = json.load(sys.stdin)
names = {name: os.environ[name] for name in os.environ if name.startswith("INSTINCT_")}
with open(sys.argv[1] + "/told.jsonl", "a") as file:
    print(json.dumps([told, names, os.getcwd()]), file=file)
print("noise"); print("noise", file=sys.stderr)
"""


def test_the_persons_command_gets_the_notice_on_standard_input_and_in_its_environment(
    project: Project, command: Callable[[str], Path], capfd: pytest.CaptureFixture[str]
) -> None:
    folder = command(WRITES)
    memory = nominate(project)
    memory.feedback(KEYED, "succeeded")
    (line,) = (folder / "told.jsonl").read_text().splitlines()
    told, names, where = json.loads(line)
    assert told == {
        "key": KEYED, "title": "Publish the blog", "kind": "memory", "score": "0.84", "worked": 4, "command": ANSWER,
        "project": str(project.root),
    }  # fmt: skip
    assert (names["INSTINCT_TITLE"], names["INSTINCT_SCORE"]) == ("Publish the blog", "0.84")
    assert Path(where) == memory._space.place.home, "a relative path must not name a repository's file"
    assert capfd.readouterr() == ("", "")


def test_a_title_is_data_and_never_a_word_of_the_command(project: Project, command: Callable[[str], Path]) -> None:
    folder = command(WRITES)
    nominate(project, title="$(touch hacked) `x` '; rm -rf * #\"")
    told, names, _ = json.loads((folder / "told.jsonl").read_text())
    assert told["title"] == names["INSTINCT_TITLE"] == "$(touch hacked) `x` '; rm -rf * #\""
    assert sorted(path.name for path in folder.iterdir()) == ["my script.py", "told.jsonl"]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import sys; sys.exit(3)", "exit code 3"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSTOP)", "not done after 0.3 seconds"),
        ("import sys; sys.stdin.close()", ""),
    ],
)  # fmt: skip
def test_a_command_that_fails_or_hangs_breaks_nothing_and_doctor_names_it(
    project: Project, command: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, code: str, said: str
) -> None:
    monkeypatch.setattr(notify, "SECONDS", 0.3 if "SIGSTOP" in code else 20.0)
    command(code)
    memory = nominate(project)
    assert told(project) == [KEYED]
    rows = [one for one in memory.doctor() if one.topic == "notify.command"]
    assert [said in one.words for one in rows] == ([True] if said else [])
    assert all(one.state == "notice" for one in rows)


@pytest.mark.parametrize("line", ["/no/such/program 'secret words'", "'not closed", "relative/hook.sh"])
def test_a_command_that_cannot_start_is_named_without_its_arguments(project: Project, line: str) -> None:
    project.write("relative/hook.sh", "#!/bin/sh\ntouch hacked\n").chmod(0o755)
    project.memory().configure("notify.command", line, user=True)
    memory = nominate(project)
    (row,) = [one for one in memory.doctor() if one.topic == "notify.command"]
    assert "secret" not in row.words
    assert not (project.root / "hacked").exists()


def test_a_success_takes_the_failure_back(project: Project, command: Callable[[str], Path]) -> None:
    command("import sys; sys.exit(3)")
    nominate(project)
    command(WRITES)
    memory = nominate(project, key="note:other")
    assert not [one for one in memory.doctor() if one.topic == "notify.command"]


def test_a_repository_cannot_set_the_command(project: Project) -> None:
    with pytest.raises(InstinctError, match="no repository may set"):
        project.memory().configure("notify.command", "touch hacked")
    memory = almost(project)
    path = ".instinct/config.yaml"
    project.write(path, project.read(path) + "notify:\n  command: touch hacked\n")
    with pytest.raises(InstinctError, match="no repository may set"):
        memory.feedback(KEYED, "succeeded")
    assert not list(project.root.parent.rglob("hacked"))


def test_without_a_command_nothing_is_started(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notify, "run", None)
    nominate(project)


@pytest.mark.parametrize(
    "value", ["true", "a # b", "#x", "'quoted: yes'", "x: y", "- a", "12", "通知 {title}", "a\\b\tc"]
)
def test_any_text_can_be_set_and_is_read_back(project: Project, value: str) -> None:
    memory = project.memory()
    for _ in range(2):  # into a new file, then into one that has it
        memory.configure("notify.command", value, user=True)
        assert memory.config()["notify.command"] == value

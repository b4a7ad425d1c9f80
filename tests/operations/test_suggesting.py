"""`suggest`: what an agent is told, in what order, and why the rest is left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from instinct_git import Memory
from instinct_git.core.injection import inject
from instinct_git.core.ranking import tokens
from instinct_git.faces.session_start import advice
from instinct_git.operations.observing import Draft
from instinct_git.operations.suggesting import BEYOND, NO_ROOM, explained
from tests.builders import Project
from tests.conftest import Clock
from tests.faces.conftest import Instinct

KEY = "seq:test->fix->test"


def matured(memory: Memory, key: str, times: int = 5, lines: str = "", **options: str) -> None:
    """Let a pattern grow in a memory, and add lines of a person's to its file."""
    for _ in range(times):
        memory.observe(key, **options)  # type: ignore[arg-type]
    memory.consolidate()
    if lines:
        path = memory.root / str(memory.show(key).path)
        path.write_text(path.read_text("utf-8").replace("status: active\n", f"status: active\n{lines}\n"), "utf-8")


def told(memory: Memory, **options: object) -> list[str]:
    return [one.pattern for one in memory.suggest(**options)]  # type: ignore[arg-type]


def why(memory: Memory, **options: object) -> dict[str, str]:
    found = memory.suggestions(**options)  # type: ignore[arg-type]
    return {key: what for key, what, _ in explained(found)}


# --- several memories -----------------------------------------------------------------------------------------------


def test_a_pattern_of_two_memories_is_told_once_with_its_strongest_level_and_both_origins(project: Project) -> None:
    matured(Memory(scope="global"), KEY, 12)
    matured(project.memory(), KEY, 6)
    (one,) = project.memory().suggest()
    assert (one.scope, one.level, one.confidence) == ("global", "rule", 12)
    assert one.because.startswith("global, rule, 12 x") and "project, 6 x" in one.because


def test_what_is_still_raw_here_is_told_as_the_person_knows_it_from_elsewhere(project: Project) -> None:
    matured(Memory(scope="global"), KEY, 12)
    matured(project.memory(), KEY, 2)
    assert [(one.pattern, one.scope) for one in project.memory().suggest()] == [(KEY, "global")]


@pytest.mark.parametrize("no", ["retire", "deny"])
def test_a_no_in_the_project_silences_the_farther_memories_too(project: Project, no: str) -> None:
    matured(Memory(scope="global"), KEY, 12)
    memory = project.memory()
    matured(memory, KEY, 2)
    if no == "retire":
        memory.retire(KEY)
    else:
        memory.feedback(KEY, "denied")
        memory.consolidate()
    assert told(memory) == []


def test_the_origin_says_how_often_and_in_how_many_sessions(project: Project) -> None:
    memory = project.memory()
    for number in range(7):
        memory.observe(KEY, source="codex", session=f"s{number}")
    memory.observe(KEY, source="codex", session="s0")
    memory.consolidate()
    (one,) = memory.suggest()
    assert one.because == "project, mature, 8 x in 7 sessions, seen by codex"
    memory.feedback(KEY, "succeeded", source="cursor", session="s9")
    memory.consolidate()
    assert memory.suggest()[0].because == "project, mature, 9 x in 8 sessions, seen by codex, cursor"


def test_what_is_beyond_the_limit_takes_no_tokens_and_is_told_so(project: Project) -> None:
    memory = project.memory()
    for number in range(3):
        matured(memory, f"note:n{number}", 9 - number)
    found = memory.suggestions(1, budget=500)
    assert found.spent == found.costs["note:n0"] and found.left_out == ("note:n1", "note:n2") and found.beyond == 2
    assert [what for _, what, _ in explained(found)] == ["told", "beyond the limit", "beyond the limit"]
    tight = memory.suggestions(1, budget=found.spent)
    assert [what for _, what, _ in explained(tight)] == ["told", "no room", "no room"]


# --- what contradicts, and what is a part -------------------------------------------------------------------------------


def test_the_project_beats_the_persons_own_memory_and_it_is_said(project: Project) -> None:
    matured(Memory(scope="global"), "pref:style=ruff", 12)
    memory = project.memory()
    matured(memory, "pref:style=black", 5)
    found = memory.suggestions()
    assert [one.pattern for one in found.patterns] == ["pref:style=black"]
    assert "contradicts pref:style=ruff" in found.patterns[0].because
    assert "pref:style=black and pref:style=ruff contradict each other" in found.notices[0]
    assert why(memory)["pref:style=ruff"] == "contradicted by pref:style=black"
    memory.retire("pref:style=black")
    assert told(memory) == ["pref:style=ruff"]


def test_in_one_memory_the_stronger_of_two_is_told(project: Project) -> None:
    memory = project.memory()
    matured(memory, "pref:style=black", 6)
    matured(memory, "pref:style=ruff", 7)
    matured(memory, "pref:line-length=120", 5)
    assert told(memory) == ["pref:style=ruff", "pref:line-length=120"]


def test_advice_against_what_is_advised_is_not_told_beside_it(project: Project) -> None:
    memory = project.memory()
    matured(memory, "note:friday", 8, title="Never deploy the web shop on Fridays")
    matured(memory, "note:deploy", 5, title="Deploy the web shop on Fridays")
    assert told(memory) == ["note:friday"]


def test_the_project_forbids_what_the_persons_own_memory_asks_for(project: Project) -> None:
    matured(Memory(scope="global"), "note:deploy", 9, title="Deploy the web shop on Fridays")
    memory = project.memory()
    matured(memory, "note:friday", 5, title="Never deploy the web shop on Fridays")
    assert told(memory) == ["note:friday"]
    assert why(memory)["note:deploy"] == "contradicted by note:friday"


def test_of_sequences_that_hold_each_other_the_longest_proven_one_is_told(project: Project) -> None:
    memory = project.memory()
    matured(memory, "seq:edit->test", 12)
    matured(memory, "seq:edit->test->commit", 5)
    matured(memory, "seq:edit->test->commit->push", 4)
    assert told(memory) == ["seq:edit->test->commit"]
    assert why(memory)["seq:edit->test"] == "a part of seq:edit->test->commit"
    memory.retire("seq:edit->test->commit")
    assert told(memory) == ["seq:edit->test"]


# --- where it applies -----------------------------------------------------------------------------------------------


def test_habits_of_one_language_do_not_reach_a_project_of_another(project: Project) -> None:
    matured(Memory(scope="global"), "pref:formatter=black", lines="applies_to: {languages: [python]}")
    project.write("go.mod", "module example.com/a\n")
    memory = project.memory()
    assert told(memory) == []
    assert why(memory) == {"pref:formatter=black": "for python only"}
    project.write("tool/setup.py", "")
    assert told(memory) == ["pref:formatter=black"]


@pytest.mark.parametrize(
    "lines",
    [
        "applies_to: {paths: [web/**]}",
        'applies_to: {"paths": ["web/**"]}',
        "applies_to:\n  paths:\n    - web/**  # the front end",
        "applies_to: {paths: web}",
    ],
)
def test_advice_for_a_folder_is_told_where_files_of_it_are_in_play(project: Project, lines: str) -> None:
    memory = project.memory()
    matured(memory, "pref:style=prettier", lines=lines)
    assert why(memory) == {"pref:style=prettier": "nothing here is " + ("web" if "paths: web}" in lines else "web/**")}
    project.write("web/app/main.ts", "")
    assert told(memory) == ["pref:style=prettier"]
    assert told(memory, paths=["web/app/main.ts"]) == ["pref:style=prettier"]
    assert told(memory, paths=[str(project.root / "web" / "app" / "main.ts")]) == ["pref:style=prettier"]
    assert told(memory, paths=["api/main.py"]) == []


@pytest.mark.parametrize(
    ("lines", "wrong"),
    [
        ("applies_to: {languages: [pyhton]}", "no language 'pyhton'"),
        ("applies_to: {language: [python]}", "not 'language'"),
        ("applies_to: python", "not a map"),
        ("applies_to: {paths: [1]}", "not a list of texts"),
    ],
)
def test_a_limit_that_cannot_be_read_is_said_and_the_pattern_is_told_nowhere(
    project: Project, lines: str, wrong: str
) -> None:
    memory = project.memory()
    matured(memory, KEY, lines=lines)
    found = memory.suggestions()
    assert found.patterns == () and wrong in found.notices[0]
    assert [one.rule for one in memory.check() if wrong in one.message] == ["applies-to"]
    memory.observe(KEY)
    memory.consolidate()
    assert memory.show(KEY).confidence == 6


# --- what lowers it ---


def test_what_cites_a_vanished_file_is_told_last_and_says_so(project: Project) -> None:
    project.write("scripts/release.sh", "echo\n")
    project.commit("script")
    memory = project.memory()
    matured(memory, "note:release", 12, title="Release with scripts/release.sh")
    matured(memory, "note:review", 5, title="Ask for a review")
    assert told(memory) == ["note:release", "note:review"]
    (project.root / "scripts" / "release.sh").unlink()
    memory.check(stale=True)
    assert told(memory) == ["note:review", "note:release"]
    assert "cites scripts/release.sh, which is gone" in memory.suggest()[1].because
    project.write("scripts/release.sh", "echo\n")
    assert told(memory) == ["note:release", "note:review"]


def test_what_ten_sessions_were_told_and_none_followed_sinks_until_it_is_used(project: Project, clock: Clock) -> None:
    memory = project.memory(clock)
    matured(memory, "note:release", 12, title="Release from the branch")
    matured(memory, "note:review", 5, title="Ask for a review")
    clock.forward(1)
    for number in range(10):
        memory.begin_session(f"session-{number}", ["note:release", "note:review"], agent="codex")
        assert told(memory) == ["note:release", "note:review"]
    memory.observe("note:review")
    memory.consolidate()
    assert told(memory) == ["note:review", "note:release"]
    assert "never followed" in memory.suggest()[1].because
    memory.observe("note:release")
    memory.consolidate()
    assert told(memory) == ["note:release", "note:review"]


# --- the task at hand -----------------------------------------------------------------------------------------------


def test_what_concerns_the_task_comes_first(project: Project) -> None:
    memory = project.memory()
    matured(memory, "note:invoices", 12, title="Send the invoices on Monday")
    matured(memory, "note:blog", 5, title="Publish the blog through the preview")
    matured(memory, "note:发布", 5, title="博客发布前先看预览")
    assert told(memory) == ["note:invoices", "note:blog", "note:发布"]
    assert told(memory, for_text="publish the blog")[0] == "note:blog"
    assert told(memory, for_text="要发布博客")[0] == "note:发布"
    assert len(told(memory, for_text="publish the blog")) == 3


def test_the_budget_is_explained(project: Project, instinct: Instinct) -> None:
    memory = project.memory()
    for number in range(4):
        matured(memory, f"note:advice-{number}", title="x" * 200)
    found = why(memory, budget=140)
    assert list(found.values()) == ["told", "told", NO_ROOM, NO_ROOM]
    said = instinct("suggest", "--explain-budget", "--budget", "140")
    assert "62 tokens  told" in said.out and "# 124 of 140 tokens are taken\n" in said.out
    data = instinct("suggest", "--explain-budget", "--budget=140", "--json").json
    assert [row["what"] for row in data["explained"]] == [*found.values()]
    assert sum(row["tokens"] for row in data["explained"] if row["what"] == "told") == data["spent"] == 124


def test_what_is_suggested_is_what_a_session_reads_and_what_the_budget_says(
    project: Project, instinct: Instinct
) -> None:
    """Else `--explain-budget` tells of patterns that no agent has seen."""
    matured(Memory(scope="global"), "note:advice number 7", 12, title="From elsewhere")
    memory = project.memory()
    for number in range(40):
        memory.observe_many([Draft(f"note:advice number {number}", title=f"Do the thing {number}")] * 5)
    memory.consolidate()
    memory.observe("note:fresh")
    found = memory.suggestions()
    assert 0 < len(found.patterns) < 40 and found.waits
    words, kept = inject(advice(found.patterns), found.budget, [*found.nominated, found.waits])
    assert [one.key for one in kept] == [one.pattern for one in found.patterns]
    assert tokens(words) <= found.spent <= found.budget == 800
    assert f"# {found.spent} of 800 tokens are taken, " in instinct("suggest", "--explain-budget").out


def test_what_a_limit_leaves_out_is_not_said_to_lack_room_and_takes_none(project: Project) -> None:
    memory = project.memory()
    assert memory.suggestions().spent == 0, "nothing is said, not even the words around it"
    for number in range(3):
        matured(memory, f"note:advice-{number}")
    found = memory.suggestions(1, budget=30)
    assert [what for _, what, _ in explained(found)] == ["told", BEYOND, NO_ROOM]
    assert found.spent == found.costs["note:advice-0"]


def test_the_command_line_takes_a_task_and_files(project: Project, instinct: Instinct) -> None:
    memory = project.memory()
    matured(memory, "note:invoices", 12, title="Send the invoices on Monday")
    matured(memory, "note:web", 5, lines="applies_to: {paths: [web]}")
    assert instinct("suggest", "--for", "the web", "--paths", "web/a.ts", "--paths=web/b.ts").out.startswith("note:web")
    assert "note:web" not in instinct("suggest", "--paths", "api/a.py").out


def test_files_are_named_as_they_are_seen_from_the_folder(project: Project) -> None:
    matured(project.memory(), "note:web", 5, lines="applies_to: {paths: [web]}")
    project.write("web/a.ts", "")
    project.write("api/b.py", "")
    assert told(Memory(project.root / "web"), paths=["a.ts"]) == ["note:web"]
    assert told(Memory(project.root / "api"), paths=["../web/a.ts"]) == ["note:web"]
    assert told(Memory(project.root / "api"), paths=["b.py"]) == []


def test_on_demand_nothing_is_told_but_what_the_task_calls_for(project: Project, clock: Clock) -> None:
    memory = project.memory(clock)
    matured(memory, "note:forms", 5, "applies_to: {paths: [web]}", title="Check every field twice")
    matured(memory, "note:invoices", 8, title="Send the invoices on Monday")
    matured(memory, "pref:quotes=single", 5, title="Single quotes in invoices of Monday")
    matured(memory, "pref:quotes=double", 6, title="Double quotes in invoices of Monday")
    project.write("web/a.ts", "")

    def called(text: str, *paths: str) -> list[str]:
        return [one.pattern for one in memory.suggestions(for_text=text, paths=paths, only=True).patterns]

    assert called("the invoices of Monday") == ["note:invoices", "pref:quotes=double"]
    assert called("please look", "web/a.ts") == ["note:forms"], "it is meant for the file"
    assert called("check every field", "api/a.py") == []
    assert called("") == called("hello there") == []
    clock.forward(1)
    for number in range(10):
        memory.begin_session(f"s{number}", ["note:invoices"], agent="codex")
    memory.observe("note:other")
    memory.consolidate()
    assert called("the invoices of Monday") == ["pref:quotes=double", "note:invoices"], "none followed it"


def test_a_private_folder_outside_is_no_file_in_play(project: Project, tmp_path: Path) -> None:
    memory = project.memory()
    matured(memory, "note:web", 5, lines="applies_to: {paths: [web]}")
    project.write("web/a.ts", "")
    assert told(memory, paths=[str(tmp_path / "elsewhere" / "web" / "a.ts")]) == ["note:web"]

"""The verbs, end to end, on real git, through the Python interface."""

from __future__ import annotations

from pathlib import Path

import pytest

from instinct_git import InstinctError, InstinctStore, Memory, project_fingerprint
from instinct_git.errors import RepositoryBusy, SecretFound, UnknownPattern
from tests.builders import KEY, Project
from tests.conftest import Clock


def test_observe_is_an_upsert_and_returns_the_live_value(project: Project) -> None:
    memory = project.memory()
    assert [memory.observe(KEY).live for _ in range(3)] == [1, 2, 3]
    memory.consolidate()
    assert memory.observe(KEY).live == 4


def test_consolidate_is_one_commit_of_our_paths_alone(project: Project) -> None:
    project.observe(times=8)
    before = project.commits()
    done = project.memory().consolidate()
    assert (done.promoted_to_mature, done.promoted_to_rule, done.total) == (1, 0, 1)
    assert project.commits() == before + 1
    assert all(path.startswith(".instinct/") for path in project.changed())
    assert project.status() == ""
    assert project.confidence() == 8
    assert project.errors() == []


def test_a_second_consolidate_has_nothing_to_do(project: Project) -> None:
    project.observe(times=2)
    project.memory().consolidate()
    head = project.head()
    again = project.memory().consolidate()
    assert (again.commit, again.folded, project.head()) == ("", 0, head)


def test_the_commit_message_says_in_numbers_what_happened(project: Project) -> None:
    project.observe(times=7)
    project.memory().consolidate()
    project.observe(times=1)
    project.memory().consolidate()
    message = project.git("log", "-1", "--format=%B")
    assert message.startswith("instinct: fold 1 observation into 1 pattern\n")
    assert f"{KEY}  7 -> 8  mature" in message
    assert project.git("log", "-1", "--format=%(trailers:key=Instinct-Batch,valueonly)").strip() == "consolidate"


def test_levels_follow_the_confidence_up_and_down(project: Project) -> None:
    memory = project.memory()
    project.observe(times=10)
    assert memory.consolidate().promoted_to_rule == 1
    assert memory.show(KEY).level == "rule"
    memory.adjust(KEY, -3)
    memory.consolidate()
    assert (memory.show(KEY).confidence, memory.show(KEY).level) == (7, "mature")
    memory.adjust(KEY, -4)
    memory.consolidate()
    assert (memory.show(KEY).level, memory.suggest()) == ("raw", [])


def test_what_a_person_takes_away_is_never_lost_at_the_floor(project: Project) -> None:
    memory = project.memory()
    for number in range(1, 13):
        memory.observe(KEY)
        memory.observe(KEY)
        memory.adjust(KEY, -1)
        assert memory.show(KEY).live == number


def test_raw_patterns_stay_silent_in_suggest(project: Project) -> None:
    project.observe(times=4)
    project.observe("pref:style=black", times=5)
    project.memory().consolidate()
    assert [one.pattern for one in project.memory().suggest()] == ["pref:style=black"]


def test_one_session_counts_at_most_three_times(project: Project) -> None:
    project.observe(times=9, session="one", source="codex")
    project.observe(times=9, session="one", source="cursor")
    project.observe(times=1, session="two", source="codex")
    project.memory().consolidate()
    assert project.confidence() == 3 + 3 + 1


def test_decay_takes_one_a_week_and_a_faded_pattern_can_begin_again(project: Project, clock: Clock) -> None:
    memory = project.memory(clock)
    project.observe(times=2, now=clock)
    memory.consolidate()
    clock.forward(91)
    assert memory.decay(90).decayed == 1
    assert memory.decay(90).decayed == 0, "the same week counts once"
    clock.forward(7)
    memory.decay(90)
    assert (memory.show(KEY).confidence, memory.show(KEY).level) == (0, "faded")
    clock.forward(7)
    assert memory.decay(90).faded == (KEY,)
    with pytest.raises(UnknownPattern):
        memory.show(KEY)
    memory.observe(KEY)
    memory.consolidate()
    assert memory.show(KEY).confidence == 1
    assert project.errors() == []


def test_a_confidence_edited_by_hand_survives_as_an_offset(project: Project) -> None:
    project.observe(times=6)
    memory = project.memory()
    memory.consolidate()
    path = memory.show(KEY).path
    assert path
    project.write(path, project.read(path).replace("confidence: 6", "confidence: 9"))
    project.commit("hand", path)
    memory.observe(KEY)
    memory.consolidate()
    assert memory.show(KEY).confidence == 10
    assert "counted: 7" in project.read(path)
    assert memory.explain(KEY).offset == 3


def test_a_deleted_pattern_stays_deleted_is_reported_and_can_be_restored(project: Project) -> None:
    memory = project.memory()
    project.observe(times=6)
    memory.consolidate()
    path = memory.show(KEY).path
    assert path
    project.git("rm", "-q", path)
    project.git("commit", "-q", "-m", "no")
    memory.observe(KEY)
    done = memory.consolidate()
    assert done.removed_by_person == (KEY,)
    assert not (project.root / path).exists()
    assert [one.rule for one in memory.check()] == ["removed-by-person"]
    memory.restore(KEY)
    assert (memory.show(KEY).confidence, project.status()) == (7, "")


def test_retire_is_one_commit_silences_and_goes_on_counting(project: Project) -> None:
    memory = project.memory()
    project.observe(times=6)
    memory.consolidate()
    memory.retire(KEY)
    memory.observe(KEY)
    memory.consolidate()
    assert (memory.suggest(), memory.show(KEY).status, memory.show(KEY).confidence) == ([], "retired", 7)
    memory.restore(KEY)
    assert [one.pattern for one in memory.suggest()] == [KEY]


def test_title_description_and_metadata_travel_in_the_evidence_and_fill_what_is_empty(project: Project) -> None:
    memory = project.memory()
    memory.observe(KEY, title="Test again", description="After a fix.", metadata={"owner": {"team": ["web"]}})
    memory.consolidate()
    memory.observe(KEY, title="Other words", metadata={"owner": "nobody", "since": 2026})
    memory.consolidate()
    one = memory.show(KEY)
    assert (one.title, one.description) == ("Test again", "After a fix.")
    assert one.metadata == {"owner": {"team": ["web"]}, "since": 2026}


def test_notes_and_times_of_day_never_reach_a_commit(project: Project) -> None:
    project.observe(note="ask the customer about the invoice", session="my-session-id", source="codex")
    memory = project.memory()
    shown = memory.record(dry_run=True).published
    memory.record()
    memory.observe(KEY, note="a second secret wish")
    memory.consolidate()
    history = project.git("log", "-p", "--all")
    for word in ("invoice", "wish", "my-session-id", "T1", "T0", "T2"):
        assert word not in "".join(line for line in history.split("\n") if line.startswith(("+{", "-{"))), word
    assert shown.strip() in history, "the dry run prints exactly what is published"
    notes = [line.note for line in memory.explain(KEY).lines]
    assert "ask the customer about the invoice" in notes, "this clone still has them"


def test_share_notes_publishes_them_when_the_project_wants_it(project: Project) -> None:
    memory = project.memory()
    memory.configure("share_notes", "true")
    memory.observe(KEY, note="for everybody")
    memory.record()
    assert "for everybody" in project.git("show", "HEAD")


def test_under_default_branch_another_branch_only_records(project: Project) -> None:
    memory = project.memory()
    memory.configure("consolidate", "default-branch")
    project.observe(times=5)
    memory.consolidate()
    project.git("switch", "-q", "-c", "feature")
    memory.observe(KEY)
    done = memory.consolidate()
    assert (done.verb, project.confidence()) == ("record", 5)
    assert "default-branch" in done.notices[0]
    assert memory.stats().in_observations == 1
    assert memory.consolidate(here=True).folded == 1
    assert project.confidence() == 6


def test_a_detached_head_refuses_the_batch_and_loses_nothing(project: Project) -> None:
    project.observe()
    project.git("checkout", "-q", "--detach")
    with pytest.raises(RepositoryBusy) as refused:
        project.memory().consolidate()
    assert "detached" in refused.value.message
    assert refused.value.hint
    project.git("checkout", "-q", "main")
    assert project.memory().consolidate().folded == 1


def test_a_secret_is_refused_with_the_rules_name_and_nothing_is_written(project: Project) -> None:
    value = "ghp_" + "a1B2c3D4" * 5
    with pytest.raises(SecretFound) as refused:
        project.memory().observe(KEY, note=f"use {value}")
    assert "github-token" in refused.value.message
    assert value not in refused.value.message + refused.value.hint
    assert project.inbox_files() == []


def test_a_secret_written_into_a_pattern_file_by_hand_is_not_committed(project: Project) -> None:
    memory = project.memory()
    project.observe()
    memory.consolidate()
    path = memory.show(KEY).path
    assert path
    project.write(path, project.read(path) + "\ntoken: ghp_" + "a1B2c3D4" * 5 + "\n")
    memory.observe(KEY)
    with pytest.raises(SecretFound):
        memory.consolidate()
    assert len(project.inbox_files()) == 1
    assert [one.rule for one in memory.check() if one.severity == "error"] == ["secret"]


def test_unicode_keys_work_everywhere(project: Project) -> None:
    memory = project.memory()
    key = "seq:测试->修复->测试"
    for _ in range(5):
        memory.observe(key, note="先跑测试")
    memory.consolidate()
    one = memory.show(key)
    assert one.path
    assert one.path.isascii()
    assert [hit.pattern for hit in memory.search("修复")] == [key]
    assert [s.pattern for s in memory.suggest()] == [key]
    assert memory.propose(key, name="test-again").commit


def test_outside_any_memory_everything_goes_to_the_global_one(tmp_path: Path, sealed: Path) -> None:
    folder = tmp_path / "nowhere"
    folder.mkdir()
    memory = Memory(folder)
    assert (memory.scope, memory.fell_back, memory.list()) == ("global", True, [])
    for _ in range(5):
        memory.observe("pref:style=black")
    done = memory.consolidate()
    assert done.commit
    assert (sealed / ".instinct" / "global" / ".git").is_dir()
    assert memory.list()[0].scope == "global"


def test_global_patterns_are_suggested_in_every_project(project: Project) -> None:
    own = Memory(scope="global")
    for _ in range(5):
        own.observe("pref:style=black")
    own.consolidate()
    project.observe(times=6)
    project.memory().consolidate()
    assert [(one.pattern, one.scope) for one in project.memory().suggest()] == [
        (KEY, "project"),
        ("pref:style=black", "global"),
    ]


def test_a_plain_folder_works_without_commits_and_says_so(tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    memory = Memory(folder)
    memory.init()
    for _ in range(5):
        memory.observe(KEY)
    done = memory.consolidate()
    assert (done.commit, done.promoted_to_mature) == ("", 1)
    assert any("no git repository" in notice for notice in done.notices)
    assert memory.suggest()[0].pattern == KEY
    assert memory.consolidate().folded == 0


def test_the_list_can_be_narrowed(project: Project) -> None:
    memory = project.memory()
    project.observe(times=6, source="codex")
    project.observe("pref:style=black", times=2, source="cursor")
    memory.consolidate()
    assert [one.pattern for one in memory.list(min_confidence=3)] == [KEY]
    assert [one.pattern for one in memory.list(category="preference")] == ["pref:style=black"]
    assert [one.pattern for one in memory.list(level="mature")] == [KEY]
    assert [one.pattern for one in memory.list(source="cursor")] == ["pref:style=black"]
    assert memory.list(scope="global") == []
    with pytest.raises(InstinctError):
        memory.list(category="sequenze")


def test_export_rules_gives_what_has_ten(project: Project) -> None:
    project.observe(times=10)
    project.observe("pref:style=black", times=9)
    project.memory().consolidate()
    assert [(one.pattern, one.level) for one in project.memory().export_rules()] == [(KEY, "rule")]


def test_the_suggestions_keep_within_the_token_budget(project: Project) -> None:
    memory = project.memory()
    for number in range(30):
        for _ in range(5):
            memory.observe(f"note:advice-{number:02}", title="x" * 200)
    memory.consolidate()
    found = memory.suggestions(budget=200)
    assert 0 < len(found.patterns) < 5
    assert len(found.patterns) + len(found.left_out) == 30


def test_deleting_the_index_changes_no_answer(project: Project) -> None:
    memory = project.memory()
    project.observe(times=6)
    memory.consolidate()
    first = memory.suggest()
    index = project.root / ".git" / "instinct" / "index-patterns.json"
    while not index.exists():  # a file that changed a moment ago is not cached yet
        memory.suggest()
    for damage in (b"", b"{", b'{"version": 0}', b"[]", b'{"version":1,"root":"x","files":{}}'):
        index.write_bytes(damage)
        assert memory.suggest() == first
    index.unlink()
    assert memory.suggest() == first


def test_a_changed_file_is_seen_although_size_and_time_are_the_same(project: Project) -> None:
    import os

    memory = project.memory()
    project.observe("note:x", times=6, title="one")
    memory.consolidate()
    file = project.root / str(memory.show("note:x").path)
    memory.suggest()
    before = file.stat()
    file.write_text(file.read_text(encoding="utf-8").replace('"one"', '"two"'), encoding="utf-8")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert memory.suggest()[0].title == "two"


def test_explain_names_every_id_and_the_levels_it_reached(project: Project) -> None:
    memory = project.memory()
    project.observe(times=5, source="codex")
    memory.consolidate()
    memory.observe(KEY, note="again")
    found = memory.explain(KEY)
    assert [line.confidence for line in found.lines] == [1, 2, 3, 4, 5, 6]
    assert [line.passed for line in found.lines].count("mature") == 1
    assert sorted(line.where for line in found.lines) == ["inbox"] + ["ledger"] * 5
    assert found.missing == "4 more to rule (10)"


def test_history_lists_the_commits_of_a_pattern(project: Project) -> None:
    memory = project.memory()
    for _ in range(2):
        memory.observe(KEY)
        memory.consolidate()
    assert [one.subject for one in memory.history(KEY)] == ["instinct: fold 1 observation into 1 pattern"] * 2
    with pytest.raises(UnknownPattern):
        memory.history("seq:never->seen")


def test_the_store_of_instinct_is_the_same_class_and_a_context_manager(project: Project) -> None:
    with InstinctStore(project.root) as store:
        store.observe(KEY)
    assert InstinctStore is Memory
    assert len(project_fingerprint(project.root)) == 12
    assert project_fingerprint(project.root) == project_fingerprint(f"{project.root}/.")


def test_nothing_is_printed_by_the_library(project: Project, capfd: pytest.CaptureFixture[str]) -> None:
    memory = project.memory()
    project.observe(times=5)
    memory.consolidate()
    memory.suggest()
    memory.check()
    assert capfd.readouterr() == ("", "")


def test_explain_and_history_know_what_suggest_shows_from_the_global_memory(project: Project) -> None:
    own = Memory(scope="global")
    for _ in range(5):
        own.observe("pref:style=black")
    own.consolidate()
    memory = project.memory()
    assert len(memory.explain("pref:style=black").lines) == 5
    assert len(memory.history("pref:style=black")) == 1


def test_a_batch_where_no_memory_is_makes_none_and_says_so(tmp_path: Path, sealed: Path) -> None:
    project = Project.new(tmp_path / "p")
    done = project.memory().consolidate()
    assert (done.commit, done.total) == ("", 0)
    assert "instinct init" in done.notices[0]
    assert not (sealed / ".instinct").exists()
    project.memory().observe(KEY)
    assert any("global" in notice for notice in project.memory().consolidate().notices)

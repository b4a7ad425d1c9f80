"""alias and retract: evidence put right by evidence, exact in every merge."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from instinct_git import InstinctError
from instinct_git.errors import UnknownPattern
from tests.builders import KEY, Project, Ran
from tests.conftest import Clock
from tests.faces.conftest import two_lines

OTHER = "seq:tests->fix->tests"
THIRD = "seq:check->fix->check"


def test_an_alias_joins_two_keys_for_old_and_new_evidence(project: Project) -> None:
    memory = project.memory()
    project.observe(KEY, 3)
    project.observe(OTHER, 2)
    memory.consolidate()
    done = memory.alias(OTHER, KEY, why="the same thing")
    assert (done.pattern, done.to, done.live) == (OTHER, KEY, 5)
    memory.consolidate()
    memory.observe(OTHER)
    memory.consolidate()
    assert project.confidence(KEY) == 6
    assert [one.pattern for one in memory.list() if one.live > 0] == [KEY]
    assert project.errors() == []
    assert "the same thing" not in project.git("log", "-p", "--all")


@pytest.mark.parametrize("had_a_file", [True, False])
def test_a_retracted_alias_parts_them_again(project: Project, had_a_file: bool) -> None:
    memory = project.memory()
    project.observe(KEY, 3)
    project.observe(OTHER, 2)
    if had_a_file:
        memory.consolidate()
    done = memory.alias(OTHER, KEY)
    memory.consolidate()
    memory.retract(done.id)
    assert {one.pattern: one.live for one in memory.list()} == {KEY: 3, OTHER: 2}
    memory.consolidate()
    assert (project.confidence(KEY), project.confidence(OTHER)) == (3, 2)
    assert project.errors() == []
    for file in project.root.glob(".instinct/patterns/seq/tests*.md"):
        file.unlink()
    project.commit("deleted")
    assert memory.consolidate().removed_by_person == (OTHER,)


def test_chains_end_at_the_last_and_a_cycle_at_the_smallest_key(project: Project) -> None:
    memory = project.memory()
    for key in (KEY, OTHER, THIRD):
        memory.observe(key)
    memory.alias(OTHER, KEY)
    done = memory.alias(KEY, THIRD)
    assert (done.to, done.live) == (THIRD, 3)
    with pytest.raises(InstinctError, match="one already"):
        memory.alias(THIRD, OTHER)


def test_explain_names_what_counts_here_with_the_alias_to_retract(project: Project) -> None:
    memory = project.memory()
    project.observe(KEY, 3)
    wrong = memory.observe(OTHER).id
    memory.observe(OTHER)
    done = memory.alias(OTHER, KEY)
    memory.retract(wrong)
    for key in (KEY, OTHER):
        told = memory.explain(key)
        assert told.pattern == KEY
        assert f"{OTHER} counts here (alias {done.id})" in told.notices
        assert told.retracted == (wrong,)
    memory.retract(done.id)
    assert memory.explain(OTHER).pattern == OTHER
    assert memory.explain(KEY).notices == ()


def test_observing_either_key_tells_what_both_have(project: Project) -> None:
    memory = project.memory()
    project.observe(KEY, 3)
    project.observe(OTHER, 2)
    done = memory.alias(OTHER, KEY)
    assert memory.observe(KEY).live == 6
    assert memory.observe(OTHER).live == 7
    memory.consolidate()
    assert memory.observe(OTHER).live == memory.show(KEY).live == 8
    memory.retract(done.id)
    assert (memory.observe(KEY).live, memory.observe(OTHER).live) == (5, 5)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("seq:test->fix->tset", OTHER, KEY),
        (OTHER, "seq:test->fix->tset", KEY),
        ("seq:test->fix->tset", "note:x", KEY),
    ],
)
def test_a_key_that_nobody_knows_is_refused_with_the_nearest(project: Project, old: str, new: str, told: str) -> None:
    project.observe(KEY)
    project.observe(OTHER)
    before = project.inbox_files()
    with pytest.raises(UnknownPattern) as refused:
        project.memory().alias(old, new)
    assert told in refused.value.hint
    assert project.inbox_files() == before


def test_what_is_joined_already_is_refused(project: Project) -> None:
    memory = project.memory()
    project.observe(KEY)
    project.observe(OTHER)
    with pytest.raises(InstinctError, match="one already"):
        memory.alias(KEY, KEY)
    memory.alias(OTHER, KEY)
    for pair in ((OTHER, KEY), (KEY, OTHER)):
        with pytest.raises(InstinctError, match="one already"):
            memory.alias(*pair)


def test_an_alias_that_an_earlier_one_would_win_over_is_refused_with_the_way_out(project: Project) -> None:
    memory = project.memory()
    for key in (KEY, OTHER, THIRD):
        memory.observe(key)
    first = memory.alias(OTHER, THIRD)
    with pytest.raises(InstinctError) as refused:
        memory.alias(OTHER, KEY)  # of several aliases of one key the smallest target counts
    assert first.id in refused.value.hint
    memory.retract(first.id)
    assert memory.alias(OTHER, KEY).to == KEY


def test_secrets_in_keys_and_reasons_never_reach_a_file(project: Project) -> None:
    memory = project.memory()
    project.observe(KEY)
    project.observe(OTHER)
    before = project.inbox_files()
    with pytest.raises(InstinctError):
        memory.alias(OTHER, KEY, why="ghp_" + "a1B2" * 9)
    assert project.inbox_files() == before


def test_the_same_alias_in_two_clones_counts_once_after_the_merge(project: Project) -> None:
    memory = project.memory()
    project.observe(KEY, 2)
    project.observe(OTHER, 2)
    memory.consolidate()
    other = project.clone("other")
    memory.alias(OTHER, KEY)
    memory.consolidate()
    other.memory().alias(OTHER, KEY)
    other.memory().record()
    project.git("pull", "-q", "--no-rebase", "--no-edit", str(other.root), "main")
    memory.consolidate()
    assert project.confidence(KEY) == 4
    assert project.errors() == []


def test_a_retraction_takes_evidence_out_wherever_it_is(project: Project) -> None:
    memory = project.memory()
    project.observe(KEY, 2)
    memory.consolidate()
    wrong = memory.observe(KEY)
    memory.consolidate()
    done = memory.retract(wrong.id, why="a mistake")
    assert (done.pattern, done.kind, done.live) == (KEY, "observed", 2)
    memory.consolidate()
    assert project.confidence(KEY) == 2
    assert memory.explain(KEY).retracted == (wrong.id,)
    assert project.errors() == []


def test_bad_retractions_are_refused(project: Project) -> None:
    memory = project.memory()
    seen = memory.observe(KEY)
    with pytest.raises(InstinctError) as refused:
        memory.retract(f"{seen.id[:-3]}{'y' if seen.id[-3] == 'x' else 'x'}.1")
    assert seen.id in refused.value.hint and KEY in refused.value.hint
    with pytest.raises(InstinctError) as refused:
        memory.retract(KEY)
    assert f'explain "{KEY}"' in refused.value.hint
    done = memory.retract(seen.id)
    for again in (seen.id, done.id):
        with pytest.raises(InstinctError):
            memory.retract(again)


def test_time_driven_evidence_can_be_retracted_too(project: Project, clock: Clock) -> None:
    memory = project.memory(clock)
    project.observe(KEY, 6, now=clock)
    memory.consolidate()
    clock.forward(100)
    memory.decay()
    assert project.confidence(KEY) == 5
    decayed = next(line.id for line in memory.explain(KEY).lines if line.kind == "decayed")
    assert memory.retract(decayed).live == 6


def test_the_commands(project: Project, instinct: Callable[..., Ran]) -> None:
    project.observe(KEY)
    project.observe(OTHER)
    done = instinct("alias", OTHER, KEY, "--why", "the same")
    assert done.code == 0 and f"its evidence counts for {KEY}  conf=2" in done.out
    (alias_id,) = [word.strip("`") for word in done.out.split() if word.startswith("20")]
    two_lines(instinct("alias", OTHER, KEY), "one already", "instinct show")
    back = instinct("retract", alias_id, "--json")
    assert (back.code, back.json["kind"], back.json["live"]) == (0, "alias", 1)
    two_lines(instinct("retract", "nope"), "there is no evidence 'nope'", "instinct explain")
    assert instinct("alias", OTHER, KEY, "--json").json["to"] == KEY


def test_near_duplicates_are_merged_by_the_commands_that_the_breaker_names(
    project: Project, instinct: Callable[..., Ran]
) -> None:
    import shlex

    memory = project.memory()
    for title in ("Publish the blog post", "publishing blog posts", "Blog post: publish"):
        memory.remember(title)
    told = instinct("breakers")
    commands = [part for part in told.out.split("`") if part.startswith("instinct alias")]
    assert (told.code, len(commands)) == (1, 2)
    for command in commands:
        assert instinct(*shlex.split(command)[1:]).code == 0
    assert instinct("breakers").code == 0
    assert len(memory.candidates()) == 1


def test_a_joined_key_is_shown_and_adjusted_as_the_one_that_stands_for_it_and_says_so(
    instinct: Callable[..., Ran], project: Project
) -> None:
    project.observe(KEY, 3)
    project.observe(OTHER, 2)
    memory = project.memory()
    memory.alias(OTHER, KEY)
    one = memory.show(OTHER)
    assert (one.pattern, one.live, one.because) == (KEY, 5, f"{OTHER} counts as {KEY} (alias)")
    memory.consolidate()
    shown = instinct("show", OTHER).out
    assert f"pattern:     {KEY}\n" in shown and f"note:        {OTHER} counts as {KEY} (alias)\n" in shown
    assert "note:" not in instinct("show", KEY).out
    adjusted = instinct("adjust", OTHER, "4").out
    assert adjusted == f"adjusted {KEY} by +4  conf=9\n# {OTHER} counts as {KEY} (alias)\n"
    with pytest.raises(UnknownPattern):
        memory.adjust("seq:unknown", 1)


def test_joining_that_lifts_a_candidate_over_the_threshold_tells_the_person_and_parting_takes_it_back(
    project: Project,
) -> None:
    memory = project.memory()
    memory.remember("Run the tests", key=KEY, kind="memory", score="0.50", why="often")
    memory.remember("Run tests", key=OTHER, kind="memory", score="0.50", why="often")
    for number in range(2):
        memory.feedback(KEY, "succeeded", context=f"a{number}")
        memory.feedback(OTHER, "succeeded", context=f"b{number}")
    assert memory.nominations("terminal") == []
    joined = memory.alias(OTHER, KEY)
    assert [one.pattern for one in memory.nominations("terminal")] == [KEY]
    memory.retract(joined.id)
    assert memory.nominations("another") == []


def test_a_joined_key_without_a_file_is_neither_retired_nor_restored_but_its_other_name_is_told(
    project: Project,
) -> None:
    memory = project.memory()
    project.observe(KEY)
    project.observe(OTHER)
    memory.alias(OTHER, KEY)
    memory.consolidate()
    for verb in (memory.retire, memory.restore):
        with pytest.raises(InstinctError, match="counts as"):
            verb(OTHER)

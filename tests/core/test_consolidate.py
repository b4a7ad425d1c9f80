"""The plans of the batches: pure functions of files, evidence and a day."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from instinct_git.core.audit import audit
from instinct_git.core.batch import Batch
from instinct_git.core.consolidate import Book, Snapshot, plan_consolidate, plan_decay, plan_record
from instinct_git.core.document import parse
from instinct_git.core.evidence import dump_container, parse_container
from instinct_git.core.keys import pattern_path
from instinct_git.core.model import Evidence, Policy
from instinct_git.core.pattern import PatternFile
from instinct_git.core.ranking import suggestible

POLICY = Policy()
A, B = "seq:a", "seq:b"
MONDAY = date(2026, 6, 1)


def one(nr: int, kind: str = "observed", key: str = A, day: str = "20260601", **extra: Any) -> Evidence:
    return Evidence(f"{day}-7kq2m9x4tnab.{nr}", key, kind, by="cursor", extra=extra)


def many(count: int, key: str = A, day: str = "20260601") -> list[Evidence]:
    return [one(n, key=key, day=day) for n in range(count)]


class Tree:
    """A memory in memory: batches are planned and applied to it."""

    def __init__(self) -> None:
        self.snapshot, self.batches = Snapshot(), 0

    def observations(self, name: str, data: bytes | list[Evidence]) -> None:
        content = data if isinstance(data, bytes) else dump_container(data)
        path = f".instinct/observations/{name}.jsonl"
        self.snapshot = replace(self.snapshot, observations={**self.snapshot.observations, path: content})

    def inbox(self, *evidence: Evidence) -> None:
        self.snapshot = replace(self.snapshot, inbox=(*self.snapshot.inbox, *evidence))

    def write(self, path: str, text: str | None) -> None:
        patterns = {name: each for name, each in self.snapshot.patterns.items() if name != path}
        self.snapshot = replace(self.snapshot, patterns={**patterns, **({} if text is None else {path: text})})

    def edit(self, key: str, old: str, new: str) -> None:
        path = pattern_path(key)
        assert old in self.snapshot.patterns[path]
        self.write(path, self.snapshot.patterns[path].replace(old, new))

    def run(self, verb: str = "consolidate", today: date = MONDAY, days: int = 90) -> Batch:
        self.batches += 1
        stem, book = f"{today:%Y%m%d}-{self.batches:012d}", Book(self.snapshot)
        if verb == "record":
            batch = plan_record(book, stem)
        elif verb == "decay":
            batch = plan_decay(book, POLICY, stem, today, days)
        else:
            batch = plan_consolidate(book, POLICY, stem, today)
        for change in batch.changes:
            self._apply(change.path, change.content)
        self.snapshot = replace(self.snapshot, inbox=())
        return batch

    def _apply(self, path: str, content: bytes | None) -> None:
        name = "patterns" if path.endswith(".md") else path.split("/")[1]
        files = {each: data for each, data in getattr(self.snapshot, name).items() if each != path}
        if content is not None:
            files[path] = content.decode("utf-8") if name == "patterns" else content
        self.snapshot = replace(self.snapshot, **{name: files})

    def file(self, key: str = A) -> PatternFile:
        return parse(self.snapshot.patterns[pattern_path(key)], "p")

    def has(self, key: str = A) -> bool:
        return pattern_path(key) in self.snapshot.patterns

    def numbers(self, key: str = A) -> tuple[int, int]:
        return self.file(key).confidence, self.file(key).counted

    def ids(self) -> list[str]:
        containers = [*self.snapshot.observations.values(), *self.snapshot.ledger.values()]
        return [each.id for data in containers for each in parse_container(data)[0]]

    def errors(self) -> list[str]:
        present = [*self.snapshot.patterns, *self.snapshot.observations, *self.snapshot.ledger,
                   ".instinct/observations/README.md", ".instinct/ledger/README.md"]  # fmt: skip
        return [each.message for each in audit(Book(self.snapshot), POLICY, present) if each.severity == "error"]


@pytest.fixture
def tree() -> Tree:
    return Tree()


def test_record_moves_the_inbox_into_one_new_container_and_touches_no_pattern(tree: Tree) -> None:
    tree.inbox(*many(3), one(7)._replace(note="private", at="2026-06-01T10:00:00Z"))
    batch = tree.run("record")
    assert [change.path for change in batch.changes] == [".instinct/observations/20260601-000000000001.jsonl"]
    assert (batch.recorded, len(tree.ids()), tree.snapshot.patterns) == (4, 4, {})
    assert b"private" not in next(iter(tree.snapshot.observations.values()))
    assert not tree.run("record").changes


def test_consolidate_folds_inbox_and_observations_into_one_ledger_file(tree: Tree) -> None:
    tree.observations("x", many(4))
    tree.inbox(one(20, key=B), one(21, key=B))
    batch = tree.run()
    assert (len(tree.snapshot.ledger), tree.snapshot.observations) == (1, {})
    assert (tree.numbers(A), tree.numbers(B)) == ((4, 4), (2, 2))
    assert batch.folded == len(tree.ids()) == 6
    assert tree.errors() == []
    assert not tree.run().changes


def test_refold_of_resurrected_fragment_adds_batch(tree: Tree) -> None:
    tree.observations("x", many(3))
    tree.run()
    tree.observations("x", many(3))
    batch = tree.run()
    assert (batch.folded, tree.numbers(), tree.snapshot.observations) == (0, (3, 3), {})
    added = [change for change in batch.changes if change.content is not None]
    assert [change.path.split("/")[1] for change in added] == ["ledger"]
    assert {each.id for each in parse_container(added[0].content or b"")[0]} == {each.id for each in many(3)}
    assert len(tree.snapshot.ledger) == 2
    assert tree.errors() == []


def test_a_container_with_a_bad_middle_line_stays_and_its_good_lines_count_once(tree: Tree) -> None:
    tree.observations("x", dump_container(many(1)) + b"{broken\n" + dump_container([one(9)]))
    tree.run()
    assert list(tree.snapshot.observations) == [".instinct/observations/x.jsonl"]
    assert tree.numbers() == (2, 2)
    assert not tree.run().changes
    assert [message for message in tree.errors() if "cannot be read" in message]


def test_git_rm_pattern_then_new_evidence(tree: Tree) -> None:
    tree.inbox(*many(3))
    tree.run()
    tree.write(pattern_path(A), None)
    assert tree.run().removed_by_person == (A,)
    tree.inbox(one(7, day="20260602"))
    batch = tree.run()
    assert (batch.removed_by_person, batch.folded, tree.has()) == ((A,), 1, False)
    assert len(set(tree.ids())) == 4


def test_a_deletion_by_a_person_outlives_evidence_that_folds_to_nothing(tree: Tree) -> None:
    tree.inbox(one(1))
    tree.run()
    tree.write(pattern_path(A), None)
    tree.inbox(one(2, "denied"))
    tree.run()
    tree.inbox(*[one(n, day="20260701") for n in (5, 6)])
    assert tree.run(today=date(2026, 7, 1)).removed_by_person == (A,)
    assert not tree.has()


def test_a_key_that_folds_to_nothing_before_it_had_a_file_is_not_taken_for_a_deletion(tree: Tree) -> None:
    tree.inbox(one(1, "denied"), one(2, "candidate"))
    batch = tree.run()
    assert (tree.has(), batch.removed_by_person, batch.booked) == (False, (), 1)
    tree.inbox(one(3, day="20260608"))
    assert tree.run(today=date(2026, 6, 8)).removed_by_person == ()
    assert tree.numbers() == (1, 1)


def test_hand_edit_confidence_then_fold(tree: Tree) -> None:
    tree.inbox(*many(3))
    tree.run()
    tree.edit(A, "confidence: 3", "confidence: 13")
    tree.inbox(one(9))
    tree.run()
    assert tree.numbers() == (14, 4)
    assert tree.file().level == "rule"


def test_levels_fall_as_well_as_rise(tree: Tree) -> None:
    tree.inbox(*many(6))
    batch = tree.run()
    assert (tree.file().level, batch.promoted_to_mature) == ("mature", 1)
    tree.inbox(one(9, "denied"))
    tree.run()
    assert (tree.file().level, tree.numbers()) == ("raw", (4, 4))


def test_retired_patterns_are_counted_and_never_decay(tree: Tree) -> None:
    tree.inbox(*many(6))
    tree.run()
    tree.edit(A, "status: active", "status: retired")
    tree.inbox(one(9))
    tree.run()
    assert (tree.numbers(), tree.file().status) == ((7, 7), "retired")
    assert not suggestible(tree.file())
    assert not tree.run("decay", date(2027, 6, 1)).changes


def test_graduated_patterns_never_decay_and_are_never_removed(tree: Tree) -> None:
    tree.inbox(one(1))
    tree.run()
    tree.edit(A, "status: active", "status: graduated")
    tree.inbox(one(2, "denied"))
    tree.run()
    tree.run("decay", date(2027, 6, 1))
    assert (tree.has(), tree.numbers()) == (True, (0, 0))


def test_title_description_and_metadata_fill_only_what_is_empty(tree: Tree) -> None:
    tree.inbox(one(1, title="First", meta={"a": 1}))
    tree.run()
    tree.edit(A, 'title: "First"', "title: Mine")
    tree.inbox(one(2, title="Second", desc="Described", meta={"a": 2, "b": 3}))
    tree.run()
    found = tree.file()
    assert (found.title, found.description, found.metadata) == ("Mine", "Described", {"a": 1, "b": 3})


def test_decay_takes_one_a_pattern_and_iso_week(tree: Tree) -> None:
    tree.inbox(*many(3), *many(2, B, "20260825"))
    tree.run()
    late = date(2026, 9, 2)
    assert (tree.run("decay", late).booked, tree.numbers(A)) == (1, (2, 2))
    assert not tree.run("decay", date(2026, 9, 6)).changes
    assert (tree.run("decay", date(2026, 9, 7)).booked, tree.numbers(A)) == (1, (1, 1))
    assert tree.ids().count("decay:seq:a:2026-W36") == 1


@pytest.mark.parametrize(("days", "falls"), [(0, True), (9, True), (10, True), (11, False), (10**9, False)])
def test_the_days_without_use_decide(tree: Tree, days: int, falls: bool) -> None:
    tree.inbox(*many(3))
    tree.run()
    assert (tree.run("decay", date(2026, 6, 11), days).booked == 1) == falls


def test_a_faded_pattern_is_silent_at_once_removed_a_week_later_and_starts_again_at_one(tree: Tree) -> None:
    tree.inbox(one(1))
    tree.run()
    assert tree.run("decay", date(2026, 9, 1)).faded == ()
    assert (tree.has(), tree.numbers(), suggestible(tree.file())) == (True, (0, 0), False)
    assert not tree.run("decay", date(2026, 9, 3)).changes
    batch = tree.run("decay", date(2026, 9, 8))
    assert (batch.faded, tree.has(), batch.total) == ((A,), False, 0)
    assert "faded:seq:a:2026-W37" in tree.ids()
    assert not tree.run("consolidate", date(2026, 9, 8)).changes
    tree.inbox(one(5, day="20260914"))
    assert tree.run(today=date(2026, 9, 14)).removed_by_person == ()
    assert tree.numbers() == (1, 1)
    assert tree.errors() == []


def test_evidence_on_the_day_after_a_fading_in_the_same_week_starts_it_again(tree: Tree) -> None:
    tree.inbox(one(1))
    tree.run()
    tree.run("decay", date(2026, 9, 1))
    tree.run("decay", date(2026, 9, 8))
    tree.inbox(one(5, day="20260909"))
    assert (tree.run(today=date(2026, 9, 9)).removed_by_person, tree.numbers()) == ((), (1, 1))


def test_a_faded_pattern_with_an_offset_by_hand_stays(tree: Tree) -> None:
    tree.inbox(one(1))
    tree.run()
    tree.edit(A, "confidence: 1", "confidence: 4")
    tree.run("decay", date(2026, 9, 1))
    tree.run("decay", date(2026, 10, 1))
    assert tree.numbers() == (3, 0)


def test_copy_pattern_file_same_id(tree: Tree) -> None:
    tree.inbox(*many(2))
    tree.run()
    copy = ".instinct/patterns/seq/my-copy.md"
    tree.write(copy, tree.snapshot.patterns[pattern_path(A)])
    tree.inbox(one(9))
    tree.run()
    assert tree.numbers() == (3, 3)
    assert [message for message in tree.errors() if pattern_path(A) in message]


def test_rename_of_a_pattern_file_takes_the_numbers_with_it(tree: Tree) -> None:
    tree.inbox(*many(2))
    tree.run()
    text = tree.snapshot.patterns[pattern_path(A)]
    tree.write(pattern_path(A), None)
    tree.write(".instinct/patterns/seq/other-name.md", text)
    tree.inbox(one(9))
    assert tree.run().removed_by_person == ()
    assert list(tree.snapshot.patterns) == [".instinct/patterns/seq/other-name.md"]
    assert parse(tree.snapshot.patterns[".instinct/patterns/seq/other-name.md"], "p").confidence == 3


@pytest.mark.parametrize("damage", ["confidence: x", "<<<<<<< ours\nconfidence: 2", "confidence: 2\nconfidence: 3"])
@pytest.mark.parametrize("renamed", [False, True])
def test_an_unreadable_file_is_left_alone_named_and_the_rest_is_folded(tree: Tree, damage: str, renamed: bool) -> None:
    tree.inbox(*many(2), *[one(20 + n, key=B) for n in range(2)])
    tree.run()
    tree.edit(A, "confidence: 2", damage)
    if renamed:
        text = tree.snapshot.patterns[pattern_path(A)]
        tree.write(pattern_path(A), None)
        tree.write(".instinct/patterns/seq/renamed.md", text)
    before = dict(tree.snapshot.patterns)
    tree.inbox(one(7), one(27, key=B), one(8, "denied"), one(9, "denied"))
    batch = tree.run()
    assert tree.numbers(B) == (3, 3)
    assert {path: text for path, text in tree.snapshot.patterns.items() if path != pattern_path(B)} == {
        path: text for path, text in before.items() if path != pattern_path(B)
    }
    assert [finding.line > 0 for finding in batch.skipped] == [True]
    assert (batch.removed_by_person, batch.booked) == ((), 0)


def test_an_alias_moves_folded_evidence_to_a_key_that_never_had_a_file(tree: Tree) -> None:
    tree.inbox(*many(3))
    tree.run()
    tree.inbox(one(9, "alias", to=B))
    batch = tree.run()
    assert (batch.removed_by_person, batch.folded) == ((), 1)
    assert (tree.numbers(A), tree.numbers(B)) == ((0, 0), (3, 3))
    assert tree.errors() == []
    tree.inbox(one(10))
    tree.run()
    assert tree.numbers(B) == (4, 4)
    tree.write(pattern_path(B), None)
    assert tree.run().removed_by_person == (B,)


def test_a_retraction_that_is_folded_before_or_after_its_target_is_exact(tree: Tree) -> None:
    tree.inbox(one(9, "retract", to=one(1).id))
    tree.run()
    tree.inbox(one(1), one(2))
    tree.run()
    assert tree.numbers() == (1, 1)
    tree.inbox(one(10, "retract", key=B, to=one(2).id))
    assert tree.errors() == []
    tree.run()
    assert (tree.numbers(), tree.errors()) == ((0, 0), [])


def test_days_and_sources_are_those_of_the_evidence_also_when_a_retraction_leaves_none(tree: Tree) -> None:
    """Else two branches that fold the same evidence in another order would write different files."""
    tree.inbox(one(1), one(2, "adjusted", n=3)._replace(by=""))
    tree.run()
    assert (tree.file().first_seen, tree.file().sources) == ("2026-06-01", ("cursor",))
    tree.inbox(one(3, "retract", to=one(1).id))
    tree.run()
    assert (tree.file().counted, tree.file().first_seen, tree.file().last_seen, tree.file().sources) == (3, "", "", ())


def test_days_and_sources_of_a_file_written_by_hand_stay_until_there_is_evidence(tree: Tree) -> None:
    tree.inbox(*many(1))
    tree.run()
    text = tree.snapshot.patterns[pattern_path(A)]
    tree.write(".instinct/patterns/seq/b.md", text.replace('"seq:a"', '"seq:b"').replace("2026-06-01", "2025-01-01"))
    tree.run()
    assert (tree.file(B).counted, tree.file(B).first_seen, tree.file(B).sources) == (0, "2025-01-01", ("cursor",))


@pytest.mark.parametrize("cycle", [True, False])
def test_a_key_that_another_one_stood_for_was_deleted_by_nobody(tree: Tree, cycle: bool) -> None:
    """Its evidence was folded into the other's file; when it stands for itself again it gets its own."""
    tree.inbox(*many(2, A), *[one(n, key=B) for n in (4, 5, 6)], joined := one(9, "alias", A, to=B))
    tree.run()
    assert tree.file(B).counted == 5 and pattern_path(A) not in tree.snapshot.patterns
    tree.inbox(one(10, "alias", B, to=A) if cycle else one(10, "retract", A, to=joined.id))
    assert tree.run().removed_by_person == ()
    assert (tree.file(A).counted, tree.file(B).counted) == ((5, 0) if cycle else (2, 3))
    tree.write(pattern_path(A), None)
    tree.inbox(one(11))
    assert tree.run().removed_by_person == (A,), "now it had a file"


def test_an_alias_or_retraction_that_only_waits_is_no_error(tree: Tree) -> None:
    tree.inbox(*many(3))
    tree.run()
    tree.inbox(one(9, "alias", to=B), one(10, "retract", to=one(1).id))
    assert tree.errors() == []
    tree.run("record")
    assert tree.errors() == []
    tree.run()
    assert (tree.numbers(B), tree.errors()) == ((2, 2), [])


def test_a_number_that_the_evidence_does_not_give_is_an_error_with_its_line(tree: Tree) -> None:
    tree.inbox(*many(3))
    tree.run()
    tree.edit(A, "counted: 3", "counted: 2")
    found = [each for each in audit(Book(tree.snapshot), POLICY, []) if each.rule == "counted"]
    assert [(each.severity, each.line) for each in found] == [("error", 6)]
    tree.run()
    assert tree.numbers() == (4, 3)


def test_evidence_of_a_category_and_words_that_are_none_stops_no_batch(tree: Tree) -> None:
    odd = dump_container([one(1, key="plain", cat="x", title="ok")]).replace(b'"ok"', b"[1]")
    tree.observations("x", odd)
    tree.run()
    assert (tree.file("plain").category, tree.file("plain").title) == ("sequence", "")

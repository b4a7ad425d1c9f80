"""Evidence: lines and ledgers there and back, bad lines, and the set they make."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from instinct_git.core.evidence import (
    MAX_LINE,
    EvidenceSet,
    canonical,
    day_of,
    dump_container,
    dump_ledger,
    dump_line,
    nonce,
    parse_container,
    position,
    published,
)
from instinct_git.core.model import NOTHING, Evidence
from instinct_git.errors import InstinctError

ID = "20260501-7kq2m9x4tnab.1"
KEYS = st.sampled_from(["seq:a->b", "fix:x", "note:记住\u0020x", 'pref:"quoted"', "plain", "note:\\u2028"])
WORDS = st.text(st.characters(exclude_categories=("Cs",)), max_size=30)
IDS = st.one_of(
    st.builds(lambda day, n: f"202605{day:02d}-7kq2m9x4tnab.{n}", st.integers(1, 31), st.integers(1, 50)),
    st.sampled_from(["decay:fix:x:2026-W18", "idle:fix:x:2026-05-01", "faded:seq:a->b:2026-W01"]),
)
EXTRA = st.fixed_dictionaries(
    {},
    optional={
        "title": WORDS, "desc": WORDS, "n": st.integers(-9, 9), "to": st.just("seq:b"), "why": WORDS,
        "meta": st.dictionaries(WORDS, st.one_of(WORDS, st.integers(), st.booleans(), st.none()), max_size=2),
    },
)  # fmt: skip


def evidence(**fixed: Any) -> st.SearchStrategy[Evidence]:
    parts: dict[str, Any] = {
        "id": IDS, "p": KEYS, "k": st.sampled_from(["observed", "denied", "adjusted", "alias"]),
        "at": st.sampled_from(["", "2026-05-01T10:15:09Z"]), "by": WORDS, "s": st.sampled_from(["", "3f2a9c51d07e"]),
        "ctx": WORDS, "note": WORDS, "extra": EXTRA,
    }  # fmt: skip
    return st.builds(Evidence, **{**parts, **fixed}).map(_fitting)


def _fitting(one: Evidence) -> Evidence:
    """A time-driven id belongs to one key and kind, and an alias names a key."""
    prefix, _, rest = one.id.partition(":")
    kinds = {"decay": "decayed", "idle": "idle", "faded": "faded"}
    if prefix in kinds:
        return one._replace(k=kinds[prefix], p=rest.rpartition(":")[0])
    return one._replace(extra={**one.extra, "to": "seq:b"}) if one.k == "alias" else one


def bare(one: Evidence) -> Evidence:
    return one._replace(at="", note="", extra=dict(one.extra))


@given(st.lists(evidence(), max_size=6))
def test_a_container_gives_back_what_went_in_whatever_characters_it_holds(some: list[Evidence]) -> None:
    data = dump_container(some)
    found, bad = parse_container(data)
    assert (found, bad) == (some, [])
    assert len(data.decode("utf-8").splitlines()) == data.count(b"\n") == len(some)


@given(st.lists(evidence(), max_size=12))
def test_a_ledger_holds_every_id_with_its_payload_once_sorted_and_never_verbatim(some: list[Evidence]) -> None:
    data = dump_ledger(some)
    found, bad = parse_container(data)
    assert bad == []
    wanted = {(one.id, canonical(one)) for one in some}
    assert {(one.id, canonical(one)) for one in found} == wanted
    assert len(found) == len(wanted)
    assert dump_ledger(reversed(some)) == data
    lines = data.decode("utf-8").split("\n")[:-1]
    rows = [json.loads(line) for line in lines]
    places = [(day_of(row["ids"][0]), row["by"], row["s"], row["p"]) for row in rows]
    assert places == sorted(places), "what repeats stands together: a ledger compresses twice as well"
    assert all(json.loads(row)["ids"] == sorted(set(json.loads(row)["ids"])) for row in lines)
    assert not set(lines) & {dump_line(one) for one in some}
    assert all("note" not in json.loads(line) and "at" not in json.loads(line) for line in lines)


def test_the_line_is_written_as_documented() -> None:
    moment, session = "2026-05-01T10:15:09Z", "3f2a9c51d07e"
    one = Evidence(ID, "seq:a->b", "observed", moment, "claude-code", session, "web-shop", "why", {"title": "T"})
    assert dump_line(one) == (
        '{"v":1,"id":"20260501-7kq2m9x4tnab.1","p":"seq:a->b","k":"observed","at":"2026-05-01T10:15:09Z",'
        '"by":"claude-code","s":"3f2a9c51d07e","ctx":"web-shop","title":"T","note":"why"}'
    )
    assert dump_ledger([one, one._replace(id="20260501-7kq2m9x4tnab.3", note="other", at="")]) == (
        b'{"v":1,"p":"seq:a->b","k":"observed","by":"claude-code","s":"3f2a9c51d07e","ctx":"web-shop","title":"T",'
        b'"ids":["20260501-7kq2m9x4tnab.1","20260501-7kq2m9x4tnab.3"]}\n'
    )


@given(evidence(id=st.just(ID)))
def test_what_is_published_has_no_time_of_day_and_no_note(one: Evidence) -> None:
    shown = published(one)
    assert (shown.at, shown.note) == ("2026-05-01", "")
    assert canonical(shown) == canonical(one)
    assert published(one, share_notes=True).note == one.note


@pytest.mark.parametrize("text", ["x" * 5000, "记" * 1400, "\u2028" * 800, "\x01" * 800])
def test_nothing_over_four_kilobytes_is_written(text: str) -> None:
    with pytest.raises(InstinctError, match="4096"):
        dump_line(Evidence(ID, "seq:a", "observed", note=text))


def test_a_line_of_exactly_four_kilobytes_is_written() -> None:
    room = MAX_LINE - len(dump_line(Evidence(ID, "seq:a", "observed", note="x"))) + 1
    assert len(dump_line(Evidence(ID, "seq:a", "observed", note="x" * room))) == MAX_LINE
    with pytest.raises(InstinctError):
        dump_line(Evidence(ID, "seq:a", "observed", note="x" * (room + 1)))


GOOD = '{"v":1,"id":"20260501-7kq2m9x4tnab.1","p":"seq:a","k":"observed"}'


def line(**changes: object) -> str:
    record = {**json.loads(GOOD), **changes}
    return json.dumps({name: value for name, value in record.items() if value is not ...})


BAD = {
    "no JSON": "{", "a list": "[]", "a number": "1", "another version": line(v=2), "no version": line(v=...),
    "no key": line(p=...), "an empty key": line(p=""), "a key that is no text": line(p=3), "no kind": line(k=...),
    "a kind of the future": line(k="dreamt"), "no id": line(id=...), "an id that is none": line(id="x"),
    "an id of no day": line(id="20261301-7kq2m9x4tnab.1"), "the 30th of February": line(id="20260230-7kq2m9x4tnab.1"),
    "digits of another script": line(id="٢٠٢٦٠٥٠١-7kq2m9x4tnab.1"), "a week 99": line(id="decay:a:2026-W99"),
    "an id in a list that is none": line(ids=["20260501-7kq2m9x4tnab.1", 7]), "no ids": line(ids=[]),
    "half a character": line(title="\ud800"), "a key with a line break": line(p="seq:a\nb"),
    "a key too long": line(p="x" * 201), "a key that is not trimmed": line(p=" seq:a"),
    "a key in NFD": line(p="note:e\u0301"),
    "a fraction": line(n=1.5), "too deep": "[" * 100_000,
}  # fmt: skip


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD.keys())
def test_bad_json_middle_line(bad: str) -> None:
    found, broken = parse_container(f"{GOOD}\n{bad}\n{line(id='20260501-7kq2m9x4tnab.2')}\n".encode())
    assert [one.id[-1] for one in found] == ["1", "2"]
    assert [(one.line, one.torn) for one in broken] == [(2, False)]
    assert broken[0].reason


@pytest.mark.parametrize("cut", range(1, len(GOOD) - 1, 7))
def test_torn_last_line_power_cut(cut: int) -> None:
    found, broken = parse_container(f"{GOOD}\n{GOOD[:cut]}".encode())
    assert len(found) == 1
    assert [(one.line, one.torn) for one in broken] == [(2, True)]


def test_a_last_line_without_its_end_that_is_whole_counts() -> None:
    assert parse_container(GOOD.encode()) == ([Evidence("20260501-7kq2m9x4tnab.1", "seq:a", "observed")], [])


def test_unknown_fields_blank_lines_crlf_and_a_byte_order_mark_are_ignored() -> None:
    data = b"\xef\xbb\xbf" + f"{line(novel={'a': 1})}\r\n\r\n  \n".encode()
    assert parse_container(data) == ([Evidence("20260501-7kq2m9x4tnab.1", "seq:a", "observed")], [])


def test_bytes_that_are_no_utf_8_are_one_bad_line() -> None:
    found, broken = parse_container(GOOD.encode() + b"\n\xff\xfe\n")
    assert (len(found), broken[0].reason) == (1, "not valid UTF-8")


@given(st.binary(max_size=200))
def test_reading_never_raises(data: bytes) -> None:
    parse_container(data)


@given(st.lists(evidence(id=st.sampled_from([ID, "decay:fix:x:2026-W18"])), min_size=1, max_size=6), st.randoms())
def test_duplicate_id_two_payloads(some: list[Evidence], random: Any) -> None:
    shuffled = some.copy()
    random.shuffle(shuffled)
    one, other = EvidenceSet(some), EvidenceSet(shuffled)
    for name in one.by_id:
        payloads = {canonical(each) for each in some if each.id == name}
        assert canonical(one.by_id[name]) == canonical(other.by_id[name]) == min(payloads)
        # Two sessions alone are no clash: a session and its resumed copy.
        apart = {canonical(each._replace(s="x" if each.s else "")) for each in some if each.id == name}
        assert (name in one.clashes) == (len(apart) > 1)
    assert one.clashes == other.clashes


def test_the_same_evidence_with_and_without_its_note_is_no_clash_and_the_note_is_kept() -> None:
    full = Evidence(ID, "seq:a", "observed", "2026-05-01T10:15:09Z", note="why")
    for pair in ((full, published(full)), (published(full), full), (full, bare(full))):
        found = EvidenceSet(pair)
        assert (found.clashes, found.by_id[ID].note) == (set(), "why")


@pytest.mark.parametrize(
    ("name", "day"),
    [
        (ID, "20260501"), ("decay:seq:a->b:2026-W18", "20260427"), ("faded:seq:a:2026-W18", "20260503"),
        ("idle:note:2026-W18:2026-05-01", "20260501"), ("decay:x:2020-W53", "20201228"),
    ],
)  # fmt: skip
def test_every_id_has_its_day(name: str, day: str) -> None:
    assert day_of(name) == day


def test_time_driven_ids_come_last_in_their_day() -> None:
    ids = ["decay:a:2026-W18", "20260427-zzzzzzzzzzzz.9", "20260428-000000000000.1", "20260427-000000000000.1"]
    assert sorted(ids, key=position) == [ids[3], ids[1], ids[0], ids[2]]


@given(st.binary(min_size=8, max_size=8))
def test_a_nonce_is_twelve_characters_without_those_that_are_taken_for_others(random: bytes) -> None:
    assert len(nonce(random)) == 12
    assert not set(nonce(random)) & set("ilouILOU")
    assert NOTHING == {}


def test_two_sessions_of_one_id_are_no_clash_and_the_smaller_counts() -> None:
    first, second = Evidence(ID, "seq:a", "observed", s="2"), Evidence(ID, "seq:a", "observed", s="10")
    for pair in ((first, second), (second, first)):
        found = EvidenceSet(pair)
        assert (found.clashes, found.by_id[ID].s) == (set(), "10")
    assert EvidenceSet([first, second._replace(by="other")]).clashes == {ID}
    assert EvidenceSet([first, first._replace(s="")]).clashes == {ID}

"""Settings in JSON with comments: whatever a person's file looks like, ours goes in and out and the rest stays."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from instinct_git.bridges.agents import jsonc
from instinct_git.bridges.agents.edited import Edited, NotEditable, is_our_server, runs_our_hook

OURS = {"command": "instinct", "args": ["serve"]}
SPACES = some.sampled_from(
    ["", " ", "\n", "\n  ", "\n\t", " // c\n", " /* d */ ", "\r\n    ", "\n  // e }\n  ", "/* a\n b */"]
)
SCALARS = some.one_of(
    some.none(), some.booleans(), some.integers(), some.floats(allow_nan=False, allow_infinity=False), some.text()
)
KEYS = some.one_of(some.sampled_from(["mcpServers", "hooks", "a", "b"]), some.text(max_size=3))
VALUES = some.recursive(
    SCALARS,
    lambda inner: some.one_of(some.lists(inner, max_size=3), some.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=8,
)


@some.composite
def texts(draw: some.DrawFn) -> tuple[str, dict[str, Any]]:
    """An object written down in some way, and its value."""
    value = draw(some.dictionaries(KEYS, VALUES, max_size=4))
    if "mcpServers" in value:
        value["mcpServers"] = draw(some.dictionaries(KEYS, VALUES, max_size=2))

    def written(one: Any) -> str:
        gap = lambda: draw(SPACES)  # noqa: E731
        if not isinstance(one, (dict, list)):
            return json.dumps(one, ensure_ascii=draw(some.booleans()))
        items = one.items() if isinstance(one, dict) else [(None, item) for item in one]
        parts = [
            f"{gap()}{'' if key is None else json.dumps(key) + gap() + ':' + gap()}{written(item)}{gap()}"
            for key, item in items
        ]
        last = "," + gap() if parts and draw(some.booleans()) else ""
        inner = ",".join(parts) + last if parts else gap()
        return f"{{{inner}}}" if isinstance(one, dict) else f"[{inner}]"

    return draw(SPACES) + written(value) + draw(SPACES), value


@given(texts())
def test_what_goes_in_comes_out_and_the_rest_stays(made: tuple[str, dict[str, Any]]) -> None:
    text, value = made
    assert jsonc.plain(text) == value
    path = ("mcpServers", "instinct")
    done = jsonc.add(Edited(text), path, OURS)
    assert done.undone() == text
    after = jsonc.plain(done.text)
    servers = value.get("mcpServers", {})
    assert after == {**value, "mcpServers": {**servers, "instinct": OURS}}
    assert [key for key in after if key in value] == list(value)
    back = jsonc.remove(done.text, path, is_our_server)
    expected = {key: one for key, one in value.items() if key != "mcpServers" or one}
    found = jsonc.plain(back)
    assert {key: one for key, one in found.items() if key != "mcpServers" or one} == expected
    for word in ("// c", "/* d */", "// e }", "/* a\n b */"):
        assert back.count(word) == text.count(word) or not servers, word


@given(texts())
def test_a_hook_goes_into_a_list_and_out_again(made: tuple[str, dict[str, Any]]) -> None:
    text, value = made
    if "hooks" in value:
        return
    path = ("hooks", "Stop", jsonc.APPEND)
    once = jsonc.add(Edited(text), path, {"command": "other"})
    twice = jsonc.add(once, path, {"command": "instinct-hook codex Stop"})
    assert twice.undone() == text
    back = jsonc.remove(
        twice.text, ("hooks", "Stop"), lambda one: isinstance(one, dict) and runs_our_hook(one.get("command"))
    )
    assert jsonc.plain(back) == {**value, "hooks": {"Stop": [{"command": "other"}]}}


@pytest.mark.parametrize(
    "text",
    ["{'a': 1}", '{"a": 1 "b": 2}', '{"a": 01}', '{"a": .5}', '{"a": truely}', '{"a"}', '{"a": "\n"}', '{"a": "\\x"}', '{,}',
     '{"a": 1,, "b": 2}', "{", "}", '{"a": 1} x', "{/*", '{"a": NaN}', '"a"', "1", '{"a": 1}{}', "{a: 1}"],
)  # fmt: skip
def test_what_is_no_json_object_is_refused(text: str) -> None:
    with pytest.raises(NotEditable):
        jsonc.plain(text)


def test_of_two_members_with_one_name_the_last_counts_as_readers_have_it() -> None:
    text = '{"mcpServers": {"a": 1}, "mcpServers": {"b": 2}}'
    done = jsonc.add(Edited(text), ("mcpServers", "instinct"), OURS)
    assert json.loads(done.text)["mcpServers"] == {"b": 2, "instinct": OURS}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{\n  "a": 1 // one\n}\n', '{\n  "a": 1, // one\n  "k": 2\n}\n'),
        ('{\n\t"a": 1,\n}\n', '{\n\t"a": 1,\n\t"k": 2,\n}\n'),
        ('{"a": 1}', '{"a": 1, "k": 2}'),
        ("{}", '{\n  "k": 2\n}'),
        ('{\r\n    "a": 1\r\n}', '{\r\n    "a": 1,\r\n    "k": 2\r\n}'),
    ],
)
def test_it_is_written_as_a_person_would(before: str, after: str) -> None:
    assert jsonc.add(Edited(before), ("k",), 2).text == after


@pytest.mark.parametrize(
    ("command", "ours"),
    [
        ("instinct-hook codex Stop", True), ("/usr/bin/instinct-hook codex Stop", True), ("instinct session-start codex", True),
        ('"C:\\x\\instinct-hook.exe" codex Stop', True), ("instinct-hooks x", False), ("echo instinct-hook", False),
        ("instinct suggest", False), ("my-instinct-hook x", False), (None, False), (["instinct-hook"], False),
    ],
)  # fmt: skip
def test_our_hooks_are_known_by_their_command(command: object, ours: bool) -> None:
    assert runs_our_hook(command) is ours


@pytest.mark.parametrize(
    "value", ["NaN", "-Infinity", "01", "1" * 5000, '"\\x"', '"a\nb"', "[1, NaN]", '{"b": 01}', "'b'"]
)
def test_what_json_does_not_have_is_refused_however_deep_it_stands(value: str) -> None:
    for text in (f'{{"a": {value}}}', f'{{"a": {{"b": [{value}]}}, "c": 1}}', f'{{"a": [{value}] // why\n}}'):
        with pytest.raises(NotEditable, match="line 1"):
            jsonc.parse(text)


def test_what_is_not_looked_into_is_not_taken_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """A person's settings hold megabytes of history beside the one object that is ours."""
    history = ", ".join(f'"{number}": {{"a": [1, 2, {{"b": "c"}}]}}' for number in range(1000))
    text = f'{{\n  "history": {{{history}}},\n  "mcpServers": {{}}\n}}\n'
    made: list[int] = []
    read = jsonc._Reader._member
    monkeypatch.setattr(jsonc._Reader, "_member", lambda *args, **more: made.append(1) or read(*args, **more))
    after = jsonc.add(Edited(text), ("mcpServers", "instinct"), {"command": "instinct", "args": ["serve"]})
    assert jsonc.remove(after.text, ("mcpServers", "instinct"), is_our_server) == text.replace(
        ',\n  "mcpServers": {}', ""
    )
    assert len(made) < 100

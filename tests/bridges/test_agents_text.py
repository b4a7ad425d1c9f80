"""Our pieces are cut out of files that somebody has edited since: what stands around them stays with its neighbours."""

from __future__ import annotations

import tomllib

import pytest

from instinct_git.bridges.agents import block, jsonc, toml, yaml
from instinct_git.bridges.agents.edited import Edited, NotEditable, is_our_server


def test_a_comment_to_the_end_of_its_line_does_not_swallow_what_follows_ours() -> None:
    text = '{"mcpServers": {\n  // theirs\n  "instinct": {"command": "instinct", "args": ["serve"]}}}'
    found = jsonc.remove(text, ("mcpServers", "instinct"), is_our_server)
    assert jsonc.plain(found) == {"mcpServers": {}} and "// theirs" in found


def test_a_comment_above_the_next_toml_table_stays_with_it() -> None:
    ours = (
        '[mcp_servers.instinct]\ncommand = "instinct"\nargs = [\n  "serve",\n]\n\n[mcp_servers.instinct.env]\nA = "b"\n'
    )
    found = toml.remove(f"a = 1\n\n{ours}\n# theirs\n[other]\nx = 1\n", "mcp_servers", "instinct")
    assert found.endswith("\n# theirs\n[other]\nx = 1\n")
    assert tomllib.loads(found) == {"a": 1, "other": {"x": 1}}


def test_a_toml_table_in_another_form_is_left_to_the_person() -> None:
    with pytest.raises(NotEditable, match="by hand"):
        toml.remove('mcp_servers.instinct = {command = "instinct", args = ["serve"]}\n', "mcp_servers", "instinct")


def test_a_yaml_mapping_with_a_comment_of_the_persons_stays() -> None:
    text = "extensions:\n  # theirs\n  instinct:\n    cmd: instinct\n    args:\n    - serve\n\nother: 1\n"
    assert is_our_server(yaml.entry(text, "extensions", "instinct"))
    assert yaml.remove(text, "extensions", "instinct") == "extensions:\n  # theirs\n\nother: 1\n"


def test_a_block_in_the_middle_goes_alone() -> None:
    done = block.put(Edited("# A\n"), "rule", "words")
    assert block.remove(done.text + "\nB\n", "rule") == "# A\n\n\nB\n"
    assert block.content(done.text, "rule") == "words\n"

"""`learn`: what a transcript gives, once."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import pytest

from instinct_git import InstinctError
from tests.builders import Project
from tests.conftest import Clock
from tests.sessions import Session


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    """The transcript that ships with the package."""
    file = tmp_path / "session.jsonl"
    file.write_bytes(resources.files("instinct_git").joinpath("data/demo-transcript.jsonl").read_bytes())
    return file


def test_learning_the_same_file_twice_adds_nothing(project: Project, transcript: Path) -> None:
    memory = project.memory()
    first = memory.learn([transcript])
    assert first.new == sum(one.new for one in first.patterns) > 0
    assert memory.learn([transcript]).new == 0
    memory.consolidate()
    numbers = {one.pattern: one.confidence for one in memory.list()}
    again = memory.learn([transcript])
    assert (again.new, {one.new for one in again.patterns}) == (0, {0})
    memory.consolidate()
    assert {one.pattern: one.confidence for one in memory.list()} == numbers


def test_learned_in_two_clones_and_merged_counts_once(project: Project, transcript: Path) -> None:
    project.commit("memory")
    other = project.clone("other")
    for one in (project, other):
        one.memory().learn([transcript])
        one.memory().consolidate()
    expected = {one.pattern: one.confidence for one in project.memory().list()}
    other.git("pull", "-q", "--no-rebase", "--no-edit", "-X", "ours", check=False)
    other.memory().consolidate()
    assert {one.pattern: one.confidence for one in other.memory().list()} == expected
    assert other.errors() == []


def test_one_session_counts_at_most_three_times_for_a_pattern(project: Project, transcript: Path) -> None:
    memory = project.memory()
    memory.learn([transcript])
    memory.consolidate()
    assert max(one.confidence for one in memory.list()) == 3


def test_a_dry_run_writes_nothing_and_tells_where(project: Project, transcript: Path) -> None:
    done = project.memory().learn([transcript], dry_run=True)
    assert project.inbox_files() == []
    for one in done.patterns:
        assert len(one.at) == one.support
        assert all(1 <= number <= done.calls for spot in one.at for number in spot)


def test_a_copy_a_folder_and_a_broken_copy_change_nothing(project: Project, transcript: Path, tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    data = transcript.read_bytes()
    (folder / "a.jsonl").write_bytes(data)
    (folder / "b.jsonl").write_bytes(b"\xef\xbb\xbf// a comment\n{broken\n" + data.replace(b"\n", b"\r\n")[:-40])
    memory = project.memory()
    first = {one.key: one.support for one in memory.learn([transcript]).patterns}
    again = memory.learn([folder])
    assert {one.key: one.support for one in again.patterns} == first
    assert (again.new, again.sessions) == (0, 1)
    assert again.skipped


@pytest.mark.parametrize("content", [None, b"", b"hello\n", b'{"a": 1}\n', b"\x00\xff" * 50])
def test_what_is_no_transcript_ends_in_a_known_error(project: Project, tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "x.jsonl"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(InstinctError) as refused:
        project.memory().learn([file])
    assert refused.value.hint


def test_nothing_learned_quotes_the_session(project: Project, transcript: Path) -> None:
    memory = project.memory()
    memory.learn([transcript])
    memory.consolidate()
    committed = project.git("log", "-p")
    for word in ("/home/dev", "toolu_", "sessionId", "web-shop"):
        assert word not in committed


@pytest.mark.parametrize("ask", ["next", "Remember this workflow"])
@pytest.mark.parametrize(
    "tool",
    [
        "mcp__db.prod.acme.com__query",
        "mcp__10.0.0.4__query",
        "mcp__ghp_" + "a1B2c3D4e5F6" * 2 + "__query",
        "mcp__acme-corp__query_acme_orders",
        "AcmeQuery",
    ],
)
def test_nothing_of_a_servers_or_a_tools_own_name_is_published(
    project: Project, clock: Clock, tool: str, ask: str
) -> None:
    session = Session().say("Mend it")
    for _ in range(3):
        session.do("edit lint test").use(tool, {}, "ok").do("commit").say(ask)
        session.do("edit lint test build read", agentId="other")
    done = project.memory(clock).learn([session.file(project.root.parent)])
    assert "seq:edit->lint->test" in {one.key for one in done.patterns}
    project.memory(clock).record()
    told = project.git("grep", "-iE", "acme|10.0.0|ghp_", "HEAD", "--", ".instinct", check=False)
    assert "acme" not in told
    assert "10.0.0.4" not in told
    assert "ghp_" not in told.lower()


def test_a_projects_own_commands_are_learned_by_the_names_it_gives_them(project: Project, clock: Clock) -> None:
    session = Session().say("Mend it")
    for _ in range(3):
        session.do("edit").use("Bash", {"command": "cd web && just ship-it"}, "ok")
        session.use("mcp__acme__page_oncall", {}, "ok").do("commit").say("next")
    file = session.file(project.root.parent)
    memory = project.memory(clock)
    assert "seq:edit->run->mcp-page->commit" in {one.key for one in memory.learn([file], dry_run=True).patterns}
    memory.configure("actions.just ship-it", "deploy")
    memory.configure("actions.mcp__acme__page_oncall", "page")
    (one,) = [one for one in memory.learn([file]).patterns if one.key.startswith("seq:edit->")]
    assert (one.key, one.title) == ("seq:edit->deploy->page->commit", "Make the change, deploy, run page, then commit")

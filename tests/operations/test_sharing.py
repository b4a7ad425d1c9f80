"""A team's memory through an ordinary git host: everything arrives, once, and nothing leaks."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from instinct_git.core.address import checked, shown
from instinct_git.core.evidence import parse_container
from instinct_git.errors import InstinctError
from instinct_git.faces.render import pattern_lines
from instinct_git.memory import Memory
from instinct_git.operations.observing import Draft
from instinct_git.storage import git as storage_git
from instinct_git.storage.files import project_fingerprint
from tests.builders import KEY, Project, git
from tests.conftest import Clock
from tests.people import TEAM, Person, bare, begun, host_files, on_host


@pytest.fixture
def host(tmp_path: Path) -> Path:
    return bare(tmp_path)


@pytest.fixture
def ada(tmp_path: Path, host: Path, tmp_path_factory: pytest.TempPathFactory) -> Person:
    """A person who has started the team's memory; KEY is a rule of it."""
    return begun(tmp_path, tmp_path_factory, 10)


def test_what_one_person_learns_is_suggested_to_the_next(tmp_path: Path, host: Path, ada: Person) -> None:
    bob = Person.new(tmp_path, "bob").joins(host)
    assert bob.suggested() == [KEY]
    assert [(one.scope, one.confidence) for one in bob.memory.search("test")] == [("shared", 10)]
    assert len(bob.memory.explain(KEY).lines) == 10
    bob.sees(source="cursor")
    done = bob.syncs()
    assert (done.recorded, done.folded, done.conflicts, done.offline) == (1, 1, (), "")
    assert ada.syncs().received == 2
    assert (ada.confidence(), bob.confidence()) == (11, 11)
    assert ada.memory.show(KEY).sources == ("claude-code", "cursor")


def test_the_project_speaks_before_the_shared_memory(tmp_path: Path, host: Path, ada: Person) -> None:
    ada.memory.init()
    ada.project.write("README.md", "x")
    ada.project.commit("first")
    ada.memory.observe_many([])
    for _ in range(5):
        ada.memory.observe(KEY)
    ada.memory.consolidate()
    (one,) = ada.memory.suggest()
    assert (one.scope, one.memory, one.because) == (
        "shared", TEAM, "team, rule, 10 x, seen by claude-code; also project, 5 x",
    )  # fmt: skip
    for _ in range(4):
        ada.memory.observe(KEY)
    ada.sees()
    ada.memory.observe(KEY)
    ada.memory.consolidate()
    ada.syncs()
    (one,) = ada.memory.suggest()  # of one level the nearer one
    assert (one.scope, one.confidence, one.because) == ("project", 10, "project, rule, 10 x; also team, 11 x")
    assert [(one.scope, one.memory) for one in ada.memory.list()] == [("shared", TEAM), ("project", "")]
    assert (ada.memory.show(KEY).scope, ada.memory.explain(KEY).confidence) == ("project", 10)


def test_two_shared_memories_keep_their_numbers_apart(tmp_path: Path, host: Path, ada: Person) -> None:
    ada.memory.share_add("other", str(bare(tmp_path, "other.git")))
    ada.memory.observe_many([Draft(KEY)] * 3, to="other")
    found = {(one.memory, one.live) for one in ada.memory.search(KEY)}
    assert found == {(TEAM, 10), ("other", 3)} == {(one.memory, one.live) for one in ada.memory.list()}
    lines = pattern_lines(ada.memory.list())
    assert [line.rpartition("  ")[2] for line in lines] == ["(team)", "(other)"]


def test_a_sync_says_which_edits_it_did_not_send(ada: Person) -> None:
    path = str(ada.memory.show(KEY).path)
    ada.copy.write(path, ada.copy.read(path) + "When to do it.\n")
    (notice,) = ada.syncs().notices
    assert f"not committed ({path})" in notice
    ada.copy.commit("words", path)
    done = ada.syncs()
    assert (done.sent, done.notices) == (1, ())


@pytest.mark.slow
def test_everybody_at_once_and_every_number_is_exact(tmp_path: Path, host: Path, ada: Person) -> None:
    people = [ada, *(Person.new(tmp_path, name).joins(host) for name in ("bob", "cy"))]
    for number, one in enumerate(people, 1):
        one.sees(times=number)
        one.sees(f"note:from-{number}")
    with ThreadPoolExecutor(3) as pool:
        done = list(pool.map(Person.syncs, people))
    assert [(one.conflicts, one.offline, one.ahead) for one in done] == [((), "", 0)] * 3
    ada.syncs()
    people[1].syncs()
    assert ada.confidence() == people[1].confidence() == 16
    assert [one.message for one in Memory(ada.copy.root, home=ada.home).check() if one.severity == "error"] == []


def test_evidence_carries_the_projects_id_and_never_its_name(host: Path, ada: Person, tmp_path: Path) -> None:
    ada.sees("note:x", context="secret-customer", note="words of mine")
    ada.syncs()
    said = "".join(on_host(host, path) for path in host_files(host) if path.endswith((".jsonl", ".md")))
    assert "secret-customer" not in said and "words of mine" not in said and "ada-project" not in said
    evidence = [one for path in host_files(host) if path.endswith(".jsonl")
                for one in parse_container(on_host(host, path).encode())[0]]  # fmt: skip
    assert {one.ctx for one in evidence if one.p == "note:x"} == {project_fingerprint(ada.project.root)}
    assert all(re.fullmatch("[0-9a-f]{12}", one.ctx) for one in evidence)
    ada.memory.configure("share.names", "true", user=True)
    ada.sees("note:y")
    ada.sees("note:z", context="release")
    ada.syncs()
    said = "".join(on_host(host, path) for path in host_files(host) if path.endswith(".jsonl"))
    assert '"ctx":"ada-project"' in said and '"ctx":"release"' in said


@pytest.mark.slow
def test_reuse_in_several_projects_counts_as_several_contexts(tmp_path: Path, host: Path, ada: Person) -> None:
    team = Memory(ada.copy.root, home=ada.home)
    team.remember("Re-run the tests", key=KEY)
    bob = Person.new(tmp_path, "bob").joins(host)
    ada.memory.feedback(KEY, "succeeded", to=TEAM)
    ada.syncs()
    bob.syncs()
    bob.memory.feedback(KEY, "succeeded", to=TEAM)
    bob.syncs()
    ada.syncs()
    (found,) = Memory(ada.copy.root, home=ada.home).candidates()
    assert found.contexts == 3  # where it came from, and the two projects


def test_nothing_of_a_project_reaches_the_shared_memory_by_itself(ada: Person, host: Path) -> None:
    ada.memory.init()
    ada.memory.observe("pref:only-here")
    ada.syncs()
    assert not any("only-here" in path for path in host_files(host))


def test_two_people_change_the_same_words(tmp_path: Path, host: Path, ada: Person) -> None:
    """Theirs is in the memory, yours is kept beside it, and the evidence of both arrives."""
    bob = Person.new(tmp_path, "bob").joins(host)
    path = str(ada.memory.show(KEY).path)
    for person, title in ((ada, "Run them again"), (bob, "Always re-run")):
        text = person.copy.read(path)
        person.copy.write(
            path, text.replace("title:", f"title: {title}", 1) if "title:" in text else text + f"\n{title}\n"
        )
        person.copy.commit("better words", path)
        person.sees()
    ada.syncs()
    (conflict,) = bob.syncs().conflicts
    assert conflict.path == path
    assert "Run them again" in Path(conflict.theirs).read_text() and "Always re-run" in Path(conflict.yours).read_text()
    assert bob.confidence() == 12
    assert "<<<<" not in bob.copy.read(path)
    assert bob.syncs().conflicts == (conflict,)  # until a person settles it
    Path(conflict.yours).unlink()
    assert bob.syncs().conflicts == ()
    assert ada.syncs().conflicts == () and ada.confidence() == 12


@pytest.mark.slow
def test_offline_work_waits_and_says_how_old_the_copy_is(tmp_path: Path, host: Path, ada: Person, clock: Clock) -> None:
    bob = Person.new(tmp_path, "bob", clock).joins(host)
    host.rename(tmp_path / "away")
    clock.forward(3)
    bob.sees(times=2)
    done = bob.syncs()
    assert done.offline and done.age == "3 days ago" and done.ahead == 1
    assert bob.suggested() == [KEY]
    bob.sees()
    assert bob.syncs().ahead == 2
    (state,) = bob.memory.shares()
    assert (state.ahead, state.age, state.waiting) == (2, "3 days ago", 0)
    (tmp_path / "away").rename(host)
    assert bob.syncs().sent == 2
    ada.syncs()
    assert ada.confidence() == 13


def test_a_read_only_memory_sends_nothing(tmp_path: Path, host: Path, ada: Person) -> None:
    bob = Person.new(tmp_path, "bob").joins(host, readonly=True)
    with pytest.raises(InstinctError, match="readonly"):
        bob.sees()
    ada.sees(times=2)
    ada.syncs()
    tip = git(host, "rev-parse", "main")
    done = bob.syncs()
    assert (done.received, bob.confidence(), git(host, "rev-parse", "main")) == (2, 12, tip)


@pytest.mark.slow
def test_a_persons_uncommitted_edit_is_never_written_over(tmp_path: Path, host: Path, ada: Person) -> None:
    bob = Person.new(tmp_path, "bob").joins(host)
    path = str(ada.memory.show(KEY).path)
    bob.copy.write(path, bob.copy.read(path) + "my words\n")
    ada.sees()
    ada.syncs()
    with pytest.raises(InstinctError, match="not committed"):
        bob.syncs()
    assert "my words" in bob.copy.read(path)
    bob.copy.commit("mine", path)
    bob.syncs()
    assert "my words" in on_host(host, path) and bob.confidence() == 11


@pytest.mark.slow
def test_a_killed_update_is_taken_up_again(tmp_path: Path, host: Path, ada: Person) -> None:
    """Files that a dead process had already written are no edits of a person."""
    bob = Person.new(tmp_path, "bob").joins(host)
    ada.sees(times=2)
    ada.sees("note:new")
    ada.syncs()
    bob.copy.git("fetch", "-q")
    for path in bob.copy.git("diff", "--name-only", "--diff-filter=AM", "HEAD", "origin/main").splitlines():
        bob.copy.write(path, bob.copy.git("show", f"origin/main:{path}") + "\n")
    bob.syncs()
    assert (bob.confidence(), bob.copy.status()) == (12, "")


@pytest.mark.slow
def test_your_own_memory_follows_you_to_another_machine(tmp_path: Path, host: Path) -> None:
    laptop, desk = Person.new(tmp_path, "laptop"), Person.new(tmp_path, "desk")
    for one in (laptop, desk):
        for _ in range(3):
            one.memory.observe("pref:style=black", to="global")
        Memory(home=one.home, scope="global").consolidate()
        one.memory.share_add("global", str(host))
        one.memory.sync()
    laptop.memory.sync()
    for one in (laptop, desk):
        (found,) = one.memory.list(scope="global")
        assert (found.pattern, found.confidence) == ("pref:style=black", 6)


@pytest.mark.slow
def test_removing_is_refused_while_evidence_waits(host: Path, ada: Person) -> None:
    ada.sees()
    with pytest.raises(InstinctError, match="1 pieces of evidence"):
        ada.memory.share_remove(TEAM)
    assert ada.memory.shares()
    ada.syncs()
    ada.memory.share_remove(TEAM)
    assert (ada.memory.shares(), ada.suggested(), [*(ada.home / "shared").iterdir()]) == ([], [], [])


@pytest.mark.slow
def test_adding_again_changes_the_options_alone(host: Path, ada: Person, tmp_path: Path) -> None:
    ada.joins(host, readonly=True)
    assert ada.memory.shares()[0].readonly
    with pytest.raises(InstinctError, match="is shared from"):
        ada.joins(tmp_path / "other.git")


@pytest.mark.parametrize("name", ["", "Team", "a/b", "..", "-x", "project", "x.lock", "con", "a" * 65, "shared"])
def test_bad_names_are_refused(name: str, project: Project) -> None:
    with pytest.raises(InstinctError, match="no name"):
        project.memory().share_add(name, "https://example.org/x.git")


@pytest.mark.parametrize(
    "url",
    [
        "ext::sh -c touch% x", "ext::/bin/sh", "--upload-pack=touch x", "-x", "", "http://example.org/x.git",
        "git://example.org/x.git", "ftp://example.org/x", "ssh://-oProxyCommand=x/y", "ssh://host/", "-oX:path",
        "https://ada:secret@example.org/x.git", "https://" + "a1" * 20 + "@example.org/x.git", "host:-x", "fd::3",
        "https://example.org:port/x", "a\nb", "https://example.org/x?token=secret", "file://elsewhere/x", "foo+bar::https://example.org/x", "https:///x",
    ],
)  # fmt: skip
def test_addresses_that_are_not_taken(url: str) -> None:
    with pytest.raises(InstinctError) as problem:
        checked(url)
    assert "secret" not in problem.value.message and "a1a1" not in problem.value.message + problem.value.hint


@pytest.mark.parametrize(
    ("url", "protocols"),
    [
        ("https://example.org/x.git", "https"), ("ssh://git@example.org:22/x", "ssh"), ("git@example.org:team/x.git", "ssh"),
        ("../host.git", "file"), ("/srv/host.git", "file"), ("C:\\srv\\host", "file"), ("file:///srv/x", "file"),
        ("http://127.0.0.1:8000/x.git", "http"), ("git://localhost/x", "git"), ("./a:b", "file"), ("~/x", "file"),
        ("https://ada@bitbucket.org/x/y", "https"),
    ],
)  # fmt: skip
def test_addresses_that_are_taken(url: str, protocols: str) -> None:
    assert checked(url).protocols == protocols
    assert "ada@" not in shown(url)


def test_a_query_of_an_address_is_not_shown() -> None:
    assert shown("fatal: 'https://ada@host/x?token=secret' not found") == "fatal: 'https://host/x' not found"


def test_git_starts_no_program_for_an_address_that_was_rewritten(
    tmp_path: Path, sealed: Path, project: Project
) -> None:
    """A git config that turns an address into a program is not followed."""
    mark = tmp_path / "ran"
    config = sealed / ".gitconfig"
    config.write_text(
        config.read_text()
        + f'[url "ext::touch {mark} %S "]\n\tinsteadOf = https://example.org/\n[protocol]\n\tallow = always\n'
    )
    with pytest.raises(InstinctError, match="not allowed"):
        project.memory().share_add(TEAM, "https://example.org/x.git")
    assert not mark.exists()


def test_a_proposal_starts_from_the_branch_that_is_shared(tmp_path: Path, host: Path, ada: Person) -> None:
    git(host, "branch", "dev", "main~1")
    bob = Person.new(tmp_path, "bob").joins(host, branch="dev")
    bob.memory.init()
    bob.project.write("README.md", "x")
    bob.project.commit("first")
    bob.memory.observe("pref:style=ruff")
    bob.memory.consolidate()
    done = bob.memory.propose("pref:style=ruff", to=TEAM)
    assert done.base == "origin/dev"
    bob.syncs()
    with pytest.raises(InstinctError, match=done.branch):  # it was not pushed
        bob.memory.share_remove(TEAM)
    bob.copy.git("push", "-q", "origin", done.branch)
    assert bob.memory.share_remove(TEAM).problem == "removed"
    bob.memory.share_add("empty", str(bare(tmp_path, "empty.git")))
    with pytest.raises(InstinctError) as problem:
        bob.memory.propose("pref:style=ruff", to="empty")
    assert "instinct sync empty" in problem.value.hint


def test_a_proposal_goes_where_the_memory_was_shared_and_by_its_transport(
    tmp_path: Path, sealed: Path, ada: Person
) -> None:
    ada.memory.init()
    ada.project.write("README.md", "x")
    ada.project.commit("first")
    ada.memory.observe("pref:style=ruff")
    ada.memory.consolidate()
    mark, config, host = tmp_path / "ran", sealed / ".gitconfig", ada.copy.git("config", "remote.origin.url")
    before = config.read_text()
    config.write_text(before + f'[url "ext::touch {mark} %S "]\n\tinsteadOf = {host}\n[protocol]\n\tallow = always\n')
    with pytest.raises(InstinctError, match="not allowed"):
        ada.memory.propose("pref:style=ruff", to=TEAM, push=True)
    assert not mark.exists() and ada.copy.git("branch", "--list", "instinct/*") == ""
    config.write_text(before)
    ada.copy.git("remote", "set-url", "origin", str(bare(tmp_path, "elsewhere.git")))
    with pytest.raises(InstinctError, match="it was added as"):
        ada.memory.propose("pref:style=ruff", to=TEAM, push=True)
    assert git(tmp_path / "elsewhere.git", "branch") == ""


@pytest.mark.slow
def test_a_sync_that_is_killed_before_or_after_any_git_command(
    tmp_path: Path, host: Path, ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next one ends the work: nothing is lost, nothing counts twice, nothing is left half-way."""
    bob = Person.new(tmp_path, "bob").joins(host)
    real, calls = storage_git.run, [0]
    stop, after = [-1], [False]

    def run(*args: Any, **options: Any) -> Any:
        calls[0] += 1
        if calls[0] == stop[0] and not after[0]:
            raise KeyboardInterrupt
        result = real(*args, **options)
        if calls[0] == stop[0]:
            raise KeyboardInterrupt
        return result

    monkeypatch.setattr(storage_git, "run", run)
    seen = 10
    for number in range(1, 200, 9):
        stop[0], after[0] = -1, number % 2 == 0
        bob.syncs()
        if number % 3 == 1:  # there is something to replay on
            ada.sees()
            ada.syncs()
            seen += 1
        bob.sees()
        seen += 1
        calls[0], stop[0] = 0, number
        try:
            bob.syncs()
        except KeyboardInterrupt:
            continue
        break
    else:
        raise AssertionError("the sync never ended")
    stop[0] = -1
    for person in (bob, ada, bob):
        person.syncs()
    assert bob.confidence() == ada.confidence() == seen
    assert (bob.copy.status(), bob.memory.shares()[0].waiting) == ("", 0)
    assert [one.message for one in Memory(bob.copy.root, home=bob.home).check() if one.severity == "error"] == []

"""Sharing through a real git server on loopback: many clones at once, a server that dies, and a week of three people."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from instinct_git.core.document import with_field
from instinct_git.errors import InstinctError
from instinct_git.memory import Memory
from tests.builders import KEY, git
from tests.conftest import Clock
from tests.hosts import served
from tests.people import TEAM, Person, bare, host_files


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[str, Any]]:
    """(address of an empty repository on a server of ours, the server)."""
    host = bare(tmp_path)
    git(host, "config", "http.receivepack", "true")
    git(host, "config", "uploadpack.allowFilter", "true")
    with served(tmp_path) as (url, running):
        yield f"{url}/host.git", running


@pytest.mark.slow
def test_two_people_over_http(tmp_path: Path, server: tuple[str, Any]) -> None:
    """A depth-limited and partial clone serves as well as a whole one."""
    url, _ = server
    ada = Person.new(tmp_path, "ada")
    ada.memory.share_add(TEAM, url)
    for _ in range(2):
        ada.sees(times=5)
        ada.syncs()
    bob = Person.new(tmp_path, "bob")
    bob.memory.share_add(TEAM, url, depth=1, partial=True)
    assert bob.copy.git("rev-parse", "--is-shallow-repository") == "true"
    assert bob.suggested() == [KEY]
    bob.sees()
    assert bob.syncs().folded == 1
    ada.sees()
    ada.syncs()
    bob.syncs()
    assert ada.confidence() == bob.confidence() == 12


@pytest.mark.slow
def test_a_server_that_drops_the_connection_in_mid_push(tmp_path: Path, server: tuple[str, Any]) -> None:
    url, running = server
    ada = Person.new(tmp_path, "ada")
    ada.memory.share_add(TEAM, url)
    ada.sees(times=3)
    running.drops = 1
    assert (ada.syncs().offline, ada.confidence()) == ("", 3)
    ada.sees()
    running.drops = 100
    done = ada.syncs()
    assert "push" in done.offline and done.ahead == 1
    running.drops = 0
    assert ada.syncs().sent == 1 and ada.confidence() == 4
    with pytest.raises(InstinctError, match="clone"):
        ada.memory.share_add("other", url.replace("host.git", "nowhere.git"))


@pytest.mark.slow
@pytest.mark.parametrize("clones", [8])
def test_clones_that_observe_and_sync_at_once(tmp_path: Path, server: tuple[str, Any], clones: int) -> None:
    """Everything arrives, without a conflict, and counts once."""
    url, _ = server
    people = [Person.new(tmp_path, f"p{number}") for number in range(clones)]
    for one in people:
        one.memory.share_add(TEAM, url)

    def work(person: Person) -> list[Any]:
        done = []
        for number in range(3):
            person.sees(times=2)
            person.sees(f"note:round-{number}")
            done.append(person.syncs())
        return done

    with ThreadPoolExecutor(clones) as pool:
        done = [one for rounds in pool.map(work, people) for one in rounds]
    assert {(one.offline, one.problem, one.conflicts, one.ahead) for one in done} == {("", "", (), 0)}
    people[0].syncs()
    people[0].syncs()
    assert people[0].confidence() == clones * 6
    assert [people[0].confidence(f"note:round-{number}") for number in range(3)] == [clones] * 3
    team = Memory(people[0].copy.root, home=people[0].home)
    assert [one.message for one in team.check() if one.severity == "error"] == []


@pytest.mark.slow
def test_a_week_of_three_people(tmp_path: Path, server: tuple[str, Any], clock: Clock) -> None:
    """Three homes and one host: the third joins late and gets everything; one leaves with evidence that was not synced,
    and comes back; and nobody has a number that the others have not."""
    url, _ = server
    ada, bob, cy = (Person.new(tmp_path, name, clock) for name in ("ada", "bob", "cy"))
    for person in (ada, bob):
        person.memory.share_add(TEAM, url)
    for _ in range(2):  # Monday, Tuesday
        for person, agent in ((ada, "claude-code"), (bob, "cursor")):
            person.sees(times=2, source=agent, session=f"{agent} {clock.moment}")
            person.syncs()
        clock.forward(1)
    bob.sees("fix:flaky-network", times=4)  # Wednesday: Bob leaves without a sync
    ada.sees(times=2)
    ada.syncs()
    clock.forward(1)
    cy.memory.share_add(TEAM, url)  # Thursday
    assert cy.confidence() == 10 and cy.suggested() == [KEY]
    cy.sees("fix:flaky-network", times=2)
    cy.memory.feedback(KEY, "succeeded", to=TEAM, source="codex")
    assert cy.syncs().recorded == 3
    clock.forward(1)
    path = str(cy.memory.show(KEY).path)  # Friday: Cy gives it words
    cy.copy.write(path, with_field(cy.copy.read(path), "title", "Test after each fix"))
    cy.copy.commit("words for it", path)
    cy.syncs()
    clock.forward(2)
    done = bob.syncs()  # Sunday: Bob is back
    assert (done.recorded, done.conflicts, done.ahead) == (4, (), 0)
    for person in (ada, cy, bob):
        person.syncs()
    assert {person.confidence() for person in (ada, bob, cy)} == {11}
    assert {person.confidence("fix:flaky-network") for person in (ada, bob, cy)} == {6}
    assert {person.memory.show(KEY).title for person in (ada, bob, cy)} == {"Test after each fix"}
    assert len({person.copy.head() for person in (ada, bob, cy)}) == 1
    assert not any("project" in path for path in host_files(tmp_path / "host.git"))
    team = Memory(bob.copy.root, home=bob.home, now=clock)
    assert sorted(team.stats_by("source")) == ["(not given)", "claude-code", "codex", "cursor"]
    assert len(team.stats_by("project")) == 3

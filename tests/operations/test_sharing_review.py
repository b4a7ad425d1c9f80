"""A team repository that takes nothing without a review: evidence comes through a branch and a pull request."""

from __future__ import annotations

from pathlib import Path

import pytest

from instinct_git.memory import Memory
from tests.builders import KEY, Project, git
from tests.people import TEAM, Person, bare, host_files
from tests.proposals import host_says


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """A host with a memory whose default branch nobody pushes to."""
    host = bare(tmp_path)
    starter = Person.new(tmp_path, "starter").joins(host)
    starter.sees(times=5)
    Memory(starter.copy.root, home=starter.home).record()
    starter.memory.sync()
    starter.copy.write(
        ".instinct/config.yaml", starter.copy.read(".instinct/config.yaml") + "share:\n  push: pull-request\n"
    )
    starter.copy.commit("protect")
    starter.copy.git("push", "-q", "origin", "main")
    return host


def request_branch(host: Path) -> str:
    (found,) = [one for one in git(host, "branch", "--format=%(refname:short)").splitlines() if one != "main"]
    return found


def merge_there(host: Path, tmp_path: Path, how: str) -> None:
    """Merge the request as a host does, and let a CI job fold."""
    git(tmp_path, "clone", "-q", str(host), "ci")
    ci = Project(tmp_path / "ci")
    branch = f"origin/{request_branch(host)}"
    if how == "squash":
        ci.git("merge", "-q", "--squash", branch)
        ci.git("commit", "-q", "-m", "evidence (#1)")
    else:
        ci.git("merge", "-q", "--no-ff", "-m", "Merge pull request 1", branch)
    ci.memory().consolidate()
    ci.git("push", "-q", "origin", "main")


@pytest.mark.slow
@pytest.mark.parametrize("how", ["merge", "squash"])
def test_evidence_waits_on_one_branch_and_arrives_once(tmp_path: Path, host: Path, how: str) -> None:
    bob = Person.new(tmp_path, "bob").joins(host)
    before = git(host, "rev-parse", "main")
    bob.sees()
    done = bob.syncs()
    assert (done.sent, done.folded, git(host, "rev-parse", "main")) == (1, 0, before)
    assert any("a person opens its request" in notice for notice in done.notices)
    bob.sees()
    assert bob.syncs().ahead == 2
    tip = git(host, "rev-parse", request_branch(host))
    assert bob.syncs().recorded == 0 and git(host, "rev-parse", request_branch(host)) == tip
    merge_there(host, tmp_path, how)
    done = bob.syncs()
    assert (bob.confidence(), done.ahead) == (7, 0)
    bob.sees()
    assert bob.syncs().ahead == 1
    held = git(host, "ls-tree", "-r", "--name-only", request_branch(host), ".instinct/observations/").splitlines()
    assert len([path for path in held if path.endswith(".jsonl")]) == 1


@pytest.mark.slow
def test_the_request_is_opened_where_a_program_of_the_host_is_there(
    tmp_path: Path, host: Path, monkeypatch: pytest.MonkeyPatch, sealed: Path
) -> None:
    """The address is the host's; git reads it from a bare repository here."""
    address = "https://github.com/team/memory.git"
    config = sealed / ".gitconfig"
    config.write_text(config.read_text() + f'[url "{host}"]\n\tinsteadOf = {address}\n')
    calls = host_says(tmp_path, monkeypatch)
    (tmp_path / "bin" / "answer.json").write_text('"https://github.com/team/memory/pull/7"')
    bob = Person.new(tmp_path, "bob")
    from instinct_git.storage import shared

    real = shared.variables
    monkeypatch.setattr(shared, "variables", lambda *args: {**real(*args), "GIT_ALLOW_PROTOCOL": "file:https"})
    bob.memory.share_add(TEAM, address)
    bob.sees()
    done = bob.syncs()
    assert done.request.startswith("https://github.com/team/memory/pull/7")
    assert '"pr", "create"' in calls.read_text()
    assert KEY in bob.suggested() and ".instinct/config.yaml" in host_files(host)

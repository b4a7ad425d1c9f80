"""Rules that several projects have found: offered, and moved only as a diff that a person merges."""

from __future__ import annotations

from pathlib import Path

import pytest

from instinct_git.core.document import parse, with_field
from instinct_git.core.evidence import parse_container
from instinct_git.errors import InstinctError
from instinct_git.memory import Memory
from instinct_git.storage.files import instinct_home, locate, project_id
from tests.builders import KEY, Project, run_cli
from tests.people import TEAM, Person, bare


@pytest.fixture
def projects(tmp_path: Path) -> list[Project]:
    """Three projects: KEY is a rule in two, of which one is private, and raw in the third."""
    made = [Project.new(tmp_path / name) for name in ("shop", "customer-x", "api")]
    for number, project in enumerate(made):
        project.git(
            "commit", "-q", "--amend", "-m", f"the first commit of {number}"
        )  # else they are one project, by its id
        project.memory().init(private=number == 1)
        project.observe(times=2 if number == 2 else 10, context="secret task", source=f"agent-{number}")
        project.observe(f"pref:only-{number}", times=10)
        project.memory().consolidate()
    return made


def ids(projects: list[Project]) -> list[str]:
    places = [locate(one.root, instinct_home()) for one in projects]
    return [one.root.name if one.scope == "private" else project_id(one) for one in places]


def test_a_rule_of_two_projects_is_offered(
    projects: list[Project], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (found,) = projects[2].memory().universal()
    assert (found.pattern, found.confidence, found.names[0]) == (KEY, 20, "shop")
    assert set(found.projects) == set(ids(projects)[:2])
    monkeypatch.chdir(projects[0].root)
    assert KEY in run_cli(monkeypatch, capsys, "candidates", "--universal").out
    assert run_cli(monkeypatch, capsys, "candidates", "--universal", "--json").json["universal"][0]["pattern"] == KEY
    counted = run_cli(monkeypatch, capsys, "stats", "--by", "source", "--json").json
    assert counted == {"by": "source", "evidence": {"agent-0": 10, "(not given)": 10}}
    assert run_cli(monkeypatch, capsys, "stats", "--by", "weather").code == 2
    projects[0].memory().retire(KEY)
    assert projects[2].memory().universal() == []


@pytest.mark.slow
def test_it_moves_as_a_diff_with_each_project_as_a_context(projects: list[Project]) -> None:
    memory = projects[0].memory()
    memory.propose(KEY, to="global")
    own = Project(memory._space.place.home / "global")
    assert Memory(scope="global").list() == []
    (branch,) = own.git("branch", "--format=%(refname:short)", "--list", "instinct/*").splitlines()
    own.git("merge", "-q", branch)
    evidence = own.tree_evidence()
    assert {one.ctx for one in evidence} == {"secret task"}  # one's own memory keeps what was given
    assert (len(evidence), {one.by for one in evidence}) == (22, {"agent-0", "agent-1", "agent-2"})
    assert own.confidence() == 22
    assert memory.universal() == []
    assert [one.message for one in Memory(scope="global").check() if one.severity == "error"] == []


def test_what_reaches_a_team_names_no_project(projects: list[Project], tmp_path: Path) -> None:
    host = bare(tmp_path)
    memory = projects[0].memory()
    memory.share_add(TEAM, str(host))
    memory.sync(TEAM)
    done = memory.propose(KEY, to=TEAM, push=True)
    team = Project(memory._space.place.home / "shared" / TEAM)
    texts = [team.git("show", f"{done.branch}:{path}") for path in done.files]
    for word in ("secret task", "shop", "customer-x", "secret"):
        assert not any(word in text for text in [*texts, done.body])
    found = [one for text, path in zip(texts, done.files, strict=True) if path.endswith(".jsonl")
             for one in parse_container(text.encode())[0]]  # fmt: skip
    assert {one.ctx for one in found} == set(ids(projects))
    assert done.remote == "origin"


def test_what_another_project_calls_a_pattern_stays_there(projects: list[Project], tmp_path: Path) -> None:
    """Words, contexts and answers of a project are its own; what a person sees in the diff is the pattern's file alone."""
    secret = projects[1].memory()
    secret.observe(KEY, title="Acme tests twice", description="Acme", metadata={"client": "Acme"}, context="Acme")
    secret.consolidate()
    memory = projects[0].memory()
    memory.remember("Test after each fix", key=KEY, context="Merger")
    memory.feedback(KEY, "succeeded", context="Merger")
    memory.consolidate()
    path = str(memory.show(KEY).path)
    limited = with_field(projects[0].read(path), "applies_to", "{languages: [python]}")
    projects[0].write(path, limited)
    projects[0].commit("for python")
    memory.share_add(TEAM, str(bare(tmp_path)))
    memory.sync(TEAM)
    done = memory.propose(KEY, to=TEAM, push=True)
    team = Project(memory._space.place.home / "shared" / TEAM)
    texts = [team.git("show", f"{done.branch}:{path}") for path in done.files]
    said = "\n".join([*texts, done.body, team.git("log", "-1", "--format=%B", done.branch)])
    assert "Acme" not in said and "Merger" not in said and "no longer suggested" not in said
    file = parse(team.git("show", f"{done.branch}:{path}") + "\n", path)
    assert (file.applies_to, file.candidate["score"]) == (
        {"languages": ["python"]},
        float(done.body.split("Score ")[1][:4]),
    )


def test_what_the_users_own_memory_has_from_several_projects_keeps_them_apart(
    projects: list[Project], tmp_path: Path
) -> None:
    for project in projects[:2]:
        for context in (None, "secret task"):
            project.memory().observe("note:everywhere", to="global", context=context)
    own = Memory(scope="global")
    own.consolidate()
    own.share_add(TEAM, str(bare(tmp_path)))
    own.sync(TEAM)
    done = own.propose("note:everywhere", to=TEAM)
    team = Project(own._space.place.home / "shared" / TEAM)
    (path,) = [path for path in done.files if path.endswith(".jsonl")]
    found = [one.ctx for one in parse_container(team.git("show", f"{done.branch}:{path}").encode())[0]]
    assert set(ids(projects)[:2]) < set(found) and "secret task" not in found


@pytest.mark.parametrize("require", ["", "approved"])
def test_what_a_team_has_approved_is_told_to_its_people(projects: list[Project], tmp_path: Path, require: str) -> None:
    """No agent reads the documents of a shared memory, so that there an approved pattern goes on speaking."""
    host = bare(tmp_path)
    memory = projects[0].memory()
    memory.share_add(TEAM, str(host), require=require)
    memory.sync(TEAM)
    branch = memory.propose(KEY, to=TEAM, push=True).branch
    assert KEY not in {one.pattern for one in projects[2].memory().suggest()}
    team = Project(memory._space.place.home / "shared" / TEAM)
    team.git("merge", "-q", "--no-ff", "-m", "approved", branch)
    Memory(team.root).review()
    path = str(Memory(team.root).show(KEY).path)
    if require:
        approved = 'verified: [{"by": "human:ada", "at": "2026-03-29"}]\ntitle:'
        team.write(path, team.read(path).replace("title:", approved, 1))
        team.commit("as a host's review says", path)
    memory.sync(TEAM)
    (one,) = [one for one in projects[2].memory().suggest() if one.pattern == KEY]
    assert (one.memory, one.status) == (TEAM, "graduated")
    assert not projects[2].memory().observe(KEY, to=TEAM).silent
    assert KEY in {one.pattern for one in projects[2].memory().export_rules()}
    projects[0].memory().retire(KEY)
    assert KEY not in {one.pattern for one in memory.suggest()}  # a no in the project silences it there


@pytest.mark.slow
def test_evidence_counted_by_source_author_project_and_context(tmp_path: Path) -> None:
    host = bare(tmp_path)
    ada, bob = (Person.new(tmp_path, name) for name in ("ada", "bob"))
    for person, times in ((ada, 3), (bob, 2)):
        person.joins(host)
        person.copy.git("config", "user.name", person.home.name)
        person.sees(times=times, source="claude-code")
        person.sees("note:x", source="cursor")
        person.syncs()
    team = Memory(bob.copy.root, home=bob.home)
    team.observe("note:y")
    assert team.stats_by("source") == {"claude-code": 5, "cursor": 2, "(not given)": 1}
    assert team.stats_by("author") == {"ada-home": 4, "bob-home": 3, "(not committed)": 1}
    assert sorted(team.stats_by("project").values()) == [1, 3, 4]
    assert team.stats_by("project").keys() == team.stats_by("context").keys()
    with pytest.raises(InstinctError, match="weather"):
        team.stats_by("weather")

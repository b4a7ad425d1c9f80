"""The road to a reviewed skill, as a team goes it: a bare host, a clone that proposes and a clone that merges."""

from __future__ import annotations

from pathlib import Path

import pytest

from instinct_git import InstinctError, Memory
from instinct_git.core.keys import pattern_path
from tests.builders import Project, first, git, process
from tests.proposals import status

KEY = "seq:draft->check-links->publish-blog"
PATTERN = pattern_path(KEY)
SKILL = "skills/publish-the-blog/SKILL.md"
BRANCH = "instinct/skill/publish-the-blog"


class Team:
    """Two clones of a bare repository, their evidence pushed."""

    def __init__(self, folder: Path) -> None:
        self.host = folder / "host.git"
        seed = Project.new(folder / "seed")
        seed.memory().init()
        seed.memory().configure("consolidate", "anywhere")
        seed.commit("a memory", ".")
        git(folder, "clone", "-q", "--bare", str(seed.root), str(self.host))
        self.asker, self.reader = (self._clone(folder, name) for name in ("asker", "reader"))

    def _clone(self, folder: Path, name: str) -> Project:
        git(folder, "clone", "-q", str(self.host), str(folder / name))
        clone = Project(folder / name)
        clone.git("config", "user.email", f"{name}@example.org")
        return clone

    def merge(self, how: str) -> str:
        """Merge the proposal as the host's button `how` does, in the reader's clone, and delete its branch."""
        clone, branch = self.reader, f"origin/{BRANCH}"
        clone.git("fetch", "-q")
        if how == "merge":
            clone.git("merge", "-q", "--no-ff", "-m", "Merge pull request #7", branch)
        elif how == "squash":
            clone.git("merge", "-q", "--squash", branch)
            clone.git("commit", "-q", "-m", "publish-the-blog (#7)")
        else:
            clone.git("switch", "-q", "-C", "rebased", branch)
            clone.git("rebase", "-q", "main")
            clone.git("switch", "-q", "main")
            clone.git("merge", "-q", "--ff-only", "rebased")
        clone.git("push", "-q", "origin", "main", f":{BRANCH}")
        return clone.head()


def sync(*clones: Project) -> None:
    """Bring every clone's main together, as pull and push do."""
    for clone in (*clones, *clones):
        clone.git("pull", "-q", "--no-rebase", "--no-edit")
        clone.git("push", "-q")


@pytest.fixture
def team(tmp_path: Path) -> Team:
    made = Team(tmp_path)
    memory = made.asker.memory()
    memory.remember(
        "Remember this: how we publish the blog", key=KEY, title="Publish the blog", kind="skill", context="blog",
        steps=("Write the draft in content/", "Check all links", "Publish the page"), verify="The page answers with 200",
        score="0.40", why="done by hand for a year",
    )  # fmt: skip
    for context, answer in (("blog", "succeeded"), ("news", "succeeded"), ("news", "succeeded"), ("news", "confirmed"),
                            ("news", "succeeded")):  # fmt: skip
        memory.feedback(KEY, answer, context=context)
    assert status(made.asker, KEY) == "nominated"
    memory.consolidate()
    made.asker.git("push", "-q")
    made.reader.git("pull", "-q")
    made.reader.write("news.md", "the project goes on\n")
    made.reader.commit("news", "news.md")
    made.reader.git("push", "-q")
    return made


@pytest.mark.parametrize("how", first(1, ["squash", "merge", "rebase"]))
def test_from_the_first_record_to_a_merged_skill_and_back(team: Team, how: str) -> None:
    asker, reader = team.asker, team.reader
    made = asker.memory().propose(KEY, name="publish-the-blog", push=True)
    assert (made.branch, status(asker, KEY)) == (BRANCH, "proposed")
    reader.git("fetch", "-q")
    assert [(one.pattern, one.state) for one in reader.memory().review().proposals] == [(KEY, "open")]

    landed = team.merge(how)
    done = reader.memory().review()
    assert [(one.k, one.p, one.by, one.extra["to"], one.extra["kind"]) for one in done.booked] == [
        ("approved", KEY, "human:unknown", SKILL, "skill")
    ]
    told = asker.memory().review(fetch=True)
    assert [one.state for one in told.proposals] == ["merged"]
    assert [one.id for one in told.booked] == [one.id for one in done.booked]

    asker.git("pull", "-q")
    asker.memory().consolidate()
    reader.memory().consolidate()
    sync(asker, reader)
    reader.memory().consolidate()
    sync(reader, asker)
    for clone in (asker, reader):
        assert clone.errors() == []
        assert "# Publish the blog" in clone.read(SKILL)
        assert clone.read(PATTERN).count("by: human:unknown") + clone.read(PATTERN).count('"human:unknown"') == 1
        assert status(clone, KEY) == "approved"
        assert KEY not in [one.pattern for one in clone.memory().suggest()]
        assert sum(one.k == "approved" for one in clone.tree_evidence()) >= 1
        assert clone.memory().review().booked == ()

    reader.git(
        "revert", "--no-edit", *(("-m", "1") if how == "merge" else ()), landed
    )  # no conflict: hosts have a button
    reader.git("push", "-q")
    for clone in (reader, asker):
        booked = clone.memory().review(fetch=True).booked
        assert [(one.k, one.p) for one in booked] == [("rejected", KEY)]
        assert reader.head()[:12] in booked[0].extra["why"]
    reader.memory().consolidate()
    assert reader.errors() == []
    assert not (reader.root / SKILL).exists()
    assert (status(reader, KEY), reader.memory().show(KEY).status) == ("rejected", "active")
    with pytest.raises(InstinctError, match="rejected"):
        reader.memory().propose(KEY)

    reader.git("push", "-q")
    for _ in range(3):  # the same day: no date tells this proposal from the one that was taken back
        reader.memory().feedback(KEY, "succeeded", context="news")
    reader.memory().propose(KEY, name="publish-the-blog", push=True)
    assert [one.state for one in reader.memory().review().proposals] == ["open"]
    assert status(reader, KEY) == "proposed"
    reader.memory().consolidate()
    reader.git("push", "-q")
    team.merge(how)
    assert [one.k for one in reader.memory().review().booked] == ["approved"]
    reader.memory().consolidate()
    assert (status(reader, KEY), reader.memory().show(KEY).status) == ("approved", "graduated")
    assert reader.errors() == []


def test_three_rejections_pause_the_kind_and_the_report_says_so(team: Team) -> None:
    memory = team.asker.memory()
    for number, name in enumerate(("publish-wiki", "publish-feed", "publish-docs")):
        memory.remember(f"how we {name}", key=f"seq:draft->{name}", title=f"We {name}", kind="skill")
        told = process(team.asker.root, "reject", f"seq:draft->{name}", "--reason", "not a skill of ours")
        assert told.code == 0
        assert ("paused" in told.out) is (number == 2)
    report = process(team.asker.root, "report")
    assert report.code == 1
    assert "not a skill of ours" in report.out
    assert "rejections" in process(team.asker.root, "breakers").out


def test_a_memory_below_the_repositorys_top_is_reviewed_too(tmp_path: Path) -> None:
    project = Project.new(tmp_path / "mono")
    part = project.root / "services" / "web"
    (part / ".instinct" / "observations").mkdir(parents=True)
    memory = Memory(part)
    memory.init()
    memory.remember("Run the tests after every fix", key="seq:fix->test", kind="skill")
    memory.consolidate()
    branch = memory.propose("seq:fix->test", name="fix-and-test").branch
    assert [one.state for one in memory.review().proposals] == ["open"]
    project.git("merge", "-q", "--squash", branch)
    project.git("commit", "-q", "-m", "a skill")
    landed = project.head()
    assert [one.k for one in memory.review().booked] == ["approved"]
    project.git("revert", "--no-edit", landed)
    assert [one.k for one in memory.review().booked] == ["rejected"]

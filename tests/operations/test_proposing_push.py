"""Pushing a proposal and opening its pull request: a bare repository is the remote, small programs stand for gh and glab."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from instinct_git import InstinctError
from instinct_git.storage import branches
from tests.bridges.test_forge import BRANCH, GITHUB, PULL, TOKEN, Fake
from tests.builders import KEY, Project, git


@pytest.fixture
def host(project: Project) -> Path:
    """A bare repository, the remote of a project with a mature pattern on main."""
    project.observe(times=6, title="Re-run the tests after every fix")
    project.memory().consolidate()
    bare = project.root.parent / "host.git"
    git(project.root.parent, "init", "-q", "--bare", str(bare))
    project.git("remote", "add", "origin", str(bare))
    project.git("push", "-q", "origin", "main")
    return bare


@pytest.fixture
def at_github(project: Project, host: Path) -> Path:
    """The same, as a repository at GitHub whose pushes go to the bare one."""
    project.git("remote", "set-url", "origin", GITHUB)
    project.git("remote", "set-url", "--push", "origin", str(host))
    return host


@pytest.fixture
def gh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fake:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return Fake(folder, "gh")


def heads(bare: Path) -> list[str]:
    return git(bare, "for-each-ref", "--format=%(refname:short)").split()


def test_a_push_brings_the_branch_and_nothing_else(project: Project, host: Path) -> None:
    done = project.memory().propose(KEY, push=True)
    assert heads(host) == [BRANCH, "main"]
    assert git(host, "rev-parse", BRANCH) == done.commit
    assert (done.remote, done.url, done.how) == ("origin", "", "none")


def test_a_further_commit_is_pushed_without_force(project: Project, host: Path) -> None:
    git(host, "config", "receive.denyNonFastForwards", "true")
    project.memory().propose(KEY, push=True)
    project.observe(times=1)
    project.memory().consolidate()
    again = project.memory().propose(KEY, push=True)
    assert git(host, "rev-parse", BRANCH) == again.commit


def test_what_was_only_local_is_pushed_later(project: Project, host: Path) -> None:
    first = project.memory().propose(KEY)
    again = project.memory().propose(KEY, push=True)
    assert (again.unchanged, again.commit, git(host, "rev-parse", BRANCH)) == (True, first.commit, first.commit)


def test_the_pull_request_is_opened_with_what_a_reviewer_needs(project: Project, at_github: Path, gh: Fake) -> None:
    gh.says("pr create", out=f"{PULL}\n")
    done = project.memory().propose(KEY, pr=True)
    assert (done.url, done.how, done.remote) == (PULL, "gh", "origin")
    call = gh.calls[-1]
    assert call["stdin"] == done.body
    assert call["args"][:4] == ["pr", "create", "--title", done.title]  # type: ignore[index]
    assert gh.args[gh.args.index("--head") + 1 : gh.args.index("--head") + 4] == [BRANCH, "--base", "main"]
    for words in (
        "### What changes for agents",
        "### Evidence",
        "| observed | 6 |",
        "## Try it",
        "## Say no",
        "instinct reject",
    ):
        assert words in done.body


def test_an_open_request_is_updated_by_the_push(project: Project, at_github: Path, gh: Fake) -> None:
    project.memory().propose(KEY, push=True)
    gh.says("pr create", err="a pull request for branch already exists", code=1)
    gh.says("pr list", out=f'[{{"state": "OPEN", "url": "{PULL}"}}]')
    done = project.memory().propose(KEY, pr=True)
    assert done.url == PULL
    assert "was open already" in " ".join(done.notices)


def test_a_login_that_is_missing_is_told_before_anything_is_pushed(project: Project, at_github: Path, gh: Fake) -> None:
    gh.says("auth status", err=f"not logged in, token {TOKEN}", code=1)
    with pytest.raises(InstinctError) as refused:
        project.memory().propose(KEY, pr=True)
    assert "gh is not logged in" in refused.value.message
    assert TOKEN not in refused.value.message + refused.value.hint
    assert heads(at_github) == ["main"]
    assert project.git("for-each-ref", "refs/heads/instinct") == ""


def test_a_host_that_refuses_the_request_says_that_the_branch_is_pushed(
    project: Project, at_github: Path, gh: Fake
) -> None:
    gh.says("pr create", err=f"GraphQL: Resource not accessible by token {TOKEN}", code=1)
    with pytest.raises(InstinctError) as refused:
        project.memory().propose(KEY, pr=True)
    assert (
        f"{BRANCH} is pushed to origin: open the request at https://github.com/team/app/compare/" in refused.value.hint
    )
    assert TOKEN not in refused.value.message + refused.value.hint
    assert heads(at_github) == [BRANCH, "main"]


def test_without_a_program_the_address_is_given(
    project: Project, at_github: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("instinct_git.bridges.forge.program", lambda name: None)
    done = project.memory().propose(KEY, pr=True)
    assert (done.how, done.url) == ("compare", f"https://github.com/team/app/compare/main...{BRANCH}?expand=1")


def test_a_fork_is_pushed_to_and_the_request_goes_to_the_repository_itself(
    project: Project, at_github: Path, gh: Fake, tmp_path: Path
) -> None:
    project.git("remote", "add", "mine", "https://github.com/ada/app.git")
    project.git("config", "remote.mine.pushurl", "https://github.com/ada/app.git")
    project.git("config", f"url.{at_github}.pushInsteadOf", "https://nowhere.example/")
    gh.says("pr create", out=PULL)
    from instinct_git.operations import publishing

    repository = project.memory()._space.repository()
    assert repository is not None
    way = publishing.route(repository, "origin/main", "mine", pr=True)
    assert (way.remote, way.owner, way.host) == ("mine", "ada", GITHUB)
    assert publishing.open_request(repository, way, "t", "b", BRANCH, "main").url == PULL
    assert gh.args[gh.args.index("--head") + 1] == f"ada:{BRANCH}"
    assert gh.args[gh.args.index("--repo") + 1] == "github.com/team/app"


# --- what can go wrong ------------------------------------------------------------------------------------------------


def nothing_left(project: Project) -> None:
    assert project.git("for-each-ref", "refs/heads/instinct", "refs/remotes/origin/instinct") == ""
    assert [one for one in project.memory().explain(KEY).lines if one.kind == "proposed"] == []


def test_a_missing_remote_is_told_before_anything_is_made(project: Project, host: Path) -> None:
    with pytest.raises(InstinctError) as refused:
        project.memory().propose(KEY, push=True, remote="upstream")
    assert "origin" in refused.value.hint
    project.git("remote", "remove", "origin")
    with pytest.raises(InstinctError) as refused:
        project.memory().propose(KEY, push=True)
    assert "no remote" in refused.value.message
    nothing_left(project)


def test_of_several_remotes_one_must_be_named(project: Project, host: Path) -> None:
    project.git("remote", "rename", "origin", "here")
    project.git("remote", "add", "there", str(host))
    project.git("update-ref", "-d", "refs/remotes/here/main")
    with pytest.raises(InstinctError) as refused:
        project.memory().propose(KEY, push=True)
    assert "here, there" in refused.value.hint
    assert project.memory().propose(KEY, push=True, remote="there").remote == "there"


def hook(bare: Path, words: str) -> None:
    path = bare / "hooks" / "pre-receive"
    path.write_text(f"#!/bin/sh\necho '{words}' >&2\nexit 1\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def test_no_right_to_push_leaves_nothing_behind(project: Project, host: Path) -> None:
    hook(host, f"protected branch https://ada:{TOKEN}@host.example/x")
    with pytest.raises(InstinctError) as refused:
        project.memory().propose(KEY, push=True)
    assert "may not push to origin" in refused.value.message
    assert TOKEN not in refused.value.message
    nothing_left(project)


def test_a_refused_update_leaves_the_branch_as_it_was(project: Project, host: Path) -> None:
    first = project.memory().propose(KEY, push=True)
    hook(host, "no")
    project.observe(times=1)
    project.memory().consolidate()
    with pytest.raises(InstinctError):
        project.memory().propose(KEY, push=True)
    assert project.git("rev-parse", BRANCH) == first.commit


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("/nowhere/host.git", "cannot be reached"),
        ("https://127.0.0.1:1/x.git", "cannot be reached"),
    ],
)
def test_a_host_that_is_away_is_named(project: Project, host: Path, address: str, words: str) -> None:
    project.git("remote", "set-url", "origin", address)
    with pytest.raises(InstinctError) as refused:
        project.memory().propose(KEY, push=True)
    assert words in refused.value.message
    nothing_left(project)


def ssh(project: Project, tmp_path: Path, text: str) -> Path:
    """Let a program stand for ssh."""
    program = tmp_path / "fake-ssh"
    program.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/ssh.args\n{text}\n')
    program.chmod(0o755)
    project.git("config", "core.sshCommand", str(program))
    project.git("remote", "set-url", "origin", "ssh://git@host.example/x.git")
    return tmp_path / "ssh.args"


def test_ssh_may_not_ask_and_its_refusal_is_told(project: Project, host: Path, tmp_path: Path) -> None:
    args = ssh(project, tmp_path, "echo 'git@host.example: Permission denied (publickey).' >&2; exit 255")
    with pytest.raises(InstinctError) as refused:
        project.memory().propose(KEY, push=True)
    assert "does not know you" in refused.value.message
    assert "BatchMode=yes" in args.read_text()
    nothing_left(project)


def test_a_push_that_hangs_ends(project: Project, host: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(branches, "PUSH_SECONDS", 0.3)
    ssh(project, tmp_path, "exec sleep 600")
    with pytest.raises(InstinctError) as refused:
        project.memory().propose(KEY, push=True)
    assert "did not end within" in refused.value.message
    nothing_left(project)


def test_commits_of_others_on_the_branch_are_not_pushed_over(project: Project, host: Path) -> None:
    project.memory().propose(KEY, push=True)
    other = Project(project.root.parent / "other")
    git(project.root.parent, "clone", "-q", str(host), str(other.root))
    other.git("switch", "-q", BRANCH)
    other.write("a.txt", "a")
    other.commit("review", "a.txt")
    other.git("push", "-q", "origin", BRANCH)
    project.observe(times=1)
    project.memory().consolidate()
    with pytest.raises(InstinctError) as refused:
        project.memory().propose(KEY, push=True)
    assert "git fetch origin" in refused.value.hint
    project.git("fetch", "-q")
    again = project.memory().propose(KEY, push=True)
    assert git(host, "rev-parse", BRANCH) == again.commit
    assert "a.txt" in git(host, "ls-tree", "--name-only", BRANCH)


def test_a_branch_of_the_host_that_is_in_the_way_is_told(project: Project, host: Path) -> None:
    project.git("push", "-q", "origin", "main:refs/heads/instinct")
    project.git("update-ref", "-d", "refs/remotes/origin/instinct")
    with pytest.raises(InstinctError) as refused:
        project.memory().propose(KEY, push=True)
    assert "has a branch that keeps" in refused.value.message
    nothing_left(project)


def test_the_command_line_says_where_to_go_on(
    project: Project, at_github: Path, gh: Fake, instinct: Callable[..., object]
) -> None:
    gh.says("pr create", out=PULL)
    ran = instinct("propose", KEY, "--pr")
    assert f"request: {PULL}" in ran.out  # type: ignore[attr-defined]
    assert "pushed:  origin" in ran.out  # type: ignore[attr-defined]
    again = instinct("propose", KEY, "--pr", "--json")
    assert (again.json["unchanged"], again.json["url"]) == (True, PULL)  # type: ignore[attr-defined]


# --- the whole story ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("squash", [False, True])
def test_from_the_first_record_to_a_skill_that_another_clone_has_merged(
    project: Project, tmp_path: Path, squash: bool
) -> None:
    key = "seq:write->build->publish"
    bare = tmp_path / "host.git"
    git(tmp_path, "init", "-q", "--bare", str(bare))
    project.git("remote", "add", "origin", str(bare))
    project.write("CLAUDE.md", "x\n")
    project.commit("agents", "CLAUDE.md")
    memory = project.memory()
    memory.remember("How we publish the blog, make it a skill", key=key, title="Publish the blog", context="blog",
                    steps=("write the post", "hugo --minify", "rsync public/"), verify="the page answers 200")  # fmt: skip
    for context in ("blog", "shop", "blog", "docs"):
        memory.feedback(key, "succeeded", context=context)
    memory.consolidate()
    assert memory.candidates()[0].status == "nominated"
    project.git("push", "-q", "-u", "origin", "main")
    done = memory.propose(key, push=True)

    reviewer = Project(tmp_path / "reviewer")
    git(tmp_path, "clone", "-q", str(bare), str(reviewer.root))
    if squash:
        reviewer.git("merge", "-q", "--squash", f"origin/{done.branch}")
        reviewer.git("commit", "-q", "-m", "Publish the blog (#1)")
    else:
        reviewer.git("merge", "-q", "--no-ff", "-m", "Merge", f"origin/{done.branch}")
    reviewer.git("push", "-q", "origin", "main")
    for clone in (reviewer, project):
        clone.git("pull", "-q")
        assert "3. rsync public/" in clone.read(".claude/skills/write-build-publish/SKILL.md")
        assert clone.memory().show(key).status == "graduated"
        assert key not in [one.pattern for one in clone.memory().suggest()]
        assert clone.errors() == []
    assert project.memory().propose(key).unchanged
    project.memory().feedback(key, "succeeded", context="wiki")
    project.memory().consolidate()
    assert project.memory().show(key).live == 6


def test_a_remote_without_a_push_is_refused_instead_of_ignored(project: Project, host: Path) -> None:
    with pytest.raises(InstinctError, match="nothing is pushed"):
        project.memory().propose(KEY, remote="origin")
    assert (project.git("branch", "--list", "instinct/*"), heads(host)) == ("", ["main"])

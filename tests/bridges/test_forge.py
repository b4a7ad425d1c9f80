"""Pull requests through `gh` and `glab`: a small program of their name notes what it was called with. No network."""

from __future__ import annotations

import json
import os
import stat
import sys
import time
from pathlib import Path

import pytest

from instinct_git import InstinctError
from instinct_git.bridges import forge, hosts
from instinct_git.bridges.forge import Request, choose, open_request, request_state, require_login
from instinct_git.bridges.hosts import compare_url, remote_of

GITHUB, GITLAB = "git@github.com:team/app.git", "https://gitlab.com/group/sub/app.git"
TOKEN = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0a1B2"
PULL = "https://github.com/team/app/pull/7"
BRANCH = "instinct/skill/test-fix-test"


class Fake:
    """A program first on PATH that answers as told and notes how it was called."""

    def __init__(self, folder: Path, name: str) -> None:
        self.notes, self.answers = folder / f"{name}.calls", folder / f"{name}.answers"
        program = folder / name
        program.write_text(
            f"#!{sys.executable}\n"
            "import json, os, sys, time\n"
            f"call = {{'args': sys.argv[1:], 'stdin': sys.stdin.read(), 'env': dict(os.environ), 'cwd': os.getcwd()}}\n"
            f"open({str(self.notes)!r}, 'a').write(json.dumps(call) + '\\n')\n"
            f"answers = json.load(open({str(self.answers)!r}))\n"
            "words = ' '.join(sys.argv[1:])\n"
            "out, err, code, wait = next((a for start, a in answers.items() if words.startswith(start)), ['', 'unknown', 1, 0])\n"
            "sys.stdout.write(out); sys.stderr.write(err); sys.stdout.flush()\n"
            "wait and (os.fork() == 0 or True) and time.sleep(wait)\n"
            "sys.exit(code)\n",
            encoding="utf-8",
        )
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        self.told: dict[str, list[object]] = {}
        self.says("auth status")

    def says(self, start: str, out: str = "", err: str = "", code: int = 0, wait: float = 0) -> None:
        """Answer commands that begin with `start`."""
        self.told = {start: [out, err, code, wait], **{k: v for k, v in self.told.items() if k != start}}
        self.answers.write_text(json.dumps(self.told), encoding="utf-8")

    @property
    def calls(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in self.notes.read_text().splitlines()] if self.notes.exists() else []

    @property
    def args(self) -> list[str]:
        return list(self.calls[-1]["args"])  # type: ignore[call-overload]


@pytest.fixture
def bin_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/nowhere")
    return folder


@pytest.fixture
def gh(bin_folder: Path) -> Fake:
    return Fake(bin_folder, "gh")


@pytest.fixture
def glab(bin_folder: Path) -> Fake:
    return Fake(bin_folder, "glab")


# --- addresses ------------------------------------------------------------------------------------------------------

COMPARE = "/compare/main...instinct/skill/a"


@pytest.mark.parametrize(
    ("remote", "page"),
    [
        ("https://github.com/team/app.git", f"https://github.com/team/app{COMPARE}?expand=1"),
        ("https://github.com/team/app/", f"https://github.com/team/app{COMPARE}?expand=1"),
        ("git@github.com:team/app.git", f"https://github.com/team/app{COMPARE}?expand=1"),
        ("ssh://git@ssh.github.com:443/team/app.git", f"https://github.com/team/app{COMPARE}?expand=1"),
        ("git@github.com-work:team/app.git", f"https://github.com/team/app{COMPARE}?expand=1"),
        ("https://github.corp.example/team/app", f"https://github.corp.example/team/app{COMPARE}?expand=1"),
        (f"https://x-access-token:{TOKEN}@github.com/team/app", f"https://github.com/team/app{COMPARE}?expand=1"),
        ("https://codeberg.org/team/app", f"https://codeberg.org/team/app{COMPARE}"),
        ("ssh://git@forgejo.corp.example:2222/team/app.git", f"https://forgejo.corp.example/team/app{COMPARE}"),
        ("http://gitea.local:3000/team/app.git", f"http://gitea.local:3000/team/app{COMPARE}"),
        (
            "git@gitlab.com:group/sub/app.git",
            "https://gitlab.com/group/sub/app/-/merge_requests/new?merge_request%5Bsource_branch%5D=instinct%2Fskill%2Fa"
            "&merge_request%5Btarget_branch%5D=main",
        ),
        ("git@bitbucket.org:team/app.git", "https://bitbucket.org/team/app/pull-requests/new?source=instinct%2Fskill%2Fa&dest=main"),
        (
            "ssh://git@bitbucket.corp.example:7999/PRJ/app.git",
            "https://bitbucket.corp.example/projects/PRJ/repos/app/pull-requests?create&sourceBranch=instinct%2Fskill%2Fa&targetBranch=main",
        ),
        ("https://git.example.org/team/app.git", None),
        ("/srv/git/app.git", None),
        ("../app.git", None),
        ("file:///srv/git/app.git", None),
        ("C:\\repos\\app", None),
        ("C:/repos/app", None),
        ("https://github.com/", None),
        ("https://github.com/team/../app", None),
        ("https://github.com:port/team/app", None),
        ("", None),
    ],
)  # fmt: skip
def test_every_host_has_its_page(remote: str, page: str | None) -> None:
    assert compare_url(remote, "main", "instinct/skill/a") == page


def test_a_branch_cannot_change_the_address() -> None:
    page = compare_url(GITHUB, "main", "a?b#c&d e%2F<发布>")
    assert page == "https://github.com/team/app/compare/main...a%3Fb%23c%26d%20e%252F%3C%E5%8F%91%E5%B8%83%3E?expand=1"
    assert compare_url(GITLAB, "main", "a&b=c") is not None
    assert "a%26b%3Dc" in str(compare_url(GITLAB, "main", "a&b=c"))
    assert compare_url(GITHUB, "", "a") is None


def test_a_remote_is_read_without_its_password() -> None:
    remote = remote_of(f"https://me:{TOKEN}@gitlab.com:8443/g/app.git")
    assert remote == hosts.Remote("gitlab", "https://gitlab.com:8443", "gitlab.com", "g/app")


# --- opening --------------------------------------------------------------------------------------------------------


def test_gh_is_called_with_old_flags_and_the_body_on_stdin(gh: Fake, tmp_path: Path) -> None:
    gh.says("pr create", out=f"{PULL}\n", err="Creating pull request\n")
    done = open_request(
        tmp_path, "Propose: it's `a`; $(b)", "- one\n- two\n", BRANCH, "main", "auto", remote_url=GITHUB
    )
    assert done == Request(PULL, "gh")
    assert gh.args == [
        "pr", "create", "--title", "Propose: it's `a`; $(b)", "--body-file", "-", "--head", BRANCH, "--base", "main",
        "--repo", "github.com/team/app",
    ]  # fmt: skip
    assert (gh.calls[-1]["stdin"], gh.calls[-1]["cwd"]) == ("- one\n- two\n", str(tmp_path))


def test_without_a_remote_gh_finds_the_repository_itself(gh: Fake, tmp_path: Path) -> None:
    gh.says("pr create", out=PULL)
    assert open_request(tmp_path, "t", "", BRANCH, "main", "gh").url == PULL
    assert "--repo" not in gh.args
    assert open_request(tmp_path, "t", "", BRANCH, "main", "gh", remote_url="/srv/app.git").url == PULL
    assert "--repo" not in gh.args


def test_glab_is_called_with_options_and_values_in_one_word(glab: Fake, tmp_path: Path) -> None:
    url = "https://gitlab.com/group/sub/app/-/merge_requests/3"
    glab.says("mr create", out=f"Creating merge request for a into main in group/sub/app\n\n!3 t (a)\n {url}\n")
    assert open_request(tmp_path, "t", "- body", BRANCH, "main", "auto", remote_url=GITLAB) == Request(url, "glab")
    assert glab.args == [
        "mr", "create", "--title=t", "--description=\n- body", f"--source-branch={BRANCH}", "--target-branch=main", "--yes",
        "--repo", "https://gitlab.com/group/sub/app",
    ]  # fmt: skip


def test_without_a_program_a_person_opens_the_page(bin_folder: Path, tmp_path: Path) -> None:
    done = open_request(tmp_path, "t", "b", BRANCH, "main", "auto", remote_url=GITHUB)
    assert done == Request(f"https://github.com/team/app/compare/main...{BRANCH}?expand=1", "compare")
    assert open_request(tmp_path, "t", "b", BRANCH, "main", "auto", remote_url="/srv/app.git") == Request("", "none")
    assert open_request(tmp_path, "t", "b", BRANCH, "main", "none", remote_url=GITHUB) == Request("", "none")
    with pytest.raises(InstinctError, match="gh is not installed"):
        open_request(tmp_path, "t", "b", BRANCH, "main", "gh", remote_url=GITHUB)
    with pytest.raises(InstinctError, match="no way"):
        open_request(tmp_path, "t", "b", BRANCH, "main", "hub", remote_url=GITHUB)


def test_a_host_that_no_name_tells_is_asked_for_a_login(gh: Fake, glab: Fake, tmp_path: Path) -> None:
    remote = "git@git.corp.example:team/app.git"
    assert choose(tmp_path, remote) == "gh"
    assert gh.args == ["auth", "status", "--hostname", "git.corp.example"]
    gh.says("auth status", err="You are not logged into any GitHub hosts. Run gh auth login", code=1)
    glab.says(
        "auth status", err="x git.corp.example: api call failed: 401 {message: 401 Unauthorized}\nx No token provided"
    )
    assert choose(tmp_path, remote) == "compare"
    glab.says("auth status", out="Logged in to git.corp.example as ada")
    assert choose(tmp_path, remote) == "glab"
    assert choose(tmp_path, "https://codeberg.org/a/b") == "compare"


def test_a_request_that_is_open_already_is_returned(gh: Fake, tmp_path: Path) -> None:
    gh.says(
        "pr create", err=f'a pull request for branch "{BRANCH}" into branch "main" already exists:\n{PULL}\n', code=1
    )
    gh.says("pr list", out=json.dumps([{"state": "OPEN", "url": PULL, "mergedBy": None, "isCrossRepository": False}]))
    assert open_request(tmp_path, "t", "b", BRANCH, "main", "gh", remote_url=GITHUB) == Request(
        PULL, "gh", existed=True
    )


@pytest.mark.parametrize(
    ("err", "code", "message", "hint"),
    [
        (
            "To get started with GitHub CLI, please run:  gh auth login\n",
            4,
            "gh is not logged in at github.com",
            "gh auth login",
        ),
        (
            "HTTP 401: Bad credentials (https://api.github.com/graphql)\n",
            1,
            "gh is not logged in at github.com",
            "gh auth login",
        ),
        ("pull request create failed: GraphQL: must be a collaborator\n", 1, "must be a collaborator", "the right"),
        ("HTTP 403: Resource not accessible by integration\n", 1, "HTTP 403", "the right"),
        (f"fatal: https://x:{TOKEN}@github.com said no {TOKEN}\n", 1, "fatal", "browser"),
        ("", 1, "exit 1", "browser"),
        ("\x1b[31mpull request create failed\x1b[0m\nmore", 1, "pull request create failed", "browser"),
    ],
)
def test_what_goes_wrong_is_a_known_error_without_a_token(
    gh: Fake, tmp_path: Path, err: str, code: int, message: str, hint: str
) -> None:
    gh.says("pr create", err=err, code=code)
    with pytest.raises(InstinctError) as refused:
        open_request(tmp_path, "t", "b", BRANCH, "main", "gh", remote_url=GITHUB)
    assert message in refused.value.message
    assert hint in refused.value.hint
    said = refused.value.message + refused.value.hint
    assert TOKEN not in said and "\x1b" not in said and "\n" not in said


def test_a_missing_login_is_known_before_anything_is_pushed(gh: Fake, tmp_path: Path) -> None:
    require_login(tmp_path, "auto", GITHUB)
    require_login(tmp_path, "none", GITHUB)
    gh.says("auth status", err="X github.com: authentication failed", code=1)
    with pytest.raises(InstinctError) as refused:
        require_login(tmp_path, "auto", GITHUB)
    assert refused.value.message == "gh is not logged in at github.com"
    with pytest.raises(InstinctError) as refused:
        require_login(tmp_path, "gh", "git@git.corp.example:a/b.git")
    assert "--hostname git.corp.example" in refused.value.hint


@pytest.mark.parametrize("value", ["-x", "--web", " --fill", "", "  ", "a\nb", "a\x00b", "a\u2028b"])
@pytest.mark.parametrize("place", ["title", "head", "base"])
def test_no_value_becomes_an_option(gh: Fake, tmp_path: Path, place: str, value: str) -> None:
    values = {"title": "t", "head": "h", "base": "b", place: value}
    with pytest.raises(InstinctError):
        open_request(tmp_path, values["title"], "body", values["head"], values["base"], "gh", remote_url=GITHUB)
    if place == "head":
        with pytest.raises(InstinctError):
            request_state(tmp_path, value, which="gh")
    assert gh.calls == []


@pytest.mark.parametrize("remote", ["ssh://-oProxyCommand=x/a/b", "-x@github.com:a/b", "https://github.com/-x/--y"])
def test_no_remote_becomes_an_option(gh: Fake, tmp_path: Path, remote: str) -> None:
    gh.says("pr create", out=PULL)
    open_request(tmp_path, "t", "b", BRANCH, "main", "gh", remote_url=remote)
    where = gh.args[gh.args.index("main") + 1 :]
    assert where == [] or (where[0] == "--repo" and not where[1].startswith("-"))


def test_programs_run_without_terminal_prompts_and_debug_output(
    gh: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GH_DEBUG", "GIT_DIR", "GH_FORCE_TTY", "GIT_INDEX_FILE"):
        monkeypatch.setenv(name, "api")
    monkeypatch.setenv("GH_TOKEN", "kept for the program")
    gh.says("pr create", out=PULL)
    open_request(tmp_path, "t", "b", BRANCH, "main", "gh", remote_url=GITHUB)
    seen = gh.calls[-1]["env"]
    assert isinstance(seen, dict)
    assert not {"GH_DEBUG", "GIT_DIR", "GH_FORCE_TTY", "GIT_INDEX_FILE"} & set(seen)
    assert (seen["GH_PROMPT_DISABLED"], seen["GIT_TERMINAL_PROMPT"], seen["GH_TOKEN"]) == (
        "1",
        "0",
        "kept for the program",
    )


def test_a_program_of_a_relative_path_is_none(gh: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "bin")
    assert choose(tmp_path, GITHUB) == "compare"


def test_time_is_bounded_and_what_was_started_ends_too(
    gh: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forge, "SECONDS", 1.0)
    gh.says("pr create", wait=30)
    before = time.monotonic()
    with pytest.raises(InstinctError, match="did not end within"):
        open_request(tmp_path, "t", "b", BRANCH, "main", "gh", remote_url=GITHUB)
    assert time.monotonic() - before < 20


def test_a_long_body_is_cut_to_what_hosts_take(gh: Fake, tmp_path: Path) -> None:
    gh.says("pr create", out=PULL)
    open_request(tmp_path, "t", "x" * 100_000 + "\x00", BRANCH, "main", "gh", remote_url=GITHUB)
    body = str(gh.calls[-1]["stdin"])
    assert len(body) < 61_000 and body.endswith("(cut)\n")


# --- the answer -----------------------------------------------------------------------------------------------------


def row(state: str, **more: object) -> dict[str, object]:
    """Return a pull request as gh lists it."""
    return {
        "state": state,
        "url": PULL,
        "mergedBy": None,
        "isCrossRepository": False,
        "headRepositoryOwner": {"login": "team"},
        **more,
    }


MERGED = row("MERGED", mergedBy={"login": "grace", "is_bot": False})
FORK = {"isCrossRepository": True, "headRepositoryOwner": {"login": "Eve"}}


@pytest.mark.parametrize(
    ("head", "rows", "state", "by"),
    [
        ("b", [row("OPEN")], "open", ""),
        ("b", [MERGED], "merged", "grace"),
        ("b", [row("CLOSED", mergedBy={"login": "x"})], "closed", ""),
        ("b", [], None, ""),
        ("b", [row("CLOSED"), MERGED], "closed", ""),
        ("b", [row("CLOSED"), row("OPEN")], "open", ""),
        ("b", [row("CLOSED", **FORK)], None, ""),
        ("b", [row("MERGED", **FORK), row("OPEN")], "open", ""),
        ("eve:b", [row("CLOSED", **FORK), MERGED], "closed", ""),
        ("b", [row("MERGED", mergedBy=None)], "merged", ""),
        ("b", [row("ODD")], None, ""),
    ],
)
def test_the_newest_request_of_the_branch_counts(
    gh: Fake, tmp_path: Path, head: str, rows: list[object], state: str | None, by: str
) -> None:
    gh.says("pr list", out=json.dumps(rows))
    now = request_state(tmp_path, head, remote_url=GITHUB)
    assert (now.state, now.merged_by) == (state, by)
    assert gh.args[:7] == ["pr", "list", "--head", "b", "--state", "all", "--limit"]


def test_gitlab_is_asked_through_its_api(glab: Fake, tmp_path: Path) -> None:
    url = "https://gitlab.com/group/sub/app/-/merge_requests/3"
    mine = {
        "state": "merged",
        "web_url": url,
        "merge_user": {"username": "grace"},
        "source_project_id": 1,
        "target_project_id": 1,
    }
    fork = {
        "state": "closed",
        "web_url": url,
        "source_project_id": 2,
        "target_project_id": 1,
        "author": {"username": "eve"},
    }
    glab.says("api", out=json.dumps([fork, mine]))
    assert request_state(tmp_path, BRANCH, remote_url=GITLAB) == forge.RequestState("merged", "grace", url)
    assert glab.args == [
        "api", "projects/group%2Fsub%2Fapp/merge_requests?source_branch=instinct%2Fskill%2Ftest-fix-test&state=all&per_page=50",
        "--hostname", "gitlab.com",
    ]  # fmt: skip
    assert request_state(tmp_path, "eve:b", remote_url=GITLAB).state == "closed"


@pytest.mark.parametrize(
    ("out", "err", "code", "why"),
    [
        ("", "To get started, run: gh auth login", 4, "gh is not logged in"),
        ("no json", "", 0, "no JSON"),
        ("{}", "", 0, ""),
        ("[1, null]", "", 0, ""),
    ],
)
def test_no_answer_is_no_state(gh: Fake, tmp_path: Path, out: str, err: str, code: int, why: str) -> None:
    gh.says("pr list", out=out, err=err, code=code)
    now = request_state(tmp_path, BRANCH, remote_url=GITHUB)
    assert now.state is None
    assert why in now.why


def test_without_a_program_there_is_no_state(bin_folder: Path, tmp_path: Path) -> None:
    for which in ("auto", "gh", "none"):
        assert request_state(tmp_path, BRANCH, which=which, remote_url=GITHUB).state is None


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"state": "CLOSED", "closedAt": "2026-03-01T23:30:00Z"}, ("closed", "", "2026-03-01")),
        ({"state": "MERGED", "closedAt": "2026-03-01T23:30:00Z"}, ("merged", "", "2026-03-01")),
        ({"state": "OPEN", "closedAt": None}, ("open", "", "")),
        ({"state": "CLOSED", "closedAt": "soon"}, ("closed", "", "")),
        ({"state": "closed", "closed_at": "2026-03-01T23:30:00-05:00", "closed_by": {"username": "grace"}},
         ("closed", "grace", "2026-03-02")),
        ({"state": "merged", "merged_at": "2026-03-01T10:00:00.123Z", "closed_by": None}, ("merged", "", "2026-03-01")),
    ],
)  # fmt: skip
def test_when_and_by_whom_a_request_was_closed(row: dict[str, object], told: tuple[str, str, str]) -> None:
    found = forge._row(row)
    assert (found.state, found.closed_by, found.on) == told
    assert found.day == told[2].replace("-", "")


def test_a_long_body_in_any_script_fits_into_one_argument(glab: Fake, tmp_path: Path) -> None:
    glab.says("mr create", out="https://gitlab.com/g/app/-/merge_requests/3")
    open_request(tmp_path, "t", "发布" * 40_000, BRANCH, "main", "glab", remote_url=GITLAB)
    given = next(word for word in glab.args if word.startswith("--description="))
    assert len(given.encode()) < 128 * 1024
    assert given.endswith("(cut)\n")

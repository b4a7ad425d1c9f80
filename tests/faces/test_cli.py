"""The command line: the wiring of every verb, its exit codes, its JSON and its errors."""

from __future__ import annotations

import gc
import json
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from instinct_git.faces import cli
from tests.builders import KEY, Project, Ran, git
from tests.faces.conftest import two_lines
from tests.operations.test_noticing import nominate

Instinct = Callable[..., Ran]
ROOT = Path(__file__).resolve().parents[2]
FOUND = {"kind", "line", "excerpt", "score"}
FIELDS = {
    "pattern", "category", "confidence", "live", "level", "title", "description", "first_seen", "last_seen", "sources",
    "status", "scope", "path", "candidate", "metadata", "tags",
}  # fmt: skip


# --- every verb -----------------------------------------------------------------------------------------------------


def test_without_arguments_the_help_is_shown(anywhere: Instinct) -> None:
    done = anywhere()
    assert done.code == 0 and "consolidate" in done.out


@pytest.mark.parametrize("verb", [c.name or c.callback.__name__ for c in cli.app.registered_commands if c.callback])
def test_every_verb_explains_itself(anywhere: Instinct, verb: str) -> None:
    done = anywhere(verb, "--help")
    assert (done.code, done.err) == (0, "") and f"instinct {verb}" in done.out


def test_the_version_is_told(anywhere: Instinct) -> None:
    from instinct_git import __version__

    assert anywhere("--version") == (0, f"instinct-git {__version__}\n", "")


def test_asking_for_the_version_tells_no_nomination_so_that_the_person_still_hears_of_it(
    instinct: Instinct, project: Project
) -> None:
    nominate(project)
    assert instinct("--version").err == ""
    assert "nominated" in instinct("list").err


def test_git_instinct_and_the_other_names_are_entry_points() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
    assert {scripts[name] for name in ("instinct", "instinct-git", "git-instinct")} == {"instinct_git.faces.entry:main"}


def test_init_writes_a_memory_and_says_what_for(anywhere: Instinct) -> None:
    git(Path.cwd(), "init", "-q")
    planned = anywhere("init", "--dry-run")
    assert planned.code == 0 and not Path(".instinct").exists()
    done = anywhere("init")
    assert done.code == 0 and "wrote .instinct/config.yaml" in done.out
    assert anywhere("init", "--json").json["scope"] == "project"


def test_init_private_keeps_the_repository_clean(anywhere: Instinct) -> None:
    git(Path.cwd(), "init", "-q")
    assert anywhere("init", "--private", "--json").json["scope"] == "private"
    assert not Path(".instinct").exists()


def test_config_shows_and_sets(instinct: Instinct) -> None:
    assert instinct("config", "--json").json["suggest.budget"] == 800
    assert "suggest.budget  800" in instinct("config", "suggest.budget").out
    assert instinct("config", "suggest.budget", "900").code == 0
    assert instinct("config", "suggest.budget", "--json").json == {"suggest.budget": 900}


def test_observe_counts_and_tells_the_live_value(instinct: Instinct) -> None:
    assert instinct("observe", KEY) == (0, f"observed {KEY}  conf=1\n", "")
    done = instinct("observe", KEY, "-s", "cursor", "--note", "again", "--json").json
    assert (done["pattern"], done["live"], done["category"], done["scope"]) == (KEY, 2, "sequence", "project")


def test_observe_reads_keys_and_json_lines_from_standard_input(instinct: Instinct, feed: Callable[[str], None]) -> None:
    feed(f'{KEY}\n\n{{"key": "note:x", "note": "words", "title": "An x"}}\r\n{KEY}\n')
    done = instinct("observe", "-", "--source", "ci")
    assert done.out.split("\n")[:3] == [f"observed {KEY}  conf=2", "observed note:x  conf=1", f"observed {KEY}  conf=2"]
    assert instinct("show", "note:x", "--json").json["sources"] == ["ci"]


def test_observe_of_an_empty_standard_input_is_nothing(instinct: Instinct, feed: Callable[[str], None]) -> None:
    feed("")
    assert instinct("observe", "-") == (0, "", "")
    feed("")
    assert instinct("observe", "-", "--json").json == {"observations": []}


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("{broken", "line 2 of standard input is not valid JSON"),
        ('{"note": "n"}', "line 2 of standard input: no key"),
        ('{"key": "a", "kind": "confirmed"}', "unknown field 'kind'"), ('{"key": 5}', "key is not a text"),
        ('{"key": "a", "metadata": "x"}', "metadata is not an object"),
        ('{"key": "a", "session": 7}', "session is not a text"),
    ],
)  # fmt: skip
def test_one_wrong_line_of_standard_input_writes_nothing(
    instinct: Instinct, project: Project, feed: Callable[[str], None], line: str, error: str
) -> None:
    feed(f"{KEY}\n{line}\n")
    two_lines(instinct("observe", "-"), error, "")
    assert project.inbox_files() == []


def test_observe_global_goes_to_the_users_own_memory_from_anywhere(instinct: Instinct, project: Project) -> None:
    done = instinct("observe", KEY, "--global", "--json")
    assert (done.json["scope"], done.err) == ("global", "")
    assert project.inbox_files() == []
    assert instinct("list", "--scope", "global", "--json").json["patterns"][0]["pattern"] == KEY


def test_observe_outside_of_any_memory_says_where_it_went(anywhere: Instinct) -> None:
    done = anywhere("observe", KEY)
    assert (done.code, done.out) == (0, f"observed {KEY}  conf=1\n")
    assert done.err.startswith("# there is no memory here, so it went to your global one")


def test_observe_metadata_is_a_json_object(instinct: Instinct) -> None:
    assert instinct("observe", KEY, "--metadata", '{"owner": "web"}').code == 0
    assert instinct("show", KEY, "--json").json["metadata"] == {"owner": "web"}
    two_lines(instinct("observe", KEY, "--metadata", "[1]"), "--metadata is not a JSON object", "owner")


def transcript() -> str:
    return str(ROOT / "instinct_git" / "data" / "demo-transcript.jsonl")


def test_learn_reads_a_transcript_once(instinct: Instinct, project: Project) -> None:
    planned = instinct("learn", transcript(), "--dry-run", "--json").json
    assert planned["new"] > 0 and project.inbox_files() == []
    done = instinct("learn", transcript(), "--json").json
    assert done["patterns"] == planned["patterns"]
    for one in done["patterns"]:
        assert {"key", "support", "sessions", "at"} <= set(one)
        assert one["support"] == len(one["at"]) and all(isinstance(call, int) for spot in one["at"] for call in spot)
    again = instinct("learn", transcript())
    assert again.code == 0 and "0 observations are new" in again.out


def test_adjust_is_evidence(instinct: Instinct) -> None:
    instinct("observe", KEY)
    assert instinct("adjust", KEY, "4", "--why", "agreed").out == f"adjusted {KEY} by +4  conf=5\n"
    assert instinct("adjust", KEY, "-2", "--json").json["live"] == 3
    two_lines(instinct("adjust", KEY, "0"), "cannot adjust by 0", "-1000")


def test_retire_and_restore_are_commits(instinct: Instinct, project: Project) -> None:
    project.observe(KEY, 5)
    project.memory().consolidate()
    done = instinct("retire", KEY)
    assert done.out == f"retired {KEY}\nCommit: {project.head()[:12]}\n"
    assert instinct("suggest").out == "# 0 suggestions\n"
    assert instinct("restore", KEY, "--json").json == {"pattern": KEY, "done": "restored", "commit": project.head()}


def test_record_commits_without_folding(instinct: Instinct, project: Project) -> None:
    project.observe(KEY)
    planned = instinct("record", "--dry-run")
    assert json.loads(planned.out.split("\n")[0])["p"] == KEY
    done = instinct("record")
    assert done.out.startswith("Recorded: 1\nCommit: ") and instinct("record", "--json").json["commit"] == ""
    project.observe(KEY)
    before = project.commits()
    assert instinct("record", "--no-commit").code == 0 and project.commits() == before


def test_consolidate_prints_its_three_lines(instinct: Instinct, project: Project) -> None:
    project.observe(KEY, 5)
    project.observe("pref:style=black", 10)
    assert "would write" in instinct("consolidate", "--dry-run").out
    lines = instinct("consolidate").out.split("\n")
    at = lines.index("Promoted to mature: 1")
    assert lines[at : at + 3] == ["Promoted to mature: 1", "Promoted to rule: 1", "Total instincts: 2"]
    assert lines[at + 3] == f"Commit: {project.head()[:12]}"
    done = instinct("consolidate", "--json").json
    assert (done["promoted_to_mature"], done["promoted_to_rule"], done["total"], done["commit"]) == (0, 0, 2, "")


def test_decay_takes_its_days(instinct: Instinct, project: Project) -> None:
    project.observe(KEY, 5)
    project.memory().consolidate()
    done = instinct("decay", "--days", "90", "--json").json
    assert (done["verb"], done["decayed"]) == ("decay", 0)
    assert "Decayed: 0" in instinct("decay").out
    two_lines(instinct("decay", "--days", "-1"), "negative", "90")


def two_patterns(project: Project) -> None:
    project.observe(KEY, 8, source="cursor", title="Re-run the tests")
    project.observe("pref:style=black", 11)
    project.observe("note:new")
    project.memory().consolidate()


def test_suggest_prints_a_line_a_pattern_and_their_number(instinct: Instinct, project: Project) -> None:
    two_patterns(project)
    lines = instinct("suggest").out.split("\n")
    assert [" ".join(line.split()) for line in lines] == [
        "pref:style=black conf=11 [rule] preference — use black for style",
        f"{KEY} conf=8 [mature] sequence — Re-run the tests",
        "# 2 suggestions",
        "",
    ]
    assert f"{KEY}    conf=8   [mature]  sequence  — Re-run the tests" in lines
    assert instinct("suggest", "-n", "1").out.endswith("# 1 suggestion\n# 1 more left out (the limit)\n")
    assert instinct("suggest", "--budget", "0").out.startswith("# 0 suggestions\n")


@pytest.mark.parametrize("verb", [("suggest",), ("list",), ("search", "black")])
def test_the_lists_are_objects_with_patterns(instinct: Instinct, project: Project, verb: tuple[str, ...]) -> None:
    two_patterns(project)
    done = instinct(*verb, "--json").json
    assert list(done) == ["patterns"] and done["patterns"]
    for one in done["patterns"]:
        assert set(one) - {"because", *(FOUND if verb[0] == "search" else ())} == FIELDS
    assert done["patterns"][0]["pattern"] == "pref:style=black"


def test_list_is_narrowed_by_its_options(instinct: Instinct, project: Project) -> None:
    two_patterns(project)
    assert instinct("list").out.endswith("# 3 patterns\n")
    for options in (("-c", "sequence"), ("-l", "mature"), ("--min-confidence", "11"), ("--source", "cursor")):
        assert instinct("list", *options).out.endswith("# 1 pattern\n"), options
    assert instinct("list", "--scope", "global", "--json").json == {"patterns": []}
    two_lines(instinct("list", "-l", "great"), "there is no level 'great'", "mature")


def test_show_is_one_object(instinct: Instinct, project: Project) -> None:
    two_patterns(project)
    one = instinct("show", KEY, "--json").json
    assert set(one) == FIELDS
    assert {name: one[name] for name in ("pattern", "category", "confidence", "live", "level", "title", "sources")} == {
        "pattern": KEY, "category": "sequence", "confidence": 8, "live": 8, "level": "mature",
        "title": "Re-run the tests",
        "sources": ["cursor"],
    }  # fmt: skip
    assert (one["status"], one["scope"], one["candidate"], one["description"]) == ("active", "project", None, "")
    assert (project.root / one["path"]).is_file() and one["first_seen"] == one["last_seen"]
    assert "title:       Re-run the tests" in instinct("show", KEY).out


def test_search_says_what_matched(instinct: Instinct, project: Project) -> None:
    two_patterns(project)
    done = instinct("search", "re-run", "tests")
    assert done.out.endswith("(key, title)\n# 1 found\n") or "(title" in done.out
    assert instinct("search", "nothing").out == "# 0 found\n"
    two_lines(instinct("search", " "), "the query is empty", "a word")


def test_explain_history_and_stats(instinct: Instinct, project: Project) -> None:
    two_patterns(project)
    assert instinct("explain", KEY).out.startswith(f"{KEY}  confidence 8, live 8  [mature]\n")
    assert len(instinct("explain", KEY, "--json").json["lines"]) == 8
    assert instinct("history", KEY).out.startswith(project.head()[:12])
    assert instinct("history", KEY, "-n", "1", "--json").json["commits"][0]["sha"] == project.head()
    assert "patterns:    3" in instinct("stats").out and instinct("stats", "--json").json["patterns"] == 3


def test_propose_shows_and_makes_a_branch(instinct: Instinct, project: Project) -> None:
    two_patterns(project)
    assert "# would become instinct/skill/retest" in instinct("propose", KEY, "--name", "retest", "--dry-run").out
    done = instinct("propose", KEY, "--name", "retest")
    assert "branch:  instinct/skill/retest" in done.out
    assert instinct("propose", KEY, "--name", "retest").out.startswith("# nothing has changed: instinct/skill/retest")
    assert instinct("propose", KEY, "--name", "other", "--json").json["branch"] == "instinct/skill/other"


def test_export_rules_is_markdown_or_json(instinct: Instinct, project: Project, tmp_path: Path) -> None:
    two_patterns(project)
    assert instinct("export", "rules").out == "# Rules\n\n- use black for style (`pref:style=black`, 11 x)\n"
    target = tmp_path / "rules.md"
    assert instinct("export", "rules", "-o", str(target)).out == "" and "black" in target.read_text(encoding="utf-8")
    assert len(instinct("export", "rules", "--json").json["patterns"]) == 1
    two_lines(instinct("export", "rules", "-o", str(tmp_path / "no" / "x")), "cannot be written", "another file")


def test_serve_starts_the_server_for_the_named_project(instinct: Instinct, monkeypatch: pytest.MonkeyPatch) -> None:
    from instinct_git.faces import mcp_server

    seen: list[tuple[str, str]] = []

    class Server:
        def __init__(self, root: object) -> None:
            self.root = str(root)

        def run(self, transport: str) -> None:
            seen.append((self.root, transport))

    monkeypatch.setattr(mcp_server, "ready", Server)
    for words in (["serve"], ["serve", "--root", "x"], ["serve", "--root=x"], ["-C", ".", "serve", "--root", "x"]):
        assert instinct(*words).code == 0
    assert seen == [("None", "stdio"), *[("x", "stdio")] * 3]
    assert gc.isenabled()
    assert instinct("serve", "x").code == 2

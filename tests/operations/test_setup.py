"""`init`: what it writes, what it chooses, and that it touches nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from instinct_git import InstinctError, Memory
from instinct_git.storage import config, files
from tests.builders import KEY, Project, git


def test_init_writes_the_scaffolding_and_nothing_else(tmp_path: Path) -> None:
    project = Project.new(tmp_path / "p")
    done = project.memory().init()
    assert {path for path, _ in done.written} == set(project.status().replace("?? ", "").split("\n"))
    assert all(meaning for _, meaning in done.written)
    assert project.memory().init().written == ()


def test_init_dry_run_writes_nothing(tmp_path: Path) -> None:
    project = Project.new(tmp_path / "p")
    assert len(project.memory().init(dry_run=True).written) == 4
    assert project.status() == ""


def test_init_restores_a_missing_readme(project: Project) -> None:
    (project.root / ".instinct/observations/README.md").unlink()
    assert [one.rule for one in project.memory().check() if one.severity == "error"] == ["readme-missing"]
    assert [path for path, _ in project.memory().init().written] == [".instinct/observations/README.md"]
    assert project.errors() == []


def test_one_author_folds_anywhere_and_several_on_the_default_branch(tmp_path: Path) -> None:
    alone, team = Project.new(tmp_path / "alone"), Project.new(tmp_path / "team")
    team.write("b.txt", "b")
    team.git("add", "b.txt")
    team.git("-c", "user.email=bob@example.org", "commit", "-q", "-m", "b")
    assert alone.memory().init().consolidate == config.ANYWHERE
    done = team.memory().init()
    assert (done.consolidate, "2 people" in done.why) == (config.DEFAULT_BRANCH, True)
    assert team.memory().config()["consolidate"] == config.DEFAULT_BRANCH


def test_the_first_batch_commits_the_scaffolding(project: Project) -> None:
    project.observe()
    project.memory().record()
    assert {".instinct/config.yaml", ".instinct/ledger/README.md"} <= project.changed()
    assert project.status() == ""


def test_init_in_an_ignored_folder_is_refused_with_the_way_out(tmp_path: Path) -> None:
    project = Project.new(tmp_path / "p")
    project.write(".gitignore", ".instinct/\n")
    with pytest.raises(InstinctError) as refused:
        project.memory().init()
    assert "--private" in refused.value.hint


def test_a_private_memory_is_found_by_worktrees_and_nothing_of_it_is_in_the_project(
    tmp_path: Path, sealed: Path
) -> None:
    project = Project.new(tmp_path / "p")
    done = project.memory().init(private=True)
    assert done.scope == "private"
    project.observe(times=5)
    assert project.memory().consolidate().commit
    assert (project.status(), project.commits()) == ("", 1)
    tree = project.worktree("w", "feature")
    assert (tree.memory().scope, [one.pattern for one in tree.memory().suggest()]) == ("private", [KEY])
    assert Path(done.root).is_relative_to(sealed / ".instinct" / "private")


def test_clones_by_different_addresses_of_one_host_share_their_id() -> None:
    ids = {
        files.url_id(url)
        for url in (
            "https://git.example.org/team/shop.git", "git@git.example.org:team/shop", "ssh://git@GIT.example.org:22/team/shop/",
            "https://user:pw@git.example.org/team/shop",
        )
    }  # fmt: skip
    assert len(ids) == 1


def test_a_subfolder_uses_its_repositorys_memory_and_a_submodule_its_own(project: Project, tmp_path: Path) -> None:
    (project.root / "src" / "deep").mkdir(parents=True)
    assert Memory(project.root / "src" / "deep").root == project.root
    inner = Project.new(tmp_path / "inner")
    project.git("submodule", "add", "-q", str(inner.root), "lib")
    assert Memory(project.root / "lib").fell_back


def test_the_default_home_is_never_taken_for_a_memory(
    tmp_path: Path, sealed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Memory(scope="global").observe(KEY)
    assert (sealed / ".instinct" / "global").is_dir()
    folder = sealed / "documents"
    folder.mkdir()
    assert Memory(folder).scope == "global"
    monkeypatch.setenv("INSTINCT_HOME", str(tmp_path / "elsewhere"))
    assert Memory(folder).list() == []


def test_settings_are_checked_with_near_names(project: Project) -> None:
    memory = project.memory()
    for name, value, hint in (
        ("suggest.bugdet", "5", "suggest.budget"), ("consolidate", "sometimes", "anywhere"), ("share_notes", "maybe", "share_notes"),
        ("levels.rule", "2", ""), ("inbox", "tree", "INSTINCT_HOME"), ("actions", "deploy", "just deploy"),
        ("actions.just deploy", "Deploy it!", "lower-case"), ("actions.just deploy", "", "lower-case"),
        ("actions.a b c d", "deploy", "three words"), ("actions.a --b --c", "deploy", "three words"), ("action.x", "test", "actions"),
    ):  # fmt: skip
        with pytest.raises(InstinctError) as refused:
            memory.configure(name, value)
            memory.config()
        assert hint in refused.value.hint
        project.write(".instinct/config.yaml", "version: 1\n")


def test_setting_a_value_keeps_the_comments(project: Project) -> None:
    memory = project.memory()
    before = project.read(".instinct/config.yaml")
    memory.configure("suggest.budget", "300")
    after = project.read(".instinct/config.yaml")
    assert memory.config()["suggest.budget"] == 300
    assert [line for line in before.split("\n") if line.startswith("# ")] == [
        line for line in after.split("\n") if line.startswith("# ")
    ]


def test_inbox_tree_puts_evidence_into_the_working_tree_at_once(project: Project) -> None:
    memory = project.memory()
    memory.configure("inbox", "tree", user=True)
    memory.observe(KEY, note="stays out")
    (file,) = (project.root / ".instinct/observations").glob("*.jsonl")
    assert "stays out" not in file.read_text(encoding="utf-8")
    project.commit("mine")
    assert memory.consolidate().folded == 1


def test_levels_of_the_config_rule_the_next_batch(project: Project) -> None:
    memory = project.memory()
    project.observe(times=3)
    memory.consolidate()
    memory.configure("levels.mature", "3")
    memory.consolidate()
    assert memory.show(KEY).level == "mature"


def test_a_folder_below_the_top_can_hold_the_memory(tmp_path: Path) -> None:
    project = Project.new(tmp_path / "mono")
    part = project.root / "services" / "web"
    (part / ".instinct" / "observations").mkdir(parents=True)
    memory = Memory(part)
    memory.init()
    for _ in range(5):
        memory.observe(KEY)
    memory.consolidate()
    assert memory.suggest()[0].pattern == KEY
    assert all(path.startswith("services/web/.instinct/") for path in project.changed())
    assert git(project.root, "status", "--porcelain") == ""
    assert any(path.endswith("skills/test-fix-test/SKILL.md") for path in memory.propose(KEY).files)


def test_two_memories_of_one_repository_keep_their_evidence_apart(project: Project) -> None:
    part = project.root / "services" / "web"
    (part / ".instinct" / "observations").mkdir(parents=True)
    inner, outer = Memory(part), project.memory()
    inner.init()
    inner.observe("note:inner")
    outer.observe("note:outer")
    assert [one.pattern for one in outer.list()] == ["note:outer"]
    outer.consolidate()
    assert [one.pattern for one in inner.list()] == ["note:inner"]
    assert inner.consolidate().folded == 1
    assert not (part / ".instinct/patterns/note/outer.md").exists()
    tree = project.worktree("w", "side")
    Memory(tree.root / "services" / "web").observe("note:inner")
    assert inner.show("note:inner").live == 2


@pytest.mark.parametrize(
    "text",
    [
        'actions:\n  "just deploy": deploy\n  make e2e: test\n',
        "actions:  # ours\n  'just deploy': deploy  # with care\n\n  make e2e: test\nsuggest:\n  budget: 700\n",
        'actions: {"just deploy": deploy, "make e2e": test}\n',
        'actions:\n  "just\\u0020deploy": deploy\n  ? make e2e\n  : test\n',
    ],
)
def test_the_table_of_actions_is_read_however_yaml_writes_it(project: Project, text: str) -> None:
    project.write(".instinct/config.yaml", "version: 1\n" + text)
    assert project.memory().config()["actions"] == {"just deploy": "deploy", "make e2e": "test"}


def test_a_plain_table_of_actions_needs_no_yaml_reader() -> None:
    flat = config._flat('actions:\n  "just deploy": deploy\n  bin/ship.sh now: ship\n')
    assert flat == {"actions.just deploy": "deploy", "actions.bin/ship.sh now": "ship"}


@pytest.mark.parametrize(
    "line",
    [
        '"a": b": c',
        "'it''s': test",
        "npm run x:y: test",
        "a:b: test",
        '"a" b: test',
        "- a: test",
        "a: b: c",
        "&a b: test",
    ],
)
def test_what_only_yaml_can_read_is_left_to_it(line: str) -> None:
    assert config._flat(f"actions:\n  {line}\n") is None


def test_an_action_is_set_shown_and_kept_beside_the_others(project: Project, instinct: Callable[..., Any]) -> None:
    assert instinct("config", "actions.just deploy", "deploy").code == 0
    assert instinct("config", "actions.npm run e2e:ci", "test").code == 0
    assert instinct("config", "actions", "--json").json == {
        "actions": {"just deploy": "deploy", "npm run e2e:ci": "test"}
    }
    assert '"just deploy": deploy' in instinct("config", "actions").out
    assert '"just deploy": deploy' in instinct("doctor").out


def test_an_empty_table_of_actions_is_one(project: Project) -> None:
    project.write(".instinct/config.yaml", "actions: {}\n")
    assert project.memory().config()["actions"] == {}


def test_a_memory_that_was_opened_as_the_global_one_is_not_set_up_in_the_project_that_one_stands_in(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project.root)
    mine = Memory(scope="global")
    with pytest.raises(InstinctError, match="needs no init"):
        mine.init()
    mine.observe(KEY)
    assert mine.scope == "global" and project.inbox_files() == []

"""`check --history` and `check --base`: what a team's CI can rely on."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from instinct_git.core.confidence import fold_one, group
from instinct_git.core.evidence import EvidenceSet, dump_container, parse_container
from instinct_git.core.lineage import Lineage, Revision
from instinct_git.core.model import Evidence, Policy
from instinct_git.core.pattern import Finding
from instinct_git.errors import InstinctError, NotInGit
from instinct_git.memory import Memory
from tests.builders import KEY, Project, first, git, process
from tests.merges import OTHER, compact, edit, merge, on, pattern_file, record, squash, started

FORGED = "20260401-000000000000.{n}"


def history(project: Project) -> list[Finding]:
    return past(project.memory().check(history=True))


def past(findings: list[Finding]) -> list[Finding]:
    """The findings that name a commit."""
    return [one for one in findings if "commit " in one.message]


def base(project: Project, revision: str = "main", rule: str = "") -> list[Finding]:
    """What `--base` adds to a plain check."""
    plain = project.memory().check()
    found = [one for one in project.memory().check(base=revision) if one not in plain]
    return [one for one in found if rule in ("", one.rule)]


def errors(findings: list[Finding]) -> list[str]:
    return [one.rule for one in findings if one.severity == "error"]


def folded(project: Project, times: int, key: str = KEY) -> Project:
    for _ in range(times):
        project.observe(key)
        project.memory().consolidate()
    return project


def containers(project: Project) -> list[str]:
    return sorted(path for path in project.git("ls-files", ".instinct").split("\n") if path.endswith(".jsonl"))


def forged_line(n: int, key: str = KEY, **more: Any) -> str:
    return json.dumps({"v": 1, "id": FORGED.format(n=n), "p": key, "k": "observed", "by": "forger", **more}) + "\n"


# --- history --------------------------------------------------------------------------------------------------------


def test_a_history_of_batches_is_clean(project: Project) -> None:
    folded(started(project), 3)
    folded(project, 2, OTHER)
    project.memory().decay(0)
    assert history(project) == []


def test_verify_in_depth1_clone(project: Project) -> None:
    folded(started(project), 2)
    target = project.root.parent / "shallow"
    git(project.root.parent, "clone", "-q", "--depth=1", f"file://{project.root}", str(target))
    shallow = Project(target)
    assert shallow.errors() == []
    with pytest.raises(InstinctError, match="shallow") as refused:
        shallow.memory().check(history=True)
    assert "fetch-depth: 0" in refused.value.hint
    assert "git fetch --unshallow" in refused.value.hint
    assert refused.value.exit_code == 2
    assert errors(shallow.memory().check(base="origin/main")) == []
    with pytest.raises(InstinctError) as refused:
        shallow.memory().check(base="HEAD~1")
    assert "fetch-depth: 0" in refused.value.hint


def test_verify_history_flags_lost_container(project: Project) -> None:
    folded(started(project), 2)
    [path, *_] = containers(project)
    ids = [one.id for one in parse_container(project.read(path).encode())[0]]
    project.git("rm", "-q", path)
    sha = project.commit("tidy up")
    folded(project, 1, OTHER)
    [lost] = [one for one in history(project) if one.severity == "error"]
    assert (lost.rule, lost.path) == ("evidence-lost", path)
    assert sha[:12] in lost.message
    assert "Ada Example" in lost.message
    assert f"1 evidence id: {ids[0]}" in lost.message


def test_a_lost_container_that_is_brought_back_is_a_warning(project: Project) -> None:
    folded(started(project), 2)
    [path, *_] = containers(project)
    project.git("rm", "-q", path)
    sha = project.commit("tidy up")
    project.git("checkout", f"{sha}~1", "--", path)
    project.commit("mended")
    [found] = history(project)
    assert (found.rule, found.severity) == ("evidence-lost", "warning")
    assert sha[:12] in found.message


def test_only_the_first_lost_ids_are_listed(project: Project) -> None:
    started(project)
    project.observe(OTHER, 20)
    project.memory().consolidate()
    path = max(containers(project), key=lambda one: len(project.read(one)))
    project.git("rm", "-q", path)
    project.commit("gone")
    [lost] = [one for one in history(project) if one.rule == "evidence-lost"]
    ids = [one.id for one in parse_container(project.git("show", f"HEAD~1:{path}").encode())[0]]
    assert "20 evidence ids: " in lost.message
    assert [one in lost.message for one in sorted(ids)] == [True] * 3 + [False] * 17


def test_verify_history_after_squash_only_repo(project: Project) -> None:
    started(project)
    for n in range(3):
        with on(project, f"b{n}"):
            folded(project, 2, f"note:{n}")
            project.observe(KEY)
            project.memory().record()
        squash(project, f"b{n}")
    assert "Instinct-Batch" not in project.git("log", "-3", "--format=%B")
    assert history(project) == []
    project.memory().consolidate()
    assert history(project) == []


def test_a_merge_of_two_branches_is_clean(project: Project) -> None:
    started(project)
    for name in ("left", "right"):
        with on(project, name):
            folded(project, 2, f"note:{name}")
            folded(project, 1)
    merge(project, "left")
    merge(project, "right", side="ours")
    assert errors(history(project)) == []
    project.memory().consolidate()
    assert history(project) == []
    assert errors(project.memory().check(history=True, base="left")) == []


def test_a_rebased_and_a_cherry_picked_batch_are_no_errors(project: Project) -> None:
    started(project)
    with on(project, "b"):
        folded(project, 2, OTHER)
    folded(project, 2)
    project.git("cherry-pick", "b~1")
    project.git("switch", "-q", "b")
    project.git("rebase", "-q", "main")
    assert errors(history(project)) == []


def test_a_compaction_is_clean(project: Project) -> None:
    folded(started(project), 3)
    compact(project, "20260501-cccccccccccc")
    assert history(project) == []


def test_a_hand_adjustment_is_named_with_author_commit_and_amount(project: Project) -> None:
    folded(started(project), 2)
    project.git("config", "user.name", "Bob Builder")
    edit(project, "confidence: 3", "confidence: 8")
    sha = project.head()
    project.git("config", "user.name", "Ada Example")
    folded(project, 2)
    [found] = history(project)
    assert (found.rule, found.severity, found.path) == ("hand-adjusted", "notice", pattern_file(project))
    for word in (KEY, sha[:12], "Bob Builder", "+5", "3 -> 8"):
        assert word in found.message
    edit(project, "confidence: 10", "confidence: 9")
    assert ["by hand by +5" in history(project)[0].message, "by hand by -1" in history(project)[1].message] == [
        True,
        True,
    ]


def test_a_renamed_pattern_file_and_an_edited_title_are_no_adjustment(project: Project) -> None:
    path = pattern_file(folded(started(project), 1))
    project.git("mv", path, ".instinct/patterns/seq/renamed.md")
    project.commit("a better name")
    edit(project, 'title: ""', "title: Mine")
    assert history(project) == []


def test_forged_counted_is_found_in_the_commit_that_forged_it(project: Project) -> None:
    path = pattern_file(folded(started(project), 2))
    text = project.read(path).replace("confidence: 3", "confidence: 9").replace("counted: 3", "counted: 9")
    project.write(path, text)
    sha = project.commit("looks good")
    folded(project, 1)  # the next batch heals it; the history remembers
    assert project.confidence() == 4
    [found] = history(project)
    assert (found.rule, found.severity, found.path) == ("counted", "notice", path)
    assert sha[:12] in found.message
    assert "counted at 9, the evidence in its tree gives 3" in found.message


def test_a_batch_whose_counted_does_not_follow_is_an_error(project: Project) -> None:
    path = pattern_file(folded(started(project), 2))
    project.observe()
    project.memory().consolidate()
    project.write(
        path, project.read(path).replace("confidence: 4", "confidence: 9").replace("counted: 4", "counted: 9")
    )
    project.git("add", path)
    project.git("commit", "-q", "--amend", "--no-edit")
    assert "Instinct-Batch: consolidate" in project.git("log", "-1", "--format=%B")
    [found] = history(project)
    assert (found.rule, found.severity) == ("counted", "error")
    assert project.head()[:12] in found.message


def test_a_batch_that_is_behind_its_evidence_is_a_warning(project: Project) -> None:
    path = pattern_file(folded(started(project), 2))
    project.observe()
    project.memory().consolidate()
    project.write(
        path, project.read(path).replace("confidence: 4", "confidence: 3").replace("counted: 4", "counted: 3")
    )
    project.git("add", path)
    project.git("commit", "-q", "--amend", "--no-edit")
    [found] = history(project)
    assert (found.rule, found.severity) == ("counted", "warning")


def test_rewritten_evidence_is_an_error(project: Project) -> None:
    folded(started(project), 1)
    [path, *_] = containers(project)
    project.write(path, project.read(path).replace(KEY, OTHER))
    sha = project.commit("sed")
    [found] = [one for one in history(project) if one.severity == "error"]
    assert (found.rule, found.path) == ("evidence-rewritten", path)
    assert sha[:12] in found.message


def test_a_policy_change_is_followed_by_the_walk(project: Project) -> None:
    folded(started(project), 2)
    project.memory().configure("confidence.observed", "2")
    project.commit("observations count twice")
    folded(project, 1)
    assert project.confidence() == 8
    assert history(project) == []


def test_a_users_own_settings_change_no_answer(project: Project, sealed: Path) -> None:
    folded(started(project), 2)
    (sealed / ".instinct").mkdir(exist_ok=True)
    (sealed / ".instinct" / "config.yaml").write_text("confidence:\n  observed: 7\n", encoding="utf-8")
    assert history(project) == []
    assert base(project, "HEAD") == []


def test_conflict_markers_in_the_past_do_not_count_as_an_adjustment(project: Project) -> None:
    path = pattern_file(folded(started(project), 2))
    edit(project, "confidence: 3", "confidence: 5")
    whole = project.read(path)
    edit(project, "confidence: 5", "<<<<<<< ours\nconfidence: 5\n=======\nconfidence: 3\n>>>>>>> theirs")
    project.write(path, whole)
    project.commit("mended")
    assert [one.rule for one in history(project)] == ["hand-adjusted", "pattern-unreadable"]


def test_aliases_and_retractions_are_followed(project: Project) -> None:
    folded(started(project), 2)
    first = sorted(project.tree_ids())[0]
    steering = [
        {
            "v": 1,
            "id": "20260501-aaaaaaaaaaaa.1",
            "p": KEY,
            "k": "retract",
            "at": "2026-05-01",
            "by": "ada",
            "to": first,
        },
        {
            "v": 1,
            "id": "20260501-aaaaaaaaaaaa.2",
            "p": "note:old",
            "k": "alias",
            "at": "2026-05-01",
            "by": "ada",
            "to": KEY,
        },
        {"v": 1, "id": "20260501-aaaaaaaaaaaa.3", "p": "note:old", "k": "observed", "at": "2026-05-01", "by": "ada"},
    ]
    folded(project, 1, "note:old")
    project.write(
        ".instinct/observations/20260501-aaaaaaaaaaaa.jsonl", "".join(json.dumps(one) + "\n" for one in steering)
    )
    project.commit("steered")
    project.memory().consolidate()
    assert project.errors() == []
    assert history(project) == []


def test_unborn_detached_and_ungitted_repositories(project: Project, tmp_path: Path) -> None:
    folded(started(project), 1)
    project.git("switch", "-q", "--detach")
    assert history(project) == []
    assert base(project, "main") == []
    unborn = Project(tmp_path / "unborn")
    unborn.root.mkdir()
    unborn.git("init", "-q")
    unborn.memory().init()
    assert errors(unborn.memory().check(history=True)) == []
    with pytest.raises(InstinctError, match="no revision 'main'"):
        unborn.memory().check(base="main")
    (tmp_path / "plain").mkdir()
    plain = Memory(tmp_path / "plain")
    plain.init()
    with pytest.raises(NotInGit):
        plain.check(history=True)


def test_a_memory_in_a_folder_of_a_larger_repository(project: Project) -> None:
    deep = project.root / "parts" / "one [a]"
    deep.mkdir(parents=True)
    (deep / ".instinct" / "observations").mkdir(parents=True)
    memory = Memory(deep)
    assert memory.root == deep
    memory.observe(KEY)
    memory.consolidate()
    inner = Project(deep)
    edit(inner, "confidence: 1", "confidence: 4")
    [found] = past(Memory(deep).check(history=True))
    assert "+3" in found.message
    assert [one.rule for one in Memory(deep).check(base="HEAD~1") if one.severity == "error"].count(
        "confidence-without-evidence"
    ) == 1


def test_a_users_log_settings_change_no_answer(project: Project) -> None:
    folded(started(project), 2)
    edit(project, "confidence: 3", "confidence: 5")
    expected = history(project)
    assert len(expected) == 1
    for name, value in (
        ("log.follow", "true"), ("log.showSignature", "true"), ("log.showRoot", "false"), ("diff.renames", "copies"),
        ("log.diffMerges", "combined"), ("color.ui", "always"), ("core.quotePath", "true"), ("log.decorate", "full"),
    ):  # fmt: skip
        project.git("config", name, value)
    assert history(project) == expected


def test_progress_counts_the_commits(project: Project) -> None:
    folded(started(project), 3)
    told: list[tuple[int, int]] = []
    project.memory().check(history=True, progress=lambda done, total: told.append((done, total)))
    assert told == [(n, 4) for n in range(1, 5)]


def drawn(dice: random.Random, n: int, gentle: bool) -> Evidence:
    kind = dice.choice(
        ["observed"] * 5 + ["confirmed"] + ([] if gentle else ["denied", "adjusted", "alias", "retract"])
    )
    key = dice.choice(["note:a", "note:b", "note:c", "seq:d"])
    to = {"alias": dice.choice(["note:a", "note:b", "note:c"]), "retract": f"20260301-{dice.randrange(30):012d}.1"}
    extra = {"to": to[kind]} if kind in to else {"n": dice.randrange(-4, 5)} if kind == "adjusted" else {}
    return Evidence(f"20260301-{n:012d}.1", key, kind, "", "x", dice.choice(["", "aaaaaaaaaaaa"]), extra=extra)


@pytest.mark.parametrize("seed", first(8, range(20)))
def test_the_walk_sums_as_the_fold_does(seed: int) -> None:
    dice, walked, files = random.Random(seed), Lineage(), {}
    for n in range(60):
        policy = Policy(observed=1 + n // 20)
        path = f".instinct/{dice.choice(['ledger', 'observations'])}/{dice.randrange(6)}.jsonl"
        data = None
        if dice.random() < 0.8:
            data = dump_container(
                drawn(dice, dice.randrange(30), seed % 2 == 0 and n % 20 < 15) for _ in range(dice.randrange(1, 5))
            )
        changed = {path: data} if data is not None or path in files else {}
        files = {name: held for name, held in {**files, **changed}.items() if held is not None}
        walked.step(Revision(str(n), "", ""), {name: name if held else "" for name, held in changed.items()},
                    {name: held for name, held in changed.items() if held}, policy)  # fmt: skip
        everything = EvidenceSet()
        for held in files.values():
            everything.update(parse_container(held)[0])
        groups = group(everything)
        for key in ("note:a", "note:b", "note:c", "seq:d"):
            assert walked.evidence.total(key) == fold_one(groups.get(key, []), policy).total, (n, key)


# --- base -----------------------------------------------------------------------------------------------------------


def pull_request(project: Project) -> Project:
    folded(started(project), 2)
    project.git("switch", "-q", "-c", "pr")
    return project


def test_a_pull_request_with_evidence_alone_is_clean(project: Project) -> None:
    pull_request(project)
    folded(project, 2)
    project.observe(OTHER, 2)
    project.memory().record()
    assert errors(base(project)) == []
    assert [one.rule for one in base(project)] == ["new-evidence"]


def test_confidence_forged_in_a_pull_request_is_found_with_the_amount(project: Project) -> None:
    pull_request(project)
    path = pattern_file(project)
    folded(project, 1)
    edit(project, "confidence: 4", "confidence: 10")
    [found] = base(project, rule="confidence-without-evidence")
    assert (found.severity, found.path, found.line) == ("error", path, 5)
    assert "rose by 6 without evidence (3 -> 10, the evidence counted moves it by +1)" in found.message
    folded(project, 1)  # a batch on top hides nothing
    assert "rose by 6" in base(project, rule="confidence-without-evidence")[0].message


def test_a_confidence_lowered_by_hand_is_found_too(project: Project) -> None:
    edit(pull_request(project), "confidence: 3", "confidence: 1")
    [found] = base(project, rule="confidence-without-evidence")
    assert "fell by 2 without evidence" in found.message


def test_a_forgery_that_is_not_committed_yet_is_found(project: Project) -> None:
    path = pattern_file(pull_request(project))
    project.write(path, project.read(path).replace("confidence: 3", "confidence: 7"))
    assert errors(base(project)) == ["confidence-without-evidence"]


def test_a_pattern_written_by_hand_needs_evidence(project: Project) -> None:
    pull_request(project)
    project.write(".instinct/patterns/note/mine.md", "---\npattern: note:mine\nconfidence: 12\nlevel: rule\n---\n")
    project.commit("a rule, trust me")
    [found] = base(project)
    assert found.rule == "confidence-without-evidence"
    assert "rose by 12" in found.message


def test_an_adjustment_by_hand_on_main_is_not_the_pull_requests(project: Project) -> None:
    folded(started(project), 2)
    edit(project, "confidence: 3", "confidence: 6")
    project.git("switch", "-q", "-c", "pr")
    folded(project, 1)
    assert errors(base(project)) == []


def test_an_adjustment_as_evidence_is_no_error_but_is_named(project: Project) -> None:
    pull_request(project)
    project.memory().adjust(KEY, 5, source="ada")
    project.memory().consolidate()
    assert errors(base(project)) == []
    [found] = base(project, rule="new-evidence")
    assert "by ada" in found.message
    assert "adjusted 1 (together +5)" in found.message


def test_counted_forged_behind_unfolded_evidence_is_found(project: Project) -> None:
    path = pattern_file(pull_request(project))
    project.observe()
    project.memory().record()
    project.write(
        path, project.read(path).replace("confidence: 3", "confidence: 9").replace("counted: 3", "counted: 9")
    )
    project.commit("numbers")
    [found] = [one for one in base(project) if one.severity == "error"]
    assert (found.rule, found.path, found.line) == ("counted-without-evidence", path, 6)
    assert "from 3 to 9, the evidence gives 4: 5 without evidence" in found.message


def test_a_container_removed_in_a_pull_request_is_an_error(project: Project) -> None:
    [path, *_] = containers(pull_request(project))
    project.git("rm", "-q", path)
    project.commit("tidy up")
    [found] = base(project, rule="evidence-lost")
    assert (found.severity, found.path) == ("error", path)
    assert "1 evidence id: " in found.message


def test_evidence_rewritten_in_a_pull_request_is_an_error(project: Project) -> None:
    [path, *_] = containers(pull_request(project))
    project.write(path, project.read(path).replace('"observed"', '"confirmed"'))
    [found] = base(project, rule="evidence-rewritten")
    assert (found.severity, found.path) == ("error", path)


def test_every_policy_change_is_a_warning_that_names_both_values(project: Project) -> None:
    pull_request(project)
    project.memory().configure("confidence.observed", "3")
    project.memory().configure("share_notes", "true")
    found = base(project, rule="policy-changed")
    assert {one.severity for one in found} == {"warning"}
    assert [one.message for one in found] == ["confidence.observed: 1 -> 3", "share_notes: false -> true"]
    assert {one.path for one in found} == {".instinct/config.yaml"}


def test_a_level_set_by_hand_is_an_error(project: Project) -> None:
    edit(pull_request(project), "level: raw", "level: rule")
    [found] = base(project, rule="level-without-evidence")
    assert "level is set to rule, confidence 3 is raw" in found.message


def test_a_deleted_pattern_file_is_a_warning(project: Project) -> None:
    path = pattern_file(pull_request(project))
    project.git("rm", "-q", path)
    project.commit("no")
    [found] = base(project, rule="pattern-removed")
    assert (found.severity, found.path) == ("warning", path)


def test_new_evidence_is_summed_by_source_and_session(project: Project) -> None:
    pull_request(project)
    lines = [forged_line(n) for n in range(1, 31)]
    lines += [forged_line(n, s=f"{n % 7:012x}", by="codex") for n in range(31, 51)]
    project.write(".instinct/observations/20260401-000000000000.jsonl", "".join(lines))
    project.commit("evidence, line by line")
    codex, forger = base(project, rule="new-evidence")
    assert {codex.severity, forger.severity} == {"notice"}
    assert forger.message == "30 new evidence ids by forger about 1 pattern: observed 30; 30 without a session"
    assert "20 new evidence ids by codex" in codex.message
    assert "7 sessions (000000000000 3, " in codex.message
    assert "2 more)" in codex.message


def test_the_inbox_of_the_machine_is_no_evidence(project: Project) -> None:
    path = pattern_file(pull_request(project))
    project.write(
        path, project.read(path).replace("confidence: 3", "confidence: 4").replace("counted: 3", "counted: 4")
    )
    project.observe()
    assert errors(base(project)) == ["counted-without-evidence"]


def test_what_came_to_main_meanwhile_is_not_the_pull_requests(project: Project) -> None:
    pull_request(project)
    record(project, "other", 2)
    with on(project, "main"):
        edit(project, "confidence: 3", "confidence: 9")
    project.git("switch", "-q", "pr")
    folded(project, 1, OTHER)
    assert errors(base(project)) == []
    project.git("merge", "-q", "--no-edit", "main")
    assert errors(base(project)) == []


def test_unknown_revision_and_unrelated_history_are_wrong_use(project: Project) -> None:
    pull_request(project)
    for name in ("nowhere", "", "--help"):
        with pytest.raises(InstinctError, match="no revision") as refused:
            project.memory().check(base=name)
        assert refused.value.exit_code == 2
        assert "origin/main" in refused.value.hint
    project.git("switch", "-q", "--orphan", "alone")
    project.memory().init()
    project.commit("alone")
    with pytest.raises(InstinctError, match="no common commit"):
        project.memory().check(base="main")


# --- the command ----------------------------------------------------------------------------------------------------


def test_the_command_takes_both_flags_and_json(project: Project, instinct: Callable[..., Any]) -> None:
    edit(pull_request(project), "confidence: 3", "confidence: 8")
    assert instinct("check").code == 0
    assert instinct("check", "--history").code == 0
    ran = instinct("check", "--base", "main")
    assert ran.code == 1
    assert "rose by 5 without evidence" in ran.out
    ran = instinct("check", "--history", "--base", "main", "--json")
    assert ran.code == 1
    assert ran.json["errors"] == 1
    assert ran.err == ""
    rules = [one["rule"] for one in ran.json["findings"]]
    assert rules.count("hand-adjusted") == 2  # at the tip, and in the commit that did it
    assert "confidence-without-evidence" in rules


def test_the_command_exits_with_2_and_a_hint(project: Project, instinct: Callable[..., Any]) -> None:
    pull_request(project)
    ran = instinct("check", "--base", "nowhere")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: git knows no revision 'nowhere'\nhint: ")


def test_progress_is_kept_from_a_pipe(project: Project) -> None:
    started(project)
    assert process(project.root, "check", "--history").err == ""

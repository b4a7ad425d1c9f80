"""A world of branches, worktrees and clones in which histories happen, checked against a second reading of the laws."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from instinct_git.core.keys import pattern_path
from instinct_git.core.model import Evidence
from instinct_git.errors import InstinctError
from instinct_git.storage import files, inbox
from tests import reference, settling
from tests.builders import Project
from tests.offsets import ids_at, offsets_at, offsets_here, renamed

KEYS = ("seq:test->fix->test", "fix:import", "note:记住", "plain")
BRANCHES, TREES, CLONES = ("b1", "b2", "b3"), ("tree1", "tree2"), ("clone1", "clone2")
PLACES = ("main", *BRANCHES, *TREES, *CLONES)
FOLDING = ("main", *CLONES)
"""Where the default branch is checked out."""
SENDING = ("observe", "adjust", "feedback", "alias", "retract", "wait")
PARTIAL = ("compact", "pick", "rebase", "revert")


class World:
    """The repositories, the clock, and what must be true of every place."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.moment = datetime(2026, 3, 2, 12, tzinfo=UTC)
        self.policy = "anywhere" if seed % 2 else "default-branch"
        self.home = Project.new(folder / "project")
        self.home.memory().init()
        self.home.memory().configure("consolidate", self.policy)
        self.home.observe(KEYS[0], now=self.now)
        self.home.memory(self.now).consolidate()
        for name in BRANCHES:
            self.home.git("branch", name)
        self.apart = {name: self.home.worktree(name, name) for name in TREES}
        self.apart |= {name: self.home.clone(name) for name in CLONES}
        self.held = {place: self.home.tree_ids() for place in PLACES}
        self.known = self.home.tree_ids()
        """Every id that somebody ever sent."""
        self.offsets: dict[str, set[int]] = {}
        """{key: what its offset may be after the step}; a key that is not here had no file and starts at 0."""
        self.handed = 0
        """Conflicts that only a person could decide."""
        self.limits: set[str] = set()
        """Which of the limits in docs/merging.md this history has met: pick (8), rename (9), alias (10)."""
        self.whole = True
        """False once a part of a branch was taken, or containers were joined: then a merge can leave a `counted` that no
        containers of the tree give, and `check` cannot tell it from a wrong one before the next folding batch."""
        self.dropped: dict[str, set[str]] = {place: set() for place in PLACES}
        """Pattern files that a settled conflict or a revert deleted: a person's deletion may be reported for them."""

    def now(self) -> datetime:
        return self.moment

    def at(self, place: str) -> Project:
        if place in self.apart:
            return self.apart[place]
        if self.home.read(".git/HEAD") != f"ref: refs/heads/{place}\n":
            self.home.git("switch", "-q", place)
        return self.home

    def step(self, verb: str, place: str, number: int) -> None:
        """Do one operation, its choices made by a number, then check what must be true after every one."""
        project = self.at(place)
        self.offsets = offsets_here(project)
        getattr(self, f"do_{verb}")(project, place, random.Random(number))
        self.whole &= verb not in PARTIAL
        if verb not in SENDING:
            self.sound(self.at(place), place)

    # -- evidence -----------------------------------------------------------------------------------------------------

    def do_wait(self, project: Project, place: str, dice: random.Random) -> None:
        self.moment += timedelta(days=dice.choice((1, 3, 8, 40)))

    def do_observe(self, project: Project, place: str, dice: random.Random) -> None:
        memory = project.memory(self.now)
        for _ in range(dice.randint(1, 4)):
            session = dice.choice((None, "one", "two"))
            self.known.add(memory.observe(dice.choice(KEYS), source=dice.choice("xy"), session=session).id)

    def do_adjust(self, project: Project, place: str, dice: random.Random) -> None:
        memory = project.memory(self.now)
        known = [one.pattern for one in memory.list(scope="project")]
        if known:
            self.known.add(memory.adjust(dice.choice(known), dice.choice((-3, -1, 1, 2, 5))).id)

    def do_feedback(self, project: Project, place: str, dice: random.Random) -> None:
        kind = dice.choice(("succeeded", "failed", "confirmed", "denied"))
        self.send(project, dice.choice(KEYS), kind, {})

    def do_alias(self, project: Project, place: str, dice: random.Random) -> None:
        key, to = dice.sample(KEYS, 2)
        self.send(project, key, "alias", {"to": to})

    def do_retract(self, project: Project, place: str, dice: random.Random) -> None:
        found = sorted(project.tree_evidence(), key=lambda one: one.id)
        found = [one for one in found if one.k != "faded"]  # it books what was done; nobody sends it
        if found:
            one = dice.choice(found)
            self.send(project, one.p, "retract", {"to": one.id})

    def send(self, project: Project, key: str, kind: str, extra: dict[str, str]) -> None:
        """Put evidence into the inbox as a tool does."""
        place = files.locate(project.root, files.instinct_home())
        evidence = Evidence("", key, kind, self.moment.strftime("%Y-%m-%dT%H:%M:%SZ"), extra=extra)
        sent, _ = inbox.put(place, [evidence], f"{self.moment:%Y%m%d}")
        self.known.add(sent[0].id)

    # -- batches, beside a user's half-done work ----------------------------------------------------------------------

    def do_record(self, project: Project, place: str, dice: random.Random) -> None:
        self.batch(project, place, "record", dice)

    def do_consolidate(self, project: Project, place: str, dice: random.Random) -> None:
        if dice.random() < 0.5:
            self.batch(project, place, "record", dice)
        self.batch(project, place, "consolidate", dice)
        self.exact(project, place)

    def do_decay(self, project: Project, place: str, dice: random.Random) -> None:
        self.batch(project, place, "decay", dice)
        self.exact(project, place)

    def do_compact(self, project: Project, place: str, dice: random.Random) -> None:
        if dice.random() < 0.5:
            self.moment += timedelta(days=31)  # the ledger of the current month stays
        if place in FOLDING:
            before = project.tree_ids()
            self.batch(project, place, "compact", dice)
            assert project.tree_ids() == before
            return
        try:
            self.batch(project, place, "compact", dice)
        except InstinctError as problem:
            assert "default branch" in problem.message
            self.tidy(project)
        else:
            raise AssertionError(f"compact on {place}")

    def batch(self, project: Project, place: str, verb: str, dice: random.Random, *keys: str) -> None:
        """Run a batch, or a person's verb on a key, beside a user's half-done work, which must stay as it is."""
        project.write("staged.txt", str(dice.random()))
        project.git("add", "staged.txt")
        project.write("README.md", f"draft {dice.random()}\n")
        project.write("untracked.txt", "mine")
        before, head = self.theirs(project), project.head()
        memory = project.memory(self.now)
        done = memory.decay(30) if verb == "decay" else getattr(memory, verb)(*keys)
        assert self.theirs(project) == before
        if project.head() != head:
            assert project.git("rev-parse", "HEAD~1") == head, "one batch is one commit"
            assert all(path.startswith(".instinct/") for path in project.changed())
        deleted = {key for key in getattr(done, "removed_by_person", ()) if not self.excused(project, place, key)}
        assert not deleted, f"{deleted} were deleted by nobody"
        self.tidy(project)

    @staticmethod
    def tidy(project: Project) -> None:
        project.git("reset", "-q", "--hard")
        (project.root / "untracked.txt").unlink()

    @staticmethod
    def theirs(project: Project) -> tuple[str, str, str]:
        """The user's own: what is staged (by blob id), changed and untracked."""
        return project.git("status", "--porcelain=v2"), project.read("README.md"), project.read("untracked.txt")

    # -- a person's hand ----------------------------------------------------------------------------------------------

    def do_retire(self, project: Project, place: str, dice: random.Random) -> None:
        numbers = reference.numbers(project.root)
        if numbers:
            key = dice.choice(sorted(numbers))
            self.batch(project, place, "restore" if numbers[key].retired else "retire", dice, key)

    def do_restore(self, project: Project, place: str, dice: random.Random) -> None:
        """Bring back a file that is gone although its evidence counts."""
        there = reference.numbers(project.root)
        sums = reference.sums(reference.everything(project.root))
        gone = [key for key, one in sums.items() if one.total and key not in there]
        if not gone:
            return
        key = dice.choice(sorted(gone))
        try:
            self.batch(project, place, "restore", dice, key)
        except InstinctError as problem:
            # Evidence or an alias waits: it is to be folded first, or it takes the key away.
            assert "was not deleted by a person" in problem.message or "there is no pattern" in problem.message
            self.tidy(project)

    def do_title(self, project: Project, place: str, dice: random.Random) -> None:
        number = dice.randrange(10**9)  # a title that no file had before: a commit needs a change
        self.edit(project, "title", lambda _: f"By hand {number}", dice)

    def do_confidence(self, project: Project, place: str, dice: random.Random) -> None:
        step = dice.choice((-2, -1, 1, 2, 4))
        key = self.edit(project, "confidence", lambda old: str(int(old) + step), dice)
        if key:
            self.offsets[key] = {one + step for one in self.offsets[key]}

    def edit(self, project: Project, name: str, change: Callable[[str], str], dice: random.Random) -> str:
        """Edit a field of a pattern file as a person would and return the pattern's key; empty without a file."""
        numbers = reference.numbers(project.root)
        if not numbers:
            return ""
        key = dice.choice(sorted(numbers))
        path = numbers[key].path
        lines = path.read_bytes().decode("utf-8").split("\n")
        at = next(i for i, line in enumerate(lines) if line.startswith(f"{name}: "))
        lines[at] = f"{name}: " + change(lines[at].removeprefix(f"{name}: "))
        path.write_bytes("\n".join(lines).encode("utf-8"))
        project.commit(f"a {name} by hand", ".instinct")
        return key

    # -- git ----------------------------------------------------------------------------------------------------------

    def do_merge(self, project: Project, place: str, dice: random.Random) -> None:
        self.bring(project, place, dice.choice([one for one in PLACES if one != place]), dice)

    def do_back(self, project: Project, place: str, dice: random.Random) -> None:
        self.bring(project, place, "main" if place != "main" else dice.choice(PLACES[1:]), dice)

    def do_squash(self, project: Project, place: str, dice: random.Random) -> None:
        self.bring(project, place, dice.choice([one for one in PLACES if one != place]), dice, "--squash")

    def bring(self, project: Project, place: str, other: str, dice: random.Random, *options: str) -> None:
        revision = self.revision(project, place, other)
        self.may_be(project, place, project.git("merge-base", "HEAD", revision), revision)
        project.git("merge", "-q", "--no-edit", *options, revision, check=False)
        self.settle(project, place, revision, dice)
        if "--squash" in options or (Path(project.git("rev-parse", "--absolute-git-dir")) / "MERGE_HEAD").exists():
            project.git("commit", "-q", "--allow-empty", "--no-edit", "-m", f"{other} into {place}")
        self.held[place] |= self.held[other]
        self.dropped[place] |= self.dropped[other]

    def revision(self, project: Project, place: str, other: str) -> str:
        """Return a name for another place's tip, fetched where that is in another repository."""
        here, there = (one if one in CLONES else "main" for one in (place, other))
        if here == there:
            return other
        source, branch = (self.apart[other], "main") if other in CLONES else (self.home, other)
        project.git("fetch", "-q", str(source.root), branch)
        return project.git("rev-parse", "FETCH_HEAD")

    def do_rebase(self, project: Project, place: str, dice: random.Random) -> None:
        if place == "main":
            return
        onto = self.revision(project, place, "main")
        base, replayed = project.git("merge-base", "HEAD", onto), project.git("rev-list", f"{onto}..HEAD").split()
        self.may_be(project, place, base, onto, *replayed)
        project.git("rebase", "-q", onto, check=False)
        self.finish(project, place, "rebase", dice)
        self.held[place] |= self.held["main"]
        self.dropped[place] |= self.dropped["main"]

    def do_pick(self, project: Project, place: str, dice: random.Random) -> None:
        other = dice.choice([one for one in PLACES if one != place])
        commits = project.git("rev-list", "--no-merges", f"HEAD..{self.revision(project, place, other)}").split()
        if commits:
            commit = dice.choice(commits)
            self.dropped[place] |= self.dropped[other]
            self.may_be(project, place, f"{commit}~1", commit)
            project.git("cherry-pick", commit, check=False)
            self.finish(project, place, "cherry-pick", dice)
            # What it brings of folded evidence without the pattern's file counts as deleted by a person here.
            ledger = [project.root / one for one in project.changed(commit) if one.startswith(".instinct/ledger/")]
            texts = [file.read_text("utf-8") for file in ledger if file.exists()]
            brought = {one["p"] for text in texts for one in reference.records(text)}
            unfiled = brought - reference.numbers(project.root).keys()
            self.limits |= {"pick"} if unfiled else set()
            self.drop(place, map(pattern_path, unfiled))

    def do_revert(self, project: Project, place: str, dice: random.Random) -> None:
        """Revert what brought no new evidence (taking fresh evidence back is what `retract` is for)."""
        found = project.git("log", "--no-merges", "--format=%H", "-12", "--", ".instinct").split()[:-1]
        found = [one for one in found if ids_at(project, one) == ids_at(project, f"{one}~1")]
        if found:
            before, commit = project.head(), dice.choice(found)
            self.may_be(project, place, commit, f"{commit}~1")
            project.git("revert", "--no-edit", commit, check=False)
            self.finish(project, place, "revert", dice)
            # To the design the revert of the batch that made a file is a person's deletion of that file.
            self.drop(
                place, project.git("diff", "--name-only", "--no-renames", "--diff-filter=D", before, "HEAD").split()
            )

    def do_delete(self, project: Project, place: str, dice: random.Random) -> None:
        """Delete a branch with all that it alone holds, and start it again from main."""
        name = dice.choice(BRANCHES)
        self.at("main").git("branch", "-q", "-D", name)
        self.home.git("branch", name)
        self.held[name], self.dropped[name] = set(self.held["main"]), set(self.dropped["main"])
        if place == name:
            self.offsets = offsets_here(self.at(place))

    # -- conflicts ----------------------------------------------------------------------------------------------------

    def settle(self, project: Project, place: str, other: str, dice: random.Random) -> None:
        """Settle what git left open: by whole files of one side, or as a person with `resolve`."""
        before = settling.unmerged(project)
        if not before:
            return
        if dice.random() < 0.5:
            settling.by_sides(project, other, dice)
        else:
            project.write("untracked.txt", "mine")
            rest = project.git("status", "--porcelain=v2", "--", ":!.instinct")
            self.handed += settling.by_a_person(project, dice)
            assert project.git("status", "--porcelain=v2", "--", ":!.instinct") == rest
            (project.root / "untracked.txt").unlink()
        there = set(map(pattern_path, reference.numbers(project.root)))
        self.drop(place, before.keys() - there)

    def drop(self, place: str, paths: Iterable[str]) -> None:
        self.dropped[place] |= {path for path in paths if path.endswith(".md")}

    def finish(self, project: Project, place: str, verb: str, dice: random.Random) -> None:
        """Settle conflict after conflict until git has ended what it began."""
        folder = Path(project.git("rev-parse", "--absolute-git-dir"))
        marks = ("rebase-merge", "CHERRY_PICK_HEAD", "REVERT_HEAD")
        for _ in range(200):
            if not any((folder / mark).exists() for mark in marks):
                return
            self.settle(project, place, "", dice)
            empty = not project.git("diff", "--cached", "--name-only")
            project.git("-c", "core.editor=true", verb, "--skip" if empty else "--continue", check=False)
        raise AssertionError(f"{verb} does not end")

    # -- the second reading -------------------------------------------------------------------------------------------

    def may_be(self, project: Project, place: str, base: str, *tips: str) -> None:
        """Allow the offsets that the files have at these commits: no operation of git makes a new one.

        Where git takes one pattern's file for another's new name, a change of the one lands in the other.
        """
        for key, found in offsets_at(project, base, *tips).items():
            self.offsets[key] = self.offsets.get(key, set()) | found
        for old, new in renamed(project, base, "HEAD", *tips):
            self.limits.add("rename")
            self.drop(place, [old])
            known = {pattern_path(key): key for key in KEYS}
            self.offsets[known[new]] = self.offsets.get(known[new], {0}) | self.offsets.get(known[old], {0})

    def sound(self, project: Project, place: str) -> None:
        """After every step: nothing is lost or invented, no offset is new, `check` is clean, nothing lies about."""
        now = project.tree_ids()
        assert self.held[place] <= now, f"lost: {sorted(self.held[place] - now)}"
        sent = {one for one in now if one[:8].isdigit()}
        assert sent <= self.known, f"sent by nobody: {sorted(sent - self.known)}"
        self.held[place] = now
        for key, (offset,) in offsets_here(project).items():
            assert offset in self.offsets.get(key, {0}), f"{key} at {place}: {offset}, not {self.offsets.get(key, 0)}"
        errors = [one for one in project.memory().check() if one.severity == "error"]
        assert not [one for one in errors if self.whole or one.rule != "counted"], errors
        assert project.status() == ""

    def exact(self, project: Project, place: str) -> None:
        """After a folding batch: every file says what the evidence in the tree gives."""
        if self.policy == "default-branch" and place not in FOLDING:
            return
        evidence = reference.everything(project.root)
        wanted, alone = reference.sums(evidence), reference.alone(evidence)
        found = reference.numbers(project.root)
        for key, one in found.items():
            sums = wanted.get(key, reference.NOTHING)
            assert one.counted == sums.total, f"{key} at {place}: counted {one.counted}, not {sums.total}"
            level = reference.level(one.confidence) if key not in alone or one.confidence != one.counted else "raw"
            assert one.level == level, f"{key} at {place}: {one}, not {level}"
            if key in wanted:
                assert (one.first, one.last, one.sources) == sums[1:], f"{key} at {place}: {one}, not {sums}"
        for key in wanted.keys() - found.keys():
            excused = wanted[key].total == 0 or self.excused(project, place, key)
            assert excused, f"{key} at {place} has no file and {wanted[key].total}"
        assert project.errors() == []

    def excused(self, project: Project, place: str, key: str) -> bool:
        """True when a pattern's missing file, or that of one which it stands for, may count as deleted by a person."""
        evidence = reference.everything(project.root)
        stands_for = reference.stands_for(evidence)
        joined = {one["p"] for one in evidence if stands_for(one["p"]) == key}
        if pattern_path(key) in self.dropped[place] or any(pattern_path(one) in self.dropped[place] for one in joined):
            return True
        if joined - {key}:
            self.limits.add("alias")  # one branch folded the alias, another the old key's evidence
        return bool(joined - {key})

    def end(self) -> None:
        """Nothing that was ever sent is lost, and every place is exact after its next consolidate."""
        everywhere: set[str] = set()
        for place in PLACES:
            project = self.at(place)
            self.offsets = offsets_here(project)
            project.memory(self.now).consolidate()
            self.sound(project, place)
            self.exact(project, place)
            everywhere |= project.tree_ids()
        assert self.known <= everywhere, f"lost for good: {sorted(self.known - everywhere)}"

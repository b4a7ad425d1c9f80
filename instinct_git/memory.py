"""class Memory: every verb. Open this first.

A verb reads files, plans purely, applies once, commits once. Nothing here prints, prompts or reads the clock but
through `now`. Imports happen inside the verbs, so that observing pays for nothing it does not need.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from instinct_git.errors import InstinctError
from instinct_git.operations.workspace import Workspace
from instinct_git.storage import files

if TYPE_CHECKING:
    from instinct_git.core.breakers import Trip
    from instinct_git.core.candidates import Candidate
    from instinct_git.core.effect import Effect, Trends
    from instinct_git.core.pattern import Finding
    from instinct_git.core.report import Explanation, Stats
    from instinct_git.core.session import Summary
    from instinct_git.core.weekly import Weekly
    from instinct_git.operations.answering import Rejected
    from instinct_git.operations.batches import BatchResult
    from instinct_git.operations.comparing import Compared
    from instinct_git.operations.diagnosing import Diagnosis
    from instinct_git.operations.ending import Ended
    from instinct_git.operations.hits import Hit
    from instinct_git.operations.joining import Joined, Retracted
    from instinct_git.operations.learning import LearnResult
    from instinct_git.operations.moving import Move
    from instinct_git.operations.observing import Draft, Observed
    from instinct_git.operations.pooling import Answered, Entered
    from instinct_git.operations.proposing import Proposal
    from instinct_git.operations.proving import Proofs
    from instinct_git.operations.reading import Pattern
    from instinct_git.operations.resolving import Resolved
    from instinct_git.operations.reviewing import Review
    from instinct_git.operations.scanning import ScanResult
    from instinct_git.operations.setup import SetUp
    from instinct_git.operations.sharing import Sharing
    from instinct_git.operations.skills import Skill
    from instinct_git.operations.suggesting import Suggestions
    from instinct_git.operations.syncing import Synced
    from instinct_git.operations.universal import Universal
    from instinct_git.storage.config import Config
    from instinct_git.storage.git import Commit
    from instinct_git.storage.notices import Notice


List = list  # Memory has a method of that name, which would hide the type from its own annotations


def _utc_now() -> datetime:
    return datetime.now(UTC)


class Memory:
    """A repository's memory (or the user's global one, where there is none).

    `path` is any folder of the project (default: the current one), `home` replaces $INSTINCT_HOME, `scope="global"`
    opens the user's own memory, `now` is the clock (UTC). Raises InstinctError for everything a person can mend.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, *, home: str | os.PathLike[str] | None = None,
                 scope: str | None = None, now: Callable[[], datetime] | None = None) -> None:  # fmt: skip
        base = files.instinct_home(home)
        self._folder = Path(path if path is not None else files.current_folder()).absolute()
        if scope not in (None, files.GLOBAL):
            raise InstinctError(f"a memory cannot be opened by the scope {scope!r}", 'scope is None or "global"')
        self._now = now or _utc_now
        place = files.at(base / files.GLOBAL, files.GLOBAL, base) if scope else files.locate(self._folder, base)
        self._space = Workspace(place, self._now)
        self._named = scope is not None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Nothing is kept open between calls; the method exists so that a memory can be used like a file."""

    @property
    def root(self) -> Path:
        """The folder that holds `.instinct/`."""
        return self._space.place.root

    @property
    def scope(self) -> str:
        """project, private, global or shared."""
        return self._space.place.scope

    @property
    def fell_back(self) -> bool:
        """True when there is no memory here and the user's global one is used instead."""
        return self._space.place.fell_back

    def _layers(self) -> List[Workspace]:
        """This memory, then the shared ones by name, then the user's global one: what is nearer speaks first."""
        place = self._space.place
        layers = [self._space]
        if (place.home / files.SHARED).is_dir():
            from instinct_git.storage import shared

            layers += [Workspace(one, self._now) for one in shared.layers(place.home) if one.root != place.root]
        if place.scope != files.GLOBAL and files.is_memory(place.home / files.GLOBAL):
            layers.append(Workspace(files.at(place.home / files.GLOBAL, files.GLOBAL, place.home), self._now))
        return layers

    def _to(self, to: str) -> Workspace:
        """Return the memory that evidence goes to: this one, `global`, or the shared one of a name."""
        if not to:
            return self._space
        from instinct_git.operations.sharing import target

        return target(self._space, to)

    def _context(self, space: Workspace, given: str | None) -> str | None:
        """Return the context of evidence: what leaves its project for another memory names the project by its id."""
        if space.place.scope not in (files.GLOBAL, files.SHARED):
            return given
        from instinct_git.operations.sharing import context

        return context(space, self._folder, given)

    # -- set up ------------------------------------------------------------------------------------------------------

    def init(self, *, private: bool = False, dry_run: bool = False) -> SetUp:
        """Write `.instinct/` for the project around `path`; with `private`, into $INSTINCT_HOME instead."""
        from instinct_git.operations import setup

        if self._named:
            raise InstinctError("your global memory needs no init", "the first observation makes it")
        done = setup.init(self._space, self._folder, private=private, dry_run=dry_run)
        if not dry_run:
            self._space = Workspace(files.locate(self._folder, self._space.place.home), self._now)
        return done

    def config(self) -> Config:
        """Return all settings with their values."""
        return self._space.config()

    def configure(self, name: str, value: str, *, user: bool = False) -> None:
        """Set one setting in the memory's config, or with `user` in the user's own."""
        from instinct_git.storage import config

        place = self._space.place
        config.change(place.home / "config.yaml" if user else place.root / ".instinct" / "config.yaml", name, value)

    def doctor(self) -> List[Diagnosis]:
        """Look at everything that can keep evidence from being counted or a batch from being committed."""
        from instinct_git.operations.diagnosing import diagnose
        from instinct_git.operations.sharing import rows

        return [*diagnose(self._space), *rows(self._space, self._folder)]

    def proofs(self) -> Proofs:
        """Run what the wired agents would run, bounded and without a trace, and return what each next session is told."""
        from instinct_git.operations.installing import surroundings
        from instinct_git.operations.proving import prove

        try:
            keys, unread = [one.pattern for one in self.suggest()], ""
        except InstinctError as problem:
            keys, unread = [], problem.message
        return prove(self._folder, surroundings(self._folder), keys, unread)

    # -- teach -------------------------------------------------------------------------------------------------------

    def observe(self, key: str, category: str | None = None, source: str = "", session: str | None = None,
                context: str | None = None, note: str | None = None, *, title: str | None = None,
                description: str | None = None, metadata: Mapping[str, Any] | None = None,
                to: str = "") -> Observed:  # fmt: skip
        """Count one observation: a known key gains 1, a new one starts at 1. Durable when it returns. `to` is global or
        the name of a shared memory."""
        from instinct_git.operations.observing import Draft

        draft = Draft(key, category, source, session, context, note, title, description, metadata)
        return self.observe_many([draft], to=to)[0]

    def observe_many(self, drafts: Sequence[Draft], *, to: str = "") -> List[Observed]:
        """Count many observations in one write; all, or none when one is wrong. `to` as in `observe`."""
        from instinct_git.operations.observing import observe

        space = self._to(to)
        self._noted()
        return observe(space, [draft._replace(context=self._context(space, draft.context)) for draft in drafts])

    def learn(self, paths: Iterable[str | os.PathLike[str]] = (), *, agent: str = "auto", since: str = "",
              all: bool = False, dry_run: bool = False,
              progress: Callable[[int, int], None] | None = None) -> LearnResult:  # fmt: skip
        """Learn from agents' transcripts (files or folders); without any from this project's, as far as they are new,
        or changed `since` a day (YYYY-MM-DD), or `all` of them. `agent` limits it to one agent's sessions. In CI it is a
        dry run, unless the config says `record_in_ci: true`."""
        from instinct_git.operations.gathering import Choice, learn_here, learn_named

        named, choice = [Path(path) for path in paths], Choice(agent, since, all)
        dry_run = dry_run or self._space.silent()
        if named:
            return learn_named(self._space, named, choice, dry_run=dry_run, progress=progress)
        return learn_here(self._space, self._folder, choice, dry_run=dry_run, progress=progress)

    def watch(self, paths: Iterable[str | os.PathLike[str]] = (), *, agent: str = "auto", since: str = "",
              all: bool = False, interval: float = 10.0, wait: Callable[[float], object]) -> Iterator[LearnResult]:  # fmt: skip
        """Learn as `learn` does, then look every `interval` seconds for what is new and learn that; yields the result of
        every round that learned something. `wait` waits so many seconds (`time.sleep`) and ends it by returning False."""
        from instinct_git.operations.gathering import Choice
        from instinct_git.operations.watching import watch

        named = [Path(path) for path in paths]
        return watch(self._space, self._folder, named, Choice(agent, since, all), wait=wait, interval=interval)

    def learn_observed(self, *, agent: str = "auto", since: str = "", dry_run: bool = False) -> LearnResult:
        """Learn from the order of what was observed in each session, for agents whose transcripts cannot be read."""
        from instinct_git.operations.gathering import Choice
        from instinct_git.operations.recollecting import learn_observed

        return learn_observed(self._space, Choice(agent, since), dry_run=dry_run)

    def scan(self, paths: Iterable[str | os.PathLike[str]], *, dry_run: bool = False,
             progress: Callable[[int, int], None] | None = None) -> ScanResult:  # fmt: skip
        """Find reusable statements and procedures in summaries of a task that several agents shared (Markdown)."""
        from instinct_git.operations.scanning import scan

        return scan(self._space, [Path(path) for path in paths], dry_run=dry_run, progress=progress)

    def adjust(self, key: str, by: int, *, why: str | None = None, source: str = "") -> Observed:
        """Add `by` to a pattern's confidence as evidence of its own: exact in every merge, unlike an edit by hand. For a key
        that an alias joined to another one it is about that other one."""
        from instinct_git.operations.observing import Draft, observe

        if not -1000 <= by <= 1000 or by == 0:
            raise InstinctError(f"cannot adjust by {by}", "give a whole number from -1000 to 1000, not 0")
        from instinct_git.core.keys import normalise_key
        from instinct_git.errors import UnknownPattern
        from instinct_git.operations.reading import all_patterns
        from instinct_git.operations.workspace import near

        book, _ = self._space.read()
        known = {one.pattern for one in all_patterns(self._space, book)}
        asked, key = key, book.stands_for.get(normalise_key(key), normalise_key(key))
        if key not in known:
            raise UnknownPattern(f"there is no pattern {asked!r}", near(key, known))
        return observe(self._space, [Draft(key, source=source, note=why, kind="adjusted", extra={"n": by})])[0]

    def remember(self, text: str, **options: Any) -> Candidate:
        """Put something into the pool because a person says so; options are the fields of `Remembering`."""
        from instinct_git.operations.pooling import Remembering, remember

        return remember(self._space, Remembering(text, **options))

    def enter(self, key: str, **options: Any) -> Entered:
        """Let a known pattern enter the pool by itself, unless a breaker holds it (options: source, context)."""
        from instinct_git.operations.pooling import enter

        return enter(self._space, key, **options)

    def feedback(self, key: str, answer: str, *, to: str = "", **options: Any) -> Answered:
        """Count how a reuse went (succeeded, failed) or what a person said (confirmed, denied); `to` as in `observe`."""
        from instinct_git.operations.pooling import feedback

        space = self._to(to)
        return feedback(space, key, answer, **{**options, "context": self._context(space, options.get("context"))})

    def alias(self, old: str, new: str, **options: Any) -> Joined:
        """Let evidence about `old` count for `new` (options: why, source)."""
        from instinct_git.operations.joining import alias

        return alias(self._space, old, new, **options)

    def retract(self, evidence_id: str, **options: Any) -> Retracted:
        """Take one piece of evidence out (options: why, source)."""
        from instinct_git.operations.joining import retract

        return retract(self._space, evidence_id, **options)

    def retire(self, key: str, *, commit: bool = True) -> str:
        """Say no to a pattern for good: it stays, silent. Returns the commit's id (empty without a commit)."""
        from instinct_git.operations.editing import retire

        return retire(self._space, key, commit=commit)

    def restore(self, key: str, *, commit: bool = True) -> str:
        """Take a retirement back, or bring back a pattern whose file was deleted. Returns the commit's id."""
        from instinct_git.operations.editing import restore

        return restore(self._space, key, commit=commit)

    # -- batches -----------------------------------------------------------------------------------------------------

    def record(self, *, dry_run: bool = False, no_commit: bool = False) -> BatchResult:
        """Commit the inbox's evidence without folding it; `no_commit` only writes the file."""
        from instinct_git.operations.batches import run

        return run(self._space, "record", dry_run=dry_run, no_commit=no_commit)

    def consolidate(self, *, dry_run: bool = False, here: bool = False) -> BatchResult:
        """Fold all evidence into the patterns, in one commit. `here` overrides `consolidate: default-branch`."""
        from instinct_git.operations.batches import run

        return self._batch(run, "consolidate", dry_run=dry_run, here=here)

    def decay(self, days_inactive: int | None = None, *, dry_run: bool = False, here: bool = False) -> BatchResult:
        """Take 1 from patterns not seen for `days_inactive` days (default: config, 90), once per ISO week."""
        from instinct_git.operations.batches import run

        return self._batch(run, "decay", dry_run=dry_run, here=here, days=days_inactive)

    def compact(self, *, dry_run: bool = False, here: bool = False) -> BatchResult:
        """Join the ledger files of each year into one, in one commit. No number changes."""
        from instinct_git.operations.batches import run

        return self._batch(run, "compact", dry_run=dry_run, here=here)

    def gc(self, *, dry_run: bool = False, here: bool = False) -> BatchResult:
        """Consolidate, and remove the files of joined keys and of the weakest raw patterns over the caps, in one commit.
        The evidence stays; `restore` or new evidence brings a pattern back."""
        from instinct_git.operations.batches import run

        return self._batch(run, "gc", dry_run=dry_run, here=here)

    def universal(self) -> List[Universal]:
        """Return the rules that two or more projects of this home have and no global or shared memory."""
        from instinct_git.operations.universal import candidates

        return candidates(self._space)

    def stats_by(self, what: str) -> dict[str, int]:
        """Return how many pieces of evidence each source, author, project or context has given, most first."""
        from instinct_git.operations.counting import by

        return by(self._space, what)

    def _noted(self) -> None:
        """Let the clone remember under which id its private memory was found."""
        if self._space.place.scope == files.PRIVATE:
            from instinct_git.operations.moving import note_former

            note_former(self._space, self._folder)

    def _batch(self, run: Callable[..., BatchResult], verb: str, **options: Any) -> BatchResult:
        from instinct_git.operations.universal import note_project

        self._noted()
        note_project(self._space.place)
        done = run(self._space, verb, **options)
        if self._space.place.top is None:
            self._space = self._space.reopened()  # the first batch makes the user's own memories repositories
        return done

    # -- read --------------------------------------------------------------------------------------------------------

    def list(self, *, category: str | None = None, level: str | None = None, min_confidence: int | None = None,
             source: str | None = None, scope: str | None = None) -> List[Pattern]:  # fmt: skip
        """Return patterns, strongest first, what only waits in the inbox included."""
        from instinct_git.operations.reading import listed

        return listed(self._layers(), category=category, level=level, min_confidence=min_confidence, source=source,
                      scope=scope)  # fmt: skip

    def show(self, key: str) -> Pattern:
        """Return one pattern. Raises UnknownPattern, whose hint names near keys."""
        from instinct_git.operations.reading import show

        return show(self._layers(), key)[0]

    def body(self, key: str) -> str:
        """Return the free text of a pattern's file."""
        from instinct_git.operations.reading import show

        return show(self._layers(), key)[1]

    def search(self, query: str, limit: int = 20, *, kind: str | None = None, category: str | None = None,
               level: str | None = None, scope: str | None = None, semantic: bool | str | None = None,
               progress: Callable[[int, int], None] | None = None) -> List[Hit]:  # fmt: skip
        """Return what answers a query, best first: patterns, candidates, skills, procedures, sections of MEMORY.md.

        `kind`, `category`, `level` and `scope` narrow it; `semantic` compares meanings too (True, or a model's name).
        """
        from instinct_git.operations.hits import Filters
        from instinct_git.operations.searching import search

        return search(self._layers(), query, limit, filters=Filters(kind, category, level, scope), semantic=semantic,
                      progress=progress)  # fmt: skip

    def similar(self, key: str, limit: int = 10, *, kind: str | None = None, scope: str | None = None,
                semantic: bool | str | None = None, progress: Callable[[int, int], None] | None = None) -> List[Hit]:  # fmt: skip
        """Return what is like a pattern, or a document named as `search` names it, most alike first."""
        from instinct_git.operations.hits import Filters
        from instinct_git.operations.searching import similar

        return similar(
            self._layers(), key, limit, filters=Filters(kind, scope=scope), semantic=semantic, progress=progress
        )

    def suggest(self, limit: int | None = None, *, budget: int | None = None, for_text: str = "",
                paths: Sequence[str] = ()) -> List[Pattern]:  # fmt: skip
        """Return what an agent is told: mature patterns and rules within the token budget, strongest first; with the
        words of a task or the files in play, what concerns them first."""
        return [*self.suggestions(limit, budget=budget, for_text=for_text, paths=paths).patterns]

    def suggestions(self, limit: int | None = None, *, budget: int | None = None, for_text: str = "",
                    paths: Sequence[str] = (), only: bool = False, alone: bool = False) -> Suggestions:  # fmt: skip
        """Return the suggestions with what was left out, each with its reason. `only`: none but those that the words and
        the files call for; `alone`: of this memory, whatever others say."""
        from instinct_git.operations.suggesting import Task, suggest

        task = Task(for_text, tuple(paths), only)
        layers = self._layers()[:1] if alone else self._layers()
        return suggest(layers, self._folder, limit=limit, budget=budget, task=task)

    def explain(self, key: str) -> Explanation:
        """Return every piece of evidence of a pattern with the running confidence."""
        from instinct_git.operations.reading import explain, knowing

        return explain(knowing(self._layers(), key), key)  # type: ignore[no-any-return]

    def history(self, key: str, limit: int = 0) -> List[Commit]:
        """Return the commits that changed a pattern, newest first."""
        from instinct_git.operations.reading import history, knowing

        return history(knowing(self._layers(), key), key, limit)

    def duplicates(self) -> Compared:
        """Return near-duplicates with what joins them, families of sequences, and contradictions."""
        from instinct_git.operations.comparing import compare

        return compare(self._space)

    def alike(self, key: str) -> List[str]:
        """Return the other patterns that say the same as one."""
        from instinct_git.operations.comparing import alike

        return next(iter(alike(self._space, [key]).values()), [])

    def effect(self) -> List[Effect]:
        """Return what suggesting did in this clone: how often each pattern was shown, followed, and how it went."""
        from instinct_git.operations.judging import effect

        return effect(self._space)

    def note_shown(self, keys: Iterable[str], session: str = "", agent: str = "") -> None:
        """Count in this clone that an agent's session was told some keys (private, never committed, never raises for a
        file that cannot be written). With the agent it is the session of a transcript, else one that a tool names."""
        from instinct_git.core.entry import session_code
        from instinct_git.storage import inbox, shown

        place = self._space.place
        named = session_code(agent, session) if agent else inbox.session_code(place, session)
        shown.note(place, keys, named if session else "", self._now().date().isoformat())

    def trending(self) -> Trends:
        """Return what is used more, and what less, than in the four weeks before."""
        from instinct_git.core.effect import trending

        book, _ = self._space.read()
        return trending(book.groups, self._now().date())

    def stats(self) -> Stats:
        """Return the memory in numbers."""
        from instinct_git.operations.reading import stats

        return stats(self._space)  # type: ignore[no-any-return]

    def check(self, history: bool = False, base: str | None = None, *, stale: bool = False,
              progress: Callable[[int, int], None] | None = None) -> List[Finding]:  # fmt: skip
        """Verify the working tree; a finding of severity `error` means that something is wrong.

        `history` also walks every commit of HEAD's first-parent line, `base` compares with what a branch started from
        (a pull request), `stale` holds what patterns and skills cite against the project's files; `progress` is told how many commits of how many are done.
        """
        from instinct_git.operations.verifying import check

        return check(self._space, history=history, base=base, progress=progress, stale=self._folder if stale else None)

    def resolve(self, *, dry_run: bool = False) -> Resolved:
        """Settle conflicts below `.instinct` after a merge, rebase, cherry-pick or revert; stages, never commits."""
        from instinct_git.operations.resolving import resolve

        return resolve(self._space, dry_run=dry_run)

    def nominations(self, channel: str) -> List[Notice]:
        """Return the nominations that a channel has not told the person yet; from now on it has."""
        from instinct_git.operations.noticing import untold

        return untold(self._space, channel)

    def export_rules(self) -> List[Pattern]:
        """Return the active rules (confidence 10 and more by default)."""
        from instinct_git.operations.reading import export_rules

        return export_rules(self._layers())

    def skills(self) -> List[Skill]:
        """Return the approved skills of this repository (`skills/`), by name."""
        from instinct_git.operations.skills import listed

        return listed(self._space)

    def skill(self, name: str) -> str:
        """Return the SKILL.md of an approved skill."""
        from instinct_git.operations.skills import text

        return text(self._space, name)

    def candidates(self, *, ready: bool = False, archived: bool = False, kind: str | None = None) -> List[Candidate]:
        """Return what may become durable knowledge, highest score first."""
        from instinct_git.operations.pooling import candidates

        return candidates(self._space, ready=ready, archived=archived, kind=kind)

    def report(self, week: str = "") -> Weekly:
        """Return the report of an ISO week ("2026-W13"; empty: this one)."""
        from instinct_git.operations.reporting import report

        return report(self._space, week)

    def export_candidates(self) -> dict[str, Any]:
        """Return all candidates as `candidates.json` has them."""
        from instinct_git.operations.reporting import export_candidates

        return export_candidates(self._space)

    def breakers(self) -> tuple[List[Trip], List[str]]:
        """Return what is tripped now, and the keys that were held today."""
        from instinct_git.operations.breaking import held_today, state

        book, _ = self._space.read()
        return state(self._space, book), held_today(self._space, book)

    def reset_breaker(self, name: str, why: str) -> List[Trip]:
        """Answer every trip of a breaker with a reason; returns those trips."""
        from instinct_git.operations.breaking import reset

        return reset(self._space, name, why)

    # -- sessions ----------------------------------------------------------------------------------------------------

    @property
    def silent(self) -> bool:
        """True in CI, where hooks and `learn` keep nothing unless the config says `record_in_ci: true`."""
        return self._space.silent()

    def begin_session(self, session: str, told: Sequence[str] = (), *, agent: str = "", source: str = "",
                      tokens: int = 0) -> bool:  # fmt: skip
        """Note that an agent's session has begun, and which keys it was told; False when another host has just said so."""
        from instinct_git.operations.beginning import began

        return began(self._space, session, agent, source, told, tokens)

    def tell_session(self, session: str, mark: str, told: Sequence[str], *, agent: str = "", tokens: int = 0) -> bool:
        """Note what a session was told with a prompt, which `mark` stands for; False when another host has done so."""
        from instinct_git.operations.beginning import prompted

        return prompted(self._space, session, agent, mark, told, tokens)

    def told(self, session: str) -> frozenset[str]:
        """Return the keys that a session has been told."""
        from instinct_git.operations.beginning import told

        return told(self._space, session)

    def end_session(self, session: str = "", *, agent: str = "") -> Ended:
        """Learn what is new, consolidate the user's own memories, and run what their config has in `auto`."""
        from instinct_git.operations.ending import end

        return end(self._space, self._folder, self._layers()[1:], session, agent)

    def end_shared_task(self, session: str) -> int:
        """Scan what the subagents of a session, which a hook has noted, handed back; returns the new observations."""
        from instinct_git.operations.ending import swarm

        return swarm(self._space, self._folder, session)

    def session_summary(self, session: str = "last") -> Summary:
        """Sum a session up: recorded, risen, suggested, waiting. `session` is the agent's id of it, or its beginning."""
        from instinct_git.operations.summing import sum_up

        return sum_up(self._space, session)

    # -- promote -----------------------------------------------------------------------------------------------------

    def propose(self, keys: str | Sequence[str], *, kind: str = "", name: str = "", to: str = "", push: bool = False,
                pr: bool = False, remote: str = "", dry_run: bool = False, over: Sequence[str] = (),
                ask: Callable[[Proposal, str], str] | None = None) -> Proposal:  # fmt: skip
        """Propose one pattern, or several together, as skill, procedure, rule or memory on a branch; a person decides.

        What contradicts something is refused until a person settles it or names the other in `over`.
        `ask` is for a terminal alone: it is told the plan and the branch's name, where the memory lets a person approve on
        the spot, and returns the words that they typed.
        """
        from instinct_git.operations.proposing import propose

        asked = [keys] if isinstance(keys, str) else list(keys)
        return propose(self._space, asked, kind=kind, name=name, to=to, push=push, pr=pr, remote=remote,
                       dry_run=dry_run, over=over, ask=ask)  # fmt: skip

    def review(self, *, fetch: bool = False) -> Review:
        """Say what became of every proposal, and book the answers as evidence, each once; `fetch` asks remotes first."""
        from instinct_git.operations.reviewing import review

        return review(self._space, fetch=fetch)

    def reject(self, key: str, reason: str, *, source: str = "") -> Rejected:
        """Say no to a candidate or a proposal, with a reason that is published; it is remembered."""
        from instinct_git.operations.answering import reject

        return reject(self._space, key, reason, source=source)

    # -- share -------------------------------------------------------------------------------------------------------

    def share_add(self, name: str, url: str, **options: Any) -> Sharing:
        """Share a team's memory (or give `global` a remote); options: readonly, branch, require, depth, partial."""
        from instinct_git.operations.sharing import add

        return add(self._space, name, url, **options)

    def shares(self) -> List[Sharing]:
        """Return every shared memory of this home, with how old its copy is."""
        from instinct_git.operations.sharing import listed

        return listed(self._space)

    def share_remove(self, name: str, *, discard: bool = False) -> Sharing:
        """Forget a shared memory; refused while evidence waits in it, unless `discard`."""
        from instinct_git.operations.sharing import remove

        return remove(self._space, name, discard=discard)

    def move(self, to: str, *, go: bool = True) -> Move:
        """Move this project's memory to `repo` or `private`; a private one to the project's present id. `go` false: show."""
        from instinct_git.operations.moving import move

        done = move(self._space, self._folder, to, go=go)
        self._space = Workspace(files.locate(self._folder, self._space.place.home), self._now)
        return done

    def sync(self, name: str = "", *, accept: bool = False) -> List[Synced]:
        """Record, fetch, replay, push and fold one shared memory, or all; `accept` takes a changed remote."""
        from instinct_git.operations.syncing import sync

        return sync(self._space, name, accept=accept)


InstinctStore = Memory
"""The same class, for people who come from instinct."""

"""The evidence of a tree that changes commit by commit, and its sums, without folding everything anew each time. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from instinct_git.core.confidence import fold_one, representatives, retracted
from instinct_git.core.evidence import LEDGER, EvidenceSet, parse_container, position
from instinct_git.core.model import Evidence, Policy


class RunningSum:
    """S of one key, which new evidence extends where the order of folding cannot matter or it comes last."""

    __slots__ = ("last", "monotone", "policy", "seen", "total")

    def __init__(self, members: Sequence[Evidence], policy: Policy) -> None:
        self.policy, self.total, self.monotone = policy, 0, True
        self.last: tuple[str, int, str] = ("", 0, "")
        self.seen: dict[tuple[str, str], int] = {}
        for one in members:
            self.add(one)

    def add(self, one: Evidence) -> bool:
        """Add a piece of evidence; False when it does not come last and its place matters."""
        delta, place = fold_one((one,), self.policy, steps=True).steps[0].delta, position(one.id)
        monotone = self.monotone and delta >= 0
        if not monotone and place < self.last:
            return False
        self.monotone, self.last = monotone, max(place, self.last)
        if one.k == "observed" and one.s:
            times = self.seen[one.by, one.s] = self.seen.get((one.by, one.s), 0) + 1
            delta = 0 if times > self.policy.session_cap else delta
        self.total = max(0, self.total + delta)
        return True


class RunningEvidence:
    """The evidence of one tree, kept up to date container by container, and the sums it gives.

    A container's evidence is kept while the container stands and no longer: a memory may hold a million ids, and an
    observation that is folded would else be kept twice.
    """

    def __init__(self) -> None:
        self.containers: dict[str, Mapping[str, Evidence]] = {}
        self.holders: dict[str, tuple[str, ...]] = {}
        """{id: paths of the containers that hold it}."""
        self.policy = Policy()
        self.policies = [self.policy]
        """Every policy so far: a batch that was rebased may have been made under an earlier one."""
        self.moved: set[str] = set()
        """Keys whose sum may have changed since somebody emptied this set; `everything_moved` says all of them."""
        self.everything_moved = False
        self._of_key: dict[str, set[str]] = {}
        self._steering: set[str] = set()
        self._stands_for: Mapping[str, str] = {}
        self._joined: dict[str, list[str]] = {}
        self._gone: set[str] = set()
        self._sums: dict[str, RunningSum] = {}

    def get(self, evidence_id: str) -> Evidence | None:
        """Return what an id says in this tree; of several payloads the one that counts (DESIGN 3.1)."""
        paths = self.holders.get(evidence_id)
        if not paths:
            return None
        if len(paths) == 1:
            return self.containers[paths[0]][evidence_id]
        found = EvidenceSet(self.containers[path][evidence_id] for path in paths)
        return found.by_id[evidence_id]

    def payloads(self, evidence_id: str) -> list[Evidence]:
        """Return what each container says of an id."""
        return [self.containers[path][evidence_id] for path in self.holders.get(evidence_id, ())]

    def apply(self, changed: Mapping[str, bytes | None]) -> dict[str, tuple[Evidence | None, Evidence | None]]:
        """Put new containers in the place of old ones; return {id: (before, after)} of every id they hold or held."""
        new = {path: EvidenceSet(parse_container(data)[0]).by_id for path, data in changed.items() if data is not None}
        touched = {one for path in changed for one in (*self.containers.get(path, ()), *new.get(path, ()))}
        before = {one: self.get(one) for one in touched}
        for path in changed:
            for one in self.containers.pop(path, ()):
                self.holders[one] = tuple(other for other in self.holders[one] if other != path)
            if path in new:
                self.containers[path] = new[path]
                mine = (path,)
                for one in new[path]:
                    self.holders[one] = self.holders.get(one, ()) + mine
        moved = {one: (before[one], self.get(one)) for one in touched}
        for one, (old, now) in moved.items():
            if now is None:
                del self.holders[one]
            self._note(one, old, now)
        return moved

    def _note(self, evidence_id: str, old: Evidence | None, now: Evidence | None) -> None:
        if old is not None and now is not None and same(old, now):
            return
        for one in (old, now):
            if one is not None and one.k in ("alias", "retract"):
                self._forget()
        if old is not None:
            self._of_key[old.p].discard(evidence_id)
            self._steering.discard(evidence_id)
            self._touch(old.p, None)
        if now is not None:
            self._of_key.setdefault(now.p, set()).add(evidence_id)
            self._touch(now.p, now)
            if now.k in ("alias", "retract"):
                self._steering.add(evidence_id)

    def _touch(self, key: str, new: Evidence | None) -> None:
        key = self._stands_for.get(key, key)
        self.moved.add(key)
        known = self._sums.get(key)
        if known is not None and (new is None or (new.id not in self._gone and not known.add(new))):
            del self._sums[key]  # something went, or came in between: the whole key is folded again

    def follow(self, policy: Policy) -> None:
        """Sum under this policy from now on."""
        if policy == self.policy:
            return
        self.policy = policy
        if policy not in self.policies:
            self.policies.append(policy)
        self._forget()

    def _forget(self) -> None:
        """Forget all sums: the policy, an alias or a retraction is another."""
        self._sums.clear()
        self.everything_moved = True

    def settle(self) -> None:
        """Find out which keys stand for which, after they moved all."""
        if not self.everything_moved:
            return
        steering = [one for one in map(self.get, self._steering) if one is not None]
        self._gone = retracted(steering)
        self._stands_for = representatives(one for one in steering if one.id not in self._gone)
        self._joined = {}
        for key, to in self._stands_for.items():
            self._joined.setdefault(to, []).append(key)

    def total(self, key: str) -> int:
        """Return S of a key (law 4)."""
        if key not in self._sums:
            self._sums[key] = RunningSum(self.members(key), self.policy)
        return self._sums[key].total

    def total_folded(self, key: str) -> int:
        """Return S over what the ledger holds: what a batch counted before more was recorded."""
        return fold_one((one for one in self.members(key) if self._in_ledger(one.id)), self.policy).total

    def ceiling(self, key: str) -> int:
        """Return the most that any part of the key's evidence could give: a number above it was never counted."""
        members = self._sorted(self._ids(key) - self._steering)
        most = 0
        for policy in self.policies:
            steps = fold_one(members, policy, steps=True).steps
            most = max(most, fold_one((step.evidence for step in steps if step.delta >= 0), policy).total)
        return most

    def members(self, key: str) -> list[Evidence]:
        """Return the evidence of a key in fold order, as `confidence.group` does."""
        if self._stands_for.get(key, key) != key:
            return []
        return self._sorted(self._ids(key) - self._gone - self._steering)

    def _ids(self, key: str) -> set[str]:
        return {one for name in {key, *self._joined.get(key, ())} for one in self._of_key.get(name, ())}

    def _sorted(self, ids: set[str]) -> list[Evidence]:
        found = (self.get(one) for one in ids)
        return sorted((one for one in found if one is not None), key=lambda one: position(one.id))

    def _in_ledger(self, evidence_id: str) -> bool:
        return any(path.startswith(LEDGER) for path in self.holders.get(evidence_id, ()))


def same(one: Evidence, other: Evidence) -> bool:
    """True when two pieces of evidence say the same; the time of day and the note are not part of it."""
    return one[1:3] == other[1:3] and one[4:7] == other[4:7] and one.extra == other.extra

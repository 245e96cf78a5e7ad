"""The search for victims: units are taken until the beneficiary fits, then those not needed are put back.

The problem. A group (the beneficiary) waits, which its queue's share (reclaim) or its priority or
namespace (preempt) entitles to run. Wanted are victims, as few and as unimportant as possible, so
that all pods of its next turn find nodes. What may be evicted depends on the victims so far: each
lowers the share of its queue.

How it works. Victims come in units, a surplus pod or a whole gang (`units.py`). The units of a leaf
are kept in the order in which they are evicted (`unit_pool.py`), and the leaves come in the order
that the action gives (`leaves`). An attempt, all of it in trials of the state,

1. takes the first unit that may be taken, until the pods fit; shares have changed, so the order is
   read again after every unit;
2. drops units that are not needed, from the one taken last (the most important) to the first;
3. where some were dropped, checks that the rest may still be taken, one after the other, and that
   the pods fit.

Units that are first in the order may be spread over many nodes, and their queues may have nothing
more to give before any one node has room. So when steps 1 to 3 fail for the whole cluster, they are
repeated for single nodes, with the units of that node alone. Nothing is evicted before an attempt
has succeeded; then the victims are evicted and their room is promised (nominated) to the pods in
one step.

Invariants.
- A failed attempt leaves the state, the pools and the disruption budgets exactly as they were.
  Pools and budgets are not part of the state's trials: `_put_back` restores them.
- No unit leaves a gang with fewer pods than its minimum: it has all of it, or only what is above.
- Each unit of the result may be taken after those before it, and without it the pods would not fit.
  A smaller set of other units may exist.
- What all comparisons start from (`reserved_before`, and the shares of the subclasses) is read
  before the first unit is taken.

Complexity. With V units taken, V + 1 placements of the pods to find them, and one to check; but
where many units are taken, amounts decide first whether a placement can exist, so that few are
tried (`promises.py`). To drop a unit costs its own steps and, where amounts do not decide, a
placement (`trimming.py`). A placement costs its own steps only, not a copy of the cluster. What
keeps V and the number of searches small: namespaces without a possible victim are skipped
(`may_be_victim`); a unit like one that was refused is not tested again in the same pass
(`refusal`); groups with the same `equivalence_key`, and those that ask for more than one that
failed, fail without a search until one succeeds (`evict.py`, `failures.py`); a search ends where
all that it can still take would not free enough (`_may_fit`); single nodes are left out where even
all units of the leaves would not (`single_nodes.py`).

Why not otherwise? The smallest set of victims is a packing problem, with no fast exact solution.
kube-scheduler removes all less important pods of one node and puts back as many as it can; that
knows neither gangs, which need several nodes and are evicted whole, nor queues, whose shares bound
how many may go. The laws that the result obeys are in docs/specification/eviction.md. Decision
record 10.
"""

from collections import Counter
from collections.abc import Collection, Hashable, Iterator, Sequence
from functools import cached_property
from typing import ClassVar, Literal

from maar.core.cycle.evicting.promises import FEW, Promises
from maar.core.cycle.evicting.single_nodes import candidate_nodes
from maar.core.cycle.evicting.trimming import Trimming, is_crippled
from maar.core.cycle.evicting.unit_pool import UnitPool
from maar.core.cycle.evicting.units import Rank, Unit
from maar.core.cycle.evicting.victim_search import VictimSearch
from maar.core.cycle.group_class import Block
from maar.core.cycle.group_state import GroupState
from maar.core.cycle.placing.turn_pods import for_eviction
from maar.core.cycle.state import Eviction
from maar.core.model.reasons import Refusal
from maar.core.tables.axis import Needs
from maar.core.tables.counting import together
from maar.core.tables.rows import Column


class Attempt:
    """One try to make room for one group."""

    action: ClassVar[Literal["reclaim", "preempt"]]

    def __init__(self, search: VictimSearch, group: GroupState) -> None:
        self.search, self.state, self.ledger = search, search.state, search.state.ledger
        self.group, self.leaf = group, group.leaf
        self.pods = for_eviction(group)
        self.saw_candidates = False  # whether any unit at all could have been taken
        self.is_exhausted = True  # whether all searches ended because there was no other unit to take
        self.blocked: Refusal | None = None  # what may not be evicted and blocks it
        self.moment = self.state.now  # later where it is asked when it would succeed
        self.waited = search.min_runtimes.waited(group)
        self.promises = Promises(self.state, self.pods)  # where its pods can go with the victims

    @cached_property
    def request(self) -> Needs:
        """What the pods need together."""
        return together(self.pods)

    @cached_property
    def reserved_before(self) -> dict[int, Column]:
        """What the queues of its path had reserved before the first eviction."""
        return {queue: list(self.ledger.reserved[queue]) for queue in (*self.ledger.paths[self.leaf], 0)}

    def is_like_others(self) -> bool:
        """Whether the shapes of its pods alone decide where they can go."""
        if self.state.held_room.of(self.group) is not None:
            return False
        if self.group.of_class is not None and self.group.is_idle:
            return True  # what concerns pods otherwise sets their group apart
        return self.state.places.depend_on_shapes_only(self.pods)

    # --- what the actions differ in

    @classmethod
    def cannot_succeed(cls, search: VictimSearch, group: GroupState) -> bool:
        """Whether a group that has a kind cannot be made room for, as far as that is seen without trying."""
        kind = group.of_class
        if kind is None or group.placed:
            return False
        is_known_to_fail = kind.never_preempts or (kind.turn is not None and not kind.turn)
        return is_known_to_fail or cls._is_refused(search, group, kind.needs)

    @classmethod
    def all_fail(cls, search: VictimSearch, block: Block) -> bool:
        """Whether all classes of a block fail now, as far as one look tells."""
        summary = block.summary
        if not summary.any_may_preempt:
            return True
        first = search.state.groups.of(next(iter(block.classes)).rows[0])
        return summary.is_known and cls._is_refused(search, first, summary.least)

    @classmethod
    def _is_refused(cls, search: VictimSearch, group: GroupState, needs: Needs) -> bool:
        """Whether it is not worthwhile to make room for as much, or there are no victims."""
        raise NotImplementedError

    def equivalence_key(self) -> object:
        """All that the result depends on: until an attempt succeeds, attempts with equal keys fail alike."""
        return (self.leaf, tuple([pod.shape for pod in self.pods]), self.waited)

    def failure_key(self) -> Hashable | None:
        """All that units are taken and refused by, for `failures.py`; None where more than that matters."""
        return None

    def is_worthwhile(self) -> bool:
        """Whether there is anything to try."""
        return bool(self.pods)

    def leaves(self) -> Sequence[int]:
        """The leaves that may have victims, those with the first victims first."""
        raise NotImplementedError

    def may_be_victim(self, rank: Rank, namespace: str, share: float) -> bool:  # noqa: ARG002 (subclasses use them)
        """Whether units of a rank and a namespace, which uses a share, could be taken at all."""
        return True

    def may_take(self, unit: Unit) -> bool:
        """Whether a unit may be taken after those that have been."""
        raise NotImplementedError

    def units_at_most(self) -> list[Unit] | None:
        """No fewer units than can still be taken anywhere; None where that is not known."""
        return None

    def allows(self) -> bool:
        """Whether the beneficiary's queue may grow by its request, with the victims gone."""
        raise NotImplementedError

    def refusal(self, unit: Unit) -> object:
        """What units have in common that are refused for the same reason: what they give."""
        return unit.needs

    def refuses_all(self, leaf: int, refused: Collection[object]) -> bool:  # noqa: ARG002 (subclasses use them)
        """Whether no unit of a leaf is left that is not refused; false where it is not known."""
        return False

    # --- the search

    def try_evict(self) -> list[Unit] | None:
        """Evict and promise if a lawful set exists; returns the victims."""
        with self.state.trial() as trial:
            taken = self._try_take_lawful_set()
            for unit in taken or ():
                for pod in unit.pods:
                    self.search.leaf_usage.leave(pod)
                    self.state.record(Eviction(pod, self.group.row, self.action))
            if taken is not None:
                self.promises.keep_found()
                trial.keep()
        return taken

    def find(self) -> list[Unit] | None:
        """A lawful set, anywhere or on one node alone; the state stays as it was."""
        with self.state.trial():
            taken = self._try_take_lawful_set()
        self._put_back(taken or ())
        return taken

    def _try_take_lawful_set(self) -> list[Unit] | None:
        """Take a lawful set, anywhere or on one node alone."""
        if not self.is_worthwhile():
            return None
        key = self.failure_key()
        if key is not None and self.search.failures.include(key, Counter([pod.shape for pod in self.pods])):
            return None
        self._read_before()
        self.is_exhausted, self.saw_candidates = True, False
        taken = self._try_collect(None)
        for node in candidate_nodes(self) if taken is None and self.saw_candidates else ():
            taken = self._try_collect(node)
            if taken is not None:
                break
        if taken is None and self.is_exhausted and key is not None:
            self.search.failures.add(key, self.pods, had_units=self.saw_candidates)
        if taken is None:
            self._note_failure()
        return taken

    def _read_before(self) -> None:
        """Read how things are before the first unit is taken."""
        _ = self.reserved_before

    def _note_failure(self) -> None:
        """Note for its own group what a search says that found no lawful set."""

    def units(self, leaf: int) -> UnitPool:
        """The units of a leaf that the beneficiary may find."""
        return self.search.pool(leaf, self.moment, self.waited)

    def _try_collect(self, node: int | None) -> list[Unit] | None:
        """Take units in order until the beneficiary fits; where some are not needed, take the rest again."""
        self.promises.found = []
        with self.state.trial() as trial:
            taken = self._gather(node)
            needed = Trimming(self.promises, self._may_grow, taken).needed() if taken else []
            parts = [unit for unit in taken if unit.is_surplus or unit.is_starving]  # others leave no pod
            if taken and len(needed) == len(taken) and not self._are_crippled(parts):
                trial.keep()  # each might be taken when it was, and with all of them the pods fit
                return taken
        self._put_back(taken)
        return needed if needed and self._try_take(needed) else None

    def _gather(self, node: int | None) -> list[Unit]:
        """Take units in order, anywhere or on one node, until the beneficiary fits; none if too few."""
        taken, found, one = list[Unit](), True, self.group.of_class
        few = 1 if one in self.search.too_little_for else FEW
        with self.state.trial() as trial:
            fits = self._fits_before()
            while not fits:
                unit = next(self._candidates(node), None)
                if unit is None:
                    found = False
                    break
                self._take(unit)
                taken.append(unit)
                if len(taken) == few:
                    self.promises.count_room()
                    if node is None and not self._may_fit():
                        found = False
                        if one is not None:
                            self.search.too_little_for.add(one)
                        break
                fits = self._fits()
            if found:
                self.is_exhausted = False
                trial.keep()
                return taken
        self._put_back(taken)
        return []

    def _may_fit(self) -> bool:
        """Whether the beneficiary may fit with all that can still be taken; true where it is not known.

        A search that fails takes all that it can, and in a full cluster most groups that wait fail. So once
        it has taken a few units it is worth knowing that it cannot succeed.
        """
        units = self.units_at_most()
        return units is None or self.promises.may_be_possible_without(
            pod for unit in units for pod in unit.pods
        )

    def _candidates(self, node: int | None) -> Iterator[Unit]:
        """The units that may be taken next, in the order of victims."""
        for leaf in self.leaves():
            refused: set[object] = set()
            for unit in (
                self.units(leaf).in_order(self.may_be_victim) if node is None else self._units_on(node, leaf)
            ):
                known = len(refused)
                if self.may_go(unit, refused):
                    self.saw_candidates = True
                    yield unit
                elif len(refused) > known and self.refuses_all(leaf, refused):
                    break

    def may_go(self, unit: Unit, refused: set[object], allowed: set[object] | None = None) -> bool:
        """Whether a unit may be taken next.

        `refused` collects what refused units have in common; `allowed`, where nothing is taken meanwhile,
        what those have in common that use as much and are not refused.
        """
        if unit.row is self.group.row or not self.search.budgets.allow(unit.pods):
            return False
        alike = self.refusal(unit)
        if alike in refused:
            return False
        if allowed is not None and (alike, unit.used) in allowed:
            return not self.state.breaks_promise(unit.pods)
        if self.may_take(unit):
            if allowed is not None:
                allowed.add((alike, unit.used))
            return not self.state.breaks_promise(unit.pods)
        refused.add(alike)
        return False

    def _units_on(self, node: int, leaf: int) -> list[Unit]:
        """The units of a leaf that are on one node, in the order of victims."""
        state, row, pool = self.state, self.state.room.nodes[node], self.units(leaf)
        groups = dict.fromkeys([pod.group_key for pod in row.pods.values()])
        units = [pool.unit_on(row.name, key, self.may_be_victim) for key in groups if key in pool]

        def order(unit: Unit) -> tuple[object, ...]:
            one = unit.row
            namespace, job = state.namespace_share(leaf, one.namespace), self.ledger.dominant(unit.group.used)
            return (namespace, job, one.order)

        last_first = sorted((unit for unit in units if unit is not None), key=order, reverse=True)
        return sorted(last_first, key=lambda unit: unit.rank)

    def _take(self, unit: Unit) -> None:
        for pod in unit.pods:
            self.state.evict(pod)
        self.search.budgets.spend(unit.pods)
        self.search.take(unit)

    def _put_back(self, taken: Sequence[Unit]) -> None:
        """Restore budgets and pools after a trial."""
        for unit in taken:
            self.search.budgets.spend(unit.pods, -1)
            self.search.put_back(unit)

    def _fits_before(self) -> bool:
        """Whether the beneficiary fits before the first unit is taken; then there is nothing to evict."""
        return self._fits()

    def _fits(self) -> bool:
        """Whether the beneficiary may grow and finds its places, with the victims gone."""
        return self._may_grow() and self.promises.are_possible()

    def _may_grow(self) -> bool:
        """Whether its queue may, and surplus leaves what groups that were just let in have yet to take."""
        if not self.allows():
            return False
        beside, ledger = self.state.just_let_in, self.ledger
        if beside is None or not self.group.is_ready:
            return True
        limits = ledger.deserved if self.action == "reclaim" else ledger.real
        return beside.leaves_room(self.leaf, self.request, limits)

    def _try_take(self, units: Sequence[Unit]) -> bool:
        """Take units one after the other, if each may be taken then and the beneficiary fits at the end."""
        taken = list[Unit]()
        with self.state.trial() as trial:
            for unit in units:
                if not self.may_take(unit):
                    break
                self._take(unit)
                taken.append(unit)
            else:
                if not self._are_crippled(units) and self._fits():
                    trial.keep()
                    return True
        self._put_back(taken)
        return False

    def _are_crippled(self, taken: Sequence[Unit]) -> bool:
        """Whether a group is left with too few pods, now that these are gone."""
        groups = {unit.row.key: unit.group for unit in taken}.values()
        return any(is_crippled(self.state, group) for group in groups)

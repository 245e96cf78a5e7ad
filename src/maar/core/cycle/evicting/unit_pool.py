"""The units of one leaf in the order of victims, kept while an action runs; `attempt.py` has the theory."""

from bisect import bisect_left, insort
from collections.abc import Callable, Collection, Iterator
from functools import cached_property, lru_cache
from heapq import merge
from itertools import chain, repeat

from maar.core.cycle.evicting.min_runtimes import MinRuntimes
from maar.core.cycle.evicting.protection import Protection
from maar.core.cycle.evicting.units import Rank, Size, Unit, is_whole, next_unit, whole_unit
from maar.core.cycle.group_state import GroupState
from maar.core.cycle.state import State
from maar.core.tables.rows import AmountColumn, GroupOrder, GroupRow, Holding

Job = tuple[float, GroupOrder, str]  # what it uses, its order and its key: the largest is evicted first
_KindOfUnit = tuple[str, tuple[Rank, ...]]  # a namespace, and the ranks that a unit may have
_Rows = dict[str, GroupRow]
MayBeVictim = Callable[[Rank, str, float], bool]  # the rank, the namespace, and what that uses per weight


class UnitPool:
    """Units by rank, then by namespace and job: those that use most are evicted first.

    Whole namespaces are skipped where no unit can be a victim: a full cluster has many units and many groups
    that wait, and an attempt must not look at every unit for every group. The unit of a group is computed
    when one of its rank and namespace may be a victim for the first time.
    """

    def __init__(
        self, state: State, leaf: int, protection: Protection, min_runtimes: MinRuntimes | None = None
    ) -> None:
        """Without minimum run times: as if all pods had run for long enough."""
        self.state, self.leaf, self.protection = state, leaf, protection
        self._min_runtimes, self._moment = min_runtimes, state.now
        self._young: dict[str, GroupRow] = {}  # groups with pods that have not run for the minimum run time
        self._young_kinds: dict[_KindOfUnit, list[GroupRow]] = {}  # those groups
        self._not_moved: set[_KindOfUnit] = set()  # kinds that may have units of another time
        self._computed_for: dict[str, float] = {}  # the times that units of young groups are of
        self._units: dict[str, tuple[Unit, Job]] = {}
        self._jobs: dict[Rank, dict[str, list[Job]]] = {}  # by namespace, sorted
        self.sizes: set[Size] = set()  # of all units that have been computed
        self._unread: dict[_KindOfUnit, list[_Rows]] = {}  # groups whose units are not computed yet
        self._kinds: dict[str, _KindOfUnit] = {}  # of those that their rows do not tell
        self._apart: set[str] = set()  # those, and groups that have been computed by themselves
        self._gone: dict[str, tuple[Unit, Job] | None] = {}  # of groups that are gone: what they had before
        self._share_of: dict[AmountColumn, float] = {}  # of the cluster, by what a job uses
        self._row = row = state.ledger.rows[leaf]
        for group in state.groups.look_at_holders(leaf):
            self._set_apart(group)
        for holding, rows in row.holders.items():
            if holding.is_plain:
                self._unread.setdefault(_kind_of(holding), []).append(rows)
            for one in rows.values() if min_runtimes is not None or not holding.is_plain else ():
                is_young = min_runtimes is not None and bool(min_runtimes.ends(one))
                if is_young or not holding.is_plain:
                    kind = one.namespace, _possible_ranks(self._set_apart(state.group(one)))
                if is_young:
                    self._young[one.key] = one
                    self._young_kinds.setdefault(kind, []).append(one)
        self._shares = {one: state.namespace_share(leaf, one) for one, _ in self._unread}  # per weight

    def _set_apart(self, group: GroupState) -> GroupState:
        key, kind = group.row.key, (group.row.namespace, _ranks_now(group))
        if key not in self._apart:
            self._apart.add(key)
            self._kinds[key] = kind
            self._unread.setdefault(kind, []).append({key: group.row})
        return group

    def _is_unread(self, row: GroupRow) -> bool:
        if row.key in self._apart:
            return row.key in self._kinds
        return row.held_as is not None and _kind_of(row.held_as) in self._unread

    def _read(self, may_be_victim: MayBeVictim) -> None:
        """Compute the units that may be victims."""
        for namespace, ranks in list(self._unread):
            if any(may_be_victim(rank, namespace, self._shares[namespace]) for rank in ranks):
                changed = dict[int, list[Job]]()
                for row in self._pop_unread((namespace, ranks)):
                    known = self._unit_of(row)
                    if known is not None:
                        self._units[row.key] = unit, job = known
                        jobs = self._jobs.setdefault(unit.rank, {}).setdefault(namespace, [])
                        jobs.append(job)
                        changed[id(jobs)] = jobs
                for jobs in changed.values():
                    jobs.sort()

    def _pop_unread(self, kind: _KindOfUnit) -> list[GroupRow]:
        apart, kinds, found = self._apart, self._kinds, dict[str, GroupRow]()
        for rows in self._unread.pop(kind):
            found.update([one for one in rows.items() if one[0] not in apart or kinds.get(one[0]) == kind])
        self._kinds = {key: one for key, one in kinds.items() if one != kind}
        return list(found.values())

    def refresh(self, group: GroupState) -> None:
        """Compute again which unit a group would give."""
        key, namespace = group.row.key, group.row.namespace
        self._shares[namespace] = self.state.namespace_share(self.leaf, namespace)
        self._kinds.pop(key, None)
        self._apart.add(key)
        self._gone.pop(key, None)
        self._remove(key, namespace)
        self._add(key, namespace, self._unit_of(group.row))

    def _unit_of(self, row: GroupRow) -> tuple[Unit, Job] | None:
        """The unit that a group would give now, and its place; of most groups the row says it."""
        if row.key in self._young:
            self._computed_for[row.key] = self._moment
        state, young = self.state, self._too_young(row)
        if state.groups.known(row) is None and is_whole(row):
            unit, used = whole_unit(state, row, self.protection, young), row.used
        else:
            group = state.group(row)
            unit, used = next_unit(state, group, self.protection, young=young), tuple(group.used)
        if unit is None:
            return None
        self.sizes.add(unit.size)
        share = self._share_of.get(used)
        if share is None:
            ledger = state.ledger
            column = [*used, *[0] * (len(ledger.total) - len(used))]
            share = self._share_of[used] = ledger.dominant(column)
        return unit, (share, row.order, row.key)

    def take(self, unit: Unit) -> None:
        """A unit is gone; where it was all of its group, no other comes after it."""
        key, namespace = unit.row.key, unit.row.namespace
        if unit.is_surplus or self._is_unread(unit.row):
            self.refresh(unit.group)
            return
        self._gone[key] = self._remove(key, namespace)
        self._shares[namespace] = self.state.namespace_share(self.leaf, namespace)

    def put_back(self, unit: Unit) -> None:
        """A unit is back, and its group as it was before it was taken."""
        key, namespace = unit.row.key, unit.row.namespace
        if key not in self._gone:
            self.refresh(unit.group)
            return
        self._add(key, namespace, self._gone.pop(key))
        self._shares[namespace] = self.state.namespace_share(self.leaf, namespace)

    def _add(self, key: str, namespace: str, known: tuple[Unit, Job] | None) -> None:
        if known is None:
            return
        self._units[key] = unit, job = known
        insort(self._jobs.setdefault(unit.rank, {}).setdefault(namespace, []), job)

    def _remove(self, key: str, namespace: str) -> tuple[Unit, Job] | None:
        known = self._units.pop(key, None)
        if known is not None:
            unit, job = known
            jobs = self._jobs[unit.rank][namespace]
            del jobs[bisect_left(jobs, job)]
        return known

    def _too_young(self, row: GroupRow) -> Collection[str]:
        if self._min_runtimes is None or row.key not in self._young:
            return ()
        return {key for key, end in self._min_runtimes.ends(row).items() if end > self._moment}

    @cached_property
    def ends(self) -> frozenset[float]:
        """The times to come at which a minimum run time of a pod is over."""
        return frozenset([end for row in self._young.values() for end in self._ends(row)])

    def may_gain(self, may_be_victim: MayBeVictim) -> bool:
        """Whether a unit may become a victim when its pods have run for long enough."""
        return any(
            may_be_victim(rank, namespace, self._shares[namespace])
            for namespace, ranks in self._young_kinds
            for rank in ranks
        )

    def move_to(self, moment: float) -> None:
        """Show the units as they are at another time, if nothing else changes."""
        if moment != self._moment:
            self._moment, self._not_moved = moment, set(self._young_kinds)

    def _move(self, may_be_victim: MayBeVictim) -> None:
        """Compute units of another time again, where they may be victims."""
        for namespace, ranks in tuple(self._not_moved):
            share = self._shares[namespace]
            if any(may_be_victim(rank, namespace, share) for rank in ranks):
                self._not_moved.discard((namespace, ranks))
                for row in self._young_kinds[namespace, ranks]:
                    self._move_unit(row)

    def _move_unit(self, row: GroupRow) -> None:
        """Compute the unit of a group again, if it is another one at the moment."""
        known = self._computed_for.get(row.key, self.state.now)
        first, last = min(known, self._moment), max(known, self._moment)
        if first < last and any(first < end <= last for end in self._ends(row)):
            self.refresh(self.state.group(row))
        else:
            self._computed_for[row.key] = self._moment

    def _ends(self, row: GroupRow) -> Collection[float]:
        return self._min_runtimes.ends(row).values() if self._min_runtimes is not None else ()

    def count(self, may_be_victim: MayBeVictim) -> int:
        """How many units may be victims."""
        self._compute(may_be_victim)
        return sum(
            len(jobs)
            for rank, namespaces in self._jobs.items()
            for namespace, jobs in namespaces.items()
            if jobs and may_be_victim(rank, namespace, self._shares[namespace])
        )

    def _compute(self, may_be_victim: MayBeVictim) -> None:
        """Have the units that may be victims as they are at the moment."""
        if self._unread:
            self._read(may_be_victim)
        if self._not_moved:
            self._move(may_be_victim)

    def in_order(self, may_be_victim: MayBeVictim) -> Iterator[Unit]:
        """Units of the namespaces that may have victims, in order; of equal shares the job decides."""
        self._compute(may_be_victim)
        for rank in sorted(self._jobs):
            streams = [
                zip(repeat(self._shares[namespace]), reversed(jobs))
                for namespace, jobs in self._jobs[rank].items()
                if jobs and may_be_victim(rank, namespace, self._shares[namespace])
            ]
            for _, job in merge(*streams, reverse=True) if len(streams) > 1 else chain(*streams):
                yield self._units[job[-1]][0]

    def first_of_each_size(self, most: Callable[[Unit], int], may_be_victim: MayBeVictim) -> Iterator[Unit]:
        """Of each rank and namespace the first units of each size, as many as there may be of it."""
        self._compute(may_be_victim)
        known = dict[Size, int]()
        for rank, namespaces in self._jobs.items():
            for namespace, jobs in namespaces.items():
                if not (jobs and may_be_victim(rank, namespace, self._shares[namespace])):
                    continue
                left = dict[Size, int]()
                for job in reversed(jobs):
                    unit, _ = self._units[job[-1]]
                    if unit.size not in left:
                        if unit.size not in known:
                            known[unit.size] = most(unit)
                        left[unit.size] = known[unit.size]
                    if left[unit.size]:
                        left[unit.size] -= 1
                        yield unit
                    elif len(left) == len(self.sizes) and not any(left.values()):
                        break

    def __contains__(self, key: str) -> bool:
        row = self._row.groups.get(key)
        if row is not None and self._is_unread(row):
            self.refresh(self.state.group(row))
        if self._not_moved and key in self._young:
            self._move_unit(self._young[key])
        return key in self._units

    def unit(self, key: str, may_be_victim: MayBeVictim) -> Unit | None:
        """The unit that a group has here, if it may be a victim."""
        unit, _ = self._units[key]
        namespace = unit.row.namespace
        return unit if may_be_victim(unit.rank, namespace, self._shares[namespace]) else None

    def unit_on(self, node: str, key: str, may_be_victim: MayBeVictim) -> Unit | None:
        """What a group would give on one node: its unit if that is nowhere else, or a surplus pod."""
        unit = self.unit(key, may_be_victim)
        if unit is not None and unit.is_surplus:
            return next_unit(self.state, unit.group, self.protection, node, self._too_young(unit.row))
        return unit if unit is not None and unit.is_on(node) else None


@lru_cache(maxsize=1024)
def _kind_of(holding: Holding) -> _KindOfUnit:
    """The kind of units of groups that no step has changed, where their rows tell it."""
    return holding.namespace, _ranks(holding.is_short, holding.priority, holding.has_surplus)


def _ranks_now(group: GroupState) -> tuple[Rank, ...]:
    """The ranks that the next unit of a group may have now."""
    return _ranks(group.is_starving, group.row.priority, group.placed > group.standing_minimum)


@lru_cache(maxsize=1024)
def _ranks(is_starving: bool, priority: int, has_surplus: bool) -> tuple[Rank, ...]:  # noqa: FBT001 (of a key)
    whole = Rank(not is_starving, priority, True)
    return (whole, whole._replace(is_not_surplus=False)) if has_surplus else (whole,)


def _possible_ranks(group: GroupState) -> tuple[Rank, ...]:
    """The ranks that units of a group may have, once they have run for long enough; a starving one has none.

    Its units do not depend on how long pods have run.
    """
    if group.is_starving:
        return ()
    return _ranks(False, group.row.priority, group.row.on_nodes > group.standing_minimum)

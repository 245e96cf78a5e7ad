"""Past use grows between decisions: what counts of the time from one decision to the next.

A decision leaves queues that use something and groups that wait, and nothing else is known until
the next one. So the time between two decisions counts with the use and the waiting that the first
of them left. Use of a resource counts where a sibling waits for that resource, which means that a
group below the sibling is held back for share or room on it, and would start if others finished or
its share grew; a group that can never start on this cluster keeps no use in memory. Of namespaces
the same holds inside their leaf.

Use decays while it is added, so that it does not matter how often is decided in between. What was
added since the last minute is kept here; on every boundary of a minute it is published into the
tables, where decisions and the statuses of queues read it, rounded as it is written. A restart
therefore loses what was added since the last boundary and nothing else. After a longer gap, in
which no scheduler ran, nothing is added for the gap; nor is anything where the clock was set back.

Complexity. With the plugin off nothing here is called. With it on, a decision costs a look at every
group that waits and, where one does, a few operations on columns [R, Q]; a minute costs the queues
that grew.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import expm1, floor, log
from typing import Final

import numpy as np

from maar.core.fairshare.dominant import roll_up_used
from maar.core.fairshare.water_fill import Floats, Ints
from maar.core.model.past_use import History, Hours, Usage, hours_of, large, rounded, totals_of
from maar.core.model.plan import Plan
from maar.core.model.reasons import Cure, Reason, Refusal
from maar.core.tables.counting import add_needs
from maar.core.tables.past_use import present
from maar.core.tables.rows import Column, PodRow, QueueRow
from maar.core.tables.tables import Tables

_MINUTE_S: Final = 60.0
_LONGEST_GAP_S: Final = 300.0  # a scheduler decides every few seconds
_FOR_SHARE_OR_ROOM: Final = frozenset(
    {Reason.QUEUE_AT_FAIR_SHARE, Reason.NOT_ENOUGH_RESOURCES, Reason.CLUSTER_OVERCOMMITTED}
)
# Reasons without shortages: all that their pods ask for is waited for.
_FOR_ROOM_LATER: Final = frozenset({Reason.VICTIMS_PROTECTED_UNTIL, Reason.ROOM_HELD, Reason.PLANNED_START})
_OTHERS_MATTER: Final = frozenset({Cure.OTHERS_FINISH, Cure.SHARE_GROWS})

Inside = dict[tuple[str, str], dict[str, float]]  # by leaf and namespace, then by resource


@dataclass
class Growth:
    """Numbers per queue and resource, and per namespace of a leaf; names outlive the tree and the axis."""

    queues: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    columns: Floats = field(default_factory=lambda: np.zeros((0, 0)))  # [R, Q] whole units
    inside: Inside = field(default_factory=dict)

    def hours(self) -> Iterable[tuple[str, dict[str, float]]]:
        """The hours of every queue that has some."""
        for column in np.flatnonzero(self.columns.any(axis=0)).tolist():
            units = self.columns[:, column].tolist()
            yield self.queues[column], _hours(zip(self.resources, units, strict=True))


@dataclass(eq=False)
class UseMeter:
    """Adds up what counts since the last boundary of a minute."""

    _decided: float | None = None  # when the last decision was
    _rates: Growth = field(default_factory=Growth)  # what each second since then adds
    _added: Growth = field(default_factory=Growth)  # since the last boundary, as much as is left of it

    def advance(self, tables: Tables, usage: Usage, now: float) -> None:
        """Add the time since the last decision, and publish what was added if a minute is over."""
        before, self._decided = self._decided, now
        if before is None:
            return
        boundary = floor(now / _MINUTE_S) * _MINUTE_S
        counts = 0.0 <= now - before <= _LONGEST_GAP_S
        if boundary > before:
            self._add(usage, boundary - before, counts=counts)
            self._publish(tables, usage, boundary)
            before = boundary
        self._add(usage, max(0.0, now - before), counts=counts)

    def observe(self, tables: Tables, plan: Plan) -> None:
        """Take down what a decision left: who uses what, and who waits for what."""
        waits = _waiting(tables, plan)
        self._rates = _rates(tables, plan, waits) if waits else Growth()

    def _add(self, usage: Usage, seconds: float, *, counts: bool) -> None:
        """Let what was added decay for a time, and add what each second of it adds."""
        left, rate = usage.decay(seconds), log(2) / usage.half_life_s
        lasting = -expm1(-rate * seconds) / rate if counts else 0.0  # seconds, less what decays in them
        rates, added = self._rates, self._added
        if not rates.queues and not added.queues:
            return
        if (added.queues, added.resources) != (rates.queues, rates.resources) and rates.queues:
            added = self._added = _laid_out(added, rates)
        added.columns *= left
        if rates.queues:
            added.columns += rates.columns * lasting
        for amounts in added.inside.values():
            for resource in amounts:
                amounts[resource] *= left
        for key, units in rates.inside.items():
            sums = added.inside.setdefault(key, {})
            for resource, amount in units.items():
                sums[resource] = sums.get(resource, 0.0) + amount * lasting

    def _publish(self, tables: Tables, usage: Usage, time: float) -> None:
        """Add what has grown to the histories of the queues that are still there."""
        added, self._added = self._added, Growth()
        inside: dict[str, dict[str, dict[str, float]]] = {}
        for (leaf, namespace), units in added.inside.items():
            inside.setdefault(leaf, {})[namespace] = _hours(units.items())
        grown = dict(added.hours())
        for name in dict.fromkeys((*grown, *inside)):
            row = tables.queues.get(name)
            if row is None:
                continue
            known = tables.past_use.histories.get(name) or History(time, usage)
            left = known.at(time, usage)
            namespaces = _kept(row, left.namespaces, inside.get(name, {}))
            used = rounded(_sum(left.used, grown.get(name, {})))
            tables.past_use.publish(name, History(time, usage, used, namespaces))


def _kept(row: QueueRow, left: Mapping[str, Hours], grown: Mapping[str, Hours]) -> dict[str, Hours]:
    """The namespaces of a leaf; one that is gone is forgotten when it is less than a thousandth."""
    summed = {name: rounded(_sum(left.get(name, {}), grown.get(name, {}))) for name in {**left, **grown}}
    totals, there = totals_of(summed.values()), set(present(row))
    kept = {name: hours if name in there else large(hours, totals) for name, hours in summed.items()}
    return {name: hours for name, hours in kept.items() if hours}


def _sum(one: Hours, other: Hours) -> dict[str, float]:
    return {name: one.get(name, 0.0) + other.get(name, 0.0) for name in {**one, **other}}


def _hours(units: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Hours of what was added up in units x seconds."""
    return {name: hours_of(name, amount, 1.0) for name, amount in units if amount}


def _laid_out(added: Growth, like: Growth) -> Growth:
    """The same numbers for another tree or axis; queues that are gone are left out."""
    columns = np.zeros(like.columns.shape)
    rows = {name: row for row, name in enumerate(like.resources)}
    places = {name: column for column, name in enumerate(like.queues)}
    for column, queue in enumerate(added.queues):
        for row, resource in enumerate(added.resources):
            if queue in places and resource in rows:
                columns[rows[resource], places[queue]] = added.columns[row, column]
    return Growth(like.queues, like.resources, columns, added.inside)


# --- who waits for what


Waiting = dict[int, dict[str, set[int]]]  # by leaf and namespace: the resources that a group waits for


def _waiting(tables: Tables, plan: Plan) -> Waiting:
    waits: Waiting = {}
    known: dict[int, frozenset[int]] = {}  # many groups share one refusal
    for key, outcome in plan.pod_groups.items():
        refusal = outcome.refusal
        if refusal is None:
            continue
        resources = known.get(id(refusal))
        if resources is None:
            rows = tables.axis.row
            resources = known[id(refusal)] = frozenset(rows[name] for name in lacking(refusal))
        is_later = refusal.reason in _FOR_ROOM_LATER
        group = tables.groups.get(key) if resources or is_later else None
        if group is not None and group.leaf is not None:
            if is_later:
                resources = frozenset(
                    row for shape in {pod.shape for pod in group.pending} for row, _ in shape.needs
                )
            inside = waits.setdefault(group.leaf.index, {})
            inside.setdefault(group.namespace, set()).update(resources)
    return waits


def lacking(refusal: Refusal) -> set[str]:
    """The resources of which a group waits for share or room that others could leave it."""
    found: set[str] = set()
    for one in (refusal, *refusal.further):
        if one.reason in _FOR_SHARE_OR_ROOM and one.cure in _OTHERS_MATTER:
            # What a node has most of may suffice for one pod and not for all that start together.
            short = [each.resource for each in one.shortages if each.wanted > each.available]
            found.update(short or [each.resource for each in one.shortages])
    return found


# --- what counts of what is used


def _rates(tables: Tables, plan: Plan, waits: Waiting) -> Growth:
    """What each second adds: what queues and namespaces use of resources that a sibling waits for."""
    used, inside = _used_after(tables, plan, waits)
    rolled = roll_up_used(tables.tree, used)  # [R, Q]
    is_waiting = np.zeros(rolled.shape, np.int64)  # [R, Q] whether a group below waits
    for leaf, namespaces in waits.items():
        rows = sorted(set().union(*namespaces.values()))
        for queue in tables.paths[leaf]:
            is_waiting[rows, queue] = 1
    siblings = np.zeros(rolled.shape, np.int64)  # [R, Q] how many siblings wait
    for level in tables.tree.levels:
        sums = np.add.reduceat(is_waiting[:, level.queues], level.starts, axis=1)
        sizes = np.diff(np.append(level.starts, level.queues.stop - level.queues.start))
        siblings[:, level.queues] = np.repeat(sums, sizes, axis=1) - is_waiting[:, level.queues]
    columns = np.where(siblings > 0, rolled, 0).astype(np.float64)
    return Growth(tables.tree.names, tuple(tables.axis.names), columns, inside)


def _used_after(tables: Tables, plan: Plan, waits: Waiting) -> tuple[Ints, Inside]:
    """What leaves use once the plan is carried out, and of leaves with waiting groups their namespaces."""
    leaves: list[Column] = [list(row.used) for row in tables.rows]
    inside = {
        leaf: {name: list(column) for name, column in tables.rows[leaf].namespaces.items()} for leaf in waits
    }
    for pod, sign in _changes(tables, plan):
        leaf = pod.group.leaf if pod.group is not None else None
        if leaf is None:
            continue
        add_needs(leaves[leaf.index], pod.shape.needs, sign)
        if leaf.index in inside:
            column = inside[leaf.index].setdefault(pod.namespace, tables.axis.zeros())
            add_needs(column, pod.shape.needs, sign)
    return np.array(leaves, np.int64).T, _inside_rates(tables, inside, waits)


def _changes(tables: Tables, plan: Plan) -> Iterable[tuple[PodRow, int]]:
    """The pods that a plan lets use something, or no longer; those with promised room count as placed."""
    for key in {*(one.pod for one in plan.binds), *(one.pod for one in plan.nominations)}:
        pod = tables.pods.get(key)
        if pod is not None and (pod.counted is None or not pod.counted.is_used):
            yield pod, 1
    for eviction in plan.evictions:
        pod = tables.pods.get(eviction.pod)
        if pod is not None and pod.counted is not None and pod.counted.is_used:
            yield pod, -1


def _inside_rates(tables: Tables, inside: Mapping[int, Mapping[str, Column]], waits: Waiting) -> Inside:
    """What namespaces use in their leaf of resources that another namespace waits for there."""
    rates: Inside = {}
    names = tables.axis.names
    for leaf, used in inside.items():
        waiting = waits[leaf]
        numbers = Counter(row for rows in waiting.values() for row in rows)
        for namespace, column in used.items():
            own = waiting.get(namespace, ())
            rows = [row for row, number in numbers.items() if column[row] and number > (row in own)]
            if rows:
                counts = {names[row]: float(column[row]) for row in sorted(rows)}
                rates[tables.rows[leaf].name, namespace] = counts
    return rates

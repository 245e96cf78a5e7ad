"""What a change would do: the cluster as it comes to rest without the change, and with it.

First the cluster decides until nothing changes, as it would do anyway. Then the change is made, and
it decides again until nothing changes. What differs between the two is what the change does; pods
that are evicted on the way are what it costs. Later starts follow from expected run times, in both
futures alike.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import nan
from typing import Final, NamedTuple

import numpy as np

from maar.core.admission.request import Options
from maar.core.answers.future import Future, Present, Start
from maar.core.answers.starts.ask import planned_starts
from maar.core.answers.tree.ask import queues_with_statuses
from maar.core.answers.whatif.answer import (
    Binds,
    Evictions,
    Floats,
    Integers,
    JobChanges,
    QueueChanges,
    WhatIfColumns,
)
from maar.core.answers.whatif.changes import Change, apply
from maar.core.answers.whatif.text import what_if_data, what_if_lines
from maar.core.model.metadata import Object
from maar.core.model.plan import Plan, QueueStanding
from maar.core.model.pod import Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.queue import Queue
from maar.core.model.resources import Resources
from maar.core.model.volume import PersistentVolume, PersistentVolumeClaim
from maar.core.simulation.collection import without_collection
from maar.core.views.drawing import plain

_FOLLOWED: Final = (Pod, PodGroup, PersistentVolume, PersistentVolumeClaim)  # what the simulation changes
_NOTHING: Final = Resources()
_NOT_ASKED: Final = Start(None, "unknown")  # or no question: it runs, or is not there


@dataclass(frozen=True, eq=False)
class WhatIf(WhatIfColumns):
    """What a change would do: columns to work with, and a text that prints as `maar whatif` does."""

    warnings: tuple[str, ...] = ()  # what was found in manifests that were submitted
    queues_before: tuple[Queue, ...] = ()  # at rest, each with the status that Maar would write
    queues_after: tuple[Queue, ...] = ()

    def data(self) -> dict[str, object]:
        """Everything row by row with exact quantities, as `maar whatif -o json` prints it."""
        return what_if_data(self)

    def text(self) -> str:
        """Draw it."""
        return "\n".join(plain(line) for line in what_if_lines(self))

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        counts = ((len(self.binds.pod), "bind"), (len(self.evictions.pod), "eviction"))
        counted = ", ".join(f"{count} {word}{'' if count == 1 else 's'}" for count, word in counts)
        return f"<WhatIf: {counted}; print() shows it>"


class Rest(NamedTuple):
    """A cluster that has come to rest."""

    time: float
    plans: list[Plan]
    queues: Mapping[str, QueueStanding]
    queue_objects: tuple[Queue, ...]
    groups: dict[str, PodGroup]
    running: Counter[str]  # pods on nodes, by group
    waiting: Counter[str]
    nodes: dict[str, str]  # of the pods on nodes
    starts: Mapping[str, Start]


@without_collection()
def what_if(
    present: Present,
    changes: Sequence[Change],
    options: Options | None = None,
    *,
    first_starts: int = 0,
    is_wanted: Callable[[], bool] = lambda: True,
) -> WhatIf:
    """Say what changes would do; with starts of the first waiting groups of each queue, where asked for.

    Once the answer is no longer wanted, it stops after the decision that is being made: StoppedError.
    """
    options = options or Options(scheduler_names=(present.scheduler_name,))
    future = Future(present, victims_return_later=True, is_wanted=is_wanted)
    before = _at_rest(future, present.objects, first_starts, is_wanted)
    changed = apply(objects_at_rest(present.objects, future), changes, options)
    groups_of = {pod: future.simulation.cluster.pods[pod].group_key for pod in changed.evicted}
    future.change(changed.events, changed.evicted)
    after = _at_rest(future, changed.objects, first_starts, is_wanted)
    evictions = _evictions(future, before, after, changed.evicted, groups_of)
    return WhatIf(
        queues=_queue_changes(before.queues, after.queues),
        jobs=_job_changes(before, after, Counter(evictions.group)),
        evictions=evictions,
        binds=_binds(before.nodes, after.nodes),
        warnings=tuple(changed.warnings),
        queues_before=before.queue_objects,
        queues_after=after.queue_objects,
    )


def _at_rest(
    future: Future, objects: Iterable[Object], first_starts: int, is_wanted: Callable[[], bool]
) -> Rest:
    """Let a cluster decide until nothing changes."""
    plans = future.now()
    simulation = future.simulation
    last = plans[-1]
    if last.binds or last.evictions:  # its queues stand as before them
        last = simulation.engine.decide(simulation.time)
    running, waiting, nodes = Counter[str](), Counter[str](), dict[str, str]()
    for key, row in simulation.engine.tables.pods.items():
        if row.is_live and row.is_ours and not row.is_terminating:
            (running if row.node_name else waiting)[row.group_key] += 1
            if row.node_name:
                nodes[key] = row.node_name
    for group, pods in future.held.items():
        waiting[group] += len(pods)
    starts: Mapping[str, Start] = {}
    if first_starts:
        known = future.present
        rest = tuple(objects_at_rest(objects, future))
        starts = planned_starts(
            Present(rest, known.configuration, simulation.time, known.scheduler_name),
            first=first_starts,
            is_wanted=is_wanted,
        )
    queues = queues_with_statuses(simulation.engine.tables, last.queues)
    groups = dict(simulation.cluster.groups)
    return Rest(simulation.time, plans, last.queues, queues, groups, running, waiting, nodes, starts)


def objects_at_rest(objects: Iterable[Object], future: Future) -> Iterator[Object]:
    """Objects, with what has become of them in the future."""
    cluster, tables = future.simulation.cluster, future.simulation.engine.tables
    yield from (one for one in objects if not isinstance(one, _FOLLOWED))
    yield from cluster.groups.values()
    yield from cluster.pods.values()
    yield from tables.claims.values()
    yield from tables.volumes.values()


def _queue_changes(before: Mapping[str, QueueStanding], after: Mapping[str, QueueStanding]) -> QueueChanges:
    names, resources, amounts = list[str](), list[str](), list[tuple[int, int, int, int]]()
    for name in sorted({**before, **after}):
        was, becomes = before.get(name), after.get(name)
        columns = [one.deserved if one is not None else _NOTHING for one in (was, becomes)] + [
            one.used if one is not None else _NOTHING for one in (was, becomes)
        ]
        for resource in {each: None for column in columns for each in column}:
            first, second, third, fourth = (column.get(resource, 0) for column in columns)
            names.append(name)
            resources.append(resource)
            amounts.append((first, second, third, fourth))
    table = np.array(amounts, np.int64).reshape(-1, 4)
    return QueueChanges(names, resources, table[:, 0], table[:, 1], table[:, 2], table[:, 3])


def _job_changes(before: Rest, after: Rest, lost: Mapping[str, int]) -> JobChanges:
    groups = {**before.groups, **after.groups}
    keys = [key for key in groups if _has_work(key, before) or _has_work(key, after)]
    outcomes = after.plans[-1].pod_groups
    was, becomes = _starts(before, keys), _starts(after, keys, before)
    return JobChanges(
        group=keys,
        job=[_owner(groups[key]) for key in keys],
        queue=[groups[key].spec.queue for key in keys],
        running_before=_column(before.running, keys),
        running_after=_column(after.running, keys),
        waiting_before=_column(before.waiting, keys),
        waiting_after=_column(after.waiting, keys),
        evicted=_column(lost, keys),
        start_before=_times(was),
        start_after=_times(becomes),
        certainty_before=[one.certainty for one in was],
        certainty_after=[one.certainty for one in becomes],
        reason=[outcomes[key].message if key in outcomes else "" for key in keys],
    )


def _has_work(group: str, rest: Rest) -> bool:
    """Whether a group has pods, or waits for admission."""
    known = rest.groups.get(group)
    is_waiting = known is not None and known.status.is_waiting
    return bool(is_waiting or rest.running[group] or rest.waiting[group])


def _starts(rest: Rest, keys: list[str], earlier: Rest | None = None) -> list[Start]:
    """The starts of groups; of those that start with the change, now; of others that run or go, none."""
    now = Start(rest.time, "exact")
    return [
        now
        if earlier is not None and rest.running[key] and not earlier.running[key]
        else rest.starts.get(key, _NOT_ASKED)
        for key in keys
    ]


def _times(starts: list[Start]) -> Floats:
    return np.array([nan if one.time is None else one.time for one in starts], np.float64)


def _evictions(
    future: Future, before: Rest, after: Rest, by_change: Mapping[str, str], groups_of: Mapping[str, str]
) -> Evictions:
    """The pods that the change itself evicts, and then those that decisions evict."""
    rows = [(pod, groups_of[pod], how, "", "") for pod, how in by_change.items()]
    held = {one.key: one for pods in future.held.values() for one in pods}
    pods = {**future.simulation.cluster.pods, **held}
    rows += [
        (one.pod, pods[one.pod].group_key, one.action, one.beneficiary or "", one.why)
        for plan in after.plans
        for one in plan.evictions
    ]
    groups = {**before.groups, **after.groups}
    return Evictions(
        pod=[one[0] for one in rows],
        group=[one[1] for one in rows],
        queue=[groups[one[1]].spec.queue if one[1] in groups else "" for one in rows],
        action=[one[2] for one in rows],
        beneficiary=[one[3] for one in rows],
        why=[one[4] for one in rows],
    )


def _binds(before: Mapping[str, str], after: Mapping[str, str]) -> Binds:
    moved = [pod for pod, node in after.items() if before.get(pod) != node]
    return Binds(moved, [after[pod] for pod in moved])


def _owner(group: PodGroup) -> str:
    names = [one.name for one in group.metadata.owner_references if one.controller]
    return PodGroup.key_of(group.metadata.namespace, names[0]) if names else group.key


def _column(counts: Mapping[str, int], keys: list[str]) -> Integers:
    return np.array([counts.get(key, 0) for key in keys], np.int64)

"""What a change would do: the cluster as it comes to rest without the change, and with it.

First the cluster decides until nothing changes, as it would do anyway. Then the change is made, and it
decides again until nothing changes. What differs between the two is what the change does; pods that are
evicted on the way are what it costs. Later starts follow from expected run times, in both futures alike.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import nan
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maar.core.admission.request import Options
from maar.core.answers.changes import Change, apply
from maar.core.answers.future import Certainty, Future, Present, Start
from maar.core.answers.starts import planned_starts
from maar.core.model.metadata import Object
from maar.core.model.plan import Plan, QueueStanding
from maar.core.model.pod import GROUP_ANNOTATION, Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.resources import Resources
from maar.core.model.volume import PersistentVolume, PersistentVolumeClaim

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

_FOLLOWED: Final = (Pod, PodGroup, PersistentVolume, PersistentVolumeClaim)  # what the simulation changes
_NOTHING: Final = Resources()
_NOT_ASKED: Final = Start(None, "unknown")  # or no question: it runs, or is not there


class QueueChanges(NamedTuple):
    """A row for every queue and resource, amounts in whole units: thousandths of a CPU, bytes, pieces."""

    queue: list[str]
    resource: list[str]
    deserved_before: Integers
    deserved_after: Integers
    used_before: Integers
    used_after: Integers


class JobChanges(NamedTuple):
    """A row for every pod group; times in seconds since the epoch, NaN where nobody knows."""

    group: list[str]
    job: list[str]  # the key of its owner, or of the group itself where it has none
    queue: list[str]
    running_before: Integers  # pods on nodes
    running_after: Integers
    waiting_before: Integers  # pods without a node
    waiting_after: Integers
    evicted: Integers  # pods, on the way
    start_before: Floats
    start_after: Floats
    certainty_before: list[Certainty]
    certainty_after: list[Certainty]
    reason: list[str]  # why it waits after the change; empty: it does not


class Evictions(NamedTuple):
    """A row for every pod that the change would evict, in the order in which they go."""

    pod: list[str]
    group: list[str]
    queue: list[str]
    action: list[str]  # reclaim, preempt or cleanup; drain, or the deletion of its node
    beneficiary: list[str]  # the group that it makes room for; empty: none
    why: list[str]


class Binds(NamedTuple):
    """A row for every pod that runs somewhere only with the change."""

    pod: list[str]
    node: list[str]


@dataclass(frozen=True, eq=False)
class WhatIf:
    """What a change would do, as columns."""

    queues: QueueChanges
    jobs: JobChanges
    evictions: Evictions
    binds: Binds
    warnings: tuple[str, ...] = ()

    @property
    def evicts(self) -> bool:
        """Whether somebody would be evicted."""
        return bool(self.evictions.pod)

    def to_dict(self) -> dict[str, dict[str, object]]:
        """The columns by name; each part can become a data frame of whatever library."""
        return {
            "queues": self.queues._asdict(),
            "jobs": self.jobs._asdict(),
            "evictions": self.evictions._asdict(),
            "binds": self.binds._asdict(),
        }


class Rest(NamedTuple):
    """A cluster that has come to rest."""

    future: Future
    plans: list[Plan]
    queues: Mapping[str, QueueStanding]
    running: Counter[str]  # pods on nodes, by group
    waiting: Counter[str]
    nodes: dict[str, str]  # of the pods on nodes
    starts: Mapping[str, Start]


def what_if(
    present: Present,
    changes: Sequence[Change],
    options: Options | None = None,
    *,
    first_starts: int = 0,
) -> WhatIf:
    """Say what changes would do; with starts of the first waiting groups of each queue, where asked for."""
    options = options or Options(scheduler_names=(present.scheduler_name,))
    before = _at_rest(present, first_starts)
    changed = apply(_objects(before.future), changes, options)
    later = Present(
        changed.objects, present.configuration, before.future.simulation.time, present.scheduler_name
    )
    after = _at_rest(later, first_starts)
    return WhatIf(
        queues=_queue_changes(before.queues, after.queues),
        jobs=_job_changes(before, after, changed.evicted),
        evictions=_evictions(before, after, changed.evicted),
        binds=_binds(before.nodes, after.nodes),
        warnings=tuple(changed.warnings),
    )


def _at_rest(present: Present, first_starts: int) -> Rest:
    """Let a cluster decide until nothing changes."""
    future = Future(present)
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
    starts: Mapping[str, Start] = {}
    if first_starts:
        rest = Present(
            tuple(_objects(future)), present.configuration, simulation.time, present.scheduler_name
        )
        starts = planned_starts(rest, first=first_starts)
    return Rest(future, plans, last.queues, running, waiting, nodes, starts)


def _objects(future: Future) -> Iterator[Object]:
    """The objects of a cluster at rest."""
    cluster, tables = future.simulation.cluster, future.simulation.engine.tables
    yield from (one for one in future.present.objects if not isinstance(one, _FOLLOWED))
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


def _job_changes(before: Rest, after: Rest, drained: Mapping[str, str]) -> JobChanges:
    groups = {**before.future.simulation.cluster.groups, **after.future.simulation.cluster.groups}
    keys = [key for key in groups if _counts(key, before) or _counts(key, after)]
    lost = Counter(pod.group for pod in _evicted(before, after, drained))
    outcomes = after.plans[-1].pod_groups
    starts = [_starts(before, keys), _starts(after, keys, before)]
    return JobChanges(
        group=keys,
        job=[_owner(groups[key]) for key in keys],
        queue=[groups[key].spec.queue for key in keys],
        running_before=_column(before.running, keys),
        running_after=_column(after.running, keys),
        waiting_before=_column(before.waiting, keys),
        waiting_after=_column(after.waiting, keys),
        evicted=_column(lost, keys),
        start_before=np.array([nan if one.time is None else one.time for one in starts[0]], np.float64),
        start_after=np.array([nan if one.time is None else one.time for one in starts[1]], np.float64),
        certainty_before=[one.certainty for one in starts[0]],
        certainty_after=[one.certainty for one in starts[1]],
        reason=[outcomes[key].message if key in outcomes else "" for key in keys],
    )


def _counts(group: str, rest: Rest) -> bool:
    """Whether a group has work: pods, or a wait for admission."""
    known = rest.future.simulation.cluster.groups.get(group)
    is_waiting = known is not None and known.status.phase in ("", "Pending", "Inqueue")
    return bool(rest.running[group] or rest.waiting[group] or is_waiting)


def _starts(rest: Rest, keys: list[str], earlier: Rest | None = None) -> list[Start]:
    """The starts of groups; of those that start with the change, now; of others that run or go, none."""
    now = Start(rest.future.simulation.time, "exact")
    started = [earlier is not None and bool(rest.running[key]) and not earlier.running[key] for key in keys]
    return [
        now if is_new else rest.starts.get(key, _NOT_ASKED) for key, is_new in zip(keys, started, strict=True)
    ]


class _Evicted(NamedTuple):
    pod: str
    group: str
    action: str
    beneficiary: str
    why: str


def _evicted(before: Rest, after: Rest, drained: Mapping[str, str]) -> Iterable[_Evicted]:
    """The pods that the changes or decisions after them evict."""
    pods = before.future.simulation.cluster.pods
    for pod, how in drained.items():
        yield _Evicted(pod, _group(pods[pod]), how, "", "")
    pods = after.future.simulation.cluster.pods
    for plan in after.plans:
        for one in plan.evictions:
            yield _Evicted(one.pod, _group(pods[one.pod]), one.action, one.beneficiary or "", one.why)


def _evictions(before: Rest, after: Rest, drained: Mapping[str, str]) -> Evictions:
    rows = list(_evicted(before, after, drained))
    groups = {**after.future.simulation.cluster.groups, **before.future.simulation.cluster.groups}
    return Evictions(
        [one.pod for one in rows],
        [one.group for one in rows],
        [groups[one.group].spec.queue if one.group in groups else "" for one in rows],
        [one.action for one in rows],
        [one.beneficiary for one in rows],
        [one.why for one in rows],
    )


def _binds(before: Mapping[str, str], after: Mapping[str, str]) -> Binds:
    moved = [pod for pod, node in after.items() if before.get(pod) != node]
    return Binds(moved, [after[pod] for pod in moved])


def _group(pod: Pod) -> str:
    name = pod.metadata.annotations.get(GROUP_ANNOTATION, "")
    return f"{pod.metadata.namespace or 'default'}/{name}" if name else ""


def _owner(group: PodGroup) -> str:
    names = [one.name for one in group.metadata.owner_references if one.controller]
    return PodGroup.key_of(group.metadata.namespace, names[0]) if names else group.key


def _column(counts: Mapping[str, int], keys: list[str]) -> Integers:
    return np.array([counts.get(key, 0) for key in keys], np.int64)

"""Jobs of batch/v1: whether their pods may go alone, and the pods to come of those that Maar suspends.

The problem. The pods of a suspended Job are deleted, and yet its group waits for its turn like any
other. When its turn has come the Job is resumed, and until its pods exist nobody else may have
their places.

How it works. A Job that Maar has suspended has *pods to come*: rows made from its template that are
pods to every decision, but for being bound. Their places are promises. A plan that gives them
places says so of their group (`Resume`), which is written to the group as `promised_room`. From
then on every pod of the Job that waits, and then every pod to come, is promised one of the nodes
written there, less those that pods of the Job have by now. So each pod that is made takes the place
of one to come, and its room with it.

Invariants. A Job has as many pods, live ones and those to come, as it wants, while it is suspended
by Maar or is promised room, and no pods to come otherwise. What is promised ends by itself, with
its time or with the generation of the Job that it is for.

A Job is looked at again before the next decision when it, its group, or a pod of it has changed.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import inf
from typing import Protocol

from maar.core.model.metadata import Metadata, OwnerReference
from maar.core.model.pod import GROUP_ANNOTATION, Pod
from maar.core.model.pod_group import PromisedRoom, PromiseToJob
from maar.core.model.workload import BatchJob
from maar.core.tables.numbers import COMPLETION_INDEX
from maar.core.tables.reading import read_pod
from maar.core.tables.rows import GroupRow, PodRow
from maar.core.tables.shapes import Shapes


class _PodTables(Protocol):
    """What changes with the pods to come of a Job."""

    changes: int
    groups: dict[str, GroupRow]
    scheduler_name: str
    shapes: Shapes

    def put_pod(self, row: PodRow) -> None:
        """Add a pod, or take the row for the one that is known."""

    def remove_pod(self, key: str) -> None:
        """Remove a pod."""

    def promise(self, pod: PodRow, node: str) -> None:
        """Promise a pod of a Job a node, or none."""


@dataclass(slots=True, eq=False)
class JobRow:
    """A Job and its pods to come."""

    job: BatchJob
    group_key: str
    can_be_suspended: bool
    to_come: dict[int, PodRow] = field(default_factory=dict)  # by number

    @property
    def spare_failures(self) -> float:
        """How many pods may still be evicted as pods without ending or delaying the Job."""
        spec, status = self.job.spec, self.job.status
        if not self.can_be_suspended:
            return inf  # nothing better can be done
        if spec.pod_failure_policy is None or not spec.pod_failure_policy.ignores_evictions:
            return 0
        return max(0, spec.backoff_limit - status.failed)


@dataclass(eq=False)
class BatchJobs:
    """The Jobs of our scheduler, by uid."""

    tables: _PodTables
    by_uid: dict[str, JobRow] = field(default_factory=dict)
    _uids: dict[str, str] = field(default_factory=dict)  # by key
    _of_group: dict[str, dict[str, None]] = field(default_factory=dict)  # uids, by the key of the group
    promised_until: dict[str, float] = field(default_factory=dict)  # until when, by the key of the group
    _stale: dict[str, None] = field(default_factory=dict)

    # --- what has changed

    def put(self, job: BatchJob) -> None:
        """Know a Job as it is now."""
        self.tables.changes += 1
        uid, known = job.metadata.uid, self.by_uid.get(self._uids.get(job.key, ""))
        if known is not None and (
            known.job.metadata.uid != uid or known.job.spec.template != job.spec.template
        ):
            self.remove(job.key)
            known = None
        if not _is_for(job, self.tables.scheduler_name):
            return
        to_come = known.to_come if known is not None else {}
        row = self.by_uid[uid] = JobRow(job, job.group_key, job.can_be_suspended, to_come)
        self._uids[job.key] = uid
        self._of_group.setdefault(row.group_key, {})[uid] = None
        if job.suspended_for is not None or to_come or row.group_key in self.promised_until:
            self._stale[uid] = None

    def remove(self, key: str) -> None:
        """Forget a Job."""
        uid = self._uids.pop(key, None)
        if uid is None:
            return
        self.tables.changes += 1
        row = self.by_uid.pop(uid)
        self._stale.pop(uid, None)
        for pod in row.to_come.values():
            self.tables.remove_pod(pod.key)
        others = self._of_group[row.group_key]
        del others[uid]
        if not others:
            del self._of_group[row.group_key]
        self._sum_up(row.group_key)

    def pod_changed(self, pod: PodRow) -> None:
        """Note that a pod has come, changed or gone."""
        row = self.by_uid.get(pod.batch_job)
        if row is not None and (row.to_come or row.group_key in self.promised_until) and not pod.is_to_come:
            self._stale[pod.batch_job] = None

    def group_changed(self, key: str, room: PromisedRoom | None) -> None:
        """Note that a group has come, changed or gone, and what room its Jobs are promised."""
        had_room = self.promised_until.pop(key, None) is not None
        if room is not None:
            self.promised_until[key] = room.until.timestamp()
        for uid in self._of_group.get(key, ()):
            row = self.by_uid[uid]
            if had_room or room is not None or row.to_come or row.job.suspended_for is not None:
                self._stale[uid] = None

    def promise_room(self, key: str, room: PromisedRoom | None) -> None:
        """Promise room to the pods to come of a group."""
        self.tables.changes += 1
        group = self.tables.groups.get(key)
        if group is not None:
            group.promised_room = room
            self.group_changed(key, room)

    # --- what follows

    def of_group(self, key: str) -> Iterator[JobRow]:
        """The Jobs whose pods belong to a group."""
        return map(self.by_uid.__getitem__, self._of_group.get(key, ()))

    def settle(self, now: float | None) -> None:
        """Let every Job that may have changed have its pods to come, and them the nodes they are promised."""
        if now is not None:
            for key in [key for key, until in self.promised_until.items() if until <= now]:
                del self.promised_until[key]
                self._stale.update(self._of_group.get(key, {}))
        if not self._stale:
            return
        groups = dict.fromkeys(self.by_uid[uid].group_key for uid in self._stale)
        for uid in self._stale:
            self._settle(uid, self.by_uid[uid])
        self._stale.clear()
        for key in groups:
            self._sum_up(key)

    def promise_to(self, row: JobRow) -> PromiseToJob | None:
        """The room that a Job is promised."""
        group = self.tables.groups.get(row.group_key)
        if group is None or group.promised_room is None or row.group_key not in self.promised_until:
            return None
        job = row.job
        found = group.promised_room.jobs.get(job.metadata.name)
        return found if found is not None and found.is_for(job.metadata.generation) else None

    def _settle(self, uid: str, row: JobRow) -> None:
        group, job, promise = self.tables.groups.get(row.group_key), row.job, self.promise_to(row)
        members = [] if group is None else [pod for pod in group.pods.values() if pod.batch_job == uid]
        live = [pod for pod in members if pod.is_live and not pod.is_terminating and not pod.is_to_come]
        numbers = list[int]()
        if (
            group is not None
            and (job.suspended_for is not None or promise is not None)
            and not job.is_finished
        ):
            numbers = _open(job, live)
        for number in [one for one in row.to_come if one not in numbers]:
            self.tables.remove_pod(row.to_come.pop(number).key)
        for number in numbers:
            if number not in row.to_come:
                row.to_come[number] = self._add(pod_to_come(job, number))
        nodes = Counter(promise.nodes if promise is not None else ())
        self._promise(nodes, live, [row.to_come[number] for number in sorted(row.to_come)])

    def _add(self, pod: Pod) -> PodRow:
        tables = self.tables
        row = replace(read_pod(pod, tables.shapes, tables.scheduler_name), is_to_come=True)
        tables.put_pod(row)
        return row

    def _promise(self, left: Counter[str], live: list[PodRow], to_come: list[PodRow]) -> None:
        """Promise nodes to pods that wait, then to those to come; who has one takes it from the list."""
        waiting = list[PodRow]()
        for pod in live:
            node = pod.node_name or pod.nominated
            if not node:
                waiting.append(pod)
            elif left[node] > 0:
                left[node] -= 1
        free = iter(sorted(left.elements()))
        for pod in [*sorted(waiting, key=lambda pod: pod.order), *to_come]:
            node = next(free, "")
            if pod.promised_with_job != node:
                self.tables.promise(pod, node)

    def _sum_up(self, key: str) -> None:
        """Note on a group how many of its pods are to come, and why."""
        group = self.tables.groups.get(key)
        if group is not None:
            rows = list(self.of_group(key))
            group.to_come = sum(len(row.to_come) for row in rows)
            suspended = (row.job.suspended_for for row in rows if row.to_come)
            group.suspended_for = next((one for one in suspended if one is not None), None)


def pod_to_come(job: BatchJob, number: int) -> Pod:
    """A pod as the Job will make it; no real pod has such a name."""
    template, metadata = job.spec.template, job.metadata
    index = {COMPLETION_INDEX: str(number)} if job.is_indexed else {}
    about = Metadata(
        name=f"{metadata.name}+{number}",
        namespace=metadata.namespace,
        creation_timestamp=metadata.creation_timestamp,
        labels={**template.metadata.labels, **index},
        annotations={
            **template.metadata.annotations,
            GROUP_ANNOTATION: job.group_key.rpartition("/")[2],
            **index,
        },
        owner_references=(owner_of(metadata.name, metadata.uid),),
    )
    return Pod(metadata=about, spec=template.spec)


def owner_of(name: str, uid: str) -> OwnerReference:
    """How a pod refers to the Job that made it."""
    return OwnerReference(
        api_version=BatchJob.api_version, kind=BatchJob.kind, name=name, uid=uid, controller=True
    )


def _open(job: BatchJob, live: list[PodRow]) -> list[int]:
    """The numbers of the pods that a Job with these live pods lacks."""
    numbers = job.numbers_to_run()
    if not job.is_indexed:
        return list(numbers[: max(0, len(numbers) - len(live))])
    there = {pod.number for pod in live}
    return [number for number in numbers if number not in there]


def _is_for(job: BatchJob, scheduler_name: str) -> bool:
    return job.spec.template.spec.scheduler_name == scheduler_name

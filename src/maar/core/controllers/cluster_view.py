"""What the controllers know of a cluster: one copy for all of them, kept event by event.

Every event gives the changes that it made, each with the object before and after; controllers map
these to the keys that they have to look at. Of kinds with many or large objects only what a
controller reads is kept: of a pod what its group is made from and how it stands in its job, of a
job that is over no templates, of a workload what it says about groups. The indexes let a
controller find what belongs to a key without walking all objects of a kind.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Protocol, TypeVar

import msgspec

from maar.core.controllers.changes import (
    AnyChange,
    BatchJobChanged,
    ClaimChanged,
    CommandChanged,
    JobChanged,
    JobPodChanged,
    NamespaceChanged,
    OtherPodChanged,
    OwnerChanged,
    PodChanged,
    PodGroupChanged,
    QueueChanged,
    QuotaChanged,
    SuspendableJob,
    claims_of,
    job_of_command,
    job_to_suspend,
    label_of_namespace,
    label_of_quota,
    queue_and_phase,
    queue_of_command,
    queue_of_job,
    suspendable,
    waits_for,
    without_templates,
)
from maar.core.controllers.group_template import Member, Owners, group_name, member, of_deployment
from maar.core.controllers.index import Index, put
from maar.core.controllers.job_owners import JobOwners
from maar.core.controllers.jobs.dependencies import job_before
from maar.core.controllers.jobs.pods import JobPod, is_answered, job_pod
from maar.core.controllers.queue_counts import JOBS, QueueCounts
from maar.core.controllers.work_queue import Controller, WorkQueue
from maar.core.model.events import AnyObject, Event, Upserted
from maar.core.model.job import Command, Job
from maar.core.model.namespace import Namespace, ResourceQuota
from maar.core.model.pod import Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.priority_class import PriorityClass
from maar.core.model.queue import Queue
from maar.core.model.workload import WORKLOADS, BatchJob, Workload
from maar.core.model.writes import ControllerWrite, Create, Delete, Ensure

_T = TypeVar("_T")

_BATCH_JOB: Final = BatchJob.kind_name()
_OVER: Final = ("Completed", "Terminated", "Failed")  # for ever

ResourcePath = tuple[str, str]  # the kind and the key of an object


@dataclass(eq=False)
class ClusterView:
    """Objects by key, and indexes over them; pods and workloads only of the scheduler and kinds named."""

    scheduler_name: str = "volcano"
    workloads: tuple[type[Workload], ...] = WORKLOADS  # the kinds of owners that are known
    queues: dict[str, Queue] = field(default_factory=dict)
    groups: dict[str, PodGroup] = field(default_factory=dict)
    jobs: dict[str, Job] = field(default_factory=dict)
    job_pods: dict[str, JobPod] = field(default_factory=dict)  # also those that vanished unseen
    claims: dict[str, str] = field(default_factory=dict)  # the uid of each
    priorities: dict[str, int] = field(default_factory=dict)  # the value of each priority class
    commands: dict[str, Command] = field(default_factory=dict)
    namespaces: dict[str, Namespace] = field(default_factory=dict)
    quotas: dict[str, ResourceQuota] = field(default_factory=dict)
    pods: dict[str, Member] = field(default_factory=dict)
    batch_jobs: dict[str, SuspendableJob] = field(default_factory=dict)
    batch_jobs_of_group: Index = field(default_factory=Index)
    pods_of_batch_job: Index = field(default_factory=Index)  # that are evicted with it, by its uid
    waiting_elsewhere: dict[str, str] = field(default_factory=dict)  # the scheduler, by pod
    owners: Owners = field(default_factory=Owners)  # workloads that make pods
    job_owners: JobOwners = field(default_factory=JobOwners)  # cron jobs and flows, and their jobs
    counts: QueueCounts = field(default_factory=QueueCounts)
    pods_of_group: Index = field(default_factory=Index)
    pods_of_job: Index = field(default_factory=Index)
    jobs_after: Index = field(default_factory=Index)  # by the job that must complete before them
    jobs_of_claim: Index = field(default_factory=Index)
    commands_to_queue: Index = field(default_factory=Index)
    commands_to_job: Index = field(default_factory=Index)
    namespaces_by_label: Index = field(default_factory=Index)  # quota_label of the queue that they name
    quotas_by_label: Index = field(default_factory=Index)
    quotas_of_namespace: Index = field(default_factory=Index)
    # What the API server answered: by job, the objects that it refused, and those of kinds that are not
    # watched, with the uid of the job and the generation that they were made for, empty once deleted.
    refusals: dict[str, dict[ResourcePath, str]] = field(default_factory=dict)
    objects_made: dict[str, dict[ResourcePath, str]] = field(default_factory=dict)

    def changes(self, events: Iterable[Event]) -> Iterator[AnyChange]:
        """Take events in one by one; what each has changed is given before the next is taken in."""
        for event in events:
            yield from self.feed(event)

    def feed(self, event: Event) -> list[AnyChange]:
        """Take an event in; returns what has changed."""
        if isinstance(event, Upserted):
            return self._put(type(event.object).__name__, event.object.key, event.object)
        return self._put(event.kind, event.key, None)

    def answered(self, write: ControllerWrite, refusal: str | None) -> None:
        """Know what became of a write for a job; None where it was carried out."""
        if not isinstance(write, Create | Ensure | Delete) or not write.about:
            return
        path, job = (write.kind, write.key), write.about
        if isinstance(write, Delete):
            if refusal is None:
                self.objects_made.setdefault(job, {})[path] = ""
        elif refusal is None:
            self.refusals.pop(job, None)
            owner = self.jobs.get(job)
            if isinstance(write, Ensure) and owner is not None:
                made = f"{owner.metadata.uid}/{owner.metadata.generation}"
                self.objects_made.setdefault(job, {})[path] = made
        elif write.about_kind == "Job" and job in self.jobs:
            self.refusals.setdefault(job, {})[path] = refusal

    def _put(self, kind: str, key: str, new: AnyObject | None) -> list[AnyChange]:  # noqa: C901  one line a kind
        changes: list[AnyChange] = []
        match kind:
            case "Queue":
                changes = [self._put_queue(key, _as(Queue, new))]
            case "PodGroup":
                changes = [self._put_group(key, _as(PodGroup, new))]
            case "Pod":
                changes = self._put_pod(key, _as(Pod, new))
            case "Job":
                job = _as(Job, new)
                changes = [self._put_job(key, job), *self.job_owners.put_job(key, job)]
            case "CronJob" | "JobFlow" | "JobTemplate":
                changes = [*self.job_owners.put(kind, key, new)]
            case "PersistentVolumeClaim":
                uid = None if new is None else new.metadata.uid
                changes = [ClaimChanged(key, put(self.claims, key, uid), uid)]
            case "PriorityClass":
                put(self.priorities, key, new.value if isinstance(new, PriorityClass) else None)
            case "Command":
                changes = [self._put_command(key, _as(Command, new))]
            case "Namespace":
                changes = [self._put_namespace(key, _as(Namespace, new))]
            case "ResourceQuota":
                changes = [self._put_quota(key, _as(ResourceQuota, new))]
            case _ if isinstance(new, Workload) or (kind, key) in self.owners:
                changes = self._put_workload(kind, key, _as(Workload, new))
            case _:
                pass  # no controller reads it
        return changes

    def _put_queue(self, key: str, new: Queue | None) -> QueueChanged:
        old = put(self.queues, key, new)
        self.counts.place(key, new.parent if new is not None else None)
        return QueueChanged(key, old, new)

    def _put_group(self, key: str, new: PodGroup | None) -> PodGroupChanged:
        old = put(self.groups, key, new)
        before, after = queue_and_phase(old), queue_and_phase(new)
        if before != after:
            if before is not None:
                self.counts.add(*before, -1)
            if after is not None:
                self.counts.add(*after, 1)
        return PodGroupChanged(key, old, new)

    def _put_job(self, key: str, new: Job | None) -> JobChanged:
        if new is not None and new.status.state.phase in _OVER:
            new = without_templates(new)
        old = put(self.jobs, key, new)
        before, after = queue_of_job(old), queue_of_job(new)
        if before != after:
            if before is not None:
                self.counts.add(before, JOBS, -1)
            if after is not None:
                self.counts.add(after, JOBS, 1)
        self.jobs_after.move(
            key, job_before(old) if old is not None else None, job_before(new) if new is not None else None
        )
        self.jobs_of_claim.move_all(key, claims_of(old), claims_of(new))
        if new is None or (old is not None and old.metadata.uid != new.metadata.uid):
            self.refusals.pop(key, None)
            self.objects_made.pop(key, None)
        self._forget_vanished(key, new)
        return JobChanged(key, old, new)

    def _forget_vanished(self, key: str, job: Job | None) -> None:
        """Forget pods that vanished unseen once the status of their job has what became of them."""
        for pod in [self.job_pods[pod_key] for pod_key in self.pods_of_job.keys(key)]:
            if pod.is_gone and (job is None or is_answered(pod, job)):
                del self.job_pods[pod.key]
                self.pods_of_job.move(pod.key, key, None)

    def _put_job_pod(self, key: str, pod: Pod | None) -> list[AnyChange]:
        new, old = job_pod(pod) if pod is not None else None, self.job_pods.get(key)
        if old is None and new is None:
            return []
        if pod is None and old is not None and old.is_tracked and not old.is_marked:
            # Somebody removed it together with the finalizer, so that nobody has seen its end.
            job = self.jobs.get(old.job)
            if job is not None and job.metadata.uid == old.owner_uid:
                new = msgspec.structs.replace(old, is_gone=True)
        put(self.job_pods, key, new)
        self.pods_of_job.move(key, None if old is None else old.job, None if new is None else new.job)
        return [JobPodChanged(key, old, new)]

    def _put_command(self, key: str, new: Command | None) -> CommandChanged:
        old = put(self.commands, key, new)
        self.commands_to_queue.move(key, queue_of_command(old), queue_of_command(new))
        self.commands_to_job.move(key, job_of_command(old), job_of_command(new))
        return CommandChanged(key, old, new)

    def _put_namespace(self, key: str, new: Namespace | None) -> NamespaceChanged:
        old = put(self.namespaces, key, new)
        self.namespaces_by_label.move(key, label_of_namespace(old), label_of_namespace(new))
        return NamespaceChanged(key, old, new)

    def _put_quota(self, key: str, new: ResourceQuota | None) -> QuotaChanged:
        old = put(self.quotas, key, new)
        namespace = key.partition("/")[0]
        self.quotas_of_namespace.move(
            key, None if old is None else namespace, None if new is None else namespace
        )
        self.quotas_by_label.move(key, label_of_quota(old), label_of_quota(new))
        return QuotaChanged(key, old, new)

    def _put_owner(self, kind: str, key: str, new: Workload | None) -> OwnerChanged:
        before, after = self.owners.put(kind, key, new)
        if after is not None and after.deployment is not None and before is None:
            # Pods that were known before their ReplicaSet.
            namespace = key.partition("/")[0]
            for group in (after.group, f"{namespace}/{group_name(after.uid)}"):
                for pod in list(self.pods_of_group.keys(group)):
                    old = self.pods[pod]
                    new_one = self.pods[pod] = self._with_deployment(pod, old)
                    self.pods_of_group.move(pod, old.group_key, new_one.group_key)
        return OwnerChanged(key, before, after)

    def _with_deployment(self, key: str, pod: Member) -> Member:
        owner = self.owners.by_uid.get(pod.owner.uid) if pod.owner is not None else None
        deployment = owner.deployment if owner is not None else None
        return pod if deployment is None else of_deployment(pod, key.partition("/")[0], deployment)

    def _put_workload(self, kind: str, key: str, new: Workload | None) -> list[AnyChange]:
        owner = self._put_owner(kind, key, new)
        return [self._put_batch_job(key, _as(BatchJob, new)), owner] if kind == _BATCH_JOB else [owner]

    def _put_batch_job(self, key: str, job: BatchJob | None) -> BatchJobChanged:
        new = None if job is None else suspendable(job)
        old = put(self.batch_jobs, key, new)
        self.batch_jobs_of_group.move(key, old and old.group, new and new.group)
        return BatchJobChanged(key, old, new)

    def _put_pod(self, key: str, pod: Pod | None) -> list[AnyChange]:
        is_ours = pod is not None and pod.spec.scheduler_name == self.scheduler_name
        new = self._with_deployment(key, member(pod)) if pod is not None and is_ours else None
        other = waits_for(pod) if pod is not None and not is_ours else None
        old = put(self.pods, key, new)
        waited = put(self.waiting_elsewhere, key, other)
        changes = self._put_job_pod(key, pod)
        if old is not None or new is not None:
            self.pods_of_group.move(key, old and old.group_key, new and new.group_key)
            self.pods_of_batch_job.move(key, job_to_suspend(old), job_to_suspend(new))
            changes.append(PodChanged(key, old, new))
        if waited is not None or other is not None:
            changes.append(OtherPodChanged(key, waited, other))
        return changes


class ClusterController(Controller[ClusterView, AnyChange, str, ControllerWrite], Protocol):
    """One of Maar's own controllers."""


ClusterQueue = WorkQueue[ClusterView, AnyChange, str, ControllerWrite]
Reconciled = Iterator[tuple[str, ControllerWrite | datetime]]  # each with its key
Wanted = Iterator[ControllerWrite | datetime]  # what to write, or when to look again


def _as(kind: type[_T], value: object) -> _T | None:
    """An object as the kind that it is of; None where it is gone."""
    return value if isinstance(value, kind) else None

"""The controller of jobs: what has to be written for a job to be as its spec and its status ask.

A look at a job goes through these steps and ends at the first that has something to write:

1. A Command to it, the oldest first, or a policy that is due, or a change of phase that follows
   from its pods: the new status is written, and nothing else. It is a decision, and must not be
   lost.
2. What the phase asks for. While it is Pending or Running: the objects of its plugins, its claims,
   its pod group, and its pods once the group is admitted. While it restarts or ends: the pods that
   have to go.
3. Counters, and why it waits.

All of it follows from stored objects. A write that the API server refuses is tried again, and is
the reason why the job waits; only its own.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import datetime

from maar.core.controllers.changes import (
    AnyChange,
    ClaimChanged,
    CommandChanged,
    JobChanged,
    JobPodChanged,
    PodGroupChanged,
    job_of_command,
)
from maar.core.controllers.cluster_view import ClusterController, ClusterView, Reconciled
from maar.core.controllers.jobs.look import Look
from maar.core.controllers.jobs.pods import owning_job
from maar.core.job_plugins.plugin import SshKey
from maar.core.job_plugins.registry import JobPlugins
from maar.core.model.job import Job
from maar.core.model.writes import ControllerWrite, Create


class Jobs(ClusterController):
    """Keys are those of jobs, those that are gone and have pods included."""

    def __init__(self, plugins: JobPlugins, new_key: Callable[[], SshKey]) -> None:
        self._plugins, self._new_key = plugins, new_key

    def keys(self, change: AnyChange, cluster: ClusterView) -> Iterator[str]:
        """The jobs that a change concerns."""
        match change:
            case JobChanged():
                yield change.key
                yield from cluster.jobs_after.keys(change.key)
            case JobPodChanged() if change.before != change.after:
                yield from {one.job for one in (change.before, change.after) if one is not None}
            case PodGroupChanged():
                for group in (change.before, change.after):
                    owner = owning_job(group.metadata) if group is not None else None
                    if group is not None and owner is not None:
                        yield Job.key_of(group.metadata.namespace, owner.name)
            case CommandChanged():
                yield from filter(None, map(job_of_command, (change.before, change.after)))
            case ClaimChanged():
                yield from cluster.jobs_of_claim.keys(change.key)

    def reconcile(self, cluster: ClusterView, keys: Collection[str], now: datetime) -> Reconciled:
        """What has to be written for these jobs."""
        writes: list[tuple[str, ControllerWrite]] = []
        for key in keys:
            look = Look(cluster, key, now, self._plugins, self._new_key)
            writes += [(key, write) for write in look.writes()]
            if look.wake_at is not None:
                yield key, look.wake_at
        yield from _minimum_first(cluster, writes)


def _minimum_first(
    cluster: ClusterView, writes: Sequence[tuple[str, ControllerWrite]]
) -> list[tuple[str, ControllerWrite]]:
    """The pods beyond what jobs need to start come last: they must not keep another job from starting."""
    first, surplus = list[tuple[str, ControllerWrite]](), list[tuple[str, ControllerWrite]]()
    there = Counter[str]()
    for key, write in writes:
        if not (isinstance(write, Create) and write.kind == "Pod"):
            first.append((key, write))
            continue
        if key not in there:
            there[key] = len(cluster.pods_of_job.keys(key))
        there[key] += 1
        is_needed = key not in cluster.jobs or there[key] <= cluster.jobs[key].spec.least
        (first if is_needed else surplus).append((key, write))
    return [*first, *surplus]

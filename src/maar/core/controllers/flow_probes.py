"""Probes of job flows: whether a job that others depend on has come far enough before it has completed.

What a probe names is looked for in the job's own status (phases of tasks), or asked of its pods. The asking
is done outside of the core: a `CheckPods` says what to ask, and which pods have answered comes back into the
view. An answer counts for the very pod that gave it.
"""

from collections.abc import Iterator
from typing import Final

from maar.core.controllers.cluster_view import ClusterView
from maar.core.controllers.job_owners import OwnedJob
from maar.core.controllers.jobs.pods import JobPod
from maar.core.model.job_flow import FlowProbe, HttpProbe, TaskStatusProbe, TcpProbe
from maar.core.model.writes import PodCheck

# A pod that runs has been pending, and one that has succeeded has run.
_LATER: Final = {"Pending": ("Pending", "Running", "Succeeded"), "Running": ("Running", "Succeeded")}

Entry = TaskStatusProbe | HttpProbe | TcpProbe


def is_passed(probe: FlowProbe | None, job: OwnedJob, cluster: ClusterView) -> bool:
    """Whether a probe lets an unfinished job pass: of each task that it names enough pods have come so far.

    Where several jobs are targets, a task that one of them does not have is looked for in the others.
    """
    named = _named(probe, job)
    if not named or job.is_finished:
        return False
    answered = cluster.job_owners.answered_checks(job.owner)
    return all(_reached(one, job, cluster, answered) >= max(1, job.minima[one.task_name]) for one in named)


def missing_checks(probe: FlowProbe | None, job: OwnedJob, cluster: ClusterView) -> list[PodCheck]:
    """What has to be asked of the pods of an unfinished job, and has not been answered."""
    if job.is_finished:
        return []
    answered = cluster.job_owners.answered_checks(job.owner)
    wanted = [check for one in _named(probe, job) for check in _checks(one, job, cluster)]
    return [check for check in dict.fromkeys(wanted) if check not in answered]


def _named(probe: FlowProbe | None, job: OwnedJob) -> list[Entry]:
    """What a probe says about tasks of a job."""
    if probe is None:
        return []
    found: tuple[Entry, ...] = (*probe.task_status_list, *probe.http_get_list, *probe.tcp_socket_list)
    return [one for one in found if one.task_name in job.minima]


def _reached(one: Entry, job: OwnedJob, cluster: ClusterView, answered: frozenset[PodCheck]) -> int:
    """How many pods have come so far."""
    if isinstance(one, TaskStatusProbe):
        phases = job.tasks[one.task_name].phase if one.task_name in job.tasks else {}
        return sum(phases.get(phase, 0) for phase in _LATER.get(one.phase, (one.phase,)))
    return sum(check in answered for check in _checks(one, job, cluster))


def _checks(one: Entry, job: OwnedJob, cluster: ClusterView) -> Iterator[PodCheck]:
    """What to ask of each pod of a task that runs."""
    if isinstance(one, TaskStatusProbe):
        return
    for pod in _running(job, one.task_name, cluster):
        if isinstance(one, TcpProbe):
            yield PodCheck(pod_uid=pod.uid, address=pod.address, port=one.port)
            continue
        header = one.http_header
        yield PodCheck(
            pod_uid=pod.uid,
            address=pod.address,
            port=one.port,
            path=one.path or "/",
            header=(header.name, header.value) if header is not None and header.name else None,
        )


def _running(job: OwnedJob, task: str, cluster: ClusterView) -> list[JobPod]:
    pods = [cluster.job_pods[key] for key in cluster.pods_of_job.keys(job.key)]
    return [
        pod
        for pod in pods
        if pod.task == task
        and pod.owner_uid == job.uid
        and pod.phase == "Running"
        and pod.address
        and not pod.is_terminating
    ]

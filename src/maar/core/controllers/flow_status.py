"""How far a job flow has come: its jobs, the history of each, the phase of the flow, and probes.

Jobs that are gone keep what the stored status says of them; that they have completed is never
forgotten.

A probe says whether a job that others depend on has come far enough before it has completed. What
it names is looked for in the job's own status (phases of tasks), or asked of its pods. The asking
is done outside of the core: a `CheckPods` says what to ask, and which pods have answered comes
back into the view. An answer counts for the very pod that gave it.
"""

from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Final, Literal

import msgspec

from maar.core.controllers.cluster_view import ClusterView
from maar.core.controllers.job_owners import COMPLETED, OwnedJob
from maar.core.controllers.jobs.pods import JobPod
from maar.core.model.job_flow import (
    FlowCondition,
    FlowJobStatus,
    FlowProbe,
    FlowState,
    HttpProbe,
    JobFlow,
    JobFlowStatus,
    RunningHistory,
    TaskStatusProbe,
    TcpProbe,
)
from maar.core.model.writes import PodCheck

_LISTED: Final = {
    "": "pending_jobs",
    "Pending": "pending_jobs",
    "Running": "running_jobs",
    COMPLETED: "completed_jobs",
    "Failed": "failed_jobs",
    "Terminated": "terminated_jobs",
}
_OTHERS: Final = "un_know_jobs"  # on their way from one phase to another, or Aborted


def job_name(flow: JobFlow, template: str) -> str:
    """The name of the job that a flow makes from a template."""
    return f"{flow.metadata.name}-{template}"


def flow_status(flow: JobFlow, jobs: list[OwnedJob]) -> JobFlowStatus:
    """The status of a flow with these jobs."""
    old = flow.status
    named = {job.name: job for job in jobs}
    lists: dict[str, list[str]] = {name: [] for name in (*_LISTED.values(), _OTHERS)}
    for job in jobs:
        if job.name not in old.completed_jobs:
            lists[_LISTED.get(job.phase, _OTHERS)].append(job.name)
    lists["completed_jobs"] = sorted({*old.completed_jobs, *lists["completed_jobs"]})
    earlier = {step.name: step for step in old.job_status_list}
    order = dict.fromkeys([*(job_name(flow, step.name) for step in flow.spec.flows), *earlier, *named])
    return JobFlowStatus(
        **{name: tuple(values) for name, values in lists.items()},
        job_status_list=tuple(
            _job_status(earlier.get(name), named[name]) if name in named else earlier[name]
            for name in order
            if name in named or name in earlier
        ),
        conditions=old.conditions | {job.name: _condition(job) for job in jobs},
        state=FlowState(phase=_phase(flow, lists, named)),
    )


def _phase(
    flow: JobFlow, lists: dict[str, list[str]], jobs: Iterable[str]
) -> Literal["Pending", "Running", "Succeed", "Failed"]:
    wanted = {job_name(flow, one.name) for one in flow.spec.flows}
    if flow.status.state.phase == "Failed" or lists["failed_jobs"] or lists["terminated_jobs"]:
        return "Failed"
    if wanted and wanted <= set(lists["completed_jobs"]):
        return "Succeed"
    is_started = set(jobs) - set(lists["pending_jobs"]) or lists["completed_jobs"]
    return "Running" if is_started else "Pending"


def _job_status(old: FlowJobStatus | None, job: OwnedJob) -> FlowJobStatus:
    histories = old.running_histories if old is not None else ()
    if job.phase and (not histories or histories[-1].state != job.phase):
        since = job.changed or job.created
        ended = [msgspec.structs.replace(one, end_timestamp=since) for one in histories[-1:]]
        histories = (*histories[:-1], *ended, RunningHistory(state=job.phase, start_timestamp=since))
    if job.is_finished and histories and histories[-1].end_timestamp is None:
        last = msgspec.structs.replace(histories[-1], end_timestamp=job.changed)
        histories = (*histories[:-1], last)
    return FlowJobStatus(
        name=job.name,
        state=job.phase,
        start_timestamp=job.created,
        end_timestamp=job.changed if job.is_finished else None,
        restart_count=job.retries,
        running_histories=histories,
    )


def _condition(job: OwnedJob) -> FlowCondition:
    has_run = job.is_finished and job.changed is not None and job.created is not None
    return FlowCondition(
        phase=job.phase,
        create_time=job.created,
        running_duration=_duration(job.changed - job.created) if has_run else "",  # type: ignore[operator]  # neither is None
        task_status_count=dict(job.tasks),
    )


def _duration(passed: timedelta) -> str:
    """A duration as Go writes it: 1h2m3s."""
    minutes, seconds = divmod(max(0, int(passed.total_seconds())), 60)
    hours, minutes = divmod(minutes, 60)
    larger = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
    return f"{larger}{seconds}s"


# A pod that runs has been pending, and one that has succeeded has run.
_LATER: Final = {"Pending": ("Pending", "Running", "Succeeded"), "Running": ("Running", "Succeeded")}

_Entry = TaskStatusProbe | HttpProbe | TcpProbe


def is_passed(probe: FlowProbe | None, job: OwnedJob, cluster: ClusterView) -> bool:
    """Whether a probe lets an unfinished job pass: of each task that it names enough pods have come so far.

    Where several jobs are targets, a task that one of them does not have is looked for in the others.
    """
    named = _named(probe, job)
    if not named or job.is_finished:
        return False
    answered = cluster.job_owners.answered_checks(job.owner)
    return all(
        _reached(entry, job, cluster, answered) >= max(1, job.minima[entry.task_name]) for entry in named
    )


def missing_checks(probe: FlowProbe | None, job: OwnedJob, cluster: ClusterView) -> list[PodCheck]:
    """What has to be asked of the pods of an unfinished job, and has not been answered."""
    if job.is_finished:
        return []
    answered = cluster.job_owners.answered_checks(job.owner)
    wanted = [check for entry in _named(probe, job) for check in _checks(entry, job, cluster)]
    return [check for check in dict.fromkeys(wanted) if check not in answered]


def _named(probe: FlowProbe | None, job: OwnedJob) -> list[_Entry]:
    """What a probe says about tasks of a job."""
    if probe is None:
        return []
    entries: tuple[_Entry, ...] = (*probe.task_status_list, *probe.http_get_list, *probe.tcp_socket_list)
    return [entry for entry in entries if entry.task_name in job.minima]


def _reached(entry: _Entry, job: OwnedJob, cluster: ClusterView, answered: frozenset[PodCheck]) -> int:
    """How many pods have come so far."""
    if isinstance(entry, TaskStatusProbe):
        phases = job.tasks[entry.task_name].phase if entry.task_name in job.tasks else {}
        return sum(phases.get(phase, 0) for phase in _LATER.get(entry.phase, (entry.phase,)))
    return sum(check in answered for check in _checks(entry, job, cluster))


def _checks(entry: _Entry, job: OwnedJob, cluster: ClusterView) -> Iterator[PodCheck]:
    """What to ask of each pod of a task that runs."""
    if isinstance(entry, TaskStatusProbe):
        return
    for pod in _running(job, entry.task_name, cluster):
        if isinstance(entry, TcpProbe):
            yield PodCheck(pod_uid=pod.uid, address=pod.address, port=entry.port)
            continue
        header = entry.http_header
        yield PodCheck(
            pod_uid=pod.uid,
            address=pod.address,
            port=entry.port,
            path=entry.path or "/",
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

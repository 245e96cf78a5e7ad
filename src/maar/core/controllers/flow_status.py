"""How far a job flow has come: names of jobs by phase, the history of each job, and the phase of the flow.

Jobs that are gone keep what the stored status says of them; that they have completed is never forgotten.
"""

from collections.abc import Iterable
from datetime import timedelta
from typing import Final, Literal

import msgspec

from maar.core.controllers.job_owners import COMPLETED, OwnedJob
from maar.core.model.job_flow import (
    FlowCondition,
    FlowJobStatus,
    FlowState,
    JobFlow,
    JobFlowStatus,
    RunningHistory,
)

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
    known = {one.name: one for one in old.job_status_list}
    order = dict.fromkeys([*(job_name(flow, one.name) for one in flow.spec.flows), *known, *named])
    return JobFlowStatus(
        **{name: tuple(values) for name, values in lists.items()},
        job_status_list=tuple(
            _job_status(known.get(name), named[name]) if name in named else known[name]
            for name in order
            if name in named or name in known
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

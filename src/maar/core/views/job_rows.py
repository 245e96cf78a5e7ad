"""Jobs and pods as rows of a table: what people need to see of many at once."""

from datetime import datetime
from typing import Final

from maar.core.model.durations import BadDurationError, age, seconds
from maar.core.model.job import Job
from maar.core.views.job_summary import (
    JOB_LABEL,
    TASK_LABEL,
    ContainerSummary,
    PodSummary,
    created,
)

NONE: Final = "<none>"
JOB_HEADINGS: Final = ("NAME", "QUEUE", "STATUS", "PODS", "RETRIES", "AGE")
JOB_WIDE: Final = ("MIN", "PRIORITY CLASS", "DURATION", "MESSAGE")
POD_HEADINGS: Final = ("NAME", "READY", "STATUS", "RESTARTS", "AGE")
POD_WIDE: Final = ("JOB", "TASK", "IP", "NODE", "NOMINATED NODE")


def job_cells(job: Job, now: float, wide: bool) -> list[str]:  # noqa: FBT001  # a column of Table
    """A job, a text for each column; pods are running/succeeded/failed/all."""
    spec, status = job.spec, job.status
    counts = (status.running, status.succeeded, status.failed, spec.replicas)
    row = [
        job.metadata.name,
        spec.queue,
        job_status(job),
        "/".join(map(str, counts)),
        str(status.retry_count),
        age(created(job.metadata), now),
    ]
    if wide:
        message = " ".join(status.state.message.split())
        row += [str(job.minimum), spec.priority_class_name or NONE, duration(job, now), message or NONE]
    return row


def job_status(job: Job) -> str:
    """The phase, and why the job waits or ended so."""
    if job.is_terminating:
        return "Deleting"  # Terminating is a phase of its own
    reason = job.status.state.reason
    return f"{job.phase} ({reason})" if reason and reason != job.phase else job.phase


def duration(job: Job, now: float) -> str:
    """For how long it runs, or ran."""
    status, last = job.status, job.status.state.last_transition_time
    started = [change.last_transition_time for change in status.conditions if change.status == "Running"]
    if job.is_over and status.running_duration:
        try:
            return _length(seconds(status.running_duration))
        except BadDurationError:
            return status.running_duration
    if not started or started[0] is None:
        return NONE
    until = last.timestamp() if last is not None and job.phase != "Running" else now
    return _length(until - started[0].timestamp())


def pod_cells(pod: PodSummary, now: float, wide: bool) -> list[str]:  # noqa: FBT001  # a column of Table
    """A pod, a text for each column."""
    ready, status, restarts = pod_state(pod)
    row = [pod.metadata.name, ready, status, restarts, age(created(pod.metadata), now)]
    if wide:
        labels = pod.metadata.labels
        places = (pod.status.pod_ip, pod.spec.node_name, pod.status.nominated_node_name)
        owner = (labels.get(JOB_LABEL, ""), labels.get(TASK_LABEL, ""))
        row += [text or NONE for text in (*owner, *places)]
    return row


def pod_state(pod: PodSummary) -> tuple[str, str, str]:
    """How many containers are ready, the status and the restarts, as kubectl shows them."""
    inits, containers = pod.status.init_container_statuses, pod.status.container_statuses
    ready = sum(one.ready for one in containers)
    restarts = sum(one.restart_count for one in containers)
    text = _starting(inits) or _running(pod, containers)
    if pod.is_terminating:
        text = "Terminating"
    return f"{ready}/{len(pod.spec.containers) or len(containers)}", text, str(restarts)


def _starting(inits: tuple[ContainerSummary, ...]) -> str:
    """What an init container that has not succeeded does; empty where all have."""
    for number, one in enumerate(inits):
        ended = one.state.terminated
        if ended is not None and ended.exit_code == 0:
            continue
        if one.state.running is not None and one.ready:
            continue  # it runs on beside the others
        if ended is not None:
            return f"Init:{ended.reason or f'ExitCode:{ended.exit_code}'}"
        waiting = one.state.waiting
        if waiting is not None and waiting.reason not in ("", "PodInitializing"):
            return f"Init:{waiting.reason}"
        return f"Init:{number}/{len(inits)}"
    return ""


def _running(pod: PodSummary, containers: tuple[ContainerSummary, ...]) -> str:
    text = pod.status.reason or pod.status.phase or "Unknown"
    for one in reversed(containers):
        waiting, ended = one.state.waiting, one.state.terminated
        if waiting is not None and waiting.reason:
            text = waiting.reason
        elif ended is not None:
            code = f"Signal:{ended.signal}" if ended.signal else f"ExitCode:{ended.exit_code}"
            text = ended.reason or code
    if text == "Completed" and any(one.state.running is not None and one.ready for one in containers):
        return "Running"
    return text


def since(moment: datetime | None, now: float) -> str:
    """How long ago something was."""
    return age(moment.isoformat() if moment else "", now)


def _length(length_s: float) -> str:
    return age("1970-01-01T00:00:00+00:00", max(length_s, 0.0))

"""What is to change in a job's status, from its pods, its pod group and the Commands to it.

One decision is one step of the state machine. It is written before anything is done about it; what
has to be done then follows from the status, so that a controller that is stopped at any moment
goes on where it was.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from maar.core.controllers.jobs.counting import count, is_at_rest, unwanted
from maar.core.controllers.jobs.events import (
    Answer,
    JobEvent,
    answers,
    delayed,
    job_events,
    policy_for,
    target_of,
)
from maar.core.controllers.jobs.phase_conditions import JobFacts
from maar.core.controllers.jobs.phases import after_facts, after_order
from maar.core.controllers.jobs.pods import JobPod
from maar.core.model.index_ranges import format_indexes, parse_indexes
from maar.core.model.job import ACTIVE_JOBS, Command, Job, JobStatus
from maar.core.model.pod_group import PodGroup
from maar.core.model.writes import RecordEvent


class Decision(NamedTuple):
    """A new status, and the events recorded with it; without one, when a policy is due."""

    status: JobStatus | None
    recorded: tuple[RecordEvent, ...] = ()
    wake_at: datetime | None = None


def after_command(job: Job, command: Command, pods: Sequence[JobPod], now: datetime) -> Decision:
    """Carry out a Command. That it was is in the status, so that it is not carried out twice."""
    job = msgspec.structs.replace(job, status=_noted(job, pods, now))
    why = (
        "CommandIssued",
        f"Command {command.metadata.name} asks for {command.action}"
        + (f": {command.message}" if command.message else ""),
    )
    status = after_order(job, command.action, None, now, why) or job.status
    status = msgspec.structs.replace(status, last_command=command.metadata.uid)
    record = RecordEvent(
        kind="Job",
        key=job.key,
        reason="CommandIssued",
        message=f"Start to execute command {command.action}, which is then deleted",
    )
    return Decision(status, (record,))


def after_what_happened(job: Job, pods: Sequence[JobPod], group: PodGroup | None, now: datetime) -> Decision:
    """One step: the policy that is due, or what follows without an order."""
    noted = _noted(job, pods, now)
    job = msgspec.structs.replace(job, status=noted)
    wake_at = None
    if job.status.state.phase in (*ACTIVE_JOBS, "Restarting"):
        telling = group if job.status.state.phase in ACTIVE_JOBS else None
        for answer in answers(job, job_events(job, pods, telling), now):
            if answer.at > now:
                wake_at = answer.at
                break
            if (decided := _answered(job, answer, now)) is not None:
                return decided
    facts = JobFacts(job, pods, count(job, noted, pods), has_group=group is not None)
    return Decision(after_facts(facts, now) or noted, wake_at=wake_at)


def _answered(job: Job, answer: Answer, now: datetime) -> Decision | None:
    """Carry out the action of a policy; None where it changes nothing."""
    event, action = answer.event, answer.policy.action
    target = target_of(job, action, event)
    why = (event.name, f"{_what_happened(job, event)}: {action}")
    status = after_order(job, action, target, now, why, is_retry=not event.is_eviction)
    if status is None:
        return None
    if action == "RestartPod":
        # A second policy may ask for more if the pod that is restarted does not run in time.
        stage = JobEvent("PodEvicted", None, event.task, event.index)
        if policy_for(job, stage) != answer.policy and (timer := delayed(job, stage, now)) is not None:
            status = msgspec.structs.replace(status, delayed_actions=(*status.delayed_actions, timer))
    waited = f" after {answer.policy.timeout}" if answer.policy.timeout else ""
    is_last = status.state.phase == "Restarting" and status.retry_count >= job.spec.max_retry
    limit = "; retry limit reached" if is_last else ""
    message = f"Start to execute action {action}{waited}: {_what_happened(job, event)}{limit}"
    record = RecordEvent(kind="Job", key=job.key, reason="ExecuteAction", message=message)
    return Decision(status, (record,))


def _what_happened(job: Job, event: JobEvent) -> str:
    """An event in words."""
    pod = f"pod {job.metadata.name}-{event.task}-{event.index}"
    codes = ", ".join(str(code) for code in sorted(set(event.exit_codes)))
    return {
        "PodFailed": f"{pod} failed" + (f" with exit code {codes}" if codes else ""),
        "PodEvicted": f"{pod} was evicted",
        "PodPending": f"{pod} is pending",
        "TaskCompleted": f"all pods of task {event.task} succeeded",
        "TaskFailed": f"the containers of task {event.task} were restarted too often",
        "Unknown": "fewer pods run than the pod group needs",
    }.get(event.name, event.name)


def _noted(job: Job, pods: Sequence[JobPod], now: datetime) -> JobStatus:
    """The status with what pods cannot tell any more once they are gone."""
    status, phase = job.status, job.status.state.phase
    if is_at_rest(status) and phase != "Aborted":  # which may be resumed
        return status
    is_unwanted = unwanted(job, status)
    done: dict[str, set[int]] = {}
    for pod in pods:
        if pod.phase == "Succeeded" and _is_leaving(pod) and not is_unwanted(pod):
            done.setdefault(pod.task, set()).add(pod.index)
    completed = dict(status.completed_indexes)
    for task, numbers in done.items():
        completed[task] = format_indexes(parse_indexes(completed.get(task, "")) | numbers)
    running = {(pod.task, pod.index) for pod in pods if pod.phase == "Running" and not pod.is_terminating}
    timers = [one for one in status.delayed_actions if (one.task, one.index) not in running]
    known = {(one.task, one.index) for one in timers}
    leaving = {(pod.task, pod.index) for pod in pods if _is_leaving(pod)} - known
    for event in job_events(job, pods, None) if leaving and phase in (*ACTIVE_JOBS, "Restarting") else ():
        is_end = event.name in ("PodEvicted", "PodFailed") and (event.task, event.index) in leaving
        if is_end and (timer := delayed(job, event, now)) is not None:
            timers.append(timer)
    return msgspec.structs.replace(status, completed_indexes=completed, delayed_actions=tuple(timers))


def _is_leaving(pod: JobPod) -> bool:
    """Whether a pod will be gone although the job has use for it."""
    return not pod.is_marked and (pod.is_terminating or pod.is_evicted)

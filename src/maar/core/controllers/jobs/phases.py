"""The state machine of a job: what an order makes of its phase, and what the pods make of it.

Orders come from policies and Commands; `after_order` gives the status that carries one out, None where the
phase has no use for it. `after_pods` gives the status that follows from the pods alone. Both change one step
at a time, so that whoever watches a job sees every phase. Two rules differ from Volcano on purpose: an
order that comes while the job is restarting is carried out, and neither an eviction nor a resume is a retry.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

import msgspec

from maar.core.controllers.jobs.counting import RESUME, Counts, is_last_run, unwanted
from maar.core.controllers.jobs.pods import JobPod
from maar.core.model.durations import duration_text
from maar.core.model.index_ranges import format_indexes, parse_indexes
from maar.core.model.job import (
    FINISHED_JOBS,
    DelayedAction,
    Job,
    JobCondition,
    JobPhase,
    JobState,
    JobStatus,
    Restart,
    RestartTarget,
)

ENDING: Final[dict[str, JobPhase]] = {
    "AbortJob": "Aborting", "TerminateJob": "Terminating", "CompleteJob": "Completing",
}  # fmt: skip
_ENDED: Final[dict[str, JobPhase]] = {
    "Aborting": "Aborted", "Terminating": "Terminated", "Completing": "Completed",
}  # fmt: skip
TARGETED: Final = ("RestartTask", "RestartPod", "RestartPartition")
ACTIVE: Final = ("", "Pending", "Running")
RESUMABLE: Final = ("Aborting", "Aborted")


def after_order(
    job: Job,
    action: str,
    target: RestartTarget | None,
    now: datetime,
    why: tuple[str, str],  # the reason and the sentence
    *,
    is_retry: bool = True,
) -> JobStatus | None:
    """The status that carries out an order; None where it changes nothing."""
    status, phase = job.status, job.status.state.phase
    can_restart = phase in (*ACTIVE, "Restarting")
    if action in ENDING and can_restart:
        # A job that is suspended while it restarts still loses the pods that are restarted.
        restart = status.restart if action == "AbortJob" else None
        ended = msgspec.structs.replace(
            status, version=status.version + 1, restart=restart, delayed_actions=()
        )
        return entered(job, ended, ENDING[action], now, why)
    if action == RESUME and phase in RESUMABLE:
        whole = status.restart if status.restart == Restart(action="RestartJob") else None
        return _restarting(job, whole or Restart(action=action), now, why, retries=0)
    is_under_way = status.restart == Restart(action=action)
    if action == "RestartJob" and can_restart and not is_under_way:
        return _restarting(job, Restart(action=action), now, why, retries=int(is_retry and phase in ACTIVE))
    if action in TARGETED and target is not None and can_restart:
        before = status.restart.targets if status.restart is not None and phase == "Restarting" else ()
        if status.restart is not None and not before and phase == "Restarting":
            return None  # the whole job is being restarted already
        restart = Restart(action=action, targets=(*before, target))
        return _restarting(job, restart, now, why, retries=int(is_retry and phase in ACTIVE))
    return None


def after_pods(
    job: Job, pods: Sequence[JobPod], counts: Counts, now: datetime, *, has_group: bool
) -> JobStatus | None:
    """The status that follows from the pods; None where the phase stays."""
    status, spec, phase = job.status, job.spec, job.status.state.phase
    ended = counts.succeeded + counts.failed
    if phase == "Pending" and counts.running + ended >= spec.least:
        return entered(job, status, "Running", now, ("", ""))
    if phase == "Running":
        return _end(job, counts, now) or _short_again(job, counts, now)
    if phase == "Restarting":
        if is_last_run(job, status):
            return entered(job, status, "Failed", now, _retries_used_up(job))
        is_killed = all(_is_killed(pod) for pod in filter(unwanted(job, status), pods))
        has_old_group = has_group and status.restart is not None and not status.restart.targets
        if is_killed and not has_old_group and spec.replicas - counts.terminating >= spec.least:
            again = msgspec.structs.replace(status, restart=None)
            return entered(job, again, "Pending", now, ("", ""))
    if phase in _ENDED and not counts.alive:
        state = status.state
        return entered(job, status, _ENDED[phase], now, (state.reason, state.message))
    return None


def entered(job: Job, status: JobStatus, phase: JobPhase, now: datetime, why: tuple[str, str]) -> JobStatus:
    """A status in another phase, since now."""
    now = now.replace(microsecond=0)
    conditions = [one for one in status.conditions if one.status != phase]
    created = job.metadata.creation_timestamp
    duration = status.running_duration
    if phase in FINISHED_JOBS and created is not None:
        duration = duration_text(max(now - created, timedelta()))
    return msgspec.structs.replace(
        status,
        state=JobState(phase=phase, reason=why[0], message=why[1], last_transition_time=now),
        conditions=(*conditions, JobCondition(status=phase, last_transition_time=now)),
        running_duration=duration if phase in FINISHED_JOBS else "",
    )


def _restarting(
    job: Job, restart: Restart, now: datetime, why: tuple[str, str], *, retries: int
) -> JobStatus:
    status = job.status
    count = status.retry_count + retries
    changed = msgspec.structs.replace(
        status, retry_count=count, restarts=status.restarts + 1, restart=restart
    )
    is_last = count >= job.spec.max_retry
    if not restart.targets or is_last:
        changed = msgspec.structs.replace(changed, version=status.version + 1, delayed_actions=())
    if restart.action != RESUME and not is_last:
        changed = msgspec.structs.replace(
            changed,
            completed_indexes=_without(job, status.completed_indexes, restart.targets),
            delayed_actions=_other_timers(job, changed.delayed_actions, restart.targets),
        )
    if status.state.phase == "Restarting" and restart.targets:
        return msgspec.structs.replace(changed, restarts=status.restarts)  # the targets are all of before
    return entered(job, changed, "Restarting", now, why)


def _without(job: Job, completed: dict[str, str], targets: tuple[RestartTarget, ...]) -> dict[str, str]:
    """What is remembered of pods that are not restarted."""
    if not targets:
        return {}
    kept: dict[str, str] = {}
    for task in job.spec.tasks:
        left = [
            index
            for index in parse_indexes(completed.get(task.name, ""))
            if not any(_covers(one, task.name, index, task.partition(index)) for one in targets)
        ]
        if left:
            kept[task.name] = format_indexes(left)
    return kept


def _other_timers(
    job: Job, timers: tuple[DelayedAction, ...], targets: tuple[RestartTarget, ...]
) -> tuple[DelayedAction, ...]:
    """The timers of pods that are not restarted."""
    tasks = {task.name: task for task in job.spec.tasks}
    return tuple(
        one
        for one in timers
        if one.task in tasks
        and not any(
            _covers(target, one.task, one.index, tasks[one.task].partition(one.index)) for target in targets
        )
    )


def _is_killed(pod: JobPod) -> bool:
    """Whether a pod is going, and has nothing to say to the run that comes."""
    return pod.is_gone or (pod.is_terminating and pod.is_marked)


def _covers(target: RestartTarget, task: str, index: int, partition: int | None) -> bool:
    return target.task == task and target.index in (None, index) and target.partition in (None, partition)


def _end(job: Job, counts: Counts, now: datetime) -> JobStatus | None:
    """How a job ends that runs: by its successes, or when all pods have ended."""
    spec, ended = job.spec, counts.succeeded + counts.failed
    if not spec.replicas:
        return None
    if spec.min_success is not None and counts.succeeded >= spec.min_success:
        why = ("MinSuccess", f"{counts.succeeded} pods succeeded, and minSuccess is {spec.min_success}")
        return entered(job, job.status, "Completed", now, why)
    if ended != spec.replicas or counts.terminating:
        return None
    total = f"{counts.succeeded} of {spec.replicas} pods succeeded and {counts.failed} failed"
    if (short := _short_task(job, counts)) is not None:
        return entered(job, job.status, "Failed", now, ("TaskFailed", f"{total}: {short}"))
    if spec.min_success is not None:
        why = ("MinSuccess", f"{total}, and minSuccess is {spec.min_success}")
    elif counts.succeeded >= spec.least:
        return entered(job, job.status, "Completed", now, ("Completed", total))
    else:
        why = ("PodFailed", f"{total}, and minAvailable is {spec.least}")
    return entered(job, job.status, "Failed", now, why)


def _short_task(job: Job, counts: Counts) -> str | None:
    """A task with fewer successes than it needs, where the minima of the tasks bind."""
    if job.spec.least < sum(task.least for task in job.spec.tasks):
        return None
    for task in job.spec.tasks:
        done = counts.tasks.get(task.name, {}).get("Succeeded", 0)
        if done < task.least:
            return f"task {task.name} has {done} successes, and its minAvailable is {task.least}"
    return None


def _short_again(job: Job, counts: Counts, now: datetime) -> JobStatus | None:
    if counts.pending > job.spec.replicas - job.spec.least:
        return entered(job, job.status, "Pending", now, ("", ""))
    return None


def _retries_used_up(job: Job) -> tuple[str, str]:
    state = job.status.state
    limit = f"run {job.status.retry_count} was the last, for maxRetry is {job.spec.max_retry}"
    return "RetryLimitReached", f"{state.message}; {limit}" if state.message else limit

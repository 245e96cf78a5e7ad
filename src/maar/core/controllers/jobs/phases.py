"""The state machine of a job, as a table: what each order does and what follows without one.

    new  -->  Pending  <-->  Running  -->  Completed | Failed
    Pending  -->  Failed

    new | Pending | Running | Restarting  --Restart*-->      Restarting   -->  Pending | Failed
                                          --AbortJob-->      Aborting     -->  Aborted
                                          --TerminateJob-->  Terminating  -->  Terminated
                                          --CompleteJob-->   Completing   -->  Completed
    Aborting | Aborted                    --ResumeJob-->     Restarting

An arrow with a name is an order, which comes from a policy or a Command. An arrow without one is a
condition on the pods, or on the job that this one comes after (`phase_conditions.py`). A job that
is `new` has no phase yet. Each call gives one transition: it is written before the next one is
looked for, so that clients that watch a job see every phase.

Which pods are deleted follows from the written status (`unwanted` in `counting.py`), so a
transition says it by what it changes there: a pod of an older `version` is deleted unless it has
ended, `restart` names the pods that are deleted although they have ended, and while a job ends or
is over, all pods are deleted that have not ended. A restart that brings `retryCount` to `maxRetry`
is the exception: it deletes pods as the end of a job does, and the job is Failed next.

Two rules differ from Volcano on purpose: an order to a job that is Restarting is carried out, and
neither an eviction nor a resume is a retry.
"""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Final, Literal, NamedTuple

import msgspec

from maar.core.controllers.jobs.counting import RESUME
from maar.core.controllers.jobs.phase_conditions import (
    JobFacts,
    Why,
    can_run_again,
    cannot_follow,
    has_failed,
    has_gang,
    has_min_success,
    has_no_run_left,
    has_succeeded,
    is_created,
    lacks_gang,
    no_pod_is_alive,
)
from maar.core.controllers.jobs.pods import covers
from maar.core.model.durations import duration_text
from maar.core.model.index_ranges import format_indexes, parse_indexes
from maar.core.model.job import (
    FINISHED_JOBS,
    JOB_ACTIONS,
    DelayedAction,
    Job,
    JobCondition,
    JobPhase,
    JobState,
    JobStatus,
    Restart,
    RestartTarget,
)


class _Transition(NamedTuple):
    """What an order does."""

    phase: JobPhase  # the next one
    deletes: Literal["all", "targets", "unfinished"]  # which pods
    is_retry: bool = False  # raises retryCount, unless the order answers an eviction


class _PhaseRow(NamedTuple):
    """What may follow a phase."""

    orders: Mapping[str, _Transition | None]  # by action; None: the job stays as it is
    conditions: tuple[tuple[Callable[[JobFacts], Why | None], JobPhase], ...] = ()  # the first that holds


_RESTARTS_OF_PODS: Final = ("RestartTask", "RestartPod", "RestartPartition")
_STAYS: Final[dict[str, _Transition | None]] = dict.fromkeys(JOB_ACTIONS)
_RESTARTING: Final = _STAYS | {
    "RestartJob": _Transition("Restarting", "all"),
    **dict.fromkeys(_RESTARTS_OF_PODS, _Transition("Restarting", "targets")),
    "AbortJob": _Transition("Aborting", "unfinished"),
    "TerminateJob": _Transition("Terminating", "unfinished"),
    "CompleteJob": _Transition("Completing", "unfinished"),
}
_ACTIVE: Final = _RESTARTING | {
    "RestartJob": _Transition("Restarting", "all", is_retry=True),
    **dict.fromkeys(_RESTARTS_OF_PODS, _Transition("Restarting", "targets", is_retry=True)),
}
_SUSPENDED: Final = _STAYS | {RESUME: _Transition("Restarting", "unfinished")}

TRANSITIONS: Final[dict[JobPhase | Literal[""], _PhaseRow]] = {
    "": _PhaseRow(_ACTIVE, ((is_created, "Pending"),)),
    "Pending": _PhaseRow(_ACTIVE, ((cannot_follow, "Failed"), (has_gang, "Running"))),
    "Running": _PhaseRow(
        _ACTIVE,
        (
            (has_min_success, "Completed"),
            (has_failed, "Failed"),
            (has_succeeded, "Completed"),
            (lacks_gang, "Pending"),
        ),
    ),
    "Restarting": _PhaseRow(_RESTARTING, ((has_no_run_left, "Failed"), (can_run_again, "Pending"))),
    "Aborting": _PhaseRow(_SUSPENDED, ((no_pod_is_alive, "Aborted"),)),
    "Aborted": _PhaseRow(_SUSPENDED),
    "Terminating": _PhaseRow(_STAYS, ((no_pod_is_alive, "Terminated"),)),
    "Terminated": _PhaseRow(_STAYS),
    "Completing": _PhaseRow(_STAYS, ((no_pod_is_alive, "Completed"),)),
    "Completed": _PhaseRow(_STAYS),
    "Failed": _PhaseRow(_STAYS),
}


def after_order(
    job: Job,
    action: str,
    target: RestartTarget | None,
    now: datetime,
    why: Why,
    *,
    is_retry: bool = True,
) -> JobStatus | None:
    """The status that carries out an order; None where it changes nothing."""
    status = job.status
    transition = TRANSITIONS[status.state.phase].orders.get(action)
    if transition is None:
        return None
    if transition.phase == "Restarting":
        restart = _next_restart(status, transition, action, target)
        is_retry = is_retry and transition.is_retry
        return None if restart is None else _restarting(job, restart, now, why, retries=int(is_retry))
    # A job that is suspended while it restarts still loses the pods that are restarted.
    restart = status.restart if transition.phase == "Aborting" else None
    ended = msgspec.structs.replace(status, version=status.version + 1, restart=restart, delayed_actions=())
    return _entered(job, ended, transition.phase, now, why)


def after_facts(facts: JobFacts, now: datetime) -> JobStatus | None:
    """The status that follows without an order; None where the phase stays."""
    job, status = facts.job, facts.job.status
    for condition, phase in TRANSITIONS[status.state.phase].conditions:
        if (why := condition(facts)) is not None:
            is_restarted = status.state.phase == "Restarting" and phase == "Pending"
            status = msgspec.structs.replace(status, restart=None) if is_restarted else status
            return _entered(job, status, phase, now, why)
    return None


def _entered(job: Job, status: JobStatus, phase: JobPhase, now: datetime, why: Why) -> JobStatus:
    """A status in another phase, since now."""
    now = now.replace(microsecond=0)
    conditions = [condition for condition in status.conditions if condition.status != phase]
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


def _next_restart(
    status: JobStatus, transition: _Transition, action: str, target: RestartTarget | None
) -> Restart | None:
    """The restart that an order asks for; None where it names no pods, or they are all restarted already."""
    under_way = status.restart
    if transition.deletes == "targets":
        before = under_way.targets if under_way is not None and status.state.phase == "Restarting" else ()
        is_whole = under_way is not None and status.state.phase == "Restarting" and not before
        return None if target is None or is_whole else Restart(action=action, targets=(*before, target))
    if transition.deletes == "all":
        return None if under_way == Restart(action=action) else Restart(action=action)
    # A resume carries on with the restart of the whole job that the suspension interrupted.
    whole = Restart(action="RestartJob")
    return whole if under_way == whole else Restart(action=action)


def _restarting(job: Job, restart: Restart, now: datetime, why: Why, *, retries: int) -> JobStatus:
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
    return _entered(job, changed, "Restarting", now, why)


def _without(job: Job, completed: dict[str, str], targets: tuple[RestartTarget, ...]) -> dict[str, str]:
    """What is remembered of pods that are not restarted."""
    if not targets:
        return {}
    kept: dict[str, str] = {}
    for task in job.spec.tasks:
        indexes = parse_indexes(completed.get(task.name, ""))
        left = [i for i in indexes if not any(covers(target, job, task.name, i) for target in targets)]
        if left:
            kept[task.name] = format_indexes(left)
    return kept


def _other_timers(
    job: Job, timers: tuple[DelayedAction, ...], targets: tuple[RestartTarget, ...]
) -> tuple[DelayedAction, ...]:
    """The timers of pods that are not restarted."""
    tasks = {task.name for task in job.spec.tasks}
    return tuple(
        timer
        for timer in timers
        if timer.task in tasks and not any(covers(target, job, timer.task, timer.index) for target in targets)
    )

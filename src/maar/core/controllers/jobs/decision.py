"""What is to change in a job's status, from its pods, its pod group and the Commands to it.

One decision is one step of the state machine. It is written before anything is done about it; what
has to be done then follows from the status, so that a controller that is stopped at any moment
goes on where it was.

What happened to a job is read from its pods and its group; nothing depends on having seen a change.
A Failed pod of the run that is under way has failed, whenever that was. What was answered is told
from what has not been by the job's status: a restart of the whole job raises its version, and pods
of an older version say nothing any more; a restart of some pods names them until they are gone. A
policy with a timeout counts from the time that the pod itself gives, or from `delayedActions` where
the pod is gone.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

import msgspec

from maar.core.controllers.jobs.counting import count, is_at_rest, unwanted
from maar.core.controllers.jobs.phase_conditions import JobFacts
from maar.core.controllers.jobs.phases import after_facts, after_order
from maar.core.controllers.jobs.pods import JobPod, is_restarted
from maar.core.model.durations import BadDurationError, seconds
from maar.core.model.index_ranges import format_indexes, parse_indexes
from maar.core.model.job import (
    ACTIVE_JOBS,
    Command,
    DelayedAction,
    Job,
    JobStatus,
    LifecyclePolicy,
    RestartTarget,
    Task,
)
from maar.core.model.pod_group import PodGroup
from maar.core.model.writes import RecordEvent

_ANY_EVENT: Final = "*"
_TASK_MAX_RETRY: Final = 3


class JobEvent(msgspec.Struct, frozen=True):
    """Something that happened to the job, to a task, or to a pod."""

    name: str
    since: datetime | None  # None: no object says when
    task: str = ""  # empty: it happened to the job
    index: int | None = None  # of the pod that it happened to, or of the last one of the task
    exit_codes: tuple[int, ...] = ()

    @property
    def is_eviction(self) -> bool:
        """Whether nobody's program failed, so that a restart is no retry."""
        return self.name == "PodEvicted"


class Answer(NamedTuple):
    """An event with the policy that answers it, and when."""

    at: datetime  # when the policy is due: after its timeout, where it has one
    event: JobEvent
    policy: LifecyclePolicy


def _job_events(job: Job, pods: Sequence[JobPod], group: PodGroup | None) -> Iterator[JobEvent]:
    """What happened to the job and has not been answered; without a group, only what its pods tell."""
    tasks = {task.name: task for task in job.spec.tasks}
    telling = [pod for pod in pods if _tells(pod, job, tasks)]
    timers = {(action.task, action.index): action for action in job.status.delayed_actions}
    policies = (*job.spec.policies, *(policy for task in job.spec.tasks for policy in task.policies))
    has_timeouts = any(policy.timeout for policy in policies)
    for pod in telling:
        if pod.is_evicted:
            if (pod.task, pod.index) not in timers:
                yield JobEvent("PodEvicted", pod.deleted, pod.task, pod.index)
        elif pod.phase == "Failed":
            yield JobEvent("PodFailed", pod.finished or pod.created, pod.task, pod.index, pod.exit_codes)
        elif pod.phase == "Pending" and has_timeouts:
            yield JobEvent("PodPending", pod.created, pod.task, pod.index)
    for timer in timers.values():
        yield JobEvent(timer.event, timer.since, timer.task, timer.index)
    for task in job.spec.tasks:
        yield from _task_events(job, task, pods, telling)
    if group is not None and group.status.phase == "Unknown":
        times = [condition.last_transition_time for condition in group.status.conditions]
        yield JobEvent("Unknown", max(filter(None, times), default=group.metadata.creation_timestamp))


def answers(job: Job, events: Iterable[JobEvent], now: datetime) -> list[Answer]:
    """The events that a policy answers, in the order in which that is due."""
    due: list[Answer] = []
    for event in events:
        policy = _policy_for(job, event)
        if policy is not None:
            since = event.since or now
            due.append(Answer(since + (_timeout_of(policy) or timedelta()), event, policy))
    return sorted(
        due, key=lambda answer: (answer.at, answer.event.task, answer.event.index or 0, answer.event.name)
    )


def _policy_for(job: Job, event: JobEvent) -> LifecyclePolicy | None:
    """The policy that answers an event: the task's before the job's, the first that matches."""
    task = next((named for named in job.spec.tasks if named.name == event.task), None)
    for policy in (*(task.policies if task is not None else ()), *job.spec.policies):
        if _matches(policy, event):
            return policy
    return None


def _timeout_of(policy: LifecyclePolicy) -> timedelta | None:
    """How long a policy waits; None where it does not."""
    try:
        return timedelta(seconds=seconds(policy.timeout)) if policy.timeout else None
    except BadDurationError:
        return None


def _target_of(job: Job, action: str, event: JobEvent) -> RestartTarget | None:
    """The pods that an action restarts; None where it is for the whole job, or there are none."""
    if not event.task or event.index is None:
        return RestartTarget(task=event.task) if event.task and action == "RestartTask" else None
    match action:
        case "RestartTask":
            return RestartTarget(task=event.task)
        case "RestartPod":
            return RestartTarget(task=event.task, index=event.index)
        case "RestartPartition":
            task = next((named for named in job.spec.tasks if named.name == event.task), None)
            number = task.partition(event.index) if task is not None else None
            return None if number is None else RestartTarget(task=event.task, partition=number)
    return None


def _delayed(job: Job, event: JobEvent, now: datetime) -> DelayedAction | None:
    """What has to be remembered of the end of a pod that goes: where a policy waits for a while."""
    policy = _policy_for(job, event)
    if event.index is None or policy is None or _timeout_of(policy) is None:
        return None
    since = (event.since or now).replace(microsecond=0)
    return DelayedAction(event=event.name, task=event.task, index=event.index, since=since)


def _tells(pod: JobPod, job: Job, tasks: dict[str, Task]) -> bool:
    """Whether a pod is one of the run that is under way, and its end has not been looked at."""
    if pod.is_marked or pod.version < job.status.version or is_restarted(pod, job, job.status):
        return False
    task = tasks.get(pod.task)
    return task is not None and 0 <= pod.index < task.replicas


def _task_events(
    job: Job, task: Task, pods: Sequence[JobPod], telling: Sequence[JobPod]
) -> Iterator[JobEvent]:
    own = [pod for pod in telling if pod.task == task.name]
    done = {pod.index for pod in pods if pod.task == task.name and _has_succeeded(pod, job)}
    done |= parse_indexes(job.status.completed_indexes.get(task.name, ""))
    ends = [pod for pod in own if pod.phase == "Succeeded"]
    if ends and task.replicas and sum(0 <= index < task.replicas for index in done) == task.replicas:
        last = max(ends, key=lambda pod: (pod.finished or pod.created or _EVER, pod.index))
        yield JobEvent("TaskCompleted", last.finished, task.name, last.index)
    alive = [pod for pod in own if pod.phase in ("Pending", "Running") and not pod.is_terminating]
    restarted = sum(pod.container_restarts for pod in alive)
    most = _TASK_MAX_RETRY if task.max_retry is None else task.max_retry
    if restarted and restarted >= most:
        worst = max(alive, key=lambda pod: (pod.container_restarts, -pod.index))
        yield JobEvent("TaskFailed", worst.created, task.name, worst.index)


def _has_succeeded(pod: JobPod, job: Job) -> bool:
    return pod.phase == "Succeeded" and not pod.is_marked and not is_restarted(pod, job, job.status)


def _matches(policy: LifecyclePolicy, event: JobEvent) -> bool:
    names = (policy.event, *policy.events)
    if event.name == "PodPending" and not policy.timeout:
        return False  # every pod is pending at first
    if event.name == "PodFailed" and policy.exit_code is not None:
        return policy.exit_code in event.exit_codes
    return event.name in names or _ANY_EVENT in names


_EVER: Final = datetime.fromtimestamp(0, UTC)


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
        for answer in answers(job, _job_events(job, pods, telling), now):
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
    target = _target_of(job, action, event)
    why = (event.name, f"{_what_happened(job, event)}: {action}")
    status = after_order(job, action, target, now, why, is_retry=not event.is_eviction)
    if status is None:
        return None
    if action == "RestartPod":
        # A second policy may ask for more if the pod that is restarted does not run in time.
        stage = JobEvent("PodEvicted", None, event.task, event.index)
        if _policy_for(job, stage) != answer.policy and (timer := _delayed(job, stage, now)) is not None:
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
    timers = [action for action in status.delayed_actions if (action.task, action.index) not in running]
    counted = {(timer.task, timer.index) for timer in timers}
    leaving = {(pod.task, pod.index) for pod in pods if _is_leaving(pod)} - counted
    for event in _job_events(job, pods, None) if leaving and phase in (*ACTIVE_JOBS, "Restarting") else ():
        is_end = event.name in ("PodEvicted", "PodFailed") and (event.task, event.index) in leaving
        if is_end and (timer := _delayed(job, event, now)) is not None:
            timers.append(timer)
    return msgspec.structs.replace(status, completed_indexes=completed, delayed_actions=tuple(timers))


def _is_leaving(pod: JobPod) -> bool:
    """Whether a pod will be gone although the job has use for it."""
    return not pod.is_marked and (pod.is_terminating or pod.is_evicted)

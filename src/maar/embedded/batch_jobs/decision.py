"""What to do about a job now: decide(job, pods, now), a pure function of stored objects.

A pod carries a finalizer from its creation until its end is in the status of its job. Both change
in one transaction, so nothing is counted twice or not at all, whoever deletes the pod and wherever
the process is killed. Everything else follows from what is stored: the counters of the status, the
pods that are there, and the times in both. A decision names the next writes only; after them, or
when a pod changes, comes another.

A job that ends does so in two steps, as in Kubernetes: FailureTarget or SuccessCriteriaMet when
that is certain, Failed or Complete when its last pod has ended.
"""

from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from maar.core.model.index_ranges import format_indexes, parse_indexes
from maar.embedded.batch_jobs.model import (
    CONTROLLER,
    BatchJob,
    ConditionStatus,
    JobCondition,
    JobPod,
    JobStatus,
    Uncounted,
    moment,
)
from maar.embedded.batch_jobs.pod_failures import verdict
from maar.embedded.batch_jobs.pod_work import NewPod, Work, work_for
from maar.embedded.batch_jobs.tally import Tally, counts_as_failed, tally


class Ending(NamedTuple):
    """That the job ends, and why."""

    has_failed: bool
    reason: str
    message: str


class JobEvent(NamedTuple):
    """An event about the job."""

    reason: str
    message: str
    is_warning: bool = False


class Decision(NamedTuple):
    """The next writes; the status, the finalizers and the deletions belong together."""

    status: JobStatus
    untrack: Sequence[JobPod] = ()  # lose their finalizer
    delete: Sequence[JobPod] = ()
    create: Sequence[NewPod] = ()
    events: Sequence[JobEvent] = ()
    wake_at: float | None = None
    is_expired: bool = False  # its time to live is over: the job itself is deleted


def decide(job: BatchJob, pods: Sequence[JobPod], now: float) -> Decision:
    """Decide what is next for a job with these pods."""
    tracked = [pod for pod in pods if pod.is_tracked]
    if job.spec.managed_by not in ("", CONTROLLER):
        return Decision(job.status)
    if job.metadata.deletion_timestamp is not None:
        return Decision(job.status, tracked)
    if job.is_finished:
        return _expire(job, tracked, now)
    counted, status, events = tally(job, pods), _started(job, now), list[JobEvent]()
    work = Work(delete=counted.active)
    ending = _known_ending(status) or _failure(job, status, counted, now) or _success_policy(job, counted)
    if ending is None:
        work = Work(counted.active) if job.spec.suspend else work_for(job, counted, now)
        ending = completion(job, counted, remaining=len(counted.active) - len(work.delete))
    if ending is None:
        status, events = _suspended_or_resumed(job, status, now)
    status, untrack = _count(job, status, counted, work, ending)
    if ending is not None:
        status, events = _end(status, ending, now)
        return Decision(status, untrack, work.delete, (), events)
    wake = [at for at in (work.wake_at, _deadline_of(job, status)) if at is not None]
    return Decision(status, untrack, work.delete, work.create, events, min(wake, default=None))


def _expire(job: BatchJob, tracked: Sequence[JobPod], now: float) -> Decision:
    """A finished job stays as it is, until its time to live is over."""
    ttl, finished = job.spec.ttl_seconds_after_finished, job.status.condition("Complete", "Failed")
    if ttl is None or finished is None or finished.last_transition_time is None:
        return Decision(job.status, tracked)
    end = finished.last_transition_time.timestamp() + ttl
    return Decision(job.status, tracked, wake_at=end if now < end else None, is_expired=now >= end)


def _started(job: BatchJob, now: float) -> JobStatus:
    if job.spec.suspend or job.status.start_time is not None:
        return job.status
    return replace(job.status, start_time=moment(now))


def _count(
    job: BatchJob, status: JobStatus, counted: Tally, work: Work, ending: Ending | None
) -> tuple[JobStatus, Sequence[JobPod]]:
    """The status with all that has ended, and the pods that are counted with it or not at all any more."""
    has_failed = ending is not None and ending.has_failed
    kept = {pod.metadata.uid for pod in counted.to_replace.values()} if ending is None else set()
    removed = {pod.metadata.uid for pod in work.delete}
    new_failures = {pod.metadata.uid for pod in counted.new_failed}
    untrack, failed = list[JobPod](), 0
    for pod in counted.pods:
        uid, is_new_failure = pod.metadata.uid, pod.metadata.uid in new_failures
        is_over = pod.is_finished or is_new_failure or ending is not None or uid in removed
        if not pod.is_tracked or not is_over or uid in kept:
            continue
        untrack.append(pod)
        if is_new_failure or (has_failed and pod.status.phase != "Succeeded"):
            failed += counts_as_failed(pod, job)
    active = [pod for pod in counted.active if pod.metadata.uid not in removed]
    indexed: dict[str, str | None] = {}
    if job.spec.is_indexed:
        indexed["completed_indexes"] = format_indexes(counted.completed)
        if job.spec.backoff_limit_per_index is not None:
            indexed["failed_indexes"] = format_indexes(counted.failed_indexes)
    written = replace(
        status,
        active=len(active),
        ready=sum(pod.is_ready for pod in active),
        terminating=len(counted.terminating) + len(work.delete),
        succeeded=counted.succeeded,
        failed=status.failed + failed,
        uncounted_terminated_pods=Uncounted(),
        **indexed,
    )
    return written, untrack


def _suspended_or_resumed(job: BatchJob, status: JobStatus, now: float) -> tuple[JobStatus, list[JobEvent]]:
    """Say that the job is suspended or no longer; its time starts anew when it is resumed."""
    was = status.condition("Suspended") is not None
    if was == job.spec.suspend:
        return status, []
    if job.spec.suspend:
        status = _with(status, "Suspended", "True", "JobSuspended", "Job suspended", now)
        return status, [JobEvent("Suspended", "Job suspended")]
    status = _with(status, "Suspended", "False", "JobResumed", "Job resumed", now)
    return replace(status, start_time=moment(now)), [JobEvent("Resumed", "Job resumed")]


def _end(status: JobStatus, ending: Ending, now: float) -> tuple[JobStatus, list[JobEvent]]:
    """Say that the job ends, and that it has ended where no pod is left to end."""
    first, last = ("FailureTarget", "Failed") if ending.has_failed else ("SuccessCriteriaMet", "Complete")
    status = _with(status, first, "True", ending.reason, ending.message, now)
    if status.terminating:
        return status, []
    status = _with(status, last, "True", ending.reason, ending.message, now)
    if ending.has_failed:
        return status, [JobEvent(ending.reason, ending.message, is_warning=True)]
    return replace(status, completion_time=moment(now)), [JobEvent("Completed", "Job completed")]


def _with(
    status: JobStatus, kind: str, holds: ConditionStatus, reason: str, message: str, now: float
) -> JobStatus:
    """A status with a condition; one that holds already keeps its time."""
    at = moment(now)
    new = JobCondition(
        type=kind,
        status=holds,
        reason=reason,
        message=message,
        last_transition_time=at,
        last_probe_time=at,
    )
    positions = [position for position, condition in enumerate(status.conditions) if condition.type == kind]
    if not positions:
        return replace(status, conditions=(*status.conditions, new))
    before = status.conditions[positions[0]]
    if before.status == holds:
        return status
    conditions = [new if condition is before else condition for condition in status.conditions]
    return replace(status, conditions=tuple(conditions))


def _deadline_of(job: BatchJob, status: JobStatus) -> float | None:
    """When the job has been active for as long as it may be; None where nothing limits that now."""
    limit, start = job.spec.active_deadline_seconds, status.start_time
    return None if limit is None or start is None or job.spec.suspend else start.timestamp() + limit


def _known_ending(status: JobStatus) -> Ending | None:
    """An end that was certain before, and waits for its pods."""
    condition = status.condition("SuccessCriteriaMet", "FailureTarget")
    return (
        None
        if condition is None
        else Ending(condition.type == "FailureTarget", condition.reason, condition.message)
    )


def _failure(job: BatchJob, status: JobStatus, counted: Tally, now: float) -> Ending | None:
    """Why the job fails now, if it does."""
    spec, failed = job.spec, len(counted.failed_indexes)
    verdicts = [verdict(spec.pod_failure_policy, said) for said in counted.new_failed]
    if message := next((said.message for said in verdicts if said.action == "FailJob"), ""):
        return Ending(True, "PodFailurePolicy", message)
    if counted.failed > spec.backoff_limit or _restarted_too_often(job, counted):
        return Ending(True, "BackoffLimitExceeded", "Job has reached the specified backoff limit")
    if (deadline := _deadline_of(job, status)) is not None and now >= deadline:
        return Ending(True, "DeadlineExceeded", "Job was active longer than specified deadline")
    if spec.max_failed_indexes is not None and failed > spec.max_failed_indexes:
        message = "Job has exceeded the specified maximal number of failed indexes"
        return Ending(True, "MaxFailedIndexesExceeded", message)
    if failed and failed + counted.succeeded >= (spec.completions or 0):
        return Ending(True, "FailedIndexes", "Job has failed indexes")
    return None


def _restarted_too_often(job: BatchJob, counted: Tally) -> bool:
    """Restarts of containers are retries too where pods restart them by themselves."""
    if job.spec.template.spec.restart_policy != "OnFailure":
        return False
    statuses = [
        status
        for pod in counted.pods
        if pod.status.phase in ("Pending", "Running")
        for status in (*pod.status.container_statuses, *pod.status.init_container_statuses)
    ]
    return sum(one.restart_count for one in statuses) >= max(job.spec.backoff_limit, 1)


def _success_policy(job: BatchJob, counted: Tally) -> Ending | None:
    """Which rule of its success policy the job meets, if any."""
    policy = job.spec.success_policy
    if policy is None or not job.spec.is_indexed:
        return None
    for position, rule in enumerate(policy.rules):
        met, needed = counted.completed, rule.succeeded_count
        if rule.succeeded_indexes is not None:
            named = parse_indexes(rule.succeeded_indexes, job.spec.completions or 0)
            met, needed = met & named, len(named) if needed is None else needed
        if needed is not None and len(met) >= needed:
            return Ending(False, "SuccessPolicy", f"Matched rules at index {position}")
    return None


def completion(job: BatchJob, counted: Tally, remaining: int) -> Ending | None:
    """A job without a number of completions is complete once one has succeeded and no other runs."""
    needed = job.spec.completions if job.spec.completions is not None else 1
    if remaining or counted.succeeded < needed:
        return None
    return Ending(False, "CompletionsReached", "Reached expected number of succeeded pods")

"""Whether a job ends, and why: by the first reason that holds."""

from typing import NamedTuple

from maar.core.model.index_ranges import parse_indexes
from maar.embedded.batch_jobs.model import BatchJob, JobStatus
from maar.embedded.batch_jobs.pod_failures import verdict
from maar.embedded.batch_jobs.tally import Tally


class Ending(NamedTuple):
    """That the job ends, and why."""

    has_failed: bool
    reason: str
    message: str


def deadline_of(job: BatchJob, status: JobStatus) -> float | None:
    """When the job has been active for as long as it may be; None where nothing limits that now."""
    limit, start = job.spec.active_deadline_seconds, status.start_time
    return None if limit is None or start is None or job.spec.suspend else start.timestamp() + limit


def known_ending(status: JobStatus) -> Ending | None:
    """An end that was certain before, and waits for its pods."""
    found = status.condition("SuccessCriteriaMet", "FailureTarget")
    return None if found is None else Ending(found.type == "FailureTarget", found.reason, found.message)


def failure(job: BatchJob, status: JobStatus, counted: Tally, now: float) -> Ending | None:
    """Why the job fails now, if it does."""
    spec, failed = job.spec, len(counted.failed_indexes)
    found = [verdict(spec.pod_failure_policy, one) for one in counted.new_failed]
    if message := next((one.message for one in found if one.action == "FailJob"), ""):
        return Ending(True, "PodFailurePolicy", message)
    if counted.failed > spec.backoff_limit or _restarted_too_often(job, counted):
        return Ending(True, "BackoffLimitExceeded", "Job has reached the specified backoff limit")
    if (deadline := deadline_of(job, status)) is not None and now >= deadline:
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


def success_policy(job: BatchJob, counted: Tally) -> Ending | None:
    """Which rule of its success policy the job meets, if any."""
    policy = job.spec.success_policy
    if policy is None or not job.spec.is_indexed:
        return None
    for place, rule in enumerate(policy.rules):
        met, needed = counted.completed, rule.succeeded_count
        if rule.succeeded_indexes is not None:
            named = parse_indexes(rule.succeeded_indexes, job.spec.completions or 0)
            met, needed = met & named, len(named) if needed is None else needed
        if needed is not None and len(met) >= needed:
            return Ending(False, "SuccessPolicy", f"Matched rules at index {place}")
    return None


def completion(job: BatchJob, counted: Tally, remaining: int) -> Ending | None:
    """A job without a number of completions is complete once one has succeeded and no other runs."""
    needed = job.spec.completions if job.spec.completions is not None else 1
    if remaining or counted.succeeded < needed:
        return None
    return Ending(False, "CompletionsReached", "Reached expected number of succeeded pods")

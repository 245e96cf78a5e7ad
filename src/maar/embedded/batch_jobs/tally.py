"""The pods of a job, counted: those that its status has counted already, and those that it has not."""

from collections.abc import Sequence
from typing import NamedTuple

from maar.core.model.index_ranges import parse_indexes
from maar.embedded.batch_jobs.model import BatchJob, JobPod
from maar.embedded.batch_jobs.pod_failures import is_failed, verdict


class Tally(NamedTuple):
    """All that the next step of a job depends on."""

    pods: Sequence[JobPod]
    active: Sequence[JobPod]
    terminating: Sequence[JobPod]
    new_succeeded: Sequence[JobPod]  # tracked, so not in the status yet
    new_failed: Sequence[JobPod]
    succeeded: int
    failed: int  # those that a policy ignores left out
    completed: frozenset[int]
    failed_indexes: frozenset[int]
    to_replace: dict[int, JobPod]  # the last failure of each index that is retried on its own


def tally(job: BatchJob, pods: Sequence[JobPod]) -> Tally:
    """Count pods."""
    spec, status = job.spec, job.status
    active = [pod for pod in pods if pod.is_active]
    tracked = [pod for pod in pods if pod.is_tracked and _is_valid(pod, job)]
    new_succeeded = [one for one in tracked if one.status.phase == "Succeeded"]
    new_failed = [one for one in tracked if is_failed(one, job)]
    completed, failed_indexes, to_replace = frozenset[int](), frozenset[int](), dict[int, JobPod]()
    succeeded = status.succeeded + len(new_succeeded)
    if spec.is_indexed:
        completed = job.completed | _indexes(new_succeeded)
        succeeded = len(completed)
        if spec.backoff_limit_per_index is not None:
            before = parse_indexes(status.failed_indexes or "", spec.completions or 0)
            failed_indexes = before | _indexes([one for one in new_failed if _fails_index(one, job)])
            over = completed | failed_indexes | _indexes(active)
            to_replace = _last_failures([one for one in new_failed if one.index not in over])
    return Tally(
        pods=pods,
        active=active,
        terminating=[pod for pod in pods if pod.is_terminating],
        new_succeeded=new_succeeded,
        new_failed=new_failed,
        succeeded=succeeded,
        failed=status.failed + sum(counts_as_failed(one, job) for one in new_failed),
        completed=completed,
        failed_indexes=failed_indexes,
        to_replace=to_replace,
    )


def counts_as_failed(pod: JobPod, job: BatchJob) -> bool:
    """Whether the failure of a pod is counted, and not ignored by the job's policy."""
    return verdict(job.spec.pod_failure_policy, pod).action != "Ignore"


def _is_valid(pod: JobPod, job: BatchJob) -> bool:
    if not job.spec.is_indexed:
        return True
    return pod.index is not None and pod.index < (job.spec.completions or 0)


def _indexes(pods: Sequence[JobPod]) -> frozenset[int]:
    return frozenset(pod.index for pod in pods if pod.index is not None)


def _fails_index(pod: JobPod, job: BatchJob) -> bool:
    action = verdict(job.spec.pod_failure_policy, pod).action
    if action in ("FailIndex", "Ignore"):
        return action == "FailIndex"
    return pod.index_failures[0] >= (job.spec.backoff_limit_per_index or 0)


def _last_failures(pods: Sequence[JobPod]) -> dict[int, JobPod]:
    ordered = sorted(pods, key=lambda pod: (sum(pod.index_failures), pod.ended))
    return {one.index: one for one in ordered if one.index is not None}

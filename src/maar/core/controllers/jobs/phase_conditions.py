"""The conditions on which a job changes its phase without an order.

Each condition is a function that gives the reason and the message of the next phase, or None where
it does not hold. `phases.py` says which conditions are checked in which phase, and in which order.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from maar.core.controllers.jobs.counting import Counts, is_last_run, unwanted
from maar.core.controllers.jobs.pods import JobPod
from maar.core.model.job import Job

Why = tuple[str, str]  # a reason and a message

_NO_REASON: Final[Why] = ("", "")


class JobFacts(NamedTuple):
    """What the conditions read of a job."""

    job: Job
    pods: Sequence[JobPod]
    counts: Counts
    has_group: bool = False
    waiting: Why | None = None  # why a new job waits; None until its pod group was created or refused
    cannot_follow: str = ""  # why the job that it comes after will never be Completed


def is_created(facts: JobFacts) -> Why | None:
    """The pod group of a new job exists, or something keeps it from being created."""
    return facts.waiting


def cannot_follow(facts: JobFacts) -> Why | None:
    """The job that this one comes after has ended and is not Completed."""
    return ("DependencyFailed", facts.cannot_follow) if facts.cannot_follow else None


def has_gang(facts: JobFacts) -> Why | None:
    """As many pods run or have ended as the job needs."""
    counts = facts.counts
    is_enough = counts.running + counts.succeeded + counts.failed >= facts.job.spec.least
    return _NO_REASON if is_enough else None


def lacks_gang(facts: JobFacts) -> Why | None:
    """So many pods are pending that the others are fewer than the job needs."""
    spec = facts.job.spec
    return _NO_REASON if facts.counts.pending > spec.replicas - spec.least else None


def has_min_success(facts: JobFacts) -> Why | None:
    """`minSuccess` pods have succeeded."""
    spec, succeeded = facts.job.spec, facts.counts.succeeded
    if not spec.replicas or spec.min_success is None or succeeded < spec.min_success:
        return None
    return "MinSuccess", f"{succeeded} pods succeeded, and minSuccess is {spec.min_success}"


def has_failed(facts: JobFacts) -> Why | None:
    """All pods have ended, and too few of them succeeded."""
    spec = facts.job.spec
    if not _has_ended(facts):
        return None
    if (short := _short_task(facts)) is not None:
        return "TaskFailed", f"{_total(facts)}: {short}"
    if spec.min_success is not None:  # `has_min_success` did not hold
        return "MinSuccess", f"{_total(facts)}, and minSuccess is {spec.min_success}"
    if facts.counts.succeeded < spec.least:
        return "PodFailed", f"{_total(facts)}, and minAvailable is {spec.least}"
    return None


def has_succeeded(facts: JobFacts) -> Why | None:
    """All pods have ended; `has_failed` did not hold."""
    return ("Completed", _total(facts)) if _has_ended(facts) else None


def has_no_run_left(facts: JobFacts) -> Why | None:
    """The runs that `maxRetry` allows are used up."""
    job = facts.job
    if not is_last_run(job, job.status):
        return None
    before = job.status.state.message
    limit = f"run {job.status.retry_count} was the last, for maxRetry is {job.spec.max_retry}"
    return "RetryLimitReached", f"{before}; {limit}" if before else limit


def can_run_again(facts: JobFacts) -> Why | None:
    """The pods of before are deleted, and the pod group with them where the whole job is restarted."""
    job, restart = facts.job, facts.job.status.restart
    are_killed = all(_is_killed(pod) for pod in filter(unwanted(job, job.status), facts.pods))
    has_old_group = facts.has_group and restart is not None and not restart.targets
    has_places = job.spec.replicas - facts.counts.terminating >= job.spec.least
    return _NO_REASON if are_killed and not has_old_group and has_places else None


def no_pod_is_alive(facts: JobFacts) -> Why | None:
    """All pods have ended; the reason stays that of the order."""
    state = facts.job.status.state
    return None if facts.counts.alive else (state.reason, state.message)


def _is_killed(pod: JobPod) -> bool:
    """Whether a pod is going, and has nothing to say to the run that comes."""
    return pod.is_gone or (pod.is_terminating and pod.is_marked)


def _has_ended(facts: JobFacts) -> bool:
    """Whether all pods have ended; a job of no pods goes on."""
    counts, replicas = facts.counts, facts.job.spec.replicas
    return 0 < replicas == counts.succeeded + counts.failed and not counts.terminating


def _total(facts: JobFacts) -> str:
    counts = facts.counts
    return f"{counts.succeeded} of {facts.job.spec.replicas} pods succeeded and {counts.failed} failed"


def _short_task(facts: JobFacts) -> str | None:
    """A task with fewer successes than it needs, where the minima of the tasks bind."""
    spec = facts.job.spec
    if spec.least < sum(task.least for task in spec.tasks):
        return None
    for task in spec.tasks:
        done = facts.counts.tasks.get(task.name, {}).get("Succeeded", 0)
        if done < task.least:
            return f"task {task.name} has {done} successes, and its minAvailable is {task.least}"
    return None

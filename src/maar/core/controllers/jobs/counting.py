"""The pods of a job, counted by phase, and which of them the job's phase has no more use for."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import msgspec

from maar.core.controllers.jobs.pods import JobPod, is_restarted
from maar.core.model.index_ranges import parse_indexes
from maar.core.model.job import FINISHED_JOBS, Job, JobStatus, TaskState

RESUME: Final = "ResumeJob"
_ENDING: Final = ("Aborting", "Terminating", "Completing", *FINISHED_JOBS)


class Counts(NamedTuple):
    """How many pods are in each phase; one that is being deleted counts only as terminating."""

    pending: int
    running: int
    succeeded: int  # those that were removed included
    failed: int
    unknown: int
    terminating: int
    tasks: dict[str, dict[str, int]]  # by task and phase; without the terminating

    @property
    def alive(self) -> int:
        """The pods that have not ended yet."""
        return self.pending + self.running + self.unknown + self.terminating


def unwanted(job: Job, status: JobStatus) -> Callable[[JobPod], bool]:
    """Which pods the job is to lose: those that are restarted or ended, or that it has no place for."""
    replicas = {task.name: task.replicas for task in job.spec.tasks}
    phase, restart = status.state.phase, status.restart
    is_ending = phase in _ENDING or (phase == "Restarting" and is_last_run(job, status))
    is_restarting = restart is not None and (phase == "Restarting" or phase in _ENDING)

    def is_unwanted(pod: JobPod) -> bool:
        if pod.is_marked or not 0 <= pod.index < replicas.get(pod.task, 0):
            return True
        if not pod.is_finished and (is_ending or pod.version < status.version):
            return True
        if restart is None or not is_restarting or is_last_run(job, status) or restart.action == RESUME:
            return False
        return is_restarted(pod, job, status) if restart.targets else pod.version < status.version

    return is_unwanted


def is_last_run(job: Job, status: JobStatus) -> bool:
    """Whether a job that is being restarted has no run left, and fails."""
    return status.retry_count >= job.spec.max_retry


def remembered(job: Job, status: JobStatus) -> dict[str, frozenset[int]]:
    """By task, the pods that succeeded and are gone."""
    return {
        task.name: frozenset(
            i for i in parse_indexes(status.completed_indexes[task.name]) if i < task.replicas
        )
        for task in job.spec.tasks
        if task.name in status.completed_indexes
    }


def count(job: Job, status: JobStatus, pods: Sequence[JobPod]) -> Counts:
    """Count the pods of a job."""
    tasks: dict[str, Counter[str]] = {}
    terminating = 0
    gone, is_unwanted = remembered(job, status), unwanted(job, status)
    for pod in pods:
        if pod.index in gone.get(pod.task, ()):
            continue  # it counts with those that are remembered
        if pod.is_gone and pod.phase != "Succeeded":
            continue
        if is_unwanted(pod) or (pod.is_terminating and pod.phase != "Succeeded"):
            terminating += 1
        else:
            tasks.setdefault(pod.task, Counter())[pod.phase] += 1
    for name, done in gone.items():
        if done:
            tasks.setdefault(name, Counter())["Succeeded"] += len(done)
    total = Counter[str]()
    for phases in tasks.values():
        total.update(phases)
    return Counts(
        total["Pending"],
        total["Running"],
        total["Succeeded"],
        total["Failed"],
        total["Unknown"],
        terminating,
        {name: dict(sorted(phases.items())) for name, phases in sorted(tasks.items())},
    )


def with_counts(status: JobStatus, counts: Counts, least: int) -> JobStatus:
    """A status with these counters."""
    return msgspec.structs.replace(
        status,
        min_available=least,
        pending=counts.pending,
        running=counts.running,
        succeeded=counts.succeeded,
        failed=counts.failed,
        unknown=counts.unknown,
        terminating=counts.terminating,
        task_status_count={name: TaskState(phase=phases) for name, phases in counts.tasks.items()},
    )


def is_at_rest(status: JobStatus) -> bool:
    """Whether a job has ended and its last pod was counted: then its counters stay when pods are removed."""
    counted = status.pending + status.running + status.unknown + status.terminating
    return status.state.phase in FINISHED_JOBS and not counted

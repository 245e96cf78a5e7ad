"""What a job waits for: other tasks and another job, what was refused, and what the scheduler says."""

from collections.abc import Mapping, Sequence
from typing import Final

from maar.core.controllers.jobs.counting import remembered
from maar.core.controllers.jobs.pods import JobPod
from maar.core.model.job import FINISHED_JOBS, Job, Task
from maar.core.model.pod_group import PodGroup

NO_SUCH_JOB: Final = "there is no such job"
AFTER_ANNOTATION: Final = "maar.sh/after"  # the name of a job in the same namespace that must complete first


def waiting_tasks(job: Job, pods: Sequence[JobPod]) -> dict[str, str]:
    """By task that waits for others, what it waits for."""
    if all(task.depends_on is None for task in job.spec.tasks):
        return {}
    gone = remembered(job, job.status)
    ready = {task.name: len(gone.get(task.name, ())) for task in job.spec.tasks}
    for pod in pods:
        is_up = pod.phase == "Running" and pod.is_ready and not pod.is_terminating
        is_new_success = pod.phase == "Succeeded" and pod.index not in gone.get(pod.task, ())
        if pod.task in ready and (is_up or is_new_success):
            ready[pod.task] += 1
    tasks = {task.name: task for task in job.spec.tasks}
    waiting: dict[str, str] = {}
    for task in job.spec.tasks:
        names = task.depends_on.name if task.depends_on is not None else ()
        short = [name for name in names if name in tasks and ready[name] < tasks[name].least]
        needs_all = task.depends_on is None or task.depends_on.iteration != "any"
        if short and (needs_all or len(short) == len(names)):
            waiting[task.name] = ", ".join(_short(tasks[name], ready[name]) for name in short)
    return waiting


def job_before(job: Job) -> str | None:
    """The key of the job that must complete first."""
    name = job.metadata.annotations.get(AFTER_ANNOTATION, "")
    return Job.key_of(job.metadata.namespace, name) if name else None


def cannot_follow(before: Job | None) -> str:
    """Why a job that comes after this one can never run; empty where it may: a suspended job is resumed."""
    phase = "" if before is None else before.status.state.phase
    if before is None or phase not in FINISHED_JOBS or phase in ("Completed", "Aborted"):
        return ""
    return f"it comes after job {before.metadata.name}, which is {phase} and not Completed"


def waits_for_job(job: Job, before: Job | None) -> str:
    """Why a job that comes after another waits for it; empty where it does not."""
    name = job.metadata.annotations.get(AFTER_ANNOTATION, "")
    if before is None:
        return f"it comes after job {name}, and {NO_SUCH_JOB}"
    phase = before.status.state.phase
    if phase == "Completed":
        return ""
    return f"it comes after job {name}, which is {phase or 'new'}"


def _short(task: Task, ready: int) -> str:
    return f"{ready} of {task.least} pods of task {task.name} are ready"


def why_it_waits(
    job: Job,
    pods: Sequence[JobPod],
    group: PodGroup | None,
    refusals: Mapping[tuple[str, str], str],
    problem: str,
) -> tuple[str, str]:
    """The reason and the message of a job that is to run; empty where nothing keeps it."""
    if refusals:
        (kind, key), sentence = next(iter(refusals.items()))
        more = f" (and {len(refusals) - 1} more)" if len(refusals) > 1 else ""
        return "FailedCreate", f"{kind} {key} cannot be created: {sentence}{more}"
    if problem:
        return "NotReady", problem
    for condition in group.status.conditions if group is not None else ():
        if condition.type == "Unschedulable" and condition.message:
            return condition.reason, condition.message
    for task, sentence in waiting_tasks(job, pods).items():
        return "DependsOn", f"task {task} waits: {sentence}"
    return "", ""

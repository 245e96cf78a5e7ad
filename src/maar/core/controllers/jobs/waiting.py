"""Why a job waits, in a word and a sentence: the scheduler's own where it is the scheduler that holds it."""

from collections.abc import Mapping, Sequence

from maar.core.controllers.jobs.dependencies import waiting_tasks
from maar.core.controllers.jobs.pods import JobPod
from maar.core.model.job import Job
from maar.core.model.pod_group import PodGroup


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

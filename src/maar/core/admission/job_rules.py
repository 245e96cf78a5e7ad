"""Rules for jobs: their tasks, numbers, plugins, volumes and what an update may change."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from maar.core.admission import (
    job_plugin_rules,
    pod_numbers,
    policy_rules,
    task_rules,
    template_rules,
    update_rules,
    work_rules,
)
from maar.core.admission.case import Case
from maar.core.admission.job_case import JobCase, lists, read_job, size
from maar.core.admission.plain import at, brief, cut, list_at, listed, numbered
from maar.core.admission.pod_group_rules import both_tiers, without_effect
from maar.core.admission.request import Problem
from maar.core.admission.rulebook import Rule, Rulebook
from maar.core.admission.stated_times import stated_times

_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_LONGEST_NAME: Final = 63
_LARGEST: Final = 2**31 - 1
_NUMBERS: Final = {"minAvailable": 0, "maxRetry": 0, "ttlSecondsAfterFinished": 0, "minSuccess": 1}


def tasks(job: JobCase) -> Iterator[Problem]:
    """A job has at least one task."""
    if not job.spec.tasks:
        yield Problem("spec.tasks", "[]", "is empty: No task specified in job spec; add at least one task")


def numbers(job: JobCase) -> Iterator[Problem]:
    """Numbers of a job and its tasks are not negative, and minSuccess is at least 1."""
    spec = at(job.case.new, "spec")
    fields = [(f"spec.{field}", at(spec, field), least) for field, least in _NUMBERS.items()]
    for path, task in numbered("spec.tasks", list_at(spec, "tasks")):
        names = ("replicas", "minAvailable", "maxRetry")
        fields += [(f"{path}.{field}", at(task, field), 0) for field in names]
    for path, value, least in fields:
        if isinstance(value, int) and not least <= value <= _LARGEST:
            sentence = (
                f"is {brief(value)}, should be greater than or equal to {least} and below 2^31; correct it"
            )
            yield Problem(path, brief(value), sentence)


def task_name(job: JobCase) -> Iterator[Problem]:
    """Every task has a name of its own that can be part of a pod's name."""
    seen = set[str]()
    for number, task in enumerate(job.spec.tasks):
        path = f"spec.tasks[{number}].name"
        if task.name and not _LABEL.fullmatch(task.name):
            wrong = brief(task.name)
            sentence = f"is {wrong}, should match {_LABEL.pattern}; use a-z, 0-9 and -, at most 63 of them"
            yield Problem(path, wrong, sentence)
        elif task.name and task.name in seen:
            wrong = brief(task.name)
            yield Problem(
                path, wrong, f"is a duplicated task name, {wrong}; give each task a name of its own"
            )
        seen.add(task.name)


def pod_name(job: JobCase) -> Iterator[Problem]:
    """The names of a job's pods, <job>-<task>-<number>, have at most 63 letters."""
    for number, task in enumerate(job.spec.tasks):
        longest = f"{job.name}-{task.name or f'default{number}'}-{max(0, task.replicas - 1)}"
        if len(longest) > _LONGEST_NAME and job.name:
            sentence = (
                f"makes pods such as {cut(longest)}, longer than {_LONGEST_NAME} letters; shorten a name"
            )
            yield Problem(f"spec.tasks[{number}].name", brief(task.name), sentence)


def task_min_available(job: JobCase) -> Iterator[Problem]:
    """A task waits for no more pods than it has."""
    for number, task in enumerate(job.spec.tasks):
        if task.min_available is not None and task.min_available > task.replicas:
            wrong = brief(task.min_available)
            sentence = (
                f"is {wrong}: 'minAvailable' is greater than 'replicas' in task: {cut(task.name)}, "
                f"and must be <= replicas, {brief(task.replicas)}; "
                "lower minAvailable or raise replicas"
            )
            yield Problem(f"spec.tasks[{number}].minAvailable", wrong, sentence)


def min_available(job: JobCase) -> Iterator[Problem]:
    """A job waits for no more pods than its tasks have."""
    total = sum(task.replicas for task in job.spec.tasks)
    if job.spec.min_available is not None and job.spec.tasks and job.spec.min_available > total:
        wrong = brief(job.spec.min_available)
        sentence = (
            f"is {wrong}: job 'minAvailable' should not be greater than total replicas in tasks, "
            f"{brief(total)}; lower it or raise the replicas of a task"
        )
        yield Problem("spec.minAvailable", wrong, sentence)


def depends_on(job: JobCase) -> Iterator[Problem]:
    """Tasks depend on tasks of the same job, and never in a circle."""
    names = {task.name for task in job.spec.tasks}
    waits: dict[str, set[str]] = {}
    for number, task in enumerate(job.spec.tasks):
        wanted = set(task.depends_on.name) if task.depends_on else set()
        if unknown := sorted(wanted - names):
            sentence = (
                f"names {listed(unknown)}, and the job has no such task; name one of {listed(sorted(names))}"
            )
            yield Problem(f"spec.tasks[{number}].dependsOn.name", brief(unknown[0]), sentence)
        waits[task.name] = wanted & names
    while ready := [name for name, wanted in waits.items() if not wanted]:
        for name in ready:
            del waits[name]
        for wanted in waits.values():
            wanted.difference_update(ready)
    if waits:
        sentence = (
            "has dependencies between tasks that don't form a directed acyclic graph (DAG): "
            f"{listed(sorted(waits))} wait for one another; remove one dependency"
        )
        yield Problem("spec.tasks", listed(sorted(waits)), sentence)


def mount_path(job: JobCase) -> Iterator[Problem]:
    """Every volume of a job has a path of its own, without a colon."""
    seen = set[str]()
    for number, volume in enumerate(job.spec.volumes):
        path, where = f"spec.volumes[{number}].mountPath", volume.mount_path
        if not where:
            yield Problem(
                path, brief(where), "should be at least 1 chars long: mountPath is required; name a path"
            )
        elif ":" in where:
            yield Problem(
                path, brief(where), f"is {brief(where)}, and must not contain ':'; mount it elsewhere"
            )
        elif where in seen:
            yield Problem(
                path, brief(where), f"is a duplicated mountPath, {brief(where)}; mount it elsewhere"
            )
        seen.add(where)


def volume_claim(job: JobCase) -> Iterator[Problem]:
    """Every volume of a job names a claim or describes one, not both."""
    for number, volume in enumerate(job.spec.volumes):
        if bool(volume.volume_claim_name) == (volume.volume_claim is not None):
            sentence = (
                "must have one of the two: either VolumeClaim or VolumeClaimName must be specified; "
                f"{'remove' if volume.volume_claim_name else 'add'} one"
            )
            yield Problem(f"spec.volumes[{number}]", brief(volume.volume_claim_name), sentence)


def network_topology(job: JobCase) -> Iterator[Problem]:
    """A network tier is limited by number or by name, not both."""
    spec = at(job.case.new, "spec")
    yield from both_tiers(spec, "spec")
    for path, task in numbered("spec.tasks", list_at(spec, "tasks")):
        yield from both_tiers(at(task, "partitionPolicy"), f"{path}.partitionPolicy")


def no_effect(job: JobCase) -> Iterator[Problem]:
    """Fields of Volcano's that have no effect in Maar."""
    spec = at(job.case.new, "spec")
    yield from without_effect(spec, "spec", ("networkTopology",))
    for path, task in numbered("spec.tasks", list_at(spec, "tasks")):
        yield from without_effect(task, path, ("topologyPolicy",))
        if (partitions := at(task, "partitionPolicy")) not in (None, {}):
            sentence = "divides the pods for RestartPartition only: Maar does not place partitions together"
            yield Problem(f"{path}.partitionPolicy", brief(partitions), sentence)


RULES: Final[Mapping[str, Rule[JobCase]]] = {
    "job-tasks": tasks,
    "job-number": numbers,
    "job-pods": pod_numbers.pods_of_job,
    "job-task-name": task_name,
    "job-pod-name": pod_name,
    "job-task-min-available": task_min_available,
    "job-min-available": min_available,
    "job-depends-on": depends_on,
    **policy_rules.RULES,
    "job-template": template_rules.template,
    **job_plugin_rules.RULES,
    **task_rules.RULES,
    "job-volume-mount-path": mount_path,
    "job-volume-claim": volume_claim,
    "job-network-topology": network_topology,
    **work_rules.rules_of("job"),
}
READABLE: Final[Mapping[str, Rule[Case]]] = {
    "job-size": size,
    "job-list": lists,
    "job-quantity": template_rules.quantities,
}
UPDATE_RULES: Final[Mapping[str, Rule[JobCase]]] = {
    "job-update": update_rules.job_update,
    "job-number": numbers,
    "job-pods": pod_numbers.pods_of_job,
    "job-task-min-available": task_min_available,
    "job-min-available": min_available,
    "job-partition": task_rules.partitions,
}
WARNINGS: Final[Mapping[str, Rule[JobCase]]] = {
    "job-queue-set-aside": work_rules.set_aside,
    "job-no-effect": no_effect,
    "job-stated-time": stated_times,
    **job_plugin_rules.WARNINGS,
}
BOOK: Final = Rulebook(
    noun="job", read=read_job, readable=READABLE, create=RULES, update=UPDATE_RULES, warnings=WARNINGS
)

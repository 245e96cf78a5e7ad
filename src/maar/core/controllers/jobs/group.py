"""The pod group of a job: how it should be, as a document and as a change."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import msgspec

from maar.core.controllers.jobs.counting import remembered
from maar.core.controllers.jobs.pods import JOB_NAME, owner_reference
from maar.core.model.job import Job, Task
from maar.core.model.kinds import from_document, plain, to_json
from maar.core.model.pod import TASK_ANNOTATION, Pod, pod_request
from maar.core.model.pod_group import PodGroup
from maar.core.model.resources import PODS, Resources
from maar.core.model.run_time import EXPECTED_RUN_TIME

_Json = dict[str, object]

_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_PARTITION: Final = "volcano.sh/partition-id"
_NATIVE: Final = ("cpu", "memory", "ephemeral-storage")


class _TemplateAmounts(NamedTuple):
    """What a pod of a template asks for, and what it may not exceed."""

    requests: Resources
    limits: Resources
    priority_class: str


class WantedGroup(NamedTuple):
    """The part of a pod group that follows its job."""

    min_member: int
    min_task_member: dict[str, int]
    priority_class: str
    min_resources: Resources


def group_key(job: Job) -> str:
    """The key of a job's pod group."""
    return f"{job.metadata.namespace or 'default'}/{job.metadata.name}-{job.metadata.uid}"


def wanted_group(job: Job, waiting: Sequence[str], priorities: Mapping[str, int]) -> WantedGroup:
    """How the group should be while some tasks wait for others: it asks for no pods that nobody makes.

    Nor for those that have succeeded and are gone: what is left starts together.
    """
    gone = {name: len(indexes) for name, indexes in remembered(job, job.status).items()}
    tasks = [_left(task, gone.get(task.name, 0)) for task in job.spec.tasks if task.name not in waiting]
    least = min(max(0, job.spec.least - sum(gone.values())), sum(task.replicas for task in tasks))
    members = {task.name: task.least for task in tasks}
    return WantedGroup(
        min_member=least,
        min_task_member=members,
        priority_class=job.spec.priority_class_name,
        min_resources=_min_resources(tasks, least, priorities),
    )


def _left(task: Task, gone: int) -> Task:
    """A task without pods that have succeeded and are gone."""
    if not gone:
        return task
    return msgspec.structs.replace(
        task, replicas=task.replicas - gone, min_available=max(0, task.least - gone)
    )


def group_document(job: Job, wanted: WantedGroup) -> _Json:
    """The group, to be created."""
    metadata = job.metadata
    spec: _Json = {
        "minMember": wanted.min_member,
        "minTaskMember": wanted.min_task_member,
        "queue": job.spec.queue,
        "minResources": wanted.min_resources.quantities(),
    }
    if wanted.priority_class:
        spec["priorityClassName"] = wanted.priority_class
    if job.spec.network_topology is not None:
        spec["networkTopology"] = msgspec.to_builtins(job.spec.network_topology)
    if policies := [_sub_group(task) for task in job.spec.tasks if task.partition_policy is not None]:
        spec["subGroupPolicy"] = policies
    notes = {name: text for name, text in metadata.annotations.items() if name != _LAST_APPLIED}
    if job.spec.running_estimate:
        notes.setdefault(EXPECTED_RUN_TIME, job.spec.running_estimate)
    return {
        "apiVersion": PodGroup.api_version,
        "kind": "PodGroup",
        "metadata": {
            "name": f"{metadata.name}-{metadata.uid}",
            "namespace": metadata.namespace or "default",
            "labels": dict(metadata.labels) | {JOB_NAME: metadata.name},
            "annotations": notes,
            "ownerReferences": [owner_reference(job)],
        },
        "spec": spec,
        "status": {"phase": "Pending"},
    }


def group_patch(group: PodGroup, wanted: WantedGroup) -> _Json:
    """The merge patch that makes a group follow its job; empty where it does."""
    spec, changed = group.spec, _Json()
    if wanted.min_member != spec.min_member:
        changed["minMember"] = wanted.min_member
    if wanted.min_task_member != spec.min_task_member:
        gone = dict.fromkeys(spec.min_task_member.keys() - wanted.min_task_member.keys())
        changed["minTaskMember"] = {**gone, **wanted.min_task_member}
    if wanted.priority_class != spec.priority_class_name:
        changed["priorityClassName"] = wanted.priority_class or None
    before = spec.min_resources or Resources()
    if wanted.min_resources != before:
        removed = dict.fromkeys(before.keys() - wanted.min_resources.keys())
        changed["minResources"] = {**removed, **wanted.min_resources.quantities()}
    return {"spec": changed} if changed else {}


def _sub_group(task: Task) -> _Json:
    policy = task.partition_policy
    return {
        "name": task.name,
        "subGroupSize": policy.partition_size if policy is not None else 1,
        "minSubGroups": policy.min_partitions if policy is not None else 0,
        "labelSelector": {"matchLabels": {TASK_ANNOTATION: task.name}},
        "matchLabelKeys": [_PARTITION],
    }


def _min_resources(tasks: Sequence[Task], least: int, priorities: Mapping[str, int]) -> Resources:
    """What the smallest set of pods asks for that makes the group ready; high priorities come first.

    Where the minimum of the job is that of its tasks together, the set has the minimum of each.
    """
    amounts = {task.name: _amounts(to_json(task.template)) for task in tasks}
    largest: dict[str, int] = {}
    for amount in amounts.values():
        for name, units in amount.requests.items():
            largest[name] = max(largest.get(name, 0), units)

    def order(task: Task) -> tuple[int, float]:
        asked = amounts[task.name]
        size = sum(units / largest[name] for name, units in asked.requests.items() if largest[name])
        return -priorities.get(asked.priority_class, 0), size

    chosen = {task.name: 0 for task in tasks}
    left = least
    ordered = sorted(tasks, key=order)
    if least >= sum(task.least for task in tasks):
        for task in ordered:
            chosen[task.name] = min(task.least, left)
            left -= chosen[task.name]
    for task in ordered:
        more = min(task.replicas - chosen[task.name], left)
        chosen[task.name] += more
        left -= more
    total: dict[str, int] = {}
    for name, number in chosen.items():
        for resource, units in _quota_form(amounts[name]).items():
            total[resource] = total.get(resource, 0) + units * number
    return Resources({name: units for name, units in total.items() if units})


def _quota_form(asked: _TemplateAmounts) -> dict[str, int]:
    """What a pod uses of quotas, by their names."""
    found = {PODS: 1, "count/pods": 1}
    for name, units in asked.requests.items():
        if name == PODS:
            continue
        found[name] = units
        found[f"requests.{name}"] = units
    for name, units in asked.limits.items():
        if name in _NATIVE:
            found[f"limits.{name}"] = units
    return found


@lru_cache(maxsize=1024)
def _amounts(template: bytes) -> _TemplateAmounts:
    read = plain(template)
    spec = from_document(
        Pod, {"kind": "Pod", "spec": read.get("spec", {}) if isinstance(read, dict) else {}}
    ).spec
    limits = Resources()
    for container in spec.containers:
        limits = limits.plus(container.resources.limits)
    return _TemplateAmounts(pod_request(spec), limits, spec.priority_class_name)

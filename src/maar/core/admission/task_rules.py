"""Rules for the tasks of jobs: their partitions, and how they use the NUMA nodes of a machine."""

from collections.abc import Iterator, Mapping
from typing import Final

from maar.core.admission.job_case import JobCase
from maar.core.admission.plain import at, brief, list_at, numbered
from maar.core.admission.request import UPDATE, Problem
from maar.core.admission.rulebook import Rule
from maar.core.model.resources import CPU, BadAmountError, amount

_TOPOLOGY_POLICIES: Final = ("none", "best-effort", "restricted", "single-numa-node")
_LEAST: Final = {"totalPartitions": 1, "partitionSize": 1, "minPartitions": 0}
_MILLI: Final = 1000


def partitions(job: JobCase) -> Iterator[Problem]:
    """A task that is divided has at least one partition of at least one pod, and no pod outside of them."""
    before = list_at(job.case.old, "spec", "tasks")
    for number, (path, task) in enumerate(_tasks(job)):
        policy, replicas = at(task, "partitionPolicy"), at(task, "replicas")
        is_kept = job.case.request.operation == UPDATE and _has_replicas(before, number, replicas)
        if not isinstance(policy, dict) or not policy or is_kept:
            continue  # what an update leaves as it was has been admitted so
        total, size, least = (_number(policy, field) for field in _LEAST)
        wrong = [field for field, limit in _LEAST.items() if not limit <= _number(policy, field)]
        for field in wrong:
            value = brief(policy.get(field))
            sentence = f"is {value}, should be a whole number of at least {_LEAST[field]}; correct it"
            yield Problem(f"{path}.partitionPolicy.{field}", value, sentence)
        if not wrong and total * size != replicas:
            sentence = (
                f"has {total} partitions of {size} pods, and the task has {brief(replicas or 0)} replicas; "
                "totalPartitions times partitionSize must be the replicas"
            )
            yield Problem(f"{path}.partitionPolicy", brief(total * size), sentence)
        elif not wrong and least > total:
            sentence = f"is {least}, and there are {total} partitions; lower it"
            yield Problem(f"{path}.partitionPolicy.minPartitions", brief(least), sentence)


def topology_policy(job: JobCase) -> Iterator[Problem]:
    """A topology policy is one that there is, and its containers ask for whole CPUs."""
    for path, task in _tasks(job):
        policy = at(task, "topologyPolicy")
        if policy not in (None, "", *_TOPOLOGY_POLICIES):
            sentence = f"is {brief(policy)}; write one of {', '.join(_TOPOLOGY_POLICIES)}"
            yield Problem(f"{path}.topologyPolicy", brief(policy), sentence)
        elif policy not in (None, "", "none"):
            here = f"{path}.template.spec.containers"
            for where, container in numbered(here, list_at(task, "template", "spec", "containers")):
                if not _has_whole_cpus(container):
                    sentence = f"needs whole CPUs for topologyPolicy {policy}; request for example cpu: 2"
                    yield Problem(f"{where}.resources.requests.cpu", brief(_cpu(container)), sentence)


def _tasks(job: JobCase) -> Iterator[tuple[str, object]]:
    return numbered("spec.tasks", list_at(job.case.new, "spec", "tasks"))


def _has_replicas(before: list[object], number: int, replicas: object) -> bool:
    return number < len(before) and at(before[number], "replicas") == replicas


def _number(policy: dict[str, object], field: str) -> int:
    found = policy.get(field, 0)
    return found if type(found) is int else -1


def _cpu(container: object) -> object:
    requests, limits = (at(container, "resources", part, CPU) for part in ("requests", "limits"))
    return limits if requests is None else requests


def _has_whole_cpus(container: object) -> bool:
    cpu = _cpu(container)
    try:
        units = amount(CPU, str(cpu)) if cpu is not None else 0
    except BadAmountError:
        return False
    return units > 0 and units % _MILLI == 0


RULES: Final[Mapping[str, Rule[JobCase]]] = {
    "job-partition": partitions,
    "job-topology-policy": topology_policy,
}

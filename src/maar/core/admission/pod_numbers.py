"""How many pods one object may ask for: one that asks for millions takes memory and time from all others."""

from collections.abc import Callable, Iterator
from typing import Protocol

from maar.core.admission.case import Case
from maar.core.admission.plain import at, list_at, map_at
from maar.core.admission.request import Options, Problem


class Judged(Protocol):
    """An object that asks for pods, before the rules."""

    @property
    def case(self) -> Case:
        """The request, what is known of the cluster, and the options."""


def pods_of_job(job: Judged) -> Iterator[Problem]:
    """A job has at most as many pods as --max-job-pods says."""
    yield from _too_many(job.case, "spec.tasks", _replicas)


def pods_of_group(group: Judged) -> Iterator[Problem]:
    """A pod group waits for at most as many pods as --max-job-pods says."""
    yield from _too_many(group.case, "spec.minMember", lambda one: _number(at(one, "spec", "minMember")))
    yield from _too_many(group.case, "spec.minTaskMember", _members)


def pods_at_once(new: object, old: object, options: Options) -> str:
    """What is wrong with the pods that a Job of batch/v1 runs at once; empty where nothing is."""
    asked, before = (_number(at(one, "spec", "parallelism")) for one in (new, old))
    return _refusal(asked, before, options)


def _too_many(case: Case, field: str, count: Callable[[object], int]) -> Iterator[Problem]:
    asked = count(case.new)
    if sentence := _refusal(asked, count(case.old), case.options):
        yield Problem(field, str(asked), sentence)


def _refusal(asked: int, before: int, options: Options) -> str:
    """What is stored already may stay as it is, or ask for fewer."""
    if asked <= max(options.max_job_pods, before):
        return ""
    return (
        f"asks for {asked} pods, must be <= {options.max_job_pods}; ask for fewer, make several jobs of it, "
        "or have an administrator raise --max-job-pods"
    )


def _replicas(job: object) -> int:
    return sum(_number(at(task, "replicas")) for task in list_at(job, "spec", "tasks"))


def _members(group: object) -> int:
    return sum(map(_number, map_at(group, "spec", "minTaskMember").values()))


def _number(value: object) -> int:
    return value if type(value) is int and value > 0 else 0

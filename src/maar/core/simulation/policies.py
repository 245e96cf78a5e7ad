"""Policies that a workload is simulated under: configurations of the scheduler, two of them from textbooks.

FCFS and EASY backfill are defined for one queue and one kind of machine. They are configurations of
the same engine: one queue, jobs in the order of submission only, each admitted at once, no
evictions.

- `fcfs`: the queue is `fifo`, so that the first job that does not fit stops those behind it.
- `easy`: the plugin `sla` holds room for the first job that does not fit as soon as it waits
  (waiting time 0, depth 1); others are placed before it where that does not delay it, by what jobs
  say of their run times.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from math import floor
from typing import Final, Literal, NamedTuple

import msgspec

from maar.core.model.metadata import Object
from maar.core.model.pod_group import PodGroup, PodGroupCondition, PodGroupStatus
from maar.core.model.queue import Queue, QueueMetadata, QueueSpec
from maar.core.policy.configuration import DEFAULT, Configuration, parse
from maar.core.simulation.jobs import TraceJob
from maar.core.simulation.virtual_time import Arrival

ONE_QUEUE: Final = "all-jobs"


class Policy(NamedTuple):
    """How decisions are made, under a name that reports have."""

    name: str
    configuration: Configuration = DEFAULT
    one_queue: Literal["fifo", "traverse"] | None = None  # all jobs go to a queue of this kind


def _in_order_of_submission(*more: dict[str, object]) -> Configuration:
    plugins = [{"name": "gang"}, {"name": "predicates"}, {"name": "binpack"}, *more]
    return parse({"actions": "allocate", "tiers": [{"plugins": plugins}]})


_HOLDS_ROOM: Final[dict[str, object]] = {
    "name": "sla", "arguments": {"sla-waiting-time": "0s", "depth": 1},
}  # fmt: skip
NAMED: Final = {
    "default": Policy("default"),
    "fcfs": Policy("fcfs", _in_order_of_submission(), "fifo"),
    "easy": Policy("easy", _in_order_of_submission(_HOLDS_ROOM), "traverse"),
}


def queues_under(policy: Policy, queues: Iterable[Queue]) -> list[Queue]:
    """The queues of a cluster under a policy."""
    if policy.one_queue is None:
        return list(queues)
    spec = QueueSpec(dequeue_strategy=policy.one_queue)
    return [Queue(metadata=QueueMetadata(name=ONE_QUEUE), spec=spec)]


def jobs_under(policy: Policy, jobs: Iterable[TraceJob]) -> Iterable[TraceJob]:
    """The jobs as they are submitted under a policy; those of one time are in the order of their numbers."""
    if policy.one_queue is None:
        return jobs
    return (
        job._replace(name=f"job-{number}", namespace=ONE_QUEUE, queue=ONE_QUEUE, priority=None)
        for number, job in enumerate(jobs)
    )


def arrivals_under(policy: Policy, arrivals: Iterable[Arrival]) -> Iterable[Arrival]:
    """The objects of jobs under a policy: where there is no admission, room is held from the arrival on."""
    if policy.one_queue is None:
        return arrivals
    return (one._replace(objects=[_admitted(thing, one.time) for thing in one.objects]) for one in arrivals)


def _admitted(one: Object, time: float) -> Object:
    if not isinstance(one, PodGroup):
        return one
    since = datetime.fromtimestamp(floor(time), UTC)
    condition = PodGroupCondition(
        type="Admitted", status="True", reason="Admitted", last_transition_time=since
    )
    status = PodGroupStatus(phase="Inqueue", conditions=(condition,))
    return msgspec.structs.replace(one, status=status)

"""The figures of a simulation, slowly and from their definitions: every step kept, every sum in a loop."""

from collections.abc import Iterable, Mapping
from itertools import pairwise
from math import isnan
from typing import NamedTuple

from maar.core.model.plan import Plan
from maar.core.model.pod import GROUP_ANNOTATION
from maar.core.model.queue import ROOT
from maar.core.simulation.job_columns import JobColumns
from maar.core.simulation.virtual_time import Simulation


class Step(NamedTuple):
    """How things are from a time on."""

    time: float
    waiting: int
    evicted: int
    total: Mapping[str, int]
    used: dict[str, dict[str, int]]  # by queue
    deserved: dict[str, Mapping[str, int]]


def step_of(simulation: Simulation, plan: Plan, queues: Iterable[str]) -> Step:
    """Look at every pod."""
    used: dict[str, dict[str, int]] = {name: {} for name in queues}
    waiting = 0
    for pod in simulation.cluster.pods.values():
        if not pod.spec.node_name:
            waiting += 1
        elif pod.status.phase == "Running":
            group = f"{pod.metadata.namespace}/{pod.metadata.annotations[GROUP_ANNOTATION]}"
            of_queue = used[simulation.cluster.groups[group].spec.queue]
            for name, amount in pod.request.items():
                of_queue[name] = of_queue.get(name, 0) + amount
    return Step(
        simulation.time,
        waiting,
        len(plan.evictions),
        plan.queues[ROOT].real_capability,
        used,
        {name: plan.queues[name].deserved for name in queues},
    )


def integral(
    steps: list[Step], value: "Value", begin: float, end: float, *, only_busy: bool = False
) -> float:
    """The sum of value x seconds between two times."""
    found = 0.0
    for one, following in pairwise(steps):
        seconds = min(end, following.time) - max(begin, one.time)
        if seconds > 0 and (one.waiting or not only_busy):
            found += value.of(one) * seconds
    return found


class Value(NamedTuple):
    """One of the values of a step."""

    what: str
    resource: str = ""
    queue: str = ""

    def of(self, step: Step) -> float:
        """Its amount."""
        used = {name: of.get(self.resource, 0) for name, of in step.used.items()}
        due = {name: of.get(self.resource, 0) for name, of in step.deserved.items()}
        match self.what:
            case "one":
                return 1.0
            case "waiting":
                return step.waiting
            case "total":
                return step.total.get(self.resource, 0)
            case "used":
                return used[self.queue] if self.queue else sum(used.values())
            case "deserved":
                return due[self.queue]
            case "error":
                return abs(used[self.queue] - due[self.queue])
        raise ValueError(self.what)


def percentile(values: list[float], part: float) -> float:
    """Between the two nearest values, as far as the part says."""
    ordered = sorted(values)
    place = part * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def slowdowns(jobs: JobColumns) -> list[float]:
    """Job by job."""
    found = []
    for submitted, ended, run in zip(
        jobs.submitted.tolist(), jobs.ended.tolist(), jobs.run_time.tolist(), strict=True
    ):
        if not isnan(ended):
            found.append(max(1.0, (ended - submitted) / max(run, 10.0)))
    return found

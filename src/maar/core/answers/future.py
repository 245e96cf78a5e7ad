"""The future of a cluster: what becomes of it if nothing comes and pods end when they are expected to.

Everything that is asked about the future is read from this one simulation: planned starts, what a change
would do, the smallest change that would help.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import Literal, NamedTuple

from maar.core.model.metadata import Object
from maar.core.model.plan import Plan
from maar.core.model.pod import Pod
from maar.core.policy.configuration import DEFAULT, Configuration
from maar.core.simulation.group_times import GroupTimes
from maar.core.simulation.virtual_time import Simulation
from maar.core.tables.run_times import RunTimes

Certainty = Literal["exact", "bound", "unknown"]


class Start(NamedTuple):
    """When a group starts, or why nobody knows."""

    time: float | None  # None: unknown
    certainty: Certainty
    because: str = ""  # where it is not exact: what it depends on, as part of a sentence


@dataclass(frozen=True)
class Present:
    """What is known of a cluster at a time: its objects, and how decisions are made."""

    objects: tuple[Object, ...]
    configuration: Configuration = DEFAULT
    now: float = 0.0
    scheduler_name: str = "volcano"


class Future:
    """A simulation from the present on; run times of pods are those that are expected."""

    def __init__(self, present: Present) -> None:
        self.present = present
        self.simulation = Simulation(
            present.objects,
            self._run_time,
            present.configuration,
            present.now,
            scheduler_name=present.scheduler_name,
        )
        self._run_times: RunTimes | None = None

    def now(self) -> list[Plan]:
        """The decisions of the present: they go on until one changes nothing."""
        return [plan for _, plan in self.simulation.run(until=self.simulation.time)]

    def run(self, until: float = inf) -> Iterator[tuple[float, Plan]]:
        """The decisions from here on, up to and with a time."""
        return self.simulation.run(until)

    def times(self) -> GroupTimes:
        """What has become of every group until now."""
        return self.simulation.times()

    def _run_time(self, pod: Pod) -> float | None:
        """Expected seconds of a pod; None where nobody knows, or where it has run for longer already."""
        tables = self.simulation.engine.tables
        if self._run_times is None:
            self._run_times = RunTimes(tables)
        row = tables.pods[pod.key]
        end = self._run_times.end(row, self.simulation.time)
        return None if end is None else end - (self.simulation.time if row.started is None else row.started)

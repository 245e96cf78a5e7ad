"""Law P2: where pods end earlier than stated, nobody starts later than planned; and where that fails.

Ends that come early can delay others wherever small jobs are placed past a large one that waits:
decision record 53 has the counterexample, which is a test here. The law holds where nobody passes
anybody, in a queue that is first in, first out; and for groups that hold room.
"""

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from math import isnan
from random import Random
from typing import Final, Literal
from zlib import crc32

from hypothesis import given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

from maar.core.answers.future import Present
from maar.core.answers.starts.ask import planned_starts
from maar.core.model.metadata import Condition, Metadata, Object
from maar.core.model.node import Node, NodeStatus
from maar.core.model.pod import GROUP_ANNOTATION, Container, Pod, PodSpec, ResourceRequirements
from maar.core.model.pod_group import PodGroup, PodGroupSpec
from maar.core.model.queue import Queue, QueueMetadata, QueueSpec
from maar.core.model.resources import Resources
from maar.core.model.run_time import EXPECTED_RUN_TIME
from maar.core.policy.configuration import DEFAULT, Configuration
from maar.core.simulation.virtual_time import Simulation
from properties.how_many import cases
from properties.test_planned_start_laws import Watch
from properties.truthful_clusters import START, Recipe, recipes, run_time
from properties.truthful_clusters import configuration as with_sla

CLUSTERS: Final = int(os.environ.get("MAAR_UPPER_BOUNDS", cases(60)))  # 1000 take some ten minutes


@dataclass(frozen=True)
class Job:
    """A gang of pods of one CPU; `bound` is what it states, `runs` what is true."""

    name: str
    pods: int
    bound: int
    runs: int


def submitted(jobs: list[Job], cpus: list[int], strategy: Literal["fifo", "traverse"]) -> list[Object]:
    """Nodes, a queue, and all jobs in their order."""
    ready = (Condition(type="Ready", status="True"),)
    objects: list[Object] = [
        Queue(metadata=QueueMetadata(name="q"), spec=QueueSpec(dequeue_strategy=strategy))
    ]
    for number, cpu in enumerate(cpus):
        status = NodeStatus(allocatable=Resources({"cpu": 1000 * cpu, "pods": 50}), conditions=ready)
        objects.append(Node(metadata=Metadata(name=f"n{number}"), status=status))
    asked = ResourceRequirements(requests=Resources({"cpu": 1000}))
    spec = PodSpec(scheduler_name="volcano", containers=(Container(name="c", resources=asked),))
    for job in jobs:
        group = PodGroupSpec(min_member=job.pods, queue="q")
        objects.append(PodGroup(metadata=Metadata(name=job.name, namespace="ns"), spec=group))
        notes = {GROUP_ANNOTATION: job.name, EXPECTED_RUN_TIME: f"{job.bound}s"}
        for number in range(job.pods):
            metadata = Metadata(name=f"{job.name}-{number}", namespace="ns", annotations=notes)
            objects.append(Pod(metadata=metadata, spec=spec))
    return objects


def later_than_planned(
    jobs: list[Job],
    cpus: list[int],
    strategy: Literal["fifo", "traverse"],
    configuration: Configuration = DEFAULT,
) -> dict[str, tuple[float, float]]:
    """The jobs that start later than planned at first, with both times."""
    objects, runs = submitted(jobs, cpus, strategy), {job.name: job.runs for job in jobs}
    planned = planned_starts(Present(tuple(objects), configuration, START))
    simulation = Simulation(
        objects, lambda pod: float(runs[pod.metadata.annotations[GROUP_ANNOTATION]]), configuration, START
    )
    for _ in simulation.run():
        pass
    times = simulation.times()
    found = {}
    for key, started in zip(times.group, times.started.tolist(), strict=True):
        start = planned[key].time
        assert start is not None
        assert not isnan(started)
        if started > start:
            found[key.partition("/")[2]] = (start - START, started - START)
    return found


# The large job has room when the first two have ended, unless one of them ends before the other and a small
# job takes its place for long.
ANOMALY: Final = [Job("a", 1, 10, 5), Job("b", 1, 10, 10), Job("large", 2, 5, 5), Job("small", 1, 100, 100)]


def test_an_early_end_delays_a_large_job_that_others_pass() -> None:
    assert later_than_planned(ANOMALY, [2], "traverse") == {"large": (10, 105)}


def test_it_does_not_where_nobody_passes() -> None:
    assert later_than_planned(ANOMALY, [2], "fifo") == {}


def test_it_does_not_where_the_large_job_holds_room() -> None:
    jobs = [Job("a", 1, 20, 15), Job("b", 1, 20, 20), *ANOMALY[2:]]  # it holds room after five seconds
    assert later_than_planned(jobs, [2], "traverse") == {"large": (20, 115)}
    assert later_than_planned(jobs, [2], "traverse", with_sla(1)) == {}


def test_p2_first_in_first_out_nobody_starts_later_than_planned(
    seed: int, record_property: Callable[[str, object], None]
) -> None:
    seen = Counter[str]()

    @seeded(seed)
    @settings(max_examples=CLUSTERS)
    @given(drawn_bytes=st.binary(min_size=8, max_size=8))  # which Hypothesis draws evenly
    def holds(drawn_bytes: bytes) -> None:
        rng = Random(drawn_bytes)
        cpus = [rng.randint(1, 4) for _ in range(rng.randint(1, 3))]
        drawn = []
        for index in range(rng.randint(6, 20)):
            bound = rng.randint(2, 60)
            pods = min(rng.choice((1, 1, 1, 2, 3, 5)), sum(cpus))
            drawn.append(Job(f"j{index:02}", pods, bound, rng.randint(1, bound)))
        assert later_than_planned(drawn, cpus, "fifo") == {}
        seen["clusters"] += 1
        seen["clusters in which jobs wait"] += sum(one.pods for one in drawn) > sum(cpus)
        seen["clusters in which others pass"] += bool(later_than_planned(drawn, cpus, "traverse"))

    record_property("seed", seed)
    holds()
    record_property("counts", str(seen))
    assert seen["clusters in which jobs wait"] > CLUSTERS / 2, seen


def test_p2_a_group_that_holds_room_starts_by_its_planned_start(
    seed: int, record_property: Callable[[str, object], None]
) -> None:
    seen = Counter[str]()

    def shorter(pod: Pod) -> float:
        return max(
            1.0, run_time(pod) * (1 + crc32(pod.metadata.annotations[GROUP_ANNOTATION].encode()) % 10) // 10
        )

    @seeded(seed)
    @settings(max_examples=CLUSTERS)
    @given(recipe=recipes())
    def holds(recipe: Recipe) -> None:
        watch = Watch(recipe.simulation(shorter))
        breaches = list(watch.breaches())
        assert not breaches, "\n".join(breaches)
        seen.update(watch.seen)

    record_property("seed", seed)
    holds()
    record_property("counts", str(seen))
    assert seen["started early"] > 0, seen

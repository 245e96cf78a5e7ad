"""Random clusters of pods that run for as long as they state: who waits long holds room until it starts."""

from dataclasses import dataclass
from random import Random
from typing import Final

from hypothesis import strategies as st

from maar.core.model.metadata import Condition, Metadata, Object
from maar.core.model.node import Node, NodeStatus
from maar.core.model.pod import GROUP_ANNOTATION, Container, Pod, PodSpec, ResourceRequirements
from maar.core.model.pod_group import PodGroup, PodGroupSpec
from maar.core.model.queue import Guarantee, Queue, QueueMetadata, QueueSpec
from maar.core.model.resources import Resources
from maar.core.model.run_time import EXPECTED_RUN_TIME, stated_seconds
from maar.core.policy.configuration import Configuration, parse
from maar.core.simulation.virtual_time import RunTime, Simulation

START: Final = 1_767_225_600.0
_PLUGINS: Final = [
    "priority",
    "gang",
    "conformance",
    "overcommit",
    "drf",
    "predicates",
    "proportion",
    "nodeorder",
    "binpack",
]
_SIZES: Final = (1, 1, 1, 2, 2, 3, 4, 6)
_AMOUNTS: Final = (500, 1000, 1000, 2000, 3000)


@dataclass(frozen=True)
class Recipe:
    """What a cluster grows from; the smaller the numbers, the simpler the cluster."""

    seed: int
    nodes: int
    queues: int
    groups: int
    depth: int
    has_inner_queue: bool
    has_mixed_gangs: bool
    has_parts_of_seconds: bool

    def simulation(self, true_run_time: RunTime | None = None) -> Simulation:
        """The cluster, with groups that come within half a minute; pods run as long as they state."""
        nodes = [self._node(number) for number in range(self.nodes)]
        total = sum(one.status.allocatable["cpu"] for one in nodes)
        queues = [self._queue(number, total) for number in range(self.queues)]
        if self.has_inner_queue:
            queues.append(Queue(metadata=QueueMetadata(name="inner", uid="inner"), spec=QueueSpec()))
        simulation = Simulation(
            [*nodes, *queues], true_run_time or run_time, configuration(self.depth), START
        )
        arrivals = [self._group(number) for number in range(self.groups)]
        for after, objects in sorted(arrivals, key=lambda one: one[0]):
            simulation.submit(START + after, objects)
        return simulation

    def _random(self, part: object) -> Random:
        return Random(f"{self.seed} {part}")

    def _node(self, number: int) -> Node:
        cpu = self._random(f"node {number}").randint(2, 8) * 1000
        ready = Condition(type="Ready", status="True")
        return Node(
            metadata=Metadata(name=f"n{number}"),
            status=NodeStatus(allocatable=Resources({"cpu": cpu, "pods": 20}), conditions=(ready,)),
        )

    def _queue(self, number: int, total: int) -> Queue:
        rng = self._random(f"queue {number}")
        guarantee = {"cpu": rng.randint(1, 3) * 1000} if rng.random() < 0.4 else {}
        capability = {"cpu": rng.randint(total // 2, total)} if rng.random() < 0.2 else {}
        spec = QueueSpec(
            weight=rng.randint(1, 3),
            guarantee=Guarantee(resource=Resources(guarantee)),
            capability=Resources(capability),
            parent="inner" if self.has_inner_queue and number else "",
        )
        return Queue(metadata=QueueMetadata(name=f"q{number}", uid=f"q{number}"), spec=spec)

    def _group(self, number: int) -> tuple[float, list[Object]]:
        """When a group comes, and it with its pods."""
        rng, name = self._random(f"group {number}"), f"g{number}"
        after, lasts = self._time(rng, 0, 30), self._time(rng, 2, 40)
        cpu = [rng.choice(_AMOUNTS)] * rng.choice(_SIZES)
        if self.has_mixed_gangs:
            cpu = [rng.choice(_AMOUNTS) for _ in cpu]
        pods = [self._pod(name, index, amount, lasts) for index, amount in enumerate(cpu)]
        spec = PodGroupSpec(
            min_member=len(pods),
            queue=f"q{rng.randrange(self.queues)}",
            min_resources=Resources({"cpu": sum(cpu)}) if rng.random() < 0.5 else None,
        )
        return after, [PodGroup(metadata=Metadata(name=name, namespace="ns"), spec=spec), *pods]

    def _time(self, rng: Random, least: int, most: int) -> float:
        whole = rng.randint(least, most)
        return whole + rng.randrange(10) / 10 if self.has_parts_of_seconds else float(whole)

    def _pod(self, group: str, index: int, cpu: int, lasts: float) -> Pod:
        notes = {GROUP_ANNOTATION: group, EXPECTED_RUN_TIME: f"{lasts}s"}
        asks = ResourceRequirements(requests=Resources({"cpu": cpu}))
        return Pod(
            metadata=Metadata(name=f"{group}-{index}", namespace="ns", annotations=notes),
            spec=PodSpec(scheduler_name="volcano", containers=(Container(name="c", resources=asks),)),
        )


def recipes() -> st.SearchStrategy[Recipe]:
    """Any cluster."""
    return st.builds(
        Recipe,
        seed=st.integers(0, 2**32),
        nodes=st.integers(1, 4),
        queues=st.integers(1, 4),
        groups=st.integers(6, 16),
        depth=st.integers(1, 3),
        has_inner_queue=st.booleans(),
        has_mixed_gangs=st.booleans(),
        has_parts_of_seconds=st.booleans(),
    )


def configuration(depth: int) -> Configuration:
    """Nobody is evicted, and who has waited for five seconds holds room."""
    sla = {"name": "sla", "arguments": {"sla-waiting-time": "5s", "depth": depth}}
    plugins = [*({"name": name} for name in _PLUGINS), sla]
    return parse({"actions": "enqueue, allocate, backfill", "tiers": [{"plugins": plugins}]})


def run_time(pod: Pod) -> float:
    """As long as it states."""
    stated = stated_seconds(pod.metadata.annotations, EXPECTED_RUN_TIME)
    assert stated is not None
    return stated

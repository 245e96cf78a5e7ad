"""Planned starts of thousands of groups, on a plain and on an ordinary cluster, beside a plain replay."""

import argparse
import cProfile
import gc
import pstats
import random
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from unittest.mock import patch

from ordinary import both
from whatif_bench import at_rest

from maar.core.answers.future import Future, Present
from maar.core.answers.starts import ask as starts
from maar.core.engine import Engine
from maar.core.model.events import Event
from maar.core.model.metadata import Condition, Metadata, Object
from maar.core.model.node import Node, NodeStatus
from maar.core.model.pod import GROUP_ANNOTATION, Container, Pod, PodSpec, PodStatus, ResourceRequirements
from maar.core.model.pod_group import PodGroup, PodGroupSpec, PodGroupStatus
from maar.core.model.queue import Queue, QueueMetadata
from maar.core.model.resources import Resources
from maar.core.model.run_time import EXPECTED_RUN_TIME
from maar.core.simulation.collection import without_collection

if TYPE_CHECKING:  # `compare_cycles.py` runs this with older trees, which do not have it
    from maar.core.engine import Brevity

NOW: Final = 1_767_225_600.0
GIB: Final = 2**30
CPU: Final = 16  # of a node
QUEUES: Final = 10
SIZES: Final = (1, 2, 4, 8, 16)  # CPUs of a pod
MEMBERS: Final = (1, 1, 1, 2, 4)
MINUTES: Final = (10, 30, 60, 120, 240)  # what users state


class Call(NamedTuple):
    """What an engine is fed before a decision, and how it decides."""

    events: list[Event]
    now: float
    is_brief: "Brevity"


def main() -> None:
    """Say how long all starts take, and those of the first groups of each queue."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--nodes", type=int, default=1_000)
    options.add_argument("--groups", type=int, default=10_000)
    options.add_argument("--first", type=int, default=100)
    options.add_argument("--precision", type=float, default=0.05)
    options.add_argument("--only", choices=("all", "first"))
    options.add_argument("--profile", action="store_true")
    chosen = options.parse_args()
    cases = {"all": (None, 10.0), "first": (chosen.first, 1.0)}
    for which, objects in both([*cluster(chosen.nodes, chosen.groups)], NOW):
        present = at_rest(objects, NOW)
        print(which)
        for name, (first, target) in cases.items():
            if chosen.only in (None, name):
                measured(present, first, chosen.precision, target, profile=chosen.profile)
        if chosen.only in (None, "first"):
            limited(present, chosen.first, chosen.precision)


def limited(present: Present, first: int, precision: float) -> None:
    """Say what is known of the first groups of each queue a second after the objects were read."""
    begin = time.process_time()
    with without_collection():
        Future(present, precision).tables()
    end = time.process_time() + (time.process_time() - begin) + 1.0
    found = starts.planned_starts(
        present, first=first, precision=precision, is_wanted=lambda: time.process_time() < end
    )
    known = sum(one.time is not None for one in found.values())
    over = time.process_time() - end
    print(
        f"the first {first} of each queue, stopped a second after reading: {len(found):,} groups, "
        f"{known:,} with a start, the others not before a time; {over:+.2f} s beyond the second"
    )


def measured(present: Present, first: int | None, precision: float, target: float, *, profile: bool) -> None:
    """Work out starts, and replay what the engine was given on an engine alone."""
    gc.collect()
    gc.freeze()
    begin = time.process_time()
    with without_collection():
        Future(present, precision).tables()
    read = time.process_time() - begin
    profiler = cProfile.Profile()
    if profile:
        profiler.enable()
    begin = time.process_time()
    found = starts.planned_starts(present, first=first, precision=precision)
    took = time.process_time() - begin
    profiler.disable()
    if profile:
        pstats.Stats(profiler).sort_stats("tottime").print_stats(35)
    calls = recorded(present, first, precision)
    engine = Engine()
    begin = time.process_time()
    with without_collection():
        for events, now, is_brief in calls:
            engine.feed(events)
            engine.decide(now, is_brief=is_brief)
    bare = time.process_time() - begin
    gc.unfreeze()
    known = sum(one.time is not None for one in found.values())
    which = "all" if first is None else f"the first {first} of each queue"
    print(
        f"{which}: {len(found):,} groups, {known:,} with a start, in {took:.2f} s (target {target:g}),"
        f" of which {read:.2f} s to read the objects;"
        f" {len(calls):,} decisions replayed in {bare:.2f} s: {took / bare:.2f}x"
    )


def recorded(present: Present, first: int | None, precision: float) -> list[Call]:
    """Every call of the engine while starts are worked out."""
    calls, collected = list[Call](), list[Event]()

    class Watched(Future):
        def __init__(self, present: Present, precision: float, **others: Any) -> None:  # noqa: ANN401
            super().__init__(present, precision, **others)
            engine = self.simulation.engine
            feed, decide = engine.feed, engine.decide

            def learnt(events: Iterable[Event]) -> None:
                listed = list(events)
                collected.extend(listed)
                feed(listed)

            def decided(now: float, *, is_brief: "Brevity" = False) -> object:
                calls.append(Call(list(collected), now, is_brief))
                collected.clear()
                return decide(now, is_brief=is_brief)

            engine.feed, engine.decide = learnt, decided  # type: ignore[method-assign, assignment]

    with patch.object(starts, "Future", Watched):
        starts.planned_starts(present, first=first, precision=precision)
    return calls


def cluster(nodes: int, groups: int) -> Iterator[Object]:
    """Full nodes, and groups that wait; every pod states how long it runs."""
    numbers = random.Random(1)
    size = Resources({"cpu": 1000 * CPU, "memory": 4 * CPU * GIB, "pods": 110})
    status = NodeStatus(allocatable=size, conditions=(Condition(type="Ready", status="True"),))
    yield from (Queue(metadata=QueueMetadata(name=f"q{number}")) for number in range(QUEUES))
    for number in range(nodes):
        yield Node(metadata=Metadata(name=f"n{number:04}"), status=status)
        for place in range(2):
            yield from group(f"r{number:04}-{place}", numbers, [CPU // 2], f"n{number:04}")
    for number in range(groups):
        yield from group(f"w{number:05}", numbers, [numbers.choice(SIZES)] * numbers.choice(MEMBERS), "")


def group(name: str, numbers: random.Random, cpus: list[int], node: str) -> Iterator[Object]:
    """A group that runs on a node since some time, or waits."""
    created = datetime.fromtimestamp(NOW - numbers.randrange(86_400), UTC)
    minutes = numbers.choice(MINUTES)
    started = datetime.fromtimestamp(NOW - numbers.randrange(minutes * 60), UTC)
    spec = PodGroupSpec(min_member=len(cpus), queue=f"q{numbers.randrange(QUEUES)}")
    metadata = Metadata(name=name, namespace="team", creation_timestamp=created)
    status = PodGroupStatus(phase="Running" if node else "Inqueue")
    yield PodGroup(metadata=metadata, spec=spec, status=status)
    notes = {GROUP_ANNOTATION: name, EXPECTED_RUN_TIME: f"{minutes}m"}
    for number, cpu in enumerate(cpus):
        asked = ResourceRequirements(requests=Resources({"cpu": 1000 * cpu, "memory": 2 * cpu * GIB}))
        yield Pod(
            metadata=Metadata(
                name=f"{name}-{number}", namespace="team", creation_timestamp=created, annotations=notes
            ),
            spec=PodSpec(
                scheduler_name="volcano",
                node_name=node,
                containers=(Container(name="main", resources=asked),),
            ),
            status=PodStatus(phase="Running" if node else "Pending", start_time=started if node else None),
        )


if __name__ == "__main__":
    main()

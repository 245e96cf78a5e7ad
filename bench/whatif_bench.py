"""A what-if on a full cluster with thousands of waiting groups, beside a plain decision on the same cluster."""

import argparse
import cProfile
import gc
import pstats
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import median
from time import process_time
from typing import Final

import msgspec
from measure import line
from simulation_bench import CPU, START, cluster

from maar.core.answers.changes import Change, SetField, SubmitDocument
from maar.core.answers.future import Future, Present
from maar.core.answers.whatif import what_if
from maar.core.model.metadata import Object
from maar.core.model.pod import Pod
from maar.core.model.resources import Resources
from maar.core.simulation.jobs import Job, objects_of

GIB: Final = 2**30
HOUR: Final = 3600.0
TARGET: Final = "target 2,000 ms"
QUEUES: Final = 10


@dataclass(frozen=True)
class Size:
    """How large the cluster is."""

    nodes: int
    waiting: int


def main() -> None:
    """Ask what a weight and a job more would do, and say where the time goes."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--nodes", type=int, default=1_000)
    options.add_argument("--waiting", type=int, default=10_000)
    options.add_argument("--starts", type=int, default=10, help="of how many groups of each queue")
    options.add_argument("--times", type=int, default=3)
    options.add_argument("--profile", action="store_true", help="where the time goes, function by function")
    chosen = options.parse_args()
    size = Size(chosen.nodes, chosen.waiting)
    objects = full_cluster(size)
    present = Present(tuple(objects), now=START)
    began = process_time()
    future = Future(present)
    plans = future.now()
    took = (process_time() - began) * 1_000
    engine, now = future.simulation.engine, future.simulation.time
    decision = median_cpu_ms(lambda: engine.decide(now), chosen.times)
    print(
        f"{size.nodes:,} nodes, {size.waiting:,} waiting groups, {len(objects):,} objects: read and decided in"
        f" {took:,.0f} ms, {len(plans)} decisions; reference: a decision on the cluster as it is"
    )
    if chosen.profile:
        profile = cProfile.Profile()
        profile.runcall(what_if, present, [weight()])
        pstats.Stats(profile).sort_stats("cumulative").print_stats(45)
        return
    for name, change in {"another weight": weight(), "one more job": job()}.items():
        asked: list[Change] = [change]
        plain = median_cpu_ms(lambda asked=asked: what_if(present, asked), chosen.times)  # type: ignore[misc]
        line(f"{name}: deserved, running, evicted", plain, decision, TARGET)
    if chosen.starts:
        first = chosen.starts
        whole = median_cpu_ms(lambda: what_if(present, [weight()], first_starts=first), 1)
        line(f"another weight, with starts of {first} in a queue", whole, decision, "")


def median_cpu_ms(work: Callable[[], object], times: int) -> float:
    """Run something a few times and give the median of its milliseconds of one core."""
    found = list[float]()
    for _ in range(times):
        gc.collect()
        began = process_time()
        work()
        found.append((process_time() - began) * 1_000)
    return median(found)


def weight() -> Change:
    """A little more for one queue."""
    return SetField("queue/queue-0.weight", 2)


def job() -> Change:
    """One more pod group, which waits behind all others."""
    document = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "one-more", "namespace": "default"},
        "spec": {"minMember": 1, "queue": "queue-1"},
    }
    return SubmitDocument("the bench", document)


def full_cluster(size: Size) -> list[Object]:
    """Nodes that are full with pods of ten equal queues, and as many groups behind them in each."""
    names = [f"queue-{number}" for number in range(QUEUES)]
    objects = cluster(size.nodes, names)
    began = datetime.fromtimestamp(START - HOUR, UTC)
    pods = 4 * size.nodes
    for number in range(pods):
        running = _job(f"runs-{number}", number, CPU // 4)
        for one in objects_of(running, with_min_resources=True):
            objects.append(_on(one, f"node-{number % size.nodes:04}", began) if isinstance(one, Pod) else one)
    for number in range(size.waiting):
        objects += objects_of(
            _job(f"waits-{number}", number, CPU // 4 * (1 + number % 3) // 2), with_min_resources=True
        )
    return objects


def _job(name: str, number: int, cpu: int) -> Job:
    queue = f"queue-{number % QUEUES}"
    run_time = HOUR * (2 + number % 7)
    return Job(name, START, "default", queue, 1, Resources({"cpu": cpu, "memory": GIB}), run_time, run_time)


def _on(pod: Pod, node: str, began: datetime) -> Pod:
    spec = msgspec.structs.replace(pod.spec, node_name=node)
    status = msgspec.structs.replace(pod.status, phase="Running", start_time=began)
    return msgspec.structs.replace(pod, spec=spec, status=status)


if __name__ == "__main__":
    main()

"""A what-if on a full cluster where thousands wait, plain and ordinary, beside a plain decision there."""

import argparse
import cProfile
import gc
import pstats
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from statistics import median
from time import process_time
from typing import Final

import msgspec
from measure import line
from ordinary import both
from simulation_bench import CPU, START, cluster

from maar.core.answers.future import Future, Present
from maar.core.answers.whatif.ask import WhatIf, objects_at_rest, what_if
from maar.core.answers.whatif.changes import Change, SetField, SubmitDocument
from maar.core.model.metadata import Object
from maar.core.model.pod import Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.resources import Resources
from maar.core.simulation.jobs import TraceJob, objects_of

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
    for name, objects in both(full_cluster(size), START):
        present = at_rest(objects)
        if chosen.profile:
            profile = cProfile.Profile()
            profile.runcall(what_if, present, [job()])
            pstats.Stats(profile).sort_stats("cumulative").print_stats(45)
        else:
            ask_all(name, size, present, chosen.starts, chosen.times)


def ask_all(name: str, size: Size, present: Present, starts: int, times: int) -> None:
    """Ask every question of a cluster."""
    future = Future(present)
    reading = median_cpu_ms(lambda: Future(present).tables(), times)
    future.now()
    engine, now = future.simulation.engine, future.simulation.time
    decision = median_cpu_ms(lambda: engine.decide(now), times)
    print(
        f"{name}: {size.nodes:,} nodes, {size.waiting:,} waiting groups, {len(present.objects):,} objects,"
        f" read in {reading:,.0f} ms; milliseconds of one core, reference: a decision that changes nothing"
    )
    questions: dict[str, list[Change]] = {
        "one more job": [job()],
        "a gang in a queue without pods": gang(),
        "a smaller capability": [SetField("queue/queue-0.capability.cpu", max(64, size.nodes))],
        "another weight": [SetField("queue/queue-0.weight", 2)],
    }
    for question, asked in questions.items():
        found = list[WhatIf]()
        spent = median_cpu_ms(partial(ask, present, asked, 0, found), times)
        line(f"{question}, {len(found[0].evictions.pod)} evictions", spent, decision, TARGET)
    if starts:
        spent = median_cpu_ms(partial(ask, present, [job()], starts, []), 1)
        line(f"one more job, starts of {starts} in a queue", spent, decision, "")


def median_cpu_ms(work: Callable[[], object], times: int) -> float:
    """Run something a few times and give the median of its milliseconds of one core."""
    found = list[float]()
    for _ in range(times):
        gc.collect()
        began = process_time()
        work()
        found.append((process_time() - began) * 1_000)
    return median(found)


def ask(present: Present, changes: list[Change], starts: int, found: list[WhatIf]) -> None:
    """One question."""
    found.append(what_if(present, changes, first_starts=starts))


def at_rest(objects: Sequence[Object], now: float = START) -> Present:
    """A cluster that has decided, with the statuses that it has then."""
    future = Future(Present(tuple(objects), now=now))
    future.now()
    cluster = future.simulation.cluster
    rest = [
        cluster.report(one.key) if isinstance(one, PodGroup) and not one.status.phase else one
        for one in objects_at_rest(objects, future)
    ]
    return Present(tuple(rest), now=now)


def job() -> Change:
    """One more pod group, which waits behind all others."""
    document = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "one-more", "namespace": "default"},
        "spec": {"minMember": 1, "queue": "queue-1"},
    }
    return SubmitDocument("the bench", document)


def gang() -> list[Change]:
    """Four pods together in a queue that has none: others give way."""
    header = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup"}
    spec = {"minMember": 4, "queue": "default", "minResources": {"cpu": "16"}}
    documents: list[object] = [{**header, "metadata": {"name": "four"}, "spec": spec}]
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "4"}}}
    for number in range(4):
        metadata = {"name": f"four-{number}", "annotations": {"scheduling.k8s.io/group-name": "four"}}
        work = {"schedulerName": "volcano", "containers": [container]}
        documents.append({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": work})
    return [SubmitDocument("the bench", one) for one in documents]


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


def _job(name: str, number: int, cpu: int) -> TraceJob:
    queue = f"queue-{number % QUEUES}"
    run_time = HOUR * (2 + number % 7)
    return TraceJob(
        name, START, "default", queue, 1, Resources({"cpu": cpu, "memory": GIB}), run_time, run_time
    )


def _on(pod: Pod, node: str, began: datetime) -> Pod:
    spec = msgspec.structs.replace(pod.spec, node_name=node)
    status = msgspec.structs.replace(pod.status, phase="Running", start_time=began)
    return msgspec.structs.replace(pod, spec=spec, status=status)


if __name__ == "__main__":
    main()

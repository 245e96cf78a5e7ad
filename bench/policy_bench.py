"""What rules of queues cost: the gate, many victims, and all plugins on beside all of them off."""

import gc
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count

from cycle_bench import GIB, cpu_seconds, few_victims, job, one_queue, ready_node, ten_queues, work_of
from msgspec.structs import replace

from maar.core.engine import Engine
from maar.core.model.events import Event, Upserted
from maar.core.model.pod import Pod, PodSpec
from maar.core.model.pod_group import PodGroup, PodGroupStatus
from maar.core.model.queue import Queue, QueueMetadata
from maar.core.model.resources import Resources
from maar.core.policy.configuration import Configuration, parse
from maar.core.policy.grammar import USUAL_TIERS

NOW = datetime(2026, 1, 5, tzinfo=UTC)
SLA: dict[str, object] = {"name": "sla", "arguments": {"sla-waiting-time": "1h"}}
Cluster = Callable[[Iterable[Event]], Iterator[Event]]  # the events of a plain cluster, or of an ordinary one
MORE: tuple[dict[str, object], ...] = (SLA, {"name": "usage"})


def main() -> None:
    """Print what each costs, beside the same without it or at half the size."""
    from ordinary import PARTS, ordinary  # noqa: PLC0415  # it imports this file

    one_namespace = partial(ordinary, parts=PARTS.keys() - {"namespaces"})
    clusters: dict[str, tuple[Cluster, Cluster]] = {
        "plain": (iter, iter),
        "ordinary": (ordinary, one_namespace),
    }
    for name, (cluster, held) in clusters.items():
        print(f"{name}:")
        at_the_gate(cluster)
        many_victims(held)
        everything_on(cluster)


def at_the_gate(cluster: Cluster) -> None:
    """10,000 groups wait at the gate of a full cluster, beside as many that were let in before."""
    inside = first_and_next(Engine(), cluster(ten_queues(1_000)))
    outside = first_and_next(Engine(), cluster(map(not_admitted, ten_queues(1_000))))
    print(
        f"10,000 gangs wait at the gate of a full cluster of 1,000 nodes: {outside[0]:.2f} s, the next cycle"
        f" {outside[1]:.2f} s; {outside[1] / inside[1]:.2f}x as many that were let in (target at most 1.25x)"
    )


def many_victims(cluster: Cluster) -> None:
    """One namespace holds a queue, and a gang of another needs two thirds of it; at half the size, too."""
    took = {}
    for nodes in (250, 500):
        engine = Engine()
        engine.feed(cluster(held_by_one(nodes)))
        begin = time.process_time()
        evicted = len(engine.decide(1.0).evictions)
        took[nodes] = time.process_time() - begin
    print(
        f"one gang needs {evicted:,} victims on 500 nodes: {took[500]:.2f} s,"
        f" {took[500] / took[250]:.1f}x half the size (linear: 2x)"
    )


def held_by_one(nodes: int) -> Iterator[Event]:
    """Single pods of one namespace on all nodes, and a gang of another."""
    size = Resources({"cpu": 32_000, "memory": 128 * GIB, "pods": 110})
    yield Upserted(object=Queue(metadata=QueueMetadata(name="queue")))
    for index in range(nodes):
        yield Upserted(object=ready_node(f"node-{index:05}", size, {}))
    for number in range(8 * nodes):
        spec = PodSpec(node_name=f"node-{number % nodes:05}", containers=work_of(40).containers)
        yield from job(f"runs-{number:05}", "holder", "queue", [spec])
    yield from job("waits", "other", "queue", [work_of(40)] * (8 * nodes * 2 // 3))


def everything_on(cluster: Cluster) -> None:
    """The plugins `sla` and `usage`, and minimum run times in all queues; beside all of it off."""
    cases = {"ten queues": ten_queues, "one queue": one_queue, "few victims": few_victims}
    off, on = with_usual_plugins(), with_usual_plugins(*MORE)
    for name, case in cases.items():
        before, after = (
            first_and_next(Engine(off), cluster(case(1_000))),
            first_and_next(Engine(on), cluster(map(some_young, case(1_000), count()))),
        )
        print(
            f"sla, usage and minimum run times, {name}: {after[0]:.2f} s, the next cycle {after[1]:.2f} s;"
            f" {after[0] / before[0]:.2f}x without (target at most 1.25x)"
        )


def with_usual_plugins(*more: dict[str, object]) -> Configuration:
    """The default, and more plugins."""
    usual = [[{"name": name} for name in tier if name != "nodeorder"] for tier in USUAL_TIERS]
    more = ({"name": "nodeorder", "arguments": {"leastrequested.weight": 0}}, *more)
    return parse({"tiers": [{"plugins": plugins} for plugins in (*usual, more)]})


def first_and_next(engine: Engine, events: Iterable[Event]) -> tuple[float, float]:
    """The seconds of one core that the first two cycles take; what the first binds is bound in the next."""
    engine.feed(events)
    gc.collect()
    gc.freeze()
    begin = time.process_time()
    plan = engine.decide(NOW.timestamp())
    first = time.process_time() - begin
    for bind in plan.binds:
        engine.assume(bind)
    second = cpu_seconds(partial(engine.decide, NOW.timestamp() + 1))
    gc.unfreeze()
    return first, second


def not_admitted(event: Event) -> Event:
    """A pod group that waits at the gate instead of inside, and needs room to be let in."""
    if isinstance(event, Upserted) and isinstance(event.object, PodGroup):
        group = event.object
        if group.status.phase == "Inqueue":
            spec = replace(group.spec, min_resources=Resources({"cpu": 10_000, "memory": 10 * GIB}))
            return Upserted(object=replace(group, spec=spec, status=PodGroupStatus(phase="Pending")))
    return event


def some_young(event: Event, number: int) -> Event:
    """Queues with minimum run times, and pods of which a sixth started within them."""
    one = event.object if isinstance(event, Upserted) else None
    if isinstance(one, Queue):
        spec = replace(one.spec, preempt_min_runtime="10m", reclaim_min_runtime="10m")
        return Upserted(object=replace(one, spec=spec))
    if isinstance(one, Pod) and one.spec.node_name:
        started = NOW - timedelta(seconds=number * 7919 % 3600)
        return Upserted(object=replace(one, status=replace(one.status, start_time=started)))
    return event


if __name__ == "__main__":
    main()

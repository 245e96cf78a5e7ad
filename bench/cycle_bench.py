"""One cycle in process: feeding, deciding and explaining, from small clusters to large ones."""

import gc
import random
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from maar.core.engine import Engine
from maar.core.model.affinity import (
    Affinity,
    PodAffinity,
    PodAffinityTerm,
    Toleration,
    TopologySpreadConstraint,
)
from maar.core.model.events import Event, Upserted
from maar.core.model.metadata import Condition, LabelSelector, Metadata
from maar.core.model.node import Node, NodeSpec, NodeStatus, Taint
from maar.core.model.pod import GROUP_ANNOTATION, Container, Pod, PodSpec, PodStatus, ResourceRequirements
from maar.core.model.pod_group import PodGroup, PodGroupPhase, PodGroupSpec, PodGroupStatus
from maar.core.model.priority_class import PriorityClass
from maar.core.model.queue import Queue, QueueMetadata, QueueSpec
from maar.core.model.resources import Resources

TIMES = 5
MANY = 50_000  # pods; a run of that many is done once
GIB = 2**30
TAINTED = 7  # the kind of node that keeps others away


def main() -> None:
    """Print how fast a cycle places pods, beside a scheduler that scores every node for every pod."""
    for gang, target in ((10, 60_000), (1, 25_000)):
        per_pod = {}
        for nodes, pods in ((1_000, 10_000), (10_000, 100_000)):
            per_pod[nodes] = binding(nodes, pods, gang, target)
        growth = per_pod[10_000] / per_pod[1_000]
        print(f"  per pod at 10,000 nodes: {growth:.2f}x that at 1,000 (target at most 1.3x)")
    quiet()
    hopeless()
    reclaiming()
    for name, case in (("ten queues", ten_queues), ("one queue", one_queue), ("few victims", few_victims)):
        waiting(name, case)
    neighbours()


def binding(nodes: int, pods: int, gang: int, target: int) -> float:
    """Feed a cluster and bind everything; gives the seconds that a pod takes to decide."""
    from ordinary import ordinary  # noqa: PLC0415  # it imports this file

    events = [*cluster(nodes), *queues(), *work(pods, gang)]
    times = TIMES if pods < MANY else 1
    feeding, took, bound, memory = placed(events, times)
    _, took_there, bound_there, _ = placed(list(ordinary(events)), times)
    slow, part = naive(nodes), (bound_there / took_there) / (bound / took)
    print(
        f"{nodes:,} nodes x {pods:,} pods, gangs of {gang}: fed in {feeding:.2f} s,"
        f" {bound:,} bound in {took:.2f} s: {bound / took:,.0f} pods/s with reasons (target {target:,});"
        f" {slow * bound / took:,.0f}x the speed of scoring every node for every pod; {memory} MB;"
        f" on an ordinary cluster {bound_there / took_there:,.0f} pods/s, {part:.0%} of that (target 80 %)"
    )
    return took / bound


def placed(events: list[Event], times: int) -> tuple[float, float, int, int]:
    """Feed and decide: the median seconds of both, the pods that are bound, and the memory in MB."""
    feeding, decided, bound, memory = [], [], 0, 0
    for _ in range(times):
        engine = Engine()
        feeding.append(seconds(partial(engine.feed, events)))
        memory = memory or resident()
        gc.collect()
        gc.freeze()  # as a scheduler does once its caches are warm
        begin = time.perf_counter()
        bound = len(engine.decide(0.0).binds)
        decided.append(time.perf_counter() - begin)
        gc.unfreeze()
    return statistics.median(feeding), statistics.median(decided), bound, memory


def naive(nodes: int) -> float:
    """The reference: seconds to place one pod by scoring every node."""
    # Imported here: other benchmarks take events from this module to trees that have these elsewhere.
    from maar.core.cycle import decide  # noqa: PLC0415
    from maar.core.cycle.inspect import NodeChooser  # noqa: PLC0415

    engine = Engine()
    engine.feed([*cluster(nodes), *queues(), *work(10, 1)])
    engine.tables.settle()
    room = decide(engine.tables, replace(engine.configuration, actions=()), 0.0).nodes.room
    pods = [row.pending[0] for row in engine.tables.waiting.values()]

    def place() -> None:
        for pod in pods:
            NodeChooser(engine.tables, room, engine.configuration).best(pod, "now")

    return seconds(place) / len(pods)


def quiet() -> None:
    """A cycle in which nothing changed."""
    engine = Engine()
    engine.feed([*cluster(10_000), *many_queues(1_000), *running(100_000, 1_000)])
    engine.decide(0.0)
    gc.collect()
    gc.freeze()
    took = statistics.median(seconds(lambda: engine.decide(1.0)) for _ in range(TIMES)) * 1000
    gc.unfreeze()
    print(
        f"nothing changed, 10,000 nodes, 100,000 running pods, 1,000 queues: {took:.1f} ms (target below 30)"
    )


def hopeless() -> None:
    """A gang of 500 that cannot fit."""
    engine = Engine()
    engine.feed(
        [*cluster(5_000), *queues(), *gang_of(500, Resources({"cpu": 16_000, "memory": 300 * GIB}), 1)]
    )
    engine.feed(gang_of(500, Resources({"cpu": 80_000, "memory": GIB}), 2))
    engine.decide(0.0)
    took = statistics.median(seconds(lambda: engine.decide(1.0)) for _ in range(TIMES)) * 1000
    print(f"two gangs of 500 that cannot fit on 5,000 nodes: {took:.1f} ms (target below 50 for one)")


def reclaiming() -> None:
    """4,000 one-GPU jobs run in one queue, 4,000 wait in another."""
    engine = Engine()
    engine.feed(one_gpu_jobs())
    begin = time.perf_counter()
    evicted = len(engine.decide(0.0).evictions)
    took = time.perf_counter() - begin
    name = "reclaim, 4,000 running and 4,000 waiting one-GPU jobs on 500 nodes"
    print(f"{name}: {evicted:,} victims in {took:.2f} s (target below 2)")


def one_gpu_jobs() -> Iterator[Event]:
    """One queue uses all GPUs, and as many jobs wait in another."""
    size = Resources({"cpu": 64_000, "memory": 512 * GIB, "pods": 110, "nvidia.com/gpu": 8})
    yield from (Upserted(object=ready_node(f"gpu-{index:03}", size, {})) for index in range(500))
    yield from (Upserted(object=Queue(metadata=QueueMetadata(name=name))) for name in ("busy", "late"))
    one = Container(
        name="main", resources=ResourceRequirements(requests=Resources({"cpu": 1000, "nvidia.com/gpu": 1}))
    )
    for number in range(4_000):
        spec = PodSpec(node_name=f"gpu-{number % 500:03}", containers=(one,))
        yield from job(f"busy-{number}", "a", "busy", [spec])
        yield from job(f"late-{number}", "b", "late", [PodSpec(containers=(one,))])


def waiting(name: str, case: Callable[[int], Iterator[Event]]) -> None:
    """Gangs wait in a full cluster and nothing can be done for them; twice, at half the size and whole."""
    took: dict[int, list[float]] = {}
    for nodes in (500, 1_000):
        engine = Engine()
        engine.feed(case(nodes))
        gc.collect()
        gc.freeze()
        took[nodes] = [cpu_seconds(partial(engine.decide, float(cycle))) for cycle in (1, 2)]
        gc.unfreeze()
    (half, _), (first, second) = took.values()
    count = len(engine.tables.waiting)
    print(
        f"{count:,} gangs wait in a full cluster of 1,000 nodes, {name}: {first:.2f} s,"
        f" {first / half:.1f}x half the size (linear: 2x); the next cycle {second:.2f} s (target below 1)"
    )


def ten_queues(nodes: int) -> Iterator[Event]:
    """Everybody has an equal part and runs gangs; ten gangs for every node wait for more."""
    yield from full_of_gangs(nodes, queues=10, namespaces=1)
    for number in range(10 * nodes):
        yield from job(f"waits-{number:05}", "ns-0", f"queue-{number % 10}", [work_of(1 + number % 60)] * 10)


def one_queue(nodes: int) -> Iterator[Event]:
    """Five namespaces of one queue run as much as each other, and as many gangs wait as there are nodes."""
    yield from full_of_gangs(nodes, queues=1, namespaces=5)
    for number in range(nodes):
        yield from job(f"waits-{number:05}", f"ns-{number % 5}", "queue-0", [work_of(1 + number % 60)] * 10)


def few_victims(nodes: int) -> Iterator[Event]:
    """Every gang may push out those few of lower priority that run, and none of them fits even then."""
    yield Upserted(object=PriorityClass(metadata=Metadata(name="high"), value=10))
    yield from full_of_gangs(nodes, queues=1, namespaces=5, victims=10)
    for number in range(nodes):
        specs = [work_of(20 + number % 60)] * 10
        yield from job(f"waits-{number:05}", f"ns-{number % 5}", "queue-0", specs, priority="high")


def full_of_gangs(nodes: int, queues: int, namespaces: int, victims: int | None = None) -> Iterator[Event]:
    """Nodes of 32 CPUs, each with eight pods of four from eight gangs; all but the victims are important."""
    size = Resources({"cpu": 32_000, "memory": 128 * GIB, "pods": 110})
    for index in range(nodes):
        yield Upserted(object=ready_node(f"node-{index:05}", size, {}))
    for index in range(queues):
        yield Upserted(object=Queue(metadata=QueueMetadata(name=f"queue-{index}")))
    for number in range(nodes * 8 // 10):
        specs = [
            PodSpec(node_name=f"node-{(number * 10 + k) % nodes:05}", containers=work_of(40).containers)
            for k in range(10)
        ]
        priority = "" if victims is None or number < victims else "high"
        queue, namespace = f"queue-{number % queues}", f"ns-{number // queues % namespaces}"
        yield from job(f"runs-{number:05}", namespace, queue, specs, priority=priority)


def work_of(tenths: int) -> PodSpec:
    """A pod that needs so many tenths of a CPU."""
    requests = Resources({"cpu": 100 * tenths, "memory": GIB})
    return PodSpec(containers=(Container(name="main", resources=ResourceRequirements(requests=requests)),))


def cpu_seconds(what: Callable[[], object]) -> float:
    """How long something keeps the processor busy, whoever else is on the machine."""
    begin = time.process_time()
    what()
    return time.process_time() - begin


def neighbours() -> None:
    """Pods that mind each other on 5,000 nodes."""
    engine = Engine()
    engine.feed(shards())
    begin = time.perf_counter()
    bound = len(engine.decide(0.0).binds)
    took = time.perf_counter() - begin
    print(
        f"anti-affinity and spread on 5,000 nodes: {bound:,} bound, {bound / took:,.0f} pods/s (target 2,000)"
    )


def shards() -> Iterator[Event]:
    """Pods that want hosts of their own, and zones evenly."""
    labels = {"app": "shard"}
    selector = LabelSelector(match_labels=labels)
    apart = PodAffinity(
        required_during_scheduling_ignored_during_execution=(
            PodAffinityTerm(topology_key="kubernetes.io/hostname", label_selector=selector),
        )
    )
    even = TopologySpreadConstraint(
        max_skew=1, topology_key="zone", when_unsatisfiable="DoNotSchedule", label_selector=selector
    )
    one = Container(name="main", resources=ResourceRequirements(requests=Resources({"cpu": 1000})))
    spec = PodSpec(
        containers=(one,), affinity=Affinity(pod_anti_affinity=apart), topology_spread_constraints=(even,)
    )
    yield from (*cluster(5_000), *queues())
    for number in range(2_000):
        yield from job(f"shard-{number}", "a", "queue-0", [spec], labels)


def seconds(what: Callable[[], object]) -> float:
    """How long something takes."""
    begin = time.perf_counter()
    what()
    return time.perf_counter() - begin


def resident() -> int:
    """The memory of this process now, in MB."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4 // 1024


def ready_node(name: str, size: Resources, labels: dict[str, str], taints: tuple[Taint, ...] = ()) -> Node:
    """A node that is well."""
    return Node(
        metadata=Metadata(name=name, labels={**labels, "kubernetes.io/hostname": name}),
        spec=NodeSpec(taints=taints),
        status=NodeStatus(allocatable=size, conditions=(Condition(type="Ready", status="True"),)),
    )


def job(
    name: str,
    namespace: str,
    queue: str,
    specs: list[PodSpec],
    labels: dict[str, str] | None = None,
    priority: str = "",
) -> list[Event]:
    """A pod group and its pods; those with a node run."""
    phase: PodGroupPhase = "Running" if specs[0].node_name else "Inqueue"
    group = PodGroup(
        metadata=Metadata(name=name, namespace=namespace),
        spec=PodGroupSpec(min_member=len(specs), queue=queue, priority_class_name=priority),
        status=PodGroupStatus(phase=phase),
    )
    events: list[Event] = [Upserted(object=group)]
    for index, spec in enumerate(specs):
        metadata = Metadata(
            name=f"{name}-{index}",
            namespace=namespace,
            annotations={GROUP_ANNOTATION: name},
            labels=labels or {},
        )
        status = PodStatus(phase="Running" if spec.node_name else "Pending")
        events.append(Upserted(object=Pod(metadata=metadata, spec=spec, status=status)))
    return events


def many_queues(count: int) -> Iterator[Event]:
    """Queues in two levels, ten to a parent."""
    for index in range(count // 10):
        yield Upserted(object=Queue(metadata=QueueMetadata(name=f"parent-{index}")))
    for index in range(count):
        spec = QueueSpec(parent=f"parent-{index % (count // 10)}", weight=1 + index % 5)
        yield Upserted(object=Queue(metadata=QueueMetadata(name=f"leaf-{index}"), spec=spec))


def running(pods: int, leaves: int) -> Iterator[Event]:
    """Pods that run, ten to a group."""
    one = Container(
        name="main", resources=ResourceRequirements(requests=Resources({"cpu": 500, "memory": GIB}))
    )
    for number in range(pods // 10):
        specs = [
            PodSpec(node_name=f"node-{(number * 10 + k) % 10_000:05}", containers=(one,)) for k in range(10)
        ]
        yield from job(f"running-{number}", f"ns-{number % 20}", f"leaf-{number % leaves}", specs)


def gang_of(size: int, requests: Resources, number: int) -> list[Event]:
    """One gang of equal pods."""
    one = Container(name="main", resources=ResourceRequirements(requests=requests))
    return job(f"gang-{number}", "a", f"queue-{number}", [PodSpec(containers=(one,))] * size)


def cluster(count: int) -> Iterator[Event]:
    """Nodes of eight kinds in three zones; those of one kind are tainted."""
    rng = random.Random(1)
    for index in range(count):
        kind = index % 8
        size = Resources({"cpu": (16 + 8 * kind) * 1000, "memory": (64 + 16 * kind) * GIB, "pods": 110})
        taints = (Taint(key="dedicated", value="batch", effect="NoSchedule"),) if kind == TAINTED else ()
        labels = {"zone": f"z{rng.randint(0, 2)}", "kind": f"k{kind}"}
        yield Upserted(object=ready_node(f"node-{index:05}", size, labels, taints))


def queues() -> Iterator[Event]:
    """Ten leaves under three departments."""
    for index in range(3):
        yield Upserted(
            object=Queue(metadata=QueueMetadata(name=f"dept-{index}"), spec=QueueSpec(weight=index + 1))
        )
    for index in range(10):
        spec = QueueSpec(parent=f"dept-{index % 3}", weight=1 + index % 4)
        yield Upserted(object=Queue(metadata=QueueMetadata(name=f"queue-{index}"), spec=spec))


def work(pods: int, gang: int) -> Iterator[Event]:
    """Groups of equal pods, of sixty shapes in all."""
    rng = random.Random(2)
    shapes = []
    for index in range(60):
        cpu = rng.choice((250, 500, 1000, 1500, 2000))
        requests = Resources({"cpu": cpu, "memory": rng.randint(1, 6) * GIB // 2})
        selector = {"zone": f"z{index % 3}"} if index % 4 == 0 else {}
        tolerations = (Toleration(key="dedicated", operator="Exists"),) if index % 5 == 0 else ()
        container = Container(name="main", resources=ResourceRequirements(requests=requests))
        shapes.append((container, selector, tolerations))
    for number in range(pods // gang):
        container, selector, tolerations = shapes[rng.randrange(60)]
        spec = PodSpec(
            scheduler_name="volcano", containers=(container,), node_selector=selector, tolerations=tolerations
        )
        yield from job(f"job-{number:06}", f"ns-{number % 20}", f"queue-{number % 10}", [spec] * gang)


if __name__ == "__main__":
    main()

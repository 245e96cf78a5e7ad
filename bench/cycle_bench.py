"""One cycle in process: feeding, deciding and explaining, from small clusters to large ones."""

import gc
import random
import resource
import time
from collections.abc import Iterator

from maar.core.engine import Engine
from maar.core.model.affinity import Toleration
from maar.core.model.events import Appeared, Event
from maar.core.model.metadata import Condition, Metadata
from maar.core.model.node import Node, NodeSpec, NodeStatus, Taint
from maar.core.model.pod import GROUP_ANNOTATION, Container, Pod, PodSpec, PodStatus, ResourceRequirements
from maar.core.model.pod_group import PodGroup, PodGroupSpec, PodGroupStatus
from maar.core.model.queue import Queue, QueueSpec
from maar.core.model.resources import Resources

GIB = 2**30
TAINTED = 7  # the kind of node that keeps others away


def main() -> None:
    """Print the figures of issue 5."""
    for gang in (10, 1):
        for nodes, pods in ((1_000, 10_000), (10_000, 100_000)):
            report(f"{nodes:,} nodes x {pods:,} pods, gangs of {gang}", nodes, pods, gang)


def report(name: str, nodes: int, pods: int, gang: int) -> None:
    """Measure one cluster."""
    events = [*cluster(nodes), *queues(), *work(pods, gang)]
    engine = Engine()
    start = time.perf_counter()
    engine.feed(events)
    fed = time.perf_counter()
    gc.collect()
    begin = time.perf_counter()
    plan = engine.decide(0.0)
    decided = time.perf_counter() - begin
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(
        f"{name}: fed in {fed - start:.2f} s, {len(plan.binds):,} bound in {decided:.2f} s,"
        f" {len(plan.binds) / decided:,.0f} pods/s; {memory} MB"
    )


def cluster(count: int) -> Iterator[Event]:
    """Nodes of eight kinds; some are tainted, all have a zone."""
    dice = random.Random(1)
    for index in range(count):
        kind = index % 8
        size = Resources({"cpu": (16 + 8 * kind) * 1000, "memory": (64 + 16 * kind) * GIB, "pods": 110})
        taints = (Taint(key="dedicated", value="batch", effect="NoSchedule"),) if kind == TAINTED else ()
        name = f"node-{index:05}"
        labels = {"zone": f"z{dice.randint(0, 2)}", "kind": f"k{kind}", "kubernetes.io/hostname": name}
        yield Appeared(
            object=Node(
                metadata=Metadata(name=name, labels=labels),
                spec=NodeSpec(taints=taints),
                status=NodeStatus(allocatable=size, conditions=(Condition(type="Ready", status="True"),)),
            )
        )


def queues() -> Iterator[Event]:
    """Ten leaves under three departments."""
    for index in range(3):
        yield Appeared(
            object=Queue(metadata=Metadata(name=f"dept-{index}"), spec=QueueSpec(weight=index + 1))
        )
    for index in range(10):
        spec = QueueSpec(parent=f"dept-{index % 3}", weight=1 + index % 4)
        yield Appeared(object=Queue(metadata=Metadata(name=f"queue-{index}"), spec=spec))


def work(pods: int, gang: int) -> Iterator[Event]:
    """Groups of equal pods, of sixty shapes in all."""
    dice = random.Random(2)
    shapes = []
    for index in range(60):
        cpu = dice.choice((250, 500, 1000, 1500, 2000))
        requests = Resources({"cpu": cpu, "memory": dice.randint(1, 6) * GIB // 2})
        selector = {"zone": f"z{index % 3}"} if index % 4 == 0 else {}
        tolerations = (Toleration(key="dedicated", operator="Exists"),) if index % 5 == 0 else ()
        container = Container(name="main", resources=ResourceRequirements(requests=requests))
        shapes.append((container, selector, tolerations))
    for number in range(pods // gang):
        name, namespace = f"job-{number:06}", f"ns-{number % 20}"
        container, selector, tolerations = shapes[dice.randrange(60)]
        group = PodGroupSpec(min_member=gang, queue=f"queue-{number % 10}")
        yield Appeared(
            object=PodGroup(
                metadata=Metadata(name=name, namespace=namespace),
                spec=group,
                status=PodGroupStatus(phase="Inqueue"),
            )
        )
        for index in range(gang):
            yield Appeared(
                object=Pod(
                    metadata=Metadata(
                        name=f"{name}-{index}", namespace=namespace, annotations={GROUP_ANNOTATION: name}
                    ),
                    spec=PodSpec(
                        scheduler_name="volcano",
                        containers=(container,),
                        node_selector=selector,
                        tolerations=tolerations,
                    ),
                    status=PodStatus(),
                )
            )


if __name__ == "__main__":
    main()

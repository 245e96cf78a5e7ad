"""A group that waits is in the plan of every cycle, whatever was kept of it."""

from datetime import UTC, datetime
from typing import Final

import msgspec

from maar.core.engine import Engine
from maar.core.model.events import Upserted
from maar.core.model.metadata import Condition, Metadata, Object
from maar.core.model.node import Node, NodeStatus
from maar.core.model.pod import GROUP_ANNOTATION, Container, Pod, PodSpec, ResourceRequirements
from maar.core.model.pod_group import PodGroup, PodGroupSpec, PodGroupStatus
from maar.core.model.queue import Guarantee, Queue, QueueMetadata, QueueSpec
from maar.core.model.resources import Resources

NOW: Final = 1_780_315_215.0
CREATED: Final = datetime.fromtimestamp(NOW - 30, UTC)
GANG: Final = PodGroup(
    metadata=Metadata(name="gang", namespace="b", creation_timestamp=CREATED),
    spec=PodGroupSpec(min_member=4, queue="q1", min_resources=Resources({"cpu": 4_000})),
    status=PodGroupStatus(phase="Pending"),
)


def objects() -> list[Object]:
    """A gang that lacks pods, a queue with a guarantee, and one with a minimum run time."""
    size = Resources({"cpu": 8_000, "memory": 2**34, "pods": 6})
    ready = (Condition(type="Ready", status="True"),)
    asked = ResourceRequirements(requests=Resources({"cpu": 1_000, "memory": 2**30}))
    metadata = Metadata(
        name="gang-0", namespace="b", creation_timestamp=CREATED, annotations={GROUP_ANNOTATION: "gang"}
    )
    return [
        Node(metadata=Metadata(name="n"), status=NodeStatus(allocatable=size, conditions=ready)),
        Queue(metadata=QueueMetadata(name="q0"), spec=QueueSpec(weight=2, reclaim_min_runtime="3s")),
        Queue(
            metadata=QueueMetadata(name="q1"),
            spec=QueueSpec(weight=3, guarantee=Guarantee(resource=Resources({"cpu": 5_000}))),
        ),
        GANG,
        Pod(metadata=metadata, spec=PodSpec(containers=(Container(name="main", resources=asked),))),
    ]


def test_a_gang_that_waits_is_in_every_plan_though_nothing_has_changed() -> None:
    engine = Engine()
    engine.feed([Upserted(object=one) for one in objects()])  # type: ignore[arg-type]
    plans = [engine.decide(NOW + second) for second in range(6)]
    assert [plan.pod_groups["b/gang"].phase for plan in plans if "b/gang" in plan.pod_groups] == [
        "Inqueue"
    ] * len(plans)


def test_a_gang_that_waits_is_in_every_plan_though_its_status_alone_has_changed() -> None:
    engine = Engine()
    engine.feed([Upserted(object=one) for one in objects()])  # type: ignore[arg-type]
    phases = ["Pending", "Inqueue", "Inqueue", "Pending", "Inqueue"]
    seen = []
    for second, phase in enumerate(phases):
        status = msgspec.structs.replace(GANG.status, phase=phase)
        engine.feed([Upserted(object=msgspec.structs.replace(GANG, status=status))])
        seen += [engine.decide(NOW + 2 * second + more).pod_groups.get("b/gang") for more in range(2)]
    assert [one.phase if one is not None else None for one in seen] == ["Inqueue"] * len(seen)

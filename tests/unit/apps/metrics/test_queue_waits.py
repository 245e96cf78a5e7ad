"""What metrics say of waiting and evicted work, from the plans of a real engine."""

import time
from datetime import UTC, datetime, timedelta
from typing import Final

import pytest
from prometheus_client import CollectorRegistry

from maar.apps.metrics.registry import new_registry
from maar.apps.metrics.scheduler import SchedulerMetrics
from maar.core.engine import Engine
from maar.core.model.events import AnyObject, Deleted, Upserted
from maar.core.model.kinds import from_document
from maar.core.model.node import Node
from maar.core.model.pod import GROUP_ANNOTATION, Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.queue import Queue
from support.scraped import samples, value

NOW: Final = datetime.now(UTC)
HOUR: Final = timedelta(hours=1)


def of(kind: type[AnyObject], name: str, **parts: object) -> AnyObject:
    metadata = {"name": name, "annotations": parts.pop("annotations", {})}
    if getattr(kind, "namespaced", False):
        metadata["namespace"] = "team"
    return from_document(kind, {"metadata": metadata, **parts})


def queue(name: str, parent: str = "", guarantee: int = 0) -> AnyObject:
    reserved = {"guarantee": {"resource": {"cpu": guarantee}}} if guarantee else {}
    return of(Queue, name, spec={"parent": parent, **reserved})


def group(name: str, queue: str, unschedulable_since: datetime | None = None) -> AnyObject:
    """A pod group, and since when its status says that it waits."""
    since = {} if unschedulable_since is None else {"lastTransitionTime": unschedulable_since.isoformat()}
    conditions = [{"type": "Unschedulable", "status": "True", **since}] if since else []
    status = {"phase": "Inqueue", "conditions": conditions}
    spec = {"minMember": 1, "queue": queue}
    return of(PodGroup, name, spec=spec, status=status)


def pod(name: str, group: str, node: str = "") -> AnyObject:
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": 1}}}
    spec = {"schedulerName": "volcano", "containers": [container], **({"nodeName": node} if node else {})}
    status = {"phase": "Running" if node else "Pending"}
    return of(Pod, name, annotations={GROUP_ANNOTATION: group}, spec=spec, status=status)


def node(cpus: int) -> AnyObject:
    amounts = {"cpu": cpus, "memory": "64Gi", "pods": 110}
    ready = [{"type": "Ready", "status": "True"}]
    return of(Node, "n", status={"allocatable": amounts, "conditions": ready})


class Scheduling:
    """An engine whose plans are shown as metrics."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.engine = Engine()
        self.metrics = SchedulerMetrics(registry, self.engine.tables)

    def see(self, *objects: AnyObject) -> None:
        """Let it learn of objects."""
        self.engine.feed([Upserted(object=one) for one in objects])

    def decide(self) -> None:
        """Make one decision."""
        self.metrics.decided(self.engine.decide(NOW.timestamp()), 0.01)


@pytest.fixture
def registry() -> CollectorRegistry:
    return new_registry()


@pytest.fixture
def scheduling(registry: CollectorRegistry) -> Scheduling:
    return Scheduling(registry)


def waits(registry: CollectorRegistry, queue: str) -> tuple[float, int]:
    """How many groups wait, and for how many whole hours the one that came first."""
    groups = value(registry, "maar_queue_pod_groups_waiting", queue_name=queue)
    return groups, int(value(registry, "maar_queue_longest_wait_seconds", queue_name=queue) / 3600)


def test_groups_wait_in_their_queue_and_in_those_above_it(
    registry: CollectorRegistry, scheduling: Scheduling
) -> None:
    scheduling.see(node(0), queue("dept"), queue("a", "dept"), queue("b", "dept"), queue("c"))
    scheduling.see(group("old", "a", NOW - 3 * HOUR), group("new", "a", NOW - HOUR), group("just", "b"))
    scheduling.see(*(pod(name, name) for name in ("old", "new", "just")))
    scheduling.decide()
    assert {name: waits(registry, name) for name in ("a", "b", "c", "dept", "root")} == {
        "a": (2, 3),
        "b": (1, 0),
        "c": (0, 0),
        "dept": (3, 3),
        "root": (3, 3),
    }


def test_a_group_that_runs_and_asks_for_more_does_not_wait(
    registry: CollectorRegistry, scheduling: Scheduling
) -> None:
    scheduling.see(node(1), queue("a"), group("g", "a"), pod("there", "g", "n"), pod("more", "g"))
    scheduling.decide()
    assert value(registry, "volcano_unschedule_job_count") == 1
    assert waits(registry, "a") == (0, 0)


def test_evictions_are_counted_in_the_queue_that_loses_and_go_with_it(
    registry: CollectorRegistry, scheduling: Scheduling
) -> None:
    scheduling.see(node(2), queue("greedy"), queue("poor"))
    scheduling.see(group("g1", "greedy"), group("g2", "greedy"), pod("p1", "g1", "n"), pod("p2", "g2", "n"))
    scheduling.see(group("wants", "poor"), pod("wants", "wants"))
    scheduling.decide()
    (found,) = samples(registry)["maar_queue_evictions_total"]
    assert found == ({"queue_name": "greedy", "action": "reclaim"}, 1)
    scheduling.engine.feed([Deleted(kind="Queue", key="greedy")])
    scheduling.decide()
    assert "maar_queue_evictions_total" not in samples(registry)


def test_a_guarantee_is_shown_as_it_is_in_force_and_whether_that_is_all_of_it(
    registry: CollectorRegistry, scheduling: Scheduling
) -> None:
    scheduling.see(node(4), queue("a", guarantee=3), queue("b"))
    scheduling.decide()
    assert value(registry, "maar_queue_guarantee", queue_name="a", resource="cpu") == 3
    assert value(registry, "maar_queue_guarantee_reduced", queue_name="a") == 0
    shown = {labels["queue_name"] for labels, _ in samples(registry)["maar_queue_guarantee"]}
    assert shown == {"a", "root"}
    scheduling.see(node(2))
    scheduling.decide()
    assert value(registry, "maar_queue_guarantee", queue_name="a", resource="cpu") == 2
    assert value(registry, "maar_queue_guarantee_reduced", queue_name="a") == 1


def test_the_last_decision_has_its_time(registry: CollectorRegistry, scheduling: Scheduling) -> None:
    assert value(registry, "maar_last_decision_timestamp_seconds") == 0
    began = time.time()
    scheduling.decide()
    assert began <= value(registry, "maar_last_decision_timestamp_seconds") <= time.time()

"""What was asked of the cluster counts as done until it is seen."""

from datetime import UTC, datetime

import msgspec
import pytest

from maar.core.engine import Engine
from maar.core.model.events import Deleted, Event, Upserted
from maar.core.model.metadata import Condition, Metadata
from maar.core.model.node import Node, NodeStatus
from maar.core.model.pod import Container, Pod, PodSpec, ResourceRequirements
from maar.core.model.pod_group import PodGroup, PodGroupSpec
from maar.core.model.resources import Resources
from maar.core.model.writes import Bind, Evict, Nominate

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SIZE = Resources.parse({"cpu": "1", "memory": "1Gi", "pods": "9"})


def pod(node: str = "", uid: str = "1", **metadata: object) -> Pod:
    need = ResourceRequirements(requests=Resources.parse({"cpu": "1"}))
    fields = Metadata(name="p", namespace="ns", uid=uid, annotations={"scheduling.k8s.io/group-name": "g"})
    return Pod(
        metadata=msgspec.structs.replace(fields, **metadata),
        spec=PodSpec(
            scheduler_name="volcano", node_name=node, containers=(Container(name="c", resources=need),)
        ),
    )


@pytest.fixture
def engine() -> Engine:
    ready = (Condition(type="Ready", status="True"),)
    node = Node(metadata=Metadata(name="n"), status=NodeStatus(allocatable=SIZE, conditions=ready))
    group = PodGroup(metadata=Metadata(name="g", namespace="ns"), spec=PodGroupSpec(min_member=1))
    engine = Engine()
    engine.feed([Upserted(object=node), Upserted(object=group), Upserted(object=pod())])
    return engine


def binds(engine: Engine) -> list[tuple[str, str]]:
    return [(one.pod, one.node) for one in engine.decide(NOW.timestamp()).binds]


def test_a_pod_that_is_being_bound_is_not_bound_again(engine: Engine) -> None:
    assert binds(engine) == [("ns/p", "n")]
    engine.assume(Bind(pod="ns/p", node="n"))
    assert binds(engine) == []
    engine.feed([Upserted(object=pod())])  # an event from before the bind
    assert binds(engine) == []
    engine.feed([Upserted(object=pod(node="n"))])
    assert binds(engine) == []
    assert engine.assumptions.under_way == {}


def test_a_bind_that_failed_is_decided_anew(engine: Engine) -> None:
    write = Bind(pod="ns/p", node="n")
    engine.assume(write)
    engine.forget(write)
    assert binds(engine) == [("ns/p", "n")]


def test_another_pod_of_the_same_name_is_not_taken_for_bound(engine: Engine) -> None:
    engine.assume(Bind(pod="ns/p", node="n"))
    engine.feed([Upserted(object=pod(uid="2"))])
    assert binds(engine) == [("ns/p", "n")]


def test_a_pod_that_is_gone_leaves_nothing_behind(engine: Engine) -> None:
    write = Bind(pod="ns/p", node="n")
    engine.assume(write)
    engine.feed([Deleted(kind="Pod", key="ns/p")])
    engine.forget(write)
    assert binds(engine) == []
    assert (engine.assumptions.under_way, engine.tables.pods) == ({}, {})


def test_a_pod_that_is_being_evicted_counts_as_leaving(engine: Engine) -> None:
    engine.feed([Upserted(object=pod(node="n"))])
    write = Evict(pod="ns/p", action="reclaim", beneficiary="ns/other")
    engine.assume(write)
    assert engine.tables.pods["ns/p"].is_terminating
    engine.feed([Upserted(object=pod(node="n"))])
    assert engine.tables.pods["ns/p"].evicted_for == "ns/other"
    engine.forget(write)
    assert not engine.tables.pods["ns/p"].is_terminating


def test_promises_are_known_until_the_pod_is_bound(engine: Engine) -> None:
    engine.assume(Nominate(pod="ns/p", node="n"))
    assert engine.assumptions.promised == {"ns/p": "n"}
    engine.assume(Bind(pod="ns/p", node="n"))
    assert engine.assumptions.promised == {}


def test_of_several_events_the_last_counts(engine: Engine) -> None:
    engine.assume(Bind(pod="ns/p", node="n"))
    events: list[Event] = [Upserted(object=pod()), Upserted(object=pod(deletion_timestamp=NOW))]
    engine.feed(events)
    assert engine.assumptions.under_way == {}
    assert engine.tables.pods["ns/p"].node_name == ""


def test_a_pod_that_is_evicted_while_it_is_being_bound_keeps_its_room(engine: Engine) -> None:
    bind, evict = Bind(pod="ns/p", node="n"), Evict(pod="ns/p", action="reclaim", beneficiary="ns/other")
    engine.assume(bind)
    engine.assume(evict)
    engine.feed([Upserted(object=pod())])  # an event from before both
    row = engine.tables.pods["ns/p"]
    assert (row.node_name, row.is_terminating, row.evicted_for) == ("n", True, "ns/other")

    engine.forget(evict)
    row = engine.tables.pods["ns/p"]
    assert (row.node_name, row.is_terminating) == ("n", False)
    engine.feed([Upserted(object=pod(node="n"))])
    assert engine.assumptions.under_way == {}


def test_a_bind_that_failed_takes_nothing_else_with_it(engine: Engine) -> None:
    bind, evict = Bind(pod="ns/p", node="n"), Evict(pod="ns/p", action="reclaim", beneficiary="ns/other")
    engine.assume(bind)
    engine.assume(evict)
    engine.forget(bind)
    row = engine.tables.pods["ns/p"]
    assert (row.node_name, row.is_terminating) == ("", True)
    assert engine.assumptions.under_way == {"ns/p": (evict,)}

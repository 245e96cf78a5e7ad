"""Rows of a cluster: after any events in any order they are those of the objects that are there."""

from datetime import UTC, datetime
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from maar.core.model.events import AnyObject, Deleted, Event, Upserted
from maar.core.model.job import Job
from maar.core.model.kinds import from_document
from maar.core.model.metadata import Object
from maar.core.model.node import Node
from maar.core.model.pod import GROUP_ANNOTATION, Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.priority_class import PriorityClass
from maar.core.model.queue import Queue
from maar.core.views.console.live_rows import TOPICS, LiveRows

Json = dict[str, Any]
MOMENT = datetime(2026, 1, 1, tzinfo=UTC).isoformat()


def upserted(kind: type[Object], document: Json) -> Event:
    found: Any = from_document(kind, {"kind": kind.kind_name(), **document})
    return Upserted(object=found)


def queue(name: str, parent: str = "", spec: Json | None = None, status: Json | None = None) -> Event:
    wanted = {"parent": parent, **(spec or {})}
    return upserted(Queue, {"metadata": {"name": name}, "spec": wanted, "status": status or {}})


def group(name: str, queue: str = "a", owner: str = "", **spec: object) -> Event:
    owners = [{"apiVersion": Job.api_version, "kind": "Job", "name": owner, "controller": True}]
    metadata = {"name": name, "namespace": "n", "ownerReferences": owners if owner else []}
    return upserted(PodGroup, {"metadata": metadata, "spec": {"queue": queue, **spec}})


def job(name: str, phase: str = "Running") -> Event:
    state = {"phase": phase, "reason": "Because", "message": "so"}
    return upserted(
        Job, {"metadata": {"name": name, "namespace": "n"}, "status": {"state": state, "pending": 2}}
    )


def pod(name: str, group: str = "", node: str = "", phase: str = "Running", cpu: str = "1") -> Event:
    notes = {GROUP_ANNOTATION: group} if group else {}
    containers = [{"name": "main", "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}]
    return upserted(
        Pod,
        {
            "metadata": {"name": name, "namespace": "n", "annotations": notes},
            "spec": {"nodeName": node, "containers": containers, "priority": 7},
            "status": {"phase": phase, "startTime": MOMENT},
        },
    )


def node(name: str) -> Event:
    ready = [{"type": "Ready", "status": "True"}]
    return upserted(
        Node, {"metadata": {"name": name}, "status": {"allocatable": {"cpu": "4"}, "conditions": ready}}
    )


def gone(event: Event) -> Event:
    assert isinstance(event, Upserted)
    return Deleted(kind=event.object.kind_name(), key=event.object.key)


def rows(live: LiveRows) -> dict[str, dict[str, Json]]:
    """All rows, after all that is marked has been worked out."""
    while live.has_changes:
        live.changes(most=2)
    found: dict[str, dict[str, Json]] = {}
    for topic in TOPICS:
        decoded: list[Json] = [msgspec.json.decode(row) for row in live.rows(topic)]
        found[topic] = {one.get("key") or one["name"]: one for one in decoded}
    return found


def rows_of(*events: Event) -> dict[str, dict[str, Json]]:
    live = LiveRows()
    live.feed(events)
    return rows(live)


OBJECTS = st.one_of(
    st.builds(queue, st.sampled_from("abc"), st.sampled_from(["", "a", "b", "root", "none"])),
    st.builds(group, st.sampled_from("xy"), st.sampled_from("ab"), st.sampled_from(["", "j", "x"])),
    st.builds(job, st.sampled_from("jx")),
    st.builds(
        pod,
        st.sampled_from("pqr"),
        st.sampled_from(["", "x", "y"]),
        st.sampled_from(["", "m", "o"]),
        st.sampled_from(["Pending", "Running", "Succeeded", "Failed"]),
        st.sampled_from(["1", "2500m"]),
    ),
    st.builds(node, st.sampled_from("mo")),
)


@given(st.lists(st.tuples(OBJECTS, st.booleans(), st.booleans())))
def test_the_rows_are_those_of_the_objects_whatever_happened_before(
    story: list[tuple[Event, bool, bool]],
) -> None:
    live = LiveRows()
    there: dict[tuple[str, str], AnyObject] = {}
    for event, is_deleted, is_looked_at in story:
        assert isinstance(event, Upserted)
        key = (event.object.kind_name(), event.object.key)
        if is_deleted:
            if there.pop(key, None) is not None:
                live.feed([gone(event)])
        else:
            there[key] = event.object
            live.feed([event])
        if is_looked_at:
            rows(live)
    assert rows(live) == rows_of(*(Upserted(object=one) for one in there.values()))


def test_what_has_not_changed_is_not_said_again() -> None:
    live = LiveRows()
    live.feed([queue("a"), node("m"), pod("p", node="m")])
    assert set(live.changes()) == {"queues", "nodes"}
    live.feed([queue("a"), node("m"), pod("p", node="m")])
    assert live.changes() == {}
    live.feed([gone(pod("p")), gone(queue("a"))])
    changes = live.changes()
    assert changes["queues"].gone == ["a"]
    assert len(changes["nodes"].rows) == 1


def test_a_queue_has_its_amounts_in_whole_units() -> None:
    total = {"deserved": {"cpu": "10", "memory": "8Gi"}}
    spec = {
        "weight": 3,
        "guarantee": {"resource": {"cpu": "500m"}, "percentage": {"cpu": 20}},
        "deserved": {"cpu": "500m"},
        "capability": {"memory": "1Gi"},
    }
    status = {"deserved": {"cpu": "4"}, "used": {"cpu": "1500m"}, "weightFactor": "0.84", "share": "0.37"}
    found = rows_of(queue("root", status=total), queue("a", spec=spec, status=status))["queues"]["a"]
    assert found["resources"]["cpu"] == {
        "guarantee": 2000,
        "softGuarantee": 500,
        "capability": None,
        "realCapability": None,
        "deserved": 4000,
        "used": 1500,
        "allocated": 0,
        "preempting": 0,
    }
    assert found["resources"]["memory"]["capability"] == 1 << 30
    assert (found["parent"], found["weight"], found["factor"], found["share"]) == ("root", 3, 0.84, "0.37")


def test_the_root_is_there_and_a_queue_below_nothing_stands_aside() -> None:
    found = rows_of(queue("a", "b"), queue("b", "none"))["queues"]
    assert set(found) == {"root", "a", "b"}
    assert found["root"]["parent"] == ""
    assert "none" in found["b"]["setAside"]
    assert rows_of(queue("a", "b"), queue("b"))["queues"]["a"]["setAside"] == ""


def test_a_guarantee_in_percent_follows_the_size_of_the_cluster() -> None:
    live = LiveRows()
    live.feed([queue("a", spec={"guarantee": {"percentage": {"cpu": 50}}})])
    assert rows(live)["queues"]["a"]["resources"]["cpu"]["guarantee"] == 0
    live.feed([queue("root", status={"deserved": {"cpu": "8"}})])
    assert rows(live)["queues"]["a"]["resources"]["cpu"]["guarantee"] == 4000


def test_a_job_has_one_row_that_becomes_its_groups() -> None:
    live = LiveRows()
    live.feed([job("j", "Pending")])
    (alone,) = rows(live)["jobs"].values()
    assert (alone["key"], alone["kind"], alone["podGroup"], alone["status"]) == ("n/j", "job", "", "Pending")
    live.feed([group("j-uid", owner="j", minMember=2)])
    (found,) = rows(live)["jobs"].values()
    assert (found["key"], found["kind"], found["name"]) == ("n/j-uid", "job", "j")
    assert found["pods"] == {"running": 0, "pending": 2, "succeeded": 0, "failed": 0, "min": 2}
    live.feed([pod("p", "j-uid", "m"), pod("q", "j-uid", phase="Pending"), pod("r", "j-uid", phase="Failed")])
    (found,) = rows(live)["jobs"].values()
    assert found["pods"] == {"running": 1, "pending": 1, "succeeded": 0, "failed": 1, "min": 2}
    assert found["request"] == {"cpu": 2000, "memory": 2 << 30}
    assert found["started"] == datetime.fromisoformat(MOMENT).timestamp()


def test_why_a_group_waits_and_where_it_stands() -> None:
    conditions = [{"type": "Unschedulable", "status": "True", "reason": "QueueFull", "message": "no room"}]
    planned = {"time": MOMENT, "certainty": "bound"}
    status = {"phase": "Pending", "conditions": conditions, "plannedStart": planned}
    live = LiveRows()
    spec = {"queue": "a", "priorityClassName": "high", "minResources": {"cpu": "3", "pods": "3"}}
    metadata = {"name": "x", "namespace": "n"}
    live.feed([upserted(PodGroup, {"metadata": metadata, "spec": spec, "status": status})])
    live.feed([upserted(PriorityClass, {"metadata": {"name": "high"}, "value": 100})])
    live.set_places({"n/x": 2})
    (found,) = rows(live)["jobs"].values()
    assert (found["reason"], found["message"], found["place"]) == ("QueueFull", "no room", 2)
    assert found["start"] == {"time": datetime.fromisoformat(MOMENT).timestamp(), "certainty": "bound"}
    assert (found["priority"], found["request"]) == (100, {"cpu": 3000})
    live.set_places({})
    assert rows(live)["jobs"]["n/x"]["place"] is None


def test_a_node_is_filled_by_queue() -> None:
    live = LiveRows()
    live.feed([node("m"), pod("p", "x", "m"), pod("q", "", "m", cpu="2"), pod("r", "", "m", "Succeeded")])
    found = rows(live)["nodes"]["m"]
    assert (found["pods"], found["used"]) == (2, {"cpu": 3000, "memory": 2 << 30})
    assert set(found["byQueue"]) == {""}
    live.feed([group("x", "a")])
    assert rows(live)["nodes"]["m"]["byQueue"] == {
        "": {"cpu": 2000, "memory": 1 << 30},
        "a": {"cpu": 1000, "memory": 1 << 30},
    }
    live.feed([group("x", "b")])
    assert set(rows(live)["nodes"]["m"]["byQueue"]) == {"", "b"}

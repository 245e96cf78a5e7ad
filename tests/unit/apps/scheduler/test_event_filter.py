"""What makes a scheduler decide again, and what does not."""

import pytest

from maar.apps.scheduler.event_filter import EventFilter
from maar.core.engine import Engine
from maar.core.model.events import Deleted, Event, Upserted
from maar.core.model.kinds import from_document
from maar.core.model.node import Node
from maar.core.model.plan import GroupOutcome, Plan
from maar.core.model.pod import Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.writes import Bind
from support.manifests import Json


def upserted(document: Json) -> Event:
    match document["kind"]:
        case "Pod":
            return Upserted(object=from_document(Pod, document))
        case "Node":
            return Upserted(object=from_document(Node, document))
    return Upserted(object=from_document(PodGroup, document))


def pod(**changes: Json) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "a", "uid": "1", **changes.get("metadata", {})},
        "spec": {"schedulerName": "volcano", "containers": [{"name": "main"}], **changes.get("spec", {})},
        "status": {"phase": "Pending", **changes.get("status", {})},
    }


def node(**changes: Json) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n", "uid": "2", **changes.get("metadata", {})},
        "spec": changes.get("spec", {}),
        "status": {
            "allocatable": {"cpu": "4"},
            "conditions": [{"type": "Ready", "status": "True"}],
            **changes.get("status", {}),
        },
    }


def group(**changes: Json) -> Json:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "a", "uid": "3"},
        "spec": {"minMember": 1, **changes.get("spec", {})},
        "status": changes.get("status", {}),
    }


@pytest.fixture
def engine() -> Engine:
    return Engine()


def needs_decision(engine: Engine, *before: Json, then: Json) -> bool:
    reader = EventFilter(engine.tables)
    events = [upserted(one) for one in before]
    assert reader.is_in(events)
    engine.feed(events)
    return reader.is_in([upserted(then)])


@pytest.mark.parametrize(
    "changed",
    [
        {"spec": {"nodeName": "n"}},
        {"status": {"phase": "Succeeded"}},
        {"status": {"nominatedNodeName": "n"}},
        {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}},
        {"metadata": {"labels": {"app": "other"}}},
        {"spec": {"schedulingGates": [{"name": "wait"}]}},
    ],
)
def test_a_pod_that_is_otherwise_placed_is_news(engine: Engine, changed: Json) -> None:
    assert needs_decision(engine, pod(), then=pod(**changed))


@pytest.mark.parametrize(
    "changed",
    [
        {"metadata": {"annotations": {"scheduling.k8s.io/group-name": "g"}}},
        {"metadata": {"annotations": {"volcano.sh/task-spec": "worker"}}},
        {"metadata": {"annotations": {"volcano.sh/preemptable": "false"}}},
        {"metadata": {"annotations": {"volcano.sh/task-index": "3"}}},
        {"spec": {"priority": 100}},
        {"spec": {"priorityClassName": "high"}},
        {"spec": {"tolerations": [{"operator": "Exists"}]}},
        {"spec": {"nodeSelector": {"zone": "a"}}},
        {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "1"}}}]}},
        {"spec": {"containers": [{"name": "main", "resources": {"requests": {"example.com/new": "1"}}}]}},
    ],
)
def test_a_pod_that_asks_for_something_else_or_counts_otherwise_is_news(
    engine: Engine, changed: Json
) -> None:
    rows = len(engine.tables.axis.names)
    assert needs_decision(engine, pod(), then=pod(**changed))
    assert needs_decision(Engine(), pod(**changed), then=pod())
    assert not needs_decision(Engine(), pod(**changed), then=pod(**changed))
    assert len(engine.tables.axis.names) == rows, "a decision may be under way"


def test_annotations_that_nobody_decides_by_are_none(engine: Engine) -> None:
    assert not needs_decision(engine, pod(), then=pod(metadata={"annotations": {"team": "blue"}}))


def test_what_a_pod_says_of_itself_while_it_waits_or_runs_is_none(engine: Engine) -> None:
    reported = {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]}
    assert not needs_decision(engine, pod(), then=pod(status=reported))
    on_node = {"nodeName": "n"}
    assert not needs_decision(engine, pod(spec=on_node), then=pod(spec=on_node, status={"phase": "Running"}))


def test_the_echo_of_our_own_bind_is_none(engine: Engine) -> None:
    reader = EventFilter(engine.tables)
    engine.feed([upserted(node()), upserted(pod())])
    engine.assume(Bind(pod="a/p", node="n"))
    assert not reader.is_in([upserted(pod(spec={"nodeName": "n"}))])
    assert reader.is_in([upserted(pod(spec={"nodeName": "elsewhere"}))])


@pytest.mark.parametrize(
    "changed",
    [
        {"spec": {"unschedulable": True}},
        {"status": {"allocatable": {"cpu": "8"}}},
        {"status": {"conditions": [{"type": "Ready", "status": "False"}]}},
        {"metadata": {"labels": {"zone": "b"}}},
    ],
)
def test_a_node_that_offers_something_else_is_news(engine: Engine, changed: Json) -> None:
    assert needs_decision(engine, node(), then=node(**changed))


def test_a_nodes_heartbeat_is_none(engine: Engine) -> None:
    beat = [
        {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"},
        {"type": "DiskPressure", "status": "False"},
    ]
    assert not needs_decision(engine, node(), then=node(status={"conditions": beat}))


def test_a_group_is_news_for_what_it_asks_and_not_for_its_status(engine: Engine) -> None:
    assert not needs_decision(engine, group(), then=group(status={"phase": "Inqueue"}))
    assert needs_decision(engine, group(), then=group(spec={"minMember": 2}))


def test_a_group_whose_phase_somebody_else_has_changed_is_news(engine: Engine) -> None:
    reader = EventFilter(engine.tables)
    engine.feed([upserted(group(status={"phase": "Inqueue"}))])
    reader.is_in([upserted(group(status={"phase": "Inqueue"}))])
    reader.decided(Plan(pod_groups={"a/g": GroupOutcome(phase="Running")}))
    assert not reader.is_in([upserted(group(status={"phase": "Running"}))]), "the echo of our own write"
    assert not reader.is_in([upserted(group(status={"phase": "Inqueue"}))])
    assert reader.is_in([upserted(group())]), "an operator has put back what it had read before"


def test_whatever_vanishes_is_news_and_so_is_what_comes_back(engine: Engine) -> None:
    reader = EventFilter(engine.tables)
    assert reader.is_in([upserted(group())])
    assert reader.is_in([Deleted(kind="PodGroup", key="a/g")])
    assert reader.is_in([upserted(group())])

"""Pods: what the server decides when they come, when they are bound, and how long they may take to go."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from maar.embedded.calls import Call, Deletion
from maar.embedded.failures import ApiError
from maar.embedded.kinds.pods import bind
from support.embedded import Document, EmbeddedCluster, opened

BOTH = {"cpu": "1", "memory": "1Gi"}


@pytest.fixture
def embedded(tmp_path: Path) -> Iterator[EmbeddedCluster]:
    with opened(tmp_path) as made:
        yield made


def binding(name: str, node: str = "n1", **meta: object) -> Document:
    return {"metadata": {"name": name, **meta}, "target": {"kind": "Node", "name": node}}


def refused(embedded: EmbeddedCluster, body: Document, name: str = "p") -> tuple[int, str]:
    before = embedded.store.revision
    with pytest.raises(ApiError) as raised:
        bind(embedded.cluster, "default", name, body, Call())
    assert embedded.store.revision == before
    return raised.value.code, raised.value.message


# Coming


def test_a_pod_starts_pending_whatever_status_the_client_sent(embedded: EmbeddedCluster) -> None:
    spec = {"containers": [{"name": "main", "image": "none"}]}
    pod = embedded.make("pods", "p", spec=spec, status={"phase": "Running", "podIP": "10.0.0.1"})
    assert pod["status"] == {"phase": "Pending", "qosClass": "BestEffort"}
    assert pod["spec"]["serviceAccountName"] == pod["spec"]["serviceAccount"] == "default"


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ({}, "BestEffort"),
        ({"requests": {"nvidia.com/gpu": "1"}, "limits": {"nvidia.com/gpu": "1"}}, "BestEffort"),
        ({"requests": {"cpu": "0"}}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}, "Burstable"),
        ({"requests": BOTH, "limits": BOTH}, "Guaranteed"),
        ({"requests": BOTH, "limits": {"cpu": "1000m", "memory": "1024Mi"}}, "Guaranteed"),
        ({"requests": BOTH, "limits": {**BOTH, "cpu": "2"}}, "Burstable"),
    ],
)
def test_quality_of_service_follows_requests_and_limits(
    embedded: EmbeddedCluster, resources: Document, expected: str
) -> None:
    assert embedded.pod("p", resources=resources)["status"]["qosClass"] == expected


def test_resources_of_the_whole_pod_decide_its_quality(embedded: EmbeddedCluster) -> None:
    container = {"name": "main", "image": "none"}
    whole = {"containers": [container], "resources": {"requests": BOTH, "limits": BOTH}}
    assert embedded.make("pods", "q", spec=whole)["status"]["qosClass"] == "Guaranteed"


def test_an_init_container_counts_for_quality(embedded: EmbeddedCluster) -> None:
    first = {"name": "first", "image": "none"}
    pod = embedded.pod("p", resources={"requests": BOTH, "limits": BOTH}, initContainers=[first])
    assert pod["status"]["qosClass"] == "Burstable"


def test_a_gated_pod_says_why_it_is_not_scheduled(embedded: EmbeddedCluster) -> None:
    conditions = embedded.pod("p", schedulingGates=[{"name": "maar.sh/wait"}])["status"]["conditions"]
    assert [(one["type"], one["status"], one["reason"]) for one in conditions] == [
        ("PodScheduled", "False", "SchedulingGated")
    ]


# Priority


def classed(embedded: EmbeddedCluster, name: str, value: int, **fields: object) -> None:
    embedded.make("priorityclasses.scheduling.k8s.io", name, "", value=value, **fields)


def test_a_class_gives_priority_and_preemption_policy(embedded: EmbeddedCluster) -> None:
    classed(embedded, "high", 1000, preemptionPolicy="Never")
    spec = embedded.pod("p", priorityClassName="high")["spec"]
    assert (spec["priority"], spec["preemptionPolicy"]) == (1000, "Never")
    assert embedded.pod("q", priorityClassName="system-node-critical")["spec"]["priority"] == 2_000_001_000


def test_without_a_class_the_default_class_counts_and_without_that_zero(embedded: EmbeddedCluster) -> None:
    assert embedded.pod("before")["spec"]["priority"] == 0
    classed(embedded, "usual", 5, globalDefault=True)
    spec = embedded.pod("after")["spec"]
    assert (spec["priority"], spec["priorityClassName"]) == (5, "usual")
    embedded.cluster.delete("priorityclasses.scheduling.k8s.io", "", "usual")
    assert embedded.pod("later")["spec"]["priority"] == 0


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"priorityClassName": "nope"}, "no PriorityClass with name nope was found"),
        (
            {"priority": 7},
            (
                "the integer value of priority (7) must not be provided in pod spec; priority admission"
                " controller computed 0 from the given PriorityClass name"
            ),
        ),
        (
            {"preemptionPolicy": "Never"},
            (
                "the string value of PreemptionPolicy (Never) must not be provided in pod spec; priority"
                " admission controller computed PreemptLowerPriority from the given PriorityClass name"
            ),
        ),
    ],
)
def test_priority_is_not_for_the_client_to_choose(
    embedded: EmbeddedCluster, spec: Document, why: str
) -> None:
    with pytest.raises(ApiError) as raised:
        embedded.pod("p", **spec)
    assert (raised.value.code, raised.value.message) == (403, f'pods "p" is forbidden: {why}')


def test_there_is_one_default_class_at_most(embedded: EmbeddedCluster) -> None:
    classed(embedded, "usual", 5, globalDefault=True)
    with pytest.raises(ApiError) as raised:
        classed(embedded, "other", 6, globalDefault=True)
    assert raised.value.message == (
        'priorityclasses.scheduling.k8s.io "other" is forbidden: PriorityClass usual is already marked as'
        " default. Only one default can exist"
    )
    description = {"description": "still the default"}

    def edited(value: Document) -> Document:
        return value | description

    embedded.cluster.change("priorityclasses.scheduling.k8s.io", "", "usual", edited)


def test_a_default_class_that_is_only_tried_leaves_no_trace(embedded: EmbeddedCluster) -> None:
    body: Document = {"metadata": {"name": "tried"}, "value": 5, "globalDefault": True}
    embedded.cluster.create("priorityclasses.scheduling.k8s.io", "", body, Call(dry_run=True))
    assert embedded.pod("p")["spec"]["priority"] == 0


def test_system_classes_stay(embedded: EmbeddedCluster) -> None:
    with pytest.raises(ApiError, match="this is a system priority class and cannot be deleted"):
        embedded.cluster.delete("priorityclasses.scheduling.k8s.io", "", "system-node-critical")


# Changing and going


def test_what_was_decided_stays_when_a_client_leaves_it_out(embedded: EmbeddedCluster) -> None:
    pod = embedded.pod("p")
    for field in ("priority", "preemptionPolicy", "serviceAccountName", "serviceAccount"):
        del pod["spec"][field]
    replaced: Document = embedded.cluster.replace("pods", "default", "p", pod)
    assert replaced["spec"]["priority"] == 0
    del pod["status"]["qosClass"]
    pod["metadata"].pop("resourceVersion")
    changed = embedded.cluster.replace(
        "pods", "default", "p", pod | {"status": {"phase": "Running"}}, "status"
    )
    assert changed["status"] == {"phase": "Running", "qosClass": "BestEffort"}


@pytest.mark.parametrize(
    ("asked", "own", "expected"), [(None, 30, 30), (None, 5, 5), (7, 30, 7), (0, 30, None), (None, -1, 1)]
)
def test_a_bound_pod_has_its_grace(
    embedded: EmbeddedCluster, asked: int | None, own: int, expected: int | None
) -> None:
    embedded.pod("p", nodeName="n1", terminationGracePeriodSeconds=own)
    gone = embedded.cluster.delete("pods", "default", "p", Deletion(grace=asked))[1]
    assert gone is (expected is None)
    if expected is not None:
        assert embedded.get("pods", "p")["metadata"]["deletionGracePeriodSeconds"] == expected


def test_a_pod_without_a_node_and_a_finished_one_go_at_once(embedded: EmbeddedCluster) -> None:
    embedded.pod("unbound", terminationGracePeriodSeconds=30)
    embedded.pod("finished", nodeName="n1", terminationGracePeriodSeconds=30)
    embedded.edit("pods", "finished", "status", status={"phase": "Succeeded"})
    assert embedded.cluster.delete("pods", "default", "unbound")[1]
    assert embedded.cluster.delete("pods", "default", "finished")[1]


# Binding


def test_a_bind_assigns_the_node_and_merges_labels_and_annotations(embedded: EmbeddedCluster) -> None:
    embedded.pod("p", meta={"labels": {"app": "web"}})
    embedded.edit("pods", "p", "status", status={"nominatedNodeName": "n2"})
    body = binding("p", annotations={"why": "fits"}, labels={"zone": "a"})
    answer = bind(embedded.cluster, "default", "p", body, Call())
    assert (answer["status"], answer["code"]) == ("Success", 201)
    pod = embedded.get("pods", "p")
    assert pod["spec"]["nodeName"] == "n1"
    assert pod["metadata"]["labels"] == {"app": "web", "zone": "a"}
    assert pod["metadata"]["annotations"] == {"why": "fits"}
    assert "nominatedNodeName" not in pod["status"]
    [condition] = pod["status"]["conditions"]
    assert condition == {
        "type": "PodScheduled",
        "status": "True",
        "lastTransitionTime": embedded.cluster.now(),
    }


def test_a_pod_is_bound_once(embedded: EmbeddedCluster) -> None:
    embedded.pod("p", nodeName="n1")
    assert refused(embedded, binding("p", "n2")) == (
        409,
        'Operation cannot be fulfilled on pods/binding "p": pod p is already assigned to node "n1"',
    )


def test_a_pod_that_is_to_go_is_not_bound(embedded: EmbeddedCluster) -> None:
    embedded.pod("p", meta={"finalizers": ["maar.sh/wait"]})
    embedded.cluster.delete("pods", "default", "p")
    assert refused(embedded, binding("p")) == (
        409,
        (
            'Operation cannot be fulfilled on pods/binding "p": pod p is being deleted,'
            " cannot be assigned to a host"
        ),
    )


def test_a_gated_pod_is_not_bound(embedded: EmbeddedCluster) -> None:
    embedded.pod("p", schedulingGates=[{"name": "maar.sh/wait"}])
    assert refused(embedded, binding("p")) == (
        409,
        'Operation cannot be fulfilled on pods/binding "p": pod p has non-empty .spec.schedulingGates',
    )


def test_a_pod_that_is_not_there_is_not_bound(embedded: EmbeddedCluster) -> None:
    assert refused(embedded, binding("p")) == (404, 'pods "p" not found')


def test_only_the_pod_that_was_meant_is_bound(embedded: EmbeddedCluster) -> None:
    uid = embedded.pod("p")["metadata"]["uid"]
    code, message = refused(embedded, binding("p", uid="another"))
    assert code == 409
    assert message.endswith(f"Precondition failed: UID in precondition: another, UID in object meta: {uid}")
    assert refused(embedded, binding("p", resourceVersion="1"))[0] == 409
    bind(embedded.cluster, "default", "p", binding("p", uid=uid), Call())


def test_a_binding_names_a_node_and_the_pod_of_its_path(embedded: EmbeddedCluster) -> None:
    embedded.pod("p")
    assert refused(embedded, {"metadata": {"name": "p"}, "target": {"kind": "Node"}}) == (
        500,
        "target.name: Required value",
    )
    assert refused(embedded, {"metadata": {"name": "p"}, "target": {"kind": "Pod", "name": "n1"}}) == (
        500,
        'target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>"',
    )
    assert refused(embedded, binding("q")) == (400, "name in URL does not match name in Binding object")


def test_a_bind_that_is_only_tried_changes_nothing(embedded: EmbeddedCluster) -> None:
    before = embedded.pod("p")
    bind(embedded.cluster, "default", "p", binding("p"), Call(dry_run=True))
    assert embedded.get("pods", "p") == before

"""Changes one may ask about: what each makes of the objects, and how bad ones are refused."""

import copy
from typing import Any

import pytest

from maar.core.admission.request import Options
from maar.core.answers.whatif.changes import (
    AddNodes,
    Change,
    ChangedObjects,
    DeleteObject,
    DrainNode,
    SetField,
    SubmitDocument,
    apply,
)
from maar.core.answers.whatif.known_objects import BadChangeError
from maar.core.model.events import Deleted, Upserted
from maar.core.model.kinds import from_document, kind_of
from maar.core.model.metadata import Metadata, Object
from maar.core.model.node import Node
from maar.core.model.pod import Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.queue import Queue

Document = dict[str, Any]

VOLCANO = "scheduling.volcano.sh/v1beta1"
BATCH = "batch.volcano.sh/v1alpha1"


def document(version: str, kind: str, name: str, namespace: str = "", **rest: object) -> Document:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **rest}


def node(name: str, **spec: object) -> Document:
    size = {"cpu": "8", "memory": "32Gi", "pods": "110"}
    status = {"allocatable": size, "conditions": [{"type": "Ready", "status": "True"}]}
    return document("v1", "Node", name, spec=spec, status=status)


def queue(name: str, **spec: object) -> Document:
    return document(VOLCANO, "Queue", name, spec=spec)


def group(name: str, queue: str = "a", owner: str = "", **spec: object) -> Document:
    made = document(VOLCANO, "PodGroup", name, "ns", spec={"queue": queue, "minMember": 1, **spec})
    if owner:
        made["metadata"]["ownerReferences"] = [{"kind": "Job", "name": owner, "controller": True}]
    return made


def pod(name: str, group: str = "", node: str = "", scheduler: str = "volcano", **meta: object) -> Document:
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}
    spec = {"schedulerName": scheduler, "containers": [container], **({"nodeName": node} if node else {})}
    made = document("v1", "Pod", name, "ns", spec=spec, status={"phase": "Running" if node else "Pending"})
    made["metadata"] |= {"annotations": {"scheduling.k8s.io/group-name": group} if group else {}, **meta}
    return made


def job(name: str, queue: str = "a", **spec: object) -> Document:
    template = {
        "spec": {"containers": [{"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}]}
    }
    task = {"name": "work", "replicas": 3, "template": template}
    return document(BATCH, "Job", name, "ns", spec={"queue": queue, "tasks": [task], **spec})


CLUSTER = [
    node("n1.example"),
    node("n2"),
    queue("a"),
    queue("team.x", weight=2),
    queue("closed", state="Closed") | {"status": {"state": "Closed"}},
    group("free"),
    pod("free-0", "free", "n2"),
    pod("free-1", "free"),
    group("train-1", owner="train"),
    pod("train-1-0", "train-1", "n2", ownerReferences=[{"kind": "Job", "name": "train", "controller": True}]),
    pod("daemon", node="n2", ownerReferences=[{"kind": "DaemonSet", "name": "log", "controller": True}]),
    pod("other", node="n2", scheduler="default-scheduler"),
]


def objects(*documents: Document) -> list[Object]:
    found = []
    for one in documents:
        kind = kind_of(one["apiVersion"], one["kind"])
        assert kind is not None
        found.append(from_document(kind, copy.deepcopy(one)))
    return found


def changed(*changes: Change) -> ChangedObjects:
    return apply(objects(*CLUSTER), changes, Options())


def found(result: ChangedObjects, kind: type[Object], key: str) -> Any:  # noqa: ANN401  its fields are what a test looks at
    return next((one for one in result.objects if type(one) is kind and one.key == key), None)


@pytest.mark.parametrize(
    ("target", "value", "path", "becomes"),
    [
        ("queue/a.weight", "3", "spec.weight", 3),
        ("queue/a.weight", 3, "spec.weight", 3),
        ("queues/a.spec.weight", "3", "spec.weight", 3),
        ("queue/team.x.weight", "5", "spec.weight", 5),
        ("queue/team.x.weight", "", "spec.weight", 1),
        ("queue/a.reclaimable", "false", "spec.reclaimable", False),
        ("queue/a.priority", "7", "spec.priority", 7),
        ("queue/a.parent", "team.x", "spec.parent", "team.x"),
        ("queue/a.state", "Closed", "spec.state", "Closed"),
        ("queue/a.preemptMinRuntime", "10m", "spec.preempt_min_runtime", "10m"),
        ("queue/a.dequeueStrategy", "fifo", "spec.dequeue_strategy", "fifo"),
        ("queue/a.capability.cpu", "4", "spec.capability", {"cpu": 4000}),
        ("queue/a.capability.nvidia.com/gpu", "2", "spec.capability", {"nvidia.com/gpu": 2}),
        ("queue/a.capability", '{"cpu": 2, "pods": "1"}', "spec.capability", {"cpu": 2000, "pods": 1}),
        ("queue/a.guarantee.resource.cpu", "500m", "spec.guarantee.resource", {"cpu": 500}),
        ("queue/a.guarantee.percentage.cpu", "20", "spec.guarantee.percentage", {"cpu": 20_000}),
        ("queue/default.weight", "2", "spec.weight", 2),
        ("podgroup/ns/free.minMember", "2", "spec.min_member", 2),
        ("podgroup/ns/free.queue", "team.x", "spec.queue", "team.x"),
        ("node/n1.example.unschedulable", "true", "spec.unschedulable", True),
        ("node/n1.example.labels.zone", "1", "metadata.labels", {"zone": "1"}),
        ("node/n1.example.allocatable.cpu", "2", "status.allocatable.cpu", None),
    ],
)  # fmt: skip
def test_a_field_is_set(target: str, value: object, path: str, becomes: object) -> None:
    result = changed(SetField(target, value))
    (event,) = [one for one in result.events if isinstance(one, Upserted)]
    here: Any = event.object
    if path == "status.allocatable.cpu":
        assert here.status.allocatable["cpu"] == 2000
        return
    for name in path.split("."):
        here = getattr(here, name)
    assert here == becomes


def test_the_gates_of_a_pod_are_removed() -> None:
    gated = pod("gated", "free")
    gated["spec"]["schedulingGates"] = [{"name": "later"}]
    result = apply(objects(*CLUSTER, gated), [SetField("pod/ns/gated.schedulingGates", "")], Options())
    assert found(result, Pod, "ns/gated").spec.scheduling_gates == ()
    assert len(result.events) == 1


def test_changes_build_on_one_another() -> None:
    result = changed(SetField("queue/a.weight", 3), SetField("queue/a.capability.cpu", 4))
    spec = found(result, Queue, "a").spec
    assert (spec.weight, spec.capability) == (3, {"cpu": 4000})
    assert len(result.events) == 1


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (SetField("queue/a.weight", "0"), "[queue-weight] spec.weight is 0, should be greater than or equal"),
        (SetField("queue/a.weight", "x"), "[queue-shape] spec.weight cannot be read"),
        (SetField("queue/a.weight", "[" * 9_000), "queue/a.weight=[[["),
        (SetField("queue/a.weight", "\ud800"), "no Unicode"),
        (SetField("queue/a.capability.cpu", "2c"), "'2c' is not a quantity"),
        (SetField("queue/a.guarantee.resource.cpu", "99"), "[queue-guarantee-total]"),
        (SetField("queue/a.parent", "nowhere"), "[queue-parent-exists]"),
        (SetField("queue/a.parent", "a"), "[queue-parent-self]"),
        (SetField("queue/root.state", "Closed"), "[queue-always-open]"),
        (SetField("queue/a.wieght", "3"), "no field 'wieght' that can be set; did you mean weight?"),
        (SetField("queue/a.guarantee", "3"), "name one of guarantee.resource, guarantee.percentage"),
        (SetField("queue/a.guarantee.percent.cpu", "3"), "spec.guarantee has no field 'percent'"),
        (SetField("queue/a.weight.cpu", "3"), "spec.weight is one value and has no cpu"),
        (SetField("queue/a", "3"), "it names no field; write queue/a.FIELD=VALUE"),
        (SetField("queue/b.weight", "3"), "there is no queue b; there are a, closed, team.x"),
        (SetField("team.x.weight", "3"), "it names nothing that can be changed; write queue/NAME"),
        (SetField("", ""), "it names nothing that can be changed"),
        (SetField("cat/a.weight", "3"), "it names nothing that can be changed"),
        (SetField("pod/ns/free-0.nodeName", "n2"), "pods cannot be changed, but for their gates"),
        (SetField("pod/ns/free-0.schedulingGates", "[]"), "pods cannot be changed, but for their gates"),
        (SetField("podgroup/ns/train-1.minMember", "2"), "set it on the job (job/ns/train.FIELD)"),
        (SetField("node/n2.unschedulable", "maybe"), "spec.unschedulable: expected `bool`, got `str`"),
        (DrainNode("n3"), "there is no node n3; there are n1.example, n2"),
        (DeleteObject("queue/a"), '[queue-delete-state] status.state is "Open": only queue with state'),
        (DeleteObject("queue/root"), "[queue-delete-protected]"),
        (DeleteObject("job/ns/tarin"), "there is no job ns/tarin; did you mean ns/train?"),
        (DeleteObject("podgroup/ns/train-1"), "would make it again; delete that: job/ns/train"),
        (DeleteObject("everything"), "it names nothing that can be changed"),
        (AddNodes((Node(metadata=Metadata(name="n2")),)), "there is a node n2 already"),
        (SubmitDocument("f", 3), "f: not an object of Kubernetes: it has no kind"),
        (SubmitDocument("f", {"kind": "Deployment", "apiVersion": "apps/v1"}), "changes no decision"),
        (SubmitDocument("f", {"kind": "Queue", "apiVersion": "v1"}), f"apiVersion: {VOLCANO}"),
        (SubmitDocument("f", {"kind": "Pod", "apiVersion": "v1"}), "f: Pod: metadata.name is missing"),
        (SubmitDocument("f", group("free")), "PodGroup ns/free is there already"),
        (SubmitDocument("f", job("new", queue="closed")), "state"),
        (SubmitDocument("f", job("new", queue="nowhere")), "nowhere"),
        (SubmitDocument("f", job("new", minAvailable=9)), "minAvailable"),
        (SubmitDocument("f", document("batch/v1", "Job", "b", spec={"template": 3})), "spec.template.spec"),
    ],
)  # fmt: skip
def test_a_bad_change_is_refused_with_a_sentence(change: Change, sentence: str) -> None:
    with pytest.raises(BadChangeError) as refused:
        changed(change)
    assert sentence in str(refused.value)
    assert all(len(one) < 600 for one in refused.value.sentences)


def test_a_drained_node_keeps_its_daemons_and_its_pods_come_again() -> None:
    result = changed(DrainNode("n2"))
    assert found(result, Node, "n2").spec.unschedulable
    assert result.evicted == {"ns/free-0": "drain", "ns/train-1-0": "drain"}
    nodes = {one.key: one.spec.node_name for one in result.objects if isinstance(one, Pod)}
    assert nodes == {"ns/free-0": "", "ns/free-1": "", "ns/train-1-0": "", "ns/daemon": "n2"}


def test_with_a_node_all_its_pods_go_and_those_with_an_owner_come_again() -> None:
    result = changed(DeleteObject("node/n2"))
    assert found(result, Node, "n2") is None
    assert set(result.evicted) == {"ns/free-0", "ns/train-1-0"}
    nodes = {one.key: one.spec.node_name for one in result.objects if isinstance(one, Pod)}
    assert nodes == {"ns/free-1": "", "ns/train-1-0": ""}


def test_a_job_goes_with_its_group_and_pods() -> None:
    result = changed(DeleteObject("job/ns/train"))
    gone = {(one.kind, one.key) for one in result.events if isinstance(one, Deleted)}
    assert gone == {("PodGroup", "ns/train-1"), ("Pod", "ns/train-1-0"), ("Job", "ns/train")}
    assert not result.evicted


def test_a_group_goes_with_its_pods_and_a_closed_queue_alone() -> None:
    result = changed(
        DeleteObject("podgroup/ns/free"), DeleteObject("queue/closed"), DeleteObject("pod/ns/other")
    )
    gone = {(one.kind, one.key) for one in result.events if isinstance(one, Deleted)}
    assert gone == {
        ("PodGroup", "ns/free"), ("Pod", "ns/free-0"), ("Pod", "ns/free-1"),
        ("Queue", "closed"), ("Pod", "ns/other"),
    }  # fmt: skip


def test_nodes_are_added() -> None:
    (one,) = objects(node("n9"))
    assert isinstance(one, Node)
    assert found(changed(AddNodes((one,))), Node, "n9") == one


def test_a_submitted_job_gets_the_group_that_its_controller_makes() -> None:
    result = changed(SubmitDocument("f", job("new", minAvailable=2)))
    made = found(result, PodGroup, "ns/new-new")
    assert (made.spec.queue, made.spec.min_member, made.spec.min_resources["cpu"]) == ("a", 2, 2000)


def test_a_submitted_pod_gets_a_group_and_so_do_the_pods_of_a_kubernetes_job() -> None:
    alone = pod("alone")
    alone["metadata"]["annotations"] = {"scheduling.volcano.sh/queue-name": "team.x"}
    template = {"spec": {**pod("x")["spec"]}}
    spec = {"parallelism": 3, "completions": 2, "template": template}
    batch = document("batch/v1", "Job", "b", "ns", spec=spec)
    batch["metadata"]["annotations"] = {"scheduling.volcano.sh/group-min-member": "2"}
    result = changed(SubmitDocument("f", alone), SubmitDocument("f", batch))
    assert found(result, PodGroup, "ns/podgroup-new-alone").spec.queue == "team.x"
    made = found(result, PodGroup, "ns/podgroup-new-b")
    assert made.spec.min_member == 2
    pods = [one for one in result.objects if isinstance(one, Pod) and one.key.startswith("ns/b-")]
    notes = {one.metadata.annotations["scheduling.k8s.io/group-name"] for one in pods}
    assert (len(pods), notes) == (2, {"podgroup-new-b"})


def test_queues_are_submitted_before_the_work_in_them() -> None:
    result = changed(SubmitDocument("f", job("new", queue="b")), SubmitDocument("f", queue("b")))
    assert found(result, PodGroup, "ns/new-new").spec.queue == "b"


def test_a_field_that_is_not_read_is_a_warning() -> None:
    result = changed(SubmitDocument("f", queue("b", wieght=3)))
    assert result.warnings == ["f: Queue b: unknown field spec.wieght (did you mean weight?)"]


def test_a_generated_name_gets_an_end() -> None:
    unnamed = group("x")
    unnamed["metadata"] = {"generateName": "run-", "namespace": "ns"}
    assert found(changed(SubmitDocument("f", unnamed)), PodGroup, "ns/run-new") is not None

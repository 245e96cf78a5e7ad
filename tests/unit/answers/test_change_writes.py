"""A change as what is sent to a cluster: patches of the changed fields alone, in the order of the change."""

import shlex
from typing import Final

import pytest

from maar.core.answers.whatif.change_commands import commands, manifest
from maar.core.answers.whatif.change_writes import (
    CordonNode,
    CreateObject,
    NoWrite,
    PatchObject,
    RemoveObject,
    merged,
    writes_of,
)
from maar.core.answers.whatif.changes import (
    AddNodes,
    Change,
    DeleteObject,
    DrainNode,
    SetField,
    SubmitDocument,
)
from maar.core.answers.whatif.known_objects import BadChangeError
from maar.core.answers.whatif.new_nodes import new_nodes
from maar.core.model.job import Job
from maar.core.model.kinds import from_document
from maar.core.model.metadata import Metadata, Object
from maar.core.model.node import Node
from maar.core.model.pod import GROUP_ANNOTATION, Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.queue import Queue, QueueMetadata
from maar.core.model.workload import BatchJob
from maar.embedded.nodes.specification import parse

Json = dict[str, object]

OBJECTS: Final[list[Object]] = [
    Queue(metadata=QueueMetadata(name="research")),
    Queue(metadata=QueueMetadata(name="v1.2")),
    Node(metadata=Metadata(name="node-1")),
    Job(metadata=Metadata(name="train", namespace="ml")),
    PodGroup(metadata=Metadata(name="alone", namespace="ml")),
    Pod(metadata=Metadata(name="p", namespace="ml", annotations={GROUP_ANNOTATION: "alone"})),
]
QUEUE: Final[Json] = {
    "apiVersion": "scheduling.volcano.sh/v1beta1",
    "kind": "Queue",
    "metadata": {"name": "new"},
}
JOB: Final[Json] = {
    "apiVersion": "batch.volcano.sh/v1alpha1",
    "kind": "Job",
    "metadata": {"generateName": "sweep-", "namespace": "ml"},
}


def test_fields_of_one_queue_are_one_patch() -> None:
    changes = [
        SetField("queue/research.weight", "3"),
        SetField("queue/research.guarantee.resource.nvidia.com/gpu", "2"),
        SetField("queue/research.capability", ""),
        SetField("queue/v1.2.weight", "2"),
    ]
    spec = {"weight": 3, "guarantee": {"resource": {"nvidia.com/gpu": 2}}, "capability": None}
    assert writes_of(OBJECTS, changes) == [
        PatchObject(Queue, "research", {"spec": spec}),
        PatchObject(Queue, "v1.2", {"spec": {"weight": 2}}),
    ]


def test_what_a_kubelet_says_of_its_node_cannot_be_patched() -> None:
    changes = [SetField("node/node-1.allocatable.cpu", "4"), SetField("node/node-1.labels.zone", "a")]
    writes = writes_of(OBJECTS, changes)
    assert writes == [
        NoWrite("node/node-1.allocatable.cpu is not set: the kubelet of the node writes it"),
        PatchObject(Node, "node-1", {"metadata": {"labels": {"zone": "a"}}}),
    ]
    assert [one for one in commands(writes) if "allocatable" in one] == []


def test_the_default_queue_is_made_where_it_is_only_implied() -> None:
    changes = [SetField("queue/default.weight", "3"), SetField("queue/default.priority", "1")]
    document: Json = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": "default"},
        "spec": {"weight": 3, "priority": 1},
    }
    assert writes_of(OBJECTS, changes) == [CreateObject(Queue, "default", document)]


def test_every_kind_of_change() -> None:
    nodes = new_nodes(["2x8cpu,32Gi"], ["node-1"], 10)
    assert [one.key for one in nodes] == ["node-2", "node-3"]
    changes: list[Change] = [
        AddNodes(nodes),
        DrainNode("node-1"),
        DeleteObject("job/ml/train"),
        DeleteObject("job/ml/other"),
        DeleteObject("podgroup/ml/alone"),
        SubmitDocument("one", JOB),
        SubmitDocument("two", QUEUE),
    ]
    writes = writes_of(OBJECTS, changes)
    assert isinstance(writes[0], NoWrite)
    assert writes[1:] == [
        CordonNode("node-1"),
        RemoveObject(Job, "ml/train"),
        RemoveObject(BatchJob, "ml/other"),
        RemoveObject(PodGroup, "ml/alone"),
        RemoveObject(Pod, "ml/p"),
        CreateObject(Queue, "new", QUEUE),
        CreateObject(Job, "ml/sweep-new", JOB),
    ]
    assert commands(writes) == [
        "kubectl create -f change.yaml",
        "kubectl drain node-1 --ignore-daemonsets",
        "kubectl delete jobs.batch.volcano.sh train -n ml",
        "kubectl delete jobs.batch other -n ml",
        "kubectl delete podgroups.scheduling.volcano.sh alone -n ml",
        "kubectl delete pods p -n ml",
    ]


def test_an_object_that_is_there_is_changed_by_what_is_submitted() -> None:
    document = {**QUEUE, "metadata": {"name": "research", "labels": {"a": "b"}}, "spec": {"weight": 4}}
    assert writes_of(OBJECTS, [SubmitDocument("one", document)]) == [
        PatchObject(Queue, "research", {"metadata": {"labels": {"a": "b"}}, "spec": {"weight": 4}})
    ]


def test_commands_survive_a_shell() -> None:
    patch = PatchObject(Queue, "it's", {"spec": {"x": "$(rm -rf /)'"}})
    [command] = commands([patch])
    words = shlex.split(command)
    assert words[:4] == ["kubectl", "patch", "queues.scheduling.volcano.sh", "it's"]
    assert words[-1] == '{"spec":{"x":"$(rm -rf /)\'"}}'


def test_an_object_of_a_file_has_nothing_of_the_server() -> None:
    stored: Json = {
        "apiVersion": "v1",
        "kind": "Queue",
        "metadata": {
            "name": "a",
            "uid": "1",
            "resourceVersion": "3",
            "managedFields": [],
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"},
        },
        "spec": {"weight": 1, "capability": {"cpu": "4"}},
        "status": {"state": "Open"},
    }
    assert manifest(stored, {"spec": {"weight": 3, "capability": None}}) == {
        "apiVersion": "v1",
        "kind": "Queue",
        "metadata": {"name": "a"},
        "spec": {"weight": 3},
    }


def test_a_patch_that_is_joined_to_another_still_removes_fields() -> None:
    first: Json = {"a": {"b": 1}}
    second: Json = {"a": {"c": None}}
    assert merged(first, second, keeps_nulls=True) == {"a": {"b": 1, "c": None}}
    assert merged({"a": {"c": 5}}, second) == {"a": {}}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("/etc/passwd", "nodes to add '/etc/passwd': these are no nodes of a size"),
        ("none", "nodes to add 'none': these are no nodes of a size"),
        ("2x8cpu", "nodes to add '2x8cpu': it does not say how much memory"),
        ("11x8cpu,32Gi", "ask about 10 at most"),
    ],
)
def test_nodes_that_cannot_be_added_are_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(BadChangeError, match=sentence):
        new_nodes([text], [], 10)


def test_a_field_that_is_not_there_is_a_sentence() -> None:
    with pytest.raises(BadChangeError, match="did you mean weight"):
        writes_of(OBJECTS, [SetField("queue/research.wight", "3")])


def test_nodes_of_a_question_are_those_of_maar_up() -> None:
    """The command and the console answer alike only as long as they are."""
    texts = ["2x8cpu,32Gi", "1x64cpu,512Gi,8nvidia.com/gpu,zone=a,pool=big"]
    asked = new_nodes(texts, ["node-2"], 10)
    made = [from_document(Node, one) for one in parse(*texts, taken=["node-2"])]
    assert [(one.metadata.name, one.metadata.labels) for one in asked] == [
        (one.metadata.name, one.metadata.labels) for one in made
    ]
    assert [one.status.allocatable for one in asked] == [one.status.allocatable for one in made]
    assert all(one.is_ready and not one.spec.taints for one in (*asked, *made))

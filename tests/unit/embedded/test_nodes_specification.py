"""The nodes that `maar up --nodes` asks for, and how they come into the cluster."""

import json
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from maar.core.model.node_sizes import BadNodesError
from maar.embedded.cluster import Cluster
from maar.embedded.failures import Json
from maar.embedded.nodes.machine import this_machine
from maar.embedded.nodes.specification import parse, register
from support.node_cluster import Fields, embedded

EXAMPLE = "write 4x8cpu,32Gi or 2x64cpu,512Gi,8nvidia.com/gpu,zone=a"
NODE = {"apiVersion": "v1", "kind": "Node"}


def fields(node: Json) -> Fields:
    return node


def names(nodes: list[Json]) -> list[str]:
    return [fields(node)["metadata"]["name"] for node in nodes]


def test_a_number_of_nodes_of_a_size() -> None:
    nodes = parse("4x8cpu,32Gi")
    assert names(nodes) == ["node-1", "node-2", "node-3", "node-4"]
    first = fields(nodes[0])
    assert first["status"]["capacity"] == {"cpu": "8", "memory": "32Gi", "pods": "110"}
    assert first["status"]["allocatable"] == first["status"]["capacity"]
    assert {one["type"]: one["status"] for one in first["status"]["conditions"]}["Ready"] == "True"
    assert first["metadata"]["labels"] == {
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": "node-1",
        "kubernetes.io/os": "linux",
        "maar.sh/node": "virtual",
        "node-role.kubernetes.io/virtual": "",
    }


def test_further_resources_and_labels() -> None:
    labels = "zone=a,disk=,example.com/rack=r1"
    [node] = parse(f"1x1500mcpu,512Gi,8nvidia.com/gpu,{labels},100Giephemeral-storage,50pods")
    assert fields(node)["status"]["allocatable"] == {
        "cpu": "1500m",
        "memory": "512Gi",
        "nvidia.com/gpu": "8",
        "ephemeral-storage": "100Gi",
        "pods": "50",
    }
    found = fields(node)["metadata"]["labels"]
    assert found["topology.kubernetes.io/zone"] == "a"
    assert (found["disk"], found["example.com/rack"]) == ("", "r1")


def test_names_are_unique_over_flags_files_and_other_nodes(tmp_path: Path) -> None:
    file = tmp_path / "nodes.yaml"
    amounts = {"status": {"allocatable": {"cpu": 2, "memory": "1Gi"}}}
    file.write_text(yaml.safe_dump({**NODE, "metadata": {"name": "node-2"}, **amounts}), encoding="utf-8")
    nodes = parse("2x1cpu,1Gi", str(file), "none", "1x1cpu,1Gi", taken=["node-3"], may_be_none=True)
    assert names(nodes) == ["node-1", "node-4", "node-2", "node-5"]
    twice = f"{file}: there are two nodes of the name node-2: rename or remove one"
    with pytest.raises(BadNodesError, match=twice):
        parse(str(file), str(file))


def test_a_file_of_manifests_as_kubectl_writes_them(tmp_path: Path) -> None:
    exported: Fields = {
        **NODE,
        "metadata": {"name": "a", "uid": "1", "resourceVersion": "7", "labels": {"disk": "fast"}},
        "spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]},
        "status": {
            "capacity": {"cpu": "4", "memory": "8Gi", "pods": "20"},
            "allocatable": {"cpu": 3.5, "memory": "7Gi", "pods": "20"},
            "conditions": [{"type": "Ready", "status": "False"}],
        },
    }
    file = tmp_path / "nodes.json"
    file.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": [exported]}), encoding="utf-8")
    [node] = parse(str(file))
    found = fields(node)
    assert found["metadata"].keys() == {"name", "labels"}
    assert found["metadata"]["labels"]["disk"] == "fast"
    assert found["spec"] == exported["spec"]
    assert found["status"]["allocatable"] == {"cpu": "3500m", "memory": "7Gi", "pods": "20"}
    assert found["status"]["conditions"] == [{"type": "Ready", "status": "False"}]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("4x8cpu", "it does not say how much memory a node has"),
        ("4x32Gi", "it does not say how much cpu a node has"),
        ("4x8cpu,32", "'32' is less than 1Mi of memory, its unit may be missing"),
        ("0x8cpu,32Gi", "0 nodes; between 1 and 100000 can be asked for"),
        ("4x8cpu,32Gi,8gpu", "'8gpu' is neither an amount of a resource nor a label"),
        ("4x8cpu,,32Gi", "'' is neither an amount of a resource nor a label"),
        ("4x8cpu,32Gi,8cpu", "cpu is given twice"),
        ("4x8cpu,32Gi,zone=a b", "'a b' cannot be the value of a label"),
        ("4x8cpu,32Gi,-=a", "'-' cannot be the key of a label"),
        ("4x8cpu,32Gi,maar.sh/node=x", "'maar.sh/node' cannot be the key of a label"),
        ("4x8cpu,32Gi,1.5pods", "pods: '1.5' is not whole: pods comes in whole pieces"),
        ("nodes.yaml", "neither nodes of a size, nor a file that exists"),
        ("none", "neither nodes of a size, nor a file that exists"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence_with_an_example(text: str, problem: str) -> None:
    with pytest.raises(BadNodesError) as caught:
        parse(text)
    assert str(caught.value) == f"{text!r}: {problem}: {EXAMPLE}"


def test_where_there_may_be_no_nodes_the_sentence_says_so() -> None:
    assert parse("none", may_be_none=True) == []
    with pytest.raises(
        BadNodesError, match="neither nodes of a size, nor a file that exists, nor none: write"
    ):
        parse("nine", may_be_none=True)


def test_a_file_that_cannot_be_read_is_named_without_a_number() -> None:
    with pytest.raises(BadNodesError) as caught:
        parse("/proc/self/mem")  # it is there, and nothing is at its beginning
    assert str(caught.value) == "/proc/self/mem: cannot be read: input/output error; name another file"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: [", "not YAML"),
        ("", "the file has no nodes"),
        ("kind: Pod", "document 1: not a Node"),
        ("apiVersion: v1\nkind: Node", "document 1: the Node has no name"),
        (
            "{apiVersion: v1, kind: Node, metadata: {name: a}}",
            "node a has no allocatable resources: add status",
        ),
        (
            "{apiVersion: v1, kind: Node, metadata: {name: a}, status: {allocatable: {cpu: lots}}}",
            "document 1: status.allocatable.cpu: 'lots' is not a quantity",
        ),
    ],
)
def test_what_is_wrong_in_a_file_is_said_with_its_place(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "nodes.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(BadNodesError) as caught:
        parse(str(file))
    assert str(caught.value).startswith(str(file))
    assert problem in str(caught.value)


@given(st.text(max_size=40) | st.text("0123456789xcpuGi,=zone. /m", max_size=30).map("1x".__add__))
@example("1x1cpu,1Gi,\0=a")
@example("a\0b")
@example("a" * 5000)
@example("9" * 5000 + "x1cpu,1Gi")
def test_any_text_gives_nodes_or_a_sentence(text: str) -> None:
    message, nodes = "", list[Json]()
    try:
        nodes = parse(text)
    except BadNodesError as error:
        message = str(error)
    assert "\n" not in message
    assert len(set(names(nodes))) == len(nodes)


def revision_after(cluster: Cluster, *texts: str) -> int:
    register(cluster, parse(*texts))
    return cluster.store.revision


def test_nodes_are_made_what_the_command_line_says(tmp_path: Path) -> None:
    with embedded(tmp_path, "3x8cpu,32Gi,zone=a") as cluster:
        before = cluster.store.revision
        assert revision_after(cluster, "3x8cpu,32Gi,zone=a") == before  # nothing to do, nothing written

        def cordon(node: Json) -> Json:
            found = fields(node)
            found["spec"] = {"unschedulable": True}
            found["metadata"]["labels"]["mine"] = "yes"
            return found

        cluster.change("nodes", "", "node-1", cordon)
        cluster.create("nodes", "", {"metadata": {"name": "theirs"}})
        register(cluster, [*parse("2x16cpu,64Gi"), this_machine("here")])
        nodes = {fields(one)["metadata"]["name"]: fields(one) for one in cluster.all("nodes")}
        assert nodes.keys() == {"node-1", "node-2", "theirs", "here"}
        first = nodes["node-1"]
        assert first["spec"]["unschedulable"] is True
        assert first["metadata"]["labels"]["mine"] == "yes"
        assert "topology.kubernetes.io/zone" not in first["metadata"]["labels"]
        assert first["status"]["allocatable"]["cpu"] == "16"
        assert nodes["here"]["metadata"]["labels"]["maar.sh/node"] == "local"
        assert all("lastTransitionTime" in one for one in first["status"]["conditions"])

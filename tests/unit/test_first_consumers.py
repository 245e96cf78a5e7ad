"""Claims that wait for their first consumer: volumes that exist are given away once, others are made."""

from typing import Any, cast

import msgspec
import pytest

from maar.core.engine import Engine
from maar.core.model.events import AnyObject, Upserted
from maar.core.model.kinds import from_document, kind_of
from maar.core.model.metadata import Object
from maar.core.model.plan import Plan
from maar.core.model.pod import Container, Pod, PodSpec, ResourceRequirements
from maar.core.model.resources import Resources
from maar.core.model.writes import BindVolume, SelectNode
from support.planning import plan

Json = dict[str, Any]
SELECTED = "volume.kubernetes.io/selected-node"
ONE_CPU = (Container(name="c", resources=ResourceRequirements(requests=Resources.parse({"cpu": "1"}))),)
ROOMY = {"cpu": "8", "memory": "8Gi", "pods": "20"}


def typed(document: Json) -> Object:
    kind = kind_of(document["apiVersion"], document["kind"])
    assert kind is not None
    return from_document(kind, document)


def made(kind: str, name: str, metadata: Json | None = None, **rest: object) -> Object:
    version = {"StorageClass": "storage.k8s.io/v1", "PodGroup": "scheduling.volcano.sh/v1beta1"}
    fields = {"name": name, "uid": f"uid-of-{name}", **(metadata or {})}
    return typed({"apiVersion": version.get(kind, "v1"), "kind": kind, "metadata": fields, **rest})


def node(name: str, cpu: str = "8", *, cordoned: bool = False) -> Object:
    status = {"allocatable": {**ROOMY, "cpu": cpu}, "conditions": [{"type": "Ready", "status": "True"}]}
    return made("Node", name, {"labels": {"host": name}}, spec={"unschedulable": cordoned}, status=status)


def storage_class(name: str = "local", provisioner: str = "kubernetes.io/no-provisioner") -> Object:
    return made("StorageClass", name, provisioner=provisioner, volumeBindingMode="WaitForFirstConsumer")


def volume(
    name: str,
    host: str,
    size: str = "1Gi",
    metadata: Json | None = None,
    phase: str = "Available",
    **spec: object,
) -> Object:
    term = {"matchExpressions": [{"key": "host", "operator": "In", "values": [host]}]}
    offered = {
        "capacity": {"storage": size},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "local",
        "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}} if host else None,
        **spec,
    }
    return made("PersistentVolume", name, metadata, spec=offered, status={"phase": phase})


def claim(name: str, size: str = "1Gi", selected: str = "", **spec: object) -> Object:
    notes = {SELECTED: selected} if selected else {}
    asked = {
        "storageClassName": "local",
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": size}},
        **spec,
    }
    metadata = {"namespace": "a", "annotations": notes}
    return made("PersistentVolumeClaim", name, metadata, spec=asked, status={"phase": "Pending"})


def group(name: str, least: int = 1, *, day: int = 1) -> Object:
    born = {"namespace": "a", "creationTimestamp": f"2026-01-0{day}T00:00:00Z"}
    return made("PodGroup", name, born, spec={"minMember": least}, status={"phase": "Inqueue"})


def pod(
    name: str, *claims: str, cpu: str = "1", promised: str = "", host: str = "", apart: bool = False
) -> Object:
    volumes = [{"name": one, "persistentVolumeClaim": {"claimName": one}} for one in claims]
    spec: Json = {
        "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}],
        "volumes": volumes,
        "nodeSelector": {"host": host} if host else {},
    }
    if apart:
        term = {"topologyKey": "host", "labelSelector": {"matchLabels": {"apart": "yes"}}}
        key = "requiredDuringSchedulingIgnoredDuringExecution"
        spec["affinity"] = {"podAntiAffinity": {key: [term]}}
    metadata = {
        "namespace": "a",
        "labels": {"apart": "yes"},
        "annotations": {"scheduling.k8s.io/group-name": name.rpartition("-")[0]},
    }
    return made("Pod", name, metadata, spec=spec, status={"phase": "Pending", "nominatedNodeName": promised})


def cycles(objects: list[Object], count: int = 1) -> list[Json]:
    planned: Any = plan(objects, cycles=count)["cycles"]
    return list(planned)


def reasons(cycle: Json) -> dict[str, str]:
    return {key: one["reason"] for key, one in cycle["podGroups"].items() if one["reason"]}


def test_a_pod_goes_where_a_volume_for_its_claim_is_and_binds_once_the_claim_is_bound() -> None:
    volumes = [volume("here", "n2"), storage_class()]
    first, second = cycles([node("n1"), node("n2"), *volumes, claim("c"), group("j"), pod("j-0", "c")], 2)
    assert (first["volumes"], first["selections"]) == ({"a/c": "here"}, {"a/c": "n2"})
    assert (first["binds"], first["nominations"]) == ({}, {"a/j-0": "n2"})
    assert reasons(first) == {"a/j": "ClaimNotBound"}
    assert (second["binds"], second["selections"]) == ({"a/j-0": "n2"}, {})
    assert "volumes" not in second


@pytest.mark.parametrize(
    "other",
    [
        {"size": "1Mi"},
        {"storageClassName": "tape"},
        {"accessModes": ["ReadWriteMany"]},
        {"volumeMode": "Block"},
        {"phase": "Released"},
        {"claimRef": {"namespace": "a", "name": "another"}},
        {"claimRef": {"namespace": "a", "name": "c", "uid": "of one that is gone"}},
        {"metadata": {"labels": {"disk": "slow"}}},
        {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z", "labels": {"disk": "fast"}}},
    ],
    ids=str,
)
def test_a_volume_that_is_not_what_the_claim_asks_for_is_not_given_to_it(other: Json) -> None:
    fast = {"labels": {"disk": "fast"}}
    wanted = claim("c", selector={"matchLabels": {"disk": "fast"}})
    around = [node("n1"), storage_class(), group("j"), pod("j-0", "c"), wanted]
    (fits,) = cycles([*around, volume("v", "n1", metadata=fast)])
    (only,) = cycles([*around, volume("v", "n1", **{"metadata": fast, **other})])
    assert fits["volumes"] == {"a/c": "v"}
    assert (only["selections"], only["nominations"], reasons(only)) == ({}, {}, {"a/j": "ClaimNotBound"})


def test_the_smallest_volume_that_fits_is_taken() -> None:
    volumes = [volume("a-large", "n1", "9Gi"), volume("b-fine", "n1", "2Gi"), volume("c-tiny", "n1")]
    (only,) = cycles([node("n1"), storage_class(), *volumes, claim("c", "2Gi"), group("j"), pod("j-0", "c")])
    assert only["volumes"] == {"a/c": "b-fine"}


def test_pods_that_start_together_get_a_volume_each() -> None:
    volumes = [volume("v1", "n1"), volume("v2", "n2"), storage_class()]
    work = [group("j", 2), pod("j-0", "c0"), pod("j-1", "c1"), claim("c0"), claim("c1")]
    first, second = cycles([node("n1"), node("n2"), *volumes, *work], 2)
    assert sorted(first["volumes"].values()) == ["v1", "v2"]
    where = {claim: first["nominations"][f"a/j-{claim[-1]}"] for claim in first["volumes"]}
    assert where == first["selections"]
    assert second["binds"] == first["nominations"]


def test_too_few_volumes_for_a_gang_are_left_to_others() -> None:
    volumes = [volume("v1", "n1"), volume("v2", "n1"), storage_class()]
    gang = [group("big", 3), *(one for i in "012" for one in (pod(f"big-{i}", f"c{i}"), claim(f"c{i}")))]
    small = [group("small", day=2), pod("small-0", "c"), claim("c")]
    (alone,) = cycles([node("n1"), *volumes, *gang])
    assert (alone["selections"], reasons(alone)) == ({}, {"a/big": "ClaimNotBound"})
    (both,) = cycles([node("n1"), *volumes, *gang, *small])
    assert both["volumes"] == {"a/c": "v1"}
    assert reasons(both) == {"a/big": "ClaimNotBound", "a/small": "ClaimNotBound"}


def test_two_groups_never_get_the_same_volume() -> None:
    work = [one for i in "012" for one in (group(f"j{i}"), pod(f"j{i}-0", f"c{i}"), claim(f"c{i}"))]
    (only,) = cycles([node("n1"), storage_class(), volume("v1", "n1"), volume("v2", "n1"), *work])
    assert sorted(only["volumes"].values()) == ["v1", "v2"]
    assert len(only["nominations"]) == 2
    assert set(reasons(only).values()) == {"ClaimNotBound"}


def test_a_pod_with_two_claims_needs_a_node_that_has_both_volumes() -> None:
    volumes = [volume("v1", "n1"), volume("v2", "n2"), volume("v3", "n2"), storage_class()]
    work = [group("j"), pod("j-0", "c", "d"), claim("c"), claim("d")]
    (only,) = cycles([node("n1"), node("n2"), *volumes, *work])
    assert only["volumes"] == {"a/c": "v2", "a/d": "v3"}
    (short,) = cycles([node("n1"), node("n2"), *volumes[:2], volumes[3], *work])
    assert (short["selections"], short["nominations"]) == ({}, {})


def test_where_a_provisioner_makes_volumes_every_node_will_do_and_one_that_is_there_is_used() -> None:
    around = [node("n1"), node("n2"), storage_class(provisioner="example.com/disks"), volume("v", "n2")]
    (made_here,) = cycles([*around, claim("c"), group("j"), pod("j-0", "c", host="n1")])
    assert made_here["selections"] == {"a/c": "n1"}
    assert "volumes" not in made_here
    (there,) = cycles([*around, claim("c"), group("j"), pod("j-0", "c", host="n2")])
    assert there["volumes"] == {"a/c": "v"}


@pytest.mark.parametrize(("mode", "nodes"), [("ReadWriteOnce", 0), ("ReadWriteMany", 2)])
def test_who_shares_a_claim_of_one_node_goes_to_that_node(mode: str, nodes: int) -> None:
    shared = claim("c", accessModes=[mode])
    around = [node("n1"), node("n2"), storage_class(provisioner="example.com/disks"), shared, group("j", 2)]
    (near,) = cycles([*around, pod("j-0", "c"), pod("j-1", "c")])
    assert len(near["nominations"]) == 2
    if mode == "ReadWriteOnce":
        assert len(set(near["nominations"].values())) == 1
    (apart,) = cycles([*around, pod("j-0", "c", apart=True), pod("j-1", "c", apart=True)])
    assert len(set(apart["nominations"].values())) == nodes


def test_a_pod_waits_for_the_node_that_its_claims_provisioner_was_told() -> None:
    around = [storage_class(provisioner="example.com/disks"), group("j"), pod("j-0", "c", promised="n2")]
    (only,) = cycles([node("n1"), node("n2"), *around, claim("c", selected="n2")])
    assert (only["nominations"], only["selections"]) == ({"a/j-0": "n2"}, {})
    assert reasons(only) == {"a/j": "ClaimNotBound"}


@pytest.mark.parametrize("promised", ["n2", ""])
@pytest.mark.parametrize("n2", [node("n2", cordoned=True), node("n2", cpu="500m")], ids=["cordoned", "full"])
def test_a_node_that_cannot_take_the_pod_any_more_is_let_go(n2: Object, promised: str) -> None:
    around = [storage_class(provisioner="example.com/disks"), group("j"), pod("j-0", "c", promised=promised)]
    (only,) = cycles([node("n1"), n2, *around, claim("c", selected="n2")])
    assert (only["nominations"], only["selections"]) == ({"a/j-0": "n1"}, {"a/c": "n1"})


@pytest.mark.parametrize("provisioner", ["kubernetes.io/no-provisioner", "example.com/disks"])
def test_a_selection_that_was_lost_is_made_again(provisioner: str) -> None:
    around = [storage_class(provisioner=provisioner), group("j"), pod("j-0", "c", promised="n2"), claim("c")]
    (only,) = cycles([node("n1"), node("n2"), *around, volume("v1", "n1"), volume("v2", "n2")])
    assert (only["nominations"], only["selections"]) == ({"a/j-0": "n2"}, {"a/c": "n2"})
    assert only["volumes"] == {"a/c": "v2"}


def test_a_volume_is_given_away_when_the_victims_have_gone_and_not_before() -> None:
    high = typed({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
                  "metadata": {"name": "high"}, "value": 9})  # fmt: skip
    wants = made("PodGroup", "j", {"namespace": "a"}, spec={"minMember": 1, "priorityClassName": "high"})
    low = msgspec.structs.replace(cast(Pod, pod("low-0")), spec=PodSpec(node_name="n1", containers=ONE_CPU))
    around = [node("n1", "1"), storage_class(), volume("v", "n1"), high, group("low"), low, claim("c")]
    first, second, third = cycles([*around, wants, pod("j-0", "c")], 3)
    assert ([one["pod"] for one in first["evictions"]], first["selections"]) == (["a/low-0"], {})
    assert first["nominations"] == second["nominations"] == {"a/j-0": "n1"}
    assert second["volumes"] == {"a/c": "v"}
    assert third["binds"] == {"a/j-0": "n1"}


def test_a_claim_that_a_volume_names_already_takes_no_other() -> None:
    own = volume("own", "n2", claimRef={"namespace": "a", "name": "c"})
    around = [node("n1"), node("n2"), storage_class(), volume("v", "n1"), own]
    (only,) = cycles([*around, claim("c"), group("j"), pod("j-0", "c")])
    assert (only["nominations"], only["selections"]) == ({"a/j-0": "n2"}, {})


def decided(engine: Engine) -> Plan:
    return engine.decide(0.0)


@pytest.mark.parametrize("host", ["n1", ""], ids=["a volume of the node", "a volume of all nodes"])
def test_what_is_being_given_to_a_claim_is_not_given_again_unless_that_fails(host: str) -> None:
    engine = Engine()
    there = [node("n1"), storage_class(), volume("v", host, metadata={"resourceVersion": "7"}), claim("c")]
    engine.feed([Upserted(object=cast(AnyObject, one)) for one in (*there, group("j"), pod("j-0", "c"))])
    (write,) = decided(engine).selections
    assert write == BindVolume(volume="v", claim="a/c", node="n1", uid="uid-of-c", version="7")
    engine.assume(write)
    assert decided(engine).selections == ()
    others = [group("k"), pod("k-0", "d"), claim("d")]
    engine.feed([Upserted(object=cast(AnyObject, one)) for one in others])
    assert decided(engine).selections == ()
    engine.forget(write)
    assert engine.assumptions.volumes.under_way == {}
    assert len(decided(engine).selections) == 1


def test_a_claim_that_is_being_told_its_node_is_not_told_again_unless_that_fails() -> None:
    engine = Engine()
    there = [node("n1"), storage_class(provisioner="example.com/disks"), claim("c"), group("j")]
    engine.feed([Upserted(object=cast(AnyObject, one)) for one in (*there, pod("j-0", "c"))])
    (write,) = decided(engine).selections
    assert write == SelectNode(claim="a/c", node="n1")
    engine.assume(write)
    assert decided(engine).selections == ()
    engine.forget(write)
    assert decided(engine).selections == (write,)
    engine.assume(write)
    engine.feed([Upserted(object=cast(AnyObject, claim("c", selected="n1")))])
    assert (engine.assumptions.volumes.under_way, decided(engine).selections) == ({}, ())

"""Claims get volumes: one that they name, one that fits, or one made for them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.embedded import Document, EmbeddedCluster, opened

CLAIMS, VOLUMES, CLASSES = "persistentvolumeclaims", "persistentvolumes", "storageclasses.storage.k8s.io"
SELECTED = "volume.kubernetes.io/selected-node"


@pytest.fixture
def embedded(tmp_path: Path) -> Iterator[EmbeddedCluster]:
    with opened(tmp_path) as made:
        for name in ("n1", "n2"):
            made.make("nodes", name, "", {"labels": {"kubernetes.io/hostname": name}})
        made.settle()
        yield made


def volume(embedded: EmbeddedCluster, name: str, size: str = "1Gi", **spec: object) -> Document:
    offered = {
        "capacity": {"storage": size},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "disk",
        "csi": {"driver": "example.com", "volumeHandle": name},
        **spec,
    }
    return embedded.make(VOLUMES, name, "", spec=offered)


def claim(embedded: EmbeddedCluster, name: str = "c", size: str = "1Gi", **spec: object) -> Document:
    asked = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": size}},
        "storageClassName": "disk",
        **spec,
    }
    return embedded.make(CLAIMS, name, spec=asked)


def only_on(node: str) -> Document:
    term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}
    return {"required": {"nodeSelectorTerms": [term]}}


def storage_class(
    embedded: EmbeddedCluster, name: str = "disk", *, first_consumer: bool = False, **fields: object
) -> None:
    mode = "WaitForFirstConsumer" if first_consumer else "Immediate"
    described = {"provisioner": "example.com/by-hand", **fields}
    embedded.make(CLASSES, name, "", volumeBindingMode=mode, **described)


def bound(embedded: EmbeddedCluster, name: str = "c") -> str:
    """The volume that a claim is bound to, both ends agreeing; nothing where it waits."""
    found = embedded.get(CLAIMS, name)
    if found["status"]["phase"] != "Bound":
        assert found["status"] == {"phase": "Pending"}
        return ""
    other = embedded.get(VOLUMES, found["spec"]["volumeName"])
    assert other["status"]["phase"] == "Bound"
    assert (other["spec"]["claimRef"]["name"], other["spec"]["claimRef"]["uid"]) == (
        name,
        found["metadata"]["uid"],
    )
    assert found["status"]["capacity"] == other["spec"]["capacity"]
    assert found["status"]["accessModes"] == other["spec"]["accessModes"]
    return str(found["spec"]["volumeName"])


def phase(embedded: EmbeddedCluster, name: str) -> str:
    return str(embedded.get(VOLUMES, name)["status"]["phase"])


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("first", ["claim", "volumes"])
def test_a_claim_gets_the_smallest_volume_that_fits(
    embedded: EmbeddedCluster,
    first: str,
    restart: bool,  # noqa: FBT001
) -> None:
    if first == "claim":
        claim(embedded, size="2Gi")
        embedded.settle(restart=restart)
        assert bound(embedded) == ""
    for name, size in (("tiny", "1Gi"), ("large", "9Gi"), ("fine", "2Gi")):
        volume(embedded, name, size)
    if first == "volumes":
        embedded.settle(restart=restart)
        assert phase(embedded, "fine") == "Available"
        claim(embedded, size="2Gi")
    embedded.settle(restart=restart)
    assert bound(embedded) == "fine"
    assert (phase(embedded, "tiny"), phase(embedded, "large")) == ("Available", "Available")


@pytest.mark.parametrize(
    "other",
    [
        {"storageClassName": "tape"},
        {"accessModes": ["ReadWriteMany"]},
        {"capacity": {"storage": "1Mi"}},
        {"volumeMode": "Block"},
        {"claimRef": {"namespace": "default", "name": "another"}},
    ],
)
def test_a_volume_that_does_not_fit_stays_free(embedded: EmbeddedCluster, other: Document) -> None:
    volume(embedded, "v", **other)
    claim(embedded)
    embedded.settle()
    assert bound(embedded) == ""
    assert phase(embedded, "v") == "Available"


def test_a_claim_may_select_by_labels(embedded: EmbeddedCluster) -> None:
    volume(embedded, "plain")
    embedded.make(
        VOLUMES,
        "fast",
        "",
        {"labels": {"speed": "high"}},
        spec=embedded.get(VOLUMES, "plain")["spec"],
    )
    claim(embedded, selector={"matchLabels": {"speed": "high"}})
    embedded.settle()
    assert bound(embedded) == "fast"


def test_two_claims_do_not_share_a_volume(embedded: EmbeddedCluster) -> None:
    claim(embedded, "c")
    claim(embedded, "d")
    volume(embedded, "v")
    embedded.settle()
    assert sorted([bound(embedded, "c"), bound(embedded, "d")]) == ["", "v"]


def test_a_claim_that_names_its_volume_gets_that_one(embedded: EmbeddedCluster) -> None:
    storage_class(embedded, first_consumer=True)
    volume(embedded, "small")
    volume(embedded, "mine", "5Gi")
    claim(embedded, volumeName="mine")
    embedded.settle()
    assert bound(embedded) == "mine"


def test_a_volume_that_names_its_claim_goes_to_that_one(embedded: EmbeddedCluster) -> None:
    volume(embedded, "small")
    volume(embedded, "kept", "5Gi", claimRef={"namespace": "default", "name": "c"})
    embedded.settle()
    claim(embedded, "c")
    claim(embedded, "d")
    embedded.settle()
    assert (bound(embedded, "c"), bound(embedded, "d")) == ("kept", "small")


def test_a_volume_goes_to_a_claim_that_waits_for_its_first_consumer_when_it_names_the_claim(
    embedded: EmbeddedCluster,
) -> None:
    storage_class(embedded, first_consumer=True)
    volume(embedded, "v1", nodeAffinity=only_on("n1"))
    volume(embedded, "v2", nodeAffinity=only_on("n2"))
    uid = claim(embedded)["metadata"]["uid"]
    embedded.settle()
    assert bound(embedded) == ""
    embedded.edit(
        VOLUMES, "v2", namespace="", spec={"claimRef": {"namespace": "default", "name": "c", "uid": uid}}
    )
    embedded.settle()
    assert bound(embedded) == "v2"
    assert phase(embedded, "v1") == "Available"


def test_a_node_that_is_chosen_is_for_provisioners_and_not_for_volumes_that_are_there(
    embedded: EmbeddedCluster,
) -> None:
    storage_class(embedded, first_consumer=True)
    volume(embedded, "v2", nodeAffinity=only_on("n2"))
    claim(embedded)
    embedded.edit(CLAIMS, "c", metadata={"annotations": {SELECTED: "n2"}})
    embedded.settle()
    assert bound(embedded) == ""
    assert phase(embedded, "v2") == "Available"


def test_a_virtual_volume_is_made_for_its_claim_and_goes_with_it(embedded: EmbeddedCluster) -> None:
    storage_class(embedded, provisioner="maar.sh/virtual")
    made = claim(embedded, size="3Gi")
    embedded.settle()
    name = f"pvc-{made['metadata']['uid']}"
    assert bound(embedded) == name
    volume_made = embedded.get(VOLUMES, name)
    assert volume_made["spec"]["capacity"] == {"storage": "3Gi"}
    assert "nodeAffinity" not in volume_made["spec"]
    embedded.cluster.delete(CLAIMS, "default", "c")
    embedded.settle()
    assert embedded.names(VOLUMES) == []


def test_a_virtual_volume_for_a_first_consumer_is_on_its_node(embedded: EmbeddedCluster) -> None:
    storage_class(embedded, provisioner="maar.sh/virtual", first_consumer=True)
    claim(embedded)
    embedded.settle()
    assert bound(embedded) == ""
    embedded.edit(CLAIMS, "c", metadata={"annotations": {SELECTED: "n2"}})
    embedded.settle()
    assert embedded.get(VOLUMES, bound(embedded))["spec"]["nodeAffinity"] == only_on("n2")


def test_a_class_that_comes_later_serves_the_claims_that_wait_for_it(embedded: EmbeddedCluster) -> None:
    claim(embedded)
    embedded.settle()
    storage_class(embedded, provisioner="maar.sh/virtual")
    embedded.settle()
    assert bound(embedded)


@pytest.mark.parametrize("restart", [False, True])
def test_a_volume_made_by_hand_is_released_and_stays(embedded: EmbeddedCluster, restart: bool) -> None:  # noqa: FBT001  a case
    volume(embedded, "v", persistentVolumeReclaimPolicy="Delete")
    claim(embedded)
    embedded.settle()
    embedded.cluster.delete(CLAIMS, "default", "c")
    embedded.settle(restart=restart)
    assert phase(embedded, "v") == "Released"
    claim(embedded, "d")
    embedded.settle()
    assert bound(embedded, "d") == ""  # its data are somebody else's


def test_a_claim_whose_volume_has_gone_is_lost(embedded: EmbeddedCluster) -> None:
    volume(embedded, "v")
    claim(embedded)
    embedded.settle()
    embedded.cluster.delete(VOLUMES, "", "v")
    embedded.settle()
    assert embedded.get(CLAIMS, "c")["status"]["phase"] == "Lost"


def test_a_binding_left_half_done_is_finished(embedded: EmbeddedCluster) -> None:
    made = claim(embedded)
    embedded.settle()
    reference = {"namespace": "default", "name": "c", "uid": made["metadata"]["uid"]}
    volume(embedded, "v", claimRef=reference)
    embedded.settle()
    assert bound(embedded) == "v"

"""Claims get volumes: one that they name, one that fits, or one made for them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.embedded import Document, Town, opened

CLAIMS, VOLUMES, CLASSES = "persistentvolumeclaims", "persistentvolumes", "storageclasses.storage.k8s.io"
SELECTED = "volume.kubernetes.io/selected-node"


@pytest.fixture
def town(tmp_path: Path) -> Iterator[Town]:
    with opened(tmp_path) as made:
        for name in ("n1", "n2"):
            made.make("nodes", name, "", {"labels": {"kubernetes.io/hostname": name}})
        made.settle()
        yield made


def volume(town: Town, name: str, size: str = "1Gi", **spec: object) -> Document:
    offered = {
        "capacity": {"storage": size},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "disk",
        "csi": {"driver": "example.com", "volumeHandle": name},
        **spec,
    }
    return town.make(VOLUMES, name, "", spec=offered)


def claim(town: Town, name: str = "c", size: str = "1Gi", **spec: object) -> Document:
    asked = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": size}},
        "storageClassName": "disk",
        **spec,
    }
    return town.make(CLAIMS, name, spec=asked)


def only_on(node: str) -> Document:
    term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}
    return {"required": {"nodeSelectorTerms": [term]}}


def storage_class(town: Town, name: str = "disk", *, first_consumer: bool = False, **fields: object) -> None:
    mode = "WaitForFirstConsumer" if first_consumer else "Immediate"
    described = {"provisioner": "example.com/by-hand", **fields}
    town.make(CLASSES, name, "", volumeBindingMode=mode, **described)


def bound(town: Town, name: str = "c") -> str:
    """The volume that a claim is bound to, both ends agreeing; nothing where it waits."""
    found = town.get(CLAIMS, name)
    if found["status"]["phase"] != "Bound":
        assert found["status"] == {"phase": "Pending"}
        return ""
    other = town.get(VOLUMES, found["spec"]["volumeName"])
    assert other["status"]["phase"] == "Bound"
    assert (other["spec"]["claimRef"]["name"], other["spec"]["claimRef"]["uid"]) == (
        name,
        found["metadata"]["uid"],
    )
    assert found["status"]["capacity"] == other["spec"]["capacity"]
    assert found["status"]["accessModes"] == other["spec"]["accessModes"]
    return str(found["spec"]["volumeName"])


def phase(town: Town, name: str) -> str:
    return str(town.get(VOLUMES, name)["status"]["phase"])


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("first", ["claim", "volumes"])
def test_a_claim_gets_the_smallest_volume_that_fits(town: Town, first: str, restart: bool) -> None:  # noqa: FBT001  a case
    if first == "claim":
        claim(town, size="2Gi")
        town.settle(restart=restart)
        assert bound(town) == ""
    for name, size in (("tiny", "1Gi"), ("large", "9Gi"), ("fine", "2Gi")):
        volume(town, name, size)
    if first == "volumes":
        town.settle(restart=restart)
        assert phase(town, "fine") == "Available"
        claim(town, size="2Gi")
    town.settle(restart=restart)
    assert bound(town) == "fine"
    assert (phase(town, "tiny"), phase(town, "large")) == ("Available", "Available")


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
def test_a_volume_that_does_not_fit_stays_free(town: Town, other: Document) -> None:
    volume(town, "v", **other)
    claim(town)
    town.settle()
    assert bound(town) == ""
    assert phase(town, "v") == "Available"


def test_a_claim_may_select_by_labels(town: Town) -> None:
    volume(town, "plain")
    town.make(
        VOLUMES,
        "fast",
        "",
        {"labels": {"speed": "high"}},
        spec=town.get(VOLUMES, "plain")["spec"],
    )
    claim(town, selector={"matchLabels": {"speed": "high"}})
    town.settle()
    assert bound(town) == "fast"


def test_two_claims_do_not_share_a_volume(town: Town) -> None:
    claim(town, "c")
    claim(town, "d")
    volume(town, "v")
    town.settle()
    assert sorted([bound(town, "c"), bound(town, "d")]) == ["", "v"]


def test_a_claim_that_names_its_volume_gets_that_one(town: Town) -> None:
    storage_class(town, first_consumer=True)
    volume(town, "small")
    volume(town, "mine", "5Gi")
    claim(town, volumeName="mine")
    town.settle()
    assert bound(town) == "mine"


def test_a_volume_that_names_its_claim_goes_to_that_one(town: Town) -> None:
    volume(town, "small")
    volume(town, "kept", "5Gi", claimRef={"namespace": "default", "name": "c"})
    town.settle()
    claim(town, "c")
    claim(town, "d")
    town.settle()
    assert (bound(town, "c"), bound(town, "d")) == ("kept", "small")


def test_a_volume_goes_to_a_claim_that_waits_for_its_first_consumer_when_it_names_the_claim(
    town: Town,
) -> None:
    storage_class(town, first_consumer=True)
    volume(town, "v1", nodeAffinity=only_on("n1"))
    volume(town, "v2", nodeAffinity=only_on("n2"))
    uid = claim(town)["metadata"]["uid"]
    town.settle()
    assert bound(town) == ""
    town.edit(
        VOLUMES, "v2", namespace="", spec={"claimRef": {"namespace": "default", "name": "c", "uid": uid}}
    )
    town.settle()
    assert bound(town) == "v2"
    assert phase(town, "v1") == "Available"


def test_a_node_that_is_chosen_is_for_provisioners_and_not_for_volumes_that_are_there(town: Town) -> None:
    storage_class(town, first_consumer=True)
    volume(town, "v2", nodeAffinity=only_on("n2"))
    claim(town)
    town.edit(CLAIMS, "c", metadata={"annotations": {SELECTED: "n2"}})
    town.settle()
    assert bound(town) == ""
    assert phase(town, "v2") == "Available"


def test_a_virtual_volume_is_made_for_its_claim_and_goes_with_it(town: Town) -> None:
    storage_class(town, provisioner="maar.sh/virtual")
    made = claim(town, size="3Gi")
    town.settle()
    name = f"pvc-{made['metadata']['uid']}"
    assert bound(town) == name
    volume_made = town.get(VOLUMES, name)
    assert volume_made["spec"]["capacity"] == {"storage": "3Gi"}
    assert "nodeAffinity" not in volume_made["spec"]
    town.cluster.delete(CLAIMS, "default", "c")
    town.settle()
    assert town.names(VOLUMES) == []


def test_a_virtual_volume_for_a_first_consumer_is_on_its_node(town: Town) -> None:
    storage_class(town, provisioner="maar.sh/virtual", first_consumer=True)
    claim(town)
    town.settle()
    assert bound(town) == ""
    town.edit(CLAIMS, "c", metadata={"annotations": {SELECTED: "n2"}})
    town.settle()
    assert town.get(VOLUMES, bound(town))["spec"]["nodeAffinity"] == only_on("n2")


def test_a_class_that_comes_later_serves_the_claims_that_wait_for_it(town: Town) -> None:
    claim(town)
    town.settle()
    storage_class(town, provisioner="maar.sh/virtual")
    town.settle()
    assert bound(town)


@pytest.mark.parametrize("restart", [False, True])
def test_a_volume_made_by_hand_is_released_and_stays(town: Town, restart: bool) -> None:  # noqa: FBT001  a case
    volume(town, "v", persistentVolumeReclaimPolicy="Delete")
    claim(town)
    town.settle()
    town.cluster.delete(CLAIMS, "default", "c")
    town.settle(restart=restart)
    assert phase(town, "v") == "Released"
    claim(town, "d")
    town.settle()
    assert bound(town, "d") == ""  # its data are somebody else's


def test_a_claim_whose_volume_has_gone_is_lost(town: Town) -> None:
    volume(town, "v")
    claim(town)
    town.settle()
    town.cluster.delete(VOLUMES, "", "v")
    town.settle()
    assert town.get(CLAIMS, "c")["status"]["phase"] == "Lost"


def test_a_binding_left_half_done_is_finished(town: Town) -> None:
    made = claim(town)
    town.settle()
    reference = {"namespace": "default", "name": "c", "uid": made["metadata"]["uid"]}
    volume(town, "v", claimRef=reference)
    town.settle()
    assert bound(town) == "v"

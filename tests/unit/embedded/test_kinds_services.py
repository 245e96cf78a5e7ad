"""Services, claims and jobs: what the server fills in."""

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

import pytest

from maar.embedded.calls import Call
from maar.embedded.failures import ApiError
from support.embedded import Document, Town, opened

PORTS = [{"port": 80}]
CLASSES = "storageclasses.storage.k8s.io"


@pytest.fixture
def town(tmp_path: Path) -> Iterator[Town]:
    with opened(tmp_path) as made:
        yield made


def service(town: Town, name: str = "s", **spec: object) -> Document:
    return dict(town.make("services", name, spec={"ports": PORTS, **spec})["spec"])


def test_a_service_gets_an_address_of_its_own(town: Town) -> None:
    found = {service(town, f"s{number}")["clusterIP"] for number in range(20)}
    assert len(found) == 20
    assert all(IPv4Address(one) in IPv4Network("10.96.0.0/12") for one in found)
    one = town.get("services", "s0")
    assert one["spec"]["clusterIPs"] == [one["spec"]["clusterIP"]]
    assert (one["spec"]["ipFamilies"], one["spec"]["ipFamilyPolicy"]) == (["IPv4"], "SingleStack")
    assert one["status"] == {"loadBalancer": {}}


def test_a_headless_service_and_a_mere_name_have_none(town: Town) -> None:
    assert service(town, clusterIP="None")["clusterIPs"] == ["None"]
    named = town.make("services", "t", spec={"type": "ExternalName", "externalName": "example.com"})
    assert "clusterIP" not in named["spec"]


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("10.96.0.7", "provided IP is already allocated"),
        ("10.9.0.1", "the provided network does not match the current range"),
    ],
)
def test_an_address_that_is_asked_for_must_be_free(town: Town, address: str, why: str) -> None:
    assert service(town, "first", clusterIP="10.96.0.7")["clusterIP"] == "10.96.0.7"
    with pytest.raises(ApiError) as raised:
        service(town, "second", clusterIP=address)
    assert (raised.value.code, raised.value.message) == (
        422,
        (
            f'Service "second" is invalid: spec.clusterIPs: Invalid value: ["{address}"]:'
            f" failed to allocate IP {address}: {why}"
        ),
    )


def test_an_address_is_free_again_when_its_service_has_gone_or_was_only_tried(town: Town) -> None:
    wanted: Document = {"metadata": {"name": "s"}, "spec": {"ports": PORTS, "clusterIP": "10.96.0.7"}}
    town.cluster.create("services", "default", dict(wanted), Call(dry_run=True))
    service(town, clusterIP="10.96.0.7")
    town.cluster.delete("services", "default", "s")
    service(town, "t", clusterIP="10.96.0.7")


def test_a_service_keeps_its_address(town: Town) -> None:
    given = service(town)["clusterIP"]
    changed: Document = town.cluster.replace(
        "services", "default", "s", {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 81}]}}
    )
    assert changed["spec"]["clusterIP"] == given
    with pytest.raises(ApiError, match="may not change once set"):
        town.edit("services", "s", spec={"clusterIP": "10.96.9.9", "clusterIPs": ["10.96.9.9"]})


def test_a_name_that_becomes_a_service_gets_an_address(town: Town) -> None:
    town.make("services", "s", spec={"type": "ExternalName", "externalName": "example.com"})
    changed = town.edit("services", "s", spec={"type": "ClusterIP", "externalName": "", "ports": PORTS})
    assert changed["spec"]["clusterIP"].startswith("10.")


def test_a_claim_waits_and_takes_the_newest_default_class(town: Town) -> None:
    asked = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    made = town.make("persistentvolumeclaims", "a", spec=asked, status={"phase": "Bound"})
    assert made["status"] == {"phase": "Pending"}
    assert "storageClassName" not in made["spec"]
    default = {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}
    for name in ("zinc", "gold"):
        town.clock.now += 60
        town.make(CLASSES, name, "", default, provisioner="maar.sh/virtual")
    assert town.make("persistentvolumeclaims", "b", spec=asked)["spec"]["storageClassName"] == "gold"
    none = {**asked, "storageClassName": ""}
    assert town.make("persistentvolumeclaims", "c", spec=none)["spec"]["storageClassName"] == ""


def test_a_job_knows_its_pods_by_its_identity(town: Town) -> None:
    pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "none"}]}
    job = town.make("jobs.batch", "j", spec={"template": {"spec": pod}}, status={"active": 3})
    uid = job["metadata"]["uid"]
    assert job["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
    assert (
        job["spec"]["template"]["metadata"]["labels"]
        == job["metadata"]["labels"]
        == {
            "batch.kubernetes.io/controller-uid": uid,
            "batch.kubernetes.io/job-name": "j",
            "controller-uid": uid,
            "job-name": "j",
        }
    )
    assert job["status"] == {}


def test_a_job_may_choose_its_pods_itself(town: Town) -> None:
    pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "none"}]}
    template = {"metadata": {"labels": {"my": "job"}}, "spec": pod}
    selector = {"matchLabels": {"my": "job"}}
    spec = {"template": template, "selector": selector, "manualSelector": True}
    assert town.make("jobs.batch", "j", spec=spec)["spec"]["selector"] == selector


@pytest.mark.parametrize(
    ("plural", "expected"),
    [("replicasets.apps", {"replicas": 0}), ("statefulsets.apps", {"replicas": 0, "availableReplicas": 0})],
)
def test_a_set_starts_with_no_replicas(town: Town, plural: str, expected: Document) -> None:
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "none"}]}}
    spec = {"selector": {"matchLabels": labels}, "template": template, "serviceName": "web"}
    if plural == "replicasets.apps":
        del spec["serviceName"]
    assert town.make(plural, "s", spec=spec, status={"replicas": 4})["status"] == expected


def test_a_node_is_as_it_says(town: Town) -> None:
    status = {"capacity": {"cpu": "4"}, "conditions": [{"type": "Ready", "status": "True"}]}
    node = town.make("nodes", "n", "", status=status)
    assert node["status"]["capacity"] == {"cpu": "4"}
    assert node["status"]["conditions"][0]["status"] == "True"

"""Claims, jobs, sets and nodes: what the server fills in."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.embedded import Document, EmbeddedCluster, opened

CLASSES = "storageclasses.storage.k8s.io"


@pytest.fixture
def embedded(tmp_path: Path) -> Iterator[EmbeddedCluster]:
    with opened(tmp_path) as made:
        yield made


def test_a_claim_waits_and_takes_the_newest_default_class(embedded: EmbeddedCluster) -> None:
    asked = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    made = embedded.make("persistentvolumeclaims", "a", spec=asked, status={"phase": "Bound"})
    assert made["status"] == {"phase": "Pending"}
    assert "storageClassName" not in made["spec"]
    default = {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}
    for name in ("zinc", "gold"):
        embedded.clock.now += 60
        embedded.make(CLASSES, name, "", default, provisioner="maar.sh/virtual")
    assert embedded.make("persistentvolumeclaims", "b", spec=asked)["spec"]["storageClassName"] == "gold"
    none = {**asked, "storageClassName": ""}
    assert embedded.make("persistentvolumeclaims", "c", spec=none)["spec"]["storageClassName"] == ""


def test_a_job_knows_its_pods_by_its_identity(embedded: EmbeddedCluster) -> None:
    pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "none"}]}
    job = embedded.make("jobs.batch", "j", spec={"template": {"spec": pod}}, status={"active": 3})
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


def test_a_job_may_choose_its_pods_itself(embedded: EmbeddedCluster) -> None:
    pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "none"}]}
    template = {"metadata": {"labels": {"my": "job"}}, "spec": pod}
    selector = {"matchLabels": {"my": "job"}}
    spec = {"template": template, "selector": selector, "manualSelector": True}
    assert embedded.make("jobs.batch", "j", spec=spec)["spec"]["selector"] == selector


@pytest.mark.parametrize(
    ("plural", "expected"),
    [("replicasets.apps", {"replicas": 0}), ("statefulsets.apps", {"replicas": 0, "availableReplicas": 0})],
)
def test_a_set_starts_with_no_replicas(embedded: EmbeddedCluster, plural: str, expected: Document) -> None:
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "none"}]}}
    spec = {"selector": {"matchLabels": labels}, "template": template, "serviceName": "web"}
    if plural == "replicasets.apps":
        del spec["serviceName"]
    assert embedded.make(plural, "s", spec=spec, status={"replicas": 4})["status"] == expected


def test_a_node_is_as_it_says(embedded: EmbeddedCluster) -> None:
    status = {"capacity": {"cpu": "4"}, "conditions": [{"type": "Ready", "status": "True"}]}
    node = embedded.make("nodes", "n", "", status=status)
    assert node["status"]["capacity"] == {"cpu": "4"}
    assert node["status"]["conditions"][0]["status"] == "True"

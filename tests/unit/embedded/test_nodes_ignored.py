"""Fields of pods that the local node does not read: exactly those are named to whoever creates a pod."""

from pathlib import Path
from typing import Any

import pytest

from maar.embedded.admission import warn_of_ignored
from maar.embedded.assembly import assemble
from maar.embedded.calls import Call, Caller
from maar.embedded.cluster import Cluster
from maar.embedded.store import Store

MAIN: dict[str, Any] = {"name": "main", "image": "busybox", "command": ["true"]}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Cluster:
    return assemble(Store(tmp_path_factory.mktemp("cluster")), admit=warn_of_ignored)


def warnings(cluster: Cluster, container: dict[str, Any] | None = None, /, **spec: object) -> list[str]:
    """What is said about a pod."""
    call = Call(caller=Caller("somebody"), dry_run=True)
    spec = {"schedulerName": "volcano", "containers": [{**MAIN, **(container or {})}], **spec}
    cluster.create("pods", "default", {"metadata": {"name": "pod"}, "spec": spec}, call)
    return call.warnings


def named(cluster: Cluster, container: dict[str, Any] | None = None, /, **spec: object) -> set[str]:
    """The fields that are named."""
    found = warnings(cluster, container, **spec)
    if not found:
        return set()
    (warning,) = found
    assert warning.startswith("[local-node-ignores] ")
    return set(
        warning.removeprefix("[local-node-ignores] ").split(" no effect")[0].rsplit(" ", 1)[0].split(", ")
    )


def test_a_pod_of_what_the_node_reads_and_of_defaults_needs_no_warning(cluster: Cluster) -> None:
    container = {
        "args": ["x"],
        "workingDir": "/tmp",  # noqa: S108  # where a container works
        "env": [{"name": "A", "value": "b"}],
        "resources": {"requests": {"cpu": "1"}, "limits": {"memory": "1Gi"}},
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
        "ports": [{"name": "web", "containerPort": 80}],
        "terminationMessagePolicy": "File",
    }
    spec = {
        "volumes": [{"name": "data", "emptyDir": {}}],
        "restartPolicy": "Never",
        "dnsPolicy": "ClusterFirst",
        "securityContext": {},
        "serviceAccountName": "default",
        "nodeSelector": {"a": "b"},
        "tolerations": [{"operator": "Exists"}],
        "hostNetwork": False,
    }
    assert warnings(cluster, container, **spec) == []


@pytest.mark.parametrize(
    ("container", "spec", "fields"),
    [
        ({}, {"securityContext": {"runAsUser": 0}}, {"spec.securityContext.runAsUser"}),
        (
            {"securityContext": {"runAsUser": 1000, "privileged": True}},
            {},
            {
                "spec.containers[0].securityContext.runAsUser",
                "spec.containers[0].securityContext.privileged",
            },
        ),
        (
            {"livenessProbe": {"exec": {"command": ["true"]}}, "tty": True},
            {
                "hostNetwork": True, "hostAliases": [{"ip": "127.0.0.2"}],
                "dnsPolicy": "None", "dnsConfig": {"nameservers": ["::"]},
            },
            {
                "spec.containers[0].livenessProbe", "spec.containers[0].tty", "spec.hostNetwork",
                "spec.hostAliases", "spec.dnsPolicy", "spec.dnsConfig",
            },
        ),
        (
            {"volumeMounts": [{"name": "data", "mountPath": "/data", "readOnly": True}]},
            {"volumes": [{"name": "data", "emptyDir": {"medium": "Memory"}}]},
            {"spec.containers[0].volumeMounts[0].readOnly", "spec.volumes[0].emptyDir.medium"},
        ),
        ({}, {"imagePullSecrets": [{"name": "registry"}]}, {"spec.imagePullSecrets"}),
        ({"imagePullPolicy": "Never"}, {}, {"spec.containers[0].imagePullPolicy"}),
    ],
)  # fmt: skip
def test_what_the_node_does_not_read_is_named(
    cluster: Cluster, container: dict[str, Any], spec: dict[str, Any], fields: set[str]
) -> None:
    assert named(cluster, container, **spec) == fields


def test_all_fields_are_named_up_to_a_limit(cluster: Cluster) -> None:
    (warning,) = warnings(cluster, {"tty": True}, hostIPC=True, hostPID=True)
    assert "].tty, spec.hostIPC, spec.hostPID have no effect on the local node" in warning
    assert warning.endswith("remove them, or use a cluster of Kubernetes")
    (warning,) = warnings(cluster, {"tty": True})
    assert "spec.containers[0].tty has no effect on the local node" in warning
    many = [{**MAIN, "name": f"c{number}", "tty": True} for number in range(26)]
    (warning,) = warnings(cluster, containers=many)
    assert "spec.containers[23].tty and 2 more have no effect on the local node" in warning


def test_an_update_is_not_warned_about(tmp_path: Path) -> None:
    cluster = assemble(Store(tmp_path), admit=warn_of_ignored)
    spec = {"containers": [MAIN], "securityContext": {"runAsUser": 1}}
    pod: Any = cluster.create("pods", "default", {"metadata": {"name": "pod"}, "spec": spec})
    call = Call(caller=Caller("somebody"))
    cluster.replace(
        "pods", "default", "pod", {**pod, "metadata": {**pod["metadata"], "labels": {}}}, call=call
    )
    assert call.warnings == []

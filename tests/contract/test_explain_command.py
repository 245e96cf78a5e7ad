"""`maar explain` on API servers: it reads the cluster and its events, and writes nothing."""

import asyncio
import json
from pathlib import Path

import pytest

from maar.core.model.pod_group import PodGroup
from maar.kube.api_server import ApiServer
from maar.kube.outcome import Done
from maar.kube.paths import PODS, ResourcePath, resource_path_of
from maar.kube.write import create
from support.commands import Run, run

__all__ = ["run"]

pytestmark = pytest.mark.usefixtures("crds", "anyio_backend")

EVENTS = ResourcePath("v1", "events", namespaced=True)
GROUPS = resource_path_of(PodGroup)
WHY = "reclaim for other/g of queue b: queue default uses cpu 6 of 4 deserved"


async def submit(api: ApiServer, namespace: str) -> None:
    """A group with a pod that waits, and an eviction of it that was reported."""
    group = {
        "apiVersion": GROUPS.api_version,
        "kind": "PodGroup",
        "metadata": {"name": "train", "namespace": namespace},
        "spec": {"minMember": 1, "queue": "default"},
    }
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "train-0",
            "namespace": namespace,
            "annotations": {"scheduling.k8s.io/group-name": "train"},
        },
        "spec": {
            "schedulerName": "volcano",
            "nodeSelector": {"no-node-has": "this"},
            "containers": [{"name": "main", "image": "busybox", "resources": {"requests": {"cpu": "2"}}}],
        },
    }
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "train.1", "namespace": namespace},
        "involvedObject": {
            "apiVersion": GROUPS.api_version, "kind": "PodGroup", "namespace": namespace, "name": "train",
        },
        "reason": "Evict",
        "message": f"pod {namespace}/train-0 was evicted by {WHY}",
        "type": "Warning",
        "firstTimestamp": "2026-06-01T12:00:00Z",
        "lastTimestamp": "2026-06-01T12:00:00Z",
        "count": 1,
    }  # fmt: skip
    for place, key, document in (
        (GROUPS, f"{namespace}/train", group),
        (PODS, f"{namespace}/train-0", pod),
        (EVENTS, f"{namespace}/train.1", event),
    ):
        assert isinstance(await create(api, place, key, document), Done), document["kind"]


async def test_a_group_of_a_cluster(
    api: ApiServer, namespace: str, run: Run, kubeconfig: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await submit(api, namespace)
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))

    def explain(*arguments: str) -> tuple[int, str, str]:
        return run("maar", "explain", *arguments, "-n", namespace)

    code, out, err = await asyncio.to_thread(explain, "podgroup", "train", "-o", "json")
    assert code == 0, err
    assert err == (
        "note: there is no ConfigMap maar-system/maar-scheduler: the scheduler's configuration is taken for "
        "the default one; --config names another\n"
    )
    data = json.loads(out)
    assert (data["state"], data["podGroup"]) == ("waits", f"{namespace}/train")
    assert data["evictions"] == [
        {
            "time": "2026-06-01T12:00:00Z",
            "pod": f"{namespace}/train-0",
            "action": "reclaim",
            "beneficiary": "other/g",
            "queue": "b",
            "right": "queue default uses cpu 6 of 4 deserved",
        }
    ]
    code, out, _ = await asyncio.to_thread(explain, "pod", "train-0")
    assert (code, out.split("(")[0]) == (0, f"Pod {namespace}/train-0 waits ")
    code, out, err = await asyncio.to_thread(explain, "pod", "train-1")
    assert (code, out) == (1, "")
    assert err.endswith(f"error: pod {namespace}/train-1 does not exist; did you mean train-0?\n")

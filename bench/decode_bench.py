"""A list of 10,000 pods from the bytes of an API server, beside msgspec reading them into plain objects."""

import random

import msgspec
from measure import line, median_ms

from maar.core.model.kinds import from_json
from maar.core.model.pod import Pod
from maar.kube.listing import Page

PODS = 10_000
SHAPES = 50
TEAMS = 10
TARGET = "target at most 2.5x"


def main() -> None:
    """Print how fast objects are decoded."""
    data = pod_list(PODS, SHAPES)
    each = len(data) / PODS / 1_000
    print(f"  {PODS:,} pods of {SHAPES} shapes, {each:.2f} kB each, {len(data) / 1e6:.1f} MB")
    plain = median_ms(lambda: msgspec.json.decode(data))
    line("msgspec, plain objects", plain, plain, "")
    line("pods", median_ms(lambda: read(data)), plain, TARGET)
    line("pods and what each of them asks for", median_ms(lambda: requests(data)), plain, "")


def read(data: bytes) -> list[Pod]:
    """Read the list as the scheduler does when it starts."""
    page = msgspec.json.decode(data, type=Page)
    return [from_json(Pod, item) for item in page.items or ()]


def requests(data: bytes) -> int:
    """Read the list and add up what every pod asks for."""
    return sum(pod.request["cpu"] for pod in read(data))


def pod_list(count: int, shapes: int) -> bytes:
    """Write a list response; pods of a shape differ in what differs in a cluster: name, uid, node, time."""
    rng = random.Random(count)
    specs = [shape(rng) for _ in range(shapes)]
    items = [pod(rng, number, number % shapes, specs[number % shapes]) for number in range(count)]
    metadata = {"resourceVersion": "81234567"}
    return msgspec.json.encode({"kind": "PodList", "apiVersion": "v1", "metadata": metadata, "items": items})


def shape(rng: random.Random) -> dict[str, object]:
    """Make a pod specification as it comes back from the API server, with its defaults filled in."""
    requests = {"cpu": f"{rng.randrange(1, 64) * 250}m", "memory": f"{rng.randrange(1, 256)}Gi"}
    if rng.choice((True, False, False)):
        requests["nvidia.com/gpu"] = str(rng.choice((1, 2, 4, 8)))
    limits = {name: text for name, text in requests.items() if name != "cpu"}
    token = {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}}
    mount = {
        "name": "kube-api-access-x7k2p",
        "readOnly": True,
        "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
    }
    main = {
        "name": "main",
        "image": f"example.com/train:{rng.randrange(100)}",
        "resources": {"limits": limits, "requests": requests},
        "volumeMounts": [mount],
    }
    spec: dict[str, object] = {
        "volumes": [{"name": mount["name"], "projected": {"sources": [token]}}],
        "containers": [main],
        "restartPolicy": "OnFailure",
        "serviceAccountName": "default",
        "schedulerName": "maar",
        "tolerations": [
            {"key": f"node.kubernetes.io/{taint}", "operator": "Exists", "effect": "NoExecute"}
            for taint in ("not-ready", "unreachable")
        ],
        "priority": 0,
    }
    if rng.choice((True, False, False)):
        spec["nodeSelector"] = {"topology.kubernetes.io/zone": rng.choice("abc")}
    if rng.choice((True, False, False, False)):
        sidecar = {"name": "mesh", "image": "example.com/mesh:1", "restartPolicy": "Always"}
        spec["initContainers"] = [{**sidecar, "resources": {"requests": {"cpu": "100m"}}}]
    return spec


def pod(rng: random.Random, number: int, job: int, spec: dict[str, object]) -> dict[str, object]:
    """Make one pod of a job, as it is listed: three in four run, the others wait."""
    created = f"2026-03-{rng.randrange(1, 29):02}T{rng.randrange(24):02}:{rng.randrange(60):02}:00Z"
    uid = f"{rng.getrandbits(128):032x}"
    runs = rng.choice((True, True, True, False))
    owner = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": f"train-{job}", "uid": uid}
    managed = {
        "manager": "maar",
        "operation": "Update",
        "apiVersion": "v1",
        "time": created,
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:schedulerName": {}}},
    }
    ready = {
        "type": "PodScheduled",
        "status": str(runs),
        "lastProbeTime": None,
        "lastTransitionTime": created,
    }
    return {
        "metadata": {
            "name": f"train-{job}-worker-{number}",
            "namespace": f"team-{job % TEAMS}",
            "uid": uid,
            "resourceVersion": str(80_000_000 + number),
            "creationTimestamp": created,
            "labels": {"app": f"train-{job}"},
            "annotations": {"scheduling.k8s.io/group-name": f"train-{job}", "volcano.sh/task-spec": "worker"},
            "ownerReferences": [{**owner, "controller": True, "blockOwnerDeletion": True}],
            "managedFields": [managed],
        },
        "spec": {**spec, "nodeName": f"node-{rng.randrange(1_000)}"} if runs else spec,
        "status": {
            "phase": "Running" if runs else "Pending",
            "conditions": [ready],
            "qosClass": "Burstable",
        },
    }


if __name__ == "__main__":
    main()

"""A Node as its kubelet fills it in: labels, conditions, addresses and what `kubectl describe` shows."""

import zlib
from importlib.metadata import version
from typing import Final, Literal, NamedTuple, cast

from maar.core.model.node_sizes import MOST_PODS, NODE_LABEL
from maar.embedded.calls import metadata, text
from maar.embedded.failures import Json
from maar.embedded.kinds.parts import part

NodeKind = Literal["virtual", "local"]

_VERSION: Final = f"v{version('maar')}"
_HEALTHY: Final = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "there is memory"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "there is room on the disk"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "there are process identifiers"),
)


class Machine(NamedTuple):
    """What a node says it is made of."""

    system: str = "linux"
    architecture: str = "amd64"
    image: str = "Maar virtual node"
    kernel: str = "none"
    address: str = ""


_VIRTUAL: Final = Machine()


def completed(node: Json, kind: NodeKind, machine: Machine = _VIRTUAL) -> Json:
    """A Node manifest with what is missing for it to be ready; what it says itself stands."""
    name = text(metadata(node), "name")
    meta, status = dict(metadata(node)), dict(part(node, "status"))
    meta["labels"] = {
        "kubernetes.io/arch": machine.architecture,
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": machine.system,
        f"node-role.kubernetes.io/{kind}": "",
        **part(meta, "labels"),
        NODE_LABEL: kind,
    }
    capacity = part(status, "capacity") or part(status, "allocatable")
    status["capacity"] = {"pods": MOST_PODS, **capacity}
    status["allocatable"] = {**cast(Json, status["capacity"]), **part(status, "allocatable")}
    conditions = [*cast(list[Json], status.get("conditions") or [])]
    if not any(condition.get("type") == "Ready" for condition in conditions):
        ready = ("Ready", "True", "KubeletReady", f"this {kind} node takes pods")
        for name_, holds, reason, message in (*_HEALTHY, ready):
            if not any(condition.get("type") == name_ for condition in conditions):
                conditions.append({"type": name_, "status": holds, "reason": reason, "message": message})
    status["conditions"] = conditions
    status.setdefault(
        "addresses",
        [
            {"type": "InternalIP", "address": machine.address or _node_address(name)},
            {"type": "Hostname", "address": name},
        ],
    )
    status["nodeInfo"] = {**_node_information(kind, machine), **part(status, "nodeInfo")}
    return {"apiVersion": "v1", "kind": "Node", **node, "metadata": meta, "status": status}


def stamped(node: Json, now: str) -> Json:
    """A Node whose conditions say when they began to hold, where they did not say so."""
    status = dict(part(node, "status"))
    times = {"lastHeartbeatTime": now, "lastTransitionTime": now}
    status["conditions"] = [{**times, **one} for one in cast(list[Json], status.get("conditions") or [])]
    return {**node, "status": status}


def _node_address(name: str) -> str:
    """An address for a node that has none: made up, and always the same."""
    return _address(name, 0)


def pod_address(uid: str) -> str:
    """An address for a pod: made up, and always the same."""
    return _address(uid, 128)


def _address(name: str, block: int) -> str:
    number = zlib.crc32(name.encode())
    return f"10.{block + (number >> 16) % 128}.{(number >> 8) % 256}.{number % 254 + 1}"


def _node_information(kind: NodeKind, machine: Machine) -> Json:
    return {
        "architecture": machine.architecture,
        "bootID": "",
        "containerRuntimeVersion": f"maar-{kind}://{_VERSION.removeprefix('v')}",
        "kernelVersion": machine.kernel,
        "kubeProxyVersion": "",
        "kubeletVersion": _VERSION,
        "machineID": "",
        "operatingSystem": machine.system,
        "osImage": machine.image,
        "systemUUID": "",
    }

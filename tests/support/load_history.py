"""Every change of every pod as etcd kept it, and what must be true of all of them (laws S1 and S3)."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from maar.core.model.pod import EVICTED_FOR_ANNOTATION
from maar.kube.api_server import ApiServer
from maar.kube.paths import PODS
from support.control_plane import ControlPlane
from support.load import Gang, make
from support.until import TIMEOUT_S

# What an API server has to be started with, for etcd to keep what was before,
KEEPING: Final = {"etcd-compaction-interval": "0s"}
# and with which it then tells of it, instead of the little that it remembers by itself.
TELLING: Final = {"watch-cache-sizes": "pods#0"}
LAST: Final = Gang("the-end", pods=1, scheduler="nobody")


class Metadata(msgspec.Struct, rename="camel"):
    """Who it is."""

    name: str
    uid: str
    resource_version: str
    deletion_timestamp: str = ""
    annotations: dict[str, str] = msgspec.field(default_factory=dict)


class Resources(msgspec.Struct):
    """What it asks for."""

    requests: dict[str, str] = msgspec.field(default_factory=dict)


class Container(msgspec.Struct):
    """A part of it."""

    resources: Resources = msgspec.field(default_factory=Resources)


class Spec(msgspec.Struct, rename="camel"):
    """Where it is, and with what."""

    containers: list[Container]
    node_name: str = ""


class Status(msgspec.Struct):
    """How far it has come."""

    phase: str = ""


class Pod(msgspec.Struct):
    """As little of a pod as the laws are about, read without Maar's own model."""

    metadata: Metadata
    spec: Spec
    status: Status = msgspec.field(default_factory=Status)

    @property
    def cpu(self) -> int:
        """How many processors it keeps from others: none without a node, or once it has ended."""
        if not self.spec.node_name or self.status.phase in ("Succeeded", "Failed"):
            return 0
        return sum(int(part.resources.requests.get("cpu", "0")) for part in self.spec.containers)


class Change(msgspec.Struct):
    """A pod after a change, or the last of it where it has gone."""

    type: str
    object: Pod


_CHANGE: Final = msgspec.json.Decoder(Change)
_LIST: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_VERSION: Final = msgspec.json.Decoder(dict[str, str | int])


async def now(server: ApiServer) -> str:
    """The version from which a history can be read later."""
    listed = await server.request("GET", PODS.all(), {"limit": "1"})
    return str(_VERSION.decode(_LIST.decode(listed)["metadata"])["resourceVersion"])


async def history(plane: ControlPlane, flags: dict[str, str], server: ApiServer, since: str) -> list[Change]:
    """Start the API server anew, so that it reads from etcd, and let it tell all that was."""
    flags |= TELLING
    plane.stop_api_server()
    plane.start_api_server()
    await make(server, [LAST.pod(LAST.pod_keys[0])])
    changes = list[Change]()
    query = {"watch": "true", "resourceVersion": since, "timeoutSeconds": str(int(TIMEOUT_S))}
    async with server.stream(PODS.all(), query, TIMEOUT_S) as stream:
        async for lines in stream:
            for change in map(_CHANGE.decode, lines):
                if change.object.metadata.name == f"{LAST.name}-0":
                    return changes
                changes.append(change)
    raise TimeoutError(f"the history did not end within {TIMEOUT_S:.0f} s; {len(changes)} changes came")


def breaches(changes: list[Change], allocatable_cpu: Mapping[str, int], gangs: Iterable[Gang]) -> list[str]:
    """What was ever wrong: a pod that moved, a node too full; and in the end a gang that has half of it."""
    found, pods, in_use = list[str](), dict[str, Pod](), Counter[str]()
    stories = defaultdict[str, list[str]](list)
    for change in changes:
        stories[change.object.metadata.name].append(_changes_of(change))
        pod, uid = change.object, change.object.metadata.uid
        before = pods.pop(uid, None)
        if before is not None:
            in_use[before.spec.node_name] -= before.cpu
            if before.spec.node_name not in ("", pod.spec.node_name):
                found.append(f"{_at(pod)} moved from {before.spec.node_name} to {pod.spec.node_name}")
        if change.type == "DELETED":
            continue
        pods[uid] = pod
        in_use[node := pod.spec.node_name] += pod.cpu
        if node and (before is None or not before.spec.node_name) and in_use[node] > allocatable_cpu[node]:
            found.append(f"{_at(pod)} was the pod too many of {node}: {in_use[node]} processors")
    bound = {pod.metadata.name for pod in pods.values() if pod.spec.node_name}
    for gang in gangs:
        for name in (key.partition("/")[2] for key in gang.pod_keys):
            if name not in bound:
                found.append(f"{name} has no node in the end: {', '.join(stories[name])}")
    return found


def binds(changes: Iterable[Change]) -> int:
    """How many pods got a node."""
    return len({change.object.metadata.uid for change in changes if change.object.spec.node_name})


def _changes_of(change: Change) -> str:
    pod = change.object
    words = (
        pod.metadata.resource_version,
        change.type,
        pod.metadata.uid[:4],
        pod.spec.node_name,
        pod.metadata.deletion_timestamp and "terminating",
        (victim_of := pod.metadata.annotations.get(EVICTED_FOR_ANNOTATION)) and f"for {victim_of}",
    )
    return " ".join(word for word in words if word)


def _at(pod: Pod) -> str:
    return f"at {pod.metadata.resource_version} {pod.metadata.name} ({pod.metadata.uid})"

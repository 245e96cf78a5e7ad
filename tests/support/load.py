"""Work by the thousand for a real cluster: nodes, queues and gangs, made as fast as the server takes them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from maar.core.model.kinds import to_json
from maar.core.model.node import Node
from maar.core.model.pod import GROUP_ANNOTATION, Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.queue import Queue
from maar.kube.api_server import ApiServer
from maar.kube.errors import ApiError
from maar.kube.outcome import Conflict, Done, Gone, Outcome
from maar.kube.paths import PODS, ResourcePath, resource_path_of
from maar.kube.write import create, patch
from maar.kube.writers import Writers
from support.control_plane import ControlPlane

CRDS: Final = Path(__file__).parents[2] / "deploy" / "crds"
NAMESPACE: Final = "default"
SIZE: Final = {"cpu": "32", "memory": "128Gi", "pods": "110"}


Document = dict[str, object]
Made = tuple[ResourcePath, str, Document]


@dataclass(frozen=True)
class Gang:
    """Pods that start together: as many as there are, unless fewer will do."""

    name: str
    queue: str = "default"
    pods: int = 10
    cpu: int = 1
    priority_class: str = ""
    scheduler: str = "volcano"
    grace_s: int = 0

    @property
    def key(self) -> str:
        """Where its group is."""
        return f"{NAMESPACE}/{self.name}"

    @property
    def pod_keys(self) -> list[str]:
        """Where its pods are."""
        return [f"{self.key}-{number}" for number in range(self.pods)]

    def group(self) -> Made:
        """The group, to be made."""
        spec = {"minMember": self.pods, "queue": self.queue, "priorityClassName": self.priority_class}
        place = resource_path_of(PodGroup)
        return place, self.key, _document("PodGroup", place, self.key, spec=spec)

    def pod(self, key: str) -> Made:
        """One of its pods, to be made."""
        requests = {"cpu": str(self.cpu), "memory": "1Gi"}
        spec = {
            "schedulerName": self.scheduler,
            "priorityClassName": self.priority_class,
            "terminationGracePeriodSeconds": self.grace_s,
            "restartPolicy": "Never",
            "containers": [{"name": "main", "image": "none", "resources": {"requests": requests}}],
        }
        return PODS, key, _document("Pod", PODS, key, {GROUP_ANNOTATION: self.name}, spec=spec)

    def documents(self) -> Iterator[Made]:
        """The group and its pods, to be made."""
        yield self.group()
        yield from map(self.pod, self.pod_keys)


def prepare(plane: ControlPlane) -> None:
    """Let a control plane know Maar's kinds, and have a place for its leases."""
    plane.kubectl("apply", "-f", str(CRDS))
    plane.kubectl("wait", "--for=condition=Established", "crd", "--all")
    plane.kubectl("create", "namespace", "maar-system")


def queue(name: str, **spec: object) -> Made:
    """A queue, to be made."""
    place = resource_path_of(Queue)
    return place, name, _document("Queue", place, name, spec={"weight": 1, **spec})


def priority_class(name: str, value: int) -> Made:
    """A priority class, to be made."""
    place = ResourcePath("scheduling.k8s.io/v1", "priorityclasses", namespaced=False)
    return place, name, _document("PriorityClass", place, name, value=value)


async def make_nodes(server: ApiServer, names: Iterable[str], size: Mapping[str, str] = SIZE) -> None:
    """Make nodes that take pods: admission taints a new node, and nobody here takes the taint away."""
    listed, place = list(names), resource_path_of(Node)
    status = {"capacity": size, "allocatable": size, "conditions": [{"type": "Ready", "status": "True"}]}
    await make(server, [(place, name, _document("Node", place, name, status=status)) for name in listed])
    async with Writers() as writers:
        failed = list[Outcome]()
        for name in listed:
            untaint = partial(patch, server, place, name, {"spec": {"taints": None}})
            writers.submit(name, untaint, partial(_note_failure, failed))
        await writers.idle()
    _refuse(failed)


async def make(server: ApiServer, documents: Iterable[Made]) -> None:
    """Make objects, many at a time; those that are there already stay as they are."""
    failed = list[Outcome]()
    async with Writers() as writers:
        for place, key, document in documents:
            write = partial(create, server, place, key, document)
            writers.submit((place, key), write, partial(_note_failure, failed))
        await writers.idle()
    _refuse(failed)


async def remove(server: ApiServer, pod: Pod) -> Outcome:
    """Take a pod away for good, as a kubelet does once it has ended."""
    body = to_json({"gracePeriodSeconds": 0, "preconditions": {"uid": pod.metadata.uid}})
    try:
        return Done(await server.request("DELETE", PODS.one(pod.key), None, body))
    except ApiError as error:
        return Gone(error.message)


def _document(
    kind: str, place: ResourcePath, key: str, annotations: Mapping[str, str] | None = None, **parts: object
) -> Document:
    namespace, name = place.split(key)
    metadata = {"name": name, "annotations": annotations or {}}
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": place.api_version, "kind": kind, "metadata": metadata, **parts}


def _note_failure(failed: list[Outcome], outcome: Outcome) -> None:
    if not isinstance(outcome, Done | Conflict):
        failed.append(outcome)


def _refuse(failed: list[Outcome]) -> None:
    if failed:
        raise RuntimeError(f"{len(failed)} objects could not be made, the first because of {failed[0]}")

"""Nodes that virtual pods run on, and the room of any: a total of requests, and refusals of more."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from maar.core.model.kinds import from_json
from maar.core.model.metadata import Record
from maar.core.model.node import Node, NodeStatus
from maar.core.model.node_sizes import NODE_LABEL
from maar.core.model.resources import CPU, MEMORY, PODS, Resources
from maar.embedded.store import Key, Store


class Shortage(NamedTuple):
    """What a pod lacks on its node, with the message of a kubelet."""

    resource: str
    requested: int
    used: int
    capacity: int

    @property
    def reason(self) -> str:
        """As in the status of the pod: OutOfcpu."""
        return f"OutOf{self.resource}"

    @property
    def message(self) -> str:
        """The numbers, CPUs in thousandths."""
        return (
            f"Node didn't have enough resource: {self.resource}, requested: {self.requested},"
            f" used: {self.used}, capacity: {self.capacity}"
        )


class NodeCapacity:
    """The allocatable of a node and what its pods, known by their uids, take of it."""

    __slots__ = ("_taken", "_taken_by", "allocatable")

    def __init__(self, allocatable: Resources) -> None:
        self.allocatable = allocatable
        self._taken: dict[str, int] = {}
        self._taken_by: dict[str, Resources] = {}

    def shortage(self, request: Resources) -> Shortage | None:
        """What a pod with this request would lack."""
        for resource in _in_order(request):
            wanted = request[resource]
            used, capacity = self._taken.get(resource, 0), self.allocatable.get(resource, 0)
            if wanted and used + wanted > capacity:
                return Shortage(resource, wanted, used, capacity)
        return None

    def take(self, uid: str, request: Resources) -> None:
        """Count a pod, whether it fits or not; a second time changes nothing."""
        if uid not in self._taken_by:
            self._taken_by[uid] = request
            for resource, units in request.items():
                self._taken[resource] = self._taken.get(resource, 0) + units

    def give_back(self, uid: str) -> None:
        """Count a pod no more."""
        for resource, units in self._taken_by.pop(uid, Resources()).items():
            self._taken[resource] -= units


def _in_order(request: Resources) -> Iterable[str]:
    """First what a kubelet looks at first."""
    first = (PODS, CPU, MEMORY)
    return [one for one in first if one in request] + [one for one in request if one not in first]


class _Address(Record, frozen=True):
    type: str = ""
    address: str = ""


class _Status(NodeStatus, frozen=True):
    addresses: tuple[_Address, ...] = ()


class HostNode(Node, frozen=True, tag="Node"):
    """A Node with its addresses."""

    status: _Status = _Status()


@dataclass(slots=True)
class Host:
    """A node, its capacity, and the pods there that the virtual kubelet runs."""

    name: str
    exists: bool = False
    kind: str = ""  # virtual, local, or of another kubelet
    ready: bool = False
    address: str = ""
    capacity: NodeCapacity = field(default_factory=lambda: NodeCapacity(Resources()))
    pods: set[Key] = field(default_factory=set)

    @property
    def is_ours(self) -> bool:
        """Whether the virtual kubelet runs its pods; it also does where there is no such node."""
        return self.kind == "virtual" or not self.exists


class Hosts:
    """Nodes by name, read from the store when a pod is bound to one."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._hosts: dict[str, Host] = {}

    def of(self, name: str) -> Host:
        """The node of that name."""
        return self._hosts.get(name) or self.refresh(name)

    def refresh(self, name: str) -> Host:
        """Read a node again; one that is gone is forgotten, and marked as gone where it is still used."""
        host = self._hosts.setdefault(name, Host(name))
        body = self._store.get(Key("nodes", "", name))
        host.exists = body is not None
        if body is None:
            host.kind, host.ready = "", False
            del self._hosts[name]
            return host
        node = from_json(HostNode, body)
        host.kind = node.metadata.labels.get(NODE_LABEL, "other")
        host.ready = any(condition.type == "Ready" for condition in node.status.conditions)
        host.address = next(
            (address.address for address in node.status.addresses if address.type == "InternalIP"), ""
        )
        host.capacity.allocatable = node.status.allocatable
        return host

"""The nodes that pods are bound to, as far as a virtual kubelet needs to know them."""

from dataclasses import dataclass, field

from maar.core.model.kinds import from_json
from maar.core.model.metadata import Record
from maar.core.model.node import Node, NodeStatus
from maar.core.model.node_sizes import NODE_LABEL
from maar.core.model.resources import Resources
from maar.embedded.nodes.node_capacity import NodeCapacity
from maar.embedded.store import Key, Store


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

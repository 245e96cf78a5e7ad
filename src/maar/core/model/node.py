"""The node: what it has to give, its labels and taints, and whether it is well."""

from typing import ClassVar

from maar.core.model.metadata import Condition, Object, Record
from maar.core.model.resources import Resources


class Taint(Record, frozen=True):
    """Keeps pods away that do not tolerate it."""

    key: str
    value: str = ""
    effect: str = ""

    def __str__(self) -> str:
        """As kubectl writes it."""
        value = f"={self.value}" if self.value else ""
        return f"{self.key}{value}:{self.effect}"


class NodeSpec(Record, frozen=True):
    """What users and controllers set on the node."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class NodeStatus(Record, frozen=True):
    """What the kubelet reports of the node."""

    allocatable: Resources = Resources()
    conditions: tuple[Condition, ...] = ()


class Node(Object, frozen=True, tag="Node"):
    """A node, with the fields that Maar reads."""

    api_version: ClassVar[str] = "v1"
    plural: ClassVar[str] = "nodes"
    namespaced: ClassVar[bool] = False

    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def is_ready(self) -> bool:
        """Whether the node says that it is Ready; one that says nothing is not."""
        return any(one.type == "Ready" and one.status == "True" for one in self.status.conditions)

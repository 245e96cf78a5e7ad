"""The capacity of a node: a running total of requests, and the refusal of what does not fit."""

from collections.abc import Iterable
from typing import NamedTuple

from maar.core.model.resources import CPU, MEMORY, PODS, Resources


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

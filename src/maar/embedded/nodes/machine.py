"""This machine as a node: what it has, what it gives, and which processors a container may use."""

import math
import os
import platform
import re
import socket
from collections.abc import Iterable
from typing import Final

from maar.core.model.node_sizes import MOST_PODS
from maar.core.model.resources import CPU, MEMORY, Resources
from maar.embedded.failures import Json
from maar.embedded.nodes.gpus import GPU
from maar.embedded.nodes.node import Machine, completed
from maar.embedded.nodes.pod_addresses import LOOPBACK

_ARCHITECTURES: Final = {"x86_64": "amd64", "aarch64": "arm64"}
_KEPT_MEMORY: Final = 512 << 20


def this_machine(name: str | None = None, gpus: int = 0) -> Json:
    """The Node manifest of this machine, with so many GPUs."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    capacity = Resources({CPU: 1000 * len(usable_cpus()), MEMORY: memory})
    devices = {GPU: str(gpus)} if gpus else {}
    kept = Resources({MEMORY: min(_KEPT_MEMORY, memory // 4)})  # no CPU: equal parts of whole CPUs stay whole
    node: Json = {
        "metadata": {"name": name or host_name()},
        "status": {
            "capacity": {**capacity.quantities(), **devices, "pods": MOST_PODS},
            "allocatable": {**capacity.minus(kept).quantities(), **devices, "pods": MOST_PODS},
        },
    }
    system, kind = platform.system(), platform.machine()
    return completed(
        node,
        "local",
        Machine(
            system.lower(),
            _ARCHITECTURES.get(kind, kind),
            f"{system} (this machine)",
            platform.release(),
            LOOPBACK,
        ),
    )


def host_name() -> str:
    """The name of this machine, as nodes are named."""
    return re.sub(r"[^a-z0-9.-]+", "-", socket.gethostname().lower()).strip("-.") or "local"


def usable_cpus() -> list[int]:
    """The processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


class Processors:
    """Shares out processors to containers with a limit: each time those that the fewest others have."""

    def __init__(self, numbers: Iterable[int]) -> None:
        self._users = dict.fromkeys(numbers, 0)

    def take(self, thousandths: int) -> list[int]:
        """As many processors as a limit reaches; none to choose where it reaches all."""
        number = math.ceil(thousandths / 1000)
        if not 0 < number < len(self._users):
            return []
        chosen = sorted(self._users, key=lambda user: (self._users[user], user))[:number]
        self.claim(chosen)
        return sorted(chosen)

    def claim(self, chosen: Iterable[int]) -> None:
        """Count a container that has these, before a restart of the server or now."""
        for one in self._users.keys() & set(chosen):
            self._users[one] += 1

    def give_back(self, chosen: Iterable[int]) -> None:
        """A container has ended."""
        for one in self._users.keys() & set(chosen):
            self._users[one] -= 1

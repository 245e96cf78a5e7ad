"""The GPUs of this machine: how they are found, and which pod has which; none is ever shared."""

import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from maar.core.model.node_sizes import BadNodesError
from maar.embedded.nodes.local_pod import LocalContainer, LocalPod

GPU: Final = "nvidia.com/gpu"
GPUS_ANNOTATION: Final = "maar.sh/gpus"

_VISIBLE: Final = "CUDA_VISIBLE_DEVICES"
_ORDER: Final = "CUDA_DEVICE_ORDER"
_DRIVER: Final = Path("/proc/driver/nvidia/gpus")
_TIMEOUT_S: Final = 20.0  # a driver that starts up takes its time


class Devices(NamedTuple):
    """The GPUs that pods may have, by number or UUID, and in which order CUDA counts them."""

    names: tuple[str, ...] = ()
    order: str = ""


def find_devices(asked: int | None, environment: Mapping[str, str] = os.environ) -> Devices:
    """The GPUs of this machine, or as many as are asked for, of those that this process may use."""
    visible = environment.get(_VISIBLE)
    if visible is None:
        number = _count() if asked is None else asked
        # Without this CUDA numbers the fastest first, and nvidia-smi and people otherwise.
        return Devices(tuple(map(str, range(number))), environment.get(_ORDER, "PCI_BUS_ID"))
    names = _listed(visible)
    if asked is None:
        asked = min(len(names), _count())
    if asked > len(names):
        raise BadNodesError(
            f"--local-gpus {asked}: {_VISIBLE} is {visible!r} and lets this process use {len(names)};"
            " ask for fewer, or unset it"
        )
    return Devices(names[:asked], environment.get(_ORDER, ""))


def _listed(visible: str) -> tuple[str, ...]:
    """The devices that a variable lists, as CUDA reads it: up to the first that is none."""
    names: list[str] = []
    for name in visible.split(","):
        if not (one := name.strip()) or one.startswith("-") or one == "NoDevFiles" or one in names:
            break
        names.append(one)
    return tuple(names)


def _count() -> int:
    if _DRIVER.is_dir():
        return sum(1 for _ in _DRIVER.iterdir())
    if (program := shutil.which("nvidia-smi")) is None:
        return 0
    try:
        listed = subprocess.run(  # noqa: S603  the driver's own program
            [program, "-L"], capture_output=True, text=True, timeout=_TIMEOUT_S, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return 0  # there is a driver without a device
    return sum(line.startswith("GPU ") for line in listed.stdout.splitlines())


class Gpus:
    """Which pod, known by its uid, has which GPU."""

    def __init__(self, devices: Devices) -> None:
        self._devices = devices
        self._holders: dict[str, str] = {}

    def take(self, uid: str, number: int) -> tuple[str, ...]:
        """So many GPUs that no other pod has; none where there are not enough."""
        free = [name for name in self._devices.names if name not in self._holders]
        chosen = tuple(free[:number]) if number <= len(free) else ()
        self._holders |= dict.fromkeys(chosen, uid)
        return chosen

    def claim(self, uid: str, names: Sequence[str]) -> str:
        """Take the GPUs that a pod had before a restart; gives what is in the way."""
        for name in names:
            if name not in self._devices.names:
                have = ", ".join(self._devices.names) or "none"
                return f"GPU {name}, which the pod had, is not on this node any more, which has {have}"
            if self._holders.get(name, uid) != uid:
                return f"GPU {name}, which the pod had, has been given to another pod"
        self._holders |= dict.fromkeys(names, uid)
        return ""

    def give_back(self, uid: str) -> None:
        """A pod has ended."""
        self._holders = {name: holder for name, holder in self._holders.items() if holder != uid}

    def variables(self, pod: LocalPod, container: LocalContainer) -> dict[str, str]:
        """What shows a container its GPUs and no others; nothing where the node has none."""
        if not self._devices.names:
            return {}
        mine = [name for name in self._devices.names if self._holders.get(name) == pod.metadata.uid]
        shown = {_VISIBLE: ",".join(_part(pod, container, mine))}
        return {**shown, _ORDER: self._devices.order} if self._devices.order else shown


def listed_gpus(pod: LocalPod) -> tuple[str, ...]:
    """The GPUs that a pod was given, as its annotation has them."""
    return _listed(pod.metadata.annotations.get(GPUS_ANNOTATION, ""))


def _part(pod: LocalPod, container: LocalContainer, names: Sequence[str]) -> Sequence[str]:
    """A container's share of its pod's GPUs; containers that run beside one another have different ones."""
    at = 0
    for one in pod.spec.init_containers:
        number = _wanted(one)
        if one.name == container.name:
            return names[at : at + number]
        if one.restart_policy == "Always":
            at += number
    for one in _before(pod.spec.containers, container):
        at += _wanted(one)
    return names[at : at + _wanted(container)]


def _before(containers: Iterable[LocalContainer], container: LocalContainer) -> Iterable[LocalContainer]:
    for one in containers:
        if one.name == container.name:
            return
        yield one


def _wanted(container: LocalContainer) -> int:
    return container.resources.request.get(GPU, 0)

"""The GPUs of this machine: how they are found, and which pod has which; none is ever shared."""

import os
import re
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
_MODEL: Final = re.compile(r"GPU \d+: (.*?)(?: \(UUID: .*\))?$")  # a line of nvidia-smi -L
_TIMEOUT_S: Final = 20.0  # a driver that starts up takes its time


class Devices(NamedTuple):
    """The GPUs that pods may have, by number or UUID, in which order CUDA counts them, and their models."""

    names: tuple[str, ...] = ()
    order: str = ""
    models: tuple[str, ...] = ()  # as the driver names them, each once; none where it names none

    @property
    def sentence(self) -> str:
        """The GPUs as people read them; empty where there are none."""
        if not self.names:
            return ""
        models = f" ({', '.join(self.models)})" if self.models else ""
        number = len(self.names)
        return f"{number} GPU{'' if number == 1 else 's'} available to pods: {', '.join(self.names)}{models}."


def find_devices(asked: int | None, environment: Mapping[str, str] = os.environ) -> Devices:
    """The GPUs of this machine, or as many as are asked for, of those that this process may use."""
    visible = environment.get(_VISIBLE)
    if visible is None:
        found = _models()
        number = len(found) if asked is None else asked
        # Without this CUDA numbers the fastest first, and nvidia-smi and people otherwise.
        order = environment.get(_ORDER, "PCI_BUS_ID")
        return Devices(tuple(map(str, range(number))), order, _each_once(found[:number]))
    names, found = _listed(visible), _models()
    if asked is None:
        asked = min(len(names), len(found))
    if asked > len(names):
        raise BadNodesError(
            f"--local-gpus {asked}: {_VISIBLE} is {visible!r} and lets this process use {len(names)};"
            " ask for fewer, or unset it"
        )
    models = _each_once(found) if len(set(found)) == 1 else ()  # which of several is not known here
    return Devices(names[:asked], environment.get(_ORDER, ""), models if asked else ())


def _listed(visible: str) -> tuple[str, ...]:
    """The devices that a variable lists, as CUDA reads it: up to the first that is none."""
    names: list[str] = []
    for name in visible.split(","):
        if (
            not (device := name.strip())
            or device.startswith("-")
            or device == "NoDevFiles"
            or device in names
        ):
            break
        names.append(device)
    return tuple(names)


def _models() -> list[str]:
    """The model of each GPU that the driver knows, in its order; empty where it does not say."""
    if _DRIVER.is_dir():
        return [_named(folder / "information") for folder in sorted(_DRIVER.iterdir())]
    if (program := shutil.which("nvidia-smi")) is None:
        return []
    try:
        listed = subprocess.run(  # noqa: S603  the driver's own program
            [program, "-L"], capture_output=True, text=True, timeout=_TIMEOUT_S, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return []  # there is a driver without a device
    return [_MODEL.sub(r"\1", line) for line in listed.stdout.splitlines() if line.startswith("GPU ")]


def _named(information: Path) -> str:
    """The model that the driver's file of a GPU names."""
    try:
        lines = information.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("Model:")), "")


def _each_once(models: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, models)))


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
    for earlier in pod.spec.init_containers:
        number = _wanted(earlier)
        if earlier.name == container.name:
            return names[at : at + number]
        if earlier.restart_policy == "Always":
            at += number
    for earlier in _before(pod.spec.containers, container):
        at += _wanted(earlier)
    return names[at : at + _wanted(container)]


def _before(containers: Iterable[LocalContainer], container: LocalContainer) -> Iterable[LocalContainer]:
    for earlier in containers:
        if earlier.name == container.name:
            return
        yield earlier


def _wanted(container: LocalContainer) -> int:
    return container.resources.request.get(GPU, 0)

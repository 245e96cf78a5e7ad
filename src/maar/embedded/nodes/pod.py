"""A pod that is bound to a node, with the fields that a node reads."""

from typing import Final

from maar.core.model import pod
from maar.core.model.kinds import from_json
from maar.core.model.metadata import Record, Time
from maar.core.model.pod import Container, Pod, PodSpec, PodStatus

FINISHED: Final = ("Succeeded", "Failed")


class NamedContainer(Container, frozen=True):
    """A container with what its status repeats."""

    image: str = ""


class BoundSpec(PodSpec, frozen=True):
    """What the pod asks for, with when it ends."""

    restart_policy: str = "Always"
    active_deadline_seconds: int | None = None
    containers: tuple[NamedContainer, ...] = ()
    init_containers: tuple[NamedContainer, ...] = ()


class Running(Record, frozen=True):
    """A container that runs."""

    started_at: Time | None = None


class Terminated(pod.Terminated, frozen=True):
    """A container that ran."""

    started_at: Time | None = None
    reason: str = ""


class Waiting(Record, frozen=True):
    """A container that does not run yet, or not again yet."""

    reason: str = ""
    message: str = ""


class State(pod.ContainerState, frozen=True):
    """One of the three, or nothing known."""

    running: Running | None = None
    terminated: Terminated | None = None
    waiting: Waiting | None = None


class ContainerStatus(pod.ContainerStatus, frozen=True):
    """How far a container has come."""

    name: str = ""
    state: State = State()
    last_state: State = State()


class BoundStatus(PodStatus, frozen=True):
    """How far the pod has come, container by container."""

    start_time: Time | None = None
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()


class BoundPod(Pod, frozen=True, tag="Pod"):
    """A pod as nodes read it."""

    spec: BoundSpec = BoundSpec()
    status: BoundStatus = BoundStatus()

    @property
    def folder_name(self) -> str:
        """What folders for it are called."""
        meta = self.metadata
        return f"{meta.namespace}_{meta.name}_{meta.uid}"


def read_pod(body: bytes) -> BoundPod:
    """Read a pod from its JSON."""
    return from_json(BoundPod, body)

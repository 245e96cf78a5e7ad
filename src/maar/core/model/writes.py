"""What is to be done to the cluster, in the imperative; the edge carries it out."""

from typing import Literal

from maar.core.model.metadata import Record
from maar.core.model.pod_group import PromisedRoom

EvictingAction = Literal["reclaim", "preempt", "cleanup"]


class Bind(Record, frozen=True, gc=False, tag=True, tag_field="write"):
    """Put a pod on a node."""

    pod: str
    node: str

    @property
    def subject(self) -> str:
        """What is written to."""
        return self.pod


class Evict(Record, frozen=True, tag=True, tag_field="write"):
    """Evict a pod, for a pod group or, in cleanup, for none."""

    pod: str
    action: EvictingAction
    beneficiary: str | None = None
    why: str = ""  # for people
    with_job: bool = False  # the controllers suspend its Job of batch/v1, which deletes its pods

    @property
    def subject(self) -> str:
        """What is written to."""
        return self.pod


class Nominate(Record, frozen=True, tag=True, tag_field="write"):
    """Promise a pod the room that is being freed on a node."""

    pod: str
    node: str

    @property
    def subject(self) -> str:
        """What is written to."""
        return self.pod


class RemoveGate(Record, frozen=True, tag=True, tag_field="write"):
    """Remove Volcano's scheduling gate from a pod: its queue has room for it."""

    pod: str

    @property
    def subject(self) -> str:
        """What is written to."""
        return self.pod


class Resume(Record, frozen=True, tag=True, tag_field="write"):
    """Promise room to the pods to come of Jobs that Maar suspended; the controllers then resume the Jobs."""

    pod_group: str
    room: PromisedRoom

    @property
    def subject(self) -> str:
        """What is written to."""
        return f"pod group {self.pod_group}"


class SelectNode(Record, frozen=True, tag=True, tag_field="write"):
    """Write to a claim on which node its first consumer will run, for its provisioner."""

    claim: str
    node: str

    @property
    def subject(self) -> str:
        """What is written to."""
        return f"claim {self.claim}"


class BindVolume(Record, frozen=True, tag=True, tag_field="write"):
    """Give a volume that is there already to a claim whose first consumer will run on a node."""

    volume: str
    claim: str
    node: str
    uid: str = ""  # of the claim
    version: str = ""  # of the volume as it was seen; another may have taken it since

    @property
    def subject(self) -> str:
        """What is written to."""
        return f"volume {self.volume}"


class SetStatus(Record, frozen=True, tag=True, tag_field="write"):
    """Change the status of an object: a merge patch of it, null where something goes; and annotations."""

    kind: str
    key: str
    status: dict[str, object]
    annotations: dict[str, str] = {}  # that say what the status has no field for
    version: str = ""  # of the object that it follows from: where it is another one, nothing is written


class Create(Record, frozen=True, tag=True, tag_field="write"):
    """Make an object; one that is there already is as good."""

    kind: str
    key: str
    document: dict[str, object]
    about: str = ""  # the key of the object that it is made for
    about_kind: str = "Pod"


class Ensure(Record, frozen=True, tag=True, tag_field="write"):
    """Make an object of a kind that is not watched; where its owner has it already, change it."""

    kind: str
    key: str
    document: dict[str, object]
    update: dict[str, object] | None  # a merge patch for one that is there; None: it stays as it is
    about: str  # the key of the job that owns it
    about_kind: str = "Job"


class Patch(Record, frozen=True, tag=True, tag_field="write"):
    """Change an object by a merge patch, null where something goes."""

    kind: str
    key: str
    patch: dict[str, object]


class Delete(Record, frozen=True, tag=True, tag_field="write"):
    """Delete the object that was seen; another one of its name stays."""

    kind: str
    key: str
    uid: str = ""
    about: str = ""  # the key of the job that owned it, for a kind that is not watched
    waits_for_dependents: bool = False  # it is there until what it owns is gone


class PodCheck(Record, frozen=True):
    """What to ask of a pod: whether it accepts a connection or, with a path, answers a request."""

    pod_uid: str
    address: str
    port: int
    path: str | None = None
    header: tuple[str, str] | None = None


class CheckPods(Record, frozen=True, tag=True, tag_field="write"):
    """Ask pods whether they answer, for the object of this key; nothing is changed."""

    kind: str
    key: str
    checks: tuple[PodCheck, ...]


class RecordEvent(Record, frozen=True, tag=True, tag_field="write"):
    """Record an event on an object, for people to read."""

    kind: str
    key: str
    reason: str
    message: str
    is_warning: bool = False


Selection = SelectNode | BindVolume  # how a claim gets its volume where its first consumer will run
Write = Bind | Evict | Nominate | RemoveGate | Resume | Selection  # what a plan asks for
ControllerWrite = (
    SetStatus | Create | Ensure | Patch | Delete | CheckPods | RecordEvent
)  # what controllers ask for

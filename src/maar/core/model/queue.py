"""The queue: a node of the tree that the cluster is shared over."""

from typing import ClassVar, Final, Literal

from maar.core.model.metadata import Condition, LabelSelector, ManagedFields, Metadata, Object, Record
from maar.core.model.resources import Percentages, Resources

ROOT: Final = "root"
DEFAULT: Final = "default"
ALWAYS_OPEN: Final = (ROOT, DEFAULT)  # they can be neither closed nor deleted

QueueState = Literal["Open", "Closing", "Closed", "Unknown"]


class Guarantee(Record, frozen=True):
    """The reservation: amounts and parts of the cluster's total; for the same resource the larger holds."""

    resource: Resources = Resources()
    percentage: Percentages = Percentages()


class QueueSpec(Record, frozen=True):
    """What the administrator wants of the queue."""

    parent: str = ""
    weight: int = 1
    priority: int = 0
    reclaimable: bool = True
    capability: Resources = Resources()
    guarantee: Guarantee = Guarantee()
    request: Resources | None = None
    deserved: Resources = Resources()
    state: str = ""
    dequeue_strategy: Literal["fifo", "traverse"] = "traverse"
    namespace_selector: LabelSelector | None = None
    preempt_min_runtime: str = ""
    reclaim_min_runtime: str = ""


class QueueSummary(Record, frozen=True):
    """Shares as people read them, rounded: kubectl can show a text, and cannot round a quantity."""

    deserved: str = ""
    used: str = ""


class QueueStatus(Record, frozen=True):
    """What Maar says of the queue."""

    state: QueueState | Literal[""] = ""
    deserved: Resources = Resources()
    real_capability: Resources = Resources()
    allocated: Resources = Resources()
    used: Resources = Resources()
    preempting: Resources = Resources()
    share: str = ""
    weight_factor: str = ""  # what past use makes of its weight; empty: nothing
    history: object = None  # past use, as in core/model/past_use.py; whatever is there harms nothing else
    summary: QueueSummary = QueueSummary()
    pending: int = 0
    inqueue: int = 0
    running: int = 0
    unknown: int = 0
    completed: int = 0
    conditions: tuple[Condition, ...] = ()


class QueueMetadata(Metadata, frozen=True):
    """Metadata of a queue, with who wrote which field: clients of Volcano write the status too."""

    managed_fields: tuple[ManagedFields, ...] = ()


class Queue(Object, frozen=True, tag="Queue"):
    """A queue of the tree; leaves hold work."""

    api_version: ClassVar[str] = "scheduling.volcano.sh/v1beta1"
    plural: ClassVar[str] = "queues"
    namespaced: ClassVar[bool] = False

    metadata: QueueMetadata = QueueMetadata()
    spec: QueueSpec = QueueSpec()
    status: QueueStatus = QueueStatus()

    @property
    def parent(self) -> str:
        """The queue above; one that names none is a child of the root."""
        return self.spec.parent or ROOT

    @property
    def is_asked_to_close(self) -> bool:
        """Whether it should close, and all below it; `root` and `default` are Open whatever they say."""
        return self.spec.state == "Closed" and self.metadata.name not in ALWAYS_OPEN

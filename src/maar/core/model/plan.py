"""The plan: what one cycle decides, as a value."""

from typing import Final, Literal

import msgspec

from maar.core.model.metadata import Condition, Record
from maar.core.model.pod_group import PodGroupPhase
from maar.core.model.queue import QueueState, QueueStatus, QueueSummary
from maar.core.model.reasons import Refusal
from maar.core.model.resources import Resources
from maar.core.model.writes import Bind, Evict, Nominate, RemoveGate, Resume, Selection

Share = float | Literal["inf"]  # JSON has no infinity
GUARANTEE_REDUCED: Final = "GuaranteeReduced"  # the condition of a queue whose guarantee is not all in force
Constraint = Literal["request", "capability", "guarantee", "soft guarantee", "fair share", "parent"]


def share_text(share: Share) -> str:
    """A share as statuses have it: two decimals, or inf."""
    return share if isinstance(share, str) else f"{share:.2f}"


class PastUseStanding(Record, frozen=True):
    """What past use makes of a weight, and the numbers that it follows from."""

    factor: float
    used: float  # part of what it and its siblings used, on the resource where that is largest
    entitled: float  # part that its weight entitles it to
    resource: str = ""
    half_life: str = ""

    @property
    def text(self) -> str:
        """The factor as people read it: 0.84; empty where it is 1."""
        return f"{round(self.factor, 2):g}" if self.factor != 1 else ""


class NamespaceStanding(Record, frozen=True):
    """How a namespace stands inside a queue: the numbers its order was taken from."""

    weight: int
    used: Resources
    share: Share
    past_use: PastUseStanding | None = None


class QueueStanding(Record, frozen=True):
    """How a queue stands: what it deserves and why, what it uses, and its state."""

    deserved: Resources
    real_capability: Resources
    allocated: Resources
    used: Resources
    preempting: Resources
    share: Share
    state: QueueState
    parent: str = ""
    weight: int = 1
    request: Resources = Resources()
    guarantee: Resources = Resources()  # as it is in force, those of the queues below included
    binding: dict[str, Constraint] = {}
    conditions: tuple[Condition, ...] = ()
    namespaces: dict[str, NamespaceStanding] = {}
    past_use: PastUseStanding | None = None
    history: dict[str, object] | None = None  # None: the plugin usage is not configured

    def status(self, old: QueueStatus) -> QueueStatus:
        """A queue's status with its shares as they are now; the rest of it stays."""
        return msgspec.structs.replace(
            old,
            deserved=self.deserved,
            real_capability=self.real_capability,
            allocated=self.allocated,
            used=self.used,
            preempting=self.preempting,
            share=share_text(self.share),
            weight_factor=self.past_use.text if self.past_use is not None else "",
            history=old.history if self.history is None else self.history or None,
            summary=QueueSummary(deserved=self.deserved.summary(), used=self.used.summary()),
        )


class GroupOutcome(Record, frozen=True):
    """What becomes of a pod group in this cycle, and what holds it where something does."""

    phase: PodGroupPhase
    refusal: Refusal | None = None
    message: str = ""
    is_unschedulable: bool = False


class RoomHold(Record, frozen=True):
    """Room that is held for a pod group: when it starts, where that is known, and its pods on each node."""

    pod_group: str
    start: float | None
    nodes: dict[str, int]


class Plan(Record, frozen=True):
    """One decision for the whole cluster; names are keys of objects."""

    queues: dict[str, QueueStanding] = {}
    binds: tuple[Bind, ...] = ()
    evictions: tuple[Evict, ...] = ()
    nominations: tuple[Nominate, ...] = ()
    selections: tuple[Selection, ...] = ()
    resumptions: tuple[Resume, ...] = ()
    gate_removals: tuple[RemoveGate, ...] = ()
    pod_groups: dict[str, GroupOutcome] = {}
    held_room: tuple[RoomHold, ...] = ()
    decide_again_at: float | None = None  # time alone may change the decision then

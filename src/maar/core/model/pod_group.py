"""The pod group: pods that start together or not at all."""

from typing import ClassVar, Final, Literal

import msgspec

from maar.core.model.metadata import Object, Record, Time
from maar.core.model.queue import DEFAULT
from maar.core.model.resources import Resources

READY_ANNOTATION: Final = "maar.sh/last-ready-min-member"  # the minMember that it was last ready with

# How long a group may wait after its admission before room is held for it; Volcano's names.
SLA_ANNOTATIONS: Final = ("sla-waiting-time", "volcano.sh/sla-waiting-time")

_DIGITS: Final = 9  # of a number of pods

# Since when the owner of a group's pods exists, on groups that Maar makes. Controllers make pods side by
# side, and Maar groups for them, so that their own times of creation are not in the order of their owners'.
OWNER_SINCE_ANNOTATION: Final = "maar.sh/owner-since"
LONGEST_BEFORE_S: Final = 60.0  # by which an owner's age counts: what is scaled up later comes later

# Room that is promised to pods which do not exist yet: those of Jobs that Maar suspended and now resumes.
PROMISED_ROOM_ANNOTATION: Final = "maar.sh/promised-room"

PodGroupPhase = Literal["Pending", "Inqueue", "Running", "Unknown", "Completed"]


class NetworkTopology(Record, frozen=True):
    """How near to each other pods must run; it is passed on, and nothing here places pods by it."""

    mode: str = ""
    highest_tier_allowed: int | None = None
    highest_tier_name: str = ""


class PodGroupSpec(Record, frozen=True):
    """How many pods make the group ready, in which queue, and what they ask for together."""

    min_member: int = 0
    min_task_member: dict[str, int] = {}
    queue: str = DEFAULT
    priority_class_name: str = ""
    min_resources: Resources | None = None
    network_topology: NetworkTopology | None = None

    @property
    def binding_tasks(self) -> dict[str, int]:
        """The minimum of each task; as in Volcano it binds where minMember is no less than all together.

        Otherwise a job that may start with a few of its pods could start with all of them only.
        """
        return self.min_task_member if self.min_member >= sum(self.min_task_member.values()) else {}


class PodGroupCondition(Record, frozen=True):
    """A condition with Volcano's extra field, the cycle that wrote it."""

    type: str
    status: Literal["True", "False", "Unknown"]
    reason: str = ""
    message: str = ""
    last_transition_time: Time | None = None
    transition_id: str = msgspec.field(default="", name="transitionID")


class PlannedStartStatus(Record, frozen=True):
    """When the group starts if nothing else happens; without a time nobody knows."""

    time: Time | None = None
    certainty: Literal["exact", "bound", "unknown"] = "unknown"
    because: str = ""


class PodGroupStatus(Record, frozen=True):
    """How far the group has come."""

    phase: PodGroupPhase | Literal[""] = ""
    conditions: tuple[PodGroupCondition, ...] = ()
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    planned_start: PlannedStartStatus | None = None  # while it waits; it is worked out now and then

    @property
    def is_waiting(self) -> bool:
        """Whether it has not started; one that nobody has looked at yet has no phase."""
        return self.phase in ("", "Pending", "Inqueue")


class PromiseToJob(Record, frozen=True):
    """The nodes that the pods to come of a Job are promised, and the generation that is resumed."""

    generation: int
    nodes: dict[str, int]

    def is_for(self, generation: int) -> bool:
        """Whether it is for a Job of this generation; to resume it makes the next one."""
        return self.generation <= generation <= self.generation + 1


class PromisedRoom(Record, frozen=True):
    """Until when which Jobs of a group, by name, are promised room; until then they are resumed."""

    until: Time
    jobs: dict[str, PromiseToJob]


_PROMISED_ROOM: Final = msgspec.json.Decoder(PromisedRoom)


class PodGroup(Object, frozen=True, tag="PodGroup"):
    """Pods that start together or not at all."""

    api_version: ClassVar[str] = "scheduling.volcano.sh/v1beta1"
    plural: ClassVar[str] = "podgroups"
    namespaced: ClassVar[bool] = True

    spec: PodGroupSpec = PodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()

    @property
    def standing_minimum(self) -> int:
        """The minMember that it was last ready with, where that was less than it is now."""
        least, last = self.spec.min_member, self.metadata.annotations.get(READY_ANNOTATION, "")
        return (
            min(least, int(last)) if last.isascii() and last.isdecimal() and len(last) <= _DIGITS else least
        )

    @property
    def promised_room(self) -> PromisedRoom | None:
        """The room that its pods to come are promised; None where there is none, or it cannot be read."""
        text = self.metadata.annotations.get(PROMISED_ROOM_ANNOTATION)
        if not text:
            return None
        try:
            return _PROMISED_ROOM.decode(text)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return None

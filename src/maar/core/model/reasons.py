"""Why something did not happen: a closed enumeration, and the evidence that makes a sentence of it."""

from enum import StrEnum, unique

from maar.core.model.metadata import Record


@unique
class Reason(StrEnum):
    """Everything that can hold a pod group or a pod; named as in Volcano where it has a name."""

    BAD_OBJECT = "BadObject"
    POD_GROUP_MISSING = "PodGroupMissing"
    QUEUE_MISSING = "QueueMissing"
    QUEUE_NOT_LEAF = "QueueNotLeaf"
    QUEUE_SET_ASIDE = "QueueSetAside"
    NOT_ENOUGH_TASKS = "NotEnoughTasks"
    NOT_ENOUGH_PODS_OF_TASK = "NotEnoughPodsOfTask"
    SCHEDULING_GATED = "SchedulingGated"
    CLUSTER_OVERCOMMITTED = "ClusterOvercommitted"
    QUEUE_AT_CAPABILITY = "QueueAtCapability"
    QUEUE_AT_FAIR_SHARE = "QueueAtFairShare"
    RESERVED_FOR_OTHERS = "ReservedForOthers"
    BEHIND_FIRST_IN_QUEUE = "BehindFirstInQueue"
    NOT_ENOUGH_RESOURCES = "NotEnoughResources"
    NO_NODE_FITS = "NoNodeFits"
    CLAIM_NOT_BOUND = "ClaimNotBound"
    RESOURCE_CLAIM = "ResourceClaim"
    WAITING_FOR_VICTIMS = "WaitingForVictims"
    GUARANTEE_BLOCKED = "GuaranteeBlocked"
    ROOM_HELD = "RoomHeld"
    PLANNED_START = "PlannedStart"
    VICTIMS_PROTECTED_UNTIL = "VictimsProtectedUntil"


@unique
class Cure(StrEnum):
    """What would let a group start, or let it wait for something else."""

    OTHERS_FINISH = "others finish"
    SHARE_GROWS = "its queue's share grows"
    LIMIT_CHANGES = "a ceiling or a reservation changes"
    OTHER_NODES = "other nodes come"
    TIME_PASSES = "time passes"
    SOMEBODY_ACTS = "somebody acts"
    NEVER = "never on this cluster"  # not even if it were alone there


class Shortage(Record, frozen=True):
    """A resource of which a queue, or the cluster, has too little left."""

    resource: str
    wanted: int
    used: int
    limit: int

    @property
    def available(self) -> int:
        """What is left."""
        return max(0, self.limit - self.used)


Gist = tuple[Reason, Cure, bool]


class Refusal(Record, frozen=True):
    """A refusal with its evidence; fields that the reason does not need are left out."""

    reason: Reason
    cure: Cure = Cure.OTHERS_FINISH
    more_nodes_help: bool = False  # a cluster autoscaler should add nodes
    queue: str = ""
    shortages: tuple[Shortage, ...] = ()
    others: tuple[str, ...] = ()
    wanted: int = 0  # pods that start together
    available: int = 0  # those of them that exist, or that there is room for
    nodes: int = 0  # of the cluster
    taking: int = 0  # those of them that take at least one of the pods
    clauses: tuple[tuple[int, str], ...] = ()  # how many nodes do not take a pod, and why
    until: float | None = None  # when it ends, if nothing else changes; None: not known
    further: tuple["Refusal", ...] = ()  # other limits that are in the way as well

    @property
    def gist(self) -> Gist:
        """The parts whose change is reported to users; numbers change all the time."""
        return (self.reason, self.cure, self.more_nodes_help)

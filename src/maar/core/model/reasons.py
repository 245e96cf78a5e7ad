"""Why something did not happen: a closed enumeration, and the evidence that makes a sentence of it."""

from collections.abc import Mapping
from enum import StrEnum, unique
from typing import Final

import msgspec

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
    EXCEEDED_QUOTA = "ExceededQuota"
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


# Advice for whoever sees the reason; the sentence beside it has the names and the numbers.
WHAT_TO_DO: Final[Mapping[Reason, str]] = {
    Reason.BAD_OBJECT: "Correct the field that the sentence names, and apply the object again.",
    Reason.POD_GROUP_MISSING: (
        "Create the pod group, or correct the annotation of the pods that names it. Where none was made for "
        "them, see whether the controllers run."
    ),
    Reason.QUEUE_MISSING: (
        "Create the queue, or name one that exists; `maar queue list` has them. It goes on by itself then."
    ),
    Reason.QUEUE_NOT_LEAF: "Name one of the queues below it: queues with children run nothing themselves.",
    Reason.QUEUE_SET_ASIDE: (
        "Ask the owners of the queue to correct what the sentence names: a missing parent, or a circle."
    ),
    Reason.NOT_ENOUGH_TASKS: (
        "See why the controller of the job does not create the missing pods: a quota, an admission webhook, "
        "or a minMember that is larger than the job."
    ),
    Reason.NOT_ENOUGH_PODS_OF_TASK: (
        "See why pods of this task are missing, or lower its minimum: minAvailable of the task, or "
        "minTaskMember of the pod group."
    ),
    Reason.EXCEEDED_QUOTA: (
        "Raise the ResourceQuota that is named (`kubectl describe quota`), delete what else uses it, or ask "
        "for less: its missing pods cannot be created before."
    ),
    Reason.SCHEDULING_GATED: (
        "Find out who set the gates (`spec.schedulingGates` of the pods): they have to remove them. Only the "
        "gate of Volcano's queues is removed by Maar, when the queue has room for the pods."
    ),
    Reason.CLUSTER_OVERCOMMITTED: (
        "Wait: it is admitted when others finish. The argument overcommit-factor lets more in at once, which "
        "starts nothing earlier."
    ),
    Reason.QUEUE_AT_CAPABILITY: (
        "Wait for work of the queue to finish, ask for a larger capability of the queue that is named, or "
        "use another queue. Where it says never, ask for less."
    ),
    Reason.QUEUE_AT_FAIR_SHARE: (
        "Wait: others are entitled to what they have. `maar queue explain` says why; a larger weight, or "
        "a guarantee (a soft one is spec.deserved), changes it for good."
    ),
    Reason.RESERVED_FOR_OTHERS: (
        "Wait for others of your queue to finish, or ask the owners of the reservation that is named to "
        "lower it: what is reserved stays idle for them."
    ),
    Reason.BEHIND_FIRST_IN_QUEUE: (
        "See what the group before it waits for (`maar explain`); where that one never starts, delete it."
    ),
    Reason.NOT_ENOUGH_RESOURCES: (
        "Wait for others to finish, add nodes, or ask for less in each pod. `maar explain` has the smallest "
        "change that would start it."
    ),
    Reason.NO_NODE_FITS: (
        "Compare what the pods ask for with the nodes: the sentence counts the nodes by what is in the way "
        "(size, taints, selectors, affinity, ports). Change the pods, or add a node that suits."
    ),
    Reason.CLAIM_NOT_BOUND: (
        "Create the volume claim, or see why it is not bound: `kubectl describe pvc` says so."
    ),
    Reason.RESOURCE_CLAIM: (
        "Ask for devices as resources of containers (nvidia.com/gpu): Maar does not allocate resource claims."
    ),
    Reason.WAITING_FOR_VICTIMS: (
        "Wait: it starts when the pods that are named have ended, within their grace period at most."
    ),
    Reason.GUARANTEE_BLOCKED: (
        "Wait, or let go of what protects the pods that are named: a disruption budget, an annotation, or a "
        "queue that is not reclaimable."
    ),
    Reason.ROOM_HELD: (
        "Wait, or say how long the pods run (annotation maar.sh/expected-runtime): what ends before the room "
        "is needed may start now."
    ),
    Reason.PLANNED_START: "Wait: room is held for it already, and the sentence says when it starts.",
    Reason.VICTIMS_PROTECTED_UNTIL: (
        "Wait until the time that is named, or ask the owners of the queue to lower its minimum run times."
    ),
}


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
    circle: tuple[
        str, ...
    ] = ()  # half gangs that wait for each other; the first starts with what others hold
    further: tuple["Refusal", ...] = ()  # other limits that are in the way as well

    @property
    def gist(self) -> Gist:
        """The parts whose change is reported to users; numbers change all the time."""
        return (self.reason, self.cure, self.more_nodes_help)

    def with_all(self, **changes: object) -> "Refusal":
        """The same with something else in it, and in all that it names further."""
        further = tuple(msgspec.structs.replace(one, **changes) for one in self.further)
        return msgspec.structs.replace(self, further=further, **changes)

    def with_limit_of(self, other: "Refusal") -> "Refusal":
        """The same with what another says of a queue, beside what this one says of the nodes."""
        fields = ("reason", "cure", "queue", "shortages", "others", "further")
        return msgspec.structs.replace(self, **{name: getattr(other, name) for name in fields})

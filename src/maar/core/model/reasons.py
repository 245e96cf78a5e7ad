"""Why something did not happen: a closed enumeration, and the evidence that makes a sentence of it."""

from enum import StrEnum, unique

from maar.core.model.metadata import Record


@unique
class Reason(StrEnum):
    """Everything that can hold a pod group or a pod; Volcano's word where it has one."""

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

    @property
    def wants_nodes(self) -> bool:
        """Whether another node would help, so that a cluster autoscaler should hear of it."""
        return self in (Reason.NOT_ENOUGH_RESOURCES, Reason.NO_NODE_FITS)


class Held(Record, frozen=True):
    """A refusal with its evidence; what does not bear on the reason is left out."""

    reason: Reason
    queue: str = ""
    resource: str = ""
    wanted: int = 0
    available: int = 0
    others: tuple[str, ...] = ()

"""The rows of the tables: pods, pod groups, nodes and queues as decisions read them.

Nodes, queues and groups carry one number per resource of the axis; pods ask through their shape.
"""

from collections import Counter
from dataclasses import dataclass, field, fields
from itertools import takewhile
from operator import attrgetter
from typing import Final, Literal, NamedTuple

from maar.core.model.affinity import Toleration
from maar.core.model.node import Taint
from maar.core.model.pod_group import PodGroupPhase, PromisedRoom
from maar.core.model.queue import Queue
from maar.core.tables.axis import Needs
from maar.core.tables.shapes import Labels, Shape

Column = list[int]  # [R]
AmountColumn = tuple[int, ...]  # a column that is not changed any more; where it ends, zeros follow
# Which pod of a group is placed first, and evicted last: the higher priority, the lower number, the one that
# others depend on, the older, the first by name.
PodOrder = tuple[int, int, bool, float, str]
# Which pod group came first: the older, then by the name of its owner, or its own where it has none. Times
# are whole seconds, so that one `kubectl apply` makes many of one age.
GroupOrder = tuple[float, str, str]
QueueGate = Literal["", "closed", "removed"]  # of a pod: no other gate keeps it, or it was removed
NO_TASKS: Final[dict[str, int]] = {}  # of the many groups in which no task has a minimum; not to be changed


@dataclass(slots=True, eq=False)
class NodeRow:
    """A node: what it has, what is on it, and what will be once the leaving are gone and promises kept."""

    name: str
    labels: dict[str, str]
    taints: tuple[Taint, ...]
    is_ready: bool
    is_schedulable: bool
    allocatable: Column
    now: Column  # held by pods on it, the terminating included
    later: Column  # held by pods on it that stay, and by pods it is promised to
    daemons: Column  # held by pods that come with the node: of DaemonSets and static ones, in no leaf queue
    index: int = -1  # its place among the nodes by name
    pods: "dict[str, PodRow]" = field(default_factory=dict)
    is_tolerated: bool = True  # a live pod of a leaf queue tolerates its taints

    @property
    def looks(self) -> tuple[object, ...]:
        """What decisions depend on, other than the pods on it."""
        return (self.labels, self.taints, self.is_ready, self.is_schedulable, self.allocatable)

    @property
    def columns(self) -> tuple[Column, ...]:
        """Its columns; each grows when a resource is seen for the first time."""
        return (self.allocatable, self.now, self.later, self.daemons)

    @property
    def is_usable(self) -> bool:
        """Whether pods may be placed on it."""
        return self.is_ready and self.is_schedulable

    @property
    def is_shared(self) -> bool:
        """Whether what it has is in the budget."""
        return self.is_ready and self.is_schedulable and self.is_tolerated


@dataclass(slots=True, eq=False)
class PodRow:
    """A pod, with what decisions ask about it."""

    key: str
    namespace: str
    group_key: str  # empty: it names no group
    shape: Shape
    labels: Labels
    stated_priority: int | None  # None: it has that of its class, or else of its group
    priority_class: str
    number: int  # in its group
    is_lead: bool  # the others of its group depend on it
    created: float
    task: str
    node_name: str
    nominated: str  # the node that its status names; room there is promised to it
    is_live: bool  # neither succeeded nor failed
    is_running: bool
    has_succeeded: bool
    is_terminating: bool
    is_gated: bool
    queue_gate: QueueGate
    is_critical: bool  # system-critical, or in kube-system
    never_preempts: bool
    preemptable: str | None  # as an annotation or a label says; None: as for its group
    evicted_for: str  # the key of the group that gets its room, while it terminates
    is_ours: bool  # for our scheduler to place, or without a scheduler name
    names_us: bool  # for our scheduler, by its name
    is_daemon: bool  # comes with its node: a DaemonSet made it, or the kubelet itself
    uid: str = ""
    owner: str = ""  # the name of its controller
    batch_job: str = ""  # the uid of its controller, where that is a Job of batch/v1
    index_failures: int = 0  # of the pods of its index before it
    is_to_come: bool = False  # its Job of batch/v1 is suspended, or was just resumed, and will make it
    started: float | None = None  # on its node
    ran_for: float | None = None  # in seconds, where it has succeeded
    stated_run_time: float | None = None  # in seconds, as its annotation says
    longest_run_time: float | None = None  # after which it is ended
    priority: int = 0
    order: PodOrder = (0, 0, False, 0.0, "")
    group: "GroupRow | None" = None
    counted: "Counted | None" = None  # None: it has ended, or has no node that exists
    promised_with_job: str = ""  # the node that it is promised as one of the pods to come of its Job

    @property
    def promised(self) -> str:
        """The node that it is promised."""
        return self.nominated or self.promised_with_job

    def decides_like(self, other: "PodRow") -> bool:
        """Whether the objects that both were read from are the same to any decision."""
        return bool(_read(self) == _read(other))


_WORKED_OUT: Final = ("priority", "order", "group", "counted", "promised_with_job")
_read: Final = attrgetter(*[one.name for one in fields(PodRow) if one.name not in _WORKED_OUT])


@dataclass(slots=True, eq=False)
class Counted:
    """Where a pod is counted, so that it can be taken out again whatever has changed since."""

    node: NodeRow
    is_now: bool  # on the node
    is_later: bool  # and staying, or promised
    leaf: "QueueRow | None"  # None: its group is in no leaf, or the node is not ready
    is_used: bool  # in `used` of the leaf and of its namespace there
    is_status_used: bool  # in `status_used` of the leaf
    budget: int  # +1: its room was added to the budget, -1: taken from it


class Holding(NamedTuple):
    """What groups with pods on nodes have in common: how they may give way."""

    namespace: str
    priority: int
    is_short: bool  # fewer pods than minMember count
    has_surplus: bool  # more of them do
    is_plain: bool  # minMember alone says what may go
    is_quiet: bool  # no pod of it waits or is gated, and it was let in: nothing is to be said about it


@dataclass(slots=True, eq=False)
class GroupRow:
    """A pod group and its pods."""

    key: str
    namespace: str
    queue_name: str
    min_member: int
    standing_minimum: int  # minMember, or what it was last ready with where that is less
    min_task_member: dict[str, int]  # empty where minMember is less than the minima together
    min_resources: Needs | None
    priority_class: str
    stored_phase: PodGroupPhase
    created: float
    owner: str  # the name of its controller; groups that Maar makes are named after uids
    order: GroupOrder
    preemptable: str | None
    unschedulable_since: float | None
    admitted_since: float | None = None  # where it was admitted and did not start at once
    holds_since: float | None = None  # where room is held for it
    sla_waiting_time: float | None = None  # in seconds
    stated_run_time: float | None = None  # of its pods, in seconds
    promised_room: PromisedRoom | None = None  # to pods to come
    # From here on it is worked out; what is above is read from the object.
    priority: int = 0
    phase: PodGroupPhase = "Pending"  # at the start of a cycle; it follows the pods, then the stored phase
    phase_if_well: PodGroupPhase = "Pending"  # after a cycle that does nothing to it and finds it well
    pods: dict[str, PodRow] = field(default_factory=dict)
    leaf: "QueueRow | None" = None
    pending: list[PodRow] = field(default_factory=list)  # without a place, in the order in which they get one
    gated: int = 0  # pods that must not be placed yet
    has_queue_gate: bool = False  # a pod without a node has Volcano's scheduling gate, or had it
    placed: int = 0  # pods that count towards minMember
    on_nodes: int = 0  # pods with a node, whether they stay there or not
    stays: int = 0  # those that are live and not leaving
    tasks: dict[str, int] = field(default_factory=lambda: NO_TASKS)  # those of each task that has a minimum
    used: AmountColumn = ()  # by its pods, as in `QueueRow.used`
    to_start: Needs | None = None  # what enqueue wants room for; None: it is admitted without
    asked: AmountColumn = ()  # of its leaf: the larger of that and live pods
    admitted: AmountColumn = ()  # of its leaf, while pods of it hold something
    tolerations: frozenset[tuple[Toleration, ...]] = frozenset()  # that live pods of it have
    counted_in: "QueueRow | None" = None  # where asked and admitted were added
    held_as: Holding | None = None  # where it is among the holders of that queue
    to_come: int = 0  # pods of suspended Jobs of batch/v1, which do not exist
    suspended_for: str | None = None  # what a Job of its pods is suspended for, where Maar has suspended it

    @property
    def title(self) -> str:
        """As people name it: by its job or other owner, where it has one."""
        return f"{self.namespace}/{self.owner}" if self.owner else self.key

    def is_of_spec(self, other: "GroupRow") -> bool:
        """Whether the objects that both were read from differ in their status alone."""
        return bool(_spec(self) == _spec(other))

    def take_over(self, other: "GroupRow") -> None:
        """Have the pods of another row of the group, and be counted where that was; it is summed up again."""
        self.priority, self.pods, self.leaf = other.priority, other.pods, other.leaf
        self.counted_in, self.tolerations = other.counted_in, other.tolerations
        self.asked, self.admitted, self.held_as = other.asked, other.admitted, other.held_as
        self.to_come, self.suspended_for = other.to_come, other.suspended_for
        for pod in self.pods.values():
            pod.group = self


_STATUS: Final = (
    "standing_minimum", "stored_phase", "unschedulable_since", "admitted_since", "holds_since",
    "promised_room",
)  # fmt: skip
_all_read: Final = takewhile(lambda name: name != "priority", [one.name for one in fields(GroupRow)])
_spec: Final = attrgetter(*[name for name in _all_read if name not in _STATUS])


class MinRuntime(NamedTuple):
    """For how long the pods of a queue are protected from an action, and the queue that says so."""

    seconds: float
    queue: str


NO_MIN_RUNTIMES: Final[dict[str, MinRuntime]] = {}  # of the many queues without; not to be changed


@dataclass(slots=True, eq=False)
class QueueRow:
    """A queue: its object, and for a leaf what its groups and pods request, hold and were admitted with."""

    queue: Queue
    order: str  # its name as a person sorts names
    index: int = -1  # its column in the tree; -1 while it is set aside
    is_leaf: bool = False
    # By action: its own minimum run time, or that of the nearest queue above that sets one.
    min_runtimes: dict[str, MinRuntime] = field(default_factory=lambda: NO_MIN_RUNTIMES)
    used: Column = field(default_factory=list)  # by pods that stay on nodes, and by promised ones
    status_used: Column = field(default_factory=list)  # by pods on nodes, the terminating included
    asked: Column = field(default_factory=list)  # `GroupRow.asked` of its groups together
    admitted: Column = field(default_factory=list)  # `GroupRow.admitted` of its groups together
    groups: dict[str, GroupRow] = field(default_factory=dict)
    holders: dict[Holding, dict[str, GroupRow]] = field(default_factory=dict)  # groups with pods on nodes
    namespaces: dict[str, Column] = field(default_factory=dict)  # what each namespace uses here
    members: Counter[str] = field(default_factory=Counter)  # groups by namespace
    changes: int = 0  # counts changes to what its pods hold and to its members

    @property
    def columns(self) -> tuple[Column, ...]:
        """Its columns; each grows when a resource is seen for the first time."""
        return (self.used, self.status_used, self.asked, self.admitted, *self.namespaces.values())

    @property
    def name(self) -> str:
        """The queue's name."""
        return self.queue.metadata.name

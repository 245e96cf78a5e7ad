"""Outcomes of groups that wait, used again while the evidence for them stays the same.

The problem. Thousands of groups wait, and every cycle says of each why, with numbers. Between two
cycles a few pods end and a few start: the numbers of one or two queues change, and the room on a
few nodes.

How it works. All groups of a class (`cycle/classes.py`) have one outcome. The memory of the engine
keeps it with its evidence: all that the reason, its numbers and its sentence are computed from. In
the next cycle the evidence is made again and compared. It has four parts:

- what stays the same as long as nodes, queues and the configuration do (`_Basis`);
- of the leaf and the queues above it: what they use, deserve and may use, and which siblings use
  something;
- of the nodes: how they are counted for the shape, and how much is idle on them at most;
- of the cluster as a whole, whose use changes all the time: whether it deserves to use as much
  more.

Equal evidence of one leaf, or of one shape, is the same object as in the last cycle, so that the
comparison for a kind takes about a microsecond.

Invariants. Nothing that `diagnosis.py`, `refusals.py` and `sentences.py` read for such a group is
missing from the evidence; whoever lets them read more adds it here. A property compares engines
that have lived through many cycles with new ones.

Where queues have guarantees, what is reserved for others limits a group too, up to the cluster as a
whole, whose reserved amounts change all the time. A leaf has a most that it may use more of a
resource before it takes what is reserved for others. Below that nothing is said of it, nor where
more is asked for than is idle in the whole cluster; in between its numbers are evidence.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from operator import gt
from typing import Final, cast

import numpy as np

from maar.core.cycle.inspect import Block, GroupClass, GroupState, Inspection, QueueLedger, for_next_turn
from maar.core.fairshare.share_out import UNLIMITED
from maar.core.fairshare.water_fill import Ints
from maar.core.model.plan import GroupOutcome
from maar.core.model.reasons import Reason
from maar.core.reasons.counted_nodes import CountedNodes
from maar.core.reasons.diagnosis import Diagnosis
from maar.core.tables.counting import together
from maar.core.tables.rows import Column, PodRow
from maar.core.tables.shapes import Shape

_OF_MISSING_PODS: Final = (Reason.NOT_ENOUGH_TASKS, Reason.EXCEEDED_QUOTA)
_MANY: Final = 50  # nodes that have changed; from here on all are counted again


@dataclass(eq=False)
class _Basis:
    """What is the same for all groups, and parts of the evidence that depend on nothing else that changes."""

    objects: tuple[object, ...]
    values: tuple[object, ...]
    leaves: dict[int, object] = field(default_factory=dict)
    shapes: dict[Shape, CountedNodes] = field(default_factory=dict)
    idle: Ints | None = None  # [R, N] that the nodes were counted with
    starting_alone: set[object] = field(default_factory=set)  # see `Diagnosis`

    def is_like(self, other: "_Basis") -> bool:
        """Whether both have the very same objects, and equal values."""
        return all(map(_is_same, self.objects, other.objects)) and self.values == other.values


class KnownOutcomes:
    """What the last cycle found out, as far as it is still so."""

    def __init__(self, inspection: Inspection, diagnosis: Diagnosis) -> None:
        self.inspection, self.diagnosis = inspection, diagnosis
        self._answers = inspection.answers("outcomes")
        self._is_used, self._is_prepared = not diagnosis.holds, False

    def _prepare(self, ledger: QueueLedger) -> None:
        """Compare what all evidence has in common; done when the first group is asked about."""
        self._is_prepared = True
        tables, nodes = self.inspection.tables, self.inspection.tables.node_list
        basis = _Basis(
            (self.inspection.configuration, tables.tree, tables.node_list, tables.past_use.factors),
            (
                list(ledger.total),
                [node.is_tolerated for node in nodes],
                [tuple(node.daemons) for node in nodes],
                ledger.guarantee if ledger.reservable else (),
                ledger.real if ledger.reservable else (),
            ),
        )
        known = self._answers.basis
        self._basis = known if isinstance(known, _Basis) and known.is_like(basis) else basis
        self._answers.begin(self._basis)
        self.diagnosis.starting_alone = self._basis.starting_alone
        self._free: dict[int, Column] = {}
        self._leaves: dict[int, object] = {}
        self._shapes: dict[Shape, CountedNodes] = {}
        self._siblings: dict[int, object] = {}
        self._requests: list[Column] = ledger.shares.request.T.tolist()
        self._bindings: list[Column] = ledger.shares.binding.T.tolist()
        stands, soft = ledger.shares.stands_on_soft, ledger.shares.soft_guarantee
        self._soft: list[object] = [()] * len(ledger.rows)  # what sentences say of soft guarantees
        if stands is not None and soft is not None:
            self._soft = list(zip(stands.T.tolist(), np.where(stands, soft, 0).T.tolist(), strict=True))
        self._left: Column = [
            most - used for most, used in zip(ledger.deserved[0], ledger.used[0], strict=True)
        ]
        self._idle_in_all: Column = [
            most - used for most, used in zip(ledger.real[0], ledger.used[0], strict=True)
        ]
        self._is_idle = [amount > 0 for amount in self._idle_in_all]
        self._idle, self._idle_before = self.inspection.nodes.idle("now"), self._basis.idle
        self._shapes_before, self._basis.shapes = self._basis.shapes, self._shapes
        self._basis.idle, self._changed = self._idle, _MANY * [0]
        if self._idle_before is not None and self._idle_before.shape == self._idle.shape:
            self._changed = np.flatnonzero((self._idle != self._idle_before).any(axis=0)).tolist()

    def find(self, group: GroupState) -> tuple[object, GroupOutcome | None]:
        """The evidence for a group, and the outcome that was kept with it; without a kind there is none."""
        row, kind = group.row, group.of_class
        if not self._is_used or kind is None or group.refusal is not None:
            return None, None
        if group.pending is not row.pending or group.phase != "Inqueue":
            return None, None
        if not self._is_prepared:
            self._prepare(self.inspection.queues)
        left, needs = self._left, kind.needs or together(for_next_turn(group))
        free, idle = self._free.get(group.leaf) or self._free_of_reservations(group.leaf), self._idle_in_all
        evidence = (
            self._basis,
            self._leaves.get(group.leaf) or self._leaf(group.leaf),
            [self._shapes.get(pod.shape) or self._shape(pod) for pod in self._of_each_shape(group, kind)],
            [amount <= left[resource] for resource, amount in needs],
            [(amount > free[resource], amount > idle[resource]) for resource, amount in needs],
            [
                self._reserved(resource)
                for resource, amount in needs
                if free[resource] < amount <= idle[resource]
            ],
            group.was_unschedulable,
        )
        known = self._answers.recall(kind, evidence)
        return evidence, known if isinstance(known, GroupOutcome) else None

    def find_block(self, block: Block) -> dict[str, GroupOutcome] | None:
        """The outcomes of all groups of a block by key, where they were kept, and none had a turn."""
        if not (self._is_used and block.summary.is_known and self._is_as_it_was(block)):
            return None
        found = self._answers.recall(block, self._evidence_of(block))
        if found is not None:
            self._answers.retain(block.classes)
        return cast("dict[str, GroupOutcome] | None", found)

    def keep_block(self, block: Block, outcomes: Mapping[str, GroupOutcome]) -> None:
        """Keep the outcomes of a block, if each of its classes has one that follows from its evidence."""
        if self._is_used and block.summary.is_known and self._is_as_it_was(block):
            known = {key: outcomes[key] for key in block.summary.keys}
            if not any(map(_depends_on_quotas, known.values())):
                self._answers.keep(block, self._evidence_of(block), known)

    def _is_as_it_was(self, block: Block) -> bool:
        """Whether nothing was done for a group of a block, and none was refused in its turn."""
        if block.key.phase != "Inqueue" or not self.inspection.is_read(block):
            return block.key.phase == "Inqueue"
        groups = self.inspection.of_block(block)
        return sum(group.end - group.cursor for group in groups) == len(block.summary.keys) and all(
            group.refusal is None and group.pending is group.row.pending and group.phase == "Inqueue"
            for group in groups
        )

    def _evidence_of(self, block: Block) -> object:
        """The evidence for all classes of a block: how many of them ask for more than a limit."""
        if not self._is_prepared:
            self._prepare(self.inspection.queues)
        leaf, summary = block.key.leaf.index, block.summary
        free, left = self._free.get(leaf) or self._free_of_reservations(leaf), self._left
        idle = self._idle_in_all
        more = [
            resource
            for resource, amounts in summary.amounts.items()
            if bisect_right(amounts, free[resource]) < bisect_right(amounts, idle[resource])
        ]
        return (
            self._basis,
            block.changes,
            self._leaves.get(leaf) or self._leaf(leaf),
            [self._shapes.get(pod.shape) or self._shape(pod) for pod in summary.pods],
            [bisect_right(amounts, left[resource]) for resource, amounts in summary.amounts.items()],
            [bisect_right(amounts, free[resource]) for resource, amounts in summary.amounts.items()],
            [bisect_right(amounts, idle[resource]) for resource, amounts in summary.amounts.items()],
            [self._reserved(resource) for resource in more],
            self.inspection.are_turns_over,
        )

    def keep(self, group: GroupState, evidence: object, outcome: GroupOutcome) -> None:
        """Keep an outcome for the cycles to come."""
        if not _depends_on_quotas(outcome):
            self._answers.keep(group.of_class, evidence, outcome)

    def _leaf(self, leaf: int) -> object:
        """What the reasons of a leaf depend on."""
        ledger = self.inspection.queues
        found: object = (
            [
                (
                    ledger.used[queue],
                    ledger.deserved[queue],
                    ledger.real[queue],
                    self._bindings[queue],
                    self._requests[queue] if ledger.rows[queue].queue.spec.request is not None else (),
                    self._siblings_below(ledger.parent[queue]),
                )
                for queue in ledger.paths[leaf]
            ],
            self._is_idle,
        )
        known = self._basis.leaves.get(leaf)
        found = self._basis.leaves[leaf] = self._leaves[leaf] = known if known == found else found
        return found

    def _siblings_below(self, parent: int) -> object:
        """Which children of a queue use or request something, and what is guaranteed to them."""
        found = self._siblings.get(parent)
        if found is None:
            ledger = self.inspection.queues
            children = [queue for queue in range(1, len(ledger.rows)) if ledger.parent[queue] == parent]
            found = self._siblings[parent] = [
                (
                    list(map(bool, ledger.used[queue])),
                    list(map(bool, self._requests[queue])),
                    list(map(gt, ledger.guarantee[queue], ledger.used[queue])) if ledger.reservable else (),
                    ledger.reserved[queue] if ledger.reservable and parent else (),
                    self._soft[queue],
                )
                for queue in children
            ]
        return found

    def _free_of_reservations(self, leaf: int) -> Column:
        """How much more a leaf may use of each resource before it takes what is reserved for others.

        Of what it uses more, a queue first uses what is reserved for it: it raises what is reserved for it by
        the rest, which has to be free below its parent.
        """
        ledger = self.inspection.queues
        free = [most - used for most, used in zip(ledger.most[0], ledger.used[0], strict=True)]
        for resource in ledger.reservable:
            slack, least = ledger.reserved[leaf][resource] - ledger.taken(leaf, resource), UNLIMITED
            for parent in (*ledger.paths[leaf][1:], 0):
                below = ledger.reserved_below[parent][resource]
                least = min(least, slack + max(0, ledger.most[parent][resource] - below))
                slack += ledger.reserved[parent][resource] - below
            free[resource] = least
        self._free[leaf] = free
        return free

    def _reserved(self, resource: int) -> object:
        """The numbers of the cluster as a whole that a limit of reservations names."""
        ledger = self.inspection.queues
        return (
            resource,
            ledger.used[0][resource],
            ledger.reserved_below[0][resource],
            ledger.most[0][resource],
        )

    @staticmethod
    def _of_each_shape(group: GroupState, kind: GroupClass) -> Iterable[PodRow]:
        """A pod of each shape that a group has."""
        pods = group.pending
        return pods[:1] if kind.shape is not None else {pod.shape: pod for pod in pods}.values()

    def _shape(self, pod: PodRow) -> CountedNodes:
        """How the nodes are counted for the shape of a pod."""
        known, before, changed = self._shapes_before.get(pod.shape), self._idle_before, self._changed
        if known is None or before is None or len(changed) >= _MANY:
            found = self.diagnosis.counted(pod)
        elif known.stays(before, self._idle, changed):
            found = self.diagnosis.use(pod.shape, known)
        else:
            found = self.diagnosis.counted(pod)
        self._shapes[pod.shape] = found
        return found


def _depends_on_quotas(outcome: GroupOutcome) -> bool:
    return outcome.refusal is not None and outcome.refusal.reason in _OF_MISSING_PODS


def _is_same(one: object, other: object) -> bool:
    return one is other

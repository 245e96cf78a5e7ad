"""The states of pod groups in one cycle; each is made when it is first asked for.

A class of equal groups has one state until something is done for its first member (`classes.py`).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Final

from maar.core.cycle.classes import Classes, Waits, lengths_of_waiting
from maar.core.cycle.group_class import Block, GroupClass
from maar.core.cycle.group_state import GroupState, UsagePath
from maar.core.cycle.placing.node_chooser import NodeChooser
from maar.core.cycle.placing.node_stack import hooks_of
from maar.core.cycle.placing.room import NOWHERE
from maar.core.cycle.queue_ledger import QueueLedger
from maar.core.cycle.refusals import behind_first
from maar.core.policy.concerned_pods import NO_PODS
from maar.core.policy.configuration import Configuration
from maar.core.policy.plugin_hooks import GroupView, JobOrder
from maar.core.tables.groups import ADMITTED_PHASES
from maar.core.tables.rows import NO_TASKS, Column, GroupRow, PodRow, QueueRow
from maar.core.tables.shapes import Shape
from maar.core.tables.tables import Tables

NO_PENDING: Final[list[PodRow]] = []  # of all groups that are placed; lists of pods are not changed in place


class GroupStates:
    """All groups that a cycle has looked at."""

    def __init__(
        self,
        tables: Tables,
        configuration: Configuration,
        ledger: QueueLedger,
        places: NodeChooser,
        now: float,
        classes: Classes,
    ) -> None:
        self.tables, self.configuration, self.ledger = tables, configuration, ledger
        self._by_pod_priority = ("priority", "enableTaskOrder") in configuration.enabled
        # By key; a leaf stands, by its index, for its holders of which no more was read.
        self._known: dict[str | int, GroupState | QueueRow] = {}
        self._holders: dict[int, list[GroupState]] = {}  # by leaf: those that had pods on nodes
        # Leaves whose groups wait for the first of them.
        self.fifo = {row.index for row in ledger.rows if row.queue.spec.dequeue_strategy == "fifo"}
        self._usage_paths: dict[tuple[int, str], UsagePath] = {}
        self._of_blocks: dict[Block, list[GroupState]] = {}
        self._may_wait: dict[Block, list[GroupState]] = {}  # those without states that wait no longer
        self.are_turns_over = False  # of allocate
        sla, lengths = configuration.sla, lengths_of_waiting(ledger.rows)
        waits = Waits(now, lengths, sla is not None, sla.waiting_time if sla is not None else None)
        self.classes = classes
        classes.update(tables, _Distinctions(tables, configuration, places), waits)

    def of(self, row: GroupRow) -> GroupState:
        """The state of one group; a member of a larger class has advanced before it is asked for."""
        state = self._known.get(row.key)
        if not isinstance(state, GroupState):
            state = self._read(row, self.classes.of(row.key))
        elif not state.is_of_finished:
            return state
        else:
            state = replace(state, row=row, cursor=0, end=1, is_of_finished=False)
        self._known[row.key] = state
        return state

    def _of_member(self, row: GroupRow, of_class: GroupClass) -> GroupState:
        """The state of one group, of which the class is known."""
        state = self._known.get(row.key)
        if not isinstance(state, GroupState):
            state = self._known[row.key] = self._read(row, of_class)
        return state

    def look_at_holders(self, leaf: int) -> Sequence[GroupState]:
        """Take note of the groups of a leaf with pods on nodes; gives those with states."""
        self._known.setdefault(leaf, self.ledger.rows[leaf])
        return self._holders.get(leaf, ())

    def known(self, row: GroupRow) -> GroupState | None:
        """The state of a group, if it has one already."""
        state = self._known.get(row.key)
        return state if isinstance(state, GroupState) else None

    def pod_order(self, pod: PodRow) -> tuple[object, ...]:
        """Which pod of a group is placed first and evicted last; by priority where that plugin is enabled."""
        return pod.order if self._by_pod_priority else pod.order[1:]

    def usage_path(self, leaf: int, namespace: str) -> UsagePath:
        """Where the use of the groups of a namespace in a leaf counts."""
        known = self._usage_paths.get((leaf, namespace))
        if known is not None:
            return known
        ledger = self.ledger
        used, above = [0] * len(ledger.total), list[Column]()
        if leaf != NOWHERE:
            used = list(ledger.rows[leaf].namespaces.get(namespace) or used)
            above = [ledger.used[queue] for queue in (*ledger.paths[leaf], 0)]
        usage_path = self._usage_paths[leaf, namespace] = UsagePath(leaf, [used, *above])
        return usage_path

    def _read(self, row: GroupRow, of_class: GroupClass | None) -> GroupState:
        leaf = row.leaf.index if row.leaf is not None else NOWHERE
        tasks = dict(row.tasks) if row.tasks else NO_TASKS
        pending = self._pending(row)
        usage_path = self._usage_paths.get((leaf, row.namespace)) or self.usage_path(leaf, row.namespace)
        group = GroupState(row, leaf, usage_path, row.phase, pending, row.placed, tasks, of_class=of_class)
        if self.are_turns_over and leaf != NOWHERE:
            group.was_unschedulable = _is_unschedulable(group)
        if row.on_nodes:
            self._holders.setdefault(leaf, []).append(group)
        return group

    def _pending(self, row: GroupRow) -> list[PodRow]:
        return row.pending if self._by_pod_priority else sorted(row.pending, key=self.pod_order)

    # --- which groups there are

    def of_block(self, block: Block) -> list[GroupState]:
        """The states of the classes of a block."""
        known = self._of_blocks.get(block)
        if known is None:
            known = self._of_blocks[block] = []
            for one in block.classes:
                first = self._of_member(one.rows[0], one)
                first.end = len(one.rows)
                known.append(first)
            self._may_wait[block] = list(known)
        return known

    def unread(self) -> list[Block]:
        """The blocks of which no state has been asked for."""
        return [block for block in self.classes.blocks.values() if block not in self._of_blocks]

    def is_read(self, block: Block) -> bool:
        """Whether the states of a block have been asked for."""
        return block in self._of_blocks

    @property
    def of_classes(self) -> list[GroupState]:
        """The states of all classes."""
        return [group for block in self.classes.blocks.values() for group in self.of_block(block)]

    @property
    def of_classes_outside(self) -> list[GroupState]:
        """The states of the classes of groups that had not been admitted when the cycle began."""
        blocks = [block for block in self.classes.blocks.values() if block.key.phase == "Pending"]
        return [group for block in blocks for group in self.of_block(block)]

    @property
    def waiting(self) -> list[GroupState]:
        """The groups of leaf queues that had pods without a place when the cycle began."""
        for block in self.classes.blocks.values():
            self.of_block(block)
        return self.read_waiting()

    def read_waiting(self) -> list[GroupState]:
        """Those of them that are like no other, or are of blocks that have been read and still wait."""
        others = [self.of(row) for row in self.classes.others.values() if row.leaf is not None]
        for groups in self._may_wait.values():
            if any(not group.pending for group in groups):
                groups[:] = [group for group in groups if group.pending]
            others += groups
        return others

    def any_wait(self) -> bool:
        """Whether any group of a leaf queue may still have pods without a place."""
        are_read = len(self._of_blocks) == len(self.classes.blocks)
        return not are_read or any(group.pending for group in self.read_waiting())

    def wait_again(self, group: GroupState, pods: Iterable[PodRow]) -> None:
        """Let pods of a group wait that had a place."""
        if group.of_class is not None and not group.pending and group.of_class.block in self._may_wait:
            groups = self._may_wait[group.of_class.block]
            groups[:] = [*(one for one in groups if one is not group), group]
        group.pending = sorted([*group.pending, *pods], key=self.pod_order)

    def note_unschedulable(self) -> None:
        """Turns are over: groups that still wait, and are not ready, are unschedulable."""
        self.are_turns_over = True
        for group in self._known.values():
            if isinstance(group, GroupState) and group.leaf != NOWHERE:
                group.was_unschedulable = _is_unschedulable(group)

    def short(self) -> list[GroupState]:
        """The groups of leaf queues that held nodes, and fewer than minMember, when the cycle began."""
        return [self.of(row) for row in self.tables.short.values() if row.leaf is not None]

    def touched(self) -> Iterator[tuple[Sequence[str], GroupState]]:
        """The states of groups of which more than their rows is to be said, with the keys of each."""
        _ = self.read_waiting()
        for row in self.classes.others.values():
            if row.leaf is None:
                self.of(row)
        for row in self.tables.not_started.values():
            if not row.pods and row.leaf is not None and self.tables.quotas_of(row.namespace):
                self.of(row)  # a quota may refuse its pods
        for leaf in self._looked_at():
            not_quiet = [rows for holding, rows in leaf.holders.items() if not holding.is_quiet]
            for row in [row for rows in not_quiet for row in rows.values()]:
                self.of(row)
        for key, state in [*self._known.items()]:
            if isinstance(state, GroupState):
                yield ((str(key),) if state.is_of_finished else state.keys), state

    def looked_at(self) -> Iterator[tuple[Sequence[str], GroupState | GroupRow]]:
        """All groups that the cycle has looked at; rows of those that stay as they are."""
        yield from self.touched()
        for leaf in self._looked_at():
            for row in leaf.groups.values():
                if row.on_nodes and row.key not in self._known:
                    yield (row.key,), row

    def _looked_at(self) -> list[QueueRow]:
        """The leaves that were looked at for what groups hold there."""
        return [leaf for leaf in self._known.values() if isinstance(leaf, QueueRow)]

    # --- members of classes

    def finish(self, group: GroupState) -> bool:
        """A member of a class has got all that it asked for; whether another has the state now."""
        one, finished, place = group.of_class, group.finished, group.cursor + 1
        if one is None or place == group.end:
            group.pending, group.refusal = NO_PENDING, None
            return False
        if finished is not None and finished.end == group.cursor:  # all their pods are placed, and are equal
            finished.end, finished.is_of_finished = place, True
        else:
            finished = group.finished = replace(group, end=place, pending=NO_PENDING, refusal=None)
            self._of_blocks[one.block].append(finished)
        self._known[group.row.key] = finished
        group.cursor, group.row = place, one.rows[place]
        row = group.row
        group.placed, group.more, group.pending = row.placed, (), self._pending(row)
        if row.tasks:
            group.tasks = dict(row.tasks)
        self._known[row.key] = group
        return True

    def advance(self, group: GroupState) -> GroupState | None:
        """Let a state be of the member at its cursor alone; gives the state of those after it, if any."""
        return self.divide(group, group.cursor + 1)

    def divide(self, group: GroupState, place: int) -> GroupState | None:
        """Let a state be of the members before a place alone; gives the state of the others, if any."""
        if group.of_class is None or place >= group.end:
            return None
        rest = self._rest(group, group.of_class, place)
        rest.end, group.end = group.end, place
        return rest

    def by_age_of_refusal(self, group: GroupState) -> Iterator[GroupState]:
        """Divide a class by since when its members have been unschedulable."""
        rest: GroupState | None = group
        while rest is not None:
            one, since = rest, rest.row.unschedulable_since
            rows = takewhile(lambda row: row.unschedulable_since == since, one.rows)  # noqa: B023 (used here)
            rest = self.divide(one, one.cursor + sum(1 for _ in rows))
            yield one

    def stop(self, first: GroupState, stopped: Iterable[GroupState]) -> None:
        """The first of a queue that is first in, first out is refused, and stops all that come after it."""
        rest = self.advance(first)
        for group in stopped if rest is None else (rest, *stopped):
            group.refusal = behind_first(group, first)

    def single(self, groups: Iterable[GroupState]) -> list[GroupState]:
        """Give each member of classes a state of its own."""
        found = list[GroupState]()
        for group in list(groups):
            found.append(group)
            places, group.end = range(group.cursor + 1, group.end), group.cursor + 1
            if group.of_class is not None:
                found += [self._rest(group, group.of_class, place) for place in places]
        return found

    def _rest(self, group: GroupState, of_class: GroupClass, place: int) -> GroupState:
        """The state of another member of a class, which fares as its state says so far."""
        rest = self._of_member(of_class.rows[place], of_class)
        rest.cursor, rest.end = place, place + 1
        rest.phase, rest.refusal = group.phase, group.refusal
        rest.was_unschedulable = group.was_unschedulable
        self._of_blocks[of_class.block].append(rest)
        self._may_wait[of_class.block].append(rest)
        return rest


def _is_unschedulable(group: GroupState) -> bool:
    return bool(group.pending) and group.phase in ADMITTED_PHASES and not group.is_ready


def third_party_key(orders: Sequence[JobOrder], row: GroupRow) -> tuple[object, ...]:
    """The place of a group in the orders of third parties."""
    view = GroupView(row.key, row.namespace, row.queue_name, row.priority, row.created)
    return tuple(order(view) for order in orders)


class _Distinctions:
    """What sets groups apart besides what their rows say: other pods, and third parties' plugins.

    It outlives its decision, and so keeps nothing else of it.
    """

    def __init__(self, tables: Tables, configuration: Configuration, places: NodeChooser) -> None:
        self._tables, self._hooks, self._orders = tables, configuration.node_hooks, configuration.job_orders
        self._pods = places.concerned if places.any_has_affinity else NO_PODS
        self._with_plugins: dict[Shape, bool] = {}
        self.follow_from: object = (self._pods.selectors, self._hooks, self._orders)
        self.are_made = places.any_has_affinity or bool(self._hooks or self._orders)

    def of(self, row: GroupRow) -> object | None:
        """What third parties' orders say of it; None where other pods or plugins concern its pods."""
        for pod in row.pending:
            if self._pods.includes(pod) or (self._hooks and self._has_plugins(pod.shape)):
                return None
        return self._order(row) if self._orders else ()

    def _has_plugins(self, shape: Shape) -> bool:
        if shape not in self._with_plugins:
            self._with_plugins[shape] = bool(hooks_of(shape, self._hooks, self._tables))
        return self._with_plugins[shape]

    def _order(self, row: GroupRow) -> object | None:
        key = third_party_key(self._orders, row)
        try:
            hash(key)
        except TypeError:
            return None
        return key

"""The nodes that the pods of a turn are promised together, in room that others leave; see `attempt.py`.

Amounts alone often tell whether there are such nodes, and a search asks that for every unit that it
takes or puts back. So where many leave, it is counted how many pods of each shape the nodes have
room for, and how much of each resource; only nodes that have changed are counted again.

Invariants. What is counted is never less than what a placement can use, so that too little of it
means that none exists. Where pods have one shape and nothing but their shape matters, enough means
that one exists.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from maar.core.cycle.placing.room import NOWHERE
from maar.core.cycle.state import State
from maar.core.tables.axis import Needs
from maar.core.tables.counting import add_needs
from maar.core.tables.rows import Column, PodRow
from maar.core.tables.shapes import Shape

FEW: Final = 8  # units; with more of them it is worth counting
Places = list[tuple[PodRow, int]]


class Promises:
    """Where the pods of a turn can go."""

    def __init__(self, state: State, pods: Sequence[PodRow]) -> None:
        self.state, self.pods = state, pods
        self.found: Places = []  # the nodes that were found last
        self._counted: CountedRoom | None = None
        self._summed: Places | None = None  # those that are summed up in `_needs`
        self._needs: dict[int, Counter[int]] = {}  # by node and resource

    @cached_property
    def depend_on_room_only(self) -> bool:
        """Whether nothing but room, and filters that stay the same, decides where the pods go."""
        pods, places = self.pods, self.state.places
        return not any(pod.shape.claims for pod in pods) and places.depend_on_shapes_only(pods)

    @cached_property
    def are_alike(self) -> bool:
        """Whether room for so many pods of one shape is all that they need."""
        return self.depend_on_room_only and len({pod.shape for pod in self.pods}) == 1

    def keep_found(self) -> None:
        """Promise all pods the nodes that were found last, with the same pods gone as now."""
        if not (self.depend_on_room_only and self.found):
            self.try_promise()
            return
        for pod, node in self.found:
            self.state.take(pod, node, "later")

    def try_promise(self) -> bool:
        """Promise all pods their nodes, or none.

        Nodes that were found before come first: with a victim fewer, another search may find none.
        """
        if self.found and self._try_places(self.found):
            return True
        for pods in self.state.places.tries(self.pods, len(self.pods), "later"):
            if self._try_places([(pod, NOWHERE) for pod in pods]):
                self.found = [(pod, self.state.promised[pod.key]) for pod in pods]
                return True
        return False

    def are_possible(self) -> bool:
        """Whether all pods find nodes; none is promised."""
        if self._counted is not None and not self._counted.is_enough():
            return False
        with self.state.trial():
            return self.try_promise()

    def count_room(self) -> None:
        """From now on look at amounts first."""
        if self._counted is None and not any(pod.shape.claims for pod in self.pods):
            self._counted = CountedRoom(self.state, self.pods)

    def may_be_possible_without(self, others: Iterable[PodRow]) -> bool:
        """Whether amounts allow that all pods find nodes once others are gone; true where it is not known."""
        if self._counted is None:
            return True
        freed = dict[int, Column]()  # by node
        for pod in others:
            if pod.counted is not None:
                node = pod.counted.node.index
                if node not in freed:
                    freed[node] = self.state.tables.axis.zeros()
                add_needs(freed[node], pod.shape.needs, 1)
        return self._counted.is_enough_with(freed)

    def remain_possible(self, nodes: Iterable[int]) -> bool:
        """Whether all pods find nodes, where they did before there was less room on some."""
        return self._still_fit(nodes) or self.are_possible()

    def _still_fit(self, nodes: Iterable[int]) -> bool:
        """Whether the pods can go to the nodes that were found last, for room is all that matters."""
        if not self.depend_on_room_only:
            return False
        room, needs = self.state.room, self._needs_of_found()
        return all(
            room.later[node][resource] + amount <= room.allocatable[node][resource]
            for node in nodes
            if node in needs
            for resource, amount in needs[node].items()
        )

    def _needs_of_found(self) -> dict[int, Counter[int]]:
        """What the pods need on each of the nodes that were found."""
        if self._summed is not self.found:
            self._summed, self._needs = self.found, {}
            for pod, node in self.found:
                self._needs.setdefault(node, Counter()).update(dict(pod.shape.needs))
        return self._needs

    def _try_places(self, places: Sequence[tuple[PodRow, int]]) -> bool:
        with self.state.trial() as trial:
            if all(self._try_place(pod, node) for pod, node in places):
                trial.keep()
        return trial.is_kept

    def _try_place(self, pod: PodRow, wanted: int) -> bool:
        """Promise a pod the node that is wanted, or the best."""
        node = self.state.places.best(pod, "later", wanted)
        if node == NOWHERE or wanted not in (node, NOWHERE):
            return False
        self.state.take(pod, node, "later")
        return True


class CountedRoom:
    """How many pods of each shape of a turn nodes have room for, and how much of what they need is idle."""

    def __init__(self, state: State, pods: Sequence[PodRow]) -> None:
        self._room, places = state.room, state.places
        idle, wanted, needed = places.idle("later"), Counter(pod.shape for pod in pods), Counter[int]()
        for pod in pods:
            needed.update(dict(pod.shape.needs))
        self._needed = tuple(needed.items())
        masks = {shape: places.stack.mask(shape) for shape in wanted}  # [N]
        self._kinds: list[_Kind] = []
        for shape, mask in masks.items():
            # A pod that needs no more, and may go to those nodes too, has room wherever another has.
            larger = [one for one in wanted if _is_within(shape, one) and not (masks[one] & ~mask).any()]
            count = sum(wanted[one] for one in larger)
            per_node = places.pods_per_node(shape, idle, count)  # [N]
            self._kinds.append(
                _Kind(shape.needs, count, mask.tolist(), per_node.tolist(), int(per_node.sum()))
            )
        usable = np.any([one.per_node for one in self._kinds], axis=0)  # [N]
        rows = [resource for resource, _ in self._needed]
        left = np.where(usable, np.maximum(idle[rows], 0), 0)  # [R, N]
        self._idle: list[Column] = left.T.tolist()
        self._sums: Column = left.sum(axis=1).tolist()
        self._seen = self._room.changes

    def is_enough(self) -> bool:
        """Whether there is as much room as the pods need, by amounts alone."""
        if self._seen < self._room.changes:
            self._catch_up()
        return all(one.room >= one.count for one in self._kinds) and all(
            idle >= amount for idle, (_, amount) in zip(self._sums, self._needed, strict=True)
        )

    def is_enough_with(self, freed: Mapping[int, Column]) -> bool:
        """Whether there are as many places as pods of each shape, with so much more room on some nodes."""
        if self._seen < self._room.changes:
            self._catch_up()
        has, later = self._room.allocatable, self._room.later
        left = {
            node: [held - gone for held, gone in zip(later[node], amounts, strict=True)]
            for node, amounts in freed.items()
        }
        return all(
            one.room + sum(one.places(node, has[node], left[node]) - one.per_node[node] for node in left)
            >= one.count
            for one in self._kinds
        )

    def _catch_up(self) -> None:
        """Count nodes again whose room has changed."""
        nodes, self._seen = self._room.changed_since(self._seen), self._room.changes
        for node in nodes:
            has, later = self._room.allocatable[node], self._room.later[node]
            is_usable = False
            for kind in self._kinds:
                is_usable |= kind.count_again(node, has, later) > 0
            before, self._idle[node] = (
                self._idle[node],
                [max(0, has[row] - later[row]) if is_usable else 0 for row, _ in self._needed],
            )
            for place, (now, then) in enumerate(zip(self._idle[node], before, strict=True)):
                self._sums[place] += now - then


@dataclass(slots=True)
class _Kind:
    """The pods that need at least as much as one shape, and how many of that shape nodes have room for."""

    needs: Needs
    count: int
    mask: list[bool]
    per_node: list[int]
    room: int

    def count_again(self, node: int, has: Column, later: Column) -> int:
        """Count a node again; gives how many it has room for."""
        most = self.places(node, has, later)
        self.room += most - self.per_node[node]
        self.per_node[node] = most
        return most

    def places(self, node: int, has: Column, later: Column) -> int:
        """How many a node has room for."""
        most = self.count if self.mask[node] else 0
        for row, amount in self.needs if most else ():
            most = min(most, (has[row] - later[row]) // amount)
        return max(0, most)


def _is_within(shape: Shape, other: Shape) -> bool:
    """Whether a shape needs no more than another."""
    needs = dict(other.needs)
    return all(amount <= needs.get(row, 0) for row, amount in shape.needs)

"""Which node a pod goes to: its nominated one, or the best by its shape, by other pods and by plugins."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np

from maar.core.cycle.placing.domain_retry import DomainRetry
from maar.core.cycle.placing.node_stack import NodeStack
from maar.core.cycle.placing.ranking import Ranking
from maar.core.cycle.placing.room import NOWHERE, Room, When
from maar.core.cycle.placing.volume_claims import VolumeClaims
from maar.core.fairshare.water_fill import Flags, Floats, Ints
from maar.core.model.node import Taint
from maar.core.model.taints import in_the_way
from maar.core.policy.concerned_pods import ConcernedPods, concerned_pods
from maar.core.policy.configuration import Configuration
from maar.core.policy.filters import suits_new_node
from maar.core.policy.host_ports import HostPorts
from maar.core.policy.neighbours import Neighbours
from maar.core.policy.pod_selectors import PodSelector
from maar.core.tables.rows import PodRow
from maar.core.tables.shapes import Shape
from maar.core.tables.tables import Tables

_MANY_PODS: Final = 1_000_000  # of one shape on one node
_MANY_NODES: Final = 50  # that have room; so many are not counted again one by one


class NodeChooser:
    """The choice of nodes in one cycle; the ranking of nodes for a shape is made when it is first needed."""

    def __init__(
        self, tables: Tables, room: Room, configuration: Configuration, *, is_empty: bool = False
    ) -> None:
        self.tables, self.room, self.configuration = tables, room, configuration
        self._columns = room.nodes
        self.claims = VolumeClaims(
            tables, room, self._columns, is_enabled=configuration.predicates.volume_binding
        )
        self._rankings: dict[When, dict[Shape, Ranking]] = {"now": {}, "later": {}}
        self._leaving_ports = HostPorts()  # of pods that are terminating: taken now, free later
        self._never: dict[Shape, bool] = {}
        # What had been given back before, the nodes that have room, and for how many pods.
        self._roomy: dict[Shape, tuple[int, list[int], int]] = {}
        self._capacities: dict[Shape, tuple[int, int]] = {}  # after so many changes of the room
        self._is_empty = is_empty
        self.any_has_affinity = bool(tables.with_affinity)
        self.counts_moves = self.any_has_affinity or bool(configuration.node_hooks)
        self._moves = _Moves()  # that are yet to be counted in the neighbours
        self._domain_retry: DomainRetry | None = None  # of the turn that is being tried
        self._found_no_node = False  # whether a pod of that turn has found no node
        self.stack = NodeStack(tables, room, configuration, self.claims, is_empty=is_empty)

    def best(self, pod: PodRow, when: When, wanted: int = NOWHERE) -> int:
        """The node that a pod should go to, or NOWHERE: the one that is wanted, or promised, if it can be."""
        node = self._best(pod, when, wanted)
        if node == NOWHERE:
            self._found_no_node = True
            if self._domain_retry is not None:
                self._domain_retry.note_unplaced(pod)
        return node

    def _best(self, pod: PodRow, when: When, wanted: int) -> int:
        first = self._promised(pod) if wanted == NOWHERE else wanted
        ranking = self._rankings[when].get(pod.shape) or self._rank(pod.shape, when)
        neighbours = self._neighbours_for(pod)
        if neighbours is None and not (pod.shape.claims or self.stack.plugins_of(pod.shape)):
            return first if first != NOWHERE and ranking.has_room(first) else ranking.best()
        scores = self.claims.among(pod.shape, ranking.every_score())
        domain_start = neighbours.domain_start(pod) if neighbours is not None and self._domain_retry else None
        if neighbours is not None:
            mask, has_preferences = neighbours.mask(pod), neighbours.prefers(pod)
            if has_preferences or domain_start is not None:  # which depend on the nodes that are left
                mask &= scores > -np.inf
            if self._domain_retry is not None and domain_start is not None:
                mask = self._domain_retry.narrow(mask, domain_start)
            if when == "now":
                self._leaving_ports.narrow(mask, pod.shape.ports)
            if has_preferences:
                weights = self.configuration.node_order
                scores = scores + neighbours.score(
                    pod, mask, affinity_weight=weights.pod_affinity, spread_weight=weights.pod_topology_spread
                )
            scores = np.where(mask, scores, -np.inf)
        scores = self.stack.apply_plugins(pod, scores)
        best = first if first != NOWHERE and scores[first] > -np.inf else _highest(scores)
        if self._domain_retry is not None and domain_start is not None and best != NOWHERE:
            self._domain_retry.begin(domain_start, best)
        return best

    def _promised(self, pod: PodRow) -> int:
        node = self.tables.nodes.get(pod.promised) if pod.promised else None
        return NOWHERE if node is None else node.index

    def tries(self, pods: Sequence[PodRow], at_least: int, when: When) -> Iterator[Sequence[PodRow]]:
        """Try a turn with its pods in order, and if they differ, with those first that fit fewest nodes.

        A pod that can go to many nodes might otherwise take the only one that another can go to.
        """
        self._found_no_node = False
        yield from self._tries(pods, at_least, when)
        shapes = {pod.shape for pod in pods[:at_least]}
        if self._found_no_node and len(shapes) > 1:
            idle = self.idle(when)
            nodes = {shape: int(self.pods_per_node(shape, idle, 1).sum()) for shape in shapes}
            yield from self._tries(sorted(pods[:at_least], key=lambda pod: nodes[pod.shape]), at_least, when)

    def idle(self, when: When) -> Ints:
        """The room on the nodes. [R, N]"""
        allocatable, now, later = self.room.columns()
        return allocatable - (later if when == "later" else np.maximum(now, later))

    def _tries(self, pods: Sequence[PodRow], at_least: int, when: When) -> Iterator[Sequence[PodRow]]:
        """Try once, and again while pods that must be together could begin elsewhere."""
        if not any(pod.shape.has_affinity for pod in pods):
            yield pods
            return
        self._domain_retry = DomainRetry(pods, at_least, _NodeSet(self, self._neighbours, when))
        try:
            for _ in self._domain_retry.tries():
                yield pods
        finally:
            self._domain_retry = None

    def ranking(self, shape: Shape) -> Ranking:
        """The nodes for a shape now, with nothing but the shape considered."""
        return self._rankings["now"].get(shape) or self._rank(shape, "now")

    @property
    def usable(self) -> Flags:
        """The nodes that pods may be placed on. [N]"""
        return self._columns.usable

    def suits(self, shape: Shape) -> Flags:
        """The nodes that a shape may go to, room, other pods and plugins aside; not to be changed. [N]"""
        return self.stack.mask(shape)

    def obstacles(self, shape: Shape) -> Sequence[tuple[Flags, str]]:
        """What keeps a shape off nodes: which it is the first to exclude, and a clause. [N]"""
        return self.stack.obstacles(shape)

    @property
    def allocatable(self) -> Ints:
        """What the nodes have. [R, N]"""
        return self.room.columns()[0]

    def must_join_others(self, pod: PodRow) -> bool:
        """Whether the pod affinity of a pod requires it to be near pods that are on nodes already."""
        neighbours = self._neighbours_for(pod)
        return (
            neighbours is not None
            and neighbours.required_near(pod) is not None
            and neighbours.domain_start(pod) is None
        )

    def would_take(self, pod: PodRow) -> Flags:
        """The nodes that the filters and other pods allow for a pod, and that are large enough for it. [N]"""
        neighbours, (allocatable, _, _) = self._neighbours_for(pod), self.room.columns()
        mask = self.stack.mask(pod.shape) & (True if neighbours is None else neighbours.mask(pod))
        for resource, amount in pod.shape.needs:
            mask = mask & (allocatable[resource] >= amount)
        return mask

    def has_affinity(self, pod: PodRow) -> bool:
        """Whether other pods decide too where the pod can go; its shape alone is then not enough."""
        return self._neighbours_for(pod) is not None

    def may_stay(self, pod: PodRow, node: int) -> bool:
        """Whether other pods allow a pod to be on the node that it has, or is nominated to."""
        neighbours, row = self._neighbours_for(pod), self.room.nodes[node]
        if neighbours is None:
            return True
        neighbours.remove(pod, row)
        is_fine = bool(neighbours.mask(pod)[node])
        neighbours.add(pod, row)
        return is_fine

    def depend_on_shapes_only(self, pods: Sequence[PodRow]) -> bool:
        """Whether nothing but their shapes decides where pods go."""
        has_plugins = bool(self.stack.plugins)
        for pod in pods:
            if pod.nominated or pod.promised_with_job or (has_plugins and self.stack.plugins_of(pod.shape)):
                return False
        if not self.any_has_affinity:
            return True
        return not any(map(self.has_affinity, filter(self.concerned.includes, pods)))

    def pods_per_node(self, shape: Shape, idle: Ints, enough: int) -> Ints:
        """How many pods of a shape each node has room for, at most `enough`. [R, N] -> [N]"""
        most = np.where(self.stack.mask(shape), enough, 0)
        for resource, amount in shape.needs:
            most = np.minimum(most, idle[resource] // amount)
        return np.maximum(most, 0)

    def capacity(self, shape: Shape) -> int:
        """How many pods of a shape all nodes have room for now; in a full cluster few nodes have any.

        Where many have, it is how many they had room for since room was last given back: no less than now.
        """
        room, known = self.room, self._roomy.get(shape)
        changes, pods = self._capacities.get(shape, (-1, 0))
        if changes == room.changes:
            return pods
        if known is None or known[0] < room.given_back:
            per_node = self.pods_per_node(shape, self.idle("now"), _MANY_PODS)  # [N]
            nodes = np.flatnonzero(per_node).tolist()
            known = self._roomy[shape] = (room.given_back, nodes, int(per_node.sum()))
        if len(known[1]) > _MANY_NODES:
            return known[2]
        pods = 0
        for node in known[1]:
            has, held = room.allocatable[node], list(map(max, room.now[node], room.later[node]))
            pods += max(0, min([(has[row] - held[row]) // amount for row, amount in shape.needs]))
        self._capacities[shape] = room.changes, pods
        return pods

    def never_fits(self, shape: Shape) -> bool:
        """Whether claims prevent the placement of a shape, or no node could take it even if it were empty."""
        try:
            return self._never[shape]
        except KeyError:
            has_claims = bool(shape.claims) or shape.has_resource_claims
            is_held = has_claims and self.claims.hold(shape) is not None
            never = self._never[shape] = is_held or self._is_too_large(shape)
            return never

    def _is_too_large(self, shape: Shape) -> bool:
        return not (self.large_enough(shape) & self.stack.mask(shape)).any()

    def large_enough(self, shape: Shape) -> Flags:
        """The nodes that, if they were empty, would have room for a pod, whatever filters say. [N]"""
        allocatable, _, _ = self.room.columns()
        large = np.ones(allocatable.shape[1], np.bool_)
        for resource, amount in shape.needs:
            large &= allocatable[resource] >= amount
        return large

    def taints_in_the_way(self, shape: Shape) -> list[tuple[Taint, ...]]:
        """The taints that alone keep a shape off nodes with enough room; the smallest sets first."""
        nodes = np.flatnonzero(self.stack.only_tainted(shape) & self.large_enough(shape))
        found = {in_the_way(shape.tolerations, self.room.nodes[int(node)].taints) for node in nodes}
        return sorted(found - {()}, key=lambda taints: (len(taints), str(taints)))

    def why_not(self, pod: PodRow, node: int) -> str:
        """What keeps a pod off a node that suits it and has room, as a clause; empty where nothing does."""
        row = self.room.nodes[node]
        clause = self._neighbours.why_not(pod, row) if self.is_concerned(pod) else ""
        return clause or ("are refused by a plugin" if self.stack.is_refused(pod, node) else "")

    def equal_pods_per_node(self, pod: PodRow, idle: Ints, enough: int) -> Ints:
        """How many pods equal to this one each node can take, at most `enough`. [R, N] -> [N]"""
        is_alone = self.is_concerned(pod) and self._neighbours.keep_alone(pod)
        return self.pods_per_node(pod.shape, idle, 1 if is_alone else enough)

    def helped_by_new_nodes(self, pods: Sequence[PodRow]) -> bool:
        """Whether new nodes, which the cluster does not have yet, could take the pods."""
        for pod in pods:
            if not suits_new_node(pod.shape, self._columns) or not self.claims.suit_new_node(pod.shape):
                return False
            if self.is_concerned(pod) and not self._neighbours.allow_new_node(pod, len(pods)):
                return False
        return True

    def moved(self, pods: Sequence[PodRow], node: int, sign: int) -> None:
        """Count pods on a node (+1), or no longer (-1)."""
        for pod in pods if self.stack.plugins else ():
            self.stack.note_move(pod, node, is_there=sign > 0)
        if self.any_has_affinity:
            self._moves.add(pods, node, sign)

    def left(self, pod: PodRow, node: int, sign: int) -> None:
        """Count a pod as evicted (+1), or no longer (-1); it keeps its host ports until it has ended."""
        self.moved((pod,), node, -sign)
        if pod.shape.ports:
            self._leaving_ports.count(pod.shape.ports, node, sign)

    def _rank(self, shape: Shape, when: When) -> Ranking:
        ranking = Ranking(
            shape, self.room, when, self.stack.usage, self.stack.mask(shape), self.stack.preference(shape)
        )
        self._rankings[when][shape] = ranking
        return ranking

    def is_concerned(self, pod: PodRow) -> bool:
        """Whether a pod has constraints on other pods, or other pods may have some on it."""
        return self.any_has_affinity and self.concerned.includes(pod)

    @cached_property
    def concerned(self) -> ConcernedPods:
        """The pods that the affinity of others may concern."""
        return concerned_pods(self.tables.with_affinity.values(), self._labels_of_namespaces)

    def _neighbours_for(self, pod: PodRow) -> Neighbours | None:
        """The other pods, where they can exclude or prefer nodes for this one."""
        if not self.any_has_affinity or not self.concerned.includes(pod):
            return None
        neighbours = self._neighbours
        return neighbours if neighbours.matters_to(pod) or neighbours.prefers(pod) else None

    @property
    def _neighbours(self) -> Neighbours:
        """The pods on nodes, as they are now; moves are counted only when a pod is concerned by others."""
        neighbours = self._first_neighbours
        for pods, node, sign in self._moves.take() if self._moves.signs else ():
            for pod in pods:
                (neighbours.add if sign > 0 else neighbours.remove)(pod, self.room.nodes[node])
        return neighbours

    @cached_property
    def _first_neighbours(self) -> Neighbours:
        """The pods on nodes when the cycle began, or only those outside the queues."""
        neighbours = Neighbours(self._columns, self._labels_of_namespaces, self.configuration.predicates)
        for one in self.tables.pods.values():
            if (
                self._is_empty
                and one.counted is not None
                and not (one.is_daemon and one.counted.leaf is None)
            ):
                continue
            if one.counted is not None and one.counted.is_later:
                neighbours.add(one, one.counted.node)
            elif one.counted is not None:
                self._leaving_ports.count(one.shape.ports, one.counted.node.index, 1)
        return neighbours

    @cached_property
    def _labels_of_namespaces(self) -> dict[str, dict[str, str]]:
        return {name: one.metadata.labels for name, one in self.tables.namespaces.items()}


def _highest(scores: Floats) -> int:
    best = int(scores.argmax()) if len(scores) else NOWHERE
    return best if best != NOWHERE and scores[best] > -np.inf else NOWHERE


@dataclass
class _Moves:
    """Moves of pods to nodes (+1), or off them (-1), as columns: there may be very many."""

    pods: list[Sequence[PodRow]] = field(default_factory=list)
    nodes: list[int] = field(default_factory=list)
    signs: list[int] = field(default_factory=list)

    def add(self, pods: Sequence[PodRow], node: int, sign: int) -> None:
        """Add a move, or where it undoes the last one, drop that."""
        if self.signs and self.signs[-1] == -sign and self.nodes[-1] == node and self.pods[-1] == pods:
            for column in (self.pods, self.nodes, self.signs):
                column.pop()
            return
        self.pods.append(pods)
        self.nodes.append(node)
        self.signs.append(sign)

    def take(self) -> list[tuple[Sequence[PodRow], int, int]]:
        """Give all moves, and keep none."""
        moves = list(zip(self.pods, self.nodes, self.signs, strict=True))
        for column in (self.pods, self.nodes, self.signs):
            column.clear()
        return moves


@dataclass(frozen=True)
class _NodeSet:
    """The nodes for pods that must be together; what `DomainRetry` reads of them."""

    places: NodeChooser
    neighbours: Neighbours
    when: When

    def required_near(self, pod: PodRow) -> PodSelector | None:
        return self.neighbours.required_near(pod)

    def takes(self, pod: PodRow, enough: int) -> Ints:
        return self.places.equal_pods_per_node(pod, self.idle(), enough)

    def idle(self) -> Ints:
        return self.places.idle(self.when)

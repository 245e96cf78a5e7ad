"""The filters and scores that decide which node a pod goes to: one chain, applied in this order.

Built-in rules and third parties' plugins stand in the same chain, and the constructor is the list
of them. What depends on the node and the pod's shape alone is computed once for all pods of a shape
and kept by the ranking of nodes; what depends on other pods, on volumes that are left, or on a
plugin is computed for a pod, for the nodes that are still in question. A shape that nothing of the
second kind concerns costs no more than a look at its ranking.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

import numpy as np

from maar.core.cycle.placing.room import Room
from maar.core.cycle.placing.volume_claims import VolumeClaims
from maar.core.fairshare.water_fill import Flags, Floats
from maar.core.policy.configuration import Configuration
from maar.core.policy.filters import (
    Clause,
    ShapeFilter,
    allowed_by_all,
    obstacles,
    only_tainted,
    shape_filters,
)
from maar.core.policy.grammar import Predicates
from maar.core.policy.plugin_hooks import NodeView, PluginHooks, PodView
from maar.core.policy.scores import ShapeScore, shape_scores
from maar.core.policy.scoring import UsageScore
from maar.core.tables.node_columns import NodeColumns
from maar.core.tables.rows import PodRow
from maar.core.tables.shapes import Shape
from maar.core.tables.tables import Tables

_NO_PREDICATES = Predicates(node_affinity=False, taint_toleration=False)


class NodeStack:
    """The chain of one cycle."""

    def __init__(
        self,
        tables: Tables,
        room: Room,
        configuration: Configuration,
        claims: VolumeClaims,
        *,
        is_empty: bool,
    ) -> None:
        self.tables, self.room, self._is_empty = tables, room, is_empty
        self.columns: NodeColumns = room.nodes
        self._masks: dict[Shape, Flags] = {}  # by the filters of a shape
        filters = ("predicates", "enablePredicate") in configuration.enabled
        # 1. Filters of a shape: node ready, schedulable, node selector, node affinity, taints; volumes last.
        self.shape_filters: tuple[ShapeFilter, ...] = shape_filters(
            configuration.predicates if filters else _NO_PREDICATES
        )
        self.volumes: VolumeClaims | None = claims if filters else None
        # 2. Scores of a shape: how full the node is, preferred node affinity, taints that discourage.
        self.usage: UsageScore = usage_score(configuration, tables)
        orders = ("nodeorder", "enableNodeOrder") in configuration.enabled
        self.shape_scores: tuple[ShapeScore, ...] = shape_scores(configuration.node_order) if orders else ()
        # 3. Filters and scores of a pod: volumes that are left, host ports, pod affinity, topology spread;
        #    `NodeChooser` asks for them, and counts other pods only where they concern one that waits.
        self.claims = claims
        # 4. Third parties' filters and scores, in tier order.
        self.plugins: tuple[PluginHooks, ...] = configuration.node_hooks
        self._plugins_of: dict[Shape, tuple[PluginHooks, ...]] = {}
        self.moved: dict[int, dict[str, PodRow | None]] = {}  # by node: pods placed, None for those gone

    # --- of a shape

    def mask(self, shape: Shape) -> Flags:
        """The nodes that a shape may go to, room, other pods and plugins aside; not to be changed. [N]"""
        mask = self._masks.get(shape)
        if mask is None:
            mask = self._masks[shape] = allowed_by_all(shape, self.columns, self.shape_filters)
        return self.volumes.narrow(mask, shape) if self.volumes is not None and shape.claims else mask

    def obstacles(self, shape: Shape) -> list[Clause]:
        """What keeps a shape off nodes: clauses, each with the nodes that it is the first to exclude. [N]"""
        found = obstacles(shape, self.columns, self.shape_filters)
        unreached = ~self.mask(shape)
        for excluded, _ in found:
            unreached &= ~excluded
        return [*found, (unreached, "cannot reach its volumes")] if unreached.any() else found

    def only_tainted(self, shape: Shape) -> Flags:
        """The nodes that a shape could go to if it tolerated their taints. [N]"""
        found = only_tainted(shape, self.columns, self.shape_filters)
        return self.volumes.narrow(found, shape) if self.volumes is not None and shape.claims else found

    def preference(self, shape: Shape) -> Floats:
        """What a shape prefers of the nodes themselves. [N]"""
        score = np.zeros(len(self.columns))
        for preference in self.shape_scores:
            score = score + preference(shape, self.columns)
        return score

    # --- of third parties

    def plugins_of(self, shape: Shape) -> tuple[PluginHooks, ...]:
        """The plugins whose filter or score concerns a shape; found once."""
        if not self.plugins:
            return ()
        found = self._plugins_of.get(shape)
        if found is None:
            found = self._plugins_of[shape] = hooks_of(shape, self.plugins, self.tables)
        return found

    def apply_plugins(self, pod: PodRow, scores: Floats) -> Floats:
        """Filter and score the nodes that are still in question by plugins. [N]"""
        plugins = self.plugins_of(pod.shape)
        if not plugins:
            return scores
        scores, view = scores.copy(), pod_view(pod, self.tables)
        for node in np.flatnonzero(scores > -np.inf):
            other = self._node_view(int(node))
            if all(one.filter is None or one.filter(view, other) for one in plugins):
                scores[node] += sum(one.score(view, other) for one in plugins if one.score is not None)
            else:
                scores[node] = -np.inf
        return scores

    def is_refused(self, pod: PodRow, node: int) -> bool:
        """Whether a plugin keeps a pod off a node."""
        plugins = self.plugins_of(pod.shape)
        if not plugins:
            return False
        view, other = pod_view(pod, self.tables), self._node_view(node)
        return not all(one.filter is None or one.filter(view, other) for one in plugins)

    def note_move(self, pod: PodRow, node: int, *, is_there: bool) -> None:
        """Learn that this decision has put a pod on a node, or taken it away."""
        self.moved.setdefault(node, {})[pod.key] = pod if is_there else None

    def _node_view(self, node: int) -> NodeView:
        row, axis = self.room.nodes[node], self.tables.axis
        before = [pod for pod in row.pods.values() if not self._is_empty or pod.is_daemon]
        return NodeView(
            row.name,
            row.labels,
            axis.amounts(row.allocatable),
            axis.amounts(self.room.later[node]),
            _PodsOnNode(before, self.moved.get(node, {}), self.tables),
        )


class _PodsOnNode(Sequence[PodView]):
    """The pods on a node, read when a plugin first reads them."""

    def __init__(self, before: Sequence[PodRow], moved: dict[str, PodRow | None], tables: Tables) -> None:
        self._before, self._moved, self._tables = before, moved, tables

    @cached_property
    def _views(self) -> tuple[PodView, ...]:
        return tuple(pod_view(pod, self._tables) for pod in self._pods())

    def _pods(self) -> Iterator[PodRow]:
        for pod in self._before:
            if pod.key not in self._moved and pod.counted is not None and pod.counted.is_later:
                yield pod
        for placed in self._moved.values():
            if placed is not None:
                yield placed

    def __getitem__(self, index: int) -> PodView:  # type: ignore[override]  # slices are not needed
        return self._views[index]

    def __len__(self) -> int:
        return len(self._views)


def hooks_of(shape: Shape, plugins: Iterable[PluginHooks], tables: Tables) -> tuple[PluginHooks, ...]:
    """The plugins whose filter or score concerns a shape."""
    requests = requests_of(shape, tables)
    return tuple(one for one in plugins if one.concerns is None or one.concerns(requests))


def requests_of(shape: Shape, tables: Tables) -> dict[str, int]:
    """What pods of a shape request, by resource name."""
    return {tables.axis.names[resource]: amount for resource, amount in shape.needs}


def pod_view(pod: PodRow, tables: Tables) -> PodView:
    """A pod as third parties see it."""
    requests = requests_of(pod.shape, tables)
    return PodView(pod.key, pod.namespace, pod.priority, dict(pod.labels), pod.group_key, requests)


def usage_score(configuration: Configuration, tables: Tables) -> UsageScore:
    """The configured scores of usage."""
    order, packing = configuration.node_order, configuration.binpack
    orders = ("nodeorder", "enableNodeOrder") in configuration.enabled
    packs = ("binpack", "enableNodeOrder") in configuration.enabled
    rows = tuple(
        (tables.axis.row[name], float(weight))
        for name, weight in packing.resources.items()
        if name in tables.axis.row and weight
    )
    return UsageScore(
        least=float(order.least_requested) if orders else 0.0,
        most=float(order.most_requested) if orders else 0.0,
        balanced=float(order.balanced_resource) if orders else 0.0,
        binpack=float(packing.weight) if packs else 0.0,
        binpack_of=rows,
    )

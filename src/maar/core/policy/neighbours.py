"""What depends on other pods: host ports, pod affinity in both directions and topology spread."""

from collections.abc import Mapping

import numpy as np

from maar.core.fairshare.water_fill import Flags, Floats
from maar.core.policy.grammar import Predicates
from maar.core.policy.host_ports import HostPorts
from maar.core.policy.pod_affinity import DomainStart, PodAffinities
from maar.core.policy.pod_selectors import PodSelector
from maar.core.policy.scores import BEST
from maar.core.policy.spread import Spread
from maar.core.policy.tallies import Tallies
from maar.core.tables.node_columns import NodeColumns
from maar.core.tables.rows import NodeRow, PodRow


class Neighbours:
    """The pods on the nodes, and which nodes they exclude or prefer for another pod.

    A node is known by its index, its place in `columns`; `namespaces` are labels by name. Good until a node
    or the labels of a namespace change.
    """

    def __init__(
        self, columns: NodeColumns, namespaces: Mapping[str, Mapping[str, str]], switches: Predicates
    ) -> None:
        self._columns, self._switches = columns, switches
        self._tallies = Tallies(self._columns)
        self._ports = HostPorts()
        self._affinities = PodAffinities(self._columns, self._tallies, namespaces)
        self._spread = Spread(self._columns, self._tallies)

    def add(self, pod: PodRow, node: NodeRow) -> None:
        """Put a pod on a node; one that is already there counts once, as it is now."""
        if self._tallies.has(pod, node.index):
            self.remove(pod, node)
        self._tallies.add(pod, node.index)
        if pod.shape.has_affinity:
            self._count(pod, node.index, 1)

    def remove(self, pod: PodRow, node: NodeRow) -> None:
        """Take a pod off a node, whatever is known of it by now; nothing happens where it is not there."""
        came = self._tallies.remove(pod, node.index)
        if came is not None and came.shape.has_affinity:
            self._count(came, node.index, -1)

    def matters_to(self, pod: PodRow) -> bool:
        """Whether other pods could exclude a node for this one."""
        on = self._switches
        return bool(
            (on.node_ports and pod.shape.ports)
            or (on.pod_affinity and self._affinities.matters_to(pod))
            or (on.pod_topology_spread and self._spread.matters_to(pod))
        )

    def mask(self, pod: PodRow) -> Flags:
        """The nodes that other pods allow for this one. [N]"""
        on, mask = self._switches, np.ones(len(self._columns), np.bool_)
        if on.node_ports and pod.shape.ports:
            self._ports.narrow(mask, pod.shape.ports)
        if on.pod_affinity:
            self._affinities.narrow(mask, pod)
        if on.pod_topology_spread and pod.shape.spread:
            self._spread.narrow(mask, pod)
        return mask

    def required_near(self, pod: PodRow) -> PodSelector | None:
        """The pods that a pod has to be near."""
        return self._affinities.required_near(pod) if self._switches.pod_affinity else None

    def keep_alone(self, pod: PodRow) -> bool:
        """Whether no node takes two pods like this one."""
        on = self._switches
        return bool(
            (on.node_ports and pod.shape.ports) or (on.pod_affinity and self._affinities.keeps_alone(pod))
        )

    def domain_start(self, pod: PodRow) -> DomainStart | None:
        """The pods that must be together of which this one would be the first; None where it would not be."""
        return self._affinities.domain_start(pod) if self._switches.pod_affinity else None

    def allow_new_node(self, pod: PodRow, together: int) -> bool:
        """Whether new nodes could take so many pods like this one, as pod affinity requires.

        Pods that must share a node and may not share one fit no new node either.
        """
        if not self._switches.pod_affinity:
            return True
        is_impossible = together > 1 and self._affinities.must_share_node(pod) and self.keep_alone(pod)
        return not is_impossible and self._affinities.allow_new_node(pod)

    def why_not(self, pod: PodRow, node: NodeRow) -> str:
        """What keeps a pod off a node, as a clause; empty where nothing does."""
        on = self._switches
        return (
            (self._ports.why_not(pod.shape.ports, node.index) if on.node_ports else "")
            or (self._affinities.why_not(pod, node.index) if on.pod_affinity else "")
            or (self._spread.why_not(pod, node.index) if on.pod_topology_spread else "")
        )

    def prefers(self, pod: PodRow) -> bool:
        """Whether the score could differ between nodes."""
        return self._affinities.prefers(pod) or self._spread.prefers(pod)

    def score(
        self,
        pod: PodRow,
        among: Flags | None = None,
        *,
        affinity_weight: float = 2.0,
        spread_weight: float = 2.0,
    ) -> Floats:
        """The score of every node for the pod: preferred pod affinity, anti-affinity and topology spread. [N]

        Each of the two runs from 0 to 100, times its weight, over the nodes that are `among` the candidates;
        the score of other nodes has no meaning.
        """
        candidates = np.ones(len(self._columns), np.bool_) if among is None else among
        score = np.zeros(len(self._columns))
        if not candidates.any():
            return score
        if affinity_weight and self._affinities.prefers(pod):
            weights = self._affinities.score(pod)  # [N]
            least, most = weights[candidates].min(), weights[candidates].max()
            if least < most:
                score += affinity_weight * (BEST * (weights - least) / (most - least))
        if spread_weight and self._spread.prefers(pod):
            crowd, known = self._spread.score(pod, candidates)  # [N]
            compared = crowd[candidates & known]
            least, most = compared.min(initial=np.inf), compared.max(initial=0.0)
            evenness = BEST * (most + least - crowd) / most if most else np.full(len(score), BEST)
            score += spread_weight * np.where(known, evenness, 0.0)
        return score

    def _count(self, pod: PodRow, node: int, sign: int) -> None:
        self._affinities.count(pod, node, sign)
        self._ports.count(pod.shape.ports, node, sign)

"""Which nodes count in the budget: the usable ones whose taints a live pod of a leaf queue tolerates.

A control-plane node that no pod tolerates is not shared out: if it were, no queue would be
overused. It is treated as a node that is closed to new pods: what others hold there is not taken
from the budget, and what our pods hold there (they were there before the taint) is added to it.

Groups are counted by the tolerations that their pods have, and nodes by their taints: one more pod
costs no more in a large cluster. Only when the first group with some tolerations comes, or the last
one goes, are the nodes with taints looked at again.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from maar.core.model.affinity import Toleration
from maar.core.model.taints import untolerated
from maar.core.tables.counting import count, uncount
from maar.core.tables.rows import Column, NodeRow

Tolerations = tuple[Toleration, ...]


@dataclass(eq=False)
class Tolerated:
    """The tolerations of live pods, and what follows for nodes with taints."""

    groups: Counter[Tolerations] = field(default_factory=Counter)  # how many have pods with just these
    has_changed: bool = False
    heeds_taints: bool = True  # whether the configuration asks for them at all

    def add(self, tolerations: Iterable[Tolerations], sign: int) -> None:
        """Count a group with pods that have these tolerations, or no longer."""
        for one in tolerations:
            before = self.groups.get(one, 0)
            self.groups[one] = now = before + sign
            if not before or not now:
                self.has_changed = True
                if not now:
                    del self.groups[one]

    def heed(self, *, taints: bool) -> None:
        """Let taints keep pods out, or not, as the configuration has it."""
        self.has_changed |= taints != self.heeds_taints
        self.heeds_taints = taints

    def settle(self, nodes: Iterable[NodeRow], known: dict[str, NodeRow], budget: Column) -> bool:
        """Work out of each node with taints whether it counts; say whether that has changed of any."""
        self.has_changed = False
        found: dict[object, bool] = {}
        changed = False
        for node in nodes:
            if node.taints not in found:
                found[node.taints] = not self.heeds_taints or any(
                    not untolerated(one, node.taints) for one in ((), *self.groups)
                )
            if found[node.taints] != node.is_tolerated:
                changed, node.is_tolerated = True, found[node.taints]
                for pod in node.pods.values():
                    uncount(pod, budget)
                    count(pod, known, budget)
        return changed

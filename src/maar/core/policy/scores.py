"""Scores that depend on the node and the pod alone: each is 100 at most, times its weight.

Every step is taken node by node, so that a node scores the same alone and among others. Kubernetes
rounds to whole numbers and stretches scores to the best node of the moment; here neither is done.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from maar.core.fairshare.water_fill import Floats
from maar.core.model.taints import DISCOURAGES, untolerated
from maar.core.policy.filters import matching_term
from maar.core.policy.grammar import NodeOrderWeights
from maar.core.tables.node_columns import NodeColumns
from maar.core.tables.shapes import Shape

BEST: Final = 100.0


@dataclass(frozen=True)
class NodeAffinityPreference:
    """Prefer nodes that meet the pod's preferred node affinity; one that meets all of it gets 100."""

    weight: float = 2.0

    def __call__(self, shape: Shape, columns: NodeColumns) -> Floats:
        """Score every node. [N]"""
        affinity = shape.affinity.node_affinity if shape.affinity is not None else None
        preferred = affinity.preferred_during_scheduling_ignored_during_execution if affinity else ()
        met, total = np.zeros(len(columns), np.int64), 0
        for one in preferred:
            if one.preference.match_expressions or one.preference.match_fields:
                met += one.weight * matching_term(one.preference, columns)
                total += one.weight
        return self.weight * (BEST * met / max(total, 1))


@dataclass(frozen=True)
class TaintPreference:
    """Prefer nodes without untolerated taints of the effect PreferNoSchedule; each costs 100."""

    weight: float = 3.0

    def __call__(self, shape: Shape, columns: NodeColumns) -> Floats:
        """Score every node; one with several such taints scores below 0. [N]"""
        numbers, kinds = columns.taints
        count = np.array([len(untolerated(shape.tolerations, taints, DISCOURAGES)) for taints in kinds], int)
        return self.weight * (BEST * (1 - count[numbers]))


ShapeScore = NodeAffinityPreference | TaintPreference


@lru_cache
def shape_scores(weights: NodeOrderWeights) -> tuple[ShapeScore, ...]:
    """The scores of nodeorder for the node and the pod themselves."""
    return (NodeAffinityPreference(weights.node_affinity), TaintPreference(weights.taint_toleration))

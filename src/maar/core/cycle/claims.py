"""Volume claims: a bound one ties a pod to nodes; one that binds on first consumer gets its node chosen."""

import numpy as np

from maar.core.fairshare.water_fill import Flags
from maar.core.model.reasons import Held, Reason
from maar.core.model.volume import SELECTED_NODE_ANNOTATION, PersistentVolumeClaim
from maar.core.policy.columns import NodeColumns
from maar.core.policy.selectors import match_node_selector
from maar.core.tables.shapes import Shape
from maar.core.tables.tables import Tables


class Claims:
    """What the claims of a pod say about where and when it can run."""

    def __init__(self, tables: Tables, *, is_asked: bool) -> None:
        self.tables, self._is_asked = tables, is_asked

    def hold(self, shape: Shape) -> Held | None:
        """What keeps a pod from being placed at all: claims that nobody binds for it, and resource claims."""
        if shape.has_resource_claims:
            return Held(reason=Reason.RESOURCE_CLAIM)
        for key in shape.claims if self._is_asked else ():
            claim = self.tables.claims.get(key)
            if claim is None or not (_is_bound(claim) or self._binds_on_first_consumer(claim)):
                return Held(reason=Reason.CLAIM_NOT_BOUND, others=(key,))
        return None

    def unbound(self, shape: Shape) -> list[str]:
        """The claims that wait for their pod's node before they are bound."""
        if not shape.claims or not self._is_asked:
            return []
        return [
            key
            for key in shape.claims
            if key in self.tables.claims and not _is_bound(self.tables.claims[key])
        ]

    def narrow(self, mask: Flags, shape: Shape, nodes: NodeColumns) -> Flags:
        """Leave out the nodes that cannot reach a bound volume, or that were not chosen for a claim. [N]"""
        for key in shape.claims if self._is_asked else ():
            claim = self.tables.claims.get(key)
            if claim is not None:
                mask = mask & np.array(
                    [self._reaches(claim, node.name, node.labels) for node in nodes], np.bool_
                )
        return mask

    def _reaches(self, claim: PersistentVolumeClaim, name: str, labels: dict[str, str]) -> bool:
        chosen = claim.metadata.annotations.get(SELECTED_NODE_ANNOTATION, "")
        if not _is_bound(claim):
            return chosen in ("", name)
        volume = self.tables.volumes.get(claim.spec.volume_name)
        affinity = volume.spec.node_affinity if volume is not None else None
        return (
            affinity is None
            or affinity.required is None
            or match_node_selector(affinity.required, labels, name)
        )

    def _binds_on_first_consumer(self, claim: PersistentVolumeClaim) -> bool:
        known = self.tables.storage_classes.get(claim.spec.storage_class_name or "")
        return known is not None and known.volume_binding_mode == "WaitForFirstConsumer"


def _is_bound(claim: PersistentVolumeClaim) -> bool:
    return bool(claim.spec.volume_name) and claim.status.phase in ("Bound", "")

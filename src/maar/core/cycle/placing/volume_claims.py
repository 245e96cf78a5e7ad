"""Volume claims: a bound one ties a pod to nodes; one that binds on first consumer gets its volume there.

That is a volume which exists already and is given to the claim, or one that the provisioner of the
claim's class makes on the node. What one claim is given in a cycle no other gets, unless a trial is
undone.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final, NamedTuple

import numpy as np

from maar.core.cycle.placing.room import Room
from maar.core.cycle.placing.volumes import Volumes, size_of
from maar.core.fairshare.water_fill import Flags, Floats
from maar.core.model.reasons import Cure, Reason, Refusal
from maar.core.model.volume import NO_PROVISIONER, SELECTED_NODE_ANNOTATION, PersistentVolumeClaim
from maar.core.model.writes import BindVolume, Selection, SelectNode
from maar.core.tables.node_columns import NodeColumns
from maar.core.tables.rows import PodRow
from maar.core.tables.shapes import Shape
from maar.core.tables.tables import Tables

_FROM_MANY_NODES: Final = {"ReadWriteMany", "ReadOnlyMany"}


class Choice(NamedTuple):
    """Where the first consumer of a claim will run, and the volume for it; none where one is to be made."""

    node: int
    volume: str | None


class VolumeClaims:
    """Where and when a pod can run, as its claims require."""

    def __init__(self, tables: Tables, room: Room, nodes: NodeColumns, *, is_enabled: bool) -> None:
        self.tables, self.room, self._is_enabled = tables, room, is_enabled
        self._volumes = Volumes(tables, nodes)
        self._allowed: dict[Shape, Flags] = {}  # the results of `narrow`
        self._choices: dict[str, Choice] = {}  # of this cycle, by claim
        self._users: Counter[str] = Counter()
        self._of_pod: dict[str, list[str]] = {}  # whose choices a pod has a part in

    def hold(self, shape: Shape) -> Refusal | None:
        """What keeps a pod from being placed at all: claims that will not be bound, and resource claims."""
        if shape.has_resource_claims:
            return Refusal(reason=Reason.RESOURCE_CLAIM, cure=Cure.SOMEBODY_ACTS)
        for key in shape.claims if self._is_enabled else ():
            claim = self.tables.claims.get(key)
            if claim is None or not (_is_bound(claim) or self._can_be_bound(claim)):
                return Refusal(reason=Reason.CLAIM_NOT_BOUND, cure=Cure.SOMEBODY_ACTS, others=(key,))
        return None

    def suit_new_node(self, shape: Shape) -> bool:
        """Whether a node that is yet to come could reach the volumes of a pod's claims."""
        for key in shape.claims if self._is_enabled else ():
            claim = self.tables.claims.get(key)
            volume = self._volumes.named(claim) if claim is not None else None
            if claim is None or (volume is None and not self._is_made(claim)):
                return False
            if volume is not None and not self._volumes.may_be_reached_from_new_node(volume):
                return False
        return True

    def lacking(self, shape: Shape) -> Refusal | None:
        """The claim of a pod for which every volume has been given away."""
        for key in self.unbound(shape):
            claim = self.tables.claims[key]
            is_left = (
                key in self._choices or self._volumes.named(claim) is not None or self._is_made(claim)
            ) or self._volumes.offers(claim).left.any()
            if not is_left:
                return Refusal(reason=Reason.CLAIM_NOT_BOUND, cure=Cure.SOMEBODY_ACTS, others=(key,))
        return None

    def unbound(self, shape: Shape) -> list[str]:
        """The claims that wait for their pod's node before they are bound."""
        if not shape.claims or not self._is_enabled:
            return []
        return [
            key
            for key in shape.claims
            if key in self.tables.claims and not _is_bound(self.tables.claims[key])
        ]

    def narrow(self, mask: Flags, shape: Shape) -> Flags:
        """Leave out the nodes that cannot reach a bound volume, nor one that a claim could have. [N]"""
        for key in shape.claims if self._is_enabled else ():
            claim = self.tables.claims.get(key)
            reached = self._reached(claim) if claim is not None else None
            if reached is not None:
                mask = mask & reached
        self._allowed[shape] = mask
        return mask

    def among(self, shape: Shape, scores: Floats) -> Floats:
        """Leave out the nodes where its claims cannot be met with what is left. [N]"""
        keys = self.unbound(shape)
        for key in keys:
            allowed = self._open(key, shape)
            if allowed is not None:
                scores = np.where(allowed, scores, -np.inf)
        if len(keys) > 1:  # that each of them could be met does not say that all can
            scores = scores.copy()
            for node in np.flatnonzero(scores > -np.inf).tolist():
                if self._assigned(keys, node) is None:
                    scores[node] = -np.inf
        return scores

    def moved(self, pod: PodRow, node: int, sign: int) -> None:
        """Choose volumes for a pod that is placed on a node (+1), or give them back (-1)."""
        if sign > 0:
            keys = self.unbound(pod.shape)
            for key, volume in (self._assigned(keys, node) or {}).items():
                self._choices[key] = Choice(node, volume)
                if volume is not None:
                    self._volumes.take(volume, 1)
            self._of_pod[pod.key] = [key for key in keys if key in self._choices]
            self._users.update(self._of_pod[pod.key])
            return
        for key in self._of_pod.pop(pod.key):
            self._users[key] -= 1
            if not self._users[key]:
                volume = self._choices.pop(key).volume
                if volume is not None:
                    self._volumes.take(volume, -1)

    def selections(self, keys: Iterable[str]) -> Iterable[Selection]:
        """What has to be written so that claims get the volumes that were chosen for them."""
        for key in keys:
            claim, choice = self.tables.claims[key], self._choices.get(key)
            if choice is None:
                continue  # its volume is known to it already
            node = self.room.nodes[choice.node].name
            if choice.volume is not None:
                version = self.tables.volumes[choice.volume].metadata.resource_version
                yield BindVolume(
                    volume=choice.volume, claim=key, node=node, uid=claim.metadata.uid, version=version
                )
            elif _selected(claim) != node:
                yield SelectNode(claim=key, node=node)

    def _can_be_bound(self, claim: PersistentVolumeClaim) -> bool:
        known = self.tables.storage_classes.get(claim.spec.storage_class_name or "")
        if known is None or known.volume_binding_mode != "WaitForFirstConsumer":
            return False
        if claim.spec.volume_name or self._volumes.named(claim) is not None:
            return self._volumes.named(claim) is not None
        return self._is_made(claim) or bool(self._volumes.offers(claim).reached.any())

    def _is_made(self, claim: PersistentVolumeClaim) -> bool:
        """Whether a provisioner makes volumes for claims of its class."""
        known = self.tables.storage_classes.get(claim.spec.storage_class_name or "")
        return known is not None and known.provisioner != NO_PROVISIONER

    def _reached(self, claim: PersistentVolumeClaim) -> Flags | None:
        """The nodes from which a claim's volume, or one that it could have, is reached; None means all."""
        volume = self._volumes.named(claim)
        if volume is not None:
            return self._volumes.reach(volume)
        if _is_bound(claim) or self._is_made(claim):
            return None
        return self._volumes.offers(claim).reached

    def _open(self, key: str, shape: Shape) -> Flags | None:
        """The nodes on which a claim can still be met; None where all that `narrow` left are."""
        claim, choice = self.tables.claims[key], self._choices.get(key)
        if choice is not None:
            volume = self.tables.volumes[choice.volume] if choice.volume is not None else None
            if volume is not None:
                return self._volumes.reach(volume)
            return None if _FROM_MANY_NODES & set(claim.spec.access_modes) else self._only(choice.node)
        if self._volumes.named(claim) is not None:
            return None
        if not self._is_made(claim):
            return self._volumes.offers(claim).left > 0
        selected = self.tables.nodes.get(_selected(claim))
        if selected is not None and self._has_room(selected.index, shape):
            return self._only(selected.index)
        return None  # the selected node cannot take the pod any more

    def _only(self, node: int) -> Flags:
        mask = np.zeros(len(self.room.nodes), np.bool_)
        mask[node] = True
        return mask

    def _has_room(self, node: int, shape: Shape) -> bool:
        """Whether a pod may go to a node, and will find room there once the leaving pods are gone."""
        allowed, later, has = self._allowed.get(shape), self.room.later[node], self.room.allocatable[node]
        return (allowed is None or bool(allowed[node])) and all(
            later[resource] + amount <= has[resource] for resource, amount in shape.needs
        )

    def _assigned(self, keys: list[str], node: int) -> dict[str, str | None] | None:
        """A volume on a node, or one to be made, for each claim without; None where one cannot be met."""
        found: dict[str, str | None] = {}
        claims = [self.tables.claims[key] for key in keys if key not in self._choices]
        for claim in sorted(claims, key=lambda one: (size_of(one), one.key)):
            if self._volumes.named(claim) is not None:
                continue
            is_made, volume = self._is_made(claim), None
            if not (is_made and _selected(claim)):  # where a node is selected, the provisioner is at work
                but = {name for name in found.values() if name is not None}
                volume = self._volumes.smallest(claim, node, but)
            if volume is None and not is_made:
                return None
            found[claim.key] = volume
        return found


def _is_bound(claim: PersistentVolumeClaim) -> bool:
    return bool(claim.spec.volume_name) and claim.status.phase in ("Bound", "")


def _selected(claim: PersistentVolumeClaim) -> str:
    return claim.metadata.annotations.get(SELECTED_NODE_ANNOTATION, "")

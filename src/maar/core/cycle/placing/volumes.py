"""Volumes that exist: which claims they fit, which nodes reach them, and which are still free."""

from collections.abc import Iterator
from typing import Final

import msgspec
import numpy as np

from maar.core.fairshare.water_fill import Flags, Ints
from maar.core.model.volume import PersistentVolume, PersistentVolumeClaim
from maar.core.policy.filters import affine, may_match_new_node
from maar.core.policy.selectors import match_selector
from maar.core.tables.node_columns import NodeColumns
from maar.core.tables.tables import Tables

Offer = tuple[int, str]  # the size of a volume, and its name: the smallest is the best

_STORAGE: Final = "storage"
_FREE: Final = ("Available", "")


class Offers:
    """The volumes that claims which ask for the same can have, on each node."""

    def __init__(self, nodes: int) -> None:
        self.left = np.zeros(nodes, np.int64)  # [N] how many each node has, those taken in this cycle aside
        self.reached = np.zeros(nodes, np.bool_)  # [N]
        self._at: dict[int, list[Offer]] = {}
        self._anywhere: list[Offer] = []
        self._nodes: dict[str, Ints | slice] = {}

    def add(self, offer: Offer, mask: Flags | None) -> None:
        """Add a volume that some nodes reach, or all."""
        nodes: Ints | slice = slice(None) if mask is None else np.flatnonzero(mask)
        self._nodes[offer[1]] = nodes
        self.left[nodes] += 1
        self.reached[nodes] = True
        if isinstance(nodes, slice):
            self._anywhere.append(offer)
        else:
            for node in nodes.tolist():
                self._at.setdefault(node, []).append(offer)

    def count(self, volume: str, sign: int) -> None:
        """Count a volume as taken (-1), or as free again (+1)."""
        nodes = self._nodes.get(volume)
        if nodes is not None:
            self.left[nodes] += sign

    def at(self, node: int) -> Iterator[Offer]:
        """The volumes that a node reaches, in no order."""
        yield from self._at.get(node, ())
        yield from self._anywhere


class Volumes:
    """All volumes, as one cycle may give them to claims."""

    def __init__(self, tables: Tables, nodes: NodeColumns) -> None:
        self.tables, self.nodes = tables, nodes
        self._taken: set[str] = set()
        self._offers: dict[bytes, Offers] = {}  # by what is asked for
        self._owned: dict[str, PersistentVolume] | None = None  # by the key of the claim that they name

    def reach(self, volume: PersistentVolume) -> Flags | None:
        """The nodes that reach a volume; None where all do. [N]"""
        affinity = volume.spec.node_affinity
        if affinity is None or affinity.required is None:
            return None
        return affine((), affinity.required, self.nodes)

    def may_be_reached_from_new_node(self, volume: PersistentVolume) -> bool:
        """Whether a node that is yet to come could reach a volume."""
        affinity = volume.spec.node_affinity
        return (
            affinity is None or affinity.required is None or may_match_new_node(affinity.required, self.nodes)
        )

    def named(self, claim: PersistentVolumeClaim) -> PersistentVolume | None:
        """The volume that a claim names, or that names the claim."""
        if claim.spec.volume_name:
            return self.tables.volumes.get(claim.spec.volume_name)
        if self._owned is None:
            self._owned = {
                f"{reference.namespace or 'default'}/{reference.name}": volume
                for volume in self.tables.volumes.values()
                if (reference := volume.spec.claim_ref) is not None
            }
        volume = self._owned.get(claim.key)
        reference = volume.spec.claim_ref if volume is not None else None
        return volume if reference and reference.uid in ("", claim.metadata.uid) else None

    def offers(self, claim: PersistentVolumeClaim) -> Offers:
        """The free volumes that are what a claim asks for."""
        spec = claim.spec
        asked = (spec.storage_class_name, spec.access_modes, spec.volume_mode, spec.selector, size_of(claim))
        key = msgspec.msgpack.encode(asked)
        found = self._offers.get(key)
        if found is None:
            found = self._offers[key] = Offers(len(self.nodes))
            for name, volume in sorted(self.tables.volumes.items()):
                if _fits(volume, claim):
                    found.add((volume.spec.capacity.get(_STORAGE, 0), name), self.reach(volume))
            for name in self._taken:
                found.count(name, -1)
        return found

    def smallest(self, claim: PersistentVolumeClaim, node: int, but: set[str]) -> str | None:
        """The smallest free volume for a claim on a node, other than some."""
        offers = (one for one in self.offers(claim).at(node) if one[1] not in self._taken)
        return min((one for one in offers if one[1] not in but), default=(0, None))[1]

    def take(self, volume: str, sign: int) -> None:
        """Take a volume for a claim (+1), or give it back (-1)."""
        (self._taken.add if sign > 0 else self._taken.remove)(volume)
        for offers in self._offers.values():
            offers.count(volume, -sign)


def size_of(claim: PersistentVolumeClaim) -> int:
    """How large a volume a claim asks for."""
    return claim.spec.resources.requests.get(_STORAGE, 0)


def _fits(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Whether a volume is free, large enough and of the kind that a claim asks for."""
    offered, asked = volume.spec, claim.spec
    return (
        offered.claim_ref is None
        and volume.status.phase in _FREE
        and not volume.is_terminating
        and offered.storage_class_name == (asked.storage_class_name or "")
        and offered.volume_mode == asked.volume_mode
        and set(asked.access_modes) <= set(offered.access_modes)
        and offered.capacity.get(_STORAGE, 0) >= size_of(claim)
        and (asked.selector is None or match_selector(asked.selector, volume.metadata.labels))
    )

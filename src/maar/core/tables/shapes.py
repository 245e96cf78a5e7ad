"""Shapes: pods with equal requests and constraints are one shape, and are filtered and scored once."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import msgspec

from maar.core.model.affinity import Affinity, Toleration, TopologySpreadConstraint
from maar.core.model.pod import Pod
from maar.core.tables.axis import Needs, ResourceAxis

Port = tuple[str, str, int]  # address (empty: all), protocol, number
Labels = tuple[tuple[str, str], ...]

_ALL_ADDRESSES: Final = "0.0.0.0"  # noqa: S104 (a way to write it, not a place to listen)
_MOST_SHAPES: Final = 10_000  # beyond that, forgotten and made again when they come back


@dataclass(frozen=True, eq=False)
class Shape:
    """All that decides where a pod can go; pods of one shape can go to the same nodes."""

    needs: Needs
    node_selector: Labels = ()
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    spread: tuple[TopologySpreadConstraint, ...] = ()
    ports: tuple[Port, ...] = ()
    claims: tuple[str, ...] = ()  # keys of the volume claims it mounts
    has_resource_claims: bool = False

    @cached_property
    def asks_for_nothing(self) -> bool:
        """Whether the pod asks for no resource but its own place."""
        return len(self.needs) == 1

    @cached_property
    def toleration_set(self) -> frozenset[tuple[Toleration, ...]]:
        """The tolerations that the pods of a group have, where all are of this shape; one for all groups."""
        return frozenset([self.tolerations])

    @cached_property
    def has_affinity(self) -> bool:
        """Whether other pods decide where it can go, beyond the room they take."""
        near = self.affinity is not None and (self.affinity.pod_affinity or self.affinity.pod_anti_affinity)
        return bool(near or self.spread or self.ports)


@dataclass
class Shapes:
    """All shapes seen; equal pods get the same one."""

    axis: ResourceAxis
    _known: dict[object, Shape] = field(default_factory=dict)

    def of(self, pod: Pod) -> Shape:
        """Find or make the shape of a pod."""
        spec = pod.spec
        needs = self.axis.needs(pod.request)
        selector = tuple(sorted(spec.node_selector.items())) if spec.node_selector else ()
        ports = tuple(
            [
                ("" if port.host_ip == _ALL_ADDRESSES else port.host_ip, port.protocol, port.host_port)
                for container in spec.containers
                for port in container.ports
                if port.host_port
            ]
        )
        claims = _claims(pod) if spec.volumes else ()
        constraints = spec.affinity or spec.topology_spread_constraints
        text = (
            msgspec.msgpack.encode((spec.affinity, spec.topology_spread_constraints)) if constraints else b""
        )
        key = (needs, selector, spec.tolerations, ports, claims, bool(spec.resource_claims), text)
        shape = self._known.get(key)
        if shape is None:
            if len(self._known) >= _MOST_SHAPES:
                self._known.clear()
            shape = self._known[key] = Shape(
                needs=needs,
                node_selector=selector,
                affinity=spec.affinity,
                tolerations=spec.tolerations,
                spread=spec.topology_spread_constraints,
                ports=ports,
                claims=claims,
                has_resource_claims=bool(spec.resource_claims),
            )
        return shape


def _claims(pod: Pod) -> tuple[str, ...]:
    """The claims a pod mounts; that of an ephemeral volume is named after pod and volume."""
    namespace, pod_name = pod.metadata.namespace or "default", pod.metadata.name
    names = [
        claim.claim_name if claim is not None else f"{pod_name}-{volume.name}"
        for volume in pod.spec.volumes
        if (claim := volume.persistent_volume_claim) is not None or volume.ephemeral is not None
    ]
    return tuple([f"{namespace}/{name}" for name in names])

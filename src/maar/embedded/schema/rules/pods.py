"""Rules for pods, and for the templates of pods."""

from collections.abc import Iterator
from typing import Final

from maar.core.model import name_rules as names
from maar.embedded.failures import Cause
from maar.embedded.schema.messages import duplicate, forbidden, invalid, unsupported, violations
from maar.embedded.schema.rules.containers import containers, volumes
from maar.embedded.schema.rules.fields import Fields
from maar.embedded.schema.rules.metadata import annotations, labels
from maar.embedded.schema.rules.placement import affinity, spread, tolerations
from maar.embedded.schema.rules.resource_lists import requirements

_LONGEST_DEADLINE: Final = 2**31 - 1
_NAMES: Final = (
    ("serviceAccountName", names.subdomain),
    ("nodeName", names.subdomain),
    ("priorityClassName", names.subdomain),
)
_CHOICES: Final = (
    ("restartPolicy", ("Always", "OnFailure", "Never")),
    ("preemptionPolicy", ("PreemptLowerPriority", "Never")),
)


def created(pod: Fields) -> Iterator[Cause]:
    """A new pod."""
    spec = pod.get("spec") or {}
    yield from pod_spec(spec, "spec")
    if spec.get("ephemeralContainers"):
        yield forbidden("spec.ephemeralContainers", "cannot be set on create")


def template(found: Fields | None, field: str) -> Iterator[Cause]:
    """What pods are made from."""
    meta = (found or {}).get("metadata") or {}
    yield from labels(meta.get("labels"), f"{field}.labels")
    yield from annotations(meta.get("annotations"), f"{field}.annotations")
    yield from pod_spec((found or {}).get("spec") or {}, f"{field}.spec")


def pod_spec(spec: Fields, field: str) -> Iterator[Cause]:
    """What is wanted of a pod, as far as Maar or its nodes read it."""
    yield from volumes(spec.get("volumes") or (), f"{field}.volumes")
    yield from containers(spec, field)
    for key, choices in _CHOICES:
        if (chosen := spec.get(key)) and chosen not in choices:
            yield unsupported(f"{field}.{key}", chosen, choices)
    for key, rule in _NAMES:
        if (name := spec.get(key)) and (problems := rule(name)):
            yield from violations(f"{field}.{key}", name, problems)
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= _LONGEST_DEADLINE:
        why = f"must be between 1 and {_LONGEST_DEADLINE}, inclusive"
        yield invalid(f"{field}.activeDeadlineSeconds", deadline, why)
    yield from labels(spec.get("nodeSelector"), f"{field}.nodeSelector")
    if found := spec.get("affinity"):
        yield from affinity(found, f"{field}.affinity")
    if found := spec.get("tolerations"):
        yield from tolerations(found, f"{field}.tolerations")
    if found := spec.get("topologySpreadConstraints"):
        yield from spread(found, f"{field}.topologySpreadConstraints")
    if resources := spec.get("resources"):
        yield from requirements(resources, f"{field}.resources")
    yield from _gates(spec, f"{field}.schedulingGates")


def _gates(spec: Fields, field: str) -> Iterator[Cause]:
    taken: set[str] = set()
    for place, gate in enumerate(spec.get("schedulingGates") or ()):
        name = gate.get("name", "")
        yield from violations(f"{field}[{place}]", name, names.qualified(name))
        if name in taken:
            yield duplicate(f"{field}[{place}]", name)
        taken.add(name)

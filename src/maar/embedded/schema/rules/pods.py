"""Rules for pods, and for the templates of pods."""

from collections.abc import Iterator, Sequence
from typing import Final

from maar.core.model import name_rules as names
from maar.embedded.failures import Cause
from maar.embedded.schema.messages import (
    duplicate,
    forbidden,
    invalid,
    not_found,
    required,
    unsupported,
    violations,
)
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
    for position, gate in enumerate(spec.get("schedulingGates") or ()):
        name = gate.get("name", "")
        yield from violations(f"{field}[{position}]", name, names.qualified(name))
        if name in taken:
            yield duplicate(f"{field}[{position}]", name)
        taken.add(name)


_PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")
_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_REQUIRED: Final = (  # what a volume of a kind that Maar or its nodes read cannot be without
    ("configMap", "name"),
    ("hostPath", "path"),
    ("persistentVolumeClaim", "claimName"),
    ("secret", "secretName"),
)


def containers(spec: Fields, field: str) -> Iterator[Cause]:
    """All containers of a pod."""
    volumes = {volume.get("name", "") for volume in spec.get("volumes") or ()}
    taken, host_ports = set[str](), set[str]()
    if not spec.get("containers"):
        yield required(f"{field}.containers")
    for field_name in ("containers", "initContainers", "ephemeralContainers"):
        for number, container in enumerate(spec.get(field_name) or ()):
            path = f"{field}.{field_name}[{number}]"
            yield from _named(container, path, taken)
            yield from _container(container, path, volumes)
            yield from _ports(container.get("ports") or (), f"{path}.ports", host_ports)


def volumes(found: Sequence[Fields], field: str) -> Iterator[Cause]:
    """The volumes of a pod."""
    taken: set[str] = set()
    for position, volume in enumerate(found):
        path = f"{field}[{position}]"
        yield from _named(volume, path, taken)
        for field_name, key in _REQUIRED:
            if (source := volume.get(field_name)) is not None:
                if not source.get(key):
                    yield required(f"{path}.{field_name}.{key}")
                yield from _items(source.get("items") or (), f"{path}.{field_name}.items")


def _items(items: Sequence[Fields], field: str) -> Iterator[Cause]:
    for position, item in enumerate(items):
        for key in ("key", "path"):
            if not item.get(key):
                yield required(f"{field}[{position}].{key}")
        yield from _inner_path(item.get("path", ""), f"{field}[{position}].path")


def _named(container: Fields, field: str, taken: set[str]) -> Iterator[Cause]:
    name = container.get("name", "")
    if not name:
        yield required(f"{field}.name")
    elif problems := names.label(name):
        yield from violations(f"{field}.name", name, problems)
    elif name in taken:
        yield duplicate(f"{field}.name", name)
    taken.add(name)


def _container(container: Fields, field: str, volumes: set[str]) -> Iterator[Cause]:
    image, policy = container.get("image", ""), container.get("imagePullPolicy")
    if not image:
        yield required(f"{field}.image")
    elif image != image.strip():
        yield invalid(f"{field}.image", image, "must not have leading or trailing whitespace")
    if policy and policy not in _PULL_POLICIES:
        yield unsupported(f"{field}.imagePullPolicy", policy, _PULL_POLICIES)
    for number, variable in enumerate(container.get("env") or ()):
        if not (name := variable.get("name")):
            yield required(f"{field}.env[{number}].name")
        elif problems := names.variable(name):
            yield from violations(f"{field}.env[{number}].name", name, problems)
    if mounts := container.get("volumeMounts"):
        yield from _mounts(mounts, f"{field}.volumeMounts", volumes)
    if resources := container.get("resources"):
        yield from requirements(resources, f"{field}.resources")


def _ports(ports: Sequence[Fields], field: str, taken: set[str]) -> Iterator[Cause]:
    """The ports of a container; host ports are what the scheduler reads."""
    for position, port in enumerate(ports):
        path, host = f"{field}[{position}]", port.get("hostPort")
        if not (number := port.get("containerPort", 0)):
            yield required(f"{path}.containerPort")
        else:
            yield from violations(f"{path}.containerPort", number, names.port_number(number))
        if port.get("protocol", "TCP") not in _PROTOCOLS:
            yield unsupported(f"{path}.protocol", port["protocol"], _PROTOCOLS)
        if host:
            yield from violations(f"{path}.hostPort", host, names.port_number(host))
            key = f"{port.get('protocol', 'TCP')}/{port.get('hostIP', '')}/{host}"
            if key in taken:
                yield duplicate(f"{path}.hostPort", key)
            taken.add(key)


def _mounts(mounts: Sequence[Fields], field: str, volumes: set[str]) -> Iterator[Cause]:
    taken: set[str] = set()
    for position, mount in enumerate(mounts):
        path = f"{field}[{position}]"
        name, where = mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            yield required(f"{path}.name")
        if name not in volumes:
            yield not_found(f"{path}.name", name)
        if not where:
            yield required(f"{path}.mountPath")
        elif where in taken:
            yield invalid(f"{path}.mountPath", where, "must be unique")
        taken.add(where)
        if below := mount.get("subPath"):
            yield from _inner_path(below, f"{field}.subPath")


def _inner_path(path: str, field: str) -> Iterator[Cause]:
    """A path that must stay below where it begins."""
    if path.startswith("/"):
        yield invalid(field, path, "must be a relative path")
    if ".." in path.split("/"):
        yield invalid(field, path, "must not contain '..'")

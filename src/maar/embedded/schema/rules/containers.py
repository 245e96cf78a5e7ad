"""Rules for the containers and volumes of a pod; names become names of folders on the local node."""

from collections.abc import Iterator, Sequence
from typing import Final

from maar.core.model import name_rules as names
from maar.embedded.failures import Cause
from maar.embedded.schema.messages import duplicate, invalid, not_found, required, unsupported, violations
from maar.embedded.schema.rules.fields import Fields
from maar.embedded.schema.rules.resource_lists import requirements

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
    for kind in ("containers", "initContainers", "ephemeralContainers"):
        for place, one in enumerate(spec.get(kind) or ()):
            path = f"{field}.{kind}[{place}]"
            yield from _named(one, path, taken)
            yield from _container(one, path, volumes)
            yield from _ports(one.get("ports") or (), f"{path}.ports", host_ports)


def volumes(found: Sequence[Fields], field: str) -> Iterator[Cause]:
    """The volumes of a pod."""
    taken: set[str] = set()
    for place, volume in enumerate(found):
        path = f"{field}[{place}]"
        yield from _named(volume, path, taken)
        for kind, key in _REQUIRED:
            if (source := volume.get(kind)) is not None:
                if not source.get(key):
                    yield required(f"{path}.{kind}.{key}")
                yield from _items(source.get("items") or (), f"{path}.{kind}.items")


def _items(items: Sequence[Fields], field: str) -> Iterator[Cause]:
    for place, item in enumerate(items):
        for key in ("key", "path"):
            if not item.get(key):
                yield required(f"{field}[{place}].{key}")
        yield from _inner_path(item.get("path", ""), f"{field}[{place}].path")


def _named(one: Fields, field: str, taken: set[str]) -> Iterator[Cause]:
    name = one.get("name", "")
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
    for place, one in enumerate(container.get("env") or ()):
        if not (name := one.get("name")):
            yield required(f"{field}.env[{place}].name")
        elif problems := names.variable(name):
            yield from violations(f"{field}.env[{place}].name", name, problems)
    if mounts := container.get("volumeMounts"):
        yield from _mounts(mounts, f"{field}.volumeMounts", volumes)
    if resources := container.get("resources"):
        yield from requirements(resources, f"{field}.resources")


def _ports(ports: Sequence[Fields], field: str, taken: set[str]) -> Iterator[Cause]:
    """The ports of a container; host ports are what the scheduler reads."""
    for place, port in enumerate(ports):
        path, host = f"{field}[{place}]", port.get("hostPort")
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
    for place, mount in enumerate(mounts):
        path = f"{field}[{place}]"
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

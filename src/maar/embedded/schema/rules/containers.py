"""Rules for the containers of a pod."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from maar.core.model import name_rules as names
from maar.embedded.failures import Cause
from maar.embedded.schema.rules.fields import Fields
from maar.embedded.schema.rules.probes import handler, probe
from maar.embedded.schema.rules.resource_lists import requirements
from maar.embedded.schema.rules.variables import environment
from maar.embedded.schema.rules.volumes import inner_path
from maar.embedded.schema.words import duplicate, invalid, judged, not_found, required, unsupported

PROTOCOLS: Final = ("SCTP", "TCP", "UDP")

_CHOICES: Final = (
    ("terminationMessagePolicy", ("File", "FallbackToLogsOnError")),
    ("imagePullPolicy", ("Always", "IfNotPresent", "Never")),
)
_PROPAGATIONS: Final = ("Bidirectional", "HostToContainer", "None")
_LARGEST_ID: Final = 2**31 - 1


class Surroundings(NamedTuple):
    """What the containers of a pod may refer to."""

    volumes: Mapping[str, Fields]
    claims: frozenset[str]
    host_network: bool


def containers(spec: Fields, field: str, around: Surroundings) -> Iterator[Cause]:
    """All containers of a pod."""
    names_taken: set[str] = set()
    if not spec.get("containers"):
        yield required(f"{field}.containers")
    host_ports: set[str] = set()
    for kind in ("containers", "initContainers", "ephemeralContainers"):
        for place, one in enumerate(spec.get(kind) or ()):
            path = f"{field}.{kind}[{place}]"
            yield from _named(one, path, names_taken)
            yield from _container(one, path, around, host_ports)
            if kind == "containers":
                yield from _probes(one, path)


def _named(container: Fields, field: str, taken: set[str]) -> Iterator[Cause]:
    name = container.get("name", "")
    if not name:
        yield required(f"{field}.name")
    elif problems := names.label(name):
        yield from judged(f"{field}.name", name, problems)
    elif name in taken:
        yield duplicate(f"{field}.name", name)
    taken.add(name)


def _container(container: Fields, field: str, around: Surroundings, host_ports: set[str]) -> Iterator[Cause]:
    yield from _image(container, field)
    if ports := container.get("ports"):
        yield from _ports(ports, f"{field}.ports", around, host_ports)
    if container.get("env") or container.get("envFrom"):
        yield from environment(container, field)
    if mounts := container.get("volumeMounts"):
        yield from _mounts(mounts, f"{field}.volumeMounts", around.volumes)
    if devices := container.get("volumeDevices"):
        yield from _devices(devices, f"{field}.volumeDevices", around.volumes)
    if resources := container.get("resources"):
        yield from requirements(resources, f"{field}.resources", around.claims)
    if context := container.get("securityContext"):
        yield from identity(context, f"{field}.securityContext", ("runAsUser", "runAsGroup"))


def _image(container: Fields, field: str) -> Iterator[Cause]:
    image = container.get("image", "")
    if not image:
        yield required(f"{field}.image")
    elif image != image.strip():
        yield invalid(f"{field}.image", image, "must not have leading or trailing whitespace")
    for key, supported in _CHOICES:
        if (found := container.get(key)) and found not in supported:
            yield unsupported(f"{field}.{key}", found, supported)


def identity(context: Fields, field: str, ids: Sequence[str]) -> Iterator[Cause]:
    """Who the processes run as."""
    for key in ids:
        if (found := context.get(key)) is not None and not 0 <= found <= _LARGEST_ID:
            yield invalid(f"{field}.{key}", found, f"must be between 0 and {_LARGEST_ID}, inclusive")


def _ports(
    ports: Sequence[Fields], field: str, around: Surroundings, host_ports: set[str]
) -> Iterator[Cause]:
    taken: set[str] = set()
    for place, port in enumerate(ports):
        path = f"{field}[{place}]"
        if name := port.get("name"):
            if problems := names.port_name(name):
                yield from judged(f"{path}.name", name, problems)
            elif name in taken:
                yield duplicate(f"{path}.name", name)
            taken.add(name)
        if not (number := port.get("containerPort", 0)):
            yield required(f"{path}.containerPort")
        elif problems := names.port_number(number):
            yield from judged(f"{path}.containerPort", number, problems)
        if host := port.get("hostPort"):
            yield from _host_port(port, host, path, around, host_ports)
        if port.get("protocol", "TCP") not in PROTOCOLS:
            yield unsupported(f"{path}.protocol", port["protocol"], PROTOCOLS)


def _host_port(port: Fields, host: int, field: str, around: Surroundings, taken: set[str]) -> Iterator[Cause]:
    if problems := names.port_number(host):
        yield from judged(f"{field}.hostPort", host, problems)
    elif around.host_network and host != port.get("containerPort"):
        why = "must match `containerPort` when `hostNetwork` is true"
        yield invalid(f"{field}.hostPort", host, why)
    key = f"{port.get('protocol', 'TCP')}/{port.get('hostIP', '')}/{host}"
    if key in taken:
        yield duplicate(f"{field}.hostPort", key)
    taken.add(key)


def _mounts(mounts: Sequence[Fields], field: str, volumes: Mapping[str, Fields]) -> Iterator[Cause]:
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
        for key in ("subPath", "subPathExpr"):
            if below := mount.get(key):
                yield from inner_path(below, f"{field}.{key}")
        if mount.get("subPath") and mount.get("subPathExpr"):
            why = "subPathExpr and subPath are mutually exclusive"
            yield invalid(f"{path}.subPathExpr", mount["subPathExpr"], why)
        if mount.get("mountPropagation", "None") not in _PROPAGATIONS:
            yield unsupported(f"{field}.mountPropagation", mount["mountPropagation"], _PROPAGATIONS)


def _devices(devices: Sequence[Fields], field: str, volumes: Mapping[str, Fields]) -> Iterator[Cause]:
    for place, device in enumerate(devices):
        if not device.get("name"):
            yield required(f"{field}[{place}].name")
        if device.get("name", "") not in volumes:
            yield not_found(f"{field}[{place}].name", device.get("name", ""))
        if not device.get("devicePath"):
            yield required(f"{field}[{place}].devicePath")


def _probes(container: Fields, field: str) -> Iterator[Cause]:
    for kind in ("livenessProbe", "readinessProbe", "startupProbe"):
        if (found := container.get(kind)) is not None:
            yield from probe(kind, found, f"{field}.{kind}")
    lifecycle = container.get("lifecycle") or {}
    for moment in ("postStart", "preStop"):
        if (found := lifecycle.get(moment)) is not None:
            yield from handler(found, f"{field}.lifecycle.{moment}")

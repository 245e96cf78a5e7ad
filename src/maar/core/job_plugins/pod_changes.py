"""Changes of a pod's document: nothing is added of which the user has one already."""

from collections.abc import Iterator, Mapping
from typing import Final

from maar.core.job_plugins.plugin import Json

BOTH: Final = ("containers", "initContainers")
# Linux refuses to start a program with a variable of 128 KiB, its name and the end included.
LONGEST_VARIABLE: Final = 128 * 1024 - 64


def spec_of(pod: Json) -> Json:
    """The spec of a pod; it is made where there is none."""
    spec = pod.get("spec")
    if isinstance(spec, dict):
        return spec
    made: Json = {}
    pod["spec"] = made
    return made


def containers_of(pod: Json, kinds: tuple[str, ...] = ("containers",)) -> Iterator[Json]:
    """The containers of a pod, by default without its init containers."""
    for kind in kinds:
        containers = spec_of(pod).get(kind)
        for one in containers if isinstance(containers, list) else ():
            if isinstance(one, dict):
                yield one


def add_variables(container: Json, variables: Mapping[str, str]) -> None:
    """Set environment variables."""
    entries: list[Json] = [{"name": name, "value": value} for name, value in variables.items()]
    add(container, "env", "name", *entries)


def add_port(container: Json, name: str, number: int) -> None:
    """Declare a port, unless the container declares its number already."""
    ports = container.get("ports")
    if isinstance(ports, list) and any(
        isinstance(one, dict) and one.get("containerPort") == number for one in ports
    ):
        return
    add(container, "ports", "name", {"name": name, "containerPort": number, "protocol": "TCP"})


def add_volume(pod: Json, volume: Json, path: str, sub_path: str = "") -> None:
    """Mount a volume into all containers, init containers included."""
    add(spec_of(pod), "volumes", "name", volume)
    for container in containers_of(pod, BOTH):
        mount: Json = {"name": volume["name"], "mountPath": path}
        add(container, "volumeMounts", "mountPath", mount | ({"subPath": sub_path} if sub_path else {}))


def add(holder: Json, field: str, key: str, *values: Json) -> None:
    """Append to a list what it has none of with the same key; what is no list stays as it is."""
    found = [] if holder.get(field) is None else holder[field]
    if values and isinstance(found, list):
        taken = {one[key] for one in found if isinstance(one, dict) and isinstance(one.get(key), str)}
        found += [one for one in values if one[key] not in taken]
        holder[field] = found

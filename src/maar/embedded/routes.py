"""Where a path of the REST API leads."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from maar.embedded.cluster import Served


class Target(NamedTuple):
    """An object, a list of them, or a part of one; an empty namespace means all, or none."""

    served: Served
    namespace: str
    name: str
    subresource: str


class Routes:
    """Finds the target of a path: /api/v1/namespaces/NS/pods/NAME/status, /apis/GROUP/VERSION/..."""

    def __init__(self, served: Iterable[Served]) -> None:
        self._served: Mapping[tuple[str, str, str], Served] = {
            (one.resource.group, one.resource.version, one.resource.plural): one for one in served
        }

    def find(self, path: str) -> Target | None:
        """The target of a path, None where nothing is served there."""
        parts = path.strip("/").split("/")
        if parts[0] == "api" and len(parts) > 2:  # noqa: PLR2004  api, version, plural
            group, version, rest = "", parts[1], parts[2:]
        elif parts[0] == "apis" and len(parts) > 3:  # noqa: PLR2004  apis, group, version, plural
            group, version, rest = parts[1], parts[2], parts[3:]
        else:
            return None
        namespace = ""
        if rest[0] == "namespaces" and len(rest) > 2 and self._namespaced(group, version, rest[2]):  # noqa: PLR2004
            namespace, rest = rest[1], rest[2:]
        served = self._served.get((group, version, rest[0]))
        if served is None or (namespace and not served.resource.namespaced):
            return None
        name = rest[1] if len(rest) > 1 else ""
        subresource = "/".join(rest[2:])
        if subresource and subresource not in served.resource.subresources:
            return None
        if name and served.resource.namespaced and not namespace:
            return None
        return Target(served, namespace, name, subresource)

    def _namespaced(self, group: str, version: str, plural: str) -> bool:
        served = self._served.get((group, version, plural))
        return served is not None and served.resource.namespaced

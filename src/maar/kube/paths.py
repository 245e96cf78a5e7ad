"""The REST paths of objects on an API server: one table, and paths built from it."""

from typing import Final, Literal, NamedTuple
from urllib.parse import quote

from maar.core.model.events import ALL_KINDS
from maar.core.model.metadata import Object
from maar.core.model.pod import Pod
from maar.core.model.pod_group import PodGroup
from maar.core.model.volume import PersistentVolume, PersistentVolumeClaim


class ResourcePath(NamedTuple):
    """The REST path of a kind: group and version, plural, and whether it is namespaced."""

    api_version: str
    plural: str
    namespaced: bool
    status: Literal["status", ""] = "status"  # the subresource that statuses are written through, if any

    def all(self, namespace: str = "") -> str:
        """The path of all objects, or of those in a namespace."""
        root = "apis" if "/" in self.api_version else "api"
        inside = f"/namespaces/{quote(namespace, safe='')}" if namespace else ""
        return f"/{root}/{self.api_version}{inside}/{self.plural}"

    def one(self, key: str, subresource: str = "") -> str:
        """The path of one object, by its key: namespace/name, or the name where there is no namespace."""
        namespace, name = self.split(key)
        path = f"{self.all(namespace)}/{quote(name, safe='')}"
        return f"{path}/{subresource}" if subresource else path

    def split(self, key: str) -> tuple[str, str]:
        """The namespace, empty where there is none, and the name."""
        namespace, slash, name = key.rpartition("/")
        if not name or bool(slash) != self.namespaced or bool(namespace) != self.namespaced:
            wanted = "namespace/name" if self.namespaced else "the name alone"
            raise ValueError(f"{key!r} is no key of {self.plural}: write {wanted}")
        return namespace, name


_PLACES: Final[dict[type[Object], ResourcePath]] = {
    # The status of pod groups is no subresource, as in Volcano.
    kind: ResourcePath(kind.api_version, kind.plural, kind.namespaced, "" if kind is PodGroup else "status")
    for kind in ALL_KINDS
}

PODS: Final = _PLACES[Pod]
POD_GROUPS: Final = _PLACES[PodGroup]
CLAIMS: Final = _PLACES[PersistentVolumeClaim]
VOLUMES: Final = _PLACES[PersistentVolume]
OWNED: Final = {  # by kind, what jobs own besides objects of the model
    "Service": ResourcePath("v1", "services", namespaced=True),
    "ConfigMap": ResourcePath("v1", "configmaps", namespaced=True, status=""),
    "Secret": ResourcePath("v1", "secrets", namespaced=True, status=""),
    "NetworkPolicy": ResourcePath("networking.k8s.io/v1", "networkpolicies", namespaced=True),
}
EVENTS: Final = ResourcePath("v1", "events", namespaced=True)
LEASES: Final = ResourcePath("coordination.k8s.io/v1", "leases", namespaced=True)


def resource_path_of(kind: type[Object]) -> ResourcePath:
    """The REST path of a kind of the model, or of a summary of one."""
    return _PLACES.get(kind) or ResourcePath(kind.api_version, kind.plural, kind.namespaced)

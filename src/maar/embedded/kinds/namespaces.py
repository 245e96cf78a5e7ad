"""Namespaces: deleted when they are empty; some cannot be deleted."""

from typing import Final

from maar.embedded.behaviour import Behaviour
from maar.embedded.calls import Call, metadata, section, text
from maar.embedded.cluster import Cluster
from maar.embedded.failures import Json, forbidden
from maar.embedded.kinds.parts import part, words

FINALIZER: Final = "kubernetes"  # in the spec: removed once the namespace is empty
FROM_THE_START: Final = ("default", "kube-system", "kube-public", "kube-node-lease", "maar-system")

_NEVER_DELETED: Final = frozenset({"default", "kube-system", "kube-public"})
_NAME_LABEL: Final = "kubernetes.io/metadata.name"


class Namespaces(Behaviour):
    """A namespace is active, or terminating until nothing is in it any more."""

    def before_create(self, cluster: Cluster, value: Json, call: Call) -> None:
        """Begin active, with a finalizer and with the name as a label."""
        del cluster, call
        spec = section(value, "spec")
        spec["finalizers"] = sorted({*words(spec, "finalizers"), FINALIZER})
        value["status"] = {"phase": "Active"}
        _label(value)

    def before_update(self, cluster: Cluster, old: Json, value: Json, subresource: str, call: Call) -> None:
        """Let finalizers be changed through their subresource only."""
        del cluster, call
        if subresource != "finalize":
            section(value, "spec")["finalizers"] = words(part(old, "spec"), "finalizers")
        _label(value)

    def waits(self, value: Json) -> bool:
        """Wait for those who empty the namespace."""
        return bool(words(part(value, "spec"), "finalizers"))

    def before_delete(self, cluster: Cluster, value: Json, call: Call) -> None:
        """Refuse to delete those that the cluster needs; mark the others as terminating."""
        del cluster, call
        if (name := text(metadata(value), "name")) in _NEVER_DELETED:
            raise forbidden("namespaces", name, "this namespace may not be deleted")
        section(value, "status")["phase"] = "Terminating"


def _label(value: Json) -> None:
    meta = metadata(value)
    section(meta, "labels")[_NAME_LABEL] = text(meta, "name")

"""Priority classes: names for priorities, one of which may be the default."""

from typing import Final, NamedTuple

from maar.embedded.behaviour import Behaviour
from maar.embedded.calls import Call, metadata, text
from maar.embedded.cluster import Cluster
from maar.embedded.failures import Json, forbidden
from maar.embedded.kinds.parts import number

PLURAL: Final = "priorityclasses.scheduling.k8s.io"
SYSTEM_CLASSES: Final = {
    "system-node-critical": (
        2_000_001_000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
    "system-cluster-critical": (
        2_000_000_000,
        (
            "Used for system critical pods that must run in the cluster, but can be moved to another node"
            " if necessary."
        ),
    ),
}


class Priority(NamedTuple):
    """What a class gives to its pods."""

    class_name: str
    value: int
    preemption_policy: str


_NO_CLASS: Final = Priority("", 0, "PreemptLowerPriority")


class PriorityClasses(Behaviour):
    """Classes are few and every new pod asks for one, so they are remembered until one is written."""

    def __init__(self) -> None:
        self._known: dict[str, Priority] | None = None
        self._default = _NO_CLASS

    def named(self, cluster: Cluster, name: str) -> Priority | None:
        """The class of a name, or the default where there is none; None for an unknown name."""
        if self._known is None:
            self._read(cluster)
        return (self._known or {}).get(name) if name else self._default

    def before_create(self, cluster: Cluster, value: Json, call: Call) -> None:
        """Refuse a second default."""
        del call
        self._check_default(cluster, value)

    def before_update(self, cluster: Cluster, old: Json, value: Json, subresource: str, call: Call) -> None:
        """Refuse a second default."""
        del old, subresource, call
        self._check_default(cluster, value)

    def before_delete(self, cluster: Cluster, value: Json, call: Call) -> None:
        """Refuse to lose a class that the system needs."""
        del cluster, call
        if (name := text(metadata(value), "name")) in SYSTEM_CLASSES:
            raise forbidden(PLURAL, name, "this is a system priority class and cannot be deleted")

    def stored(self, cluster: Cluster, old: Json | None, value: Json | None) -> None:
        """Forget what was remembered."""
        del cluster, old, value
        self._known = None

    def _read(self, cluster: Cluster) -> None:
        self._known, self._default = {}, _NO_CLASS
        defaults = []
        for value in cluster.all(PLURAL):
            name = text(metadata(value), "name")
            policy = text(value, "preemptionPolicy") or _NO_CLASS.preemption_policy
            found = self._known[name] = Priority(name, number(value, "value"), policy)
            if value.get("globalDefault") is True:
                defaults.append(found)
        if defaults:
            self._default = min(defaults, key=lambda default: default.value)

    def _check_default(self, cluster: Cluster, value: Json) -> None:
        if value.get("globalDefault") is not True:
            return
        default, name = self.named(cluster, ""), text(metadata(value), "name")
        if default is not None and default.class_name not in ("", name):
            raise forbidden(
                PLURAL,
                name,
                f"PriorityClass {default.class_name} is already marked as default."
                " Only one default can exist",
            )

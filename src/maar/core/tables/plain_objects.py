"""Objects of kinds that decisions read as they are: budgets, claims, classes, namespaces and their quotas."""

from dataclasses import dataclass, field
from typing import cast

from maar.core.model.disruption_budget import PodDisruptionBudget
from maar.core.model.metadata import Object
from maar.core.model.namespace import Namespace, ResourceQuota
from maar.core.model.priority_class import PriorityClass
from maar.core.model.volume import PersistentVolume, PersistentVolumeClaim, StorageClass


@dataclass(eq=False)
class PlainObjects:
    """Objects by kind and key."""

    changes: int = 0  # counts all changes that a decision may see
    namespace_weights: dict[str, int] = field(default_factory=dict)
    _objects: dict[str, dict[str, Object]] = field(default_factory=dict)
    _quotas: dict[str, dict[str, ResourceQuota]] = field(default_factory=dict)  # by namespace

    def put(self, one: Object) -> None:
        """Store an object."""
        self.changes += 1
        self._objects.setdefault(type(one).__name__, {})[one.key] = one
        if isinstance(one, ResourceQuota):
            self._quotas.setdefault(_namespace(one), {})[one.key] = one
            self._weigh(_namespace(one))

    def remove(self, kind: str, key: str) -> Object | None:
        """Remove an object and return it."""
        self.changes += 1
        gone = self._objects.get(kind, {}).pop(key, None)
        if isinstance(gone, ResourceQuota):
            del self._quotas[_namespace(gone)][gone.key]
            self._weigh(_namespace(gone))
        return gone

    def _weigh(self, namespace: str) -> None:
        """The weight of a namespace is the largest among its quotas."""
        self.namespace_weights[namespace] = max((one.weight for one in self.quotas_of(namespace)), default=1)

    def of_kind(self, kind: type[Object]) -> dict[str, Object]:
        """The objects of a kind that is read as it is, by key."""
        return self._objects.get(kind.__name__, {})

    @property
    def disruption_budgets(self) -> dict[str, PodDisruptionBudget]:
        """The disruption budgets by key."""
        return cast("dict[str, PodDisruptionBudget]", self.of_kind(PodDisruptionBudget))

    def quotas_of(self, namespace: str) -> list[ResourceQuota]:
        """The quotas of a namespace, by name."""
        own = self._quotas.get(namespace)
        return sorted(own.values(), key=lambda one: one.key) if own else []

    @property
    def claims(self) -> dict[str, PersistentVolumeClaim]:
        """The volume claims by key."""
        return cast("dict[str, PersistentVolumeClaim]", self.of_kind(PersistentVolumeClaim))

    @property
    def volumes(self) -> dict[str, PersistentVolume]:
        """The volumes by name."""
        return cast("dict[str, PersistentVolume]", self.of_kind(PersistentVolume))

    @property
    def storage_classes(self) -> dict[str, StorageClass]:
        """The storage classes by name."""
        return cast("dict[str, StorageClass]", self.of_kind(StorageClass))

    @property
    def namespaces(self) -> dict[str, Namespace]:
        """The namespaces by name."""
        return cast("dict[str, Namespace]", self.of_kind(Namespace))

    def priority_of(self, class_name: str, default: int) -> int:
        """The priority of a class, or a default where the name is not known."""
        found = self.of_kind(PriorityClass).get(class_name)
        return found.value if isinstance(found, PriorityClass) else default


def _namespace(quota: ResourceQuota) -> str:
    return quota.metadata.namespace or "default"

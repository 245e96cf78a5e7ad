"""What the embedded API server serves: one line for each resource."""

from dataclasses import dataclass, field
from typing import Final

_READ_WRITE: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
_CREATE_ONLY: Final = ("create",)


@dataclass(frozen=True)
class Column:
    """A column that `kubectl get` shows, filled from the object by a JSON path."""

    name: str
    path: str
    type: str = "string"
    description: str = ""
    priority: int = 0  # above 0 only with -o wide
    format: str = ""


@dataclass(frozen=True)
class Resource:
    """A kind of object and where it is served."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()
    verbs: tuple[str, ...] = _READ_WRITE
    columns: tuple[Column, ...] = field(default=())
    custom: bool = False  # described by a CustomResourceDefinition

    @property
    def api_version(self) -> str:
        """As objects write it: v1, or group/version."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified(self) -> str:
        """The name in messages and in the store: pods, or queues.scheduling.volcano.sh."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def singular(self) -> str:
        """The name of one, for kubectl."""
        return self.kind.lower()


BUILT_IN: Final = (
    Resource("", "v1", "namespaces", "Namespace", False, ("ns",), subresources=("finalize", "status")),
    Resource("", "v1", "nodes", "Node", False, ("no",), subresources=("status",)),
    Resource(
        "", "v1", "pods", "Pod", True, ("po",), ("all",), ("binding", "eviction", "log", "status")
    ),
    Resource("", "v1", "bindings", "Binding", verbs=_CREATE_ONLY),
    Resource("", "v1", "events", "Event", True, ("ev",)),
    Resource("", "v1", "configmaps", "ConfigMap", True, ("cm",)),
    Resource("", "v1", "secrets", "Secret"),
    Resource("", "v1", "serviceaccounts", "ServiceAccount", True, ("sa",)),
    Resource("", "v1", "services", "Service", True, ("svc",), ("all",), ("status",)),
    Resource("", "v1", "resourcequotas", "ResourceQuota", True, ("quota",), subresources=("status",)),
    Resource("", "v1", "persistentvolumes", "PersistentVolume", False, ("pv",), subresources=("status",)),
    Resource(
        "", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", True, ("pvc",), subresources=("status",)
    ),
    Resource("apps", "v1", "daemonsets", "DaemonSet", True, ("ds",), ("all",), ("status",)),
    Resource("apps", "v1", "deployments", "Deployment", True, ("deploy",), ("all",), ("status",)),
    Resource("apps", "v1", "replicasets", "ReplicaSet", True, ("rs",), ("all",), ("status",)),
    Resource("apps", "v1", "statefulsets", "StatefulSet", True, ("sts",), ("all",), ("status",)),
    Resource("batch", "v1", "jobs", "Job", True, (), ("all",), ("status",)),
    Resource("coordination.k8s.io", "v1", "leases", "Lease"),
    Resource("networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy", True, ("netpol",)),
    Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", True, ("pdb",), (), ("status",)),
    Resource("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", False, ("pc",)),
    Resource("storage.k8s.io", "v1", "storageclasses", "StorageClass", False, ("sc",)),
    Resource(
        "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", False,
        ("crd", "crds"), ("api-extensions",), ("status",),
    ),
    Resource(
        "authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview", False, verbs=_CREATE_ONLY
    ),
    Resource(
        "authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", False,
        verbs=_CREATE_ONLY,
    ),
    Resource(
        "authorization.k8s.io", "v1", "selfsubjectrulesreviews", "SelfSubjectRulesReview", False,
        verbs=_CREATE_ONLY,
    ),
)  # fmt: skip

"""Workloads of Kubernetes that make pods: only their metadata is read, for what it says about pod groups."""

from typing import ClassVar, Final

from maar.core.model.metadata import Summary


class Workload(Summary, frozen=True):
    """An object that makes pods and is their controller."""

    namespaced: ClassVar[bool] = True
    kind: ClassVar[str]  # as owner references have it


class ReplicaSet(Workload, frozen=True):
    """What a Deployment makes for each version of its template; it has the Deployment's annotations."""

    api_version: ClassVar[str] = "apps/v1"
    plural: ClassVar[str] = "replicasets"
    kind: ClassVar[str] = "ReplicaSet"


class StatefulSet(Workload, frozen=True):
    """Pods by number."""

    api_version: ClassVar[str] = "apps/v1"
    plural: ClassVar[str] = "statefulsets"
    kind: ClassVar[str] = "StatefulSet"


class DaemonSet(Workload, frozen=True):
    """A pod on every node."""

    api_version: ClassVar[str] = "apps/v1"
    plural: ClassVar[str] = "daemonsets"
    kind: ClassVar[str] = "DaemonSet"


class BatchJob(Workload, frozen=True):
    """Kubernetes' own Job; `Job` is Volcano's."""

    api_version: ClassVar[str] = "batch/v1"
    plural: ClassVar[str] = "jobs"
    kind: ClassVar[str] = "Job"


WORKLOADS: Final[tuple[type[Workload], ...]] = (ReplicaSet, StatefulSet, DaemonSet, BatchJob)

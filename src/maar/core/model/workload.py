"""Workloads of Kubernetes that make pods: what their metadata says about pod groups, and of Jobs more."""

from collections.abc import Sequence
from typing import ClassVar, Final

from maar.core.model.batch_job import BatchJobSpec, BatchJobStatus
from maar.core.model.index_ranges import parse_indexes
from maar.core.model.metadata import Object, Summary
from maar.core.model.pod import GROUP_ANNOTATION

# On a Job that Maar has suspended: the pod group it was evicted for, or the action where there is none. Who
# removes it keeps the Job suspended.
SUSPENDED_FOR_ANNOTATION: Final = "maar.sh/suspended-for"

_JOB_CONTROLLER: Final = ("", "kubernetes.io/job-controller")


class Workload(Object, frozen=True):
    """An object that makes pods and is their controller."""

    namespaced: ClassVar[bool] = True
    kind: ClassVar[str]  # as owner references have it


class ReplicaSet(Workload, Summary, frozen=True):
    """What a Deployment makes for each version of its template; it has the Deployment's annotations."""

    api_version: ClassVar[str] = "apps/v1"
    plural: ClassVar[str] = "replicasets"
    kind: ClassVar[str] = "ReplicaSet"


class StatefulSet(Workload, Summary, frozen=True):
    """Pods by number."""

    api_version: ClassVar[str] = "apps/v1"
    plural: ClassVar[str] = "statefulsets"
    kind: ClassVar[str] = "StatefulSet"


class DaemonSet(Workload, Summary, frozen=True):
    """A pod on every node."""

    api_version: ClassVar[str] = "apps/v1"
    plural: ClassVar[str] = "daemonsets"
    kind: ClassVar[str] = "DaemonSet"


class BatchJob(Workload, frozen=True):
    """Kubernetes' own Job; `Job` is Volcano's."""

    api_version: ClassVar[str] = "batch/v1"
    plural: ClassVar[str] = "jobs"
    kind: ClassVar[str] = "Job"

    spec: BatchJobSpec = BatchJobSpec()
    status: BatchJobStatus = BatchJobStatus()

    @property
    def is_finished(self) -> bool:
        """Whether it is complete or has failed, for good."""
        return any(
            one.type in ("Complete", "Failed") and one.status == "True" for one in self.status.conditions
        )

    @property
    def suspended_for(self) -> str | None:
        """What Maar has suspended it for; None where it is not suspended, or somebody else keeps it so."""
        return self.metadata.annotations.get(SUSPENDED_FOR_ANNOTATION) if self.spec.suspend else None

    @property
    def can_be_suspended(self) -> bool:
        """Whether it stays suspended: no owner resumes it, and Kubernetes' own controller runs it."""
        owner = self.metadata.controller
        return (
            (owner is None or (owner.kind, owner.api_version) == ("CronJob", "batch/v1"))
            and self.spec.managed_by in _JOB_CONTROLLER
            and not self.is_finished
            and not self.is_terminating
        )

    @property
    def group_key(self) -> str:
        """The key of the group of its pods: that which the template names, or the one made for them."""
        named = self.spec.template.metadata.annotations.get(GROUP_ANNOTATION)
        name = named or f"podgroup-{self.metadata.uid}"
        return f"{self.metadata.namespace or 'default'}/{name}"

    @property
    def is_indexed(self) -> bool:
        """Whether each completion has an index."""
        return self.spec.completion_mode == "Indexed" and self.spec.completions is not None

    @property
    def ended(self) -> int:
        """How many of its pods have succeeded, or are of an index that has failed for good."""
        return self.status.succeeded + len(self._failed_indexes())

    def _failed_indexes(self) -> frozenset[int]:
        return parse_indexes(self.status.failed_indexes, self.spec.completions or 0)

    def numbers_to_run(self) -> Sequence[int]:
        """The numbers of the pods that it would have now: its lowest open indexes, or as many as it wants."""
        spec, status = self.spec, self.status
        if spec.completions is None:
            return range(0 if status.succeeded else spec.parallelism)
        if not self.is_indexed:
            return range(max(0, min(spec.parallelism, spec.completions - status.succeeded)))
        over = parse_indexes(status.completed_indexes, spec.completions)
        over |= self._failed_indexes()
        return [index for index in range(spec.completions) if index not in over][: spec.parallelism]


WORKLOADS: Final[tuple[type[Workload], ...]] = (ReplicaSet, StatefulSet, DaemonSet, BatchJob)

"""Workloads that `maar up` only stores: a warning says so, and what to use instead."""

from typing import Final

from maar.embedded.calls import Admission, Stage

_UNRUN: Final = ("jobs.batch", "replicasets.apps", "statefulsets.apps")


def warn_of_unrun(stage: Stage, admission: Admission) -> None:
    """Warn the creator of a workload that no controller creates its pods."""
    resource = admission.resource
    if stage != "judge" or admission.subresource or admission.operation != "CREATE":
        return
    if resource.qualified in _UNRUN:
        admission.call.warnings.append(
            f"[no-controller] {resource.kind} of {resource.api_version} is stored, and nothing in maar up "
            "makes pods of it yet; create the pods themselves and a PodGroup, or use a cluster of Kubernetes"
        )

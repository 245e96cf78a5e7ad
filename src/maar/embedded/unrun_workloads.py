"""Workloads that `maar up` only stores, or that never end there: a warning says so, and what to do."""

from typing import Final

from maar.embedded.batch_jobs.model import JOBS
from maar.embedded.calls import Admission, Stage
from maar.embedded.kinds.parts import part
from maar.embedded.nodes.script import RUN_FOR

_UNRUN: Final = ("deployments.apps", "replicasets.apps", "statefulsets.apps", "daemonsets.apps")


def warn_of_unrun(stage: Stage, admission: Admission) -> None:
    """Warn the creator of a workload that no controller creates its pods."""
    resource = admission.resource
    if _is_created(stage, admission) and resource.qualified in _UNRUN:
        admission.call.warnings.append(
            f"[no-controller] {resource.kind} of {resource.api_version} is stored, and nothing in maar up "
            "makes pods of it yet; create the pods themselves and a PodGroup, or use a cluster of Kubernetes"
        )


def warn_of_endless(stage: Stage, admission: Admission) -> None:
    """Warn the creator of a Job that its pods do not end; only where all nodes are virtual."""
    if not _is_created(stage, admission) or admission.resource.qualified != JOBS or admission.new is None:
        return
    if RUN_FOR not in part(admission.new, "spec", "template", "metadata", "annotations"):
        admission.call.warnings.append(
            "[virtual-nodes] the pods of this Job run until they are deleted: virtual nodes run no commands; "
            f"write how long they run in spec.template.metadata.annotations, {RUN_FOR}: 10s, or run commands "
            "with maar up --local"
        )


def _is_created(stage: Stage, admission: Admission) -> bool:
    return stage == "judge" and admission.operation == "CREATE" and not admission.subresource

"""The guard on the quota manager's objects: only it changes quotas that follow a queue's allocation."""

from collections.abc import Iterator
from typing import Final

from maar.core.admission.case import Case
from maar.core.admission.plain import at, brief, map_at, text_at
from maar.core.admission.request import DELETE, UPDATE, Problem
from maar.core.admission.rulebook import Rulebook
from maar.core.model.namespace import QUOTA_LABEL

_CONTROLLERS: Final = "system:serviceaccount:kube-system"
_MANAGER: Final = "system:kube-controller-manager"  # where controllers have no accounts of their own
_COUNTERS: Final = (f"{_CONTROLLERS}:resourcequota-controller", _MANAGER, "system:apiserver")
_REMOVERS: Final = (
    f"{_CONTROLLERS}:namespace-controller", f"{_CONTROLLERS}:generic-garbage-collector", _MANAGER,
)  # fmt: skip


def owner(case: Case) -> Iterator[Problem]:
    """Only the quota manager writes its quotas; the cluster counts what is used and removes what is to go."""
    if not case.is_by_maar and not _is_the_clusters(case):
        wrong = text_at(case.old, "metadata", "labels", QUOTA_LABEL) or text_at(
            case.new, "metadata", "labels", QUOTA_LABEL
        )
        sentence = (
            f"is {brief(wrong)}: only Maar's quota manager may write this quota, which follows what its "
            "queue is allocated; change the queue's spec.request, or use another quota without this label"
        )
        yield Problem(f"metadata.labels[{QUOTA_LABEL}]", brief(wrong), sentence)


def is_ours(case: Case) -> bool:
    """Whether a quota is, or would be, the quota manager's."""
    return any(QUOTA_LABEL in map_at(one, "metadata", "labels") for one in (case.old, case.new))


def _is_the_clusters(case: Case) -> bool:
    request = case.request
    if request.subresource == "status":
        return request.user in (*_COUNTERS, *case.options.cluster_users)
    is_letting_go = request.operation == DELETE or (
        request.operation == UPDATE and at(case.old, "spec") == at(case.new, "spec")
    )
    return is_letting_go and request.user in (*_REMOVERS, *case.options.cluster_users)


def read_quota(case: Case) -> Case:
    """A quota is judged by who writes it."""
    return case


BOOK: Final = Rulebook(noun="quota", read=read_quota, guard={"quota-owner": owner}, concerns=is_ours)

"""Namespaces and what is set per namespace: quotas and the weight they carry."""

from typing import ClassVar, Final

from maar.core.model.metadata import Object, Record
from maar.core.model.resources import BadAmountError, amount

WEIGHT_RESOURCE: Final = "volcano.sh/namespace.weight"
QUOTA_LABEL: Final = "maar.sh/quota-of"  # on the quotas that are Maar's own, with the queue's name

_LONGEST_LABEL: Final = 63


def quota_label(queue: str) -> str:
    """A queue's name as the value of a label, which is shorter than a name can be."""
    return queue[:_LONGEST_LABEL].rstrip("-.")


class Namespace(Object, frozen=True, tag="Namespace"):
    """A namespace: its labels are matched by queues, its annotation names its queue."""

    api_version: ClassVar[str] = "v1"
    plural: ClassVar[str] = "namespaces"
    namespaced: ClassVar[bool] = False


class QuotaSpec(Record, frozen=True):
    """Limits as they are written; the names are Kubernetes' own (requests.cpu, count/jobs.batch)."""

    hard: dict[str, str | int | float] = {}
    scopes: tuple[str, ...] = ()  # of which pods it speaks; empty: of all
    scope_selector: dict[str, object] | None = None


class QuotaStatus(Record, frozen=True):
    """What is enforced, and what pods and others of the namespace use of it."""

    hard: dict[str, str | int | float] = {}
    used: dict[str, str | int | float] = {}


class ResourceQuota(Object, frozen=True, tag="ResourceQuota"):
    """A quota, which is also where a namespace's weight is written."""

    api_version: ClassVar[str] = "v1"
    plural: ClassVar[str] = "resourcequotas"
    namespaced: ClassVar[bool] = True

    spec: QuotaSpec = QuotaSpec()
    status: QuotaStatus = QuotaStatus()

    @property
    def weight(self) -> int:
        """The weight it gives its namespace; missing, below 1 or not a whole number counts as 1."""
        try:
            return max(1, amount(WEIGHT_RESOURCE, str(self.spec.hard.get(WEIGHT_RESOURCE, 1))))
        except BadAmountError:
            return 1

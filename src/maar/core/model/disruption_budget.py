"""The disruption budget: how many pods of an application may be taken away at a time."""

from typing import ClassVar

from maar.core.model.metadata import LabelSelector, Object, Record


class BudgetSpec(Record, frozen=True):
    """Which pods are meant and how many of them stay: a number, or a part such as "20%"."""

    selector: LabelSelector | None = None
    min_available: int | str | None = None
    max_unavailable: int | str | None = None


class BudgetStatus(Record, frozen=True):
    """What the disruption controller last counted."""

    disruptions_allowed: int = 0
    current_healthy: int = 0
    desired_healthy: int = 0
    expected_pods: int = 0


class PodDisruptionBudget(Object, frozen=True, tag="PodDisruptionBudget"):
    """A limit on voluntary evictions."""

    api_version: ClassVar[str] = "policy/v1"
    plural: ClassVar[str] = "poddisruptionbudgets"
    namespaced: ClassVar[bool] = True

    spec: BudgetSpec = BudgetSpec()
    status: BudgetStatus = BudgetStatus()

"""Which pods may not be evicted: by the annotation preemptable, by a plugin, or by a disruption budget."""

from collections import Counter
from collections.abc import Iterable
from math import ceil

from maar.core.cycle.placing.node_stack import pod_view
from maar.core.model.disruption_budget import PodDisruptionBudget
from maar.core.model.whole_numbers import whole_number
from maar.core.policy.configured import EVICTION_SWITCHES, Configuration
from maar.core.policy.selectors import match_selector
from maar.core.tables.rows import PodRow
from maar.core.tables.tables import Tables


class Protection:
    """What protects pods from an action, "reclaim" or "preempt"."""

    def __init__(self, tables: Tables, configuration: Configuration, action: str) -> None:
        self.tables, self.action = tables, action
        self._spares_critical = ("conformance", EVICTION_SWITCHES[action]) in configuration.enabled
        self._vetoes = configuration.vetoes[action]

    def covers(self, pod: PodRow) -> bool:
        """Whether a pod is protected, disruption budgets aside; its own annotation overrides its group's."""
        preemptable = pod.preemptable
        if preemptable is None and pod.group is not None:
            preemptable = pod.group.preemptable
        if preemptable is not None and preemptable.lower() == "false":
            return True
        if pod.is_critical and self._spares_critical:
            return True
        return bool(self._vetoes) and any(
            veto(pod_view(pod, self.tables), self.action) for veto in self._vetoes
        )


class Budgets:
    """How many pods each disruption budget still allows to be evicted."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self._left = {key: _allowed(budget, tables) for key, budget in tables.disruption_budgets.items()}
        self._of_pod: dict[str, tuple[str, ...]] = {}

    @property
    def are_any(self) -> bool:
        """Whether there are any."""
        return bool(self._left)

    def allow(self, pods: tuple[PodRow, ...]) -> bool:
        """Whether all these pods may be evicted."""
        return not self._left or not self.refusing(pods)

    def refusing(self, pods: Iterable[PodRow]) -> list[str]:
        """The keys of the budgets that do not allow all these pods to be evicted."""
        taken = Counter(key for pod in pods for key in self._covering(pod))
        return sorted(key for key, count in taken.items() if self._left[key] < count)

    def spend(self, pods: tuple[PodRow, ...], sign: int = 1) -> None:
        """Count pods as evicted, or with -1 no longer."""
        for pod in pods if self._left else ():
            for key in self._covering(pod):
                self._left[key] -= sign

    def _covering(self, pod: PodRow) -> tuple[str, ...]:
        if pod.key not in self._of_pod:
            self._of_pod[pod.key] = tuple(
                key for key, budget in self.tables.disruption_budgets.items() if _covers(budget, pod)
            )
        return self._of_pod[pod.key]


def _covers(budget: PodDisruptionBudget, pod: PodRow) -> bool:
    namespace = budget.metadata.namespace or "default"
    return namespace == pod.namespace and match_selector(budget.spec.selector, dict(pod.labels))


def _allowed(budget: PodDisruptionBudget, tables: Tables) -> int:
    """The status that the disruption controller wrote; where there is none, what follows from the spec."""
    status = budget.status
    if status.expected_pods or status.desired_healthy or status.disruptions_allowed:
        return status.disruptions_allowed
    pods = [pod for pod in tables.pods.values() if pod.is_live and _covers(budget, pod)]
    healthy = sum(pod.is_running and not pod.is_terminating for pod in pods)
    if budget.spec.max_unavailable is not None:
        return _number(budget.spec.max_unavailable, len(pods)) - (len(pods) - healthy)
    if budget.spec.min_available is not None:
        return healthy - _number(budget.spec.min_available, len(pods))
    return healthy


def _number(amount: int | str, of: int) -> int:
    """A number, or a percentage of the pods, rounded up as the disruption controller does."""
    if isinstance(amount, int):
        return amount
    return ceil((whole_number(amount.removesuffix("%")) or 0) * of / 100)

"""Rules that a queue keeps by itself: state, weight, priority, quantities, and its selector."""

from collections.abc import Iterator, Mapping
from typing import Final

from maar.core.admission.amounts import bad_percentages, bad_quantities
from maar.core.admission.case import Case
from maar.core.admission.plain import below, brief, cut, list_at
from maar.core.admission.policy_rules import DURATION
from maar.core.admission.queue_case import QueueCase
from maar.core.admission.request import Problem
from maar.core.admission.rulebook import Rule
from maar.core.fairshare.queue_demand import LARGEST_WEIGHT
from maar.core.model.queue import ALWAYS_OPEN, ROOT, QueueSpec
from maar.core.model.resources import precisely
from maar.core.policy.selectors import LABEL_OPERATORS

_STATES: Final = ("", "Open", "Closed")
_MOST_CLUSTERS: Final = 64
_LARGEST_PRIORITY: Final = 2**31 - 1


def quantities(case: Case) -> Iterator[Problem]:
    """Quantities parse and are 0 or more."""
    for path in (("capability",), ("guarantee", "resource"), ("request",), ("deserved",)):
        yield from bad_quantities(case.new, "spec", *path)
    for number, cluster in enumerate(list_at(case.new, "spec", "extendClusters")[:_MOST_CLUSTERS]):
        for problem in bad_quantities(cluster, "capacity"):
            field = f"spec.extendClusters[{number}].{problem.field}"
            yield Problem(field, problem.value, problem.sentence)


def percentages(case: Case) -> Iterator[Problem]:
    """Percentages are numbers from 0 to 100."""
    return bad_percentages(case.new, "spec", "guarantee", "percentage")


def state(queue: QueueCase) -> Iterator[Problem]:
    """Whoever writes a queue sets its state to Open or Closed; Closing is for Maar to say."""
    if queue.spec.state not in _STATES:
        wrong = brief(queue.spec.state)
        yield Problem("spec.state", wrong, f"is {wrong}, must be Open or Closed; write one of them")


def always_open(queue: QueueCase) -> Iterator[Problem]:
    """The queues `root` and `default` are never closed."""
    if queue.name in ALWAYS_OPEN and queue.spec.state == "Closed":
        sentence = "of the queues root and default must not be Closed; close single queues below root instead"
        yield Problem("spec.state", brief("Closed"), sentence)


def root_resources(queue: QueueCase) -> Iterator[Problem]:
    """The root has what the cluster has: no update gives it a capability, a guarantee or a deserved."""
    if queue.name != ROOT or queue.old is None:
        return
    for field in ("capability", "guarantee", "deserved"):
        before, after = getattr(queue.old.spec, field), getattr(queue.spec, field)
        if after not in (before, getattr(QueueSpec(), field)):  # what was set once may be taken away
            sentence = (
                "changes: root queue's resource attributes (capability, deserved, guarantee) cannot be "
                "modified; set it on queues below root"
            )
            yield Problem(f"spec.{field}", brief(str(after)), sentence)


def weight(queue: QueueCase) -> Iterator[Problem]:
    """A weight is a whole number from 1 to 65535."""
    asked = queue.spec.weight
    if not 1 <= asked <= LARGEST_WEIGHT:
        limit = "greater than or equal to 1" if asked < 1 else f"less than or equal to {LARGEST_WEIGHT}"
        sentence = f"is {brief(asked)}, should be {limit}; write a number from 1 to {LARGEST_WEIGHT}"
        yield Problem("spec.weight", brief(asked), sentence)


def priority(queue: QueueCase) -> Iterator[Problem]:
    """A priority is a whole number of 0 or more."""
    asked = queue.spec.priority
    if not 0 <= asked <= _LARGEST_PRIORITY:
        limit = "greater than or equal to 0" if asked < 0 else f"less than or equal to {_LARGEST_PRIORITY}"
        sentence = f"is {brief(asked)}, should be {limit}; the higher number goes first"
        yield Problem("spec.priority", brief(asked), sentence)


def durations(queue: QueueCase) -> Iterator[Problem]:
    """A minimum run time is a length of time of 0 or more, such as 90s or 1h30m."""
    written = {
        "spec.preemptMinRuntime": queue.spec.preempt_min_runtime,
        "spec.reclaimMinRuntime": queue.spec.reclaim_min_runtime,
    }
    for field, asked in written.items():
        if asked not in ("", "0") and not DURATION.fullmatch(asked):
            sentence = (
                f"is {brief(asked)}, must be a length of time >= 0; write for example 90s, 10m or 1h30m"
            )
            yield Problem(field, brief(asked), sentence)


def guarantee_capability(queue: QueueCase) -> Iterator[Problem]:
    """A guarantee is no more than the capability of the same queue, resource by resource."""
    if not queue.is_resized:
        return
    for resource, units in queue.known.reservations.declared(queue.new).items():
        most = queue.spec.capability.get(resource)
        if most is not None and units > most:
            amount, limit = precisely(resource, units), precisely(resource, most)
            sentence = (
                f"is {amount}, must be <= capability, {limit} (which must be >= guarantee); "
                "lower it or raise spec.capability"
            )
            yield Problem(guarantee_field(queue, resource), amount, sentence)


def namespace_selector(queue: QueueCase) -> Iterator[Problem]:
    """A namespace selector has known operators, with values where they compare."""
    selector = queue.spec.namespace_selector
    for number, one in enumerate(selector.match_expressions if selector else ()):
        path = f"spec.namespaceSelector.matchExpressions[{number}]"
        if one.operator not in LABEL_OPERATORS:
            wrong, known = brief(one.operator), ", ".join(sorted(LABEL_OPERATORS))
            yield Problem(f"{path}.operator", wrong, f"is {wrong}; write one of {known}")
        elif (one.operator in ("In", "NotIn")) != bool(one.values):
            sentence = (
                "must have values with In and NotIn and none with Exists and DoesNotExist; "
                f"{'remove' if one.values else 'add'} values for {cut(one.key)}"
            )
            yield Problem(f"{path}.values", brief(list(one.values)), sentence)


def guarantee_field(queue: QueueCase, resource: str) -> str:
    """Where the guarantee of a resource stands."""
    guarantee = queue.spec.guarantee
    part = "resource" if resource in guarantee.resource else "percentage"
    return below(f"spec.guarantee.{part}", resource)


READABLE: Final[Mapping[str, Rule[Case]]] = {
    "queue-quantity": quantities,
    "queue-guarantee-percentage": percentages,
}
RULES: Final[Mapping[str, Rule[QueueCase]]] = {
    "queue-state": state,
    "queue-always-open": always_open,
    "queue-root-resources": root_resources,
    "queue-weight": weight,
    "queue-priority": priority,
    "queue-duration": durations,
    "queue-guarantee-capability": guarantee_capability,
    "queue-namespace-selector": namespace_selector,
}

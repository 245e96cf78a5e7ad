"""Rules for pod groups."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from maar.core.admission import pod_numbers, work_rules
from maar.core.admission.amounts import bad_quantities
from maar.core.admission.case import Case
from maar.core.admission.cluster import KnownCluster
from maar.core.admission.plain import at, below, brief, list_at, numbered
from maar.core.admission.reading import read_spec
from maar.core.admission.request import CREATE, Problem
from maar.core.admission.rulebook import Rule, Rulebook
from maar.core.admission.stated_times import stated_times
from maar.core.admission.work_rules import Destination
from maar.core.model.pod_group import PodGroup, PodGroupSpec
from maar.core.model.queue import DEFAULT

_TIERS: Final = ("highestTierAllowed", "highestTierName")
_LARGEST: Final = 2**31 - 1


@dataclass(frozen=True, eq=False)
class PodGroupCase:
    """A pod group before the rules."""

    case: Case
    spec: PodGroupSpec

    @property
    def known(self) -> KnownCluster:
        """The cluster that it goes into."""
        return self.case.known

    @cached_property
    def destination(self) -> Destination | None:
        """Its queue, unless it was admitted before: with its job, with its pods, or in that queue."""
        case = self.case
        is_new = case.request.operation == CREATE
        stored = at(case.old, "spec", "queue") or DEFAULT
        job = case.owning_job() if is_new else None
        if (is_new and case.is_by_maar) or (not is_new and stored == self.spec.queue):
            return None
        if job is not None and job.queue == self.spec.queue:
            return None
        return Destination(self.spec.queue, "spec.queue", case.namespace)


def read_pod_group(case: Case) -> PodGroupCase:
    """A pod group is what the API says: every field that Maar reads has its type."""
    return PodGroupCase(case, read_spec(PodGroup, case.new).spec)


def quantities(case: Case) -> Iterator[Problem]:
    """Quantities parse and are 0 or more."""
    return bad_quantities(case.new, "spec", "minResources")


def min_member(group: PodGroupCase) -> Iterator[Problem]:
    """A pod group waits for 0 or more pods."""
    asked = group.spec.min_member
    if not 0 <= asked <= _LARGEST:
        sentence = (
            f"is {brief(asked)}, should be greater than or equal to 0; write how many pods start together"
        )
        yield Problem("spec.minMember", brief(asked), sentence)


def min_task_member(group: PodGroupCase) -> Iterator[Problem]:
    """A pod group waits for 0 or more pods of each task."""
    for task, asked in group.spec.min_task_member.items():
        if not 0 <= asked <= _LARGEST:
            sentence = f"is {brief(asked)}, must be a number >= 0; raise the number or leave the task out"
            yield Problem(below("spec.minTaskMember", task), brief(asked), sentence)


def network_topology(group: PodGroupCase) -> Iterator[Problem]:
    """A network tier is limited by number or by name, not both."""
    policies = numbered("spec.subGroupPolicy", list_at(group.case.new, "spec", "subGroupPolicy"))
    for path, holder in (("spec", at(group.case.new, "spec")), *policies):
        yield from both_tiers(holder, path)


def both_tiers(holder: object, path: str) -> Iterator[Problem]:
    """A network topology with two limits."""
    first, second = (at(holder, "networkTopology", tier) for tier in _TIERS)
    if first is not None and second not in (None, ""):
        sentence = f"must not have both {' and '.join(_TIERS)}; remove one of them"
        yield Problem(f"{path}.networkTopology", brief(second), sentence)


def unread(group: PodGroupCase) -> Iterator[Problem]:
    """Fields of Volcano's that have no effect in Maar."""
    return without_effect(at(group.case.new, "spec"), "spec", ("networkTopology", "subGroupPolicy"))


def without_effect(holder: object, path: str, fields: tuple[str, ...]) -> Iterator[Problem]:
    """Which of some fields are set, though nothing reads them."""
    for field in fields:
        value = at(holder, field)
        if value not in (None, "", [], {}):
            yield Problem(f"{path}.{field}", brief(value), "is stored and has no effect in Maar; remove it")


RULES: Final[Mapping[str, Rule[PodGroupCase]]] = {
    "podgroup-min-member": min_member,
    "podgroup-min-task-member": min_task_member,
    "podgroup-pods": pod_numbers.pods_of_group,
    "podgroup-network-topology": network_topology,
    **work_rules.rules_of("podgroup"),
}
BOOK: Final = Rulebook(
    noun="pod group",
    read=read_pod_group,
    readable={"podgroup-quantity": quantities},
    create=RULES,
    update=RULES,
    warnings={
        "podgroup-queue-set-aside": work_rules.set_aside,
        "podgroup-no-effect": unread,
        "podgroup-stated-time": stated_times,
    },
)

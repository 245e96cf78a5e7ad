"""What a plan says about queues and namespaces is true (law C8, and the figures of queues)."""

from collections.abc import Iterator, Mapping
from math import inf, isclose
from typing import Any

from maar.core.model.pod import EVICTED_FOR_ANNOTATION
from maar.core.model.queue import ROOT
from maar.core.model.resources import Resources
from properties.cluster_reading import Reading
from properties.cycle_outcomes import Outcome
from properties.definitions import Amounts, asked


def queues_stand_as_they_say(outcome: Outcome) -> Iterator[str]:
    """Every figure of every queue, what binds it, whether its guarantee is reduced, and its state."""
    reading = outcome.reading
    used, preempting = status_used(reading), being_freed(reading)
    for name in reading.path:
        shown, share = outcome.cycle["queues"].get(name), reading.shares[name]
        if shown is None:
            yield f"queue {name} is not in the plan"
            continue
        deserved = Amounts(share.deserved)
        allocated = {one: max(0, deserved[one] - preempting[name][one]) for one in deserved}
        figures: dict[str, Mapping[str, int]] = {
            "deserved": deserved,
            "realCapability": share.real_capability,
            "used": used[name],
            "preempting": preempting[name],
            "allocated": allocated,
        }
        for figure, amounts in figures.items():
            if figure in shown and asked(Resources.parse(shown[figure])) != asked(amounts):
                yield f"queue {name}: {figure} is {asked(amounts)}, the plan says {shown[figure]}"
        ratios = [inf if not deserved[one] else used[name][one] / deserved[one] for one in asked(used[name])]
        true_share = 0.0 if name == ROOT else max(ratios, default=0.0)
        if not isclose(float(shown["share"]), true_share, abs_tol=0.01) and true_share < 1e6:
            yield f"queue {name}: share is {true_share}, the plan says {shown['share']}"
        for resource, constraint in shown.get("binding", {}).items():
            if share.binding.get(resource, constraint) != constraint:
                true = share.binding[resource]
                yield f"queue {name}: {resource} is bound by {true}, the plan says {constraint}"
        if is_reduced(shown) != share.reduced:
            yield f"queue {name}: its guarantee {'is' if share.reduced else 'is not'} reduced"
        if shown["state"] != state(reading, name):
            yield f"queue {name} is {state(reading, name)}, the plan says {shown['state']}"


def is_reduced(queue: Mapping[str, Any]) -> bool:
    """Whether a queue says that its guarantee is reduced."""
    return any(one["type"] == "GuaranteeReduced" and one["status"] == "True" for one in queue["conditions"])


def status_used(reading: Reading) -> dict[str, Amounts]:
    """Used: what its pods hold now, until the pod is gone."""
    used = {name: Amounts() for name in reading.path}
    for key, pod in reading.pods.items():
        leaf = reading.leaf_of(key)
        if leaf is not None and reading.is_on_ready_node(pod):
            for name in (*reading.path[leaf], ROOT):
                used[name].update(pod.request)
    return used


def being_freed(reading: Reading) -> dict[str, Amounts]:
    """Preempting: victims outside the queue, evicted for its pod groups and not gone yet."""
    freed = {name: Amounts() for name in reading.path}
    for key, pod in reading.pods.items():
        beneficiary = reading.groups.get(pod.metadata.annotations.get(EVICTED_FOR_ANNOTATION, ""))
        if (
            beneficiary is None
            or not pod.is_terminating
            or pod.is_finished
            or beneficiary.spec.queue not in reading.leaves
        ):
            continue
        leaf = reading.leaf_of(key)
        inside = reading.path[leaf] if leaf else []
        for name in reading.path[beneficiary.spec.queue]:
            if name not in inside:
                freed[name].update(pod.request)
    return freed


def state(reading: Reading, name: str) -> str:
    """Closing while an unfinished pod group is in the subtree of a queue that is asked to close."""
    if all(reading.queues[above].spec.state != "Closed" for above in reading.path[name]):
        return "Open"
    for key, group in reading.groups.items():
        if not reading.is_finished(key) and name in reading.path.get(group.spec.queue, ()):
            return "Closing"
    return "Closed"


def c8_namespaces_stand_as_they_say(outcome: Outcome) -> Iterator[str]:
    """C8: weight, used and share of every namespace are those its order was taken from."""
    reading, first = outcome.reading, outcome.reading.at_first
    for leaf in reading.leaves:
        shown = outcome.cycle["queues"][leaf].get("namespaces", {})
        inside = {
            reading.namespace(group)
            for key, group in reading.groups.items()
            if group.spec.queue == leaf and not reading.is_finished(key)
        }
        if inside - shown.keys():
            yield f"queue {leaf} does not show namespaces {sorted(inside - shown.keys())}"
        for name, figures in shown.items():
            used, share = first.used_by_namespace(leaf, name), float(first.namespace_share(leaf, name))
            if figures["weight"] != reading.weight(name):
                yield f"namespace {name} in {leaf} has weight {reading.weight(name)}, not {figures['weight']}"
            if asked(Resources.parse(figures["used"])) != asked(used):
                yield f"namespace {name} in {leaf} uses {asked(used)}, the plan says {figures['used']}"
            if not isclose(float(figures["share"]), share, abs_tol=1e-6):
                yield f"namespace {name} in {leaf} has a share of {share}, the plan says {figures['share']}"

"""What cycles decide, as the plan that is printed, and the plan applied before the next cycle."""

import math
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any

from reference.amounts import Amounts
from reference.configuration import Configuration
from reference.cycle import Cycle
from reference.objects import Cluster, Pod, PodGroup
from reference.subgroups import is_gang
from reference.water_filling import ROOT

BETWEEN_CYCLES = timedelta(seconds=1)
INFINITE_SHARE = 1_000_000.0


def shown(quantities: Amounts) -> dict[str, str]:
    """Amounts as Kubernetes quantities, rounded down to milli-CPU and whole units."""
    result = {}
    for resource, amount in quantities.items():
        milli = resource == "cpu" and amount.denominator != 1
        result[resource] = f"{math.floor(amount * 1000)}m" if milli else str(math.floor(amount))
    return result


def subtree(cycle: Cycle, name: str) -> set[str]:
    """A queue and all below it."""
    return {name}.union(*(subtree(cycle, child) for child in cycle.children[name]))


def finished(cycle: Cycle, group: PodGroup) -> bool:
    """Whether a pod group no longer keeps its queue from closing."""
    pods = cycle.pods_of[group.name]
    return group.phase == "Completed" or (bool(pods) and not any(pod.live for pod in pods))


def queue_state(cycle: Cycle, name: str) -> str:
    """Closing while any unfinished pod group is below; a queue below one that is not Open closes too."""
    if all(cycle.queues[above].asked_state != "Closed" for above in cycle.path[name]):
        return "Open"
    inside = subtree(cycle, name)
    busy = any(
        group.queue in inside and not finished(cycle, group) for group in cycle.cluster.groups.values()
    )
    return "Closing" if busy else "Closed"


def group_phase(cycle: Cycle, group: PodGroup) -> str:
    """The phase that the pods on nodes give; what is bound in this cycle is seen in the next."""
    pods = [pod for pod in cycle.pods_of[group.name] if pod.node]
    running = [pod for pod in pods if pod.phase == "Running" and pod.name not in cycle.evicted]
    if group.phase == "Completed":
        return "Completed"
    if group.name in cycle.unschedulable and running:
        return "Unknown"
    if pods and is_enough(group, pods):
        return "Running" if any(pod.live for pod in pods) else "Completed"
    return "Inqueue" if cycle.phase[group.name] == "Inqueue" else "Pending"


def is_enough(group: PodGroup, pods: list[Pod]) -> bool:
    """Whether the pods on nodes make the phase Running."""
    return is_gang(group, pods) if group.policies else len(pods) >= group.min_member


def shown_queue(cycle: Cycle, name: str) -> dict[str, Any]:
    """The status of a queue."""
    used = cycle.status_used[name]
    share: Fraction | float = Fraction(0) if name == ROOT else cycle.share(name, used)
    return {
        "deserved": shown(cycle.shares.deserved[name]),
        "realCapability": shown(cycle.shares.real_capability[name]),
        "used": shown(used),
        "share": min(float(share), INFINITE_SHARE),
        "state": queue_state(cycle, name),
        "conditions": [{"type": "GuaranteeReduced", "status": "True"}]
        if name in cycle.shares.reduced
        else [],
    }


def shown_cycle(cycle: Cycle) -> dict[str, Any]:
    """The plan of one cycle."""
    return {
        "queues": {name: shown_queue(cycle, name) for name in cycle.queues},
        "binds": dict(cycle.bound),
        "evictions": [
            {"pod": eviction.pod, "for": eviction.beneficiary, "action": eviction.action}
            for eviction in cycle.evictions
        ],
        "nominations": dict(cycle.promised),
        "podGroups": {
            name: {"phase": group_phase(cycle, group), **shown_reason(cycle, name)}
            for name, group in cycle.cluster.groups.items()
        },
    }


def shown_reason(cycle: Cycle, name: str) -> dict[str, str]:
    """Of all reasons only `VictimsProtectedUntil`."""
    until = cycle.protected_until.get(name) if cycle.pending(cycle.cluster.groups[name]) else None
    return (
        {"reason": "VictimsProtectedUntil", "message": until.isoformat()}
        if until
        else {"reason": "", "message": ""}
    )


def apply(cycle: Cycle, *, resubmit: bool) -> None:
    """Carry the plan out: pods run, terminating pods are gone, victims too or wait again."""
    phases = {name: group_phase(cycle, group) for name, group in cycle.cluster.groups.items()}
    for pod in list(cycle.cluster.pods.values()):
        if pod.terminating:
            del cycle.cluster.pods[pod.name]
        elif pod.name in cycle.bound:
            pod.node, pod.phase = cycle.bound[pod.name], "Running"
            pod.nominated, pod.started = "", cycle.now
        elif pod.name in cycle.evicted:
            pod.node, pod.phase = "", "Pending" if resubmit else "Failed"
            pod.nominated, pod.started = "", None
    for group in cycle.cluster.groups.values():
        waits = group.name in cycle.unschedulable or cycle.phase[group.name] == "Pending"
        group.unschedulable_since = (group.unschedulable_since or cycle.now) if waits else None
        pods = [pod for pod in cycle.pods_of[group.name] if pod.node]
        started = bool(pods) and is_enough(group, pods) and any(pod.live for pod in pods)
        if started:
            group.phase = "Running"
        elif phases[group.name] == "Running" and not pods:
            group.phase = "Pending"
        else:
            group.phase = phases[group.name]


def plan(
    cluster: Cluster, configuration: Configuration, now: datetime, cycles: int, *, resubmit: bool
) -> list[dict[str, Any]]:
    """One cycle after the other, each seeing the plan before it applied."""
    result = []
    for _ in range(cycles):
        cycle = Cycle(cluster, configuration, now)
        cycle.run()
        result.append(shown_cycle(cycle))
        apply(cycle, resubmit=resubmit)
        now += BETWEEN_CYCLES
    return result

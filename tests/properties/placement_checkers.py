"""Where the cycle puts pods: laws C1 to C3, and that allocate leaves no turn undone."""

from collections.abc import Iterator, Mapping, Sequence

from maar.core.model.pod import Pod
from maar.core.model.queue import ROOT
from properties.cluster_reading import ADMITTED_PHASES, Moment
from properties.cycle_outcomes import (
    Outcome,
    are_alike,
    asks_for_nothing,
    fits_together,
    given_away,
    placed_somewhere,
    request,
    turn,
    within,
)  # fmt: skip
from properties.definitions import Amounts, asked, total
from properties.placement_rules import clash, host_ports, misplaced, spread_breaches


def c1_no_node_is_overfull(outcome: Outcome) -> Iterator[str]:
    """C1: no node over its allocatable, pod count and ports included, where this cycle placed something."""
    views = {"now": (outcome.physically, outcome.binds), "later": (outcome.bound, outcome.binds)}
    views["with promises"] = (outcome.after, outcome.promises)
    pods, nodes = outcome.reading.pods, outcome.reading.nodes
    for when, (moment, placed) in views.items():
        for name in sorted({*placed.values()} & nodes.keys()):
            for resource, left in moment.idle(name).items():
                if left < 0 and any(
                    asked(pods[pod].request).get(resource) for pod in placed if placed[pod] == name
                ):
                    yield f"node {name} is {-left} over its {resource} {when}"
        for pod, name in placed.items():
            if name not in nodes:
                yield f"pod {pod} goes to {name}, which does not exist"
                continue
            if when == "now":  # who is leaving counts as gone, but for what it still holds
                breaches = clashes(moment, pods[pod], name)
            else:
                breaches = misplaced(moment, pods[pod], nodes[name])
            yield from (f"pod {pod} on {name}, {when}: {why}" for why in breaches)
            if not outcome.evictions and when != "now":
                yield from (f"pod {pod}: {why}" for why in spread_breaches(moment, pods[pod], nodes[name]))


def clashes(moment: Moment, pod: Pod, node: str) -> Iterator[str]:
    """Say which pods on a node have a host port that this one wants."""
    for key, where in moment.places.items():
        other = moment.reading.pods[key]
        theirs = host_ports(other) if where == node and other is not pod else []
        if any(clash(mine, their) for mine in host_ports(pod) for their in theirs):
            yield f"{key} has its host port"


def c2_gangs_start_whole(outcome: Outcome) -> Iterator[str]:
    """C2: a pod group below `minMember` binds nothing; nobody binds what waits for nothing."""
    started = {outcome.reading.group_of.get(pod) for pod in outcome.binds}
    for group in started:
        if group is None:
            yield "a pod without a pod group is bound"
            continue
        missing = outcome.bound.missing(group)
        if missing != (0, {}):
            yield f"group {group} binds pods and still lacks {missing}"
        if not outcome.is_admitted(group):
            yield f"group {group} binds pods and is not admitted"
        if outcome.reading.groups[group].spec.queue not in outcome.reading.leaves:
            yield f"group {group} binds pods in no leaf queue"
    for pod in outcome.binds:
        found = outcome.reading.pods[pod]
        if found.spec.node_name or found.is_finished or found.is_terminating:
            yield f"pod {pod} is bound and does not wait"


def c3_queues_stay_within_real_capability(outcome: Outcome) -> Iterator[str]:
    """C3: no queue above its real capability, nothing reserved given away, where this cycle raised it."""
    reading, before = outcome.reading, outcome.reading.at_first
    for when, moment in (("after the binds", outcome.bound), ("in the end", outcome.after)):
        for name in reading.path:
            if name == ROOT:
                continue
            for resource, used in moment.used[name].items():
                most = reading.real_capability(name, resource)
                if used > max(most, before.used[name][resource]):
                    yield f"queue {name} uses {used} of {most} {resource} {when}"
        for leaf in reading.leaves:
            resources = set(moment.used[leaf])
            for resource in sorted(given_away(before, moment, leaf, resources)):
                yield f"queue {leaf} or one above it was given {resource} that is reserved, {when}"


def allocate_leaves_no_turn(outcome: Outcome) -> Iterator[str]:
    """Allocate: it ends when no turn is left, within deserved or lent; fifo queues are left out.

    Backfill comes after it, and gives others company that allocate did not see: a turn of pods that ask for
    something must have been there before that as well.
    """
    reading, moment = outcome.reading, outcome.bound
    for key, group in reading.groups.items():
        leaf = group.spec.queue
        if leaf not in reading.leaves or reading.queues[leaf].spec.dequeue_strategy == "fifo":
            continue
        waiting = [pod for pod in moment.waiting(key) if not pod.spec.scheduling_gates]
        is_mixed = len(set(map(asks_for_nothing, waiting))) > 1
        is_admitted = outcome.reading.phase(key) in ADMITTED_PHASES or outcome.phase(key) == "Inqueue"
        if not waiting or is_mixed or not is_admitted:
            continue
        chances = [[pod] for pod in waiting] if moment.is_ready(key) else [turn(moment, key, waiting)]
        for pods in chances:
            if pods and are_alike(pods) and is_allowed(moment, leaf, pods):
                if moment.is_ready(key) and not leaves_room(outcome, leaf, request(pods)):
                    continue
                views = [outcome.physically]
                if not asks_for_nothing(pods[0]):
                    views.append(outcome.before_backfill)
                places = fits_together(moment, pods, *views)
                if places is not None:
                    yield f"group {key} could start {sorted(places)} in queue {leaf} on {places}"
                    break


def leaves_room(outcome: Outcome, leaf: str, wanted: Mapping[str, int]) -> bool:
    """Whether surplus, lent, leaves what groups that were just let in have yet to take."""
    reading, before, now = outcome.reading, outcome.bound.without(outcome.binds), outcome.bound
    more = {name: Amounts() for name in (*reading.path, ROOT)}
    for key, group in reading.groups.items():
        own, is_here = group.spec.queue, reading.phase(key) == "Pending" and outcome.is_admitted(key)
        there = [*reading.at_first.placed(key), *reading.at_first.waiting(key)]
        if own not in reading.leaves or len(there) >= group.spec.min_member or not is_here:
            continue
        for resource, units in asked(reading.to_start(key) or {}).items():
            left = reading.deserved(own, resource) - before.used[own][resource] - more[own][resource]
            for name in (*reading.path[own], ROOT):
                more[name][resource] += max(0, min(units, left))
    used = {**now.used, ROOT: total(now.used[name] for name in reading.children[ROOT])}
    return all(
        not more[name][one] or used[name][one] + more[name][one] + units <= reading.real_capability(name, one)
        for name in (*reading.path[leaf], ROOT)
        for one, units in wanted.items()
    )


def is_allowed(moment: Moment, leaf: str, pods: Sequence[Pod]) -> bool:
    """Whether the queue may take the pods, within deserved or lent: the lending rule is the wider one."""
    wanted = request(pods)
    if any(within(moment, leaf, wanted, "real_capability")):
        return False
    return not given_away(moment, placed_somewhere(moment, pods), leaf, wanted.keys())

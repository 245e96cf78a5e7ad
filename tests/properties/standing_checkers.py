"""What a plan says about queues, namespaces and groups is true (laws C6 and C8)."""

import re
from collections.abc import Callable, Iterator, Mapping
from math import inf, isclose
from typing import Any, Final

from maar.core.model.pod import EVICTED_FOR_ANNOTATION, Pod
from maar.core.model.queue import ROOT
from maar.core.model.reasons import Reason
from maar.core.model.resources import Resources, amount, roughly
from properties.cluster_reading import Moment, Reading
from properties.cycle_outcomes import Outcome, request, turn
from properties.definitions import Amounts, asked, lacking, total


def queues_stand_as_they_say(outcome: Outcome) -> Iterator[str]:
    """Every figure of every queue, what binds it, whether its guarantee is reduced, and its state."""
    reading = outcome.reading
    used, preempting = status_used(reading), being_freed(reading)
    for name in reading.path:
        said, share = outcome.cycle["queues"].get(name), reading.shares[name]
        if said is None:
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
            if figure in said and asked(Resources.parse(said[figure])) != asked(amounts):
                yield f"queue {name}: {figure} is {asked(amounts)}, the plan says {said[figure]}"
        ratios = [inf if not deserved[one] else used[name][one] / deserved[one] for one in asked(used[name])]
        true_share = 0.0 if name == ROOT else max(ratios, default=0.0)
        if not isclose(float(said["share"]), true_share, abs_tol=0.01) and true_share < 1e6:
            yield f"queue {name}: share is {true_share}, the plan says {said['share']}"
        for resource, constraint in said.get("binding", {}).items():
            if share.binding.get(resource, constraint) != constraint:
                true = share.binding[resource]
                yield f"queue {name}: {resource} is bound by {true}, the plan says {constraint}"
        if is_reduced(said) != share.reduced:
            yield f"queue {name}: its guarantee {'is' if share.reduced else 'is not'} reduced"
        if said["state"] != state(reading, name):
            yield f"queue {name} is {state(reading, name)}, the plan says {said['state']}"


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
        heir = reading.groups.get(pod.metadata.annotations.get(EVICTED_FOR_ANNOTATION, ""))
        if heir is None or not pod.is_terminating or pod.is_finished or heir.spec.queue not in reading.leaves:
            continue
        leaf = reading.leaf_of(key)
        inside = reading.path[leaf] if leaf else []
        for name in reading.path[heir.spec.queue]:
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
        said = outcome.cycle["queues"][leaf].get("namespaces", {})
        inside = {
            reading.namespace(group)
            for key, group in reading.groups.items()
            if group.spec.queue == leaf and not reading.is_finished(key)
        }
        if inside - said.keys():
            yield f"queue {leaf} does not show namespaces {sorted(inside - said.keys())}"
        for name, figures in said.items():
            used, share = first.used_by_namespace(leaf, name), float(first.namespace_share(leaf, name))
            if figures["weight"] != reading.weight(name):
                yield f"namespace {name} in {leaf} has weight {reading.weight(name)}, not {figures['weight']}"
            if asked(Resources.parse(figures["used"])) != asked(used):
                yield f"namespace {name} in {leaf} uses {asked(used)}, the plan says {figures['used']}"
            if not isclose(float(figures["share"]), share, abs_tol=1e-6):
                yield f"namespace {name} in {leaf} has a share of {share}, the plan says {figures['share']}"


def c6_every_waiting_group_has_a_true_reason(outcome: Outcome) -> Iterator[str]:
    """C6: every unfinished pod group with pods waiting has one reason, whose numbers are true."""
    reading = outcome.reading
    for key in reading.groups:
        said = outcome.cycle["podGroups"].get(key)
        if said is None:
            yield f"group {key} is not in the plan"
            continue
        waits = bool(waiting(outcome, key)) and not reading.is_finished(key)
        if waits and not said["reason"]:
            yield f"group {key} waits for {[pod.key for pod in waiting(outcome, key)]} and has no reason"
        elif said["reason"]:
            if said["reason"] not in set(Reason):
                yield f"group {key}: {said['reason']} is no reason"
            elif not said["message"]:
                yield f"group {key}: {said['reason']} says nothing"
            else:
                check = TRUTHS.get(Reason(said["reason"]))
                for why in check(outcome, key, said["message"]) if check else ():
                    yield f"group {key}: {said['reason']}, {said['message']!r}: {why}"


def waiting(outcome: Outcome, group: str) -> list[Pod]:
    """The pods of a group that are on no node after the plan."""
    pods = outcome.reading.pods_of[group]
    return [
        p
        for p in pods
        if not (p.spec.node_name or p.is_finished or p.is_terminating or p.key in outcome.binds)
    ]


# Per reason: what is not true of its sentence.

FULL: Final = re.compile(
    r"queue (?P<path>\S+) is at its (?:fair share|real capability): (?P<resource>\S+) (?P<used>\S+) of "
    r"(?P<limit>\S+) (?:deserved|at most)(?:, (?P<wanted>\S+) more wanted)?"
    r"(?: \(weight (?P<weight>\d+) of (?P<weights>\d+) under (?P<parent>\S+)\))?"
)
BEYOND: Final = re.compile(
    r"it needs (?P<first>\S+) (?P<wanted>[^ ,]+).* at once, beyond the fair share of queue (?P<path>\S+): "
    r"(?P<resource>\S+) (?P<used>\S+) of (?P<limit>\S+) deserved"
    r".* \(weight (?P<weight>\d+) of (?P<weights>\d+) under (?P<parent>\S+)\)"
)
DECLARED: Final = re.compile(
    r"queue (?P<path>\S+) declares a request of (?P<resource>\S+) (?P<limit>\S+), of which (?P<used>\S+) "
    r"is used(?P<wanted>)(?P<weight>)"
)
TOO_SMALL: Final = re.compile(
    r"it needs .+ and queue (?P<path>\S+) can use (?P<resource>\S+) (?P<limit>\S+?)(, .+)? at most"
)
LACKING: Final = re.compile(r"lacks? (?P<resource>\S+) \(at most (?P<left>\S+) free of \S+\)")
COUNTS: Final = re.compile(r"(?P<there>\d+) of the (?P<needed>\d+) pods")


def at_fair_share(outcome: Outcome, group: str, message: str) -> Iterator[str]:
    """The queue is on the group's path, and with what is wanted would exceed what it deserves."""
    message = message.partition("; also, ")[0]
    found = FULL.search(message) or BEYOND.search(message) or DECLARED.search(message)
    if found is None:
        yield "it does not say how full which queue is"
        return
    reading, name, resource = outcome.reading, found["path"].rpartition("/")[2], found["resource"]
    yield from is_full(outcome, group, found, reading.deserved(name, resource))
    weight = reading.queues[name].spec.weight
    siblings = [reading.queues[one].spec.weight for one in reading.children[reading.queues[name].parent]]
    if found["weight"] and not weight == int(found["weight"]) <= int(found["weights"]) <= sum(siblings):
        yield f"its weight is {weight}, its siblings have {siblings}"


def at_capability(outcome: Outcome, group: str, message: str) -> Iterator[str]:
    """The queue is on the group's path, and with what is wanted would exceed its real capability."""
    small, found = TOO_SMALL.search(message), FULL.search(message)
    if small is not None:
        name, resource = small["path"].rpartition("/")[2], small["resource"]
        own = outcome.reading.queues[name].spec.capability.get(resource)
        if own is None or small["limit"] != roughly(resource, own):
            yield f"its capability is {own}"
        if name not in outcome.reading.path[outcome.reading.groups[group].spec.queue]:
            yield "the group is not in that queue"
    elif found is not None:
        name, resource = found["path"].rpartition("/")[2], found["resource"]
        yield from is_full(outcome, group, found, outcome.reading.real_capability(name, resource))
    else:
        yield "it does not say how full which queue is"


def is_full(outcome: Outcome, group: str, found: re.Match[str], limit: int) -> Iterator[str]:
    """Check the numbers of a queue that is said to be full."""
    reading, resource, name = outcome.reading, found["resource"], found["path"].rpartition("/")[2]
    path = reading.path[reading.groups[group].spec.queue]
    if name not in path or found["path"] != "/".join(reversed(reading.path[name])):
        yield "the group is not below that queue"
    if found["limit"] != roughly(resource, limit):
        yield f"the limit is {roughly(resource, limit)}"
    moments = (reading.at_first, outcome.bound, outcome.after)
    admitted = admitted_amount(outcome, name)[resource]
    uses = [moment.used[name][resource] for moment in moments]
    if found["used"] not in {roughly(resource, used) for used in (*uses, admitted)}:
        yield f"used is {uses}, admitted {admitted}"
    wanted = wanted_amounts(outcome, group)
    if found["wanted"] and found["wanted"] not in {roughly(resource, one[resource]) for one in wanted}:
        yield f"wanted is one of {[one[resource] for one in wanted]}"
    if all(max(*uses, admitted) + one[resource] <= limit for one in wanted):
        yield "there is room for it"


def wanted_amounts(outcome: Outcome, group: str) -> list[Amounts]:
    """What a group may be said to want: its minResources, its next turn, or one of its pods."""
    moments = (outcome.bound, outcome.after, outcome.reading.at_first)
    wanted = [outcome.reading.to_start(group) or Amounts()]
    for moment in moments:
        pods = moment.waiting(group)
        wanted += [Amounts(request(turn(moment, group, pods))), *(Amounts(request([pod])) for pod in pods)]
        lost = max(1, moment.missing(group)[0])  # of a group that loses pods: as many as it lacks then
        wanted += [Amounts(request(pods)), Amounts(request(pods[:lost]))]
    return wanted


def admitted_amount(outcome: Outcome, name: str) -> Amounts:
    """Admitted, of a queue, at the end of enqueue."""
    reading, result = outcome.reading, Amounts()
    for key, group in reading.groups.items():
        if (
            outcome.is_admitted(key)
            and not reading.is_finished(key)
            and name in reading.path.get(group.spec.queue, ())
        ):
            holding = [pod for pod in reading.pods_of[key] if pod.key in reading.at_first.holders]
            least = total(pod.request for pod in holding[: group.spec.min_member])
            result.update(least | (reading.to_start(key) or Amounts()))
    return result


def no_queue(outcome: Outcome, group: str, message: str) -> Iterator[str]:
    """The queue is not there."""
    name = outcome.reading.groups[group].spec.queue
    if name in outcome.reading.queues or name not in message:
        yield f"queue {name} is there, or not named"


def no_leaf(outcome: Outcome, group: str, message: str) -> Iterator[str]:
    """The queue has queues below it, and the sentence names its leaves."""
    reading, name = outcome.reading, outcome.reading.groups[group].spec.queue
    leaves = [leaf for leaf in reading.leaves if name in (*reading.path[leaf], ROOT)]
    if name in reading.leaves or not all(leaf in message for leaf in leaves):
        yield f"queue {name} has the leaves {leaves}"


def too_few(outcome: Outcome, group: str, message: str) -> Iterator[str]:
    """So many pods exist, or will when this cycle's victims are gone; so many are needed."""
    found, needed = COUNTS.search(message), outcome.reading.groups[group].spec.min_member
    existing = {
        len(pods_left(outcome, group, moment)) for moment in (outcome.reading.at_first, outcome.after)
    }
    if found is None or int(found["there"]) not in existing or int(found["needed"]) != needed:
        yield f"{existing} of {needed} pods exist"


def pods_left(outcome: Outcome, group: str, moment: Moment) -> list[Pod]:
    """The pods of a group that have a place at that moment, wait or have succeeded."""
    return [*moment.placed(group), *outcome.reading.at_first.without(moment.places).waiting(group)]


def too_few_of_task(outcome: Outcome, group: str, message: str) -> Iterator[str]:
    """So many pods of a task exist, so many are needed."""
    spec = outcome.reading.groups[group]
    moments = (outcome.reading.at_first, outcome.after)
    missing = [lacking(spec, pods_left(outcome, group, moment))[1] for moment in moments]
    if not any(re.search(rf"\b{task}\b", message) for tasks in missing for task in tasks):
        yield f"what is missing is {missing}"


def being_waited_for(outcome: Outcome, group: str, message: str) -> Iterator[str]:
    """A pod of the group is promised room; victims that are named leave for it."""
    if not any(pod.key in outcome.nominations for pod in outcome.reading.pods_of[group]):
        yield "nothing is promised to it"
    for victim in re.findall(r"[\w.-]+/[\w.-]+", message):
        if not any(one.pod == victim and one.beneficiary == group for one in outcome.evictions):
            found = outcome.reading.pods.get(victim)
            if found is None or found.metadata.annotations.get(EVICTED_FOR_ANNOTATION) != group:
                yield f"{victim} does not leave for it"


def behind_another(outcome: Outcome, group: str, message: str) -> Iterator[str]:
    """The queue is fifo, and another group of it that waits is named."""
    reading, leaf = outcome.reading, outcome.reading.groups[group].spec.queue
    others = [
        key
        for key, other in reading.groups.items()
        if other.spec.queue == leaf and key != group and key in message
    ]
    if reading.queues[leaf].spec.dequeue_strategy != "fifo" or not others:
        yield f"queue {leaf} is not fifo, or nobody of it is before the group"


def no_room(outcome: Outcome, _group: str, message: str) -> Iterator[str]:
    """What is said to be left is what some node had left at some time of the cycle."""
    if "never on this cluster" in message or "even with nothing else" in message:
        return  # law R1
    moments = (outcome.reading.at_first, outcome.bound, outcome.after, outcome.physically)
    nodes = [node.metadata.name for node in outcome.reading.usable_nodes]
    for found in LACKING.finditer(message):
        resource = found["resource"]
        left, rough = amount(resource, found["left"]), amount(resource, found["left"]) / 100
        idle = {name: sorted(max(0, moment.idle(name)[resource]) for moment in moments) for name in nodes}
        if left and not any(some[0] - rough <= left <= some[-1] + rough for some in idle.values()):
            yield f"the nodes have {idle} left"


Truth = Callable[[Outcome, str, str], Iterator[str]]
TRUTHS: Final[dict[Reason, Truth]] = {
    Reason.QUEUE_MISSING: no_queue,
    Reason.QUEUE_NOT_LEAF: no_leaf,
    Reason.NOT_ENOUGH_TASKS: too_few,
    Reason.NOT_ENOUGH_PODS_OF_TASK: too_few_of_task,
    Reason.QUEUE_AT_FAIR_SHARE: at_fair_share,
    Reason.QUEUE_AT_CAPABILITY: at_capability,
    Reason.BEHIND_FIRST_IN_QUEUE: behind_another,
    Reason.WAITING_FOR_VICTIMS: being_waited_for,
    Reason.NOT_ENOUGH_RESOURCES: no_room,
    Reason.NO_NODE_FITS: no_room,
}

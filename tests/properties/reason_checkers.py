"""Why a plan says that a group waits is true: the numbers and names in each sentence (law C6)."""

import re
from collections.abc import Callable, Iterator
from typing import Final

from maar.core.model.pod import EVICTED_FOR_ANNOTATION, Pod
from maar.core.model.queue import ROOT
from maar.core.model.reasons import Reason
from maar.core.model.resources import amount, roughly
from properties.cluster_reading import Moment, Reading
from properties.cycle_outcomes import Outcome, request, turn
from properties.definitions import Amounts, lacking, total
from properties.held_room_checkers import held_by, held_in, room_is_held, start_is_planned
from properties.run_times import protected_for_a_time
from properties.slow_gate import SlowGate


def c6_every_waiting_group_has_a_true_reason(outcome: Outcome) -> Iterator[str]:
    """C6: every unfinished pod group with pods waiting has one reason, whose numbers are true."""
    reading = outcome.reading
    for key in reading.groups:
        shown = outcome.cycle["podGroups"].get(key)
        if shown is None:
            yield f"group {key} is not in the plan"
            continue
        waits = bool(waiting(outcome, key)) and not reading.is_finished(key)
        if waits and not shown["reason"]:
            yield f"group {key} waits for {[pod.key for pod in waiting(outcome, key)]} and has no reason"
        elif shown["reason"]:
            if shown["reason"] not in set(Reason):
                yield f"group {key}: {shown['reason']} is no reason"
            elif not shown["message"]:
                yield f"group {key}: {shown['reason']} says nothing"
            else:
                check = CHECKERS[Reason(shown["reason"])]
                for why in check(outcome, key, shown["message"]):
                    yield f"group {key}: {shown['reason']}, {shown['message']!r}: {why}"


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
    r"(?: \(weight (?P<weight>\d+)(?: x (?P<factor>[\d.]+))? of (?P<weights>[\d.]+) "
    r"under (?P<parent>[^ ,)]+)(?P<soft>[^)]*)\))?"
)
BEYOND: Final = re.compile(
    r"it needs (?P<first>\S+) (?P<wanted>[^ ,]+).* at once, beyond the fair share of queue (?P<path>\S+): "
    r"(?P<resource>\S+) (?P<used>\S+) of (?P<limit>\S+) deserved"
    r".* \(weight (?P<weight>\d+)(?: x (?P<factor>[\d.]+))? of (?P<weights>[\d.]+) "
    r"under (?P<parent>[^ ,)]+)(?P<soft>[^)]*)\)"
)
DECLARED: Final = re.compile(
    r"queue (?P<path>\S+) declares a request of (?P<resource>\S+) (?P<limit>\S+), of which (?P<used>\S+) "
    r"is used(?P<wanted>)(?P<weight>)(?P<factor>)(?P<soft>)"
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
    weight, factor = reading.queues[name].spec.weight, float(reading.factors.get(name, 1))
    siblings = [
        reading.queues[one].spec.weight * float(reading.factors.get(one, 1))
        for one in reading.children[reading.queues[name].parent]
    ]
    if found["weight"] and weight != int(found["weight"]):
        yield f"its weight is {weight}"
    if found["weight"] and f"{round(factor, 2):g}" != (found["factor"] or "1"):
        yield f"its factor is {factor}"
    if found["weight"] and not weight * factor <= float(found["weights"]) + 0.01 <= sum(siblings) + 0.02:
        yield f"its weight is {weight} x {factor}, its siblings have {siblings}"
    yield from soft_guarantees(reading, name, found["soft"] or "")


def soft_guarantees(reading: Reading, name: str, text: str) -> Iterator[str]:
    """A soft guarantee that is named binds the queue; siblings that are named have theirs and no more."""
    own, _, others = text.partition(", after the soft guarantees of ")
    named = dict(part.split(" ") for part in own.partition(" of ")[2].split(", ") if part)
    for resource, amounts in named.items():
        if reading.shares[name].binding[resource] != "soft guarantee":
            yield f"its soft guarantee of {resource} does not bind it"
        declared = reading.queues[name].spec.deserved.get(resource)
        if declared is not None and roughly(resource, declared) != amounts:
            yield f"its soft guarantee of {resource} is {declared}"
    for other in filter(None, others.removesuffix(" and others").split(", ")):
        share = reading.shares[other.rpartition("/")[2]]
        if all(
            share.guarantee[one] == floor or share.deserved[one] > floor for one, floor in share.floor.items()
        ):
            yield f"{other} has nothing, or more, by its soft guarantee"


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
    admitted = SlowGate(outcome).counted[name][resource]
    uses = [moment.used[name][resource] for moment in moments]
    uses += [used + held_in(outcome, name)[resource] for used in uses if held_by(outcome)]
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


def refused_by_quota(outcome: Outcome, group: str, message: str) -> Iterator[str]:
    """Pods are missing, and of what they need the quota that is named has less left than is wanted."""
    yield from too_few(outcome, group, message)
    found = [*WANTED.finditer(message)]
    if not found or all(
        amount(one["resource"], one["wanted"]) <= amount(one["resource"], one["left"]) for one in found
    ):
        yield "the quota has room for what is wanted"


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
        yield f"queue {leaf} is not fifo, or no other group of it comes first"


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
        idle |= {name: [0, idle[name][-1]] for one in held_by(outcome).values() for name in one["nodes"]}
        if left and not any(some[0] - rough <= left <= some[-1] + rough for some in idle.values()):
            yield f"the nodes have {idle} left"


def not_in_the_tree(outcome: Outcome, group: str, message: str) -> Iterator[str]:
    """The queue exists, is named, and is not below the root or cannot be read."""
    reading, name = outcome.reading, outcome.reading.groups[group].spec.queue
    if name not in reading.queues or name in reading.path or name not in message:
        yield f"queue {name} is missing, takes part, or is not named"


def has_gates(outcome: Outcome, group: str, message: str) -> Iterator[str]:
    """So many pods of the group have scheduling gates."""
    pods = [pod for pod in outcome.reading.pods_of[group] if not pod.is_finished and not pod.is_terminating]
    gated = [pod.key for pod in pods if pod.spec.scheduling_gates and not pod.spec.node_name]
    if not gated or not message.startswith(f"{len(gated)} pod"):
        yield f"{gated} have scheduling gates"


WANTED: Final = re.compile(r"(?P<resource>\S+) (?P<wanted>\S+) wanted, (?P<left>\S+) left")
NEEDED: Final = re.compile(r"it needs (?P<resource>\S+) (?P<wanted>[^ ,]+)")


def wants_so_much(outcome: Outcome, group: str, message: str) -> Iterator[str]:
    """What the sentence says is wanted is what the group wants, and less than that is left."""
    found, moments = NEEDED.search(message), (outcome.reading.at_first, outcome.after)
    for one in [found] if found else WANTED.finditer(message):
        resource, wanted = one["resource"], wanted_amounts(outcome, group)
        if found:  # even if it were alone: with what its pods hold that have a place
            wanted += [
                total([amounts, moment.used_by_group[group]]) for amounts in wanted for moment in moments
            ]
        if one["wanted"] not in {roughly(resource, amounts[resource]) for amounts in wanted}:
            yield f"wanted is one of {[amounts[resource] for amounts in wanted]}"
        is_left = one.re is WANTED and amount(resource, one["left"]) > amount(resource, one["wanted"])
        if is_left:
            yield f"there is room for it: {one['left']} of {resource} is left"
    if found is None and WANTED.search(message) is None:
        yield "it does not say what is wanted"


RESERVED_FOR: Final = re.compile(r"reserved (?:there )?for (?P<names>.+?)(?:: | has )")


def reserved_for_others(outcome: Outcome, group: str, message: str) -> Iterator[str]:
    """What is wanted is true, and queues that are named have a guarantee and are not on the group's path."""
    message, reading = message.partition("; also, ")[0], outcome.reading
    yield from wants_so_much(outcome, group, message)
    found = RESERVED_FOR.search(message)
    if found is None:
        yield "it does not say for whom"
        return
    path = reading.path[reading.groups[group].spec.queue]
    for name in [one.rpartition("/")[2] for one in found["names"].split(", ") if one != "others"]:
        reserved = any(reading.shares[name].guarantee.values())
        if NEEDED.search(message):  # said of the empty cluster, where a percentage is of more
            declared = [below for below in reading.path if reading.names_in_guarantee(below)]
            reserved = any(name in reading.path[below] for below in declared)
        if name in path or not reserved:
            yield f"nothing is reserved for {name}, or the group is in it"


def overcommitted(outcome: Outcome, group: str, message: str) -> Iterator[str]:
    """The group is not admitted, and what is wanted is true."""
    if outcome.is_admitted(group):
        yield "it is admitted"
    yield from wants_so_much(outcome, group, message.partition("; also, ")[0])


def blocked_by(outcome: Outcome, group: str, message: str) -> Iterator[str]:
    """Each that is named blocks an eviction: a queue that is not reclaimable, a protected pod, a budget."""
    reading = outcome.reading
    queues = re.findall(r"queue (\S+) \(not reclaimable\)", message)
    pods = re.findall(r"pod (\S+/[^\s,]+)", message)
    budgets = re.findall(r"disruption budget (\S+/[^\s,]+)", message)
    if not (queues or pods or budgets):
        yield "it does not say what may not be evicted"
    for name in queues:
        if reading.queues[name].spec.reclaimable or name == reading.groups[group].spec.queue:
            yield f"queue {name} is reclaimable, or that of the group"
    for pod in pods:
        if not reading.is_protected(reading.pods[pod]):
            yield f"pod {pod} is not protected"
    for key in budgets:
        if key not in reading.budgets:
            yield f"there is no disruption budget {key}"


def claim_of_a_pod(outcome: Outcome, group: str, message: str) -> Iterator[str]:
    """A claim of a pod of the group is named."""
    claims = {
        f"{pod.metadata.namespace}/{volume.persistent_volume_claim.claim_name}"
        for pod in waiting(outcome, group)
        for volume in pod.spec.volumes
        if volume.persistent_volume_claim is not None
    }
    if not any(claim in message for claim in claims):
        yield f"the claims of its pods are {sorted(claims)}"


def has_resource_claims(outcome: Outcome, group: str, _message: str) -> Iterator[str]:
    """A pod of the group has a resource claim."""
    if not any(pod.spec.resource_claims for pod in waiting(outcome, group)):
        yield "none of its pods has a resource claim"


def of_no_group(_outcome: Outcome, _group: str, _message: str) -> Iterator[str]:
    """The reason is one of pods without a group, or of objects that cannot be read: no group has it."""
    yield "a group that was read cannot have this reason"


ReasonChecker = Callable[[Outcome, str, str], Iterator[str]]
CHECKERS: Final[dict[Reason, ReasonChecker]] = {
    Reason.BAD_OBJECT: of_no_group,
    Reason.POD_GROUP_MISSING: of_no_group,
    Reason.QUEUE_MISSING: no_queue,
    Reason.QUEUE_NOT_LEAF: no_leaf,
    Reason.QUEUE_SET_ASIDE: not_in_the_tree,
    Reason.NOT_ENOUGH_TASKS: too_few,
    Reason.EXCEEDED_QUOTA: refused_by_quota,
    Reason.NOT_ENOUGH_PODS_OF_TASK: too_few_of_task,
    Reason.SCHEDULING_GATED: has_gates,
    Reason.CLUSTER_OVERCOMMITTED: overcommitted,
    Reason.QUEUE_AT_CAPABILITY: at_capability,
    Reason.QUEUE_AT_FAIR_SHARE: at_fair_share,
    Reason.RESERVED_FOR_OTHERS: reserved_for_others,
    Reason.BEHIND_FIRST_IN_QUEUE: behind_another,
    Reason.NOT_ENOUGH_RESOURCES: no_room,
    Reason.NO_NODE_FITS: no_room,
    Reason.CLAIM_NOT_BOUND: claim_of_a_pod,
    Reason.RESOURCE_CLAIM: has_resource_claims,
    Reason.WAITING_FOR_VICTIMS: being_waited_for,
    Reason.GUARANTEE_BLOCKED: blocked_by,
    Reason.VICTIMS_PROTECTED_UNTIL: protected_for_a_time,
    Reason.ROOM_HELD: room_is_held,
    Reason.PLANNED_START: start_is_planned,
}
if missing := set(Reason) - CHECKERS.keys():
    raise AssertionError(f"law C6 has no checker for {sorted(missing)}; add one to CHECKERS")

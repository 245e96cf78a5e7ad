"""Refusals as sentences: which queue and resource, the numbers, and what would change it."""

from collections.abc import Callable, Mapping
from typing import Final

from maar.core.cycle.inspect import Eviction, Inspection
from maar.core.model.durations import time_to_come
from maar.core.model.reasons import Cure, Reason, Refusal, Shortage
from maar.core.reasons.node_tally import listed, summary
from maar.core.reasons.queue_texts import QueueTexts
from maar.core.reasons.shortage_texts import (
    amount_text,
    fullness,
    left,
    listed_shortages,
    most,
    needs,
    used_of,
    used_of_limit,
)

_NEVER: Final = "never on this cluster"
_FEW: Final = 3  # names in one message


def _circle(texts: QueueTexts, refusal: Refusal) -> str:
    """Who waits for whom, and when that ends."""
    first, *others = named = [texts.title(key) for key in refusal.circle]
    names, victims = " and ".join(named), " and ".join(others)
    end = time_to_come(refusal.until or 0.0)
    return f"{names} hold nodes and wait for each other: cleanup evicts {victims} for {first} after {end}"


def _at_fair_share(texts: QueueTexts, refusal: Refusal) -> str:
    queue = texts.path(refusal.queue)
    row, rows = texts.tables.queues[refusal.queue].index, texts.tables.axis.row
    resources = [rows[one.resource] for one in refusal.shortages]
    if refusal.cure == Cure.SOMEBODY_ACTS:
        declared = listed_shortages(refusal.shortages, used_of_limit)
        return f"queue {queue} declares a request of {declared}; raise its spec.request"
    weights, change = texts.siblings(row, resources)
    if refusal.cure == Cure.OTHERS_FINISH:
        end = f"the group starts when others finish{_with_nodes(refusal)}"
        change = f"requests and capabilities allow it no larger share: {end}"
    nodes = summary(refusal.nodes, refusal.taking, refusal.clauses)
    if all(one.used >= one.limit for one in refusal.shortages):
        full = listed_shortages(refusal.shortages, lambda one: fullness(one, "deserved"))
        share = f"queue {queue} is at its fair share: {full} ({weights})"
    else:
        wanted = listed_shortages(
            refusal.shortages, lambda one: f"{one.resource} {amount_text(one, one.wanted)}"
        )
        fair = listed_shortages(refusal.shortages, lambda one: used_of(one, "deserved"))
        share = f"it needs {wanted} at once, beyond the fair share of queue {queue}: {fair}"
        share += f" ({weights})"
    if not refusal.nodes:
        return f"{share}; {change}"
    idle = "nothing idle is left to lend"
    if refusal.available:
        idle = f"there is idle room for {refusal.available} of the {refusal.wanted} pods that start together"
    return f"{share}, and {idle}, {nodes}; {change}"


def _at_capability(texts: QueueTexts, refusal: Refusal) -> str:
    queue = texts.path(refusal.queue)
    if _is_beyond(refusal):
        end = f"{_NEVER}, unless its capability is raised"
        return f"it needs {needs(refusal)} and queue {queue} can use {most(refusal)} at most: {end}"
    full = listed_shortages(refusal.shortages, lambda one: fullness(one, "at most"))
    end = "it starts when work there finishes, or with a larger capability"
    return f"queue {queue} is at its real capability: {full}; {end}"


def _reserved(texts: QueueTexts, refusal: Refusal) -> str:
    above = texts.path(refusal.queue)
    names = ", ".join(texts.path(name) for name in refusal.others[:_FEW]) or "others"
    if _is_beyond(refusal):
        less = f"{above} less what is reserved there for {names} has {most(refusal)}"
        return f"it needs {needs(refusal)} and {less}: {_beyond(refusal)}, unless that is changed"
    end = f"it starts when others finish{_with_nodes(refusal)}, or with a smaller reservation"
    return f"what is idle under {above} is reserved for {names}: {left(refusal)}; {end}"


def _overcommitted(texts: QueueTexts, refusal: Refusal) -> str:
    row = texts.tables.queues[refusal.queue].index
    subject = f"queue {texts.path(refusal.queue)}" if row > 0 else "the cluster"
    if _is_beyond(refusal):
        return f"it needs {needs(refusal)} and {_size(subject, refusal)}: {_beyond(refusal)}"
    nodes = f", {summary(refusal.nodes, refusal.taking, refusal.clauses)}" if refusal.clauses else ""
    end = f"it is let in when others finish{_with_nodes(refusal)}"
    return f"{subject} is let in with {most(refusal)} at most: {left(refusal)}{nodes}; {end}"


def _size(subject: str, refusal: Refusal) -> str:
    """What a group that is too large is compared with: the cluster where that is too small, or a queue."""
    can_be_used = " that can be used" if refusal.clauses else ""
    if not any(one.limit for one in refusal.shortages):
        return f"no node{can_be_used} has any"
    if refusal.reason == Reason.NOT_ENOUGH_RESOURCES:
        return f"the nodes{can_be_used} have {most(refusal)} at most"
    return f"{subject} is let in with {most(refusal)} at most"


def _no_room(texts: QueueTexts, refusal: Refusal) -> str:
    if refusal.cure == Cure.OTHER_NODES and not refusal.nodes:
        return "the cluster has no nodes; it starts when some come"
    if (
        refusal.queue and refusal.shortages
    ):  # at the gate, where the size of the cluster is the limit of a queue
        return _overcommitted(texts, refusal)
    if not refusal.nodes:
        return "room came after its turn; the next decision tries it again"
    if refusal.cure == Cure.SOMEBODY_ACTS:
        return _own_pods_in_the_way(refusal)
    return _never_room(refusal) if _is_beyond(refusal) else _no_room_now(refusal)


def _own_pods_in_the_way(refusal: Refusal) -> str:
    own = ", ".join(refusal.others)
    few = f"room for {refusal.available} of the {refusal.wanted} pods that it lacks"
    if refusal.available >= refusal.wanted:
        few = "room for each of the pods that it lacks, but not for all at once"
    return (
        f"even with nothing else in the queues there is {few}, for its own pods are in the way ({own}): "
        f"it starts when they are deleted and all are placed anew{_with_nodes(refusal)}"
    )


def _never_room(refusal: Refusal) -> str:
    end, nodes = f"{_NEVER}{_with_nodes(refusal)}", summary(refusal.nodes, refusal.taking, refusal.clauses)
    if refusal.cure == Cure.OTHER_NODES:
        end = f"it starts when more of its nodes can be used{_with_nodes(refusal)}"
    elif any(one.wanted > one.limit for one in refusal.shortages):
        who = "its pods that start together need" if refusal.wanted > 1 else "it needs"
        return f"{who} {needs(refusal)} and the cluster has {most(refusal)}: {end}"
    few = f"room for {refusal.available} of the {refusal.wanted} pods that start together"
    return f"even with nothing else in the queues there is {few}, {nodes}: {end}"


def _no_room_now(refusal: Refusal) -> str:
    nodes = summary(refusal.nodes, refusal.taking, refusal.clauses)
    end = f"it starts when others finish{_with_nodes(refusal)}"
    if refusal.available >= refusal.wanted:
        return f"there is room for each of its pods, but not for all at once; {end}"
    if refusal.wanted > 1:
        few = f"{refusal.available} of the {refusal.wanted} pods that start together ({needs(refusal)} each)"
        return f"there is room for {few}, {nodes}; {end}"
    return f"no node has room for {needs(refusal)}, {nodes}; {end}"


def _no_node(_texts: QueueTexts, refusal: Refusal) -> str:
    nodes = summary(refusal.nodes, refusal.taking, refusal.clauses)
    match refusal.cure:
        case Cure.NEVER if refusal.wanted:
            pods = f"the {refusal.wanted} pods that start together"
            need = "as their affinity, spread and ports ask"
            return f"{pods} find no nodes {need}, {nodes} take one of them: {_NEVER}{_with_nodes(refusal)}"
        case Cure.NEVER:
            return f"no node is large enough for {needs(refusal)}, {nodes}: {_NEVER}, it needs other nodes"
        case Cure.OTHER_NODES:
            return _other_nodes(refusal, nodes)
        case Cure.SOMEBODY_ACTS:
            end = "look at its affinity, spread and ports, or start what it has to be near"
            return f"other pods, or the lack of them, keep it off every node, {nodes}; {end}"
        case _:
            end = f"it starts when others finish{_with_nodes(refusal)}"
            return f"no node takes it beside the pods that are there, {nodes}; {end}"


def _other_nodes(refusal: Refusal, nodes: str) -> str:
    """What else than nodes lets some nodes take the pod: tolerations, or that they can be used."""
    if refusal.others:
        named = f"taint{'s' if len(refusal.others) > 1 else ''} {' and '.join(refusal.others)}"
        end = f"it starts with a toleration of {named}, or with other nodes"
        return f"no node that the pod tolerates suits it, {nodes}; {end}"
    if refusal.available:
        closed = f"{refusal.available} node{'s' if refusal.available > 1 else ''} that cannot be used now"
        return f"only {closed} would take the pod, {nodes}; it starts when one can be used"
    return f"no node suits the pod, {nodes}; it needs other nodes, selectors or tolerations"


def _no_group(_texts: QueueTexts, refusal: Refusal) -> str:
    if not refusal.others:
        return "it names no pod group and none was made for it; check that `maar controllers` runs"
    group, *elsewhere = refusal.others
    missing = f"there is no pod group {group} for its pods; create it"
    if not elsewhere:
        return missing
    which = f"the one in namespace {', '.join(elsewhere[:_FEW])}"
    return f"{missing} ({which} is not theirs: a pod and its group share a namespace)"


def _too_few(_texts: QueueTexts, refusal: Refusal) -> str:
    few = f"{refusal.available} of the {refusal.wanted} pods that start together exist"
    if not refusal.others:
        return f"{few}; it starts when the others do"
    unless = f"unless StatefulSet {refusal.others[0]} has podManagementPolicy: Parallel"
    one_by_one = f"{unless}, it creates each pod when the one before is ready"
    return f"{few}; {one_by_one}: create it again with that policy, or lower the minimum"


def _behind(texts: QueueTexts, refusal: Refusal) -> str:
    first = f"queue {refusal.queue} is first in, first out: {texts.title(refusal.others[0])} comes first"
    if refusal.cure == Cure.SOMEBODY_ACTS:
        return f"{first} and does not start by itself; see what it waits for, or delete it"
    return f"{first}; it starts after that one"


def _no_claim(texts: QueueTexts, refusal: Refusal) -> str:
    claim = refusal.others[0]
    if claim not in texts.tables.claims:
        return f"volume claim {claim} does not exist; create it"
    return f"volume claim {claim} is not bound; it starts when the claim is"


def _exceeded_quota(_texts: QueueTexts, refusal: Refusal) -> str:
    later = "; it starts when the quota is raised or less of it is used"
    end = f": {_NEVER}, unless the quota is raised" if refusal.cure == Cure.NEVER else later
    there = f"{refusal.available} of the {refusal.wanted} pods that start together exist"
    return f"{there}, and ResourceQuota {refusal.others[0]} has no room for the others: {left(refusal)}{end}"


def _gated(_texts: QueueTexts, refusal: Refusal) -> str:
    what = "scheduling gates; it starts when they are taken away"
    if refusal.others:
        what = f"the scheduling gate of queue {refusal.queue}; Maar removes it when the queue has room"
    return f"{refusal.available} pod{'s have' if refusal.available != 1 else ' has'} {what}"


def _being_freed(_texts: QueueTexts, refusal: Refusal) -> str:
    by = f" by {', '.join(refusal.others)}" if refusal.others else ""
    return f"room is being freed for it{by}; it starts when they are gone"


def _planned(_texts: QueueTexts, refusal: Refusal) -> str:
    names = ", ".join(refusal.others)
    more = ", ..." if refusal.nodes > len(refusal.others) else ""
    where = f"node {names}" if refusal.nodes == 1 else f"{refusal.nodes} nodes ({names}{more})"
    pods = "1 pod there has" if refusal.wanted == 1 else f"{refusal.wanted} pods there have"
    if refusal.until is None:
        return f"room is held for it on {where}; it starts when {pods} ended, and it is not known when"
    return f"room is held for it on {where}; it starts by {time_to_come(refusal.until)}, when {pods} ended"


def _held(texts: QueueTexts, refusal: Refusal) -> str:
    until, end = "", "it starts when that one does and leaves room"
    named = ", ".join(texts.title(key) for key in refusal.others)
    if refusal.until is not None:
        until = f" until {time_to_come(refusal.until)}"
        end += "; pods that are expected to end before (maar.sh/expected-runtime) need not wait for it"
    return f"there is room for it, which is held for {named}{until}; {end}"


def _protected_until(_texts: QueueTexts, refusal: Refusal) -> str:
    time, fields = time_to_come(refusal.until or 0.0), " and ".join(refusal.others)
    end = "it makes room for itself then, or starts earlier if others finish"
    return f"the pods that it may evict are protected until {time} by {fields}; {end}"


def _is_beyond(refusal: Refusal) -> bool:
    """Whether it wants more than there is on the nodes that can be used, even if all others finish."""
    return refusal.cure in (Cure.NEVER, Cure.OTHER_NODES)


def _beyond(refusal: Refusal) -> str:
    """What changes that: nothing on this cluster, or nodes of it that cannot be used now."""
    if refusal.cure == Cure.NEVER:
        return f"{_NEVER}{_with_nodes(refusal)}"
    return f"it starts when more nodes can be used ({listed(refusal.clauses)}){_with_nodes(refusal)}"


def _with_nodes(refusal: Refusal) -> str:
    return ", or with more nodes" if refusal.more_nodes_help else ""


_SENTENCES: Final[Mapping[Reason, Callable[[QueueTexts, Refusal], str]]] = {
    Reason.BAD_OBJECT: lambda _texts, refusal: f"it cannot be read: {refusal.others[0]}",
    Reason.POD_GROUP_MISSING: _no_group,
    Reason.QUEUE_MISSING: lambda _texts, refusal: (
        f"queue {refusal.queue} does not exist; create it, or put the group into another"
    ),
    Reason.QUEUE_NOT_LEAF: lambda _texts, refusal: (
        f"queue {refusal.queue} has queues below it and runs nothing itself; "
        f"use one of {', '.join(refusal.others)}"
    ),
    Reason.QUEUE_SET_ASIDE: lambda _texts, refusal: (
        f"queue {refusal.queue} takes no part: {refusal.others[0]}"
    ),
    Reason.NOT_ENOUGH_TASKS: _too_few,
    Reason.EXCEEDED_QUOTA: _exceeded_quota,
    Reason.NOT_ENOUGH_PODS_OF_TASK: lambda _texts, refusal: (
        f"{refusal.available} of the {refusal.wanted} pods of task {refusal.others[0]} exist; "
        "it starts when all do"
    ),
    Reason.SCHEDULING_GATED: _gated,
    Reason.CLUSTER_OVERCOMMITTED: _overcommitted,
    Reason.QUEUE_AT_CAPABILITY: _at_capability,
    Reason.QUEUE_AT_FAIR_SHARE: _at_fair_share,
    Reason.RESERVED_FOR_OTHERS: _reserved,
    Reason.BEHIND_FIRST_IN_QUEUE: _behind,
    Reason.NOT_ENOUGH_RESOURCES: _no_room,
    Reason.NO_NODE_FITS: _no_node,
    Reason.CLAIM_NOT_BOUND: _no_claim,
    Reason.RESOURCE_CLAIM: lambda _texts, _held: "it asks for resource claims, which Maar does not allocate",
    Reason.WAITING_FOR_VICTIMS: _being_freed,
    Reason.ROOM_HELD: _held,
    Reason.PLANNED_START: _planned,
    Reason.VICTIMS_PROTECTED_UNTIL: _protected_until,
    Reason.GUARANTEE_BLOCKED: lambda _texts, refusal: (
        f"its guarantee leaves room for it, but {', '.join(refusal.others)} may not be evicted; "
        "it starts when they finish"
    ),
}


def _why_evicted(texts: QueueTexts, eviction: Eviction) -> str:
    victim, beneficiary = eviction.pod.group, eviction.beneficiary
    if victim is None or beneficiary is None:
        there, least = (victim.placed, victim.min_member) if victim is not None else (0, 0)
        return f"cleanup: {there} of the {least} pods that its group needs to work have nodes, for too long"
    if eviction.action == "cleanup":
        return f"cleanup for {beneficiary.title}: both held nodes and waited for each other, for too long"
    if eviction.action == "reclaim":
        queue = texts.path(beneficiary.queue_name)
        return f"reclaim for {beneficiary.title} of queue {queue}: {_overuse(texts, eviction)}"
    if beneficiary.priority > victim.priority:
        right = f"it has priority {beneficiary.priority}, this one {victim.priority}"
    else:
        right = f"it has had less of queue {texts.path(beneficiary.queue_name)}"
    return f"preempt for {beneficiary.title}: {right}"


def _overuse(texts: QueueTexts, eviction: Eviction) -> str:
    """How far the queue of a victim was above what it deserves when the cycle began."""
    leaf = eviction.pod.group.leaf if eviction.pod.group is not None else None
    if leaf is None:
        return "its queue takes no part"
    deserved, names = texts.queues.deserved[leaf.index], texts.tables.axis.names
    over = [
        Shortage(resource=names[row], wanted=0, used=leaf.used[row], limit=deserved[row])
        for row, _ in eviction.pod.shape.needs
        if leaf.used[row] > deserved[row]
    ]
    path = texts.path(leaf.name)
    return (
        f"queue {path} uses {listed_shortages(over, lambda one: used_of(one, 'deserved'))}"
        if over
        else f"from {path}"
    )


class Sentences:
    """The sentences about one decision; many groups wait for the same reason."""

    def __init__(self, inspection: Inspection) -> None:
        self._texts = QueueTexts(inspection)
        self._known: dict[Refusal, str] = {}

    def of(self, refusal: Refusal) -> str:
        """Why a group waits: which queue and resource, the numbers, and what would change it."""
        known = self._known.get(refusal)
        if known is None:
            known = self._known[refusal] = _sentence(self._texts, refusal)
        return known

    def why_evicted(self, eviction: Eviction) -> str:
        """For which group a pod is evicted, and why that is allowed."""
        return _why_evicted(self._texts, eviction)


def _sentence(texts: QueueTexts, refusal: Refusal) -> str:
    text = "; also, ".join(_SENTENCES[one.reason](texts, one) for one in (refusal, *refusal.further))
    return f"{text}; {_circle(texts, refusal)}" if refusal.circle else text

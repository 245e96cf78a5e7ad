"""Reasons: what holds each group, as a value with evidence, and the one place that makes a sentence of it."""

from collections.abc import Callable, Mapping
from typing import Final

from maar.core.cycle.group_state import GroupState
from maar.core.cycle.state import State
from maar.core.model.reasons import Held, Reason
from maar.core.model.resources import roughly
from maar.core.tables.rows import Column

_LATER: Final = "it starts when others finish, or with more nodes"
_FEW: Final = 3  # names that a sentence bears


def reason_of(state: State, group: GroupState) -> Held | None:
    """What holds a group whose pods wait, or that waits to be let in; None where nothing does."""
    waits = bool(group.pending or group.row.gated)
    if group.leaf < 0:
        return _no_queue(state, group) if waits else None
    if state.promised and any(pod.key in state.promised for pod in group.row.pods.values()):
        victims = sorted(state.victims.get(group.row.key, ()))
        claims = {key for pod in group.row.pods.values() for key in state.places.claims.unbound(pod.shape)}
        reason, others = Reason.WAITING_FOR_VICTIMS, victims
        if claims and not victims:
            reason, others = Reason.CLAIM_NOT_BOUND, sorted(claims)
        return Held(reason=reason, queue=group.row.queue_name, others=tuple(others[:_FEW]))
    if not waits and not group.was_unschedulable:
        return group.held if group.phase == "Pending" else None
    nowhere = Held(reason=Reason.NOT_ENOUGH_RESOURCES)
    leaving = sum(pod.key in state.gone for pod in group.row.pods.values())
    return _too_few_pods(group, leaving) or (group.held or nowhere if waits else None)


def _no_queue(state: State, group: GroupState) -> Held:
    name = group.row.queue_name
    row = state.tables.queues.get(name)
    if row is None:
        return Held(reason=Reason.QUEUE_MISSING, queue=name)
    if row.index < 0:
        return Held(reason=Reason.QUEUE_SET_ASIDE, queue=name, others=(state.tables.set_aside.get(name, ""),))
    leaves = [
        one.name
        for one in state.books.rows
        if one.is_leaf and row.index in (*state.books.paths[one.index], 0)
    ]
    return Held(reason=Reason.QUEUE_NOT_LEAF, queue=name, others=tuple(sorted(leaves)))


def _too_few_pods(group: GroupState, leaving: int) -> Held | None:
    """A gang that cannot start because its pods are not there, or must not be placed yet."""
    row, there = group.row, group.placed + len(group.pending) + leaving
    name = row.queue_name
    if group.row.gated and (there < row.min_member or not group.pending):
        return Held(
            reason=Reason.SCHEDULING_GATED, queue=name, wanted=row.min_member, available=group.row.gated
        )
    if there < row.min_member:
        return Held(reason=Reason.NOT_ENOUGH_TASKS, queue=name, wanted=row.min_member, available=there)
    for task, least in row.min_task_member.items():
        have = group.tasks[task] + sum(pod.task == task for pod in group.pending)
        if have < least and not leaving:
            reason = Reason.NOT_ENOUGH_PODS_OF_TASK
            return Held(reason=reason, queue=name, others=(task,), wanted=least, available=have)
    return None


def sentence(state: State, held: Held) -> str:
    """Say what holds a group: which queue and resource, the numbers, and what would change it."""
    return _SENTENCES[held.reason](state, held)


def _at_fair_share(state: State, held: Held) -> str:
    books = state.books
    row, resource = state.tables.queues[held.queue].index, state.tables.axis.row[held.resource]
    parent = books.parent[row]
    siblings = [queue for queue in range(1, len(books.rows)) if books.parent[queue] == parent]
    asking = [queue for queue in siblings if queue == row or books.shares.request[resource, queue]]
    weights = f"weight {books.weight[row]} of {sum(books.weight[queue] for queue in asking)}"
    givers = [books.rows[queue].name for queue in siblings if queue != row and books.used[queue][resource]]
    names = ", ".join(_path(state, name) for name in givers[:_FEW])
    change = f"it gets more when {names} releases" if givers else "it gets more when the cluster has more"
    full = _fullness(held, books.used[row], books.deserved[row], resource, "deserved")
    above = _path(state, books.rows[parent].name)
    return (
        f"queue {_path(state, held.queue)} is at its fair share: {full} ({weights} under {above}); {change}"
    )


def _at_capability(state: State, held: Held) -> str:
    row, resource = state.tables.queues[held.queue].index, state.tables.axis.row[held.resource]
    most = state.books.real[row][resource]
    if held.wanted > most:
        wanted, real = roughly(held.resource, held.wanted), roughly(held.resource, most)
        return (
            f"it needs {held.resource} {wanted} and queue {_path(state, held.queue)} can use {real} at most"
        )
    full = _fullness(held, state.books.used[row], state.books.real[row], resource, "at most")
    queue = _path(state, held.queue)
    return f"queue {queue} is at its real capability: {full}; it gets more when work there finishes"


def _fullness(held: Held, used: Column, limit: Column, resource: int, word: str) -> str:
    amounts = [roughly(held.resource, number) for number in (used[resource], limit[resource], held.wanted)]
    return f"{held.resource} {amounts[0]} of {amounts[1]} {word}, {amounts[2]} more wanted"


def _no_room(_state: State, held: Held) -> str:
    if held.queue and held.resource:
        return f"the cluster is full: {_amounts(held)}; {_LATER}"
    if not held.resource:
        return f"no node has room for all the pods that start together; {_LATER}"
    return f"no node has room: {_amounts(held)} on the emptiest that suits; {_LATER}"


def _reserved(state: State, held: Held) -> str:
    books, resource = state.books, state.tables.axis.row[held.resource]
    parent = state.tables.queues[held.queue].index
    idle = [
        books.rows[queue].name
        for queue in range(1, len(books.rows))
        if books.parent[queue] == parent and books.guarantee[queue][resource] > books.used[queue][resource]
    ]
    names = ", ".join(_path(state, name) for name in idle[:_FEW]) or "others"
    above = _path(state, held.queue)
    return (
        f"what is idle under {above} is reserved for {names}: {_amounts(held)}; it starts when others finish"
    )


def _overcommitted(state: State, held: Held) -> str:
    factor, total = (
        state.configuration.overcommit_factor,
        state.books.total[state.tables.axis.row[held.resource]],
    )
    most = roughly(held.resource, int(factor * total))
    return f"the cluster lets in {most} at most: {_amounts(held)}; it is let in when others finish"


def _no_node(state: State, held: Held) -> str:
    if held.resource:
        wanted, largest = (roughly(held.resource, number) for number in (held.wanted, held.available))
        return (
            f"no node is large enough: {held.resource} {wanted} wanted, {largest} on the largest that suits"
        )
    suit = f"{held.available} of {len(state.room.nodes)} nodes suit the pod"
    return f"{suit} and none of them takes it; look at its selectors, tolerations, affinity and ports"


def _no_group(_state: State, held: Held) -> str:
    if not held.others:
        return "it names no pod group and none was made for it; check that `maar controllers` runs"
    group, *elsewhere = held.others
    missing = f"there is no pod group {group} for its pods; create it"
    if not elsewhere:
        return missing
    which = f"the one in namespace {', '.join(elsewhere[:_FEW])}"
    return f"{missing} ({which} is not theirs: a pod and its group share a namespace)"


def _being_freed(_state: State, held: Held) -> str:
    by = f" by {', '.join(held.others)}" if held.others else ""
    return f"room is being freed for it{by}; it starts when they are gone"


def _path(state: State, name: str) -> str:
    """A queue as people name it: from below the root down."""
    row = state.tables.queues.get(name)
    if row is None or row.index <= 0:
        return name
    return "/".join(state.books.rows[queue].name for queue in reversed(state.books.paths[row.index]))


def _amounts(held: Held) -> str:
    wanted, available = (roughly(held.resource, number) for number in (held.wanted, held.available))
    return f"{held.resource} {wanted} wanted, {available} left"


_SENTENCES: Final[Mapping[Reason, Callable[[State, Held], str]]] = {
    Reason.BAD_OBJECT: lambda _state, held: f"it cannot be read: {held.others[0]}",
    Reason.POD_GROUP_MISSING: _no_group,
    Reason.QUEUE_MISSING: lambda _state, held: (
        f"queue {held.queue} does not exist; create it, or put the group into another"
    ),
    Reason.QUEUE_NOT_LEAF: lambda _state, held: (
        f"queue {held.queue} has queues below it and runs nothing itself; use one of {', '.join(held.others)}"
    ),
    Reason.QUEUE_SET_ASIDE: lambda _state, held: f"queue {held.queue} takes no part: {held.others[0]}",
    Reason.NOT_ENOUGH_TASKS: lambda _state, held: (
        f"{held.available} of the {held.wanted} pods that start together exist; it starts when the others do"
    ),
    Reason.NOT_ENOUGH_PODS_OF_TASK: lambda _state, held: (
        f"{held.available} of the {held.wanted} pods of task {held.others[0]} exist; it starts when all do"
    ),
    Reason.SCHEDULING_GATED: lambda _state, held: (
        f"{held.available} pods have scheduling gates; it starts when they are taken away"
    ),
    Reason.CLUSTER_OVERCOMMITTED: _overcommitted,
    Reason.QUEUE_AT_CAPABILITY: _at_capability,
    Reason.QUEUE_AT_FAIR_SHARE: _at_fair_share,
    Reason.RESERVED_FOR_OTHERS: _reserved,
    Reason.BEHIND_FIRST_IN_QUEUE: lambda _state, held: (
        f"queue {held.queue} is first in, first out: {held.others[0]} comes first"
    ),
    Reason.NOT_ENOUGH_RESOURCES: _no_room,
    Reason.NO_NODE_FITS: _no_node,
    Reason.CLAIM_NOT_BOUND: lambda _state, held: (
        f"volume claim {held.others[0]} is not bound; it starts when the claim is"
    ),
    Reason.RESOURCE_CLAIM: lambda _state, _held: "it asks for resource claims, which Maar does not allocate",
    Reason.WAITING_FOR_VICTIMS: _being_freed,
    Reason.GUARANTEE_BLOCKED: lambda _state, held: (
        f"its guarantee leaves room for it, but {', '.join(held.others)} may not be evicted"
    ),
}

"""The plan of a cycle: what was decided, as a value."""

from functools import partial
from math import inf
from typing import Final, get_args

import numpy as np

from maar.core.cycle.explain import reason_of, sentence
from maar.core.cycle.state import GroupState, State
from maar.core.fairshare.certificate import CONSTRAINTS
from maar.core.model.metadata import Condition
from maar.core.model.plan import Constraint, GroupOutcome, NamespaceStanding, Plan, QueueStanding, Share
from maar.core.model.pod_group import PodGroupPhase
from maar.core.model.queue import ROOT, QueueState
from maar.core.model.reasons import Held, Reason
from maar.core.model.resources import Resources
from maar.core.model.writes import Bind, Evict, Nominate, SelectNode
from maar.core.tables.counting import is_finished
from maar.core.tables.rows import Column, GroupRow, QueueRow

_WELL: Final = {phase: GroupOutcome(phase=phase) for phase in get_args(PodGroupPhase)}


def plan_of(state: State) -> Plan:
    """Write down what a cycle has decided."""
    nodes = state.room.nodes
    return Plan(
        queues=_standings(state),
        binds=tuple([Bind(pod=key, node=nodes[node].name) for key, node in state.bound.items()]),
        evictions=tuple(
            Evict(
                pod=one.pod.key,
                action=one.action,
                beneficiary=one.beneficiary.key if one.beneficiary else None,
            )
            for one in state.evictions
        ),
        nominations=tuple(Nominate(pod=key, node=nodes[node].name) for key, node in state.promised.items()),
        selections=tuple(
            SelectNode(claim=key, node=nodes[node].name) for key, node in state.selections.items()
        ),
        pod_groups=_outcomes(state),
    )


def _outcomes(state: State) -> dict[str, GroupOutcome]:
    """What becomes of every group that the cycle looked at, or that is not where it should be."""
    outcomes = {}
    for key, group in state.touched().items():
        phase, held = _phase(state, group), reason_of(state, group)
        if held is None and not group.was_unschedulable:
            outcomes[key] = _WELL[phase]
        else:
            message = sentence(state, held) if held is not None else ""
            outcomes[key] = GroupOutcome(
                phase=phase, held=held, message=message, is_unschedulable=group.was_unschedulable
            )
    for pod in state.tables.orphans.values():
        key = pod.group_key or pod.key
        held = Held(reason=Reason.POD_GROUP_MISSING, others=(key,))
        outcomes[key] = GroupOutcome(phase="Pending", held=held, message=sentence(state, held))
    return outcomes


def _phase(state: State, group: GroupState) -> PodGroupPhase:
    """The phase that the pods on nodes give, those bound in this cycle included."""
    row, there, is_running = group.row, 0, False
    if is_finished(row):
        return "Completed"
    for pod in row.pods.values():
        if (pod.node_name and pod.key not in state.gone) or pod.key in state.bound:
            there += 1
            is_running |= pod.is_running
    if group.was_unschedulable and is_running:
        return "Unknown"
    if there and there >= row.min_member:
        return "Running"
    return "Inqueue" if group.phase == "Inqueue" else "Pending"


def phase_at_rest(row: GroupRow) -> PodGroupPhase:
    """The phase of a group that no cycle had to look at."""
    if is_finished(row):
        return "Completed"
    there = sum(bool(pod.node_name) for pod in row.pods.values())
    return "Running" if there and there >= row.min_member else row.phase


def _standings(state: State) -> dict[str, QueueStanding]:
    books, rows = state.books, _worth_showing(state)
    amounts = partial(state.tables.axis.amounts, rows=rows)
    status_used, preempting = _rolled_up(state), _preempting(state)
    states = _states(state)
    standings = {}
    for row in books.rows:
        index = row.index
        deserved = books.deserved[index]
        allocated = [max(0, have - freed) for have, freed in zip(deserved, preempting[index], strict=True)]
        standings[row.name] = QueueStanding(
            deserved=amounts(deserved),
            real_capability=amounts(books.real[index]),
            allocated=amounts(allocated),
            used=amounts(status_used[index]),
            preempting=amounts(preempting[index]),
            share=_written(books.share(index, status_used[index]) if row.name != ROOT else 0.0),
            state=states[index],
            parent="" if row.name == ROOT else row.queue.parent,
            weight=row.queue.spec.weight,
            request=amounts(books.shares.request[:, index].tolist()),
            binding={} if row.name == ROOT else _binding(state, index, rows),
            conditions=_conditions(state, row),
            namespaces=_namespaces(state, row, rows) if row.is_leaf else {},
        )
    for name, why in state.tables.set_aside.items():
        nothing = Resources()
        aside = Condition(type="SetAside", status="True", reason="QueueSetAside", message=why)
        standings[name] = QueueStanding(
            deserved=nothing, real_capability=nothing, allocated=nothing, used=nothing, preempting=nothing,
            share=0.0, state="Open", conditions=(aside,),
        )  # fmt: skip
    return standings


def _worth_showing(state: State) -> tuple[int, ...]:
    """The resources that the cluster has, or that somebody wants or has reserved, by name."""
    books, names = state.books, state.tables.axis.names
    wanted = books.shares.request[:, 0] + books.claims.guarantee.max(axis=1) + np.array(books.used[0])
    rows = [row for row, total in enumerate(books.total) if total or wanted[row]]
    return tuple(sorted(rows, key=lambda row: names[row]))


def _binding(state: State, index: int, rows: tuple[int, ...]) -> dict[str, Constraint]:
    codes, names = state.books.shares.binding[:, index].tolist(), state.tables.axis.names
    return {names[row]: CONSTRAINTS[codes[row]] for row in rows}


def _conditions(state: State, row: QueueRow) -> tuple[Condition, ...]:
    if not state.books.shares.reduced[row.index]:
        return ()
    guarantee = state.tables.axis.amounts(state.books.guarantee[row.index])
    message = f"not all guarantees can hold; {guarantee} of this queue's is in force"
    return (Condition(type="GuaranteeReduced", status="True", reason="GuaranteeReduced", message=message),)


def _namespaces(state: State, row: QueueRow, rows: tuple[int, ...]) -> dict[str, NamespaceStanding]:
    """How the namespaces stood when the cycle began: the numbers their order was taken from."""
    weights, books = state.tables.namespace_weights, state.books
    names = {*(name for name, column in row.namespaces.items() if any(column)), *(+row.members)}
    standings = {}
    for name in sorted(names):
        used, weight = row.namespaces.get(name) or state.tables.axis.zeros(), weights.get(name, 1)
        standings[name] = NamespaceStanding(
            weight=weight,
            used=state.tables.axis.amounts(used, rows),
            share=_written(books.dominant(used, weight)),
        )
    return standings


def _rolled_up(state: State) -> list[Column]:
    books = state.books
    columns = [[0] * len(books.total) for _ in books.rows]
    for row in books.rows:
        if row.is_leaf and any(row.status_used):
            for queue in (*books.paths[row.index], 0):
                for resource, amount in enumerate(row.status_used):
                    columns[queue][resource] += amount
    return columns


def _preempting(state: State) -> list[Column]:
    """What is being freed for each queue: victims outside it, evicted for its groups and not gone yet."""
    books = state.books
    columns = [[0] * len(books.total) for _ in books.rows]
    for pod in state.tables.leaving.values():
        beneficiary = state.tables.groups.get(pod.evicted_for)
        if beneficiary is None or beneficiary.leaf is None or not pod.is_live:
            continue
        inside = pod.group.leaf.index if pod.group is not None and pod.group.leaf is not None else -1
        theirs = set(books.paths[inside]) if inside >= 0 else set()
        for queue in books.paths[beneficiary.leaf.index]:
            if queue not in theirs:
                for resource, amount in pod.shape.needs:
                    columns[queue][resource] += amount
    return columns


def _states(state: State) -> list[QueueState]:
    """Open, or on the way to Closed: a queue below one that closes closes with it."""
    books = state.books
    is_busy = [False] * len(books.rows)
    asked = [row.queue.spec.state == "Closed" for row in books.rows]
    if any(asked):
        for row in books.rows:
            if row.is_leaf and not all(map(is_finished, row.groups.values())):
                for queue in books.paths[row.index]:
                    is_busy[queue] = True
    states: list[QueueState] = []
    for index in range(len(books.rows)):
        if not any(asked[queue] for queue in books.paths[index]):
            states.append("Open")
        else:
            states.append("Closing" if is_busy[index] else "Closed")
    return states


def _written(share: float) -> Share:
    """A share as JSON can write it."""
    return "inf" if share == inf else share

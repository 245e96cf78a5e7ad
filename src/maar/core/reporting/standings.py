"""The standing of the queues: what each deserves and why, what it uses, its state, and its namespaces."""

from collections.abc import Iterator, Mapping
from functools import partial
from math import inf
from typing import NamedTuple

import numpy as np

from maar.core.cycle.state import State
from maar.core.fairshare.dominant import roll_up_used
from maar.core.fairshare.share_out import CONSTRAINTS
from maar.core.model.metadata import Condition
from maar.core.model.plan import (
    GUARANTEE_REDUCED,
    NamespaceStanding,
    PastUseStanding,
    QueueStanding,
    Share,
)
from maar.core.model.queue import Queue, QueueState
from maar.core.model.queue_state import is_unfinished, queue_state
from maar.core.model.resources import Resources
from maar.core.tables.past_use import standing_of
from maar.core.tables.rows import Column, QueueRow


def standings(state: State) -> dict[str, QueueStanding]:
    """The standing of every queue, by name; one whose inputs are those of the last cycle is used again."""
    tables, rows = state.tables, _worth_showing(state)
    basis = (rows, state.ledger.total, dict(tables.namespace_weights), tables.past_use.factors)
    answers, found = state.memory.answers("standings"), dict[str, QueueStanding]()
    answers.begin(basis)
    for index, (name, evidence) in enumerate(zip(state.ledger.tree.names, _evidence(state), strict=True)):
        standing = answers.recall(name, evidence)
        if not isinstance(standing, QueueStanding):
            standing = _standing(state, index, rows, evidence)
            answers.keep(name, evidence, standing)
        found[name] = standing
    return found | {name: _aside(why) for name, why in tables.set_aside.items()}


class _Evidence(NamedTuple):
    """All inputs of the standing of a queue, other than those that all queues share."""

    row: QueueRow
    queue: Queue
    changes: int
    state: QueueState
    freed: Column | None
    used: Column
    deserved: Column
    real: Column
    guarantee: Column
    request: Column
    binding: list[int]
    is_reduced: bool


def _evidence(state: State) -> Iterator[_Evidence]:
    ledger, freed = state.ledger, _being_freed(state)
    shares = ledger.shares
    return map(
        _Evidence,
        ledger.rows,
        [row.queue for row in ledger.rows],
        [row.changes for row in ledger.rows],
        _states(state),
        [freed.get(queue) for queue in range(len(ledger.rows))],
        _status_used(state),
        ledger.deserved,
        ledger.real,
        ledger.guarantee,
        shares.request.T.tolist(),
        shares.binding.T.tolist(),
        shares.reduced.tolist(),
    )


def _standing(state: State, index: int, rows: tuple[int, ...], evidence: _Evidence) -> QueueStanding:
    names, row, queue = state.tables.axis.names, state.ledger.rows[index], evidence.queue
    freed = evidence.freed or [0] * len(names)
    binding = {names[row]: CONSTRAINTS[evidence.binding[row]] for row in rows} if index else {}
    allocated = [max(0, have - gone) for have, gone in zip(evidence.deserved, freed, strict=True)]
    amounts = partial(state.tables.axis.amounts, rows=rows)
    return QueueStanding(
        deserved=amounts(evidence.deserved),
        real_capability=amounts(evidence.real),
        allocated=amounts(allocated),
        used=amounts(evidence.used),
        preempting=amounts(freed),
        request=amounts(evidence.request),
        guarantee=amounts(evidence.guarantee, rows=tuple(row for row in rows if evidence.guarantee[row])),
        share=_written(state.ledger.share(index, evidence.used)) if index else 0.0,
        state=evidence.state,
        parent=queue.parent if index else "",
        weight=queue.spec.weight,
        binding=binding,
        conditions=(_reduced_guarantee(state, index, rows, evidence),) if evidence.is_reduced else (),
        namespaces=_namespaces(state, row, rows) if row.is_leaf else {},
        past_use=_past_use(state, row.name),
        history=_history(state, row.name),
    )


def _past_use(state: State, queue: str) -> PastUseStanding | None:
    """What past use makes of the weight of a queue."""
    factors = state.tables.past_use.factors
    part = None if factors is None else factors.parts.get(queue)
    return None if factors is None or part is None else standing_of(part, factors.usage)


def _history(state: State, queue: str) -> dict[str, object] | None:
    """The past use of a queue as its status should have it; None where the plugin is not configured."""
    factors = state.tables.past_use.factors
    return None if factors is None else factors.written.get(queue, {})


def _aside(why: str) -> QueueStanding:
    nothing = Resources()
    aside = Condition(type="SetAside", status="True", reason="QueueSetAside", message=why)
    return QueueStanding(
        deserved=nothing, real_capability=nothing, allocated=nothing, used=nothing, preempting=nothing,
        share=0.0, state="Open", conditions=(aside,),
    )  # fmt: skip


def _worth_showing(state: State) -> tuple[int, ...]:
    """The resources that the cluster has, or that a queue requests or has reserved, by name."""
    ledger, names = state.ledger, state.tables.axis.names
    wanted = ledger.shares.request[:, 0] + ledger.claims.guarantee.max(axis=1) + np.array(ledger.used[0])
    rows = [row for row, total in enumerate(ledger.total) if total or wanted[row]]
    return tuple(sorted(rows, key=lambda row: names[row]))


def _reduced_guarantee(state: State, index: int, rows: tuple[int, ...], evidence: _Evidence) -> Condition:
    """The condition of a queue whose guarantee is not in force as it is written."""
    asked = state.ledger.claims.guarantee[:, index]
    reserved = tuple(row for row in rows if asked[row] or evidence.guarantee[row])
    guarantee = state.tables.axis.amounts(evidence.guarantee, reserved)
    message = f"not all guarantees can hold; {guarantee} of this queue's is in force"
    return Condition(type=GUARANTEE_REDUCED, status="True", reason=GUARANTEE_REDUCED, message=message)


def _namespaces(state: State, row: QueueRow, rows: tuple[int, ...]) -> dict[str, NamespaceStanding]:
    """The standing of the namespaces when the cycle began: the numbers that their order follows from."""
    weights, axis = state.tables.namespace_weights, state.tables.axis
    names = {name for name, column in row.namespaces.items() if any(column)}
    names.update([name for name, groups in row.members.items() if groups])
    found, factors = {}, state.tables.past_use.factors
    parts = {} if factors is None else state.parts_of_use(row.index)
    for name in sorted(names):
        used, weight = row.namespaces.get(name) or axis.zeros(), weights.get(name, 1)
        past_use = standing_of(parts[name], factors.usage) if factors is not None and name in parts else None
        weighs = weight if past_use is None or past_use.factor == 1 else weight * past_use.factor
        share = _written(state.ledger.dominant(used, weighs))
        found[name] = NamespaceStanding(
            weight=weight, used=axis.amounts(used, rows), share=share, past_use=past_use
        )
    return found


def _status_used(state: State) -> list[Column]:
    """What the pods of every queue hold, those that are leaving included."""
    used = np.array([row.status_used for row in state.ledger.rows], np.int64).T  # [R, Q]
    columns: list[Column] = roll_up_used(state.ledger.tree, used).T.tolist()
    return columns


def _being_freed(state: State) -> Mapping[int, Column]:
    """What is being freed for queues: victims outside them, evicted for their groups and not gone yet."""
    ledger, columns = state.ledger, dict[int, Column]()
    for pod in state.tables.leaving.values():
        beneficiary = state.tables.groups.get(pod.evicted_for)
        if beneficiary is None or beneficiary.leaf is None or not pod.is_live:
            continue
        leaf = pod.group.leaf if pod.group is not None else None
        theirs = ledger.paths[leaf.index] if leaf is not None else ()
        for queue in ledger.paths[beneficiary.leaf.index]:
            if queue not in theirs:
                column = columns.setdefault(queue, state.tables.axis.zeros())
                for resource, amount in pod.shape.needs:
                    column[resource] += amount
    return columns


def _states(state: State) -> list[QueueState]:
    """The state of every queue; with nothing asked to close, no pod group is looked at."""
    ledger = state.ledger
    asked = {index for index, row in enumerate(ledger.rows) if row.queue.is_asked_to_close}
    states: list[QueueState] = ["Open"] * len(ledger.rows)
    if not asked:
        return states
    busy: set[int] = set()
    for row in ledger.rows:
        if row.is_leaf and any(is_unfinished(group.phase) for group in row.groups.values()):
            busy.update(ledger.paths[row.index])
    for index, path in enumerate(ledger.paths):
        states[index] = queue_state(is_asked_to_close=not asked.isdisjoint(path), has_work=index in busy)
    return states


def _written(share: float) -> Share:
    """A share as JSON can write it."""
    return "inf" if share == inf else share

"""How the queues stand: what each deserves and why, what it uses, its state, and its namespaces."""

from collections.abc import Iterator, Mapping
from functools import partial
from math import inf
from typing import NamedTuple

import numpy as np

from maar.core.cycle.state import State
from maar.core.fairshare.certificate import CONSTRAINTS
from maar.core.fairshare.dominant import roll_up_used
from maar.core.model.metadata import Condition
from maar.core.model.plan import NamespaceStanding, QueueStanding, Share
from maar.core.model.queue import Queue, QueueState
from maar.core.model.queue_state import is_unfinished, queue_state
from maar.core.model.resources import Resources
from maar.core.tables.rows import Column, QueueRow


def standings(state: State) -> dict[str, QueueStanding]:
    """How every queue stands, by name; what stands as it did in the last cycle is shown again as it was."""
    tables, rows = state.tables, _worth_showing(state)
    ground = (rows, state.books.total, dict(tables.namespace_weights))
    if tables.shown_on != ground:
        tables.shown_on, tables.shown = ground, {}
    shown, tables.shown = tables.shown, {}
    for index, evidence in enumerate(_evidence(state)):
        name = state.books.rows[index].name
        known = shown.get(name)
        if known is None or known[0] != evidence:
            known = evidence, _standing(state, index, rows, evidence)
        tables.shown[name] = known
    found = {name: standing for name, (_, standing) in tables.shown.items()}
    return found | {name: _aside(why) for name, why in tables.set_aside.items()}


class _Evidence(NamedTuple):
    """Everything that the standing of a queue follows from, beside what all have in common."""

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
    books, freed = state.books, _being_freed(state)
    shares = books.shares
    return map(
        _Evidence,
        [row.queue for row in books.rows],
        [row.changes for row in books.rows],
        _states(state),
        [freed.get(queue) for queue in range(len(books.rows))],
        _status_used(state),
        books.deserved,
        books.real,
        books.guarantee,
        shares.request.T.tolist(),
        shares.binding.T.tolist(),
        shares.reduced.tolist(),
    )


def _standing(state: State, index: int, rows: tuple[int, ...], evidence: _Evidence) -> QueueStanding:
    names, row, queue = state.tables.axis.names, state.books.rows[index], evidence.queue
    amounts = partial(state.tables.axis.amounts, rows=rows)
    freed = evidence.freed or state.tables.axis.zeros()
    return QueueStanding(
        deserved=amounts(evidence.deserved),
        real_capability=amounts(evidence.real),
        allocated=amounts([max(0, have - gone) for have, gone in zip(evidence.deserved, freed, strict=True)]),
        used=amounts(evidence.used),
        preempting=amounts(freed),
        share=_written(state.books.share(index, evidence.used)) if index else 0.0,
        state=evidence.state,
        parent=queue.parent if index else "",
        weight=queue.spec.weight,
        request=amounts(evidence.request),
        binding={names[row]: CONSTRAINTS[evidence.binding[row]] for row in rows} if index else {},
        conditions=_conditions(state, index, rows, evidence),
        namespaces=_namespaces(state, row, rows) if row.is_leaf else {},
    )


def _aside(why: str) -> QueueStanding:
    nothing = Resources()
    aside = Condition(type="SetAside", status="True", reason="QueueSetAside", message=why)
    return QueueStanding(
        deserved=nothing, real_capability=nothing, allocated=nothing, used=nothing, preempting=nothing,
        share=0.0, state="Open", conditions=(aside,),
    )  # fmt: skip


def _worth_showing(state: State) -> tuple[int, ...]:
    """The resources that the cluster has, or that somebody wants or has reserved, by name."""
    books, names = state.books, state.tables.axis.names
    wanted = books.shares.request[:, 0] + books.claims.guarantee.max(axis=1) + np.array(books.used[0])
    rows = [row for row, total in enumerate(books.total) if total or wanted[row]]
    return tuple(sorted(rows, key=lambda row: names[row]))


def _conditions(
    state: State, index: int, rows: tuple[int, ...], evidence: _Evidence
) -> tuple[Condition, ...]:
    if not evidence.is_reduced:
        return ()
    asked = state.books.claims.guarantee[:, index]
    reserved = tuple(row for row in rows if asked[row] or evidence.guarantee[row])
    guarantee = state.tables.axis.amounts(evidence.guarantee, reserved)
    message = f"not all guarantees can hold; {guarantee} of this queue's is in force"
    return (Condition(type="GuaranteeReduced", status="True", reason="GuaranteeReduced", message=message),)


def _namespaces(state: State, row: QueueRow, rows: tuple[int, ...]) -> dict[str, NamespaceStanding]:
    """How the namespaces stood when the cycle began: the numbers their order was taken from."""
    weights, axis = state.tables.namespace_weights, state.tables.axis
    names = {name for name, column in row.namespaces.items() if any(column)}
    names.update([name for name, groups in row.members.items() if groups])
    found = {}
    for name in sorted(names):
        used, weight = row.namespaces.get(name) or axis.zeros(), weights.get(name, 1)
        share = _written(state.books.dominant(used, weight))
        found[name] = NamespaceStanding(weight=weight, used=axis.amounts(used, rows), share=share)
    return found


def _status_used(state: State) -> list[Column]:
    """What the pods of every queue hold, those that are leaving included."""
    used = np.array([row.status_used for row in state.books.rows], np.int64).T  # [R, Q]
    columns: list[Column] = roll_up_used(state.books.tree, used).T.tolist()
    return columns


def _being_freed(state: State) -> Mapping[int, Column]:
    """What is being freed for queues: victims outside them, evicted for their groups and not gone yet."""
    books, columns = state.books, dict[int, Column]()
    for pod in state.tables.leaving.values():
        beneficiary = state.tables.groups.get(pod.evicted_for)
        if beneficiary is None or beneficiary.leaf is None or not pod.is_live:
            continue
        leaf = pod.group.leaf if pod.group is not None else None
        theirs = books.paths[leaf.index] if leaf is not None else ()
        for queue in books.paths[beneficiary.leaf.index]:
            if queue not in theirs:
                column = columns.setdefault(queue, state.tables.axis.zeros())
                for resource, amount in pod.shape.needs:
                    column[resource] += amount
    return columns


def _states(state: State) -> list[QueueState]:
    """The state of every queue; with nothing asked to close, no pod group is looked at."""
    books = state.books
    asked = {index for index, row in enumerate(books.rows) if row.queue.is_asked_to_close}
    states: list[QueueState] = ["Open"] * len(books.rows)
    if not asked:
        return states
    busy: set[int] = set()
    for row in books.rows:
        if row.is_leaf and any(is_unfinished(group.phase) for group in row.groups.values()):
            busy.update(books.paths[row.index])
    for index, path in enumerate(books.paths):
        states[index] = queue_state(is_asked_to_close=not asked.isdisjoint(path), has_work=index in busy)
    return states


def _written(share: float) -> Share:
    """A share as JSON can write it."""
    return "inf" if share == inf else share

"""The standing of the queues: what each deserves and why, what it uses, its state, and its namespaces."""

from collections.abc import Iterator, Mapping
from functools import partial
from math import inf
from typing import NamedTuple

import numpy as np

from maar.core.cycle.inspect import Inspection
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


def standings(inspection: Inspection) -> dict[str, QueueStanding]:
    """The standing of every queue, by name; one whose inputs are those of the last cycle is used again."""
    tables, rows = inspection.tables, _worth_showing(inspection)
    basis = (rows, inspection.queues.total, dict(tables.namespace_weights), tables.past_use.factors)
    answers, found = inspection.answers("standings"), dict[str, QueueStanding]()
    answers.begin(basis)
    for index, (name, evidence) in enumerate(
        zip(inspection.queues.tree.names, _evidence(inspection), strict=True)
    ):
        standing = answers.recall(name, evidence)
        if not isinstance(standing, QueueStanding):
            standing = _standing(inspection, index, rows, evidence)
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


def _evidence(inspection: Inspection) -> Iterator[_Evidence]:
    ledger, freed = inspection.queues, _being_freed(inspection)
    shares = ledger.shares
    return map(
        _Evidence,
        ledger.rows,
        [row.queue for row in ledger.rows],
        [row.changes for row in ledger.rows],
        _states(inspection),
        [freed.get(queue) for queue in range(len(ledger.rows))],
        _status_used(inspection),
        ledger.deserved,
        ledger.real,
        ledger.guarantee,
        shares.request.T.tolist(),
        shares.binding.T.tolist(),
        shares.reduced.tolist(),
    )


def _standing(
    inspection: Inspection, index: int, rows: tuple[int, ...], evidence: _Evidence
) -> QueueStanding:
    names, row, queue = inspection.tables.axis.names, inspection.queues.rows[index], evidence.queue
    freed = evidence.freed or [0] * len(names)
    binding = {names[row]: CONSTRAINTS[evidence.binding[row]] for row in rows} if index else {}
    allocated = [max(0, have - gone) for have, gone in zip(evidence.deserved, freed, strict=True)]
    amounts = partial(inspection.tables.axis.amounts, rows=rows)
    return QueueStanding(
        deserved=amounts(evidence.deserved),
        real_capability=amounts(evidence.real),
        allocated=amounts(allocated),
        used=amounts(evidence.used),
        preempting=amounts(freed),
        request=amounts(evidence.request),
        guarantee=amounts(evidence.guarantee, rows=tuple(row for row in rows if evidence.guarantee[row])),
        share=_written(inspection.queues.share(index, evidence.used)) if index else 0.0,
        state=evidence.state,
        parent=queue.parent if index else "",
        weight=queue.spec.weight,
        binding=binding,
        conditions=(_reduced_guarantee(inspection, index, rows, evidence),) if evidence.is_reduced else (),
        namespaces=_namespaces(inspection, row, rows) if row.is_leaf else {},
        past_use=_past_use(inspection, row.name),
        history=_history(inspection, row.name),
    )


def _past_use(inspection: Inspection, queue: str) -> PastUseStanding | None:
    """What past use makes of the weight of a queue."""
    factors = inspection.tables.past_use.factors
    part = None if factors is None else factors.parts.get(queue)
    return None if factors is None or part is None else standing_of(part, factors.usage)


def _history(inspection: Inspection, queue: str) -> dict[str, object] | None:
    """The past use of a queue as its status should have it; None where the plugin is not configured."""
    factors = inspection.tables.past_use.factors
    return None if factors is None else factors.written.get(queue, {})


def _aside(why: str) -> QueueStanding:
    nothing = Resources()
    aside = Condition(type="SetAside", status="True", reason="QueueSetAside", message=why)
    return QueueStanding(
        deserved=nothing, real_capability=nothing, allocated=nothing, used=nothing, preempting=nothing,
        share=0.0, state="Open", conditions=(aside,),
    )  # fmt: skip


def _worth_showing(inspection: Inspection) -> tuple[int, ...]:
    """The resources that the cluster has, or that a queue requests or has reserved, by name."""
    ledger, names = inspection.queues, inspection.tables.axis.names
    wanted = ledger.shares.request[:, 0] + ledger.claims.guarantee.max(axis=1) + np.array(ledger.used[0])
    rows = [row for row, total in enumerate(ledger.total) if total or wanted[row]]
    return tuple(sorted(rows, key=lambda row: names[row]))


def _reduced_guarantee(
    inspection: Inspection, index: int, rows: tuple[int, ...], evidence: _Evidence
) -> Condition:
    """The condition of a queue whose guarantee is not in force as it is written."""
    asked = inspection.queues.claims.guarantee[:, index]
    reserved = tuple(row for row in rows if asked[row] or evidence.guarantee[row])
    guarantee = inspection.tables.axis.amounts(evidence.guarantee, reserved)
    message = f"not all guarantees can hold; {guarantee} of this queue's is in force"
    return Condition(type=GUARANTEE_REDUCED, status="True", reason=GUARANTEE_REDUCED, message=message)


def _namespaces(inspection: Inspection, row: QueueRow, rows: tuple[int, ...]) -> dict[str, NamespaceStanding]:
    """The standing of the namespaces when the cycle began: the numbers that their order follows from."""
    weights, axis = inspection.tables.namespace_weights, inspection.tables.axis
    names = {name for name, column in row.namespaces.items() if any(column)}
    names.update([name for name, groups in row.members.items() if groups])
    found, factors = {}, inspection.tables.past_use.factors
    parts = {} if factors is None else inspection.tables.past_use.inside(row, weights)
    for name in sorted(names):
        used, weight = row.namespaces.get(name) or axis.zeros(), weights.get(name, 1)
        past_use = standing_of(parts[name], factors.usage) if factors is not None and name in parts else None
        weighs = weight if past_use is None or past_use.factor == 1 else weight * past_use.factor
        share = _written(inspection.queues.dominant(used, weighs))
        found[name] = NamespaceStanding(
            weight=weight, used=axis.amounts(used, rows), share=share, past_use=past_use
        )
    return found


def _status_used(inspection: Inspection) -> list[Column]:
    """What the pods of every queue hold, those that are leaving included."""
    used = np.array([row.status_used for row in inspection.queues.rows], np.int64).T  # [R, Q]
    columns: list[Column] = roll_up_used(inspection.queues.tree, used).T.tolist()
    return columns


def _being_freed(inspection: Inspection) -> Mapping[int, Column]:
    """What is being freed for queues: victims outside them, evicted for their groups and not gone yet."""
    ledger, columns = inspection.queues, dict[int, Column]()
    for pod in inspection.tables.leaving.values():
        beneficiary = inspection.tables.groups.get(pod.evicted_for)
        if beneficiary is None or beneficiary.leaf is None or not pod.is_live:
            continue
        leaf = pod.group.leaf if pod.group is not None else None
        theirs = ledger.paths[leaf.index] if leaf is not None else ()
        for queue in ledger.paths[beneficiary.leaf.index]:
            if queue not in theirs:
                column = columns.setdefault(queue, inspection.tables.axis.zeros())
                for resource, amount in pod.shape.needs:
                    column[resource] += amount
    return columns


def _states(inspection: Inspection) -> list[QueueState]:
    """The state of every queue; with nothing asked to close, no pod group is looked at."""
    ledger = inspection.queues
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

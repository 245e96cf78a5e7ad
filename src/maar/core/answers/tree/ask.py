"""The queues of a cluster as the tables have them: shares, states and counts; the engine decides nothing."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import cast

import msgspec
import numpy as np

from maar.core.answers.tree.past_use import usage_in_force, with_usage
from maar.core.cycle import decide, settle
from maar.core.fairshare import FairShares
from maar.core.model.events import AnyObject, Upserted
from maar.core.model.metadata import Object
from maar.core.model.plan import NamespaceStanding, PastUseStanding, QueueStanding
from maar.core.model.queue import Queue
from maar.core.policy.configuration import DEFAULT
from maar.core.reporting.standings import standings as standings_of
from maar.core.tables.groups import phase_at_rest
from maar.core.tables.rows import MinRuntime
from maar.core.tables.tables import Tables


@dataclass(frozen=True)
class QueueShares:
    """What the engine makes of a cluster's objects, queue by queue."""

    queues: tuple[Queue, ...]  # each with the status that Maar would write
    shares: FairShares  # the kernel's answer, certificate included
    namespaces: Mapping[str, Mapping[str, NamespaceStanding]]  # of each leaf queue
    set_aside: Mapping[str, str]  # queues that take no part, and why
    min_runtimes: Mapping[str, Mapping[str, MinRuntime]]  # of each queue that takes part, by action
    past_use: Mapping[str, PastUseStanding]  # of queues whose siblings have past use


def queue_shares(objects: Iterable[Object], now: float) -> QueueShares:
    """Share a cluster out as the scheduler does, and decide nothing."""
    tables = Tables()
    tables.feed([Upserted(object=cast("AnyObject", one)) for one in objects])
    usage = usage_in_force([row.queue for row in tables.queues.values()])
    configuration = with_usage(replace(DEFAULT, actions=()), usage)
    settle(tables, configuration, now)
    inspection = decide(tables, configuration, now)
    standings, ledger = standings_of(inspection), inspection.queues
    used = np.array([row.status_used for row in tables.rows], np.int64).T  # [R, Q]
    return QueueShares(
        queues=queues_with_statuses(tables, standings),
        shares=FairShares(ledger.tree, ledger.claims, ledger.shares, used, ledger.scaled_weights),
        past_use={name: one.past_use for name, one in standings.items() if one.past_use is not None},
        namespaces={name: one.namespaces for name, one in standings.items() if one.namespaces},
        set_aside=tables.set_aside,
        min_runtimes={row.name: row.min_runtimes for row in tables.rows},
    )


def queues_with_statuses(tables: Tables, standings: Mapping[str, QueueStanding]) -> tuple[Queue, ...]:
    """The queues, each with the status that Maar would write."""
    counts = _counts(tables)
    return tuple(
        _with_status(row.queue, standings[name], counts.get(name, Counter()))
        for name, row in tables.queues.items()
    )


def _counts(tables: Tables) -> dict[str, Counter[str]]:
    """The pod groups in each phase, of every queue and of all below it."""
    counts: dict[str, Counter[str]] = {}
    for queue in tables.queues.values():
        if queue.groups:
            phases = Counter(map(phase_at_rest, queue.groups.values()))
            for name in tables.tree.path(queue.name):
                counts.setdefault(name, Counter()).update(phases)
    return counts


def _with_status(queue: Queue, standing: QueueStanding, counts: Counter[str]) -> Queue:
    status = msgspec.structs.replace(
        standing.status(queue.status),
        state=standing.state,
        conditions=standing.conditions,
        pending=counts["Pending"],
        inqueue=counts["Inqueue"],
        running=counts["Running"],
        unknown=counts["Unknown"],
        completed=counts["Completed"],
    )
    return msgspec.structs.replace(queue, status=status)

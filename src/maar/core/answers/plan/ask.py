"""Planning for people and notebooks: what a cluster would decide, cycle by cycle, as plain data."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import cast

import msgspec

from maar.core.answers.tree.past_use import past_use_data
from maar.core.engine import Engine
from maar.core.model.durations import time_to_come
from maar.core.model.events import AnyObject, Upserted
from maar.core.model.metadata import Object
from maar.core.model.plan import GroupOutcome, NamespaceStanding, Plan, QueueStanding
from maar.core.model.reasons import Refusal
from maar.core.model.writes import BindVolume
from maar.core.policy.configuration import DEFAULT, Configuration
from maar.core.simulation.cluster import ImaginaryCluster
from maar.core.tables.groups import phase_at_rest
from maar.core.tables.rows import GroupRow

Json = dict[str, object]

_BETWEEN_CYCLES = timedelta(seconds=1)


def plans(
    objects: Iterable[Object],
    configuration: Configuration = DEFAULT,
    now: datetime | None = None,
    cycles: int = 1,
    *,
    resubmit_victims: bool = False,
    engine: Engine | None = None,
) -> Iterator[Plan]:
    """Decide cycle by cycle; between cycles the plan is applied as a cluster would, in a second.

    An engine that is given has learnt no object yet; it says for which scheduler is decided, with which
    configuration, and which resources it knows already.
    """
    engine = engine or Engine(configuration)
    cluster = ImaginaryCluster(engine, now or datetime(1970, 1, 1, tzinfo=UTC), resubmits=resubmit_victims)
    cluster.learn([Upserted(object=cast("AnyObject", one)) for one in objects])
    for cycle in range(1, cycles + 1):
        decided = engine.decide(cluster.now.timestamp())
        yield whole(decided, engine.tables.groups.values())
        if cycle < cycles:
            cluster.apply(decided)
            cluster.now += _BETWEEN_CYCLES


def whole(decided: Plan, groups: Iterable[GroupRow]) -> Plan:
    """Add the groups that the cycle did not have to look at, as `maar plan` shows them."""
    at_rest = {
        row.key: GroupOutcome(phase=phase_at_rest(row)) for row in groups if row.key not in decided.pod_groups
    }
    return msgspec.structs.replace(decided, pod_groups={**decided.pod_groups, **at_rest})


def plan_data(decided: Plan) -> Json:
    """One cycle as plain data."""
    volumes = {one.claim: one.volume for one in decided.selections if isinstance(one, BindVolume)}
    return {
        "queues": {name: _queue_data(one) for name, one in sorted(decided.queues.items())},
        "binds": {one.pod: one.node for one in sorted(decided.binds, key=lambda one: one.pod)},
        "evictions": [
            {"pod": one.pod, "for": one.beneficiary, "action": one.action} for one in decided.evictions
        ],
        "nominations": {one.pod: one.node for one in sorted(decided.nominations, key=lambda one: one.pod)},
        **({"resumptions": _resumptions(decided)} if decided.resumptions else {}),
        **({"gateRemovals": [one.pod for one in decided.gate_removals]} if decided.gate_removals else {}),
        "selections": {one.claim: one.node for one in sorted(decided.selections, key=lambda one: one.claim)},
        "podGroups": {
            key: {
                "phase": one.phase,
                "reason": str(one.refusal.reason) if one.refusal else "",
                "message": one.message,
                **(_cure(one.refusal) if one.refusal else {}),
            }
            for key, one in sorted(decided.pod_groups.items())
        },
        **({"volumes": volumes} if volumes else {}),  # which claims seldom get
        **({"heldRoom": _held_room(decided)} if decided.held_room else {}),
        **({"whyEvicted": {one.pod: one.why for one in decided.evictions}} if decided.evictions else {}),
    }


def _resumptions(decided: Plan) -> Json:
    """By pod group: the Jobs that are resumed, and how many of their pods are promised which nodes."""
    return {
        one.pod_group: {name: promise.nodes for name, promise in one.room.jobs.items()}
        for one in decided.resumptions
    }


def _held_room(decided: Plan) -> Json:
    """By pod group: when it starts, where that is known, and how many of its pods on which nodes."""
    return {
        one.pod_group: {
            "plannedStart": None if one.start is None else time_to_come(one.start),
            "nodes": one.nodes,
        }
        for one in decided.held_room
    }


def _cure(refusal: Refusal) -> Json:
    until = {} if refusal.until is None else {"until": time_to_come(refusal.until)}
    return {"cure": str(refusal.cure), "moreNodesHelp": refusal.more_nodes_help, **until}


def _queue_data(one: QueueStanding) -> Json:
    """A queue's standing as plain data."""
    return {
        "deserved": one.deserved.quantities(),
        "realCapability": one.real_capability.quantities(),
        "allocated": one.allocated.quantities(),
        "used": one.used.quantities(),
        "preempting": one.preempting.quantities(),
        "share": one.share,
        "state": one.state,
        "binding": dict(one.binding),
        "conditions": [
            {"type": each.type, "status": each.status, "reason": each.reason, "message": each.message}
            for each in one.conditions
        ],
        "namespaces": {name: _namespace_data(each) for name, each in one.namespaces.items()},
        **past_use_data(one.past_use),
    }


def _namespace_data(one: NamespaceStanding) -> Json:
    """A namespace's standing as plain data."""
    figures = {"weight": one.weight, "used": one.used.quantities(), "share": one.share}
    return {**figures, **past_use_data(one.past_use)}

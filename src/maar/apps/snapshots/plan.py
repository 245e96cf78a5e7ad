"""Planning from a snapshot: the same decision as the scheduler's, as `maar plan` shows it."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import cast

import msgspec

from maar.apps.snapshots.files import Snapshot
from maar.core.cycle.decide import decide
from maar.core.model.events import AnyObject, Upserted
from maar.core.model.metadata import Object
from maar.core.model.plan import GroupOutcome, Plan
from maar.core.policy.configuration import Configuration
from maar.core.tables.axis import ResourceAxis
from maar.core.tables.groups import phase_at_rest
from maar.core.tables.rows import GroupRow
from maar.core.tables.tables import Tables
from maar.core.views.planning import ImaginaryCluster


def plans_from(
    snapshot: Snapshot,
    objects: Iterable[Object],
    configuration: Configuration,
    now: datetime,
    cycles: int = 1,
    *,
    resubmit_victims: bool = False,
) -> Iterator[Plan]:
    """Decide cycle by cycle, as the scheduler of the snapshot; between cycles the plan is applied."""
    axis = ResourceAxis()
    axis.learn(snapshot.resources)  # sentences name resources in the order in which they came up
    tables = Tables(scheduler_name=snapshot.scheduler_name, axis=axis)
    cluster = ImaginaryCluster(tables, now, resubmits=resubmit_victims)
    cluster.learn([Upserted(object=cast("AnyObject", one)) for one in objects])
    for cycle in range(1, cycles + 1):
        decided = decide(tables, configuration, cluster.now.timestamp())
        yield whole(decided, tables.groups.values())
        if cycle < cycles:
            cluster.apply(decided)


def whole(decided: Plan, groups: Iterable[GroupRow]) -> Plan:
    """Add the groups that the cycle did not have to look at, as `maar plan` shows them."""
    at_rest = {
        row.key: GroupOutcome(phase=phase_at_rest(row)) for row in groups if row.key not in decided.pod_groups
    }
    return msgspec.structs.replace(decided, pod_groups={**decided.pod_groups, **at_rest})


def first_difference(one: object, other: object, path: str = "") -> str:
    """Say where two plans as plain data differ first, and how; nothing where they are equal."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in [*one, *(key for key in other if key not in one)]:
            here = f"{path}.{key}".lstrip(".")
            if key not in one or key not in other:
                there = one.get(key, other.get(key))
                return f"{here}: {there!r} is in the {'first' if key in one else 'second'} only"
            if found := first_difference(one[key], other[key], here):
                return found
        return "" if [*one] == [*other] else f"{path}: in another order"
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = enumerate(zip(one, other, strict=True))
        return next(filter(None, (first_difference(*pair, f"{path}[{index}]") for index, pair in pairs)), "")
    return "" if one == other and type(one) is type(other) else f"{path}: {one!r} and {other!r}"

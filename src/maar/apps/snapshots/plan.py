"""Planning from a snapshot: the same decision as the scheduler's, as `maar plan` shows it."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from maar.apps.snapshots.files import Snapshot
from maar.core.answers.plan.ask import plans
from maar.core.engine import Engine
from maar.core.model.metadata import Object
from maar.core.model.plan import Plan
from maar.core.policy.configuration import Configuration


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
    engine = Engine(configuration, snapshot.scheduler_name)
    engine.tables.axis.learn(snapshot.resources)  # sentences name resources in the order they came up in
    return plans(objects, configuration, now, cycles, resubmit_victims=resubmit_victims, engine=engine)


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

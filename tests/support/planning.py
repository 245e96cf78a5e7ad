"""Plans as plain data, as `maar plan -o json` prints them, of objects that a test has."""

from collections.abc import Iterable
from datetime import datetime

from maar.core.answers.plan.ask import Json, plan_data, plans
from maar.core.model.metadata import Object
from maar.core.policy.configuration import Configuration, parse


def plan(
    objects: Iterable[Object],
    configuration: object = None,
    now: datetime | None = None,
    cycles: int = 1,
    *,
    resubmit_victims: bool = False,
) -> Json:
    """Decide for a cluster and give the plan."""
    parsed = configuration if isinstance(configuration, Configuration) else parse(configuration)
    decided = plans(objects, parsed, now, cycles, resubmit_victims=resubmit_victims)
    return {"cycles": [plan_data(one) for one in decided]}

"""`maar.plan`: what Maar would do with a cluster, cycle by cycle."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from maar.api.arguments import Config, configuration_of, time_of
from maar.api.errors import PlanError, raising
from maar.api.manifests import (
    Manifests,
    Source,
    check,
    manifests_of,
    recorded_configuration,
    the_snapshot,
)
from maar.apps.snapshots.files import Snapshot
from maar.apps.snapshots.plan import plans_from
from maar.core.answers.plan.answer import Planned
from maar.core.answers.plan.ask import plans
from maar.core.model.plan import Plan
from maar.core.policy.configuration import Configuration


@dataclass(frozen=True)
class Question:
    """A cluster that has been read, with the configuration and the time to decide with."""

    manifests: Manifests
    seen: Snapshot | None  # what a scheduler wrote down beside the objects
    configuration: Configuration
    time: datetime

    @classmethod
    def read(cls, manifests: Manifests, config: Config, now: datetime | str | None) -> "Question":
        """Take what is given, else what the snapshot has, else the default and the present."""
        seen = the_snapshot(manifests.snapshots)
        if config is None and seen is not None:
            configuration = recorded_configuration(seen)
        else:
            configuration = configuration_of(config)
        time = time_of(now, "now") if now else seen.time if seen else datetime.now(UTC)
        return cls(manifests, seen, configuration, time)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is odd about the configuration and the manifests."""
        return (*self.configuration.warnings, *self.manifests.warnings)

    def plans(self, cycles: int, *, resubmit_victims: bool) -> Iterator[Plan]:
        """Decide cycle by cycle, as the scheduler of the snapshot where there is one."""
        objects, configuration, time, resubmit = (
            self.manifests.objects,
            self.configuration,
            self.time,
            resubmit_victims,
        )
        if self.seen is None:
            return plans(objects, configuration, time, cycles, resubmit_victims=resubmit)
        return plans_from(self.seen, objects, configuration, time, cycles, resubmit_victims=resubmit)


def plan(
    source: Source,
    config: Config = None,
    now: datetime | str | None = None,
    cycles: int = 1,
    *,
    resubmit_victims: bool = False,
) -> Planned:
    """Say what Maar would do with a cluster, and why.

    The cluster is a file or a folder of manifests, a snapshot, or objects: plain documents as
    kubectl or a client library gives them, lists of them too, or records of `maar.core.model`. The
    configuration is a file, plain data in Volcano's grammar, or nothing for the default or the
    snapshot's. Between cycles the plan is applied.
    """
    if cycles < 1:
        raise PlanError(f" is {cycles}; there is at least 1", option="cycles")
    with raising(PlanError):
        manifests = manifests_of(source)
        check(manifests)
        question = Question.read(manifests, config, now)
        decided = tuple(question.plans(cycles, resubmit_victims=resubmit_victims))
    return Planned(decided, question.warnings)

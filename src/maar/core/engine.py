"""The engine every driver runs: events are fed to it and it decides."""

from collections.abc import Iterable

from maar.core.cycle.decide import decide
from maar.core.cycle.use_meter import UseMeter
from maar.core.model.events import Event
from maar.core.model.plan import Plan
from maar.core.model.writes import Write
from maar.core.policy.configuration import DEFAULT, Configuration
from maar.core.tables.assumptions import Assumptions
from maar.core.tables.tables import Tables


class Engine:
    """A cluster as events describe it, and what to do about it."""

    def __init__(self, configuration: Configuration = DEFAULT, scheduler_name: str = "volcano") -> None:
        self.configuration = configuration
        self.tables = Tables(scheduler_name=scheduler_name)
        self.assumptions = Assumptions(self.tables)
        # Brief plans say that groups are held, and not why, and leave out groups that stay as they are: for
        # simulations that go on. Past use grows by what groups wait for; where it counts no plan is brief.
        self.is_brief = False
        self._use_meter: UseMeter | None = None

    def feed(self, events: Iterable[Event]) -> None:
        """Take events in."""
        self.assumptions.feed(events)

    def decide(self, now: float) -> Plan:
        """Decide what to do now; deciding changes nothing by itself, but past use grows with time."""
        usage = self.configuration.usage
        if usage is None:
            self._use_meter = None
            return decide(self.tables, self.configuration, now, is_brief=self.is_brief)
        meter = self._use_meter = self._use_meter or UseMeter()
        meter.advance(self.tables, usage, now)
        plan = decide(self.tables, self.configuration, now)
        meter.observe(self.tables, plan)
        return plan

    def assume(self, write: Write) -> None:
        """Take a write for carried out until the cluster reports it."""
        self.assumptions.assume(write)

    def forget(self, write: Write) -> None:
        """Take back what was assumed of a write that has failed."""
        self.assumptions.forget(write)

"""The engine every driver runs: events are fed to it and it decides."""

from collections.abc import Iterable
from typing import Literal

from maar.core.cycle import Memory, decide, settle
from maar.core.model.events import Event
from maar.core.model.plan import Plan
from maar.core.model.writes import Write
from maar.core.policy.configuration import DEFAULT, Configuration
from maar.core.reporting.plan import plan_of
from maar.core.tables.assumptions import Assumptions
from maar.core.tables.tables import Tables
from maar.core.tables.use_meter import UseMeter

Brevity = bool | Literal["while evicting"]  # whether a plan is brief


class Engine:
    """A cluster as events describe it, and what to do about it."""

    def __init__(
        self,
        configuration: Configuration = DEFAULT,
        scheduler_name: str = "volcano",
        *,
        memory: type[Memory] | None = Memory,
    ) -> None:
        """Without a memory every decision is worked out from the tables alone; the plans are the same."""
        self.configuration = configuration
        self.memory = memory() if memory is not None else None
        self.tables = Tables(scheduler_name=scheduler_name)
        self.assumptions = Assumptions(self.tables)
        self._use_meter: UseMeter | None = None

    def feed(self, events: Iterable[Event]) -> None:
        """Take events in."""
        self.assumptions.feed(events)

    def decide(self, now: float, *, is_brief: Brevity = False) -> Plan:
        """Decide what to do now; deciding changes nothing by itself, but past use grows with time.

        A brief plan says that groups are held, and not why, and leaves out groups that stay as they are: for
        simulations that go on, or that go on where a plan evicts. Past use grows by what groups wait for;
        where it counts no plan is brief.
        """
        usage = self.configuration.usage
        if usage is None:
            self._use_meter = None
            return self._plan(now, is_brief=is_brief)
        meter = self._use_meter = self._use_meter or UseMeter()
        meter.advance(self.tables, usage, now)
        plan = self._plan(now)
        meter.observe(self.tables, plan)
        return plan

    def _plan(self, now: float, *, is_brief: Brevity = False) -> Plan:
        tables, configuration, memory = self.tables, self.configuration, self.memory
        settle(tables, configuration, now)
        can_recall = memory is not None and configuration.sla is None and configuration.usage is None
        evidence = (tables.changes, configuration, is_brief)
        if memory is not None and can_recall:
            plan = memory.recall_plan(evidence, now)
            if plan is not None:
                return plan
        inspection = decide(tables, configuration, now, memory)
        decided = inspection.decided
        is_brief = bool(decided.evictions) if is_brief == "while evicting" else is_brief
        plan = plan_of(inspection, is_brief=is_brief)
        if memory is not None and can_recall and not decided.counts_from_now:
            memory.keep_plan(evidence, now, plan)
        return plan

    def assume(self, write: Write) -> None:
        """Take a write for carried out until the cluster reports it."""
        self.assumptions.assume(write)

    def forget(self, write: Write) -> None:
        """Take back what was assumed of a write that has failed."""
        self.assumptions.forget(write)

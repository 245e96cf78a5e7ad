"""One cycle: a snapshot in, a plan out. The same snapshot gives the same plan."""

from collections.abc import Callable, Mapping
from typing import Final

from maar.core.cycle.allocate import allocate, backfill
from maar.core.cycle.cleanup import cleanup
from maar.core.cycle.enqueue import admit_all, enqueue
from maar.core.cycle.outcome import plan_of
from maar.core.cycle.preempt import preempt
from maar.core.cycle.reclaim import reclaim
from maar.core.cycle.state import State
from maar.core.model.plan import Plan
from maar.core.policy.configuration import Configuration
from maar.core.tables.tables import Tables

ACTIONS: Final[Mapping[str, Callable[[State], None]]] = {
    action.__name__: action for action in (enqueue, allocate, backfill, reclaim, preempt, cleanup)
}


def decide(tables: Tables, configuration: Configuration, now: float, *, is_brief: bool = False) -> Plan:
    """Decide for the whole cluster; the tables stay as they are."""
    state = state_after(tables, configuration, now)
    return plan_of(state, is_brief=is_brief)  # 4. write it down, with reasons unless it is to be brief


def state_after(tables: Tables, configuration: Configuration, now: float, before: str = "") -> State:
    """The state once all actions are done, or with `before`, when that action is about to begin."""
    # 1. update what depends on the tree
    tables.settle(heeds_taints=configuration.heeds_taints, usage=configuration.usage, now=now)
    state = State(tables, configuration, now)  # 2. share the cluster out, see promises as kept
    if "enqueue" not in configuration.actions:
        admit_all(state)
    for action in configuration.actions:  # 3. act, in the configured order
        if action == before:
            break
        ACTIONS[action](state)
    return state

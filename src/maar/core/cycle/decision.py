"""One cycle: a snapshot in, what is to be done out. The same snapshot gives the same decision."""

from collections.abc import Callable, Mapping
from typing import Final

from maar.core.cycle.allocate import allocate, backfill
from maar.core.cycle.cleanup import cleanup
from maar.core.cycle.enqueue import admit_all, enqueue
from maar.core.cycle.evicting.batch_jobs import resumptions, suspended_jobs
from maar.core.cycle.gate.queue_gates import gates_to_remove
from maar.core.cycle.inspection import Inspection
from maar.core.cycle.memory import Memory
from maar.core.cycle.preempt import preempt
from maar.core.cycle.reclaim import reclaim
from maar.core.cycle.state import State
from maar.core.policy.configuration import Configuration
from maar.core.tables.tables import Tables

ACTIONS: Final[Mapping[str, Callable[[State], None]]] = {
    action.__name__: action for action in (enqueue, allocate, backfill, reclaim, preempt, cleanup)
}


def settle(tables: Tables, configuration: Configuration, now: float) -> None:
    """Make tables ready for a decision: everything that depends on the tree, the time or whole groups."""
    tables.settle(heeds_taints=configuration.heeds_taints, usage=configuration.usage, now=now)


def decide(
    tables: Tables,
    configuration: Configuration,
    now: float,
    memory: Memory | None = None,
    *,
    before: str = "",
) -> Inspection:
    """Decide for the whole cluster, or with `before`, up to that action.

    The tables are settled and stay as they are. A memory, where there is one, saves work and
    changes nothing.
    """
    state = run_actions(tables, configuration, now, memory, before=before)
    if not before:
        _finish(state)  # 3. what follows for Jobs, gates and volumes
    return Inspection(state)


def run_actions(
    tables: Tables,
    configuration: Configuration,
    now: float,
    memory: Memory | None = None,
    *,
    before: str = "",
) -> State:
    """The state after all actions, or as an action begins."""
    # 1. share the cluster out, see promises as kept, and find the classes of equal groups
    state = State(tables, configuration, now, memory or Memory())
    if "enqueue" not in configuration.actions:
        admit_all(state)
    for action in configuration.actions:  # 2. act, in the configured order
        if action == before:
            break
        ACTIONS[action](state)
    return state


def _finish(state: State) -> None:
    """Decide what follows from all actions together, where there is anything to follow."""
    for group in state.groups.short():  # they hold too few nodes, and may have no pods to place
        group.was_unschedulable |= not group.pending and not group.is_ready
    if state.evictions:
        state.suspended_jobs = suspended_jobs(state)
    if state.promised:
        state.resumptions = tuple(resumptions(state))
    gated = [row for row in state.groups.classes.others.values() if row.has_queue_gate]
    if gated:
        state.gate_removals = gates_to_remove(state, gated)
    if state.selections:
        state.volume_selections = tuple(state.places.claims.selections(state.selections))
